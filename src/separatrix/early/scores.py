"""Scores: the class that an incomplete row would be decided as, and how reliable that is.

All scores have one form, `Score`: a guess and a reliability in [0, 1) for rows at each of some
times, and for rows with gaps. Deciding, calibrating and following streams need nothing else, so
that any classifier may be asked in any way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.utils import gen_batches

from separatrix.decision.local_qda import LocalQDA
from separatrix.decision.quadratic import Quadratic
from separatrix.early.arrival import Arrival, arrange
from separatrix.early.conditional import (
    ConditionalModel,
    ConditionalMoments,
    PrefixModel,
    PrefixState,
    prefix_innovations,
)
from separatrix.early.local_draws import classify_draws
from separatrix.early.quadratic_paths import QuadraticJudge, can_follow
from separatrix.early.region import MAX_INCOMPLETE_RELIABILITY
from separatrix.early.rule import IncompleteDecisionRule
from separatrix.linalg import Array

FIRST_SHARE = 0.2
"""Share of the draws that come first."""

MIN_PROMISING = 0.7
"""Share of the first draws that must agree before the others are made."""

MAX_DRAWN_VALUES = 1 << 22
"""Values of completions that are held at once (32 MB)."""


class SeriesJudge(Protocol):
    """Judges the same series at one time after the other."""

    def judge(self, t: int, watched: Array, least: float = 0.0) -> tuple[Array, Array]:
        """Guesses and reliabilities of some of the series, from their first t values.

        Parameters
        ----------
        t : int
            At least that of the call before.
        watched : array of int
            Numbers of the series that are still of interest, ascending: some of those of the call
            before.
        least : float
            Reliabilities below it need not be exact, but must be below it.
        """
        ...


class Score(Protocol):
    """A guess for incomplete rows, and its reliability.

    Attributes
    ----------
    times : array of int
        Numbers of leading values after which series are judged, ascending, all below the number of
        features.
    """

    @property
    def times(self) -> Array:
        """Numbers of leading values."""
        ...

    def follow(self, rows: Array, arrival: Arrival | None = None) -> SeriesJudge:
        """Begin with series (n, n_features), which may have NaN beyond their lengths.

        With an `arrival` their values come in its order, and some never do.
        """
        ...

    def judge_pattern(self, rows: Array, observed: Array) -> tuple[Array, Array]:
        """Guesses and reliabilities of rows of which the same features (d,) are observed."""
        ...


# The model of the missing values -----------------------------------------------------------------


class ModelScore(NamedTuple):
    """The measure of the largest set on which the guess wins, or the probability of the guess.

    Attributes
    ----------
    rule : IncompleteDecisionRule
    n_channels : int
        Values that arrive together.
    """

    rule: IncompleteDecisionRule
    n_channels: int = 1

    @property
    def times(self) -> Array:
        """After the values of every time."""
        return np.arange(self.n_channels, self.rule.n_features, self.n_channels)

    def follow(self, rows: Array, arrival: Arrival | None = None) -> SeriesJudge:
        """Begin with series; the innovations of all values are computed at once."""
        rule = self.rule if arrival is None else self.rule.in_order(arrival.order)
        judge = QuadraticJudge if can_follow(rule) else ModelJudge
        return judge(rule, rows, arrival)

    def judge_pattern(self, rows: Array, observed: Array) -> tuple[Array, Array]:
        """Guesses and reliabilities of rows of which the same features are observed."""
        known = self.rule.condition(rows, observed)
        return self.rule.guess(known, self.rule.count_unknown(~observed))


class ModelJudge:
    """The state of the normal models for series whose values are taken one after the other."""

    def __init__(
        self, rule: IncompleteDecisionRule, rows: Array, arrival: Arrival | None = None
    ) -> None:
        self._rule, self._arrival, models = rule, arrival, rule.prefix_models
        Z = arrange(rule.conditional.units.apply(rows), arrival)
        self._innovations = prefix_innovations(models, np.nan_to_num(Z))
        self._state = PrefixState.start(models, rule.conditional.weights, len(rows))
        self._watched, self._t = np.arange(len(rows)), 0

    def judge(self, t: int, watched: Array, least: float = 0.0) -> tuple[Array, Array]:
        """Guesses and reliabilities of some of the series, from their first t values."""
        if len(watched) < len(self._watched):
            self._state = self._state.of_rows(np.searchsorted(self._watched, watched))
            self._watched = watched
        known = t if self._arrival is None else int(self._arrival.counts[t])
        for s in range(self._t, known):
            self._state.update(self._rule.prefix_models, s, self._innovations[:, watched, s])
        self._t = known
        return self._rule.guess_after(known, self._state, least)


# Sampled completions -----------------------------------------------------------------------------


def checkpoint_times(n_values: int, n_checkpoints: int, n_channels: int = 1) -> Array:
    """Equidistant numbers of leading values, the last of which comes before the end.

    Examples
    --------
    >>> checkpoint_times(60, 4)
    array([15, 30, 45])
    >>> checkpoint_times(60, 4, n_channels=6)
    array([12, 30, 48])
    """
    shares = np.arange(1, n_checkpoints) / n_checkpoints
    times = n_channels * np.unique(np.rint(shares * n_values / n_channels).astype(int))
    return times[(times > 0) & (times < n_values)]


class SampledScore(NamedTuple):
    """The share of the completions of a row that get the same label.

    The missing values are drawn from the model, with the same random numbers for all rows and all
    times: differences between scores are differences between rows.

    Attributes
    ----------
    conditional : ConditionalModel
        Of the coordinates that are classified.
    prefix_models : list of PrefixModel
        The models with the features in the order of the columns.
    classifier : Quadratic or classifier
        Linear functions of the coordinates, or a fitted classifier of them.
    reducer : transformer or None
        Takes drawn rows to what the classifier takes; None where they are that already.
    classes : array (n_classes,)
    times : array of int
    draws : array (n_draws, d)
        Standard normal innovations.
    levels : array (n_draws,)
        Uniform numbers that choose the model of each draw.
    """

    conditional: ConditionalModel
    prefix_models: list[PrefixModel]
    classifier: Any
    reducer: Any | None
    classes: Array
    times: Array
    draws: Array
    levels: Array

    def follow(self, rows: Array, arrival: Arrival | None = None) -> SampledJudge:
        """Begin with series; the innovations of all values are computed at once."""
        return SampledJudge(self, rows, arrival)

    def judge_pattern(self, rows: Array, observed: Array) -> tuple[Array, Array]:
        """Guesses and reliabilities of rows of which the same features are observed."""
        order = np.argsort(~observed, kind="stable")
        t = int(observed.sum())
        models = self.prefix_models
        if not observed[:t].all():
            models = self.conditional.prefix_models(order)
        Z = self.conditional.units.apply(rows)[:, order[:t]]
        known = self.conditional.condition_on_prefix(models, Z)
        return self.count_agreement(models, t, known.means, known.probabilities)

    def count_agreement(
        self,
        models: Sequence[PrefixModel],
        t: int,
        means: Array,
        probabilities: Array,
        least: Array | float = 0.0,
    ) -> tuple[Array, Array]:
        """The most frequent label of the completions of each row, and its share.

        Rows whose first draws agree too little have the share of these; rows that cannot reach
        `least` any more are not drawn further either.
        """
        steps = [self.draw_steps(model, t) for model in models]
        n_rows, n_draws = len(probabilities), len(self.draws)
        counts = np.zeros((n_rows, len(self.classes)), dtype=int)
        wanted, drawn = np.broadcast_to(least, n_rows), np.zeros(n_rows)
        watched, first = np.arange(n_rows), max(1, round(FIRST_SHARE * n_draws))
        for part in (slice(0, first), slice(first, n_draws)):
            for block in gen_batches(len(watched), self._rows_at_once()) if len(watched) else ():
                rows = watched[block]
                codes = self._classify_draws(steps, part, means[:, rows], probabilities[rows])
                counts[rows] += count_codes(codes, len(self.classes))
            drawn[watched] = part.stop
            most = counts[watched].max(axis=1)
            reachable = most + n_draws - part.stop >= wanted[watched] * n_draws
            watched = watched[reachable & (most >= MIN_PROMISING * part.stop)]
        guess, most = counts.argmax(axis=1), counts.max(axis=1)
        return guess, np.minimum(most / drawn, MAX_INCOMPLETE_RELIABILITY)

    def draw_steps(self, model: PrefixModel, t: int) -> Array:
        """Steps (n_draws, q) from the mean given t values to the drawn coordinates."""
        left = self.draws[:, t:] * model.varies[t:]
        return left @ model.gains[:, t:].T

    def _rows_at_once(self) -> int:
        return max(1, MAX_DRAWN_VALUES // (len(self.draws) * len(self.prefix_models[0].gains)))

    def _classify_draws(
        self, steps: list[Array], part: slice, means: Array, probabilities: Array
    ) -> Array:
        """Numbers of the classes (n, n_draws) of the completions."""
        points = means[0][:, None] + steps[0][part]
        if len(steps) > 1:
            below = np.cumsum(probabilities, axis=1)[:, :-1, None] < self.levels[part]
            chosen = below.sum(axis=1)
            for k in range(1, len(steps)):
                rows, draws = np.nonzero(chosen == k)
                points[rows, draws] = means[k][rows] + steps[k][part][draws]
        flat = points.reshape(-1, points.shape[-1])
        return self._classify(flat).reshape(points.shape[:2])

    def _classify(self, points: Array) -> Array:
        if isinstance(self.classifier, Quadratic):
            return (points @ self.classifier.c.T + self.classifier.b).argmax(axis=1)
        rows = points if self.reducer is None else self.reducer.transform(points)
        if isinstance(self.classifier, LocalQDA) and self.classifier.covariance_ == "diag":
            return classify_draws(self.classifier, rows)
        return np.searchsorted(self.classes, self.classifier.predict(rows))


class SampledJudge:
    """The means of the completions of series whose values are taken one after the other."""

    def __init__(self, score: SampledScore, rows: Array, arrival: Arrival | None = None) -> None:
        self._score, self._rows, self._arrival = score, rows, arrival
        if arrival is None:
            Z = score.conditional.units.apply(rows)
            self._innovations = prefix_innovations(score.prefix_models, np.nan_to_num(Z))

    def judge(self, t: int, watched: Array, least: float = 0.0) -> tuple[Array, Array]:
        """Guesses and reliabilities of some of the series, from their first t values."""
        if self._arrival is not None:
            # a factor for each time: the same draws as for rows with these gaps
            return self._score.judge_pattern(self._rows[watched], self._arrival.known_after(t))
        models, weights = self._score.prefix_models, self._score.conditional.weights
        known = condition_on_innovations(models, weights, self._innovations[:, watched, :t])
        return self._score.count_agreement(models, t, known.means, known.probabilities, least)


def condition_on_innovations(
    models: Sequence[PrefixModel], weights: Array, innovations: Array
) -> ConditionalMoments:
    """Moments given the innovations (n_models, n, t) of leading features."""
    n, t = innovations.shape[1:]
    state = PrefixState.start(models, weights, n)
    for i, (model, e) in enumerate(zip(models, innovations, strict=True)):
        state.means[i] += e @ model.gains[:, :t].T
        state.log_densities[:, i] -= 0.5 * np.sum(e**2, axis=1)
        state.log_densities[:, i] -= np.log(model.factor.diagonal[:t]).sum()
    return state.moments(models, t)


def count_codes(codes: Array, n_classes: int) -> Array:
    """How often each class occurs in each row of codes (n, n_draws).

    Examples
    --------
    >>> count_codes(np.array([[0, 2, 2], [1, 1, 1]]), 3)
    array([[1, 0, 2],
           [0, 3, 0]])
    """
    n = len(codes)
    flat = codes + n_classes * np.arange(n)[:, None]
    return np.bincount(flat.ravel(), minlength=n * n_classes).reshape(n, n_classes)
