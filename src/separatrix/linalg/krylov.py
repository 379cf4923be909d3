"""The largest eigenvalues of a large symmetric operator, by block Lanczos."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from separatrix.linalg._types import Array
from separatrix.linalg.tridiagonal import tridiagonalize

BLOCK = 16
"""Vectors that are multiplied at once: a matrix is read from memory once for all of them."""

FIRST_LOOK = 5
"""Vectors for each eigenpair after which these are looked at for the first time."""

LOOK_GROWTH = 0.15
"""How many vectors are added from one look to the next, as a share of those there are."""

VECTORS_PER_PAIR = 7
"""Vectors for each eigenpair that are held before a restart: six settle most flat spectra."""

MIN_BLOCKS = 10
"""Blocks that are held beyond these, so that few eigenpairs settle as fast."""

KEPT_PER_PAIR = 3
"""Vectors for each eigenpair with which a restart goes on, beside two blocks."""

MAX_RESTARTS = 50

N_CHECK_BLOCKS = 4
"""Blocks of a second start, which would find copies of an eigenvalue that the first one missed."""


def block_lanczos(
    apply: Callable[[Array], Array],
    order: int,
    k: int,
    *,
    tol: float = 1e-10,
    dtype: type = np.float64,
) -> tuple[Array, Array] | None:
    """The k largest eigenvalues, descending, and their eigenvectors; None if they do not settle.

    The operator is applied to a block of random vectors again and again, each new block made
    orthogonal to all before: ``A Q = Q T + Q' R``, with T a band about the diagonal. Eigenvectors
    of T, taken back by Q, are those of A but for ``‖R v‖``, where v is their last block. Where
    they do not settle before the vectors are too many, the best of them are the start of a new
    T (a thick restart, as of Wu and Simon).

    Vectors of one block find no more copies of an eigenvalue than they are. A second start in
    what the first one left over sees whether something larger is left there, and if so goes on.

    Parameters
    ----------
    apply : function
        The product of the operator with an array (order, n).
    order, k : int
        The order must be more than `vectors_needed` for k, and another block.
    tol : float
        Largest ``‖A v - λ v‖`` of an eigenvector, as a share of its eigenvalue; where that is
        small beside others, what rounding of these leaves.
    dtype : type
        Precision of the vectors.

    Examples
    --------
    >>> d = np.linspace(0.0, 1.0, 400) ** 2
    >>> evals, V = block_lanczos(lambda V: d[:, None] * V, 400, 3)
    >>> bool(np.allclose(evals, d[:-4:-1]))
    True
    """
    krylov = _Krylov(apply, order, vectors_needed(k), dtype)
    look = FIRST_LOOK * k
    for _ in range(MAX_RESTARTS):
        n_kept = KEPT_PER_PAIR * k + 2 * BLOCK
        while krylov.grow(look):
            evals, U = tridiagonalize(krylov.projected()).leading(k)
            largest = max(krylov.largest, float(np.abs(evals).max()))
            least = min(tol, 100 * float(np.finfo(dtype).eps)) * largest  # what rounding leaves
            if (krylov.remainders(U) <= np.maximum(tol * np.abs(evals), least)).all():
                margin = max(tol**0.5 * abs(evals[-1]), least)
                if krylov.largest_left(N_CHECK_BLOCKS) <= evals[-1] + margin:
                    return evals, krylov.lift(U)
                n_kept = k
                break
            look = krylov.n + max(BLOCK, int(LOOK_GROWTH * krylov.n))
        krylov.restart(n_kept, anew=n_kept == k)
        look = max(FIRST_LOOK * k, n_kept) + 4 * BLOCK
    return None


def vectors_needed(k: int) -> int:
    """How many vectors are held for k eigenpairs."""
    return VECTORS_PER_PAIR * k + MIN_BLOCKS * BLOCK


class _Krylov:
    """Orthonormal vectors Q that an operator sends into their span and that of one block more.

    Attributes
    ----------
    Q : array (order, max_vectors + BLOCK)
        The first `n` columns are in use; those of the block after them are the next ones.
    T : array (max_vectors + BLOCK, max_vectors + BLOCK)
        ``Qᵀ A Q`` as far as it is known: of all in use, and of these with the next block.
    coupled : slice
        Vectors in use to which the operator sends the next block, beside itself.
    """

    def __init__(
        self, apply: Callable[[Array], Array], order: int, max_vectors: int, dtype: type
    ) -> None:
        self.apply, self.max_vectors = apply, max_vectors
        self.Q: Array = np.empty((order, max_vectors + BLOCK), dtype, order="F")
        self.T = np.zeros((max_vectors + BLOCK, max_vectors + BLOCK), order="F")
        self.n, self.largest, self.coupled = 0, 0.0, slice(0, 0)
        # a fixed start: the same matrix gives the same digits in every run
        self.rng = np.random.default_rng(0)
        self.Q[:, :BLOCK] = self._random(BLOCK)

    def _random(self, k: int) -> Array:
        """Random vectors, orthonormal and orthogonal to those in use."""
        Z = self.rng.standard_normal((len(self.Q), k)).astype(self.Q.dtype)
        for _ in range(2):
            Z = np.linalg.qr(self._without(Z))[0]
        return Z

    def _without(self, Z: Array) -> Array:
        """Z less its part in the span of the vectors in use."""
        used = self.Q[:, : self.n]
        return Z - used @ (used.T @ Z)

    @property
    def _next(self) -> slice:
        return slice(self.n, self.n + BLOCK)

    def grow(self, n: int) -> bool:
        """Add blocks until n vectors or more are in use; False where there is no room for them."""
        while self.n < n:
            if self.n + BLOCK > self.max_vectors:
                return False
            self._add_block()
        return True

    def _add_block(self) -> None:
        """Take the next block into use, and find the one after it."""
        at = self._next
        new = self.Q[:, at]
        Z = self.apply(new)
        A = new.T @ Z
        Z = Z - new @ A
        Z -= self.Q[:, self.coupled] @ self.T[self.coupled, at].astype(Z.dtype)
        self.T[at, at] = (A + A.T) / 2
        self.largest = max(self.largest, float(np.abs(np.diagonal(A)).max()))
        self.n, self.coupled = at.stop, at
        # rounding brings back what the other blocks have: it is taken off as well
        following, R = self._orthonormalize(self._without(Z))
        if np.abs(np.diagonal(R)).min() < np.finfo(Z.dtype).eps ** 0.25 * self.largest:
            # what is small beside the rest has been divided by its size, and its rounding, too
            following, again = np.linalg.qr(self._without(following))
            R = again @ R
        self.Q[:, self._next] = following
        self.T[self._next, at], self.T[at, self._next] = R, R.T

    def _orthonormalize(self, Z: Array) -> tuple[Array, Array]:
        """The factors of ``Z = Q R``; random columns of Q where Z has fewer dimensions."""
        least = 100 * np.finfo(Z.dtype).eps * self.largest
        Q, R = np.linalg.qr(Z)
        if np.abs(np.diagonal(R)).min() > least:
            return Q, R
        # the span is closed along some directions: these come last, to go on with new ones
        Q, R, order = scipy.linalg.qr(Z, mode="economic", pivoting=True, check_finite=False)
        rank = int(np.sum(np.abs(np.diagonal(R)) > least))
        kept, new = Q[:, :rank], self._random(BLOCK - rank)
        for _ in range(2):
            new = np.linalg.qr(self._without(new - kept @ (kept.T @ new)))[0]
        R[rank:] = 0.0
        return np.hstack([kept, new]), R[:, np.argsort(order)]

    def projected(self) -> Array:
        """T of the vectors in use."""
        return self.T[: self.n, : self.n]

    def remainders(self, U: Array) -> Array:
        """``‖A v - λ v‖`` of the vectors that eigenvectors of T stand for."""
        return np.asarray(np.linalg.norm(self.T[self._next, : self.n] @ U, axis=0))

    def lift(self, U: Array) -> Array:
        """Columns in the coordinates of the vectors in use, taken back."""
        return self.Q[:, : self.n] @ U.astype(self.Q.dtype)

    def restart(self, k: int, *, anew: bool) -> None:
        """Go on with the vectors of the k largest eigenvalues of T, and with the next block.

        Where these are eigenvectors already, nothing leads from them to the next block: it can be
        drawn anew.
        """
        evals, U = tridiagonalize(self.projected()).leading(k)
        leading, following = self.lift(U), self.Q[:, self._next].copy()
        coupling = self.T[self._next, : self.n] @ U
        self.T[:] = 0.0
        self.n, self.coupled = k, slice(0, k)
        self.Q[:, :k], self.Q[:, self._next] = leading, following
        self.T[:k, :k] = np.diag(evals)
        self.T[self._next, :k], self.T[:k, self._next] = coupling, coupling.T
        if anew:
            self.Q[:, self._next] = self._random(BLOCK)
            self.T[self._next, :k], self.T[:k, self._next] = 0.0, 0.0

    def largest_left(self, n_blocks: int) -> float:
        """The largest eigenvalue that another start finds in what is orthogonal to all vectors."""
        apply = lambda V: self._without(self.apply(V))  # noqa: E731
        other = _Krylov(apply, len(self.Q), n_blocks * BLOCK, self.Q.dtype.type)
        # in the span of these vectors the largest would be zero, more than those below it
        other.Q[:, :BLOCK] = self._random(BLOCK)
        other.grow(n_blocks * BLOCK)
        return float(np.linalg.eigvalsh(other.projected())[-1])
