"""A model can be asked what it knows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    FisherDiscriminant,
    KernelFisherDiscriminant,
    OnlineIPCAC,
    TruncatedIPCAC,
    datasets,
)
from separatrix.evaluate.contents import describe_contents, judge_novelty
from separatrix.features.words import make_vectorizer
from tests.texts import make_texts


@pytest.fixture
def wine():
    bunch = datasets.load("wine")
    return pd.DataFrame(bunch.data, columns=bunch.feature_names), bunch.target


def test_weights_are_those_of_standard_deviations(wine):
    """The same for a model of scaled columns, and of columns as they are."""
    X, y = wine
    plain = describe_contents(FisherDiscriminant(shrinkage=None).fit(X, y))
    scaled = describe_contents(
        make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=None)).fit(X, y)
    )
    assert plain.features.names == scaled.features.names == list(X.columns)
    assert_allclose(plain.features.weights, scaled.features.weights, rtol=1e-6)
    assert_allclose(plain.features.correlations, scaled.features.correlations, rtol=1e-6)
    assert np.abs(plain.features.weights).max(axis=1).tolist() == [1.0, 1.0]
    z = FisherDiscriminant(shrinkage=None).fit(X, y).transform(X)[:, 0]
    expected = [np.corrcoef(X[name], z)[0, 1] for name in X.columns]
    assert_allclose(plain.features.correlations[0], expected, rtol=1e-6)


@pytest.mark.parametrize("flip", [1.0, -1.0])
def test_weights_and_correlations_point_to_the_second_class(flip, rng):
    """Components have a sign by their largest entry, whichever class that favours."""
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 4))
    X[:, 0] += 5 * flip * y
    found = describe_contents(FisherDiscriminant(shrinkage=None).fit(X, y)).features
    assert np.sign(found.weights[0, 0]) == np.sign(found.correlations[0, 0]) == flip


def test_words_have_their_names_and_hashed_ones_numbers():
    texts, kinds = make_texts(40)
    model = make_pipeline(make_vectorizer(), TruncatedIPCAC()).fit(texts, kinds)
    found = describe_contents(model)
    largest = [found.features.names[j] for j in np.argsort(-np.abs(found.features.weights[0]))]
    assert {"meeting", "minutes", "lunch", "draft", "winner", "prize", "buy", "free"} == set(
        largest[:8]
    )
    hashed = make_pipeline(make_vectorizer(hashed=True), OnlineIPCAC()).fit(texts, kinds)
    assert describe_contents(hashed).features.names[0] == "x0"


def test_kernel_models_have_no_weights_of_features(wine):
    found = describe_contents(KernelFisherDiscriminant().fit(*wine))
    assert found.features is None
    assert found.classes == ["class_0", "class_1", "class_2"]


def test_rows_are_unlike_where_moments_can_tell(wine):
    X, y = wine
    model = make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=None)).fit(X, y)
    new = X.iloc[:3].copy()
    new.iloc[0, 3] *= 9
    found = judge_novelty(model, new)
    assert found.pvalues[0] < 1e-6
    assert (found.pvalues[1:] > 1e-3).all()
    assert judge_novelty(FisherDiscriminant(shrinkage=None).fit(X[::20], y[::20]), X) is None
    assert judge_novelty(KernelFisherDiscriminant().fit(X, y), X) is None
