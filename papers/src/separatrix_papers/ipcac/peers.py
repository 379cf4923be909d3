"""Classifiers that the thesis compares with and that scikit-learn does not have."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import SGDClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from separatrix.linalg import Array


class SecondOrderPerceptron(ClassifierMixin, BaseEstimator):
    """A perceptron whose mistakes are whitened (Cesa-Bianchi, Conconi and Gentile, 2005).

    With S the rows it was wrong about and y their signs it predicts the sign of
    ``x · (a I + Sᵀ S)⁻¹ Sᵀ y``, which is ridge regression on its mistakes; the inverse of
    ``a I + S Sᵀ`` grows by a row and a column with each.
    """

    def __init__(self, a: float = 1.0) -> None:
        self.a = a

    def fit(self, X: Array, y: Array) -> Self:
        """Forget, and learn rows one by one; labels are 0 and 1."""
        self.classes_ = np.array([0, 1])
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

    def decision_function(self, X: Array) -> Array:
        """Scores of rows, positive for label 1."""
        return np.asarray(X @ self.w)

    def predict(self, X: Array) -> Array:
        """The labels of rows: 0 and 1."""
        return (self.decision_function(X) > 0).astype(int)


NUMERICAL_ZERO = 1e-10
"""Distance from a span, over the length of a row, that is rounding."""


class IndependentRows:
    """Rows of which none is nearer than `eta` times its length to the span of those before it."""

    def __init__(self, n_features: int, eta: float) -> None:
        self.eta = eta
        self.axes = np.empty((0, n_features))
        """Orthonormal, of the span."""

    def project(self, x: Array) -> tuple[Array, float]:
        """A row in the span, and its distance from the span over its length."""
        inside = (self.axes @ x) @ self.axes
        length = float(np.linalg.norm(x))
        apart = float(np.linalg.norm(x - inside)) / length if length > 0 else 0.0
        return inside, apart if apart > NUMERICAL_ZERO else 0.0

    def add(self, x: Array) -> None:
        """Widen the span; projected out twice, since once leaves rounding errors behind."""
        rest = x - (self.axes @ x) @ self.axes
        rest -= (self.axes @ rest) @ self.axes
        self.axes = np.vstack([self.axes, rest / np.linalg.norm(rest)])


class Projectron(ClassifierMixin, BaseEstimator):
    """A perceptron whose support set stays small (Orabona, Keshet and Caputo, 2009), linear.

    A row that it is wrong about is added as in a perceptron if it is further than `eta` times its
    length from the span of the rows added before, and its projection on that span otherwise. With
    `margins` (Projectron++) the projection of a row that is right by less than 1 is added, too,
    as far as the loss exceeds the distance from the span.

    Parameters
    ----------
    eta : float
        Zero is the perceptron: every row is its own projection or added.
    margins : bool
    """

    def __init__(self, eta: float = 0.1, margins: bool = False) -> None:
        self.eta = eta
        self.margins = margins

    def fit(self, X: Array, y: Array) -> Self:
        """Forget, and learn rows one by one; labels are 0 and 1."""
        self.classes_ = np.array([0, 1])
        self.w, self.support = np.zeros(X.shape[1]), IndependentRows(X.shape[1], self.eta)
        return self.partial_fit(X, y)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "w")

    def partial_fit(self, X: Array, y: Array, classes: Any = None) -> Self:
        """Learn more rows."""
        if not hasattr(self, "w"):
            return self.fit(X, y)
        for x, sign in zip(np.asarray(X, dtype=float), np.where(y, 1.0, -1.0), strict=True):
            right_by = sign * float(x @ self.w)
            if right_by <= 0 or (self.margins and right_by < 1):
                self._learn(x, sign, right_by)
        return self

    def _learn(self, x: Array, sign: float, right_by: float) -> None:
        inside, apart = self.support.project(x)
        if right_by <= 0:
            if apart > self.eta:
                self.support.add(x)
                inside = x
            self.w = self.w + sign * inside
            return
        loss, length = 1 - right_by, float(inside @ inside)
        excess = loss - apart / max(self.eta, 1e-12)
        if excess > 0 and length > 0:
            step = min(loss / length, 2 * excess / length, 1.0)
            self.w = self.w + step * sign * inside

    def decision_function(self, X: Array) -> Array:
        """Scores of rows, positive for label 1."""
        return np.asarray(X @ self.w)

    def predict(self, X: Array) -> Array:
        """The labels of rows: 0 and 1."""
        return (self.decision_function(X) > 0).astype(int)


class OnlineIndependentSVM(ClassifierMixin, BaseEstimator):
    """A support vector machine in the span of few independent rows (Orabona et al., 2007), linear.

    Rows that are further than `eta` times their length from the span of those chosen before are
    chosen; the hyperplane of all rows seen so far, with squared hinge loss and no intercept, is
    searched in that span. Since the optimum is unique it is found when it is asked for.
    """

    def __init__(self, C: float = 1.0, eta: float = 0.1) -> None:
        self.C = C
        self.eta = eta

    def fit(self, X: Array, y: Array) -> Self:
        """Forget, and learn rows; labels are 0 and 1."""
        self.classes_ = np.array([0, 1])
        self.basis = IndependentRows(X.shape[1], self.eta)
        self.rows, self.labels = np.empty((0, X.shape[1])), np.empty(0, dtype=int)
        return self.partial_fit(X, y)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "rows")

    def partial_fit(self, X: Array, y: Array, classes: Any = None) -> Self:
        """Learn more rows."""
        if not hasattr(self, "rows"):
            return self.fit(X, y)
        for x in np.asarray(X, dtype=float):
            if self.basis.project(x)[1] > self.eta:
                self.basis.add(x)
        self.rows, self.labels = np.vstack([self.rows, X]), np.append(self.labels, y)
        self.w: Array | None = None
        return self

    def decision_function(self, X: Array) -> Array:
        """Scores of rows, positive for label 1."""
        if self.w is None:
            axes = self.basis.axes
            if len(np.unique(self.labels)) < 2 or not len(axes):
                return np.full(len(X), 2.0 * self.labels.mean() - 1)
            plane = LinearSVC(C=self.C, fit_intercept=False, dual="auto", max_iter=5000)
            self.w = plane.fit(self.rows @ axes.T, self.labels).coef_[0] @ axes
        return np.asarray(X @ self.w)

    def predict(self, X: Array) -> Array:
        """The labels of rows: 0 and 1."""
        return (self.decision_function(X) > 0).astype(int)


class NestedDichotomies(ClassifierMixin, BaseEstimator):
    """Classes halved at random again and again, a tree of two classes at each halving (END).

    The probability of a class is the product of those of the halves it is in, averaged over many
    random halvings (Frank and Kramer, 2004; Dong, Frank and Kramer, 2005).

    Parameters
    ----------
    n : int
        How many halvings are averaged.
    random_state : int
    """

    def __init__(self, n: int = 40, random_state: int = 0) -> None:
        self.n = n
        self.random_state = random_state

    def fit(self, X: Array, y: Array) -> Self:
        """Grow the trees."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        rng = np.random.default_rng(self.random_state)
        every = np.arange(len(self.classes_))
        self.splits = [split for _ in range(self.n) for split in self._halve(every, X, codes, rng)]
        return self

    def _halve(self, classes: Array, X: Array, codes: Array, rng: np.random.Generator) -> Any:
        """The halvings of some classes: which are on either side, and a tree that decides."""
        if len(classes) < 2:
            return []
        order = rng.permutation(classes)
        left, right = np.split(order, [rng.integers(1, len(order))])
        rows = np.isin(codes, classes)
        tree = DecisionTreeClassifier(min_samples_leaf=2, random_state=int(rng.integers(2**31)))
        tree.fit(X[rows], np.isin(codes[rows], right))
        deeper = [*self._halve(left, X, codes, rng), *self._halve(right, X, codes, rng)]
        return [(classes, left, right, tree), *deeper]

    def predict_proba(self, X: Array) -> Array:
        """Probabilities of the classes."""
        total, one = np.zeros((2, len(X), len(self.classes_)))
        for classes, left, right, tree in self.splits:
            if len(classes) == len(self.classes_):  # another halving of all classes begins
                total += one
                one = np.ones_like(total)
            share = tree.predict_proba(X)[:, 1:]
            one[:, right] *= share
            one[:, left] *= 1 - share
        return (total + one) / self.n

    def predict(self, X: Array) -> Array:
        """The most probable class."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])


def first_order() -> dict[str, SGDClassifier]:
    """One pass: perceptron, passive-aggressive (PA-I; `eta0` is its C), logistic regression."""
    rules: dict[str, dict[str, Any]] = {
        "Perceptron": {"loss": "perceptron", "learning_rate": "constant", "eta0": 1.0},
        "PA-I": {"loss": "hinge", "learning_rate": "pa1", "eta0": 1.0},
        "logistic regression": {"loss": "log_loss"},
    }
    return {
        name: SGDClassifier(penalty=None, random_state=0, max_iter=1, tol=None, **rule)
        for name, rule in rules.items()
    }
