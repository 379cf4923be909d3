"""Laws that models of moments keep, to be checked for estimators of one's own.

`check_mergeable` is to models that merge, forget and stream what scikit-learn's
``check_estimator`` is to all: a test to be called in a test.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from separatrix.base.merging import merge
from separatrix.base.prepared import forget
from separatrix.linalg import Array

MAX_DIFFERENCE = 1e-9
"""Largest difference of decisions, as a share of the largest decision."""

Law = Callable[[Any, Array, Array], Any]
"""A model from an estimator, rows and labels: it must equal the fit to all of them."""


def _merge_parts(estimator: Any, X: Array, y: Array) -> Any:
    """Models of three parts, merged."""
    return merge([clone(estimator).fit(X[i::3], y[i::3]) for i in range(3)])


def _leave_site(estimator: Any, X: Array, y: Array) -> Any:
    """A model of all rows and others, without the others."""
    others = X[: len(X) // 4] + 1.0, y[: len(X) // 4]
    whole = clone(estimator).fit(np.vstack([X, others[0]]), np.concatenate([y, others[1]]))
    return merge([whole], without=[clone(estimator).fit(*others)])


def _forget_rows(estimator: Any, X: Array, y: Array) -> Any:
    """A model of all rows and others that forgets the others."""
    others = X[:10] + 1.0, y[:10]
    whole = clone(estimator).fit(np.vstack([X, others[0]]), np.concatenate([y, others[1]]))
    return forget(whole, *others)


def _stream_batches(estimator: Any, X: Array, y: Array) -> Any:
    """A model that learned batch after batch."""
    model = clone(estimator)
    for start in range(0, len(X), 23):
        part = slice(start, start + 23)
        model.partial_fit(X[part], y[part], classes=np.unique(y))
    return model


def _open_classes(estimator: Any, X: Array, y: Array) -> Any:
    """A model that learned the last class when it came."""
    last = y == y.max()
    model = clone(estimator).fit(X[~last], y[~last])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="new class")
        return model.partial_fit(X[last], y[last], classes="open")


def _fit_blocks(estimator: Any, X: Array, y: Array) -> Any:
    """A model of a Dask array."""
    import dask.array as da

    rows, labels = da.from_array(X, chunks=(37, -1)), da.from_array(y, chunks=37)
    return clone(estimator).fit(rows, labels)


LAWS: dict[str, Law] = {
    "merging parts is fitting all rows": _merge_parts,
    "a site that leaves was never there": _leave_site,
    "rows that are forgotten were never seen": _forget_rows,
    "a stream of batches is a batch": _stream_batches,
    "a class that comes later was always there": _open_classes,
    "a Dask collection is an array": _fit_blocks,
}
"""The laws by their names in messages."""

OF_PIPELINES = tuple(LAWS)[:3]
"""Laws that pipelines keep: they have no partial_fit, and their scalers take no blocks."""


def check_mergeable(estimator: Any, *, random_state: int = 0) -> list[str]:
    """Check that a model of moments merges, forgets and streams exactly.

    Each law gives a model that must decide on rows as the fit to all rows does, to nine digits:
    merge is union, forget is never seen, a stream is a batch, Dask is memory, a new class is as
    if it had always been there.

    Parameters
    ----------
    estimator : classifier or transformer
        Not fitted. A pipeline of a scaler and such an estimator as well.
    random_state : int
        Seed of the rows.

    Returns
    -------
    list of str
        The laws that were checked. Dask is left out where it is not installed.

    Raises
    ------
    AssertionError
        Where a law does not hold, or the estimator lacks a method that it needs; it names the law.

    Examples
    --------
    >>> from separatrix import FisherDiscriminant
    >>> from separatrix.testing import check_mergeable
    >>> check_mergeable(FisherDiscriminant(shrinkage="moments"))[0]
    'merging parts is fitting all rows'
    >>> from separatrix import LDG
    >>> check_mergeable(LDG(gamma=0.5))
    Traceback (most recent call last):
        ...
    AssertionError: LDG(gamma=0.5), merging parts is fitting all rows: TypeError: model 0: LDG \
cannot be merged: it learns from the rows themselves, not from class moments, which add
    """
    X, y = _draw_rows(random_state)
    expected = _decide(clone(estimator).fit(X, y), X)
    names = [name for name in LAWS if not isinstance(estimator, Pipeline) or name in OF_PIPELINES]
    checked = []
    for name in names:
        try:
            found = _decide(LAWS[name](estimator, X, y), X)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] == "dask":
                continue
            raise
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise AssertionError(f"{estimator}, {name}: {said}") from error
        _check_close(found, expected, f"{estimator}, {name}")
        checked.append(name)
    return checked


def _draw_rows(random_state: int) -> tuple[Array, Array]:
    """Gaussian rows of three classes, in features of different units, in random order."""
    rng = np.random.default_rng(random_state)
    y = rng.permutation(np.repeat([0, 1, 2], [60, 50, 40]))
    X = rng.standard_normal((150, 5)) + 2 * rng.standard_normal((3, 5))[y]
    return X * [1.0, 10.0, 0.1, 1.0, 3.0] + [5.0, 0.0, 1.0, -3.0, 0.0], y


def _decide(model: Any, X: Array) -> Array:
    judge = getattr(model, "decision_function", None) or model.transform
    return np.asarray(judge(X))


def _check_close(found: Array, expected: Array, law: str) -> None:
    if found.shape != expected.shape:
        raise AssertionError(f"{law}: decisions of shape {found.shape}, not {expected.shape}")
    difference = float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))
    if not difference <= MAX_DIFFERENCE:
        raise AssertionError(f"{law}: decisions differ by {difference:.1e} of the largest")
