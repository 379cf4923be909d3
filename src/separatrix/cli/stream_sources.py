"""Where the batches of a stream come from: text that is still growing, or a table."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple


@contextmanager
def open_source(
    data: str, form: str | None, lines: dict[str, Any], reading: dict[str, Any]
) -> Iterator[TextSource | TableSource]:
    """Text that is read line by line, or a table of another format; `lines` is how lines are."""
    from separatrix.files.mails import is_mail_source
    from separatrix.files.readers import SEPARATORS, find_format, open_bytes

    whole = is_mail_source(data) or (data != "-" and not Path(data).exists())
    form = form or (None if whole else "csv" if data == "-" else find_format(data))
    if form not in SEPARATORS:
        yield TableSource(data, {**reading, "form": form})
        return
    with open_bytes(data) as file:
        style = {**lines, "sep": lines["sep"] or SEPARATORS[form]}
        reading = {name: value for name, value in reading.items() if name != "skip_bad"}
        yield TextSource(RecognisedFile(file), {**reading, **style})


class TextSource(NamedTuple):
    """Batches of lines, as far as they have been written."""

    file: Any
    reading: dict[str, Any]

    def batches(self, ignore: Sequence[str]) -> Iterator[Any]:
        """One batch after the other."""
        from separatrix.files.batches import iter_batches

        return iter_batches(self.file, ignore=ignore, **self.reading)

    def digest(self, batch: Any, place: int) -> str:
        """The digest by which the text is recognised."""
        return str(self.file.digest(place))


class TableSource(NamedTuple):
    """Batches of a table that is complete."""

    data: str
    reading: dict[str, Any]

    def batches(self, ignore: Sequence[str]) -> Iterator[Any]:
        """One batch after the other."""
        from separatrix.files.batches import table_batches

        return table_batches(self.data, ignore=ignore, **self.reading)

    def digest(self, batch: Any, place: int) -> str:
        """The digest by which the table is recognised."""
        return str(batch.head)


class RecognisedFile:
    """A file that remembers its first bytes, by which it is recognised when it is read again."""

    def __init__(self, file: Any) -> None:
        from separatrix.files.batches import HASHED_BYTES

        self.file, self.first, self.n_remembered = file, b"", HASHED_BYTES

    def _remember(self, content: bytes) -> bytes:
        if len(self.first) < self.n_remembered:
            self.first += content[: self.n_remembered - len(self.first)]
        return content

    def read(self, size: int) -> bytes:
        """Bytes."""
        return self._remember(self.file.read(size))

    def readline(self) -> bytes:
        """A line."""
        return self._remember(self.file.readline())

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")

    def digest(self, place: int) -> str:
        """The digest of what was read up to a byte."""
        from separatrix.files.batches import hash_first_bytes

        return hash_first_bytes(io.BytesIO(self.first), place)
