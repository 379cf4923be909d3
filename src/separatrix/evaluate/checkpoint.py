"""Finished folds in a file, one in each line, from which an interrupted comparison goes on."""

from __future__ import annotations

import functools
import json
import os
import re
import types
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import joblib
import numpy as np
import scipy.sparse as sp

from separatrix.evaluate.fold import Job
from separatrix.evaluate.records import Fold, from_plain, to_plain
from separatrix.linalg import Array
from separatrix.moments.labelled import LabelledRows

try:
    import fcntl
except ImportError:  # no locks: the manual says that one run at a time may write
    fcntl = None  # type: ignore[assignment]

RESULTS_FORMAT = 5
"""Number of the form of files of folds; folds of other forms have other fields."""


class JsonLinesFile:
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
        ``"format"``, and all else that entries share. A file with another heading raises.
    other : str
        How the message goes on for a file whose entries share something else.

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
                f"results={str(self.path)!r} has format {head.get('format')}, of another version "
                f"of separatrix, and this one reads and writes format {heading['format']}: name "
                "another file, or delete this one"
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
        """The error for a line that cannot be read."""
        return ValueError(
            f"line {number} of results={str(self.path)!r} is damaged: delete that line"
        )

    def add(self, entry: dict[str, Any]) -> None:
        """Add an entry; when this returns it is on the disk."""
        with self.path.open("ab") as file:
            file.write(_line(entry))
            file.flush()
            os.fsync(file.fileno())


class ResultsFile(JsonLinesFile):
    """Folds that were finished, in a file that is added to line by line.

    The first line names the data. Each line after it is a fold with the key of its job: the
    fold is found by this key, whatever else the file holds.

    Parameters
    ----------
    path : path or str
        The file; it is made when there is none.
    data : str
        `data_key` of the data. A file of other data raises.
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
            {"separatrix": "comparison", "format": RESULTS_FORMAT, "data": data},
            "holds results of other data (rows, labels or names of features differ)",
        )
        try:
            for number, entry in enumerate(self.entries, start=2):
                self._take(number, entry)
        except BaseException:
            self.close()
            raise

    def check_writable(self, n_folds: int) -> None:
        """Raise when `n_folds` folds are to be added to a file that may only be read."""
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

    def versions_used(self, keys: Iterable[str]) -> dict[str, str]:
        """Versions that computed these folds; several of a package with commas between."""
        used: dict[str, dict[str, None]] = {name: {} for name in self.versions}
        for key in keys:
            for name, which in self.versions_of[key].items():
                used.setdefault(name, {})[which] = None
        return {
            name: ", ".join(versions) or self.versions[name] for name, versions in used.items()
        }

    def keep(self, key: str, fold: Fold) -> None:
        """Add a fold; when this returns it is on the disk."""
        self.add({"key": key, "versions": self.versions, "fold": to_plain(fold)})
        self.folds[key] = fold
        self.versions_of[key] = self.versions


def read_folds(path: Any) -> list[Fold]:
    """The folds of a file of results, in the order in which they were finished.

    None where there is no such file; a last line that was cut off does not count.
    """
    try:
        lines = Path(path).read_bytes().split(b"\n")[1:-1]
    except FileNotFoundError:
        return []
    entries = [entry for entry in map(_parsed, lines) if isinstance(entry, dict)]
    return [from_plain(Fold, entry["fold"]) for entry in entries]


def is_in_use(path: Any) -> bool:
    """Whether another comparison writes to a file of results, where the system has locks."""
    if fcntl is None:
        return False
    with Path(path).open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks
            return False
    return False


# Keys --------------------------------------------------------------------------------------------


def data_key(data: LabelledRows) -> str:
    """A hash of rows, labels and names of features, whatever the layout of the array."""
    X = data.X
    entries = [X.data, X.indices, X.indptr] if sp.issparse(X) else [X]
    # joblib.hash distinguishes strides, and those of one column are arbitrary: flat entries
    flat = [part.ravel() for part in entries]
    labels = data.codes.astype(np.int64), data.classes.tolist()
    return joblib.hash([flat, X.shape, *labels, data.column_names])


def job_key(job: Job, test: Array, *others: Any) -> str:
    """A hash of the method with all its parameters, the settings and the test rows of a split.

    It is the same in every process and every run. Of the data it depends only on the test rows,
    and on `others` that make a split.
    """
    contender = job.contender
    grid = [[name, _spell(values)] for name, values in contender.grid.items()]  # in this order
    method = contender.name, contender.kind, contender.choose_dimension, contender.most_rows
    return joblib.hash(
        [
            [version("separatrix"), *method, *contender.in_units],
            [_spell(contender.estimator), grid, _spell(contender.prepare)],
            [job.split, job.random_state, test, *others],
            [job.judge.score, job.judge.costs, _spell_then(job.then)],
        ]
    )


def _spell(value: Any, inside: tuple[int, ...] = ()) -> Any:
    """A parameter as nested lists of texts that only equal parameters have, in any process.

    `joblib.hash` alone would not do: it knows functions by their name and not by their code and
    fails for lambdas, sees fitted attributes and the version of scikit-learn in an estimator, and
    takes frozen sets in the order of PYTHONHASHSEED. These are taken apart here, the rest is left
    to it.
    """
    if id(value) in inside:  # a function that calls itself
        return "itself"
    spell = functools.partial(_spell, inside=(*inside, id(value)))
    kind = _name(type(value))
    match value:
        case type():
            return _name(value)
        case dict():
            return [kind, *([spell(key), spell(part)] for key, part in value.items())]
        case list() | tuple():
            return [kind, *map(spell, value)]
        case set() | frozenset():
            return [kind, *sorted(joblib.hash(spell(part)) for part in value)]
        case functools.partial():
            return [kind, spell(value.func), spell(value.args), spell(value.keywords)]
        case types.MethodType():
            return [kind, spell(value.__func__), spell(value.__self__)]
        case types.FunctionType():
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            defaults = [value.__defaults__, value.__kwdefaults__]
            return [_name(value), _spell_code(value.__code__), spell(defaults), spell(cells)]
    if hasattr(value, "get_params"):
        return [kind, spell(value.get_params(deep=False))]
    try:
        return [kind, joblib.hash(value)]
    except Exception:  # it cannot be pickled
        return [kind, spell(getattr(value, "__dict__", ADDRESS.sub("", repr(value))))]


def _spell_code(code: types.CodeType) -> list[Any]:
    constants = [_spell_code(c) if isinstance(c, types.CodeType) else c for c in code.co_consts]
    return [joblib.hash(code.co_code), *code.co_names, _spell(constants)]


def _spell_then(then: Any) -> Any:
    return None if then is None else [_spell(then.estimator), _spell(dict(then.grid))]


ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""Where an object lies in memory, in its text."""


def _name(thing: Any) -> str:
    return f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', repr(thing))}"


# Lines -------------------------------------------------------------------------------------------


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
