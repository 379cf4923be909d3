"""Hyperplanes and the subspaces made of them: each beside a slow way to the same answer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_iris, make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from separatrix import (
    FisherDiscriminant,
    KernelSupportVectorICA,
    MarginMaximizingDiscriminant,
    SupportVectorICA,
    SupportVectorProjection,
    WithinSupportVectorDiscriminant,
)
from separatrix.linalg import principal_angles
from separatrix.margin import hyperplane
from separatrix.margin.estimator import one_against_rest
from separatrix.margin.hyperplane import Hyperplane, Points, soft_margin_hyperplane
from separatrix.margin.ica import complement, independent_directions, uncorrelated_axes
from separatrix.margin.projection import decorrelation, eliminate, support_vector_normals
from separatrix.margin.successive import block_basis, successive_directions
from separatrix.moments.class_moments import ClassMoments
from tests.discovery import SHAPES, TALL, WIDE, labelled, same_up_to_sign


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


@pytest.fixture(params=[0, hyperplane.SMALL], ids=["newton first", "small"])
def either_way(request, monkeypatch):
    monkeypatch.setattr(hyperplane, "SMALL", request.param)


either_solver = pytest.mark.usefixtures("either_way")


def plane_of(Z, signs, cost, **options):
    return soft_margin_hyperplane(Points.of(Z), signs, cost, **options)


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


# The hyperplane --------------------------------------------------------------------------------


def overlapping(n=120, d=8, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    Z = rng.standard_normal((n, d)) + 0.5 * y[:, None] * rng.standard_normal(d)
    return Z - Z.mean(axis=0), y


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


SOLVERS = [hyperplane.capped_newton, hyperplane.decomposition, hyperplane.dual_descent]


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
def test_all_solvers_solve_the_same_problem(monkeypatch, C):
    Z, signs = overlapping(200)
    planes = []
    for solver in SOLVERS:
        monkeypatch.setattr(hyperplane, "solver", lambda *shape, solver=solver: solver)
        planes.append(plane_of(Z, signs, np.full(200, C), tol=1e-8, max_iter=100_000))
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
        (20_000, 1000, 2),
        (5000, 4000, 1),
        (6000, 4000, 2),
    ],
)
def test_the_solver_follows_from_the_size(n, d, expected):
    assert hyperplane.solver(n, d) is SOLVERS[expected]


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_inner_products_follow_what_is_taken_off_the_rows(size):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((40, 3)))[0]
    Z = rng.standard_normal((30, 40)) + size * rng.standard_normal((30, 3)) @ Q.T
    whole = Points.of(Z.copy())
    assert_allclose(whole.gram, Z @ Z.T)
    left = whole.less(Q)
    assert_allclose(left.rows @ Q, 0, atol=1e-14 * size)
    assert_allclose(left.gram, left.rows @ left.rows.T, atol=1e-11)  # a size² of 1e12 is gone
    some = np.array([3, 17, 4])
    assert_allclose(left.products(some), left.rows[some] @ left.rows[some].T, atol=1e-11)
    assert Points.of(Z.T).gram is not None
    assert Points.of(np.ones((601, 2))).gram is None


@pytest.mark.parametrize("mild", [0.0, 1e6])
@pytest.mark.parametrize("m", [3, 50])
def test_a_weighted_ridge_has_no_slope_left(monkeypatch, m, mild):
    monkeypatch.setattr(hyperplane, "MILD", mild)
    rng = np.random.default_rng(0)
    A, weights, target = rng.normal(1, 1, (m, 8)), rng.uniform(1, 3, m), rng.standard_normal(m)
    pull, push = rng.standard_normal(8), 0.7
    w, b = hyperplane._weighted_ridge(A.copy(), weights, target, pull, push)
    residual = weights * (A @ w + b - target)
    assert_allclose(w - pull + A.T @ residual, 0, atol=1e-12)
    assert_allclose(residual.sum(), push, atol=1e-12)


@both
def test_large_problems_have_nearly_the_same_directions(monkeypatch, model):
    X, y = pair(700, 6, 1.5)
    fitted = clone(model).set_params(n_components=3, C=0.1, max_iter=100_000)
    exact = clone(fitted).fit(X, y).components_
    monkeypatch.setattr(hyperplane, "EXACT_UP_TO", 0.0)
    for u, v in zip(fitted.fit(X, y).components_, exact, strict=True):
        assert 0 < angle(u, v) < 0.03


@pytest.mark.parametrize(("repairs", "solved_anew"), [(10, False), (1, True)])
def test_what_libsvm_leaves_wrong_is_repaired_or_solved_anew(monkeypatch, repairs, solved_anew):
    X, y = WIDE_PAIR
    Z, signs = X - X.mean(axis=0), 2.0 * y - 1
    plane = plane_of(Z, signs, np.full(len(Z), 0.01))

    class Rough(SVC):
        def fit(self, *args, **kwargs):
            return self.set_params(max_iter=3).set_params(tol=1e-1) and super().fit(
                *args, **kwargs
            )

    calls = []
    newton = hyperplane.capped_newton
    monkeypatch.setattr(hyperplane, "SVC", Rough)
    monkeypatch.setattr(hyperplane, "REPAIRS", repairs)
    monkeypatch.setattr(hyperplane, "capped_newton", lambda *a: calls.append(a) or newton(*a))
    again = plane_of(Z, signs, np.full(len(Z), 0.01)).normal
    assert_allclose(again, plane.normal, atol=1e-11)
    assert bool(calls) == solved_anew


@either_solver
def test_a_problem_without_a_direction_has_a_zero_normal():
    Z = np.tile([[1.0, 2], [-1, 2], [1, -2], [-1, -2]], (5, 1))
    signs = np.r_[-np.ones(12), np.ones(8)]
    for C in (1e-3, 1.0, 1e3):
        assert_array_equal(plane_of(Z, signs, np.full(20, C)).normal, 0)
    assert_array_equal(plane_of(0 * Z, signs, np.ones(20)).normal, 0)


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


@pytest.mark.parametrize("C", [1e-2, 1e6])
def test_a_hyperplane_that_is_not_finished_is_not_taken_for_none(monkeypatch, C):
    monkeypatch.setattr(hyperplane, "SMALL", 0)
    Z, signs = iris_one_against_rest()
    for max_iter in (1, 2, 5):
        with pytest.warns(ConvergenceWarning, match=f"max_iter={max_iter} steps") as said:
            plane = plane_of(Z, signs, np.full(150, C), max_iter=max_iter)
        assert len(said) == 1
        assert plane.n_iter == max_iter
        assert not plane.exact
        assert plane.normal.any()


def test_a_normal_that_parts_the_rows_is_not_taken_for_none():
    Z, signs, cost = np.array([[1.0], [-1.0]]), np.array([1.0, -1.0]), np.ones(2)
    worse_than_none = np.array([10.0])
    assert not hyperplane._no_better_than_none(Z, signs, cost, worse_than_none, 0.0, 1e-4)
    assert hyperplane._no_better_than_none(Z, signs, cost, np.zeros(1), 0.0, 1e-4)


@either_solver
@pytest.mark.parametrize("lifted", [0.0, 3.0])
def test_no_normal_is_best_where_one_class_is_amid_the_other(lifted):
    rng = np.random.default_rng(0)
    around = rng.standard_normal((40, 3))
    weights = rng.uniform(0.2, 0.8, 40)
    amid = np.array([weights @ around / weights.sum(), [0, 0, lifted]])
    Z, signs = np.vstack([around, amid[[0]], amid[[0]] + amid[[1]]]), np.r_[np.ones(40), -1, -1]
    cost = np.r_[np.ones(40), np.full(2, weights.sum() / 2)]
    assert hyperplane._none_is_best(Z, signs, cost) == (lifted == 0)
    assert hyperplane._none_is_best(Z, -signs, cost) == (lifted == 0)
    assert plane_of(Z, signs, cost).normal.any() == (lifted > 0)
    # an approximate normal is worse than none, and its scores are unlike
    close = (Z, signs, cost, np.array([0.01, 0, 0]), 1.0, 1e-4)
    assert hyperplane._no_better_than_none(*close) == (lifted == 0)


def test_an_unfinished_hyperplane_is_said(monkeypatch):
    monkeypatch.setattr(hyperplane, "SMALL", 0)
    Z, signs = overlapping()
    with pytest.warns(ConvergenceWarning, match="max_iter=2 steps"):
        plane_of(Z, signs, np.ones(len(Z)), max_iter=2)
    monkeypatch.setattr(hyperplane, "solver", lambda *shape: hyperplane.dual_descent)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 steps"):
        plane_of(Z, signs, np.ones(len(Z)), max_iter=2)


def calls_that_warn():
    X, y = PAIR
    outweighed = np.r_[np.zeros(75), np.ones(5)]
    small = MarginMaximizingDiscriminant(2, C=1e-6)
    return {
        "unfinished": lambda: MarginMaximizingDiscriminant(C=1e6, max_iter=1).fit(X, y),
        "fewer": lambda: small.fit(X, y),
        "none": lambda: MarginMaximizingDiscriminant(C=1e-6).fit_transform(X, outweighed),
        "ica": lambda: SupportVectorICA(ica_max_iter=1, random_state=0).fit(*TALL),
        "kernel": lambda: KernelSupportVectorICA(ica_max_iter=1, random_state=0).fit(*TALL),
        "pipeline": lambda: make_pipeline(StandardScaler(), small).fit(X, y),
    }


@pytest.mark.parametrize("call", calls_that_warn().values(), ids=calls_that_warn())
def test_warnings_point_at_the_line_that_called(call):
    with pytest.warns(UserWarning, match="hyperplane|FastICA") as said:
        call()
    assert {warning.filename for warning in said} == {__file__}
    assert all(warning.lineno == call.__code__.co_firstlineno for warning in said)


# Successive directions -------------------------------------------------------------------------


@both
@every_data
@pytest.mark.parametrize("C", [1e-2, 1e4])
@pytest.mark.filterwarnings("ignore:.*found .* of n_components")
def test_components_are_orthonormal_to_the_last_digit(model, X, y, C):
    rank = np.linalg.matrix_rank(X - X.mean(axis=0))
    fitted = clone(model).set_params(n_components=rank, C=C).fit(X, y)
    W = fitted.components_
    assert fitted.n_components_ == len(W) > 1
    assert_allclose(W @ W.T, np.eye(len(W)), atol=1e-12)


@both
def test_components_are_orthonormal_where_inner_products_lose_digits(model):
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((24, 24)) - 1)[0]
    V = np.linalg.qr(rng.standard_normal((60, 24)))[0]
    X = (U - U.mean(axis=0)) * np.logspace(0, 2.8, 24) @ V.T
    W = clone(model).set_params(n_components=8, C=1.0).fit(X, np.arange(24) % 2).components_
    assert_allclose(W @ W.T, np.eye(8), atol=1e-14)


def deflated_svms(X, y, k, C):
    """Equation 3 and the projection after it, in all features, as printed."""
    X, W = X - X.mean(axis=0), []
    for _ in range(k):
        w = svc(X, y, C).coef_[0].copy()
        w /= np.linalg.norm(w)
        X = X - np.outer(X @ w, w)
        W.append(w)
    return np.array(W)


@every_pair
@pytest.mark.parametrize("C", [0.1, 1.0])
def test_margin_directions_are_those_of_deflated_svms(X, y, C):
    ours = MarginMaximizingDiscriminant(4, C=C).fit(X, y)
    for u, v in zip(ours.components_, deflated_svms(X, y, 4, C), strict=True):
        assert angle(u, v) < 5 * AS_LIBSVM  # errors of the earlier ones carry on


def table_2(X, y, k, C, ridge):
    """The source's algorithm as printed: P Sw P is regularised and inverted in each step."""
    X = X - X.mean(axis=0)
    d = X.shape[1]
    Sw = ClassMoments.from_data(X, y).Sw + ridge * np.eye(d)
    P, W = np.eye(d), []
    signs = 2.0 * y - 1
    for _ in range(k):
        inverse = P @ np.linalg.pinv(P @ Sw @ P, rcond=1e-10, hermitian=True) @ P
        model = SVC(kernel="precomputed", C=C, tol=1e-8).fit(X @ inverse @ X.T, signs)
        w = inverse @ X[model.support_].T @ model.dual_coef_[0]
        w /= np.linalg.norm(w)
        P = P @ (np.eye(d) - np.outer(w, w))
        W.append(w)
    return np.array(W)


