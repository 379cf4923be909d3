"""Decisions from incomplete rows, against conditioning, minimising and sampling anew."""

from __future__ import annotations

import tracemalloc
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import chi2, multivariate_normal, norm
from sklearn.base import clone
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from separatrix import IPCAC, LDG, EarlyClassifier, FisherDiscriminant, LocalQDA
from separatrix.decision.rules import Quadratic
from separatrix.early.conditional import (
    SHRINKAGES,
    DenseFactor,
    Knowledge,
    ThinFactor,
    held_out_shrinkage,
    n_unknown_directions,
    thin_factor,
)
from separatrix.early.region import (
    about,
    box_distance,
    discriminants_of,
    largest_reliability,
    squared_distances_to_boundaries,
    squared_reach,
    squared_steps_down,
)
from separatrix.selection import N_FOLDS, training_parts


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
    "local": LocalQDA(6),
    "local full": LocalQDA(12, reg=0.05, covariance="full"),
}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
every_conditional = pytest.mark.parametrize("conditional", ["gaussian", "mixture"])
every_region = pytest.mark.parametrize("region", ["ellipsoid", "box", "chebyshev"])
REDUCERS = {"features": None, "pca": PCA(3), "fisher": FisherDiscriminant()}
every_reducer = pytest.mark.parametrize("reducer", REDUCERS.values(), ids=REDUCERS)


def with_gaps(rows, seed=0, share=0.4):
    gaps = np.random.default_rng(seed).random(rows.shape) < share
    return np.where(gaps, np.nan, rows)


def written_out(model, X, codes):
    """Means, covariances and weights of the models of the features, in their own units."""
    units, alpha = model._conditional.units, model.regularization_
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


# Factors ---------------------------------------------------------------------------------------


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


# Conditioning ----------------------------------------------------------------------------------


@every_conditional
@pytest.mark.parametrize("data", [(X, y), (WIDE, wide_y)], ids=["tall", "wide"])
def test_every_prefix_and_every_pattern_is_conditioned_as_anew(data, conditional):
    X, y = data
    d = X.shape[1]
    model = EarlyClassifier(LocalQDA(2), conditional=conditional).fit(X, y)
    codes = y if conditional == "mixture" else np.zeros_like(y)
    means, covariances, weights = written_out(model, X, codes)
    rng = np.random.default_rng(3)
    patterns = [np.arange(d) < t for t in range(d)] + [rng.random(d) < 0.5 for _ in range(6)]
    rows = X[:4] + rng.normal(scale=0.3, size=(4, d))
    for observed in patterns:
        known = model._given(rows, observed)
        variances = np.broadcast_to(known.variances, rows.shape)
        vectors = rng.standard_normal((4, d))
        for i, row in enumerate(rows):
            m, R = mixed(means, covariances, weights, row, observed)
            assert_allclose(known.mean[i], m, atol=1e-8)
            assert_allclose(variances[i], np.diag(R), atol=1e-8)
            for k, moments in enumerate(zip(means, covariances, strict=True)):
                m, R = conditioned(*moments, row, observed)
                alone = known.model(k)
                assert_allclose(alone.mean[i], m, atol=1e-8)
                assert_allclose(alone.spread @ alone.spread.T, R, atol=1e-8)
                assert_allclose(alone.covariance_times(vectors)[i], R @ vectors[i], atol=1e-8)


@every_conditional
@pytest.mark.parametrize("data", [(X, y), (WIDE, wide_y)], ids=["tall", "wide"])
def test_a_reduced_row_has_the_moments_of_the_reduced_moments(data, conditional):
    X, y = data
    model = EarlyClassifier(LocalQDA(2), conditional=conditional, reducer=PCA(3)).fit(X, y)
    codes = y if conditional == "mixture" else np.zeros_like(y)
    written = written_out(model, X, codes)
    W, centre = model.reducer_.components_, model.reducer_.mean_
    for observed in (np.arange(X.shape[1]) < 4, np.arange(X.shape[1]) % 3 > 0):
        known = model._given(X[:3], observed)
        for i in range(3):
            m, _ = mixed(*written, X[i], observed)
            assert_allclose(known.mean[i], W @ (m - centre), atol=1e-8)
            for F, mean, covariance in zip(known.spreads, *written[:2], strict=True):
                _, R = conditioned(mean, covariance, X[i], observed)
                assert_allclose(F @ F.T, W @ R @ W.T, atol=1e-8)


