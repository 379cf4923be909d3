"""Normal models and their conditioning, beside the formulas of every textbook."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
)
from sklearn.svm import LinearSVC

from separatrix import EarlyClassifier, FisherDiscriminant, LocalQDA, datasets
from separatrix.early.conditional import (
    SHRINKAGE_GRID,
    DenseFactor,
    count_unknown_directions,
    fit_normal_models,
    log_likelihoods,
    select_shrinkage,
    summarize_features,
    thin_factor,
)
from separatrix.moments.class_moments import ClassMoments
from separatrix.selection import N_FOLDS, training_parts
from tests.discovery import TALL, labelled
from tests.early.data import (
    WIDE,
    X,
    by_model,
    conditioned,
    every_conditional,
    mixed,
    wide_y,
    written_out,
    y,
)


def test_a_thin_factor_is_the_cholesky_factor():
    A = np.random.default_rng(0).standard_normal((12, 4))
    L = np.linalg.cholesky(A @ A.T + 0.3 * np.eye(12))
    thin, dense = thin_factor(A, 0.3), DenseFactor(L)
    B = np.random.default_rng(1).standard_normal((12, 3))
    rows = np.random.default_rng(2).standard_normal((5, 12))
    assert_allclose(thin.image(None), L, atol=1e-12)
    assert_allclose(thin.image(B), B.T @ L, atol=1e-12)
    assert_allclose(thin.diagonal, np.diagonal(L), atol=1e-12)
    for t in (0, 5, 12):
        assert_allclose(thin.innovations(rows[:, :t]), dense.innovations(rows[:, :t]), atol=1e-12)
        assert_allclose(dense.innovations(rows[:, :t]) @ L[:t, :t].T, rows[:, :t], atol=1e-12)


@pytest.mark.parametrize(
    "factor",
    [thin_factor, lambda A, s: DenseFactor(np.linalg.cholesky(A @ A.T + s * np.eye(len(A))))],
    ids=["thin", "dense"],
)
def test_innovations_come_one_by_one(factor):
    A = np.random.default_rng(0).standard_normal((9, 3))
    found = factor(A, 0.2)
    row = np.random.default_rng(1).standard_normal(9)
    state = found.start()
    steps = [found.step(state, t, row[t]) for t in range(9)]
    assert_allclose(steps, found.innovations(row[None])[0], atol=1e-12)


@every_conditional
@pytest.mark.parametrize("data", [(X, y), (WIDE, wide_y)], ids=["tall", "wide"])
def test_every_prefix_and_every_pattern_is_conditioned_as_anew(data, conditional):
    X, y = data
    d = X.shape[1]
    model = by_model(LocalQDA(2), conditional=conditional).fit(X, y)
    codes = y if conditional == "mixture" else np.zeros_like(y)
    means, covariances, weights = written_out(model, X, codes)
    rng = np.random.default_rng(3)
    patterns = [np.arange(d) < t for t in range(d)] + [rng.random(d) < 0.5 for _ in range(6)]
    rows = X[:4] + rng.normal(scale=0.3, size=(4, d))
    for observed in patterns:
        known = model._score.conditional.condition(rows, observed)
        variances = np.broadcast_to(known.variances, rows.shape)
        for i, row in enumerate(rows):
            m, R = mixed(means, covariances, weights, row, observed)
            assert_allclose(known.mean[i], m, atol=1e-8)
            assert_allclose(variances[i], np.diag(R), atol=1e-8)
            for k, moments in enumerate(zip(means, covariances, strict=True)):
                m, R = conditioned(*moments, row, observed)
                alone = known.of_model(k)
                assert_allclose(alone.mean[i], m, atol=1e-8)
                assert_allclose(alone.spread @ alone.spread.T, R, atol=1e-8)


@every_conditional
@pytest.mark.parametrize("data", [(X, y), (WIDE, wide_y)], ids=["tall", "wide"])
def test_a_reduced_row_has_the_moments_of_the_reduced_moments(data, conditional):
    X, y = data
    model = by_model(LocalQDA(2), conditional=conditional, reducer=PCA(3)).fit(X, y)
    codes = y if conditional == "mixture" else np.zeros_like(y)
    written = written_out(model, X, codes)
    W, centre = model.reducer_.components_, model.reducer_.mean_
    for observed in (np.arange(X.shape[1]) < 4, np.arange(X.shape[1]) % 3 > 0):
        known = model._score.conditional.condition(X[:3], observed)
        for i in range(3):
            m, _ = mixed(*written, X[i], observed)
            assert_allclose(known.mean[i], W @ (m - centre), atol=1e-8)
            for F, mean, covariance in zip(known.spreads, *written[:2], strict=True):
                _, R = conditioned(mean, covariance, X[i], observed)
                assert_allclose(F @ F.T, W @ R @ W.T, atol=1e-8)


@every_conditional
@pytest.mark.parametrize("data", [(X, y), (WIDE, wide_y)], ids=["tall", "wide"])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_moments_of_classes_give_the_statistics_of_rows_in_units(data, conditional, offset):
    rows, labels = data
    rows = rows * 10.0 ** (np.arange(rows.shape[1]) % 3) + offset
    codes = labels if conditional == "mixture" else np.zeros_like(labels)
    # written out, without an offset
    plain = rows - rows[0]
    means = np.array([plain[codes == c].mean(axis=0) for c in np.unique(codes)])
    within = np.mean((plain - means[codes]) ** 2, axis=0)
    scale = np.sqrt((1 - 1e-6) * within + 1e-6 * plain.var(axis=0))
    summary = summarize_features(rows, codes)
    assert_allclose(summary.units.scale, scale, rtol=1e-10)
    assert_allclose(summary.units.mean, rows.mean(axis=0), rtol=1e-12, atol=1e-12)
    assert summary.units.varies.all()
    Z = summary.units.apply(rows)
    for c, model in enumerate(fit_normal_models(summary, 0.3)):
        own = Z[codes == c]
        assert_allclose(model.mean, own.mean(axis=0), atol=1e-10)
        S = model.scatter if model.scatter.shape[0] == model.scatter.shape[1] else None
        S = model.scatter @ model.scatter.T if S is None else S
        assert_allclose(S, np.cov(own.T, bias=True), atol=1e-9)
        L = model.factor(np.arange(rows.shape[1])).image(None)
        assert_allclose(L @ L.T, 0.7 * S + 0.3 * np.eye(len(S)), atol=1e-9)


@pytest.mark.parametrize("n", [1, 6, 9, 30], ids="{} rows of 9 features".format)
def test_likelihoods_of_held_out_rows_are_those_of_the_normal_density(n):
    rng = np.random.default_rng(0)
    known, new = rng.standard_normal((n, 9)), rng.standard_normal((4, 9))
    found = log_likelihoods(ClassMoments.from_data(known, np.zeros(n)), new)
    S = np.cov(known.T, bias=True) if n > 1 else np.zeros((9, 9))
    expected = [
        multivariate_normal.logpdf(new, known.mean(axis=0), (1 - a) * S + a * np.eye(9)).sum()
        for a in SHRINKAGE_GRID
    ]
    # up to the constant of the density
    assert_allclose(found - found[-1], np.subtract(expected, expected[-1]), rtol=1e-8)


@pytest.mark.parametrize("rows", [X, WIDE], ids=["tall", "wide"])
def test_the_shrinkage_is_the_one_under_which_held_out_rows_are_likeliest(rows):
    Z, codes = (rows - rows.mean(axis=0)) / rows.std(axis=0), np.zeros(len(rows), dtype=int)
    chosen = select_shrinkage(Z, codes)
    scores = []
    for share in SHRINKAGE_GRID:
        total = 0.0
        for fit, held in training_parts(codes, N_FOLDS):
            S = (1 - share) * np.cov(Z[fit].T, bias=True) + share * np.eye(Z.shape[1])
            total += multivariate_normal.logpdf(Z[held], Z[fit].mean(axis=0), S).sum()
        scores.append(total)
    assert chosen == SHRINKAGE_GRID[np.argmax(scores)]
    assert SHRINKAGE_GRID[0] < chosen < 1
    labels = y if rows is X else wide_y
    assert EarlyClassifier(LinearSVC()).fit(rows, labels).regularization_ == chosen


def test_the_same_rows_choose_the_same_shrinkage():
    fitted = [EarlyClassifier(LocalQDA(2)).fit(X, y).regularization_ for _ in range(2)]
    assert fitted[0] == fitted[1]


def test_an_equation_of_all_rows_is_expected_to_hold():
    rows = X - X.mean(axis=1, keepdims=True)  # the last value is known before it comes
    model = EarlyClassifier(LinearSVC()).fit(rows, y)
    assert model.regularization_ > 1e-4  # not pulled down by what nothing can improve
    early = np.where(np.arange(7) < 6, rows[:20], np.nan)
    expected = model.expect(early)
    assert_allclose(expected.mean[:, 6], rows[:20, 6], atol=1e-3)
    assert (expected.std[:, 6] < 5e-3).all()


def test_unknown_directions_are_counted_by_rank():
    B = np.array([[1.0, 0], [0, 1], [1, 1], [2, 2]])
    counts = [count_unknown_directions(B, np.arange(4) >= t) for t in range(5)]
    assert counts == [2, 2, 1, 1, 0]
    for reducer, expected in (
        (PCA(3), [3, 3, 3, 3, 3, 2, 1, 1]),
        (None, [7, 6, 5, 4, 3, 2, 1, 1]),
    ):
        model = by_model(LinearSVC(), reducer=reducer).fit(X, y)
        counts = [model._score._count_open(t) for t in range(X.shape[1] + 1)]
        assert_array_equal(counts, expected)  # a set needs a dimension


PATTERNS = {
    "prefix": [1, 1, 1, 0, 0, 0],
    "gaps": [0, 1, 0, 1, 1, 0],
    "nothing": [0] * 6,
}


def condition_unseen(mean, S, x, seen):
    """Mean and covariance of the unseen given the seen."""
    K = np.linalg.solve(S[np.ix_(seen, seen)], S[np.ix_(seen, ~seen)]).T
    return mean[~seen] + K @ (x[seen] - mean[seen]), S[np.ix_(~seen, ~seen)] - K @ S[
        np.ix_(seen, ~seen)
    ]


def shrunk(X, alpha, scale=None):
    S = np.cov(X.T, bias=True)
    diagonal = np.diagonal(S) if scale is None else scale
    return (1 - alpha) * S + alpha * np.diag(diagonal)


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
@pytest.mark.parametrize(
    "rule", [LocalQDA(4), FisherDiscriminant(shrinkage=None)], ids=["local", "linear"]
)
def test_a_normal_model_is_conditioned_on_what_is_known(rule, pattern):
    X, y = TALL
    seen = np.array(pattern, dtype=bool)
    model = by_model(rule, regularization=0.2).fit(X, y)
    found = model.expect(np.where(seen, X[:5], np.nan))
    assert_array_equal(found.mean[:, seen], X[:5, seen])
    assert not found.std[:, seen].any()
    for i in range(5):
        mean, R = condition_unseen(X.mean(axis=0), shrunk(X, 0.2), X[i], seen)
        assert_allclose(found.mean[i, ~seen], mean)
        assert_allclose(found.std[i, ~seen], np.sqrt(np.diagonal(R)), rtol=1e-5)


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_a_mixture_adds_what_the_classes_differ_by(pattern):
    X, y = TALL
    seen = np.array(pattern, dtype=bool)
    model = by_model(LocalQDA(4), conditional="mixture", regularization=0.2).fit(X, y)
    found = model.expect(np.where(seen, X[:5], np.nan))
    means = np.stack([X[y == c].mean(axis=0) for c in range(3)])
    within = np.mean((X - means[y]) ** 2, axis=0)
    models = [shrunk(X[y == c], 0.2, within) for c in range(3)]
    for i in range(5):
        parts = [condition_unseen(m, S, X[i], seen) for m, S in zip(means, models, strict=True)]
        logs = np.log(np.bincount(y) / len(y))
        if seen.any():
            logs = logs + [
                multivariate_normal(m[seen], S[np.ix_(seen, seen)]).logpdf(X[i, seen])
                for m, S in zip(means, models, strict=True)
            ]
        share = softmax(logs)
        mean = sum(p * m for p, (m, _) in zip(share, parts, strict=True))
        second = sum(p * (np.diagonal(R) + m**2) for p, (m, R) in zip(share, parts, strict=True))
        # features are in units of which a millionth is their total variance
        assert_allclose(found.mean[i, ~seen], mean, rtol=1e-4)
        assert_allclose(found.std[i, ~seen], np.sqrt(second - mean**2), rtol=1e-4)


def test_complete_rows_and_mixed_patterns_come_back_in_their_order():
    X, y = labelled(40, 6)
    model = EarlyClassifier(FisherDiscriminant(shrinkage=None)).fit(X, y)
    holes = X[:4].copy()
    holes[0, 3:] = holes[2, :2] = holes[3, 3:] = np.nan
    found = model.expect(holes)
    assert_allclose(found.mean[1], X[1])
    assert not found.std[1].any()
    for i in range(4):
        alone = model.expect(holes[[i]])
        assert_allclose(found.mean[i], alone.mean[0])
        assert_allclose(found.std[i], alone.std[0])
    with pytest.raises(ValueError, match="infinity in row 0, column 2"):
        model.expect(np.where(np.arange(6) == 2, np.inf, X[:1]))


def test_the_spread_of_ideal_decisions_is_that_of_rows_held_out():
    X, y = labelled(40, 6, n_classes=2)
    model = by_model(LinearDiscriminantAnalysis(), region="ideal").fit(X, y)
    alpha = model.regularization_
    errors, variances = np.zeros((2, 6))
    for fit, held in training_parts(y, 5):
        rule = LinearDiscriminantAnalysis().fit(X[fit], y[fit])
        S, w = shrunk(X[fit], alpha), rule.coef_[0]
        for t in range(6):
            seen = np.arange(6) < t
            for x in X[held]:
                rest, R = condition_unseen(X[fit].mean(axis=0), S, x, seen)
                errors[t] += (w[~seen] @ (rest - x[~seen])) ** 2
                variances[t] += w[~seen] @ R @ w[~seen]
    assert model.widening_ > 1.001
    assert_allclose(model.widening_, np.sqrt(np.mean(errors / variances)), rtol=1e-4)
    ellipsoid = by_model(LinearDiscriminantAnalysis()).fit(X, y)
    assert ellipsoid.widening_ == 1
    holes = np.where(np.arange(6) < 3, X, np.nan)
    wide, narrow = (m.expect(holes).std for m in (model, ellipsoid))
    assert_allclose(wide, model.widening_ * narrow)


def test_ideal_decisions_of_few_rows_keep_their_promise():
    n, d = 30, 60
    series = datasets.make_series(2000 + n, d, 2, onset=0.0, separation=3.0, random_state=2)
    model = by_model(FisherDiscriminant(shrinkage=0.1), region="ideal", reliability=0.9)
    model.fit(series.data[:n], series.target[:n])
    assert model.widening_ > 1.05
    rest = series.data[n:]
    found, complete = model.decide_early(rest), model.predict(rest)
    assert found.time.mean() < d - 1
    assert np.mean(found.label == complete) >= 0.9
    # and would break it without
    rule = model._score
    model._score = rule.widened(1.0)
    assert np.mean(model.decide_early(rest).label == complete) < 0.9


def test_many_rows_need_no_more_spread():
    series = datasets.make_series(3000, 12, 2, separation=1.0, random_state=0)
    model = by_model(FisherDiscriminant(shrinkage=None), region="ideal").fit(
        series.data, series.target
    )
    assert 1 <= model.widening_ < 1.03


def test_rows_that_cannot_be_held_out_leave_the_spread_as_it_is():
    model = by_model(FisherDiscriminant(shrinkage=0.1), region="ideal")
    assert model.fit([[0.0, 1.0], [2.0, 3.0], [2.0, 3.0]], [0, 1, 1]).widening_ == 1
