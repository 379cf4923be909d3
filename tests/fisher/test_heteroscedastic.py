"""Directions of unequal spread: the criterion by its formula, known answers, moments alone."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from separatrix import (
    FisherDiscriminant,
    HeteroscedasticDiscriminant,
    QuadraticDiscriminant,
    load,
    merge,
    save,
)
from tests.discovery import SHAPES, TALL, labelled, same_up_to_sign

every_shape = pytest.mark.parametrize(("X", "y"), SHAPES.values(), ids=SHAPES)


def unequal_spread(n, d, seed, n_new=2000):
    """Classes with a common mean, of which two features differ in spread; deviations are one."""
    rng = np.random.default_rng(seed)
    y = np.arange(n + n_new) % 2
    X = rng.standard_normal((n + n_new, d))
    X[:, :2] *= np.where(y == 0, 3.0, 0.6)[:, None]
    X = (X - X[:n].mean(axis=0)) / X[:n].std(axis=0)
    return X[:n], y[:n], X[n:], y[n:]


def angle(A, B):
    """The largest angle between two subspaces, as a sine."""
    Q, R = (np.linalg.qr(V)[0] for V in (A, B))
    return np.linalg.norm(Q - R @ (R.T @ Q), 2)


def by_formula(X, y, alpha):
    """The directions, by matrix logarithms and symmetric roots."""
    n, X = len(X), (X - X.mean(axis=0)) / X.std(axis=0)
    d = X.shape[1]
    parts = [X[y == c] for c in np.unique(y)]
    covariances = [np.cov(P.T, bias=True) + 1e-6 * np.eye(d) for P in parts]
    pooled = sum(len(P) / n * C for P, C in zip(parts, covariances, strict=True))
    pooled = (1 - alpha) * pooled + alpha * np.trace(pooled) / d * np.eye(d)
    root = np.linalg.inv(scipy.linalg.sqrtm(pooled))
    total = np.zeros((d, d))
    for P, C in zip(parts, covariances, strict=True):
        white = (len(P) * root @ C @ root + (d + 1) * np.eye(d)) / (len(P) + d + 1)
        log, mean = scipy.linalg.logm(white), root @ P.mean(axis=0)
        total += len(P) / n * (0.5 * log @ log + np.outer(mean, mean))
    evals, V = np.linalg.eigh(total)
    return root @ V[:, ::-1], evals[::-1]


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_directions_are_those_of_the_formula(alpha):
    X, y = TALL
    model = HeteroscedasticDiscriminant(n_components=4, shrinkage=alpha).fit(X, y)
    W, evals = by_formula(X, y, alpha)
    ours = model.components_ * X.std(axis=0)
    cosines = np.sum(ours * W[:, :4].T, axis=1) / np.linalg.norm(ours, axis=1)
    assert_allclose(np.abs(cosines), np.linalg.norm(W[:, :4], axis=0), rtol=1e-7)
    assert_allclose(model.explained_ratio_, evals[:4] / evals.sum(), rtol=1e-7)


def test_the_pooled_variance_along_each_direction_is_one():
    X, y = TALL
    model = HeteroscedasticDiscriminant(shrinkage=0.0).fit(X, y)
    Z = model.transform(X)
    within = sum(np.cov(Z[y == c].T, bias=True) * np.mean(y == c) for c in range(3))
    assert_allclose(within, np.eye(3), atol=1e-4)  # but for the least variance


@pytest.mark.parametrize(
    ("d", "least"), [(20, 0.9), (100, 0.68)], ids=["20 features", "100 features"]
)
def test_classes_of_one_mean_are_separated_by_their_spread(d, least):
    # of 20 draws: 0.914 with deviation 0.006, and 0.720 with deviation 0.032
    draws = [unequal_spread(400, d, seed) for seed in range(4)]

    def score(model):
        return np.mean([model.fit(X, y).score(*new) for X, y, *new in draws])

    assert score(HeteroscedasticDiscriminant()) > least
    assert score(FisherDiscriminant()) < 0.56
    assert score(QuadraticDiscriminant(shrinkage=0.1)) < score(HeteroscedasticDiscriminant())


def test_many_rows_find_the_features_that_differ():
    X, y, *_ = unequal_spread(20000, 8, 0, 2)
    model = HeteroscedasticDiscriminant().fit(X, y)
    assert angle(model.components_.T, np.eye(8)[:, :2]) < 0.02


def test_means_count_as_in_fishers_discriminant_where_spreads_are_equal():
    rng = np.random.default_rng(0)
    y = np.arange(20000) % 2
    X = rng.standard_normal((20000, 5)) @ rng.standard_normal((5, 5))
    X[y == 1] += rng.standard_normal(5)
    models = HeteroscedasticDiscriminant(1), FisherDiscriminant(1, shrinkage=None)
    both = [model.fit(X, y).components_.T for model in models]
    assert angle(*both) < 0.02


@every_shape
def test_shards_batches_and_all_rows_give_one_model(X, y):
    parts = [slice(i, None, 3) for i in range(3)]
    whole = HeteroscedasticDiscriminant(n_components=2).fit(X, y)
    merged = merge([HeteroscedasticDiscriminant(n_components=2).fit(X[p], y[p]) for p in parts])
    streamed = HeteroscedasticDiscriminant(n_components=2)
    for p in parts:
        streamed.partial_fit(X[p], y[p], classes=np.unique(y))
    left = HeteroscedasticDiscriminant(n_components=2).fit(
        np.vstack([X, X[:5] + 1]), np.concatenate([y, y[:5]])
    )
    left.forget(X[:5] + 1, y[:5])
    expected = whole.decision_function(X)
    for model in (merged, streamed, left):
        assert_allclose(model.components_, whole.components_, atol=1e-9)
        assert_allclose(model.decision_function(X), expected, rtol=1e-7, atol=1e-7)


def test_units_of_features_do_not_matter():
    X, y = TALL
    units = np.array([1e-3, 1, 1e3, 7, 0.1, 50])
    plain = HeteroscedasticDiscriminant().fit(X, y)
    scaled = HeteroscedasticDiscriminant().fit(X * units, y)
    found = same_up_to_sign(plain.components_.T, (scaled.components_ * units).T)
    assert_allclose(found, plain.components_.T, atol=1e-9)


def test_a_class_of_one_row_and_constant_features_are_no_trouble():
    X, y = labelled(60, 5)
    X[:, 3], y[0] = 4.0, 7
    model = HeteroscedasticDiscriminant().fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert (model.components_[:, 3] == 0).all()


def test_a_class_without_a_prior_is_never_predicted():
    X, y = TALL
    model = HeteroscedasticDiscriminant(priors=[0.5, 0.0, 0.5]).fit(X, y)
    assert set(model.predict(X)) == {0, 2}


def test_more_directions_than_there_are_is_an_error_in_words():
    X, y = TALL
    with pytest.raises(ValueError, match="n_components=7 is too large"):
        HeteroscedasticDiscriminant(n_components=7).fit(X, y)


def test_a_file_keeps_the_model(tmp_path):
    X, y = TALL
    model = HeteroscedasticDiscriminant().fit(X, y)
    save(model, tmp_path / "m.model")
    assert_allclose(load(tmp_path / "m.model").predict_proba(X), model.predict_proba(X))
