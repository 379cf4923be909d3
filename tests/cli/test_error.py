"""`separatrix error`, and the line that info, merge and stream print."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.cli.running import flowers, run


@pytest.fixture
def two_sites():
    frame = flowers(n=400, n_classes=2)
    for name in ("v0", "v1", "v2"):  # classes that overlap
        frame[name] += 3 * np.random.default_rng(0).standard_normal(400)
    frame = frame.drop(columns="plant")
    frame.to_csv("all.csv", index=False)
    for i in range(2):
        frame[i::2].to_csv(f"s{i}.csv", index=False)
        run("fit", f"s{i}.csv", "-o", f"s{i}.model", "-q")
    return frame


def test_a_merged_model_says_its_error_and_how_many_rows_it_needs(two_sites):
    merged = run("merge", "s0.model", "s1.model", "-o", "all.model").stdout.splitlines()[-1]
    assert merged.startswith("Expected error: ")
    assert merged in run("info", "all.model").stdout
    assert merged.removeprefix("Expected") in run("error", "all.model").stdout
    record = json.loads(
        run("error", "all.model", "--rows", "800", "--goal", "0.001", "--json").stdout
    )
    assert record["low"] < record["error"] < record["high"]
    assert record["rows_needed"] is None
    text = run("error", "all.model", "--rows", "800", "--goal", "0.5").stdout
    assert "with 800 rows" in text
    assert "50 % are expected with 400 rows" in text
    never = run("error", "all.model", "--goal", "0.001").stdout
    assert "0.1 % are not expected with any number of rows" in never


def test_a_stream_says_it_at_the_end(two_sites):
    text = run("stream", "all.csv", "-o", "stream.model").stdout
    assert text.splitlines()[-1].startswith("Expected error: ")


def test_several_classes_are_said_not_to_be_known(table):
    run("fit", "flowers.csv", "--id", "plant", "-o", "a.model", "-q")
    assert "not known from moments" in run("info", "a.model").stdout


def test_methods_without_a_linear_rule_of_moments_have_no_such_line(table):
    for method in ("LDG", "QuadraticDiscriminant"):
        run("fit", "flowers.csv", "--id", "plant", "-m", method, "-o", "a.model", "-q")
        assert "Expected error" not in run("info", "a.model").stdout
