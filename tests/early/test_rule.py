"""The rule with features in another order, beside the same features moved."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier

from separatrix import EarlyClassifier
from tests.early.data import NEW, X, every_rule, series, y


@every_rule
@pytest.mark.parametrize("region", ["ellipsoid", "box", "ideal", "diagonal"])
@pytest.mark.filterwarnings("ignore:region=")
def test_an_order_is_as_if_columns_had_been_moved(rule, region):
    order = np.array([4, 2, 6, 0, 1, 5, 3])
    settings = {"region": region, "score": "model", "regularization": 0.1}
    model = EarlyClassifier(rule, **settings).fit(X, y)
    moved = EarlyClassifier(rule, **settings).fit(X[:, order], y)
    found = model.decide_early(NEW, order=order, reliability=0.4)
    expected = moved.decide_early(NEW[:, order], reliability=0.4)
    assert_array_equal(found.time, expected.time)
    assert_allclose(found.reliability, expected.reliability, rtol=1e-6)


def test_the_diagonal_set_warns_and_is_not_conservative():
    """Values that are nearly the same: the set of the thesis has less than its nominal measure."""
    rng = np.random.default_rng(0)
    first, level = rng.standard_normal((2, 4000, 1))
    rows = np.hstack([9 * first, level + 0.01 * rng.standard_normal((4000, 4))])
    labels = (rows.sum(axis=1) > 0).astype(int)
    rule = RidgeClassifier(alpha=1000)  # about the same weight for each of them
    with pytest.warns(UserWarning, match='region="diagonal" takes the missing values as indep'):
        model = EarlyClassifier(rule, region="diagonal").fit(rows[:2000], labels[:2000])
    whole = EarlyClassifier(rule).fit(rows[:2000], labels[:2000])
    cut = np.where(np.arange(5) < 1, rows[2000:], np.nan)
    found, sure = model.decide(cut).reliability, whole.decide(cut).reliability
    some = (sure > 0.1) & (sure < 0.9)
    assert some.sum() > 100
    assert (found[some] > sure[some] + 0.05).all()


def test_the_nearest_row_stands_on_a_set_where_no_row_of_another_class_is_nearer():
    """Section 5.3: conservative, as drawn rows of the set show."""
    rows, labels = series(40, 3, n_classes=2, apart=8.0)
    new, _ = series(400, 3, n_classes=2, apart=8.0)
    model = EarlyClassifier(KNeighborsClassifier(1), score="model").fit(rows, labels)
    cut = np.where(np.arange(3) < 1, new, np.nan)
    found = model.decide(cut)
    rng = np.random.default_rng(0)
    expectation = model.expect(cut)
    known = model._decision_rule.conditional._replace(B=None, shift=model._conditional.units.mean)
    spread = known.condition(cut[:1], np.arange(3) < 1).spread
    draws = rng.standard_normal((4000, spread.shape[1])) @ spread.T
    strong = np.flatnonzero((found.reliability > 0.3) & (found.reliability < 0.999))[:30]
    assert len(strong) >= 5
    for i in strong:
        completed = expectation.mean[i] + draws
        share = np.mean(model.predict(completed) == found.label[i])
        assert share >= found.reliability[i] - 3 * np.sqrt(0.25 / 4000)
    assert_array_equal(model.predict(new), KNeighborsClassifier(1).fit(rows, labels).predict(new))
