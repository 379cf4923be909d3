"""Archives in model files: the types they name are checked before anything in them is built."""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from separatrix.files.allowed import SCIKIT_LEARN_TYPES, find_allowed
from separatrix.files.audit import (
    NotAllowedError,
    check_answers,
    check_content,
    remove_fit_only,
)
from separatrix.files.migrations import migrate
from separatrix.files.names import find_type, read_stable_names, write_stable_names
from separatrix.files.nodes import build_nodes, write_nodes

SCHEMA = "schema.json"

PROTOCOL = 2
"""The version of the format, as skops counts, in which archives are written."""

ENTRY = re.compile(r"schema\.json|\d+\.np[yz]")
NODE_KEYS = frozenset({"__class__", "__module__", "__loader__", "__id__"})

MIN_UNPACKED_BYTES = 1 << 28
"""Bytes that a packed entry may unpack to whatever its size is."""

MAX_UNPACKED_RATIO = 50
"""A larger entry may unpack to this multiple of its size."""


def is_model(thing: Any) -> bool:
    """Whether a file may hold this by itself: an estimator, or statistics."""
    return isinstance(thing, BaseEstimator) or type(thing) is find_type("ClassMoments")


def pack_model(model: Any) -> bytes:
    """The archive of a model, with stable names; an error where a file cannot hold it.

    The model is changed: give a copy.
    """
    schema, entries = write_nodes(remove_fit_only(model))
    write_stable_names(schema)
    archive = _pack_entries({**schema, "protocol": PROTOCOL}, entries)
    _check_archive(archive)
    check_content(model)
    return archive


def build_model(archive: bytes, written: int) -> Any:
    """The model in an archive, once all its types are known to be allowed.

    Parameters
    ----------
    archive : bytes
    written : int
        Number of the format of the file.
    """
    model = build_nodes(*_check_archive(archive))
    if not is_model(model):
        raise NotAllowedError(f"it holds a {type(model).__name__} in place of a model")
    migrate(model, written)
    check_content(model)
    check_answers(model)
    return model


