"""Whether moments that come from elsewhere can be those of any rows."""

from __future__ import annotations

import numpy as np

from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.scatter import NEGATIVE_SHARE, Scatter, as_array


def find_fault(moments: ClassMoments) -> str | None:
    """Why moments cannot be those of any rows, in a few words; None where they can.

    Counts must be finite and not negative, means and scatter finite, and the scatter symmetric
    and without a negative eigenvalue. A class without rows has no scatter. Numbers that pass may
    still be invented: `separatrix.base.influence` says how much they change.

    Examples
    --------
    >>> moments = ClassMoments.from_data([[0.0], [1.0], [5.0]], [0, 0, 1])
    >>> find_fault(moments)
    >>> moments.counts[0] = -2
    >>> find_fault(moments)
    'class 0 has -2 rows'
    """
    for label, count in zip(moments.classes.tolist(), moments.counts.tolist(), strict=True):
        if not 0 <= count < np.inf:
            return f"class {label!r} has {count:g} rows"
    if not (np.isfinite(moments.origin).all() and np.isfinite(moments.means).all()):
        return "a class mean is not finite"
    for scatter in moments.scatters:
        fault = _fault_of_scatter(scatter)
        if fault is not None:
            return fault
    if moments.per_class:
        for i in np.flatnonzero(moments.counts == 0):
            if moments.scatters[i].diagonal().any():
                return f"class {moments.classes.tolist()[i]!r} has scatter and no rows"
    return None


def _fault_of_scatter(scatter: Scatter) -> str | None:
    if not 0 <= scatter.floor < np.inf:
        return "the average scatter is negative or not finite"
    if scatter.is_thin and all(weight >= 0 for weight, _ in scatter.rows):
        # a sum of squares: only its entries can be at fault
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(scatter.diagonal()).all()
        return None if finite else "the scatter is not finite"
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = _held_matrix(scatter)
    if not np.isfinite(matrix).all():
        return "the scatter is not finite"
    diagonal = matrix.diagonal()
    slack = NEGATIVE_SHARE * np.max(np.abs(diagonal), initial=0.0)
    if (diagonal < -slack).any():
        return "a feature has a negative scatter"
    # in units of the features, and of the slack where subtraction has left nothing of them
    unit = np.sqrt(np.maximum(diagonal, slack) if slack else np.ones(len(diagonal)))
    scaled = matrix / unit / unit[:, None]
    if not np.allclose(scaled, scaled.T, atol=1e-6):
        return "the scatter is not symmetric"
    if np.linalg.eigvalsh(scaled).min(initial=0.0) < -1e-6 * len(scaled):
        return "the scatter is negative in some direction"
    return None


def _held_matrix(scatter: Scatter) -> np.ndarray:
    """The matrix, of thin rows in the space that they span: it has the same signs."""
    if not scatter.is_thin:
        return scatter.matrix()
    rows = np.vstack([as_array(R) for _, R in scatter.rows])
    weights = np.repeat([w for w, _ in scatter.rows], [R.shape[0] for _, R in scatter.rows])
    Q = np.linalg.qr(rows.T)[0]
    Y = rows @ Q
    return Y.T @ (weights[:, None] * Y)
