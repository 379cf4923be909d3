"""Scores of rows at many times, beside the same rows cut by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from separatrix import KernelFisherDiscriminant, LocalQDA, load, save
from tests.early.data import NEW, TWO, X, by_draws, by_model, every_rule, judged, y


@every_rule
def test_paths_are_the_scores_of_rows_that_are_cut(rule):
    model = by_model(rule).fit(X, y)
    path = model.reliability_path(NEW)
    assert path.shape == NEW.shape
    for t in range(1, 7):
        cut = model.decide(np.where(np.arange(7) < t, NEW, np.nan))
        assert_allclose(path[:, t - 1], cut.reliability, rtol=1e-7)
    assert_array_equal(path[:, -1], 1)


def gaps_after(t, n=7):
    return np.where(np.arange(n) < t, NEW, np.nan)


def test_the_sampled_share_is_the_probability_of_the_label():
    """200 draws: a share of 0.5 has a standard error of 0.035, the differences average out."""
    rule = LinearDiscriminantAnalysis()
    two, labels = X[TWO], y[TWO]
    exact = by_model(rule, region="ideal").fit(two, labels)
    sampled = by_draws(rule, n_checkpoints=7).fit(two, labels)
    for t in (2, 4):
        expected, drawn = exact.decide(gaps_after(t)), sampled.decide(gaps_after(t))
        sure = expected.reliability > 0.6
        assert_array_equal(drawn.label[sure], expected.label[sure])
        error = drawn.reliability - expected.reliability
        assert abs(error).max() < 0.2  # the model is widened by rows held out, draws are not
        assert_array_equal(sampled.reliability_path(NEW)[:, t - 1], drawn.reliability)


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(5, random_state=0),
        SVC(),
        make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
        LocalQDA(6),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("kind", ["sampled", "prefix"])
def test_any_classifier_decides_alike_in_rows_series_streams_and_files(estimator, kind, tmp_path):
    model = judged(kind, estimator, n_checkpoints=4, n_draws=20).fit(X, y)
    early = model.decide_early(NEW, reliability=0.7)
    assert set(early.time) <= {2, 4, 5, 7}
    assert (early.time < 7).any()
    for i in range(3):
        stream = model.stream(reliability=0.7)
        answers = [stream.push(value) for value in NEW[i]]
        first = next(answer for answer in answers if answer.decided)
        assert first.label == early.label[i]
        assert first.time == early.time[i]
        assert first.reliability == early.reliability[i]
        assert answers[-1].label == model.predict(NEW[[i]])[0]
    if not isinstance(estimator, SVC | RandomForestClassifier):  # which no file may hold
        save(model, tmp_path / "a.model")
        kept = load(tmp_path / "a.model").decide_early(NEW, reliability=0.7)
        assert_array_equal(kept, early)


def test_draws_that_cannot_matter_are_not_made():
    model = by_draws(SVC(), n_checkpoints=7).fit(X, y)
    judge, everyone = model._score.follow(NEW), np.arange(len(NEW))
    codes, whole = judge.judge(5, everyone)
    least = 0.98
    guess, quick = judge.judge(5, everyone, least=least)
    sure = whole >= least
    assert sure.any()
    assert_array_equal(quick[sure], whole[sure])
    assert_array_equal(guess[sure], codes[sure])
    assert (quick[~sure] < least).all()
    assert (quick < whole).any()


def test_kernel_reducers_are_sampled_and_otherwise_refused_by_name():
    reducer = KernelFisherDiscriminant()
    model = by_draws(LocalQDA(4), reducer=reducer, n_draws=20).fit(X, y)
    assert (model.decide_early(NEW).time < 7).any()
    with pytest.raises(TypeError, match=r"reducer=[\s\S]* Use judge='sampled'"):
        by_model(LocalQDA(4), reducer=reducer).fit(X, y)
