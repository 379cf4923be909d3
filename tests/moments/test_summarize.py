"""The statistics of rows are those of the textbook, however the rows are given."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_info, threadpool_limits

import separatrix.moments
import separatrix.moments.labelled
from separatrix import (
    ClassMoments,
)
from tests.discovery import labelled
from tests.moments.expected import assert_equal_moments, every_shape, textbook


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


@pytest.mark.parametrize("per_class", [False, True])
def test_threads_and_blocks_change_nothing(monkeypatch, per_class):
    X, y = labelled(3000, 8)
    whole = ClassMoments.from_data(X, y, per_class=per_class)
    monkeypatch.setattr("separatrix.moments.summarize.MIN_THREADED_PRODUCTS", 0)
    monkeypatch.setattr("separatrix.linalg.blas.MIN_THREADED_PRODUCTS", 0)
    monkeypatch.setattr(separatrix.moments.labelled, "MAX_BLOCK_ENTRIES", 1)
    assert_equal_moments(ClassMoments.from_data(X, y, per_class=per_class), whole, rtol=1e-13)


def test_fitting_in_threads_gives_blas_back_its_threads(monkeypatch):
    X, y = labelled(3000, 8)
    whole = ClassMoments.from_data(X, y)
    monkeypatch.setattr("separatrix.moments.summarize.MIN_THREADED_PRODUCTS", 0)
    monkeypatch.setattr("separatrix.linalg.blas.MIN_THREADED_PRODUCTS", 0)

    def blas_threads():
        return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda _: ClassMoments.from_data(X, y), range(20)))
        assert blas_threads() == before
    for moments in found:
        assert_equal_moments(moments, whole, rtol=1e-12)


def test_classes_that_come_late_in_sorted_data_are_centred_too():
    X, y = labelled(5000, 3)
    X = X + 1e6 * y[:, None]
    order = np.argsort(y, kind="stable")
    Sw, _ = textbook(X, y)
    assert_allclose(ClassMoments.from_data(X[order], y[order]).Sw, Sw, rtol=1e-9)
