"""Notes on a labelled table before anything is learned from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from separatrix.linalg import Array

MAX_NOTICED_VALUES = 20_000_000
"""Values of a table up to which its columns and rows are looked through."""

MAX_NAMED = 5
"""Columns or labels that a notice names, at most."""

JUDGED_ROWS = 1000
"""Rows by which columns are cleared of being odd."""

FEWEST_ROWS = 10
"""Rows below which columns of distinct values are no surprise."""


def find_notices(X: Any, y: ArrayLike, names: Iterable[str] | None = None) -> list[str]:
    """Sentences on labels and columns that are probably not meant as they are.

    Labels that differ in case or spaces only, columns that are the label or a one-to-one function
    of it, whole numbers of which every row has another (identifiers), and constant or repeated
    columns.

    Parameters
    ----------
    X : array, data frame or sparse matrix (n_samples, n_features)
        Rows. Of sparse rows, and beyond `MAX_NOTICED_VALUES` values, only labels are looked at.
    y : array (n_samples,)
        Labels.
    names : iterable of str, optional
        Names of the columns; those of a data frame by default.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.column_stack([np.zeros(12), np.arange(12) % 5, np.repeat([3.0, 7.0], 6)])
    >>> for text in find_notices(X, ["ash"] * 6 + ["Ash "] * 6):
    ...     print(text)
    Labels 'Ash ', 'ash' differ in case or spaces only: do they mean one class?
    Column 'x2' is the label in other words: every value belongs to one class and every class has one value. Leave it out, or nothing is learned.
    Column 'x0' is the same in every row, and says nothing.
    """  # noqa: E501
    labels = np.asarray(y)
    notices = _notice_labels(labels)
    if sp.issparse(X) or np.prod(np.shape(X)) > MAX_NOTICED_VALUES:
        return notices
    columns = dict(_list_columns(X, names))
    classes = np.unique(labels.astype(str), return_inverse=True)[1]
    # whatever is odd is so in any rows: most columns are cleared by a few of them
    some = np.unique(np.linspace(0, len(classes) - 1, JUDGED_ROWS).astype(int))
    n_rows = len(classes)
    odd = _find_odd({name: c[some] for name, c in columns.items()}, classes[some], n_rows)
    suspects = {*odd.labels, *odd.numbers, *odd.constant, *sum(odd.copies, ())}
    odd = _find_odd({n: c for n, c in columns.items() if n in suspects}, classes, n_rows)
    return [*notices, *_notice_columns(odd)]


def _notice_labels(labels: Array) -> list[str]:
    """Groups of labels that a person would read as the same."""
    alike: dict[str, list[str]] = {}
    for label in np.unique(labels.astype(str)).tolist():
        alike.setdefault("".join(label.split()).casefold(), []).append(label)
    return [
        f"Labels {_join(group)} differ in case or spaces only: do they mean one class?"
        for group in alike.values()
        if len(group) > 1
    ]


def _list_columns(X: Any, names: Iterable[str] | None) -> Iterator[tuple[str, Array]]:
    """Each column by name."""
    frame = hasattr(X, "columns")
    known = list(X.columns if frame else range(np.shape(X)[1]) if names is None else names)
    rows = None if frame else np.asarray(X)
    for j, name in enumerate(known):
        column = X.iloc[:, j].to_numpy() if rows is None else rows[:, j]
        yield f"x{name}" if isinstance(name, int) else str(name), column


class _Odd(NamedTuple):
    """Columns by their oddity; copies with the column that they are copies of."""

    labels: list[str]
    numbers: list[str]
    constant: list[str]
    copies: list[tuple[str, str]]


def _find_odd(columns: dict[str, Array], classes: Array, n_rows: int) -> _Odd:
    """Oddities of columns in these rows, of `n_rows` in all."""
    few = int(classes.max(initial=-1)) + 1 < n_rows
    odd = _Odd([], [], [], [])
    first: dict[bytes, str] = {}
    for name, column in columns.items():
        comparable = column if column.dtype.kind in "biuf" else column.astype(str)
        known, codes = np.unique(comparable, return_inverse=True)
        is_label = few and _determines(codes, classes) and _determines(classes, codes)
        if is_label:
            odd.labels.append(name)
        if len(known) == len(classes) and n_rows >= FEWEST_ROWS and _are_whole(column):
            odd.numbers.append(name)
        if len(known) == 1 and n_rows > 1:
            odd.constant.append(name)
        # where all values of two columns differ they only have the same order
        elif (
            not is_label
            and len(known) < n_rows
            and (first.setdefault(codes.tobytes(), name) != name)
        ):
            odd.copies.append((name, first[codes.tobytes()]))
    return odd


def _notice_columns(odd: _Odd) -> list[str]:
    notices = [
        f"Column {name!r} is the label in other words: every value belongs to one class and every "
        "class has one value. Leave it out, or nothing is learned."
        for name in odd.labels
    ]
    notices += [
        f"Column {name!r} has another whole number in every row, as identifiers have: leave it "
        "out, unless it is measured."
        for name in odd.numbers
    ]
    if odd.constant:
        verb = "is" if len(odd.constant) == 1 else "are"
        end = "and says nothing." if len(odd.constant) == 1 else "and say nothing."
        notices.append(f"{_name_columns(odd.constant)} {verb} the same in every row, {end}")
    if odd.copies:
        shown = ", ".join(f"{a!r} of {b!r}" for a, b in odd.copies[:MAX_NAMED])
        more = f" and {len(odd.copies) - MAX_NAMED} more" if len(odd.copies) > MAX_NAMED else ""
        notices.append(f"Columns that are copies of others, but for their scale: {shown}{more}.")
    return notices


def _determines(codes: Array, others: Array) -> bool:
    """Whether each value of a column belongs to one of another."""
    last = np.empty(int(codes.max(initial=-1)) + 1, dtype=others.dtype)
    last[codes] = others
    return bool((last[codes] == others).all())


def _are_whole(column: Array) -> bool:
    if column.dtype.kind in "iu":
        return True
    return column.dtype.kind == "f" and bool(
        np.isfinite(column).all() and (column == np.rint(column)).all()
    )


def notice_copied_rows(X: Any, tests: Sequence[ArrayLike]) -> list[str]:
    """A sentence on rows that are copies of others, and fall on both sides of a split.

    Examples
    --------
    >>> for text in notice_copied_rows(np.array([[1, 2], [3, 4], [1, 2]]), [[0, 1]]):
    ...     print(text)
    1 of 3 rows is a copy of another, and of the 2 test rows of a split up to 1 also trained: a method may know these by heart. Leave copies out, or split by groups of them.
    """  # noqa: E501
    copied, across = count_copied_rows(X, tests)
    if not across:
        return []
    rows = f"{copied} of {np.shape(X)[0]} rows {'is a copy' if copied == 1 else 'are copies'}"
    return [
        f"{rows} of another, and of the {max(map(np.size, tests))} test rows of a split up to "
        f"{across} also trained: a method may know these by heart. Leave copies out, or split by "
        "groups of them."
    ]


def count_copied_rows(X: Any, tests: Sequence[ArrayLike]) -> tuple[int, int]:
    """Rows that are copies of another, and those of the test rows that also trained.

    The second number is that of the split with most of them. Sparse rows and more than
    `MAX_NOTICED_VALUES` values are not looked through: none are found.

    Examples
    --------
    >>> count_copied_rows(np.array([[1, 2], [3, 4], [1, 2], [5, 6]]), [[0, 1], [1, 3]])
    (1, 1)
    """
    if sp.issparse(X) or np.prod(np.shape(X)) > MAX_NOTICED_VALUES:
        return 0, 0
    rows = np.ascontiguousarray(X, dtype=float)
    whole = rows.view([("", rows.dtype)] * rows.shape[1]).ravel()
    _, which = np.unique(whole, return_inverse=True)
    across = 0
    for test in tests:
        tested = np.zeros(len(rows), dtype=bool)
        tested[np.asarray(test, dtype=int)] = True
        across = max(across, int(np.isin(which[tested], which[~tested]).sum()))
    return len(rows) - int(which.max(initial=-1)) - 1, across


def _name_columns(names: Sequence[str]) -> str:
    return f"{'Column' if len(names) == 1 else 'Columns'} {_join(names)}"


def _join(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:MAX_NAMED])
    return shown + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")
