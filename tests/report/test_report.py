"""What the report says is what the comparison found, and no name in it can do harm."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
import re
from html.parser import HTMLParser
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from separatrix import datasets, evaluate
from separatrix.evaluate.records import Summary, View, spelled_out
from separatrix.report import facts, render
from separatrix.report import wording as words
from separatrix.report.call import imports_for
from separatrix.report.verdict import lead_over
from tests.comparisons import TEST_SIZE, around, made_up

NOISY = [0.9, 0.8, 0.95, 0.7, 0.85, 0.9, 0.75, 0.8, 0.9, 0.85]

PARTS = [
    "verdict",
    "leaderboard",
    "dimension",
    "projections",
    "confusion",
    "loadings",
    "time",
    "failures",
    "reproduce",
]


def plain(text):
    return text.replace(words.NO_BREAK, " ")


def said(comparison):
    return facts(comparison)["verdict"]


def against(verdict, name):
    return next(entry for entry in verdict["against"] if entry["name"] == name)


def replaced(comparison, name, **changes):
    """The comparison with a changed record of one method."""
    methods = [
        dataclasses.replace(m, **changes) if m.name == name else m for m in comparison.methods
    ]
    return dataclasses.replace(comparison, methods=tuple(methods))


@pytest.fixture(scope="module")
def iris():
    data = datasets.load("iris")
    methods = ["FisherDiscriminant", "raw", "LDA"]
    return evaluate.compare(
        methods, data.data, data.target, n_splits=3, feature_names=data.feature_names
    )


# Facts -------------------------------------------------------------------------------------------


def test_facts_are_plain_json(iris):
    found = facts(iris, title="iris", command="separatrix compare iris")
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert [key for key in found if key in PARTS] == PARTS


def test_facts_do_not_change_when_the_comparison_went_through_json(iris):
    again = evaluate.from_plain(evaluate.Comparison, evaluate.to_plain(iris))
    assert facts(again) == facts(iris)


def test_leaderboard_repeats_the_records_in_the_order_of_the_ranking(iris):
    rows = facts(iris)["leaderboard"]["rows"]
    ranking = evaluate.rank_methods(iris)
    assert {row["name"] for row in rows} == set(ranking.methods)
    assert [row["mean"] for row in rows] == list(ranking.mean_scores)
    for row in rows:
        summary = iris[row["name"]].summary
        assert row["mean"] == pytest.approx(summary["accuracy"].mean)
        assert row["scores"]["macro_f"]["mean"] == pytest.approx(summary["macro_f"].mean)
        assert 0 <= row["low"] <= row["mean"] <= row["high"] <= 1


def test_confusion_counts_every_row_that_was_tested():
    comparison = made_up({"A": [0.9, 0.8], "raw": [0.7, 0.8]}, class_shares=(0.5, 0.3, 0.2))
    labels = np.array(comparison.labels)
    for table in facts(comparison)["confusion"]["tables"]:
        counts = np.array(table["counts"])
        assert counts.sum() == table["tested"] == sum(map(len, comparison.tests))
        right = sum(
            (labels[list(comparison.tests[fold.split])] == fold.predicted).sum()
            for fold in comparison[table["name"]].folds
        )
        assert np.trace(counts) == right == table["tested"] - table["wrong"]
        wrong = counts - np.diag(np.diag(counts))
        i, j = np.unravel_index(wrong.argmax(), wrong.shape)
        most = f"{comparison.classes[i]} taken for {comparison.classes[j]}: {wrong[i, j]} of"
        assert table["mistakes"][0].startswith(most)
        assert len(table["mistakes"]) == np.count_nonzero(wrong)
        tested = np.bincount(labels[np.concatenate(comparison.tests)])
        np.testing.assert_array_equal(counts.sum(axis=1), tested)


def test_only_rows_held_out_of_the_first_split_are_drawn(iris):
    drawn = facts(iris)["projections"]
    assert drawn["rows"] == list(iris.tests[0])
    assert drawn["labels"] == [iris.labels[i] for i in iris.tests[0]]
    for view in drawn["views"]:
        fold = iris[view["name"]].folds[0]
        assert view["predicted"] == list(fold.predicted)
        assert view["right"] == round(fold.scores["accuracy"] * len(fold.predicted))
        Z = np.array(fold.view.coordinates)
        # drawn to a thousandth of the range
        np.testing.assert_allclose(np.array(view["coordinates"]).T, Z, atol=1e-3 * np.ptp(Z))
    assert drawn["panels"][0] == facts(iris)["verdict"]["best"]


def test_loadings_name_the_features_that_weigh_most(iris):
    tables = {t["name"]: t for t in facts(iris)["loadings"]["tables"]}
    kept = iris["LDA"].folds[0].loadings
    for weights, shown in zip(kept.weights, tables["LDA"]["directions"], strict=True):
        largest = kept.features[int(np.argmax(np.abs(weights)))]
        assert shown["features"][0]["feature"] == largest
        assert largest in shown["words"]
        assert ("falls" in shown["words"]) == (min(weights) < -max(np.abs(weights)) / 3)
    assert facts(iris)["loadings"]["without"] == ["raw"]


def test_dimension_paths_end_where_the_shortest_split_ends():
    comparison = made_up({"A": [0.9, 0.8], "raw": [0.7, 0.7]})
    folds = list(comparison["A"].folds)
    folds[1] = dataclasses.replace(folds[1], path=(0.4, 0.6, 0.8))
    found = facts(replaced(comparison, "A", folds=tuple(folds)))["dimension"]
    assert found["lines"][0]["accuracy"] == pytest.approx([0.65, 0.75])
    assert found["lines"][0]["chosen"] == 2
    assert found["longest"] == 2


def test_time_marks_what_no_other_method_beats():
    scores = {"slow": around(0.9), "fast": around(0.8), "worse": around(0.7)}
    comparison = made_up(scores, seconds={"slow": 10.0, "fast": 0.1, "worse": 1.0})
    points = facts(comparison)["time"]["points"]
    assert [p["name"] for p in points if p["unbeaten"]] == ["slow", "fast"]


def test_reproduce_has_seed_versions_command_and_code():
    comparison = made_up({"A": around(0.9), "raw": around(0.8)})
    found = facts(comparison, command="separatrix compare my.csv --seed 0")["reproduce"]
    assert found["command"] == "separatrix compare my.csv --seed 0"
    assert {"name": "seed", "value": "0"} in found["settings"]
    assert {"name": "separatrix", "value": "0.1.0"} in found["versions"]
    compile(found["code"], "code", "exec")
    for part in ("['A', 'raw']", "n_splits=10", "test_size=0.3", "random_state=0"):
        assert part in found["code"]


def log_of(X):
    return np.log1p(np.abs(X))


@pytest.mark.parametrize(
    "scale",
    [
        make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
        ColumnTransformer([("a column with a long name", StandardScaler(), [0, 1])] * 1),
        FunctionTransformer(log_of),
        None,
    ],
    ids=["pipeline", "columns", "function", "none"],
)
def test_the_code_gives_the_comparison_again(scale):
    data = datasets.load("iris")
    X, y = data.data, data.target
    given = make_pipeline(PCA(2), LinearDiscriminantAnalysis(priors=[0.2, 0.3, 0.5]))
    options = {"n_splits": 2, "memory": False}
    before = evaluate.compare(["LDA", ("mine", given)], X, y, scale=scale, **options)
    code = facts(before)["reproduce"]["code"]
    assert ("# scale: FunctionTransformer(func=<function" in code) == (
        isinstance(scale, FunctionTransformer)
    )
    names = {"X": X, "y": y, "scale": scale}
    exec(code, names)
    for name in ("LDA", "mine"):
        assert names["found"][name].summary == before[name].summary
    assert names["page"].startswith("<!doctype html>")


def test_long_estimators_are_spelled_out_or_left_to_the_reader():
    """Printed estimators are cut where they are long, which is no code."""
    wide = ColumnTransformer([("some", StandardScaler(), [f"column {i}" for i in range(25)])])
    text = spelled_out(wide)
    assert "column 24" in text
    assert imports_for(text) is not None
    assert imports_for("StandardScaler(a=[1, ..., 3])") is None
    comparison = made_up({"A": around(0.9)})
    settings = {**comparison.settings, "scale": "Mine(a=1)"}
    code = facts(dataclasses.replace(comparison, settings=settings))["reproduce"]["code"]
    assert "# scale: Mine(a=1)" in code
    assert "    scale=scale," in code


# Verdict -----------------------------------------------------------------------------------------


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


def test_a_method_with_fewer_splits_is_listed_and_not_compared():
    scores = {"A": around(0.8), "raw": around(0.7), "easy": [*around(0.95)[:5], *[None] * 5]}
    found = facts(made_up(scores))
    assert found["verdict"]["best"] == "A"
    rows = {row["name"]: row for row in found["leaderboard"]["rows"]}
    assert rows["easy"]["place"] is None
    assert rows["easy"]["groups"] == []
    assert rows["easy"]["mean"] == pytest.approx(0.95, abs=0.01)
    none_done = made_up({"A": [0.9, 0.9, None], "raw": [0.8, None, 0.8]})
    verdict = said(none_done)
    assert verdict["best"] == "A"
    assert "No method finished all splits; A did 2 of them." in verdict["cautions"]


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
    share = words.percent(np.concatenate(small).mean())
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
    found = lead_over(comparison, "raw", list(scores))
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


# Failures and odd data ---------------------------------------------------------------------------


def test_all_methods_failed():
    found = facts(made_up({"A": [None, None], "B": [None, None]}))
    assert found["verdict"]["headline"] == "All 2 methods failed."
    assert found["verdict"]["best"] is None
    assert [m["name"] for m in found["failures"]["methods"]] == ["A", "B"]
    page = render(found)
    assert "the matrix is singular" in page


def test_failures_are_listed_with_their_reason_and_the_rest_is_ranked():
    reasons = {"B": "MemoryError: 12 GiB", "LDA": "time budget"}
    scores = {"A": around(0.9), "B": [None] * 10, "LDA": [0.8, *[None] * 9], "raw": around(0.8)}
    found = facts(made_up(scores, reasons=reasons))
    assert found["failures"]["words"] == "2 of 4 methods did not finish all splits."
    assert [(m["name"], m["done"], m["reason"]) for m in found["failures"]["methods"]] == [
        ("B", 0, "MemoryError: 12 GiB"),
        ("LDA", 1, "time budget"),
    ]
    rows = found["leaderboard"]["rows"]
    assert [(row["name"], row["place"]) for row in rows] == [("A", 1), ("raw", 2), ("LDA", None)]
    assert "not compared: LDA" in " ".join(found["leaderboard"]["notes"])
    entry = against(found["verdict"], "LDA")
    assert entry["words"] == "No comparison: it did not finish all splits."
    assert "MemoryError" in render(found)


def test_two_classes_and_many_have_their_scores():
    two = evaluate.compare(["LDA"], *two_classes(), n_splits=2)
    names = [s["key"] for s in facts(two)["leaderboard"]["scores"]]
    assert {"sensitivity", "specificity", "auc"} <= set(names)
    three = facts(made_up({"A": around(0.9)}, class_shares=(0.4, 0.3, 0.3)))
    assert [s["key"] for s in three["leaderboard"]["scores"]] == ["accuracy", "balanced_accuracy"]


def two_classes():
    data = datasets.load("breast_cancer")
    return data.data[:150], data.target[:150]


def test_a_single_direction_has_words_in_place_of_a_chart():
    found = facts(made_up({"A": around(0.9), "raw": around(0.8)}, n_components=1))
    assert "single direction" in found["dimension"]["words"]
    assert 'id="dimension-chart"' not in render(found)
    assert len(found["projections"]["views"][0]["coordinates"]) == 1


def test_methods_without_directions_are_reported_without_pictures():
    found = facts(made_up({"A": around(0.9), "raw": around(0.8)}, n_components=None))
    assert found["projections"]["views"] == []
    assert found["loadings"]["tables"] == []
    page = render(found)
    assert "No method has directions to draw along." in page
    assert found["verdict"]["use"] == "Use A: it makes fewer mistakes than all 3 features do."


def test_forty_classes_look_different_and_many_have_mistakes_in_place_of_a_matrix():
    comparison = made_up({"A": around(0.9)}, n_rows=800, class_shares=[1 / 40] * 40)
    found = facts(comparison)
    looks = {(c["colour"], c["shape"]) for c in found["data"]["classes"]}
    assert len(looks) == 40
    table = found["confusion"]["tables"][0]
    assert table["counts"] is None
    assert table["mistakes"]
    assert re.fullmatch(
        r"class \d+ taken for class \d+: \d+ of \d+ \(.* %\)", plain(table["mistakes"][0])
    )


@pytest.mark.parametrize(
    ("names", "briefs"),
    [
        (["short", "names"], ["short", "names"]),
        (
            [f"Vertebrate specimen group number {i:02d}" for i in range(30)],
            [f"… number {i:02d}" for i in range(30)],
        ),
        (["species one of the lake", "species two of the lake"], ["… one…", "… two…"]),
        (["an exceedingly long name", "b"], ["an exceeding… name", "b"]),
        (["twice the same long name"] * 2, ["twice the sa… name", "twice the sa… name (2)"]),
        (["a single long name of one class"], ["a single lon…class"]),
    ],
    ids=["short", "start", "both ends", "nothing shared", "same", "one"],
)
def test_names_beside_pictures_are_brief_and_can_be_told_apart(names, briefs):
    found = words.briefs(names)
    assert len(set(found)) == len(names)
    assert found == briefs


def test_columns_of_a_matrix_are_numbered_where_names_have_no_room():
    def numbered(n, names):
        shares = [1 / n] * n
        found = facts(made_up({"A": around(0.9)}, n_rows=400, class_shares=shares, classes=names))
        return found["confusion"]["numbered"], "Numbers and names" in render(found)

    assert numbered(2, ["barolo", "barbera"]) == (False, False)
    assert numbered(2, ["nebbiolo of the langhe", "barbera from asti"]) == (True, True)
    assert numbered(10, [str(i) for i in range(10)]) == (False, False)
    assert numbered(10, [f"class {i}" for i in range(10)]) == (True, True)


def test_huge_names_are_shortened_and_stay_different():
    long = "x" * 100_000
    comparison = made_up(
        {long + "1" + "y" * 50: around(0.9), long + "2" + "y" * 50: around(0.8)},
        classes=[long + "a", long + "b"],
        features=(long, "b" + long, "c"),
    )
    found = facts(comparison, title=long)
    text = json.dumps(found)
    assert len(text) < 100_000
    names = [row["name"] for row in found["leaderboard"]["rows"]]
    assert len(set(names)) == 2
    assert len({c["name"] for c in found["data"]["classes"]}) == 2
    assert {t["name"] for t in found["confusion"]["tables"]} == set(names)


def test_numbers_that_are_none_stay_out_of_the_page():
    comparison = made_up({"A": around(0.9), "raw": around(0.8)})
    folds = list(comparison["A"].folds)
    broken = [(math.nan, math.inf), *folds[0].view.coordinates[1:]]
    folds[0] = dataclasses.replace(
        folds[0], view=View(tuple(broken)), fit_seconds=math.nan, peak_bytes=None
    )
    folds[1] = dataclasses.replace(folds[1], scores={"accuracy": math.nan})
    others = list(comparison["raw"].folds)
    others[1] = dataclasses.replace(others[1], scores={"accuracy": math.nan})
    comparison = replaced(comparison, "raw", folds=tuple(others))
    found = facts(replaced(comparison, "A", folds=tuple(folds)))
    page = render(json.loads(json.dumps(found, allow_nan=False)))
    assert found["projections"]["views"][0]["coordinates"][0][0] is None
    assert found["verdict"]["best"] == "A"
    assert not re.search(r"\bnan\b", page.split('id="facts"')[0], re.IGNORECASE)


def test_more_rows_than_can_be_drawn_are_thinned_evenly():
    comparison = made_up({"A": [0.9, 0.9]}, n_rows=20_000, class_shares=(0.7, 0.3))
    drawn = facts(comparison)["projections"]
    assert (
        len(drawn["rows"]) == len(drawn["labels"]) == len(drawn["views"][0]["predicted"]) == 5000
    )
    assert drawn["held_out"] == 6000
    assert drawn["views"][0]["right"] == 5400
    assert np.mean(drawn["labels"]) == pytest.approx(0.3, abs=0.01)
    assert len(set(drawn["rows"])) == 5000


def test_five_thousand_points_by_every_method_stay_below_six_megabytes():
    names = [f"Method{i}" for i in range(26)]
    comparison = made_up({n: [0.9] for n in names}, n_rows=16_667, n_components=3)
    assert len(comparison.tests[0]) == 5000
    assert len(render(facts(comparison)).encode()) < 6e6


# The page ----------------------------------------------------------------------------------------


class Reader(HTMLParser):
    """Elements of a page, the text of scripts, and visible text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.scripts, self.text, self.ids = [], [], [], []
        self.inside = None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for key, value in attrs if key == "id"]
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        (self.scripts if self.inside == "script" else self.text).append(data)


