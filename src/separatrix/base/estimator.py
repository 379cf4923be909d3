"""What all subspace estimators share: validate → moments → solve → components_, and transform."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial, reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from separatrix.base.blockwise import BlockwiseMixin
from separatrix.base.parameters import N_COMPONENTS, Allowed, check_parameters
from separatrix.base.rows import LabelledData, labelled_data, new_rows, refuse_one_class
from separatrix.base.solution import Solution, shares
from separatrix.linalg import Array, Lift
from separatrix.moments.checks import is_dask, refuse_nonfinite
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.dask import Block, Blocks, labelled_blocks
from separatrix.moments.labelled import block_rows, row_blocks
from separatrix.selection import MAX_COMPONENTS, NOTHING_TO_CHOOSE, DimensionPath, dimension_path


def _block_summary(worker: Any, block: Block) -> Any:
    data = LabelledData(block.X, block.codes, block.classes, block.weights, block.names)
    return copy(worker)._summarised(data)  # threads must not meet in one


# The estimator -------------------------------------------------------------------------------


@contextmanager
def unchanged_on_failure(estimator: BaseEstimator) -> Iterator[None]:
    """Whatever is refused inside leaves the estimator as it was."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise


class SubspaceEstimator(
    BlockwiseMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC
):
    """Base of the linear subspace methods.

    A subclass states its `_allowed_parameters` and solves its problem in `_solve`, from class
    moments alone; `fit`, `transform` and names come from here.
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
    }
    _accepts_sparse: ClassVar[bool] = True
    _accepts_blocks: ClassVar[bool] = False
    n_components: int | str | None
    _every_direction = False

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the subspace.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Training rows. Methods that need no more than class moments take a Dask collection,
            too: see "Beyond memory" in the manual.
        y : array (n_samples,)
            Their class labels.
        sample_weight : array (n_samples,), optional
            Non-negative weights; a weight of 2 is the same as the row twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        with unchanged_on_failure(self):
            if self._accepts_blocks and is_dask(X):
                self._fit_blocks(X, y, sample_weight)
                return self
            data = self._validated(X, y, sample_weight)
            moments = self._summarised(data)
            self.selection_ = self._selected(data)
            self._publish(moments, data)
        return self

    def _publish(self, moments: Any, data: Any) -> None:
        """Learn, and let nothing of an earlier solution stay."""
        self._learn(moments, data)

    # Rows in blocks -------------------------------------------------------------------------

    def _fit_blocks(self, X: Any, y: Any, sample_weight: Any) -> float:
        """`fit` for a Dask collection: one pass over its blocks, then the same solution.

        Returns the number of rows, or the sum of their weights.
        """
        check_parameters(self, self._allowed_parameters)
        self._refuse_without_rows()
        blocks = labelled_blocks(X, y, sample_weight)
        worker = self._worker(blocks)
        found = blocks.summed(
            partial(_block_summary, worker),
            worker._added,
            accept_sparse=self._accepts_sparse,
        )
        refuse_one_class(self, found.classes)
        features = np.zeros((1, found.n_features))
        validate_data(self, features, reset=True)
        if found.names is not None:
            self.feature_names_in_ = found.names
        self.selection_ = {}
        self._publish(found.summary, blocks)
        return found.weight

    def _refuse_without_rows(self) -> None:
        """Raise when a parameter asks for something that blocks cannot tell one by one."""
        if getattr(self, "n_components", None) == "auto":
            raise ValueError(
                'n_components="auto" holds out rows, and needs all of them in memory: give a '
                "number. separatrix.distributed.subsample gives rows to choose it by"
            )

    def _worker(self, blocks: Blocks) -> Self:
        """What summarises blocks and adds summaries, wherever that is done."""
        worker = clone(self)
        if blocks.feature_names is not None:
            worker.feature_names_in_ = blocks.feature_names
        return worker

    def _added(self, parts: Sequence[Any]) -> Any:
        """The summary of all rows, from summaries of some of them."""
        labels = reduce(np.union1d, [part.classes for part in parts])
        per_class = self._needs_class_scatters(labels)
        return self._condensed(reduce(add, [part.kept(per_class) for part in parts]))

    def _condensed(self, moments: ClassMoments) -> ClassMoments:
        """Moments in the form in which they are kept."""
        return moments

    def _selected(self, data: LabelledData) -> dict[str, Any]:
        """Records of the choices that "auto" leaves to cross-validation, by parameter."""
        if getattr(self, "n_components", None) != "auto" or self._every_direction:
            return {}
        return {"n_components": self._dimension_path(data)}

    def _dimension_path(
        self, data: LabelledData, progress: Callable[[str], None] | None = None
    ) -> DimensionPath:
        """Held-out scores of each dimension, by the rows that count for anything."""
        if data.weights is not None:
            counted = np.flatnonzero(data.weights > 0)
            data = data._replace(
                X=data.X[counted], codes=data.codes[counted], weights=data.weights[counted]
            )
        present = np.unique(data.codes)
        if len(present) < 2:
            return NOTHING_TO_CHOOSE
        # rows that are forgotten are gone already, and those that fade have their weights
        changed: dict[str, Any] = {
            name: None for name in ("window", "decay") if getattr(self, name, None) is not None
        }
        priors = getattr(self, "priors", None)
        if priors is not None and len(present) < len(data.classes):
            left = np.asarray(priors, dtype=np.float64)[present]
            changed["priors"] = left / left.sum() if left.sum() > 0 else None
        return dimension_path(
            clone(self).set_params(**changed) if changed else self,
            data.X,
            data.classes[data.codes],
            fit_params={} if data.weights is None else {"sample_weight": data.weights},
            random_state=getattr(self, "random_state", 0),
            progress=progress or self._progress,
        )

    def _progress(self, line: str) -> None:
        if getattr(self, "verbose", False):
            print(f"[{type(self).__name__}] {line}")

    def _keep_every_direction(self) -> None:
        """Make `fit` keep what it finds, up to the number that selection tries."""
        self.n_components = "auto"
        self._every_direction = True

    def _summarised(self, data: LabelledData) -> ClassMoments:
        """The statistics that the method needs."""
        return data.moments(per_class=self._needs_class_scatters(data.classes))

    def _needs_class_scatters(self, classes: Array) -> bool:
        """Whether the method looks at the scatter of each class, not only at their sum."""
        return False

    def _learn(self, moments: Any, data: Any) -> None:
        """Solve and publish; `data` are `Rows`, or None when only moments are left."""
        self._set_solution(moments, self._solve(moments, data).oriented())

    @abstractmethod
    def _solve(self, moments: ClassMoments, data: Any) -> Solution:
        """Solve the method's own problem; `data` are the rows, where there are any."""

    def _validated(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LabelledData:
        """Checked parameters, rows, labels of at least two classes, and weights."""
        check_parameters(self, self._allowed_parameters)
        data = self._checked_rows(X, y, sample_weight)
        refuse_one_class(self, data.classes)
        return data

    def _checked_rows(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
        reset: bool = True,
    ) -> LabelledData:
        return labelled_data(
            self,
            X,
            y,
            sample_weight,
            classes=classes,
            reset=reset,
            accept_sparse=self._accepts_sparse,
        )

    def _n_wanted(self, available: int, why: str) -> int:
        """How many of the available directions to keep, or an error that says why not so many."""
        if self.n_components is None:
            return available
        if isinstance(self.n_components, str):
            return min(available, self._n_selected())
        if self.n_components > available:
            raise ValueError(
                f"n_components={self.n_components} is too large for {type(self).__name__}: these "
                f"data allow at most {available} ({why})"
            )
        return self.n_components

    def _n_selected(self) -> int:
        """What "auto" has come to."""
        if self._every_direction:
            return MAX_COMPONENTS
        return self.selection_["n_components"].n_components

    def _lifted(
        self, found: Solution, lift: Lift, moments: ClassMoments, *, more_to_come: bool = False
    ) -> Solution:
        """The wanted ones of at most ``n_classes - 1`` directions, in all features.

        With more rows to come, directions that are missing so far are no error.
        """
        available = found.W.shape[1]
        n_classes = len(moments.classes)
        if more_to_come:
            available = max(available, min(n_classes - 1, moments.n_features))
        if available == n_classes - 1:
            why = f"n_classes - 1, with {n_classes} classes"
        else:
            why = f"the means of {n_classes} classes span no more in {moments.n_features} features"
        k = self._n_wanted(available, why)
        within = None if found.within is None else found.within[:k, :k]
        return found._replace(W=lift(found.W[:, :k]), within=within)

    def _set_solution(self, moments: ClassMoments, solution: Solution) -> None:
        """Publish what was found."""
        k = solution.W.shape[1]
        if np.count_nonzero(moments.counts) > 1:
            self._warn_without_directions(k)
        self.classes_ = moments.classes
        self.mean_ = moments.mean
        self.means_ = moments.means
        self.components_ = solution.W.T
        self.explained_ratio_ = shares(solution.criterion)[:k]
        self.rank_ = solution.rank

    def _warn_without_directions(self, n_components: int) -> None:
        if n_components == 0:
            warnings.warn(
                f"{type(self).__name__} found no direction that separates the classes: their "
                "means coincide. transform returns no columns.",
                stacklevel=4,
            )

    def transform(self, X: ArrayLike) -> Array:
        """Project rows on the subspace: ``(X - mean_) @ components_.T``.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Rows to project.

        Returns
        -------
        array (n_samples, n_components)
            Coordinates in the subspace, of the dtype of X.
        """
        return self._project(X)

    def _new_rows(self, X: ArrayLike) -> Any:
        """Rows of the features that were learned, checked but for what is not finite."""
        return new_rows(self, X, accept_sparse=self._accepts_sparse)

    def _project(self, X: ArrayLike) -> Array:
        X = self._new_rows(X)
        with np.errstate(invalid="ignore", over="ignore"):
            Z = centred_product(X, self.mean_, self.components_.T)
            suspicious = not np.isfinite(Z.sum() if Z.shape[1] else np.sum(X))
        if suspicious:
            refuse_nonfinite(X, getattr(self, "feature_names_in_", None))
        return Z

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self._accepts_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def centred_product(X: Any, centre: Array, W: Array) -> Array:
    """``(X - centre) @ W`` in the dtype of X.

    One product, centred afterwards, unless that would cancel more than a quarter of the digits:
    then the rows are centred first, a block at a time.
    """
    W = W.astype(X.dtype, copy=False)
    shift = centre @ W
    result = X @ W
    result -= shift.astype(X.dtype, copy=False)
    cancelled = float(np.max(np.abs(centre) @ np.abs(W), initial=0.0))
    left = float(np.max(np.abs(result), initial=0.0))
    if sp.issparse(X) or cancelled <= np.finfo(X.dtype).eps ** -0.25 * left:
        return result
    centred = np.empty((min(X.shape[0], block_rows(X.shape[1])), X.shape[1]), X.dtype)
    for block in row_blocks(*X.shape):
        rows = centred[: len(X[block])]
        np.subtract(X[block], centre, out=rows, casting="same_kind")
        np.matmul(rows, W, out=result[block])
    return result
