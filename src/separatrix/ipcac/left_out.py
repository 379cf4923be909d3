"""A ridge in the feature space of a kernel: scores of rows left out, and the choice by them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from separatrix.base.feature_space import CentredGram
from separatrix.ipcac.expected import class_targets, expected_whitened, score_left_out
from separatrix.linalg import (
    MAX_DENSE_ORDER,
    Array,
    SingularMatrixError,
    cholesky_whitener,
    partial_whiten,
    squared_norms,
)
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import row_blocks
from separatrix.selection import draw_rows_by_class, held_out_parts

RIDGE_SHARES = (1.0, 0.1, 0.01, 0.001)
"""Shares of the mean squared distance from the mean that ``ridge="auto"`` tries."""

MAX_ROWS_TO_CHOOSE = 1000
"""Rows by which the ridge is chosen: each ridge costs a factor of an n×n matrix."""

MAX_ROWS_LEFT_OUT = 2000
"""Rows that are left out in turn, to see where new rows lie: all would cost as much as the fit."""

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
        The score of a row by the direction that the other rows give; NaN for rows that are not
        left out.
    """

    dual: Array
    training: Array
    left_out: Array


def fit_ridge(K: Array, codes: Array, ridge: float, weights: Array | None = None) -> RidgeFit:
    """The ridge direction ``(K̃ + ρ I)⁻¹ t``, and its scores of rows it was fitted without.

    With ``R = (K̃ + ρ I)⁻¹`` the dual weights are ``a = R t``, the scores ``f = t - ρ a``, and the
    others predict the target of row i as ``t_i - a_i / (R_ii - 1/(ρ n))``: its leverage, that of
    the constant included, is ``h_i = 1 - ρ R_ii + 1/n``. One Cholesky factor, whose inverse gives
    the diagonal. Of more than `MAX_ROWS_LEFT_OUT` rows a sample is left out, half of each class
    where it has as many: these rows come last, where the inverse of the factor is that of its
    last corner.

    A row of weight w is the row w times: everything holds for ``√w_i K̃_ij √w_j`` and ``√w_i t_i``,
    where all copies together have the leverage h. One of them is left out, or all of a row that
    weighs less than one; a row without weight has no such score.

    Parameters
    ----------
    K : array (n, n)
        Centred kernel matrix; by the weights where there are some.
    codes : array of int (n,)
        0 or 1, the class of each row.
    ridge : float
        ρ; zero for a matrix of rank n - 1.
    weights : array (n,), optional

    Raises
    ------
    SingularMatrixError
        When there is no inverse.
    """
    if weights is not None and not weights.all():
        return _fit_counted(K, codes, ridge, weights)
    judged = draw_rows_by_class(codes, MAX_ROWS_LEFT_OUT, 0, least=MAX_ROWS_LEFT_OUT // 2)
    if len(judged) == len(K):
        return _fit_last(K.copy(), codes, ridge, weights, len(K))
    order = np.concatenate([np.setdiff1d(np.arange(len(K)), judged), judged])
    sorted_weights = None if weights is None else weights[order]
    fit = _fit_last(select_pairs(K, order), codes[order], ridge, sorted_weights, len(judged))
    return RidgeFit(*(values[np.argsort(order)] for values in fit))


def select_pairs(K: Array, chosen: Array) -> Array:
    """The entries of some rows and the same columns, without a second matrix on the way."""
    found = np.empty((len(chosen), len(chosen)))
    for block in row_blocks(len(chosen), len(K)):
        found[block] = K[chosen[block]].take(chosen, axis=1)
    return found


def _fit_last(
    K: Array, codes: Array, ridge: float, weights: Array | None, n_left_out: int
) -> RidgeFit:
    """`fit_ridge` with scores of so many rows left out, the last ones; K is overwritten."""
    weighted = weights is not None
    weights = np.ones(len(K)) if weights is None else weights
    counts, root = np.bincount(codes, weights, 2), np.sqrt(weights)
    n, t = float(counts.sum()), class_targets(counts)[codes]
    constant = max(mean_square(K, weights), 0.0)  # constants have an inverse, too: t has none
    K += constant / n
    if weighted:
        K *= root
        K *= root[:, None]
    K.flat[:: len(K) + 1] += ridge
    factor = cholesky_whitener(K, least=ridge, overwrite=True)
    a = factor.unwhiten(factor.whiten((root * t)[:, None]))[:, 0]
    dual, training = root * a, t - ridge * a / root
    last = slice(len(K) - n_left_out, None)
    # the upper triangle of L is zero, and stays so; nobody needs L any more
    inverse, _ = lapack.dtrtri(factor.L[last, last], lower=1, overwrite_c=1)
    diagonal = squared_norms(inverse.T) / factor.scale[last] ** 2
    a, t, root, weights = a[last], t[last], root[last], weights[last]
    diagonal -= weights / (n * (ridge + constant))
    part = np.minimum(weights, 1.0)
    left = part / weights * diagonal
    copied = part < weights  # without ridge the copies that stay predict the target itself
    left[copied] += (1 - 1 / weights[copied]) / ridge if ridge > 0 else np.inf
    predicted = t - a / root / left
    left_out = np.full(len(K), np.nan)
    left_out[last] = score_left_out(predicted, t, n, counts[codes[last]], part)
    return RidgeFit(dual, training, left_out)


def truncated_left_out(
    gram: CentredGram, codes: Array, n_axes: Callable[[int], int], **splitting: Any
) -> Array:
    """Scores of rows by the partly whitened directions (4.8) of the other folds.

    The rows of a fold are taken off the kernel matrix, which is centred at the mean of the others
    then. Scores are in units of their spread over the others. The kernel, with its width, is that
    of all rows; axes are those of the others, since axes of all rows turn towards each of them,
    which no formula for a row left out sees.

    Parameters
    ----------
    gram : CentredGram
    codes : array of int (n,)
        0 or 1, the class of each row.
    n_axes : function
        How many axes are whitened for a number of rows.
    splitting
        Groups and splitter, as `held_out_parts` takes them.

    Returns
    -------
    array (n,)
        NaN for rows that are not held out: see `held_out_parts`.
    """
    K, scores = gram.matrix, np.full(len(codes), np.nan)
    for known, new in held_out_parts(codes, **splitting):
        t = class_targets(np.bincount(codes[known]).astype(np.float64))[codes[known]]
        own = centre_again(select_pairs(K, known))
        evals, V = _axes_to_judge(gram._replace(matrix=own), n_axes(len(known)))
        a = partial_whiten(t[:, None], V, evals)[:, 0] if len(evals) else t
        weights = np.zeros(len(K))  # of all rows: the columns of K need no copy
        weights[known] = a - a.mean()  # small axes mix with constants, which K is not free of
        f = K @ weights
        spread = float(f[known].std())
        scores[new] = (f[new] - f[known].mean()) / (spread or 1.0)
    return scores


def _axes_to_judge(gram: CentredGram, k: int) -> tuple[Array, Array]:
    """Principal axes, of many rows in single precision: enough to see where other rows lie."""
    if len(gram.matrix) > MAX_DENSE_ORDER:
        single = gram._replace(matrix=gram.matrix.astype(np.float32))
        evals, V = single.principal_axes(k)
        if len(evals) == k:  # else some are numerical zero in single precision
            return evals, V
    return gram.principal_axes(k)


def centre_again(K: Array, weights: Array | None = None) -> Array:
    """Inner products of some rows, from the mean of these; K is overwritten."""
    centre = np.average(K, axis=0, weights=weights)
    K -= centre
    K -= (centre - np.average(centre, weights=weights))[:, None]
    return K


def _fit_counted(K: Array, codes: Array, ridge: float, weights: Array) -> RidgeFit:
    """`fit_ridge` where some rows have no weight."""
    counted = np.flatnonzero(weights)
    own = K[:, counted]
    fit = fit_ridge(own[counted], codes[counted], ridge, weights[counted])
    dual, left_out = np.zeros(len(K)), np.full(len(K), np.nan)
    dual[counted], left_out[counted] = fit.dual, fit.left_out
    return RidgeFit(dual, own @ fit.dual, left_out)


def mean_square(K: Array, weights: Array | None = None) -> float:
    """Mean squared distance of the rows from their mean, of which K has the inner products."""
    return float(np.average(np.diagonal(K), weights=weights))


def can_leave_out(codes: Array, weights: Array | None = None) -> bool:
    """Whether each of two classes has something left when any of its rows is left out."""
    w = np.ones(len(codes)) if weights is None else weights
    left = np.bincount(codes, w, 2)[codes] - np.minimum(w, 1.0)
    return bool(len(np.unique(codes[w > 0])) == 2 and left[w > 0].min() > 0)


def separate(scores: Array, codes: Array, weights: Array | None = None) -> float:
    """How far two classes are apart: the gap over the sum of the standard deviations."""
    w = np.ones(len(codes)) if weights is None else weights
    judged = w > 0
    scores, codes, w = scores[judged], codes[judged], w[judged]
    counts = np.bincount(codes, w, 2)
    means = np.bincount(codes, w * scores, 2) / counts
    spread = np.sqrt(np.bincount(codes, w * (scores - means[codes]) ** 2, 2) / counts).sum()
    return divide_gap(means[1] - means[0], spread)


def divide_gap(gap: float, spread: float) -> float:
    """A gap in units of a spread: infinite where there is none, as of classes that are points."""
    return float(gap / spread) if spread > 0 else np.inf


PERFECT_GAP = 1e9
"""A gap between classes in standard deviations that is as good as any."""


def choose_ridge(K: Array, codes: Array, weights: Array | None = None) -> float:
    """The share of `RIDGE_SHARES` whose scores of rows left out are furthest apart.

    Of equals the largest; by a sample of `MAX_ROWS_TO_CHOOSE` rows.
    """
    if len(K) > MAX_ROWS_TO_CHOOSE:
        some = draw_rows_by_class(codes, MAX_ROWS_TO_CHOOSE, 0)
        K, codes = select_pairs(K, some), codes[some]
        weights = None if weights is None else weights[some]
        K = centre_again(K, weights)
    unit = mean_square(K, weights)
    if unit <= 0:
        raise SingularMatrixError("all rows are alike")
    fits = [fit_ridge(K, codes, share * unit, weights) for share in RIDGE_SHARES]
    apart = [separate(fit.left_out, codes, weights) for fit in fits]
    return RIDGE_SHARES[_first_of_largest(apart)]


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
    gaps = [0.0 if e is None else divide_gap(np.diff(e.means)[0], e.stds.sum()) for e in found]
    return RIDGE_SHARES[_first_of_largest(gaps)] if max(gaps) > 0 else None


def _first_of_largest(values: Sequence[float]) -> int:
    """Position of the first of the values that are the largest but for rounding.

    Scores of points are parted by a gap in units of rounding: beyond `PERFECT_GAP` all are equal.
    """
    clipped = np.minimum(values, PERFECT_GAP)
    largest = float(clipped.max())
    return int(np.argmax(clipped >= largest - 1e-9 * abs(largest)))
