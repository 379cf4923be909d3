"""Learning from a table as it comes: each batch is predicted, then learned, and can be resumed."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from separatrix.evaluate import prequential
from separatrix.tables import as_table, check_features, pandas_module, refuse_numbers_for_names

HEAD = 1 << 16
"""Bytes at the start of a stream by which it is known again."""


class Batch(NamedTuple):
    """Some rows of a stream; the next ones begin at byte `end`."""

    X: Any
    y: Any
    target: str
    end: int


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
        Byte of the stream at which the next row begins.
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
        Trained in place.
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
        if missing == "skip":
            whole = ~X.isna().any(axis=1).to_numpy()
            X, y = X[whole], y[whole]
        check_features(X)
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
    names = file.readline()
    if not names.strip():
        raise ValueError("the stream is empty: it needs a line with the names of the columns")
    columns = next(iter(_parsed(names, sep, None).to_numpy())).tolist()
    refuse_numbers_for_names(columns)
    place = len(names)
    if start > place:
        _skip(file, names, start, head)
        place = start
    while block := _records(file, batch_size):
        place += len(block)
        if block.strip():
            frame = _parsed(block, sep, columns)
            name = str(columns[-1]) if target is None else target
            table = as_table(frame, name, ignore=ignore)
            yield Batch(table.X, table.y, name, place)


def _skip(file: BinaryIO, names: bytes, start: int, head: str | None) -> None:
    """Move to a byte of the stream, whose first line has been read."""
    passed = names + file.read(max(0, min(start, HEAD) - len(names)))
    if head is not None and hashlib.sha256(passed[: min(start, HEAD)]).hexdigest() != head:
        raise ValueError(
            "these are not the rows that were learned before: their beginning differs"
        )
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


def _records(file: BinaryIO, n_lines: int) -> bytes:
    """So many lines, and more while a quoted value goes on."""
    lines = list(islice(file, n_lines))
    while sum(line.count(b'"') for line in lines) % 2 and (line := file.readline()):
        lines.append(line)
    return b"".join(lines)


def _parsed(block: bytes, sep: str, columns: Sequence[str] | None) -> Any:
    pd = pandas_module()
    try:
        frame = pd.read_csv(io.BytesIO(block), sep=sep, header=None)
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        raise ValueError(f"these lines are no table: {error}") from None
    if columns is not None:
        if frame.shape[1] != len(columns):
            raise ValueError(
                f"lines have {frame.shape[1]} values, but the first line has {len(columns)} names"
            )
        frame.columns = [str(name) for name in columns]
    return frame
