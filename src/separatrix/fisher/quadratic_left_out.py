"""The sphere in the covariances of classes by which rows that are left out are predicted best.

A row x of class c takes ``n/(n - 1) r r'`` with it, r = x - m_c: all of it from the scatter of its
class, and the share λ of pooling from that of every other class. Each covariance so loses one
direction, and for all shares of the sphere one decomposition of each class is enough.

Where no row is left, rows are drawn that have exactly the moments of their class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from separatrix.base.estimator import Rows
from separatrix.decision.expected import (
    PRIOR_ROWS,
    Calibration,
    LeftOut,
    calibrate,
    search_ridge,
)
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows
from separatrix.selection import draw_rows_by_class

MAX_SPHERE_ROWS = 2000
"""Rows that are left out in turn, or drawn."""

MIN_REMAINDER = 1e-12
"""Least share of a variance that is left along a row that is left out: numerical zero."""


class ClassShape(NamedTuple):
    """The covariance of a class before a sphere is added.

    Attributes
    ----------
    evals : array (r,)
        Its eigenvalues, or the variances of independent features.
    axes : array (r, r) or None
        Its eigenvectors; None for independent features.
    n_behind : float
        Rows behind it, the share of pooled ones included.
    """

    evals: Array
    axes: Array | None
    n_behind: float

    def along(self, rows: Array) -> Array:
        """Rows in the coordinates of the axes."""
        return rows if self.axes is None else rows @ self.axes


def find_shapes(scatters: Array, counts: Array) -> list[ClassShape]:
    """The shapes of pooled scatters, matrices or diagonals, of these numbers of rows."""
    counts = np.where(counts > 0, counts, 1.0)
    if scatters.ndim == 2:
        return [ClassShape(S / n, None, n) for S, n in zip(scatters, counts, strict=True)]
    found = []
    for S, n in zip(scatters, counts, strict=True):
        evals, axes = np.linalg.eigh(S / n)
        found.append(ClassShape(evals.clip(0.0), axes, n))
    return found


def choose_sphere(
    moments: ClassMoments,
    small: ClassMoments,
    W: Array,
    pooled: tuple[Array, Array],
    pooling: float,
    priors: Array,
    rows: Rows | None,
) -> LeftOut | None:
    """The share of a sphere with the least log-loss of new rows, and the decision there.

    Parameters
    ----------
    moments, small : ClassMoments
        In all features, and in the coordinates where covariances are.
    W : array (n_features, r) or array of bool (n_features,)
        The axes of these coordinates, or the features that these are.
    pooled : array (n_classes, r, r) or (n_classes, r), array (n_classes,)
        Scatters of which the share `pooling` is that of all classes, and their counts.
    pooling : float
    priors : array (n_classes,)
        Zero for a class without rows.
    rows : LabelledRows, Blocks or None
        Where they are not in memory, or have weights, rows with the same moments are drawn.
    """
    shapes = find_shapes(*pooled)
    if np.count_nonzero(priors) < 2 or any(
        not shapes[g].evals.any() for g in np.flatnonzero(priors)
    ):
        return None
    if isinstance(rows, LabelledRows) and rows.weights is None:
        some = draw_rows_by_class(rows.codes, MAX_SPHERE_ROWS, 0, least=2)
        part = rows.part(some)
        Z, codes = moments.centred(part.X, part.codes), part.codes
        Z = Z[:, W] if W.ndim == 1 else Z @ W
    else:
        Z, codes = draw_rows_with_moments(small)
    kept = (small.counts[codes] > 1) & (priors[codes] > 0)
    if not kept.any():
        return None
    return _judge(small, shapes, pooling, Z[kept], codes[kept], priors, moments.n_varying)


def draw_rows_with_moments(moments: ClassMoments) -> tuple[Array, Array]:
    """Rows less the means of their classes whose scatter is that of each class, and their codes.

    Of a class of more rows than its share of `MAX_SPHERE_ROWS` some are drawn, with the scatter
    in the mean.
    """
    most = max(MAX_SPHERE_ROWS // len(moments.counts), 2)
    pooled = None if moments.per_class else moments.Sw / moments.n_samples
    blocks, codes = [np.zeros((0, moments.n_features))], []
    for g in np.flatnonzero(moments.counts > 1):
        count = float(moments.counts[g])
        S = moments.scatters[g].matrix() if pooled is None else pooled * count
        evals, V = np.linalg.eigh(S)
        evals, V = evals[::-1].clip(0.0), V[:, ::-1]
        # towards the mean of the class: coordinates of another basis get the same rows
        V = V * np.where((moments.means[g] - moments.mean) @ V < 0, -1.0, 1.0)
        n = int(min(np.ceil(count), most))
        normal = np.random.default_rng(0).standard_normal((n, len(evals)))
        if n == np.ceil(count):
            k = min(n - 1, len(evals))
            Q = np.linalg.qr(normal[:, :k] - normal[:, :k].mean(axis=0))[0]
            blocks.append(Q * np.sqrt(evals[:k]) @ V[:, :k].T)
        else:
            blocks.append(normal * np.sqrt(evals / count) @ V.T)
        codes.append(np.full(n, g))
    return np.vstack(blocks), np.concatenate([np.zeros(0, dtype=int), *codes])


def _judge(
    small: ClassMoments,
    shapes: Sequence[ClassShape],
    pooling: float,
    rows: Array,
    codes: Array,
    priors: Array,
    n_features: int,
) -> LeftOut:
    """The search of `choose_sphere`, of rows of classes that have several."""
    means = np.where(small.counts[:, None] > 0, small.means - small.mean, 0.0)
    factors = small.counts[codes] / (small.counts[codes] - 1)
    terms = []
    for g in np.flatnonzero(priors).tolist():
        residuals = shapes[g].along(rows)
        own = codes == g
        steps = residuals + shapes[g].along(means[codes] - means[g])
        steps[own] *= factors[own, None]  # from the mean without the row
        terms.append((g, own, residuals, steps))

    def judge(gamma: float) -> Calibration:
        distances = np.zeros((len(rows), len(shapes)))
        for g, own, residuals, steps in terms:
            for members, share in ((own, 1.0), (~own, pooling)):
                distances[members, g] = _lengths(
                    shapes[g],
                    gamma,
                    share,
                    factors[members],
                    residuals[members],
                    steps[members],
                    n_features,
                )
        return calibrate(distances - distances.min(), codes, priors)

    rarest = float(np.max(priors / np.maximum(np.bincount(codes, minlength=len(priors)), 1)))
    gamma, found = search_ridge(judge, PRIOR_ROWS * rarest)
    return LeftOut(gamma, *found)


def _lengths(
    shape: ClassShape,
    gamma: float,
    share: float,
    factors: Array,
    rows: Array,
    steps: Array,
    n_features: int,
) -> Array:
    """Squared lengths of steps plus the log-volume, by a covariance without the share of a row."""
    left = shape.n_behind - share
    sphere = gamma * float(shape.evals.sum()) / n_features
    taken = (1 - gamma) * share * factors / left
    variances = (1 - gamma) * shape.n_behind / left * shape.evals + sphere
    if shape.axes is None:
        alone = np.maximum(variances - taken[:, None] * rows**2, MIN_REMAINDER * variances)
        return np.sum(steps**2 / alone + np.log(alone), axis=1)
    volume = np.log(variances).sum() + (n_features - len(variances)) * np.log(sphere)
    remainder = np.maximum(1 - taken * (rows**2 @ (1 / variances)), MIN_REMAINDER)
    across = (steps * rows) @ (1 / variances)
    lengths = steps**2 @ (1 / variances) + taken * across**2 / remainder
    return lengths + np.log(remainder) + volume
