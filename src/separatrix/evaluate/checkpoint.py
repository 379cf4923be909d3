"""Files of what is finished, one entry a line, from which an interrupted run goes on."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import sys
import types
from pathlib import Path
from typing import Any, BinaryIO

import joblib
import numpy as np

from separatrix.evaluate.records import Fold, from_plain, to_plain

try:
    import fcntl
except ImportError:  # no locks: the manual says that one run at a time may write
    fcntl = None  # type: ignore[assignment]

FORMAT = 1


class Lines:
    """Entries in a file that is added to line by line.

    The first line is a heading. A last line that was cut off is dropped: it is the one entry that
    an interruption can lose. Until `close` the file is locked where the system has locks: two runs
    at a time would cut off each other's lines.

    Parameters
    ----------
    path : path or str
        The file; it is made when there is none.
    heading : dict
        With the name of the content for ``"separatrix"``, the number of the format for
        ``"format"``, and what else all entries share. A file with another heading is refused.
    other : str
        What to say of a file that differs in what else all entries share.

    Attributes
    ----------
    entries : list of dict
        Those that were there.
    held : file or None
        The file, to be added to; None where it may only be read.
    """

    def __init__(self, path: Any, heading: dict[str, Any], other: str = "") -> None:
        self.path = Path(path)
        self.entries: list[Any] = []
        try:
            self.held: BinaryIO | None = self.path.open("ab")
        except PermissionError:
            if not self.path.is_file():
                raise
            self.held = None
        try:
            self._lock(heading["separatrix"])
            self._open(heading, other)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let others write to the file."""
        if self.held is not None:
            self.held.close()

    def _lock(self, content: str) -> None:
        if fcntl is None or self.held is None:
            return
        try:
            fcntl.flock(self.held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"results={str(self.path)!r} is being written by another {content}: wait for its "
                "end, or name another file"
            ) from None
        except OSError:
            return  # a file system without locks

    def _open(self, heading: dict[str, Any], other: str) -> None:
        first = _line(heading)
        content = self.path.read_bytes() if self.path.exists() else b""
        if first.startswith(content):  # new, empty, or cut off in its first line
            if self.held is not None:
                self.path.write_bytes(first)
            return
        whole = content[: content.rfind(b"\n") + 1]
        self._read(whole.splitlines(), heading, other)
        if len(whole) < len(content) and self.held is not None:
            os.truncate(self.path, len(whole))

    def _read(self, lines: list[bytes], heading: dict[str, Any], other: str) -> None:
        head = _parsed(lines[0]) if lines else None
        if not isinstance(head, dict) or head.get("separatrix") != heading["separatrix"]:
            raise ValueError(
                f"results={str(self.path)!r} is not a file of results: name another file"
            )
        if head.get("format") != heading["format"]:
            raise ValueError(
                f"results={str(self.path)!r} has format {head.get('format')}, this version "
                f"writes {heading['format']}: name another file"
            )
        if head != heading:
            raise ValueError(
                f"results={str(self.path)!r} {other}: name another file, or delete this one"
            )
        for number, line in enumerate(lines[1:], start=2):
            entry = _parsed(line)
            if not isinstance(entry, dict):
                raise self.damaged(number)
            self.entries.append(entry)

    def damaged(self, number: int) -> ValueError:
        """The mistake of a line that cannot be read."""
        return ValueError(
            f"line {number} of results={str(self.path)!r} is damaged: delete that line"
        )

    def add(self, entry: dict[str, Any]) -> None:
        """Write an entry down; when this returns it is on the disk."""
        with self.path.open("ab") as file:
            file.write(_line(entry))
            file.flush()
            os.fsync(file.fileno())


