"""Tables in files: named features and labels, checked, and the steps that make numbers of them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from separatrix.files.chunks import find_source_name, iter_chunks, read_frame
from separatrix.files.columns import MAX_COLUMNS_NAMED, describe_content
from separatrix.files.lines import (
    NUMBERS_FIRST,
    check_header,
    check_unique_names,
    import_pandas,
    is_number,
)
from separatrix.files.reading import Reading


class Table(NamedTuple):
    """Rows with named features.

    Attributes
    ----------
    X : data frame (n_samples, n_features)
        Numbers as float64; other columns as they are.
    y : array (n_samples,) of str, or None
        Labels as text.
    target : str or None
        Name of the column of labels.
    kept : data frame
        Columns as they were, by request.
    unlabelled : str
        Why there are no labels though there is a column for them; else empty.
    text : tuple of str
        Columns whose words are to be learned from, by request or by their origin.
    skipped : tuple of str
        Items that could not be read and were left out, by request.
    """

    X: Any
    y: Any
    target: str | None
    kept: Any
    unlabelled: str = ""
    text: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


class Batch(NamedTuple):
    """Some rows of a stream; the next ones begin at byte `end`, or at that row of a table."""

    X: Any
    y: Any
    target: str
    end: int
    head: str = ""
    """Digest by which the stream is recognised."""


# Reading -------------------------------------------------------------------------------------


def read_table(
    source: Any, reading: Reading | None = None, *, keep: Sequence[str] = (), **how: Any
) -> Table:
    r"""Read features and labels from any source.

    Parameters
    ----------
    source : str, path or open binary file
        A file of comma-separated (csv) or tab-separated values (tsv) with a line of names, also
        packed by gzip; parquet; arff; series (ts); npz (arrays ``X`` and ``y``, or ``data`` and
        ``target``, and ``feature_names`` where there are any); npy; Excel (the first sheet). A
        folder or a pattern of csv, tsv or parquet files. A folder with a folder, Maildir or mbox
        file of e-mails or other texts for each class: columns ``file``, ``text`` and ``kind``.
        FASTA files. A database (`moments.sql.summarize` says how it is addressed). The name of a
        bundled data set, if there is no such file. ``-`` is standard input.
    reading : Reading, optional
        How the rows are read.
    keep : sequence of str
        Columns to return as they are, features or not.
    **how
        Options of `files.reading.Reading` in place of those of `reading`.

    Returns
    -------
    Table
        With ``X``, ``y``, ``target`` and ``kept``.

    Examples
    --------
    >>> from io import BytesIO
    >>> from separatrix.files.tables import read_table
    >>> table = read_table(BytesIO(b"id,width,kind\n1,2.5,a\n2,4,b\n"), ignore=["id"])
    >>> table.X.columns.tolist(), table.y.tolist(), table.target
    (['width'], ['a', 'b'], 'kind')
    """
    reading = replace(reading or Reading(), **how)
    frame = read_frame(source, reading)
    if len(frame) == 0:
        raise ValueError(f"there are no rows in {find_source_name(source)}")
    table = make_table(frame, reading, keep=keep)
    if reading.labelled and reading.target is None:
        check_header(frame.columns, str(table.target), table.y)
    return table


def iter_batches(
    source: Any,
    reading: Reading | None = None,
    *,
    batch_size: int = 1000,
    start: int = 0,
    head: str | None = None,
    **how: Any,
) -> Iterator[Batch]:
    r"""Batches of rows that are too many to hold, or still being written.

    Parameters
    ----------
    source, reading, **how
        As in `read_table`. Lines are read once, in order: a pipe will do. Parquet and npy are read
        in parts, other formats whole.
    batch_size : int
        Rows of a batch.
    start : int
        Where to go on, an earlier batch's ``end``.
    head : str, optional
        Its ``head``; a stream that begins otherwise raises.

    Yields
    ------
    Batch
        With ``X`` (data frame), ``y`` (labels as text), ``target``, ``end`` and ``head``.

    Examples
    --------
    >>> from io import BytesIO
    >>> from separatrix.files.tables import iter_batches
    >>> file = BytesIO(b"width,kind\n1,a\n2,b\n3,a\n")
    >>> first = next(iter_batches(file, batch_size=2))
    >>> _ = file.seek(0)
    >>> [batch.y.tolist() for batch in iter_batches(file, start=first.end)]
    [['a']]
    """
    reading = replace(reading or Reading(), **how)
    chunks = iter_chunks(source, reading, n_rows=batch_size, start=start, head=head)
    unchecked = reading.target is None and reading.header and not start
    for chunk in chunks:
        table = make_table(chunk.frame, reading)
        if unchecked:
            check_header(chunk.frame.columns, str(table.target), table.y)
            unchecked = False
        yield Batch(table.X, table.y, str(table.target), chunk.end, chunk.head)


def find_target(frame: Any, reading: Reading) -> str | None:
    """The column of labels: the one that is named, that of a sheet, or the last feature."""
    if reading.target is not None or not reading.labelled:
        return reading.target
    if reading.samples is not None or reading.labels is not None:
        return str(frame.columns[-1])
    names = frame.attrs.get("ids", ())
    return reading.find_target([name for name in frame.columns if name not in names])


def make_table(frame: Any, reading: Reading, *, keep: Sequence[str] = ()) -> Table:
    """Features, labels and columns to keep of a data frame; see `read_table`."""
    if len(frame) == 0:
        raise ValueError("there are no rows")
    check_unique_names(frame.columns)
    target, labelled = find_target(frame, reading), reading.labelled
    text = tuple(dict.fromkeys((*reading.text, *frame.attrs.get("text", ()))))
    left_out = reading.ids if reading.transposed else reading.not_features
    for name in (*left_out, *keep, *text, *((str(target),) if labelled else ())):
        check_known_name(name, frame.columns, "column")
    there = target in frame.columns and target not in reading.not_features
    ids = [name for name in frame.attrs.get("ids", ()) if name != target]
    out = [n for n in (*reading.not_features, *ids, target) if n in frame.columns]
    X = frame.drop(columns=out)
    if X.shape[1] == 0:
        raise ValueError(
            f"there are no features besides {', '.join(map(repr, out))}: if the columns are "
            "separated by something else, give it (--sep)"
        )
    y, unlabelled = None, ""
    if labelled or (labelled is None and there):
        try:
            y = format_labels(frame[target], str(target), frame.attrs.get("gaps", {}))
        except ValueError as error:
            if labelled:
                raise
            unlabelled = str(error)
    kept = frame[list(dict.fromkeys(keep))].apply(_numbers_if_same)
    text = tuple(name for name in text if name in X.columns)
    X = as_numbers(X, [*reading.words, *text])
    X = X.assign(**{name: X[name].fillna("") for name in text})
    skipped = tuple(frame.attrs.get("skipped", ()))
    return Table(X, y, target, kept, unlabelled, text, skipped)


def as_numbers(X: Any, words: Sequence[str] = ()) -> Any:
    """The frame with numbers, of whatever kind, as float64; those in columns of text as text."""
    types = import_pandas().api.types
    X = X.assign(
        **{name: X[name].map(_written, na_action="ignore") for name in words if name in X}
    )
    kinds = {
        name: kind
        for name, kind in X.dtypes.items()
        if name not in words and (types.is_numeric_dtype(kind) or types.is_bool_dtype(kind))
    }
    complex_ = [name for name, kind in kinds.items() if types.is_complex_dtype(kind)]
    if complex_:
        raise ValueError(f"column {complex_[0]!r} holds complex numbers")
    other = [name for name, kind in kinds.items() if kind != np.float64]
    # pandas looks at columns one by one where they are named: a table of genes has 20,000
    return X.astype(np.float64 if len(other) == X.shape[1] else dict.fromkeys(other, np.float64))


def _numbers_if_same(column: Any) -> Any:
    """Text as numbers where these are written in the same way."""
    types = import_pandas().api.types
    if not (types.is_object_dtype(column) or types.is_string_dtype(column)):
        return column
    numbers = import_pandas().to_numeric(column, errors="coerce")
    there = column.notna()
    same = there.equals(numbers.notna()) and (numbers[there].map(str) == column[there]).all()
    return numbers if same else column


def _written(value: Any) -> str:
    """A value as text; whole numbers without a point."""
    if isinstance(value, float | np.floating) and value == np.rint(value):
        return str(int(value))
    return str(value)


# Labels --------------------------------------------------------------------------------------


def format_labels(labels: Any, name: str, gaps: Mapping[str, int] | None = None) -> np.ndarray:
    """Labels as text: whole numbers without a point, names as they are; fractions raise an error.

    Parameters
    ----------
    labels : series
        One label for each row.
    name : str
        Of their column, for messages.
    gaps : mapping, optional
        Words that stand for gaps, and how often they do.
    """
    texts = format_some_labels(labels, name, gaps)
    check_no_fractions(import_pandas().unique(texts), name)
    return texts


def format_some_labels(
    labels: Any, name: str, gaps: Mapping[str, int] | None = None
) -> np.ndarray:
    """`format_labels` for some of the rows, where fractions may be names among others."""
    missing = np.flatnonzero(labels.isna())
    if len(missing):
        raise ValueError(
            f"column {name!r} has no label in {len(missing)} of {len(labels)} rows"
            f"{describe_gaps(gaps or {})}, first in row {missing[0] + 1}: fill these in or leave "
            "the rows out"
        )
    pd = import_pandas()
    # each label is looked at once; 1 and True are the same to pandas, and not as text
    mixed = pd.api.types.infer_dtype(labels).startswith("mixed")
    codes, known = (slice(None), labels) if mixed else pd.factorize(labels)
    return np.array([_whole(_written(label)) for label in known], dtype=object).astype(str)[codes]


def check_no_fractions(labels: np.ndarray, name: str) -> None:
    """Raise when all labels are numbers, and not whole ones."""
    numbers = import_pandas().to_numeric(import_pandas().Series(labels), errors="coerce")
    numbers = numbers.to_numpy()
    fractions = np.flatnonzero(numbers != np.rint(numbers))
    if len(fractions) and not np.isnan(numbers).any():
        raise ValueError(
            f"column {name!r} holds numbers such as {numbers[fractions[0]]:g}, not classes: "
            "name the column of labels, or cut the numbers into classes first"
        )


WHOLE_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))\.0*")
"""A whole number that is written with a point."""


def _whole(text: str) -> str:
    match = WHOLE_NUMBER.fullmatch(text)
    return match[1] if match else text


def describe_gaps(gaps: Mapping[str, int]) -> str:
    """Which words were taken for gaps among labels, such as NA, and how often."""
    listed = ", ".join(f"{word!r} {n} times" for word, n in gaps.items() if word)
    return f" ({listed}, which means a gap: choose another word for a class)" if listed else ""


def check_label_column(y: np.ndarray, name: str | None) -> None:
    """Raise unless there are at least two classes, and fewer than rows."""
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"column {name!r} has only the label {str(classes[0])!r}: nothing is to be separated. "
            "Name another column of labels"
        )
    if len(classes) == len(y) and len(y) > 2:
        raise ValueError(
            f"column {name!r} has another label in each of {len(y)} rows: it looks like an "
            "identifier. Name the column of labels"
        )


# Features ------------------------------------------------------------------------------------


def find_row_numbers(X: Any) -> list[str]:
    """Columns that count the rows, and are hardly features."""
    counting = np.arange(len(X), dtype=np.float64)
    numbers = [c for c in X.columns if X[c].dtype == np.float64]
    if len(X) < 10:
        return []
    return [c for c in numbers if np.array_equal(X[c].to_numpy() - X[c].iloc[0], counting)]


def same_features(X: Any, names: Iterable[str], words: Sequence[str] = ()) -> Any:
    """The columns that a model knows, by name and in its order.

    Parameters
    ----------
    X : data frame
        Features, as in `Table`; columns that the model does not know are left out.
    names : iterable of str
        Columns that the model was fitted to.
    words : sequence of str
        Those of them that hold text.
    """
    known = list(names)
    absent = [name for name in known if name not in X.columns]
    if absent:
        listed = [
            *map(repr, absent[:MAX_COLUMNS_NAMED]),
            *["…"] * (len(absent) > MAX_COLUMNS_NAMED),
        ]
        near = difflib.get_close_matches(absent[0], [str(c) for c in X.columns], 1)
        n_numbers = sum(map(is_number, X.columns))  # one column may be a label
        raise ValueError(
            f"the model needs {len(known)} columns, of which {len(absent)} "
            f"{'is' if len(absent) == 1 else 'are'} missing here: {', '.join(listed)}"
            + (f". Is {near[0]!r} meant for {absent[0]!r}?" if near else "")
            + (
                f". {NUMBERS_FIRST}: give the columns the names that the model knows"
                if 0 < n_numbers >= X.shape[1] - 1
                else ""
            )
        )
    chosen = X[known]
    for name in known:
        if name not in words and chosen[name].dtype != np.float64:
            content = describe_content(chosen[name])
            raise ValueError(f"column {name!r} holds numbers in the model; here: {content}")
    return chosen


# Messages ------------------------------------------------------------------------------------


def check_known_name(name: str, known: Iterable[Any], what: str) -> None:
    """Raise unless a name is known, with the nearest one or the list."""
    names = [str(k) for k in known]
    if name in names:
        return
    near = difflib.get_close_matches(name, names, 1, 0.6)
    lower = [k for k in names if k.lower() == name.lower()]
    listed = ", ".join(names[:MAX_COLUMNS_NAMED]) + (
        " …" if len(names) > MAX_COLUMNS_NAMED else ""
    )
    if "," in name and set(parts := name.split(",")) <= set(names):
        each = " and ".join(map(repr, parts))
        raise ValueError(f"there is no {what} {name!r}: repeat the option for each of {each}")
    guess = f": did you mean {(lower or near)[0]!r}? There" if lower or near else "; there"
    raise ValueError(f"there is no {what} {name!r}{guess} are {listed}")
