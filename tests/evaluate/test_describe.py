"""View, loadings, accuracy by dimension, memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from separatrix import FisherDiscriminant
from separatrix.evaluate.comparison import compare
from separatrix.evaluate.methods import Contender
from separatrix.selection import neighbour_scores
from tests.discovery import labelled, name_of
from tests.evaluate.comparing import CHEAP, Hungry, X, Y, parts


def test_the_view_is_that_of_held_out_rows_of_the_first_split():
    found = compare(["raw", ("lda", LinearDiscriminantAnalysis())], X, Y, **CHEAP)
    train, test = parts(Y)
    scaler = StandardScaler().fit(X[train])
    known, new = scaler.transform(X[train]), scaler.transform(X[test])
    model = LinearDiscriminantAnalysis().fit(known, Y[train])
    first, second = found["lda"].folds
    assert_allclose(first.view.coordinates, model.transform(new))
    assert first.view.axes == "directions"
    assert second.view is None
    axes = PCA(3).fit(known)
    assert_allclose(
        np.abs(found["raw"].folds[0].view.coordinates), np.abs(axes.transform(new)), atol=1e-9
    )
    assert found["raw"].folds[0].view.axes == "principal axes"


@pytest.mark.parametrize(
    "estimator", [FisherDiscriminant(), LinearDiscriminantAnalysis()], ids=name_of
)
def test_loadings_say_what_a_standard_deviation_of_a_feature_does(estimator):
    rows = X * [1, 1000, 1, 0.01, 1, 1]
    scaled, plain = (
        compare([estimator], rows, Y, scale=s, n_splits=1, memory=False).methods[0].folds[0]
        for s in ("standard", None)
    )
    weights = np.array(scaled.loadings.weights)
    assert_allclose(np.linalg.norm(weights, axis=1), 1)
    assert_allclose(np.abs(plain.loadings.weights), np.abs(weights), atol=1e-6)
    train, _ = parts(Y)
    components = FisherDiscriminant().fit(StandardScaler().fit_transform(rows[train]), Y[train])
    expected = components.components_ / np.linalg.norm(components.components_, axis=1)[:, None]
    assert_allclose(np.abs(weights), np.abs(expected), atol=1e-6)
    assert scaled.loadings.features == tuple(f"x{j}" for j in range(6))


def test_of_many_features_those_with_the_largest_weights_are_named():
    wide, y = labelled(40, 300, 2)
    (method,) = compare([FisherDiscriminant(shrinkage=0.5)], wide, y, **CHEAP).methods
    found = method.folds[0].loadings
    train, _ = parts(y)
    model = FisherDiscriminant(shrinkage=0.5).fit(
        StandardScaler().fit_transform(wide[train]), y[train]
    )
    w = np.abs(model.components_[0])
    expected = np.sort(np.argsort(-w)[:100])
    assert found.features == tuple(f"x{j}" for j in expected)
    assert_allclose(np.abs(found.weights[0]), w[expected] / np.linalg.norm(w))
    assert found.n_features == 300


class Bent(PCA):
    def transform(self, X):
        return np.tanh(super().transform(X))


def test_directions_that_are_no_weights_of_features_have_no_loadings():
    bent, straight = compare([Bent(2), PCA(2)], X, Y, n_splits=1, memory=False).methods
    assert bent.folds[0].loadings is None
    assert straight.folds[0].loadings is not None


def test_memory_is_measured_beside_a_caller_who_traces_it():
    (expected,) = compare([Hungry()], X, Y, n_splits=1).methods
    tracemalloc.start()
    try:
        np.ones(4_000_000)
        (method,) = compare([Hungry()], X, Y, n_splits=1).methods
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()
    assert method.folds[0].peak_bytes == pytest.approx(expected.folds[0].peak_bytes, rel=0.02)


def test_the_path_is_scored_on_some_rows(monkeypatch):
    sizes = []

    def scorer(decision, n_rows):
        def score(Z, codes, Z_new, truth, ends):
            sizes.append((n_rows, len(Z), len(codes), len(Z_new), len(truth)))
            return neighbour_scores(Z, codes, Z_new, truth, ends)

        return score

    monkeypatch.setattr("separatrix.evaluate.describe.scorer_of", scorer)
    monkeypatch.setattr("separatrix.evaluate.describe.MAX_PATH_ROWS", 15)
    (method,) = compare([Contender("p", PCA(2), choose_dimension=True)], X, Y, **CHEAP).methods
    assert len(method.folds[0].path) == 2
    assert sizes[-1] == (15, 15, 15, 15, 15)


def test_only_the_reference_is_shown_as_raw_data():
    found = compare([("raw", PCA(2)), ("same", FunctionTransformer())], X, Y, **CHEAP)
    assert found["raw"].folds[0].view.axes == "directions"
    assert found["same"].folds[0].view.axes == "directions"


@pytest.mark.parametrize("n_features", [1, 2, 3])
def test_few_sparse_features_are_enough_for_the_references(n_features):
    rows = sp.csr_array(np.abs(X[:, :n_features]))
    found = compare(["PCA", "raw"], rows, Y, **CHEAP)
    assert found["raw"].status == "done"
    assert found["raw"].folds[0].warnings == ()
    if n_features == 1:  # no axis of sparse rows is left
        assert found["raw"].folds[0].view is None
    else:
        assert (found["PCA"].status, found["PCA"].reason) == ("done", "")
        assert len(found["PCA"].folds[0].path) == n_features - 1
