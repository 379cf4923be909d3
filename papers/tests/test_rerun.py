"""Tables are run again piece by piece, and interrupted runs go on."""

from __future__ import annotations

import json
import math
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.utils import Bunch

from separatrix_papers.figures import Figure, Piece
from separatrix_papers.originals import MissingData
from separatrix_papers.rerun import find_oldest_date, rerun
from separatrix_papers.tables import (
    list_sources,
    read_tables,
)

SOURCES = list_sources()


def source(measured=None, pieces=None):
    """A source as a module: each repeat of each row gives its number."""
    rows = pieces or [Piece(row, repeat, repeat) for row in "ab" for repeat in range(3)]

    def measure(table, piece, data):
        if measured is not None:
            measured.append(piece)
        data("first")
        value = (90 if piece.row == "a" else 70) + piece.repeat
        return [Figure(piece.row, "X", piece.repeat, value)]

    return lambda name: SimpleNamespace(list_pieces=lambda table, quick: rows, measure=measure)


def test_an_interrupted_run_goes_on_after_the_last_whole_piece(example, tmp_path):
    tables = read_tables(example)
    path = tmp_path / "pieces.jsonl"
    whole, _ = rerun(tables, lambda name: None, results=path, source=source())
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 6
    path.write_bytes(b"".join(lines[:4]) + lines[4][:20])
    measured = []
    again, _ = rerun(tables, lambda name: None, results=path, source=source(measured))
    assert again == whole
    assert [(p.row, p.repeat) for p in measured] == [("b", 0), ("b", 1), ("b", 2)]
    for new, old in zip(path.read_bytes().splitlines(), lines, strict=True):
        assert {**json.loads(new), "date": ""} == {**json.loads(old), "date": ""}
    assert whole["example/table1"]["a"]["X"] == (91.0, 1.0, 3)


def test_the_oldest_piece_dates_the_figures(example, tmp_path):
    tables, path = read_tables(example), tmp_path / "pieces.jsonl"
    assert find_oldest_date(None, ["example/table1"]) is None
    rerun(tables, lambda name: None, results=path, source=source())
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[3]["date"] = "2001-01-01T00:00"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert find_oldest_date(path, ["example/table1"]) == "2001-01-01T00:00"
    assert find_oldest_date(path, ["example/table2"]) == ""
    del lines[4]["date"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert find_oldest_date(path, ["example/table1"]) == ""


def test_rows_without_data_are_left_out_and_tried_again(example, tmp_path):
    def nothing(name):
        raise MissingData(f"{name} is not here")

    tables, path = read_tables(example), tmp_path / "pieces.jsonl"
    cells, left_out = rerun(tables, nothing, results=path, source=source())
    assert cells == {"example/table1": {}}
    assert left_out == {"example/table1": {"a": "first is not here", "b": "first is not here"}}
    cells, left_out = rerun(tables, lambda name: None, results=path, source=source())
    assert cells["example/table1"]["b"]["X"].n == 3
    assert left_out == {"example/table1": {}}


def test_numbers_that_are_none_are_refused(example):
    bad = SimpleNamespace(
        list_pieces=lambda table, quick: [Piece("a")],
        measure=lambda table, piece, data: [Figure("a", "X", 0, math.nan)],
    )
    with pytest.raises(ValueError, match="example/table1 gave nan for a / X"):
        rerun(read_tables(example), None, source=lambda name: bad)


@pytest.mark.parametrize("source", SOURCES)
def test_every_table_has_its_pieces_and_a_quick_run_is_part_of_it(source):
    module = import_module(f"separatrix_papers.{source}.run")
    for table in read_tables(SOURCES[source]):
        whole = module.list_pieces(table.id, False)
        assert len(set(whole)) == len(whole), table.id
        assert set(module.list_pieces(table.id, True)) <= set(whole), table.id
        assert whole or "*" in table.missing, table.id


def made_up(name):
    """Small data in every form that a source may ask for."""
    rng = np.random.default_rng(0)
    y = np.repeat([1, 2, 3], 30)
    X = rng.standard_normal((90, 20)) + 2.0 * rng.standard_normal((4, 20))[y]
    text = [b"Subject: s%d\n\nword%d word%d common" % (c, c, i % 7) for i, c in enumerate(y)]
    if name == "spamassassin_1800":
        return Bunch(messages=text, y=np.where(y == 1, "ham", "spam"))
    if name in ("khan_srbct", "usps", "mnist_3000") or name.startswith("ucr_"):
        a, b = np.arange(90) % 2 == 0, np.arange(90) % 2 == 1
        return Bunch(X_train=X[a], y_train=y[a], X_test=X[b], y_test=y[b])
    if name in ("sonar", "heart_statlog", "pima_diabetes", "heart_hungarian", "german_credit"):
        y = np.where(y == 3, 1, y)
    return Bunch(X=X, y=y, X_m9=X, X24=X, X_onehot=X)


@pytest.mark.parametrize("source", SOURCES)
def test_the_cheapest_piece_of_a_source_runs_on_made_up_data(source):
    tables = [t for t in read_tables(SOURCES[source]) if "*" not in t.missing]
    table = min(tables, key=lambda t: t.minutes_quick)
    first = import_module(f"separatrix_papers.{source}.run").list_pieces(table.id, True)[:1]
    module = SimpleNamespace(
        list_pieces=lambda table, quick: first,
        measure=import_module(f"separatrix_papers.{source}.run").measure,
    )
    cells, left_out = rerun([table], made_up, quick=True, source=lambda name: module)
    assert left_out == {table.name: {}}
    assert cells[table.name]
