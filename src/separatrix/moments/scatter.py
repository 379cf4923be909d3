"""Sums of outer products, held as a matrix or as the rows they came from.

`Scatter` answers the same in both forms; the rows may be sparse and centred without being filled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from separatrix.linalg import (
    EPS,
    Array,
    Lift,
    Span,
    ThinSVD,
    gram_span,
    householder_span,
    numerical_rank,
    quick_span,
    top_eigh,
    triangle,
)

MAX_GRAM_ROWS = 5000
"""Largest number of rows whose inner products are held (200 MB); those of more are applied."""

NEGATIVE_SHARE = 1e-8
"""Share of a scatter by which eigenvalues of what is left of it may be negative from rounding."""

MAX_ROW_BLOCKS = 16
"""Largest number of blocks of rows in one scatter; more are joined."""


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

    def toarray(self) -> Array:
        """The rows themselves."""
        return self.centre(self.S.toarray())

    def gram(self) -> Array:
        """``RᵀR``, dense."""
        # (S - EᵀES)ᵀ(S - EᵀES) = SᵀS - (ES)ᵀ(ES), as the rows of E are orthonormal
        averages = self.E @ self.S
        return (self.S.T @ self.S - averages.T @ averages).toarray()


class AxisRows(NamedTuple):
    """Rows along orthogonal axes, ``R = diag(s) Uᵀ``, with the scatter of many rows."""

    svd: ThinSVD

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.svd.U.shape[1], self.svd.U.shape[0]

    @property
    def size(self) -> int:
        """Memory taken, in floats."""
        return self.svd.U.size

    def __matmul__(self, V: Array) -> Array:
        return self.svd.s[:, None] * (self.svd.U.T @ V)

    def transposed_matmul(self, A: Array) -> Array:
        """``Rᵀ A``."""
        return self.svd.U @ (self.svd.s[:, None] * A)

    def squares(self) -> Array:
        """Column sums of the squared entries."""
        return self.svd.U**2 @ self.svd.s**2

    def toarray(self) -> Array:
        """The rows themselves."""
        return self.svd.columns.T

    def gram(self) -> Array:
        """``RᵀR``."""
        return self.svd.columns @ self.svd.columns.T


def transposed_matmul(R: Any, A: Array) -> Array:
    """``Rᵀ A`` for rows of any kind."""
    # the other order of factors reads rows as they lie in memory
    return (A.T @ R).T if isinstance(R, np.ndarray) else R.transposed_matmul(A)


def as_array(R: Any) -> Array:
    """Rows of any kind as an array."""
    return R if isinstance(R, np.ndarray) else R.toarray()


def _inner_products(A: Any, B: Any) -> Array:
    """``A Bᵀ`` of two blocks of rows, dense."""
    if isinstance(B, AxisRows):
        return (A @ B.svd.U) * B.svd.s
    if isinstance(B, np.ndarray):
        return A @ B.T
    if not isinstance(A, SparseRows):
        return _inner_products(B, A).T
    return A.centre(B.centre((B.S @ A.S.T).toarray()).T)


class Scatter:
    """A sum of outer products ``Σ z zᵀ``, as a matrix or as the rows it came from.

    While the rows are smaller than the d×d matrix they are kept, with a sign, and the scatter is
    ``Σ ± RᵀR``; beyond that they are multiplied out. Both forms answer alike. Objects are never
    changed once made.

    The scatter that `truncated` removes from the rows is kept as `floor`, a multiple of the
    identity.

    A `factored` scatter is never multiplied out: of more rows than features it keeps a triangle.
    """

    _matrix: Any
    floor: float
    n_features: int
    rows: Any
    factored: bool

    def __init__(
        self,
        n_features: int,
        matrix: Array | None = None,
        rows: Sequence[tuple[float, Any]] = (),
        floor: float = 0.0,
        *,
        factored: bool = False,
    ) -> None:
        self.n_features = n_features
        self.factored = factored
        rows = rows if len(rows) <= MAX_ROW_BLOCKS else _join_arrays(rows)
        if factored and sum(R.shape[0] for _, R in rows) > n_features:
            # rows of a QR have the same scatter, no more of them than features, and all digits
            rows = [(1.0, triangle([np.vstack([np.sqrt(w) * as_array(R) for w, R in rows])]))]
        size = 0 if factored else sum(R.size for _, R in rows)
        if rows and (matrix is not None or size >= n_features**2):
            # from here on a matrix takes less memory than the rows
            product, rows = multiply_out(n_features, rows), ()
            matrix = product if matrix is None else np.add(product, matrix, out=product)
        if matrix is not None and floor:
            matrix, floor = matrix + floor * np.eye(n_features), 0.0
        self._matrix, self.rows, self.floor = matrix, tuple(rows), floor

    @property
    def is_thin(self) -> bool:
        """Whether rows are held rather than the matrix."""
        return self._matrix is None

    @property
    def n_rows(self) -> int:
        """Number of rows held."""
        return sum(R.shape[0] for _, R in self.rows)

    @property
    def holds_sparse_rows(self) -> bool:
        """Whether some of the rows held are sparse."""
        return any(isinstance(R, SparseRows) for _, R in self.rows)

    def matrix(self) -> Array:
        """The d×d matrix (a new array)."""
        if self._matrix is not None:
            return self._matrix.copy()
        matrix = multiply_out(self.n_features, self.rows)
        matrix[np.diag_indices(self.n_features)] += self.floor
        return matrix

    def diagonal(self) -> Array:
        """The diagonal alone, without the matrix."""
        if self._matrix is not None:
            return self._matrix.diagonal().copy()
        squares = np.full(self.n_features, self.floor)
        for weight, R in self.rows:
            squares += weight * _squares(R)
        return squares

    def trace(self) -> float:
        """The sum of the diagonal."""
        if self._matrix is not None:
            return float(np.trace(self._matrix))
        squares = sum(weight * _sum_of_squares(R) for weight, R in self.rows)
        return float(squares + self.n_features * self.floor)

    def plus(self, other: Scatter, factor: float = 1.0, rows: Array | None = None) -> Scatter:
        """``self + factor * (other + rowsᵀ rows)``; a factor of -1 subtracts."""
        more = other.rows if rows is None or not len(rows) else (*other.rows, (1.0, rows))
        parts = self.rows + tuple((factor * w, R) for w, R in more if _adds(R))
        floor = self.floor + factor * other.floor
        matrix = other._matrix
        if matrix is not None and factor != 1.0:
            matrix = factor * matrix
        if self._matrix is not None:
            matrix = self._matrix if matrix is None else self._matrix + matrix
        # a factor stands for a sum of squares: none can be subtracted from it
        factored = (self.factored or other.factored) and matrix is None and factor > 0
        return Scatter(self.n_features, matrix, parts, floor, factored=factored)

    def factor(self) -> Array:
        """The rows that are held as one array."""
        none = np.zeros((0, self.n_features))
        return np.vstack([none, *(np.sqrt(weight) * as_array(R) for weight, R in self.rows)])

    def with_matrix(self) -> Scatter:
        """The same scatter as a matrix."""
        return Scatter(self.n_features, self.matrix()) if self.is_thin else self

    def times(self, factor: float) -> Scatter:
        """The scatter of rows whose weights are multiplied by `factor`."""
        return Scatter(self.n_features).plus(self, factor)

    def apply(self, V: Array) -> Array:
        """``matrix @ V`` without the matrix."""
        if self._matrix is not None:
            return self._matrix @ V
        result = self.floor * V
        for weight, R in self.rows:
            result += weight * transposed_matmul(R, R @ V)
        return result

    def truncated(self, rank: int) -> Scatter:
        """At most `rank` rows along the leading axes, and the average of all else as a floor.

        The trace stays as it is; so do the leading axes, and the values along them. A matrix is
        returned as it is: nothing would be saved.
        """
        if not self.is_thin or self.n_rows <= rank:
            return self
        svd, rest = ThinSVD.empty(self.n_features), self.rows
        weight, axes = rest[0]
        if isinstance(axes, AxisRows):
            svd, rest = axes.svd._replace(s=np.sqrt(weight) * axes.svd.s), rest[1:]
        rows = np.vstack([np.sqrt(weight) * as_array(R) for weight, R in rest])
        total = float(np.sum(svd.s**2) + np.sum(rows**2))
        svd = svd.appended(rows, rank=rank)
        # the trace that the kept axes miss, spread evenly over all directions not kept
        left = total - float(np.sum(svd.s**2))
        if left <= self.n_features * EPS * total:
            return Scatter(self.n_features, None, [(1.0, AxisRows(svd))], self.floor)
        rise = left / (self.n_features - rank)
        # the floor adds `rise` along the kept axes, too: it is taken off there
        excess = np.sqrt((svd.s**2 - rise).clip(0.0))
        rows_left = AxisRows(svd._replace(s=excess))
        return Scatter(self.n_features, None, [(1.0, rows_left)], self.floor + rise)

    def refactored(self) -> Scatter:
        """The same scatter from rows that all add, no more of them than its rank; they are dense.

        Raises `NegativeScatterError` where more was subtracted than there was.
        """
        if not self.rows:
            return self
        spanned, parts = find_joint_span([R for _, R in self.rows])
        rank = spanned.coordinates.shape[1]
        pieces = [(w, Y) for (w, _), Y in zip(self.rows, parts, strict=True)]
        inner = multiply_out(rank, pieces)
        # signed squares have no factor: the eigenvalues in the span tell what is left
        evals, V = np.linalg.eigh(inner)
        size = sum(abs(w) * float(np.sum(Y**2)) for w, Y in pieces)
        # cancellation leaves eigenvalues a little below zero: only clearly negative ones count
        if evals.min(initial=0.0) < -NEGATIVE_SHARE * size:
            raise NegativeScatterError
        # relative to all that was added and subtracted: its rounding is what is left of nothing
        kept = len(evals) - numerical_rank(evals, self.n_features, largest=size)
        rows = spanned.lift(V[:, kept:] * np.sqrt(evals[kept:])).T
        return Scatter(self.n_features, None, [(1.0, rows)], self.floor)

    def select_columns(self, chosen: Array) -> Scatter:
        """The scatter of some features, by a mask or by their numbers in any order."""
        at = np.arange(self.n_features)[chosen]
        matrix = None if self._matrix is None else self._matrix[np.ix_(at, at)]
        rows = [(weight, _change_columns(R, lambda V: V[:, at])) for weight, R in self.rows]
        return Scatter(len(at), matrix, rows, self.floor)

    def scaled(self, scale: Array) -> Scatter:
        """The scatter of the same rows with each feature multiplied by a number."""
        if self.floor:
            raise ValueError(
                "directions that are known by their average scatter only have no other scale"
            )
        matrix = None if self._matrix is None else scale[:, None] * self._matrix * scale
        rows = [(weight, _change_columns(R, lambda V: V * scale)) for weight, R in self.rows]
        return Scatter(self.n_features, matrix, rows, factored=self.factored)

    def projected(self, basis: Array) -> Scatter:
        """The scatter of the same rows multiplied by `basis`."""
        if self._matrix is not None:
            return Scatter(basis.shape[1], basis.T @ self._matrix @ basis)
        rows = [(weight, R @ basis) for weight, R in self.rows]
        matrix = multiply_out(basis.shape[1], rows)
        return Scatter(
            basis.shape[1], matrix + self.floor * (basis.T @ basis) if self.floor else matrix
        )


def _change_columns(R: Any, change: Callable[[Any], Any]) -> Any:
    """Rows of any kind with a function applied to their columns; sparse ones stay sparse."""
    if isinstance(R, SparseRows):
        return SparseRows(sp.csr_array(change(R.S)), R.E)
    return change(as_array(R))


def _adds(R: Any) -> bool:
    """Whether rows have any scatter: the one row of a class of one sample is zero."""
    if R.shape[0] != 1 or isinstance(R, AxisRows):
        return R.shape[0] > 0
    return isinstance(R, np.ndarray) and bool(R.any())


def _join_arrays(rows: Sequence[tuple[float, Any]]) -> list[tuple[float, Any]]:
    """The same rows in fewer blocks: all arrays of positive weight in one."""
    arrays = [(w, R) for w, R in rows if w > 0 and isinstance(R, np.ndarray)]
    others = [(w, R) for w, R in rows if w <= 0 or not isinstance(R, np.ndarray)]
    return [*others, (1.0, np.vstack([np.sqrt(w) * R for w, R in arrays]))] if arrays else others


def _squares(R: Any) -> Array:
    """Column sums of the squared entries of rows of any kind."""
    return np.einsum("ij,ij->j", R, R) if isinstance(R, np.ndarray) else R.squares()


def _sum_of_squares(R: Any) -> float:
    """The squared entries of rows of any kind, summed."""
    return float(np.vdot(R, R) if isinstance(R, np.ndarray) else R.squares().sum())


def multiply_out(n_features: int, rows: Sequence[tuple[float, Any]]) -> Array:
    """``Σ weight RᵀR`` as a matrix; rows that are arrays in one product."""
    arrays = [(weight, R) for weight, R in rows if isinstance(R, np.ndarray)]
    matrix = np.zeros((n_features, n_features))
    if arrays:
        weights = np.repeat([weight for weight, _ in arrays], [len(R) for _, R in arrays])
        R = arrays[0][1] if len(arrays) == 1 else np.vstack([R for _, R in arrays])
        matrix = R.T @ (R if (weights == 1.0).all() else weights[:, None] * R)
    for weight, R in rows:
        if not isinstance(R, np.ndarray):
            matrix += weight * R.gram()
    return matrix


def find_joint_span(blocks: Sequence[Any], bound: int | None = None) -> tuple[Span, list[Array]]:
    """The span of several blocks of rows, and each block's coordinates in it.

    Coordinates of all blocks but the last come first, where that costs no digits: these blocks
    are exactly zero in the others.
    """
    stack = Stack(blocks, np.ones(len(blocks)))
    n_rows, n_features = stack.shape
    highest = n_rows if bound is None else bound
    sparse = any(isinstance(R, SparseRows) for R in blocks)
    spanned = None
    if sparse or highest < n_features:  # by inner products, the rows need not be copied
        gram, back, order = stack.gram(), stack.transposed_matmul, max(stack.shape)
        # rows between the classes come last, so that rows within are zero along the last axes
        n_first = n_rows - blocks[-1].shape[0]
        spanned = quick_span(gram, back, highest, order=order, n_first=n_first)
        if spanned is None and sparse:
            spanned = gram_span(gram, back, order=order)
    if spanned is None:
        spanned = householder_span(np.vstack([as_array(R) for R in blocks]))
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
                products = _inner_products(A, B)
                gram[p, q] = products if f * g == 1 else f * g * products
                if p != q:
                    gram[q, p] = gram[p, q].T
        return gram

    def top_eigh(self, k: int) -> tuple[Array, Array]:
        """Leading eigenpairs of the inner products, at most as many as their rank."""
        n_rows, n_features = self.shape
        held = n_rows <= MAX_GRAM_ROWS
        evals, U = top_eigh(
            self.gram() if held else symmetric_operator(n_rows, self.gram_apply), k
        )
        rank = numerical_rank(evals, n_features)
        return evals[:rank], U[:, :rank]

    def transposed_matmul(self, A: Array) -> Array:
        """The transposed stack times A."""
        ends = np.cumsum([R.shape[0] for R in self.blocks])[:-1]
        parts = zip(self.blocks, self.factors, np.split(A, ends), strict=True)
        return reduce(add, [transposed_matmul(R, f * part) for R, f, part in parts])

    def gram_apply(self, A: Array) -> Array:
        """Inner products of all rows, times A."""
        V = self.transposed_matmul(A)
        parts = zip(self.blocks, self.factors, strict=True)
        return np.concatenate([f * (R @ V) for R, f in parts])


def symmetric_operator(order: int, multiply: Lift) -> LinearOperator:
    """A symmetric operator that multiplies vectors and blocks of vectors."""
    return LinearOperator((order, order), matvec=multiply, matmat=multiply, dtype=np.float64)
