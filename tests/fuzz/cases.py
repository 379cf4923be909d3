"""Random labelled data of the kinds that break methods, and random allowed parameters."""

from __future__ import annotations

from functools import partial
from random import Random
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.covariance import OAS, EmpiricalCovariance, LedoitWolf
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from separatrix import IPCAC, LDG, FisherDiscriminant, OnlineIPCAC, QuadraticDiscriminant

NOT_DRAWN = {"verbose", "n_jobs", "random_state"}
SCALES = (1e-160, 1e-100, 1e-6, 1e6, 1e100, 1e160)
OFFSETS = (1e3, -1e6, 1e8)

INNER = (IPCAC(), FisherDiscriminant(), OnlineIPCAC(), QuadraticDiscriminant())
"""Estimators to try inside others."""
OWN_EXAMPLES: dict[str, list[Any]] = {
    "covariance": [LedoitWolf(), OAS(), EmpiricalCovariance()],
    "reducer": [None, FisherDiscriminant(), LDG(gamma=0.5, n_neighbors=2)],
    "rejected": [None, "none", -1],
    "cost": [None, (0.0, 1.0), (1.0, 0.0), (0.1, 5.0)],
    "n_landmarks": [1, 2, 5],
}
"""Values that a declaration has no examples of."""


class Case(NamedTuple):
    """An estimator with parameters, and what it is fitted to."""

    estimator: Any
    X: Any
    y: np.ndarray
    weights: np.ndarray | None

    def fit_arguments(self) -> dict[str, Any]:
        return {} if self.weights is None else {"sample_weight": self.weights}


def draw_case(random: Random, estimator: Any) -> Case:
    """One case; the same for the same state of `random`."""
    y = draw_labels(random)
    X = draw_rows(random, y)
    model = clone(estimator)
    model.set_params(**draw_parameters(random, estimator, len(np.unique(y))))
    weights = None
    if has_fit_parameter(model, "sample_weight") and random.random() < 0.2:
        weights = np.array([random.choice([0.0, 1e-12, 1.0, 1.0, 2.0, 1e6]) for _ in y])
    if get_tags(model).input_tags.sparse and random.random() < 0.2:
        X = random.choice([sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix])(X)
    return Case(model, X, draw_names(random, y), weights)


def draw_labels(random: Random) -> np.ndarray:
    """Codes of two classes at least, often tiny ones."""
    n_classes = random.randint(2, 4)
    n = random.choice([n_classes, n_classes + 1, random.randint(n_classes, 12), 30])
    shares = [random.choice([0.02, 1.0, 1.0]) for _ in range(n_classes)]
    codes = list(range(n_classes)) + random.choices(range(n_classes), shares, k=n - n_classes)
    random.shuffle(codes)
    return np.array(codes)


def draw_names(random: Random, codes: np.ndarray) -> np.ndarray:
    """The same labels as numbers or words."""
    names = random.choice(
        [
            range(4),
            range(4),
            (-7, 0, 3, 1000),
            ("ash", "beech", "cedar", "élm"),
            (0.0, 1.0, 2.0, 3.0),
        ]
    )
    return np.array(list(names))[codes]


def draw_rows(random: Random, y: np.ndarray) -> np.ndarray:
    """Rows with some of: ties, copies, constant or collinear columns, odd units, offsets."""
    n, d = len(y), random.choice([1, 2, 3, 5, 8, random.randint(20, 60)])
    X = _base_rows(random, y, n, d)
    for damage in (_copy_row, _constant_column, _collinear_column, _equal_means, _outlier):
        if random.random() < 0.15:
            X = damage(random, X, y)
    if random.random() < 0.1:
        X = X * 10.0 ** np.array([random.randint(-8, 8) for _ in range(d)])
    if random.random() < 0.15:
        X = X + random.choice(OFFSETS)
    if random.random() < 0.15:
        X = X * random.choice(SCALES)
    dtype = random.choice([np.float64] * 6 + [np.float32, np.int64])
    largest = np.abs(X).max()
    return X if largest > 1e18 or largest < 1e-18 else X.astype(dtype)


def _base_rows(random: Random, y: np.ndarray, n: int, d: int) -> np.ndarray:
    kind = random.choice(["integers", "normal", "normal", "equal", "classes", "line"])
    if kind == "equal":
        return np.full((n, d), random.choice([0.0, 1.0, 0.1]))
    if kind == "classes":  # each class a point
        return _matrix(random, int(y.max()) + 1, d)[y]
    if kind == "line":
        return _matrix(random, n, 1) @ _matrix(random, 1, d)
    if kind == "integers":
        return np.array([[float(random.randint(-2, 2)) for _ in range(d)] for _ in range(n)])
    apart = random.choice([0.0, 1.0, 10.0])
    return _matrix(random, n, d) + apart * _matrix(random, int(y.max()) + 1, d)[y]


def _matrix(random: Random, n: int, d: int) -> np.ndarray:
    # three digits, so that an example that is printed is the example that failed
    return np.array([[round(random.gauss(0, 1), 3) for _ in range(d)] for _ in range(n)])


def _copy_row(random: Random, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    X[random.randrange(len(X))] = X[random.randrange(len(X))]
    return X


def _constant_column(random: Random, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    X[:, random.randrange(X.shape[1])] = random.choice([0.0, 1.0, 1e6])
    return X


def _collinear_column(random: Random, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    X[:, random.randrange(X.shape[1])] = X @ [random.randint(-1, 1) for _ in range(X.shape[1])]
    return X


def _equal_means(random: Random, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return X - np.stack([X[y == c].mean(axis=0) for c in range(int(y.max()) + 1)])[y]


def _outlier(random: Random, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    X[random.randrange(len(X))] *= 1e6
    return X


def draw_parameters(random: Random, estimator: Any, n_classes: int) -> dict[str, Any]:
    """Values of some parameters, from the examples that their declarations give."""
    drawn = {}
    if "estimator" in estimator.get_params(deep=False) and random.random() < 0.5:
        drawn["estimator"] = clone(random.choice(INNER))
    allowed = getattr(estimator, "_allowed_parameters", {})
    for name in estimator.get_params(deep=False):
        examples = [value for option in allowed.get(name, ()) for value in option.examples]
        examples += OWN_EXAMPLES.get(name, [])
        examples = [value for value in examples if value != "precomputed"]
        if name == "priors":
            examples.append(draw_priors(random, n_classes))
        if name not in NOT_DRAWN and examples and random.random() < 0.25:
            drawn[name] = random.choice(examples)
    if "kernel" in estimator.get_params(deep=False) and random.random() < 0.1:
        drawn.update(kernel=partial(laplacian_kernel, gamma=random.choice([0.1, 10.0])))
    return drawn


def draw_priors(random: Random, n_classes: int) -> list[float]:
    weights = [random.choice([0, 1, 1, 3]) for _ in range(n_classes)]
    weights[random.randrange(n_classes)] = 2
    return [weight / sum(weights) for weight in weights]
