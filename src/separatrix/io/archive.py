"""Archives of skops: the types they may name, checked before anything in them is built."""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from separatrix.io.audit import (
    NotAllowedError,
    check_answers,
    check_content,
    remove_fit_only,
)
from separatrix.io.migrations import migrate
from separatrix.io.names import (
    full_name,
    read_stable_names,
    types_by_name,
    write_stable_names,
)

SCHEMA = "schema.json"
ENTRY = re.compile(r"schema\.json|\d+\.np[yz]")
NODE_KEYS = frozenset({"__class__", "__module__", "__loader__", "__id__"})

MIN_UNPACKED_BYTES = 1 << 28
"""Bytes that a packed entry may unpack to whatever its size is."""

MAX_UNPACKED_RATIO = 50
"""A larger entry may unpack to this multiple of its size."""


def is_model(thing: Any) -> bool:
    """Whether a file may hold this by itself: an estimator, or statistics."""
    return isinstance(thing, BaseEstimator) or type(thing) is types_by_name()["ClassMoments"]


def pack_model(model: Any) -> bytes:
    """The archive of a model, with stable names; an error where a file cannot hold it.

    The model is changed: give a copy.
    """
    archive = skops_io().dumps(remove_fit_only(model))
    schema = _read_schema(archive)
    write_stable_names(schema)
    archive = _replace_schema(archive, schema)
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
    archive = _check_archive(archive)
    trusted = sorted(frozenset().union(*allowed_types().values()))
    model = skops_io().loads(archive, trusted=trusted)
    if not is_model(model):
        raise NotAllowedError(f"it holds a {type(model).__name__} in place of a model")
    migrate(model, written)
    check_content(model)
    check_answers(model)
    return model


def skops_io() -> Any:
    """The module skops.io, or an error that says how to install it."""
    try:
        import skops.io
    except ImportError:
        raise ImportError("model files need skops: pip install 'separatrix[app]'") from None
    return skops.io


# Allowed types -------------------------------------------------------------------------------


@cache
def allowed_types() -> dict[str, frozenset[str]]:
    """The types that each kind of node may build."""
    numbers: list[type] = [np.bool_, np.int32, np.int64, np.float32, np.float64, np.str_]
    scalars = frozenset(f"numpy.{kind.__name__}" for kind in numbers)
    plain = frozenset({"builtins.str", "builtins.int", "builtins.float", "builtins.bool"})
    sparse = (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix)
    own = types_by_name().values()
    records = {full_name(kind) for kind in own if issubclass(kind, tuple)}
    objects = {full_name(kind) for kind in own if not issubclass(kind, tuple)}
    return {
        "JsonNode": frozenset({"builtins.str"}),
        "DictNode": frozenset({"builtins.dict"}),
        "ListNode": frozenset({"builtins.list"}),
        "TupleNode": frozenset({*records, "builtins.tuple"}),
        "SliceNode": frozenset({"builtins.slice"}),
        "TypeNode": plain | scalars,
        "DTypeNode": frozenset({"numpy.dtype"}),
        "NdArrayNode": scalars | {"numpy.ndarray"},
        "SparseMatrixNode": frozenset(full_name(kind) for kind in sparse),
        "ObjectNode": frozenset({*objects, *map(full_name, scikit_learn_types())}),
    }


def scikit_learn_types() -> tuple[type, ...]:
    """Types of scikit-learn that files may hold.

    They do what they do with NumPy, or `check_content` checks them. SGDClassifier is not among
    them: compiled code changes many private arrays of it in place when it goes on learning.
    """
    from sklearn import (
        compose,
        covariance,
        decomposition,
        discriminant_analysis,
        feature_extraction,
        feature_selection,
        impute,
        linear_model,
        naive_bayes,
        neighbors,
        pipeline,
        preprocessing,
        svm,
    )

    return (
        # steps of `preprocessing`, and others without private attributes
        compose.ColumnTransformer,
        feature_selection.VarianceThreshold,
        impute.SimpleImputer,
        pipeline.Pipeline,
        preprocessing.MinMaxScaler,
        preprocessing.Normalizer,
        preprocessing.OneHotEncoder,
        preprocessing.RobustScaler,
        preprocessing.StandardScaler,
        # words
        decomposition.TruncatedSVD,
        feature_extraction.text.HashingVectorizer,
        feature_extraction.text.TfidfTransformer,
        feature_extraction.text.TfidfVectorizer,
        # references of a comparison, and its decisions in a subspace
        decomposition.PCA,
        neighbors.KNeighborsClassifier,
        neighbors.NearestCentroid,
        neighbors.NeighborhoodComponentsAnalysis,
        preprocessing.FunctionTransformer,
        # classifiers of an EarlyClassifier or a DDAGClassifier
        discriminant_analysis.LinearDiscriminantAnalysis,
        discriminant_analysis.QuadraticDiscriminantAnalysis,
        linear_model.LogisticRegression,
        linear_model.RidgeClassifier,
        naive_bayes.GaussianNB,
        preprocessing.LabelBinarizer,  # a part of RidgeClassifier
        svm.LinearSVC,
        # the parameter `covariance` of FisherDiscriminant
        covariance.EmpiricalCovariance,
        covariance.LedoitWolf,
        covariance.OAS,
        covariance.ShrunkCovariance,
    )


# Checks --------------------------------------------------------------------------------------


def _read_schema(archive: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(archive)) as entries:
        return json.loads(entries.read(SCHEMA))


def _replace_schema(archive: bytes, schema: Any) -> bytes:
    """An archive with the same entries and another schema."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(
                name,
                json.dumps(schema, separators=(",", ":")) if name == SCHEMA else old.read(name),
            )
    return out.getvalue()


def _check_archive(archive: bytes) -> bytes:
    """The archive with the types of today; an error unless all in it is allowed.

    Nothing is imported, built or unpacked for this but lists, dictionaries, text and numbers.
    """
    with zipfile.ZipFile(io.BytesIO(archive)) as entries:
        _check_entries(entries.infolist(), len(archive))
        schema = json.loads(entries.read(SCHEMA))
        read_stable_names(schema)
        named: set[str] = {SCHEMA}
        _check_node(schema, "model", {}, named)
        if unlike := named.symmetric_difference(entries.namelist()):
            raise NotAllowedError(f"entry {min(unlike)} is missing or belongs to nothing")
        for name in named - {SCHEMA}:
            content = entries.read(name)
            (_check_array if name.endswith("y") else _check_sparse)(content)
    return _replace_schema(archive, schema)


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
    if not isinstance(loader, str) or name not in allowed_types().get(loader, ()):
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
            "in separatrix.CONTENTS and separatrix.io.names.PART_TYPES"
        )
    listed = sorted(kind.__name__ for kind in scikit_learn_types())
    return (
        f"{place} is a {name[:100]}, which is not among the types that model files may hold: "
        f"estimators of this package, and of scikit-learn {', '.join(listed)}"
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
