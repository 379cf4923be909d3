"""Rows put exactly on their margin."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.margin import active_set
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


def test_the_pull_of_short_rows_is_their_sum_whichever_rows_change(rng):
    Z, signs = rng.standard_normal((400, 6)), np.where(rng.random(400) < 0.5, 1.0, -1.0)
    cost = rng.uniform(1, 2, 400)
    problem = MarginProblem(Points(Z, None), signs, cost)
    short = np.zeros(400, dtype=bool)
    for n_changed in (300, 5, 0, 40, 390, 1, 200, 30):
        short = short ^ np.isin(np.arange(400), rng.permutation(400)[:n_changed])
        assert_allclose(problem.pull(short), Z[short].T @ (signs * cost)[short], atol=1e-12)


def test_a_small_pull_keeps_no_rounding_of_a_large_one():
    """Rows of a cost of 1e12 that are short no more would leave 1e-4."""
    rng = np.random.default_rng(0)
    Z, cost = rng.standard_normal((100, 5)), np.ones(100)
    cost[:10] = 1e12
    problem = MarginProblem(Points(Z, None), np.ones(100), cost)
    short = np.zeros(100, dtype=bool)
    short[:20] = True
    problem.pull(short)
    short = short.copy()
    short[:10] = False
    assert_allclose(problem.pull(short), Z[10:20].sum(axis=0), rtol=1e-14, atol=1e-14)


def test_few_rows_are_read_where_few_change(rng):
    read = []

    class Watched(np.ndarray):
        def __getitem__(self, at):
            read.append(at)
            return np.asarray(self)[at]

    Z = rng.standard_normal((1000, 4)).view(Watched)
    problem = MarginProblem(Points(Z, None), np.ones(1000), np.ones(1000))
    short = np.arange(1000) < 900
    problem.pull(short)
    read.clear()
    problem.pull(np.arange(1000) < 903)
    (at,) = read
    assert at.tolist() == [900, 901, 902]


@pytest.mark.parametrize("balance", [0.0, 3.0])
def test_all_centred_rows_on_their_margin_need_no_pseudo_inverse(rng, balance):
    Z = rng.standard_normal((12, 30))
    Z -= Z.mean(axis=0)
    K, target = Z @ Z.T, rng.standard_normal(12)
    found = active_set._solve_weights(K, target, balance)
    expected = active_set._least_weights(K, target, balance)
    assert found is not None
    assert_allclose(found[0], expected[0], atol=1e-10)
    assert_allclose(found[1], expected[1], atol=1e-10)


def test_a_matrix_that_is_not_positive_definite_is_not_solved():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        cholesky_solve(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones(2))
