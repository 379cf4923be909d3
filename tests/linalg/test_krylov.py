"""Block Lanczos on operators whose eigenvalues are known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.linalg import krylov
from separatrix.linalg.krylov import BLOCK, block_lanczos


def diagonal(evals):
    """The operator with these eigenvalues, whose eigenvectors are the axes."""
    return lambda V: evals[:, None].astype(V.dtype) * V


def assert_leading(found, evals, k, *, rtol=1e-8):
    values, V = found
    largest = np.abs(evals).max()
    assert_allclose(values, np.sort(evals)[: -k - 1 : -1], atol=rtol * largest)
    assert_allclose(V.T @ V, np.eye(k), atol=max(1e-10, rtol))
    assert_allclose(evals[:, None] * V, V * values, atol=10 * rtol * largest)


@pytest.mark.parametrize("k", [1, 7, 40])
def test_flat_spectra_settle(rng, k):
    evals = rng.uniform(-1, 1, 1500)
    assert_leading(block_lanczos(diagonal(evals), 1500, k), evals, k)


def test_restarts_lead_to_the_same_vectors(rng, monkeypatch):
    evals = rng.uniform(0, 1, 1500)
    restarts = []
    plain = krylov._Krylov.restart
    monkeypatch.setattr(
        krylov._Krylov,
        "restart",
        lambda self, k, anew: (restarts.append(k), plain(self, k, anew=anew)),
    )
    once = block_lanczos(diagonal(evals), 1500, 20)
    few = len(restarts)
    monkeypatch.setattr(krylov, "VECTORS_PER_PAIR", 5)
    again = block_lanczos(diagonal(evals), 1500, 20)
    assert few < len(restarts)
    assert_leading(again, evals, 20)
    assert_allclose(np.abs(np.sum(once[1] * again[1], axis=0)), 1, atol=1e-8)


def test_the_same_operator_gives_the_same_digits(rng):
    evals = rng.uniform(0, 1, 800)
    first, second = (block_lanczos(diagonal(evals), 800, 9) for _ in range(2))
    assert all((a == b).all() for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("copies", [BLOCK, 100])
def test_copies_of_an_eigenvalue_are_all_found(rng, copies):
    """More than the vectors of a block need a second start."""
    evals = np.r_[np.full(copies, 3.0), rng.uniform(0, 1, 2000 - copies)]
    assert_leading(block_lanczos(diagonal(evals), 2000, copies + 3), evals, copies + 3)


def test_without_a_second_start_copies_are_missed(rng, monkeypatch):
    evals = np.r_[np.full(100, 3.0), rng.uniform(0, 1, 1900)]
    monkeypatch.setattr(krylov._Krylov, "largest_left", lambda self, n_blocks: -np.inf)
    assert block_lanczos(diagonal(evals), 2000, 103)[0][99] < 3


@pytest.mark.parametrize("anew", [False, True])
def test_restarts_keep_what_is_known_of_the_operator(rng, anew):
    evals = np.r_[[9.0, 8.0, 7.0], rng.uniform(0, 1, 797)]
    space = krylov._Krylov(diagonal(evals), 800, 20 * BLOCK, np.float64)
    space.grow(15 * BLOCK)
    space.restart(3 if anew else 40, anew=anew)
    space.grow(space.n + 3 * BLOCK)
    Q = space.Q[:, : space.n + BLOCK]
    assert_allclose(Q.T @ Q, np.eye(space.n + BLOCK), atol=1e-12)
    known = Q.T @ (evals[:, None] * Q[:, : space.n])
    assert_allclose(space.T[: space.n + BLOCK, : space.n], known, atol=1e-9)


def test_dependent_vectors_of_a_block_are_replaced(rng):
    """Also where they come before others that are not."""
    space = krylov._Krylov(diagonal(rng.uniform(0, 1, 300)), 300, 5 * BLOCK, np.float64)
    space.grow(2 * BLOCK)
    Z = space._without(rng.standard_normal((300, BLOCK)))
    Z[:, 1], Z[:, 4] = 2 * Z[:, 0], 0.0
    Q, R = space._orthonormalize(Z)
    assert_allclose(Q @ R, Z, atol=1e-12)
    every = np.hstack([space.Q[:, : space.n], Q])
    assert_allclose(every.T @ every, np.eye(3 * BLOCK), atol=1e-12)


@pytest.mark.parametrize("rank", [0, 5, BLOCK + 1, 799])
def test_closed_spans_go_on_with_new_vectors(rank):
    """Eigenvalues of ones and zeros: after one block nothing new comes from the operator."""
    evals = np.r_[np.ones(rank), np.zeros(800 - rank)]
    assert_leading(block_lanczos(diagonal(evals), 800, 20), evals, 20)


@pytest.mark.parametrize("first", [1e8, 1e12])
def test_vectors_stay_orthogonal_beside_a_large_eigenvalue(rng, first):
    evals = np.r_[first, rng.uniform(1, 2, 1199)]
    V = block_lanczos(diagonal(evals), 1200, 40)[1]
    assert_allclose(V.T @ V, np.eye(40), atol=1e-11)


@pytest.mark.parametrize("n_positive", [0, 2])
def test_eigenvalues_below_zero_settle(rng, n_positive):
    evals = np.r_[np.arange(1.0, n_positive + 1), rng.uniform(-2, -1, 1200 - n_positive)]
    assert_leading(block_lanczos(diagonal(evals), 1200, 5), evals, 5)


def test_small_eigenvalues_have_digits_of_their_own(rng):
    evals = np.r_[1e8, rng.uniform(1, 2, 1199)]
    values = block_lanczos(diagonal(evals), 1200, 40, tol=1e-7)[0]
    # the rounding of products is 1e-16 of the first one
    assert_allclose(values, np.sort(evals)[:-41:-1], rtol=1e-7)


def test_copies_of_a_small_eigenvalue_are_all_found(rng):
    evals = np.r_[1.0, np.full(100, 1e-4), rng.uniform(0, 0.5e-4, 1099)]
    values = block_lanczos(diagonal(evals), 1200, 60, tol=1e-7)[0]
    assert_allclose(values[1:], 1e-4, rtol=1e-6)


def test_zeros_above_eigenvalues_below_zero_settle(rng):
    evals = np.r_[np.zeros(50), rng.uniform(-1, -0.1, 1150)]
    assert_leading(block_lanczos(diagonal(evals), 1200, 20), evals, 20)


def test_single_precision(rng):
    evals = rng.uniform(0, 1, 1500)
    found = block_lanczos(diagonal(evals), 1500, 10, tol=1e-6, dtype=np.float32)
    assert found[1].dtype == np.float32
    assert_leading(found, evals, 10, rtol=1e-5)


def test_what_does_not_settle_is_said(rng, monkeypatch):
    monkeypatch.setattr(krylov, "MAX_RESTARTS", 2)
    assert block_lanczos(diagonal(rng.uniform(0.999, 1, 1500)), 1500, 20, tol=1e-30) is None
