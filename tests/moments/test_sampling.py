"""Some rows of a collection: the share of every class, each row as likely as another."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from separatrix.moments import subsample
from tests.discovery import labelled
from tests.moments.dask_data import TALL, array, counted, frames

pytestmark = pytest.mark.usefixtures("one_dask_thread")


def test_a_sample_has_the_share_of_each_class_in_one_pass():
    X, y = labelled(997, 3, seed=4)
    y[5] = 7
    order = np.argsort(y)
    rows, labels, calls = counted(X[order], y[order], size=100)
    found, kinds = subsample(rows, labels, 200, random_state=0)
    assert set(calls.values()) == {1}
    assert found.shape == (200, 3)
    shares = 200 * np.bincount(y) / len(y)
    assert_allclose(np.bincount(kinds), shares, atol=1)
    assert np.count_nonzero(kinds == 7) == 1
    # every row is one of the collection, none twice, in its order, with its own label
    places = [np.flatnonzero((X[order] == row).all(axis=1)).item() for row in found]
    assert places == sorted(set(places))
    assert_array_equal(y[order][places], kinds)
    # another seed, other rows; the same, the same
    again, _ = subsample(rows, labels, 200, random_state=0)
    other, _ = subsample(rows, labels, 200, random_state=1)
    assert_array_equal(again, found)
    assert not np.array_equal(other, found)


def test_every_row_is_as_likely_to_be_in_a_sample():
    X, y = np.arange(20_000.0)[:, None], np.arange(20_000) % 3
    rows, _ = subsample(array(X, 1000), y, 4000, random_state=0)
    for where in (rows // 1000, rows % 1000 // 50):  # the block, and the place in it
        taken = np.bincount(where.ravel().astype(int), minlength=20)
        assert np.all(np.abs(taken - 200) < 5 * 12.6)  # its standard deviation is 12.6


def test_samples_are_frames_or_sparse_as_the_collection_is():
    frame, _, X, y = frames()
    rows, labels = subsample(X, y, 30, random_state=0)
    assert list(rows.columns) == list(frame.columns)
    assert set(labels) == {"u", "v", "w"}
    sparse = array(TALL[0], 20).map_blocks(sp.csr_array, meta=sp.csr_array((0, 6)))
    rows, labels = subsample(sparse, TALL[1], 30, random_state=0)
    assert sp.issparse(rows)
    assert rows.shape == (30, 6)
    everything, _ = subsample(array(TALL[0], 20), TALL[1], 10**6)
    assert_array_equal(everything, TALL[0])
    with pytest.raises(ValueError, match="n_samples=0"):
        subsample(X, y, 0)
