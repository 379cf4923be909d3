"""Labels, weights and entries that cannot be used are named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from separatrix import (
    ClassMoments,
)
from separatrix.moments.checks import (
    check_entries,
    check_finite,
    check_in_memory,
    is_dask,
)
from tests.discovery import labelled


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
