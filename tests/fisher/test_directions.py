"""Fisher's directions on matrices alone."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose
from sklearn.covariance import ledoit_wolf as ledoit_wolf_of_rows

from separatrix import ClassMoments, FisherDiscriminant
from separatrix.fisher import directions
from separatrix.fisher.directions import (
    count_wanted_axes,
    fisher_directions,
    ledoit_wolf,
    reduce_to_leading_axes,
    shrink,
    split_within,
)
from separatrix.linalg import SingularMatrixError
from separatrix.moments.labelled import LabelledRows
from separatrix.moments.spectra import fourth_moment
from tests.discovery import TALL


def test_directions_are_those_of_the_generalized_eigenproblem(rng):
    A, Hb = rng.standard_normal((9, 5)), rng.standard_normal((2, 5))
    Sw = A.T @ A
    found = fisher_directions(Sw, Hb)
    assert_allclose(found.W.T @ Sw @ found.W, np.eye(2), atol=1e-12)
    evals = scipy.linalg.eigh(Hb.T @ Hb, Sw, eigvals_only=True)[::-1]
    assert_allclose(found.criterion, evals[:2])


def test_a_singular_scatter_is_the_limit_of_a_vanishing_ridge(rng):
    A, Hb = rng.standard_normal((3, 6)), rng.standard_normal((4, 6))
    Sw = A.T @ A
    found = fisher_directions(Sw, Hb)
    ridged = fisher_directions(Sw + 1e-7 * np.eye(6), Hb)
    for k in (3, 4):  # three dimensions without scatter within classes come first
        angles = scipy.linalg.subspace_angles(found.W[:, :k], ridged.W[:, :k])
        assert angles.max() < 1e-4
    assert_allclose(Sw @ found.W[:, :3], 0, atol=1e-10)
    between = found.W.T @ Hb.T @ Hb @ found.W
    assert_allclose(between, np.diag(np.diagonal(between)), atol=1e-9)


def test_the_split_has_perfect_directions_and_white_ones(rng):
    A, Hb = rng.standard_normal((3, 6)), rng.standard_normal((2, 6))
    Sw = A.T @ A
    perfect, between, rank, find_whitener = split_within(Sw, Hb)
    assert rank == 3
    to_white = find_whitener()
    assert_allclose(perfect.T @ perfect, np.eye(2), atol=1e-12)
    assert_allclose(Sw @ perfect, 0, atol=1e-10)
    assert_allclose(perfect.T @ Hb.T @ Hb @ perfect, np.diag(between), atol=1e-10)
    assert_allclose(to_white.T @ Sw @ to_white, np.eye(3), atol=1e-10)


def test_features_that_never_vary_within_classes_need_no_eigenvectors(rng, monkeypatch):
    A, Hb = rng.standard_normal((20, 8)), rng.standard_normal((4, 8))
    A[:, 5:] = 0
    with monkeypatch.context() as without:
        without.setattr(directions, "range_and_null", raise_singular)
        quick = fisher_directions(A.T @ A, Hb, n_samples=1000)
    monkeypatch.setattr(directions, "cholesky_whitener", raise_singular)
    slow = fisher_directions(A.T @ A, Hb, n_samples=1000)
    assert quick.rank == slow.rank == 5
    assert_allclose(quick.criterion, slow.criterion, atol=1e-12)
    assert_allclose(np.abs(quick.W), np.abs(slow.W), atol=1e-10)
    assert_allclose(quick.within, slow.within, atol=1e-10)


def raise_singular(*_args, **_kwargs):
    raise SingularMatrixError


def test_the_shrinkage_is_that_of_ledoit_and_wolf():
    X, _ = TALL
    moments = ClassMoments.from_data(X, np.zeros(90))
    rows = LabelledRows(X, np.zeros(90, int), np.array([0]))
    alpha = ledoit_wolf(moments.Sw, fourth_moment(moments, rows), 90, 6)
    expected, of_rows = ledoit_wolf_of_rows(X)
    assert_allclose(alpha, of_rows)
    assert_allclose(shrink(moments.Sw, alpha, 6) / 90, expected)


@pytest.mark.parametrize(("pca", "n"), [(2, 2), (0.5, 1), (0.75, 2), (1.0, 4)])
def test_axes_are_counted_or_by_their_share(pca, n):
    assert count_wanted_axes(np.array([6.0, 3.0, 2.0, 1.0]), 12.0, pca) == n
    # ten tenths add up to less than one
    assert count_wanted_axes(np.full(10, 0.1), 1.0, 1.0) == 10


def test_leading_axes_keep_the_moments_along_them():
    X, y = TALL
    small, lift = reduce_to_leading_axes(ClassMoments.from_data(X, y), 3)
    W = lift(np.eye(3))
    expected = ClassMoments.from_data((X - X.mean(axis=0)) @ W, y)
    assert_allclose(small.Sw, expected.Sw, atol=1e-9)
    assert_allclose(small.St, np.diag(np.diagonal(small.St)), atol=1e-9)


def test_features_that_go_together_are_not_collinear_in_single_precision(rng):
    y = np.arange(5000) % 3
    X = rng.standard_normal((5000, 1)) + 0.01 * rng.standard_normal((5000, 8))
    X[:, 0] += 0.02 * (y == 1)
    X[:, 1] += 0.02 * (y == 2)
    single, double = (FisherDiscriminant(shrinkage=None).fit(X.astype(t), y) for t in ("f4", "f8"))
    assert len(single.components_) == 2
    assert abs(single.score(X.astype("f4"), y) - double.score(X, y)) < 0.005


def test_the_unit_of_weights_does_not_matter(rng):
    X, y = TALL
    expected = FisherDiscriminant(shrinkage=None).fit(X, y)
    found = FisherDiscriminant(shrinkage=None).fit(X, y, sample_weight=np.full(len(y), 1e26))
    assert_allclose(found.explained_ratio_, expected.explained_ratio_, atol=1e-9)
