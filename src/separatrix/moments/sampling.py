"""Some rows of a Dask collection, drawn in one pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from separatrix.linalg import Array
from separatrix.moments.blocks import Blocks, Summed
from separatrix.moments.dask import labelled_blocks
from separatrix.moments.labelled import LabelledRows

MAX_ROWS_PER_BLOCK = 1 << 32
"""The number of a row in a collection is that of its block times this, plus its place there."""


class Sample(NamedTuple):
    """Rows that were drawn, with their random numbers: the smallest of a class are kept.

    Attributes
    ----------
    X : array or sparse matrix (n_rows, n_features)
    labels, draws, numbers : array (n_rows,)
        Labels, random numbers, and the numbers of the rows in the collection.
    """

    X: Any
    labels: Array
    draws: Array
    numbers: Array

    def rows(self, chosen: Array) -> Sample:
        """The chosen ones of them."""
        return Sample(*(part[chosen] for part in self))

    def ranks(self) -> tuple[Array, Array]:
        """The class of each row, and the number of rows of its class with smaller draws."""
        _, codes = np.unique(self.labels, return_inverse=True)
        order = np.lexsort((self.draws, codes))
        starts = np.searchsorted(codes[order], codes)
        return codes, np.argsort(order) - starts

    def smallest(self, most: int | Mapping[Any, int]) -> Sample:
        """The rows of smallest draws, `most` of each class."""
        codes, ranks = self.ranks()
        if not isinstance(most, Mapping):
            return self.rows(ranks < most)
        by_class = np.array([most[label] for label in np.unique(self.labels).tolist()])
        return self.rows(ranks < by_class[codes])


def subsample(
    X: Any, y: Any = None, n_samples: int = 10_000, *, random_state: Any = None
) -> tuple[Any, Array]:
    """Some rows of a Dask collection, in memory, with the same share of every class.

    For methods that look at rows together, by neighbours, kernels or margins: fit them to these
    rows, and let them project or classify the whole collection. One pass; of each class at most
    `n_samples` rows are held on the way.

    Parameters
    ----------
    X, y
        As to `ClassMoments.from_data`.
    n_samples : int
        Number of rows; every class has at least one.
    random_state : int, RandomState or None
        Which rows are taken, given how they are split into blocks.

    Returns
    -------
    X : array, sparse matrix or data frame (n_samples, n_features)
        Rows in the order of the collection; a data frame where that is one.
    y : array (n_samples,)
        Their labels.

    Examples
    --------
    >>> import dask.array as da
    >>> from separatrix.moments import subsample
    >>> X, y = da.random.random((1000, 3), chunks=(100, 3)), da.arange(1000, chunks=100) % 4
    >>> rows, labels = subsample(X, y, 50, random_state=0)
    >>> rows.shape, np.unique(labels, return_counts=True)[1].tolist()
    ((50, 3), [13, 13, 12, 12])
    """
    if n_samples < 1:
        raise ValueError(f"n_samples={n_samples} must be at least 1")
    seed = int(check_random_state(random_state).randint(2**31 - 1))
    drawn = draw_from_blocks(labelled_blocks(X, y), n_samples, seed)
    sample, counts = drawn.summary
    wanted = _allot_rows(np.array(list(counts.values())), n_samples)
    sample = sample.smallest(dict(zip(counts, wanted.tolist(), strict=True)))
    rows = sample.X
    if drawn.names is not None and not sp.issparse(rows):
        from pandas import DataFrame

        rows = DataFrame(rows, columns=drawn.names)
    return rows, sample.labels


def draw_from_blocks(blocks: Blocks, most: int | Mapping[Any, int], seed: int) -> Summed:
    """A `Sample` of all rows, and how many rows each class has, in one pass.

    Parameters
    ----------
    blocks : Blocks
    most : int, or a mapping of labels to int
        Number of rows to draw of each class.
    seed : int
    """
    draw, join = partial(_draw_from_block, most, seed), partial(_join_samples, most)
    return blocks.sum_up(draw, join, numbered=True)


def _draw_from_block(
    most: int | Mapping[Any, int], seed: int, block: LabelledRows, number: int
) -> tuple[Sample, dict[Any, int]]:
    """A sample of one block, and how many rows each class has there."""
    draws = np.random.default_rng([seed, number]).random(len(block.codes))
    numbers = number * MAX_ROWS_PER_BLOCK + np.arange(len(block.codes))
    sample = Sample(block.X, block.labels, draws, numbers)
    counts = np.bincount(block.codes, minlength=len(block.classes)).tolist()
    return sample.smallest(most), dict(zip(block.classes.tolist(), counts, strict=True))


def _join_samples(
    most: int | Mapping[Any, int], parts: Sequence[Any]
) -> tuple[Sample, dict[Any, int]]:
    """One sample of several, of no more rows of a class than are wanted in all."""
    samples, tallies = zip(*parts, strict=True)
    rows = [sample.X for sample in samples]
    stacked = sp.vstack(rows, format="csr") if sp.issparse(rows[0]) else np.vstack(rows)
    others = (np.concatenate(column) for column in list(zip(*samples, strict=True))[1:])
    sample = Sample(stacked, *others)
    labels = sorted(set().union(*tallies))
    counts = {label: sum(tally.get(label, 0) for tally in tallies) for label in labels}
    return sample.smallest(most), counts


def _allot_rows(counts: Array, n_samples: int) -> Array:
    """Rows to take of each class: its share, rounded, at least one, at most all."""
    share = counts * min(1.0, n_samples / counts.sum())
    wanted = np.maximum(1, np.floor(share)).astype(int)
    short = max(0, min(n_samples, int(counts.sum())) - int(wanted.sum()))
    wanted[np.argsort(wanted - share, kind="stable")[:short]] += 1
    return wanted
