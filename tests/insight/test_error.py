"""Expected errors: right on new rows, the same after a merge, silent where they cannot know."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import ClassMoments, FisherDiscriminant
from separatrix.insight import expected_error, rows_needed


def two_classes(n, p, distance, seed=0, share=0.5):
    """Normal classes, `distance` deviations apart along one direction of correlated features."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) < share * n).astype(int)
    mix = np.eye(p) + 0.5 * np.tri(p) / np.sqrt(p)
    Z = rng.standard_normal((n, p))
    Z[:, : min(p, 8)] += distance * y[:, None] / np.sqrt(min(p, 8))
    return Z @ mix, y


def test_with_many_rows_it_is_that_of_the_best_rule():
    X, y = two_classes(40_000, 5, 2.0)
    found = expected_error(ClassMoments.from_data(X, y))
    assert found.error == pytest.approx(norm.cdf(-1.0), abs=0.005)  # three standard errors
    assert found.low < found.error < found.high
    assert found.known
    assert not found.why


@pytest.mark.parametrize(
    ("n", "p", "share"), [(200, 10, 0.5), (200, 80, 0.5), (150, 500, 0.5), (400, 60, 0.15)]
)
def test_it_is_the_error_on_new_rows(n, p, share):
    said, true = [], []
    for seed in range(12):
        X, y = two_classes(n, p, 3.0, seed, share)
        model = FisherDiscriminant(shrinkage="moments").fit(X, y)
        said.append(expected_error(model).error)
        true.append(1 - model.score(*two_classes(4000, p, 3.0, 1000 + seed, share)))
    assert np.mean(said) == pytest.approx(np.mean(true), abs=0.02)


def test_a_forecast_is_the_error_with_so_many_rows():
    said, true = [], []
    for seed in range(8):
        X, y = two_classes(800, 60, 2.0, seed)
        order = np.random.default_rng(seed).permutation(800)
        X, y, sizes = X[order], y[order], (200, 400, 800)
        moments = ClassMoments.from_data(X[:200], y[:200])
        said.append([expected_error(moments, n=n).error for n in sizes])
        new = two_classes(4000, 60, 2.0, 1000 + seed)
        models = [FisherDiscriminant(shrinkage="moments").fit(X[:n], y[:n]) for n in sizes]
        true.append([1 - model.score(*new) for model in models])
    np.testing.assert_allclose(np.mean(said, axis=0), np.mean(true, axis=0), atol=0.03)
    assert np.all(np.diff(said) < 0)


def test_merged_models_and_scaled_ones_say_the_same():
    X, y = two_classes(300, 40, 2.0)
    pooled = expected_error(ClassMoments.from_data(X, y))
    sites = sum(ClassMoments.from_data(X[i::4], y[i::4]) for i in range(4))
    np.testing.assert_allclose(expected_error(sites)[:4], pooled[:4], rtol=1e-9)
    model = make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=None)).fit(100 * X + 5, y)
    np.testing.assert_allclose(expected_error(model)[:4], pooled[:4], rtol=1e-9)


@pytest.mark.parametrize("p", [99, 100])
def test_features_as_many_as_degrees_of_freedom_are_no_edge(p):
    X, y = two_classes(101, 100, 4.0)
    wide, narrow = (expected_error(ClassMoments.from_data(X[:, :k], y)).error for k in (p, 98))
    assert wide == pytest.approx(narrow, abs=0.02)


def test_without_a_signal_it_is_chance():
    rng = np.random.default_rng(0)
    y = (np.arange(200) < 50).astype(int)
    errors = [
        expected_error(ClassMoments.from_data(rng.standard_normal((200, 100)), y)).error
        for _ in range(10)
    ]
    assert np.mean(errors) == pytest.approx(0.25, abs=0.02)


def test_what_cannot_be_known_is_said():
    X, y = two_classes(100, 5, 2.0, share=0.2)
    found = expected_error(ClassMoments.from_data(X, y))
    assert not found.known
    assert found.why == "class 1 has 20 rows, and 30 are needed"
    X, y = two_classes(400, 5, 5.0)
    assert "in the tails" in expected_error(ClassMoments.from_data(X, y)).why
    several = expected_error(ClassMoments.from_data(X, np.arange(400) % 3))
    assert several.why.startswith("of 3 classes")
    assert several.error == pytest.approx(2 / 3, abs=0.05)


def test_rows_needed_are_where_the_forecast_reaches_the_goal():
    moments = ClassMoments.from_data(*two_classes(200, 60, 2.0))
    goal = expected_error(moments, n=1000).error
    assert rows_needed(moments, goal) == pytest.approx(1000, rel=0.01)
    assert rows_needed(moments, 0.9) == 200
    assert rows_needed(moments, 0.001) == math.inf


def draw_skewed(n, seed, n_classes=2):
    """Classes that differ by a factor: the large values of one are far from its mean."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    X = rng.lognormal(0.0, 1.0, (n, 3)) * 3.0 ** y[:, None]
    return np.hstack([X, rng.standard_normal((n, 5))]), y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_model_that_left_rows_out_knows_how_far_scores_are_from_normal(n_classes):
    deviations = []
    for seed in range(6):
        model = FisherDiscriminant(shrinkage="auto").fit(*draw_skewed(400, seed, n_classes))
        true = 1 - model.score(*draw_skewed(4000, 1000 + seed, n_classes))
        found = expected_error(model)
        assert found.known
        assert found.low <= true <= found.high
        by_moments = expected_error(model.moments_).error
        deviations.append((found.error - true, by_moments - true))
    with_rows, without = np.sqrt(np.mean(np.square(deviations), axis=0))
    assert with_rows < 0.6 * without
    assert with_rows < 0.04


def test_rows_left_out_are_asked_only_where_they_count_as_in_the_table():
    X, y = draw_skewed(400, 0)
    model = FisherDiscriminant(shrinkage="auto", priors=[0.5, 0.5]).fit(X, y)
    assert expected_error(model) == expected_error(model.moments_)
    model = (
        FisherDiscriminant(shrinkage="auto").fit(X[:300], y[:300]).partial_fit(X[300:], y[300:])
    )
    assert expected_error(model) == expected_error(model.moments_)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda m: expected_error(m, n=2), "n=2 must be a number of rows, more than the 2"),
        (lambda m: expected_error(m, n=math.inf), "n=inf must be a number of rows"),
        (lambda m: expected_error(m, confidence=95), "confidence=95 must lie between 0 and 1"),
        (lambda m: rows_needed(m, 5), "error=5 must lie between 0 and 1"),
    ],
)
def test_values_that_mean_nothing_are_refused(ask, message):
    moments = ClassMoments.from_data(*two_classes(60, 3, 2.0))
    with pytest.raises(ValueError, match=message):
        ask(moments)


def test_a_feature_that_never_changes_has_no_part():
    X, y = two_classes(100, 4, 2.0)
    with_constant = np.insert(X, 2, 3.0, axis=1)
    a, b = (expected_error(ClassMoments.from_data(Z, y)) for Z in (X, with_constant))
    np.testing.assert_allclose(a[:4], b[:4], rtol=1e-12)


def test_rows_that_are_all_the_same_have_no_forecast():
    moments = ClassMoments.from_data(np.zeros((4, 20)), ["a", "b"] * 2)
    with pytest.raises(ValueError, match="rows are the same in all features"):
        expected_error(moments)
