"""Kernels as objects: their values, their parameters, and words for widths."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import GridSearchCV

from separatrix import KernelFisherDiscriminant, KernelIPCAC, KernelLDG
from separatrix import kernels as kernel_module
from separatrix.kernels import (
    NAMED,
    RBF,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    inverse_width,
    is_precomputed,
    make_kernel,
    settle_kernel,
)

draws = np.random.default_rng(0)
X = draws.normal(size=(30, 4))
NEW = draws.normal(size=(17, 4))


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (RBF(0.3), rbf_kernel(X, NEW, gamma=0.3)),
        (Laplacian(0.3), laplacian_kernel(X, NEW, gamma=0.3)),
        (Polynomial(2, gamma=0.3, coef0=0.5), polynomial_kernel(X, NEW, 2, 0.3, 0.5)),
        (Linear(), X @ NEW.T),
    ],
    ids=str,
)
def test_kernels_have_the_values_of_their_formula(kernel, expected):
    assert_allclose(kernel(X, NEW), expected, rtol=1e-12)
    assert_allclose(kernel(sp.csr_array(X), NEW), expected, atol=1e-12)
    assert_allclose(kernel(X), kernel(X, X), atol=1e-12)
    assert clone(kernel).settle(X).get_params() == kernel.get_params()


@pytest.mark.parametrize("name", NAMED)
def test_a_name_is_the_kernel_with_its_defaults(name):
    kernel = make_kernel(name)
    assert kernel.get_params() == NAMED[name]().get_params()
    assert is_precomputed(name) == is_precomputed(kernel) == isinstance(kernel, Precomputed)


def test_nested_parameters_reach_the_kernel():
    rows, y = make_moons(60, noise=0.2, random_state=0)
    for estimator in (KernelFisherDiscriminant(), KernelIPCAC(), KernelLDG(1, gamma=0.7)):
        estimator.set_params(kernel=RBF())
        grid = {"kernel__gamma": [0.2, 2.0], "n_landmarks": [None, 20]}
        if isinstance(estimator, KernelLDG):
            model = clone(estimator).set_params(kernel__gamma=0.2).fit(rows, y)
        else:
            model = GridSearchCV(estimator, grid, cv=2).fit(rows, y).best_estimator_
        assert model.kernel_.get_params() == model.kernel.get_params()
        assert estimator.kernel.gamma == "auto"


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF(0), "gamma=0 is not valid for RBF"),
        (RBF("wide"), "gamma='wide' is not valid for RBF"),
        (RBF(True), "gamma=True is not valid"),
        (Polynomial(gamma="auto"), "gamma='auto' is not valid for Polynomial"),
        (Polynomial(0), "degree=0 is not valid"),
        (Polynomial(coef0=-1), "coef0=-1 is not valid"),
    ],
)
def test_senseless_numbers_are_errors(kernel, message):
    with pytest.raises(ValueError, match=message):
        KernelIPCAC(kernel).fit(X, X[:, 0] > 0)


def test_a_class_is_no_kernel():
    with pytest.raises(ValueError, match=r"kernel=.*RBF.* is not valid"):
        KernelIPCAC(RBF).fit(X, X[:, 0] > 0)


def test_equal_kernels_are_the_same():
    assert settle_kernel(X, RBF(0.3)).same_as(settle_kernel(NEW, RBF(0.3)))
    assert not settle_kernel(X, RBF(0.3)).same_as(settle_kernel(X, RBF(0.4)))
    assert not settle_kernel(X, RBF(0.3)).same_as(settle_kernel(X, Laplacian(0.3)))
    assert settle_kernel(X, rbf_kernel).same_as(settle_kernel(X, rbf_kernel))


# Widths -----------------------------------------------------------------------------------------


def test_scale_is_scikit_learns():
    assert_allclose(inverse_width(X, "scale"), 1 / (4 * X.var()))
    assert_allclose(inverse_width(sp.csr_array(X), "scale"), 1 / (4 * X.var()))
    assert inverse_width(np.ones((3, 2)), "scale") == 1.0
    assert RBF(7).settle(X).gamma == 7
    assert_allclose(RBF("auto").settle(X).gamma, 1 / (4 * X.var()))


def test_median_is_over_all_pairs_and_sees_neither_copies_nor_offsets():
    distances = ((X[:, None] - X) ** 2).sum(axis=2)
    expected = 1 / np.median(distances)
    assert_allclose(inverse_width(X, "median"), expected)
    assert_allclose(inverse_width(np.vstack([X, X]), "median"), expected)
    assert_allclose(inverse_width(X + 1e6, "median"), expected, rtol=1e-8)
    assert_allclose(inverse_width(sp.csr_array(X), "median"), expected)


def test_median_of_coinciding_rows_is_their_mean_distance():
    rows = np.array([[0.0]] * 9 + [[3.0]])
    assert_allclose(inverse_width(rows, "median"), 1 / (18 * 9 / 100))
    assert inverse_width(np.ones((3, 2)), "median") == 1.0


def test_widths_of_the_laplacian_kernel_follow_the_unit_of_the_features():
    for word in ("scale", "median"):
        gamma = Laplacian(word).settle(X).gamma
        assert_allclose(Laplacian(word).settle(10 * X).gamma, gamma / 10)
        assert_allclose(Laplacian(word).settle(sp.csr_array(X)).gamma, gamma)
    distances = np.abs(X[:, None] - X).sum(axis=2)
    assert_allclose(gamma, 1 / np.median(distances))


def test_median_of_many_rows_looks_at_some(monkeypatch):
    monkeypatch.setattr(kernel_module, "MAX_MEDIAN_ROWS", 10)
    one, same, other = (inverse_width(X, "median", seed) for seed in (0, 0, 1))
    assert one == same != other
    assert_allclose(one, inverse_width(X, "median", None), rtol=2)
