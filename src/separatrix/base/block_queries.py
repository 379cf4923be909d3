"""Rows of a Dask collection that stand for all, and their neighbours in all of its blocks.

A sample of rows is sent to the blocks. Each block answers with its rows that are nearest to them,
by distance and number; the nearest of all are found by joining such lists. Another pass adds up
the neighbours themselves. The traffic is bounded by the sample, however many rows there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from separatrix.base.queries import MIN_CLASS_QUERIES, Queries, seed_of
from separatrix.linalg import Array, squared_norms
from separatrix.moments.blocks import Blocks
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows, class_indicator, join_rows
from separatrix.moments.neighbours import averaging_weights, nearest_rows
from separatrix.moments.sampling import MAX_ROWS_PER_BLOCK, draw_from_blocks
from separatrix.selection import share_by_class


class Nearest(NamedTuple):
    """The nearest rows of a class, ascending; a row itself is farther than all others.

    Attributes
    ----------
    distances : array (n_asked, k)
        Squared distances.
    numbers : array (n_asked, k)
        Numbers of the rows in the collection.
    """

    distances: Array
    numbers: Array


class BlockQueries(NamedTuple):
    """Rows that stand for all those of a collection.

    Attributes
    ----------
    blocks : Blocks
        The collection.
    rows : LabelledRows
        The rows that were drawn, less the centre.
    queries : Queries
        Their numbers in the collection, their weights and groups.
    centre : array (n_features,)
        The mean of all rows, or zero for sparse ones.
    """

    blocks: Blocks
    rows: LabelledRows
    queries: Queries
    centre: Array

    @classmethod
    def draw(
        cls, blocks: Blocks, moments: ClassMoments, n_queries: int, source: Any
    ) -> BlockQueries:
        """About `n_queries` rows, drawn by class in one pass.

        Parameters
        ----------
        blocks : Blocks
        moments : ClassMoments
            Those of all rows.
        n_queries : int
        source : int, RandomState or None
            The `random_state` of the method.
        """
        classes, counts = moments.classes, moments.counts
        wanted = share_by_class(counts, n_queries, MIN_CLASS_QUERIES)
        most = dict(zip(classes.tolist(), wanted.tolist(), strict=True))
        sample, _ = draw_from_blocks(blocks, most, seed_of(source)).summary
        codes = np.searchsorted(classes, sample.labels)
        centre = np.zeros(moments.n_features) if sp.issparse(sample.X) else moments.mean
        rows = LabelledRows(_less(sample.X, centre), codes, classes)
        return cls(blocks, rows, Queries.of(sample.numbers, codes, counts), centre)

    def nearest(self, k: int, *, own_class: bool = False) -> list[Nearest]:
        """For each class its k rows that are nearest to each of the rows, in one pass.

        Parameters
        ----------
        k : int
        own_class : bool
            Seek the neighbours of a row in its own class alone; otherwise in each.
        """
        everyone = np.arange(len(self.rows.codes))
        asked = [
            np.flatnonzero(self.rows.codes == c) if own_class else everyone
            for c in range(len(self.rows.classes))
        ]
        search = partial(
            _nearest_in_block, self.rows.X, self.queries.numbers, asked, k, self.centre
        )
        join = partial(_join_nearest, k)
        return self._sum_up(search, join)

    def means(self, nearest: Sequence[Nearest]) -> Array:
        """The mean (n_classes, n_queries, n_features) of the nearest rows, in another pass."""
        numbers = [found.numbers for found in nearest]
        shares = [averaging_weights(found, self.queries.numbers) for found in numbers]
        add_up = partial(_add_up_neighbours, numbers, shares, self.centre)
        at, sums = self._sum_up(add_up, _join_sums)
        n_queries, n_features = self.rows.X.shape
        means = np.zeros((len(nearest) * n_queries, n_features))
        means[at] = sums
        return means.reshape(len(nearest), n_queries, n_features)

    def _sum_up(self, summarize: Any, together: Any) -> Any:
        classes = self.rows.classes
        return self.blocks.sum_up(summarize, together, classes=classes, numbered=True).summary


def gather_rows(blocks: Blocks, classes: Array) -> LabelledRows:
    """All rows of a collection in memory."""
    return blocks.sum_up(_whole, join_rows, classes=classes).summary


def _whole(block: LabelledRows) -> LabelledRows:
    return block


def _less(X: Any, centre: Array) -> Any:
    """Dense rows less the centre; sparse ones as they are."""
    return X if sp.issparse(X) else np.subtract(X, centre, dtype=np.float64)


def _nearest_in_block(
    X: Any,
    own: Array,
    asked: Sequence[Array],
    k: int,
    centre: Array,
    block: LabelledRows,
    number: int,
) -> list[Nearest]:
    """`BlockQueries.nearest` in one block, for the rows that are asked for each class."""
    known = _less(block.X, centre)
    here = np.where(own // MAX_ROWS_PER_BLOCK == number, own % MAX_ROWS_PER_BLOCK, -1)
    nearest = []
    for c, at in enumerate(asked):
        members = np.flatnonzero(block.codes == c)
        if not len(members):
            nearest.append(Nearest(np.zeros((len(at), 0)), np.zeros((len(at), 0), dtype=np.int64)))
            continue
        places = np.full(len(block.codes), -1)
        places[members] = np.arange(len(members))
        place = np.where(here[at] >= 0, places[here[at]], -1)
        near = nearest_rows(X[at], known[members], k, place)
        distances = np.stack([squared_norms(X[at] - known[members[n]]) for n in near.T], axis=1)
        distances[near == place[:, None]] = np.inf
        nearest.append(Nearest(distances, number * MAX_ROWS_PER_BLOCK + members[near]))
    return nearest


def _join_nearest(k: int, parts: Sequence[Sequence[Nearest]]) -> list[Nearest]:
    """The nearest rows of each class in several blocks; of equals the ones of the first."""
    joined = []
    for of_class in zip(*parts, strict=True):
        distances, numbers = (np.hstack(columns) for columns in zip(*of_class, strict=True))
        order = np.argsort(distances, axis=1, kind="stable")[:, :k]
        joined.append(Nearest(*(np.take_along_axis(A, order, 1) for A in (distances, numbers))))
    return joined


def _add_up_neighbours(
    numbers: Sequence[Array],
    shares: Sequence[Array],
    centre: Array,
    block: LabelledRows,
    number: int,
) -> tuple[Array, Array]:
    """Weighted sums of the neighbours in one block, and to which class and row they belong."""
    known = _less(block.X, centre)
    at, sums = [], []
    for c, (neighbours, weights) in enumerate(zip(numbers, shares, strict=True)):
        here = neighbours // MAX_ROWS_PER_BLOCK == number
        asked = np.flatnonzero(here.any(axis=1))
        starts = np.concatenate([[0], np.cumsum(here[asked].sum(axis=1))])
        places = neighbours[here] % MAX_ROWS_PER_BLOCK
        average = sp.csr_array((weights[here], places, starts), (len(asked), known.shape[0]))
        part = average @ known
        at.append(c * len(neighbours) + asked)
        sums.append(part.toarray() if sp.issparse(part) else part)
    return np.concatenate(at), np.concatenate(sums)


def _join_sums(parts: Sequence[tuple[Array, Array]]) -> tuple[Array, Array]:
    """The sums of several blocks, added where they belong to the same row."""
    at, sums = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    places, codes = np.unique(at, return_inverse=True)
    return places, class_indicator(codes, None, len(places), np.float64) @ sums


def check_unweighted(model: Any, rows: LabelledRows) -> None:
    """Raise for a block whose rows have weights."""
    if rows.weights is not None:
        raise ValueError(
            f"{type(model).__name__} takes sample_weight for rows in memory only: leave it out"
        )
