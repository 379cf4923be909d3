"""What a reliability claims, against the share of rows that confirm it."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import chi2, multivariate_normal
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)

from separatrix import EarlyClassifier, FisherDiscriminant, LocalQDA
from tests.early.data import by_model


def far_apart(n, near, far, seed):
    """Two classes that nearly agree in what is seen and are far apart in what is not."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.standard_normal((n, 2)) + np.outer(y - 0.5, [near, far]), y


@pytest.mark.parametrize("region", ["ellipsoid", "box"])
def test_a_class_that_is_unlikely_and_far_away_counts_as_it_is_likely(region):
    X, y = far_apart(4000, 2, 20, seed=0)
    new, _ = far_apart(40_000, 2, 20, seed=1)
    model = by_model(LinearDiscriminantAnalysis(), conditional="mixture", region=region)
    final = model.fit(X, y).predict(new)
    found = model.decide(np.where([True, False], new, np.nan))
    right = found.label == final
    for low, high in ((0.6, 0.8), (0.8, 0.95), (0.95, 0.99), (0.99, 1)):
        some = (found.reliability >= low) & (found.reliability < high)
        claimed, n = found.reliability[some].mean(), some.sum()
        assert n > 400
        # a class that is not met at all leaves the shares: then the claim is exact
        assert abs(right[some].mean() - claimed) < 4 * np.sqrt(claimed * (1 - claimed) / n) + 2e-3


def test_the_reliability_of_a_mixture_is_the_sum_over_its_components():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    shift = np.array([[0, 0, 0, 0], [1, 1, 2, 0], [0, 2, 0, 3]])
    X = rng.standard_normal((150, 4)).cumsum(axis=1) + shift[y]
    model = by_model(LinearDiscriminantAnalysis(), conditional="mixture", regularization=0.1).fit(
        X, y
    )
    means = np.stack([X[y == c].mean(axis=0) for c in range(3)])
    within = model._score.conditional.units.scale**2
    models = [0.9 * np.cov(X[y == c].T, bias=True) + 0.1 * np.diag(within) for c in range(3)]
    C, b = model.estimator_.coef_, model.estimator_.intercept_
    found = model.decide(np.where(np.arange(4) < 2, X, np.nan))
    several = 0
    for i, x in enumerate(X):
        logs = [
            multivariate_normal.logpdf(x[:2], m[:2], S[:2, :2])
            for m, S in zip(means, models, strict=True)
        ]
        shares, winners, masses = softmax(logs), [], []
        for m, S in zip(means, models, strict=True):
            K = np.linalg.solve(S[:2, :2], S[:2, 2:])
            rest = np.append(x[:2], m[2:] + (x[:2] - m[:2]) @ K)
            R = S[2:, 2:] - S[2:, :2] @ K
            scores = C @ rest + b
            c = scores.argmax()
            apart = np.delete(C[c] - C, c, axis=0)[:, 2:]
            gaps = np.delete(scores[c] - scores, c)
            masses.append(chi2.cdf(np.min(gaps**2 / np.einsum("gi,ij,gj->g", apart, R, apart)), 2))
            winners.append(c)
        votes = np.bincount(winners, shares, minlength=3)
        assert found.label[i] == votes.argmax()
        backed = np.array(winners) == votes.argmax()
        several += len(set(winners)) > 1
        assert_allclose(found.reliability[i], (shares * masses)[backed].sum(), rtol=1e-6)
    assert several > 20


@pytest.mark.parametrize("rule", [LocalQDA(6), QuadraticDiscriminantAnalysis()], ids=type)
@pytest.mark.parametrize("region", ["ellipsoid", "chebyshev", "box"])
def test_what_is_skipped_under_a_mixture_would_not_have_decided(rule, region):
    rng = np.random.default_rng(0)
    y = np.arange(240) % 3
    X = rng.standard_normal((240, 6)).cumsum(axis=1) + np.outer(y, np.arange(6)) / 2
    model = by_model(rule, conditional="mixture", region=region).fit(X[::2], y[::2])
    new = X[1::2]
    for tau in (0.2, 0.6, 0.9, 0.99):
        early = model.decide_early(new, reliability=tau)
        cut = np.where(np.tri(6, dtype=bool)[:, None], new, np.nan)
        whole = [model.decide(rows, reliability=tau) for rows in cut]
        first = np.argmax([found.decided for found in whole], axis=0)
        assert_array_equal(early.time, first + 1)
        rows = np.arange(len(new))
        assert_array_equal(early.label, np.array([f.label for f in whole])[first, rows])
        assert_allclose(early.reliability, np.array([f.reliability for f in whole])[first, rows])


