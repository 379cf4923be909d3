"""Judges of two classes, and rankings by all of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from separatrix.decision.pairs import MOST_LOG_ODDS, judge_pair, rank_by_walks, side_with

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 3))
y = np.where(X[:, 0] + 0.3 * rng.normal(size=80) > 0, "oak", "ash")


class Sure(ClassifierMixin, BaseEstimator):
    """Says one label for all rows, and has log-odds of its own opinion."""

    def __init__(self, says="oak", odds=np.inf):
        self.says = says
        self.odds = odds

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.says)

    def predict_log_proba(self, X):
        return np.column_stack([np.full(len(X), -self.odds), np.zeros(len(X))])


@pytest.mark.parametrize("second", ["oak", "ash"])
def test_log_odds_point_to_the_second_class_whichever_it_is(second):
    model = LogisticRegression().fit(X, y)
    sign = 1 if second == "oak" else -1
    assert_allclose(judge_pair(model, X, second), sign * model.decision_function(X), rtol=1e-9)


def test_without_probabilities_scores_say_how_firmly():
    model = SVC().fit(X, y)
    assert_allclose(judge_pair(model, X, "oak"), model.decision_function(X))
    assert_allclose(judge_pair(model, X, "ash"), -model.decision_function(X))


def test_predict_decides_and_no_score_is_infinite_or_zero():
    for says in ("oak", "ash"):
        for odds in (np.inf, -np.inf, np.nan, 0.0):
            found = judge_pair(Sure(says, odds).fit(X, y), X, "oak")
            assert np.isfinite(found).all()
            assert (np.abs(found) <= MOST_LOG_ODDS).all()
            assert_array_equal(found > 0, np.full(80, says == "oak"))
            assert (found != 0).all()


def test_what_has_neither_is_as_sure_of_every_row():
    class Plain(Sure):
        predict_log_proba = property()

    assert_array_equal(judge_pair(Plain().fit(X, y), X, "oak"), np.ones(80))
    assert_array_equal(judge_pair(Plain().fit(X, y), X, "ash"), -np.ones(80))


def test_log_odds_take_the_side_of_the_verdict():
    found = side_with(np.array([2.0, -2.0, 2.0]), np.array([3.0, -4.0, -5.0]))
    assert_array_equal(found[:2], [3, -4])
    assert 0 < found[2] < 1e-6


def walk(beats, classes):
    """The class that a graph of these classes finds, a match at a time."""
    left = list(classes)
    while len(left) > 1:
        left.remove(left[-1] if beats[left[0], left[-1]] else left[0])
    return left[0]


def test_each_place_is_that_of_the_graph_without_those_before():
    above = np.triu(np.random.default_rng(1).random((200, 5, 5)) < 0.5, 1)
    beats = above | np.tril(~above.transpose(0, 2, 1), -1)
    for found, matches in zip(rank_by_walks(beats), beats, strict=True):
        left, expected = list(range(5)), []
        while left:
            expected.append(walk(matches, left))
            left.remove(expected[-1])
        assert_array_equal(found, expected)


def test_matches_that_follow_an_order_give_that_order():
    strength = np.random.default_rng(2).random((100, 6))
    beats = strength[:, :, None] > strength[:, None, :]
    assert_array_equal(rank_by_walks(beats), np.argsort(-strength, axis=1))
