"""Objects as nodes, and back: the ten kinds of nodes of which the archives in model files consist.

A node is a mapping that JSON can hold. It has the name of a type (``__module__``, ``__class__``),
the kind of the node (``__loader__``), a number (``__id__``) and what is in the object, mostly in
``content``. An object that is met again has its number again. Arrays are entries of the archive
beside the schema, which is the node of the model. The format is that of skops.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from separatrix.files.allowed import PLAIN_TYPES, find_allowed
from separatrix.files.audit import NotAllowedError
from separatrix.files.names import full_name

Node = dict[str, Any]


def write_nodes(model: Any) -> tuple[Node, dict[str, bytes]]:
    """The schema of a model, and the entries beside it.

    What files cannot hold becomes a node of a kind that none may have: whoever checks the schema
    knows its place, to say so.
    """
    writer = NodeWriter()
    return writer.write(model), writer.entries


def build_nodes(schema: Node, entries: Mapping[str, bytes]) -> Any:
    """The model of a schema whose types, and of entries whose arrays have been checked."""
    return NodeBuilder(entries).build(schema)


class NodeWriter:
    """Objects as nodes; arrays as `entries`."""

    def __init__(self) -> None:
        self.entries: dict[str, bytes] = {}
        self._seen: dict[int, tuple[int, Any]] = {}

    def write(self, thing: Any) -> Node:
        """The node of an object and of all that it holds."""
        # with the object itself: the id of one that is gone could be that of another
        number, _ = self._seen.setdefault(id(thing), (len(self._seen) + 1, thing))
        loader = find_loader(thing)
        node = name_kind(thing, loader)
        if loader in NODE_KINDS:
            node |= NODE_KINDS[loader].write(self, thing, number)
        return {**node, "__id__": number}


class NodeBuilder:
    """Nodes as objects; an object is built once, however often its number stands there."""

    def __init__(self, entries: Mapping[str, bytes]) -> None:
        self.entries = entries
        self._built: dict[int, Any] = {}

    def build(self, node: Any) -> Any:
        """The object of a node."""
        if not isinstance(node, dict) or "__id__" not in node:
            raise ValueError(f"there is {str(node)[:80]!r} in place of an object")
        number = node["__id__"]
        if number not in self._built:
            loader, name = node["__loader__"], f"{node['__module__']}.{node['__class__']}"
            kind = find_allowed(loader, name)
            if kind is None:
                raise NotAllowedError(f"{name[:100]} is none of the types of a {loader}")
            self._built[number] = NODE_KINDS[loader].build(self, node, kind)
        return self._built[number]


# Kinds of objects ----------------------------------------------------------------------------

_NAME_ANOTHER_TYPE = ("JsonNode", "TypeNode", "DTypeNode")
_LOADERS = {
    kind: loader
    for loader, kinds in PLAIN_TYPES.items()
    for kind in kinds.values()
    if loader not in _NAME_ANOTHER_TYPE
}


def find_loader(thing: Any) -> str:
    """The kind of the node of an object; one that no file may hold where there is none."""
    kind = type(thing)
    if kind in _LOADERS:
        return _LOADERS[kind]
    if thing is None or isinstance(thing, str | int | float):
        return "JsonNode"
    if isinstance(thing, type):
        return "TypeNode"
    if isinstance(thing, np.dtype):
        return "DTypeNode"
    for loader in ("TupleNode", "ObjectNode"):
        if find_allowed(loader, full_name(kind)) is kind:
            return loader
    if isinstance(thing, np.random.RandomState | np.random.Generator):
        return "RandomStateNode"
    return "FunctionNode" if is_function(thing) else "OtherNode"


def is_function(thing: Any) -> bool:
    """Whether an object is a function of any sort, and not one that can be called besides."""
    if isinstance(thing, type) or not callable(thing):
        return False
    return hasattr(thing, "__name__") or type(thing).__module__ in ("functools", "operator")


def name_kind(thing: Any, loader: str) -> Node:
    """The type or function that a node names."""
    named = {"JsonNode": str, "DTypeNode": np.dtype}.get(loader, type(thing))
    if loader == "TypeNode" or (loader == "FunctionNode" and hasattr(thing, "__name__")):
        named = thing
    module = getattr(named, "__module__", None) or type(named).__module__
    return {"__class__": named.__name__, "__module__": module, "__loader__": loader}


# Text, numbers and what holds others ---------------------------------------------------------


def write_json(writer: NodeWriter, thing: Any, number: int) -> Node:
    """Text, a number, a truth value or nothing."""
    return {"content": json.dumps(thing), "is_json": True}


def build_json(builder: NodeBuilder, node: Node, kind: type) -> Any:
    """The same back."""
    thing = json.loads(node["content"])
    if isinstance(thing, list | dict):
        raise NotAllowedError("a list or mapping stands where text or a number belongs")
    return thing


def write_items(writer: NodeWriter, things: Any, number: int) -> Node:
    """The items of a list or tuple."""
    return {"content": [writer.write(thing) for thing in things]}


def build_list(builder: NodeBuilder, node: Node, kind: type) -> list[Any]:
    """A list."""
    return [builder.build(item) for item in node["content"]]


def build_tuple(builder: NodeBuilder, node: Node, kind: Any) -> Any:
    """A tuple, or a named one, whose last values may be defaults."""
    items = build_list(builder, node, list)
    return tuple(items) if kind is tuple else kind(*items)


def write_dict(writer: NodeWriter, things: dict[Any, Any], number: int) -> Node:
    """The values by keys as text, and the types of the keys."""
    content = {write_key(key): writer.write(value) for key, value in things.items()}
    if len(content) < len(things):
        raise NotAllowedError("two keys of a dictionary are the same as text")
    return {"content": content, "key_types": writer.write([type(key) for key in things])}


def build_dict(builder: NodeBuilder, node: Node, _: type) -> dict[Any, Any]:
    """A dictionary."""
    kinds, content = builder.build(node["key_types"]), node["content"]
    if len(kinds) != len(content):
        raise NotAllowedError(
            f"a dictionary has {len(content)} keys, and {len(kinds)} types of them"
        )
    pairs = zip(kinds, content.items(), strict=True)
    return {build_key(kind, key): builder.build(value) for kind, (key, value) in pairs}


def write_key(key: Any) -> str:
    """A key as JSON has it: text as it is, a number in digits."""
    if isinstance(key, np.generic):
        key = key.item()
    if not isinstance(key, str | int | float):
        raise NotAllowedError(
            f"a dictionary has the key {str(key)[:80]!r}: keys are text or numbers"
        )
    return str(key) if isinstance(key, str) else json.dumps(key)


def build_key(kind: type, text: str) -> Any:
    """The key of a type."""
    return kind(text if issubclass(kind, str) else json.loads(text))


def write_slice(writer: NodeWriter, thing: slice, number: int) -> Node:
    """Start, stop and step as they are."""
    return {"content": {"start": thing.start, "stop": thing.stop, "step": thing.step}}


def build_slice(builder: NodeBuilder, node: Node, kind: type) -> slice:
    """A slice of places or names."""
    ends = [node["content"][end] for end in ("start", "stop", "step")]
    if any(isinstance(end, list | dict) for end in ends):
        raise NotAllowedError("a slice has an end that is no number and no name")
    return slice(*ends)


# Types ---------------------------------------------------------------------------------------


def write_type(writer: NodeWriter, thing: type, number: int) -> Node:
    """Nothing but the name."""
    return {}


def build_type(builder: NodeBuilder, node: Node, kind: type) -> type:
    """The type itself."""
    return kind


def write_dtype(writer: NodeWriter, thing: Any, number: int) -> Node:
    """An empty array of this type."""
    return {"content": writer.write(np.ndarray(0, dtype=thing))}


def build_dtype(builder: NodeBuilder, node: Node, kind: type) -> Any:
    """The type of the empty array."""
    return builder.build(node["content"]).dtype


# Arrays --------------------------------------------------------------------------------------


def write_array(writer: NodeWriter, thing: Any, number: int) -> Node:
    """An entry of NumPy; an array of objects as a list of them, nested as the array is."""
    if thing.dtype == object:
        if thing.ndim == 0:
            raise NotAllowedError("an array holds one object and has no dimension")
        content = writer.write(thing.tolist())["content"]
        return {"content": content, "type": "json", "shape": writer.write(thing.shape)}
    if thing.dtype.hasobject:
        raise NotAllowedError(f"an array has the type {thing.dtype}")
    entry = f"{number}.npy"
    if entry not in writer.entries:
        file = io.BytesIO()
        np.save(file, thing, allow_pickle=False)
        writer.entries[entry] = file.getvalue()
    return {"type": "numpy", "file": entry}


def build_array(builder: NodeBuilder, node: Node, kind: Any) -> Any:
    """An array, or a number or text of a type of NumPy."""
    if node["type"] == "json":
        return _build_objects(builder, node)
    if node["type"] != "numpy":
        raise NotAllowedError(f"an array is of the type {str(node['type'])[:80]!r}")
    array = np.load(io.BytesIO(builder.entries[node["file"]]), allow_pickle=False)
    return array if kind is np.ndarray else kind(array)


def _build_objects(builder: NodeBuilder, node: Node) -> np.ndarray:
    """An array of objects, each put into its place.

    NumPy itself would look into them for more dimensions: a few arrays could become as many
    objects as they have numbers.
    """
    shape, items = builder.build(node["shape"]), build_list(builder, node, list)
    if type(shape) is not tuple or shape[:1] != (len(items),):
        raise NotAllowedError(MISSHAPEN)
    for length in shape[1:]:
        if any(type(part) is not list or len(part) != length for part in items):
            raise NotAllowedError(MISSHAPEN)
        items = [item for part in items for item in part]
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array.reshape(shape)


MISSHAPEN = "an array of objects does not have the shape it says"


def write_sparse(writer: NodeWriter, thing: Any, number: int) -> Node:
    """An entry of SciPy."""
    entry = f"{number}.npz"
    if entry not in writer.entries:
        file = io.BytesIO()
        sp.save_npz(file, thing)
        writer.entries[entry] = file.getvalue()
    return {"type": "scipy", "file": entry}


def build_sparse(builder: NodeBuilder, node: Node, kind: type) -> Any:
    """A sparse matrix; SciPy would build one of any type that the entry names."""
    matrix = sp.load_npz(io.BytesIO(builder.entries[node["file"]]))
    if node["type"] != "scipy" or type(matrix) is not kind:
        raise NotAllowedError(f"a {kind.__name__} is stored as a {type(matrix).__name__}")
    return matrix


# Estimators and their parts ------------------------------------------------------------------


def write_object(writer: NodeWriter, thing: Any, number: int) -> Node:
    """The state that a pickle would hold."""
    return {"content": writer.write(thing.__getstate__())}


def build_object(builder: NodeBuilder, node: Node, kind: Any) -> Any:
    """An object with this state; its `__init__` is not called."""
    thing = kind.__new__(kind)
    state = None if node.get("content") is None else builder.build(node["content"])
    if state is None:
        return thing
    if type(state) is not dict or not all(type(name) is str for name in state):
        raise NotAllowedError(f"the attributes of a {kind.__name__} have no names")
    if hasattr(thing, "__setstate__"):
        thing.__setstate__(state)
    else:
        vars(thing).update(state)
    return thing


class NodeKind(NamedTuple):
    """How the nodes of a kind are written and built.

    Attributes
    ----------
    write : callable
        From the writer, an object and its number to what its node holds beside the names.
    build : callable
        From the builder, a node and the type that it names to the object.
    """

    write: Callable[[NodeWriter, Any, int], Node]
    build: Callable[[NodeBuilder, Node, Any], Any]


NODE_KINDS = {
    "JsonNode": NodeKind(write_json, build_json),
    "DictNode": NodeKind(write_dict, build_dict),
    "ListNode": NodeKind(write_items, build_list),
    "TupleNode": NodeKind(write_items, build_tuple),
    "SliceNode": NodeKind(write_slice, build_slice),
    "TypeNode": NodeKind(write_type, build_type),
    "DTypeNode": NodeKind(write_dtype, build_dtype),
    "NdArrayNode": NodeKind(write_array, build_array),
    "SparseMatrixNode": NodeKind(write_sparse, build_sparse),
    "ObjectNode": NodeKind(write_object, build_object),
}
"""All kinds of nodes that files hold."""
