"""Numbers of folds, rows that judge, numbers of neighbours."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import LocalQDA
from separatrix.ldg.choices import (
    THESIS_LOCAL_QDA,
    author_neighbours,
    count_folds,
    judging_parts,
    thesis_neighbours,
    trust_source,
    vote_scores,
)
from separatrix.selection import neighbour_scores, training_parts
from tests.discovery import TALL, labelled


def test_few_rows_have_many_folds_and_many_rows_few():
    assert [count_folds(n) for n in (10, 200, 400, 700, 10**6)] == [10, 10, 5, 3, 3]


def test_of_many_rows_held_out_some_of_each_class_judge(monkeypatch):
    y = np.repeat([0, 1], [300, 60])
    everything = training_parts(y, 3, 0)
    assert_array_equal(judging_parts(y, 3, 0)[1][1], everything[1][1])
    monkeypatch.setattr("separatrix.ldg.choices.MAX_HELD_ROWS", 60)
    for (train, held), (fit, whole) in zip(judging_parts(y, 3, 0), everything, strict=True):
        assert_array_equal(train, fit)
        assert np.isin(held, whole).all()
        assert_array_equal(np.bincount(y[held]), [50, 10])


def test_the_votes_of_several_numbers_of_neighbours_are_averaged():
    X, y = labelled(90, 6)
    X = X + 2 * np.random.default_rng(0).standard_normal(X.shape)
    args = X[:60], y[:60], X[60:], y[60:], np.array([1, 2, 6])
    alone = [neighbour_scores(*args, n_neighbors=k) for k in (1, 3, 5)]
    assert_allclose(vote_scores(*args), np.mean(alone, axis=0))


def test_the_neighbours_of_the_thesis_are_the_best_of_local_qda_in_five_folds():
    X, y = TALL
    X = X + 2 * np.random.default_rng(0).standard_normal(X.shape)
    right = {}
    for k in (1, 2, 4, 8, 16, 32):
        rules = [
            LocalQDA(k, **THESIS_LOCAL_QDA).fit(X[fit], y[fit]).score(X[held], y[held]) * len(held)
            for fit, held in training_parts(y, 5)
        ]
        right[k] = round(sum(rules))
    assert thesis_neighbours(X, y, 0) == max(right, key=right.get)


def test_the_neighbours_of_the_author_are_the_largest_of_the_best():
    X, y = labelled(80, 4)
    apart = X + 1000 * y[:, None]  # every number of neighbours is perfect
    assert author_neighbours(apart, y) == 64
    assert author_neighbours(np.eye(3), np.arange(3)) == 1


def test_few_target_rows_trust_the_source_unless_they_say_otherwise():
    settings = [{"alpha": a, "gamma": g} for a in (0.1, 0.0, 1.0) for g in (0.9, 0.5)]
    rng = np.random.default_rng(0)
    noise = 0.3 * rng.standard_normal((10, 1))
    # α = 0 is better by a tenth of the spread over folds: not enough
    level = np.array([0.5, 0.5, 0.53, 0.53, 0.5, 0.51])
    assert trust_source(settings, level + noise) == {"alpha": 1.0, "gamma": 0.5}
    # better by more than a standard error
    level = np.array([0.5, 0.5, 0.7, 0.72, 0.5, 0.51])
    assert trust_source(settings, level + noise) == {"alpha": 0.0, "gamma": 0.5}
    # one lucky setting of many does not decide on α
    level = np.array([0.7, 0.2, 0.5, 0.5, 0.5, 0.5])
    assert trust_source(settings, level + 0 * noise)["alpha"] == 1.0
    # one fold has no standard error
    assert trust_source(settings, level[None] + [[0, 0, 0.1, 0, 0, 0]])["alpha"] == 0.0
