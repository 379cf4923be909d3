"""Comparing methods: nothing that judges is seen before, nothing that fails is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import warnings
from dataclasses import replace
from functools import partial
from itertools import product

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.utils import check_random_state

import separatrix
from separatrix import (
    FisherDiscriminant,
    KernelFisherDiscriminant,
    LocalFisherDiscriminant,
    SupportVectorProjection,
)
from separatrix.evaluate.checkpoint import exact
from separatrix.evaluate.comparison import compare
from separatrix.evaluate.fold import Job, judged, run_fold, some_rows, split_rows
from separatrix.evaluate.methods import (
    GRIDS,
    LEFT_OUT,
    N_LANDMARKS,
    Contender,
    contenders,
    package_methods,
    settings_by_size,
    within_features,
)
from separatrix.evaluate.records import Comparison, from_plain, to_plain
from separatrix.evaluate.runner import job_key, labelled_data
from separatrix.evaluate.workers import Budget, Task, Worker
from separatrix.kernels import inverse_width
from separatrix.selection import dimension_path, neighbour_scores
from tests.discovery import all_estimators, labelled, name_of

X, Y = labelled(90, 6)
X2, Y2 = labelled(80, 5, 2)
CHEAP = {"n_splits": 2, "memory": False}


def parts(y, split=0, test_size=0.3, random_state=0):
    return split_rows(np.unique(y, return_inverse=True)[1], test_size, (random_state, split))


def by_hand(estimator, X, y, rule=None, split=0, scaler=StandardScaler):
    """Prediction of the test rows of a split with nothing but scikit-learn."""
    train, test = parts(y, split)
    scale = scaler().fit(X[train])
    known, new = scale.transform(X[train]), scale.transform(X[test])
    model = clone(estimator).fit(known, y[train])
    if rule is None:
        return model.predict(new)
    return rule.fit(model.transform(known), y[train]).predict(model.transform(new))


def without_times(comparison):
    """The records but for what a clock says."""
    methods = []
    for m in comparison.methods:
        folds = [
            replace(f, seconds=0.0, fit_seconds=None, predict_seconds=None, peak_bytes=None)
            for f in m.folds
        ]
        methods.append(replace(m, folds=tuple(folds)))
    return replace(comparison, methods=tuple(methods), seconds=0.0)


# Splits ------------------------------------------------------------------------------------------


def test_each_class_is_split_by_its_share_and_single_rows_train():
    codes = np.repeat([0, 1, 2, 3], [40, 10, 2, 1])
    train, test = split_rows(codes, 0.3, (0, 0))
    assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(53))
    assert np.bincount(codes[test], minlength=4).tolist() == [12, 3, 1, 0]
    assert_array_equal(test, split_rows(codes, 0.3, (0, 0))[1])
    assert not np.array_equal(test, split_rows(codes, 0.3, (0, 1))[1])
    assert not np.array_equal(test, split_rows(codes, 0.3, (1, 0))[1])


def test_large_shares_leave_a_row_of_each_class_to_train():
    codes = np.repeat([0, 1], [40, 3])
    train, _ = split_rows(codes, 0.99, (0, 0))
    assert np.bincount(codes[train]).tolist() == [1, 1]


def test_some_rows_keep_the_shares_of_classes_and_two_rows_of_each():
    codes = np.repeat([0, 1, 2], [800, 190, 10])
    some = some_rows(codes, 100, 0)
    assert np.bincount(codes[some]).tolist() == [80, 19, 2]
    assert_array_equal(some_rows(codes, 1000, 0), np.arange(1000))


def test_the_splits_of_a_comparison_are_in_its_record():
    found = compare([LinearDiscriminantAnalysis()], X, Y, **CHEAP)
    for split, test in enumerate(found.tests):
        assert_array_equal(test, parts(Y, split)[1])
    assert found.class_counts == tuple(np.bincount(Y).tolist())
    assert_array_equal(np.array(found.classes)[list(found.labels)], Y)


# Predictions and scores --------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["standard", MinMaxScaler()], ids=str)
def test_a_classifier_is_scaled_fitted_and_judged_as_by_hand(scale):
    y = np.array(["a", "b", "c"])[Y]
    found = compare([FisherDiscriminant(shrinkage=0.2)], X, y, scale=scale, **CHEAP)
    scaler = StandardScaler if scale == "standard" else MinMaxScaler
    for fold in found.methods[0].folds:
        expected = by_hand(FisherDiscriminant(shrinkage=0.2), X, y, None, fold.split, scaler)
        truth = y[parts(y, fold.split)[1]]
        assert_array_equal(np.array(found.classes)[list(fold.predicted)], expected)
        assert fold.scores["accuracy"] == pytest.approx(np.mean(expected == truth))
        shares, fs = [], []
        for c in "abc":
            hit = np.sum((expected == c) & (truth == c))
            shares.append(hit / np.sum(truth == c))
            fs.append(2 * hit / (np.sum(truth == c) + np.sum(expected == c)))
        assert fold.scores["balanced_accuracy"] == pytest.approx(np.mean(shares))
        assert fold.scores["macro_f"] == pytest.approx(np.mean(fs))
        assert set(fold.scores) == {"accuracy", "balanced_accuracy", "macro_f"}


def test_two_classes_have_sensitivity_specificity_and_the_area_under_the_curve():
    rng = np.random.default_rng(0)
    noisy = X2 + 3 * rng.standard_normal(X2.shape)
    (method,) = compare([FisherDiscriminant()], noisy, Y2, n_splits=1, memory=False).methods
    train, test = parts(Y2)
    scaler = StandardScaler().fit(noisy[train])
    model = FisherDiscriminant().fit(scaler.transform(noisy[train]), Y2[train])
    new, truth = scaler.transform(noisy[test]), Y2[test]
    predicted, degree = model.predict(new), model.decision_function(new)
    scores = method.folds[0].scores
    assert scores["sensitivity"] == pytest.approx(np.mean(predicted[truth == 1] == 1))
    assert scores["specificity"] == pytest.approx(np.mean(predicted[truth == 0] == 0))
    above = [(a > b) + (a == b) / 2 for a, b in product(degree[truth == 1], degree[truth == 0])]
    assert scores["auc"] == pytest.approx(np.mean(above))
    assert 0.5 < scores["auc"] < 1
    assert scores["sensitivity"] != scores["specificity"]


@pytest.mark.parametrize(
    ("decision", "rule"),
    [
        ("3nn", KNeighborsClassifier(3)),
        ("centroid", NearestCentroid()),
        ("gaussian", LinearDiscriminantAnalysis()),
    ],
)
def test_the_rule_on_top_is_the_one_asked_for(decision, rule):
    noisy = X + np.random.default_rng(1).normal(scale=3, size=X.shape)
    methods = [("fisher", FisherDiscriminant(1)), ("pca", PCA(2))]
    found = compare(methods, noisy, Y, decision=decision, **CHEAP)
    for name, estimator in methods:
        assert found[name].decision == decision
        for fold in found[name].folds:
            assert_array_equal(fold.predicted, by_hand(estimator, noisy, Y, rule, fold.split))


def test_a_method_decides_itself_where_it_can_and_must():
    methods = ["FisherDiscriminant", "LocalFisherDiscriminant", "DDAGClassifier", "raw"]
    own = compare(methods, X, Y, **CHEAP)
    assert [m.decision for m in own.methods] == ["own", "3nn", "own", "3nn"]
    other = compare(methods, X, Y, decision="centroid", **CHEAP)
    assert [m.decision for m in other.methods] == ["centroid", "centroid", "own", "centroid"]


def test_classes_without_test_rows_do_not_count():
    y = np.r_[Y[:-1], 3]
    (method,) = compare([FisherDiscriminant()], X, y, **CHEAP).methods
    assert method.status == "done"
    for fold in method.folds:
        truth = y[parts(y, fold.split)[1]]
        right = np.array(fold.predicted) == truth
        shares = [right[truth == c].mean() for c in range(3)]
        assert fold.scores["balanced_accuracy"] == pytest.approx(np.mean(shares))


def test_a_class_that_is_predicted_but_not_tested_has_no_f_of_its_own():
    scores = judged(np.array([0, 0, 1, 1]), np.array([0, 2, 1, 1]))
    assert scores["macro_f"] == pytest.approx((2 / 3 + 1) / 2)
    assert scores["balanced_accuracy"] == pytest.approx(0.75)


# The methods -------------------------------------------------------------------------------------


NO_SUBSPACE = ("DDAGClassifier", "LocalQDA")


def test_every_estimator_of_the_package_competes_or_is_left_out_with_a_reason():
    names = [m.name for m in contenders(None)]
    assert sorted([*names, *LEFT_OUT]) == sorted(
        [*(name_of(e) for e in all_estimators()), "raw", "PCA", "LDA", "NCA"]
    )
    assert all(m.description.endswith(".") for m in contenders(None))
    found = compare(None, X, Y, n_splits=1, memory=False)
    assert [m.name for m in found.methods] == names
    assert {m.name: m.reason for m in found.methods if m.status != "done"} == {}
    assert found.left_out == LEFT_OUT
    for method in found.methods:
        (fold,) = method.folds
        assert fold.scores["accuracy"] > 0.6
        assert (fold.view is None) == (method.name in NO_SUBSPACE)
        assert bool(fold.path) == (fold.n_components is not None and has_path(method.name))
        assert set(method.grid) <= set(fold.chosen)
    linear = {m.name for m in found.methods if m.folds[0].loadings is not None}
    assert linear == {n for n in names if "Kernel" not in n and n not in (*NO_SUBSPACE, "raw")}


def has_path(name):
    return name == "PCA" or "n_components" in {
        p for m in package_methods() if m.name == name for p in m.estimator.get_params()
    }


def test_a_new_public_estimator_competes_without_being_listed(monkeypatch):
    class Newcomer(FisherDiscriminant):
        """A direction that nobody knew. More of it."""

    monkeypatch.setattr(separatrix, "Newcomer", Newcomer, raising=False)
    monkeypatch.setattr(separatrix, "__all__", [*separatrix.__all__, "Newcomer"])
    (found,) = contenders(["Newcomer"])
    assert found.kind == "classifier"
    assert found.choose_dimension
    assert dict(found.grid)["shrinkage"] == GRIDS["*"]["shrinkage"]


def test_methods_that_are_none_are_refused_by_name():
    with pytest.raises(ValueError, match="'LDGX' is not a method: it must be one of DDAG"):
        compare("LDGX", X, Y)
    with pytest.raises(ValueError, match="TransferLDG cannot be compared: it needs rows of two"):
        compare(["TransferLDG"], X, Y)
    with pytest.raises(ValueError, match="two methods are called 'PCA'"):
        compare(["PCA", PCA(2)], X, Y)
    with pytest.raises(ValueError, match="methods is empty"):
        compare([], X, Y)
    with pytest.raises(TypeError, match="give a name, an estimator, or a pair"):
        compare([FisherDiscriminant], X, Y)


def test_one_contender_and_a_dictionary_are_methods():
    one = compare(Contender("mine", FisherDiscriminant()), X, Y, **CHEAP)
    many = compare({"mine": FisherDiscriminant(), "other": PCA(2)}, X, Y, **CHEAP)
    assert [m.name for m in one.methods] == ["mine"]
    assert [m.name for m in many.methods] == ["mine", "other"]
    assert one["mine"].summary == many["mine"].summary
    with pytest.raises(TypeError, match="methods=5 must be None for all, or a list"):
        compare(5, X, Y)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("n_splits", 0, "n_splits=0"),
        ("test_size", 1.0, "test_size=1.0"),
        ("decision", "5nn", "decision='5nn' must be one of own, 3nn"),
        ("scale", "minmax", "scale='minmax'"),
        ("time_budget", 0, "time_budget=0"),
        ("time_budget", "60", "time_budget='60' must be None or a number of seconds"),
        ("test_size", "0.3", "test_size='0.3' must be a number between 0 and 1"),
        ("test_size", None, "test_size=None must be a number"),
        ("n_jobs", 0, "n_jobs=0 must be None for one"),
        ("n_jobs", 1.5, "n_jobs=1.5 must be None for one"),
        ("scale", StandardScaler, r"is a class: give a transformer, StandardScaler\(\)"),
        ("random_state", None, "random_state=None"),
        ("feature_names", ["a"], "feature_names has 1 names, but X has 6"),
    ],
)
def test_settings_are_checked_before_anything_runs(name, value, words):
    with pytest.raises(ValueError, match=words):
        compare(["raw"], X, Y, **{name: value})


def test_rows_that_nothing_can_be_compared_on_are_refused():
    broken = X.copy()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="petal"):
        compare(["raw"], broken, Y, feature_names=["a", "b", "petal", "d", "e", "f"])
    with pytest.raises(ValueError, match="only one class"):
        compare(["raw"], X, np.zeros(len(X)))
    for gap in (None, np.nan, pd.NA):
        labels = np.array(["a", "b", "c"], dtype=object)[Y]
        labels[[4, 7]] = gap
        with pytest.raises(ValueError, match=r"no label for 2 of 90 rows \(first: row 4\)"):
            compare(["raw"], X, labels)
    with pytest.raises(ValueError, match="90 rows, but y has 89"):
        compare(["raw"], X, Y[:-1])
    with pytest.raises(ValueError, match="a class of its own"):
        compare(["raw"], X[:5], np.arange(5))


@pytest.mark.parametrize("form", [pd.DataFrame, sp.csr_array, np.ndarray.tolist, np.float32])
def test_rows_may_come_in_any_form(form):
    select = ("select", SelectKBest(k=3))
    found = compare(
        [LinearDiscriminantAnalysis(), FisherDiscriminant(), "raw", select],
        form(np.abs(X)),
        Y,
        **CHEAP,
    )
    assert len(found["select"].folds[0].view.coordinates[0]) == 3
    assert found["FisherDiscriminant"].status == found["raw"].status == "done"
    expected = ("0", "1") if form is pd.DataFrame else ("x0", "x1")
    assert found.feature_names[:2] == expected
    if form is sp.csr_array:
        assert found["LinearDiscriminantAnalysis"].status == "failed"
        assert "Sparse data was passed" in found["LinearDiscriminantAnalysis"].reason


# Nothing that judges is seen before --------------------------------------------------------------


class Spy(TransformerMixin, BaseEstimator):
    """Keeps the first column, which numbers the rows, of all that it is fitted to."""

    seen: list = []  # noqa: RUF012

    def __init__(self, a=0, b=0):
        self.a = a
        self.b = b

    def fit(self, X, y=None):
        self.seen.append((self.get_params(), X[:, 0].astype(int).tolist()))
        return self

    def transform(self, X):
        return X


def numbered(n=60):
    return np.column_stack([np.arange(n), np.random.default_rng(0).normal(size=n)])


def test_no_fit_sees_a_row_of_the_test_part():
    y = np.arange(60) % 2
    Spy.seen.clear()
    spies = Contender("spy", Spy(), grid={"a": (0, 1), "b": (0, 1, 2)})
    compare([spies], numbered(), y, scale=Spy(a="scaler"), **CHEAP)
    train = [set(parts(y, split)[0].tolist()) for split in range(2)]
    fits = [set(rows) for _, rows in Spy.seen]
    # a scaler, 2 + 3 settings less one known already in three folds, and the fit itself
    assert len(fits) == 2 * (1 + 3 * 4 + 1)
    for split, seen in enumerate([fits[:14], fits[14:]]):
        assert seen[0] == seen[-1] == train[split]
        assert all(rows < train[split] for rows in seen[1:-1])


class RandomDirection(TransformerMixin, BaseEstimator):
    def __init__(self, seed=0):
        self.seed = seed

    def fit(self, X, y=None):
        self.w_ = np.random.default_rng(self.seed).standard_normal((X.shape[1], 1))
        return self

    def transform(self, X):
        return X @ self.w_


def test_labels_without_meaning_are_predicted_by_chance_however_much_is_chosen():
    rng = np.random.default_rng(5)
    rows, y = rng.standard_normal((80, 120)), np.arange(80) % 2
    lucky = Contender("lucky", RandomDirection(), grid={"seed": tuple(range(40))})
    found = compare(
        [lucky, "LocalFisherDiscriminant", "PCA"], rows, y, n_splits=8,
        memory=False,
    )  # fmt: skip
    for method in found.methods:
        # 24 rows a split: 0.1; over eight splits of the same rows somewhat less
        assert abs(method.summary["accuracy"].mean - 0.5) < 0.12
    # the choice is real: among the training rows the best of 40 directions looks far better
    assert len({fold.chosen["seed"] for fold in found["lucky"].folds}) > 1


def test_one_more_test_row_changes_no_choice_and_no_fit():
    moved = X.copy()
    test = parts(Y)[1]
    moved[test] += 100.0
    methods = ["LocalFisherDiscriminant", "SupportVectorProjection"]
    one, other = (compare(methods, x, Y, n_splits=1, memory=False) for x in (X, moved))
    for name in methods:
        assert one[name].folds[0].chosen == other[name].folds[0].chosen
        assert one[name].folds[0].loadings == other[name].folds[0].loadings


class Dice(ClassifierMixin, BaseEstimator):
    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.rng_ = np.random.default_rng(self.random_state)
        return self

    def predict(self, X):
        return self.rng_.integers(3, size=len(X))


def test_chance_is_seeded_by_the_split_unless_it_was_already():
    methods = [("dice", Dice()), ("nested", make_pipeline(Dice())), ("seven", Dice(7))]
    one, again = (without_times(compare(methods, X, Y, **CHEAP)) for _ in range(2))
    assert one == again
    first, second = (fold.predicted for fold in one["dice"].folds)
    assert first != second
    assert one["nested"].folds[0].predicted == first
    first, second = (fold.predicted for fold in one["seven"].folds)
    assert first == second


# Choosing ----------------------------------------------------------------------------------------


class Picky(ClassifierMixin, BaseEstimator):
    """Right on a share of rows that grows with how near the parameters are to (2, 1)."""

    def __init__(self, a=0, b=0):
        self.a = a
        self.b = b

    def fit(self, X, y):
        if self.a == "broken":
            raise RuntimeError("cannot be fitted")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        right = 0.9 - 0.2 * abs(self.a - 2) - 0.1 * abs(self.b - 1)
        truth = X[:, 0].astype(int)
        return np.where(np.arange(len(X)) < right * len(X), truth, 1 - truth)


def picky(**grid):
    y = np.arange(90) % 2
    contender = Contender("picky", Picky(), grid=grid)
    return compare([contender], y[:, None].astype(float), y, scale=None, **CHEAP).methods[0]


def test_parameters_are_chosen_one_after_the_other_and_the_first_of_equals_wins():
    for fold in picky(a=(0, 3, 2), b=(3, 1)).folds:
        assert fold.chosen == {"a": 2, "b": 1}
        assert fold.scores["accuracy"] == pytest.approx(26 / 28)  # 0.9 of 28 rows, rounded up
    assert picky(b=(2, 0)).folds[0].chosen == {"b": 2}
    assert picky(b=(0, 2)).folds[0].chosen == {"b": 0}


def test_a_value_that_fails_is_not_chosen_unless_all_fail():
    assert picky(a=("broken", 0)).folds[0].chosen == {"a": 0}
    method = picky(a=("broken",))
    assert method.status == "failed"
    assert method.reason == "RuntimeError: cannot be fitted; 0 of 2 splits done"


def test_kernel_widths_and_costs_are_in_units_of_the_training_rows():
    rows = 100 * X
    found = compare(
        ["KernelFisherDiscriminant", "SupportVectorProjection"], rows, Y, scale=None, n_splits=1
    )
    unit = inverse_width(rows[parts(Y)[0]], "scale")
    width = found["KernelFisherDiscriminant"].folds[0].chosen["kernel_gamma"]
    assert width / unit in [pytest.approx(m) for m in GRIDS["*"]["kernel_gamma"]]
    cost = found["SupportVectorProjection"].folds[0].chosen["C"]
    assert cost / unit in [pytest.approx(m) for m in GRIDS["*"]["C"]]
    small = compare(["SupportVectorProjection"], X, Y, scale=None, n_splits=1, memory=False)
    assert small.methods[0].folds[0].chosen["C"] == pytest.approx(1e4 * cost)


def test_the_number_of_directions_is_chosen_in_the_training_part_and_then_cut_off():
    noisy = X + np.random.default_rng(2).normal(scale=2, size=X.shape)
    contender = Contender("lfda", LocalFisherDiscriminant(), choose_dimension=True)
    (method,) = compare([contender], noisy, Y, **CHEAP).methods
    for fold in method.folds:
        train, test = parts(Y, fold.split)
        scaler = StandardScaler().fit(noisy[train])
        known, new = scaler.transform(noisy[train]), scaler.transform(noisy[test])
        seed = int(np.random.SeedSequence((0, fold.split)).generate_state(1)[0] >> 1)
        path = dimension_path(
            LocalFisherDiscriminant(), known, Y[train], n_folds=3, random_state=seed
        )
        assert fold.chosen["n_components"] == fold.n_components == path.n_components
        model = LocalFisherDiscriminant(path.n_components).fit(known, Y[train])
        rule = KNeighborsClassifier(3).fit(model.transform(known), Y[train])
        assert_array_equal(fold.predicted, rule.predict(model.transform(new)))
        whole = LocalFisherDiscriminant(6).fit(known, Y[train])
        for k, score in enumerate(fold.path, start=1):
            rule = KNeighborsClassifier(3).fit(whole.transform(known)[:, :k], Y[train])
            assert score == pytest.approx(rule.score(whole.transform(new)[:, :k], Y[test]))
        assert len(fold.path) == 6
        assert fold.path[fold.n_components - 1] == fold.scores["accuracy"]


def test_large_training_parts_use_landmarks_and_some_methods_fewer_rows():
    by_name = {m.name: m for m in contenders(None)}
    kernel = by_name["KernelFisherDiscriminant"]
    assert settings_by_size(kernel, 1000, 5, 3) == {}
    assert settings_by_size(kernel, 1001, 5, 3) == {"n_landmarks": N_LANDMARKS}
    assert settings_by_size(by_name["SupportVectorProjection"], 1001, 5, 3) == {}
    assert settings_by_size(by_name["PCA"], 100, 500, 3) == {"n_components": 40}
    assert settings_by_size(by_name["PCA"], 30, 500, 3) == {"n_components": 15}
    assert settings_by_size(by_name["NCA"], 100, 500, 9) == {"n_components": 8}
    assert settings_by_size(Contender("k", KernelFisherDiscriminant()), 5000, 5, 3) == {}
    Spy.seen.clear()
    y = np.arange(60) % 2
    (method,) = compare([Contender("spy", Spy(), most_rows=20)], numbered(), y, **CHEAP).methods
    assert [len(rows) for _, rows in Spy.seen] == [20, 20]
    assert [fold.n_rows for fold in method.folds] == [20, 20]


# What is shown -----------------------------------------------------------------------------------


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


class Hungry(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.unique(y)
        np.ones(2_000_000)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_memory_is_what_a_fit_holds_at_most_and_is_measured_once(monkeypatch):
    (method,) = compare([Hungry()], X, Y, n_splits=2).methods
    first, second = method.folds
    assert 16e6 <= first.peak_bytes < 16.5e6
    assert second.peak_bytes is None
    assert compare([Hungry()], X, Y, **CHEAP).methods[0].folds[0].peak_bytes is None
    monkeypatch.setattr("separatrix.evaluate.fold.LONGEST_MEASURED", 0.0)
    assert compare([Hungry()], X, Y, n_splits=1).methods[0].folds[0].peak_bytes is None


def test_the_fit_that_measures_memory_is_not_the_time_of_the_fold(monkeypatch):
    (contender,) = contenders([Hungry()])
    job = Job(contender, 0, 0.3, "standard", "own", 0, memory=True)
    data, _ = labelled_data(X, Y, None)
    now = [0.0]
    monkeypatch.setattr("separatrix.evaluate.fold.time.perf_counter", lambda: now[0])

    def slow(*_):
        now[0] += 1000.0
        return {"peak_bytes": 1}

    monkeypatch.setattr("separatrix.evaluate.fold.peak_memory", slow)
    fold = run_fold(job, data)
    assert (fold.peak_bytes, fold.seconds) == (1, 0.0)


def test_memory_is_not_measured_when_time_is_short():
    (contender,) = contenders([Hungry()])
    job = Job(contender, 0, 0.3, "standard", "own", 0, memory=True)
    data, _ = labelled_data(X, Y, None)
    start = time.perf_counter()
    assert run_fold(job, data).peak_bytes is not None
    took = time.perf_counter() - start
    assert run_fold(job, data, time_left=1000 + 100 * took).peak_bytes is not None
    assert run_fold(job, data, time_left=1e-9).peak_bytes is None


def test_the_time_left_to_a_fold_is_what_its_method_has_not_spent():
    first, other = (
        Job(contender, 0, 0.3, None, "own", 0, memory=True)
        for contender in contenders(["raw", "PCA"])
    )
    budget = Budget(100.0, {"raw": 30.0})
    assert budget.time_left(first, {}) == 70.0
    running = {0: Task(None, first, time.monotonic() - 10), 1: Task(None, other, time.monotonic())}
    assert 29 < budget.time_left(first, running) <= 30
    assert Budget(None, {}).time_left(first, running) == np.inf


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

    monkeypatch.setattr("separatrix.evaluate.fold.scorer_of", scorer)
    monkeypatch.setattr("separatrix.evaluate.fold.PATH_ROWS", 15)
    (method,) = compare([Contender("p", PCA(2), choose_dimension=True)], X, Y, **CHEAP).methods
    assert len(method.folds[0].path) == 2
    assert sizes[-1] == (15, 15, 15, 15, 15)


def test_only_the_reference_is_shown_as_raw_data():
    found = compare([("raw", PCA(2)), ("same", FunctionTransformer())], X, Y, **CHEAP)
    assert found["raw"].folds[0].view.axes == "directions"
    assert found["same"].folds[0].view.axes == "directions"


class Wider(TransformerMixin, BaseEstimator):
    """Squares beside the features, without names."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.hstack([X, X**2])


