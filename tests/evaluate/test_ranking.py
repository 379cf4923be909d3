"""Whether methods differ: tests against their formulas, and answers where there is none."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier

from separatrix.evaluate.comparison import compare
from separatrix.evaluate.ranking import (
    corrected_t_test,
    data_set_scores,
    holm,
    mean_interval,
    nemenyi_difference,
    rank_methods,
    split_scores,
    wilcoxon_test,
)
from separatrix.evaluate.records import to_plain
from separatrix.evaluate.splits import RandomShares
from separatrix.selection import random_splits
from tests.discovery import labelled

RNG = np.random.default_rng(0)


def signed_ranks(d):
    """Sum of the ranks of positive differences; zeros give half of theirs."""
    ranks = stats.rankdata(np.abs(d))
    return ranks[d > 0].sum() + ranks[d == 0].sum() / 2


def table(n, *shifts, noise=0.01, seed=0):
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.6, 0.9, n)
    return {f"m{i}": (base + s + noise * rng.standard_normal(n)) for i, s in enumerate(shifts)}


def test_the_t_test_is_the_formula_of_overlapping_splits():
    d = np.array([0.02, 0.01, 0.04, -0.01, 0.03])
    t, p = corrected_t_test(d, 0.25)
    by_hand = d.mean() / np.sqrt((1 / 5 + 25 / 75) * d.var(ddof=1))
    assert t == pytest.approx(by_hand)
    assert p == pytest.approx(2 * (1 - stats.t.cdf(by_hand, 4)))
    assert corrected_t_test(-d, 0.25) == (pytest.approx(-t), pytest.approx(p))
    mean, std, low, high = mean_interval(0.8 + d, 0.25)
    assert (mean, std) == (pytest.approx(0.8 + d.mean()), pytest.approx(d.std(ddof=1)))
    half = stats.t.ppf(0.975, 4) * d.mean() / by_hand
    assert (low, high) == (pytest.approx(mean - half), pytest.approx(mean + half))


def test_intervals_of_scores_end_at_nought_and_one():
    for values, end in [([0.0, 0.2, 0.1], 2), ([1.0, 0.8, 0.9], 3)]:
        found = mean_interval(values, 0.3)
        assert found[end] == end - 2
        assert 0 < found[5 - end] < 1
    assert mean_interval([0.7] * 4, 0.3) == pytest.approx((0.7, 0.0, 0.7, 0.7))


@pytest.mark.parametrize(("right", "n"), [(27, 30), (30, 30), (0, 30), (1, 1)])
@pytest.mark.parametrize("n_splits", [1, 10])
def test_a_share_without_spread_is_known_as_well_as_one_split_of_rows_can_tell(right, n, n_splits):
    """Clopper and Pearson's ends by quantiles of beta distributions, however many splits."""
    ends = stats.beta.ppf([0.025, 0.975], [right, right + 1], [n - right + 1, n - right])
    low, high = np.where([right == 0, right == n], [0.0, 1.0], ends)
    found = mean_interval([right / n] * n_splits, 0.3, n)
    assert found == pytest.approx((right / n, 0.0, low, high))


def test_a_plain_t_test_would_find_what_is_not_there():
    """Splits of the same rows: two hundred times two methods that are equally good."""
    found = np.zeros(2)
    for seed in range(200):
        rng = np.random.default_rng(seed)
        right = rng.random((100, 2)) < 0.8  # whether each method is right on each of 100 rows
        d = [np.diff(right[rng.permutation(100)[:30]].mean(axis=0))[0] for _ in range(20)]
        found += [stats.ttest_1samp(d, 0).pvalue < 0.05, corrected_t_test(d, 0.3)[1] < 0.05]
    assert found[0] / 200 > 0.3
    assert found[1] / 200 < 0.1


def nearest_mean_accuracy(X, y, train, test):
    """The share of test rows that the nearest of two class means classifies correctly."""
    low, high = (X[train][y[train] == c].mean(axis=0) for c in (0, 1))
    taken = (X[test] - (low + high) / 2) @ (high - low) > 0
    return np.mean(taken == y[test])


def test_two_methods_that_are_equally_good_differ_in_one_of_twenty_experiments():
    """Half of the features says as much as the other; `benchmarks.null` has more methods."""
    y, n_experiments = np.arange(80) % 2, 400
    rejected = 0
    for seed in range(n_experiments):
        halves = np.random.default_rng(seed).standard_normal((2, 80, 4))
        halves[:, :, 0] += y
        scores = np.array([
            [nearest_mean_accuracy(X, y, *part) for X in halves]
            for part in random_splits(y, 10, 0.3, seed)
        ])  # fmt: skip
        rejected += corrected_t_test(scores[:, 0] - scores[:, 1], 0.3, 24)[1] <= 0.05
    # 400 experiments: a standard error of 0.011
    assert 0.017 < rejected / n_experiments < 0.083


