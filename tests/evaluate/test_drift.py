"""Detectors that are silent where nothing changes, and name what does."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest
from sklearn.naive_bayes import GaussianNB

from separatrix import ClassMoments, FisherDiscriminant, datasets
from separatrix.evaluate import drift
from separatrix.evaluate.drift import DriftDetector, mean_shifts
from separatrix.evaluate.stream import prequential


@pytest.fixture
def no_river(monkeypatch):
    monkeypatch.setattr(drift, "_make_adwin", lambda level: None)


def rows_of(rng, n, shift=0.0, classes=2, d=4):
    y = np.arange(n) % classes
    X = rng.standard_normal((n, d)) @ np.diag(np.linspace(1, 5, d))
    X[:, 0] += 4 * y
    X[y == 1, 2] += shift
    return X, y


def test_mean_shifts_are_hotellings_test(rng):
    X, y = rows_of(rng, 60)
    Z, z = rows_of(rng, 20)
    found = mean_shifts(ClassMoments.from_data(X, y), Z, z)
    S = sum(np.cov(X[y == c].T) * (np.sum(y == c) - 1) for c in (0, 1)) / 58
    delta = Z[z == 1].mean(axis=0) - X[y == 1].mean(axis=0)
    T2 = delta @ np.linalg.solve(S, delta) / (1 / 10 + 1 / 30)
    assert_allclose(found[1].pvalue, drift.f_distribution.sf(T2 * 55 / (4 * 58), 4, 55))
    assert_allclose(found[1].shifts, delta / np.sqrt(np.diag(S)))


def test_pvalues_are_uniform_where_nothing_changes(rng):
    pvalues = []
    for _ in range(300):
        X, y = rows_of(rng, 40)
        pvalues += [s.pvalue for s in mean_shifts(ClassMoments.from_data(X, y), *rows_of(rng, 10))]
    assert kstest(pvalues[::2], "uniform").pvalue > 1e-3  # one false alarm in a thousand seeds


@pytest.mark.usefixtures("no_river")
def test_false_alarms_keep_to_the_level(rng):
    detector = DriftDetector(0.05)
    X, y = rows_of(rng, 300 * 20)
    records = prequential(FisherDiscriminant(shrinkage=None), X, y, 20, drift=detector)
    for kind in ("means", "error"):
        n = sum(change.kind == kind for change in detector.found)
        assert n <= 0.05 * len(records) + 4 * np.sqrt(0.05 * len(records)), kind
    assert sum(bool(record["drift"]) for record in records) == len(
        {change.seen for change in detector.found}
    )


@pytest.mark.usefixtures("no_river")
def test_the_class_and_the_feature_that_moved_are_named(rng):
    X, y = rows_of(rng, 1000)
    Z, z = rows_of(rng, 200, shift=12.0)
    detector = DriftDetector()
    prequential(
        FisherDiscriminant(shrinkage=None), np.vstack([X, Z]), np.r_[y, z], 50, drift=detector
    )
    first = next(change for change in detector.found if change.seen >= 1000)
    assert (first.seen, first.kind, first.label, first.features[0]) == (1000, "means", 1, "x2")
    assert "class 1 has moved: x2 by +" in first.words


@pytest.mark.usefixtures("no_river")
def test_errors_that_rise_are_found_for_any_model(rng):
    X, y = rows_of(rng, 1000)
    detector = DriftDetector()
    prequential(GaussianNB(), X, np.r_[y[:600], 1 - y[600:]], 50, drift=detector)
    first = detector.found[0]
    assert (first.seen, first.kind, first.label) == (600, "error", None)


@pytest.mark.skipif(importlib.util.find_spec("river") is None, reason="river is not installed")
def test_adwin_takes_the_place_of_the_test_where_river_is_installed(rng):
    X, y = rows_of(rng, 1000)
    detector = DriftDetector()
    assert detector._adwin is not None
    prequential(GaussianNB(), X, np.r_[y[:600], 1 - y[600:]], 50, drift=detector)
    assert any(600 <= change.seen <= 750 for change in detector.found)


def test_new_classes_and_few_rows_give_nothing(rng):
    X, y = rows_of(rng, 20)
    moments = ClassMoments.from_data(X, y)
    assert mean_shifts(moments, X, np.full(20, 7)) == []
    assert mean_shifts(ClassMoments.from_data(X[:3], y[:3]), X, y) == []
    wide = datasets.make_drifting_pair(12, 40, random_state=0)
    few = ClassMoments.from_data(wide.data, wide.target)
    assert mean_shifts(few, wide.data, wide.target) == []


@pytest.mark.parametrize("level", [0, 1, -1])
def test_levels_are_shares(level):
    with pytest.raises(ValueError, match=f"level={level} is not valid"):
        DriftDetector(level)
