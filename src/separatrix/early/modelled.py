"""Rule (5.2): the class that an incomplete row would be decided as, and how reliable that is.

The reliability is the probability of the guess under the model of the missing values, or the
measure of a set on which the guess wins. Equation numbers are those of Parrish's thesis, see
`conditional`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtr
from sklearn.utils import gen_batches

from separatrix.decision.local_qda import LocalQDA
from separatrix.decision.quadratic import Quadratic
from separatrix.early.arrival import Arrival, arrange
from separatrix.early.conditional import (
    ConditionalModel,
    ConditionalMoments,
    PrefixModel,
    PrefixState,
    count_unknown_directions,
    prefix_innovations,
    sum_from_end,
)
from separatrix.early.probability import bound_by_union, expected_values, rival_probabilities
from separatrix.early.regions import (
    MAX_INCOMPLETE_RELIABILITY,
    measure_of_set,
    shift_discriminants,
)
from separatrix.linalg import Array

MIN_DEVIATION = 1e-100
"""Standard deviation of a difference of scores that is known, in place of zero."""

MAX_COEFFICIENTS = 1 << 22
"""Coefficients of discriminants that are held at once (32 MB)."""


class ScoreTable(NamedTuple):
    """Linear scores under one normal model, with the deviations of their differences tabulated.

    Attributes
    ----------
    gains : array (d, n_classes)
        The change of the scores for each innovation.
    steepness : array (d + 1, n_classes, n_classes)
        The inverse of the standard deviation of the difference of two scores after t values;
        infinite distances of a score from itself are added later.
    own : array (n_classes, n_classes)
        Infinite on the diagonal, zero elsewhere: a class is never a rival of itself.
    """

    gains: Array
    steepness: Array
    own: Array

    @classmethod
    def tabulate(cls, model: PrefixModel) -> ScoreTable:
        """The table of a model whose functions are the scores; d n_classes² flops."""
        gains = np.ascontiguousarray(model.gains.T)
        open_gains = gains * model.varies[:, None]
        differences = (open_gains[:, :, None] - open_gains[:, None]) ** 2
        deviation = np.maximum(np.sqrt(sum_from_end(differences)), MIN_DEVIATION)
        n_classes = gains.shape[1]
        deviation[:, range(n_classes), range(n_classes)] = 1.0
        return cls(gains, 1 / deviation, np.where(np.eye(n_classes, dtype=bool), np.inf, 0.0))

    def probability(self, scores: Array, guess: Array, t: int) -> Array:
        """At least the probability (n,) that the guess has the largest of scores (n, n_classes).

        Exact for two classes, the bound of the union of all rivals for more.
        """
        gaps = np.take_along_axis(scores, guess[:, None], axis=1) - scores
        gaps += self.own[guess]
        gaps *= self.steepness[t, guess]
        return bound_by_union(ndtr(-gaps))


class ModelScore(NamedTuple):
    """The probability of the guess, or the measure of the largest set on which the guess wins.

    Attributes
    ----------
    conditional : ConditionalModel
        Of the arguments of the discriminants.
    discriminants : Quadratic or LocalQDA
        The functions f_g of (5.6), or the classifier that gives them around each row.
    directions : array (d, q) or None
        Weights of the features in the coordinates of the classifier; None for the features.
    region : "ideal", "ellipsoid", "box", "chebyshev" or "diagonal"
    n_classes : int
    n_channels : int
        Values that arrive together.
    owners : array (n_functions,) or None
        The class that each function speaks for, where there are more functions than classes.
    prefix_models : list of PrefixModel
        The models with the features in the order in which they come.
    n_unknown : array of int (d + 1,)
        Unknown directions after each number of values; empty for the probability, which needs
        none.
    tables : list of ScoreTable
        For the probability of linear rules, one for each model; else empty.
    """

    conditional: ConditionalModel
    discriminants: Quadratic | LocalQDA
    directions: Array | None
    region: str
    n_classes: int
    n_channels: int
    owners: Array | None
    prefix_models: list[PrefixModel]
    n_unknown: Array
    tables: list[ScoreTable]

    @classmethod
    def build(
        cls,
        conditional: ConditionalModel,
        discriminants: Quadratic | LocalQDA,
        directions: Array | None,
        region: str,
        n_classes: int,
        n_channels: int = 1,
        owners: Array | None = None,
        order: Array | None = None,
    ) -> ModelScore:
        """The score with its models in the order of arrival, that of the columns by default."""
        models = conditional.prefix_models(order)
        f, ideal = discriminants, region == "ideal"
        linear = isinstance(f, Quadratic) and f.Q is None and owners is None
        tables = [ScoreTable.tabulate(model) for model in models] if ideal and linear else []
        counts = np.zeros(0, dtype=int)
        if not ideal:
            counts = _count_after_prefixes(conditional, directions, order)
        parts = (conditional, f, directions, region, n_classes, n_channels, owners)
        return cls(*parts, models, counts, tables)

    @property
    def times(self) -> Array:
        """Numbers of leading values after which series are judged: those of every time."""
        d = len(self.conditional.units.mean)
        return np.arange(self.n_channels, d, self.n_channels)

    def follow(self, rows: Array, arrival: Arrival | None = None) -> ModelPaths:
        """Begin with series; the innovations of all values are computed at once."""
        if arrival is None:
            return ModelPaths(self, rows, None)
        parts = (self.discriminants, self.directions, self.region, self.n_classes)
        moved = ModelScore.build(
            self.conditional, *parts, self.n_channels, self.owners, arrival.order
        )
        return ModelPaths(moved, rows, arrival)

    def judge_pattern(self, rows: Array, observed: Array) -> tuple[Array, Array]:
        """Guesses and reliabilities of rows of which the same features (d,) are observed."""
        t = int(observed.sum())
        if observed[:t].all():  # a prefix, whose factor is there
            Z = self.conditional.units.apply(rows[:, :t])
            known = self.conditional.condition_on_prefix(self.prefix_models, Z)
        else:
            known = self.conditional.condition(rows, observed)
        n_unknown = 0
        if self.region != "ideal":
            n_unknown = _count_open(self.conditional, self.directions, ~observed)
        return self.judge_moments(known, n_unknown)

    def judge_state(self, t: int, state: PrefixState) -> tuple[Array, Array]:
        """Guesses and reliabilities after t values of series."""
        if not self.tables:
            n_unknown = 0 if self.region == "ideal" else int(self.n_unknown[t])
            return self.judge_moments(state.moments(self.prefix_models, t), n_unknown)
        scores, shares = state.means, state.probabilities
        guess = _likeliest(scores.argmax(axis=2), shares, self.n_classes)
        reliability = np.zeros(len(guess))
        for table, at, share in zip(self.tables, scores, shares.T, strict=True):
            reliability += share * table.probability(at, guess, t)
        return self._settle(guess, reliability)

    def _settle(self, guess: Array, reliability: Array) -> tuple[Array, Array]:
        """Of two classes with linear scores the likelier: several models may prefer the other."""
        if self.tables and self.n_classes == 2:
            turned = reliability < 0.5
            guess = np.where(turned, 1 - guess, guess)
            reliability = np.where(turned, 1 - reliability, reliability)
        return guess, np.minimum(reliability, MAX_INCOMPLETE_RELIABILITY)

    def judge_moments(self, known: ConditionalMoments, n_unknown: int) -> tuple[Array, Array]:
        """Guesses and reliabilities of rows with these moments."""
        n_rows, r = known.means.shape[1:]
        f = self.discriminants
        full = isinstance(f, LocalQDA) and f.covariance_ == "full"
        entries = self.n_classes * len(self.prefix_models) * r * (r if full else 1)
        guess, reliability = np.empty(n_rows, dtype=int), np.empty(n_rows)
        for part in gen_batches(n_rows, max(1, MAX_COEFFICIENTS // entries)):
            guess[part], reliability[part] = self._judge_part(known.of_rows(part), n_unknown)
        return guess, reliability

    def _judge_part(self, known: ConditionalMoments, n_unknown: int) -> tuple[Array, Array]:
        """The class that wins under the most probable models, and ``Σ s_k a_k`` over these."""
        functions = [self._functions_at(means) for means in known.means]
        models = [known.of_model(k) for k in range(len(functions))]
        winners = np.array([
            (expected_values(f, model) if self.region == "ideal" else f.b).argmax(axis=1)
            for f, model in zip(functions, models, strict=True)
        ])  # fmt: skip
        classes = winners if self.owners is None else self.owners[winners]
        guess = _likeliest(classes, known.probabilities, self.n_classes)
        reliability = np.zeros(len(guess))
        for k, (f, model) in enumerate(zip(functions, models, strict=True)):
            # a set stands about a mean where the guess wins; a probability is one anywhere
            anywhere = self.region == "ideal" and self.owners is None
            rows = np.flatnonzero(anywhere | (classes[k] == guess))
            if not len(rows):
                continue
            part = _take_points(f, rows)
            leading = guess[rows] if anywhere else winners[k, rows]
            args = (part, model.of_rows(rows), leading)
            if self.region == "ideal":
                mass = bound_by_union(rival_probabilities(*args, self.owners))
            else:
                mass = measure_of_set(*args, n_unknown, self.region, self.owners)
            reliability[rows] += known.probabilities[rows, k] * mass
        return self._settle(guess, reliability)

    def _functions_at(self, means: Array) -> Quadratic:
        if isinstance(self.discriminants, LocalQDA):
            # the neighbours of the mean, section 5.3: they need not be those of the complete row
            return self.discriminants.discriminants(means, about=means)
        return shift_discriminants(self.discriminants, means)


class ModelPaths:
    """The state of the normal models for series whose values are taken one after the other."""

    def __init__(self, score: ModelScore, rows: Array, arrival: Arrival | None) -> None:
        self._score, self._arrival, models = score, arrival, score.prefix_models
        Z = arrange(score.conditional.units.apply(rows), arrival)
        self._innovations = prefix_innovations(models, np.nan_to_num(Z))
        self._state = PrefixState.start(models, score.conditional.weights, len(rows))
        self._watched, self._t = np.arange(len(rows)), 0

    def judge(self, t: int, watched: Array, least: float = 0.0) -> tuple[Array, Array]:
        """Guesses and reliabilities of some of the series, from their first t values."""
        if len(watched) < len(self._watched):
            self._state = self._state.of_rows(np.searchsorted(self._watched, watched))
            self._watched = watched
        known = t if self._arrival is None else int(self._arrival.counts[t])
        for s in range(self._t, known):
            self._state.update(self._score.prefix_models, s, self._innovations[:, watched, s])
        self._t = known
        return self._score.judge_state(known, self._state)


class ModelFollower:
    """The state of the model of the missing values for one series: O(d) for each value."""

    def __init__(self, score: ModelScore) -> None:
        self._score, self._units = score, score.conditional.units
        self._factor_states = [model.factor.start() for model in score.prefix_models]
        self._state = PrefixState.start(score.prefix_models, score.conditional.weights, 1)

    def take(self, t: int, number: float) -> None:
        """Take feature t into the state."""
        z = (number - self._units.mean[t]) / self._units.scale[t]
        models, tables = self._score.prefix_models, self._score.tables
        pairs = zip(models, self._factor_states, strict=True)
        steps = [model.factor.step(state, t, z - model.mean[t]) for model, state in pairs]
        if len(tables) == 1:  # gains in the order in which they are read
            self._state.means[0, 0] += steps[0] * tables[0].gains[t]
        else:
            self._state.update(models, t, np.array(steps)[:, None])

    def judge(self, t: int) -> tuple[int, float]:
        """The number of the class after t values, and its reliability."""
        codes, reliabilities = self._score.judge_state(t, self._state)
        return int(codes[0]), float(reliabilities[0])


def _likeliest(classes: Array, shares: Array, n_classes: int) -> Array:
    """The class (n,) whose models (n_models, n) have the largest share (n, n_models) together."""
    if len(classes) == 1:
        return classes[0]
    backing = np.stack(
        [np.sum(shares.T * (classes == c), axis=0) for c in range(n_classes)], axis=1
    )
    return backing.argmax(axis=1)


def _take_points(f: Quadratic, rows: Array) -> Quadratic:
    """The functions of some of the points; parts that all points share stay shared."""
    Q = f.Q if f.Q is None or len(f.Q) == 1 else f.Q[rows]
    return Quadratic(Q, f.c if len(f.c) == 1 else f.c[rows], f.b[rows])


def _count_open(conditional: ConditionalModel, directions: Array | None, missing: Array) -> int:
    """Unknown directions of ``directionsᵀ x`` while features are missing; at least one."""
    units = conditional.units
    scaled = None if directions is None else units.scale[:, None] * directions
    return max(count_unknown_directions(scaled, missing & units.varies), 1)


def _count_after_prefixes(
    conditional: ConditionalModel, directions: Array | None, order: Array | None
) -> Array:
    """Unknown directions after 0, 1, … d values in the order of their arrival."""
    d = len(conditional.units.mean)
    place = np.arange(d) if order is None else np.argsort(order)
    most = _count_open(conditional, directions, np.ones(d, dtype=bool))
    counts = np.full(d + 1, most)
    for t in range(d, -1, -1):
        counts[t] = _count_open(conditional, directions, place >= t)
        if counts[t] == most:  # shorter prefixes leave no more open
            break
    return counts