class Ends(TransformerMixin, BaseEstimator):
    """Keeps the first and the last column, and says which."""

    def fit(self, X, y=None):
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return X[:, [0, -1]]

    def get_feature_names_out(self, input_features=None):
        return input_features[[0, -1]]


@pytest.mark.parametrize(
    ("scale", "names"),
    [
        (Wider(), tuple(f"x{j}" for j in range(12))),
        (PolynomialFeatures(2, include_bias=False), ("a", "b", "c")),
        (PCA(2), ("pca0", "pca1")),
        (make_pipeline(StandardScaler(), Ends()), ("a", "f")),
        (make_pipeline(Wider(), StandardScaler()), tuple(f"x{j}" for j in range(12))),
        (MinMaxScaler().set_output(transform="pandas"), tuple("abcdef")),
    ],
    ids=str,
)
def test_columns_that_a_transformer_makes_are_named(scale, names):
    found = compare([FisherDiscriminant(shrinkage=0.1)], X, Y, scale=scale, n_splits=1,
                    memory=False, feature_names=list("abcdef"))  # fmt: skip
    fold = found.methods[0].folds[0]
    assert (fold.status, fold.warnings) == ("done", ())
    assert fold.loadings.features[: len(names)] == names


def test_frames_as_output_change_nothing():
    expected = compare(["raw", "PCA", FisherDiscriminant()], X, Y, **CHEAP)
    with config_context(transform_output="pandas"):
        found = compare(["raw", "PCA", FisherDiscriminant()], X, Y, **CHEAP)
    assert without_times(found) == without_times(expected)


