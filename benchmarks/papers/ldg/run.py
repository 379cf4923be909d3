"""Local discriminative Gaussians and decisions from incomplete data: the thesis of Parrish."""

from __future__ import annotations

from .. import Data, Figure, Piece
from . import early, subspaces, transfer


def pieces(table: str, quick: bool) -> list[Piece]:
    """What a table is made of: a data set and a repeat, a draw, or a line of a figure."""
    return _chapter(table).pieces(table, quick)


def measure(table: str, piece: Piece, data: Data) -> list[Figure]:
    """The figures of one piece."""
    return _chapter(table).measure(table, piece, data)


def _chapter(table: str):  # type: ignore[no-untyped-def]  # a module
    if table.startswith(("table5", "figure5")):
        return early
    return transfer if table.startswith(("figure3.3", "figure4")) else subspaces
