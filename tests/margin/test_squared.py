"""The hyperplane of the squared hinge beside slow ways to the same answer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from separatrix import (
    KernelSupportVectorICA,
    MarginMaximizingDiscriminant,
    SupportVectorICA,
    SupportVectorProjection,
    WithinSupportVectorDiscriminant,
)
from separatrix.margin import hyperplane
from tests.margin.margin_data import angle, overlapping, plane_of


def slope(Z, signs, cost, plane):
    """Gradient of ½‖w‖² + Σ c max(0, 1 - y f)² in w and in b."""
    shortfall = np.maximum(0, 1 - signs * (Z @ plane.normal + plane.intercept))
    pull = 2 * cost * shortfall * signs
    return np.append(plane.normal - Z.T @ pull, -pull.sum())


@pytest.mark.parametrize("C", [1e-3, 1e-1, 1.0, 1e2, 1e5])
@pytest.mark.parametrize(("n", "d"), [(120, 8), (40, 100), (30, 1), (700, 5)])
def test_no_slope_is_left(n, d, C):
    Z, signs = overlapping(n, d)
    cost = np.where(signs > 0, 2.0, 1.0) * C
    plane = plane_of(Z, signs, cost, loss="squared_hinge")
    assert plane.exact
    assert plane.normal.any()
    size = float(cost.sum()) * np.abs(Z).max()
    assert_allclose(slope(Z, signs, cost, plane), 0, atol=1e-9 * (size + 1))


def test_a_row_given_twice_is_a_row_of_twice_the_cost():
    Z, signs = overlapping()
    once = plane_of(Z, signs, np.full(len(Z), 2.0), loss="squared_hinge")
    both = plane_of(
        np.tile(Z, (2, 1)), np.tile(signs, 2), np.ones(2 * len(Z)), loss="squared_hinge"
    )
    assert_allclose(both.normal, once.normal, rtol=1e-9)


def test_large_problems_go_to_liblinear(monkeypatch):
    Z, signs = overlapping(400, 6)
    cost = np.ones(len(Z))
    exact = plane_of(Z, signs, cost, loss="squared_hinge")
    monkeypatch.setattr(hyperplane, "MAX_NEWTON_PRODUCTS", 0)
    found = plane_of(Z, signs, cost, loss="squared_hinge", tol=1e-8, max_iter=100000)
    assert not found.exact
    assert angle(found.normal, exact.normal) < 1e-2  # liblinear penalises the intercept
    assert angle(found.normal, plane_of(Z, signs, cost).normal) > 1e-2  # not those of the hinge


def test_too_few_steps_are_warned_about():
    Z, signs = overlapping()
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        plane_of(Z, signs, np.full(len(Z), 100.0), loss="squared_hinge", max_iter=1)


@pytest.mark.parametrize(
    "model",
    [
        MarginMaximizingDiscriminant(loss="squared_hinge"),
        WithinSupportVectorDiscriminant(loss="squared_hinge"),
        SupportVectorProjection(loss="squared_hinge"),
        SupportVectorICA(loss="squared_hinge", random_state=0),
        KernelSupportVectorICA(loss="squared_hinge", kernel="linear", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_method_of_the_family_takes_the_loss(model):
    Z, signs = overlapping(150, 4)
    found = model.fit(Z, signs)
    assert np.mean(found.predict(Z) == signs) > 0.7
    hinge = type(model)(**{**model.get_params(), "loss": "hinge"}).fit(Z, signs)
    assert not np.allclose(found.decision_function(Z), hinge.decision_function(Z))


def test_the_first_direction_is_that_of_liblinear_without_its_penalty_on_the_intercept():
    Z, signs = overlapping(200, 5)
    model = MarginMaximizingDiscriminant(loss="squared_hinge", C=0.1).fit(Z, signs)
    theirs = LinearSVC(C=0.1, intercept_scaling=1e3, tol=1e-10, max_iter=10**6).fit(Z, signs)
    assert angle(model.components_[0], theirs.coef_[0]) < 1e-4
