"""The tables of the sources: how they are read, run again and judged."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import subprocess
import sys
import zipfile
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.utils import Bunch

from separatrix import papers
from separatrix.cli.commands import main
from separatrix.io.originals import MissingData

compare = import_module("separatrix.papers.compare")
ROOT = Path(__file__).parent.parent.parent
SOURCES = papers.sources()

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
    rows = pieces or [papers.Piece(row, repeat, repeat) for row in "ab" for repeat in range(3)]

    def measure(table, piece, data):
        if measured is not None:
            measured.append(piece)
        data("first")
        value = (90 if piece.row == "a" else 70) + piece.repeat
        return [papers.Figure(piece.row, "X", piece.repeat, value)]

    return lambda name: SimpleNamespace(pieces=lambda table, quick: rows, measure=measure)


def test_a_source_is_read_with_the_digits_that_are_printed(example):
    (table,) = papers.tables_of(example)
    assert table.name == "example/table1"
    assert table.published["a"]["X"][:3] == (90.1, None, 2)
    assert table.published["a"]["Y"][:3] == (80.0, 2.0, 0)
    assert table.published["b"]["Y"][:3] == (60.0, None, 1)
    assert papers.title_of(example) == "Nobody, An example (2000)"


def test_an_interrupted_run_goes_on_after_the_last_whole_piece(example, tmp_path):
    tables = papers.tables_of(example)
    path = tmp_path / "pieces.jsonl"
    whole, _ = papers.rerun(tables, lambda name: None, results=path, source=source())
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 1 + 6
    path.write_bytes(b"".join(lines[:4]) + lines[4][:20])
    measured = []
    again, _ = papers.rerun(tables, lambda name: None, results=path, source=source(measured))
    assert again == whole
    assert [(p.row, p.repeat) for p in measured] == [("b", 0), ("b", 1), ("b", 2)]
    assert path.read_bytes() == b"".join(lines)
    assert whole["example/table1"]["a"]["X"] == (91.0, 1.0, 3)


def test_rows_without_data_are_left_out_and_tried_again(example, tmp_path):
    def nothing(name):
        raise MissingData(f"{name} is not here")

    tables, path = papers.tables_of(example), tmp_path / "pieces.jsonl"
    cells, left_out = papers.rerun(tables, nothing, results=path, source=source())
    assert cells == {"example/table1": {}}
    assert left_out == {"example/table1": {"a": "first is not here", "b": "first is not here"}}
    cells, left_out = papers.rerun(tables, lambda name: None, results=path, source=source())
    assert cells["example/table1"]["b"]["X"].n == 3
    assert left_out == {"example/table1": {}}


def test_numbers_that_are_none_are_refused(example):
    bad = SimpleNamespace(
        pieces=lambda table, quick: [papers.Piece("a")],
        measure=lambda table, piece, data: [papers.Figure("a", "X", 0, math.nan)],
    )
    with pytest.raises(ValueError, match="example/table1 gave nan for a / X"):
        papers.rerun(papers.tables_of(example), None, source=lambda name: bad)


def test_figures_are_kept_beside_those_of_other_tables(example):
    cells = {"a": {"X": papers.Mean(1 / 3, 0.25, 4)}}
    papers.store(example, {"table1": cells})
    (example / "published.toml").write_text(
        EXAMPLE.replace("table1", "table2") + EXAMPLE.partition("\n\n")[2]
    )
    papers.store(example, {"table2": cells})
    assert papers.stored(example) == {
        name: {"a": {"X": (0.33333333, 0.25, 4)}} for name in ("table2", "table1")
    }
    assert json.loads((example / "results.json").read_text())["table1"]["versions"]["numpy"]


def test_two_numbers_differ_beyond_two_standard_errors(example):
    (table,) = papers.tables_of(example)
    rounding = 0.01 / math.sqrt(12)
    # spread of ours: 3 over 9 repeats here and, taken for theirs, over 10 printed ones
    error = math.hypot(3 / 3, 3 / math.sqrt(10), rounding)
    for gap, verdict, side in [(1.99, "holds", ""), (2.01, "differs", "ahead")]:
        cells = {"a": {"X": papers.Mean(90.1 + gap * error, 3.0, 9)}}
        cell = compare.judged(table, cells)[0]
        assert cell.error == pytest.approx(error)
        assert (cell.verdict, cell.side) == (verdict, side)
        mirrored = compare.judged(table, {"a": {"X": papers.Mean(90.1 - gap * error, 3.0, 9)}})[0]
        assert (mirrored.verdict, mirrored.side) == (verdict, side and "behind")
        less = compare.judged(table._replace(lower=True), cells)[0]
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
    table = papers.tables_of(example)[0]._replace(**{"decisions": None, **cell})
    ours = {"a": {"Y": papers.Mean(80.0, 0.0, 2)}}
    judged = {(c.row, c.column): c for c in compare.judged(table, ours)}["a", "Y"]
    # binomial: (80 % of 96 + 2) / 100 = 0.788 in 100 decisions; 100² p (1 - p) / 100 = 16.7
    expected = (
        error if "decisions" not in cell else math.hypot(math.sqrt(16.7056), 1 / math.sqrt(12))
    )
    assert judged.error == pytest.approx(expected, rel=1e-3)
    assert judged.verdict == "holds"
    assert judged.same


def test_a_ratio_has_the_rounding_of_what_it_was_formed_from(example):
    path = example / "published.toml"
    ratios = '[table.divisors]\n"a" = 4\n"b / Y" = 0.5\n[table.published]'
    path.write_text(EXAMPLE.replace("[table.published]", ratios))
    cells = papers.tables_of(example)[0].published
    # d(p / q) = hypot(dp, p / q dq) / q, with dp = dq = a last digit over the root of twelve
    assert cells["a"]["X"].of_ratio == pytest.approx(math.hypot(1, 90.1) / 4 / math.sqrt(12))
    assert cells["b"]["Y"].of_ratio == pytest.approx(math.hypot(1, 60) * 0.2 / math.sqrt(12))
    assert cells["b"]["X"].of_ratio == 0
    table = papers.tables_of(example)[0]._replace(repeats=None)
    judged = compare.judged(table, {"a": {"X": papers.Mean(80.0, 0.0, 2)}})[0]
    assert judged.error == pytest.approx(math.hypot(cells["a"]["X"].of_ratio, 0.01 / 12**0.5))


def test_all_right_decisions_leave_an_error():
    assert compare._binomial(100.0, 20, "% accuracy") > 1
    assert compare._binomial(1.0, 20, "share") < 1
    assert compare._binomial(1.0, None, "share") is None


def test_cells_without_figures_say_why(example):
    (table,) = papers.tables_of(example)
    found = {(c.row, c.column): c for c in compare.judged(table, {}, {"a": "first is not here"})}
    assert found["a", "X"].verdict == "not run"
    assert found["a", "X"].why == "first is not here"
    assert found["b", "Z"].verdict == "cannot be rerun"
    assert found["b", "Z"].why == "Z is not described"
    # who has what was missing gets a verdict
    measured = compare.judged(table, {"b": {"Z": papers.Mean(99.0, 0.1, 9)}})[-1]
    assert (measured.verdict, measured.ours.mean, measured.why) == ("differs", 99.0, "")
    only_ours = compare.judged(table, {"a": {"new": papers.Mean(99.0, 0.1, 9)}})
    assert [c.verdict for c in only_ours if c.column == "new"] == [""]


def test_the_summary_counts_each_printed_number_once(example):
    (table,) = papers.tables_of(example)
    cells = {
        "a": {"X": papers.Mean(90.1, 0.1, 9), "Y": papers.Mean(50.0, 0.1, 9)},
        "b": {"X": papers.Mean(99.0, 0.1, 9), "new": papers.Mean(1.0, 0.0, 1)},
    }
    counts = compare.counts(compare.judged(table, cells))
    assert counts["printed"] == 5 == sum(counts[verdict] for verdict in compare.VERDICTS)
    assert (counts["holds"], counts["differs"], counts["not run"]) == (1, 2, 1)
    assert (counts["ahead"], counts["behind"], counts["same digits"]) == (1, 1, 1)


def claim(example, cells, **changes):
    (table,) = papers.tables_of(example)
    stated = table.claims[0]._replace(**changes.pop("claim", {}))
    (judged,) = compare.judged_claims(table._replace(claims=[stated], **changes), cells)
    return judged


def test_claims_are_judged_by_means_or_by_rows_won(example):
    m = papers.Mean
    cells = {"a": {"X": m(90, 1, 4), "Y": m(80, 1, 4)}, "b": {"X": m(70, 1, 4), "Y": m(72, 1, 4)}}
    assert claim(example, cells).verdict == "holds"
    assert claim(example, cells, lower=True).verdict == "differs"
    assert claim(example, cells, claim={"rows": ["b"]}).verdict == "differs"
    assert claim(example, cells, claim={"not_so": True}).verdict == "differs"
    assert claim(example, cells, claim={"wins": 1}).verdict == "holds"
    assert claim(example, cells, claim={"wins": 2}).verdict == "differs"
    assert claim(example, cells, claim={"wins": 2}).why == "best or level in 1 of 2 rows"
    assert claim(example, cells, claim={"right": 79.0}).verdict == "holds"
    assert claim(example, cells, claim={"right": ["Y", 80.5]}).verdict == "differs"
    near = {"a": {"X": m(80.1, 1, 4), "Y": m(80, 1, 4)}}
    assert claim(example, near, claim={"rows": ["a"]}).why.endswith("within chance")
    once = {"b": {"X": m(72, 0, 1), "Y": m(70, 0, 1)}}  # of 100 decisions
    assert claim(example, once, claim={"rows": ["b"]}).why == "72 beside 70 of Y, within chance"
    assert claim(example, once, decisions=None, claim={"rows": ["b"]}).why == "72 beside 70 of Y"


def test_a_claim_to_be_as_good_holds_unless_it_is_worse_by_more_than_chance(example):
    m = papers.Mean
    for gap, verdict in [(1.0, "holds"), (0.0, "holds"), (-1.4, "holds"), (-1.5, "differs")]:
        # an error of 0.5 each: two errors of the difference are 1.414
        cells = {"a": {"X": m(80 + gap, 1, 4), "Y": m(80, 1, 4)}}
        as_good = {"rows": ["a"], "at_least": True}
        assert claim(example, cells, claim=as_good).verdict == verdict
        turned = claim(example, cells, claim={**as_good, "not_so": True}).verdict
        assert {turned, verdict} == {"holds", "differs"}
    level = {"a": {"X": m(80, 0, 1), "Y": m(80, 0, 1)}}
    assert claim(example, level, claim={"rows": ["a"]}).verdict == "differs"
    assert claim(example, level, claim={"rows": ["a"], "at_least": True}).verdict == "holds"


def test_lines_of_a_curve_count_decisions_of_their_own(example):
    lines = {"X": {"1": papers.Mean(70, 0, 1)}, "Y": {"1": papers.Mean(72, 0, 1)}}
    curve = {"curve": True, "published": {}, "claim": {"at_least": True}}
    assert claim(example, lines, decisions={"X": 100}, **curve).verdict == "holds"
    curve["claim"] = {"at_least": True}
    assert claim(example, lines, decisions={"1": 100}, **curve).verdict == "differs"


def test_claims_wait_for_the_rows_they_are_about(example):
    one = {"a": {"X": papers.Mean(90, 1, 4), "Y": papers.Mean(80, 1, 4)}}
    assert claim(example, {}).verdict == "not run"
    assert claim(example, {}, missing={"*": "no data"}).verdict == "cannot be rerun"
    assert claim(example, one, claim={"wins": 2}).verdict == "not run"
    assert claim(example, one, claim={"wins": 1}).verdict == "holds"
    assert claim(example, one, claim={"not_so": True, "wins": 2}).verdict == "not run"
    assert "1 of 2 rows run" in claim(example, one).why


def test_claims_on_curves_compare_lines(example):
    lines = {
        "X": {"1": papers.Mean(5, 0, 1), "2": papers.Mean(9, 0, 1)},
        "Y": {"1": papers.Mean(6, 0, 1), "2": papers.Mean(7, 0, 1)},
    }
    assert claim(example, lines, curve=True, published={}).verdict == "holds"
    assert (
        claim(example, lines, curve=True, published={}, claim={"rows": ["1"]}).verdict == "differs"
    )


def test_columns_of_ours_that_pass_all_that_is_printed_are_counted(example):
    (table,) = papers.tables_of(example)
    oracle = {"ours": {"new": "ours", "oracle": "knows the truth"}}
    table = table._replace(ahead=["new"], **oracle)
    cells = {
        "a": {"new": papers.Mean(95.0, 0, 1)},
        "b": {"new": papers.Mean(65.0, 0, 1), "oracle": papers.Mean(99.0, 0, 1)},
    }
    assert compare.beyond(table, cells) == {"a": True, "b": False}
    assert compare.beyond(table._replace(lower=True), cells) == {"a": False, "b": False}
    assert compare.beyond(table._replace(ahead=[]), cells) == {}


# The sources -----------------------------------------------------------------------------------


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_published_is_well_formed(source):
    tables = papers.tables_of(SOURCES[source])
    assert papers.title_of(SOURCES[source])
    ids = [table.id for table in tables]
    assert len(set(ids)) == len(ids)
    for table in tables:
        assert table.title, table.id
        assert table.page, table.id
        assert table.protocol.strip(), table.id
        assert 0 < table.minutes_quick <= table.minutes, table.id
        columns = {c for row in table.published.values() for c in row}
        if table.curve:
            assert table.x, table.id
            assert all(math.isfinite(float(column)) for column in columns), table.id
        for key in table.missing:
            row, _, column = key.partition(" / ")
            assert key == "*" or row in table.published or row in columns, (table.id, key)
            assert not column or column in table.published[row], (table.id, key)
        for numbers in (table.repeats, table.decisions):
            if isinstance(numbers, dict):
                assert set(numbers) <= {*table.published, *table.ours}, table.id
        if source == "ldg" and table.unit.startswith("times"):
            assert all(p.of_ratio for row in table.published.values() for p in row.values())
        measured = measured_names(source, table)
        known = {*table.published, *columns, *table.ours, *measured}
        assert set(table.ahead) <= {*table.ours} - columns, table.id
        assert not measured or set(table.ahead) <= measured, table.id
        for stated in table.claims if measured else []:
            rivals = stated.right if isinstance(stated.right, list) else [stated.right]
            for name in (stated.left, *rivals):
                assert not isinstance(name, str) or name in known, (table.id, name)


def measured_names(source, table):
    """Rows and columns of the stored full run."""
    kept = papers.stored(SOURCES[source]).get(table.id, {})
    return {*kept, *(column for row in kept.values() for column in row)}


@pytest.mark.parametrize("source", SOURCES)
def test_every_table_has_its_pieces_and_a_quick_run_is_part_of_it(source):
    module = import_module(f"separatrix.papers.{source}.run")
    for table in papers.tables_of(SOURCES[source]):
        whole = module.pieces(table.id, False)
        assert len(set(whole)) == len(whole), table.id
        assert set(module.pieces(table.id, True)) <= set(whole), table.id
        assert whole or "*" in table.missing, table.id


@pytest.mark.parametrize("source", SOURCES)
def test_the_stored_figures_cover_what_can_be_rerun(source):
    kept = papers.stored(SOURCES[source])
    for table in papers.tables_of(SOURCES[source]):
        if table.id in kept:
            found = compare.judged(table, kept[table.id])
            open_cells = [(c.row, c.column) for c in found if c.verdict == "not run"]
            assert not open_cells, (table.id, open_cells)


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
    tables = [t for t in papers.tables_of(SOURCES[source]) if "*" not in t.missing]
    table = min(tables, key=lambda t: t.minutes_quick)
    first = import_module(f"separatrix.papers.{source}.run").pieces(table.id, True)[:1]
    module = SimpleNamespace(
        pieces=lambda table, quick: first,
        measure=import_module(f"separatrix.papers.{source}.run").measure,
    )
    cells, left_out = papers.rerun([table], made_up, quick=True, source=lambda name: module)
    assert left_out == {table.name: {}}
    assert cells[table.name]


# The command -----------------------------------------------------------------------------------


def run(*arguments, code=0):
    result = CliRunner().invoke(main, ["reproduce", *map(str, arguments)])
    assert result.exit_code == code, result.output + repr(result.exception)
    assert "Traceback" not in result.output
    return result


@pytest.fixture
def wine_and_sonar(tmp_path):
    """Two folds of sonar's protocol: classes of the sizes that it needs."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [40, 40])
    np.savez(tmp_path / "sonar.npz", X=rng.standard_normal((80, 8)) + y[:, None], y=y)
    return tmp_path


