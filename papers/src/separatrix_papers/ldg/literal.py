"""Formulas of the thesis as they are printed, where the package computes something else."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.stats

from separatrix import LDG, LocalQDA
from separatrix.fisher.local import AffinityScatters, affinity_scatters
from separatrix.ldg.sparse import Deflated, single_features, sparse_smallest
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows
from separatrix.selection import best_rule, dimension_path

THESIS_GAMMAS = (1.0, 0.8, 0.6, 0.4, 0.2)
"""Values of γ in section 3.4."""

THESIS_LOCAL_QDA: dict[str, Any] = {"reg": 1e-4, "covariance": "diag", "standardize": False}
"""Parameters of `LocalQDA` as in the thesis."""


def grown_until_drop(scores: Array) -> int:
    """Dimension before the one that makes the score drop for the first time (section 3.4)."""
    drops = np.flatnonzero(np.diff(scores) < 0)
    return int(drops[0]) + 1 if len(drops) else len(scores)


def author_neighbours(X: Array, y: Array) -> int:
    """The k of the author's program: the largest of the best of 4, 8, … 128, leaving one out."""
    model = LocalQDA(**THESIS_LOCAL_QDA).fit(X, y)
    if not model.selection_:
        return int(model.n_neighbors_)
    record = model.selection_["n_neighbors"]
    tried = np.array([setting["n_neighbors"] for setting in record.settings])
    some = (tried >= min(4, tried[-1])) & (tried <= 128)
    return int(tried[some][::-1][best_rule(record.scores[0][some][::-1])])


class AuthorsLDG(LDG):
    """LDG as the author's program has it: γ = 0.9, and directions until 25 more bring nothing."""

    def fit(self, X: Any, y: Any) -> Any:  # type: ignore[override]
        k = author_neighbours(X, y)
        model = LDG(gamma=0.9, n_neighbors=k)
        most = self.n_components
        if most is None:
            most = dimension_path(model, X, y, rule="patient", n_folds=None).n_components
        self.set_params(n_components=most, gamma=0.9, n_neighbors=k)
        return super().fit(X, y)


# A singular scatter within classes -------------------------------------------------------------


def generalised_directions(Sb: Array, Sw: Array, k: int) -> Array:
    """Eigenvectors of ``Sb v = λ Sw v`` of the k largest λ, whatever the rank of Sw (section 3.5).

    Where Sw is singular the eigenvalues are arbitrary, infinite or complex; real parts are kept.
    """
    evals, V = scipy.linalg.eig(Sb, Sw, check_finite=False)
    with np.errstate(invalid="ignore"):
        sizes = np.nan_to_num(np.real(evals), nan=-np.inf, posinf=np.finfo(float).max)
    return np.real(V[:, np.argsort(-sizes, kind="stable")[:k]])


def printed_fisher_directions(X: Array, y: Array) -> Array:
    """FDA as printed: as many directions as classes less one."""
    moments = ClassMoments.from_data(X, y)
    return generalised_directions(moments.Sb, moments.Sw, len(moments.classes) - 1)


def local_fisher_scatters(X: Array, y: Array, n_neighbors: int = 7) -> AffinityScatters:
    """Local scatter within classes and in total (2.8, 2.9)."""
    classes, codes = np.unique(y, return_inverse=True)
    data = LabelledRows(X, codes, classes)
    return affinity_scatters(data, ClassMoments.from_data(X, y), n_neighbors)


def printed_local_fisher_directions(X: Array, y: Array, k: int) -> Array:
    """LFDA as printed."""
    found = local_fisher_scatters(X, y)
    return generalised_directions(found.total - found.within, found.within, k)


# Objectives ------------------------------------------------------------------------------------


def asymptotic_ldg(means: Array, covariance: Array, gamma: float) -> Array:
    """The matrix of (3.22) for classes of equal priors: the prior of the own class is lost."""
    p = 1 / len(means)
    apart = means[:, None] - means[None]
    between = p * np.einsum("qji,qjk->ik", apart, apart)
    return (1 - gamma) * covariance - gamma * between


def transfer_objective(X: Array, codes: Array, means: Array, gamma: float) -> Array:
    """The first sum of (4.3): 1 - p of the own class against γ p of the others, equal priors."""
    p = 1 / len(means)
    Z = np.zeros((X.shape[1], X.shape[1]))
    for j, mean in enumerate(means):
        own, other = X[codes == j] - mean, X[codes != j] - mean
        Z += (1 - p) * own.T @ own - gamma * p * other.T @ other
    return Z


# Deflation -------------------------------------------------------------------------------------


def sparse_direction(Z: Array, sparsity: float) -> Array:
    """``min bᵀ Z b`` with ``‖b‖₂ = 1`` and ``‖b‖₁² ≤ sparsity``, what (3.32) relaxes."""
    evals, U = np.linalg.eigh(Z)
    plain = Deflated(Z, None, np.zeros((len(Z), 0)), np.zeros(0), False)
    starts = np.hstack([U, single_features(plain)])
    largest = max(float(evals[-1]), 0.0)
    return sparse_smallest(plain, sparsity, starts, largest).b


def sparse_deflation(Z: Array, k: int, sparsity: float) -> Array:
    """Directions with ``Z - (bᵀ Z b) b bᵀ`` after each (section 3.3.3): b gets the value zero."""
    B = np.zeros((len(Z), k))
    for i in range(k):
        b = B[:, i] = sparse_direction(Z, sparsity)
        Z = Z - (b @ Z @ b) * np.outer(b, b)
    return B


def orthonormal_deflation(Z: Array, k: int, sparsity: float) -> Array:
    """Directions with ``Gᵀ Z G`` after each, the 1-norm bounded in the coordinates of G."""
    B: Any = np.zeros((len(Z), 0))
    for _ in range(k):
        G = scipy.linalg.null_space(B.T) if B.size else np.eye(len(Z))
        B = np.column_stack([B, G @ sparse_direction(G.T @ Z @ G, sparsity)])
    return np.asarray(B)


# Sets of measure τ -----------------------------------------------------------------------------


def in_diagonal_ellipsoid(offsets: Array, R: Array, tau: float) -> Array:
    """Which rows lie in the ellipsoid (5.4) that takes the covariance R as diagonal."""
    radius = scipy.stats.chi2.ppf(tau, len(R))
    return np.asarray(np.sum(offsets**2 / np.diagonal(R), axis=1) <= radius)
