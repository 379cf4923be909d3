"""Ranks, null spaces, Cholesky factors and signs of matrices with a known answer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import lapack

from separatrix import linalg
from tests.linalg.matrices import symmetric


def test_range_and_null_split_the_space(rng):
    S = symmetric(rng, np.array([4.0, 2.0]), 5)
    parts = linalg.range_and_null(S)
    assert_allclose(parts.evals, [4, 2])
    assert_allclose(S @ parts.null, 0, atol=1e-14)
    both = np.hstack([parts.range, parts.null])
    assert_allclose(both.T @ both, np.eye(5), atol=1e-13)
    assert linalg.null_space(S).shape == (5, 3)
    assert linalg.null_space(1e-30 * S, relative_to=1.0).shape == (5, 5)


def test_cholesky_whitener_ignores_units_and_sees_singularity(rng):
    B = symmetric(rng, np.array([3.0, 2.0, 1.0]))
    units = np.array([1e-9, 1.0, 1e9])
    W = linalg.cholesky_whitener(B * np.outer(units, units)).unwhiten(np.eye(3))
    assert_allclose(W.T @ (B * np.outer(units, units)) @ W, np.eye(3), atol=1e-12)
    for singular in (
        np.zeros((2, 2)),
        np.ones((3, 3)),
        symmetric(rng, np.array([1.0, 1e-18, 1.0])),
    ):
        with pytest.raises(linalg.SingularMatrixError):
            linalg.cholesky_whitener(singular)
    with pytest.raises(linalg.SingularMatrixError):
        linalg.cholesky_whitener(1e-20 * np.eye(2), relative_to=np.ones(2))


def test_a_cholesky_factor_gives_the_inverse(rng):
    B = symmetric(rng, np.linspace(1, 3, 7))
    units = np.logspace(-4, 4, 7)
    B = B * np.outer(units, units)
    for given, overwrite in ((B, False), (B.copy(), True)):
        inverse = linalg.cholesky_whitener(given, overwrite=overwrite).inverse()
        assert_allclose(inverse, inverse.T)
        assert_allclose(inverse @ B, np.eye(7), atol=1e-7)


def test_a_ridge_that_bounds_the_condition_spares_its_estimate(rng, monkeypatch):
    B = symmetric(rng, np.array([3.0, 2.0, 1.0]))
    whole = linalg.cholesky_whitener(B).L
    called = []
    estimate = lapack.dpocon
    monkeypatch.setattr(lapack, "dpocon", lambda *a, **k: called.append(a) or estimate(*a, **k))
    assert_array_equal(linalg.cholesky_whitener(B, least=1.0).L, whole)
    assert not called
    # so small a bound says nothing
    with pytest.raises(linalg.SingularMatrixError):
        linalg.cholesky_whitener(symmetric(rng, np.array([1.0, 1e-17, 1.0])), least=1e-17)


def test_signs_do_not_depend_on_rounding_of_ties():
    W = np.array([[1.0, -1.0], [-1.0 - 1e-12, 1.0 + 1e-12]])
    assert linalg.column_signs(W).tolist() == [1, -1]
    assert linalg.column_signs(np.zeros((2, 1))).tolist() == [1]
    assert linalg.column_signs(np.zeros((2, 0))).shape == (0,)


def test_rank_rule():
    eps = linalg.EPS
    assert linalg.numerical_rank(np.array([1.0, 11 * eps, 9 * eps]), 10) == 2
    assert linalg.numerical_rank(np.array([1.0, 1e-6]), 10, eps=np.finfo(np.float32).eps) == 1
    assert linalg.numerical_rank(np.array([1e-20]), 10, largest=1.0) == 0
    assert linalg.numerical_rank(np.zeros(3), 10) == 0
