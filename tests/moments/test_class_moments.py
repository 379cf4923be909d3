"""ClassMoments: an algebra that does not care how the rows were cut."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

import separatrix.moments
import separatrix.moments.labelled
from separatrix import ClassMoments
from separatrix.moments.spectra import reduce_to_span, total_axes
from tests.discovery import labelled

SHAPES = {"dense form": (200, 7), "thin form": (30, 80)}
every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def textbook(X, y, weights=None):
    """Sw and Sb as written in a textbook, in twice the precision."""
    X = X.astype(np.longdouble)
    w = np.ones(len(X)) if weights is None else weights
    mean = np.average(X, axis=0, weights=w)
    Sw = Sb = 0
    for c in np.unique(y):
        Z, v = X[y == c], w[y == c]
        m = np.average(Z, axis=0, weights=v)
        Sw = Sw + (Z - m).T @ ((Z - m) * v[:, None])
        Sb = Sb + v.sum() * np.outer(m - mean, m - mean)
    return Sw.astype(float), Sb.astype(float)


def assert_equal_moments(a, b, rtol=1e-10):
    assert_array_equal(a.classes, b.classes)
    assert_allclose(a.counts, b.counts, rtol=rtol)
    assert_allclose(a.means, b.means, rtol=rtol, atol=rtol)
    for name in ("Sw", "Sb", "St"):
        expected = getattr(b, name)
        assert_allclose(getattr(a, name), expected, atol=rtol * np.abs(expected).max())
    if a.per_class:
        expected = b.class_scatters
        assert_allclose(a.class_scatters, expected, atol=rtol * np.abs(expected).max())


@every_shape
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("per_class", [False, True])
def test_scatters_are_the_textbooks(shape, offset, per_class):
    X, y = labelled(*shape)
    X = X + offset
    m = ClassMoments.from_data(X, y, per_class=per_class)
    Sw, Sb = textbook(X, y)
    assert m.is_thin == (shape[0] < shape[1])
    assert_allclose(m.Sw, Sw, atol=1e-12 * np.abs(Sw).max())
    assert_allclose(m.Sb, Sb, atol=1e-12 * np.abs(Sb).max())
    assert_allclose(m.Sw + m.Sb, m.St, atol=1e-12 * np.abs(Sb).max())
    assert m.n_samples == shape[0]
    assert m.n_features == shape[1]
    if per_class:
        assert_allclose(m.class_scatters.sum(axis=0), m.Sw, atol=1e-12 * np.abs(Sw).max())


@every_shape
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_shards_in_any_order_and_grouping_add_to_the_union(shape, offset, per_class, make):
    X, y = labelled(*shape)
    X = X + offset
    whole = ClassMoments.from_data(X, y, per_class=per_class)
    cuts = np.split(np.arange(len(X)), [1, 5, len(X) // 2])
    parts = [ClassMoments.from_data(make(X[i]), y[i], per_class=per_class) for i in cuts]
    a, b, c, d = parts
    for total in (((a + b) + c) + d, (d + b) + (c + a), a + (b + (c + d))):
        assert_equal_moments(total, whole)


@every_shape
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_subtracting_what_was_added_gives_back_the_rest(shape, offset, per_class, make):
    X, y = labelled(*shape)
    X = X + offset
    first, rest = np.split(np.arange(len(X)), [len(X) // 2])
    a, b = (ClassMoments.from_data(make(X[i]), y[i], per_class=per_class) for i in (first, rest))
    assert_equal_moments((a + b) - a, b)
    assert_equal_moments((a + b) - b, a)


def test_subtracting_a_whole_class_leaves_it_empty():
    X, y = labelled(60, 4)
    rest = ClassMoments.from_data(X, y) - ClassMoments.from_data(X[y == 1], y[y == 1])
    assert_array_equal(rest.counts, [15, 0, 30])
    assert_array_equal(rest.means[1], 0)
    assert_allclose(rest.Sw, ClassMoments.from_data(X[y != 1], y[y != 1]).Sw, atol=1e-10)


@every_shape
def test_subtracting_more_than_is_there_is_an_error(shape):
    X, y = labelled(*shape)
    m = ClassMoments.from_data(X, y)
    with pytest.raises(ValueError, match=r"cannot subtract \d+ samples of class 0"):
        m - (m + m)
    with pytest.raises(ValueError, match="samples of class 9"):
        m - ClassMoments.from_data(X[:2], [9, 9])
    with pytest.raises(ValueError, match="negative scatter"):
        m - ClassMoments.from_data(100 * X[:10], y[:10])
    with pytest.raises(ValueError, match="negative scatter"):
        m - ClassMoments.from_data(X + 50, y)


def test_subtracting_foreign_rows_is_an_error_where_their_span_is_another():
    rng = np.random.default_rng(0)
    X, foreign = rng.normal(size=(30, 100)), 0.5 * rng.normal(size=(9, 100))
    m = ClassMoments.from_data(X, np.arange(30) % 3)
    part = ClassMoments.from_data(foreign, np.arange(9) % 3)
    assert (m.Sw.diagonal() > part.Sw.diagonal()).all()  # each feature alone would allow it
    with pytest.raises(ValueError, match="negative scatter"):
        m - part


@every_shape
def test_update_is_addition_in_place(shape):
    X, y = labelled(*shape)
    m = ClassMoments.from_data(X[:10], y[:10])
    assert m.update(X[10:], y[10:]) is m
    assert_equal_moments(m, ClassMoments.from_data(X, y))


@every_shape
def test_decay_is_a_weight_on_the_past(shape):
    X, y = labelled(*shape)
    half = len(X) // 2
    faded = ClassMoments.from_data(X[:half], y[:half]).decay(0.25)
    weights = np.r_[np.full(half, 0.25), np.ones(len(X) - half)]
    expected = ClassMoments.from_data(X, y, sample_weight=weights)
    assert_equal_moments(faded + ClassMoments.from_data(X[half:], y[half:]), expected)
    for factor in (0, -1, 1.5):
        with pytest.raises(ValueError, match="decay factor"):
            faded.decay(factor)


@every_shape
@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_weights_count_rows_several_times(shape, per_class, make):
    X, y = labelled(*shape)
    weights = np.arange(len(X)) // 4 % 3
    weighted = ClassMoments.from_data(make(X), y, sample_weight=weights, per_class=per_class)
    rows = np.repeat(np.arange(len(X)), weights)
    assert_equal_moments(weighted, ClassMoments.from_data(X[rows], y[rows], per_class=per_class))


@every_shape
@pytest.mark.parametrize("per_class", [False, True])
def test_sparse_rows_have_the_moments_of_dense_rows(shape, per_class):
    X, y = labelled(*shape)
    X = np.where(np.abs(X) > 2, X, 0.0)
    X[:, 0] += 1e6  # a full column with an offset keeps its digits too
    sparse = ClassMoments.from_data(sp.csr_matrix(X), y, per_class=per_class)
    assert_equal_moments(sparse, ClassMoments.from_data(X, y, per_class=per_class))


def test_sparse_rows_are_never_made_dense():
    rng = np.random.default_rng(0)
    n, d, nnz = 500, 40_000, 20_000
    X = sp.csr_array((rng.random(nnz), (rng.integers(0, n, nnz), rng.integers(0, d, nnz))), (n, d))
    y = np.arange(n) % 3
    tracemalloc.start()
    m = ClassMoments.from_data(X, y)
    small, lift = reduce_to_span(m)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert small.n_features < n
    assert lift(np.eye(small.n_features, 2)).shape == (d, 2)
    assert peak < n * d * 8 / 4  # the dense matrix would take 160 MB


def test_thin_moments_make_no_square_matrix():
    X, y = labelled(20, 20_000)  # 20 000² floats would take 3.2 GB
    tracemalloc.start()
    half = ClassMoments.from_data(X[:10], y[:10])
    m = half + ClassMoments.from_data(X[10:], y[10:])
    small, _ = reduce_to_span(m - half)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert small.n_features < 10
    assert peak < 100e6


@pytest.mark.parametrize("n", [5000, 70_000])
def test_single_precision_rows_are_summed_in_double(n):
    X, y = labelled(n, 5)
    X = X.astype(np.float32)
    single = ClassMoments.from_data(X, y)
    double = ClassMoments.from_data(X.astype(np.float64), y)
    assert single.Sw.dtype == single.means.dtype == np.float64
    # products of single-precision rows within a block, but no growth with their number
    assert_allclose(single.Sw, double.Sw, atol=3e-7 * np.abs(double.Sw).max())
    assert_allclose(single.means, double.means, atol=1e-7)


def test_single_precision_rows_with_an_offset_are_centred_exactly():
    X, y = labelled(5000, 5)
    X = (X + 1e5).astype(np.float32)  # a step of float32 is 0.008 here
    single, double = (ClassMoments.from_data(X.astype(t), y) for t in (np.float32, np.float64))
    assert_allclose(single.means, double.means, rtol=1e-11)
    # on so coarse a grid the rounding of products does not average out
    assert_allclose(single.Sw, double.Sw, atol=5e-6 * np.abs(double.Sw).max())


def test_precision_is_that_of_the_coarsest_rows():
    X, y = labelled(50, 5)
    single, double = (ClassMoments.from_data(X.astype(t), y) for t in (np.float32, np.float64))
    assert double.eps < 1e-15
    assert (double + single).eps == (single + double).eps == single.eps > 1e-8


@pytest.mark.parametrize("per_class", [False, True])
def test_threads_and_blocks_change_nothing(monkeypatch, per_class):
    X, y = labelled(3000, 8)
    whole = ClassMoments.from_data(X, y, per_class=per_class)
    monkeypatch.setattr("separatrix.moments.summarize.MIN_THREADED_PRODUCTS", 0)
    monkeypatch.setattr(separatrix.moments.labelled, "BLOCK_ENTRIES", 1)
    assert_equal_moments(ClassMoments.from_data(X, y, per_class=per_class), whole, rtol=1e-13)


def test_fitting_in_threads_gives_blas_back_its_threads(monkeypatch):
    X, y = labelled(3000, 8)
    whole = ClassMoments.from_data(X, y)
    monkeypatch.setattr("separatrix.moments.summarize.MIN_THREADED_PRODUCTS", 0)

    def blas_threads():
        return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: ClassMoments.from_data(X, y), range(20)))
        assert blas_threads() == before
    for moments in found:
        assert_equal_moments(moments, whole, rtol=1e-12)


def test_sum_adds_moments():
    X, y = labelled(60, 4)
    parts = [ClassMoments.from_data(X[i::3], y[i::3]) for i in range(3)]
    assert_equal_moments(sum(parts), ClassMoments.from_data(X, y))


def test_classes_that_come_late_in_sorted_data_are_centred_too():
    X, y = labelled(5000, 3)
    X = X + 1e6 * y[:, None]
    order = np.argsort(y, kind="stable")
    Sw, _ = textbook(X, y)
    assert_allclose(ClassMoments.from_data(X[order], y[order]).Sw, Sw, rtol=1e-9)


def test_labels_may_be_of_any_type_and_announced():
    X, y = labelled(40, 3)
    names = np.array(["x", "yy", "zzz"])[y]
    m = ClassMoments.from_data(pd.DataFrame(X), pd.Series(names), classes=["w", "x", "yy", "zzz"])
    assert m.classes.tolist() == ["w", "x", "yy", "zzz"]
    assert m.counts.tolist() == [0, 10, 10, 20]
    assert_array_equal(m.means[0], 0)
    with pytest.raises(ValueError, match=r"not among classes: \['zzz'\]"):
        ClassMoments.from_data(X, names, classes=["x", "yy"])
    bools = ClassMoments.from_data(X, y > 0)
    assert bools.classes.tolist() == [False, True]


def test_moments_that_do_not_match_are_refused():
    X, y = labelled(40, 3)
    m = ClassMoments.from_data(X, y)
    with pytest.raises(ValueError, match="2 features and of 3 features"):
        m + ClassMoments.from_data(X[:, :2], y)
    with pytest.raises(ValueError, match="labels differ in type"):
        m + ClassMoments.from_data(X, y.astype(str))
    with pytest.raises(ValueError, match="with and without per-class"):
        m + ClassMoments.from_data(X, y, per_class=True)
    with pytest.raises(TypeError, match="cannot add int"):
        m + 1
    with pytest.raises(ValueError, match="per_class=True"):
        m.class_scatters  # noqa: B018


@pytest.mark.parametrize(
    ("weights", "message"),
    [(np.ones(3), "shape"), (-np.ones(40), "non-negative"), (np.zeros(40), "not all zero")],
)
def test_bad_weights_are_refused(weights, message):
    X, y = labelled(40, 3)
    with pytest.raises(ValueError, match=message):
        ClassMoments.from_data(X, y, sample_weight=weights)


def test_missing_values_are_refused():
    X, y = labelled(40, 3)
    X[7, 1] = np.nan
    for rows in (X, sp.csr_array(X), X.astype(np.float32), X[:2]):
        if np.isnan(rows.sum()):
            with pytest.raises(ValueError, match="NaN in column 1"):
                ClassMoments.from_data(rows, y[: rows.shape[0]])


def test_the_empty_moments_are_the_zero_of_addition():
    X, y = labelled(40, 3)
    m = ClassMoments.from_data(X, y)
    zero = ClassMoments.empty(np.unique(y), 3)
    assert_equal_moments(zero + m, m)
    assert_equal_moments(m + zero, m)


def test_the_span_keeps_all_that_matters():
    X, y = labelled(20, 50)
    m = ClassMoments.from_data(X, y)
    small, lift = reduce_to_span(m)
    basis = lift(np.eye(small.n_features))
    assert small.n_features == 19
    assert_allclose(basis.T @ basis, np.eye(19), atol=1e-12)
    assert_allclose(basis @ small.Sw @ basis.T, m.Sw, atol=1e-10)
    assert_allclose(basis @ small.Sb @ basis.T, m.Sb, atol=1e-10)
    assert_equal_moments(small, m.project(basis))


def test_principal_axes_are_those_of_the_total_scatter():
    X, y = labelled(200, 30)
    thin = ClassMoments.from_data(sp.csr_array(np.where(np.abs(X[:25]) > 1, X[:25], 0)), y[:25])
    for m in (ClassMoments.from_data(X, y), thin):
        evals, V = total_axes(m, 4)
        assert_allclose(evals, np.linalg.eigvalsh(m.St)[::-1][:4], rtol=1e-9)
        assert_allclose(m.St @ V, V * evals, atol=1e-8 * evals[0])
        assert_allclose(V.T @ V, np.eye(4), atol=1e-12)


@given(
    n=st.integers(2, 12),
    d=st.integers(1, 15),
    cut=st.integers(1, 11),
    seed=st.integers(0, 99),
    offset=st.sampled_from([0.0, 1e6, -1e6]),
)
def test_any_cut_adds_up(n, d, cut, seed, offset):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, d)) + offset
    y = rng.integers(0, 3, n)
    cut = min(cut, n - 1)
    whole = ClassMoments.from_data(X, y)
    left, right = (ClassMoments.from_data(X[i], y[i]) for i in (slice(cut), slice(cut, None)))
    assert_allclose((left + right).Sw, whole.Sw, atol=1e-9)
    assert_allclose((left + right).Sb, whole.Sb, atol=1e-9)
    assert_allclose((whole - left).Sw, right.Sw, atol=1e-9)
