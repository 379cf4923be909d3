"""`separatrix features`: the list of a table, of a model, and of a merged model."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from tests.cli.running import refused, run


@pytest.fixture
def genes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 15))
    kind = np.where(X[:, :7].sum(axis=1) + rng.logistic(size=400) > 0, "ill", "well")
    frame = pd.DataFrame(X, columns=[f"g{j}" for j in range(15)]).assign(kind=kind)
    frame.to_csv("genes.csv", index=False)
    return frame


def test_a_table_and_a_merged_model_give_one_list(genes):
    record = json.loads(run("features", "genes.csv", "--fdr", "0.2", "--json").stdout)
    assert set(record["features"]) >= {f"g{j}" for j in range(7)}
    assert len(record["evidence"]) == len(record["features"])
    for i in range(3):
        genes[i::3].to_csv(f"s{i}.csv", index=False)
        run("fit", f"s{i}.csv", "-o", f"s{i}.model", "-q")
    run("merge", *[f"s{i}.model" for i in range(3)], "-o", "all.model", "-q")
    merged = json.loads(run("features", "all.model", "--fdr", "0.2", "--json").stdout)
    assert merged["features"] == record["features"]


def test_the_list_is_written_to_a_file(genes):
    text = run("features", "genes.csv", "--fdr", "0.2", "-o", "list.csv").stdout
    listed = pd.read_csv("list.csv")
    assert list(listed.columns) == ["feature", "evidence"]
    assert text.startswith(f"{len(listed)} of 15 features: at most 20 % of those selected")


def test_a_database_is_asked_for_its_sums(genes):
    pytest.importorskip("duckdb")
    found = run("features", "duckdb:genes.csv", "-t", "kind", "--fdr", "0.2")
    assert "No row was read" in found.stderr
    assert found.stdout == run("features", "genes.csv", "--fdr", "0.2").stdout


def test_nothing_is_said_to_be_nothing(genes):
    genes.assign(kind=np.resize(["a", "b"], 400)).to_csv("none.csv", index=False)
    assert "nothing can be selected" in run("features", "none.csv").stdout


def test_models_without_moments_are_refused(genes):
    run("fit", "genes.csv", "-m", "LDG", "-o", "ldg.model", "-q")
    assert "has no class moments to ask" in refused("features", "ldg.model")
