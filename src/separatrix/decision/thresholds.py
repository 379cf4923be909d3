"""Thresholds on a line: class 1 lies above."""

from __future__ import annotations

import numpy as np

from separatrix.linalg import Array

# Thresholds on a line: class 1 lies above -----------------------------------------------------


def pooled_variance(stds: Array, counts: Array) -> float:
    """The variance of all rows about the mean of their own class."""
    return float(counts @ stds**2 / counts.sum())


def mahalanobis_threshold(
    means: Array, stds: Array, counts: Array, *, priors: Array | None = None
) -> float:
    """The point between two means that is as many standard deviations from one as from the other.

    A class without spread (one sample, or all alike) takes the spread of both together; when
    neither has any, the point is the middle. A spread below 1e-4 of the gap between the means
    counts as none: its square may be rounding.

    Parameters
    ----------
    means, stds, counts : array (2,)
        Of the projected classes, the class above second.
    priors : array (2,), optional
        Move the point as they would for two Gaussians of the pooled variance.

    Examples
    --------
    >>> mahalanobis_threshold(np.array([0.0, 3.0]), np.array([2.0, 1.0]), np.array([9.0, 9.0]))
    2.0
    """
    gap = means[1] - means[0]
    variance = pooled_variance(stds, counts)
    spread = np.where(stds > 1e-4 * abs(gap), stds, np.sqrt(variance))
    total = spread.sum()
    share = spread[0] / total if total > 1e-4 * abs(gap) else 0.5
    gamma = float(means[0] + share * gap)
    if priors is None or gap == 0:
        return gamma
    with np.errstate(divide="ignore"):
        odds = np.log(priors[0]) - np.log(priors[1])
    if not np.isfinite(odds):
        return float(np.sign(gap) * odds)
    return gamma + float(odds) * max(variance, 1e-9 * gap**2) / gap


def accuracy_threshold(
    scores: Array, positive: Array, *, weights: Array | None = None, near: float = 0.0
) -> float:
    """The middle of the widest gap that puts as many samples as possible on their side.

    Candidates lie between neighbouring distinct scores and beyond both ends, so that no sample
    lies on the threshold and swapping the classes mirrors the answer. Of several best runs of
    candidates the widest wins, then the one whose middle is closest to `near`. One sort.

    Parameters
    ----------
    scores : array (n_samples,)
    positive : array of bool (n_samples,)
        Which samples belong above the threshold.
    weights : array (n_samples,), optional
        What each sample counts.
    near : float
        Decides between gaps of one width.

    Examples
    --------
    >>> accuracy_threshold(np.array([0.0, 1, 2, 6, 7]), np.array([False, False, True, True, True]))
    1.5
    """
    values, right = _right_below_and_above(scores, positive, weights)
    step = (values[-1] - values[0]) / max(len(values) - 1, 1)
    edges = np.concatenate([[values[0] - step], values, [values[-1] + step]])
    best = right >= right.max() - 1e-9 * max(right.max(), 1e-300)
    starts = np.flatnonzero(best & ~np.r_[False, best[:-1]])
    stops = np.flatnonzero(best & ~np.r_[best[1:], False])
    low, high = edges[starts], edges[stops + 1]
    width, middle = high - low, (low + high) / 2
    widest = width >= width.max() * (1 - 1e-9)
    return float(middle[widest][np.argmin(np.abs(middle[widest] - near))])


def balanced_threshold(
    scores: Array,
    positive: Array,
    *,
    weights: Array | None = None,
    near: float = 0.0,
    share: float = 0.9,
) -> float:
    """The average of the good thresholds among the scores of each class, halfway between both.

    Equation 3.22 of the source, for its reproduction: of the scores of a class, taken as
    thresholds, average those that get at least `share` of the best of them right; then take
    the middle of the two classes' averages. `near` is not used.

    Examples
    --------
    >>> scores = np.array([0.0, 1, 2, 6, 7])
    >>> balanced_threshold(scores, np.array([False, False, True, True, True]))
    1.5
    """
    weights = np.ones(len(scores)) if weights is None else weights
    values, right = _right_below_and_above(scores, positive, weights)
    at_score = right[1 + np.searchsorted(values, scores)]
    averages = []
    for members in (~positive & (weights > 0), positive & (weights > 0)):
        good = at_score[members] >= share * at_score[members].max()
        averages.append(np.average(scores[members][good], weights=weights[members][good]))
    return float(np.mean(averages))


def _right_below_and_above(
    scores: Array, positive: Array, weights: Array | None
) -> tuple[Array, Array]:
    """Distinct scores, and the weight of samples on their side for a cut after each of them.

    Entry j counts a cut above the j lowest distinct scores, so there is one more than scores.
    """
    weights = np.ones(len(scores)) if weights is None else weights
    values, codes = np.unique(scores, return_inverse=True)
    above = np.bincount(codes, weights * positive, minlength=len(values))
    below = np.bincount(codes, weights * ~positive, minlength=len(values))
    right = np.concatenate([[0.0], np.cumsum(below - above)]) + above.sum()
    return values, right
