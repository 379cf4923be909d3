"""Archives in model files: no type without a place is built, no array is larger than it says."""

from __future__ import annotations

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.covariance import (
    OAS,
    EmpiricalCovariance,
    GraphicalLasso,
    LedoitWolf,
    ShrunkCovariance,
)

from separatrix import (
    FisherDiscriminant,
    KernelFisherDiscriminant,
    load,
    save,
)
from separatrix.files import archive
from tests.discovery import TALL, labelled
from tests.files.model_files import (
    FREE,
    archive_of,
    assert_rejected,
    node,
    pipeline_file,
    planted,
    rewritten,
    signed,
    wrapped,
)


@pytest.fixture(scope="module")
def content():
    return pipeline_file()


class TrippedError(Exception):
    """Something in a file was run."""


STRINGS = node(
    "TupleNode",
    "builtins.tuple",
    2,
    content=[node("JsonNode", "builtins.str", 3, content='"touch tripped"', is_json=True)],
)
HARMFUL = {
    "os.system": node(
        "FunctionNode", "os.system", content={"module_path": "os", "function": "system"}
    ),
    "eval": node("TypeNode", "builtins.eval"),
    "type that acts": node("TypeNode", "subprocess.Popen"),
    "reduce": node("ConstructorFromReduceNode", "subprocess.Popen", content=STRINGS),
    "reduce of ours": node(
        "ConstructorFromReduceNode", "separatrix.fisher.fisher.FisherDiscriminant", content=STRINGS
    ),
    "list": node("ListNode", "subprocess.Popen", content=[STRINGS]),
    "dict": node(
        "DictNode",
        "collections.defaultdict",
        content={},
        key_types=node("ListNode", "builtins.list", 4, content=[]),
    ),
    "set": node("SetNode", "subprocess.Popen", content=[]),
    "tuple": node("TupleNode", "os.terminal_size", content=[]),
    "object": node("ObjectNode", "zipimport.zipimporter", content=STRINGS),
    "method": node(
        "MethodNode",
        "separatrix.fisher.fisher.FisherDiscriminant",
        content={"func": "fit", "obj": STRINGS},
    ),
    "partial": node("PartialNode", "functools.partial", content={}),
    "operator": node("OperatorFuncNode", "operator.methodcaller", attrs=STRINGS),
    "tree": node(
        "TreeNode", "sklearn.tree._tree.Tree", content=STRINGS, **{"__reduce__": {"args": STRINGS}}
    ),
    "loss": node(
        "LossNode", "builtins.eval", content=STRINGS, **{"__reduce__": {"args": STRINGS}}
    ),
    "generator": node("RandomGeneratorNode", "numpy.random._generator.Generator", content={}),
    "random state": node("RandomStateNode", "numpy.random.mtrand.RandomState", content=STRINGS),
    "cached": node("CachedNode", "builtins.str"),
    "array of a class": node("NdArrayNode", "subprocess.Popen", type="numpy", file="1.npy"),
    "masked": node("MaskedArrayNode", "numpy.ma.MaskedArray", content={}),
    "bytes": node("BytesNode", "builtins.bytes", file="schema.json"),
    "scikit-learn": node(
        "ObjectNode", "sklearn.ensemble._forest.RandomForestClassifier", content=STRINGS
    ),
    "no loader": {"__id__": 3},
    "no kind of loader": node({"a": 1}, "builtins.str"),
    "private": node("ObjectNode", "separatrix.files.models.Stored", content=STRINGS),
    "no number": node("JsonNode", "builtins.str", "1", content="1"),
    "other file": node("NdArrayNode", "numpy.ndarray", type="numpy", file="schema.json"),
}


@pytest.mark.parametrize("bad", HARMFUL.values(), ids=HARMFUL)
def test_a_type_without_a_place_is_rejected_before_anything_is_built(bad, tmp_path, monkeypatch):
    bad_archive = rewritten(FisherDiscriminant(), planted(bad))
    monkeypatch.setattr(archive, "build_nodes", lambda *_: pytest.fail("it was built"))
    assert_rejected(tmp_path, wrapped(bad_archive), "rejected, and nothing in it was run")


def nested(depth):
    inner = node("ListNode", "builtins.list", 10, content=[])
    for i in range(11, 11 + depth):
        inner = node("ListNode", "builtins.list", i, content=[inner])
    return inner


def branching(depth):
    """Each list holds the next one twice, the second time by its number alone."""
    inner = node("ListNode", "builtins.list", 10, content=[])
    for i in range(11, 11 + depth):
        again = node("ListNode", "builtins.list", i - 1, content=[])
        inner = node("ListNode", "builtins.list", i, content=[inner, again])
    return inner


