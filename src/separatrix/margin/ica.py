"""Hyperplanes first, independent components of the rest: SVM+ICA, linear and with a kernel.

The normals of support vector machines separate the classes; independent component analysis
describes the rest of the rows, orthogonal to the normals or uncorrelated with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from separatrix._warnings import warn_caller
from separatrix.base.estimator import SubspaceEstimator
from separatrix.base.kernel import KERNEL_PARAMETERS
from separatrix.base.parameters import N_COMPONENTS, Allowed, one_of, real_number, whole_number
from separatrix.base.solution import Solution
from separatrix.kernels import KernelLike, RandomState
from separatrix.linalg import Array, numerical_rank
from separatrix.margin.estimator import (
    MARGIN_PARAMETERS,
    MarginEstimator,
    SpanCoordinates,
    added_between_scatter,
    center_in_span,
    one_sided,
    validate_weighted,
)
from separatrix.margin.planes import (
    ClassWeight,
    decide_by_planes,
    predict_by_planes,
    publish_planes,
)
from separatrix.margin.projection import (
    REDUNDANCY_PARAMETERS,
    KeptPlanes,
    keep_planes,
    name_sides,
)
from separatrix.moments.class_moments import ClassMoments

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


def principal_axes(Z: Array, free: Array) -> tuple[Array, Array]:
    """Orthonormal directions by descending variance in the span of the orthonormal columns `free`.

    Returns
    -------
    variances : array (k,)
        ``vᵀ S v`` with ``S = ZᵀZ``, those that are not numerical zero.
    V : array (r, k)
    """
    _, s, Vt = np.linalg.svd(Z @ free, full_matrices=False)
    # beside the rows themselves: all that is left in `free` may be numerical zero
    spectral_norm = float(np.linalg.svd(Z, compute_uv=False).max(initial=0.0))
    rank = numerical_rank(s, max(Z.shape), largest=spectral_norm)
    return s[:rank] ** 2, free @ Vt[:rank].T


def uncorrelated_axes(Z: Array, W: Array) -> tuple[Array, Array]:
    """Orthonormal directions by descending variance, uncorrelated with the rows along W.

    Maximises ``vᵀ S v`` with ``S = ZᵀZ``, direction after direction, subject to ``vᵀ v = 1`` and
    ``Wᵀ S v = 0`` (3.16): the eigenvectors of S among the directions orthogonal to ``S W``.

    Examples
    --------
    >>> Z = np.array([[1.0, 1.0], [-1.0, -1.0], [2.0, -2.0], [-2.0, 2.0]])
    >>> variances, V = uncorrelated_axes(Z, np.array([[1.0], [1.0]]))
    >>> variances, np.abs(V).round(3).ravel()
    (array([16.]), array([0.707, 0.707]))
    """
    return principal_axes(Z, orthogonal_complement(Z.T @ (Z @ W)))


def log_cosh_slopes(U: Array, a: float) -> tuple[Array, Array]:
    """Values of g and of its derivative for G(u) = log cosh(a u) / a."""
    g = np.tanh(a * U)
    return g, a * (1 - g**2)


def gaussian_slopes(U: Array, a: float) -> tuple[Array, Array]:
    """Values of g and of its derivative for G(u) = -exp(-a u²/2) / a."""
    bell = np.exp(-a * U**2 / 2)
    return U * bell, (1 - a * U**2) * bell


def quartic_slopes(U: Array, a: float) -> tuple[Array, Array]:
    """Values of g and of its derivative for G(u) = u⁴/4: kurtosis, without scale."""
    return U**3, 3 * U**2


CONTRASTS: dict[str, Callable[[Array, float], tuple[Array, Array]]] = {
    "logcosh": log_cosh_slopes,
    "exp": gaussian_slopes,
    "cube": quartic_slopes,
}
"""Measures of how far a distribution is from a Gaussian, by the names of `contrast`."""


def symmetric_orthonormal(W: Array) -> Array:
    """``(W Wᵀ)^{-1/2} W`` (3.14): the nearest orthonormal rows, none preferred to another."""
    U, _, Vt = np.linalg.svd(W, full_matrices=False)
    return U @ Vt


class Unmixing(NamedTuple):
    """Orthonormal rows W (k, m), and whether the search for them has converged."""

    W: Array
    converged: bool


def symmetric_fastica(
    white: Array,
    shares: Array,
    start: Array,
    contrast: str,
    *,
    scale: float,
    max_iter: int,
    tol: float,
) -> Unmixing:
    """Orthonormal rows along which white rows (n, m) are farthest from Gaussian.

    Means are by `shares` of the rows, which sum to one.
    The fixed point ``w ← E[z g(wᵀz)] - E[g'(wᵀz)] w`` (3.13) for all rows of `start` (k, m),
    followed by (3.14). W is k × m, so that all m axes are searched, also for few components.
    """
    W, weighted = symmetric_orthonormal(start), shares[:, None] * white
    for _ in range(max_iter):
        g, slope = CONTRASTS[contrast](white @ W.T, scale)
        before, W = W, symmetric_orthonormal(g.T @ weighted - (shares @ slope)[:, None] * W)
        if np.abs(np.abs(np.einsum("ij,ij->i", before, W)) - 1).max() < tol:
            return Unmixing(W, True)
    return Unmixing(W, False)


def independent_directions(
    Z: Array,
    axes: Array,
    n_components: int,
    *,
    weights: Array | None = None,
    contrast: str = "logcosh",
    contrast_scale: float = 1.0,
    max_iter: int,
    tol: float,
    random_state: RandomState,
) -> Array:
    """Directions as columns along which rows have unit variance and are as independent as can be.

    They are combinations of all columns of `axes`, along which rows are uncorrelated: FastICA
    with symmetric decorrelation on the whitened rows. The axes point to where the rows have their
    longer tail, so that turning the data turns the answer.
    """
    rows = Z @ axes
    shares = np.full(len(Z), 1 / len(Z)) if weights is None else weights / weights.sum()
    deviations = np.sqrt(shares @ rows**2)
    deviations *= np.where(shares @ rows**3 < 0, -1.0, 1.0)
    start = check_random_state(random_state).standard_normal((n_components, axes.shape[1]))
    options: dict[str, Any] = {"scale": contrast_scale, "max_iter": max_iter, "tol": tol}
    found = symmetric_fastica(rows / deviations, shares, start, contrast, **options)
    if not found.converged:
        warn_caller(
            f"FastICA did not converge with ica_max_iter={max_iter}, ica_tol={tol:g}: its "
            f"{n_components} directions depend on random_state. Raise ica_max_iter, or ask for "
            "fewer components: Gaussian noise has no independent directions to find.",
            ConvergenceWarning,
        )
    return axes / deviations @ found.W.T


# Estimators ----------------------------------------------------------------------------------

ICA_PARAMETERS: dict[str, Sequence[Allowed]] = {
    "n_components": N_COMPONENTS,
    **MARGIN_PARAMETERS,
    **REDUNDANCY_PARAMETERS,
    "ica_max_iter": (whole_number(1),),
    "ica_tol": (real_number(0, open_low=True),),
    "ica_axes": (one_of(None), whole_number(1)),
    "contrast": (one_of(*CONTRASTS),),
    "contrast_scale": (real_number(0, open_low=True),),
    "least_share": (real_number(0, 1),),
}


def _n_independent(
    estimator: SubspaceEstimator, n_normals: int, available: int, selected: Mapping[str, Any]
) -> int:
    """How many independent directions follow the normals; None takes as many as those."""
    if estimator.n_components is None:
        return min(n_normals, available)
    why = f"{n_normals} hyperplanes and {available} directions beside them"
    return max(estimator._n_wanted(n_normals + available, why, selected) - n_normals, 0)


def _keep_axes(estimator: Any, variances: Array, axes: Array) -> tuple[Array, Array]:
    """The leading axes that have the least share of the variance, at most `ica_axes` of them."""
    enough = variances >= estimator.least_share * variances.sum()
    n_axes = min(int(enough.sum()), estimator.ica_axes or len(variances))
    return variances[:n_axes], axes[:, :n_axes]


def _weigh(Z: Array, weights: Array | None) -> Array:
    """Rows whose products with each other are those of the weighted rows."""
    return Z if weights is None else np.sqrt(weights)[:, None] * Z


def _find_independent(
    estimator: Any, Z: Array, weights: Array | None, axes: Array, n_components: int
) -> Array:
    """Independent directions among the axes with the estimator's settings of FastICA."""
    estimator._report_progress(f"{n_components} independent directions in {axes.shape[1]} axes")
    if n_components == 0:
        return np.zeros((Z.shape[1], 0))
    return independent_directions(
        Z,
        axes,
        n_components,
        weights=weights,
        contrast=estimator.contrast,
        contrast_scale=estimator.contrast_scale,
        max_iter=estimator.ica_max_iter,
        tol=estimator.ica_tol,
        random_state=estimator.random_state,
    )


def _join_blocks(
    estimator: SubspaceEstimator,
    found: KeptPlanes,
    independent: Array,
    moments: ClassMoments,
    selected: Mapping[str, Any],
) -> Solution:
    """Normals and independent directions side by side, those wanted, and their attributes."""
    W = np.hstack([found.kept.W, independent])
    n_kept = estimator._n_wanted(W.shape[1], "hyperplanes and independent directions", selected)
    n_normals = min(len(found.kept.margin), n_kept)
    shown = found.kept.take(np.arange(n_normals))
    extras = {
        **found.extras,
        **publish_planes(shown, found.every, moments, selected),
        "n_normals_": n_normals,
        "n_components_": n_kept,
        "class_of_component_": moments.classes[shown.positive],
        "sides_": name_sides(shown, moments.classes),
        "accuracy_": shown.accuracy,
    }
    W = W[:, :n_kept]
    criterion = added_between_scatter(W, moments)
    return Solution(W, criterion, len(W), extras=extras, n_sided=n_normals)


class SupportVectorICA(ClassifierMixin, SubspaceEstimator):
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
    redundancy : float in [0, 1] or int
        As in `SupportVectorProjection`; 0 keeps all normals.
    redundancy_scale : "raw" or "normalized"
        As in `SupportVectorProjection`.
    angle : "full" or "acute"
        As in `SupportVectorProjection`.
    least_accuracy : float in (0, 1]
        As in `SupportVectorProjection`.
    multiclass : "ovr" or "ovo"
        As in `SupportVectorProjection`.
    class_weight : dict, "balanced" or None
        Factors of C by label; "balanced" gives both sides of every hyperplane the same weight in
        all.
    loss : "hinge" or "squared_hinge"
        Whether a row on the wrong side of its margin costs C times its shortfall ξ, or C ξ².
    ica_tol : float
        When FastICA stops.
    ica_max_iter : int
        Steps of FastICA at most.
    ica_axes : int or None
        In how many of the leading principal axes independent directions are sought; None is all
        of them. As many axes as independent directions is what scikit-learn's `FastICA` does.
    contrast : "logcosh", "exp" or "cube"
        How FastICA measures the distance from a Gaussian: its g(u) is ``tanh(a u)``,
        ``u exp(-a u²/2)`` or ``u³``.
    contrast_scale : float
        a in these; "cube" has none.
    least_share : float in [0, 1]
        Axes with a smaller share of the variance are left out; 0 keeps all.
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
    class_of_component_, accuracy_, intercepts_, margins_ : array (n_normals,)
        As in `SupportVectorProjection`, of the normals.
    sides_, support_
        As in `SupportVectorProjection`, of the normals.
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

    Independent directions are combinations of all principal axes of the rows without the normals,
    unless `ica_axes` or `least_share` leave some out: a direction of little variance may be the
    least Gaussian. They come without an order of worth, and another number of them gives others.

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
    _decides_in_subspace: ClassVar[bool] = False
    _planes: Any
    _planes_map: Any
    accuracy_: Any
    class_of_component_: Any
    eliminated_: Any
    elimination_distances_: Any
    intercepts_: Any
    margins_: Any
    n_components_: int
    n_iter_: Any
    n_normals_: Any
    sides_: Any
    support_: Any
    _without_directions = one_sided
    decision_function = decide_by_planes
    predict = predict_by_planes

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        C: float = 1.0,
        redundancy: float = 0.0,
        redundancy_scale: str = "raw",
        angle: str = "full",
        least_accuracy: float = 0.5,
        multiclass: str = "ovr",
        class_weight: ClassWeight = None,
        loss: str = "hinge",
        ica_tol: float = 1e-4,
        ica_max_iter: int = 200,
        ica_axes: int | None = None,
        contrast: str = "logcosh",
        contrast_scale: float = 1.0,
        least_share: float = 0.0,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.C = C
        self.redundancy = redundancy
        self.redundancy_scale = redundancy_scale
        self.angle = angle
        self.least_accuracy = least_accuracy
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.loss = loss
        self.ica_tol = ica_tol
        self.ica_max_iter = ica_max_iter
        self.ica_axes = ica_axes
        self.contrast = contrast
        self.contrast_scale = contrast_scale
        self.least_share = least_share
        self.random_state = random_state

    _validate = validate_weighted

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        Z, lift = center_in_span(rows, moments)
        found = keep_planes(self, Z, rows)
        free = orthogonal_complement(found.kept.W)
        _, axes = _keep_axes(self, *principal_axes(_weigh(Z, rows.weights), free))
        k = _n_independent(self, len(found.kept.margin), axes.shape[1], selected)
        independent = _find_independent(self, Z, rows.weights, axes, k)
        independent /= np.linalg.norm(independent, axis=0)
        found = found._replace(kept=found.kept.lift(lift), every=found.every.lift(lift))
        solution = _join_blocks(self, found, lift(independent), moments, selected)
        return solution._replace(rank=Z.shape[1])


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
    redundancy : float in [0, 1] or int
        As in `SupportVectorProjection`; 0 keeps all normals.
    redundancy_scale : "raw" or "normalized"
        As in `SupportVectorProjection`.
    angle : "full" or "acute"
        As in `SupportVectorProjection`.
    least_accuracy : float in (0, 1]
        As in `SupportVectorProjection`.
    multiclass : "ovr" or "ovo"
        As in `SupportVectorProjection`.
    class_weight : dict, "balanced" or None
        Factors of C by label; "balanced" gives both sides of every hyperplane the same weight in
        all.
    kernel : str, Kernel or callable
        As in `KernelFisherDiscriminant`.
    n_landmarks : int, array (n_landmarks, n_features) or None
        As in `KernelFisherDiscriminant`.
    loss : "hinge" or "squared_hinge"
        Whether a row on the wrong side of its margin costs C times its shortfall ξ, or C ξ².
    ica_tol : float
        When FastICA stops.
    ica_max_iter : int
        Steps of FastICA at most.
    ica_axes : int or None
        In how many of the leading principal axes independent directions are sought; None is all
        of them. As many axes as independent directions is what scikit-learn's `FastICA` does.
    contrast : "logcosh", "exp" or "cube"
        How FastICA measures the distance from a Gaussian: its g(u) is ``tanh(a u)``,
        ``u exp(-a u²/2)`` or ``u³``.
    contrast_scale : float
        a in these; "cube" has none.
    least_share : float in [0, 1]
        Axes with a smaller share of the variance are left out; 0.001 in the thesis.
    normal_length : "unit" or "margin"
        Lengths of the normals before their block is divided by its norm: all the same, or the
        lengths at which the margins are at ±1, as equation 3.47 has them: normals with a narrow
        margin count for more.
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
        λ of each axis: sum of squares of the training rows along it. Axes with less than
        `least_share` of the sum of all are left out.
    n_normals_, n_components_, class_of_component_, accuracy_, sides_, support_
        As in `SupportVectorICA`.
    intercepts_, margins_ : array (n_normals,)
        Column i of ``transform(X)`` plus ``intercepts_[i]`` is 0 on the hyperplane, and
        ``margins_[i]`` on its margin.
    eliminated_, elimination_distances_ : array
        As in `SupportVectorProjection`.
    components_, explained_ratio_, mean_, means_, classes_, rank_, kernel_, n_iter_
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
        "normal_length": (one_of("unit", "margin"),),
    }
    accuracy_: Any
    class_of_component_: Any
    eliminated_: Any
    elimination_distances_: Any
    n_normals_: Any
    sides_: Any
    uncorrelated_coef_: Any
    uncorrelated_variances_: Any

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        C: float = 1.0,
        redundancy: float = 0.0,
        redundancy_scale: str = "raw",
        angle: str = "full",
        least_accuracy: float = 0.5,
        multiclass: str = "ovr",
        class_weight: ClassWeight = None,
        loss: str = "hinge",
        kernel: KernelLike = "rbf",
        n_landmarks: int | ArrayLike | None = None,
        ica_tol: float = 1e-4,
        ica_max_iter: int = 200,
        ica_axes: int | None = None,
        contrast: str = "logcosh",
        contrast_scale: float = 1.0,
        least_share: float = 0.001,
        normal_length: str = "unit",
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.C = C
        self.redundancy = redundancy
        self.redundancy_scale = redundancy_scale
        self.angle = angle
        self.least_accuracy = least_accuracy
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.loss = loss
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.ica_tol = ica_tol
        self.ica_max_iter = ica_max_iter
        self.ica_axes = ica_axes
        self.contrast = contrast
        self.contrast_scale = contrast_scale
        self.least_share = least_share
        self.normal_length = normal_length
        self.random_state = random_state

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        centred = SpanCoordinates(rows.X, lambda W: W)  # by the kernel map, but not by weights
        Z, lift = centred if rows.weights is None else center_in_span(rows, moments)
        found = keep_planes(self, Z, rows)
        variances, axes = _keep_axes(
            self, *uncorrelated_axes(_weigh(Z, rows.weights), found.kept.W)
        )
        k = _n_independent(self, len(found.kept.margin), axes.shape[1], selected)
        independent = _find_independent(self, Z, rows.weights, axes, k)
        axes, independent = lift(axes), lift(independent)
        found = found._replace(kept=found.kept.lift(lift), every=found.every.lift(lift))
        # (3.47)-(3.49): neither block outweighs the other
        margins = found.kept.margin
        lengths = 1 / margins if self.normal_length == "margin" else np.ones_like(margins)
        found = found._replace(kept=found.kept.scale(_divide_by_norm(lengths)))
        solution = _join_blocks(self, found, _divide_by_norm(independent), moments, selected)
        return solution._replace(rank=Z.shape[1]).with_extras(
            uncorrelated_variances_=variances,
            uncorrelated_coef_=selected["map"].along(axes).basis.T,
        )


def _divide_by_norm(W: Array) -> Array:
    """W over its Frobenius norm."""
    return W / np.linalg.norm(W) if W.any() else W
