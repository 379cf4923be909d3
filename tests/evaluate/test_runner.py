"""Folds that are known, folds to run, and the clock."""

from __future__ import annotations

import json

import pytest

from separatrix.evaluate.comparison import compare
from separatrix.evaluate.fold import Job
from separatrix.evaluate.methods import contenders
from separatrix.evaluate.records import Fold
from separatrix.evaluate.runner import Clock, describe_shares
from separatrix.evaluate.splits import RandomShares
from separatrix.selection import GRID_FOLDS
from tests.evaluate.comparing import CHEAP, Counted, X, Y, without_times


def test_an_interrupted_comparison_goes_on_where_it_was(tmp_path):
    methods = [Counted(), ("again", Counted(1)), "raw"]
    whole = compare(methods, X, Y, cv=RandomShares(3))
    path = tmp_path / "folds.jsonl"

    def interrupt(state):
        if state.done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compare(methods, X, Y, cv=RandomShares(3), results=path, progress=interrupt)
    assert len(path.read_text().splitlines()) == 1 + 4
    cut = path.read_bytes()
    path.write_bytes(cut[:-7])  # in the middle of a line: one fold is lost
    Counted.fits = 0
    told = []
    found = compare(methods, X, Y, cv=RandomShares(3), results=path, progress=told.append)
    assert without_times(found) == without_times(whole)
    # of the six, the two before the third of the nine were there; each competes in inner folds
    assert Counted.fits == 4 * (1 + GRID_FOLDS)
    assert told[0].done == 3
    Counted.fits = 0
    again = compare(methods, X, Y, cv=RandomShares(3), results=path)
    assert (Counted.fits, again) == (0, found)
    more = compare(methods, X, Y, cv=RandomShares(4), results=path)
    assert Counted.fits == 2 * (1 + GRID_FOLDS)
    assert more.methods[0].folds[:3] == found.methods[0].folds


@pytest.mark.parametrize(
    ("reason", "fits"),
    [
        ("the process died: out of memory, or a crash of compiled code", 1),
        ("_ArrayMemoryError: Unable to allocate", 1),
        ("FileNotFoundError: gone", 1),
        ("OSError: no space", 1),
        ("ValueError: wrong: OSError", 0),
    ],
)
def test_what_failed_for_a_passing_reason_is_tried_again(tmp_path, reason, fits):
    path = tmp_path / "folds.jsonl"
    compare([Counted()], X, Y, **CHEAP, results=path)
    head, line, last = path.read_text().splitlines()
    entry = json.loads(line)
    entry["fold"] |= {"status": "failed", "reason": reason, "scores": {}}
    path.write_text("\n".join([head, json.dumps(entry), last]) + "\n")
    for more in (fits, 0):  # what it came to is kept
        Counted.fits = 0
        (method,) = compare([Counted()], X, Y, **CHEAP, results=path).methods
        assert Counted.fits == more
        assert method.status == ("done" if fits else "partial")


def test_a_fit_that_was_stopped_is_tried_again_with_more_time(tmp_path):
    path = tmp_path / "folds.jsonl"
    compare([Counted()], X, Y, **CHEAP, results=path)
    lines = path.read_text().splitlines()
    entry = json.loads(lines[1])
    entry["fold"] |= {"status": "stopped", "reason": "time budget of 50 s", "seconds": 50.0}
    path.write_text("\n".join([lines[0], json.dumps(entry)]) + "\n")
    Counted.fits = 0
    (method,) = compare([Counted()], X, Y, **CHEAP, results=path, budget=50).methods
    assert (method.status, method.n_done) == ("failed", 0)
    assert method.reason == "time budget of 50 s; 0 of 2 splits done"
    (method,) = compare([Counted()], X, Y, **CHEAP, results=path).methods
    assert (method.status, Counted.fits) == ("done", 2)


def test_progress_may_be_switched_on(capsys):
    compare(["LDA", "raw"], X, Y, cv=RandomShares(1), progress=True)
    lines = capsys.readouterr().err.split("\r")
    assert lines[1].split(maxsplit=1)[1].rstrip() == "0 of 2 folds"
    assert "2 of 2 folds" in lines[-1]
    assert lines[-1].endswith("\n")
    compare(["LDA"], X, Y, cv=RandomShares(1), progress=False)
    assert capsys.readouterr().err == ""


def test_progress_may_be_events_that_a_program_reads(capsys):
    compare(["LDA", "raw"], X, Y, cv=RandomShares(2), progress="json")
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(e["method"], e["split"], e["done"], e["total"]) for e in events] == [
        ("LDA", 0, 1, 4), ("raw", 0, 2, 4), ("LDA", 1, 3, 4), ("raw", 1, 4, 4)
    ]  # fmt: skip
    assert events[0]["remaining"] is None  # nothing is known yet of the other method
    assert events[-1]["remaining"] == 0


def test_the_time_to_come_is_told_once_each_method_has_a_fold():
    asked = contenders(["LDA", "raw"])
    todo = [Job(contender, split, 0) for split in range(3) for contender in asked]
    clock = Clock(todo, 6, [], 1)
    clock.ended(todo[0], Fold("LDA", 0, "done", seconds=1.0))
    assert clock.now().remaining is None
    assert describe_shares(clock.now()) == ""
    clock.ended(todo[1], Fold("raw", 0, "done", seconds=3.0))
    now = clock.now()
    assert now.remaining == 2 * 1.0 + 2 * 3.0
    assert now.by_method == {"LDA": 3.0, "raw": 9.0}
    assert describe_shares(now).endswith("8 s in all: raw 75 %, LDA 25 %")
