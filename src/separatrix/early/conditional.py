"""What the observed features say of the others: normal models conditioned on any of them.

A normal vector with covariance ``Σ = L Lᵀ`` is ``x = μ + L e`` with independent standard normal
innovations e. Its first t features determine the first t innovations, and nothing else: given
them, linear functions ``Bᵀx`` have the mean ``Bᵀμ + (BᵀL)[:, :t] e`` and the covariance
``(BᵀL)[:, t:] (BᵀL)[:, t:]ᵀ``. So one triangular factor conditions on every prefix, and on any
other set of features once they are put first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.special import softmax

from separatrix.linalg import EPS, Array, numerical_rank, span, triangle
from separatrix.moments.class_moments import ClassMoments
from separatrix.selection import N_FOLDS, training_parts

SHRINKAGES = np.logspace(-6, 0, 25)
"""What ``regularization="auto"`` tries."""

ROUNDING = 16
"""Last digits of a feature by which it may vary and yet be constant."""

LEAST_SHARE = 1e-6
"""Share of the variance of a feature that it has at least within classes."""


# Triangular factors ----------------------------------------------------------------------------


class DenseFactor(NamedTuple):
    """``Σ = L Lᵀ`` with L at hand: d³ / 3 flops, d² a row."""

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
        """What `step` keeps of the features seen so far."""
        return np.zeros(len(self.L))

    def step(self, state: Array, t: int, value: float) -> float:
        """The innovation of centred feature t; the state takes note of it."""
        row = self.L[t]
        e = (value - row[:t] @ state[:t]) / row[t]
        state[t] = e
        return e


class ThinFactor(NamedTuple):
    """``Σ = A Aᵀ + σ² I`` for A of fewer columns than rows: L is never formed.

    Below its diagonal L has entries ``A[i] · G[t]``: x is A z plus noise, and G[t] takes the
    innovation of feature t to what it changes in the mean of z. d k² flops, d k a row, for k
    columns.
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
        """What `step` keeps of the features seen so far."""
        return np.zeros(self.A.shape[1])

    def step(self, state: Array, t: int, value: float) -> float:
        """The innovation of centred feature t; the state takes note of it."""
        e = (value - self.A[t] @ state) / self.diagonal[t]
        state += e * self.G[t]
        return e


Factor = DenseFactor | ThinFactor


def thin_factor(A: Array, noise: float) -> ThinFactor:
    """Factor ``A Aᵀ + noise I`` by taking in one feature after the other.

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


# Models ----------------------------------------------------------------------------------------


class Gaussian(NamedTuple):
    """A normal model of rows in units of their features: ``Σ = (1 - α) S + α I``.

    The identity is that of the directions in which rows vary, when there are enough to tell: an
    equation that all of them satisfy is expected to hold.

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
        """Of the covariance of the features in another order."""
        if self.scatter.shape[0] != self.scatter.shape[1]:
            A = np.sqrt(1 - self.shrinkage) * self.scatter[order]
            return thin_factor(self.widening * A, self.widening**2 * self.shrinkage)
        covariance = (1 - self.shrinkage) * self.scatter[np.ix_(order, order)]
        covariance[np.diag_indices_from(covariance)] += self.shrinkage
        closed = self.closed[order]
        covariance -= max(self.shrinkage - SHRINKAGES[0], 0.0) * (closed @ closed.T)
        return DenseFactor(self.widening * np.linalg.cholesky(covariance))


class FeatureUnits(NamedTuple):
    """Rows of mean zero and features of about variance one; some features never vary."""

    mean: Array
    scale: Array
    varies: Array

    def apply(self, X: Array) -> Array:
        """Rows, or some leading features of them, in these units."""
        t = X.shape[1]
        return (X - self.mean[:t]) / self.scale[:t]


def feature_units(X: Array, codes: Array, moments: ClassMoments) -> FeatureUnits:
    """The spread of each feature about the mean of its model, and a little of its total spread.

    A feature whose spread is rounding beside its size counts as one that never varies.
    """
    total = np.var(X - X[0], axis=0)  # differences to a row do not round what they have in common
    within = total
    if codes.any():
        within = np.mean((X - moments.means[codes]) ** 2, axis=0)
    varies = np.sqrt(total) > ROUNDING * EPS * np.abs(moments.mean)
    variance = np.where(varies, (1 - LEAST_SHARE) * within + LEAST_SHARE * total, 1.0)
    return FeatureUnits(moments.mean, np.sqrt(variance), varies)


