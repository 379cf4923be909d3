"""Labelled rows in blocks that are not loaded yet: their summaries, added in a tree.

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
from numpy.typing import ArrayLike
from sklearn.utils import check_array
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d
from threadpoolctl import threadpool_limits

from separatrix.linalg import Array
from separatrix.moments.labelled import LabelledRows, check_weights, encode_labels, is_text

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
        tree = self._tree(
            partial(_summarize_block, summarize, numbered, check), together or _add_all
        )
        # threads of this process that run tasks have one BLAS thread each
        with threadpool_limits(1):
            (total,) = compute(tree)
        if total is None:
            raise ValueError("X has no rows: every block is empty")
        if total.weight == 0:
            raise ValueError("sample_weight must not be zero for all rows")
        return total

    def _tree(self, summarize: Any, together: Any) -> Any:
        """The sum of all summaries, delayed."""
        from dask._task_spec import DataNode, List, Task, TaskRef
        from dask.delayed import Delayed
        from dask.utils import ensure_dict

        unique = uuid4().hex
        do, join = f"moments-do-{unique}", f"moments-join-{unique}"
        # functions are tasks of their own: they are sent to each worker once
        tasks: dict[Any, Any] = {do: DataNode(do, summarize), join: DataNode(join, together)}
        graphs: dict[int, Any] = {}

        def argument(value: Any) -> Any:
            """A delayed value as a reference to its task, whose graph is noted."""
            if isinstance(value, tuple):
                return List(*map(argument, value))
            if not is_delayed(value):
                return value
            graphs[id(value.dask)] = value.dask
            return TaskRef(value.key)

        # keys of one name are a group. Blocks need no group but that of the function: a scheduler
        # then gives each to a worker that is free, and not to the one that has the function
        level: list[Any] = [(f"moments-block-{unique}", i) for i in range(len(self.parts))]
        blocks = level
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
            level = [(f"moments-sum-{depth}-{unique}", i) for i in range(len(groups))]
            for key, group in zip(level, groups, strict=True):
                parts = List(*map(TaskRef, group))
                tasks[key] = Task(key, _join_summaries, TaskRef(join), parts)
            depth += 1
        return Delayed(level[0], _fuse(tasks, blocks, level[0]))

    def total(self, function: Callable[[LabelledRows], Any], classes: Array) -> Any:
        """The sum over all blocks of a number or of moments of their rows."""
        return self.sum_up(function, classes=classes).summary


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
        summaries = list(dependencies[key])
        while summaries:
            other = summaries.pop()
            task = graph[other]
            if isinstance(task, GraphNode) and dependents[other] <= own.keys():
                # blocks of data frames that were delayed have the key of what they stand for
                own[other] = Alias(other, task.target) if isinstance(task, Alias) else task
                summaries.extend(dependencies[other])
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
    if isinstance(part[0], tuple):  # from one frame; None stands for a part that comes separately
        separate = iter(part[1:])
        part = [next(separate) if value is None else value for value in part[0]]
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
    if len(codes):  # three of each: scikit-learn warns of many classes in few rows
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
    joined = [part for part in parts if part is not None]
    if not joined:
        return None
    first = joined[0]
    for part in joined:
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
    classes = reduce(np.union1d, [part.classes for part in joined])
    return first._replace(
        summary=join([part.summary for part in joined]),
        classes=classes,
        weight=sum(part.weight for part in joined),
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


def is_delayed(X: Any) -> bool:
    """Whether X is one delayed object, which claims to have every attribute."""
    from dask.delayed import Delayed

    return isinstance(X, Delayed)
