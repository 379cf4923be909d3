"""Numerics without labels or estimators: ranks, signs, spans, whitening, eigenproblems.

Every subspace method of the package ends in one of the functions below. Matrices are dense
float64 arrays unless a docstring says otherwise; vectors that span something are columns,
and eigenvalues come in descending order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import lapack
from scipy.sparse.linalg import LinearOperator, eigsh
from threadpoolctl import ThreadpoolController

Array = NDArray[Any]
Lift = Callable[[Array], Array]

EPS = float(np.finfo(np.float64).eps)
LANCZOS_FROM = 2000
"""Matrices up to this order are decomposed densely even when few eigenpairs are wanted."""

ONE_BY_ONE_UP_TO = 64
"""So many smallest entries of a row are found one by one; more by sorting it."""


ONE_AT_A_TIME = Lock()
"""Held by the thread that has limited BLAS: the limit is the process's, and must be given back."""


class SingularMatrixError(np.linalg.LinAlgError):
    """The right-hand matrix of a symmetric-definite problem has no inverse."""


# Ranks and signs ---------------------------------------------------------------------------


def numerical_rank(
    values: Array, order: int, *, largest: float | None = None, eps: float = EPS
) -> int:
    """Count the singular values, or eigenvalues of a scatter, that are more than rounding.

    A value counts when it exceeds ``order * eps * largest``; this is the only rank rule of the
    package.

    Parameters
    ----------
    values : array
        Singular values or eigenvalues, in any order.
    order : int
        The larger side of the matrix they belong to.
    largest : float, optional
        What "large" means; the largest of `values` by default.
    eps : float
        Relative precision of the data the matrix was computed from.

    Examples
    --------
    >>> numerical_rank(np.array([3.0, 1.0, 1e-17]), 3)
    2
    """
    if largest is None:
        largest = float(np.max(values, initial=0.0))
    return int(np.count_nonzero(values > order * eps * largest))


def column_signs(W: Array) -> Array:
    """Factors of ±1 that make the entry of largest magnitude of each column positive.

    Of entries that tie up to rounding the first decides, so that equal problems get equal signs.

    Examples
    --------
    >>> column_signs(np.array([[1.0, 0.0], [-2.0, 3.0]]))
    array([-1.,  1.])
    """
    magnitude = np.abs(W)
    leader = np.argmax(magnitude >= (1 - 1e-8) * magnitude.max(axis=0, initial=0.0), axis=0)
    return np.where(W[leader, np.arange(W.shape[1])] < 0, -1.0, 1.0)


def principal_angles(A: ArrayLike, B: ArrayLike) -> Array:
    """Angles in radians, largest first, between the row spaces of two sets of components.

    Examples
    --------
    >>> principal_angles([[1.0, 0.0, 0.0]], [[1.0, 1.0, 0.0]]).round(3)
    array([0.785])
    """
    return scipy.linalg.subspace_angles(np.asarray(A, dtype=float).T, np.asarray(B, dtype=float).T)


# The span of a few rows in many dimensions ---------------------------------------------------


class Span(NamedTuple):
    """Rows in an orthonormal basis of their own row space.

    Attributes
    ----------
    coordinates : array (n_rows, rank)
        The rows in that basis.
    lift : callable
        Takes columns of coordinates (rank, k) to columns in the full space (n_features, k).
    """

    coordinates: Array
    lift: Lift


WELL_CONDITIONED = 1e-6
"""Squared ratio of singular values above which inner products lose fewer than six digits."""


