"""The shrinkage by which new rows are predicted best: rows that are left out, or moments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix._warnings import warn_caller
from separatrix.base.estimator import Rows
from separatrix.decision.by_moments import (
    MAX_JUDGED_CLASSES,
    ByMoments,
    best_ridge_by_moments,
)
from separatrix.decision.expected import (
    ClassSpreads,
    LeftOut,
    Spectrum,
    best_ridge,
    check_on_blocks,
)
from separatrix.linalg import Array, Lift, scatter_eps
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows, row_blocks
from separatrix.moments.summarize import held_order
from separatrix.selection import draw_rows_by_class

MAX_LEFT_OUT = 1500
"""Rows that are left out in turn: each is left out exactly, so that fewer only judge with more
noise. ``python -m benchmarks.decisions_linear cost`` has the times."""

MAX_BLOCKED_ROWS, N_BLOCKS = 5000, 10
"""Rows of which blocks are left out, and the blocks: as many rows as a recording has."""

MAX_LEFT_OUT_DISTANCES = 1 << 20
"""Largest number of distances, of rows to class means."""


class SolvedSpace(NamedTuple):
    """Moments where a problem is solved, the map of directions back, and the features counted.

    Attributes
    ----------
    small : ClassMoments
    lift : callable
    n_features : int
        Number of features, or principal axes, whose scatter a shrinkage is spread over.
    held : array (n_rows, n_coordinates), optional
        The rows that the moments hold, in these coordinates.
    """

    small: ClassMoments
    lift: Lift
    n_features: int
    held: Array | None = None


def expect_new_rows(
    space: SolvedSpace, moments: ClassMoments, rows: Rows | None, priors: Array
) -> LeftOut | ByMoments | None:
    """The shrinkage of least log-loss of new rows; None where there is no scatter to shrink.

    Parameters
    ----------
    space : SolvedSpace
    moments : ClassMoments
        As they were given.
    rows : LabelledRows, Blocks or None
        The rows of these moments, to leave out. Where they are not in memory, or the classes are
        more than `MAX_JUDGED_CLASSES`, moments decide.
    priors : array (n_classes,)
    """
    small, Sw = space.small, space.small.Sw
    seen = np.where(moments.counts > 0, priors, 0.0)
    n_free = moments.n_samples - np.count_nonzero(moments.counts)
    # classes that are points have a scatter of rounding errors
    dust = scatter_eps(moments.eps, moments.n_samples, len(Sw)) * np.trace(small.Sb)
    if n_free <= 1 or np.count_nonzero(seen) < 2 or not np.trace(Sw) > dust:
        if isinstance(rows, LabelledRows):
            warn_of_light_rows(rows)
        return None
    evals, V = np.linalg.eigh(Sw)
    means = np.where(moments.counts[:, None] > 0, small.means - small.mean, 0.0) @ V
    unit = float(evals.sum()) / n_free / space.n_features
    outside = np.broadcast_to(0.0, (len(means), len(means)))
    spectrum = Spectrum(evals.clip(0.0) / n_free, means, outside, moments.counts, unit)
    if not isinstance(rows, LabelledRows) or len(means) > MAX_JUDGED_CLASSES:
        if small.per_class:
            spectrum = spectrum._replace(spreads=_spread_apart(small, V))
        return best_ridge_by_moments(spectrum, seen)
    judged, weights = _draw(rows)
    n_rows = len(rows.codes)
    whole = rows.weights is None and n_rows <= MAX_BLOCKED_ROWS
    whole = whole and n_rows * len(means) <= MAX_LEFT_OUT_DISTANCES
    wanted = np.arange(n_rows) if whole else judged
    if space.held is not None and len(space.held) == n_rows:
        coordinates = _find_held(space.held, rows, moments.per_class, wanted) @ V
    else:
        coordinates = _project(moments, rows.part(wanted), space.lift(V))
    some = coordinates[judged] if whole else coordinates
    expected = best_ridge(spectrum, some, rows.codes[judged], seen, weights)
    if whole:
        return check_on_blocks(expected, spectrum, coordinates, rows.codes, seen, N_BLOCKS)
    return expected


def warn_of_light_rows(rows: LabelledRows) -> None:
    """Warn where weights make many rows too few to leave one out, as those that sum to one do."""
    total, n_classes = float(rows.counts.sum()), np.count_nonzero(rows.counts)
    n_rows = len(rows.codes)
    if rows.weights is not None and total <= n_classes + 1 < n_rows:
        warn_caller(
            f"sample_weight sums to {total:g} for {n_rows} rows of {n_classes} classes. A weight "
            "of one is a row, so that none can be left out to choose the shrinkage: multiply the "
            f"weights, by {n_rows / total:g} if they are shares of the rows"
        )


def _spread_apart(small: ClassMoments, V: Array) -> ClassSpreads:
    """The covariance of each class along the columns of V."""
    free = np.maximum(small.counts - 1, 1.0)
    parts = zip(small.scatters, free, strict=True)
    scatters = [scatter.projected(V).matrix() / n for scatter, n in parts]
    return ClassSpreads(
        np.stack([S.diagonal() for S in scatters]),
        lambda A: np.stack([A @ S @ A.T for S in scatters]),
        np.zeros(len(scatters)),
    )


def _draw(rows: LabelledRows) -> tuple[Array, Array | None]:
    """Numbers of the rows to leave out, and their weights."""
    weighted = np.arange(len(rows.codes)) if rows.weights is None else np.flatnonzero(rows.weights)
    n_classes = len(rows.classes)
    most = max(min(MAX_LEFT_OUT, MAX_LEFT_OUT_DISTANCES // n_classes), 2 * n_classes)
    drawn = draw_rows_by_class(rows.codes[weighted], most, 0, least=most // (2 * n_classes))
    judged = weighted[drawn]
    return judged, None if rows.weights is None else rows.weights[judged]


def _find_held(held: Array, rows: LabelledRows, per_class: bool, judged: Array) -> Array:
    """The rows with some numbers among those that moments hold, times the roots of weights."""
    places = np.empty(len(rows.codes), dtype=np.intp)
    places[held_order(rows, per_class)] = np.arange(len(rows.codes))
    share = held[places[judged]]
    return share if rows.weights is None else share / np.sqrt(rows.weights[judged])[:, None]


def _project(moments: ClassMoments, rows: LabelledRows, W: Array) -> Array:
    """The rows less their class means, along W."""
    projected = np.empty((len(rows.codes), W.shape[1]))
    for block in row_blocks(*rows.X.shape):
        part = rows.part(block)
        projected[block] = moments.centred(part.X, part.codes) @ W
    return projected