def with_array(array):
    """A model whose mean is any array, written by numpy as it likes."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return with_mean(file.getvalue())


def with_mean(content):
    """A model whose mean is any bytes."""
    out = io.BytesIO()
    model = FisherDiscriminant(keep_moments=False).fit(*TALL)
    with zipfile.ZipFile(io.BytesIO(archive_of(model))) as old, zipfile.ZipFile(out, "w") as new:
        mean = json.loads(old.read("schema.json"))["content"]["content"]["mean_"]["file"]
        for entry in old.namelist():
            new.writestr(entry, content if entry == mean else old.read(entry))
    return out.getvalue()


def header_only(shape, descr="<f8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": descr, "fortran_order": False, "shape": shape}
    )
    return file.getvalue() + b"12345678"


def overlapping():
    """Two entries of the directory that point to the same bytes."""
    model = FisherDiscriminant(keep_moments=False).fit(*TALL)
    out = io.BytesIO(archive_of(model))
    with zipfile.ZipFile(out, "a") as entries:
        same = entries.getinfo("schema.json")
        for i in range(FREE, FREE + 200):
            twin = zipfile.ZipInfo(f"{i}.npy")
            for field in ("header_offset", "CRC", "compress_size", "file_size"):
                setattr(twin, field, getattr(same, field))
            entries.filelist.append(twin)
        entries._didModify = True
    return out.getvalue()


def twice_the_schema():
    out = io.BytesIO(archive_of(FisherDiscriminant()))
    with zipfile.ZipFile(out, "a") as entries, pytest.warns(UserWarning, match="Duplicate"):
        entries.writestr("schema.json", "{}")
    return out.getvalue()


MEAN = {
    "absurd shape": (lambda: with_mean(header_only((10**13,))), "says it has the shape"),
    "negative shape": (lambda: with_mean(header_only((-1, -1))), "says it has the shape"),
    "nothing in each": (lambda: with_mean(header_only((10**13,), "|S0")), "has the type"),
    "objects": (lambda: with_array(np.array([TrippedError], object)), "has the type object"),
    "records": (lambda: with_mean(header_only((1,), [("a", "<f8")])), "has the type"),
    "no array": (lambda: with_mean(pickle.dumps(TrippedError)), "magic string"),
}
ARCHIVES = {
    "path": (
        lambda: rewritten(FisherDiscriminant(), entries={"../../etc/cron.d/x": b"1"}),
        "an entry named '../../etc/cron.d/x'",
    ),
    "absolute path": (
        lambda: rewritten(FisherDiscriminant(), entries={"/tmp/x.npy": b"1"}),
        "an entry named",
    ),
    "bomb": (
        lambda: rewritten(
            FisherDiscriminant(),
            entries={"1.npy": bytes(10**7)},
            compression=zipfile.ZIP_DEFLATED,
        ),
        "is packed: it could be of any size",
    ),
    "overlap": (overlapping, "larger than the file"),
    "two schemas": (twice_the_schema, "two entries have one name"),
    "stowaway": (
        lambda: rewritten(FisherDiscriminant(), entries={"1.npy": b"1"}),
        "1.npy is missing or belongs to nothing",
    ),
    "depth": (lambda: rewritten(FisherDiscriminant(), planted(nested(400))), "."),
    "branches": (
        lambda: rewritten(FisherDiscriminant(), planted(branching(60))),
        "two things at once",
    ),
    "no model": (
        lambda: rewritten(FisherDiscriminant(), lambda _: {**nested(0), "protocol": 2}),
        "a list in place of a model",
    ),
    "no schema": (lambda: rewritten(FisherDiscriminant(), lambda _: 7), "cannot be read"),
    "no zip": (lambda: b"PK" + bytes(100), "not a zip file"),
    "new protocol": (
        lambda: rewritten(FisherDiscriminant(), lambda s: {**s, "protocol": 99}),
        "protocol 99",
    ),
    **MEAN,
}


@pytest.mark.parametrize(("make", "message"), ARCHIVES.values(), ids=ARCHIVES)
def test_archives_that_mean_harm_are_rejected(make, message, tmp_path):
    assert_rejected(tmp_path, wrapped(make()), message)


def test_a_schema_too_deep_to_read_is_rejected(tmp_path):
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as entries:
        entries.writestr("schema.json", deep)
    assert_rejected(tmp_path, wrapped(out.getvalue()), "RecursionError")


def sparse_model():
    return KernelFisherDiscriminant().fit(sp.csr_array(TALL[0]), TALL[1])


def with_sparse(content):
    """A model whose reference rows are any npz file."""
    out = io.BytesIO()
    archive = io.BytesIO(archive_of(sparse_model()))
    with zipfile.ZipFile(archive) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.namelist():
            new.writestr(entry, content if entry.endswith("z") else old.read(entry))
    return out.getvalue()


def npz(compression=zipfile.ZIP_DEFLATED, **arrays):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as entries:
        for name, array in arrays.items():
            file = io.BytesIO()
            np.save(file, array, allow_pickle=True)
            entries.writestr(f"{name}.npy", file.getvalue())
    return out.getvalue()


def csr_parts(**changes):
    points = sp.csr_array(TALL[0])
    parts = {key: getattr(points, key) for key in ("data", "indices", "indptr", "shape")}
    return {"format": b"csr", "_is_array": True, **parts, **changes}


def test_sparse_arrays_that_lead_elsewhere_are_rejected(tmp_path):
    indices = sp.csr_array(TALL[0]).indices.copy()
    indices[3] = 10**6
    assert_rejected(tmp_path, wrapped(with_sparse(npz(**csr_parts(indices=indices)))), "ndices")
    assert_rejected(tmp_path, wrapped(with_sparse(npz(**csr_parts(indices=-indices)))), "ndices")
    objects = np.array([TrippedError] * 3, object)
    assert_rejected(tmp_path, wrapped(with_sparse(npz(**csr_parts(data=objects)))), "type object")
    assert_rejected(
        tmp_path, wrapped(with_sparse(npz(**csr_parts(data=np.zeros(2))))), "cannot be read"
    )


def test_a_packed_sparse_array_that_unpacks_to_too_much_is_rejected(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MIN_UNPACKED_BYTES", 10**5)
    bomb = npz(**csr_parts(data=np.zeros(10**6)))
    assert_rejected(tmp_path, wrapped(with_sparse(bomb)), "unpacks to")


def test_three_hundred_random_corruptions_are_rejected(content, tmp_path):
    """Bytes overwritten, cut out, doubled and moved; the checksum made right for every second."""
    rng = np.random.default_rng(1)
    path = tmp_path / "bad.model"
    same = pickle.dumps(load_from(content, path))
    for trial in range(300):
        bad = corrupted(content if trial % 2 else content.split(b"\n", 1)[1], rng)
        if trial % 2 == 0:
            bad = signed(bad)
        path.write_bytes(bad)
        try:
            model = load(path)
        except ValueError:
            continue
        # with the checksum made right a change may be one that means nothing, or a number
        assert trial % 2 == 0
        assert type(model) is type(pickle.loads(same))


def load_from(content, path):
    path.write_bytes(content)
    return load(path)


def corrupted(content, rng):
    changed = bytearray(content)
    start, size = int(rng.integers(len(changed))), int(rng.integers(1, 40))
    match rng.integers(4):
        case 0:
            changed[start : start + size] = rng.bytes(len(changed[start : start + size]))
        case 1:
            del changed[start : start + size]
        case 2:
            changed[start:start] = changed[start : start + size]
        case 3:
            other = int(rng.integers(len(changed)))
            changed[other : other + size] = content[start : start + size]
    return bytes(changed) if changed != content else content[:-1]


@pytest.mark.parametrize(
    "estimator",
    [LedoitWolf(block_size=50), OAS(), ShrunkCovariance(shrinkage=0.3), EmpiricalCovariance()],
    ids=lambda e: type(e).__name__,
)
def test_covariance_estimators_are_kept(estimator, tmp_path):
    X, y = labelled(60, 5)
    model = FisherDiscriminant(covariance=estimator).fit(X, y)
    save(model, tmp_path / "a.model")
    kept = load(tmp_path / "a.model")
    assert kept.covariance.get_params() == estimator.get_params()
    assert (kept.decision_function(X) == model.decision_function(X)).all()
    assert (kept.predict_proba(X) == model.predict_proba(X)).all()
    assert (kept.fit(X, y).coef_ == model.coef_).all()
    estimator = clone(estimator).fit(X)  # a fitted one has arrays of its own
    save(FisherDiscriminant(covariance=estimator).fit(X, y), tmp_path / "b.model")
    kept = load(tmp_path / "b.model").covariance
    assert (kept.covariance_ == estimator.covariance_).all()


def test_covariance_estimators_of_anything_but_numbers_are_refused(tmp_path):
    X, y = labelled(60, 5)
    model = FisherDiscriminant(covariance=LedoitWolf()).fit(X, y)
    model.covariance.block_size = {"a": 1}
    with pytest.raises(ValueError, match=r"a LedoitWolf has block_size=.* numbers alone"):
        save(model, tmp_path / "a.model")
    other = FisherDiscriminant(covariance=GraphicalLasso(0.1)).fit(X, y)
    with pytest.raises(ValueError, match=r"covariance is a .*GraphicalLasso, which is not among"):
        save(other, tmp_path / "a.model")
