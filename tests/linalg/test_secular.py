"""The nearest point where a quadratic vanishes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
from numpy.testing import assert_allclose

from separatrix import linalg


def shortest_by_search(lam, beta, gap, n_starts=30):
    """The same by minimising from many points."""
    best = np.inf
    for start in np.random.default_rng(0).standard_normal((n_starts, len(lam))):
        found = scipy.optimize.minimize(
            lambda z: z @ z,
            2 * start,
            jac=lambda z: 2 * z,
            constraints={
                "type": "ineq",
                "fun": lambda z: -(lam @ z**2 + beta @ z + gap),
                "jac": lambda z: -(2 * lam * z + beta),
            },
            method="SLSQP",
            options={"maxiter": 200, "ftol": 1e-14},
        ).x
        if lam @ found**2 + beta @ found + gap <= 1e-8:
            best = min(best, found @ found)
    return best


KINDS = ["indefinite", "convex", "concave", "linear", "hard", "equal"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_boundary_distance_is_the_shortest_that_a_search_finds(kind):
    local = np.random.default_rng(KINDS.index(kind))
    for k in (1, 2, 4):
        lam, beta = 2 * local.standard_normal((2, k))
        gap = np.array(local.exponential())
        if kind == "convex":
            lam = np.abs(lam)
        if kind == "concave":
            lam = -np.abs(lam)
        if kind == "linear":
            lam = np.zeros(k)
        if kind == "equal":
            lam = np.full(k, -1.5)
        if kind == "hard":  # no slope along the most negative curvature
            lam[0] = -1 - np.abs(lam).max()
            beta[0] = 0
            beta /= 3
        found = linalg.boundary_distance(lam, beta, gap)
        assert_allclose(found, shortest_by_search(lam, beta, gap), rtol=1e-5)


def test_the_hard_case_is_the_limit_of_slopes_that_vanish():
    lam, gap = np.array([-2.0, 1.0, 3.0]), np.array(5.0)
    hard = linalg.boundary_distance(lam, np.array([0.0, 1.0, 1.0]), gap)
    # z = (±s, -1/6, -1/10) with s² what the others leave
    others = np.array([-1 / 6, -1 / 10])
    rest = gap + lam[1:] @ others**2 + others.sum()
    assert_allclose(hard, rest / 2 + others @ others, rtol=1e-12)
    for slope in (1e-3, 1e-6, 1e-12, 1e-100, 1e-150, 1e-200):
        near = linalg.boundary_distance(lam, np.array([slope, 1.0, 1.0]), gap)
        assert_allclose(near, hard, rtol=2 * slope + 1e-9)
        assert near <= hard * (1 + 1e-12)


def test_a_quadratic_that_stays_positive_has_no_boundary():
    convex, slopes = np.array([1.0, 2.0]), np.array([2.0, 0.0])
    assert linalg.boundary_distance(convex, slopes, np.array(1.001)) == np.inf
    assert_allclose(linalg.boundary_distance(convex, slopes, np.array(0.999)), 1, rtol=0.1)
    assert linalg.boundary_distance(np.zeros(2), np.zeros(2), np.array(1.0)) == np.inf
    assert (
        linalg.boundary_distance(np.zeros((3, 0)), np.zeros((3, 0)), np.ones(3)).tolist()
        == [np.inf] * 3
    )
    assert linalg.boundary_distance(convex, slopes, np.array(0.0)) == 0


def test_a_boundary_of_one_point_is_found_to_rounding():
    local = np.random.default_rng(0)
    lam, beta = np.abs(local.standard_normal((2, 500, 6)))
    vertex = -beta / (2 * lam)
    bottom = np.sum(beta**2 / 4 / lam, axis=1)
    found = linalg.boundary_distance(lam, beta, np.nextafter(bottom, 0))
    finite = np.isfinite(found)  # rounding decides whether there is a point at all
    assert 0 < finite.sum() < 500
    assert_allclose(found[finite], np.sum(vertex**2, axis=1)[finite], rtol=1e-6)


def test_boundary_distances_of_any_size_and_shape():
    local = np.random.default_rng(0)
    lam, beta = local.standard_normal((2, 40, 6))
    gap = local.exponential(size=40)
    expected = linalg.boundary_distance(lam, beta, gap)
    one_by_one = [linalg.boundary_distance(*row) for row in zip(lam, beta, gap, strict=True)]
    assert_allclose(expected, one_by_one, rtol=1e-12)
    for factor in (1e-8, 1e8):  # of the function, then of z
        values = linalg.boundary_distance(factor * lam, factor * beta, factor * gap)
        assert_allclose(values, expected, rtol=1e-9)
        steps = linalg.boundary_distance(lam / factor**2, beta / factor, gap)
        assert_allclose(steps, factor**2 * expected, rtol=1e-9)
    order = local.permutation(6)
    shuffled = linalg.boundary_distance(lam[:, order], -beta[:, order], gap)
    assert_allclose(shuffled, expected, rtol=1e-10)
    shared = linalg.boundary_distance(lam[0], beta, gap)
    assert_allclose(shared, linalg.boundary_distance(np.tile(lam[0], (40, 1)), beta, gap))
