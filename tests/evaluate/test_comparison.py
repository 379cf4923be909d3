"""Comparing methods, and fitting the one that was judged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from scipy import stats
from sklearn import config_context
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from separatrix import FisherDiscriminant
from separatrix.evaluate.comparison import compare, tuned
from separatrix.evaluate.methods import contenders, with_steps
from separatrix.evaluate.records import to_plain
from separatrix.evaluate.splits import RandomShares
from separatrix.files.preparation import encode_text, preprocessing
from separatrix.selection import random_splits
from tests.discovery import labelled
from tests.evaluate.comparing import CHEAP, Broken, X, Y, by_hand, named, parts, without_times


def test_the_splits_of_a_comparison_are_in_its_record():
    found = compare([LinearDiscriminantAnalysis()], X, Y, **CHEAP)
    for split, test in enumerate(found.tests):
        assert_array_equal(test, parts(Y, split)[1])
    assert found.class_counts == tuple(np.bincount(Y).tolist())
    assert_array_equal(np.array(found.classes)[list(found.labels)], Y)


def test_each_split_is_dealt_once_and_given_to_all_folds():
    dealt = []

    class LeaveOutOneMore:
        def split(self, X, y=None, groups=None):
            dealt.append(len(X))
            for n in (1, 2, 3):
                yield np.arange(n, len(X)), np.arange(n)

    found = compare(["raw", "PCA", "LDA"], X, Y, cv=LeaveOutOneMore())
    assert dealt == [90]
    assert [len(test) for test in found.tests] == [1, 2, 3]
    for method in found.methods:
        assert [len(fold.predicted) for fold in method.folds] == [1, 2, 3]
        assert [fold.n_rows for fold in method.folds] == [89, 88, 87]


@pytest.mark.parametrize("scale", ["standard", MinMaxScaler()], ids=str)
def test_a_classifier_is_scaled_fitted_and_judged_as_by_hand(scale):
    y = np.array(["a", "b", "c"])[Y]
    found = compare(with_steps([FisherDiscriminant(shrinkage=0.2)], prepare=scale), X, y, **CHEAP)
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
        assert fold.scores["recall"] == pytest.approx(np.mean(shares))
        assert {"log_loss", "brier", "auc"} <= set(fold.scores)
        assert not {"sensitivity", "cost"} & set(fold.scores)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("budget", 0, "budget=0"),
        ("budget", "60", "budget='60' must be None or a number of seconds"),
        ("progress", "bar", "progress='bar' must be True, False"),
        ("n_jobs", 0, "n_jobs=0 must be None for one"),
        ("n_jobs", 1.5, "n_jobs=1.5 must be None for one"),
        ("random_state", None, "random_state=None"),
    ],
)
def test_settings_are_checked_before_anything_runs(name, value, words):
    with pytest.raises(ValueError, match=words):
        compare(["raw"], X, Y, **{name: value})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RandomShares(0), "n_splits=0"),
        (lambda: RandomShares(test_size=1.0), "test_size=1.0"),
        (lambda: RandomShares(test_size="0.3"), "test_size='0.3' must be a number between 0"),
        (lambda: with_steps(["LDG"], prepare="minmax"), "prepare='minmax'"),
        (
            lambda: with_steps(["LDG"], prepare=StandardScaler),
            r"a transformer, StandardScaler\(\)",
        ),
        (lambda: with_steps(["LDG"], then="PCA"), "then=PCA does not predict"),
        (lambda: with_steps(["LDG"], then="5nn"), "'5nn' is not a method"),
    ],
)
def test_splitters_and_steps_are_checked_where_they_are_made(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_rows_that_nothing_can_be_compared_on_are_refused():
    broken = X.copy()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="petal"):
        compare(["raw"], named(broken, ["a", "b", "petal", "d", "e", "f"]), Y)
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
        [LinearDiscriminantAnalysis(), FisherDiscriminant(shrinkage=None), "raw", select],
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


def test_frames_as_output_change_nothing():
    expected = compare(["raw", "PCA", FisherDiscriminant(shrinkage=None)], X, Y, **CHEAP)
    with config_context(transform_output="pandas"):
        found = compare(["raw", "PCA", FisherDiscriminant(shrinkage=None)], X, Y, **CHEAP)
    assert without_times(found) == without_times(expected)


def test_the_summary_is_that_of_the_splits_with_an_interval():
    (method,) = compare(["raw"], X + 0.0, Y, cv=RandomShares(4)).methods
    values = [fold.scores["macro_f"] for fold in method.folds]
    summary = method.summary["macro_f"]
    assert summary.mean == pytest.approx(np.mean(values))
    assert summary.std == pytest.approx(np.std(values, ddof=1))
    assert summary.low <= summary.mean <= summary.high
    assert method.n_done == 4


def test_one_split_has_the_interval_of_its_rows():
    found = compare(["raw"], X, Y, cv=RandomShares(1))
    summary = found["raw"].summary
    n = len(found.tests[0])
    expected = stats.binomtest(round(n * summary["accuracy"].mean), n).proportion_ci()
    assert (summary["accuracy"].low, summary["accuracy"].high) == pytest.approx(expected)
    assert summary["macro_f"].low == summary["macro_f"].high == summary["macro_f"].mean


def test_methods_that_fail_are_listed_with_the_reason():
    Broken.fits = 0
    found = compare([("bad", Broken(8)), "FisherDiscriminant"], X, Y, cv=RandomShares(3))
    bad = found["bad"]
    assert (bad.status, bad.n_done) == ("partial", 2)
    assert bad.reason == "RuntimeError: this is too much; 2 of 3 splits done"
    assert [fold.status for fold in bad.folds] == ["done", "done", "failed"]
    assert bad.folds[2].scores == {}
    assert bad.folds[0].warnings == ("UserWarning: that was close",)
    assert found["FisherDiscriminant"].status == "done"
    assert found["FisherDiscriminant"].reason == ""


# The model that was judged -----------------------------------------------------------------------


NAMES = [contender.name for contender in contenders(None)]


def noisy(n=72, d=7):
    """Rows that are not all classified correctly, so that other settings give other answers."""
    X, y = labelled(n, d, 3, seed=5)
    return X + 2 * np.random.default_rng(6).normal(size=X.shape), np.array(["a", "b", "c"])[y]


def assert_same_as_the_fold(method, X, y, **how):
    found = compare([method], X, y, cv=RandomShares(1), **how)
    (fold,) = found.methods[0].folds
    assert fold.status == "done", fold.reason
    codes = np.array(found.labels)
    train, test = random_splits(codes, 1, 0.3, how.get("random_state", 0))[0]
    model, chosen = tuned(method, X[train], y[train], **how)
    expected = np.array(found.classes)[list(fold.predicted)]
    assert_array_equal(model.predict(X[test]), expected)
    assert to_plain(chosen) == to_plain(fold.chosen)
    return model, fold, expected != y[test]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_the_model_predicts_what_the_fold_did(name):
    _, _, wrong = assert_same_as_the_fold(name, *noisy(), random_state=3)
    assert wrong.any()  # else any model would do


@pytest.mark.parametrize("decision", ["3nn", "centroid", "gaussian"])
def test_the_rule_on_top_is_that_of_the_fold(decision):
    (method,) = with_steps("MaximumMarginCriterion", then=decision, prepare=MinMaxScaler())
    model, fold, _ = assert_same_as_the_fold(method, *noisy())
    assert len(model) == 3
    assert model[1].n_components == fold.chosen["n_components"]


def test_only_the_rule_learns_from_all_rows_where_the_method_takes_few():
    few = replace(contenders(["LDG"])[0], most_rows=20)
    model, fold, _ = assert_same_as_the_fold(few, *noisy())
    assert fold.n_rows < 30
    assert model[-1].n_samples_fit_ > 40


def test_estimators_are_fitted_as_they_are_given():
    X, y = noisy()
    model, chosen = tuned(*with_steps(FisherDiscriminant(shrinkage=0.3), prepare=None), X, y)
    assert chosen == {}
    assert_array_equal(model.coef_, FisherDiscriminant(shrinkage=0.3).fit(X, y).coef_)


@pytest.mark.parametrize("scale", ["standard", None])
def test_names_of_columns_are_known(scale):
    X, y = noisy()
    frame = pd.DataFrame(X, columns=[f"v{i}" for i in range(X.shape[1])])
    model, _ = tuned(*with_steps("IPCAC", prepare=scale), frame, y)
    assert_array_equal(model.feature_names_in_, frame.columns)
    with pytest.raises(ValueError, match="v1"):
        tuned(*with_steps("IPCAC", prepare=scale), frame.assign(v1=np.nan), y)


def test_text_and_gaps_are_prepared_as_in_a_comparison():
    X, y = noisy()
    frame = pd.DataFrame(X, columns=[f"v{i}" for i in range(X.shape[1])])
    frame.loc[::9, "v2"] = np.nan
    frame["place"] = np.where(np.arange(len(y)) % 3 == 0, "hill", "river")
    how = {"categorical": "onehot", "missing": "median"}
    numbers, steps = encode_text(frame, **how)
    found = compare(with_steps(["LDG"], prepare=steps), numbers, y, cv=RandomShares(1))
    train, test = random_splits(np.array(found.labels), 1, 0.3)[0]
    prepare = preprocessing(frame, **how)
    model, _ = tuned(*with_steps("LDG", prepare=prepare), frame.iloc[train], y[train])
    fold = found.methods[0].folds[0]
    predicted = np.array(found.classes)[list(fold.predicted)]
    assert_array_equal(model.predict(frame.iloc[test]), predicted)


def gaussian_rows(kind):
    """120 rows of two classes: which covariance decides best is known by construction."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    if kind == "few features":
        return rng.standard_normal((120, 6)) @ rng.standard_normal((6, 6)) + y[:, None], y
    if kind == "different spreads":
        return rng.standard_normal((120, 4)) * (1 + 3 * y[:, None]), y
    X = rng.standard_normal((120, 100 if kind == "many features" else 40))
    return X + 0.55 * np.outer(y, np.arange(X.shape[1]) < 20), y


@pytest.mark.filterwarnings("ignore:class 0 has too few rows")
@pytest.mark.parametrize(
    ("method", "kind", "parameter", "good"),
    [
        ("FisherDiscriminant", "few features", "shrinkage", lambda value: value in ("auto", None)),
        ("FisherDiscriminant", "many features", "shrinkage", lambda value: value is not None),
        ("QuadraticDiscriminant", "different spreads", "pooling", lambda value: value <= 0.25),
        ("QuadraticDiscriminant", "one covariance", "pooling", lambda value: value >= 0.75),
        ("QuadraticDiscriminant", "one covariance", "shrinkage", lambda value: value > 0),
    ],
)
def test_the_covariance_is_chosen_by_held_out_rows(method, kind, parameter, good):
    assert good(tuned(method, *gaussian_rows(kind)).chosen[parameter])
