"""Kernel LDG is LDG in the feature space."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_circles
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.neighbors import KNeighborsClassifier

from separatrix import LDG, KernelLDG
from separatrix.base.feature_space import CentredGram
from separatrix.kernels import RBF
from separatrix.moments.neighbours import class_neighbours
from separatrix.selection import dimension_path, vote_scores
from tests.discovery import SHAPES, TALL, same_up_to_sign

every_shape = pytest.mark.parametrize(("X", "y"), SHAPES.values(), ids=SHAPES)
FIXED = {"gamma": 0.6, "n_neighbors": 3}


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def averages(K, y, k):
    """N_j and N_sc of section 3.3.1, from distances in feature space."""
    D = np.diag(K)[:, None] + np.diag(K) - 2 * K
    n = len(K)
    by_class = []
    for c in np.unique(y):
        N = np.zeros((n, n))
        for i in range(n):
            members = np.flatnonzero((y == c) & (np.arange(n) != i))
            nearest = members[np.argsort(D[i, members], kind="stable")[:k]]
            N[i, nearest] = 1 / len(nearest)
        by_class.append(N)
    own = np.stack([by_class[c][i] for i, c in enumerate(np.unique(y, return_inverse=True)[1])])
    return own, by_class


def laplacian(K, y, k, gamma):
    """L_V - γ L_A."""
    own, by_class = averages(K, y, k)
    identity = np.eye(len(K))
    p = np.unique(y, return_counts=True)[1] / len(y)
    L_V = (identity - own).T @ (identity - own)
    parts = zip(p, by_class, strict=True)
    return L_V - gamma * sum(w * (identity - N).T @ (identity - N) for w, N in parts)


@every_shape
def test_the_linear_kernel_is_ldg(X, y):
    for kind in (FIXED, {}):
        linear = LDG(3, **kind).fit(X, y)
        kernel = KernelLDG(3, kernel="linear", **kind).fit(X, y)
        Z = linear.transform(X)
        assert_allclose(same_up_to_sign(Z, kernel.transform(X)), Z, atol=1e-9)
        assert_allclose(kernel.criterion_, linear.criterion_)
        assert (kernel.gamma_, kernel.n_neighbors_) == (linear.gamma_, linear.n_neighbors_)


@every_shape
@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplacian"])
def test_the_dual_coefficients_solve_the_problem_in_feature_space(X, y, kernel):
    model = KernelLDG(4, kernel=kernel, **FIXED).fit(X, y)
    order = model.support_
    K = model._map.kernel.between(X[order], model._map.points)
    M = laplacian(K, y[order], 3, 0.6)
    K = centred(K)
    alpha = model.dual_coef_.T
    assert_allclose(alpha.T @ K @ alpha, np.eye(4), atol=1e-8)
    values = alpha.T @ K @ M @ K @ alpha
    assert_allclose(values, np.diag(-model.criterion_), atol=1e-8 * np.abs(values).max())
    # the non-symmetric problem of the source has the same eigenvalues
    evals = np.sort(np.linalg.eigvals(M @ K).real)[:4]
    assert_allclose(-model.criterion_, evals, rtol=1e-6)


def test_neighbours_are_sought_in_the_feature_space():
    X, y = TALL
    K = polynomial_kernel(X, gamma=0.1)
    by_class = averages(K, y, 3)[1]
    found = class_neighbours(X - X.mean(axis=0), y, 3)
    assert any(
        not np.array_equal(np.sort(np.flatnonzero(N[i])), np.sort(f[i]))
        for N, f in zip(by_class, found, strict=True)
        for i in range(len(X))
    )


@pytest.mark.parametrize("params", [FIXED, {}], ids=["fixed", "auto"])
def test_precomputed_and_callable_kernels_are_the_named_one(params):
    X, y = TALL
    new = X[::3] + 0.1
    named = KernelLDG("auto", kernel=RBF(0.05), **params).fit(X, y)
    called = KernelLDG("auto", kernel=partial(rbf_kernel, gamma=0.05), **params)
    called.fit(X, y)
    Z = named.transform(new)
    assert_allclose(called.transform(new), Z, atol=1e-9)
    # folds are dealt by distances from the mean, here those in the feature space
    given = KernelLDG(Z.shape[1], kernel="precomputed", **FIXED)
    given.fit(rbf_kernel(X, gamma=0.05), y)
    if params:
        assert_allclose(given.transform(rbf_kernel(new, X, gamma=0.05)), Z, atol=1e-9)


def test_as_many_landmarks_as_rows_are_exact_and_fewer_are_close():
    X, y = TALL
    exact = KernelLDG(2, kernel=RBF("median"), **FIXED).fit(X, y)
    every = KernelLDG(2, kernel=RBF("median"), n_landmarks=90, **FIXED).fit(X, y)
    some = KernelLDG(2, kernel=RBF("median"), n_landmarks=45, **FIXED).fit(X, y)
    assert_allclose(every.transform(X), exact.transform(X), atol=1e-9)
    assert some.dual_coef_.shape == (2, 45)
    correlation = np.corrcoef(some.transform(X)[:, 0], exact.transform(X)[:, 0])[0, 1]
    assert abs(correlation) > 0.95


def test_circles_are_unrolled():
    X, y = make_circles(400, noise=0.1, factor=0.4, random_state=0)
    scores = []
    for model in (LDG(1), KernelLDG(1)):
        Z = model.fit(X[:300], y[:300]).transform(X)
        scores.append(KNeighborsClassifier(3).fit(Z[:300], y[:300]).score(Z[300:], y[300:]))
    assert scores[0] < 0.9
    assert scores[1] > 0.98


def test_a_path_takes_precomputed_kernels_by_rows_and_columns():
    X, y = TALL
    named = dimension_path(KernelLDG(kernel=RBF(0.05), **FIXED), X, y)
    given = KernelLDG(kernel="precomputed", **FIXED)
    assert_array_equal(
        dimension_path(given, rbf_kernel(X, gamma=0.05), y).scores[:, :8], named.scores[:, :8]
    )


def test_the_dimension_is_chosen_in_the_mapped_space():
    X, y = TALL
    model = KernelLDG("auto", **FIXED).fit(X, y)
    path = model.selection_["n_components"]
    rows = KernelLDG(len(X) - 1, **FIXED).fit(X, y).transform(X)  # all there is, turned
    order = model.support_
    expected = dimension_path(LDG(**FIXED), rows[order], y[order], vote_scores)
    assert_array_equal(path.scores, expected.scores)


def test_the_triangle_and_the_eigenvectors_of_the_kernel_give_one_model(monkeypatch):
    X, y = TALL
    quick = KernelLDG(3, **FIXED).fit(X, y)
    used = []
    monkeypatch.setattr(CentredGram, "triangular_map", lambda gram: used.append(gram))
    slow = KernelLDG(3, **FIXED).fit(X, y)
    assert used
    assert quick.rank_ == slow.rank_ == len(X) - 1
    assert_allclose(quick.criterion_, slow.criterion_)
    assert_allclose(quick.explained_ratio_, slow.explained_ratio_)
    Z = slow.transform(X)
    assert_allclose(same_up_to_sign(Z, quick.transform(X)), Z, atol=1e-9)
    assert_allclose(
        same_up_to_sign(slow.dual_coef_.T, quick.dual_coef_.T), slow.dual_coef_.T, atol=1e-8
    )
