"""What is expected of missing values and how far it is off, by conditioning as in a textbook."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from separatrix import EarlyClassifier, FisherDiscriminant, LocalQDA, datasets
from separatrix.selection import training_parts
from tests.discovery import TALL, labelled

PATTERNS = {
    "prefix": [1, 1, 1, 0, 0, 0],
    "gaps": [0, 1, 0, 1, 1, 0],
    "nothing": [0] * 6,
}


def conditioned(mean, S, x, seen):
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
@pytest.mark.parametrize("rule", [LocalQDA(4), FisherDiscriminant()], ids=["local", "linear"])
def test_a_normal_model_is_conditioned_on_what_is_known(rule, pattern):
    X, y = TALL
    seen = np.array(pattern, dtype=bool)
    model = EarlyClassifier(rule, regularization=0.2).fit(X, y)
    found = model.expect(np.where(seen, X[:5], np.nan))
    assert_array_equal(found.mean[:, seen], X[:5, seen])
    assert not found.std[:, seen].any()
    for i in range(5):
        mean, R = conditioned(X.mean(axis=0), shrunk(X, 0.2), X[i], seen)
        assert_allclose(found.mean[i, ~seen], mean)
        assert_allclose(found.std[i, ~seen], np.sqrt(np.diagonal(R)), rtol=1e-5)


@pytest.mark.parametrize("pattern", PATTERNS.values(), ids=PATTERNS)
def test_a_mixture_adds_what_the_classes_differ_by(pattern):
    X, y = TALL
    seen = np.array(pattern, dtype=bool)
    model = EarlyClassifier(LocalQDA(4), conditional="mixture", regularization=0.2).fit(X, y)
    found = model.expect(np.where(seen, X[:5], np.nan))
    means = np.stack([X[y == c].mean(axis=0) for c in range(3)])
    within = np.mean((X - means[y]) ** 2, axis=0)
    models = [shrunk(X[y == c], 0.2, within) for c in range(3)]
    for i in range(5):
        parts = [conditioned(m, S, X[i], seen) for m, S in zip(means, models, strict=True)]
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
    model = EarlyClassifier(FisherDiscriminant()).fit(X, y)
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
    model = EarlyClassifier(LinearDiscriminantAnalysis(), region="ideal").fit(X, y)
    alpha = model.regularization_
    errors, variances = np.zeros((2, 6))
    for fit, held in training_parts(y, 5):
        rule = LinearDiscriminantAnalysis().fit(X[fit], y[fit])
        S, w = shrunk(X[fit], alpha), rule.coef_[0]
        for t in range(6):
            seen = np.arange(6) < t
            for x in X[held]:
                rest, R = conditioned(X[fit].mean(axis=0), S, x, seen)
                errors[t] += (w[~seen] @ (rest - x[~seen])) ** 2
                variances[t] += w[~seen] @ R @ w[~seen]
    assert model.widening_ > 1.01
    assert_allclose(model.widening_, np.sqrt(np.mean(errors / variances)), rtol=1e-4)
    ellipsoid = EarlyClassifier(LinearDiscriminantAnalysis()).fit(X, y)
    assert ellipsoid.widening_ == 1
    holes = np.where(np.arange(6) < 3, X, np.nan)
    wide, narrow = (m.expect(holes).std for m in (model, ellipsoid))
    assert_allclose(wide, model.widening_ * narrow)


def test_ideal_decisions_of_few_rows_keep_their_promise():
    n, d = 30, 60
    series = datasets.make_series(2000 + n, d, 2, onset=0.0, separation=3.0, random_state=2)
    model = EarlyClassifier(FisherDiscriminant(shrinkage=0.1), region="ideal", reliability=0.9)
    model.fit(series.data[:n], series.target[:n])
    assert model.widening_ > 1.05
    rest = series.data[n:]
    found, complete = model.decide_early(rest), model.predict(rest)
    assert found.time.mean() < d - 1
    assert np.mean(found.label == complete) >= 0.9
    # and would break it without
    model._conditional = model._conditional.widened(1.0)
    model._views = model._conditional.views()
    model._table = None
    assert np.mean(model.decide_early(rest).label == complete) < 0.9


def test_many_rows_need_no_more_spread():
    series = datasets.make_series(3000, 12, 2, separation=1.0, random_state=0)
    model = EarlyClassifier(FisherDiscriminant(), region="ideal").fit(series.data, series.target)
    assert 1 <= model.widening_ < 1.03


def test_rows_that_cannot_be_held_out_leave_the_spread_as_it_is():
    model = EarlyClassifier(FisherDiscriminant(shrinkage=0.1), region="ideal")
    assert model.fit([[0.0, 1.0], [2.0, 3.0]], [0, 1]).widening_ == 1
