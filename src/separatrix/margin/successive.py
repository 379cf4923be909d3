"""Successive hyperplanes: maximum margins, and margins measured by the scatter within."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from separatrix._warnings import warn_caller
from separatrix.base.parameters import N_COMPONENTS, Allowed, one_of, real_number
from separatrix.base.solution import Solution
from separatrix.fisher.directions import ledoit_wolf
from separatrix.kernels import KernelLike, RandomState
from separatrix.linalg import (
    EPS,
    Array,
    CholeskyWhitener,
    cholesky_whitener,
    numerical_rank,
)
from separatrix.margin.estimator import (
    MARGIN_PARAMETERS,
    OPTIONAL_KERNEL,
    MarginEstimator,
    added_between_scatter,
    project_out,
)
from separatrix.margin.hyperplane import prepare_points, soft_margin_hyperplane
from separatrix.margin.planes import (
    BinaryProblem,
    ClassWeight,
    FindPlane,
    Planes,
    find_planes,
    pose_problems,
    publish_planes,
)
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows
from separatrix.moments.spectra import fourth_moment
from separatrix.selection import AtMost

MIN_NEW_PART = 1e-4
"""Length of the part of a unit normal outside the span of others below which it adds nothing: the
accuracy of a normal that ends at the default `tol`."""


VANISHING_SHRINKAGE = 1e-6
"""The least shrinkage: it gives a singular Sw an inverse in which its null space counts most. The
directions of table 3 of the source do not depend on it between 1e-8 and 1e-5."""


def block_basis(V: Array, known: Array) -> Array:
    """Orthonormal columns that span those of V outside the known ones, the most shared first.

    All columns of V count alike, whatever their length; their order does not matter.
    """
    V = project_out(V / np.linalg.norm(V, axis=0), known)
    U, s, _ = np.linalg.svd(V, full_matrices=False)
    U = U[:, : numerical_rank(s, 1, largest=1.0, eps=MIN_NEW_PART)]
    basis = np.linalg.qr(project_out(U, known))[0] if U.shape[1] else U
    # a single normal keeps its side
    return basis * np.sign(basis[:, 0] @ V[:, 0]) if V.shape[1] == basis.shape[1] == 1 else basis


class Round(NamedTuple):
    """Hyperplanes of all problems in the same rows, and the directions that they add.

    Attributes
    ----------
    directions : array (r, k)
        Orthonormal, and orthogonal to those of the rounds before.
    planes : Planes
        In the coordinates of the rows given; directions taken off the rows change no value
        ``z·w + b``, because w is orthogonal to them.
    """

    directions: Array
    planes: Planes


def successive_directions(
    Z: Array,
    problems: Sequence[BinaryProblem],
    find: FindPlane,
    whitener: CholeskyWhitener | None,
) -> Iterator[Round]:
    """Rounds of orthonormal directions, each found where all earlier ones are taken off the rows.

    A round has the normals of the hyperplanes of all problems: one direction for two classes.
    With a `whitener` of S the hyperplanes minimise ``½ wᵀ S w`` in place of ``½ wᵀ w``; in the
    coordinates ``v = Lᵀ w`` where S is the identity that is a plain hyperplane, and ``w ⟂ w_j`` is
    ``v ⟂ L⁻¹ w_j``.

    Parameters
    ----------
    Z : array (n, r)
        Centred rows.
    problems : sequence of BinaryProblem
    find : callable
        Takes points, signs and costs to a hyperplane.
    whitener : CholeskyWhitener, optional

    Yields
    ------
    Round
        Until no hyperplane has a direction left. The last may have no directions.
    """
    n_directions = Z.shape[1]
    Z = np.ascontiguousarray(whitener.whiten(Z.T).T) if whitener else np.array(Z, order="C")
    points = prepare_points(Z)
    W, Q = np.zeros((n_directions, 0)), np.zeros((n_directions, 0))
    while True:
        planes = find_planes(points, problems, find)
        planes = planes._replace(W=project_out(planes.W, Q))
        planes = planes.lift(whitener.unwhiten) if whitener else planes
        normals = planes.W[:, planes.W.any(axis=0)]
        block = block_basis(normals, W) if normals.shape[1] else normals
        yield Round(block, planes)
        W = np.hstack([W, block])
        if block.shape[1] == 0 or W.shape[1] == n_directions:
            return
        # w ⟂ w_j is v ⟂ L⁻¹ w_j: directions are taken off in the coordinates of the rows
        taken = project_out(whitener.whiten(block) if whitener else block, Q)
        taken = np.linalg.qr(taken)[0]
        taken = np.linalg.qr(project_out(taken, Q))[0]  # a second time: orthogonal to 2e-16
        Q = np.hstack([Q, taken])
        points = points.remove(taken)


class MarginMaximizingDiscriminant(MarginEstimator):
    """Orthonormal directions of successive hyperplanes that leave the widest margin.

    The first direction is the normal of the support vector machine, equation 3 of Pitelis and
    Tefas: minimise ``½‖w‖² + C Σ ξ_i`` subject to ``y_i (w·x_i + b) ≥ 1 - ξ_i`` and ``ξ_i ≥ 0``.
    It is taken off the rows, ``x - (w·x) w``, the next hyperplane is fitted to the rest, and so on
    (margin maximizing discriminant analysis, MMDA). So there are more directions than classes.

    With more than two classes each round finds the hyperplanes of all classes against the rest,
    and takes off all of their directions at once.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions, up to the rank of the centred data. None stops after one round: one
        direction for two classes, at most one for each class otherwise. "auto" takes as many as
        classify held-out rows best.
    C : float
        Cost of a row on the wrong side of its margin, in the units of 1/‖x‖²: multiplying the
        data by s is multiplying C by s².
    class_weight : dict, "balanced" or None
        Factors of C by label; "balanced" gives both sides of every hyperplane the same weight in
        all.
    kernel : str, Kernel, callable or None
        None is the linear method. With a kernel it is that in the kernel's feature space, as in
        `KernelFisherDiscriminant`.
    n_landmarks : int, array (n_landmarks, n_features) or None
        As in `KernelFisherDiscriminant`.
    random_state : int, RandomState or None
        Which rows become landmarks, and which of more than 1000 the median looks at.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        The directions, in the order in which they were found.
    n_components_ : int
        How many were found: fewer than asked for when no hyperplane is left that puts rows on
        either side.
    explained_ratio_ : array (n_components,)
        Share of the scatter between classes that each direction adds to those before it.
    mean_ : array (n_features,)
        Mean of the training rows, taken off by `transform`.
    means_ : array (n_classes, n_features)
        Class means.
    classes_ : array (n_classes,)
    rank_ : int
        Rank of the centred data.
    dual_coef_ : array (n_components, n_reference) or None
        With a kernel, the directions as combinations of reference rows; `components_`, `mean_` and
        `means_` are then in orthonormal coordinates of the feature space.
    kernel_ : Kernel, callable or None
        The kernel that was used, with numbers in place of words.
    n_iter_ : int
        Steps that the slowest hyperplane took.
    normals_ : array (n_normals, n_features)
        Unit normals of the hyperplanes of all rounds, each pointing to its class: for two classes
        the components, for more what the components of a round span.
    class_of_normal_ : array (n_normals,)
        The label that each points to; of two classes the second.
    intercepts_ : array (n_normals,)
        ``X @ normals_.T + intercepts_`` are the signed distances of rows from the hyperplanes;
        with a kernel, of centred rows in the coordinates of the feature space.
    margins_ : array (n_normals,)
        Distance from each hyperplane to its margin.
    support_ : tuple of n_normals arrays of int
        Training rows on their margin or short of it, by position.

    Notes
    -----
    The hyperplanes of the first round decide, whatever `n_components`: those of the support vector
    machine, for more than two classes of each class against the rest. For a decision by all
    directions put a classifier behind `transform`.

    ``components_ @ components_.T`` is the identity, and each direction is the normal of the best
    hyperplane among the rows less the directions before it.

    For small C and classes of equal size every row is a support vector and the direction is the
    difference of the class means; nothing is left of it afterwards, so that there is exactly one
    direction. When one class is much larger the best hyperplane may leave all rows on one side:
    its normal is zero, for any C. Then ``class_weight="balanced"`` helps.

    References
    ----------
    Kocsor, Kovács and Szepesvári, Margin maximizing discriminant analysis, ECML (2004).
    Pitelis and Tefas, Discriminant subspace learning based on support vectors machines, Machine
    Learning and Data Mining in Pattern Recognition (2013), equation 3.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from separatrix import MarginMaximizingDiscriminant
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = MarginMaximizingDiscriminant(n_components=3, C=0.1).fit(scale(X), y)
    >>> bool(np.allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-12))
    True
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
        **MARGIN_PARAMETERS,
        **OPTIONAL_KERNEL,
    }
    class_of_normal_: Any
    normals_: Any

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        C: float = 1.0,
        class_weight: ClassWeight = None,
        kernel: KernelLike | None = None,
        n_landmarks: int | ArrayLike | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.C = C
        self.class_weight = class_weight
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        return _solve_successive(self, moments, rows, selected)


