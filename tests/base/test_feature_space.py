"""The empirical kernel map: inner products, centring, blocks, landmarks."""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import (
    chi2_kernel,
    cosine_similarity,
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
)

from separatrix.base import feature_space
from separatrix.base.feature_space import (
    compute_centred_gram,
    empirical_kernel_map,
    place_landmarks,
)
from separatrix.kernels import RBF, Laplacian, Polynomial, settle_kernel

draws = np.random.default_rng(0)
X = draws.normal(size=(30, 4))
NEW = draws.normal(size=(17, 4))
H = np.eye(30) - 1 / 30


def laplace(A, B, width=2.0):
    return np.exp(-np.abs(A[:, None] - B).sum(axis=2) / width)


def wide_laplace(A, B):
    return laplace(A, B, 3.0)


KERNELS = {
    "rbf": (RBF(0.3), lambda A, B: rbf_kernel(A, B, gamma=0.3)),
    "polynomial": (
        Polynomial(2, gamma=0.3, coef0=0.5),
        lambda A, B: polynomial_kernel(A, B, gamma=0.3, degree=2, coef0=0.5),
    ),
    "linear": ("linear", linear_kernel),
    "laplacian": (Laplacian(0.3), lambda A, B: laplacian_kernel(A, B, gamma=0.3)),
    "function": (wide_laplace, wide_laplace),
}
every_kernel = pytest.mark.parametrize(("kernel", "function"), KERNELS.values(), ids=list(KERNELS))


def mapped(X, kernel="rbf", n_landmarks=None, tol=None, random_state=0):
    settled = settle_kernel(X, kernel, random_state=random_state)
    return empirical_kernel_map(
        X, settled, n_landmarks=n_landmarks, tol=tol, random_state=random_state
    )


@every_kernel
def test_rows_have_the_inner_products_of_the_centred_kernel(kernel, function):
    to_features, rows = mapped(X, kernel)
    K = function(X, X)
    assert_allclose(rows @ rows.T, H @ K @ H, atol=1e-10 * K.max())
    assert_allclose(rows.mean(axis=0), 0, atol=1e-10)
    assert_allclose(to_features.project(X), rows, atol=1e-6)


@every_kernel
def test_new_rows_have_the_inner_products_of_the_centred_kernel(kernel, function):
    to_features, rows = mapped(X, kernel)
    K, K_new = function(X, X), function(NEW, X)
    centred = (K_new - K.mean(axis=0)) @ H
    assert_allclose(to_features.project(NEW) @ rows.T, centred, atol=1e-9 * K.max())


@every_kernel
def test_dual_coefficients_are_orthonormal_in_the_kernel(rng, kernel, function):
    to_features, rows = mapped(X, kernel, tol=1e-6)
    A = to_features.basis
    identity = np.eye(rows.shape[1])
    assert_allclose(A.T @ H @ function(X, X) @ H @ A, identity, atol=1e-9)
    assert_allclose(A.sum(axis=0), 0, atol=1e-10)
    W = np.linalg.qr(rng.normal(size=(rows.shape[1], 2)))[0]
    turned = to_features.along(W)
    assert_allclose(turned.project(NEW), to_features.project(NEW) @ W, atol=1e-9)


def test_the_linear_map_is_the_rows_turned():
    _, rows = mapped(X, "linear")
    assert rows.shape == (30, 4)
    centred = X - X.mean(axis=0)
    assert_allclose(rows @ rows.T, centred @ centred.T, atol=1e-12)


@every_kernel
@pytest.mark.parametrize("n_landmarks", [None, 12])
def test_a_precomputed_kernel_is_the_kernel(kernel, function, n_landmarks, monkeypatch):
    # named kernels move their landmarks, which a precomputed one cannot
    monkeypatch.setattr(feature_space, "place_landmarks", lambda X, kernel, c: kernel.points(X, c))
    named, rows = mapped(X, kernel, n_landmarks=n_landmarks, tol=1e-9)
    given, rows_given = mapped(function(X, X), "precomputed", n_landmarks=n_landmarks, tol=1e-9)
    assert_allclose(rows_given @ rows_given.T, rows @ rows.T, atol=1e-9)
    products = given.project(function(NEW, X)) @ rows_given.T
    assert_allclose(products, named.project(NEW) @ rows.T, atol=1e-8)


def test_functions_of_scikit_learn_are_kernels():
    _, rows = mapped(X**2, partial(chi2_kernel, gamma=0.5))
    K = chi2_kernel(X**2, X**2, gamma=0.5)
    assert_allclose(rows @ rows.T, H @ K @ H, atol=1e-12)


def test_a_function_of_pairs_is_an_error_with_what_it_returned():
    with pytest.raises(ValueError, match=r"returned an array of shape \(\) for 30 and 30 rows"):
        mapped(X, lambda a, b: float(np.sum(a) * np.sum(b)))


def test_a_precomputed_kernel_that_is_not_square_is_an_error():
    with pytest.raises(ValueError, match=r"square matrix, but X has shape \(30, 4\)"):
        mapped(X, "precomputed")
    with pytest.raises(ValueError, match=r"symmetric matrix, but .* differ by up to 2"):
        mapped(np.array([[1.0, 3.0], [1.0, 1.0]]), "precomputed")


