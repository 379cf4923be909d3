"""Dask collections in place of arrays: fitting in one pass, and lazy results."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial, wraps
from inspect import isfunction
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.base.parameters import check_parameters
from separatrix.base.rows import check_several_classes
from separatrix.linalg import Array
from separatrix.moments.arrays import is_foreign, like_rows, to_numpy
from separatrix.moments.blocks import Blocks, Summed
from separatrix.moments.checks import is_dask, is_text
from separatrix.moments.dask import apply_to_blocks, labelled_blocks, make_zero_row
from separatrix.moments.labelled import LabelledRows

Kind = TypeVar("Kind", bound=type)

ROW_METHODS = ("transform", "predict", "predict_proba", "predict_log_proba", "decision_function")
"""Methods that look at one row at a time: of a Dask collection they are lazy."""


# Fitting -------------------------------------------------------------------------------------


def sum_blocks(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Blocks, Summed]:
    """The statistics that a model needs of a Dask collection, by one pass over its blocks.

    The features and their names are noted as `fit` does for rows in memory.
    """
    check_parameters(model, model._allowed_parameters)
    model._check_blocks_suffice()
    blocks = labelled_blocks(X, y, sample_weight)
    worker = _worker(model, blocks)
    found = blocks.sum_up(
        partial(_summarize_block, worker),
        worker._add_summaries,
        accept_sparse=model._accepts_sparse,
    )
    check_several_classes(model, found.classes)
    validate_data(model, np.zeros((1, found.n_features)), reset=True)
    if found.names is not None:
        model.feature_names_in_ = found.names
    return blocks, found


def _worker(model: Any, blocks: Blocks) -> Any:
    """A copy of the model that summarizes blocks and adds summaries, wherever that is done."""
    worker = clone(model)
    if blocks.feature_names is not None:
        worker.feature_names_in_ = blocks.feature_names
    worker.set_params(**model._params_for_blocks(blocks.n_samples))
    return worker


def _summarize_block(worker: Any, block: LabelledRows) -> Any:
    return worker._summarize_block(block)


# Lazy results --------------------------------------------------------------------------------


def lazy_on_dask(kind: Kind) -> Kind:
    """Class decorator: methods of one row at a time take Dask collections, and compute nothing.

    The results have the blocks of the collection: a Dask array, or a data frame where `set_output`
    asks for frames, or a list of delayed results for a list of delayed blocks. `score` makes one
    pass. Methods that the class inherits are not changed.
    """
    for name in ROW_METHODS:
        if isfunction(vars(kind).get(name)):
            setattr(kind, name, _lazily(vars(kind)[name], name))
    if "predict" in vars(kind) and isfunction(kind.score):  # type: ignore[attr-defined]
        kind.score = blockwise_score(kind.score)  # type: ignore[attr-defined]
    return kind


def _lazily(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(method)
    def lazily(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if is_foreign(X):
            # on the device of X only by methods that project there
            there = getattr(self, "_summarizes_on_device", False)
            return like_rows(method(self, X if there else to_numpy(X), *args, **kwargs), X)
        if not is_dask(X):
            return method(self, X, *args, **kwargs)
        check_is_fitted(self)
        if any(value is not None for value in (*args, *kwargs.values())):
            raise TypeError(
                f"{type(self).__name__}.{name} takes nothing beside the rows of a Dask "
                "collection: call it for the rows of each kind apart"
            )
        judge = partial(_call_method, _judge(self), name)
        # one row of zeros shows the form of the result, and raises where all rows would
        return apply_to_blocks(
            X, judge, None if isinstance(X, list | tuple) else judge(make_zero_row(X))
        )

    return lazily


def _judge(model: Any) -> Any:
    """A copy of the model with no more than it needs to judge rows."""
    return model._without_memory() if hasattr(model, "_without_memory") else copy(model)


def _call_method(model: Any, method: str, X: Any) -> Any:
    return getattr(model, method)(X)


def blockwise_score(in_memory: Callable[..., float]) -> Callable[..., float]:
    """A method `score` that also takes Dask collections, in one pass."""

    @wraps(in_memory)
    def score(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        if not is_dask(X):
            given = (to_numpy(part) for part in (X, y, sample_weight))
            return float(in_memory(self, *given))
        check_is_fitted(self)
        judge = _judge(self)
        if not isinstance(X, list | tuple):
            judge.predict(make_zero_row(X))  # other features raise by their names
        blocks = labelled_blocks(X, y, sample_weight)
        blocks = blocks._replace(feature_names=vars(judge).pop("feature_names_in_", None))
        right, total = blocks.sum_up(partial(_count_right, judge)).summary
        return float(right / total)

    return score


def _count_right(judge: Any, block: LabelledRows) -> Array:
    """The weight of rows that are classified correctly, and of all."""
    weights = np.ones(len(block.codes)) if block.weights is None else block.weights
    if is_text(block.classes) != is_text(judge.classes_):
        raise ValueError(
            f"y has labels {block.classes.tolist()[:3]}, but the model knows "
            f"{judge.classes_.tolist()[:3]}: they differ in type"
        )
    right = judge.predict(block.X) == block.labels
    return np.array([weights @ right, weights.sum()])
