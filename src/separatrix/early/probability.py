"""The probability that a guess stands, in place of a set on which it does: rule (5.1).

A rival g takes the place of the guess c where ``f_c - f_g`` is negative. For linear functions of a
normal row that difference is normal, and the probability is exact; for quadratic ones its mean and
variance are, and it is taken as normal. The probabilities of all rivals together bound that of any
of them.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtr

from separatrix.decision.quadratic import Quadratic
from separatrix.early.conditional import ConditionalMoments
from separatrix.early.regions import (
    MAX_INCOMPLETE_RELIABILITY,
    gaps_to_rivals,
    slopes_to_rivals,
)
from separatrix.linalg import Array


def bound_by_union(rivals: Array) -> Array:
    """At least the probability that no rival wins, from the probabilities (..., g) that each does.

    Examples
    --------
    >>> bound_by_union(np.array([[0.1, 0.0, 0.2], [0.7, 0.0, 0.6]])).round(3)
    array([0.7, 0. ])
    """
    return np.clip(1 - rivals.sum(axis=-1), 0.0, MAX_INCOMPLETE_RELIABILITY)


def expected_values(f: Quadratic, known: ConditionalMoments) -> Array:
    """The expected values (n, n_classes) of functions of the step from the mean, under one model.

    ``f(m) + tr(Q R)``.
    """
    if f.Q is None:
        return f.b
    if f.Q.ndim == 3:
        return f.b + f.Q @ known.variances[0]
    F = known.spread
    return f.b + np.einsum("ngij,ij->ng", f.Q, F @ F.T)


def rival_probabilities(
    f: Quadratic, known: ConditionalMoments, guess: Array, owners: Array | None = None
) -> Array:
    """The probability (n, n_functions) that each rival is larger than the guess, under one model.

    Parameters
    ----------
    f, known, guess, owners
        As in `regions.measure_of_set`.
    """
    if f.Q is None:
        points = f.c[0] @ known.spread
        winners, at = np.unique(guess, return_inverse=True)
        deviations = cdist(points[winners], points)[at]
        return _tails(gaps_to_rivals(f, guess, owners), deviations)
    found = np.zeros(f.b.shape)
    R = known.spread @ known.spread.T
    gaps, slopes = gaps_to_rivals(f, guess), slopes_to_rivals(f, guess)
    for c in np.unique(guess):
        at = np.flatnonzero(guess == c)
        Q = f.Q if len(f.Q) == 1 else f.Q[at]
        mean, variance = bend_moments(Q[:, [c]] - Q, R)
        variance = variance + np.einsum("ngr,ngr->ng", slopes[at] @ R, slopes[at])
        found[at] = _tails(gaps[at] + mean, np.sqrt(np.maximum(variance, 0.0)))
    return found


def bend_moments(bend: Array, R: Array) -> tuple[Array, Array]:
    """Mean and variance of ``zᵀ B z`` for a normal z of mean 0 and covariance R.

    ``tr(B R)`` and ``2 tr(B R B R)``; B as matrices (..., r, r) or as diagonals (..., r).

    Examples
    --------
    >>> bend_moments(np.array([[[1.0, 1.0]]]), np.eye(2))  # chi-squared of two degrees
    (array([[2.]]), array([[4.]]))
    """
    if bend.ndim == 3:
        return bend @ R.diagonal(), 2 * np.einsum("ngr,ngr->ng", bend @ (R * R), bend)
    BR = bend @ R
    mean = np.einsum("ngii->ng", BR)
    return mean, 2 * np.einsum("ngij,ngji->ng", BR, BR)


def _tails(means: Array, deviations: Array) -> Array:
    """Probabilities that normal numbers are negative; where they do not vary 0, 1 or, at 0, ½."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return ndtr(-np.where(means == 0, 0.0, means / deviations))
