"""Kernel Fisher and kernel IPCAC: the linear methods in feature space."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import SVC
from sklearn.utils import get_tags

from separatrix import (
    IPCAC,
    FisherDiscriminant,
    KernelFisherDiscriminant,
    KernelIPCAC,
    TruncatedIPCAC,
    datasets,
)
from separatrix.fisher.kernel import (
    DEFAULT_RIDGE,
    mean_contrasts,
    ridge_span,
)
from separatrix.kernels import centred_gram, settled_kernel
from tests.discovery import SHAPES, TALL, labelled, same_up_to_sign

PAIR = labelled(120, 5, n_classes=2, seed=2)
WIDE_PAIR = labelled(24, 60, n_classes=2, seed=2)
DATA = {**SHAPES, "pair": PAIR, "wide pair": WIDE_PAIR}
every_data = pytest.mark.parametrize(("X", "y"), DATA.values(), ids=DATA)
MODELS = {
    "fisher": KernelFisherDiscriminant(),
    "full": KernelIPCAC(),
    "truncated": KernelIPCAC(truncate=True),
    "variance": KernelIPCAC(variance=0.95),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
CIRCLES = make_circles(240, noise=0.15, factor=0.4, random_state=0)


def new_rows(X, n=200):
    return X.mean(axis=0) + 2 * np.random.default_rng(0).normal(size=(n, X.shape[1]))


def assert_same_model(ours, linear, X, atol=1e-6):
    new = new_rows(X)
    Z, expected = ours.transform(new), linear.transform(new)
    scale = np.abs(expected).max()
    assert_allclose(same_up_to_sign(expected, Z), expected, atol=atol * scale)
    assert_array_equal(ours.predict(new), linear.predict(new))
    scores = linear.decision_function(new)
    assert_allclose(ours.decision_function(new), scores, atol=atol * np.abs(scores).max())
    assert_allclose(ours.explained_ratio_, linear.explained_ratio_, atol=atol)
    assert_allclose(ours.predict_proba(new), linear.predict_proba(new), atol=1e-4)


# The linear kernel is the linear method --------------------------------------------------------


@every_data
def test_linear_kernel_fisher_is_fisher(X, y):
    ours = KernelFisherDiscriminant(kernel="linear", ridge=0).fit(X, y)
    assert_same_model(ours, FisherDiscriminant().fit(X, y), X)


@every_data
def test_linear_kernel_fisher_with_a_ridge_is_shrunken_fisher(X, y):
    priors = np.full(len(set(y)), 1 / len(set(y)))
    fisher = FisherDiscriminant(shrinkage=0.3, priors=priors).fit(X, y)
    Sw, total = fisher.moments_.Sw, np.trace(fisher.moments_.St)
    # (1 - α) Sw + α tr(Sw)/d I is Sw + ρ I, up to a factor that changes lengths only
    rho = 0.3 * np.trace(Sw) / X.shape[1] / 0.7
    ridge = rho * len(X) / total
    ours = KernelFisherDiscriminant(kernel="linear", ridge=ridge, priors=priors).fit(X, y)
    assert_allclose(ours.ridge_, rho)
    new = new_rows(X)
    ratio = ours.transform(new) / fisher.transform(new)
    assert_allclose(np.abs(ratio), np.sqrt(0.7), rtol=1e-6)
    assert_array_equal(ours.predict(new), fisher.predict(new))


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


# Slow ways to the same answer ------------------------------------------------------------------


def full_map(gram, H, ridge):
    return gram.empirical_map()


@every_data
@pytest.mark.parametrize("kernel", ["rbf", "poly", laplacian_kernel])
@pytest.mark.parametrize("make", [KernelFisherDiscriminant, KernelIPCAC], ids=["fisher", "ipcac"])
def test_the_span_of_the_means_holds_the_solution(X, y, kernel, make, monkeypatch):
    quick = make(kernel=kernel).fit(X, y)
    monkeypatch.setattr("separatrix.fisher.kernel.ridge_span", full_map)
    assert_same_model(make(kernel=kernel).fit(X, y), quick, X, atol=1e-8)


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def test_two_classes_have_the_textbook_coefficients():
    X, y = PAIR
    K = centred(rbf_kernel(X, gamma=0.2))
    n = np.where(y == 1, 1 / np.sum(y == 1), -1 / np.sum(y == 0))
    rho = 0.3 * np.trace(K) / len(y)
    alpha = np.linalg.solve(K + rho * np.eye(len(y)), n)
    model = KernelIPCAC(kernel_gamma=0.2, ridge=0.3).fit(X, y)
    ours = model.dual_coef_[0]
    cosine = ours @ alpha / np.linalg.norm(ours) / np.linalg.norm(alpha)
    assert_allclose(abs(cosine), 1)
    assert_allclose(model.ridge_, rho)
    fisher = KernelFisherDiscriminant(kernel_gamma=0.2).fit(X, y)
    assert_allclose(fisher.ridge_, rho / 0.3 * DEFAULT_RIDGE)


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
    given = KernelIPCAC("precomputed", truncate=d).fit(factor * K, y)
    ours = centred(K) @ given.dual_coef_[0]  # what the kernel does not see is of no matter
    expected = centred(K) @ alpha
    cosine = ours @ expected / np.linalg.norm(ours) / np.linalg.norm(expected)
    assert given.n_whitened_ == d_whitened
    assert_allclose(abs(cosine), 1)
    assert_allclose(given.transform(factor * K).var(axis=0), 1)


def test_a_kernel_matrix_of_full_rank_needs_neither_ridge_nor_eigenvalues():
    X, y = PAIR
    gram = centred_gram(X, settled_kernel(X, laplacian_kernel))
    H = mean_contrasts(y, 2)
    to_span, rows = ridge_span(gram, H, 0.0)
    expected = np.linalg.pinv(gram.matrix, hermitian=True) @ H
    ratio = to_span.basis / expected
    assert_allclose(ratio, ratio[0, 0], rtol=1e-8)
    assert_allclose(gram.matrix @ to_span.basis, rows, atol=1e-10)


@every_data
@every_model
def test_the_stated_identities_hold(X, y, model):
    model = clone(model).set_params(kernel_gamma="median").fit(X, y)
    K = centred(rbf_kernel(X, gamma=model.kernel_gamma_))
    A = model.dual_coef_.T
    identity = np.eye(A.shape[1])
    Z = model.transform(X)
    assert_allclose(K @ A, Z, atol=1e-8)
    if isinstance(model, KernelIPCAC):
        covariance = np.cov(Z.T, bias=True).reshape(identity.shape)
        if model.ridge_ > 0:  # a ridge leaves the directions slightly correlated
            assert_allclose(np.diag(covariance), 1)
            assert np.abs(covariance - identity).max() < 0.01
        else:
            assert_allclose(covariance, identity, atol=1e-7)
        return
    within = np.zeros_like(identity)
    for c in np.unique(y):
        deviations = Z[y == c] - Z[y == c].mean(axis=0)
        within += deviations.T @ deviations
    assert_allclose(within + model.ridge_ * A.T @ K @ A, identity, atol=1e-8)


@every_data
@every_model
def test_a_direction_is_oriented_by_its_largest_coefficient(X, y, model):
    A = clone(model).fit(X, y).dual_coef_
    assert (A[np.arange(len(A)), np.abs(A).argmax(axis=1)] > 0).all()


# Kernels ---------------------------------------------------------------------------------------


@every_model
def test_a_precomputed_kernel_is_the_kernel(model):
    X, y = CIRCLES
    new = new_rows(X)
    named = clone(model).set_params(kernel="poly", kernel_gamma=0.7, degree=2).fit(X, y)
    given = clone(model).set_params(kernel="precomputed")
    assert get_tags(given).input_tags.pairwise
    assert not get_tags(named).input_tags.pairwise
    K = polynomial_kernel(X, gamma=0.7, degree=2)
    given.fit(K, y)
    Z = given.transform(polynomial_kernel(new, X, gamma=0.7, degree=2))
    expected = named.transform(new)
    assert_allclose(same_up_to_sign(expected, Z), expected, atol=1e-7 * np.abs(expected).max())
    assert given.kernel_gamma_ is None
    assert named.kernel_gamma_ == 0.7


@every_model
def test_precomputed_kernels_are_cut_both_ways_by_cross_validation(model):
    X, y = CIRCLES
    given = cross_val_score(
        clone(model).set_params(kernel="precomputed"), rbf_kernel(X, gamma=1.0), y, cv=4
    )
    named = cross_val_score(clone(model).set_params(kernel_gamma=1.0), X, y, cv=4)
    assert_allclose(given, named)


def test_functions_take_rows_and_their_parameters():
    X, y = CIRCLES
    model = KernelIPCAC(laplacian_kernel, kernel_params={"gamma": 0.9}).fit(X, y)
    K = laplacian_kernel(X, gamma=0.9)
    given = KernelIPCAC("precomputed").fit(K, y)
    assert_allclose(model.decision_function(X), given.decision_function(K), atol=1e-9)


@every_model
def test_kernels_separate_what_hyperplanes_do_not(model):
    X, y = CIRCLES
    assert FisherDiscriminant().fit(X, y).score(X, y) < 0.7
    assert np.mean(cross_val_score(model, X, y, cv=4)) > 0.92


def test_kernels_do_as_well_as_a_support_vector_machine():
    mixtures = datasets.make_gaussian_mixtures(60, 20, e=0.6, random_state=0)
    X, y = mixtures.data, mixtures.target
    svm = np.mean(cross_val_score(SVC(), X, y, cv=4))
    for model in (KernelFisherDiscriminant(), KernelIPCAC(), KernelIPCAC(truncate=True)):
        assert np.mean(cross_val_score(model, X, y, cv=4)) > svm - 0.02


def test_many_classes_decide_as_kernel_fisher():
    X, y = labelled(200, 3, n_classes=4)
    new = new_rows(X)
    fisher, ipcac = KernelFisherDiscriminant().fit(X, y), KernelIPCAC().fit(X, y)
    assert len(set(fisher.predict(new))) == 4
    assert_array_equal(ipcac.predict(new), fisher.predict(new))
    assert ipcac.threshold_ is None
    assert ipcac.transform(new).shape[1] == 3


# Landmarks -------------------------------------------------------------------------------------


@every_model
def test_as_many_landmarks_as_rows_are_exact(model):
    X, y = CIRCLES
    exact, same = clone(model).fit(X, y), clone(model).set_params(n_landmarks=240).fit(X, y)
    assert_array_equal(same.transform(X), exact.transform(X))
    assert getattr(same, "n_whitened_", None) == getattr(exact, "n_whitened_", None)


@every_model
def test_landmarks_come_close_and_are_repeatable(model):
    X, y = CIRCLES
    some = clone(model).set_params(n_landmarks=40, random_state=0)
    assert np.mean(cross_val_score(some, X, y, cv=4)) > 0.95
    assert_array_equal(clone(some).fit(X, y).transform(X), clone(some).fit(X, y).transform(X))
    assert some.fit(X, y).dual_coef_.shape == (1, 40)


def test_landmarks_fit_many_rows_without_a_square_matrix():
    n = 20_000
    X, y = make_circles(n, noise=0.15, factor=0.4, random_state=0)
    tracemalloc.start()
    model = KernelIPCAC(n_landmarks=40, random_state=0).fit(X, y)
    model.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * n * 8 / 20
    assert model.score(X, y) > 0.9


# What is refused, and small things -------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("kernel", "gauss"),
        ("kernel_gamma", 0),
        ("kernel_gamma", "auto"),
        ("degree", 0),
        ("coef0", -1),
        ("kernel_params", 3),
        ("n_landmarks", 0),
        ("ridge", -1),
        ("ridge", "some"),
    ],
)
@every_model
def test_senseless_parameters_are_refused(model, parameter, value):
    with pytest.raises(ValueError, match=f"{parameter}={value!r} is not valid"):
        clone(model).set_params(**{parameter: value}).fit(*PAIR)


def test_options_without_effect_are_refused():
    with pytest.raises(ValueError, match=r"variance=0\.9 has no effect with truncate=3"):
        KernelIPCAC(truncate=3, variance=0.9).fit(*PAIR)
    with pytest.raises(ValueError, match=r"ridge=0\.5 has no effect with truncate=True"):
        KernelIPCAC(truncate=True, ridge=0.5).fit(*PAIR)
    KernelIPCAC(truncate=True, ridge=0).fit(*PAIR)


@every_model
def test_kernel_values_of_other_rows_are_refused(model):
    X, y = CIRCLES
    model = clone(model).set_params(kernel="precomputed")
    with pytest.raises(ValueError, match="square matrix, but X has shape"):
        model.fit(X, y)
    model.fit(rbf_kernel(X), y)
    with pytest.raises(ValueError, match="240 features"):
        model.predict(X)


@every_model
def test_a_model_survives_pickling(model):
    model = clone(model).fit(*TALL)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(TALL[0]), model.predict_proba(TALL[0]))


@every_model
def test_sparse_precomputed_kernels_are_dense_ones(model):
    X, y = CIRCLES
    K = rbf_kernel(X, gamma=1.0)
    model = clone(model).set_params(kernel="precomputed").fit(sp.csr_array(K), y)
    assert_allclose(model.transform(sp.csr_array(K)), model.transform(K), atol=1e-12)
    assert model.score(K, y) > 0.97


def test_priors_move_the_decision():
    X, y = PAIR
    X = X + np.random.default_rng(0).normal(scale=2, size=X.shape)
    for make in (KernelFisherDiscriminant, KernelIPCAC):
        models = [make(priors=[p, 1 - p], ridge=10).fit(X, y) for p in (0.99, 0.01)]
        shares = [np.mean(model.predict(X)) for model in models]
        assert shares[0] < shares[1]


def test_grid_search_reaches_the_kernel():
    X, y = CIRCLES
    grid = {"kernel_gamma": ["scale", "median"], "ridge": [0.01, 1.0], "truncate": [False]}
    search = GridSearchCV(KernelIPCAC(), grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.97


def test_duplicated_rows_of_a_smooth_kernel_have_an_answer_without_ridge():
    X, y = CIRCLES
    twice, labels = np.vstack([X, X[:50]]), np.r_[y, y[:50]]
    model = KernelIPCAC(ridge=0).fit(twice, labels)
    assert np.isfinite(model.decision_function(twice)).all()
    exact = KernelIPCAC(laplacian_kernel, ridge=0).fit(twice, labels)
    assert exact.score(twice, labels) == 1


@pytest.mark.parametrize("n_landmarks", [None, 40])
@pytest.mark.parametrize("kernel", ["rbf", "poly", "linear", "cosine", laplacian_kernel])
@pytest.mark.parametrize(
    "model",
    [KernelFisherDiscriminant(), KernelIPCAC(), KernelIPCAC(truncate=2)],
    ids=["fisher", "full", "truncated"],
)
def test_dense_models_judge_sparse_rows_and_the_reverse(model, kernel, n_landmarks):
    X, y = make_moons(200, noise=0.2, random_state=0)
    X = X + 5
    model = clone(model).set_params(kernel=kernel, n_landmarks=n_landmarks, random_state=0)
    for train, same in ((X, sp.csr_array(X)), (sp.csr_array(X), X)):
        model.fit(train, y)
        expected = model.transform(train)
        assert_allclose(model.transform(same), expected, atol=1e-6 * np.abs(expected).max())
