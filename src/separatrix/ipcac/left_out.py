"""A ridge in the feature space of a kernel: scores of rows left out, and the choice by them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from separatrix.ipcac.expected import class_targets, expected_whitened, score_left_out
from separatrix.linalg import Array, SingularMatrixError, cholesky_whitener, squared_norms
from separatrix.moments.class_moments import ClassMoments
from separatrix.selection import draw_rows_by_class

RIDGE_SHARES = (1.0, 0.1, 0.01, 0.001)
"""Shares of the mean squared distance from the mean that ``ridge="auto"`` tries."""

MAX_ROWS_TO_CHOOSE = 1000
"""Rows by which the ridge is chosen: each ridge costs a factor of an n×n matrix."""

MIN_ROWS_PER_LANDMARK = 3
"""Rows for each landmark from which the ridge is chosen by moments: they take landmarks as given,
and with as many as rows each row would have its own."""


class RidgeFit(NamedTuple):
    """A ridge direction of two classes, in the scale of the targets.

    Attributes
    ----------
    dual : array (n_samples,)
        Its weights of the rows.
    training : array (n_samples,)
        Scores of the rows.
    left_out : array (n_samples,)
        The score of each row by the direction that the other rows give.
    """

    dual: Array
    training: Array
    left_out: Array


def fit_ridge(K: Array, codes: Array, ridge: float) -> RidgeFit:
    """The ridge direction ``(K̃ + ρ I)⁻¹ t``, and its scores of rows it was fitted without.

    With ``R = (K̃ + ρ I)⁻¹`` the dual weights are ``a = R t``, the scores ``f = t - ρ a``, and the
    others predict the target of row i as ``t_i - a_i / (R_ii - 1/(ρ n))``: its leverage, that of
    the constant included, is ``h_i = 1 - ρ R_ii + 1/n``. One Cholesky factor, whose inverse gives
    the diagonal.

    Parameters
    ----------
    K : array (n, n)
        Centred kernel matrix.
    codes : array of int (n,)
        0 or 1, the class of each row.
    ridge : float
        ρ; zero for a matrix of rank n - 1.

    Raises
    ------
    SingularMatrixError
        When there is no inverse.
    """
    n, counts = len(K), np.bincount(codes, minlength=2).astype(np.float64)
    t = class_targets(counts)[codes]
    constant = max(float(np.trace(K)) / n, 0.0)  # constants have an inverse, too: t has none
    shifted = K + constant / n
    shifted.flat[:: n + 1] += ridge
    factor = cholesky_whitener(shifted)
    a = factor.unwhiten(factor.whiten(t[:, None]))[:, 0]
    # the upper triangle of L is zero, and stays so; nobody needs L any more
    inverse, _ = lapack.dtrtri(factor.L, lower=1, overwrite_c=1)
    diagonal = squared_norms(inverse.T) / factor.scale**2
    diagonal -= 1 / (n * (ridge + constant))
    predicted = t - a / diagonal
    return RidgeFit(a, t - ridge * a, score_left_out(predicted, t, n, counts[codes]))


def separate(scores: Array, codes: Array) -> float:
    """How far two classes are apart: the gap over the sum of the standard deviations."""
    first, second = scores[codes == 0], scores[codes == 1]
    spread = first.std() + second.std()
    return float((second.mean() - first.mean()) / spread) if spread > 0 else np.inf


def choose_ridge(K: Array, codes: Array) -> float:
    """The share of `RIDGE_SHARES` whose scores of rows left out are furthest apart.

    Of equals the largest; by a sample of `MAX_ROWS_TO_CHOOSE` rows.
    """
    if len(K) > MAX_ROWS_TO_CHOOSE:
        some = draw_rows_by_class(codes, MAX_ROWS_TO_CHOOSE, 0)
        K, codes = K[np.ix_(some, some)], codes[some]
        K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    unit = float(np.trace(K)) / len(K)
    if unit <= 0:
        raise SingularMatrixError("all rows are alike")
    apart = [separate(fit_ridge(K, codes, share * unit).left_out, codes) for share in RIDGE_SHARES]
    return RIDGE_SHARES[int(np.argmax(apart))]


def choose_ridge_by_moments(moments: ClassMoments) -> float | None:
    """The share of `RIDGE_SHARES` whose expected scores of new rows are furthest apart.

    Of equals the largest; None where landmarks are too many for the rows, or a class too small.
    """
    n, counts = moments.n_samples, moments.counts
    if len(counts) != 2 or counts.min() <= 1 or n < MIN_ROWS_PER_LANDMARK * moments.n_features:
        return None
    unit = float(moments.total_diagonal().sum()) / n
    if unit <= 0:
        return None
    found = [expected_whitened(moments, share * unit) for share in RIDGE_SHARES]
    gaps = [0.0 if e is None else float((e.means[1] - e.means[0]) / e.stds.sum()) for e in found]
    return RIDGE_SHARES[int(np.argmax(gaps))] if max(gaps) > 0 else None
