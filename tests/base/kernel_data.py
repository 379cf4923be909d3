"""Kernel estimators, data for them, and how to compare their models."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_circles

from separatrix import (
    KernelFisherDiscriminant,
    KernelIPCAC,
)
from tests.discovery import SHAPES, labelled, same_up_to_sign

PAIR = labelled(120, 5, n_classes=2, seed=2)
WIDE_PAIR = labelled(24, 60, n_classes=2, seed=2)
DATA = {**SHAPES, "pair": PAIR, "wide pair": WIDE_PAIR}
every_data = pytest.mark.parametrize(("X", "y"), DATA.values(), ids=DATA)
MODELS = {
    "fisher": KernelFisherDiscriminant(),
    "full": KernelIPCAC(),
    "truncated": KernelIPCAC(truncate=True),
    "variance": KernelIPCAC(variance=0.95),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
CIRCLES = make_circles(240, noise=0.15, factor=0.4, random_state=0)


def new_rows(X, n=200):
    return X.mean(axis=0) + 2 * np.random.default_rng(0).normal(size=(n, X.shape[1]))


def assert_same_model(ours, linear, X, atol=1e-6):
    new = new_rows(X)
    Z, expected = ours.transform(new), linear.transform(new)
    scale = np.abs(expected).max()
    assert_allclose(same_up_to_sign(expected, Z), expected, atol=atol * scale)
    assert_array_equal(ours.predict(new), linear.predict(new))
    scores = linear.decision_function(new)
    assert_allclose(ours.decision_function(new), scores, atol=atol * np.abs(scores).max())
    assert_allclose(ours.explained_ratio_, linear.explained_ratio_, atol=atol)
    assert_allclose(ours.predict_proba(new), linear.predict_proba(new), atol=1e-4)


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H