@pytest.mark.parametrize("n_landmarks", [None, 12])
def test_functions_that_are_no_kernels_are_errors(n_landmarks):
    def undefined(A, B):
        K = A @ B.T
        K[0, 0] = np.nan
        return K

    with pytest.raises(ValueError, match=r"undefined.* returned NaN or infinity"):
        mapped(X, undefined, n_landmarks)
    with pytest.raises(ValueError, match=r"must be symmetric, but values .* differ by up to"):
        mapped(X, lambda A, B: A[:, :1] + 2 * B[:, 0], n_landmarks)


# Ranks ------------------------------------------------------------------------------------------


def test_tol_is_a_share_of_the_largest_eigenvalue():
    evals = np.linalg.eigvalsh(H @ rbf_kernel(X, gamma=0.1) @ H)
    _, rows = mapped(X, kernel=RBF(0.1), tol=0.05)
    assert rows.shape[1] == np.count_nonzero(evals > 0.05 * evals.max()) > 1
    assert mapped(X, kernel=RBF(0.1))[1].shape[1] > rows.shape[1]


def test_rounding_is_judged_by_the_values_before_centring():
    far = X + 1e4  # all pairs of rows point the same way: cosines differ in their ninth digit
    assert mapped(far, cosine_similarity)[1].shape[1] <= 4
    assert mapped(X[:4], "rbf")[1].shape[1] == 3


def test_a_row_given_twice_adds_no_axis():
    assert mapped(np.vstack([X, X[:5]]), kernel=RBF(1.0))[1].shape == (35, 29)


def test_rows_that_coincide_have_one_axis_of_zeros():
    ones = np.ones((6, 3))
    for n_landmarks in (None, 2):
        to_features, rows = mapped(ones, "linear", n_landmarks=n_landmarks)
        assert_array_equal(rows, np.zeros((6, 1)))
        assert_array_equal(to_features.project(ones + 1), np.zeros((6, 1)))


# Precision, blocks, kinds of rows ---------------------------------------------------------------


@pytest.mark.parametrize("kernel", [RBF(0.3), "linear", Laplacian(0.3)])
def test_an_offset_costs_no_digits(kernel):
    far = X + 1e6
    plain, rows = mapped(far - 1e6, kernel)
    shifted, shifted_rows = mapped(far, kernel)
    # the data themselves are rounded to 1e-10
    assert_allclose(shifted_rows @ shifted_rows.T, rows @ rows.T, atol=1e-8)
    products = shifted.project(NEW + 1e6) @ shifted_rows.T
    assert_allclose(products, plain.project(NEW) @ rows.T, atol=1e-7)


@pytest.mark.parametrize("n_landmarks", [None, 12])
@every_kernel
def test_blocks_are_the_whole(kernel, function, n_landmarks, monkeypatch):
    whole, rows = mapped(X, kernel, n_landmarks=n_landmarks)
    expected = whole.project(NEW)
    monkeypatch.setattr(feature_space, "MAX_KERNEL_ENTRIES", 100)
    _, part_rows = mapped(X, kernel, n_landmarks=n_landmarks)
    assert_allclose(whole.project(NEW), expected, atol=1e-12)
    assert_allclose(part_rows @ part_rows.T, rows @ rows.T, atol=1e-8)


def test_projecting_many_rows_holds_few_kernel_values(rng):
    to_features, _ = mapped(rng.normal(size=(400, 2)))
    many = rng.normal(size=(60_000, 2))
    two = to_features.along(np.eye(to_features.basis.shape[1])[:, :2])
    tracemalloc.start()
    two.project(many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60_000 * 400 * 8 / 1.5


@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "linear", "laplacian"])
@pytest.mark.parametrize("n_landmarks", [None, 12])
def test_sparse_rows_are_dense_rows(kernel, n_landmarks):
    rows = np.where(np.abs(X) > 0.7, X, 0.0)
    dense, expected = mapped(rows, kernel, n_landmarks=n_landmarks, tol=1e-9)
    sparse, found = mapped(sp.csr_array(rows), kernel, n_landmarks=n_landmarks, tol=1e-9)
    assert_allclose(found @ found.T, expected @ expected.T, atol=1e-9)
    products = sparse.project(sp.csr_array(NEW)) @ found.T
    assert_allclose(products, dense.project(NEW) @ expected.T, atol=1e-8)


@every_kernel
@pytest.mark.parametrize("n_landmarks", [None, 12])
def test_a_map_of_dense_rows_takes_sparse_rows_and_the_reverse(kernel, function, n_landmarks):
    shifted, new = X + 5, NEW + 5
    from_dense, _ = mapped(shifted, kernel, n_landmarks)
    assert_allclose(from_dense.project(sp.csr_array(new)), from_dense.project(new), atol=1e-10)
    if callable(kernel):
        kernel = partial(laplacian_kernel, gamma=0.3)
    from_sparse, _ = mapped(sp.csr_array(shifted), kernel, n_landmarks)
    expected = from_sparse.project(sp.csr_array(new))
    assert_allclose(from_sparse.project(new), expected, atol=1e-10)


