"""Directions of successive support vector machines: the margin between classes as criterion.

`MarginMaximizingDiscriminant` and `WithinSupportVectorDiscriminant` find a hyperplane, take its
direction off the rows, and find the next; `SupportVectorProjection` takes one hyperplane for each
class against the rest, and drops those that repeat others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from separatrix.base import LabelledData, Solution, SubspaceEstimator, unchanged_on_failure
from separatrix.base_kernel import KERNEL_CONSTRAINTS, KernelEstimator
from separatrix.caution import warn_caller
from separatrix.fisher import range_basis
from separatrix.hyperplane import Hyperplane, Points, soft_margin_hyperplane
from separatrix.kernel import Kernel, RandomState, empirical_kernel_map
from separatrix.linalg import (
    EPS,
    Array,
    CholeskyWhitener,
    Lift,
    SingularMatrixError,
    cholesky_whitener,
    numerical_rank,
    span,
)
from separatrix.moments import ClassMoments
from separatrix.parameters import (
    N_COMPONENTS,
    YES_OR_NO,
    Allowed,
    one_of,
    real_number,
    whole_number,
)

SAME_DIRECTION = 1e-4
"""Part of a unit normal outside the span of others below which it is one of them."""

CHANCE = 0.5
"""γ_min: hyperplanes with no more than this share of rows on their side are no directions."""

# The mathematics -----------------------------------------------------------------------------


class Problem(NamedTuple):
    """One class against the rest, or one against the other."""

    signs: Array
    cost: Array


def one_against_rest(
    codes: Array, classes: Array, C: float, class_weight: Mapping[Any, float] | str | None
) -> list[Problem]:
    """A problem for each class, or for two classes the one that they share."""
    weights = np.ones(len(classes))
    if isinstance(class_weight, Mapping):
        weights = np.array([float(class_weight.get(c, 1.0)) for c in classes.tolist()])
    problems = []
    for c in range(1, 2) if len(classes) == 2 else range(len(classes)):
        member = codes == c
        cost = C * weights[codes]
        if class_weight == "balanced":
            counts = np.bincount(member, minlength=2)
            cost = C * (len(codes) / (2 * counts))[member.astype(int)]
        problems.append(Problem(np.where(member, 1.0, -1.0), cost))
    return problems


class Rows(NamedTuple):
    """Centred rows in coordinates of their own span.

    Attributes
    ----------
    coordinates : array (n_samples, rank)
    lift : callable
        Takes columns of coordinates to columns of features.
    """

    coordinates: Array
    lift: Lift


def rows_in_their_span(data: LabelledData, moments: ClassMoments) -> Rows:
    """The centred rows in as many coordinates as they have rank.

    Sparse rows fewer than features are handled by their inner products; more are made dense, as
    directions taken off rows fill them.
    """
    X = data.X
    if sp.issparse(X) and X.shape[0] < X.shape[1]:
        to_features, rows = empirical_kernel_map(X, Kernel("linear", {}))
        return Rows(rows, lambda W: X.T @ (to_features.basis @ W))
    dense = X.toarray() if sp.issparse(X) else X
    centred = dense - moments.origin
    centred -= moments.mean - moments.origin
    if X.shape[0] < X.shape[1]:
        return Rows(*span(centred, bound=len(centred) - 1))
    basis = range_basis(moments.St, moments.eps)
    if basis.shape[1] == basis.shape[0]:
        return Rows(centred, lambda W: W)
    return Rows(centred @ basis, basis.__matmul__)


def without(V: Array, Q: Array) -> Array:
    """Columns of V less their part in the span of the orthonormal columns of Q."""
    return V - Q @ (Q.T @ V)


def block_basis(V: Array, known: Array) -> Array:
    """Orthonormal columns that span those of V outside what is known, the most shared first.

    All columns of V count alike, whatever their length; their order does not matter.
    """
    V = without(V / np.linalg.norm(V, axis=0), known)
    U, s, _ = np.linalg.svd(V, full_matrices=False)
    U = U[:, : numerical_rank(s, 1, largest=1.0, eps=SAME_DIRECTION)]
    return np.linalg.qr(without(U, known))[0] if U.shape[1] else U


FindPlane = Callable[[Points, Array, Array], Hyperplane]


def successive_directions(
    Z: Array, problems: Sequence[Problem], find: FindPlane, whitener: CholeskyWhitener | None
) -> Iterator[Array]:
    """Blocks of orthonormal directions, each found where all earlier ones are taken off the rows.

    A block holds the normals of the hyperplanes of all problems: one direction for two classes.
    With a `whitener` of S the hyperplanes minimise ``½ wᵀ S w`` in place of ``½ wᵀ w``; in the
    coordinates ``v = Lᵀ w`` where S is the identity that is a plain hyperplane, and ``w ⟂ w_j`` is
    ``v ⟂ L⁻¹ w_j``.

    Parameters
    ----------
    Z : array (n, r)
        Centred rows.
    problems : sequence of Problem
    find : callable
        Takes points, signs and costs to a hyperplane.
    whitener : CholeskyWhitener, optional

    Yields
    ------
    array (r, k)
        Until no hyperplane has a direction left.
    """
    n_directions = Z.shape[1]
    Z = np.ascontiguousarray(whitener.whiten(Z.T).T) if whitener else np.array(Z, order="C")
    points = Points.of(Z)
    W, Q = np.zeros((n_directions, 0)), np.zeros((n_directions, 0))
    while W.shape[1] < n_directions:
        planes = [find(points, problem.signs, problem.cost) for problem in problems]
        normals = [plane.normal for plane in planes if plane.normal.any()]
        if not normals:
            return
        V = without(np.column_stack(normals), Q)
        block = block_basis(whitener.unwhiten(V) if whitener else V, W)
        if block.shape[1] == 0:
            return
        yield block
        W = np.hstack([W, block])
        taken = without(whitener.whiten(block) if whitener else block, Q)
        taken = np.linalg.qr(taken)[0]
        taken = np.linalg.qr(without(taken, Q))[0]
        Q = np.hstack([Q, taken])
        points = points.less(taken)


def between_shares(W: Array, moments: ClassMoments) -> Array:
    """Scatter between classes that each direction adds to those before it, and what is left."""
    Hb = moments.between_rows()
    along = np.sum((Hb @ np.linalg.qr(W)[0]) ** 2, axis=0)
    return np.append(along, max(float(np.sum(Hb**2)) - along.sum(), 0.0))


# Redundancy ----------------------------------------------------------------------------------


class Elimination(NamedTuple):
    """The order in which directions are dropped, the most redundant first.

    Attributes
    ----------
    order : array of int (n,)
        Positions of the directions; the last is never dropped.
    distances : array (n - 1,)
        The smallest distance between two directions left, when each was dropped.
    """

    order: Array
    distances: Array

    def kept(self, redundancy: float) -> Array:
        """Positions of the survivors for a threshold δ, the least redundant first.

        Directions are dropped while the smallest distance is at most δ, and none for δ = 0.
        """
        beyond = np.flatnonzero(self.distances > redundancy)
        n_dropped = int(beyond[0]) if len(beyond) else len(self.distances)
        return self.order[n_dropped if redundancy > 0 else 0 :][::-1]


def decorrelation(W: Array, accuracy: Array, *, acute: bool = False) -> Array:
    """``d_ij = θ_ij/π · r_i/r_j · γ_min``: how near direction i is to a better direction j.

    Parameters
    ----------
    W : array (r, n)
        Directions.
    accuracy : array (n,)
        r: share of the training rows that each has on their side.
    acute : bool
        Take directions for lines: angles above π/2 count as what they lack to π.

    Examples
    --------
    >>> W = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> decorrelation(W, np.array([0.8, 1.0]))
    array([[   inf, 0.2   ],
           [0.3125,    inf]])
    """
    unit = W / np.linalg.norm(W, axis=0)
    cosine = unit.T @ unit
    theta = np.arccos(np.clip(np.abs(cosine) if acute else cosine, -1, 1))
    distance = theta / np.pi * CHANCE * accuracy[:, None] / accuracy
    np.fill_diagonal(distance, np.inf)
    return distance


def eliminate(distance: Array, margin: Array) -> Elimination:
    """Drop the i of the smallest ``d_ij`` again and again until one direction is left.

    Of two that are as near to each other the one with the narrower margin goes, so that the
    numbering of the classes does not matter.

    Examples
    --------
    >>> distance = decorrelation(np.array([[1.0, 1.0, 0.0], [0.0, 0.1, 1.0]]), np.ones(3))
    >>> eliminate(distance, np.array([1.0, 2.0, 1.0])).order
    array([0, 2, 1])
    """
    left = list(range(len(distance)))
    order, distances = [], []
    while len(left) > 1:
        nearest = distance[np.ix_(left, left)].min(axis=1)
        ties = np.flatnonzero(nearest <= nearest.min() * (1 + 1e-9))
        at = ties[np.argmin(margin[left][ties])]
        distances.append(float(nearest[at]))
        order.append(left.pop(at))
    return Elimination(np.array(order + left, dtype=int), np.array(distances))


class Normals(NamedTuple):
    """Hyperplanes of classes against the rest, those without a direction left out.

    Attributes
    ----------
    W : array (r, n)
        Unit normals.
    of_class : array of int (n,)
        Position of the class each tells from the rest.
    accuracy : array (n,)
        Share of the training rows on their side.
    margin : array (n,)
        Distance from the hyperplane to its margin.
    """

    W: Array
    of_class: Array
    accuracy: Array
    margin: Array

    def take(self, at: Array) -> Normals:
        """Some of them."""
        return Normals(self.W[:, at], self.of_class[at], self.accuracy[at], self.margin[at])


def support_vector_normals(Z: Array, problems: Sequence[Problem], find: FindPlane) -> Normals:
    """Unit normals of all hyperplanes that are better than chance."""
    first = 1 if len(problems) == 1 else 0
    points = Points.of(Z)
    planes = [find(points, problem.signs, problem.cost) for problem in problems]
    W = np.column_stack([plane.normal for plane in planes])
    lengths = np.linalg.norm(W, axis=0)
    accuracy = np.array(
        [
            np.mean((Z @ plane.normal + plane.intercept) * problem.signs > 0)
            for plane, problem in zip(planes, problems, strict=True)
        ]
    )
    good = np.flatnonzero((lengths > 0) & (accuracy > CHANCE))
    W = W[:, good] / lengths[good]
    return Normals(W, good + first, accuracy[good], 1 / lengths[good])


# Estimators ----------------------------------------------------------------------------------

MARGIN_CONSTRAINTS: dict[str, Sequence[Allowed]] = {
    "C": (real_number(0, open_low=True),),
    "class_weight": (
        one_of(None, "balanced"),
        Allowed(lambda v: isinstance(v, Mapping), "a dictionary from labels to weights"),
    ),
    "tol": (real_number(0, open_low=True),),
    "max_iter": (whole_number(1),),
    "verbose": (YES_OR_NO, whole_number(0)),
}
"""What the parameters that all methods with hyperplanes share may be."""

OPTIONAL_KERNEL: dict[str, Sequence[Allowed]] = {
    **KERNEL_CONSTRAINTS,
    "kernel": (one_of(None), *KERNEL_CONSTRAINTS["kernel"]),
}


class HyperplaneMixin(SubspaceEstimator):
    """What all methods with hyperplanes share: their problems and how they are solved."""

    C: float
    class_weight: Mapping[Any, float] | str | None
    tol: float
    max_iter: int
    verbose: bool | int

    def _problems(self, data: LabelledData) -> list[Problem]:
        self.n_iter_ = 0
        if isinstance(self.class_weight, Mapping):
            _refuse_odd_weights(self.class_weight, data.classes)
        return one_against_rest(data.codes, data.classes, self.C, self.class_weight)

    def _find(self, points: Points, signs: Array, cost: Array) -> Hyperplane:
        plane = soft_margin_hyperplane(points, signs, cost, tol=self.tol, max_iter=self.max_iter)
        self.n_iter_ = max(self.n_iter_, plane.n_iter)
        return plane

    def _say(self, words: str) -> None:
        if self.verbose:
            print(f"[{type(self).__name__}] {words}", flush=True)

    def _warn_without_directions(self, n_components: int) -> None:
        if n_components == 0:
            warn_caller(
                f"{type(self).__name__} found no direction that separates the classes: the best "
                f"hyperplane leaves all rows on one side with C={self.C:g}. Try "
                'class_weight="balanced" or a larger C. transform returns no columns.'
            )


class NormalsMixin(HyperplaneMixin):
    """What the methods share that keep the normals of all classes against the rest."""

    redundancy: float
    angle: str

    def _kept_normals(self, rows: Array, data: LabelledData) -> Normals:
        """Unit normals by descending worth, as many as `redundancy` leaves; the path is kept."""
        found = support_vector_normals(rows, self._problems(data), self._find)
        distance = decorrelation(found.W, found.accuracy, acute=self.angle == "acute")
        path = eliminate(distance, found.margin)
        kept = found.take(path.kept(self.redundancy))
        self._say(f"{len(found.of_class)} hyperplanes, {len(kept.of_class)} directions kept")
        self.eliminated_ = data.classes[found.of_class[path.order]]
        self.elimination_distances_ = path.distances
        self.class_of_component_ = data.classes[kept.of_class]
        self.accuracy_ = kept.accuracy
        return kept


def _refuse_odd_weights(class_weight: Mapping[Any, float], classes: Array) -> None:
    """Raise for weights of unknown classes and for weights that are not positive numbers."""
    unknown = [label for label in class_weight if label not in classes.tolist()]
    if unknown:
        raise ValueError(
            f"class_weight has labels that are not in y: {unknown[:5]}; the classes are "
            f"{classes.tolist()[:10]}"
        )
    odd = {
        k: v
        for k, v in class_weight.items()
        if not (isinstance(v, Real) and np.isfinite(v) and v > 0)
    }
    if odd:
        raise ValueError(f"class_weight={odd!r} must hold positive numbers")


class MarginEstimator(HyperplaneMixin, KernelEstimator):
    """Base of the margin methods that are linear, or with a kernel those of its feature space."""

    kernel: str | Callable[..., Array] | None  # type: ignore[assignment]
    dual_coef_: Any
    _map: Any

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # type: ignore[override]
        """Find the subspace.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Training rows; for a precomputed kernel the kernel values of all pairs of them,
            (n_samples, n_samples).
        y : array (n_samples,)
            Their class labels.

        Returns
        -------
        self
            The fitted estimator.
        """
        if self.kernel is not None:
            return super().fit(X, y)
        with unchanged_on_failure(self):
            self._map = self.dual_coef_ = self.kernel_gamma_ = None
            return SubspaceEstimator.fit(self, X, y)

    def _learn(self, moments: ClassMoments, data: LabelledData | None) -> None:
        if self.kernel is None:
            SubspaceEstimator._learn(self, moments, data)
        else:
            super()._learn(moments, data)

    def _set_solution(self, moments: ClassMoments, solution: Solution) -> None:
        super()._set_solution(moments, solution)
        self.n_components_ = len(self.components_)

    def _project(self, X: ArrayLike) -> Array:
        linear = getattr(self, "_map", None) is None
        return SubspaceEstimator._project(self, X) if linear else super()._project(X)


class MarginMaximizingDiscriminant(MarginEstimator):
    """Orthonormal directions of successive hyperplanes that leave the widest margin.

    The first direction is the normal of the support vector machine (3 in the source):
    minimise ``½‖w‖² + C Σ ξ_i`` subject to ``y_i (w·x_i + b) ≥ 1 - ξ_i`` and ``ξ_i ≥ 0``. It is
    taken off the rows, ``x - (w·x) w``, the next hyperplane is sought among what is left, and so
    on (margin maximizing discriminant analysis, MMDA). So there are more directions than classes.

    With more than two classes each round finds the hyperplanes of all classes against the rest,
    and takes off all of their directions at once.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions, up to the rank of the centred data. None stops after one round: one
        direction for two classes, at most one for each class otherwise. "auto" takes as many as
        classify held-out rows best.
    C : float
        What a row on the wrong side of its margin costs, in the units of 1/‖x‖²: multiplying the
        data by s is multiplying C by s².
    class_weight : dict, "balanced" or None
        Factors of C by label; "balanced" gives both sides of every hyperplane the same weight in
        all.
    kernel : None, "rbf", "poly", "linear", "cosine", "precomputed" or callable
        None is the linear method. With a kernel it is that in the kernel's feature space, as in
        `KernelFisherDiscriminant`.
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
        How far from 1 the margin of a support vector may end. Hyperplanes are exact as a rule up
        to ``n_samples * n_features**2 = 1e10``, and of no more than 5000 rows.
    max_iter : int
        Steps at most for each hyperplane.
    verbose : bool
        Say what has been found after each round.
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
    kernel_gamma_ : float or None
        The g that was used.
    n_iter_ : int
        Steps that the slowest hyperplane took.

    Notes
    -----
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

    _parameter_constraints: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
        **MARGIN_CONSTRAINTS,
        **OPTIONAL_KERNEL,
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        C: float = 1.0,
        class_weight: Mapping[Any, float] | str | None = None,
        kernel: str | Callable[..., Array] | None = None,
        kernel_gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        n_landmarks: int | None = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        verbose: bool | int = False,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.C = C
        self.class_weight = class_weight
        self.kernel = kernel
        self.kernel_gamma = kernel_gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.random_state = random_state

    def _solve(self, moments: ClassMoments, data: LabelledData | None) -> Solution:
        assert data is not None, "hyperplanes are found among rows"
        rows, lift = rows_in_their_span(data, moments)
        rank = rows.shape[1]
        wanted = self._n_wanted(rank, "the rank of the centred data")
        W = self._directions(rows, data, moments, wanted)
        W = _orthonormal(lift(W)) if W.shape[1] else np.zeros((moments.n_features, 0))
        return Solution(W, between_shares(W, moments), rank)

    def _directions(
        self, rows: Array, data: LabelledData, moments: ClassMoments, wanted: int
    ) -> Array:
        """So many directions as columns, or as many as there are."""
        whitener = self._whitener(rows, data, moments)
        blocks = successive_directions(rows, self._problems(data), self._find, whitener)
        W = np.zeros((rows.shape[1], 0))
        for number, block in enumerate(blocks, start=1):
            W = np.hstack([W, block])
            self._say(f"round {number}: {W.shape[1]} directions of at most {wanted}")
            if self.n_components is None or W.shape[1] >= wanted:
                return W if self.n_components is None else W[:, :wanted]
        if W.shape[1] and isinstance(self.n_components, Integral):
            warn_caller(
                f"{type(self).__name__} found {W.shape[1]} of n_components={wanted} directions: "
                "no further hyperplane has rows on both sides. Try a larger C or "
                'class_weight="balanced".'
            )
        return W

    def _whitener(
        self, rows: Array, data: LabelledData, moments: ClassMoments
    ) -> CholeskyWhitener | None:
        """Coordinates in which the quadratic part of the problem is the identity."""
        return None


