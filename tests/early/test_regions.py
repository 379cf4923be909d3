"""Discriminants, sets and distances, beside minimising and sampling."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from scipy.stats import chi2, multivariate_normal, norm
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from separatrix.decision.quadratic import Quadratic
from separatrix.early.conditional import (
    ConditionalModel,
    ConditionalMoments,
    fit_normal_models,
    summarize_features,
)
from separatrix.early.discriminants import read_rule
from separatrix.early.modelled import ModelScore
from separatrix.early.regions import (
    box_distance,
    largest_reliability,
    shift_discriminants,
    squared_distances_to_boundaries,
)
from tests.early.data import (
    NEW,
    TWO,
    X,
    by_model,
    conditioned,
    mixed,
    with_gaps,
    written_out,
    y,
)


@pytest.mark.parametrize(
    "estimator", [QuadraticDiscriminantAnalysis(reg_param=0.2), GaussianNB(), LinearSVC()]
)
def test_functions_about_points_are_the_same_functions(estimator):
    f = read_rule(estimator.fit(X, y), X).discriminants
    g = shift_discriminants(f, NEW)
    step = np.random.default_rng(0).standard_normal(NEW.shape)
    assert_allclose(g(step[:, None]), f((NEW + step)[:, None]), rtol=1e-9, atol=1e-9)


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


def squared_radius(tau, n_unknown, region):
    """δ of (5.4), (5.3) and (5.5), from the inverse distributions."""
    if region in ("ellipsoid", "diagonal"):
        return chi2.ppf(tau, n_unknown)
    if region == "box":
        return norm.ppf((1 + np.asarray(tau) ** (1 / n_unknown)) / 2) ** 2
    return n_unknown / (1 - tau)


def known_at(points, F):
    """Moments of rows with these means (n, q) and the covariance ``F Fᵀ``, under one model."""
    return ConditionalMoments(points[None], np.ones((len(points), 1)), [F])


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
        known = known_at(np.zeros((1, r)), F)
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
    shared = shift_discriminants(f, points)
    own = shared._replace(Q=np.repeat(shared.Q, 30, axis=0))
    known = known_at(points, F)
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
    known = ConditionalMoments(
        np.zeros((1, 20, 4)), np.ones((20, 1)), [rng.standard_normal((4, 4))]
    )
    guess = diagonal.b.argmax(axis=1)
    args = (known, guess)
    expected = squared_distances_to_boundaries(diagonal, *args, box=box)
    assert_allclose(squared_distances_to_boundaries(full, *args, box=box), expected, rtol=1e-9)


def test_quadratics_without_bend_are_linear_functions():
    rng = np.random.default_rng(0)
    c, b = rng.standard_normal((1, 3, 4)), rng.random((20, 3))
    known = ConditionalMoments(
        np.zeros((1, 20, 4)), np.ones((20, 1)), [rng.standard_normal((4, 4))]
    )
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


def test_what_an_ellipsoid_reaches_a_box_along_any_axes_reaches_sooner():
    rng = np.random.default_rng(0)
    f, F = random_quadratics(rng, 4, 3), rng.standard_normal((3, 3))
    points = rng.standard_normal((300, 3))
    g = shift_discriminants(f, points)
    known = ConditionalMoments(points[None], np.ones((300, 1)), [F])
    guess = g.b.argmax(axis=1)
    exact = squared_distances_to_boundaries(g, known, guess, box=True)
    in_ellipsoid = squared_distances_to_boundaries(g, known, guess)
    assert (exact <= in_ellipsoid * (1 + 1e-9)).all()


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
    for region in ("ellipsoid", "chebyshev", "box", "diagonal"):
        for tau in (0.1, 0.9, 0.999):
            reach = squared_radius(tau, 5, region)
            assert_allclose(largest_reliability(reach, 5, region), tau)
        assert largest_reliability(np.array([np.inf]), 5, region)[0] < 1
        assert largest_reliability(np.zeros(1), 5, region)[0] == 0


def test_the_sets_hold_the_mass_they_state_for_correlated_coordinates():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((6, 6)) @ np.diag([3, 1, 1, 0.1, 0.1, 0.1])
    rows = rng.standard_normal((20000, 6)) @ F.T
    deviations = np.sqrt(np.sum(F**2, axis=1))
    for tau in (0.5, 0.9):
        inside = np.sum(np.linalg.solve(F, rows.T) ** 2, axis=0) <= squared_radius(
            tau, 6, "ellipsoid"
        )
        assert abs(inside.mean() - tau) < 0.015
        h = norm.ppf((1 + tau ** (1 / 6)) / 2)
        assert_allclose(largest_reliability(h**2, 6, "box"), tau)
        assert np.mean((np.abs(rows) <= h * deviations).all(axis=1)) >= tau - 0.015


def test_the_reliability_of_a_linear_rule_is_that_of_proposition_two():
    model = by_model(LinearDiscriminantAnalysis(), reliability=0.5).fit(X, y)
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
    model = by_model(LinearDiscriminantAnalysis(), region="box", reducer=PCA(3)).fit(X, y)
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


def test_the_ideal_probability_under_a_mixture():
    rows, labels = X[TWO], y[TWO]
    model = by_model(LogisticRegression(), region="ideal", conditional="mixture")
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


def rule_of(estimator, region, conditional="gaussian", data=(X, y)):
    """The rule of a fitted classifier, in the coordinates that it is read in."""
    rows, labels = data
    codes = labels if conditional == "mixture" else np.zeros_like(labels)
    summary = summarize_features(rows, codes)
    read = read_rule(estimator.fit(rows, labels), rows)
    weights = summary.moments.counts / len(rows)
    models = fit_normal_models(summary, 0.1)
    shift = read.coordinates(summary.units.mean[None])[0]
    B = np.diag(read.coordinates.weights)
    model = ConditionalModel(summary.units, models, weights, B, shift)
    n_classes = len(estimator.classes_)
    return ModelScore.build(model, read.discriminants, None, region, n_classes, owners=read.owners)


def test_a_diagonal_ellipsoid_forgets_correlations():
    rule = rule_of(GaussianNB(), "diagonal")
    whole = rule._replace(region="ellipsoid")
    observed = np.arange(7) < 4
    known = rule.conditional.condition(NEW, observed)
    F = np.diag(np.sqrt(np.sum(known.spread**2, axis=1)))
    alone = known._replace(spreads=[F])
    assert_allclose(rule.judge_moments(known, 3)[1], whole.judge_moments(alone, 3)[1], rtol=1e-9)
    assert not np.allclose(
        rule.judge_moments(known, 3)[1], whole.judge_moments(known, 3)[1], rtol=1e-3
    )


@pytest.mark.parametrize("region", ["ellipsoid", "box"])
def test_no_row_of_the_set_has_a_nearest_neighbour_of_another_class(region):
    estimator = KNeighborsClassifier(1)
    rule = rule_of(estimator, region)
    rng = np.random.default_rng(0)
    n_near = 0
    for t in (2, 4, 6):
        observed = np.arange(7) < t
        known = rule.conditional.condition(NEW, observed)
        guess, reliability = rule.judge_moments(known, 7 - t)
        F = known.spread[observed.argmin() :]
        radius = np.sqrt(squared_radius(reliability, 7 - t, region))
        assert_array_equal(guess, estimator.predict(known.mean + estimator._fit_X.mean(axis=0)))
        for i in np.flatnonzero((reliability > 0.05) & (radius < 1e3)):
            if region == "box":
                steps = np.linalg.norm(F, axis=1) * rng.uniform(-1, 1, (2000, 7 - t))
            else:
                z = rng.standard_normal((2000, F.shape[1]))
                steps = (z / np.linalg.norm(z, axis=1, keepdims=True)) @ F.T
            rows = np.tile(NEW[i], (2000, 1))
            rows[:, t:] = (known.mean[i] + estimator._fit_X.mean(axis=0))[t:]
            inside, beyond = rows.copy(), rows.copy()
            inside[:, t:] += 0.999 * radius[i] * steps
            beyond[:, t:] += 1.5 * radius[i] * steps
            assert np.all(estimator.predict(inside) == guess[i])
            n_near += np.any(estimator.predict(beyond) != guess[i])
    assert n_near > 5  # the sets are not needlessly small
