"""Models behind scalers: what steps did, undone; rows forgotten."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from separatrix import ClassMoments, FisherDiscriminant, QuadraticDiscriminant, forget
from separatrix.base.prepared import find_names, forget_rows, read_step, take_apart
from tests.base.living import MOMENT_MODELS, shuffled


def table(n=90):
    X, y = shuffled(n, 3, 3)
    frame = pd.DataFrame(X * [1.0, 100.0, 0.01] + [5.0, 0.0, 1.0], columns=list("abc"))
    frame["ward"] = np.array(["east", "west"])[(np.arange(n) // 5) % 2]
    return frame, y


def preparation(*fill):
    numbers = make_pipeline(*fill, StandardScaler())
    parts = [("w", OneHotEncoder(sparse_output=False), ["ward"]), ("n", numbers, list("abc"))]
    return ColumnTransformer(parts, verbose_feature_names_out=False)


def test_the_columns_of_steps_are_affine_in_those_of_the_table():
    frame, _ = table()
    steps = preparation().fit(frame)
    columns = read_step(steps, find_names(steps))
    assert columns.names == ["ward_east", "ward_west", "a", "b", "c"]
    raw = columns.scale * steps.transform(frame) + columns.shift
    assert_allclose(raw[:, 2:], frame[list("abc")], rtol=1e-12)
    assert_array_equal(raw[:, 0], frame["ward"] == "east")
    assert columns.indicators == (0, 1)


def test_moments_are_in_the_units_of_the_table():
    X, y = shuffled(90, 4, 2)
    X = 100 * X + 1000
    model = make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=None)).fit(X, y)
    found, expected = take_apart(model).moments, ClassMoments.from_data(X, y)
    assert_allclose(found.Sw, expected.Sw, rtol=1e-10, atol=1e-10 * expected.Sw.max())
    assert_allclose(found.means, expected.means, rtol=1e-12)


def test_steps_that_are_not_affine_are_refused():
    X, y = shuffled(90, 4, 2)
    for steps, words in {
        (MinMaxScaler(),): "MinMaxScaler comes before the model",
        (StandardScaler(), StandardScaler()): "after a scaler",
        (SimpleImputer(add_indicator=True),): "add_indicator",
    }.items():
        with pytest.raises(ValueError, match=words):
            take_apart(make_pipeline(*steps, FisherDiscriminant(shrinkage=None)).fit(X, y))


@pytest.mark.parametrize("model", [*MOMENT_MODELS, QuadraticDiscriminant(0.3)], ids=str)
def test_forgotten_rows_were_never_seen_behind_a_scaler(model):
    X, y = shuffled(120, 6, 3)
    X = X * [1.0, 1e3, 1.0, 1e-2, 1.0, 7.0] + 50
    whole = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    never = make_pipeline(StandardScaler(), clone(model)).fit(X[15:], y[15:])
    before = whole.decision_function(X)
    found = forget_rows(whole, X[:15], y[:15])
    assert_array_equal(whole.decision_function(X), before, "the model given is as it was")
    expected = never.decision_function(X)
    atol = 1e-9 * np.abs(expected).max()
    assert_allclose(found.model.decision_function(X), expected, rtol=0, atol=atol)
    assert_allclose(found.model[0].scale_, never[0].scale_, rtol=1e-12)
    assert found.residual < 1e-13
    assert sum(found.before.values()) == 120
    assert sum(found.after.values()) == 105


def test_models_without_steps_are_forgotten_alike():
    X, y = shuffled(90, 4, 3)
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    found = forget_rows(model, X[:5], y[:5])
    assert model.n_samples_seen_ == 90
    assert_allclose(
        found.model.coef_, FisherDiscriminant(shrinkage=None).fit(X[5:], y[5:]).coef_, rtol=1e-9
    )


def test_columns_of_text_forget_while_their_values_have_rows():
    frame, y = table()
    whole = make_pipeline(preparation(), FisherDiscriminant(shrinkage=None)).fit(frame, y)
    never = make_pipeline(preparation(), FisherDiscriminant(shrinkage=None)).fit(frame[7:], y[7:])
    found = forget(whole, frame[:7], y[:7])
    assert_allclose(found.decision_function(frame), never.decision_function(frame), atol=1e-8)
    frame.loc[0, "ward"] = "south"
    odd = make_pipeline(preparation(), FisherDiscriminant(shrinkage=None)).fit(frame, y)
    with pytest.raises(ValueError, match="no row would be left with 'ward_south'"):
        forget(odd, frame[:1], y[:1])


def test_what_cannot_be_forgotten_is_said():
    frame, y = table()
    filled = make_pipeline(preparation(SimpleImputer()), FisherDiscriminant(shrinkage=None)).fit(
        frame, y
    )
    with pytest.raises(ValueError, match="fills gaps of 'a' was computed from all rows"):
        forget(filled, frame[:3], y[:3])
    X = frame[list("abc")].to_numpy()
    model = make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=None)).fit(X, y)
    with pytest.raises(ValueError, match="not part"):
        forget(model, 100 * X[:3], y[:3])
