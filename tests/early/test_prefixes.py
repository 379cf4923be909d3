"""Classifiers of the values so far."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC

from separatrix import EarlyClassifier
from separatrix.early import PrefixJudge, Promise
from separatrix.early.prefixes import confide
from tests.early.data import NEW, TWO, X, y


def uncalibrated(estimator, n_checkpoints=20):
    return EarlyClassifier(
        estimator, judge=PrefixJudge(n_checkpoints), calibration=Promise(share=None)
    )


def scores_of(model, rows):
    """Scores of rows at each of the times of the model."""
    score = model._score
    return np.column_stack([
        model.decide(np.where(np.arange(rows.shape[1]) < t, rows, np.nan)).score
        for t in score.times
    ])  # fmt: skip


def test_without_calibration_nothing_is_stated_and_the_remedy_is_named():
    with pytest.raises(ValueError, match=r"give calibration=0\.3, or early\.Promise"):
        EarlyClassifier(LogisticRegression(), judge="prefix").fit(X, y)
    model = uncalibrated(LogisticRegression()).fit(X, y)
    assert "not calibrated: use calibrate" in model.no_promise_
    early = model.decide_early(NEW)
    assert (early.time == 7).all()
    assert np.isnan(model.decide(np.where(np.arange(7) < 4, NEW, np.nan)).reliability).all()
    model.calibrate(X)
    assert model.no_promise_ is None
    assert (model.decide_early(NEW).time < 7).any()


def test_each_checkpoint_has_the_classifier_of_its_values():
    model = uncalibrated(LogisticRegression(), 7).fit(X, y)
    path = scores_of(model, NEW)
    odds, label = np.zeros(len(NEW)), np.full(len(NEW), -1)
    for t in range(1, 7):
        rule = LogisticRegression().fit(X[:, :t], y)
        now, sure = rule.predict(NEW[:, :t]), rule.predict_proba(NEW[:, :t]).max(axis=1)
        odds = np.maximum(np.log(sure / (1 - sure)), 0) + np.where(now == label, odds / 2, 0)
        label = now
        assert_allclose(path[:, t - 1], odds / (1 + odds), rtol=1e-6)
    assert (np.diff(path[:, :6], axis=1) > 0.05).any()


def test_rules_that_separate_their_training_rows_keep_the_order_of_their_confidences():
    """Leads of 1e9 are no probabilities, but they are told from each other."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 400)) + np.outer(np.arange(60) % 2, np.full(400, 0.2))
    model = uncalibrated(LinearSVC(C=1e6)).fit(1e6 * rows, np.arange(60) % 2)
    for rule in model._score.classifiers:
        rule.coef_ *= 1e8
    path = scores_of(model, 1e6 * rng.standard_normal((40, 400)))
    assert len(np.unique(path[:, -1])) > 30
    assert (path < 1).all()


def test_times_that_are_not_asked_for_count_as_evidence():
    """Cutoffs of 1 at single times leave out their judgement, not what it adds later."""
    model = uncalibrated(LogisticRegression(), 7).fit(X, y)
    whole = model._score.follow(NEW)
    everyone = np.arange(len(NEW))
    for t in (1, 2, 3, 4):
        expected = whole.judge(t, everyone)
    some = np.arange(0, len(NEW), 3)
    skipping = model._score.follow(NEW)
    skipping.judge(2, everyone)
    found = skipping.judge(4, some)
    assert_array_equal(found[0], expected[0][some])
    assert_allclose(found[1], expected[1][some])


@pytest.mark.parametrize("rows", [TWO, np.ones(len(y), dtype=bool)], ids=["two", "three"])
def test_the_lead_of_the_first_over_the_second_score_is_a_confidence(rows):
    model = RidgeClassifier().fit(X[rows], y[rows])
    codes, odds = confide(model, NEW)
    assert_array_equal(model.classes_[codes], model.predict(NEW))
    scores = np.atleast_2d(model.decision_function(NEW).T).T
    lead = np.abs(2 * scores[:, 0]) if scores.shape[1] == 1 else np.diff(np.sort(scores))[:, -1]
    assert_allclose(odds, lead)


class NeedsThree(ClassifierMixin, BaseEstimator):
    """A classifier of series that needs three values."""

    def fit(self, X, y):
        if X.shape[1] < 3:
            raise ValueError("too short")
        self.inner_ = LogisticRegression().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)


def test_lengths_that_are_too_short_for_a_classifier_are_named():
    model = uncalibrated(NeedsThree(), 7)
    with pytest.warns(UserWarning, match=r"2 of 6 checkpoints are left out.*1 values: too short"):
        model.fit(X, y)
    assert (model.decide(NEW[:, :2]).score == 0).all()
    assert (model.decide_early(NEW, reliability=0).time == 3).all()


def test_gaps_are_filled_by_what_is_expected_there():
    model = uncalibrated(LogisticRegression()).fit(X, y)
    holes = np.where(np.isin(np.arange(7), [1, 6]), np.nan, NEW)
    model.calibrate(X)
    found = model.decide(holes)
    at = int(np.searchsorted(model._score.times, 6, "right")) - 1
    t = model._score.times[at]
    filled = model.expect(np.where(np.arange(7) < t, holes, np.nan)).mean[:, :t]
    assert_array_equal(found.label, model._score.classifiers[at].predict(filled))
    early = model.decide_early(holes, lengths=np.full(len(NEW), 6), reliability=0.8)
    stops = early.decided & (early.time == 6)
    assert_array_equal(early.label[stops], found.label[stops])
