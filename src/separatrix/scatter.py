"""Sums of outer products, held as a matrix or as the rows they came from.

`Scatter` answers the same in both forms; the rows may be sparse and centred without being filled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator

from separatrix.linalg import Array, Lift, Span, gram_span, numerical_rank, span, top_eigh

GRAM_UP_TO = 5000
"""Rows whose inner products are held all at once (200 MB); beyond, they are applied one by one."""


class NegativeScatterError(ValueError):
    """More was subtracted from a scatter than it held."""


class SparseRows(NamedTuple):
    """Sparse rows less the averages of their groups, centred without being filled.

    The rows meant are ``R = S - Eᵀ E S``, where the rows of E are orthonormal: each has
    ``√(w_i / Σ w)`` at the members of one group, and S holds rows times ``√w_i``.
    """

    S: Any
    E: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.S.shape

    @property
    def size(self) -> int:
        """Memory taken, in floats: a value and an index each."""
        return 2 * self.S.nnz

    def centre(self, Y: Array) -> Array:
        """``(I - EᵀE) Y``."""
        return Y - self.E.T @ (self.E @ Y)

    def __matmul__(self, V: Array) -> Array:
        return self.centre(self.S @ V)

    def transposed_matmul(self, A: Array) -> Array:
        """``Rᵀ A``."""
        return self.S.T @ self.centre(A)

    def squares(self) -> Array:
        """Column sums of the squared entries."""
        return np.asarray(
            self.S.multiply(self.S).sum(0) - (self.E @ self.S).power(2).sum(0)
        ).ravel()

    def gram(self) -> Array:
        """``RᵀR``, dense."""
        averages = self.E @ self.S
        return (self.S.T @ self.S - averages.T @ averages).toarray()


def transposed_matmul(R: Any, A: Array) -> Array:
    """``Rᵀ A`` for dense or sparse rows."""
    return R.transposed_matmul(A) if isinstance(R, SparseRows) else R.T @ A


def _inner_products(A: Any, B: Any) -> Array:
    """``A Bᵀ`` of two blocks of rows, dense."""
    if not isinstance(B, SparseRows):
        return A @ B.T
    if not isinstance(A, SparseRows):
        return (B @ A.T).T
    return A.centre(B.centre((B.S @ A.S.T).toarray()).T)


class Scatter:
    """A sum of outer products ``Σ z zᵀ``, as a matrix or as the rows it came from.

    While the rows are smaller than the d×d matrix they are kept, with a sign, and the scatter is
    ``Σ ± RᵀR``; beyond that they are multiplied out. Both forms answer alike. Objects are never
    changed once made.
    """

    def __init__(
        self,
        n_features: int,
        matrix: Array | None = None,
        rows: Sequence[tuple[float, Any]] = (),
    ) -> None:
        self.n_features = n_features
        size = sum(R.size for _, R in rows)
        if rows and (matrix is not None or size >= n_features**2):
            matrix = multiplied_out(n_features, rows) + (0 if matrix is None else matrix)
            rows = ()
        self._matrix, self.rows = matrix, tuple(rows)

    @property
    def is_thin(self) -> bool:
        """Whether rows are held rather than the matrix."""
        return self._matrix is None

    def matrix(self) -> Array:
        """The d×d matrix (a new array)."""
        if self._matrix is None:
            return multiplied_out(self.n_features, self.rows)
        return self._matrix.copy()

    def diagonal(self) -> Array:
        """The diagonal alone, without the matrix."""
        if self._matrix is not None:
            return self._matrix.diagonal().copy()
        squares = np.zeros(self.n_features)
        for weight, R in self.rows:
            entries = R.squares() if isinstance(R, SparseRows) else np.einsum("ij,ij->j", R, R)
            squares += weight * entries
        return squares

    def plus(self, other: Scatter, factor: float = 1.0) -> Scatter:
        """``self + factor * other``; a factor of -1 subtracts."""
        rows = self.rows + tuple((factor * weight, R) for weight, R in other.rows)
        if self._matrix is None and other._matrix is None:
            return Scatter(self.n_features, None, rows)
        matrix = np.zeros((self.n_features, self.n_features))
        for term, scatter in ((1.0, self), (factor, other)):
            if scatter._matrix is not None:
                matrix += term * scatter._matrix
        return Scatter(self.n_features, matrix, rows)

    def times(self, factor: float) -> Scatter:
        """The scatter of rows whose weights are multiplied by `factor`."""
        return Scatter(self.n_features).plus(self, factor)

    def apply(self, V: Array) -> Array:
        """``matrix @ V`` without the matrix."""
        if self._matrix is not None:
            return self._matrix @ V
        result = np.zeros(V.shape)
        for weight, R in self.rows:
            result += weight * transposed_matmul(R, R @ V)
        return result

    def refactored(self) -> Scatter:
        """The same scatter from rows that all add, no more of them than its rank."""
        if not self.rows or any(isinstance(R, SparseRows) for _, R in self.rows):
            return self
        spanned, parts = joint_span([R for _, R in self.rows])
        rank = spanned.coordinates.shape[1]
        pieces = [(w, Y) for (w, _), Y in zip(self.rows, parts, strict=True)]
        inner = multiplied_out(rank, pieces)
        evals, V = np.linalg.eigh(inner)
        if evals.min(initial=0.0) < -1e-8 * sum(abs(w) * np.sum(Y**2) for w, Y in pieces):
            raise NegativeScatterError
        kept = len(evals) - numerical_rank(evals, self.n_features)
        rows = spanned.lift(V[:, kept:] * np.sqrt(evals[kept:])).T
        return Scatter(self.n_features, None, [(1.0, rows)])

    def columns(self, chosen: Array) -> Scatter:
        """The scatter of some features; `chosen` is a mask."""
        n_features = int(np.count_nonzero(chosen))
        matrix = None if self._matrix is None else self._matrix[np.ix_(chosen, chosen)]
        rows = [
            (
                weight,
                SparseRows(R.S[:, chosen], R.E) if isinstance(R, SparseRows) else R[:, chosen],
            )
            for weight, R in self.rows
        ]
        return Scatter(n_features, matrix, rows)

    def projected(self, basis: Array) -> Scatter:
        """The scatter of the same rows multiplied by `basis`."""
        if self._matrix is not None:
            return Scatter(basis.shape[1], basis.T @ self._matrix @ basis)
        rows = [(weight, R @ basis) for weight, R in self.rows]
        return Scatter(basis.shape[1], multiplied_out(basis.shape[1], rows))


def multiplied_out(n_features: int, rows: Sequence[tuple[float, Any]]) -> Array:
    """``Σ weight RᵀR`` as a matrix."""
    matrix = np.zeros((n_features, n_features))
    for weight, R in rows:
        matrix += weight * (R.gram() if isinstance(R, SparseRows) else R.T @ R)
    return matrix


def joint_span(blocks: Sequence[Any], bound: int | None = None) -> tuple[Span, list[Array]]:
    """The span of several blocks of rows, and each block's coordinates in it."""
    if any(isinstance(R, SparseRows) for R in blocks):
        stack = Stack(blocks, np.ones(len(blocks)))
        spanned = gram_span(stack.gram(), stack.transposed_matmul, order=max(stack.shape))
    else:
        spanned = span(np.vstack(blocks), bound=bound)
    ends = np.cumsum([R.shape[0] for R in blocks])[:-1]
    return spanned, np.split(spanned.coordinates, ends)