@every_conditional
@pytest.mark.parametrize("data", [(X, y), (WIDE, wide_y)], ids=["tall", "wide"])
def test_what_is_expected_of_missing_values(data, conditional):
    X, y = data
    model = EarlyClassifier(FisherDiscriminant(), conditional=conditional).fit(X, y)
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


def test_the_shrinkage_is_the_one_under_which_held_out_rows_are_likeliest():
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    chosen = held_out_shrinkage(Z, np.zeros(len(Z), dtype=int))
    scores = []
    for share in SHRINKAGES:
        total = 0.0
        for fit, held in training_parts(np.zeros(len(Z), dtype=int), N_FOLDS):
            S = (1 - share) * np.cov(Z[fit].T, bias=True) + share * np.eye(7)
            total += multivariate_normal.logpdf(Z[held], Z[fit].mean(axis=0), S).sum()
        scores.append(total)
    assert chosen == SHRINKAGES[np.argmax(scores)]
    assert SHRINKAGES[0] < chosen < 1
    assert EarlyClassifier(LinearSVC()).fit(X, y).regularization_ == chosen


def test_the_shrinkage_of_few_rows_is_chosen_as_that_of_many():
    Z = (WIDE - WIDE.mean(axis=0)) / WIDE.std(axis=0)
    chosen = held_out_shrinkage(Z, np.zeros(len(Z), dtype=int))
    scores = []
    for share in SHRINKAGES:
        total = 0.0
        for fit, held in training_parts(np.zeros(len(Z), dtype=int), N_FOLDS):
            S = (1 - share) * np.cov(Z[fit].T, bias=True) + share * np.eye(30)
            total += multivariate_normal.logpdf(Z[held], Z[fit].mean(axis=0), S).sum()
        scores.append(total)
    assert chosen == SHRINKAGES[np.argmax(scores)]


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
    counts = [n_unknown_directions(B, np.arange(4) >= t) for t in range(5)]
    assert counts == [2, 2, 1, 1, 0]
    reduced = EarlyClassifier(LinearSVC(), reducer=PCA(3)).fit(X, y)
    assert_array_equal(reduced._n_unknown, [3, 3, 3, 3, 3, 2, 1, 1])  # a set needs a dimension
    assert_array_equal(EarlyClassifier(LinearSVC()).fit(X, y)._n_unknown, [7, 6, 5, 4, 3, 2, 1, 1])