class ResultsFile(Lines):
    """Folds that were finished, in a file that is added to line by line.

    The first line names the data. Each line after it is a fold with the key of its job: what is
    asked for again is found, whatever else the file holds.

    Parameters
    ----------
    path : path or str
        The file; it is made when there is none.
    data : str
        Fingerprint of the data. A file of other data is refused.
    versions : dict of str
        Of the packages that compute the folds to come; kept with each of them.

    Attributes
    ----------
    folds : dict of Fold
        By key.
    versions_of : dict of dict
        The versions that computed them, by key.
    """

    def __init__(self, path: Any, data: str, versions: dict[str, str]) -> None:
        self.folds: dict[str, Fold] = {}
        self.versions = versions
        self.versions_of: dict[str, dict[str, str]] = {}
        super().__init__(
            path,
            {"separatrix": "comparison", "format": FORMAT, "data": data},
            "holds results of other data (rows, labels or names of features differ)",
        )
        try:
            for number, entry in enumerate(self.entries, start=2):
                self._take(number, entry)
        except BaseException:
            self.close()
            raise

    def refuse_more(self, n_folds: int) -> None:
        """Raise when so many folds are to be added to a file that may only be read."""
        if self.held is None and n_folds:
            raise PermissionError(
                f"results={str(self.path)!r} may not be written to, and {n_folds} of the folds "
                "asked for are not in it: allow it, or name another file"
            )

    def _take(self, number: int, entry: Any) -> None:
        try:
            self.folds[entry["key"]] = from_plain(Fold, entry["fold"])
            self.versions_of[entry["key"]] = dict(entry.get("versions", {}))
        except (TypeError, KeyError, AttributeError):
            raise self.damaged(number) from None

    def keep(self, key: str, fold: Fold) -> None:
        """Write a fold down; when this returns it is on the disk."""
        self.add({"key": key, "versions": self.versions, "fold": to_plain(fold)})
        self.folds[key] = fold
        self.versions_of[key] = self.versions


def key_of(parts: Any) -> str:
    """A short text that only these parts have."""
    return hashlib.sha256(json.dumps(to_plain(parts), sort_keys=True).encode()).hexdigest()[:20]


def exact(value: Any, inside: tuple[int, ...] = ()) -> Any:
    """A parameter as plain text that other values do not have, and that other runs give again.

    Arrays are whole, estimators have all their parameters, functions are known by their name, code
    and defaults: nothing depends on where an object lies in memory.

    Examples
    --------
    >>> exact(np.arange(2000)) == exact(np.arange(2000)), exact([1]) == exact([1.0])
    (True, False)
    """
    if id(value) in inside:  # a function that calls itself
        return "..."
    within = functools.partial(exact, inside=(*inside, id(value)))
    kind = type(value)
    if isinstance(value, dict):
        return [[within(key), within(part)] for key, part in value.items()]
    if isinstance(value, list | tuple):
        return [kind.__name__, *map(within, value)]
    if isinstance(value, set | frozenset):  # their order differs from run to run
        return [kind.__name__, *sorted(json.dumps(within(part)) for part in value)]
    if isinstance(value, np.ndarray) and value.dtype.hasobject:
        return ["array", value.shape, within(value.tolist())]
    if isinstance(value, np.ndarray):
        return ["array", str(value.dtype), value.shape, _hash(np.ascontiguousarray(value).data)]
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        defaults = [value.__defaults__, value.__kwdefaults__]
        return [_name(value), _code(value.__code__), within(defaults), within(cells)]
    if isinstance(value, types.MethodType):
        return [within(value.__func__), within(value.__self__)]
    if isinstance(value, functools.partial):
        return ["partial", within(value.func), within(value.args), within(value.keywords)]
    if isinstance(value, type | types.BuiltinFunctionType | np.ufunc):
        return _name(value)
    if hasattr(value, "get_params"):
        return [_name(kind), within(value.get_params(deep=False))]
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):  # nothing of an array hidden
        text = repr(value)
    if ADDRESS.search(text):
        with contextlib.suppress(Exception):  # what cannot be pickled is known by its kind alone
            return [_name(kind), joblib.hash(value)]
    return [_name(kind), ADDRESS.sub("", text)]


ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""Where an object lies, in what Python prints of it."""


def _name(thing: Any) -> str:
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', repr(thing))}"


def _code(code: types.CodeType) -> str:
    inner = [_code(c) if isinstance(c, types.CodeType) else exact(c) for c in code.co_consts]
    return _hash(repr((code.co_code, code.co_names, inner)).encode())


def _hash(content: Any) -> str:
    return hashlib.sha256(content).hexdigest()[:20]


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
