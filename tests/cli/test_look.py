"""`separatrix look`: the command that it prints runs, and what it keeps is used."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.cli.running import flowers, refused, run
from tests.cli.test_sources import SOURCES
from tests.cli.test_sources import table as plain_table


def messy():
    frame = flowers()
    frame.insert(1, "patient", [f"p{i // 4}" for i in range(60)])
    frame.loc[3, "v1"] = None
    frame.to_csv("t.txt", index=False, sep=";", decimal=",")


def test_the_command_that_is_printed_runs_at_once():
    messy()
    found = json.loads(run("look", "t.txt", "--json").stdout)
    program, *command = shlex.split(found["command"])
    assert program == "separatrix"
    done = run(*command, "--splits", "2", "--methods", "LDA", "--json")
    assert json.loads(done.stdout)["rows"] == 60
    assert "Next: separatrix compare t.txt -t kind" in run("look", "t.txt").stdout


def test_what_is_found_is_kept_for_all_commands():
    messy()
    run("look", "t.txt", "--save")
    run("fit", "t.txt", "--missing", "median", "--ignore", "patient", "-o", "a.model")
    assert json.loads(run("info", "a.model", "--json").stdout)["n_features"] == 3
    # a second look reads by what was kept
    again = json.loads(run("look", "t.txt", "--json").stdout)
    assert again["reading"]["decimal"] == ","


def test_the_page_shows_text_as_text():
    frame = flowers()
    frame["kind"] = frame["kind"].replace("ash", "<script>alert(1)</script>")
    frame.to_csv("t.csv", index=False)
    run("look", "t.csv", "--html", "t.html")
    page = Path("t.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "http" not in page


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_is_looked_at(source):
    pytest.importorskip({"parquet": "pyarrow", "excel": "openpyxl"}.get(source, "pandas"))
    write, data = SOURCES[source]
    write(plain_table())
    found = json.loads(run("look", *data, "--json").stdout)
    assert sorted(found["classes"].values()) in ([12, 12, 24], [50, 50, 50])
    assert found["n_features"] in (3, 4)


def test_a_line_that_is_too_short_is_no_gap(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b,kind\n1,2,x\n2,3,x\n3,9\n4,5,y\n5,6,y\n")
    assert "line 4 has 2 values" in refused("look", "t.csv")
