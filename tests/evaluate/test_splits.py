"""Splits by groups, as given, in the order of time and with a test set; what is refused."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)
from sklearn.neighbors import KNeighborsClassifier

from separatrix.evaluate.comparison import compare, tuned
from separatrix.evaluate.methods import Contender, with_steps
from separatrix.evaluate.splits import InOrder, RandomShares, check_test_columns
from tests.evaluate.comparing import CHEAP, Spy, X, Y, numbered

GROUPS = np.array([f"p{i // 3}" for i in range(90)])


def groups_of(found, rows):
    return {found.groups[row] for row in rows}


def others(found, test):
    return np.setdiff1d(np.arange(found.n_samples), test)


# Groups ------------------------------------------------------------------------------------------


def test_copies_of_rows_flatter_a_split_by_rows_and_not_one_by_groups():
    """Labels by a coin: the truth is 50 %, and each row is there four times."""
    rng = np.random.default_rng(0)
    rows, y = np.repeat(rng.normal(size=(80, 10)), 4, axis=0), np.repeat(np.arange(80) % 2, 4)
    groups = np.repeat(np.arange(80), 4)
    found = compare(["3-NN"], rows, y, groups=groups, cv=RandomShares(10))
    honest = found["3-NN"].summary["accuracy"].mean
    # 24 groups a split, ten splits of the same 80: a standard error of about 0.06
    assert abs(honest - 0.5) < 0.18
    pretended = found.by_rows["3-NN"]["accuracy"].mean
    assert pretended > 0.8
    plain = compare(["3-NN"], rows, y, cv=RandomShares(10))
    assert plain["3-NN"].summary["accuracy"].mean > 0.8
    assert plain.by_rows == {}
    assert found.n_test == 24
    assert plain.n_test == 96


def test_no_choice_sees_a_test_group_and_no_fold_within_shares_one():
    y, groups = np.arange(60) % 2, np.arange(60) // 4
    Spy.seen.clear()
    spies = Contender("spy", Spy(), grid={"a": (0, 1)})
    found = compare(
        with_steps([spies], prepare=Spy(a="scaler")), numbered(), y, groups=groups, **CHEAP
    )
    by_groups, rest = Spy.seen[: 2 * 8], Spy.seen[2 * 8 :]
    for split, test in enumerate(found.tests):
        train = set(others(found, test).tolist())
        assert not groups_of(found, train) & groups_of(found, test)
        # a scaler, two settings in three folds, and the fit itself
        fits = [set(rows) for _, rows in by_groups[8 * split : 8 * split + 8]]
        assert fits[0] == fits[-1] == train
        for rows in fits[1:-1]:
            assert rows < train
            assert not groups_of(found, rows) & groups_of(found, train - rows)
    assert len(rest) == 2 * 8  # the control by rows, whose inner folds know no groups


def test_choices_that_estimators_make_themselves_keep_groups_together(monkeypatch):
    seen = []
    split = StratifiedGroupKFold.split

    def watch(self, X, y, groups):
        parts = list(split(self, X, y, groups))
        for fit, held in parts:
            assert not set(groups[fit]) & set(groups[held])
        seen.append(len(y))
        return parts

    monkeypatch.setattr(StratifiedGroupKFold, "split", watch)
    monkeypatch.setattr(StratifiedKFold, "split", never)
    found = compare(["LDG"], X, Y, groups=GROUPS, cv=RandomShares(1))
    n_train = 90 - len(found.tests[0])
    assert n_train in seen  # LDG's own choice of γ and neighbours
    assert len(seen) > 3  # and those in each fold that judges the number of directions


def test_every_class_trains_and_tests_and_shares_are_near_those_asked_for():
    rng = np.random.default_rng(3)
    y, groups = rng.integers(3, size=300), rng.integers(40, size=300)
    found = compare(["3-NN"], rng.normal(size=(300, 2)), y, groups=groups,
                    cv=RandomShares(20))  # fmt: skip
    for test in found.tests:
        assert not groups_of(found, test) & groups_of(found, others(found, test))
        assert 0.2 < len(test) / 300 < 0.4
        assert set(y[list(test)]) == set(y[others(found, test)]) == {0, 1, 2}
    assert found.n_test == min(len(groups_of(found, test)) for test in found.tests)
    assert found.settings["unit"] == "groups"


def test_a_search_of_scikit_learn_gets_the_groups_of_its_rows():
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 3]}, cv=GroupKFold(3))
    found = compare([("search", search)], X, Y, groups=GROUPS, **CHEAP)
    assert (found["search"].status, found["search"].reason) == ("done", "")


def test_a_model_is_tuned_by_groups_as_the_fold_was():
    rng = np.random.default_rng(1)
    noisy = X + 2 * rng.normal(size=X.shape)
    found = compare(["LDG"], noisy, Y, groups=GROUPS, cv=RandomShares(1))
    train = others(found, found.tests[0])
    model, chosen = tuned("LDG", noisy[train], Y[train], groups=GROUPS[train])
    fold = found["LDG"].folds[0]
    assert chosen == fold.chosen
    assert_array_equal(model.predict(noisy[list(found.tests[0])]), fold.predicted)


# Splits that are given ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "splitter", [KFold(3), RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)]
)
def test_a_splitter_of_scikit_learn_is_followed(splitter):
    found = compare(["LDA"], X, Y, cv=splitter)
    expected = [test.tolist() for _, test in splitter.split(X, Y)]
    assert [list(test) for test in found.tests] == expected
    assert found.settings["n_splits"] == len(expected)
    assert found.trains == ()


def test_folds_and_parts_may_be_named_for_each_row():
    numbers = np.arange(90) % 3
    by_number = compare(["LDA"], X, Y, cv=numbers)
    assert [list(t) for t in by_number.tests] == [np.flatnonzero(numbers == i).tolist()
                                                  for i in range(3)]  # fmt: skip
    words = np.where(np.arange(90) < 60, "train", "Test ")
    by_word = compare(["LDA"], X, Y, cv=words)
    assert [list(t) for t in by_word.tests] == [list(range(60, 90))]
    assert by_word.test_share == pytest.approx(1 / 3)


def test_a_number_is_that_of_stratified_folds():
    found = compare(["LDA"], X, Y, cv=5)
    assert sorted(sum(found.tests, ())) == list(range(90))
    assert (found.settings["splitting"], found.settings["folds"]) == ("k-fold", 5)
    assert found.test_share == pytest.approx(0.2)
    grouped = compare(["LDA"], X, Y, cv=5, groups=GROUPS)
    for test in grouped.tests:
        assert not groups_of(grouped, test) & groups_of(grouped, others(grouped, test))


def test_rows_that_neither_train_nor_test_are_left_out():
    found = compare(["LDA"], X, Y, cv=TimeSeriesSplit(2))
    assert [len(train) for train in found.trains] == [30, 60]
    assert found["LDA"].folds[0].n_rows == 30
    assert found.test_share == pytest.approx((30 / 60 + 30 / 90) / 2)


def test_the_future_is_never_trained_on_also_not_in_choices():
    y = np.random.default_rng(0).integers(2, size=60)
    when = np.random.default_rng(1).permutation(60) // 2  # pairs of the same time
    rows = np.column_stack([np.arange(60), when])
    Spy.seen.clear()
    spies = Contender("spy", Spy(), grid={"a": (0, 1)})
    found = compare(with_steps([spies], prepare=None), rows, y, cv=InOrder(when, 3))
    assert len(found.tests) == 3
    for train, test in zip(found.trains, found.tests, strict=True):
        assert when[list(train)].max() < when[list(test)].min()
    assert sorted(sum(found.tests, ())) == np.flatnonzero(when >= 15).tolist()
    trains = [set(train) for train in found.trains]
    for _, seen in Spy.seen:
        train = min((t for t in trains if set(seen) <= t), key=len)
        held = train - set(seen)
        assert not held or when[list(seen)].max() < when[list(held)].min()


def test_a_test_set_is_predicted_once_by_all_other_rows():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    new = frame.iloc[60:][list("fedcba")]  # columns in another order
    found = compare(["LDA", "3-NN"], frame.iloc[:60], Y[:60], test=(new, Y[60:]))
    plain = compare(["LDA", "3-NN"], X, Y, cv=np.repeat(["train", "test"], [60, 30]))  # fmt: skip
    assert found.tests == (tuple(range(60, 90)),)
    assert found["LDA"].folds[0].predicted == plain["LDA"].folds[0].predicted
    assert found.settings["splitting"] == "test file"


# What is refused ---------------------------------------------------------------------------------


def never(*_, **__):
    raise AssertionError("work has begun")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"groups": np.where(Y == 1, 1, np.arange(90))}, "the class 1 are of one group, 1"),
        ({"groups": np.zeros(90)}, "only one group"),
        ({"groups": np.arange(89)}, "groups has 89 entries, but X has 90 rows"),
        ({"groups": [None, *range(89)]}, "groups has no value for 1 of 90 rows"),
        ({"cv": np.repeat("train", 90)}, "no row 'test': the test part is empty"),
        ({"cv": np.repeat("test", 90)}, "no row 'train': the training part is empty"),
        ({"cv": np.repeat(["train", "test", "val"], 30)}, "'val' besides 'train' and 'test'"),
        ({"cv": np.repeat(["a", "b", "c"], 30)}, "cv has the value 'a'"),
        ({"cv": np.zeros(90, dtype=int)}, "one fold only"),
        ({"cv": np.arange(3)}, "cv has 3 entries, but X has 90 rows"),
        ({"cv": 1}, "cv=1 must be a number of folds from 2"),
        ({"cv": KFold}, r"is a class: give a splitter, KFold\(\)"),
        ({"cv": KFold(4), "groups": GROUPS.repeat(2)[:90]}, "groups on both sides"),
        ({"cv": [(np.arange(9), np.arange(5, 20))]}, "rows that both train and test"),
        ({"cv": 5, "test": (X, Y)}, "cv and test both say"),
        ({"cv": InOrder(np.sort(Y)[np.argsort(np.argsort(Y))])}, "are of one class"),
        ({"cv": InOrder(np.arange(80))}, "times has 80 entries, but X has 90 rows"),
        ({"test": (X[:, :5], Y)}, "test has 5 features, but X has 6"),
        ({"test": (X, Y + 1)}, "labels that no training row has"),
        ({"test": (X[:0], Y[:0])}, "test has 0 rows"),
        ({"test": X}, r"test must be a pair \(X, y\)"),
        ({"costs": [[0, 1], [1, 0]]}, "costs is 2 × 2, but there are 3 classes"),
        ({"costs": -np.ones((3, 3))}, "costs must be numbers of at least 0"),
        ({"score": "cost"}, "score='cost' needs costs"),
        ({"score": "speed"}, "score='speed' is not valid"),
        ({"score": "sensitivity"}, "is for two classes, but y has 3"),
        ({"rivals": "some"}, "rivals='some' is not valid"),
    ],
)
def test_input_that_cannot_be_used_is_refused_before_any_work(how, words, monkeypatch):
    monkeypatch.setattr("separatrix.evaluate.runner.run_jobs", never)
    with pytest.raises(ValueError, match=words):
        compare(["LDA"], X, Y, **how)


@pytest.mark.parametrize(
    ("times", "words"),
    [
        (np.ones(90), "there is no past"),
        (np.repeat(["late", "soon"], 45), "text such as 'late', and not all of it is"),
        (np.repeat(["1/12/2025", "3/2/2026"], 45), "in the form 2026-01-31"),
    ],
)
def test_times_without_an_order_are_refused(times, words):
    with pytest.raises(ValueError, match=words):
        InOrder(times)


def test_a_class_that_a_given_split_would_not_fit_to_gets_a_row_back():
    y = np.where(np.arange(90) < 2, 3, Y)
    found = compare(["LDA"], X, y, cv=KFold(3))
    assert 0 not in found.tests[0]
    assert {3} <= set(y[others(found, found.tests[0])])


def test_a_test_set_with_other_columns_is_refused_by_name():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    with pytest.raises(ValueError, match="lacks 'f' and has 'g'"):
        compare(["LDA"], frame, Y, test=(frame.rename(columns={"f": "g"}), Y))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["a"], "1 are missing, 0 are new): it lacks 'b'. Give"),
        (["a", "b", "c"], "0 are missing, 1 are new): it has 'c'. Give"),
        (["a", "c"], "1 are missing, 1 are new): it lacks 'b' and has 'c'. Give"),
    ],
)
def test_a_test_set_with_other_columns_is_told_which(columns, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        check_test_columns(["a", "b"], columns, "--test new.csv")
