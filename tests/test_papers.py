"""The tables of the sources: how they are read, run again and judged."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import pytest

from separatrix.cli_reproduce import papers, part
from separatrix.originals import MissingData

PAPERS = papers()
compare = part("compare")

EXAMPLE = """
title = "Nobody, An example (2000)"

[[table]]
id = "table1"
title = "Three methods on two sets"
page = 7
protocol = "Ten repeats."
needs = ["first"]
repeats = 10
decisions = { "b" = 100 }
missing = { "b / Z" = "Z is not described" }

[table.published]
"a" = { "X" = 90.10, "Y" = [80, 2] }
"b" = { "X" = 70.5, "Y" = 60.0, "Z" = 50 }

[[table.claim]]
says = "X is better than Y"
left = "X"
right = "Y"
"""


@pytest.fixture
def example(tmp_path):
    folder = tmp_path / "example"
    folder.mkdir()
    (folder / "published.toml").write_text(EXAMPLE)
    return folder


def source(measured=None, pieces=None):
    """A source as a module: each repeat of each row gives its number."""
    rows = pieces or [PAPERS.Piece(row, repeat, repeat) for row in "ab" for repeat in range(3)]

    def measure(table, piece, data):
        if measured is not None:
            measured.append(piece)
        data("first")
        value = (90 if piece.row == "a" else 70) + piece.repeat
        return [PAPERS.Figure(piece.row, "X", piece.repeat, value)]

    return lambda name: SimpleNamespace(pieces=lambda table, quick: rows, measure=measure)


def test_a_source_is_read_with_the_digits_that_are_printed(example):
    (table,) = PAPERS.tables_of(example)
    assert table.name == "example/table1"
    assert table.published["a"]["X"] == (90.1, None, 2)
    assert table.published["a"]["Y"] == (80.0, 2.0, 0)
    assert table.published["b"]["Y"] == (60.0, None, 1)
    assert PAPERS.title_of(example) == "Nobody, An example (2000)"


def test_an_interrupted_run_goes_on_after_the_last_whole_piece(example, tmp_path):
    tables = PAPERS.tables_of(example)
    path = tmp_path / "pieces.jsonl"
    whole, _ = PAPERS.rerun(tables, lambda name: None, results=path, source=source())
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 6
    path.write_bytes(b"".join(lines[:4]) + lines[4][:20])
    measured = []
    again, _ = PAPERS.rerun(tables, lambda name: None, results=path, source=source(measured))
    assert again == whole
    assert [(p.row, p.repeat) for p in measured] == [("b", 0), ("b", 1), ("b", 2)]
    assert path.read_bytes() == b"".join(lines)
    assert whole["example/table1"]["a"]["X"] == (91.0, 1.0, 3)


def test_rows_without_data_are_left_out_and_tried_again(example, tmp_path):
    def nothing(name):
        raise MissingData(f"{name} is not here")

    tables, path = PAPERS.tables_of(example), tmp_path / "pieces.jsonl"
    cells, left_out = PAPERS.rerun(tables, nothing, results=path, source=source())
    assert cells == {"example/table1": {}}
    assert left_out == {"example/table1": {"a": "first is not here", "b": "first is not here"}}
    cells, left_out = PAPERS.rerun(tables, lambda name: None, results=path, source=source())
    assert cells["example/table1"]["b"]["X"].n == 3
    assert left_out == {"example/table1": {}}


def test_numbers_that_are_none_are_refused(example):
    bad = SimpleNamespace(
        pieces=lambda table, quick: [PAPERS.Piece("a")],
        measure=lambda table, piece, data: [PAPERS.Figure("a", "X", 0, math.nan)],
    )
    with pytest.raises(ValueError, match="example/table1 gave nan for a / X"):
        PAPERS.rerun(PAPERS.tables_of(example), None, source=lambda name: bad)


def test_figures_are_kept_beside_those_of_other_tables(example):
    cells = {"a": {"X": PAPERS.Mean(1 / 3, 0.25, 4)}}
    PAPERS.store(example, {"table1": cells})
    (example / "published.toml").write_text(
        EXAMPLE.replace("table1", "table2") + EXAMPLE.partition("\n\n")[2]
    )
    PAPERS.store(example, {"table2": cells})
    assert PAPERS.stored(example) == {
        name: {"a": {"X": (0.333333, 0.25, 4)}} for name in ("table2", "table1")
    }
    assert json.loads((example / "results.json").read_text())["table1"]["versions"]["numpy"]


def test_two_numbers_differ_beyond_two_standard_errors(example):
    (table,) = PAPERS.tables_of(example)
    rounding = 0.01 / math.sqrt(12)
    # spread of ours: 3 over 9 repeats here and, taken for theirs, over 10 printed ones
    error = math.hypot(3 / 3, 3 / math.sqrt(10), rounding)
    for gap, verdict, side in [(1.99, "holds", ""), (2.01, "differs", "ahead")]:
        cells = {"a": {"X": PAPERS.Mean(90.1 + gap * error, 3.0, 9)}}
        cell = compare.judged(table, cells)[0]
        assert cell.error == pytest.approx(error)
        assert (cell.verdict, cell.side) == (verdict, side)
        mirrored = compare.judged(table, {"a": {"X": PAPERS.Mean(90.1 - gap * error, 3.0, 9)}})[0]
        assert (mirrored.verdict, mirrored.side) == (verdict, side and "behind")
        less = compare.judged(table._replace(lower=True), cells)[0]
        assert (less.verdict, less.side) == (verdict, side and "behind")
