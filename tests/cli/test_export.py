"""`separatrix export`."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pandas as pd

from tests.cli.running import refused, run
from tests.moments.databases import fill


def test_a_model_becomes_a_query(table):
    run("fit", "flowers.csv", "--ignore", "plant", "-o", "a.model")
    run("export", "a.model", "-o", "a.sql", "--dialect", "sqlite", "--table", "flowers")
    connection = sqlite3.connect(":memory:")
    fill(connection, "flowers", table)
    found = pd.read_sql(Path("a.sql").read_text(encoding="utf-8"), connection)
    connection.close()
    run("predict", "a.model", "flowers.csv", "-o", "a.csv")
    assert (found["prediction"] == pd.read_csv("a.csv")["prediction"]).all()


def test_other_forms_and_mistakes(table):
    run("fit", "flowers.csv", "--ignore", "plant", "-o", "a.model")
    run("export", "a.model", "-o", "a.json")
    assert len(json.loads(Path("a.json").read_text(encoding="utf-8"))["classes"]) == 3
    assert "use one of .json" in refused("export", "a.model", "-o", "a.exe")
    assert "is read by this command" in refused("export", "a.model", "-o", "a.model")
