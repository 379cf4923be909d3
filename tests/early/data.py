"""Series, rules and textbook formulas that the tests of early decisions share."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)

from separatrix import EarlyClassifier, FisherDiscriminant, LocalQDA
from separatrix.early import ModelJudge, PrefixJudge, Promise, SampledJudge


def series(n, d, n_classes=3, seed=0, apart=1.5):
    """Random walks that drift apart by class, so that values to come depend on those before."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    shapes = apart * rng.standard_normal((n_classes, d)).cumsum(axis=1) / np.sqrt(d)
    return 0.6 * rng.standard_normal((n, d)).cumsum(axis=1) + shapes[y], y


X, y = series(120, 7)


NEW, _ = series(40, 7, seed=0)


NEW = NEW + np.random.default_rng(5).normal(scale=0.3, size=NEW.shape)


WIDE, wide_y = series(18, 30)


TWO = y < 2


RULES = {
    "linear": LinearDiscriminantAnalysis(),
    "quadratic": QuadraticDiscriminantAnalysis(reg_param=0.1),
    "local": LocalQDA(6, covariance="diag"),
    "local full": LocalQDA(12, reg=0.05, covariance="full"),
}


every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


every_conditional = pytest.mark.parametrize("conditional", ["gaussian", "mixture"])


every_region = pytest.mark.parametrize("region", ["ellipsoid", "box", "chebyshev"])


REDUCERS = {"features": None, "pca": PCA(3), "fisher": FisherDiscriminant(shrinkage=None)}


every_reducer = pytest.mark.parametrize("reducer", REDUCERS.values(), ids=REDUCERS)


def with_gaps(rows, seed=0, share=0.4):
    gaps = np.random.default_rng(seed).random(rows.shape) < share
    return np.where(gaps, np.nan, rows)


def written_out(model, X, codes):
    """Means, covariances and weights of the models of the features, in their own units."""
    units, alpha = model._score.conditional.units, model.regularization_
    Z = (X - X.mean(axis=0)) / units.scale
    n, d = X.shape
    means = [Z[codes == c].mean(axis=0) for c in np.unique(codes)]
    centred = Z - np.array(means)[codes]
    evals, V = np.linalg.eigh(centred.T @ centred / n)
    target = np.eye(d)
    if n > d:
        closed = V[:, evals <= 1e-6]
        target = target - (1 - 1e-6 / alpha) * closed @ closed.T
    covariances = [np.cov(Z[codes == c].T, bias=True) for c in np.unique(codes)]
    Sigma = [(1 - alpha) * S + alpha * target for S in covariances]
    return (
        [X.mean(axis=0) + units.scale * m for m in means],
        [model.widening_**2 * units.scale[:, None] * S * units.scale for S in Sigma],
        np.bincount(codes) / n,
    )


def conditioned(mean, Sigma, row, observed):
    """Moments of the whole row given some of it, by the formula of every textbook."""
    o, u = np.flatnonzero(observed), np.flatnonzero(~observed)
    m, R = np.where(observed, row, mean), np.zeros_like(Sigma)
    if len(o):
        W = np.linalg.solve(Sigma[np.ix_(o, o)], Sigma[np.ix_(o, u)])
        m[u] = mean[u] + (row[o] - mean[o]) @ W
        R[np.ix_(u, u)] = Sigma[np.ix_(u, u)] - Sigma[np.ix_(u, o)] @ W
    else:
        R[:] = Sigma
    return m, R


def mixed(means, covariances, weights, row, observed):
    """The same under a mixture, from densities and second moments."""
    o = np.flatnonzero(observed)
    parts = [conditioned(m, S, row, observed) for m, S in zip(means, covariances, strict=True)]
    logs = np.log(weights)
    if len(o):
        logs = logs + [
            multivariate_normal.logpdf(row[o], m[o], S[np.ix_(o, o)])
            for m, S in zip(means, covariances, strict=True)
        ]
    shares = softmax(logs)
    mean = sum(p * m for p, (m, _) in zip(shares, parts, strict=True))
    second = sum(p * (R + np.outer(m, m)) for p, (m, R) in zip(shares, parts, strict=True))
    return mean, second - np.outer(mean, mean)


def by_model(
    estimator, *, region="ellipsoid", conditional="gaussian", regularization="auto", **more
):
    """Judged by a set of the thesis, or by the probability."""
    judge = ModelJudge(region, conditional, regularization)
    return EarlyClassifier(estimator, judge=judge, **more)


def by_draws(estimator, *, n_draws=200, n_checkpoints=20, **more):
    """Judged by completions that are drawn."""
    return EarlyClassifier(estimator, judge=SampledJudge(n_draws, n_checkpoints), **more)


def judged(kind, estimator, *, n_checkpoints=20, n_draws=200, **more):
    """Judged in one of the three ways; classifiers of prefixes are calibrated on average."""
    if kind == "prefix":
        more.setdefault("calibration", Promise(0.4, "average"))
        return EarlyClassifier(estimator, judge=PrefixJudge(n_checkpoints), **more)
    judge = ModelJudge() if kind == "model" else SampledJudge(n_draws, n_checkpoints)
    return EarlyClassifier(estimator, judge=judge, **more)


every_judge = pytest.mark.parametrize("kind", ["model", "sampled", "prefix"])
