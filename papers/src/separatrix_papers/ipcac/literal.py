"""Formulas of the thesis as they are printed, where the package departs from them.

Nothing outside this folder uses them: they show what the corrections change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from separatrix import MixtureIPCAC
from separatrix.ipcac.ipcac import log2_rule
from separatrix.linalg import Array, ThinSVD, partial_whiten


def printed_threshold(scores: Array, second: Array) -> float:
    """The mean of the training projections that are the best thresholds (3.17).

    Each candidate is a training row itself, which then lies on the threshold: there is no margin
    on one side, and swapping the names of the classes changes the answer.
    """
    candidates = np.unique(scores)
    below = np.searchsorted(np.sort(scores[~second]), candidates, side="right")
    above = np.sum(second) - np.searchsorted(np.sort(scores[second]), candidates, side="right")
    right = below + above
    return float(candidates[right == right.max()].mean())


def cut_at_training_row(model: Any, X: Array, y: Array, X_test: Array) -> Array:
    """Predictions of a fitted classifier of two classes with that threshold instead of its own."""
    gamma = printed_threshold(model.decision_function(X), y == model.classes_[1])
    return model.classes_[(model.decision_function(X_test) > gamma).astype(int)]


class MergedModel:
    """Models of parts of the rows merged by the formulas of section 3.6.

    The whitened class means that are added are centred on the means of different parts; they are
    divided by the number of all rows instead of those of the class; and the thresholds of the
    parts, of different directions, are averaged.

    Parameters
    ----------
    parts : list of pairs (X, second)
        Rows, and which of them belong to the second class.
    variance : float
        Share of the variance that each model retains.
    """

    def __init__(self, parts: Sequence[tuple[Array, Array]], variance: float) -> None:
        total = sum(len(X) for X, _ in parts)
        centres = [X.mean(axis=0) for X, _ in parts]
        shares = [len(X) / total for X, _ in parts]
        self.mean = np.sum([n * m for n, m in zip(shares, centres, strict=True)], axis=0)
        covariance = np.zeros((len(self.mean), len(self.mean)))
        difference, at_threshold = np.zeros_like(self.mean), np.zeros_like(self.mean)
        for (X, second), share, centre in zip(parts, shares, centres, strict=True):
            values, axes = _leading(np.cov(X.T, bias=True), variance)
            white = (X - centre) @ (axes / np.sqrt(values)) @ axes.T
            means = [white[~second].mean(axis=0), white[second].mean(axis=0)]
            F = (means[1] - means[0]) / np.linalg.norm(means[1] - means[0])
            gamma = printed_threshold(white @ F, second)
            back = (axes * np.sqrt(values)) @ axes.T
            covariance += share * (axes * values) @ axes.T
            sizes = np.array([np.sum(~second), np.sum(second)]) / total
            difference += back @ (sizes[1] * means[1] - sizes[0] * means[0])
            at_threshold += share * (gamma * back @ F + centre)
        for i, (n, m) in enumerate(zip(shares, centres, strict=True)):
            for other_n, other_m in zip(shares[i + 1 :], centres[i + 1 :], strict=True):
                covariance += n * other_n * np.outer(m - other_m, m - other_m)
        values, axes = _leading(covariance, 1.0)
        whitening = (axes / np.sqrt(values)) @ axes.T
        F = whitening @ difference
        self.w = whitening @ F / np.linalg.norm(F)
        self.gamma = float(self.w @ (at_threshold - self.mean))

    def predict(self, X: Array) -> Array:
        """Which rows belong to the second class."""
        return (X - self.mean) @ self.w > self.gamma


def _leading(covariance: Array, share: float) -> tuple[Array, Array]:
    """The largest eigenvalues that hold a share of the trace, above rounding, and their axes."""
    values, axes = np.linalg.eigh(covariance)
    values, axes = values[::-1], axes[:, ::-1]
    wanted = 1 + int(np.searchsorted(np.cumsum(values), share * values.sum() * (1 - 1e-12)))
    wanted = min(wanted, int(np.sum(values > len(values) * np.finfo(float).eps * values[0])))
    return values[:wanted], axes[:, :wanted]


class OnlineModel(BaseEstimator):
    """O-IPCAC with the updates of section 4.3.

    Of all rows as many axes are kept as are whitened at the time, so that a newly admitted axis
    has the spread of the last batch alone. Means and variances of the projections are updated
    batch by batch, each along the direction of its time.
    """

    n = 0

    def __sklearn_is_fitted__(self) -> bool:
        return self.n > 0

    def fit(self, X: Array, y: Array) -> Self:
        """Forget, and learn one batch."""
        self.n = 0
        return self.partial_fit(X, y)

    def partial_fit(self, X: Array, y: Array, classes: Any = None) -> Self:
        """Learn a batch; labels are 0 and 1."""
        if self.n == 0:
            self.counts = np.zeros(2)
            self.svd, self.mean = ThinSVD.empty(X.shape[1]), np.zeros(X.shape[1])
            self.means = np.zeros((2, X.shape[1]))
            self.projected, self.squares = np.zeros(2), np.zeros(2)
        b, centre = len(X), X.mean(axis=0)
        shift = np.sqrt(self.n * b / (self.n + b)) * (centre - self.mean)
        self.mean = self.mean + b / (self.n + b) * (centre - self.mean)
        self.n += b
        self.svd = self.svd.appended(np.vstack([X - centre, shift]), rank=log2_rule(self.n))
        before = self.counts.copy()
        for c in (0, 1):
            rows = X[y == c]
            self.counts[c] += len(rows)
            self.means[c] += (rows - self.means[c]).sum(axis=0) / max(self.counts[c], 1)
        if self.counts.all():
            self._turn()
            for c in (0, 1):
                along = X[y == c] @ self.w
                self.projected[c] = (before[c] * self.projected[c] + along.sum()) / self.counts[c]
                old = before[c] * self.squares[c]
                self.squares[c] = (old + np.sum(along**2)) / self.counts[c]
            sds = np.sqrt((self.squares - self.projected**2).clip(0))
            gap = self.projected[1] - self.projected[0]
            self.gamma = float(self.projected[0] + sds[0] * gap / max(sds.sum(), 1e-300))
        return self

    def _turn(self) -> None:
        delta = (self.means[1] - self.means[0])[:, None]
        f = partial_whiten(delta, self.svd.U, self.svd.s)
        self.w = partial_whiten(f / np.linalg.norm(f), self.svd.U, self.svd.s)[:, 0]

    def predict(self, X: Array) -> Array:
        """The labels of rows: 0 and 1."""
        if not self.counts.all():
            return np.full(len(X), int(self.counts[1] > 0))
        return (X @ self.w > self.gamma).astype(int)


def truncated_kernel(
    K: Array, K_test: Array, second: Array, variance: float
) -> tuple[Array, float]:
    """Scores of new rows and the threshold of K-TIPCAC with the rest of the spectrum set to 1.

    The eigenvalues that hold the share are divided by, all others are taken for 1 whatever the
    scale of the kernel (section 5.2.2).
    """
    centred = K - K.mean(axis=0) - (K.mean(axis=1) - K.mean())[:, None]
    values, axes = _leading(centred, variance)
    h = np.where(second, 1 / np.sum(second), -1 / np.sum(~second))
    alpha = h + axes @ ((1 / values - 1) * (axes.T @ h))
    return K_test @ alpha, printed_threshold(K @ alpha, second)


def best_of_each_team(model: MixtureIPCAC, X: Array) -> Array:
    """The shorter rule of the jury: the best cluster of each class decides (5.23).

    It is not the rule of the network (5.22): one cluster that wins all its matches ties with one
    of the other class that lost none of those it had.
    """
    margins = (X - model.mean_) @ model.components_.T - model.thresholds_
    first, second = (np.flatnonzero(model.cluster_classes_ == c) for c in (0, 1))
    wins = np.empty((len(X), len(first), len(second)))
    for k, (a, b) in enumerate(model.nodes_):
        won = np.where(margins[:, k] > 0, 1, -1)
        if model.cluster_classes_[a] == 0:
            wins[:, a, b - second[0]] = won
        else:
            wins[:, b, a - second[0]] = -won
    scores = wins.mean(axis=1).max(axis=1) - (-wins.mean(axis=2)).max(axis=1)
    return model.classes_[(scores > 0).astype(int)]
