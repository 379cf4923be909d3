"""Online classifiers that the thesis compares with and that scikit-learn does not have."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import SGDClassifier

from separatrix.linalg import Array


class SecondOrderPerceptron(BaseEstimator):
    """A perceptron whose mistakes are whitened (Cesa-Bianchi, Conconi and Gentile, 2005).

    With S the rows it was wrong about and y their signs it predicts the sign of
    ``x · (a I + Sᵀ S)⁻¹ Sᵀ y``, which is ridge regression on its mistakes; the inverse of
    ``a I + S Sᵀ`` grows by a row and a column with each.
    """

    def __init__(self, a: float = 1.0) -> None:
        self.a = a

    def fit(self, X: Array, y: Array) -> Self:
        """Forget, and learn rows one by one; labels are 0 and 1."""
        self.rows = np.empty((0, X.shape[1]))
        self.inverse, self.signs = np.empty((0, 0)), np.empty(0)
        self.w = np.zeros(X.shape[1])
        return self.partial_fit(X, y)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "w")

    def partial_fit(self, X: Array, y: Array, classes: Any = None) -> Self:
        """Learn more rows."""
        if not hasattr(self, "w"):
            return self.fit(X, y)
        for x, sign in zip(np.asarray(X, dtype=float), np.where(y, 1.0, -1.0), strict=True):
            if sign * (x @ self.w) <= 0:
                self._add(x, sign)
        return self

    def _add(self, x: Array, sign: float) -> None:
        k = self.rows @ x
        e = self.inverse @ k
        left = self.a + x @ x - k @ e
        self.inverse = np.block(
            [[self.inverse + np.outer(e, e) / left, -e[:, None] / left], [-e / left, 1 / left]]
        )
        self.rows, self.signs = np.vstack([self.rows, x]), np.append(self.signs, sign)
        self.w = self.rows.T @ (self.inverse @ self.signs)

    def predict(self, X: Array) -> Array:
        """The labels of rows: 0 and 1."""
        return (X @ self.w > 0).astype(int)


def first_order() -> dict[str, SGDClassifier]:
    """Perceptron, passive-aggressive (PA-I) and logistic regression, row by row."""
    rules: dict[str, dict[str, Any]] = {
        "Perceptron": {"loss": "perceptron", "learning_rate": "constant", "eta0": 1.0},
        "PA-I": {"loss": "hinge", "learning_rate": "pa1", "eta0": 1.0},
        "logistic regression": {"loss": "log_loss"},
    }
    return {
        name: SGDClassifier(penalty=None, random_state=0, **rule) for name, rule in rules.items()
    }
