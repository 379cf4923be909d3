"""WSVDA with its formulas as they are printed."""

from __future__ import annotations

import numpy as np
from sklearn.svm import SVC

from separatrix.linalg import Array


class PrintedWSVDA:
    """Table 2 of the source, step by step.

    ``P Sw P`` is singular from the second step on; in each step a small quantity is added to its
    diagonal, which the source does not state: here 1e-6 of the mean of the diagonal. The
    directions do not stay orthogonal.
    """

    def __init__(self, n_components: int, added: float = 1e-6) -> None:
        self.n_components = n_components
        self.added = added

    def fit(self, X: Array, y: Array) -> PrintedWSVDA:
        """Directions as unit rows of ``components_``."""
        d = X.shape[1]
        rest = np.concatenate([X[y == c] - X[y == c].mean(axis=0) for c in np.unique(y)])
        Sw = rest.T @ rest
        P = np.eye(d)
        found = []
        for _ in range(self.n_components):
            inside = P @ Sw @ P
            inside[np.diag_indices(d)] += self.added * np.trace(inside) / d
            PX = P @ X.T
            solved = np.linalg.solve(inside, PX)
            # values of a nearly singular matrix are so large that libsvm would not come to an end
            machine = SVC(kernel="precomputed", max_iter=20_000).fit(PX.T @ solved, y)
            w = solved[:, machine.support_] @ machine.dual_coef_[0]
            w /= np.linalg.norm(w) or 1.0
            found.append(w)
            P = P - np.outer(P @ w, w)
        self.components_ = np.array(found)
        return self

    def transform(self, X: Array) -> Array:
        """Rows along the directions."""
        return X @ self.components_.T
