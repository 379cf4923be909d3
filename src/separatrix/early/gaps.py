"""Training rows with gaps: the normal model of most likelihood, by the EM algorithm.

Equations are those of every textbook (Little and Rubin, Statistical analysis with missing data,
2002, section 11.2): the missing values of a row are expected given the others, and the covariance
of what is expected is added to the scatter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from separatrix.early.arrival import group_patterns
from separatrix.linalg import Array

MAX_EM_STEPS = 100
MIN_CHANGE = 1e-4
"""Largest change of an expected value, in standard deviations, at which the iteration ends."""

MAX_FEATURES = 2000
"""Above it the covariance of rows with gaps, features × features, is not formed."""


class FilledRows(NamedTuple):
    """Rows whose missing values are expected ones, and the uncertainty of these.

    Attributes
    ----------
    X : array (n, d)
    uncertain : array (n_models, d, d)
        Sums over the rows of each model of the covariance of their missing values.
    """

    X: Array
    uncertain: Array


def fill_gaps(X: Array, codes: Array, shrinkage: float | None = None) -> FilledRows:
    """Expected values of the missing ones under a normal model for each code.

    Parameters
    ----------
    X : array (n, d)
        With NaN; each feature has a value in some row.
    codes : array of int (n,)
        The model that each row belongs to: 0, 1, … without gaps.
    shrinkage : float, optional
        Share of the diagonal in the covariance of each step; ``d / (d + n)`` by default, so that
        few rows have a covariance at all.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0], [3.0, np.nan]])
    >>> fill_gaps(X, np.zeros(4, dtype=int), shrinkage=1e-9).X[3].round(2)
    array([3., 6.])
    """
    missing, d = np.isnan(X), X.shape[1]
    _check_gaps(missing)
    centre = np.nanmean(X, axis=0)
    scale = np.nanstd(X, axis=0)
    scale[scale == 0] = 1.0
    filled = np.where(missing, 0.0, (X - centre) / scale)
    uncertain = np.zeros((codes.max() + 1, d, d))
    for k in range(len(uncertain)):
        at = codes == k
        alpha = d / (d + at.sum()) if shrinkage is None else shrinkage
        filled[at], uncertain[k] = _fill_model(filled[at], missing[at], alpha)
    return FilledRows(
        np.where(missing, centre + scale * filled, X), uncertain * np.outer(scale, scale)
    )


def _check_gaps(missing: Array) -> None:
    empty = np.flatnonzero(missing.all(axis=0))
    if len(empty):
        raise ValueError(f"column {int(empty[0])} of X has no value at all: leave it out")
    if missing.shape[1] > MAX_FEATURES:
        raise ValueError(
            f"X has gaps in rows of {missing.shape[1]} values, and rows with gaps may have at "
            f"most {MAX_FEATURES}: fill them, or leave out rows or columns"
        )


def _fill_model(Z: Array, missing: Array, alpha: float) -> tuple[Array, Array]:
    """EM of one normal model, for rows in units of their features."""
    n, d = Z.shape
    known = ~missing
    counts = np.maximum(known.sum(axis=0), 1)
    mean = Z.sum(axis=0) / counts  # missing values are zero so far
    Z = np.where(missing, mean, Z)
    S = np.diag(np.maximum(np.sum((Z - mean) ** 2 * known, axis=0) / counts, 1e-6))
    patterns = [group for group in group_patterns(known) if not group[1].all()]
    for i in range(MAX_EM_STEPS if patterns else 0):
        step, U = 0.0, np.zeros((d, d))
        for at, o in patterns:
            u = ~o
            A = np.zeros((0, u.sum()))
            if o.any():
                A = scipy.linalg.solve(S[np.ix_(o, o)], S[np.ix_(o, u)], assume_a="pos")
            expected = mean[u] + (Z[np.ix_(at, o)] - mean[o]) @ A
            step = max(step, float(abs(expected - Z[np.ix_(at, u)]).max()))
            Z[np.ix_(at, u)] = expected
            U[np.ix_(u, u)] += len(at) * (S[np.ix_(u, u)] - S[np.ix_(u, o)] @ A)
        mean = Z.mean(axis=0)
        S = ((Z - mean).T @ (Z - mean) + U) / n
        S[~np.eye(d, dtype=bool)] *= 1 - alpha
        S[np.diag_indices(d)] = np.maximum(S.diagonal(), 1e-6)
        if i and step < MIN_CHANGE:  # the first step only knows the means
            break
    return Z, U if patterns else np.zeros((d, d))
