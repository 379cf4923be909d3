"""What the thesis on LDG prints, beside what the package computes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine

from separatrix import LDG, FisherDiscriminant
from separatrix_papers.ldg import early, literal, sparse, subspaces


@pytest.fixture(scope="module")
def wine():
    found = load_wine()
    return (found.data - found.data.mean(axis=0)) / found.data.std(axis=0), found.target


def same_span(A, B):
    (Qa, _), (Qb, _) = np.linalg.qr(A), np.linalg.qr(B)
    return np.linalg.svd(Qa.T @ Qb, compute_uv=False).min() > 1 - 1e-8


def test_the_dimension_grows_through_ties_until_the_score_drops():
    assert literal.grown_until_drop(np.array([0.5, 0.8, 0.8, 0.7, 0.9])) == 3
    assert literal.grown_until_drop(np.array([0.5, 0.5, 0.6])) == 3
    assert literal.grown_until_drop(np.array([0.5, 0.4])) == 1


def test_fisher_as_printed_is_fisher_where_the_scatter_is_regular(wine):
    X, y = wine
    assert same_span(
        literal.printed_fisher_directions(X, y),
        FisherDiscriminant(shrinkage=None).fit(X, y).components_.T,
    )


def test_directions_of_unit_length_are_those_of_fisher_in_another_unit(wine):
    X, y = wine
    plain, unit = (
        FisherDiscriminant(shrinkage=None).fit(X, y),
        subspaces.UnitFisher(shrinkage=None).fit(X, y),
    )
    Z, U = plain.transform(X), unit.transform(X)
    assert np.allclose(U * np.linalg.norm(plain.components_, axis=1), Z)
    axes = U.T @ np.linalg.pinv((X - X.mean(axis=0)).T)
    assert np.allclose(np.linalg.norm(axes, axis=1), 1)


def test_the_objective_is_put_together_from_its_eigenvectors(wine):
    X, y = wine
    Z = sparse.objective(subspaces.ScoredSplit(X, y, X, y), 0.4, 4)
    B = LDG(3, gamma=0.4, n_neighbors=4).fit(X, y).components_.T
    assert np.allclose(np.linalg.eigh(Z)[1][:, :3] ** 2, B**2, atol=1e-8)


def test_sparse_deflation_as_printed_finds_a_direction_again():
    Z = np.diag([-1.0, 2.0, 3.0, 4.0])
    B = literal.sparse_deflation(Z, 3, 1.5)
    assert np.allclose(np.abs(B.T @ B), 1)


def test_orthonormal_deflation_as_printed_is_orthonormal(wine):
    X, y = wine
    Z = sparse.objective(subspaces.ScoredSplit(X, y, X, y), 0.4, 4)
    B = literal.orthonormal_deflation(Z, 5, 3.0)
    assert np.allclose(B.T @ B, np.eye(5))
    assert np.linalg.norm(B[:, 0], 1) ** 2 <= 3 + 1e-6


def test_the_asymptotic_objective_as_printed_lost_a_prior():
    means, covariance = np.array([[0.0, 0], [2, 0]]), np.eye(2)
    printed = literal.asymptotic_ldg(means, covariance, 0.5)
    # 2 γ Sb of two equal classes is γ / 2 (μ₁ - μ₂)(μ₁ - μ₂)ᵀ
    assert np.allclose(printed, 0.5 * covariance - 2 * (0.5 / 2) * np.diag([4.0, 0]))


def test_transfer_as_printed_weighs_the_own_class_by_what_the_others_leave():
    X, y, means = np.array([[1.0], [5.0]]), np.array([0, 1]), np.array([[0.0], [3.0]])
    own, other = 0.5 * (1 + 4), 0.5 * (4 + 25)
    assert np.allclose(literal.transfer_objective(X, y, means, 0.3), own - 0.3 * other)


def test_the_diagonal_ellipsoid_is_exact_for_independent_values_only():
    rng = np.random.default_rng(0)
    independent, one = rng.normal(size=(20_000, 30)), rng.normal(size=(20_000, 1))
    masses = [
        literal.in_diagonal_ellipsoid(rows, np.eye(30), 0.9).mean()
        for rows in (independent, np.repeat(one, 30, axis=1))
    ]
    assert masses[0] == pytest.approx(0.9, abs=0.01)  # three standard errors are 0.006
    assert masses[1] < 0.8


def prediction_length(X, i):
    """From when on row i is the nearest neighbour of the same rows as at the end."""

    def reverse_neighbours(t):
        D = ((X[:, None, :t] - X[None, :, :t]) ** 2).sum(axis=2)
        np.fill_diagonal(D, np.inf)
        return set(np.flatnonzero(D.argmin(axis=1) == i))

    end = X.shape[1]
    final = reverse_neighbours(end)
    for t in range(1, end + 1) if final else ():
        if all(reverse_neighbours(u) == final for u in range(t, end + 1)):
            return t
    return end


def test_a_series_is_decided_once_its_neighbour_can_be_relied_on():
    rng = np.random.default_rng(0)
    fading = 0.5 ** np.arange(7)
    X, y = rng.normal(size=(14, 7)) * fading, np.repeat(["a", "b"], 7)
    model = early.ECTS().fit(X, y)
    assert model.lengths.tolist() == [prediction_length(X, i) for i in range(14)]
    assert len(set(model.lengths)) > 2
    new = rng.normal(size=(5, 7)) * fading
    found = model.decide(new)
    for row, label, time in zip(new, found.label, found.time, strict=True):
        nearest = [((X[:, :t] - row[:t]) ** 2).sum(axis=1).argmin() for t in range(1, 8)]
        ready = [t for t, i in enumerate(nearest, start=1) if model.lengths[i] <= t or t == 7]
        assert time == ready[0]
        assert label == y[nearest[ready[0] - 1]]
    assert found.complete.tolist() == [y[((X - row) ** 2).sum(axis=1).argmin()] for row in new]
