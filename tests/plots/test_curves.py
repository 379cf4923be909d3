"""Curves of a comparison and of a classifier."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from sklearn.calibration import calibration_curve
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

from separatrix import FisherDiscriminant, datasets
from separatrix.evaluate.comparison import compare
from separatrix.evaluate.curves import mean_roc
from separatrix.evaluate.splits import RandomShares
from separatrix.plots import plot_calibration, plot_roc

CANCER = datasets.load("breast_cancer")
TRAIN, TEST = slice(0, 569, 2), slice(1, 569, 2)
MODEL = FisherDiscriminant(shrinkage=None).fit(CANCER.data[TRAIN], CANCER.target[TRAIN])
NEW = CANCER.data[TEST], CANCER.target[TEST]


def area_of(ax):
    return float(ax.get_legend().get_texts()[0].get_text().split("area ")[1].rstrip(")"))


def test_the_area_of_a_classifier_is_that_of_scikit_learn():
    figure = Figure()
    ax = figure.subplots()
    assert plot_roc(MODEL, *NEW, ax=ax) is ax
    second = NEW[1] == MODEL.classes_[1]
    expected = roc_auc_score(second, MODEL.decision_function(NEW[0]))
    assert area_of(ax) == pytest.approx(expected, abs=0.005)  # a grid of 40 steps
    line = ax.lines[1]
    assert (line.get_xdata()[0], line.get_ydata()[0]) == (0, 0)


def test_points_of_calibration_are_those_of_scikit_learn():
    ax = plot_calibration(MODEL, *NEW)
    probabilities = MODEL.predict_proba(NEW[0])
    right = MODEL.classes_[probabilities.argmax(axis=1)] == NEW[1]
    shares, means = calibration_curve(right, probabilities.max(axis=1), n_bins=10)
    assert_allclose(ax.lines[1].get_ydata(), shares, atol=1e-6)
    assert_allclose(ax.lines[1].get_xdata(), means, atol=1e-6)
    (points,) = ax.collections
    assert len(points.get_offsets()) == len(shares)


def test_methods_of_a_comparison_have_a_line_each():
    found = compare(["LDA", "raw", LinearSVC()], CANCER.data[:150], CANCER.target[:150],
                    cv=RandomShares(2))  # fmt: skip
    ax = plot_roc(found)
    texts = [text.get_text().split(" (")[0] for text in ax.get_legend().get_texts()]
    assert texts == ["LDA", "raw", "LinearSVC"]
    assert_allclose(ax.lines[1].get_ydata()[1:], mean_roc(found["LDA"]))
    texts = [text.get_text() for text in plot_calibration(found).get_legend().get_texts()]
    assert [text.split(" (")[0] for text in texts] == ["LDA", "raw"]
    assert len(plot_roc(found["raw"]).lines) == 2
    with pytest.raises(ValueError, match="no method gives probabilities"):
        plot_calibration(found["LinearSVC"])


def test_a_classifier_needs_rows_and_degrees():
    for plot in (plot_roc, plot_calibration):
        with pytest.raises(ValueError, match="FisherDiscriminant is judged by rows"):
            plot(MODEL)
        with pytest.raises(ValueError, match="nothing to draw"):
            plot(object(), np.zeros((3, 2)), np.zeros(3))
