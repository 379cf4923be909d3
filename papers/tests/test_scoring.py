"""The scorer: two numbers differ beyond two standard errors, claims are judged by figures."""

from __future__ import annotations

import math

import numpy as np
import pytest

from separatrix_papers import scoring, show
from separatrix_papers.figures import Measured
from separatrix_papers.tables import Printed, read_tables


def test_two_numbers_differ_beyond_two_standard_errors(example):
    (table,) = read_tables(example)
    rounding = 0.01 / math.sqrt(12)
    # spread of ours: 3 over 9 repeats here and, taken for theirs, over 10 printed ones
    error = math.hypot(3 / 3, 3 / math.sqrt(10), rounding)
    for gap, verdict, side in [(1.99, "holds", ""), (2.01, "differs", "ahead")]:
        cells = {"a": {"X": Measured(90.1 + gap * error, 3.0, 9)}}
        cell = scoring.judge_cells(table, cells)[0]
        assert cell.error == pytest.approx(error)
        assert (cell.verdict, cell.side) == (verdict, side)
        mirrored = scoring.judge_cells(table, {"a": {"X": Measured(90.1 - gap * error, 3.0, 9)}})[
            0
        ]
        assert (mirrored.verdict, mirrored.side) == (verdict, side and "behind")
        less = scoring.judge_cells(table._replace(lower=True), cells)[0]
        assert (less.verdict, less.side) == (verdict, side and "behind")


@pytest.mark.parametrize(
    ("cell", "error"),
    [
        ({"repeats": 10}, math.hypot(2 / math.sqrt(10), 1 / math.sqrt(12))),  # the printed spread
        ({"repeats": None}, 1 / math.sqrt(12)),  # nothing known but the last digit
        (
            {"repeats": None, "decisions": 96},
            math.hypot(10 * math.sqrt(0.1601), 1 / math.sqrt(12)),
        ),
    ],
)
def test_the_error_of_a_printed_number_is_what_is_known_first(example, cell, error):
    table = read_tables(example)[0]._replace(**{"decisions": None, **cell})
    ours = {"a": {"Y": Measured(80.0, 0.0, 2)}}
    judged = {(c.row, c.column): c for c in scoring.judge_cells(table, ours)}["a", "Y"]
    # binomial: (80 % of 96 + 2) / 100 = 0.788 in 100 decisions; 100² p (1 - p) / 100 = 16.7
    expected = (
        error if "decisions" not in cell else math.hypot(math.sqrt(16.7056), 1 / math.sqrt(12))
    )
    assert judged.error == pytest.approx(expected, rel=1e-3)
    assert judged.verdict == "holds"
    assert judged.same


def test_all_right_decisions_leave_an_error():
    assert scoring._binomial_error(100.0, 20, "% accuracy") > 1
    assert scoring._binomial_error(1.0, 20, "share") < 1
    assert scoring._binomial_error(1.0, None, "share") is None


def test_cells_without_figures_say_why(example):
    (table,) = read_tables(example)
    found = {
        (c.row, c.column): c for c in scoring.judge_cells(table, {}, {"a": "first is not here"})
    }
    assert found["a", "X"].verdict == "not run"
    assert found["a", "X"].why == "first is not here"
    assert found["b", "Z"].verdict == "cannot be rerun"
    assert found["b", "Z"].why == "Z is not described"
    # who has what was missing gets a verdict
    measured = scoring.judge_cells(table, {"b": {"Z": Measured(99.0, 0.1, 9)}})[-1]
    assert (measured.verdict, measured.ours.mean, measured.why) == ("differs", 99.0, "")
    only_ours = scoring.judge_cells(table, {"a": {"new": Measured(99.0, 0.1, 9)}})
    assert [c.verdict for c in only_ours if c.column == "new"] == [""]


def test_the_summary_counts_each_printed_number_once(example):
    (table,) = read_tables(example)
    cells = {
        "a": {"X": Measured(90.1, 0.1, 9), "Y": Measured(50.0, 0.1, 9)},
        "b": {"X": Measured(99.0, 0.1, 9), "new": Measured(1.0, 0.0, 1)},
    }
    counts = scoring.count_verdicts(scoring.judge_cells(table, cells))
    assert counts["printed"] == 5 == sum(counts[verdict] for verdict in scoring.VERDICTS)
    assert (counts["holds"], counts["differs"], counts["not run"]) == (1, 2, 1)
    assert (counts["ahead"], counts["behind"], counts["same digits"]) == (1, 1, 1)


def claim(example, cells, **changes):
    (table,) = read_tables(example)
    stated = table.claims[0]._replace(**changes.pop("claim", {}))
    (judged,) = scoring.judge_claims(table._replace(claims=[stated], **changes), cells)
    return judged


