"""Model files: what is saved comes back bit by bit, and nothing else does."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeClassifier, SGDClassifier
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.svm import SVC

from separatrix import (
    LDG,
    ClassMoments,
    DDAGClassifier,
    FisherDiscriminant,
    KernelFisherDiscriminant,
    OnlineIPCAC,
    TruncatedIPCAC,
    datasets,
    load,
    save,
)
from separatrix.files import model as persist
from tests.discovery import SHAPES, TALL, WIDE, all_estimators, labelled, name_of
from tests.files.model_files import (
    NAMES,
    around,
    assert_answers_alike,
    assert_rejected,
    mixed_table,
    pipeline_file,
    saved_and_loaded,
    signed,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:the within-class scatter has no null space",
    "ignore:.*found no direction that separates",
    "ignore:FastICA did not converge",
)
every = pytest.mark.parametrize("estimator", all_estimators(), ids=name_of)
every_shape = pytest.mark.parametrize(("X", "y"), SHAPES.values(), ids=SHAPES)


# There and back ------------------------------------------------------------------------------


@every
@every_shape
def test_every_estimator_comes_back_bit_by_bit(estimator, X, y, tmp_path):
    model = clone(estimator).fit(pd.DataFrame(X).add_prefix("x"), NAMES[y])
    again = saved_and_loaded(model, tmp_path)
    assert type(again) is type(model)
    assert repr(again) == repr(model)
    assert vars(again).keys() == vars(model).keys()
    # layouts decide how products are rounded: many rows and few
    for rows in (X, X[:1], X[:7], X.astype(np.float32)):
        assert_answers_alike(model, again, pd.DataFrame(rows).add_prefix("x"))


def test_arrays_keep_the_order_of_their_axes(tmp_path):
    """Products with an array in another order are rounded differently."""
    model = FisherDiscriminant(shrinkage=None).fit(*TALL)
    every_second = np.zeros((4, 6), order="F")[::2]
    every_second[:] = model.components_
    model.components_ = every_second
    again = saved_and_loaded(model, tmp_path)
    assert_array_equal(again.components_, model.components_)
    assert again.components_.flags.f_contiguous


@every
def test_an_estimator_that_was_not_fitted_comes_back(estimator, tmp_path):
    assert repr(saved_and_loaded(estimator, tmp_path)) == repr(estimator)


@pytest.mark.parametrize(
    "model",
    [
        FisherDiscriminant(shrinkage=None),
        FisherDiscriminant(shrinkage=0.1, window=40),
        FisherDiscriminant(decay=0.98),
        TruncatedIPCAC(3),
        OnlineIPCAC(),
        OnlineIPCAC(rank=4, n_whitened=2),
        OnlineIPCAC(window=30),
        OnlineIPCAC(decay=0.9),
    ],
    ids=repr,
)
@pytest.mark.parametrize("d", [6, 60])
def test_learning_goes_on_as_if_never_stopped(model, d, tmp_path):
    X, y = labelled(120, d, n_classes=2)
    never, stopped = clone(model), clone(model)
    for i, part in enumerate(np.split(np.arange(120), [8, 9, 10, 40, 43, 71, 90])):
        for learner in (never, stopped):
            learner.partial_fit(X[part], NAMES[y[part]], classes=NAMES[:2])
        if i in (2, 5):  # once after rows that are not solved for yet
            stopped = saved_and_loaded(stopped, tmp_path)
        assert_answers_alike(never, stopped, X)


def test_a_window_of_sparse_and_dense_rows_goes_on(tmp_path):
    X, y = labelled(90, 12, n_classes=2)
    X[np.abs(X) < 1] = 0
    never, stopped = OnlineIPCAC(window=30), OnlineIPCAC(window=30)
    for i in range(0, 90, 5):
        rows = sp.csr_array(X[i : i + 5]) if i % 2 else X[i : i + 5].astype(np.float32)
        for learner in (never, stopped):
            learner.partial_fit(rows, y[i : i + 5], classes=[0, 1])
        stopped = saved_and_loaded(stopped, tmp_path)
    assert_answers_alike(never, stopped, X)


def test_a_window_of_single_rows_is_few_arrays(tmp_path):
    X, y = labelled(200, 4, n_classes=2)
    model = OnlineIPCAC(window=100)
    for i in range(200):
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
    save(model, tmp_path / "a.model")
    with zipfile.ZipFile(tmp_path / "a.model") as entries:
        assert len(entries.namelist()) < 100


@pytest.mark.parametrize(
    "model",
    [
        FisherDiscriminant(shrinkage=None),
        make_pipeline(
            PCA(3),
            LDG(2, gamma=0.5, n_neighbors=4),
            KNeighborsClassifier(3, algorithm="brute"),
        ),
    ],
    ids=["classifier", "subspace"],
)
def test_a_pipeline_around_a_model_comes_back(model, tmp_path):
    table, y = mixed_table()
    model = around(model).fit(table, NAMES[y])
    again = saved_and_loaded(model, tmp_path)
    table.loc[0, "kind"] = "never seen"
    assert_array_equal(again.predict_proba(table), model.predict_proba(table))
    assert_array_equal(again.feature_names_in_, list(table.columns))


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (KernelFisherDiscriminant(), sp.csr_array(TALL[0])),
        (KernelFisherDiscriminant(kernel="precomputed"), TALL[0] @ TALL[0].T),
        (TruncatedIPCAC(4), sp.csr_matrix(TALL[0])),
        (FisherDiscriminant(2), sp.csr_array(TALL[0])),
        (FisherDiscriminant("auto"), TALL[0].astype(np.float32)),
        (FisherDiscriminant(priors=np.array([0.2, 0.3, 0.5])), TALL[0]),
        (DDAGClassifier(FisherDiscriminant(shrinkage=None)), TALL[0]),
    ],
)
def test_options_that_change_what_a_model_holds(model, data, tmp_path):
    model.fit(data, TALL[1])
    assert_answers_alike(model, saved_and_loaded(model, tmp_path), data)


@pytest.mark.parametrize(
    "model",
    [
        RidgeClassifier(),
        make_pipeline(
            NeighborhoodComponentsAnalysis(2, random_state=0, max_iter=5),
            KNeighborsClassifier(3, algorithm="brute"),
        ),
        make_pipeline(FunctionTransformer(), KNeighborsClassifier(3, algorithm="brute")),
    ],
    ids=["ridge", "NCA", "raw"],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_references_and_linear_classifiers_come_back(model, n_classes, tmp_path):
    X, y = labelled(60, 5, n_classes=n_classes)
    model = clone(model).fit(X, NAMES[y])
    assert_answers_alike(model, saved_and_loaded(model, tmp_path), X)


def test_columns_that_pass_a_transformer_come_back(tmp_path):
    table, y = mixed_table()
    kinds = OneHotEncoder(drop="if_binary", sparse_output=False)
    columns = ColumnTransformer([("kinds", kinds, ["kind"])], remainder="passthrough")
    model = make_pipeline(columns, SimpleImputer(), FisherDiscriminant(shrinkage=None)).fit(
        table, y
    )
    again = saved_and_loaded(model, tmp_path)
    assert_array_equal(again.predict_proba(table), model.predict_proba(table))


def test_sparse_moments_come_back(tmp_path):
    moments = ClassMoments.from_data(sp.csr_array(WIDE[0]), WIDE[1], per_class=True)
    again = saved_and_loaded(moments, tmp_path)
    assert_array_equal(again.class_scatters, moments.class_scatters)
    assert_array_equal((again + again).St, (moments + moments).St)


def test_notes_and_versions_are_kept_beside_the_model(tmp_path):
    model = FisherDiscriminant(shrinkage=None).fit(*TALL)
    save(model, tmp_path / "a.model", notes={"target": "kind", "rows": 90})
    stored = persist.read(tmp_path / "a.model")
    assert stored.notes == {"target": "kind", "rows": 90}
    assert stored.versions["numpy"] == np.__version__
    assert stored.versions.keys() == {"python", "separatrix", "scikit-learn", "numpy", "scipy"}


WITHOUT_EXTRAS = """
import sys
for package in ("click", "jinja2", "pandas", "rich"):
    sys.modules[package] = None  # an import of it fails
