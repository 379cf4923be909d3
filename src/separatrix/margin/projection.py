"""One hyperplane for each class, repetitions dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from separatrix.base.parameters import Allowed, one_of, real_number, whole_number
from separatrix.base.solution import Solution
from separatrix.kernels import KernelLike, RandomState
from separatrix.linalg import Array
from separatrix.margin.estimator import (
    MARGIN_PARAMETERS,
    OPTIONAL_KERNEL,
    MarginEstimator,
    added_between_scatter,
)
from separatrix.margin.hyperplane import prepare_points
from separatrix.margin.planes import (
    ClassWeight,
    Planes,
    find_planes,
    pose_problems,
    publish_planes,
)
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows

REDUNDANCY_PARAMETERS: dict[str, Sequence[Allowed]] = {
    "redundancy": (real_number(0, 1), whole_number(1)),
    "multiclass": (one_of("ovr", "ovo"),),
}
"""Allowed values of the parameters that say which normals there are, and which are kept."""

LEAST_ACCURACY = 0.5
"""γ_min: normals with no larger share of rows on their side than a coin are no directions."""


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
        """Positions of the survivors, the least redundant first.

        A whole number from 1 on is how many survive; a share is how many of those that can be
        dropped are.
        """
        if isinstance(redundancy, Integral) and redundancy >= 1:
            n_dropped = max(len(self.order) - int(redundancy), 0)
        else:
            n_dropped = int(np.floor(redundancy * len(self.distances) + 0.5))
        return self.order[n_dropped:][::-1]


def redundancy_distances(W: Array, accuracy: Array) -> Array:
    """``d_ij = θ_ij/π · r_i/r_j · γ_min``: how near direction i is to a better j.

    Section 3.1 of the thesis, with r as accuracy (printed (3.6) is an error rate).

    Parameters
    ----------
    W : array (r, n)
        Directions.
    accuracy : array (n,)
        r: share of the training rows, by weight, that each has on their side.

    Examples
    --------
    >>> W = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> redundancy_distances(W, np.array([0.8, 1.0]))
    array([[   inf, 0.2   ],
           [0.3125,    inf]])
    """
    unit = W / np.linalg.norm(W, axis=0)
    theta = np.arccos(np.clip(unit.T @ unit, -1, 1))
    distance = theta / np.pi * LEAST_ACCURACY * accuracy[:, None] / accuracy
    np.fill_diagonal(distance, np.inf)
    return distance


def order_elimination(distance: Array, margin: Array) -> Elimination:
    """Drop the i of the smallest ``d_ij`` again and again until one direction is left.

    Of two that are as near to each other the one with the narrower margin goes, so that the
    numbering of the classes does not matter.

    Examples
    --------
    >>> distance = redundancy_distances(np.array([[1.0, 1.0, 0.0], [0.0, 0.1, 1.0]]), np.ones(3))
    >>> order_elimination(distance, np.array([1.0, 2.0, 1.0])).order
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


class KeptPlanes(NamedTuple):
    """The hyperplanes that redundancy leaves, all of them, and attributes that describe them."""

    kept: Planes
    every: Planes
    extras: dict[str, Any]


def keep_planes(estimator: Any, Z: Array, rows: LabelledRows) -> KeptPlanes:
    """Hyperplanes by descending worth, as many as the estimator's `redundancy` leaves."""
    problems = pose_problems(rows, estimator.C, estimator.class_weight, estimator.multiclass)
    every = find_planes(prepare_points(Z), problems)
    good = every.take(np.flatnonzero(every.W.any(axis=0) & (every.accuracy > LEAST_ACCURACY)))
    path = order_elimination(redundancy_distances(good.W, good.accuracy), good.margin)
    kept = good.take(path.kept(estimator.redundancy))
    extras = {
        "n_iter_": int(every.n_iter.max()),
        "eliminated_": rows.classes[good.positive[path.order]],
        "elimination_distances_": path.distances,
        "class_of_component_": rows.classes[kept.positive],
        "sides_": name_sides(kept, rows.classes),
        "accuracy_": kept.accuracy,
    }
    return KeptPlanes(kept, every, extras)


