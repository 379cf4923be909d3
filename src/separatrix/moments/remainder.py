"""Rows taken out of moments: the remainder, the digits that are left, and rows that never were in.

Subtracting cancels digits. Where most of the scatter in some direction goes, the little that is
left has the error of the whole: `Remainder.residual` says how large that is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.linalg import Array, generalized_eigh
from separatrix.moments.class_moments import NOT_A_PART_MESSAGE, ClassMoments
from separatrix.moments.scatter import (
    NEGATIVE_SHARE,
    NegativeScatterError,
    Scatter,
)

MAX_REFACTORED_ENTRIES = 1 << 27
"""Largest number of entries of the dense factor that sparse rows become when some are subtracted
(1 GB)."""


class Remainder(NamedTuple):
    """Moments that remain after a part is taken out.

    Attributes
    ----------
    moments : ClassMoments
        Without the classes of which nothing is left. No row is held as it was.
    residual : float
        Bound, up to a small factor, on the relative error of the scatter in any direction: the
        precision of the data times the largest ratio of the scatter before to that after.
    """

    moments: ClassMoments
    residual: float


def subtract_part(whole: ClassMoments, part: ClassMoments) -> Remainder:
    """The moments of the rows that are not in the part.

    Raises where moments can tell that the part was not in the whole: by its counts, or by a
    remainder with a negative scatter in some direction.
    """
    if whole.is_truncated:
        raise ValueError(
            "axes of small scatter were left out of these moments: rows cannot be subtracted "
            "exactly. Fit the model with a larger rank, or again without the rows"
        )
    rest = whole - part
    if not rest.n_samples > 0:
        raise ValueError("these are all the rows there are: nothing would be left")
    scatters = [_without_subtracted_rows(scatter) for scatter in rest.scatters]
    rest = rest._replace(scatters=scatters).without_empty_classes()
    # the mean of all rows before the subtraction would tell of those that are to be forgotten
    rest = rest.with_origin(rest.mean)
    _check_positive(rest, whole)
    # digits lost in the worst direction: log10 of the ratio of scatter before to after
    cancelled = _largest_ratio(whole.within, rest.within, rest.eps)
    # numerical zero relative to the whole is no scatter of the remainder
    lost = max(1.0, whole.trace_within() / max(rest.trace_within(), np.finfo(float).tiny))
    rest = rest._replace(eps=min(rest.eps * lost, 1e-3))
    return Remainder(rest, whole.eps * max(cancelled, 1.0))


def _without_subtracted_rows(scatter: Scatter) -> Scatter:
    """The same scatter in new rows, also where sparse ones were to be subtracted."""
    if not scatter.holds_sparse_rows:
        return scatter  # subtraction has refactored it already
    n_rows = sum(R.shape[0] for _, R in scatter.rows)
    if min(n_rows, scatter.n_features) * scatter.n_features > MAX_REFACTORED_ENTRIES:
        raise ValueError(
            f"{n_rows} sparse rows of {scatter.n_features} features would become dense when some "
            "are subtracted, and do not fit into memory: fit the model again without them"
        )
    try:
        return scatter.refactored()
    except NegativeScatterError:
        raise ValueError(NOT_A_PART_MESSAGE) from None


def _check_positive(rest: ClassMoments, whole: ClassMoments) -> None:
    """Raise when the remainder of a matrix has a clearly negative eigenvalue."""
    for scatter in rest.scatters:
        if not scatter.is_thin:
            evals = np.linalg.eigvalsh(_to_unit_diagonal(scatter.matrix(), whole))
            if evals.min(initial=0.0) < -NEGATIVE_SHARE * len(evals):
                raise ValueError(NOT_A_PART_MESSAGE)


def _to_unit_diagonal(matrix: Array, whole: ClassMoments) -> Array:
    """A scatter in units of that of the whole, so that small features count as large ones do."""
    scale = np.sqrt(whole.within_diagonal().clip(0.0))
    scale = np.where(scale > 0, scale, 1.0)
    return matrix / scale / scale[:, None]


def _largest_ratio(before: Scatter, after: Scatter, eps: float) -> float:
    """The largest ``vᵀ before v / vᵀ after v`` over the range of the scatter after."""
    if after.is_thin:
        rows = after.factor()
        if not len(rows):
            return 1.0
        _, s, Vt = np.linalg.svd(rows, full_matrices=False)
        kept = s > max(rows.shape) * np.finfo(float).eps * s[0]
        # whitens what is left, so that the largest eigenvalue is the largest ratio
        T = Vt[kept].T / s[kept]
        return float(np.linalg.eigvalsh(T.T @ before.apply(T))[-1])
    evals = generalized_eigh(before.matrix(), after.matrix(), eps=eps).evals
    return float(np.max(evals, initial=1.0))
