"""Quadratic rules along series: everything in the innovations that have not come yet.

A row is ``x = m_0 + L e`` with standard normal innovations e, of which the first t are known after
t values. A quadratic function of the row is one of e. What has come changes its value and its
slopes; its curvatures are one block of a matrix that no series changes. So the functions are
written in innovations once, their values follow the series by one product of t numbers for each
value, and slopes are found for the series alone that may be decided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.utils import gen_batches

from separatrix.decision.quadratic import Quadratic
from separatrix.early.arrival import Arrival, arrange
from separatrix.early.conditional import PrefixModel, prefix_innovations
from separatrix.early.region import (
    RADIUS_SLACK,
    distances_in_sphere,
    largest_reliability,
    shift_discriminants,
    squared_radius,
)
from separatrix.early.rule import MAX_COEFFICIENTS, IncompleteDecisionRule
from separatrix.early.votes import Vote, settle_votes
from separatrix.linalg import Array

MAX_CURVATURES = 1 << 23
"""Entries of the quadratic parts of all classes under all models that are held (64 MB)."""

MIN_SECOND_DIRECTION = 1e-6
"""Part of a product with curvatures that is not along the slope, below which it is rounding."""


class InnovationFunctions(NamedTuple):
    """The functions ``γ + β·e + eᵀ A e`` of the innovations e, under each model.

    Attributes
    ----------
    bends : array (n_models, n_classes, d, d)
        A, symmetric.
    slopes : array (n_models, n_classes, d)
        β.
    origins : array (n_models, n_classes)
        γ, the values before anything is observed.
    varies : array of bool (d,)
        Features that never varied are expected to stay as they were.
    """

    bends: Array
    slopes: Array
    origins: Array
    varies: Array

    @classmethod
    def express(cls, f: Quadratic, models: list[PrefixModel]) -> InnovationFunctions:
        """Functions of the coordinates as functions of the innovations."""
        parts = [_in_innovations(f, model) for model in models]
        bends, slopes, origins = (np.array(part) for part in zip(*parts, strict=True))
        return cls(bends, slopes, origins, models[0].varies)

    def change(self, e: Array, t: int) -> Array:
        """What innovation t of e (n_models, n, d) adds to the values (n_models, n, n_classes)."""
        new = e[:, :, t, None]
        slopes = e[:, :, :t] @ self.bends[:, :, t, :t].swapaxes(1, 2)
        slopes *= 2
        slopes += self.slopes[:, None, :, t]
        slopes += new * self.bends[:, None, :, t, t]
        slopes *= new
        return slopes

    def beside(self, model: int, c: int, t: int) -> Differences:
        """``f_c - f_g`` for all rivals g after t innovations."""
        left = slice(t, None) if self.varies[t:].all() else t + np.flatnonzero(self.varies[t:])
        rivals = np.arange(self.slopes.shape[1]) != c
        A, slopes = self.bends[model][:, left], self.slopes[model][:, left]
        bends = A[c] - A[rivals]
        return Differences(
            rivals, bends[:, :, left], 2 * bends[:, :, :t], slopes[c] - slopes[rivals]
        )


def _in_innovations(f: Quadratic, model: PrefixModel) -> tuple[Array, Array, Array]:
    at = shift_discriminants(f, model.origin[None])
    assert at.Q is not None, "linear functions have a table of their own"
    L, Q = model.gains, at.Q[0]
    bends = L.T @ (Q[:, :, None] * L if Q.ndim == 2 else Q @ L)
    return (bends + bends.swapaxes(1, 2)) / 2, at.c[0] @ L, at.b[0]


class Differences(NamedTuple):
    """Differences of one function to its rivals, in the innovations z that have not come.

    Attributes
    ----------
    rivals : array of bool (n_classes,)
    bends : array (n_rivals, k, k)
        Quadratic parts in z.
    crossed : array (n_rivals, k, t)
        The change of the slopes for each innovation that has come.
    slopes : array (n_rivals, k)
        Slopes where all innovations so far are zero.
    """

    rivals: Array
    bends: Array
    crossed: Array
    slopes: Array

    def squared_distances(self, e: Array, values: Array, own: Array, enough: Array) -> Array:
        """Squared lengths (n,) of the shortest z at which some rival wins.

        Parameters
        ----------
        e : array (n, t)
            Innovations that have come.
        values : array (n, n_classes)
            Of all functions at the mean, z = 0.
        own : array (n,)
            Values of the function that wins.
        enough : array (n,)
            Squared lengths below it need not be exact: an upper bound below it is returned.
        """
        gaps = own - values[:, self.rivals].T
        slopes = e @ self.crossed.swapaxes(1, 2)
        slopes += self.slopes[:, None]
        if not enough.any():
            return distances_in_sphere(self.bends, slopes, gaps).min(axis=0)
        found = bound_distances(self.bends, slopes, gaps, enough)
        left = np.flatnonzero(found >= enough)
        if len(left):
            to_rivals = distances_in_sphere(self.bends, slopes[:, left], gaps[:, left])
            found[left] = to_rivals.min(axis=0)
        return found


def bound_distances(bends: Array, slopes: Array, gaps: Array, enough: Array) -> Array:
    """Upper bounds (n,) of the squared lengths of the shortest z at which a quadratic is zero.

    Along the steepest descent first, which settles most rows under one model. Where the quadratic
    bends upwards there it may never be zero: the plane of the slope and its product with the
    curvatures holds nearer points.

    Parameters
    ----------
    bends : array (p, k, k)
    slopes, gaps : array (p, n, k), (p, n)
    enough : array (n,)
        Bounds below it are not improved.
    """
    turned = slopes @ bends
    lengths = np.einsum("pnk,pnk->pn", slopes, slopes)
    bend = np.einsum("pnk,pnk->pn", slopes, turned)
    with np.errstate(divide="ignore", invalid="ignore"):
        # the smaller root of the parabola along the descent; NaN where it never meets zero
        root = lengths + np.sqrt(lengths**2 - 4 * bend * gaps)
        steps = np.where(root > 0, 4 * lengths * (gaps / root) ** 2, np.inf)
    found = steps.min(axis=0)
    left = np.flatnonzero(found >= enough)
    if len(left):
        in_plane = _distances_in_plane(bends, slopes[:, left], turned[:, left], gaps[:, left])
        found[left] = np.minimum(found[left], in_plane.min(axis=0))
    return found


def _distances_in_plane(bends: Array, slopes: Array, turned: Array, gaps: Array) -> Array:
    """Squared lengths (p, n) of the shortest z in the plane of the slope and its product.

    In orthonormal axes u along the slope and v beside it the curvatures are a matrix of order 2.
    """
    size = np.linalg.norm(slopes, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = slopes / size[..., None]
        turned = turned / size[..., None]
        uu = np.einsum("pnk,pnk->pn", u, turned)
        beside = turned - uu[..., None] * u
        uv = np.linalg.norm(beside, axis=-1)
        v = beside / uv[..., None]
    vv = np.einsum("pnk,pnk->pn", v @ bends, v)
    # a product along the slope itself leaves no second axis, only rounding
    has_plane = uv > MIN_SECOND_DIRECTION * np.linalg.norm(turned, axis=-1)
    found = np.full(gaps.shape, np.inf)
    uu, uv, vv, size, gaps = (part[has_plane] for part in (uu, uv, vv, size, gaps))
    found[has_plane] = distances_in_sphere(
        np.stack([uu, uv, uv, vv], axis=-1).reshape(-1, 2, 2),
        np.stack([size, np.zeros_like(size)], axis=-1)[:, None],
        gaps[:, None],
    )[:, 0]
    return found


# Judging -----------------------------------------------------------------------------------------


def can_follow(rule: IncompleteDecisionRule) -> bool:
    """Whether the quadratic functions of a rule are worth writing in innovations.

    They are where coordinates are as many as innovations: a few coordinates have smaller matrices.
    """
    f = rule.discriminants
    if not isinstance(f, Quadratic) or f.Q is None or rule.owners is not None:
        return False
    q, d = rule.prefix_models[0].gains.shape
    n_curvatures = len(rule.prefix_models) * rule.n_classes * d**2
    whole = rule.region in ("ellipsoid", "chebyshev")
    return whole and q >= d and n_curvatures <= MAX_CURVATURES


class QuadraticJudge:
    """The values of quadratic functions for series whose values are taken one after the other.

    It judges as `IncompleteDecisionRule.guess_after` does.
    """

    def __init__(
        self, rule: IncompleteDecisionRule, rows: Array, arrival: Arrival | None = None
    ) -> None:
        self._rule, self._arrival, models = rule, arrival, rule.prefix_models
        Z = arrange(rule.conditional.units.apply(rows), arrival)
        assert isinstance(rule.discriminants, Quadratic), "see can_follow"
        self._functions = InnovationFunctions.express(rule.discriminants, models)
        self._innovations = prefix_innovations(models, np.nan_to_num(Z))
        self._values = np.repeat(self._functions.origins[:, None], len(rows), axis=1)
        # the logarithm of w(g) p(z | g) of (5.20), up to a constant
        self._log_densities = np.tile(np.log(rule.conditional.weights), (len(rows), 1))
        self._log_units = np.log([model.factor.diagonal for model in models])
        self._watched, self._t = np.arange(len(rows)), 0

    def judge(self, t: int, watched: Array, least: float = 0.0) -> tuple[Array, Array]:
        """Guesses and reliabilities of some of the series, from their first t values."""
        if len(watched) < len(self._watched):
            at = np.searchsorted(self._watched, watched)
            self._innovations, self._values = self._innovations[:, at], self._values[:, at]
            self._log_densities, self._watched = self._log_densities[at], watched
        known = t if self._arrival is None else int(self._arrival.counts[t])
        for s in range(self._t, known):
            self._values += self._functions.change(self._innovations, s)
            self._log_densities -= 0.5 * self._innovations[:, :, s].T ** 2 + self._log_units[:, s]
        self._t = known
        guess, reliability = np.empty(len(watched), dtype=int), np.empty(len(watched))
        n_at_once = max(1, MAX_COEFFICIENTS // self._functions.slopes.size)
        for part in gen_batches(len(watched), n_at_once):
            guess[part], reliability[part] = self._guess(part, least)
        return guess, reliability

    def _guess(self, part: slice, least: float) -> tuple[Array, Array]:
        t, region = self._t, self._rule.region
        n_unknown = int(self._rule.n_unknown[t])
        innovations, values = self._innovations[:, part, :t], self._values[:, part]
        probabilities = softmax(self._log_densities[part], axis=1)
        winners = values.argmax(axis=2)

        def ask(model: int, rows: Array) -> Vote:
            return Vote(model, rows, winners[model, rows])

        def measure(vote: Vote, at: Array, needed: Array) -> Array:
            rows, enough = vote.rows[at], squared_radius(needed, n_unknown, region)
            squared = self._squared_distances(
                vote.model,
                innovations[vote.model, rows],
                values[vote.model, rows],
                vote.classes[at],
                (1 - RADIUS_SLACK) * enough,
            )
            return largest_reliability(squared, n_unknown, region)

        n_classes = self._rule.n_classes
        return settle_votes(probabilities, n_classes, least, ask, measure, ask_all=True)

    def _squared_distances(
        self, model: int, e: Array, values: Array, winners: Array, enough: Array
    ) -> Array:
        found = np.empty(len(e))
        for c in np.unique(winners):
            at = np.flatnonzero(winners == c)
            beside = self._functions.beside(model, c, self._t)
            found[at] = beside.squared_distances(e[at], values[at], values[at, c], enough[at])
        return found
