"""The choice of the method itself, splits by rows, shuffled labels, and a classifier on top."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from separatrix import FisherDiscriminant
from separatrix.evaluate.comparison import compare, tuned
from separatrix.evaluate.controls import shuffle_labels
from separatrix.evaluate.methods import Contender, with_steps
from separatrix.evaluate.splits import RandomShares
from tests.evaluate.comparing import CHEAP, X, Y, parts
from tests.evaluate.test_fold import RandomDirection


def test_the_best_of_many_is_flattered_and_the_inner_winner_is_not():
    """Labels by a coin and 30 methods: the truth is 50 % for each of them."""
    rng = np.random.default_rng(0)
    rows, y = rng.normal(size=(80, 30)), np.arange(80) % 2
    methods = [Contender(f"m{i}", RandomDirection(i)) for i in range(30)]
    found = compare(methods, rows, y, cv=RandomShares(5))
    best = found[found.best].summary["accuracy"].mean
    honest = found.winner.summary["accuracy"].mean
    assert best > 0.56
    # 24 rows a split, five splits of the same 80: a standard error of about 0.07
    assert abs(honest - 0.5) < 0.2
    assert honest < best - 0.03


def test_the_winner_of_a_split_is_the_best_of_its_inner_folds():
    noisy = X + 2 * np.random.default_rng(2).normal(size=X.shape)
    found = compare(["LDA", "3-NN", "PCA"], noisy, Y, cv=RandomShares(4))
    assert found.winner.splits == (0, 1, 2, 3)
    for split, name, scores in zip(found.winner.splits, found.winner.methods, found.winner.scores,
                                   strict=True):  # fmt: skip
        inner = {m.name: m.folds[split].inner for m in found.methods}
        assert inner[name] == max(inner.values())
        assert scores == found[name].folds[split].scores
    assert compare(["LDA"], X, Y, **CHEAP).winner is None


def test_shuffled_labels_tell_what_chance_gives():
    real = compare(["LDA", "3-NN"], X, Y, cv=RandomShares(4), progress=False).permutation_test(19)
    assert (real.method, real.score, real.splits) == ("LDA", "accuracy", (0, 1, 2))
    assert len(real.permuted) == 19
    assert real.p_value == pytest.approx(1 / 20)
    assert abs(np.mean(real.permuted) - 1 / 3) < 0.1  # 57 means of 28 rows, of the same 90
    coin = np.random.default_rng(3).permutation(Y)
    chance = compare(["LDA"], X, coin, cv=RandomShares(3), progress=False).permutation_test(19)
    assert chance.p_value > 0.1
    loss = compare(["LDA"], X, Y, cv=RandomShares(3), score="log_loss")
    assert loss.permutation_test(9).p_value == pytest.approx(1 / 10)


def test_groups_of_one_label_exchange_it_and_others_mix_within():
    groups, codes = np.repeat(np.arange(20), 3), np.repeat(np.arange(20) % 2, 3)
    mixed = shuffle_labels(codes, groups, (0, 1))
    assert all(len(set(mixed[groups == g])) == 1 for g in range(20))
    assert mixed.sum() == codes.sum()
    assert (mixed != codes).any()
    within = np.arange(60) % 3
    mixed = shuffle_labels(within, groups, (0, 1))
    assert all(set(mixed[groups == g]) == {0, 1, 2} for g in range(20))
    assert (mixed != within).any()
    codes[4] = 1 - codes[4]  # one group of two labels among those of one
    mixed = shuffle_labels(codes, groups, (0, 1))
    assert sum(len(set(mixed[groups == g])) == 2 for g in range(20)) == 1
    assert np.mean(mixed == codes) < 0.8


# A classifier on top of every subspace -----------------------------------------------------------


def test_any_classifier_may_decide_in_every_subspace():
    noisy = X + np.random.default_rng(1).normal(scale=2, size=X.shape)
    rule = KNeighborsClassifier(9)
    fisher = ("fisher", FisherDiscriminant(2))
    found = compare(with_steps([fisher, LogisticRegression()], then=rule), noisy, Y, **CHEAP)
    assert [m.decision for m in found.methods] == ["KNeighborsClassifier", "own"]
    for fold in found["fisher"].folds:
        train, test = parts(Y, fold.split)
        scaler = StandardScaler().fit(noisy[train])
        model = FisherDiscriminant(2).fit(scaler.transform(noisy[train]), Y[train])
        known, new = (model.transform(scaler.transform(noisy[rows])) for rows in (train, test))
        expected = KNeighborsClassifier(9).fit(known, Y[train]).predict(new)
        assert_array_equal(fold.predicted, expected)


def test_a_named_classifier_on_top_is_tuned_in_the_fold():
    noisy = X + np.random.default_rng(1).normal(scale=2, size=X.shape)
    methods = with_steps(["PCA", "LocalFisherDiscriminant"], then="LogisticRegression")
    found = compare(methods, noisy, Y, cv=RandomShares(1))
    train, test = parts(Y)
    for method in methods:
        fold = found[method.name].folds[0]
        assert fold.chosen["then__C"] in (1.0, 0.1, 0.01, 10.0)
        model, chosen = tuned(method, noisy[train], Y[train])
        assert chosen == fold.chosen
        assert_array_equal(model.predict(noisy[test]), fold.predicted)
