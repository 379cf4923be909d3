"""Tables in files: named features and labels, checked, and the steps that make numbers of them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from separatrix.files.columns import MAX_COLUMNS_NAMED, describe_content
from separatrix.files.readers import (
    NO_NAMES,
    NUMBERS_FIRST,
    check_unique_names,
    find_source_name,
    import_pandas,
    is_number,
    read_frame,
)


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


# Reading -------------------------------------------------------------------------------------


def read_table(
    source: Any,
    *,
    target: str | None = None,
    labelled: bool | None = True,
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
    form: str | None = None,
    sep: str | None = None,
    header: bool = True,
    words: Sequence[str] = (),
    text: Sequence[str] = (),
    decimal: str = ".",
    thousands: str | None = None,
    transposed: bool = False,
    skip_bad: bool = False,
) -> Table:
    r"""Read features and labels from a file, a bundled data set or standard input.

    Parameters
    ----------
    source : str, path or open binary file
        A file of comma-separated (csv) or tab-separated values (tsv) with a line of names, also
        packed by gzip; parquet, arff or npz (arrays ``X`` and ``y``, or ``data`` and ``target``,
        and ``feature_names`` where there are any), Excel (the first sheet). A folder with a
        folder, Maildir or mbox file of e-mails or other texts for each class: columns ``file``,
        ``text`` and ``kind``. The name of a bundled data set, if there is no such file. ``-`` is
        standard input.
    target : str, optional
        Name of the column of labels; by default the last one that is not ignored.
    labelled : bool or None
        Whether there are labels; None takes them where `target` is there and has labels in all
        rows. It is never a feature.
    ignore : sequence of str
        Columns that are no features, such as identifiers.
    keep : sequence of str
        Columns to return as they are, features or not.
    form : "csv", "tsv", "parquet", "npz", "arff" or "excel", optional
        The format where the name does not tell; csv for standard input.
    sep : str, optional
        Separator of the values of a line.
    header : bool
        Whether the first line has names; otherwise columns are x0, x1, …
    words : sequence of str
        Columns of text, whatever they look like: ``01`` and ``True`` stay what they are.
    text : sequence of str
        Columns whose words are learned from; an empty one is a text without words.
    decimal, thousands : str
        Character before fractions, and between thousands, in csv and tsv.
    transposed : bool
        Whether a line of csv or tsv is a feature and a column a sample, as in tables of genes. The
        first column then has the names, and the labels are a line.
    skip_bad : bool
        Leave out items that cannot be read, such as messages without text; they are listed in
        ``skipped``.

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
    defaulted = bool(labelled) and target is None
    if labelled and target is not None and target in ignore:
        raise ValueError(f"column {target!r} is the target, and it is ignored: choose one of both")

    def target_of(columns: Sequence[str]) -> str | None:
        return target if not defaulted else find_label_column(columns, ignore)

    frame = read_frame(
        source,
        target_of,
        form=form,
        sep=sep,
        header=header,
        words=[*words, *text],
        decimal=decimal,
        thousands=thousands,
        transposed=transposed,
        skip_bad=skip_bad,
    )
    if len(frame) == 0:
        raise ValueError(f"there are no rows in {find_source_name(source)}")
    frame.columns = [str(name) for name in frame.columns]
    target = target_of(frame.columns)
    table = make_table(
        frame, target, labelled=labelled, ignore=ignore, keep=keep, words=words, text=text
    )
    if defaulted:
        check_header(frame.columns, str(target), table.y)
    return table


def find_label_column(columns: Iterable[str], ignore: Sequence[str]) -> str:
    """The last column that is not ignored: that of the labels unless another is named."""
    left = [name for name in columns if name not in ignore]
    if not left:
        raise ValueError("all columns are ignored: none is left for the labels")
    return left[-1]


def make_table(
    frame: Any,
    target: str | None,
    *,
    labelled: bool | None = True,
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
    words: Sequence[str] = (),
    text: Sequence[str] = (),
) -> Table:
    """Features, labels and columns to keep of a data frame; see `read_table`."""
    if len(frame) == 0:
        raise ValueError("there are no rows")
    check_unique_names(frame.columns)
    text = tuple(dict.fromkeys((*text, *frame.attrs.get("text", ()))))
    for name in (*ignore, *keep, *text, *((str(target),) if labelled else ())):
        check_known_name(name, frame.columns, "column")
    there = target in frame.columns and target not in ignore
    out = [n for n in (*ignore, *frame.attrs.get("ids", ()), target) if n in frame.columns]
    X = frame.drop(columns=out)
    if X.shape[1] == 0:
        raise ValueError(
            f"there are no features beside {', '.join(map(repr, out))}: if the columns are "
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
    X = _as_numbers(X, [*words, *text])
    X = X.assign(**{name: X[name].fillna("") for name in text})
    skipped = tuple(frame.attrs.get("skipped", ()))
    return Table(X, y, target, kept, unlabelled, text, skipped)


def _as_numbers(X: Any, words: Sequence[str] = ()) -> Any:
    """The frame with numbers, of whatever kind, as float64; those in columns of text as text."""
    types = import_pandas().api.types
    X = X.assign(
        **{name: X[name].map(_written, na_action="ignore") for name in words if name in X}
    )
    numbers = [
        c
        for c in X.columns
        if c not in words and (types.is_numeric_dtype(X[c]) or types.is_bool_dtype(X[c]))
    ]
    complex_ = [c for c in numbers if types.is_complex_dtype(X[c])]
    if complex_:
        raise ValueError(f"column {complex_[0]!r} holds complex numbers")
    return X.astype(dict.fromkeys(numbers, np.float64))


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
    check_no_fractions(texts, name)
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
    return np.array([_whole(_written(label)) for label in labels], dtype=object).astype(str)


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
    found = WHOLE_NUMBER.fullmatch(text)
    return found[1] if found else text


def describe_gaps(gaps: Mapping[str, int]) -> str:
    """Which words were taken for gaps among labels, such as NA, and how often."""
    found = ", ".join(f"{word!r} {n} times" for word, n in gaps.items() if word)
    return f" ({found}, which means a gap: choose another word for a class)" if found else ""


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
        n_numbers = sum(map(is_number, X.columns))  # a label may stand beside them
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
            found = describe_content(chosen[name])
            raise ValueError(f"column {name!r} holds numbers in the model; here: {found}")
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


def check_header(columns: Iterable[str], target: str | None, labels: Iterable[str] = ()) -> None:
    """Raise when the line of names looks like a row: numbers, and a label.

    Parameters
    ----------
    columns : iterable of str
        The names.
    target : str or None
        That of the labels, which nobody has given.
    labels : iterable of str
        Values of this column: a name that is among them is no name.
    """
    names = [name for name in columns if name != target]
    if not all(map(is_number, names)):
        return
    numbers = [float(name) for name in names]
    counted = numbers in (list(range(len(names))), list(range(1, len(names) + 1)))
    steps = np.diff(numbers)
    ordered = counted or (len(names) > 2 and bool((steps > 0).all() or (steps < 0).all()))
    if target is None or is_number(target) or target in set(labels) or not ordered:
        raise ValueError(f"{NO_NAMES}; if these are names, say which has the labels (--target)")
