"""When to stop if waiting costs, too: cutoffs of least total cost on calibration rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.early.calibration import (
    CalibrationRecord,
    Cutoffs,
    ScorePaths,
    halting_times,
    measure_losses,
)
from separatrix.linalg import Array

MIN_STOPPED = 5
"""Fewer calibration rows show nothing about stopping at one time."""


def check_cost(cost: Any, n_classes: int | None = None) -> tuple[float, Any]:
    """The cost of waiting for a whole series, and of mistakes: a number or a matrix.

    Examples
    --------
    >>> check_cost((1, 10))
    (1.0, 10.0)
    """
    words = (
        "must be (waiting, mistakes): what a whole series costs, and what a mistake costs, or a "
        "matrix of costs with true classes in rows and decided ones in columns"
    )
    try:
        waiting, mistakes = cost
        costs = np.asarray(mistakes, dtype=np.float64)
        amount = float(waiting)
    except (TypeError, ValueError):
        raise ValueError(f"cost={cost!r} {words}") from None
    finite = np.isfinite(amount) and np.isfinite(costs).all()
    square = costs.ndim == 0 or (costs.ndim == 2 and costs.shape[0] == costs.shape[1])
    if not (finite and square and amount >= 0 and (costs >= 0).all()):
        raise ValueError(f"cost={cost!r} {words}; finite numbers, none negative")
    if n_classes is not None and costs.ndim == 2 and len(costs) != n_classes:
        raise ValueError(
            f"the matrix of mistakes in cost has {len(costs)} rows, but there are {n_classes} "
            "classes"
        )
    return amount, float(costs) if costs.ndim == 0 else costs


def mistake_costs(paths: ScorePaths, codes: Array, mistakes: Any, loss: Any) -> Array:
    """What decisions (n, m) cost: a number for each that `loss` calls lost, or a matrix."""
    if isinstance(mistakes, float):
        return mistakes * measure_losses(paths, codes, loss)
    return np.asarray(mistakes)[paths.labels[:, None], codes]


def find_cost_cutoffs(
    paths: ScorePaths, times: Array, n_values: int, cost: tuple[float, Any], loss: Any
) -> Cutoffs:
    """A cutoff for each time, so that a row stops where waiting is expected to cost more.

    From the last time to the first: a row that goes on costs what it will have cost at the time
    at which the later cutoffs stop it. Stopping at a score of at least λ is worth it where the
    rows above λ save by it together, and the λ that saves most is taken. That is where the
    expected saving, as a falling function of the score, crosses zero.
    """
    waiting, mistakes = cost
    n, n_times = paths.codes.shape
    complete = paths.complete[:, None]
    later = mistake_costs(paths, complete, mistakes, loss)[:, 0] + waiting
    cutoffs = np.ones(n_times)
    for t in range(n_times - 1, -1, -1):
        now = mistake_costs(paths, paths.codes[:, [t]], mistakes, loss)[:, 0]
        now = now + waiting * times[t] / n_values
        scores = paths.reliabilities[:, t]
        order = np.argsort(-scores, kind="stable")
        saved = np.cumsum((later - now)[order])
        ends = np.append(np.diff(scores[order]) < 0, True)  # ties stop together
        ends[: MIN_STOPPED - 1] = False
        allowed = np.where(ends, saved, -np.inf)
        best = int(np.argmax(allowed)) if n else 0
        if n >= MIN_STOPPED and allowed[best] > 0:
            cutoffs[t] = scores[order[best]]
            stops = scores >= cutoffs[t]
            later = np.where(stops, now, later)
    return Cutoffs(cutoffs, [_record(paths, cutoffs, times, n_values, later)], True)


def _record(
    paths: ScorePaths, cutoffs: Array, times: Array, n_values: int, total: Array
) -> CalibrationRecord:
    """The rule as one record: `loss` is the average total cost."""
    halted = halting_times(paths.reliabilities, cutoffs[None])
    used = np.append(times, n_values)[halted].mean() if len(halted) else float("nan")
    mean = float(total.mean()) if len(total) else float("nan")
    lowest, unused = float(cutoffs.min(initial=1.0)), float("nan")
    return CalibrationRecord(lowest, "cost", len(total), mean, unused, True, float(used))
