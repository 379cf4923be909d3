"""Models in files that hold data and no code: a type that is not known by name is not built."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import stat
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from copy import deepcopy
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from separatrix.files.archive import build_model, is_model, pack_model
from separatrix.files.audit import NotAllowedError

MODEL_FORMAT = 2
"""Number of the format in which files are written; raised when fitted models change their parts,
with a function in `separatrix.files.migrations` for files of the one before. Since 2, types are
named as in `separatrix.files.names`; before, by their modules."""

OLDEST_FORMAT = 1
"""The oldest format that is still read."""

FIRST_LINE = re.compile(rb"(separatrix model (\d{1,6}) (\d{1,15})) ([0-9a-f]{64})\n")


class Stored(NamedTuple):
    """The content of a model file.

    Attributes
    ----------
    model : estimator
    notes : dict
        Notes beside the model.
    versions : dict
        Packages that wrote the file.
    """

    model: Any
    notes: dict[str, Any]
    versions: dict[str, str]


def save(
    model: Any, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None
) -> None:
    """Write a model to a file, whole or not at all.

    The file holds numbers, text and names of known types; `load` gives the same model back, bit by
    bit, and runs nothing that the file could bring along. It says which versions wrote it. An
    existing file is replaced in one step when the new one is safely on disk.

    Parameters
    ----------
    model : estimator
        Of this package, a `ClassMoments`, or a scikit-learn pipeline around one. Functions, such
        as a kernel of one's own, and random generators raise an error, also before the
        model is fitted, where they are among its parameters.
    path : str or path
        The file.
    notes : mapping, optional
        Anything that JSON can hold, kept beside the model; see `read`.

    Examples
    --------
    >>> import os, tempfile
    >>> from separatrix import FisherDiscriminant, datasets, load, save
    >>> wine = datasets.load("wine")
    >>> model = FisherDiscriminant().fit(wine.data, wine.target)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, os.path.join(folder, "wine.model"))
    ...     again = load(os.path.join(folder, "wine.model"))
    >>> bool((again.transform(wine.data) == model.transform(wine.data)).all())
    True
    """
    write_whole(path, pack_file(model, notes or {}))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        Exactly the one that was saved; it predicts the same and goes on learning.

    Raises
    ------
    ValueError
        When the file is not a whole, unaltered model file of a known format, or names a type that
        has no place in one. Nothing in it has been run then.

    Notes
    -----
    Every type in the file is looked up in a list before anything is built: the estimators of this
    package with their parts, and a few of scikit-learn whose content can be checked. A file from
    a stranger so runs no code; its numbers may still be nonsense, and so may the predictions.
    """
    return read(path).model


def read(path: str | os.PathLike[str]) -> Stored:
    """`load` with the notes and the versions that wrote the file.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    Stored
        With fields ``model``, ``notes`` and ``versions``.
    """
    with open(path, "rb") as file:
        first = FIRST_LINE.fullmatch(start := file.readline(120))
        if first is None:
            raise ValueError(f"{path} is not a model file of separatrix{_guess_content(start)}")
        number, size = int(first[2]), int(first[3])
        _check_format(path, number)
        left = os.fstat(file.fileno()).st_size - file.tell()
        if left < size:
            raise ValueError(
                f"{path} is cut short: {left} of {size} bytes are left. Copy it again"
            )
        content = file.read()
    if len(content) != size or _digest(first[1], content) != first[4].decode():
        raise ValueError(
            f"{path} was altered after it was written: its checksum differs. Copy it again"
        )
    line, _, archive = content.partition(b"\n")
    versions: dict[str, str] = {}
    try:
        about = json.loads(line)
        notes, versions = dict(about["notes"]), dict(about["versions"])
        model = build_model(archive, number)
    except NotAllowedError as error:
        raise ValueError(f"{path} is rejected, and nothing in it was run: {error}") from None
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read ({type(error).__name__}: {error}){_other_versions(versions)}"
        ) from error
    return Stored(model, notes, versions)


