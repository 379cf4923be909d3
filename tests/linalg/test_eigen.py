"""Eigenvalues, whitening and the generalized decompositions of matrices with a known answer."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
from numpy.testing import assert_allclose
from scipy.sparse.linalg import aslinearoperator

from separatrix import linalg
from tests.linalg.matrices import symmetric


@pytest.mark.parametrize("form", ["dense", "lanczos", "operator"])
def test_top_eigenpairs_do_not_depend_on_the_route(rng, form):
    evals = np.r_[10.0, 9.0, 5.0, np.linspace(1, -3, 57)]
    S = symmetric(rng, evals)
    given = aslinearoperator(S) if form == "operator" else S
    found, V = linalg.top_eigh(given, 3, max_dense_order=0 if form == "lanczos" else 2000)
    assert_allclose(found, [10, 9, 5], rtol=1e-10)
    assert_allclose(S @ V, V * found, atol=1e-8)


@pytest.mark.parametrize("k", [1, 10, 13, 60])
def test_few_eigenvectors_are_the_first_of_all(rng, k):
    evals = np.r_[10.0, 9.0, np.linspace(5, -3, 58)]
    S = symmetric(rng, evals)
    for given in (S, np.asfortranarray(S)):
        found, V = linalg.top_eigh(given, k)
        assert_allclose(found, evals[:k], atol=1e-13)
        assert_allclose(S @ V, V * found, atol=1e-12)
        assert_allclose(V.T @ V, np.eye(k), atol=1e-12)
        assert_allclose(linalg.tridiagonalize(given).evals(), evals, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_matrices_are_tridiagonal_already(rng, n):
    S = symmetric(rng, np.arange(n, 0.0, -1))
    reduced = linalg.tridiagonalize(S)
    assert_allclose(reduced.evals(), np.arange(n, 0.0, -1), atol=1e-14)
    for k in range(n + 1):
        evals, V = reduced.leading(k)
        assert V.shape == (n, k)
        assert_allclose(S @ V, V * evals, atol=1e-14)


def test_equal_eigenvalues_have_orthonormal_vectors():
    assert [part.shape for part in linalg.top_eigh(np.zeros((0, 0)), 3)] == [(0,), (0, 0)]
    for S in (np.zeros((30, 30)), np.eye(30), np.ones((30, 30))):
        evals, V = linalg.top_eigh(S, 4)
        assert_allclose(V.T @ V, np.eye(4), atol=1e-13)
        assert_allclose(S @ V, V * evals, atol=1e-13)


def test_whitening_makes_the_identity_of_the_rank(rng):
    S = symmetric(rng, np.array([4.0, 2.0, 1.0]), 6)
    A = linalg.whiten(S)
    assert A.shape == (6, 3)
    assert_allclose(A.T @ S @ A, np.eye(3), atol=1e-13)


def test_partial_whitening_levels_the_leading_directions_only(rng):
    X = rng.standard_normal((40, 8)) * np.arange(8, 0, -1)
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    mapped = X @ linalg.partial_whiten(np.eye(8), Vt[:3].T, s[:3])
    expected = np.r_[s[2], s[2], s[2], s[3:]]
    assert_allclose(np.linalg.svd(mapped)[1], expected, rtol=1e-12)


@pytest.mark.parametrize("rank", [6, 4])
def test_generalized_eigenpairs(rng, rank):
    A = symmetric(rng, rng.standard_normal(6))
    B = symmetric(rng, np.linspace(1, 2, rank), 6)
    solution = linalg.generalized_eigh(A, B)
    assert solution.rank == rank
    assert_allclose(solution.V.T @ B @ solution.V, np.eye(rank), atol=1e-12)
    assert_allclose(solution.V.T @ A @ solution.V, np.diag(solution.evals), atol=1e-12)
    assert (np.diff(solution.evals) <= 0).all()
    if rank == 6:
        assert_allclose(solution.evals, scipy.linalg.eigh(A, B, eigvals_only=True)[::-1])


@pytest.mark.parametrize(("p", "q", "d"), [(3, 20, 6), (3, 4, 30), (4, 2, 5)])
def test_gsvd_diagonalises_both_factors(rng, p, q, d):
    A, B = rng.standard_normal((p, d)), rng.standard_normal((q, d))
    alpha, beta, G = linalg.gsvd(A, B)
    assert_allclose(alpha**2 + beta**2, 1, atol=1e-12)
    assert_allclose(G.T @ A.T @ A @ G, np.diag(alpha**2), atol=1e-11)
    assert_allclose(G.T @ B.T @ B @ G, np.diag(beta**2), atol=1e-11)
    assert (np.diff(alpha) <= 1e-12).all()
