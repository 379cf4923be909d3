"""The splits of a comparison: drawn, given, by groups, in the order of time, with a test set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.model_selection import (
    BaseShuffleSplit,
    PredefinedSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d

from separatrix.evaluate.fold import RowSplit
from separatrix.linalg import Array
from separatrix.moments.labelled import LabelledRows
from separatrix.selection import GRID_FOLDS, keep_classes, random_splits


class SplitPlan(NamedTuple):
    """Splits, and how they were made.

    Attributes
    ----------
    parts : list of RowSplit
        Training and test rows of each.
    splitting : "random", "k-fold", "given", "test file" or "time"
        Where they come from.
    groups : array of int (n_samples,) or None
        The group of each row.
    group_names : tuple
        The groups, sorted.
    test_size : float or None
        Share held out in random splits.
    folds : int or None
        How many folds rows were dealt into.
    """

    parts: list[RowSplit]
    splitting: str
    groups: Array | None = None
    group_names: tuple[Any, ...] = ()
    test_size: float | None = None
    folds: int | None = None

    @property
    def unit(self) -> str:
        """The unit that is never on both sides of a split: "rows" or "groups"."""
        return "rows" if self.groups is None else "groups"

    @property
    def trains(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the training rows, where some rows neither train nor test."""
        n_rows = max(max(map(int, np.concatenate([p.train, p.test])), default=-1) + 1
                     for p in self.parts)  # fmt: skip
        if all(len(p.train) + len(p.test) == n_rows for p in self.parts):
            return ()
        return tuple(tuple(p.train.tolist()) for p in self.parts)


def plan_splits(
    data: LabelledRows, cv: Any, *, random_state: int, groups: ArrayLike | None, n_tests: int = 0
) -> SplitPlan:
    """The splits that the arguments of `compare` ask for; raise for those that cannot be used.

    Parameters
    ----------
    data : LabelledRows
        All rows; the last `n_tests` of them are a separate test set.
    cv, random_state, groups
        As in `compare`.
    n_tests : int
        Rows of the test set; 0 where there is none.
    """
    n_rows, codes = len(data.codes), data.codes
    numbers, names = check_groups(groups, data, n_tests)
    if n_tests:
        if cv is not None:
            raise ValueError("cv and test both say how rows are split: give one of them")
        pairs = [(np.arange(n_rows - n_tests), np.arange(n_rows - n_tests, n_rows))]
        return _as_plan(pairs, "test file", codes, numbers, names)
    if cv is None:
        cv = RandomShares()
    if isinstance(cv, type):
        raise ValueError(f"cv={cv!r} is a class: give a splitter, {cv.__name__}()")
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        cv = _deal_folds(int(cv), codes, numbers, random_state)
    if isinstance(cv, RandomShares) and cv.random_state is None:
        cv = RandomShares(cv.n_splits, test_size=cv.test_size, random_state=random_state)
    times = _times_of(cv, n_rows)
    pairs = _take_splits(cv, data, numbers)
    if times is not None:
        _check_past(pairs, codes)
    plan = _as_plan(pairs, _name_splitting(cv), codes, numbers, names, times)
    if isinstance(cv, RandomShares):
        return plan._replace(test_size=cv.test_size)
    if isinstance(cv, StratifiedKFold | StratifiedGroupKFold):
        return plan._replace(folds=cv.get_n_splits())
    return plan


def _name_splitting(cv: Any) -> str:
    kinds: dict[str, tuple[type, ...]] = {
        "random": (RandomShares,),
        "k-fold": (StratifiedKFold, StratifiedGroupKFold),
        "time": (InOrder, TimeSeriesSplit),
    }
    return next((name for name, kind in kinds.items() if isinstance(cv, kind)), "given")


def _deal_folds(n_folds: int, codes: Array, groups: Array | None, random_state: int) -> Any:
    n_units = len(codes) if groups is None else groups.max() + 1
    n_most = min(int(np.bincount(codes).max()), n_units)
    if not 2 <= n_folds <= n_most:
        raise ValueError(
            f"cv={n_folds} must be a number of folds from 2 to {n_most}, so that a class "
            "has a row in each, or a splitter"
        )
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    return kind(n_folds, shuffle=True, random_state=random_state)


