"""Dask collections of test data."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

from tests.discovery import labelled

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
TALL, WIDE = labelled(70, 6, seed=1), labelled(30, 70, seed=1)
PAIR = labelled(70, 6, n_classes=2, seed=1)
DATA = {"tall": TALL, "wide": WIDE, "pair": PAIR}
on_every_shape = pytest.mark.parametrize(("X", "y"), DATA.values(), ids=DATA)


def array(X, size):
    return da.from_array(X, chunks=(size, X.shape[1]))


def frames(n_partitions=4):
    X, y = TALL
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(X.shape[1])])
    names = np.array(["u", "v", "w"])[y]
    lazy = dd.from_pandas(frame.assign(kind=names), npartitions=n_partitions)
    return frame, names, lazy.drop(columns="kind"), lazy["kind"]


def counted(X, y, size=20):
    """Rows and labels from one function, and how often it has made each block."""
    calls = Counter()

    def block(block_id=None):
        calls[block_id[0]] += 1
        start = size * block_id[0]
        return np.column_stack([X, y])[start : start + size]

    sizes = tuple(min(size, len(X) - start) for start in range(0, len(X), size))
    both = da.map_blocks(
        block, chunks=(sizes, (X.shape[1] + 1,)), dtype=float, meta=np.empty((0, 0))
    )
    return both[:, :-1], both[:, -1].astype(int), calls
