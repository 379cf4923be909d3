"""`EarlyClassifier` as users see it: decisions, promises, errors."""

from __future__ import annotations

import tracemalloc
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import SVC, LinearSVC

from separatrix import (
    LDG,
    EarlyClassifier,
    FisherDiscriminant,
    KernelFisherDiscriminant,
    LocalQDA,
    datasets,
)
from separatrix.early import ModelJudge, SampledJudge
from separatrix.early.conditional import ThinFactor
from tests.early.data import (
    NEW,
    TWO,
    WIDE,
    X,
    by_model,
    every_conditional,
    every_region,
    every_rule,
    mixed,
    series,
    wide_y,
    with_gaps,
    written_out,
    y,
)


@every_conditional
@pytest.mark.parametrize("data", [(X, y), (WIDE, wide_y)], ids=["tall", "wide"])
def test_what_is_expected_of_missing_values(data, conditional):
    X, y = data
    model = by_model(FisherDiscriminant(shrinkage=None), conditional=conditional).fit(X, y)
    codes = y if conditional == "mixture" else np.zeros_like(y)
    rows = with_gaps(X[:6])
    rows[1] = X[1]
    expected = model.expect(rows)
    for i, row in enumerate(rows):
        observed = ~np.isnan(row)
        m, R = mixed(*written_out(model, X, codes), row, observed)
        assert_allclose(expected.mean[i], m, atol=1e-8)
        assert_allclose(expected.std[i] ** 2, np.diag(R), atol=1e-9)
        assert not expected.std[i][observed].any()
        assert_array_equal(expected.mean[i][observed], row[observed])


@every_rule
@every_conditional
def test_the_order_of_features_does_not_matter_to_gaps(rule, conditional):
    model = by_model(rule, conditional=conditional, regularization=0.1)
    order = np.random.default_rng(0).permutation(7)
    rows = with_gaps(NEW)
    there = clone(model).fit(X, y).decide(rows)
    here = clone(model).fit(X[:, order], y).decide(rows[:, order])
    assert_array_equal(here.label, there.label)
    assert_allclose(here.reliability, there.reliability, rtol=1e-5, atol=1e-9)
    assert_array_equal(here.n_observed, (~np.isnan(rows)).sum(axis=1))


@every_region
@every_rule
def test_a_larger_tau_decides_later_and_on_fewer_rows(rule, region):
    model = by_model(rule, region=region).fit(X, y)
    rows, taus = with_gaps(NEW), (0.0, 0.01, 0.3, 0.9, 0.999, 1.0)
    decided = [model.decide(rows, reliability=tau).decided for tau in taus]
    times = [model.decide_early(NEW, reliability=tau).time for tau in taus]
    for a, b in pairwise(range(len(taus))):
        assert (decided[b] <= decided[a]).all()
        assert (times[b] >= times[a]).all()
    assert decided[0].all()
    assert (times[0] == 1).all()
    assert_array_equal(decided[-1], ~np.isnan(rows).any(axis=1))
    assert (times[-1] == 7).all()
    assert times[2].mean() < 7


@every_rule
@every_region
def test_complete_rows_are_the_classifiers(rule, region):
    model = by_model(rule, region=region, reliability=1.0).fit(X, y)
    found = model.decide(NEW)
    assert_array_equal(found.label, clone(rule).fit(X, y).predict(NEW))
    assert_array_equal(found.label, model.predict(NEW))
    assert_array_equal(found.reliability, 1)
    assert found.decided.all()
    assert (found.n_observed == 7).all()
    early = model.decide_early(NEW)
    assert_array_equal(early.label, found.label)
    assert_array_equal(early.reliability, 1)


@every_rule
@every_conditional
@every_region
def test_rows_without_any_value_are_guessed_alike(rule, conditional, region):
    model = by_model(rule, conditional=conditional, region=region).fit(X, y)
    empty = np.full((3, 7), np.nan)
    found = model.decide(empty, reliability=0.0)
    assert found.decided.all()
    assert len(set(found.label)) == 1
    assert ((found.reliability >= 0) & (found.reliability < 1)).all()
    assert (found.n_observed == 0).all()
    early = model.decide_early(empty, reliability=0.999)
    assert not early.decided.any()
    assert_array_equal(early.label, found.label)
    assert_allclose(early.reliability, found.reliability)
    assert (early.time == 0).all()
    assert not model.decide_early(empty, reliability=0.0).decided.any()


def gaussian_rows(n, d, seed):
    rng = np.random.default_rng(seed)
    mixing = np.tril(np.random.default_rng(1).normal(size=(d, d))) + np.eye(d)
    return rng.standard_normal((n, d)) @ mixing.T