# Discriminants ---------------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "estimator",
    [
        LinearSVC(),
        LogisticRegression(),
        LinearDiscriminantAnalysis(),
        RidgeClassifier(),
        SGDClassifier(random_state=0),
        QuadraticDiscriminantAnalysis(reg_param=0.2),
        FisherDiscriminant(),
        IPCAC(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_the_largest_function_is_the_prediction(estimator, n_classes):
    rows, labels = X[y < n_classes], y[y < n_classes]
    fitted = clone(estimator).fit(rows, labels)
    f = discriminants_of(fitted)
    assert_array_equal(f(NEW[:, None]).argmax(axis=1), fitted.predict(NEW))
    if n_classes == 3 and hasattr(fitted, "decision_function"):
        values, scores = f(NEW[:, None]), fitted.decision_function(NEW)
        assert_allclose(np.diff(values), np.diff(scores), rtol=1e-7, atol=1e-7)


def test_functions_about_points_are_the_same_functions():
    f = discriminants_of(QuadraticDiscriminantAnalysis(reg_param=0.2).fit(X, y))
    g = about(f, NEW)
    step = np.random.default_rng(0).standard_normal(NEW.shape)
    assert_allclose(g(step[:, None]), f((NEW + step)[:, None]), rtol=1e-9)


# Distances -------------------------------------------------------------------------------------


def radial_distances(f, F, guess, n_directions=40_000):
    """Shortest steps at which another class wins, along many directions z, solved exactly."""
    rng = np.random.default_rng(0)
    U = rng.standard_normal((n_directions, F.shape[1]))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    V = U @ F.T
    best = np.inf
    for g in range(len(f.b)):
        if g == guess:
            continue
        gap = f.b[guess] - f.b[g]
        slope = V @ (f.c[guess] - f.c[g])
        bend = np.einsum("nr,rs,ns->n", V, f.Q[guess] - f.Q[g], V)
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(slope**2 - 4 * bend * gap)
            steps = 2 * gap / (-slope + root)  # the smaller positive root
        best = min(best, np.min(steps[(steps > 0) & np.isfinite(steps)], initial=np.inf))
    return best


def random_quadratics(rng, n_classes, r):
    Q = rng.standard_normal((n_classes, r, r))
    return Quadratic(
        Q + Q.swapaxes(1, 2), rng.standard_normal((n_classes, r)), rng.standard_normal(n_classes)
    )


@pytest.mark.parametrize("r", [1, 2, 3])
def test_the_distance_to_a_quadratic_boundary_is_the_shortest_of_many(r):
    rng = np.random.default_rng(r)
    for _ in range(8):
        f = random_quadratics(rng, 3, r)
        F = rng.standard_normal((r, r))
        known = Knowledge(np.zeros((1, 1, r)), np.ones((1, 1)), [F])
        at = Quadratic(f.Q[None], f.c[None], f.b[None])
        guess = f.b.argmax()
        found = squared_distances_to_boundaries(at, known, np.array([guess]))
        # directions are dense: the shortest is missed by their squared angle
        assert_allclose(np.sqrt(found), radial_distances(f, F, guess), rtol=3e-3)
        assert np.sqrt(found[0]) <= radial_distances(f, F, guess) * (1 + 1e-9)


def test_own_quadratics_are_as_shared_ones():
    rng = np.random.default_rng(0)
    f, F = random_quadratics(rng, 4, 3), rng.standard_normal((3, 3))
    points = rng.standard_normal((30, 3))
    shared = about(f, points)
    own = shared._replace(Q=np.repeat(shared.Q, 30, axis=0))
    known = Knowledge(points[None], np.ones((30, 1)), [F])
    guess = shared.b.argmax(axis=1)
    for box in (False, True):
        expected = squared_distances_to_boundaries(shared, known, guess, box=box)
        found = squared_distances_to_boundaries(own, known, guess, box=box)
        assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("box", [False, True])
def test_diagonal_quadratics_are_diagonal_matrices(box):
    rng = np.random.default_rng(0)
    diagonal = Quadratic(
        rng.standard_normal((20, 3, 4)), rng.standard_normal((20, 3, 4)), rng.random((20, 3))
    )
    full = diagonal._replace(Q=diagonal.Q[..., None] * np.eye(4))
    known = Knowledge(np.zeros((1, 20, 4)), np.ones((20, 1)), [rng.standard_normal((4, 4))])
    guess = diagonal.b.argmax(axis=1)
    args = (known, guess)
    expected = squared_distances_to_boundaries(diagonal, *args, box=box)
    assert_allclose(squared_distances_to_boundaries(full, *args, box=box), expected, rtol=1e-9)
    assert_allclose(
        squared_steps_down(full, *args, 0.0), squared_steps_down(diagonal, *args, 0.0), rtol=1e-9
    )


def test_quadratics_without_bend_are_linear_functions():
    rng = np.random.default_rng(0)
    c, b = rng.standard_normal((1, 3, 4)), rng.random((20, 3))
    known = Knowledge(np.zeros((1, 20, 4)), np.ones((20, 1)), [rng.standard_normal((4, 4))])
    guess = b.argmax(axis=1)
    for box in (False, True):
        linear = squared_distances_to_boundaries(Quadratic(None, c, b), known, guess, box=box)
        for Q in (np.ones((20, 3, 4)), np.zeros((20, 3, 4, 4)), np.full((20, 3, 4), 1.0)):
            flat = Quadratic(Q, np.repeat(c, 20, axis=0), b)
            found = squared_distances_to_boundaries(flat, known, guess, box=box)
            assert_allclose(found, linear, rtol=1e-9)
        slight = np.zeros((20, 3, 4))
        slight[:, 0, 0] = 1e-12
        bent = Quadratic(slight, np.repeat(c, 20, axis=0), b)
        found = squared_distances_to_boundaries(bent, known, guess, box=box)
        assert_allclose(found, linear, rtol=1e-6)


def test_a_step_down_is_never_shorter_than_the_distance():
    rng = np.random.default_rng(0)
    f, F = random_quadratics(rng, 4, 3), rng.standard_normal((3, 3))
    points = rng.standard_normal((300, 3))
    g, known = about(f, points), Knowledge(points[None], np.ones((300, 1)), [F])
    guess = g.b.argmax(axis=1)
    exact = squared_distances_to_boundaries(g, known, guess)
    bound = squared_steps_down(g, known, guess, 0.0)
    assert (bound >= exact * (1 - 1e-9)).all()
    assert np.median(bound / exact) < 1.5
    enough = np.median(exact)
    mixed = squared_distances_to_boundaries(g, known, guess, enough=enough)
    assert_allclose(mixed[exact >= enough], exact[exact >= enough])
    assert (mixed[exact < enough] < enough).all()
    assert (mixed != exact).any()


def test_the_box_is_left_where_its_smallest_sum_vanishes():
    rng = np.random.default_rng(0)
    for _ in range(60):
        k = rng.integers(1, 6)
        lam, beta, gap = rng.standard_normal(k), rng.standard_normal(k), rng.exponential()
        found = box_distance(lam[None], beta[None], np.array([gap]))[0]

        def lowest(h, lam=lam, beta=beta, gap=gap):
            z = np.linspace(-h, h, 20001)
            return gap + np.sum(np.min(lam[:, None] * z**2 + beta[:, None] * z, axis=1))

        if np.isinf(found):
            assert lowest(1e3) > 0
        else:
            assert abs(lowest(found)) < 1e-5 * max(gap, 1)
            assert lowest(0.99 * found) > 0


def test_reliabilities_are_the_masses_of_the_sets():
    squared = np.array([0.5, 4.0, 30.0])
    assert_allclose(largest_reliability(squared, 5, "ellipsoid"), chi2.cdf(squared, 5))
    assert_allclose(largest_reliability(squared, 5, "chebyshev"), [0, 0, 1 - 5 / 30])
    mass = norm.cdf(np.sqrt(squared)) - norm.cdf(-np.sqrt(squared))
    assert_allclose(largest_reliability(squared, 5, "box"), mass**5)
    assert_allclose(largest_reliability(squared, 5, "ideal"), norm.cdf(np.sqrt(squared)))
    for region in ("ellipsoid", "chebyshev"):
        for tau in (0.1, 0.9, 0.999):
            reach = squared_reach(tau, 5, region)
            assert_allclose(largest_reliability(reach, 5, region), tau)
        assert squared_reach(1.0, 5, region) == np.inf
    for region in ("ellipsoid", "chebyshev", "box", "ideal"):
        assert largest_reliability(np.array([np.inf]), 5, region)[0] < 1
        assert largest_reliability(np.zeros(1), 5, region)[0] == (0.5 if region == "ideal" else 0)


def test_the_sets_hold_the_mass_they_state_for_correlated_coordinates():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((6, 6)) @ np.diag([3, 1, 1, 0.1, 0.1, 0.1])
    rows = rng.standard_normal((20000, 6)) @ F.T
    deviations = np.sqrt(np.sum(F**2, axis=1))
    for tau in (0.5, 0.9):
        inside = np.sum(np.linalg.solve(F, rows.T) ** 2, axis=0) <= squared_reach(
            tau, 6, "ellipsoid"
        )
        assert abs(inside.mean() - tau) < 0.015
        h = norm.ppf((1 + tau ** (1 / 6)) / 2)
        assert_allclose(largest_reliability(h**2, 6, "box"), tau)
        assert np.mean((np.abs(rows) <= h * deviations).all(axis=1)) >= tau - 0.015


# Decisions -------------------------------------------------------------------------------------


def first_reliable(model, rows, tau):
    """Series cut at every length and decided one length after the other."""
    found = []
    for row in rows:
        for t in range(1, len(row) + 1):
            one = model.decide(
                np.where(np.arange(len(row)) < t, row, np.nan)[None], reliability=tau
            )
            if one.decided[0]:
                break
        found.append((one.label[0], one.reliability[0], t))
    return [np.array(column) for column in zip(*found, strict=True)]


@every_rule
@every_conditional
@every_region
@every_reducer
def test_series_streams_and_rows_with_gaps_agree(rule, conditional, region, reducer):
    model = EarlyClassifier(rule, conditional=conditional, region=region, reducer=reducer)
    model.fit(X, y)
    rows, tau = NEW[:8], 0.3
    early = model.decide_early(rows, reliability=tau)
    label, reliable, time = first_reliable(model, rows, tau)
    assert_array_equal(early.time, time)
    assert_array_equal(early.label, label)
    assert_allclose(early.reliability, reliable, rtol=1e-7)
    assert early.decided.all()
    for i, row in enumerate(rows[:3]):
        stream = model.stream(reliability=tau)
        pushed = [stream.push(value) for value in row]
        cut = np.where(np.tri(7, dtype=bool), row, np.nan)
        whole = model.decide(cut, reliability=tau)
        assert [p.label for p in pushed] == whole.label.tolist()
        assert [p.decided for p in pushed] == whole.decided.tolist()
        assert [p.time for p in pushed] == list(range(1, 8))
        assert_allclose([p.reliability for p in pushed], whole.reliability, rtol=1e-7)
        assert [p.decided for p in pushed].index(True) + 1 == early.time[i]


@every_rule
@every_conditional
def test_the_order_of_features_does_not_matter_to_gaps(rule, conditional):
    model = EarlyClassifier(rule, conditional=conditional, regularization=0.1)
    order = np.random.default_rng(0).permutation(7)
    rows = with_gaps(NEW)
    there = clone(model).fit(X, y).decide(rows)
    here = clone(model).fit(X[:, order], y).decide(rows[:, order])
    assert_array_equal(here.label, there.label)
    assert_allclose(here.reliability, there.reliability, rtol=1e-5, atol=1e-9)
    assert_array_equal(here.n_observed, (~np.isnan(rows)).sum(axis=1))


def test_the_reliability_of_a_linear_rule_is_that_of_proposition_two():
    model = EarlyClassifier(LinearDiscriminantAnalysis(), reliability=0.5).fit(X, y)
    means, covariances, weights = written_out(model, X, np.zeros_like(y))
    rows = with_gaps(NEW)
    found = model.decide(rows)
    C, b = model.estimator_.coef_, model.estimator_.intercept_
    for i, row in enumerate(rows):
        observed = ~np.isnan(row)
        if observed.all():
            continue
        m, R = mixed(means, covariances, weights, row, observed)
        scores = C @ m + b
        c = scores.argmax()
        ratios = [
            (scores[c] - scores[g]) / np.sqrt((C[c] - C[g]) @ R @ (C[c] - C[g]))
            for g in range(3)
            if g != c
        ]
        expected = chi2.cdf(min(ratios) ** 2, (~observed).sum())
        assert found.label[i] == c
        assert_allclose(found.reliability[i], expected, rtol=1e-6)


def test_a_box_has_as_many_sides_as_coordinates_that_move():
    model = EarlyClassifier(LinearDiscriminantAnalysis(), region="box", reducer=PCA(3)).fit(X, y)
    written = written_out(model, X, np.zeros_like(y))
    W, centre = model.reducer_.components_, model.reducer_.mean_
    C, b = model.estimator_.coef_, model.estimator_.intercept_
    last = np.arange(7) < 6  # one direction is unknown, and moves all three coordinates
    found = model.decide(np.where(last, NEW, np.nan))
    for i, row in enumerate(NEW):
        m, R = mixed(*written, row, last)
        scores = C @ W @ (m - centre) + b
        c = scores.argmax()
        widths = np.abs(C[c] - C) @ np.sqrt(np.diag(W @ R @ W.T))
        h = min((scores[c] - scores[g]) / widths[g] for g in range(3) if g != c)
        assert_allclose(found.reliability[i], min((2 * norm.cdf(h) - 1) ** 3, 1 - 2.0**-53))


@every_region
@every_rule
def test_a_larger_tau_decides_later_and_on_fewer_rows(rule, region):
    model = EarlyClassifier(rule, region=region).fit(X, y)
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
    model = EarlyClassifier(rule, region=region, reliability=1.0).fit(X, y)
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
    model = EarlyClassifier(rule, conditional=conditional, region=region).fit(X, y)
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


@every_rule
@every_region
def test_only_some_classes(rule, region):
    model = EarlyClassifier(rule, region=region, reliability=0.3).fit(X, np.array(list("abc"))[y])
    rows = with_gaps(NEW)
    free, bound = model.decide(rows), model.decide(rows, classes=["a", "c"])
    assert_array_equal(bound.decided, free.decided & (free.label != "b"))
    assert_array_equal(bound.label, free.label)
    assert_array_equal(bound.reliability, free.reliability)
    assert (free.decided & ~bound.decided).any()
    early = model.decide_early(NEW, classes="a")
    cut = np.where(np.tri(7, dtype=bool)[:, None], NEW, np.nan).reshape(-1, 7)
    alone = model.decide(cut, classes=["a"]).decided.reshape(7, -1)
    assert_array_equal(early.decided, alone.any(axis=0))
    assert_array_equal(early.time, np.where(alone.any(axis=0), alone.argmax(axis=0) + 1, 7))
    stream = model.stream(classes=["a"])
    assert [stream.push(v).decided for v in NEW[0]] == alone[:, 0].tolist()
    with pytest.raises(ValueError, match=r"classes=\['d'\] must be some of .*\['a', 'b', 'c'\]"):
        model.decide(rows, classes=["d"])


def test_series_that_have_not_gone_further_yet():
    model = EarlyClassifier(LocalQDA(6), reliability=0.9).fit(X, y)
    lengths = np.random.default_rng(0).integers(0, 8, len(NEW))
    tails = np.where(np.arange(7) < lengths[:, None], NEW, np.nan)
    whole, cut = model.decide_early(NEW), model.decide_early(tails)
    in_time = whole.time <= lengths
    assert_array_equal(cut.decided, in_time)
    for field in ("label", "reliability", "time"):
        assert_array_equal(getattr(cut, field)[in_time], getattr(whole, field)[in_time])
    late = model.decide(tails[~in_time])
    assert_array_equal(cut.label[~in_time], late.label)
    assert_allclose(cut.reliability[~in_time], late.reliability, rtol=1e-9)
    assert_array_equal(cut.time[~in_time], lengths[~in_time])
    short = model.decide_early(NEW[:, :4])
    padded = model.decide_early(np.where(np.arange(7) < 4, NEW, np.nan))
    assert_array_equal(short.label, padded.label)
    assert_array_equal(short.time, padded.time)
    assert short.time.max() == 4
    assert not short.decided.all()


def test_series_that_are_longer_than_those_learned_are_refused():
    model = EarlyClassifier(FisherDiscriminant()).fit(X, y)
    with pytest.raises(ValueError, match=r"8 features.*expecting 7"):
        model.decide_early(np.zeros((2, 8)))
    stream = model.stream()
    for value in NEW[0]:
        stream.push(value)
    with pytest.raises(ValueError, match="complete: the model was fitted to 7 values"):
        stream.push(0.0)
    with pytest.raises(ValueError, match="nan is not a finite number: use decide for gaps"):
        model.stream().push(np.nan)
    with pytest.raises(ValueError, match="row 1 of X has values after a missing one"):
        model.decide_early([[1.0] * 7, [1, 2, np.nan, 3, 4, 5, 6]])


# The promise -----------------------------------------------------------------------------------


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
    model = EarlyClassifier(rule, region=region, reliability=0.8).fit(rows, labels)
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
        model = EarlyClassifier(LogisticRegression(), region=region).fit(rows, labels)
        times[region] = model.decide_early(NEW).time
    assert (times["ideal"] <= times["ellipsoid"]).all()
    assert (times["ellipsoid"] <= times["chebyshev"]).all()
    assert (times["ideal"] <= times["box"]).all()
    assert times["ideal"].mean() < times["ellipsoid"].mean() < times["chebyshev"].mean()


def test_the_ideal_probability_under_a_mixture():
    rows, labels = X[TWO], y[TWO]
    model = EarlyClassifier(LogisticRegression(), region="ideal", conditional="mixture")
    model.fit(rows, labels)
    means, covariances, weights = written_out(model, rows, labels)
    w, b = model.estimator_.coef_[0], model.estimator_.intercept_[0]
    gaps = with_gaps(NEW[:10])
    found = model.decide(gaps)
    for i, row in enumerate(gaps):
        observed = ~np.isnan(row)
        o = np.flatnonzero(observed)
        parts = [conditioned(m, S, row, observed) for m, S in zip(means, covariances, strict=True)]
        logs = np.log(weights) + [
            multivariate_normal.logpdf(row[o], m[o], S[np.ix_(o, o)]) if len(o) else 0.0
            for m, S in zip(means, covariances, strict=True)
        ]
        above = softmax(logs) @ [norm.cdf((w @ m + b) / np.sqrt(w @ R @ w)) for m, R in parts]
        assert found.label[i] == (above > 0.5)
        assert_allclose(found.reliability[i], max(above, 1 - above), rtol=1e-7)


# Degenerate rows -------------------------------------------------------------------------------


@every_rule
@every_conditional
@every_region
def test_a_constant_feature_tells_nothing(rule, conditional, region):
    model = EarlyClassifier(rule, conditional=conditional, region=region, regularization=0.1)
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
    model = EarlyClassifier(LinearSVC()).fit(rows, y)
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
    model = EarlyClassifier(rule, conditional=conditional, region=region).fit(WIDE, wide_y)
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
    model = EarlyClassifier(FisherDiscriminant(), conditional=conditional).fit(rows, labels)
    model.decide_early(rows[:2])
    model.decide(with_gaps(rows[:2]))
    model.stream().push(1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(model._views[0].factor, ThinFactor)
    assert peak < d * d * 8 / 4


def test_units_and_offsets_do_not_matter():
    scale = 10.0 ** np.arange(-3, 4)
    model = EarlyClassifier(LinearDiscriminantAnalysis(), regularization=0.1)
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
        model = EarlyClassifier(FisherDiscriminant(), conditional=conditional).fit(X, labels)
        found = model.decide_early(np.repeat(NEW, 2, axis=0))
        assert np.isfinite(found.reliability).all()
        assert_array_equal(found.label[::2], found.label[1::2])
    twice = EarlyClassifier(FisherDiscriminant(), regularization=0.1)
    once = clone(twice).fit(X, y).decide(with_gaps(NEW))
    twice.fit(np.tile(X, (2, 1)), np.tile(y, 2))
    assert_allclose(twice.decide(with_gaps(NEW)).reliability, once.reliability, rtol=1e-6)


def test_frames_names_and_single_precision():
    names = list("abcdefg")
    frame = pd.DataFrame(X, columns=names)
    labels = np.array(["ash", "beech", "cedar"])[y]
    model = EarlyClassifier(FisherDiscriminant(), reducer=LDG(3, gamma=0.6, n_neighbors=4))
    model.fit(frame, labels)
    gaps = with_gaps(NEW)
    expected = (
        EarlyClassifier(FisherDiscriminant(), reducer=LDG(3, gamma=0.6, n_neighbors=4))
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
    single = EarlyClassifier(FisherDiscriminant()).fit(X.astype(np.float32), y)
    double = EarlyClassifier(FisherDiscriminant()).fit(X.astype(np.float32).astype(float), y)
    rows = with_gaps(NEW).astype(np.float32)
    assert_allclose(single.decide(rows).reliability, double.decide(rows).reliability, rtol=1e-3)


# What is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator", [SVC(kernel="linear"), GaussianNB(), LinearSVC, None, StandardScaler()]
)
def test_other_rules_are_refused_with_those_that_are_not(estimator):
    with pytest.raises(TypeError, match=r"estimator=.* is not supported.*LinearSVC, .*LocalQDA"):
        EarlyClassifier(estimator).fit(X, y)


@pytest.mark.parametrize("reducer", [StandardScaler(), PCA(2, whiten=True)])
def test_reducers_that_are_not_the_product_they_seem_are_refused(reducer):
    with pytest.raises(TypeError, match=r"reducer=.* is not \(X - mean_\) @ components_.T"):
        EarlyClassifier(FisherDiscriminant(), reducer=reducer).fit(X, y)


@pytest.mark.parametrize("reducer", ["pca", PCA, FisherDiscriminant])
def test_reducers_that_are_no_transformers_are_refused(reducer):
    with pytest.raises(TypeError, match=r"reducer=.* is not a transformer: give an instance"):
        EarlyClassifier(FisherDiscriminant(), reducer=reducer).fit(X, y)


@pytest.mark.parametrize("value", ["abc", "1.5", None, np.array([1.0]), [1.0, 2.0]], ids=repr)
def test_only_numbers_are_pushed(value):
    stream = EarlyClassifier(FisherDiscriminant()).fit(X, y).stream()
    with pytest.raises(TypeError, match=r"value=.* is not a number: push takes"):
        stream.push(value)
    assert stream.push(1).n_observed == 1


def test_a_reducer_without_mean_starts_at_the_origin():
    model = EarlyClassifier(LinearSVC(), reducer=TruncatedSVD(3, random_state=0)).fit(X + 5, y)
    nearly = np.where(np.arange(7) < 6, X + 5, np.nan)
    assert np.mean(model.decide(nearly).label == model.predict(X + 5)) > 0.9


def test_the_ideal_needs_two_classes_and_a_hyperplane():
    with pytest.raises(ValueError, match=r'region="ideal" .* fitted to 3 classes'):
        EarlyClassifier(LinearSVC(), region="ideal").fit(X, y)
    with pytest.raises(
        ValueError, match=r'region="ideal" .* a linear rule, but estimator=LocalQDA'
    ):
        EarlyClassifier(LocalQDA(2), region="ideal").fit(X[TWO], y[TWO])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("reliability", 1.5),
        ("reliability", "high"),
        ("region", "ball"),
        ("conditional", "normal"),
        ("regularization", 0.0),
        ("regularization", 2),
    ],
)
def test_senseless_parameters_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}={value!r} is not valid"):
        EarlyClassifier(FisherDiscriminant(), **{name: value}).fit(X, y)


