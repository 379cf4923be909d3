"""The scores that new rows are to be expected to have, from the moments of the training rows.

Notation: n rows, n_c of class c, m and m_c their means, S_c the scatter of class c, S the total
scatter, δ = m_1 - m_0. IPCAC is least squares on the targets t_1 = n/n_1 and t_0 = -n/n_0, for
which the centred rows Z have ``Zᵀ t = n δ``: its direction is ``w = A n δ``, with A the inverse of
S or the partial whitening of (4.8), and ``f = Z w`` are the scores of the training rows.

A row that helped to find w lies further out along it than a new row does. How much further is
known for least squares: its leverage h. All scores here are in the scale of this w.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.linalg import Array, SingularMatrixError, cholesky_whitener, range_and_null
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.spectra import LeadingAxes

MIN_AXES_PER_ROW = 0.01
"""Whitened axes for each row of the rarer class below which training rows lie as new ones do."""


class ExpectedScores(NamedTuple):
    """Scores of the two classes along one direction, in one scale.

    Attributes
    ----------
    means, stds : array (2,)
        As new rows are expected to have them.
    training : array (2,)
        Means of the training rows.
    training_stds : array (2,), optional
        Their standard deviations, where they are known in the same scale.
    """

    means: Array
    stds: Array
    training: Array
    training_stds: Array | None = None

    @property
    def bias(self) -> float:
        """The share of the gap between the training means that new rows will not have."""
        gap = self.training[1] - self.training[0]
        return float(1 - (self.means[1] - self.means[0]) / gap) if gap != 0 else 1.0

    @property
    def usable(self) -> bool:
        """Whether the classes are expected in their order, with a spread."""
        return bool(np.isfinite(self.stds).all() and (self.stds > 0).any() and self.bias < 1)


def class_targets(counts: Array) -> Array:
    """The targets t of the two classes: they sum to zero over the rows, and ``Zᵀ t = n δ``.

    Examples
    --------
    >>> class_targets(np.array([30.0, 10.0])).round(3)
    array([-1.333,  4.   ])
    """
    return counts.sum() / (counts * np.array([-1.0, 1.0]))


def score_left_out(
    predicted: Array, t: Array, n: float, n_own: Array, part: Array | float = 1.0
) -> Array:
    """The score of a row by the direction of all others, from their prediction of its target.

    Least squares on the others predict ``t̄ + b·(x - mean of the others)``; b is shorter than the
    direction ``A n δ`` of the others by ``n² (n_c - u) / ((n - u)² n_c)`` for a row of weight u,
    usually 1. Exact, but for a row that has more than half of its class.

    Parameters
    ----------
    predicted, t : array
        Predictions and targets.
    n : float
        Number of all rows.
    n_own : array
        Number of rows in the class of each entry.
    part : array or float
        u, the weight that is left out.
    """
    scale = ((n - part) / n) ** 2 * n_own / np.maximum(n_own - part, part)
    return scale * (predicted + part * t / (n - part))


def leverage_matters(rank: int, counts: Array) -> bool:
    """Whether axes are so many beside rows that training rows lie elsewhere than new ones."""
    return bool(len(counts) == 2 and counts.min() > 1 and rank >= MIN_AXES_PER_ROW * counts.min())


def expected_whitened(moments: ClassMoments, ridge: float = 0.0) -> ExpectedScores | None:
    """Leave-one-out scores of ``w = S⁻¹ n δ``, averaged over each class, from moments alone.

    With a ridge ρ the inverse is that of S + ρ I, everywhere.

    Row i left out is predicted as ``t_i - (t_i - f_i) / (1 - h_i)``. Moments know the rows of a
    class by their scatter only, so each counts with the mean leverage of its class,
    ``h_c = [tr(S⁻¹ S_c) + n_c (m_c - m) S⁻¹ (m_c - m)] / n_c + 1/n`` (generalised
    cross-validation, class by class): the mean is ``t_c - (t_c - f_c) / (1 - h_c)``, the standard
    deviation ``σ_c / (1 - h_c)``.

    Where rows are no more than axes, f = t and h = 1; the limit of the quotient, as a vanishing
    ridge gives it, has S⁻² in the place of S⁻¹.

    Parameters
    ----------
    moments : ClassMoments
        Of two classes with their scatters, in the coordinates that are whitened.
    ridge : float
        ρ.

    Returns
    -------
    ExpectedScores or None
        None where weights sum to less than there are axes: they do not count rows then.
    """
    counts, n = moments.counts, moments.n_samples
    t, deviations, scatters = (
        class_targets(counts),
        moments.means - moments.mean,
        moments.class_scatters,
    )
    inverse = _inverse_scatter(moments, ridge)
    delta = deviations[1] - deviations[0]
    w = n * inverse @ delta
    training = deviations @ w
    # numerical zero beside t: all training rows of a class lie on one point
    collapsed = bool(np.all(np.abs(t - training) < np.sqrt(moments.eps) * np.abs(t)))
    if collapsed:
        inverse = inverse @ inverse
        w = n * inverse @ delta
    h = np.einsum("ij,cij->c", inverse, scatters) / counts
    h += np.einsum("ci,ij,cj->c", deviations, inverse, deviations)
    left = h if collapsed else 1 - h - 1 / n
    if left.min() <= (0.0 if collapsed else least_left(moments.eps)):
        return None
    residual = (deviations @ w if collapsed else t - training) / left
    means = score_left_out(t - residual, t, n, counts)
    stds = np.sqrt(np.einsum("i,cij,j->c", w, scatters, w).clip(0) / counts) / left
    return ExpectedScores(means, stds, training)


def least_left(eps: float) -> float:
    """What a row's leverage leaves of it, below which nothing but rounding is left."""
    return max(1e-9, 100 * eps)