def name_sides(planes: Planes, classes: Array) -> list[tuple[Any, Any]]:
    """For each hyperplane the label it points to and that behind it, None for all others."""
    labels = [*classes.tolist(), None]  # the position of the rest is -1
    pairs = zip(planes.positive, planes.negative, strict=True)
    return [(labels[positive], labels[negative]) for positive, negative in pairs]


class SupportVectorProjection(MarginEstimator):
    """The normals of support vector machines of each class against the rest, without repetitions.

    For each class minimises ``½‖w‖² + C Σ ξ_i`` subject to ``y_i (w·x_i + b) ≥ 1 - ξ_i`` and
    ``ξ_i ≥ 0``, where y is 1 in the class and -1 elsewhere. Directions that are near a better one
    are dropped by their distance ``d_ij = θ_ij/π · r_i/r_j · γ_min``, with θ the angle between two
    normals, γ_min = ½ and r the share of training rows that are on their side of a hyperplane.

    Parameters
    ----------
    C : float
        Cost of a row on the wrong side of its margin.
    redundancy : float in [0, 1] or int
        Share of the directions that are dropped, of those that can be: the one with the smallest
        ``d_ij`` goes, again and again, and one always stays. 0 keeps all. A whole number from 1
        on is the number of directions to keep: 1 keeps one, as 1.0 does.
    multiclass : "ovr" or "ovo"
        One hyperplane for each class against the rest, or for each pair of classes. With pairs
        decisions are votes.
    class_weight, kernel, n_landmarks, random_state
        As in `MarginMaximizingDiscriminant`.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Unit normals that point to their class, the least redundant first.
    intercepts_ : array (n_components,)
        ``X @ components_.T + intercepts_`` are the signed distances of rows from the hyperplanes.
        With a kernel it is ``transform(X) + intercepts_``, in the feature space.
    margins_ : array (n_components,)
        Distance from each hyperplane to its margin.
    support_ : tuple of n_components arrays of int
        Training rows on their margin or short of it, by position.
    class_of_component_ : array (n_components,)
        The label that each points to; of two classes the second.
    sides_ : list of n_components pairs
        The label that each points to and the label behind it, None for all others.
    eliminated_ : array
        Labels, as in `class_of_component_`, in the order in which their directions are dropped as
        `redundancy` grows, whatever was given; the last is never dropped.
    elimination_distances_ : array
        The smallest distance at each of these steps. The thesis drops directions while it is at
        most a threshold δ: ``redundancy=1 + sum(elimination_distances_ > δ)`` does that.
    accuracy_ : array (n_components,)
        r of each.
    n_components_, explained_ratio_, mean_, means_, classes_, rank_
        As in `MarginMaximizingDiscriminant`.
    dual_coef_, kernel_, n_iter_
        As in `MarginMaximizingDiscriminant`.

    Notes
    -----
    Components have unit length and are in general not orthogonal. Whatever `redundancy`, they are
    the last ones of one path of elimination. Distances of unlike data are not comparable, shares
    of the path are.

    Decisions are those of all hyperplanes, whatever `redundancy`: the class of the largest
    distance in units of the margin wins.

    Hyperplanes with half of the rows or fewer on their side, or without a direction, are no
    components. Equation 3.6 of the thesis prints the share of rows on the wrong side; its text
    and its figure mean the right side. Distances that tie, as they always do when all rows are
    separated, drop the direction with the narrower margin.

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
    >>> SupportVectorProjection(C=0.01, redundancy=0.5).fit(X[:500], y[:500]).n_components_
    5
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        **MARGIN_PARAMETERS,
        **REDUNDANCY_PARAMETERS,
        **OPTIONAL_KERNEL,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        redundancy: float = 0.0,
        multiclass: str = "ovr",
        class_weight: ClassWeight = None,
        kernel: KernelLike | None = None,
        n_landmarks: int | ArrayLike | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.C = C
        self.redundancy = redundancy
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.random_state = random_state

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        Z, lift = self._center(rows, moments)
        planes = keep_planes(self, Z, rows)
        kept = planes.kept.lift(lift)
        k = len(kept.margin)
        extras = {**planes.extras, "n_components_": k}
        extras |= publish_planes(kept, planes.every.lift(lift), moments, selected)
        criterion = added_between_scatter(kept.W, moments)
        return Solution(kept.W, criterion, Z.shape[1], extras=extras, n_sided=k)
