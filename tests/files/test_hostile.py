"""Model files that mean harm: refused in words, before memory is taken or anything runs."""

from __future__ import annotations

import io
import json
import pickle
import time
import tracemalloc
import zipfile
from random import Random

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from separatrix import (
    DDAGClassifier,
    FisherDiscriminant,
    KernelFisherDiscriminant,
    KernelIPCAC,
    LocalQDA,
    OnlineIPCAC,
    load,
    save,
)
from separatrix.features.words import make_vectorizer
from separatrix.files import model as models
from separatrix.files import trees
from tests.discovery import TALL, all_estimators, name_of
from tests.files.model_files import (
    assert_answers_alike,
    assert_rejected,
    packed,
    pipeline_file,
    planted,
    rewritten,
    saved_and_loaded,
    signed,
    unpacked,
)
from tests.fuzz.files import check_model_file, draw_model_file, fitted_models
from tests.texts import make_texts


def fisher():
    return FisherDiscriminant(keep_moments=False).fit(*TALL)


def npy(array):
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def header_only(shape, descr="<f8", rest=b"12345678"):
    file = io.BytesIO()
    kind = {"descr": descr, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, kind)
    return file.getvalue() + rest


def nested(depth):
    inner = []
    for _ in range(depth):
        inner = [inner]
    return inner


class TrippedError(Exception):
    """Something in a file was run."""


# Names, types, attributes ----------------------------------------------------------------------

NODES = {
    "function": {"os.system": {}},
    "type": {"type": "subprocess.Popen"},
    "text type": {"type": "str"},
    "module": {"separatrix.files.model.Stored": {}},
    "public module": {"datasets": {}},
    "forest": {"sklearn.RandomForestClassifier": {}},
    "terminal": {"\x1b[31mred": {}},
    "two names": {"tuple": [], "list": []},
    "no name": {},
    "dtype": {"dtype": "|O8,f8"},
    "far array": {"array": 10**6},
    "array of text": {"array": "0"},
    "items": {"tuple": 3},
    "key without value": {"dict": [["a"]]},
    "list as key": {"dict": [[{"tuple": []}, 1]]},
    "long key": {"dict": [["x" * 250_000, 1]]},
    "big number": 1 << 64,
    "slice of lists": {"slice": [[1], 2, None]},
    "misshapen objects": {"objects": [[2], ["a"]]},
    "negative objects": {"objects": [[1, -1], ["a"]]},
    "empty objects": {"objects": [[0, 10**9], []]},
    "sparse without arrays": {"csr_array": [[3, 3], 0, 0]},
    "sparse of anything": {"csr_array": [[3, 3], 0, 0, 0]},
    "depth": nested(200),
    "kernel without its parts": {"KernelMap": {"kernel": None}},
    "other attributes": {"LinearRule": {"coef": 1, "intercept": 1, "more": 1}},
}


@pytest.mark.parametrize("bad", NODES.values(), ids=NODES)
def test_a_part_without_a_place_is_rejected(bad, tmp_path):
    (tmp_path / "bad.model").write_bytes(rewritten(fisher(), planted(bad)))
    with pytest.raises(ValueError, match="rejected, and nothing in it was run") as caught:
        load(tmp_path / "bad.model")
    assert str(caught.value).isprintable()


COVERED = (
    *("_doc_link_template", "_doc_link_module", "_repr_html_", "predict", "__class__", "fit"),
    *("_get_doc_link", "unknown_", "\x1b[2Jcleared", "__dict__", "_parameter_constraints"),
)


@pytest.mark.parametrize("name", COVERED, ids=ascii)
@pytest.mark.parametrize("model", [fisher(), StandardScaler().fit(TALL[0])], ids=name_of)
def test_attributes_that_a_class_does_not_declare_are_rejected(name, model, tmp_path):
    content = rewritten(model, planted("{url}", name))
    assert_rejected(tmp_path, content, "is no attribute that a .* declares")


@pytest.mark.parametrize("estimator", all_estimators(), ids=name_of)
def test_every_parameter_is_needed(estimator, tmp_path):
    for name in estimator.get_params(deep=False):

        def remove(header, name=name):
            del next(iter(header["model"].values()))[name]

        assert_rejected(tmp_path, rewritten(estimator, remove), f"lacks {name}")


# Sizes ---------------------------------------------------------------------------------------


def with_mean(content):
    """A model whose mean is any bytes."""
    header, entries = unpacked(models.pack_file(fisher(), {}))
    number = header["model"]["FisherDiscriminant"]["mean_"]["array"]
    return packed(header, {**entries, f"{number}.npy": content})


