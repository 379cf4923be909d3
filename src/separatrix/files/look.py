"""A first look at a table: how it is laid out, what its columns hold, and how to go on."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np

from separatrix.files.chunks import find_source_name, list_parts, read_frame
from separatrix.files.columns import describe_content, find_text_columns, holds_dates
from separatrix.files.epochs import split_value_names
from separatrix.files.lines import SEPARATORS
from separatrix.files.notices import find_notices
from separatrix.files.reading import Reading
from separatrix.files.sniff import guess_reading
from separatrix.files.tables import as_numbers, check_known_name, find_row_numbers

N_FIRST_ROWS = 5
"""Rows that are shown."""

MAX_CLASSES = 50
"""Most values of a column of labels that nobody has named."""

FAR_SPREADS = 30.0
"""Distance from the median, in robust standard deviations, beyond which a value is pointed out: a
normal value never is, a value in another unit or a code for a gap is."""

MAX_OUTLIERS = 10
"""Most values that are pointed out."""

LABEL_NAMES = ("label", "class", "target", "kind", "y", "species", "diagnosis", "outcome", "type",
               "state", "status", "category", "grade", "group")  # fmt: skip
GROUP_NAMES = ("patient", "subject", "donor", "batch", "site", "plate", "person", "participant",
               "session", "animal", "mouse", "well", "family", "house", "user")  # fmt: skip
ID_NAMES = ("id", "name", "sample", "file", "index", "key", "uuid", "code")


@dataclass(frozen=True)
class ColumnLook:
    """Contents of a column.

    Attributes
    ----------
    name : str
    role : str
        "label", "id", "group", "number", "category", "text", "date", "constant" or "empty".
    n_values, n_missing : int
        Different values, and gaps.
    example : str
    median, low, high : float or None
        Of numbers.
    """

    name: str
    role: str
    n_values: int
    n_missing: int
    example: str
    median: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Look:
    """What a first look at a table finds; plain data, of which pages and programs are made.

    Attributes
    ----------
    source : str
    reading : Reading
        How the table is read: given options and guessed ones.
    layout : str
        "rows", "columns" (samples are columns), "epochs" or "texts".
    n_rows, n_features : int
    target : str or None
        Column of labels, the likeliest one unless it was given; None where there is none.
    classes : dict
        Rows of each class.
    ids, groups : tuple of str
        Columns that name rows, and that say which rows belong together.
    columns : tuple of ColumnLook
    gaps : dict
        Missing values of each column that has some.
    outliers : tuple of dict
        Values far from all others: ``column``, ``row`` (from 1), ``value``, ``times`` (how often).
    notes : tuple of str
        Sentences about probable mistakes.
    names : tuple of str
        Names of the columns in the order of `first_rows`.
    first_rows : tuple of tuples
    options : dict
        Options that the table needs in addition to those of reading, such as ``--missing``.
    command : str
        The command to run next.
    """

    source: str
    reading: Reading
    layout: str
    n_rows: int
    n_features: int
    target: str | None
    classes: dict[str, int]
    ids: tuple[str, ...]
    groups: tuple[str, ...]
    columns: tuple[ColumnLook, ...]
    gaps: dict[str, int]
    outliers: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]
    names: tuple[str, ...]
    first_rows: tuple[tuple[Any, ...], ...]
    options: dict[str, str] = field(default_factory=dict)
    command: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The same as dictionaries, lists, numbers and text; readings only where not usual."""
        usual = Reading()
        reading = {
            f.name: getattr(self.reading, f.name)
            for f in fields(Reading)
            if getattr(self.reading, f.name) != getattr(usual, f.name) and f.name != "labelled"
        }
        return {**asdict(self), "reading": reading}


def look(source: Any, reading: Reading | None = None, **how: Any) -> Look:
    """Look at a table before anything is learned from it.

    Parameters
    ----------
    source : data frame, path or open binary file
        Whatever `files.tables.read_table` reads.
    reading : Reading, optional
        The known options of its layout; the rest is guessed.
    **how
        Options of `files.reading.Reading` in place of those of `reading`.

    Returns
    -------
    Look

    Examples
    --------
    >>> import pandas as pd
    >>> from separatrix import look
    >>> found = look(pd.DataFrame({"id": ["p", "q", "r", "s"], "width": [1.0, 2, 3, 4],
    ...                            "kind": ["a", "b", "a", "b"]}))
    >>> found.target, found.classes, found.ids
    ('kind', {'a': 2, 'b': 2}, ('id',))
    """
    reading = replace(reading or Reading(), **how)
    if hasattr(source, "columns"):
        name, frame = "the table", source.copy()
        frame.columns = [str(column) for column in frame.columns]
    else:
        name = find_source_name(source)
        reading = _guess_layout(source, reading)
        frame = read_frame(source, replace(reading, target=None, labelled=None))
    if not len(frame):
        raise ValueError(f"there are no rows in {name}")
    return _look_at_frame(frame, name, reading)


