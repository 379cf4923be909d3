"""The shape in which series come: channels, lengths, gaps, orders of arrival, running units.

Inside, a series is one row of values in the order of time; the values of all channels at one time
are neighbours, so that the first t values of a row are those known at some time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from separatrix.linalg import Array

MIN_NORMALIZED_TIMES = 8
"""Shorter series are not tested for a normalisation over their whole length."""

MAX_NORMALIZED_ERROR = 1e-3
"""Largest mean, and difference of the standard deviation from 1, of a normalised series."""

MIN_RUNNING_SHARE = 1e-10
"""Variance so far, as a share of the mean square so far, below which it is rounding."""


# Channels and lengths ----------------------------------------------------------------------------


class SeriesTable(NamedTuple):
    """Series as rows of a table, and the number of channels that their form states, or None."""

    rows: Any
    n_channels: int | None


def tabulate_series(X: Any) -> SeriesTable:
    """Series as rows: those of several channels time after time, shorter ones with NaN at the end.

    Parameters
    ----------
    X : array (n, n_times), or (n, n_channels, n_times), or list of series of unequal lengths
        A series of a list has the shape (n_times,) or (n_channels, n_times). Anything else is
        returned as it is.

    Examples
    --------
    >>> tabulate_series(np.array([[[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]]]))
    SeriesTable(rows=array([[ 1., 10.,  2., 20.,  3., 30.]]), n_channels=2)
    >>> tabulate_series([[1.0, 2.0], [3.0]]).rows
    array([[ 1.,  2.],
           [ 3., nan]])
    """
    if isinstance(X, list | tuple) and _are_ragged(X):
        X = _pad_series(X)
    if isinstance(X, np.ndarray) and X.ndim == 3:
        n, n_channels, n_times = X.shape
        return SeriesTable(X.swapaxes(1, 2).reshape(n, n_times * n_channels), n_channels)
    return SeriesTable(X, None)


def _are_ragged(X: Any) -> bool:
    """Whether a list holds numeric series, and not all of the same shape."""
    try:
        shapes = {np.asarray(one, dtype=np.float64).shape for one in X}
    except (TypeError, ValueError):
        return False
    return len(shapes) > 1 and all(len(shape) in (1, 2) for shape in shapes)


def _pad_series(X: Any) -> Array:
    parts = [np.asarray(one, dtype=np.float64) for one in X]
    if len({part.shape[:-1] for part in parts}) > 1:
        shapes = sorted({part.shape for part in parts})
        raise ValueError(
            f"X has series of the shapes {shapes[:5]}: all must have the same channels, "
            "(n_channels, n_times) or (n_times,)"
        )
    longest = max(part.shape[-1] for part in parts)
    rows = np.full((len(parts), *parts[0].shape[:-1], longest), np.nan)
    for row, part in zip(rows, parts, strict=True):
        row[..., : part.shape[-1]] = part
    return rows


def stack_channels(rows: Array, n_channels: int) -> Array:
    """Rows as series (n, n_times), or (n, n_channels, n_times) where there are several channels.

    Examples
    --------
    >>> stack_channels(np.array([[1.0, 10.0, 2.0, 20.0]]), 2)
    array([[[ 1.,  2.],
            [10., 20.]]])
    """
    if n_channels == 1:
        return rows
    return rows.reshape(len(rows), -1, n_channels).swapaxes(1, 2)


def check_channels(n_features: int, in_rows: int | None, stated: int) -> int:
    """The number of channels, of which the form of the rows and the parameter must agree."""
    n_channels = stated if in_rows is None else in_rows
    if in_rows is not None and stated not in (1, in_rows):
        raise ValueError(f"n_channels={stated}, but X has {in_rows} channels")
    if n_features % n_channels:
        raise ValueError(
            f"n_channels={n_channels} does not divide the {n_features} columns of X: each time "
            "has one column for each channel"
        )
    return n_channels


def mask_beyond(rows: Array, lengths: ArrayLike, n_channels: int) -> Array:
    """Rows with NaN after the first ``lengths`` times, whatever stands there."""
    given, n_times = np.asarray(lengths), rows.shape[1] // n_channels
    whole = given.shape == (len(rows),) and np.issubdtype(given.dtype, np.integer)
    if not whole or (given < 0).any() or (given > n_times).any():
        raise ValueError(
            f"lengths={given.tolist() if given.size < 10 else given.shape} must have one whole "
            f"number between 0 and {n_times} for each of the {len(rows)} series"
        )
    return np.where(np.arange(rows.shape[1]) < given[:, None] * n_channels, rows, np.nan)


def count_leading(rows: Array) -> Array:
    """The place after the last value of each row: later values have not come.

    Examples
    --------
    >>> count_leading(np.array([[1.0, np.nan, 2.0, np.nan], [np.nan, np.nan, np.nan, np.nan]]))
    array([3, 0])
    """
    known = ~np.isnan(rows)
    last = rows.shape[1] - known[:, ::-1].argmax(axis=1)
    return np.where(known.any(axis=1), last, 0)


def checkpoint_times(n_values: int, n_checkpoints: int, n_channels: int = 1) -> Array:
    """Equidistant numbers of leading values, the last of which comes before the end.

    Examples
    --------
    >>> checkpoint_times(60, 4)
    array([15, 30, 45])
    >>> checkpoint_times(60, 4, n_channels=6)
    array([12, 30, 48])
    """
    shares = np.arange(1, n_checkpoints) / n_checkpoints
    times = n_channels * np.unique(np.rint(shares * n_values / n_channels).astype(int))
    return times[(times > 0) & (times < n_values)]


# Gaps and orders ---------------------------------------------------------------------------------


class Arrival(NamedTuple):
    """The order in which the features of some rows come, and how many of them are known when.

    Attributes
    ----------
    order : array of int (d,)
        Features in the order in which they come; those that are missing are the last ones.
    counts : array of int (d + 1,)
        Number of features that are known after 0, 1, … d of them were due.
    """

    order: Array
    counts: Array

    def known_after(self, t: int) -> Array:
        """The features (d,) that are known when t were due."""
        known = np.zeros(len(self.order), dtype=bool)
        known[self.order[: self.counts[t]]] = True
        return known


def group_patterns(observed: Array) -> Iterator[tuple[Array, Array]]:
    """Numbers of the rows of which the same features are observed, and these features."""
    patterns, members, counts = np.unique(
        observed, axis=0, return_inverse=True, return_counts=True
    )
    order = np.argsort(members.ravel(), kind="stable")
    yield from zip(np.split(order, np.cumsum(counts)[:-1]), patterns, strict=True)


def group_arrivals(rows: Array, lengths: Array) -> Iterator[tuple[Array, Arrival | None]]:
    """Numbers of the rows that miss the same values, and how the others come; None without gaps.

    Parameters
    ----------
    rows : array (n, d)
        NaN for values that are missing or have not come.
    lengths : array of int (n,)
        How many values were due so far.
    """
    missing = np.isnan(rows) & (np.arange(rows.shape[1]) < lengths[:, None])
    for at, pattern in group_patterns(~missing):
        places = np.argsort(~pattern, kind="stable")
        arrival = Arrival(places, np.append(0, np.cumsum(pattern)))
        yield at, None if pattern.all() else arrival


def arrange(rows: Array, arrival: Arrival | None) -> Array:
    """The columns of rows in the order in which they arrive."""
    return rows if arrival is None else rows[:, arrival.order]


# Running units -----------------------------------------------------------------------------------


def normalize_running(rows: Array, n_channels: int = 1) -> Array:
    """Each value less the mean of the values so far, over their standard deviation.

    Nothing that is still to come is used, so that a series in progress gets the same values as
    when it is complete. Channels have units of their own; missing values stay missing.

    Examples
    --------
    >>> normalize_running(np.array([[3.0, 5.0, 4.0]]))
    array([[0., 1., 0.]])
    """
    n, d = rows.shape
    values = rows.reshape(n, d // n_channels, n_channels)
    known = ~np.isnan(values)
    # differences from the first known value keep the digits that a common offset would take
    first = np.take_along_axis(values, known.argmax(axis=1)[:, None], axis=1)
    steps = np.where(known, values - first, 0.0)
    counts = np.maximum(np.cumsum(known, axis=1), 1)
    mean = np.cumsum(steps, axis=1) / counts
    square = np.cumsum(steps**2, axis=1) / counts
    variance = square - mean**2
    varies = variance > MIN_RUNNING_SHARE * square
    normalized = np.where(varies, (steps - mean) / np.sqrt(np.where(varies, variance, 1.0)), 0.0)
    return np.where(known, normalized, np.nan).reshape(n, d)


def is_normalized(rows: Array, n_channels: int = 1) -> bool:
    """Whether every series has mean 0 and standard deviation 1, as if divided by its own.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((5, 20)).cumsum(axis=1)
    >>> is_normalized(rows)
    False
    >>> is_normalized((rows - rows.mean(1, keepdims=True)) / rows.std(1, keepdims=True))
    True
    """
    n_times = rows.shape[1] // n_channels
    if n_times < MIN_NORMALIZED_TIMES or np.isnan(rows).any():
        return False
    values = rows.reshape(len(rows), n_times, n_channels)
    std = values.std(axis=1)
    # with the divisor n or n - 1
    off = np.minimum(abs(std - 1), abs(std * np.sqrt(n_times / (n_times - 1)) - 1))
    centred = bool((abs(values.mean(axis=1)) < MAX_NORMALIZED_ERROR).all())
    return centred and bool((off < MAX_NORMALIZED_ERROR).all())
