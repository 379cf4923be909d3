"""Rule (5.2): the class that an incomplete row would be decided as, and how reliable that is.

The reliability is the probability that the guess stands under the model of the missing values,
rule (5.1), or the measure of a set on which it does, see `regions`. A rival g takes the place of
the guess c where ``f_c - f_g`` is negative. For linear functions of a normal row that difference
is normal, and the probability is exact; for quadratic ones its mean and variance are, and it is
taken as normal. The probabilities of all rivals together bound that of any of them. Equation
numbers are those of Parrish's thesis, see `conditional`.
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
from separatrix.early.regions import (
    MAX_INCOMPLETE_RELIABILITY,
    gaps_to_rivals,
    measure_of_set,
    shift_discriminants,
    slopes_to_rivals,
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
    order : array of int (d,)
        The features in the order in which they come.
    prefix_models : list of PrefixModel
        The models with the features in that order.
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
    order: Array
    prefix_models: list[PrefixModel]
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
    ) -> ModelScore:
        """The score of features that come in the order of the columns."""
        parts = (conditional, discriminants, directions, region, n_classes, n_channels, owners)
        order = np.arange(len(conditional.units.mean))
        return cls(*parts, order, [], []).in_order(order)

    def in_order(self, order: Array) -> ModelScore:
        """The same score of features that come in another order."""
        models, f = self.conditional.prefix_models(order), self.discriminants
        linear = self.region == "ideal" and isinstance(f, Quadratic) and f.Q is None
        tables = [ScoreTable.tabulate(model) for model in models] if linear else []
        return self._replace(order=order, prefix_models=models, tables=tables)

    def widened(self, factor: float) -> ModelScore:
        """The same score with larger standard deviations."""
        models = [model._replace(widening=factor) for model in self.conditional.models]
        conditional = self.conditional._replace(models=models)
        return self._replace(conditional=conditional).in_order(self.order)

    @property
    def times(self) -> Array:
        """Numbers of leading values after which series are judged: those of every time."""
        d = len(self.conditional.units.mean)
        return np.arange(self.n_channels, d, self.n_channels)

    def follow(self, rows: Array, arrival: Arrival | None = None) -> ModelPaths:
        """Begin with series; the innovations of all values are computed at once."""
        if arrival is None:
            return ModelPaths(self, rows, None)
        return ModelPaths(self.in_order(arrival.order), rows, arrival)

    def judge_pattern(self, rows: Array, observed: Array) -> tuple[Array, Array]:
        """Guesses and reliabilities of rows of which the same features (d,) are observed."""
        t, score = int(observed.sum()), self
        if not observed[:t].all():  # no prefix, whose models are there
            score = self.in_order(np.argsort(~observed, kind="stable"))
        Z = self.conditional.units.apply(rows)[:, score.order[:t]]
        return score.judge_state(t, self.conditional.state_after(score.prefix_models, Z))

    def judge_state(self, t: int, state: PrefixState) -> tuple[Array, Array]:
        """Guesses and reliabilities after t values of series."""
        if not self.tables:
            return self.judge_moments(state.moments(self.prefix_models, t), self._count_open(t))
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

    def _count_open(self, t: int) -> int:
        """Unknown directions of the coordinates after t values, at least one; 0 without a set."""
        if self.region == "ideal":
            return 0
        units = self.conditional.units
        unknown = np.isin(np.arange(len(self.order)), self.order[t:]) & units.varies
        B = None if self.directions is None else units.scale[:, None] * self.directions
        return max(count_unknown_directions(B, unknown), 1)

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
        ideal = self.region == "ideal"
        winners = np.array([
            (expected_values(f, model) if ideal else f.b).argmax(axis=1)
            for f, model in zip(functions, models, strict=True)
        ])  # fmt: skip
        classes = winners if self.owners is None else self.owners[winners]
        guess = _likeliest(classes, known.probabilities, self.n_classes)
        reliability = np.zeros(len(guess))
        for k, (f, model) in enumerate(zip(functions, models, strict=True)):
            # a set stands about a mean where the guess wins; a probability is one anywhere
            rows = np.flatnonzero(ideal | (classes[k] == guess))
            if not len(rows):
                continue
            part, of_rows = _take_points(f, rows), model.of_rows(rows)
            if ideal:
                mass = bound_by_union(rival_probabilities(part, of_rows, guess[rows]))
            else:
                leading = winners[k, rows]
                mass = measure_of_set(part, of_rows, leading, n_unknown, self.region, self.owners)
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
        steps = self._innovations[:, watched, self._t : known]
        self._state.take(self._score.prefix_models, self._t, steps)
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
        models = self._score.prefix_models
        pairs = zip(models, self._factor_states, strict=True)
        steps = [model.factor.step(state, t, z - model.mean[t]) for model, state in pairs]
        self._state.take(models, t, np.array(steps)[:, None, None])

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


# Probabilities of quadratic rules ----------------------------------------------------------------


def bound_by_union(rivals: Array) -> Array:
    """At least the probability that no rival wins, from the probabilities (..., g) that each does.

    Examples
    --------
    >>> bound_by_union(np.array([[0.1, 0.0, 0.2], [0.7, 0.0, 0.6]])).round(3)
    array([0.7, 0. ])
    """
    return np.clip(1 - rivals.sum(axis=-1), 0.0, MAX_INCOMPLETE_RELIABILITY)


def expected_values(f: Quadratic, known: ConditionalMoments) -> Array:
    """``f(m) + tr(Q R)``: expected functions (n, n_classes) of the step from the mean."""
    assert f.Q is not None, "linear functions have tables"
    if f.Q.ndim == 3:
        return f.b + f.Q @ known.variances[0]
    F = known.spread
    return f.b + np.einsum("ngij,ij->ng", f.Q, F @ F.T)


def rival_probabilities(f: Quadratic, known: ConditionalMoments, guess: Array) -> Array:
    """The probability (n, n_classes) that each rival is larger than the guess, under one model.

    Parameters
    ----------
    f, known, guess
        As in `regions.measure_of_set`, with a quadratic part.
    """
    assert f.Q is not None, "linear functions have tables"
    probabilities = np.zeros(f.b.shape)
    R = known.spread @ known.spread.T
    gaps, slopes = gaps_to_rivals(f, guess), slopes_to_rivals(f, guess)
    for c in np.unique(guess):
        at = np.flatnonzero(guess == c)
        Q = f.Q if len(f.Q) == 1 else f.Q[at]
        mean, variance = bend_moments(Q[:, [c]] - Q, R)
        variance = variance + np.einsum("ngr,ngr->ng", slopes[at] @ R, slopes[at])
        probabilities[at] = _tails(gaps[at] + mean, np.sqrt(np.maximum(variance, 0.0)))
    return probabilities


def bend_moments(bend: Array, R: Array) -> tuple[Array, Array]:
    """Mean and variance of ``zᵀ B z`` for a normal z of mean 0 and covariance R.

    ``tr(B R)`` and ``2 tr(B R B R)``; B as matrices (..., r, r) or as diagonals (..., r).

    Examples
    --------
    >>> bend_moments(np.array([[[1.0, 1.0]]]), np.eye(2))  # chi-squared of two degrees
    (array([[2.]]), array([[4.]]))
    """
    if bend.ndim == 3:
        return bend @ R.diagonal(), 2 * np.einsum("ngr,ngr->ng", bend @ (R * R), bend)
    BR = bend @ R
    mean = np.einsum("ngii->ng", BR)
    return mean, 2 * np.einsum("ngij,ngji->ng", BR, BR)


def _tails(means: Array, deviations: Array) -> Array:
    """Probabilities that normal numbers are negative; where they do not vary 0, 1 or, at 0, ½."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return ndtr(-np.where(means == 0, 0.0, means / deviations))
