"""One classifier for each of some lengths of a series, on the values so far."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit
from sklearn.base import clone

from separatrix._warnings import warn_caller
from separatrix.early.arrival import Arrival, stack_channels
from separatrix.early.conditional import ConditionalModel, expect_missing
from separatrix.early.regions import MAX_INCOMPLETE_RELIABILITY
from separatrix.linalg import Array

LASTING = 0.5
"""Weight of the evidence of the checkpoint before, where the label is the same."""

MIN_DOUBT = 1e-9
"""Distance of a probability from 0 and 1 that keeps its log-odds finite."""


class Evidence(NamedTuple):
    """The labels of rows at a checkpoint, and the log-odds of confidences that lasted."""

    codes: Array
    odds: Array

    def of_rows(self, chosen: Array) -> Evidence:
        """The evidence of some of the rows."""
        return Evidence(self.codes[chosen], self.odds[chosen])

    @property
    def reliabilities(self) -> Array:
        """Between 0 and 1, never 1; odds of 1e9 are still distinguished from larger ones."""
        return np.minimum(self.odds / (1 + self.odds), MAX_INCOMPLETE_RELIABILITY)


def add_evidence(before: Evidence | None, codes: Array, odds: Array) -> Evidence:
    """A label that stays adds half of the evidence that it had, another one begins anew.

    Examples
    --------
    >>> first = add_evidence(None, np.array([0, 0]), np.array([1.4, 1.4]))
    >>> add_evidence(first, np.array([0, 1]), np.array([1.4, 1.4])).odds
    array([2.1, 1.4])
    """
    if before is not None:
        odds = odds + np.where(codes == before.codes, LASTING * before.odds, 0.0)
    return Evidence(codes, odds)


class PrefixScore(NamedTuple):
    """The label that a classifier of the values so far gives, and how sure it has been of it.

    The log-odds at a checkpoint are those of the largest value of ``predict_proba``, or else the
    lead of the largest of ``decision_function`` over the second. Half of those of the checkpoint
    before are added, if the label was the same. They are no probability that the complete decision
    agrees: only calibration makes a promise of them.

    Attributes
    ----------
    times : array of int
        Lengths that have a classifier.
    classifiers : list
        One fitted to the leading values of each length.
    classes : array (n_classes,)
    conditional : ConditionalModel
        Of the values, for the expected values of a row.
    features : transformer or None
        Fitted, with the features of all prefixes in one pass; None for the values themselves.
    n_channels : int
        Values that arrive together.
    """

    times: Array
    classifiers: list[Any]
    classes: Array
    conditional: ConditionalModel
    features: Any
    n_channels: int

    def follow(self, rows: Array, arrival: Arrival | None = None) -> PrefixPaths:
        """Begin with series; gaps are filled by expected values given those that have come."""
        return PrefixPaths(self, rows, arrival)

    def judge_pattern(self, rows: Array, observed: Array) -> tuple[Array, Array]:
        """Guesses and reliabilities by the classifiers of no more values than have come.

        Before the first of them nothing is known: the first class has reliability 0.
        """
        t = int(np.flatnonzero(observed)[-1]) + 1 if observed.any() else 0
        evidence = None
        for at in range(int(np.searchsorted(self.times, t, side="right"))):
            length = int(self.times[at])
            values, seen = rows[:, :length], observed & (np.arange(len(observed)) < length)
            if not seen[:length].all():
                values = expect_missing(self.conditional, rows, seen)[0][:, :length]
            if self.features is not None:
                values = self.features.transform(stack_channels(values, self.n_channels))
            evidence = self.judge_at(at, values, evidence)
        if evidence is None:
            return np.zeros(len(rows), dtype=int), np.zeros(len(rows))
        return evidence.codes, evidence.reliabilities

    def judge_at(self, at: int, values: Array, before: Evidence | None) -> Evidence:
        """The evidence of one of the classifiers, from leading values or their features."""
        model = self.classifiers[at]
        codes, odds = confide(model, values)
        codes = np.searchsorted(self.classes, model.classes_)[codes]
        return add_evidence(before, codes, odds)

    def values_at_times(self, rows: Array) -> Iterator[Array]:
        """What each of the classifiers is given."""
        if self.features is None:
            return (rows[:, :t] for t in self.times.tolist())
        series = stack_channels(rows, self.n_channels)
        return self.features.transform_prefixes(series, self.times // self.n_channels)


class PrefixPaths:
    """Series whose leading values are classified at some of their lengths."""

    def __init__(self, score: PrefixScore, rows: Array, arrival: Arrival | None = None) -> None:
        self._score, self._rows, self._arrival = score, rows, arrival
        self._watched, self._next = np.arange(len(rows)), 0
        self._values = None if arrival is not None else score.values_at_times(rows)
        self._evidence: Evidence | None = None

    def judge(self, t: int, watched: Array, least: float = 0.0) -> tuple[Array, Array]:
        """Guesses and reliabilities of some of the series, from their first t values."""
        if self._values is None:
            assert self._arrival is not None
            return self._score.judge_pattern(self._rows[watched], self._arrival.known_after(t))
        if self._evidence is not None and len(watched) < len(self._watched):
            self._evidence = self._evidence.of_rows(np.searchsorted(self._watched, watched))
        self._watched = watched
        for at in range(self._next, int(np.searchsorted(self._score.times, t)) + 1):
            values = next(self._values)[watched]
            self._evidence = self._score.judge_at(at, values, self._evidence)
            self._next = at + 1
        assert self._evidence is not None, "a time of the score has a classifier"
        return self._evidence.codes, self._evidence.reliabilities


def confide(classifier: Any, rows: Array) -> tuple[Array, Array]:
    """The numbers of the likeliest classes of rows, and the log-odds of each, at least 0.

    Examples
    --------
    >>> from sklearn.linear_model import RidgeClassifier
    >>> model = RidgeClassifier().fit([[0.0], [1], [4], [5]], [0, 0, 1, 1])
    >>> codes, odds = confide(model, [[0.0], [2.4]])
    >>> codes, bool(odds[0] > odds[1])
    (array([0, 0]), True)
    """
    if hasattr(classifier, "predict_proba"):
        shares = np.asarray(classifier.predict_proba(rows))
        odds = logit(np.clip(shares.max(axis=1), MIN_DOUBT, 1 - MIN_DOUBT))
        return shares.argmax(axis=1), np.maximum(odds, 0.0)
    scores = np.asarray(classifier.decision_function(rows), dtype=np.float64)
    if scores.ndim == 1:
        return (scores > 0).astype(int), np.abs(2 * scores)
    ordered = np.sort(scores, axis=1)
    return scores.argmax(axis=1), ordered[:, -1] - ordered[:, -2]


def fit_prefixes(
    classifier: Any, values: Iterable[Array], labels: Array, times: Array
) -> tuple[Array, list[Any]]:
    """Times, and clones of a classifier fitted to the values known then, where it can be.

    Some classifiers of series need a least number of values: shorter lengths are left out with a
    warning.
    """
    fitted, possible, reason = [], [], None
    for t, known in zip(times.tolist(), values, strict=True):
        try:
            fitted.append(clone(classifier).fit(known, labels))
            possible.append(t)
        except (IndexError, ValueError) as error:
            reason = reason or f"{t} values: {error}"
    if reason is not None:
        warn_caller(
            f"{len(times) - len(possible)} of {len(times)} checkpoints are left out, as the "
            f"classifier cannot learn from so few values ({reason})"
        )
    return np.array(possible, dtype=int), fitted
