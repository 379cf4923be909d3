"""Tables read in batches, from any row on: text as it comes, and tables that are there."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from separatrix.files.readers import (
    NO_PARQUET,
    NOT_UTF8,
    LineStyle,
    find_source_name,
    parse_lines,
    read_column_names,
    read_frame,
    take_lines,
)
from separatrix.files.tables import check_header, check_known_name, find_label_column, make_table

HASHED_BYTES = 1 << 16
"""Bytes at the start of a stream by which it is known again."""


class Batch(NamedTuple):
    """Some rows of a stream; the next ones begin at byte `end`, or at that row of a table."""

    X: Any
    y: Any
    target: str
    end: int
    head: str = ""
    """Hash by which a table is known again; that of a stream of bytes is `hash_first_bytes`."""


def hash_first_bytes(file: BinaryIO, size: int) -> str:
    """A hash of the first bytes of a stream, `size` of them or fewer: it is known again by it."""
    return hashlib.sha256(file.read(min(size, HASHED_BYTES))).hexdigest()


def iter_batches(
    file: BinaryIO,
    *,
    batch_size: int = 1000,
    target: str | None = None,
    ignore: Sequence[str] = (),
    sep: str = ",",
    decimal: str = ".",
    thousands: str | None = None,
    header: bool = True,
    words: Sequence[str] = (),
    start: int = 0,
    head: str | None = None,
) -> Iterator[Batch]:
    r"""Batches of comma-separated values that are too many to hold, or still being written.

    Parameters
    ----------
    file : open binary file
        It is read once, in order; a pipe will do.
    batch_size : int
        Lines of a batch, but for values with line ends inside.
    target : str, optional
        Column of labels; the last one by default.
    ignore : sequence of str
        Columns that are no features.
    sep, decimal, thousands : str
        Character between values, before fractions, between thousands.
    header : bool
        Whether the first line has names; otherwise columns are x0, x1, …
    words : sequence of str
        Columns of text, whatever they look like.
    start : int
        Byte to go on from, an earlier batch's ``end``; bytes before it are not parsed again.
    head : str, optional
        `hash_first_bytes` of the first `start` bytes; another one raises.

    Yields
    ------
    Batch
        With ``X`` (data frame), ``y`` (labels as text), ``target`` and ``end``.

    Examples
    --------
    >>> from io import BytesIO
    >>> from separatrix.files.batches import iter_batches
    >>> file = BytesIO(b"width,kind\n1,a\n2,b\n3,a\n")
    >>> first = next(iter_batches(file, batch_size=2))
    >>> _ = file.seek(0)
    >>> [batch.y.tolist() for batch in iter_batches(file, start=first.end)]
    [['a']]
    """
    style = LineStyle(sep, decimal, thousands)
    style.check()
    counted = _ReadSoFar(file)
    names = _read_utf8(read_column_names, counted, sep)
    first_row = b"" if header else counted.seen
    names = names if header else [f"x{i}" for i in range(len(names))]
    label = _target(names, target, ignore)
    place = counted.place - len(first_row)
    if start > place:
        _skip(file, counted.seen, start, head)
        place, first_row = start, b""
    first = header and target is None and not start
    while block := first_row + take_lines(file, batch_size - bool(first_row)):
        place, first_row = place + len(block), b""
        if block.strip():
            frame = _read_utf8(parse_lines, io.BytesIO(block), names, label, style, words)
            table = make_table(frame, label, ignore=ignore, words=words)
            if first:
                check_header(names, label, table.y)
                first = False
            yield Batch(table.X, table.y, label, place)


def _target(names: Sequence[str], target: str | None, ignore: Sequence[str]) -> str:
    """The column of labels."""
    for name in (*ignore, *([] if target is None else [target])):
        check_known_name(name, names, "column")
    return find_label_column(names, ignore) if target is None else target


def _read_utf8(read: Any, *args: Any) -> Any:
    """The result of a reader, or an error for text in another encoding."""
    try:
        return read(*args)
    except UnicodeError:
        raise ValueError(f"the stream {NOT_UTF8}") from None


class _ReadSoFar:
    """The beginning of a file, and how long it is."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.seen = file, b""

    @property
    def place(self) -> int:
        """Bytes that were read."""
        return len(self.seen)

    def readline(self) -> bytes:
        """A line."""
        line = self.file.readline()
        self.seen += line
        return line

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")


