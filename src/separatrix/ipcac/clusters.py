"""Clusters inside a class: how many, and which belong together."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from scipy.stats import chi2
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.mixture import GaussianMixture

from separatrix.fisher.directions import ledoit_wolf
from separatrix.linalg import EPS, Array, cholesky_whitener

THREE_SIGMA = 3.0
"""Standard deviations between means within which clusters are one (`merge_limit`)."""

REGION_SHARE = 0.997
"""Share of a Gaussian that the region of `merge_limit` holds."""

MIN_EM_ROWS_PER_FEATURE = 5.0
"""Rows for each feature that every cluster must have for ``em="auto"``."""

MOST_PARTS = 4
"""Into how many parts a cluster may be cut at once."""

N_STARTS = 2
"""Starts of k-means, of which the tightest clusters are taken."""

MAX_STEPS = 100
"""Steps of k-means from one start."""

# Clusters ------------------------------------------------------------------------------------


def bic_gain(n_features: int, inertia: float, split_inertia: float, sizes: Array) -> float:
    """How much better several round Gaussians are than one, by Bayes' information criterion.

    The gain in log-likelihood less ``log(n) / 2`` for each parameter that is added, a mean and a
    weight for each further Gaussian; variances are those of Pelleg and Moore,
    ``inertia / (n_features * (n - k))``.

    Examples
    --------
    >>> bool(bic_gain(1, 100.0, 1.0, np.array([50, 50])) > 0)
    True
    >>> bool(bic_gain(1, 100.0, 40.0, np.array([50, 50])) > 0)  # a Gaussian cut in the middle
    False
    """
    n, k = int(sizes.sum()), len(sizes)
    if n <= k or inertia <= 0:
        return -np.inf
    if split_inertia <= 0:
        return np.inf
    ratio = (inertia / (n - 1)) / (split_inertia / (n - k))
    likelihood = 0.5 * (n_features * n * np.log(ratio) + k - 1)
    likelihood += float(sizes @ np.log(sizes / n))
    return float(likelihood - 0.5 * (k - 1) * (n_features + 1) * np.log(n))


def x_means(
    X: Any, max_clusters: int, random_state: np.random.RandomState, *, shaped: bool = False
) -> Array:
    """Clusters of rows, as many as the Bayesian information criterion asks for.

    Each cluster is cut by k-means in two, or where that is no gain in three or four (four blobs
    around a fifth are not halved well), and the parts are cut again, until no cut is a gain or
    there are `max_clusters`. Then all clusters are settled together, and two are joined again
    where they are no gain over one: an early cut may have gone through a cluster.

    With `shaped`, where rows are enough to show the shape of a cluster, a cut must be a gain for
    Gaussians of any shape as well: a long cluster is not cut across.
    """
    X = X if sp.issparse(X) else X - X.mean(axis=0)
    shaped = shaped and shows_shape(X)
    labels = np.zeros(X.shape[0], dtype=int)
    n_clusters, undecided = 1, [0]
    while undecided:
        cluster = undecided.pop(0)
        members = np.flatnonzero(labels == cluster)
        most = min(MOST_PARTS, max_clusters - n_clusters + 1)
        parts = _best_parts(X[members], most, random_state, shaped)
        new = np.arange(n_clusters, n_clusters + int(parts.max()))
        labels[members] = np.r_[cluster, new][parts]
        n_clusters += len(new)
        undecided += [cluster, *new.tolist()] if len(new) else []
    if n_clusters == 1:
        return labels
    settled, _ = _lloyd(X, _squared_norms(X), _means(X, labels))
    return _join_round(X, _number_clusters(settled))


def _best_parts(X: Any, most: int, random_state: np.random.RandomState, shaped: bool) -> Array:
    """The smallest number of parts, up to `most`, that is a gain over one cluster."""
    inertia, norms, n = _inertia(X), _squared_norms(X), X.shape[0]
    whole = np.zeros(n, dtype=int)
    if inertia <= n * EPS * norms.sum() or most < 2 or (shaped and not shows_shape(X)):
        return whole
    one = bic_of_any_shape(X, whole) if shaped else -np.inf
    for k in range(2, min(most, n - 1) + 1):
        halves, apart = _k_means(X, norms, k, random_state)
        if bic_gain(X.shape[1], inertia, apart, np.bincount(halves)) <= 0:
            continue
        if not shaped or bic_of_any_shape(X, halves, least=one) > one:
            return halves
    return whole


# k-means: small sets are cut hundreds of times, and calls of a library would cost more than sums


def _squared_norms(X: Any) -> Array:
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", X, X)


def _dense_rows(X: Any, at: Any) -> Array:
    rows = X[at]
    return rows.toarray() if sp.issparse(X) else rows


def _k_means(
    X: Any, norms: Array, k: int, random_state: np.random.RandomState
) -> tuple[Array, float]:
    """The tightest clusters of a few starts, and their inertia."""
    starts = [_draw_centres(X, norms, k, random_state) for _ in range(N_STARTS)]
    labels, inertia = min((_lloyd(X, norms, start) for start in starts), key=lambda f: f[1])
    return _number_clusters(labels), inertia


def _draw_centres(X: Any, norms: Array, k: int, random_state: np.random.RandomState) -> Array:
    """Rows far from each other (k-means++): drawn by the squared distance to those before."""
    at = [int(random_state.randint(X.shape[0]))]
    distances = np.full(X.shape[0], np.inf)
    for _ in range(k - 1):
        to_last = _distances_to(X, _dense_rows(X, at[-1:]))[:, 0] + norms
        distances = np.minimum(distances, np.maximum(to_last, 0.0))
        drawn = np.searchsorted(np.cumsum(distances), random_state.uniform() * distances.sum())
        at.append(min(int(drawn), len(distances) - 1))
    return _dense_rows(X, at)


def _distances_to(X: Any, centres: Array) -> Array:
    """Squared distances of rows from centres, less the squared lengths of the rows."""
    D = np.asarray(X @ (-2.0 * centres.T))
    D += np.einsum("ij,ij->i", centres, centres)
    return D


def _lloyd(X: Any, norms: Array, centres: Array) -> tuple[Array, float]:
    """k-means from these centres; a centre without rows moves to the row furthest from its own."""
    labels, k = np.full(X.shape[0], -1), np.arange(len(centres))[:, None]
    D = _distances_to(X, centres)
    for _ in range(MAX_STEPS):
        new = D.argmin(axis=1)
        if (new == labels).all():
            break
        labels, members = new, (k == new).astype(np.float64)
        sizes = members.sum(axis=1)
        centres = np.asarray(members @ X) / np.maximum(sizes, 1)[:, None]
        if not sizes.all():
            distances = D.min(axis=1) + norms
            for empty in np.flatnonzero(sizes == 0):
                furthest = int(distances.argmax())
                centres[empty] = _dense_rows(X, [furthest])[0]
                distances[furthest] = 0.0
        D = _distances_to(X, centres)
    return labels, float(np.maximum(D.min(axis=1) + norms, 0.0).sum())


def _join_round(X: Any, labels: Array) -> Array:
    """Clusters joined, two at a time, while the pair of least gain over one cluster has none."""
    means, sizes = _means(X, labels), np.bincount(labels)
    inertia = np.array([_inertia(X[labels == c]) for c in range(len(sizes))])
    while (k := len(sizes)) > 1:
        gains = np.full((k, k), np.inf)
        for i, j in combinations(range(k), 2):
            apart = inertia[i] + inertia[j]
            between = sizes[i] * sizes[j] / (sizes[i] + sizes[j])
            together = apart + between * float(np.sum((means[i] - means[j]) ** 2))
            gains[i, j] = bic_gain(X.shape[1], together, apart, sizes[[i, j]])
        i, j = divmod(int(gains.argmin()), k)
        if gains[i, j] > 0:
            break
        labels = _number_clusters(np.where(labels == j, i, labels))
        means, sizes = _means(X, labels), np.bincount(labels)
        inertia = np.array([_inertia(X[labels == c]) for c in range(len(sizes))])
    return labels


# Gaussians of any shape ------------------------------------------------------------------------


def shows_shape(X: Any) -> bool:
    """Whether rows are enough to show a shape: one for every two entries of a covariance."""
    n, d = X.shape
    return not sp.issparse(X) and n >= d * (d + 1) / 4


class ShapedGaussian(NamedTuple):
    """A Gaussian with Ledoit and Wolf's covariance, and what its gain over another needs.

    Attributes
    ----------
    n : int
        Number of rows.
    scatter : array (d, d)
    fourth : float
        ``Σ ‖x - m‖⁴``.
    shrinkage : float
        α of the covariance ``(1 - α) S/n + α μ I``.
    log_likelihood : float
        Of its own rows, without constants.
    """

    n: int
    scatter: Array
    fourth: float
    shrinkage: float
    log_likelihood: float

    @classmethod
    def of(cls, X: Array) -> ShapedGaussian:
        """The Gaussian of rows."""
        Z = X - X.mean(axis=0)
        S, fourth, (n, d) = Z.T @ Z, float(np.sum(_squared_norms(Z) ** 2)), X.shape
        alpha = max(ledoit_wolf(S, fourth, n, d), 1e-6)
        C = (1 - alpha) * S / n
        C.flat[:: d + 1] += alpha * np.trace(S) / (n * d) + np.finfo(float).tiny
        L = np.linalg.cholesky(C)
        white = solve_triangular(L, Z.T, lower=True, check_finite=False)
        log_volume = 2 * float(np.log(np.diagonal(L)).sum())
        return cls(n, S, fourth, alpha, -0.5 * (n * log_volume + float(np.sum(white**2))))


def n_shape_parameters(n_features: int, shrinkage: float) -> float:
    """A mean, a variance, and as much of a covariance as is not shrunk away."""
    return n_features + 1 + (1 - shrinkage) * (n_features * (n_features + 1) / 2 - 1)


def round_bic(n_features: int, inertia: float, sizes: Array) -> float:
    """Bayes' criterion of round Gaussians of one variance: log-likelihood less its price."""
    n, k = int(sizes.sum()), len(sizes)
    if inertia <= 0:
        return np.inf
    likelihood = -0.5 * n * n_features * (np.log(inertia / (n * n_features)) + 1)
    likelihood += float(sizes @ np.log(sizes / n))
    return float(likelihood - 0.5 * (k * (n_features + 1)) * np.log(n))


