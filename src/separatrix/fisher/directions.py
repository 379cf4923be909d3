"""Fisher's criterion and its relatives: large scatter between classes, small scatter within.

Every class here maximises a ratio or difference of the scatter matrices Sb and Sw (or their
local versions) that `ClassMoments` provides, and differs in how it treats a singular Sw.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import NamedTuple

import numpy as np

from separatrix.base.solution import Solution
from separatrix.linalg import (
    EPS,
    Array,
    Lift,
    SingularMatrixError,
    cholesky_whitener,
    numerical_rank,
    range_and_null,
    scatter_eps,
    top_eigh,
)
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.spectra import max_total_rank, reduce_to_span, total_axes

# The mathematics -----------------------------------------------------------------------------


def fisher_directions(Sw: Array, Hb: Array, *, n_samples: float = 0, eps: float = EPS) -> Solution:
    """Maximise ``wᵀ Sb w / wᵀ Sw w`` with ``Sb = Hbᵀ Hb``, direction after direction.

    When Sw has an inverse: a Cholesky factor of Sw and a thin SVD of the whitened class means,
    which gives ``Wᵀ Sw W = I`` and the criterion as squared singular values. When it has not, the
    answer is the limit of a vanishing ridge: first the directions without any scatter within
    classes (an infinite criterion, ordered by the scatter between classes), then the others.

    Parameters
    ----------
    Sw : array (d, d)
    Hb : array (k, d)
        A factor of Sb, such as `ClassMoments.between_rows` gives.
    n_samples : float
        Number of rows behind the class means, which bounds the error of the means.
    eps : float
        Relative precision of the data.
    """
    order = summation_order(n_samples, *Hb.shape)
    eps = scatter_eps(eps, n_samples, len(Sw))
    try:
        factor = cholesky_whitener(Sw, relative_to=np.sum(Hb**2, axis=0), eps=eps)
    except SingularMatrixError:
        return _singular_fisher_directions(Sw, Hb, order, eps)
    U, s, _ = np.linalg.svd(factor.whiten(Hb.T), full_matrices=False)
    k = separating_rank(s, order, factor.magnification)
    return Solution(factor.unwhiten(U[:, :k]), s[:k] ** 2, rank=len(Sw), within=np.eye(k))


def summation_order(*sizes: float) -> int:
    """The order in the rank rule for sums of this size; bounded, as weights may be huge."""
    return int(min(max(sizes), 1e7))


def separating_rank(s: Array, order: int, magnification: float = 1.0) -> int:
    """Number of singular values of the class means that are not numerical zero.

    The means are measured by the scatter within classes, so that a value of 1 is the spread of
    the rows, to which the error of the means is relative. Where features are nearly collinear
    that measure magnifies the error. Means are summed in float64.
    """
    return numerical_rank(s, order, largest=max(magnification, float(np.max(s, initial=0.0))))


def _singular_fisher_directions(Sw: Array, Hb: Array, order: int, eps: float) -> Solution:
    """`fisher_directions` as the ridge on a singular Sw goes to zero."""
    perfect, between, rank, find_whitener = split_within(Sw, Hb, eps)
    if len(between) == len(Hb):  # they take up all of the scatter between classes
        within = nominal_scatter(between, perfect, perfect)
        return Solution(perfect, between, rank=rank, within=within)
    to_white = find_whitener()
    whitened = Hb @ to_white
    # the other directions are Sb-orthogonal to the perfect ones: take those out of Hb,
    Q = Hb @ perfect / np.sqrt(between)
    _, s, Vt = np.linalg.svd(whitened - Q @ (Q.T @ whitened), full_matrices=False)
    largest = max(1.0, _squared_norm(whitened) ** 0.5)
    # the class means have no more directions than Hb has rows, whatever rounding adds
    k = min(numerical_rank(s, order, largest=largest, eps=eps), len(Hb) - len(between))
    W = to_white @ Vt[:k].T
    # and let each direction make up for its own part in them
    W -= perfect @ (Q.T @ (Hb @ W) / np.sqrt(between)[:, None])
    W = np.hstack([perfect, W])
    within = np.diag(np.repeat([0.0, 1.0], [len(between), k])) + nominal_scatter(
        between, perfect, W
    )
    criterion = np.concatenate([between, np.zeros(k) if len(between) else s[:k] ** 2])
    return Solution(W, criterion, rank=rank, within=within)


class WithinSplit(NamedTuple):
    """The directions of the space, split by the scatter within classes.

    Attributes
    ----------
    perfect : array (d, p)
        Orthonormal directions without scatter within classes but between them, by descending
        scatter between.
    between : array (p,)
        That scatter.
    rank : int
        The rank r of Sw.
    find_whitener : callable
        Without arguments, (d, r): directions orthogonal to all without scatter within, with unit
        scatter within. At the cost of an inverse, and so only where it is asked for.
    """

    perfect: Array
    between: Array
    rank: int
    find_whitener: Callable[[], Array]


def split_within(Sw: Array, Hb: Array, eps: float = EPS) -> WithinSplit:
    """Split the space by Sw; numerical zero is relative to each feature's own units."""
    scale = np.sqrt(np.diagonal(Sw).clip(0.0) + np.sum(Hb**2, axis=0))
    scale[scale == 0] = 1.0
    scaled = Hb / scale
    size_of_means = _squared_norm(scaled)
    null, rank, largest, find_range = _split_scatter(
        Sw / scale / scale[:, None], size_of_means, eps
    )
    _, s, Vt = np.linalg.svd(scaled @ null)
    k = numerical_rank(s**2, len(Sw), largest=size_of_means + largest, eps=eps)
    null = null @ Vt.T / scale[:, None]
    empty = np.linalg.qr(null[:, k:])[0]  # no scatter of any kind
    perfect = np.linalg.qr(_remove_span(null[:, :k], empty))[0]

    def find_whitener() -> Array:
        return _remove_span(find_range() / scale[:, None], np.hstack([perfect, empty]))

    return WithinSplit(*order_by_scatter(perfect, Hb), rank, find_whitener)


