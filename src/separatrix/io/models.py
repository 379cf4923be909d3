"""Models in files that hold data and no code: what is not known by name is refused unbuilt."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import platform
import re
import stat
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from copy import deepcopy
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

import separatrix
from separatrix.io.audit import Refused, check_content, without_used_up

FORMAT = 1
"""Number of the form in which files are written; raised when fitted models change their parts."""

OLDEST = 1
"""The oldest form that is still read."""

OBJECTS = frozenset(
    {
        "separatrix.moments.class_moments.ClassMoments",
        "separatrix.moments.scatter.Scatter",
        "separatrix.moments.window.SlidingWindow",
    }
)
"""What fitted estimators of this package hold besides numbers, text, arrays, named tuples of this
package, which do nothing when they are made, and each other."""

FIRST_LINE = re.compile(rb"(separatrix model (\d{1,6}) (\d{1,15})) ([0-9a-f]{64})\n")
ENTRY = re.compile(r"schema\.json|\d+\.np[yz]")
NODE_KEYS = frozenset({"__class__", "__module__", "__loader__", "__id__"})
UNPACKED = 1 << 28
"""Bytes that a packed entry may come to in any case; beyond, so many times its own size:"""
RATIO = 50


class Stored(NamedTuple):
    """What is in a model file.

    Attributes
    ----------
    model : estimator
    notes : dict
        What was noted beside the model.
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

    The file holds numbers, text and names of known types, in the format of skops; `load` gives the
    same model back, bit by bit, and runs nothing that the file could bring along. It says which
    versions wrote it. An existing file is replaced in one step when the new one is safely on disk.

    Parameters
    ----------
    model : estimator
        Of this package, a `ClassMoments`, or a scikit-learn pipeline around one. Functions, such
        as a kernel of one's own, and random generators are not written: they are refused. So they
        are before the model is fitted, where a look at its parameters is enough.
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
    write_whole(path, packed(model, notes or {}))


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
            raise ValueError(f"{path} is not a model file of separatrix{_what_it_is(start)}")
        number, size = int(first[2]), int(first[3])
        _refuse_format(path, number)
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
        model = _built(archive)
    except Refused as error:
        raise ValueError(f"{path} is refused, nothing in it was run: {error}") from None
    except Exception as error:
        raise ValueError(
            f"{path} cannot be read ({type(error).__name__}: {error}){_other_versions(versions)}"
        ) from error
    return Stored(model, notes, versions)


def _refuse_format(path: object, number: int) -> None:
    if number > FORMAT:
        raise ValueError(
            f"{path} has format {number}, newer than {FORMAT}, the newest that separatrix "
            f"{_version('separatrix')} reads: upgrade separatrix"
        )
    if number < OLDEST:
        raise ValueError(
            f"{path} has format {number}, older than {OLDEST}, the oldest that separatrix "
            f"{_version('separatrix')} reads: fit the model again, or load it with the version "
            "that its second line names"
        )


def _what_it_is(start: bytes) -> str:
    """A guess at what a file is by its first bytes, to say so."""
    packed_by_zlib = tuple(b"\x78" + level for level in (b"\x01", b"\x5e", b"\x9c", b"\xda"))
    if start.startswith((b"\x80", b"\x1f\x8b", *packed_by_zlib)):
        return ": it looks like a pickle or joblib file, which can run anything when it is opened"
    if start.startswith(b"PK"):
        return ": it looks like a zip archive"
    return "" if start else ": it is empty"


# What is written -----------------------------------------------------------------------------


def packed(model: Any, notes: Mapping[str, Any]) -> bytes:
    """The bytes of a model file."""
    name = type(model).__name__
    if not _is_model(model):
        raise TypeError(f"save takes an estimator, not a {name}")
    try:
        # copies of arrays keep the order of their axes, which skops would lose for views: products
        # with them would round differently
        archive = _skops().dumps(without_used_up(deepcopy(model)))
        _audit(archive)
        check_content(model)
    except Refused as error:
        raise ValueError(f"this {name} cannot be saved: {error}") from None
    except TypeError as error:
        raise ValueError(f"this {name} cannot be saved: {error}") from error
    about = {"model": name, "versions": _versions(), "notes": dict(notes)}
    content = json.dumps(about).encode() + b"\n" + archive
    title = f"separatrix model {FORMAT} {len(content)}".encode()
    return title + f" {_digest(title, content)}\n".encode() + content