def _solve_successive(
    estimator: MarginEstimator,
    moments: ClassMoments,
    rows: LabelledRows,
    selected: Mapping[str, Any],
    shrinkage: float | str | None = None,
) -> Solution:
    """Directions of either method: with a shrinkage those whose margins are measured by Sw."""
    Z, lift = estimator._center(rows, moments)
    rank, whitener = Z.shape[1], None
    extras: dict[str, Any] = {}
    wanted = estimator._n_wanted(rank, "the rank of the centred data", selected)
    if shrinkage is not None:
        # features that do not vary are none, and of a kernel's map the rows have the rank
        varying = int(np.count_nonzero(moments.total_diagonal() > 0))
        n_dimensions = varying if estimator.kernel is None else rank
        whitened = whiten_within(Z, rows, moments, shrinkage, n_dimensions)
        whitener, extras["shrinkage_"] = whitened
    problems = pose_problems(rows, estimator.C, estimator.class_weight)
    directions = successive_directions(Z, problems, soft_margin_hyperplane, whitener)
    rounds = list(_take_rounds(estimator, directions, wanted))
    W = _collect(estimator, rounds, rank, wanted)
    W = _orthonormal(lift(W)) if W.shape[1] else np.zeros((moments.n_features, 0))
    first, *later = [r.planes.lift(lift) for r in rounds if r is rounds[0] or r.directions.any()]
    every = reduce(Planes.join, later, first)
    shown = every.take(np.flatnonzero(every.W.any(axis=0)))
    extras |= publish_planes(shown, first, moments, selected)
    extras |= {
        "n_iter_": int(every.n_iter.max()),
        "n_components_": W.shape[1],
        "normals_": shown.W.T,
        "class_of_normal_": rows.classes[shown.positive],
    }
    n_sided = W.shape[1] if len(problems) == 1 else 0
    criterion = added_between_scatter(W, moments)
    return Solution(W, criterion, rank, extras=extras, n_sided=n_sided)


