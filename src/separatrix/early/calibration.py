"""Promises about new rows that hold for any score, any classifier and any distribution of rows.

A score says for each row and each time which class it would be decided as, and how sure that is.
Rows that were not learned show how often decisions at a cutoff λ are lost: the series stops at the
first time at which its score reaches λ, at its end at the latest. From these losses follows the
largest reliability τ that λ keeps: new rows, exchangeable with the calibration rows, have an
expected loss of at most ``1 - τ``, with a stated confidence (Angelopoulos, Bates, Candès, Jordan,
Lei: Learn then test, 2021), or on average over calibration and new rows (Angelopoulos, Bates,
Fisch, Lei, Schuster: Conformal risk control, ICLR 2024). One table of cutoffs and their τ answers
both questions: which score is needed for a τ, and which τ a decision keeps.

Nothing is assumed but that rows are exchangeable: drift breaks the promise, and so do several rows
of one subject, unless subjects are named as groups. The loss of a group is then the average of its
rows, and groups are what must be exchangeable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv
from sklearn.base import BaseEstimator

from separatrix._warnings import warn_caller
from separatrix.base.parameters import (
    Allowed,
    array_like,
    check_parameters,
    one_of,
    real_number,
)
from separatrix.linalg import Array
from separatrix.selection import random_splits

MAX_SHARE = 1 - 1e-9
"""Largest share or confidence: 1 leaves no row to learn from, or no cutoff."""

SHARE = real_number(0, MAX_SHARE, open_low=True)

MAX_CUTOFFS = 500
"""Cutoffs that are tested; of more scores of calibration rows these quantiles."""

MAX_CHANCE = 0.01
"""Probability of the losses of a class, if its promise were kept, below which a warning is
given."""

TABULATED_LEVELS = np.append(np.arange(50, 100, 2) / 100, 0.99)
"""Reliabilities in the table of `tabulate_by_time`, in addition to the one asked for."""

PROPOSING_SHARE = 0.3
"""Share of the rows that propose cutoffs for ``condition="time"``; the others test."""

MIN_STOPPED = 5
"""Fewer calibration rows show nothing about the cost of stopping at one time."""


class Promise(BaseEstimator):
    """Calibration by rows that are held out: the promise for new rows.

    Parameters
    ----------
    share : float in (0, 1), "cv" or None
        The share of the training rows that `fit` does not learn but calibrates with. "cv"
        calibrates with all rows, each scored by a model that did not learn it: the model that
        decides is another one, so that the promise is approximate. None leaves the calibration to
        `calibrate`.
    guarantee : "auto", "probability" or "average"
        An agreement of at least τ with the probability `confidence` over calibration rows, or on
        average over them. "auto" is "average" where "probability" would wait for the end, as with
        few rows, and warns.
    confidence : float in (0, 1)
    condition : None, "class" or "time"
        The promise holds over all rows; among the rows of each class; among the rows decided up
        to each time.
    loss : "disagreement", "gap", "error" or array (n_classes, n_classes)
        The share promised to be at most 1 - τ: decisions other than the complete one; wrong ones
        where the complete one is right; wrong ones; or costs, as a share of the largest, with true
        classes in rows and decided ones in columns.

    Examples
    --------
    >>> Promise(condition="class")
    Promise(condition='class')
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "share": (one_of(None, "cv"), SHARE),
        "guarantee": (one_of("auto", "probability", "average"),),
        "confidence": (SHARE,),
        "condition": (one_of(None, "class", "time"),),
        "loss": (one_of("disagreement", "gap", "error"), array_like()),
    }

    def __init__(
        self,
        share: float | str | None = 0.3,
        guarantee: str = "auto",
        confidence: float = 0.95,
        condition: str | None = None,
        loss: str | ArrayLike = "disagreement",
    ) -> None:
        self.share = share
        self.guarantee = guarantee
        self.confidence = confidence
        self.condition = condition
        self.loss = loss

    def check(self) -> None:
        """Raise for parameters without meaning, and for those that do not go together."""
        check_parameters(self, self._allowed_parameters)
        if self.condition == "time" and self.guarantee == "average":
            raise ValueError(
                'condition="time" is promised with guarantee="probability", not with "average"'
            )

    @property
    def needs_labels(self) -> bool:
        """Whether the loss depends on true classes."""
        return not (isinstance(self.loss, str) and self.loss == "disagreement")


