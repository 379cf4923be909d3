"""The manual is made of the stored figures."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from separatrix.papers import scoring, show
from separatrix.papers.figures import Measured
from separatrix.papers.tables import (
    read_tables,
)

ROOT = Path(__file__).parent.parent.parent


def manual():
    """The script that writes the pages."""
    spec = importlib.util.spec_from_file_location("make_papers", ROOT / "docs" / "make_papers.py")
    make_papers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make_papers)
    return make_papers


def test_the_manual_is_up_to_date_with_the_stored_figures():
    for name, text in manual().pages().items():
        assert (ROOT / "docs" / name).read_text("utf-8") == text, (
            f"docs/{name} is old: run python docs/make_papers.py"
        )


def test_what_nobody_printed_stays_out_of_the_totals(example):
    make_papers = manual()
    (table,) = read_tables(example)
    cells = {"a": {"X": Measured(90.1, 0.1, 9), "Y": Measured(50.0, 0.1, 9)}}
    printed = scoring.build_record(table, cells)
    derived = scoring.build_record(table._replace(derived=True), cells)
    text = make_papers.summary({"example": [printed, derived]}, {"example": "An example"})
    assert '"all", "5", "1", "1", "1", "0", "1", "1", "2", "0", "5", "0", "2", "0"' in text
    assert show.describe_counts(derived["counts"], True).startswith(
        "Of 5 numbers that follow from what"
    )
    assert "Of 5 printed numbers 1 hold" in show.describe_result(printed)
    assert show.pair_numbers([derived]) == {}
    assert show.pair_numbers([printed, derived]) == {
        "holds": [(90.1, 90.1)],
        "differs": [(80, 50)],
    }