def shaped_bic(n_features: int, parts: Sequence[ShapedGaussian]) -> float:
    """The same of Gaussians of any shape.

    How much shape the parts have is estimated from all of them together.
    """
    sizes = np.array([part.n for part in parts])
    n, S = int(sizes.sum()), np.sum([part.scatter for part in parts], axis=0)
    alpha = ledoit_wolf(S, sum(part.fourth for part in parts), n, n_features)
    likelihood = sum(part.log_likelihood for part in parts) + float(sizes @ np.log(sizes / n))
    added = len(parts) * (n_shape_parameters(n_features, alpha) + 1) - 1
    return float(likelihood - 0.5 * added * np.log(n))


def bic_of_any_shape(X: Array, labels: Array, least: float = -np.inf) -> float:
    """The better of both: Gaussians of clusters, round or of any shape.

    A long cluster is then better than its parts, and round clusters are not priced for shapes that
    they do not have. Clusters of no more rows than features show nothing, and are never better.
    Shapes are not looked at where round ones are better than `least` already.
    """
    sizes, d = np.bincount(labels), X.shape[1]
    if sizes.min() <= d:
        return -np.inf
    rows = [X[labels == c] for c in range(len(sizes))]
    bic = round_bic(d, sum(_inertia(part) for part in rows), sizes)
    if bic > least > -np.inf:
        return bic
    return max(bic, shaped_bic(d, [ShapedGaussian.of(part) for part in rows]))


