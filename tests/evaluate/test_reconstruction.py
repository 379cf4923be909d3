"""What a subspace leaves of the rows themselves."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA

from separatrix import LDG, FisherDiscriminant, KernelLDG, MarginMaximizingDiscriminant
from separatrix.evaluate import reconstruction_error
from tests.discovery import labelled


def test_of_principal_components_it_is_the_variance_left_out():
    X, _ = labelled(80, 6)
    centred = X - X.mean(axis=0)
    variances = np.linalg.eigvalsh(centred.T @ centred / 80)[::-1]
    for k in (1, 3, 6):
        error = reconstruction_error(PCA(k).fit(X), X)
        assert_allclose(error, variances[k:].sum(), atol=1e-10)


@pytest.mark.parametrize(
    "model",
    [
        LDG(2, gamma=0.7, n_neighbors=3),
        MarginMaximizingDiscriminant(2),
        FisherDiscriminant(2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_supervised_directions_give_up_more(model):
    X, y = labelled(80, 6)
    error = reconstruction_error(model.fit(X, y), X)
    assert error > reconstruction_error(PCA(2).fit(X), X)
    # coordinates survive the way there and back
    Z = model.transform(X)
    assert_allclose(model.transform(model.inverse_transform(Z)), Z, atol=1e-9)


def test_orthonormal_directions_lose_what_is_orthogonal_to_them():
    X, y = labelled(80, 6)
    model = LDG(2, gamma=0.7, n_neighbors=3).fit(X, y)
    centred = X - model.mean_
    lost = np.sum(centred**2) - np.sum((centred @ model.components_.T) ** 2)
    assert_allclose(reconstruction_error(model, X), lost / 80)


def test_a_kernel_has_no_way_back():
    X, y = labelled(40, 4)
    model = KernelLDG(2, gamma=0.7, n_neighbors=3).fit(X, y)
    assert not hasattr(model, "inverse_transform")
    with pytest.raises(TypeError, match="KernelLDG has no inverse_transform"):
        reconstruction_error(model, X)
