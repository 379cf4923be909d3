"""Classes of Gaussian clusters: the rule, and the scores of rows left out that choose it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import balanced_accuracy_score

from separatrix import MixtureIPCAC, datasets, load, save
from separatrix.ipcac.cluster_rule import ClusterRows, _shaped_distances


def ringnorm(rng, n):
    y = rng.permutation(np.repeat([0, 1], n))
    X = rng.standard_normal((2 * n, 20))
    return np.where(y[:, None] == 1, X + 2 / np.sqrt(20), 2 * X), y


def boards(rng, n, sides=2):
    """Clusters of two classes on a board, in eight dimensions."""
    places = rng.integers(0, sides, (n, 2))
    X = rng.standard_normal((n, 8))
    X[:, :2] += 6 * places
    return X, places.sum(axis=1) % 2


def test_clusters_about_one_mean_have_covariances_of_their_own():
    rng = np.random.default_rng(0)
    model = MixtureIPCAC(random_state=0).fit(*ringnorm(rng, 200))
    assert len(model._rule.factors) == len(model.cluster_classes_)
    new, expected = ringnorm(rng, 500)
    assert model.score(new, expected) > 0.95


def test_few_rows_of_a_rare_class_in_many_dimensions():
    scores = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        means = 7 * rng.standard_normal((2, 2000)) / np.sqrt(2000)
        y, y_new = np.repeat([0, 1], (60, 8)), np.repeat([0, 1], 200)
        X = rng.standard_normal((68, 2000)) + means[y]
        model = MixtureIPCAC(priors=[0.5, 0.5], random_state=0).fit(X, y)
        new = rng.standard_normal((400, 2000)) + means[y_new]
        scores.append(balanced_accuracy_score(y_new, model.predict(new)))
    assert np.mean(scores) > 0.94


def test_boards_have_linear_nodes():
    rng = np.random.default_rng(0)
    X, y = boards(rng, 300)
    model = MixtureIPCAC(random_state=0).fit(X, y)
    new, expected = boards(rng, 1000)
    assert model.score(new, expected) > 0.95
    if not len(model._rule.factors):
        scores = model._rule.cluster_scores(new, model.mean_)
        odds = scores[:, model.nodes_[:, 1]] - scores[:, model.nodes_[:, 0]]
        ratio = (model.transform(new) - model.thresholds_) / odds
        assert_allclose(ratio, np.tile(ratio[0], (1000, 1)), rtol=1e-6)
        assert (ratio > 0).all()
        assert_allclose(model.transform(X).std(axis=0), 1)


def test_distances_are_those_without_each_row():
    """The scale of covariances stays, which is part of the ridge that is chosen."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], (12, 9, 8))
    X = rng.standard_normal((29, 3)) * (1 + labels[:, None])
    rows = ClusterRows(X, labels, np.array([0, 0, 1]), labels // 2, np.arange(29), np.ones(2) / 2)
    means, share = rows.means(), 0.3
    R = X - means[labels]
    covariances = [(R[labels == g].T @ R[labels == g]) / (rows.counts[g] - 1) for g in range(3)]
    common = R.T @ R / 26
    mixed = np.array([(1 - share) * S + share * common + 0.1 * np.eye(3) for S in covariances])
    factors = np.linalg.inv(np.linalg.cholesky(mixed)).transpose(0, 2, 1)
    logs = np.linalg.slogdet(mixed)[1]
    found = _shaped_distances(rows, R, means, factors, logs, share)
    for i in (0, 14, 28):
        n, g = rows.counts[labels[i]], labels[i]
        outer = np.outer(R[i], R[i]) * n / (n - 1)
        for h in range(3):
            S = mixed[h] - share * outer / 25
            S = S - (1 - share) * outer / (n - 2) if h == g else S
            step = X[i] - (means[h] - R[i] / (n - 1) if h == g else means[h])
            wanted = step @ np.linalg.solve(S, step) + np.linalg.slogdet(S)[1]
            assert_allclose(found[i, h], wanted, rtol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_follow_the_priors_and_sum_to_one(n_classes, tmp_path):
    bunch = datasets.load("digits")
    X, y = bunch.data[:300], bunch.target[:300].astype(int) % n_classes
    model = MixtureIPCAC(random_state=0).fit(X, y)
    P = model.predict_proba(bunch.data[300:])
    assert_allclose(P.sum(axis=1), 1)
    assert_array_equal(model.predict(bunch.data[300:]), P.argmax(axis=1))
    priors = np.full(n_classes, 1e-6)
    priors[0] = 1 - priors[1:].sum()
    sure = MixtureIPCAC(priors=priors, random_state=0).fit(X, y)
    assert sure.predict_proba(bunch.data[300:])[:, 0].mean() > P[:, 0].mean()
    save(model, tmp_path / "a.model")
    assert_array_equal(load(tmp_path / "a.model").predict_proba(bunch.data[300:]), P)


def test_points_are_separated_by_the_nodes_of_the_source():
    X, y = np.repeat(np.eye(3), 4, axis=0), np.repeat([0, 1, 2], 4)
    model = MixtureIPCAC(random_state=0).fit(X, y)
    assert model._rule is None
    assert_array_equal(model.predict(X), y)
