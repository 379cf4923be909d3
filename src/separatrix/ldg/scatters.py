"""Local scatter of each class about each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.utils import gen_batches

from separatrix.base.block_queries import BlockQueries
from separatrix.base.queries import Estimate, Queries
from separatrix.ldg.graph import pays, weights_of_pairs
from separatrix.linalg import Array, numerical_rank, top_eigh, tridiagonalize
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import rows_per_block
from separatrix.moments.neighbours import averaging_matrix

# The mathematics -----------------------------------------------------------------------------


class LDGScatters(NamedTuple):
    """Scatter about the neighbours of the own class, and of all classes by their priors.

    Attributes
    ----------
    V, A : array (n_features, n_features)
    without : sequence of LDGScatters
        The same without each group of the rows that were drawn; empty where all were taken.
    """

    V: Array
    A: Array
    without: Sequence[LDGScatters] = ()

    def plus(self, other: LDGScatters, own: float, others: float) -> LDGScatters:
        """A weighted sum."""
        return LDGScatters(own * self.V + others * other.V, own * self.A + others * other.A)

    def criterion(self, gamma: float, basis: Array) -> Array:
        """``γ A - V`` inside an orthonormal basis."""
        Z = gamma * self.A - self.V
        return Z if basis.shape[1] == len(Z) else basis.T @ Z @ basis  # all there is has none

    def smallest(self, gamma: float, basis: Array, k: int | None = None) -> tuple[Array, Array]:
        """Smallest eigenvalues of ``V - γ A`` inside an orthonormal basis, and the directions."""
        evals, U = top_eigh(self.criterion(gamma, basis), k or basis.shape[1])
        return -evals, U if basis.shape[1] == len(basis) else basis @ U

    def n_negative(self, gamma: float, evals: Array) -> int:
        """How many eigenvalues of ``V - γ A`` are below zero by more than rounding."""
        size = float(np.trace(self.V) + gamma * np.trace(self.A))
        return numerical_rank(-evals, len(self.V), largest=size)

    def leading(self, gamma: float, basis: Array, k: int | None) -> Array:
        """The k smallest directions; without k, those of negative eigenvalues."""
        if k is not None:
            return self.smallest(gamma, basis, k)[1]
        reduced = tridiagonalize(self.criterion(gamma, basis))
        criterion = reduced.evals()
        U = reduced.leading(self.n_negative(gamma, -criterion), criterion)[1]
        return U if basis.shape[1] == len(basis) else basis @ U


def local_scatters(
    X: Any,
    codes: Array,
    neighbours: Sequence[Array],
    priors: Array,
    n_neighbors: int,
    among: Any = None,
    own: Array | None = None,
    weights: Array | None = None,
) -> LDGScatters:
    """``V = Σ Δ_ig Δ_igᵀ`` and ``A = Σ_i Σ_j p_j Δ_ij Δ_ijᵀ`` (3.9, 3.10).

    Δ_ij is row i less the mean of its k nearest rows of class j, and g the class of row i.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        Rows.
    codes : array (n_samples,)
        Their classes.
    neighbours : list of arrays
        From `class_neighbours`, with at least so many.
    priors : array (n_classes,)
        p.
    n_neighbors : int
        k.
    among : array or sparse matrix (n_known, n_features), optional
        Where the neighbours were sought; X itself by default.
    own : array (n_samples,), optional
        Numbers of the rows of X in `among`, where they are some of these.
    weights : array (n_samples,), optional
        How many rows each stands for.
    """
    known = X if among is None else among
    if own is None:
        own = np.arange(X.shape[0]) if among is None else np.full(X.shape[0], -1)

    plain = among is None and weights is None and not sp.issparse(X)
    if plain and pays(X.shape[0], X.shape[1], len(priors), n_neighbors):
        near = [found[:, :n_neighbors] for found in neighbours]
        return LDGScatters(*(X.T @ (M @ X) for M in weights_of_pairs(near, codes, priors)))

    def means(block: slice, j: int) -> Any:
        found = neighbours[j][block, :n_neighbors]
        return averaging_matrix(found, own[block], known.shape[0]) @ known

    return scatters_about(means, X, codes, priors, weights)


def sampled_scatters(
    X: Any,
    codes: Array,
    queries: Queries,
    means: Callable[[Array, int], Any],
    centres: Array,
    total: LDGScatters,
    priors: Array,
) -> LDGScatters:
    """`local_scatters` estimated by the rows that were drawn, with the class means as a control.

    With class means in the place of neighbours V and A are known for all rows, and differ by
    sampling alone: most of their error is also that of the sums about neighbours.

    Parameters
    ----------
    X : array or sparse matrix (n_queries, n_features)
        The rows that were drawn.
    codes : array (n_queries,)
        Their classes.
    queries : Queries
        Their weights and groups.
    means : callable
        ``means(at, j)`` are the means of the nearest rows of class j, for some of X.
    centres : array (n_classes, n_features)
        The class means of all rows.
    total : LDGScatters
        V and A of all rows about these, from `global_scatters`.
    priors : array (n_classes,)
        p.
    """
    found, control = [], []
    for group in range(queries.groups.max() + 1):
        at = queries.members(group)
        rows = X[at], codes[at], priors, queries.weights[at]
        found.append(scatters_about(lambda block, j: means(at[block], j), *rows))  # noqa: B023
        control.append(scatters_about(lambda _, j: centres[j], *rows))
    V, A = (
        Estimate.of_groups(sums).controlled(Estimate.of_groups(controls), of_all)
        for sums, controls, of_all in (
            ([f.V for f in found], [c.V for c in control], total.V),
            ([f.A for f in found], [c.A for c in control], total.A),
        )
    )
    without = [LDGScatters(*pair) for pair in zip(V.without, A.without, strict=True)]
    return LDGScatters(V.whole, A.whole, without)


def block_scatters(
    drawn: BlockQueries, k: int, moments: ClassMoments, total: LDGScatters, priors: Array
) -> LDGScatters:
    """`sampled_scatters` of rows drawn from a Dask collection, about k neighbours in all of it."""
    means = drawn.means(drawn.nearest(k))
    rows, centres = drawn.rows, moments.means - drawn.centre
    return sampled_scatters(
        rows.X, rows.codes, drawn.queries, lambda at, j: means[j, at], centres, total, priors
    )


def scatters_about(
    means: Callable[[slice, int], Any],
    X: Any,
    codes: Array,
    priors: Array,
    weights: Array | None = None,
) -> LDGScatters:
    """V and A for any means: ``means(block, j)`` are those of class j for a block of rows."""
    n_samples, n_features = X.shape
    V, A = np.zeros((2, n_features, n_features))
    for block in gen_batches(n_samples, rows_per_block(n_features)) if n_samples else ():
        own = codes[block]
        for j in range(len(priors)):
            delta = X[block] - means(block, j)
            delta = delta.toarray() if sp.issparse(delta) else np.asarray(delta)
            if weights is not None:
                delta *= np.sqrt(weights[block])[:, None]
            same = delta[own == j]
            V += same.T @ same
            A += priors[j] * (delta.T @ delta)
    return LDGScatters(V, A)


def global_scatters(moments: ClassMoments, priors: Array) -> LDGScatters:
    """V and A with one Gaussian for each class: its mean takes the place of neighbours.

    With the class shares as priors ``V = Sw`` and ``A = Sw + 2 Sb``, exactly and for any n.
    """
    Sw, n_samples = moments.Sw, moments.n_samples
    by_priors = moments.between_rows(priors)
    shift = (moments.counts / n_samples - priors) @ (moments.means - moments.mean)
    between = moments.Sb + n_samples * np.outer(shift, shift) + by_priors.T @ by_priors
    return LDGScatters(Sw, Sw + between)


class DiscriminativeGaussians:
    """The criterion that LDG approximates: how badly local Gaussians tell the classes apart.

    ``J(B) = Σ_i log Σ_j p_j exp(-‖BᵀΔ_ij‖²/2) + ‖BᵀΔ_ig‖²/2`` for orthonormal B (3.4), and its
    gradient (3.5). Only projected rows are averaged: nothing of size n × classes × d is held.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        Rows, near the origin.
    codes : array (n_samples,)
        Their classes.
    averages : list of sparse matrices (n_samples, n_samples)
        For each class, what takes rows to the means of their neighbours in it.
    priors : array (n_classes,)
        p.
    queries : Queries, optional
        The rows that stand for all; `averages` have one row for each of them.
    weights : array (n_samples,), optional
        What each row counts in the sum over i.
    """

    def __init__(
        self,
        X: Any,
        codes: Array,
        averages: Sequence[Any],
        priors: Array,
        queries: Queries | None = None,
        weights: Array | None = None,
    ) -> None:
        self.X, self.averages, self.queries = X, averages, queries
        self.weights: Any = 1.0 if weights is None else weights
        if queries is not None:
            codes, self.weights = codes[queries.numbers], queries.weights
        self.own = codes[None] == np.arange(len(averages))[:, None]
        with np.errstate(divide="ignore"):
            self.log_priors = np.log(priors)[:, None]

    def __call__(self, B: Array) -> tuple[float, Array]:
        """The criterion and its gradient (n_features, k)."""
        Y = self.X @ B
        at = slice(None) if self.queries is None else self.queries.numbers
        deltas = [Y[at] - N @ Y for N in self.averages]
        halves = np.stack([np.einsum("ij,ij->i", D, D) for D in deltas]) / 2
        exponents = self.log_priors - halves
        total = logsumexp(exponents, axis=0)
        value = float(np.sum(self.weights * (total + np.sum(halves * self.own, axis=0))))
        weights = self.weights * (self.own - np.exp(exponents - total))
        back = np.zeros_like(Y)
        for N, D, w in zip(self.averages, deltas, weights, strict=True):
            weighted = w[:, None] * D
            back[at] += weighted
            back -= N.T @ weighted
        return value, self.X.T @ back


class Descent(NamedTuple):
    """Where a descent over orthonormal B ended: B, the values on the way, whether it settled."""

    B: Array
    values: Array
    converged: bool


def orthonormal_descent(
    objective: Callable[[Array], tuple[float, Array]], B: Array, *, max_iter: int, tol: float
) -> Descent:
    """Go down along the gradient with ``BᵀB = I``; the value never rises (Algorithm 1).

    The objective must depend on the span of B only. A step is the gradient less its part in the
    span of B, then a QR; its length is Barzilai and Borwein's, halved until the value falls.
    """
    value, gradient = objective(B)
    values = [value]
    slope = gradient - B @ (B.T @ gradient)
    length = 1.0 / max(float(np.linalg.norm(slope)), 1e-300)
    scale = max(float(np.linalg.norm(gradient)), 1e-300)
    for _ in range(max_iter):
        if np.linalg.norm(slope) <= tol * scale:
            return Descent(B, np.array(values), True)
        for _ in range(60):
            Q, R = np.linalg.qr(B - length * slope)
            new = Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)
            new_value, gradient = objective(new)
            if new_value <= value:
                break
            length /= 2
        else:
            return Descent(B, np.array(values), True)  # no step however small goes down
        new_slope = gradient - new @ (new.T @ gradient)
        step, change = new - B, new_slope - slope
        curvature = abs(float(np.sum(step * change)))
        length = float(np.sum(step * step)) / curvature if curvature > 0 else 2 * length
        B, value, slope = new, new_value, new_slope
        values.append(value)
    return Descent(B, np.array(values), bool(np.linalg.norm(slope) <= tol * scale))


# Estimators ----------------------------------------------------------------------------------


def varying_features(X: Any) -> Array:
    """Which columns are not constant, but for rounding."""
    high, low = X.max(axis=0), X.min(axis=0)
    if sp.issparse(X):
        high, low = high.toarray().ravel(), low.toarray().ravel()
    size = np.maximum(np.abs(high), np.abs(low))
    return high - low > 4 * np.finfo(X.dtype).eps * size