def test_sparse_rows_made_dense_are_few_at_a_time():
    wide = np.random.default_rng(0).normal(size=(4, 2000))
    to_features, _ = mapped(wide, "linear")
    many = sp.eye_array(40000, 2000, format="csr")
    tracemalloc.start()
    to_features.project(many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40000 * 2000 * 8 / 4


def test_float32_rows_have_float32_coordinates_of_float64_digits():
    single = X.astype(np.float32)
    to_features, rows = mapped(single, tol=1e-6)
    assert to_features.project(single).dtype == np.float32
    assert to_features.project(X).dtype == np.float64
    _, double = mapped(single.astype(np.float64), tol=1e-6)
    assert_allclose(rows @ rows.T, double @ double.T, atol=1e-12)


# Landmarks --------------------------------------------------------------------------------------


@every_kernel
def test_all_rows_as_landmarks_are_exact(kernel, function):
    settled = settle_kernel(X, kernel)
    exact, rows = empirical_kernel_map(X, settled, tol=1e-9)
    some, some_rows = empirical_kernel_map(X, settled, n_landmarks=X, tol=1e-9)
    assert_allclose(some_rows @ some_rows.T, rows @ rows.T, atol=1e-7)
    assert_allclose(some.project(NEW) @ some_rows.T, exact.project(NEW) @ rows.T, atol=1e-6)


@every_kernel
def test_landmarks_give_the_nystroem_kernel(kernel, function):
    settled = settle_kernel(X, kernel)
    to_features, rows = mapped(X, kernel, n_landmarks=9, tol=1e-9)
    L = to_features.points if settled.origin is None else to_features.points + settled.origin
    low = function(X, L) @ np.linalg.pinv(function(L, L), rcond=1e-9) @ function(L, X)
    assert_allclose(rows @ rows.T, H @ low @ H, atol=1e-7 * np.abs(low).max())
    assert_allclose(to_features.project(X), rows, atol=1e-9)


def test_landmarks_are_means_of_the_rows_nearest_to_the_chosen():
    settled = settle_kernel(X, "rbf")
    chosen = np.array([3, 8, 20])
    nearest = ((X[:, None] - X[chosen]) ** 2).sum(axis=2).argmin(axis=1)
    expected = np.stack([X[nearest == i].mean(axis=0) for i in range(3)])
    assert_allclose(place_landmarks(X, settled, chosen) + X.mean(axis=0), expected)
    doubled = X.copy()
    doubled[8] = X[3]
    assert place_landmarks(doubled, settled, chosen).shape == (2, 4)


def test_landmarks_follow_the_random_state():
    first, same, other = (mapped(X, n_landmarks=8, random_state=s)[1] for s in (0, 0, 1))
    assert_array_equal(first, same)
    assert np.abs(first @ first.T - other @ other.T).max() > 1e-3


def test_landmarks_need_no_square_matrix(rng):
    n, m = 20_000, 50
    many = rng.normal(size=(n, 3))
    tracemalloc.start()
    _, rows = mapped(many, n_landmarks=m)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert rows.shape[0] == n
    assert peak < 20 * n * m * 8


def test_the_gram_matrix_is_symmetric_and_sums_to_nothing():
    gram = compute_centred_gram(X, settle_kernel(X, "polynomial"))
    assert_allclose(gram.matrix, gram.matrix.T, rtol=1e-9)
    assert_allclose(gram.matrix.sum(axis=0), 0, atol=1e-10)


def test_coefficients_that_are_all_alike_say_nothing(rng):
    gram = compute_centred_gram(X, settle_kernel(X, "rbf"))
    A = rng.normal(size=(30, 2)) + 5
    assert_allclose(gram.map(A).project(X), gram.matrix @ A, atol=1e-12)
    assert_allclose(gram.map(A + 3).project(NEW), gram.map(A).project(NEW), atol=1e-12)


def test_a_triangle_gives_the_space_of_the_eigenvectors():
    for kernel in ("rbf", laplace):
        gram = compute_centred_gram(X, settle_kernel(X, kernel))
        triangle = gram.triangular_map()
        to_triangle, rows = triangle.along(np.eye(29)), triangle.rows
        assert rows.shape == (30, 29)
        assert_allclose(rows @ rows.T, gram.matrix, atol=1e-12)
        assert_allclose(to_triangle.project(X), rows, atol=1e-10)
        to_features, _ = gram.empirical_map()
        new, expected = to_triangle.project(NEW), to_features.project(NEW)
        assert_allclose(new @ new.T, expected @ expected.T, atol=1e-10)


@pytest.mark.parametrize(
    ("rows", "kernel"),
    [
        (X, "linear"),
        (X, RBF(1e-3)),
        (np.vstack([X, X[:1]]), RBF(1.0)),
        (X[:1], RBF(1.0)),
    ],
    ids=["few features", "wide kernel", "a row twice", "one row"],
)
def test_a_triangle_is_not_trusted_where_eigenvalues_may_be_small(rows, kernel):
    settled = settle_kernel(rows, kernel)
    assert compute_centred_gram(rows, settled).triangular_map() is None
