"""The criterion behind LDG, its gradient, and the descent."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.base.queries import Queries
from separatrix.ldg.gradient import DiscriminativeGaussians, orthonormal_descent
from separatrix.linalg import principal_angles
from separatrix.moments.neighbours import averaging_matrix, class_neighbours
from tests.discovery import labelled
from tests.ldg.book import criterion_by_the_book


def gaussians(X, y, k):
    averages = [averaging_matrix(f, np.arange(len(X)), len(X)) for f in class_neighbours(X, y, k)]
    return DiscriminativeGaussians(X, y, averages, np.bincount(y) / len(y))


def test_the_criterion_is_the_formula_and_its_gradient_the_differences():
    X, y = labelled(50, 5)
    objective = gaussians(X, y, 3)
    B = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 2)))[0]
    value, gradient = objective(B)
    assert_allclose(value, criterion_by_the_book(X, y, 3, B))
    for i in range(5):
        for j in range(2):
            step = np.zeros((5, 2))
            step[i, j] = 1e-6
            # central differences: their error is of order 1e-12 of the third derivative
            slope = (objective(B + step)[0] - objective(B - step)[0]) / 2e-6
            assert_allclose(gradient[i, j], slope, rtol=1e-6, atol=1e-5)


def test_descent_finds_the_smallest_eigenspace_of_a_quadratic():
    rng = np.random.default_rng(0)
    S = rng.standard_normal((6, 6))
    S = S + S.T
    B = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    found = orthonormal_descent(
        lambda B: (float(np.trace(B.T @ S @ B)), 2 * S @ B), B, max_steps=500
    )
    assert found.converged
    assert principal_angles(found.B.T, np.linalg.eigh(S)[1][:, :2].T).max() < 1e-6


def test_the_criterion_of_a_sample_that_is_all_rows_is_exact(rng):
    X, y = labelled(60, 5)
    averages = [averaging_matrix(f, np.arange(60), 60) for f in class_neighbours(X, y, 4)]
    everything = Queries(np.arange(60), np.ones(60), np.arange(60) % 8)
    B = np.linalg.qr(rng.standard_normal((5, 2)))[0]
    priors = np.bincount(y) / 60
    value, gradient = DiscriminativeGaussians(X, y, averages, priors)(B)
    sampled = DiscriminativeGaussians(X, y, averages, priors, everything)(B)
    assert_allclose(sampled[0], value, rtol=1e-12)
    assert_allclose(sampled[1], gradient, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(("max_steps", "converged"), [(1, False), (500, True)])
def test_a_descent_that_is_cut_short_says_so(max_steps, converged):
    S = np.diag([1.0, 2.0, 5.0, 9.0])
    B = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 1)))[0]
    found = orthonormal_descent(
        lambda B: (float(np.trace(B.T @ S @ B)), 2 * S @ B), B, max_steps=max_steps
    )
    assert (found.converged, len(found.values) == 2) == (converged, not converged)