def fit_gaussians(
    Z: Array, codes: Array, regularization: str | float
) -> tuple[list[Gaussian], float]:
    """A normal model for each code, and the shrinkage they share.

    Parameters
    ----------
    Z : array (n, d)
        Rows in units of their features.
    codes : array (n,)
        Which model each row belongs to.
    regularization : "auto" or float
        The shrinkage.
    """
    means = np.array([Z[codes == code].mean(axis=0) for code in range(codes.max() + 1)])
    centred = Z - means[codes]
    some = centred.any(axis=0)
    varying, within = directions_of(centred[:, some])
    closed = np.zeros((Z.shape[1], within.shape[1]))
    closed[some] = within
    if isinstance(regularization, str):
        rows = Z[:, some]
        share = held_out_shrinkage(rows if varying is None else rows @ varying, codes)
    else:
        share = float(regularization)
    models = []
    for code, mean in enumerate(means):
        A = centred[codes == code].T / np.sqrt(np.count_nonzero(codes == code))
        scatter = A if Z.shape[1] > len(Z) else A @ A.T
        models.append(Gaussian(mean, scatter, share, closed))
    return models, share


def directions_of(centred: Array) -> tuple[Array | None, Array]:
    """Orthonormal directions in which rows vary, and those in which they do not.

    The latter have less variance than any shrinkage that is tried; series of mean zero have one.
    Rows that are no more than features cannot tell: None, and no direction.

    Parameters
    ----------
    centred : array (n, d)
        Rows in units of their features.

    Examples
    --------
    >>> rows = np.array([[1.0, -1.0], [-1.0, 1.0], [0.0, 0.0]])
    >>> varying, closed = directions_of(rows)
    >>> abs(closed.T).round(3)
    array([[0.707, 0.707]])
    """
    n, d = centred.shape
    if n <= d:
        return None, np.zeros((d, 0))
    evals, V = np.linalg.eigh(centred.T @ centred / n)
    varies = evals > SHRINKAGES[0]
    return V[:, varies], V[:, ~varies]


def held_out_shrinkage(Z: Array, codes: Array) -> float:
    """The shrinkage under which rows that were held out are most likely.

    One decomposition of the rows of a fold serves all shrinkages: they share the eigenvectors of
    S. Of values that are equally good the largest is taken.

    Parameters
    ----------
    Z : array (n, d)
        Rows in the directions in which they vary: others would be the likelier the smaller the
        shrinkage, whatever it does elsewhere.
    codes : array (n,)
        Each code has a mean and a covariance of its own.
    """
    scores = np.zeros(len(SHRINKAGES))
    for fit, held in training_parts(codes, N_FOLDS):
        for code in np.unique(codes[held]):
            known, new = Z[fit[codes[fit] == code]], Z[held[codes[held] == code]]
            scores += _log_likelihoods(known, new)
    # nothing is held out where every row is alone: then the largest
    return float(SHRINKAGES[::-1][np.argmax(scores[::-1])])


def _log_likelihoods(known: Array, new: Array) -> Array:
    """Of new rows under the model of the known ones, for each shrinkage, up to a constant."""
    n, d = known.shape
    mean = known.mean(axis=0)
    A, H = (known - mean) / np.sqrt(n), new - mean
    outside = float(np.sum(H**2))
    if n > d:
        evals, V = np.linalg.eigh(A.T @ A)
        inside = np.sum((H @ V) ** 2, axis=0)
    else:
        spanned = span(A, bound=n - 1)
        _, s, Vt = np.linalg.svd(spanned.coordinates, full_matrices=False)
        evals, inside = s**2, np.sum((H @ spanned.lift(Vt.T)) ** 2, axis=0)
    outside = max(outside - inside.sum(), 0.0) if len(evals) < d else 0.0
    scores = []
    for share in SHRINKAGES:
        variances = (1 - share) * np.maximum(evals, 0.0) + share
        volume = np.log(variances).sum() + (d - len(evals)) * np.log(share)
        scores.append(-len(new) * volume - np.sum(inside / variances) - outside / share)
    return np.array(scores) / 2