HOSTILE = [
    "</script><script>alert(1)</script>",
    "</script x=",
    "<img src=x onerror=alert(1)>",
    "'\"><b onmouseover=alert(1)>&amp;",
    "<!-- <script>",
    "\ud800 lone \x00 \u2028 surrogate",
    "]]> ${alert(1)} `",
    "",
]


def test_no_name_becomes_a_part_of_the_page():
    plain_page = Reader(render(facts(made_up({"A": around(0.9), "raw": around(0.8)}))))
    for text in HOSTILE:
        comparison = made_up(
            {text: around(0.9), "raw": around(0.8)},
            classes=[text, text + "2"],
            features=(text, "b", "c"),
        )
        comparison = dataclasses.replace(
            comparison,
            settings={**comparison.settings, "scale": text},
            versions={text: text},
            left_out={text: text},
            methods=tuple(
                dataclasses.replace(
                    m,
                    description=text,
                    estimator=m.estimator + text,
                    kind=m.kind if m.role else "given",
                    decision=text,
                )
                for m in comparison.methods
            ),
        )
        found = facts(comparison, title=text, command=text)
        page = render(found)
        page.encode("utf-8")
        read = Reader(page)
        assert sorted(t for t, _ in read.tags if t in ("script", "img", "b", "style")) == sorted(
            t for t, _ in plain_page.tags if t in ("script", "img", "b", "style")
        )
        assert "<" not in read.scripts[0]
        assert json.loads(read.scripts[0]) == found
        for _, attributes in read.tags:
            assert not [key for key in attributes if key.startswith("on")]


