"""Models in files that hold data and no code: a zip of one JSON header and arrays of NumPy.

The header (``model.json``) spells the model out as a tree; arrays are entries ``0.npy``, ``1.npy``
and so on, stored as they are. Text, numbers, truth values, null and lists stand for themselves;
everything else is an object of one key that says what it is:

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
import math
import os
import platform
import re
import stat
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

from separatrix.files.names import (
    DERIVED,
    SCIKIT_LEARN,
    declared,
    find_name,
    find_type,
)
from separatrix.files.whole import write_whole

MODEL_FORMAT = 1
"""Number of the format; no other is read."""

HEADER = "model.json"

MAX_ITEMS = 1_000_000
"""Most items that a header may have: each takes up to a hundred bytes when it is read."""

MAX_DEPTH = 60
"""Deepest nesting of a tree; a pipeline of early decisions has about 15 levels."""

MAX_ENTRIES = 200_000
"""Most arrays of a file."""

MAX_NAME = 4096
"""Characters of the longest key of a dictionary."""

MAX_EMPTY = 1 << 20
"""Longest axis of an array without entries, and largest number of features that no array has:
they cost a file nothing, but whoever computes with them."""

MAX_JOBS = 64
"""Processes at most that a parameter may ask for."""

COMMENT = re.compile(rb"separatrix model (\d{6}) ([0-9a-f]{64})")
COMMENT_SIZE = 17 + 6 + 1 + 64
NPY = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([<>|][biufcSUMm]\d{1,9}(?:\[[A-Za-z0-9]{1,8}\])?)', "
    rb"'fortran_order': (True|False), 'shape': \(([\d, ]{0,200})\), \} *\n",
    re.DOTALL,
)
DTYPE = r"\|O|[<>|][biufcSUMm]\d{1,4}(\[\w{1,8}\])?"
SCALARS = {
    kind.__name__: kind for kind in (np.bool_, np.int32, np.int64, np.float32, np.float64, np.str_)
}
TYPES = {**SCALARS, "int": int, "float": float, "bool": bool}
SPARSE = {
    kind.__name__: kind for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix)
}


class NotAllowedError(ValueError):
    """Something that a file holds, or a model would put into one, and that has no place there."""


class Stored(NamedTuple):
    """The content of a model file.

    Attributes
    ----------
    model : estimator
    notes : dict
        Notes beside the model.
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
        Text, numbers, lists, dictionaries and arrays that are kept beside the model; see `read`.

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
    """A guess at what a file is by its first bytes, to say so."""
    packed_by_zlib = tuple(b"\x78" + level for level in (b"\x01", b"\x5e", b"\x9c", b"\xda"))
    if start.startswith((b"\x80", b"\x1f\x8b", *packed_by_zlib)):
        return ": it looks like a pickle or joblib file, which can run anything when it is opened"
    if start.startswith(b"PK"):
        return ": it looks like a zip archive"
    return "" if start else ": it is empty"


def shown(thing: object, width: int = 80) -> str:
    """Text of a file as it may be shown: on one line, without control characters."""
    return ascii(str(thing))[1:-1][:width]


def is_model(thing: Any) -> bool:
    """Whether a file may hold this by itself: an estimator, or statistics."""
    return isinstance(thing, BaseEstimator) or type(thing) is find_type("ClassMoments")


# Writing --------------------------------------------------------------------------------------


def pack_file(model: Any, notes: Mapping[str, Any]) -> bytes:
    """The bytes of a model file."""
    name = type(model).__name__
    if not is_model(model):
        raise TypeError(f"save takes an estimator, not a {name}")
    writer = _Writer()
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
            archive.writestr(zipfile.ZipInfo(f"{i}.npy"), _pack_array(array))
        archive.comment = f"separatrix model {MODEL_FORMAT:06} {'0' * 64}".encode()
    content = out.getvalue()[:-64]
    return content + _digest(content)


def _pack_array(array: np.ndarray) -> bytes:
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = array.copy(order="K")  # products in another order differ in their last digits
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