def span(rows: Array, *, bound: int | None = None) -> Span:
    """Express `rows` in an orthonormal basis of the space they span.

    One product of the rows with themselves when that is safe: when their rank reaches the
    `bound` known beforehand, so that none is lost, and their singular values are of similar size.
    Otherwise a Householder QR of the transposed rows, ``2 n² d`` flops, and an SVD of its n×n
    triangle, without forming the basis itself: `lift` applies the reflectors.

    Parameters
    ----------
    rows : array (n_rows, n_features)
    bound : int, optional
        The highest rank the rows can have; their number by default.

    Examples
    --------
    >>> rows = np.array([[1.0, 0, 0, 1], [2.0, 0, 0, 2]])
    >>> s = span(rows)
    >>> s.coordinates.shape
    (2, 1)
    >>> np.allclose(s.lift(s.coordinates.T), rows.T)
    True
    """
    n_rows, n_features = rows.shape
    highest = n_rows if bound is None else bound
    if highest < n_features:
        quick = gram_span(rows @ rows.T, rows.T.__matmul__, order=n_features)
        size = np.sum(quick.coordinates**2, axis=0)
        if len(size) == highest and np.all(size > WELL_CONDITIONED * size.max(initial=0.0)):
            return quick
    # the copy in row order is what LAPACK takes for columns, and may overwrite
    columns = np.array(rows, dtype=float, order="C").T
    (qr, tau), R = scipy.linalg.qr(columns, mode="raw", overwrite_a=True, check_finite=False)
    U, s, Vt = np.linalg.svd(R[: min(n_rows, n_features)], full_matrices=False)
    rank = numerical_rank(s, max(rows.shape))
    U = U[:, :rank]

    def lift(W: Array) -> Array:
        padded = np.zeros((n_features, W.shape[1]), order="F")
        padded[: len(U)] = U @ W
        return _apply_reflectors(qr, tau, padded)

    return Span(Vt[:rank].T * s[:rank], lift)


def _apply_reflectors(qr: Array, tau: Array, C: Array) -> Array:
    """Q @ C for the Q of a raw Householder QR."""
    qr = qr[:, : len(tau)]
    _, work, _ = lapack.dormqr("L", "N", qr, tau, C, -1)
    QC, _, info = lapack.dormqr("L", "N", qr, tau, C, int(work[0]), overwrite_c=True)
    assert info == 0, f"dormqr rejected argument {-info}"
    return QC


def triangle(blocks: Iterable[Array]) -> Array:
    """The R with ``RᵀR = Σ ZᵀZ`` over blocks of rows Z, of no more rows than columns.

    A QR of each block under the R so far; no product is formed, so no digits are lost.

    Examples
    --------
    >>> Z = np.arange(12.0).reshape(6, 2)
    >>> R = triangle([Z[:4], Z[4:]])
    >>> R.shape, bool(np.allclose(R.T @ R, Z.T @ Z))
    ((2, 2), True)
    """
    R: Array | None = None
    for Z in blocks:
        R = np.asarray(np.linalg.qr(Z if R is None else np.vstack([R, Z]), mode="r"))
    assert R is not None, "there is at least one block"
    return R


def gram_span(gram: Array, transposed: Lift, *, order: int) -> Span:
    """The same as `span` for rows known only by their inner products.

    Parameters
    ----------
    gram : array (n_rows, n_rows)
        Inner products of the rows.
    transposed : callable
        ``transposed(A) = rows.T @ A``.
    order : int
        The larger side of the matrix of rows.

    Notes
    -----
    Working with squares costs half the digits: directions whose singular value is below about
    1e-7 of the largest are lost. It is meant for sparse rows, which a QR would fill.
    """
    evals, U = _descending(*np.linalg.eigh(gram))
    rank = numerical_rank(evals, order)
    s, U = np.sqrt(evals[:rank]), U[:, :rank]
    return Span(U * s, lambda W: transposed(U @ (W / s[:, None])))


# Symmetric matrices --------------------------------------------------------------------------


def _descending(evals: Array, V: Array) -> tuple[Array, Array]:
    return evals[::-1], V[:, ::-1]