@pytest.mark.parametrize("seed", range(4))
def test_wilcoxon_is_what_all_signs_say_also_with_ties_and_zeros(seed):
    d = np.random.default_rng(seed).integers(-2, 5, size=8) / 100
    signs = np.array(list(product([-1, 1], repeat=len(d))))
    null = np.array([signed_ranks(s * np.abs(d)) for s in signs])
    centre = len(d) * (len(d) + 1) / 4
    expected = np.mean(np.abs(null - centre) >= abs(signed_ranks(d) - centre) - 1e-9)
    _, p = wilcoxon_test(d)
    assert p == pytest.approx(expected)


@pytest.mark.parametrize("n", [2, 5, 9, 14, 30, 50])
def test_wilcoxon_is_that_of_scipy_where_nothing_ties(n):
    d = np.random.default_rng(n).standard_normal(n) + 0.3
    expected = stats.wilcoxon(d)
    assert wilcoxon_test(d) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))


def test_wilcoxon_counts_sums_and_not_signs(monkeypatch):
    """Signs are 2ⁿ: nothing of scipy's enumeration is called up to fifty differences."""
    monkeypatch.setattr(stats, "wilcoxon", None)
    d = np.random.default_rng(0).integers(-2, 5, size=50) / 100
    statistic, p = wilcoxon_test(d)
    assert 0 < p < 0.05
    assert statistic == min(signed_ranks(d), signed_ranks(-d))
    monkeypatch.undo()
    assert wilcoxon_test(np.append(d, 0.02))[1] == pytest.approx(p, abs=0.01)


def test_differences_that_only_rounding_tells_apart_are_ties():
    d = np.array([0.9 - 0.8, 0.3 - 0.2, 0.8 - 0.7, 0.5 - 0.4, 0.7 - 0.8, 0.6 - 0.5])
    assert len(set(d)) > 2
    assert wilcoxon_test(d)[1] == wilcoxon_test(np.array([1, 1, 1, 1, -1, 1]) / 10)[1]


def test_holm_is_the_step_down_rule():
    p = RNG.uniform(0, 0.3, 7)
    order = np.argsort(p)
    expected = np.empty(7)
    for rank, i in enumerate(order):
        expected[i] = min(1, max((7 - j) * p[order[j]] for j in range(rank + 1)))
    assert_allclose(holm(p), expected)
    assert holm([]) == []


def test_the_critical_difference_is_that_of_the_tables():
    # q of Demsar's table 5 (a): 2.343 for three methods, 3.164 for ten
    for k, q in [(2, 1.960), (3, 2.343), (10, 3.164)]:
        assert nemenyi_difference(k, 20) == pytest.approx(q * np.sqrt(k * (k + 1) / 120), rel=1e-3)


def test_friedman_and_ranks_are_their_formulas_with_ties():
    scores = table(12, 0, 0.05, 0.1)
    scores["m3"] = scores["m0"].copy()
    found = rank_methods(scores)
    values = np.column_stack(list(scores.values()))
    ranks = np.array([[1 + np.sum(r > v) + (np.sum(r == v) - 1) / 2 for v in r] for r in values])
    means = dict(zip(scores, ranks.mean(axis=0), strict=True))
    assert dict(zip(found.methods, found.mean_ranks, strict=True)) == pytest.approx(means)
    assert list(found.mean_ranks) == sorted(found.mean_ranks)
    n, k = values.shape
    spread = np.sum((ranks - (k + 1) / 2) ** 2)
    by_hand = n * (k - 1) * np.sum((ranks.sum(axis=0) - n * (k + 1) / 2) ** 2) / spread / n
    assert found.friedman_statistic == pytest.approx(by_hand)
    assert found.friedman_p_value == pytest.approx(stats.chi2.sf(by_hand, k - 1))
    assert found.critical_difference == pytest.approx(nemenyi_difference(4, 12))
    assert len(found.pairs) == 6


def test_methods_that_differ_on_many_data_sets_are_told_apart():
    found = rank_methods(table(20, 0, 0.1, 0.1, 0.2))
    assert found.methods[0] == "m3"
    assert [set(group) for group in found.groups] == [{"m3"}, {"m1", "m2"}, {"m0"}]
    assert found.notes == ()
    for pair in found.pairs:
        assert pair.differ == ({pair.first, pair.second} != {"m1", "m2"})
        assert pair.differ == (pair.p_holm <= 0.05)
        assert pair.difference > -0.01


