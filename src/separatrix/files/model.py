"""Models in files that hold data and no code: a zip of one JSON header and arrays of NumPy.

The header (``model.json``) spells the model out as a tree; arrays are entries ``0.npy``, ``1.npy``
and so on, stored as they are. Text, numbers, truth values, null and lists stand for themselves;
everything else is an object of one key that names its type:

======================================  =====================================================
``{"array": 3}``                        the entry ``3.npy``
``{"csr_array": [shape, ...]}``         a sparse matrix by its three arrays
``{"objects": [shape, items]}``         an array of Python objects
``{"tuple": [...]}``                    a tuple
``{"dict": [[key, value], ...]}``       a dictionary
``{"float64": 0.5}``                    a number or text of a type of NumPy
``{"type": "float64"}``                 such a type itself; ``"dtype"``, ``"slice"`` likewise
``{"FisherDiscriminant": {...}}``       an object by its attributes: `separatrix.files.names`
======================================  =====================================================

The comment of the zip has the number of the format and the SHA-256 of all before it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import stat
import zipfile
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator

from separatrix.files.checks import NotAllowedError, check_answers, shown, stores_rows
from separatrix.files.names import find_type
from separatrix.files.trees import Reader, Writer, pack_array, read_array
from separatrix.files.whole import write_whole

MODEL_FORMAT = 1
"""Number of the format; no other is read."""

HEADER = "model.json"

MAX_ITEMS = 1_000_000
"""Most items that a header may have: each takes up to a hundred bytes when it is read."""

MAX_ENTRIES = 200_000
"""Most arrays of a file."""

COMMENT = re.compile(rb"separatrix model (\d{6}) ([0-9a-f]{64})")
COMMENT_SIZE = 17 + 6 + 1 + 64


class Stored(NamedTuple):
    """The content of a model file.

    Attributes
    ----------
    model : estimator
    notes : dict
        Notes stored with the model.
    versions : dict
        Packages that wrote the file.
    stores_rows : bool
        Whether training rows are in the file.
    """

    model: Any
    notes: dict[str, Any]
    versions: dict[str, str]
    stores_rows: bool = False


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
        Text, numbers, lists, dictionaries and arrays that are kept with the model; see `read`.

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
        When the file is not a whole, unaltered model file, or names a type or an attribute that
        has no place in one. Nothing in it has been run then.

    Notes
    -----
    Types are looked up in a list: the estimators of this package with their parts, and a few of
    scikit-learn whose content can be checked. Sizes, shapes, counts and nesting are checked before
    memory is taken for them. A file from a stranger so runs no code; its numbers may still be
    nonsense, and so may the predictions.
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
        With fields ``model``, ``notes``, ``versions`` and ``stores_rows``.
    """
    with open(path, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError(f"{path} is no file on a disk: models are read from files")
        start = file.read(64)
        if HEADER.encode() not in start:
            raise ValueError(f"{path} is not a model file of separatrix{_guess_content(start)}")
        content = start + file.read()
    _check_whole(path, content)
    versions: dict[str, str] = {}
    try:
        about, reader = _open_archive(content)
        del content
        versions = dict(about["versions"])
        notes = reader.build(about["notes"])
        model = reader.build(about["model"])
        reader.check_all_used()
        if not is_model(model):
            raise NotAllowedError(f"it holds a {type(model).__name__} in place of a model")
        if type(notes) is not dict:
            raise NotAllowedError("its notes are no dictionary")
        check_answers(model)
        rows = stores_rows(model)
    except NotAllowedError as error:
        raise ValueError(f"{path} is rejected, and nothing in it was run: {error}") from None
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read ({type(error).__name__}: {shown(error, 200)})"
            f"{_other_versions(versions)}"
        ) from error
    return Stored(model, notes, versions, rows)


def _check_whole(path: object, content: bytes) -> None:
    """Raise unless a file ends as it was written, and has its checksum."""
    comment = COMMENT.fullmatch(content[-COMMENT_SIZE:])
    if comment is None:
        raise ValueError(f"{path} is cut short, or was altered at its end. Copy it again")
    if int(comment[1]) != MODEL_FORMAT:
        raise ValueError(
            f"{path} has format {int(comment[1])}, and separatrix {_version('separatrix')} reads "
            f"{MODEL_FORMAT}: it was written by another version"
        )
    if _digest(memoryview(content)[:-64]) != comment[2]:
        raise ValueError(
            f"{path} was altered after it was written: its checksum differs. Copy it again"
        )


