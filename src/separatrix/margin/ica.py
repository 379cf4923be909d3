"""Hyperplanes first, independent components of the rest: SVM+ICA, linear and with a kernel.

The normals of support vector machines separate the classes; independent component analysis
describes the rest of the rows, orthogonal to the normals or uncorrelated with them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from separatrix._warnings import warn_caller
from separatrix.base.estimator import SubspaceEstimator, fit_rows
from separatrix.base.kernel import KERNEL_PARAMETERS
from separatrix.base.parameters import N_COMPONENTS, Allowed, one_of, real_number, whole_number
from separatrix.base.solution import Solution
from separatrix.kernels import RandomState
from separatrix.linalg import Array, numerical_rank
from separatrix.margin.estimator import (
    MARGIN_PARAMETERS,
    ClassWeight,
    MarginEstimator,
    added_between_scatter,
    center_in_span,
    one_sided,
)
from separatrix.margin.projection import KeptNormals, keep_normals
from separatrix.moments.class_moments import ClassMoments

MIN_AXIS_VARIANCE_SHARE = 1e-3
"""Share of the variance in the uncorrelated subspace below which an axis is left out:
0.1 %, as in the thesis."""

# The mathematics -----------------------------------------------------------------------------


def orthogonal_complement(W: Array) -> Array:
    """An orthonormal basis of the directions orthogonal to the columns of W.

    Examples
    --------
    >>> orthogonal_complement(np.array([[1.0], [0.0], [0.0]])).shape
    (3, 2)
    """
    if W.shape[1] == 0:
        return np.eye(len(W))
    U, s, _ = np.linalg.svd(W)
    return U[:, numerical_rank(s, max(W.shape)) :]


def uncorrelated_axes(Z: Array, W: Array) -> tuple[Array, Array]:
    """Orthonormal directions by descending variance, uncorrelated with the rows along W.

    Maximises ``vᵀ S v`` with ``S = ZᵀZ``, direction after direction, subject to ``vᵀ v = 1`` and
    ``Wᵀ S v = 0`` (3.16): the eigenvectors of S among the directions orthogonal to ``S W``.

    Returns
    -------
    variances : array (k,)
        ``vᵀ S v``, those that are not numerical zero.
    V : array (r, k)

    Examples
    --------
    >>> Z = np.array([[1.0, 1.0], [-1.0, -1.0], [2.0, -2.0], [-2.0, 2.0]])
    >>> variances, V = uncorrelated_axes(Z, np.array([[1.0], [1.0]]))
    >>> variances, np.abs(V).round(3).ravel()
    (array([16.]), array([0.707, 0.707]))
    """
    free = orthogonal_complement(Z.T @ (Z @ W))
    _, s, Vt = np.linalg.svd(Z @ free, full_matrices=False)
    rank = numerical_rank(s, max(Z.shape), largest=float(np.linalg.norm(Z, 2)))
    return s[:rank] ** 2, free @ Vt[:rank].T


def independent_directions(
    Z: Array, n_components: int, *, max_iter: int, tol: float, random_state: RandomState
) -> Array:
    """Directions as columns along which rows have unit variance and are as independent as can be.

    FastICA with symmetric decorrelation ((3.13)-(3.14)) on the leading principal axes. The axes
    point to where the rows have their longer tail, so that turning the data turns the answer.
    """
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    U, s, V = U[:, :n_components], s[:n_components], Vt[:n_components].T
    tails = np.where(np.sum(U**3, axis=0) < 0, -1.0, 1.0)
    white, V = U * tails * np.sqrt(len(Z)), V * tails / s * np.sqrt(len(Z))
    start = check_random_state(random_state).standard_normal((n_components, n_components))
    model = FastICA(whiten=False, max_iter=max_iter, tol=tol, w_init=start)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(white)
    for warning in caught:
        if not issubclass(warning.category, ConvergenceWarning):
            warn_caller(str(warning.message), warning.category)
            continue
        warn_caller(
            f"FastICA did not converge with ica_max_iter={max_iter}, ica_tol={tol:g}: its "
            f"{n_components} directions depend on random_state. Raise ica_max_iter, or ask for "
            "fewer components: Gaussian noise has no independent directions to find.",
            ConvergenceWarning,
        )
    return V @ model.components_.T


# Estimators ----------------------------------------------------------------------------------

ICA_PARAMETERS: dict[str, Sequence[Allowed]] = {
    "n_components": N_COMPONENTS,
    **MARGIN_PARAMETERS,
    "redundancy": (real_number(0, 1),),
    "angle": (one_of("full", "acute"),),
    "ica_max_iter": (whole_number(1),),
    "ica_tol": (real_number(0, open_low=True),),
}


def _n_independent(
    estimator: SubspaceEstimator, n_normals: int, available: int, selected: Mapping[str, Any]
) -> int:
    """How many independent directions follow the normals; None takes as many as those."""
    if estimator.n_components is None:
        return min(n_normals, available)
    why = f"{n_normals} hyperplanes and {available} directions beside them"
    return max(estimator._n_wanted(n_normals + available, why, selected) - n_normals, 0)


def _find_independent(estimator: Any, Z: Array, n_components: int) -> Array:
    """Independent directions of the rows with the estimator's settings of FastICA."""
    estimator._report_progress(f"{n_components} independent directions of {Z.shape[1]}")
    if n_components == 0:
        return np.zeros((Z.shape[1], 0))
    return independent_directions(
        Z,
        n_components,
        max_iter=estimator.ica_max_iter,
        tol=estimator.ica_tol,
        random_state=estimator.random_state,
    )


