"""Normals and independent components."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from separatrix import (
    KernelSupportVectorICA,
    SupportVectorICA,
    SupportVectorProjection,
    load,
    save,
)
from separatrix.kernels import RBF
from separatrix.margin.ica import (
    CONTRASTS,
    independent_directions,
    principal_axes,
    uncorrelated_axes,
)
from tests.discovery import TALL
from tests.margin.margin_data import (
    PAIR,
    every_data,
    quiet,
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
    lengths = np.linalg.norm(W, axis=1)
    assert_allclose(lengths[:n_normals], 1)
    along = (X - X.mean(axis=0)) @ W[n_normals:].T
    largest = np.max(along**2, axis=0) / np.sum(along**2, axis=0)
    assert_allclose(lengths[n_normals:], 1 - largest, atol=1e-9)
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
    # both blocks have the same size in feature space, but for what is one row's alone
    block = A[:, : model.n_normals_]
    assert_allclose(np.trace(block.T @ K @ block), 1)
    whole = A[:, model.n_normals_ :] / (1 - np.max(second**2, axis=0) / np.sum(second**2, axis=0))
    assert_allclose(np.trace(whole.T @ K @ whole), 1)


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
    axes = principal_axes(rows, np.zeros((3, 0)))[1]
    found = independent_directions(rows, axes, 3, ica=FastICA(tol=1e-6, random_state=0))
    W = found.W
    correlation = np.abs(np.corrcoef((rows @ W).T, sources.T)[:3, 3:])
    assert_allclose(np.sort(correlation.max(axis=1)), 1, atol=0.01)
    assert_allclose(np.cov((rows @ W).T, bias=True), np.eye(3), atol=1e-6)
    u = sources[:, 0] / sources[:, 0].std()
    expected = (np.mean(np.log(np.cosh(u))) - 0.37457) ** 2
    assert_allclose(found.held_out, expected, rtol=0.2)
    assert (found.length > 0.999).all()


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
    axes = principal_axes(rows, np.zeros((4, 0)))[1]
    options = {"ica": FastICA(fun=contrast, max_iter=500, tol=1e-6), "random_state": 0}
    W = independent_directions(rows, axes, 1, **options).W
    assert abs(np.corrcoef((rows @ W)[:, 0], thin)[0, 1]) > 0.95
    leading = independent_directions(rows, axes[:, :1], 1, **options).W
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
def test_the_ica_given_says_in_how_many_axes_to_search():
    X, y = PAIR
    whole = KernelSupportVectorICA(kernel="linear", random_state=0).fit(X, y)
    variances = whole.uncorrelated_variances_
    assert len(variances) == 5
    first = KernelSupportVectorICA(kernel="linear", ica=FastICA(3), random_state=0).fit(X, y)
    assert_allclose(first.uncorrelated_variances_, variances[:3])
    with pytest.raises(ValueError, match="at most 3"):
        SupportVectorICA(4, ica=FastICA(2)).fit(X, y)


@quiet
@pytest.mark.parametrize("model", [SupportVectorICA(), KernelSupportVectorICA(kernel="linear")])
def test_the_ica_is_an_object_whose_parameters_are_searched(model, tmp_path):
    X, y = TALL
    model = clone(model).set_params(ica=FastICA(random_state=0), n_components=5)
    assert clone(model).set_params(ica__fun="cube").get_params()["ica__fun"] == "cube"
    steps = make_pipeline(model, KNeighborsClassifier(5))
    name = type(model).__name__.lower()
    search = GridSearchCV(steps, {f"{name}__ica__fun": ["cube", "exp"]}, cv=3).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    fitted = [clone(model).set_params(ica__fun=fun).fit(X, y) for fun in ("cube", "exp")]
    assert np.abs(fitted[0].components_ - fitted[1].components_).max() > 1e-3
    save(fitted[0], tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.ica.fun == "cube"
    assert_array_equal(again.transform(X), fitted[0].transform(X))


@pytest.mark.parametrize(
    "ica", [FastICA(algorithm="deflation"), FastICA(fun=np.tanh), FastICA(fun="tanh"), "parallel"]
)
def test_an_ica_of_another_kind_is_refused(ica):
    with pytest.raises(ValueError, match=r"ica=.*parallel FastICA.*'logcosh'"):
        SupportVectorICA(ica=ica).fit(*TALL)


def test_components_that_are_one_row_are_short_and_warned_of():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.standard_normal((40, 200)) + y[:, None]
    with pytest.warns(UserWarning, match="3 of 4 independent components are mostly one training"):
        model = SupportVectorICA(5, random_state=0).fit(X, y)
    assert np.sum(np.linalg.norm(model.components_[1:], axis=1) < 0.1) == 3
    assert (model.held_out_negentropy_ < 0.01).all()
    sides = np.arange(400) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SupportVectorICA(2, random_state=0).fit(rng.uniform(size=(400, 4)), sides)


def test_an_ica_that_does_not_converge_says_what_to_do():
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 .*fewer components"):
        SupportVectorICA(ica=FastICA(max_iter=1), random_state=0).fit(*TALL)


def test_axes_are_orthogonal_to_normals_or_uncorrelated_with_them():
    rng = np.random.default_rng(0)
    W = rng.standard_normal((7, 3))
    Z = rng.standard_normal((30, 7)) * np.arange(1, 8)
    S = Z.T @ Z
    for normals in (W, np.column_stack([W, W[:, 0]])):
        variances, V = principal_axes(Z, normals)
        assert V.shape == (7, 4)
        assert_allclose(V.T @ W, 0, atol=1e-12)
        assert_allclose(V.T @ V, np.eye(4), atol=1e-12)
        assert_allclose(V.T @ S @ V, np.diag(variances), atol=1e-9)
    variances, V = uncorrelated_axes(Z, W)
    assert_allclose(V.T @ S @ W, 0, atol=1e-9)
    assert_allclose(V.T @ S @ V, np.diag(variances), atol=1e-9)
    assert (np.diff(variances) < 0).all()
