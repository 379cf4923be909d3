"""The sphere in the covariances of classes that rows left out ask for: exact, and of moments."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.metrics import log_loss

from separatrix import QuadraticDiscriminant, merge


def draw_shaped(rng, n, p, n_classes=3):
    """Classes of shapes of their own."""
    y = np.arange(n) % n_classes
    factors = rng.standard_normal((n_classes, p, p)) / np.sqrt(p)
    means = rng.standard_normal((n_classes, p))
    return np.einsum("ni,nij->nj", rng.standard_normal((n, p)), factors[y]) + means[y], y


def lengths_without(X, y, i, pooling, gamma, spheres, diagonal):
    """Squared distance and log-volume of row i for each class, by fits to all others."""
    others, found = np.arange(len(y)) != i, []
    A, a, p = X[others], y[others], X.shape[1]
    S = [np.cov(A[a == c].T, bias=True) * (a == c).sum() for c in range(len(spheres))]
    for c, sphere in enumerate(spheres):
        scatter = (1 - pooling) * S[c] + pooling * sum(S)
        count = (1 - pooling) * (a == c).sum() + pooling * len(a)
        C = (1 - gamma) * scatter / count + gamma * sphere * np.eye(p)
        C = np.diag(np.diagonal(C)) if diagonal else C
        step = X[i] - A[a == c].mean(axis=0)
        found.append(step @ np.linalg.solve(C, step) + np.linalg.slogdet(C)[1])
    return np.array(found)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("pooling", [0.0, 0.4, 1.0])
@pytest.mark.parametrize(("n", "p"), [(60, 4), (45, 30)])
def test_the_log_loss_is_that_of_fits_without_each_row(rng, n, p, pooling, diagonal):
    X, y = draw_shaped(rng, n, p)
    model = QuadraticDiscriminant(pooling, shrinkage="auto", diagonal=diagonal).fit(X, y)
    said = model.left_out_
    assert model.shrinkage_ == said.alpha
    scatters = np.stack([np.cov(X[y == c].T, bias=True) * n / 3 for c in range(3)])
    counts = (1 - pooling) * n / 3 + pooling * n
    pooled = ((1 - pooling) * scatters + pooling * scatters.sum(axis=0)) / counts
    spheres = np.trace(pooled, axis1=1, axis2=2) / p
    scores = np.stack(
        [
            -0.5 * said.slope * lengths_without(X, y, i, pooling, said.alpha, spheres, diagonal)
            for i in range(n)
        ]
    )
    logs = log_softmax(scores + said.offsets, axis=1)[np.arange(n), y]
    assert_allclose(said.log_loss, -logs.mean(), rtol=1e-6)
    means = np.stack([X[y == c].mean(axis=0) for c in range(3)])
    C = (1 - said.alpha) * pooled + said.alpha * spheres[:, None, None] * np.eye(p)
    steps, expected = X[:5, None] - means, np.empty((5, 3))
    for c in range(3):
        shape = np.diag(np.diagonal(C[c])) if diagonal else C[c]
        squares = np.sum(steps[:, c] * np.linalg.solve(shape, steps[:, c].T).T, axis=1)
        expected[:, c] = -0.5 * said.slope * (squares + np.linalg.slogdet(shape)[1])
    expected = log_softmax(expected + said.offsets, axis=1)
    assert_allclose(model.predict_log_proba(X[:5]), expected, atol=1e-6)


@pytest.mark.parametrize("pooling", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("p", [4, 60])
def test_a_sphere_by_moments_merges_and_streams(rng, p, pooling):
    X, y = draw_shaped(rng, 48, p)
    kind = QuadraticDiscriminant(pooling, shrinkage="moments")
    whole = clone(kind).fit(X, y)
    parts = [clone(kind).fit(X[i::2], y[i::2]) for i in range(2)]
    stream = QuadraticDiscriminant(pooling, shrinkage="auto").partial_fit(X[:24], y[:24])
    stream.partial_fit(X[24:], y[24:])
    assert whole.left_out_.slope > 0
    for model in (merge(parts), stream):
        assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-6)


def test_a_sphere_that_data_choose_is_better_than_none_and_honest(rng):
    """Few rows of classes that differ in width; means of ten draws."""
    losses = {"auto": [], "moments": [], 0.0: []}
    widths = np.array([1.0, 1.4, 0.8])
    for _ in range(10):
        y = np.arange(600) % 3
        X = rng.standard_normal((600, 15)) * widths[y, None] + 0.2 * y[:, None]
        for shrinkage, found in losses.items():
            model = QuadraticDiscriminant(shrinkage=shrinkage).fit(X[:90], y[:90])
            found.append(log_loss(y[90:], model.predict_proba(X[90:])))
    means = {name: np.mean(found) for name, found in losses.items()}
    assert means["auto"] < 0.7 * means[0.0]
    assert means["moments"] < 0.7 * means[0.0]


def test_classes_of_one_row_and_of_points_have_an_answer(rng):
    X, y = draw_shaped(rng, 30, 3)
    alone = QuadraticDiscriminant(0.5, shrinkage="auto").fit(
        np.vstack([X, [9.0] * 3]), np.append(y, 3)
    )
    assert np.isfinite(alone.predict_proba(X)).all()
    points = QuadraticDiscriminant(shrinkage="auto").fit(X[[0, 0, 1, 1]], [0, 0, 1, 1])
    assert points.left_out_ is None
    assert points.predict(X[:2]).tolist() == [0, 1]


@pytest.mark.parametrize("diagonal", [False, True])
def test_constant_columns_change_nothing(rng, diagonal):
    X, y = draw_shaped(rng, 60, 4)
    more = np.insert(X, 2, 3.0, axis=1)
    for shrinkage in ("auto", "moments"):
        kind = QuadraticDiscriminant(shrinkage=shrinkage, diagonal=diagonal)
        expected = clone(kind).fit(X, y).predict_proba(X)
        assert_allclose(clone(kind).fit(more, y).predict_proba(more), expected, atol=1e-6)