def overlapping():
    """Many entries of the directory that point to the same bytes."""
    header, entries = unpacked(models.pack_file(fisher(), {}))
    out = io.BytesIO(packed(header, entries))
    with zipfile.ZipFile(out, "a") as archive:
        same = archive.getinfo("model.json")
        for i in range(len(entries), len(entries) + 200):
            twin = zipfile.ZipInfo(f"{i}.npy")
            for field in ("header_offset", "CRC", "compress_size", "file_size"):
                setattr(twin, field, getattr(same, field))
            archive.filelist.append(twin)
        archive._didModify = True
    return signed(out.getvalue())


FILES = {
    "absurd shape": (lambda: with_mean(header_only((10**13,))), "says it has the shape"),
    "negative shape": (lambda: with_mean(header_only((-1, -1))), "no array"),
    "nothing in each": (lambda: with_mean(header_only((10**13,), "|S0")), "says it has|no array"),
    "zero and huge": (
        lambda: with_mean(header_only((0, 500_000_000), rest=b"")),
        "without entries has the shape",
    ),
    "objects": (lambda: with_mean(npy(np.array([TrippedError], object))), "no array of numbers"),
    "records": (lambda: with_mean(header_only((1,), [("a", "<f8")])), "no array of numbers"),
    "pickle": (lambda: with_mean(pickle.dumps(TrippedError)), "no array of numbers"),
    "column": (lambda: with_mean(npy(np.zeros((6, 1)))), "mean_ of a .* has 2 axes"),
    "path": (
        lambda: rewritten(fisher(), entries={"../../etc/cron.d/x": b"1"}),
        "an entry named '../../etc/cron.d/x'",
    ),
    "stowaway": (
        lambda: rewritten(FisherDiscriminant(shrinkage=None), entries={"0.npy": npy(np.zeros(1))}),
        "0.npy belongs to nothing",
    ),
    "packed": (
        lambda: packed(
            *unpacked(models.pack_file(fisher(), {})), compression=zipfile.ZIP_DEFLATED
        ),
        "is packed: it could be of any size",
    ),
    "overlap": (overlapping, "larger than the file"),
    "no model": (lambda: rewritten(fisher(), lambda h: {**h, "model": []}), "belongs|a list in"),
    "no header": (lambda: packed(b"7", {}), "does not say which versions"),
    "deep header": (lambda: packed(b"[" * 100_000 + b"]" * 100_000, {}), "nested too deeply"),
    "wide header": (
        lambda: packed(b"[" + b"[]," * 700_000 + b"0]", {}),
        "more than 1000000 items",
    ),
    "not ASCII": (lambda: packed('{"versions": {}, "model": "é"}'.encode(), {}), "not ASCII"),
    "jobs": (
        lambda: rewritten(KNeighborsClassifier().fit(*TALL), planted(5000, "n_jobs")),
        "n_jobs=5000",
    ),
    "number of features": (
        lambda: rewritten(fisher(), planted(10**9, "n_features_in_")),
        "has n_features_in_=1000000000",
    ),
    "a key over many items": (
        lambda: rewritten(
            fisher(), planted({"dict": [["x" * 250_000, [0] * 250_000]]}, "selection_")
        ),
        "no short text",
    ),
}


@pytest.mark.parametrize(("make", "message"), FILES.values(), ids=FILES)
def test_hostile_files_are_refused_in_words_without_memory(make, message, tmp_path):
    content = make()
    tracemalloc.start()
    try:
        start = time.process_time()
        assert_rejected(tmp_path, content, message)
        took, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000 + 4 * len(content)
    assert took < 5  # of which most is the tracing


def test_numbers_that_would_collide_as_keys_take_linear_time(tmp_path):
    """Python hashes whole numbers by their remainder; those of 64 bits hardly collide."""
    pairs = [[i << 40, 0] for i in range(200_000)]
    content = rewritten(
        FisherDiscriminant(shrinkage=None), planted({"dict": pairs}, "n_components")
    )
    (tmp_path / "a.model").write_bytes(content)
    start = time.process_time()
    load(tmp_path / "a.model")
    assert time.process_time() - start < 3
    many = [[i * (2**61 - 1), 0] for i in range(5, 100)]
    bad = rewritten(FisherDiscriminant(shrinkage=None), planted({"dict": many}, "n_components"))
    assert_rejected(tmp_path, bad, "more than 64 bits")


@pytest.mark.parametrize("n_features", [6, 400])
def test_loading_takes_four_times_the_arrays_at_most(n_features, tmp_path):
    rng = np.random.default_rng(0)
    model = FisherDiscriminant(shrinkage=None).fit(
        rng.normal(size=(900, n_features)), np.arange(900) % 3
    )
    save(model, tmp_path / "a.model")
    declared = sum(len(c) for c in unpacked((tmp_path / "a.model").read_bytes())[1].values())
    tracemalloc.start()
    try:
        load(tmp_path / "a.model")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * declared + 500_000


