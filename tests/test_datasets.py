"""Data sets with a known answer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.metrics import roc_auc_score

from separatrix import datasets
from separatrix.features.signals import cut_epochs
from separatrix.linalg import principal_angles


def test_gaussian_classes_are_what_they_say():
    bunch = datasets.make_gaussian_classes(
        50_000, 5, 3, separation=2.0, weights=[0.2, 0.3, 0.5], random_state=0
    )
    X, y = bunch.data, bunch.target
    assert_allclose(np.bincount(y) / len(y), [0.2, 0.3, 0.5], atol=0.01)
    for c in range(3):
        assert_allclose(X[y == c].mean(axis=0), bunch.means[c], atol=0.1)
        assert_allclose(np.cov(X[y == c].T), bunch.covariance, atol=0.3)
    best = np.linalg.solve(bunch.covariance, (bunch.means - bunch.means.mean(axis=0)).T).T
    assert principal_angles(bunch.components, np.linalg.svd(best)[2][:2]).max() < 1e-7
    white = np.linalg.solve(np.linalg.cholesky(bunch.covariance), bunch.means.T)
    assert_allclose(np.sqrt((white**2).sum(axis=0).mean()), 2.0)


def test_gaussian_classes_repeat_with_the_same_seed():
    a, b = (datasets.make_gaussian_classes(random_state=3) for _ in range(2))
    assert_array_equal(a.data, b.data)
    assert set(a.target) == {0, 1, 2}


def test_gaussian_pairs_have_the_stated_moments_and_the_best_rule():
    pair = datasets.make_gaussian_pair(20_001, 4, mean_scale=2.0, random_state=0)
    assert np.bincount(pair.target).tolist() == [10_001, 10_000]
    assert pair.means.min() > 0
    assert pair.means.max() < 2
    for c in range(2):
        rows = pair.data[pair.target == c]
        assert_allclose(rows.mean(axis=0), pair.means[c], atol=0.05)
        assert_allclose(np.cov(rows.T), pair.covariances[c], atol=0.05)
        evals = np.linalg.eigvalsh(pair.covariances[c])
        assert evals.min() > 0
        assert evals.max() < 1
    best = QuadraticDiscriminantAnalysis().fit(pair.data, pair.target)
    agree = best.predict(pair.data) == pair.bayes_predict(pair.data)
    assert agree.mean() > 0.99


def test_published_mixtures_are_not_linearly_separable():
    bunch = datasets.make_gaussian_mixtures(200, 100, e=1.0, random_state=0)
    assert np.bincount(bunch.component).tolist() == [200] * 8
    assert_array_equal(bunch.target, bunch.component // 4)
    assert_allclose(bunch.means[2], np.repeat([0.5, -1], 50))
    assert_allclose(bunch.covariances[3], np.eye(100))
    assert (bunch.bayes_predict(bunch.data) == bunch.target).mean() > 0.9
    linear = LinearDiscriminantAnalysis().fit(bunch.data, bunch.target)
    assert linear.score(bunch.data, bunch.target) < 0.7
    with pytest.raises(ValueError, match="n_features=7 must be even"):
        datasets.make_gaussian_mixtures(10, 7)


def test_random_mixtures_have_the_counts_asked_for():
    bunch = datasets.make_random_mixtures([[30, 20, 10], [40]], 6, random_state=0)
    assert np.bincount(bunch.component).tolist() == [30, 20, 10, 40]
    assert np.bincount(bunch.target).tolist() == [60, 40]
    assert (bunch.bayes_predict(bunch.data) == bunch.target).mean() > 0.7


def test_bundled_sets_have_names_for_labels():
    for name in datasets.BUNDLED:
        bunch = datasets.load(name)
        assert bunch.data.shape[1] == len(bunch.feature_names)
        assert set(bunch.target) <= set(np.asarray(bunch.target_names))
    with pytest.raises(ValueError, match="no bundled data set 'mnist': there are breast_cancer"):
        datasets.load("mnist")


def test_drifting_pairs_turn_and_stay_as_hard():
    stream = datasets.make_drifting_pair(40_000, 5, turns=0.5, separation=2.0, random_state=0)
    X, y, directions = stream.data, stream.target, stream.directions
    assert_allclose(np.linalg.norm(directions, axis=1), 1)
    assert_allclose(directions[-1], -directions[0], atol=1e-12)
    wrong = (np.sum(X * directions, axis=1) > 0) != y
    assert_allclose([wrong[:20_000].mean(), wrong[20_000:].mean()], stream.bayes_error, atol=0.01)
    for part in (slice(0, 2000), slice(-2000, None)):
        fitted = LinearDiscriminantAnalysis().fit(X[part], y[part])
        assert principal_angles(fitted.coef_, directions[part].mean(axis=0)[None])[0] < 0.2
    with pytest.raises(ValueError, match="n_features=1 must be at least 2"):
        datasets.make_drifting_pair(10, 1)


def test_ringnorm_has_one_class_inside_the_other():
    ring = datasets.make_ringnorm(4001, 10, random_state=0)
    assert ring.data.shape == (4001, 10)
    assert np.bincount(ring.target).tolist() == [2001, 2000]
    for c, (mean, variance) in enumerate([(0.0, 4.0), (2 / np.sqrt(10), 1.0)]):
        rows = ring.data[ring.target == c]
        # five standard errors of a mean and of a variance of 2000 rows
        assert np.abs(rows.mean(axis=0) - mean).max() < 5 * np.sqrt(variance / 2000)
        assert np.abs(rows.var(axis=0) - variance).max() < 5 * variance * np.sqrt(2 / 2000)
    assert (ring.bayes_predict(ring.data) == ring.target).mean() > 0.9


def test_series_have_the_stated_moments_and_part_at_the_onset():
    series = datasets.make_series(
        60_000, 12, 3, onset=0.5, separation=4.0, memory=0.6, random_state=0
    )
    assert series.onset == 6
    assert not series.means[:, :6].any()
    assert series.means[:, 6:].any(axis=0).all()
    assert np.bincount(series.target).tolist() == [20_000] * 3
    for c in range(3):
        rows = series.data[series.target == c]
        assert_allclose(rows.mean(axis=0), series.means[c], atol=0.05)
        assert_allclose(np.cov(rows.T), series.covariance, atol=0.05)
    assert_allclose(np.diagonal(series.covariance, 1), 0.6)
    inverse = np.linalg.inv(series.covariance)
    gaps = [series.means[a] - series.means[b] for a, b in ((0, 1), (0, 2), (1, 2))]
    assert_allclose(np.mean([gap @ inverse @ gap for gap in gaps]), 16.0)


def test_the_posterior_of_series_is_that_of_their_gaussians():
    series = datasets.make_series(4000, 10, 4, onset=0.2, random_state=0)
    for t in (0, 2, 5, 10):
        densities = np.exp(
            [
                multivariate_normal(mean[:t], series.covariance[:t, :t]).logpdf(series.data[:, :t])
                if t
                else np.zeros(4000)
                for mean in series.means
            ]
        )
        expected = (densities / densities.sum(axis=0)).T
        assert_allclose(series.posterior(series.data[:, :t]), expected, atol=1e-9)
        holes = np.where(np.arange(10) < t, series.data, np.nan)
        assert_allclose(series.posterior(holes), expected, atol=1e-9)


def test_senseless_series_are_refused():
    with pytest.raises(ValueError, match=r"onset=1.0 and memory=0.8 must be in \[0, 1\)"):
        datasets.make_series(onset=1.0)


def test_pancakes_hide_the_classes_in_the_direction_of_least_variance():
    data = datasets.make_pancakes(2000, 5, gap=4.0, thickness=0.1, random_state=0)
    delta = data.means[1] - data.means[0]
    w = delta / np.linalg.norm(delta)
    assert np.isclose(np.linalg.norm(delta), 0.4)
    assert np.isclose(w @ data.covariances[0] @ w, 0.01)
    assert np.abs(data.data[data.target == 1] @ w - data.means[1] @ w).std() < 0.1
    # two Gaussians 4 standard deviations apart: Φ(2) = 97.7 % are right
    assert abs(np.mean(data.bayes_predict(data.data) == data.target) - 0.977) < 0.015


def test_the_rule_of_a_recording_has_the_area_that_is_stated():
    """The area of 4000 epochs errs by more than 0.04 with a probability below 1e-6."""
    eeg = datasets.make_epochs(4000, 4, rate=32.0, separation=1.5, random_state=0)
    X = cut_epochs(eeg.signal, eeg.triggers, eeg.rate, start=eeg.start, stop=eeg.stop)
    scores = X.reshape(len(X), -1) @ eeg.filter.ravel()
    assert abs(roc_auc_score(eeg.target == "rare", scores) - eeg.auc) < 0.04
    difference = X[eeg.target == "rare"].mean(axis=0) - X[eeg.target == "frequent"].mean(axis=0)
    # means of 800 and 3200 epochs of unit variance differ by less than 5 of 0.04
    assert_allclose(difference, eeg.pattern, atol=0.2)
    assert (eeg.target == "rare").sum() == 800
