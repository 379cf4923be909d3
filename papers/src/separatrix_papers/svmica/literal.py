"""The share of equation 3.6, the threshold of figure 3.2, and discriminants without a bound."""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from separatrix import SupportVectorProjection
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments


def printed_shares(accuracy: Array) -> Array:
    """Rows on the wrong side of each hyperplane: half the mean of |y - sign(f)|."""
    return 1.0 - accuracy


class ThresholdProjection(BaseEstimator):
    """SVM projections without those that are nearer than δ to a better one (figure 3.2)."""

    def __init__(self, C: float = 1.0, *, redundancy: float = 0.2) -> None:
        self.C = C
        self.redundancy = redundancy

    def fit(self, X: Array, y: Array) -> Self:
        """Find all normals, and keep those that the threshold leaves."""
        model = SupportVectorProjection(C=self.C).fit(X, y)
        n_kept = 1 + int(np.count_nonzero(model.elimination_distances_ > self.redundancy))
        self.model_, self.n_kept_ = model, n_kept  # the least redundant come first
        return self

    def transform(self, X: Array) -> Array:
        """The rows along the normals that are left."""
        return self.model_.transform(X)[:, : self.n_kept_]


class PrintedDiscriminants(BaseEstimator):
    """Eigenvectors of ``Sw⁺ Sb`` by falling eigenvalue, more of them than classes less one.

    Those beyond are vectors of the null space in an order that only rounding decides; the source
    keeps 39 to 93 of them.
    """

    def fit(self, X: Array, y: Array) -> Self:
        """Find all eigenvectors."""
        moments = ClassMoments.from_data(X, y)
        values, vectors = np.linalg.eig(np.linalg.pinv(moments.Sw) @ moments.Sb)
        self.W_ = vectors[:, np.argsort(-values.real)].real
        return self

    def transform(self, X: Array) -> Array:
        """The rows along the eigenvectors."""
        return np.asarray(X @ self.W_)