def test_the_tables_are_listed_with_their_data(wine_and_sonar):
    listed = json.loads(run("--data", wine_and_sonar, "--json").stdout)["tables"]
    by_name = {entry["table"]: entry for entry in listed}
    assert len(by_name) == sum(len(papers.tables_of(folder)) for folder in SOURCES.values())
    assert by_name["wsvda/table3"]["needs"] == {
        "sonar": True,
        "heart_statlog": False,
        "wine": True,  # it comes with scikit-learn
    }
    text = run("--data", wine_and_sonar).stdout
    assert "heart_statlog (not found)" in text


def test_a_table_is_run_shown_kept_and_gone_on_with(wine_and_sonar):
    folder = wine_and_sonar
    options = ("--data", folder, "--quick", "--results", folder / "a.jsonl")
    done = run("wsvda/figure2", *options, "--html", folder / "a.html")
    assert re.search(r"wsvda/figure2: .*\. Section 3\.1\.", done.stdout)
    assert "the classes are linearly separable in all pairs of WSVDA" in done.stdout
    page = (folder / "a.html").read_text()
    assert "wsvda/figure2" in page
    assert not re.search(r"(src|href)=.?https?:", page)
    before = (folder / "a.jsonl").read_bytes()
    record = json.loads(run("wsvda/figure2", *options, "--json").stdout)["tables"][0]
    assert (folder / "a.jsonl").read_bytes() == before
    cells = {(c["row"], c["column"]): c["ours"] for c in record["cells"]}
    assert cells["1 and 2", "WSVDA"]["n"] == 3