def _digest(title: bytes, content: bytes) -> str:
    """The checksum of a file: of its first line, as far as there, and all below."""
    return hashlib.sha256(title + content).hexdigest()


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file such that whatever happens the old one or the new one is there, and whole."""
    target = Path(os.path.realpath(path))
    rights = 0o666 & ~_umask()
    if target.exists():
        mode = target.stat().st_mode
        if not stat.S_ISREG(mode):  # a device or a pipe stays what it is, a folder refuses
            target.write_bytes(content)
            return
        rights = stat.S_IMODE(mode)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, rights)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(target.parent)


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
    names = ("separatrix", "scikit-learn", "numpy", "scipy", "skops")
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


# What is allowed -----------------------------------------------------------------------------


def type_name(kind: type) -> str:
    """Where a type is defined, and its name."""
    return f"{kind.__module__}.{kind.__qualname__}"


@cache
def _allowed() -> dict[str, frozenset[str]]:
    """The types that each kind of node may build."""
    from sklearn import (
        compose,
        decomposition,
        discriminant_analysis,
        feature_selection,
        impute,
        linear_model,
        naive_bayes,
        neighbors,
        pipeline,
        preprocessing,
        svm,
    )

    # what these do with their content is done by numpy, which looks where it reads and writes, or
    # is checked by `check_content`
    scikit_learn = (
        compose.ColumnTransformer,
        decomposition.PCA,
        discriminant_analysis.LinearDiscriminantAnalysis,
        discriminant_analysis.QuadraticDiscriminantAnalysis,
        feature_selection.VarianceThreshold,
        impute.SimpleImputer,
        linear_model.LogisticRegression,
        linear_model.RidgeClassifier,
        linear_model.SGDClassifier,
        naive_bayes.GaussianNB,
        neighbors.KNeighborsClassifier,
        neighbors.NearestCentroid,
        neighbors.NeighborhoodComponentsAnalysis,
        pipeline.Pipeline,
        preprocessing.FunctionTransformer,
        preprocessing.LabelBinarizer,
        preprocessing.MinMaxScaler,
        preprocessing.Normalizer,
        preprocessing.OneHotEncoder,
        preprocessing.RobustScaler,
        preprocessing.StandardScaler,
        svm.LinearSVC,
    )
    numbers: list[type] = [np.bool_, np.int32, np.int64, np.float32, np.float64, np.str_]
    scalars = frozenset(f"numpy.{kind.__name__}" for kind in numbers)
    plain = frozenset({"builtins.str", "builtins.int", "builtins.float", "builtins.bool"})
    sparse = (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix)
    _import_estimators()
    estimators = frozenset(type_name(kind) for kind in _own(BaseEstimator))
    records = frozenset(type_name(kind) for kind in _own(tuple))
    return {
        "JsonNode": frozenset({"builtins.str"}),
        "DictNode": frozenset({"builtins.dict"}),
        "ListNode": frozenset({"builtins.list"}),
        "TupleNode": records | {"builtins.tuple"},
        "SliceNode": frozenset({"builtins.slice"}),
        "TypeNode": plain | scalars,
        "DTypeNode": frozenset({"numpy.dtype"}),
        "NdArrayNode": scalars | {"numpy.ndarray"},
        "SparseMatrixNode": frozenset(type_name(kind) for kind in sparse),
        "ObjectNode": OBJECTS | estimators | {type_name(kind) for kind in scikit_learn},
    }


def _import_estimators() -> None:
    for home in set(separatrix.CONTENTS.values()):  # by name: they are of higher layers
        import_module(f"separatrix.{home}")


def _own(base: type) -> Iterator[type]:
    """The types of this package that are of a kind, as far as they are imported."""
    kinds: list[type] = base.__subclasses__()
    for kind in kinds:
        if kind.__module__.startswith("separatrix."):
            yield kind
        yield from _own(kind)


def _is_model(thing: Any) -> bool:
    return isinstance(thing, BaseEstimator) or type_name(type(thing)) in OBJECTS


def _audit(archive: bytes) -> None:
    """Raise unless an archive holds nothing but known types and the arrays they name.

    Nothing is imported, built or unpacked for this but lists, dictionaries, text and numbers.
    """
    with zipfile.ZipFile(io.BytesIO(archive)) as entries:
        _audit_entries(entries.infolist(), len(archive))
        schema = json.loads(entries.read("schema.json"))
        named: set[str] = {"schema.json"}
        _audit_node(schema, "model", {}, named)
        if unlike := named.symmetric_difference(entries.namelist()):
            raise Refused(f"entry {min(unlike)} is missing or belongs to nothing")
        for name in named - {"schema.json"}:
            content = entries.read(name)
            (_audit_array if name.endswith("y") else _audit_sparse)(content)


def _audit_entries(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Raise unless all entries are stored as they are, beside each other."""
    if len({entry.filename for entry in entries}) < len(entries):
        raise Refused("two entries have one name")
    for entry in entries:
        if not ENTRY.fullmatch(entry.filename):
            raise Refused(f"it has an entry named {entry.filename[:80]!r}")
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            raise Refused(f"entry {entry.filename} is packed: it could come to any size")
    if sum(entry.file_size for entry in entries) > size:
        raise Refused("its entries are larger than the file")


