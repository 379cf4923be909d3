"""Rows taken out of moments leave the moments of the others, and say how many digits are left."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import ClassMoments
from separatrix.moments.remainder import subtract_part
from tests.discovery import labelled
from tests.moments.expected import assert_equal_moments, every_shape


@every_shape
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("per_class", [False, True])
def test_the_remainder_is_that_of_the_other_rows(shape, make, per_class):
    X, y = labelled(*shape, 4)
    k = len(X) // 2
    whole = ClassMoments.from_data(make(X), y, per_class=per_class)
    part = ClassMoments.from_data(make(X[:k]), y[:k], per_class=per_class)
    rest = subtract_part(whole, part)
    others = ClassMoments.from_data(X[k:], y[k:], per_class=per_class)
    assert_equal_moments(rest.moments, others)
    assert 1e-16 < rest.residual < 1e-12
    assert not rest.moments.holds_sparse_rows


def test_classes_without_rows_are_left_out():
    X, y = labelled(60, 5, 3)
    for per_class in (False, True):
        whole = ClassMoments.from_data(X, y, per_class=per_class)
        part = ClassMoments.from_data(X[y == 1], y[y == 1], per_class=per_class)
        rest = subtract_part(whole, part).moments
        others = ClassMoments.from_data(X[y != 1], y[y != 1], per_class=per_class)
        assert_equal_moments(rest, others)


@pytest.mark.parametrize("size", [1e2, 1e4, 1e6])
def test_the_residual_bounds_the_error_where_digits_cancel(size):
    """Rows of a large scatter leave the rounding of that scatter behind, in some directions."""
    X, y = labelled(80, 5, 2)
    X[:20] *= size
    whole, part, others = (
        ClassMoments.from_data(X[rows], y[rows])
        for rows in (slice(None), slice(20), slice(20, 80))
    )
    rest = subtract_part(whole, part)
    L = np.linalg.cholesky(others.Sw)
    error = np.linalg.solve(L, np.linalg.solve(L, rest.moments.Sw - others.Sw).T)
    error = np.abs(np.linalg.eigvalsh((error + error.T) / 2)).max()
    assert error < 20 * rest.residual  # a few operations for each number
    assert rest.residual < 1e3 * max(error, 1e-16)  # and the bound is not idle


def test_rounding_of_what_is_gone_is_no_scatter_of_what_is_left():
    """A direction in which only the forgotten rows varied has no scatter afterwards."""
    X, y = labelled(60, 4, 2)
    X[30:, 3] = 1.0
    X[:30, 3] *= 1e3
    whole = ClassMoments.from_data(X, y)
    rest = subtract_part(whole, ClassMoments.from_data(X[:30], y[:30])).moments
    evals = np.linalg.eigvalsh(rest.Sw)
    assert np.sum(evals > 4 * rest.eps * evals[-1]) == 3


def test_truncated_moments_cannot_lose_rows():
    X, y = labelled(60, 80, 2)
    whole = ClassMoments.from_data(X, y).truncated(5)
    with pytest.raises(ValueError, match="larger rank"):
        subtract_part(whole, ClassMoments.from_data(X[:9], y[:9]))


def test_sparse_rows_that_would_fill_memory_are_refused(monkeypatch):
    monkeypatch.setattr("separatrix.moments.remainder.MAX_REFACTORED_ENTRIES", 100)
    X, y = labelled(30, 80, 2)
    whole = ClassMoments.from_data(sp.csr_array(X), y)
    with pytest.raises(ValueError, match="do not fit into memory"):
        subtract_part(whole, ClassMoments.from_data(sp.csr_array(X[:9]), y[:9]))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_wide_rows_that_were_not_there_are_refused(make):
    X, y = labelled(30, 80, 2)
    whole = ClassMoments.from_data(make(X), y)
    other = ClassMoments.from_data(make(labelled(30, 80, 2, seed=1)[0][:4]), y[:4])
    with pytest.raises(ValueError, match="not part of what was added"):
        subtract_part(whole, other)