class Shaken(TransformerMixin, BaseEstimator):
    """Adds noise to the features."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X + check_random_state(self.random_state).standard_normal(X.shape)


def test_chance_in_the_scaling_is_seeded_too():
    one, two = (compare(["raw"], X, Y, scale=Shaken(), **CHEAP) for _ in range(2))
    assert without_times(one) == without_times(two)


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


@pytest.mark.parametrize("n_features", [1, 3])
def test_there_are_no_more_groups_than_features(n_features):
    (method,) = compare(["GroupedDiscriminant"], X[:, :n_features], Y, **CHEAP).methods
    assert (method.status, method.reason) == ("done", "")
    assert all(fold.chosen["groups"] <= n_features for fold in method.folds)
    (contender,) = contenders(["GroupedDiscriminant"])
    assert within_features(contender, 3)["groups"] == (2, 3)
    assert within_features(replace(contender, kind="given"), 3)["groups"] == (2, 4)


def test_the_summary_is_that_of_the_splits_with_an_interval():
    (method,) = compare(["raw"], X + 0.0, Y, n_splits=4, memory=False).methods
    values = [fold.scores["macro_f"] for fold in method.folds]
    summary = method.summary["macro_f"]
    assert summary.mean == pytest.approx(np.mean(values))
    assert summary.std == pytest.approx(np.std(values, ddof=1))
    assert summary.low <= summary.mean <= summary.high
    assert method.n_done == 4


def test_one_split_has_the_interval_of_its_rows():
    found = compare(["raw"], X, Y, n_splits=1, memory=False)
    summary = found["raw"].summary
    n = len(found.tests[0])
    expected = stats.binomtest(round(n * summary["accuracy"].mean), n).proportion_ci()
    assert (summary["accuracy"].low, summary["accuracy"].high) == pytest.approx(expected)
    assert summary["macro_f"].low == summary["macro_f"].high == summary["macro_f"].mean


def test_records_survive_json():
    found = compare(["FisherDiscriminant", "raw", ("bad", Broken())], X2, Y2, n_splits=2)
    text = json.dumps(to_plain(found), allow_nan=False)
    assert from_plain(Comparison, json.loads(text)) == found
    with pytest.raises(KeyError, match="'LDG' is not among"):
        found["LDG"]


# What fails --------------------------------------------------------------------------------------


class Broken(ClassifierMixin, BaseEstimator):
    """Fails in the splits it is told to."""

    fits = 0

    def __init__(self, last_good=0):
        self.last_good = last_good

    def fit(self, X, y):
        Broken.fits += 1
        if Broken.fits > self.last_good:
            raise RuntimeError("this\nis too much")
        self.classes_ = np.unique(y)
        warnings.warn("that was close", stacklevel=2)
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_methods_that_fail_are_listed_with_the_reason():
    Broken.fits = 0
    found = compare([("bad", Broken(2)), "FisherDiscriminant"], X, Y, n_splits=3, memory=False)
    bad = found["bad"]
    assert (bad.status, bad.n_done) == ("partial", 2)
    assert bad.reason == "RuntimeError: this is too much; 2 of 3 splits done"
    assert [fold.status for fold in bad.folds] == ["done", "done", "failed"]
    assert bad.folds[2].scores == {}
    assert bad.folds[0].warnings == ("UserWarning: that was close",)
    assert found["FisherDiscriminant"].status == "done"
    assert found["FisherDiscriminant"].reason == ""


class Undescribed(Hungry):
    """Predicts, but gives no projected rows and learns only once."""

    fits = 0

    def fit(self, X, y):
        Undescribed.fits += 1
        if Undescribed.fits > 1:
            raise MemoryError
        return super().fit(X, y)

    def transform(self, X):
        raise NotImplementedError("no rows")


def test_what_only_describes_a_fold_may_fail_without_its_scores():
    Undescribed.fits = 0
    lsqr = LinearDiscriminantAnalysis(solver="lsqr")
    found = compare([Undescribed(), lsqr], X, Y, n_splits=1)
    fold = found["Undescribed"].folds[0]
    assert fold.status == "done"
    assert fold.scores["accuracy"] > 0
    assert fold.warnings == (
        "RuntimeWarning: no projected rows: NotImplementedError: no rows",
        "RuntimeWarning: no view and loadings: NotImplementedError: no rows",
        "RuntimeWarning: no memory: MemoryError: no message",
    )
    assert (fold.n_components, fold.view, fold.peak_bytes) == (None, None, None)
    assert found["LinearDiscriminantAnalysis"].status == "done"


def test_a_subspace_without_directions_fails_with_that_reason():
    rows, y = np.ones((40, 2)), np.arange(40) % 2
    (method,) = compare([FisherDiscriminant()], rows, y, decision="3nn", n_splits=1).methods
    assert "no direction was found" in method.reason


class Sleepy(ClassifierMixin, BaseEstimator):
    """Never ends, but tells who it is."""

    def __init__(self, path):
        self.path = path

    def fit(self, X, y):
        self.path.write_text(str(os.getpid()))
        time.sleep(600)

    def predict(self, X):
        raise AssertionError


class Deadly(Sleepy):
    def fit(self, X, y):
        os._exit(3)


def test_worker_processes_give_the_same_and_are_ended_when_time_is_up(tmp_path, monkeypatch):
    # four seconds are left to one method, and plenty to the others however slow the machine is
    monkeypatch.setattr(
        "separatrix.evaluate.runner._seconds_by_method", lambda _: {"sleepy": 996.0}
    )
    quick = ["FisherDiscriminant", "MixtureIPCAC"]
    bad = [("sleepy", Sleepy(tmp_path / "pid")), ("deadly", Deadly(tmp_path))]
    told = []
    found = compare(
        [*bad, *quick], X, Y, n_splits=2, n_jobs=2, time_budget=1000, progress=told.append
    )
    alone = compare(quick, X, Y, n_splits=2)
    for name in quick:
        assert without_times(found)[name] == without_times(alone)[name]
    sleepy = found["sleepy"]
    assert (sleepy.status, sleepy.reason) == (
        "failed", "time budget of 1000 s; 0 of 2 splits done"
    )  # fmt: skip
    assert {fold.status for fold in sleepy.folds} == {"stopped"}
    assert sum(fold.seconds for fold in sleepy.folds) >= 4
    assert [fold.status for fold in found["deadly"].folds] == ["failed"] * 2
    assert found["deadly"].reason.startswith("the process died")
    if (tmp_path / "pid").exists():  # a machine may be too slow to come so far in four seconds
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)
    assert told[-1].done == told[-1].total == 8
    assert told[-1].remaining == 0
    assert [p.done for p in told] == sorted(p.done for p in told)
    assert any("sleepy" in p.running for p in told)
    ended = sum(p.fold is not None for p in told)
    assert ended == sum(len(method.folds) for method in found.methods)


# Going on after an interruption ------------------------------------------------------------------


class Counted(FisherDiscriminant):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counted.fits += 1
        return super().fit(X, y, sample_weight)


def test_an_interrupted_comparison_goes_on_where_it_was(tmp_path):
    methods = [Counted(), ("again", Counted(1)), "raw"]
    whole = compare(methods, X, Y, n_splits=3, memory=False)
    path = tmp_path / "folds.jsonl"

    def interrupt(state):
        if state.done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(methods, X, Y, n_splits=3, memory=False, results=path, progress=interrupt)
    assert len(path.read_text().splitlines()) == 1 + 4
    cut = path.read_bytes()
    path.write_bytes(cut[:-7])  # in the middle of a line: one fold is lost
    Counted.fits = 0
    told = []
    found = compare(methods, X, Y, n_splits=3, memory=False, results=path, progress=told.append)
    assert without_times(found) == without_times(whole)
    assert Counted.fits == 4  # of the six, the two before the third of the nine were there
    assert told[0].done == 3
    Counted.fits = 0
    again = compare(methods, X, Y, n_splits=3, memory=False, results=path)
    assert (Counted.fits, again) == (0, found)
    more = compare(methods, X, Y, n_splits=4, memory=False, results=path)
    assert Counted.fits == 2
    assert more.methods[0].folds[:3] == found.methods[0].folds


@pytest.mark.parametrize(
    "change", [{"random_state": 1}, {"test_size": 0.4}, {"decision": "3nn"}, {"scale": None}],
    ids=str,
)  # fmt: skip
def test_results_with_other_settings_are_not_taken(tmp_path, change):
    path = tmp_path / "folds.jsonl"
    compare([Counted()], X, Y, **CHEAP, results=path)
    Counted.fits = 0
    found = compare([Counted()], X, Y, **CHEAP, results=path, **change)
    assert Counted.fits == 2
    assert without_times(found) == without_times(compare([Counted()], X, Y, **CHEAP, **change))
    near = np.array([0.2, 0.4, 0.4])
    other = near + np.array([1e-12, 0, 0])
    for params in ({"n_components": 1}, {"priors": near}, {"priors": other}):
        Counted.fits = 0
        compare([("Counted", Counted(**params))], X, Y, **CHEAP, results=path, **change)
        assert Counted.fits == 2


def power(base, x=2):
    return base**x


def test_scaling_and_functions_are_known_by_what_they_are(tmp_path):
    """Arrays in full, functions by name and code: never by where they lie in memory."""
    keys = []
    edges = np.arange(2000.0)
    almost = edges.copy()
    almost[1000] += 1e-9
    scales = [
        FunctionTransformer(np.subtract, kw_args={"x2": edges}),
        FunctionTransformer(np.subtract, kw_args={"x2": almost}),
        make_pipeline(FunctionTransformer(power)),
        FunctionTransformer(partial(power, x=3)),
        FunctionTransformer(lambda X: X + 1),
        FunctionTransformer(lambda X: X + 2),
        *[FunctionTransformer(lambda X, shift=shift: X + shift) for shift in (1, 2)],
        FunctionTransformer(Wider().transform),
        MinMaxScaler,
    ]
    (contender,) = contenders(["raw"])
    for scale in scales:
        keys.append(job_key(Job(contender, 0, 0.3, scale, "own", 0, memory=True)))
    assert len(set(keys)) == len(scales)
    again = FunctionTransformer(np.subtract, kw_args={"x2": edges.copy()})
    assert keys[0] == job_key(Job(contender, 0, 0.3, again, "own", 0, memory=True))
    made = (
        KernelFisherDiscriminant(kernel=lambda x, y: x @ y, kernel_gamma=power) for _ in range(2)
    )
    one, two = (job_key(Job(Contender("k", e), 0, 0.3, None, "own", 0, True)) for e in made)
    assert one == two
    seeds = [np.random.RandomState(0), np.random.RandomState(0), np.random.RandomState(1)]
    assert exact(seeds[0]) == exact(seeds[1]) != exact(seeds[2])

    def calls_itself(n):
        return calls_itself(n - 1)

    assert exact(calls_itself) == exact(calls_itself)


SETS = """
from separatrix.results import exact
print(exact(lambda x: x in {"a", "b", "c", "d", "e"}), exact({"a", "b", "c", "d", "e"}))
"""


def test_what_differs_from_run_to_run_is_in_no_key():
    said = {
        subprocess.run(
            [sys.executable, "-c", SETS],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(3)
    }
    assert len(said) == 1


@pytest.mark.parametrize(
    ("reason", "fits"),
    [
        ("the process died: out of memory, or a crash of compiled code", 1),
        ("_ArrayMemoryError: Unable to allocate", 1),
        ("FileNotFoundError: gone", 1),
        ("OSError: no space", 1),
        ("ValueError: wrong: OSError", 0),
    ],
)
def test_what_failed_for_a_passing_reason_is_tried_again(tmp_path, reason, fits):
    path = tmp_path / "folds.jsonl"
    compare([Counted()], X, Y, **CHEAP, results=path)
    head, line, last = path.read_text().splitlines()
    entry = json.loads(line)
    entry["fold"] |= {"status": "failed", "reason": reason, "scores": {}}
    path.write_text("\n".join([head, json.dumps(entry), last]) + "\n")
    for more in (fits, 0):  # what it came to is kept
        Counted.fits = 0
        (method,) = compare([Counted()], X, Y, **CHEAP, results=path).methods
        assert Counted.fits == more
        assert method.status == ("done" if fits else "partial")


def test_versions_are_kept_with_folds(tmp_path):
    path = tmp_path / "folds.jsonl"
    found = compare([Counted()], X, Y, **CHEAP, results=path)
    assert found.versions["numpy"] == np.__version__
    head, line, last = path.read_text().splitlines()
    entry = json.loads(line)
    assert entry["versions"] == found.versions
    entry["versions"]["numpy"] = "1.0"
    path.write_text("\n".join([head, json.dumps(entry), last]) + "\n")
    again = compare([Counted()], X, Y, **CHEAP, results=path)
    assert again.versions == found.versions | {"numpy": f"1.0, {np.__version__}"}
    assert compare([Counted()], X, Y, **CHEAP).versions == found.versions


def test_two_comparisons_do_not_write_to_one_file(tmp_path):
    pytest.importorskip("fcntl")
    path = tmp_path / "folds.jsonl"
    refused = []

    def second(state):
        if state.done == 1 and not refused:
            with pytest.raises(ValueError, match="being written by another comparison") as error:
                compare(["raw"], X, Y, **CHEAP, results=path)
            refused.append(error)

    compare(["raw"], X, Y, **CHEAP, results=path, progress=second)
    assert refused
    assert compare(["raw"], X, Y, **CHEAP, results=path).methods[0].n_done == 2


def test_files_of_other_data_or_other_kinds_are_refused_and_left_alone(tmp_path):
    path = tmp_path / "folds.jsonl"
    compare(["raw"], X, Y, **CHEAP, results=path)
    content = path.read_bytes()
    swapped = Y.copy()
    swapped[:2] = swapped[1::-1]
    for x, y, names in [(X + 1e-9, Y, None), (X, swapped, None), (X, Y, list("abcdef"))]:
        with pytest.raises(ValueError, match="results of other data"):
            compare(["raw"], x, y, **CHEAP, results=path, feature_names=names)
    assert path.read_bytes() == content
    for text in (b"my diary", b"my diary\n", b'{"separatrix": 1}\n', content[1:]):
        path.write_bytes(text)
        with pytest.raises(ValueError, match="is not a file of results"):
            compare(["raw"], X, Y, **CHEAP, results=path)
        assert path.read_bytes() == text
    path.write_bytes(content.replace(b'"format":1', b'"format":9'))
    with pytest.raises(ValueError, match="format 9"):
        compare(["raw"], X, Y, **CHEAP, results=path)
    lines = content.splitlines(keepends=True)
    path.write_bytes(b"".join([lines[0], lines[1][:30] + b"\n", lines[2]]))
    with pytest.raises(ValueError, match=r"line 2 of .* is damaged"):
        compare(["raw"], X, Y, **CHEAP, results=path)
    path.write_bytes(lines[0][:9])  # cut off before anything was done
    assert compare(["raw"], X, Y, **CHEAP, results=path).methods[0].n_done == 2


def test_a_file_that_may_only_be_read_is_read(tmp_path, monkeypatch):
    path = tmp_path / "folds.jsonl"
    before = compare(["raw"], X, Y, **CHEAP, results=path)
    content = path.read_bytes() + b'{"cut off'
    path.write_bytes(content)
    may = type(path).open

    def refuse(self, mode="r", **options):
        if "a" in mode or "w" in mode:
            raise PermissionError(13, "Permission denied", str(self))
        return may(self, mode, **options)

    monkeypatch.setattr(type(path), "open", refuse)
    assert without_times(compare(["raw"], X, Y, **CHEAP, results=path)) == without_times(before)
    with pytest.raises(PermissionError, match="may not be written to, and 1 of the folds"):
        compare(["raw"], X, Y, n_splits=3, memory=False, results=path)
    assert path.read_bytes() == content
    with pytest.raises(PermissionError):
        compare(["raw"], X, Y, **CHEAP, results=tmp_path / "new")


KILLED = """
import os, signal, sys, tempfile
import numpy as np
from separatrix.evaluate import compare
tempfile.tempdir = sys.argv[3]
with np.load(sys.argv[1]) as data:
    X, y = data["X"], data["y"]
