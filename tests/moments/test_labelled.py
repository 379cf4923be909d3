"""Labelled rows travel in parts and come together as they were; what cannot be used is named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import ClassMoments
from separatrix.moments.labelled import (
    LabelledRows,
    check_entries,
    check_finite,
    check_in_memory,
    is_dask,
    join_rows,
    row_blocks,
    shift_full_columns,
)
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


def test_labels_may_be_of_any_type_and_announced():
    X, y = labelled(40, 3)
    names = np.array(["x", "yy", "zzz"])[y]
    m = ClassMoments.from_data(pd.DataFrame(X), pd.Series(names), classes=["w", "x", "yy", "zzz"])
    assert m.classes.tolist() == ["w", "x", "yy", "zzz"]
    assert m.counts.tolist() == [0, 10, 10, 20]
    assert_array_equal(m.means[0], 0)
    with pytest.raises(ValueError, match=r"not among classes: \['zzz'\]"):
        ClassMoments.from_data(X, names, classes=["x", "yy"])
    bools = ClassMoments.from_data(X, y > 0)
    assert bools.classes.tolist() == [False, True]


@pytest.mark.parametrize(
    ("weights", "message"),
    [(np.ones(3), "shape"), (-np.ones(40), "non-negative"), (np.zeros(40), "not all zero")],
)
def test_bad_weights_are_errors(weights, message):
    X, y = labelled(40, 3)
    with pytest.raises(ValueError, match=message):
        ClassMoments.from_data(X, y, sample_weight=weights)


def test_missing_values_are_errors():
    X, y = labelled(40, 3)
    X[7, 1] = np.nan
    for rows in (X, sp.csr_array(X), X.astype(np.float32), X[:2]):
        if np.isnan(rows.sum()):
            with pytest.raises(ValueError, match="NaN in column 1"):
                ClassMoments.from_data(rows, y[: rows.shape[0]])


def test_rows_that_are_not_in_memory_are_named_with_the_remedy():
    class LazyFrame:
        def collect(self): ...

    with pytest.raises(TypeError, match=r"LazyFrame, which holds no rows yet: call X\.collect"):
        check_in_memory(LazyFrame())
    da = pytest.importorskip("dask.array")
    with pytest.raises(TypeError, match=r"LocalQDA looks at all rows.*moments\.subsample"):
        check_in_memory(da.zeros((3, 2)), "LocalQDA")
    check_in_memory(np.zeros((3, 2)))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_the_first_column_with_nan_or_infinity_is_named(make):
    X = np.ones((4, 3))
    check_finite(make(X))
    X[2, 1], X[0, 2] = np.inf, np.nan
    with pytest.raises(ValueError, match="contains infinity in column 'b'"):
        check_finite(make(X), ["a", "b", "c"])


def test_infinities_of_both_signs_are_found():
    X = np.array([[np.inf], [-np.inf]])
    with pytest.raises(ValueError, match="infinity in column 0"):
        check_finite(X)


def test_entries_whose_squares_leave_the_range_are_an_error():
    check_entries(np.array([[0.0, -1e70]]))
    with pytest.raises(ValueError, match="so large"):
        check_entries(np.array([[0.0, -1e80]]))
    with pytest.raises(ValueError, match="so small"):
        check_entries(sp.csr_array(np.array([[0.0, -1e-80]])))


def test_a_delayed_block_is_a_collection_and_a_list_of_rows_is_not():
    assert not is_dask([[1.0, 2.0]])
    assert not is_dask([])
    dask = pytest.importorskip("dask")
    block = dask.delayed(np.ones((2, 2)))
    assert is_dask(block)
    assert is_dask([(block, block)])
