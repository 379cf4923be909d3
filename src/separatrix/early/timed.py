"""Promises about the rows that are decided up to each time.

Ringel, Cohen, Freedman, Elad, Romano: Early time classification with accumulated accuracy gap
control, ICML 2024, propose a cutoff for each time with one half of the rows and open the times one
by one with the other. Here some of the rows propose one cutoff for all times, which takes fewer of
them: of 150 rows of seven sets, at 0.9, that uses 0.56 of the series, and one cutoff for each time
0.71 to 0.79, with no more failures (``python -m benchmarks.early_table --time``).
"""

from __future__ import annotations

import numpy as np

from separatrix.early.calibration import (
    Promise,
    PromiseTable,
    ScorePaths,
    decided_codes,
    halting_times,
    measure_losses,
    tabulate_promises,
    tail_probability,
)
from separatrix.linalg import Array
from separatrix.selection import random_splits

TABULATED_LEVELS = np.append(np.arange(50, 100, 2) / 100, 0.99)
"""Reliabilities that the table has cutoffs for, besides that which is asked for."""

PROPOSING_SHARE = 0.3
"""Share of the rows that propose cutoffs; the others test."""


def tabulate_by_time(paths: ScorePaths, promise: Promise, tau: float) -> PromiseTable:
    """Cutoffs for each time, so that decisions up to each time keep the promise."""
    levels = np.append(TABULATED_LEVELS, tau) if 0 < tau < 1 else TABULATED_LEVELS
    n_times, proposing = paths.codes.shape[1], np.zeros(len(paths.complete), dtype=bool)
    for _, some in random_splits(paths.complete, 1, PROPOSING_SHARE):
        proposing[some] = True
    unconditional = Promise(loss=promise.loss)
    proposed = tabulate_promises(paths.of_rows(proposing), unconditional, "average", 0)
    tested, kept, cutoffs = paths.of_rows(~proposing), [], []
    for level in np.unique(levels).tolist():
        at = min(int(np.searchsorted(proposed.levels, level)), len(proposed.levels) - 1)
        first = proposed.cutoffs[at, 0] if at >= 0 else np.inf
        by_time = open_times(tested, float(first), promise, level)
        if np.isfinite(by_time).any():
            kept.append(level)
            cutoffs.append(by_time)
    return PromiseTable(np.array(kept), np.array(cutoffs).reshape(-1, n_times))


def open_times(tested: ScorePaths, cutoff: float, promise: Promise, tau: float) -> Array:
    """Cutoffs (n_times,) for one τ; infinite at times at which nothing is decided.

    Times are opened one by one, from the last to the first, while the decisions up to every time
    pass: the first test that fails ends the sequence.
    """
    n_times = tested.codes.shape[1]
    binary, error = isinstance(promise.loss, str), 1 - promise.confidence
    cutoffs = np.full(n_times, np.inf)
    for t in range(n_times - 1, -1, -1) if np.isfinite(cutoff) else ():
        trial = np.where(np.arange(n_times) >= t, cutoff, np.inf)
        counts, totals = accumulate_losses(tested, trial, promise)
        if tail_probability(totals[t:], counts[t:], 1 - tau, binary).max() > error:
            break
        cutoffs = trial
    return cutoffs


def accumulate_losses(paths: ScorePaths, cutoffs: Array, promise: Promise) -> tuple[Array, Array]:
    """Rows decided up to each time, and the sums of their losses."""
    halted = halting_times(paths.scores, cutoffs[None])
    losses = measure_losses(paths, decided_codes(paths, halted), promise.loss)[:, 0]
    n = len(cutoffs) + 1
    counts = np.bincount(halted[:, 0], minlength=n)
    totals = np.bincount(halted[:, 0], losses, minlength=n)
    return np.cumsum(counts), np.cumsum(totals)
