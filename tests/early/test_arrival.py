"""Channels, lengths, gaps, orders and running units, beside the same series given plainly."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from separatrix import EarlyClassifier, FisherDiscriminant, LocalQDA
from separatrix.early.arrival import is_normalized, normalize_running, tabulate_series
from tests.early.data import NEW, X, every_judge, judged, series, with_gaps, y


def test_channels_stand_beside_each_other():
    cube = np.random.default_rng(0).standard_normal((5, 3, 4))
    rows, n_channels = tabulate_series(cube)
    assert n_channels == 3
    for t in range(4):
        assert_array_equal(rows[:, 3 * t : 3 * t + 3], cube[:, :, t])


@every_judge
def test_series_of_channels_are_decided_at_whole_times(kind):
    rows, labels = series(90, 12)
    cube = rows.reshape(90, 4, 3).swapaxes(1, 2)  # 3 channels, 4 times
    model = judged(kind, LinearDiscriminantAnalysis()).fit(cube, labels)
    flat = judged(kind, LinearDiscriminantAnalysis(), n_channels=3)
    flat.fit(rows, labels)
    early, same = (m.decide_early(cube, reliability=0.6) for m in (model, flat))
    assert_array_equal(early, same)
    assert_array_equal(early.n_observed, 3 * early.time)
    assert 1 <= early.time.min() < 4
    assert early.time.max() <= 4
    short = model.decide_early(cube[:, :, :2], reliability=0.6)
    stops = early.time <= 2
    assert_array_equal(short.time[stops], early.time[stops])
    stream = model.stream(reliability=0.6)
    answers = [stream.push(cube[0, :, t]) for t in range(4)]
    first = next(answer for answer in answers if answer.decided)
    assert (first.label, first.n_observed) == (early.label[0], early.n_observed[0])


def test_a_number_of_channels_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="n_channels=2 does not divide the 7 columns"):
        EarlyClassifier(FisherDiscriminant(shrinkage=None), n_channels=2).fit(X, y)
    cube = np.random.default_rng(0).standard_normal((6, 3, 4))
    with pytest.raises(ValueError, match="n_channels=2, but X has 3 channels"):
        EarlyClassifier(FisherDiscriminant(shrinkage=None), n_channels=2).fit(cube, [0, 1] * 3)


@every_judge
def test_lengths_hide_what_follows(kind):
    model = judged(kind, FisherDiscriminant(shrinkage=None)).fit(X, y)
    lengths = np.arange(len(NEW)) % 8
    hidden = np.where(np.arange(7) < lengths[:, None], NEW, np.nan)
    expected = model.decide_early(hidden, reliability=0.7)
    found = model.decide_early(NEW, lengths=lengths, reliability=0.7)
    assert_array_equal(found, expected)
    ragged = [row[:n] for row, n in zip(NEW, lengths, strict=True)]
    assert_array_equal(model.decide_early(ragged, reliability=0.7), expected)
    for wrong in (lengths[:-1], lengths + 1, lengths / 2):
        with pytest.raises(ValueError, match="between 0 and 7 for each of the 40 series"):
            model.decide_early(NEW, lengths=wrong)


@pytest.mark.parametrize("kind", ["model", "sampled"])
@pytest.mark.parametrize(
    "rule", [FisherDiscriminant(shrinkage=None), LocalQDA(6)], ids=["linear", "local"]
)
def test_series_with_gaps_are_decided_as_their_values_so_far(rule, kind):
    model = judged(kind, rule, n_checkpoints=7).fit(X, y)
    holes = with_gaps(NEW, share=0.3)
    holes[:, -1] = NEW[:, -1]
    early = model.decide_early(holes, reliability=0.7)
    so_far = [
        model.decide(np.where(np.arange(7) < t, holes, np.nan), reliability=0.7)
        for t in range(1, 8)
    ]
    decided = np.array([found.decided for found in so_far])
    first = np.where(decided.any(axis=0), decided.argmax(axis=0), 6)
    assert_array_equal(early.time, first + 1)
    rows = np.arange(len(NEW))
    assert_array_equal(early.label, np.array([f.label for f in so_far])[first, rows])
    reliabilities = np.array([f.reliability for f in so_far])[first, rows]
    assert_allclose(early.reliability, reliabilities, rtol=1e-7)
    assert_array_equal(early.n_observed, np.array([f.n_observed for f in so_far])[first, rows])
    assert (early.n_observed < early.time).any()


@pytest.mark.parametrize("kind", ["model", "sampled"])
def test_streams_take_values_in_any_order(kind):
    model = judged(kind, LinearDiscriminantAnalysis(), n_checkpoints=7).fit(X, y)
    order = np.array([3, 0, 6, 1, 5, 2, 4])
    place = np.argsort(order)
    for i in range(8):
        stream = model.stream(reliability=0.7)
        for t, j in enumerate(order.tolist(), start=1):
            answer = stream.push(NEW[i, j], at=j)
            whole = model.decide(np.where(place < t, NEW[[i]], np.nan), reliability=0.7)
            assert (answer.label, answer.decided) == (whole.label[0], whole.decided[0])
            assert_allclose(answer.reliability, whole.reliability[0], rtol=1e-7)
    stream = model.stream()
    stream.push(1.0, at=2)
    with pytest.raises(ValueError, match="names a feature that has come before"):
        stream.push(1.0, at=2)
    with pytest.raises(ValueError, match="must name a feature from 0 to 6"):
        stream.push(1.0, at=7)


def test_running_units_are_the_mean_and_deviation_so_far():
    rows = 1e6 + np.random.default_rng(0).standard_normal((4, 9)).cumsum(axis=1)
    found = normalize_running(rows)
    for t in range(2, 10):
        so_far = rows[:, :t]
        expected = (rows[:, t - 1] - so_far.mean(axis=1)) / so_far.std(axis=1)
        assert_allclose(found[:, t - 1], expected, rtol=1e-5)
    assert_array_equal(found[:, 0], 0)
    assert_array_equal(normalize_running(np.full((2, 5), 0.1)), np.zeros((2, 5)))
    channels = normalize_running(rows[:, [0, 3, 1, 4, 2, 5]], n_channels=2)
    assert_allclose(channels[:, ::2], normalize_running(rows[:, :3]))
    assert_allclose(channels[:, 1::2], normalize_running(rows[:, 3:6]))


def test_series_that_were_normalised_over_their_length_are_noticed():
    rows, labels = series(40, 20)
    whole = (rows - rows.mean(axis=1, keepdims=True)) / rows.std(axis=1, keepdims=True)
    assert is_normalized(whole)
    assert is_normalized(whole * np.sqrt(19 / 20))
    assert not is_normalized(rows)
    assert not is_normalized(1.1 * whole)
    with pytest.warns(UserWarning, match="normalised over its whole length"):
        EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(whole, labels)
