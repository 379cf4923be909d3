"""Newton's method on the smoothed hinge."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from separatrix.margin import hyperplane, newton
from tests.margin.margin_data import (
    iris_one_against_rest,
    plane_of,
)


@pytest.mark.parametrize("mild", [0.0, 1e6])
@pytest.mark.parametrize("m", [3, 50])
def test_a_weighted_ridge_has_no_slope_left(monkeypatch, m, mild):
    monkeypatch.setattr(newton, "MAX_NORMAL_EQUATION_SIZE", mild)
    rng = np.random.default_rng(0)
    A, weights, target = rng.normal(1, 1, (m, 8)), rng.uniform(1, 3, m), rng.standard_normal(m)
    pull, push = rng.standard_normal(8), 0.7
    w, b = newton.weighted_ridge(A.copy(), weights, target, pull, push)
    residual = weights * (A @ w + b - target)
    assert_allclose(w - pull + A.T @ residual, 0, atol=1e-12)
    assert_allclose(residual.sum(), push, atol=1e-12)


@pytest.mark.parametrize("C", [1e-2, 1e6])
def test_a_hyperplane_that_is_not_finished_is_not_taken_for_none(monkeypatch, C):
    monkeypatch.setattr(hyperplane, "MAX_TALL_GRAM_ROWS", 0)
    Z, signs = iris_one_against_rest()
    for max_iter in (1, 2, 5):
        with pytest.warns(ConvergenceWarning, match=f"max_iter={max_iter} steps") as said:
            plane = plane_of(Z, signs, np.full(150, C), max_iter=max_iter)
        assert len(said) == 1
        assert plane.n_iter == max_iter
        assert not plane.exact
        assert plane.normal.any()


def test_a_normal_must_save_what_the_best_one_saves():
    Z, signs, cost = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.ones(2)
    # beyond the margins it saves 2 - w²/2, which must be w²/4
    for w, better in [(0.0, False), (1e-9, True), (1.63, True), (1.64, False)]:
        assert newton.is_better_than_none(Z, signs, cost, np.array([w]), 0.0) == better
    assert not newton.is_better_than_none(Z, signs, cost, np.array([-0.1]), 0.0)


@pytest.mark.parametrize("seed", [27, 36, 68, 85])
def test_a_normal_no_better_than_none_is_no_direction(seed):
    # random labels at a low cost, where no exact finish was found
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(40, 5))
    Z -= Z.mean(axis=0)
    signs = np.where(rng.random(40) < 0.2, 1.0, -1.0)
    plane = plane_of(Z, signs, np.full(40, 10 ** rng.uniform(-3, 0)))
    assert not plane.exact
    assert not plane.normal.any()
