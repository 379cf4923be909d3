"""Intervals of loadings: those of a regression, and right as often as they say."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as t_distribution
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import ClassMoments, FisherDiscriminant
from separatrix.insight import direction_intervals

MIX = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(np.arange(8), np.arange(8))))


def classes(n, n_classes, seed=0):
    """Normal classes whose means differ along the first features."""
    y = np.arange(n) % n_classes
    means = np.zeros((n_classes, 8))
    means[1:, : n_classes - 1] = np.diag([2.0, 4.0][: n_classes - 1])
    return np.random.default_rng(seed).standard_normal((n, 8)) @ MIX.T + means[y], y, means


def test_with_two_classes_they_are_those_of_least_squares():
    X, y, _ = classes(60, 2)
    found = direction_intervals(ClassMoments.from_data(X, y))
    w = FisherDiscriminant(shrinkage=None).fit(X, y).components_[0]
    A = np.column_stack([X, np.ones(60)])
    inverse = np.linalg.inv(A.T @ A)
    b = inverse @ A.T @ y
    variance = np.sum((y - A @ b) ** 2) / (60 - 9)
    errors = np.sqrt(variance * np.diagonal(inverse))[:8] * t_distribution.ppf(0.975, 60 - 10)
    factor = (w @ b[:8]) / (b[:8] @ b[:8])
    np.testing.assert_allclose(found.low[0] + found.high[0], 2 * w, rtol=1e-9)
    # a regression has one degree of freedom more
    ratio = np.sqrt((60 - 9) / (60 - 10))
    np.testing.assert_allclose(found.high[0] - w, abs(factor) * errors * ratio, rtol=1e-9)


@pytest.mark.parametrize("n", [16, 80])
def test_intervals_hold_what_they_say(n):
    _, _, means = classes(2, 2)
    gap = (means[1] - means[0]) / 2
    beta = np.linalg.solve(MIX @ MIX.T + np.outer(gap, gap), gap)
    inside = []
    for seed in range(200):
        X, y, _ = classes(n, 2, seed)
        found = direction_intervals(ClassMoments.from_data(X, y))
        b = np.linalg.lstsq(X - X.mean(axis=0), 2.0 * y - 1, rcond=None)[0]
        w = (found.low + found.high)[0] / 2
        true = beta * (w @ b) / (b @ b)
        inside.append((found.low[0] <= true) & (true <= found.high[0]))
    # 1600 intervals, of which those of one draw depend on each other
    assert 0.92 < np.mean(inside) < 0.975


@pytest.mark.parametrize("n_classes", [2, 3])
def test_angles_are_those_of_the_scores_of_new_rows(n_classes):
    said, true = [], []
    T = MIX @ MIX.T
    for seed in range(60):
        X, y, means = classes(120, n_classes, seed)
        W = FisherDiscriminant(shrinkage=None).fit(X, y).components_
        spread = np.cov(means.T, bias=True)
        evals, V = np.linalg.eig(np.linalg.solve(T, spread))
        V = V[:, np.argsort(-evals.real)[: n_classes - 1]].real.T
        inner = np.sum(W @ T * V, axis=1)
        inner /= np.sqrt(np.sum(W @ T * W, axis=1) * np.sum(V @ T * V, axis=1))
        true.append(np.degrees(np.arccos(np.abs(inner))))
        said.append(direction_intervals(ClassMoments.from_data(X, y)).angle)
    np.testing.assert_allclose(np.mean(said, axis=0), np.mean(true, axis=0), rtol=0.15)


def test_merged_is_pooled_and_units_scale():
    X, y, _ = classes(90, 3)
    pooled = direction_intervals(ClassMoments.from_data(X, y))
    sites = sum(ClassMoments.from_data(X[i::3], y[i::3]) for i in range(3))
    for a, b in zip(direction_intervals(sites), pooled, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)
    scaled = direction_intervals(ClassMoments.from_data(10 * X, y))
    np.testing.assert_allclose(scaled.low, pooled.low / 10, rtol=1e-8)
    model = make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=None)).fit(X, y)
    np.testing.assert_allclose(direction_intervals(model).high, pooled.high, rtol=1e-8)


def test_a_feature_that_never_changes_has_no_loading():
    X, y, _ = classes(90, 2)
    found = direction_intervals(ClassMoments.from_data(np.insert(X, 2, 1.0, axis=1), y))
    assert found.low[0, 2] == found.high[0, 2] == 0


def test_features_that_never_change_have_no_direction():
    with pytest.raises(ValueError, match="no feature varies within classes"):
        direction_intervals(ClassMoments.from_data(np.ones((40, 3)), np.arange(40) % 2))


def test_more_features_than_rows_have_no_intervals():
    X, y, _ = classes(11, 2)
    with pytest.raises(ValueError, match="intervals need 12 rows or more"):
        direction_intervals(ClassMoments.from_data(X, y))
    with pytest.raises(ValueError, match="confidence=2 must lie between 0 and 1"):
        direction_intervals(ClassMoments.from_data(X, y), confidence=2)
