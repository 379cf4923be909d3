"""How far rows are from every class, from moments alone: squared Mahalanobis distances.

The covariance is the pooled one, Sw / ν with ν = n - C degrees of freedom. Where rows are too few
to know it in every direction a stated rule takes its place: see `PooledMetric.from_moments`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from scipy.stats import f as f_distribution

from separatrix.linalg import EPS, Array, range_and_null
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import row_blocks
from separatrix.moments.spectra import reduce_to_span

TOO_FEW_ROWS_MESSAGE = (
    "{n:g} rows of {c} classes do not show the scatter in {d} features: no distribution follows "
    "from moments. Give rows of the known classes that were not learned: calibration=rows, "
    "or calibrate(rows) of WithRejection"
)


class PooledMetric(NamedTuple):
    """Squared distances to centres in units of a covariance.

    Attributes
    ----------
    origin : array (n_features,)
    centres : array (n_centres, rank)
        Along the axes, in units of the deviation along each.
    centres_outside : array (n_centres, n_features)
        Those in all other directions.
    counts : array (n_centres,)
        Rows of each centre.
    axes : array (n_features, rank)
        Orthonormal directions in which the covariance is known.
    precisions : array (rank,)
        Inverse variances along them.
    outside : float
        Inverse variance in every other direction.
    dof : float
        Degrees of freedom of the covariance; 0 where the F distribution does not hold.
    """

    origin: Array
    centres: Array
    centres_outside: Array
    counts: Array
    axes: Array
    precisions: Array
    outside: float
    dof: float

    @classmethod
    def from_moments(cls, moments: ClassMoments) -> PooledMetric:
        """The metric of the scatter within classes, and the class means.

        With more degrees of freedom ν than the rank r of Sw the covariance along the r axes is
        Sw/ν as it is. Otherwise it is shrunk, ``(1 - α) Sw/ν + α μ I`` with μ = tr(Sw/ν)/d and
        the α of Chen, Wiesel, Eldar and Hero (OAS), which moments give. Directions in which the
        training rows do not vary have the variance α μ in both cases, and those that a truncated
        scatter knows by their average have this average.
        """
        seen = moments.counts > 0
        n_classes, n_features = int(np.count_nonzero(seen)), moments.n_features
        dof = moments.n_samples - n_classes
        if not (dof > 0 and moments.trace_within() > 0):
            raise ValueError(
                f"{moments.n_samples:g} rows of {n_classes} classes have no scatter within "
                "classes: there is no unit to measure novelty in"
            )
        small, lift = reduce_to_span(moments)
        variances, axes, _ = range_and_null(small.Sw / dof, eps=moments.eps)
        rank, level = len(variances), moments.trace_within() / dof / n_features
        # needs eigenvalues alone: merged models and streams have no rows
        alpha = oas_shrinkage(variances, n_features, dof)
        # a direction in which no row varied is not certain: it has the variance that shrinkage
        # gives
        outside = moments.floor / dof if moments.floor else alpha * level
        exact = rank < dof and not moments.floor
        if rank >= dof:
            variances = (1 - alpha) * variances + alpha * level
        centres, axes = moments.means[seen] - moments.origin, lift(axes)
        along = centres @ axes
        return cls(
            moments.origin,
            along / np.sqrt(variances),
            centres - along @ axes.T,
            moments.counts[seen],
            axes,
            1.0 / variances,
            0.0 if rank == n_features else 1.0 / outside,
            dof if exact else 0.0,
        )

    def squared_distances(self, X: Any) -> Array:
        """(n_rows, n_centres): squared distances of rows to every centre."""
        # from the differences, as `cdist` has them: nothing cancels
        root = np.sqrt(self.precisions)
        distances = np.empty((X.shape[0], len(self.centres)))
        for block in row_blocks(*X.shape):
            rows = X[block].toarray() if sp.issparse(X) else X[block]
            Z = rows.astype(np.float64) - self.origin
            Y = Z @ self.axes
            distances[block] = cdist(Y * root, self.centres, "sqeuclidean")
            if self.outside:
                left = Z - Y @ self.axes.T
                distances[block] += self.outside * cdist(left, self.centres_outside, "sqeuclidean")
        return distances

    def pvalues(self, distances: Array) -> Array:
        """The largest probability, over the centres, that a row of that class is as far or more.

        For Gaussian classes of one covariance the squared distance d² to the mean of the own class
        follows Hotelling's law: ``d² (ν - r + 1) / ((1 + 1/n_c) r ν)`` is F with r and ν - r + 1
        degrees of freedom. The nearest class is not always the own one, so that the largest
        of these is uniform for classes that are far apart, and errs to the safe side otherwise.
        """
        rank = len(self.precisions)
        scale = (self.dof - rank + 1) / (rank * self.dof * (1 + 1 / self.counts))
        # the same degrees of freedom for all: the smallest value has the largest probability
        return f_distribution.sf((distances * scale).min(axis=1), rank, self.dof - rank + 1)


def oas_shrinkage(variances: Array, n_features: int, dof: float) -> float:
    """The weight of the identity by which a covariance is best shrunk, from its eigenvalues.

    Parameters
    ----------
    variances : array
        Eigenvalues that are not zero.
    n_features : int
    dof : float
        Degrees of freedom of the covariance.

    References
    ----------
    Chen, Wiesel, Eldar and Hero, Shrinkage algorithms for MMSE covariance estimation, IEEE
    Transactions on Signal Processing 58 (2010), in the form that leaves out the terms in 2/d.

    Examples
    --------
    >>> round(oas_shrinkage(np.array([4.0, 1.0, 1.0]), 3, 20), 3)
    0.429
    """
    if n_features == 0:
        return 1.0
    mean, square = np.sum(variances) / n_features, np.sum(variances**2) / n_features**2
    spread = square - mean**2 / n_features
    if spread <= EPS * square:
        return 1.0
    return min(1.0, float((square + mean**2) / ((dof + 1) * spread)))


def background_metric(moments: ClassMoments) -> PooledMetric:
    """The metric of all rows as one class."""
    one = moments.join_classes(np.zeros(1), np.zeros(len(moments.classes), dtype=np.intp))
    return PooledMetric.from_moments(one)


def conformal_pvalues(scores: Array, calibration: Array) -> Array:
    """The share of calibration rows, the row itself among them, that are as novel or more.

    For a row that is exchangeable with the calibration rows, ``P(p ≤ α) ≤ α`` whatever their
    distribution.

    Examples
    --------
    >>> conformal_pvalues(np.array([0.5, 9.0]), np.array([1.0, 2.0, 3.0]))
    array([1.  , 0.25])
    """
    # equal scores count as at least as novel: ties must not make the p-value smaller
    below = np.searchsorted(np.sort(calibration), scores, side="left")
    return (len(calibration) - below + 1) / (len(calibration) + 1)


# Scores ---------------------------------------------------------------------------------------

_KNOWN: WeakKeyDictionary[ClassMoments, dict[Any, Any]] = WeakKeyDictionary()
"""Metrics of moments that are still in use: rows that come one by one need no decomposition."""


def _remembered(
    moments: ClassMoments, make: Callable[[ClassMoments], PooledMetric]
) -> PooledMetric:
    known = _KNOWN.setdefault(moments, {})
    scatters, metric = known.get(make, (None, None))
    if scatters is not moments.scatters:  # moments that are updated in place get new scatters
        metric = make(moments)
        known[make] = (moments.scatters, metric)
    return metric


class NoveltyScores(NamedTuple):
    """Metrics that judge rows by themselves, without the moments they came from."""

    classes: PooledMetric
    background: PooledMetric | None

    @classmethod
    def from_moments(cls, moments: ClassMoments, *, relative: bool) -> NoveltyScores:
        """The metric of the classes and, for relative distances, that of all rows."""
        background = _remembered(moments, background_metric) if relative else None
        return cls(_remembered(moments, PooledMetric.from_moments), background)

    def distances(self, X: Any) -> Array:
        """The squared distance to the nearest class, less that to the mean of all if relative."""
        distances = self.classes.squared_distances(X).min(axis=1)
        if self.background is not None:
            distances -= self.background.squared_distances(X)[:, 0]
        return distances

    def pvalues(self, X: Any) -> Array:
        """P-values by the F distribution."""
        return self.classes.pvalues(self.classes.squared_distances(X))

    def check_distribution(self, moments: ClassMoments) -> None:
        """Raise where moments do not give the distribution of the distances."""
        if self.background is not None:
            raise ValueError(
                "relative=True has no distribution that follows from moments. Give rows of the "
                "known classes that were not learned (calibration=rows), or relative=False"
            )
        if not self.classes.dof:
            raise ValueError(
                TOO_FEW_ROWS_MESSAGE.format(
                    n=moments.n_samples,
                    c=np.count_nonzero(moments.counts),
                    d=moments.n_features,
                )
            )
