"""A solution is oriented, and its criterion is shared out."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from separatrix.base.solution import Solution, shares


def test_oriented_directions_keep_the_scatter_of_the_rows_along_them(rng):
    S = np.diag([3.0, 2.0, 1.0])
    W = rng.standard_normal((3, 2)) * [1, -1]
    solution = Solution(W, np.ones(2), 3, within=W.T @ S @ W)
    found = solution.oriented()
    assert (found.W[np.abs(found.W).argmax(axis=0), [0, 1]] > 0).all()
    assert_allclose(found.W.T @ S @ found.W, found.within)
    assert_array_equal(np.abs(found.W), np.abs(W))


def test_an_image_may_decide_the_sign():
    solution = Solution(np.array([[1.0]]), np.ones(1), 1)
    assert solution.oriented(by=np.array([[-3.0], [1.0]])).W.item() == -1


def test_more_attributes_leave_the_first_solution_as_it_was():
    first = Solution(np.eye(1), np.ones(1), 1, extras={"a_": 1})
    second = first.with_extras(b_=2)
    assert dict(first.extras) == {"a_": 1}
    assert dict(second.extras) == {"a_": 1, "b_": 2}


def test_shares_are_of_the_positive_values_and_infinite_ones_take_all():
    assert_allclose(shares(np.array([3.0, 1.0, -5.0])), [0.75, 0.25, 0])
    assert_allclose(shares(np.array([np.inf, np.inf, 7.0])), [0.5, 0.5, 0])
    assert_allclose(shares(np.array([-1.0, 0.0])), [0, 0])
    assert shares(np.zeros(0)).shape == (0,)
