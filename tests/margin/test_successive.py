"""Successive directions beside the printed algorithms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.datasets import make_circles
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from separatrix import (
    FisherDiscriminant,
    MarginMaximizingDiscriminant,
    WithinSupportVectorDiscriminant,
)
from separatrix.kernels import RBF
from separatrix.linalg import principal_angles
from separatrix.margin.hyperplane import soft_margin_hyperplane
from separatrix.margin.planes import pose_problems
from separatrix.margin.successive import block_basis, successive_directions
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows
from tests.discovery import TALL, WIDE, labelled, same_up_to_sign
from tests.margin.margin_data import (
    AS_LIBSVM,
    PAIR,
    PAIRS,
    angle,
    both,
    every_data,
    every_pair,
    svc,
)


@both
@every_data
@pytest.mark.parametrize("C", [1e-2, 1e4])
@pytest.mark.filterwarnings("ignore:.*found .* of n_components")
def test_components_are_orthonormal_to_the_last_digit(model, X, y, C):
    rank = np.linalg.matrix_rank(X - X.mean(axis=0))
    fitted = clone(model).set_params(n_components=rank, C=C).fit(X, y)
    W = fitted.components_
    assert fitted.n_components_ == len(W) > 1
    assert_allclose(W @ W.T, np.eye(len(W)), atol=1e-12)


@both
def test_components_are_orthonormal_where_inner_products_lose_digits(model):
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((24, 24)) - 1)[0]
    V = np.linalg.qr(rng.standard_normal((60, 24)))[0]
    X = (U - U.mean(axis=0)) * np.logspace(0, 2.8, 24) @ V.T
    W = clone(model).set_params(n_components=8, C=1.0).fit(X, np.arange(24) % 2).components_
    assert_allclose(W @ W.T, np.eye(8), atol=1e-14)


def deflated_svms(X, y, k, C):
    """Equation 3 and the projection after it, in all features, as printed."""
    X, W = X - X.mean(axis=0), []
    for _ in range(k):
        w = svc(X, y, C).coef_[0].copy()
        w /= np.linalg.norm(w)
        X = X - np.outer(X @ w, w)
        W.append(w)
    return np.array(W)


@every_pair
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_margin_directions_are_those_of_deflated_svms(X, y, C):
    ours = MarginMaximizingDiscriminant(4, C=C).fit(X, y)
    for u, v in zip(ours.components_, deflated_svms(X, y, 4, C), strict=True):
        assert angle(u, v) < 5 * AS_LIBSVM  # errors of the earlier ones carry on


def table_2(X, y, k, C, ridge):
    """The source's algorithm as printed: P Sw P is regularised and inverted in each step."""
    X = X - X.mean(axis=0)
    d = X.shape[1]
    Sw = ClassMoments.from_data(X, y).Sw + ridge * np.eye(d)
    P, W = np.eye(d), []
    signs = 2.0 * y - 1
    for _ in range(k):
        inverse = P @ np.linalg.pinv(P @ Sw @ P, rcond=1e-10, hermitian=True) @ P
        model = SVC(kernel="precomputed", C=C, tol=1e-8).fit(X @ inverse @ X.T, signs)
        w = inverse @ X[model.support_].T @ model.dual_coef_[0]
        w /= np.linalg.norm(w)
        P = P @ (np.eye(d) - np.outer(w, w))
        W.append(w)
    return np.array(W)


@every_pair
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_within_directions_are_those_of_the_printed_algorithm(X, y, C):
    s = 0.25
    ours = WithinSupportVectorDiscriminant(4, C=C, shrinkage=s).fit(X, y)
    assert ours.shrinkage_ == s
    rho = s / (1 - s) * np.trace(ClassMoments.from_data(X, y).Sw) / X.shape[1]
    for u, v in zip(ours.components_, table_2(X, y, 4, C / (1 - s), rho), strict=True):
        assert angle(u, v) < 10 * AS_LIBSVM


def test_without_shrinkage_the_directions_are_those_of_the_paper():
    ours = WithinSupportVectorDiscriminant(3, shrinkage=0).fit(*PAIR)
    for u, v in zip(ours.components_, table_2(*PAIR, 3, 1.0, 0.0), strict=True):
        assert angle(u, v) < 5 * AS_LIBSVM


def test_without_shrinkage_the_null_space_of_sw_separates_wide_rows():
    """The limit of a vanishing ridge: rows of a class have one value on every first normal."""
    X, y = WIDE
    ours = WithinSupportVectorDiscriminant(shrinkage=0, C=1e6).fit(X, y)
    Sw = ClassMoments.from_data(X, y).Sw
    W = ours.components_.T
    assert np.trace(W.T @ Sw @ W) < 1e-8 * np.trace(Sw)


