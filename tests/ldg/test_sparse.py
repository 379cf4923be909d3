"""Sparse LDG: the bound on the 1-norm, the semidefinite program, both deflations."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from separatrix import LDG, SparseLDG, datasets
from separatrix.ldg.scatters import local_scatters
from separatrix.ldg.sparse import Deflated, sparse_directions, sparse_unit
from separatrix.moments.neighbours import class_neighbours
from tests.discovery import TALL, WIDE

FIXED = {"gamma": 0.6, "n_neighbors": 4}


def standardised(name):
    bunch = datasets.load(name)
    return (bunch.data - bunch.data.mean(axis=0)) / bunch.data.std(axis=0), bunch.target


def matrix(X, y, gamma=0.6, k=4):
    """V - γ A."""
    codes = np.unique(y, return_inverse=True)[1]
    X = X - X.mean(axis=0)
    priors = np.bincount(codes) / len(codes)
    found = local_scatters(X, codes, class_neighbours(X, codes, k), priors, k)
    return found.V - gamma * found.A


def plain(Z, k, sparsity, *, project=False):
    evals, U = np.linalg.eigh(Z)
    start = Deflated(Z, None, np.zeros((len(Z), 0)), np.zeros(0), project)
    return sparse_directions(start, k, sparsity, U[:, : k + 4], max(evals[-1], 0.0))


@pytest.mark.parametrize("radius", [1.0, 1.3, 2.0, 2.9])
def test_the_sparse_unit_vector_is_the_best_there_is(radius):
    rng = np.random.default_rng(0)
    G = rng.standard_normal((8, 5))
    B = sparse_unit(G, radius)
    assert_allclose(np.linalg.norm(B, axis=0), 1)
    assert (np.abs(B).sum(axis=0) <= radius + 1e-9).all()
    for g, b in zip(G.T, B.T, strict=True):
        # entries and signs split, so that the bounds are smooth
        split = minimize(
            lambda u, g=g: -g @ (u[:8] - u[8:]),
            np.full(16, 0.01),
            bounds=[(0, 1)] * 16,
            constraints=[
                {"type": "ineq", "fun": lambda u: radius - u.sum()},
                {"type": "ineq", "fun": lambda u: 1 - np.sum((u[:8] - u[8:]) ** 2)},
            ],
        )
        assert g @ b >= -split.fun - 1e-6


def test_ties_that_cannot_all_stay_leave_the_first():
    g = np.array([[1.0], [-1.0], [1.0], [0.5]])
    assert_allclose(sparse_unit(g, np.sqrt(2.0)).ravel(), [0.5**0.5, -(0.5**0.5), 0, 0])
    assert_allclose(sparse_unit(g, 1.0).ravel(), [1, 0, 0, 0])
    assert_allclose(sparse_unit(g, 5.0).ravel(), g.ravel() / np.linalg.norm(g))


@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
@pytest.mark.parametrize("sparsity", [1.5, 3.0, 6.0])
def test_the_first_direction_is_the_optimum_of_the_semidefinite_program(name, sparsity):
    cp = pytest.importorskip("cvxpy")
    X, y = standardised(name)
    Z = matrix(X, y)
    size = np.abs(Z).max()
    B = cp.Variable(Z.shape, PSD=True)
    bounds = [cp.trace(B) == 1, cp.sum(cp.abs(B)) <= sparsity]
    problem = cp.Problem(cp.Minimize(cp.trace(Z / size @ B)), bounds)
    problem.solve(solver="CLARABEL")
    assert np.linalg.eigvalsh(B.value)[-1] > 1 - 1e-6  # of rank one: the relaxation is exact
    model = SparseLDG(1, sparsity=sparsity, **FIXED).fit(X, y)
    assert_allclose(-model.criterion_[0], size * problem.value, rtol=1e-6)
    b = model.components_[0]
    assert_allclose(np.abs(np.outer(b, b)), np.abs(B.value), atol=1e-4)
    assert_allclose(np.abs(b).sum() ** 2, sparsity)


def test_no_pair_of_features_is_better_than_a_direction_of_two():
    rng = np.random.default_rng(0)
    for _ in range(5):
        Z = rng.standard_normal((12, 12))
        Z = Z + Z.T
        b = plain(Z, 1, 2.0)[0][:, 0]
        best = min(
            np.linalg.eigvalsh(Z[np.ix_(pair, pair)])[0]
            for pair in itertools.combinations(range(12), 2)
        )
        # the best pair meets the bound, so what is found is no worse, up to another start
        assert b @ Z @ b <= best + 0.05 * abs(best)


@pytest.mark.parametrize("deflation", ["sparse", "orthonormal"])
@pytest.mark.parametrize(("X", "y"), [TALL, WIDE], ids=["tall", "wide"])
def test_without_a_bound_the_directions_are_those_of_ldg(X, y, deflation):
    full = LDG(2, gamma=0.6, n_neighbors=3).fit(X, y)
    model = SparseLDG(2, sparsity=1e6, deflation=deflation, gamma=0.6, n_neighbors=3).fit(X, y)
    # a search settles when its value does, to 1e-9: directions to the square root of that
    assert_allclose(model.components_, full.components_, atol=1e-3)
    assert_allclose(model.criterion_, full.criterion_, rtol=1e-6)
    assert_allclose(model.explained_ratio_, full.explained_ratio_, rtol=1e-5)


@pytest.mark.parametrize("deflation", ["sparse", "orthonormal"])
@pytest.mark.parametrize(("X", "y"), [TALL, WIDE], ids=["tall", "wide"])
def test_without_a_bound_all_directions_are_those_of_ldg(X, y, deflation):
    k = min(len(X) - 1, X.shape[1])
    full = LDG(k, gamma=0.3, n_neighbors=3).fit(X, y)
    assert full.criterion_[-2] < 0  # values below that of directions without data
    model = SparseLDG(k, sparsity=1e6, deflation=deflation, gamma=0.3, n_neighbors=3)
    model.fit(X, y)
    cosines = np.abs(np.sum(model.components_ * full.components_, axis=1))
    assert_allclose(cosines, 1, atol=1e-3)
    assert_allclose(model.criterion_, full.criterion_, atol=1e-5 * np.abs(full.criterion_).max())


@pytest.mark.parametrize("deflation", ["sparse", "orthonormal"])
@pytest.mark.parametrize("as_rows", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_directions_without_data_come_last_whatever_their_value(as_rows, deflation):
    settings = {"sparsity": 2.0, "deflation": deflation, "gamma": 0.3, "n_neighbors": 3}
    X, y = TALL
    constant = np.column_stack([X, np.full(len(X), 3.0), np.full(len(X), 0.1)])
    model = SparseLDG(6, **settings).fit(as_rows(constant), y)
    assert_array_equal(model.components_[:, 6:], 0)
    alone = SparseLDG(6, **settings).fit(as_rows(X), y)
    assert_allclose(model.criterion_, alone.criterion_, rtol=0.05, atol=1e-3)
    with pytest.raises(ValueError, match="at most 6"):
        SparseLDG(7, **settings).fit(as_rows(constant), y)
    rng = np.random.default_rng(0)
    X = np.where(rng.random((30, 80)) < 0.2, rng.standard_normal((30, 80)), 0.0)
    X[:, 40:] = 0.0
    X[:, 30:40] = X[:, 20:30]  # twice the same: their difference is constant
    y = np.arange(30) % 2
    model = SparseLDG(12, **settings).fit(as_rows(X), y)
    assert (model.criterion_ < 0).any()
    assert model.transform(as_rows(X)).std(axis=0).min() > 0.05


def test_auto_tries_few_directions():
    X, y = WIDE
    path = SparseLDG("auto", **FIXED).fit(X, y).selection_["n_components"]
    assert path.dimensions.max() <= 10
    noise = np.random.default_rng(0).standard_normal((60, 8))
    model = SparseLDG("auto", gamma=0.1, n_neighbors=4).fit(noise, np.arange(60) % 2)
    assert model.selection_["n_components"].dimensions.max() == 3


def test_one_feature_each_is_exactly_one():
    X, y = standardised("wine")
    model = SparseLDG(6, sparsity=1.0, **FIXED).fit(X, y)
    assert_array_equal(np.count_nonzero(model.components_, axis=1), 1)
    assert_array_equal(np.abs(model.components_).max(axis=1), 1)
    for X, y in (TALL, WIDE):
        model = SparseLDG(5, sparsity=1.0, gamma=0.3, n_neighbors=3).fit(X, y)
        assert_array_equal(np.count_nonzero(model.components_, axis=1), 1)


def test_wide_rows_solve_the_problem_in_all_features():
    X, y = WIDE
    Z = matrix(X, y)
    model = SparseLDG(3, sparsity=3.0, **FIXED).fit(X, y)
    B = plain(Z, 3, 3.0)[0]
    assert_allclose(model.criterion_, -np.sum(B * (Z @ B), axis=0), rtol=1e-6)
    assert (np.count_nonzero(model.components_, axis=1) < 12).all()


def test_sparse_deflation_makes_what_was_found_the_worst_there_is():
    X, y = standardised("wine")
    Z = matrix(X, y)
    evals = np.linalg.eigvalsh(Z)
    assert evals[0] < 0 < evals[-1]
    B = plain(Z, 13, 3.0)[0]
    # the deflation of the source sets the value of a direction to zero: below the positive ones
    overlap = np.abs(B.T @ B) - np.eye(13)
    assert overlap.max() < 0.999
    worst = evals[-1] + 0.1 * np.abs(evals).max()
    for i in range(1, 13):
        deflated = Z.copy()
        for b in B[:, :i].T:
            deflated += (worst - b @ deflated @ b) * np.outer(b, b)
            assert_allclose(b @ deflated @ b, worst)
        found = B[:, i]
        assert_allclose(np.abs(found).sum() ** 2, 3.0, rtol=1e-6)
        again = plain(deflated, 1, 3.0)[0][:, 0]
        assert found @ deflated @ found <= again @ deflated @ again + 0.02 * evals[-1]


@pytest.mark.parametrize(("X", "y"), [TALL, WIDE], ids=["tall", "wide"])
def test_orthonormal_deflation_gives_orthonormal_directions_of_few_features(X, y):
    k = 6
    model = SparseLDG(k, sparsity=2.0, deflation="orthonormal", gamma=0.6, n_neighbors=3)
    W = model.fit(X, y).components_
    assert_allclose(W @ W.T, np.eye(k), atol=1e-12)
    first = SparseLDG(1, sparsity=2.0, gamma=0.6, n_neighbors=3).fit(X, y)
    assert_allclose(W[0], first.components_[0], atol=1e-12)
    if len(X) < X.shape[1]:
        assert (np.count_nonzero(W, axis=1) <= 10).all()
    # among the features it names and orthogonal to those before, each is the best there is
    Z = matrix(X, y, k=3)
    for i in range(1, k):
        chosen = W[i] != 0
        room = np.linalg.svd(W[:i][:, chosen])[2]
        rank = np.linalg.matrix_rank(W[:i][:, chosen], tol=1e-10)
        room = room[rank:].T
        inner = room.T @ Z[np.ix_(chosen, chosen)] @ room
        best = np.linalg.eigvalsh(inner)[0]
        assert_allclose(-model.criterion_[i], best, atol=1e-8 * np.abs(Z).max())


def test_features_that_tell_the_classes_apart_are_named():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.standard_normal((60, 500))
    X[:, 70] += 3 * (y == 1)
    X[:, 300] -= 3 * (y == 2)
    model = SparseLDG(2, sparsity=2.0, **FIXED).fit(X, y)
    leading = np.argmax(np.abs(model.components_), axis=1)
    assert set(leading) == {70, 300}
    assert np.count_nonzero(model.components_) < 40


def test_gamma_and_neighbours_are_those_of_ldg_and_the_dimension_is_its_own():
    X, y = WIDE
    model = SparseLDG("auto", sparsity=3.0).fit(X, y)
    full = LDG("auto").fit(X, y)
    assert (model.gamma_, model.n_neighbors_) == (full.gamma_, full.n_neighbors_)
    assert_array_equal(model.selection_["gamma"].scores, full.selection_["gamma"].scores)
    settled = {"gamma": model.gamma_, "n_neighbors": model.n_neighbors_}
    again = SparseLDG("auto", sparsity=3.0, **settled).fit(X, y)
    assert_array_equal(
        model.selection_["n_components"].scores, again.selection_["n_components"].scores
    )
