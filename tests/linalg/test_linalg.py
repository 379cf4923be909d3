"""Numerics against matrices built to have a known answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
from numpy.testing import assert_allclose
from scipy.sparse.linalg import aslinearoperator
from threadpoolctl import threadpool_info, threadpool_limits

from separatrix import linalg

rng = np.random.default_rng(0)


def orthonormal(n, k):
    return np.linalg.qr(rng.standard_normal((n, k)))[0]


def symmetric(evals, n=None):
    V = orthonormal(n or len(evals), len(evals))
    return (V * evals) @ V.T


@pytest.mark.parametrize("shape", [(5, 40), (40, 5), (7, 7)])
@pytest.mark.parametrize("rank", [1, 3])
def test_span_is_an_isometry_of_the_row_space(shape, rank):
    rows = rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))
    before = rows.copy()
    s = linalg.span(rows)
    basis = s.lift(np.eye(rank))
    assert s.coordinates.shape == (shape[0], rank)
    assert_allclose(basis.T @ basis, np.eye(rank), atol=1e-13)
    assert_allclose(s.coordinates @ basis.T, rows, atol=1e-12)
    assert_allclose(rows, before, atol=0)


def test_span_does_not_depend_on_its_route(monkeypatch):
    rows = rng.standard_normal((8, 60))
    rows -= rows.mean(axis=0)
    quick = linalg.span(rows, bound=7)
    monkeypatch.setattr(linalg, "WELL_CONDITIONED", 2.0)
    careful = linalg.span(rows, bound=7)
    for s in (quick, careful):
        basis = s.lift(np.eye(7))
        assert_allclose(basis.T @ basis, np.eye(7), atol=1e-13)
        assert_allclose(s.coordinates @ basis.T, rows, atol=1e-13)


def test_span_keeps_directions_that_a_gram_matrix_loses():
    rows = np.diag([1.0, 1e-10]) @ orthonormal(30, 2).T
    assert linalg.span(rows).coordinates.shape == (2, 2)
    assert linalg.gram_span(rows @ rows.T, rows.T.__matmul__, order=30).coordinates.shape == (2, 1)


def test_gram_span_equals_span():
    rows = rng.standard_normal((6, 50))
    s = linalg.gram_span(rows @ rows.T, rows.T.__matmul__, order=50)
    basis = s.lift(np.eye(6))
    assert_allclose(basis.T @ basis, np.eye(6), atol=1e-12)
    assert_allclose(s.coordinates @ basis.T, rows, atol=1e-12)


def test_span_of_nothing_is_nothing():
    s = linalg.span(np.zeros((3, 5)))
    assert s.coordinates.shape == (3, 0)
    assert s.lift(np.zeros((0, 2))).shape == (5, 2)


def test_triangle_has_the_products_of_all_blocks():
    Z = rng.standard_normal((50, 6))
    R = linalg.triangle(np.split(Z, [3, 20]))
    assert R.shape == (6, 6)
    assert_allclose(R.T @ R, Z.T @ Z, atol=1e-12)


@pytest.mark.parametrize("form", ["dense", "lanczos", "operator"])
def test_top_eigenpairs_do_not_depend_on_the_route(form):
    evals = np.r_[10.0, 9.0, 5.0, np.linspace(1, -3, 57)]
    S = symmetric(evals)
    given = aslinearoperator(S) if form == "operator" else S
    found, V = linalg.top_eigh(given, 3, lanczos_from=0 if form == "lanczos" else 2000)
    assert_allclose(found, [10, 9, 5], rtol=1e-10)
    assert_allclose(S @ V, V * found, atol=1e-8)


def test_range_and_null_split_the_space():
    S = symmetric(np.array([4.0, 2.0]), 5)
    parts = linalg.range_and_null(S)
    assert_allclose(parts.evals, [4, 2])
    assert_allclose(S @ parts.null, 0, atol=1e-14)
    both = np.hstack([parts.range, parts.null])
    assert_allclose(both.T @ both, np.eye(5), atol=1e-13)
    assert linalg.null_space(S).shape == (5, 3)
    assert linalg.null_space(1e-30 * S, beside=1.0).shape == (5, 5)


def test_whitening_makes_the_identity_of_the_rank():
    S = symmetric(np.array([4.0, 2.0, 1.0]), 6)
    A = linalg.whiten(S)
    assert A.shape == (6, 3)
    assert_allclose(A.T @ S @ A, np.eye(3), atol=1e-13)


def test_partial_whitening_levels_the_leading_directions_only():
    X = rng.standard_normal((40, 8)) * np.arange(8, 0, -1)
    _, s, Vt = np.linalg.svd(X, full_matrices=False)
    mapped = X @ linalg.partial_whiten(np.eye(8), Vt[:3].T, s[:3])
    expected = np.r_[s[2], s[2], s[2], s[3:]]
    assert_allclose(np.linalg.svd(mapped)[1], expected, rtol=1e-12)


def test_cholesky_whitener_ignores_units_and_sees_singularity():
    B = symmetric(np.array([3.0, 2.0, 1.0]))
    units = np.array([1e-9, 1.0, 1e9])
    W = linalg.cholesky_whitener(B * np.outer(units, units)).unwhiten(np.eye(3))
    assert_allclose(W.T @ (B * np.outer(units, units)) @ W, np.eye(3), atol=1e-12)
    for singular in (np.zeros((2, 2)), np.ones((3, 3)), symmetric(np.array([1.0, 1e-18, 1.0]))):
        with pytest.raises(linalg.SingularMatrixError):
            linalg.cholesky_whitener(singular)
    with pytest.raises(linalg.SingularMatrixError):
        linalg.cholesky_whitener(1e-20 * np.eye(2), beside=np.ones(2))


@pytest.mark.parametrize("rank", [6, 4])
def test_generalized_eigenpairs(rank):
    A = symmetric(rng.standard_normal(6))
    B = symmetric(np.linspace(1, 2, rank), 6)
    solution = linalg.generalized_eigh(A, B)
    assert solution.rank == rank
    assert_allclose(solution.V.T @ B @ solution.V, np.eye(rank), atol=1e-12)
    assert_allclose(solution.V.T @ A @ solution.V, np.diag(solution.evals), atol=1e-12)
    assert (np.diff(solution.evals) <= 0).all()
    if rank == 6:
        assert_allclose(solution.evals, scipy.linalg.eigh(A, B, eigvals_only=True)[::-1])


@pytest.mark.parametrize(("p", "q", "d"), [(3, 20, 6), (3, 4, 30), (4, 2, 5)])
def test_gsvd_diagonalises_both_factors(p, q, d):
    A, B = rng.standard_normal((p, d)), rng.standard_normal((q, d))
    alpha, beta, G = linalg.gsvd(A, B)
    assert_allclose(alpha**2 + beta**2, 1, atol=1e-12)
    assert_allclose(G.T @ A.T @ A @ G, np.diag(alpha**2), atol=1e-11)
    assert_allclose(G.T @ B.T @ B @ G, np.diag(beta**2), atol=1e-11)
    assert (np.diff(alpha) <= 1e-12).all()


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


def test_principal_angles_of_known_planes():
    angle = 0.3
    A = [[1.0, 0, 0, 0], [0, 1, 0, 0]]
    B = [[1.0, 0, 0, 0], [0, np.cos(angle), np.sin(angle), 0]]
    assert_allclose(linalg.principal_angles(A, B), [angle, 0], atol=1e-9)


# The nearest point where a quadratic vanishes ---------------------------------------------------


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


def test_eigenproblems_use_one_blas_thread_and_give_the_others_back(monkeypatch):
    def blas_threads():
        return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}

    seen = []
    eigh = scipy.linalg.eigh
    monkeypatch.setattr(
        scipy.linalg, "eigh", lambda *args, **kw: seen.append(blas_threads()) or eigh(*args, **kw)
    )
    S = np.diag(np.arange(5.0))
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        linalg.top_eigh(S, 2)
        assert seen == [{1}]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: linalg.top_eigh(S, 2), range(200)))
        assert blas_threads() == before
