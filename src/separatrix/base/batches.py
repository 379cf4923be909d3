"""Models that live: they learn in batches, take new classes, forget, and know what is new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial, reduce
from operator import add
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from separatrix._warnings import warn_caller
from separatrix.base.estimator import SubspaceEstimator
from separatrix.base.parameters import check_parameters
from separatrix.base.rows import check_labelled_rows, check_new_rows, unchanged_on_failure
from separatrix.base.solution import Solution, lock_of
from separatrix.linalg import Array, threads_for
from separatrix.moments.class_moments import MIN_COUNT, ClassMoments
from separatrix.moments.labelled import (
    LabelledRows,
    check_finite,
    check_labels_of_one_kind,
    check_same_kind,
    is_dask,
)
from separatrix.moments.novelty import NoveltyScores, conformal_pvalues
from separatrix.moments.remainder import Remainder, subtract_part
from separatrix.moments.window import SlidingWindow


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
    """Base of the methods that need nothing but moments: they learn in batches and merge."""

    _accepts_blocks = True
    _merges = True
    _shared_when_merged: ClassVar[tuple[str, ...]] = ("n_features_in_", "feature_names_in_")
    _may_differ_when_merged: ClassVar[tuple[str, ...]] = ()
    keep_moments: bool | str = True
    window: int | None = None
    decay: float | None = None
    _rule: Any
    moments_: Any
    _window: Any
    _takes_new_classes: Any
    noise_: Any

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | str | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows to the model.

        After any sequence of batches the model is the one that `fit` gives on all rows together,
        in their order. The subspace is computed when it is next asked for, so that batches cost
        only their statistics. A batch that raises an error leaves the model as it was.
        While only one class has been seen, that class is predicted and `transform` returns no
        columns.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            New rows, one or many.
        y : array (n_samples,)
            Their labels.
        classes : array or "open", optional
            All labels that may come. The first call takes those of `y` when it is absent; later
            calls may announce more, and labels never announced are an error. With "open", said
            once, a label that is new becomes a class of the model, and a warning names it.
        sample_weight : array (n_samples,), optional
            Non-negative weights.

        Returns
        -------
        self
            The updated estimator.

        Notes
        -----
        Threads may call it at the same time: batches are added one after the other, in any order.
        """
        if is_dask(X):
            raise TypeError(
                "partial_fit takes rows in memory: fit another model to the Dask collection and "
                "merge the two (separatrix.merge)"
            )
        with lock_of(self), unchanged_on_failure(self):
            rows = self._validate_batch(X, y, announce_classes(self, y, classes), sample_weight)
            grown = not self._is_fitted() or len(rows.classes) > len(self.classes_)
            n_rows, n_features = rows.X.shape
            with threads_for(n_rows * n_features**2):
                memory = self._remember(self._memory(), self._weigh_by_age(rows))
            self._keep(memory, rows.classes)
            if grown:  # parameters that do not fit the classes are an error at once
                self._solve_now()
        return self

    def forget(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Take rows out of the model: it becomes the one that never saw them.

        The moments of the rows are subtracted. A class of which no row is left disappears. Rows
        that were not part of the model are an error where moments can tell, that is where a class
        has fewer rows, or where the remaining scatter would be negative in some direction;
        rows like those that were learned cannot be distinguished from them. An error leaves the
        model as it was.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            The rows to forget, as they were learned.
        y : array (n_samples,)
            Their labels.
        sample_weight : array (n_samples,), optional
            The weights that they have now. With `decay` they must be given: a row that is a rows
            old weighs ``decay ** a``.

        Returns
        -------
        self
            The updated estimator.

        Notes
        -----
        Subtracting cancels digits: `separatrix.moments.remainder.subtract_part` bounds the error.
        """
        with lock_of(self), unchanged_on_failure(self):
            moments = self.moments_without(X, y, sample_weight).moments
            self._keep(Memory(moments), moments.classes)
            self._solve_now()
        return self

    def moments_without(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Remainder:
        """The moments that `forget` leaves, and a bound on their error; nothing is changed."""
        self._check_forgets(sample_weight)
        rest = subtract_part(self.moments_, self.summarize_known(X, y, sample_weight))
        classes = rest.moments.classes
        if self._needs_class_scatters(classes) and not rest.moments.per_class:
            raise ValueError(
                f"{len(classes)} classes would be left, and {type(self).__name__} needs the "
                f"scatter of each, but of {len(self.classes_)} classes it kept only the sum. Fit "
                'it with keep_moments="by class" to forget whole classes'
            )
        return rest._replace(moments=self._condense(classes, rest.moments))

    def summarize_known(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> ClassMoments:
        """Moments of rows of the classes of the model; nothing is changed."""
        check_is_fitted(self)
        rows = self._validate_batch(X, y, self.classes_, sample_weight)
        return self._summarize(rows)

    # Novelty of rows, and the meaning of directions --------------------------------------------

    def novelty(self, X: ArrayLike, *, relative: bool = False) -> Array:
        """Squared Mahalanobis distance to the nearest class, in the pooled metric.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Rows to judge.
        relative : bool
            Subtract the squared distance to the mean of all rows in the metric of all rows
            (relative Mahalanobis distance). Directions in which classes do not differ then cancel.

        Returns
        -------
        array (n_samples,)

        Notes
        -----
        All features enter, whatever the subspace of the model. With d features, n rows and ν
        = n - C degrees of freedom the metric is Sw/ν while rows suffice; otherwise it is shrunk
        by a rule that needs moments only, and directions in which no training row varies
        have a small variance that the rule gives: `separatrix.moments.novelty.PooledMetric`.
        """
        scores = NoveltyScores.from_moments(self._moments_to_read(), relative=relative)
        return scores.distances(self._check_rows(X))

    def novelty_pvalue(
        self, X: ArrayLike, *, calibration: ArrayLike | None = None, relative: bool = False
    ) -> Array:
        """The probability that a row of the known classes is as novel as each row, or more.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Rows to judge.
        calibration : array (n_calibration, n_features), optional
            Rows of the known classes that were not learned. The p-value is then the share of them
            that are as novel or more (the row itself counts as one of them), valid for
            any distribution. Without them it is that of Hotelling's F distribution, which is exact
            for Gaussian classes of one covariance and needs more rows than features.
        relative : bool
            As for `novelty`; needs `calibration`.

        Returns
        -------
        array (n_samples,)
            Uniform on [0, 1] or larger for rows of the known classes.
        """
        moments = self._moments_to_read()
        scores = NoveltyScores.from_moments(moments, relative=relative)
        if calibration is None:
            scores.check_distribution(moments)
            return scores.pvalues(self._check_rows(X))
        known = scores.distances(self._check_rows(calibration))
        return conformal_pvalues(scores.distances(self._check_rows(X)), known)

    def _check_rows(self, X: Any) -> Any:
        rows = check_new_rows(self, X, accept_sparse=self._accepts_sparse)
        check_finite(rows, getattr(self, "feature_names_in_", None))
        return rows

    @property
    def patterns_(self) -> Array:
        """(n_components, n_features): what changes in the rows as each score rises by one.

        The least-squares fit of the centred rows by their scores, ``(WᵀStW)⁻¹ WᵀSt`` with W the
        components as columns. Components are filters: they also cancel disturbances; patterns
        show the signal.
        """
        W = self.components_.T
        covariances = self._moments_to_read().total_apply(W)
        return np.linalg.solve(W.T @ covariances, covariances.T)

    @property
    def structure_correlations_(self) -> Array:
        """(n_components, n_features): the correlation of each feature with each score."""
        W, moments = self.components_.T, self._moments_to_read()
        covariances = moments.total_apply(W)
        scores = np.sqrt(np.sum(W * covariances, axis=0))
        features = np.sqrt(moments.total_diagonal().clip(0.0))
        size = np.outer(scores, np.where(features > 0, features, np.inf))
        return covariances.T / size

    def inverse_transform(self, Z: ArrayLike) -> Array:
        """The rows that scores make most likely: ``mean_ + Z @ patterns_``.

        Parameters
        ----------
        Z : array (n_samples, n_components)

        Returns
        -------
        array (n_samples, n_features)
        """
        return self.mean_ + np.asarray(Z) @ self.patterns_

    @property
    def stores_rows(self) -> bool:
        """Whether the fitted model holds training rows, or such as tell them.

        A window does, and so do moments of fewer rows than features, less the class means.
        """
        moments = self.moments_ if self._is_fitted() else None
        return self.window is not None or (moments is not None and moments.is_thin)

    def _moments_to_read(self) -> ClassMoments:
        check_is_fitted(self)
        if self.moments_ is None:
            raise ValueError(
                f"this {type(self).__name__} was fitted with keep_moments=False: fit it with "
                "keep_moments=True"
            )
        return self.moments_

    def _validate(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **splitting: Any,
    ) -> LabelledRows:
        return self._weigh_by_age(super()._validate(X, y, sample_weight, **splitting))

    # Rows in the order of time ----------------------------------------------------------------

    def _validate_batch(
        self,
        X: ArrayLike,
        y: ArrayLike,
        known: Array | None,
        sample_weight: ArrayLike | None,
    ) -> LabelledRows:
        """The result of `check_batch`, where rows can be added."""
        if not self.keep_moments:
            raise ValueError("partial_fit adds to moments_: it needs keep_moments=True")
        if self._is_fitted():
            if vars(self).get("moments_", self) is None:
                raise ValueError(
                    "this model was fitted with keep_moments=False: nothing to add to"
                )
            self._check_same_window()
        return check_batch(self, X, y, known, sample_weight)

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
        summarize = partial(self._summarize_present, rows.classes)
        condense = partial(self._condense, rows.classes)
        if self.window is not None:
            window = SlidingWindow(self.window)
            if memory is not None and memory.window is not None:
                window = memory.window.copy()
            for part in self._portions(rows):
                window.push(part.present(), summarize, condense)
            return Memory(None, window)
        moments = None if memory is None else memory.moments
        if moments is not None and self.decay is not None:
            faded = float(self.decay) ** len(rows.codes)
            moments = moments.decay(max(faded, np.finfo(np.float64).tiny))
        for part in self._portions(rows):
            batch = summarize(part)
            moments = condense(batch if moments is None else condense(moments) + batch)
        return Memory(None if moments is None else moments.with_classes(rows.classes))

    def _moments_of(self, memory: Memory, classes: Array) -> ClassMoments:
        """The moments of all rows that are remembered."""
        if memory.window is None:
            return memory.moments
        summarize = partial(self._summarize_present, classes)
        condense = partial(self._condense, classes)
        return memory.window.total(summarize, condense).with_classes(classes)

    def _summarize_present(self, classes: Array, rows: LabelledRows) -> ClassMoments:
        """Moments of the classes that are in a batch: the others take no time, however many."""
        per_class = self._keeps_class_scatters(classes)
        return ClassMoments.from_rows(rows.present(), per_class=per_class)

    def _summarize(self, rows: LabelledRows) -> Any:
        return ClassMoments.from_rows(rows, per_class=self._keeps_class_scatters(rows.classes))

    def _keeps_class_scatters(self, classes: Array) -> bool:
        """Whether the scatter of each class is kept: it is needed, or asked for."""
        return self.keep_moments == "by class" or self._needs_class_scatters(classes)

    def _condense(self, classes: Array, moments: ClassMoments) -> ClassMoments:
        """Moments in the form in which they are kept.

        A window of many rows is a matrix from the first of them on: rows that are held would be
        multiplied again with every step.
        """
        moments = moments.with_class_scatters(self._keeps_class_scatters(classes))
        many = self.window is not None and self.window >= moments.n_features
        return moments.with_matrices() if many else moments

    def _portions(self, rows: LabelledRows) -> Iterable[LabelledRows]:
        """Rows in the portions that are summarized at once."""
        yield rows

    def _add_summaries(self, parts: Sequence[ClassMoments]) -> ClassMoments:
        labels = reduce(np.union1d, [part.classes for part in parts])
        per_class = self._keeps_class_scatters(labels)
        moments = reduce(add, [part.with_class_scatters(per_class) for part in parts])
        return self._condense(labels, moments)

    # Statistics that are kept, results that wait ----------------------------------------------

    def _memory(self) -> Memory | None:
        window = vars(self).get("_window")
        return Memory(vars(self).get("moments_"), window) if self._is_fitted() else None

    def _keep(self, memory: Memory, classes: Array) -> None:
        kept = {} if memory.window is not None else {"moments_": memory.moments}
        self._put_off(classes, _window=memory.window, **kept)

    def _store(self, moments: ClassMoments, solution: Solution, rows: Any = None) -> None:
        kept: dict[str, Any] = {"moments_": moments if self.keep_moments else None}
        if rows is not None:  # a new fit; without rows the window of before goes on
            # a merged model, or one that learned in batches, has these besides its results
            for name in ("noise_", "_takes_new_classes"):
                self.__dict__.pop(name, None)
            slides = self.window is not None and self.keep_moments
            kept["_window"] = self._open_window(rows, moments) if slides else None
        super()._store(moments, solution.with_extras(**kept), rows)

    def _open_window(self, rows: LabelledRows, moments: ClassMoments) -> SlidingWindow:
        """A window on these rows, whose moments are known."""
        window = SlidingWindow(int(self.window or 0))
        window.push(rows, lambda _: moments, partial(self._condense, rows.classes))
        return window

    def _solve_now(self) -> None:
        check_parameters(self, self._allowed_parameters)
        self._check_moments_suffice(self.classes_)
        classes = self.classes_
        with threads_for(self.n_features_in_**3):
            moments = self._moments_of(Memory(vars(self).get("moments_"), self._window), classes)
            solution = self._find(moments, None, {})
        self._store(moments, solution)

    # Checks -----------------------------------------------------------------------------------

    def _check_blocks_suffice(self) -> None:
        super()._check_blocks_suffice()
        for name in ("window", "decay"):
            if getattr(self, name) is not None:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} forgets rows in the order of time, and the "
                    f"blocks of a Dask collection come in any order: set {name}=None, or learn "
                    "one block after the other with partial_fit"
                )

    def _check_forgets(self, sample_weight: ArrayLike | None) -> None:
        """Raise where rows cannot be subtracted."""
        check_is_fitted(self)
        if getattr(self, "noise_", None) is not None:
            raise ValueError(
                "noise was added to the moments of this model: rows cannot be subtracted from "
                "it. Forget them at the site, and merge again"
            )
        if self.window is not None:
            raise ValueError(
                f"window={self.window} keeps the last rows by their order: fit the model again "
                "without the rows that it is to forget"
            )
        self._moments_to_read()
        if self.decay is not None and sample_weight is None:
            raise ValueError(
                f"decay={self.decay} has changed the weights of rows: give those of now as "
                "sample_weight, decay ** a for a row after which a rows came"
            )

    def _check_same_space(self, model: Any, i: int) -> None:
        """Raise when moments of another model cannot be added to those of this one."""
        if model.moments_ is None:
            raise ValueError(
                f"model {i} has no moments: fit it with keep_moments=True to merge it"
            )

    def _check_same_window(self) -> None:
        size = None if self._window is None else self._window.size
        if size != self.window:
            raise ValueError(
                f"window={self.window}, but this model was fitted with window={size}: rows that "
                "are forgotten cannot come back. Set it back, or call fit"
            )


def check_batch(
    model: Any, X: ArrayLike, y: ArrayLike, known: Array | None, sample_weight: ArrayLike | None
) -> LabelledRows:
    """Checked rows of a batch, coded by all labels that are known, or by their own."""
    check_parameters(model, model._allowed_parameters)
    rows = check_labelled_rows(
        model,
        X,
        y,
        sample_weight,
        classes=known,
        reset=not model._is_fitted(),
        accept_sparse=model._accepts_sparse,
    )
    model._check_moments_suffice(rows.classes)
    return rows


def announce_classes(model: Any, y: ArrayLike, classes: ArrayLike | str | None) -> Array | None:
    """All labels that a batch may have; None where those of `y` are all there are so far.

    With "open" these are the labels of the batch, too; those that are new to a model are named.
    The model remembers that it is open.
    """
    known = model.classes_ if model._is_fitted() else None
    if isinstance(classes, str):
        if classes != "open":
            raise ValueError(f'classes={classes!r} is not valid: it must be an array or "open"')
        model._takes_new_classes = True
    elif classes is not None:
        check_labels_of_one_kind(classes, "classes")
        known = _join_labels(known, np.unique(np.asarray(classes)))
    if not vars(model).get("_takes_new_classes", False):
        return known
    check_labels_of_one_kind(y)
    labels, counts = np.unique(np.asarray(y), return_counts=True)
    if known is not None:
        new = ~np.isin(labels, known)
        joined = _join_labels(known, labels)
        for label, count in zip(labels[new].tolist(), counts[new].tolist(), strict=True):
            warn_caller(describe_new_class(label, count, known))
        return joined
    return labels


def _join_labels(known: Array | None, labels: Array) -> Array:
    if known is None:
        return labels
    check_same_kind(labels, known)
    return np.union1d(known, labels)


def describe_new_class(label: Any, count: int, known: Array) -> str:
    """A sentence on a label that was never seen, and on one that it may be a slip of."""
    n_rows = "1 row" if count == 1 else f"{count} rows"
    text = f"new class {label!r}, {n_rows}"
    if isinstance(label, str):
        for other in known.tolist():
            if other.strip() == label.strip():
                return f"{text}; it differs from {other!r} only in spaces"
            if other.strip().casefold() == label.strip().casefold():
                return f"{text}; it differs from {other!r} only in case"
    return text
