"""Objects as trees of JSON and arrays of NumPy, and back: `separatrix.files.model` says how."""

from __future__ import annotations

import io
import math
import re
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.files.checks import (
    CHECKS,
    MAX_EMPTY,
    REFITS,
    NotAllowedError,
    check_axes,
    check_names,
    shown,
)
from separatrix.files.names import DERIVED, SCIKIT_LEARN, find_name, find_type

MAX_DEPTH = 60
"""Deepest nesting of a tree; a pipeline of early decisions has about 15 levels."""

MAX_NAME = 4096
"""Characters of the longest key of a dictionary."""

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


# Writing --------------------------------------------------------------------------------------


def pack_array(array: np.ndarray) -> bytes:
    """The bytes of an entry."""
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        array = array.copy(order="K")  # products in another order differ in their last digits
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


class Writer:
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
        check_names(kind, state)
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


# Reading --------------------------------------------------------------------------------------


def read_array(content: bytes) -> np.ndarray:
    """One array of numbers or text, no larger than it says."""
    header = NPY.match(content)
    if header is None or len(header[0]) != 10 + int.from_bytes(content[8:10], "little"):
        raise NotAllowedError("an entry is no array of numbers, text or times")
    dtype = np.dtype(header[1].decode())
    shape = tuple(int(n) for n in header[3].decode().split(",") if n.strip())
    if dtype.itemsize == 0 or math.prod(shape) * dtype.itemsize != len(content) - header.end():
        raise NotAllowedError(
            f"an array says it has the shape {shape} of {dtype}, but its content does not"
        )
    _check_shape(shape)
    flat = np.frombuffer(content, dtype, offset=header.end())
    return flat.reshape(shape, order="F" if header[2] == b"True" else "C").copy(order="K")


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) > 32 or (0 in shape and max(shape) > MAX_EMPTY):
        raise NotAllowedError(f"an array without entries has the shape {shape}")


class Reader:
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
                raise NotAllowedError("a part of it does not name its type")
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
        check_names(kind, content)
        state = {name: self.build(value) for name, value in content.items()}
        if kind.__name__ == "TfidfVectorizer" and type(state.get("vocabulary_")) is list:
            words = [str(word) for word in state["vocabulary_"]]
            state["vocabulary_"] = {word: i for i, word in enumerate(words)}
            if len(state["vocabulary_"]) < len(words):
                raise NotAllowedError("a TfidfVectorizer has a word twice")
        check_axes(kind, state)
        check = CHECKS.get(kind.__name__)
        if check is not None:
            check(kind, state)
        if issubclass(kind, tuple):
            return tuple.__new__(kind, [state[name] for name in kind._fields])
        thing = kind.__new__(kind)
        for name, value in state.items():
            object.__setattr__(thing, name, value)
        return REFITS[kind.__name__](thing) if kind.__name__ in REFITS else thing
