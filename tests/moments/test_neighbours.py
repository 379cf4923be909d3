"""Neighbours of each class are those of a search over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from separatrix.moments import neighbours
from separatrix.moments.neighbours import (
    averaging_matrix,
    class_neighbours,
    weighted_averaging,
)
from tests.discovery import labelled

X, y = labelled(60, 3)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("entries", [1 << 20, 100], ids=["at once", "in blocks"])
def test_neighbours_are_those_of_all_pairs(monkeypatch, make, k, entries):
    monkeypatch.setattr("separatrix.moments.neighbours.MAX_DISTANCES", entries)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(D, np.inf)
    for c, found in enumerate(class_neighbours(make(X), y, k)):
        members = np.flatnonzero(y == c)
        assert_array_equal(found, members[np.argsort(D[:, members], axis=1)[:, :k]])


def test_a_row_fills_the_list_of_its_own_class_and_does_not_count():
    points = np.array([[0.0], [1.0], [5.0]])
    own, other = class_neighbours(points, np.array([0, 0, 1]), 2)
    assert own[0].tolist() == [1, 0]
    assert other[2].tolist() == [2]  # alone in its class
    means = averaging_matrix(own, np.arange(3), 3) @ points
    assert_allclose(means[:2], [[1.0], [0.0]])
    assert_allclose((averaging_matrix(other, np.arange(3), 3) @ points)[2], [5.0])


def test_neighbours_may_be_sought_among_other_rows():
    known, new = X[:40], X[40:]
    found = class_neighbours(new, y[:40], 3, among=known)
    D = np.linalg.norm(new[:, None] - known, axis=2)
    for c, rows in enumerate(found):
        members = np.flatnonzero(y[:40] == c)
        assert_array_equal(rows, members[np.argsort(D[:, members], axis=1)[:, :3]])


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("kind", ["gaussian", "near ties", "copies", "an outlier"])
def test_a_search_in_single_precision_finds_the_neighbours_of_double(
    monkeypatch, rng, kind, offset
):
    rows, codes = rng.standard_normal((300, 5)), rng.integers(3, size=300)
    if kind == "near ties":  # float32 cannot distinguish them
        rows[150:] = rows[:150] + 1e-9 * rng.standard_normal((150, 5))
    elif kind == "copies":
        rows = rows[rng.integers(20, size=300)]
    elif kind == "an outlier":
        rows[7] = 1e9
    rows += offset
    monkeypatch.setattr(neighbours, "MAX_BLOCK_COLUMNS", 32)
    D = np.sum((rows[:, None] - rows) ** 2, axis=2)
    np.fill_diagonal(D, np.inf)
    members = [np.flatnonzero(codes == c) for c in range(3)]
    exact = [m[np.argsort(D[:, m], axis=1, kind="stable")[:, :4]] for m in members]
    monkeypatch.setattr(neighbours, "MIN_SINGLE_DISTANCES", 0)
    again = []
    search = neighbours._smallest_distances

    def watch(X, *args):
        if X.dtype == np.float64:
            again.append(len(X))
        return search(X, *args)

    monkeypatch.setattr(neighbours, "_smallest_distances", watch)
    own = np.arange(300)
    for searched in (
        class_neighbours(rows, codes, 4),
        class_neighbours(rows, codes, 4, among=rows, own=own),
    ):
        for found, expected in zip(searched, exact, strict=True):
            assert_array_equal(found, expected)
    if kind == "gaussian":  # rows in doubt are settled among the nearest ones
        assert sum(again) < 0.05 * 2 * 3 * 300
    elif kind == "copies":
        assert sum(again) > 0.2 * 2 * 3 * 300


def test_classes_of_fewer_rows_than_neighbours_are_searched_in_single_precision(monkeypatch, rng):
    rows, codes = rng.standard_normal((60, 4)), np.repeat([0, 1, 2, 3], [1, 3, 6, 50])
    exact = class_neighbours(rows, codes, 4)
    monkeypatch.setattr(neighbours, "MIN_SINGLE_DISTANCES", 0)
    for found, expected in zip(class_neighbours(rows, codes, 4), exact, strict=True):
        assert_array_equal(found, expected)


@pytest.mark.parametrize("k", [1, 6, 30])
def test_neighbours_in_blocks_of_columns_are_those_at_once(monkeypatch, rng, k):
    rows = rng.integers(3, size=(200, 4)).astype(float)  # many ties: the first wins
    codes = rng.integers(2, size=200)
    at_once = class_neighbours(rows, codes, k)
    monkeypatch.setattr("separatrix.moments.neighbours.MAX_BLOCK_COLUMNS", 7)
    for found, expected in zip(class_neighbours(rows, codes, k), at_once, strict=True):
        assert_array_equal(found, expected)


def test_the_nearest_weight_is_averaged():
    # row 0 of weight 2.5 has 1.5 left of itself, then 1 of row 1, then 0.5 of row 2
    weights = np.array([2.5, 1.0, 4.0, 1.0])
    found = weighted_averaging(np.array([[1, 2, 3, 0]]), np.array([0]), weights, 3).toarray()
    assert_allclose(found, [[0.5, 1 / 3, 1 / 6, 0]])
    other = weighted_averaging(np.array([[1, 2, 3]]), np.array([-1]), weights, 3).toarray()
    assert_allclose(other, [[0, 1 / 3, 2 / 3, 0]])
    alone = weighted_averaging(np.array([[0]]), np.array([0]), np.ones(1), 3).toarray()
    assert_allclose(alone, [[1.0]])


def test_light_rows_are_searched_until_they_have_the_weight():
    X = np.arange(20.0)[:, None]
    codes = np.arange(20) % 2
    found = class_neighbours(X, codes, 2, weights=np.full(20, 0.25))
    assert [f.shape[1] for f in found] == [8, 8]
    found = class_neighbours(X, codes, 2, weights=np.full(20, 1.0))
    assert [f.shape[1] for f in found] == [2, 2]
    found = class_neighbours(X, codes, 2, weights=np.full(20, 0.1))
    assert [f.shape[1] for f in found] == [10, 10]
