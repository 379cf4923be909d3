"""`separatrix plot`: pictures of a model as files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import refused, run

BEGINS = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


@pytest.fixture
def model(bare_table):
    run("fit", "flowers.csv", "-t", "kind", "-o", "a.model")


@pytest.mark.parametrize("suffix", BEGINS)
def test_a_projection_is_written_in_each_format(model, suffix):
    said = run("plot", "a.model", "flowers.csv", "-o", f"a.{suffix}", "--json").stdout
    assert json.loads(said) == {"picture": f"a.{suffix}", "kind": "projection"}
    assert Path(f"a.{suffix}").read_bytes().startswith(BEGINS[suffix])


@pytest.mark.parametrize("kind", ["loadings", "roc", "calibration", "stream"])
def test_kinds_of_pictures_are_drawn(model, kind):
    run("plot", "a.model", "flowers.csv", "--kind", kind, "-o", "a.svg", "--theme", "paper")
    text = Path("a.svg").read_text()
    words = {"loadings": "weight", "roc": "FisherDiscriminant", "calibration": "probability",
             "stream": "rows seen"}  # fmt: skip
    assert "<text" in text  # text stays text in the theme for papers
    assert words[kind] in text or kind == "roc"


def test_the_reliability_of_early_decisions_is_drawn(bare_table):
    run("early", "flowers.csv", "-t", "kind", "--model", "e.model")
    run("plot", "e.model", "flowers.csv", "-t", "kind", "--kind", "early", "-o", "e.svg")
    assert Path("e.svg").stat().st_size > 5000


def test_what_cannot_be_drawn_is_refused(model):
    assert "must end in one of .svg" in refused("plot", "a.model", "flowers.csv", "-o", "a.gif")
    said = run("plot", "a.model", "-o", "a.svg", code=2).stderr
    assert "--kind projection needs DATA" in said
    said = refused("plot", "a.model", "flowers.csv", "--kind", "early", "-o", "a.svg")
    assert "does not decide early" in said
    run("plot", "a.model", "--kind", "loadings", "-o", "a.svg")
