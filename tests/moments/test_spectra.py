"""Principal axes and the span of the rows, without large matrices."""

from __future__ import annotations

import tracemalloc

import numpy as np
import scipy.sparse as sp
from numpy.testing import assert_allclose

from separatrix import (
    ClassMoments,
)
from separatrix.moments.spectra import (
    reduce_to_span,
    total_axes,
)
from tests.discovery import labelled
from tests.moments.expected import assert_equal_moments


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
