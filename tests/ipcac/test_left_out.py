"""Closed forms of the scores of rows left out, with a ridge in feature space."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from separatrix import ClassMoments, KernelIPCAC
from separatrix.base.feature_space import compute_centred_gram
from separatrix.ipcac import left_out
from separatrix.ipcac.left_out import (
    can_leave_out,
    choose_ridge,
    choose_ridge_by_moments,
    fit_ridge,
    separate,
    truncated_left_out,
)
from separatrix.ipcac.threshold import held_out_scores
from separatrix.kernels import RBF, settle_kernel
from separatrix.moments.labelled import LabelledRows

CODES = np.repeat([0, 1], (25, 15))
X = np.random.default_rng(0).standard_normal((40, 3)) + CODES[:, None]


def centred(K):
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def refitted_score(K, ridge, i):
    """The score of row i by ``(K̃ + ρ I)⁻¹`` of all others, in the scale of n rows."""
    n, others = len(K), np.arange(len(K)) != i
    own = K[np.ix_(others, others)]
    h = np.where(CODES[others] == 1, 1 / CODES[others].sum(), -1 / (1 - CODES[others]).sum())
    a = np.linalg.solve(centred(own) + ridge * np.eye(n - 1), n * h)
    a -= a.mean()
    # from the mean of all rows, i included
    return a @ (K[others, i] - K[others].mean(axis=1))


@pytest.mark.parametrize("ridge", [1.0, 0.01, 0.0])
def test_rows_left_out_have_the_scores_of_refits(ridge):
    K = rbf_kernel(X, gamma=2.0)
    found = fit_ridge(centred(K), CODES, ridge)
    refits = [refitted_score(K, ridge, i) for i in range(len(K))]
    assert_allclose(found.left_out, refits, rtol=1e-9, atol=1e-9)
    training = centred(K) @ (found.dual - found.dual.mean())
    assert_allclose(found.training, training, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_of_many_rows_some_are_left_out_with_the_same_scores(monkeypatch, weighted):
    K = rbf_kernel(X, gamma=2.0)
    weights = 0.5 + np.arange(40) % 3 if weighted else None
    K = centred_by(K, np.ones(40) if weights is None else weights)
    every = fit_ridge(K, CODES, 0.1, weights)
    monkeypatch.setattr(left_out, "MAX_ROWS_LEFT_OUT", 20)
    some = fit_ridge(K, CODES, 0.1, weights)
    judged = np.isfinite(some.left_out)
    assert np.bincount(CODES[judged]).tolist() == [12, 10]  # a half of them where it has as many
    assert_allclose(some.left_out[judged], every.left_out[judged], rtol=1e-9)
    assert_allclose(some.dual, every.dual, rtol=1e-9)
    assert_allclose(some.training, every.training, rtol=1e-9)


def test_a_rare_class_is_left_out_as_a_whole(monkeypatch):
    codes = np.repeat([0, 1], (36, 4))
    monkeypatch.setattr(left_out, "MAX_ROWS_LEFT_OUT", 20)
    found = fit_ridge(centred(rbf_kernel(X)), codes, 0.1)
    assert np.isfinite(found.left_out[codes == 1]).all()
    assert np.isfinite(found.left_out).sum() == 22


@pytest.mark.parametrize("truncate", [True, 3])
def test_truncated_models_score_other_folds_as_models_of_these_do(truncate):
    model = KernelIPCAC(truncate=truncate, kernel=RBF(0.5)).fit(X, CODES)
    rows = LabelledRows(X, CODES, np.arange(2))
    gram = compute_centred_gram(X, settle_kernel(X, RBF(0.5)))
    found = truncated_left_out(gram, CODES, model._n_by_rows)
    assert_allclose(found, held_out_scores(model, rows), rtol=1e-9, atol=1e-9)


def test_small_axes_do_not_add_the_mean_to_scores():
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    Z = rng.standard_normal((300, 2)) + 2 * y[:, None]
    model = KernelIPCAC(truncate=True, kernel=RBF(0.02))
    gram = compute_centred_gram(Z, settle_kernel(Z, RBF(0.02)))
    found = truncated_left_out(gram, y, model._n_by_rows)
    expected = held_out_scores(model, LabelledRows(Z, y, np.arange(2)))
    # the last axes are near numerical zero: with the mean in them scores differ by their size
    assert np.median(np.abs(found - expected)) < 0.02


def test_many_rows_are_judged_in_single_precision(monkeypatch):
    gram = compute_centred_gram(X, settle_kernel(X, RBF(0.5)))
    double = truncated_left_out(gram, CODES, lambda n: 3)
    monkeypatch.setattr(left_out, "MAX_DENSE_ORDER", 10)
    single = truncated_left_out(gram, CODES, lambda n: 3)
    assert (single != double).any()
    assert_allclose(single, double, atol=1e-5)
    # more axes than single precision distinguishes from zero are found in double precision
    few = gram._replace(matrix=X[:, :1] @ X[:, :1].T + 1e-9 * gram.matrix)
    single = truncated_left_out(few, CODES, lambda n: 3)
    monkeypatch.setattr(left_out, "MAX_DENSE_ORDER", 100)
    assert_allclose(single, truncated_left_out(few, CODES, lambda n: 3), rtol=1e-12)


def test_a_class_in_one_group_is_always_fitted_to():
    gram = compute_centred_gram(X, settle_kernel(X, RBF(0.5)))
    groups = np.arange(40) // 15  # the first rows are all of one class
    together = np.where(CODES == 1, 7, groups)
    scores = truncated_left_out(gram, CODES, lambda n: 3, groups=together)
    assert np.isnan(scores[CODES == 1]).all()
    assert np.isfinite(scores[CODES == 0]).any()


def test_the_ridge_that_is_chosen_separates_rows_left_out_best():
    K = centred(rbf_kernel(X, gamma=0.3))
    unit = np.trace(K) / len(K)
    apart = {
        share: separate(fit_ridge(K, CODES, share * unit).left_out, CODES)
        for share in left_out.RIDGE_SHARES
    }
    assert choose_ridge(K, CODES) == max(apart, key=apart.get)
    assert len(set(apart.values())) == len(apart)


def test_many_rows_choose_the_ridge_by_some_of_them(monkeypatch):
    seen = []

    def spy(K, *others):
        seen.append(K)
        return fit_ridge(K, *others)

    monkeypatch.setattr(left_out, "MAX_ROWS_TO_CHOOSE", 20)
    monkeypatch.setattr(left_out, "fit_ridge", spy)
    choose_ridge(centred(rbf_kernel(X, gamma=0.3)), CODES)
    assert all(len(K) <= 20 for K in seen)
    assert_allclose(seen[0].sum(axis=0), 0, atol=1e-12)


def test_the_ridge_of_moments_follows_the_noise():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 2
    clean = rng.standard_normal((240, 40)) * np.geomspace(1, 0.05, 40)
    # the classes differ along axes of large spread only, or along those of small spread
    large, small = clean + 0.5 * y[:, None] * (np.arange(40) < 5), clean.copy()
    small[:, 20:] += 0.2 * y[:, None]
    few, many = (ClassMoments.from_data(M, y, per_class=True) for M in (large, small))
    assert choose_ridge_by_moments(few) >= 0.1
    assert choose_ridge_by_moments(many) <= 0.01


def test_no_ridge_is_chosen_by_moments_of_too_few_rows():
    y = np.arange(20) % 2
    moments = ClassMoments.from_data(
        np.random.default_rng(0).standard_normal((20, 9)), y, per_class=True
    )
    assert choose_ridge_by_moments(moments) is None
    assert choose_ridge_by_moments(moments.project(np.zeros((9, 2)))) is None


WEIGHTS = np.random.default_rng(1).integers(0, 4, 40).astype(float)


def centred_by(K, weights):
    centre = np.average(K, axis=0, weights=weights)
    return K - centre - centre[:, None] + np.average(centre, weights=weights)


@pytest.mark.parametrize("ridge", [1.0, 0.01])
def test_a_weight_is_the_row_so_many_times(ridge):
    K = rbf_kernel(X, gamma=2.0)
    copies = np.repeat(np.arange(40), WEIGHTS.astype(int))
    many = fit_ridge(centred(K[np.ix_(copies, copies)]), CODES[copies], ridge)
    found = fit_ridge(centred_by(K, WEIGHTS), CODES, ridge, WEIGHTS)
    assert_allclose(found.left_out[copies], many.left_out, rtol=1e-9, atol=1e-9)
    assert_allclose(found.training[copies], many.training, atol=1e-9)
    assert_allclose(found.dual, np.bincount(copies, many.dual, 40), atol=1e-9)
    assert np.isnan(found.left_out[WEIGHTS == 0]).all()
    apart = separate(found.left_out, CODES, WEIGHTS)
    assert_allclose(apart, separate(many.left_out, CODES[copies]))


def test_the_ridge_is_chosen_as_by_rows_that_are_repeated():
    K = rbf_kernel(X, gamma=0.3)
    for seed in range(10):
        weights = np.random.default_rng(seed).integers(0, 3, 40).astype(float)
        copies = np.repeat(np.arange(40), weights.astype(int))
        many = choose_ridge(centred(K[np.ix_(copies, copies)]), CODES[copies])
        assert choose_ridge(centred_by(K, weights), CODES, weights) == many


def test_a_row_that_weighs_less_than_one_is_left_out_as_a_whole():
    """By a fit without it, and the weights of the others as they are."""
    K, weights = rbf_kernel(X, gamma=2.0), np.random.default_rng(2).uniform(0.2, 1, 40)
    found = fit_ridge(centred_by(K, weights), CODES, 0.1, weights)
    n = weights.sum()
    for i in (0, 39):
        others = np.where(np.arange(40) == i, 0, weights)
        counts = np.bincount(CODES, others)
        own = K - np.average(K, axis=0, weights=others)  # rows from the mean of the others
        root = np.sqrt(others)
        h = np.where(CODES == 1, n / counts[1], -n / counts[0])
        S = root[:, None] * centred_by(K, others) * root + 0.1 * np.eye(40)
        a = root * np.linalg.solve(S, root * h)
        mean = np.average(own @ a, weights=weights)
        assert_allclose(found.left_out[i], own[i] @ a - mean, rtol=1e-9)


def test_a_class_that_would_be_empty_leaves_nothing_out():
    assert can_leave_out(np.array([0, 0, 1, 1]))
    assert not can_leave_out(np.array([0, 0, 1]))
    assert can_leave_out(np.array([0, 0, 1]), np.array([1.0, 1.0, 2.0]))
    assert not can_leave_out(np.array([0, 0, 1, 1]), np.array([1.0, 1.0, 0.0, 1.0]))
    assert not can_leave_out(np.array([0, 0, 1]), np.array([1.0, 1.0, 0.0]))
