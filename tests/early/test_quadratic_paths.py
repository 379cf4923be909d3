"""Quadratic functions written in innovations, beside the same functions of the coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import GaussianNB

from separatrix import EarlyClassifier, LocalQDA, QuadraticDiscriminant
from separatrix.early import quadratic_paths
from separatrix.early.arrival import Arrival
from separatrix.early.quadratic_paths import (
    InnovationFunctions,
    QuadraticJudge,
    bound_distances,
    can_follow,
)
from separatrix.early.region import distances_in_sphere
from separatrix.early.scores import ModelJudge
from tests.early.data import NEW, X, every_conditional, series, y

RULES = {
    "full": QuadraticDiscriminantAnalysis(reg_param=0.1),
    "diagonal": GaussianNB(),
    "shared": QuadraticDiscriminant(shrinkage=1.0),
}
every_quadratic = pytest.mark.parametrize("estimator", RULES.values(), ids=RULES)


def fitted(estimator, rows=X, labels=y, **more):
    model = EarlyClassifier(estimator, score="model", **more).fit(rows, labels)
    return model._score.rule


def judge_all(judge, n, times, least):
    """Guesses and reliabilities of rows that become fewer."""
    found, watched = [], np.arange(n)
    for t in times:
        watched = np.delete(watched, [3]) if t % 2 else watched
        found.append(judge.judge(t, watched, least))
    return found


@every_quadratic
@every_conditional
@pytest.mark.parametrize("region", ["ellipsoid", "chebyshev"])
@pytest.mark.parametrize("least", [0.0, 0.6, 0.9])
def test_series_are_judged_as_by_coordinates(estimator, conditional, region, least):
    rows, labels = series(200, 24, n_classes=4, apart=4.0)
    rule = fitted(estimator, rows[:140], labels[:140], conditional=conditional, region=region)
    assert can_follow(rule)
    times = range(1, 24)
    slow = judge_all(ModelJudge(rule, rows[140:]), 60, times, least)
    fast = judge_all(QuadraticJudge(rule, rows[140:]), 60, times, least)
    n_reliable = 0
    for (guess, reliability), (found, found_reliability) in zip(slow, fast, strict=True):
        reliable = reliability >= least
        n_reliable += np.count_nonzero(reliable)
        assert_array_equal(found_reliability >= least, reliable)
        assert_array_equal(found[reliable], guess[reliable])
        assert_allclose(found_reliability[reliable], reliability[reliable], rtol=1e-6)
    assert n_reliable > 50


@every_conditional
def test_constant_features_stay_as_they_were(conditional, rng):
    """A rule that bends along the features that never varied, which fitted ones do not."""
    rows, new = X.copy(), NEW.copy()
    rows[:, [2, 5]] = new[:, [2, 5]] = 3.0
    rule = fitted(RULES["full"], rows, conditional=conditional)
    f = rule.discriminants
    bends = 3 * rng.standard_normal(f.Q.shape)
    rule = rule._replace(discriminants=f._replace(Q=f.Q + bends + bends.swapaxes(1, 2)))
    for t in (1, 2, 4):
        slow = ModelJudge(rule, new).judge(t, np.arange(len(new)))
        fast = QuadraticJudge(rule, new).judge(t, np.arange(len(new)))
        assert_array_equal(fast[0], slow[0])
        assert_allclose(fast[1], slow[1], rtol=1e-7)


def test_values_that_come_in_another_order_or_never():
    rule = fitted(RULES["full"], conditional="mixture")
    arrival = Arrival(np.array([3, 0, 6, 2, 5, 1, 4]), np.array([0, 1, 1, 2, 3, 3, 4, 5]))
    rule = rule.in_order(arrival.order)
    for t in (2, 5, 7):
        slow = ModelJudge(rule, NEW, arrival).judge(t, np.arange(len(NEW)))
        fast = QuadraticJudge(rule, NEW, arrival).judge(t, np.arange(len(NEW)))
        assert_array_equal(fast[0], slow[0])
        assert_allclose(fast[1], slow[1], rtol=1e-7)


def test_parts_of_the_rows_are_judged_like_all(monkeypatch):
    rule = fitted(RULES["full"], conditional="mixture")
    expected = QuadraticJudge(rule, NEW).judge(4, np.arange(len(NEW)), 0.9)
    n_coefficients = 3 * 3 * 7
    monkeypatch.setattr(quadratic_paths, "MAX_COEFFICIENTS", 7 * n_coefficients)
    found = QuadraticJudge(rule, NEW).judge(4, np.arange(len(NEW)), 0.9)
    assert_array_equal(found[0], expected[0])
    assert_allclose(found[1], expected[1], rtol=1e-12)


@every_quadratic
def test_functions_of_innovations_are_those_of_the_rows(estimator, rng):
    rule = fitted(estimator, conditional="mixture")
    functions = InnovationFunctions.express(rule.discriminants, rule.prefix_models)
    e = rng.standard_normal((3, 5, 7))
    values = np.repeat(functions.origins[:, None], 5, axis=1)
    for t in range(7):
        values += functions.change(e, t)
    for i, model in enumerate(rule.prefix_models):
        points = model.origin + e[i] @ model.gains.T
        assert_allclose(values[i], rule.discriminants(points[:, None]), rtol=1e-9, atol=1e-9)


def test_bounds_are_never_below_the_distance_and_often_near(rng):
    """One steep valley: the boundary lies along its floor, to the side of steepest descent."""
    k, n = 12, 300
    axes = np.linalg.qr(rng.standard_normal((2, k, k)))[0]
    M = axes * np.append(np.linspace(-0.5, 0.5, k - 1), 30.0) @ axes.swapaxes(1, 2)
    slopes = rng.standard_normal((2, n, k)) + 5 * axes[:, None, :, -1]
    gaps = 3 + 3 * rng.random((2, n))
    exact = distances_in_sphere(M, slopes, gaps).min(axis=0)
    found = bound_distances(M, slopes, gaps, np.zeros(n))
    assert np.all(found >= exact * (1 - 1e-9))
    assert np.median(found / exact) < 1.5
    lengths, bends = np.sum(slopes**2, axis=-1), np.sum((slopes @ M) * slopes, axis=-1)
    never_zero = lengths**2 < 4 * bends * gaps
    assert never_zero.mean() > 0.9


def test_a_slope_along_an_axis_of_curvature_leaves_no_plane(rng):
    """What is beside the slope is rounding there, and no direction."""
    axes = np.linalg.qr(rng.standard_normal((200, 6, 6)))[0]
    M = axes * np.array([1.0, -3.0, -2.0, -1.0, 0.7, 2.0]) @ axes.swapaxes(1, 2)
    slopes, gaps = 2 * axes[:, None, :, 0], np.full((200, 1), 5.0)
    for one, slope, gap in zip(M, slopes, gaps, strict=True):
        bound = bound_distances(one[None], slope[None], gap[None], np.zeros(1))
        assert bound == np.inf
    nowhere = bound_distances(M[:1], 0 * slopes[:1], gaps[:1], np.zeros(1))
    assert nowhere == np.inf


def test_few_coordinates_linear_rules_and_boxes_have_other_ways(monkeypatch):
    assert not can_follow(fitted(RULES["full"], region="box"))
    assert not can_follow(fitted(LocalQDA(6)))
    assert not can_follow(fitted(RULES["full"], reducer=PCA(3)))
    rule = fitted(RULES["full"], conditional="mixture")
    assert can_follow(rule)
    monkeypatch.setattr(quadratic_paths, "MAX_CURVATURES", 3 * 3 * 49 - 1)
    assert not can_follow(rule)
