"""Promises about new rows that hold for any score, any classifier and any distribution of rows.

A score says for each row and each time which class it would be decided as, and how sure that is.
Rows that were not learned show how often decisions at a cutoff λ are lost: the series stops at the
first time at which its score reaches λ, at its end at the latest. From these losses follows the
largest reliability τ that λ keeps: new rows, exchangeable with the calibration rows, have an
expected loss of at most ``1 - τ``, with a stated confidence (Angelopoulos, Bates, Candès, Jordan,
Lei: Learn then test, 2021), or on average over calibration and new rows (Angelopoulos, Bates,
Fisch, Lei, Schuster: Conformal risk control, ICLR 2024). One table of cutoffs and their τ answers
both questions: what the score must reach for a τ, and which τ a decision keeps.

Nothing is assumed but that rows are exchangeable: drift breaks the promise, and so do several rows
of one subject, unless subjects are named as groups. The loss of a group is then the average of its
rows, and groups are what must be exchangeable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betainc, betaincinv
from sklearn.base import BaseEstimator

from separatrix.base.parameters import (
    Allowed,
    array_like,
    check_parameters,
    one_of,
    real_number,
)
from separatrix.linalg import Array

MAX_SHARE = 1 - 1e-9
"""Largest share or confidence: 1 leaves no row to learn from, or no cutoff."""

MAX_CUTOFFS = 500
"""Cutoffs that are tested; of more scores of calibration rows these quantiles."""

MAX_CHANCE = 0.01
"""Probability of so many losses of a class, if its promise were kept, below which a warning is
given."""


class Promise(BaseEstimator):
    """Calibration by rows that are held out: what is promised of new rows.

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
        What is promised to be at most 1 - τ: decisions other than the complete one; wrong ones
        where the complete one is right; wrong ones; or costs, as a share of the largest, with true
        classes in rows and decided ones in columns.

    Examples
    --------
    >>> Promise(condition="class")
    Promise(condition='class')
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "share": (one_of(None, "cv"), real_number(0, MAX_SHARE, open_low=True)),
        "guarantee": (one_of("auto", "probability", "average"),),
        "confidence": (real_number(0, MAX_SHARE, open_low=True),),
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
        What the score must reach at each time; one column where it is the same at all times.
    """

    levels: Array
    cutoffs: Array

    def cutoffs_at(self, tau: float, n_times: int) -> Array:
        """What the score must reach at each time for τ; infinite where nothing keeps it."""
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
    """What is kept in each class by decisions at the cutoffs (n_times,)."""
    decided = decided_codes(paths, halting_times(paths.scores, cutoffs[None]))[:, 0]
    same, checks = decided == paths.complete, []
    for c in range(n_classes):
        counts = []
        for rows in (paths.complete == c, decided == c):
            n, lost = int(rows.sum()), int(np.sum(~same[rows]))
            # the probability of at least so many losses if each had the probability 1 - τ
            chance = float(betainc(lost, n - lost + 1, 1 - tau)) if lost and tau < 1 else 1.0
            counts.append((n, 1 - lost / n if n else float("nan"), chance))
        (n, kept, chance), (n_decided, confirmed, of_decided) = counts
        short = bool(min(chance, of_decided) <= MAX_CHANCE)
        checks.append(ClassPromise(n, kept, n_decided, confirmed, short))
    return checks
