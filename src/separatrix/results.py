"""A file of finished folds, one a line, from which an interrupted comparison goes on."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from separatrix.comparison import Fold, from_plain, to_plain

FORMAT = 1


class ResultsFile:
    """Folds that were finished, in a file that is added to line by line.

    The first line names the data. Each line after it is a fold with the key of its job: what is
    asked for again is found, whatever else the file holds. A last line that was cut off is
    dropped; it is the one fold that an interruption can lose.

    Parameters
    ----------
    path : path or str
        The file; it is made when there is none.
    data : str
        Fingerprint of the data. A file of other data is refused.

    Attributes
    ----------
    folds : dict of Fold
        By key.
    """

    def __init__(self, path: Any, data: str) -> None:
        self.path = Path(path)
        self.folds: dict[str, Fold] = {}
        header = _line({"separatrix": "comparison", "format": FORMAT, "data": data})
        content = self.path.read_bytes() if self.path.exists() else b""
        if header.startswith(content):  # new, empty, or cut off in its first line
            self.path.write_bytes(header)
            return
        whole = content[: content.rfind(b"\n") + 1]
        self._read(whole.splitlines(), data)
        if len(whole) < len(content):
            os.truncate(self.path, len(whole))

    def _read(self, lines: list[bytes], data: str) -> None:
        head = _parsed(lines[0]) if lines else None
        if not isinstance(head, dict) or head.get("separatrix") != "comparison":
            raise ValueError(
                f"results={str(self.path)!r} is not a file of results: name another file"
            )
        if head.get("format") != FORMAT:
            raise ValueError(
                f"results={str(self.path)!r} has format {head.get('format')}, this version "
                f"writes {FORMAT}: name another file"
            )
        if head.get("data") != data:
            raise ValueError(
                f"results={str(self.path)!r} holds results of other data (rows, labels or names "
                "of features differ): name another file, or delete this one"
            )
        for number, line in enumerate(lines[1:], start=2):
            entry = _parsed(line)
            try:
                self.folds[entry["key"]] = from_plain(Fold, entry["fold"])
            except (TypeError, KeyError, AttributeError):
                raise ValueError(
                    f"line {number} of results={str(self.path)!r} is damaged: delete that line"
                ) from None

    def add(self, key: str, fold: Fold) -> None:
        """Write a fold down; when this returns it is on the disk."""
        with self.path.open("ab") as file:
            file.write(_line({"key": key, "fold": to_plain(fold)}))
            file.flush()
            os.fsync(file.fileno())
        self.folds[key] = fold


def key_of(parts: Any) -> str:
    """A short text that only these parts have."""
    return hashlib.sha256(json.dumps(to_plain(parts), sort_keys=True).encode()).hexdigest()[:20]


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
