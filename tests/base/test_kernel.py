"""Kernel estimators are the linear methods in feature space."""

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
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC
from sklearn.utils import get_tags

from separatrix import (
    FisherDiscriminant,
    KernelFisherDiscriminant,
    KernelIPCAC,
    datasets,
)
from separatrix.base.feature_space import compute_centred_gram
from separatrix.kernels import RBF, Polynomial, settle_kernel
from tests.base.kernel_data import CIRCLES, PAIR, centred, every_data, every_model, new_rows
from tests.discovery import TALL, same_up_to_sign


@every_data
@every_model
def test_the_stated_identities_hold(X, y, model):
    model = clone(model).set_params(kernel=RBF("median")).fit(X, y)
    K = centred(rbf_kernel(X, gamma=model.kernel_.gamma))
    A = model.dual_coef_.T
    identity = np.eye(A.shape[1])
    Z = model.transform(X)
    assert_allclose(K @ A, Z, atol=1e-8)
    if isinstance(model, KernelIPCAC):
        covariance = np.cov(Z.T, bias=True).reshape(identity.shape)
        if model.ridge_ > 0 or model.n_whitened_:  # directions are slightly correlated
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
    named = clone(model).set_params(kernel=Polynomial(2, gamma=0.7)).fit(X, y)
    given = clone(model).set_params(kernel="precomputed")
    assert get_tags(given).input_tags.pairwise
    assert not get_tags(named).input_tags.pairwise
    K = polynomial_kernel(X, gamma=0.7, degree=2)
    given.fit(K, y)
    Z = given.transform(polynomial_kernel(new, X, gamma=0.7, degree=2))
    expected = named.transform(new)
    assert_allclose(same_up_to_sign(expected, Z), expected, atol=1e-7 * np.abs(expected).max())
    assert given.kernel_.get_params() == {}
    assert named.kernel_.gamma == 0.7


@every_model
def test_precomputed_kernels_are_cut_both_ways_by_cross_validation(model):
    X, y = CIRCLES
    given = cross_val_score(
        clone(model).set_params(kernel="precomputed"), rbf_kernel(X, gamma=1.0), y, cv=4
    )
    named = cross_val_score(clone(model).set_params(kernel=RBF(1.0)), X, y, cv=4)
    assert_allclose(given, named)


@every_model
def test_kernels_separate_what_hyperplanes_do_not(model):
    X, y = CIRCLES
    assert FisherDiscriminant(shrinkage=None).fit(X, y).score(X, y) < 0.7
    assert np.mean(cross_val_score(model, X, y, cv=4)) > 0.92


def test_kernels_do_as_well_as_a_support_vector_machine():
    mixtures = datasets.make_gaussian_mixtures(60, 20, e=0.6, random_state=0)
    X, y = mixtures.data, mixtures.target
    svm = np.mean(cross_val_score(SVC(), X, y, cv=4))
    for model in (KernelFisherDiscriminant(), KernelIPCAC(), KernelIPCAC(truncate=True)):
        assert np.mean(cross_val_score(model, X, y, cv=4)) > svm - 0.02


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


# Errors, and small things -------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("kernel", "gauss"),
        ("n_landmarks", 0),
        ("ridge", -1),
        ("ridge", "some"),
    ],
)
@every_model
def test_senseless_parameters_are_errors(model, parameter, value):
    with pytest.raises(ValueError, match=f"{parameter}={value!r} is not valid"):
        clone(model).set_params(**{parameter: value}).fit(*PAIR)


@every_model
def test_kernel_values_of_other_rows_are_errors(model):
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


@pytest.mark.parametrize("n_landmarks", [None, 40])
@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "linear", "laplacian", laplacian_kernel])
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


def test_more_pairs_than_memory_are_refused():
    X, y = np.zeros((20_001, 1)), np.arange(20_001) % 2
    with pytest.raises(ValueError, match=r"pairs of 20001 rows, 3 GB: set n_landmarks, such as"):
        KernelFisherDiscriminant().fit(X, y)


def test_an_exact_kernel_holds_one_matrix_of_all_pairs():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2500, 3)), np.arange(2500) % 2
    tracemalloc.start()
    KernelIPCAC(kernel=RBF(0.3), ridge=0.1).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.7 * 8 * 2500**2  # with the blocks that it is made of, and a part of a factor


def test_pairs_in_blocks_are_those_of_all_rows():
    X = np.random.default_rng(0).standard_normal((2300, 3))
    gram = compute_centred_gram(X, settle_kernel(X, RBF(0.3)))
    assert_allclose(gram.matrix[:50], centred(rbf_kernel(X, gamma=0.3))[:50], atol=1e-12)
