"""The Gaussian rule in a subspace."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from separatrix import FisherDiscriminant
from separatrix.decision import linear_gaussian_rule

rng = np.random.default_rng(0)


def test_scores_are_log_posteriors_up_to_a_common_term():
    means, priors = rng.standard_normal((3, 2)), np.array([0.2, 0.3, 0.5])
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    Z = rng.standard_normal((20, 2))
    rule = linear_gaussian_rule(means, covariance, priors)
    scores = Z @ rule.coef.T + rule.intercept
    densities = [multivariate_normal(m, covariance).logpdf(Z) for m in means]
    expected = np.array(densities).T + np.log(priors)
    difference = scores - expected
    assert_allclose(difference, np.repeat(difference[:, :1], 3, axis=1), atol=1e-12)


def test_directions_without_scatter_decide_first_and_leave_digits_for_the_rest():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    X = np.column_stack([y == 2, rng.normal(size=150) + 3 * (y == 1)])
    X[:, 1] -= X[:, 1].mean()
    model = FisherDiscriminant().fit(X, y)
    middle = (X[y == 0, 1].mean() + X[y == 1, 1].mean()) / 2
    new = [[0.0, middle - 0.01], [0.0, middle + 0.01], [0.51, middle - 5], [0.49, middle + 5]]
    assert_array_equal(model.predict(new), [0, 1, 2, 1])


def test_a_class_without_prior_is_never_chosen():
    rule = linear_gaussian_rule(np.array([[0.0], [1.0]]), np.eye(1), np.array([1.0, 0.0]))
    assert (np.array([[9.0]]) @ rule.coef.T + rule.intercept).argmax() == 0


def test_no_direction_leaves_the_priors():
    rule = linear_gaussian_rule(np.zeros((2, 0)), np.zeros((0, 0)), np.array([0.3, 0.7]))
    assert_allclose(rule.intercept, np.log([0.3, 0.7]))
