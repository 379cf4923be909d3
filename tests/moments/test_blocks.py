"""Blocks of rows: one task for each, which loads and summarizes it, and sums in a tree."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from separatrix import FisherDiscriminant
from separatrix.moments import class_moments
from separatrix.moments.blocks import MAX_SUMMARIES_PER_SUM
from separatrix.moments.dask import labelled_blocks
from tests.moments.dask_data import TALL, array, counted, da, dask, frames

pytestmark = pytest.mark.usefixtures("one_dask_thread")


def collections():
    X, y = TALL
    rows, labels, _ = counted(X, y, size=7)
    yield "array", (rows, labels)
    yield "array in memory", (array(X, 7), da.from_array(y, chunks=7))
    yield "frame", frames(10)[2:]
    pairs = [dask.delayed(lambda i: (X[i : i + 7], y[i : i + 7]))(i) for i in range(0, 70, 7)]
    yield "delayed", (pairs, None)


@pytest.mark.parametrize(("X", "y"), dict(collections()).values(), ids=dict(collections()))
def test_a_block_is_loaded_and_summarized_by_one_task(X, y):
    blocks = labelled_blocks(X, y)
    tree = blocks._tree(None, None)
    kinds = Counter(str(key).replace("('", "").split("-")[1] for key in tree.dask)
    # two functions that all blocks share, and a tree of sums
    assert len(blocks.parts) == 10 > MAX_SUMMARIES_PER_SUM
    assert kinds == {"do": 1, "join": 1, "block": 10, "sum": 3}


def test_blocks_are_a_group_that_depends_on_one_function():
    """A scheduler deals tasks of such a group to workers as these get free."""
    utils = pytest.importorskip("distributed.utils")
    tree = labelled_blocks(array(TALL[0], 7), da.from_array(TALL[1], chunks=7))._tree(None, None)
    groups = Counter(map(utils.key_split_group, tree.dask))
    (name,) = (group for group in groups if "block" in group)
    assert groups[name] == 10
    needed = {
        utils.key_split_group(need)
        for key, task in tree.dask.items()
        if utils.key_split_group(key) == name
        for need in task.dependencies
    }
    assert [groups[other] for other in needed] == [1]


def test_a_source_of_several_blocks_is_loaded_once():
    X, y = TALL
    calls = []

    @dask.delayed
    def load(i):
        calls.append(i)
        return X[i : i + 35], y[i : i + 35]

    half = dask.delayed(lambda pair, part: (pair[0][part::2], pair[1][part::2]))
    pairs = [half(source, part) for source in (load(0), load(35)) for part in range(2)]
    moments = class_moments(pairs)
    assert sorted(calls) == [0, 35]
    assert moments.n_samples == 70


def test_rows_that_a_cluster_holds_stay_there():
    distributed = pytest.importorskip("distributed")
    X, y = TALL
    made = []

    def make(block_id=None):
        made.append(block_id)
        return X[9 * block_id[0] : 9 * block_id[0] + 9]

    sizes = (9,) * 7 + (7,)
    lazy = da.map_blocks(make, chunks=(sizes, (6,)), meta=np.empty((0, 0)))
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as client:
        held = lazy.persist()
        pairs = [pair.persist() for pair in zip_delayed(lazy, y)]
        distributed.wait([held, *pairs])
        made.clear()
        found = [
            FisherDiscriminant(shrinkage=None).fit(held, da.from_array(y, chunks=9)),
            FisherDiscriminant(shrinkage=None).fit(pairs, None),
        ]
        assert not made
        assert len(client.who_has(held)) == 8
    for model in found:
        expected = FisherDiscriminant(shrinkage=None).fit(X, y).components_
        np.testing.assert_allclose(model.components_, expected, rtol=1e-9)


def zip_delayed(rows, y):
    blocks = rows.to_delayed().ravel()
    return [dask.delayed((block, y[9 * i : 9 * i + 9])) for i, block in enumerate(blocks)]