def top_eigh(
    S: Array | LinearOperator, k: int, *, lanczos_from: int = LANCZOS_FROM
) -> tuple[Array, Array]:
    """The k largest eigenvalues of a symmetric matrix or operator, and their eigenvectors.

    Dense up to order `lanczos_from`, or when more than a tenth of the spectrum is wanted;
    Lanczos to working precision otherwise, and for an operator unless it is small or more than
    half of its spectrum is wanted.

    Examples
    --------
    >>> evals, V = top_eigh(np.diag([1.0, 5.0, 3.0]), 2)
    >>> evals
    array([5., 3.])
    """
    order = S.shape[0]
    k = min(k, order)
    if not isinstance(S, np.ndarray) and (order <= 200 or 2 * k > order):
        S = S @ np.eye(order)  # Lanczos needs room for more vectors than are wanted
    if isinstance(S, np.ndarray) and (order <= lanczos_from or 10 * k > order):
        top = (order - k, order - 1)
        with one_blas_thread():
            return _descending(*scipy.linalg.eigh(S, subset_by_index=top, check_finite=False))
    start = np.random.default_rng(0).standard_normal(order)
    evals, V = eigsh(S, k=k, which="LA", v0=start)
    best_first = np.argsort(-evals)
    return evals[best_first], V[:, best_first]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS to one thread, unless somebody else is changing their number.

    numpy and scipy bring a BLAS each. The threads of one wait for more work in the way of the
    other's: partial eigenproblems of scipy take two to six times as long after a product of numpy.
    """
    if not ONE_AT_A_TIME.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        ONE_AT_A_TIME.release()


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


class RangeAndNull(NamedTuple):
    """Orthonormal bases of the range and the null space of a symmetric matrix."""

    evals: Array
    range: Array
    null: Array


def range_and_null(S: Array, *, beside: float = 0.0, eps: float = EPS) -> RangeAndNull:
    """Split the space by the rank rule; `evals` are the eigenvalues that belong to the range.

    A matrix may be small `beside` another that matters as much: rounding is then judged by the
    larger of the two.

    Examples
    --------
    >>> parts = range_and_null(np.diag([2.0, 0.0, 1.0]))
    >>> parts.range.shape, parts.null.shape
    ((3, 2), (3, 1))
    """
    evals, V = _descending(*np.linalg.eigh(S))
    largest = max(beside, float(np.max(evals, initial=0.0)))
    rank = numerical_rank(evals, len(S), largest=largest, eps=eps)
    return RangeAndNull(evals[:rank], V[:, :rank], V[:, rank:])


def null_space(S: Array, *, beside: float = 0.0, eps: float = EPS) -> Array:
    """An orthonormal basis of the directions that a symmetric matrix sends to zero.

    Examples
    --------
    >>> null_space(np.diag([1.0, 0.0])).shape
    (2, 1)
    """
    return range_and_null(S, beside=beside, eps=eps).null


def whiten(S: Array, *, eps: float = EPS) -> Array:
    """A matrix A with ``A.T @ S @ A = I``, of as many columns as S has rank.

    Examples
    --------
    >>> S = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> A = whiten(S)
    >>> np.allclose(A.T @ S @ A, np.eye(2))
    True
    """
    parts = range_and_null(S, eps=eps)
    return parts.range / np.sqrt(parts.evals)


def partial_whiten(V: Array, U: Array, s: Array) -> Array:
    """Shrink the columns of V along the leading directions U to the spread of the last of them.

    The map is ``I + U (s[-1] / s - 1) U.T``: afterwards the data whose leading singular pairs
    are (s, U) spread equally along all of U, and every other direction is left as it was.

    Parameters
    ----------
    V : array (n_features, k)
        What is mapped.
    U : array (n_features, d)
        Orthonormal leading directions of the data.
    s : array (d,)
        Their singular values, descending, all positive.

    Examples
    --------
    >>> partial_whiten(np.eye(3), np.eye(3)[:, :2], np.array([4.0, 2.0])).diagonal()
    array([0.5, 1. , 1. ])
    """
    return V + U @ ((s[-1] / s - 1)[:, None] * (U.T @ V))


def range_basis(S: Array, eps: float = EPS) -> Array:
    """An orthonormal basis of the range of S: the identity when S has an inverse.

    Examples
    --------
    >>> range_basis(np.diag([2.0, 0.0])).shape
    (2, 1)
    """
    try:
        cholesky_whitener(S, eps=eps)
    except SingularMatrixError:
        return range_and_null(S, eps=eps).range
    return np.eye(len(S))


# Distances -----------------------------------------------------------------------------------


def squared_distances(A: Any, B: Any) -> Array:
    """From each row of A to each row of B; what is only rounding becomes zero.

    One product of the rows, dense or sparse.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[25.,  0.]])
    """
    norms, others = squared_norms(A), squared_norms(B)
    D = (-2 * A) @ B.T
    D = D.toarray() if sp.issparse(D) else D
    D += norms[:, None]
    D += others
    rounding = 4 * A.shape[1] * EPS
    largest = rounding * (np.max(norms, initial=0.0) + np.max(others, initial=0.0))
    if D.size and D.min() <= largest:
        rows, columns = np.nonzero(largest >= D)  # few: each is looked at again
        small = rounding * (norms[rows] + others[columns]) >= D[rows, columns]
        D[rows[small], columns[small]] = 0.0
    return D


def squared_norms(A: Any) -> Array:
    """Of the rows, dense or sparse.

    Examples
    --------
    >>> squared_norms(np.array([[3.0, 4.0]]))
    array([25.])
    """
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A)


def smallest_columns(D: Array, k: int) -> Array:
    """Columns of the k smallest entries of each row, in order; of equals the first come first.

    While they are few, one after the other: that is faster than to partition. Entries are finite;
    D is spent.

    Examples
    --------
    >>> smallest_columns(np.array([[3.0, 1.0, 2.0, 1.0]]), 3)
    array([[1, 3, 2]])
    """
    k = min(k, D.shape[1])
    if k > ONE_BY_ONE_UP_TO:
        return np.argsort(D, axis=1, kind="stable")[:, :k]
    rows = np.arange(len(D))
    found = np.empty((len(D), k), dtype=int)
    for i in range(k):
        found[:, i] = D.argmin(axis=1)
        D[rows, found[:, i]] = np.inf
    return found


# Generalized eigenproblems -------------------------------------------------------------------


class CholeskyWhitener(NamedTuple):
    """``B = D L L.T D`` with D the square roots of the diagonal, so that units do not matter."""

    scale: Array
    L: Array

    def whiten(self, V: Array) -> Array:
        """Columns of V, as seen where B is the identity: ``L⁻¹ D⁻¹ V``."""
        return scipy.linalg.solve_triangular(
            self.L, V / self.scale[:, None], lower=True, check_finite=False
        )

    def unwhiten(self, V: Array) -> Array:
        """Directions found there, as directions here: ``D⁻¹ L⁻ᵀ V``, orthonormal in B."""
        W = scipy.linalg.solve_triangular(self.L, V, lower=True, trans="T", check_finite=False)
        return W / self.scale[:, None]


def cholesky_whitener(
    B: Array, *, beside: Array | float = 0.0, eps: float = EPS
) -> CholeskyWhitener:
    """Factor a positive definite matrix, or say that it is singular.

    Parameters
    ----------
    B : array (d, d)
    beside : array (d,) or float
        Diagonal of another matrix in the same units: entries of B that are only rounding beside
        it count as zero.
    eps : float
        Relative precision of the data B was computed from.

    Raises
    ------
    SingularMatrixError
        When B, scaled to unit diagonal, has a reciprocal condition number of rounding size.

    Examples
    --------
    >>> B = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> W = cholesky_whitener(B).unwhiten(np.eye(2))
    >>> np.allclose(W.T @ B @ W, np.eye(2))
    True
    >>> cholesky_whitener(np.ones((2, 2)))
    Traceback (most recent call last):
    separatrix.linalg.SingularMatrixError: matrix of order 2 is singular
    """
    order = len(B)
    diagonal = np.diagonal(B)
    if order and np.all(diagonal > order * eps * np.asarray(beside)):
        scale = np.sqrt(diagonal)
        scaled = B / scale / scale[:, None]
        with suppress(np.linalg.LinAlgError):
            L = np.linalg.cholesky(scaled)
            norm = float(np.abs(scaled).sum(axis=0).max())
            rcond, _ = lapack.dpocon(L, norm, uplo="L")
            if rcond > order * eps:
                return CholeskyWhitener(scale, L)
    raise SingularMatrixError(f"matrix of order {order} is singular")


class GeneralizedEigen(NamedTuple):
    """Solution of ``A v = λ B v``: descending λ, VᵀBV = I, and the rank of B."""

    evals: Array
    V: Array
    rank: int


def generalized_eigh(A: Array, B: Array, *, eps: float = EPS) -> GeneralizedEigen:
    """Solve ``A v = λ B v`` for symmetric A and positive semidefinite B, in the range of B.

    `rank` says whether B was singular (``rank < len(B)``); vectors then have no part in the
    null space of B.

    Examples
    --------
    >>> A, B = np.diag([6.0, 2.0, 1.0]), np.diag([2.0, 1.0, 0.0])
    >>> solution = generalized_eigh(A, B)
    >>> solution.evals, solution.rank
    (array([3., 2.]), 2)
    """
    try:
        factor = cholesky_whitener(B, eps=eps)
    except SingularMatrixError:
        to_white = whiten(B, eps=eps)
        M = to_white.T @ A @ to_white
        back: Lift = to_white.__matmul__
    else:
        M = factor.whiten(factor.whiten(A).T)
        back = factor.unwhiten
    evals, V = _descending(*np.linalg.eigh((M + M.T) / 2))
    return GeneralizedEigen(evals, back(V), len(evals))


class GeneralizedSVD(NamedTuple):
    """``‖A g_i‖ = alpha_i`` and ``‖B g_i‖ = beta_i`` with ``alpha² + beta² = 1``."""

    alpha: Array
    beta: Array
    G: Array


def gsvd(A: Array, B: Array) -> GeneralizedSVD:
    """Diagonalise AᵀA and BᵀB together without forming either product.

    The columns of G satisfy ``Gᵀ(AᵀA + BᵀB)G = I``, lie in the joint row space of A and B and
    are sorted by descending alpha; those with alpha = 0 are left out. Working on the factors
    keeps the digits that their squares would lose.

    Parameters
    ----------
    A : array (p, n_features)
    B : array (q, n_features)

    Examples
    --------
    >>> pair = gsvd(np.array([[3.0, 0.0]]), np.array([[4.0, 0.0], [0.0, 1.0]]))
    >>> pair.alpha, pair.beta
    (array([0.6]), array([0.8]))
    """
    joint = span(np.vstack([A, B]))
    P, s, Vt = np.linalg.svd(joint.coordinates, full_matrices=False)
    _, alpha, Wt = np.linalg.svd(P[: len(A)], full_matrices=False)
    rank = numerical_rank(alpha, max(P.shape), largest=1.0)
    W = Wt[:rank].T
    beta = np.linalg.norm(P[len(A) :] @ W, axis=0)
    return GeneralizedSVD(alpha[:rank], beta, joint.lift(Vt.T @ (W / s[:, None])))


# The nearest point where a quadratic vanishes ---------------------------------------------------

SECULAR_STEPS = 100
"""Steps after which the search along a monotone function gives up: ten are usual."""

SECULAR_END = 300.0
"""Logarithm beyond which the function has reached its limit."""


def boundary_distance(evals: Array, slopes: Array, gaps: Array) -> Array:
    """Squared length of the shortest z with ``Σ λ_i z_i² + β_i z_i + γ ≤ 0``, where γ ≥ 0.

    This is the trust-region problem for all radii at once. One quadratic constraint leaves no
    duality gap, so the answer is the largest value of the concave function

    ``D(μ) = μ γ - μ² / 4 Σ β_i² / (1 + μ λ_i)``,  μ ≥ 0 and all 1 + μ λ_i ≥ 0.

    Its derivative is the secular function, which falls; Newton's method finds its zero, within
    brackets and on logarithms. When it has none there (the hard case: no slope along the most
    negative curvature), the end of the interval is the largest. Any μ gives a lower bound, and
    near the largest value an error of μ counts squared.

    Parameters
    ----------
    evals : array (..., k)
        Curvatures λ, of any sign and in any order.
    slopes : array (..., k)
        β in the same axes.
    gaps : array (...)
        γ, the values at z = 0.

    Returns
    -------
    array (...)
        Infinite where the quadratic is positive everywhere, zero where γ is.

    Examples
    --------
    >>> boundary_distance(np.array([0.0, 0.0]), np.array([3.0, 4.0]), np.array(10.0))
    array(4.)
    >>> boundary_distance(np.array([-2.0, 1.0]), np.array([0.0, 0.0]), np.array(18.0))
    array(9.)
    """
    shape = np.broadcast_shapes(evals.shape[:-1], slopes.shape[:-1], gaps.shape)
    k, flattened = evals.shape[-1], (int(np.prod(shape)), evals.shape[-1])
    lam = np.broadcast_to(evals, (*shape, k)).reshape(flattened)
    squares = np.broadcast_to(slopes, (*shape, k)).reshape(flattened) ** 2 / 4
    gap = np.broadcast_to(gaps, shape).ravel()
    concave = np.maximum(-lam.min(axis=1, initial=0.0), 0.0)
    raised = lam + concave[:, None]  # μ = w / (1 + concave w) lets w be any positive number
    flat = raised == 0
    inverse = np.divide(1.0, raised, out=np.zeros_like(raised), where=~flat)
    with np.errstate(over="ignore"):
        reach = np.sum(squares * (concave[:, None] * inverse + 1) * inverse, axis=1)
    reach[np.any(flat & (squares > 0), axis=1)] = np.inf
    distance = np.full(len(gap), np.inf)
    hard = (reach <= gap) & (concave > 0)
    rest = gap[hard] - np.sum(squares[hard] * inverse[hard], axis=1)
    distance[hard] = rest / concave[hard]
    distance[gap <= 0] = 0.0
    at = np.flatnonzero((reach > gap) & (gap > 0))
    distance[at] = _secular_maximum(raised[at], concave[at], squares[at], gap[at])
    return distance.reshape(shape)


def _secular_maximum(raised: Array, concave: Array, squares: Array, gap: Array) -> Array:
    """The largest D where the secular function has a zero."""
    ratio = gap / squares.sum(axis=1)
    low = np.log(ratio / (1 + np.sqrt(1 + concave * ratio)))  # if no curvature were positive
    high = np.full(len(gap), np.inf)
    found = low.copy()
    left = np.arange(len(gap))
    stride = 1.0
    for _ in range(SECULAR_STEPS):
        u, a, lam, b = found[left], concave[left], raised[left], squares[left]
        w = np.exp(u)[:, None]
        share = 1 / (1 + w * lam)
        weighted = b * share**2
        value = np.sum(weighted * (2 + w * (a[:, None] + lam)), axis=1) * w[:, 0]
        slope = 2 * (1 + a * w[:, 0]) * np.sum(weighted * share, axis=1) * w[:, 0]
        low[left] = np.where(value <= gap[left], u, low[left])
        high[left] = np.where(value >= gap[left], u, high[left])
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            step = u + np.log(gap[left] / value) * value / slope
        middle = np.where(np.isinf(high[left]), u + stride, (low[left] + high[left]) / 2)
        inside = (step >= low[left]) & (step <= np.minimum(high[left], u + 8 * stride))
        found[left] = np.minimum(np.where(inside, step, middle), SECULAR_END)
        stride *= 2
        left = left[np.abs(found[left] - u) > 1e-9]
        if not len(left):
            break
    w = np.exp(found)
    share = 1 / (1 + w[:, None] * raised)
    lower = w / (1 + concave * w) * (gap - w * np.sum(squares * share, axis=1))
    # a vertex that barely touches zero is at the end of w, where D is all rounding
    length = np.sum(squares * (w[:, None] * share) ** 2, axis=1)
    return np.where(concave > 0, lower, length)


# A factorisation that grows ------------------------------------------------------------------


class ThinSVD(NamedTuple):
    """The left half of a thin SVD of columns that keep coming: ``S = U diag(s²) Uᵀ``.

    The right singular vectors grow with the number of columns and are not kept. Everything is
    immutable: `appended` and `merged` return the factorisation of more columns.

    Attributes
    ----------
    U : array (n_features, rank)
        Orthonormal left singular vectors.
    s : array (rank,)
        Singular values, descending.

    Notes
    -----
    The columns of a batch are given as rows. To follow the scatter about a mean that moves, give
    the rows less their own mean, and one row more: ``√(N n / (N + n)) (batch mean - mean)`` for n
    new rows after N. That is Brand's update and recentring in one.

    References
    ----------
    Brand, Fast low-rank modifications of the thin singular value decomposition, Linear Algebra
    and its Applications 415 (2006).

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((6, 4))
    >>> grown = ThinSVD.empty(4).appended(rows[:2]).appended(rows[2:])
    >>> np.allclose(grown.s, np.linalg.svd(rows)[1])
    True
    """

    U: Array
    s: Array

    @classmethod
    def empty(cls, n_features: int) -> ThinSVD:
        """The factorisation of no columns at all."""
        return cls(np.zeros((n_features, 0)), np.zeros(0))

    @property
    def columns(self) -> Array:
        """``U diag(s)``: as many columns as the rank, with the scatter of all that came."""
        return self.U * self.s

    def appended(self, rows: Array, *, rank: int | None = None) -> ThinSVD:
        """The factorisation with more columns, given as rows (n, n_features).

        The rows are made orthogonal to U, directions in what is left that are only rounding beside
        the rows are dropped, and the new axes are made orthonormal once more at the end: a small
        rest has a part along U, and rounding would add up over many updates. One product
        ``rows @ U`` and back, a QR of the rest and an SVD of order rank + n.

        Parameters
        ----------
        rows : array (n, n_features)
        rank : int, optional
            Keep no more singular values than this.
        """
        U, s = self.U, self.s
        along = rows @ U
        outside = rows - along @ U.T
        size = max(float(np.max(s, initial=0.0)), float(np.sqrt(np.sum(rows**2))))
        fresh, left = _orthonormal_rows(outside, size, most=len(U) - len(s))
        core = np.zeros((len(s) + len(left), len(s) + len(rows)))
        np.fill_diagonal(core[: len(s), : len(s)], s)
        core[: len(s), len(s) :] = along.T
        core[len(s) :, len(s) :] = left
        turn, values, _ = np.linalg.svd(core, full_matrices=False)
        kept = len(values) if rank is None else min(len(values), rank)
        basis = U @ turn[: len(s), :kept]
        basis += fresh @ turn[len(s) :, :kept]
        return ThinSVD(orthonormal_again(basis), values[:kept])

    def merged(self, other: ThinSVD, *, rank: int | None = None) -> ThinSVD:
        """The factorisation of the columns of both."""
        return self.appended(other.columns.T, rank=rank)


def _orthonormal_rows(rows: Array, size: float, most: int) -> tuple[Array, Array]:
    """Orthonormal columns Q, at most so many, and C: ``rows.T = Q C`` to rounding of `size`."""
    Q, R = np.linalg.qr(rows.T)
    F, t, Gt = np.linalg.svd(R, full_matrices=False)
    kept = min(most, numerical_rank(t, max(rows.shape), largest=size))
    return (Q, R) if kept == len(t) else (Q @ F[:, :kept], t[:kept, None] * Gt[:kept])


def orthonormal_again(Q: Array) -> Array:
    """Almost orthonormal columns made orthonormal, without turning the sign of any.

    Examples
    --------
    >>> Q = orthonormal_again(np.eye(3)[:, :2] + 1e-9)
    >>> bool(abs(Q.T @ Q - np.eye(2)).max() < 1e-15)
    True
    """
    return Q @ np.linalg.inv(np.linalg.cholesky(Q.T @ Q)).T