@every_pair
@pytest.mark.parametrize("k", [1, 3])
def test_full_shrinkage_is_the_margin_maximizing_discriminant(X, y, k):
    within = WithinSupportVectorDiscriminant(k, C=2.0, shrinkage=1.0).fit(X, y)
    C = 2.0 * X.shape[1] / np.trace(ClassMoments.from_data(X, y).Sw)
    margin = MarginMaximizingDiscriminant(k, C=C).fit(X, y)
    assert_allclose(within.components_, margin.components_, atol=1e-6)
    assert_allclose(within.decision_function(X), margin.decision_function(X), atol=1e-6)


@pytest.mark.parametrize(("X", "y"), [PAIR, WIDE], ids=["tall", "wide"])
def test_the_shrinkage_chosen_is_ledoit_and_wolfs(X, y):
    means = np.array([X[y == c].mean(axis=0) for c in np.unique(y)])
    rest = X - means[np.unique(y, return_inverse=True)[1]]
    expected = ledoit_wolf_shrinkage(rest, assume_centered=True)
    assert_allclose(WithinSupportVectorDiscriminant().fit(X, y).shrinkage_, expected)


def test_classes_that_are_points_have_directions():
    X = np.repeat([[0.0, 0, 1], [2, 0, 0], [0, 3, 0]], 4, axis=0)
    model = WithinSupportVectorDiscriminant().fit(X, np.repeat([0, 1, 2], 4))
    assert model.score(X, np.repeat([0, 1, 2], 4)) == 1


def test_the_first_within_direction_is_the_first_margin_direction_of_white_rows():
    X, y = PAIR
    L = np.linalg.cholesky(ClassMoments.from_data(X, y).Sw)
    white = np.linalg.solve(L, X.T).T
    ours = WithinSupportVectorDiscriminant(2, shrinkage=0).fit(X, y).components_
    theirs = np.linalg.solve(L.T, MarginMaximizingDiscriminant(2).fit(white, y).components_.T).T
    assert angle(ours[0], theirs[0]) < 1e-5  # a millionth is left of the shrinkage
    assert angle(ours[1], theirs[1]) > 1e-2  # and the second is not


@every_pair
def test_small_costs_and_equal_classes_give_margin_directions_the_mean_difference(X, y):
    keep = np.concatenate([np.flatnonzero(y == c)[: min(np.bincount(y))] for c in (0, 1)])
    X, y = X[keep], y[keep]
    with pytest.warns(UserWarning, match="found 1 of n_components=3 directions"):
        model = MarginMaximizingDiscriminant(3, C=1e-9).fit(X, y)
    assert model.n_components_ == 1
    assert angle(model.components_[0], X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)) < 1e-9


def test_small_costs_and_equal_classes_give_within_directions_foley_and_sammons():
    X, y = labelled(80, 6, n_classes=2, seed=3)
    keep = np.concatenate([np.flatnonzero(y == c)[:20] for c in (0, 1)])
    X, y = X[keep], y[keep]
    moments = ClassMoments.from_data(X, y)
    inverse = np.linalg.inv(moments.Sw)
    difference = moments.means[1] - moments.means[0]
    model = WithinSupportVectorDiscriminant(4, C=1e-9, shrinkage=0).fit(X, y)
    W = np.zeros((6, 0))
    for component in model.components_:
        correction = W @ np.linalg.solve(W.T @ inverse @ W, W.T @ inverse @ difference)
        w = inverse @ (difference - correction)
        assert angle(component, w) < 1e-5  # a millionth is left of the shrinkage
        W = np.column_stack([W, w / np.linalg.norm(w)])
    assert (
        angle(model.components_[0], FisherDiscriminant(shrinkage=None).fit(X, y).components_[0])
        < 1e-5
    )


@both
@pytest.mark.parametrize(
    ("X", "y"), [labelled(90, 10), WIDE, *PAIRS.values()], ids=["tall", "wide", *PAIRS]
)
def test_a_class_against_the_rest_in_each_round(model, X, y):
    classes = np.unique(y)
    k = 1 if len(classes) == 2 else len(classes)
    natural = clone(model).set_params(C=0.1).fit(X, y)
    if isinstance(model, WithinSupportVectorDiscriminant):
        natural = clone(model).set_params(C=0.1, shrinkage=0).fit(X, y)
        # where Sw has a null space all normals lie in it, with the differences of the means
        assert natural.n_components_ == (k if len(X) > X.shape[1] else len(classes) - 1)
        return
    assert natural.n_components_ == k
    rounds = clone(model).set_params(C=0.1, n_components=2 * k).fit(X, y)
    assert rounds.n_components_ == 2 * k
    assert_allclose(rounds.components_[:k], natural.components_, atol=1e-9)
    Z = X - X.mean(axis=0)
    for block in (rounds.components_[:k], rounds.components_[k:]):
        normals = [svc(Z, y == c, 0.1).coef_[0] for c in classes[-k:]]
        assert principal_angles(block, normals).max() < AS_LIBSVM
        Z = Z - Z @ block.T @ block


