"""Content of models from files: compiled code is given nothing that it would follow astray."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from separatrix import FisherDiscriminant, KernelIPCAC, load, save
from separatrix.features.words import make_vectorizer
from separatrix.files import archive
from separatrix.files.audit import NotAllowedError, check_content
from separatrix.files.models import pack_file
from tests.discovery import TALL
from tests.files.model_files import (
    assert_answers_alike,
    assert_rejected,
    rewritten,
    saved_and_loaded,
    wrapped,
)
from tests.fuzz.files import check_model_file, fitted_models
from tests.texts import make_texts


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


def fisher(**changes):
    model = FisherDiscriminant().fit(*TALL)
    vars(model).update(changes)
    return model


N_WORDS = len(words().vocabulary_)
ROWS, CODES = neighbours()._fit_X, neighbours()._y
UNSOUND = {
    "labels": (lambda: neighbours(_y=CODES + 100), "labels that are not"),
    "float labels": (lambda: neighbours(_y=CODES + 0.5), "labels that are not"),
    "few labels": (lambda: neighbours(_y=CODES[:5].copy()), "inconsistent numbers"),
    "narrow rows": (lambda: neighbours(_fit_X=ROWS[:, :1].copy()), "has 1 features, not 6"),
    "wide rows": (lambda: neighbours(_fit_X=np.hstack([ROWS] * 9)), "has 54 features, not 6"),
    "wider queries": (lambda: neighbours(n_features_in_=400_000), "6 features, not 400000"),
    "few rows": (lambda: neighbours(_fit_X=ROWS[:2].copy()), "inconsistent numbers"),
    "one axis": (lambda: neighbours(_fit_X=ROWS.ravel()), "not finite numbers"),
    "gaps": (lambda: neighbours(_fit_X=ROWS * np.nan), "not finite numbers"),
    "sparse rows": (lambda: neighbours(_fit_X=sp.csr_array(ROWS[:, :1])), "1 features, not 6"),
    "words": (lambda: neighbours(_fit_X=np.full(ROWS.shape, "word")), "not finite numbers"),
    "metric": (lambda: neighbours(metric="precomputed"), "metric="),
    "weights of a metric": (lambda: neighbours(metric_params={"w": ROWS[0].copy()}), "metric="),
    "order": (lambda: encoder([[1], [2], [3]], categories_=[np.array([3, 1, 2])]), "Unsorted"),
    "no categories": (lambda: encoder(categories_=[np.array([], "U1")]), "no sound categories"),
    "more columns": (lambda: encoder(n_features_in_=2), "1 features, not 2"),
    "rare": (lambda: encoder(max_categories=2), "rare"),
    "other words": (lambda: words(vocabulary_={"a": 0, "b": 1}), f"weights of {N_WORDS}"),
    "few weights": (lambda: words(weights={"idf_": np.ones(2)}), "weights that do not fit"),
    "no numbers": (lambda: words(weights={"idf_": np.full(N_WORDS, np.nan)}), "do not fit"),
    "files": (lambda: words(input="filename"), "input='filename': files keep only 'content'"),
    "open files": (lambda: hashing(input="file"), "input='file'"),
    "pattern": (lambda: words(token_pattern="(a+)+$"), "token_pattern="),
    "pattern of hashes": (lambda: hashing(token_pattern="(a+)+$"), "token_pattern="),
    "own words": (lambda: words(vocabulary=["a"]), "vocabulary of its own"),
    "columns of hashes": (lambda: hashing(n_features=1 << 40), "n_features="),
    "covered method": (lambda: neighbours(predict=str), "predict of a KNeighborsClassifier"),
    "covered link": (
        lambda: neighbours(_doc_link_template="javascript:alert(1)"),
        "_doc_link_template of a KNeighborsClassifier",
    ),
    "covered tag of ours": (
        lambda: fisher(patterns_="<script>"),
        "patterns_ of a FisherDiscriminant",
    ),
}


@pytest.mark.parametrize(("make", "message"), UNSOUND.values(), ids=UNSOUND)
def test_content_that_compiled_code_would_follow_is_rejected(make, message, tmp_path, monkeypatch):
    """Both when it is saved and when it comes from a file: predicting from it could crash."""
    model = make_pipeline(make())
    with pytest.raises(ValueError, match=f"(?s)cannot be saved: .*{message}"):
        save(model, tmp_path / "a.model")
    with monkeypatch.context() as unchecked:
        unchecked.setattr(archive, "check_content", lambda _: None)
        content = pack_file(model, {})
    assert_rejected(tmp_path, content, f"(?s)is rejected, and nothing in it was run: .*{message}")


@pytest.mark.parametrize("given", ["a\na", {"a": 0, "b": 99}, {"a": -1}, {"a": 0.0}, 7])
def test_a_vocabulary_has_a_column_for_each_word(given):
    """As a file may hold it: a word that leads to no column would be followed to anywhere."""
    model = words(vocabulary_=given, weights={"n_features_in_": 2, "idf_": np.ones(2)})
    with pytest.raises(NotAllowedError, match=r"a word twice|no sound vocabulary|weights of 2"):
        check_content(model)


DERIVED = {
    "two outputs": lambda: neighbours(outputs_2d_=True),
    "tree": lambda: neighbours(_fit_method="kd_tree"),
    "metric": lambda: neighbours(effective_metric_="precomputed"),
    "fewer rows": lambda: neighbours(n_samples_fit_=2),
    "columns": lambda: encoder(_n_features_outs=[-7]),
    "dropped": lambda: encoder(_drop_idx_after_grouping=np.array([-7], object)),
    "rare": lambda: encoder(_infrequent_enabled=True),
}


@pytest.mark.parametrize("make", DERIVED.values(), ids=DERIVED)
def test_private_attributes_are_derived_anew(make, tmp_path, monkeypatch):
    """Values in a file that would lead astray do not come back."""
    with monkeypatch.context() as unchecked:
        unchecked.setattr(archive, "check_content", lambda _: None)
        (tmp_path / "a.model").write_bytes(pack_file(make(), {}))
    again = load(tmp_path / "a.model")
    sound = type(again) is KNeighborsClassifier
    assert_answers_alike(
        neighbours() if sound else encoder(), again, TALL[0] if sound else np.array([["b"], ["c"]])
    )


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
    for known, same in zip(model.categories_, again.categories_, strict=True):
        assert known.dtype == same.dtype
    assert_array_equal(again.transform(table), model.transform(table))


@pytest.mark.parametrize("algorithm", ["auto", "kd_tree", "ball_tree", "brute"])
def test_nearest_neighbours_come_back_with_their_trees(algorithm, tmp_path):
    model = KNeighborsClassifier(3, algorithm=algorithm).fit(*TALL)
    again = saved_and_loaded(model, tmp_path)
    assert vars(again).keys() == vars(model).keys()
    assert type(again._tree) is type(model._tree)
    assert_answers_alike(model, again, TALL[0] + 0.1)


def test_sparse_indices_outside_are_found():
    matrix = sp.csr_array(np.eye(3))
    matrix.indices[1] = 7
    with pytest.raises(ValueError, match="ndices"):
        check_content([matrix])


def test_a_part_is_found_wherever_it_is():
    bad = neighbours(predict=str)
    for holder in ([bad], {"a": (bad,)}, np.array([bad, 1], dtype=object), make_pipeline(bad)):
        with pytest.raises(NotAllowedError, match="predict of a KNeighbors"):
            check_content(holder)


@pytest.mark.parametrize("model", fitted_models(), ids=lambda model: type(model).__name__)
def test_a_file_without_one_of_its_parts_is_rejected_or_does_without(model, tmp_path):
    """Never is a part found missing when the model is asked."""
    parts = [name for name in vars(model) if name.strip("_") != name]
    n_accepted = 0
    for part in parts:

        def remove(schema, part=part):
            del schema["content"]["content"][part]

        n_accepted += check_model_file(model, wrapped(rewritten(model, remove)), tmp_path)
    assert n_accepted < len(parts)


def test_a_number_of_features_that_nothing_has_is_rejected(tmp_path):
    model = FisherDiscriminant().fit(*TALL)
    model.n_features_in_ = 10**9
    assert_rejected(tmp_path, pack_file(model, {}), "has n_features_in_=1000000000")


def sparse_kernel_model(n_features):
    X = HashingVectorizer(n_features=n_features).transform(make_texts(20)[0])
    return KernelIPCAC().fit(X, np.arange(20) % 2), X


@pytest.mark.parametrize("n_features", [1 << 20, 1 << 22], ids=["default", "more"])
def test_models_of_sparse_rows_with_very_many_columns_come_back(n_features, tmp_path):
    """All their arrays are small; the rows that they keep have the columns."""
    model, X = sparse_kernel_model(n_features)
    again = saved_and_loaded(model, tmp_path)
    assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_columns_of_a_sparse_matrix_make_loading_allocate_nothing(tmp_path):
    """Their number costs a file nothing, so that no row so long is made for them."""
    model, _ = sparse_kernel_model(1 << 22)
    model.n_features_in_ += 1
    assert_rejected(tmp_path, pack_file(model, {}), "has n_features_in_=4194305")
    model = FisherDiscriminant().fit(*TALL)
    model.n_features_in_, model.other_ = 30_000_000, sp.csr_array((1, 30_000_000))
    (tmp_path / "b.model").write_bytes(pack_file(model, {}))
    tracemalloc.start()
    try:
        load(tmp_path / "b.model")
        largest = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert largest < 30_000_000  # a dense row has 240 million bytes
