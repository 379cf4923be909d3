"""Commands take databases where they take tables."""

from __future__ import annotations

import sqlite3

import pandas as pd
import pytest
from numpy.testing import assert_allclose

from separatrix import load
from tests.cli.running import refused, run
from tests.moments.databases import fill


@pytest.fixture
def database(table):
    with sqlite3.connect("f.db") as made:
        fill(made, "flowers", table)
    made.close()
    return "sqlite:///f.db?table=flowers"


@pytest.mark.parametrize("scaling", ["--scale", "--no-scale"])
def test_a_fit_to_sums_is_a_fit_to_rows(database, table, scaling):
    target = table.columns[-1]
    how = ("-t", target, "--ignore", "plant", scaling, "--set", "shrinkage=moments")
    said = run("fit", database, *how, "-o", "sums.model")
    assert "No row was read" in said.stderr
    run("fit", "flowers.csv", *how, "-o", "rows.model")
    X = table.drop(columns=["plant", target])
    found, expected = (load(f"{kind}.model").decision_function(X) for kind in ("sums", "rows"))
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    run("merge", "sums.model", "rows.model", "-o", "both.model")


def test_methods_that_need_rows_read_them(database, table):
    target = table.columns[-1]
    method = ("-m", "LDG")
    run("fit", database, "-t", target, "--ignore", "plant", *method, "-o", "a.model")
    run("fit", "flowers.csv", "-t", target, "--ignore", "plant", *method, "-o", "b.model")
    run("predict", "a.model", database, "-o", "a.csv")
    run("predict", "b.model", "flowers.csv", "-o", "b.csv")
    pd.testing.assert_frame_equal(pd.read_csv("a.csv"), pd.read_csv("b.csv"))


def test_files_by_duckdb_compared(table):
    pytest.importorskip("duckdb")
    said = run("compare", "duckdb:flow*.csv", "--ignore", "plant", "--methods",
               "FisherDiscriminant", "--splits", "2", "--json").stdout  # fmt: skip
    assert "FisherDiscriminant" in said
    query = "duckdb:?query=SELECT * FROM 'flowers.csv' LIMIT 40"
    said = run("fit", query, "--ignore", "plant", "-o", "a.model").stdout
    assert "learned 40 rows" in said


def test_mistakes_are_told_in_words(database, table):
    assert "no column 'kinds'" in refused("fit", database, "-t", "kinds", "-o", "m")
    assert "holds no numbers" in refused("fit", database, "-t", table.columns[-1], "-o", "m")
    assert "no such table: nothing" in refused("fit", "sqlite:///f.db?table=nothing", "-o", "m")
    assert "there is no database no.db" in refused("fit", "sqlite:///no.db", "-o", "m")
    one = "sqlite:///f.db?query=SELECT 1.5 AS x, 'a' AS kind UNION ALL SELECT 2.5, 'a'"
    assert "has only the label 'a'" in refused("fit", one, "-o", "m")
    each = "sqlite:///f.db?query=SELECT 1 AS x, 1 AS y UNION SELECT 2, 2 UNION SELECT 3, 3"
    assert "looks like an identifier" in refused("fit", each, "-o", "m")