# Conditioning ----------------------------------------------------------------------------------


class View(NamedTuple):
    """One model, its features in some order, seen through linear functions of them.

    Attributes
    ----------
    mean : array (d,)
        Of the features, in their units and order.
    factor : DenseFactor or ThinFactor
    origin : array (q,)
        Expected values of the functions before anything is observed.
    gains : array (q, d)
        What each innovation adds to them.
    varies : array of bool (d,)
    """

    mean: Array
    factor: Factor
    origin: Array
    gains: Array
    varies: Array

    def spread(self, t: int) -> Array:
        """F (q, k) with the covariance F Fᵀ of the functions given t features; k ≤ max(q, d - t).

        A feature that never varied is expected to stay as it was.
        """
        left = self.gains[:, t:][:, self.varies[t:]]
        if len(left) >= left.shape[1]:
            return left
        return triangle([left.T]).T


class Knowledge(NamedTuple):
    """What is known of linear functions of rows: ``mean + spread z``, z of mean 0 and variance I.

    Attributes
    ----------
    means : array (n_models, n, q)
        Under each model.
    shares : array (n, n_models)
        Probabilities of the models.
    spreads : list of arrays (q, k)
        Under each model, the same for all rows.
    """

    means: Array
    shares: Array
    spreads: list[Array]

    @property
    def mean(self) -> Array:
        """(n, q)."""
        if len(self.means) == 1:
            return self.means[0]
        return np.einsum("nk,knq->nq", self.shares, self.means)

    @property
    def variances(self) -> Array:
        """(n or 1, q): by the identity of total variance, the same for all rows of one model."""
        own = np.array([np.sum(F**2, axis=1) for F in self.spreads])
        if len(self.means) == 1:
            return own
        return np.einsum("nk,knq->nq", self.shares, own[:, None] + (self.means - self.mean) ** 2)

    @property
    def spread(self) -> Array:
        """F (q, k) of the only model."""
        (spread,) = self.spreads
        return spread

    @property
    def moves(self) -> Array:
        """Which of the functions the only model does not know yet (q,)."""
        return np.asarray(self.spread.any(axis=1))

    def covariance_times(self, V: Array) -> Array:
        """The covariance of the only model times a vector of each row (n, q)."""
        F = self.spread
        return V @ (F @ F.T) if len(V) > F.shape[1] else (V @ F) @ F.T

    def model(self, i: int) -> Knowledge:
        """What is known if it is this model."""
        return Knowledge(self.means[[i]], np.ones((len(self.shares), 1)), [self.spreads[i]])

    def rows(self, chosen: Array) -> Knowledge:
        """What is known of some of the rows."""
        return self._replace(means=self.means[:, chosen], shares=self.shares[chosen])


