"""A classifier in a subspace decides by the coordinates, and by nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import FisherDiscriminant, KernelFisherDiscriminant
from separatrix.decision.linear import linear_gaussian_rule
from tests.discovery import TALL, labelled

PAIR = labelled(90, 6, n_classes=2)


@pytest.mark.parametrize(("X", "y"), [TALL, PAIR], ids=["three", "two"])
def test_all_answers_are_those_of_one_rule(X, y):
    model = FisherDiscriminant(n_components=1).fit(X, y)
    probabilities = model.predict_proba(X)
    assert_allclose(probabilities.sum(axis=1), 1)
    assert_array_equal(model.predict(X), model.classes_[probabilities.argmax(axis=1)])
    assert_allclose(np.log(probabilities), model.predict_log_proba(X), atol=1e-9)
    scores = model.decision_function(X)
    assert_allclose(np.squeeze(X @ model.coef_.T + model.intercept_), scores, atol=1e-9)
    if scores.ndim == 1:
        odds = model.predict_log_proba(X)
        assert_allclose(scores, odds[:, 1] - odds[:, 0], atol=1e-9)


def test_the_rule_is_that_of_the_projected_rows():
    X, y = TALL
    model = FisherDiscriminant(n_components=1, shrinkage=None).fit(X, y)
    Z = model.transform(X)
    means = np.array([Z[y == c].mean(axis=0) for c in range(3)])
    covariance = (Z - means[y]).T @ (Z - means[y]) / len(Z)
    rule = linear_gaussian_rule(means, covariance, np.bincount(y) / len(y))
    assert_allclose(model.decision_function(X), rule.scores(Z), atol=1e-9)


def test_a_tie_goes_to_the_class_that_sorts_first():
    model = FisherDiscriminant(shrinkage=None).fit(
        [[-1.5], [-0.5], [0.5], [1.5]], ["b", "b", "a", "a"]
    )
    assert model.decision_function([[0.0]]).item() == 0
    assert model.predict([[0.0]]).item() == "a"


def test_a_curved_decision_has_no_weights_of_features():
    model = KernelFisherDiscriminant().fit(*PAIR)
    with pytest.raises(AttributeError, match="no coef_: its decision is not linear"):
        model.coef_  # noqa: B018
