"""Discriminants for more features than samples."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import (
    DirectDiscriminant,
    FisherDiscriminant,
    GSVDDiscriminant,
    NullSpaceDiscriminant,
)
from tests.discovery import TALL, WIDE
from tests.fisher.scatters import every_shape, scatters


def test_null_space_projections_have_no_training_scatter():
    X, y = WIDE
    model = NullSpaceDiscriminant().fit(X, y)
    W = model.components_.T
    Sw, Sb = scatters(X, y)
    assert model.uses_null_space_
    assert_allclose(W.T @ W, np.eye(2), atol=1e-12)
    assert np.abs(W.T @ Sw @ W).max() < 1e-12 * np.trace(Sw)
    between = np.diag(W.T @ Sb @ W)
    assert_allclose(W.T @ Sb @ W, np.diag(between), atol=1e-9 * between[0])
    assert between[0] > between[1]
    assert_allclose(model.explained_ratio_, between / between.sum())


def test_without_a_null_space_fisher_stands_in_and_says_so():
    with pytest.warns(UserWarning, match="no null space"):
        model = NullSpaceDiscriminant().fit(*TALL)
    assert not model.uses_null_space_
    assert_array_equal(
        model.components_, FisherDiscriminant(shrinkage=None).fit(*TALL).components_
    )


@every_shape
@pytest.mark.parametrize("nu", [0.0, 0.3])
def test_direct_discriminant_works_in_the_range_of_sb(X, y, nu):
    model = DirectDiscriminant(regularization=nu).fit(X, y)
    W = model.components_.T
    Sw, Sb = scatters(X, y)
    assert_allclose(W.T @ (nu * Sb + Sw) @ W, np.eye(2), atol=1e-10)
    off_diagonal = W.T @ Sb @ W
    assert_allclose(off_diagonal, np.diag(np.diag(off_diagonal)), atol=1e-9)
    assert (np.diff(np.diag(off_diagonal)) < 0).all()
    means = model.means_ - model.mean_
    assert_allclose(W - np.linalg.pinv(means) @ means @ W, 0, atol=1e-10)


@every_shape
def test_gsvd_diagonalises_both_scatters(X, y):
    model = GSVDDiscriminant().fit(X, y)
    W = model.components_.T
    Sw, Sb = scatters(X, y)
    assert_allclose(W.T @ Sb @ W, np.diag(model.alpha_**2), atol=1e-10)
    assert_allclose(W.T @ Sw @ W, np.diag(model.beta_**2), atol=1e-10)
    assert_allclose(W.T @ (Sb + Sw) @ W, np.eye(2), atol=1e-10)