class Conditional(NamedTuple):
    """Normal models of the features, and the linear functions of them that matter.

    Attributes
    ----------
    units : FeatureUnits
    models : list of Gaussian
        One, or one for each class.
    weights : array (n_models,)
        Their probabilities.
    B : array (d, q) or None
        Weights of the features in the functions; None for the features themselves.
    shift : array (q,)
        Values of the functions at the mean of the units.
    """

    units: FeatureUnits
    models: list[Gaussian]
    weights: Array
    B: Array | None
    shift: Array

    def views(self, order: Array | None = None) -> list[View]:
        """Each model with its features in an order, that of the columns by default."""
        order = np.arange(len(self.units.mean)) if order is None else order
        scale = self.units.scale[order]
        found = []
        for model in self.models:
            factor = model.factor(order)
            if self.B is None:
                gains = np.zeros((len(order), len(order)))
                gains[order] = scale[:, None] * factor.image(None)
                origin = self.shift + self.units.scale * model.mean
            else:
                gains = factor.image(scale[:, None] * self.B[order])
                origin = self.shift + (self.units.scale * model.mean) @ self.B
            varies = self.units.varies[order]
            found.append(View(model.mean[order], factor, origin, gains, varies))
        return found

    def widened(self, factor: float) -> Conditional:
        """The same with standard deviations multiplied by a factor."""
        return self._replace(models=[model._replace(widening=factor) for model in self.models])

    def surprises(self, X: Array) -> tuple[Array, Array]:
        """Squared errors of what is expected from prefixes of complete rows, and their mean.

        Of the difference of two functions, summed over rows (n, d).

        Returns
        -------
        errors, variances : arrays (d,)
            What was seen and what the models say, after 0, 1, … d - 1 features.
        """
        assert self.B is not None, "there are two functions"
        apart = self._replace(B=self.B @ [[-1.0], [1.0]], shift=np.zeros(1))
        values = (X - self.units.mean) @ apart.B
        views, Z = apart.views(), self.units.apply(X)
        E = np.array([view.factor.innovations(Z - view.mean) for view in views])
        progress = Progress.start(views, self.weights, len(X))
        errors, variances = np.empty((2, X.shape[1]))
        for t in range(X.shape[1]):
            if t:
                progress.take(views, t - 1, E[:, :, t - 1])
            known = progress.knowledge(views, t)
            errors[t] = np.sum((values - known.mean) ** 2)
            variances[t] = np.sum(np.broadcast_to(known.variances, values.shape))
        return errors, variances

    def given(self, X: Array, observed: Array) -> Knowledge:
        """What rows (n, d) tell by some of their features (d,), the same for all."""
        order = np.argsort(~observed, kind="stable")
        t = int(observed.sum())
        Z = self.units.apply(X)[:, order[:t]]
        return self.at(self.views(order), Z)

    def at(self, views: Sequence[View], Z: Array) -> Knowledge:
        """What the leading features (n, t) of rows tell, in their units and order."""
        t = Z.shape[1]
        progress = Progress.start(views, self.weights, len(Z))
        for i, view in enumerate(views):
            e = view.factor.innovations(Z - view.mean[:t])
            progress.means[i] += e @ view.gains[:, :t].T
            progress.logs[:, i] -= 0.5 * np.sum(e**2, axis=1)
            progress.logs[:, i] -= np.log(view.factor.diagonal[:t]).sum()
        return progress.knowledge(views, t)


class Progress(NamedTuple):
    """Means and log-probabilities of the models while features come one by one.

    Attributes
    ----------
    means : array (n_models, n, q)
    logs : array (n, n_models)
        Of the joint density of the observed features and the model.
    """

    means: Array
    logs: Array

    @classmethod
    def start(cls, views: Sequence[View], weights: Array, n_rows: int) -> Progress:
        """Before anything is observed."""
        means = np.array([np.tile(view.origin, (n_rows, 1)) for view in views])
        return cls(means, np.tile(np.log(weights), (n_rows, 1)))

    def take(self, views: Sequence[View], t: int, e: Array) -> None:
        """Note innovations (n_models, n) of feature t."""
        for i, view in enumerate(views):
            self.means[i] += np.multiply.outer(e[i], view.gains[:, t])
            if len(views) > 1:
                self.logs[:, i] -= 0.5 * e[i] ** 2 + np.log(view.factor.diagonal[t])

    def rows(self, chosen: Array) -> Progress:
        """The state of some of the rows."""
        return Progress(self.means[:, chosen], self.logs[chosen])

    def knowledge(self, views: Sequence[View], t: int) -> Knowledge:
        """What t features tell."""
        shares = softmax(self.logs, axis=1) if len(views) > 1 else np.ones_like(self.logs)
        return Knowledge(self.means, shares, [view.spread(t) for view in views])


def n_unknown_directions(B: Array | None, unknown: Array) -> int:
    """How many independent values of ``Bᵀx`` are open while some features are unknown.

    Units of the values do not matter, and those of features not if B is for features in units.

    Examples
    --------
    >>> n_unknown_directions(None, np.array([False, True, True]))
    2
    >>> n_unknown_directions(np.array([[1.0], [1.0], [1.0]]), np.array([False, True, True]))
    1
    """
    if B is None:
        return int(np.count_nonzero(unknown))
    lengths = np.linalg.norm(B, axis=0)
    s = np.linalg.svd(B[unknown] / np.where(lengths > 0, lengths, 1.0), compute_uv=False)
    return numerical_rank(s, max(B.shape))
