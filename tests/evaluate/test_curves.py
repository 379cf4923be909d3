"""Curves of degrees and probabilities, kept in few numbers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.calibration import calibration_curve
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

from separatrix import FisherDiscriminant
from separatrix.evaluate.comparison import compare
from separatrix.evaluate.curves import (
    FALSE_SHARES,
    class_degrees,
    count_in_bins,
    mean_roc,
    measure_miscalibration,
    pool_calibration,
    trace_roc,
)
from separatrix.evaluate.splits import RandomShares
from tests.evaluate.comparing import CHEAP, X2, Y2, X, Y

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_area_below_the_curve_is_that_of_scikit_learn(n_classes):
    """But for the grid: 40 steps, each off by its width at most, and both ways."""
    truth = np.arange(2000) % n_classes
    degrees = RNG.normal(size=(2000, n_classes)) + 1.5 * np.eye(n_classes)[truth]
    curve = trace_roc(truth, degrees, np.arange(n_classes))
    one_by_one = [roc_auc_score(truth == c, degrees[:, c]) for c in range(n_classes)]
    assert np.trapezoid(curve, FALSE_SHARES) == pytest.approx(np.mean(one_by_one), abs=0.005)
    assert (np.diff(curve) >= 0).all()


def test_curves_of_perfect_and_of_missing_classes():
    truth = np.array([0, 0, 1, 1])
    degrees = np.column_stack([1 - truth, truth, RNG.normal(size=4)]).astype(float)
    assert trace_roc(truth, degrees, np.arange(3)) == (1.0,) * 41
    assert trace_roc(np.zeros(4), degrees, np.arange(3)) == ()
    assert trace_roc(truth, np.full((4, 3), np.nan), np.arange(3)) == ()


def test_bins_are_those_of_scikit_learn():
    sure = RNG.uniform(0.3, 1, 500)
    right = RNG.uniform(size=500) < sure
    n, mean, share = np.array(count_in_bins(sure, right)).T
    there = n > 0
    expected = calibration_curve(right, sure, n_bins=10)
    assert_allclose(share[there], expected[0], atol=1e-6)
    assert_allclose(mean[there], expected[1], atol=1e-6)
    assert n.sum() == 500


def test_probabilities_that_are_true_are_calibrated():
    sure = RNG.uniform(0.5, 1, 20_000)
    honest = np.array(count_in_bins(sure, RNG.uniform(size=20_000) < sure))[5:]
    boastful = np.array(count_in_bins(sure, RNG.uniform(size=20_000) < sure - 0.1))[5:]
    # 4000 rows in each bin: a standard error of 0.008
    assert measure_miscalibration(honest) < 0.015
    assert measure_miscalibration(boastful) == pytest.approx(0.1, abs=0.015)


def test_folds_have_curves_where_the_rule_has_degrees():
    found = compare(["LDA", "raw", LinearSVC()], X, Y, **CHEAP)
    for name in ("LDA", "raw"):
        for fold in found[name].folds:
            assert len(fold.curves.roc) == 41
            assert sum(n for n, _, _ in fold.curves.calibration) == len(fold.predicted)
    svc = found["LinearSVC"].folds[0].curves
    assert len(svc.roc) == 41
    assert svc.calibration == ()


def test_means_over_splits():
    (method,) = compare(["LDA"], X2, Y2, cv=RandomShares(3)).methods
    curves = [fold.curves for fold in method.folds]
    assert_allclose(mean_roc(method), np.mean([c.roc for c in curves], axis=0))
    area = np.trapezoid(mean_roc(method), FALSE_SHARES)
    assert area == pytest.approx(method.summary["auc"].mean, abs=0.03)
    pooled = pool_calibration(method)
    assert pooled[:, 0].sum() == sum(len(fold.predicted) for fold in method.folds)
    right = sum(fold.scores["accuracy"] * len(fold.predicted) for fold in method.folds)
    assert pooled[:, 0] @ pooled[:, 2] == pytest.approx(right, abs=1e-3)
    (without,) = compare([LinearSVC()], X2, Y2, **CHEAP).methods
    assert pool_calibration(without) is None


def test_rows_are_ordered_by_probabilities_where_scores_lack_a_common_term():
    model = FisherDiscriminant(shrinkage=None).fit(X, Y)
    assert_allclose(class_degrees(model, X), model.predict_proba(X))
    area = np.trapezoid(trace_roc(Y, class_degrees(model, X), model.classes_), FALSE_SHARES)
    expected = roc_auc_score(Y, model.predict_proba(X), multi_class="ovr")
    assert area == pytest.approx(expected, abs=0.02)


def test_degrees_of_two_classes_are_two_columns():
    model = LinearDiscriminantAnalysis().fit(X2, Y2)
    degrees = class_degrees(model, X2)
    assert_allclose(degrees[:, 0], -degrees[:, 1])
    assert class_degrees(object(), X2) is None
