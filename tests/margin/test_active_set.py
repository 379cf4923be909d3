"""Rows put exactly on their margin."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.margin.active_set import (
    MarginProblem,
    MarginSets,
    Points,
    cholesky_solve,
    solve_on_margin,
)
from separatrix.margin.hyperplane import Hyperplane, prepare_points, soft_margin_hyperplane
from tests.margin.margin_data import assert_optimal, overlapping


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_inner_products_follow_what_is_taken_off_the_rows(size):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((40, 3)))[0]
    Z = rng.standard_normal((30, 40)) + size * rng.standard_normal((30, 3)) @ Q.T
    whole = prepare_points(Z.copy())
    assert_allclose(whole.gram, Z @ Z.T)
    left = whole.remove(Q)
    assert_allclose(left.rows @ Q, 0, atol=1e-14 * size)
    assert_allclose(left.gram, left.rows @ left.rows.T, atol=1e-11)  # a size² of 1e12 is gone
    some = np.array([3, 17, 4])
    assert_allclose(left.products(some), left.rows[some] @ left.rows[some].T, atol=1e-11)
    assert prepare_points(Z.T).gram is not None
    assert prepare_points(np.ones((601, 2))).gram is None


@pytest.mark.parametrize("n_copies", [1, 2])
def test_the_sets_of_the_minimum_give_the_minimum(n_copies):
    Z, signs = overlapping()
    Z, signs = np.tile(Z, (n_copies, 1)), np.tile(signs, n_copies)
    cost = np.ones(len(Z))
    plane = soft_margin_hyperplane(prepare_points(Z), signs, cost)
    sets = MarginSets.by_zone(1 - signs * (Z @ plane.normal + plane.intercept), 1e-8)
    points = Points(Z, None)
    found, n_tried = solve_on_margin(MarginProblem(points, signs, cost), sets, 1)
    assert n_tried == 1
    assert_allclose(found.normal, plane.normal, atol=1e-11)


def test_a_row_that_is_missing_on_the_margin_is_put_there():
    Z, signs = overlapping(40, 100)
    cost = np.full(len(Z), 0.01)
    plane = soft_margin_hyperplane(prepare_points(Z), signs, cost)
    sets = MarginSets.by_zone(1 - signs * (Z @ plane.normal + plane.intercept), 1e-8)
    clear = sets.clear.copy()
    clear[sets.zone[0]] = True
    wrong = MarginSets.by_masks(sets.short, clear)
    problem = MarginProblem(Points(Z, None), signs, cost)
    assert solve_on_margin(problem, wrong, 1)[0] is None
    repaired, n_tried = solve_on_margin(problem, wrong, 10)
    assert n_tried > 1
    assert_optimal(Z, signs, cost, Hyperplane(repaired.normal, repaired.intercept, True, 1))


def test_a_matrix_that_is_not_positive_definite_is_not_solved():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        cholesky_solve(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2))