def test_a_partial_block_is_the_first_of_the_block():
    whole = MarginMaximizingDiscriminant(6).fit(*TALL)
    part = MarginMaximizingDiscriminant(4).fit(*TALL)
    assert_allclose(part.components_, whole.components_[:4], atol=1e-12)


def test_normals_of_a_block_count_alike():
    rng = np.random.default_rng(0)
    V, known = rng.standard_normal((7, 3)), np.eye(7)[:, :2]
    block = block_basis(V, known)
    longer = block_basis(V * [1.0, 100.0, 0.01], known)
    assert_allclose(same_up_to_sign(block, longer), block, atol=1e-12)
    assert_allclose(block.T @ known, 0, atol=1e-15)
    assert block_basis(V[:, [0, 0]], known).shape == (7, 1)


def test_an_outweighed_class_has_no_direction_unless_weights_are_balanced():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((210, 4))
    y = (np.arange(210) >= 200).astype(int)
    X[y == 1, 0] += 1.0
    for C in (1e-3, 1e-2):
        with pytest.warns(UserWarning, match=r'found no direction.*class_weight="balanced"'):
            assert MarginMaximizingDiscriminant(C=C).fit(X, y).transform(X).shape == (210, 0)
    balanced = MarginMaximizingDiscriminant(C=1e-2, class_weight="balanced").fit(X, y)
    assert angle(balanced.components_[0], [1, 0, 0, 0]) < 0.5
    theirs = svc(X, y, 1e-2, class_weight="balanced")
    assert angle(balanced.components_[0], theirs.coef_[0]) < AS_LIBSVM


@both
def test_rows_that_are_all_alike_have_no_direction(model):
    with pytest.warns(UserWarning, match="found no direction"):
        fitted = clone(model).fit(np.full((6, 3), 7.0), [0, 0, 0, 1, 1, 1])
    assert fitted.n_components_ == 0 == fitted.n_iter_
    assert getattr(fitted, "shrinkage_", 0.0) == 0.0


def test_classes_that_are_points_are_separated():
    X = np.repeat([[0.0, 0.0, 1.0], [3.0, 4.0, 1.0]], 3, axis=0)
    fitted = WithinSupportVectorDiscriminant().fit(X, [0, 0, 0, 1, 1, 1])
    assert_allclose(fitted.components_, [[0.6, 0.8, 0]], atol=1e-12)


def test_every_direction_is_taken_off_before_the_next_is_sought():
    X, y = PAIR
    rows, seen = X - X.mean(axis=0), []

    def find(points, signs, cost):
        seen.append(points.rows.copy())
        return soft_margin_hyperplane(points, signs, cost)

    problem = pose_problems(LabelledRows(X, y, np.array([0, 1])), 1e3, None)[0]
    W = np.hstack([r.directions for r in successive_directions(rows, [problem], find, None)])
    assert W.shape == (6, 6)
    for k, Z in enumerate(seen):
        assert_allclose(Z @ W[:, :k], 0, atol=1e-13)
        left = rows - rows @ W[:, :k] @ W[:, :k].T
        # solvers get rows of size 1
        assert_allclose(Z, left / np.sqrt(np.sum(left**2) / len(left)), atol=1e-12)


@both
def test_a_kernel_bends_the_directions(model):
    X, y = make_circles(120, noise=0.1, factor=0.3, random_state=0)
    curved = clone(model).set_params(kernel="rbf", n_components=2).fit(X, y)
    Z = curved.transform(X)[:, :1]
    assert FisherDiscriminant(shrinkage=None).fit(Z, y).score(Z, y) == 1
    assert FisherDiscriminant(shrinkage=None).fit(X, y).score(X, y) < 0.7
    given = clone(curved).set_params(kernel="precomputed")
    K = rbf_kernel(X, gamma=curved.kernel_.gamma)
    assert_allclose(same_up_to_sign(curved.transform(X), given.fit(K, y).transform(K)),
                    curved.transform(X), atol=1e-7)  # fmt: skip
    few = clone(curved).set_params(n_landmarks=40, random_state=0).fit(X, y)
    assert few.dual_coef_.shape == (2, 40)


def test_the_kernel_direction_is_that_of_libsvm():
    X, y = make_circles(120, noise=0.2, factor=0.4, random_state=0)
    ours = MarginMaximizingDiscriminant(kernel=RBF(0.7)).fit(X, y)
    theirs = SVC(gamma=0.7, tol=1e-8).fit(X, y)
    scores = theirs.decision_function(X) - theirs.intercept_
    Z = ours.transform(X)[:, 0]
    assert_allclose(abs(np.corrcoef(Z, scores)[0, 1]), 1, atol=1e-6)
