"""Rows one by one: equal to the fit of all rows, with features and classes that come and go."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import FisherDiscriminant, OnlineIPCAC
from separatrix.evaluate import prequential
from separatrix.fisher.row_by_row import RowByRow, has_cheap_rows
from tests.discovery import labelled


def probabilities(model, X):
    return np.array([list(model.predict_proba_one(x).values()) for x in X])


def learn(model, X, y):
    for x, label in zip(X, y, strict=True):
        model.learn_one(x, label)
    return model


def stream(n, d=6, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    return rng.standard_normal((n, d)) @ rng.random((d, d)) + rng.random((3, d))[y] + 1e3, y


def test_ten_thousand_rows_are_the_batch():
    X, y = stream(10_000)
    model = learn(RowByRow(FisherDiscriminant(shrinkage=None)), X, y)
    whole = FisherDiscriminant(shrinkage=None).fit(X, y)
    new = X[:50]
    np.testing.assert_allclose(probabilities(model, new), whole.predict_proba(new), rtol=1e-8)
    assert [model.predict_one(x) for x in new] == whole.predict(new).tolist()
    np.testing.assert_allclose(model.model.coef_, whole.coef_, rtol=1e-8)


@pytest.mark.parametrize("n", [1, 2, 5, 9, 40, 41])
def test_every_length_is_answered(n):
    X, y = stream(n, n_classes=2)
    model = learn(RowByRow(FisherDiscriminant(shrinkage=None)), X, y)
    whole = FisherDiscriminant(shrinkage=None).partial_fit(X, y)
    # before there are more rows than features the last tenth may be missing
    if n > 12:
        np.testing.assert_allclose(probabilities(model, X), whole.predict_proba(X), rtol=1e-8)
    assert model.predict_one(X[0]) in (0, 1)


@pytest.mark.parametrize("shrinkage", [0.3, "moments", "auto"])
def test_a_ridge_is_that_of_nearly_all_rows(shrinkage):
    X, y = stream(300, d=20)
    model = learn(RowByRow(FisherDiscriminant(shrinkage=shrinkage)), X, y)
    whole = FisherDiscriminant(shrinkage=shrinkage).partial_fit(X, y)
    np.testing.assert_allclose(probabilities(model, X), whole.predict_proba(X), atol=0.05)


def test_features_that_come_late_were_zero_before():
    X, y = stream(120, d=4, n_classes=2)
    X = X - 1e3
    X[:50, 3] = 0.0
    X[70:80, 1] = 0.0
    model = RowByRow(FisherDiscriminant(shrinkage=None))
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        names = ["b", "c", "a"] if i < 50 else ["a", "b", "c", "late"]
        row = {name: x["abc".find(name)] for name in names}
        if 70 <= i < 80:
            del row["b"]
        model.learn_one(row, label)
    order = ["abc".find(name) for name in model.features]
    assert model.features == ["b", "c", "a", "late"]
    whole = FisherDiscriminant(shrinkage=None).fit(X[:, order], y)
    row = dict(zip(["a", "b", "c", "late"], X[5], strict=True))
    expected = whole.predict_proba(X[5:6, order])[0]
    np.testing.assert_allclose(list(model.predict_proba_one(row).values()), expected, rtol=1e-8)
    assert model.predict_one({**row, "never seen": 9.0}) == model.predict_one(row)


def test_classes_come_as_they_come():
    X, y = stream(200, d=3)
    order = np.argsort(y == 2, kind="stable")
    X, y = X[order], np.array(["ash", "birch", "cedar"])[y[order]]
    model = learn(RowByRow(FisherDiscriminant(shrinkage=None)), X, y)
    whole = FisherDiscriminant(shrinkage=None).fit(X, y)
    np.testing.assert_allclose(probabilities(model, X), whole.predict_proba(X), rtol=1e-8)
    assert set(model.predict_proba_one(X[0])) == {"ash", "birch", "cedar"}


def test_a_feature_that_begins_to_change_has_its_part():
    X, y = stream(100, d=3, n_classes=2)
    X[:60, 1] = 7.0
    model = learn(RowByRow(FisherDiscriminant(shrinkage=None)), X, y)
    whole = FisherDiscriminant(shrinkage=None).fit(X, y)
    np.testing.assert_allclose(probabilities(model, X), whole.predict_proba(X), rtol=1e-7)


def test_it_goes_on_with_a_fitted_model_and_gives_it_back():
    X, y = stream(100)
    model = learn(RowByRow(FisherDiscriminant(shrinkage=None).fit(X[:40], y[:40])), X[40:], y[40:])
    np.testing.assert_allclose(
        model.model.coef_, FisherDiscriminant(shrinkage=None).fit(X, y).coef_, rtol=1e-8
    )


def test_other_models_answer_themselves():
    X, y = labelled(100, 5, 2, 0)
    others = [FisherDiscriminant(rule="quadratic"), FisherDiscriminant(window=60)]
    for estimator in (OnlineIPCAC(), *others):
        assert not has_cheap_rows(estimator)
        model = learn(RowByRow(estimator), X, y)
        answers = [model.predict_one(x) for x in X]
        assert np.mean(np.array(answers) == y) > 0.6


def test_before_any_row_nothing_is_known():
    model = RowByRow(FisherDiscriminant(shrinkage=None))
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one([1.0]) == {}


def test_gaps_and_rows_that_lose_their_names_are_refused():
    model = RowByRow(FisherDiscriminant(shrinkage=None)).learn_one({"a": 1.0, "b": 2.0}, 0)
    with pytest.raises(ValueError, match="feature 'b' is nan: leave it out, or fill it"):
        model.learn_one({"a": 1.0, "b": float("nan")}, 0)
    model = RowByRow(FisherDiscriminant(shrinkage=None)).learn_one([1.0, 2.0], 0)
    with pytest.raises(ValueError, match="rows so far had no names"):
        model.learn_one({"a": 1.0}, 0)
    model = RowByRow(FisherDiscriminant(shrinkage=None)).learn_one([1.0, 2.0], 0)
    with pytest.raises(ValueError, match="3 values, and rows so far had 2"):
        model.learn_one([1.0, 2.0, 3.0], 0)


def test_prequential_tests_each_row_by_all_before_it():
    X, y = stream(150, d=4, n_classes=2)
    records = prequential(model := FisherDiscriminant(shrinkage=None), X, y, batch_size=1)
    assert [r["seen"] for r in records] == [*range(1, 150)]
    np.testing.assert_allclose(
        model.coef_, FisherDiscriminant(shrinkage=None).fit(X, y).coef_, rtol=1e-8
    )
    for i in (40, 90, 149):
        before = FisherDiscriminant(shrinkage=None).fit(X[:i], y[:i])
        assert records[i - 1]["wrong"] == (before.predict(X[i : i + 1])[0] != y[i])
    with pytest.raises(ValueError, match="the label 5, which is none of classes"):
        prequential(model, X, np.full(150, 5), batch_size=1)
