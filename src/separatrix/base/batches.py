"""Methods that need nothing but moments: they learn in batches, forget, and merge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from separatrix.base.estimator import SubspaceEstimator, unchanged_on_failure
from separatrix.base.parameters import check_parameters
from separatrix.base.rows import LabelledData
from separatrix.linalg import Array
from separatrix.moments.checks import is_dask, is_text
from separatrix.moments.class_moments import FORGOTTEN, ClassMoments
from separatrix.moments.window import SlidingWindow


class MomentEstimator(SubspaceEstimator):
    """Base of the methods that need nothing but moments: they learn in batches and merge.

    `partial_fit` adds to the moments; what follows from them is solved for when it is asked for.
    """

    _accepts_blocks = True
    keep_moments: bool = True
    window: int | None = None
    decay: float | None = None
    moments_: Any
    _window: Any

    def _validated(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LabelledData:
        return self._recent(super()._validated(X, y, sample_weight))

    def _recent(self, data: LabelledData) -> LabelledData:
        """What is remembered of rows that come in the order of time."""
        if self.window is not None and self.decay is not None:
            raise ValueError(
                f"window={self.window} and decay={self.decay} are two ways to forget: choose one "
                "and leave the other None"
            )
        if self.window is not None:
            data = data.part(slice(-self.window, None))
            if data.weights is not None and not data.weights.any():
                raise ValueError(
                    f"all rows within window={self.window} have a sample_weight of zero: nothing "
                    "is left to learn from"
                )
        if self.decay is None:
            return data
        ages = np.arange(len(data.codes))[::-1]
        fading = float(self.decay) ** ages
        fading[fading < FORGOTTEN] = 0.0
        return data._replace(weights=fading if data.weights is None else data.weights * fading)

    def _refuse_without_rows(self) -> None:
        super()._refuse_without_rows()
        for name in ("window", "decay"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} forgets rows in the order of time, and the "
                    f"blocks of a Dask collection come in any order: set {name}=None, or learn "
                    "one block after the other with partial_fit"
                )

    def _fit_blocks(self, X: Any, y: Any, sample_weight: Any) -> float:
        self._window = None
        return super()._fit_blocks(X, y, sample_weight)

    def _judge(self) -> Any:
        _ = self.components_  # solved for rows that came since
        judge = copy(self)
        judge.__dict__.update(moments_=None, _window=None)
        return judge

    def _summarised(self, data: LabelledData) -> ClassMoments:
        self.classes_ = data.classes
        if self.window is None:
            self._window = None
            return self._with_rows(None, data)
        self._window = SlidingWindow(self.window)
        self._slide(data)
        return self._window.total(self._summary, self._kept)

    def _slide(self, data: LabelledData) -> None:
        """Move the window over more rows."""
        self._window = self._window.copy()
        for part in self._in_blocks(data):
            labels = part.classes[part.codes]
            self._window.push(part.X, labels, part.weights, self._summary, self._kept)

    def _with_rows(self, moments: ClassMoments | None, data: LabelledData) -> ClassMoments:
        """The moments of all that is remembered when more rows have come."""
        if moments is not None and self.decay is not None:
            faded = float(self.decay) ** len(data.codes)
            moments = moments.decay(max(faded, np.finfo(np.float64).tiny))
        for part in self._in_blocks(data):
            batch = self._summary(part.X, part.classes[part.codes], part.weights)
            moments = self._kept(batch if moments is None else self._kept(moments) + batch)
        assert moments is not None, "there is at least one row"
        return moments

    def _summary(self, X: Any, y: Array, weights: Array | None) -> ClassMoments:
        codes = np.searchsorted(self.classes_, y)
        names = getattr(self, "feature_names_in_", None)
        rows = LabelledData(X, codes, self.classes_, weights, names)
        return rows.moments(per_class=self._needs_class_scatters(self.classes_))

    def _kept(self, moments: ClassMoments) -> ClassMoments:
        return self._condensed(moments.kept(self._needs_class_scatters(self.classes_)))

    def _in_blocks(self, data: LabelledData) -> Iterable[LabelledData]:
        """Rows in the portions that are summarised at once."""
        yield data

    def _condensed(self, moments: ClassMoments) -> ClassMoments:
        """Moments in the form in which they are kept.

        A window of many rows is a matrix from the first of them on: rows that are held would be
        multiplied again with every step.
        """
        many = self.window is not None and self.window >= moments.n_features
        return moments.with_matrices() if many else moments

    def _publish(self, moments: Any, data: Any) -> None:
        for name in (*vars(self).get("_results", ()), "_unsolved"):
            self.__dict__.pop(name, None)
        before = {*vars(self), "moments_", "classes_"}
        self._learn(moments, data)
        self._results = sorted(set(vars(self)) - before)

    def _learn(self, moments: Any, data: Any) -> None:
        super()._learn(moments, data)
        self.moments_ = moments if self.keep_moments else None

    def __getattr__(self, name: str) -> Any:
        """Solve for rows added since the last solution, when a result is asked for."""
        if name in vars(self).get("_unsolved", ()):
            solved = object.__new__(type(self))  # threads that ask at once must not meet halfway
            solved.__dict__.update(vars(self))
            moments = vars(self).get("moments_")
            if moments is None:
                moments = self._window.total(self._summary, self._kept)
            solved._publish(moments, None)
            self.__dict__.update(vars(solved))
            self.__dict__.pop("_unsolved", None)
        return object.__getattribute__(self, name)

    def _refuse_moments_alone(self, classes: Array) -> None:
        """Raise when a parameter asks for something that only rows can tell."""

    def _refuse_selection(self) -> None:
        if getattr(self, "n_components", None) == "auto":
            raise ValueError(
                'n_components="auto" needs all rows at once: use fit, or give a number to update '
                "or merge models"
            )

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows to what is known.

        After any sequence of batches the model is the one that `fit` gives on all rows together,
        in their order. The subspace is computed when it is next asked for, so that batches cost
        no more than their statistics. A batch that is refused leaves the model as it was. While
        only one class has been seen, that class is predicted and `transform` returns no columns.

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
        check_parameters(self, self._allowed_parameters)
        if is_dask(X):
            raise TypeError(
                "partial_fit takes rows in memory: fit another model to the Dask collection and "
                "merge the two (separatrix.merge)"
            )
        if not self.keep_moments:
            raise ValueError("partial_fit adds to moments_: it needs keep_moments=True")
        with unchanged_on_failure(self):
            self._take(X, y, classes, sample_weight)
        return self

    def _take(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None,
        sample_weight: ArrayLike | None,
    ) -> None:
        first = "classes_" not in vars(self)
        if not first and vars(self).get("moments_", self) is None:
            raise ValueError("this model was fitted with keep_moments=False: nothing to add to")
        known = None if first else self.classes_
        if classes is not None:
            known = np.unique(classes) if known is None else np.union1d(known, classes)
        data = self._checked_rows(X, y, sample_weight, classes=known, reset=first)
        self._refuse_selection()
        self._refuse_moments_alone(data.classes)
        recent = self._recent(data)
        self.selection_ = {}
        if first:
            self._publish(self._summarised(recent), None)
            return
        self._refuse_another_window()
        grown = len(data.classes) > len(self.classes_)
        self.classes_ = data.classes
        waiting = self._results
        if self._window is None:
            self.moments_ = self._with_rows(self.moments_, recent)
        else:
            self._slide(recent)
            waiting = [*waiting, "moments_"]
        for name in waiting:
            self.__dict__.pop(name, None)
        self._unsolved = waiting
        if grown:  # as at first: parameters that do not fit the classes are refused at once
            _ = self.components_

    def _refuse_another_window(self) -> None:
        size = None if self._window is None else self._window.size
        if size != self.window:
            raise ValueError(
                f"window={self.window}, but this model was fitted with window={size}: what is "
                "forgotten cannot come back. Set it back, or call fit"
            )


def merge(models: Sequence[MomentEstimator]) -> MomentEstimator:
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
        _refuse_unlike(first, model, i)
    labels = np.unique(np.concatenate([model.classes_ for model in given]))
    first._refuse_selection()
    first._refuse_moments_alone(labels)
    merged = clone(first)
    for attribute in ("n_features_in_", "feature_names_in_"):
        if hasattr(first, attribute):
            setattr(merged, attribute, getattr(first, attribute))
    merged.selection_, merged._window = {}, None
    merged._publish(copy(merged._added([model.moments_ for model in given])), None)
    return merged


def _refuse_unlike(first: Any, model: Any, i: int) -> None:
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
