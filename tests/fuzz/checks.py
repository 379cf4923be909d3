"""The promise to hold for any data: an error that says what is wrong, or a model that is whole."""

from __future__ import annotations

import signal
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_classifier

import separatrix
from tests.fuzz.cases import Case

SECONDS = 30
"""A fit of so few rows that takes longer is a finding."""

NONE_OF_THESE = ("none", -1)
"""Answers for rows that are rejected, besides NaN."""

OURS = str(Path(separatrix.__file__).parent)


class FindingError(Exception):
    """A promise that was broken: a short name of the place, and the details."""

    def __init__(self, place: str, details: str = "") -> None:
        super().__init__(place)
        self.place = place
        self.details = details


def check_case(case: Case, random: Random) -> bool:
    """Raise a `FindingError`, or say whether the data were accepted."""
    model = clone(case.estimator)
    with observed("fit"):
        try:
            model.fit(case.X, case.y, **case.fit_arguments())
        except (ValueError, TypeError) as error:
            if is_deliberate(error):
                return False
            raise
    check_outputs(model, case)
    check_renamed(model, case)
    check_permuted(model, case, random)
    if random.random() < 0.3:
        check_batches(case)
    return True


# What may be said ----------------------------------------------------------------------------


@contextmanager
def observed(step: str) -> Iterator[None]:
    """Turn an error, a numerical warning or a long wait into a `FindingError`."""
    with warnings.catch_warnings(record=True) as caught, time_limit(SECONDS):
        warnings.simplefilter("always")
        try:
            yield
        except FindingError:
            raise
        except Exception as error:
            raise FindingError(f"{step}: {place_of(error)}", traceback.format_exc()) from error
    for warning in caught:
        where = f"{Path(warning.filename).name}:{warning.lineno}"
        if issubclass(warning.category, RuntimeWarning):
            raise FindingError(f"{step}: {warning.message} at {where}")
        if str(warning.filename).startswith(OURS):
            raise FindingError(f"{step}: a warning names {where}: {warning.message}")


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeoutError(f"not done after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def is_deliberate(error: Exception) -> bool:
    """Whether an error was raised by a check of ours or scikit-learn's, with words of its own."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    checks = ("sklearn/utils/validation.py", "sklearn/utils/multiclass.py")
    by_a_check = last.filename.startswith(OURS) or last.filename.endswith(checks)
    return by_a_check and not isinstance(error, np.linalg.LinAlgError) and len(str(error)) > 20


def place_of(error: Exception) -> str:
    """Kind of error, its words, and the last of our lines."""
    ours = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(OURS)]
    where = f"{Path(ours[-1].filename).name} {ours[-1].name}" if ours else "?"
    return f"{type(error).__name__}({str(error)[:60]!r}) in {where}"


# What must hold ------------------------------------------------------------------------------


def check_outputs(model: Any, case: Case) -> None:
    n = case.X.shape[0]
    if hasattr(model, "transform"):
        with observed("transform"):
            Z = model.transform(case.X)
        require(np.isfinite(Z).all(), "transform is not finite", Z)
        require(len(Z) == n, "transform has another number of rows")
    if not is_classifier(model):
        return
    with observed("predict"):
        try:
            labels = model.predict(case.X)
        except ValueError as error:
            if is_deliberate(error) and hasattr(model, "calibrate"):
                return  # rows that no distribution follows from may still be calibrated
            raise
    known = {*case.y.tolist(), *NONE_OF_THESE} if getattr(model, "level", 0) else set(case.y)
    unknown = [label for label in labels.tolist() if label == label and label not in known]
    require(not unknown, "predict gives unknown labels", labels)
    if hasattr(model, "decision_function"):
        with observed("decision_function"):
            scores = model.decision_function(case.X)
        # a class without prior has the log-posterior of minus infinity
        excluded = 0.0 in list(getattr(model, "priors_", [])) or case.weights is not None
        excluded |= getattr(model, "window", None) is not None
        bad = np.isnan(scores) | (np.isposinf(scores) if excluded else np.isinf(scores))
        require(
            not ((bad.any() and scores.ndim > 1) or np.isnan(scores).any()),
            "decision_function is not finite",
            scores,
        )
    if hasattr(model, "predict_proba"):
        with observed("predict_proba"):
            proba = model.predict_proba(case.X)
        require(np.isfinite(proba).all(), "predict_proba is not finite", proba)
        require(np.allclose(proba.sum(axis=1), 1), "predict_proba does not sum to 1", proba)


def check_renamed(model: Any, case: Case) -> None:
    """Labels with other names in the same order change nothing."""
    known, codes = np.unique(case.y, return_inverse=True)
    names = np.array([f"class {c}" for c in range(len(known))])[codes]
    with observed("renamed fit"):
        renamed = clone(case.estimator).fit(case.X, names, **case.fit_arguments())
    same(outputs(model, case.X), outputs(renamed, case.X), "other names, other numbers")


def check_permuted(model: Any, case: Case, random: Random) -> None:
    """Rows in another order have an answer, too."""
    order = np.array(random.sample(range(len(case.y)), len(case.y)))
    X = sp.csr_array(case.X)[order] if sp.issparse(case.X) else case.X[order]
    weights = None if case.weights is None else case.weights[order]
    again = clone(case.estimator)
    with observed("permuted fit"):
        try:
            again.fit(X, case.y[order], **case._replace(weights=weights).fit_arguments())
        except (ValueError, TypeError) as error:
            if is_deliberate(error):  # a window has other rows, a sum another rounding
                return
            raise
    check_outputs(again, case)


def check_batches(case: Case) -> None:
    """The same rows in two batches have an answer or an error that says why not."""
    if not hasattr(case.estimator, "partial_fit") or case.weights is not None:
        return
    model, half = clone(case.estimator), len(case.y) // 2
    X = sp.csr_array(case.X) if sp.issparse(case.X) else case.X
    with observed("partial_fit"):
        try:
            model.partial_fit(X[:half], case.y[:half], classes=np.unique(case.y))
            model.partial_fit(X[half:], case.y[half:])
        except (ValueError, TypeError) as error:
            if is_deliberate(error):
                return
            raise
    check_outputs(model, case)


def outputs(model: Any, X: Any) -> list[np.ndarray]:
    with observed("outputs"):
        methods = ("transform", "predict_proba")
        return [getattr(model, name)(X) for name in methods if hasattr(model, name)]


def same(some: list[np.ndarray], others: list[np.ndarray], place: str) -> None:
    for a, b in zip(some, others, strict=True):
        try:
            assert_array_equal(a, b)
        except AssertionError as error:
            raise FindingError(place, str(error)) from error


def require(holds: Any, place: str, value: Any = None) -> None:
    if not holds:
        raise FindingError(place, "" if value is None else np.array2string(np.asarray(value)))