def _check_format(path: object, number: int) -> None:
    if number > MODEL_FORMAT:
        raise ValueError(
            f"{path} has format {number}, newer than {MODEL_FORMAT}, the newest that separatrix "
            f"{_version('separatrix')} reads: upgrade separatrix"
        )
    if number < OLDEST_FORMAT:
        raise ValueError(
            f"{path} has format {number}, older than {OLDEST_FORMAT}, the oldest that separatrix "
            f"{_version('separatrix')} reads: fit the model again, or load it with the version "
            "that its second line names"
        )


def _guess_content(start: bytes) -> str:
    """A guess at what a file is by its first bytes, to say so."""
    packed_by_zlib = tuple(b"\x78" + level for level in (b"\x01", b"\x5e", b"\x9c", b"\xda"))
    if start.startswith((b"\x80", b"\x1f\x8b", *packed_by_zlib)):
        return ": it looks like a pickle or joblib file, which can run anything when it is opened"
    if start.startswith(b"PK"):
        return ": it looks like a zip archive"
    return "" if start else ": it is empty"


# Writing --------------------------------------------------------------------------------------


def pack_file(model: Any, notes: Mapping[str, Any]) -> bytes:
    """The bytes of a model file."""
    name = type(model).__name__
    if not is_model(model):
        raise TypeError(f"save takes an estimator, not a {name}")
    try:
        # copies of arrays keep the order of their axes, which would be lost for views: products
        # in another order differ in their last digits
        archive = pack_model(deepcopy(model))
    except NotAllowedError as error:
        raise ValueError(f"this {name} cannot be saved: {error}") from None
    except TypeError as error:
        raise ValueError(f"this {name} cannot be saved: {error}") from error
    about = {"model": name, "versions": _versions(), "notes": dict(notes)}
    content = json.dumps(about).encode() + b"\n" + archive
    title = f"separatrix model {MODEL_FORMAT} {len(content)}".encode()
    return title + f" {_digest(title, content)}\n".encode() + content


def _digest(title: bytes, content: bytes) -> str:
    """The checksum of a file: of its first line, as far as there, and all below."""
    return hashlib.sha256(title + content).hexdigest()


PART = ".part"
"""How the names of files end that are being written."""


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file such that whatever happens the old one or the new one is there, and whole."""
    target = Path(os.path.realpath(path))
    rights = 0o666 & ~_umask()
    if target.exists():
        mode = target.stat().st_mode
        if not stat.S_ISREG(mode):  # a device or a pipe stays what it is, a folder raises
            target.write_bytes(content)
            return
        rights = stat.S_IMODE(mode)
    _sweep(target)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=PART)
    try:
        with os.fdopen(handle, "wb") as file:
            _lock(file.fileno())
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, rights)
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):  # a disk without room does not say which file it was
            error.filename = os.fspath(path)
        raise
    _sync_folder(target.parent)


def _lock(handle: int) -> None:
    """Hold a file until this process has ended; raises `OSError` when another one holds it.

    On Windows nothing has to be done: a file that is open there cannot be removed.
    """
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sweep(target: Path) -> None:
    """Remove what writers of this file left that were killed; a file being written stays."""
    name = re.compile(re.escape(f".{target.name}.") + r"\w{8}" + re.escape(PART))
    for left in [path for path in target.parent.iterdir() if name.fullmatch(path.name)]:
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > 1:  # a new file may not be locked yet
                with left.open("rb") as file:
                    _lock(file.fileno())
                left.unlink()


def _sync_folder(folder: Path) -> None:
    """Let the new name survive a power cut, where folders can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _versions() -> dict[str, str]:
    names = ("separatrix", "scikit-learn", "numpy", "scipy")
    return {"python": platform.python_version(), **{name: _version(name) for name in names}}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _other_versions(versions: Mapping[str, str]) -> str:
    """Which versions wrote a file, as far as they are not those of now."""
    now = _versions()
    others = [f"{k} {v} (now {now[k]})" for k, v in versions.items() if now.get(k, v) != v]
    return f". It was written with {', '.join(others)}: install these to read it" if others else ""
