"""The base of all kernel estimators: the linear method on the rows of a kernel map."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import Tags

from separatrix.base.blockwise import lazy_on_dask
from separatrix.base.estimator import SubspaceEstimator
from separatrix.base.parameters import Allowed, check_parameters, one_of, real_number, whole_number
from separatrix.base.rows import check_new_rows, unchanged_on_failure
from separatrix.base.solution import NOTHING, Solution
from separatrix.kernels import (
    Kernel,
    KernelMap,
    RandomState,
    empirical_kernel_map,
    settle_kernel,
)
from separatrix.linalg import Array
from separatrix.moments.checks import check_finite, is_dask
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.dask import labelled_blocks, subsample
from separatrix.moments.labelled import LabelledRows

ROWS_PER_LANDMARK = 10
"""Rows of a Dask collection drawn for each landmark, which is the mean of those nearest to it."""

KERNEL_PARAMETERS: dict[str, Sequence[Allowed]] = {
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
"""Allowed values of the parameters that all kernel estimators share."""


KERNEL_DOC = """\
    kernel : "rbf", "poly", "linear", "cosine", "precomputed" or callable
        A function takes two arrays of rows and returns the matrix of their kernel values, as
        those of `sklearn.metrics.pairwise` do. Precomputed kernels are given as X: the values of
        all pairs of training rows to `fit`, of new with training rows to the other methods.
