"""Features that have a place: channels and times, pixels, wavelengths."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from separatrix.evaluate.describe import find_patterns
from separatrix.evaluate.records import Comparison, MethodRecord
from separatrix.linalg import Array
from separatrix.report import wording
from separatrix.report.pictures import first_fold

MIN_PLACES = 20
"""Features from which on a line of them is drawn as a spectrum."""

MAX_MAP_CELLS = 6000
"""Cells of a map, of more its columns are averaged: three directions are 90 kB of the page."""

MAX_COLUMNS = {"map": 120, "spectrum": 400}
"""Columns that are drawn."""

MAX_MEANS = 8
"""Classes whose mean spectrum is drawn."""

NO_PLACES: dict[str, Any] = {
    "kind": "", "method": "", "rows": [], "columns": [], "directions": [], "means": [],
}  # fmt: skip
"""Picture of features that have no place."""


class Places(NamedTuple):
    """Where features lie: their names along the rows and the columns, and the number of each."""

    kind: str
    rows: list[str]
    columns: list[str]
    order: Array


def find_places(names: Sequence[str]) -> Places | None:
    """The places that names of features tell; None where they tell none.

    Names such as ``Cz@0.25`` are a channel and a time, ``pixel_3_7`` a row and a column, and
    ascending numbers with or without a unit a spectrum.

    Examples
    --------
    >>> find_places(["a@1", "a@2", "b@1", "b@2"])[:3]
    ('map', ['a', 'b'], ['1', '2'])
    >>> find_places(["length", "width"]) is None
    True
    """
    pairs = [
        re.fullmatch(r"(.+)@(-?[\d.]+(?:e-?\d+)?)|\D*?(\d+)[^\d.]+(\d+)", name) for name in names
    ]
    if all(pairs):
        parts = [[part for part in pair.groups() if part is not None] for pair in pairs if pair]
        rows, columns = (list(dict.fromkeys(part[k] for part in parts)) for k in (0, 1))
        place = {(a, b): j for j, (a, b) in enumerate(parts)}
        if min(len(rows), len(columns)) > 1 and len(place) == len(rows) * len(columns):
            cells = [place.get((a, b), -1) for a in rows for b in columns]
            if min(cells) >= 0:
                return Places("map", rows, columns, np.array(cells))
    numbers = [re.fullmatch(r"[^\d.-]*(-?\d+(?:\.\d+)?)\D*", name) for name in names]
    if len(names) < MIN_PLACES or not all(numbers) or list(names) == _numbered(len(names)):
        return None
    values = [float(number[1]) for number in numbers if number]
    steps = np.diff(values)
    if not ((steps > 0).all() or (steps < 0).all()):
        return None
    return Places("spectrum", [""], [f"{value:g}" for value in values], np.arange(len(names)))


def _numbered(n: int) -> list[str]:
    """Names of columns that had none."""
    return [f"x{j}" for j in range(n)]


def draw_map(
    methods: Sequence[MethodRecord], comparison: Comparison, wanted: Sequence[str]
) -> dict[str, Any]:
    """The patterns of a method's directions at each place, and mean spectra of classes.

    Patterns of the first of the wanted methods that is linear on split 0, computed from all rows.
    Records from a file hold no rows, and then nothing is drawn.
    """
    places = None if comparison.protocol is None else find_places(comparison.feature_names)
    if places is None:
        return NO_PLACES
    X = comparison.protocol.data.X
    by_name = {method.name: method for method in methods}
    for name in wanted:
        fold = first_fold(by_name[name]) if name in by_name else None
        if fold is None or fold.readout is None or not fold.readout.weights or sp.issparse(X):
            continue
        rows = np.asarray(X, dtype=float)
        spread = rows.std(axis=0)
        W = np.array(fold.readout.weights)
        patterns = find_patterns(W, rows, spread)
        means: list[Array] = []
        if places.kind == "spectrum":
            codes = np.asarray(comparison.labels)
            n_drawn = min(len(comparison.classes), MAX_MEANS)
            means = [rows[codes == c].mean(axis=0) for c in range(n_drawn)]
        return {
            "kind": places.kind,
            "method": name,
            "rows": [wording.shorten(row, 12) for row in places.rows],
            "columns": _thin_names(places),
            "directions": [_thin(values, places, 2) for values in patterns],
            "means": [_thin(values, places, 4) for values in means],
        }
    return NO_PLACES


def _n_blocks(places: Places) -> int:
    """How many columns are averaged into one."""
    most = min(MAX_COLUMNS[places.kind], max(MAX_MAP_CELLS // len(places.rows), 1))
    return math.ceil(len(places.columns) / most)


def _thin_names(places: Places) -> list[str]:
    return places.columns[:: _n_blocks(places)]


def _thin(values: Array, places: Places, digits: int) -> list[float]:
    """Values along the rows, one after the other, columns averaged in blocks."""
    grid = values[places.order].reshape(len(places.rows), -1)
    starts = np.arange(0, grid.shape[1], _n_blocks(places))
    sizes = np.diff(np.append(starts, grid.shape[1]))
    blocks = np.add.reduceat(grid, starts, axis=1) / sizes
    if digits > 2:  # four digits of a spectrum in any unit; patterns lie between -1 and 1
        return [float(f"{v:.{digits}g}") for v in blocks.ravel().tolist()]
    return blocks.round(digits).ravel().tolist()