def _take_rounds(
    estimator: MarginEstimator, rounds: Iterator[Round], wanted: int
) -> Iterator[Round]:
    """As many rounds as have the wanted directions; one for None."""
    n_found = 0
    for round_ in rounds:
        n_found += round_.directions.shape[1]
        yield round_
        if estimator.n_components is None or n_found >= wanted:
            return


def _collect(estimator: MarginEstimator, rounds: Sequence[Round], rank: int, wanted: int) -> Array:
    """The wanted directions as columns, or as many as there are; all of one round for None."""
    W = np.hstack([np.zeros((rank, 0)), *(round_.directions for round_ in rounds)])
    asked = estimator.n_components
    if asked is None:
        return W
    few = 0 < W.shape[1] < wanted
    if few and isinstance(asked, Integral) and not isinstance(asked, AtMost):
        warn_caller(
            f"{type(estimator).__name__} found {W.shape[1]} of n_components={wanted} directions: "
            "no further hyperplane has rows on both sides. Try a larger C or "
            'class_weight="balanced".'
        )
    return W[:, :wanted]


def _orthonormal(W: Array) -> Array:
    """Columns that lifting has left orthonormal but for the last digits, made so to the last."""
    Q, R = np.linalg.qr(W)
    return Q * np.sign(np.diagonal(R))


