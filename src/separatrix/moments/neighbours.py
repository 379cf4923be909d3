"""Nearest neighbours of each class, by blocks of products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

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

MIN_SINGLE_DISTANCES = 1 << 20
"""Distances from which they are found in float32 first, and only in doubt in float64: 1.4 times as
fast from 10⁶ distances on (``python -m benchmarks.neighbours``)."""

N_SPARE = 3
"""Rows beyond the k nearest in float32 among which those of float64 are looked for."""


def class_neighbours(
    X: Any,
    codes: Array,
    n_neighbors: int,
    among: Any = None,
    own: Array | None = None,
    weights: Array | None = None,
) -> list[Array]:
    """For each class, the rows of it that are nearest to each row, the nearest first.

    Distances come from products of blocks of rows. A row is not its own neighbour; where its class
    has no other rows left, it stands at the end of its own list to fill it.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        Centred rows, or rows near the origin.
    codes : array (n_known,)
        Class of each row that may be a neighbour.
    n_neighbors : int
        k; a class of fewer rows gives all it has.
    among : array or sparse matrix (n_known, n_features), optional
        Rows that may be neighbours; X itself by default.
    own : array (n_samples,), optional
        Numbers of the rows of X in `among`, where they are some of these.
    weights : array (n_known,), optional
        Positive weights: there are as many neighbours as have the weight k for certain.

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
    if weights is not None:
        n_neighbors = _count_for_weight(n_neighbors, codes, weights)
    counts = np.bincount(codes)
    order = np.argsort(codes, kind="stable")
    place = np.full(X.shape[0], -1) if own is None else np.argsort(order)[own]
    ends = np.cumsum(counts)
    neighbours = []
    for members, start in zip(np.split(order, ends[:-1]), ends - counts, strict=True):
        # the place of each row among the members; outside of them where it is none
        nearest = nearest_rows(X, known[members], n_neighbors, place - start)
        neighbours.append(members.astype(np.int32)[nearest])
    return neighbours


def _count_for_weight(weight: float, codes: Array, weights: Array) -> int:
    """How many rows of any class, the row itself excluded, have this weight for certain."""
    lightest = [np.cumsum(np.sort(weights[codes == j])) for j in range(int(codes.max()) + 1)]
    # one more than the rows before: any that number of rows have the weight together
    return max(1, *(int(np.searchsorted(sums, weight)) + 1 for sums in lightest))


def nearest_rows(X: Any, Y: Any, k: int, own: Array) -> Array:
    """Numbers (n_samples, min(k, n_known)) of the rows of Y nearest to each row of X.

    Many distances between dense rows are found in float32, at half the cost. Where two of the
    k + 1 smallest differ by at most the error that these can have, the nearest ones are
    compared again in float64, or all of them: the result is that of float64.

    Parameters
    ----------
    X, Y : array or sparse matrix (n_samples, n_features), (n_known, n_features)
    k : int
    own : array (n_samples,)
        Number of each row of X in Y, which comes last; any other number where it is not in Y.
    """
    n_samples, n_known = X.shape[0], Y.shape[0]
    if sp.issparse(X) or sp.issparse(Y) or n_samples * n_known < MIN_SINGLE_DISTANCES:
        return _smallest_distances(X, Y, squared_norms(Y), k, own)[1]
    new, known = SingleRows.of(X, Y), SingleRows.of(Y, Y)
    with np.errstate(over="ignore", invalid="ignore"):
        near = _smallest_distances(new.rows, known.rows, known.norms, k + N_SPARE, own)
    return _settle(near, X, Y, k, own, new.errors)


