"""Thresholds on a line."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.decision.cuts import (
    BALANCES,
    accuracy_threshold,
    balanced_threshold,
    gaussian_slope,
    mahalanobis_threshold,
)

draws = np.random.default_rng(0)
SCORES = np.r_[draws.normal(size=60), 2 + 0.5 * draws.normal(size=25)]
POSITIVE = np.arange(85) >= 60


def statistics(scores):
    groups = [scores[~POSITIVE], scores[POSITIVE]]
    return [np.array([f(group) for group in groups]) for f in (np.mean, np.std, len)]


RULES = {
    "mahalanobis": lambda scores: mahalanobis_threshold(*statistics(scores)),
    "accuracy": lambda scores: accuracy_threshold(scores, POSITIVE),
    "balanced": lambda scores: balanced_threshold(scores, POSITIVE)[0],
}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


@every_rule
def test_thresholds_move_with_the_scores(rule):
    gamma = rule(SCORES)
    for shift, scale in ((5.0, 1.0), (-1e6, 1.0), (0.0, 1e-6), (3.0, 1e6)):
        assert_allclose(rule(scale * SCORES + shift), scale * gamma + shift, rtol=1e-7)


def test_accuracy_is_never_beaten_and_cuts_between_samples():
    gamma = accuracy_threshold(SCORES, POSITIVE)
    right = ((gamma < SCORES) == POSITIVE).sum()
    for t in np.r_[SCORES, SCORES.min() - 1]:
        assert ((t < SCORES) == POSITIVE).sum() <= right
    assert gamma not in SCORES
    mirrored = accuracy_threshold(-SCORES, ~POSITIVE)
    assert_allclose(mirrored, -gamma)


def test_accuracy_takes_the_widest_gap_then_the_nearest():
    positive = np.array([False, True, False, True])
    # cuts after the first or before the last sample are equally right: 3 of 4
    assert accuracy_threshold(np.array([0.0, 1, 2, 10]), positive) == 6
    tied = np.array([0.0, 4, 5, 9])
    assert accuracy_threshold(tied, positive, near=9.0) == 7
    assert accuracy_threshold(tied, positive, near=0.0) == 2


def test_accuracy_counts_weights_and_ties():
    scores, positive = np.array([0.0, 1, 1, 2]), np.array([False, False, True, True])
    assert accuracy_threshold(scores, positive, weights=np.array([1.0, 5, 1, 1])) == 1.5
    assert accuracy_threshold(scores, positive, weights=np.array([1.0, 1, 5, 1])) == 0.5


def test_accuracy_may_give_every_sample_to_one_class():
    scores, positive = np.array([0.0, 1, 2, 3]), np.array([True, False, False, False])
    weights = np.array([0.1, 1, 1, 1])
    gamma = accuracy_threshold(scores, positive, weights=weights)
    assert gamma > 3
    for scale in (1e-3, 1e3):
        assert_allclose(
            accuracy_threshold(scale * scores, positive, weights=weights), scale * gamma
        )


def test_mahalanobis_is_as_far_from_both_means():
    means, stds, counts = statistics(SCORES)
    gamma = mahalanobis_threshold(means, stds, counts)
    assert_allclose((gamma - means[0]) / stds[0], (means[1] - gamma) / stds[1])


def test_mahalanobis_without_spread_is_the_middle():
    means, counts = np.array([1.0, 3.0]), np.array([5.0, 5.0])
    assert mahalanobis_threshold(means, np.zeros(2), counts) == 2
    one_sample = mahalanobis_threshold(means, np.array([0.5, 0.0]), np.array([100.0, 1.0]))
    assert_allclose(one_sample, 2, atol=0.01)


def test_mahalanobis_priors_are_those_of_gaussians():
    means, stds, counts = np.array([0.0, 2.0]), np.ones(2), np.array([50.0, 50.0])
    gamma = mahalanobis_threshold(means, stds, counts, priors=np.array([0.8, 0.2]))
    posterior = [
        p * np.exp(-((gamma - m) ** 2) / 2) for p, m in zip([0.8, 0.2], means, strict=True)
    ]
    assert_allclose(*posterior)


def test_balanced_is_the_published_average():
    scores = np.array([0.0, 1, 2, 3, 4, 5])
    positive = np.array([False, False, True, False, True, True])
    right = [sum((scores > t) == positive) for t in scores]  # 4 5 4 5 4 3
    assert right == [4, 5, 4, 5, 4, 3]
    # thresholds at 1 and 3 of the class below, at 2 and 4 of the class above
    assert balanced_threshold(scores, positive, balance=0.9) == (np.mean([2, 3]), 0.9)


rng = np.random.default_rng(3)
RARE = np.arange(110) >= 100
RARE_SCORES = rng.normal(size=110) + 2.0 * RARE


def test_no_balance_is_the_middle_of_the_means():
    middle = (RARE_SCORES[RARE].mean() + RARE_SCORES[~RARE].mean()) / 2
    assert_allclose(balanced_threshold(RARE_SCORES, RARE, balance=0)[0], middle)


@pytest.mark.parametrize("balance", ["auto", 0.0, 0.5, 0.9])
def test_swapping_the_classes_mirrors_the_balanced_threshold(balance):
    gamma, k = balanced_threshold(RARE_SCORES, RARE, balance=balance)
    mirrored, same = balanced_threshold(-RARE_SCORES, ~RARE, balance=balance)
    assert_allclose(mirrored, -gamma)
    assert k == same


def test_the_balance_that_is_chosen_is_the_best_of_those_tried():
    def judge(gamma):
        side = (gamma < RARE_SCORES) == RARE
        return side[RARE].mean() + side[~RARE].mean()

    cuts = [balanced_threshold(RARE_SCORES, RARE, balance=k)[0] for k in BALANCES]
    gamma, k = balanced_threshold(RARE_SCORES, RARE)
    assert_allclose(judge(gamma), max(map(judge, cuts)))
    assert gamma == cuts[BALANCES.index(k)]


def test_weights_repeat_rows_in_the_balanced_threshold():
    weights = np.arange(110) % 3
    twice = np.repeat(RARE_SCORES, weights), np.repeat(RARE, weights)
    found = balanced_threshold(RARE_SCORES, RARE, weights=weights.astype(float))
    assert_allclose(found, balanced_threshold(*twice))


def test_the_gaussian_slope_gives_the_log_odds_of_two_gaussians():
    means, stds, counts = np.array([-1.0, 2.0]), np.full(2, 1.5), np.array([40.0, 4.0])
    z = np.array([-3.0, 0.2, 5.0])
    log_odds = ((z - means[0]) ** 2 - (z - means[1]) ** 2) / (2 * 1.5**2)
    cut = mahalanobis_threshold(means, stds, counts)
    assert_allclose(gaussian_slope(means, stds, counts) * (z - cut), log_odds)
    assert gaussian_slope(means[::-1], stds, counts) == 0


def test_rows_on_a_threshold_count_half_on_either_side():
    # cuts at 0, 1, 2, 3 are right for 2.5, 3.5, 3.5, 2.5 rows: with k = 0.73 those at 1 and 2 stay
    scores, positive = np.arange(4.0), np.arange(4) > 1
    assert balanced_threshold(scores, positive, balance=0.73)[0] == 1.5
    # of the rows above the one at 3 is as good as that at 2 where k is below 2.5 / 3.5
    assert balanced_threshold(scores, positive, balance=0.7)[0] == np.mean([0.5, 2.5])
    lone = np.array([False, True, False, True, True])
    gamma, _ = balanced_threshold(np.array([0.0, 1, 2, 3, 4]), lone, balance=0.85)
    assert gamma == np.mean([1.0, 2.0])