def test_the_page_loads_nothing_and_its_policy_allows_nothing():
    page = render(facts(made_up({"A": around(0.9), "raw": around(0.8)})))
    for tag, attributes in Reader(page).tags:
        for key in ("src", "srcset", "data", "action"):
            assert key not in attributes
        if "href" in attributes:
            assert attributes["href"].startswith("#")
            assert tag == "a"
    assert "url(" not in page
    assert "@import" not in page
    namespaces = set(re.findall(r"https?://[^\"'\s]+", page))
    assert namespaces == {"http://www.w3.org/2000/svg"}
    policy = next(
        a["content"]
        for t, a in Reader(page).tags
        if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    script = Reader(page).scripts[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy


def test_parts_come_in_order_and_links_lead_to_them():
    read = Reader(render(facts(made_up({"A": around(0.9), "raw": around(0.8)}))))
    sections = [a["id"] for t, a in read.tags if t == "section"]
    assert sections == PARTS
    links = [a["href"][1:] for t, a in read.tags if t == "a"]
    assert set(links) <= set(read.ids)
    assert len(read.ids) == len(set(read.ids))


def test_the_verdict_is_in_the_text_without_the_script():
    found = facts(made_up({"A": around(0.95), "raw": around(0.8)}), title="wine")
    read = Reader(render(found))
    text = "".join(read.text)
    for part in (found["verdict"]["headline"], found["verdict"]["use"], found["protocol"]):
        assert part in text


# Colours -----------------------------------------------------------------------------------------

VISION = {
    "usual": np.eye(3),
    "without red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "without green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "without blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
}
"""Linear light as people see it: Machado, Oliveira and Fernandes (2009), severity 1."""

TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear_light(colour):
    values = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def lab(light):
    xyz = TO_XYZ @ np.clip(light, 0, 1) / [0.9505, 1, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("sheet", ["page.css", "page-dark.css"])
def test_colours_stand_out_and_differ_for_every_kind_of_sight(sheet):
    style = files("separatrix.report").joinpath(sheet).read_text()
    named = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", style))
    points = [named[f"c{i}"] for i in range(8)]

    def contrast(first, second):
        lights = sorted(TO_XYZ[1] @ linear_light(named[name]) for name in (first, second))
        return (lights[1] + 0.05) / (lights[0] + 0.05)

    for i in range(8):  # what is drawn: 3, by the guidelines for accessible content
        assert contrast(f"c{i}", "paper") >= 3
    for text, ground in [
        ("ink", "paper"),
        ("soft", "paper"),
        ("soft", "ground"),
        ("accent", "ground"),
        ("good", "good-ground"),
        ("doubt", "doubt-ground"),
        ("soft", "accent-ground"),
    ]:  # what is read: 4.5
        assert contrast(text, ground) >= 4.5, text
    for matrix in VISION.values():
        seen = [lab(np.asarray(matrix) @ linear_light(colour)) for colour in points]
        # a difference of 2 can just be seen side by side
        assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 12
