"""What the report says is what the comparison found."""

from __future__ import annotations

import dataclasses
import json
import math
import re

import pytest

from separatrix import evaluate
from separatrix.evaluate.records import View
from separatrix.evaluate.splits import RandomShares
from separatrix.report import facts, render
from tests.comparisons import around, made_up
from tests.report.comparing import PARTS, replaced, said, two_classes


def test_facts_are_plain_json(iris):
    found = facts(iris, title="iris", command="separatrix compare iris")
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert [key for key in found if key in PARTS] == PARTS


def test_facts_do_not_change_when_the_comparison_went_through_json(iris):
    again = evaluate.from_plain(evaluate.Comparison, evaluate.to_plain(iris))
    nothing = {"values": {"features": [], "columns": [], "low": [], "middle": [], "high": []}}
    assert facts(again) == facts(iris) | nothing  # a file of records holds no rows


def test_leaderboard_repeats_the_records_in_the_order_of_the_ranking(iris):
    rows = facts(iris)["leaderboard"]["rows"]
    ranking = evaluate.rank_methods(iris)
    assert {row["name"] for row in rows} == set(ranking.methods)
    assert [row["mean"] for row in rows] == pytest.approx(list(ranking.mean_scores))
    for row in rows:
        summary = iris[row["name"]].summary
        assert row["mean"] == pytest.approx(summary["accuracy"].mean)
        assert row["scores"]["macro_f"]["mean"] == pytest.approx(summary["macro_f"].mean)
        assert 0 <= row["low"] <= row["mean"] <= row["high"] <= 1


def test_reproduce_has_seed_versions_command_and_code():
    comparison = made_up({"A": around(0.9), "raw": around(0.8)})
    found = facts(comparison, command="separatrix compare my.csv --seed 0")["reproduce"]
    assert found["command"] == "separatrix compare my.csv --seed 0"
    assert {"name": "seed", "value": "0"} in found["settings"]
    assert {"name": "separatrix", "value": "0.1.0"} in found["versions"]
    compile(found["code"], "code", "exec")
    for part in ("['A', 'raw']", "score='accuracy'", "random_state=0"):
        assert part in found["code"]


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
    assert [entry["name"] for entry in found["verdict"]["against"]] == ["raw"]
    assert "MemoryError" in render(found)


def test_two_classes_and_many_have_their_scores():
    two = evaluate.compare(["LDA"], *two_classes(), cv=RandomShares(2))
    names = [s["key"] for s in facts(two)["leaderboard"]["scores"]]
    assert {"sensitivity", "specificity", "auc"} <= set(names)
    three = facts(made_up({"A": around(0.9)}, class_shares=(0.4, 0.3, 0.3)))
    assert [s["key"] for s in three["leaderboard"]["scores"]] == ["accuracy", "balanced_accuracy"]


def test_methods_without_directions_are_reported_without_pictures():
    found = facts(made_up({"A": around(0.9), "raw": around(0.8)}, n_components=None))
    assert found["projections"]["views"] == []
    assert found["loadings"]["tables"] == []
    page = render(found)
    assert "No method has directions to draw along." in page
    assert found["verdict"]["use"] == "Use A."


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
    folds[0] = dataclasses.replace(folds[0], view=View(tuple(broken)), fit_seconds=math.nan)
    folds[1] = dataclasses.replace(folds[1], scores={"accuracy": math.nan})
    others = list(comparison["raw"].folds)
    others[1] = dataclasses.replace(others[1], scores={"accuracy": math.nan})
    comparison = replaced(comparison, "raw", folds=tuple(others))
    found = facts(replaced(comparison, "A", folds=tuple(folds)))
    page = render(json.loads(json.dumps(found, allow_nan=False)))
    assert found["projections"]["views"][0]["coordinates"][0][0] is None
    assert found["verdict"]["best"] == "A"
    assert not re.search(r"\bnan\b", page.split('id="facts"')[0], re.IGNORECASE)


def test_what_was_noticed_about_the_data_is_on_the_page():
    comparison = made_up({"A": around(0.9), "raw": around(0.8)})
    assert "Look at the data again" not in render(facts(comparison))
    text = "Column 'kind' is the label in other words."
    page = render(facts(dataclasses.replace(comparison, notices=(text,))))
    assert "Look at the data again" in page
    assert "is the label in other words" in page
