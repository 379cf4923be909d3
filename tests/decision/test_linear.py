"""Rules that decide in a subspace."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from separatrix import FisherDiscriminant
from separatrix.decision.linear import linear_gaussian_rule, threshold_rule
from separatrix.decision.quadratic import (
    QuadraticRule,
    gaussian_discriminants,
    quadratic_gaussian_rule,
    total_covariance,
    total_variance,
)


def test_scores_are_log_posteriors_up_to_a_common_term(rng):
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
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    middle = (X[y == 0, 1].mean() + X[y == 1, 1].mean()) / 2
    new = [[0.0, middle - 0.01], [0.0, middle + 0.01], [0.51, middle - 5], [0.49, middle + 5]]
    assert_array_equal(model.predict(new), [0, 1, 2, 1])


def test_a_class_without_prior_is_never_chosen():
    rule = linear_gaussian_rule(np.array([[0.0], [1.0]]), np.eye(1), np.array([1.0, 0.0]))
    assert (np.array([[9.0]]) @ rule.coef.T + rule.intercept).argmax() == 0


def test_no_direction_leaves_the_priors():
    rule = linear_gaussian_rule(np.zeros((2, 0)), np.zeros((0, 0)), np.array([0.3, 0.7]))
    assert_allclose(rule.intercept, np.log([0.3, 0.7]))


def decide(rule, Z):
    return (np.asarray(Z) @ rule.coef.T + rule.intercept).argmax(axis=1)


def test_a_singular_covariance_decides_as_the_limit_of_a_vanishing_ridge(rng):
    means = np.array([[0.0, 0.0, 0.0], [0.0, 3.0, 0.0], [1.0, 3.0, 0.0]])
    priors = np.array([0.5, 0.25, 0.25])
    singular = np.diag([0.0, 2.0, 0.0])  # no class varies along the third coordinate, nor means
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    Z = 4 * rng.standard_normal((300, 3)) * [1, 1, 0]
    ridge = linear_gaussian_rule(means, singular + np.diag([1e-7, 0, 1e-7]), priors)
    limit = linear_gaussian_rule(means, singular, priors)
    turned = linear_gaussian_rule(means @ turn, turn.T @ singular @ turn, priors)
    assert len(set(decide(ridge, Z))) == 3
    assert_array_equal(decide(limit, Z), decide(ridge, Z))
    # beside the planes of the classes the answer depends on coordinates, in them it does not
    Z[:, 0] = np.arange(300) % 2
    assert_array_equal(decide(turned, Z @ turn), decide(ridge, Z))
    # where the perfect direction leaves two classes, the other one keeps its log-odds
    first_two = (Z * [0, 1, 1]) @ (limit.coef[1] - limit.coef[0])
    first_two += limit.intercept[1] - limit.intercept[0]
    assert_allclose(first_two, 1.5 * Z[:, 1] - 2.25 + np.log(0.5), rtol=1e-6)


@pytest.mark.parametrize("size", [1e-150, 1e-8, 1.0, 1e8, 1e150])
def test_no_variance_at_all_is_the_nearest_mean_in_any_unit(rng, size):
    means = rng.standard_normal((3, 2))
    means /= means.std(axis=0)
    rule = linear_gaussian_rule(size * means, np.zeros((2, 2)), np.full(3, 1 / 3))
    Z = rng.standard_normal((100, 2))
    nearest = np.linalg.norm(Z[:, None] - means, axis=2).argmin(axis=1)
    assert np.isfinite(rule.coef).all()
    assert_array_equal(decide(rule, size * Z), nearest)


def test_means_that_agree_up_to_rounding_decide_nothing():
    means = np.array([[1.0, 0.0], [1.0 + 1e-16, 1.0]])
    rule = linear_gaussian_rule(means, np.diag([0.0, 1.0]), np.array([0.5, 0.5]))
    assert_allclose((rule.coef[1] - rule.coef[0]), [0.0, 1.0], atol=1e-12)
    alike = linear_gaussian_rule(np.ones((2, 2)), np.zeros((2, 2)), np.array([0.3, 0.7]))
    assert_allclose(alike.intercept, np.log([0.3, 0.7]))


def test_a_variance_lost_in_rounding_is_none():
    # a matrix of rank one whose second eigenvalue is what rounding left of it
    v = np.array([0.1, 0.3, 0.7])
    rule = linear_gaussian_rule(np.eye(3), np.outer(v, v), np.full(3, 1 / 3))
    assert np.abs(rule.coef).max() < 1e12
    assert_array_equal(decide(rule, np.eye(3)), [0, 1, 2])


def test_quadratic_scores_are_log_densities_and_log_priors(rng):
    means = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])
    Z = rng.normal(size=(50, 2)) * 3
    covariances = np.stack([np.diag([1.0, 2.0]), np.eye(2), np.array([[2.0, 1], [1, 2]])])
    priors = np.array([0.2, 0.3, 0.5])
    scores = quadratic_gaussian_rule(means, covariances, priors).scores(Z)
    expected = [
        multivariate_normal(m, S).logpdf(Z) + np.log(p)
        for m, S, p in zip(means, covariances, priors, strict=True)
    ]
    assert_allclose(scores, np.array(expected).T)


def test_a_class_without_variance_has_a_quadratic_score(rng):
    means = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    covariances = np.stack([np.diag([1.0, 0.0]), np.eye(2), np.zeros((2, 2))])
    priors = np.full(3, 1 / 3)
    Z = np.vstack([means, [[1.0, 0.0], [1.0, 1e-2], [0.0, 2.01]]])
    scores = quadratic_gaussian_rule(means, covariances, priors).scores(Z)
    assert np.isfinite(scores).all()
    # rows of the plane or the point of a singular class belong to it, others to the broad class
    assert_array_equal(scores.argmax(axis=1), [0, 0, 2, 0, 1, 1])
    rescaled = quadratic_gaussian_rule(
        means * [1e3, 1e-3], covariances * [[1e6, 1.0], [1.0, 1e-6]], priors
    ).scores(Z * [1e3, 1e-3])
    assert_allclose(rescaled, scores, rtol=1e-9)
    turn = np.linalg.qr(rng.standard_normal((2, 2)))[0]
    rule = quadratic_gaussian_rule(means @ turn, turn.T @ covariances @ turn, priors)
    turned = rule.scores(Z @ turn)
    assert_array_equal(turned.argmax(axis=1), scores.argmax(axis=1))
    empty = quadratic_gaussian_rule(np.zeros((3, 0)), np.zeros((3, 0, 0)), priors)
    assert_allclose(empty.scores(np.zeros((2, 0))), np.log(1 / 3))


def test_a_threshold_is_a_linear_rule_of_log_odds():
    Z = np.array([[-3.0], [1.0], [4.0]])
    for sign in (-1.0, 1.0):
        scores = threshold_rule(sign, 0.5, 2.0).scores(Z)
        assert_allclose(scores[:, 1] - scores[:, 0], 2.0 * (sign * Z[:, 0] - 0.5))
        # an excluded class never wins
        for threshold, winner in [(np.inf, 0), (-np.inf, 1)]:
            assert (threshold_rule(sign, threshold, 2.0).scores(Z).argmax(axis=1) == winner).all()


def test_independent_features_and_functions_are_the_same_quadratic_rule(rng):
    means, variances = rng.standard_normal((3, 2)), rng.uniform(0.5, 2, (3, 2))
    Z, constants = rng.standard_normal((9, 2)), rng.standard_normal(3)
    diagonal = QuadraticRule(means, variances**-0.5, constants)
    full = QuadraticRule(means, np.stack([np.diag(v) for v in variances**-0.5]), constants)
    assert_allclose(diagonal.scores(Z), full.scores(Z))
    for rule in (diagonal, full):
        assert_allclose(rule.expanded()(Z[:, None]), rule.scores(Z))


def test_outside_of_the_span_a_class_is_a_sphere(rng):
    basis = np.linalg.qr(rng.standard_normal((4, 2)))[0]
    means, Z = rng.standard_normal((2, 2)), rng.standard_normal((9, 4))
    widths = np.array([0.5, 2.0])
    whiteners = np.stack([np.eye(3) * w for w in widths])
    rule = QuadraticRule(np.pad(means, ((0, 0), (0, 1))), whiteners, np.zeros(2), basis)
    distances = ((Z[:, None] - means @ basis.T) ** 2).sum(axis=2)
    assert_allclose(rule.scores(Z), -0.5 * widths**2 * distances)


def test_discriminants_of_singular_matrices_are_defined():
    v = np.array([0.1, 0.3, 0.7])
    covariances = np.stack([np.outer(v, v), np.eye(3)])
    found = gaussian_discriminants(np.zeros((2, 3)), covariances, np.zeros(2))
    off, along = found(np.array([0.7, 0.3, -0.1])), found(v)
    assert np.isfinite([off, along]).all()
    assert off[0] < off[1]
    assert along[0] > along[1]
    assert_allclose(along[1], multivariate_normal(np.zeros(3)).logpdf(v))


def test_the_total_covariance_is_that_of_all_rows(rng):
    X, y = rng.standard_normal((60, 3)), np.repeat([0, 1, 2], [10, 20, 30])
    X[:, 0] += y
    means = np.stack([X[y == c].mean(axis=0) for c in range(3)])
    covariances = np.stack([np.cov(X[y == c].T, bias=True) for c in range(3)])
    priors = np.bincount(y) / 60
    total = total_covariance(means, covariances, priors)
    assert_allclose(total, np.cov(X.T, bias=True), atol=1e-12)
    assert_allclose(np.diagonal(total), total_variance(means, covariances, priors))