def _join_blocks(
    estimator: SubspaceEstimator,
    normals: KeptNormals,
    independent: Array,
    selected: Mapping[str, Any],
) -> tuple[Array, dict[str, Any]]:
    """Normals and independent directions side by side, those wanted, and their attributes."""
    W = np.hstack([normals.W, independent])
    n_kept = estimator._n_wanted(W.shape[1], "hyperplanes and independent directions", selected)
    n_normals = min(normals.W.shape[1], n_kept)
    extras = normals.extras | {
        "n_normals_": n_normals,
        "n_components_": n_kept,
        "class_of_component_": normals.extras["class_of_component_"][:n_normals],
        "accuracy_": normals.extras["accuracy_"][:n_normals],
    }
    return W[:, :n_kept], extras


class SupportVectorICA(SubspaceEstimator):
    """Normals of support vector machines, and independent components orthogonal to them.

    First the directions of `SupportVectorProjection`, one hyperplane for each class against the
    rest. Then the rows are projected on the directions orthogonal to all of these, and independent
    component analysis finds directions there along which the rows are as independent as can be
    (linear SVM+ICA).

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions in all: the normals first, then as many independent ones as are
        needed. None takes as many independent directions as there are normals. "auto" takes as
        many as classify held-out rows best, judged by the first ones of many.
    C : float
        Cost of a row on the wrong side of its margin.
    redundancy : float in [0, 1]
        As in `SupportVectorProjection`; 0 keeps all normals.
    angle : "full" or "acute"
        As in `SupportVectorProjection`.
    class_weight : dict, "balanced" or None
        Factors of C by label; "balanced" gives both sides of every hyperplane the same weight in
        all.
    tol : float
        How far from 1 the margin of a support vector may end.
    max_iter : int
        Steps at most for each hyperplane.
    ica_tol : float
        When FastICA stops.
    ica_max_iter : int
        Steps of FastICA at most.
    verbose : bool
        Print the number of directions found.
    random_state : int, RandomState or None
        Where FastICA starts.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Directions of unit length, the normals first.
    n_normals_ : int
        How many of them are normals of hyperplanes.
    n_components_ : int
        How many there are in all.
    class_of_component_, accuracy_ : array (n_normals,)
        As in `SupportVectorProjection`.
    eliminated_, elimination_distances_ : array
        As in `SupportVectorProjection`.
    explained_ratio_, mean_, means_, classes_, rank_, n_iter_
        As in `MarginMaximizingDiscriminant`.

    Notes
    -----
    Every independent direction is orthogonal to every normal:
    ``components_[:n_normals_] @ components_[n_normals_:].T`` is zero. That does not make the
    features uncorrelated, as the thesis says it does: the projected rows are correlated unless all
    of them have the same variance in every direction. `KernelSupportVectorICA` with the linear
    kernel makes them uncorrelated.

    Independent directions are found among the leading principal axes of the rows without the
    normals, as many as are asked for. They come without an order of worth, and another number of
    them gives others.

    References
    ----------
    Moon, A novel hybrid dimensionality reduction method using support vector machines and
    independent component analysis, doctoral thesis, University of Tennessee (2010), section 3.2.
    Hyvärinen, Fast and robust fixed-point algorithms for independent component analysis, IEEE
    Transactions on Neural Networks 10 (1999).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from separatrix import SupportVectorICA
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SupportVectorICA(n_components=5, random_state=0).fit(scale(X), y)
    >>> model.n_normals_, model.transform(scale(X)).shape
    (3, (178, 5))
    """

    _directions_depend_on_their_number: ClassVar[bool] = True
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = ICA_PARAMETERS
    _without_directions = one_sided

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        C: float = 1.0,
        redundancy: float = 0.0,
        angle: str = "full",
        class_weight: ClassWeight = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        ica_tol: float = 1e-4,
        ica_max_iter: int = 200,
        verbose: bool | int = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.C = C
        self.redundancy = redundancy
        self.angle = angle
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.ica_tol = ica_tol
        self.ica_max_iter = ica_max_iter
        self.verbose = verbose
        self.random_state = random_state

    fit = fit_rows  # type: ignore[assignment]

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        Z, lift = center_in_span(rows, moments)
        normals = keep_normals(self, Z, rows)
        free = orthogonal_complement(normals.W)
        n_free = free.shape[1] if Z.any() else 0
        k = _n_independent(self, normals.W.shape[1], n_free, selected)
        independent = free @ _find_independent(self, Z @ free, k)
        independent /= np.linalg.norm(independent, axis=0)
        normals = normals._replace(W=lift(normals.W))
        W, extras = _join_blocks(self, normals, lift(independent), selected)
        return Solution(W, added_between_scatter(W, moments), Z.shape[1], extras=extras)


