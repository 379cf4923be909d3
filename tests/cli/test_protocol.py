"""`separatrix compare` by groups, given splits, time and test files; scores, costs, controls."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from separatrix import evaluate
from separatrix.cli.protocol import SCORE_CHOICES, SLOW_METHODS, describe_cost
from separatrix.evaluate.records import SCORES, Fold, Progress
from separatrix.evaluate.splits import RandomShares
from tests.cli.running import refused, run

FEW = ["--methods", "3-NN,LDA", "--splits", "3"]


def compared(*options):
    return json.loads(run("compare", "flowers.csv", *FEW, *options, "--json").stdout)


@pytest.fixture
def visits(bare_table):
    bare_table["patient"] = [f"p{i // 2}" for i in range(60)]
    bare_table["day"] = np.random.default_rng(0).permutation(60)
    bare_table["part"] = np.where(np.arange(60) % 5, "train", "test")
    bare_table.to_csv("flowers.csv", index=False)
    return bare_table


def test_groups_of_a_column_stay_together(visits):
    others = ["-t", "kind", "--ignore", "day", "--ignore", "part"]
    record = compared(*others, "--group", "patient")
    assert record["settings"]["unit"] == "groups"
    assert set(record["by_rows"]) >= {"3-NN"}
    features = [c for c in visits.columns if c not in ("kind", "patient", "day", "part")]
    assert record["features"] == len(features)
    expected = evaluate.compare(
        ["3-NN", "LDA"],
        visits[features],
        visits["kind"],
        cv=RandomShares(3),
        groups=visits["patient"],
    )
    mean = {m["name"]: m["accuracy"]["mean"] for m in record["methods"]}
    assert mean["LDA"] == pytest.approx(expected["LDA"].summary["accuracy"].mean)
    text = run("compare", "flowers.csv", *FEW, *others, "--group", "patient", "--explain").stdout
    assert "would have pretended" in text


def test_a_column_may_name_the_split_or_the_time(visits):
    base = ["-t", "kind", "--ignore", "patient"]
    record = compared(*base, "--ignore", "day", "--split", "part")
    assert (record["settings"]["splitting"], record["settings"]["n_splits"]) == ("given", 1)
    record = compared(*base, "--ignore", "part", "--time", "day")
    assert (record["settings"]["splitting"], record["settings"]["n_splits"]) == ("time", 3)
    record = compared(*base, "--ignore", "part", "--ignore", "day", "--folds", "3")
    assert (record["settings"]["splitting"], record["settings"]["folds"]) == ("k-fold", 3)
    said = refused("compare", "flowers.csv", *base, "--folds", "3", "--time", "day")
    assert "--time and --folds both say how rows are split" in said


def test_a_test_file_is_predicted_once_and_checked_first(visits):
    rows = visits.drop(columns=["patient", "day"])
    known, new = (rows[rows["part"] == p].drop(columns="part") for p in ("train", "test"))
    known.to_csv("known.csv", index=False)
    new[new.columns[::-1]].to_csv("new.csv", index=False)
    command = ["compare", "known.csv", "-t", "kind", *FEW]
    record = json.loads(run(*command, "--test", "new.csv", "--json").stdout)
    expected = compared("-t", "kind", "--ignore", "patient", "--ignore", "day", "--split", "part")
    assert record["methods"][0]["accuracy"] == expected["methods"][0]["accuracy"]
    assert record["rows"] == 60
    new.rename(columns={"v1": "w1"}).to_csv("other.csv", index=False)
    assert "lacks 'v1' and has 'w1'" in refused(*command, "--test", "other.csv")
    new.assign(kind="elm").to_csv("unseen.csv", index=False)
    assert "labels that no training row has (first: 'elm')" in refused(
        *command, "--test", "unseen.csv"
    )


def test_scores_and_costs_rank_and_are_shown_first(visits):
    base = ["-t", "kind", "--ignore", "patient", "--ignore", "day", "--ignore", "part"]
    names = sorted(visits["kind"].unique())
    costs = pd.DataFrame(1.0 - np.eye(len(names)), index=names, columns=names)
    costs.to_csv("costs.csv")
    record = compared(*base, "--costs", "costs.csv")
    assert record["score"] == "cost"
    means = [m["cost"]["mean"] for m in record["methods"]]
    assert means == sorted(means)
    assert record["methods"][0]["accuracy"]["mean"] == pytest.approx(1 - means[0])
    text = run("compare", "flowers.csv", *FEW, *base, "--score", "log_loss").stdout
    assert "log_loss" in text.splitlines()[0]
    costs.iloc[1:].to_csv("costs.csv")
    said = refused("compare", "flowers.csv", *FEW, *base, "--costs", "costs.csv")
    assert f"costs has no row for the class '{names[0]}'" in said
    assert SCORE_CHOICES == SCORES


def test_a_classifier_on_top_and_shuffled_labels(visits):
    base = ["-t", "kind", "--ignore", "patient", "--ignore", "day", "--ignore", "part"]
    record = compared(*base, "--classifier", "LogisticRegression", "--permutations", "9")
    assert "--classifier LogisticRegression" in record["fit"]
    assert len(record["permutation"]["permuted"]) == 9
    text = run("compare", "flowers.csv", *FEW, *base, "--permutations", "4", "--explain").stdout
    assert "With shuffled labels" in text


def test_a_quick_look_has_fewer_rows_splits_and_methods(visits, monkeypatch):
    monkeypatch.setattr("separatrix.cli.protocol.FIRST_LOOK_ROWS", 40)
    base = ["-t", "kind", "--ignore", "patient", "--ignore", "day", "--ignore", "part"]
    asked = []
    compare = evaluate.compare

    def watch(methods, *args, **kwargs):
        asked.extend(methods)
        return compare(["LDA"], *args, **kwargs)

    monkeypatch.setattr(evaluate, "compare", watch)
    found = run("compare", "flowers.csv", *base, "--quick", "--json")
    record = json.loads(found.stdout)
    assert (record["rows"], record["settings"]["n_splits"]) == (40, 5)
    assert "LogisticRegression" in asked
    assert not set(asked) & set(SLOW_METHODS)
    assert "--quick is a first look: 40 of 60 rows, 5 splits" in found.stderr


def test_the_time_it_takes_is_told_after_the_first_split():
    first = Fold("LDA", 0, "done")
    times = {"LDA": 100.0, "LDG": 400.0}
    assert describe_cost(Progress(1, 30, 50.0, None, fold=first)) == ""
    said = describe_cost(Progress(3, 30, 50.0, 450.0, fold=first, by_method=times))
    assert "about 8 min 20 s in all: LDG 80 %, LDA 20 %" in said
    assert describe_cost(Progress(3, 30, 1.0, 9.0, fold=first, by_method=times)) == ""


def test_references_are_asked_for_by_level(visits):
    base = ["-t", "kind", "--ignore", "patient", "--ignore", "day", "--ignore", "part"]
    record = compared(*base, "--rivals", "basic")
    names = {m["name"] for m in record["methods"]}
    assert names >= {"3-NN", "LDA", "LogisticRegression", "RBF-SVM"}
    assert not Path("r.html").exists()


def test_the_command_that_is_printed_chooses_in_the_same_way(visits):
    base = ["-t", "kind", "--ignore", "day", "--ignore", "part", "--group", "patient"]
    record = compared(*base, "--score", "auc", "--classifier", "LogisticRegression")
    command = shlex.split(record["fit"])[1:]
    assert command[command.index("--group") + 1] == "patient"
    fitted = json.loads(run(*command, "--json").stdout)
    assert "then__C" in fitted["chosen"] or record["advised"] == "LDA"
    rows = visits.drop(columns=["kind", "patient", "day", "part"])
    (method,) = evaluate.with_steps(record["advised"], then="LogisticRegression")
    _, chosen = evaluate.tuned(
        method, rows, visits["kind"].to_numpy(), score="auc", groups=visits["patient"]
    )
    assert fitted["chosen"] == chosen
    said = run("fit", "flowers.csv", *base, "-o", "a.model", code=2).stderr
    assert "--group says how settings are chosen: give --tune with it" in said
