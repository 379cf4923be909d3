"""Nonlinear shrinkage of a covariance: every eigenvalue moves by its own amount.

It needs the eigenvalues and the number of rows, no rows: models that shrink so merge and stream.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.linalg import EPS, Array, numerical_rank

MAX_EIGENVALUE_PAIRS = 2**22
"""Pairs of eigenvalues that are compared at once."""


class ShrunkEigenvalues(NamedTuple):
    """Eigenvalues of a covariance after shrinkage.

    Attributes
    ----------
    positive : array (r,)
        Those in place of the positive ones.
    null : float
        That in place of each zero.
    """

    positive: Array
    null: float


def quadratic_inverse(evals: Array, n_free: float, n_features: int) -> ShrunkEigenvalues:
    """Shrink eigenvalues by the quadratic-inverse formula of Ledoit and Wolf; the trace is kept.

    Sample eigenvalues are too wide apart: small ones are too small, large ones too large, the
    more so the fewer rows there are for a feature. Each is moved towards its neighbours by a
    smoothed Hilbert transform θ of the inverse eigenvalues, with H the density itself.

    Parameters
    ----------
    evals : array (r,)
        The positive eigenvalues of the sample covariance.
    n_free : float
        ν, degrees of freedom of the covariance: rows less the number of means taken off.
    n_features : int
        p. With no more rows than features the zeros are shrunk, too. Otherwise directions without
        variance have none in truth: they stay zero and do not count.

    References
    ----------
    Ledoit and Wolf, Quadratic shrinkage for large covariance matrices, Bernoulli 28 (2022).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((200, 100))  # the true eigenvalues are all one
    >>> evals = np.linalg.eigvalsh(rows.T @ rows / 200)
    >>> shrunk = quadratic_inverse(evals, 200, 100).positive
    >>> np.round([evals.min(), evals.max(), shrunk.min(), shrunk.max()], 1)
    array([0.1, 2.7, 0.5, 1.2])
    """
    r = len(evals)
    if r == 0:
        return ShrunkEigenvalues(evals, 0.0)
    wide = n_features > n_free
    p = n_features if wide else r
    c = p / (r if wide else n_free)
    h = min(c**2, c**-2) ** 0.35 / p**0.35
    L = 1 / evals
    theta, H = _smoothed_transforms(L, h)
    if wide:
        inverse = 1 / (L * (theta**2 + H**2))
        null = 1 / ((c - 1) * L.mean())
    else:
        weights = (1 - c) ** 2 + 2 * c * (1 - c) * theta + c**2 * (theta**2 + H**2)
        inverse, null = 1 / (L * weights), 0.0
    keep = evals.sum() / (inverse.sum() + (p - r) * null)
    return ShrunkEigenvalues(keep * inverse, float(keep * null))


def _smoothed_transforms(L: Array, h: float) -> tuple[Array, Array]:
    """θ_k and H_k: means over j of the two kernels at the differences ``L_j - L_k``."""
    theta, H = np.empty_like(L), np.empty_like(L)
    step = max(1, MAX_EIGENVALUE_PAIRS // len(L))
    for start in range(0, len(L), step):
        part = slice(start, start + step)
        D = L[:, None] - L[part]
        weights = L[:, None] / (D**2 + (h * L[:, None]) ** 2)
        theta[part] = np.mean(weights * D, axis=0)
        H[part] = np.mean(weights * h * L[:, None], axis=0)
    return theta, H


def shrink_nonlinearly(Sw: Array, n_free: float, n_features: int, eps: float = EPS) -> Array:
    """A scatter within classes with `quadratic_inverse` eigenvalues, in any subspace of its own.

    Parameters
    ----------
    Sw : array (k, k)
        Scatter sum, in all features or in a subspace that holds all rows.
    n_free : float
        Rows less the number of classes.
    n_features : int
        Number of features of the rows.
    eps : float
        Relative precision of the data.
    """
    evals, U = np.linalg.eigh(Sw)
    rank = numerical_rank(evals[::-1], len(Sw), eps=eps)
    if rank == 0 or n_free <= 0:
        return Sw
    # a scatter with a structure has more directions than its rows
    shrunk = quadratic_inverse(evals[-rank:] / n_free, max(n_free, rank), n_features)
    wanted = np.full(len(evals), shrunk.null)
    wanted[-rank:] = shrunk.positive
    return n_free * (U * wanted) @ U.T
