"""Rows that estimators are given, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.linalg import Array, Lift, span
from separatrix.moments.checks import check_weights, encode_labels, refuse_lazy_frame
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.dask import Blocks
from separatrix.moments.labelled import full_columns_shifted
from separatrix.moments.scatter import SparseRows, joint_span

# Rows and solutions --------------------------------------------------------------------------


class LabelledData(NamedTuple):
    """Validated rows: X is float and two-dimensional, `codes` point into `classes`."""

    X: Any
    codes: Array
    classes: Array
    weights: Array | None
    feature_names: Array | None

    def moments(
        self, *, per_class: bool = False, scatter: bool = True, factored: bool = False
    ) -> ClassMoments:
        """Their class statistics; a NaN is found on the way and refused by name."""
        return ClassMoments.from_codes(
            self.X,
            self.codes,
            classes=self.classes,
            weights=self.weights,
            per_class=per_class,
            scatter=scatter,
            factored=factored,
            feature_names=self.feature_names,
        )

    def total(self, function: Callable[..., float], classes: Array) -> float:
        """A number that a function of rows, codes and weights gives, summed over all rows."""
        return function(self.X, self.codes, self.weights)

    def part(self, rows: slice) -> LabelledData:
        """Some of the rows, with all the classes."""
        weights = None if self.weights is None else self.weights[rows]
        return self._replace(X=self.X[rows], codes=self.codes[rows], weights=weights)

    def columns(self, columns: Array) -> LabelledData:
        """The same rows with some of their features."""
        names = columns if self.feature_names is None else self.feature_names[columns]
        return self._replace(X=self.X[:, columns], feature_names=names)

    def rows(self, numbers: Array) -> LabelledData:
        """Some of the rows, with the classes that are among them."""
        present, codes = np.unique(self.codes[numbers], return_inverse=True)
        weights = None if self.weights is None else self.weights[numbers]
        return self._replace(
            X=self.X[numbers], codes=codes, classes=self.classes[present], weights=weights
        )

    def in_span(self, moments: ClassMoments) -> tuple[LabelledData, Lift]:
        """The rows in coordinates of the span of the centred rows, and the way back.

        With no more features than rows the coordinates are the features: dense rows are centred
        then, sparse ones stay as they are but for an offset of their full columns.
        """
        n_samples, n_features = self.X.shape
        if sp.issparse(self.X):
            rows, _ = full_columns_shifted(sp.csr_array(self.X, dtype=np.float64, copy=True))
            if n_samples < n_features:
                average = sp.csr_array(np.full((1, n_samples), n_samples**-0.5))
                spanned, _ = joint_span([SparseRows(rows, average)])
                return self._replace(X=spanned.coordinates, feature_names=None), spanned.lift
        else:
            # a mean that is rounded shifts all rows alike: their differences keep all digits
            rows = np.subtract(self.X, moments.mean, dtype=np.float64, order="C")
            if n_samples < n_features:
                coordinates, lift = span(rows, bound=n_samples - 1)
                return self._replace(X=coordinates, feature_names=None), lift
        return self._replace(X=rows), lambda W: W


def labelled_data(
    estimator: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    classes: ArrayLike | None = None,
    reset: bool = True,
    accept_sparse: bool = False,
) -> LabelledData:
    """Rows, labels and weights, checked but for what is not finite."""
    refuse_lazy_frame(X, type(estimator).__name__)
    rows, labels = validate_data(
        estimator,
        X,
        y,
        accept_sparse="csr" if accept_sparse else False,
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        reset=reset,
    )
    check_classification_targets(labels)
    known, codes = encode_labels(labels, rows.shape[0], classes)
    weights = None if sample_weight is None else check_weights(sample_weight, rows.shape[0])
    return LabelledData(rows, codes, known, weights, getattr(estimator, "feature_names_in_", None))


def new_rows(estimator: BaseEstimator, X: ArrayLike, *, accept_sparse: bool = False) -> Any:
    """Rows of the features that were learned, checked but for what is not finite."""
    check_is_fitted(estimator)
    refuse_lazy_frame(X, type(estimator).__name__)
    return validate_data(
        estimator,
        X,
        accept_sparse="csr" if accept_sparse else False,
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        reset=False,
    )


def refuse_one_class(estimator: BaseEstimator, classes: Array) -> None:
    """Raise when there is nothing to separate."""
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs at least two classes to separate, but y has only "
            f"one class: {classes.tolist()[0]!r}"
        )


Rows = LabelledData | Blocks
"""Labelled rows, in memory or in blocks."""