def _split_scatter(
    S: Array, size_of_means: float, eps: float
) -> tuple[Array, int, float, Callable[[], Array]]:
    """The null space of S, its rank, its size, and a function that whitens it in its range.

    In the span of wide rows S is zero but for a block, which is clearly regular as a rule: then
    no eigenvectors are needed.
    """
    varies = np.diagonal(S) > 0
    try:
        # the product of both limits is beyond the rank rule
        factor = cholesky_whitener(
            S[np.ix_(varies, varies)], relative_to=size_of_means, eps=eps**0.5
        )
    except SingularMatrixError:
        evals, axes, null = range_and_null(S, relative_to=size_of_means, eps=eps)
        size = float(np.max(evals, initial=0.0))
        return null, len(evals), size, lambda: axes / np.sqrt(evals)
    unit = np.eye(len(S))
    rank = int(np.count_nonzero(varies))
    size = float(np.linalg.norm(S, 1))  # no less than the largest eigenvalue
    return unit[:, ~varies], rank, size, lambda: unit[:, varies] @ factor.unwhiten(np.eye(rank))


def _remove_span(V: Array, Q: Array) -> Array:
    """Columns of V less their part in the span of the orthonormal columns of Q."""
    return V - Q @ (Q.T @ V)


def order_by_scatter(Q: Array, Hb: Array) -> tuple[Array, Array]:
    """Orthonormal directions turned among themselves, by descending scatter between classes."""
    _, s, Vt = np.linalg.svd(Hb @ Q, full_matrices=False)
    return Q @ Vt.T, s**2


def nominal_scatter(between: Array, perfect: Array, W: Array) -> Array:
    """The scatter along W that decisions assume in perfect directions, where there is none.

    It is 1e-9 of the scatter between classes: so small that those directions decide first, by the
    nearest mean, and large enough to leave half of the digits to the other directions.
    """
    along = perfect.T @ W
    return 1e-9 * float(np.max(between, initial=0.0)) * along.T @ along


