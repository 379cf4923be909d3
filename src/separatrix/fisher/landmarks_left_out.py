"""Kernel methods with landmarks choose width and ridge by rows left out, landmarks with them.

In the space of landmarks a row is its nearest point in their span. A landmark that was made of a
row has more of this row in its span than of a new one. So a row is left out together with the
landmark nearest to it, as long as rows are few for each landmark: with q the direction that no
other landmark has a part in, the inverse G of the scatter becomes ``G - G q qᵀ G / qᵀ G q``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from separatrix.base.feature_space import KernelMap, kernel_blocks
from separatrix.base.kernel import Mapped
from separatrix.base.landmarks import in_landmarks, map_of_landmarks
from separatrix.decision.expected import (
    LOSS_DIGITS,
    Calibration,
    LeftOut,
    Spectrum,
    apart_products,
    calibrate,
    distances_without,
    ridge_metric,
    row_products,
    search_ridge,
)
from separatrix.decision.linear import check_priors
from separatrix.fisher.left_out import warn_of_light_rows
from separatrix.kernels import SettledKernel, is_precomputed, kernels_to_try
from separatrix.linalg import EPS, Array, squared_distances
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows, class_indicator
from separatrix.selection import draw_rows_by_class

MAX_ROWS_PER_LANDMARK = 20
"""Rows for each landmark below which a row is left out with its landmark. Of more rows each has a
twentieth of a landmark at most."""

MIN_JUDGED = 1000
"""Rows that choose width and ridge, at least three for each landmark."""


class LandmarkRows(NamedTuple):
    """Rows in the space of landmarks, along the axes of the scatter within classes.

    Attributes
    ----------
    spectrum : Spectrum
    rows : array (n, m)
        Less the means of their classes.
    apart : array (n, m) or None
        The direction that only the landmark of each row has a part in.
    """

    spectrum: Spectrum
    rows: Array
    apart: Array | None


def map_to_landmarks_by_left_out(model: Any, rows: LabelledRows) -> Mapped | None:
    """Rows in the space of landmarks, with the kernel, ridge and decision of rows left out.

    None where no row can be left out, and for kernel values in place of rows.
    """
    if is_precomputed(model.kernel):
        return None
    placed = model._to_landmarks(rows.X, rows.weights)
    landmarks, priors = placed["landmarks_"], check_priors(model.priors, rows.classes)
    kernels = kernels_to_try(model.kernel, placed["_landmarks"].kernel)
    choice = choose_in_landmarks(rows, landmarks, kernels, priors)
    if choice is None:
        warn_of_light_rows(rows)
        return None
    kernel, ratio, decision = choice
    to_features = map_of_landmarks(kernel, landmarks)
    mapped = in_landmarks(to_features, rows)
    moments = ClassMoments.from_rows(mapped)
    free = moments.n_samples - np.count_nonzero(moments.counts)
    attributes = {
        "_landmarks": to_features,
        "landmarks_": landmarks,
        "kernel_": kernel.function,
        "ridge_": ratio * moments.trace_within() / free,
        "left_out_": decision,
    }
    return Mapped(to_features, mapped, attributes)


def choose_in_landmarks(
    rows: LabelledRows, landmarks: Any, kernels: Sequence[SettledKernel], priors: Array | None
) -> tuple[SettledKernel, float, LeftOut] | None:
    """The kernel, the ridge as a share of the variance within classes, and the decision.

    Parameters
    ----------
    rows : LabelledRows
    landmarks : array (m, n_features)
    kernels : sequence of SettledKernel
        Those of equal log-loss in the order of preference.
    priors : array (n_classes,), optional

    Returns
    -------
    SettledKernel, float, LeftOut, or None where no row can be left out.
    """
    n_classes = len(rows.classes)
    weights = np.ones(len(rows.codes)) if rows.weights is None else rows.weights
    counted = np.flatnonzero(weights)
    counts = np.bincount(rows.codes, weights, n_classes)
    shares = np.where(counts > 0, counts if priors is None else priors, 0.0)
    if np.count_nonzero(shares) < 2:
        return None
    shares = shares / shares.sum()
    most = max(MIN_JUDGED, 3 * landmarks.shape[0])
    sample = rows.part(counted[draw_rows_by_class(rows.codes[counted], most, 0, least=20)])
    nearest = None
    if len(counted) < MAX_ROWS_PER_LANDMARK * landmarks.shape[0]:
        nearest = find_nearest(sample.X, kernels[0], landmarks)
    candidates = []
    for kernel in kernels:
        to_features = map_of_landmarks(kernel, landmarks)
        placed = place_rows(to_features, in_landmarks(to_features, sample), nearest)
        if placed is None:
            return None
        alpha, best = search_ridge(partial(_judge, placed, sample, shares))
        candidates.append((best.log_loss, kernel, alpha, best))
    _, kernel, alpha, best = min(candidates, key=lambda f: round(f[0], LOSS_DIGITS))
    ratio = alpha / (1 - alpha)
    return kernel, ratio, LeftOut(alpha, *best._replace(slope=best.slope * (1 + ratio)))


def find_nearest(X: Any, kernel: SettledKernel, landmarks: Any) -> Array:
    """The number of the landmark nearest to each row."""
    origin = kernel.origin
    points = landmarks if origin is None else landmarks - origin
    nearest = np.empty(X.shape[0], dtype=np.intp)
    for block in kernel_blocks(X.shape[0], points.shape[0]):
        nearest[block] = squared_distances(kernel.rows(X[block]), points).argmin(axis=1)
    return nearest


def place_rows(
    to_features: KernelMap, rows: LabelledRows, nearest: Array | None
) -> LandmarkRows | None:
    """Rows in the space of landmarks along the axes of their scatter; None without a scatter."""
    Z, codes, n_classes = rows.X, rows.codes, len(rows.classes)
    weights = np.ones(len(codes)) if rows.weights is None else rows.weights
    counts = np.bincount(codes, weights, n_classes)
    means = class_indicator(codes, weights, n_classes, np.float64) @ Z
    means /= np.where(counts > 0, counts, 1.0)[:, None]
    centre = weights @ Z / weights.sum()
    within = Z - means[codes]
    free = float(counts.sum() - np.count_nonzero(counts))
    scatter = (within * weights[:, None]).T @ within
    total = float(np.trace(scatter))
    if free <= 1 or not total > len(Z) * EPS * float(weights @ np.sum((Z - centre) ** 2, axis=1)):
        return None
    evals, V = np.linalg.eigh(scatter)
    unit = total / free / (free - 1)
    outside = np.zeros((n_classes, n_classes))
    spectrum = Spectrum(evals.clip(0.0) / free, (means - centre) @ V, outside, counts, unit)
    apart = None
    if nearest is not None:
        own = to_features.kernel.values(to_features.points, to_features.points) @ to_features.basis
        apart = (np.linalg.pinv(own).T @ V)[nearest]
    return LandmarkRows(spectrum, within @ V, apart)


def _judge(placed: LandmarkRows, rows: LabelledRows, shares: Array, alpha: float) -> Calibration:
    distances = distances_in_landmarks(placed, rows.codes, alpha, rows.weights)
    return calibrate(distances, rows.codes, shares, rows.weights)


def distances_in_landmarks(
    placed: LandmarkRows, codes: Array, alpha: float, weights: Array | None = None
) -> Array:
    """Squared distances to the class means without each row, and without its landmark."""
    spectrum, along, directions = placed
    metric = ridge_metric(spectrum, alpha)
    products, apart = row_products(spectrum, along, metric), None
    if directions is not None:
        apart = apart_products(spectrum, along, directions, metric)
    return distances_without(products, codes, spectrum.counts, weights, apart)
