"""Cutoffs of least cost, beside all cutoffs tried."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from separatrix import EarlyClassifier, FisherDiscriminant
from separatrix.early.calibration import ScorePaths, decided_codes, halting_times
from separatrix.early.costs import check_cost, find_cost_cutoffs, mistake_costs
from tests.early.data import series
from tests.early.test_calibration import draw_paths


def total_cost(paths, cutoffs, times, n_values, cost, loss="disagreement"):
    halted = halting_times(paths.reliabilities, np.atleast_2d(cutoffs))
    waited = np.append(times, n_values)[halted[:, 0]] / n_values
    lost = mistake_costs(paths, decided_codes(paths, halted), cost[1], loss)[:, 0]
    return np.mean(cost[0] * waited + lost)


def test_one_time_has_the_cutoff_of_least_cost():
    paths, times = draw_paths(80, 0, n_times=1), np.array([1])
    for cost in ((0.5, 1.0), (2.0, 1.0), (0.1, 5.0)):
        found = find_cost_cutoffs(paths, times, 2, cost, "disagreement")
        tried = [
            total_cost(paths, [c], times, 2, cost)
            for c in (*np.unique(paths.reliabilities)[:-4], 1.0)
        ]
        reached = total_cost(paths, found.values, times, 2, cost)
        assert reached <= min(tried) + 1e-12
        assert found.records[0].loss == pytest.approx(reached)


def test_no_cutoff_alone_can_be_moved_with_profit():
    """From the last time back, each cutoff is best given the later ones."""
    paths, times, cost = draw_paths(120, 1, n_times=4), np.arange(1, 5), (1.0, 3.0)
    found = find_cost_cutoffs(paths, times, 5, cost, "disagreement").values
    for t in range(4):
        alone = np.where(np.arange(4) > t, found, 1.0)  # earlier times do not stop
        best = total_cost(paths, np.where(np.arange(4) == t, found, alone), times, 5, cost)
        for c in np.unique(paths.reliabilities[:, t])[:-4]:
            trial = np.where(np.arange(4) == t, c, alone)
            assert best <= total_cost(paths, trial, times, 5, cost) + 1e-12


def test_dear_waiting_stops_early_and_dear_mistakes_late():
    rows, labels = series(400, 20)
    new = series(300, 20)[0]
    used, cost = [], []
    for mistakes in (0.2, 2.0, 50.0):
        model = EarlyClassifier(FisherDiscriminant(), calibration=0.4, cost=(1.0, mistakes))
        model.fit(rows, labels)
        early = model.decide_early(new)
        used.append(early.time.mean() / 20)
        wrong = np.mean(early.label != model.predict(new))
        cost.append(used[-1] + mistakes * wrong)
        assert cost[-1] <= 1.05  # what waiting for every end costs, and some chance
    assert used[0] < used[1] < used[2]
    assert cost[0] < 0.5


def test_a_matrix_costs_what_true_and_decided_classes_say():
    paths = ScorePaths(np.array([[1], [0]]), np.zeros((2, 1)), np.array([1, 1]), np.array([0, 1]))
    costs = mistake_costs(paths, paths.codes, np.array([[0, 4], [7, 0]]), "disagreement")
    assert_array_equal(costs[:, 0], [4, 7])


@pytest.mark.parametrize(
    "cost", [1, (1,), (-1, 2), (1, -2), ("a", 1), (1, [[0, 1]]), (np.inf, 1)], ids=repr
)
def test_what_is_no_cost_is_refused(cost):
    with pytest.raises(ValueError, match=r"must be \(waiting, mistakes\)"):
        check_cost(cost)


def test_costs_need_calibration_rows_and_fitting_matrices():
    rows, labels = series(60, 6)
    with pytest.raises(ValueError, match="needs calibration rows"):
        EarlyClassifier(FisherDiscriminant(), cost=(1, 1)).fit(rows, labels)
    with pytest.raises(ValueError, match="has 2 rows, but there are 3 classes"):
        EarlyClassifier(
            FisherDiscriminant(), cost=(1, [[0, 1], [1, 0]]), calibration=0.5
        ).fit(rows, labels)  # fmt: skip
