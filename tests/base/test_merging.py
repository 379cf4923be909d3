"""Merging models trained apart is training on everything."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from separatrix import IPCAC, FisherDiscriminant, MaximumMarginCriterion, TruncatedIPCAC, merge
from separatrix.base.merging import why_not_mergeable
from separatrix.moments.noise import clip_rows
from separatrix.moments.scatter import Scatter
from tests.base.living import DATA, assert_same_model, every_data, shuffled

MODELS = [
    FisherDiscriminant(shrinkage=None),
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
def test_merging_a_model_with_itself_changes_no_literal_cut(model):
    X, y = DATA["two classes"]
    one = clone(model).set_params(threshold="mahalanobis").fit(X, y)
    twice = merge([one, one])  # of twice as many rows, so that its log-odds are steeper
    assert_allclose(twice.components_, one.components_, atol=1e-8)
    assert_allclose(twice.threshold_, one.threshold_, atol=1e-8)


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
        "model 1 has variance=0.5, model 0 has variance=None": [
            model,
            IPCAC(variance=0.5).fit(X, y),
        ],
        "model 1: it has no moments": [model, IPCAC(keep_moments=False).fit(X, y)],
        "model 2 is TruncatedIPCAC": [model, model, TruncatedIPCAC().fit(X, y)],
        "model 1 has other feature names": [model, IPCAC().fit(frame, y)],
        "it has no 'a'": [
            IPCAC().fit(frame, y),
            IPCAC().fit(frame.rename(columns={"a": "A"}), y),
        ],
        "unlike model 0": [model, make_pipeline(StandardScaler(), IPCAC()).fit(X, y)],
        "belong together": None,
        "they differ in type": [model, IPCAC().fit(X, y.astype(str))],
        "needs all rows at once": [IPCAC(threshold="accuracy").fit(X, y)] * 2,
    }
    for message, models in cases.items():
        with pytest.raises(ValueError, match=message):
            merge([model], epsilon=1.0) if models is None else merge(models)
    with pytest.raises(TypeError, match="model 1: MaximumMarginCriterion cannot be merged"):
        merge([model, MaximumMarginCriterion().fit(X, y)])
    with pytest.raises(NotFittedError, match="model 1: it is not fitted"):
        merge([model, IPCAC()])


# Behind a scaler -------------------------------------------------------------------------------


def in_other_units(n=120, n_classes=3):
    """Features of very different units and offsets, sites of different means."""
    X, y = shuffled(n, 6, n_classes)
    units = np.array([1e-3, 1.0, 10.0, 1e3, 1.0, 5.0])
    return X * units + 20 * units, y


def scaled(model):
    return make_pipeline(StandardScaler(), clone(model))


@every_model
def test_scaled_models_merge_to_the_scaled_model_of_all_rows(model):
    X, y = in_other_units()
    merged = merge(sites(scaled(model), X, y))
    whole = scaled(model).fit(X, y)
    for name in ("mean_", "var_", "scale_", "n_samples_seen_"):
        assert_allclose(getattr(merged[0], name), getattr(whole[0], name), rtol=1e-12)
    assert_equal_decisions_of_pipelines(merged, whole, X)


def assert_equal_decisions_of_pipelines(a, b, X, rtol=1e-8):
    """To eight digits of the largest decision: offsets come from a search."""
    found, expected = a.decision_function(X), b.decision_function(X)
    assert_allclose(found, expected, rtol=0, atol=rtol * np.abs(expected).max())
    assert_array_equal(a.predict(X), b.predict(X))


def test_scaled_wide_models_merge():
    X, y = DATA["wide"]
    merged = merge(sites(scaled(FisherDiscriminant(shrinkage=0.2)), X, y, n=2))
    assert merged[-1].moments_.is_thin, "no matrix of features by features"
    whole = scaled(FisherDiscriminant(shrinkage=0.2)).fit(X, y)
    assert_equal_decisions_of_pipelines(merged, whole, X)


@pytest.mark.parametrize("how", [{"with_mean": False}, {"with_std": False}], ids=str)
def test_scalers_may_shift_or_scale_alone(how):
    X, y = in_other_units()
    model = make_pipeline(StandardScaler(**how), FisherDiscriminant(shrinkage=None))
    assert_equal_decisions_of_pipelines(
        merge(sites(model, X, y)), clone(model).fit(X, y), X, rtol=1e-8
    )


def test_a_column_that_is_constant_at_a_site_merges():
    X, y = in_other_units()
    X[::3, 2], X[:, 4] = 7.0, 3.0  # constant at the first site, and everywhere
    merged, whole = merge(sites(scaled(IPCAC()), X, y)), scaled(IPCAC()).fit(X, y)
    assert_allclose(merged[0].scale_, whole[0].scale_, rtol=1e-12)
    assert_equal_decisions_of_pipelines(merged, whole, X)


def test_columns_are_matched_by_name():
    X, y = in_other_units()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    for model in (FisherDiscriminant(shrinkage=None), scaled(FisherDiscriminant(shrinkage=None))):
        parts = [clone(model).fit(frame[:60], y[:60])]
        parts.append(clone(model).fit(frame[list("cfbead")][60:], y[60:]))
        whole = clone(model).fit(frame, y)
        assert_equal_decisions_of_pipelines(merge(parts), whole, frame)


def mixed_table(n=90):
    X, y = shuffled(n, 2, 3)
    frame = pd.DataFrame(X, columns=["width", "height"])
    frame["ward"] = np.array(["east", "west", "north"])[(np.arange(n) // 3 + y) % 3]
    return frame, y


def prepared(fill):
    numbers = make_pipeline(SimpleImputer(strategy="constant", fill_value=fill), StandardScaler())
    parts = [("n", numbers, ["width", "height"]), ("w", OneHotEncoder(), ["ward"])]
    return make_pipeline(ColumnTransformer(parts), FisherDiscriminant(shrinkage=None))


def test_imputers_and_encoders_with_equal_values_merge():
    frame, y = mixed_table()
    frame.loc[::7, "width"] = np.nan
    parts = [prepared(1.5).fit(frame[i::3], y[i::3]) for i in range(3)]
    assert_equal_decisions_of_pipelines(merge(parts), prepared(1.5).fit(frame, y), frame)


def test_what_must_agree_is_said():
    frame, y = mixed_table()
    one = prepared(1.5).fit(frame, y)
    few = frame["ward"] != "west"
    with pytest.raises(ValueError, match="constant that fills gaps of 'width' must agree"):
        merge([one, prepared(2.0).fit(frame, y)])
    with pytest.raises(ValueError, match=r"values of 'ward' must agree: .*'east', 'north'\]"):
        merge([one, prepared(1.5).fit(frame[few], y[few])])
    other = make_pipeline(PCA(2), FisherDiscriminant(shrinkage=None)).fit(
        frame[["width", "height"]], y
    )
    with pytest.raises(ValueError, match="PCA comes before the model"):
        merge([other, other])
    weighted = scaled(FisherDiscriminant(shrinkage=None)).fit(
        frame[["width", "height"]], y, fisherdiscriminant__sample_weight=1.0 + y
    )
    with pytest.raises(ValueError, match="did not learn from the same rows"):
        merge([weighted, weighted])
    assert why_not_mergeable(one) is None
    knn = make_pipeline(FisherDiscriminant(shrinkage=None), KNeighborsClassifier()).fit(
        frame.iloc[:, :2], y
    )
    assert "KNeighborsClassifier decides by rows" in why_not_mergeable(knn)


# Sites that leave, hostile sites, noise --------------------------------------------------------


@every_model
def test_a_site_leaves(model):
    X, y = in_other_units()
    for kind in (model, scaled(model)):
        parts = sites(kind, X, y)
        rest = merge([merge(parts)], without=[parts[1]])
        expected = merge([parts[0], parts[2]])
        assert_equal_decisions_of_pipelines(rest, expected, X, rtol=1e-8)


def test_only_a_part_can_leave():
    X, y = in_other_units()
    one = sites(FisherDiscriminant(shrinkage=None), X, y, n=2)[0]
    with pytest.raises(ValueError, match="model 0 of those to be left out is not in the sum"):
        merge([one], without=[FisherDiscriminant(shrinkage=None).fit(100 * X[::4], y[::4])])
    with pytest.raises(ValueError, match="nothing would be left"):
        merge([one], without=[one])


@pytest.mark.parametrize("attack", ["count", "mean", "matrix", "nan"])
def test_a_hostile_site_is_named(attack):
    X, y = DATA["two classes"]
    good, bad = sites(FisherDiscriminant(shrinkage=None), X, y, n=2)
    moments = bad.moments_
    if attack == "count":
        moments.counts[0] = -5.0
    elif attack == "mean":
        moments.origin[0] = np.inf
    elif attack == "matrix":
        bad.moments_ = moments._replace(scatters=[Scatter(6, -moments.Sw)])
    else:
        bad.moments_ = moments._replace(scatters=[Scatter(6, np.full((6, 6), np.nan))])
    with pytest.raises(ValueError, match="model 1 has moments that no rows have"):
        merge([good, bad])


def test_noise_is_stated_and_vanishes_with_epsilon():
    X, y = DATA["two classes"]
    X = clip_rows(X, 2.0)
    parts = sites(FisherDiscriminant(shrinkage=0.1), X, y)
    level = {"epsilon": 1e9, "delta": 1e-5, "clip": 2.0, "random_state": 0}
    merged = merge(parts, **level)
    assert merged.noise_ == {"epsilon": 1e9, "delta": 1e-5, "clip": 2.0}
    assert_allclose(merged.coef_, merge(parts).coef_, rtol=1e-2)
    private = merge(parts, **{**level, "epsilon": 1.0})
    assert np.linalg.norm(private.coef_ - merged.coef_) > 0.1
    assert merge([private]).noise_ == private.noise_, "it stays stated"
    with pytest.raises(ValueError, match="noise was added"):
        private.forget(X[:1], y[:1])
    with pytest.raises(ValueError, match="would get it twice"):
        merge([private], **level)
    with pytest.raises(ValueError, match="clip=1, but rows were longer"):
        merge(parts, **{**level, "clip": 1.0})
    assert not hasattr(private.fit(X, y), "noise_")


def test_noise_behind_a_scaler_is_in_the_units_of_the_table():
    X, y = DATA["two classes"]
    X = clip_rows(X, 3.0)
    parts = sites(scaled(FisherDiscriminant(shrinkage=0.1)), X, y)
    level = {"epsilon": 1e10, "delta": 1e-5, "clip": 3.0, "random_state": 0}
    merged = merge(parts, **level)
    assert merged[-1].noise_["clip"] == 3.0
    assert_allclose(merged[0].mean_, X.mean(axis=0), atol=1e-4)
    assert (merged[0].mean_ != merge(parts)[0].mean_).all(), "the scaler has the noise, too"
