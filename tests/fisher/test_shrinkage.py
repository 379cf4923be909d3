"""Nonlinear shrinkage: its promises by simulation, and what it does to Fisher's discriminant."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.covariance import OAS, ledoit_wolf
from sklearn.datasets import load_digits

from separatrix import FisherDiscriminant, merge
from separatrix.fisher.shrinkage import quadratic_inverse, shrink_nonlinearly
from tests.discovery import SHAPES, TALL, WIDE

every_shape = pytest.mark.parametrize(("X", "y"), SHAPES.values(), ids=SHAPES)


@pytest.mark.parametrize(("p", "n"), [(20, 50), (50, 50), (60, 25)])
def test_the_trace_is_kept_and_the_spread_is_not(p, n):
    rows = np.random.default_rng(0).standard_normal((n, p))
    evals = np.linalg.eigvalsh(rows.T @ rows / n)[-min(n, p) :]
    shrunk = quadratic_inverse(evals, n, p)
    null = shrunk.null * (p - len(evals))
    assert_allclose(shrunk.positive.sum() + null, evals.sum())
    assert np.ptp(shrunk.positive) < 0.5 * np.ptp(evals)


@pytest.mark.parametrize(("p", "n"), [(100, 200), (50, 400), (200, 150)])
def test_it_has_most_of_the_possible_gain(p, n):
    """Share of the gain of the best eigenvalues for these eigenvectors, and Ledoit-Wolf's.

    Three eigenvalues 1, 3 and 10, which one straight line cannot restore. Over ten draws the
    shares vary by less than 0.02.
    """
    rng = np.random.default_rng(0)
    true = np.repeat([1.0, 3, 10], [p // 5, 2 * p // 5, p - 3 * (p // 5)])
    errors = np.zeros(4)
    for _ in range(10):
        rows = rng.standard_normal((n, p)) * np.sqrt(true)
        S = rows.T @ rows / n
        _, U = np.linalg.eigh(S)
        best = (U * np.einsum("ij,i,ij->j", U, true, U)) @ U.T
        ours = shrink_nonlinearly(n * S, n, p) / n
        theirs = ledoit_wolf(rows, assume_centered=True)[0]
        errors += [np.sum((M - np.diag(true)) ** 2) for M in (S, ours, theirs, best)]
    ours, theirs = ((errors[0] - e) / (errors[0] - errors[3]) for e in errors[1:3])
    assert ours > 0.88
    assert ours > theirs


@every_shape
def test_a_wide_fit_is_that_of_the_full_matrix(X, y):
    """The problem is solved in the span of the rows; zeros outside have the same answer."""
    model = FisherDiscriminant(shrinkage="nonlinear").fit(X, y)
    centred = X - np.array([X[y == c].mean(axis=0) for c in range(3)])[y]
    Sw = shrink_nonlinearly(centred.T @ centred, len(X) - 3, X.shape[1], eps=1e-13)
    W = model.components_.T
    assert_allclose(W.T @ Sw @ W, np.eye(2), atol=1e-8)
    assert model.shrinkage_ is None


def test_models_that_shrink_so_merge_and_stream():
    X, y = TALL
    whole = FisherDiscriminant(shrinkage="nonlinear").fit(X, y)
    sites = [FisherDiscriminant(shrinkage="nonlinear").fit(X[i::2], y[i::2]) for i in (0, 1)]
    assert_allclose(merge(sites).components_, whole.components_, atol=1e-9)
    stream = FisherDiscriminant(shrinkage="nonlinear")
    for i in (0, 1):
        stream.partial_fit(X[i::2], y[i::2], classes=[0, 1, 2])
    assert_allclose(stream.components_, whole.components_, atol=1e-9)


@every_shape
def test_class_covariances_average_to_the_shrunk_one(X, y):
    model = FisherDiscriminant(shrinkage="nonlinear", rule="quadratic").fit(X, y)
    A = model._rule.whiteners
    covariances = np.linalg.inv(np.einsum("cij,cik->cjk", A, A))
    pooled = np.tensordot(np.bincount(y) / len(y), covariances, axes=1)
    if len(X) > X.shape[1]:
        assert_allclose(pooled, np.eye(2) / len(X), atol=1e-9)
    assert np.isfinite(model.predict_proba(X)).all()


def test_it_is_right_on_new_rows_where_one_straight_line_is_not():
    """Held-out accuracy of 80 features at 120 rows with three sizes of variance.

    One number shrinks the small variances most, where classes differ most.
    """
    scores = np.zeros(2)
    for seed in range(4):
        rng = np.random.default_rng(seed)
        turn = np.linalg.qr(rng.standard_normal((80, 80)))[0]
        y = np.arange(2000) % 3
        spread = np.repeat([0.5, 2, 5], [20, 40, 20])
        X = (rng.standard_normal((2000, 80)) * spread) @ turn
        X += 0.35 * rng.standard_normal((3, 80))[y]
        for i, shrinkage in enumerate((0.7, "nonlinear")):
            model = FisherDiscriminant(shrinkage=shrinkage).fit(X[:120], y[:120])
            scores[i] += model.score(X[120:], y[120:]) / 4
    assert scores[1] > scores[0] + 0.15


def test_rows_without_scatter_are_left_as_they_are():
    assert_allclose(shrink_nonlinearly(np.zeros((3, 3)), 5, 3), 0)
    X, y = WIDE[0][[0, 1, 2, 2]], np.array([0, 1, 2, 2])
    model = FisherDiscriminant(shrinkage="nonlinear").fit(X, y)
    assert (model.predict(X) == y).all()


# Features that say nothing ---------------------------------------------------------------------

WAYS = [
    FisherDiscriminant(shrinkage=None),
    FisherDiscriminant(shrinkage=0.3),
    FisherDiscriminant(shrinkage="nonlinear"),
    FisherDiscriminant(shrinkage=0.3, rule="quadratic"),
    FisherDiscriminant(shrinkage="nonlinear", rule="quadratic"),
    FisherDiscriminant(pca=3, shrinkage=0.3),
    FisherDiscriminant(shrinkage="auto"),
    FisherDiscriminant(shrinkage=None, covariance=OAS()),
]


@pytest.mark.parametrize("model", WAYS, ids=repr)
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
@every_shape
def test_a_constant_feature_changes_no_decision(model, value, X, y):
    if len(X) < X.shape[1] and model.get_params().get("covariance") is not None:
        pytest.skip("an estimated covariance has fewer features than rows")
    more = np.insert(X, 2, value, axis=1)
    expected = clone(model).fit(X, y).decision_function(X)
    found = clone(model).fit(more, y).decision_function(more)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("shrinkage", [None, 0.1, "nonlinear"])
def test_dead_features_and_copies_make_no_direction(shrinkage):
    """Digits have three dead features; eight copies make the scatter singular as well."""
    X, y = load_digits(return_X_y=True)
    X = np.hstack([X, X[:, 10:18]])
    model = FisherDiscriminant(shrinkage=shrinkage)
    whole = clone(model).fit(X, y)
    assert whole.score(X, y) > 0.95
    merged = merge([clone(model).fit(X[i::3], y[i::3]) for i in range(3)])
    new = X + np.random.default_rng(0).standard_normal(X.shape)
    assert np.mean(merged.predict(new) == whole.predict(new)) > 0.999