def _are_one(X: Array, labels: Array) -> bool:
    """Whether two clusters are no gain over one, whatever their shapes."""
    whole = bic_of_any_shape(X, np.zeros(len(labels), dtype=int))
    return bic_of_any_shape(X, labels, least=whole) <= whole


def _means(X: Any, labels: Array) -> Array:
    """Means of the clusters."""
    return np.stack([_mean(X[labels == c]) for c in range(int(labels.max()) + 1)])


def _mean(X: Any) -> Array:
    return np.asarray(X.mean(axis=0), dtype=np.float64).ravel()


def _inertia(X: Any) -> float:
    """Sum of the squared distances of rows from their mean; numerical zero is zero."""
    mean = _mean(X)
    if sp.issparse(X):
        squares = float(X.multiply(X).sum())
        inertia = squares - X.shape[0] * float(mean @ mean)
        return inertia if inertia > X.shape[0] * EPS * squares else 0.0
    return float(np.sum((X - mean) ** 2))


def _number_clusters(labels: Array) -> Array:
    """The same clusters numbered from zero without gaps."""
    return np.unique(labels, return_inverse=True)[1]


def em_clusters(X: Array, labels: Array, random_state: np.random.RandomState) -> Array:
    """Rows assigned to the Gaussians that expectation maximisation makes of the clusters.

    Covariances get the ridge that Ledoit and Wolf's estimate asks for, so that clusters of fewer
    rows than features have one. The rows are centred and scaled first: units do not matter.
    """
    k = int(labels.max()) + 1
    if k == 1:
        return labels
    means = _means(X, labels)
    deviations = X - means[labels]
    centre = _mean(X)
    unit = float(np.sqrt(np.mean(deviations**2)) or np.abs(means - centre).max() or 1.0)
    ridge = float(ledoit_wolf_shrinkage(deviations / unit, assume_centered=True))
    mixture = GaussianMixture(
        k,
        means_init=(means - centre) / unit,
        reg_covar=max(ridge, 1e-12),
        random_state=random_state,
    )
    return _number_clusters(mixture.fit_predict((X - centre) / unit))