@every_pair
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_within_directions_are_those_of_the_printed_algorithm(X, y, C):
    ours = WithinSupportVectorDiscriminant(4, C=C, ridge=1e-2).fit(X, y)
    rho = 1e-2 * np.trace(ClassMoments.from_data(X, y).Sw) / X.shape[1]
    assert_allclose(ours.ridge_, rho)
    for u, v in zip(ours.components_, table_2(X, y, 4, C, rho), strict=True):
        assert angle(u, v) < 10 * AS_LIBSVM


def test_without_a_ridge_sw_must_have_an_inverse():
    ours = WithinSupportVectorDiscriminant(3, ridge=0).fit(*PAIR)
    for u, v in zip(ours.components_, table_2(*PAIR, 3, 1.0, 0.0), strict=True):
        assert angle(u, v) < 5 * AS_LIBSVM
    with pytest.raises(ValueError, match=r"ridge=0 is too small.*no inverse"):
        WithinSupportVectorDiscriminant(ridge=0).fit(*WIDE)


def test_the_first_within_direction_is_the_first_margin_direction_of_white_rows():
    X, y = PAIR
    L = np.linalg.cholesky(ClassMoments.from_data(X, y).Sw)
    white = np.linalg.solve(L, X.T).T
    ours = WithinSupportVectorDiscriminant(2, ridge=0).fit(X, y).components_
    theirs = np.linalg.solve(L.T, MarginMaximizingDiscriminant(2).fit(white, y).components_.T).T
    assert angle(ours[0], theirs[0]) < 1e-7
    assert angle(ours[1], theirs[1]) > 1e-2  # and the second is not


