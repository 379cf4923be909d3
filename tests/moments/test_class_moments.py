"""ClassMoments: an algebra that does not care how the rows were cut."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import (
    ClassMoments,
)
from separatrix.moments.class_moments import contrast, contrasts
from tests.discovery import labelled
from tests.moments.expected import assert_equal_moments, every_shape


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


@pytest.mark.parametrize("weights", [[3.0, 5.0], [1.0, 1.0, 1.0, 4.0], [0.0, 2.0, 1e-300, 3.0]])
def test_contrasts_are_orthonormal_and_orthogonal_to_the_root_of_the_weights(weights):
    weights = np.array(weights)
    C = contrasts(weights)
    assert C.shape == (len(weights), np.count_nonzero(weights) - 1)
    assert_allclose(C.T @ C, np.eye(C.shape[1]), atol=1e-15)
    assert_allclose(np.sqrt(weights) @ C, 0, atol=1e-15 * np.sqrt(weights.max()))
    assert_array_equal(C[weights == 0], 0)
    A = np.random.default_rng(0).standard_normal((len(weights), 3))
    assert_allclose(contrast(weights, A), C.T @ A, atol=1e-15)


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


def test_precision_is_that_of_the_coarsest_rows():
    X, y = labelled(50, 5)
    single, double = (ClassMoments.from_data(X.astype(t), y) for t in (np.float32, np.float64))
    assert double.eps < 1e-15
    assert (double + single).eps == (single + double).eps == single.eps > 1e-8


def test_sum_adds_moments():
    X, y = labelled(60, 4)
    parts = [ClassMoments.from_data(X[i::3], y[i::3]) for i in range(3)]
    assert_equal_moments(sum(parts), ClassMoments.from_data(X, y))


def test_moments_that_do_not_match_are_errors():
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


def test_the_empty_moments_are_the_zero_of_addition():
    X, y = labelled(40, 3)
    m = ClassMoments.from_data(X, y)
    zero = ClassMoments.empty(np.unique(y), 3)
    assert_equal_moments(zero + m, m)
    assert_equal_moments(m + zero, m)


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


def test_truncated_moments_add_decay_and_multiply_out():
    X, y = labelled(60, 80, 3)
    small = ClassMoments.from_data(X, y).truncated(10)
    other = ClassMoments.from_data(X[:20] + 1, y[:20]).truncated(5)
    both = small + other
    means = small.means - other.means
    counts = small.counts * other.counts / (small.counts + other.counts)
    assert_allclose(both.Sw, small.Sw + other.Sw + (means.T * counts) @ means)
    assert_allclose(small.decay(0.25).Sw, 0.25 * small.Sw)
    assert_array_equal(small.decay(1e-250).counts, 0)
    again = (small.decay(0.25) + small).truncated(12)  # twice the same ten axes
    assert again.most_rows() == 10
    assert_allclose(again.Sw, 1.25 * small.Sw, atol=1e-9)
    many = sum([small] * 9)  # more rows than features: a matrix
    assert not many.is_thin
    assert_allclose(many.Sw, 9 * small.Sw)


# Other units, another order ------------------------------------------------------------------


@every_shape
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_moments_change_their_units_and_their_order_as_rows_do(shape, make):
    X, y = labelled(*shape, 3)
    rng = np.random.default_rng(0)
    shift, scale = rng.standard_normal((2, X.shape[1]))
    order = rng.permutation(X.shape[1])
    moments = ClassMoments.from_data(make(X), y, per_class=True)
    changed = moments.select_columns(order).rescaled(shift, scale)
    expected = ClassMoments.from_data(X[:, order] * scale + shift, y, per_class=True)
    assert_equal_moments(changed, expected)
    V = rng.standard_normal((X.shape[1], 2))
    assert_allclose(changed.total_apply(V), expected.St @ V)


def test_truncated_moments_keep_their_units():
    X, y = labelled(60, 80, 2)
    small = ClassMoments.from_data(X, y).truncated(5)
    order = np.random.default_rng(0).permutation(80)
    assert_allclose(small.select_columns(order).Sw, small.Sw[np.ix_(order, order)])
    with pytest.raises(ValueError, match="have no other scale"):
        small.rescaled(np.zeros(80), np.ones(80))


def test_contrasts_of_many_classes_are_not_multiplied_out():
    y = np.repeat(np.arange(3000), 2)
    moments = ClassMoments.from_data(np.sin(np.arange(6000.0))[:, None], y)
    tracemalloc.start()
    Hb = moments.between_rows()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2e6, "the matrix of contrasts has 72 MB"
    assert_allclose(np.sum(Hb**2), moments.Sb[0, 0])
    means = moments.means.ravel() - moments.mean
    assert_allclose(np.sum(Hb**2), moments.counts @ means**2)


@pytest.mark.parametrize("per_class", [False, True])
def test_a_batch_of_few_classes_costs_no_calls_for_the_others(per_class):
    def calls_of_adding(n_classes):
        y = np.repeat(np.arange(n_classes), 2)
        rows = np.random.default_rng(0).standard_normal((len(y), 2))
        whole = ClassMoments.from_data(rows, y, per_class=per_class)
        part = ClassMoments.from_data(rows[:4], y[:4], per_class=per_class)
        calls = 0

        def count(*_):
            nonlocal calls
            calls += 1

        sys.setprofile(count)
        try:
            total = whole + part
        finally:
            sys.setprofile(None)
        assert_array_equal(total.counts, np.where(np.arange(n_classes) < 2, 4, 2))
        return calls

    assert calls_of_adding(600) < 400, calls_of_adding(5)


def test_moments_are_printed_in_a_line():
    moments = ClassMoments.from_data(np.arange(12.0).reshape(4, 3), ["a", "b", "b", "b"])
    assert repr(moments + moments) == "ClassMoments(8 rows, 3 features, 2 classes)"