@pytest.mark.parametrize("region", ["ellipsoid", "box", "chebyshev", "ideal"])
@pytest.mark.parametrize("kind", ["linear", "quadratic"])
def test_normal_rows_keep_the_promise(region, kind):
    if kind == "quadratic" and region == "ideal":
        pytest.skip("a half-space is linear")
    rows, new = gaussian_rows(4000, 6, 2), gaussian_rows(4000, 6, 3)
    labels = (rows[:, 1] + rows[:, 4] > 0).astype(int)
    rule = LinearDiscriminantAnalysis()
    if kind == "quadratic":
        labels = (rows[:, 1] ** 2 + rows[:, 4] ** 2 > 6).astype(int)
        rule = QuadraticDiscriminantAnalysis()
    model = by_model(rule, region=region, reliability=0.8).fit(rows, labels)
    final = model.predict(new)
    taken = 0
    for observed in (np.arange(6) < 3, np.arange(6) % 2 > 0, np.arange(6) != 1):
        found = model.decide(np.where(observed, new, np.nan))
        right = found.label == final
        decided = found.decided
        taken += decided.sum()
        # three standard deviations of a share
        assert right[decided].mean() >= 0.8 - 3 * np.sqrt(0.16 / max(decided.sum(), 1))
        if region == "ideal":
            assert abs(right.mean() - found.reliability.mean()) < 3 / np.sqrt(len(new))
            low, high = found.reliability < 0.7, found.reliability > 0.95
            assert abs(right[low].mean() - found.reliability[low].mean()) < 0.05
            assert right[high].mean() > 0.95
    assert taken > 100 or region == "chebyshev"


def test_the_ideal_decides_first_and_chebyshev_last():
    rows, labels = X[TWO], y[TWO]
    times = {}
    for region in ("ideal", "ellipsoid", "box", "chebyshev"):
        model = by_model(LogisticRegression(), region=region).fit(rows, labels)
        times[region] = model.decide_early(NEW).time
    assert (times["ideal"] <= times["ellipsoid"]).all()
    assert (times["ellipsoid"] <= times["chebyshev"]).all()
    assert (times["ideal"] <= times["box"]).all()
    assert times["ideal"].mean() < times["ellipsoid"].mean() < times["chebyshev"].mean()


@every_rule
@every_conditional
@every_region
def test_a_constant_feature_tells_nothing(rule, conditional, region):
    model = by_model(rule, conditional=conditional, region=region, regularization=0.1)
    rows, constant = with_gaps(NEW), np.full((len(NEW), 1), 3.0)
    quadratic = isinstance(rule, QuadraticDiscriminantAnalysis)
    if quadratic:
        model.set_params(reducer=PCA(3))  # it takes no constant features
    plain = clone(model).fit(X, y).decide(rows)
    more = clone(model).fit(np.insert(X, 3, 3.0, axis=1), y)
    known = more.decide(np.insert(rows, [3], constant, axis=1))
    missing = more.decide(np.insert(rows, [3], np.nan * constant, axis=1))
    complete = ~np.isnan(rows).any(axis=1)
    if not isinstance(rule, LocalQDA):  # whose ridge is a share of the average variance
        assert_array_equal(known.label, plain.label)
        assert_allclose(known.reliability, plain.reliability, rtol=1e-6, atol=1e-9)
    assert_array_equal(missing.label, known.label)
    assert_allclose(
        missing.reliability[~complete], known.reliability[~complete], rtol=1e-6, atol=1e-9
    )
    assert (missing.reliability[complete] < 1).all()
    elsewhere = np.insert(NEW, [3], constant + 1e-3, axis=1)  # it varies after all
    assert np.isfinite(more.decide_early(elsewhere).reliability).all()


def test_a_constant_feature_with_a_weight_is_expected_to_stay():
    rows, new = (np.column_stack([part, np.full(len(part), 5.0)]) for part in (X, NEW))
    model = by_model(LinearSVC()).fit(rows, y)
    assert model.estimator_.coef_[:, -1].all()
    cut = np.where(np.arange(8) < 5, new, np.nan)
    early, whole = model.decide_early(cut, reliability=1.0), model.decide(cut)
    assert_allclose(early.reliability, whole.reliability, rtol=1e-9)
    told = model.decide(np.where(np.arange(8) == 7, 5.0, cut))
    assert_allclose(told.reliability, whole.reliability, rtol=1e-6)


@every_rule
@every_conditional
@every_region
def test_more_features_than_rows(rule, conditional, region):
    if isinstance(rule, QuadraticDiscriminantAnalysis):
        rule = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=0.5)
    model = by_model(rule, conditional=conditional, region=region).fit(WIDE, wide_y)
    found = model.decide(with_gaps(WIDE, share=0.1))
    assert ((found.reliability >= 0) & (found.reliability <= 1)).all()
    early = model.decide_early(WIDE, reliability=0.1)
    assert early.decided.all()
    assert np.mean(early.label == model.predict(WIDE)) > 0.5


