"""Running tables again, piece by piece; finished pieces are kept in a file."""

from __future__ import annotations

import importlib
import math
import platform
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, NamedTuple

from separatrix.evaluate.checkpoint import JsonLinesFile
from separatrix_papers import originals
from separatrix_papers.figures import Cells, Figure, summarize_figures
from separatrix_papers.tables import PublishedTable

FILE_HEADING = {"separatrix": "rerun", "format": 1}


class RerunProgress(NamedTuple):
    """How far a run is: pieces, and the one that was just done."""

    done: int
    total: int
    table: str
    row: str


def rerun(
    tables: Sequence[PublishedTable],
    data: Callable[[str], Any],
    *,
    quick: bool = False,
    results: Any = None,
    progress: Callable[[RerunProgress], None] = lambda now: None,
    source: Callable[[str], Any] | None = None,
) -> tuple[dict[str, Cells], dict[str, dict[str, str]]]:
    """Run tables again, and keep each finished piece.

    Parameters
    ----------
    tables : list of PublishedTable
    data : callable
        Gives data sets by name, such as a `DataFolder`. Pieces without data are left out.
    quick : bool
        Fewer pieces of each table; each gives what it gives in a full run.
    results : path, optional
        File of finished pieces. What it holds already is not run again.
    progress : callable
        Called after each piece.
    source : callable, optional
        Gives the module with ``list_pieces`` and ``measure`` of a source by name.

    Returns
    -------
    cells, left_out : dict
        By name of table: the figures, and by row why it was left out.
    """
    module = source or _load_run
    plan = [(t, piece) for t in tables for piece in module(t.source).list_pieces(t.id, quick)]
    figures: dict[str, list[Figure]] = {table.name: [] for table in tables}
    left_out: dict[str, dict[str, str]] = {table.name: {} for table in tables}
    with (
        nullcontext() if results is None else closing(JsonLinesFile(results, FILE_HEADING)) as file
    ):
        known = {} if file is None else {_identify(e): e["figures"] for e in file.entries}
        for done, (table, piece) in enumerate(plan):
            progress(RerunProgress(done, len(plan), table.name, piece.row))
            entry: dict[str, Any] = {"table": table.name, **piece._asdict()}
            if _identify(entry) not in known:
                try:
                    with warnings.catch_warnings():  # the protocols go where methods warn
                        warnings.simplefilter("ignore")
                        measured = module(table.source).measure(table.id, piece, data)
                except originals.MissingData as error:
                    left_out[table.name][piece.row] = str(error)
                    continue
                entry |= {"figures": [_check_finite(table, figure) for figure in measured]}
                if file is not None:
                    file.add({**entry, "versions": list_versions(), "date": format_now()})
                known[_identify(entry)] = entry["figures"]
            figures[table.name] += [Figure(*figure) for figure in known[_identify(entry)]]
        progress(RerunProgress(len(plan), len(plan), "", ""))
    return {name: summarize_figures(measured) for name, measured in figures.items()}, left_out


def _load_run(name: str) -> Any:
    return importlib.import_module(f"separatrix_papers.{name}.run")


def _identify(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(entry[part] for part in ("table", "row", "repeat", "seed"))


def _check_finite(table: PublishedTable, figure: Figure) -> Figure:
    value = float(figure.value)
    if not math.isfinite(value):
        place = f"{figure.row} / {figure.column}"
        raise ValueError(f"{table.name} gave {value} for {place}: leave such a figure out")
    return figure._replace(value=value, column=str(figure.column))


def find_oldest_date(results: Any, names: Iterable[str]) -> str | None:
    """When the oldest finished piece of some tables was computed; None without a file of pieces.

    "" where a piece does not say when.
    """
    if results is None:
        return None
    with closing(JsonLinesFile(results, FILE_HEADING)) as file:
        wanted = set(names)
        dates = [str(e.get("date", "")) for e in file.entries if e["table"] in wanted]
    return min(dates, default="")


def format_now() -> str:
    """Universal time to the minute, in an order that sorts."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M")


def list_versions() -> dict[str, str]:
    """Of what computes the figures."""
    packages = ("separatrix", "scikit-learn", "numpy", "scipy")
    return {"python": platform.python_version(), **{p: version(p) for p in packages}}
