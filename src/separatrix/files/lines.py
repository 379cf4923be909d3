"""Lines of values: names in the first one, a row in each other."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, BinaryIO

import numpy as np

from separatrix.files.reading import Reading

SEPARATORS = {"csv": ",", "tsv": "\t"}

OTHER_SEPARATORS = {";": "--sep ';'", "\t": "--format tsv", ",": "--sep ,", "|": "--sep '|'"}
"""Separators of values, and the options that name them."""

_NONE = ["", "None", "NULL", "null", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"]
_NOT_A = ["NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NaN", "nan", "-NaN", "-nan"]
GAPS = frozenset((*_NONE, *_NOT_A))
"""Words for a missing value in text."""

NOT_UTF8 = (
    "is not text in UTF-8: save it in that encoding, or change it by `iconv -f UTF-16 -t UTF-8 "
    "old > new` (-f LATIN1 for text from older programs)"
)
NUMBERS_FIRST = "The first line has numbers in place of names"
NO_NAMES = f"{NUMBERS_FIRST}: give the columns names, or say that there are none (--no-header)"

MAX_FIELD_BYTES = 1 << 28
"""Bytes of one line at most: a device without line ends would fill the memory."""


def find_separator(reading: Reading, form: str) -> str:
    """The separator of values: the one that is given, or that of the format."""
    return reading.sep or SEPARATORS.get(form, ",")


# Names ---------------------------------------------------------------------------------------


def read_names(file: Any, sep: str, reading: Reading) -> tuple[list[str], bytes]:
    """Names of the columns, and the line that they were taken from if it is a row."""
    line = b""
    for line in iter(lambda: take_lines(file, 1), b""):
        if line.strip():
            break
    if not line.strip():
        raise ValueError("it is empty: a line with the names of the columns is needed")
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UnicodeError
    if b"\0" in line:
        raise ValueError("its first line has zero bytes, as binary files have: it is no text")
    first = line.removeprefix(b"\xef\xbb\xbf")
    row = [str(name) for name in _csv(io.BytesIO(first), sep, dtype=str, na_filter=False).iloc[0]]
    _check_separator(row, first.decode().strip("\r\n"), sep, reading)
    if not reading.header:
        return [f"x{i}" for i in range(len(row))], first
    names = [name if name.strip() else f"Unnamed: {i}" for i, name in enumerate(row)]
    if reading.decimal == ",":  # wavelengths are written as the numbers below them
        pointed = [name.replace(",", ".") for name in names]
        names = [p if is_number(p) else n for p, n in zip(pointed, names, strict=True)]
    return names, b""


def _check_separator(row: Sequence[str], line: str, sep: str, reading: Reading) -> None:
    """Raise where the first line has more values by another separator, and none by this one."""
    if reading.sep is not None and len(row) > 1:
        return
    counts = {mark: line.count(mark) for mark in OTHER_SEPARATORS if mark != sep}
    mark = max(counts, key=lambda m: counts[m])
    if not counts[mark]:
        return
    if len(row) == 1:
        raise ValueError(
            f"the first line is one name, {row[0]!r}: is it separated by {mark!r}? "
            f"Give {OTHER_SEPARATORS[mark]}"
        )
    if (
        mark in ";\t"
        # as many values as this, with commas in decimals, and no label among them, is a sign, too
        and counts[mark] >= len(row) - (reading.target is not None)
        and (reading.target is None or reading.target not in row)
    ):
        raise ValueError(
            f"the first line has {len(row)} names by {sep!r}, and {counts[mark] + 1} by {mark!r}: "
            f"give {OTHER_SEPARATORS[mark]}, or --sep {sep!r} if that is right"
        )


def take_lines(file: Any, n_lines: int) -> bytes:
    """Some lines, and more while a quoted value goes on."""
    lines = list(islice(_bounded(file), n_lines))
    while sum(line.count(b'"') for line in lines) % 2 and (line := file.readline()):
        lines.append(line)
    return b"".join(lines)


def _bounded(file: Any) -> Iterable[bytes]:
    """Lines of a file; one without an end is an error before it fills the memory."""
    while line := file.readline(MAX_FIELD_BYTES):
        if len(line) == MAX_FIELD_BYTES:
            raise ValueError(f"a line has more than {MAX_FIELD_BYTES >> 20} MB: it is no table")
        yield line


def check_unique_names(names: Iterable[Any]) -> None:
    """Raise when two columns have the same name."""
    seen: dict[str, int] = {}
    for place, name in enumerate(map(str, names), start=1):
        if name in seen:
            hint = f". {NO_NAMES}" if is_number(name) else ""
            raise ValueError(
                f"two columns, number {seen[name]} and number {place}, are called {name!r}: give "
                f"them names of their own{hint}"
            )
        seen[name] = place


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


def is_number(text: Any) -> bool:
    """Whether text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


