"""Rules on top of a subspace, and scores."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.preprocessing import StandardScaler

from separatrix import FisherDiscriminant
from separatrix.evaluate.classify import rule_of
from separatrix.evaluate.comparison import compare
from separatrix.evaluate.methods import contenders, with_steps
from separatrix.evaluate.scores import score_predictions
from separatrix.evaluate.splits import RandomShares
from tests.evaluate.comparing import CHEAP, X2, Y2, X, Y, by_hand, parts


def test_two_classes_have_sensitivity_specificity_and_the_area_under_the_curve():
    rng = np.random.default_rng(0)
    noisy = X2 + 3 * rng.standard_normal(X2.shape)
    (method,) = compare(
        [FisherDiscriminant(shrinkage=None)], noisy, Y2, cv=RandomShares(1)
    ).methods
    train, test = parts(Y2)
    scaler = StandardScaler().fit(noisy[train])
    model = FisherDiscriminant(shrinkage=None).fit(scaler.transform(noisy[train]), Y2[train])
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
    found = compare(with_steps(methods, then=decision), noisy, Y, **CHEAP)
    for name, estimator in methods:
        assert found[name].decision == decision
        for fold in found[name].folds:
            assert_array_equal(fold.predicted, by_hand(estimator, noisy, Y, rule, fold.split))


def test_a_method_decides_itself_where_it_can_and_must():
    methods = ["FisherDiscriminant", "LocalFisherDiscriminant", "DDAGClassifier", "raw"]
    own = compare(methods, X, Y, **CHEAP)
    assert [m.decision for m in own.methods] == ["own", "3nn", "own", "3nn"]
    other = compare(with_steps(methods, then="centroid"), X, Y, **CHEAP)
    assert [m.decision for m in other.methods] == ["centroid", "centroid", "own", "centroid"]


def test_classes_without_test_rows_do_not_count():
    y = np.r_[Y[:-1], 3]
    (method,) = compare([FisherDiscriminant(shrinkage=None)], X, y, **CHEAP).methods
    assert method.status == "done"
    for fold in method.folds:
        truth = y[parts(y, fold.split)[1]]
        right = np.array(fold.predicted) == truth
        shares = [right[truth == c].mean() for c in range(3)]
        assert fold.scores["balanced_accuracy"] == pytest.approx(np.mean(shares))


def test_a_class_that_is_predicted_but_not_tested_has_no_f_of_its_own():
    scores = score_predictions(np.array([0, 0, 1, 1]), np.array([0, 2, 1, 1]))
    assert scores["macro_f"] == pytest.approx((2 / 3 + 1) / 2)
    assert scores["balanced_accuracy"] == pytest.approx(0.75)


def test_a_subspace_without_directions_fails_with_that_reason():
    rows, y = np.ones((40, 2)), np.arange(40) % 2
    (method,) = compare(
        with_steps([FisherDiscriminant(shrinkage=None)], then="3nn"), rows, y, cv=RandomShares(1)
    ).methods
    assert "no direction was found" in method.reason


def test_methods_that_share_hyperplanes_are_judged_in_their_subspaces():
    for name in ("MarginMaximizingDiscriminant", "SupportVectorICA", "SupportVectorProjection"):
        contender = contenders([name])[0]
        assert hasattr(contender.estimator, "predict")
        assert contender.kind == "subspace"
        assert rule_of(contender).name == "3nn"
    assert rule_of(contenders(["FisherDiscriminant"])[0]) is None
