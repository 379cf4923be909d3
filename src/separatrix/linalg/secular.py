"""The distance from a point to a quadratic boundary, by its secular equation."""

from __future__ import annotations

import numpy as np

from separatrix.linalg._types import Array

MAX_SECULAR_STEPS = 100
"""Newton steps before the search for the zero of a monotone function ends: ten are usual."""

MAX_SECULAR_LOG = 300.0
"""Largest logarithm of the variable: there the function has reached its limit."""


def boundary_distance(evals: Array, slopes: Array, gaps: Array) -> Array:
    """Squared length of the shortest z with ``Σ λ_i z_i² + β_i z_i + γ ≤ 0``, where γ ≥ 0.

    This is the trust-region problem for all radii at once. One quadratic constraint leaves no
    duality gap, so the answer is the largest value of the concave function

    ``D(μ) = μ γ - μ² / 4 Σ β_i² / (1 + μ λ_i)``,  μ ≥ 0 and all 1 + μ λ_i ≥ 0.

    Its derivative is the secular function, which falls; Newton's method finds its zero, within
    brackets and on logarithms. When it has none there (the hard case: no slope along the most
    negative curvature), the end of the interval is the largest. Any μ gives a lower bound, and
    near the largest value an error of μ counts squared.

    Parameters
    ----------
    evals : array (..., k)
        Curvatures λ, of any sign and in any order.
    slopes : array (..., k)
        β in the same axes.
    gaps : array (...)
        γ, the values at z = 0.

    Returns
    -------
    array (...)
        Infinite where the quadratic is positive everywhere, zero where γ is.

    Examples
    --------
    >>> boundary_distance(np.array([0.0, 0.0]), np.array([3.0, 4.0]), np.array(10.0))
    array(4.)
    >>> boundary_distance(np.array([-2.0, 1.0]), np.array([0.0, 0.0]), np.array(18.0))
    array(9.)
    """
    shape = np.broadcast_shapes(evals.shape[:-1], slopes.shape[:-1], gaps.shape)
    k, flattened = evals.shape[-1], (int(np.prod(shape)), evals.shape[-1])
    lam = np.broadcast_to(evals, (*shape, k)).reshape(flattened)
    squares = np.broadcast_to(slopes, (*shape, k)).reshape(flattened) ** 2 / 4
    gap = np.broadcast_to(gaps, shape).ravel()
    concave = np.maximum(-lam.min(axis=1, initial=0.0), 0.0)
    raised = lam + concave[:, None]  # μ = w / (1 + concave w) lets w be any positive number
    flat = raised == 0
    inverse = np.divide(1.0, raised, out=np.zeros_like(raised), where=~flat)
    with np.errstate(over="ignore"):
        reach = np.sum(squares * (concave[:, None] * inverse + 1) * inverse, axis=1)
    reach[np.any(flat & (squares > 0), axis=1)] = np.inf
    distance = np.full(len(gap), np.inf)
    hard = (reach <= gap) & (concave > 0)
    rest = gap[hard] - np.sum(squares[hard] * inverse[hard], axis=1)
    distance[hard] = rest / concave[hard]
    distance[gap <= 0] = 0.0
    at = np.flatnonzero((reach > gap) & (gap > 0))
    distance[at] = _secular_maximum(raised[at], concave[at], squares[at], gap[at])
    return distance.reshape(shape)


def _secular_maximum(raised: Array, concave: Array, squares: Array, gap: Array) -> Array:
    """The largest D where the secular function has a zero."""
    ratio = gap / squares.sum(axis=1)
    low = np.log(ratio / (1 + np.sqrt(1 + concave * ratio)))  # if no curvature were positive
    high = np.full(len(gap), np.inf)
    found = low.copy()
    left = np.arange(len(gap))
    stride = 1.0
    for _ in range(MAX_SECULAR_STEPS):
        u, a, lam, b = found[left], concave[left], raised[left], squares[left]
        w = np.exp(u)[:, None]
        share = 1 / (1 + w * lam)
        weighted = b * share**2
        value = np.sum(weighted * (2 + w * (a[:, None] + lam)), axis=1) * w[:, 0]
        slope = 2 * (1 + a * w[:, 0]) * np.sum(weighted * share, axis=1) * w[:, 0]
        low[left] = np.where(value <= gap[left], u, low[left])
        high[left] = np.where(value >= gap[left], u, high[left])
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            step = u + np.log(gap[left] / value) * value / slope
        middle = np.where(np.isinf(high[left]), u + stride, (low[left] + high[left]) / 2)
        inside = (step >= low[left]) & (step <= np.minimum(high[left], u + 8 * stride))
        found[left] = np.minimum(np.where(inside, step, middle), MAX_SECULAR_LOG)
        stride *= 2
        left = left[np.abs(found[left] - u) > 1e-9]
        if not len(left):
            break
    w = np.exp(found)
    share = 1 / (1 + w[:, None] * raised)
    lower = w / (1 + concave * w) * (gap - w * np.sum(squares * share, axis=1))
    # a vertex that barely touches zero is at the end of w, where the difference in D cancels
    length = np.sum(squares * (w[:, None] * share) ** 2, axis=1)
    return np.where(concave > 0, lower, length)
