"""The span of rows, and the factorisation that grows, against matrices with a known answer."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix import (
    linalg,
)
from separatrix.linalg import ThinSVD
from tests.linalg.matrices import orthonormal


@pytest.mark.parametrize("shape", [(5, 40), (40, 5), (7, 7)])
@pytest.mark.parametrize("rank", [1, 3])
def test_span_is_an_isometry_of_the_row_space(rng, shape, rank):
    rows = rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))
    before = rows.copy()
    s = linalg.span(rows)
    basis = s.lift(np.eye(rank))
    assert s.coordinates.shape == (shape[0], rank)
    assert_allclose(basis.T @ basis, np.eye(rank), atol=1e-13)
    assert_allclose(s.coordinates @ basis.T, rows, atol=1e-12)
    assert_allclose(rows, before, atol=0)


def test_span_does_not_depend_on_its_route(rng, monkeypatch):
    rows = rng.standard_normal((8, 60))
    rows -= rows.mean(axis=0)
    quick = linalg.span(rows, bound=7)
    monkeypatch.setattr(sys.modules["separatrix.linalg.span"], "MIN_GRAM_RCOND", 2.0)
    careful = linalg.span(rows, bound=7)
    for s in (quick, careful):
        basis = s.lift(np.eye(7))
        assert_allclose(basis.T @ basis, np.eye(7), atol=1e-13)
        assert_allclose(s.coordinates @ basis.T, rows, atol=1e-13)


def test_span_keeps_directions_that_a_gram_matrix_loses(rng):
    rows = np.diag([1.0, 1e-10]) @ orthonormal(rng, 30, 2).T
    assert linalg.span(rows).coordinates.shape == (2, 2)
    assert linalg.gram_span(rows @ rows.T, rows.T.__matmul__, order=30).coordinates.shape == (2, 1)


def test_gram_span_equals_span(rng):
    rows = rng.standard_normal((6, 50))
    s = linalg.gram_span(rows @ rows.T, rows.T.__matmul__, order=50)
    basis = s.lift(np.eye(6))
    assert_allclose(basis.T @ basis, np.eye(6), atol=1e-12)
    assert_allclose(s.coordinates @ basis.T, rows, atol=1e-12)


@pytest.mark.parametrize("n_first", [None, 12, 0])
def test_triangular_factors_give_an_orthonormal_basis_that_is_nested(rng, n_first):
    rows = rng.standard_normal((15, 60))
    rows[:12] -= rows[:12].mean(axis=0)  # eleven directions
    rows[12:] *= 50
    found = linalg.cholesky_span(rows @ rows.T, rows.T.__matmul__, 14, n_first=n_first)
    basis = found.lift(np.eye(14))
    assert_allclose(basis.T @ basis, np.eye(14), atol=1e-12)
    assert_allclose(found.coordinates @ basis.T, rows, atol=1e-11)
    if n_first == 12:
        assert not found.coordinates[:12, 11:].any()


def test_triangular_factors_are_not_used_where_digits_or_directions_are_lost(rng):
    rows = rng.standard_normal((6, 30))
    unlike, near = rows.copy(), rows.copy()
    unlike[5] *= 1e-5
    near[5] = near[4] + 1e-4 * near[5]
    twice = np.vstack([rows[:5], rows[:1]])
    for Z in (unlike, near, twice):
        assert linalg.cholesky_span(Z @ Z.T, Z.T.__matmul__, 6) is None
        s = linalg.span(Z)
        assert_allclose(s.coordinates @ s.lift(np.eye(s.coordinates.shape[1])).T, Z, atol=1e-12)


def test_span_of_nothing_is_nothing():
    s = linalg.span(np.zeros((3, 5)))
    assert s.coordinates.shape == (3, 0)
    assert s.lift(np.zeros((0, 2))).shape == (5, 2)


def test_triangle_has_the_products_of_all_blocks(rng):
    Z = rng.standard_normal((50, 6))
    R = linalg.triangle(np.split(Z, [3, 20]))
    assert R.shape == (6, 6)
    assert_allclose(R.T @ R, Z.T @ Z, atol=1e-12)


def test_principal_angles_of_known_planes():
    angle = 0.3
    A = [[1.0, 0, 0, 0], [0, 1, 0, 0]]
    B = [[1.0, 0, 0, 0], [0, np.cos(angle), np.sin(angle), 0]]
    assert_allclose(linalg.principal_angles(A, B), [angle, 0], atol=1e-9)


def rows_of_rank(n, d, rank, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))


def assert_factors(svd, rows):
    """Orthonormal to rounding, descending, and the scatter of the rows."""
    assert_allclose(svd.U.T @ svd.U, np.eye(len(svd.s)), atol=1e-14)
    assert (np.diff(svd.s) <= 0).all()
    scatter = rows.T @ rows
    assert_allclose((svd.U * svd.s**2) @ svd.U.T, scatter, atol=1e-13 * np.trace(scatter))


@pytest.mark.parametrize("cuts", [[1, 2, 3, 4], [20], [7, 8, 30], []])
@pytest.mark.parametrize("rank", [3, 12])
def test_the_factorisation_of_pieces_is_that_of_the_whole(cuts, rank):
    rows = rows_of_rank(40, 12, rank)
    svd = ThinSVD.empty(12)
    for part in np.split(rows, cuts):
        svd = svd.appended(part)
    assert len(svd.s) == rank
    assert_factors(svd, rows)


def test_rows_inside_the_span_add_no_direction():
    """What is left of them outside is rounding, at any size, and must not become an axis."""
    rows = rows_of_rank(10, 30, 4)
    svd = ThinSVD.empty(30).appended(rows)
    for factor in (1e-9, 1.0, 1e9):
        assert len(svd.appended(factor * rows).s) == 4


def test_nearly_dependent_rows_stay_orthogonal():
    """Directions just above rounding magnify the error of the first projection."""
    rng = np.random.default_rng(0)
    base = rows_of_rank(6, 50, 6)
    near = base + 1e-11 * rng.standard_normal(base.shape)
    svd = ThinSVD.empty(50).appended(base).appended(near)
    assert_factors(svd, np.vstack([base, near]))


def test_a_hundred_thousand_updates_leave_the_axes_orthonormal():
    rng = np.random.default_rng(0)
    svd = ThinSVD.empty(8)
    for row in rng.standard_normal((100_000, 1, 8)) * np.linspace(1, 3, 8):
        svd = svd.appended(row, rank=3)
    assert_allclose(svd.U.T @ svd.U, np.eye(3), atol=1e-12)


def test_no_more_axes_than_features_arise():
    """With every direction taken, what is left of a row is rounding, whatever its size."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rows = [f * rng.standard_normal((1, 2)) for f in (1e3, 1e-9, 1e3)]
        svd = ThinSVD.empty(2)
        for row in rows:
            svd = svd.appended(row)
        assert_factors(svd, np.vstack(rows))


def test_two_factorisations_merge():
    rows = rows_of_rank(40, 12, 8)
    parts = [ThinSVD.empty(12).appended(part) for part in np.split(rows, [15])]
    assert_factors(parts[0].merged(parts[1]), rows)
    truncated = parts[0].merged(parts[1], rank=2)
    assert_allclose(truncated.s, np.linalg.svd(rows)[1][:2])


def test_the_mean_shift_row_recentres():
    """The rows of a batch less their mean, and the shift of the mean, give the centred whole."""
    X = rows_of_rank(50, 9, 9) + 5
    svd, mean, seen = ThinSVD.empty(9), np.zeros(9), 0
    for batch in np.split(X, [1, 20, 23]):
        n, centre = len(batch), batch.mean(axis=0)
        shift = np.sqrt(seen * n / (seen + n)) * (centre - mean)
        svd = svd.appended(np.vstack([batch - centre, shift]))
        mean, seen = mean + n / (seen + n) * (centre - mean), seen + n
    assert_factors(svd, X - X.mean(axis=0))
