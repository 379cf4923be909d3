"""Classes of many drawn rows by a local rule with diagonal covariances, in single precision.

A share of draws needs no more digits, and half the width is twice the speed: neighbours are those
below the k-th smallest distance, and one product with rows and their squares averages them.
"""

from __future__ import annotations

import numpy as np

from separatrix.decision.local_qda import LocalQDA
from separatrix.linalg import Array

MAX_DRAWS_AT_ONCE = 2048
"""Points at once: a block of their offsets stays in the cache."""


def classify_draws(model: LocalQDA, points: Array) -> Array:
    """Numbers of the classes of points (n, d), as ``model.predict`` has them but for rounding.

    Parameters
    ----------
    model : LocalQDA
        Fitted, with diagonal covariances.
    points : array (n, d)
    """
    classes = [_ClassRows(model, c) for c in range(len(model.classes_))]
    codes = np.empty(len(points), dtype=int)
    for start in range(0, len(points), MAX_DRAWS_AT_ONCE):
        block = slice(start, start + MAX_DRAWS_AT_ONCE)
        Z = ((points[block] - model.mean_) * model._factors).astype(np.float32)
        codes[block] = np.argmax([rows.log_density(Z) for rows in classes], axis=0)
    return codes


class _ClassRows:
    """The training rows of one class, ready for the densities of their neighbourhoods."""

    def __init__(self, model: LocalQDA, c: int) -> None:
        rows = model._rows[model._codes == c]
        self.rows = rows.astype(np.float32)
        self.half = (0.5 * np.sum(rows**2, axis=1)).astype(np.float32)
        self.moments = np.hstack([rows, rows**2]).astype(np.float32)
        self.k = min(model.n_neighbors_, len(rows))
        self.ridge, self.log_prior = np.float32(model.ridge_), np.log(model.priors_[c])

    def log_density(self, Z: Array) -> Array:
        """Log-prior plus log-density at each row of Z (n, d), up to a constant of all classes."""
        n_rows, d = self.rows.shape
        if self.k == 1:  # the variances are the ridge, in every class
            nearest = np.min(self.half - Z @ self.rows.T, axis=1)
            return np.asarray(self.log_prior - nearest / self.ridge)
        if self.k == n_rows:
            mean = self.moments.mean(axis=0, keepdims=True)
        else:
            # half the squared distances, but for a part that all rows share
            distances = self.half - Z @ self.rows.T
            kth = np.partition(distances, self.k - 1, axis=1)[:, self.k - 1 : self.k]
            near = (distances <= kth).astype(np.float32)
            mean = near @ self.moments
            mean /= near.sum(axis=1, keepdims=True)  # more than k where distances are equal
        centre, V = mean[:, :d], mean[:, d:]
        V -= centre**2
        np.maximum(V, 0.0, out=V)
        V += self.ridge
        offsets = Z - centre
        offsets *= offsets
        offsets /= V
        volume = np.log(V, out=V).sum(axis=1)
        return np.asarray(self.log_prior - 0.5 * (offsets.sum(axis=1) + volume))