def test_no_row_of_a_mixture_has_a_covariance_of_its_own():
    rng = np.random.default_rng(0)
    n, d = 200, 32
    y = np.arange(n) % 4
    X = rng.standard_normal((n, d)).cumsum(axis=1) + 3 * np.outer(y, np.linspace(0, 1, d))
    model = by_model(LocalQDA(4), conditional="mixture").fit(X, y)
    rows = np.where(np.arange(d) < 10, np.tile(X, (20, 1)), np.nan)
    tracemalloc.start()
    model.decide(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(rows) * 4 * d * d * 8


def test_rotated_boxes_of_several_classes_have_less_mass_together():
    rng = np.random.default_rng(0)
    n_rivals = 5
    angles = np.pi * np.arange(n_rivals) / n_rivals
    X, y = [rng.standard_normal((20_000, 2))], [np.zeros(20_000, int)]
    for g, u in enumerate(np.c_[np.cos(angles), np.sin(angles)]):
        rows = rng.standard_normal((300, 2))
        X.append(rows + np.outer(rows @ u, u))
        y.append(np.full(300, g + 1))
    X, y = np.vstack(X), np.concatenate(y)
    claims = []
    for prior in (0.4, 0.6, 0.8):
        priors = [prior] + [(1 - prior) / n_rivals] * n_rivals
        rule = QuadraticDiscriminantAnalysis(priors=priors)
        model = by_model(rule, region="box", regularization=1e-6).fit(X, y)
        found = model.decide(np.full((1, 2), np.nan))
        new = rng.multivariate_normal(X.mean(axis=0), np.cov(X.T), 100_000)
        true = np.mean(model.predict(new) == found.label[0])
        claims.append(found.reliability[0])
        assert claims[-1] <= true + 3 * np.sqrt(true * (1 - true) / len(new))
    assert claims[-1] > 0.1


def varying_features(X, y):
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(X, y)
    return model._score.conditional.units.varies


def test_a_large_offset_is_no_constant_however_many_rows():
    rng = np.random.default_rng(0)
    y = np.arange(20_000) % 2
    X = rng.standard_normal((20_000, 3)) + np.outer(y, [0, 0, 2.0])
    X[:, 2] += 1e12
    X[:, 1] = 0.1  # whose average is rounded
    varies = (
        EarlyClassifier(FisherDiscriminant(shrinkage=None))
        .fit(X, y)
        ._score.conditional.units.varies
    )
    assert_array_equal(varies, [True, False, True])
    X[:, 1] += 1e-17 * rng.standard_normal(len(X))  # its last digit
    varies = (
        EarlyClassifier(FisherDiscriminant(shrinkage=None))
        .fit(X, y)
        ._score.conditional.units.varies
    )
    assert_array_equal(varies, [True, False, True])


def test_unknown_directions_do_not_depend_on_units():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 3
    X = rng.standard_normal((300, 3)) + np.array([[0, 0, 0], [0, 3, 0], [0, 0, 3]])[y]
    for reducer in (FisherDiscriminant(shrinkage=None), None):
        for scale in (1, 1e7, 1e9):
            units = np.array([1, 1 / scale, scale])
            model = by_model(LocalQDA(20, reg=0.1), reducer=reducer).fit(X * units, y)
            expected = [2, 2, 1, 1] if reducer else [3, 2, 1, 1]
            counts = [model._score._count_open(t) for t in range(4)]
            assert_array_equal(counts, expected)
