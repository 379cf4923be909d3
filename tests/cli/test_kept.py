"""Finished folds of a comparison that was ended."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path

import numpy as np

from separatrix.cli.console import Console
from separatrix.cli.kept import choose_results_file, summarize_folds, tell_interruption
from separatrix.evaluate.records import Fold, to_plain

X, Y = np.zeros((3, 2)), np.array(["a", "b", "a"])


def written(*folds):
    lines = [{"separatrix": "comparison"}, *({"key": "k", "fold": to_plain(f)} for f in folds)]
    Path("folds.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def test_the_file_is_beside_the_report_or_in_the_cache_and_that_of_the_data():
    first = choose_results_file(None, X, Y)
    assert Path(first).parent == Path("cache/separatrix").absolute()
    assert choose_results_file(None, X, Y) == first
    assert choose_results_file(None, X + 1, Y) != first
    beside = Path(choose_results_file("page.html", X, Y))
    assert beside.parent == Path().absolute()
    assert beside.name.startswith("page.")
    assert choose_results_file(os.devnull, X, Y) == first  # beside a device nothing is kept


def test_no_file_where_another_run_writes_or_none_can_be_made(monkeypatch):
    first = choose_results_file(None, X, Y)
    with open(first, "ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert choose_results_file(None, X, Y) is None
    assert choose_results_file(None, X, Y) == first
    monkeypatch.setenv("XDG_CACHE_HOME", os.path.join(first, "inside a file"))
    assert choose_results_file(None, X, Y) is None


def test_what_remains_of_a_comparison_is_told(capsys):
    console = Console(as_json=False, quiet=False)
    tell_interruption(console, None, named=False)
    assert capsys.readouterr().err == "No fold was done yet.\n"
    written()
    tell_interruption(console, "folds.jsonl", named=True)
    assert capsys.readouterr() == ("", "No fold was done yet.\n")
    assert Path("folds.jsonl").exists()
    tell_interruption(console, "folds.jsonl", named=False)
    assert not Path("folds.jsonl").exists()
    capsys.readouterr()
    written(Fold("LDA", 0, "done", scores={"accuracy": 0.5}))
    tell_interruption(console, "folds.jsonl", named=False)
    out, err = capsys.readouterr()
    assert "0.500" in out
    assert err.startswith("What is done is in folds.jsonl")
    assert Path("folds.jsonl").exists()


def test_means_and_splits_of_each_method():
    folds = [
        Fold("LDA", 0, "done", scores={"accuracy": 0.5}),
        Fold("raw", 0, "done", scores={"accuracy": 0.9}),
        Fold("LDA", 1, "done", scores={"accuracy": 1.0}),
        Fold("bad", 0, "failed", "no"),
        Fold("LDA", 0, "done", scores={"accuracy": 0.1}),  # a control on the same split
    ]
    assert summarize_folds(folds) == [
        {"name": "LDA", "accuracy": 0.75, "splits": 2},
        {"name": "raw", "accuracy": 0.9, "splits": 1},
        {"name": "bad", "accuracy": None, "splits": 0},
    ]