def test_groups_overlap_where_only_the_ends_differ():
    found = rank_methods(table(10, 0.0, 0.006, 0.012, noise=0.008, seed=1))
    assert found.methods == ("m2", "m1", "m0")
    assert [p.differ for p in found.pairs] == [False, True, False]
    assert found.groups == (("m2", "m1"), ("m1", "m0"))


def test_without_a_difference_at_all_no_pair_differs():
    found = rank_methods(table(10, 0, 0, 0))
    assert found.friedman_p_value > 0.05
    assert not any(pair.differ for pair in found.pairs)
    assert len(found.groups) == len(found.nemenyi_groups) == 1
    assert "no difference among the 3 methods" in found.notes[0]


def test_a_pair_does_not_differ_where_friedman_finds_nothing():
    base = np.linspace(0.3, 0.6, 8)
    swing = np.where(np.arange(8) % 2, 0.4, -0.2)
    found = rank_methods({"a": base, "b": base + np.linspace(0.1, 0.15, 8), "c": base + swing})
    (pair,) = [p for p in found.pairs if {p.first, p.second} == {"a", "b"}]
    assert pair.p_holm < 0.05 < found.friedman_p_value
    assert not pair.differ
    assert len(found.groups) == 1


def test_two_methods_are_compared_without_friedman():
    found = rank_methods(table(8, 0, 0.1))
    assert found.friedman_p_value is None
    (pair,) = found.pairs
    assert (pair.first, pair.second) == ("m1", "m0")
    assert pair.p_value == pair.p_holm == pytest.approx(2 / 2**8)
    assert pair.differ
    assert found.groups == (("m1",), ("m0",))


@pytest.mark.parametrize("n_methods", [2, 4])
@pytest.mark.parametrize("test_size", [None, 0.3])
def test_identical_scores_are_one_group(n_methods, test_size):
    same = [0.5, 0.6, 0.7, 0.8, 0.9, 0.6, 0.6, 0.5]
    found = rank_methods({f"m{i}": same for i in range(n_methods)}, test_size=test_size)
    assert [p.p_value for p in found.pairs] == [1.0] * len(found.pairs)
    assert found.groups == (tuple(f"m{i}" for i in range(n_methods)),)
    assert found.mean_ranks == ((n_methods + 1) / 2,) * n_methods
    if n_methods == 4 and test_size is None:
        assert (found.friedman_statistic, found.friedman_p_value) == (0.0, 1.0)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_too_few_data_sets_are_said_to_be_too_few(n):
    found = rank_methods(table(n, 0, 0.1, 0.2, noise=0))
    assert found.methods == ("m2", "m1", "m0")
    assert len(found.groups) == 1
    assert any(
        f"{n} data sets are too few to distinguish two of 3 methods" in note
        and "at least 7" in note
        for note in found.notes
    )
    enough = rank_methods(table(7, 0, 0.1, 0.2, noise=0))
    assert len(enough.groups) == 3
    assert enough.notes == ()


def test_methods_without_all_scores_are_left_out_with_the_reason():
    scores = {name: list(v) for name, v in table(9, 0, 0.1, 0.2).items()}
    scores["m2"][3] = None
    scores["m2"][4] = float("nan")
    found = rank_methods(scores)
    assert found.methods == ("m1", "m0")
    assert found.left_out == {"m2": "no score on 2 of 9 data sets"}
    with pytest.raises(ValueError, match="no method has a score on every data set"):
        rank_methods({"m2": scores["m2"]})


def test_splits_of_one_data_set_are_compared_where_both_methods_have_them():
    scores = {name: list(v) for name, v in table(10, 0, 0.005, 0.3).items()}
    scores["m1"][2:5] = [None] * 3
    scores["m3"] = [0.7] + 9 * [None]
    found = rank_methods(scores, test_size=0.3)
    assert found.left_out == {"m3": "scores on 1 of 10 splits"}
    assert found.methods == ("m2", "m0", "m1")
    assert found.groups == (("m2",), ("m0", "m1"))
    common = [i for i in range(10) if i not in (2, 3, 4)]
    d = np.array([scores["m0"][i] - scores["m1"][i] for i in common])
    (pair,) = [p for p in found.pairs if p.first == "m0"]
    assert pair.difference == pytest.approx(d.mean())
    assert (pair.statistic, pair.p_value) == corrected_t_test(d, 0.3)
    assert found.critical_difference is None
    assert found.n == 10


