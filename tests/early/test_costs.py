"""Cutoffs of least cost, beside all cutoffs tried."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from separatrix import EarlyClassifier, FisherDiscriminant
from separatrix.early import Cost
from separatrix.early.calibration import (
    ScorePaths,
    decided_codes,
    find_cost_cutoffs,
    halting_times,
)
from tests.early.data import series
from tests.early.test_calibration import draw_paths


def total_cost(paths, cutoffs, times, n_values, cost):
    halted = halting_times(paths.scores, np.atleast_2d(cutoffs))
    waited = np.append(times, n_values)[halted[:, 0]] / n_values
    lost = cost.of_decisions(paths, decided_codes(paths, halted))[:, 0]
    return np.mean(cost.waiting * waited + lost)


def test_one_time_has_the_cutoff_of_least_cost():
    paths, times = draw_paths(80, 0, n_times=1), np.array([1])
    for cost in (Cost(0.5, 1.0), Cost(2.0, 1.0), Cost(0.1, 5.0)):
        cutoffs = find_cost_cutoffs(paths, times, 2, cost)
        tried = [
            total_cost(paths, [c], times, 2, cost) for c in (*np.unique(paths.scores)[:-4], 1.0)
        ]
        assert total_cost(paths, cutoffs, times, 2, cost) <= min(tried) + 1e-12


def test_no_cutoff_alone_can_be_moved_with_profit():
    """From the last time back, each cutoff is best given the later ones."""
    paths, times, cost = draw_paths(120, 1, n_times=4), np.arange(1, 5), Cost(1.0, 3.0)
    cutoffs = find_cost_cutoffs(paths, times, 5, cost)
    for t in range(4):
        alone = np.where(np.arange(4) > t, cutoffs, np.inf)  # earlier times do not stop
        best = total_cost(paths, np.where(np.arange(4) == t, cutoffs, alone), times, 5, cost)
        for c in np.unique(paths.scores[:, t])[:-4]:
            trial = np.where(np.arange(4) == t, c, alone)
            assert best <= total_cost(paths, trial, times, 5, cost) + 1e-12


def test_dear_waiting_stops_early_and_dear_mistakes_late():
    rows, labels = series(400, 20)
    new, truth = series(300, 20)
    used, costs = [], []
    for mistakes in (0.2, 2.0, 50.0):
        model = EarlyClassifier(
            FisherDiscriminant(shrinkage=None), calibration=Cost(1.0, mistakes, 0.4)
        )
        model.fit(rows, labels)
        early = model.decide_early(new)
        used.append(early.time.mean() / 20)
        wrong, at_end = np.mean(early.label != truth), np.mean(model.predict(new) != truth)
        costs.append(used[-1] + mistakes * wrong)
        # that of waiting; 300 rows have a standard error of 0.016 of a mistake
        assert costs[-1] <= 1 + mistakes * (at_end + 2 * 0.016)
        assert np.isfinite(early.reliability).all()  # which is stated, though not asked for
    assert used[0] < used[1] < used[2]
    assert costs[0] < 0.5


def test_a_matrix_costs_what_true_and_decided_classes_say():
    paths = ScorePaths(np.array([[1], [0]]), np.zeros((2, 1)), np.array([1, 1]), np.array([0, 1]))
    costs = Cost(1, np.array([[0, 4], [7, 0]])).of_decisions(paths, paths.codes)
    assert_array_equal(costs[:, 0], [4, 7])


@pytest.mark.parametrize(
    "cost",
    [Cost(-1, 2), Cost(1, -2), Cost("a", 1), Cost(1, [[0, 1]]), Cost(np.inf, 1)],
    ids=repr,
)
def test_what_is_no_cost_is_refused(cost):
    with pytest.raises(ValueError, match="waiting must be a number, mistakes a number"):
        cost.check()
    with pytest.raises(ValueError, match=r"share=2 is not valid"):
        Cost(1, 1, share=2).check()


def test_matrices_have_a_row_for_each_class():
    rows, labels = series(60, 6)
    with pytest.raises(ValueError, match="has 2 rows, but there are 3 classes"):
        EarlyClassifier(
            FisherDiscriminant(shrinkage=None), calibration=Cost(1, [[0, 1], [1, 0]], 0.5)
        ).fit(rows, labels)  # fmt: skip
