"""Whether methods differ by more than chance: tests over splits and over data sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats


def corrected_error(values: np.ndarray, test_size: float) -> float:
    """Standard error of a mean over splits whose training parts overlap.

    ``sqrt((1/J + q/(1 - q)) s²)`` for J splits of test share q and the variance s² of the sample:
    training parts share rows, so that J splits say less than J samples.

    Examples
    --------
    >>> round(corrected_error(np.array([0.8, 0.9]), 0.5), 4)
    0.0866
    """
    return float(np.sqrt((1 / len(values) + test_size / (1 - test_size)) * np.var(values, ddof=1)))


def mean_interval(
    values: Sequence[float], test_size: float, level: float = 0.95
) -> tuple[float, float, float, float]:
    """Mean, standard deviation and interval of a score over repeated splits.

    Examples
    --------
    >>> [round(v, 3) for v in mean_interval([0.8, 0.9, 0.85], 0.3)]
    [0.85, 0.05, 0.662, 1.038]
    """
    scores = np.asarray(values, dtype=float)
    mean = float(scores.mean())
    if len(scores) < 2:
        return mean, 0.0, mean, mean
    half = corrected_error(scores, test_size) * stats.t.ppf((1 + level) / 2, len(scores) - 1)
    return mean, float(scores.std(ddof=1)), mean - half, mean + half
