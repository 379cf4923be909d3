"""Learning from a table as it comes: each batch is predicted, then learned, and can be resumed."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from separatrix.evaluate.stream import prequential
from separatrix.io.readers import (
    NO_PARQUET,
    NOT_UTF8,
    find_source_name,
    parse_lines,
    read_column_names,
    read_frame,
    take_lines,
)
from separatrix.io.tables import (
    Remedies,
    check_features,
    check_header,
    check_known_name,
    find_label_column,
    make_table,
    same_features,
)

REMEDIES = Remedies(
    "Leave them out (--ignore)",
    "Pass over such rows (--missing skip), or leave out the columns (--ignore)",
)
"""What to do about batches that cannot be learned."""

HEAD = 1 << 16
"""Bytes at the start of a stream by which it is known again."""


class Batch(NamedTuple):
    """Some rows of a stream; the next ones begin at byte `end`, or at that row of a table."""

    X: Any
    y: Any
    target: str
    end: int
    head: str = ""
    """By what a table is known again; for a stream of bytes that is `fingerprint`."""


class Progress(NamedTuple):
    """How far a stream has been learned.

    Attributes
    ----------
    rows : int
        Rows learned.
    tested, wrong : int
        Rows that were predicted before they were learned, and how many of them wrongly.
    left_out : int
        Rows with gaps that were passed over.
    place : int
        Byte of the stream, or row of the table, at which the next row begins.
    """

    rows: int = 0
    tested: int = 0
    wrong: int = 0
    left_out: int = 0
    place: int = 0

    @property
    def error(self) -> float | None:
        """Share of wrong predictions: the average online error."""
        return self.wrong / self.tested if self.tested else None


def learn(
    model: Any,
    batches: Iterable[Batch],
    progress: Progress = Progress(),  # noqa: B008 - never changed
    *,
    missing: str = "refuse",
) -> Iterator[Progress]:
    r"""Predict and then learn batch after batch; stop and go on between any two of them.

    Parameters
    ----------
    model : classifier with partial_fit
        Trained in place. Columns are found by name once it has learned some.
    batches : iterable of Batch
        Such as `iter_batches` yields.
    progress : Progress
        What was learned before.
    missing : "refuse" or "skip"
        What becomes of rows with gaps.

    Yields
    ------
    Progress
        After each batch. Kept together with the model it is all that is needed to go on.

    Examples
    --------
    >>> from io import BytesIO
    >>> from separatrix import OnlineIPCAC
    >>> from separatrix.stream import iter_batches, learn
    >>> file = BytesIO(b"width,kind\n1,a\n2,b\n1.1,a\n2.1,b\n")
    >>> for progress in learn(OnlineIPCAC(), iter_batches(file, batch_size=2)):
    ...     print(progress.rows, progress.tested, progress.wrong)
    2 0 0
    4 2 0
    """
    for batch in batches:
        X, y = batch.X, batch.y
        if hasattr(model, "feature_names_in_"):
            X = same_features(X, model.feature_names_in_)
        if missing == "skip":
            whole = ~X.isna().any(axis=1).to_numpy()
            X, y = X[whole], y[whole]
        check_features(X, remedies=REMEDIES)
        progress = progress._replace(
            place=batch.end, left_out=progress.left_out + len(batch.y) - len(y)
        )
        if len(y):
            progress = _learned(model, X, y, progress)
        yield progress


def _learned(model: Any, X: Any, y: np.ndarray, progress: Progress) -> Progress:
    if progress.rows:
        (record,) = prequential(model, [(X, y)], classes=np.unique(y))
        progress = progress._replace(
            tested=progress.tested + len(y), wrong=progress.wrong + record["wrong"]
        )
    else:
        model.partial_fit(X, y, classes=np.unique(y))
    return progress._replace(rows=progress.rows + len(y))


def fingerprint(file: BinaryIO, size: int) -> str:
    """By what a stream is known again: a digest of its first bytes, `size` of them or fewer."""
    return hashlib.sha256(file.read(min(size, HEAD))).hexdigest()


def iter_batches(
    file: BinaryIO,
    *,
    batch_size: int = 1000,
    target: str | None = None,
    ignore: Sequence[str] = (),
    sep: str = ",",
    start: int = 0,
    head: str | None = None,
) -> Iterator[Batch]:
    r"""Batches of a table of comma-separated values that is too long, or not yet all there.

    Parameters
    ----------
    file : open binary file
        With a line of names. It is read once, in order; a pipe will do.
    batch_size : int
        Lines of a batch, but for values with line ends inside.
    target : str, optional
        Column of labels; the last one by default.
    ignore : sequence of str
        Columns that are no features.
    sep : str
        What stands between values.
    start : int
        Byte to go on from, an earlier batch's ``end``; bytes before it are not parsed again.
    head : str, optional
        `fingerprint` of the first `start` bytes; another one is refused.

    Yields
    ------
    Batch
        With ``X`` (data frame), ``y`` (labels as text), ``target`` and ``end``.

    Examples
    --------
    >>> from io import BytesIO
    >>> from separatrix.stream import iter_batches
    >>> file = BytesIO(b"width,kind\n1,a\n2,b\n3,a\n")
    >>> first = next(iter_batches(file, batch_size=2))
    >>> _ = file.seek(0)
    >>> [batch.y.tolist() for batch in iter_batches(file, start=first.end)]
    [['a']]
    """
    counted = _Counted(file)
    names = _told(read_column_names, counted, sep)
    label = _target(names, target, ignore)
    place = counted.place
    if start > place:
        _skip(file, counted.seen, start, head)
        place = start
    first = target is None and not start
    while block := take_lines(file, batch_size):
        place += len(block)
        if block.strip():
            frame = _told(parse_lines, io.BytesIO(block), names, label, sep)
            table = make_table(frame, label, ignore=ignore)
            if first:
                check_header(names, label, table.y)
                first = False
            yield Batch(table.X, table.y, label, place)


def _target(names: Sequence[str], target: str | None, ignore: Sequence[str]) -> str:
    """The column of labels."""
    for name in (*ignore, *([] if target is None else [target])):
        check_known_name(name, names, "column")
    return find_label_column(names, ignore) if target is None else target


def _told(read: Any, *args: Any) -> Any:
    """What is read of a stream, or an error that says why not."""
    try:
        return read(*args)
    except UnicodeError:
        raise ValueError(f"the stream {NOT_UTF8}") from None


class _Counted:
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
    passed = names + file.read(max(0, min(start, HEAD) - len(names)))
    if head is not None and hashlib.sha256(passed[: min(start, HEAD)]).hexdigest() != head:
        raise ValueError(OTHER_ROWS)
    left = start - len(passed)
    while left > 0:
        if not (passed := file.read(min(left, 1 << 20))):
            raise ValueError(
                f"the stream is {left} bytes shorter than what was learned from it before"
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
    start: int = 0,
    head: str | None = None,
) -> Iterator[Batch]:
    """Batches of a parquet, npz or arff file or a bundled data set.

    Parameters
    ----------
    source, form
        As in `tables.read_table`. Only parquet is read in parts.
    batch_size, target, ignore
        As in `iter_batches`.
    start : int
        Row to go on from, an earlier batch's ``end``.
    head : str, optional
        An earlier batch's ``head``; a table that begins otherwise is refused.

    Yields
    ------
    Batch
        ``end`` counts rows, ``head`` is a digest of the names and the first rows.
    """
    place, first = 0, target is None and not start
    mark = ""
    for frame in _frames(source, form, batch_size):
        frame.columns = [str(name) for name in frame.columns]
        if place == 0:
            mark = _mark(frame)
            if start and head not in (None, mark):
                raise ValueError(OTHER_ROWS)
        rest = frame.iloc[max(0, start - place) :]
        place += len(frame)
        if len(rest):
            label = _target(list(frame.columns), target, ignore)
            table = make_table(rest, label, ignore=ignore)
            if first:
                check_header(frame.columns, label, table.y)
                first = False
            yield Batch(table.X, table.y, label, place, mark)
    if place < start:
        raise ValueError(f"the table is {start - place} rows shorter than what was learned of it")


MARKED_ROWS = 100
"""First rows by which a table is known again."""


def _mark(frame: Any) -> str:
    rows = frame.iloc[:MARKED_ROWS].to_csv(index=False).encode()
    return hashlib.sha256(rows).hexdigest()


def _frames(source: Any, form: str | None, batch_size: int) -> Iterator[Any]:
    """A table in parts of so many rows."""
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
    frame = read_frame(source, lambda names: None, form=form)
    for i in range(0, len(frame), batch_size):
        yield frame.iloc[i : i + batch_size]
