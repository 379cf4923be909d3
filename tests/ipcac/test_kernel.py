"""Kernel IPCAC is IPCAC in feature space."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV

from separatrix import (
    IPCAC,
    KernelFisherDiscriminant,
    KernelIPCAC,
    TruncatedIPCAC,
)
from separatrix.kernels import RBF
from tests.base.kernel_data import CIRCLES, PAIR, assert_same_model, centred, every_data, new_rows
from tests.discovery import labelled


@every_data
@pytest.mark.parametrize("threshold", ["mahalanobis", "accuracy", "balanced"])
def test_linear_kernel_ipcac_is_ipcac(X, y, threshold):
    ours = KernelIPCAC("linear", ridge=0, threshold=threshold).fit(X, y)
    assert_same_model(ours, IPCAC(threshold=threshold).fit(X, y), X)


@every_data
@pytest.mark.parametrize("d", [1, 2, 4, 1000])
def test_linear_truncated_kernel_ipcac_is_truncated_ipcac(X, y, d):
    models = KernelIPCAC("linear", truncate=d), TruncatedIPCAC(d)
    ours, linear = (m.set_params(threshold="mahalanobis").fit(X, y) for m in models)
    assert ours.n_whitened_ == linear.n_whitened_
    assert_same_model(ours, linear, X)


@every_data
def test_linear_kernel_with_variance_is_ipcac_with_variance(X, y):
    literal = {"threshold": "mahalanobis"}
    ours = KernelIPCAC("linear", variance=0.8, **literal).fit(X, y)
    assert_same_model(ours, IPCAC(variance=0.8, **literal).fit(X, y), X)
    truncated = KernelIPCAC("linear", truncate=True, variance=0.8, **literal).fit(X, y)
    evals = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    d = int(np.searchsorted(np.cumsum(evals) / evals.sum(), 0.8) + 1)
    assert truncated.n_whitened_ == d
    assert_same_model(truncated, TruncatedIPCAC(d, **literal).fit(X, y), X)


@every_data
@pytest.mark.parametrize("options", [{"truncate": 3}, {"variance": 0.8}, {"ridge": 0.5}])
def test_linear_landmarks_that_span_everything_are_exact(X, y, options):
    if X.shape[1] >= len(X) - 3:
        pytest.skip("landmarks fewer than dimensions leave some out")
    options = {**options, "threshold": "mahalanobis"}
    exact = KernelIPCAC("linear", **options).fit(X, y)
    some = KernelIPCAC("linear", n_landmarks=len(X) - 2, random_state=0, **options)
    assert_same_model(some.fit(X, y), exact, X)


def test_two_classes_have_the_textbook_coefficients():
    X, y = PAIR
    K = centred(rbf_kernel(X, gamma=0.2))
    n = np.where(y == 1, 1 / np.sum(y == 1), -1 / np.sum(y == 0))
    rho = 0.3 * np.trace(K) / len(y)
    alpha = np.linalg.solve(K + rho * np.eye(len(y)), n)
    model = KernelIPCAC(kernel=RBF(0.2), ridge=0.3).fit(X, y)
    ours = model.dual_coef_[0]
    cosine = ours @ alpha / np.linalg.norm(ours) / np.linalg.norm(alpha)
    assert_allclose(abs(cosine), 1)
    assert_allclose(model.ridge_, rho)


@pytest.mark.parametrize("d", [1, 5, 30])
@pytest.mark.parametrize("factor", [1.0, 1e-4])
def test_truncated_coefficients_are_the_formula_and_free_of_scale(d, factor):
    X, y = PAIR
    K = polynomial_kernel(X, degree=2)
    evals, V = np.linalg.eigh(centred(K))
    d_whitened = min(d, np.linalg.matrix_rank(centred(K)))
    assert (d_whitened < d) == (d == 30)
    evals, V = evals[::-1][:d_whitened], V[:, ::-1][:, :d_whitened]
    n = np.where(y == 1, 1 / np.sum(y == 1), -1 / np.sum(y == 0))
    alpha = n + V @ ((evals[-1] / evals - 1) * (V.T @ n))
    literal = KernelIPCAC("precomputed", truncate=d, threshold="mahalanobis")
    given = literal.fit(factor * K, y)
    ours = centred(K) @ given.dual_coef_[0]  # what the kernel does not see is of no matter
    expected = centred(K) @ alpha
    cosine = ours @ expected / np.linalg.norm(ours) / np.linalg.norm(expected)
    assert given.n_whitened_ == d_whitened
    assert_allclose(abs(cosine), 1)
    assert_allclose(given.transform(factor * K).var(axis=0), 1)


def test_functions_take_rows_and_their_parameters():
    X, y = CIRCLES
    model = KernelIPCAC(partial(laplacian_kernel, gamma=0.9)).fit(X, y)
    K = laplacian_kernel(X, gamma=0.9)
    given = KernelIPCAC("precomputed").fit(K, y)
    assert_allclose(model.decision_function(X), given.decision_function(K), atol=1e-9)


def test_many_classes_decide_as_kernel_fisher():
    X, y = labelled(200, 3, n_classes=4)
    new = new_rows(X)
    fisher, ipcac = KernelFisherDiscriminant().fit(X, y), KernelIPCAC().fit(X, y)
    assert len(set(fisher.predict(new))) == 4
    assert_array_equal(ipcac.predict(new), fisher.predict(new))
    assert ipcac.threshold_ is None
    assert ipcac.transform(new).shape[1] == 3


def test_options_without_effect_are_refused():
    with pytest.raises(ValueError, match=r"variance=0\.9 has no effect with truncate=3"):
        KernelIPCAC(truncate=3, variance=0.9).fit(*PAIR)
    with pytest.raises(ValueError, match=r"ridge=0\.5 has no effect with truncate=True"):
        KernelIPCAC(truncate=True, ridge=0.5).fit(*PAIR)
    KernelIPCAC(truncate=True, ridge=0).fit(*PAIR)


def test_grid_search_reaches_the_kernel():
    X, y = CIRCLES
    grid = {"kernel": [RBF("scale"), RBF("median")], "ridge": [0.01, 1.0], "truncate": [False]}
    search = GridSearchCV(KernelIPCAC(), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.97


def test_duplicated_rows_of_a_smooth_kernel_have_an_answer_without_ridge():
    X, y = CIRCLES
    twice, labels = np.vstack([X, X[:50]]), np.r_[y, y[:50]]
    model = KernelIPCAC(ridge=0).fit(twice, labels)
    assert np.isfinite(model.decision_function(twice)).all()
    exact = KernelIPCAC(laplacian_kernel, ridge=0).fit(twice, labels)
    assert exact.score(twice, labels) == 1


WEIGHED = {
    "ridge": {"ridge": 0.1},
    "by rows left out": {},
    "accuracy": {"threshold": "accuracy"},
    "truncated": {"truncate": True, "threshold": "mahalanobis"},
    "five axes by rows left out": {"truncate": 5},
    "three axes": {"truncate": 3, "threshold": "balanced"},
    "variance": {"variance": 0.9, "threshold": "mahalanobis"},
    "truncated by variance": {"truncate": True, "variance": 0.9, "threshold": "mahalanobis"},
    "landmarks": {"n_landmarks": 20},
    "truncated landmarks": {"n_landmarks": 20, "truncate": 3},
}


@pytest.mark.parametrize("options", WEIGHED.values(), ids=WEIGHED)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_weight_is_the_row_so_many_times(options, n_classes):
    X, y = labelled(80, 3, n_classes)
    weights = np.random.default_rng(0).integers(0, 4, 80)
    if "n_landmarks" in options:
        options = {**options, "n_landmarks": X[:20], "kernel": RBF(0.2)}
    model, many = KernelIPCAC(**options), KernelIPCAC(**options)
    model.fit(X, y, sample_weight=weights)
    many.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert_allclose(model.ridge_, many.ridge_)
    assert model.n_whitened_ == many.n_whitened_
    new = new_rows(X)
    # the slope is found by a search that stops at a change of 1e-9 in the log-loss
    assert_allclose(model.decision_function(new), many.decision_function(new), 1e-3, 1e-4)
    assert_allclose(model.predict_proba(new), many.predict_proba(new), atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"truncate": 3}, {"variance": 0.9}])
def test_rows_without_weight_were_never_there(options):
    X, y = make_moons(80, noise=0.2, random_state=0)
    options = {**options, "kernel": RBF(1.0)}
    weights = np.repeat([1.0, 0.0], [60, 20])
    model = KernelIPCAC(**options).fit(X, y, weights)
    without = KernelIPCAC(**options).fit(X[:60], y[:60])
    assert_allclose(model.decision_function(X), without.decision_function(X), atol=1e-7)


def test_weights_of_dask_collections_are_refused():
    da = pytest.importorskip("dask.array")
    X, y = labelled(80, 3, 2)
    blocks = da.from_array(X, chunks=(40, -1)), da.from_array(y, chunks=40)
    with pytest.raises(ValueError, match="sample_weight needs rows in memory"):
        KernelIPCAC(n_landmarks=10).fit(*blocks, np.ones(80))
