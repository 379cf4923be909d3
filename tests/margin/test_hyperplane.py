"""The hyperplane of each solver beside a slow way to the same answer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from separatrix.margin import hyperplane, newton
from separatrix.margin.hyperplane import Hyperplane
from tests.margin.margin_data import (
    AS_LIBSVM,
    WIDE_PAIR,
    angle,
    assert_optimal,
    both,
    heavy_tails,
    iris_one_against_rest,
    least_hinge,
    overlapping,
    pair,
    plane_of,
    reached_by,
    svc,
    unlike_scales,
)


@pytest.fixture(params=[0, hyperplane.MAX_TALL_GRAM_ROWS], ids=["newton first", "small"])
def either_way(request, monkeypatch):
    monkeypatch.setattr(hyperplane, "MAX_TALL_GRAM_ROWS", request.param)


either_solver = pytest.mark.usefixtures("either_way")


@either_solver
@pytest.mark.parametrize("C", [1e-3, 1e-1, 1.0, 1e2, 1e5])
@pytest.mark.parametrize(("n", "d"), [(120, 8), (40, 100), (30, 1)])
def test_the_hyperplane_is_optimal(n, d, C):
    Z, signs = overlapping(n, d)
    cost = np.full(n, C)
    plane = plane_of(Z, signs, cost)
    assert plane.exact
    assert plane.normal.any()
    assert_optimal(Z, signs, cost, plane)


@either_solver
def test_each_row_has_its_own_cost():
    Z, signs = overlapping()
    cost = np.where(signs > 0, 2.0, 0.5)
    plane = plane_of(Z, signs, cost)
    assert_optimal(Z, signs, cost, plane)
    theirs = svc(Z, signs, class_weight={1: 2.0, -1: 0.5})
    assert angle(plane.normal, theirs.coef_[0]) < AS_LIBSVM
    assert_allclose(plane.intercept, theirs.intercept_[0], atol=1e-3)


@either_solver
def test_rows_given_twice_leave_the_hyperplane():
    Z, signs = overlapping()
    once = plane_of(Z, signs, np.ones(len(Z)))
    twice = plane_of(np.tile(Z, (2, 1)), np.tile(signs, 2), np.full(2 * len(Z), 0.5))
    assert twice.exact
    assert_allclose(twice.normal, once.normal, atol=1e-11)
    assert_allclose(twice.intercept, once.intercept, atol=1e-11)


@either_solver
@pytest.mark.parametrize("factor", [1e-8, 1e8])
@pytest.mark.parametrize(("n", "d"), [(120, 8), (40, 100)])
def test_data_of_any_size_have_a_hyperplane(n, d, factor):
    Z, signs = overlapping(n, d)
    plane = plane_of(Z, signs, np.ones(len(Z)))
    scaled = plane_of(factor * Z, signs, np.full(len(Z), factor**-2))
    assert_allclose(scaled.normal * factor, plane.normal, rtol=1e-9)


def test_a_cost_that_no_row_reaches_does_not_matter():
    X, y = WIDE_PAIR
    Z, signs = X - X.mean(axis=0), 2.0 * y - 1
    hard = [plane_of(Z, signs, np.full(len(Z), C)) for C in (1e3, 1e12)]
    assert all(plane.exact for plane in hard)
    assert_allclose(hard[0].normal, hard[1].normal, rtol=1e-9)
    assert_allclose(np.min(signs * (Z @ hard[0].normal + hard[0].intercept)), 1)


SOLVERS = [hyperplane.capped_newton, hyperplane.decompose_dual, hyperplane.descend_dual]


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
def test_all_solvers_solve_the_same_problem(monkeypatch, C):
    Z, signs = overlapping(200)
    planes = []
    for solver in SOLVERS:
        monkeypatch.setattr(hyperplane, "choose_solver", lambda *shape, solver=solver: solver)
        planes.append(plane_of(Z, signs, np.full(200, C)))
    newton, decomposition, descent = planes
    assert newton.exact
    assert decomposition.exact
    assert_allclose(decomposition.normal, newton.normal, atol=1e-10)
    assert_allclose(decomposition.intercept, newton.intercept, atol=1e-10)
    assert not descent.exact
    # liblinear charges a little for the intercept
    assert angle(newton.normal, descent.normal) < 1e-2
    assert_allclose(descent.intercept, newton.intercept, atol=0.05)


@pytest.mark.parametrize(
    ("n", "d", "expected"),
    [
        (160, 80, 1),
        (161, 80, 1),
        (600, 6, 1),
        (601, 6, 0),
        (20_000, 500, 0),
        (40_000, 1000, 2),
        (5000, 4000, 1),
        (6000, 4000, 2),
    ],
)
def test_the_solver_follows_from_the_size(n, d, expected):
    assert hyperplane.choose_solver(n, d) is SOLVERS[expected]


@both
def test_large_problems_have_nearly_the_same_directions(monkeypatch, model):
    X, y = pair(700, 6, 1.5)
    fitted = clone(model).set_params(n_components=3, C=0.1)
    exact = clone(fitted).fit(X, y).components_
    monkeypatch.setattr(hyperplane, "MAX_NEWTON_PRODUCTS", 0.0)
    for u, v in zip(fitted.fit(X, y).components_, exact, strict=True):
        assert 0 < angle(u, v) < 0.03


@pytest.mark.parametrize("C", [1e-2, 1e6])
def test_what_libsvm_leaves_wrong_is_put_right(monkeypatch, C):
    X, y = WIDE_PAIR
    Z, signs = X - X.mean(axis=0), 2.0 * y - 1
    plane = plane_of(Z, signs, np.full(len(Z), C))

    class Rough(SVC):
        def fit(self, *args, **kwargs):
            super().fit(*args, **kwargs)
            self.dual_coef_ *= 1.3
            return self

    monkeypatch.setattr(hyperplane, "SVC", Rough)
    again = plane_of(Z, signs, np.full(len(Z), C))
    assert again.exact
    assert_allclose(again.normal, plane.normal, atol=1e-9)


@either_solver
def test_a_problem_without_a_direction_has_a_zero_normal():
    Z = np.tile([[1.0, 2], [-1, 2], [1, -2], [-1, -2]], (5, 1))
    signs = np.r_[-np.ones(12), np.ones(8)]
    for C in (1e-3, 1.0, 1e3):
        assert_array_equal(plane_of(Z, signs, np.full(20, C)).normal, 0)
    assert_array_equal(plane_of(0 * Z, signs, np.ones(20)).normal, 0)


@either_solver
@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("data", "C"), [(iris_one_against_rest, 1e6), (heavy_tails, 1e4), (heavy_tails, 1e6)]
)
def test_overlapping_classes_at_a_high_cost_have_their_hyperplane(data, C):
    Z, signs = data()
    cost = np.full(len(Z), C)
    plane = plane_of(Z, signs, cost)
    assert plane.exact
    assert_optimal(Z, signs, cost, plane)
    hinge, w = least_hinge(Z, signs)
    reached = reached_by(plane, Z, signs, C)
    assert hinge * (1 - 1e-9) <= reached <= (hinge + w @ w / (2 * C)) * (1 + 1e-9)
    assert reached <= hinge * (1 + 1e-6)


@either_solver
@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("C", [1.0, 1e2, 1e4, 1e6])
def test_features_of_unlike_scales_do_not_stop_the_search(C):
    Z, signs = unlike_scales()
    plane = plane_of(Z, signs, np.full(len(Z), C))
    hinge, w = least_hinge(Z, signs)
    reached = reached_by(plane, Z, signs, C)
    assert hinge * (1 - 1e-9) <= reached <= (hinge + w @ w / (2 * C)) * (1 + 1e-6)
    # no plane through the same features on one scale, as libsvm finds it, is better
    scale = Z.std(axis=0)
    model = svc(Z / scale, signs)
    theirs = Hyperplane(model.coef_[0] / scale, model.intercept_[0], False, 0)
    assert reached <= reached_by(theirs, Z, signs, C)


def relative_gap(plane, Z, signs, C):
    """How far a dual solution, sought among the rows at their margin, stays below."""
    margins = signs * (Z @ plane.normal + plane.intercept)
    on_margin = np.abs(margins - 1) < 1e-7
    weights = np.where((margins < 1) & ~on_margin, C, 0.0)
    system = np.vstack([Z.T * signs, signs])
    system /= np.abs(system).max(axis=1, keepdims=True)
    size = np.abs(Z).max(axis=0)
    missing = np.append(plane.normal / size, 0.0) - system @ weights
    weights[on_margin] = np.linalg.lstsq(system[:, on_margin], missing)[0]
    assert ((weights > -1e-7 * C) & (weights < (1 + 1e-7) * C)).all()
    assert abs(weights @ signs) < 1e-7 * C
    reached = C * reached_by(plane, Z, signs, C)
    w = Z.T @ (weights * signs)
    return (reached - weights.sum() + w @ w / 2) / reached


@either_solver
@pytest.mark.filterwarnings("error::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2, 1e4, 1e6])
def test_features_of_unlike_scales_have_an_exact_hyperplane(C):
    Z, signs = unlike_scales(300, 10)
    plane = plane_of(Z, signs, np.full(300, C))
    assert plane.exact
    assert relative_gap(plane, Z, signs, C) < 1e-9


@either_solver
@pytest.mark.parametrize("lifted", [0.0, 3.0])
def test_no_normal_is_best_where_one_class_is_amid_the_other(lifted):
    rng = np.random.default_rng(0)
    around = rng.standard_normal((40, 3))
    weights = rng.uniform(0.2, 0.8, 40)
    amid = np.array([weights @ around / weights.sum(), [0, 0, lifted]])
    Z, signs = np.vstack([around, amid[[0]], amid[[0]] + amid[[1]]]), np.r_[np.ones(40), -1, -1]
    cost = np.r_[np.ones(40), np.full(2, weights.sum() / 2)]
    assert plane_of(Z, signs, cost).normal.any() == (lifted > 0)
    assert plane_of(Z, -signs, cost).normal.any() == (lifted > 0)


@pytest.mark.parametrize("C", [1e-2, 1e6])
def test_a_hyperplane_that_is_not_finished_is_warned_about(monkeypatch, C):
    monkeypatch.setattr(hyperplane, "MAX_TALL_GRAM_ROWS", 0)
    Z, signs = iris_one_against_rest()
    for most in (1, 2, 5):
        monkeypatch.setattr(newton, "MAX_HYPERPLANE_STEPS", most)
        with pytest.warns(ConvergenceWarning, match=f"after {most} steps") as warned:
            plane = plane_of(Z, signs, np.full(150, C))
        assert len(warned) == 1
        assert plane.n_iter == most
        assert not plane.exact
        assert plane.normal.any()


def test_a_descent_that_is_not_finished_is_warned_about(monkeypatch):
    monkeypatch.setattr(hyperplane, "MAX_NEWTON_PRODUCTS", 0)
    monkeypatch.setattr(hyperplane, "MAX_DESCENT_STEPS", 2)
    Z, signs = overlapping(700)
    with pytest.warns(ConvergenceWarning, match="after 2 steps"):
        plane_of(Z, signs, np.ones(len(Z)))