def _pack_entries(schema: Any, entries: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
        archive.writestr(SCHEMA, json.dumps(schema, separators=(",", ":")))
    return out.getvalue()


# Checks --------------------------------------------------------------------------------------


def _check_archive(archive: bytes) -> tuple[Any, dict[str, bytes]]:
    """The schema with the types of today, and the other entries; an error unless all is allowed.

    Nothing is built or unpacked for this but lists, dictionaries, text and numbers, and nothing
    imported but modules of `find_allowed`.
    """
    with zipfile.ZipFile(io.BytesIO(archive)) as entries:
        _check_entries(entries.infolist(), len(archive))
        schema = json.loads(entries.read(SCHEMA))
        _check_protocol(schema)
        read_stable_names(schema)
        named: set[str] = {SCHEMA}
        _check_node(schema, "model", {}, named)
        if unlike := named.symmetric_difference(entries.namelist()):
            raise NotAllowedError(f"entry {min(unlike)} is missing or belongs to nothing")
        contents = {name: entries.read(name) for name in named - {SCHEMA}}
    for name, content in contents.items():
        (_check_array if name.endswith("y") else _check_sparse)(content)
    return schema, contents


def _check_protocol(schema: Any) -> None:
    """Raise unless the version of the format is known: the nodes allowed here never changed."""
    protocol = schema.get("protocol") if isinstance(schema, dict) else None
    if type(protocol) is not int or not 0 <= protocol <= PROTOCOL:
        raise ValueError(f"its nodes are those of protocol {str(protocol)[:80]}, not {PROTOCOL}")


def _check_entries(entries: list[zipfile.ZipInfo], size: int) -> None:
    """Raise unless all entries are stored as they are, beside each other."""
    if len({entry.filename for entry in entries}) < len(entries):
        raise NotAllowedError("two entries have one name")
    for entry in entries:
        if not ENTRY.fullmatch(entry.filename):
            raise NotAllowedError(f"it has an entry named {entry.filename[:80]!r}")
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            raise NotAllowedError(f"entry {entry.filename} is packed: it could be of any size")
    if sum(entry.file_size for entry in entries) > size:
        raise NotAllowedError("its entries are larger than the file")


def _check_node(node: Any, where: str, sizes: dict[int, int], named: set[str]) -> int:
    """Raise unless a part of the schema, and all in it, is of an allowed kind and type.

    Returns the number of nodes. A number seen before means the same object again, and spells it
    out again: were it shorter, few nodes could stand for more than can be visited.
    """
    if isinstance(node, list):
        places = [(item, f"{where}[{i}]") for i, item in enumerate(node)]
    elif isinstance(node, dict):
        places = [(v, where if k in _STRUCTURE else f"{where}.{k}") for k, v in node.items()]
    else:
        return 0
    identity = None if isinstance(node, list) else _check_type(node, where, named)
    if identity is None:
        return sum(_check_node(item, place, sizes, named) for item, place in places)
    before, sizes[identity] = sizes.get(identity), UNFINISHED
    size = 1 + sum(_check_node(item, place, sizes, named) for item, place in places)
    if before not in (None, size):  # also when it is inside itself
        raise NotAllowedError(f"{where} is two things at once")
    sizes[identity] = size
    return size


_STRUCTURE = frozenset({"content", "key_types"})

UNFINISHED = 0
"""The size of a node while it is visited."""


def _check_type(node: dict[str, Any], where: str, named: set[str]) -> int | None:
    """The number of a node of an allowed type; None for a mapping that is no node."""
    if NODE_KEYS.isdisjoint(node):
        return None
    loader, identity = node.get("__loader__"), node.get("__id__")
    name = f"{node.get('__module__')}.{node.get('__class__')}"
    if not isinstance(loader, str) or find_allowed(loader, name) is None:
        raise NotAllowedError(_explain_type(where, loader, name))
    if type(identity) is not int:
        raise NotAllowedError(f"{where} has no number")
    if "file" in node:
        suffix = "npy" if loader == "NdArrayNode" else "npz"
        if node["file"] != f"{identity}.{suffix}":
            raise NotAllowedError(f"{where} names the entry {str(node['file'])[:80]!r}")
        named.add(node["file"])
    return identity


def _explain_type(where: str, loader: object, name: str) -> str:
    """Why a type has no place in a file."""
    place = where.removeprefix("model.")
    if loader in ("FunctionNode", "MethodNode", "PartialNode", "OperatorFuncNode"):
        return f"{place} is the function {name}, and model files hold no functions"
    if str(loader).startswith("Random"):
        return f"{place} is a random generator: give a number as random_state"
    if name.startswith("__main__."):
        return f"{place} is a {name}, defined in a script: files hold only types of packages"
    if name.startswith("separatrix."):
        return (
            f"{place} is a {name[:100]}, for which files have no name: those of this version are "
            "in separatrix.CONTENTS and separatrix.files.names.PART_TYPES"
        )
    return (
        f"{place} is a {name[:100]}, which is not among the types that model files may hold: "
        f"estimators of this package, and of scikit-learn {', '.join(sorted(SCIKIT_LEARN_TYPES))}"
    )


def _check_array(content: bytes) -> None:
    """Raise unless bytes are one array of numbers or text, no larger than it says."""
    file = io.BytesIO(content)
    major = np.lib.format.read_magic(file)[0]
    header: Callable[..., Any] = (
        np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = header(file)
    if dtype.kind not in "biufcSU" or dtype.itemsize == 0:
        raise NotAllowedError(f"an array has the type {dtype}")
    size = math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or size != len(content) - file.tell():
        raise NotAllowedError(f"an array says it has the shape {shape}, but its content does not")


def _check_sparse(content: bytes) -> None:
    """The same for the arrays of a sparse matrix, which are packed."""
    with zipfile.ZipFile(io.BytesIO(content)) as entries:
        unpacked = sum(entry.file_size for entry in entries.infolist())
        if unpacked > max(MIN_UNPACKED_BYTES, MAX_UNPACKED_RATIO * len(content)):
            raise NotAllowedError(f"a sparse matrix of {len(content)} bytes unpacks to {unpacked}")
        for entry in entries.infolist():
            _check_array(entries.read(entry))
