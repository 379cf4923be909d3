"""Ranks, null spaces and Cholesky factors by one rank rule, and the signs of directions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from separatrix.linalg._types import Array

EPS = float(np.finfo(np.float64).eps)


class SingularMatrixError(np.linalg.LinAlgError):
    """The right-hand matrix of a symmetric-definite problem has no inverse."""


def numerical_rank(
    values: Array, order: int, *, largest: float | None = None, eps: float = EPS
) -> int:
    """Count the singular values, or eigenvalues of a scatter, that are not numerical zero.

    A value counts when it exceeds ``order * eps * largest``; this is the only rank rule of the
    package.

    Parameters
    ----------
    values : array
        Singular values or eigenvalues, in any order.
    order : int
        The larger side of the matrix they belong to.
    largest : float, optional
        The value that others are compared with; the largest of `values` by default.
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


def scatter_eps(eps: float, n_samples: float, order: int) -> float:
    """Relative precision of a scatter matrix that is a sum over rows, for `numerical_rank`.

    The rounding of a sum grows with the root of its length; of few features it may be more than
    their number accounts for. Blocks of float32 rows are added in float64, and a million rows is
    the most that counts, as weights may be huge.

    Examples
    --------
    >>> scatter_eps(EPS, 100, 10) == 4 * EPS, scatter_eps(EPS, 100, 1000) == EPS
    (True, True)
    >>> scatter_eps(1e-7, 1e6, 10)
    1e-07
    """
    growth = 4.0 * float(np.sqrt(min(n_samples, 1e6))) / max(order, 1)
    return max(eps, EPS * growth)


def column_signs(W: Array) -> Array:
    """Factors of ±1 that make the entry of largest magnitude of each column positive.

    Of entries that are equal to eight digits the first decides, so that equal problems get equal
    signs.

    Examples
    --------
    >>> column_signs(np.array([[1.0, 0.0], [-2.0, 3.0]]))
    array([-1.,  1.])
    """
    magnitude = np.abs(W)
    # equal to eight digits counts as equal: rounding must not turn a direction round
    leader = np.argmax(magnitude >= (1 - 1e-8) * magnitude.max(axis=0, initial=0.0), axis=0)
    return np.where(W[leader, np.arange(W.shape[1])] < 0, -1.0, 1.0)


# Symmetric matrices --------------------------------------------------------------------------


def _descending(evals: Array, V: Array) -> tuple[Array, Array]:
    return evals[::-1], V[:, ::-1]


class RangeAndNull(NamedTuple):
    """Orthonormal bases of the range and the null space of a symmetric matrix."""

    evals: Array
    range: Array
    null: Array


def range_and_null(S: Array, *, relative_to: float = 0.0, eps: float = EPS) -> RangeAndNull:
    """Split the space by the rank rule; `evals` are the eigenvalues that belong to the range.

    Where S is added to a matrix with a larger eigenvalue, numerical zero is `relative_to` that.

    Examples
    --------
    >>> parts = range_and_null(np.diag([2.0, 0.0, 1.0]))
    >>> parts.range.shape, parts.null.shape
    ((3, 2), (3, 1))
    """
    evals, V = _descending(*np.linalg.eigh(S))
    largest = max(relative_to, float(np.max(evals, initial=0.0)))
    rank = numerical_rank(evals, len(S), largest=largest, eps=eps)
    return RangeAndNull(evals[:rank], V[:, :rank], V[:, rank:])


def null_space(S: Array, *, relative_to: float = 0.0, eps: float = EPS) -> Array:
    """An orthonormal basis of the null space of a symmetric matrix.

    Examples
    --------
    >>> null_space(np.diag([1.0, 0.0])).shape
    (2, 1)
    """
    return range_and_null(S, relative_to=relative_to, eps=eps).null


# Generalized eigenproblems -------------------------------------------------------------------


class CholeskyWhitener(NamedTuple):
    """``B = D L Lᵀ D`` with D the square roots of the diagonal, so that units do not matter."""

    scale: Array
    L: Array

    def whiten(self, V: Array) -> Array:
        """Columns of V in coordinates where B is the identity: ``L⁻¹ D⁻¹ V``."""
        return scipy.linalg.solve_triangular(
            self.L, V / self.scale[:, None], lower=True, check_finite=False
        )

    @property
    def magnification(self) -> float:
        """A lower bound on the factor, apart from D, that `whiten` magnifies errors by."""
        return 1.0 / float(np.abs(np.diagonal(self.L)).min(initial=1.0))

    def unwhiten(self, V: Array) -> Array:
        """Directions of those coordinates in the original ones, ``D⁻¹ L⁻ᵀ V``."""
        W = scipy.linalg.solve_triangular(self.L, V, lower=True, trans="T", check_finite=False)
        return W / self.scale[:, None]

    def inverse(self) -> Array:
        """The inverse of B."""
        lower, _ = lapack.dpotri(self.L, lower=1)  # what is above the diagonal stays zero
        inverse = lower + np.tril(lower, -1).T
        return inverse / self.scale / self.scale[:, None]


def cholesky_whitener(
    B: Array,
    *,
    relative_to: Array | float = 0.0,
    least: float = 0.0,
    eps: float = EPS,
    overwrite: bool = False,
) -> CholeskyWhitener:
    """Factor a positive definite matrix, or raise an error where it is singular.

    Parameters
    ----------
    B : array (d, d)
    relative_to : array (d,) or float
        Diagonal of another matrix in the same units: entries of the diagonal of B, and directions,
        that are numerical zero relative to it count as zero.
    least : float
        No eigenvalue of B is below it, as where a ridge was added: the condition number is not
        estimated where this bounds it.
    eps : float
        Relative precision of the data B was computed from.
    overwrite : bool
        Let the factor take the place of B.

    Raises
    ------
    SingularMatrixError
        When the reciprocal condition number of B, scaled to unit diagonal, is numerical zero.

    Examples
    --------
    >>> B = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> W = cholesky_whitener(B).unwhiten(np.eye(2))
    >>> np.allclose(W.T @ B @ W, np.eye(2))
    True
    >>> cholesky_whitener(np.ones((2, 2)))
    Traceback (most recent call last):
    separatrix.linalg.rank.SingularMatrixError: matrix of order 2 is singular
    """
    order = len(B)
    diagonal = np.diagonal(B).copy()  # B may be overwritten
    # a feature whose own scatter is dust makes B singular before any factor is tried
    if order and np.all(diagonal > order * eps * np.asarray(relative_to)):
        scale = np.sqrt(diagonal)
        scaled = np.divide(B, scale, out=B if overwrite else None)
        scaled /= scale[:, None]
        # transposed, the matrix is in the order that LAPACK overwrites without a copy
        norm = lapack.dlange("1", scaled.T)
        L, info = lapack.dpotrf(scaled.T, lower=1, clean=1, overwrite_a=1)
        relative = order * eps * max(1.0, float(np.max(np.asarray(relative_to) / diagonal)))
        # the sums of columns that the norm is the largest of are √n lengths at most
        known = least > order**0.5 * relative * norm * float(scale.max()) ** 2
        # 1-norm estimate of the condition number: n², where the factor costs n³
        if info == 0 and (known or lapack.dpocon(L, norm, uplo="L")[0] > relative):
            return CholeskyWhitener(scale, L)
    raise SingularMatrixError(f"matrix of order {order} is singular")
