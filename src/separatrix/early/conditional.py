"""Normal models of the features, conditioned on any of them: section 5.4 of the thesis.

A normal vector with covariance ``Σ = L Lᵀ`` is ``x = μ + L e`` with independent standard normal
innovations e. Its first t features determine the first t innovations, and nothing else: given
them, linear functions ``Bᵀx`` have the mean ``Bᵀμ + (BᵀL)[:, :t] e`` and the covariance
``(BᵀL)[:, t:] (BᵀL)[:, t:]ᵀ``. These are m and R of (5.19) without an inverse: one triangular
factor conditions on every prefix, and on any other set of features once they are put first.

Equation numbers are those of Parrish, Supervised dimensionality reduction for different learning
architectures, doctoral thesis, University of Washington (2012).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.special import softmax

from separatrix.linalg import EPS, Array, numerical_rank, triangle
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import row_blocks
from separatrix.moments.scatter import Scatter
from separatrix.moments.spectra import reduce_to_span
from separatrix.selection import N_FOLDS, training_parts

SHRINKAGE_GRID = np.logspace(-6, 0, 25)
"""Values of α among which ``regularization="auto"`` chooses, in increasing order."""

MAX_CONSTANT_ULPS = 16
"""Standard deviation up to which a feature is constant, in units of the last digit of its mean."""

MIN_TOTAL_SHARE = 1e-6
"""Part of its total variance that a feature has at least within the models."""


class Expectation(NamedTuple):
    """Features of incomplete rows: the observed values, and the expected ones of the rest.

    Attributes
    ----------
    mean : array (n, n_features)
    std : array (n, n_features)
        Standard deviations; zero where features are observed.
    """

    mean: Array
    std: Array


# Triangular factors ------------------------------------------------------------------------------


class DenseFactor(NamedTuple):
    """``Σ = L Lᵀ`` with L computed: d³ / 3 flops, d² for each row."""

    L: Array

    @property
    def diagonal(self) -> Array:
        """Standard deviation of each feature given those before it."""
        return np.diagonal(self.L)

    def image(self, B: Array | None) -> Array:
        """``Bᵀ L`` (q, d) for the columns of B; L itself without any."""
        return self.L if B is None else B.T @ self.L

    def innovations(self, rows: Array) -> Array:
        """E with ``L e = x`` for the leading features (n, t) of centred rows."""
        t = rows.shape[1]
        solved = scipy.linalg.solve_triangular(
            self.L[:t, :t], rows.T, lower=True, check_finite=False
        )
        return solved.T

    def start(self) -> Array:
        """The state of `step` before the first feature: room for the innovations."""
        return np.zeros(len(self.L))

    def step(self, state: Array, t: int, value: float) -> float:
        """The innovation of centred feature t, which is also written into the state."""
        row = self.L[t]
        e = (value - row[:t] @ state[:t]) / row[t]
        state[t] = e
        return e


class ThinFactor(NamedTuple):
    """``Σ = A Aᵀ + σ² I`` for A of fewer columns than rows: L is never formed.

    Rows are ``x = A z + noise``. Below its diagonal L has the entries ``A[i] · G[t]``, where G[t]
    is the change of the mean of z for a unit innovation of feature t. d k² flops, d k for each
    row, for k columns.
    """

    A: Array
    G: Array
    diagonal: Array

    def image(self, B: Array | None) -> Array:
        """``Bᵀ L`` (q, d) for the columns of B; L itself, d × d, without any."""
        if B is None:
            return np.tril(self.A @ self.G.T, -1) + np.diag(self.diagonal)
        gains = B.T * self.diagonal
        below = np.zeros((B.shape[1], self.A.shape[1]))
        for t in range(len(self.A) - 1, -1, -1):
            gains[:, t] += below @ self.G[t]
            below += np.outer(B[t], self.A[t])
        return gains

    def innovations(self, rows: Array) -> Array:
        """E with ``L e = x`` for the leading features (n, t) of centred rows."""
        z = np.zeros((len(rows), self.A.shape[1]))
        e = np.empty(rows.shape)
        for t in range(rows.shape[1]):
            e[:, t] = (rows[:, t] - z @ self.A[t]) / self.diagonal[t]
            z += np.outer(e[:, t], self.G[t])
        return e

    def start(self) -> Array:
        """The state of `step` before the first feature: the mean of z."""
        return np.zeros(self.A.shape[1])

    def step(self, state: Array, t: int, value: float) -> float:
        """The innovation of centred feature t; the state is updated with it."""
        e = (value - self.A[t] @ state) / self.diagonal[t]
        state += e * self.G[t]
        return e


Factor = DenseFactor | ThinFactor


def thin_factor(A: Array, noise: float) -> ThinFactor:
    """Factor ``A Aᵀ + noise I`` feature by feature, as a Kalman filter does.

    Examples
    --------
    >>> A = np.array([[1.0], [2.0], [0.0]])
    >>> L = thin_factor(A, 0.5).image(None)
    >>> bool(np.allclose(L @ L.T, A @ A.T + 0.5 * np.eye(3)))
    True
    """
    d, k = A.shape
    P = np.eye(k)  # covariance of z given the features so far
    G, diagonal = np.empty((d, k)), np.empty(d)
    for t in range(d):
        Pa = P @ A[t]
        diagonal[t] = np.sqrt(noise + A[t] @ Pa)
        G[t] = Pa / diagonal[t]
        P -= np.outer(G[t], G[t])
    return ThinFactor(A, G, diagonal)


# Statistics of the features ----------------------------------------------------------------------


class FeatureUnits(NamedTuple):
    """Units in which rows have mean zero and features have variance one, or nearly.

    Attributes
    ----------
    mean : array (d,)
        Mean of all rows.
    scale : array (d,)
        One unit of each feature; 1 for a feature that never varies.
    varies : array of bool (d,)
        False for features that were constant.
    """

    mean: Array
    scale: Array
    varies: Array

    def apply(self, X: Array) -> Array:
        """Rows, or leading features of them, in these units."""
        t = X.shape[1]
        return (X - self.mean[:t]) / self.scale[:t]


class Directions(NamedTuple):
    """Directions in which training rows vary, and directions in which they do not.

    Attributes
    ----------
    spread : array of bool (d,)
        Features that vary within the models.
    varying : array (n_spread, k) or None
        Orthonormal basis of the directions of these features in which rows vary; None when the
        rows are too few to find the others.
    closed : array (d, n_closed)
        Orthonormal basis of the directions in which rows do not vary.
    """

    spread: Array
    varying: Array | None
    closed: Array

    def project(self, Z: Array) -> Array:
        """Coordinates of rows (n, d) in the directions in which they vary."""
        rows = Z[:, self.spread]
        return rows if self.varying is None else rows @ self.varying


class FeatureSummary(NamedTuple):
    """Statistics of the training rows from which their normal models are made.

    Attributes
    ----------
    moments : ClassMoments
        Of the rows as differences from `reference`, with one class for each model.
    reference : array (d,)
        A training row.
    units : FeatureUnits
    directions : Directions
    """

    moments: ClassMoments
    reference: Array
    units: FeatureUnits
    directions: Directions


def summarize_features(X: Array, codes: Array, uncertain: Array | None = None) -> FeatureSummary:
    """Moments, units and directions of rows.

    Parameters
    ----------
    X : array (n, d)
        Complete rows.
    codes : array (n,)
        The model that each row belongs to: 0, 1, … without gaps.
    uncertain : array (n_models, d, d), optional
        Scatter of values that were missing and are filled, as `gaps.FilledRows` has it.
    """
    # the means of differences keep the digits that an offset common to all rows would take
    reference = X[0].copy()
    moments = ClassMoments.from_data(X - reference, codes, per_class=True)
    if uncertain is not None:
        moments = moments + scatter_alone(uncertain)
    units = estimate_units(moments, reference)
    return FeatureSummary(moments, reference, units, find_directions(moments, units.scale))


def scatter_alone(matrices: Array) -> ClassMoments:
    """Moments of no rows with scatter (n_models, d, d): to be added to those of rows."""
    n, d = matrices.shape[:2]
    nothing = np.zeros((n, d))
    scatters = [Scatter(d, matrix) for matrix in matrices]
    return ClassMoments(
        np.arange(n), np.zeros(n), nothing, np.zeros(d), scatters, EPS, per_class=True
    )


def estimate_units(moments: ClassMoments, reference: Array) -> FeatureUnits:
    """The variance of each feature within the models, and a millionth of its total variance.

    The millionth gives a unit to features that differ between models only. A feature whose
    standard deviation is numerically zero relative to its mean counts as constant.
    """
    n = moments.n_samples
    # a product of rows that differ by their last digits may come out below zero
    within = np.maximum(moments.within_diagonal(), 0.0) / n
    total = np.maximum(moments.total_diagonal(), 0.0) / n
    mean = reference + moments.mean
    varies = np.sqrt(total) > MAX_CONSTANT_ULPS * EPS * np.abs(mean)
    variance = np.where(varies, (1 - MIN_TOTAL_SHARE) * within + MIN_TOTAL_SHARE * total, 1.0)
    return FeatureUnits(mean, np.sqrt(variance), varies)


def find_directions(moments: ClassMoments, scale: Array) -> Directions:
    """Directions of features in units of `scale`, by the covariance within all models."""
    spread = moments.within_diagonal() > 0
    n, d = moments.n_samples, np.count_nonzero(spread)
    if n <= d:  # at most d rows vary in fewer than d directions in any case
        return Directions(spread, None, np.zeros((len(scale), 0)))
    covariance = moments.select_columns(spread).Sw / n
    varying, constant = split_directions(in_units(covariance, scale[spread]))
    closed = np.zeros((len(scale), constant.shape[1]))
    closed[spread] = constant
    return Directions(spread, varying, closed)


def split_directions(covariance: Array) -> tuple[Array, Array]:
    """Orthonormal directions in which rows vary, and those in which they do not.

    The latter have less variance than any shrinkage of the grid. Series whose mean was subtracted
    have one of them.

    Examples
    --------
    >>> rows = np.array([[1.0, -1.0], [-1.0, 1.0], [0.0, 0.0]])
    >>> varying, closed = split_directions(rows.T @ rows / 3)
    >>> abs(closed.T).round(3)
    array([[0.707, 0.707]])
    """
    evals, V = np.linalg.eigh(covariance)
    varies = evals > SHRINKAGE_GRID[0]
    return V[:, varies], V[:, ~varies]


def in_units(covariance: Array, scale: Array) -> Array:
    """The covariance (d, d) of features divided by their scales."""
    return covariance / scale[:, None] / scale


# Normal models -----------------------------------------------------------------------------------


class NormalModel(NamedTuple):
    """A normal model of rows in units of their features: ``Σ = (1 - α) S + α I`` in (5.19).

    The identity is restricted to the directions in which rows vary, when there are enough rows to
    find them: a linear equation that all rows satisfy is expected to hold for new rows.

    Attributes
    ----------
    mean : array (d,)
        In the units of the features.
    scatter : array (d, d) or (d, n)
        S, or A with ``S = A Aᵀ`` when there are more features than rows.
    shrinkage : float
        α.
    closed : array (d, k)
        Orthonormal directions in which rows do not vary.
    widening : float
        Factor of all standard deviations.
    """

    mean: Array
    scatter: Array
    shrinkage: float
    closed: Array
    widening: float = 1.0

    def factor(self, order: Array) -> Factor:
        """The triangular factor of Σ with the features in another order."""
        if self.scatter.shape[0] != self.scatter.shape[1]:
            A = np.sqrt(1 - self.shrinkage) * self.scatter[order]
            return thin_factor(self.widening * A, self.widening**2 * self.shrinkage)
        covariance = (1 - self.shrinkage) * self.scatter[np.ix_(order, order)]
        covariance[np.diag_indices_from(covariance)] += self.shrinkage
        closed = self.closed[order]
        # a little variance stays in the closed directions: Cholesky needs a positive definite Σ
        covariance -= max(self.shrinkage - SHRINKAGE_GRID[0], 0.0) * (closed @ closed.T)
        return DenseFactor(self.widening * np.linalg.cholesky(covariance))


def fit_normal_models(summary: FeatureSummary, shrinkage: float) -> list[NormalModel]:
    """The joint normal model (5.19), or the components of the mixture (5.20)."""
    moments, units = summary.moments, summary.units
    # the rounded mean as a difference from the reference: what its rounding lost comes back here
    centre = units.mean - summary.reference
    means = (moments.means - centre) / units.scale
    scatters = unit_scatters(moments, units.scale)
    closed = summary.directions.closed
    return [
        NormalModel(mean, S, shrinkage, closed) for mean, S in zip(means, scatters, strict=True)
    ]


def unit_scatters(moments: ClassMoments, scale: Array) -> list[Array]:
    """S of each class in units, or A with ``S = A Aᵀ`` where the moments hold rows."""
    if not moments.is_thin:
        pairs = zip(moments.class_scatters, moments.counts, strict=True)
        return [in_units(scatter / n, scale) for scatter, n in pairs]
    rows = [
        moments.select_classes(np.array([c])).within_factor() for c in range(len(moments.counts))
    ]
    return [(R / scale).T / np.sqrt(n) for R, n in zip(rows, moments.counts, strict=True)]


def select_shrinkage(Z: Array, codes: Array, **splitting: Any) -> float:
    """The shrinkage α under which rows that were held out are most likely.

    All shrinkages share the eigenvectors of S, so that one decomposition for each fold and model
    serves them all. Of values that are equally good the largest is taken.

    Parameters
    ----------
    Z : array (n, d)
        Rows in the directions in which they vary. In any other direction the likelihood grows as
        the shrinkage falls, whatever the shrinkage does elsewhere.
    codes : array (n,)
        The model that each row belongs to; each has a mean and a covariance of its own.
    splitting
        Groups and splitter, as `selection.training_parts` takes them.
    """
    scores = np.zeros(len(SHRINKAGE_GRID))
    for fit, held in training_parts(codes, N_FOLDS, **splitting) if Z.shape[1] else ():
        for code in np.unique(codes[held]):
            known, new = fit[codes[fit] == code], held[codes[held] == code]
            moments = ClassMoments.from_data(Z[known], codes[known])
            scores += log_likelihoods(moments, Z[new])
    # nothing varies, or every row is alone in its model and none held out: all scores are 0 then
    return float(SHRINKAGE_GRID[::-1][np.argmax(scores[::-1])])


def log_likelihoods(moments: ClassMoments, new: Array) -> Array:
    """Log-likelihoods of new rows (n, d) for each shrinkage of the grid, up to a constant.

    Parameters
    ----------
    moments : ClassMoments
        Of the rows of one model.
    new : array (n, d)
        Rows of the same model that were held out.
    """
    centred = new - moments.mean
    inner, lift = reduce_to_span(moments)
    evals, V = np.linalg.eigh(inner.Sw / moments.n_samples)
    inside = np.sum((centred @ lift(V)) ** 2, axis=0)
    # outside the span of the rows S is zero, and all variance is the shrinkage's
    n_outside = moments.n_features - len(evals)
    outside = max(float(np.sum(centred**2)) - inside.sum(), 0.0) if n_outside else 0.0
    variances = np.maximum(evals, 0.0) * (1 - SHRINKAGE_GRID[:, None]) + SHRINKAGE_GRID[:, None]
    log_volumes = np.log(variances).sum(axis=1) + n_outside * np.log(SHRINKAGE_GRID)
    distances = np.sum(inside / variances, axis=1) + outside / SHRINKAGE_GRID
    return -0.5 * (len(new) * log_volumes + distances)


# Conditioning ------------------------------------------------------------------------------------


class ConditionalMoments(NamedTuple):
    """Moments of linear functions of rows given the observed features.

    Under each model the functions are ``mean + spread @ z`` with z of mean 0 and covariance I.

    Attributes
    ----------
    means : array (n_models, n, q)
        m of (5.19), or m_g of (5.20).
    probabilities : array (n, n_models)
        p(g | z) of the models.
    spreads : list of arrays (q, k)
        F with ``R = F Fᵀ`` under each model, the same for all rows.
    """

    means: Array
    probabilities: Array
    spreads: list[Array]

    @property
    def mean(self) -> Array:
        """Mean of the mixture (n, q): ``m = Σ_g p(g | z) m_g``."""
        if len(self.means) == 1:
            return self.means[0]
        return np.einsum("nk,knq->nq", self.probabilities, self.means)

    @property
    def variances(self) -> Array:
        """Variances of the mixture (n or 1, q), the same for all rows of one model.

        The diagonal of R in appendix C of the thesis, as the identity of total variance: that form
        has no difference of large squares.
        """
        own = np.array([np.sum(F**2, axis=1) for F in self.spreads])
        if len(self.means) == 1:
            return own
        between = (self.means - self.mean) ** 2
        return np.einsum("nk,knq->nq", self.probabilities, own[:, None] + between)

    @property
    def spread(self) -> Array:
        """F (q, k) of the only model."""
        (spread,) = self.spreads
        return spread

    @property
    def is_open(self) -> Array:
        """Which functions (q,) the observed features do not determine, under the only model."""
        return np.asarray(self.spread.any(axis=1))

    def without_correlations(self) -> ConditionalMoments:
        """The only model with the variances of R alone: the naïve Bayes assumption of (5.4)."""
        return self._replace(spreads=[np.diag(np.linalg.norm(self.spread, axis=1))])

    def of_model(self, i: int) -> ConditionalMoments:
        """Moments under one of the models."""
        certain = np.ones((len(self.probabilities), 1))
        return ConditionalMoments(self.means[[i]], certain, [self.spreads[i]])

    def of_rows(self, chosen: Array | slice) -> ConditionalMoments:
        """Moments of some of the rows."""
        return self._replace(means=self.means[:, chosen], probabilities=self.probabilities[chosen])


class PrefixModel(NamedTuple):
    """A normal model whose features arrive in some order, and linear functions of the features.

    Attributes
    ----------
    mean : array (d,)
        Of the features, in their units and order.
    factor : DenseFactor or ThinFactor
    origin : array (q,)
        Expected values of the functions before anything is observed.
    gains : array (q, d)
        ``BᵀL``: the change of the functions for each innovation.
    varies : array of bool (d,)
    """

    mean: Array
    factor: Factor
    origin: Array
    gains: Array
    varies: Array

    def spread(self, t: int) -> Array:
        """F (q, k) with ``R = F Fᵀ`` given the first t features (5.19); k ≤ max(q, d - t).

        A feature that never varied is expected to stay as it was.
        """
        left = self.gains[:, t:][:, self.varies[t:]]
        if len(left) >= left.shape[1]:
            return left
        return triangle([left.T]).T


class PrefixState(NamedTuple):
    """Means and log-probabilities of the models while features arrive one by one.

    Attributes
    ----------
    means : array (n_models, n, q)
        Of the linear functions.
    log_densities : array (n, n_models)
        Logarithm of ``w(g) p(z | g)`` of (5.20), up to a constant.
    """

    means: Array
    log_densities: Array

    @classmethod
    def start(cls, models: Sequence[PrefixModel], weights: Array, n_rows: int) -> PrefixState:
        """The state before anything is observed."""
        means = np.array([np.tile(model.origin, (n_rows, 1)) for model in models])
        return cls(means, np.tile(np.log(weights), (n_rows, 1)))

    def take(self, models: Sequence[PrefixModel], first: int, E: Array) -> None:
        """Take innovations (n_models, n, k) of features first, first + 1, … into the state."""
        features = slice(first, first + E.shape[2])
        for i, model in enumerate(models):
            self.means[i] += E[i] @ model.gains[:, features].T
            if len(models) > 1:
                self.log_densities[:, i] -= 0.5 * np.sum(E[i] ** 2, axis=1)
                self.log_densities[:, i] -= np.log(model.factor.diagonal[features]).sum()

    def of_rows(self, chosen: Array) -> PrefixState:
        """The state of some of the rows."""
        return PrefixState(self.means[:, chosen], self.log_densities[chosen])

    @property
    def probabilities(self) -> Array:
        """p(g | z) of the models (n, n_models)."""
        if self.log_densities.shape[1] == 1:
            return np.ones_like(self.log_densities)
        return softmax(self.log_densities, axis=1)  # logarithms: small densities do not vanish

    def moments(self, models: Sequence[PrefixModel], t: int) -> ConditionalMoments:
        """Moments given the first t features."""
        return ConditionalMoments(self.means, self.probabilities, [m.spread(t) for m in models])


class ConditionalModel(NamedTuple):
    """Normal models of the features, and the linear functions ``Bᵀx`` that a classifier uses.

    Attributes
    ----------
    units : FeatureUnits
    models : list of NormalModel
        One (5.19), or one for each class (5.20).
    weights : array (n_models,)
        w(g), their probabilities before anything is observed.
    B : array (d, q) or None
        Weights of the features in the functions; None for the features themselves.
    shift : array (q,)
        Values of the functions at the mean of the units.
    """

    units: FeatureUnits
    models: list[NormalModel]
    weights: Array
    B: Array | None
    shift: Array

    def prefix_models(self, order: Array | None = None) -> list[PrefixModel]:
        """Each model with its features in an order, that of the columns by default."""
        order = np.arange(len(self.units.mean)) if order is None else order
        return [self._prefix_model(model, order) for model in self.models]

    def _prefix_model(self, model: NormalModel, order: Array) -> PrefixModel:
        factor, scale = model.factor(order), self.units.scale[order]
        if self.B is None:
            gains = np.zeros((len(order), len(order)))
            gains[order] = scale[:, None] * factor.image(None)
            origin = self.shift + self.units.scale * model.mean
        else:
            gains = factor.image(scale[:, None] * self.B[order])
            origin = self.shift + (self.units.scale * model.mean) @ self.B
        return PrefixModel(model.mean[order], factor, origin, gains, self.units.varies[order])

    def condition(self, X: Array, observed: Array) -> ConditionalMoments:
        """Moments given some features (d,) of rows (n, d), the same features for all rows."""
        order = np.argsort(~observed, kind="stable")
        Z = self.units.apply(X)[:, order[: int(observed.sum())]]
        models = self.prefix_models(order)
        return self.state_after(models, Z).moments(models, Z.shape[1])

    def state_after(self, models: Sequence[PrefixModel], Z: Array) -> PrefixState:
        """The state after leading features (n, t), in the units and the order of the models."""
        state = PrefixState.start(models, self.weights, len(Z))
        state.take(models, 0, prefix_innovations(models, Z))
        return state

    def prediction_errors(self, X: Array) -> tuple[Array, Array]:
        """How far functions of rows are from their prediction by each prefix.

        Parameters
        ----------
        X : array (n, d)
            Complete rows.

        Returns
        -------
        squared_errors, variances : arrays (d, q)
            Sums over the rows of the squared errors of each function and of the variances that
            the models state, after 0, 1, … d - 1 features.
        """
        models = self.prefix_models()
        steps = X - self.units.mean
        values = self.shift + (steps if self.B is None else steps @ self.B)
        E = prefix_innovations(models, self.units.apply(X))
        state = PrefixState.start(models, self.weights, len(X))
        own = np.array([sum_from_end((m.gains * m.varies).T ** 2) for m in models])
        squared_errors, variances = np.empty((2, X.shape[1], values.shape[1]))
        for t in range(X.shape[1]):
            if t:
                state.take(models, t - 1, E[:, :, t - 1 : t])
            shares = state.probabilities
            mean = np.einsum("nk,knq->nq", shares, state.means)
            spread = shares @ own[:, t]
            if len(models) > 1:
                spread = spread + np.einsum("nk,knq->nq", shares, (state.means - mean) ** 2)
            squared_errors[t] = np.sum((values - mean) ** 2, axis=0)
            variances[t] = np.sum(spread, axis=0)
        return squared_errors, variances


def sum_from_end(parts: Array) -> Array:
    """Sums of the parts t, t + 1, … d - 1, for t = 0, … d: after t values those are open.

    Examples
    --------
    >>> sum_from_end(np.array([1.0, 2.0]))
    array([3., 2., 0.])
    """
    sums = np.zeros((len(parts) + 1, *parts.shape[1:]))
    sums[:-1] = np.cumsum(parts[::-1], axis=0)[::-1]
    return sums


def expect_missing(model: ConditionalModel, rows: Array, observed: Array) -> tuple[Array, Array]:
    """Means and standard deviations (n, d) of features given those observed (d,), the same ones.

    Observed features are as they are.
    """
    d = len(observed)
    mean, std = rows.copy(), np.zeros_like(rows)
    for block in row_blocks(d, d):  # some features at a time: no d × d matrix
        features = np.arange(d)[block]
        missing = ~observed[block]
        if not missing.any():
            continue
        B = np.eye(d, len(features), -features[0])
        part = model._replace(B=B, shift=model.units.mean[block])
        known = part.condition(rows, observed)
        mean[:, features[missing]] = known.mean[:, missing]
        std[:, features[missing]] = np.sqrt(known.variances[:, missing])
    return mean, std


def prefix_innovations(models: Sequence[PrefixModel], Z: Array) -> Array:
    """Innovations (n_models, n, t) of leading features, in the units and order of the models."""
    return np.array([model.factor.innovations(Z - model.mean[: Z.shape[1]]) for model in models])


def count_unknown_directions(B: Array | None, unknown: Array) -> int:
    """The number of independent directions of ``Bᵀx`` that unknown features leave open.

    It is the rank of R, found without R. The units of the functions do not matter; B is for
    features in units of their own, so that theirs do not matter either.

    Examples
    --------
    >>> count_unknown_directions(None, np.array([False, True, True]))
    2
    >>> count_unknown_directions(np.array([[1.0], [1.0], [1.0]]), np.array([False, True, True]))
    1
    """
    if B is None:
        return int(np.count_nonzero(unknown))
    lengths = np.linalg.norm(B, axis=0)
    s = np.linalg.svd(B[unknown] / np.where(lengths > 0, lengths, 1.0), compute_uv=False)
    return numerical_rank(s, max(B.shape))