def _orthonormal(W: Array) -> Array:
    """Columns that lifting has left orthonormal up to rounding, made so to the last digit."""
    Q, R = np.linalg.qr(W)
    return Q * np.sign(np.diagonal(R))


class WithinSupportVectorDiscriminant(MarginMaximizingDiscriminant):
    """Orthonormal directions of hyperplanes with a wide margin and little scatter within classes.

    The first direction minimises ``½ wᵀ Sw w + C Σ ξ_i`` subject to ``y_i (w·x_i + b) ≥ 1 - ξ_i``
    and ``ξ_i ≥ 0``, each next one the same among the rows less the directions before it (within
    support vector discriminant analysis, WSVDA). Sw takes the place of the identity of the support
    vector machine: margins are measured by the scatter within classes, as in Fisher's criterion.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions, up to the rank of the centred data. None stops after one round: one
        direction for two classes, at most one for each class otherwise. "auto" takes as many as
        classify held-out rows best.
    C : float
        What a row on the wrong side of its margin costs. Neither the scale of the data nor giving
        every row twice changes what it means.
    ridge : float
        What is added to the diagonal of Sw, as a share of its mean. Without it Sw must have an
        inverse; a kernel or more features than samples need it.
    class_weight : dict, "balanced" or None
        Factors of C by label; "balanced" gives both sides of every hyperplane the same weight in
        all.
    kernel : None, "rbf", "poly", "linear", "cosine", "precomputed" or callable
        None is the linear method. With a kernel it is that in the kernel's feature space, as in
        `KernelFisherDiscriminant`.
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
        How far from 1 the margin of a support vector may end. Hyperplanes are exact as a rule up
        to ``n_samples * n_features**2 = 1e10``, and of no more than 5000 rows.
    max_iter : int
        Steps at most for each hyperplane.
    verbose : bool
        Say what has been found after each round.
    random_state : int, RandomState or None
        Which rows become landmarks, and which of more than 1000 the median looks at.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        The directions, in the order in which they were found.
    ridge_ : float
        What was added to the diagonal of Sw.
    n_components_, explained_ratio_, mean_, means_, classes_, rank_
        As in `MarginMaximizingDiscriminant`.
    dual_coef_, kernel_gamma_, n_iter_
        As in `MarginMaximizingDiscriminant`.

    Notes
    -----
    ``components_ @ components_.T`` is the identity. The first direction is the first of
    `MarginMaximizingDiscriminant` in coordinates where Sw is the identity; the others are not,
    because they are orthogonal in the coordinates given.

    Sw with its ridge is factored once, and each round is a plain hyperplane in the coordinates in
    which it is the identity. The matrix ``P Sw P`` of the source, singular from the second
    direction on, is not formed.

    For small C and two classes of equal size the directions are those of Foley and Sammon: each
    maximises Fisher's criterion among the directions orthogonal to those before it, as far as
    there are any.

    References
    ----------
    Pitelis and Tefas, Discriminant subspace learning based on support vectors machines, Machine
    Learning and Data Mining in Pattern Recognition (2013), table 2 (equation 13 without its ½, so
    that C means the same as in the support vector machine).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from separatrix import WithinSupportVectorDiscriminant
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = WithinSupportVectorDiscriminant(n_components=2).fit(X, y)
    >>> model.transform(X).shape
    (569, 2)
    """

    _parameter_constraints: ClassVar[dict[str, Sequence[Allowed]]] = {
        **MarginMaximizingDiscriminant._parameter_constraints,
        "ridge": (real_number(0),),
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        C: float = 1.0,
        ridge: float = 1e-6,
        class_weight: Mapping[Any, float] | str | None = None,
        kernel: str | Callable[..., Array] | None = None,
        kernel_gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        n_landmarks: int | None = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        verbose: bool | int = False,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            n_components,
            C=C,
            class_weight=class_weight,
            kernel=kernel,
            kernel_gamma=kernel_gamma,
            degree=degree,
            coef0=coef0,
            kernel_params=kernel_params,
            n_landmarks=n_landmarks,
            tol=tol,
            max_iter=max_iter,
            verbose=verbose,
            random_state=random_state,
        )
        self.ridge = ridge

    def _whitener(
        self, rows: Array, data: LabelledData, moments: ClassMoments
    ) -> CholeskyWhitener | None:
        self.ridge_ = 0.0
        if not rows.any():
            return None
        n_features = moments.n_features
        if rows.shape[1] < n_features or moments.eps > EPS:
            moments = data._replace(X=rows).moments()
        Sw = np.array(moments.Sw)
        spread = np.trace(Sw)
        if spread <= rows.shape[1] * moments.eps * np.sum(rows**2):  # classes are points
            spread = float(np.sum(rows**2))
        self.ridge_ = self.ridge * float(spread) / n_features
        Sw.flat[:: len(Sw) + 1] += self.ridge_
        try:
            return cholesky_whitener(Sw)
        except SingularMatrixError:
            raise ValueError(
                f"ridge={self.ridge!r} is too small for these data: Sw has no inverse. Raise it, "
                "for example to its default of 1e-6."
            ) from None


