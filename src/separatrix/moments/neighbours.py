"""Nearest neighbours of each class, by blocks of products."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from separatrix.linalg import Array, smallest_columns, squared_norms

MAX_DISTANCES = 1 << 20
"""Largest number of distances that the search holds at once (8 MB)."""


def class_neighbours(
    X: Any, codes: Array, n_neighbors: int, among: Any = None, own: Array | None = None
) -> list[Array]:
    """For each class, the rows of it that are nearest to each row, the nearest first.

    Distances come from products of blocks of rows. A row is not its own neighbour; where its class
    has no other rows left, it stands at the end of its own list to fill it.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        Centred rows, or rows near the origin.
    codes : array (n_known,)
        Class of each row among which neighbours are sought.
    n_neighbors : int
        k; a class of fewer rows gives all it has.
    among : array or sparse matrix (n_known, n_features), optional
        Where neighbours are sought; among X itself by default.
    own : array (n_samples,), optional
        Numbers of the rows of X in `among`, where they are some of these.

    Returns
    -------
    list of arrays (n_samples, min(k, n_c))
        Row numbers.

    Examples
    --------
    >>> found = class_neighbours(np.array([[0.0], [1], [5], [7]]), np.array([0, 0, 1, 1]), 1)
    >>> found[1].ravel().tolist()
    [2, 2, 3, 2]
    """
    known = X if among is None else among
    own = np.arange(len(codes)) if among is None else own
    order = np.argsort(codes, kind="stable")
    place = np.argsort(order)
    ends = np.cumsum(np.bincount(codes))
    starts = ends - np.bincount(codes)
    by_class = known[order]
    norms = squared_norms(by_class)
    n_samples = X.shape[0]
    found = [np.empty((n_samples, min(n_neighbors, n)), np.int32) for n in ends - starts]
    for block in gen_batches(n_samples, max(1, MAX_DISTANCES // len(codes))):
        D = (-2 * X[block]) @ by_class.T
        D = D.toarray() if sp.issparse(D) else D
        D += norms  # squared distances, less a number that is the same for a row of D
        if own is not None:
            D[np.arange(len(D)), place[own[block]]] = np.finfo(float).max  # farther than any other
        for neighbours, start, end in zip(found, starts, ends, strict=True):
            nearest = smallest_columns(D[:, start:end], neighbours.shape[1])
            neighbours[block] = order[start + nearest]
    return found


def averaging_matrix(neighbours: Array, rows: Array, n_known: int) -> Any:
    """Sparse matrix (n_rows, n_known) that averages the neighbours of each of the `rows`.

    A row that is among its own neighbours only fills the list, unless it is alone: then it is its
    own mean.
    """
    counts = (neighbours != rows[:, None]).sum(axis=1)
    weights = np.where(neighbours == rows[:, None], 0.0, 1.0 / np.maximum(counts, 1)[:, None])
    weights[counts == 0, 0] = 1.0
    starts = np.arange(0, neighbours.size + 1, neighbours.shape[1])
    return sp.csr_array((weights.ravel(), neighbours.ravel(), starts), (len(rows), n_known))
