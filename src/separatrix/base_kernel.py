"""What all kernel estimators share: the linear method on the rows of a kernel map."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.utils import Tags

from separatrix.base import (
    Allowed,
    LabelledData,
    SubspaceEstimator,
    one_of,
    real_number,
    whole_number,
)
from separatrix.kernel import (
    Kernel,
    KernelMap,
    RandomState,
    empirical_kernel_map,
    settled_kernel,
)
from separatrix.linalg import Array
from separatrix.moments import ClassMoments
from separatrix.rows import refuse_nonfinite_rows

KERNEL_CONSTRAINTS: dict[str, Sequence[Allowed]] = {
    "kernel": (
        one_of("rbf", "poly", "linear", "cosine", "precomputed"),
        Allowed(callable, "a function of two arrays of rows"),
    ),
    "kernel_gamma": (one_of("scale", "median"), real_number(0, open_low=True)),
    "degree": (whole_number(1),),
    "coef0": (real_number(0),),
    "kernel_params": (one_of(None), Allowed(lambda v: isinstance(v, Mapping), "a dictionary")),
    "n_landmarks": (one_of(None), whole_number(1)),
}
"""What the parameters that all kernel estimators share may be."""


class KernelEstimator(SubspaceEstimator):
    """Base of the kernel methods: `_solve` sees the rows of a kernel map, as if they were given.

    A subclass takes the parameters of `KERNEL_CONSTRAINTS` and `random_state`, and solves the
    problem of the linear method. The map is the empirical kernel map; a method whose solution is
    known to lie in fewer dimensions overrides `_mapped` with those.
    """

    kernel: str | Callable[..., Array]
    kernel_gamma: float | str
    degree: int
    coef0: float
    kernel_params: Mapping[str, Any] | None
    n_landmarks: int | None
    random_state: RandomState
    _parameter_constraints: ClassVar[dict[str, Sequence[Allowed]]] = {
        **SubspaceEstimator._parameter_constraints,
        **KERNEL_CONSTRAINTS,
    }

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
        data = self._validated(X, y)
        refuse_nonfinite_rows(data.X, data.feature_names)
        kernel = settled_kernel(
            data.X,
            self.kernel,
            kernel_gamma=self.kernel_gamma,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
            random_state=self.random_state,
        )
        self.kernel_gamma_ = kernel.params.get("gamma") if isinstance(kernel.name, str) else None
        self._map, rows = self._mapped(data, kernel)
        mapped = data._replace(X=rows, feature_names=None)
        self._learn(mapped.moments(per_class=self._needs_class_scatters(data.classes)), mapped)
        return self

    def _mapped(self, data: LabelledData, kernel: Kernel) -> tuple[KernelMap, Array]:
        """A map to coordinates of the feature space, and the training rows there."""
        return empirical_kernel_map(
            data.X, kernel, n_landmarks=self.n_landmarks, random_state=self.random_state
        )

    def _learn(self, moments: ClassMoments, data: LabelledData | None) -> None:
        found = self._solve(moments, data)
        directions = self._map.along(found.W)
        found = found.oriented(directions.basis)
        self._map = self._map.along(found.W)
        self.dual_coef_ = self._map.basis.T
        self._set_solution(moments, found)

    def transform(self, X: ArrayLike) -> Array:
        """Project rows on the subspace, a block of kernel values at a time.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Rows to project; for a precomputed kernel their kernel values with the training rows,
            (n_samples, n_training_samples).

        Returns
        -------
        array (n_samples, n_components)
            Coordinates in the subspace, of the dtype of X.
        """
        return self._project(X)

    def _project(self, X: ArrayLike) -> Array:
        rows = self._new_rows(X)
        refuse_nonfinite_rows(rows, getattr(self, "feature_names_in_", None))
        return self._map.project(rows)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
