"""Laws that hold for data of any kind, up to ties that no rule can keep.

Rows or features in another order, sparse rows, weights in place of copies and other names of
classes change nothing. What is compared does not depend on signs, on the order of directions or
on a choice among equal ones: distances between projected rows, and decisions class by class.
Left out is what is not determined, and only that:

- decisions on rows that lie on the boundary between two classes: another one is found within
  1e-6 of the row, or two classes have the same score (`find_steady`);
- methods of neighbours where a neighbour and one that is none are as far away (`ties_neighbours`),
  and methods that take a few features where two are multiples of each other (`ties_features`);
- digits that the data do not have: features that are collinear but for less than a millionth, or
  rows that are near each other beside one that is far away (`precision`).
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from separatrix.base.kernel import KernelEstimator
from separatrix.linalg import EPS, squared_distances
from tests.discovery import name_of
from tests.fuzz.checks import FindingError, is_deliberate

NOT_PERMUTED = {"GroupedDiscriminant"}  # groups are made of features
BY_FEATURES = {"SparseLDG"}  # takes a few features
NOT_WEIGHTED = {
    "KernelIPCAC",  # the ridge and the cut are chosen by rows left out, whose copies stay
    "KernelSupportVectorICA",  # few steps of the ICA do not end at the same place
    "SupportVectorICA",
}
BY_NEIGHBOURS = {"LDG", "KernelLDG", "SparseLDG", "TransferLDG", "LocalFisherDiscriminant"}

TOLERANCE = 1e-5
"""Of distances beside the largest, and of probabilities."""

HYPERPLANE_TOLERANCE = 1e-3
"""Of methods with hyperplanes."""

STEP = 1e-6
"""How far from a boundary a row has a decision, beside the spread of its feature."""


def check_laws(estimator: Any, X: np.ndarray, y: np.ndarray, random: Random) -> int:
    """Raise a `FindingError`, or say how many laws were tried; labels are codes from 0 on."""
    if not is_determined(estimator, X, y):
        return 0
    model = fitted(estimator, X, y)
    if model is None or not is_well_scaled(model, X):
        return 0
    tolerance = HYPERPLANE_TOLERANCE if hasattr(model, "margins_") else TOLERANCE
    expected, n_tried = answers(model, X, random), 0
    for law, answer in transformed(estimator, X, y, random):
        compare(f"{law} change the answer", expected, answer, tolerance)
        n_tried += 1
    if has_fit_parameter(estimator, "sample_weight") and name_of(estimator) not in NOT_WEIGHTED:
        weights = np.array([random.choice([1, 1, 2, 3]) for _ in y])
        copies = np.repeat(X, weights, axis=0), np.repeat(y, weights)
        weighted = fitted(estimator, X, y, sample_weight=weights.astype(float))
        copied = fitted(estimator, *copies)
        if weighted is not None and copied is not None:
            pair = (answers(m, X, random) for m in (weighted, copied))
            compare("weights are no copies", *pair, tolerance)
            n_tried += 1
    return n_tried


def transformed(
    estimator: Any, X: np.ndarray, y: np.ndarray, random: Random
) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """What changes, and the answers about the same rows afterwards."""
    rows, features = (random.sample(range(n), n) for n in X.shape)
    yield "rows", answers(must_fit(estimator, X[rows], y[rows]), X, random)
    if name_of(estimator) not in NOT_PERMUTED:
        permuted = must_fit(estimator, X[:, features], y)
        yield "features", answers(permuted, X[:, features], random)
    if get_tags(estimator).input_tags.sparse:
        yield "sparse rows", answers(must_fit(estimator, sp.csr_array(X), y), X, random)
    names = np.array(random.sample(range(int(y.max()) + 1), int(y.max()) + 1))
    renamed = answers(must_fit(estimator, X, names[y]), X, random)
    if "decisions" in renamed:
        renamed["decisions"] = renamed["decisions"][:, names]
    yield "names", renamed


def fitted(estimator: Any, X: Any, y: np.ndarray, **arguments: Any) -> Any:
    """A model, or None where the data are refused in words."""
    try:
        return clone(estimator).fit(X, y, **arguments)
    except ValueError as error:
        if is_deliberate(error):
            return None
        raise


def must_fit(estimator: Any, X: Any, y: np.ndarray) -> Any:
    """The same data in another form are not refused."""
    try:
        return clone(estimator).fit(X, y)
    except Exception as error:
        raise FindingError(
            f"accepted in one form only: {type(error).__name__}: {error}"
        ) from error


def answers(model: Any, X: np.ndarray, random: Random) -> dict[str, np.ndarray]:
    """What is compared: distances between projections, a column of decisions for each class."""
    found = {}
    if hasattr(model, "transform"):
        Z = np.asarray(model.transform(X), float)
        found["distances"] = squared_distances(Z, Z)
    if is_classifier(model):
        found["decisions"] = decide(model, X)
        found["steady"] = find_steady(model, X, random)
    return found


def decide(model: Any, X: np.ndarray) -> np.ndarray:
    """Probabilities, or one for the label and zero for others."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    return (model.predict(X)[:, None] == model.classes_).astype(float)


