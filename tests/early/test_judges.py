"""Judges as parameters: names, objects, nested settings."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from separatrix import EarlyClassifier, FisherDiscriminant, LocalQDA, QuadraticDiscriminant
from separatrix.early import ModelJudge, PrefixJudge, SampledJudge
from tests.early.data import NEW, X, y


@pytest.mark.parametrize(
    ("estimator", "kind"),
    [
        (FisherDiscriminant(shrinkage=None), ModelJudge),
        (QuadraticDiscriminant(), ModelJudge),
        (LocalQDA(4), SampledJudge),
        (RandomForestClassifier(5, random_state=0), SampledJudge),
    ],
)
def test_the_classifier_decides_which_judge_is_taken(estimator, kind):
    model = EarlyClassifier(estimator).fit(X, y)
    assert type(model.judge_) is kind
    if kind is ModelJudge:
        assert model.judge_.region == "ideal"


def test_names_are_judges_with_defaults():
    named = (
        EarlyClassifier(FisherDiscriminant(shrinkage=None), judge="sampled")
        .fit(X, y)
        .decide_early(NEW)
    )
    made = (
        EarlyClassifier(FisherDiscriminant(shrinkage=None), judge=SampledJudge())
        .fit(X, y)
        .decide_early(NEW)
    )
    assert all(np.array_equal(a, b) for a, b in zip(named, made, strict=True))


def test_settings_of_a_judge_are_nested_parameters():
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None), judge=SampledJudge(20))
    model.set_params(judge__n_draws=30)
    assert clone(model).judge.n_draws == 30
    assert model.get_params()["judge__n_checkpoints"] == 20


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ("best", "judge='best' is not valid"),
        (ModelJudge("ball"), "region='ball' is not valid"),
        (SampledJudge(1), "n_draws=1 is not valid"),
        (PrefixJudge(0), "n_checkpoints=0 is not valid"),
    ],
)
def test_what_is_no_judge_is_refused(judge, words):
    with pytest.raises(ValueError, match=words):
        EarlyClassifier(FisherDiscriminant(shrinkage=None), judge=judge, calibration=0.4).fit(X, y)
