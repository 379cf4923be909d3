"""View, loadings, accuracy by dimension."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, StandardScaler

from separatrix import FisherDiscriminant
from separatrix.evaluate.comparison import compare
from separatrix.evaluate.describe import find_patterns
from separatrix.evaluate.methods import Contender, with_steps
from separatrix.evaluate.splits import RandomShares
from separatrix.selection import neighbour_scores
from tests.discovery import labelled, name_of
from tests.evaluate.comparing import CHEAP, X, Y, parts


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
    "estimator", [FisherDiscriminant(shrinkage=None), LinearDiscriminantAnalysis()], ids=name_of
)
def test_loadings_say_what_a_standard_deviation_of_a_feature_does(estimator):
    rows = X * [1, 1000, 1, 0.01, 1, 1]
    scaled, plain = (
        compare(with_steps([estimator], prepare=s), rows, Y, cv=RandomShares(1))
        .methods[0]
        .folds[0]
        for s in ("standard", None)
    )
    weights = np.array(scaled.loadings.weights)
    assert_allclose(np.linalg.norm(weights, axis=1), 1)
    assert_allclose(np.abs(plain.loadings.weights), np.abs(weights), atol=1e-6)
    train, _ = parts(Y)
    components = FisherDiscriminant(shrinkage=None).fit(
        StandardScaler().fit_transform(rows[train]), Y[train]
    )
    expected = components.components_ / np.linalg.norm(components.components_, axis=1)[:, None]
    assert_allclose(np.abs(weights), np.abs(expected), atol=1e-6)
    assert scaled.loadings.features == tuple(f"x{j}" for j in range(6))


def test_of_many_features_those_with_the_largest_weights_or_patterns_are_named():
    wide, y = labelled(40, 300, 2)
    (method,) = compare([FisherDiscriminant(shrinkage=0.5)], wide, y, **CHEAP).methods
    found = method.folds[0].loadings
    train, _ = parts(y)
    rows = StandardScaler().fit_transform(wide[train])
    model = FisherDiscriminant(shrinkage=0.5).fit(rows, y[train])
    w = np.abs(model.components_[0])
    pattern = np.abs(np.corrcoef(rows.T, rows @ model.components_[0])[-1, :-1])
    expected = np.unique([np.argsort(-w)[:50], np.argsort(-pattern)[:50]])
    assert 50 < len(expected) <= 100
    assert found.features == tuple(f"x{j}" for j in expected)
    assert_allclose(np.abs(found.weights[0]), w[expected] / np.linalg.norm(w))
    assert_allclose(np.abs(found.patterns[0]), pattern[expected])
    assert found.n_features == 300


def test_every_split_of_a_linear_method_has_loadings():
    (method,) = compare([FisherDiscriminant(shrinkage=None)], X, Y, **CHEAP).methods
    assert [fold.loadings is not None for fold in method.folds] == [True, True]
    assert [fold.view is not None for fold in method.folds] == [True, False]


@pytest.mark.parametrize("sparse", [False, True])
def test_patterns_regress_features_on_all_coordinates(sparse):
    """Haufe et al., equation 6, here computed by least squares in place of covariances."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 6))
    rows[:, 2] = 7.0  # constant
    W = rng.normal(size=(2, 6))
    spread = rows.std(axis=0)
    S = (rows - rows.mean(axis=0)) @ W.T
    expected = np.linalg.lstsq(S, rows - rows.mean(axis=0))[0] * S.std(axis=0)[:, None]
    expected[:, 2] = 0.0
    expected[:, [0, 1, 3, 4, 5]] /= spread[[0, 1, 3, 4, 5]]
    found = find_patterns(W, sp.csr_array(rows) if sparse else rows, spread)
    assert_allclose(found, expected, atol=1e-9)


def test_a_feature_that_only_cancels_noise_has_a_weight_and_no_pattern():
    """Haufe's example: x1 = signal + noise, x2 = noise; the weights are (1, -1)."""
    rng = np.random.default_rng(0)
    y = np.arange(4000) % 2
    noise = rng.normal(size=4000)
    rows = np.column_stack([y + noise, noise + 0.01 * rng.normal(size=4000)])
    loadings = (
        compare([FisherDiscriminant(shrinkage=None)], rows, y, **CHEAP)
        .methods[0]
        .folds[0]
        .loadings
    )
    weights, patterns = np.abs(loadings.weights[0]), np.abs(loadings.patterns[0])
    assert weights.min() > 0.6
    assert patterns[0] > 0.4
    assert patterns[1] < 0.1  # 2800 training rows: a standard error of 0.02