# Rows ----------------------------------------------------------------------------------------


def parse_lines(
    file: BinaryIO,
    names: Sequence[str],
    target: str | None,
    reading: Reading,
    sep: str = ",",
    *,
    lines_before: int = 0,
    n_rows: int | None = None,
) -> Any:
    """The lines of a file as a data frame with these columns.

    Labels, and columns of text, are left as they are written. Words that mean a gap among the
    labels are counted in ``frame.attrs["gaps"]``.
    """
    pd = import_pandas()
    check_unique_names(names)
    # labels are read as they are written: a word such as NA among them is found and named below
    written = {target, *reading.words, *reading.text, *reading.ids}
    as_text = {i: str for i, name in enumerate(names) if name in written}
    gaps = {i: GAPS for i, name in enumerate(names) if name != target}
    how = {"decimal": reading.decimal, "thousands": reading.thousands, "nrows": n_rows}
    try:
        frame = _csv(file, sep, dtype=as_text, na_values=gaps, keep_default_na=False, **how)
    except pd.errors.EmptyDataError:
        return pd.DataFrame(columns=list(names), dtype=np.float64)
    except (IndexError, pd.errors.ParserError) as error:
        raise ValueError(_unlike(error, names, lines_before)) from None
    if frame.shape[1] != len(names):
        other = "" if len(names) > 1 else ". If something else is between values, give it (--sep)"
        raise ValueError(
            f"lines have {frame.shape[1]} values, but there are {len(names)} names: give each "
            f"column a name, also that of row names, and end no line with a separator{other}"
        )
    frame.columns = list(names)
    if target in names:
        _strip_labels(frame, target)
    return frame


def _strip_labels(frame: Any, target: str | None) -> None:
    """Take spaces off labels that are text, and find words among them that mean a gap."""
    labels = frame[target].astype(object).str.strip()
    missing = labels.isna() | labels.isin(GAPS)
    frame.attrs["gaps"] = labels[missing].value_counts().to_dict()
    frame[target] = labels.where(~missing)


def _csv(file: Any, sep: str, **how: Any) -> Any:
    # parsed as a whole: in parts the same text may be a number here and a word there
    quick = len(sep) == 1 or sep == r"\s+"
    engine: dict[str, Any] = {"low_memory": False} if quick else {"engine": "python"}
    return import_pandas().read_csv(file, header=None, sep=sep, **engine, **how)


def _unlike(error: Exception, names: Sequence[str], lines_before: int) -> str:
    """The fault of lines that are not all alike, for a message."""
    numbers = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", str(error))
    if isinstance(error, IndexError) or numbers is None:
        return f"its lines are no table of {len(names)} columns: {error}"
    expected, line, seen = map(int, numbers.groups())
    return f"line {line + lines_before} has {seen} values, but those before have {expected}"


def check_line_lengths(file: Any, n_names: int, sep: str, *, lines_before: int) -> None:
    """Raise for a line with fewer values than names: which is missing is not known.

    Lines after a quoted value are not looked at.
    """
    between = sep.encode()
    for i, line in enumerate(file, start=1 + lines_before):
        if b'"' in line or len(between) > 1:
            return
        n_values = line.count(between) + 1
        if line.strip() and n_values < n_names:
            counted = "1 value" if n_values == 1 else f"{n_values} values"
            raise ValueError(
                f"line {i} has {counted}, but there are {n_names} names: put a separator for "
                "each value that is missing"
            )


def transpose_lines(file: Any, sep: str, ignore: Sequence[str] = ()) -> BinaryIO:
    """Lines of a file as its columns: a table that has its samples in columns, turned.

    Columns of `ignore` are left out first, such as descriptions of the features.
    """
    table = _csv(file, sep, dtype=str, na_filter=False)
    left_out = table.iloc[0].str.strip().isin(ignore).to_numpy(copy=True)
    left_out[0] = False  # the names of the features
    table = table.loc[:, ~left_out]
    return io.BytesIO(table.T.to_csv(sep=sep, header=False, index=False).encode())


def import_pandas() -> Any:
    """The package pandas, or an error that says how to get it."""
    try:
        import pandas
    except ImportError:
        raise ImportError("tables are read with pandas: pip install 'separatrix[app]'") from None
    return pandas
