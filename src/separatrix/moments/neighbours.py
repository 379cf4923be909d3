"""Nearest neighbours of each class, by blocks of products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from separatrix.linalg import (
    Array,
    SmallestEntries,
    map_in_threads,
    smallest_entries,
    squared_norms,
)

MAX_DISTANCES = 1 << 20
"""Largest number of distances that a thread of the search holds at once (8 MB)."""

MAX_BLOCK_COLUMNS = 4096
"""Largest number of known rows in a block of distances, so that it has many rows to multiply."""

MIN_SINGLE_DISTANCES = 1 << 22
"""Distances from which they are found in float32 first, and only in doubt in float64."""


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
    counts = np.bincount(codes)
    order = np.argsort(codes, kind="stable")
    place = np.full(X.shape[0], -1) if own is None else np.argsort(order)[own]
    ends = np.cumsum(counts)
    found = []
    for members, start in zip(np.split(order, ends[:-1]), ends - counts, strict=True):
        # the place of each row among the members; outside of them where it is none
        nearest = nearest_rows(X, known[members], n_neighbors, place - start)
        found.append(members.astype(np.int32)[nearest])
    return found


def nearest_rows(X: Any, Y: Any, k: int, own: Array) -> Array:
    """Numbers (n_samples, min(k, n_known)) of the rows of Y nearest to each row of X.

    Many distances between dense rows are found in float32, at half the cost. Where two of the
    k + 1 smallest differ by no more than the error that these can have, the row is searched for
    again in float64: the result is that of float64.

    Parameters
    ----------
    X, Y : array or sparse matrix (n_samples, n_features), (n_known, n_features)
    k : int
    own : array (n_samples,)
        Number of each row of X in Y, which comes last; any other number where it is not in Y.
    """
    n_samples, n_known = X.shape[0], Y.shape[0]
    k = min(k, n_known)
    if sp.issparse(X) or sp.issparse(Y) or n_samples * n_known < MIN_SINGLE_DISTANCES:
        return _smallest_distances(X, Y, squared_norms(Y), k, own)[1]
    found, doubtful = _nearest_in_single(X, Y, k, own)
    at = np.flatnonzero(doubtful)
    found[at] = _smallest_distances(X[at], Y, squared_norms(Y), k, own[at])[1]
    return found


def _nearest_in_single(X: Array, Y: Array, k: int, own: Array) -> tuple[Array, Array]:
    """`nearest_rows` found in float32, and for which rows it may differ from float64.

    From the mean of Y and in units of its longest row, so that squares neither overflow nor lose
    digits to an offset.
    """
    centre = Y.mean(axis=0)
    known = Y - centre
    norms = squared_norms(known)
    scale = float(norms.max()) ** 0.5 or 1.0
    known = (known / scale).astype(np.float32)
    new = np.empty(X.shape, np.float32)
    lengths = np.empty(len(X))
    for block in gen_batches(len(X), MAX_BLOCK_COLUMNS):
        part = (X[block] - centre) / scale
        lengths[block] = np.sqrt(squared_norms(part))
        new[block] = part
    with np.errstate(over="ignore", invalid="ignore"):
        found = _smallest_distances(new, known, (norms / scale**2).astype(np.float32), k + 1, own)
    # a product of d terms is off by no more than d u times the lengths, and its terms by 2 u
    error = (X.shape[1] + 4) * np.finfo(np.float32).eps / 2 * (2 * lengths + 1)
    gaps = np.diff(found.values.astype(np.float64), axis=1)
    # not "gaps <= ...": what is not a number is in doubt, too
    return found.columns[:, :k], ~np.all(gaps > 2 * error[:, None], axis=1)


def _smallest_distances(X: Any, Y: Any, norms: Array, k: int, own: Array) -> SmallestEntries:
    """The k smallest ``‖y‖² - 2 x·y`` of each x, ascending, block by block in the dtype of X."""
    n_samples, n_known = X.shape[0], Y.shape[0]
    columns = list(gen_batches(n_known, MAX_BLOCK_COLUMNS))
    size = max(1, MAX_DISTANCES // min(n_known, MAX_BLOCK_COLUMNS))

    def search(block: slice) -> SmallestEntries:
        twice, place = -2 * X[block], own[block]
        parts = []
        for part in columns:
            D = twice @ Y[part].T
            D = D.toarray() if sp.issparse(D) else D
            D += norms[part]
            here = np.flatnonzero((place >= part.start) & (place < part.stop))
            D[here, place[here] - part.start] = np.finfo(D.dtype).max  # farther than any other
            found = smallest_entries(D, k)
            parts.append(found._replace(columns=found.columns + part.start))
        return parts[0] if len(parts) == 1 else _smallest_of_parts(parts, k)

    if n_samples == 0:
        return SmallestEntries(np.empty((0, k)), np.empty((0, k), dtype=int))
    blocks = list(gen_batches(n_samples, size))
    results = map_in_threads(search, blocks, n_samples * n_known * X.shape[1])
    return SmallestEntries(*(np.concatenate(parts) for parts in zip(*results, strict=True)))


def _smallest_of_parts(parts: Sequence[SmallestEntries], k: int) -> SmallestEntries:
    """The k smallest of those of several parts; of equals the one of the first part."""
    values, columns = (np.hstack(entries) for entries in zip(*parts, strict=True))
    order = np.argsort(values, axis=1, kind="stable")[:, :k]
    return SmallestEntries(*(np.take_along_axis(A, order, axis=1) for A in (values, columns)))


def averaging_weights(neighbours: Array, rows: Array) -> Array:
    """The share of each neighbour in the mean of those of its row.

    A row that is among its own neighbours only fills the list, unless it is alone: then it is its
    own mean.
    """
    counts = (neighbours != rows[:, None]).sum(axis=1)
    weights = np.where(neighbours == rows[:, None], 0.0, 1.0 / np.maximum(counts, 1)[:, None])
    weights[counts == 0, 0] = 1.0
    return weights


def averaging_matrix(neighbours: Array, rows: Array, n_known: int) -> Any:
    """Sparse matrix (n_rows, n_known) that averages the neighbours of each of the `rows`."""
    weights = averaging_weights(neighbours, rows)
    starts = np.arange(0, neighbours.size + 1, neighbours.shape[1])
    return sp.csr_array((weights.ravel(), neighbours.ravel(), starts), (len(rows), n_known))
