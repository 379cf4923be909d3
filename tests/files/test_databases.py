"""Rows of databases as data frames."""

from __future__ import annotations

import sqlite3

import pandas as pd
import pytest

from separatrix.files.databases import read_database
from separatrix.files.tables import read_table


def test_rows_come_as_they_are(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute("CREATE TABLE t (a DECIMAL(9, 2), b TEXT, c INTEGER)")
        made.execute("INSERT INTO t VALUES (1.25, 'x', 1), (NULL, NULL, 2), (3.5, 'y', NULL)")
    found = read_database(f"duckdb:///{path}?where=c IS NULL OR c < 2")
    assert found["a"].tolist() == [1.25, 3.5]
    assert found["b"].tolist() == ["x", "y"]
    assert pd.isna(found["c"][1])


def test_tables_of_files_and_of_databases_are_read_alike(tmp_path):
    frame = pd.DataFrame({"width": [1.5, 2.0], "kind": [1, 2]})
    frame.to_csv(tmp_path / "a.csv", index=False)
    with sqlite3.connect(tmp_path / "a.db") as made:
        frame.to_sql("a", made, index=False)
    made.close()
    ours = read_table(f"sqlite:///{tmp_path / 'a.db'}")
    theirs = read_table(tmp_path / "a.csv")
    pd.testing.assert_frame_equal(ours.X, theirs.X)
    assert ours.y.tolist() == theirs.y.tolist() == ["1", "2"]