@every_pair
def test_small_costs_and_equal_classes_give_margin_directions_the_mean_difference(X, y):
    keep = np.concatenate([np.flatnonzero(y == c)[: min(np.bincount(y))] for c in (0, 1)])
    X, y = X[keep], y[keep]
    with pytest.warns(UserWarning, match="found 1 of n_components=3 directions"):
        model = MarginMaximizingDiscriminant(3, C=1e-9).fit(X, y)
    assert model.n_components_ == 1
    assert angle(model.components_[0], X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)) < 1e-9


def test_small_costs_and_equal_classes_give_within_directions_foley_and_sammons():
    X, y = labelled(80, 6, n_classes=2, seed=3)
    keep = np.concatenate([np.flatnonzero(y == c)[:20] for c in (0, 1)])
    X, y = X[keep], y[keep]
    moments = ClassMoments.from_data(X, y)
    inverse = np.linalg.inv(moments.Sw)
    difference = moments.means[1] - moments.means[0]
    model = WithinSupportVectorDiscriminant(4, C=1e-9, ridge=0).fit(X, y)
    W = np.zeros((6, 0))
    for component in model.components_:
        correction = W @ np.linalg.solve(W.T @ inverse @ W, W.T @ inverse @ difference)
        w = inverse @ (difference - correction)
        assert angle(component, w) < 1e-7
        W = np.column_stack([W, w / np.linalg.norm(w)])
    assert angle(model.components_[0], FisherDiscriminant().fit(X, y).components_[0]) < 1e-7


