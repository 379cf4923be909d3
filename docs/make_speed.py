"""Writes the tables of docs/speed.rst from the figures that ``make bench`` stored.

Run ``python docs/make_speed.py`` after ``make bench``, or after ``python -m benchmarks.speed
--store --only NAME`` for some of the cases.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "benchmarks" / "speed" / "results.json"
PAGE = DOCS / "speed.rst"
HEADING = "Measured\n--------\n"
VERSIONS = ("python", "numpy", "scipy", "scikit-learn")
INTRODUCTION = """\
Ours and a peer in the same run, the least of several rounds: processor time with one thread,
and wall time with two threads where a row says so. A row that misses what it must reach says so.
``make bench`` measures them in some minutes, ``python -m benchmarks.speed --quick`` small sizes in
seconds, ``--all`` the other comparisons of each family. Wall times suffer from other load: the
last column is the share of the processors that other programs had meanwhile.
"""


def write_page() -> None:
    """Replace what follows the last heading of the page."""
    record = json.loads(RESULTS.read_text())
    before = PAGE.read_text().partition(HEADING)[0]
    PAGE.write_text(f"{before}{HEADING}\n{INTRODUCTION}\n{describe(record)}")


def describe(record: dict[str, Any]) -> str:
    """The versions, and the table of all cases."""
    used = {describe_versions(case["measured"]) for case in record.values()}
    lines = [
        *(f"Measured with {versions}." for versions in sorted(used)),
        "",
        ".. csv-table::",
        "   :header-rows: 1",
        "   :widths: 38 10 18 10 8 12 6",
        "",
    ]
    cells = [["work", "ours", "peer", "its", "ratio", "must reach", "load"]]
    for name, case in record.items():
        cells += [describe_row(name, row) for row in case["rows"]]
    lines += ["   " + ", ".join(map(quoted, line)) for line in cells]
    return "\n".join(lines) + "\n"


def quoted(cell: str) -> str:
    """A cell of a csv table."""
    return '"' + cell.replace('"', '""') + '"'


def describe_versions(facts: dict[str, Any]) -> str:
    return ", ".join(f"{name} {facts[name]}" for name in VERSIONS)


def describe_row(name: str, row: dict[str, Any]) -> list[str]:
    """The cells of a row of the table."""
    work = f"{row['work']} (two threads)" if name.startswith("two threads") else row["work"]
    must = row["must_reach"] + {True: "", False: " (missed)", None: ""}[row["reached"]]
    ours, theirs = (amount(row[key], row["unit"]) for key in ("ours", "theirs"))
    ratio = "" if row["ratio"] is None else f"{row['ratio']:.2g}"
    load = "" if row["other_load"] is None else f"{row['other_load']:.0%}"
    return [work, ours, row["peer"], theirs, ratio, must, load]


def amount(value: float | str | None, unit: str) -> str:
    """A number in its unit, with three digits."""
    return value or "" if value is None or isinstance(value, str) else f"{value:.3g} {unit}"


if __name__ == "__main__":
    write_page()
