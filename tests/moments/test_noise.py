"""Noise on moments: as much as the promise needs, and moments afterwards."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from separatrix import ClassMoments
from separatrix.moments.noise import (
    SENSITIVITY,
    NoiseLevel,
    add_noise,
    clip_rows,
    gaussian_sigma,
)
from tests.discovery import labelled

LEVEL = NoiseLevel(2.0, 1e-5, 3.0)


def clipped(n, d):
    X, y = labelled(n, d, 2)
    return clip_rows(X, 3.0), y


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-5), (8.0, 1e-9)])
def test_the_noise_is_the_least_that_keeps_the_promise(epsilon, delta):
    """δ(ε) of two Gaussians a distance of one apart, by integrating their densities."""
    sigma = gaussian_sigma(epsilon, delta)
    x, step = np.linspace(-40 * sigma, 40 * sigma, 2_000_001, retstep=True)
    excess = norm.pdf(x, 1, sigma) - np.exp(epsilon) * norm.pdf(x, 0, sigma)
    assert_allclose(excess.clip(0).sum() * step, delta, rtol=1e-3)
    classic = np.sqrt(2 * np.log(1.25 / delta)) / epsilon
    assert sigma < classic


@pytest.mark.parametrize("per_class", [False, True])
def test_one_row_changes_the_statistics_by_no_more_than_the_sensitivity(per_class):
    X, y = clipped(40, 5)
    a = ClassMoments.from_data(X, y, per_class=per_class)
    b = ClassMoments.from_data(X[1:], y[1:], per_class=per_class)
    changes = [a.counts - b.counts]
    changes.append((a.counts[:, None] * a.means - b.counts[:, None] * b.means) / 3.0)
    for m, sign in ((a, 1), (b, -1)):
        changes.append(sign * (m.Sw + (m.means.T * m.counts) @ m.means) / 9.0)
    changes[-2:] = [changes[-2] + changes[-1]]
    assert np.sqrt(sum(np.sum(c**2) for c in changes)) <= SENSITIVITY + 1e-12


@pytest.mark.parametrize("per_class", [False, True])
def test_noisy_moments_are_moments_near_the_true_ones(per_class):
    X, y = clipped(200_000, 3)
    moments = ClassMoments.from_data(X, y, per_class=per_class)
    noisy = add_noise(moments, LEVEL, np.random.default_rng(0))
    assert_allclose(noisy.counts, moments.counts, atol=6 * LEVEL.sigma)
    assert_allclose(noisy.means, moments.means, atol=1e-3)
    assert_allclose(noisy.Sw, moments.Sw, rtol=1e-2, atol=200 * LEVEL.sigma)
    for scatter in noisy.scatters:
        assert np.linalg.eigvalsh(scatter.matrix()).min() > -1e-6
    assert not noisy.origin.any()


def test_few_rows_drown_in_noise_and_stay_moments():
    X, y = clipped(10, 30)
    noisy = add_noise(ClassMoments.from_data(X, y), LEVEL, np.random.default_rng(0))
    assert noisy.counts.min() >= 1
    assert np.linalg.norm(noisy.means, axis=1).max() <= 3.0 + 1e-9
    assert np.linalg.eigvalsh(noisy.Sw).min() > -1e-9 * np.abs(noisy.Sw).max()


def test_rows_that_are_too_long_are_found_and_wrong_promises_refused():
    X, y = labelled(40, 5, 2)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="root mean square length"):
        add_noise(ClassMoments.from_data(10 * X, y), LEVEL, rng)
    moments = ClassMoments.from_data(clip_rows(X, 3.0), y)
    for name, value in {"epsilon": 0.0, "delta": 1.0, "clip": -1.0}.items():
        with pytest.raises(ValueError, match=f"{name}={value!r} is not valid"):
            add_noise(moments, LEVEL._replace(**{name: value}), rng)


def test_short_rows_are_left_as_they_are():
    X = np.vstack([np.zeros(3), np.eye(3), 5 * np.eye(3)])
    assert_allclose(np.linalg.norm(clip_rows(X, 2.0), axis=1), [0, 1, 1, 1, 2, 2, 2])
