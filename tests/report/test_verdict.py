"""The verdict: which method, by how much, and whether that is real."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats

from separatrix.evaluate.records import Summary
from separatrix.report import facts, render, wording
from separatrix.report.verdict import compute_leads
from tests.comparisons import TEST_SIZE, around, made_up
from tests.report.comparing import NOISY, against, plain, replaced, said


def test_a_clear_winner_is_called_best_and_its_lead_real():
    verdict = said(made_up({"LDA": around(0.8), "A": around(0.95), "raw": around(0.7)}))
    assert verdict["headline"] == "A separates the classes best."
    assert verdict["best"] == "A"
    assert verdict["tied"] == ["A"]
    assert plain(verdict["measure"]).startswith(
        "It names the class of 95.0 % of 60 held-out rows correctly, the mean of 10 splits (95 %"
    )
    for name, lead in (("raw", 0.25), ("LDA", 0.15)):
        entry = against(verdict, name)
        assert entry["difference"] == pytest.approx(lead)
        assert entry["real"] is True
        assert "A real difference" in entry["words"]
    assert against(verdict, "raw")["value"] == "25.0 fewer mistakes"
    assert verdict["use"].startswith("Use A with 2 directions: it makes fewer mistakes")
    assert verdict["alike"] == "The test tells it from all other methods."
    assert [bar["mistakes"] for bar in verdict["bars"]] == pytest.approx([5, 20, 30])


def test_a_lead_within_chance_is_not_called_one():
    scores = {"A": [s + 0.01 for s in NOISY], "raw": NOISY[::-1], "LDA": NOISY[3:] + NOISY[:3]}
    verdict = said(made_up(scores))
    assert verdict["headline"] == "A comes first, but its lead may be chance."
    assert [entry["real"] for entry in verdict["against"]] == [False, False]
    assert against(verdict, "raw")["words"].startswith("Not proven: may be chance (p")
    assert verdict["alike"] == "The test cannot tell it from any of the other 2 methods."
    assert verdict["use"].startswith(
        "Use A with 2 directions: 2 numbers for each row in place of 3"
    )


def test_the_best_is_told_from_the_next():
    """Both lead over the references, but which of them leads may be chance."""
    scores = {"A": [s + 0.001 for s in NOISY], "B": NOISY[3:] + NOISY[:3]}
    scores |= {"LDA": [s - 0.4 for s in NOISY], "raw": [s - 0.4 for s in NOISY]}
    found = facts(made_up(scores))
    assert found["leaderboard"]["rows"][1]["differs"] is False
    verdict = found["verdict"]
    assert [entry["real"] for entry in verdict["against"]] == [True, True]
    assert verdict["headline"] == "A comes first and is better than the raw data and LDA."


def with_directions(comparison, name, *numbers):
    folds = tuple(
        dataclasses.replace(fold, n_components=n)
        for fold, n in zip(comparison[name].folds, numbers, strict=True)
    )
    return replaced(comparison, name, folds=folds)


def test_directions_that_differ_between_splits_are_not_told_as_one_number():
    scores = {"A": [s + 0.01 for s in NOISY], "raw": NOISY[::-1], "LDA": NOISY[3:] + NOISY[:3]}
    features = [f"f{i}" for i in range(13)]
    comparison = made_up(scores, features=features)
    wide = with_directions(comparison, "A", *[2] * 9, 29)
    found = facts(wide)
    start = "Use A with between 2 and 29 directions, chosen anew in each split"
    assert found["verdict"]["use"] == f"{start}, or the raw data: they may be as good."
    assert "2–29" in render(found)
    few = said(with_directions(comparison, "A", *[2] * 9, 5))["use"]
    assert "between 2 and 5 directions" in few
    assert "at most 5 numbers for each row in place of 13, and no more mistakes" in few


def test_the_best_of_many_is_said_to_look_better_than_it_is():
    scores = {name: around(0.8 + i / 100) for i, name in enumerate("ABCDE")}
    sentence = "The best of 5 methods looks a little better than it is."
    assert said(made_up(scores))["measure"].endswith(sentence)
    assert "looks a little" not in said(made_up({"A": around(0.9), "B": around(0.8)}))["measure"]


def test_of_equals_the_simplest_is_advised_and_the_quickest_named():
    scores = {"C": around(0.9), "B": around(0.9), "A": around(0.9), "near": around(0.899)}
    seconds = {"A": 9.0, "B": 0.9, "C": 10.0, "near": 0.01}
    comparison = made_up(scores, seconds=seconds)
    comparison = with_directions(comparison, "B", *[2] * 9, 6)  # more in one split
    comparison = replaced(comparison, "A", grid={"kernel_gamma": [1.0]})
    found = facts(comparison)
    assert [row["name"] for row in found["leaderboard"]["rows"]][:3] == ["C", "A", "B"]
    assert found["verdict"]["quick"] == (
        "When time matters: B is right as often and trains 11 times faster."
    )


def test_better_than_one_reference_only():
    leading = [s + 0.01 for s in NOISY[::-1]]
    verdict = said(made_up({"A": leading, "raw": NOISY, "LDA": [s - 0.2 for s in leading]}))
    assert against(verdict, "LDA")["real"] is True
    assert against(verdict, "raw")["real"] is False
    assert verdict["headline"] == "A comes first and is better than LDA."
    assert "no more mistakes" in verdict["use"]


def test_equal_scores_share_the_first_place():
    scores = {"A": around(0.9), "B": around(0.9), "raw": around(0.7)}
    found = facts(made_up(scores))
    assert found["verdict"]["headline"] == "A and B share the first place."
    assert found["verdict"]["tied"] == ["A", "B"]
    assert found["verdict"]["measure"].startswith("Each names")
    assert found["verdict"]["use"].startswith("Use A with 2 directions (B is right as often): it")
    alike = "The test cannot tell A from 1 of the other 2 methods, its group."
    assert found["verdict"]["alike"] == alike
    assert [row["place"] for row in found["leaderboard"]["rows"]] == [1, 1, 3]


def test_of_equals_the_one_with_the_fewest_directions_comes_first():
    comparison = made_up({"B": around(0.9), "A": around(0.9), "raw": around(0.7)})
    few = tuple(dataclasses.replace(fold, n_components=1) for fold in comparison["A"].folds)
    verdict = said(replaced(comparison, "A", folds=few))
    assert verdict["headline"] == "A and B share the first place."
    assert verdict["use"].startswith("Use A with 1 direction (B is")


def test_when_all_are_equal_none_is_told_from_others():
    found = facts(made_up({name: around(1.0, 0.0) for name in "ABCDE"}))
    assert found["verdict"]["alike"] == "All of them are right equally often."
    assert not any("luckiest" in note for note in found["leaderboard"]["notes"])


def test_references_are_known_by_what_they_are_and_not_by_their_names():
    """A method of the caller may be called raw, and the raw data may be called otherwise."""
    comparison = made_up({"raw": around(0.95), "mine": around(0.8), "LDA": around(0.7)})
    kinds = {
        "raw": ("given", "LDG()"),
        "mine": ("reference", "FunctionTransformer()"),
        "LDA": ("subspace", "LinearDiscriminantAnalysis()"),
    }
    methods = tuple(
        dataclasses.replace(m, kind=kinds[m.name][0], estimator=kinds[m.name][1])
        for m in comparison.methods
    )
    found = facts(dataclasses.replace(comparison, methods=methods))
    verdict = found["verdict"]
    assert verdict["headline"] == "raw separates the classes best."
    assert against(verdict, "raw")["difference"] == pytest.approx(0.15)
    assert against(verdict, "LDA")["words"] == "No comparison: it was not among the methods."
    assert [bar["name"] for bar in verdict["bars"]] == ["raw", "raw data"]
    assert found["projections"]["panels"] == ["raw", "mine", "LDA"]
    assert found["time"]["words"].startswith("Time includes choosing the settings. raw trains")


@pytest.mark.parametrize("raw", [0.95, 0.9])
def test_nothing_is_advised_over_raw_data_that_are_as_good(raw):
    verdict = said(made_up({"A": around(0.9), "raw": around(raw), "LDA": around(0.8)}))
    assert verdict["headline"] == "No method does better than the raw data with all 3 features."
    assert verdict["use"].startswith("For accuracy keep all features")
    assert "To see the classes, use A with 2 directions." in verdict["use"]
    assert verdict["measure"].startswith("With them")


def test_a_reference_that_wins_is_named_without_a_comparison_with_itself():
    verdict = said(made_up({"A": around(0.8), "LDA": around(0.9), "raw": around(0.7)}))
    assert verdict["best"] == "LDA"
    assert against(verdict, "LDA")["value"] == "the best itself"
    assert against(verdict, "LDA")["real"] is None
    assert verdict["headline"] == "LDA separates the classes best."


def test_a_method_alone_is_described_and_not_called_best():
    found = facts(made_up({"A": around(0.9)}))
    assert plain(found["verdict"]["headline"]) == "A is right for 90.0 % of held-out rows."
    assert [entry["value"] for entry in found["verdict"]["against"]] == ["not compared"] * 2
    assert any("Only one method" in text for text in found["verdict"]["cautions"])
    assert "A" in render(found)


def test_one_split_tests_nothing():
    verdict = said(made_up({"A": [0.95], "raw": [0.7], "LDA": [0.6]}))
    assert [entry["real"] for entry in verdict["against"]] == [None, None]
    assert "1 split is too few to show" in against(verdict, "raw")["words"]
    assert "may be chance" in verdict["headline"]


def test_four_splits_prove_nothing_whatever_their_p_value():
    verdict = said(made_up({"A": around(0.95, n=4), "raw": around(0.7, n=4)}))
    assert against(verdict, "raw")["real"] is None
    assert against(verdict, "raw")["words"].startswith("4 splits are too few")


@pytest.mark.parametrize("n_splits", [1, 10])
def test_scores_without_spread_have_the_interval_of_the_rows_of_one_split(n_splits):
    """Where 60 rows of 60 are right, the lower end is the 60th root of 0.025."""
    comparison = made_up({"A": [1.0] * n_splits, "raw": [0.75] * n_splits})
    found = facts(comparison)
    assert f"{100 * 0.025 ** (1 / 60):.1f}" == "94.0"
    assert "(95 % interval for new rows: 94.0 % to 100 %)" in plain(found["verdict"]["measure"])
    assert [row["low"] < row["high"] for row in found["leaderboard"]["rows"]] == [True, True]
    assert any("for the 60 rows of one split" in note for note in found["leaderboard"]["notes"])
    spread = facts(made_up({"A": around(0.9), "raw": around(0.8)}))
    assert not any("one split" in note for note in spread["leaderboard"]["notes"])


def test_few_splits_of_clear_classes_are_not_called_guessing():
    verdict = said(made_up({"A": [0.99, 0.91], "raw": [0.9, 0.95]}, class_shares=(0.7, 0.3)))
    assert "guessing" not in verdict["headline"]


CHANCE = [0.78, 0.82, 0.8, 0.79, 0.83, 0.77, 0.8, 0.81, 0.79, 0.8]


def unequal(**balanced):
    """Four classes in five rows of one, no method with fewer mistakes than naming that one."""
    found = made_up(
        {"A": CHANCE, "B": [s - 0.05 for s in CHANCE], "raw": [s - 0.05 for s in CHANCE]},
        class_shares=(0.8, 0.2),
    )
    for name in ("A", "B", "raw"):
        mean, low = balanced.get(name, (0.5, 0.45))
        score = Summary(mean, 0.05, low, 2 * mean - low)
        summary = {**found[name].summary, "balanced_accuracy": score}
        found = replaced(found, name, summary=summary)
    return found


def test_small_classes_that_are_found_are_no_guessing():
    found = unequal(B=(0.76, 0.7))
    verdict = said(found)
    labels = np.array(found.labels)
    small = [
        np.array(fold.predicted)[labels[list(test)] == 1] == 1
        for fold, test in zip(found["B"].folds, found.tests, strict=True)
    ]
    share = wording.format_percent(np.concatenate(small).mean())
    assert verdict["headline"] == (
        "No method makes fewer mistakes than always naming the largest class, but B finds "
        f"{share} of the small class."
    )
    assert plain(verdict["measure"]).startswith("It names the class of 74.9 %")
    assert plain(verdict["measure"]).endswith(", averaged over the classes 76.0 %.")
    assert verdict["use"].startswith("Use B where the small class must be found.")
    assert verdict["advised"] == "B"
    assert said(unequal(B=(0.76, 0.45)))["advised"] is None
    assert said(unequal(B=(0.76, 0.76)))["advised"] is None  # no spread, so no interval


def test_no_better_than_guessing():
    verdict = said(unequal())
    assert plain(verdict["measure"]).startswith("With A, the first of them, 79.9 % of 60 held-out")
    assert "better than guessing" in verdict["headline"]
    assert verdict["use"].startswith("Use none of them yet")
    assert verdict["quick"] == ""
    assert "20 mistakes in 100" in verdict["guessing"]


def test_small_classes_that_are_missed_are_pointed_out():
    comparison = made_up({"A": around(0.9), "raw": around(0.85)}, class_shares=(0.6, 0.38, 0.02))
    summary = dict(comparison["A"].summary)
    summary["balanced_accuracy"] = dataclasses.replace(summary["balanced_accuracy"], mean=0.6)
    cautions = said(replaced(comparison, "A", summary=summary))["cautions"]
    assert any("60.0 %" in plain(text) for text in cautions)
    assert any("class 2 has fewer than 5 rows" in text for text in cautions)


def test_a_much_faster_method_is_named_only_if_it_is_nearly_as_good():
    # scores of "near" and "far" vary so much that the test tells neither from A
    scores = {"A": around(0.9), "near": around(0.895, 0.2), "far": around(0.75, 0.5)}
    scores["raw"] = around(0.7)
    seconds = {"A": 10.0, "near": 1.0, "far": 0.1, "raw": 0.01}
    found = facts(made_up(scores, seconds=seconds))
    rows = {row["name"]: row for row in found["leaderboard"]["rows"]}
    assert not rows["near"]["differs"]
    assert not rows["far"]["differs"]
    quick = found["verdict"]["quick"]
    assert quick.startswith("When time matters: near is nearly as good (0.5 more mistakes in 100)")
    assert quick.endswith("trains 10 times faster.")
    assert said(made_up(scores, seconds={**seconds, "near": 3.0}))["quick"] == ""


def test_the_test_against_a_reference_is_corrected_for_all_methods_that_might_have_won():
    rng = np.random.default_rng(0)
    scores = {name: (0.8 + 0.05 * rng.random(8)).tolist() for name in ("A", "B", "C", "raw")}
    comparison = made_up(scores)
    found = compute_leads(comparison, "raw", list(scores))
    p = {}
    for name in ("A", "B", "C"):
        differences = np.subtract(scores[name], scores["raw"])
        error = math.sqrt((1 / 8 + TEST_SIZE / (1 - TEST_SIZE)) * differences.var(ddof=1))
        p[name] = 2 * stats.t.sf(abs(differences.mean() / error), 7)
        assert found[name][0] == pytest.approx(differences.mean())
    running = 0.0
    for k, name in enumerate(sorted(p, key=p.get)):
        running = max(running, (3 - k) * p[name])
        assert found[name][1] == pytest.approx(min(running, 1))


def test_words_and_numbers_agree_whatever_the_scores():
    rng = np.random.default_rng(1)
    for seed in range(30):
        gap = rng.choice([0, 0.01, 0.05])
        scores = {
            name: np.clip(rng.normal(0.8 + j * gap, 0.03, 6), 0, 1).tolist()
            for j, name in enumerate(("raw", "LDA", "A"))
        }
        found = facts(made_up(scores, seed=seed))
        verdict = found["verdict"]
        assert verdict["best"] == max(scores, key=lambda name: np.mean(scores[name]))
        for entry in verdict["against"]:
            if entry["difference"] is None:
                assert entry["name"] == verdict["best"]
                continue
            assert entry["difference"] >= 0
            assert entry["real"] == (entry["p"] <= 0.05)
            assert ("real difference" in entry["words"]) == entry["real"]
        if "best." in verdict["headline"]:
            assert all(entry["real"] in (True, None) for entry in verdict["against"])
        if "may be chance" in verdict["headline"]:
            assert not any(entry["real"] for entry in verdict["against"])


def test_all_methods_failed():
    found = facts(made_up({"A": [None, None], "B": [None, None]}))
    assert found["verdict"]["headline"] == "All 2 methods failed."
    assert found["verdict"]["best"] is None
    assert [m["name"] for m in found["failures"]["methods"]] == ["A", "B"]
    page = render(found)
    assert "the matrix is singular" in page
