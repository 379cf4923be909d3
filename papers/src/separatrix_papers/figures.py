"""Figures that a run measures, and their means by cell of a table."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from separatrix_papers import originals


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


def make_figures(piece: Piece, values: Mapping[str, float]) -> list[Figure]:
    """The figures of the columns of one row."""
    return [Figure(piece.row, column, piece.repeat, value) for column, value in values.items()]


class Measured(NamedTuple):
    """Mean, standard deviation and number of the repeats of a cell."""

    mean: float
    sd: float
    n: int


class DataFolder(NamedTuple):
    """Data sets by name, from a folder of files; see `separatrix_papers.originals`."""

    folder: Path | None = None

    def __call__(self, name: str) -> Any:
        """A Bunch of the arrays of a set: X and y, or X_train, y_train, X_test, y_test, …"""
        return originals.load_original(name, self.folder)

    def has(self, name: str) -> bool:
        """Whether the set is there."""
        return originals.find_original(name, self.folder) is not None


Cells = dict[str, dict[str, Measured]]
"""By row, then column."""


def summarize_figures(figures: Iterable[Figure]) -> Cells:
    """Mean, standard deviation and number of the repeats of each cell."""
    values: dict[str, dict[str, list[float]]] = {}
    for figure in figures:
        values.setdefault(figure.row, {}).setdefault(figure.column, []).append(figure.value)
    return {
        row: {
            column: Measured(
                statistics.fmean(cell), statistics.stdev(cell) if cell[1:] else 0.0, len(cell)
            )
            for column, cell in columns.items()
        }
        for row, columns in values.items()
    }
