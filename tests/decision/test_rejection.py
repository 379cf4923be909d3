"""Rows like none of the classes are rejected, and of others no more than stated."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    LDG,
    FisherDiscriminant,
    OnlineIPCAC,
    QuadraticDiscriminant,
    WithRejection,
    load,
    map_blocks,
    merge,
    save,
)
from tests.base.living import shuffled


def gaussian_classes(rng, n, d=5, heavy=False):
    y = rng.integers(3, size=n)
    noise = rng.standard_t(3, (n, d)) if heavy else rng.standard_normal((n, d))
    return noise + 12 * np.eye(3, d)[y], y


def test_the_share_of_rejected_rows_is_the_level(rng):
    shares = []
    for _ in range(40):
        X, y = gaussian_classes(rng, 60)
        model = WithRejection(FisherDiscriminant(), level=0.1).fit(X, y)
        shares.append(np.mean(model.predict(gaussian_classes(rng, 200)[0]) == -1))
    # 40 · 200 rows, of which those of one fit are not independent: a generous error
    assert abs(np.mean(shares) - 0.1) < 0.015


def test_calibrated_shares_hold_for_any_distribution(rng):
    shares, uncalibrated = [], []
    for _ in range(60):
        X, y = gaussian_classes(rng, 60, heavy=True)
        Z = gaussian_classes(rng, 200, heavy=True)[0]
        model = WithRejection(FisherDiscriminant(), level=0.1).fit(X, y)
        uncalibrated.append(np.mean(model.predict(Z) == -1))
        model.calibrate(gaussian_classes(rng, 79, heavy=True)[0])
        shares.append(np.mean(model.predict(Z) == -1))
    # (79 + 1) · 0.1 is whole: strictly below the level are 7 of 80 ranks
    expected = 7 / 80
    assert abs(np.mean(shares) - expected) < 4 * np.std(shares) / np.sqrt(60)
    assert np.mean(shares) <= 0.1
    assert abs(np.mean(uncalibrated) - 0.1) > 0.01, "the F distribution does not hold here"


def test_rows_of_an_unknown_kind_are_rejected(rng):
    X, y = gaussian_classes(rng, 200)
    model = WithRejection(FisherDiscriminant(), level=0.01).fit(X, y)
    strange = rng.standard_normal((50, 5)) + 12 * np.eye(5)[4]
    assert np.mean(model.predict(strange) == -1) > 0.95
    assert_array_equal(np.unique(model.predict(X)), [-1, 0, 1, 2])
    none = WithRejection(FisherDiscriminant(), level=0).fit(X, y)
    assert_array_equal(none.predict(strange), none.estimator_.predict(strange))


@pytest.mark.parametrize(
    ("make", "answer"),
    [(np.asarray, -1), (lambda y: np.array(list("abc"))[y], "none"), (np.float64, np.nan)],
)
def test_the_answer_follows_the_kind_of_labels(rng, make, answer):
    X, y = gaussian_classes(rng, 90)
    model = WithRejection(FisherDiscriminant()).fit(X, make(y))
    found = model.predict(np.vstack([X[:1], 100 * X[:1]]))
    assert found[0] == make(y)[0]
    assert found[1] == answer or (answer != answer and np.isnan(found[1]))
    assert WithRejection(FisherDiscriminant(), rejected=9).fit(X, y).predict(100 * X[:1]) == [9]
    with pytest.raises(ValueError, match="is a class: give another"):
        WithRejection(FisherDiscriminant(), rejected=2).fit(X, y)


def test_merged_streamed_and_scaled_models_reject(rng):
    X, y = gaussian_classes(rng, 120)
    scaled = [
        make_pipeline(StandardScaler(), FisherDiscriminant()).fit(X[i::2], y[i::2])
        for i in range(2)
    ]
    streamed = OnlineIPCAC().partial_fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    strange = np.vstack([X[:5], -50 * X[:5]])
    for model in (merge(scaled), streamed, QuadraticDiscriminant().fit(X, y)):
        found = WithRejection(model, level=1e-4).predict(strange)
        assert_array_equal(found, [*model.predict(X[:5]), *[-1] * 5])
    whole = WithRejection(make_pipeline(StandardScaler(), FisherDiscriminant())).fit(X, y)
    merged = WithRejection(merge(scaled))
    np.testing.assert_allclose(merged.novelty_pvalue(X), whole.novelty_pvalue(X), atol=1e-9)


def test_dask_rows_are_judged_lazily(rng):
    da = pytest.importorskip("dask.array")
    X, y = gaussian_classes(rng, 90)
    model = WithRejection(FisherDiscriminant()).fit(da.from_array(X, chunks=(30, -1)), y)
    rows = np.vstack([X, 100 * X])
    lazy = map_blocks(model.predict, da.from_array(rows, chunks=(40, -1)))
    assert_array_equal(lazy.compute(), model.predict(rows))


def test_models_are_kept_in_files(rng, tmp_path):
    X, y = gaussian_classes(rng, 90)
    model = WithRejection(FisherDiscriminant()).fit(X, y).calibrate(X[:30])
    save(model, tmp_path / "a.model")
    assert_array_equal(load(tmp_path / "a.model").predict(3 * X), model.predict(3 * X))


def test_mistakes_are_told_in_words():
    X, y = shuffled(60, 4, 3)
    with pytest.raises(ValueError, match="LDG does not know what is new"):
        WithRejection(LDG(gamma=0.5)).fit(X, y)
    with pytest.raises(ValueError, match="level=2"):
        WithRejection(FisherDiscriminant(), level=2).fit(X, y)
    model = WithRejection(FisherDiscriminant(), level=0.01).fit(X, y)
    with pytest.raises(ValueError, match=r"60 rows cannot show a level of 0.01: give at least 99"):
        model.calibrate(X)
    with pytest.raises(NotFittedError, match="call fit, or give a fitted estimator"):
        WithRejection(FisherDiscriminant()).predict(X)
    wide = WithRejection(FisherDiscriminant()).fit(*shuffled(20, 60, 2))
    with pytest.raises(ValueError, match="no distribution follows"):
        wide.predict(shuffled(20, 60, 2)[0])
