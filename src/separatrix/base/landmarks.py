"""Kernel models that go on learning: with landmarks that stay, moments in their space add."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from separatrix.base.batches import Memory, announce_classes, check_batch
from separatrix.base.feature_space import KernelMap, landmark_map, place_landmarks
from separatrix.base.rows import unchanged_on_failure
from separatrix.base.solution import lock_of
from separatrix.kernels import RandomState, SettledKernel, is_precomputed
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows, check_finite, is_dask
from separatrix.moments.remainder import Remainder, subtract_part
from separatrix.selection import draw_rows

# The map -------------------------------------------------------------------------------------


def count_landmarks(model: Any, default: int = 0) -> int:
    """How many landmarks a model asks for, or brings."""
    wanted: Any = model.n_landmarks
    if wanted is None:
        return default
    return int(wanted if np.ndim(wanted) == 0 and not sp.issparse(wanted) else wanted.shape[0])


def brings_landmarks(model: Any) -> bool:
    """Whether the parameter `n_landmarks` holds the landmarks themselves."""
    return sp.issparse(model.n_landmarks) or np.ndim(model.n_landmarks) == 2


def takes_landmarks(model: Any, n_samples: float) -> bool:
    """Whether landmarks are given or fewer than rows, so that the map is not exact."""
    if brings_landmarks(model):
        return True
    return model.n_landmarks is not None and model.n_landmarks < n_samples


def check_landmarks(model: Any, n_features: int) -> Any:
    """The landmarks that a model brings, checked; None where it has a number of them."""
    if not brings_landmarks(model):
        return None
    landmarks: Any = check_array(model.n_landmarks, accept_sparse="csr", dtype=np.float64)
    if is_precomputed(model.kernel):
        raise ValueError(
            "n_landmarks holds rows of features, which a precomputed kernel does not have: give "
            "their number"
        )
    if landmarks.shape[1] != n_features:
        raise ValueError(
            f"n_landmarks holds rows of {landmarks.shape[1]} features, but X has {n_features}: "
            "take landmarks_ of a model of the same features"
        )
    return landmarks


def draw_landmarks(X: Any, kernel: SettledKernel, n: int, random_state: RandomState) -> Any:
    """Landmarks among these rows, in the coordinates of the features."""
    placed = place_landmarks(X, kernel, draw_rows(X.shape[0], n, random_state))
    return placed if kernel.origin is None else placed + kernel.origin


def map_of_landmarks(kernel: SettledKernel, landmarks: Any) -> KernelMap:
    """The map to the space of landmarks: a function of them and the width alone.

    Their own mean is the origin, so that models that share landmarks share every digit.
    """
    if kernel.origin is not None:
        kernel = kernel._replace(origin=landmarks.mean(axis=0))
    return landmark_map(kernel, kernel.rows(landmarks))


# Rows that come and go -------------------------------------------------------------------------


def adds_up(model: Any) -> bool:
    """Whether moments in the space of landmarks are all that a model needs of its rows."""
    return model.n_landmarks is not None and not is_precomputed(model.kernel)


def add_rows(
    self: Any,
    X: ArrayLike,
    y: ArrayLike,
    classes: ArrayLike | str | None = None,
    sample_weight: ArrayLike | None = None,
) -> Any:
    """Add rows to a model with landmarks.

    The landmarks, and the width of the kernel, are those of the first batch unless they are given;
    they stay. After any sequence of batches the model is the one that `fit` gives on all rows
    together with ``kernel=kernel_`` and ``n_landmarks=landmarks_``. The subspace is computed when
    it is next asked for. A batch that raises an error leaves the model as it was.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        New rows; in the first batch more than `n_landmarks`.
    y : array (n_samples,)
        Their labels.
    classes : array or "open", optional
        All labels that may come. The first call takes those of `y` when it is absent; later
        calls may announce more, and labels never announced are an error. With "open", said once,
        a label that is new becomes a class of the model, and a warning names it.
    sample_weight : array (n_samples,), optional
        Non-negative weights.

    Returns
    -------
    self
        The updated estimator.
    """
    if is_dask(X):
        raise TypeError(
            "partial_fit takes rows in memory: fit another model with the same landmarks to the "
            "Dask collection and merge the two (separatrix.merge)"
        )
    with lock_of(self), unchanged_on_failure(self):
        first = not self._is_fitted()
        rows = _check_batch(self, X, y, announce_classes(self, y, classes), sample_weight)
        if first:
            _place_by_first(self, rows)
        grown = first or len(rows.classes) > len(self.classes_)
        batch = self._summarize(in_landmarks(self._landmarks, rows))
        moments = batch if first else self._add_summaries([self.moments_, batch])
        self._keep(Memory(moments), moments.classes)
        if grown:  # parameters that do not fit the classes are an error at once
            self._solve_now()
    return self


def take_rows(
    self: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> Any:
    """Take rows out of a model with landmarks: it is then the model of all others.

    The landmarks stay, those that were placed by these rows included.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        Rows that the model has learned.
    y : array (n_samples,)
        Their labels.
    sample_weight : array (n_samples,), optional
        The weights with which they were learned.

    Returns
    -------
    self
        The updated estimator.
    """
    with lock_of(self), unchanged_on_failure(self):
        moments = subtract_rows(self, X, y, sample_weight).moments
        self._keep(Memory(moments), moments.classes)
        self._solve_now()
    return self


def subtract_rows(
    model: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
) -> Remainder:
    """The moments without some rows, and a bound on their error; the model is not changed."""
    if not model._is_fitted():
        raise ValueError("this model has learned nothing yet: there is nothing to forget")
    rows = _check_batch(model, X, y, model.classes_, sample_weight)
    gone = model._summarize(in_landmarks(model._landmarks, rows))
    return subtract_part(model.moments_, gone.with_class_scatters(model.moments_.per_class))


def in_landmarks(to_features: KernelMap, rows: LabelledRows) -> LabelledRows:
    """Rows in the space of landmarks, in double precision: they are squared there."""
    check_finite(rows.X, rows.feature_names)
    return rows._replace(X=to_features.project(rows.X, dtype=np.float64), feature_names=None)


def _check_batch(
    model: Any, X: ArrayLike, y: ArrayLike, known: Array | None, sample_weight: Any
) -> LabelledRows:
    """The result of `check_batch`, where rows can be added."""
    if model._is_fitted() and model._landmarks is None:
        raise ValueError(
            "this model was fitted to all pairs of rows, not by landmarks, which were as many as "
            "rows: nothing can be added. Set n_landmarks below the number of rows and call fit"
        )
    return check_batch(model, X, y, known, sample_weight)


def _place_by_first(model: Any, rows: LabelledRows) -> None:
    """Settle landmarks and width by the first batch."""
    if not takes_landmarks(model, rows.X.shape[0]):
        raise ValueError(
            f"the first batch has {rows.X.shape[0]} rows, and n_landmarks={model.n_landmarks}: "
            "landmarks are placed by more rows than there are landmarks. Begin with a larger "
            "batch, or give the rows themselves as n_landmarks"
        )
    attributes = model._to_landmarks(rows.X)
    model.__dict__ = {**vars(model), **attributes}


def check_same_landmarks(first: Any, model: Any, i: int) -> None:
    """Raise when the moments of two models are in the spaces of different landmarks."""
    own, other = first._landmarks, model._landmarks
    remedy = "fit every model with kernel=models[0].kernel_ and n_landmarks=models[0].landmarks_"
    if not own.kernel.same_as(other.kernel):
        raise ValueError(
            f"model {i} has kernel_={model.kernel_}, model 0 has kernel_={first.kernel_}: moments "
            f"add only for one kernel; {remedy}"
        )
    if not _same_points(own, other):
        raise ValueError(
            f"model {i} has other landmarks than model 0: moments add only in the space of the "
            f"same landmarks; {remedy}"
        )


def _same_points(a: KernelMap, b: KernelMap) -> bool:
    pairs: list[tuple[Any, Any]] = [(a.points, b.points), (a.basis, b.basis)]
    dense = [[M.toarray() if sp.issparse(M) else M for M in pair] for pair in pairs]
    return all(np.array_equal(M, N) for M, N in dense)


def summarize_in_landmarks(to_features: KernelMap, per_class: Any, block: Any) -> ClassMoments:
    """Moments of a block of rows in the space of landmarks."""
    return ClassMoments.from_rows(
        in_landmarks(to_features, block), per_class=per_class(block.classes)
    )