class Cost(BaseEstimator):
    """Calibration by rows that are held out: decide when waiting costs more than it saves.

    `reliability` has no effect on decisions then; their statement is that of `Promise()`.

    Parameters
    ----------
    waiting : float
        Cost of waiting for a whole series.
    mistakes : float or array (n_classes, n_classes)
        Cost of a wrong decision, or costs with true classes in rows and decided ones in
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
        check_parameters(self, {"share": (one_of(None), SHARE)})
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


class ScorePaths(NamedTuple):
    """Scores of calibration rows at each time, and their complete decisions.

    Attributes
    ----------
    codes : array of int (n, n_times)
        Numbers of the classes that would be decided.
    scores : array (n, n_times)
    complete : array of int (n,)
        Numbers of the classes of the complete rows.
    labels : array of int (n,)
        Numbers of the true classes, the complete decisions where those are unknown.
    groups : array of int (n,) or None
        Numbers of groups of rows that depend on each other, 0, 1, …; None where none do.
    """

    codes: Array
    scores: Array
    complete: Array
    labels: Array
    groups: Array | None = None

    def of_rows(self, chosen: Array) -> ScorePaths:
        """The paths of some of the rows."""
        codes, scores, complete, labels = (part[chosen] for part in self[:4])
        groups = None if self.groups is None else self.groups[chosen]
        return ScorePaths(codes, scores, complete, labels, groups)

    def append(self, more: ScorePaths) -> ScorePaths:
        """These rows and more, none of which belong to a group."""
        pairs = zip(self[:4], more[:4], strict=True)
        return ScorePaths(*(np.concatenate(pair) for pair in pairs))

    @property
    def n_units(self) -> int:
        """Number of rows, or of groups where there are any."""
        return len(self.labels) if self.groups is None else len(np.unique(self.groups))


class PromiseTable(NamedTuple):
    """Cutoffs of the score, and the reliability that decisions at each of them keep.

    Attributes
    ----------
    levels : array (m,)
        τ, ascending.
    cutoffs : array (m, n_times)
        The score needed at each time; one column where it is the same at all times.
    """

    levels: Array
    cutoffs: Array

    def cutoffs_at(self, tau: float, n_times: int) -> Array:
        """The score needed at each time for τ; infinite where no score keeps it."""
        j = int(np.searchsorted(self.levels, tau))
        if tau <= 0:
            return np.zeros(n_times)
        if tau >= 1 or j == len(self.levels):
            return np.full(n_times, np.inf)
        return np.broadcast_to(self.cutoffs[j], n_times).copy()

    def reliability(self, scores: Array, at: Array | int | None = None) -> Array:
        """The largest τ whose cutoff the scores reach; NaN where nothing can be promised.

        Parameters
        ----------
        scores : array (n,)
        at : int or array of int (n,), optional
            Numbers of the times of the score; by default the cutoffs of all times are reached.
        """
        if not len(self.levels):
            return np.full(len(scores), np.nan)
        cutoffs = self.cutoffs
        cutoffs = cutoffs.max(axis=1)[:, None] if at is None else cutoffs
        column = 0 if at is None or cutoffs.shape[1] == 1 else at
        reached = scores >= cutoffs[:, column].reshape(len(self.levels), -1)
        best = len(self.levels) - 1 - reached[::-1].argmax(axis=0)
        return np.where(reached.any(axis=0), self.levels[best], 0.0)


NOTHING_PROMISED = PromiseTable(np.zeros(0), np.zeros((0, 1)))


# Halting and losses ------------------------------------------------------------------------------


def halting_times(scores: Array, cutoffs: Array) -> Array:
    """Index of the first time at which each score reaches its cutoff, n_times if none does.

    Parameters
    ----------
    scores : array (n, n_times)
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
    if cutoffs.ndim == 1:
        highest = np.maximum.accumulate(scores, axis=1)
        halted = [np.searchsorted(row, cutoffs) for row in highest]
        return np.array(halted, dtype=int).reshape(len(scores), len(cutoffs))
    reached = scores[:, None] >= cutoffs
    return np.where(reached.any(axis=2), reached.argmax(axis=2), scores.shape[1])


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


