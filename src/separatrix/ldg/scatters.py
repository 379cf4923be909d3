"""Local scatter of each class about each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from separatrix.base.block_queries import BlockQueries
from separatrix.base.queries import Estimate, Queries
from separatrix.linalg import Array, numerical_rank, top_eigh, tridiagonalize
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import rows_per_block
from separatrix.moments.neighbours import averaging_matrix, weighted_averaging

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
        """``γ A - V`` inside an orthonormal basis, and A where γ is infinite."""
        Z = self.A if np.isinf(gamma) else gamma * self.A - self.V
        return Z if basis.shape[1] == len(Z) else basis.T @ Z @ basis  # all there is has none

    def smallest(self, gamma: float, basis: Array, k: int | None = None) -> tuple[Array, Array]:
        """Smallest eigenvalues of ``V - γ A`` inside an orthonormal basis, and the directions."""
        evals, U = top_eigh(self.criterion(gamma, basis), k or basis.shape[1])
        return -evals, U if basis.shape[1] == len(basis) else basis @ U

    def n_negative(self, gamma: float, evals: Array) -> int:
        """How many eigenvalues of ``V - γ A`` are below zero by more than rounding."""
        size = float(np.trace(self.V) + min(gamma, 1.0) * np.trace(self.A))
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
    weights: Array | None = None,
    among: Any = None,
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
        From `class_neighbours`, with the same k.
    priors : array (n_classes,)
        p.
    n_neighbors : int
        k.
    weights : array (n_samples,), optional
        How many rows each stands for, as a neighbour and in the sums.
    among : array or sparse matrix (n_known, n_features), optional
        Where the neighbours were searched; X itself by default.
    """
    known = X if among is None else among
    numbers = np.arange(X.shape[0]) if among is None else np.full(X.shape[0], -1)
    # a row weighs in the means of its own class as often as it is there, less itself
    counted = None if among is not None else weights

    def means(block: slice, j: int) -> Any:
        near, own = neighbours[j][block], numbers[block]
        if counted is None:
            return averaging_matrix(near, own, known.shape[0]) @ known
        own = np.where(codes[block] == j, own, -1)
        return weighted_averaging(near, own, counted, n_neighbors) @ known

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
    sampled, control = [], []
    for group in range(queries.groups.max() + 1):
        at = queries.members(group)
        rows = X[at], codes[at], priors, queries.weights[at]
        sampled.append(scatters_about(lambda block, j: means(at[block], j), *rows))  # noqa: B023
        control.append(scatters_about(lambda _, j: centres[j], *rows))
    V, A = (
        Estimate.of_groups(sums).controlled(Estimate.of_groups(controls), of_all)
        for sums, controls, of_all in (
            ([f.V for f in sampled], [c.V for c in control], total.V),
            ([f.A for f in sampled], [c.A for c in control], total.A),
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
