"""The leading axes of the scatter within classes, a metric on them, and the decision by moments.

With H the inverse of the metric (`decision.expected.Metric`) the directions span ``H (m_c - m)``.
Where scores of new rows will lie follows from the same axes (`decision.by_moments`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix._warnings import warn_caller
from separatrix.base.solution import Solution
from separatrix.decision.by_moments import (
    ByMoments,
    best_ridge_by_moments,
    expect,
    expect_scores,
)
from separatrix.decision.expected import (
    LOSS_DIGITS,
    ClassSpreads,
    Metric,
    Spectrum,
    ridge_metric,
    ridges_to_try,
    truncated_metric,
)
from separatrix.linalg import Array, numerical_rank, orthonormal_again, scatter_eps, top_eigh
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.scatter import Stack, symmetric_operator
from separatrix.moments.spectra import drop_constant_features, reduce_to_span, within_units

MAX_ALL_AXES = 1000
"""Dimensions of the rows up to which all axes are found."""

N_LEADING = 500
"""Axes that are found of more; all other directions have their mean variance."""


class WithinAxes(NamedTuple):
    """The scatter within classes along its leading axes.

    Attributes
    ----------
    spectrum : Spectrum
    axes : array (n_features, r)
    units : array (n_features,)
        What features were divided by.
    """

    spectrum: Spectrum
    axes: Array
    units: Array

    def whitened_means(self, metric: Metric, moments: ClassMoments) -> Array:
        """An orthonormal basis of the span of ``H (m_c - m)``, (n_features, n_classes - 1)."""
        Hb = moments.between_rows() / self.units
        along = self.axes.T @ Hb.T
        found = self.axes @ (metric.precisions(self.spectrum.evals)[:, None] * along)
        if self.axes.shape[1] < len(self.axes):
            found += (Hb.T - self.axes @ along) / metric.outside
        lengths = np.linalg.norm(found, axis=0)
        return np.linalg.qr(found / np.where(lengths > 0, lengths, 1.0) / self.units[:, None])[0]

    def within(self, metric: Metric, W: Array, n_samples: float) -> Array:
        """The metric along directions, as the scatter of this number of rows."""
        W = self.units[:, None] * W
        along = self.axes.T @ W
        inside = along.T @ (along / metric.precisions(self.spectrum.evals)[:, None])
        return n_samples * (inside + metric.outside * (W.T @ W - along.T @ along))


def within_axes(
    moments: ClassMoments, n_axes: int | None = None, *, in_units: bool = False
) -> WithinAxes | None:
    """The leading axes of the scatter within classes; None where it is numerical zero.

    Parameters
    ----------
    moments : ClassMoments
    n_axes : int, optional
        How many; by default all of few dimensions, else `N_LEADING`.
    in_units : bool
        Divide features by their deviations within classes first.
    """
    units = within_units(moments) if in_units else np.ones(moments.n_features)
    if in_units:
        moments = moments.rescaled(np.zeros_like(units), 1 / units)
    # a feature that is the same in all rows has no part in any mean variance
    moments, lift = drop_constant_features(moments)
    free = moments.n_samples - np.count_nonzero(moments.counts)
    total, between = moments.trace_within(), float(np.sum(moments.between_rows() ** 2))
    if free <= 1 or not total > scatter_eps(moments.eps, moments.n_samples, len(units)) * between:
        return None
    axes = _find_axes(moments, n_axes)
    small, d = moments.project(axes), moments.n_features
    evals = np.diagonal(small.Sw).clip(0.0)
    n_outside = d - len(evals)
    rest = max(total - float(evals.sum()), 0.0) if n_outside else 0.0
    if rest <= scatter_eps(moments.eps, moments.n_samples, d) * total:
        rest = 0.0
    means = np.where(moments.counts[:, None] > 0, moments.means - moments.mean, 0.0)
    along = means @ axes
    outside = means - along @ axes.T if n_outside else np.zeros((len(means), 1))
    spectrum = Spectrum(
        evals / free,
        along,
        outside @ outside.T,
        moments.counts,
        total / free / d,
        rest / free / max(n_outside, 1),
        float(n_outside),
        _spread_apart(moments, small, rest > 0) if moments.per_class else None,
    )
    return WithinAxes(spectrum, lift(axes), units)


def _find_axes(moments: ClassMoments, n_axes: int | None) -> Array:
    """Orthonormal axes of the scatter within classes, by descending scatter."""
    within, d = moments.within, moments.n_features
    n_held = within.n_rows if within.is_thin else d
    if min(n_held, d) <= MAX_ALL_AXES:
        small, lift = reduce_to_span(moments)
        k = small.n_features if n_axes is None else n_axes
        return lift(top_eigh(small.Sw, k)[1])
    k = n_axes or N_LEADING
    if not within.is_thin:
        return top_eigh(within.matrix(), k)[1]
    if n_held >= d:
        return top_eigh(symmetric_operator(d, within.apply), k)[1]
    weights, blocks = zip(*within.rows, strict=True)
    stack = Stack(blocks, np.sqrt(weights))
    evals, U = stack.top_eigh(k)
    return orthonormal_again(stack.transposed_matmul(U / np.sqrt(evals)))


def _spread_apart(moments: ClassMoments, small: ClassMoments, has_tail: bool) -> ClassSpreads:
    """The covariance of each class along the axes, and its mean in other directions."""
    free = np.maximum(small.counts - 1, 1.0)
    scatters = small.class_scatters / free[:, None, None]
    diagonals = np.stack([S.diagonal() for S in scatters])
    tails = np.zeros(len(free))
    if has_tail:
        traces = np.array([scatter.trace() for scatter in moments.scatters]) / free
        n_outside = moments.n_features - small.n_features
        tails = (traces - diagonals.sum(axis=1)).clip(0.0) / n_outside
    return ClassSpreads(diagonals, lambda A: A @ scatters @ A.T, tails)


# The metrics ----------------------------------------------------------------------------------


def full_metric(axes: WithinAxes, moments: ClassMoments) -> Metric:
    """The covariance within classes; where it has no inverse, with a vanishing ridge."""
    evals = axes.spectrum.evals
    eps = scatter_eps(moments.eps, moments.n_samples, len(evals))
    rank = numerical_rank(np.sort(evals)[::-1], len(evals), eps=eps)
    if rank == len(axes.axes) and rank < axes.spectrum.n_free:
        return Metric(np.ones(rank), np.zeros(rank), 1.0)  # there is no direction outside
    return ridge_metric(axes.spectrum, float(ridges_to_try()[0]))


def ridge_as_metric(axes: WithinAxes, ridge: float) -> Metric:
    """The covariance of ``Sw + ρ I``."""
    floor, spectrum = ridge / axes.spectrum.n_free, axes.spectrum
    r = len(spectrum.evals)
    return Metric(np.ones(r), np.full(r, floor), spectrum.tail + floor)


def cut_metric(axes: WithinAxes, moments: ClassMoments) -> Metric:
    """The covariance along the axes, and the least of these variances in other directions."""
    spectrum = axes.spectrum
    n_axes = int(np.count_nonzero(spectrum.evals > 1e-12 * spectrum.evals.max(initial=0.0)))
    if n_axes >= min(spectrum.n_free, len(axes.axes)):
        return full_metric(axes, moments)
    return truncated_metric(spectrum, n_axes)


def chosen_metric(axes: WithinAxes, shares: Array) -> tuple[Metric, ByMoments]:
    """The ridge of least expected log-loss of new rows."""
    found = best_ridge_by_moments(axes.spectrum, shares)
    return ridge_metric(axes.spectrum, found.alpha), found


def chosen_axes(
    moments: ClassMoments, shares: Array
) -> tuple[WithinAxes, Metric, ByMoments] | None:
    """Axes and the ridge on them, in the units of features that suit new rows better.

    These are the units that features come in, or their deviations within classes: a ridge hides
    differences in small units, and deviations make as much of features that hold only noise.
    Where a part of the scatter is known by its average only, features keep their units.
    """
    best = None
    for in_units in (False,) if moments.is_truncated else (False, True):
        axes = within_axes(moments, in_units=in_units)
        if axes is None:
            continue
        metric, found = chosen_metric(axes, shares)
        if best is None or found.log_loss < best[2].log_loss - 10.0**-LOSS_DIGITS:
            best = axes, metric, found
    return best


# The decision ---------------------------------------------------------------------------------


def decide_by_moments(
    solution: Solution, moments: ClassMoments, axes: WithinAxes | None, metric: Metric | None
) -> Solution:
    """The solution with the slope and the offsets that new rows are expected to need."""
    shares = np.where(moments.counts > 0, solution.extras["priors_"], 0.0)
    shares = shares / shares.sum()
    if axes is None or metric is None or not solution.W.shape[1] or np.count_nonzero(shares) < 2:
        return solution
    seen = np.flatnonzero(shares)
    if expect_scores(axes.spectrum, metric, shares, seen).signal == 0 and moments.counts.min() > 1:
        warn_caller(
            "the class means are no farther apart than chance puts them: new rows are expected "
            "to be distinguished no better than by guessing"
        )
    found = expect(axes.spectrum, metric, shares).calibration
    with np.errstate(divide="ignore"):
        log_priors = np.log(shares)
    rule = solution.extras["_rule"].calibrated(found.slope, found.offsets, log_priors)
    return solution.with_extras(_rule=rule)


def shares_of(moments: ClassMoments, priors: Array | None) -> Array:
    """What the classes weigh: their priors, or the shares of the rows; those without rows zero."""
    shares = np.where(moments.counts > 0, moments.counts if priors is None else priors, 0.0)
    return shares / max(float(shares.sum()), np.finfo(float).tiny)
