"""Rows that are not in memory: blocks of a Dask collection become statistics, which add.

Dask loads the blocks, wherever they are, and decides where each is summarized. Summaries travel,
not rows. Dask is imported only when one of its collections is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from itertools import zip_longest
from operator import add
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d
from threadpoolctl import threadpool_limits

from separatrix._warnings import warn_caller
from separatrix.linalg import Array
from separatrix.moments.checks import check_weights, encode_labels, is_dask, is_text
from separatrix.moments.labelled import LabelledRows

MAX_SUMMARIES_PER_SUM = 8
"""Largest number of summaries added at once, and so held on each level of the tree."""


class Summed(NamedTuple):
    """A summary of one block or of several, with the properties that all blocks must share."""

    summary: Any
    classes: Array
    n_features: int
    weight: float
    place: str
    names: Array | None


class Blocks(NamedTuple):
    """Labelled rows in blocks that are not loaded yet.

    Attributes
    ----------
    parts : list
        For each block its rows, labels and, where there are any, weights, delayed.
    places : list of str
        Names of the blocks in messages.
    n_samples, n_features : int or None
        Where they are known before anything is loaded.
    feature_names : array of str, or None
    """

    parts: list[Any]
    places: list[str]
    n_samples: int | None
    n_features: int | None
    feature_names: Array | None

    def sum_up(
        self,
        summarize: Callable[[LabelledRows], Any],
        together: Callable[[Sequence[Any]], Any] | None = None,
        *,
        classes: ArrayLike | None = None,
        accept_sparse: bool = True,
        numbered: bool = False,
    ) -> Summed:
        """Summaries of all blocks, added in a tree; every block is loaded once.

        Parameters
        ----------
        summarize : callable
            From a block that has rows to its summary.
        together : callable, optional
            From a list of summaries to their sum; ``+`` by default.
        classes : array, optional
            All labels there may be; by default those of each block.
        accept_sparse : bool
            Whether rows may be sparse.
        numbered : bool
            Whether `summarize` takes the number of the block as second argument.
        """
        from dask import compute

        check = partial(
            _check_block,
            n_features=self.n_features,
            names=self.feature_names,
            classes=classes,
            accept_sparse="csr" if accept_sparse else False,
        )
        tree = self._tree(partial(_summarize_block, summarize, numbered, check), together or _add_all)
        # threads of this process that run tasks have one BLAS thread each
        with threadpool_limits(1):
            (found,) = compute(tree)
        if found is None:
            raise ValueError("X has no rows: every block is empty")
        if found.weight == 0:
            raise ValueError("sample_weight must not be zero for all rows")
        return found

    def _tree(self, summarize: Any, together: Any) -> Any:
        """The sum of all summaries, delayed."""
        from dask._task_spec import DataNode, List, Task, TaskRef
        from dask.delayed import Delayed
        from dask.utils import ensure_dict

        name = f"moments-{uuid4().hex}"
        do, join = f"{name}-do", f"{name}-join"
        # functions are tasks of their own: they are sent to each worker once
        tasks: dict[Any, Any] = {do: DataNode(do, summarize), join: DataNode(join, together)}
        graphs: dict[int, Any] = {}

        def argument(value: Any) -> Any:
            """A delayed value as a reference to its task, whose graph is noted."""
            if isinstance(value, tuple):
                return List(*map(argument, value))
            if not _is_delayed(value):
                return value
            graphs[id(value.dask)] = value.dask
            return TaskRef(value.key)

        level = blocks = [f"{name}-block-{i}" for i in range(len(self.parts))]
        for i, (key, part) in enumerate(zip(blocks, self.parts, strict=True)):
            tasks[key] = Task(key, _call, TaskRef(do), argument(part), i, self.places[i])
        for graph in graphs.values():
            tasks |= ensure_dict(graph)
        depth = 0
        while len(level) > 1:
            groups = [
                level[i : i + MAX_SUMMARIES_PER_SUM]
                for i in range(0, len(level), MAX_SUMMARIES_PER_SUM)
            ]
            level = [f"{name}-sum-{depth}-{i}" for i in range(len(groups))]
            for key, group in zip(level, groups, strict=True):
                parts = List(*map(TaskRef, group))
                tasks[key] = Task(key, _join_summaries, TaskRef(join), parts)
            depth += 1
        return Delayed(level[0], _fuse(tasks, blocks, level[0]))

    def total(self, function: Callable[[LabelledRows], Any], classes: Array) -> Any:
        """The sum over all blocks of a number or of moments of their rows."""
        return self.sum_up(function, classes=classes).summary


# Samples ------------------------------------------------------------------------------------


class Sample(NamedTuple):
    """Rows that were drawn, with their random numbers: the smallest of a class are kept."""

    X: Any
    labels: Array
    draws: Array

    def rows(self, chosen: Array) -> Sample:
        """The chosen ones of them."""
        return Sample(*(part[chosen] for part in self))

    def ranks(self) -> tuple[Array, Array]:
        """The class of each row, and the number of rows of its class with smaller draws."""
        _, codes = np.unique(self.labels, return_inverse=True)
        order = np.lexsort((self.draws, codes))
        starts = np.searchsorted(codes[order], codes)
        return codes, np.argsort(order) - starts


def subsample(
    X: Any, y: Any = None, n_samples: int = 10_000, *, random_state: Any = None
) -> tuple[Any, Array]:
    """Some rows of a Dask collection, in memory, with the same share of every class.

    For methods that look at rows together, by neighbours, kernels or margins: fit them to these
    rows, and let them project or classify the whole collection. One pass; of each class at most
    `n_samples` rows are held on the way.

    Parameters
    ----------
    X, y
        As to `ClassMoments.from_data`.
    n_samples : int
        Number of rows; every class has at least one.
    random_state : int, RandomState or None
        Which rows are taken, given how they are split into blocks.

    Returns
    -------
    X : array, sparse matrix or data frame (n_samples, n_features)
        Rows in the order of the collection; a data frame where that is one.
    y : array (n_samples,)
        Their labels.

    Examples
    --------
    >>> import dask.array as da
    >>> from separatrix.distributed import subsample
    >>> X, y = da.random.random((1000, 3), chunks=(100, 3)), da.arange(1000, chunks=100) % 4
    >>> rows, labels = subsample(X, y, 50, random_state=0)
    >>> rows.shape, np.unique(labels, return_counts=True)[1].tolist()
    ((50, 3), [13, 13, 12, 12])
    """
    if n_samples < 1:
        raise ValueError(f"n_samples={n_samples} must be at least 1")
    blocks = labelled_blocks(X, y)
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    draw, join = partial(_draw_from_block, n_samples, seed), partial(_join_samples, n_samples)
    found = blocks.sum_up(draw, join, numbered=True)
    sample, counts = found.summary
    codes, ranks = sample.ranks()
    wanted = _allot_rows(np.array(list(counts.values())), n_samples)
    sample = sample.rows(ranks < wanted[codes])
    rows = sample.X
    if found.names is not None and not sp.issparse(rows):
        from pandas import DataFrame

        rows = DataFrame(rows, columns=found.names)
    return rows, sample.labels


def _draw_from_block(
    n_samples: int, seed: int, block: LabelledRows, number: int
) -> tuple[Sample, dict[Any, int]]:
    """A sample of one block, and how many rows each class has there."""
    draws = np.random.default_rng([seed, number]).random(len(block.codes))
    sample = Sample(block.X, block.classes[block.codes], draws)
    counts = np.bincount(block.codes, minlength=len(block.classes)).tolist()
    kept = sample.rows(sample.ranks()[1] < n_samples)
    return kept, dict(zip(block.classes.tolist(), counts, strict=True))


def _join_samples(n_samples: int, parts: Sequence[Any]) -> tuple[Sample, dict[Any, int]]:
    """One sample of several, of no more rows of a class than are wanted in all."""
    samples, tallies = zip(*parts, strict=True)
    rows = [sample.X for sample in samples]
    stacked = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.vstack(rows)
    others = (np.concatenate(column) for column in list(zip(*samples, strict=True))[1:])
    sample = Sample(stacked, *others)
    labels = sorted(set().union(*tallies))
    counts = {label: sum(tally.get(label, 0) for tally in tallies) for label in labels}
    return sample.rows(sample.ranks()[1] < n_samples), counts


def _allot_rows(counts: Array, n_samples: int) -> Array:
    """Rows to take of each class: its share, rounded, at least one, no more than it has."""
    share = counts * min(1.0, n_samples / counts.sum())
    wanted = np.maximum(1, np.floor(share)).astype(int)
    short = max(0, min(n_samples, int(counts.sum())) - int(wanted.sum()))
    wanted[np.argsort(wanted - share, kind="stable")[:short]] += 1
    return wanted


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


# Tasks ---------------------------------------------------------------------------------------


def _fuse(graph: dict[Any, Any], keys: Sequence[Any], wanted: Any) -> dict[Any, Any]:
    """The graph of a wanted key with one task for each of `keys`: all that only this key needs.

    Rows so stay in the process that reads them, and the scheduler has few tasks. Results that
    are on a cluster already are no tasks, and stay where they are.
    """
    from dask._task_spec import Alias, GraphNode
    from dask.core import reverse_dict
    from dask.optimization import cull

    graph, dependencies = cull(graph, [wanted])
    dependents = reverse_dict(dependencies)
    fused: dict[Any, Any] = {}
    inside: set[Any] = set()
    for key in keys:
        own: dict[Any, Any] = {key: graph[key]}
        found = list(dependencies[key])
        while found:
            other = found.pop()
            task = graph[other]
            if isinstance(task, GraphNode) and dependents[other] <= own.keys():
                # blocks of data frames that were delayed have the key of what they stand for
                own[other] = Alias(other, task.target) if isinstance(task, Alias) else task
                found.extend(dependencies[other])
        fused[key] = GraphNode.fuse(*own.values(), key=key)
        inside.update(own)
    return {k: task for k, task in graph.items() if k not in inside} | fused


def _call(task: Callable[..., Any], *arguments: Any) -> Any:
    return task(*arguments)


def _summarize_block(
    summarize: Callable[..., Any],
    numbered: bool,
    check: Callable[..., LabelledRows],
    part: Any,
    i: int,
    place: str,
) -> Summed | None:
    """Summarize one block; None for an empty one."""
    with name_place_in_errors(place):
        block = check(part)
        n_rows, n_features = block.X.shape
        if n_rows == 0:
            return None
        weight = n_rows if block.weights is None else float(block.weights.sum())
        summary = summarize(block, i) if numbered else summarize(block)
        return Summed(summary, block.classes, n_features, weight, place, block.feature_names)


def _check_block(
    part: Any,
    *,
    n_features: int | None,
    names: Array | None,
    classes: Any,
    accept_sparse: Any,
) -> LabelledRows:
    """The checked rows, labels and weights of a block."""
    if isinstance(part[0], tuple):  # from one frame; None stands for a part that comes beside it
        beside = iter(part[1:])
        part = [next(beside) if value is None else value for value in part[0]]
    if not 2 <= len(part) <= 3:
        raise TypeError(f"expected rows and labels, got {type(part).__name__} of {len(part)}")
    X, y, weights = (*part, None)[:3]
    rows: Any = check_array(
        X,
        accept_sparse=accept_sparse,
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        ensure_min_samples=0,
    )
    if n_features is not None and rows.shape[1] != n_features:
        raise ValueError(f"X has {rows.shape[1]} features, expected {n_features}")
    own = list_text_columns(X)
    if names is not None and own is not None and rows.shape[0]:
        _check_same_names(own, names, "X", "expected")
    labels, codes = encode_labels(column_or_1d(np.asarray(y)), rows.shape[0], classes)
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y contains NaN or infinity")
    if len(codes):  # three of each: scikit-learn warns where classes are many beside rows
        check_classification_targets(np.repeat(labels, 3))
    if weights is not None:
        weights = check_weights(np.asarray(weights), rows.shape[0], may_be_zero=True)
    return LabelledRows(rows, codes, labels, weights, names if own is None else own)


def list_text_columns(X: Any) -> Array | None:
    """The names of the columns of a data frame, or None unless all are text."""
    names = list(getattr(X, "columns", ()))
    if not names or not all(isinstance(name, str) for name in names):
        return None
    return np.asarray(names, dtype=object)


def _check_same_names(own: Array, names: Array, who: str, expected: str) -> None:
    if np.array_equal(own, names):
        return
    pairs = enumerate(zip_longest(own.tolist(), names.tolist()))
    i, (ours, theirs) = next((i, pair) for i, pair in pairs if pair[0] != pair[1])
    raise ValueError(
        f"{who} has {ours!r} as name of column {i}, {expected} {theirs!r}: give all blocks the "
        "same columns in one order"
    )


def _join_summaries(
    join: Callable[[Sequence[Any]], Any], parts: Sequence[Summed | None]
) -> Summed | None:
    found = [part for part in parts if part is not None]
    if not found:
        return None
    first = found[0]
    for part in found:
        if part.n_features != first.n_features:
            raise ValueError(
                f"{part.place} has {part.n_features} features, {first.place} has "
                f"{first.n_features}"
            )
        if (part.names is None) != (first.names is None):
            bare, other = (part, first) if part.names is None else (first, part)
            raise ValueError(
                f"{bare.place} has no names of columns, {other.place} has: give all blocks as "
                "data frames, or none"
            )
        if part.names is not None and first.names is not None:
            _check_same_names(part.names, first.names, part.place, f"{first.place} has")
        if is_text(part.classes) != is_text(first.classes):
            raise ValueError(
                f"{part.place} has labels {part.classes.tolist()[:3]}, {first.place} has "
                f"{first.classes.tolist()[:3]}: they differ in type"
            )
    classes = reduce(np.union1d, [part.classes for part in found])
    return first._replace(
        summary=join([part.summary for part in found]),
        classes=classes,
        weight=sum(part.weight for part in found),
    )


def _add_all(summaries: Sequence[Any]) -> Any:
    return reduce(add, summaries)


@contextmanager
def name_place_in_errors(place: str) -> Iterator[None]:
    """Errors about data begin with the place, such as a block, where they were found."""
    try:
        yield
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{place}: {error}") from error


# Collections ---------------------------------------------------------------------------------


def labelled_blocks(X: Any, y: Any = None, sample_weight: Any = None) -> Blocks:
    """The blocks of a collection with their labels and weights; nothing is loaded.

    Parameters
    ----------
    X, y, sample_weight
        As to `ClassMoments.from_data`.
    """
    if isinstance(X, list | tuple) or _is_delayed(X):
        return _delayed_blocks(X, y, sample_weight)
    if y is None:
        raise ValueError("y is missing: labels may be left out only where blocks are pairs")
    return (_frame_blocks if _is_frame(X) else _array_blocks)(X, y, sample_weight)


def _delayed_blocks(X: Any, y: Any, sample_weight: Any) -> Blocks:
    X = [X] if _is_delayed(X) else X
    places = [f"block {i}" for i in range(len(X))]
    parts = list(X)
    if y is not None:
        remedy = f"as a list of {len(X)} delayed blocks"
        given = _list_given(y, sample_weight)
        beside = [_split_like_rows(v, name, len(X), remedy=remedy) for v, name in given]
        parts = list(zip(X, *beside, strict=True))
    return Blocks(parts, places, None, None, None)


def _frame_blocks(X: Any, y: Any, sample_weight: Any) -> Blocks:
    from dask.dataframe import map_partitions

    n_blocks = X.npartitions
    given = _list_given(y, sample_weight)
    for v, name in given:
        if _is_frame(v):
            _check_one_column(v, name)
            _check_same_blocks(v.npartitions, name, n_blocks)
    beside = [
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
    parts = zip(tuples.to_delayed(), *beside, strict=True)
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
    beside = [
        _split_like_rows(v, name, len(sizes), sizes if known else None, apart) for v, name in given
    ]
    places = [f"block {i}" for i in range(len(sizes))]
    if known:
        ends = np.cumsum(sizes)
        places = [
            f"{p} (rows {e - n} to {e - 1})" for p, e, n in zip(places, ends, sizes, strict=True)
        ]
    return Blocks(
        list(zip(rows, *beside, strict=True)),
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
        blocks = [v] if _is_delayed(v) else list(v)
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


def _is_delayed(X: Any) -> bool:
    """Whether X is one delayed object, which claims to have every attribute."""
    from dask.delayed import Delayed

    return isinstance(X, Delayed)


def _as_tuple(*parts: Any) -> tuple[Any, ...]:
    return parts
