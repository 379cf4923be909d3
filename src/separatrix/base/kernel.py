"""The base of all kernel estimators: the linear method on the rows of a kernel map."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import Tags

from separatrix.base.batches import Memory
from separatrix.base.estimator import SubspaceEstimator
from separatrix.base.feature_space import empirical_kernel_map
from separatrix.base.landmarks import (
    check_landmarks,
    check_same_landmarks,
    count_landmarks,
    draw_landmarks,
    in_landmarks,
    map_of_landmarks,
    summarize_in_landmarks,
    takes_landmarks,
)
from separatrix.base.parameters import Allowed, check_parameters, one_of, whole_number
from separatrix.base.rows import check_new_rows, unchanged_on_failure
from separatrix.base.solution import NOTHING, Solution
from separatrix.kernels import (
    NAMED,
    KernelLike,
    RandomState,
    SettledKernel,
    is_precomputed,
    settle_kernel,
)
from separatrix.linalg import Array, threads_for
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.dask import labelled_blocks
from separatrix.moments.labelled import LabelledRows, check_finite, is_dask
from separatrix.moments.sampling import subsample

ROWS_PER_LANDMARK = 10
"""Rows of a Dask collection drawn for each landmark, which is the mean of those nearest to it."""

MAX_ROWS_OF_PAIRS = 20_000
"""Rows whose kernel values of all pairs are held, 3.2 GB. A Cholesky factor takes a minute."""

KERNEL_PARAMETERS: dict[str, Sequence[Allowed]] = {
    "kernel": (
        one_of(*NAMED),
        Allowed(
            lambda v: callable(v) and not isinstance(v, type),
            "a kernel such as separatrix.kernels.RBF(), or a function of two arrays of rows",
        ),
    ),
    "n_landmarks": (
        one_of(None),
        whole_number(1),
        Allowed(lambda v: getattr(v, "ndim", 0) == 2 or sp.issparse(v), "an array of rows"),
    ),
}
"""Allowed values of the parameters that all kernel estimators share."""


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


class KernelEstimator(SubspaceEstimator):
    """Base of the kernel methods: `_solve` sees the rows of a kernel map as if they were given.

    A class takes the parameters of `KERNEL_PARAMETERS` and `random_state`; with ``kernel=None``,
    where it allows that, it is the linear method. The map is the empirical kernel map; a method
    whose solution lies in fewer dimensions overrides `_map_rows` with those.

    `n_landmarks` is a number of landmarks, or an array of them: ``kernel=model.kernel_,
    n_landmarks=model.landmarks_`` gives another model the feature space of the first.
    """

    kernel: KernelLike | None
    n_landmarks: int | ArrayLike | None
    random_state: RandomState
    _shared_when_merged = (
        "n_features_in_",
        "feature_names_in_",
        "_landmarks",
        "landmarks_",
        "kernel_",
    )
    # the landmarks and the kernel that were used are compared instead
    _may_differ_when_merged = ("kernel", "n_landmarks", "random_state")
    _check_same_space = check_same_landmarks
    _landmarks: Any
    dual_coef_: Any
    _map: Any
    kernel_: Any
    landmarks_: Any
    moments_: Any
    support_: Any
    _takes_new_classes: Any

    def fit(  # type: ignore[override]
        self, X: ArrayLike, y: ArrayLike, *, groups: ArrayLike | None = None, cv: Any = None
    ) -> Self:
        """Find the subspace.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Training rows; for a precomputed kernel the kernel values of all pairs of them,
            (n_samples, n_samples). Methods that need only moments take a Dask collection,
            too, with `n_landmarks`: a pass for a sample of rows, which become landmarks and give
            the kernel its width, and a second pass for the moments of all rows.
        y : array (n_samples,)
            Their class labels.
        groups, cv
            As in `FisherDiscriminant.fit`: how choices by rows held out split the rows.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._fit(X, y, groups=groups, cv=cv)

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **splitting: Any,
    ) -> Self:
        """`fit`, also with the weights that some methods take."""
        with unchanged_on_failure(self):
            if self._accepts_blocks and is_dask(X):
                if sample_weight is not None:
                    raise ValueError("sample_weight needs rows in memory, not a Dask collection")
                return self._fit_blocks(X, y)
            rows = self._validate(X, y, sample_weight, **splitting)
            n_samples, n_features = rows.X.shape
            with threads_for(n_samples**2 * (n_samples + n_features)):
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
        n_sampled = ROWS_PER_LANDMARK * count_landmarks(self, 100)
        some, labels = subsample(X, y, n_sampled, random_state=self.random_state)
        sample = self._validate(some, labels)
        if not takes_landmarks(self, len(labels)):
            raise ValueError(
                f"n_landmarks={self.n_landmarks} is not less than the number of rows, "
                f"{len(labels)}: so few rows fit into memory, call X.compute()"
            )
        check_finite(sample.X, sample.feature_names)
        attributes = self._to_landmarks(sample.X)
        summarize = partial(
            summarize_in_landmarks, attributes["_landmarks"], self._needs_class_scatters
        )
        moments = labelled_blocks(X, y).sum_up(summarize, clone(self)._add_summaries).summary
        mapped = Mapped(attributes["_landmarks"], None, attributes)
        self._store(moments, self._find_in_features(moments, mapped, {}))
        return self

    def _check_blocks_suffice(self) -> None:
        super()._check_blocks_suffice()
        if self.n_landmarks is None or is_precomputed(self.kernel):
            raise ValueError(
                f"{type(self).__name__} with kernel={self.kernel!r} and n_landmarks="
                f"{self.n_landmarks} needs the kernel values of all pairs of rows, too many for a "
                "Dask collection: set n_landmarks, such as 300, or fit some rows, X, y = "
                "separatrix.moments.subsample(X, y, 10000)"
            )

    def _to_features(self, rows: LabelledRows) -> Mapped:
        """The rows in the feature space; with ``kernel=None`` as they are."""
        if self.kernel is None:
            return Mapped(None, rows)
        check_finite(rows.X, rows.feature_names)
        if self._accepts_blocks and takes_landmarks(self, rows.X.shape[0]):
            return self._map_to_landmarks(rows)
        self._check_pairs_fit(rows.X.shape[0])
        kernel = self._settle_kernel(rows.X, rows.weights)
        mapped = self._map_rows(rows, kernel)
        return mapped._replace(found={"kernel_": kernel.function, **mapped.found})

    def _check_pairs_fit(self, n_rows: int) -> None:
        """Raise where the kernel values of all pairs of rows would fill the memory."""
        exact = self.n_landmarks is None and not is_precomputed(self.kernel)
        if exact and n_rows > MAX_ROWS_OF_PAIRS:
            raise ValueError(
                f"{type(self).__name__} with n_landmarks=None holds the kernel values of all "
                f"pairs of {n_rows} rows, {8e-9 * n_rows**2:.0f} GB: set n_landmarks, such as "
                f"500, or fit at most {MAX_ROWS_OF_PAIRS} of the rows"
            )

    def _settle_kernel(self, X: Any, weights: Array | None = None) -> SettledKernel:
        assert self.kernel is not None, "linear methods have no map"
        return settle_kernel(X, self.kernel, random_state=self.random_state, weights=weights)

    def _map_rows(self, rows: LabelledRows, kernel: SettledKernel) -> Mapped:
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
            linear = {"_map": None, "dual_coef_": None, "kernel_": None}
            return self._find(moments, mapped.rows, selected).with_extras(**linear)
        settled = {**selected, **mapped.found, "map": mapped.map}
        solution = self._solve(moments, mapped.rows, settled)
        solution = solution.oriented(mapped.map.along(solution.W).basis)
        to_subspace = mapped.map.along(solution.W)
        weighted = mapped.rows is not None and mapped.rows.weights is not None
        if weighted or "_landmarks" in mapped.found:  # else the map is centred already
            to_subspace = to_subspace.centred_at(moments.mean @ solution.W)
        extras = {
            "selection_": dict(selected),
            **mapped.found,
            **solution.extras,
            "_map": to_subspace,
            "dual_coef_": to_subspace.basis.T,
        }
        return self._add_decision(solution._replace(extras=extras), moments, mapped.rows)

    # Landmarks: the map is settled first, and moments in its coordinates add ---------------------

    def _map_to_landmarks(self, rows: LabelledRows) -> Mapped:
        if is_precomputed(self.kernel):  # landmarks are columns of X: of no use to other rows
            kernel = self._settle_kernel(rows.X)
            mapped = KernelEstimator._map_rows(self, rows, kernel)
            return mapped._replace(found={"kernel_": kernel.function})
        attributes = self._to_landmarks(rows.X, rows.weights)
        return Mapped(
            attributes["_landmarks"], in_landmarks(attributes["_landmarks"], rows), attributes
        )

    def _to_landmarks(self, X: Any, weights: Array | None = None) -> dict[str, Any]:
        """The map to the space of landmarks, given ones or some of these rows, and its parts."""
        landmarks = check_landmarks(self, X.shape[1])
        width_of = (X, weights) if landmarks is None else (landmarks, None)
        kernel = self._settle_kernel(*width_of)
        if landmarks is None:
            landmarks = draw_landmarks(X, kernel, count_landmarks(self), self.random_state)
        to_features = map_of_landmarks(kernel, landmarks)
        return {"_landmarks": to_features, "landmarks_": landmarks, "kernel_": kernel.function}

    def _store(self, moments: ClassMoments, solution: Solution, rows: Any = None) -> None:
        if self._accepts_blocks:  # those whose moments in the space of landmarks add
            adds = solution.extras.get("_landmarks") is not None
            none = {"_landmarks": None, "landmarks_": None, "moments_": None}
            kept = {"moments_": moments} if adds else none
            solution = solution.with_extras(**kept)
        super()._store(moments, solution, rows)

    def _find(self, moments: Any, rows: Any, selected: Mapping[str, Any]) -> Solution:
        if vars(self).get("_landmarks") is None or rows is not None:
            return super()._find(moments, rows, selected)
        kept = ("_landmarks", "landmarks_", "kernel_")
        attributes = {name: getattr(self, name) for name in kept}
        return self._find_in_features(moments, Mapped(self._landmarks, None, attributes), selected)

    def _keep(self, memory: Memory, classes: Array) -> None:
        space = {name: vars(self)[name] for name in ("_landmarks", "landmarks_", "kernel_")}
        self._put_off(classes, moments_=memory.moments, **space)

    def _solve_now(self) -> None:
        check_parameters(self, self._allowed_parameters)
        self._check_moments_suffice(self.classes_)
        self._store(self.moments_, self._find(self.moments_, None, {}))

    # New rows --------------------------------------------------------------------------------

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

    @property
    def stores_rows(self) -> bool:
        """Whether the fitted model holds training rows: kernels compare new rows with them."""
        return self.kernel is not None and not is_precomputed(self.kernel)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags


def fit_weighted(
    self: Any,
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    groups: ArrayLike | None = None,
    cv: Any = None,
) -> Any:
    """Find the subspace.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        Training rows; for a precomputed kernel the kernel values of all pairs of them,
        (n_samples, n_samples). Methods that need only moments take a Dask collection,
        too, with `n_landmarks`: a pass for a sample of rows, which become landmarks and give
        the kernel its width, and a second pass for the moments of all rows.
    y : array (n_samples,)
        Their class labels.
    sample_weight : array (n_samples,), optional
        Non-negative weights; a weight of 2 is the same as the row twice. Landmarks are drawn
        whatever the weights.
    groups, cv
        As in `FisherDiscriminant.fit`: how choices by rows held out split the rows.

    Returns
    -------
    self
        The fitted estimator.
    """
    return self._fit(X, y, sample_weight, groups=groups, cv=cv)


fit_weighted.__qualname__ = "fit"  # as error messages call it