def test_senseless_rows_are_refused():
    model = EarlyClassifier(FisherDiscriminant())
    with pytest.raises(NotFittedError):
        model.decide_early(X)
    with pytest.raises(NotFittedError):
        model.stream()
    with pytest.raises(ValueError, match="NaN in column 2"):
        model.fit(np.where(np.arange(7) == 2, np.nan, X), y)
    with pytest.raises(ValueError, match="only one class: 'a'"):
        model.fit(X, np.full(len(X), "a"))
    with pytest.raises(TypeError, match="dense"):
        model.fit(sp.csr_array(X), y)
    model.fit(X, y)
    with pytest.raises(ValueError, match="use decide for rows with missing values"):
        model.predict(with_gaps(X))
    with pytest.raises(ValueError, match="infinity in row 0, column 1: use NaN"):
        model.decide(np.where(np.arange(7) == 1, np.inf, X))
    with pytest.raises(ValueError, match=r"reliability=2 is not valid: .* in \[0, 1\]"):
        model.decide(X, reliability=2)


def test_a_refused_fit_leaves_the_model_as_it_was():
    model = EarlyClassifier(FisherDiscriminant()).fit(X, y)
    before = model.decide(with_gaps(NEW))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(with_gaps(X[:, :4]), y)
    assert_array_equal(model.decide(with_gaps(NEW)).reliability, before.reliability)
