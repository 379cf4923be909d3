"""Thresholds on a line and slopes of log-odds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from separatrix.decision.thresholds import (
    BALANCES,
    balanced_threshold,
    gaussian_slope,
    logistic_slope,
    mahalanobis_threshold,
)

rng = np.random.default_rng(3)
POSITIVE = np.arange(110) >= 100
SCORES = rng.normal(size=110) + 2.0 * POSITIVE


def test_no_balance_is_the_middle_of_the_means():
    middle = (SCORES[POSITIVE].mean() + SCORES[~POSITIVE].mean()) / 2
    assert_allclose(balanced_threshold(SCORES, POSITIVE, balance=0)[0], middle)


@pytest.mark.parametrize("balance", ["auto", 0.0, 0.5, 0.9])
def test_swapping_the_classes_mirrors_the_balanced_threshold(balance):
    gamma, k = balanced_threshold(SCORES, POSITIVE, balance=balance)
    mirrored, same = balanced_threshold(-SCORES, ~POSITIVE, balance=balance)
    assert_allclose(mirrored, -gamma)
    assert k == same


def test_the_balance_that_is_chosen_is_the_best_of_those_tried():
    def judge(gamma):
        side = (gamma < SCORES) == POSITIVE
        return side[POSITIVE].mean() + side[~POSITIVE].mean()

    cuts = [balanced_threshold(SCORES, POSITIVE, balance=k)[0] for k in BALANCES]
    gamma, k = balanced_threshold(SCORES, POSITIVE)
    assert_allclose(judge(gamma), max(map(judge, cuts)))
    assert gamma == cuts[BALANCES.index(k)]


def test_weights_repeat_rows_in_the_balanced_threshold():
    weights = np.arange(110) % 3
    twice = np.repeat(SCORES, weights), np.repeat(POSITIVE, weights)
    found = balanced_threshold(SCORES, POSITIVE, weights=weights.astype(float))
    assert_allclose(found, balanced_threshold(*twice))


def test_the_gaussian_slope_gives_the_log_odds_of_two_gaussians():
    means, stds, counts = np.array([-1.0, 2.0]), np.full(2, 1.5), np.array([40.0, 4.0])
    z = np.array([-3.0, 0.2, 5.0])
    log_odds = ((z - means[0]) ** 2 - (z - means[1]) ** 2) / (2 * 1.5**2)
    cut = mahalanobis_threshold(means, stds, counts)
    assert_allclose(gaussian_slope(means, stds, counts) * (z - cut), log_odds)
    assert gaussian_slope(means[::-1], stds, counts) == 0


def test_the_logistic_slope_is_the_most_likely_one():
    d = SCORES - 1.0
    target = np.where(POSITIVE, 11 / 12, 1 / 102)
    share = np.where(POSITIVE, 0.5 / 10, 0.5 / 100)

    def loss(b):
        return share @ (np.logaddexp(0, b * d) - target * b * d)

    best = minimize_scalar(loss, bounds=(0, 20), method="bounded", options={"xatol": 1e-9}).x
    assert_allclose(logistic_slope(d, POSITIVE), best, rtol=1e-6)
    assert_allclose(logistic_slope(7 * d, POSITIVE), best / 7, rtol=1e-6)


def test_the_logistic_slope_is_finite_where_all_rows_are_right_and_positive_where_none_is():
    d = np.where(POSITIVE, 1.0, -1.0)
    assert 1 < logistic_slope(d, POSITIVE) < 10
    assert 0 < logistic_slope(-d, POSITIVE) < 1e-3


def test_rows_on_a_threshold_count_half_on_either_side():
    # cuts at 0, 1, 2, 3 are right for 2.5, 3.5, 3.5, 2.5 rows: with k = 0.73 those at 1 and 2 stay
    scores, positive = np.arange(4.0), np.arange(4) > 1
    assert balanced_threshold(scores, positive, balance=0.73)[0] == 1.5
    # of the rows above the one at 3 is as good as that at 2 where k is below 2.5 / 3.5
    assert balanced_threshold(scores, positive, balance=0.7)[0] == np.mean([0.5, 2.5])
    lone = np.array([False, True, False, True, True])
    gamma, _ = balanced_threshold(np.array([0.0, 1, 2, 3, 4]), lone, balance=0.85)
    assert gamma == np.mean([1.0, 2.0])
