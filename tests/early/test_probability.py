"""Probabilities of guesses, beside drawn rows and written-out moments."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)

from separatrix import FisherDiscriminant, LocalQDA
from separatrix.decision.quadratic import Quadratic
from separatrix.early.conditional import ConditionalMoments
from separatrix.early.modelled import bend_moments, rival_probabilities
from separatrix.early.regions import shift_discriminants
from tests.early.data import NEW, TWO, X, by_model, every_conditional, series, y


def test_moments_of_a_quadratic_form_are_those_of_draws():
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((3, 3)), rng.standard_normal((3, 3))
    R, B = A @ A.T, B + B.T
    z = rng.standard_normal((200_000, 3)) @ A.T
    values = np.einsum("ni,ij,nj->n", z, B, z)
    mean, variance = bend_moments(B[None, None], R)
    assert_allclose(mean[0, 0], values.mean(), atol=5 * values.std() / 447)
    assert_allclose(variance[0, 0], values.var(), rtol=0.1)
    q = np.array([1.0, -2.0, 0.5])
    diagonal = bend_moments(q[None, None], R)
    assert_allclose(diagonal, bend_moments(np.diag(q)[None, None], R), rtol=1e-12)


@pytest.mark.parametrize("diagonal", [False, True])
def test_a_rival_wins_as_often_as_the_normal_difference_is_negative(diagonal):
    rng = np.random.default_rng(1)
    Q = 0.05 * rng.standard_normal((3, 4)) if diagonal else 0.05 * rng.standard_normal((3, 4, 4))
    f = Quadratic(Q, rng.standard_normal((3, 4)), np.array([1.0, 0.0, -0.5]))
    F = rng.standard_normal((4, 4))
    mean = rng.standard_normal((1, 4))
    known = ConditionalMoments(mean[None], np.ones((1, 1)), [F])
    found = rival_probabilities(shift_discriminants(f, mean), known, np.array([0]))
    rows = mean + rng.standard_normal((100_000, 4)) @ F.T
    values = f(rows[:, None])
    assert found[0, 0] == 0
    for g in (1, 2):
        # a quadratic form of four unknowns is only nearly normal
        assert abs(found[0, g] - np.mean(values[:, g] > values[:, 0])) < 0.06


@every_conditional
def test_two_classes_are_the_exact_probability(conditional):
    """The union over the one rival there is."""
    rule = LinearDiscriminantAnalysis()
    model = by_model(rule, region="ideal", conditional=conditional).fit(X[TWO], y[TWO])
    rows = np.where(np.arange(7) < 4, NEW, np.nan)
    found, path = model.decide(rows).reliability, model.reliability_path(NEW)[:, 3]
    assert_allclose(path, found, rtol=1e-9)
    assert found.min() >= 0.5


@pytest.mark.parametrize(
    "rule",
    [
        LinearDiscriminantAnalysis(),
        FisherDiscriminant(shrinkage=None),
        QuadraticDiscriminantAnalysis(reg_param=0.1),
        LocalQDA(20),
    ],
    ids=lambda rule: type(rule).__name__,
)
@every_conditional
def test_normal_rows_of_several_classes_keep_the_promise(rule, conditional):
    """2000 new rows; agreement of those decided at τ, with three standard errors."""
    rows, labels = series(900, 8, seed=3)
    new, _ = series(2000, 8, seed=3, apart=1.5)
    new = new + np.random.default_rng(9).normal(scale=1e-9, size=new.shape)
    rng = np.random.default_rng(4)
    S, mean = np.cov(rows.T), rows.mean(axis=0)
    if conditional == "gaussian":  # rows for which the one normal model is true
        new = rng.multivariate_normal(mean, S, size=2000)
    model = by_model(rule, region="ideal", conditional=conditional)
    model.fit(rows, labels)
    assert model.widening_ >= 1
    complete = model.predict(new)
    for tau in (0.7, 0.9):
        early = model.decide_early(new, reliability=tau)
        before = early.time < 8
        assert before.mean() > 0.2
        n = before.sum()
        agreement = np.mean((early.label == complete)[before])
        assert agreement > tau - 3 * np.sqrt(tau * (1 - tau) / n), (tau, agreement)


def test_it_decides_before_the_ellipsoid():
    rows, labels = series(300, 12)
    times = {}
    for region in ("ideal", "ellipsoid"):
        model = by_model(FisherDiscriminant(shrinkage=None), region=region).fit(rows, labels)
        times[region] = model.decide_early(rows).time
    assert times["ideal"].mean() < times["ellipsoid"].mean()


def test_streams_state_the_same_probability():
    model = by_model(LinearDiscriminantAnalysis(), region="ideal").fit(X, y)
    path = model.reliability_path(NEW[:3])
    for i in range(3):
        stream = model.stream()
        assert_allclose([stream.push(v).reliability for v in NEW[i]], path[i], rtol=1e-9)
    assert_array_equal(path[:, -1], 1)
