"""Neighbours that count by their weights: a row of weight 2 is the row twice."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.ldg.scatters import LDGScatters, scatters_about
from separatrix.linalg import Array
from separatrix.moments.neighbours import class_neighbours


def weighted_neighbours(X: Any, codes: Array, weights: Array, most: float) -> list[Array]:
    """As many of the nearest rows of each class as have the weight `most` for certain.

    Returns
    -------
    list of arrays (n_samples, m_c)
        As `class_neighbours` gives them; all of a class that has less weight.
    """
    n_needed = 1
    for j in range(int(codes.max()) + 1):
        lightest = np.cumsum(np.sort(weights[codes == j]))
        # one more than the rows before: any so many rows have the weight together
        n_needed = max(n_needed, int(np.searchsorted(lightest, most)) + 1)
    return class_neighbours(X, codes, n_needed)


def weighted_averaging(
    neighbours: Array, rows: Array, weights: Array, n_neighbors: float
) -> sp.csr_array:
    """Sparse matrix (n_rows, n_known) that averages the nearest weight k about each of the rows.

    Neighbours are taken with their weights, the nearest first, until these sum to k; the last one
    as far as it is needed. A row leaves out itself once: of a weight w there is ``w - 1`` left at
    distance zero. Where nothing is left the row is its own mean.

    Parameters
    ----------
    neighbours : array (n_rows, m)
        Numbers of neighbours in one class, the nearest first.
    rows : array (n_rows,)
        Numbers of the rows themselves; -1 for rows of other classes.
    weights : array (n_known,)
    n_neighbors : float
        k.

    Examples
    --------
    >>> near = np.array([[1, 2]])
    >>> weighted_averaging(near, np.array([0]), np.array([2.0, 1.0, 3.0]), 3).toarray().round(2)
    array([[0.33, 0.33, 0.33]])
    """
    itself = neighbours == rows[:, None]
    available = np.where(itself, 0.0, weights[neighbours])
    own = np.where(rows >= 0, np.maximum(weights[np.maximum(rows, 0)] - 1, 0), 0.0)
    available = np.column_stack([own, available])
    before = np.cumsum(available, axis=1) - available
    taken = np.clip(n_neighbors - before, 0.0, available)
    total = taken.sum(axis=1, keepdims=True)
    alone = total[:, 0] == 0
    taken[alone, 0], total[alone] = 1.0, 1.0
    columns = np.column_stack([np.maximum(rows, 0), neighbours])
    starts = np.arange(0, columns.size + 1, columns.shape[1])
    shape = (len(rows), len(weights))
    return sp.csr_array(((taken / total).ravel(), columns.ravel(), starts), shape)


def weighted_scatters(
    X: Any, codes: Array, neighbours: list[Array], priors: Array, n_neighbors: int, weights: Array
) -> LDGScatters:
    """`local_scatters` with rows that count by their weights, as neighbours and in the sums."""
    root = np.sqrt(weights)
    scaled = sp.diags_array(root) @ X if sp.issparse(X) else root[:, None] * X

    def means(block: slice, j: int) -> Any:
        numbers = np.arange(X.shape[0])[block]
        rows = np.where(codes[block] == j, numbers, -1)
        average = weighted_averaging(neighbours[j][block], rows, weights, n_neighbors)
        return sp.diags_array(root[block]) @ average @ X

    # the rows and their means carry the root of the weight, so that squares carry the weight
    return scatters_about(means, sp.csr_array(scaled) if sp.issparse(X) else scaled, codes, priors)