def average_groups(losses: Array, groups: Array | None) -> Array:
    """The losses (n, n_cutoffs) of rows, or their averages over each group of rows.

    Examples
    --------
    >>> average_groups(np.array([[1.0], [0.0], [1.0]]), np.array([4, 4, 7])).ravel()
    array([0.5, 1. ])
    """
    if groups is None:
        return losses
    _, at, counts = np.unique(groups, return_inverse=True, return_counts=True)
    sums = np.zeros((len(counts), losses.shape[1]))
    np.add.at(sums, at, losses)
    return sums / counts[:, None]


# The table ---------------------------------------------------------------------------------------


def tabulate_promises(
    paths: ScorePaths, promise: Promise, guarantee: str, n_classes: int
) -> PromiseTable:
    """Every cutoff with the largest reliability that it keeps.

    Cutoffs are tested from the highest score of the calibration rows downwards, and the τ of a
    cutoff is the least of those above it: the first test that fails ends the sequence, so that
    none has to share its error with others. Cutoffs between the scores of two rows decide alike,
    so that all cutoffs are tested by those at the scores.

    Parameters
    ----------
    paths : ScorePaths
        Of rows that were not learned.
    promise : Promise
        Without the condition "time".
    guarantee : "probability" or "average"
    n_classes : int
    """
    cutoffs = cutoffs_to_test(paths)
    decided = decided_codes(paths, halting_times(paths.scores, cutoffs))
    losses = measure_losses(paths, decided, promise.loss)
    binary = isinstance(promise.loss, str) and paths.groups is None
    kept = np.ones(len(cutoffs))
    for rows in promised_rows(paths, promise, n_classes):
        groups = None if paths.groups is None else paths.groups[rows]
        of_units = average_groups(losses[rows], groups)
        n = len(of_units)
        if not n:
            return NOTHING_PROMISED
        if guarantee == "average":  # conformal risk control: the worst so far, and one row more
            worst = np.maximum.accumulate(of_units, axis=1).sum(axis=0)
            bound = np.round(1 - (worst + 1) / (n + 1), 12)
        else:
            bound = 1 - largest_loss(of_units.sum(axis=0), n, 1 - promise.confidence, binary)
        kept = np.minimum(kept, bound)
    levels = np.minimum.accumulate(kept)
    last = np.append(levels[1:] < levels[:-1], True) & (levels > 0)  # the lowest of equal ones
    return PromiseTable(levels[last][::-1], cutoffs[last][::-1, None])


def cutoffs_to_test(paths: ScorePaths) -> Array:
    """The cutoffs, descending, at which the halting time of some row changes; 0 is the last."""
    highest = np.maximum.accumulate(paths.scores, axis=1)
    cutoffs = np.unique(highest)[::-1] if highest.size else np.zeros(1)
    if len(cutoffs) > MAX_CUTOFFS:
        at = np.linspace(0, len(cutoffs) - 1, MAX_CUTOFFS).astype(int)
        cutoffs = cutoffs[at]
    return np.append(cutoffs[:-1], 0.0)  # nothing is below the lowest


