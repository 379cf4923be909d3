"""Models that go on learning: batches, windows, fading weights, and merging."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from functools import partial
from threading import RLock
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from separatrix.base.estimator import SubspaceEstimator
from separatrix.base.parameters import check_parameters
from separatrix.base.rows import check_labelled_rows, unchanged_on_failure
from separatrix.base.solution import Solution
from separatrix.linalg import Array
from separatrix.moments.checks import is_dask, is_text
from separatrix.moments.class_moments import MIN_COUNT, ClassMoments
from separatrix.moments.labelled import LabelledRows
from separatrix.moments.window import SlidingWindow

SOLVING = RLock()
"""Held while a model solves for rows that have come: threads that ask at once solve once."""


class Solved:
    """A fitted attribute that is solved for when it is asked for, once new rows have come.

    `partial_fit` takes the old results off the instance; then this descriptor of the class is
    found instead, and solves for all of them. A result that is there hides its descriptor.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type | None = None) -> Any:
        if model is None:
            return self
        with SOLVING:  # another thread may have solved while this one waited
            if self.name not in vars(model):
                if not model._is_waiting():
                    kind = type(model).__name__
                    raise AttributeError(f"{kind!r} object has no attribute {self.name!r}")
                model._solve_now()
            return vars(model)[self.name]


class Memory(NamedTuple):
    """The statistics that a model keeps of the rows it has learned from.

    Attributes
    ----------
    moments : ClassMoments or None
        None where a window keeps them.
    window : SlidingWindow or None
    """

    moments: Any
    window: SlidingWindow | None = None