def test_claims_are_judged_by_means_or_by_rows_won(example):
    m = Measured
    cells = {"a": {"X": m(90, 1, 4), "Y": m(80, 1, 4)}, "b": {"X": m(70, 1, 4), "Y": m(72, 1, 4)}}
    assert claim(example, cells).verdict == "holds"
    assert claim(example, cells, lower=True).verdict == "does not hold"
    assert claim(example, cells, claim={"rows": ["b"]}).verdict == "does not hold"
    assert claim(example, cells, claim={"not_so": True}).verdict == "does not hold"
    assert claim(example, cells, claim={"wins": 1}).verdict == "holds"
    assert claim(example, cells, claim={"wins": 2}).verdict == "does not hold"
    assert claim(example, cells, claim={"wins": 2}).why == "best or level in 1 of 2 rows"
    assert claim(example, cells, claim={"right": 79.0}).verdict == "holds"
    assert claim(example, cells, claim={"right": ["Y", 82.5]}).verdict == "does not hold"
    near = {"a": {"X": m(80.1, 1, 4), "Y": m(80, 1, 4)}}
    assert claim(example, near, claim={"rows": ["a"]}).why.endswith("within chance")
    assert claim(example, near, claim={"rows": ["a"]}).verdict == "undecided"
    assert claim(example, near, claim={"rows": ["a"], "not_so": True}).verdict == "undecided"
    once = {"b": {"X": m(72, 0, 1), "Y": m(70, 0, 1)}}  # of 100 decisions
    assert claim(example, once, claim={"rows": ["b"]}).why == "72 against 70 of Y, within chance"
    assert claim(example, once, decisions=None, claim={"rows": ["b"]}).why == "72 against 70 of Y"


def test_a_claim_to_be_as_good_holds_unless_it_is_worse_by_more_than_chance(example):
    m = Measured
    for gap, verdict in [(1.0, "holds"), (0.0, "holds"), (-1.4, "holds"), (-1.5, "does not hold")]:
        # an error of 0.5 each: two errors of the difference are 1.414
        cells = {"a": {"X": m(80 + gap, 1, 4), "Y": m(80, 1, 4)}}
        as_good = {"rows": ["a"], "at_least": True}
        assert claim(example, cells, claim=as_good).verdict == verdict
        turned = claim(example, cells, claim={**as_good, "not_so": True}).verdict
        assert {turned, verdict} == {"holds", "does not hold"}
    level = {"a": {"X": m(80, 0, 1), "Y": m(80, 0, 1)}}
    assert claim(example, level, claim={"rows": ["a"]}).verdict == "undecided"
    assert claim(example, level, claim={"rows": ["a"], "at_least": True}).verdict == "holds"


def test_lines_of_a_curve_count_decisions_of_their_own(example):
    lines = {"X": {"1": Measured(70, 0, 1)}, "Y": {"1": Measured(72, 0, 1)}}
    curve = {"curve": True, "published": {}, "claim": {"at_least": True}}
    assert claim(example, lines, decisions={"X": 100}, **curve).verdict == "holds"
    curve["claim"] = {"at_least": True}
    assert claim(example, lines, decisions={"1": 100}, **curve).verdict == "does not hold"


def test_claims_wait_for_the_rows_they_are_about(example):
    one = {"a": {"X": Measured(90, 1, 4), "Y": Measured(80, 1, 4)}}
    assert claim(example, {}).verdict == "not run"
    assert claim(example, {}, missing={"*": "no data"}).verdict == "cannot be rerun"
    assert claim(example, one, claim={"wins": 2}).verdict == "not run"
    assert claim(example, one, claim={"wins": 1}).verdict == "holds"
    assert claim(example, one, claim={"not_so": True, "wins": 2}).verdict == "not run"
    assert "1 of 2 rows run" in claim(example, one).why


def test_claims_on_curves_compare_lines(example):
    lines = {
        "X": {"1": Measured(5, 0, 1), "2": Measured(9, 0, 1)},
        "Y": {"1": Measured(6, 0, 1), "2": Measured(7, 0, 1)},
    }
    assert claim(example, lines, curve=True, published={}).verdict == "holds"
    first = claim(example, lines, curve=True, published={}, claim={"rows": ["1"]})
    assert first.verdict == "does not hold"


def test_rows_won_are_beyond_chance_with_the_probability_that_their_errors_leave(example):
    """Of a thousand normal draws of the gaps as many reach the number of wins."""
    rows = {name: {"X": Measured(80 + gap, 1, 4), "Y": Measured(80, 1, 4)}
            for name, gap in [("a", 0.5), ("b", 0.7), ("c", 3.0)]}  # fmt: skip
    gaps = np.array([0.5, 0.7, 3.0]) + math.hypot(0.5, 0.5) * np.random.default_rng(0).normal(
        size=(20000, 3)
    )
    for wins, verdict in [(1, "holds"), (2, "undecided"), (3, "undecided"), (4, "does not hold")]:
        share = np.mean((gaps >= 0).sum(axis=1) >= wins)
        assert (share > 0.977, share < 0.023) == (verdict == "holds", verdict == "does not hold")
        stated = {"wins": wins, "rows": ["a", "b", "c"]}
        assert claim(example, rows, claim=stated).verdict == verdict
    gap = scoring.Gap(0.7, math.hypot(0.5, 0.5), 80.7, 80, "")
    assert gap.probability == pytest.approx(np.mean(gaps[:, 1] >= 0), abs=0.01)