def promised_rows(paths: ScorePaths, promise: Promise, n_classes: int) -> list[Array]:
    """The rows whose losses are promised apart; a cutoff must keep all of the promises."""
    if promise.condition != "class":
        return [np.ones(len(paths.labels), dtype=bool)]
    return [paths.labels == c for c in range(n_classes)]


def largest_loss(total: Array, n: int, error: float, binary: bool) -> Array:
    """The expected loss that the sums of n losses leave possible, but for a probability `error`.

    Losses of 0 and 1 have a binomial sum, exactly. Costs and averages between them have the bound
    of Hoeffding and Bentkus, which is inverted by halving.

    Examples
    --------
    >>> largest_loss(np.array([0.0]), 29, 0.05, True).round(4)
    array([0.0981])
    """
    if binary:
        with np.errstate(invalid="ignore"):
            return np.where(total >= n, 1.0, betaincinv(total + 1, np.maximum(n - total, 1e-9),
                                                        1 - error))  # fmt: skip
    low, high = total / n, np.ones(len(total))
    for _ in range(50):  # halvings: rounding is left
        middle = (low + high) / 2
        possible = tail_probability(total, n, middle, binary) > error
        low, high = np.where(possible, middle, low), np.where(possible, high, middle)
    return high


def tail_probability(total: Array, n: Array | int, most: Array | float, binary: bool) -> Array:
    """p-values of "the expected loss is above `most`" for the sum of n losses.

    Examples
    --------
    >>> tail_probability(np.array([0.0]), 29, 0.1, True).round(3)
    array([0.047])
    """
    total, n = np.asarray(total, dtype=np.float64), np.asarray(n, dtype=np.float64)
    if binary:
        return _binomial_tail(total, n, most)
    mean = np.minimum(np.divide(total, np.maximum(n, 1)), most)
    with np.errstate(divide="ignore", invalid="ignore"):
        first = np.where(mean > 0, mean * np.log(mean / most), 0.0)
        rest = np.where(mean < 1, (1 - mean) * np.log((1 - mean) / (1 - most)), 0.0)
    bentkus = math.e * _binomial_tail(np.ceil(total - 1e-9), n, most)
    smaller = np.minimum(np.exp(-n * (first + rest)), bentkus)
    return np.where(n > 0, np.minimum(1.0, smaller), 1.0)


def _binomial_tail(total: Array, n: Array, most: Array | float) -> Array:
    """The probability of at most `total` losses of n; 1 without rows."""
    others = np.maximum(n - total, 1e-300)  # all lost: the limit is 1
    return betainc(others, total + 1.0, 1 - np.asarray(most))


def count_needed(tau: float, guarantee: str = "probability", confidence: float = 0.95) -> int:
    """Rows without any loss that are needed before anything can be decided early.

    Examples
    --------
    >>> [count_needed(tau) for tau in (0.9, 0.95, 0.99)]
    [29, 59, 299]
    >>> count_needed(0.9, "average")
    9
    """
    if tau >= 1:
        raise ValueError("reliability=1 is promised by complete rows alone")
    if guarantee == "average":
        return math.ceil(round(1 / (1 - tau) - 1, 9))
    return max(1, math.ceil(math.log(1 - confidence) / math.log(tau))) if tau > 0 else 0


# Times and costs ---------------------------------------------------------------------------------


def tabulate_by_time(paths: ScorePaths, promise: Promise, tau: float) -> PromiseTable:
    """Cutoffs for each time, so that decisions up to each time keep the promise.

    Ringel, Cohen, Freedman, Elad, Romano: Early time classification with accumulated accuracy gap
    control, ICML 2024, propose a cutoff for each time with one half of the rows and open the times
    one by one with the other. Here some of the rows propose one cutoff for all times, which takes
    fewer of them: of 150 rows of seven sets, at 0.9, that uses 0.56 of the series, and one cutoff
    for each time 0.71 to 0.79, with no more failures.
    """
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


