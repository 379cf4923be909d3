"""Scatters answer alike as a matrix, as rows, and along a few axes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import (
    ClassMoments,
)
from separatrix.linalg import ThinSVD
from separatrix.moments.scatter import (
    AxisRows,
    NegativeScatterError,
    Scatter,
    SparseRows,
    Stack,
)
from separatrix.moments.spectra import (
    between_along_axes,
    max_total_rank,
    reduce_to_span,
    total_axes,
)
from tests.discovery import labelled


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("per_class", [False, True])
def test_truncated_moments_keep_means_traces_and_leading_axes(make, per_class):
    X, y = labelled(40, 120, 2)
    X[:, :3] *= 30  # three axes that stand out
    whole = ClassMoments.from_data(make(X), y, per_class=per_class)
    small = whole.truncated(6)
    assert small.most_rows() == 6
    assert small.is_truncated
    assert_array_equal(small.means, whole.means)
    for a, b in zip(small._scatters, whole._scatters, strict=True):
        evals, V = np.linalg.eigh(a.matrix())
        exact = np.linalg.eigvalsh(b.matrix())
        assert_allclose(evals[-6:], exact[-6:])
        assert_allclose(evals[:-6], exact[:-6].mean())
        assert_allclose(b.matrix() @ V[:, -6:], V[:, -6:] * evals[-6:], atol=1e-8 * evals[-1])
        assert_allclose(a.diagonal(), a.matrix().diagonal())
        assert_allclose(a.diagonal().sum(), b.diagonal().sum())


def test_truncated_moments_answer_alike_in_every_form():
    """Axes, products and projections see the floor as the matrix does."""
    X, y = labelled(60, 80, 3)
    small = ClassMoments.from_data(X, y).truncated(10)
    V = np.random.default_rng(0).standard_normal((80, 4))
    assert_allclose(small.within_apply(V), small.Sw @ V)
    assert_allclose(small.project(V).Sw, V.T @ small.Sw @ V)
    evals, axes = total_axes(small, 5)
    assert_allclose(small.St @ axes, axes * evals, atol=1e-9 * evals[0])
    assert_allclose(between_along_axes(small, 5).evals, evals)
    inside, lift = reduce_to_span(small)
    basis = lift(np.eye(inside.n_features))
    assert_allclose(inside.Sw, basis.T @ small.Sw @ basis, atol=1e-9 * evals[0])
    assert max_total_rank(small) == 80


def rows_in_forms(rng):
    """The same centred rows as an array, sparse, and along their axes."""
    X = rng.integers(0, 3, (6, 9)).astype(float)
    Z = X - X.mean(axis=0)
    average = sp.csr_array(np.full((1, 6), 6**-0.5))
    return Z, [Z, SparseRows(sp.csr_array(X), average), AxisRows(ThinSVD.empty(9).appended(Z))]


def test_rows_in_any_form_are_one_scatter(rng):
    Z, forms = rows_in_forms(rng)
    V = rng.standard_normal((9, 2))
    chosen = np.arange(9) % 2 == 0
    for R in forms:
        scatter = Scatter(9, None, [(1.0, R)])
        assert_allclose(scatter.matrix(), Z.T @ Z, atol=1e-12)
        assert_allclose(scatter.diagonal(), np.sum(Z**2, axis=0), atol=1e-12)
        assert_allclose(scatter.apply(V), Z.T @ (Z @ V), atol=1e-12)
        assert_allclose(scatter.projected(V).matrix(), V.T @ Z.T @ Z @ V, atol=1e-11)
        if not isinstance(R, AxisRows):
            part = scatter.select_columns(chosen).matrix()
            assert_allclose(part, Z[:, chosen].T @ Z[:, chosen], atol=1e-12)


def test_the_trace_is_that_of_the_matrix(rng):
    rows, sparse = rng.standard_normal((3, 9)), sp.random_array((4, 9), density=0.5, rng=0).tocsr()
    average = sp.csr_array(np.full((1, 4), 0.5))
    scatter = Scatter(9, None, [(2.0, rows), (1.0, SparseRows(sparse, average))], floor=0.3)
    assert scatter.is_thin
    for form in (scatter, scatter.with_matrix()):
        assert_allclose(form.trace(), np.trace(scatter.matrix()))


def test_stacked_rows_of_all_forms_have_the_inner_products_of_the_rows(rng):
    _, forms = rows_in_forms(rng)
    stack = Stack(forms, np.array([1.0, 2.0, 3.0]))
    whole = np.vstack(
        [
            f * (R if isinstance(R, np.ndarray) else R.toarray())
            for f, R in zip(stack.factors, forms, strict=True)
        ]
    )
    assert_allclose(stack.gram(), whole @ whole.T, atol=1e-10)
    A = rng.standard_normal((len(whole), 2))
    assert_allclose(stack.transposed_matmul(A), whole.T @ A, atol=1e-11)
    assert_allclose(stack.gram_apply(A), whole @ (whole.T @ A), atol=1e-10)


def test_rows_that_are_subtracted_leave_fewer_rows_or_an_error(rng):
    Z = rng.standard_normal((6, 20))
    scatter = Scatter(20, None, [(1.0, Z), (-1.0, Z[:2])]).refactored()
    assert scatter.n_rows == 4
    assert_allclose(scatter.matrix(), Z[2:].T @ Z[2:], atol=1e-12)
    with pytest.raises(NegativeScatterError):
        Scatter(20, None, [(1.0, Z[:2]), (-1.0, Z)]).refactored()


def test_a_factored_scatter_stays_a_factor(rng):
    Z = rng.standard_normal((50, 4))
    scatter = Scatter(4, None, [(1.0, Z)], factored=True)
    assert scatter.factor().shape == (4, 4)
    assert_allclose(scatter.factor().T @ scatter.factor(), Z.T @ Z, atol=1e-11)


def test_many_blocks_are_joined(rng):
    Z = rng.standard_normal((20, 100))
    scatter = Scatter(100, None, [(0.5, row[None]) for row in Z])
    assert len(scatter.rows) == 1
    assert_allclose(scatter.matrix(), Z.T @ Z / 2, atol=1e-11)
