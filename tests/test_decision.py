"""The Gaussian rule in a subspace."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

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
    means = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.5]])
    rule = linear_gaussian_rule(means, np.diag([0.0, 0.1]), np.full(3, 1 / 3))
    Z = np.array([[0.0, 0.49], [0.0, 0.51], [0.51, 0.0], [0.49, 0.9]])
    scores = Z @ rule.coef.T + rule.intercept
    assert_array_equal(scores.argmax(axis=1), [0, 1, 2, 1])


def test_a_class_without_prior_is_never_chosen():
    rule = linear_gaussian_rule(np.array([[0.0], [1.0]]), np.eye(1), np.array([1.0, 0.0]))
    assert (np.array([[9.0]]) @ rule.coef.T + rule.intercept).argmax() == 0


def test_no_direction_leaves_the_priors():
    rule = linear_gaussian_rule(np.zeros((2, 0)), np.zeros((0, 0)), np.array([0.3, 0.7]))
    assert_allclose(rule.intercept, np.log([0.3, 0.7]))
