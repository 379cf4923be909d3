"""`separatrix info`, and what predictions say of rows and labels that are new."""

from __future__ import annotations

import json

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
    assert [len(f["weights"]) for f in record["features"]] == [2, 2]
    assert record["notes"]["rows"] == 60
    assert set(record["features"][0]) == {"name", "weights", "correlations"}


def test_models_of_all_kinds_can_be_asked(bare_table):
    for method in ("KernelIPCAC", "LDG", "DDAGClassifier", "MixtureIPCAC"):
        run("fit", "flowers.csv", "-m", method, "-o", "b.model", "-q")
        assert f"b.model: {method}" in run("info", "b.model").stdout
    save(ClassMoments.from_data(*TALL), "m.model")
    assert "holds statistics of rows, not a model" in refused("info", "m.model")


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