def test_counts_are_equal_or_unequal_and_never_better(example):
    table = read_tables(example)[0]._replace(exact=True, repeats=None, decisions=None)
    cells = {"a": {"X": Measured(90.104, 0, 1), "Y": Measured(81.0, 0, 1)}}
    judged = {cell.column: cell for cell in scoring.judge_cells(table, cells) if cell.row == "a"}
    assert (judged["X"].verdict, judged["X"].side) == ("holds", "")
    assert (judged["Y"].verdict, judged["Y"].side) == ("differs", "")
    counts = scoring.count_verdicts(judged.values())
    assert (counts["holds"], counts["differs"], counts["ahead"], counts["behind"]) == (1, 1, 0, 0)
    assert scoring.judge_columns(table, judged.values()) == []
    assert "1 are unequal" in show.describe_counts(counts)
    record = scoring.build_record(table, cells)
    assert "81/80≠" in [cell for line in show.build_grid(record)[1] for cell in line]


def test_columns_of_ours_that_pass_all_that_is_printed_are_counted(example):
    (table,) = read_tables(example)
    oracle = {"ours": {"new": "ours", "oracle": "knows the truth"}}
    table = table._replace(ahead=["new"], **oracle)
    cells = {
        "a": {"new": Measured(95.0, 0, 1)},
        "b": {"new": Measured(65.0, 0, 1), "oracle": Measured(99.0, 0, 1)},
    }
    assert scoring.find_rows_ahead(table, cells) == {"a": True, "b": False}
    assert scoring.find_rows_ahead(table._replace(lower=True), cells) == {"a": False, "b": False}
    assert scoring.find_rows_ahead(table._replace(ahead=[]), cells) == {}


def test_many_small_differences_of_one_sign_are_found_together(example):
    """Each cell holds; a column of ten that are all a little below print does not."""
    (table,) = read_tables(example)
    rows = [str(i) for i in range(10)]
    printed = {row: {"X": Printed(80.0, None, 1), "Y": Printed(70.0, None, 1)} for row in rows}
    table = table._replace(published=printed, repeats=None, decisions=None, missing={}, claims=[])
    cells = {
        row: {"X": Measured(79.0, 3.0, 9), "Y": Measured(70.0 + (-1) ** i, 3.0, 9)}
        for i, row in enumerate(rows)
    }
    judged = scoring.judge_cells(table, cells)
    assert {cell.verdict for cell in judged} == {"holds"}
    below, level, whole = scoring.judge_columns(table, judged)
    assert (below.name, below.verdict, below.side) == ("X", "differs", "behind")
    assert (below.n_cells, below.n_above, below.n_below) == (10, 0, 10)
    assert below.difference == pytest.approx(-1.0)
    # an error of 1 in each of ten cells, and the rounding of the last printed digit
    assert below.error == pytest.approx(math.hypot(1.0, 0.1 / math.sqrt(12)) / math.sqrt(10))
    assert below.p_value == pytest.approx(2 / 2**10)
    assert (level.name, level.verdict, level.side) == ("Y", "holds", "")
    assert (whole.name, whole.n_cells, whole.verdict) == ("", 20, "differs")
    turned = scoring.judge_columns(table._replace(lower=True), judged)
    assert turned[0].side == "ahead"


@pytest.mark.parametrize(
    ("above", "below", "p_value"), [(0, 0, 1.0), (3, 3, 1.0), (0, 5, 2 / 32), (1, 7, 18 / 256)]
)
def test_the_sign_test_is_that_of_a_fair_coin(above, below, p_value):
    assert scoring.compare_signs(above, below) == pytest.approx(p_value)
    assert scoring.compare_signs(below, above) == pytest.approx(p_value)


@pytest.mark.parametrize("place", ["a", "X", "a / X"])
def test_cells_that_are_shown_only_are_judged_and_not_counted(example, place):
    table = read_tables(example)[0]._replace(shown_only={place: "chosen after the figures"})
    cells = {"a": {"X": Measured(95.0, 0.1, 9)}}
    judged = {(cell.row, cell.column): cell for cell in scoring.judge_cells(table, cells)}
    assert judged["a", "X"].verdict == "differs"
    assert not judged["a", "X"].counted
    assert judged["b", "Y"].counted
    counts = scoring.count_verdicts(judged.values())
    assert counts["differs"] == counts["ahead"] == 0
    assert counts["shown only"] == 5 - counts["printed"] > 0
    assert scoring.judge_columns(table, judged.values()) == []


def test_rows_that_are_shown_only_are_not_counted_as_passed(example):
    table = read_tables(example)[0]._replace(ahead=["W"], ours={"W": "today"}, missing={})
    cells = {row: {"W": Measured(99.0, 0.1, 9)} for row in ("a", "b")}
    assert scoring.find_rows_ahead(table, cells) == {"a": True, "b": True}
    hidden = table._replace(shown_only={"b": "a reading of ours"})
    assert scoring.find_rows_ahead(hidden, cells) == {"a": True}
