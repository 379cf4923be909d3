"""One classifier for each of some lengths of a series, on the values so far."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import clone

from separatrix._warnings import warn_caller
from separatrix.early.arrival import Arrival
from separatrix.early.conditional import ConditionalModel, expect_missing
from separatrix.early.region import MAX_INCOMPLETE_RELIABILITY
from separatrix.linalg import Array


class PrefixScore(NamedTuple):
    """The label that a classifier of the values so far gives, and its confidence.

    The confidence is the largest of ``predict_proba``, or else grows with the lead of the largest
    value of ``decision_function`` over the second. It is no probability that the complete decision
    agrees: only calibration makes a promise of it.

    Attributes
    ----------
    times : array of int
        Lengths that have a classifier.
    classifiers : list
        Fitted to so many leading values each.
    classes : array (n_classes,)
    conditional : ConditionalModel
        Of the features, for what is expected of a row.
    """

    times: Array
    classifiers: list[Any]
    classes: Array
    conditional: ConditionalModel

    def follow(self, rows: Array, arrival: Arrival | None = None) -> PrefixJudge:
        """Begin with series; gaps are filled by what is expected from the values before them."""
        return PrefixJudge(self, rows, arrival)

    def judge_pattern(self, rows: Array, observed: Array) -> tuple[Array, Array]:
        """Guesses and reliabilities by the last classifier of no more values than have come.

        Before the first classifier nothing is known: the first class has reliability 0.
        """
        t = int(np.flatnonzero(observed)[-1]) + 1 if observed.any() else 0
        at = int(np.searchsorted(self.times, t, side="right")) - 1
        if at < 0:
            return np.zeros(len(rows), dtype=int), np.zeros(len(rows))
        return self.judge_at(at, self.fill(rows, observed))

    def fill(self, rows: Array, observed: Array) -> Array:
        """Rows whose gaps before their last value are filled by what is expected there."""
        gaps = ~observed & (np.arange(len(observed)) < np.flatnonzero(observed)[-1])
        if not gaps.any():
            return rows
        mean, _ = expect_missing(self.conditional, rows, observed)
        return np.where(gaps, mean, rows)

    def judge_at(self, at: int, rows: Array) -> tuple[Array, Array]:
        """Guesses and confidences of the classifier with this number."""
        model = self.classifiers[at]
        found, codes = confide(model, rows[:, : self.times[at]]), np.zeros(len(rows), dtype=int)
        codes = np.searchsorted(self.classes, model.classes_)[found.argmax(axis=1)]
        return codes, np.minimum(found.max(axis=1), MAX_INCOMPLETE_RELIABILITY)


class PrefixJudge(NamedTuple):
    """Series whose leading values are classified at some of their lengths."""

    score: PrefixScore
    rows: Array
    arrival: Arrival | None = None

    def judge(self, t: int, watched: Array, least: float = 0.0) -> tuple[Array, Array]:
        """Guesses and reliabilities of some of the series, from their first t values."""
        at, rows = int(np.searchsorted(self.score.times, t)), self.rows[watched]
        if self.arrival is None:
            return self.score.judge_at(at, rows)
        return self.score.judge_pattern(rows, self.arrival.known_after(t))


def confide(classifier: Any, rows: Array) -> Array:
    """How sure a fitted classifier is of each class (n, n_classes), between 0 and 1.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> model = RidgeClassifier().fit([[0.0], [1], [4], [5]], [0, 0, 1, 1])
    >>> confide(model, [[0.0], [2.4]]).argmax(axis=1)
    array([0, 0])
    """
    if hasattr(classifier, "predict_proba"):
        return np.asarray(classifier.predict_proba(rows))
    scores = np.asarray(classifier.decision_function(rows), dtype=np.float64)
    if scores.ndim == 1:
        second = expit(2 * scores)
        return np.column_stack([1 - second, second])
    ordered = np.sort(scores, axis=1)
    confidence = softmax(scores, axis=1)
    confidence[np.arange(len(scores)), scores.argmax(axis=1)] = expit(
        ordered[:, -1] - ordered[:, -2]
    )
    return confidence


def fit_prefixes(
    classifier: Any, X: Array, labels: Array, times: Array
) -> tuple[Array, list[Any]]:
    """Clones of a classifier fitted to leading values, and the lengths at which that is possible.

    Some classifiers of series need a least number of values: shorter lengths are left out with a
    warning.
    """
    fitted, possible, reason = [], [], None
    for t in times.tolist():
        try:
            model = clone(classifier).fit(X[:, :t], labels)
            confide(model, X[:2, :t])
            fitted.append(model)
            possible.append(t)
        except (IndexError, ValueError) as error:
            reason = reason or f"{t} values: {error}"
    if reason is not None:
        warn_caller(
            f"{len(times) - len(possible)} of {len(times)} checkpoints are left out, as the "
            f"classifier cannot learn from so few values ({reason})"
        )
    return np.array(possible, dtype=int), fitted
