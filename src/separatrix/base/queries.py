"""Sums over all rows, estimated by some of them: local methods of very many rows.

Each row of a local method is compared with all others, which costs the square of their number.
Its matrices are means over rows, though, which a sample of rows estimates. The sample is dealt
into groups: the change of the directions when a group is left out gives their standard error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from separatrix._warnings import warn_caller
from separatrix.base.parameters import one_of, whole_number
from separatrix.linalg import Array, principal_angles, squared_norms
from separatrix.moments.labelled import LabelledRows, row_blocks
from separatrix.selection import draw_rows_by_class

MAX_EXACT_ROWS = 1 << 16
"""Rows up to which ``n_queries="auto"`` takes all."""

AUTO_QUERIES = 20_000
"""Rows that ``n_queries="auto"`` draws from more."""

N_GROUPS = 8
"""Groups of a sample."""

MIN_CLASS_QUERIES = 4 * N_GROUPS
"""Rows of a class that are drawn at least, or all it has."""

N_QUERIES = (one_of("auto", None), whole_number(MIN_CLASS_QUERIES))


DISTANCE_STEP = 1e-7
"""Distances from the mean, as shares of the largest, that count as one: far above the rounding of
a mean of rows in any order."""


def order_by_content(rows: LabelledRows, *, of_pairs: bool = False) -> Array:
    """Numbers of the rows in an order that does not depend on the one they came in.

    Class after class, by the distance from the mean, which stays when the data are moved, turned
    or stretched; of rows at one distance by their values. Equal rows of a class are next to each
    other. With `of_pairs` X holds the inner products of all pairs of the rows.

    Examples
    --------
    >>> rows = LabelledRows(np.array([[3.0], [1], [8], [0]]), np.array([1, 0, 0, 0]), np.arange(2))
    >>> order_by_content(rows).tolist()
    [1, 3, 2, 0]
    """
    X = rows.X
    with np.errstate(invalid="ignore", over="ignore"):  # NaN is refused later, by name
        mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        if of_pairs:
            squares = X.diagonal() - 2 * mean + mean.mean()
            X = np.sort(X.toarray() if sp.issparse(X) else X, axis=1)
        elif sp.issparse(X):
            squares = squared_norms(X) - 2 * (X @ mean) + mean @ mean
        else:
            blocks = row_blocks(*X.shape)
            squares = np.concatenate([squared_norms(X[block] - mean) for block in blocks])
        distances = np.sqrt(squares.clip(0.0))
        steps = np.round(distances / (DISTANCE_STEP * max(distances.max(), 1e-300)))
    weights = np.zeros(len(rows.codes)) if rows.weights is None else rows.weights
    return np.lexsort((weights, _hash_rows(X), steps, rows.codes))


def _hash_rows(X: Any) -> Array:
    """A number of 64 bits for each row, by its values and their places; exact in any order."""
    factors = np.random.default_rng(0).integers(1 << 62, size=X.shape[1], dtype=np.uint64) * 2 + 1
    if sp.issparse(X):
        bits = (X.data.astype(np.float64) + 0.0).view(np.uint64)
        sums = np.concatenate([[np.uint64(0)], np.cumsum(bits * factors[X.indices])])
        return sums[X.indptr[1:]] - sums[X.indptr[:-1]]
    hashes = np.empty(len(X), dtype=np.uint64)
    for block in row_blocks(*X.shape):
        bits = np.add(X[block], 0.0, dtype=np.float64, order="C").view(np.uint64)  # -0.0 is 0.0
        hashes[block] = bits @ factors
    return hashes


class Queries(NamedTuple):
    """Rows that stand for all.

    Attributes
    ----------
    numbers : array (n_queries,)
        Ascending numbers of the rows.
    weights : array (n_queries,)
        How many rows each stands for.
    groups : array (n_queries,)
        Group of each, from 0; each group has its share of every class.
    """

    numbers: Array
    weights: Array
    groups: Array

    @classmethod
    def of(cls, numbers: Array, codes: Array, counts: Array) -> Queries:
        """Rows of these numbers and classes, drawn from `counts` rows of each class."""
        drawn = np.bincount(codes, minlength=len(counts))
        # Horvitz-Thompson: a row drawn with probability p counts 1/p times
        weights = (counts / np.maximum(drawn, 1))[codes]
        groups = np.empty(len(numbers), dtype=int)
        # the rows of a class are in no order: dealing them round is drawing them
        groups[np.argsort(codes, kind="stable")] = np.arange(len(numbers)) % N_GROUPS
        return cls(numbers, weights, groups)

    @property
    def n_samples(self) -> int:
        """Number of the rows that they stand for."""
        return round(self.weights.sum())

    def members(self, group: int) -> Array:
        """Positions of the rows of a group among the queries."""
        return np.flatnonzero(self.groups == group)


def draw_queries(codes: Array, n_queries: int | str | None, source: Any) -> Queries | None:
    """Rows that stand for all, or None where all are taken.

    Parameters
    ----------
    codes : array (n_samples,)
        Classes.
    n_queries : int, "auto" or None
    source : int, RandomState or None
        The `random_state` of the method.

    Examples
    --------
    >>> queries = draw_queries(np.repeat([0, 1], [900, 600]), 100, 0)
    >>> len(queries.numbers), round(queries.weights.sum())
    (100, 1500)
    """
    n_drawn = count_queries(len(codes), n_queries)
    if n_drawn is None:
        return None
    numbers = draw_rows_by_class(codes, n_drawn, seed_of(source), MIN_CLASS_QUERIES)
    return Queries.of(numbers, codes[numbers], np.bincount(codes))


def count_queries(n_samples: float, n_queries: int | str | None) -> int | None:
    """About how many rows are drawn; None where all are taken."""
    if n_queries == "auto":
        n_queries = AUTO_QUERIES if n_samples > MAX_EXACT_ROWS else None
    return None if n_queries is None or int(n_queries) >= n_samples else int(n_queries)


def seed_of(source: Any) -> int:
    """A seed from the `random_state` of a method."""
    if isinstance(source, Integral):
        return int(source)
    return int(check_random_state(source).randint(2**31))


def warn_of_queries(estimator: Any, queries: Queries, angle: float) -> None:
    """Say that directions are estimated, where nobody asked for it."""
    if estimator.n_queries == "auto":
        warn_caller(
            f"{type(estimator).__name__} compared {len(queries.numbers)} of {queries.n_samples} "
            f"rows with all: the standard error of its subspace is {angle:.2g} degrees "
            "(angle_error_). Give n_queries a larger number for a smaller error, or None for all "
            "rows"
        )


class Estimate(NamedTuple):
    """A sum over all rows as a sample estimates it, and as it does without each of its groups."""

    whole: Array
    without: Sequence[Array]

    @classmethod
    def of_groups(cls, sums: Sequence[Array]) -> Estimate:
        """From the weighted sums over the groups, of which each has the same share of all rows."""
        whole, n = np.sum(sums, axis=0), len(sums)
        return cls(whole, [(whole - part) * (n / (n - 1)) for part in sums])

    def controlled(self, control: Estimate, total: Array) -> Estimate:
        """The same with less error, by another sum whose value over all rows is known.

        The error of the control is subtracted, times the factor that leaves the least change from
        group to group.

        Parameters
        ----------
        control : Estimate
            Another sum, estimated by the same rows.
        total : array
            Its value over all rows.
        """
        changes = [T - control.whole for T in control.without]
        own = [V - self.whole for V in self.without]
        alone = sum(float(np.sum(T**2)) for T in changes)
        joint = sum(float(np.sum(V * T)) for V, T in zip(own, changes, strict=True))
        # the regression of the groups on the control: the factor of least variance
        beta = joint / alone if alone > 0 else 0.0
        pairs = zip(self.without, control.without, strict=True)
        return Estimate(
            self.whole + beta * (total - control.whole),
            [V + beta * (total - T) for V, T in pairs],
        )


def jackknife_angle(W: Array, others: Iterable[Array], share: float) -> float:
    """Standard error, in degrees, of the subspace of the columns of W.

    Parameters
    ----------
    W : array (n_features, k)
        Directions of the whole sample.
    others : iterable of arrays (n_features, k)
        Those without each group.
    share : float
        Part of all rows that are in the sample.
    """
    if W.shape[1] in (0, W.shape[0]):
        return 0.0
    angles = np.array([principal_angles(W.T, other.T)[0] for other in others])
    # delete-a-group jackknife, times the share not drawn (finite population)
    variance = np.sum(angles**2) * (len(angles) - 1) / len(angles) * (1 - share)
    return min(90.0, float(np.degrees(np.sqrt(variance))))