@every_conditional
def test_many_features_are_never_squared(conditional):
    d = 1500
    rows, labels = series(12, d, n_classes=2)
    tracemalloc.start()
    model = by_model(FisherDiscriminant(shrinkage=None), conditional=conditional).fit(rows, labels)
    model.decide_early(rows[:2])
    model.decide(with_gaps(rows[:2]))
    model.stream().push(1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(model._score.prefix_models[0].factor, ThinFactor)
    assert peak < d * d * 8 / 4


def test_units_and_offsets_do_not_matter():
    scale = 10.0 ** np.arange(-3, 4)
    model = by_model(LinearDiscriminantAnalysis(), regularization=0.1)
    rows = with_gaps(NEW)
    plain = clone(model).fit(X, y).decide(rows)
    scaled = clone(model).fit(X * scale, y).decide(rows * scale)
    shifted = clone(model).fit(X + 1e6, y).decide(rows + 1e6)
    assert_array_equal(scaled.label, plain.label)
    assert_allclose(scaled.reliability, plain.reliability, rtol=1e-6)
    assert_array_equal(shifted.label, plain.label)
    # rows of 1e6 are rounded to 1e-10, and so are the coefficients
    assert_allclose(shifted.reliability, plain.reliability, rtol=1e-3, atol=1e-6)


def test_a_class_of_one_row_and_rows_given_twice():
    labels = np.where(np.arange(len(y)) == 5, 7, y)
    for conditional in ("gaussian", "mixture"):
        model = by_model(FisherDiscriminant(shrinkage=None), conditional=conditional).fit(
            X, labels
        )
        found = model.decide_early(np.repeat(NEW, 2, axis=0))
        assert np.isfinite(found.reliability).all()
        assert_array_equal(found.label[::2], found.label[1::2])
    twice = by_model(FisherDiscriminant(shrinkage=None), regularization=0.1)
    once = clone(twice).fit(X, y).decide(with_gaps(NEW))
    twice.fit(np.tile(X, (2, 1)), np.tile(y, 2))
    assert_allclose(twice.decide(with_gaps(NEW)).reliability, once.reliability, rtol=1e-6)


def test_frames_names_and_single_precision():
    names = list("abcdefg")
    frame = pd.DataFrame(X, columns=names)
    labels = np.array(["ash", "beech", "cedar"])[y]
    model = EarlyClassifier(
        FisherDiscriminant(shrinkage=None), reducer=LDG(3, gamma=0.6, n_neighbors=4)
    )
    model.fit(frame, labels)
    gaps = with_gaps(NEW)
    expected = (
        EarlyClassifier(
            FisherDiscriminant(shrinkage=None), reducer=LDG(3, gamma=0.6, n_neighbors=4)
        )
        .fit(X, labels)
        .decide(gaps)
    )
    found = model.decide(pd.DataFrame(gaps, columns=names))
    assert_array_equal(found.label, expected.label)
    assert_allclose(found.reliability, expected.reliability)
    assert_array_equal(model.feature_names_in_, names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        short = model.decide_early(pd.DataFrame(NEW[:, :4], columns=names[:4]))
    assert_array_equal(short.label, model.decide_early(NEW[:, :4]).label)
    with pytest.raises(ValueError, match="feature names"):
        model.decide_early(pd.DataFrame(NEW[:, :4], columns=names[1:5]))
    with pytest.raises(TypeError, match="dense"):
        model.decide_early(sp.csr_array(NEW[:, :4]))
    single = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(X.astype(np.float32), y)
    double = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(
        X.astype(np.float32).astype(float), y
    )
    rows = with_gaps(NEW).astype(np.float32)
    assert_allclose(single.decide(rows).reliability, double.decide(rows).reliability, rtol=1e-3)


@pytest.mark.parametrize(
    "estimator", [RandomForestClassifier(), SVC(), make_pipeline(Normalizer(), LinearSVC())]
)
def test_other_rules_are_refused_with_those_that_are_not(estimator):
    with pytest.raises(
        TypeError, match=r"estimator=[\s\S]* is not supported [\s\S]*LinearSVC, .*LocalQDA"
    ):
        by_model(estimator).fit(X, y)


@pytest.mark.parametrize("estimator", [LinearSVC, None, StandardScaler()])
def test_what_is_no_classifier_is_refused(estimator):
    with pytest.raises(TypeError, match=r"estimator=.* is not a classifier: give an instance"):
        EarlyClassifier(estimator).fit(X, y)


@pytest.mark.parametrize("reducer", [Normalizer(), KernelFisherDiscriminant()])
def test_reducers_that_are_no_affine_maps_are_refused(reducer):
    with pytest.raises(TypeError, match=r"reducer=[\s\S]* after affine maps alone"):
        by_model(FisherDiscriminant(shrinkage=None), reducer=reducer).fit(X, y)
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None), reducer=reducer).fit(X, y)
    assert model.judge_.__class__ is SampledJudge


