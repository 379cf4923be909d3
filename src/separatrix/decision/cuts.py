"""The cuts of the sources between two classes on a line: class 1 lies above."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.base.parameters import Allowed, array_like, one_of, real_number
from separatrix.base.rows import centred_product
from separatrix.base.solution import Solution
from separatrix.decision.linear import LinearRule, check_priors, threshold_rule
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows

FROM_MOMENTS = ("auto", "mahalanobis")
"""Values of `threshold` that need only moments."""

BALANCE = Allowed(
    lambda v: real_number(0, 1).test(v) and float(v) < 1, "a number in [0, 1)", (0.0, 0.9)
)

THRESHOLD_PARAMETERS: dict[str, Sequence[Allowed]] = {
    "threshold": (one_of("auto", "mahalanobis", "accuracy", "balanced"),),
    "balance": (one_of("auto"), BALANCE),
    "priors": (one_of(None), array_like()),
}
"""Allowed values of the parameters that the IPCAC family shares."""

BALANCES = (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99)
"""The k of (3.22) that ``balance="auto"`` tries."""


def pooled_variance(stds: Array, counts: Array) -> float:
    """The variance of all rows about the mean of their own class."""
    return float(counts @ stds**2 / counts.sum())


def mahalanobis_threshold(
    means: Array, stds: Array, counts: Array, *, priors: Array | None = None
) -> float:
    """The point between two means that is as many standard deviations from one as from the other.

    A class without spread (one sample, or all alike) takes the spread of both together; when
    neither has any, the point is the middle. A spread below 1e-4 of the gap between the means
    counts as none: its square may be numerical zero.

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
    balance: float | str = "auto",
) -> tuple[float, float]:
    """The average of the good thresholds among the scores of each class, halfway between both.

    Equations (3.18) to (3.22) of Rozza's thesis. Of the scores of a class, taken as thresholds,
    those are averaged that get more than k times as many rows right as the best of them; the
    threshold is the middle of the two averages. k = 0 averages all: the middle of the class means.
    A row on a threshold counts half to either side, so that swapping the classes mirrors the
    answer.

    Parameters
    ----------
    scores : array (n_samples,)
    positive : array of bool (n_samples,)
        Which samples belong above the threshold.
    weights : array (n_samples,), optional
        What each sample counts.
    balance : float in [0, 1) or "auto"
        k. "auto" is the k of `BALANCES` whose threshold gets most of these rows right when both
        classes weigh alike, the smallest of equals.

    Returns
    -------
    float, float
        The threshold, and k.

    Examples
    --------
    >>> scores = np.array([0.0, 1, 2, 6, 7])
    >>> positive = np.array([False, False, True, True, True])
    >>> balanced_threshold(scores, positive, balance=0.0)  # the middle of 0.5 and 5
    (2.75, 0.0)
    >>> balanced_threshold(scores, positive)
    (1.5, 0.8)
    """
    weights = np.ones(len(scores)) if weights is None else weights
    right = _right_with_own_score_as_cut(scores, positive, weights)
    tried = BALANCES if isinstance(balance, str) else (float(balance),)
    cuts = [_middle_of_good_cuts(scores, positive, weights, right, k) for k in tried]
    judged = np.array([_balanced_accuracy(scores, positive, weights, cut) for cut in cuts])
    best = int(np.argmax(judged > judged.max() - 1e-12))
    return cuts[best], tried[best]


def _right_with_own_score_as_cut(scores: Array, positive: Array, weights: Array) -> Array:
    """The weight of rows on their side of a cut at each row; those on the cut count half."""
    values, at = np.unique(scores, return_inverse=True)
    above = np.bincount(at, weights * positive, len(values))
    below = np.bincount(at, weights * ~positive, len(values))
    right = np.cumsum(below) - below / 2 + above.sum() - np.cumsum(above) + above / 2
    return right[at]


def _middle_of_good_cuts(
    scores: Array, positive: Array, weights: Array, right: Array, k: float
) -> float:
    """(3.22) for one k."""
    averages = []
    for members in (~positive & (weights > 0), positive & (weights > 0)):
        best = right[members].max()
        good = (right[members] > k * best) | (right[members] == best)
        averages.append(np.average(scores[members][good], weights=weights[members][good]))
    return float(np.mean(averages))


def _balanced_accuracy(scores: Array, positive: Array, weights: Array, cut: float) -> float:
    side = (scores > cut) == positive
    return sum(float(np.average(side[c], weights=weights[c])) for c in (positive, ~positive)) / 2


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


# Probabilities ---------------------------------------------------------------------------------


def gaussian_slope(means: Array, stds: Array, counts: Array) -> float:
    """Slope of the log-odds of two Gaussians of the pooled variance: gap over variance.

    Examples
    --------
    >>> gaussian_slope(np.array([0.0, 3.0]), np.array([2.0, 2.0]), np.array([9.0, 9.0]))
    0.75
    """
    gap = float(means[1] - means[0])
    return gap / max(pooled_variance(stds, counts), 1e-9 * gap**2) if gap > 0 else 0.0


# Models ---------------------------------------------------------------------------------------


def cut_literally(
    solution: Solution, moments: ClassMoments, rows: Any, model: Any
) -> tuple[LinearRule, float]:
    """The rule of a source for two classes along the one direction, and where it cuts."""
    means = ((moments.means - moments.mean) @ solution.W)[:, 0]
    sign = 1.0 if means[1] >= means[0] else -1.0
    means, counts = sign * means, moments.counts
    scatters = moments.project(solution.W).class_scatters[:, 0, 0].clip(0.0)
    stds, priors = np.sqrt(scatters / counts), check_priors(model.priors, moments.classes)
    slope = gaussian_slope(means, stds, counts)
    gamma = mahalanobis_threshold(means, stds, counts, priors=priors)
    if model.threshold not in FROM_MOMENTS and np.isfinite(gamma):
        assert isinstance(rows, LabelledRows), "check_cut_needs_no_rows comes first"
        Z = centred_product(rows.X, moments.mean, solution.W)[:, 0]
        scores, positive = sign * Z.astype(np.float64), rows.codes == 1
        weights = np.ones(len(scores)) if rows.weights is None else rows.weights
        if priors is not None:
            weights = weights * (priors / np.bincount(rows.codes, weights, 2))[rows.codes]
        if model.threshold == "accuracy":
            gamma = accuracy_threshold(scores, positive, weights=weights, near=gamma)
        else:
            gamma, _ = balanced_threshold(scores, positive, weights=weights, balance=model.balance)
    return threshold_rule(sign, gamma, slope), gamma


def check_cut_needs_no_rows(threshold: str, n_classes: int = 2) -> None:
    """Raise when a cut asks for all rows, and only their moments are available."""
    if n_classes == 2 and threshold not in FROM_MOMENTS:
        raise ValueError(
            f'threshold="{threshold}" needs all rows at once, in memory: use fit, or '
            'threshold="auto" or "mahalanobis" to update or merge models, or for a Dask collection'
        )
