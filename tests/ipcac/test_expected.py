"""Scores that new rows are expected to have, from moments."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix import ClassMoments, TruncatedIPCAC
from separatrix.ipcac.expected import (
    class_targets,
    expected_partially_whitened,
    expected_whitened,
    leverage_matters,
    score_left_out,
)
from separatrix.moments.spectra import between_along_axes, reduce_to_span

COUNTS = np.array([30.0, 10.0])
CODES = np.repeat([0, 1], (30, 10))


def rows(n_features, seed=0):
    X = np.random.default_rng(seed).standard_normal((40, n_features))
    return X + CODES[:, None] * 0.7


def moments_of(X):
    return ClassMoments.from_data(X, CODES, per_class=True)


def refitted_scores(X):
    """The score of each row by the direction ``S⁻¹ n δ`` of all others."""
    scores = []
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        A, y = X[others], CODES[others]
        Z = A - A.mean(axis=0)
        delta = A[y == 1].mean(axis=0) - A[y == 0].mean(axis=0)
        w = len(X) * np.linalg.pinv(Z.T @ Z) @ delta
        scores.append(w @ (X[i] - X.mean(axis=0)))
    return np.array(scores)


@pytest.mark.parametrize("n_features", [8, 60])
def test_a_row_left_out_has_the_score_that_a_model_of_the_others_gives_it(n_features):
    X = rows(n_features)
    Z, t = X - X.mean(axis=0), class_targets(COUNTS)[CODES]
    if n_features < len(X):
        hat = Z @ np.linalg.pinv(Z.T @ Z) @ Z.T
        predicted = t - (t - hat @ t) / (1 - np.diagonal(hat) - 1 / len(X))
    else:
        K = np.linalg.pinv(Z @ Z.T)
        predicted = t - K @ t / np.diagonal(K)
    scores = score_left_out(predicted, t, len(X), COUNTS[CODES])
    assert_allclose(scores, refitted_scores(X), atol=1e-10)


@pytest.mark.parametrize("n_features", [8, 60])
def test_expected_means_are_near_those_of_rows_left_out(n_features):
    # leverages are averaged over each class: equal to first order, not to the last digit
    X = rows(n_features)
    small, _ = reduce_to_span(moments_of(X))
    expected, scores = expected_whitened(small), refitted_scores(X)
    means = np.array([scores[c == CODES].mean() for c in (0, 1)])
    stds = np.array([scores[c == CODES].std() for c in (0, 1)])
    gap = float(means[1] - means[0])
    assert_allclose(expected.means, means, atol=0.15 * gap)
    assert_allclose(expected.stds, stds, rtol=0.4)
    assert gap < 0.9 * np.diff(expected.training)


def test_the_expected_means_are_the_formula():
    X = rows(8)
    Z, t = X - X.mean(axis=0), class_targets(COUNTS)
    hat = Z @ np.linalg.pinv(Z.T @ Z) @ Z.T
    f = hat @ t[CODES]
    h = np.array([np.diagonal(hat)[c == CODES].mean() for c in (0, 1)]) + 1 / 40
    means, stds = (np.array([g(f[c == CODES]) for c in (0, 1)]) for g in (np.mean, np.std))
    expected = expected_whitened(moments_of(X))
    assert_allclose(expected.training, means)
    assert_allclose(expected.stds, stds / (1 - h))
    left_out = score_left_out(t - (t - means) / (1 - h), t, 40, COUNTS)
    assert_allclose(expected.means, left_out)


@pytest.mark.parametrize("n_features", [12, 60], ids=["tall", "wide"])
def test_partial_whitening_takes_each_row_out_of_its_own_mean(n_features):
    X = rows(n_features)
    moments = moments_of(X)
    axes = between_along_axes(moments, 3)
    parts = moments.project(np.hstack([axes.whitened, moments.between_rows().T - axes.kept]))
    traces = np.array([scatter.trace() for scatter in moments.scatters])
    expected = expected_partially_whitened(moments, axes, parts, traces)
    Z, t = X - X.mean(axis=0), class_targets(COUNTS)
    evals, U = np.linalg.eigh(Z.T @ Z)
    evals, U = evals[::-1][:3], U[:, ::-1][:, :3]
    rest = np.eye(n_features) - U @ U.T
    P_top, P_rest = (U / evals) @ U.T, rest / evals[-1]
    delta = Z[CODES == 1].mean(axis=0) - Z[CODES == 0].mean(axis=0)
    means, training = [], []
    for c, n_c in enumerate((30, 10)):
        own = Z[c == CODES]
        centred = own - own.mean(axis=0)
        h = np.einsum("ij,jk,ik->i", own, P_top, own).mean()
        r = np.einsum("ij,jk,ik->", centred, P_rest, centred) / (n_c - 1)
        f_top, f_rest = (40 * own.mean(axis=0) @ P @ delta for P in (P_top, P_rest))
        scale = 39 / 40 * n_c / (n_c - 1)
        means.append(scale * (f_top - h * t[c]) / (1 - h - 1 / 40) + f_rest - r * t[c])
        training.append(f_top + f_rest)
    assert_allclose(expected.training, training)
    assert_allclose(expected.means, means)


def test_spreads_along_the_axes_add_up_to_the_eigenvalues():
    for n_features in (12, 60):
        moments = moments_of(rows(n_features))
        axes = between_along_axes(moments, 4)
        Hb = moments.between_rows()
        spreads = axes.class_spreads().sum(axis=0)
        assert_allclose(spreads.sum() + Hb[0] @ axes.kept[:, 0], axes.evals.sum())
        assert_allclose(np.sum(spreads / axes.evals) + Hb[0] @ axes.whitened[:, 0], 4)


def test_few_axes_beside_rows_need_no_correction():
    assert leverage_matters(10, np.array([500.0, 900.0]))
    assert not leverage_matters(10, np.array([5000.0, 9000.0]))
    assert not leverage_matters(10, np.array([1.0, 900.0]))
    assert not leverage_matters(10, np.array([10.0, 10, 10]))


def test_weights_that_do_not_count_rows_correct_nothing():
    moments = ClassMoments.from_data(
        rows(8), CODES, per_class=True, sample_weight=np.full(40, 0.1)
    )
    assert expected_whitened(moments) is None


def test_a_ridge_is_that_of_ridge_regression():
    X, ridge = rows(8), 5.0
    Z, t = X - X.mean(axis=0), class_targets(COUNTS)[CODES]
    hat = Z @ np.linalg.solve(Z.T @ Z + ridge * np.eye(8), Z.T)
    h = np.bincount(CODES, np.diagonal(hat)) / COUNTS + 1 / len(X)
    means = np.bincount(CODES, hat @ t) / COUNTS
    targets = class_targets(COUNTS)
    predicted = targets - (targets - means) / (1 - h)
    expected = expected_whitened(moments_of(X), ridge)
    assert_allclose(expected.means, score_left_out(predicted, targets, len(X), COUNTS), rtol=1e-9)


def test_rows_that_fill_all_axes_are_judged_alike_in_any_order():
    rng = np.random.default_rng(29)
    y = np.arange(20) % 2
    X = rng.standard_normal((20, 30)) + rng.standard_normal((2, 30))[y]
    expected = TruncatedIPCAC().fit(X, y).predict_proba(X)
    for seed in range(4):  # the sign of rounding decided
        order = np.random.default_rng(seed).permutation(20)
        found = TruncatedIPCAC().fit(X[order], y[order]).predict_proba(X)
        assert_allclose(found, expected, atol=1e-6)
