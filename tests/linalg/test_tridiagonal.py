"""Eigenvalues and eigenvectors by a tridiagonal matrix, of matrices with a known answer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix import linalg
from separatrix.linalg import tridiagonal
from tests.linalg.matrices import symmetric


@pytest.mark.parametrize("k", [1, 4, 10, 20, 80])
@pytest.mark.parametrize("known", [False, True])
def test_few_eigenvectors_are_the_first_of_all(rng, k, known):
    evals = np.r_[10.0, 9.0, np.linspace(5, -3, 78)]
    S = symmetric(rng, evals)
    for given in (S, np.asfortranarray(S)):
        reduced = linalg.tridiagonalize(given)
        assert_allclose(reduced.evals(), evals, atol=1e-12)
        found, V = reduced.leading(k, reduced.evals() if known else None)
        assert_allclose(found, evals[:k], atol=1e-12)
        assert_allclose(S @ V, V * found, atol=1e-12)
        assert_allclose(V.T @ V, np.eye(k), atol=1e-12)


def test_known_eigenvalues_spare_the_search_for_them(rng, monkeypatch):
    evals = np.linspace(5, -3, 80)
    S = symmetric(rng, evals)
    reduced = linalg.tridiagonalize(S)
    monkeypatch.setattr(tridiagonal.scipy.linalg, "eigh_tridiagonal", None)
    found, V = reduced.leading(5, evals)
    assert_allclose(S @ V, V * found, atol=1e-12)


@pytest.mark.parametrize("parts", [1, 2, 30])
def test_matrices_of_parts_have_orthonormal_vectors(rng, parts):
    """Copies of an eigenvalue in parts that know nothing of each other."""
    one = symmetric(rng, np.linspace(5, -3, 90 // parts))
    S = np.kron(np.eye(parts), one)
    reduced = linalg.tridiagonalize(S)
    found, V = reduced.leading(11, reduced.evals())
    assert_allclose(found, np.sort(np.linalg.eigvalsh(S))[:-12:-1], atol=1e-12)
    assert_allclose(V.T @ V, np.eye(11), atol=1e-12)
    assert_allclose(S @ V, V * found, atol=1e-12)


@pytest.mark.parametrize("k", [3, 40])
def test_where_a_driver_fails_another_one_is_asked(rng, monkeypatch, k):
    """LAPACK's stemr gives up on some matrices with many copies of an eigenvalue."""
    plain = tridiagonal.scipy.linalg.eigh_tridiagonal

    def failing(*args, **options):
        if options.get("lapack_driver") != "stebz":
            raise np.linalg.LinAlgError("stemr (eigh_tridiagonal) did not converge")
        return plain(*args, **options)

    monkeypatch.setattr(tridiagonal.scipy.linalg, "eigh_tridiagonal", failing)
    S = symmetric(rng, np.linspace(5, -3, 60))
    evals, V = linalg.tridiagonalize(S).leading(k)
    assert_allclose(S @ V, V * evals, atol=1e-12)
    assert_allclose(V.T @ V, np.eye(k), atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_smallest_matrices_are_tridiagonal_already(rng, n):
    S = symmetric(rng, np.arange(n, 0.0, -1))
    reduced = linalg.tridiagonalize(S)
    assert_allclose(reduced.evals(), np.arange(n, 0.0, -1), atol=1e-14)
    for k in range(n + 1):
        evals, V = reduced.leading(k)
        assert V.shape == (n, k)
        assert_allclose(S @ V, V * evals, atol=1e-14)
