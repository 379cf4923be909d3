"""Hyperplanes first, independent components of what they leave: SVM+ICA, linear and with a kernel.

The normals of support vector machines tell the classes apart; independent component analysis
describes the rest of the rows, orthogonal to the normals or uncorrelated with them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from separatrix._warnings import warn_caller
from separatrix.base.kernel import KERNEL_CONSTRAINTS, KernelEstimator
from separatrix.base.parameters import N_COMPONENTS, Allowed, one_of, real_number, whole_number
from separatrix.base.rows import LabelledData
from separatrix.base.solution import Solution
from separatrix.kernels import RandomState
from separatrix.linalg import Array, numerical_rank
from separatrix.margin.estimator import MARGIN_CONSTRAINTS, rows_in_their_span
from separatrix.margin.projection import NormalsMixin
from separatrix.margin.successive import between_shares
from separatrix.moments.class_moments import ClassMoments

LEAST_SHARE = 1e-3
"""Share of the variance in the uncorrelated subspace below which an axis is left out."""

# The mathematics -----------------------------------------------------------------------------


def complement(W: Array) -> Array:
    """An orthonormal basis of the directions orthogonal to the columns of W.

    Examples
    --------
    >>> complement(np.array([[1.0], [0.0], [0.0]])).shape
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
        ``vᵀ S v``, those above rounding.
    V : array (r, k)

    Examples
    --------
    >>> Z = np.array([[1.0, 1.0], [-1.0, -1.0], [2.0, -2.0], [-2.0, 2.0]])
    >>> variances, V = uncorrelated_axes(Z, np.array([[1.0], [1.0]]))
    >>> variances, np.abs(V).round(3).ravel()
    (array([16.]), array([0.707, 0.707]))
    """
    free = complement(Z.T @ (Z @ W))
    _, s, Vt = np.linalg.svd(Z @ free, full_matrices=False)
    rank = numerical_rank(s, max(Z.shape), largest=float(np.linalg.norm(Z, 2)))
    return s[:rank] ** 2, free @ Vt[:rank].T


def independent_directions(
    Z: Array, n_components: int, *, max_iter: int, tol: float, random_state: RandomState
) -> Array:
    """Directions as columns along which rows have unit variance and are as independent as can be.

    FastICA with symmetric decorrelation on the leading principal axes. The axes point to where
    the rows have their longer tail, so that turning the data turns the answer.
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

ICA_CONSTRAINTS: dict[str, Sequence[Allowed]] = {
    "n_components": N_COMPONENTS,
    **MARGIN_CONSTRAINTS,
    "redundancy": (real_number(0, 1),),
    "angle": (one_of("full", "acute"),),
    "ica_max_iter": (whole_number(1),),
    "ica_tol": (real_number(0, open_low=True),),
}


class NormalsAndICA(NormalsMixin):
    """Base of both methods: how many directions of each kind, and the two blocks."""

    _directions_depend_on_their_number: ClassVar[bool] = True
    ica_max_iter: int
    ica_tol: float
    random_state: RandomState

    def _n_independent(self, n_normals: int, available: int) -> int:
        """How many independent directions follow the normals; None takes as many as those."""
        if self.n_components is None:
            return min(n_normals, available)
        most = n_normals + available
        words = f"{n_normals} hyperplanes and {available} directions beside them"
        return max(self._n_wanted(most, words) - n_normals, 0)

    def _independent(self, Z: Array, n_components: int) -> Array:
        self._say(f"{n_components} independent directions of {Z.shape[1]}")
        if n_components == 0:
            return np.zeros((Z.shape[1], 0))
        return independent_directions(
            Z,
            n_components,
            max_iter=self.ica_max_iter,
            tol=self.ica_tol,
            random_state=self.random_state,
        )

    def _solution(
        self, normals: Array, independent: Array, moments: ClassMoments, rank: int
    ) -> Solution:
        W = np.hstack([normals, independent])
        n_kept = self._n_wanted(W.shape[1], "hyperplanes and independent directions")
        W = W[:, :n_kept]
        self.n_normals_ = min(normals.shape[1], n_kept)
        self.class_of_component_ = self.class_of_component_[: self.n_normals_]
        self.accuracy_ = self.accuracy_[: self.n_normals_]
        self.n_components_ = W.shape[1]
        return Solution(W, between_shares(W, moments), rank)


class SupportVectorICA(NormalsAndICA):
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
        What a row on the wrong side of its margin costs.
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
        Say how many directions have been found.
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
    features uncorrelated, as the source says it does: the projected rows are correlated unless all
    of them have the same variance in every direction. `KernelSupportVectorICA` with the linear
    kernel makes them uncorrelated.

    Independent directions are found among the leading principal axes of what the normals leave, as
    many as are asked for. They come without an order of worth, and another number of them gives
    others.

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

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = ICA_CONSTRAINTS

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        C: float = 1.0,
        redundancy: float = 0.0,
        angle: str = "full",
        class_weight: Mapping[Any, float] | str | None = None,
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

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # type: ignore[override]
        """Find the subspace.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Training rows.
        y : array (n_samples,)
            Their class labels.

        Returns
        -------
        self
            The fitted estimator.
        """
        return super().fit(X, y)

    def _solve(self, moments: ClassMoments, data: LabelledData | None) -> Solution:
        assert data is not None, "hyperplanes are found among rows"
        rows, lift = rows_in_their_span(data, moments)
        normals = self._kept_normals(rows, data).W
        free = complement(normals)
        k = self._n_independent(normals.shape[1], free.shape[1] if rows.any() else 0)
        independent = free @ self._independent(rows @ free, k)
        independent /= np.linalg.norm(independent, axis=0)
        return self._solution(lift(normals), lift(independent), moments, rows.shape[1])


class KernelSupportVectorICA(NormalsAndICA, KernelEstimator):
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
        What a row on the wrong side of its margin costs.
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
        Say how many directions have been found.
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

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        **ICA_CONSTRAINTS,
        **KERNEL_CONSTRAINTS,
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        C: float = 1.0,
        redundancy: float = 0.0,
        angle: str = "full",
        class_weight: Mapping[Any, float] | str | None = None,
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

    def _solve(self, moments: ClassMoments, data: LabelledData | None) -> Solution:
        assert data is not None, "hyperplanes are found among rows"
        rows, rank = data.X, data.X.shape[1]
        normals = self._kept_normals(rows, data).W
        variances, axes = uncorrelated_axes(rows, normals)
        enough = variances >= LEAST_SHARE * variances.sum()
        self.uncorrelated_variances_, axes = variances[enough], axes[:, enough]
        self.uncorrelated_coef_ = self._map.along(axes).basis.T
        k = self._n_independent(normals.shape[1], axes.shape[1])
        independent = axes @ self._independent(rows @ axes, k)
        normals, independent = _unit(normals), _unit(independent)
        return self._solution(normals, independent, moments, rank)


def _unit(W: Array) -> Array:
    """W over its Frobenius norm."""
    return W / np.linalg.norm(W) if W.any() else W
