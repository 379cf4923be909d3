"""Rows and models for tests of models that learn, forget and merge."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import IPCAC, FisherDiscriminant, OnlineIPCAC, TruncatedIPCAC
from tests.discovery import labelled

MOMENT_MODELS = [
    FisherDiscriminant(shrinkage=None),
    FisherDiscriminant(shrinkage=0.1, pca=4),
    FisherDiscriminant(rule="quadratic", shrinkage=0.1),
    IPCAC(),
    TruncatedIPCAC(3),
    OnlineIPCAC(),
]
every_moment_model = pytest.mark.parametrize("model", MOMENT_MODELS, ids=str)


def shuffled(n, d, n_classes, seed=0):
    X, y = labelled(n, d, n_classes, seed)
    order = np.random.default_rng(0).permutation(n)
    return X[order], y[order]


DATA = {
    "two classes": shuffled(90, 6, 2),
    "three classes": shuffled(90, 6, 3),
    "wide": shuffled(30, 80, 3),
    "wide pair": shuffled(30, 80, 2),
}
every_data = pytest.mark.parametrize(("X", "y"), DATA.values(), ids=DATA)


def assert_equal_decisions(a, b, X, rtol=1e-8):
    """The same classes, directions and decisions, to eight digits: offsets come from a search."""
    assert_array_equal(a.classes_, b.classes_)
    for found, expected in (
        (a.components_, b.components_),
        (a.mean_, b.mean_),
        (a.decision_function(X), b.decision_function(X)),
    ):
        assert_allclose(found, expected, rtol=0, atol=rtol * np.abs(expected).max())


def assert_same_model(a, b, atol=1e-8):
    assert_array_equal(a.classes_, b.classes_)
    assert_allclose(a.components_, b.components_, atol=atol)
    assert_allclose(a.mean_, b.mean_, atol=atol)
    assert_allclose(a.intercept_, b.intercept_, rtol=1e-7, atol=atol)
    if getattr(a, "threshold_", None) is not None:
        assert_allclose(a.threshold_, b.threshold_, atol=atol)
