"""Novelty in the metric of the classes: its distribution, and its rules where rows are few."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom, kstest
from sklearn.covariance import oas

from separatrix import ClassMoments
from separatrix.moments.novelty import (
    NoveltyScores,
    PooledMetric,
    conformal_pvalues,
    oas_shrinkage,
)
from tests.discovery import labelled

ERROR_PROBABILITY = 1e-4
"""With which a simulation fails though the promise holds; seeds are fixed."""


def simulate_pvalues(n_repeats, apart, shape, seed=0):
    """P-values of one new row of a known class, each by another training set."""
    rng = np.random.default_rng(seed)
    n, d = shape
    y = np.arange(n) % 3
    means = apart * np.eye(3, d)
    mix = rng.standard_normal((d, d))
    found = np.empty(n_repeats)
    for i in range(n_repeats):
        X = rng.standard_normal((n, d)) @ mix + means[y]
        X = np.column_stack([X, X[:, 0], np.ones(n)])  # a copy and a constant
        new = rng.standard_normal((1, d)) @ mix + means[i % 3]
        new = np.column_stack([new, new[:, 0], [1.0]])
        metric = PooledMetric.from_moments(ClassMoments.from_data(X, y))
        found[i] = metric.pvalues(metric.squared_distances(new))[0]
    return found


@pytest.mark.parametrize("shape", [(30, 4), (15, 8)], ids=["many rows", "few rows"])
def test_pvalues_are_uniform_for_gaussian_classes_that_are_apart(shape):
    assert kstest(simulate_pvalues(800, 1e3, shape), "uniform").pvalue > ERROR_PROBABILITY


def test_pvalues_err_to_the_safe_side_where_classes_overlap():
    found = simulate_pvalues(800, 1.0, (30, 4))
    for level in (0.05, 0.2):
        assert np.sum(found <= level) <= binom.isf(ERROR_PROBABILITY, len(found), level)
    assert np.mean(found <= 0.2) < 0.19


def test_conformal_pvalues_are_valid_for_any_distribution():
    """Cauchy classes of different spreads, to which no F distribution belongs."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.standard_cauchy((60, 5)) * (1 + y[:, None])
    scores = NoveltyScores.from_moments(ClassMoments.from_data(X, y), relative=False)
    n_repeats, by_f = 2000, 0
    found = np.empty(n_repeats)
    for i in range(n_repeats):
        rows = rng.standard_cauchy((20, 5)) * rng.integers(1, 4, (20, 1))
        distances = scores.distances(rows)
        found[i] = conformal_pvalues(distances[:1], distances[1:])[0]
        by_f += scores.pvalues(rows[:1])[0] <= 0.05
    for level in (0.05, 0.1, 0.5):
        assert np.sum(found <= level) <= binom.isf(ERROR_PROBABILITY, n_repeats, level)
        assert np.sum(found <= level) >= binom.ppf(ERROR_PROBABILITY, n_repeats, level)
    assert by_f > 1.5 * 0.05 * n_repeats  # the F distribution promises too much there


def test_shrinkage_is_that_of_scikit_learn():
    X = np.random.default_rng(0).standard_normal((20, 30)) * np.linspace(1, 3, 30)
    X -= X.mean(axis=0)
    evals = np.linalg.eigvalsh(X.T @ X / 20)
    assert_allclose(oas_shrinkage(evals, 30, 20), oas(X, assume_centered=True)[1])
    assert oas_shrinkage(np.ones(5), 5, 20) == 1.0


def test_few_rows_are_judged_by_the_shrunk_covariance():
    """More features than rows: the metric of the whole matrix, which is never formed."""
    X, y = labelled(20, 50, 3)
    moments = ClassMoments.from_data(X, y)
    S = moments.Sw / 17
    alpha, level = oas_shrinkage(np.linalg.eigvalsh(S), 50, 17), np.trace(S) / 50
    precision = np.linalg.inv((1 - alpha) * S + alpha * level * np.eye(50))
    new = labelled(10, 50, 3, seed=1)[0]
    expected = [[(x - m) @ precision @ (x - m) for m in moments.means] for x in new]
    metric = PooledMetric.from_moments(moments)
    assert metric.axes.shape == (50, 17)
    assert_allclose(metric.squared_distances(new), expected)
    with pytest.raises(ValueError, match="20 rows of 3 classes do not show the scatter in 50"):
        NoveltyScores.from_moments(moments, relative=False).check_distribution(moments)


def test_directions_in_which_rows_do_not_vary_have_the_variance_of_the_rule():
    X, y = labelled(60, 5, 3)
    flat = np.column_stack([X, np.ones(60)])
    metric = PooledMetric.from_moments(ClassMoments.from_data(flat, y))
    inside = PooledMetric.from_moments(ClassMoments.from_data(X, y)).squared_distances(X)
    assert_allclose(metric.squared_distances(flat), inside)
    S = ClassMoments.from_data(flat, y).Sw / 57
    variance = oas_shrinkage(np.linalg.eigvalsh(S), 6, 57) * np.trace(S) / 6
    moved = flat + 2 * np.eye(6)[5]
    assert_allclose(metric.squared_distances(moved), inside + 4 / variance)


def test_truncated_scatter_counts_the_average_of_the_other_directions():
    X, y = labelled(60, 80, 2)
    moments = ClassMoments.from_data(X, y).truncated(6)
    precision = np.linalg.inv(moments.Sw / 58)
    expected = [[(x - m) @ precision @ (x - m) for m in moments.means] for x in X[:5]]
    assert_allclose(PooledMetric.from_moments(moments).squared_distances(X[:5]), expected)


def test_an_offset_of_all_rows_changes_nothing():
    X, y = labelled(60, 5, 3)
    a, b = (PooledMetric.from_moments(ClassMoments.from_data(X + o, y)) for o in (0, 2.0**30))
    assert_allclose(b.squared_distances(X + 2.0**30), a.squared_distances(X), rtol=1e-5)


def test_classes_without_scatter_have_no_metric():
    moments = ClassMoments.from_data(np.repeat(np.eye(2), 5, axis=0), np.repeat([0, 1], 5))
    with pytest.raises(ValueError, match="no unit to measure novelty in"):
        PooledMetric.from_moments(moments)


def test_calibration_scores_that_tie_count_against_the_row():
    assert conformal_pvalues(np.array([2.0]), np.array([1.0, 2.0, 2.0, 5.0]))[0] == 0.8


def test_many_classes_are_judged_at_once():
    """Without a call for each of them."""
    y = np.repeat(np.arange(200), 3)
    X = np.random.default_rng(0).standard_normal((600, 4)) + y[:, None]
    metric = PooledMetric.from_moments(ClassMoments.from_data(X, y))
    calls = 0

    def count(*_):
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        pvalues = metric.pvalues(metric.squared_distances(X[:1]))
    finally:
        sys.setprofile(None)
    assert calls < 1000
    single = [metric._replace(counts=metric.counts[[c]]) for c in range(200)]
    distances = metric.squared_distances(X[:1])
    each = [one.pvalues(distances[:, [c]])[0] for c, one in enumerate(single)]
    assert_allclose(pvalues, max(each))
