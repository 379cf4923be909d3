"""Gaussian classes in all features: Friedman's formula, its ends, and moments alone."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from separatrix import FisherDiscriminant, QuadraticDiscriminant, load, merge, save
from tests.discovery import SHAPES, TALL, WIDE, labelled

every_shape = pytest.mark.parametrize(("X", "y"), SHAPES.values(), ids=SHAPES)
NEW = labelled(40, 6, seed=5)[0], labelled(40, 60, seed=5)[0]


def friedman(X, y, pooling, shrinkage, new):
    """Log-posteriors by the formula, class after class."""
    n, d = X.shape
    centred = [X[y == c] - X[y == c].mean(axis=0) for c in range(3)]
    S = [rows.T @ rows for rows in centred]
    found = []
    for c in range(3):
        scatter = (1 - pooling) * S[c] + pooling * sum(S)
        C = scatter / ((1 - pooling) * len(centred[c]) + pooling * n)
        C = (1 - shrinkage) * C + shrinkage * np.trace(C) / d * np.eye(d)
        density = multivariate_normal(X[y == c].mean(axis=0), C)
        found.append(density.logpdf(new) + np.log(np.mean(y == c)))
    return np.stack(found, axis=1)


@pytest.mark.parametrize("shrinkage", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("pooling", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("shape", [0, 1], ids=SHAPES)
def test_scores_are_friedmans(shape, pooling, shrinkage):
    (X, y), new = list(SHAPES.values())[shape], NEW[shape]
    model = QuadraticDiscriminant(pooling, shrinkage=shrinkage).fit(X, y)
    expected = friedman(X, y, pooling, shrinkage, new)
    expected -= expected.max(axis=1, keepdims=True)
    scores = model.decision_function(new)
    assert_allclose(scores - scores.max(axis=1, keepdims=True), expected, rtol=1e-7, atol=1e-6)


def test_without_shrinkage_it_is_quadratic_and_with_pooling_linear():
    X, y = TALL
    quadratic = QuadraticDiscriminant().fit(X, y)
    expected = friedman(X, y, 0.0, 0.0, NEW[0])
    assert (quadratic.predict(NEW[0]) == expected.argmax(axis=1)).all()
    linear = QuadraticDiscriminant(1.0).fit(X, y)
    theirs = LinearDiscriminantAnalysis("lsqr").fit(X, y)
    assert_allclose(linear.predict_proba(NEW[0]), theirs.predict_proba(NEW[0]), atol=1e-9)


def test_independent_features_are_naive_bayes():
    X, y = TALL
    ours = QuadraticDiscriminant(diagonal=True).fit(X, y)
    theirs = GaussianNB(var_smoothing=0).fit(X, y)
    assert_allclose(ours.predict_proba(NEW[0]), theirs.predict_proba(NEW[0]), atol=1e-9)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("pooling", [0.0, 0.3, 1.0])
@every_shape
def test_batches_and_sites_give_the_fit_of_all_rows(X, y, pooling, diagonal, tmp_path):
    make = QuadraticDiscriminant(pooling, shrinkage=0.1, diagonal=diagonal)
    whole = QuadraticDiscriminant(**make.get_params()).fit(X, y)
    stream = QuadraticDiscriminant(**make.get_params())
    for i in (0, 1):
        stream.partial_fit(X[i::2], y[i::2], classes=[0, 1, 2])
    sites = [QuadraticDiscriminant(**make.get_params()).fit(X[i::2], y[i::2]) for i in (0, 1)]
    save(stream, tmp_path / "a.model")
    for other in (stream, merge(sites), load(tmp_path / "a.model")):
        assert_allclose(other.decision_function(X), whole.decision_function(X), rtol=1e-7)
        assert_allclose(other.components_, whole.components_, atol=1e-9)


def test_sparse_rows_are_decided_as_dense_ones():
    X, y = WIDE
    X = np.where(np.abs(X) > 2, X, 0.0)
    dense = QuadraticDiscriminant(0.5, shrinkage=0.2).fit(X, y)
    sparse = QuadraticDiscriminant(0.5, shrinkage=0.2).fit(sp.csr_array(X), y)
    assert_allclose(sparse.decision_function(sp.csr_array(X)), dense.decision_function(X))


def test_a_class_with_few_rows_is_helped_and_that_is_said():
    X, y = labelled(60, 12)
    X, y = np.vstack([X, X[:2] + 9]), np.append(y, [3, 3])
    with pytest.warns(UserWarning, match="class 3 has too few rows .* set pooling"):
        model = QuadraticDiscriminant().fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.score(X, y) > 0.95


def test_classes_inside_each_other_and_wide_rows_are_right_on_new_rows():
    """One class around the other in 60 features, 40 rows a class: no mean separates them."""
    rng = np.random.default_rng(0)
    y = np.arange(1080) % 2
    X = rng.standard_normal((1080, 60)) * np.where(y, 1.5, 1.0)[:, None]
    model = QuadraticDiscriminant(shrinkage=0.9).fit(X[:80], y[:80])
    assert model.score(X[80:], y[80:]) > 0.95
    assert FisherDiscriminant(shrinkage="auto").fit(X[:80], y[:80]).score(X[80:], y[80:]) < 0.6


def test_a_feature_that_is_constant_in_one_class_decides():
    X, y = labelled(60, 3, n_classes=2)
    X[y == 0, 1] = 4.0
    model = QuadraticDiscriminant(diagonal=True).fit(X, y)
    assert model.score(X, y) == 1.0
    assert np.isfinite(model.predict_proba(X + 1)).all()


@pytest.mark.parametrize("name", ["coef_", "intercept_"])
def test_there_is_nothing_linear_to_ask_for(name):
    model = QuadraticDiscriminant().fit(*TALL)
    with pytest.raises(AttributeError, match="Use decision_function"):
        getattr(model, name)


def test_a_little_of_both_beats_the_ends_on_new_rows():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = QuadraticDiscriminant(0.5, shrinkage=0.1).fit(X[::3], y[::3])
    assert model.score(X, y) > 0.97


@pytest.mark.filterwarnings("ignore:class .* has too few rows")
def test_a_weight_is_a_repetition_where_rows_lie_on_a_line():
    """Copies make rows outnumber features: other coordinates, and the same answer."""
    X = np.outer([0.9, 1.125, 1.0], [-0.155, 0.85, 0.068, -0.236, 0.716]).round(6)
    y, weights = np.array([0, 0, 1]), np.array([1, 3, 1])
    copies = np.repeat(np.arange(3), weights)
    weighted = QuadraticDiscriminant().fit(X, y, sample_weight=weights)
    repeated = QuadraticDiscriminant().fit(X[copies], y[copies])
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


@pytest.mark.filterwarnings("ignore:class .* has too few rows")
@pytest.mark.parametrize("priors", [None, [0.5, 0.3, 0.2]], ids=["proportions", "given"])
@pytest.mark.parametrize("pooling", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("d", [40, 41, 42, 200])
def test_wide_rows_are_decided_alike_however_they_came(d, pooling, priors):
    """Every covariance is singular, the span has no own axes, and batches add a row or two."""
    X, y = labelled(40, d, seed=1)
    new = np.random.default_rng(2).standard_normal((50, d)) + X.mean(axis=0)
    turn = np.linalg.qr(np.random.default_rng(3).standard_normal((d, d)))[0]
    weights = np.repeat([2.0, 1.0], [9, 31])
    copies = np.append(np.arange(9), np.arange(40))

    def make():
        return QuadraticDiscriminant(pooling, priors=priors)

    def fit(X, y, **how):
        return make().fit(X, y, **how)

    whole = fit(X, y)
    stream = make().partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    sites = merge([fit(X[:20], y[:20]), fit(X[20:], y[20:])])
    pairs = {
        "batches": (whole, stream),
        "sites": (whole, sites),
        "order": (whole, fit(X[::-1], y[::-1])),
        "sparse": (whole, fit(sp.csr_array(X), y)),
        "copies": (fit(X, y, sample_weight=weights), fit(X[copies], y[copies])),
    }
    for way, (one, other) in pairs.items():
        expected = one.decision_function(new)
        found = other.decision_function(new)
        assert_allclose(found, expected, rtol=1e-7, atol=1e-9 * abs(expected).max(), err_msg=way)
    turned = fit(X @ turn, y).decision_function(new @ turn)
    assert_allclose(turned, whole.decision_function(new), rtol=1e-7)


def test_one_covariance_for_all_classes_is_held_once():
    y = np.repeat(np.arange(300), 3)
    X = np.random.default_rng(0).standard_normal((900, 60)) + 3 * np.sin(
        np.outer(y, np.arange(60))
    )
    model = QuadraticDiscriminant(pooling=1.0, shrinkage=0.1).fit(X, y)
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6e6, "a matrix for each class has 8.6 MB, and its inverse as much"
    scores = X[:5] @ model.coef_.T + model.intercept_
    assert_allclose(model.decision_function(X[:5]), scores)
