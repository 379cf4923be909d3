"""Hyperplanes first, independent components of the rest: SVM+ICA, linear and with a kernel.

The normals of support vector machines separate the classes; independent component analysis
describes the rest of the rows, orthogonal to the normals or uncorrelated with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from separatrix._warnings import warn_caller
from separatrix.base.kernel import KERNEL_PARAMETERS
from separatrix.base.parameters import N_COMPONENTS, Allowed, one_of
from separatrix.base.solution import Solution
from separatrix.kernels import KernelLike, RandomState
from separatrix.linalg import Array, numerical_rank
from separatrix.margin.estimator import (
    MARGIN_PARAMETERS,
    MarginEstimator,
    added_between_scatter,
    project_out,
)
from separatrix.margin.planes import ClassWeight, publish_planes
from separatrix.margin.projection import REDUNDANCY_PARAMETERS, keep_planes, name_sides
from separatrix.moments.class_moments import ClassMoments

LEAST_SHARE = 0.001
"""Share of the variance of the least axis that is searched in a feature space: the thesis's."""

MOST_OF_A_ROW = 0.25
"""Share of the variance of a component from one row beyond which it is warned of. Of components
of rows fewer than features it is 0.6 to 0.9, and 0.97 and more of noise."""

MAX_ICA_ROWS = 8000
"""Rows that a search for components looks at: more would not move them by a hundredth."""

HELD_OUT_STEPS = 20
"""Steps of the search in half of the rows, from the components of all: one that is a single row
is left in two or three."""

GAUSSIAN_LOG_COSH = 0.3745672
"""Mean of log cosh of a standard normal number."""

# The mathematics -----------------------------------------------------------------------------


def principal_axes(Z: Array, W: Array) -> tuple[Array, Array]:
    """Orthonormal directions by descending variance among those orthogonal to the columns of W.

    Returns
    -------
    variances : array (k,)
        ``vᵀ S v`` with ``S = ZᵀZ``, those that are not numerical zero.
    V : array (r, k)

    Examples
    --------
    >>> Z = np.array([[1.0, 1.0], [-1.0, -1.0], [2.0, -2.0], [-2.0, 2.0]])
    >>> variances, V = principal_axes(Z, np.array([[1.0], [0.0]]))
    >>> variances, np.abs(V).round(3).ravel()
    (array([10.]), array([0., 1.]))
    """
    Q, s, _ = np.linalg.svd(W, full_matrices=False)
    Q = Q[:, : numerical_rank(s, max(W.shape, default=1))]
    rows = Z - (Z @ Q) @ Q.T
    evals, V = np.linalg.eigh(rows.T @ rows)
    # compared with all of the rows: all that is left may be numerical zero
    rank = numerical_rank(evals[::-1], max(Z.shape), largest=float(np.vdot(Z, Z)))
    # along axes of little variance rounding has left a part of the normals
    return evals[::-1][:rank], project_out(project_out(V[:, ::-1][:, :rank], Q), Q)


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
    return principal_axes(Z, Z.T @ (Z @ W))


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
"""Measures of how far a distribution is from a Gaussian, by their names in `FastICA`."""


def symmetric_orthonormal(W: Array) -> Array:
    """``(W Wᵀ)^{-1/2} W`` (3.14): the nearest orthonormal rows, none preferred to another."""
    U, _, Vt = np.linalg.svd(W, full_matrices=False)
    return U @ Vt


class Unmixing(NamedTuple):
    """Orthonormal rows W (k, m), and whether the search for them has converged."""

    W: Array
    converged: bool


def symmetric_fastica(
    white: Array, shares: Array, start: Array, ica: FastICA, max_iter: int | None = None
) -> Unmixing:
    """Orthonormal rows along which white rows (n, m) are farthest from Gaussian.

    Means are by `shares` of the rows, which sum to one.
    The fixed point ``w ← E[z g(wᵀz)] - E[g'(wᵀz)] w`` (3.13) for all rows of `start` (k, m),
    followed by (3.14). W is k × m, so that all m axes are searched, also for few components:
    scikit-learn's own search has as many components as axes.
    """
    contrast, scale = CONTRASTS[ica.fun], (ica.fun_args or {}).get("alpha", 1.0)
    W, weighted = symmetric_orthonormal(start), shares[:, None] * white
    for _ in range(max_iter or ica.max_iter):
        g, slope = contrast(white @ W.T, scale)
        before, W = W, symmetric_orthonormal(g.T @ weighted - (shares @ slope)[:, None] * W)
        if np.abs(np.abs(np.einsum("ij,ij->i", before, W)) - 1).max() < ica.tol:
            return Unmixing(W, True)
    return Unmixing(W, False)


