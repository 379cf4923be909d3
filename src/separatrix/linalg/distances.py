"""Squared distances between rows, and the smallest of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.linalg._types import Array
from separatrix.linalg.blas import ONE_BY_ONE_UP_TO
from separatrix.linalg.rank import EPS

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