def kill(state):
    if state.done >= 2 and state.running:
        os.kill(os.getpid(), signal.SIGKILL)
compare(["DDAGClassifier", "LDG", "PCA"], X, y, n_splits=2, n_jobs=2, memory=False,
        results=sys.argv[2], progress=kill)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
def test_a_killed_comparison_leaves_its_results_and_no_process(tmp_path):
    np.savez(tmp_path / "data.npz", X=X, y=Y)
    path = tmp_path / "folds.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, tmp_path / "data.npz", path, tmp_path],
        capture_output=True,  # ends when the workers have ended, who hold the pipes as well
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    patience = time.monotonic() + 60
    while list(tmp_path.glob("separatrix-*")) and time.monotonic() < patience:
        time.sleep(0.1)  # the workers see that they are alone, and clean up
    assert not list(tmp_path.glob("separatrix-*"))
    assert 2 <= len(path.read_text().splitlines()) - 1 < 6
    methods = ["DDAGClassifier", "LDG", "PCA"]
    told = []
    found = compare(methods, X, Y, n_splits=2, memory=False, results=path, progress=told.append)
    assert told[0].done >= 2
    assert without_times(found) == without_times(compare(methods, X, Y, **CHEAP))


INTERRUPTED = """
import os, signal, sys
import numpy as np
from separatrix.evaluate import compare
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background are born deaf
with np.load(sys.argv[1]) as data:
    X, y = data["X"], data["y"]
looks = []
def interrupt(state):
    looks.append(state)
    if len(looks) == 3 if sys.argv[3] == "start" else state.done >= 2 and state.running:
        os.killpg(os.getpgrp(), signal.SIGINT)
try:
    compare(["DDAGClassifier", "LDG", "PCA"], X, y, n_splits=2, n_jobs=2, memory=False,
            results=sys.argv[2], progress=interrupt)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
@pytest.mark.parametrize(("when", "n_done"), [("start", 0), ("later", 2)])
def test_of_an_interruption_only_the_caller_speaks(when, n_done, tmp_path):
    """Ctrl-C reaches all processes of a terminal, those that start and those that work, too."""
    np.savez(tmp_path / "data.npz", X=X, y=Y)
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, tmp_path / "data.npz", tmp_path / "folds", when],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        start_new_session=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")
    assert len((tmp_path / "folds").read_text().splitlines()) - 1 >= n_done


def test_a_process_that_is_ended_at_once_is_ended_quietly(tmp_path, monkeypatch):
    """A time budget may be over before the fold has come to the process."""
    joblib.dump(None, tmp_path / "data")
    trouble = []
    monkeypatch.setattr(threading, "excepthook", trouble.append)
    for _ in range(20):
        worker = Worker(tmp_path / "data")
        worker.submit(None, 0.0)
        worker.end()
    assert trouble == []


def test_a_fit_that_was_stopped_is_tried_again_with_more_time(tmp_path):
    path = tmp_path / "folds.jsonl"
    compare([Counted()], X, Y, **CHEAP, results=path)
    lines = path.read_text().splitlines()
    entry = json.loads(lines[1])
    entry["fold"] |= {"status": "stopped", "reason": "time budget of 50 s", "seconds": 50.0}
    path.write_text("\n".join([lines[0], json.dumps(entry)]) + "\n")
    Counted.fits = 0
    (method,) = compare([Counted()], X, Y, **CHEAP, results=path, time_budget=50).methods
    assert (method.status, method.n_done) == ("failed", 0)
    assert method.reason == "time budget of 50 s; 0 of 2 splits done"
    (method,) = compare([Counted()], X, Y, **CHEAP, results=path).methods
    assert (method.status, Counted.fits) == ("done", 2)


def test_linear_margins_have_no_kernel_width_to_choose():
    by_name = {m.name: m for m in contenders(None)}
    assert "kernel_gamma" not in by_name["SupportVectorProjection"].grid
    assert "kernel_gamma" in by_name["KernelSupportVectorICA"].grid
    assert SupportVectorProjection().kernel is None