class Stack(NamedTuple):
    """Blocks of rows one below the other, each times its factor."""

    blocks: Sequence[Any]
    factors: Array

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return sum(R.shape[0] for R in self.blocks), self.blocks[0].shape[1]

    def gram(self) -> Array:
        """Inner products of all rows."""
        gram = np.empty((self.shape[0],) * 2)
        ends = np.cumsum([R.shape[0] for R in self.blocks])
        places = [slice(end - R.shape[0], end) for R, end in zip(self.blocks, ends, strict=True)]
        parts = list(zip(places, self.blocks, self.factors, strict=True))
        for i, (p, A, f) in enumerate(parts):
            for q, B, g in parts[: i + 1]:
                gram[p, q] = f * g * _inner_products(A, B)
                gram[q, p] = gram[p, q].T
        return gram

    def top_eigh(self, k: int) -> tuple[Array, Array]:
        """Leading eigenpairs of the inner products, no more than their rank."""
        n_rows, n_features = self.shape
        held = n_rows <= GRAM_UP_TO
        evals, U = top_eigh(self.gram() if held else operator(n_rows, self.gram_apply), k)
        rank = numerical_rank(evals, n_features)
        return evals[:rank], U[:, :rank]

    def transposed_matmul(self, A: Array) -> Array:
        """The transposed stack times A."""
        ends = np.cumsum([R.shape[0] for R in self.blocks])[:-1]
        parts = zip(self.blocks, self.factors, np.split(A, ends), strict=True)
        return np.sum([f * transposed_matmul(R, part) for R, f, part in parts], axis=0)

    def gram_apply(self, A: Array) -> Array:
        """Inner products of all rows, times A."""
        V = self.transposed_matmul(A)
        parts = zip(self.blocks, self.factors, strict=True)
        return np.concatenate([f * (R @ V) for R, f in parts])


def operator(order: int, multiply: Lift) -> LinearOperator:
    """A symmetric operator that multiplies vectors and blocks of vectors."""
    return LinearOperator((order, order), matvec=multiply, matmat=multiply, dtype=np.float64)