def _digest(content: bytes | memoryview) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _guess_content(start: bytes) -> str:
    """A guess at the type of a file by its first bytes, for the error message."""
    packed_by_zlib = tuple(b"\x78" + level for level in (b"\x01", b"\x5e", b"\x9c", b"\xda"))
    if start.startswith((b"\x80", b"\x1f\x8b", *packed_by_zlib)):
        return ": it looks like a pickle or joblib file, which can run anything when it is opened"
    if start.startswith(b"PK"):
        return ": it looks like a zip archive"
    return "" if start else ": it is empty"


def is_model(thing: Any) -> bool:
    """Whether a file may hold this by itself: an estimator, or statistics."""
    return isinstance(thing, BaseEstimator) or type(thing) is find_type("ClassMoments")


# Writing --------------------------------------------------------------------------------------


def pack_file(model: Any, notes: Mapping[str, Any]) -> bytes:
    """The bytes of a model file."""
    name = type(model).__name__
    if not is_model(model):
        raise TypeError(f"save takes an estimator, not a {name}")
    writer = Writer()
    try:
        tree = writer.write(model, "")
        about = {
            "model": tree,
            "stores_rows": stores_rows(model),
            "versions": _versions(),
            "notes": writer.write(dict(notes), "notes"),
        }
    except NotAllowedError as error:
        raise ValueError(f"this {name} cannot be saved: {error}") from None
    except RecursionError:
        raise ValueError(f"this {name} cannot be saved: a part of it holds itself") from None
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo(HEADER), json.dumps(about, separators=(",", ":")))
        for i, array in enumerate(writer.arrays):
            archive.writestr(zipfile.ZipInfo(f"{i}.npy"), pack_array(array))
        archive.comment = f"separatrix model {MODEL_FORMAT:06} {'0' * 64}".encode()
    content = out.getvalue()[:-64]
    return content + _digest(content)


def _versions() -> dict[str, str]:
    names = ("separatrix", "scikit-learn", "numpy", "scipy")
    return {"python": platform.python_version(), **{name: _version(name) for name in names}}


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"


def _other_versions(versions: Mapping[str, str]) -> str:
    """Which versions wrote a file, as far as they are not those of now."""
    now = _versions()
    others = [f"{k} {shown(v)} (now {now[k]})" for k, v in versions.items() if now.get(k, v) != v]
    return f". It was written with {', '.join(others)}: install these to read it" if others else ""


# Reading --------------------------------------------------------------------------------------


def _open_archive(content: bytes) -> tuple[dict[str, Any], Reader]:
    """The header, and a reader that knows the arrays; nothing is larger than the file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_ENTRIES:
            raise NotAllowedError(f"it has {len(entries)} entries, and more than {MAX_ENTRIES}")
        names = [HEADER, *(f"{i}.npy" for i in range(len(entries) - 1))]
        for entry, name in zip(entries, names, strict=True):
            if entry.filename != name:
                raise NotAllowedError(f"it has an entry named {shown(entry.filename)!r}")
            if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
                raise NotAllowedError(f"entry {name} is packed: it could be of any size")
        if sum(entry.file_size for entry in entries) > len(content):
            raise NotAllowedError("its entries are larger than the file")
        header = archive.read(HEADER)
        n_items = sum(header.count(mark) for mark in (b",", b"[", b"{"))
        if n_items > MAX_ITEMS or not header.isascii():
            raise NotAllowedError(f"its header has more than {MAX_ITEMS} items, or is not ASCII")
        try:
            about = json.loads(header)
        except RecursionError:
            raise NotAllowedError("its header is nested too deeply") from None
        if type(about) is not dict or type(about.get("versions")) is not dict:
            raise NotAllowedError("its header does not say which versions wrote it")
        return about, Reader([read_array(archive.read(name)) for name in names[1:]])
