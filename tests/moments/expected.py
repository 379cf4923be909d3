"""Moments as a textbook defines them, and how to compare them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

SHAPES = {"dense form": (200, 7), "thin form": (30, 80)}
every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def textbook(X, y, weights=None):
    """Sw and Sb as written in a textbook, in twice the precision."""
    X = X.astype(np.longdouble)
    w = np.ones(len(X)) if weights is None else weights
    mean = np.average(X, axis=0, weights=w)
    Sw = Sb = 0
    for c in np.unique(y):
        Z, v = X[y == c], w[y == c]
        m = np.average(Z, axis=0, weights=v)
        Sw = Sw + (Z - m).T @ ((Z - m) * v[:, None])
        Sb = Sb + v.sum() * np.outer(m - mean, m - mean)
    return Sw.astype(float), Sb.astype(float)


def assert_equal_moments(a, b, rtol=1e-10):
    assert_array_equal(a.classes, b.classes)
    assert_allclose(a.counts, b.counts, rtol=rtol)
    assert_allclose(a.means, b.means, rtol=rtol, atol=rtol)
    for name in ("Sw", "Sb", "St"):
        expected = getattr(b, name)
        assert_allclose(getattr(a, name), expected, atol=rtol * np.abs(expected).max())
    if a.per_class:
        expected = b.class_scatters
        assert_allclose(a.class_scatters, expected, atol=rtol * np.abs(expected).max())