class KernelSupportVectorICA(MarginEstimator):
    """Normals of support vector machines, and independent components uncorrelated with them.

    In the feature space of a kernel: first one hyperplane for each class against the rest, as in
    `SupportVectorProjection`. Then the axes of largest variance among the directions along which
    the rows are uncorrelated with those along all normals, and independent component analysis
    among these axes (nonlinear SVM+ICA).

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions in all: the normals first, then as many independent ones as are
        needed. None takes as many independent directions as there are normals. "auto" takes as
        many as classify held-out rows best, judged by the first ones of many.
    C : float
        Cost of a row on the wrong side of its margin.
    redundancy : float in [0, 1]
        As in `SupportVectorProjection`; 0 keeps all normals.
    angle : "full" or "acute"
        As in `SupportVectorProjection`.
    class_weight : dict, "balanced" or None
        Factors of C by label; "balanced" gives both sides of every hyperplane the same weight in
        all.
    kernel : "rbf", "poly", "linear", "cosine", "precomputed" or callable
        As in `KernelFisherDiscriminant`.
    kernel_gamma : "scale", "median" or float
        As in `KernelFisherDiscriminant`.
    degree : int
        Of "poly": ``(g x·x' + coef0)^degree``.
    coef0 : float
        Of "poly".
    kernel_params : dict or None
        Keyword arguments of a function.
    n_landmarks : int or None
        As in `KernelFisherDiscriminant`.
    tol : float
        How far from 1 the margin of a support vector may end.
    max_iter : int
        Steps at most for each hyperplane.
    ica_tol : float
        When FastICA stops.
    ica_max_iter : int
        Steps of FastICA at most.
    verbose : bool
        Print the number of directions found.
    random_state : int, RandomState or None
        Where FastICA starts, which rows become landmarks, and which of more than 1000 the median
        looks at.

    Attributes
    ----------
    dual_coef_ : array (n_components, n_reference)
        The directions as combinations of reference rows:
        ``transform(X) = (k(X, reference) - centre) @ dual_coef_.T``.
    uncorrelated_coef_ : array (n_axes, n_reference)
        β: the axes of the subspace uncorrelated with the normals, as such combinations.
    uncorrelated_variances_ : array (n_axes,)
        λ of each axis: sum of squares of the training rows along it. Axes with less than 0.1 % of
        the sum of all are left out.
    n_normals_, n_components_, class_of_component_, accuracy_
        As in `SupportVectorICA`.
    eliminated_, elimination_distances_ : array
        As in `SupportVectorProjection`.
    components_, explained_ratio_, mean_, means_, classes_, rank_, kernel_gamma_, n_iter_
        As in `MarginMaximizingDiscriminant`, in orthonormal coordinates of the feature space.

    Notes
    -----
    Training rows along an independent direction are uncorrelated with those along a normal. With
    K̃ the centred kernel matrix and G the centred rows along the normals, ``G K̃ β = 0``,
    ``βᵀ K̃ β = I`` and ``βᵀ K̃² β = diag(λ)``. In orthonormal coordinates of the feature space the
    axes are the eigenvectors of the scatter S among the directions orthogonal to S times the
    normals: nothing is inverted.

    Both blocks of directions are divided by their Frobenius norm (equations 3.47-3.49), so that
    neither outweighs the other.

    References
    ----------
    Moon, A novel hybrid dimensionality reduction method using support vector machines and
    independent component analysis, doctoral thesis, University of Tennessee (2010), section 3.3.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from separatrix import KernelSupportVectorICA
    >>> X, y = load_wine(return_X_y=True)
    >>> Z = KernelSupportVectorICA(random_state=0).fit_transform(scale(X), y)
    >>> bool(abs(np.corrcoef(Z.T)[:3, 3:]).max() < 1e-8)
    True
    """

    _directions_depend_on_their_number: ClassVar[bool] = True
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        **ICA_PARAMETERS,
        **KERNEL_PARAMETERS,
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        C: float = 1.0,
        redundancy: float = 0.0,
        angle: str = "full",
        class_weight: ClassWeight = None,
        kernel: str | Callable[..., Array] = "rbf",
        kernel_gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        n_landmarks: int | None = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        ica_tol: float = 1e-4,
        ica_max_iter: int = 200,
        verbose: bool | int = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.C = C
        self.redundancy = redundancy
        self.angle = angle
        self.class_weight = class_weight
        self.kernel = kernel
        self.kernel_gamma = kernel_gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.ica_tol = ica_tol
        self.ica_max_iter = ica_max_iter
        self.verbose = verbose
        self.random_state = random_state

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        Z = rows.X
        normals = keep_normals(self, Z, rows)
        variances, axes = uncorrelated_axes(Z, normals.W)
        enough = variances >= MIN_AXIS_VARIANCE_SHARE * variances.sum()
        variances, axes = variances[enough], axes[:, enough]
        k = _n_independent(self, normals.W.shape[1], axes.shape[1], selected)
        independent = axes @ _find_independent(self, Z @ axes, k)
        # (3.47)-(3.49): neither block outweighs the other
        normals = normals._replace(W=_divide_by_norm(normals.W))
        W, extras = _join_blocks(self, normals, _divide_by_norm(independent), selected)
        extras |= {
            "uncorrelated_variances_": variances,
            "uncorrelated_coef_": selected["map"].along(axes).basis.T,
        }
        return Solution(W, added_between_scatter(W, moments), Z.shape[1], extras=extras)


def _divide_by_norm(W: Array) -> Array:
    """W over its Frobenius norm."""
    return W / np.linalg.norm(W) if W.any() else W