@both
@pytest.mark.parametrize(
    ("X", "y"), [labelled(90, 10), WIDE, *PAIRS.values()], ids=["tall", "wide", *PAIRS]
)
def test_a_class_against_the_rest_in_each_round(model, X, y):
    classes = np.unique(y)
    k = 1 if len(classes) == 2 else len(classes)
    natural = clone(model).set_params(C=0.1).fit(X, y)
    if isinstance(model, WithinSupportVectorDiscriminant):
        # where Sw has a null space all normals lie in it, with the differences of the means
        assert natural.n_components_ == (k if len(X) > X.shape[1] else len(classes) - 1)
        return
    assert natural.n_components_ == k
    rounds = clone(model).set_params(C=0.1, n_components=2 * k).fit(X, y)
    assert rounds.n_components_ == 2 * k
    assert_allclose(rounds.components_[:k], natural.components_, atol=1e-9)
    Z = X - X.mean(axis=0)
    for block in (rounds.components_[:k], rounds.components_[k:]):
        normals = [svc(Z, y == c, 0.1).coef_[0] for c in classes[-k:]]
        assert principal_angles(block, normals).max() < AS_LIBSVM
        Z = Z - Z @ block.T @ block


def test_a_partial_block_is_the_first_of_the_block():
    whole = MarginMaximizingDiscriminant(6).fit(*TALL)
    part = MarginMaximizingDiscriminant(4).fit(*TALL)
    assert_allclose(part.components_, whole.components_[:4], atol=1e-12)


