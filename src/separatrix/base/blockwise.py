"""Dask collections in place of arrays: fitting in one pass, and lazy results for new rows."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.base.parameters import check_parameters
from separatrix.base.rows import check_several_classes
from separatrix.linalg import Array
from separatrix.moments.arrays import is_foreign, like_rows
from separatrix.moments.blocks import Blocks, Summed
from separatrix.moments.dask import apply_to_blocks, labelled_blocks, make_zero_row
from separatrix.moments.labelled import LabelledRows, is_text

# Fitting -------------------------------------------------------------------------------------


def fit_collection(model: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
    """Fit a model that needs only moments to a Dask collection."""
    blocks, total = sum_blocks(model, X, y, sample_weight)
    model._store(total.summary, model._find(total.summary, blocks, {}), blocks)
    return model


def sum_blocks(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Blocks, Summed]:
    """The statistics that a model needs of a Dask collection, by one pass over its blocks.

    The features and their names are noted as `fit` does for rows in memory.
    """
    check_parameters(model, model._allowed_parameters)
    model._check_blocks_suffice()
    blocks = labelled_blocks(X, y, sample_weight)
    worker = _worker(model, blocks)
    total = blocks.sum_up(
        partial(_summarize_block, worker),
        worker._add_summaries,
        accept_sparse=model._accepts_sparse,
    )
    check_several_classes(model, total.classes)
    validate_data(model, np.zeros((1, total.n_features)), reset=True)
    if total.names is not None:
        model.feature_names_in_ = total.names
    return blocks, total


def _worker(model: Any, blocks: Blocks) -> Any:
    """A copy of the model that summarizes blocks and adds summaries, wherever that is done."""
    worker = clone(model)
    if blocks.feature_names is not None:
        worker.feature_names_in_ = blocks.feature_names
    worker.set_params(**model._params_for_blocks(blocks.n_samples))
    return worker


def _summarize_block(worker: Any, block: LabelledRows) -> Any:
    return worker._summarize_block(block)


# New rows ------------------------------------------------------------------------------------


def map_blocks(method: Callable[..., Any], X: Any, **options: Any) -> Any:
    """The results of a fitted model for rows that are not in memory, where these rows are.

    Parameters
    ----------
    method : bound method
        Method applied to each row, such as ``model.predict``; of any estimator of scikit-learn.
    X : Dask array, Dask data frame, or list of delayed blocks
        Rows; also an array of another library, with ``array_api_dispatch`` of scikit-learn.
    **options
        Further arguments of the method.

    Returns
    -------
    Dask array or data frame, or list of delayed results
        In the blocks of X; nothing is computed yet. A data frame where `set_output` asks for one.
        The results are those of the model as it is now, whatever it learns later. For an array of
        another library an array of that library, on its device.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_wine
    >>> from separatrix import FisherDiscriminant, map_blocks
    >>> X, y = load_wine(return_X_y=True)
    >>> model = FisherDiscriminant().fit(X, y)
    >>> labels = map_blocks(model.predict, da.from_array(X, chunks=(50, 13)))
    >>> labels.chunks, bool((labels.compute() == model.predict(X)).all())
    (((50, 50, 50, 28),), True)
    """
    if is_foreign(X):
        return like_rows(method(X, **options), X)
    model, name = method.__self__, method.__name__  # type: ignore[attr-defined]
    check_is_fitted(model)
    judge = partial(_call_method, _as_it_is(model, name), name, options)
    # one row of zeros shows the form of the result, and raises where all rows would
    like = None if isinstance(X, list | tuple) else judge(make_zero_row(X))
    return apply_to_blocks(X, judge, like)


def score_blocks(model: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """The share of the rows of a Dask collection that a classifier predicts right, in one pass.

    Parameters
    ----------
    model : fitted classifier
    X, y, sample_weight : Dask collections
        As `FisherDiscriminant.fit` takes them.
    """
    check_is_fitted(model)
    judge = _as_it_is(model, "predict")
    if not isinstance(X, list | tuple):
        judge.predict(make_zero_row(X))  # other features raise by their names
    blocks = labelled_blocks(X, y, sample_weight)
    blocks = blocks._replace(feature_names=vars(judge).pop("feature_names_in_", None))
    right, total = blocks.sum_up(partial(_count_right, judge)).summary
    return float(right / total)


NEED_MOMENTS = ("novelty", "novelty_pvalue")
"""Methods that look at the statistics of the training rows."""


def _as_it_is(model: Any, name: str) -> Any:
    """A copy of a model that later batches do not change, without statistics it has no use for."""
    _ = getattr(model, "components_", None)  # rows that have come enter the solution
    judge = copy(model)
    if name not in NEED_MOMENTS and "moments_" in vars(judge):
        vars(judge).update(moments_=None, _window=None)
    return judge


def _call_method(model: Any, name: str, options: dict[str, Any], X: Any) -> Any:
    return getattr(model, name)(X, **options)


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
