"""The tables of the sources, rerun: what is printed, how it is run again, and where it is kept.

Each source has a folder with ``published.toml`` (what its tables print, on which page, and how the
protocol is read here), ``run.py`` (which only produces figures) and ``results.json`` (the figures
of a full run). ``compare.py`` is the only place that judges. ``separatrix reproduce`` runs them.

A new source is a new folder; nothing else lists it.
"""

from __future__ import annotations

import importlib
import json
import math
import platform
import statistics
import tomllib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from separatrix.evaluate.checkpoint import JsonLinesFile
from separatrix.io import originals
from separatrix.io.models import write_whole

FOLDER = Path(__file__).parent
HEADING = {"separatrix": "rerun", "format": 1}

# What a source says, and what it is run as ----------------------------------------------------


class Piece(NamedTuple):
    """The smallest unit of a run: it is done or not."""

    row: str
    repeat: int = 0
    seed: int = 0


class Figure(NamedTuple):
    """One measured number."""

    row: str
    column: str
    repeat: int
    value: float


class Mean(NamedTuple):
    """The repeats of a cell."""

    mean: float
    sd: float
    n: int


class Printed(NamedTuple):
    """A number of a source: standard deviation where it is given, digits after the point.

    Of a ratio that was formed from printed numbers also the error that their last digits leave.
    """

    value: float
    sd: float | None
    decimals: int
    of_ratio: float = 0.0


class Claim(NamedTuple):
    """A sentence of a source that figures can decide; see `compare.judged_claims`."""

    says: str
    left: str
    right: str | float | list[str]
    rows: list[str] | None = None
    wins: int | None = None
    not_so: bool = False
    at_least: bool = False


class Table(NamedTuple):
    """A table or figure of a source, from its ``published.toml``.

    Attributes
    ----------
    source, id, title : str
    page : int or str
        As printed.
    protocol : str
        Our reading of it, with what the source leaves open.
    needs : list of str
        Data sets by name; none for generated data.
    minutes, minutes_quick : float
        Rough time on one core.
    unit : str
        One for all cells. ``%`` in front says that values are shares in percent.
    lower : bool
        Whether less is better.
    published : dict of dict of Printed
        By row (data set or setting), then column (method).
    derived : bool
        Nobody printed these values: they follow from a formula or a sentence of the source. They
        are judged, and kept out of the totals.
    ours : dict of str
        Columns, or rows of a curve, that only we have, each with a line of explanation.
    ahead : list of str
        Those of the columns of `ours` that are settings of today and measure what is printed: no
        formulas as printed, no rules that know the truth. Only they are counted as passing it.
    missing : dict of str
        Why a row, a column, ``"row / column"`` or all (``"*"``) could not be rerun as printed.
        What is measured all the same, by someone who has the data, is judged.
    repeats, decisions : float, dict or None
        How many repeats a printed value is the mean of, and how many decisions it counts; one
        number or one for each row.
    curve : bool
        Rows are lines, columns are places on an axis called `x`.
    claims : list of Claim
    """

    source: str
    id: str
    title: str
    page: int | str
    protocol: str
    needs: list[str] = []  # noqa: RUF012 - never changed
    minutes: float = 1
    minutes_quick: float = 1
    unit: str = "% accuracy"
    lower: bool = False
    published: dict[str, dict[str, Printed]] = {}  # noqa: RUF012
    derived: bool = False
    ours: dict[str, str] = {}  # noqa: RUF012
    ahead: list[str] = []  # noqa: RUF012
    missing: dict[str, str] = {}  # noqa: RUF012
    repeats: float | dict[str, float] | None = None
    decisions: float | dict[str, float] | None = None
    curve: bool = False
    x: str = ""
    claims: list[Claim] = []  # noqa: RUF012

    @property
    def name(self) -> str:
        """As the command takes it."""
        return f"{self.source}/{self.id}"


class Data(NamedTuple):
    """Data sets by name, from a folder of files; see `separatrix.originals`."""

    folder: Path | None = None

    def __call__(self, name: str) -> Any:
        """A Bunch of the arrays of a set: X and y, or X_train, y_train, X_test, y_test, …"""
        return originals.load_original(name, self.folder)

    def has(self, name: str) -> bool:
        """Whether the set is there."""
        return originals.find_original(name, self.folder) is not None


