"""What all subspace estimators share: validate → moments → solve → components_, and transform."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from separatrix.linalg import Array, Lift, column_signs
from separatrix.moments import ClassMoments
from separatrix.rows import (
    block_rows,
    check_weights,
    encode_labels,
    is_text,
    refuse_lazy_frame,
    refuse_nonfinite,
    row_blocks,
)

# Parameters ----------------------------------------------------------------------------------


class Allowed(NamedTuple):
    """A test for a parameter value, and the words that say what passes it."""

    test: Callable[[Any], bool]
    words: str


def one_of(*values: object) -> Allowed:
    """One of the given values, such as None or "auto"."""
    words = " or ".join(repr(value) for value in values)
    return Allowed(lambda v: any(v is x or (isinstance(v, str) and v == x) for x in values), words)


def whole_number(least: int) -> Allowed:
    """An integer, True and False excepted."""
    return Allowed(
        lambda v: isinstance(v, Integral) and not isinstance(v, bool) and int(v) >= least,
        f"a whole number of at least {least}",
    )


def real_number(low: float, high: float = np.inf, *, open_low: bool = False) -> Allowed:
    """A number in a range, its lower end included unless `open_low`."""
    range_ = f"{'(' if open_low else '['}{low:g}, {'inf)' if high == np.inf else f'{high:g}]'}"
    return Allowed(
        lambda v: (
            isinstance(v, Real)
            and not isinstance(v, bool)
            and (low < float(v) if open_low else low <= float(v))
            and float(v) <= high
        ),
        f"a number in {range_}",
    )


def array_like() -> Allowed:
    """Something with one value for each class or feature; its content is checked later."""
    return Allowed(
        lambda v: not isinstance(v, str) and (isinstance(v, Sequence) or hasattr(v, "__array__")),
        "an array",
    )


def check_parameters(
    estimator: BaseEstimator, constraints: Mapping[str, Sequence[Allowed]]
) -> None:
    """Raise for the first parameter that passes none of its tests."""
    for name, allowed in constraints.items():
        value = getattr(estimator, name)
        if not any(option.test(value) for option in allowed):
            words = ", or ".join(option.words for option in allowed)
            raise ValueError(
                f"{name}={value!r} is not valid for {type(estimator).__name__}: it must be {words}"
            )


# Rows and solutions --------------------------------------------------------------------------


YES_OR_NO = Allowed(lambda v: isinstance(v, bool | np.bool_), "True or False")


class LabelledData(NamedTuple):
    """Validated rows: X is float and two-dimensional, `codes` point into `classes`."""

    X: Any
    codes: Array
    classes: Array
    weights: Array | None
    feature_names: Array | None

    def moments(self, *, per_class: bool = False) -> ClassMoments:
        """Their class statistics; a NaN is found on the way and refused by name."""
        return ClassMoments.from_codes(
            self.X,
            self.codes,
            classes=self.classes,
            weights=self.weights,
            per_class=per_class,
            feature_names=self.feature_names,
        )

    def columns(self, columns: Array) -> LabelledData:
        """The same rows with some of their features."""
        names = columns if self.feature_names is None else self.feature_names[columns]
        return self._replace(X=self.X[:, columns], feature_names=names)


class Solution(NamedTuple):
    """Directions found by a method.

    Attributes
    ----------
    W : array (n_features, n_components)
        Directions, best first.
    criterion : array
        The value that each direction maximises, for all directions there are.
    rank : int
        Rank of the matrix the method inverts or restricts itself to.
    within : array (n_components, n_components), optional
        Scatter within classes in the subspace, as the decision sees it: never singular. Only
        classifiers need it.
    """

    W: Array
    criterion: Array
    rank: int
    within: Array | None = None

    def oriented(self, by: Array | None = None) -> Solution:
        """The same directions with the largest entry of each, or of their image `by`, positive."""
        signs = column_signs(self.W if by is None else by)
        within = None if self.within is None else self.within * np.outer(signs, signs)
        return self._replace(W=self.W * signs, within=within)


def shares(criterion: Array) -> Array:
    """Each value's share of the sum of the positive ones; infinite ones share alike."""
    infinite = np.isinf(criterion)
    positive = infinite.astype(float) if infinite.any() else np.clip(criterion, 0.0, None)
    total = positive.sum()
    return positive / total if total > 0 else positive


