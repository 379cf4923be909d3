"""The normal model of rows with gaps, beside likelihoods and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from separatrix import EarlyClassifier, FisherDiscriminant, LocalQDA
from separatrix.early import gaps
from separatrix.early.gaps import fill_gaps
from tests.early.data import (
    NEW,
    X,
    by_model,
    every_conditional,
    every_judge,
    judged,
    series,
    with_gaps,
    y,
)


def moments_of(filled, uncertain):
    mean = filled.mean(axis=0)
    return mean, ((filled - mean).T @ (filled - mean) + uncertain[0]) / len(filled)


def log_likelihood(rows, mean, S):
    total = 0.0
    for row in rows:
        o = ~np.isnan(row)
        if o.any():
            total += multivariate_normal.logpdf(row[o], mean[o], S[np.ix_(o, o)])
    return total


def test_a_monotone_gap_has_the_closed_form_of_regression(monkeypatch):
    """Anderson's factored likelihood: the second feature is regressed on the first."""
    monkeypatch.setattr(gaps, "MIN_CHANGE", 1e-10)
    monkeypatch.setattr(gaps, "MAX_EM_STEPS", 2000)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 2)) @ [[1.0, 2.0], [0.0, 1.0]] + [3.0, -1.0]
    rows[40:, 1] = np.nan
    filled = fill_gaps(rows, np.zeros(60, dtype=int), shrinkage=0.0)
    mean, S = moments_of(*filled)
    a, b = rows[:40].T
    slope = np.cov(a, b, bias=True)[0, 1] / a.var()
    rest = b.var() - slope**2 * a.var()
    assert_allclose(mean, [rows[:, 0].mean(), b.mean() + slope * (rows[:, 0].mean() - a.mean())],
                    rtol=1e-6)  # fmt: skip
    v = rows[:, 0].var()
    assert_allclose(S, [[v, slope * v], [slope * v, rest + slope**2 * v]], rtol=1e-6)
    assert_allclose(filled.X[40:, 1], b.mean() + slope * (rows[40:, 0] - a.mean()), rtol=1e-6)


def test_no_other_moments_are_more_likely():
    rows = with_gaps(series(150, 4, n_classes=1)[0], share=0.25)
    mean, S = moments_of(*fill_gaps(rows, np.zeros(150, dtype=int), shrinkage=0.0))
    best = log_likelihood(rows, mean, S)
    rng = np.random.default_rng(0)
    for scale in (0.02, 0.1):
        for _ in range(5):
            L = np.eye(4) + scale * rng.standard_normal((4, 4))
            shift = scale * rng.standard_normal(4) * np.sqrt(S.diagonal())
            assert log_likelihood(rows, mean + shift, L @ S @ L.T) < best
    naive = np.nanmean(rows, axis=0), np.diag(np.nanvar(rows, axis=0))
    assert log_likelihood(rows, *naive) < best - 50


def test_rows_without_gaps_stay_as_they_are():
    filled = fill_gaps(X, y)
    assert_array_equal(filled.X, X)
    assert_array_equal(filled.uncertain, 0)


@every_conditional
def test_a_model_of_rows_with_gaps_is_near_that_of_complete_rows(conditional):
    rows, labels = series(600, 7)
    model = by_model(FisherDiscriminant(shrinkage=None), conditional=conditional)
    whole = model.fit(rows, labels).expect(NEW[:, :] * np.where(np.arange(7) < 4, 1, np.nan))
    holes = with_gaps(rows, share=0.2)
    before = holes.copy()
    found = model.fit(holes, labels).expect(NEW * np.where(np.arange(7) < 4, 1, np.nan))
    assert_array_equal(holes, before)
    spread = whole.std[:, 4:].mean()
    assert np.abs(found.mean - whole.mean).max() < 0.5 * spread
    assert_allclose(found.std[:, 4:], whole.std[:, 4:], rtol=0.15)
    # with filled values alone, which do not vary about what is expected, too little is unknown
    codes = labels if conditional == "mixture" else 0 * labels
    naive = model.fit(fill_gaps(holes, codes).X, labels)
    shown = naive.expect(NEW * np.where(np.arange(7) < 4, 1, np.nan)).std[:, 4:].mean()
    assert shown < found.std[:, 4:].mean()


@every_judge
def test_series_of_unequal_lengths_are_learned(kind):
    rows, labels = series(200, 10)
    lengths = np.random.default_rng(0).integers(6, 11, size=200)
    ragged = [row[:n] for row, n in zip(rows, lengths, strict=True)]
    model = judged(kind, LocalQDA(4), n_draws=50, calibration=0.3)
    with pytest.warns(
        UserWarning, match="rows calibrate, and reliability=0.9 is promised on average"
    ):
        model.fit(ragged, labels)
    assert model.n_calibration_rows_ < 0.4 * np.sum(lengths == 10)
    early = model.decide_early(rows)
    assert np.mean(early.label == model.predict(rows)) > 0.85


def test_columns_without_a_value_and_too_many_columns_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="column 3 of X has no value at all"):
        EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(
            np.where(np.arange(7) == 3, np.nan, X), y
        )
    monkeypatch.setattr(gaps, "MAX_FEATURES", 6)
    with pytest.raises(ValueError, match="rows with gaps may have at most 6"):
        EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(with_gaps(X), y)
