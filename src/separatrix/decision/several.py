"""Several labels for a row: each label against the rest, by any classifier of two classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from separatrix.linalg import Array


def split_labels(labels: Iterable[Any], sep: str) -> list[set[str]]:
    """The labels of each row as a set.

    Examples
    --------
    >>> [sorted(row) for row in split_labels(["a; b", "b"], ";")]
    [['a', 'b'], ['b']]
    """
    sets = [{part.strip() for part in str(text).split(sep) if part.strip()} for text in labels]
    empty = [i for i, row in enumerate(sets) if not row]
    if empty:
        raise ValueError(f"row {empty[0] + 1} has no label")
    return sets


class SeveralLabels(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """One classifier for each label, which says whether a row has it.

    Parameters
    ----------
    estimator : classifier
        Of two classes, with ``decision_function``; a clone is fitted for each label.
    sep : str
        Between the labels of a row.

    Attributes
    ----------
    classes_ : array of str
        The labels.
    estimators_ : list of classifiers
        One for each label; those of its rows against all others.

    Notes
    -----
    A row gets every label whose score is positive, and the one of largest score where none is.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import FisherDiscriminant
    >>> from separatrix.decision.several import SeveralLabels
    >>> X = np.array([[0, 0], [4, 0], [0, 4], [4, 4.0]] * 5) + np.eye(20)[:, :2]
    >>> y = ["a", "b", "c", "b;c"] * 5
    >>> SeveralLabels(FisherDiscriminant()).fit(X, y).predict([[4, 4], [0, 4]]).tolist()
    ['b;c', 'c']
    """

    classes_: Array
    estimators_: Any

    def __init__(self, estimator: Any, *, sep: str = ";") -> None:
        self.estimator = estimator
        self.sep = sep

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit a classifier for each label.

        Parameters
        ----------
        X : array (n_samples, n_features)
        y : array (n_samples,) of str
            Labels of each row, with `sep` between.
        """
        rows = split_labels(np.asarray(y).tolist(), self.sep)
        self.classes_ = np.array(sorted(set().union(*rows)))
        self.estimators_ = []
        for label in self.classes_.tolist():
            has = np.array([label in row for row in rows])
            if has.all():
                raise ValueError(f"all rows have the label {label!r}: leave it out")
            self.estimators_.append(clone(self.estimator).fit(X, has))
        self.n_features_in_ = self.estimators_[0].n_features_in_
        return self

    def decision_function(self, X: Any) -> Array:
        """(n_samples, n_labels): a score of each label, positive where a row has it."""
        check_is_fitted(self)
        return np.column_stack([model.decision_function(X) for model in self.estimators_])

    def predict(self, X: Any) -> Array:
        """Labels of each row in the order of `classes_`, with `sep` between."""
        scores = self.decision_function(X)
        chosen = (scores > 0) | (scores == scores.max(axis=1, keepdims=True)) & (
            scores.max(axis=1, keepdims=True) <= 0
        )
        return np.array([self.sep.join(self.classes_[row]) for row in chosen])

    def join_labels(self, y: Iterable[Any]) -> Array:
        """Labels of rows written as `predict` writes them."""
        return np.array([self.sep.join(sorted(row)) for row in split_labels(y, self.sep)])

    def score(self, X: Any, y: ArrayLike, sample_weight: Any = None) -> float:
        """The share of rows whose labels are all as predicted, and no others."""
        right = self.predict(X) == self.join_labels(np.asarray(y).tolist())
        return float(np.average(right, weights=sample_weight))