def rank_of_means(s: Array, moments: ClassMoments, trace: float | None = None) -> int:
    """Number of singular values of Hb above numerical zero, relative to the class means.

    The trace of Sw may be given where it is known already.
    """
    order = summation_order(moments.n_samples, moments.n_features)
    trace = moments.trace_within() if trace is None else trace
    spread = max(trace, 0.0) ** 0.5
    return numerical_rank(s, order, largest=max(spread, float(np.max(s, initial=0.0))))


def _squared_norm(H: Array) -> float:
    """The largest eigenvalue of HᵀH."""
    return float(np.linalg.norm(H, 2)) ** 2 if H.size else 0.0


def shrink(Sw: Array, shrinkage: float, n_features: int) -> Array:
    """``(1 - α) Sw + α tr(Sw)/d I``, also when Sw is given in a subspace of the d features."""
    if shrinkage == 0:
        return Sw
    target = shrinkage * np.trace(Sw) / max(n_features, 1)
    return (1 - shrinkage) * Sw + target * np.eye(len(Sw))


def ledoit_wolf(Sw: Array, fourth_moment: float, n_samples: float, n_features: int) -> float:
    """The shrinkage that minimises the expected squared error of the within-class covariance.

    Parameters
    ----------
    Sw : array
        Within-class scatter, in all features or in a subspace that holds all rows.
    fourth_moment : float
        ``Σ ‖x - m_c‖⁴`` over the rows.
    n_samples, n_features : number
        Size of the data.

    References
    ----------
    Ledoit and Wolf, A well-conditioned estimator for large-dimensional covariance matrices,
    Journal of Multivariate Analysis 88 (2004), Lemmas 3.2-3.4.
    """
    squared_norm = np.sum(Sw**2) / n_samples**2
    distance = squared_norm - (np.trace(Sw) / n_samples) ** 2 / max(n_features, 1)
    noise = fourth_moment / n_samples**2 - squared_norm / n_samples
    return float(np.clip(noise / distance, 0.0, 1.0)) if distance > 0 else 0.0


def reduce_to_leading_axes(moments: ClassMoments, pca: float) -> tuple[ClassMoments, Lift]:
    """Moments in leading principal axes: `pca` of them, or enough for that share of variance."""
    if moments.is_thin and moments.holds_sparse_rows:
        V = _sparse_principal_axes(moments, pca)
        return moments.project(V), V.__matmul__
    small, lift = reduce_to_span(moments)
    evals, V = top_eigh(small.St, small.n_features)
    rank = numerical_rank(evals, len(evals), eps=moments.eps)
    V = V[:, : min(count_wanted_axes(evals[:rank], evals[:rank].sum(), pca), rank)]
    return small.project(V), lambda W: lift(V @ W)


def _sparse_principal_axes(moments: ClassMoments, pca: float) -> Array:
    """Lanczos on the total scatter, with more axes until the share is reached."""
    most = max_total_rank(moments)
    total = moments.trace_within() + float(np.sum(moments.between_rows() ** 2))
    if total == 0:
        return np.zeros((moments.n_features, 0))
    k = min(int(pca) if isinstance(pca, Integral) else 32, most)
    while True:
        evals, V = total_axes(moments, k)
        rank = numerical_rank(evals, moments.n_features, eps=moments.eps)
        wanted = count_wanted_axes(evals[:rank], total, pca)
        if wanted <= rank or rank < k or k == most:
            return V[:, : min(wanted, rank)]
        k = min(2 * k, most)


def count_wanted_axes(evals: Array, total: float, pca: float) -> int:
    """Number of axes asked for: `pca` itself, or enough for that share of the total."""
    if isinstance(pca, Integral):
        return int(pca)
    # the cumulated sum may end a few last digits short of the total, and 1 must be reached
    return int(np.searchsorted(np.cumsum(evals), (pca - len(evals) * EPS) * total)) + 1
