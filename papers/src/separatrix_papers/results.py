"""The figures of full runs, kept next to the tables in ``results.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from separatrix.files.whole import write_whole
from separatrix_papers.figures import Cells, Measured
from separatrix_papers.rerun import format_now, list_versions
from separatrix_papers.tables import read_tables


def read_results(folder: Path) -> dict[str, Cells]:
    """The figures of the full run that is kept with a source, by table."""
    return {
        name: {
            row: {column: Measured(*cell) for column, cell in columns.items()}
            for row, columns in entry["cells"].items()
        }
        for name, entry in _read_file(folder).items()
    }


def read_versions(folder: Path) -> dict[str, dict[str, str]]:
    """Versions of the packages that computed the kept figures, by table."""
    return {name: dict(entry["versions"]) for name, entry in _read_file(folder).items()}


def read_dates(folder: Path) -> dict[str, str]:
    """When the kept figures were computed, by table; "" where that was not kept."""
    return {name: str(entry.get("date", "")) for name, entry in _read_file(folder).items()}


def _read_file(folder: Path) -> dict[str, Any]:
    path = folder / "results.json"
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}


def store_results(folder: Path, cells: Mapping[str, Cells], date: str | None = None) -> None:
    """Keep the figures of some tables with their source; those of its other tables stay.

    Eight digits are kept: beyond these, machines differ by rounding errors. `date` is when the
    oldest of them was computed; now, if it is not given.
    """
    kept = _read_file(folder)
    date = format_now() if date is None else date
    for name, rows in cells.items():
        plain = {
            row: {
                column: [_round(cell.mean), _round(cell.sd), cell.n] for column, cell in c.items()
            }
            for row, c in rows.items()
        }
        if plain:
            kept[name] = {"date": date, "versions": list_versions(), "cells": plain}
    order = {table.id: i for i, table in enumerate(read_tables(folder))}
    kept = {name: kept[name] for name in sorted(kept.keys() & order, key=lambda n: order[n])}
    write_whole(folder / "results.json", (_format_json(kept) + "\n").encode())


def _round(value: float) -> float:
    return float(f"{value:.8g}")


def _format_json(kept: Mapping[str, Any]) -> str:
    """JSON with a line for each row of a table."""
    parts = []
    for name, entry in kept.items():
        rows = ",\n".join(
            f"   {json.dumps(row, ensure_ascii=False)}: {json.dumps(cells, ensure_ascii=False)}"
            for row, cells in entry["cells"].items()
        )
        date = f'  "date": {json.dumps(entry["date"])},\n' if entry.get("date") else ""
        head = f'{date}  "versions": {json.dumps(entry["versions"])}'
        parts.append(f' {json.dumps(name)}: {{\n{head},\n  "cells": {{\n{rows}}}}}')
    return "{\n" + ",\n".join(parts) + "\n}"