def merge_limit(merge: float | str, n_features: int) -> float:
    """The largest squared Mahalanobis distance at which two clusters are one.

    Parameters
    ----------
    merge : "region", "sigma", "auto" or float
        The region that holds 99.7 % of a Gaussian in all dimensions; three standard deviations, as
        on a line (the region in 500 dimensions holds the mean of nearly every other cluster), the
        limit of "auto", too, where it goes by distances; or a number of them.
    n_features : int

    Examples
    --------
    >>> [round(merge_limit(merge, 13), 1) for merge in ("region", "sigma", "auto", 2.0)]
    [31.3, 9.0, 9.0, 4.0]
    """
    if not isinstance(merge, str):
        return float(merge) ** 2
    if merge == "region":
        return float(chi2.ppf(REGION_SHARE, n_features))
    return THREE_SIGMA**2


def merged_clusters(X: Any, labels: Array, merge: float | str = "sigma") -> Array:
    """Clusters joined, nearest first, while the mean of one is near another (`merge_limit`).

    The distance is Mahalanobis', by the covariance of one cluster or of the other, whichever finds
    them nearer. With "auto" clusters whose rows show their shape are joined where they are no gain
    over one Gaussian of any shape (`bic_of_any_shape`), whatever their distance.
    """
    limit = merge_limit(merge, X.shape[1])
    while (k := int(labels.max()) + 1) > 1:
        means = _means(X, labels)
        distance = np.stack(
            [mahalanobis_distances(X[labels == c], means[c], means - means[c]) for c in range(k)]
        )
        ratio = np.full((k, k), np.inf)
        for i, j in combinations(range(k), 2):
            both = np.flatnonzero((labels == i) | (labels == j))
            ratio[i, j] = min(distance[i, j], distance[j, i]) / limit
            if merge == "auto" and shows_shape(X[both]):
                one = _are_one(X[both], (labels[both] == j).astype(int))
                ratio[i, j] = ratio[i, j] / (1 + ratio[i, j]) if one else np.inf
        i, j = divmod(int(ratio.argmin()), k)
        if ratio[i, j] > 1:
            break
        labels = _number_clusters(np.where(labels == j, i, labels))
    return labels


def mahalanobis_distances(X: Any, mean: Array, differences: Array) -> Array:
    """Mahalanobis' squared lengths of some differences, by the covariance of rows.

    The covariance is shrunk as Ledoit and Wolf do, ``(1 - α) S + α μ I``, so that it has an
    inverse with fewer rows than features; that one is applied from the side of the rows.
    """
    n_samples, n_features = X.shape
    if sp.issparse(X):
        # from one of the rows: what all have in common would cost the digits of the products
        first = sp.csr_array(X)[[0]]
        X = sp.csr_array(X - sp.vstack([first] * n_samples))
        mean = mean - first.toarray().ravel()
        along = X @ differences.T - differences @ mean
        norms = X.multiply(X).sum(axis=1) - 2 * (X @ mean) + mean @ mean
    else:
        Z = X - mean
        along, norms = Z @ differences.T, np.einsum("ij,ij->i", Z, Z)
    wide = n_samples < n_features
    if wide:
        G = (X @ X.T).toarray() if sp.issparse(X) else Z @ Z.T
        G = G - G.mean(axis=0) - (G.mean(axis=1) - G.mean())[:, None]
    elif sp.issparse(X):
        G = (X.T @ X).toarray() - n_samples * np.outer(mean, mean)
    else:
        G = Z.T @ Z
    # the squares of the eigenvalues have the same sum on both sides
    alpha = max(ledoit_wolf(G, float(np.sum(norms**2)), n_samples, n_features), 1e-6)
    floor = alpha * float(norms.sum()) / (n_samples * n_features)
    lengths = np.sum(differences**2, axis=1)
    if floor <= n_samples * EPS**2 * float(np.max(lengths, initial=0.0)):
        return np.where(lengths > 0, np.inf, 0.0)
    share = (1 - alpha) / n_samples
    factor = cholesky_whitener(share * G + floor * np.eye(len(G)))
    if not wide:
        return np.sum(factor.whiten(differences.T) ** 2, axis=0)
    return (lengths - share * np.sum(factor.whiten(along) ** 2, axis=0)) / floor