def test_normals_of_a_block_count_alike():
    rng = np.random.default_rng(0)
    V, known = rng.standard_normal((7, 3)), np.eye(7)[:, :2]
    block = block_basis(V, known)
    longer = block_basis(V * [1.0, 100.0, 0.01], known)
    assert_allclose(same_up_to_sign(block, longer), block, atol=1e-12)
    assert_allclose(block.T @ known, 0, atol=1e-15)
    assert block_basis(V[:, [0, 0]], known).shape == (7, 1)


def test_an_outweighed_class_has_no_direction_unless_weights_are_balanced():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((210, 4))
    y = (np.arange(210) >= 200).astype(int)
    X[y == 1, 0] += 1.0
    for C in (1e-3, 1e-2):
        with pytest.warns(UserWarning, match=r'found no direction.*class_weight="balanced"'):
            assert MarginMaximizingDiscriminant(C=C).fit(X, y).transform(X).shape == (210, 0)
    balanced = MarginMaximizingDiscriminant(C=1e-2, class_weight="balanced").fit(X, y)
    assert angle(balanced.components_[0], [1, 0, 0, 0]) < 0.5
    theirs = svc(X, y, 1e-2, class_weight="balanced")
    assert angle(balanced.components_[0], theirs.coef_[0]) < AS_LIBSVM


def test_a_class_weight_of_two_is_every_row_of_the_class_twice():
    X, y = PAIR
    weighed = MarginMaximizingDiscriminant(2, C=0.1, class_weight={1: 2}).fit(X, y)
    repeats = np.where(y == 1, 2, 1)
    repeated = MarginMaximizingDiscriminant(2, C=0.1).fit(
        np.repeat(X, repeats, axis=0), np.repeat(y, repeats)
    )
    assert_allclose(weighed.components_, repeated.components_, atol=1e-9)


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        ({7: 1.0}, r"labels that are not in y: \[7\]"),
        ({1: 0.0}, "positive numbers"),
        ({0: "x"}, r"class_weight=\{0: 'x'\} must hold positive numbers"),
        ("heavy", "class_weight='heavy' is not valid"),
    ],
)
def test_odd_weights_are_refused(weight, words):
    with pytest.raises(ValueError, match=words):
        MarginMaximizingDiscriminant(class_weight=weight).fit(*PAIR)


def test_a_linear_fit_that_is_refused_leaves_the_kernel_fit():
    X, y = PAIR
    model = MarginMaximizingDiscriminant(kernel="rbf").fit(X, y)
    before = dict(vars(model), kernel=None)
    with pytest.raises(ValueError, match="NaN"):
        model.set_params(kernel=None).fit(np.full_like(X, np.nan), y)
    assert vars(model) == before


@both
def test_rows_that_are_all_alike_have_no_direction(model):
    with pytest.warns(UserWarning, match="found no direction"):
        fitted = clone(model).fit(np.full((6, 3), 7.0), [0, 0, 0, 1, 1, 1])
    assert fitted.n_components_ == 0 == fitted.n_iter_
    assert getattr(fitted, "ridge_", 0.0) == 0.0


def test_classes_that_are_points_are_separated():
    X = np.repeat([[0.0, 0.0, 1.0], [3.0, 4.0, 1.0]], 3, axis=0)
    fitted = WithinSupportVectorDiscriminant().fit(X, [0, 0, 0, 1, 1, 1])
    assert_allclose(fitted.components_, [[0.6, 0.8, 0]], atol=1e-12)


def test_progress_is_told_when_asked_for(capsys):
    MarginMaximizingDiscriminant(2, verbose=True).fit(*PAIR)
    told = capsys.readouterr().out.splitlines()
    assert told[-1] == "[MarginMaximizingDiscriminant] round 2: 2 directions of at most 2"
    MarginMaximizingDiscriminant(2).fit(*PAIR)
    assert capsys.readouterr().out == ""


def test_every_direction_is_taken_off_before_the_next_is_sought():
    X, y = PAIR
    rows, seen = X - X.mean(axis=0), []

    def find(points, signs, cost):
        seen.append(points.rows.copy())
        return soft_margin_hyperplane(points, signs, cost)

    problem = one_against_rest(y, np.array([0, 1]), 1e3, None)[0]
    W = np.hstack(list(successive_directions(rows, [problem], find, None)))
    assert W.shape == (6, 6)
    for k, Z in enumerate(seen):
        assert_allclose(Z @ W[:, :k], 0, atol=1e-13)
        assert_allclose(Z, rows - rows @ W[:, :k] @ W[:, :k].T, atol=1e-12)