class MomentEstimator(SubspaceEstimator):
    """Base of the methods that need nothing but moments: they learn in batches and merge.

    A subclass declares its further results as `Solved`.
    """

    _accepts_blocks = True
    keep_moments: bool = True
    window: int | None = None
    decay: float | None = None
    classes_: Array
    selection_: dict[str, Any]
    components_: Any = Solved()
    mean_: Any = Solved()
    means_: Any = Solved()
    explained_ratio_: Any = Solved()
    rank_: Any = Solved()
    n_samples_seen_: Any = Solved()
    priors_: Any = Solved()
    _rule: Any = Solved()
    moments_: Any = Solved()

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows to the model.

        After any sequence of batches the model is the one that `fit` gives on all rows together,
        in their order. The subspace is computed when it is next asked for, so that batches cost
        no more than their statistics. A batch that raises an error leaves the model as it was.
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
            calls may announce more, and labels never announced are an error.
        sample_weight : array (n_samples,), optional
            Non-negative weights.

        Returns
        -------
        self
            The updated estimator.
        """
        if is_dask(X):
            raise TypeError(
                "partial_fit takes rows in memory: fit another model to the Dask collection and "
                "merge the two (separatrix.merge)"
            )
        with unchanged_on_failure(self):
            rows = self._validate_batch(X, y, classes, sample_weight)
            grown = not self._is_fitted() or len(rows.classes) > len(self.classes_)
            memory = self._remember(self._memory(), self._weigh_by_age(rows))
            self._keep(memory)
            self.classes_, self.selection_ = rows.classes, {}
            if grown:  # parameters that do not fit the classes are an error at once
                self._solve_now()
        return self

    def _validate(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LabelledRows:
        return self._weigh_by_age(super()._validate(X, y, sample_weight))

    # Rows in the order of time ----------------------------------------------------------------

    def _validate_batch(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
    ) -> LabelledRows:
        """Checked rows of a batch, coded by all labels that are known or announced."""
        check_parameters(self, self._allowed_parameters)
        if not self.keep_moments:
            raise ValueError("partial_fit adds to moments_: it needs keep_moments=True")
        first = not self._is_fitted()
        if not first and vars(self).get("moments_", self) is None:
            raise ValueError("this model was fitted with keep_moments=False: nothing to add to")
        known = None if first else self.classes_
        if classes is not None:
            known = np.unique(classes) if known is None else np.union1d(known, classes)
        rows = check_labelled_rows(
            self,
            X,
            y,
            sample_weight,
            classes=known,
            reset=first,
            accept_sparse=self._accepts_sparse,
        )
        self._check_moments_suffice(rows.classes)
        if not first:
            self._check_same_window()
        return rows

    def _weigh_by_age(self, rows: LabelledRows) -> LabelledRows:
        """The rows that are not forgotten at once, with weights that fade with their age."""
        if self.window is not None and self.decay is not None:
            raise ValueError(
                f"window={self.window} and decay={self.decay} are two ways to forget: choose one "
                "and leave the other None"
            )
        if self.window is not None:
            rows = rows.part(slice(-self.window, None))
            if rows.weights is not None and not rows.weights.any():
                raise ValueError(
                    f"all rows within window={self.window} have a sample_weight of zero: nothing "
                    "is left to learn from"
                )
        if self.decay is None:
            return rows
        ages = np.arange(len(rows.codes))[::-1]
        fading = float(self.decay) ** ages
        fading[fading < MIN_COUNT] = 0.0
        return rows._replace(weights=fading if rows.weights is None else rows.weights * fading)

    # Statistics of everything seen ------------------------------------------------------------

    def _remember(self, memory: Memory | None, rows: LabelledRows) -> Memory:
        """The memory with more rows in it; the one given is not changed."""
        condense = partial(self._condense, rows.classes)
        if self.window is not None:
            window = SlidingWindow(self.window)
            if memory is not None and memory.window is not None:
                window = memory.window.copy()
            for part in self._portions(rows):
                window.push(part, partial(self._summarize_as, rows.classes), condense)
            return Memory(None, window)
        moments = None if memory is None else memory.moments
        if moments is not None and self.decay is not None:
            faded = float(self.decay) ** len(rows.codes)
            moments = moments.decay(max(faded, np.finfo(np.float64).tiny))
        for part in self._portions(rows):
            batch = super()._summarize(part)
            moments = condense(batch if moments is None else condense(moments) + batch)
        return Memory(moments)

    def _moments_of(self, memory: Memory, classes: Array) -> ClassMoments:
        """The moments of all rows that are remembered."""
        if memory.window is None:
            return memory.moments
        summarize, condense = (
            partial(self._summarize_as, classes),
            partial(self._condense, classes),
        )
        return memory.window.total(summarize, condense)

    def _summarize_as(self, classes: Array, rows: LabelledRows) -> ClassMoments:
        """Moments of rows that came when fewer classes were known."""
        return super()._summarize(rows.with_classes(classes))

    def _condense(self, classes: Array, moments: ClassMoments) -> ClassMoments:
        """Moments in the form in which they are kept.

        A window of many rows is a matrix from the first of them on: rows that are held would be
        multiplied again with every step.
        """
        moments = moments.with_class_scatters(self._needs_class_scatters(classes))
        many = self.window is not None and self.window >= moments.n_features
        return moments.with_matrices() if many else moments

    def _portions(self, rows: LabelledRows) -> Iterable[LabelledRows]:
        """Rows in the portions that are summarized at once."""
        yield rows

    def _add_summaries(self, parts: Sequence[ClassMoments]) -> ClassMoments:
        moments = super()._add_summaries(parts)
        return self._condense(moments.classes, moments)

    # Statistics that are kept, results that wait ----------------------------------------------

    def _memory(self) -> Memory | None:
        window = vars(self).get("_window")
        return Memory(vars(self).get("moments_"), window) if self._is_fitted() else None

    def _keep(self, memory: Memory) -> None:
        """Keep the statistics; results of an earlier solution are taken off the model."""
        for name in self._result_names():
            self.__dict__.pop(name, None)
        self._window = memory.window
        if memory.window is None:
            self.moments_ = memory.moments

    def _store(self, moments: ClassMoments, solution: Solution, rows: Any = None) -> None:
        kept: dict[str, Any] = {"moments_": moments if self.keep_moments else None}
        if rows is not None:  # a new fit; without rows the window of before goes on
            slides = self.window is not None and self.keep_moments
            kept["_window"] = self._open_window(rows, moments) if slides else None
        super()._store(moments, solution.with_extras(**kept), rows)

    def _open_window(self, rows: LabelledRows, moments: ClassMoments) -> SlidingWindow:
        """A window on these rows, whose moments are known."""
        window = SlidingWindow(int(self.window or 0))
        window.push(rows, lambda _: moments, partial(self._condense, rows.classes))
        return window

    def _solve_now(self) -> None:
        """Solve for the rows that have come since the last solution."""
        check_parameters(self, self._allowed_parameters)
        self._check_moments_suffice(self.classes_)
        classes = self.classes_
        moments = self._moments_of(Memory(vars(self).get("moments_"), self._window), classes)
        self._store(moments, self._find(moments, None, {}))

    def _is_fitted(self) -> bool:
        return "classes_" in vars(self)

    def _is_waiting(self) -> bool:
        """Whether rows have come since the last solution."""
        return self._is_fitted() and "components_" not in vars(self)

    @classmethod
    def _result_names(cls) -> list[str]:
        return [n for kind in cls.__mro__ for n, v in vars(kind).items() if isinstance(v, Solved)]

    def _without_memory(self) -> Any:
        """A copy that judges rows: solved, and without the statistics."""
        _ = self.components_
        judge = copy(self)
        judge.__dict__.update(moments_=None, _window=None)
        return judge

    def _read_format_1(self) -> None:
        """Files of format 1 list the results that wait to be solved for: now they are absent."""
        super()._read_format_1()
        for name in ("_results", "_unsolved"):
            self.__dict__.pop(name, None)

    # Checks -----------------------------------------------------------------------------------

    def _check_moments_suffice(self, classes: Array) -> None:
        """Raise when a parameter asks for something that only rows can give."""
        if getattr(self, "n_components", None) == "auto":
            raise ValueError(
                'n_components="auto" needs all rows at once: use fit, or give a number to update '
                "or merge models"
            )

    def _check_blocks_suffice(self) -> None:
        super()._check_blocks_suffice()
        for name in ("window", "decay"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} forgets rows in the order of time, and the "
                    f"blocks of a Dask collection come in any order: set {name}=None, or learn "
                    "one block after the other with partial_fit"
                )

    def _check_same_window(self) -> None:
        size = None if self._window is None else self._window.size
        if size != self.window:
            raise ValueError(
                f"window={self.window}, but this model was fitted with window={size}: rows that "
                "are forgotten cannot come back. Set it back, or call fit"
            )


def merge(models: Sequence[MomentEstimator]) -> Any:
    """The model that training on all rows together would give, from models trained apart.

    Each model keeps the moments of its rows; moments add. So merging is exact, in any order and
    grouping, moves no rows, and its result can be merged or updated again. Models may know
    different classes.

    Parameters
    ----------
    models : sequence of fitted estimators
        Of one class that keeps moments (`FisherDiscriminant`, `IPCAC`, `TruncatedIPCAC`,
        `OnlineIPCAC`), with the same parameters and features.

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
        _check_alike(first, model, i)
    labels = np.unique(np.concatenate([model.classes_ for model in given]))
    first._check_moments_suffice(labels)
    merged = clone(first)
    for attribute in ("n_features_in_", "feature_names_in_"):
        if hasattr(first, attribute):
            setattr(merged, attribute, getattr(first, attribute))
    moments = copy(merged._add_summaries([model.moments_ for model in given]))
    merged._keep(Memory(moments))
    merged._store(moments, merged._find(moments, None, {}))
    return merged


def _check_alike(first: Any, model: Any, i: int) -> None:
    """Raise when a model cannot be merged with the first one, and say which and why."""
    if not isinstance(model, MomentEstimator):
        raise TypeError(f"model {i} is a {type(model).__name__}, which cannot be merged")
    if not hasattr(model, "classes_"):
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
    if model.window is not None:
        raise ValueError(
            f"model {i} forgets by window={model.window}: streams that are merged have no common "
            "order of rows. Merge models without a window, or with decay"
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