def test_labels_of_a_model_in_a_model_are_an_array(tmp_path):
    model = DDAGClassifier(FisherDiscriminant()).fit(*TALL)

    def spoil(node):
        for name, part in node.items() if isinstance(node, dict) else enumerate(node):
            if name == "FisherDiscriminant" and "classes_" in part:
                part["classes_"] = {"tuple": ["a", "b"]}
            if isinstance(part, dict | list):
                spoil(part)

    content = rewritten(model, lambda header: spoil(header["model"]))
    assert_rejected(tmp_path, content, "classes_ of a FisherDiscriminant are no array")


def test_scores_of_more_classes_than_there_are_names_are_rejected(tmp_path):
    """The row of zeros may go to a class that has a name; another row would not."""
    model = FisherDiscriminant(keep_moments=False).fit(TALL[0], np.arange(len(TALL[0])) % 4)
    model.classes_ = model.classes_[:3]
    assert_rejected(tmp_path, models.pack_file(model, {}), "3 classes have scores of the shape")


def test_three_thousand_mutations_are_answered_or_refused_in_words(tmp_path):
    """Headers rewritten and signed again; no other error comes, also when a model is used."""
    random, known = Random(7), fitted_models()
    accepted = sum(check_model_file(*draw_model_file(random, known), tmp_path) for _ in range(300))
    assert 0 < accepted < 200


def test_rows_in_files_are_declared(tmp_path):
    X, y = TALL

    def declared(model):
        save(model.fit(X, y), tmp_path / "a.model")
        return models.read(tmp_path / "a.model").stores_rows

    for model in (
        *(KernelFisherDiscriminant(), LocalQDA(), FisherDiscriminant(window=40)),
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
    ):
        assert declared(model), model
    for model in (
        FisherDiscriminant(shrinkage=None),
        DDAGClassifier(FisherDiscriminant(shrinkage=None)),
    ):
        assert not declared(model), model


@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_labels_that_are_times_come_back(unit, tmp_path):
    labels = np.array(["2024-01-02", "2024-03-04", "2025-01-01"], f"M8[{unit}]")[TALL[1]]
    model = FisherDiscriminant(shrinkage=None).fit(TALL[0], labels)
    assert_answers_alike(model, saved_and_loaded(model, tmp_path), TALL[0])


# Content that compiled code follows ------------------------------------------------------------


def neighbours(**changes):
    model = KNeighborsClassifier(3, algorithm="brute").fit(*TALL)
    vars(model).update(changes)
    return model


def encoder(kinds=(("a",), ("b",), ("c",)), **changes):
    model = OneHotEncoder(drop="first", sparse_output=False).fit(np.array(kinds))
    vars(model).update(changes)
    return model


def words(**changes):
    model = make_vectorizer().fit(make_texts(20)[0])
    weights = changes.pop("weights", {})
    vars(model).update(changes)
    vars(model._tfidf).update(weights)
    return model


def hashing(**changes):
    model = HashingVectorizer()
    vars(model).update(changes)
    return model


N_WORDS = len(words().vocabulary_)
ROWS, CODES = neighbours()._fit_X, neighbours()._y
UNSOUND = {
    "labels": (lambda: neighbours(_y=CODES + 100), "labels that are not"),
    "float labels": (lambda: neighbours(_y=CODES + 0.5), "labels that are not"),
    "few labels": (lambda: neighbours(_y=CODES[:5].copy()), "inconsistent numbers"),
    "narrow rows": (lambda: neighbours(_fit_X=ROWS[:, :1].copy()), "has 1 features, not 6"),
    "wider queries": (lambda: neighbours(n_features_in_=400_000), "6 features, not 400000"),
    "few rows": (lambda: neighbours(_fit_X=ROWS[:2].copy()), "inconsistent numbers"),
    "one axis": (lambda: neighbours(_fit_X=ROWS.ravel()), "not finite numbers"),
    "gaps": (lambda: neighbours(_fit_X=ROWS * np.nan), "not finite numbers"),
    "sparse rows": (lambda: neighbours(_fit_X=sp.csr_array(ROWS[:, :1])), "1 features, not 6"),
    "metric": (lambda: neighbours(metric="precomputed"), "metric="),
    "weights of a metric": (lambda: neighbours(metric_params={"w": ROWS[0].copy()}), "metric="),
    "order": (lambda: encoder([[1], [2], [3]], categories_=[np.array([3, 1, 2])]), "Unsorted"),
    "no categories": (lambda: encoder(categories_=[np.array([], "U1")]), "no sound categories"),
    "more columns": (lambda: encoder(n_features_in_=2), "1 features, not 2"),
    "rare": (lambda: encoder(max_categories=2), "max_categories="),
    "other words": (lambda: words(vocabulary_={"a": 0, "b": 1}), "weights of others"),
    "few weights": (lambda: words(weights={"idf_": np.ones(2)}), "weights that do not fit"),
    "no numbers": (lambda: words(weights={"idf_": np.full(N_WORDS, np.nan)}), "do not fit"),
    "files": (lambda: words(input="filename"), "input='filename': files keep only 'content'"),
    "open files": (lambda: hashing(input="file"), "input='file'"),
    "pattern": (lambda: words(token_pattern="(a+)+$"), "token_pattern="),
    "pattern of hashes": (lambda: hashing(token_pattern="(a+)+$"), "token_pattern="),
    "own words": (lambda: words(vocabulary=["a"]), "vocabulary="),
    "columns of hashes": (lambda: hashing(n_features=1 << 40), "n_features="),
    "sparse indices": (lambda: far_indices(), "ndices"),
}


