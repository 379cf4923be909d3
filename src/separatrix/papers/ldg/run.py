"""Local discriminative Gaussians and decisions from incomplete data: the thesis of Parrish."""

from __future__ import annotations

from typing import Any

from .. import Data, Figure, Piece
from . import early, sparse, subspaces, transfer

MODULES = {
    "table3": subspaces,
    "figure3.3": transfer,
    "figure3": sparse,
    "figure4": transfer,
}


def pieces(table: str, quick: bool) -> list[Piece]:
    """What a table is made of: a data set and a repeat, a draw, or a line of a figure."""
    return list(_chapter(table).pieces(table, quick))


def measure(table: str, piece: Piece, data: Data) -> list[Figure]:
    """The figures of one piece."""
    return list(_chapter(table).measure(table, piece, data))


def _chapter(table: str) -> Any:
    """The module that a table is run by."""
    for start, module in MODULES.items():
        if table.startswith(start):
            return module
    return early