def _audit_node(node: Any, where: str, sizes: dict[int, int], named: set[str]) -> int:
    """Raise unless a part of the schema, and all in it, is of an allowed kind and type.

    Returns the number of nodes. A number seen before means the same object again, and spells it
    out again: were it shorter, few nodes could stand for so many that no one could visit all.
    """
    if isinstance(node, list):
        places = [(item, f"{where}[{i}]") for i, item in enumerate(node)]
    elif isinstance(node, dict):
        places = [(v, where if k in _STRUCTURE else f"{where}.{k}") for k, v in node.items()]
    else:
        return 0
    identity = None if isinstance(node, list) else _audit_type(node, where, named)
    if identity is None:
        return sum(_audit_node(item, place, sizes, named) for item, place in places)
    before, sizes[identity] = sizes.get(identity), INSIDE
    size = 1 + sum(_audit_node(item, place, sizes, named) for item, place in places)
    if before not in (None, size):  # also when it is inside itself
        raise Refused(f"{where} is two things at once")
    sizes[identity] = size
    return size


def _audit_type(node: dict[str, Any], where: str, named: set[str]) -> int | None:
    """The number of a node of an allowed type; None for a mapping that is no node."""
    if NODE_KEYS.isdisjoint(node):
        return None
    loader, identity = node.get("__loader__"), node.get("__id__")
    name = f"{node.get('__module__')}.{node.get('__class__')}"
    if not isinstance(loader, str) or name not in _allowed().get(loader, ()):
        raise Refused(_no_place(where, loader, name))
    if type(identity) is not int:
        raise Refused(f"{where} has no number")
    if "file" in node:
        suffix = "npy" if loader == "NdArrayNode" else "npz"
        if node["file"] != f"{identity}.{suffix}":
            raise Refused(f"{where} names the entry {str(node['file'])[:80]!r}")
        named.add(node["file"])
    return identity


_STRUCTURE = frozenset({"content", "key_types"})
INSIDE = 0
"""The size of a node while it is visited."""


def _no_place(where: str, loader: object, name: str) -> str:
    place = where.removeprefix("model.")
    if loader in ("FunctionNode", "MethodNode", "PartialNode", "OperatorFuncNode"):
        return f"{place} is the function {name}, and model files hold no functions"
    if str(loader).startswith("Random"):
        return f"{place} is a random generator: give a number as random_state"
    if name.startswith("__main__."):
        return f"{place} is a {name}, defined in a script: files hold only types of packages"
    if name.startswith("sklearn.neighbors._"):
        return (
            f"{place} is a {name[:100]}, a tree of rows: give algorithm='brute' to the classifier"
        )
    return (
        f"{place} is a {name[:100]}, which is not among the types that model files may hold: "
        f"estimators of this package, and of scikit-learn {', '.join(_of_scikit_learn())}"
    )


def _of_scikit_learn() -> list[str]:
    """Names of the estimators of scikit-learn that may be in a file."""
    allowed = _allowed()["ObjectNode"]
    return sorted(n.rpartition(".")[2] for n in allowed if n.startswith("sklearn."))


def _audit_array(content: bytes) -> None:
    """Raise unless bytes are one array of numbers or text, no larger than it says."""
    file = io.BytesIO(content)
    major = np.lib.format.read_magic(file)[0]
    header: Callable[..., Any] = (
        np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = header(file)
    if dtype.kind not in "biufcSU" or dtype.itemsize == 0:
        raise Refused(f"an array has the type {dtype}")
    if (
        min(shape, default=0) < 0
        or math.prod(shape) * dtype.itemsize != len(content) - file.tell()
    ):
        raise Refused(f"an array says it has the shape {shape}, but its content does not")


def _audit_sparse(content: bytes) -> None:
    """The same for the arrays of a sparse matrix, which are packed."""
    with zipfile.ZipFile(io.BytesIO(content)) as entries:
        unpacked = sum(entry.file_size for entry in entries.infolist())
        if unpacked > max(UNPACKED, RATIO * len(content)):
            raise Refused(f"a sparse matrix of {len(content)} bytes unpacks to {unpacked}")
        for entry in entries.infolist():
            _audit_array(entries.read(entry))


def _built(archive: bytes) -> Any:
    """The model in an archive, once all its types have been found in the list."""
    _audit(archive)
    model = _skops().loads(archive, trusted=sorted(frozenset().union(*_allowed().values())))
    if not _is_model(model):
        raise Refused(f"it holds a {type(model).__name__} in place of a model")
    check_content(model)
    return model


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise ImportError("model files need skops: pip install 'separatrix[app]'") from None
    return skops.io