def far_indices():
    model = KernelFisherDiscriminant().fit(sp.csr_array(TALL[0]), TALL[1])
    model._map.points.indices[3] = 10**6
    return model


@pytest.mark.parametrize(("make", "message"), UNSOUND.values(), ids=UNSOUND)
def test_content_that_compiled_code_would_follow_is_rejected(make, message, tmp_path, monkeypatch):
    """Predicting from it could crash. A file may hold it whoever wrote it."""
    with monkeypatch.context() as unchecked:
        unchecked.setattr(trees, "CHECKS", {})
        unchecked.setattr(sp.csr_array, "check_format", lambda *_, **__: None)
        content = models.pack_file(make_pipeline(make()), {})
    assert_rejected(tmp_path, content, f"(?s){message}")


TABLE = pd.DataFrame({"a": ["x", "y", None, "z"], "b": [1.0, 2.0, 4.0, 1.0], "c": [True] * 4})
TABLES = {
    "kinds": TABLE,
    "text": np.array([["a", "bb"], ["c", "d"]]),
    "objects": np.array([["a", 1], ["c", 2]], dtype=object),
    "numbers": np.arange(6).reshape(3, 2),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("how", [{}, {"drop": "first"}, {"drop": "if_binary"}], ids=str)
def test_encoders_of_all_kinds_of_columns_come_back(table, how, tmp_path):
    model = OneHotEncoder(sparse_output=False, **how).fit(table)
    again = saved_and_loaded(model, tmp_path)
    assert vars(again).keys() == vars(model).keys()
    np.testing.assert_array_equal(again.transform(table), model.transform(table))


@pytest.mark.parametrize("algorithm", ["auto", "kd_tree", "ball_tree", "brute"])
def test_nearest_neighbours_come_back_with_their_trees(algorithm, tmp_path):
    model = KNeighborsClassifier(3, algorithm=algorithm).fit(*TALL)
    again = saved_and_loaded(model, tmp_path)
    assert vars(again).keys() == vars(model).keys()
    assert type(again._tree) is type(model._tree)
    assert_answers_alike(model, again, TALL[0] + 0.1)


def test_vectorizers_come_back(tmp_path):
    texts = make_texts(20)[0]
    again = saved_and_loaded(words(), tmp_path)
    assert (again.transform(texts) != words().transform(texts)).nnz == 0


@pytest.mark.parametrize("model", fitted_models(), ids=name_of)
def test_a_file_without_one_of_its_parts_is_rejected_or_does_without(model, tmp_path):
    """Never is a part found missing when the model is asked."""
    parts = [name for name in vars(model) if name.strip("_") != name]
    n_accepted = 0
    for part in parts:

        def remove(header, part=part):
            del next(iter(header["model"].values()))[part]

        n_accepted += check_model_file(model, rewritten(model, remove), tmp_path)
    assert n_accepted < len(parts)


@pytest.mark.parametrize("n_features", [1 << 20, 1 << 22], ids=["default", "more"])
def test_models_of_sparse_rows_with_very_many_columns_come_back(n_features, tmp_path):
    """All their arrays are small; the rows that they keep have the columns."""
    X = HashingVectorizer(n_features=n_features).transform(make_texts(20)[0])
    model = KernelIPCAC().fit(X, np.arange(20) % 2)
    again = saved_and_loaded(model, tmp_path)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_a_header_that_was_changed_and_not_signed_is_altered(tmp_path):
    content = pipeline_file()
    header = json.dumps("StandardScaler").encode()
    assert_rejected(tmp_path, content.replace(header[1:-1], b"StandardScalex"), "altered")


def test_a_window_goes_on_in_a_file_that_says_so(tmp_path):
    model = OnlineIPCAC(window=20).partial_fit(TALL[0], TALL[1] > 0)
    assert saved_and_loaded(model, tmp_path)._window.size == 20
