"""Decisions before the end, counted by hand."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from separatrix import EarlyClassifier, FisherDiscriminant, datasets
from separatrix.evaluate.early import choose_horizon, reliability_curve

SERIES = datasets.make_series(300, 24, onset=0.25, separation=3.0, random_state=0)
EARLY = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(
    SERIES.data[:150], SERIES.target[:150]
)
TEST = SERIES.data[150:], SERIES.target[150:]


def test_reliability_is_counted_against_the_complete_series():
    records = reliability_curve(EARLY, *TEST, [0.1, 0.9], times=[3, 12, 24])
    assert [r["required"] for r in records] == [0.1, 0.9, None, None, None]
    assert [r["rule"] for r in records] == ["reliable"] * 2 + ["fixed time"] * 3
    complete = EARLY.predict(TEST[0])
    for record, tau in zip(records, (0.1, 0.9), strict=False):
        found = EARLY.decide_early(TEST[0], reliability=tau)
        early = found.time < 24
        same = found.label == complete
        assert record["time"] == found.time.mean()
        assert record["reliability"] == same.mean()
        assert record["early_reliability"] == same[early].mean()
        assert record["early"] == early.mean()
        assert record["accuracy"] == np.mean(found.label == TEST[1])
    assert records[1]["early"] < 1
    assert records[1]["early_reliability"] < records[1]["reliability"] < 1


def test_a_fixed_time_takes_the_class_that_is_expected_then():
    records = reliability_curve(EARLY, *TEST, [], times=[0, 12, 24])
    assert [r["time"] for r in records] == [0, 12, 24]
    complete = EARLY.predict(TEST[0])
    majority = EARLY.predict(EARLY._score.conditional.units.mean[None])
    assert records[0]["reliability"] == np.mean(complete == majority)
    seen = TEST[0].copy()
    seen[:, 12:] = np.nan
    guess = EARLY.decide(seen).label
    assert records[1]["reliability"] == np.mean(guess == complete)
    assert records[1]["accuracy"] == np.mean(guess == TEST[1])
    assert records[2]["reliability"] == 1
    assert np.isnan(records[2]["early_reliability"])
    assert records[2]["early"] == 0


def test_fixed_times_are_the_average_times_unless_given():
    records = reliability_curve(EARLY, *TEST, [0.2, 0.9])
    assert [r["time"] for r in records[2:]] == [np.ceil(r["time"]) for r in records[:2]]


def test_incomplete_series_and_times_beyond_the_end_are_refused():
    broken = TEST[0].copy()
    broken[3, 4:] = np.nan
    with pytest.raises(ValueError, match="X has missing values"):
        reliability_curve(EARLY, broken, TEST[1], [0.5])
    with pytest.raises(ValueError, match=r"times=\[25\] must be whole numbers between 0 and 24"):
        reliability_curve(EARLY, *TEST, [0.5], times=[25])
    with pytest.raises(ValueError, match=r"times=\[2.5\] must be whole numbers"):
        reliability_curve(EARLY, *TEST, [0.5], times=[2.5])


def test_labels_that_do_not_belong_to_the_series_are_refused():
    with pytest.raises(ValueError, match="X has 100 series, but y has 99 labels"):
        reliability_curve(EARLY, TEST[0][:100], TEST[1][:99], [0.5])
    with pytest.raises(ValueError, match="y has labels that were not learned"):
        reliability_curve(EARLY, TEST[0], [f"no {label}" for label in TEST[1]], [0.5])
    codes = np.unique(TEST[1], return_inverse=True)[1]
    numbered = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(TEST[0], codes)
    with pytest.raises(ValueError, match=r"not learned: \['0', '1'"):  # but 0 and 1 were
        reliability_curve(numbered, TEST[0], codes.astype(str), [0.5])


def test_frames_keep_their_names():
    names = [f"t{i}" for i in range(24)]
    frame = pd.DataFrame(TEST[0], columns=names)
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(frame, TEST[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = reliability_curve(model, frame, TEST[1], [0.5], times=[0, 5, 24])
    plain = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(*TEST)
    expected = reliability_curve(plain, *TEST, [0.5], times=[0, 5, 24])
    assert [r["reliability"] for r in found] == [r["reliability"] for r in expected]
    with pytest.raises(ValueError, match="feature names"):
        reliability_curve(model, frame[names[::-1]], TEST[1], [0.5])


def test_random_gaps_are_counted_among_the_rows_that_are_decided():
    records = reliability_curve(EARLY, *TEST, [0.5, 0.9], missing=[0.2, 0.5], random_state=1)
    assert [(r["missing"], r["required"]) for r in records] == [
        (0.2, 0.5), (0.2, 0.9), (0.5, 0.5), (0.5, 0.9)
    ]  # fmt: skip
    rng = np.random.default_rng(1)
    gaps = np.where(rng.random(TEST[0].shape) < 0.2, np.nan, TEST[0])
    found, complete = EARLY.decide(gaps, reliability=0.9), EARLY.predict(TEST[0])
    assert records[1]["rule"] == "gaps"
    assert records[1]["reliability"] == np.mean((found.label == complete)[found.decided])
    assert records[1]["early"] == found.decided.mean()
    assert records[1]["time"] == found.n_observed.mean()
    assert records[3]["early"] < records[1]["early"]
    frame = pd.DataFrame(TEST[0])
    assert reliability_curve(EARLY, frame, TEST[1], [0.5, 0.9], missing=[0.2, 0.5],
                             random_state=1) == records  # fmt: skip
    with pytest.raises(ValueError, match=r"missing=\[1.5\] must be between 0 and 1"):
        reliability_curve(EARLY, *TEST, missing=1.5)


def test_the_harmonic_mean_is_that_of_accuracy_and_values_that_were_spared():
    for record in reliability_curve(EARLY, *TEST, [0.1, 0.9]):
        a, e = record["accuracy"], 1 - record["time"] / 24
        assert record["harmonic_mean"] == pytest.approx(2 / (1 / a + 1 / e))


def test_a_horizon_ends_where_series_say_nothing_new():
    noise = np.random.default_rng(0).standard_normal((300, 36))
    rows = np.hstack([SERIES.data, noise])
    found = choose_horizon(
        FisherDiscriminant(shrinkage=None), rows, SERIES.target, n_candidates=10
    )
    assert found.candidates[-1] == 60
    assert 12 <= found.n_values <= 30
    best = max(found.accuracies)
    assert found.accuracies[found.candidates.index(found.n_values)] > best - 0.05
    with pytest.raises(ValueError, match="n_folds=1"):
        choose_horizon(FisherDiscriminant(shrinkage=None), rows, SERIES.target, n_folds=1)