class SupportVectorProjection(NormalsMixin, MarginEstimator):
    """The normals of support vector machines of each class against the rest, without repetitions.

    For each class minimises ``½‖w‖² + C Σ ξ_i`` subject to ``y_i (w·x_i + b) ≥ 1 - ξ_i`` and
    ``ξ_i ≥ 0``, where y is 1 in the class and -1 elsewhere. Directions that are near a better one
    are dropped by their distance ``d_ij = θ_ij/π · r_i/r_j · 1/2``, with θ the angle between two
    normals and r the share of training rows that are on their side of a hyperplane.

    Parameters
    ----------
    C : float
        What a row on the wrong side of its margin costs.
    redundancy : float in [0, 1]
        δ: the direction with the smallest ``d_ij`` is dropped, again and again, while that is at
        most δ; one direction always stays. 0 keeps all.
    angle : "full" or "acute"
        Whether directions that point away from each other are far apart, or the same line.
    class_weight : dict, "balanced" or None
        Factors of C by label; "balanced" gives both sides of every hyperplane the same weight in
        all.
    kernel : None, "rbf", "poly", "linear", "cosine", "precomputed" or callable
        None is the linear method. With a kernel it is that in the kernel's feature space, as in
        `KernelFisherDiscriminant`.
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
    verbose : bool
        Say how many directions have been found.
    random_state : int, RandomState or None
        Which rows become landmarks, and which of more than 1000 the median looks at.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Unit normals, the least redundant first.
    class_of_component_ : array (n_components,)
        The label that each tells from the rest; of two classes the second.
    eliminated_ : array
        Labels in the order in which their directions are dropped as δ grows, whatever δ was given;
        the last is never dropped.
    elimination_distances_ : array
        The smallest distance at each of these steps: with δ, the steps before the first distance
        above δ are done.
    accuracy_ : array (n_components,)
        r of each.
    n_components_, explained_ratio_, mean_, means_, classes_, rank_
        As in `MarginMaximizingDiscriminant`.
    dual_coef_, kernel_gamma_, n_iter_
        As in `MarginMaximizingDiscriminant`.

    Notes
    -----
    Components have unit length and are in general not orthogonal. Whatever δ, they are the last
    ones of one path of elimination.

    Hyperplanes with half of the rows or fewer on their side, or without a direction, are left
    out. Equation 3.6 of the source prints the share of rows on the wrong side; its text and its
    figure mean the right side. Distances that tie, as they always do when all rows are separated,
    drop the direction with the narrower margin.

    References
    ----------
    Moon, A novel hybrid dimensionality reduction method using support vector machines and
    independent component analysis, doctoral thesis, University of Tennessee (2010), section 3.1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from separatrix import SupportVectorProjection
    >>> X, y = load_digits(return_X_y=True)
    >>> SupportVectorProjection(C=0.01).fit_transform(X[:500], y[:500]).shape
    (500, 10)
    >>> SupportVectorProjection(C=0.01, redundancy=0.26).fit(X[:500], y[:500]).n_components_ < 10
    True
    """

    _parameter_constraints: ClassVar[dict[str, Sequence[Allowed]]] = {
        **MARGIN_CONSTRAINTS,
        "redundancy": (real_number(0, 1),),
        "angle": (one_of("full", "acute"),),
        **OPTIONAL_KERNEL,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        redundancy: float = 0.0,
        angle: str = "full",
        class_weight: Mapping[Any, float] | str | None = None,
        kernel: str | Callable[..., Array] | None = None,
        kernel_gamma: float | str = "scale",
        degree: int = 3,
        coef0: float = 1.0,
        kernel_params: Mapping[str, Any] | None = None,
        n_landmarks: int | None = None,
        tol: float = 1e-4,
        max_iter: int = 1000,
        verbose: bool | int = False,
        random_state: RandomState = None,
    ) -> None:
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
        self.verbose = verbose
        self.random_state = random_state

    def _solve(self, moments: ClassMoments, data: LabelledData | None) -> Solution:
        assert data is not None, "hyperplanes are found among rows"
        rows, lift = rows_in_their_span(data, moments)
        normals = self._kept_normals(rows, data)
        W = lift(normals.W)
        return Solution(W, between_shares(W, moments), rows.shape[1])
