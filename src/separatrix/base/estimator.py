"""The base of all subspace estimators: validate → summarize → select → solve → store."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import add
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils import Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from separatrix._warnings import warn_caller
from separatrix.base.blockwise import fit_collection
from separatrix.base.parameters import N_COMPONENTS, Allowed, check_parameters
from separatrix.base.rows import (
    centred_product,
    check_labelled_rows,
    check_more_rows_than_classes,
    check_new_rows,
    check_several_classes,
    unchanged_on_failure,
)
from separatrix.base.solution import Solution, lock_of, shares
from separatrix.linalg import Array, Lift, threads_for
from separatrix.moments.blocks import Blocks
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows, check_finite_columns, is_dask
from separatrix.selection import NOTHING_TO_CHOOSE, AtMost, DimensionPath, dimension_path

Rows = LabelledRows | Blocks
"""Labelled rows, in memory or in blocks."""


class SubspaceEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base of the subspace methods.

    A subclass states its `_allowed_parameters`, and solves its problem in `_solve`; `fit`,
    `transform` and the names of features come from here. A method that takes no weights says
    ``fit = fit_rows``.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}  # scikit-learn's: ours are below
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {"n_components": N_COMPONENTS}
    _accepts_sparse: ClassVar[bool] = True
    _accepts_blocks: ClassVar[bool] = False
    _dimension_judge: ClassVar[Any] = None  # the scorer of `dimension_path`
    n_components: int | str | None
    classes_: Array
    components_: Array
    explained_ratio_: Array
    mean_: Array
    means_: Array
    n_samples_seen_: Any
    priors_: Any
    rank_: int
    selection_: Any
    _results: Any  # names of attributes that the last solution set, where it can be solved again

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        cv: Any = None,
    ) -> Self:
        """Find the subspace.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Training rows. An array (n_samples, n_channels, n_times) is taken for rows of its
            channels one after the other. Methods that need only class moments, `LDG` and
            `LocalFisherDiscriminant` take a Dask collection, too: see "Beyond memory" in the
            manual.
        y : array (n_samples,)
            Their class labels.
        sample_weight : array (n_samples,), optional
            Non-negative weights; a weight of 2 is the same as the row twice.
        groups : array (n_samples,), optional
            What each row belongs to, such as a patient: choices by rows held out keep the rows
            of a group together.
        cv : splitter, optional
            How these choices hold rows out, such as `TimeSeriesSplit(3)` for rows in the order of
            time. Stratified folds by default.

        Returns
        -------
        self
            The fitted estimator.
        """
        with unchanged_on_failure(self):
            if self._accepts_blocks and is_dask(X):
                return fit_collection(self, X, y, sample_weight)
            rows = self._validate(X, y, sample_weight, groups=groups, cv=cv)
            n_samples, n_features = rows.X.shape
            pairs = n_samples * (n_samples + min(n_samples, n_features))
            with threads_for(pairs * n_features):
                moments = self._summarize(rows)
                selected = self._select(rows)
                solution = self._find(moments, rows, selected)
            self._store(moments, solution, rows)
        return self

    # validate ---------------------------------------------------------------------------------

    def _validate(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **splitting: Any,
    ) -> LabelledRows:
        """Checked parameters, rows, labels of at least two classes, and weights."""
        check_parameters(self, self._allowed_parameters)
        sparse = self._accepts_sparse
        rows = check_labelled_rows(self, X, y, sample_weight, accept_sparse=sparse, **splitting)
        check_several_classes(self, rows.classes)
        check_more_rows_than_classes(self, len(rows.codes), len(rows.classes))
        return rows

    def _check_moments_suffice(self, classes: Array) -> None:
        """Raise when a parameter asks for something that only rows can give."""
        if getattr(self, "n_components", None) == "auto":
            raise ValueError(
                'n_components="auto" needs all rows at once: use fit, or give a number to update '
                "or merge models"
            )

    def _check_blocks_suffice(self) -> None:
        """Raise when a parameter asks for something that blocks cannot give one by one."""
        if getattr(self, "n_components", None) == "auto":
            raise ValueError(
                'n_components="auto" holds out rows, and needs all of them in memory: give a '
                "number. separatrix.moments.subsample gives rows to choose it by"
            )

    def _params_for_blocks(self, n_samples: int | None) -> dict[str, Any]:
        """Parameters that each block of a Dask collection must know of all rows together."""
        return {}

    # summarize --------------------------------------------------------------------------------

    def _summarize(self, rows: LabelledRows) -> Any:
        """The statistics that the method needs."""
        return ClassMoments.from_rows(rows, per_class=self._needs_class_scatters(rows.classes))

    def _summarize_block(self, rows: LabelledRows) -> Any:
        """The statistics that the method needs of a block of the rows."""
        return self._summarize(rows)

    def _needs_class_scatters(self, classes: Array) -> bool:
        """Whether the method looks at the scatter of each class, not only at their sum."""
        return False

    def _add_summaries(self, parts: Sequence[Any]) -> Any:
        """The summary of all rows, from summaries of some of them."""
        labels = reduce(np.union1d, [part.classes for part in parts])
        per_class = self._needs_class_scatters(labels)
        return reduce(add, [part.with_class_scatters(per_class) for part in parts])

    # select -----------------------------------------------------------------------------------

    def _select(self, rows: LabelledRows) -> dict[str, Any]:
        """Records of the choices that "auto" leaves to cross-validation, by parameter."""
        if getattr(self, "n_components", None) != "auto":
            return {}
        return {"n_components": self._dimension_path(rows)}

    def _dimension_path(self, rows: LabelledRows) -> DimensionPath:
        """Held-out scores of each dimension, by the rows of positive weight."""
        if rows.weights is not None:
            counted = np.flatnonzero(rows.weights > 0)
            rows = rows.part(counted)
        present = np.unique(rows.codes)
        if len(present) < 2:
            return NOTHING_TO_CHOOSE
        # rows out of the window are gone already, and those that fade have their weights
        changed: dict[str, Any] = {
            name: None for name in ("window", "decay") if getattr(self, name, None) is not None
        }
        priors = getattr(self, "priors", None)
        if priors is not None and len(present) < len(rows.classes):
            left = np.asarray(priors, dtype=np.float64)[present]
            changed["priors"] = left / left.sum() if left.sum() > 0 else None
        return dimension_path(
            clone(self).set_params(**changed) if changed else self,
            rows.X,
            rows.labels,
            self._dimension_judge,
            fit_params={} if rows.weights is None else {"sample_weight": rows.weights},
            **rows.splitting,
            random_state=getattr(self, "random_state", 0),
        )

    # solve ------------------------------------------------------------------------------------

    @abstractmethod
    def _solve(self, moments: Any, rows: Any, selected: Mapping[str, Any]) -> Solution:
        """Solve the method's own problem, and write nothing to the estimator.

        Parameters
        ----------
        moments : ClassMoments
            The result of `_summarize`.
        rows : LabelledRows, Blocks or None
            The rows; None where only their moments are left.
        selected : mapping
            The result of `_select`.
        """

    def _find(self, moments: Any, rows: Any, selected: Mapping[str, Any]) -> Solution:
        """The solution with oriented directions, and the rule that decides by them."""
        solution = self._solve(moments, rows, selected).oriented()
        solution = solution._replace(extras={"selection_": dict(selected), **solution.extras})
        return self._add_decision(solution, moments, rows)

    def _add_decision(self, solution: Solution, moments: Any, rows: Any) -> Solution:
        """The solution; classifiers add the rule that decides in the subspace."""
        return solution

    def _n_wanted(self, available: int, why: str, selected: Mapping[str, Any]) -> int:
        """Number of directions to keep; raise, with the reason, where fewer are available."""
        if self.n_components is None:
            return available
        if isinstance(self.n_components, str):
            return min(available, selected["n_components"].n_components)
        if isinstance(self.n_components, AtMost):
            return min(available, int(self.n_components))
        if self.n_components > available:
            raise ValueError(
                f"n_components={self.n_components} is too large for {type(self).__name__}: these "
                f"data allow at most {available} ({why})"
            )
        return self.n_components

    def _keep_wanted(
        self,
        solution: Solution,
        lift: Lift,
        moments: ClassMoments,
        selected: Mapping[str, Any],
        *,
        more_to_come: bool = False,
    ) -> Solution:
        """The wanted ones of at most ``n_classes - 1`` directions, lifted to all features.

        With more rows to come, directions that are missing so far are no error.
        """
        available = solution.W.shape[1]
        n_classes = len(moments.classes)
        if more_to_come:
            available = max(available, min(n_classes - 1, moments.n_features))
        if available == n_classes - 1:
            why = f"n_classes - 1, with {n_classes} classes"
        else:
            why = f"the means of {n_classes} classes span no more in {moments.n_features} features"
        k = self._n_wanted(available, why, selected)
        within = None if solution.within is None else solution.within[:k, :k]
        return solution._replace(W=lift(solution.W[:, :k]), within=within)

    # store ------------------------------------------------------------------------------------

    def _store(self, moments: ClassMoments, solution: Solution, rows: Any = None) -> None:
        """Set the fitted attributes; nothing else does."""
        k = solution.W.shape[1]
        missing = k == 0 and np.count_nonzero(moments.counts) > 1
        if missing and (message := self._without_directions(solution)):
            warn_caller(message)
        fitted: dict[str, Any] = {
            "classes_": moments.classes,
            "mean_": moments.mean,
            "means_": moments.means,
            "components_": solution.W.T,
            "explained_ratio_": shares(solution.criterion)[:k],
            "rank_": solution.rank,
            "n_samples_seen_": moments.n_samples,
            **solution.extras,
        }
        # only moments can be solved again, when rows have come
        fitted["_results"] = tuple(fitted) if fitted.get("moments_") is not None else ()
        # in one step, for threads that use the model meanwhile
        self.__dict__ = {**vars(self), **fitted}

    def _without_directions(self, solution: Solution) -> str:
        """The warning where no direction was found; empty where there is nothing to warn of."""
        return (
            f"{type(self).__name__} found no direction that separates the classes: their means "
            "coincide. transform returns no columns."
        )

    # results that wait for the next question, once rows have come --------------------------------

    def _is_fitted(self) -> bool:
        return "classes_" in vars(self)

    def _put_off(self, classes: Array, **statistics: Any) -> None:
        """Keep the statistics of more rows; results wait until one of them is asked for."""
        out_of_date = vars(self).get("_results", ())
        kept = {name: value for name, value in vars(self).items() if name not in out_of_date}
        self.__dict__ = {**kept, **statistics, "classes_": classes, "selection_": {}}

    def _solve_now(self) -> None:
        """Solve for all rows that have come; for classes that learn in batches."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        """Solve when a result is asked for that is not there: Python then comes here."""
        if name in vars(self).get("_results", ()):
            with lock_of(self):  # another thread may have solved while this one waited
                if name not in vars(self):
                    self._solve_now()
        return object.__getattribute__(self, name)

    # new rows ---------------------------------------------------------------------------------

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

    @available_if(lambda self: getattr(self, "kernel", None) is None)
    def inverse_transform(self, Z: ArrayLike) -> Array:
        """The rows that have these coordinates, and nothing else that `mean_` has not.

        Parameters
        ----------
        Z : array (n_samples, n_components)
            Coordinates in the subspace.

        Returns
        -------
        array (n_samples, n_features)
            ``mean_ + Z @ pinv(components_).T``; for orthonormal directions the point of the
            subspace that is nearest to a row with these coordinates.
        """
        check_is_fitted(self)
        return self.mean_ + np.asarray(Z) @ np.linalg.pinv(self.components_).T

    def _project(self, X: ArrayLike) -> Array:
        rows = check_new_rows(self, X, accept_sparse=self._accepts_sparse)
        with np.errstate(invalid="ignore", over="ignore"):
            Z = centred_product(rows, self.mean_, self.components_.T)
            # one sum finds any NaN in the scores; columns are searched only then
            suspicious = not np.isfinite(Z.sum() if Z.shape[1] else np.sum(rows))
        if suspicious:
            check_finite_columns(rows, getattr(self, "feature_names_in_", None))
        return Z

    @property
    def stores_rows(self) -> bool:
        """Whether the fitted model holds training rows, or such as tell them."""
        return False

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.sparse = self._accepts_sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def fit_rows(
    self: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    cv: Any = None,
) -> Any:
    """Find the subspace.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        Training rows.
    y : array (n_samples,)
        Their class labels.
    groups, cv
        As in `FisherDiscriminant.fit`: how choices by rows held out split the rows.

    Returns
    -------
    self
        The fitted estimator.
    """
    return SubspaceEstimator.fit(self, X, y, groups=groups, cv=cv)


fit_rows.__qualname__ = "fit"  # as error messages call it
