"""Labelled rows travel in parts, and come together again as they were."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from separatrix.moments.labelled import LabelledRows, join_rows, row_blocks, shift_full_columns
from tests.discovery import labelled

X, y = labelled(30, 4)
ROWS = LabelledRows(X, y, np.array(["a", "b", "c"])[np.unique(y)])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("weights", [None, np.arange(30.0)], ids=["plain", "weighted"])
def test_parts_join_to_the_whole(make, weights):
    rows = ROWS._replace(X=make(X), weights=weights)
    joined = join_rows([rows.part(slice(10)), rows.part(slice(10, None))])
    assert sp.issparse(joined.X) == sp.issparse(rows.X)
    assert_array_equal(joined.X.toarray() if sp.issparse(joined.X) else joined.X, X)
    assert_array_equal(joined.labels, rows.labels)
    assert_array_equal(joined.counts, rows.counts)


def test_rows_without_weights_weigh_one_beside_others():
    joined = join_rows([ROWS.part(slice(3)), ROWS._replace(weights=np.full(30, 5.0))])
    assert_array_equal(joined.weights, np.repeat([1.0, 5.0], [3, 30]))


def test_a_subset_knows_only_its_own_classes():
    some = ROWS.subset(np.flatnonzero(y != 1))
    assert some.classes.tolist() == ["a", "c"]
    assert_array_equal(some.labels, ROWS.labels[y != 1])
    again = some.with_classes(ROWS.classes)
    assert_array_equal(again.labels, some.labels)
    assert again.counts.tolist() == [ROWS.counts[0], 0, ROWS.counts[2]]


def test_class_sums_are_weighted():
    weights = np.arange(30.0)
    sums = ROWS._replace(weights=weights).class_sums(X)
    assert_allclose(sums, [weights[y == c] @ X[y == c] for c in range(3)])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("d", [4, 60])
def test_in_their_span_rows_keep_their_distances(make, d):
    X, y = labelled(20, d)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    rows = LabelledRows(make(X), y, np.unique(y))
    inside, lift = rows.in_span(X.mean(axis=0))
    Y = inside.X.toarray() if sp.issparse(inside.X) else inside.X
    assert Y.shape[1] == min(19, d)
    back = lift(Y.T).T
    assert_allclose(back - back.mean(axis=0), X - X.mean(axis=0), atol=1e-10)


def test_full_columns_of_sparse_rows_are_shifted_and_no_other():
    sparse = np.array([[1e6, 0.0], [1e6 + 1, 2.0]])
    shifted, origin = shift_full_columns(sp.csr_array(sparse))
    assert_array_equal(origin, [1e6, 0.0])
    assert_array_equal(shifted.toarray() + origin, sparse)
    assert_array_equal(shifted.toarray()[:, 0], [0.0, 1.0])


def test_blocks_cover_all_rows_once():
    blocks = list(row_blocks(200_000, 30))
    assert np.concatenate([np.arange(200_000)[b] for b in blocks]).tolist() == list(range(200_000))
    assert len(blocks) > 1