"""

KERNEL_SETTINGS_DOC = """\
    kernel_gamma : "scale", "median" or float
        g of "rbf", ``exp(-g ‖x - x'‖²)``, and "poly". "scale" is ``1 / (n_features * X.var())``,
        as in scikit-learn; "median" is one over the median squared distance between rows.
    degree : int
        Of "poly": ``(g x·x' + coef0)^degree``.
    coef0 : float
        Of "poly".
    kernel_params : dict or None
        Keyword arguments of a function.
    n_landmarks : int or None
        Number of landmarks that are the reference instead of all rows (Nyström): time and memory
        grow with n times their number, not with n².
"""


class Mapped(NamedTuple):
    """Rows in the feature space of a kernel.

    Attributes
    ----------
    map : KernelMap or None
    rows : LabelledRows or None
        The training rows in its coordinates.
    found : mapping
        Fitted attributes found on the way, by name.
    """

    map: Any
    rows: Any
    found: Mapping[str, Any] = NOTHING


def _mapped_moments(
    to_features: KernelMap, per_class: Callable[[Array], bool], block: LabelledRows
) -> ClassMoments:
    """Moments of a block of rows in the feature space."""
    check_finite(block.X)
    mapped = block._replace(X=to_features.project(block.X), feature_names=None)
    return ClassMoments.from_rows(mapped, per_class=per_class(block.classes))


@lazy_on_dask
class KernelEstimator(SubspaceEstimator):
    """Base of the kernel methods: `_solve` sees the rows of a kernel map as if they were given.

    A class takes the parameters of
    `KERNEL_PARAMETERS` and `random_state`; with ``kernel=None``, where it allows that, it is the
    linear method. In its docstring the lines ``<kernel>`` and ``<kernel settings>`` stand for the
    documentation of these parameters. The map is the empirical kernel map; a method whose solution
    is known to lie in fewer dimensions overrides `_map_rows` with those.
    """

    kernel: str | Callable[..., Array] | None
    kernel_gamma: float | str
    degree: int
    coef0: float
    kernel_params: Mapping[str, Any] | None
    n_landmarks: int | None
    random_state: RandomState
    _map: Any

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Insert the documentation of the parameters that all kernel methods share."""
        super().__init_subclass__(**kwargs)
        text = (cls.__doc__ or "").replace("    <kernel>\n", KERNEL_DOC)
        cls.__doc__ = text.replace("    <kernel settings>\n", KERNEL_SETTINGS_DOC)

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
                return self._fit_blocks(X, y)
            rows = self._validate(X, y)
            mapped = self._to_features(rows)
            moments = self._summarize(mapped.rows)
            selected = self._select(rows)
            solution = self._find_in_features(moments, mapped, selected)
            self._store(moments, solution)
        return self

    def _fit_blocks(self, X: Any, y: Any) -> Self:
        """`fit` for a Dask collection: landmarks among some rows, then moments of all."""
        check_parameters(self, self._allowed_parameters)
        self._check_blocks_suffice()
        n_sampled = ROWS_PER_LANDMARK * int(self.n_landmarks or 0)
        some, labels = subsample(X, y, n_sampled, random_state=self.random_state)
        sample = self._validate(some, labels)
        if self.n_landmarks is not None and self.n_landmarks >= len(labels):
            raise ValueError(
                f"n_landmarks={self.n_landmarks} is not less than the number of rows, "
                f"{len(labels)}: so few rows fit into memory, call X.compute()"
            )
        mapped = self._to_features(sample)
        summarize = partial(_mapped_moments, mapped.map, self._needs_class_scatters)
        moments = labelled_blocks(X, y).sum_up(summarize, clone(self)._add_summaries).summary
        mapped = mapped._replace(map=mapped.map.centred_at(moments.mean), rows=None)
        self._store(moments, self._find_in_features(moments, mapped, {}))
        return self

    def _check_blocks_suffice(self) -> None:
        super()._check_blocks_suffice()
        if self.n_landmarks is None or self.kernel == "precomputed":
            raise ValueError(
                f"{type(self).__name__} with kernel={self.kernel!r} and n_landmarks="
                f"{self.n_landmarks} needs the kernel values of all pairs of rows, too many for a "
                "Dask collection: set n_landmarks, such as 300, or fit some rows, X, y = "
                "separatrix.distributed.subsample(X, y, 10000)"
            )

    def _to_features(self, rows: LabelledRows) -> Mapped:
        """The rows in the feature space; with ``kernel=None`` as they are."""
        if self.kernel is None:
            return Mapped(None, rows)
        check_finite(rows.X, rows.feature_names)
        kernel = settle_kernel(
            rows.X,
            self.kernel,
            kernel_gamma=self.kernel_gamma,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
            random_state=self.random_state,
        )
        gamma = kernel.params.get("gamma") if isinstance(kernel.name, str) else None
        mapped = self._map_rows(rows, kernel)
        return mapped._replace(found={"kernel_gamma_": gamma, **mapped.found})

    def _map_rows(self, rows: LabelledRows, kernel: Kernel) -> Mapped:
        """A map to coordinates of the feature space, and the training rows there."""
        to_features, coordinates = empirical_kernel_map(
            rows.X, kernel, n_landmarks=self.n_landmarks, random_state=self.random_state
        )
        return Mapped(to_features, rows._replace(X=coordinates, feature_names=None))

    def _find_in_features(
        self, moments: ClassMoments, mapped: Mapped, selected: Mapping[str, Any]
    ) -> Solution:
        """The solution in the feature space, oriented by its dual coefficients."""
        if mapped.map is None:
            linear = {"_map": None, "dual_coef_": None, "kernel_gamma_": None}
            return self._find(moments, mapped.rows, selected).with_extras(**linear)
        settled = {**selected, **mapped.found, "map": mapped.map}
        solution = self._solve(moments, mapped.rows, settled)
        solution = solution.oriented(mapped.map.along(solution.W).basis)
        to_subspace = mapped.map.along(solution.W)
        extras = {
            "selection_": dict(selected),
            **mapped.found,
            **solution.extras,
            "_map": to_subspace,
            "dual_coef_": to_subspace.basis.T,
        }
        return self._add_decision(solution._replace(extras=extras), moments, mapped.rows)

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
        if getattr(self, "_map", None) is None:
            return super()._project(X)
        rows = check_new_rows(self, X, accept_sparse=self._accepts_sparse)
        check_finite(rows, getattr(self, "feature_names_in_", None))
        return self._map.project(rows)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
