"""Hyperplanes of several classes: their problems, their unit normals, and decisions by them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from separatrix.base.rows import centred_product, check_new_rows
from separatrix.linalg import Array
from separatrix.margin.hyperplane import Hyperplane, prepare_points, soft_margin_hyperplane
from separatrix.margin.points import Points
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows, check_finite

SUPPORT_SLACK = 1e-4
"""Distance beyond its margin, in margins, up to which a row counts as on it."""

REST = -1
"""Position that stands for all classes but one."""

# Problems ------------------------------------------------------------------------------------


class BinaryProblem(NamedTuple):
    """One class against the rest, or against one other.

    Attributes
    ----------
    signs : array (n,)
        1 for the rows of the class, -1 for those it is parted from, 0 for rows that take no part.
    cost : array (n,)
        Cost of each row on the wrong side of its margin.
    weights : array (n,)
        How often each row counts.
    positive : int
        Position of the class, to which the normal points.
    negative : int
        Position of the other class, or `REST`.
    """

    signs: Array
    cost: Array
    weights: Array
    positive: int = 1
    negative: int = 0


ClassWeight = Mapping[Any, float] | str | None


def pose_problems(
    rows: LabelledRows, C: float, class_weight: ClassWeight, multiclass: str = "ovr"
) -> list[BinaryProblem]:
    """A problem for each class against the rest ("ovr"), or for each pair of classes ("ovo").

    For two classes it is the one that they share. The normals of pairs point to the class that
    sorts second, as decisions of scikit-learn do. Rows without weight take no part.
    """
    codes, classes = rows.codes, rows.classes
    weights = np.ones(len(codes)) if rows.weights is None else rows.weights
    factors = np.ones(len(classes))
    if isinstance(class_weight, Mapping):
        _check_class_weight(class_weight, classes)
        factors = np.array([float(class_weight.get(c, 1.0)) for c in classes.tolist()])
    sides = [(c, REST) for c in range(len(classes))]
    if multiclass == "ovo" or len(classes) == 2:
        sides = [(second, first) for first, second in combinations(range(len(classes)), 2)]
    problems = []
    for positive, negative in sides:
        others = codes != positive if negative == REST else codes == negative
        signs = np.where(codes == positive, 1.0, np.where(others, -1.0, 0.0))
        signs[weights == 0] = 0.0
        balanced = class_weight == "balanced"
        cost = C * weights * (_balance_sides(signs, weights) if balanced else factors[codes])
        problems.append(BinaryProblem(signs, cost, weights, positive, negative))
    return problems


def _balance_sides(signs: Array, weights: Array) -> Array:
    """Factors that give both sides the same weight in all, one for each row on average."""
    n_positive, n_negative = weights @ (signs > 0), weights @ (signs < 0)
    return (n_positive + n_negative) / (2 * np.where(signs > 0, n_positive, n_negative))


def _check_class_weight(class_weight: Mapping[Any, float], classes: Array) -> None:
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


# Hyperplanes ---------------------------------------------------------------------------------

FindPlane = Callable[[Points, Array, Array], Hyperplane]
"""Takes points, signs and costs to a hyperplane."""


class Planes(NamedTuple):
    """Hyperplanes ``z·w + b = 0`` among centred rows, with unit normals.

    Attributes
    ----------
    W : array (r, n)
        Unit normals w that point to their class; zero where no hyperplane is better than none.
    intercept : array (n,)
        b: ``z·w + b`` is the signed distance of a row. Without a normal, 1 or -1 for the heavier
        side.
    margin : array (n,)
        Distance from the hyperplane to its margin; 1 without a normal.
    support : tuple of n arrays of int
        Positions of the rows on their margin or short of it.
    accuracy : array (n,)
        Share of the rows that take part, by weight, that are on their side.
    positive, negative : array of int (n,)
        Positions of the classes on either side, `REST` for all others.
    n_iter : array of int (n,)
        Steps of the solver.
    """

    W: Array
    intercept: Array
    margin: Array
    support: tuple[Array, ...]
    accuracy: Array
    positive: Array
    negative: Array
    n_iter: Array

    def take(self, at: Array) -> Planes:
        """Some of them."""
        support = tuple(self.support[i] for i in at)
        others = [field[at] for field in self[4:]]
        return Planes(self.W[:, at], self.intercept[at], self.margin[at], support, *others)

    def join(self, other: Planes) -> Planes:
        """These and the others."""
        arrays = zip(self[4:], other[4:], strict=True)
        return Planes(
            np.hstack([self.W, other.W]),
            np.append(self.intercept, other.intercept),
            np.append(self.margin, other.margin),
            self.support + other.support,
            *(np.append(a, b) for a, b in arrays),
        )

    def scale(self, lengths: Array) -> Planes:
        """The same hyperplanes with normals of other lengths."""
        W, intercept = self.W * lengths, self.intercept * lengths
        return self._replace(W=W, intercept=intercept, margin=self.margin * lengths)

    def lift(self, change: Callable[[Array], Array]) -> Planes:
        """The same hyperplanes in other coordinates, to which `change` takes the normals."""
        W = change(self.W)
        lengths = np.linalg.norm(W, axis=0)
        lifted = self._replace(W=W)
        # ``z·w + b`` keeps its value, so that only the length of w changes b
        return lifted.scale(1 / np.where(lengths > 0, lengths, 1.0))


def find_planes(
    points: Points, problems: Sequence[BinaryProblem], find: FindPlane = soft_margin_hyperplane
) -> Planes:
    """The hyperplanes of all problems, in their order."""
    size = points.size()  # once for all problems
    unit = points.divide(size) if size > 0 else points
    costs = [problem._replace(cost=problem.cost * size**2) for problem in problems]
    planes = [_find_plane(unit, problem, find) for problem in costs]
    W = np.column_stack([plane.normal for plane in planes]) / (size or 1.0)
    lengths = np.linalg.norm(W, axis=0)
    heavier = [1.0 if problem.cost @ problem.signs > 0 else -1.0 for problem in problems]
    b = np.where(lengths > 0, [plane.intercept for plane in planes], heavier)
    signs = np.column_stack([problem.signs for problem in problems])
    scores = signs * (points.rows @ W + b)
    takes_part = signs != 0
    support = tuple(np.flatnonzero(on) for on in (takes_part & (scores <= 1 + SUPPORT_SLACK)).T)
    weights = np.column_stack([problem.weights for problem in problems])
    accuracy = np.sum(weights * (scores > 0), axis=0) / np.sum(weights * takes_part, axis=0)
    positive = np.array([problem.positive for problem in problems])
    negative = np.array([problem.negative for problem in problems])
    steps = np.array([plane.n_iter for plane in planes])
    hyperplanes = Planes(W, b, np.ones(len(b)), support, accuracy, positive, negative, steps)
    return hyperplanes.scale(1 / np.where(lengths > 0, lengths, 1.0))


def _find_plane(points: Points, problem: BinaryProblem, find: FindPlane) -> Hyperplane:
    """The hyperplane of one problem, among the rows that take part."""
    signs, cost = problem.signs, problem.cost
    if signs.all():
        return find(points, signs, cost)
    part = np.flatnonzero(signs)
    mean = points.rows[part].mean(axis=0)  # solvers keep their digits with centred rows
    plane = find(prepare_points(points.rows[part] - mean), signs[part], cost[part])
    return plane._replace(intercept=plane.intercept - float(mean @ plane.normal))


# Decisions -----------------------------------------------------------------------------------


class HyperplaneRule(NamedTuple):
    """The hyperplanes that decide, as a fitted model keeps them.

    Attributes
    ----------
    W : array (n_features, n)
        Unit normals.
    intercept, margin, positive, negative : array (n,)
        As in `Planes`.
    """

    W: Array
    intercept: Array
    margin: Array
    positive: Array
    negative: Array

    def decide(self, along: Array) -> Array:
        """Decision values of rows, given their coordinates along the normals.

        For two classes, and for each class against the rest, ``(z·w + b)/margin``, which is 1 on
        the margin of the class. For pairs the votes of a class, and less than half a vote for the
        sum of its decision values, so that it orders classes with as many votes.
        """
        values = (along + self.intercept) / self.margin
        if values.shape[1] == 1:
            return values[:, 0]
        return values if self.negative[0] == REST else self._count_votes(values)

    def _count_votes(self, values: Array) -> Array:
        classes = np.eye(int(self.positive.max()) + 1)
        for_positive, for_negative = classes[self.positive], classes[self.negative]
        votes = (values > 0) @ for_positive + (values <= 0) @ for_negative
        total = values @ (for_positive - for_negative)
        return votes + total / (3 * (np.abs(total) + 1))


def publish_planes(
    shown: Planes, deciding: Planes, moments: ClassMoments, selected: Mapping[str, Any]
) -> dict[str, Any]:
    """The fitted attributes of hyperplanes, given in the coordinates of the solution.

    Parameters
    ----------
    shown : Planes
        Those that the attributes describe.
    deciding : Planes
        Those of all problems.
    moments : ClassMoments
    selected : mapping
        Holds the "map" of a kernel, if there is one.
    """
    to_features = selected.get("map")
    offset, planes_map = moments.mean @ shown.W, None
    if to_features is not None:  # its coordinates are centred, but not by weights
        offset = np.zeros(shown.W.shape[1])
        planes_map = to_features.along(deciding.W).centred_at(moments.mean @ deciding.W)
    return {
        "intercepts_": shown.intercept - offset,
        "margins_": shown.margin,
        "support_": shown.support,
        "_planes": HyperplaneRule(*deciding[:3], *deciding[5:7]),
        "_planes_map": planes_map,
    }


def decide_by_planes(self: Any, X: ArrayLike) -> Array:
    """Where rows are relative to the hyperplanes, in units of their margins.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        Rows to judge.

    Returns
    -------
    array (n_samples, n_classes), or (n_samples,) for two classes
        For two classes positive on the side of ``classes_[1]``, and 1 on its margin; for more the
        same for each class against the rest, or the votes of pairs.
    """
    rows = check_new_rows(self, X, accept_sparse=self._accepts_sparse)
    check_finite(rows, getattr(self, "feature_names_in_", None))
    planes = self._planes
    if self._planes_map is not None:
        return planes.decide(self._planes_map.project(rows))
    return planes.decide(centred_product(rows, self.mean_, planes.W))


def predict_by_planes(self: Any, X: ArrayLike) -> Array:
    """The class of each row, by the hyperplane or hyperplanes of the largest decision value.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        Rows to classify.

    Returns
    -------
    array (n_samples,)
        Labels; a tie goes to the class that sorts first.
    """
    values = decide_by_planes(self, X)
    winners = values.argmax(axis=1) if values.ndim == 2 else (values > 0).astype(int)
    return self.classes_[winners]


# methods of several classes, by the names that they have there
decide_by_planes.__name__ = "decision_function"
predict_by_planes.__name__ = "predict"
