"""Clusters inside a class: how many, and which belong together."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.covariance import ledoit_wolf_shrinkage
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from separatrix.fisher.directions import ledoit_wolf
from separatrix.linalg import EPS, Array, cholesky_whitener

THREE_SIGMA = 3.0
"""Clusters whose means are nearer than so many standard deviations are one."""

MOST_PARTS = 4
"""Into how many parts a cluster may be cut at once."""

# Clusters ------------------------------------------------------------------------------------


def bic_gain(n_features: int, inertia: float, split_inertia: float, sizes: Array) -> float:
    """How much several round Gaussians are better than one, by Bayes' information criterion.

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


def x_means(X: Any, max_clusters: int, random_state: np.random.RandomState) -> Array:
    """Clusters of rows, as many as the Bayesian information criterion asks for.

    Each cluster is cut by k-means in two, or where that is no gain in three or four (four blobs
    around a fifth are not halved well), and the parts are cut again, until no cut is a gain or
    there are `max_clusters`. Then all clusters are settled together, and two are joined again
    where they are no gain over one: an early cut may have gone through a cluster.
    """
    labels = np.zeros(X.shape[0], dtype=int)
    n_clusters, undecided = 1, [0]
    while undecided:
        cluster = undecided.pop(0)
        members = np.flatnonzero(labels == cluster)
        most = min(MOST_PARTS, max_clusters - n_clusters + 1)
        parts = _parts(X[members], most, random_state)
        new = np.arange(n_clusters, n_clusters + int(parts.max()))
        labels[members] = np.r_[cluster, new][parts]
        n_clusters += len(new)
        undecided += [cluster, *new.tolist()] if len(new) else []
    if n_clusters == 1:
        return labels
    return _joined(X, _settled(X, labels, random_state))


def _settled(X: Any, labels: Array, random_state: np.random.RandomState) -> Array:
    """Where k-means ends that starts from the means of these clusters."""
    means = _means(X, labels)
    k_means = KMeans(len(means), init=means, n_init=1, random_state=random_state)
    return _numbered(k_means.fit_predict(X))


def _joined(X: Any, labels: Array) -> Array:
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
        labels = _numbered(np.where(labels == j, i, labels))
        means, sizes = _means(X, labels), np.bincount(labels)
        inertia = np.array([_inertia(X[labels == c]) for c in range(len(sizes))])
    return labels


def _parts(X: Any, most: int, random_state: np.random.RandomState) -> Array:
    """The smallest number of parts, up to so many, that is a gain over one cluster."""
    inertia = _inertia(X)
    for k in range(2, min(most, X.shape[0] - 1) + 1):
        if inertia <= 0:
            break
        with warnings.catch_warnings():  # fewer distinct rows than parts are no harm
            warnings.simplefilter("ignore", ConvergenceWarning)
            parts = KMeans(k, n_init=2, random_state=random_state).fit(X)
        found = _numbered(parts.labels_)
        if bic_gain(X.shape[1], inertia, parts.inertia_, np.bincount(found)) > 0:
            return found
    return np.zeros(X.shape[0], dtype=int)


def _means(X: Any, labels: Array) -> Array:
    """Means of the clusters."""
    return np.stack([_mean(X[labels == c]) for c in range(int(labels.max()) + 1)])


def _mean(X: Any) -> Array:
    return np.asarray(X.mean(axis=0), dtype=np.float64).ravel()


def _inertia(X: Any) -> float:
    """Sum of the squared distances of rows from their mean; what is only rounding is zero."""
    mean = _mean(X)
    if sp.issparse(X):
        squares = float(X.multiply(X).sum())
        inertia = squares - X.shape[0] * float(mean @ mean)
        return inertia if inertia > X.shape[0] * EPS * squares else 0.0
    return float(np.sum((X - mean) ** 2))


def _numbered(labels: Array) -> Array:
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
    return _numbered(mixture.fit_predict((X - centre) / unit))


def merged_clusters(X: Any, labels: Array) -> Array:
    """Clusters joined, nearest first, while the mean of one is within three sigma of another.

    The distance is Mahalanobis', by the covariance of one cluster or of the other, whichever finds
    them nearer. Three sigma are meant as on a line: the region that holds 99.7 % of a Gaussian in
    500 dimensions holds the mean of nearly every other.
    """
    while (k := int(labels.max()) + 1) > 1:
        means = _means(X, labels)
        distance = np.stack(
            [mahalanobis_distances(X[labels == c], means[c], means - means[c]) for c in range(k)]
        )
        distance = np.minimum(distance, distance.T)
        distance[np.tril_indices(k)] = np.inf
        i, j = divmod(int(distance.argmin()), k)
        if distance[i, j] > THREE_SIGMA**2:
            break
        labels = _numbered(np.where(labels == j, i, labels))
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
