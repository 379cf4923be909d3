"""Data and slow ways to the same answer that the tests of this folder share."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from separatrix import (
    MarginMaximizingDiscriminant,
    WithinSupportVectorDiscriminant,
)
from separatrix.linalg import principal_angles
from separatrix.margin.hyperplane import prepare_points, soft_margin_hyperplane
from tests.discovery import SHAPES


def pair(n, d, spread, seed=0):
    """Two classes of one size, each of two clusters of unlike sizes: more than one direction."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    means = 1.5 * rng.standard_normal((2, 2, d))
    X = spread * rng.standard_normal((n, d)) * np.linspace(0.5, 2, d)
    return X + means[y, (np.arange(n) % 5 == 0).astype(int)], y


PAIR = pair(80, 6, 1.5)


WIDE_PAIR = pair(24, 60, 1.0)


PAIRS = {"pair": PAIR, "wide pair": WIDE_PAIR}


DATA = {**SHAPES, **PAIRS}


every_pair = pytest.mark.parametrize(("X", "y"), PAIRS.values(), ids=PAIRS)


every_data = pytest.mark.parametrize(("X", "y"), DATA.values(), ids=DATA)


SUCCESSIVE = [MarginMaximizingDiscriminant(), WithinSupportVectorDiscriminant()]


both = pytest.mark.parametrize("model", SUCCESSIVE, ids=["mmda", "wsvda"])


quiet = pytest.mark.filterwarnings("ignore:FastICA did not converge")


# libsvm holds kernel values in single precision: its directions are good to about 1e-4
AS_LIBSVM = 1e-3


def svc(Z, y, C=1.0, **options):
    model = SVC(kernel="linear", C=C, tol=1e-8, cache_size=100, **options)
    return model.fit(Z - Z.mean(axis=0), y)


def angle(u, v):
    return principal_angles([u], [v])[0]


def assert_optimal(Z, signs, cost, plane, tol=1e-7):
    """The conditions of Karush, Kuhn and Tucker, with the weights of the rows sought anew."""
    margins = signs * (Z @ plane.normal + plane.intercept)
    on_margin = np.abs(margins - 1) < tol
    weights = np.where(margins < 1, cost, 0.0)
    weights[on_margin] = 0.0
    system = np.vstack([Z.T * signs, signs])
    missing = np.append(plane.normal, 0.0) - system @ weights
    weights[on_margin] = np.linalg.lstsq(system[:, on_margin], missing)[0]
    assert_allclose(system @ weights, np.append(plane.normal, 0.0), atol=tol * cost.max())
    assert ((weights > -tol * cost) & (weights < (1 + tol) * cost)).all()


def overlapping(n=120, d=8, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    Z = rng.standard_normal((n, d)) + 0.5 * y[:, None] * rng.standard_normal(d)
    return Z - Z.mean(axis=0), y


def least_hinge(Z, signs):
    """The least sum of shortfalls that any hyperplane leaves, as a linear program."""
    n, d = Z.shape
    result = linprog(
        np.r_[np.zeros(d + 1), np.ones(n)],
        A_ub=np.column_stack([-signs[:, None] * Z, -signs, -np.eye(n)]),
        b_ub=-np.ones(n),
        bounds=[(None, None)] * (d + 1) + [(0, None)] * n,
    )
    return result.fun, result.x[:d]


def reached_by(plane, Z, signs, C):
    """What is minimised, over C."""
    shortfall = np.maximum(0, 1 - signs * (Z @ plane.normal + plane.intercept))
    return shortfall.sum() + plane.normal @ plane.normal / (2 * C)


def iris_one_against_rest():
    X, y = load_iris(return_X_y=True)
    return X - X.mean(axis=0), np.where(y == 1, 1.0, -1.0)


def heavy_tails():
    rng = np.random.default_rng(0)
    signs = np.where(rng.random(60) < 0.5, 1.0, -1.0)
    X = rng.standard_t(1, size=(60, 5))
    return X - X.mean(axis=0), signs


def unlike_scales(n=100, d=7):
    rng = np.random.default_rng(0)
    signs = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((n, d)) * np.logspace(-3, 3, d)
    return X - X.mean(axis=0), signs


def plane_of(Z, signs, cost, **options):
    return soft_margin_hyperplane(prepare_points(Z), signs, cost, **options)
