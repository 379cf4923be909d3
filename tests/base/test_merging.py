"""Merging models trained apart is training on everything."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from separatrix import IPCAC, FisherDiscriminant, MaximumMarginCriterion, TruncatedIPCAC, merge
from tests.base.living import DATA, assert_same_model, every_data, shuffled

MODELS = [
    FisherDiscriminant(),
    FisherDiscriminant(shrinkage=0.1, pca=4),
    IPCAC(),
    IPCAC(variance=0.9),
    TruncatedIPCAC(),
    TruncatedIPCAC(3),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=str)


def sites(model, X, y, n=3, make=np.asarray):
    return [clone(model).fit(make(X[i::n]), y[i::n]) for i in range(n)]


@every_model
@every_data
def test_the_merged_model_is_the_model_of_the_union(model, X, y):
    assert_same_model(merge(sites(model, X, y)), clone(model).fit(X, y))


@every_model
@every_data
def test_merging_is_commutative_and_associative(model, X, y):
    parts = sites(model, X, y)
    expected = merge(parts)
    for order in itertools.permutations(parts):
        assert_same_model(merge(order), expected)
    a, b, c = parts
    assert_same_model(merge([merge([a, b]), c]), expected)
    assert_same_model(merge([a, merge([b, c])]), expected)


@every_model
def test_sparse_sites_merge(model):
    X, y = DATA["wide pair"]
    X = np.where(np.abs(X) > 1, X, 0)
    assert_same_model(merge(sites(model, X, y, make=sp.csr_array)), clone(model).fit(X, y), 1e-6)


@pytest.mark.parametrize("model", [IPCAC(), IPCAC(variance=0.9), TruncatedIPCAC(3)], ids=str)
def test_merging_a_model_with_itself_changes_nothing(model):
    X, y = DATA["two classes"]
    one = clone(model).fit(X, y)
    assert_same_model(merge([one, one]), one)


@every_model
def test_sites_may_know_different_classes(model):
    X, y = shuffled(120, 6, 4)
    groups = [y < 2, y >= 2]
    parts = [clone(model).fit(X[g], y[g]) for g in groups]
    assert_same_model(merge(parts), clone(model).fit(X, y))


@every_model
def test_a_merged_model_can_be_updated_and_merged_again(model):
    X, y = shuffled(120, 6, 2)
    merged = merge(sites(model, X[:80], y[:80]))
    before = merged.components_.copy()
    updated = merge([merged]).partial_fit(X[80:], y[80:])
    assert_same_model(updated, clone(model).fit(X, y))
    assert_array_equal(merged.components_, before)


def test_a_merged_model_shares_nothing_with_its_parts():
    X, y = DATA["two classes"]
    one = IPCAC().fit(X, y)
    merge([one]).moments_.update(X, y)
    assert one.moments_.n_samples == len(X)


def test_sites_that_know_one_class_merge():
    X, y = DATA["two classes"]
    parts = [IPCAC().partial_fit(X[y == c], y[y == c]) for c in (0, 1)]
    assert_same_model(merge(parts), IPCAC().fit(X, y))


def test_names_of_features_survive():
    X, y = DATA["two classes"]
    frame = pd.DataFrame(X, columns=list("abcdef"))
    merged = merge(sites(IPCAC(), frame.to_numpy(), y))
    assert not hasattr(merged, "feature_names_in_")
    named = merge([IPCAC().fit(frame[i::2], y[i::2]) for i in range(2)])
    assert_array_equal(named.feature_names_in_, list("abcdef"))
    assert_array_equal(named.predict(frame), IPCAC().fit(frame, y).predict(frame))


def test_what_cannot_be_merged_is_an_error_with_the_reason():
    X, y = DATA["two classes"]
    model = IPCAC().fit(X, y)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    cases = {
        "at least one model": [],
        "model 1 has 5 features, model 0 has 6": [model, IPCAC().fit(X[:, :5], y)],
        "model 1 has tol=0.5, model 0 has tol=None": [model, IPCAC(tol=0.5).fit(X, y)],
        "model 1 has no moments": [model, IPCAC(keep_moments=False).fit(X, y)],
        "model 2 is a TruncatedIPCAC": [model, model, TruncatedIPCAC().fit(X, y)],
        "model 1 has other feature names": [model, IPCAC().fit(frame, y)],
        "another order": [IPCAC().fit(frame, y), IPCAC().fit(frame[list("bacdef")], y)],
        "they differ in type": [model, IPCAC().fit(X, y.astype(str))],
        "needs all rows at once": [IPCAC(threshold="accuracy").fit(X, y)] * 2,
        'shrinkage="auto"': [FisherDiscriminant(shrinkage="auto").fit(X, y)] * 2,
    }
    for message, models in cases.items():
        with pytest.raises(ValueError, match=message):
            merge(models)
    with pytest.raises(TypeError, match="model 1 is a MaximumMarginCriterion"):
        merge([model, MaximumMarginCriterion().fit(X, y)])
    with pytest.raises(NotFittedError, match="model 1 is not fitted"):
        merge([model, IPCAC()])
