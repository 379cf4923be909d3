"""Eigenvalues: the largest ones, whitening, pairs of matrices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from separatrix.linalg._types import Array, Lift
from separatrix.linalg.blas import one_blas_thread
from separatrix.linalg.rank import (
    EPS,
    SingularMatrixError,
    _descending,
    cholesky_whitener,
    numerical_rank,
    range_and_null,
)
from separatrix.linalg.span import span
from separatrix.linalg.tridiagonal import tridiagonalize

MAX_DENSE_ORDER = 2000
"""Largest order of a matrix that is decomposed densely even when few eigenpairs are wanted."""

SINGLE_TOLERANCE = 1e-6
"""The least remainder, as a share of the eigenvalue, that products in float32 allow."""


CHECK_BLOCK, N_CHECK_BLOCKS = 16, 4
"""Vectors of a second start, which finds copies of an eigenvalue that the first one missed."""

MAX_STARTS = 20
"""Starts for copies: a start that misses 83 of 100 of them is followed by one that finds all."""


def top_eigh(
    S: Array | LinearOperator,
    k: int,
    *,
    max_dense_order: int = MAX_DENSE_ORDER,
    tol: float = 1e-10,
) -> tuple[Array, Array]:
    """The k largest eigenvalues of a symmetric matrix or operator, and their eigenvectors.

    Dense up to order `max_dense_order`, or when more than a fifteenth of the spectrum is wanted;
    ARPACK otherwise, until remainders are `tol` times their eigenvalues, and for an operator
    unless it is small or more than half of its spectrum is wanted. A matrix of float32 is
    multiplied in single precision.

    Examples
    --------
    >>> evals, V = top_eigh(np.diag([1.0, 5.0, 3.0]), 2)
    >>> evals
    array([5., 3.])
    """
    order = S.shape[0]
    k = min(k, order)
    if not isinstance(S, np.ndarray) and (order <= 200 or 2 * k > order):
        S = S @ np.eye(order)  # ARPACK needs room for more vectors than the k that are wanted
    if isinstance(S, np.ndarray) and (k == 0 or order <= max_dense_order or 15 * k > order):
        with one_blas_thread():
            return tridiagonalize(S).leading(k)
    tol = max(tol, SINGLE_TOLERANCE) if S.dtype == np.float32 else tol
    evals, V = _lanczos(S, k, tol, np.zeros((order, 0), S.dtype))
    # one start misses copies of an eigenvalue: another one sees whether something larger is left
    for _ in range(MAX_STARTS):
        # Rayleigh-Ritz from below: larger than the last one found means that one was missed
        largest = _largest_left(S, V)
        if largest <= evals[-1] + tol**0.5 * max(abs(evals[-1]), EPS * abs(evals[0])):
            break
        both = np.linalg.qr(np.hstack([V, _lanczos(S, k, tol, V)[1]]))[0]
        evals, U = _descending(*np.linalg.eigh(both.T @ (S @ both)))
        evals, V = evals[:k], both @ U[:, :k]
    return evals, V


def _lanczos(S: Array | LinearOperator, k: int, tol: float, known: Array) -> tuple[Array, Array]:
    """The k largest eigenpairs, by ARPACK, in the space orthogonal to known eigenvectors."""
    # fixed starts: the same matrix gives the same digits in every run
    start = np.random.default_rng(known.shape[1]).standard_normal(len(known)).astype(S.dtype)
    # without this shift known vectors would have zeros, more than what is left may have
    shift = np.linalg.norm(S @ start) if known.shape[1] else 0.0

    def apply(v: Array) -> Array:
        along = known.T @ v
        product = S @ (v - known @ along)
        return product - known @ (known.T @ product + shift * along)

    if not (S @ start).any():
        return np.zeros(k, S.dtype), np.eye(len(known), k, dtype=S.dtype)
    operator = LinearOperator(S.shape, matvec=apply, dtype=S.dtype) if known.shape[1] else S
    evals, V = eigsh(operator, k=k, which="LA", v0=start, ncv=min(len(known), 2 * k + 20), tol=tol)
    return _descending(evals, V)


def _largest_left(S: Array | LinearOperator, V: Array) -> float:
    """A lower bound of the largest eigenvalue in the space orthogonal to the vectors."""
    without = lambda Z: Z - V @ (V.T @ Z)  # noqa: E731
    Z = np.random.default_rng(1).standard_normal((len(V), CHECK_BLOCK)).astype(V.dtype)
    blocks = []
    for _ in range(N_CHECK_BLOCKS):
        Z = np.linalg.qr(without(without(Z)))[0]
        blocks.append(Z)
        Z = S @ Z
    Q = without(np.linalg.qr(without(np.hstack(blocks)))[0])
    Q = Q[:, np.linalg.norm(Q, axis=0) > 0.5]  # where the span is closed some are but rounding
    Q = np.linalg.qr(Q)[0]
    return float(np.linalg.eigvalsh(Q.T @ (S @ Q))[-1])


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
        The columns to map.
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
    are sorted by descending alpha; those with alpha = 0 are left out. The products AᵀA and BᵀB
    would lose half of the digits; the factors keep them.

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
    # [A; B] = P diag(s) Vᵀ: rows of P belong to A and to B, with α² + β² = 1
    P, s, Vt = np.linalg.svd(joint.coordinates, full_matrices=False)
    _, alpha, Wt = np.linalg.svd(P[: len(A)], full_matrices=False)
    rank = numerical_rank(alpha, max(P.shape), largest=1.0)
    W = Wt[:rank].T
    beta = np.linalg.norm(P[len(A) :] @ W, axis=0)
    return GeneralizedSVD(alpha[:rank], beta, joint.lift(Vt.T @ (W / s[:, None])))
