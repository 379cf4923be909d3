"""`separatrix info`, and what predictions say of rows and labels that are new."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from separatrix import ClassMoments, save
from tests.cli.running import refused, run
from tests.discovery import TALL


def test_a_model_says_what_it_is(table):
    run("fit", "flowers.csv", "--id", "plant", "-o", "a.model", "-q")
    text = run("info", "a.model").stdout
    assert text.startswith("a.model: FisherDiscriminant\n  StandardScaler()\n")
    assert "Learned from 60 rows, 3 features, 3 classes of column 'kind'" in text
    assert "Classes: ash (15), birch (15), cedar (30)" in text
    assert "Data: flowers.csv, 20" in text
    record = json.loads(run("info", "a.model", "--features", "2", "--json").stdout)
    assert [f["direction"] for f in record["features"]] == [1, 1, 2, 2]
    assert abs(record["features"][0]["weight"]) == 1.0
    assert record["notes"]["rows"] == 60
    assert set(record["features"][0]) == {"direction", "name", "weight", "correlation"}


def test_a_model_of_many_classes_is_readable(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(200) % 50
    frame = pd.DataFrame(rng.normal(size=(200, 60)) + y[:, None] * rng.normal(size=60))
    frame.add_prefix("v").assign(kind=[f"k{i}" for i in y]).to_csv("t.csv", index=False)
    run("fit", "t.csv", "-m", "pls-da", "-o", "a.model", "-q")
    text = run("info", "a.model").stdout
    assert len(text.splitlines()) < 35
    assert "and 30 more" in text
    assert "more directions (--directions)" in text
    found = json.loads(run("info", "a.model", "--directions", "1", "--json").stdout)["features"]
    assert len(found) == 3
    assert all(feature["importance"] > 0 for feature in found)


def test_models_of_all_kinds_can_be_asked(bare_table):
    for method in ("KernelIPCAC", "LDG", "DDAGClassifier", "MixtureIPCAC"):
        run("fit", "flowers.csv", "-m", method, "-o", "b.model", "-q")
        assert f"b.model: {method}" in run("info", "b.model").stdout
    save(ClassMoments.from_data(*TALL), "m.model")
    assert "holds statistics of rows, not a model" in refused("info", "m.model")


def test_a_merged_model_names_the_data_of_all_its_sites(bare_table):
    for i, rows in enumerate((bare_table[::2], bare_table[1::2])):
        rows.to_csv(f"s{i}.csv", index=False)
        run("fit", f"s{i}.csv", "-o", f"s{i}.model", "-q")
    run("merge", "s0.model", "s1.model", "-o", "all.model", "-q")
    text = run("info", "all.model").stdout
    assert "Learned from 60 rows" in text
    assert "Data: s0.csv, s1.csv, 20" in text
    run("merge", "all.model", "--without", "s1.model", "-o", "rest.model", "-q")
    assert "Data: s0.csv, s1.csv, without s1.csv, 20" in run("info", "rest.model").stdout


def test_an_early_model_has_the_weights_of_its_classifier_of_complete_rows(bare_table):
    run("early", "flowers.csv", "--model", "e.model", "-q")
    run("fit", "flowers.csv", "--no-scale", "-o", "a.model", "-q")
    early, complete = (
        json.loads(run("info", path, "--json").stdout) for path in ("e.model", "a.model")
    )
    assert early["method"] == "EarlyClassifier"
    assert early["features"] == complete["features"]
    text = run("info", "e.model").stdout
    assert "EarlyClassifier(estimator=FisherDiscriminant(" in text
    assert "Data: flowers.csv, 20" in text


def test_a_model_of_words_lists_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [
        f"{'win money' if i % 2 else 'see you'} {'now' if i % 3 else 'later'},{i % 2}"
        for i in range(20)
    ]
    (tmp_path / "mails.csv").write_text("\n".join(["mail,kind", *lines]))
    run("fit", "mails.csv", "--text", "mail", "-o", "words.model", "-q")
    found = json.loads(run("info", "words.model", "--features", "4", "--json").stdout)
    assert {f["name"] for f in found["features"]} == {"win", "money", "see", "you"}


def test_rows_and_labels_that_are_new_are_named(bare_table):
    run("fit", "flowers.csv", "-o", "a.model", "-q")
    assert run("predict", "a.model", "flowers.csv", "-o", "f.csv").stderr.count("\n") == 1
    new = bare_table[:20].copy()
    new.loc[4, "v1"] = 1e4
    new.loc[7, "kind"] = "oak"
    new.to_csv("new.csv", index=False)
    found = run("predict", "a.model", "new.csv", "--json")
    assert "1 of these have a label that the model never saw ('oak')" in found.stderr
    assert "1 of 20 rows are unlike all rows that the model has learned" in found.stderr
    record = json.loads(found.stdout)
    assert record["unlike"] == [5]


def test_a_choice_that_was_not_made_is_not_shown(bare_table):
    run("fit", "flowers.csv", "-m", "KernelIPCAC", "-o", "b.model", "-q")
    assert "Chosen: by=rows left out" in run("info", "b.model").stdout
