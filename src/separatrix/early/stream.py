"""Decisions about series while their values arrive: many series at once, or one value by value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from separatrix.early.arrival import Arrival, normalize_running
from separatrix.early.conditional import PrefixState
from separatrix.early.rule import IncompleteDecisionRule
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


class SeriesDecisions(Decisions):
    """Decisions about series of which several values arrive together, or some never."""

    _times: Any = None

    @classmethod
    def at_times(cls, found: Decisions, times: Any) -> SeriesDecisions:
        """Decisions with the numbers of times that were used."""
        made = cls(*found)
        made._times = times
        return made

    @property
    def time(self) -> Any:
        """The number of times that were used; `n_observed` counts the values that had come."""
        return self._times


def decide_series(
    score: Score,
    classify: ClassifyRows,
    rows: Array,
    lengths: Array,
    cutoffs: Array,
    wanted: Array,
    arrival: Arrival | None = None,
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
    arrival : Arrival, optional
        How the values come, where they are not the columns one after the other.

    Returns
    -------
    codes, reliabilities, times, decided : arrays (n,)
    """
    codes, decided = np.zeros(len(rows), dtype=int), np.zeros(len(rows), dtype=bool)
    reliabilities, times = np.zeros(len(rows)), lengths.copy()
    judge, watched = score.follow(rows, arrival), np.arange(len(rows))
    for t, cutoff in zip(score.times.tolist(), cutoffs.tolist(), strict=True):
        watched = watched[lengths[watched] >= t]
        if cutoff >= 1 or not len(watched):  # only complete rows are that reliable
            continue
        guess, reliability = judge.judge(t, watched, cutoff)
        ends = (reliability >= cutoff) & wanted[guess]
        ended = watched[ends]
        codes[ended], reliabilities[ended], times[ended] = guess[ends], reliability[ends], t
        decided[ended], watched = True, watched[~ends]
    for length in np.unique(lengths[~decided]).tolist():  # series that are over
        at = np.flatnonzero(~decided & (lengths == length))
        observed = np.arange(rows.shape[1]) < length
        if arrival is not None:
            observed = arrival.known_after(length)
        if observed.all():
            codes[at], reliabilities[at] = classify(rows[at]), 1.0
            decided[at] = wanted[codes[at]]
        else:
            codes[at], reliabilities[at] = score.judge_pattern(rows[at], observed)
    return codes, reliabilities, times, decided


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
    directions for each pair of classes. Other scores, and values out of order, cost what one row
    costs them.
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
        running_channels: int = 0,
    ) -> None:
        self._score, self._classify, self._classes = score, classify, classes
        self._cutoffs, self._wanted, self._n_values = cutoffs, wanted, n_values
        self._finish, self._running_channels = finish, running_channels
        self._follower = ModelFollower(score.rule) if isinstance(score, ModelScore) else None
        self._given, self._row = np.full((2, n_values), np.nan)
        self._n_known = 0
        self._path: list[tuple[int, float]] = []

    def push(self, value: float | ArrayLike, at: int | ArrayLike | None = None) -> Decisions:
        """Take the next value of the series, or the next values.

        Parameters
        ----------
        value : float or array (n_new,)
        at : int or array (n_new,), optional
            The features that these values are of, where they do not come in the order of the
            columns.

        Returns
        -------
        Decisions
            Of scalars, after the last of the values.
        """
        numbers = _check_numbers(value)
        if self._n_known + len(numbers) > self._n_values:
            raise ValueError(
                f"the series is complete: the model was fitted to {self._n_values} values, "
                f"{self._n_known} came before, and {len(numbers)} now. Start another with "
                "stream()"
            )
        for place, number in zip(self._places(len(numbers), at), numbers, strict=True):
            answer = self._take(place, number)
        return answer

    def _places(self, n_new: int, at: Any) -> list[int]:
        """The features that new values are of."""
        if at is None:
            return np.flatnonzero(np.isnan(self._row))[:n_new].tolist()
        given = np.atleast_1d(np.asarray(at))
        whole = given.shape == (n_new,) and np.issubdtype(given.dtype, np.integer)
        if not whole or (given < 0).any() or (given >= self._n_values).any():
            raise ValueError(
                f"at={at!r} must name a feature from 0 to {self._n_values - 1} for each of the "
                f"{n_new} values"
            )
        places = given.tolist()
        if len(set(places)) < n_new or not np.isnan(self._row[places]).all():
            raise ValueError(f"at={at!r} names a feature that has come before")
        if self._running_channels and places != self._places(n_new, None):
            raise ValueError('at: with normalize="running" values come in the order of time')
        return places

    def _take(self, place: int, number: float) -> Decisions:
        t, in_order = self._n_known + 1, place == self._n_known
        self._given[place] = self._row[place] = number
        if self._running_channels:
            whole = self._given[None, : -(-t // self._running_channels) * self._running_channels]
            self._row[place] = normalize_running(whole, self._running_channels)[0, place]
        self._n_known = t
        if not in_order:
            self._follower = None
        if self._follower is not None:
            self._follower.take(place, float(self._row[place]))
        if t == self._n_values:
            code = int(self._classify(self._row[None])[0])
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
        observed = ~np.isnan(self._row)
        codes, reliabilities = self._score.judge_pattern(self._row[None], observed)
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
        n_unknown = int(rule.n_unknown[t])
        found = table.reliability(scores, code, scores[code], t, n_unknown, rule.region)
        return code, float(found)


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