def _inverse_scatter(moments: ClassMoments, ridge: float) -> Array:
    """The inverse of St + ρ I, or its pseudoinverse."""
    S = moments.St + ridge * np.eye(moments.n_features)
    try:
        factor = cholesky_whitener(S, eps=moments.eps)
    except SingularMatrixError:
        evals, axes, _ = range_and_null(S, eps=moments.eps)
        return (axes / evals) @ axes.T
    return factor.inverse()


def expected_partially_whitened(
    moments: ClassMoments, axes: LeadingAxes, parts: ClassMoments, traces: Array
) -> ExpectedScores | None:
    """The same for the partial whitening (4.6 to 4.8): d axes whitened, all else left alone.

    Along the axes U it is least squares. The rest is a sum over rows, from which a row takes its
    own part: ``(f_top - h t) / (1 - h) + f_rest - r t`` with
    ``r_c = (tr S_c - tr Uᵀ S_c U) / ((n_c - 1) λ_d)``. As h → 0 this is the bias
    ``tr(P² S_c) / (n_c (n_c - 1))`` of a projected class mean; the division by 1 - h adds that the
    whitening, too, was learned from the row. The axes are taken as given.

    Parameters
    ----------
    moments : ClassMoments
        Of two classes with their scatters.
    axes : LeadingAxes
    parts : ClassMoments
        The same along ``axes.whitened`` and along ``Hbᵀ - axes.kept``.
    traces : array (2,)
        Those of the scatters of the classes.
    """
    counts, n, evals = moments.counts, moments.n_samples, axes.evals
    t, delta, Hb = class_targets(counts), np.diff(moments.means, axis=0)[0], moments.between_rows()
    to_delta = float(Hb[0] @ delta) / float(Hb[0] @ Hb[0])  # Hb is a multiple of δ
    scale = n * to_delta * np.array([1.0, 1 / evals[-1]])  # takes the parts to n A δ
    along = parts.class_scatters * np.outer(scale, scale)
    f_top, f_rest = (parts.means * scale).T
    spreads, others = axes.class_spreads(), counts[::-1] / n
    h = spreads @ (1 / evals) / counts + others**2 * float(f_top[1] - f_top[0]) / n
    left = 1 - h - 1 / n
    if left.min() <= least_left(moments.eps):
        return None
    without_own = counts / np.maximum(counts - 1, 1)
    r = (traces - spreads.sum(axis=1)).clip(0) / evals[-1] * without_own / counts
    means = (n - 1) / n * without_own * (f_top - h * t) / left + f_rest - r * t
    weights = np.column_stack([1 / left, np.ones(2)])
    stds = np.sqrt(np.einsum("ci,cij,cj->c", weights, along, weights).clip(0) / counts)
    training_stds = np.sqrt(along.sum(axis=(1, 2)).clip(0) / counts)
    return ExpectedScores(means, stds, f_top + f_rest, training_stds)