def _times_of(cv: Any, n_rows: int) -> Array | None:
    """The time of each row where splits are made in the order of time."""
    if isinstance(cv, TimeSeriesSplit):
        return np.arange(n_rows)
    if not isinstance(cv, InOrder):
        return None
    if len(cv.numbers) != n_rows:
        raise ValueError(f"times has {len(cv.numbers)} entries, but X has {n_rows} rows")
    return cv.numbers


def _as_plan(
    pairs: Iterable[tuple[Array, Array]],
    splitting: str,
    codes: Array,
    groups: Array | None,
    names: tuple[Any, ...],
    times: Array | None = None,
) -> SplitPlan:
    parts = []
    for i, (train, test) in enumerate(pairs):
        rows = np.asarray(train), np.asarray(test)
        _check_part(i, *rows, codes, groups)
        if times is None:
            parts.append(RowSplit(*rows, None if groups is None else groups[rows[0]]))
            continue
        past = rows[0][np.argsort(times[rows[0]], kind="stable")]
        together = times if groups is None else groups  # rows of one time are never cut apart
        parts.append(RowSplit(past, rows[1], together[past], TimeSeriesSplit(GRID_FOLDS)))
    return SplitPlan(parts, splitting, groups, names)


# Splitters ---------------------------------------------------------------------------------------