# Kernels ---------------------------------------------------------------------------------------

LINEAR = {
    "mmda": MarginMaximizingDiscriminant(4, C=0.5),
    "wsvda": WithinSupportVectorDiscriminant(4, ridge=0.1),
    "projection": SupportVectorProjection(C=0.5),
}


@pytest.mark.parametrize("model", LINEAR.values(), ids=LINEAR)
@every_data
def test_the_linear_kernel_is_the_linear_method(model, X, y):
    linear = clone(model).fit(X, y)
    options = {"kernel": "linear"}
    if (
        "ridge" in model.get_params()
    ):  # a share of the mean over dimensions, here those of the span
        options["ridge"] = 0.1 * linear.rank_ / X.shape[1]
    kernel = clone(model).set_params(**options).fit(X, y)
    new = X.mean(axis=0) + np.random.default_rng(0).normal(size=(50, X.shape[1]))
    Z, expected = kernel.transform(new), linear.transform(new)
    assert_allclose(same_up_to_sign(expected, Z), expected, atol=1e-6 * np.abs(expected).max())
    assert linear.dual_coef_ is None
    assert kernel.dual_coef_.shape == (len(linear.components_), len(X))


@both
def test_a_kernel_bends_the_directions(model):
    X, y = make_circles(120, noise=0.1, factor=0.3, random_state=0)
    curved = clone(model).set_params(kernel="rbf", n_components=2).fit(X, y)
    Z = curved.transform(X)[:, :1]
    assert FisherDiscriminant().fit(Z, y).score(Z, y) == 1
    assert FisherDiscriminant().fit(X, y).score(X, y) < 0.7
    given = clone(curved).set_params(kernel="precomputed")
    K = rbf_kernel(X, gamma=curved.kernel_gamma_)
    assert_allclose(same_up_to_sign(curved.transform(X), given.fit(K, y).transform(K)),
                    curved.transform(X), atol=1e-7)  # fmt: skip
    few = clone(curved).set_params(n_landmarks=40, random_state=0).fit(X, y)
    assert few.dual_coef_.shape == (2, 40)


def test_the_kernel_direction_is_that_of_libsvm():
    X, y = make_circles(120, noise=0.2, factor=0.4, random_state=0)
    ours = MarginMaximizingDiscriminant(kernel="rbf", kernel_gamma=0.7).fit(X, y)
    theirs = SVC(gamma=0.7, tol=1e-8).fit(X, y)
    scores = theirs.decision_function(X) - theirs.intercept_
    Z = ours.transform(X)[:, 0]
    assert_allclose(abs(np.corrcoef(Z, scores)[0, 1]), 1, atol=1e-6)


# Projections without repetition ----------------------------------------------------------------


@every_data
def test_projections_are_the_normals_of_each_class_against_the_rest(X, y):
    model = SupportVectorProjection(C=0.1).fit(X, y)
    classes = np.unique(y)
    assert set(model.class_of_component_) == set(classes if len(classes) > 2 else classes[1:])
    for w, c, accuracy in zip(
        model.components_, model.class_of_component_, model.accuracy_, strict=True
    ):
        theirs = svc(X, y == c, 0.1)
        assert angle(w, theirs.coef_[0]) < AS_LIBSVM
        assert_allclose(np.linalg.norm(w), 1)
        assert_allclose(accuracy, theirs.score(X - X.mean(axis=0), y == c), atol=0.02)


def printed_elimination(distance, redundancy):
    """Figure 3.2, except that one direction is always left."""
    left = list(range(len(distance)))
    while len(left) > 1:
        d = distance[np.ix_(left, left)]
        if d.min() > redundancy or redundancy == 0:
            break
        left.pop(int(np.unravel_index(d.argmin(), d.shape)[0]))
    return set(left)


def test_one_path_of_elimination_serves_every_threshold():
    rng = np.random.default_rng(0)
    W, accuracy = rng.standard_normal((4, 9)), rng.uniform(0.6, 1, 9)
    distance = decorrelation(W, accuracy)
    path = eliminate(distance, np.ones(9))
    sizes = set()
    for redundancy in [0, *np.sort(path.distances), *np.sort(path.distances) - 1e-9, 1]:
        kept = path.kept(redundancy)
        assert set(kept) == printed_elimination(distance, redundancy)
        sizes.add(len(kept))
    assert {1, 9} <= sizes
    assert len(sizes) > 3
    assert_array_equal(path.kept(0), path.order[::-1])


