"""Local discriminative Gaussians and decisions from incomplete data: the thesis of Parrish."""

from __future__ import annotations

from separatrix_papers.figures import DataFolder, Figure, Piece
from separatrix_papers.ldg.early import list_early_pieces, measure_early
from separatrix_papers.ldg.sparse import list_sparse_pieces, measure_sparse
from separatrix_papers.ldg.subspaces import list_subspace_pieces, measure_subspaces
from separatrix_papers.ldg.transfer import list_transfer_pieces, measure_transfer

CHAPTERS = {
    "table3": (list_subspace_pieces, measure_subspaces),
    "figure3.3": (list_transfer_pieces, measure_transfer),
    "figure3": (list_sparse_pieces, measure_sparse),
    "figure4": (list_transfer_pieces, measure_transfer),
    "": (list_early_pieces, measure_early),
}
"""By the beginning of the name of a table, the first that fits: its pieces and their figures."""


def list_pieces(table: str, quick: bool) -> list[Piece]:
    """The parts of a table: a data set and a repeat, a draw, or a line of a figure."""
    return CHAPTERS[_find_chapter(table)][0](table, quick)


def measure(table: str, piece: Piece, data: DataFolder) -> list[Figure]:
    """The figures of one piece."""
    return CHAPTERS[_find_chapter(table)][1](table, piece, data)


def _find_chapter(table: str) -> str:
    return next(start for start in CHAPTERS if table.startswith(start))