class RandomShares(BaseShuffleSplit):
    """Random splits that hold out a share of the rows of each class, whole groups where given.

    scikit-learn's `StratifiedShuffleSplit` refuses classes of one row, and its
    `GroupShuffleSplit` knows no classes. Here a class of one row, or of one group, is fitted to.
    Of each class, the rarest by groups first, groups are held out in random order until their
    rows are as near to the share as whole groups can be.

    Parameters
    ----------
    n_splits : int
    test_size : float
        Share of each class that is held out.
    random_state : int or None
        Source of the splits; where it is None, `compare` gives its own.

    Examples
    --------
    >>> groups = np.repeat([1, 2, 3, 4, 5, 6], 2)
    >>> splitter = RandomShares(1, test_size=0.3, random_state=0)
    >>> ((train, test),) = splitter.split(np.zeros((12, 1)), np.repeat([0, 1], 6), groups)
    >>> len(test), len(np.intersect1d(groups[train], groups[test]))
    (4, 0)
    """

    def __init__(
        self, n_splits: int = 10, *, test_size: float = 0.3, random_state: int | None = None
    ) -> None:
        if not isinstance(n_splits, Integral) or n_splits < 1:
            raise ValueError(f"n_splits={n_splits!r} must be a whole number of at least 1")
        if not isinstance(test_size, Real) or not 0 < test_size < 1:
            raise ValueError(
                f"test_size={test_size!r} must be a number between 0 and 1: the share of rows "
                "held out"
            )
        super().__init__(n_splits, test_size=test_size, random_state=random_state)

    def _iter_indices(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[Any]:
        codes = np.unique(y, return_inverse=True)[1]
        if groups is None:
            yield from random_splits(codes, self.n_splits, self.test_size, self.random_state)
            return
        numbers = np.unique(groups, return_inverse=True)[1]
        counts = np.zeros((numbers.max() + 1, codes.max() + 1))
        np.add.at(counts, (numbers, codes), 1)
        wanted = self.test_size * counts.sum(axis=0)
        rng = check_random_state(self.random_state)
        for _ in range(self.n_splits):
            held = _hold_out_groups(counts, wanted, rng.permutation(len(counts)))[numbers]
            yield np.flatnonzero(~held), np.flatnonzero(held)

    def __repr__(self) -> str:
        seed = "" if self.random_state is None else f", random_state={self.random_state}"
        return f"RandomShares({self.n_splits}, test_size={self.test_size}{seed})"


def _hold_out_groups(counts: Array, wanted: Array, order: Array) -> Array:
    """Which groups are held out, of those with these rows of each class."""
    held = np.zeros(len(counts), dtype=bool)
    trains, tests = counts.sum(axis=0), np.zeros(counts.shape[1])
    for c in np.argsort(np.count_nonzero(counts, axis=0), kind="stable"):
        for g in order[counts[order, c] > 0]:
            nearer = abs(tests[c] + counts[g, c] - wanted[c]) < abs(tests[c] - wanted[c])
            last = ((trains - counts[g] == 0) & (counts[g] > 0)).any()
            if held[g] or last or not (nearer or tests[c] == 0):
                continue
            held[g] = True
            trains, tests = trains - counts[g], tests + counts[g]
    return held


class InOrder:
    """Splits in the order of time: the past trains, and the next part tests.

    The later half is cut into `n_splits` parts of about the same size. Rows of one time are never
    cut apart, and rows need not be sorted, as they must for scikit-learn's `TimeSeriesSplit`.
    Rows of the past that share a group with the part that tests are left out.

    Parameters
    ----------
    times : array (n_samples,)
        When each row came: numbers, or dates.
    n_splits : int

    Examples
    --------
    >>> parts = InOrder([3, 1, 2, 4], 2).split(np.zeros((4, 1)))
    >>> [(train.tolist(), test.tolist()) for train, test in parts]
    [([1, 2], [0]), ([0, 1, 2], [3])]
    """

    def __init__(self, times: ArrayLike, n_splits: int = 10) -> None:
        self.numbers, self.n_splits = _check_times(times), n_splits

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of parts that test."""
        return len(split_times(self.numbers, self.n_splits))

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Array, Array]]:
        """Rows of the past, and rows of the next part."""
        for train, test in split_times(self.numbers, self.n_splits):
            if groups is not None:
                train = train[~np.isin(np.asarray(groups)[train], np.asarray(groups)[test])]
            yield train, test

    def __repr__(self) -> str:
        return f"InOrder(times, {self.n_splits})"


def split_times(times: Array, n_splits: int, first: float = 0.5) -> list[tuple[Array, Array]]:
    """Rows to train and to test with in the order of time.

    The rows from the share `first` on are cut into `n_splits` parts. Parts without a row, or
    without a past, are left out.
    """
    values = np.sort(times)
    ends = np.rint(np.linspace(first * len(values), len(values), n_splits + 1)).astype(int)
    starts = [values[end] for end in ends[:-1] if end < len(values)]
    cuts = [*dict.fromkeys(starts), None]
    found = []
    for begin, end in pairwise(cuts):
        test = times >= begin if end is None else (times >= begin) & (times < end)
        found.append((np.flatnonzero(times < begin), np.flatnonzero(test)))
    return [(train, test) for train, test in found if len(train) and len(test)]


# Groups and times --------------------------------------------------------------------------------


def check_groups(
    groups: ArrayLike | None, data: LabelledRows, n_tests: int = 0
) -> tuple[Array | None, tuple[Any, ...]]:
    """The group of each row as a number, and their names; rows of a test set are on their own."""
    if groups is None:
        return None, ()
    n_known = len(data.codes) - n_tests
    entries = column_or_1d(groups)
    if len(entries) != n_known:
        raise ValueError(f"groups has {len(entries)} entries, but X has {n_known} rows")
    _check_present("groups", entries)
    names, numbers = np.unique(entries.astype(str) if entries.dtype == object else entries,
                               return_inverse=True)  # fmt: skip
    if len(names) < 2:
        raise ValueError(
            f"groups has only one group, {names.tolist()[0]!r}: its rows cannot be on both sides "
            "of a split"
        )
    codes = data.codes[:n_known]
    for c, label in enumerate(data.classes.tolist()):
        mine = np.unique(numbers[codes == c])
        if len(mine) == 1:
            raise ValueError(
                f"all rows of the class {label!r} are of one group, {names.tolist()[mine[0]]!r}: "
                "with that group held out nothing is known of the class; leave the class out, or "
                "give groups so that it has two or more"
            )
    n_more = len(data.codes) - n_known
    numbers = np.concatenate([numbers, len(names) + np.arange(n_more)])
    return numbers, tuple(names.tolist()) + tuple(f"test row {i}" for i in range(n_more))


def _check_times(times: ArrayLike) -> Array:
    """The place of each time in their order."""
    entries = column_or_1d(times)
    _check_present("times", entries)
    try:
        entries = _read_dates(entries)
        values, numbers = np.unique(entries, return_inverse=True)
    except TypeError:
        raise ValueError("times has values that cannot be put in order: give numbers or dates") \
            from None  # fmt: skip
    if len(values) < 2:
        raise ValueError(f"times is {values.tolist()[0]!r} for all rows: there is no past")
    return numbers


def _read_dates(times: Array) -> Array:
    """Text as dates, since the alphabet is not the order of time; anything else as it is."""
    text = next((v for v in times.tolist() if isinstance(v, str)), None)
    if text is None:
        return times
    try:
        return times.astype("datetime64[us]")
    except ValueError:
        raise ValueError(
            f"times has text such as {text!r}, and not all of it is a date: give numbers, or "
            "dates in the form 2026-01-31 or 2026-01-31T08:30"
        ) from None


def _check_present(name: str, values: Array) -> None:
    missing = [
        i for i, v in enumerate(values.tolist())
        if v is None or v != v or (isinstance(v, str) and not v)
    ]  # fmt: skip
    if missing:
        raise ValueError(
            f"{name} has no value for {len(missing)} of {len(values)} rows (first: row "
            f"{missing[0]}): leave these rows out, or give each a value"
        )


def _check_past(pairs: Sequence[tuple[Array, Array]], codes: Array) -> None:
    if not pairs:
        raise ValueError("times has too few values for parts that follow each other")
    for i, (train, _) in enumerate(pairs):
        if len(np.unique(codes[train])) < 2:
            raise ValueError(
                f"in the order of time the {len(train)} rows before part {i + 1} of {len(pairs)} "
                "are of one class: nothing can be learned from them; ask for fewer splits, or "
                "leave out the time"
            )


# Splits that are given ---------------------------------------------------------------------------


def _take_splits(cv: Any, data: LabelledRows, groups: Array | None) -> list[Any]:
    """Pairs of training and test rows, from a splitter, a column or pairs of numbers of rows.

    A splitter that stratifies gets back a row of each class that would not be fitted to.
    """
    if hasattr(cv, "split"):
        X = np.zeros((len(data.codes), 1)) if sp.issparse(data.X) else data.X
        pairs = [(np.asarray(a), np.asarray(b)) for a, b in cv.split(X, data.codes, groups)]
        if isinstance(cv, InOrder | TimeSeriesSplit):
            return pairs
        for i, (train, test) in enumerate(pairs):
            _check_apart(i, train, test, groups)
        return keep_classes(pairs, data.codes, groups)
    if isinstance(cv, str):
        raise ValueError(
            f"cv={cv!r} must be a splitter, an array with the fold of each row, or a number of "
            "folds"
        )
    given = list(cv)
    if given and isinstance(given[0], tuple | list) and len(given[0]) == 2:
        return given
    return split_by_column(column_or_1d(cv), len(data.codes))


def split_by_column(column: Array, n_rows: int) -> list[tuple[Array, Array]]:
    """Splits that a value for each row names: "train" and "test", or the fold in which it tests.

    A row of fold -1 is in every training part.

    Examples
    --------
    >>> parts = split_by_column(np.array(["train", "test", "train"]), 3)
    >>> [(train.tolist(), test.tolist()) for train, test in parts]
    [([0, 2], [1])]
    >>> len(split_by_column(np.array([0, 1, 2, 0]), 4))
    3
    """
    if len(column) != n_rows:
        raise ValueError(f"cv has {len(column)} entries, but X has {n_rows} rows")
    _check_present("cv", column)
    texts = np.array([str(value).strip().lower() for value in column.tolist()], dtype=object)
    values = set(texts)
    if values & {"train", "test"}:
        others = sorted(values - {"train", "test"})
        if others:
            raise ValueError(
                f"cv has {others[0]!r} besides 'train' and 'test': a third part is not known; "
                "leave these rows out, or give fold numbers"
            )
        for name, part in (("train", "training"), ("test", "test")):
            if name not in values:
                raise ValueError(f"cv has no row {name!r}: the {part} part is empty")
        return [(np.flatnonzero(texts == "train"), np.flatnonzero(texts == "test"))]
    try:
        numbers = np.array([int(float(text)) for text in texts])
    except (ValueError, OverflowError):
        first = next(text for text in texts if not _is_number(text))
        raise ValueError(
            f"cv has the value {first!r}: it must be 'train' or 'test', or the number of the "
            "fold in which a row tests"
        ) from None
    folds = np.unique(numbers[numbers >= 0])
    if len(folds) == 0 or (len(folds) == 1 and (numbers >= 0).all()):
        raise ValueError(
            "cv names one fold only, so that the training part is empty: give two or more, or "
            "'train' and 'test'"
        )
    return list(PredefinedSplit(numbers).split())


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_part(i: int, train: Array, test: Array, codes: Array, groups: Array | None) -> None:
    """Raise for a split that cannot be used: no rows, one class, or rows on both sides."""
    for name, rows in (("training", train), ("test", test)):
        if not len(rows):
            raise ValueError(f"the {name} part of split {i} is empty")
        if rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= len(codes):
            raise ValueError(f"the {name} part of split {i} must be numbers of rows of X")
    if len(np.intersect1d(train, test)):
        raise ValueError(f"split {i} has rows that both train and test")
    if len(np.unique(codes[train])) < 2:
        raise ValueError(f"the training part of split {i} has rows of one class only")
    _check_apart(i, train, test, groups)


def _check_apart(i: int, train: Array, test: Array, groups: Array | None) -> None:
    """Raise where rows of a group both train and test."""
    if groups is None or len(np.intersect1d(groups[train], groups[test])) == 0:
        return
    n_shared = len(np.intersect1d(groups[train], groups[test]))
    raise ValueError(
        f"split {i} has rows of {n_shared} groups on both sides: give splits that keep groups "
        "together, or leave out groups"
    )


# A separate test set -----------------------------------------------------------------------------


def add_test_rows(X: Any, y: ArrayLike, test: Any) -> tuple[Any, Array, int]:
    """Rows and labels with those of a test set behind them, and how many these are.

    Raise where the test set has other columns, no rows, or labels that no row of `y` has.
    """
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise ValueError("test must be a pair (X, y): the rows of a test set and their labels")
    X_test, y_test = test[0], column_or_1d(test[1])
    labels = column_or_1d(y)
    if hasattr(X, "columns") and hasattr(X_test, "columns"):
        check_test_columns(list(X.columns), list(X_test.columns), "test")
        X_test = X_test[list(X.columns)]
    n_columns = [np.shape(part)[1] if len(np.shape(part)) == 2 else None for part in (X, X_test)]
    if n_columns[0] != n_columns[1]:
        raise ValueError(f"test has {n_columns[1]} features, but X has {n_columns[0]}")
    n_test = np.shape(X_test)[0]
    if n_test == 0 or len(y_test) != n_test:
        raise ValueError(f"test has {n_test} rows and {len(y_test)} labels: give one for each row")
    check_test_labels(labels, y_test, "test")
    both = np.concatenate([labels.astype(object), y_test.astype(object)])
    if labels.dtype == y_test.dtype:
        both = np.concatenate([labels, y_test])
    return _stack(X, X_test), both, n_test


def check_test_columns(known: Sequence[Any], new: Sequence[Any], name: str) -> None:
    """Raise where a test set has other columns; `name` is how the message begins."""
    missing = [column for column in known if column not in set(new)]
    more = [column for column in new if column not in set(known)]
    if missing or more:
        differences = [f"lacks {c!r}" for c in missing[:1]] + [f"has {c!r}" for c in more[:1]]
        raise ValueError(
            f"{name} has other columns than the training rows ({len(missing)} are missing, "
            f"{len(more)} are new): it {' and '.join(differences)}. Give both the same columns"
        )


def check_test_labels(labels: Any, new: Any, name: str) -> None:
    """Raise where a test set has labels that no training row has."""
    known = set(np.asarray(labels).tolist())
    values = np.asarray(new).tolist()
    unseen = [label for label in dict.fromkeys(values) if label not in known]
    if unseen:
        n_unseen = sum(label in unseen for label in values)
        raise ValueError(
            f"{name} has {n_unseen} rows with labels that no training row has (first: "
            f"{unseen[0]!r}): no method can learn them; leave these rows out"
        )


def _stack(X: Any, X_test: Any) -> Any:
    if sp.issparse(X) or sp.issparse(X_test):
        return sp.vstack([X, X_test], format="csr")
    if hasattr(X, "iloc") and hasattr(X_test, "iloc"):
        import pandas as pd

        return pd.concat([X, X_test], ignore_index=True)
    return np.vstack([np.asarray(X), np.asarray(X_test)])
