"""Section 3.4.1: directions of few features, as they should be and as printed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from separatrix import LDG, SparseLDG
from separatrix.linalg import Array
from separatrix.selection import neighbour_scores
from separatrix_papers.figures import DataFolder, Figure, Piece
from separatrix_papers.ldg import literal
from separatrix_papers.ldg.subspaces import ScoredSplit, parted, repeated, source_ldg, together

SPARSITY = 3.0


def wine_directions(split: ScoredSplit) -> dict[str, Array]:
    """All directions of LDG and of sparse LDG, one for each column."""
    model = source_ldg(split)
    gamma, k, d = model.gamma_, model.n_neighbors_, split.X.shape[1]
    settings = {"sparsity": SPARSITY, "gamma": gamma, "n_neighbors": k}
    Z = objective(split, gamma, k)
    found = {"LDG": model.components_.T}
    for deflation in ("sparse", "orthonormal"):
        sparse = SparseLDG(d, deflation=deflation, **settings).fit(split.X, split.y)
        found[f"{deflation} deflation"] = sparse.components_.T
    found["sparse deflation as printed"] = literal.sparse_deflation(Z, d, SPARSITY)
    found["orthonormal deflation as printed"] = literal.orthonormal_deflation(Z, d, SPARSITY)
    return found


def objective(split: ScoredSplit, gamma: float, k: int) -> Array:
    """``V - γ A``, put together from all of its eigenvectors."""
    model = LDG(split.X.shape[1], gamma=gamma, n_neighbors=k).fit(split.X, split.y)
    return np.asarray(model.components_.T * -model.criterion_ @ model.components_)


def non_zero(B: Array) -> Array:
    """How many entries of each column are more than 1e-4 of its largest."""
    size = np.abs(B)
    return np.asarray((size > 1e-4 * size.max(axis=0)).sum(axis=0))


def measure_sparse(table: str, piece: Piece, data: DataFolder) -> list[Figure]:
    """The figures of one split of Wine."""
    X, y = together(data("wine"))
    split = parted(X, y, round(0.7 * len(y)), piece.seed)
    found = []
    for row, B in wine_directions(split).items():
        for column, value in SHOWN[table](split, B).items():
            found.append(Figure(row, column, piece.repeat, float(value)))
    return found


def entries(split: ScoredSplit, B: Array) -> dict[str, float]:
    return {str(i): float(count) for i, count in enumerate(non_zero(B), start=1)}


def products(split: ScoredSplit, B: Array) -> dict[str, float]:
    pairs = np.abs(B.T @ B)[np.triu_indices(B.shape[1], 1)]
    again = np.triu(np.abs(B.T @ B), 1).max(axis=0) > 0.999
    span = np.count_nonzero(np.linalg.svd(B, compute_uv=False) > 1e-6)
    return {"off the diagonal": pairs.mean(), "repeated": again.sum(), "span": span}


def by_dimension(split: ScoredSplit, B: Array) -> dict[str, float]:
    ends = np.arange(1, B.shape[1] + 1)
    scores = neighbour_scores(split.X @ B, split.y, split.X_test @ B, split.y_test, ends)
    return {str(k): 100 * score for k, score in zip(ends, scores, strict=True)}


SHOWN: dict[str, Callable[[ScoredSplit, Array], dict[str, float]]] = {
    "figure3.6": entries,
    "figure3.7": products,
    "figure3.8": by_dimension,
}


def list_sparse_pieces(table: str, quick: bool) -> list[Piece]:
    """Splits of Wine."""
    return repeated(["Wine"], quick)
