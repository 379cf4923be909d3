"""Classes made of Gaussian clusters: one rule for all of them, by the scores of rows left out.

The score of a class is the logarithm of the sum of the densities of its clusters. Clusters share a
covariance, or each has its own: what has the smaller log-loss on rows left out decides, with the
ridge, the slope and the offsets of the classes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from separatrix.base.rows import centred_product
from separatrix.decision.expected import (
    Calibration,
    Spectrum,
    calibrate,
    left_out_distances,
    ridge_metric,
    search_ridge,
)
from separatrix.linalg import EPS, Array, numerical_rank
from separatrix.selection import draw_rows_by_class

MAX_ROWS_TO_JUDGE = 1000
"""Rows that are left out in turn. More only judge with less noise."""

MAX_SHAPED_FEATURES = 100
"""Features up to which clusters have covariances of their own, a matrix for each of them."""

SHAPE_SHARES = (0.0, 0.3)
"""Shares of the common covariance in that of a cluster. Others moved the balanced accuracy by less
than a point on the sets of ``python -m benchmarks.decisions_kernel mixture``."""

SHAPE_RIDGES = (1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
"""Ridges of these covariances, as shares of the mean variance within clusters."""


class ClusterRule(NamedTuple):
    """Scores of classes from those of their clusters; rows are centred.

    Attributes
    ----------
    coef : array (n_clusters, n_features)
        Linear scores of the clusters.
    intercept : array (n_clusters,)
        Of the scores, with the logarithms of the shares of clusters in their classes.
    means : array (n_clusters, n_features)
    factors : array (n_clusters, n_features, n_features)
        ``‖(z - mean) F‖²`` are distances; of no clusters where scores are linear.
    classes : array (n_clusters,)
    slope : float
    offsets : array (n_classes,)
        With the logarithms of the priors.
    """

    coef: Array
    intercept: Array
    means: Array
    factors: Array
    classes: Array
    slope: float
    offsets: Array

    def cluster_scores(self, X: Array, centre: Array) -> Array:
        """Log-densities of the clusters, up to a term that all share, (n_samples, n_clusters)."""
        if not len(self.factors):
            return np.asarray(centred_product(X, centre, self.coef.T)) + self.intercept
        Z = (X if isinstance(X, np.ndarray) else X.toarray()) - centre
        scores = [
            -0.5 * np.sum(((Z - mean) @ factor) ** 2, axis=1)
            for mean, factor in zip(self.means, self.factors, strict=True)
        ]
        return np.column_stack(scores) + self.intercept

    def scores(self, X: Array, centre: Array) -> Array:
        """Log-posteriors of the classes up to a common term, (n_samples, n_classes)."""
        joined = join_clusters(self.cluster_scores(X, centre), self.classes, len(self.offsets))
        return self.slope * joined + self.offsets


def join_clusters(scores: Array, classes: Array, n_classes: int) -> Array:
    """Logarithms of sums of exponentials over the clusters of each class."""
    return np.column_stack([logsumexp(scores[:, classes == c], axis=1) for c in range(n_classes)])


class ClusterRows(NamedTuple):
    """Centred rows with the clusters that they are in, and the part that is left out."""

    X: Array
    labels: Array
    classes: Array
    codes: Array
    judged: Array
    priors: Array

    @property
    def counts(self) -> Array:
        """Rows of each cluster."""
        return np.bincount(self.labels, minlength=len(self.classes)).astype(np.float64)

    @property
    def log_shares(self) -> Array:
        """Of the clusters in their classes."""
        totals = np.bincount(self.classes, self.counts)
        return np.log(self.counts / totals[self.classes])

    def means(self) -> Array:
        """Of the clusters."""
        return np.stack([self.X[self.labels == g].mean(axis=0) for g in range(len(self.classes))])

    @property
    def are_spread(self) -> bool:
        """Whether rows lie about the means of their clusters, and some can be spared."""
        within = float(np.sum((self.X - self.means()[self.labels]) ** 2))
        dust = len(self.X) * EPS * float(np.sum(self.X**2))
        return bool(len(self.X) - len(self.classes) > 1 and within > dust)

    def judge(self, distances: Array) -> Calibration:
        """The calibration of classes by distances of the judged rows to the clusters."""
        scores = self.log_shares - 0.5 * distances
        joined = -2 * join_clusters(scores, self.classes, len(self.priors))
        joined -= joined.min(axis=1, keepdims=True)
        # a constant changes no decision: the search sees distances of one size
        return calibrate(joined + joined.mean(), self.codes[self.judged], self.priors)


class ClusterDecision(NamedTuple):
    """A rule, the linear rule of the same clusters, and the cluster of each row."""

    rule: ClusterRule
    linear: ClusterRule
    labels: Array


def best_cluster_rule(
    X: Array, codes: Array, priors: Array, clusterings: Iterable[tuple[Array, Array]]
) -> ClusterDecision | None:
    """The rule of least log-loss on rows left out, and the clusters that it is of.

    None where clusters are points, so that no row can be left out.

    Parameters
    ----------
    X : array (n_samples, n_features)
        Centred.
    codes : array (n_samples,)
        Classes of the rows.
    priors : array (n_classes,)
    clusterings : iterable of pairs
        Clusters of the rows, and classes of the clusters.
    """
    judged = draw_rows_by_class(codes, MAX_ROWS_TO_JUDGE, 0, least=20)
    candidates = []
    for labels, classes in clusterings:
        rows = ClusterRows(X, labels, classes, codes, judged, priors)
        if not rows.are_spread:
            continue
        loss, linear = _share_covariance(rows)
        candidates.append((loss, ClusterDecision(linear, linear, labels)))
        if X.shape[1] <= MAX_SHAPED_FEATURES and rows.counts.min() > 2:
            loss, shaped = _shape_clusters(rows)
            candidates.append((loss, ClusterDecision(shaped, linear, labels)))
    return min(candidates, key=lambda f: f[0])[1] if candidates else None


def _share_covariance(rows: ClusterRows) -> tuple[float, ClusterRule]:
    """Clusters of one covariance with a ridge: linear scores, each row left out exactly."""
    means, counts = rows.means(), rows.counts
    R = rows.X - means[rows.labels]
    free, wide = len(R) - len(counts), R.shape[1] > len(R)
    evals, U = np.linalg.eigh(R @ R.T if wide else R.T @ R)
    rank = numerical_rank(evals[::-1], max(R.shape))
    evals, U = evals[len(evals) - rank :], U[:, len(evals) - rank :]
    V = R.T @ U / np.sqrt(evals) if wide else U
    along = means @ V
    outside = means @ means.T - along @ along.T
    unit = float(evals.sum()) / free / R.shape[1]
    spectrum = Spectrum(evals / free, along, outside, counts, unit)
    judged = R[rows.judged] @ V

    def judge(alpha: float) -> Calibration:
        metric = ridge_metric(spectrum, alpha)
        own = rows.labels[rows.judged]
        return rows.judge(left_out_distances(spectrum, judged, own, metric))

    alpha, calibration = search_ridge(judge)
    metric = ridge_metric(spectrum, alpha)
    coef = (along * metric.precisions(spectrum.evals)) @ V.T
    coef += (means - along @ V.T) / metric.outside
    intercept = rows.log_shares - 0.5 * np.sum(coef * means, axis=1)
    return calibration.log_loss, _rule(
        rows, calibration, coef, intercept, means, np.zeros((0, 0, 0))
    )


def _shape_clusters(rows: ClusterRows) -> tuple[float, ClusterRule]:
    """Clusters with covariances of their own, between that of the rows and the common one."""
    means, counts = rows.means(), rows.counts
    R = rows.X - means[rows.labels]
    common = R.T @ R / (len(R) - len(counts))
    members = [R[rows.labels == g] for g in range(len(counts))]
    own = np.array([Z.T @ Z / (len(Z) - 1) for Z in members])
    unit = float(np.trace(common)) / len(common)
    best: tuple[float, ClusterRule] | None = None
    for share in SHAPE_SHARES:
        for ridge in SHAPE_RIDGES:
            covariances = (1 - share) * own + share * common
            covariances += ridge * unit * np.eye(len(common))
            L = np.linalg.cholesky(covariances)
            factors = np.ascontiguousarray(np.linalg.inv(L).transpose(0, 2, 1))
            logs = 2 * np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
            calibration = rows.judge(_shaped_distances(rows, R, means, factors, logs, share))
            if best is None or calibration.log_loss < best[0]:
                intercept = rows.log_shares - 0.5 * logs
                none = np.zeros((0, means.shape[1]))
                best = (
                    calibration.log_loss,
                    _rule(rows, calibration, none, intercept, means, factors),
                )
    assert best is not None
    return best


def _shaped_distances(
    rows: ClusterRows, R: Array, means: Array, factors: Array, logs: Array, share: float
) -> Array:
    """Distances to the clusters plus log-determinants, without each of the judged rows.

    A row takes κ r rᵀ from the covariances that it helped to estimate, that of its own cluster and
    the common one: a rank of one, as in `decision.expected.distances_without`.
    """
    X, R, labels, counts = (
        rows.X[rows.judged],
        R[rows.judged],
        rows.labels[rows.judged],
        rows.counts,
    )
    n = counts[labels]
    common = share * n / (n - 1) / (len(rows.X) - len(counts) - 1)
    alone = common + (1 - share) * n / (n - 1) / (n - 2)
    distances = np.empty((len(X), len(counts)))
    for g, (mean, factor) in enumerate(zip(means, factors, strict=True)):
        is_own = labels == g
        steps, own = (X - mean) @ factor, R @ factor
        kappa = np.where(is_own, alone, common)
        left = np.maximum(1 - kappa * np.sum(own**2, axis=1), 1e-9)
        squares = np.sum(steps**2, axis=1) + kappa * np.sum(steps * own, axis=1) ** 2 / left
        scale = np.where(is_own, (n / (n - 1)) ** 2, 1.0)
        distances[:, g] = scale * squares + logs[g] + np.log(left)
    return distances


def _rule(
    rows: ClusterRows,
    calibration: Calibration,
    coef: Array,
    intercept: Array,
    means: Array,
    factors: Array,
) -> ClusterRule:
    with np.errstate(divide="ignore"):
        offsets = calibration.offsets + np.log(rows.priors)
    return ClusterRule(coef, intercept, means, factors, rows.classes, calibration.slope, offsets)
