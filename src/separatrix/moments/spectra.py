"""Class moments in fewer coordinates: principal axes, and the span of the centred rows.

No d×d matrix is made where fewer rows than features are held.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

import numpy as np

from separatrix.linalg import (
    Array,
    Lift,
    SingularMatrixError,
    cholesky_whitener,
    numerical_rank,
    orthonormal_again,
    scatter_eps,
    top_eigh,
)
from separatrix.moments.class_moments import ClassMoments, undo_contrast
from separatrix.moments.labelled import LabelledRows, row_blocks
from separatrix.moments.scatter import (
    Scatter,
    Stack,
    find_joint_span,
    multiply_out,
    symmetric_operator,
)


def max_total_rank(moments: ClassMoments) -> int:
    """A bound on the rank of St that needs no decomposition."""
    n_rows = sum(scatter.n_rows for scatter in moments.scatters)
    n_rows += int(np.count_nonzero(moments.counts)) - 1
    has_rank = moments.is_thin and not moments.is_truncated
    return min(moments.n_features, n_rows) if has_rank else moments.n_features


def total_axes(moments: ClassMoments, k: int) -> tuple[Array, Array]:
    """The k largest eigenvalues of St, and their eigenvectors as columns.

    Rows that are held are multiplied with each other on the smaller side, all at once when they
    are few.
    """
    stack = _total_factor(moments)
    if stack is None:
        within, Hb = moments.within, moments.between_rows()
        if not within.is_thin:
            return top_eigh(within.matrix() + Hb.T @ Hb, k)
        # St is applied, never made: d×d would not fit where rows are wide
        apply = symmetric_operator(moments.n_features, lambda V: within.apply(V) + Hb.T @ (Hb @ V))
        return top_eigh(apply, k)
    evals, U = stack.top_eigh(k)
    # small eigenvalues magnify the rounding of U
    axes = orthonormal_again(stack.transposed_matmul(U / np.sqrt(evals)))
    return evals + moments.floor, axes


class LeadingAxes(NamedTuple):
    """The leading principal axes U of all rows, which are not formed where rows are held.

    Attributes
    ----------
    evals : array (k,)
        The largest eigenvalues λ of St.
    whitened, kept : array (n_features, n_classes - 1)
        ``U λ⁻¹ Uᵀ Hbᵀ`` and ``U Uᵀ Hbᵀ``.
    class_spreads : function
        Without arguments, (n_classes, k): the scatter ``uᵀ S_c u`` of each class along each axis.
    """

    evals: Array
    whitened: Array
    kept: Array
    class_spreads: Callable[[], Array]


def between_along_axes(moments: ClassMoments, k: int) -> LeadingAxes:
    """The k largest eigenvalues of St, and Hb and S_c along their axes.

    Where rows are held both follow from the eigenvectors of their inner products: Hb is among the
    rows.
    """
    stack, Hb = _total_factor(moments), moments.between_rows()
    if stack is None:
        evals, axes = total_axes(moments, k)
        along = axes.T @ Hb.T
        positive = np.where(evals > 0, evals, np.inf)  # more axes may be asked for than there are
        return LeadingAxes(
            evals,
            axes @ (along / positive[:, None]),
            axes @ along,
            lambda: np.stack([np.sum(axes * s.apply(axes), axis=0) for s in moments.scatters]),
        )
    inner, U = stack.top_eigh(k)
    evals = inner + moments.floor
    # Hb is among the rows, so that U holds its part along each axis already
    last = U[len(U) - len(Hb) :].T
    ends = np.cumsum([scatter.n_rows for scatter in moments.scatters])

    def class_spreads() -> Array:
        squares = [np.sum(part**2, axis=0) for part in np.split(U, ends)[:-1]]
        floors = np.array([scatter.floor for scatter in moments.scatters])
        return inner * np.stack(squares) + floors[:, None]

    # in one product: reading the rows is most of its cost
    both = stack.transposed_matmul(U @ np.hstack([last / evals[:, None], last]))
    whitened, kept = np.split(both, 2, axis=1)
    return LeadingAxes(evals, whitened, kept, class_spreads)


def _total_factor(moments: ClassMoments) -> Stack | None:
    """A factor of St made of rows that are held, when they are fewer than features.

    The rows of each scatter come in the order of the scatters, those between classes last.
    """
    held = [(weight, R) for scatter in moments.scatters for weight, R in scatter.rows]
    weights, blocks = zip(*held, (1.0, moments.between_rows()), strict=True)
    n_rows = sum(R.shape[0] for R in blocks)
    if not moments.is_thin or n_rows >= moments.n_features or min(weights) < 0:
        return None
    return Stack(blocks, np.sqrt(weights))


def reduce_to_span(moments: ClassMoments) -> tuple[ClassMoments, Lift]:
    """Moments in coordinates of the span of the centred rows, and the map back to features.

    Samples fewer than features span fewer dimensions than there are features: every
    rotation-equivariant method is exact there. Moments that hold a d×d matrix already are
    returned as they are.
    """
    return span_of_held_rows(moments)[:2]


class HeldSpan(NamedTuple):
    """Moments in coordinates of the span of their rows.

    Attributes
    ----------
    small : ClassMoments
    lift : callable
    rows : array (n_rows, n_coordinates) or None
        The rows that the moments hold in these coordinates, in the order in which they are held;
        None where the moments are as they were given.
    """

    small: ClassMoments
    lift: Lift
    rows: Array | None


def span_of_held_rows(moments: ClassMoments) -> HeldSpan:
    """`reduce_to_span`, and the rows in these coordinates."""
    rows = [(weight, R) for scatter in moments.scatters for weight, R in scatter.rows]
    if not moments.is_thin or sum(R.shape[0] for _, R in rows) >= moments.n_features:
        return HeldSpan(moments, lambda W: W, None)
    Hb = moments.between_rows()
    # the rows of a class sum to zero
    bound = sum(R.shape[0] for _, R in rows) - 1
    spanned, parts = find_joint_span([R for _, R in rows] + [Hb], bound)
    rank = spanned.coordinates.shape[1]
    pieces = iter([(weight, Y) for (weight, _), Y in zip(rows, parts, strict=False)])
    scatters = [
        Scatter(
            rank,
            multiply_out(rank, list(islice(pieces, len(scatter.rows)))),
            floor=scatter.floor,
        )
        for scatter in moments.scatters
    ]
    # contrasts back to √n_c (m_c - m) of each class, in the coordinates of the span
    deviations = undo_contrast(moments.counts, parts[-1])
    offsets = deviations / np.sqrt(np.where(moments.counts > 0, moments.counts, 1.0))[:, None]
    small = moments.in_coordinates(offsets, scatters)
    return HeldSpan(small, spanned.lift, np.vstack([np.zeros((0, rank)), *parts[:-1]]))


def drop_constant_features(moments: ClassMoments) -> tuple[ClassMoments, Lift]:
    """Moments of the features that differ between rows, and the map back: zero for the others."""
    varies = moments.total_diagonal() > 0
    if varies.all():
        return moments, lambda W: W

    def put_back(W: Array) -> Array:
        # a constant feature gets weight zero, and not a limit of 0/0
        full = np.zeros((len(varies), W.shape[1]))
        full[varies] = W
        return full

    return moments.select_columns(varies), put_back


def within_units(moments: ClassMoments) -> Array:
    """Standard deviation of each feature within classes.

    Where there is none, the deviation among all rows; one where all rows are equal.
    """
    within, total = moments.within_diagonal(), moments.total_diagonal()
    # sums of squares cancel where rows of a class are alike: dust is no unit
    dust = scatter_eps(moments.eps, moments.n_samples, 1) * total
    variances = np.where(within > dust, within, total) / moments.n_samples
    return np.sqrt(np.where(variances > 0, variances, 1.0))


def in_units_of_deviations(moments: ClassMoments) -> tuple[ClassMoments, Lift]:
    """Moments in units of the deviations within classes, and the map back to features."""
    units = within_units(moments)
    scaled = moments.rescaled(np.zeros_like(units), 1 / units)
    return scaled, lambda W: W / units[:, None]


def reduce_to_range(moments: ClassMoments) -> tuple[ClassMoments, Lift]:
    """`reduce_to_span`, also where a matrix is held of rows that could not fill it.

    Copies of features, or of rows, and the means of many batches span fewer dimensions than the
    matrix has. The rank is that of St in units of each feature, the coordinates are orthonormal.
    """
    small, lift = reduce_to_span(moments)
    d = small.n_features
    St = small.St
    units = np.sqrt(St.diagonal().clip(0.0))
    units[units == 0] = 1.0
    eps = scatter_eps(moments.eps, moments.n_samples, d)
    try:
        cholesky_whitener(St / units / units[:, None], eps=eps)
    except SingularMatrixError:
        # in units of each feature, or large ones would decide what is numerical zero
        evals, U = np.linalg.eigh(St / units / units[:, None])
        rank = numerical_rank(evals[::-1], d, eps=eps)
        axes = np.linalg.qr(units[:, None] * U[:, d - rank :])[0]
        return small.project(axes), lambda W: lift(axes @ W)
    return small, lift


def fourth_moment(moments: ClassMoments, rows: LabelledRows) -> float:
    """``Σ ‖x - m_c‖⁴`` over rows that these are the moments of."""
    total = 0.0
    for block in row_blocks(*rows.X.shape):
        part = rows.part(block)
        Z = moments.centred(part.X, part.codes)
        squares = np.einsum("ij,ij->i", Z, Z)
        total += float(squares**2 @ (np.ones(len(Z)) if part.weights is None else part.weights))
    return total
