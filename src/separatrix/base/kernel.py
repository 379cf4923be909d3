"""What all kernel estimators share: the linear method on the rows of a kernel map."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import Tags

from separatrix.base.estimator import SubspaceEstimator, unchanged_on_failure
from separatrix.base.parameters import Allowed, check_parameters, one_of, real_number, whole_number
from separatrix.base.rows import LabelledData
from separatrix.kernels import Kernel, KernelMap, RandomState, empirical_kernel_map, settled_kernel
from separatrix.linalg import Array
from separatrix.moments.checks import is_dask, refuse_nonfinite_rows
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.dask import Block, labelled_blocks, subsample

ROWS_FOR_A_LANDMARK = 10
"""Rows of a Dask collection that are sampled for each landmark: each is the mean of its own."""

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


def _mapped_moments(
    to_features: KernelMap, per_class: Callable[[Array], bool], block: Block
) -> ClassMoments:
    """Moments of a block of rows in the feature space."""
    refuse_nonfinite_rows(block.X)
    mapped = block._replace(X=to_features.project(block.X))
    return mapped.moments(per_class=per_class(block.classes))


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
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        **SubspaceEstimator._allowed_parameters,
        **KERNEL_CONSTRAINTS,
    }

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # type: ignore[override]
        """Find the subspace.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Training rows; for a precomputed kernel the kernel values of all pairs of them,
            (n_samples, n_samples). Methods that need no more than moments take a Dask collection,
            too, with `n_landmarks`: a pass for a sample of rows, which become landmarks and give
            the kernel its width, and a second pass for the moments of all rows.
        y : array (n_samples,)
            Their class labels.

        Returns
        -------
        self
            The fitted estimator.
        """
        with unchanged_on_failure(self):
            if self._accepts_blocks and is_dask(X):
                self._fit_blocks(X, y, None)
                return self
            data = self._validated(X, y)
            rows = self._map_of(data)
            mapped = data._replace(X=rows, feature_names=None)
            self.selection_ = self._selected(data)
            self._learn(mapped.moments(per_class=self._needs_class_scatters(data.classes)), mapped)
        return self

    def _map_of(self, data: LabelledData) -> Array:
        """Settle the kernel and its map by these rows, and return them mapped."""
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
        return rows

    def _fit_blocks(self, X: Any, y: Any, sample_weight: Any) -> float:
        """`fit` for a Dask collection: landmarks among some rows, then moments of all."""
        check_parameters(self, self._allowed_parameters)
        self._refuse_without_rows()
        rows, labels = subsample(
            X,
            y,
            ROWS_FOR_A_LANDMARK * int(self.n_landmarks or 0),
            random_state=self.random_state,
        )
        sample = self._validated(rows, labels)
        if self.n_landmarks is not None and self.n_landmarks >= len(labels):
            raise ValueError(
                f"n_landmarks={self.n_landmarks} is not less than the number of rows, "
                f"{len(labels)}: so few rows fit into memory, call X.compute()"
            )
        self._map_of(sample)
        summarise = partial(_mapped_moments, self._map, self._needs_class_scatters)
        found = labelled_blocks(X, y).summed(summarise, clone(self)._added)
        moments = found.summary
        self._map = self._map.centred_at(moments.mean)
        self.selection_ = {}
        self._learn(moments, None)
        return found.weight

    def _refuse_without_rows(self) -> None:
        super()._refuse_without_rows()
        if self.n_landmarks is None or self.kernel == "precomputed":
            raise ValueError(
                f"{type(self).__name__} with kernel={self.kernel!r} and n_landmarks="
                f"{self.n_landmarks} needs the kernel values of all pairs of rows, too many for a "
                "Dask collection: set n_landmarks, such as 300, or fit some rows, X, y = "
                "separatrix.distributed.subsample(X, y, 10000)"
            )

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