def test_a_slash_without_a_table_is_not_all_tables():
    with pytest.raises(ValueError, match="names no table"):
        papers.chosen("wsvda/", SOURCES)


def test_wrong_names_and_missing_data_are_told(tmp_path):
    assert "there is no source 'wsvd': there are" in run("wsvd/table3", code=1).stderr
    assert "there is no table 'wsvda/table4': there are wsvda/table3" in (
        run("wsvda/table4", code=1).stderr
    )
    needs = run("wsvda/figure2", code=1).stderr
    assert "wsvda/figure2 needs the data sets sonar: name their folder (--data)" in needs
    assert f"not in {tmp_path}" in run("wsvda/figure2", "--data", tmp_path, code=1).stderr
    assert "does not exist" in run("wsvda", "--data", tmp_path / "no", code=2).stderr
    (tmp_path / "other.jsonl").write_text("something else\n")
    np.savez(tmp_path / "sonar.npz", X=np.eye(9), y=[0, 1, 1] * 3)
    refused = run(
        "wsvda/figure2", "--data", tmp_path, "--results", tmp_path / "other.jsonl", code=1
    )
    assert "is not a file of results" in refused.stderr


def test_a_name_takes_the_parts_of_a_figure():
    found = papers.chosen("wsvda/figure3", SOURCES)
    assert [table.id for table in found] == [
        f"figure3-{name}-{rule}" for name in ("sonar", "heart") for rule in ("knn", "nc")
    ]
    assert [table.id for table in papers.chosen("wsvda/table3", SOURCES)] == ["table3"]


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
    (table,) = papers.tables_of(example)
    cells = {"a": {"X": papers.Mean(90.1, 0.1, 9), "Y": papers.Mean(50.0, 0.1, 9)}}
    printed = compare.record(table, cells)
    derived = compare.record(table._replace(derived=True), cells)
    text = make_papers.summary({"example": [printed, derived]}, {"example": "An example"})
    assert '"all", "5", "1", "1", "1", "0", "1", "1", "2", "5", "2", "0"' in text
    show = import_module("separatrix.papers.show")
    assert show.counted(derived["counts"], True).startswith("Of 5 numbers that follow from what")
    assert show.sentences(printed).startswith("Of 5 printed numbers 1 hold")
    assert show.compared([derived]) == {}
    assert show.compared([printed, derived]) == {"holds": [(90.1, 90.1)], "differs": [(80, 50)]}


def test_an_installed_package_has_the_tables(tmp_path):
    pytest.importorskip("hatchling")
    build = "from hatchling.build import build_wheel; import sys; build_wheel(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, check=True, capture_output=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "site")
    code = "from separatrix.cli import main; main()"
    listed = subprocess.run(
        [sys.executable, "-c", code, "reproduce", "--json"],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {
        entry["table"].partition("/")[0] for entry in json.loads(listed.stdout)["tables"]
    } == set(SOURCES)
