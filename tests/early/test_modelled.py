"""Rules that are judged by the model: tables beside spreads, orders, diagonal sets, neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from scipy.special import ndtr
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier

from separatrix.early.conditional import PrefixState, prefix_innovations
from tests.early.data import (
    NEW,
    TWO,
    X,
    by_model,
    every_conditional,
    every_rule,
    series,
    with_gaps,
    y,
)


def states(score, rows):
    """The state of rows after each number of values."""
    E = prefix_innovations(score.prefix_models, score.conditional.units.apply(rows))
    state = PrefixState.start(score.prefix_models, score.conditional.weights, len(rows))
    for t in range(rows.shape[1]):
        yield t, state
        state.take(score.prefix_models, t, E[:, :, t : t + 1])


@every_conditional
@pytest.mark.parametrize("rows", [TWO, np.ones(len(y), dtype=bool)], ids=["two", "three"])
def test_tables_of_scores_answer_as_spreads_do(rows, conditional):
    model = by_model(LinearDiscriminantAnalysis(), region="ideal", conditional=conditional)
    score = model.fit(X[rows], y[rows])._score
    assert len(score.tables) == len(score.prefix_models)
    for t, state in states(score, NEW):
        guess, reliability = score.judge_state(t, state)
        known = state.moments(score.prefix_models, t)
        stands = np.zeros(len(NEW))
        for k, (scores, F) in enumerate(zip(known.means, known.spreads, strict=True)):
            gaps = np.take_along_axis(scores, guess[:, None], axis=1) - scores
            wins = ndtr(-gaps / np.maximum(cdist(F, F)[guess], 1e-100))
            wins[np.arange(len(NEW)), guess] = 0
            stands += known.probabilities[:, k] * np.maximum(1 - wins.sum(axis=1), 0)
        assert_allclose(reliability, stands, rtol=1e-6, atol=1e-9)
        if len(score.tables) == 1:
            likelier = known.mean.argmax(axis=1)
            assert_array_equal(guess, likelier)


@every_rule
@pytest.mark.parametrize("region", ["ellipsoid", "box", "ideal", "diagonal"])
@pytest.mark.filterwarnings("ignore:region=")
def test_values_in_another_order_are_as_if_columns_had_been_moved(rule, region):
    """A row whose first value is missing gets the values after it in another order."""
    order = np.array([1, 2, 3, 4, 5, 6, 0])
    settings = {"region": region, "regularization": 0.1}
    there = by_model(rule, **settings).fit(X, y)
    here = by_model(rule, **settings).fit(X[:, order], y)
    holes = NEW.copy()
    holes[:, 0] = np.nan
    late = there.decide_early(holes, reliability=0.4)
    moved = here.decide_early(NEW[:, order][:, :6], reliability=0.4)
    before = (moved.n_observed < 6) & (late.n_observed > 0)
    assert before.sum() > 10
    assert late.decided[before].all()
    assert_array_equal(late.n_observed[before], moved.n_observed[before])
    assert_allclose(late.reliability[before], moved.reliability[before], rtol=1e-6, atol=1e-12)


def test_the_diagonal_set_warns_and_is_not_conservative():
    """Values that are nearly the same: the set of the thesis has less than its nominal measure."""
    rng = np.random.default_rng(0)
    first, level = rng.standard_normal((2, 4000, 1))
    rows = np.hstack([9 * first, level + 0.01 * rng.standard_normal((4000, 4))])
    labels = (rows.sum(axis=1) > 0).astype(int)
    rule = RidgeClassifier(alpha=1000)  # about the same weight for each of them
    with pytest.warns(UserWarning, match='region="diagonal" takes the missing values as indep'):
        model = by_model(rule, region="diagonal").fit(rows[:2000], labels[:2000])
    whole = by_model(rule).fit(rows[:2000], labels[:2000])
    cut = np.where(np.arange(5) < 1, rows[2000:], np.nan)
    found, sure = model.decide(cut).reliability, whole.decide(cut).reliability
    some = (sure > 0.1) & (sure < 0.9)
    assert some.sum() > 100
    assert (found[some] > sure[some] + 0.05).all()


def test_the_nearest_row_stands_on_a_set_where_no_row_of_another_class_is_nearer():
    """Section 5.3: conservative, as drawn rows of the set show."""
    rows, labels = series(40, 3, n_classes=2, apart=8.0)
    new, _ = series(400, 3, n_classes=2, apart=8.0)
    model = by_model(KNeighborsClassifier(1)).fit(rows, labels)
    cut = np.where(np.arange(3) < 1, new, np.nan)
    found = model.decide(cut)
    rng = np.random.default_rng(0)
    expectation = model.expect(cut)
    units = model._score.conditional.units
    known = model._score.conditional._replace(B=None, shift=units.mean)
    spread = known.condition(cut[:1], np.arange(3) < 1).spread
    draws = rng.standard_normal((4000, spread.shape[1])) @ spread.T
    strong = np.flatnonzero((found.reliability > 0.3) & (found.reliability < 0.999))[:30]
    assert len(strong) >= 5
    for i in strong:
        completed = expectation.mean[i] + draws
        share = np.mean(model.predict(completed) == found.label[i])
        assert share >= found.reliability[i] - 3 * np.sqrt(0.25 / 4000)
    assert_array_equal(model.predict(new), KNeighborsClassifier(1).fit(rows, labels).predict(new))


@every_rule
@every_conditional
def test_gaps_anywhere_have_a_probability(rule, conditional):
    model = by_model(rule, region="ideal", conditional=conditional).fit(X, y)
    found = model.decide(with_gaps(NEW))
    complete = found.n_observed == 7
    assert ((found.reliability[~complete] >= 0) & (found.reliability[~complete] < 1)).all()
    assert (found.reliability[complete] == 1).all()
