"""Promises about the rows that are decided up to each time.

Ringel, Cohen, Freedman, Elad, Romano: Early time classification with accumulated accuracy gap
control, ICML 2024.
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
    tail_probability,
)
from separatrix.linalg import Array
from separatrix.selection import training_parts

TABULATED_LEVELS = np.append(np.arange(50, 100, 2) / 100, 0.99)
"""Reliabilities that the table has cutoffs for, besides that which is asked for."""

MAX_SCREENED_P = 0.25
"""Largest p-value on the screening half at which a cutoff for one time is put to the test."""


def tabulate_by_time(paths: ScorePaths, promise: Promise, tau: float) -> PromiseTable:
    """Cutoffs for each time, so that decisions up to each time keep the promise."""
    levels = np.unique(np.append(TABULATED_LEVELS, tau)) if 0 < tau < 1 else TABULATED_LEVELS
    half = np.zeros(len(paths.complete), dtype=bool)
    for _, first in training_parts(paths.complete, 2)[:1]:
        half[first] = True
    screened, tested = paths.of_rows(half), paths.of_rows(~half)
    cutoffs = [find_by_time(screened, tested, promise, level) for level in levels.tolist()]
    kept = np.array([np.isfinite(values).any() for values in cutoffs])
    n_times = paths.codes.shape[1]
    return PromiseTable(levels[kept], np.array(cutoffs).reshape(-1, n_times)[kept])


def find_by_time(screened: ScorePaths, tested: ScorePaths, promise: Promise, tau: float) -> Array:
    """Cutoffs (n_times,) for one τ; infinite at times at which nothing is decided.

    Some rows propose cutoffs; on the others the times are opened one by one, from the last to the
    first, while decisions up to every time pass.
    """
    n_times, most = tested.codes.shape[1], 1 - tau
    binary, error = isinstance(promise.loss, str), 1 - promise.confidence
    proposed = screen_cutoffs(screened, promise, tau)
    cutoffs = np.full(n_times, np.inf)
    for t in range(n_times - 1, -1, -1):
        if np.isinf(proposed[t]):
            continue
        trial = np.where(np.arange(n_times) >= t, proposed, np.inf)
        counts, totals = accumulate_losses(tested, trial, promise)
        if tail_probability(totals[t:], counts[t:], most, binary).max() > error:
            break
        cutoffs = trial
    return cutoffs


def screen_cutoffs(paths: ScorePaths, promise: Promise, tau: float) -> Array:
    """The smallest cutoff at each time after which the losses so far look small enough.

    Times are taken in their order; rows that have stopped before count with their loss.
    """
    binary = isinstance(promise.loss, str)
    cutoffs = np.full(paths.codes.shape[1], np.inf)
    waiting = np.ones(len(paths.complete), dtype=bool)
    n_stopped, lost = 0, 0.0
    for t in range(len(cutoffs)):
        scores = paths.scores[waiting, t]
        losses = measure_losses(paths, paths.codes[:, [t]], promise.loss)[waiting, 0]
        order = np.argsort(-scores, kind="stable")
        total = lost + np.cumsum(losses[order])
        n_at = n_stopped + np.arange(1, len(order) + 1)
        good = tail_probability(total, n_at, 1 - tau, binary) <= MAX_SCREENED_P
        good &= np.append(np.diff(scores[order]) < 0, True)[: len(order)]  # ties stop together
        if good.any():
            i = int(np.flatnonzero(good)[-1])
            cutoffs[t] = scores[order[i]]
            stops = waiting.copy()
            stops[waiting] = scores >= cutoffs[t]
            n_stopped, lost = int(n_at[i]), float(total[i])
            waiting &= ~stops
    return cutoffs


def accumulate_losses(paths: ScorePaths, cutoffs: Array, promise: Promise) -> tuple[Array, Array]:
    """Rows decided up to each time, and the sums of their losses."""
    halted = halting_times(paths.scores, cutoffs[None])
    losses = measure_losses(paths, decided_codes(paths, halted), promise.loss)[:, 0]
    n = len(cutoffs) + 1
    counts = np.bincount(halted[:, 0], minlength=n)
    totals = np.bincount(halted[:, 0], losses, minlength=n)
    return np.cumsum(counts), np.cumsum(totals)