Cells = dict[str, dict[str, Mean]]
"""By row, then column."""


def sources() -> dict[str, Path]:
    """The folders of the sources, by name."""
    return {path.parent.name: path.parent for path in sorted(FOLDER.glob("*/published.toml"))}


def title_of(folder: Path) -> str:
    """Who wrote a source, what it is called, and when it appeared."""
    return str(_content(folder)["title"])


def tables_of(folder: Path) -> list[Table]:
    """The tables of a source, in the order of its ``published.toml``."""
    return [_table(folder.name, entry) for entry in _content(folder)["table"]]


def _content(folder: Path) -> dict[str, Any]:
    # numbers as they are printed: 51.10 has two decimals
    return tomllib.loads((folder / "published.toml").read_text("utf-8"), parse_float=Decimal)


def _table(source: str, entry: dict[str, Any]) -> Table:
    # of ratios, by row or "row / column": what was divided by, as printed
    divisors = {place: _printed(value) for place, value in entry.pop("divisors", {}).items()}
    published = {
        row: {
            column: _ratio(_printed(value), divisors.get(f"{row} / {column}", divisors.get(row)))
            for column, value in cells.items()
        }
        for row, cells in entry.pop("published", {}).items()
    }
    claims = [Claim(**claim) for claim in entry.pop("claim", [])]
    return Table(source=source, published=published, claims=claims, **_floats(entry))


def _printed(value: Any) -> Printed:
    value, sd = value if isinstance(value, list) else (value, None)
    decimals = max(0, -int(Decimal(value).as_tuple().exponent))
    return Printed(float(value), None if sd is None else float(sd), decimals)


def _ratio(printed: Printed, divisor: Printed | None) -> Printed:
    """With the rounding of the two numbers it was formed from, which have as many digits."""
    if divisor is None:
        return printed
    rounding = 10.0**-divisor.decimals / math.sqrt(12)
    return printed._replace(of_ratio=rounding / divisor.value * math.hypot(1.0, printed.value))


def _floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _floats(part) for key, part in value.items()}
    return float(value) if isinstance(value, Decimal) else value


def chosen(name: str, folders: Mapping[str, Path]) -> list[Table]:
    """The tables of a source, or the one of ``source/table``, or its parts ``source/table-…``."""
    source, slash, wanted = name.partition("/")
    if slash and not wanted:
        raise ValueError(f"{name!r} names no table: leave out the / for all of {source}")
    if source not in folders:
        raise ValueError(f"there is no source {source!r}: there are {', '.join(folders)}")
    tables = tables_of(folders[source])
    found = [
        table for table in tables if wanted in ("", table.id) or table.id.startswith(f"{wanted}-")
    ]
    if not found:
        names = ", ".join(table.name for table in tables)
        raise ValueError(f"there is no table {name!r}: there are {names}")
    return found


# Running ---------------------------------------------------------------------------------------


class Progress(NamedTuple):
    """How far a run is: pieces, and the one that was just done."""

    done: int
    total: int
    table: str
    row: str


def rerun(
    tables: Sequence[Table],
    data: Callable[[str], Any],
    *,
    quick: bool = False,
    results: Any = None,
    progress: Callable[[Progress], None] = lambda now: None,
    source: Callable[[str], Any] | None = None,
) -> tuple[dict[str, Cells], dict[str, dict[str, str]]]:
    """Run tables again, and keep each finished piece.

    Parameters
    ----------
    tables : list of Table
    data : callable
        Gives data sets by name, such as `Data`. Pieces whose data are not there are left out.
    quick : bool
        Fewer pieces of each table; each gives what it gives in a full run.
    results : path, optional
        File of finished pieces. What it holds already is not run again.
    progress : callable
        Told after each piece.
    source : callable, optional
        Gives the module with ``pieces`` and ``measure`` of a source by name.

    Returns
    -------
    cells, left_out : dict
        By name of table: the figures, and by row why it was left out.
    """
    module = source or _module
    plan = [(t, piece) for t in tables for piece in module(t.source).pieces(t.id, quick)]
    figures: dict[str, list[Figure]] = {table.name: [] for table in tables}
    left_out: dict[str, dict[str, str]] = {table.name: {} for table in tables}
    with nullcontext() if results is None else closing(JsonLinesFile(results, HEADING)) as file:
        known = {} if file is None else {_key(e): e["figures"] for e in file.entries}
        for done, (table, piece) in enumerate(plan):
            progress(Progress(done, len(plan), table.name, piece.row))
            entry: dict[str, Any] = {"table": table.name, **piece._asdict()}
            if _key(entry) not in known:
                try:
                    with warnings.catch_warnings():  # the protocols go where methods warn
                        warnings.simplefilter("ignore")
                        measured = module(table.source).measure(table.id, piece, data)
                except originals.MissingData as error:
                    left_out[table.name][piece.row] = str(error)
                    continue
                entry |= {"figures": [_finite(table, figure) for figure in measured]}
                if file is not None:
                    file.add({**entry, "versions": versions()})
                known[_key(entry)] = entry["figures"]
            figures[table.name] += [Figure(*figure) for figure in known[_key(entry)]]
        progress(Progress(len(plan), len(plan), "", ""))
    return {name: summarised(measured) for name, measured in figures.items()}, left_out


