"""What each site changes in a merged model."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import FisherDiscriminant, merge
from separatrix.base.influence import site_influences
from tests.base.living import shuffled


def plain():
    return FisherDiscriminant(shrinkage=None)


def three_sites(change=lambda X: X, make=plain):
    X, y = shuffled(600, 5, 3)
    parts = [(X[i::3], y[i::3]) for i in range(3)]
    parts[2] = change(parts[2][0]), parts[2][1]
    return parts, [make().fit(*part) for part in parts]


def scaled():
    return make_pipeline(StandardScaler(), plain())


@pytest.mark.parametrize("make", [plain, scaled])
def test_influence_is_that_of_leaving_the_site_out(make):
    parts, models = three_sites(make=make)
    merged = merge(models)
    found = site_influences(models, merged)
    assert [site.rows for site in found] == [200, 200, 200]
    assert_allclose([site.share for site in found], 1 / 3)
    assert not any(site.strange for site in found)
    # the slow way: means of rows, in the covariance of all rows about the means of their sites
    X, y = (np.concatenate([part[i] for part in parts[:2]]) for i in (0, 1))
    means = np.stack([X[y == c].mean(axis=0) for c in range(3)])
    X_own, y_own = parts[2]
    own = np.stack([X_own[y_own == c].mean(axis=0) for c in range(3)])
    left = np.concatenate([X - means[y], X_own - own[y_own]])
    dof = len(left) - 6
    S = left.T @ left / dof
    counts = np.bincount(y), np.bincount(y_own)
    squares = np.array([d @ np.linalg.solve(S, d) for d in own - means]) * (dof - 5 - 1) / dof
    distances = np.sqrt(np.maximum(squares - 5 * (1 / counts[0] + 1 / counts[1]), 0))
    assert distances.max() > 0
    assert_allclose(found[2].shift, distances.max(), rtol=1e-9)
    assert found[2].shifted_class == distances.argmax()


def test_angle_is_zero_for_the_same_directions_and_grows():
    _, models = three_sites()
    same = site_influences([models[0]] * 2, merge([models[0]] * 2))
    assert all(site.angle < 1e-4 for site in same)  # arccos near one halves the digits
    _, turned = three_sites(lambda X: X[:, ::-1])
    odd = site_influences(turned, merge(turned))
    usual = site_influences(models, merge(models))
    assert odd[2].angle > 3 * max(site.angle for site in usual)


@pytest.mark.parametrize(
    ("change", "words"),
    [(lambda X: X + 1000, "standard deviations"), (lambda X: 30 * X, "")],
)
def test_a_site_in_other_units_is_strange(change, words):
    _, models = three_sites(change)
    found = site_influences(models, merge(models))[2]
    assert words in found.strange
    assert found.strange


@pytest.mark.parametrize(("n_rows", "n_features"), [(170, 60), (60, 300), (90, 29), (60, 26)])
def test_sites_of_one_population_are_not_strange(n_rows, n_features):
    """However many features there are; a shift of every feature is noticed all the same."""
    X, y = wide_rows(n_rows, n_features)
    halves = [(X[i::2], y[i::2]) for i in range(2)]
    models = [scaled().fit(*half) for half in halves]
    found = site_influences(models, merge(models))
    assert not any(site.strange for site in found)
    assert max(site.shift for site in found) < 2
    models[1] = scaled().fit(halves[1][0] + 100, halves[1][1])
    assert all(site.strange for site in site_influences(models, merge(models)))


def wide_rows(n_rows, n_features):
    """Two classes whose features depend on each other, as those of spectra do."""
    rng = np.random.default_rng(n_rows)
    y = np.arange(n_rows) // 2 % 2
    X = rng.normal(size=(n_rows, n_features)).cumsum(axis=1) + y[:, None]
    return X, y


def test_a_class_that_only_one_site_has_is_no_shift():
    X, y = shuffled(300, 4, 4)
    models = [FisherDiscriminant(shrinkage=None).fit(X[g], y[g]) for g in (y < 2, y >= 2)]
    found = site_influences(models, merge(models))
    assert np.isnan(found[0].shift)
    assert not found[0].strange