def negentropy(U: Array, shares: Array) -> Array:
    """How far each column is from a Gaussian: ``(E log cosh u - E log cosh ν)²`` (3.12).

    Less what sampling adds to it, so that it is zero for a Gaussian on average, or below.
    """
    U = U - shares @ U
    U = U / np.sqrt(np.maximum(shares @ U**2, 1e-300))
    values = np.logaddexp(U, -U) - np.log(2)
    mean = shares @ values
    noise = (shares**2) @ (values - mean) ** 2
    return (mean - GAUSSIAN_LOG_COSH) ** 2 - noise


class Components(NamedTuple):
    """Directions as columns W along which rows have unit variance, and what holds of them.

    Attributes
    ----------
    W : array (r, k)
    held_out : array (k,)
        Negentropy of rows that the search has not seen.
    length : array (k,)
        Share of the variance without the row that has most of it.
    """

    W: Array
    held_out: Array
    length: Array


def independent_directions(
    Z: Array,
    axes: Array,
    n_components: int,
    *,
    weights: Array | None = None,
    ica: FastICA,
    random_state: RandomState = None,
) -> Components:
    """Directions along which rows are as independent as can be, and what holds for new rows.

    They are combinations of all columns of `axes`, along which rows are uncorrelated: FastICA
    with symmetric decorrelation on the whitened rows. The axes point to where the rows have their
    longer tail, so that turning the data turns the answer.
    """
    if n_components == 0:
        return Components(np.zeros((len(axes), 0)), np.zeros(0), np.zeros(0))
    numbers = _number_rows(Z)
    step = -(-len(Z) // MAX_ICA_ROWS)
    some = np.flatnonzero(numbers % step == 0)
    Z, halves = Z[some], numbers[some] // step % 2
    rows = Z @ axes
    weights = np.ones(len(Z)) if weights is None else weights[some]
    shares = _normalize(weights)
    deviations = np.sqrt(shares @ rows**2)
    deviations *= np.where(shares @ rows**3 < 0, -1.0, 1.0)
    white = rows / deviations
    rng = check_random_state(random_state if ica.random_state is None else ica.random_state)
    start = rng.standard_normal((n_components, axes.shape[1]))
    unmixed = symmetric_fastica(white, shares, start, ica)
    if not unmixed.converged:
        warn_caller(
            f"FastICA did not converge in max_iter={ica.max_iter} steps: its {n_components} "
            "directions depend on random_state. Raise it, ica=FastICA(max_iter=...), or ask for "
            "fewer components: Gaussian noise has no independent directions to find.",
            ConvergenceWarning,
        )
    squares = (shares[:, None] * (white @ unmixed.W.T) ** 2).T  # they sum to one
    largest = np.array([np.bincount(numbers[some], of_rows).max() for of_rows in squares])
    _warn_of_single_rows(largest, *white.shape)
    held_out = np.zeros(n_components)
    for half in (0, 1):
        learn, judge = halves == half, halves != half
        W = _continue_search(white[learn], _normalize(shares[learn]), unmixed.W, ica)
        held_out += negentropy(white[judge] @ W.T, _normalize(shares[judge])) / 2
    return Components(axes / deviations @ unmixed.W.T, held_out, 1 - largest)


def _continue_search(rows: Array, shares: Array, W: Array, ica: FastICA) -> Array:
    """Directions as rows that a search from W finds in some of the rows alone."""
    rows = rows - shares @ rows
    evals, V = np.linalg.eigh((shares[:, None] * rows).T @ rows)
    # rows that were left out must leave no trace: whatever they alone span is taken off
    first = len(evals) - numerical_rank(evals[::-1], len(evals))
    root, V = np.sqrt(evals[first:]), V[:, first:]
    unmixed = symmetric_fastica(rows @ (V / root), shares, (W @ V) * root, ica, HELD_OUT_STEPS)
    return unmixed.W @ (V / root).T


def _normalize(weights: Array) -> Array:
    return weights / weights.sum()


def _number_rows(Z: Array) -> Array:
    """A number for each row by its length, the same for equal rows.

    Neither the order of the rows nor turning them matters to it.
    """
    lengths = np.einsum("ij,ij->i", Z, Z)
    size = float(lengths.max(initial=0.0)) or 1.0
    numbers = np.unique((lengths / size).round(10), return_inverse=True)[1]
    # rows that are all as long as each other go by their places
    return numbers if numbers.max(initial=0) else np.arange(len(Z))


def _warn_of_single_rows(largest: Array, n_rows: int, n_axes: int) -> None:
    """Warn where one row has much of the variance of a component."""
    single = int(np.count_nonzero(largest > MOST_OF_A_ROW))
    if single:
        warn_caller(
            f"{single} of {len(largest)} independent components are mostly one training row, "
            f"which has up to {largest.max():.0%} of the variance: {n_rows} rows in {n_axes} axes "
            "always have such directions. They are short, so as not to mislead neighbours; "
            "ica=FastICA(n_components=...) searches that many leading axes."
        )


# Estimators ----------------------------------------------------------------------------------


def _check_ica(ica: Any) -> bool:
    symmetric = isinstance(ica, FastICA) and ica.algorithm == "parallel"
    return symmetric and isinstance(ica.fun, str) and ica.fun in CONTRASTS


ICA_PARAMETERS: dict[str, Sequence[Allowed]] = {
    "n_components": N_COMPONENTS,
    **MARGIN_PARAMETERS,
    **REDUNDANCY_PARAMETERS,
    "ica": (
        one_of(None),
        Allowed(_check_ica, "a parallel FastICA whose fun is 'logcosh', 'exp' or 'cube'"),
    ),
}


def _solve_components(
    estimator: Any,
    moments: ClassMoments,
    rows: Any,
    selected: Mapping[str, Any],
    find_axes: Callable[[Array, Array], tuple[Array, Array]],
    size: Callable[[Array], Any],
) -> Solution:
    """Normals, then independent components in the axes that are left.

    Parameters
    ----------
    estimator : SupportVectorICA or KernelSupportVectorICA
    moments, rows, selected
        As in `SubspaceEstimator._solve`.
    find_axes : callable
        From rows and normals to variances and axes of what these leave, by descending variance.
    size : callable
        Divisors of a block of directions.
    """
    Z, lift = estimator._center(rows, moments)
    planes = keep_planes(estimator, Z, rows)
    ica = FastICA() if estimator.ica is None else estimator.ica
    weighted = Z if rows.weights is None else np.sqrt(rows.weights)[:, None] * Z
    variances, axes = find_axes(weighted, planes.kept.W)
    axes = axes[:, : ica.n_components]
    k = _n_independent(estimator, len(planes.kept.margin), axes.shape[1], selected)
    of_rows = {"weights": rows.weights, "ica": ica, "random_state": estimator.random_state}
    components = independent_directions(Z, axes, k, **of_rows)
    independent = lift(components.W) / size(components.W)
    kept = planes.kept.lift(lift)
    kept = kept.scale(np.broadcast_to(1 / size(kept.W), len(kept.margin)))
    W = np.hstack([kept.W, independent])
    n_kept = estimator._n_wanted(W.shape[1], "hyperplanes and independent directions", selected)
    n_normals = min(len(kept.margin), n_kept)
    shown = kept.take(np.arange(n_normals))
    extras = {
        **planes.extras,
        **publish_planes(shown, planes.every.lift(lift), moments, selected),
        "n_normals_": n_normals,
        "n_components_": n_kept,
        "class_of_component_": moments.classes[shown.positive],
        "sides_": name_sides(shown, moments.classes),
        "accuracy_": shown.accuracy,
        "held_out_negentropy_": components.held_out,
    }
    if "map" in selected:
        extras["uncorrelated_variances_"] = variances[: axes.shape[1]]
        extras["uncorrelated_coef_"] = selected["map"].along(lift(axes)).basis.T
    criterion = added_between_scatter(W[:, :n_kept], moments)
    # new rows have none of the spread that a single row has
    W[:, len(kept.margin) :] *= components.length
    return Solution(W[:, :n_kept], criterion, Z.shape[1], extras=extras, n_sided=n_normals)


def _n_independent(
    estimator: Any, n_normals: int, available: int, selected: Mapping[str, Any]
) -> int:
    """How many independent directions follow the normals; None takes as many as those."""
    if estimator.n_components is None:
        return min(n_normals, available)
    why = f"{n_normals} hyperplanes and {available} directions orthogonal to them"
    return max(estimator._n_wanted(n_normals + available, why, selected) - n_normals, 0)


class SupportVectorICA(MarginEstimator):
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
    C, redundancy, multiclass, class_weight
        As in `SupportVectorProjection`.
    ica : FastICA or None
        scikit-learn's, for its settings: `fun` and its "alpha", `max_iter`, `tol`, and
        `n_components`, the number of leading principal axes that are searched; None is all.
        With as many axes as components the search is that of scikit-learn.
    random_state : int, RandomState or None
        Where FastICA starts, unless `ica` says so.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        The normals first, of unit length. The length of an independent direction is 1 less the
        share of the variance that a single training row has along it.
    n_normals_ : int
        How many of them are normals of hyperplanes.
    n_components_ : int
        How many there are in all.
    held_out_negentropy_ : array
        How far rows held out are from a Gaussian along each independent direction, found in one
        half and judged in the other: ``(E log cosh u - E log cosh ν)²`` less what sampling adds,
        so that noise has zero on average.
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
    unless `ica` leaves some out: a direction of little variance may be the least Gaussian. They
    come without an order of worth, and another number of them gives others.

    Where rows are not many more than axes, the direction that is least Gaussian has one row far
    from all others, and new rows near zero. Such components are warned of, and short.

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
    held_out_negentropy_: Any
    n_normals_: Any

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        C: float = 1.0,
        class_weight: ClassWeight = None,
        redundancy: float = 0.0,
        multiclass: str = "ovr",
        ica: FastICA | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.C = C
        self.class_weight = class_weight
        self.redundancy = redundancy
        self.multiclass = multiclass
        self.ica = ica
        self.random_state = random_state

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        def size(W: Array) -> Any:
            return np.linalg.norm(W, axis=0)

        return _solve_components(self, moments, rows, selected, principal_axes, size)


class KernelSupportVectorICA(MarginEstimator):
    """Normals of support vector machines, and independent components uncorrelated with them.

    In the feature space of a kernel: first one hyperplane for each class against the rest, as in
    `SupportVectorProjection`. Then the axes of largest variance among the directions along which
    the rows are uncorrelated with those along all normals, and independent component analysis
    among these axes (nonlinear SVM+ICA).

    Parameters
    ----------
    n_components, C, redundancy, multiclass, class_weight, ica
        As in `SupportVectorICA`.
    kernel : str, Kernel or callable
        As in `KernelFisherDiscriminant`.
    n_landmarks : int, array (n_landmarks, n_features) or None
        As in `KernelFisherDiscriminant`.
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
        λ of each axis: sum of squares of the training rows along it. Axes with less than a
        thousandth of the sum of all are left out.
    n_normals_, n_components_, held_out_negentropy_
        As in `SupportVectorICA`.
    class_of_component_, accuracy_, sides_, support_
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
    neither outweighs the other; then an independent direction is as long as in `SupportVectorICA`,
    in units of its block. The thesis gives a normal the length 1/margin before.

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
    held_out_negentropy_: Any
    n_normals_: Any
    uncorrelated_coef_: Any
    uncorrelated_variances_: Any

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        C: float = 1.0,
        class_weight: ClassWeight = None,
        redundancy: float = 0.0,
        multiclass: str = "ovr",
        kernel: KernelLike = "rbf",
        n_landmarks: int | ArrayLike | None = None,
        ica: FastICA | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.C = C
        self.class_weight = class_weight
        self.redundancy = redundancy
        self.multiclass = multiclass
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.ica = ica
        self.random_state = random_state

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        def find_axes(Z: Array, normals: Array) -> tuple[Array, Array]:
            variances, axes = uncorrelated_axes(Z, normals)
            n_axes = int(np.count_nonzero(variances >= LEAST_SHARE * variances.sum()))
            return variances[:n_axes], axes[:, :n_axes]

        def size(W: Array) -> Any:
            return np.linalg.norm(W) or 1.0

        return _solve_components(self, moments, rows, selected, find_axes, size)
