"""Series in tables: channels that the names of columns tell, and one line for each value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from separatrix.linalg import Array

MAX_TIMES = 2.0
"""Distinct times, in lengths of the longest series, up to which they are times of one grid."""

NUMBERED = re.compile(r"^(.*?)[_.\- ]?(\d+)$")
"""A name that ends with a number: ``acc_12``, ``acc12``, ``acc.x 12``."""

PICTURE_PLACE = re.compile(r"[_.\- ]\d+$")
"""What would be a channel in ``pixel_0_12``: places in a picture, and no times."""


class ChannelBlocks(NamedTuple):
    """Columns of several channels.

    Attributes
    ----------
    channels : list of str
        Text before the numbers.
    order : array of int (n_columns,)
        Columns time after time, all channels of a time together.
    """

    channels: list[str]
    order: Array


def find_channels(names: Sequence[str]) -> ChannelBlocks | None:
    """The channels that names of columns state, or None where they state one or nothing.

    Raises where some channels have other times than others, which no rule can put in order.

    Examples
    --------
    >>> found = find_channels(["acc_0", "acc_1", "gyro_0", "gyro_1"])
    >>> found.channels, found.order.tolist()
    (['acc', 'gyro'], [0, 2, 1, 3])
    >>> find_channels(["t0", "t1", "t2"]) is None
    True
    """
    matches = [NUMBERED.match(name) for name in names]
    if not all(matches) or len(names) < 4:
        return None
    parts = [(m.group(1), int(m.group(2))) for m in matches if m]
    channels = list(dict.fromkeys(channel for channel, _ in parts))
    times = {channel: sorted(t for c, t in parts if c == channel) for channel in channels}
    first = times[channels[0]]
    if len(channels) == 1 or len(first) < 2 or all(PICTURE_PLACE.search(c) for c in channels):
        return None
    other = next((c for c in channels if times[c] != first), None)
    if other is not None:
        raise ValueError(
            f"columns are named as channels {', '.join(map(repr, channels[:5]))}, but "
            f"{channels[0]!r} has {len(first)} times and {other!r} others ({len(times[other])}): "
            "give an array (n_samples, n_channels, n_times), or rename the columns"
        )
    place = {part: i for i, part in enumerate(parts)}
    order = [place[channel, t] for t in first for channel in channels]
    return ChannelBlocks(channels, np.array(order))


class LongSeries(NamedTuple):
    """Series from a table with one line for each time.

    Attributes
    ----------
    X : data frame
        One row for each series; columns are named by value and time, as `find_channels` reads
        them. NaN where a series has no value.
    y : array (n,) or None
    groups : array (n,) or None
    """

    X: Any
    y: Array | None
    groups: Array | None


def from_long(
    table: Any,
    *,
    series: str,
    at: str,
    target: str | None = None,
    group: str | None = None,
) -> LongSeries:
    """Series of a table that has a line for each time, for `EarlyClassifier`.

    Times that many series share are columns, and a series without one of them has a gap there.
    Where nearly each series has times of its own, the first values of all series form the first
    column, and so on.

    Parameters
    ----------
    table : data frame
        All columns but the named ones are values, a channel each.
    series, at : str
        Columns that name the series of a line, and its time.
    target, group : str, optional
        Columns of labels and groups, the same in all lines of a series.

    Examples
    --------
    >>> import pandas as pd
    >>> lines = pd.DataFrame({"who": ["a", "a", "b"], "day": [1, 2, 1],
    ...                       "pulse": [60.0, 62.0, 80.0], "ill": [0, 0, 1]})
    >>> found = from_long(lines, series="who", at="day", target="ill")
    >>> found.X.columns.tolist(), found.y
    (['pulse_0', 'pulse_1'], array([0, 1]))
    """
    import pandas as pd

    named = [name for name in (series, at, target, group) if name is not None]
    missing = [name for name in named if name not in table.columns]
    if missing:
        raise ValueError(f"the table has no column {missing[0]!r}: {list(table.columns)[:10]}")
    if table[[series, at]].isna().any(axis=None):
        raise ValueError(f"{series!r} and {at!r} must be known in every line")
    twice = table.duplicated([series, at])
    if twice.any():
        line = table.loc[twice, [series, at]].astype(object).iloc[0].tolist()
        raise ValueError(f"series {line[0]!r} has two lines at {at}={line[1]}: leave one out")
    ordered = table.sort_values([series, at], kind="stable")
    rank = ordered.groupby(series, sort=False).cumcount()
    shared = ordered[at].nunique() <= MAX_TIMES * (rank.max() + 1)
    step = ordered[at].rank(method="dense").astype(int) - 1 if shared else rank
    values = [name for name in table.columns if name not in named]
    wide: dict[str, Any] = {}
    for name in values:
        part = ordered.assign(step=step).pivot(index=series, columns="step", values=name)
        wide |= {f"{name}_{t}": part[t] for t in part.columns}
    constant: dict[str, Any] = {}
    for name in (target, group):
        if name is None:
            continue
        of_series = ordered.groupby(series)[name]
        several = of_series.nunique(dropna=False)
        if (several > 1).any():
            raise ValueError(
                f"series {several.idxmax()!r} has several values of {name!r}: it must be the same "
                "in all lines of a series"
            )
        constant[name] = of_series.first().to_numpy()
    y = None if target is None else constant[target]
    groups = None if group is None else constant[group]
    return LongSeries(pd.DataFrame(wide), y, groups)
