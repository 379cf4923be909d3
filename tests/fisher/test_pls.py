"""Partial least squares for classes: equal to the regression of indicators, from moments."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_wine

from separatrix import PartialLeastSquaresDiscriminant, merge
from tests.discovery import TALL, WIDE, labelled, same_up_to_sign
from tests.fisher.scatters import every_shape, scatters


def peer(X, y, k, scale):
    """scikit-learn's regression of the indicators; its power method runs to the last digit."""
    indicators = (y[:, None] == np.unique(y)).astype(float)
    return PLSRegression(k, scale=scale, tol=1e-31, max_iter=20_000).fit(X, indicators)


@pytest.mark.filterwarnings("ignore:Maximum number of iterations")
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("k", [1, 2, 5])
@every_shape
def test_scores_and_coefficients_are_those_of_the_regression_of_indicators(X, y, k, scale):
    ours = PartialLeastSquaresDiscriminant(k, scale=scale).fit(X, y)
    theirs = peer(X, y, k, scale)
    Z = ours.transform(X)
    assert_allclose(Z, same_up_to_sign(Z, theirs.transform(X)), atol=1e-8 * np.abs(Z).max())
    assert_allclose(
        ours.regression_coef_, theirs.coef_, atol=1e-8 * np.abs(theirs.coef_).max(), rtol=0
    )


@every_shape
def test_scores_are_uncorrelated(X, y):
    W = PartialLeastSquaresDiscriminant(5).fit(X, y).components_.T
    Sw, Sb = scatters(X, y)
    scatter = W.T @ (Sw + Sb) @ W
    assert_allclose(scatter, np.diag(np.diag(scatter)), atol=1e-10 * scatter.max())


@every_shape
def test_squared_importances_have_the_mean_one(X, y):
    vip = PartialLeastSquaresDiscriminant(4).fit(X, y).vip_
    assert_allclose(np.mean(vip**2), 1)


def test_importance_names_the_features_that_differ():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.standard_normal((200, 30))
    X[:, [3, 17]] += 2 * y[:, None]
    vip = PartialLeastSquaresDiscriminant(2).fit(X, y).vip_
    assert set(np.argsort(vip)[-2:]) == {3, 17}


@pytest.mark.parametrize("scale", [True, False])
def test_batches_and_sites_give_the_fit_of_all_rows(scale):
    X, y = TALL
    whole = PartialLeastSquaresDiscriminant(3, scale=scale).fit(X, y)
    sites = [
        PartialLeastSquaresDiscriminant(3, scale=scale).fit(X[i::3], y[i::3]) for i in (0, 1, 2)
    ]
    stream = PartialLeastSquaresDiscriminant(3, scale=scale)
    for start in range(0, 90, 30):
        stream.partial_fit(X[start : start + 30], y[start : start + 30], classes=[0, 1, 2])
    for other in (merge(sites), stream):
        assert_allclose(other.components_, whole.components_, atol=1e-9)
        assert_allclose(other.vip_, whole.vip_, atol=1e-9)
        assert_allclose(other.predict_proba(X), whole.predict_proba(X), atol=1e-9)


def test_directions_end_where_no_covariance_is_left():
    X, y = WIDE
    with pytest.warns(UserWarning, match="found 23 of 40 directions"):
        model = PartialLeastSquaresDiscriminant(40).fit(X, y)
    assert model.transform(X).shape == (24, 23)
    assert_allclose(model.explained_ratio_.sum(), 1)  # the labels are fitted perfectly


def test_many_correlated_features_do_no_harm():
    """Spectra: smooth, far more channels than rows. Held-out rows, beside chance of a third."""
    rng = np.random.default_rng(1)
    grid = np.linspace(0, 1, 500)
    bumps = np.exp(-((grid - np.array([[0.2], [0.5], [0.8]])) ** 2) / 0.005)
    nuisance = np.sin(np.outer(np.arange(1, 9), 3 * grid))
    y = np.arange(240) % 3
    X = 0.3 * bumps[y] + rng.standard_normal((240, 8)) @ nuisance
    X += 0.1 * rng.standard_normal(X.shape)
    model = PartialLeastSquaresDiscriminant("auto", scale=False).fit(X[:120], y[:120])
    assert model.score(X[120:], y[120:]) > 0.9


def test_wine_is_separated_by_new_directions():
    X, y = load_wine(return_X_y=True)
    model = PartialLeastSquaresDiscriminant(5).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.95


def test_a_constant_feature_has_no_part():
    X, y = labelled(40, 5)
    X = np.hstack([X, np.full((40, 1), 1e6)])
    model = PartialLeastSquaresDiscriminant(2).fit(X, y)
    assert_allclose(model.components_[:, 5], 0, atol=1e-12)
    assert_allclose(model.vip_[5], 0, atol=1e-12)


def test_the_default_takes_the_directions_that_the_classes_need():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    latent = rng.standard_normal((120, 4)) * [8, 6, 4, 1]
    latent[:, 3] += 4 * y  # the fourth direction of variance
    X = latent @ np.linalg.qr(rng.standard_normal((40, 4)))[0].T
    X += 0.05 * rng.standard_normal(X.shape)
    model = PartialLeastSquaresDiscriminant(scale=False).fit(X, y)
    assert model.score(X, y) > 0.95
    assert PartialLeastSquaresDiscriminant(1, scale=False).fit(X, y).score(X, y) < 0.9


def test_moments_alone_give_twice_as_many_directions_as_classes():
    X, y = load_wine(return_X_y=True)
    parts = [slice(i, None, 3) for i in range(3)]
    model = PartialLeastSquaresDiscriminant()
    for part in parts:
        model.partial_fit(X[part], y[part])
    assert model.components_.shape == (6, 13)
    merged = merge([PartialLeastSquaresDiscriminant().fit(X[p], y[p]) for p in parts])
    assert_allclose(merged.components_, model.components_, atol=1e-9)
