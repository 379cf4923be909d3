"""Filters, epochs, baselines, fewer values: each has a known answer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix.features.signals import (
    cut_epochs,
    epoch_times,
    filter_signal,
    find_bad_channels,
    reduce_rate,
    subtract_baseline,
)

RATE = 200.0
TIME = np.arange(4000) / RATE
INSIDE = slice(800, -800)  # away from the ends, where a filter must guess


def wave(frequency):
    return np.sin(2 * np.pi * frequency * TIME)


@pytest.mark.parametrize(("kind", "power"), [("butterworth", 0.25), ("gaussian", 0.5)])
def test_what_is_left_at_the_cut(kind, power):
    kept = filter_signal(wave(5), RATE, high=5, kind=kind)
    assert_allclose(kept[INSIDE].var() / wave(5)[INSIDE].var(), power, rtol=1e-3)


@pytest.mark.parametrize("kind", ["butterworth", "gaussian"])
def test_slow_waves_go_and_fast_ones_stay_in_place(kind):
    kept = filter_signal(wave(0.2) + wave(20), RATE, low=2.2, kind=kind)
    assert_allclose(kept[INSIDE], wave(20)[INSIDE], atol=0.02)
    kept = filter_signal(wave(0.2) + wave(60), RATE, high=10, kind=kind)
    assert_allclose(kept[INSIDE], wave(0.2)[INSIDE], atol=0.02)
    band = filter_signal(wave(0.2) + wave(8) + wave(60), RATE, low=2, high=30, kind="butterworth")
    assert_allclose(band[INSIDE], wave(8)[INSIDE], atol=0.02)


def test_the_gaussian_filter_is_the_signal_less_its_smooth_part(rng):
    signal = rng.standard_normal((3, 500))
    slow = filter_signal(signal, RATE, high=2.2, kind="gaussian")
    fast = filter_signal(signal, RATE, low=2.2, kind="gaussian")
    assert_allclose(slow + fast, signal, atol=1e-12)


def test_epochs_are_pieces_of_the_recording(rng):
    signal = rng.standard_normal((3, 1000))
    triggers = np.array([100, 300, 777])
    X = cut_epochs(signal, triggers, RATE, start=-0.1, stop=0.25)
    assert X.shape == (3, 3, 70)
    for epoch, trigger in zip(X, triggers, strict=True):
        assert_array_equal(epoch, signal[:, trigger - 20 : trigger + 50])
    times = epoch_times(RATE, start=-0.1, stop=0.25)
    assert (times[0], times[20]) == (-0.1, 0.0)
    based = subtract_baseline(X, times)
    assert_allclose(based[..., :20].mean(axis=-1), 0, atol=1e-12)
    assert_allclose(np.diff(based), np.diff(X), atol=1e-12)


def test_fewer_values_keep_slow_waves():
    X = wave(2)[None, None]
    assert_allclose(reduce_rate(X, 4)[0, 0, 200:-200], wave(2)[::4][200:-200], atol=0.01)
    assert_allclose(reduce_rate(wave(40)[None, None], 4)[0, 0, 200:-200], 0, atol=0.02)
    assert_array_equal(reduce_rate(X, 1), X)


def test_channels_that_say_nothing_are_found(rng):
    X = rng.standard_normal((5, 4, 9))
    X[2, 1], X[0, 3, 0] = 1.5, np.nan
    assert find_bad_channels(X) == [1, 3]


def test_mistakes_are_told(rng):
    signal = rng.standard_normal((2, 100))
    for how, said in (
        ({"low": 200}, "between 0 and 100 hertz"),
        ({"low": 9, "high": 3}, "below high=3"),
        ({"low": 9, "kind": "boxcar"}, "must be"),
    ):
        with pytest.raises(ValueError, match=said):
            filter_signal(signal, RATE, **how)
    with pytest.raises(ValueError, match="trigger 1, at sample 95, is not all in the recording"):
        cut_epochs(signal, [10, 95], RATE, start=0, stop=0.1)
    with pytest.raises(ValueError, match="leave no value"):
        cut_epochs(signal, [10], RATE, start=0.2, stop=0.1)
    with pytest.raises(ValueError, match="numbers of samples"):
        cut_epochs(signal, [1.5], RATE, start=0, stop=0.1)
    with pytest.raises(ValueError, match="no value is before 0 s"):
        subtract_baseline(signal[None], np.arange(100) / RATE)
    with pytest.raises(ValueError, match="leave 4 of 100 values"):
        reduce_rate(signal[None], 30)
