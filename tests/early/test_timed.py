"""Cutoffs for each time, beside the tests of Ringel et al. written out."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from separatrix.early import Promise
from separatrix.early.calibration import decided_codes, halting_times, open_times, tabulate_by_time
from tests.early.test_calibration import draw_paths


def test_every_time_that_is_open_passes_with_all_times_before_it():
    paths, tau = draw_paths(600, 0), 0.8
    tested = paths.of_rows(np.arange(600) < 300)
    cutoffs = open_times(tested, 0.9, Promise(condition="time"), tau)
    assert np.isfinite(cutoffs).any()
    halted = halting_times(tested.scores, cutoffs[None])
    lost = decided_codes(tested, halted)[:, 0] != tested.complete
    for t in np.flatnonzero(np.isfinite(cutoffs)):
        so_far = halted[:, 0] <= t
        assert binom.cdf(lost[so_far].sum(), so_far.sum(), 1 - tau) <= 0.05
    first = np.flatnonzero(np.isfinite(cutoffs))[0]
    assert first > 0  # one time more would fail
    more = np.where(np.arange(12) >= first - 1, 0.9, np.inf)
    halted = halting_times(tested.scores, more[None])
    lost = decided_codes(tested, halted)[:, 0] != tested.complete
    sums = [(lost[halted[:, 0] <= t].sum(), np.sum(halted <= t)) for t in range(first - 1, 12)]
    assert max(binom.cdf(total, n, 1 - tau) for total, n in sums) > 0.05


def test_the_table_has_the_reliability_that_is_asked_for():
    table = tabulate_by_time(draw_paths(600, 0), Promise(condition="time"), 0.83)
    assert 0.83 in table.levels
    assert table.cutoffs.shape == (len(table.levels), 12)
    assert (table.cutoffs_at(0.83, 12) == table.cutoffs[table.levels == 0.83][0]).all()
