"""Scores beside those of scikit-learn, and the one that ranks and tunes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from separatrix.evaluate.comparison import compare
from separatrix.evaluate.methods import Contender, with_steps
from separatrix.evaluate.scores import (
    Degrees,
    Judge,
    check_costs,
    choose_score,
    find_degrees,
    score_rows,
)
from tests.evaluate.comparing import CHEAP, X2, Y2, X, Y, parts


@pytest.mark.parametrize(("rows", "y"), [(X, Y), (X2, Y2)], ids=["three", "two"])
def test_scores_are_those_of_scikit_learn(rows, y):
    noisy = rows + 2 * np.random.default_rng(0).normal(size=rows.shape)
    costs = np.arange(len(np.unique(y)) ** 2).reshape(len(np.unique(y)), -1)
    found = compare([LogisticRegression()], noisy, y, costs=costs, **CHEAP)
    train, test = parts(y)
    scaler = StandardScaler().fit(noisy[train])
    model = LogisticRegression().fit(scaler.transform(noisy[train]), y[train])
    P, predicted = (f(scaler.transform(noisy[test])) for f in (model.predict_proba, model.predict))
    truth, scores = y[test], found.methods[0].folds[0].scores
    area = metrics.roc_auc_score(truth, P[:, 1] if P.shape[1] == 2 else P, multi_class="ovr")
    assert scores["auc"] == pytest.approx(area)
    assert scores["log_loss"] == pytest.approx(metrics.log_loss(truth, P))
    assert scores["brier"] == pytest.approx(
        metrics.brier_score_loss(truth, P[:, 1] if P.shape[1] == 2 else P)
    )
    macro = {"average": "macro"}
    assert scores["precision"] == pytest.approx(metrics.precision_score(truth, predicted, **macro))
    assert scores["recall"] == pytest.approx(metrics.recall_score(truth, predicted, **macro))
    weighted = metrics.f1_score(truth, predicted, average="weighted")
    assert scores["weighted_f"] == pytest.approx(weighted)
    assert scores["cost"] == pytest.approx(costs[truth, predicted].mean())
    assert found.score == "cost"


def test_a_rule_that_never_saw_a_class_gives_it_no_probability():
    model = LinearDiscriminantAnalysis().fit(X[Y != 1], Y[Y != 1])
    about = find_degrees(model, X[:5], 3)
    assert about.probabilities[:, 1].tolist() == [0] * 5
    assert about.degrees is None
    scores = score_rows(np.array([1, 0, 2, 0, 0]), model.predict(X[:5]), 3, about=about)
    assert scores["log_loss"] > 36 / 5  # one row counts -log ε


def test_one_against_one_has_no_degree_for_each_class():
    model = SVC(decision_function_shape="ovo").fit(*_four())
    assert find_degrees(model, _four()[0], 4) == Degrees()
    assert find_degrees(SVC().fit(*_four()), _four()[0], 4).degrees.shape == (40, 4)


def _four():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), np.arange(40) % 4


class Trade(ClassifierMixin, BaseEstimator):
    """Predicts class 1 for a share of rows, whatever they are."""

    def __init__(self, share=0.0):
        self.share = share

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X[:, 0] < self.share).astype(int)


@pytest.mark.parametrize(
    ("score", "share"), [("accuracy", 0.0), ("balanced_accuracy", 0.5), ("recall", 0.5)]
)
def test_settings_are_chosen_by_the_score_that_ranks(score, share):
    rng = np.random.default_rng(0)
    y = (np.arange(300) % 10 == 0).astype(int)
    rows = np.where(y == 1, 0.4, rng.uniform(size=300))[:, None]
    trade = Contender("trade", Trade(), grid={"share": (0.0, 0.5, 1.0)})
    found = compare(with_steps([trade], prepare=None), rows, y, score=score, **CHEAP)
    assert {fold.chosen["share"] for fold in found.methods[0].folds} == {share}


def test_dear_mistakes_are_avoided_where_costs_are_given():
    rng = np.random.default_rng(0)
    y = (np.arange(300) % 10 == 0).astype(int)
    rows = np.where(y == 1, 0.4, rng.uniform(size=300))[:, None]
    trade = Contender("trade", Trade(), grid={"share": (0.0, 0.5, 1.0)})
    cheap, dear = ([[0, 1], [cost, 0]] for cost in (1, 100))
    for costs, share in ((cheap, 0.0), (dear, 0.5)):
        found = compare(with_steps([trade], prepare=None), rows, y, costs=costs, **CHEAP)
        assert {fold.chosen["share"] for fold in found.methods[0].folds} == {share}


@pytest.mark.parametrize("score", ["log_loss", "auc", "balanced_accuracy", "brier"])
def test_the_number_of_directions_is_chosen_by_any_score(score):
    noisy = X + np.random.default_rng(2).normal(scale=2, size=X.shape)
    found = compare(["LocalFisherDiscriminant", "PCA"], noisy, Y, score=score, **CHEAP)
    assert {method.status for method in found.methods} == {"done"}
    assert all(f.inner is not None and np.isfinite(f.inner) for m in found.methods
               for f in m.folds)  # fmt: skip
    lower = score in ("log_loss", "brier")
    assert all((f.inner < 0) == lower for m in found.methods for f in m.folds)
    means = {m.name: m.summary[score].mean for m in found.methods}
    assert found.best == (min if lower else max)(means, key=means.get)


def test_very_unequal_classes_are_judged_in_balance():
    assert choose_score(None, np.repeat([0, 1], [79, 21]), None) == "accuracy"
    assert choose_score(None, np.repeat([0, 1], [81, 19]), None) == "balanced_accuracy"
    assert choose_score(None, np.repeat([0, 1, 2], [80, 15, 20]), None) == "balanced_accuracy"
    assert choose_score("accuracy", np.repeat([0, 1], [99, 1]), None) == "accuracy"
    y = (np.arange(100) % 10 == 0).astype(int)
    found = compare(["LDA"], np.random.default_rng(0).normal(size=(100, 2)), y, **CHEAP)
    assert found.score == found.settings["score"] == "balanced_accuracy"


def test_costs_of_a_table_are_sorted_by_its_names():
    table = pd.DataFrame([[0, 1], [2, 0]], index=["b", "a"], columns=["b", "a"])
    assert check_costs(table, ["a", "b"]) == ((0.0, 2.0), (1.0, 0.0))
    with pytest.raises(ValueError, match="costs has no row for the class 'a'"):
        check_costs(table.rename(index={"a": "c"}), ["a", "b"])
    assert Judge("cost", ((0, 1), (5, 0))).value(np.array([1]), np.array([0]), 2) == -5
