"""Labelled rows on their way to statistics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from separatrix.linalg import Array

BLOCK_ENTRIES = 1 << 20
"""Entries of a block of rows that is centred and multiplied at once (8 MB of float64)."""


def row_blocks(n_rows: int, n_features: int) -> Iterator[slice]:
    """Slices over rows such that a dense block of them is small."""
    yield from gen_batches(n_rows, block_rows(n_features))


def block_rows(n_features: int) -> int:
    """How many rows such a block has."""
    return int(np.clip(BLOCK_ENTRIES // max(n_features, 1), 1, 65536))


class LabelledRows(NamedTuple):
    """A block of rows with their class codes and weights."""

    X: Array
    codes: Array
    weights: Array | None
    n_classes: int

    @property
    def counts(self) -> Array:
        """Samples of each class, or sums of their weights."""
        return np.bincount(self.codes, self.weights, self.n_classes).astype(np.float64)

    def sums(self, Z: Any) -> Any:
        """Weighted class sums of the rows of Z."""
        return indicator(self.codes, self.weights, self.n_classes, Z.dtype) @ Z

    def add_products(self, matrices: Array, Z: Array, product: Array) -> None:
        """Add ``ZᵀZ``, of all rows together or class by class; Z is spent."""
        if self.weights is not None:
            Z *= np.sqrt(self.weights).astype(Z.dtype)[:, None]
        if len(matrices) == 1:
            matrices[0] += np.matmul(Z.T, Z, out=product)
            return
        order = np.argsort(self.codes, kind="stable")
        ends = np.cumsum(np.bincount(self.codes, minlength=self.n_classes))[:-1]
        for matrix, Zc in zip(matrices, np.split(Z[order], ends), strict=True):
            matrix += np.matmul(Zc.T, Zc, out=product)


def indicator(codes: Array, weights: Array | None, n_classes: int, dtype: Any) -> Any:
    """Matrix (n_classes, n_rows) that sums rows by class."""
    data = np.ones(len(codes), dtype) if weights is None else weights.astype(dtype)
    by_row = sp.csr_array((data, codes, np.arange(len(codes) + 1)), (len(codes), n_classes))
    return by_row.T


def mean_of_rows(X: Array, rows: Array, weights: Array, Z: Array, origin: Array) -> Array:
    """The mean of some rows as a difference from the origin; Z gets the rows less the mean."""
    share = weights / weights.sum() if weights.any() else weights
    # from the origin, so that a column that does not vary stays exactly zero
    for part in gen_batches(len(rows), max(1, BLOCK_ENTRIES // X.shape[1])):
        np.subtract(X[rows[part]], origin, out=Z[part])
    first = share @ Z
    Z -= first
    left = share @ Z
    Z -= left
    return first + left


def full_columns_shifted(X: Any) -> tuple[Any, Array]:
    """Columns without a zero start at their first entry; that is free, and keeps their digits."""
    X.sum_duplicates()
    full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    origin = np.zeros(X.shape[1])
    if full.any():
        first = X[[0]].toarray().ravel()
        origin[full] = first[full]
        X.data -= origin[X.indices]
    return X, origin