def test_the_distance_is_the_printed_one_with_accuracy():
    W = np.array([[1.0, 1.0, -1.0], [0.0, 1.0, 0.1]])
    r = np.array([0.9, 0.6, 0.8])
    full, acute = decorrelation(W, r), decorrelation(W, r, acute=True)
    assert_allclose(full[1, 0], (np.pi / 4) * 0.6 / 0.9 * 0.5 / np.pi)
    assert full[1, 0] < full[0, 1]  # the worse of a pair is the nearer one, and goes
    obtuse = np.pi - np.arctan(0.1)
    assert_allclose(full[2, 0], obtuse * 0.8 / 0.9 * 0.5 / np.pi)
    assert_allclose(acute[2, 0], np.arctan(0.1) * 0.8 / 0.9 * 0.5 / np.pi)


def test_redundancy_leaves_the_end_of_the_path():
    X, y = labelled(200, 10, n_classes=6)
    all_of_them = SupportVectorProjection().fit(X, y)
    path = all_of_them.elimination_distances_
    assert all_of_them.n_components_ == 6 == len(path) + 1
    assert_array_equal(all_of_them.class_of_component_, all_of_them.eliminated_[::-1])
    some = SupportVectorProjection(redundancy=path[0] * 1.0001).fit(X, y)
    assert 1 <= some.n_components_ < 6
    assert_array_equal(some.eliminated_, all_of_them.eliminated_)
    assert_allclose(some.components_, all_of_them.components_[: some.n_components_], atol=1e-12)
    assert SupportVectorProjection(redundancy=1.0).fit(X, y).n_components_ == 1
    acute = SupportVectorProjection(angle="acute").fit(X, y)
    lines = decorrelation(all_of_them.components_.T, all_of_them.accuracy_, acute=True)
    assert_allclose(acute.elimination_distances_[0], lines.min())
    assert acute.elimination_distances_[0] < path[0] - 0.01


def test_of_two_as_near_the_one_with_the_narrower_margin_goes():
    distance = np.array([[np.inf, 0.1, 0.4], [0.1, np.inf, 0.4], [0.4, 0.4, np.inf]])
    assert_array_equal(eliminate(distance, np.array([3.0, 1.0, 2.0])).order, [1, 2, 0])
    assert_array_equal(eliminate(distance, np.array([1.0, 3.0, 2.0])).order, [0, 2, 1])


def test_a_class_between_the_others_has_no_hyperplane():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = 0.1 * rng.standard_normal((90, 2))
    X[:, 0] += 3.0 * (y - 1)
    for C in (0.01, 1.0, 100.0):
        model = SupportVectorProjection(C=C).fit(X, y)
        assert set(model.class_of_component_) == {0, 2}


def test_a_hyperplane_no_better_than_chance_is_no_direction():
    Z = np.array([[1.0], [2.0], [-1.0], [-2.0]])
    problems = one_against_rest(np.array([0, 1, 2, 0]), np.arange(3), 1.0, None)
    planes = iter([(0.0, 1.0), (-1.0, -3.0), (1.0, 0.0)])  # accuracies 1/2, 3/4, 1/4

    def find(points, signs, cost):
        w, b = next(planes)
        return Hyperplane(np.array([w]), b, True, 1)

    normals = support_vector_normals(Z, problems, find)
    assert_array_equal(normals.of_class, [1])
    assert_allclose(normals.accuracy, [0.75])


# Hyperplanes and independent components ---------------------------------------------------------


@quiet
@every_data
@pytest.mark.parametrize("k", [None, 1, 2, 5])
def test_independent_directions_are_orthogonal_to_the_normals(X, y, k):
    model = SupportVectorICA(k, random_state=0).fit(X, y)
    n_normals, W = model.n_normals_, model.components_
    expected = {2: 1, 3: 3}[len(set(y))]
    assert n_normals == min(expected, k or expected)
    assert len(W) == model.n_components_ == (k or 2 * expected)
    assert_allclose(W[:n_normals] @ W[n_normals:].T, 0, atol=1e-12)
    assert_allclose(np.linalg.norm(W, axis=1), 1)
    projection = SupportVectorProjection().fit(X, y)
    assert_allclose(W[:n_normals], projection.components_[:n_normals], atol=1e-9)