@pytest.mark.parametrize("scale", ["standard", None])
@pytest.mark.parametrize("two", [False, True])
def test_a_readout_places_and_decides_as_the_method_does(scale, two):
    rows = X * [1, 100, 1, 0.01, 1, 1] + 5
    y = np.where(Y == 2, 1, Y) if two else Y
    methods = [
        FisherDiscriminant(shrinkage=None),
        LinearDiscriminantAnalysis(),
        LogisticRegression(),
        PCA(2),
    ]
    found = compare(with_steps(methods, prepare=scale), rows, y, **CHEAP)
    new = rows[list(found.tests[0])]
    for method in found.methods:
        fold = method.folds[0]
        readout = fold.readout
        assert method.folds[1].readout is None
        if method.name != "LogisticRegression":
            placed = new @ np.array(readout.weights).T + readout.offsets
            assert_allclose(placed, fold.view.coordinates, atol=1e-8)
        if method.name == "PCA":  # nearest neighbours decide
            assert readout.class_weights == ()
        else:
            scores = new @ np.array(readout.class_weights).T + readout.class_offsets
            assert tuple(scores.argmax(axis=1)) == fold.predicted


def test_what_is_not_linear_in_the_table_is_not_read_out(monkeypatch):
    methods = ["KernelFisherDiscriminant", Bent(2), "LDA"]
    kernel, bent, _ = compare(methods, X, Y, **CHEAP).methods
    assert kernel.folds[0].readout is None
    assert bent.folds[0].readout is None
    (other,) = compare(
        with_steps(["LDA"], prepare=QuantileTransformer(n_quantiles=10)), X, Y, **CHEAP
    ).methods
    assert other.folds[0].readout is None
    monkeypatch.setattr("separatrix.evaluate.describe.MAX_READOUT_NUMBERS", 29)
    (large,) = compare(["LDA"], X, Y, **CHEAP).methods  # 2 directions and 3 classes of 6 features
    assert large.folds[0].readout is None


class Contrary(LinearDiscriminantAnalysis):
    """Predicts another class than its weights say."""

    def predict(self, X):
        return (super().predict(X) + 1) % 3


def test_a_linear_rule_that_does_not_give_the_predictions_is_left_out():
    codes = np.unique(Y, return_inverse=True)[1]
    (method,) = compare([Contrary()], X, codes, **CHEAP).methods
    assert method.folds[0].readout.class_weights == ()
    assert len(method.folds[0].readout.weights) == 2


def test_shuffled_labels_are_a_permutation_and_are_predicted_by_chance(shuffles):
    rng = np.random.default_rng(1)
    y = np.arange(600) % 3
    rows = np.eye(3)[y] * 6 + rng.normal(size=(600, 3))
    found = compare(["LDA", "PCA"], rows, y, cv=RandomShares(2))
    for method in found.methods:
        fold = method.folds[0]
        shuffled = fold.shuffled
        assert fold.scores["accuracy"] > 0.95
        share = np.mean(np.array(shuffled.labels) == shuffled.predicted)
        assert abs(share - 1 / 3) < 0.12  # 180 rows: a standard error of 0.035
        assert len(shuffled.coordinates) == len(shuffled.labels) == 180
        assert method.folds[1].shuffled is None
    assert found["LDA"].folds[0].shuffled.labels == found["PCA"].folds[0].shuffled.labels


class Fussy(LinearDiscriminantAnalysis):
    """Warns of labels that are not in order."""

    def fit(self, X, y):
        if (np.diff(y) < 0).any():
            warnings.warn("labels are mixed", ConvergenceWarning, stacklevel=1)
        return super().fit(X, y)


def test_warnings_of_shuffled_labels_are_not_those_of_the_method(shuffles):
    y = np.repeat([0, 1], 30)
    rows = np.random.default_rng(0).normal(size=(60, 2)) + y[:, None]
    (method,) = compare([Fussy()], rows, y, cv=RandomShares(1)).methods
    assert method.folds[0].shuffled is not None
    assert method.folds[0].warnings == ()


class Bent(PCA):
    def transform(self, X):
        return np.tanh(super().transform(X))


def test_directions_that_are_no_weights_of_features_have_no_loadings():
    bent, straight = compare([Bent(2), PCA(2)], X, Y, cv=RandomShares(1)).methods
    assert bent.folds[0].loadings is None
    assert straight.folds[0].loadings is not None


def test_the_path_is_scored_on_some_rows(monkeypatch):
    sizes = []

    def scorer(rule):
        def score(Z, codes, Z_new, truth, ends):
            sizes.append((len(Z), len(codes), len(Z_new), len(truth)))
            return neighbour_scores(Z, codes, Z_new, truth, ends)

        return score

    monkeypatch.setattr("separatrix.evaluate.describe.scorer_of", scorer)
    monkeypatch.setattr("separatrix.evaluate.describe.MAX_PATH_ROWS", 15)
    (method,) = compare([Contender("p", PCA(2), choose_dimension=True)], X, Y, **CHEAP).methods
    assert len(method.folds[0].path) == 2
    assert sizes[-1] == (15, 15, 15, 15)


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
