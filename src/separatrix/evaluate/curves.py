"""How well a rule orders rows, and whether its probabilities mean what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import roc_curve

from separatrix.evaluate.records import Curves, MethodRecord
from separatrix.linalg import Array

FALSE_SHARES = np.linspace(0.0, 1.0, 41)
"""Shares of other rows that are taken for a class, at which curves are kept."""

N_BINS = 10
"""Equal parts of the probabilities from 0 to 1."""


# Curves of one split -----------------------------------------------------------------------------


def describe_degrees(rule: Any, rows: Any, truth: Array, predicted: Array) -> dict[str, Any]:
    """The `Curves` of a fold as a part of its record; nothing where the rule gives no degrees."""
    degrees = class_degrees(rule, rows)
    sure = None
    if hasattr(rule, "predict_proba"):
        probabilities = np.asarray(rule.predict_proba(rows), dtype=float)
        columns = np.searchsorted(rule.classes_, predicted)
        sure = probabilities[np.arange(len(probabilities)), columns]
    curves = Curves(
        roc=() if degrees is None else trace_roc(truth, degrees, rule.classes_),
        calibration=() if sure is None else count_in_bins(sure, predicted == truth),
    )
    return {"curves": curves} if curves != Curves() else {}


def class_degrees(rule: Any, rows: Any) -> Array | None:
    """A number for each row and class that grows with the evidence for it; None without one.

    Of several classes probabilities come first: scores may lack a term that all classes of a row
    have in common, and then rows cannot be ordered by them.
    """
    if hasattr(rule, "decision_function"):
        scores = np.asarray(rule.decision_function(rows), dtype=float)
        if scores.ndim == 1:
            return np.column_stack([-scores, scores])
    if hasattr(rule, "predict_proba"):
        return np.asarray(rule.predict_proba(rows), dtype=float)
    if hasattr(rule, "decision_function") and scores.shape[1] == len(rule.classes_):
        return scores
    return None


def trace_roc(truth: Array, degrees: Array, classes: Array) -> tuple[float, ...]:
    """Share of rows found at each of `FALSE_SHARES`, the mean over classes against the rest.

    Classes that none or all of the rows have do not count; without any the curve is empty.

    Examples
    --------
    >>> degrees = np.array([[3.0, 0.0], [2.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    >>> curve = trace_roc(np.array([0, 1, 0, 1]), degrees, np.array([0]))
    >>> curve[0], curve[20], curve[-1]
    (0.5, 1.0, 1.0)
    """
    curves = []
    for j, label in enumerate(classes):
        mine = truth == label
        if mine.all() or not mine.any() or not np.isfinite(degrees[:, j]).all():
            continue
        false, true, _ = roc_curve(mine, degrees[:, j])
        # of several points above one false share the highest: rows found without more mistakes
        last = np.append(np.diff(false) > 0, True)
        curves.append(np.interp(FALSE_SHARES, false[last], true[last]))
    return tuple(np.mean(curves, axis=0).round(6).tolist()) if curves else ()


def count_in_bins(sure: Array, right: Array) -> tuple[tuple[float, ...], ...]:
    """Rows in each tenth of their probability, its mean there, and the share that is right.

    Examples
    --------
    >>> count_in_bins(np.array([0.95, 1.0, 0.5]), np.array([True, False, True]))[5::4]
    ((1, 0.5, 1.0), (2, 0.975, 0.5))
    """
    bins = np.minimum((sure * N_BINS + 1e-9).astype(int), N_BINS - 1)
    n = np.bincount(bins, minlength=N_BINS)
    each = np.maximum(n, 1)
    mean = np.bincount(bins, sure, N_BINS) / each
    share = np.bincount(bins, right.astype(float), N_BINS) / each
    return tuple(zip(n.tolist(), mean.round(6).tolist(), share.round(6).tolist(), strict=True))


# Over all splits ---------------------------------------------------------------------------------


def mean_roc(method: MethodRecord) -> Array | None:
    """The curve of a method, the mean over splits at each of `FALSE_SHARES`; None without one."""
    curves = [c.roc for c in list_curves(method) if c.roc]
    return np.mean(curves, axis=0) if curves else None


def pool_calibration(method: MethodRecord) -> Array | None:
    """Rows of all splits in each bin: their number, mean probability and share right (n_bins, 3).

    None without probabilities. Bins without rows are left out.
    """
    tables = [np.array(c.calibration) for c in list_curves(method) if c.calibration]
    if not tables:
        return None
    n = np.sum([table[:, 0] for table in tables], axis=0)
    sums = np.sum([table[:, :1] * table[:, 1:] for table in tables], axis=0)
    kept = n > 0
    return np.column_stack([n[kept], sums[kept] / n[kept, None]])


def measure_miscalibration(bins: Array) -> float:
    """Mean distance of probability and share right over rows: the expected calibration error.

    Examples
    --------
    >>> round(measure_miscalibration(np.array([[3, 0.9, 0.8], [1, 0.5, 0.5]])), 3)
    0.075
    """
    n, sure, right = np.asarray(bins).T
    return float(np.average(np.abs(sure - right), weights=n))


def list_curves(method: MethodRecord) -> list[Curves]:
    """The curves of the splits that have some."""
    return [fold.curves for fold in method.folds if fold.curves is not None]
