"""What is worth knowing about a labelled table before anything is learned from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from separatrix.linalg import Array

MAX_NOTICED_VALUES = 20_000_000
"""Values of a table up to which its columns and rows are looked through."""

MAX_NAMED = 5
"""Columns or labels that a notice names, at most."""

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
    columns = dict(_number_values(X, names))
    classes = np.unique(labels.astype(str), return_inverse=True)[1]
    return [*notices, *_notice_columns(columns, classes, X)]


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


def _number_values(X: Any, names: Iterable[str] | None) -> Iterator[tuple[str, Array]]:
    """Each column by name, its values as numbers from 0 by which they differ."""
    frame = hasattr(X, "columns")
    known = list(X.columns if frame else range(np.shape(X)[1]) if names is None else names)
    for j, name in enumerate(known):
        column = X.iloc[:, j].to_numpy() if frame else np.asarray(X)[:, j]
        if column.dtype.kind not in "biuf":
            column = column.astype(str)
        label = f"x{name}" if isinstance(name, int) else str(name)
        yield label, np.unique(column, return_inverse=True)[1]


def _notice_columns(columns: dict[str, Array], classes: Array, X: Any) -> list[str]:
    n_rows, n_classes = len(classes), int(classes.max(initial=-1)) + 1
    n_values = {name: int(codes.max(initial=-1)) + 1 for name, codes in columns.items()}
    is_label = [
        name
        for name, codes in columns.items()
        if n_values[name] == n_classes < n_rows and _determines(codes, classes)
    ]
    constant = [name for name, n in n_values.items() if n == 1 and n_rows > 1]
    numbers = [
        name
        for j, (name, n) in enumerate(n_values.items())
        if n == n_rows >= FEWEST_ROWS and _has_whole_numbers(X, j)
    ]
    notices = [
        f"Column {name!r} is the label in other words: every value belongs to one class and every "
        "class has one value. Leave it out, or nothing is learned."
        for name in is_label
    ]
    notices += [
        f"Column {name!r} has another whole number in every row, as identifiers have: leave it "
        "out, unless it is measured."
        for name in numbers
    ]
    if constant:
        verb = "is" if len(constant) == 1 else "are"
        end = "and says nothing." if len(constant) == 1 else "and say nothing."
        notices.append(f"{_name_columns(constant)} {verb} the same in every row, {end}")
    return notices + _notice_repeated(columns, set(constant) | set(is_label))


def _determines(codes: Array, classes: Array) -> bool:
    """Whether each value of a column belongs to one class."""
    pairs = np.unique(np.column_stack([codes, classes]), axis=0)
    return len(pairs) == int(codes.max()) + 1


def _has_whole_numbers(X: Any, j: int) -> bool:
    column = X.iloc[:, j].to_numpy() if hasattr(X, "columns") else np.asarray(X)[:, j]
    if column.dtype.kind in "iu":
        return True
    return column.dtype.kind == "f" and bool(
        np.isfinite(column).all() and (column == np.rint(column)).all()
    )


def _notice_repeated(columns: dict[str, Array], known: set[str]) -> list[str]:
    """Columns that rise and fall as another one does, value by value."""
    first: dict[bytes, str] = {}
    copies = []
    for name, codes in columns.items():
        if name not in known and first.setdefault(codes.tobytes(), name) != name:
            copies.append((name, first[codes.tobytes()]))
    # where all values of two columns differ they only have the same order
    n_rows = max(map(len, columns.values()), default=0)
    same = [(a, b) for a, b in copies if int(columns[a].max()) + 1 < n_rows]
    if not same:
        return []
    shown = ", ".join(f"{a!r} of {b!r}" for a, b in same[:MAX_NAMED])
    more = f" and {len(same) - MAX_NAMED} more" if len(same) > MAX_NAMED else ""
    return [f"Columns that are copies of others, but for their scale: {shown}{more}."]


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
