"""One reader: every source is a list of parts, and every part a data frame.

A table is its parts one after the other, a stream is its parts cut into batches, and a Dask
collection is its parts, each read by the worker that needs it.
"""

from __future__ import annotations

import difflib
import glob
import gzip
import hashlib
import io
import os
import re
import stat
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from separatrix.files.bundled import BUNDLED, load_bundled
from separatrix.files.databases import read_database
from separatrix.files.fasta import is_protein_source, read_protein_columns
from separatrix.files.formats import (
    FOLDER_FORMATS,
    FORMAT_READERS,
    NO_PARQUET,
    find_format,
    frame_from_rows,
    is_table_in,
    open_array,
)
from separatrix.files.lines import (
    NOT_UTF8,
    SEPARATORS,
    check_line_lengths,
    find_separator,
    import_pandas,
    parse_lines,
    read_names,
    take_lines,
    transpose_lines,
)
from separatrix.files.mails import FILE, TEXT, is_mail_source, read_mail_columns
from separatrix.files.reading import Reading
from separatrix.files.samples import LABELS, join_samples, read_labels, read_samples
from separatrix.moments.sql import is_address

BLOCK_BYTES = 1 << 26
"""Size of a part of a file that is read in parts, about (64 MB)."""

HASHED_BYTES = 1 << 16
"""Bytes at the start of a stream of lines by which it is recognised."""

HASHED_ROWS = 100
"""First rows by which a stream of another format is recognised."""

DAMAGE_ERRORS = (EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile, re.error)
"""Errors of readers on content that was cut off or altered."""


class SourcePart(NamedTuple):
    """Some rows of a source: a file, bytes of its lines, some of its rows or row groups."""

    source: Any
    form: str
    start: int = 0
    stop: int | None = None

    @property
    def name(self) -> str:
        """The name of the source in messages."""
        return find_source_name(self.source)


class Chunk(NamedTuple):
    """Rows of a stream as they came.

    Attributes
    ----------
    frame : data frame
    end : int
        Byte of the lines, or row of another source, at which the next chunk begins.
    head : str
        A digest of the beginning, by which the source is recognised.
    """

    frame: Any
    end: int
    head: str


def find_source_name(source: Any) -> str:
    """The name of a source in messages."""
    if str(source) == "-":
        return "standard input"
    return str(source if isinstance(source, str | Path) else getattr(source, "name", "the table"))


# Which parts there are -----------------------------------------------------------------------


def list_parts(
    source: Any, reading: Reading, *, block_bytes: int | None = None
) -> list[SourcePart]:
    """The parts of a source, in the order of their rows.

    Parameters
    ----------
    source : str, path or open binary file
    reading : Reading
    block_bytes : int, optional
        About how large a part of a file is; by default each file is one part.
    """
    form = reading.form
    if is_address(source):
        return [SourcePart(source, "database")]
    if str(source) == "-" or not isinstance(source, str | Path):
        return [SourcePart(source, form or ("csv" if str(source) == "-" else find_format(source)))]
    path = Path(source)
    if form is None and is_protein_source(source):
        return [SourcePart(source, "proteins")]
    if form is None and is_mail_source(source):
        return [SourcePart(source, "mails")]
    if path.is_dir() and path.suffix != ".zarr" and form != "zarr":
        return _split_files(_list_folder(path, form), reading, block_bytes)
    if path.exists():
        return _split_files([str(source)], reading, block_bytes)
    if paths := sorted(glob.glob(str(source))):
        return _split_files(paths, reading, block_bytes)
    if str(source) not in BUNDLED:
        near = difflib.get_close_matches(str(source), BUNDLED, 1)
        raise FileNotFoundError(
            f"there is no file {source}, nor a bundled data set of that name"
            + (f": did you mean {near[0]}?" if near else f": these are {', '.join(BUNDLED)}")
        )
    return [SourcePart(source, "bundled")]


def _list_folder(folder: Path, form: str | None) -> list[str]:
    """The tables of a folder and those below it, all of one format."""
    tables = sorted(p for p in folder.rglob("*") if is_table_in(folder, p) and p.is_file())
    if form is not None:
        tables = [path for path in tables if find_format(path) == form]
    forms = sorted({find_format(path) for path in tables})
    if len(forms) != 1:
        raise ValueError(
            f"{folder} has {' and '.join(forms) or 'no parquet, csv or tsv'} files: give a "
            "directory of one kind, or a pattern such as 'folder/*.csv'"
        )
    return [str(path) for path in tables]


