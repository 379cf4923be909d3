"""One classifier for each of some lengths of a series, on the values so far."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import clone

from separatrix._warnings import warn_caller
from separatrix.early.conditional import ConditionalModel
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

    def follow(self, rows: Array) -> PrefixJudge:
        """Begin with series."""
        return PrefixJudge(self, rows)

    def judge_pattern(self, rows: Array, observed: Array) -> tuple[Array, Array]:
        """Guesses and reliabilities of series of the same length, by the last classifier before.

        Before the first classifier nothing is known: the first class has reliability 0.
        """
        t = int(observed.sum())
        if not observed[:t].all():
            raise ValueError(
                'score="prefix" judges the leading values of series, but values are missing '
                'before others: use score="sampled" or "model" for rows with gaps'
            )
        at = int(np.searchsorted(self.times, t, side="right")) - 1
        if at < 0:
            return np.zeros(len(rows), dtype=int), np.zeros(len(rows))
        return self.judge_at(at, rows)

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

    def judge(self, t: int, watched: Array, least: float = 0.0) -> tuple[Array, Array]:
        """Guesses and reliabilities of some of the series, from their first t values."""
        at = int(np.searchsorted(self.score.times, t))
        return self.score.judge_at(at, self.rows[watched])


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
            fitted.append(clone(classifier).fit(X[:, :t], labels))
            possible.append(t)
        except ValueError as error:
            reason = reason or f"{t} values: {error}"
    if reason is not None:
        warn_caller(
            f"{len(times) - len(possible)} of {len(times)} checkpoints are left out, as the "
            f"classifier cannot be fitted to so few values ({reason})"
        )
    return np.array(possible, dtype=int), fitted
