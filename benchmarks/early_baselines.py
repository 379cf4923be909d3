"""Other ways to decide on a series before its end, written simply, and those of aeon."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np

from separatrix.linalg import Array


class EarlyLabels(NamedTuple):
    """Labels of series, how many leading values each took, and the labels at the end."""

    label: Array
    time: Array
    complete: Array


def prefix_distances(A: Array, B: Array) -> Iterator[Array]:
    """Squared distances of the first 1, 2, … values; the same array each time."""
    D = np.zeros((len(A), len(B)))
    for a, b in zip(A.T, B.T, strict=True):
        D += np.subtract.outer(a, b) ** 2
        yield D


class ECTS:
    """Early classification by the nearest neighbour, once that neighbour can be relied on.

    A training series can be relied on from the time on at which those whose nearest neighbour it
    is are the same as at the end, and there is at least one: its minimum prediction length. A new
    series is given the label of its nearest neighbour as soon as that one can be relied on. This
    is the version without clusters (Xing, Pei and Yu, 2012; section 5.5.1 of the source): there
    is no minimum support to choose.
    """

    def fit(self, X: Array, y: Array) -> Self:
        self.X, self.y = X, y
        n, d = X.shape
        nearest = np.empty((d, n), dtype=int)
        for t, D in enumerate(prefix_distances(X, X)):
            np.fill_diagonal(D, np.inf)
            nearest[t] = D.argmin(axis=1)
            np.fill_diagonal(D, 0.0)
        stable = np.ones((d, n), dtype=bool)
        times, moved = np.nonzero(nearest != nearest[-1])
        for now in (nearest[times, moved], nearest[-1, moved]):
            stable[times, now] = False
        from_then_on = np.logical_and.accumulate(stable[::-1])[::-1]
        self.lengths = 1 + from_then_on.argmax(axis=0)
        self.lengths[np.setdiff1d(np.arange(n), nearest[-1])] = d
        return self

    def decide(self, X: Array) -> EarlyLabels:
        d = X.shape[1]
        label, time = np.empty(len(X), dtype=self.y.dtype), np.full(len(X), d + 1)
        for t, D in enumerate(prefix_distances(X, self.X), start=1):
            nearest = D.argmin(axis=1)
            ready = (time > d) & ((self.lengths[nearest] <= t) | (t == d))
            label[ready], time[ready] = self.y[nearest[ready]], t
        return EarlyLabels(label, time, self.y[nearest])


def fixed_time_neighbour(X: Array, y: Array, X_new: Array) -> Array:
    """Labels (n_new, n_times) of the nearest neighbour of each prefix."""
    return np.stack([y[D.argmin(axis=1)] for D in prefix_distances(X_new, X)], axis=1)


def aeon_models() -> dict[str, Any]:
    """TEASER and a probability threshold, or nothing where aeon is not installed."""
    try:
        from aeon.classification.early_classification import (
            TEASER,
            ProbabilityThresholdEarlyClassifier,
        )
        from aeon.classification.interval_based import TimeSeriesForestClassifier
    except ImportError:
        return {}
    # the default forest of the second divides by zero on prefixes of a few values
    forest = TimeSeriesForestClassifier(n_estimators=100, random_state=0)
    threshold = ProbabilityThresholdEarlyClassifier(forest, random_state=0)
    return {
        "TEASER (aeon)": AeonEarly(TEASER(random_state=0)),
        "probability 0.85 (aeon)": AeonEarly(threshold),
    }


class AeonEarly:
    """An early classifier of aeon, asked for labels, times and the labels at the end."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: Array, y: Array) -> Self:
        self.model.fit(X[:, None], y)
        return self

    def decide(self, X: Array) -> EarlyLabels:
        label, _ = self.model.predict(X[:, None])
        points = np.asarray(self.model._classification_points)
        time = points[np.asarray(self.model.get_state_info())[:, 0]]
        complete = self.model.estimators_[-1].predict(X[:, None])
        return EarlyLabels(label, time, complete)