# Classes -----------------------------------------------------------------------------------------


class ClassPromise(NamedTuple):
    """How decisions of one class agree with complete rows, on the calibration rows.

    Attributes
    ----------
    n_complete : int
        Rows that are of the class when complete.
    kept : float
        Share of them that are decided so; NaN without any.
    n_decided : int
        Rows that are decided as the class.
    confirmed : float
        Share of them that are so when complete.
    short : bool
        Whether one of the shares is below τ by more than chance.
    """

    n_complete: int
    kept: float
    n_decided: int
    confirmed: float
    short: bool


def check_classes(
    paths: ScorePaths, cutoffs: Array, tau: float, n_classes: int
) -> list[ClassPromise]:
    """The reliability in each class of decisions at the cutoffs (n_times,)."""
    decided = decided_codes(paths, halting_times(paths.scores, cutoffs[None]))[:, 0]
    same, checks = decided == paths.complete, []
    for c in range(n_classes):
        counts = []
        for rows in (paths.complete == c, decided == c):
            n, lost = int(rows.sum()), int(np.sum(~same[rows]))
            # the probability of at least `lost` losses if each had the probability 1 - τ
            chance = float(betainc(lost, n - lost + 1, 1 - tau)) if lost and tau < 1 else 1.0
            counts.append((n, 1 - lost / n if n else float("nan"), chance))
        (n, kept, chance), (n_decided, confirmed, of_decided) = counts
        short = bool(min(chance, of_decided) <= MAX_CHANCE)
        checks.append(ClassPromise(n, kept, n_decided, confirmed, short))
    return checks


# Times of decisions ------------------------------------------------------------------------------


class Ruling(NamedTuple):
    """The attributes of `EarlyClassifier` that calibration sets: their names end in ``_`` there.

    Cutoffs of a `Cost` are one for each time; None without a cost.
    """

    calibrated: bool = False
    n_calibration_rows: int = 0
    guarantee: str | None = None
    promise_table: PromiseTable | None = None
    no_promise: str | None = None
    class_promises: Any = ()
    cost_cutoffs: Array | None = None

    def cutoffs(self, tau: float, n_times: int) -> Array:
        """The score needed at each of its times."""
        if self.cost_cutoffs is not None:
            return self.cost_cutoffs
        if self.promise_table is None:
            return np.full(n_times, tau)
        return self.promise_table.cutoffs_at(tau, n_times)

    def reliability(self, scores: Array, at: Any = None) -> Array:
        """The reliability that decisions at these scores keep; complete rows have the score 1."""
        if self.promise_table is None:
            return scores
        return np.where(scores == 1, 1.0, self.promise_table.reliability(scores, at))


UNCALIBRATED_PREFIXES = Ruling(
    promise_table=NOTHING_PROMISED,
    no_promise="the classifiers of prefixes are not calibrated: use calibrate(X)",
)


def settle_calibration(chosen: Any, n_classes: int) -> Promise | Cost | None:
    """The calibration that a parameter names or is, checked."""
    if chosen == "cv" or (isinstance(chosen, Real) and SHARE.test(chosen)):
        chosen = Promise(chosen)
    if isinstance(chosen, Cost):
        chosen.check(n_classes)
    elif isinstance(chosen, Promise):
        chosen.check()
    elif chosen is not None:
        raise ValueError(
            f"calibration={chosen!r} is not valid: it must be None, a share in (0, 1), 'cv', "
            "early.Promise(...) or early.Cost(...)"
        )
    return chosen


