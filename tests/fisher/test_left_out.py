"""The shrinkage that rows left out favour: exact, weighted, sampled, and honest probabilities."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from scipy.special import log_softmax, softmax
from sklearn.metrics import log_loss

from separatrix import FisherDiscriminant, KernelFisherDiscriminant, KernelIPCAC


def draw(n, p, n_classes=3, seed=0, gap=1.0):
    rng = np.random.default_rng(seed)
    y = np.r_[np.repeat(np.arange(n_classes), 2), rng.integers(0, n_classes, n)][:n]
    means = gap * rng.standard_normal((n_classes, p)) / np.sqrt(p) * 3
    return rng.standard_normal((n, p)) * np.geomspace(0.1, 10, p) + means[y], y


def class_means(X, y, n_classes):
    return np.stack([X[y == c].mean(axis=0) for c in range(n_classes)])


def distances_to(x, X, y, n_classes, alpha, t):
    means = class_means(X, y, n_classes)
    Z = X - means[y]
    S = (1 - alpha) * Z.T @ Z / (len(y) - n_classes) + alpha * t * np.eye(X.shape[1])
    steps = x - means
    return np.einsum("ci,ij,cj->c", steps, np.linalg.inv(S), steps)


def in_units(X, y, n_classes):
    Z = X - class_means(X, y, n_classes)[y]
    return X / Z.std(axis=0), (Z / Z.std(axis=0)).var(axis=0).sum() * len(y)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("n", "p"), [(60, 5), (24, 23), (24, 24), (24, 25), (24, 60)])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_log_loss_is_that_of_fits_without_each_row(n, p, n_classes, make):
    X, y = draw(n, p, n_classes)
    model = FisherDiscriminant(shrinkage="auto").fit(make(X), y)
    said = model.left_out_
    Z, trace = in_units(X, y, n_classes)
    t = trace / (n - n_classes) / p
    scores = np.empty((n, n_classes))
    for i in range(n):
        others = np.arange(n) != i
        d = distances_to(Z[i], Z[others], y[others], n_classes, said.alpha, t)
        scores[i] = -0.5 * said.slope * d + said.offsets + np.log(model.priors_)
    logs = log_softmax(scores, axis=1)[np.arange(n), y]
    assert_allclose(said.log_loss, -logs.mean(), rtol=1e-7)
    assert_allclose(said.error, np.mean(scores.argmax(axis=1) != y))


@pytest.mark.parametrize(("n", "p"), [(60, 5), (24, 60)])
def test_probabilities_have_the_slope_and_the_offsets_of_rows_left_out(n, p):
    X, y = draw(n, p)
    X_new = draw(7, p, seed=1)[0]
    model = FisherDiscriminant(shrinkage="auto", priors=[0.2, 0.3, 0.5]).fit(X, y)
    said = model.left_out_
    units = (in_units(X, y, 3)[0] / X)[0]
    t = in_units(X, y, 3)[1] / (n - 3) / p
    scores = [
        -0.5 * said.slope * distances_to(x, X * units, y, 3, said.alpha, t) for x in X_new * units
    ]
    expected = softmax(np.array(scores) + said.offsets + np.log([0.2, 0.3, 0.5]), axis=1)
    assert_allclose(model.predict_proba(X_new), expected, atol=1e-8)
    assert model.shrinkage_ == said.alpha


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("n", "p"), [(60, 5), (24, 60)])
def test_a_weight_of_two_is_the_row_twice(n, p, make):
    X, y = draw(n, p)
    weights = np.random.default_rng(2).integers(0, 3, n)
    at = np.repeat(np.arange(n), weights)
    twice = FisherDiscriminant(shrinkage="auto").fit(make(X[at]), y[at])
    weighted = FisherDiscriminant(shrinkage="auto").fit(make(X), y, weights)
    assert weighted.shrinkage_ == twice.shrinkage_
    assert_allclose(weighted.predict_proba(X), twice.predict_proba(X), atol=1e-4)


def test_some_of_many_rows_say_what_new_rows_will():
    """Of 1500 rows the standard error is .03 of the log-loss, and .01 of the error."""
    X, y = draw(24000, 4, gap=0.3)
    model = FisherDiscriminant(shrinkage="auto").fit(X[:12000], y[:12000])
    found = log_loss(y[12000:], model.predict_proba(X[12000:]))
    assert model.left_out_.log_loss == pytest.approx(found, rel=0.08)
    assert model.left_out_.error == pytest.approx(1 - model.score(X[12000:], y[12000:]), abs=0.03)


def test_without_rows_moments_decide():
    X, y = draw(60, 5)
    batches = FisherDiscriminant(shrinkage="auto").partial_fit(X[:30], y[:30])
    batches.partial_fit(X[30:], y[30:])
    assert batches.left_out_ is None
    assert batches.expected_.slope > 0
    moments = FisherDiscriminant(shrinkage="moments").fit(X, y)
    assert moments.left_out_ is None
    assert_allclose(batches.predict_proba(X), moments.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_probabilities_of_a_rare_class_are_better_than_its_share(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((720, 600)), np.arange(720) % 6 == 0
    X[y] += 3.0 / np.sqrt(600)
    model = FisherDiscriminant(shrinkage="auto").fit(X[:240], y[:240])
    found = log_loss(y[240:], model.predict_proba(X[240:]))
    assert found < log_loss(y[240:], np.full(480, 1 / 6)) + 0.01


def test_without_signal_no_row_is_certain():
    largest, right = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((300, 500)), rng.integers(0, 2, 300)
        model = FisherDiscriminant(shrinkage="auto").fit(X[:100], y[:100])
        largest.append(model.predict_proba(X[100:]).max(axis=1).mean())
        right.append(model.score(X[100:], y[100:]))
    assert np.mean(largest) < 0.7
    assert np.mean(right) == pytest.approx(0.5, abs=0.03)


def test_rows_that_nearly_repeat_their_neighbours_make_probabilities_humble():
    """As windows that overlap. In a random order the same rows look independent."""
    found = {"as they come": [], "shuffled": []}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((380, 60)), rng.permutation(380) % 3 == 0
        X[y] += 2.0 / np.sqrt(60)
        seen = np.repeat(np.arange(80), 3)
        A, a = X[seen] + 0.3 * rng.standard_normal((240, 60)), y[seen]
        order = rng.permutation(240)
        for name, at in (("as they come", np.arange(240)), ("shuffled", order)):
            model = FisherDiscriminant().fit(A[at], a[at])
            found[name].append(log_loss(y[80:], model.predict_proba(X[80:])))
    assert np.mean(found["as they come"]) < 0.8 * np.mean(found["shuffled"])


def test_a_class_of_one_row_and_classes_without_scatter_have_an_answer():
    X, y = draw(40, 5)
    alone = FisherDiscriminant(shrinkage="auto").fit(np.vstack([X, [9.0] * 5]), np.append(y, 3))
    assert np.isfinite(alone.predict_proba(X)).all()
    assert alone.predict([[9.0] * 5]) == 3
    pairs = FisherDiscriminant().fit([[0, 0], [1, 1], [5, 4], [6, 7.0]], [0, 0, 1, 1])
    assert pairs.predict([[0, 1], [6, 6]]).tolist() == [0, 1]
    points = FisherDiscriminant(shrinkage="auto").fit(X[[0, 1, 2, 2]], [0, 1, 2, 2])
    assert points.left_out_ is None
    assert points.predict(X[:3]).tolist() == [0, 1, 2]


def test_two_rows_of_each_class_are_enough_for_a_ridge(rng):
    y = np.arange(16) % 8
    X = rng.standard_normal((16, 100)) + 2 * rng.standard_normal((8, 100))[y]
    model = FisherDiscriminant().fit(X, y)
    assert np.isfinite(model.left_out_.log_loss)
    assert model.score(X, y) == 1.0


def test_moments_decide_among_very_many_classes(rng):
    y = np.arange(1800) % 600
    X = rng.standard_normal((1800, 8)) + 6 * rng.standard_normal((600, 8))[y]
    by_default = FisherDiscriminant().fit(X, y)
    by_moments = FisherDiscriminant(shrinkage="moments").fit(X, y)
    assert by_default.shrinkage_ == by_moments.shrinkage_
    assert_allclose(by_default.decision_function(X[:9]), by_moments.decision_function(X[:9]))


@pytest.mark.parametrize(
    "make",
    [
        FisherDiscriminant,
        KernelFisherDiscriminant,
        KernelIPCAC,
        partial(KernelFisherDiscriminant, n_landmarks=20, random_state=0),
    ],
)
def test_weights_that_sum_to_one_are_pointed_out(make, rng):
    """A weight is a number of rows: shares leave none to choose by, which the warning says."""
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 5)) + y[:, None]
    with pytest.warns(UserWarning, match=r"sums to 1 for 60 rows .* by 60 if"):
        make().fit(X, y, sample_weight=np.full(60, 1 / 60))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make().fit(X, y, sample_weight=np.full(60, 0.5))
