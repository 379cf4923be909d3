"""Shared by the methods made of hyperplanes: their rows and their base class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from separatrix.base.feature_space import empirical_kernel_map
from separatrix.base.kernel import KERNEL_PARAMETERS, KernelEstimator, fit_weighted
from separatrix.base.parameters import Allowed, one_of, real_number
from separatrix.base.solution import Solution
from separatrix.kernels import Linear, SettledKernel
from separatrix.linalg import Array, Lift, range_basis, span
from separatrix.margin.planes import ClassWeight, decide_by_planes, predict_by_planes
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows

# The mathematics -----------------------------------------------------------------------------


class SpanCoordinates(NamedTuple):
    """Centred rows in coordinates of their own span.

    Attributes
    ----------
    rows : array (n_samples, rank)
        Zero for rows without weight.
    lift : callable
        Takes columns of coordinates to columns of features.
    """

    rows: Array
    lift: Lift


def center_in_span(rows: LabelledRows, moments: ClassMoments) -> SpanCoordinates:
    """The centred rows in as many coordinates as they have rank.

    Sparse rows fewer than features are handled by their inner products; more are made dense, as
    directions taken off rows fill them.
    """
    if rows.weights is not None and not rows.weights.all():
        counted = np.flatnonzero(rows.weights)
        some, lift = center_in_span(rows.subset(counted), moments)
        Z = np.zeros((len(rows.codes), some.shape[1]))
        Z[counted] = some
        return SpanCoordinates(Z, lift)
    X = rows.X
    if sp.issparse(X) and X.shape[0] < X.shape[1]:
        to_features, Z = empirical_kernel_map(X, SettledKernel(Linear()))
        Z = Z if rows.weights is None else Z - np.average(Z, axis=0, weights=rows.weights)
        return SpanCoordinates(Z, lambda W: X.T @ (to_features.basis @ W))
    dense = X.toarray() if sp.issparse(X) else X
    # in two steps: the origin is near the mean, so that the small difference keeps its digits
    centred = dense - moments.origin
    centred -= moments.mean - moments.origin
    if X.shape[0] < X.shape[1]:
        return SpanCoordinates(*span(centred, bound=len(centred) - 1))
    basis = range_basis(moments.St, moments.eps)
    if basis.shape[1] == basis.shape[0]:
        return SpanCoordinates(centred, lambda W: W)
    return SpanCoordinates(centred @ basis, basis.__matmul__)


def project_out(V: Array, Q: Array) -> Array:
    """Columns of V less their part in the span of the orthonormal columns of Q."""
    return V - Q @ (Q.T @ V)


def added_between_scatter(W: Array, moments: ClassMoments) -> Array:
    """Scatter between classes that each direction adds to those before it, and the rest of it."""
    Hb = moments.between_rows()
    along = np.sum((Hb @ np.linalg.qr(W)[0]) ** 2, axis=0)
    return np.append(along, max(float(np.sum(Hb**2)) - along.sum(), 0.0))


# Estimators ----------------------------------------------------------------------------------

MARGIN_PARAMETERS: dict[str, Sequence[Allowed]] = {
    "C": (real_number(0, open_low=True),),
    "class_weight": (
        one_of(None, "balanced"),
        Allowed(lambda v: isinstance(v, Mapping), "a dictionary from labels to weights"),
    ),
}
"""Allowed values of the parameters that all methods with hyperplanes share."""

OPTIONAL_KERNEL: dict[str, Sequence[Allowed]] = {
    **KERNEL_PARAMETERS,
    "kernel": (one_of(None), *KERNEL_PARAMETERS["kernel"]),
}


class MarginEstimator(ClassifierMixin, KernelEstimator):
    """Base of the margin methods that are linear, or with a kernel those of its feature space.

    They decide by the first hyperplanes that they find.
    """

    C: float
    class_weight: ClassWeight
    kernel: Any = None
    n_landmarks: Any = None
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
    sides_: Any
    support_: Any
    fit = fit_weighted
    decision_function = decide_by_planes
    predict = predict_by_planes

    def _validate(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **splitting: Any,
    ) -> LabelledRows:
        """Checked parameters and rows, with some weight in each class."""
        rows = super()._validate(X, y, sample_weight, **splitting)
        if not rows.counts.all():
            empty = rows.classes[rows.counts == 0].tolist()
            raise ValueError(
                f"no row of the classes {empty[:5]} has a positive sample_weight, and "
                f"{type(self).__name__} parts each class from the others: leave these rows out"
            )
        return rows

    def _center(self, rows: LabelledRows, moments: ClassMoments) -> SpanCoordinates:
        """The centred rows in their span, where those of a kernel map are, but for weights."""
        if self.kernel is not None and rows.weights is None:
            return SpanCoordinates(rows.X, lambda W: W)
        return center_in_span(rows, moments)

    def _without_directions(self, solution: Solution) -> str:
        return (
            f"{type(self).__name__} found no direction that separates the classes: the best "
            f"hyperplane leaves all rows on one side with C={self.C:g}. Try "
            'class_weight="balanced" or a larger C. transform returns no columns.'
        )