def compare(
    place: str, expected: dict[str, np.ndarray], found: dict[str, np.ndarray], tolerance: float
) -> None:
    a, b = expected.get("distances"), found.get("distances")
    if a is not None and not np.allclose(a, b, rtol=0, atol=tolerance * (1 + np.abs(a).max())):
        raise FindingError(f"{place}: distances", f"differ by {np.abs(a - b).max()}\n{a}\n{b}")
    if "decisions" in expected:
        steady = expected["steady"] & found["steady"]
        a, b = expected["decisions"], found["decisions"]
        if not np.allclose(a[steady], b[steady], rtol=0, atol=tolerance):
            raise FindingError(f"{place}: decisions", f"{a}\n{b}\nsteady: {steady}")


# What is not determined ----------------------------------------------------------------------


def is_determined(estimator: Any, X: np.ndarray, y: np.ndarray) -> bool:
    """Whether the data have one answer, with digits."""
    if precision(X) > TOLERANCE or separates_by_rounding(X, y):
        return False
    if name_of(estimator) in BY_NEIGHBOURS and ties_neighbours(X, y):
        return False
    return not (name_of(estimator) in BY_FEATURES and ties_features(X))


def precision(X: np.ndarray) -> float:
    """Relative precision of what is solved for from squares of rows with units of one.

    Directions along which the rows do not vary at all cost nothing: their rank is known.
    """
    scale = X.std(axis=0)
    s = np.linalg.svd((X - X.mean(axis=0)) / np.where(scale > 0, scale, 1), compute_uv=False)
    digits = max(X.shape) * EPS * np.abs(X).max() / max(scale[scale > 0].min(initial=1), 1e-300)
    s = s[s > 100 * digits * s.max(initial=0)]
    cost = float((s.max() / s.min()) ** 2) if len(s) else 1.0
    return 10 * digits * cost


def separates_by_rounding(X: np.ndarray, y: np.ndarray) -> bool:
    """Whether class means differ by no more than the last digits of values far from zero."""
    means = np.array([X[y == c].mean(axis=0) for c in np.unique(y)])
    scale = X.std(axis=0)
    s = np.linalg.svd((means - means.mean(axis=0)) / np.where(scale > 0, scale, 1))[1]
    rounding = 10 * max(X.shape) * EPS * max(1.0, s.max(initial=0))
    return bool(((s > rounding) & (s < 1e-7)).any())


def is_well_scaled(model: Any, X: np.ndarray) -> bool:
    """Whether kernel values have the digits that are compared."""
    if not isinstance(model, KernelEstimator) or model.kernel_ is None:
        return True
    gamma = getattr(model.kernel_, "gamma", None)
    if gamma is None:
        return True
    spread = squared_distances(X, X.mean(axis=0)[None]).max()
    return bool(gamma * spread * X.shape[1] * EPS < TOLERANCE * 1e-3)


def ties_neighbours(X: np.ndarray, y: np.ndarray) -> bool:
    """Whether two rows that differ are as far from a third, within a class."""
    D = squared_distances(X, X)
    for members in (np.flatnonzero(y == c) for c in np.unique(y)):
        for distances in D[:, members]:
            order = np.argsort(distances)
            near = np.diff(distances[order]) <= 1e-9 * D.max()
            pairs = zip(members[order[:-1]][near], members[order[1:]][near], strict=True)
            if any(D[i, j] > 0 for i, j in pairs):
                return True
    return False


def ties_features(X: np.ndarray) -> bool:
    """Whether two features are multiples of each other: either may be taken."""
    Z = X[:, X.std(axis=0) > 0] - X[:, X.std(axis=0) > 0].mean(axis=0)
    unit = Z / np.linalg.norm(Z, axis=0)
    return bool((np.abs(np.triu(unit.T @ unit, 1)) > 1 - 1e-9).any())


def find_steady(model: Any, X: np.ndarray, random: Random) -> np.ndarray:
    """Rows for which the decision is the same a little further on: they lie on no boundary."""
    steady = np.ones(len(X), bool)
    if not is_classifier(model):
        return steady
    if len(getattr(model, "margins_", [1])) == 0:  # no class is parted from another
        return ~steady
    if hasattr(model, "decision_function"):
        scores = np.sort(np.atleast_2d(model.decision_function(X).T).T, axis=1)
        best = scores[:, -1] if scores.shape[1] > 1 else np.abs(scores[:, 0])
        second = scores[:, -2] if scores.shape[1] > 1 else 0.0
        steady &= best - second > STEP * (1 + np.abs(best))
    here = decide(model, X)
    rng = np.random.default_rng(random.randrange(2**32))
    for _ in range(4):
        moved = X + STEP * X.std(axis=0) * rng.standard_normal(X.shape)
        steady &= np.abs(decide(model, moved) - here).max(axis=1) < 1e-2
    return steady