from separatrix import FisherDiscriminant, datasets, load, save
wine = datasets.load("wine")
model = FisherDiscriminant(shrinkage=None).fit(wine.data, wine.target)
save(model, sys.argv[1])
assert (load(sys.argv[1]).predict_proba(wine.data) == model.predict_proba(wine.data)).all()
"""


def test_files_need_no_package_but_those_of_the_library_itself(tmp_path):
    program = [sys.executable, "-c", WITHOUT_EXTRAS, str(tmp_path / "a.model")]
    done = subprocess.run(program, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_saving_leaves_the_model_as_it_was(tmp_path):
    model = OnlineIPCAC(window=20).partial_fit(*TALL)
    before = pickle.dumps(model)
    save(model, tmp_path / "a.model")
    assert pickle.dumps(model) == before


# What is not saved ---------------------------------------------------------------------------


def own_kernel(A, B):
    return A @ B.T


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (KernelFisherDiscriminant(kernel=laplacian_kernel), "kernel is the function sklearn"),
        (KernelFisherDiscriminant(kernel=own_kernel), "kernel is the function .*own_kernel"),
        (LDG(random_state=np.random.RandomState(0)), "random_state is a random generator"),
        (DDAGClassifier(SVC()), r"estimator is a sklearn.svm._classes.SVC, which is not among"),
        (make_pipeline(RandomForestClassifier()), "RandomForestClassifier, which is not among"),
        (SGDClassifier(), "SGDClassifier, which is not among"),
        (KNeighborsClassifier(metric="haversine", algorithm="brute").fit(*TALL), "haversine"),
        (OneHotEncoder(max_categories=2).fit([["a"], ["b"]]), "max_categories=.2."),
        (FunctionTransformer(np.log1p), "has func=.*log1p"),
        (FunctionTransformer(str), "has func="),
        (make_pipeline(LDG(), memory="folder"), "memory=.folder."),
    ],
    ids=[
        "function",
        "own function",
        "generator",
        "SVC",
        "forest",
        "sgd",
        "metric",
        "rare",
        "transformer",
        "type",
        "memory",
    ],
)
def test_what_no_file_can_hold_is_rejected_by_its_place(model, message, tmp_path):
    with pytest.raises(ValueError, match=f"cannot be saved: .*{message}"):
        save(model, tmp_path / "a.model")
    assert os.listdir(tmp_path) == []


def test_what_can_be_kept_is_listed_where_something_cannot(tmp_path):
    with pytest.raises(ValueError, match=r"PCA, Pipeline, .*StandardScaler"):
        save(make_pipeline(RandomForestClassifier()), tmp_path / "a.model")


def test_only_models_are_saved(tmp_path):
    with pytest.raises(TypeError, match="save takes an estimator, not a dict"):
        save({"a": 1}, tmp_path / "a.model")


# Files that are refused ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def content():
    return pipeline_file()


def test_a_file_that_is_cut_short_or_longer_is_rejected(content, tmp_path):
    assert_rejected(tmp_path, b"", "not a model file of separatrix: it is empty")
    for size in np.linspace(1, len(content) - 1, 60).astype(int):
        assert_rejected(tmp_path, content[:size], "not a model file|is cut short")
    assert_rejected(tmp_path, content + b"x", "altered")


def test_every_bit_counts(content, tmp_path):
    """All flips at both ends, and many between them."""
    rng = np.random.default_rng(0)
    size = 8 * len(content)
    for place in [*range(400), *range(size - 800, size), *rng.integers(0, size, 100)]:
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << (place % 8)
        assert_rejected(tmp_path, bytes(flipped), "altered|not a model file|format")


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda model, path: path.write_bytes(pickle.dumps(model)), "looks like a pickle"),
        (joblib.dump, "not a model file"),
        (lambda model, path: joblib.dump(model, path, compress=3), "looks like a pickle"),
        (lambda model, path: path.write_text("a,b\n1,2\n"), "not a model file of separatrix$"),
        (lambda model, path: np.savez(path, a=1), "looks like a zip"),
    ],
    ids=["pickle", "joblib", "packed joblib", "table", "npz"],
)
def test_other_files_are_rejected(write, message, tmp_path):
    path = tmp_path / "a.npz"
    write(FisherDiscriminant(shrinkage=None).fit(*TALL), path)
    with pytest.raises(ValueError, match=message):
        load(path)


def test_a_missing_file_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")


def test_other_formats_are_not_read(content, tmp_path):
    other = content[:-71] + b"000002 " + content[-64:]
    assert_rejected(tmp_path, signed(other), "has format 2, and separatrix .* reads 1")
    assert_rejected(tmp_path, other, "format 2")


def test_bundled_models_are_small(tmp_path):
    wine = datasets.load("wine")
    save(FisherDiscriminant(shrinkage=None).fit(wine.data, wine.target), tmp_path / "a.model")
    assert (tmp_path / "a.model").stat().st_size < 100_000