def make_ruling(
    paths: ScorePaths, calibration: Promise | Cost, tau: float, classes: Array, times: Array,
    n_values: int,
) -> Ruling:  # fmt: skip
    """The times of decisions, by calibration rows; nothing of the rows themselves is kept.

    Parameters
    ----------
    paths : ScorePaths
        Of rows that were not learned, at `times`, numbers of leading values.
    tau : float
        The reliability that is asked for: `fit` warns once where it is not promised.
    classes : array (n_classes,)
    n_values : int
        Of a complete row.
    """
    promise = calibration if isinstance(calibration, Promise) else Promise()
    guarantee, table = _tabulate(paths, promise, tau, len(classes))
    ruling = Ruling(True, len(paths.labels), guarantee, table)
    if isinstance(calibration, Cost):
        return ruling._replace(cost_cutoffs=find_cost_cutoffs(paths, times, n_values, calibration))
    if tau >= 1:
        return ruling
    cutoffs = table.cutoffs_at(tau, len(times))
    reason = _explain_promise(paths, promise, guarantee, tau, cutoffs, classes.tolist())
    checks = check_classes(paths, cutoffs, tau, len(classes))
    if promise.condition != "class":
        _warn_of_classes(checks, tau, classes.tolist())
    return ruling._replace(no_promise=reason, class_promises=checks)


def _tabulate(
    paths: ScorePaths, promise: Promise, tau: float, n_classes: int
) -> tuple[str, PromiseTable]:
    """The promise, and the table of the promises."""
    if promise.condition == "time":
        if paths.groups is not None:
            raise ValueError('condition="time" has no form for groups: use condition=None')
        return "probability", tabulate_by_time(paths, promise, tau)
    guarantee = "average" if promise.guarantee == "average" else "probability"
    table = tabulate_promises(paths, promise, guarantee, n_classes)
    kept = tau >= 1 or np.isfinite(table.cutoffs_at(tau, 1)).all()
    if kept or promise.guarantee != "auto":
        return guarantee, table
    # its cutoffs are lower, so that the average is kept by this choice, too
    return "average", tabulate_promises(paths, promise, "average", n_classes)


def _explain_promise(
    paths: ScorePaths, promise: Promise, guarantee: str, tau: float, cutoffs: Array,
    classes: list[Any],
) -> str | None:  # fmt: skip
    """Why nothing is decided before the end, or None; warns of it, and of a lesser guarantee."""
    parts = promised_rows(paths, promise, len(classes))
    counts = [paths.of_rows(rows).n_units for rows in parts]
    n, code = min(counts), int(np.argmin(counts))
    of = f" of class {classes[code]!r}" if len(counts) > 1 else ""
    words = f"{n} {'rows' if paths.groups is None else 'groups'}{of}"
    testing = 1 - PROPOSING_SHARE if promise.condition == "time" else 1.0
    needed, least = (
        math.ceil(count_needed(tau, kind, promise.confidence) / testing)
        for kind in ("probability", guarantee)
    )
    if np.isfinite(cutoffs).any():
        if promise.guarantee == "auto" and guarantee == "average":
            remedy = f"that takes {needed}" if n < needed else "too many of them are lost for it"
            warn_caller(
                f"{words} calibrate, and reliability={tau:g} is promised on average over such "
                f"rows, not with confidence={promise.confidence:g}: {remedy}"
            )
        return None
    reason = f"the loss {promise.loss!r} is not below {1 - tau:.3g} with certainty"
    if n < least:
        reason = f"{words} calibrate, and at least {least} are needed for reliability={tau:g}"
        if guarantee == "probability":
            reason += f" with confidence={promise.confidence:g}"
    warn_caller(
        f"nothing will be decided before the end: {reason}. Calibrate with more rows, or "
        "ask for less"
    )
    return reason


def _warn_of_classes(checks: list[ClassPromise], tau: float, classes: list[Any]) -> None:
    short = [
        f"{label!r} ({c.kept:.2f} of {c.n_complete} rows)"
        for label, c in zip(classes, checks, strict=True)
        if c.short
    ]
    if short:
        warn_caller(
            f"reliability={tau:g} is kept over all calibration rows, but not in class "
            f"{', '.join(short)}: use calibration=early.Promise(condition='class')"
        )
