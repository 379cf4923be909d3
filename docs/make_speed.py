"""Writes the tables of docs/speed.rst from the figures that ``make bench`` stored.

Run ``python docs/make_speed.py`` after ``python -m benchmarks.speed --only cpu --json
benchmarks/speed/one_thread.json``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "benchmarks" / "speed" / "one_thread.json"
PAGE = DOCS / "speed.rst"
HEADING = "Measured\n--------\n"


def write_page() -> None:
    """Replace what follows the last heading of the page."""
    record = json.loads(RESULTS.read_text())
    before = PAGE.read_text().partition(HEADING)[0]
    PAGE.write_text(before + HEADING + "\n" + describe(record))


def describe(record: dict[str, Any]) -> str:
    """The introduction and the table."""
    machine = record["machine"]
    versions = ", ".join(f"{k} {machine[k]}" for k in ("python", "numpy", "scipy", "scikit-learn"))
    lines = [
        "Processor time with one thread, ours beside a peer in the same run; a row that misses",
        "what it must reach says so. ``python -m benchmarks.speed --only cpu`` measures them and",
        f"the larger cases, ``make bench`` all others. Here with {versions}.",
        "",
        ".. list-table::",
        "   :header-rows: 1",
        "   :widths: 40 12 20 12 10 12",
        "",
    ]
    cells = [["work", "ours", "beside", "its", "ratio", "must reach"]]
    for row in record["rows"]:
        must = row["must_reach"] + {True: "", False: " (missed)", None: ""}[row["reached"]]
        ours, theirs = (amount(row[key], row["unit"]) for key in ("ours", "theirs"))
        cells.append([row["work"], ours, row["peer"], theirs, f"{row['ratio']:.2g}", must])
    for line in cells:
        lines += [f"   {'* -' if i == 0 else '  -'} {cell}" for i, cell in enumerate(line)]
    return "\n".join(lines) + "\n"


def amount(value: float, unit: str) -> str:
    """A number in its unit, with three digits."""
    return f"{value:.3g} {unit}"


if __name__ == "__main__":
    write_page()
