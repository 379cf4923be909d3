"""Eigenvalues, whitening and the generalized decompositions of matrices with a known answer."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
from numpy.testing import assert_allclose
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from separatrix import linalg
from tests.linalg.matrices import symmetric


@pytest.mark.parametrize("form", ["dense", "lanczos", "operator"])
def test_top_eigenpairs_do_not_depend_on_the_route(rng, form):
    evals = np.r_[10.0, 9.0, 5.0, np.linspace(1, -3, 397)]
    S = symmetric(rng, evals)
    given = aslinearoperator(S) if form == "operator" else S
    found, V = linalg.top_eigh(given, 3, max_dense_order=2000 if form == "dense" else 0)
    assert_allclose(found, [10, 9, 5], rtol=1e-10)
    assert_allclose(S @ V, V * found, atol=1e-8)
    assert_allclose(V.T @ V, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("form", ["matrix", "operator"])
def test_all_copies_of_an_eigenvalue_are_found(rng, form):
    evals = np.r_[np.full(30, 5.0), np.linspace(1, 0, 770)]
    S = symmetric(rng, evals)
    given = S if form == "matrix" else aslinearoperator(S)
    found, V = linalg.top_eigh(given, 32, max_dense_order=0)
    assert_allclose(found, evals[:32], atol=1e-8)
    assert_allclose(V.T @ V, np.eye(32), atol=1e-8)


def leading(evals, k, **options):
    """The leading pairs of an operator with these eigenvalues."""
    operator = LinearOperator(
        (len(evals),) * 2, matvec=lambda v: evals * np.ravel(v), dtype=np.float64
    )
    return linalg.top_eigh(operator, k, **options)


RNG = np.random.default_rng(0)
SPECTRA = {
    "flat": (RNG.uniform(-1, 1, 1500), 40),
    "copies": (np.r_[np.full(100, 3.0), RNG.uniform(0, 1, 1900)], 103),
    "ones and zeros": (np.r_[np.ones(17), np.zeros(783)], 20),
    "rank one less": (np.r_[np.ones(799), np.zeros(1)], 20),
    "beside a large one": (np.r_[1e8, RNG.uniform(1, 2, 1199)], 40),
    "below zero": (RNG.uniform(-2, -1, 1200), 5),
    "zeros above those below zero": (np.r_[np.zeros(50), RNG.uniform(-1, -0.1, 1150)], 20),
    "small copies": (np.r_[1.0, np.full(100, 1e-4), RNG.uniform(0, 0.5e-4, 1099)], 60),
    "zero": (np.zeros(900), 3),
}


@pytest.mark.parametrize(("evals", "k"), SPECTRA.values(), ids=SPECTRA)
def test_operators_of_any_spectrum_settle(evals, k):
    found, V = leading(evals, k)
    largest = np.abs(evals).max()
    assert_allclose(found, np.sort(evals)[: -k - 1 : -1], atol=1e-9 * largest)
    assert_allclose(V.T @ V, np.eye(k), atol=1e-9)
    assert_allclose(evals[:, None] * V, V * found, atol=1e-8 * largest)


def test_the_same_operator_gives_the_same_digits():
    first, second = (leading(SPECTRA["flat"][0], 9) for _ in range(2))
    assert all((a == b).all() for a, b in zip(first, second, strict=True))


def test_single_precision_gives_six_digits(rng):
    evals = np.r_[10.0, 9.0, 5.0, np.linspace(1, -3, 797)]
    S = symmetric(rng, evals)
    found, V = linalg.top_eigh(S.astype(np.float32), 3, max_dense_order=0)
    assert V.dtype == np.float32
    assert_allclose(found, [10, 9, 5], rtol=1e-6)
    assert_allclose(S @ V, V * found, atol=1e-4)


def test_equal_eigenvalues_have_orthonormal_vectors():
    assert [part.shape for part in linalg.top_eigh(np.zeros((0, 0)), 3)] == [(0,), (0, 0)]
    assert [part.shape for part in linalg.top_eigh(np.eye(3), 0, max_dense_order=0)] == [
        (0,),
        (3, 0),
    ]
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
