"""Newton's method on the smoothed hinge."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog, minimize_scalar

from separatrix.margin import newton
from separatrix.margin.points import Points
from tests.margin.margin_data import plane_of


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
    problem = newton.Problem(Points(Z, None), signs, np.ones(200))
    w, eps = np.array([0.1, 0.2, 0.3]), 0.3

    def value(v):
        t = 1 - signs * (Z @ v)
        inner = np.clip(t + eps, 0, 2 * eps)
        return v @ v / 2 + np.sum(inner**2 / (4 * eps) + np.maximum(t - eps, 0))

    duals = np.clip((1 - signs * (Z @ w) + eps) / (2 * eps), 0, 1)
    down = (signs * duals) @ Z - w
    goal = w + length * down
    return problem, eps, w, Z @ w, goal, value


@pytest.mark.parametrize("length", [1e-6, 0.01, 1.0, 1e8])
def test_a_line_search_ends_where_the_smoothed_problem_is_least(rng, length):
    problem, eps, w, scores, goal, value = smoothed_on_a_line(rng, length)
    x = newton._line_minimum(
        problem, eps, (w, 0.0), scores, (goal, 0.0), problem.points.rows @ goal
    )
    best = minimize_scalar(
        lambda c: value(w + c * (goal - w) / length), bounds=(0, 1), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    assert_allclose(x * length, best.x, rtol=1e-4)


def test_a_step_that_leads_nowhere_is_not_made(rng):
    problem, eps, w, scores, goal, _ = smoothed_on_a_line(rng, -1.0)
    assert (
        newton._line_minimum(
            problem, eps, (w, 0.0), scores, (goal, 0.0), problem.points.rows @ goal
        )
        == 0
    )


def test_a_normal_must_save_what_the_best_one_saves():
    Z, signs, cost = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.ones(2)
    # beyond the margins it saves 2 - w²/2, which must be w²/4
    for w, better in [(0.0, False), (1e-9, True), (1.63, True), (1.64, False)]:
        assert newton.is_better_than_none(Z, signs, cost, np.array([w]), 0.0) == better
    assert not newton.is_better_than_none(Z, signs, cost, np.array([-0.1]), 0.0)


def test_watching_some_rows_changes_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((6000, 8))
    signs = np.where(Z @ np.ones(8) + 2 * rng.standard_normal(6000) > 0, 1.0, -1.0)
    problem = newton.Problem(Points(Z - Z.mean(axis=0), None), signs, np.full(6000, 0.3))
    start = newton.NewtonStart(np.zeros(8), 0.0, newton.FIRST_HALF_WIDTH)
    some = newton.smoothed_newton(problem, start, 500)
    monkeypatch.setattr(newton, "MIN_WATCHED", 10**9)
    every = newton.smoothed_newton(problem, start, 500)
    assert some.exact
    assert every.exact
    assert_allclose(some.normal, every.normal, rtol=1e-7, atol=1e-9)
    assert_allclose(some.intercept, every.intercept, rtol=1e-7)


@pytest.mark.parametrize(("seed", "best_is_none"), [(27, False), (36, False), (68, True)])
def test_a_normal_is_zero_just_where_none_is_best(seed, best_is_none):
    """None is best where the sum of the lighter class is one of parts of the heavier class."""
    rng = np.random.default_rng(seed)  # random labels at a low cost
    Z = rng.normal(size=(40, 5))
    Z -= Z.mean(axis=0)
    signs = np.where(rng.random(40) < 0.2, 1.0, -1.0)
    light, heavy = Z[signs > 0], Z[signs < 0]
    sums = np.vstack([heavy.T, np.ones(len(heavy))]), np.append(light.sum(axis=0), len(light))
    parts = linprog(np.zeros(len(heavy)), A_eq=sums[0], b_eq=sums[1], bounds=(0, 1))
    assert (parts.status == 0) == best_is_none
    plane = plane_of(Z, signs, np.full(40, 10 ** rng.uniform(-3, 0)))
    assert plane.normal.any() != best_is_none


def test_a_matrix_that_is_not_positive_definite_is_not_solved():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        newton.cholesky_solve(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2))
