"""The criterion that LDG approximates, and a descent along its gradient (Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.sparse.linalg import aslinearoperator
from scipy.special import logsumexp

from separatrix.base.queries import Queries
from separatrix.linalg import Array
from separatrix.moments.labelled import LabelledRows
from separatrix.moments.neighbours import averaging_matrix, class_neighbours, weighted_averaging

MAX_GRADIENT_STEPS = 100
"""Steps of the descent; on the data of the tests and of table 3.1 it converges in 20 to 70."""

FLAT = 1e-6
"""Slope, as a share of the gradient at the start, at which the descent has converged."""


class DiscriminativeGaussians:
    """The criterion that LDG approximates: how badly local Gaussians classify the rows.

    ``J(B) = Σ_i log Σ_j p_j exp(-‖BᵀΔ_ij‖²/2) + ‖BᵀΔ_ig‖²/2`` for orthonormal B (3.4), and its
    gradient (3.5). Only projected rows are averaged: nothing of size n × classes × d is held.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        Rows, near the origin.
    codes : array (n_samples,)
        Their classes.
    averages : list of sparse matrices (n_samples, n_samples)
        For each class, what takes rows to the means of their neighbours in it.
    priors : array (n_classes,)
        p.
    queries : Queries, optional
        The rows that stand for all; `averages` have one row for each of them.
    weights : array (n_samples,), optional
        What each row counts in the sum over i.
    """

    def __init__(
        self,
        X: Any,
        codes: Array,
        averages: Sequence[Any],
        priors: Array,
        queries: Queries | None = None,
        weights: Array | None = None,
    ) -> None:
        self.X, self.averages, self.queries = X, averages, queries
        self.weights: Any = 1.0 if weights is None else weights
        if queries is not None:
            codes, self.weights = codes[queries.numbers], queries.weights
        self.own = codes[None] == np.arange(len(averages))[:, None]
        with np.errstate(divide="ignore"):
            self.log_priors = np.log(priors)[:, None]

    @classmethod
    def about_means(cls, rows: LabelledRows, priors: Array, queries: Queries | None) -> Self:
        """With one Gaussian for each class."""
        ones = aslinearoperator(np.ones((len(rows.codes), 1)))
        counted = np.ones(len(rows.codes)) if rows.weights is None else rows.weights
        members = [(rows.codes == j)[None] * counted for j in range(len(priors))]
        averages = [ones @ aslinearoperator(m / m.sum()) for m in members]
        return cls(rows.X, rows.codes, averages, priors, queries, rows.weights)

    @classmethod
    def about_neighbours(
        cls, rows: LabelledRows, priors: Array, n_neighbors: int, queries: Queries | None
    ) -> Self:
        """With a Gaussian about the k neighbours of each row in each class."""
        X, codes, weights = rows.X, rows.codes, rows.weights
        numbers = np.arange(len(codes))
        averages: list[Any]
        if weights is None:
            own = numbers if queries is None else queries.numbers
            near = class_neighbours(X[own], codes, n_neighbors, among=X, own=own)
            averages = [averaging_matrix(found, own, len(codes)) for found in near]
        else:
            near = class_neighbours(X, codes, n_neighbors, weights=weights)
            averages = [
                weighted_averaging(found, np.where(codes == j, numbers, -1), weights, n_neighbors)
                for j, found in enumerate(near)
            ]
        return cls(X, codes, averages, priors, queries, weights)

    def __call__(self, B: Array) -> tuple[float, Array]:
        """The criterion and its gradient (n_features, k)."""
        Y = self.X @ B
        at = slice(None) if self.queries is None else self.queries.numbers
        deltas = [Y[at] - N @ Y for N in self.averages]
        halves = np.stack([np.einsum("ij,ij->i", D, D) for D in deltas]) / 2
        exponents = self.log_priors - halves
        total = logsumexp(exponents, axis=0)
        value = float(np.sum(self.weights * (total + np.sum(halves * self.own, axis=0))))
        weights = self.weights * (self.own - np.exp(exponents - total))
        back = np.zeros_like(Y)
        for N, D, w in zip(self.averages, deltas, weights, strict=True):
            weighted = w[:, None] * D
            back[at] += weighted
            back -= N.T @ weighted
        return value, self.X.T @ back


class Descent(NamedTuple):
    """Where a descent over orthonormal B ended: B, the values on the way, whether it settled."""

    B: Array
    values: Array
    converged: bool


def orthonormal_descent(
    objective: Callable[[Array], tuple[float, Array]],
    B: Array,
    max_steps: int = MAX_GRADIENT_STEPS,
) -> Descent:
    """Go down along the gradient with ``BᵀB = I``; the value never rises (Algorithm 1).

    The objective must depend on the span of B only. A step is the gradient less its part in the
    span of B, then a QR; its length is Barzilai and Borwein's, halved until the value falls.
    """
    value, gradient = objective(B)
    values = [value]
    slope = gradient - B @ (B.T @ gradient)
    length = 1.0 / max(float(np.linalg.norm(slope)), 1e-300)
    scale = max(float(np.linalg.norm(gradient)), 1e-300)
    for _ in range(max_steps):
        if np.linalg.norm(slope) <= FLAT * scale:
            return Descent(B, np.array(values), True)
        for _ in range(60):
            Q, R = np.linalg.qr(B - length * slope)
            new = Q * np.where(np.diagonal(R) < 0, -1.0, 1.0)
            new_value, gradient = objective(new)
            if new_value <= value:
                break
            length /= 2
        else:
            return Descent(B, np.array(values), True)  # no step however small goes down
        new_slope = gradient - new @ (new.T @ gradient)
        step, change = new - B, new_slope - slope
        curvature = abs(float(np.sum(step * change)))
        length = float(np.sum(step * step)) / curvature if curvature > 0 else 2 * length
        B, value, slope = new, new_value, new_slope
        values.append(value)
    return Descent(B, np.array(values), bool(np.linalg.norm(slope) <= FLAT * scale))
