"""Decisions about series while their values arrive: many series at once, or one value by value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from separatrix.early.arrival import Arrival
from separatrix.early.modelled import ModelFollower, ModelScore
from separatrix.linalg import Array

ClassifyRows = Callable[[Array], Array]
"""Takes complete rows (n, d) to the numbers of their classes (n,)."""

StateReliability = Callable[[Array, Any], Array]
"""Takes scores (n,) and the numbers of their times, or None, to the reliabilities (n,)."""


class Paths(Protocol):
    """Judges the same series at one time after the other."""

    def judge(self, t: int, watched: Array, least: float = 0.0) -> tuple[Array, Array]:
        """Guesses and scores of some of the series, from their first t values.

        Parameters
        ----------
        t : int
            At least that of the call before.
        watched : array of int
            Numbers of the series that are still of interest, ascending: some of those of the call
            before.
        least : float
            Scores below it need not be exact, but must be below it.
        """
        ...


class Score(Protocol):
    """A guess for incomplete rows, and how sure it is: a number in [0, 1).

    Deciding, calibrating and following streams need nothing else of a judge.
    """

    @property
    def times(self) -> Array:
        """Numbers of leading values after which series are judged, ascending, not all of them."""
        ...

    def follow(self, rows: Array, arrival: Arrival | None = None) -> Paths:
        """Begin with series (n, n_features), which may have NaN beyond their lengths.

        With an `arrival` their values come in its order, and some never do.
        """
        ...

    def judge_pattern(self, rows: Array, observed: Array) -> tuple[Array, Array]:
        """Guesses and scores of rows of which the same features (d,) are observed."""
        ...


class Decisions(NamedTuple):
    """Decisions about incomplete rows; scalars from a stream, arrays otherwise.

    Attributes
    ----------
    label : array (n,)
        The decision, or the guess it would be for rows that are not decided.
    decided : array of bool (n,)
        Whether the decision has the reliability that was asked for.
    reliability : array (n,)
        The largest τ whose promise the decision keeps: by calibration rows, or without them as
        the model of the missing values states it. 1 for complete rows. NaN where nothing can be
        promised; the attribute `no_promise_` of the classifier says why.
    score : array (n,)
        Statement of the judge: a probability, a measure, a share of draws, or a confidence.
    n_observed : array of int (n,)
        Number of values that the decision was made from.
    time : array of int (n,)
        For series, the number of leading times that were used.
    """

    label: Any
    decided: Any
    reliability: Any
    score: Any
    n_observed: Any
    time: Any


class SeriesDecisions(NamedTuple):
    """The first decisions about series: numbers of classes, scores, values, and at which times.

    Attributes
    ----------
    codes, scores, times, decided : arrays (n,)
        ``times`` are numbers of leading values.
    at : array of int (n,)
        Numbers of the times of the score; -1 for complete rows, and where none was reached.
    """

    codes: Array
    scores: Array
    times: Array
    decided: Array
    at: Array


def decide_series(
    score: Score,
    classify: ClassifyRows,
    rows: Array,
    lengths: Array,
    cutoffs: Array,
    arrival: Arrival | None = None,
) -> SeriesDecisions:
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
        The score needed at each of its times.
    arrival : Arrival, optional
        How the values come, where some are missing.
    """
    codes, decided = np.zeros(len(rows), dtype=int), np.zeros(len(rows), dtype=bool)
    scores, times, at_time = np.ones(len(rows)), lengths.copy(), np.full(len(rows), -1)
    paths, watched = score.follow(rows, arrival), np.arange(len(rows))
    for i, (t, cutoff) in enumerate(zip(score.times.tolist(), cutoffs.tolist(), strict=True)):
        watched = watched[lengths[watched] >= t]
        if cutoff >= 1 or not len(watched):  # only complete rows are that reliable
            continue
        guess, reached = paths.judge(t, watched, cutoff)
        ends = reached >= cutoff
        ended = watched[ends]
        codes[ended], scores[ended], times[ended], at_time[ended] = (
            guess[ends],
            reached[ends],
            t,
            i,
        )
        decided[ended], watched = True, watched[~ends]
    for length in np.unique(lengths[~decided]).tolist():  # series that are over
        at = np.flatnonzero(~decided & (lengths == length))
        observed = np.arange(rows.shape[1]) < length
        if arrival is not None:
            observed = arrival.known_after(length)
        if observed.all():
            codes[at] = classify(rows[at])
            decided[at] = True
        else:
            codes[at], scores[at] = score.judge_pattern(rows[at], observed)
            at_time[at] = np.searchsorted(score.times, length, side="right") - 1
    return SeriesDecisions(codes, scores, times, decided, at_time)


