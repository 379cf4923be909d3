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

from separatrix.papers import scoring
from separatrix.papers.figures import Measured
from separatrix.papers.results import read_results
from separatrix.papers.tables import (
    list_sources,
    read_tables,
    read_title,
    select_tables,
)
from tests.papers.conftest import EXAMPLE

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
