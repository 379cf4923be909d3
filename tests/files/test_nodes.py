"""Nodes of model files: what is written is built again, as skops would, and nothing else is."""

from __future__ import annotations

import functools
import io
import json
import operator
import zipfile
from datetime import date

import numpy as np
import pytest
import scipy.sparse as sp
import skops.io
from numpy.testing import assert_array_equal
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from separatrix import (
    ClassMoments,
    DDAGClassifier,
    EarlyClassifier,
    FisherDiscriminant,
    KernelFisherDiscriminant,
    OnlineIPCAC,
    WithRejection,
)
from separatrix.decision.linear import LinearRule
from separatrix.files.allowed import PLAIN_TYPES
from separatrix.files.audit import NotAllowedError, remove_fit_only
from separatrix.files.nodes import NODE_KINDS, build_nodes, write_nodes
from tests.discovery import TALL, WIDE
from tests.files.model_files import NAMES, around, mixed_table, node


def as_read(thing):
    """The schema and the entries of an object, as they come out of a file."""
    schema, entries = write_nodes(thing)
    return json.loads(json.dumps(schema)), entries


def there_and_back(thing):
    return build_nodes(*as_read(thing))


def assert_same(a, b):
    """Equal values of the same types, all the way down."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray) and a.dtype == object:
        assert a.shape == b.shape
        for one, other in zip(a.ravel(), b.ravel(), strict=True):
            assert_same(one, other)
    elif isinstance(a, np.ndarray):
        assert_array_equal(a, b, strict=True)
        assert a.flags.f_contiguous == b.flags.f_contiguous
    elif sp.issparse(a):
        assert_array_equal(a.toarray(), b.toarray(), strict=True)
    elif isinstance(a, dict):
        assert_same(list(a), list(b))
        assert_same(list(a.values()), list(b.values()))
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_same(one, other)
    elif hasattr(a, "__dict__") and not isinstance(a, type):
        assert_same(a.__getstate__(), b.__getstate__())
    else:
        assert a == b or (a != a and b != b)


def objects(*items, shape=None):
    array = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array if shape is None else array.reshape(shape)


SPARSE = [kind(np.eye(3)) for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix)]
THINGS = {
    "nothing": None,
    "truth": [True, False],
    "numbers": [0, -(10**40), 1.5, 5e-324, np.inf, np.nan, -0.0],
    "text": ["", "é\n\x00", "null"],
    "nested": [[], [[()]], ({},)],
    "names": {"a": 1, "": {"b": [None]}},
    "keys": {1: "a", -2.5: "b", True + 1: "c"},
    "truth as keys": {False: 0, True: 1},
    "keys of NumPy": {np.int64(3): 1, np.float32(0.1): 2, np.str_("x"): 3, np.bool_(False): 4},
    "named tuple": LinearRule(np.eye(2), np.zeros(2)),
    "slices": [slice(None), slice(1, -3, 2), slice("a", "b")],
    "types": [str, int, float, bool, np.float64, np.str_, np.bool_],
    "dtypes": [np.dtype("<f4"), np.dtype("<U7"), np.dtype(bool), np.dtype(object)],
    "scalars": [np.bool_(True), np.int32(-1), np.int64(2), np.float32(0.1), np.float64(0.1)],
    "text of NumPy": np.str_("ash"),
    "array": np.arange(6.0).reshape(2, 3),
    "columns first": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "empty array": np.zeros((0, 4), dtype=np.int8),
    "array without dimension": np.array(2.5),
    "array of text": np.array(["a", "birch"]),
    "objects": objects("a", 1, None, [1, 2], np.eye(2)),
    "table of objects": objects("a", 1, None, 2.5, "b", True, shape=(2, 3)),
    "table of lists": objects([1, 2], [3], [4, 5], [6], shape=(2, 2)),
    "no objects": objects(shape=(0, 3)),
    "sparse": SPARSE,
}


@pytest.mark.parametrize("thing", THINGS.values(), ids=THINGS)
def test_things_come_back(thing):
    assert_same(there_and_back(thing), thing)


def test_every_kind_of_node_is_written_and_has_a_table_of_types():
    kinds = {kind for thing in THINGS.values() for kind in loaders(as_read(thing)[0])}
    kinds |= loaders(as_read(FisherDiscriminant())[0])
    assert kinds == NODE_KINDS.keys() == PLAIN_TYPES.keys()


def loaders(schema):
    if isinstance(schema, list):
        return set().union(*map(loaders, schema))
    if not isinstance(schema, dict):
        return set()
    own = {schema["__loader__"]} if "__loader__" in schema else set()
    return own.union(*map(loaders, schema.values()))


def test_what_was_one_object_is_one_object_again():
    rows, names = np.eye(3), ["a"]
    model = FisherDiscriminant()
    model.parts = [rows, rows, names, (names,), SPARSE[0], SPARSE[0]]
    schema, entries = as_read([model, model])
    first, second = build_nodes(schema, entries)
    assert first is second
    assert first.parts[0] is first.parts[1]
    assert first.parts[2] is first.parts[3][0]
    assert first.parts[4] is first.parts[5]
    assert len(entries) == 2


def test_numbers_of_objects_that_are_gone_are_not_given_again():
    """States and lists of types live only while they are written."""
    schema, _ = as_read([FisherDiscriminant(c) for c in range(1, 60)])
    states = [item["content"]["__id__"] for item in schema["content"]]
    keys = [item["content"]["key_types"]["__id__"] for item in schema["content"]]
    assert len({*states, *keys}) == 2 * 59


# As skops does -------------------------------------------------------------------------------


MODELS = {
    "pipeline": lambda: around(FisherDiscriminant()).fit(*mixed_table()),
    "window": lambda: OnlineIPCAC(window=20).fit(TALL[0], TALL[1] > 0),
    "sparse": lambda: KernelFisherDiscriminant().fit(sp.csr_array(WIDE[0]), NAMES[WIDE[1]]),
    "pairs": lambda: DDAGClassifier(FisherDiscriminant()).fit(*TALL),
    "early": lambda: EarlyClassifier(FisherDiscriminant()).fit(*TALL),
    "rejecting": lambda: WithRejection(FisherDiscriminant()).fit(*TALL),
    "choice": lambda: FisherDiscriminant("auto").fit(*TALL),
    "neighbours": lambda: make_pipeline(FisherDiscriminant(), KNeighborsClassifier()).fit(*TALL),
    "moments": lambda: ClassMoments.from_data(sp.csr_array(WIDE[0]), WIDE[1], per_class=True),
}


@pytest.fixture(scope="module")
def fitted():
    # as they are saved: a tree of neighbours and the like has no place in a file
    return {name: remove_fit_only(make()) for name, make in MODELS.items()}


def packed(schema, entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
        archive.writestr("schema.json", json.dumps({**schema, "protocol": 2}))
    return out.getvalue()


def unpacked(archive):
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        entries = {name: file.read(name) for name in file.namelist()}
    return json.loads(entries.pop("schema.json")), entries


def renumbered(part, numbers):
    """A schema with its objects numbered as they are met: which are the same is what counts."""
    if isinstance(part, list):
        return [renumbered(item, numbers) for item in part]
    if not isinstance(part, dict):
        return part
    own = {}
    if "__id__" in part:
        own["__id__"] = numbers.setdefault(part["__id__"], len(numbers))
    if "file" in part:
        own["file"] = f"{own['__id__']}.{part['file'].rpartition('.')[2]}"
    return {k: own.get(k) if k in own else renumbered(v, numbers) for k, v in part.items()}


@pytest.mark.parametrize("name", MODELS)
def test_nodes_are_those_of_skops(name, fitted):
    model = fitted[name]
    schema, entries = as_read(model)
    theirs, other_entries = unpacked(skops.io.dumps(model))
    del theirs["protocol"], theirs["_skops_version"]
    ours, others = {}, {}
    assert renumbered(schema, ours) == renumbered(theirs, others)
    known = {f"{others[int(e[:-4])]}{e[-4:]}": content for e, content in other_entries.items()}
    assert {f"{ours[int(e[:-4])]}{e[-4:]}" for e in entries} == known.keys()
    for entry, content in entries.items():
        if entry.endswith("y"):  # packed entries have the time in them
            assert content == known[f"{ours[int(entry[:-4])]}.npy"]


@pytest.mark.parametrize("name", MODELS)
def test_skops_reads_what_is_written_here_and_the_other_way_round(name, fitted):
    model = fitted[name]
    archive = packed(*as_read(model))
    trusted = skops.io.get_untrusted_types(data=archive)
    read_there = skops.io.loads(archive, trusted=trusted)
    read_here = build_nodes(*unpacked(skops.io.dumps(model)))
    for again in (read_there, read_here, there_and_back(model)):
        assert_same(again, model)


# What has no place in a file -----------------------------------------------------------------


class Stranger:
    """A type that is in no table."""

    def __getstate__(self):
        pytest.fail("the state of a type without a place was asked for")


REFUSED = {
    "function": (len, "FunctionNode"),
    "method": ([].append, "FunctionNode"),
    "function of NumPy": (np.log1p, "FunctionNode"),
    "other function of NumPy": (np.mean, "FunctionNode"),
    "part of a function": (functools.partial(len, []), "FunctionNode"),
    "getter": (operator.itemgetter(1), "FunctionNode"),
    "generator": (np.random.default_rng(0), "RandomStateNode"),
    "old generator": (np.random.RandomState(0), "RandomStateNode"),
    "object": (Stranger(), "OtherNode"),
    "set": ({1}, "OtherNode"),
    "bytes": (b"a", "OtherNode"),
    "date": (date(2024, 1, 2), "OtherNode"),
    "complex": (1j, "OtherNode"),
    "masked": (np.ma.array([1]), "OtherNode"),
    "other number": (np.uint8(1), "OtherNode"),
    "other sparse": (sp.coo_array(np.eye(2)), "OtherNode"),
}


@pytest.mark.parametrize(("thing", "loader"), REFUSED.values(), ids=REFUSED)
def test_what_has_no_place_becomes_a_node_that_no_file_may_hold(thing, loader):
    schema, entries = write_nodes([thing])
    assert schema["content"][0]["__loader__"] == loader
    assert loader not in NODE_KINDS
    with pytest.raises(NotAllowedError, match="is none of the types of a"):
        build_nodes(schema, entries)


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        ({1: "a", "1": "b"}, "two keys of a dictionary are the same as text"),
        ({(1, 2): "a"}, r"has the key '\(1, 2\)'"),
        ({None: "a"}, "has the key 'None'"),
        (np.array(None), "has no dimension"),
        (np.zeros(2, dtype=[("a", object)]), "an array has the type"),
    ],
    ids=["same keys", "tuple", "no key", "no dimension", "records"],
)
def test_what_could_not_be_read_is_not_written(thing, message):
    with pytest.raises(NotAllowedError, match=message):
        write_nodes(thing)


def json_node(content, identity=5):
    return node("JsonNode", "builtins.str", identity, content=content, is_json=True)


def list_node(*items, identity=6):
    return node("ListNode", "builtins.list", identity, content=list(items))


def shape_node(*lengths):
    items = [json_node(str(n), 40 + i) for i, n in enumerate(lengths)]
    return node("TupleNode", "builtins.tuple", 7, content=items)


def objects_node(*items, shape):
    return node(
        "NdArrayNode", "numpy.ndarray", content=list(items), type="json", shape=shape_node(*shape)
    )


def dict_node(content, *kinds):
    types = [node("TypeNode", kind, 20 + i) for i, kind in enumerate(kinds)]
    return node("DictNode", "builtins.dict", 3, content=content, key_types=list_node(*types))


def fisher_node(content):
    return node("ObjectNode", "separatrix.fisher.fisher.FisherDiscriminant", 2, content=content)


A, B = json_node('"a"', 8), json_node('"b"', 9)
BAD = {
    "list as JSON": (json_node("[1]"), "stands where text or a number belongs"),
    "mapping as JSON": (json_node('{"a": 1}'), "stands where text or a number belongs"),
    "no JSON": (json_node("os"), "Expecting value"),
    "no node": (list_node(7), "there is '7' in place of an object"),
    "mapping without a number": (list_node({"a": 1}), "in place of an object"),
    "other type": (node("ListNode", "builtins.tuple", content=[]), "none of the types"),
    "other kind": (node("SetNode", "builtins.list", content=[]), "none of the types"),
    "nested slice": (
        node("SliceNode", "builtins.slice", content={"start": [1], "stop": 1, "step": None}),
        "a slice has an end",
    ),
    "fewer types than keys": (dict_node({"a": A, "b": B}, "builtins.str"), "2 keys, and 1 types"),
    "more types than keys": (
        dict_node({"a": A}, "builtins.str", "builtins.int"),
        "1 keys, and 2 types",
    ),
    "key of another type": (dict_node({"a": A}, "builtins.int"), "Expecting value"),
    "attributes in a list": (fisher_node(list_node(A)), "have no names"),
    "numbers for names": (fisher_node(dict_node({"1": A}, "builtins.int")), "have no names"),
    "too few objects": (objects_node(A, shape=(2,)), "the shape it says"),
    "too many objects": (objects_node(A, B, shape=(1,)), "the shape it says"),
    "no dimension": (objects_node(A, shape=()), "the shape it says"),
    "negative": (objects_node(list_node(A), shape=(1, -1)), "the shape it says"),
    "text as a row": (objects_node(A, shape=(1, 1)), "the shape it says"),
    "no such array": (
        node("NdArrayNode", "numpy.ndarray", type="pickle", file="1.npy"),
        "of the type 'pickle'",
    ),
}


@pytest.mark.parametrize(("schema", "message"), BAD.values(), ids=BAD)
def test_nodes_that_nobody_writes_are_not_built(schema, message):
    with pytest.raises(ValueError, match=message):
        build_nodes(schema, {})


def test_objects_are_not_unfolded_into_more_dimensions():
    """A file could name one array a thousand times, and each number in it would be an object."""
    big = np.zeros(10**5)
    again = there_and_back(objects(*[big] * 4, shape=(2, 2)))
    assert again.shape == (2, 2)
    assert again[0, 0] is again[1, 1]


@pytest.mark.parametrize("stored", [sp.coo_array, sp.csc_array, sp.csr_matrix])
def test_a_sparse_entry_of_another_type_than_the_node_says_is_refused(stored):
    schema, entries = as_read(sp.csr_array(np.eye(3)))
    file = io.BytesIO()
    sp.save_npz(file, stored(np.eye(3)))
    with pytest.raises(NotAllowedError, match=f"a csr_array is stored as a {stored.__name__}"):
        build_nodes(schema, dict.fromkeys(entries, file.getvalue()))
