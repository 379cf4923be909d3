"""Random convolutions, beside convolutions written out, prefixes cut by hand, and their use."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import load, save
from separatrix.features import RandomConvolutions
from separatrix.features.convolutions import PLACES, convolve, spread_dilations


def walks(n=20, d=40, n_channels=None, seed=0):
    shape = (n, d) if n_channels is None else (n, n_channels, d)
    return np.random.default_rng(seed).standard_normal(shape).cumsum(axis=-1)


def test_there_are_84_kernels_whose_points_sum_to_zero():
    assert len(PLACES) == 84
    weights = np.full((84, 9), -1)
    weights[np.arange(84)[:, None], PLACES] = 2
    assert (weights.sum(axis=1) == 0).all()
    assert len(np.unique(weights, axis=0)) == 84


@pytest.mark.parametrize("dilation", [1, 3])
def test_outputs_are_sums_over_the_past(dilation):
    series = walks(3, 30).astype(np.float32)
    for kernel in (0, 17, 83):
        weights = np.full(9, -1.0)
        weights[PLACES[kernel]] = 2
        outputs = convolve(series, dilation)(kernel)
        for t in range(30):
            past = series[:, np.maximum(t - dilation * np.arange(8, -1, -1), 0)]
            assert_allclose(outputs[:, t], past @ weights, atol=1e-4)


@pytest.mark.parametrize("n_channels", [None, 3])
def test_features_are_shares_of_outputs_above_the_bias(n_channels):
    X = walks(n_channels=n_channels)
    model = RandomConvolutions(400).fit(X)
    Z, cube = model.transform(X), X[:, None] if n_channels is None else X
    pair = np.cumsum(np.diff(model.kernels_, prepend=-1) != 0) - 1
    for j in (0, 85, 200, Z.shape[1] - 1):
        added = cube[:, model.channels_[pair[j]]].sum(axis=1).astype(np.float32)
        output = convolve(added, model.dilations_[j])(model.kernels_[j])
        # outputs near the bias may fall on either side in single precision
        assert_allclose(Z[:, j], np.mean(output > model.biases_[j], axis=1), atol=1.01 / 40)


@pytest.mark.parametrize("n_channels", [None, 3])
def test_prefixes_know_nothing_of_what_follows(n_channels):
    X = walks(n_channels=n_channels)
    model = RandomConvolutions(300).fit(X)
    times = [1, 2, 9, 25, 40]
    for t, Z in zip(times, model.transform_prefixes(X, times), strict=True):
        assert_array_equal(Z, model.transform(X[..., :t]))
        later = np.where(np.arange(40) < t, X, np.nan)
        assert_array_equal(next(model.transform_prefixes(later, [t])), Z)


def test_levels_and_orders_of_rows_do_not_matter():
    X = walks()
    model = RandomConvolutions().fit(X)
    order = np.random.default_rng(0).permutation(20)
    assert_array_equal(model.transform(X[order]), model.transform(X)[order])
    # 64 is added exactly to numbers of this size, but for single precision
    assert np.mean(model.transform(X + 64) != model.transform(X)) < 0.01


def test_dilations_span_the_series_at_most():
    for n_times in (5, 20, 200, 1000):
        dilations, counts = spread_dilations(n_times, 23)
        assert counts.sum() == 23
        assert dilations[0] == 1
        assert n_times < 9 or dilations[-1] * 8 < n_times


def test_a_pipeline_separates_what_raw_values_do_not(tmp_path):
    """Two frequencies at random phases: linear rules of values know nothing."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    phase = rng.uniform(0, 2 * np.pi, (120, 1))
    X = np.sin((0.3 + 0.1 * y[:, None]) * np.arange(80) + phase)
    X += 0.3 * rng.standard_normal(X.shape)
    plain = RidgeClassifier().fit(X[:60], y[:60]).score(X[60:], y[60:])
    pipeline = make_pipeline(RandomConvolutions(500), StandardScaler(), RidgeClassifier())
    assert pipeline.fit(X[:60], y[:60]).score(X[60:], y[60:]) > max(0.9, plain + 0.2)
    save(pipeline, tmp_path / "a.model")
    assert_array_equal(load(tmp_path / "a.model").predict(X), pipeline.predict(X))


def test_short_constant_and_odd_series_have_an_answer():
    assert np.isfinite(RandomConvolutions(84).fit_transform(np.ones((3, 1)))).all()
    assert_array_equal(RandomConvolutions(84).fit_transform(np.ones((3, 20))), 0)
    for wrong, words in (
        (np.ones(5), "X has the shape"),
        (np.full((3, 5), np.nan), "missing or infinite"),
    ):
        with pytest.raises(ValueError, match=words):
            RandomConvolutions().fit(wrong)
    with pytest.raises(ValueError, match="'n_kernels' parameter"):
        RandomConvolutions(0).fit(walks())
    model = RandomConvolutions(84).fit(walks())
    with pytest.raises(ValueError, match="1 channels of 40 times at most were learned"):
        model.transform(walks(d=41))
    assert len(model.get_feature_names_out()) == 84
