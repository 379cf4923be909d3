"""Matrices with a known answer."""

from __future__ import annotations

import numpy as np


def orthonormal(rng, n, k):
    """k orthonormal columns."""
    return np.linalg.qr(rng.standard_normal((n, k)))[0]


def symmetric(rng, evals, n=None):
    """A matrix of order n with these eigenvalues; the others are zero."""
    V = orthonormal(rng, n or len(evals), len(evals))
    return (V * evals) @ V.T
