"""Fisher's discriminant with neighbours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from separatrix.base.estimator import SubspaceEstimator, fit_rows
from separatrix.base.parameters import N_COMPONENTS, Allowed, one_of, real_number, whole_number
from separatrix.base.solution import Solution
from separatrix.fisher.directions import shrink
from separatrix.linalg import (
    EPS,
    Array,
    Lift,
    SingularMatrixError,
    cholesky_whitener,
    generalized_eigh,
    range_and_null,
    squared_distances,
)
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows

MAX_AFFINITY_ENTRIES = 1 << 24
"""Largest number of entries of an affinity matrix that are held at once (128 MB)."""


class AffinityScatters(NamedTuple):
    """Local scatter within classes, and local total scatter (within plus between)."""

    within: Array
    total: Array


def affinity_scatters(
    rows: LabelledRows, moments: ClassMoments, n_neighbors: int
) -> AffinityScatters:
    """Sugiyama's S̃w and S̃w + S̃b, of rows and their moments.

    With ``P_c = X_cᵀ (diag(A 1) - A) X_c`` for the affinity A of class c, and S_c its scatter,
    ``S̃w = Σ P_c / n_c`` and ``S̃w + S̃b = Sb + Σ (1 - n_c/n) S_c + Σ P_c / n``: pairs of different
    classes, which all weigh the same, are never visited.
    """
    order = np.argsort(rows.codes, kind="stable")
    codes = rows.codes[order]
    Z = moments.centred(rows.X[order], codes)
    members = np.split(Z, np.cumsum(moments.counts[:-1]).astype(int))
    laplacian = np.vstack([_affinity_laplacian(Zc, n_neighbors) for Zc in members])
    within = Z.T @ (laplacian / moments.counts[codes, None])
    others = np.sqrt(1 - moments.counts / moments.n_samples)[codes, None] * Z
    total = moments.Sb + others.T @ others + Z.T @ laplacian / moments.n_samples
    return AffinityScatters((within + within.T) / 2, (total + total.T) / 2)


def _affinity_laplacian(Z: Array, n_neighbors: int) -> Array:
    """``(diag(A 1) - A) Z`` for the rows of one class, a block of rows of A at a time."""
    k = min(n_neighbors, len(Z) - 1)
    blocks = list(gen_batches(len(Z), max(1, MAX_AFFINITY_ENTRIES // len(Z))))
    whole = squared_distances(Z, Z) if len(blocks) == 1 else None

    def distances(block: slice) -> Array:
        return squared_distances(Z[block], Z) if whole is None else whole

    sigma = np.concatenate([_kth_distance(distances(block), k) for block in blocks])
    result = np.empty_like(Z)
    for block in blocks:
        A = _affinity(distances(block), sigma[block], sigma)
        result[block] = A.sum(axis=1)[:, None] * Z[block] - A @ Z
    return result


def _kth_distance(D: Array, k: int) -> Array:
    """Distance of each row to its k-th neighbour, itself not counted."""
    return np.sqrt(np.partition(D, k, axis=1)[:, k])


def _affinity(D: Array, sigma_rows: Array, sigma: Array) -> Array:
    """``exp(-D / (σ_i σ_j))``; where σ is zero only coinciding rows are near each other."""
    with np.errstate(divide="ignore", invalid="ignore"):
        A = D / -sigma_rows[:, None]
        A /= sigma
    np.exp(A, out=A)
    A[D == 0] = 1.0
    return A


def local_fisher_directions(Sw: Array, total: Array, *, eps: float = EPS) -> Solution:
    """Maximise ``wᵀ (total - Sw) w / wᵀ Sw w``, direction after direction, with ``Wᵀ Sw W = I``.

    `fisher_directions` for a scatter of any rank: as many directions as `total` has dimensions.
    A singular Sw is treated alike, by the limit of a vanishing ridge.
    """
    try:
        cholesky_whitener(Sw, beside=np.diagonal(total), eps=eps)
    except SingularMatrixError:
        return _singular_local_fisher_directions(Sw, total, eps)
    solution = generalized_eigh(total, Sw, eps=eps)
    return Solution(solution.V, solution.evals - 1, rank=len(Sw))


def _singular_local_fisher_directions(Sw: Array, total: Array, eps: float) -> Solution:
    """`local_fisher_directions` as the ridge on a singular Sw goes to zero."""
    spread, total_range, _ = range_and_null(total, eps=eps)
    Sw, total = (total_range.T @ S @ total_range for S in (Sw, total))
    parts = range_and_null(Sw, beside=float(np.max(spread, initial=0.0)), eps=eps)
    evals, V = np.linalg.eigh(parts.null.T @ total @ parts.null)
    perfect, between = (parts.null @ V)[:, ::-1], evals[::-1]
    # the others are orthogonal to the perfect ones in the total scatter
    correction = (perfect / between) @ (perfect.T @ total)
    rest = total - total @ correction
    solution = generalized_eigh(parts.range.T @ rest @ parts.range, np.diag(parts.evals), eps=eps)
    W = parts.range @ solution.V
    return Solution(
        total_range @ np.hstack([perfect, W - correction @ W]),
        np.concatenate([between, (0 if len(between) else 1) * (solution.evals - 1)]),
        rank=len(Sw),
    )


class LocalFisherDiscriminant(SubspaceEstimator):
    """Directions that separate classes while keeping near neighbours of a class together.

    Local Fisher discriminant analysis: maximises ``tr (Wᵀ S̃w W)⁻¹ Wᵀ S̃b W``, where pairs of rows
    of a class count by their affinity ``A_ij = exp(-‖x_i - x_j‖² / (σ_i σ_j))`` and σ_i is the
    distance of x_i to its k-th nearest neighbour in its class. Classes may have several clusters,
    and there can be more directions than classes.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions, up to the rank of the centred data; None keeps all, "auto" as many
        as cross-validation favours.
    n_neighbors : int
        k. A class with no more samples than k uses its farthest neighbour.
    shrinkage : None or float in [0, 1]
        Replace S̃w by ``(1 - α) S̃w + α tr(S̃w)/d I``.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Directions by descending criterion.
    explained_ratio_ : array (n_components,)
        Share of each in the sum of the positive criteria.
    mean_, means_, classes_, rank_, selection_
        As in `FisherDiscriminant`; `rank_` is that of the local total scatter.

    Notes
    -----
    ``components_ @ S̃w @ components_.T`` is the identity (after shrinkage), except that directions
    without local scatter within classes come first and have unit length.

    The definition is followed to the letter: neighbours are sought in the row's own class, so a
    small class does not disturb the others, and renaming classes changes nothing.

    References
    ----------
    Sugiyama, Dimensionality reduction of multimodal labeled data by local Fisher discriminant
    analysis, Journal of Machine Learning Research 8 (2007), equations 11-14.
    Zelnik-Manor and Perona, Self-tuning spectral clustering, NIPS 17 (2005), for σ.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LocalFisherDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> LocalFisherDiscriminant(n_components=2).fit_transform(X, y).shape
    (150, 2)
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
        "n_neighbors": (whole_number(1),),
        "shrinkage": (one_of(None), real_number(0, 1)),
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        n_neighbors: int = 7,
        shrinkage: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.shrinkage = shrinkage

    _accepts_sparse = False

    fit = fit_rows  # type: ignore[assignment]

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        lift: Lift = lambda W: W  # noqa: E731
        if moments.is_thin:
            rows, lift = rows.in_span(moments.mean)
            if rows.X.shape[1] == 0:  # all rows coincide
                return Solution(np.zeros((moments.n_features, 0)), np.zeros(0), rank=0)
            local = affinity_scatters(rows, ClassMoments.from_rows(rows), self.n_neighbors)
        else:
            local = affinity_scatters(rows, moments, self.n_neighbors)
        alpha = self.shrinkage or 0.0
        Sw = shrink(local.within, alpha, moments.n_features)
        found = local_fisher_directions(Sw, local.total - local.within + Sw, eps=moments.eps)
        k = self._n_wanted(found.W.shape[1], "the rank of the centred data", selected)
        return found._replace(W=lift(found.W[:, :k]))
