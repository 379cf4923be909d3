"""A sample of rows estimates sums over all of them, and knows its error."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix.base.queries import Estimate, draw_queries, jackknife_angle


def test_queries_stand_for_all_rows_of_every_class(rng):
    codes = rng.permutation(np.repeat([0, 1, 2], [5000, 900, 10]))
    queries = draw_queries(codes, 600, 0)
    drawn = codes[queries.numbers]
    assert_allclose(np.bincount(drawn, queries.weights), [5000, 900, 10])
    assert np.count_nonzero(drawn == 2) == 10  # few rows are all taken
    assert_array_equal(np.sort(queries.numbers), np.unique(queries.numbers))
    for c in (0, 1):
        sizes = np.bincount(queries.groups[drawn == c], minlength=8)
        assert sizes.max() - sizes.min() <= 1


def test_all_rows_are_taken_where_that_is_affordable(monkeypatch):
    codes = np.arange(1000) % 2
    assert draw_queries(codes, "auto", 0) is None
    assert draw_queries(codes, None, 0) is None
    assert draw_queries(codes, 1000, 0) is None
    monkeypatch.setattr("separatrix.base.queries.MAX_EXACT_ROWS", 999)
    monkeypatch.setattr("separatrix.base.queries.AUTO_QUERIES", 100)
    assert len(draw_queries(codes, "auto", 0).numbers) == 100


def test_a_source_of_random_numbers_is_used_once(rng):
    codes = np.arange(1000) % 2
    source = np.random.RandomState(3)
    first, second = (draw_queries(codes, 100, source).numbers for _ in range(2))
    assert (first != second).any()
    assert_array_equal(draw_queries(codes, 100, 7).numbers, draw_queries(codes, 100, 7).numbers)


def test_a_control_removes_the_error_that_it_explains(rng):
    x = rng.standard_normal((8, 3, 3))
    total = rng.standard_normal((3, 3))
    estimate = Estimate.of_groups(2.5 * x).controlled(Estimate.of_groups(x), total)
    assert_allclose(estimate.whole, 2.5 * total)
    assert_allclose(np.array(estimate.without), np.broadcast_to(2.5 * total, (8, 3, 3)))


def test_a_control_that_does_not_vary_changes_nothing(rng):
    x = rng.standard_normal((8, 2, 2))
    same = Estimate.of_groups(np.ones((8, 2, 2)))
    estimate = Estimate.of_groups(x).controlled(same, np.zeros((2, 2)))
    assert_allclose(estimate.whole, x.sum(axis=0))


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_angle_of_a_mean_has_the_error_of_theory(rng, share):
    # direction of a mean (1, 0) of n plane vectors with unit deviations: an angle of 1 / √n
    n, found = 800, []
    for _ in range(40):
        x = np.array([1.0, 0.0]) + rng.standard_normal((n, 2))
        estimate = Estimate.of_groups(x.reshape(8, -1, 2).sum(axis=1))
        others = [part[:, None] for part in estimate.without]
        found.append(jackknife_angle(estimate.whole[:, None], others, share))
    expected = np.degrees(np.sqrt((1 - share) / n))
    # of 7 degrees of freedom each: the mean square is within a fifth (two standard errors 17 %)
    assert np.sqrt(np.mean(np.square(found))) == pytest.approx(expected, rel=0.2)


def test_all_of_space_has_no_angle():
    assert jackknife_angle(np.eye(3), [], 0.1) == 0.0
    assert jackknife_angle(np.zeros((3, 0)), [], 0.1) == 0.0
