"""Figures of full runs are kept, and cover what can be rerun."""

from __future__ import annotations

import json

import pytest
from example import EXAMPLE

from separatrix_papers import scoring
from separatrix_papers.figures import Measured
from separatrix_papers.results import read_dates, read_results, store_results
from separatrix_papers.tables import (
    list_sources,
    read_tables,
)

SOURCES = list_sources()


def test_figures_are_kept_beside_those_of_other_tables(example):
    cells = {"a": {"X": Measured(1 / 3, 0.25, 4)}}
    store_results(example, {"table1": cells})
    (example / "published.toml").write_text(
        EXAMPLE.replace("table1", "table2") + EXAMPLE.partition("\n\n")[2]
    )
    store_results(example, {"table2": cells})
    assert read_results(example) == {
        name: {"a": {"X": (0.33333333, 0.25, 4)}} for name in ("table2", "table1")
    }
    assert json.loads((example / "results.json").read_text())["table1"]["versions"]["numpy"]


def test_figures_are_kept_with_the_date_of_the_oldest(example):
    cells = {"a": {"X": Measured(1.0, 0.25, 4)}}
    store_results(example, {"table1": cells}, "2020-01-02T03:04")
    assert read_dates(example) == {"table1": "2020-01-02T03:04"}
    store_results(example, {"table1": cells})
    assert read_dates(example)["table1"] > "2026"
    path = example / "results.json"
    kept = json.loads(path.read_text())
    del kept["table1"]["date"]
    path.write_text(json.dumps(kept))
    assert read_dates(example) == {"table1": ""}


@pytest.mark.parametrize("source", SOURCES)
def test_the_stored_figures_cover_what_can_be_rerun(source):
    kept = read_results(SOURCES[source])
    for table in read_tables(SOURCES[source]):
        if table.id in kept:
            found = scoring.judge_cells(table, kept[table.id])
            open_cells = [(c.row, c.column) for c in found if c.verdict == "not run"]
            assert not open_cells, (table.id, open_cells)
