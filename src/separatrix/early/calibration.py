"""Cutoffs for scores that keep a promise about new rows, whatever the distribution of the rows.

A score says for each row and each time which class it would be decided as, and how reliable that
is. Rows that were not learned show how often decisions at a cutoff λ are lost: the series stops at
the first time at which its score reaches λ, at its end at the latest. From these losses a cutoff
is taken so that new rows, exchangeable with the calibration rows, have an expected loss of at most
``1 - τ``: with a stated confidence (Angelopoulos, Bates, Candès, Jordan, Lei: Learn then test,
2021), or on average over calibration and new rows (Angelopoulos, Bates, Fisch, Lei, Schuster:
Conformal risk control, ICLR 2024). Nothing is assumed of the score, the classifier or the rows but
that they are exchangeable: drift breaks the promise, and so do several rows of one subject, unless
subjects are named as groups. The loss of a group is then the average of its rows, and groups are
what must be exchangeable.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainc, betaln, expit

from separatrix._warnings import warn_caller
from separatrix.linalg import Array
from separatrix.selection import training_parts

CUTOFF_GRID = np.concatenate([[1.0], expit(np.arange(36.0, -60.25, -0.25))])
"""Cutoffs λ in the order in which they are tested, from waiting for the end downwards. They are
equidistant in log-odds: sets in many dimensions have measures near 0, probabilities near 1."""

N_GAP_STARTS = 5
"""Cutoffs at which tests of rows with gaps begin: each has its part of the error probability."""

MAX_SCREENED_P = 0.25
"""Largest p-value on the screening half at which a cutoff for one time is put to the test."""

SEVERITIES = ("disagreement", "gap", "error")
"""Losses by name."""


class ScorePaths(NamedTuple):
    """Scores of calibration rows at each time, and their complete decisions.

    Attributes
    ----------
    codes : array of int (n, n_times)
        Numbers of the classes that would be decided.
    reliabilities : array (n, n_times)
        The scores.
    complete : array of int (n,)
        Numbers of the classes of the complete rows.
    labels : array of int (n,)
        Numbers of the true classes, the complete decisions where those are unknown.
    groups : array of int (n,) or None
        Numbers of groups of rows that depend on each other, 0, 1, …; None where none do.
    """

    codes: Array
    reliabilities: Array
    complete: Array
    labels: Array
    groups: Array | None = None

    def of_rows(self, chosen: Array) -> ScorePaths:
        """The paths of some of the rows."""
        codes, reliabilities, complete, labels = (part[chosen] for part in self[:4])
        groups = None if self.groups is None else self.groups[chosen]
        return ScorePaths(codes, reliabilities, complete, labels, groups)

    def append(self, more: ScorePaths) -> ScorePaths:
        """These rows and more, none of which belong to a group."""
        pairs = zip(self[:4], more[:4], strict=True)
        return ScorePaths(*(np.concatenate(pair) for pair in pairs))


class Promise(NamedTuple):
    """The promise that a cutoff has to keep.

    Attributes
    ----------
    reliability : float
        τ: the loss is promised to be at most 1 - τ.
    guarantee : "probability" or "average"
    confidence : float
        Of "probability".
    condition : None, "time" or "class"
    loss : "disagreement", "gap", "error" or array (n_classes, n_classes)
        A matrix of costs has the true classes in its rows and the decided ones in its columns.
    anytime : bool
        Whether rows are still added: the promise then holds for all numbers of rows together.
    n_classes : int
        Of ``condition="class"``: every class needs rows.
    grouped : bool
        Whether losses are averages over groups of rows.
    """

    reliability: float
    guarantee: str = "probability"
    confidence: float = 0.95
    condition: str | None = None
    loss: Any = "disagreement"
    anytime: bool = False
    n_classes: int = 0
    grouped: bool = False

    @property
    def most(self) -> float:
        """The largest loss that is promised, rounded so that 1 - 0.9 is 0.1."""
        return round(1 - self.reliability, 12)

    @property
    def error(self) -> float:
        """The probability with which the promise may fail."""
        return 1 - self.confidence


class CalibrationRecord(NamedTuple):
    """One cutoff that was tested, in the order of the tests.

    Attributes
    ----------
    cutoff : float
        λ.
    group : str
        The rows that were counted: "all", a class, or the last time of decisions.
    n_rows : int
        Number of rows of the group.
    loss : float
        Their average loss.
    p_value : float
        Probability of so small a loss if the promise were broken; for "average" the bound that
        must be at most 1 - τ.
    accepted : bool
    time : float
        Average number of leading values that all rows use.
    """

    cutoff: float
    group: str
    n_rows: int
    loss: float
    p_value: float
    accepted: bool
    time: float


class Cutoffs(NamedTuple):
    """Cutoffs for each time (n_times,), the records of their tests, and whether any passed."""

    values: Array
    records: list[CalibrationRecord]
    passed: bool


# Halting and losses ------------------------------------------------------------------------------


def halting_times(reliabilities: Array, cutoffs: Array) -> Array:
    """Index of the first time at which each score reaches its cutoff, n_times if none does.

    Parameters
    ----------
    reliabilities : array (n, n_times)
    cutoffs : array (n_cutoffs,) or (n_cutoffs, n_times)
        One number for all times, or one for each.

    Returns
    -------
    array of int (n, n_cutoffs)

    Examples
    --------
    >>> halting_times(np.array([[0.2, 0.7, 0.6]]), np.array([0.5, 0.9]))
    array([[1, 3]])
    """
    n, n_times = reliabilities.shape
    halted = np.full((n, len(cutoffs)), n_times)
    for t in range(n_times - 1, -1, -1):
        at = cutoffs if cutoffs.ndim == 1 else cutoffs[:, t]
        halted[reliabilities[:, t][:, None] >= at] = t
    return halted


def decided_codes(paths: ScorePaths, halted: Array) -> Array:
    """The class that each row is decided as at its halting time, as `halting_times` gives it."""
    codes = np.column_stack([paths.codes, paths.complete])
    return np.take_along_axis(codes, halted, axis=1)


def measure_losses(paths: ScorePaths, decided: Array, loss: Any) -> Array:
    """Losses in [0, 1] of decisions (n, n_cutoffs).

    A decision is lost when it is not the complete one ("disagreement"), when it is wrong and the
    complete one right ("gap"), when it is wrong ("error"); or it costs its part of the highest
    cost.
    """
    complete, labels = paths.complete[:, None], paths.labels[:, None]
    if not isinstance(loss, str):
        costs = np.asarray(loss, dtype=np.float64)
        return costs[labels, decided] / max(costs.max(), np.finfo(float).tiny)
    if loss == "disagreement":
        return (decided != complete).astype(np.float64)
    wrong = decided != labels
    return (wrong & (complete == labels) if loss == "gap" else wrong).astype(np.float64)


# Tests -------------------------------------------------------------------------------------------


def tail_probability(total: Array, n_rows: Array | int, promise: Promise) -> Array:
    """p-values of "the expected loss is above 1 - τ" for the sum of the losses of n rows.

    Losses of 0 and 1 have a binomial sum, exactly. Costs and averages between them have the bound
    of Hoeffding and Bentkus. While rows are added the inverse of a martingale takes their place:
    the ratio of the likelihoods of smaller losses, averaged over them, to that of 1 - τ. Each
    factor is convex in the loss, so that it is a supermartingale for costs, too.

    Examples
    --------
    >>> tail_probability(np.array([0.0]), 29, Promise(0.9)).round(3)
    array([0.047])
    """
    n, most = np.asarray(n_rows, dtype=np.float64), promise.most
    if most <= 0 or most >= 1:  # nothing can be lost, or everything may be
        return np.full(np.broadcast_shapes(np.shape(total), n.shape), float(most <= 0))
    if not promise.anytime:
        exact = isinstance(promise.loss, str) and not promise.grouped
        return (_binomial_tail if exact else _bounded_tail)(total, n, most)
    right = np.maximum(n - total, 0.0)
    below = np.maximum(betainc(total + 1, right + 1, most), np.finfo(float).tiny)
    log_ratio = betaln(total + 1, right + 1) + np.log(below)
    log_ratio -= np.log(most) * (total + 1) + np.log1p(-most) * right
    return np.exp(-np.maximum(log_ratio, 0.0))


def _binomial_tail(total: Array, n: Array, most: float) -> Array:
    """The probability of at most `total` losses of n; 1 without rows."""
    right = np.maximum(n - total, 1e-300)  # all lost: the limit is 1
    return betainc(right, np.asarray(total) + 1.0, 1 - most)


def _bounded_tail(total: Array, n: Array, most: float) -> Array:
    """The smaller of Hoeffding's and Bentkus' bounds, for losses between 0 and 1."""
    mean = np.minimum(np.divide(total, np.maximum(n, 1)), most)
    with np.errstate(divide="ignore", invalid="ignore"):
        low = np.where(mean > 0, mean * np.log(mean / most), 0.0)
        divergence = low + (1 - mean) * np.log((1 - mean) / (1 - most))
    bentkus = math.e * _binomial_tail(np.ceil(total - 1e-9), n, most)
    return np.where(n > 0, np.minimum(1.0, np.minimum(np.exp(-n * divergence), bentkus)), 1.0)


def count_needed(promise: Promise) -> int:
    """Rows without any loss that are needed before anything can be decided early.

    Examples
    --------
    >>> [count_needed(Promise(tau)) for tau in (0.9, 0.95, 0.99)]
    [29, 59, 299]
    >>> count_needed(Promise(0.9, "average"))
    9
    """
    if promise.most <= 0:
        raise ValueError("reliability=1 is promised by complete rows alone")
    if promise.guarantee == "average":
        return int(np.ceil(round(1 / promise.most - 1, 9)))
    n = np.arange(1, 2 * int(np.ceil(np.log(promise.error) / np.log1p(-promise.most))) + 40)
    enough = tail_probability(np.zeros(len(n)), n, promise) <= promise.error
    return int(n[enough][0]) if enough.any() else int(n[-1])


# Cutoffs -----------------------------------------------------------------------------------------


def find_cutoffs(paths: ScorePaths, times: Array, n_values: int, promise: Promise) -> Cutoffs:
    """The cutoffs that decide earliest among those that are shown to keep the promise.

    Parameters
    ----------
    paths : ScorePaths
        Of rows that were not learned.
    times : array of int (n_times,)
        Numbers of leading values at the times of the paths.
    n_values : int
        Number of values of a complete row.
    promise : Promise
    """
    if promise.condition == "time":
        return _find_by_time(paths, times, n_values, promise)
    halted = halting_times(paths.reliabilities, CUTOFF_GRID)
    used = np.append(times, n_values)[halted].mean(axis=0) if len(halted) else CUTOFF_GRID * 0
    losses = measure_losses(paths, decided_codes(paths, halted), promise.loss)
    test = _test_average if promise.guarantee == "average" else _test_probability
    groups = _group_rows(paths, promise)
    tests = [test(average_groups(losses, paths.groups, rows), promise) for rows in groups.values()]
    accepted = np.logical_and.accumulate(np.all([t.passed for t in tests], axis=0))
    records = [
        CalibrationRecord(
            float(cutoff), group, t.n_rows, float(t.mean[i]), float(t.p_values[i]),
            bool(accepted[i]), float(used[i]),
        )
        for i, cutoff in enumerate(CUTOFF_GRID[: np.count_nonzero(accepted) + 1])
        for group, t in zip(groups, tests, strict=True)
    ]  # fmt: skip
    n_accepted = int(np.count_nonzero(accepted))
    chosen = CUTOFF_GRID[n_accepted - 1] if n_accepted else 1.0
    return Cutoffs(np.full(len(times), chosen), records, n_accepted > 0)


class _GridTest(NamedTuple):
    n_rows: int
    mean: Array
    p_values: Array
    passed: Array


def average_groups(losses: Array, groups: Array | None, chosen: Array) -> Array:
    """The losses (n, n_cutoffs) of some rows, or their averages over each group of rows.

    Examples
    --------
    >>> losses, groups = np.array([[1.0], [0.0], [1.0]]), np.array([4, 4, 7])
    >>> average_groups(losses, groups, np.array([True, True, True])).ravel()
    array([0.5, 1. ])
    """
    if groups is None:
        return losses[chosen]
    _, at, counts = np.unique(groups[chosen], return_inverse=True, return_counts=True)
    sums = np.zeros((len(counts), losses.shape[1]))
    np.add.at(sums, at, losses[chosen])
    return sums / counts[:, None]


def _group_rows(paths: ScorePaths, promise: Promise) -> dict[str, Array]:
    """The rows whose losses are promised apart; a cutoff must keep all of the promises."""
    if promise.condition is None:
        return {"all": np.ones(len(paths.labels), dtype=bool)}
    n_classes = max(promise.n_classes, int(paths.labels.max(initial=-1)) + 1)
    return {str(c): paths.labels == c for c in range(n_classes)}


def _test_probability(losses: Array, promise: Promise) -> _GridTest:
    """The tests of one group: the first that fails ends the sequence, so none is repeated."""
    total = losses.sum(axis=0)
    p_values = tail_probability(total, len(losses), promise)
    mean = total / max(len(losses), 1)
    return _GridTest(len(losses), mean, p_values, p_values <= promise.error)


def _test_average(losses: Array, promise: Promise) -> _GridTest:
    """Conformal risk control: the loss at λ or at any cutoff above it, and one row more."""
    worst = np.maximum.accumulate(losses, axis=1).sum(axis=0)
    bound = (worst + 1) / (len(losses) + 1)
    mean = worst / max(len(losses), 1)
    return _GridTest(len(losses), mean, bound, bound <= promise.most + 1e-12)


def _find_by_time(paths: ScorePaths, times: Array, n_values: int, promise: Promise) -> Cutoffs:
    """A cutoff for each time, so that decisions up to each time keep the promise.

    Ringel, Cohen, Freedman, Elad, Romano, Early time classification with accumulated accuracy gap
    control, ICML 2024: one half of the rows proposes cutoffs; on the other half the times are
    opened one by one, from the last to the first, while decisions up to every time pass.
    """
    half = np.zeros(len(paths.complete), dtype=bool)
    for _, first in training_parts(paths.complete, 2)[:1]:
        half[first] = True
    proposed = screen_cutoffs(paths.of_rows(half), promise)
    tested = paths.of_rows(~half)
    cutoffs, records = np.full(len(times), np.inf), []
    passed = _end_passes(tested, promise)
    for t in range(len(times) - 1, -1, -1) if passed else ():
        if np.isinf(proposed[t]):
            continue
        trial = np.where(np.arange(len(times)) >= t, proposed, np.inf)
        counts, totals, used = _accumulate_losses(tested, trial, times, n_values, promise)
        p_values = tail_probability(totals[t:], counts[t:], promise)
        accepted = bool(p_values.max() <= promise.error)
        worst = t + int(p_values.argmax())
        records.append(
            CalibrationRecord(
                float(proposed[t]), f"up to {np.append(times, n_values)[worst]} values",
                int(counts[worst]), float(totals[worst] / max(counts[worst], 1)),
                float(p_values.max()), accepted, used,
            )
        )  # fmt: skip
        if not accepted:
            break
        cutoffs = trial
    return Cutoffs(np.minimum(cutoffs, 1.0), records, passed)


def _end_passes(tested: ScorePaths, promise: Promise) -> bool:
    at_end = np.full((len(tested.complete), 1), tested.codes.shape[1])
    total = measure_losses(tested, decided_codes(tested, at_end), promise.loss).sum()
    return bool(tail_probability(total, len(at_end), promise) <= promise.error)


def screen_cutoffs(paths: ScorePaths, promise: Promise) -> Array:
    """The smallest cutoff at each time after which the losses so far look small enough.

    Times are taken in their order; rows that have stopped before count with their loss.
    """
    n_times = paths.codes.shape[1]
    grid, cutoffs = CUTOFF_GRID[::-1], np.full(n_times, np.inf)
    waiting = np.ones(len(paths.complete), dtype=bool)
    n_stopped, lost = 0, 0.0
    for t in range(n_times):
        scores = paths.reliabilities[waiting, t]
        losses = measure_losses(paths, paths.codes[:, [t]], promise.loss)[waiting, 0]
        order = np.argsort(-scores, kind="stable")
        n_at = np.searchsorted(-scores[order], -grid, side="right")
        total = np.append(0.0, np.cumsum(losses[order]))[n_at] + lost
        good = tail_probability(total, n_at + n_stopped, promise) <= MAX_SCREENED_P
        good &= n_at > 0
        if good.any():
            i = int(np.argmax(good))
            cutoffs[t] = grid[i]
            stops = waiting.copy()
            stops[waiting] = scores >= grid[i]
            n_stopped, lost = n_stopped + int(n_at[i]), float(total[i])
            waiting &= ~stops
    return cutoffs


def _accumulate_losses(
    paths: ScorePaths, cutoffs: Array, times: Array, n_values: int, promise: Promise
) -> tuple[Array, Array, float]:
    """Rows decided up to each time, the sum of their losses, and the values used on average."""
    halted = halting_times(paths.reliabilities, cutoffs[None])
    losses = measure_losses(paths, decided_codes(paths, halted), promise.loss)[:, 0]
    counts = np.bincount(halted[:, 0], minlength=len(times) + 1)
    totals = np.bincount(halted[:, 0], losses, minlength=len(times) + 1)
    used = np.append(times, n_values)[halted[:, 0]].mean()
    return np.cumsum(counts), np.cumsum(totals), float(used)


# Rows with gaps ----------------------------------------------------------------------------------


def find_gap_cutoff(paths: ScorePaths, promise: Promise) -> Cutoffs:
    """A cutoff for rows with gaps, of which those below it remain undecided.

    Promised is the loss among the rows that are decided. Nothing can be tested where nothing is
    decided, so the tests begin at several cutoffs of the grid, each with its part of the error
    probability, and go downwards from each until one fails.
    """
    scores, grid = paths.reliabilities[:, 0], CUTOFF_GRID[1:]
    losses = measure_losses(paths, paths.codes[:, :1], promise.loss)[:, 0]
    decided = scores[:, None] >= grid
    counts, totals = decided.sum(axis=0), losses @ decided
    p_values = tail_probability(totals, counts, promise)
    passed = p_values <= promise.error / N_GAP_STARTS
    accepted = np.zeros(len(grid), dtype=bool)
    for start in gap_starts():
        stop = start + int(np.argmin(np.append(passed[start:], False)))
        accepted[start:stop] = True
    records = [
        CalibrationRecord(
            float(grid[i]), "decided", int(counts[i]), float(totals[i] / max(counts[i], 1)),
            float(p_values[i]), bool(accepted[i]), float("nan"),
        )
        for i in range(len(grid))
    ]  # fmt: skip
    chosen = grid[np.flatnonzero(accepted)[-1]] if accepted.any() else 1.0
    return Cutoffs(np.array([chosen]), records, bool(accepted.any()))


def gap_starts() -> Array:
    """Places of the grid without its first entry where tests begin: 0.99, 0.95, 0.9, 0.8, 0.5."""
    return np.searchsorted(-CUTOFF_GRID[1:], [-0.99, -0.95, -0.9, -0.8, -0.5])


# Words -------------------------------------------------------------------------------------------


def warn_waiting(paths: ScorePaths, promise: Promise, find_name: Callable[[int], Any]) -> None:
    """Warn that nothing is decided before the end, and say what would change that."""
    needed = count_needed(promise) * (2 if promise.condition == "time" else 1)
    n_rows, of, units = len(paths.labels), "", "rows"
    if promise.condition == "class":
        counts = np.bincount(paths.labels, minlength=promise.n_classes)
        code = int(np.argmin(counts))
        n_rows, of = int(counts[code]), f" of class {find_name(code)!r}"
    if paths.groups is not None:
        n_rows, of, units = len(np.unique(paths.groups)), "", "groups"
    if n_rows < needed:
        remedy = (
            f"{n_rows} {units}{of} calibrate, and at least {needed} are needed for "
            f"reliability={promise.reliability:g}"
        )
        if promise.guarantee == "probability":
            remedy += f" with confidence={promise.confidence:g}"
    else:
        remedy = (
            f"the loss {promise.loss!r} of complete rows is not below {promise.most:g} with "
            "certainty"
        )
    warn_caller(f"nothing will be decided before the end: {remedy}. Calibrate with more rows, or "
                "ask for less")  # fmt: skip
