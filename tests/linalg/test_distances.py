"""Distances by products are those of a loop, and equal rows have none."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from separatrix.linalg import smallest_entries, squared_distances, squared_norms


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_distances_are_those_of_a_loop(rng, make):
    A, B = rng.standard_normal((7, 4)), rng.standard_normal((9, 4))
    expected = [[np.sum((a - b) ** 2) for b in B] for a in A]
    assert_allclose(squared_distances(make(A), make(B)), expected, atol=1e-12)
    assert_allclose(squared_norms(make(A)), [a @ a for a in A], rtol=1e-14)


def test_rows_that_coincide_are_at_distance_zero_in_spite_of_cancellation(rng):
    A = 1e6 + rng.standard_normal((50, 30))
    D = squared_distances(A, A.copy())
    assert_array_equal(np.diagonal(D), 0)
    assert (D >= 0).all()
    assert (D[~np.eye(50, dtype=bool)] > 0).all()


@pytest.mark.parametrize("k", [1, 5, 20, 21, 65, 89, 90, 100])
def test_the_smallest_entries_are_those_of_a_stable_sort(rng, k):
    D = rng.integers(0, 6, (20, 90)).astype(float)  # many ties
    expected = np.argsort(D, axis=1, kind="stable")[:, :k]
    found = smallest_entries(D.copy(), k)
    assert_array_equal(found.columns, expected)
    assert_array_equal(found.values, np.take_along_axis(D, expected, axis=1))