# The estimator -------------------------------------------------------------------------------


class SubspaceEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Base of the linear subspace methods.

    A subclass states its `_parameter_constraints` and solves its problem in `_solve`, from class
    moments alone; `fit`, `transform` and names come from here.
    """

    _parameter_constraints: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": (one_of(None), whole_number(1)),
    }
    _accepts_sparse: ClassVar[bool] = True
    n_components: int | None

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the subspace.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Training rows.
        y : array (n_samples,)
            Their class labels.
        sample_weight : array (n_samples,), optional
            Non-negative weights; a weight of 2 is the same as the row twice.

        Returns
        -------
        self
            The fitted estimator.
        """
        data = self._validated(X, y, sample_weight)
        self._learn(data.moments(per_class=self._needs_class_scatters(data.classes)), data)
        return self

    def _needs_class_scatters(self, classes: Array) -> bool:
        """Whether the method looks at the scatter of each class, not only at their sum."""
        return False

    def _learn(self, moments: ClassMoments, data: LabelledData | None) -> None:
        """Solve and publish; `data` is None when only moments are left."""
        self._set_solution(moments, self._solve(moments, data).oriented())

    @abstractmethod
    def _solve(self, moments: ClassMoments, data: LabelledData | None) -> Solution:
        """Solve the method's own problem; `data` are the rows, where there are any."""

    def _validated(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LabelledData:
        """Checked parameters, rows, labels of at least two classes, and weights."""
        check_parameters(self, self._parameter_constraints)
        data = self._checked_rows(X, y, sample_weight)
        if len(data.classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes to separate, but y has only "
                f"one class: {data.classes.tolist()[0]!r}"
            )
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
        refuse_lazy_frame(X)
        rows, labels = validate_data(
            self,
            X,
            y,
            accept_sparse="csr" if self._accepts_sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            reset=reset,
        )
        check_classification_targets(labels)
        known, codes = encode_labels(labels, rows.shape[0], classes)
        weights = None if sample_weight is None else check_weights(sample_weight, rows.shape[0])
        return LabelledData(rows, codes, known, weights, getattr(self, "feature_names_in_", None))

    def _n_wanted(self, available: int, why: str) -> int:
        """How many of the available directions to keep, or an error that says why not so many."""
        if self.n_components is None:
            return available
        if self.n_components > available:
            raise ValueError(
                f"n_components={self.n_components} is too large for {type(self).__name__}: these "
                f"data allow at most {available} ({why})"
            )
        return self.n_components

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
        check_is_fitted(self)
        refuse_lazy_frame(X)
        return validate_data(
            self,
            X,
            accept_sparse="csr" if self._accepts_sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            reset=False,
        )

    def _project(self, X: ArrayLike) -> Array:
        X = self._new_rows(X)
        with np.errstate(invalid="ignore", over="ignore"):
            Z = centred_product(X, self.mean_, self.components_.T)
            suspicious = not np.isfinite(Z.sum())
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


class MomentEstimator(SubspaceEstimator):
    """Base of the methods that need nothing but moments: they learn in batches and merge."""

    keep_moments: bool
    moments_: Any

    def _learn(self, moments: ClassMoments, data: LabelledData | None) -> None:
        super()._learn(moments, data)
        self.moments_ = moments if self.keep_moments else None

    def _refuse_moments_alone(self, classes: Array) -> None:
        """Raise when a parameter asks for something that only rows can tell."""

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows to what is known and solve again.

        After any sequence of batches the model is the one that `fit` gives on all rows together.
        While only one class has been seen, that class is predicted and `transform` returns no
        columns.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            New rows, one or many.
        y : array (n_samples,)
            Their labels.
        classes : array, optional
            All labels that may come. The first call takes those of `y` when it is absent; later
            calls may announce more, and labels never announced are refused.
        sample_weight : array (n_samples,), optional
            Non-negative weights.

        Returns
        -------
        self
            The updated estimator.
        """
        check_parameters(self, self._parameter_constraints)
        if not self.keep_moments:
            raise ValueError("partial_fit adds to moments_: it needs keep_moments=True")
        moments: Any = getattr(self, "moments_", None)
        first = moments is None
        if first and hasattr(self, "components_"):
            raise ValueError("this model was fitted with keep_moments=False: nothing to add to")
        known = None if first else self.classes_
        if classes is not None:
            known = np.unique(classes) if known is None else np.union1d(known, classes)
        data = self._checked_rows(X, y, sample_weight, classes=known, reset=first)
        self._refuse_moments_alone(data.classes)
        per_class = self._needs_class_scatters(data.classes)
        batch = data.moments(per_class=per_class)
        self._learn(batch if first else moments.kept(per_class) + batch, None)
        return self


def merge(models: Sequence[MomentEstimator]) -> MomentEstimator:
    """The model that training on all rows together would give, from models trained apart.

    Each model keeps the moments of its rows; moments add. So merging is exact, in any order and
    grouping, moves no rows, and its result can be merged or updated again. Models may know
    different classes.

    Parameters
    ----------
    models : sequence of fitted estimators
        Of one class that keeps moments (`FisherDiscriminant`, `IPCAC`, `TruncatedIPCAC`), with
        the same parameters and features.

    Returns
    -------
    estimator
        A new model; those given are left as they were.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import FisherDiscriminant, datasets, merge
    >>> X, y = (datasets.load("wine")[part] for part in ("data", "target"))
    >>> sites = [FisherDiscriminant().fit(X[i::3], y[i::3]) for i in range(3)]
    >>> whole = FisherDiscriminant().fit(X, y)
    >>> bool(np.allclose(merge(sites).components_, whole.components_))
    True
    """
    given: list[Any] = list(models)
    if not given:
        raise ValueError("merge needs at least one model")
    first = given[0]
    for i, model in enumerate(given):
        _refuse_unlike(first, model, i)
    labels = np.unique(np.concatenate([model.classes_ for model in given]))
    first._refuse_moments_alone(labels)
    per_class = first._needs_class_scatters(labels)
    total, *rest = (model.moments_.kept(per_class) for model in given)
    merged = clone(first)
    for attribute in ("n_features_in_", "feature_names_in_"):
        if hasattr(first, attribute):
            setattr(merged, attribute, getattr(first, attribute))
    merged._learn(sum(rest, start=copy(total)), None)
    return merged


def _refuse_unlike(first: Any, model: Any, i: int) -> None:
    """Raise when a model cannot be merged with the first one, and say which and why."""
    if not isinstance(model, MomentEstimator):
        raise TypeError(f"model {i} is a {type(model).__name__}, which cannot be merged")
    if not hasattr(model, "components_"):
        raise NotFittedError(f"model {i} is not fitted yet: call fit before merging it")
    if type(model) is not type(first):
        kinds = f"{type(model).__name__}, model 0 a {type(first).__name__}"
        raise ValueError(f"model {i} is a {kinds}: only models of one kind can be merged")
    if model.moments_ is None:
        raise ValueError(f"model {i} has no moments: fit it with keep_moments=True to merge it")
    if model.n_features_in_ != first.n_features_in_:
        raise ValueError(
            f"model {i} has {model.n_features_in_} features, model 0 has {first.n_features_in_}"
        )
    names, own = (np.asarray(getattr(m, "feature_names_in_", None)) for m in (first, model))
    if not np.array_equal(names, own):
        raise ValueError(f"model {i} has other feature names than model 0, or another order")
    for name, value in first.get_params().items():
        given = model.get_params()[name]
        if not np.array_equal(given, value):
            raise ValueError(f"model {i} has {name}={given!r}, model 0 has {name}={value!r}")
    if is_text(model.classes_) != is_text(first.classes_):
        raise ValueError(
            f"model {i} has labels {model.classes_.tolist()[:3]}, model 0 has "
            f"{first.classes_.tolist()[:3]}: they differ in type"
        )


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
