"""Covariances of channels over time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, clone

from separatrix import FisherDiscriminant, load, merge, save
from separatrix.fisher.structure import Decoupled, Toeplitz, block_toeplitz, time_decoupled

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


STRUCTURES = [Toeplitz(CHANNELS), Decoupled(CHANNELS)]


@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_the_result_is_positive_and_of_the_same_trace(rng, structure):
    rows = drawn(rng, 7)  # fewer than features
    S = rows.T @ rows
    found = structure.impose(S)
    assert_allclose(found, found.T)
    assert np.linalg.eigvalsh(found).min() > -1e-10 * np.trace(S)
    if isinstance(structure, Toeplitz):
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
    n_times, right = 20, {"plain": [], "toeplitz": []}
    for _ in range(20):
        X = np.vstack([drawn(rng, 15, s, n_times) for s in (0.0, 1.5)])
        Z = np.vstack([drawn(rng, 200, s, n_times) for s in (0.0, 1.5)])
        y, z = np.repeat([0, 1], 15), np.repeat([0, 1], 200)
        for structure, scores in right.items():
            covariance = Toeplitz(CHANNELS) if structure == "toeplitz" else None
            model = FisherDiscriminant(covariance=covariance, shrinkage=0.1)
            scores.append(model.fit(X, y).score(Z, z))
    gain = np.subtract(right["toeplitz"], right["plain"])
    assert gain.mean() > 4 * gain.std() / np.sqrt(20)


@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_structured_models_merge_and_are_kept(rng, structure, tmp_path):
    X = np.vstack([drawn(rng, 40, s) for s in (0.0, 1.0)])
    y = np.repeat([0, 1], 40)
    how = {"covariance": structure, "shrinkage": 0.05}
    parts = [FisherDiscriminant(**how).fit(X[i::2], y[i::2]) for i in range(2)]
    whole = FisherDiscriminant(**how).fit(X, y)
    merged = merge(parts)
    assert_allclose(merged.coef_, whole.coef_, rtol=1e-9)
    Sw = structure.impose(whole.moments_.Sw)
    Sw = 0.95 * Sw + 0.05 * np.diag(np.diag(Sw))
    W = whole.components_
    assert_allclose(W @ Sw @ W.T, np.eye(1), atol=1e-9)
    save(whole, tmp_path / "a.model")
    kept = load(tmp_path / "a.model")
    assert repr(kept.covariance) == repr(structure)
    assert_allclose(kept.partial_fit(X, y).coef_, whole.coef_, rtol=1e-9)


@pytest.mark.parametrize("structure", STRUCTURES, ids=repr)
def test_structures_are_estimators(rng, structure):
    rows = drawn(rng, 50) + 1e3
    fitted = clone(structure).fit(rows)
    assert_allclose(fitted.covariance_, structure.impose(np.cov(rows.T, bias=True)), rtol=1e-8)
    model = FisherDiscriminant(covariance=structure).set_params(covariance__n_channels=2)
    assert model.covariance.n_channels == 2
    structure.n_channels = CHANNELS


def test_channels_divide_the_features(rng):
    for n_channels, words in (
        (4, "n_channels=4 does not divide the 18 features"),
        (0, "n_channels=0 must be a positive whole number"),
    ):
        model = FisherDiscriminant(covariance=Toeplitz(n_channels))
        with pytest.raises(ValueError, match=words):
            model.fit(drawn(rng, 9), np.arange(9) % 2)


class Diagonal:
    """A covariance that is no estimator of scikit-learn."""

    def fit(self, X):
        self.covariance_ = np.diag(np.mean(X**2, axis=0))
        return self


class Forgetful(BaseEstimator):
    def fit(self, X):
        return self


def test_any_object_with_fit_and_covariance_will_do(rng):
    X = np.vstack([drawn(rng, 40, s) for s in (0.0, 1.0)])
    y = np.repeat([0, 1], 40)
    found = FisherDiscriminant(covariance=Diagonal()).fit(X, y)
    assert_allclose(found.coef_, FisherDiscriminant(shrinkage=1.0).fit(X, y).coef_, rtol=1e-9)
    with pytest.raises(ValueError, match="has no covariance_ after fit"):
        FisherDiscriminant(covariance=Forgetful()).fit(X, y)
    with pytest.raises(ValueError, match="covariance="):
        FisherDiscriminant(covariance=Diagonal).fit(X, y)
