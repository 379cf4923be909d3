"""Covariances of channels over time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix import FisherDiscriminant, merge
from separatrix.fisher.structure import block_toeplitz, impose_structure, time_decoupled

CHANNELS, TIMES = 3, 6


def stationary_covariance(n_times=TIMES):
    """Three mixed autoregressive processes."""
    mixing = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.2, 0.0, 1.0]])
    lags = np.abs(np.subtract.outer(np.arange(n_times), np.arange(n_times)))
    parts = np.stack([share**lags for share in (0.9, 0.5, 0.1)])
    full = np.einsum("ac,ctu,bc->atbu", mixing, parts, mixing)
    return full.reshape(CHANNELS * n_times, -1)


def drawn(rng, n, shift=0.0, n_times=TIMES):
    C = stationary_covariance(n_times)
    rows = rng.multivariate_normal(np.zeros(len(C)), C, n)
    rows[:, n_times // 2] += shift
    return rows


@pytest.mark.parametrize("structure", ["toeplitz", "decoupled"])
def test_the_result_is_positive_and_of_the_same_trace(rng, structure):
    rows = drawn(rng, 7)  # fewer than features
    S = rows.T @ rows
    found = impose_structure(S, structure, CHANNELS)
    assert_allclose(found, found.T)
    assert np.linalg.eigvalsh(found).min() > -1e-10 * np.trace(S)
    if structure == "toeplitz":
        assert_allclose(np.trace(found), np.trace(S))


def test_block_toeplitz_is_the_average_over_times_of_equal_lag(rng):
    rows = drawn(rng, 30)
    S = rows.T @ rows
    found = block_toeplitz(S, CHANNELS).reshape(CHANNELS, TIMES, CHANNELS, TIMES)
    given = S.reshape(found.shape)
    slow = np.mean([given[0, t, 2, t + 2] for t in range(TIMES - 2)]) * (TIMES - 2) / TIMES
    for t in range(TIMES - 2):
        assert_allclose(found[0, t, 2, t + 2], slow)
        assert_allclose(found[2, t + 2, 0, t], slow)


def test_a_stationary_covariance_keeps_its_blocks_of_one_time():
    C = stationary_covariance()
    assert_allclose(time_decoupled(C, CHANNELS), C, atol=1e-12)
    wide = np.diag(np.repeat([1.0, 2.0, 3.0], TIMES))
    assert_allclose(block_toeplitz(wide, CHANNELS), wide)


def test_channels_covary_alike_at_all_times(rng):
    rows = drawn(rng, 100)
    S = rows.T @ rows
    blocks = time_decoupled(S, CHANNELS).reshape(CHANNELS, TIMES, CHANNELS, TIMES)
    given = S.reshape(blocks.shape)
    average = np.mean([given[:, t, :, t] for t in range(TIMES)], axis=0)
    for t in range(TIMES):
        assert_allclose(blocks[:, t, :, t], average)


def test_few_rows_of_a_stationary_background_gain(rng):
    """Right on new rows, mean of 20 trainings of 30 rows in 60 features."""
    n_times, right = 20, {None: [], "toeplitz": []}
    for _ in range(20):
        X = np.vstack([drawn(rng, 15, s, n_times) for s in (0.0, 1.5)])
        Z = np.vstack([drawn(rng, 200, s, n_times) for s in (0.0, 1.5)])
        y, z = np.repeat([0, 1], 15), np.repeat([0, 1], 200)
        for structure, scores in right.items():
            how = {"structure": structure, "n_channels": CHANNELS, "shrinkage": 0.1}
            scores.append(FisherDiscriminant(**how).fit(X, y).score(Z, z))
    gain = np.subtract(right["toeplitz"], right[None])
    assert gain.mean() > 4 * gain.std() / np.sqrt(20)


@pytest.mark.parametrize("structure", ["toeplitz", "decoupled"])
def test_structured_models_merge(rng, structure):
    X = np.vstack([drawn(rng, 40, s) for s in (0.0, 1.0)])
    y = np.repeat([0, 1], 40)
    how = {"structure": structure, "n_channels": CHANNELS, "shrinkage": 0.05}
    parts = [FisherDiscriminant(**how).fit(X[i::2], y[i::2]) for i in range(2)]
    whole = FisherDiscriminant(**how).fit(X, y)
    assert_allclose(merge(parts).coef_, whole.coef_, rtol=1e-9)
    Sw = impose_structure(whole.moments_.Sw, structure, CHANNELS)
    Sw = 0.95 * Sw + 0.05 * np.trace(Sw) / len(Sw) * np.eye(len(Sw))
    W = whole.components_
    assert_allclose(W @ Sw @ W.T, np.eye(1), atol=1e-9)


def test_channels_divide_the_features(rng):
    with pytest.raises(ValueError, match="n_channels=4 does not divide the 18 features"):
        FisherDiscriminant(structure="toeplitz", n_channels=4).fit(drawn(rng, 9), np.arange(9) % 2)
