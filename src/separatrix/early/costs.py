"""When to stop if waiting costs, too: cutoffs of least total cost on calibration rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.base.parameters import real_number
from separatrix.early.calibration import MAX_SHARE, ScorePaths, measure_losses
from separatrix.linalg import Array

MIN_STOPPED = 5
"""Fewer calibration rows show nothing about stopping at one time."""


class Cost(BaseEstimator):
    """Calibration by rows that are held out: decide when waiting costs more than it saves.

    `reliability` has no effect on decisions then; what is stated of them is that of `Promise()`.

    Parameters
    ----------
    waiting : float
        What it costs to wait for a whole series.
    mistakes : float or array (n_classes, n_classes)
        What a wrong decision costs, or costs with true classes in rows and decided ones in
        columns.
    share : float in (0, 1) or None
        The share of the training rows that `fit` does not learn but calibrates with; None leaves
        the calibration to `calibrate`.

    Examples
    --------
    >>> Cost(1, 10)
    Cost(mistakes=10, waiting=1)
    """

    def __init__(self, waiting: float, mistakes: Any, share: float | None = 0.3) -> None:
        self.waiting = waiting
        self.mistakes = mistakes
        self.share = share

    needs_labels = True

    def check(self, n_classes: int | None = None) -> None:
        """Raise for costs without meaning."""
        allowed = real_number(0, MAX_SHARE, open_low=True)
        if self.share is not None and not allowed.test(self.share):
            raise ValueError(f"share={self.share!r} is not valid: it must be {allowed.words}")
        try:
            costs = np.asarray(self.mistakes, dtype=np.float64)
            waiting = float(self.waiting)
        except (TypeError, ValueError):
            costs, waiting = np.array(np.nan), np.nan
        finite = np.isfinite(waiting) and np.isfinite(costs).all()
        square = costs.ndim == 0 or (costs.ndim == 2 and costs.shape[0] == costs.shape[1])
        if not (finite and square and waiting >= 0 and (costs >= 0).all()):
            raise ValueError(
                f"Cost({self.waiting!r}, {self.mistakes!r}): waiting must be a number, mistakes a "
                "number or a square matrix with true classes in rows; finite, none negative"
            )
        if n_classes is not None and costs.ndim == 2 and len(costs) != n_classes:
            raise ValueError(
                f"the matrix of mistakes has {len(costs)} rows, but there are {n_classes} classes"
            )

    def of_decisions(self, paths: ScorePaths, codes: Array) -> Array:
        """What decisions (n, m) cost without waiting."""
        costs = np.asarray(self.mistakes, dtype=np.float64)
        if costs.ndim:
            return costs[paths.labels[:, None], codes]
        return float(costs) * measure_losses(paths, codes, "error")


def find_cost_cutoffs(paths: ScorePaths, times: Array, n_values: int, cost: Cost) -> Array:
    """A cutoff for each time, so that a row stops where waiting is expected to cost more.

    From the last time to the first: a row that goes on costs what it will have cost at the time
    at which the later cutoffs stop it. Stopping at a score of at least λ is worth it where the
    rows above λ save by it together, and the λ that saves most is taken. That is where the
    expected saving, as a falling function of the score, crosses zero.
    """
    n, n_times = paths.codes.shape
    later = cost.of_decisions(paths, paths.complete[:, None])[:, 0] + cost.waiting
    cutoffs = np.full(n_times, np.inf)
    for t in range(n_times - 1, -1, -1) if n >= MIN_STOPPED else ():
        now = cost.of_decisions(paths, paths.codes[:, [t]])[:, 0]
        now = now + cost.waiting * times[t] / n_values
        scores = paths.scores[:, t]
        order = np.argsort(-scores, kind="stable")
        saved = np.cumsum((later - now)[order])
        ends = np.append(np.diff(scores[order]) < 0, True)  # ties stop together
        ends[: MIN_STOPPED - 1] = False
        allowed = np.where(ends, saved, -np.inf)
        best = int(np.argmax(allowed))
        if allowed[best] > 0:
            cutoffs[t] = scores[order[best]]
            later = np.where(scores >= cutoffs[t], now, later)
    return cutoffs
