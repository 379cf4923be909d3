"""Methods of one row at a time take Dask collections, lazily."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial, wraps
from inspect import isfunction
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.linalg import Array
from separatrix.moments.checks import is_dask, is_text
from separatrix.moments.dask import Block, labelled_blocks, mapped, one_row

BY_BLOCKS = ("transform", "predict", "predict_proba", "predict_log_proba", "decision_function")
"""Methods that look at one row at a time: of a Dask collection they are lazy."""


class BlockwiseMixin:
    """Makes methods of one row at a time take Dask collections, without computing them.

    What they return has the blocks of the collection: a Dask array, or a data frame where
    `set_output` asks for frames, or a list of delayed results for a list of delayed blocks.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in BY_BLOCKS:
            if isfunction(vars(cls).get(name)):
                setattr(cls, name, _by_blocks(vars(cls)[name]))

    def _judge(self) -> Any:
        """The model as it is now, with what is needed to judge rows."""
        return copy(self)


class BlockwiseClassifierMixin(BlockwiseMixin, ClassifierMixin):
    """The same for classifiers."""

    classes_: Array

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows that are classified correctly; of a Dask collection by one pass.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Rows to classify.
        y : array (n_samples,)
            Their labels.
        sample_weight : array (n_samples,), optional
            What each row counts.

        Returns
        -------
        float
            Accuracy.
        """
        if not is_dask(X):
            return float(super().score(X, y, sample_weight))
        check_is_fitted(self)
        judge = self._judge()
        if not isinstance(X, list | tuple):
            judge.predict(one_row(X))  # other features are refused by their names
        blocks = labelled_blocks(X, y, sample_weight)
        blocks = blocks._replace(feature_names=vars(judge).pop("feature_names_in_", None))
        found = blocks.summed(partial(_right, judge))
        right, total = found.summary
        return float(right / total)


def _right(judge: Any, block: Block) -> Array:
    """The weight of rows that are classified correctly, and of all."""
    weights = np.ones(len(block.codes)) if block.weights is None else block.weights
    if is_text(block.classes) != is_text(judge.classes_):
        raise ValueError(
            f"y has labels {block.classes.tolist()[:3]}, but the model knows "
            f"{judge.classes_.tolist()[:3]}: they differ in type"
        )
    right = judge.predict(block.X) == block.classes[block.codes]
    return np.array([weights @ right, weights.sum()])


def _by_blocks(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def lazily(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *args, **kwargs)
        check_is_fitted(self)
        more = [v for v in (*args, *kwargs.values()) if v is not None]
        if more:
            raise TypeError(
                f"{type(self).__name__}.{method.__name__} takes nothing beside the rows of a Dask "
                "collection: call it for the rows of each kind apart"
            )
        judge = partial(_judged, self._judge(), method.__name__)
        # one row of zeros shows what is returned, and is refused where all rows would be
        return mapped(X, judge, None if isinstance(X, list | tuple) else judge(one_row(X)))

    return lazily


def _judged(model: Any, method: str, X: Any) -> Any:
    return getattr(model, method)(X)