def test_a_difference_without_spread_is_the_limit_of_the_test():
    found = rank_methods({"a": [0.9] * 6, "b": [0.8] * 6}, test_size=0.3)
    assert found.pairs[0].p_value == 0.0
    assert found.pairs[0].statistic == np.inf
    assert to_plain(found.pairs[0])["statistic"] is None
    assert corrected_t_test([0.1], 0.3) == (None, 1.0)


def test_scores_in_a_mapping_are_known_no_better_than_one_test_row_if_it_says_how_many():
    scores = {"a": [0.9] * 6, "b": [0.89] * 6}
    certain = rank_methods(scores, test_size=0.3)
    assert certain.pairs[0].differ
    assert "1 pair differs by the same on all splits" in certain.notes[0]
    found = rank_methods(scores, test_size=0.3, n_test=100)
    assert found.pairs[0].p_value == corrected_t_test([0.01] * 6, 0.3, 100)[1]
    assert not found.pairs[0].differ
    assert found.notes == ()
    with pytest.raises(ValueError, match="n_test=0 is not valid"):
        rank_methods(scores, test_size=0.3, n_test=0)


def test_a_difference_is_known_no_better_than_one_test_row():
    same = [0.1] * 6
    t, p = corrected_t_test(same, 0.3, 20)
    assert t == pytest.approx(0.1 / np.sqrt((1 / 6 + 3 / 7) / 20**2))
    assert p == pytest.approx(2 * stats.t.sf(t, 5))
    assert corrected_t_test([0.0] * 6, 0.3, 20) == (0.0, 1.0)
    wide = [0.1, 0.3, -0.1, 0.4]
    assert corrected_t_test(wide, 0.3, 20) == corrected_t_test(wide, 0.3)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_fewer_than_five_common_splits_tell_nobody_apart(n):
    few = rank_methods({"a": [0.9] * n, "b": [0.8] * n}, test_size=0.3)
    assert few.pairs[0].differ == (n == 5)
    scores = {"a": [0.9] * 9, "b": [0.8] * n + [None] * (9 - n), "c": [0.1] * 9}
    found = rank_methods(scores, test_size=0.3)
    assert {(p.first, p.second) for p in found.pairs if p.differ} >= {("a", "c")}
    for pair in found.pairs:
        assert pair.differ == (n == 5 or "b" not in (pair.first, pair.second))
    said = "2 pairs of methods have fewer than 5 splits in common"
    assert any(said in note for note in found.notes) == (n < 5)


def test_a_method_that_missed_the_hard_splits_does_not_come_first():
    hard = np.array([0.5] * 5 + [0.9] * 5)
    noise = 0.001 * np.random.default_rng(0).standard_normal(10)
    scores = {
        "worse": [None] * 5 + list(hard[5:] - 0.1 + noise[5:]),
        "worst": [None] * 4 + list(hard[4:] - 0.2),
        "best": list(hard),
        "second": list(hard - 0.05),
    }
    found = rank_methods(scores, test_size=0.3)
    assert found.methods == ("best", "second", "worse", "worst")
    (pair,) = [p for p in found.pairs if (p.first, p.second) == ("best", "worse")]
    assert pair.differ
    assert any("listed last" in note and "worse, worst." in note for note in found.notes)
    none_whole = {name: scores[name] for name in ("worst", "worse")}
    assert rank_methods(none_whole, test_size=0.3).methods == ("worse", "worst")


