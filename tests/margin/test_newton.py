"""Newton's method on the smoothed hinge."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning

from separatrix.margin import hyperplane, newton
from separatrix.margin.active_set import Candidate, MarginProblem, Points
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


def smoothed_on_a_line(rng, length):
    """A problem, its place, and a step of which the least part is to be found."""
    Z, signs = rng.standard_normal((200, 3)), np.where(rng.random(200) < 0.5, 1.0, -1.0)
    problem = MarginProblem(Points(Z, None), signs, np.ones(200))
    w, eps = np.array([0.1, 0.2, 0.3]), 0.3

    def value(v):
        t = 1 - signs * (Z @ v)
        inner = np.clip(t + eps, 0, 2 * eps)
        return v @ v / 2 + np.sum(inner**2 / (4 * eps) + np.maximum(t - eps, 0))

    duals = np.clip((1 - signs * (Z @ w) + eps) / (2 * eps), 0, 1)
    down = (signs * duals) @ Z - w
    goal = w + length * down
    step = Candidate(goal, 0.0, Z @ goal, duals)
    return problem, eps, w, Z @ w, step, value


@pytest.mark.parametrize("length", [1e-6, 0.01, 1.0, 1e8])
def test_a_line_search_ends_where_the_smoothed_problem_is_least(rng, length):
    problem, eps, w, scores, step, value = smoothed_on_a_line(rng, length)
    x = newton._line_minimum(problem, eps, w, scores, step)
    best = minimize_scalar(
        lambda c: value(w + c * (step.normal - w) / length), bounds=(0, 1), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    assert_allclose(x * length, best.x, rtol=1e-4)


def test_a_step_that_leads_nowhere_is_not_made(rng):
    problem, eps, w, scores, step, _ = smoothed_on_a_line(rng, -1.0)
    assert newton._line_minimum(problem, eps, w, scores, step) == 0


def test_the_first_zone_is_narrow_where_a_wide_one_costs_more_and_the_start_is_near():
    wide, narrow = newton.FIRST_HALF_WIDTH / newton.ZONE_SHRINKAGE, newton.NARROW_HALF_WIDTH
    clear, on_margin, short = np.full(90, -1.0), np.zeros(10), np.ones(100)
    inside = np.append(clear, on_margin)
    assert newton._first_half_width(inside, clear, 100) == narrow
    assert newton._first_half_width(inside, clear, 30) == wide
    assert newton._first_half_width(inside, np.append(clear, short[:20]), 100) == wide
    inside = np.append(inside, short[:20])
    assert newton._first_half_width(inside, np.append(clear, short[:20]), 100) == narrow


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