class SingleRows(NamedTuple):
    """Rows in float32, from the mean of known rows and in units of the longest of these.

    So squares neither overflow nor lose digits to an offset.

    Attributes
    ----------
    rows : array of float32 (n_samples, n_features)
    norms : array of float32 (n_samples,)
        Their squared lengths.
    errors : array (n_samples,)
        Bounds of the error of ``‖y‖² - 2 x·y`` for a known row y.
    """

    rows: Array
    norms: Array
    errors: Array

    @classmethod
    def of(cls, X: Array, known: Array) -> SingleRows:
        """Rows X in the units of known rows."""
        centre = known.mean(axis=0)
        parts = _slices(len(known), MAX_BLOCK_COLUMNS)
        longest = max(float(squared_norms(known[part] - centre).max()) for part in parts)
        scale = longest**0.5 or 1.0
        rows, norms = np.empty(X.shape, np.float32), np.empty(len(X))
        for block in _slices(len(X), MAX_BLOCK_COLUMNS):
            part = (X[block] - centre) / scale
            norms[block] = squared_norms(part)
            rows[block] = part
        # a product of d terms is off by at most d u times the lengths, and its terms by 2 u
        unit = np.finfo(np.float32).eps / 2
        errors = (X.shape[1] + 4) * unit * (2 * np.sqrt(norms) + 1)
        return cls(rows, norms.astype(np.float32), errors)


def _settle(near: SmallestEntries, X: Array, Y: Array, k: int, own: Array, errors: Array) -> Array:
    """The k nearest rows in float64, from the nearest ones in float32 and some more."""
    k = min(k, len(Y))
    columns = near.columns[:, :k].copy()
    values = near.values.astype(np.float64)
    # not "<=": what is not a number is in doubt, too
    doubtful = ~np.all(np.diff(values, axis=1)[:, :k] > 2 * errors[:, None], axis=1)
    # a row that float32 ranks behind the spare ones may be one of the k if the gap is small
    inside = values[:, -1] - values[:, k - 1] > 2 * errors
    if values.shape[1] == len(Y):
        inside[:] = True
    at = np.flatnonzero(doubtful & inside)
    size = max(1, MAX_DISTANCES // max(1, X.shape[1] * values.shape[1]))
    for block in _slices(len(at), size):
        rows = at[block]
        among = np.sort(near.columns[rows], axis=1)  # of equals the first comes first
        delta = Y[among] - X[rows][:, None]
        D = np.einsum("ijk,ijk->ij", delta, delta)
        D[among == own[rows][:, None]] = np.inf
        order = np.argsort(D, axis=1, kind="stable")[:, :k]
        columns[rows] = np.take_along_axis(among, order, axis=1)
    at = np.flatnonzero(doubtful & ~inside)
    columns[at] = _smallest_distances(X[at], Y, squared_norms(Y), k, own[at])[1]
    return columns


def _slices(n: int, size: int) -> list[slice]:
    """Slices of at most `size`; scikit-learn's function takes as long as a small search."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _shifted(found: SmallestEntries, start: int) -> SmallestEntries:
    return found._replace(columns=found.columns + start)


def _smallest_distances(X: Any, Y: Any, norms: Array, k: int, own: Array) -> SmallestEntries:
    """The k smallest ``‖y‖² - 2 x·y`` of each x, ascending, block by block in the dtype of X."""
    n_samples, n_known = X.shape[0], Y.shape[0]
    k = min(k, n_known)
    columns = _slices(n_known, MAX_BLOCK_COLUMNS)
    size = max(1, MAX_DISTANCES // min(n_known, MAX_BLOCK_COLUMNS))

    def search(block: slice) -> SmallestEntries:
        # ‖x‖² is the same for all y: ‖y‖² - 2 x·y gives the same order
        twice, place = -2 * X[block], own[block]
        parts = []
        for part in columns:
            D = twice @ Y[part].T
            D = D.toarray() if sp.issparse(D) else D
            D += norms[part]
            here = np.flatnonzero((place >= part.start) & (place < part.stop))
            D[here, place[here] - part.start] = np.finfo(D.dtype).max  # farther than any other
            parts.append(_shifted(smallest_entries(D, k), part.start))
        return _smallest_of_parts(parts, k)

    if n_samples == 0:
        return SmallestEntries(np.empty((0, k)), np.empty((0, k), dtype=int))
    blocks = _slices(n_samples, size)
    results = map_in_threads(search, blocks, n_samples * n_known * X.shape[1])
    return SmallestEntries(*(np.concatenate(parts) for parts in zip(*results, strict=True)))


def _smallest_of_parts(parts: Sequence[SmallestEntries], k: int) -> SmallestEntries:
    """The k smallest of those of several parts; of equals the one of the first part."""
    if len(parts) == 1:
        return parts[0]
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