def _guess_layout(source: Any, reading: Reading) -> Reading:
    """How lines are written; other formats say that themselves."""
    from pathlib import Path

    is_open = hasattr(source, "read")
    if not is_open and (str(source) == "-" or not Path(str(source)).is_file()):
        return reading
    try:
        form = list_parts(source, reading)[0].form
    except ValueError:  # a name that says no format, such as .txt
        form = "csv"
    return guess_reading(source, reading) if form in SEPARATORS else reading


def _look_at_frame(frame: Any, name: str, reading: Reading) -> Look:
    origin = [column for column in frame.attrs.get("ids", ()) if column in frame.columns]
    texts = tuple(c for c in (*reading.text, *frame.attrs.get("text", ())) if c in frame.columns)
    for column in (*reading.ids, *reading.text, *(() if reading.transposed else reading.ignore)):
        check_known_name(column, frame.columns, "column")
    given = tuple(dict.fromkeys([*reading.ids, *origin]))
    free = [c for c in frame.columns if c not in (*given, *reading.ignore, *texts)]
    if reading.target is not None:
        check_known_name(reading.target, frame.columns, "column")
    target = reading.target or _find_label(frame, free, reading)
    free = [c for c in free if c != target]
    named = [c for c in given if c != target and c not in reading.ignore]
    ids = [c for c in named if c in reading.ids or not _is_group(frame[c], c)]
    ids += [c for c in free if _is_id(frame[c], c)]
    groups = [c for c in (*named, *free) if c not in ids and _is_group(frame[c], c)]
    features = [c for c in free if c not in ids and c not in groups]
    X = as_numbers(frame[[*features, *texts]], texts)
    prose = [c for c in find_text_columns(X) if c not in texts and _is_prose(X[c])]
    texts = (*texts, *prose)
    X = X.drop(columns=[c for c in X.columns if c in texts])
    dates = [c for c in find_text_columns(X) if holds_dates(X[c])]
    resolved = replace(reading, target=target, text=texts,
                    ids=tuple(c for c in ids if c not in origin),
                    ignore=tuple(dict.fromkeys([*reading.ignore, *dates])))  # fmt: skip
    labels = None if target is None else frame[target].dropna().astype(str)
    classes = {} if labels is None else labels.value_counts().to_dict()
    roles = {**dict.fromkeys(ids, "id"), **dict.fromkeys(groups, "group"),
             **dict.fromkeys(texts, "text"), **dict.fromkeys(dates, "date")}  # fmt: skip
    if target is not None:
        roles[target] = "label"
    gaps = {str(c): int(n) for c, n in frame.isna().sum().items() if n}
    options = _find_options(X.drop(columns=dates), groups, gaps)
    return Look(
        source=name,
        reading=resolved,
        layout=_name_layout(frame, resolved, features),
        n_rows=len(frame),
        n_features=X.shape[1] - len(dates) + len(texts),
        target=target,
        classes={str(k): int(n) for k, n in classes.items()},
        ids=tuple(ids),
        groups=tuple(groups),
        columns=tuple(_describe_column(frame[c], X, c, roles) for c in frame.columns),
        gaps=gaps,
        outliers=tuple(_find_outliers(X)),
        notes=tuple(_list_notes(X.drop(columns=dates), frame, target, classes)),
        names=tuple(frame.columns),
        first_rows=tuple(
            tuple(_plain(value) for value in row)
            for row in frame.head(N_FIRST_ROWS).itertuples(index=False, name=None)
        ),
        options=options,
        command=_write_command(name, resolved, options, target),
    )


# Which column is what ------------------------------------------------------------------------


def _words_of(name: str) -> list[str]:
    return [word for word in re.split(r"[^a-z]+", name.lower()) if word]


def _is_text(column: Any) -> bool:
    return column.dtype.kind not in "biufcM"


