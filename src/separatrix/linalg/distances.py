"""Squared distances between rows, and the smallest of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from separatrix.linalg._types import Array
from separatrix.linalg.rank import EPS

MAX_COLUMNS_ONE_BY_ONE = 20
"""Smallest entries of a row that are found one after the other; more by a partition of the row."""


def squared_distances(A: Any, B: Any) -> Array:
    """Squared distances of each row of A to each row of B; numerical zero becomes zero.

    One product of the rows, dense or sparse.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[25.,  0.]])
    """
    norms, others = squared_norms(A), squared_norms(B)
    D = A @ B.T  # of the same rows twice half of the products
    D = D.toarray() if sp.issparse(D) else D
    # in place: D may be the largest array of the caller
    D *= -2
    D += norms[:, None]
    D += others
    # the sum of squares cancels where rows coincide: such entries are set to zero
    rounding = 4 * A.shape[1] * EPS
    largest = rounding * (np.max(norms, initial=0.0) + np.max(others, initial=0.0))
    if D.size and D.min() <= largest:
        rows, columns = np.nonzero(largest >= D)  # few: each is compared with its own norms
        small = rounding * (norms[rows] + others[columns]) >= D[rows, columns]
        D[rows[small], columns[small]] = 0.0
    return D


def squared_norms(A: Any) -> Array:
    """Squared norms of the rows, dense or sparse.

    Examples
    --------
    >>> squared_norms(np.array([[3.0, 4.0]]))
    array([25.])
    """
    if sp.issparse(A):
        return np.asarray(A.multiply(A).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A)


class SmallestEntries(NamedTuple):
    """The smallest entries of each row, ascending, and their columns."""

    values: Array
    columns: Array


def smallest_entries(D: Array, k: int) -> SmallestEntries:
    """The k smallest entries of each row, ascending; of equal entries the first comes first.

    A few are found one after the other, which is faster than a partition of the row. Entries must
    be finite; D is overwritten.

    Examples
    --------
    >>> smallest_entries(np.array([[3.0, 1.0, 2.0, 1.0]]), 3).columns
    array([[1, 3, 2]])
    """
    k = min(k, D.shape[1])
    rows = np.arange(len(D))
    if k > MAX_COLUMNS_ONE_BY_ONE:
        columns = _columns_up_to(D, k)
        return SmallestEntries(D[rows[:, None], columns], columns)
    values, columns = np.empty((len(D), k), D.dtype), np.empty((len(D), k), dtype=int)
    for i in range(k):
        columns[:, i] = D.argmin(axis=1)
        values[:, i] = D[rows, columns[:, i]]
        D[rows, columns[:, i]] = np.inf
    return SmallestEntries(values, columns)


def _columns_up_to(D: Array, k: int) -> Array:
    """`smallest_entries` of many by a partition; rows with equals at its edge are sorted whole."""
    if k == D.shape[1]:
        return np.argsort(D, axis=1, kind="stable")
    some = np.sort(np.argpartition(D, (k - 1, k), axis=1)[:, : k + 1], axis=1)
    rows = np.arange(len(D))[:, None]
    order = np.argsort(D[rows, some], axis=1, kind="stable")
    columns = some[rows, order]
    last = D[rows, columns[:, -2:]]
    tied = last[:, 0] == last[:, 1]
    columns[tied, :k] = np.argsort(D[tied], axis=1, kind="stable")[:, :k]
    return columns[:, :k]
