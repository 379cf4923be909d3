"""The share of equation 3.6, and more discriminants than there are, as they are printed."""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments


def printed_shares(accuracy: Array) -> Array:
    """Rows on the wrong side of each hyperplane: half the mean of |y - sign(f)|."""
    return 1.0 - accuracy


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