def test_the_share_of_test_rows_is_the_real_one():
    """Many classes of two rows: half of the rows are held out, whatever was asked for."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(12), 2)
    X = rng.standard_normal((24, 3)) + y[:, None] / 2
    methods = [KNeighborsClassifier(1), DummyClassifier()]
    found = compare(methods, X, y, cv=RandomShares(6, test_size=0.1))
    assert found.test_share == 0.5
    d = np.subtract(*(split_scores(found)[m] for m in rank_methods(found).methods))
    assert rank_methods(found).pairs[0].p_value == corrected_t_test(d, 0.5, 12)[1]
    values = split_scores(found)["KNeighborsClassifier"]
    summary = found["KNeighborsClassifier"].summary["accuracy"]
    assert (summary.low, summary.high) == mean_interval(values, 0.5)[2:]


def test_few_splits_are_said_to_be_few():
    found = rank_methods(table(1, 0, 0.1), test_size=0.3)
    assert found.groups == (("m1", "m0"),)
    assert found.notes == ("1 split says little about how much scores vary: use 5 or more.",)
    assert "2 splits say" in rank_methods(table(2, 0, 0.1), test_size=0.3).notes[0]


def test_comparisons_are_ranked_by_their_splits_or_as_data_sets():
    sets = [labelled(60, 4, seed=s) for s in range(3)]
    methods = [LinearDiscriminantAnalysis(), DummyClassifier()]
    runs = [compare(methods, X, y, cv=RandomShares(5)) for X, y in sets]
    one = rank_methods(runs[0])
    assert one.n == 5
    assert one.groups == (("LinearDiscriminantAnalysis",), ("DummyClassifier",))
    splits = split_scores(runs[0])
    d = np.subtract(splits["LinearDiscriminantAnalysis"], splits["DummyClassifier"])
    n_test = len(runs[0].tests[0])
    expected = corrected_t_test(d, n_test / 60, n_test)
    assert (one.pairs[0].statistic, one.pairs[0].p_value) == expected
    folds = runs[0]["DummyClassifier"].folds
    assert splits["DummyClassifier"] == [fold.scores["accuracy"] for fold in folds]
    over = rank_methods(runs, score="macro_f")
    assert over.n == 3
    assert over.mean_scores[0] == pytest.approx(
        np.mean([run["LinearDiscriminantAnalysis"].summary["macro_f"].mean for run in runs])
    )
    assert "too few" in over.notes[0]
    one_less = compare(methods[:1], *sets[0], cv=RandomShares(2))
    assert data_set_scores([*runs[:1], one_less])["DummyClassifier"][1] is None
    partial = replace(runs[0].methods[0], status="partial")
    half_done = replace(runs[0], methods=(partial, runs[0].methods[1]))
    assert data_set_scores([half_done])["LinearDiscriminantAnalysis"] == [None]


def test_scores_that_cannot_be_ranked_are_refused():
    with pytest.raises(ValueError, match=r"different numbers of scores: \[1, 2\]"):
        rank_methods({"a": [1.0], "b": [1.0, 2.0]})
    with pytest.raises(ValueError, match="no scores"):
        rank_methods({})
    with pytest.raises(ValueError, match="alpha=2"):
        rank_methods({"a": [1.0]}, alpha=2)
    with pytest.raises(ValueError, match="test_size=1"):
        rank_methods({"a": [1.0]}, test_size=1)


def test_scores_that_name_no_method_are_refused_with_what_to_give():
    for wrong in ([[0.1, 0.2], [0.3, 0.4]], "accuracy", 3, np.ones((2, 2))):
        with pytest.raises(TypeError, match="give a mapping from the name of each method"):
            rank_methods(wrong)
    for values in (0.5, "0.5", [[0.5]]):
        with pytest.raises(TypeError, match="the scores of 'a' must be a list of numbers"):
            rank_methods({"a": values})
    with pytest.raises(ValueError, match=r"score='acuracy' is not valid: .* accuracy, balanced"):
        rank_methods({"a": [0.5]}, score="acuracy")
    with pytest.raises(ValueError, match=r"test_size='0\.3' is not valid"):
        rank_methods({"a": [0.5]}, test_size="0.3")
    with pytest.raises(ValueError, match="alpha='a' is not valid"):
        rank_methods({"a": [0.5]}, alpha="a")


def test_the_columns_of_a_data_frame_are_methods():
    scores = table(8, 0, 0.1, 0.2)
    scores["m1"][2] = np.nan
    assert rank_methods(pd.DataFrame(scores)) == rank_methods(scores)


def test_one_method_has_nobody_to_differ_from():
    found = rank_methods({"a": [0.5, 0.6]})
    assert (found.groups, found.pairs, found.critical_difference) == ((("a",),), (), None)
    assert found.notes == ()


def test_methods_that_all_failed_are_all_left_out():
    found = rank_methods({"a": [None, None], "b": [None, 0.5]}, test_size=0.3)
    assert (found.methods, found.groups) == ((), ())
    assert set(found.left_out) == {"a", "b"}


def test_a_ranking_is_printed_as_a_short_table():
    good = [0.9, 0.8, 0.7, 0.95, 0.85, 0.75, 0.65, 0.6]
    scores = {"bad": [s - 0.1 - s / 9 for s in good], "good": good}
    lines = str(rank_methods(scores)).splitlines()
    assert lines[0].endswith("level 0.05")
    assert [line.split() for line in lines[1:4]] == [
        ["method", "mean", "score", "mean", "rank", "groups"],
        ["good", "0.775", "1.00", "1"],
        ["bad", "0.589", "2.00", "2"],
    ]
    alike = rank_methods({"a": good, "b": good})
    assert [line.split()[-1] for line in str(alike).splitlines()[2:4]] == ["1", "1"]