def _split_files(paths: list[str], reading: Reading, block_bytes: int | None) -> list[SourcePart]:
    parts = []
    for path in paths:
        form = reading.form or find_format(path)
        if len(paths) > 1 and form not in FOLDER_FORMATS:
            raise ValueError(f"{path}: several files are read as one table where they are "
                             f"{', '.join(FOLDER_FORMATS)}, not {form}")  # fmt: skip
        mode = os.stat(path).st_mode
        if stat.S_ISCHR(mode) and not os.isatty(0) and not path.startswith("/dev/stdin"):
            raise ValueError(f"{path} is a device, which has no end: name a file")
        if block_bytes is None or (not stat.S_ISREG(mode) and form != "zarr"):
            parts.append(SourcePart(path, form))
        else:
            parts += _split_file(path, form, reading, block_bytes)
    return parts


def _split_file(path: str, form: str, reading: Reading, block_bytes: int) -> list[SourcePart]:
    """The parts of one file, each of about the same number of bytes."""
    if form in SEPARATORS and not path.endswith(".gz") and not reading.transposed:
        size = os.path.getsize(path)
        starts = range(0, max(size, 1), block_bytes)
        return [SourcePart(path, form, start, min(start + block_bytes, size)) for start in starts]
    if form == "parquet":
        with _open_parquet(path) as file:
            return [SourcePart(path, form, i, i + 1) for i in range(max(1, file.num_row_groups))]
    if form in ("npy", "zarr"):
        rows = open_array(path) if form == "npy" else _open_zarr(path)[0]
        width = int(np.prod(rows.shape[1:], dtype=np.int64)) * rows.dtype.itemsize
        n_rows = max(1, block_bytes // max(width, 1))
        starts = range(0, max(rows.shape[0], 1), n_rows)
        return [SourcePart(path, form, s, min(s + n_rows, rows.shape[0])) for s in starts]
    return [SourcePart(path, form)]


# Parts as data frames --------------------------------------------------------------------------


def read_part(part: SourcePart, reading: Reading, n_rows: int | None = None) -> Any:
    """The rows of a part, or the first `n_rows` where these can be read by themselves.

    In lines the column of labels, and columns of words, are left as they are written. What counts
    as a gap among labels is in ``frame.attrs["gaps"]``, columns that are no features by their
    origin in ``frame.attrs["ids"]``, items that were left out in ``frame.attrs["skipped"]``.
    """
    name = part.name
    try:
        frame = _read_known(part, reading, n_rows)
        if frame is None:
            with open_bytes(part.source) as file:
                if part.form in SEPARATORS:
                    frame = _read_lines(file, part, reading, n_rows)
                elif part.form in FORMAT_READERS:
                    frame = FORMAT_READERS[part.form](_read_all(file, part), name)
                else:
                    raise ValueError(f"{name}: there is no format {part.form!r}")
    except UnicodeError:
        raise ValueError(f"{name} {NOT_UTF8}") from None
    except DAMAGE_ERRORS as error:
        raise ValueError(f"{name} is damaged, or not a {part.form} file: {error}") from None
    frame.columns = [str(column) for column in frame.columns]
    return frame


def _read_known(part: SourcePart, reading: Reading, n_rows: int | None) -> Any:
    """The rows of a part that is not read as bytes; None for any other."""
    source, form = part.source, part.form
    if form == "database":
        return read_database(source)
    if form == "proteins":
        return _frame_of_items(*read_protein_columns(source, skip_bad=reading.skip_bad), "name")
    if form == "mails":
        frame = _frame_of_items(*read_mail_columns(source, skip_bad=reading.skip_bad), FILE)
        frame.attrs["text"] = [TEXT]
        return frame
    if form == "bundled":
        bunch = load_bundled(str(source))
        frame = import_pandas().DataFrame(bunch.data, columns=list(bunch.feature_names))
        return frame.assign(target=bunch.target)
    if part.stop is None:
        return _read_zarr(part) if form == "zarr" else None
    if form == "parquet":
        with _open_parquet(source) as file:
            table = file.read_row_group(part.start) if file.num_row_groups else file.read()
            return table.to_pandas().reset_index(drop=True)
    if form == "npy":
        # mapped anew for each part: pages of the parts before count as memory otherwise
        rows = np.array(open_array(source)[part.start : part.stop])
        return frame_from_rows(rows, part.name)
    return _read_zarr(part) if form == "zarr" else None


def _frame_of_items(columns: dict[str, Any], skipped: list[str], name: str) -> Any:
    """A data frame of items that are no rows of a file; `name` is the column of their names."""
    frame = import_pandas().DataFrame(columns)
    frame.attrs.update(ids=[name], skipped=skipped)
    return frame


def _read_all(file: Any, part: SourcePart) -> Any:
    """The content of a file of a format that has to be read whole."""
    start = file.read(1 << 16)
    if part.form == "arff" and b"\0" in start:
        raise ValueError(f"{part.name} has zero bytes, as binary files have: it is no {part.form}")
    marks = {"npz": (b"PK", b"\x93N"), "parquet": (b"PAR1",), "npy": (b"\x93NUMPY",),
             "excel": (b"PK", b"\xd0\xcf")}  # fmt: skip
    if part.form in marks and not start.startswith(marks[part.form]):
        raise ValueError(
            f"{part.name} is not {part.form}: give its format (--format), or rename it"
        )
    return io.BytesIO(start + file.read())


def _read_lines(file: Any, part: SourcePart, reading: Reading, n_rows: int | None) -> Any:
    sep = find_separator(reading, part.form)
    if reading.transposed:
        file, ids = transpose_lines(_with_line_ends(file), sep, reading.ignore), True
    else:
        file, ids = _with_line_ends(file), False
    lines_before = int(reading.header)
    try:
        names, row = read_names(file, sep, reading)
        if part.stop is not None and (part.start or part.stop < os.path.getsize(part.source)):
            content: Any = io.BytesIO(row * (part.start == 0) + _read_range(file, part))
        elif not row:
            content = file
        elif file.seekable():
            file.seek(0)
            content = file
        else:
            content = io.BytesIO(row + file.read())
        begin = content.tell() if content.seekable() else None
        left_out = {*reading.ignore} if ids else set()
        target = reading.find_target([name for name in names if name not in left_out])
        frame = parse_lines(content, names, target, reading, sep,
                            lines_before=lines_before, n_rows=n_rows)  # fmt: skip
        if begin is not None and len(frame) and frame[names[-1]].isna().any():
            content.seek(begin)
            check_line_lengths(content, len(names), sep, lines_before=lines_before)
    except UnicodeError:
        raise
    except ValueError as error:
        raise ValueError(f"{part.name}: {error}") from None
    if ids:
        frame.attrs["ids"] = names[:1]
    return frame


def _with_line_ends(file: Any) -> Any:
    """The file, or its text with line ends where it has the single CR of old programs."""
    if not file.seekable():
        return file
    begin = file.tell()
    start = file.read(HASHED_BYTES)
    file.seek(begin)
    if b"\n" in start or b"\r" not in start:
        return file
    return io.BytesIO(file.read().replace(b"\r\n", b"\n").replace(b"\r", b"\n"))


def _read_range(file: Any, part: SourcePart) -> bytes:
    """The lines that begin between two bytes of a file, whose names have been read."""
    begin, stop = max(part.start, file.tell()), part.stop or 0
    if begin > file.tell():
        file.seek(begin - 1)
        file.readline()
    content = bytes(file.read(max(0, stop - file.tell())))
    if content and not content.endswith(b"\n"):
        content += file.readline()
    if content.count(b'"') % 2:
        raise ValueError("a value in quotes goes over several lines: read the file whole "
                         "(without --engine)")  # fmt: skip
    return content


@contextmanager
def open_bytes(source: Any) -> Iterator[Any]:
    """Bytes of a file, packed or not, of standard input, or of a file that is open."""
    if str(source) == "-":
        if sys.stdin is None:
            raise ValueError("standard input is closed: name a file")
        yield sys.stdin.buffer
    elif isinstance(source, str | Path):
        with gzip.open(source) if str(source).endswith(".gz") else open(source, "rb") as file:
            yield file
    else:
        yield source


@contextmanager
def _open_parquet(path: Any) -> Iterator[Any]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise ImportError(NO_PARQUET) from None
    try:
        with ParquetFile(path) as file:
            yield file
    except (ArrowException, OSError) as error:
        raise ValueError(f"{path} is not a parquet file that can be read: {error}") from None


def _open_zarr(path: Any) -> tuple[Any, Any, str]:
    """Rows and labels of a zarr group, not read, and the name of the labels."""
    try:
        import zarr
    except ImportError:
        raise ImportError("zarr groups are read with zarr: pip install zarr") from None
    group: Any = zarr.open(path, mode="r")
    names = sorted(group.array_keys()) if hasattr(group, "array_keys") else []
    pairs = [p for p in (("X", "y"), ("data", "target")) if set(p) <= set(names)]
    if not pairs:
        raise ValueError(
            f"{path} needs arrays X and y, or data and target: it has "
            f"{', '.join(names) or 'no arrays'}"
        )
    rows: Any = group[pairs[0][0]]
    labels: Any = group[pairs[0][1]]
    return rows, labels, pairs[0][1]


def _read_zarr(part: SourcePart) -> Any:
    rows, labels, name = _open_zarr(part.source)
    some = slice(part.start, part.stop)
    frame = frame_from_rows(np.asarray(rows[some]), part.name)
    return frame.assign(**{name: np.asarray(labels[some])})


# Whole tables --------------------------------------------------------------------------------


def read_frame(source: Any, reading: Reading) -> Any:
    """All rows of a source as one data frame, with labels and samples of other files."""
    parts = list_parts(source, reading)
    frame = _concatenate([(part, read_part(part, reading)) for part in parts])
    if reading.labels is not None:
        frame[LABELS] = read_labels(reading.labels, len(frame), find_source_name(source))
    if reading.samples is not None:
        frame = join_samples(frame, read_samples(reading.samples), reading)
    return frame


def _concatenate(parts: Sequence[tuple[SourcePart, Any]]) -> Any:
    """Parts one after the other, their columns by name."""
    (first, begin), *others = parts
    if not others:
        return begin
    for part, frame in others:
        check_same_columns(part.name, list(frame), first.name, list(begin))
    with_rows = [frame for _, frame in parts if len(frame)] or [begin]
    whole = import_pandas().concat([frame[list(begin)] for frame in with_rows], ignore_index=True)
    gaps: dict[str, int] = {}
    for _, frame in parts:
        for word, count in frame.attrs.get("gaps", {}).items():
            gaps[word] = gaps.get(word, 0) + count
    whole.attrs = {**begin.attrs, "gaps": gaps}
    return whole


def check_same_columns(path: str, own: Sequence[str], first: str, names: Sequence[str]) -> None:
    """Raise for a file whose columns are not those of the first one, in whatever order."""
    for columns, here, there in ((own, path, first), (names, first, path)):
        other = set(names) if columns is own else set(own)
        more = [name for name in columns if name not in other]
        if more:
            raise ValueError(
                f"{path} has other columns than {first}: {here} has {more[0]!r}, {there} has not. "
                "Give all files the same names of columns in their first lines"
            )


# Streams ---------------------------------------------------------------------------------------

OTHER_ROWS = (
    "these are not the rows that were learned before: their beginning differs. If they come after "
    "them, say so (--new-rows)"
)


def iter_chunks(
    source: Any, reading: Reading, *, n_rows: int, start: int = 0, head: str | None = None
) -> Iterator[Chunk]:
    """Rows of a source, `n_rows` at a time, from any chunk on.

    Parameters
    ----------
    source : str, path or open binary file
        Lines are read as they come: a pipe will do, or a file that is still written.
    reading : Reading
    n_rows : int
        Rows of a chunk; in lines with quoted line ends, lines.
    start : int
        The ``end`` of an earlier chunk to go on from.
    head : str, optional
        Its ``head``; a source that begins otherwise raises.
    """
    parts = list_parts(source, reading)
    whole = reading.transposed or reading.labels is not None
    if len(parts) == 1 and parts[0].form in SEPARATORS and not whole:
        with open_bytes(source) as file:
            chunks = _iter_lines(file, parts[0], reading, n_rows, start, head)
            yield from _with_samples(chunks, reading)
        return
    if reading.labels is not None and parts[0].form != "npy":
        frames: Iterable[Any] = [read_frame(source, reading)]
        reading = Reading()
    else:
        frames = _iter_frames(parts, reading, n_rows)
    yield from _with_samples(_cut_frames(frames, n_rows, start, head), reading)


def _with_samples(chunks: Iterable[Chunk], reading: Reading) -> Iterator[Chunk]:
    sheet = None if reading.samples is None else read_samples(reading.samples)
    for chunk in chunks:
        if sheet is not None:
            chunk = chunk._replace(frame=join_samples(chunk.frame, sheet, reading))
        yield chunk


def _iter_frames(parts: Sequence[SourcePart], reading: Reading, n_rows: int) -> Iterator[Any]:
    """The parts of a table in smaller ones, where their format allows."""
    begin: tuple[str, list[str]] | None = None
    for part in parts:
        for frame in _iter_part(part, reading, n_rows):
            if begin is None:
                begin = part.name, list(frame)
            check_same_columns(part.name, list(frame), *begin)
            attrs = frame.attrs
            frame = frame[begin[1]]
            frame.attrs = attrs
            yield frame


def _iter_part(part: SourcePart, reading: Reading, n_rows: int) -> Iterator[Any]:
    if part.form == "parquet" and isinstance(part.source, str | Path):
        with _open_parquet(part.source) as file:
            for batch in file.iter_batches(n_rows):
                frame = batch.to_pandas().reset_index(drop=True)
                frame.columns = [str(name) for name in frame.columns]
                yield frame
    elif part.form == "npy" and isinstance(part.source, str | Path) and str(part.source) != "-":
        length = open_array(str(part.source)).shape[0]
        labels = None
        if reading.labels is not None:
            labels = read_labels(reading.labels, length, part.name)
        for start in range(0, length, n_rows):
            stop = min(start + n_rows, length)
            frame = read_part(part._replace(start=start, stop=stop), reading)
            yield frame if labels is None else frame.assign(**{LABELS: labels[start:stop]})
    else:
        yield read_part(part, reading)


def _cut_frames(
    frames: Iterable[Any], n_rows: int, start: int, head: str | None
) -> Iterator[Chunk]:
    place, digest = 0, ""
    for frame in frames:
        if place == 0:
            rows = frame.iloc[:HASHED_ROWS].to_csv(index=False).encode()
            digest = hashlib.sha256(rows).hexdigest()
            if start and head not in (None, digest):
                raise ValueError(OTHER_ROWS)
        for i in range(0, len(frame), n_rows):
            rest = frame.iloc[i : i + n_rows].iloc[max(0, start - place) :]
            place += len(frame.iloc[i : i + n_rows])
            if len(rest):
                rest.attrs = frame.attrs
                yield Chunk(rest, place, digest)
    if place < start:
        raise ValueError(
            f"the table is {start - place} rows shorter than the part that was learned before"
        )


class _KnownLines:
    """A file that remembers how much was read of it, and its first bytes."""

    def __init__(self, file: Any) -> None:
        self.file, self.first, self.place = file, b"", 0

    def _count(self, content: bytes) -> bytes:
        if len(self.first) < HASHED_BYTES:
            self.first += content[: HASHED_BYTES - len(self.first)]
        self.place += len(content)
        return content

    def read(self, size: int) -> bytes:
        """Bytes."""
        return self._count(self.file.read(size))

    def readline(self, size: int = -1) -> bytes:
        """A line."""
        return self._count(self.file.readline(size))

    def digest(self, end: int) -> str:
        """The digest of the bytes read so far."""
        return hashlib.sha256(self.first[:end]).hexdigest()


def _iter_lines(
    file: Any, part: SourcePart, reading: Reading, n_rows: int, start: int, head: str | None
) -> Iterator[Chunk]:
    """Lines as far as they have been written."""
    lines, sep = _KnownLines(_with_line_ends(file)), find_separator(reading, part.form)
    try:
        names, row = read_names(lines, sep, reading)
        target = reading.find_target(names)
        if start > lines.place - len(row):
            _skip(lines, start, head)
            row = b""
        end = lines.place - len(row)
        while block := row + take_lines(lines, n_rows - bool(row)):
            row, end = b"", end + len(block)
            if block.strip():
                frame = parse_lines(io.BytesIO(block), names, target, reading, sep)
                yield Chunk(frame, end, lines.digest(end))
    except UnicodeError:
        raise ValueError(f"the stream {NOT_UTF8}") from None


def _skip(lines: _KnownLines, start: int, head: str | None) -> None:
    """Move to a byte of the stream, whose first line has been read."""
    passed = lines.first[-1:]
    begin = min(start, HASHED_BYTES)
    while lines.place < begin and (more := lines.read(begin - lines.place)):
        passed = more
    if head is not None and lines.digest(start) != head:
        raise ValueError(OTHER_ROWS)
    while lines.place < start:
        if not (passed := lines.read(min(start - lines.place, 1 << 20))):
            raise ValueError(
                f"the stream is {start - lines.place} bytes shorter than the part that was "
                "learned before"
            )
    if not passed.endswith(b"\n") and lines.readline().strip():
        raise ValueError(
            "the last line that was learned was not complete then: it has gone on. Start anew, "
            "and stop a stream that is being written at the end of a line"
        )