class WithinSupportVectorDiscriminant(MarginEstimator):
    """Orthonormal directions of hyperplanes with a wide margin and little scatter within classes.

    The first direction minimises ``½ wᵀ Sw w + C Σ ξ_i`` subject to ``y_i (w·x_i + b) ≥ 1 - ξ_i``
    and ``ξ_i ≥ 0``, each next one the same among the rows less the directions before it (within
    support vector discriminant analysis, WSVDA). Sw takes the place of the identity of the support
    vector machine: margins are measured by the scatter within classes, as in Fisher's criterion.

    Parameters
    ----------
    n_components : int, "auto" or None
        As in `MarginMaximizingDiscriminant`.
    C : float
        Cost of a row on the wrong side of its margin. Neither the scale of the data nor giving
        every row twice changes its meaning.
    shrinkage : "auto" or float in [0, 1]
        s: margins are measured by ``(1 - s) Sw + s tr(Sw)/d I``. "auto" is that of Ledoit and
        Wolf, where the expected squared error of the covariance within classes is least. 0 is the
        method of the paper, as the limit of a vanishing s; 1 is `MarginMaximizingDiscriminant`
        with ``C d / tr(Sw)`` in place of C.
    class_weight, kernel, n_landmarks, random_state
        As in `MarginMaximizingDiscriminant`.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        The directions, in the order in which they were found.
    shrinkage_ : float
        The s that was used.
    n_components_, explained_ratio_, mean_, means_, classes_, rank_, dual_coef_, kernel_, n_iter_
        As in `MarginMaximizingDiscriminant`.
    normals_, class_of_normal_, intercepts_, margins_, support_
        As in `MarginMaximizingDiscriminant`.

    Notes
    -----
    The hyperplanes of the first round decide, whatever `n_components`. For two classes that is the
    minimum class variance support vector machine of Zafeiriou, Tefas and Pitas, but for the
    shrinkage.

    ``components_ @ components_.T`` is the identity. The first direction is the first of
    `MarginMaximizingDiscriminant` in coordinates where Sw is the identity; the others are not,
    because they are orthogonal in the coordinates given.

    The shrunken Sw is factored once, and each round is a plain hyperplane in the coordinates in
    which it is the identity. The matrix ``P Sw P`` of the paper's table 2, singular from the
    second direction on, is not formed.

    For small C and two classes of equal size the directions are those of Foley and Sammon: each
    maximises Fisher's criterion among the directions orthogonal to those before it, as far as
    there are any.

    References
    ----------
    Pitelis and Tefas, Discriminant subspace learning based on support vectors machines, Machine
    Learning and Data Mining in Pattern Recognition (2013), table 2 (equation 13 without its ½, so
    that C means the same as in the support vector machine).
    Zafeiriou, Tefas and Pitas, Minimum class variance support vector machines, IEEE Transactions
    on Image Processing 16 (2007).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import WithinSupportVectorDiscriminant
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = WithinSupportVectorDiscriminant(n_components=2).fit(X, y)
    >>> model.transform(X).shape
    (569, 2)
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        **MarginMaximizingDiscriminant._allowed_parameters,
        "shrinkage": (one_of("auto"), real_number(0, 1)),
    }
    class_of_normal_: Any
    normals_: Any
    shrinkage_: Any

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        C: float = 1.0,
        shrinkage: float | str = "auto",
        class_weight: ClassWeight = None,
        kernel: KernelLike | None = None,
        n_landmarks: int | ArrayLike | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.C = C
        self.class_weight = class_weight
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.shrinkage = shrinkage

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        return _solve_successive(self, moments, rows, selected, self.shrinkage)


def whiten_within(
    Z: Array, rows: LabelledRows, moments: ClassMoments, shrinkage: float | str, n_dimensions: int
) -> tuple[CholeskyWhitener | None, float]:
    """The coordinates in which the shrunken Sw is the identity; and the shrinkage.

    ``(1 - s) Sw + s tr(Sw)/d I`` with d the number of dimensions, those without rows included.
    """
    if not Z.any():
        return None, 0.0
    if Z.shape[1] < moments.n_features or moments.eps > EPS:
        rows = rows._replace(X=Z, feature_names=None)
        moments = ClassMoments.from_rows(rows)
    Sw = np.array(moments.Sw)
    spread, size = float(np.trace(Sw)), float(np.sum(moments.total_diagonal()))
    if spread <= Z.shape[1] * moments.eps * size:  # classes are points: Sw is numerical zero
        return cholesky_whitener(size / n_dimensions * np.eye(len(Sw))), 1.0
    s = shrinkage
    if isinstance(s, str):
        fourth = fourth_moment(moments, rows)
        s = ledoit_wolf(Sw, fourth, moments.n_samples, n_dimensions)
    s = max(float(s), VANISHING_SHRINKAGE)
    Sw *= 1 - s
    Sw.flat[:: len(Sw) + 1] += s * spread / n_dimensions
    return cholesky_whitener(Sw), s
