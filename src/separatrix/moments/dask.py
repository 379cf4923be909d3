"""Dask collections: their blocks as labelled rows, and lazy results in the same blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import column_or_1d

from separatrix._warnings import warn_caller
from separatrix.moments.blocks import Blocks, is_delayed, list_text_columns, name_place_in_errors
from separatrix.moments.labelled import is_dask

# Collections ---------------------------------------------------------------------------------


def labelled_blocks(X: Any, y: Any = None, sample_weight: Any = None) -> Blocks:
    """The blocks of a collection with their labels and weights; nothing is loaded.

    Parameters
    ----------
    X, y, sample_weight
        As to `ClassMoments.from_data`.
    """
    if isinstance(X, list | tuple) or is_delayed(X):
        return _delayed_blocks(X, y, sample_weight)
    if y is None:
        raise ValueError("y is missing: labels may be left out only where blocks are pairs")
    return (_frame_blocks if _is_frame(X) else _array_blocks)(X, y, sample_weight)


def _delayed_blocks(X: Any, y: Any, sample_weight: Any) -> Blocks:
    X = [X] if is_delayed(X) else X
    places = [f"block {i}" for i in range(len(X))]
    parts = list(X)
    if y is not None:
        remedy = f"as a list of {len(X)} delayed blocks"
        given = _list_given(y, sample_weight)
        others = [_split_like_rows(v, name, len(X), remedy=remedy) for v, name in given]
        parts = list(zip(X, *others, strict=True))
    return Blocks(parts, places, None, None, None)


def _frame_blocks(X: Any, y: Any, sample_weight: Any) -> Blocks:
    from dask.dataframe import map_partitions

    n_blocks = X.npartitions
    given = _list_given(y, sample_weight)
    for v, name in given:
        if _is_frame(v):
            _check_one_column(v, name)
            _check_same_blocks(v.npartitions, name, n_blocks)
    others = [
        _split_like_rows(v, name, n_blocks, remedy="as a column of the same frame")
        for v, name in given
        if not _is_frame(v)
    ]
    # one expression, so that a file is read once for features and labels
    tuples = map_partitions(
        _as_tuple,
        X,
        *(v if _is_frame(v) else None for v, _ in given),
        meta=X._meta,
        enforce_metadata=False,
        align_dataframes=False,
    )
    parts = zip(tuples.to_delayed(), *others, strict=True)
    places = [f"block {i}" for i in range(n_blocks)]
    return Blocks(list(parts), places, None, len(X.columns), list_text_columns(X))


def _array_blocks(X: Any, y: Any, sample_weight: Any) -> Blocks:
    check_array_of_rows(X)
    X = join_feature_blocks(X)
    sizes = X.chunks[0]
    known = not np.isnan(sizes).any()
    given = _list_given(y, sample_weight)
    # tasks that rows and labels share must not be computed twice: keep one graph for both
    layers = set(X.__dask_graph__().layers)
    apart = not any(layers & set(v.__dask_graph__().layers) for v, _ in given if _is_array(v))
    rows = X.to_delayed(optimize_graph=apart).ravel().tolist()
    others = [
        _split_like_rows(v, name, len(sizes), sizes if known else None, apart) for v, name in given
    ]
    places = [f"block {i}" for i in range(len(sizes))]
    if known:
        ends = np.cumsum(sizes)
        places = [
            f"{p} (rows {e - n} to {e - 1})" for p, e, n in zip(places, ends, sizes, strict=True)
        ]
    return Blocks(
        list(zip(rows, *others, strict=True)),
        places,
        int(sum(sizes)) if known else None,
        int(X.shape[1]),
        None,
    )


def _list_given(y: Any, sample_weight: Any) -> list[tuple[Any, str]]:
    return [(v, name) for v, name in ((y, "y"), (sample_weight, "sample_weight")) if v is not None]


def _split_like_rows(
    v: Any,
    name: str,
    n_blocks: int,
    sizes: Any = None,
    optimize_graph: bool = True,
    remedy: str = "in the same blocks, or call X.compute_chunk_sizes() first",
) -> list[Any]:
    """Labels or weights split into the blocks of the rows, delayed or in memory."""
    if _is_frame(v) or _is_array(v):
        _check_one_column(v, name)
    if _is_frame(v):
        _check_same_blocks(v.npartitions, name, n_blocks)
        return list(v.to_delayed())
    if _is_array(v):
        own = v.chunks[0]
        if sizes is not None and not np.isnan(own).any():
            _check_length(sum(own), name, sum(sizes))
            v = v if own == sizes else v.rechunk({0: sizes})
        _check_same_blocks(v.numblocks[0], name, n_blocks)
        return v.to_delayed(optimize_graph=optimize_graph).ravel().tolist()
    if is_dask(v):
        blocks = [v] if is_delayed(v) else list(v)
        _check_same_blocks(len(blocks), name, n_blocks)
        return blocks
    if sizes is None:
        raise ValueError(
            f"{name} is in memory, but the numbers of rows in the blocks of X are not known: give "
            f"{name} {remedy}"
        )
    values = column_or_1d(v)
    _check_length(len(values), name, sum(sizes))
    return np.split(values, np.cumsum(sizes)[:-1])


def _check_one_column(v: Any, name: str) -> None:
    if v.ndim > 2 or (v.ndim == 2 and v.shape[1] != 1):
        raise ValueError(f"{name} has {v.shape[1]} columns: give one value for each row")


def _check_length(n: int, name: str, n_rows: int) -> None:
    if n != n_rows:
        raise ValueError(f"{name} has {n} entries, but X has {n_rows} rows")


def _check_same_blocks(n: int, name: str, n_blocks: int) -> None:
    if n != n_blocks:
        raise ValueError(
            f"{name} has {n} blocks and X has {n_blocks}, of which not all sizes are known: split "
            "both alike, for example by taking them from one data frame"
        )


def check_array_of_rows(X: Any) -> None:
    """Raise for anything but an array of two dimensions."""
    if not _is_array(X):
        raise TypeError(
            f"X is a {type(X).__name__}: give a Dask array, a Dask data frame or a list of "
            "delayed blocks"
        )
    if X.ndim != 2 or np.isnan(X.shape[1]):
        raise ValueError(
            f"X has shape {X.shape}: it must have two dimensions, and a known number of features"
        )


def join_feature_blocks(X: Any) -> Any:
    """The array with blocks that have all features; it is rechunked with a warning."""
    if X.numblocks[1] == 1:
        return X
    warn_caller(
        f"X is split into {X.numblocks[1]} blocks of features: it is rechunked, which moves its "
        "rows. Use blocks with all features, chunks=(n, -1)"
    )
    return X.rechunk({1: -1})


def _is_array(X: Any) -> bool:
    return hasattr(type(X), "map_blocks")


def _is_frame(X: Any) -> bool:
    """Whether X is a Dask data frame or series."""
    return hasattr(type(X), "map_partitions") and hasattr(type(X), "dtypes")


def _as_tuple(*parts: Any) -> tuple[Any, ...]:
    return parts


# Lazy results --------------------------------------------------------------------------------


def apply_to_blocks(X: Any, function: Callable[[Any], Any], like: Any) -> Any:
    """The results of a function for each block of rows, not computed yet.

    Parameters
    ----------
    X : Dask array, Dask data frame, or list of delayed blocks
        Rows.
    function : callable
        Of a block of rows.
    like : array or data frame
        Its result for some rows.

    Returns
    -------
    Dask array or data frame, or list of delayed results
        In the blocks of X.
    """
    from dask import delayed

    shared = delayed(function, pure=False)  # sent to each worker once
    if isinstance(X, list | tuple):
        if isinstance(X[0], list | tuple):
            raise TypeError("X is a list of pairs: give a list of delayed blocks of rows alone")
        return [delayed(_apply_to_block, pure=False)(b, shared, (i,)) for i, b in enumerate(X)]
    is_frame = hasattr(like, "columns")
    if is_frame and not hasattr(like, "iloc"):
        raise ValueError(
            f"a lazy frame of {type(like).__module__.partition('.')[0]} cannot be made of a Dask "
            'collection: call set_output(transform="pandas") or set_output(transform="default")'
        )
    empty = like.iloc[:0] if is_frame else like[:0]
    if _is_frame(X):
        return X.map_partitions(_apply_to_block, shared, meta=empty, enforce_metadata=False)
    X = join_feature_blocks(X)
    if is_frame:
        from dask.dataframe import from_delayed

        return from_delayed(
            apply_to_blocks(X.to_delayed().ravel().tolist(), function, like), empty
        )
    if empty.ndim == 1:
        return X.map_blocks(_apply_to_block, shared, drop_axis=1, meta=empty)
    chunks = (X.chunks[0], (empty.shape[1],))
    return X.map_blocks(_apply_to_block, shared, chunks=chunks, meta=empty)


def make_zero_row(X: Any) -> Any:
    """A row of zeros with the features of a collection: an array, or a data frame with names."""
    if hasattr(type(X), "columns"):
        from pandas import DataFrame

        dtype = np.float32 if all(kind == np.float32 for kind in X.dtypes) else np.float64
        return DataFrame(np.zeros((1, len(X.columns)), dtype), columns=X.columns)
    if is_dask(X):
        check_array_of_rows(X)
    return np.zeros((1, X.shape[1]), np.float32 if X.dtype == np.float32 else np.float64)


def _apply_to_block(
    X: Any, function: Callable[[Any], Any], block_id: Any = None, partition_info: Any = None
) -> Any:
    number = block_id[0] if partition_info is None else partition_info["number"]
    with name_place_in_errors(f"block {number}"):
        return function(X) if X.shape[0] else function(make_zero_row(X))[:0]
