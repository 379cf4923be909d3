"""Cutoffs from calibration rows, beside the definitions written out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

from separatrix import EarlyClassifier, FisherDiscriminant, load, save
from separatrix.early.calibration import (
    CUTOFF_GRID,
    Promise,
    ScorePaths,
    count_needed,
    decided_codes,
    find_cutoffs,
    halting_times,
    measure_losses,
    tail_probability,
)
from tests.early.data import series


def draw_paths(n, seed, n_times=12, n_classes=3, overstated=2.0):
    """Scores that rise with time and overstate how often the guess agrees."""
    rng = np.random.default_rng(seed)
    complete = rng.integers(n_classes, size=n)
    truth = np.clip(np.linspace(0.2, 1, n_times) + 0.2 * rng.standard_normal((n, n_times)), 0, 1)
    agrees = rng.random((n, n_times)) < truth
    other = (complete[:, None] + rng.integers(1, n_classes, (n, n_times))) % n_classes
    codes = np.where(agrees, complete[:, None], other)
    labels = np.where(rng.random(n) < 0.9, complete, (complete + 1) % n_classes)
    return ScorePaths(codes, np.minimum(truth ** (1 / overstated), 0.999), complete, labels)


def test_series_stop_at_the_first_score_that_reaches_the_cutoff():
    paths = draw_paths(30, 0)
    halted = halting_times(paths.reliabilities, CUTOFF_GRID)
    for i, row in enumerate(paths.reliabilities):
        for j in (0, 50, 140, 200):
            first = [t for t, r in enumerate(row) if r >= CUTOFF_GRID[j]]
            assert halted[i, j] == (first[0] if first else 12)


def test_losses_by_name_and_by_cost():
    paths = ScorePaths(
        np.zeros((3, 0)), np.zeros((3, 0)), np.array([0, 0, 1]), np.array([0, 1, 1])
    )
    decided = np.array([[1], [1], [0]])
    assert_array_equal(measure_losses(paths, decided, "disagreement")[:, 0], [1, 1, 1])
    assert_array_equal(measure_losses(paths, decided, "gap")[:, 0], [1, 0, 1])
    assert_array_equal(measure_losses(paths, decided, "error")[:, 0], [1, 0, 1])
    assert_array_equal(measure_losses(paths, decided, [[0, 4], [1, 0]])[:, 0], [1, 0, 0.25])


def test_the_cutoff_is_the_last_before_the_first_that_fails():
    paths, promise = draw_paths(200, 1), Promise(0.8)
    found = find_cutoffs(paths, np.arange(1, 13), 13, promise)
    for record in found.records:
        stop = [
            next((t for t, r in enumerate(row) if r >= record.cutoff), None)
            for row in paths.reliabilities
        ]
        lost = sum(
            t is not None and paths.codes[i, t] != paths.complete[i] for i, t in enumerate(stop)
        )
        assert_allclose(record.loss, lost / 200)
        assert record.accepted == (binom.cdf(lost, 200, 0.2) <= 0.05)
    accepted = [record.accepted for record in found.records]
    assert accepted == [True] * (len(accepted) - 1) + [False]
    assert found.values[0] == found.records[-2].cutoff < 1


@pytest.mark.parametrize(("tau", "needed"), [(0.9, 29), (0.95, 59), (0.99, 299)])
def test_too_few_rows_wait_and_say_how_many_are_needed(tau, needed):
    assert count_needed(Promise(tau)) == needed
    X, y = series(60 + needed, 7, 2, apart=4.0)
    model = EarlyClassifier(FisherDiscriminant(), reliability=tau).fit(X[:60], y[:60])
    with pytest.warns(UserWarning, match=rf"{needed - 1} rows calibrate, and at least {needed} "):
        model.calibrate(X[61:])
    assert model.cutoff_ == 1
    with pytest.warns(UserWarning, match="nothing will be decided before the end"):
        assert (model.decide_early(X[:5]).time == 7).all()
    assert EarlyClassifier(FisherDiscriminant()).fit(X, y).cutoff_ == 0.9


def test_the_martingale_never_promises_more_than_the_binomial_tail():
    n = np.arange(1, 400)
    for lost in (0, 1, 5):
        fixed = tail_probability(np.full(len(n), lost), n, Promise(0.9))
        growing = tail_probability(np.full(len(n), lost), n, Promise(0.9, anytime=True))
        assert (growing[n > lost] >= fixed[n > lost]).all()
    assert count_needed(Promise(0.9, anytime=True)) == 43


def test_a_calibrated_model_is_kept_in_a_file(tmp_path):
    X, y = series(200, 7, 2)
    model = EarlyClassifier(FisherDiscriminant(), calibration=0.5).fit(X, y)
    assert model.calibrated_
    assert model.cutoff_ < 1
    save(model, tmp_path / "a.model")
    kept = load(tmp_path / "a.model")
    assert kept.cutoff_ == model.cutoff_
    assert_array_equal(kept.decide_early(X).time, model.decide_early(X).time)
    assert_array_equal(
        kept.decide_early(X, reliability=0.8).time, model.decide_early(X, reliability=0.8).time
    )


def test_labels_of_calibration_rows_are_checked():
    X, y = series(60, 7, 2)
    model = EarlyClassifier(FisherDiscriminant()).fit(X, y)
    with pytest.raises(ValueError, match="X has 60 rows, but y has 59 labels"):
        model.calibrate(X, y[1:])
    with pytest.raises(ValueError, match="y has the label 7, which was not learned"):
        model.calibrate(X, y + 7)


@pytest.mark.parametrize("guarantee", ["probability", "average"])
@pytest.mark.parametrize("condition", [None, "class"])
def test_recalibrations_keep_the_promise(guarantee, condition):
    """Of 200 recalibrations 5 % may fail: more than 18 do with a probability below 0.01."""
    everyone, times, reached = draw_paths(20_000, 2), np.arange(1, 13), []
    rng, promise = np.random.default_rng(0), Promise(0.8, guarantee, condition=condition)
    for _ in range(200):
        rows = everyone.of_rows(rng.choice(20_000, 300, replace=False))
        cutoff = find_cutoffs(rows, times, 13, promise).values[:1]
        halted = halting_times(everyone.reliabilities, cutoff)
        lost = measure_losses(everyone, decided_codes(everyone, halted), "disagreement")
        reached.append(1 - lost.mean())
    assert np.mean(reached) >= 0.8
    assert min(reached) < 0.87  # it does decide early
    if guarantee == "probability":
        assert np.count_nonzero(np.array(reached) < 0.8) <= 18


def test_rows_may_be_added_while_the_model_is_in_use():
    X, y = series(400, 7, 2)
    model = EarlyClassifier(FisherDiscriminant()).fit(X[:100], y[:100])
    with pytest.warns(UserWarning, match="30 rows calibrate, and at least 43 are needed"):
        model.partial_calibrate(X[100:130])
    model.partial_calibrate(X[130:])
    assert model.cutoff_ < 1
    assert model.calibration_records_[0].n_rows == 300
