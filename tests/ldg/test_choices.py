"""How rows judge."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from separatrix.ldg.choices import GAMMAS, choose_gamma
from separatrix.moments.labelled import LabelledRows
from separatrix.selection import neighbour_scores, vote_scores
from tests.discovery import labelled


def test_the_votes_of_several_numbers_of_neighbours_are_averaged():
    X, y = labelled(90, 6)
    X = X + 2 * np.random.default_rng(0).standard_normal(X.shape)
    args = X[:60], y[:60], X[60:], y[60:], np.array([1, 2, 6])
    alone = [neighbour_scores(*args, n_neighbors=k) for k in (1, 3, 5)]
    assert_allclose(vote_scores(*args), np.mean(alone, axis=0))


def test_one_lucky_value_does_not_decide():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = rng.standard_normal((80, 3))
    X[:, 0] += 6 * y
    good, bad = np.eye(3)[:, :1], np.eye(3)[:, 1:2]
    rows = LabelledRows(X, y, np.arange(2))

    def chosen(*projections):
        return choose_gamma(lambda train: (lambda Z, W=W: Z @ W for W in projections), rows, 1, 0)

    assert chosen(bad, good, bad, good, good).chosen == {"gamma": GAMMAS[4]}
    assert chosen(bad, bad, good, good, bad).chosen == {"gamma": GAMMAS[2]}
    assert chosen(good, good, good, good, good).chosen == {"gamma": np.inf}
    # slightly better than the whole space is not better than it
    nearly = good + 0.2 * bad
    assert chosen(nearly, nearly, good, good, good).chosen == {"gamma": np.inf}