def _find_label(frame: Any, candidates: Sequence[str], reading: Reading) -> str | None:
    """The likeliest column of labels: by its name, then its place, then its contents."""
    if reading.labels is not None and len(frame.columns):
        return str(frame.columns[-1])
    if reading.samples is not None:
        candidates = [*candidates, *(c for c in frame.attrs.get("ids", ()))]
    good: list[tuple[tuple[bool, bool, bool, bool], str]] = []
    for place, name in enumerate(candidates):
        column = frame[name].dropna()
        n = column.nunique()
        if not 2 <= n <= min(MAX_CLASSES, max(2, len(column) // 2)) or n == len(column):
            continue
        text = _is_text(column)
        whole = column.dtype.kind in "biu" or (
            column.dtype.kind == "f"
            and bool(np.isfinite(column).all() and (column == np.rint(column)).all())
        )
        if not text and not (whole and n <= 20):
            continue
        words = _words_of(name)
        group = any(word in GROUP_NAMES for word in words)
        named = any(word in LABEL_NAMES for word in words)
        good.append(((not group, named, text, place == len(candidates) - 1), name))
    if not good:
        return None
    best, name = max(good, key=lambda pair: pair[0])
    likely = best[0] and (best[1] or best[2] or best[3])
    return name if likely else None


def _is_id(column: Any, name: str) -> bool:
    """Whether a column has another value in each row, and is text, or a number with a name."""
    values = column.dropna()
    if len(values) < 3 or values.nunique() < len(values):
        return False
    if _is_text(values):
        numbers = np.array([_number(value) for value in values.head(50)])
        return bool(np.isnan(numbers).mean() > 0.5) and not _is_prose(values)
    named = any(word in ID_NAMES for word in _words_of(name)) and values.dtype.kind in "iu"
    return named or bool(find_row_numbers(as_numbers(column.to_frame())))


def _is_group(column: Any, name: str) -> bool:
    n = column.nunique()
    named = any(word in GROUP_NAMES for word in _words_of(name))
    return named and 2 <= n < len(column) and (_is_text(column) or column.dtype.kind in "iu")


def _is_prose(column: Any) -> bool:
    texts = column.dropna().astype(str)
    return bool(len(texts) and texts.str.count(r"\s+").median() >= 3) and bool(
        texts.nunique() > len(texts) / 2
    ) and not holds_dates(column)  # fmt: skip


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def _name_layout(frame: Any, reading: Reading, features: Sequence[str]) -> str:
    if reading.text and not features:
        return "texts"
    if reading.transposed:
        return "columns"
    return "epochs" if features and split_value_names(features) is not None else "rows"


def _describe_column(column: Any, X: Any, name: str, roles: dict[str, str]) -> ColumnLook:
    values = column.dropna()
    n_values = int(values.nunique())
    first = values.iloc[0] if len(values) else ""
    example = f"{first:.6g}" if isinstance(first, float) else str(first)[:40]
    role = roles.get(name)
    if role is None:
        number = name in X.columns and X[name].dtype == np.float64
        role = "number" if number else "category"
        role = "empty" if not len(values) else "constant" if n_values == 1 else role
    if role != "number":
        return ColumnLook(name, role, n_values, len(column) - len(values), example)
    numbers = X[name].dropna().to_numpy()
    finite = numbers[np.isfinite(numbers)]
    middle = (None,) * 3 if not len(finite) else (np.median(finite), finite.min(), finite.max())
    return ColumnLook(name, role, n_values, len(column) - len(values), example,
                      *(None if v is None else float(v) for v in middle))  # fmt: skip


# Oddities ------------------------------------------------------------------------------------


def _find_outliers(X: Any) -> list[dict[str, Any]]:
    """Values that are far from all others of their column, the farthest first."""
    outliers = []
    for name in X.columns:
        if X[name].dtype != np.float64:
            continue
        values = X[name].to_numpy()
        finite = values[np.isfinite(values)]
        if len(finite) < 10:
            continue
        middle = np.median(finite)
        with np.errstate(over="ignore", invalid="ignore"):
            spread = 1.4826 * np.median(np.abs(finite - middle))
            far = np.abs(values - middle) / spread if spread > 0 else np.zeros(len(values))
        rows = np.flatnonzero(far > FAR_SPREADS)
        if not len(rows) or len(rows) > len(values) / 3:
            continue
        first = int(rows[np.nanargmax(far[rows])])
        value = float(values[first])
        times = int((values == value).sum())
        outliers.append((float(far[first]), {"column": str(name), "row": first + 1,
                                          "value": _plain(value), "times": times}))  # fmt: skip
    return [outlier for _, outlier in sorted(outliers, key=lambda pair: -pair[0])[:MAX_OUTLIERS]]


def _list_notes(X: Any, frame: Any, target: str | None, classes: dict[str, int]) -> list[str]:
    notes = []
    if target is None:
        notes.append("No column looks like labels: name it (--target), or give them in a file of "
                     "their own (--samples, --labels).")  # fmt: skip
    else:
        missing = int(frame[target].isna().sum())
        if missing:
            notes.append(f"{missing} rows have no label: fill these in or leave the rows out.")
        rare = [name for name, n in classes.items() if n < 5]
        if rare:
            shown = ", ".join(map(repr, rare[:5])) + (" …" if len(rare) > 5 else "")
            notes.append(f"Classes with fewer than five rows are hardly judged: {shown}.")
        labels = frame[target].astype(str)
        notes += find_notices(X, labels.to_numpy()) if X.shape[1] else []
    for name in find_text_columns(X):
        notes.append(f"Column {name!r} is no number: {describe_content(X[name])}.")
    return notes


# How to go on --------------------------------------------------------------------------------


def _find_options(X: Any, groups: Sequence[str], gaps: dict[str, int]) -> dict[str, str]:
    """Options of `compare` that the columns need."""
    options = {}
    if groups:
        options["--group"] = groups[0]
    if find_text_columns(X):
        options["--categorical"] = "onehot"
    if any(name in gaps for name in X.columns):
        options["--missing"] = "median"
    return options


def _write_command(
    name: str, reading: Reading, options: dict[str, str], target: str | None
) -> str:
    if target is None or name == "the table":
        return ""
    arguments = ["separatrix", "compare", name, *reading.list_arguments()]
    for option, value in options.items():
        arguments += [option, value]
    return shlex.join(arguments)


def _plain(value: Any) -> Any:
    """A number, text or None."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None if value is None or value != value else str(value)
    return value if isinstance(value, bool | int | float | str) else str(value)