def follow_paths(score: Score, rows: Array) -> tuple[Array, Array]:
    """Guesses and scores (n, n_times) of complete series at all times of the score."""
    codes = np.empty((len(rows), len(score.times)), dtype=np.int32)
    scores = np.empty(codes.shape)
    paths, everyone = score.follow(rows), np.arange(len(rows))
    for i, t in enumerate(score.times.tolist()):
        codes[:, i], scores[:, i] = paths.judge(t, everyone)
    return codes, scores


class DecisionStream:
    """One series whose values come one by one, as `EarlyClassifier.stream` starts it.

    After each value the answer is that of `EarlyClassifier.decide` for the values so far; a later
    answer may differ. The first that is decided is that of `EarlyClassifier.decide_early`. Where
    the judge looks at some times only, its last answer stands until the next of them.

    With `ModelJudge` and a linear rule a value costs d products for each function. Quadratic rules
    and values out of order cost what one row costs them.
    """

    def __init__(
        self,
        score: Score,
        classify: ClassifyRows,
        classes: Array,
        cutoffs: Array,
        n_values: int,
        n_channels: int,
        state: StateReliability,
    ) -> None:
        self._score, self._classify, self._classes = score, classify, classes
        self._cutoffs, self._state = cutoffs, state
        self._n_values, self._n_channels = n_values, n_channels
        self._follower = ModelFollower(score) if isinstance(score, ModelScore) else None
        self._row = np.full(n_values, np.nan)
        self._n_known = 0
        self._judged_at, self._answer = -2, (0, 0.0)

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
        asked = np.atleast_1d(np.asarray(at))
        whole = asked.shape == (n_new,) and np.issubdtype(asked.dtype, np.integer)
        if not whole or (asked < 0).any() or (asked >= self._n_values).any():
            raise ValueError(
                f"at={at!r} must name a feature from 0 to {self._n_values - 1} for each of the "
                f"{n_new} values"
            )
        places = asked.tolist()
        if len(set(places)) < n_new or not np.isnan(self._row[places]).all():
            raise ValueError(f"at={at!r} names a feature that has come before")
        return places

    def _take(self, place: int, number: float) -> Decisions:
        self._row[place] = number
        if place != self._n_known:
            self._follower = None
        self._n_known += 1
        t, time = self._n_known, -(-self._n_known // self._n_channels)
        if self._follower is not None:
            self._follower.take(place, number)
        if t == self._n_values:
            code = int(self._classify(self._row[None])[0])
            return Decisions(self._classes[code], True, 1.0, 1.0, t, time)
        at = int(np.searchsorted(self._score.times, t, side="right")) - 1
        if at != self._judged_at:
            self._judged_at, self._answer = at, self._judge(t)
        code, score = self._answer
        enough = at >= 0 and score >= self._cutoffs[at]
        reliability = float(self._state(np.array([score]), at if at >= 0 else None)[0])
        return Decisions(self._classes[code], bool(enough), reliability, score, t, time)

    def _judge(self, t: int) -> tuple[int, float]:
        """The number of the class after t values, and its score."""
        if self._follower is not None:
            return self._follower.judge(t)
        codes, scores = self._score.judge_pattern(self._row[None], ~np.isnan(self._row))
        return int(codes[0]), float(scores[0])


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
