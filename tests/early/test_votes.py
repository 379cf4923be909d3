"""Votes of several models, beside all models asked and measured in full."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix.early.votes import Vote, settle_votes


def ballots(n=400, n_models=4, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(n_models, 0.3), size=n)
    shares[shares < 1e-12] = 0.0
    classes = rng.integers(n_classes, size=(n, n_models))
    masses = 1 - rng.random((n, n_models)) ** 3
    masses[: n // 2] = 1 - (1 - masses[: n // 2]) / 20  # some that may be decided
    return shares, classes, masses


def in_full(shares, classes, masses, n_classes):
    backing = np.stack([np.sum(shares * (classes == c), axis=1) for c in range(n_classes)], axis=1)
    guess = backing.argmax(axis=1)
    return guess, np.sum(shares * masses * (classes == guess[:, None]), axis=1)


def settle(shares, classes, masses, least, ask_all, asked, measured):
    def ask(model, rows):
        asked[rows, model] += 1
        return Vote(model, rows, classes[rows, model])

    def measure(vote, at, needed):
        rows = vote.rows[at]
        measured[rows, vote.model] += 1
        mass = masses[rows, vote.model]
        return np.where(mass >= needed, mass, 0.9 * mass)  # below what is needed: not exact

    return settle_votes(shares, 3, least, ask, measure, ask_all=ask_all)


@pytest.mark.parametrize("ask_all", [False, True])
@pytest.mark.parametrize("least", [0.0, 0.3, 0.9, 0.99])
def test_what_may_be_decided_is_as_if_everything_were_asked(least, ask_all):
    shares, classes, masses = ballots()
    asked, measured = np.zeros((2, *shares.shape), dtype=int)
    guess, reliability = settle(shares, classes, masses, least, ask_all, asked, measured)
    expected_guess, expected = in_full(shares, classes, masses, 3)
    reliable = expected >= least
    assert reliable.any()
    assert_array_equal(guess[reliable], expected_guess[reliable])
    assert_allclose(reliability[reliable], expected[reliable], rtol=1e-12)
    assert np.all(reliability[~reliable] < least)
    assert asked.max() == 1
    assert measured.max() == 1
    if least == 0:
        assert_array_equal(guess, expected_guess)


def test_nobody_is_asked_about_rows_that_the_likeliest_model_leaves_open():
    shares = np.array([[0.8, 0.2], [0.8, 0.2], [0.4, 0.6]])
    classes = np.array([[0, 0], [0, 0], [1, 2]])
    masses = np.array([[0.5, 1.0], [0.99, 1.0], [1.0, 0.2]])
    asked, measured = np.zeros((2, 3, 2), dtype=int)
    guess, reliability = settle(shares, classes, masses, 0.9, False, asked, measured)
    assert_array_equal(asked, [[1, 0], [1, 1], [0, 1]])
    assert_array_equal(guess, [0, 0, 2])
    assert_allclose(reliability[1], 0.8 * 0.99 + 0.2)
    asked[:], measured[:] = 0, 0
    settle(shares, classes, masses, 0.9, True, asked, measured)
    assert_array_equal(asked, 1)


def test_rows_whose_models_disagree_too_much_are_not_measured():
    shares, classes = np.array([[0.7, 0.3], [0.95, 0.05]]), np.array([[0, 1], [0, 1]])
    asked, measured = np.zeros((2, 2, 2), dtype=int)
    settle(shares, classes, np.ones((2, 2)), 0.9, True, asked, measured)
    assert_array_equal(measured, [[0, 0], [1, 0]])


def test_a_model_with_less_than_half_of_the_mass_does_not_decide_alone():
    shares, classes = np.array([[0.4, 0.3, 0.3]]), np.array([[0, 1, 1]])
    asked, measured = np.zeros((2, 1, 3), dtype=int)
    guess, reliability = settle(shares, classes, np.ones((1, 3)), 0.5, False, asked, measured)
    assert_array_equal(guess, [1])
    assert_allclose(reliability, 0.6)
    assert_array_equal(measured, [[0, 1, 1]])
