"""Rule (5.2): the class that an incomplete row would be decided as, and how reliable that is.

Sets and distances are those of `region`, probabilities those of `probability`; here they meet the
model of the missing values. Equation numbers are those of Parrish's thesis, see `conditional`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtr
from sklearn.utils import gen_batches

from separatrix.decision.local_qda import LocalQDA
from separatrix.decision.quadratic import Quadratic
from separatrix.early.conditional import (
    ConditionalModel,
    ConditionalMoments,
    PrefixModel,
    PrefixState,
    count_unknown_directions,
    sum_from_end,
)
from separatrix.early.probability import (
    bound_by_union,
    expected_values,
    ideal_probability,
    rival_probabilities,
)
from separatrix.early.region import (
    COORDINATE_REGIONS,
    MAX_INCOMPLETE_RELIABILITY,
    RADIUS_SLACK,
    largest_reliability,
    shift_discriminants,
    squared_distances_to_boundaries,
    squared_radius,
    take_points,
)
from separatrix.early.votes import Vote, settle_votes
from separatrix.linalg import Array

MIN_DEVIATION = 1e-100
"""Standard deviation of a difference of scores that is known, in place of zero."""

MAX_COEFFICIENTS = 1 << 22
"""Coefficients of discriminants that are held at once (32 MB)."""


# Linear scores -----------------------------------------------------------------------------------


class ScoreTable(NamedTuple):
    """Linear scores under one normal model, with the deviations of their differences tabulated.

    Attributes
    ----------
    gains : array (d, n_classes)
        The change of the scores for each innovation.
    steepness : array (d + 1, n_classes, n_classes)
        The inverse of the standard deviation of the difference of two scores after t values; 1 for
        the difference of a score with itself.
    own : array (n_classes, n_classes)
        Infinite on the diagonal, zero elsewhere: a class is never a rival of itself.
    n_open : array (d + 1,) or None
        Coordinates that are unknown after t values, for a set that belongs to coordinates.
    """

    gains: Array
    steepness: Array
    own: Array
    n_open: Array | None = None

    @classmethod
    def tabulate(cls, model: PrefixModel) -> ScoreTable:
        """The table of a model whose functions are the scores; d n_classes² flops."""
        gains = np.ascontiguousarray(model.gains.T)
        open_gains = gains * model.varies[:, None]
        differences = (open_gains[:, :, None] - open_gains[:, None]) ** 2
        return cls._from_widths(gains, np.sqrt(sum_from_end(differences)))

    @classmethod
    def of_coordinates(cls, model: PrefixModel, slopes: Array, region: str) -> ScoreTable:
        """The table of scores with slopes (n_classes, q) in coordinates that stand alone.

        A box of one standard deviation has the width ``|β|ᵀ s`` (5.13), an ellipsoid without
        correlations ``‖s β‖``, for the difference β of two slopes: distances between slopes.
        """
        variances = sum_from_end((model.gains * model.varies).T ** 2)
        metric = "cityblock" if region == "box" else "euclidean"
        points = (np.sqrt(s) * slopes for s in variances)
        widths = np.array([cdist(at, at, metric) for at in points])
        n_open = np.maximum(np.count_nonzero(variances, axis=1), 1)
        return cls._from_widths(model.gains.T @ slopes.T, widths)._replace(n_open=n_open)

    @classmethod
    def _from_widths(cls, gains: Array, widths: Array) -> ScoreTable:
        n_classes = gains.shape[1]
        deviation = np.maximum(widths, MIN_DEVIATION)
        deviation[:, range(n_classes), range(n_classes)] = 1.0
        return cls(gains, 1 / deviation, np.where(np.eye(n_classes, dtype=bool), np.inf, 0.0))

    def distances(self, scores: Array, guess: Any, best: Any, t: int) -> Array:
        """To each boundary, in standard deviations, of scores (..., n_classes); own ones infinite.

        Proposition 2 solved for √δ: the gap of two scores over the deviation of their difference.
        """
        gaps = best - scores
        gaps += self.own[guess]
        gaps *= self.steepness[t, guess]
        return gaps

    def reliability(
        self, scores: Array, guess: Any, best: Any, t: int, n_unknown: int, region: str
    ) -> Array:
        """The measure of the largest set on which the guess wins, or a bound of its probability.

        0 where another class wins at the mean.
        """
        distances = self.distances(scores, guess, best, t)
        if region == "ideal":
            return bound_by_union(ndtr(-distances))
        nearest = np.maximum(distances.min(axis=-1), 0.0)
        return largest_reliability(nearest**2, n_unknown, region)


# The rule ----------------------------------------------------------------------------------------


class IncompleteDecisionRule(NamedTuple):
    """Rule (5.2): guess the class of incomplete rows, and state how reliable the guess is.

    Attributes
    ----------
    conditional : ConditionalModel
        Of the arguments of the discriminants.
    discriminants : Quadratic or LocalQDA
        The functions f_g of (5.6), or the classifier that gives them around each row.
    directions : array (d, q) or None
        Weights of the features in the coordinates of the classifier; None for the features.
    region : "ellipsoid", "diagonal", "box", "chebyshev" or "ideal"
    n_classes : int
    prefix_models : list of PrefixModel
        The models with the features in the order of the columns.
    n_unknown : array of int (d + 1,)
        Unknown directions after each number of leading values.
    score_table : ScoreTable or None
        For linear scores of one model, unless the region belongs to coordinates.
    owners : array (n_functions,) or None
        The class that each function speaks for, where there are more functions than classes.
    score_tables : list of ScoreTable or None
        For linear functions of coordinates, or of several models: one for each model.
    """

    conditional: ConditionalModel
    discriminants: Quadratic | LocalQDA
    directions: Array | None
    region: str
    n_classes: int
    prefix_models: list[PrefixModel]
    n_unknown: Array
    score_table: ScoreTable | None
    owners: Array | None = None
    score_tables: list[ScoreTable] | None = None

    def in_order(self, order: Array) -> IncompleteDecisionRule:
        """The rule for features that arrive in another order."""
        parts = (self.discriminants, self.directions, self.region, self.n_classes, self.owners)
        return build_rule(self.conditional, *parts, order)

    @property
    def n_features(self) -> int:
        """Number of features of a complete row."""
        return len(self.conditional.units.mean)

    def condition(self, rows: Array, observed: Array) -> ConditionalMoments:
        """Moments given the observed features (d,) of rows (n, d)."""
        t = int(observed.sum())
        if observed[:t].all():  # a prefix, whose factor is at hand
            Z = self.conditional.units.apply(rows[:, :t])
            return self.conditional.condition_on_prefix(self.prefix_models, Z)
        return self.conditional.condition(rows, observed)

    def count_unknown(self, missing: Array) -> int:
        """Unknown directions while some features (d,) are missing; a set has at least one."""
        return count_open_directions(self.conditional, self.directions, missing)

    def guess(
        self, known: ConditionalMoments, n_unknown: int, least: float = 0.0
    ) -> tuple[Array, Array]:
        """The guess for each row and its reliability, both (n,).

        Reliabilities of at least `least` are exact; of the others only this is certain, that they
        are smaller.
        """
        if self._has_ideal:
            return ideal_probability(known)
        n_rows = len(known.probabilities)
        guess, reliability = np.empty(n_rows, dtype=int), np.empty(n_rows)
        for part in gen_batches(n_rows, self._max_rows()):
            guess[part], reliability[part] = self._guess(known.of_rows(part), n_unknown, least)
        return guess, reliability

    def guess_after(self, t: int, state: PrefixState, least: float = 0.0) -> tuple[Array, Array]:
        """`guess` after t values of series."""
        n_unknown = int(self.n_unknown[t])
        if self.score_tables is not None:
            return self._guess_by_tables(self.score_tables, state, t)
        if self.score_table is None:
            return self.guess(state.moments(self.prefix_models, t), n_unknown, least)
        scores, table = state.means[0], self.score_table
        guess, best = scores.argmax(axis=1), scores.max(axis=1)[:, None]
        return guess, table.reliability(scores, guess, best, t, n_unknown, self.region)

    @property
    def _has_ideal(self) -> bool:
        """Whether the probability of the guess is known exactly: two classes, linear scores."""
        f = self.discriminants
        linear = isinstance(f, Quadratic) and f.Q is None and self.owners is None
        return self.region == "ideal" and linear and self.n_classes == 2

    def _guess_by_tables(
        self, tables: list[ScoreTable], state: PrefixState, t: int
    ) -> tuple[Array, Array]:
        """`guess` of linear functions after t values, without a set for each row."""
        f = self.discriminants
        assert isinstance(f, Quadratic), "local functions have no table"
        scores, probabilities = state.means @ f.c.T + f.b, state.probabilities
        rows = np.arange(scores.shape[1])
        backing = np.zeros(scores.shape[1:])
        for winners, share in zip(scores.argmax(axis=2), probabilities.T, strict=True):
            backing[rows, winners] += share
        guess, reliability = backing.argmax(axis=1), np.zeros(len(rows))
        for table, at, share in zip(tables, scores, probabilities.T, strict=True):
            n_unknown = int((self.n_unknown if table.n_open is None else table.n_open)[t])
            best = at[rows, guess][:, None]
            mass = table.reliability(at, guess, best, t, n_unknown, self.region)
            reliability += share * mass
        return guess, np.minimum(reliability, MAX_INCOMPLETE_RELIABILITY)

    def _max_rows(self) -> int:
        """Rows whose discriminants are small enough to be held at once."""
        r = len(self.prefix_models[0].gains)
        full = (
            isinstance(self.discriminants, LocalQDA) and self.discriminants.covariance_ == "full"
        )
        entries = self.n_classes * len(self.prefix_models) * r * (r if full else 1)
        return max(1, MAX_COEFFICIENTS // entries)

    def _guess(
        self, known: ConditionalMoments, n_unknown: int, least: float
    ) -> tuple[Array, Array]:
        """`guess` of rows that are few enough."""

        def ask(model: int, rows: Array) -> Vote:
            f = self._discriminants_at(known.means[model, rows])
            winners = self._winners(f, known.of_model(model).of_rows(rows))
            return Vote(model, rows, self._classes_of(winners), (f, winners))

        def measure(vote: Vote, at: Array, needed: Array) -> Array:
            f, winners = vote.functions
            alone = known.of_model(vote.model).of_rows(vote.rows[at])
            return self._mass(take_points(f, at), alone, winners[at], n_unknown, needed)

        return settle_votes(known.probabilities, self.n_classes, least, ask, measure)

    def _winners(self, f: Quadratic, known: ConditionalMoments) -> Array:
        """The guesses c = argmax f_g(m) of section 5.3.4; for the ideal set, on average."""
        values = expected_values(f, known) if self.region == "ideal" else f.b
        return values.argmax(axis=1)

    def _classes_of(self, functions: Array) -> Array:
        """The numbers of the classes that functions speak for."""
        return functions if self.owners is None else self.owners[functions]

    def _discriminants_at(self, means: Array) -> Quadratic:
        if isinstance(self.discriminants, LocalQDA):
            # the neighbours of the mean, section 5.3: they need not be those of the complete row
            return self.discriminants.discriminants(means, about=means)
        return shift_discriminants(self.discriminants, means)

    def _mass(
        self,
        f: Quadratic,
        known: ConditionalMoments,
        winners: Array,
        n_unknown: int,
        needed: Array,
    ) -> Array:
        """a_k: the measure of the largest set about the mean of one model where the guess wins."""
        if self.region == "ideal":
            return bound_by_union(rival_probabilities(f, known, winners, self.owners))
        box = self.region == "box"
        if self.region == "diagonal":
            known = known.without_correlations()
        if self.region in COORDINATE_REGIONS:
            # one box for all rivals, or one along the eigenvectors of each
            rotated = box and f.Q is not None and f.Q.ndim == 4
            n_boxes = self.n_classes - 1 if rotated else 1
            n_unknown = max(int(np.count_nonzero(known.is_open)), 1) * n_boxes
        enough = (1 - RADIUS_SLACK) * squared_radius(needed, n_unknown, self.region)
        squared = squared_distances_to_boundaries(
            f, known, winners, box=box, enough=enough, owners=self.owners
        )
        return largest_reliability(squared, n_unknown, self.region)


def build_rule(
    conditional: ConditionalModel,
    discriminants: Quadratic | LocalQDA,
    directions: Array | None,
    region: str,
    n_classes: int,
    owners: Array | None = None,
    order: Array | None = None,
) -> IncompleteDecisionRule:
    """The rule with its models in the order of arrival, that of the columns, and its tables."""
    models = conditional.prefix_models(order)
    of_coordinates = region in COORDINATE_REGIONS
    table, tables = None, None
    if isinstance(discriminants, Quadratic) and discriminants.Q is None and owners is None:
        if of_coordinates:
            tables = [ScoreTable.of_coordinates(m, discriminants.c, region) for m in models]
        elif len(models) == 1:
            table = ScoreTable.tabulate(models[0])
        elif region != "ideal" or n_classes > 2:
            tables = [ScoreTable.tabulate(model) for model in models]
    return IncompleteDecisionRule(
        conditional,
        discriminants,
        directions,
        region,
        n_classes,
        models,
        count_after_prefixes(conditional, directions, order),
        table,
        owners,
        tables,
    )


def count_open_directions(
    conditional: ConditionalModel, directions: Array | None, missing: Array
) -> int:
    """Unknown directions of the coordinates ``directionsᵀ x`` while features are missing."""
    units = conditional.units
    scaled = None if directions is None else units.scale[:, None] * directions
    return max(count_unknown_directions(scaled, missing & units.varies), 1)


def count_after_prefixes(
    conditional: ConditionalModel, directions: Array | None, order: Array | None = None
) -> Array:
    """Unknown directions after 0, 1, … d values in the order of their arrival."""
    d = len(conditional.units.mean)
    place = np.arange(d) if order is None else np.argsort(order)
    most = count_open_directions(conditional, directions, np.ones(d, dtype=bool))
    counts = np.full(d + 1, most)
    for t in range(d, -1, -1):
        counts[t] = count_open_directions(conditional, directions, place >= t)
        if counts[t] == most:  # shorter prefixes leave no more open
            break
    return counts
