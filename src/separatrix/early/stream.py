"""Decisions about series while their values arrive: many series at once, or one value by value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from separatrix.early.conditional import PrefixState
from separatrix.early.region import IncompleteDecisionRule, largest_reliability
from separatrix.early.scores import ModelScore, Score
from separatrix.linalg import Array

ClassifyRows = Callable[[Array], Array]
"""Takes complete rows (n, d) to the numbers of their classes (n,)."""

FinishPath = Callable[[Sequence[tuple[int, float]], int], None]
"""Takes the guesses and reliabilities at all times of one series, and its complete class."""


class Decisions(NamedTuple):
    """Decisions about incomplete rows; scalars from a stream, arrays otherwise.

    Attributes
    ----------
    label : array (n,)
        The decision, or the guess it would be for rows that are not decided.
    decided : array of bool (n,)
        Whether the decision has the reliability that was asked for.
    reliability : array (n,)
        The score: the largest τ at which the decision stands under the model of the missing
        values, or the share of sampled completions that agree, or the confidence of a classifier
        of prefixes. 1 for complete rows, and for no others.
    n_observed : array of int (n,)
        Number of values that the decision was made from.
    """

    label: Any
    decided: Any
    reliability: Any
    n_observed: Any

    @property
    def time(self) -> Any:
        """For series, the number of leading values that were used: the same as `n_observed`."""
        return self.n_observed


def decide_series(
    score: Score,
    classify: ClassifyRows,
    rows: Array,
    lengths: Array,
    cutoffs: Array,
    wanted: Array,
) -> tuple[Array, Array, Array, Array]:
    """The first reliable decision about each series, or its guess at the end of a short one.

    Parameters
    ----------
    score : Score
    classify : callable
        Decides on complete rows.
    rows : array (n, d)
        Series; NaN beyond their lengths.
    lengths : array of int (n,)
    cutoffs : array (n_times,)
        The reliability that a decision must have at each time of the score.
    wanted : array of bool (n_classes,)
        The classes that may be decided for.

    Returns
    -------
    codes, reliabilities, times, decided : arrays (n,)
    """
    codes, decided = np.zeros(len(rows), dtype=int), np.zeros(len(rows), dtype=bool)
    reliabilities, times = np.zeros(len(rows)), lengths.copy()
    judge, watched = score.follow(rows), np.arange(len(rows))
    for t, cutoff in zip(score.times.tolist(), cutoffs.tolist(), strict=True):
        watched = watched[lengths[watched] >= t]
        if cutoff >= 1 or not len(watched):  # only complete rows are that reliable
            continue
        guess, reliability = judge.judge(t, watched, cutoff)
        ends = (reliability >= cutoff) & wanted[guess]
        ended = watched[ends]
        codes[ended], reliabilities[ended], times[ended] = guess[ends], reliability[ends], t
        decided[ended], watched = True, watched[~ends]
    _guess_undecided(score, classify, rows, lengths, decided, codes, reliabilities)
    decided |= (lengths == rows.shape[1]) & wanted[codes]
    return codes, reliabilities, times, decided


def _guess_undecided(
    score: Score,
    classify: ClassifyRows,
    rows: Array,
    lengths: Array,
    decided: Array,
    codes: Array,
    reliabilities: Array,
) -> None:
    """Write the guesses for series that are over, from all of their values."""
    for length in np.unique(lengths[~decided]):
        at = np.flatnonzero(~decided & (lengths == length))
        if length == rows.shape[1]:
            codes[at], reliabilities[at] = classify(rows[at]), 1.0
        else:
            observed = np.arange(rows.shape[1]) < length
            codes[at], reliabilities[at] = score.judge_pattern(rows[at], observed)


def follow_paths(score: Score, rows: Array) -> tuple[Array, Array]:
    """Guesses and reliabilities (n, n_times) of complete series at all times of the score."""
    codes = np.empty((len(rows), len(score.times)), dtype=np.int32)
    reliabilities = np.empty(codes.shape)
    judge, everyone = score.follow(rows), np.arange(len(rows))
    for i, t in enumerate(score.times.tolist()):
        codes[:, i], reliabilities[:, i] = judge.judge(t, everyone)
    return codes, reliabilities


class DecisionStream:
    """One series whose values come one by one, as `EarlyClassifier.stream` starts it.

    After each value the answer is that of `EarlyClassifier.decide` for the values so far; a later
    answer may differ. The first that is decided is that of `EarlyClassifier.decide_early`. Where
    the score judges at some times only, its last answer stands until the next of them.

    With the score "model" a value costs d products for each model and each function: scores of a
    linear rule, or coordinates. A quadratic rule then decomposes a matrix of the unknown
    directions for each pair of classes. Other scores cost what one row costs them.
    """

    def __init__(
        self,
        score: Score,
        classify: ClassifyRows,
        classes: Array,
        cutoffs: Array,
        wanted: Array,
        n_values: int,
        finish: FinishPath | None = None,
    ) -> None:
        self._score, self._classify, self._classes = score, classify, classes
        self._cutoffs, self._wanted, self._n_values = cutoffs, wanted, n_values
        self._finish = finish
        self._follower = ModelFollower(score.rule) if isinstance(score, ModelScore) else None
        self._values: list[float] = []
        self._path: list[tuple[int, float]] = []

    def push(self, value: float | ArrayLike) -> Decisions:
        """Take the next value of the series, or the next values.

        Parameters
        ----------
        value : float or array (n_new,)

        Returns
        -------
        Decisions
            Of scalars, after the last of the values.
        """
        numbers = _check_numbers(value)
        if len(self._values) + len(numbers) > self._n_values:
            raise ValueError(
                f"the series is complete: the model was fitted to {self._n_values} values, "
                f"{len(self._values)} came before, and {len(numbers)} now. Start another with "
                "stream()"
            )
        for number in numbers:
            answer = self._take(number)
        return answer

    def _take(self, number: float) -> Decisions:
        t = len(self._values) + 1
        self._values.append(number)
        if self._follower is not None:
            self._follower.take(t - 1, number)
        if t == self._n_values:
            code = int(self._classify(np.array([self._values]))[0])
            if self._finish is not None:
                self._finish(self._path, code)
            return Decisions(self._classes[code], bool(self._wanted[code]), 1.0, t)
        at = int(np.searchsorted(self._score.times, t, side="right")) - 1
        if at >= len(self._path):
            self._path.append(self._judge(t))
        code, reliability = self._path[-1] if self._path else self._judge(t)
        enough = at >= 0 and reliability >= self._cutoffs[at]
        return Decisions(self._classes[code], bool(enough and self._wanted[code]), reliability, t)

    def _judge(self, t: int) -> tuple[int, float]:
        """The number of the class after t values, and its reliability."""
        if self._follower is not None:
            return self._follower.guess(t)
        row = np.full((1, self._n_values), np.nan)
        row[0, :t] = self._values
        codes, reliabilities = self._score.judge_pattern(row, ~np.isnan(row[0]))
        return int(codes[0]), float(reliabilities[0])


class ModelFollower:
    """The state of the model of the missing values for one series: O(d) for each value."""

    def __init__(self, rule: IncompleteDecisionRule) -> None:
        self._rule, self._units = rule, rule.conditional.units
        self._factor_states = [model.factor.start() for model in rule.prefix_models]
        self._state = PrefixState.start(rule.prefix_models, rule.conditional.weights, 1)

    def take(self, t: int, number: float) -> None:
        """Take feature t into the state."""
        z = (number - self._units.mean[t]) / self._units.scale[t]
        models, table = self._rule.prefix_models, self._rule.score_table
        if table is not None:  # one model, and its gains in the order in which they are read
            e = models[0].factor.step(self._factor_states[0], t, z - models[0].mean[t])
            self._state.means[0, 0] += e * table.gains[t]
            return
        pairs = zip(models, self._factor_states, strict=True)
        steps = [[model.factor.step(state, t, z - model.mean[t])] for model, state in pairs]
        self._state.update(models, t, np.array(steps))

    def guess(self, t: int) -> tuple[int, float]:
        """The number of the class after t values, and its reliability."""
        rule, table = self._rule, self._rule.score_table
        if table is None:
            codes, reliabilities = rule.guess_after(t, self._state)
            return int(codes[0]), float(reliabilities[0])
        scores = self._state.means[0, 0]
        code = int(scores.argmax())
        distance = table.distances(scores, code, scores[code], t)
        return code, float(largest_reliability(distance**2, rule.n_unknown[t], rule.region))


def _check_numbers(value: Any) -> list[float]:
    """One finite number or several as floats, or an error."""
    try:
        if isinstance(value, str) or np.ndim(value) > 1 or np.size(value) == 0:
            raise TypeError
        numbers = [float(number) for number in np.atleast_1d(value)]
    except (TypeError, ValueError):
        raise TypeError(
            f"value={value!r} is not a number: push takes the next value of a series or the next "
            "values, and decide takes rows with gaps"
        ) from None
    if not np.isfinite(numbers).all():
        raise ValueError(f"value={value!r} is not a finite number: use decide for gaps")
    return numbers