@quiet
def test_orthogonal_directions_do_not_make_uncorrelated_features():
    X, y = TALL
    linear = SupportVectorICA(random_state=0).fit_transform(X, y)
    assert np.abs(np.corrcoef(linear.T)[:3, 3:]).max() > 0.1
    uncorrelated = KernelSupportVectorICA(kernel="linear", random_state=0).fit_transform(X, y)
    assert np.abs(np.corrcoef(uncorrelated.T)[:3, 3:]).max() < 1e-10


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


@quiet
@every_data
def test_the_identities_of_the_uncorrelated_subspace_hold(X, y):
    model = KernelSupportVectorICA(kernel_gamma="median", random_state=0).fit(X, y)
    K = centred(rbf_kernel(X, gamma=model.kernel_gamma_))
    beta, A = model.uncorrelated_coef_.T, model.dual_coef_.T
    G = (K @ A[:, : model.n_normals_]).T
    scale = np.abs(G).max()
    assert_allclose(G @ K @ beta, 0, atol=1e-10 * scale)
    assert_allclose(beta.T @ K @ beta, np.eye(beta.shape[1]), atol=1e-8)
    assert_allclose(beta.T @ K @ K @ beta, np.diag(model.uncorrelated_variances_), atol=1e-8)
    Z = model.transform(X)
    assert_allclose(Z, K @ A, atol=1e-10)
    first, second = Z[:, : model.n_normals_], Z[:, model.n_normals_ :]
    assert_allclose(first.T @ second, 0, atol=1e-10)
    # both blocks have the same size in feature space
    for block in (A[:, : model.n_normals_], A[:, model.n_normals_ :]):
        assert_allclose(np.trace(block.T @ K @ block), 1)


@quiet
def test_the_uncorrelated_subspace_is_that_of_the_printed_matrix():
    X, y = PAIR
    model = KernelSupportVectorICA(kernel_gamma=0.05, random_state=0).fit(X, y)
    K = centred(rbf_kernel(X, gamma=0.05))
    G = (K @ model.dual_coef_[: model.n_normals_].T).T
    E = (np.eye(len(K)) - G.T @ np.linalg.solve(G @ K @ G.T, G @ K)) @ K  # (3.36), t = 1
    evals = np.sort(np.linalg.eigvals(E).real)[::-1]
    kept = evals[evals >= 1e-3 * evals.sum()]
    assert_allclose(model.uncorrelated_variances_, kept, rtol=1e-6)


def test_independent_sources_are_found():
    rng = np.random.default_rng(0)
    sources = rng.uniform(-1, 1, (4000, 3))
    sources -= sources.mean(axis=0)
    rows = sources @ rng.standard_normal((3, 3))
    W = independent_directions(rows, 3, max_iter=200, tol=1e-6, random_state=0)
    correlation = np.abs(np.corrcoef((rows @ W).T, sources.T)[:3, 3:])
    assert_allclose(np.sort(correlation.max(axis=1)), 1, atol=0.01)
    assert_allclose(np.cov((rows @ W).T, bias=True), np.eye(3), atol=1e-6)


def test_an_ica_that_does_not_converge_says_what_to_do():
    with pytest.warns(ConvergenceWarning, match=r"ica_max_iter=1.*fewer components"):
        SupportVectorICA(ica_max_iter=1, random_state=0).fit(*TALL)


def test_complements_and_uncorrelated_axes():
    rng = np.random.default_rng(0)
    W = rng.standard_normal((7, 3))
    B = complement(np.column_stack([W, W[:, 0]]))
    assert B.shape == (7, 4)
    assert_allclose(B.T @ W, 0, atol=1e-12)
    assert_allclose(B.T @ B, np.eye(4), atol=1e-12)
    Z = rng.standard_normal((30, 7)) * np.arange(1, 8)
    variances, V = uncorrelated_axes(Z, W)
    S = Z.T @ Z
    assert_allclose(V.T @ S @ W, 0, atol=1e-9)
    assert_allclose(V.T @ S @ V, np.diag(variances), atol=1e-9)
    assert (np.diff(variances) < 0).all()
