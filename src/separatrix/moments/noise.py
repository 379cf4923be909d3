"""Gaussian noise on moments, calibrated so that they tell little about any single row.

The rows must have been shortened to a length that is agreed on before: one row then changes
counts, sums and products by a known amount at most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from separatrix.linalg import EPS, Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.scatter import Scatter

MAX_NOISY_FEATURES = 5000
"""Largest number of features of moments that get noise: as many squared numbers are drawn."""

SENSITIVITY = 3.0**0.5
"""Largest change, when a row comes or goes, of a count, a sum of rows in units of the length and
a sum of their products in units of its square, together."""


class NoiseLevel(NamedTuple):
    """The promise that noise gives: (ε, δ)-differential privacy for one row more or less.

    Attributes
    ----------
    epsilon, delta : float
    clip : float
        Length that no row exceeds.
    """

    epsilon: float
    delta: float
    clip: float

    def check(self) -> None:
        """Raise for values that promise nothing."""
        for name, value, allowed in (
            ("epsilon", self.epsilon, 0 < self.epsilon < np.inf),
            ("delta", self.delta, 0 < self.delta < 1),
            ("clip", self.clip, 0 < self.clip < np.inf),
        ):
            if not allowed:
                words = "a number in (0, 1)" if name == "delta" else "a positive number"
                raise ValueError(f"{name}={value!r} is not valid: it must be {words}")

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise, in the units of `SENSITIVITY`."""
        return gaussian_sigma(self.epsilon, self.delta, SENSITIVITY)


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The smallest standard deviation of Gaussian noise that is (ε, δ)-differentially private.

    The analytic mechanism: with a = Δ/2σ and b = εσ/Δ the noise is private exactly when
    ``Φ(a - b) - e^ε Φ(-a - b) ≤ δ``.

    References
    ----------
    Balle and Wang, Improving the Gaussian mechanism for differential privacy: analytical
    calibration and optimal denoising, ICML (2018), theorem 8.

    Examples
    --------
    >>> round(gaussian_sigma(1.0, 1e-5), 2)
    3.73
    """

    def excess(log_sigma: float) -> float:
        a, b = 0.5 * np.exp(-log_sigma), epsilon * np.exp(log_sigma)
        # e^ε Φ(-a - b) by logarithms: e^ε overflows where Φ underflows
        return float(ndtr(a - b) - np.exp(epsilon + log_ndtr(-a - b)) - delta)

    # monotone in σ; on logarithms one bracket serves every ε and δ
    log_sigma = brentq(excess, -40.0, 40.0, xtol=1e-12)
    return sensitivity * float(np.exp(log_sigma))


def clip_rows(X: Array, clip: float) -> Array:
    """Rows with those longer than `clip` shortened to it.

    Examples
    --------
    >>> clip_rows(np.array([[3.0, 4.0], [0.3, 0.4]]), 1.0)
    array([[0.6, 0.8],
           [0.3, 0.4]])
    """
    lengths = np.linalg.norm(X, axis=1)
    return X * np.minimum(1.0, clip / np.where(lengths > 0, lengths, clip))[:, None]


def check_lengths(moments: ClassMoments, clip: float) -> None:
    """Raise when moments show that some rows were longer than `clip`."""
    means = moments.means[moments.counts > 0]
    counts = moments.counts[moments.counts > 0]
    squares = moments.trace_within() + float(counts @ np.sum(means**2, axis=1))
    if squares > (1 + 1e-9) * clip**2 * moments.n_samples:
        longest = float(np.sqrt(squares / moments.n_samples))
        raise ValueError(
            f"clip={clip:g}, but rows were longer: their root mean square length is "
            f"{longest:.3g}. Shorten rows to this length before the fit (fit --max-norm)"
        )


def add_noise(moments: ClassMoments, level: NoiseLevel, rng: np.random.Generator) -> ClassMoments:
    """Moments made of noisy counts, sums and products; nothing else of the rows enters.

    What makes moments of them comes after the noise and so reveals nothing: counts are at least
    one, means no longer than rows may be, and the scatter has no negative eigenvalue.
    """
    level.check()
    if moments.n_features > MAX_NOISY_FEATURES:
        raise ValueError(
            f"noise has a number for each pair of {moments.n_features} features: reduce them to "
            f"{MAX_NOISY_FEATURES} or fewer first"
        )
    check_lengths(moments, level.clip)
    sigma, clip, d = level.sigma, level.clip, moments.n_features
    counts, means = moments.counts, moments.means
    noisy = np.maximum(counts + sigma * rng.standard_normal(len(counts)), 1.0)
    sums = counts[:, None] * means + sigma * clip * rng.standard_normal(means.shape)
    centres = clip_rows(sums / noisy[:, None], clip)
    scatters = []
    for c, scatter in enumerate(moments.scatters):
        at = slice(c, c + 1) if moments.per_class else slice(None)
        products = scatter.matrix() + (means[at].T * counts[at]) @ means[at]
        products += sigma * clip**2 * _symmetric_noise(d, rng)
        within = products - (centres[at].T * noisy[at]) @ centres[at]
        scatters.append(Scatter(d, _nearest_positive(within)))
    return ClassMoments(
        moments.classes,
        noisy,
        centres,
        np.zeros(d),  # an origin that is a row of the data would reveal it
        scatters,
        max(moments.eps, EPS),
        per_class=moments.per_class,
    )


def _symmetric_noise(order: int, rng: np.random.Generator) -> Array:
    """A symmetric matrix whose upper triangle is standard normal."""
    upper = np.triu(rng.standard_normal((order, order)))
    return upper + np.triu(upper, 1).T


def _nearest_positive(S: Array) -> Array:
    """The nearest positive semidefinite matrix."""
    evals, V = np.linalg.eigh(S)
    return (V * evals.clip(0.0)) @ V.T
