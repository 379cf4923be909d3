"""The tutorial: every command and every line of Python is run, in the order of the page."""

from __future__ import annotations

import doctest
import json
import re
import shlex
import shutil
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from separatrix.cli.program import program
from tests.cli.running import run

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r"\.\. code-block:: (python|console)\n\n((?:   .*\n|\n)+)")


def blocks(page):
    text = (DOCS / page).read_text("utf-8")
    for kind, body in BLOCK.findall(text):
        yield kind, re.sub(r"^   ", "", body, flags=re.MULTILINE)


def commands(body):
    return [shlex.split(line[2:], comments=True) for line in body.splitlines() if line[:2] == "$ "]


def test_the_tutorial_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for table in (DOCS / "tutorial").glob("*.csv"):
        shutil.copy(table, tmp_path)
    notebook = json.loads((DOCS / "tutorial" / "tutorial.ipynb").read_text("utf-8"))
    printed = {}
    for cell in notebook["cells"]:
        code = "".join(cell["source"])
        if cell["cell_type"] == "code" and code[0] != "!":
            exec(compile(code, "tutorial.ipynb", "exec"), {})
        elif cell["cell_type"] == "code":
            for name, command, *rest in commands(re.sub("^!", "$ ", code, flags=re.MULTILINE)):
                assert name == "separatrix"
                printed[command] = run(command, *rest)
    used = "look compare fit info plot predict transform stream merge early error"
    assert list(printed) == used.split()
    assert "wine.html" in printed["compare"].stdout
    assert "labels are as predicted" in printed["predict"].stderr
    assert len(pd.read_csv("plane.csv")) == 48
    assert "confidence 0.95" in printed["error"].stdout
    assert float(capsys.readouterr().out.splitlines()[0]) > 0.9


def test_the_files_of_the_tutorial_are_as_the_script_writes_them():
    path = DOCS / "make_tutorial.py"
    spec = spec_from_file_location("make_tutorial", path)
    make_tutorial = module_from_spec(spec)
    spec.loader.exec_module(make_tutorial)
    kept = DOCS / "tutorial"
    for name, table in make_tutorial.make_tables().items():
        assert_frame_equal(pd.read_csv(kept / name), table.reset_index(drop=True))
    page = make_tutorial.make_notebook((DOCS / "tutorial.rst").read_text("utf-8"))
    assert (kept / "tutorial.ipynb").read_text("utf-8") == page + "\n", (
        "docs/tutorial is old: run python docs/make_tutorial.py"
    )


PAGES = ["index", "choose", "install", "text", "eeg", "proteins", "spectra"]


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_have_options_that_exist(page):
    shown = [
        c for kind, body in blocks(f"{page}.rst") if kind == "console" for c in commands(body)
    ]
    assert shown
    for name, *rest in shown:
        if name != "separatrix":
            assert (name, rest[0]) == ("pip", "install")
            continue
        known = {o for p in program.commands[rest[0]].params for o in (*p.opts, *p.secondary_opts)}
        assert {word for word in rest if re.match(r"--?[a-z]", word)} <= known, rest


SESSIONS = sorted(page.name for page in DOCS.glob("*.rst") if "\n>>> " in page.read_text("utf-8"))


@pytest.mark.parametrize("page", SESSIONS)
def test_what_a_page_shows_of_python_is_what_python_prints(page):
    found = doctest.testfile(str(DOCS / page), module_relative=False, encoding="utf-8")
    assert found.attempted
    assert not found.failed


NAMED_FILE = re.compile(r"``((?:tests|examples|docs|benchmarks)/[\w/]+\.py)``")


def test_files_that_the_manual_names_exist():
    pages = [*DOCS.glob("*.rst"), *DOCS.parent.glob("*.md")]
    named = {name for page in pages for name in NAMED_FILE.findall(page.read_text("utf-8"))}
    assert len(named) > 10
    assert sorted(name for name in named if not (DOCS.parent / name).exists()) == []


def test_every_extra_has_its_line():
    text = (DOCS / "install.rst").read_text()
    settings = (DOCS.parent / "pyproject.toml").read_text()
    for extra in ("app", "plot", "parquet", "excel", "dask", "zarr", "onnx", "sql"):
        assert f"``{extra}``" in text
        assert re.search(rf"^{extra} = ", settings, re.MULTILINE)