class _Writer:
    """Objects as trees; their arrays in `arrays`, each once."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._numbers: dict[int, int] = {}

    def write(self, thing: Any, place: str) -> Any:
        """The tree of an object; `place` says where it is for errors."""
        kind = type(thing)
        if (
            thing is None
            or kind in (bool, str, float)
            or (kind is int and -(1 << 63) <= thing < 1 << 63)
        ):
            return thing
        if kind is list:
            return [self.write(item, place) for item in thing]
        if kind is tuple:
            return {"tuple": [self.write(item, place) for item in thing]}
        if kind is dict:
            return {"dict": [self._write_pair(key, value, place) for key, value in thing.items()]}
        if kind is np.ndarray:
            return self._write_array(thing, place)
        if kind in SCALARS.values():
            return {kind.__name__: thing.item()}
        if isinstance(thing, type) and thing in TYPES.values():
            return {"type": thing.__name__}
        if isinstance(thing, np.dtype) and thing.names is None:
            return {"dtype": thing.str}
        if kind is slice:
            return {
                "slice": [self.write(end, place) for end in (thing.start, thing.stop, thing.step)]
            }
        if kind in SPARSE.values():
            thing.check_format(full_check=True)
            parts = (thing.data, thing.indices, thing.indptr)
            return {
                kind.__name__: [list(map(int, thing.shape)), *(self._number(p) for p in parts)]
            }
        known: Any = kind
        name = None if callable(thing) and hasattr(thing, "__name__") else find_name(known)
        if name is None:
            raise NotAllowedError(_explain(thing, place))
        return {name: self._write_attributes(thing, place)}

    def _write_pair(self, key: Any, value: Any, place: str) -> list[Any]:
        if not isinstance(key, str | int | float | np.generic) or len(str(key)) > MAX_NAME:
            raise NotAllowedError(
                f"{place} has the key {shown(key)!r}: keys are numbers, or text of at most "
                f"{MAX_NAME} characters"
            )
        return [self.write(key, place), self.write(value, place)]

    def _write_array(self, array: np.ndarray, place: str) -> Any:
        if array.dtype == object:
            items = [self.write(item, place) for item in array.ravel().tolist()]
            return {"objects": [list(array.shape), items]}
        if array.dtype.kind not in "biufcSUMm" or array.dtype.itemsize == 0:
            raise NotAllowedError(f"{place} is an array of the type {array.dtype}")
        _check_shape(array.shape)
        return {"array": self._number(array)}

    def _number(self, array: np.ndarray) -> int:
        number = self._numbers.setdefault(id(array), len(self.arrays))
        if number == len(self.arrays):
            self.arrays.append(array)  # kept: the id of one that is gone could be another's
        return number

    def _write_attributes(self, thing: Any, place: str) -> dict[str, Any]:
        kind: Any = type(thing)
        state = thing._asdict() if issubclass(kind, tuple) else thing.__getstate__()
        if isinstance(state, tuple):  # of a class with slots
            state = {**(state[0] or {}), **state[1]}
        skipped = {*DERIVED.get(kind.__name__, ()), "_sklearn_version"}
        state = {name: value for name, value in (state or {}).items() if name not in skipped}
        check = CHECKS.get(kind.__name__)
        if check is not None:
            check(kind, state)
        _check_names(kind, state)
        if kind.__name__ == "TfidfVectorizer" and "vocabulary_" in state:
            state["vocabulary_"] = list(state["vocabulary_"])  # in the order of their columns
        return {
            name: self.write(value, f"{place}.{name}" if place else name)
            for name, value in state.items()
        }


def _explain(thing: Any, place: str) -> str:
    """Why an object has no place in a file."""
    kind = type(thing)
    if callable(thing) and (
        hasattr(thing, "__name__") or kind.__module__ in ("functools", "operator")
    ):
        module = getattr(thing, "__module__", None) or kind.__module__
        name = getattr(thing, "__name__", kind.__name__)
        return f"{place} is the function {module}.{name}, and model files hold no functions"
    if isinstance(thing, np.random.RandomState | np.random.Generator):
        return f"{place} is a random generator: give a number as random_state"
    name = f"{kind.__module__}.{kind.__name__}"
    if kind.__module__.startswith("separatrix."):
        return f"{place} is a {name}, which is not in separatrix.files.names.PART_TYPES"
    return (
        f"{place or 'it'} is a {name}, which is not among the types that model files may hold: "
        f"estimators of this package, and of scikit-learn {', '.join(sorted(SCIKIT_LEARN))}"
    )


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


def _open_archive(content: bytes) -> tuple[dict[str, Any], _Reader]:
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
        return about, _Reader([_read_array(archive.read(name)) for name in names[1:]])


def _read_array(content: bytes) -> np.ndarray:
    """One array of numbers or text, no larger than it says."""
    found = NPY.match(content)
    if found is None or len(found[0]) != 10 + int.from_bytes(content[8:10], "little"):
        raise NotAllowedError("an entry is no array of numbers, text or times")
    dtype = np.dtype(found[1].decode())
    shape = tuple(int(n) for n in found[3].decode().split(",") if n.strip())
    if dtype.itemsize == 0 or math.prod(shape) * dtype.itemsize != len(content) - found.end():
        raise NotAllowedError(
            f"an array says it has the shape {shape} of {dtype}, but its content does not"
        )
    _check_shape(shape)
    flat = np.frombuffer(content, dtype, offset=found.end())
    return flat.reshape(shape, order="F" if found[2] == b"True" else "C").copy(order="K")


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) > 32 or (0 in shape and max(shape) > MAX_EMPTY):
        raise NotAllowedError(f"an array without entries has the shape {shape}")


class _Reader:
    """Trees as objects, given the arrays."""

    def __init__(self, arrays: list[np.ndarray]) -> None:
        self.arrays = arrays
        self._unused = set(range(len(arrays)))
        self._depth = 0

    def build(self, node: Any) -> Any:
        """The object of a tree."""
        kind = type(node)
        if node is None or kind in (bool, str, float):
            return node
        if kind is int:
            if not -(1 << 63) <= node < 1 << 63:
                raise NotAllowedError("a number has more than 64 bits")
            return node
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NotAllowedError(f"its parts are nested more than {MAX_DEPTH} times")
        if kind is list:
            built: Any = [self.build(item) for item in node]
        else:
            if len(node) != 1:
                raise NotAllowedError("a part of it does not say what it is")
            [(name, content)] = node.items()
            built = self._build_named(name, content)
        self._depth -= 1
        return built

    def check_all_used(self) -> None:
        """Raise when an array belongs to nothing."""
        if self._unused:
            raise NotAllowedError(f"entry {min(self._unused)}.npy belongs to nothing")

    def _build_named(self, name: str, content: Any) -> Any:
        if name == "array":
            return self._array(content)
        if name in SCALARS and type(content) in (bool, int, float, str):
            return SCALARS[name](content)
        if name in ("type", "dtype"):
            return self._build_type(name, content)
        if name in ("tuple", "dict", "objects", "slice") or name in SPARSE:
            if type(content) is not list:
                raise NotAllowedError(f"a {name} has no items")
            if name in SPARSE:
                return self._build_sparse(SPARSE[name], content)
            return getattr(self, f"_build_{name}")(content)
        kind: Any = find_type(name)
        if kind is None or type(content) is not dict:
            raise NotAllowedError(f"a part is a {shown(name)}, which has no place in model files")
        return self._build_object(kind, content)

    def _array(self, number: Any) -> np.ndarray:
        if type(number) is not int or not 0 <= number < len(self.arrays):
            raise NotAllowedError(f"there is no array {shown(number)}")
        self._unused.discard(number)
        return self.arrays[number]

    def _build_type(self, name: str, content: Any) -> Any:
        if name == "type" and content in list(TYPES):
            return TYPES[content]
        if name == "dtype" and re.fullmatch(DTYPE, str(content)):
            return np.dtype(content)
        raise NotAllowedError(f"there is no {name} {shown(content)}")

    def _build_tuple(self, items: list[Any]) -> tuple[Any, ...]:
        return tuple(self.build(item) for item in items)

    def _build_slice(self, ends: list[Any]) -> slice:
        if len(ends) != 3 or any(isinstance(end, list | dict) for end in ends):
            raise NotAllowedError("a slice has an end that is no number and no name")
        return slice(*ends)

    def _build_dict(self, pairs: list[Any]) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for pair in pairs:
            if type(pair) is not list or len(pair) != 2:
                raise NotAllowedError("a dictionary has a key without a value")
            key = self.build(pair[0])
            if not isinstance(key, str | int | float | np.generic) or len(str(key)) > MAX_NAME:
                raise NotAllowedError("a dictionary has a key that is no number and no short text")
            result[key] = self.build(pair[1])
        return result

    def _build_objects(self, parts: list[Any]) -> np.ndarray:
        """An array of objects, each put into its place: NumPy would look for axes in them."""
        shape, items = parts if len(parts) == 2 else (None, None)
        if (
            type(shape) is not list
            or type(items) is not list
            or any(type(n) is not int or n < 0 for n in shape)
            or math.prod(shape) != len(items)
        ):
            raise NotAllowedError("an array of objects does not have the shape it says")
        _check_shape(tuple(shape))
        array = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):
            array[i] = self.build(item)
        return array.reshape(shape)

    def _build_sparse(self, kind: Any, parts: list[Any]) -> Any:
        if len(parts) != 4 or type(parts[0]) is not list or len(parts[0]) != 2:
            raise NotAllowedError("a sparse matrix lacks a part")
        if any(type(n) is not int or not 0 <= n < 1 << 31 for n in parts[0]):
            raise NotAllowedError(f"a sparse matrix has the shape {shown(parts[0])}")
        data, indices, indptr = (self._array(number) for number in parts[1:])
        if indices.dtype.kind != "i" or indptr.dtype.kind != "i" or data.dtype.kind not in "biufc":
            raise NotAllowedError("a sparse matrix has indices that are no whole numbers")
        try:
            matrix = kind((data, indices, indptr), shape=tuple(parts[0]))
            matrix.check_format(full_check=True)  # compiled code follows them without a check
        except ValueError as error:
            raise NotAllowedError(f"a sparse matrix is not sound: {shown(error, 200)}") from None
        return matrix

    def _build_object(self, kind: Any, content: dict[str, Any]) -> Any:
        """An object with these attributes; its `__init__` is not called."""
        _check_names(kind, content)
        state = {name: self.build(value) for name, value in content.items()}
        if kind.__name__ == "TfidfVectorizer" and type(state.get("vocabulary_")) is list:
            words = [str(word) for word in state["vocabulary_"]]
            state["vocabulary_"] = {word: i for i, word in enumerate(words)}
            if len(state["vocabulary_"]) < len(words):
                raise NotAllowedError("a TfidfVectorizer has a word twice")
        check = CHECKS.get(kind.__name__)
        if check is not None:
            check(kind, state)
        if issubclass(kind, tuple):
            return tuple.__new__(kind, [state[name] for name in kind._fields])
        thing = kind.__new__(kind)
        for name, value in state.items():
            object.__setattr__(thing, name, value)
        return REFITS[kind.__name__](thing) if kind.__name__ in REFITS else thing


# Checks of content ----------------------------------------------------------------------------


def _check_names(kind: Any, state: Mapping[str, Any]) -> None:
    """Raise unless a type declares all attributes, and none that it needs is missing."""
    known = declared(kind)
    for name in state:
        if name not in known or callable(getattr(kind, name, None)):
            raise NotAllowedError(f"{shown(name)} is no attribute that a {kind.__name__} declares")
    if issubclass(kind, BaseEstimator):
        needed = set(kind._get_param_names())
    else:
        needed = {name for name in known if not hasattr(kind, name) or issubclass(kind, tuple)}
    if missing := sorted(needed.difference(state)):
        raise NotAllowedError(f"a {kind.__name__} lacks {', '.join(missing)[:200]}")
    jobs = state.get("n_jobs")
    if jobs is not None and not (type(jobs) is int and -MAX_JOBS <= jobs <= MAX_JOBS):
        raise NotAllowedError(f"a {kind.__name__} has n_jobs={shown(jobs)}, not up to {MAX_JOBS}")


def _keep_default(*names: str) -> Any:
    """A check that parameters have their defaults: others could run code, read files or hang."""

    def check(kind: Any, state: Mapping[str, Any]) -> None:
        usual = kind().get_params() if kind.__name__ != "Pipeline" else {"memory": None}
        for name in names:
            if state.get(name) != usual[name]:
                raise NotAllowedError(
                    f"a {kind.__name__} has {name}={shown(state.get(name))!r}: files keep only "
                    f"{usual[name]!r}"
                )

    return check


def _check_finite(kind: Any, state: Mapping[str, Any]) -> None:
    """Nothing but numbers and arrays of numbers."""
    for name, value in state.items():
        array = np.asarray(value)
        if value is not None and (array.dtype.kind not in "biuf" or not np.isfinite(array).all()):
            raise NotAllowedError(
                f"a {kind.__name__} has {name}={shown(value)!r}: files keep one of numbers alone"
            )


def _check_hashing(kind: Any, state: Mapping[str, Any]) -> None:
    _WORDS(kind, state)
    n_features = state["n_features"]
    if type(n_features) is not int or not 1 <= n_features < 1 << 31:
        raise NotAllowedError(f"a HashingVectorizer has n_features={shown(n_features)}")


def _check_vocabulary(kind: Any, state: dict[str, Any]) -> None:
    """One column for each word, in the order of the columns, and a weight for each."""
    _WORDS(kind, state)
    _keep_default("vocabulary")(kind, state)
    if "vocabulary_" not in state:
        return
    words = state["vocabulary_"]
    if type(words) is not dict or set(words.values()) != set(range(len(words))):
        raise NotAllowedError("a TfidfVectorizer has no column for each word")
    state["vocabulary_"] = {w: int(i) for w, i in sorted(words.items(), key=lambda pair: pair[1])}
    weights = state.get("_tfidf")
    if type(weights) is not find_type("sklearn.TfidfTransformer"):
        raise NotAllowedError("a TfidfVectorizer has no weights")
    if getattr(weights, "n_features_in_", None) != len(words):
        raise NotAllowedError(f"a TfidfVectorizer has {len(words)} words, and weights of others")


def _check_weights(kind: Any, state: Mapping[str, Any]) -> None:
    idf = state.get("idf_")
    if idf is None or not state.get("use_idf"):
        return
    sound = isinstance(idf, np.ndarray) and idf.dtype.kind == "f"
    if not sound or idf.shape != (state.get("n_features_in_"),) or not np.isfinite(idf).all():
        raise NotAllowedError("a TfidfTransformer has weights that do not fit its columns")


def _check_metric(kind: Any, state: Mapping[str, Any]) -> None:
    if state["metric"] not in PLAIN_METRICS or not {"p"}.issuperset(state["metric_params"] or ()):
        raise NotAllowedError(
            f"a KNeighborsClassifier has metric={shown(state['metric'])!r} with "
            f"{shown(state['metric_params'])}: files keep {', '.join(PLAIN_METRICS)}"
        )


def _refit_neighbours(model: Any) -> Any:
    """The same from rows and labels by a fit, which checks these."""
    if not hasattr(model, "_fit_X"):
        return model
    try:
        again = clone(model).fit(model._fit_X, np.asarray(model.classes_)[model._y])
        return _with_features(again, model)
    except Exception as error:  # whatever a fit meets in arrays that are no rows
        raise NotAllowedError(
            "a KNeighborsClassifier has rows that are not finite numbers, or labels that are not "
            f"among its classes: {shown(error, 200)}"
        ) from None


def _refit_one_hot(encoder: Any) -> Any:
    """The same from the categories by a fit to one row, which checks these."""
    if not hasattr(encoder, "categories_"):
        return encoder
    from pandas import DataFrame, Series

    try:
        known = encoder.categories_
        row = DataFrame({i: Series(c[:1], dtype=c.dtype) for i, c in enumerate(known)})
        again = clone(encoder).set_params(categories=known).fit(row)
        again.categories, again.categories_ = encoder.categories, known
        return _with_features(again, encoder)
    except Exception as error:  # whatever a fit meets in arrays that are no categories
        raise NotAllowedError(
            f"a OneHotEncoder has no sound categories: {shown(error, 200)}"
        ) from None


def _with_features(again: Any, model: Any) -> Any:
    """The fitted again with the names of features of the one in the file."""
    if model.n_features_in_ != again.n_features_in_:
        raise ValueError(f"it has {again.n_features_in_} features, not {model.n_features_in_}")
    vars(again).pop("feature_names_in_", None)
    for name in ("feature_names_in_", "_sklearn_output_config"):
        if hasattr(model, name):
            setattr(again, name, getattr(model, name))
    return again


PLAIN_METRICS = (
    "chebyshev", "cityblock", "cosine", "euclidean", "l1", "l2", "manhattan", "minkowski",
)  # fmt: skip
_WORDS = _keep_default("input", "analyzer", "token_pattern", "tokenizer", "preprocessor")
CHECKS = {
    **dict.fromkeys(
        ("EmpiricalCovariance", "LedoitWolf", "OAS", "ShrunkCovariance"), _check_finite
    ),
    "FunctionTransformer": _keep_default("func", "inverse_func", "kw_args", "inv_kw_args"),
    "HashingVectorizer": _check_hashing,
    "KNeighborsClassifier": _check_metric,
    "OneHotEncoder": _keep_default("max_categories", "min_frequency"),
    "Pipeline": _keep_default("memory"),
    "TfidfTransformer": _check_weights,
    "TfidfVectorizer": _check_vocabulary,
}
REFITS = {"KNeighborsClassifier": _refit_neighbours, "OneHotEncoder": _refit_one_hot}


# Whether parts fit together -------------------------------------------------------------------

N_AXES = {"classes_": 1, "components_": 2, "mean_": 1, "means_": 2, "priors_": 1, "intercept_": 1}
"""Numbers of axes of fitted attributes: a column in place of a row would be spread to a matrix."""


def walk_parts(model: Any) -> Iterator[Any]:
    """An object and all that it holds, but for text, numbers and types."""
    waiting, seen = [model], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen or part is None or isinstance(part, str | float | int | type):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting.extend(part.values())
        elif isinstance(part, list | tuple):
            waiting.extend(part)
        elif not isinstance(part, np.ndarray):
            waiting.extend(getattr(part, "__dict__", {}).values())
        elif part.dtype == object:
            waiting.extend(part.ravel().tolist())


def stores_rows(model: Any) -> bool:
    """Whether some part of a model holds training rows, and says so."""
    if type(model).__name__ == "ClassMoments":
        return bool(model.is_thin)
    return any(
        type(part).__name__ == "KNeighborsClassifier" or getattr(part, "stores_rows", False)
        for part in walk_parts(model)
    )


def check_answers(model: Any) -> None:
    """Raise when a fitted estimator of ours cannot be asked about a row: its parts do not fit.

    A row of zeros is projected and decided. An error in words, such as that of a model that is
    not fitted, is an answer.
    """
    for part in [model, *(step for _, step in getattr(model, "steps", []))]:
        if not type(part).__module__.startswith("separatrix."):
            continue
        for name, n_axes in N_AXES.items():
            value = getattr(part, name, None)
            if isinstance(value, np.ndarray) and value.ndim != n_axes:
                raise NotAllowedError(f"{name} of a {type(part).__name__} has {value.ndim} axes")
        try:
            _ask_about_zeros(part)
        except (AttributeError, TypeError, KeyError, IndexError, NameError) as error:
            if not isinstance(error, ValueError):  # as that of a model that is not fitted
                raise NotAllowedError(
                    f"the parts of its {type(part).__name__} do not fit together: "
                    f"{shown(error, 200)}"
                ) from None


def _is_waiting(part: Any) -> bool:
    """Whether results are still to be solved for, from moments."""
    return "components_" in vars(part).get("_results", ()) and "components_" not in vars(part)


def _ask_about_zeros(part: Any) -> None:
    n_features = getattr(part, "n_features_in_", None)
    if n_features is None or _is_waiting(part):
        return  # one that waits solves from its moments when it is asked
    parts = list(walk_parts(part))
    largest = max((p.size for p in parts if isinstance(p, np.ndarray)), default=0)
    if not 0 <= n_features <= max(largest, MAX_EMPTY):
        if any(sp.issparse(p) and p.shape[-1] == n_features for p in parts):
            return  # even a sparse row would be multiplied in as much memory as it has columns
        raise NotAllowedError(f"a {type(part).__name__} has n_features_in_={shown(n_features)}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for ask in ("transform", "predict"):
            with suppress(ValueError, ArithmeticError):
                getattr(part, ask, len)(np.zeros((1, n_features)))