@pytest.mark.parametrize(
    "reducer", [StandardScaler(), PCA(3, whiten=True), make_pipeline(StandardScaler(), LDG(2))]
)
def test_affine_reducers_are_folded_into_the_rule(reducer):
    rule = LinearDiscriminantAnalysis()
    folded = EarlyClassifier(rule, reducer=reducer).fit(X, y)
    whole = EarlyClassifier(make_pipeline(reducer, rule)).fit(X, y)
    assert type(folded.judge_) is type(whole.judge_) is ModelJudge
    rows = with_gaps(NEW)
    assert_allclose(folded.decide(rows).reliability, whole.decide(rows).reliability, rtol=1e-6)
    assert_array_equal(
        folded.predict(NEW),
        rule.fit(reducer.fit(X, y).transform(X), y).predict(reducer.transform(NEW)),
    )


@pytest.mark.parametrize("reducer", ["pca", PCA, FisherDiscriminant])
def test_reducers_that_are_no_transformers_are_refused(reducer):
    with pytest.raises(TypeError, match=r"reducer=.* is not a transformer: give an instance"):
        EarlyClassifier(FisherDiscriminant(shrinkage=None), reducer=reducer).fit(X, y)


def test_a_reducer_without_mean_starts_at_the_origin():
    model = EarlyClassifier(LinearSVC(), reducer=TruncatedSVD(3, random_state=0)).fit(X + 5, y)
    nearly = np.where(np.arange(7) < 6, X + 5, np.nan)
    assert np.mean(model.decide(nearly).label == model.predict(X + 5)) > 0.9


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("region", "ball"),
        ("conditional", "normal"),
        ("regularization", 0.0),
        ("regularization", 2),
        ("reliability", 1.5),
        ("reliability", "high"),
    ],
)
def test_senseless_parameters_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}={value!r} is not valid"):
        by_model(FisherDiscriminant(shrinkage=None), **{name: value}).fit(X, y)


def test_senseless_rows_are_refused():
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None))
    with pytest.raises(NotFittedError):
        model.decide_early(X)
    with pytest.raises(NotFittedError):
        model.stream()
    with pytest.raises(ValueError, match="column 2 of X has no value at all"):
        model.fit(np.where(np.arange(7) == 2, np.nan, X), y)
    with pytest.raises(ValueError, match="only one class: 'a'"):
        model.fit(X, np.full(len(X), "a"))
    with pytest.raises(TypeError, match="dense"):
        model.fit(sp.csr_array(X), y)
    model.fit(X, y)
    with pytest.raises(ValueError, match="infinity in row 0, column 1: use NaN"):
        model.decide(np.where(np.arange(7) == 1, np.inf, X))
    with pytest.raises(ValueError, match=r"reliability=2 is not valid: .* in \[0, 1\]"):
        model.decide(X, reliability=2)


def test_rows_with_gaps_are_predicted_as_they_would_be_decided_now():
    model, rows = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(X, y), with_gaps(NEW)
    assert_array_equal(model.predict(rows), model.decide(rows).label)


def test_a_refused_fit_leaves_the_model_as_it_was():
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(X, y)
    before = model.decide(with_gaps(NEW))
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(np.arange(4) == 1, np.inf, X[:, :4]), y)
    assert_array_equal(model.decide(with_gaps(NEW)).reliability, before.reliability)


def test_fit_fits_clones_and_solving_sets_no_attribute():
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None), reducer=PCA(3)).fit(X, y)
    assert not hasattr(model.estimator, "classes_")
    assert not hasattr(model.reducer, "components_")
    before = dict(vars(model))
    data, recipe = model._validate(X[:60], y[:60]), model._recipe()
    recipe.solve(data, recipe.summarize(data)[1], 0.5)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[name] is value for name, value in before.items() if name[-1] == "_")
    assert model._score is before["_score"]


def test_the_beginning_of_a_series_is_a_row_whose_end_is_missing():
    series = datasets.make_series(120, 20, random_state=0)
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(series.data, series.target)
    begun = series.data[:5].copy()
    begun[:, 8:] = np.nan
    for found, expected in zip(model.decide(begun[:, :8]), model.decide(begun), strict=True):
        assert_array_equal(found, expected)
    assert_array_equal(model.expect(begun[:, :8]).mean, model.expect(begun).mean)
