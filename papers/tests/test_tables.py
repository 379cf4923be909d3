"""What is printed is read with its digits, and is well formed."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from example import EXAMPLE

import separatrix
from separatrix_papers import scoring
from separatrix_papers.figures import Measured
from separatrix_papers.results import read_results
from separatrix_papers.tables import (
    Change,
    find_tables,
    list_later_changes,
    list_sources,
    read_changes,
    read_contents,
    read_methods,
    read_tables,
    read_title,
    select_tables,
)

ROOT = Path(__file__).parent.parent.parent
SOURCES = list_sources()


def test_a_source_is_read_with_the_digits_that_are_printed(example):
    (table,) = read_tables(example)
    assert table.name == "example/table1"
    assert table.published["a"]["X"][:3] == (90.1, None, 2)
    assert table.published["a"]["Y"][:3] == (80.0, 2.0, 0)
    assert table.published["b"]["Y"][:3] == (60.0, None, 1)
    assert read_title(example) == "Nobody, An example (2000)"


def test_a_ratio_has_the_rounding_of_what_it_was_formed_from(example):
    path = example / "published.toml"
    ratios = '[table.divisors]\n"a" = 4\n"b / Y" = 0.5\n[table.published]'
    path.write_text(EXAMPLE.replace("[table.published]", ratios))
    cells = read_tables(example)[0].published
    # d(p / q) = hypot(dp, p / q dq) / q, with dp = dq = a last digit over the root of twelve
    assert cells["a"]["X"].of_ratio == pytest.approx(math.hypot(1, 90.1) / 4 / math.sqrt(12))
    assert cells["b"]["Y"].of_ratio == pytest.approx(math.hypot(1, 60) * 0.2 / math.sqrt(12))
    assert cells["b"]["X"].of_ratio == 0
    table = read_tables(example)[0]._replace(repeats=None)
    judged = scoring.judge_cells(table, {"a": {"X": Measured(80.0, 0.0, 2)}})[0]
    assert judged.error == pytest.approx(math.hypot(cells["a"]["X"].of_ratio, 0.01 / 12**0.5))


@pytest.mark.parametrize("source", SOURCES)
def test_what_is_published_is_well_formed(source):
    tables = read_tables(SOURCES[source])
    assert read_title(SOURCES[source])
    assert all(hasattr(separatrix, name) for name in read_methods(SOURCES[source]))
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
        lines = {*table.published} if table.curve else columns
        assert set(table.because) <= {*lines, ""}, table.id
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


@pytest.mark.parametrize("source", SOURCES)
def test_every_table_and_figure_is_rerun_or_has_a_reason(source):
    contents, tables = read_contents(SOURCES[source]), read_tables(SOURCES[source])
    for place, why in contents.items():
        assert bool(find_tables(place, tables)) != bool(why), place
    places = {place.replace(" ", "") for place in contents}
    for table in tables:
        if table.id.startswith(("table", "figure")):
            assert table.id.partition("-")[0] in places, table.id


@pytest.mark.parametrize("source", SOURCES)
def test_no_number_of_a_table_or_figure_is_passed_over(source):
    numbers = {}
    for place in read_contents(SOURCES[source]):
        kind, _, number = place.partition(" ")
        chapter, _, n = number.rpartition(".")
        numbers.setdefault((kind, chapter), []).append(int(n))
    for series in numbers.values():
        assert sorted(series) == list(range(1, len(series) + 1))


def test_figures_are_older_than_later_changes_that_concern_them():
    changes = [
        Change("2020-01-02T10:00", "first", ["a/table1", "b"]),
        Change("2020-01-03T10:00", "second", ["a/"]),
    ]
    assert list_later_changes("a/table1.2", "", changes) == ["first", "second"]
    assert list_later_changes("a/table1.2", "2020-01-02T10:00", changes) == ["second"]
    assert list_later_changes("b/table1", "2020-01-02T09:59", changes) == ["first"]
    assert list_later_changes("a/figure1", "2020-02-01T00:00", changes) == []


def test_changes_name_tables_that_exist():
    names = [table.name for folder in SOURCES.values() for table in read_tables(folder)]
    for change in read_changes():
        assert len(change.date) == len("2020-01-01T00:00")
        for start in change.tables:
            assert any(name.startswith(start) for name in names), start


def measured_names(source, table):
    """Rows and columns of the stored full run."""
    kept = read_results(SOURCES[source]).get(table.id, {})
    return {*kept, *(column for row in kept.values() for column in row)}


def test_a_slash_without_a_table_is_not_all_tables():
    with pytest.raises(ValueError, match="names no table"):
        select_tables("wsvda/", SOURCES)


def test_a_name_takes_the_parts_of_a_figure():
    found = select_tables("wsvda/figure3", SOURCES)
    assert [table.id for table in found] == [
        f"figure3-{name}-{rule}" for name in ("sonar", "heart") for rule in ("knn", "nc")
    ]
    assert [table.id for table in select_tables("wsvda/table3", SOURCES)] == ["table3"]


def test_a_name_that_is_a_table_takes_no_other_beside_it():
    assert [table.id for table in select_tables("ipcac/table5.6", SOURCES)] == ["table5.6"]
    assert [t.id for t in select_tables("ipcac/table5.6-time", SOURCES)] == ["table5.6-time"]


def test_an_installed_package_has_the_tables(tmp_path):
    pytest.importorskip("hatchling")
    build = "from hatchling.build import build_wheel; import sys; build_wheel(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)],
        cwd=ROOT / "papers",
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(tmp_path / "site")
    code = "from separatrix.cli import main; main()"
    listed = subprocess.run(
        [sys.executable, "-c", code, "reproduce", "--json"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path / "site"), *sys.path])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {
        entry["table"].partition("/")[0] for entry in json.loads(listed.stdout)["tables"]
    } == set(SOURCES)
