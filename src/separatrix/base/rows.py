"""Checks of the rows that estimators are given, and their projection."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from separatrix.linalg import Array
from separatrix.moments.arrays import to_numpy
from separatrix.moments.labelled import (
    LabelledRows,
    check_in_memory,
    check_labels_of_one_kind,
    check_not_in_blocks,
    check_weights,
    encode_labels,
    row_blocks,
    rows_per_block,
)


def check_labelled_rows(
    estimator: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    classes: ArrayLike | None = None,
    reset: bool = True,
    accept_sparse: bool = False,
    groups: ArrayLike | None = None,
    cv: Any = None,
) -> LabelledRows:
    """Rows, labels, weights and groups, checked for everything but NaN and infinity."""
    if not (isinstance(X, np.ndarray) and isinstance(y, np.ndarray)):
        check_in_memory(X, type(estimator).__name__)
        X, y, sample_weight = to_numpy(X), to_numpy(y), to_numpy(sample_weight)
    X = join_channels(estimator, X, reset=reset)
    check_labels_of_one_kind(y)
    with _named_text_columns(X):
        rows, labels = validate_data(
            estimator,
            X,
            y,
            accept_sparse="csr" if accept_sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            reset=reset,
        )
    rows = sort_indices(rows)
    check_classification_targets(labels)
    known, codes = encode_labels(labels, rows.shape[0], classes)
    weights = None if sample_weight is None else check_weights(sample_weight, rows.shape[0])
    names = getattr(estimator, "feature_names_in_", None)
    numbers = None if groups is None else number_groups(groups, rows.shape[0])
    return LabelledRows(rows, codes, known, weights, names, numbers, cv)


def number_groups(groups: ArrayLike, n_rows: int) -> Array:
    """The group of each row as a number; raise where they are not as many as rows."""
    given = column_or_1d(groups)
    if len(given) != n_rows:
        raise ValueError(
            f"groups has {len(given)} entries, but X has {n_rows} rows: give the group of each row"
        )
    return np.unique(given.astype(str) if given.dtype == object else given, return_inverse=True)[1]


def check_new_rows(estimator: BaseEstimator, X: ArrayLike, *, accept_sparse: bool = False) -> Any:
    """Rows of the features that were learned, checked for everything but NaN and infinity."""
    check_is_fitted(estimator)
    check_not_in_blocks(X)
    X = join_channels(estimator, to_numpy(X), reset=False)
    with _named_text_columns(X):
        rows = validate_data(
            estimator,
            X,
            accept_sparse="csr" if accept_sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            reset=False,
        )
    return sort_indices(rows)


def sort_indices(rows: Any) -> Any:
    """Sparse rows with their columns in order: a copy where they are not, others as they are.

    Compiled code of SciPy and scikit-learn would sort the caller's matrix in place.
    """
    return rows if not sp.issparse(rows) or rows.has_sorted_indices else rows.sorted_indices()


@contextmanager
def _named_text_columns(X: Any) -> Iterator[None]:
    """An error about text among the numbers of a data frame names the column."""
    try:
        yield
    except ValueError as error:
        columns = getattr(X, "columns", ())
        named = [name for name in columns if not _holds_numbers(X[name])]
        if not named or "could not convert" not in str(error):
            raise
        raise ValueError(
            f"Column {named[0]!r} of X holds text ({error}). Leave it out, or make numbers of it, "
            "for example with sklearn.preprocessing.OneHotEncoder."
        ) from None


def _holds_numbers(column: Any) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


def join_channels(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Rows of channels × times as rows of features, one channel after the other; others as is.

    The fitted attribute ``epoch_shape_`` is the number of channels and of times; it is there only
    where rows had such a shape, and new ones of three axes must have it.
    """
    if getattr(X, "ndim", 2) != 3:
        if reset:
            vars(estimator).pop("epoch_shape_", None)
        return X
    shape = tuple(map(int, X.shape[1:]))
    known = getattr(estimator, "epoch_shape_", None)
    if reset:
        estimator.epoch_shape_ = shape
    elif known is not None and shape != tuple(known):
        raise ValueError(
            f"X has {shape[0]} channels of {shape[1]} values, but {type(estimator).__name__} was "
            f"fitted to {known[0]} channels of {known[1]}"
        )
    return X.reshape((X.shape[0], -1))


def check_several_classes(estimator: BaseEstimator, classes: Array) -> None:
    """Raise when there is only one class."""
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs at least two classes to separate, but y has only "
            f"one class: {classes.tolist()[0]!r}"
        )


def check_more_rows_than_classes(estimator: BaseEstimator, n_rows: float, n_classes: int) -> None:
    """Raise when probabilities would be one for want of any scatter within classes."""
    if n_rows <= n_classes and hasattr(estimator, "predict_proba"):
        raise ValueError(
            f"y has {n_classes} classes in {n_rows:g} rows, so that no class has two: "
            f"{type(estimator).__name__} needs more rows than classes. Give more rows of each, or "
            "join classes"
        )


@contextmanager
def unchanged_on_failure(estimator: BaseEstimator) -> Iterator[None]:
    """Whatever raises inside leaves the estimator as it was."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise


def centred_product(X: Any, centre: Array, W: Array) -> Array:
    """``(X - centre) @ W`` in the dtype of X.

    One product, centred afterwards, unless that would cancel more than a quarter of the digits:
    then the rows are centred first, a block at a time.
    """
    W = W.astype(X.dtype, copy=False)
    shift = centre @ W
    result = X @ W
    result -= shift.astype(X.dtype, copy=False)
    # largest term that the subtraction of the shift may cancel, and the largest result
    cancelled = float(np.max(np.abs(centre) @ np.abs(W), initial=0.0))
    left = float(np.max(np.abs(result), initial=0.0))
    if sp.issparse(X) or cancelled <= np.finfo(X.dtype).eps ** -0.25 * left:
        return result
    centred = np.empty((min(X.shape[0], rows_per_block(X.shape[1])), X.shape[1]), X.dtype)
    for block in row_blocks(*X.shape):
        rows = centred[: len(X[block])]
        np.subtract(X[block], centre, out=rows, casting="same_kind")
        np.matmul(rows, W, out=result[block])
    return result
