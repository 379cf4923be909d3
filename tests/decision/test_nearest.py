"""The class whose mean is nearest, by distance and by direction."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import NearestCentroid

from separatrix import FisherDiscriminant, GroupedDiscriminant, load, merge, save
from separatrix.decision.linear import cosine_rule
from tests.discovery import labelled

BY_MEANS = {
    "distance": FisherDiscriminant(shrinkage=None, rule="nearest-mean"),
    "angle": FisherDiscriminant(shrinkage=None, rule="cosine"),
    "groups, distance": GroupedDiscriminant(2, rule="nearest-mean"),
    "groups, angle": GroupedDiscriminant(2, rule="cosine"),
}
every_model = pytest.mark.parametrize("model", BY_MEANS.values(), ids=BY_MEANS)


@every_model
def test_it_decides_by_the_nearest_mean_in_the_subspace(model):
    X, y = labelled(200, 6)
    new, _ = labelled(100, 6, seed=1)
    model.fit(X, y)
    Z, Z_new = model.transform(X), model.transform(new)
    if model.rule == "cosine":
        means = np.stack([Z[y == c].mean(axis=0) for c in model.classes_])
        expected = model.classes_[cosine_similarity(Z_new, means).argmax(axis=1)]
    else:
        expected = NearestCentroid().fit(Z, y).predict(Z_new)
    assert_array_equal(model.predict(new), expected)
    assert_allclose(model.predict_proba(new).sum(axis=1), 1)
    assert_array_equal(model.classes_[model.predict_proba(new).argmax(axis=1)], expected)


def test_distance_is_the_linear_rule_with_equal_priors_where_scatter_is_a_sphere():
    X, y = labelled(200, 6)
    y[:60] = y[0]  # classes of unlike sizes
    by_means = FisherDiscriminant(shrinkage=None, rule="nearest-mean").fit(X, y)
    n_classes = len(by_means.classes_)
    # the directions make the scatter within classes the identity: a sphere
    linear = FisherDiscriminant(shrinkage=None).fit(X, y)
    difference = by_means._rule.coef - linear._rule.coef
    assert_allclose(difference, 0, atol=1e-9 * np.abs(linear._rule.coef).max())
    expected = linear._rule.intercept - np.log(linear.priors_) + np.log(1 / n_classes)
    assert_allclose(by_means._rule.intercept, expected, rtol=1e-9)
    assert by_means.coef_.shape == (n_classes, 6)


def test_the_length_of_a_row_does_not_matter_to_the_angle(rng):
    rule = cosine_rule(rng.standard_normal((3, 4)), 0.5, np.full(3, 1 / 3))
    Z = rng.standard_normal((20, 4))
    assert_allclose(rule.scores(5 * Z), rule.scores(Z))
    assert_array_equal(rule.scores(np.zeros((1, 4))), np.zeros((1, 3)))


def test_cosines_become_probabilities_that_hold():
    # rows about four means of one length, normal with one variance along every axis
    rng = np.random.default_rng(0)
    means = 2 * np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0.6, 0.8, 0, 0]])
    y = rng.integers(0, 4, 20000)
    Z = means[y] + rng.standard_normal((len(y), 4))
    scores = cosine_rule(means, 1.0, np.full(4, 0.25)).scores(Z)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    confidence, right = shares.max(axis=1), scores.argmax(axis=1) == y
    bins = np.digitize(confidence, np.linspace(0, 1, 11))
    error = [
        np.mean(bins == b) * abs(confidence[bins == b].mean() - right[bins == b].mean())
        for b in np.unique(bins)
    ]
    # 0.013 measured: directions of normal rows are nearly von Mises and Fisher's; a factor of two
    # in the concentration gives more than 0.12
    assert sum(error) < 0.04


def test_a_class_with_no_prior_is_excluded_and_a_mean_at_the_origin_has_no_angle():
    means = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    rule = cosine_rule(means, 1.0, np.array([0.5, 0.5, 0.0]))
    scores = rule.scores(np.array([[0.1, 2.0], [-1.0, 0.0]]))
    assert_array_equal(scores.argmax(axis=1), [1, 0])
    assert np.isneginf(scores[:, 2]).all()


def test_the_angle_has_no_coefficients_and_says_so():
    X, y = labelled(60, 4)
    model = FisherDiscriminant(shrinkage=None, rule="cosine").fit(X, y)
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match=r'rule="cosine" there is no coef_'):
        _ = model.intercept_


@pytest.mark.parametrize("rule", ["nearest-mean", "cosine"])
def test_merged_and_saved_models_decide_as_one(rule, tmp_path):
    X, y = labelled(200, 6)
    whole = FisherDiscriminant(shrinkage=None, rule=rule).fit(X, y)
    parts = [FisherDiscriminant(shrinkage=None, rule=rule).fit(X[i::2], y[i::2]) for i in (0, 1)]
    assert_allclose(merge(parts).decision_function(X), whole.decision_function(X), rtol=1e-6)
    save(whole, tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").decision_function(X), whole.decision_function(X))
