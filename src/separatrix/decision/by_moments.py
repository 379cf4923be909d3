"""The scores that new rows will have, from class moments: where no row is left, this decides.

With H the inverse of a metric, D the class means less their mean m weighted by priors w, and q the
mean leverage of a row in the scatter that the metric holds, new rows x of class c have scores
``D H (x - m)`` with the means ``(D H D')[c, g] - T_c (δ_cg - w_c) / n_c`` and the covariance
``D H S_c H D' / (1 - q)²``, where ``T_c = tr(H S_c) / (1 - q)`` and q is that of the class where
its covariance S_c is known. The first correction is what the
training rows gained by having made their own mean, the others what they gained by having made S.

A class of few rows borrows the pooled covariance. The log-odds of new rows are calibrated as those
of rows that are left out are (`decision.expected`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from separatrix.decision.expected import (
    Calibration,
    Metric,
    Spectrum,
    calibrate,
    ridge_metric,
    search_ridge,
)
from separatrix.linalg import Array

MOST_POINTS = 256
"""Points that stand for the new rows of each class. The error of two classes moves by .001 from
256 to 4096 of them."""

MAX_EXPECTED_DISTANCES = 1 << 15
"""Distances of all points to all class means, beyond which points are fewer, but 8 for a class."""

MAX_JUDGED_CLASSES = 512
"""Most classes that are judged together. Of more, a part is judged, and there are no offsets:
the covariance of all scores would be the largest matrix of all."""


MIN_LEFT = 1e-9
"""Smallest share of a class that its leverage leaves: numerical zero."""


class ByMoments(NamedTuple):
    """The ridge of least expected log-loss, and the slope and offsets of its decision.

    Attributes
    ----------
    alpha : float
    slope : float
    offsets : array (n_classes,)
    log_loss, error : float
        Expected of new rows, classes weighted by their priors. They are right for normal classes
        of one covariance (``tests/decision/test_by_moments.py``), too small for many classes of
        few rows and where rows depend on each other.
    """

    alpha: float
    slope: float
    offsets: Array
    log_loss: float
    error: float


class NewScores(NamedTuple):
    """Where the scores ``D H (x - m)`` of new rows x lie.

    Attributes
    ----------
    means : array (n_classes, n_classes)
        Those of the new rows of each class.
    covariances : array (n_classes, n_classes, n_classes) or (1, n_classes, n_classes)
        Of each class, or one for all.
    squares : array (n_classes,)
        ``D H D'`` of each class mean itself.
    trace : float
        The mean squared distance of a new row from the mean of its class.
    signal : float
        Share of the distances between classes that is not chance, as far as moments can say.
    """

    means: Array
    covariances: Array
    squares: Array
    trace: float
    signal: float


class Expected(NamedTuple):
    """Expected distances of new rows in a metric.

    Attributes
    ----------
    scores : NewScores
    calibration : Calibration
        The slope and the offsets of the decision, with its log-loss and its error on new rows.
    """

    scores: NewScores
    calibration: Calibration


def expect_scores(
    spectrum: Spectrum, metric: Metric, priors: Array, classes: Array | None = None
) -> NewScores:
    """The means and covariances of the scores of new rows of some classes, by default of all.

    Distances between the means are positive by chance alone. Their sum over the classes, weighted
    by priors, has the standard deviation ``√2 ‖diag(w) - w w'‖ √tr((H S)²)`` with the norm in
    units of the counts; anything no larger is no signal, and the rest is shrunk by the
    factor ``1 - (that / sum)⁴``.

    Parameters
    ----------
    spectrum : Spectrum
    metric : Metric
    priors : array (n_classes,)
    classes : array of int, optional
        Classes that have rows.
    """
    classes = np.arange(len(priors)) if classes is None else classes
    counts, weights = spectrum.counts[classes], priors[classes] / priors[classes].sum()
    free, precisions = spectrum.n_free, metric.precisions(spectrum.evals)
    D = spectrum.means[classes] - weights @ spectrum.means[classes]
    outside = spectrum.outside[np.ix_(classes, classes)]
    outside = outside - weights @ outside
    outside = (outside - (outside @ weights)[:, None]) / metric.outside
    products = (D * precisions) @ D.T + outside
    # 1 - q, without a difference of two numbers that may be almost equal
    left = (free - len(precisions) + float(precisions @ metric.floor)) / free

    shrunk, tail = precisions * spectrum.evals, spectrum.tail / metric.outside
    trace = float(shrunk.sum()) / left + spectrum.n_outside * tail
    traces = np.full(len(classes), trace)
    covariances = ((D * precisions * shrunk) @ D.T / left**2 + tail * outside)[None]
    if (spreads := spectrum.spreads) is not None:
        # a covariance of few rows has large errors, which leverage magnifies
        own = np.clip(1 - len(classes) / (left * np.maximum(counts - 1, 1.0)), 0.0, 1.0)
        tails, diagonals = spreads.tails[classes] / metric.outside, spreads.diagonals[classes]
        # rows of a class that is wide have more of the scatter in their hands
        leverages = diagonals @ (precisions * metric.slope) * (counts - 1) / (counts * free)
        left_apart = np.maximum(1 - leverages, MIN_LEFT)
        apart = diagonals @ precisions / left_apart + spectrum.n_outside * tails
        traces = own * apart + (1 - own) * trace
        along = spreads.products(D * precisions)[classes] / left_apart[:, None, None] ** 2
        along += tails[:, None, None] * outside
        covariances = own[:, None, None] * along + (1 - own)[:, None, None] * covariances

    own_part = np.eye(len(classes)) - weights[:, None]
    means = products - (traces / counts)[:, None] * own_part
    squares = float(shrunk @ shrunk) / left**2 + spectrum.n_outside * tail**2
    size = np.linalg.norm(own_part * weights / np.sqrt(np.outer(counts, counts)))
    noise, gained = float(np.sqrt(2 * squares) * size), float(weights @ np.diagonal(means))
    signal = 1 - (noise / gained) ** 4 if gained > noise else 0.0
    centre = weights @ means
    return NewScores(
        centre + signal * (means - centre),
        covariances,
        np.diagonal(products).copy(),
        trace,
        signal,
    )


def expect(
    spectrum: Spectrum, metric: Metric, priors: Array, start: Calibration | None = None
) -> Expected:
    """Expected scores of new rows, and the slope and offsets that suit them best.

    Parameters
    ----------
    spectrum : Spectrum
    metric : Metric
    priors : array (n_classes,)
        Weights of the classes; zero for one that is excluded. All others must have rows.
    start : Calibration, optional
        Of a similar metric.
    """
    classes = np.flatnonzero(priors)
    many = len(classes) > MAX_JUDGED_CLASSES
    if many:
        classes = classes[np.linspace(0, len(classes) - 1, MAX_JUDGED_CLASSES).astype(int)]
    scores = expect_scores(spectrum, metric, priors, classes)
    distances = _stand_for_rows(scores, spectrum.counts[classes])
    n_points = distances.shape[1]
    codes = np.repeat(np.arange(len(classes)), n_points)
    if start is not None:
        start = start._replace(offsets=start.offsets[classes])
    n_rows = float(spectrum.counts.sum())
    flat = distances.reshape(len(codes), len(classes))
    calibration = calibrate(flat, codes, priors[classes], start=start, n_rows=n_rows)
    offsets = np.zeros(len(priors))
    if not many:
        offsets[classes] = calibration.offsets
    return Expected(scores, calibration._replace(offsets=offsets))


def _stand_for_rows(scores: NewScores, counts: Array) -> Array:
    """Squared distances (n_classes, n_points, n_classes) of new rows to the class means.

    Points of all classes and metrics are the same but for the map that takes them to a class.
    """
    n_classes = len(counts)
    most = int(np.clip(MAX_EXPECTED_DISTANCES // n_classes**2, 8, MOST_POINTS))
    n_points = 1 << (most.bit_length() - 1)  # points of Sobol are even in powers of two
    factors = [_find_factor(V) for V in scores.covariances]
    points = normal_points(max(L.shape[1] for L in factors), n_points)
    spread = np.sqrt(1 + 1 / counts)  # a mean is known as well as the rows of its class let it be
    distances = np.empty((n_classes, len(points), n_classes))
    for c in range(n_classes):
        L = factors[c % len(factors)]
        distances[c] = scores.means[c] + spread[c] * (points[:, : L.shape[1]] @ L.T)
    distances *= -2.0
    distances += scores.squares + scores.trace
    return distances - min(float(distances.min()), 0.0)


def _find_factor(covariance: Array) -> Array:
    """L with ``L L'`` the covariance, of full rank; each column has a sign of its own."""
    evals, V = np.linalg.eigh(covariance)
    used = evals > 1e-12 * max(float(evals[-1]), 0.0)
    used[0] = False  # scores of all classes have no more dimensions than contrasts
    V = V[:, used]
    V = V * np.where(np.sum(V**3, axis=0) < 0, -1.0, 1.0)
    return (V * np.sqrt(evals[used]))[:, ::-1]


def normal_points(n_dimensions: int, n_points: int) -> Array:
    """Points that stand for a standard normal distribution, each with its opposite.

    Examples
    --------
    >>> normal_points(1, 4).ravel().round(2)
    array([-1.15, -0.32,  0.32,  1.15])
    """
    if n_dimensions == 1:
        return ndtri((np.arange(n_points) + 0.5) / n_points)[:, None]
    half = qmc.Sobol(max(n_dimensions, 1), scramble=True, rng=0).random(n_points // 2)
    some = ndtri(half.clip(1e-9, 1 - 1e-9))
    return np.vstack([some, -some])


# Choices --------------------------------------------------------------------------------------


def best_ridge_by_moments(spectrum: Spectrum, priors: Array) -> ByMoments:
    """The α of `ridges_to_try` whose expected log-loss of new rows is least."""
    last: Calibration | None = None

    def judge(alpha: float) -> Calibration:
        nonlocal last
        last = expect(spectrum, ridge_metric(spectrum, alpha), priors, last).calibration
        return last

    alpha, best = search_ridge(judge)
    return ByMoments(alpha, *best)
