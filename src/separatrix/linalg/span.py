"""Coordinates in the span of some rows, and thin decompositions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from scipy.linalg import lapack, solve_triangular

from separatrix.linalg._types import Array, Lift
from separatrix.linalg.rank import (
    EPS,
    SingularMatrixError,
    _descending,
    cholesky_whitener,
    numerical_rank,
    range_and_null,
)


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


MIN_GRAM_RCOND = 1e-6
"""Smallest ratio of eigenvalues of the inner products at which they lose at most six digits."""


def span(rows: Array, *, bound: int | None = None) -> Span:
    """Express `rows` in an orthonormal basis of the space they span.

    The inner products of the rows suffice where they are safe: where their rank reaches the
    `bound` known beforehand, so that no direction is lost, and their singular values are of
    similar size. Otherwise a Householder QR of the transposed rows, ``2 n² d`` flops, and an SVD
    of its n×n triangle, without forming the basis itself: `lift` applies the reflectors.

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
        quick = quick_span(rows @ rows.T, lambda A: (A.T @ rows).T, highest, order=n_features)
        if quick is not None:
            return quick
    return householder_span(rows)


def householder_span(rows: Array) -> Span:
    """`span` by a QR of the transposed rows, which loses no digits."""
    n_rows, n_features = rows.shape
    # transposed, a copy in row order is in the column order that LAPACK overwrites in place
    columns = np.array(rows, dtype=float, order="C").T
    (qr, tau), R = scipy.linalg.qr(columns, mode="raw", overwrite_a=True, check_finite=False)
    # R has the singular values of the rows, without their n_features columns
    U, s, Vt = np.linalg.svd(R[: min(n_rows, n_features)], full_matrices=False)
    rank = numerical_rank(s, max(rows.shape))
    U = U[:, :rank]

    def lift(W: Array) -> Array:
        padded = np.zeros((n_features, W.shape[1]), order="F")
        padded[: len(U)] = U @ W
        return apply_reflectors(qr, tau, padded)

    return Span(Vt[:rank].T * s[:rank], lift)


def quick_span(
    gram: Array, transposed: Lift, highest: int, *, order: int, n_first: int | None = None
) -> Span | None:
    """`span` by the inner products of the rows where they are safe, None elsewhere.

    Their rank must be the `highest` there can be, or directions may have been lost; and their
    singular values of similar size, as the inner products hold the squares.

    Parameters
    ----------
    gram, transposed, order
        As to `gram_span`.
    highest : int
    n_first : int, optional
        As to `cholesky_span`.
    """
    span = cholesky_span(gram, transposed, highest, n_first=n_first)
    if span is not None:
        return span
    span = gram_span(gram, transposed, order=order)
    size = np.sum(span.coordinates**2, axis=0)
    # inner products hold squares: 1e-6 of these is 1e-3 of lengths, six of sixteen digits lost
    similar = np.all(size > MIN_GRAM_RCOND * size.max(initial=0.0))
    return span if len(size) == highest and similar else None


def cholesky_span(
    gram: Array, transposed: Lift, highest: int, *, n_first: int | None = None
) -> Span | None:
    """`gram_span` by triangular factors, at a tenth of the cost; None unless it is as good.

    Parameters
    ----------
    gram, transposed
        As to `gram_span`.
    highest : int
        The rank the rows must have.
    n_first : int, optional
        Rows factored first: exactly their span has the leading coordinates, and all
        other coordinates of these rows are zero. All rows by default.

    Examples
    --------
    >>> rows = np.array([[1.0, 1.0, 0.0], [-1.0, -1.0, 0.0], [1.0, 2.0, 3.0]])
    >>> found = cholesky_span(rows @ rows.T, rows.T.__matmul__, 2, n_first=2)
    >>> found.coordinates[:, 1].round(3)
    array([0.   , 0.   , 3.082])
    """
    n_rows = len(gram)
    n_first = n_rows if n_first is None else n_first
    if n_rows == 0:
        return None
    # rows of unlike length cost no digits in units of their own, but a length may be rounding only
    lengths = np.sqrt(np.diagonal(gram))
    units = np.where(lengths > 0, lengths, 1.0)
    if np.min(lengths, where=lengths > 0, initial=np.inf) <= MIN_GRAM_RCOND**0.5 * lengths.max():
        return None
    scaled = gram / units
    scaled /= units[:, None]
    # pivots choose rows that span the others, so that the factor is well conditioned
    L, chosen = _pivoted_cholesky(scaled[:n_first, :n_first])
    along = solve_triangular(L[chosen], scaled[chosen, n_first:], lower=True, check_finite=False)
    rest, more = _pivoted_cholesky(scaled[n_first:, n_first:] - along.T @ along)
    chosen = np.append(chosen, n_first + more)
    if len(chosen) < highest:
        return None
    coordinates = np.block([[L, np.zeros((n_first, len(more)))], [along.T, rest]])
    T = coordinates[chosen]
    if not len(T) or lapack.dpocon(T.T, lapack.dlange("1", scaled.T))[0] <= MIN_GRAM_RCOND:
        return None
    coordinates *= units[:, None]

    def lift(W: Array) -> Array:
        A = np.zeros((n_rows, W.shape[1]))
        A[chosen] = solve_triangular(T, W, lower=True, trans="T", check_finite=False)
        return transposed(A / units[:, None])

    return Span(coordinates, lift)


def _pivoted_cholesky(G: Array) -> tuple[Array, Array]:
    """The L with ``G = L Lᵀ``, of one column for each of the rows that span the others."""
    if len(G) == 0:
        return np.zeros((0, 0)), np.zeros(0, dtype=int)
    factor, pivots, rank, _ = lapack.dpstrf(G, tol=len(G) * EPS)
    L = np.empty((len(G), rank))
    L[pivots - 1] = np.tril(factor.T[:, :rank])
    return L, pivots[:rank] - 1


def apply_reflectors(qr: Array, tau: Array, C: Array) -> Array:
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
    """`span` for rows that are known by their inner products alone.

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
        """``U diag(s)``: as many columns as the rank, with the scatter of all columns so far."""
        return self.U * self.s

    def appended(self, rows: Array, *, rank: int | None = None) -> ThinSVD:
        """The factorisation with more columns, given as rows (n, n_features).

        The rows less their part along U give the new directions, without those that are
        numerical zero relative to the rows. All axes are made orthonormal once more: a small
        remainder still has a part along U, and errors would add up over many updates. The cost is
        ``rows @ U`` and back, a QR of the remainder and an SVD of order rank + n.

        Parameters
        ----------
        rows : array (n, n_features)
        rank : int, optional
            Keep no more singular values than this.
        """
        U, s = self.U, self.s
        along = rows @ U
        # what U does not span; its rounding along U is removed at the end by `orthonormal_again`
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
    """At most `most` orthonormal columns Q, and C: ``rows.T = Q C`` to the precision of `size`."""
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
    # Cholesky QR: exact to rounding for columns that are almost orthonormal, and keeps their signs
    return Q @ np.linalg.inv(np.linalg.cholesky(Q.T @ Q)).T
