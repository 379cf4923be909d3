"""Normals and independent components."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from separatrix import (
    KernelSupportVectorICA,
    SupportVectorICA,
    SupportVectorProjection,
)
from separatrix.kernels import RBF
from separatrix.margin.ica import (
    CONTRASTS,
    independent_directions,
    orthogonal_complement,
    principal_axes,
    uncorrelated_axes,
)
from tests.discovery import TALL
from tests.margin.margin_data import (
    AS_LIBSVM,
    PAIR,
    every_data,
    quiet,
    svc,
)


@quiet
@every_data
@pytest.mark.parametrize("k", [None, 1, 2, 5])
def test_independent_directions_are_orthogonal_to_the_normals(X, y, k):
    model = SupportVectorICA(k, random_state=0).fit(X, y)
    n_normals, W = model.n_normals_, model.components_
    expected = {2: 1, 3: 3}[len(set(y))]
    assert n_normals == min(expected, k or expected)
    assert len(W) == model.n_components_ == (k or 2 * expected)
    assert_allclose(W[:n_normals] @ W[n_normals:].T, 0, atol=1e-12)
    assert_allclose(np.linalg.norm(W, axis=1), 1)
    projection = SupportVectorProjection().fit(X, y)
    assert_allclose(W[:n_normals], projection.components_[:n_normals], atol=1e-9)


@quiet
def test_orthogonal_directions_do_not_make_uncorrelated_features():
    X, y = TALL
    linear = SupportVectorICA(random_state=0).fit_transform(X, y)
    assert np.abs(np.corrcoef(linear.T)[:3, 3:]).max() > 0.1
    uncorrelated = KernelSupportVectorICA(kernel="linear", random_state=0).fit_transform(X, y)
    assert np.abs(np.corrcoef(uncorrelated.T)[:3, 3:]).max() < 1e-10


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


@quiet
@every_data
def test_the_identities_of_the_uncorrelated_subspace_hold(X, y):
    model = KernelSupportVectorICA(kernel=RBF("median"), random_state=0).fit(X, y)
    K = centred(rbf_kernel(X, gamma=model.kernel_.gamma))
    beta, A = model.uncorrelated_coef_.T, model.dual_coef_.T
    G = (K @ A[:, : model.n_normals_]).T
    scale = np.abs(G).max()
    assert_allclose(G @ K @ beta, 0, atol=1e-10 * scale)
    assert_allclose(beta.T @ K @ beta, np.eye(beta.shape[1]), atol=1e-8)
    assert_allclose(beta.T @ K @ K @ beta, np.diag(model.uncorrelated_variances_), atol=1e-8)
    Z = model.transform(X)
    assert_allclose(Z, K @ A, atol=1e-10)
    first, second = Z[:, : model.n_normals_], Z[:, model.n_normals_ :]
    assert_allclose(first.T @ second, 0, atol=1e-10)
    # both blocks have the same size in feature space
    for block in (A[:, : model.n_normals_], A[:, model.n_normals_ :]):
        assert_allclose(np.trace(block.T @ K @ block), 1)


@quiet
def test_the_uncorrelated_subspace_is_that_of_the_printed_matrix():
    X, y = PAIR
    model = KernelSupportVectorICA(kernel=RBF(0.05), random_state=0).fit(X, y)
    K = centred(rbf_kernel(X, gamma=0.05))
    G = (K @ model.dual_coef_[: model.n_normals_].T).T
    E = (np.eye(len(K)) - G.T @ np.linalg.solve(G @ K @ G.T, G @ K)) @ K  # (3.36), t = 1
    evals = np.sort(np.linalg.eigvals(E).real)[::-1]
    kept = evals[evals >= 1e-3 * evals.sum()]
    assert_allclose(model.uncorrelated_variances_, kept, rtol=1e-6)


def test_independent_sources_are_found():
    rng = np.random.default_rng(0)
    sources = rng.uniform(-1, 1, (4000, 3))
    sources -= sources.mean(axis=0)
    rows = sources @ rng.standard_normal((3, 3))
    axes = principal_axes(rows, np.eye(3))[1]
    W = independent_directions(rows, axes, 3, max_iter=200, tol=1e-6, random_state=0)
    correlation = np.abs(np.corrcoef((rows @ W).T, sources.T)[:3, 3:])
    assert_allclose(np.sort(correlation.max(axis=1)), 1, atol=0.01)
    assert_allclose(np.cov((rows @ W).T, bias=True), np.eye(3), atol=1e-6)


def rows_with_a_thin_source():
    """Four features: three Gaussian sources of large variance, and one of two values."""
    rng = np.random.default_rng(0)
    sources = rng.standard_normal((2000, 4)) * 3
    sources[:, 3] = rng.choice([-1.0, 1.0], 2000)
    sources -= sources.mean(axis=0)
    turn = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    return sources @ turn.T, sources[:, 3]


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_one_independent_direction_is_sought_along_all_axes(contrast):
    rows, thin = rows_with_a_thin_source()
    axes = principal_axes(rows, np.eye(4))[1]
    options = {"contrast": contrast, "max_iter": 500, "tol": 1e-6, "random_state": 0}
    W = independent_directions(rows, axes, 1, **options)
    assert abs(np.corrcoef((rows @ W)[:, 0], thin)[0, 1]) > 0.95
    leading = independent_directions(rows, axes[:, :1], 1, **options)
    assert abs(np.corrcoef((rows @ leading)[:, 0], thin)[0, 1]) < 0.1


@pytest.mark.parametrize("contrast", CONTRASTS)
def test_slopes_of_contrasts_are_their_derivatives(contrast):
    u, h = np.linspace(-2, 2, 7)[:, None], 1e-5
    g, slope = CONTRASTS[contrast](u, 1.3)
    differences = (CONTRASTS[contrast](u + h, 1.3)[0] - CONTRASTS[contrast](u - h, 1.3)[0]) / (
        2 * h
    )
    assert_allclose(slope, differences, rtol=1e-8, atol=1e-10)
    assert_allclose(g, -CONTRASTS[contrast](-u, 1.3)[0])


@quiet
def test_axes_of_the_search_are_parameters():
    X, y = PAIR
    whole = KernelSupportVectorICA(kernel="linear", least_share=0, random_state=0).fit(X, y)
    variances = whole.uncorrelated_variances_
    assert len(variances) == 5
    share = (variances[2] + variances[1]) / 2 / variances.sum()
    some = KernelSupportVectorICA(kernel="linear", least_share=share, random_state=0).fit(X, y)
    assert_allclose(some.uncorrelated_variances_, variances[:2])
    first = KernelSupportVectorICA(kernel="linear", ica_axes=3, random_state=0).fit(X, y)
    assert_allclose(first.uncorrelated_variances_, variances[:3])
    with pytest.raises(ValueError, match="at most 3"):
        SupportVectorICA(4, ica_axes=2).fit(X, y)


@quiet
def test_normals_may_keep_their_lengths():
    X, y = TALL
    unit = KernelSupportVectorICA(kernel="linear", random_state=0).fit(X, y)
    margin = KernelSupportVectorICA(kernel="linear", normal_length="margin", random_state=0)
    A, B = unit.components_[:3], margin.fit(X, y).components_[:3]
    lengths = np.linalg.norm(B, axis=1)
    assert_allclose(B / lengths[:, None], A * np.sqrt(3), atol=1e-12)
    assert_allclose(np.linalg.norm(lengths), 1)
    machines = [svc(X, y == c).coef_[0] for c in margin.class_of_component_]
    expected = np.linalg.norm(machines, axis=1)
    assert_allclose(lengths, expected / np.linalg.norm(expected), rtol=AS_LIBSVM)


def test_an_ica_that_does_not_converge_says_what_to_do():
    with pytest.warns(ConvergenceWarning, match=r"ica_max_iter=1.*fewer components"):
        SupportVectorICA(ica_max_iter=1, random_state=0).fit(*TALL)


def test_complements_and_uncorrelated_axes():
    rng = np.random.default_rng(0)
    W = rng.standard_normal((7, 3))
    B = orthogonal_complement(np.column_stack([W, W[:, 0]]))
    assert B.shape == (7, 4)
    assert_allclose(B.T @ W, 0, atol=1e-12)
    assert_allclose(B.T @ B, np.eye(4), atol=1e-12)
    Z = rng.standard_normal((30, 7)) * np.arange(1, 8)
    variances, V = uncorrelated_axes(Z, W)
    S = Z.T @ Z
    assert_allclose(V.T @ S @ W, 0, atol=1e-9)
    assert_allclose(V.T @ S @ V, np.diag(variances), atol=1e-9)
    assert (np.diff(variances) < 0).all()