OTHER_ROWS = (
    "these are not the rows that were learned before: their beginning differs. If they come after "
    "them, say so (--new-rows)"
)


def _skip(file: BinaryIO, names: bytes, start: int, head: str | None) -> None:
    """Move to a byte of the stream, whose first line has been read."""
    passed = names + file.read(max(0, min(start, HASHED_BYTES) - len(names)))
    if head is not None and hashlib.sha256(passed[: min(start, HASHED_BYTES)]).hexdigest() != head:
        raise ValueError(OTHER_ROWS)
    left = start - len(passed)
    while left > 0:
        if not (passed := file.read(min(left, 1 << 20))):
            raise ValueError(
                f"the stream is {left} bytes shorter than the part that was learned before"
            )
        left -= len(passed)
    if not passed.endswith(b"\n") and file.readline().strip():
        raise ValueError(
            "the last line that was learned was not complete then: it has gone on. Start anew, "
            "and stop a stream that is being written at the end of a line"
        )


# Tables that are there -----------------------------------------------------------------------


def table_batches(
    source: Any,
    *,
    batch_size: int = 1000,
    target: str | None = None,
    ignore: Sequence[str] = (),
    form: str | None = None,
    words: Sequence[str] = (),
    skip_bad: bool = False,
    start: int = 0,
    head: str | None = None,
) -> Iterator[Batch]:
    """Batches of a parquet, npz or arff file or a bundled data set.

    Parameters
    ----------
    source, form
        As in `files.tables.read_table`. Only parquet is read in parts.
    batch_size, target, ignore, words
        As in `iter_batches`.
    skip_bad : bool
        As in `files.tables.read_table`.
    start : int
        Row to go on from, an earlier batch's ``end``.
    head : str, optional
        An earlier batch's ``head``; a table that begins otherwise raises.

    Yields
    ------
    Batch
        ``end`` counts rows, ``head`` is a digest of the names and the first rows.
    """
    place, first = 0, target is None and not start
    table_hash = ""
    for frame in _frames(source, form, batch_size, skip_bad):
        frame.columns = [str(name) for name in frame.columns]
        if place == 0:
            table_hash = _hash_first_rows(frame)
            if start and head not in (None, table_hash):
                raise ValueError(OTHER_ROWS)
        rest = frame.iloc[max(0, start - place) :]
        place += len(frame)
        if len(rest):
            label = _target(list(frame.columns), target, ignore)
            table = make_table(rest, label, ignore=ignore, words=words)
            if first:
                check_header(frame.columns, label, table.y)
                first = False
            yield Batch(table.X, table.y, label, place, table_hash)
    if place < start:
        raise ValueError(
            f"the table is {start - place} rows shorter than the part that was learned before"
        )


HASHED_ROWS = 100
"""First rows by which a table is known again."""


def _hash_first_rows(frame: Any) -> str:
    rows = frame.iloc[:HASHED_ROWS].to_csv(index=False).encode()
    return hashlib.sha256(rows).hexdigest()


def _frames(source: Any, form: str | None, batch_size: int, skip_bad: bool) -> Iterator[Any]:
    """A table in parts of `batch_size` rows."""
    if form == "parquet" and isinstance(source, str | Path) and Path(source).is_file():
        try:
            from pyarrow import ArrowException
            from pyarrow.parquet import ParquetFile
        except ImportError:
            raise ImportError(NO_PARQUET) from None
        try:
            with ParquetFile(source) as file:
                for part in file.iter_batches(batch_size):
                    yield part.to_pandas()
        except ArrowException as error:
            raise ValueError(
                f"{find_source_name(source)} is not a parquet file: {error}"
            ) from None
        return
    frame = read_frame(source, lambda names: None, form=form, skip_bad=skip_bad)
    for i in range(0, len(frame), batch_size):
        yield frame.iloc[i : i + batch_size]