def _module(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}.run")


def _key(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(entry[part] for part in ("table", "row", "repeat", "seed"))


def _finite(table: Table, figure: Figure) -> Figure:
    value = float(figure.value)
    if not math.isfinite(value):
        place = f"{figure.row} / {figure.column}"
        raise ValueError(f"{table.name} gave {value} for {place}: leave such a figure out")
    return figure._replace(value=value, column=str(figure.column))


def summarised(figures: Iterable[Figure]) -> Cells:
    """Mean, standard deviation and number of the repeats of each cell."""
    values: dict[str, dict[str, list[float]]] = {}
    for figure in figures:
        values.setdefault(figure.row, {}).setdefault(figure.column, []).append(figure.value)
    return {
        row: {
            column: Mean(
                statistics.fmean(cell), statistics.stdev(cell) if cell[1:] else 0.0, len(cell)
            )
            for column, cell in columns.items()
        }
        for row, columns in values.items()
    }


def versions() -> dict[str, str]:
    """Of what computes the figures."""
    packages = ("separatrix", "scikit-learn", "numpy", "scipy")
    return {"python": platform.python_version(), **{p: version(p) for p in packages}}


# Keeping ---------------------------------------------------------------------------------------


def stored(folder: Path) -> dict[str, Cells]:
    """The figures of the full run that is kept with a source, by table."""
    return {
        name: {
            row: {column: Mean(*cell) for column, cell in columns.items()}
            for row, columns in entry["cells"].items()
        }
        for name, entry in _kept(folder).items()
    }


def stored_versions(folder: Path) -> dict[str, dict[str, str]]:
    """What computed the figures that are kept with a source, by table."""
    return {name: dict(entry["versions"]) for name, entry in _kept(folder).items()}


def _kept(folder: Path) -> dict[str, Any]:
    path = folder / "results.json"
    return dict(json.loads(path.read_text("utf-8"))) if path.exists() else {}


def store(folder: Path, cells: Mapping[str, Cells]) -> None:
    """Keep the figures of some tables with their source; those of its other tables stay.

    Eight digits are kept: figures are the same on every machine as far as rounding allows.
    """
    kept = _kept(folder)
    for name, rows in cells.items():
        plain = {
            row: {
                column: [_rounded(cell.mean), _rounded(cell.sd), cell.n]
                for column, cell in c.items()
            }
            for row, c in rows.items()
        }
        if plain:
            kept[name] = {"versions": versions(), "cells": plain}
    order = {table.id: i for i, table in enumerate(tables_of(folder))}
    kept = {name: kept[name] for name in sorted(kept, key=lambda n: order[n]) if name in order}
    write_whole(folder / "results.json", (_compact(kept) + "\n").encode())


def _rounded(value: float) -> float:
    return float(f"{value:.8g}")


def _compact(kept: Mapping[str, Any]) -> str:
    """JSON with a line for each row of a table."""
    parts = []
    for name, entry in kept.items():
        rows = ",\n".join(
            f"   {json.dumps(row, ensure_ascii=False)}: {json.dumps(cells, ensure_ascii=False)}"
            for row, cells in entry["cells"].items()
        )
        head = json.dumps(entry["versions"])
        parts.append(f' {json.dumps(name)}: {{\n  "versions": {head},\n  "cells": {{\n{rows}}}}}')
    return "{\n" + ",\n".join(parts) + "\n}"
