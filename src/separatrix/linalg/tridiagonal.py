"""Symmetric matrices as tridiagonal ones: all eigenvalues, and as many eigenvectors as wanted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from separatrix.linalg._types import Array
from separatrix.linalg.rank import EPS
from separatrix.linalg.span import apply_reflectors

MAX_PARTIAL_SHARE = 0.2
"""Share of the eigenvectors of a dense matrix from which on all are found, which is faster."""

MAX_INVERSE_SHARE = 0.35
"""The same share where vectors are found one by one from all eigenvalues: a quarter of them in two
thirds of the time that LAPACK's drivers take at orders from 200 to 1200."""

MIN_INVERSE_ORDER = 64
"""Order below which that saves no time."""

MAX_FEW_SHARE = 0.05
"""Share of the eigenvectors up to which their eigenvalues are found faster alone than all are."""


class Tridiagonal(NamedTuple):
    """A symmetric matrix ``Q T Qᵀ`` with T tridiagonal: all eigenvalues cost little more than it.

    Attributes
    ----------
    diagonal, off_diagonal : array (n,), (n - 1,)
        The entries of T.
    reflectors, factors : array (n - 1, n - 1), (n - 1,)
        Q, as LAPACK keeps it.
    """

    diagonal: Array
    off_diagonal: Array
    reflectors: Array
    factors: Array

    def evals(self) -> Array:
        """All eigenvalues, descending."""
        if len(self.diagonal) == 0:
            return np.zeros(0)
        return scipy.linalg.eigvalsh_tridiagonal(self.diagonal, self.off_diagonal)[::-1]

    def leading(self, k: int, evals: Array | None = None) -> tuple[Array, Array]:
        """The k largest eigenvalues, and their eigenvectors; known `evals` save time."""
        n = len(self.diagonal)
        if k == 0:
            return np.zeros(0), np.zeros((n, 0))
        found = None
        few = k <= MAX_FEW_SHARE * n and evals is None
        if n >= MIN_INVERSE_ORDER and k < MAX_INVERSE_SHARE * n and not few:
            found = self._by_inverse_iteration((self.evals() if evals is None else evals)[:k])
        if found is None:
            found = self._by_driver(k)
        leading, V = found
        if n > 1:  # Q leaves the first coordinate alone
            V[1:] = apply_reflectors(self.reflectors, self.factors, V[1:])
        return leading, V

    def _by_driver(self, k: int) -> tuple[Array, Array]:
        """The k largest eigenvalues and eigenvectors of T, by LAPACK."""
        n = len(self.diagonal)
        some: dict[str, Any] = {}
        if k < MAX_PARTIAL_SHARE * n:  # bisection, the default, takes twice as long
            some = {"select": "i", "select_range": (n - k, n - 1), "lapack_driver": "stemr"}
        try:
            values, V = scipy.linalg.eigh_tridiagonal(self.diagonal, self.off_diagonal, **some)
        except np.linalg.LinAlgError:  # many copies of an eigenvalue: bisection is slow and safe
            some["lapack_driver"] = "stebz"
            values, V = scipy.linalg.eigh_tridiagonal(self.diagonal, self.off_diagonal, **some)
        return values[: -k - 1 : -1], np.asfortranarray(V[:, : -k - 1 : -1])

    def _by_inverse_iteration(self, evals: Array) -> tuple[Array, Array] | None:
        """Eigenvectors of T for eigenvalues that are known, or None where T falls into parts."""
        n = len(self.diagonal)
        size = max(np.abs(self.diagonal).max(), np.abs(self.off_diagonal).max(initial=0.0))
        if np.abs(self.off_diagonal).min(initial=size) <= 10 * EPS * size:
            return None  # LAPACK would have to know the parts
        whole = np.zeros(n, np.int32)
        whole[0] = n  # one part, to which all eigenvalues belong
        V, failed = lapack.dstein(
            self.diagonal, self.off_diagonal, evals[::-1], np.ones(n, np.int32), whole
        )
        return None if failed else (evals, np.asfortranarray(V[:, ::-1]))


def tridiagonalize(S: Array) -> Tridiagonal:
    """Reduce a symmetric matrix to a tridiagonal one, which has the same eigenvalues.

    Of a matrix in column order only the lower triangle is read.

    Examples
    --------
    >>> tridiagonalize(np.diag([1.0, 5.0, 3.0])).evals()
    array([5., 3., 1.])
    """
    if len(S) == 0:
        return Tridiagonal(np.zeros(0), np.zeros(0), np.zeros((0, 0)), np.zeros(0))
    S = S.T if S.flags.c_contiguous else S  # in the order of LAPACK, without a copy in another one
    work, _ = lapack.dsytrd_lwork(len(S), lower=1)
    reduced, diagonal, off_diagonal, factors, info = lapack.dsytrd(S, lower=1, lwork=int(work))
    assert info == 0, f"dsytrd rejected argument {-info}"
    return Tridiagonal(diagonal, off_diagonal, reduced[1:, :-1], factors)
