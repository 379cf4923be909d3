"""The manual is made of the stored figures."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from separatrix_papers import scoring, show
from separatrix_papers.figures import Measured
from separatrix_papers.tables import (
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
    assert '"all", "5", "1", "1", "1", "0", "1", "1", "2", "0", "5", "0", "2", "0", "0"' in text
    assert show.describe_counts(derived["counts"], True).startswith(
        "Of 5 numbers that follow from what"
    )
    assert "Of 5 printed numbers 1 agree" in show.describe_result(printed)
    assert show.pair_numbers([derived]) == {}
    assert show.pair_numbers([printed, derived]) == {
        "holds": [(90.1, 90.1)],
        "differs": [(80, 50)],
    }


def test_numbers_that_are_shown_only_are_not_said_to_be_none(example):
    (table,) = read_tables(example)
    record = scoring.build_record(table._replace(shown_only={"a": "why", "b": "why"}), {})
    assert show.describe_counts(record["counts"]) == "No number is counted."
    record = scoring.build_record(table._replace(published={}), {})
    assert show.describe_counts(record["counts"]) == "No numbers are printed."


def test_a_source_in_a_minute_says_what_holds_and_what_does_not(example):
    (table,) = read_tables(example)
    cells = {
        "a": {"X": Measured(90.1, 0.1, 9), "Y": Measured(50.0, 0.1, 9)},
        "b": {"X": Measured(80.0, 0.1, 9), "Y": Measured(40.0, 0.1, 9)},
    }
    record = scoring.build_record(table, cells)
    numbers, behind, holds, *rest = show.describe_source([record])
    assert numbers.says == (
        "Of 5 printed numbers 1 agree (1 to the last digit), 1 are better here, "
        "2 are worse here, 1 cannot be rerun."
    )
    assert holds.about == "1 claim holds"
    assert behind == (
        "Worse here",
        "2 numbers are worse than printed. Off as a whole, the furthest first:",
        ["Y (example/table1)"],
    )
    assert rest == [("Not rerun", f"1 number, because {table.missing['b / Z']}.", [])]
    turned = scoring.build_record(table, {"a": {"X": Measured(40.0, 1, 9), "Y": cells["a"]["Y"]}})
    failed = {point.about: point for point in show.describe_source([turned])}
    (claim,) = failed["1 claim does not hold"].examples
    assert claim.startswith("“X is better than Y”: 40 against 50 of Y")


def test_a_reason_is_shown_only_while_a_method_is_behind(example):
    (table,) = read_tables(example)
    table = table._replace(because={"Y": "it was cut short", "X": "never shown"})
    low, high = (
        {row: {"X": Measured(90.1, 0.1, 9), "Y": Measured(y, 0.1, 9)} for row in ("a", "b")}
        for y in (40.0, 99.0)
    )
    record = scoring.build_record(table, low)
    assert show.describe_source([record])[1].examples == ["Y (example/table1): it was cut short"]
    assert "why Y is behind: it was cut short" in show.list_remarks(record)
    for cells in (low, high):
        remarks = show.list_remarks(scoring.build_record(table, cells))
        assert not any("never shown" in remark for remark in remarks)
    assert not any("cut short" in r for r in show.list_remarks(scoring.build_record(table, high)))


def test_methods_with_one_reason_are_named_together(example):
    (table,) = read_tables(example)
    table = table._replace(because={"X": "one reason", "Y": "one reason"})
    cells = {r: {c: Measured(10.0, 0.1, 9) for c in ("X", "Y")} for r in ("a", "b")}
    remarks = show.list_remarks(scoring.build_record(table, cells))
    assert any(remark.endswith("are behind: one reason") for remark in remarks)


def test_claims_about_settings_of_today_are_not_counted(example):
    (table,) = read_tables(example)
    own = table.claims[0]._replace(ours=True, says="today's X is better than Y")
    cells = {"a": {"X": Measured(90.1, 0.1, 9), "Y": Measured(50.0, 0.1, 9)}}
    record = scoring.build_record(table._replace(claims=[*table.claims, own]), cells)
    assert [claim["says"] for claim in show.list_claims([record])] == ["X is better than Y"]
    assert "1 claim holds" in [point.about for point in show.describe_source([record])]


def test_tables_that_changes_concern_are_named_as_old():
    found = manual().find_older("ldg", {"table3.3": "", "figure3.3": ""})
    assert list(found.values()) == [["table3.3"]]
    assert manual().find_older("ldg", {"table3.3": "9999-01-01T00:00"}) == {}


def test_figures_that_other_pages_quote_have_a_place_there():
    make_papers = manual()
    pages = make_papers.quoting_pages()
    assert set(pages) == {quote.page for quote in make_papers.QUOTES}
    for quote in make_papers.QUOTES:
        table = make_papers.quote_table(quote)
        assert table in pages[quote.page]
        lines = [line for line in table.splitlines() if line.startswith('   "')]
        assert len(lines) == len(quote.methods)
        assert all(any(mark.isdigit() for mark in line.split('", "')[-1]) or "±" in line
                   for line in lines)  # fmt: skip


def test_tables_with_fewer_repeats_than_planned_are_named():
    kept = {
        "section4.1": {"pancakes": {"IPCAC": Measured(90.0, 1.0, 19)}},
        "table6.4": {"END": {"SVM": Measured(0.5, 0.0, 1)}},
    }
    assert manual().find_cut_short("ipcac", kept) == ["section4.1"]


def test_claims_to_know_first_exist_and_are_shown_with_their_figures():
    make_papers = manual()
    records = {name: make_papers.records_of(f) for name, f in make_papers.list_sources().items()}
    text = make_papers.describe_highlights(records)
    assert text.count("\n- ") == len(make_papers.HIGHLIGHTS)
    assert "Holds:" in text
    assert "Does not hold:" in text


def test_totals_are_drawn(example, tmp_path):
    (table,) = read_tables(example)
    show.draw_totals({"example": [scoring.build_record(table, {})]}, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1000
