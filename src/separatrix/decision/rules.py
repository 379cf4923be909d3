"""Rules that decide on a class from Gaussian densities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from separatrix.linalg import (
    EPS,
    Array,
    SingularMatrixError,
    cholesky_whitener,
    range_and_null,
)

ASSUMED_VARIANCE = 1e-9
"""Variance that a rule assumes along a direction without any, as a share of the variance that
the class means have along such directions. About half of the digits: the direction decides
before all others, and where it does not decide the others have digits left to do so."""


COVARIANCE_EPS = 1e-13
"""Relative precision of a covariance in a subspace: its entries are sums over all rows and
features, which its own order does not tell."""


class LinearRule(NamedTuple):
    """Scores ``z @ coef.T + intercept``, one column a class; the largest wins."""

    coef: Array
    intercept: Array

    def scores(self, Z: Array) -> Array:
        """Log-posteriors of the classes up to a common term, (n_samples, n_classes)."""
        return Z @ self.coef.T + self.intercept

    def decision(self, Z: Array) -> Array:
        """The scores, or for two classes the log-odds of the second."""
        scores = self.scores(Z)
        return scores[:, 1] - scores[:, 0] if len(self.coef) == 2 else scores

    def calibrated(self, slope: float, offsets: Array, log_priors: Array) -> LinearRule:
        """The rule with all but the priors times a slope, and offsets added."""
        allowed = np.isfinite(log_priors)
        likelihoods = np.where(allowed, self.intercept, 0.0) - np.where(allowed, log_priors, 0.0)
        return LinearRule(slope * self.coef, slope * likelihoods + log_priors + offsets)

    @property
    def linear(self) -> LinearRule:
        """The decision as a linear function: one row for two classes."""
        if len(self.coef) != 2:
            return self
        return LinearRule(self.coef[1:] - self.coef[:1], self.intercept[1:] - self.intercept[:1])


class ThresholdRule(NamedTuple):
    """Two classes on either side of a threshold on a line.

    Attributes
    ----------
    sign : float
        1 where the second class lies above the threshold, -1 where it lies below.
    threshold : float
        As a coordinate that grows towards the second class; infinite where a class is excluded.
    slope : float
        Log-odds per unit of the coordinate.
    """

    sign: float
    threshold: float
    slope: float

    def scores(self, Z: Array) -> Array:
        """Log-posteriors of the classes up to a common term, (n_samples, 2)."""
        if np.isfinite(self.threshold):
            odds = self.slope * self.decision(Z)
            return np.column_stack([np.zeros(len(Z)), odds])
        excluded = np.where([self.threshold < 0, self.threshold > 0], -np.inf, 0.0)
        odds = self.slope * self.sign * Z[:, 0].astype(np.float64)
        return np.column_stack([np.zeros(len(Z)), odds]) + excluded

    def decision(self, Z: Array) -> Array:
        """Signed distance to the threshold."""
        return self.sign * Z[:, 0].astype(np.float64) - self.threshold

    @property
    def linear(self) -> LinearRule:
        """The decision as a linear function, with one row."""
        return LinearRule(np.array([[self.sign]]), np.array([-self.threshold]))


def linear_gaussian_rule(means: Array, covariance: Array, priors: Array) -> LinearRule:
    """Bayes' rule for Gaussian classes with a common covariance.

    The score of class c is its log-density plus log-prior, up to a term common to all classes:
    ``(Σ⁻¹ μ_c)·z - μ_c·Σ⁻¹ μ_c / 2 + log π_c``.

    A singular Σ has the answer of a vanishing ridge. In units of the total standard deviation of
    each coordinate (within classes and of their means), a direction whose variance is numerical
    zero is given the variance ``ASSUMED_VARIANCE`` times the largest that the class means have
    along such directions: these decide first, by the nearest mean, and the others decide between
    classes whose means agree there. A direction along which the means agree as well has no weight.
    A row that has the coordinates of a class mean along all directions without variance gets the
    same answer in all coordinates.

    Parameters
    ----------
    means : array (n_classes, k)
    covariance : array (k, k)
        Symmetric and positive semidefinite.
    priors : array (n_classes,)
        A prior of zero excludes the class.

    Examples
    --------
    >>> rule = linear_gaussian_rule(np.array([[0.0], [2.0]]), np.eye(1), np.array([0.5, 0.5]))
    >>> scores = np.array([[0.9], [1.1]]) @ rule.coef.T + rule.intercept
    >>> scores.argmax(axis=1)
    array([0, 1])
    >>> point_masses = linear_gaussian_rule(
    ...     np.array([[0.0], [2.0]]), np.zeros((1, 1)), np.array([0.5, 0.5])
    ... )
    >>> (np.array([[0.9], [1.1]]) @ point_masses.coef.T + point_masses.intercept).argmax(axis=1)
    array([0, 1])
    """
    with np.errstate(divide="ignore"):
        log_priors = np.log(priors)
    coef = _solve_covariance(covariance, means, priors)
    return LinearRule(coef, log_priors - 0.5 * np.einsum("ij,ij->i", coef, means))


def _solve_covariance(covariance: Array, means: Array, priors: Array) -> Array:
    """``Σ⁻¹ μ_c`` in rows, for a singular Σ as `linear_gaussian_rule` defines it."""
    centre = priors @ means / priors.sum()
    deviations = np.sqrt(priors)[:, None] * (means - centre)
    between = np.sum(deviations**2, axis=0)
    try:
        cholesky_whitener(covariance, beside=between, eps=COVARIANCE_EPS)
    except SingularMatrixError:
        scale = np.sqrt(np.diagonal(covariance).clip(0.0) + between)
        scale[scale == 0] = 1.0
        within = covariance / scale / scale[:, None]
        return _solve_singular(within, means / scale, deviations / scale) / scale
    return np.linalg.solve(covariance, means.T).T


def _solve_singular(within: Array, means: Array, deviations: Array) -> Array:
    """`_solve_covariance` where coordinates have unit variance, and `within` has no inverse."""
    largest = _largest_eigenvalue(deviations)
    parts = range_and_null(within, beside=largest, eps=COVARIANCE_EPS)
    spread = _largest_eigenvalue(deviations @ parts.null)
    # dividing by the assumed variance would magnify a numerical zero into a difference
    null = parts.null if spread > len(within) * COVARIANCE_EPS else parts.null[:, :0]
    V = np.hstack([parts.range, null])
    evals = np.append(parts.evals, np.full(null.shape[1], ASSUMED_VARIANCE * spread))
    return (means @ V / evals) @ V.T


def _largest_eigenvalue(H: Array) -> float:
    """The largest eigenvalue of HᵀH."""
    return float(np.linalg.norm(H, 2)) ** 2 if H.size else 0.0


def nearest_mean_rule(means: Array) -> LinearRule:
    """The class whose mean is nearest: the Gaussian rule for equal priors and spheres.

    Examples
    --------
    >>> rule = nearest_mean_rule(np.array([[0.0, 0.0], [2.0, 0.0]]))
    >>> (np.array([[0.9, 5.0]]) @ rule.coef.T + rule.intercept).argmax()
    np.int64(0)
    """
    n_classes, k = means.shape
    return linear_gaussian_rule(means, np.eye(k), np.full(n_classes, 1 / n_classes))


def quadratic_gaussian_scores(Z: Array, means: Array, covariances: Array, priors: Array) -> Array:
    """Log-density plus log-prior of each class, when each has its own covariance.

    A singular covariance has the answer of a small ridge. In units of the total standard deviation
    of each coordinate (within all classes and of their means), the variance of a class along a
    direction where it is numerical zero is taken to be ``ASSUMED_VARIANCE``.

    Parameters
    ----------
    Z : array (n_samples, k)
    means : array (n_classes, k)
    covariances : array (n_classes, k, k)
        Maximum-likelihood covariances, positive semidefinite.
    priors : array (n_classes,)

    Returns
    -------
    array (n_samples, n_classes)

    Examples
    --------
    >>> wide_and_narrow = np.array([[[9.0]], [[1.0]]])
    >>> Z = np.array([[0.0], [4.0]])
    >>> quadratic_gaussian_scores(Z, np.zeros((2, 1)), wide_and_narrow, np.full(2, 0.5)).argmax(1)
    array([1, 0])
    """
    with np.errstate(divide="ignore"):
        log_priors = np.log(priors)
    scale = np.sqrt(total_variance(means, covariances, priors))
    scale[scale == 0] = 1.0
    constant = np.log(scale).sum() + 0.5 * len(scale) * np.log(2 * np.pi)
    scores = np.empty((len(Z), len(means)))
    for c, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        L = cholesky_factor(covariance / scale / scale[:, None])
        white = scipy.linalg.solve_triangular(L, ((Z - mean) / scale).T, lower=True)
        log_volume = np.log(np.abs(np.diagonal(L))).sum() + constant
        scores[:, c] = log_priors[c] - 0.5 * np.sum(white**2, axis=0) - log_volume
    return scores


def total_variance(means: Array, covariances: Array, priors: Array) -> Array:
    """Variance of each coordinate within classes and of their means."""
    within = priors @ np.diagonal(covariances, axis1=1, axis2=2).clip(0.0)
    return within + priors @ (means - priors @ means / priors.sum()) ** 2


def total_covariance(means: Array, covariances: Array, priors: Array) -> Array:
    """Covariance within classes and of their means, whose diagonal is `total_variance`.

    Examples
    --------
    >>> total_covariance(np.array([[0.0], [2.0]]), np.ones((2, 1, 1)), np.full(2, 0.5))
    array([[2.]])
    """
    H = np.sqrt(priors)[:, None] * (means - priors @ means / priors.sum())
    return np.tensordot(priors, covariances, axes=1) + H.T @ H


def cholesky_factor(covariance: Array) -> Array:
    """L with ``L Lᵀ = Σ``, for a singular Σ as `quadratic_gaussian_scores` defines it.

    Entries on the diagonal may be negative.
    """
    try:
        factor = cholesky_whitener(covariance, beside=1.0, eps=COVARIANCE_EPS)
    except SingularMatrixError:
        parts = range_and_null(covariance, beside=1.0, eps=COVARIANCE_EPS)
        evals = np.append(parts.evals, np.full(parts.null.shape[1], ASSUMED_VARIANCE))
        V = np.hstack([parts.range, parts.null])
        return np.linalg.qr((V * np.sqrt(evals)).T)[1].T
    return factor.scale[:, None] * factor.L


def check_priors(priors: ArrayLike | None, classes: Array) -> Array | None:
    """Priors as a vector that sums to one; raise where they are not probabilities."""
    if priors is None:
        return None
    given = np.asarray(priors, dtype=np.float64)
    if given.shape != (len(classes),):
        raise ValueError(
            f"priors has shape {given.shape}, expected one value for each of the "
            f"{len(classes)} classes {classes.tolist()[:10]}"
        )
    if (given < 0).any() or not np.isclose(given.sum(), 1.0):
        raise ValueError(f"priors must be non-negative and sum to 1, got {given.tolist()}")
    return given / given.sum()


# Gaussians of neighbours -----------------------------------------------------------------------


class Quadratic(NamedTuple):
    """Functions ``f(x) = xᵀ Q x + c·x + b``, one for each entry of `b`.

    Attributes
    ----------
    Q : array (..., r), (..., r, r) or None
        The diagonal of Q when it has as many axes as `c`, the matrix when one more; None for
        linear functions.
    c : array (..., r)
    b : array (...)

    Examples
    --------
    >>> parabola = Quadratic(np.array([1.0, 0.0]), np.array([0.0, 3.0]), np.array(-1.0))
    >>> float(parabola(np.array([2.0, 1.0])))
    6.0
    """

    Q: Array | None
    c: Array
    b: Array

    def __call__(self, x: Array) -> Array:
        """Values at points (..., r), whose leading axes go along with those of `b`."""
        slope = self.c
        if self.Q is not None:
            diagonal = self.Q.ndim == self.c.ndim
            slope = slope + (self.Q * x if diagonal else (self.Q @ x[..., None])[..., 0])
        return np.einsum("...i,...i->...", slope, x) + self.b


def gaussian_discriminants(offsets: Array, covariances: Array, log_priors: Array) -> Quadratic:
    """Log-prior plus log-density of Gaussians, as functions of the step from a point of reference.

    Parameters
    ----------
    offsets : array (..., r)
        The point of reference less the mean.
    covariances : array (..., r) or (..., r, r)
        Variances of independent features, all positive, or matrices. Eigenvalues of a matrix that
        are numerical zero beside its largest are raised to the smallest that are not.
    log_priors : array (...)

    Examples
    --------
    >>> at_the_mean = gaussian_discriminants(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
    >>> at_the_mean(np.array([[0.0], [1.0]])).round(3)
    array([-0.919, -1.419])
    """
    if covariances.ndim == offsets.ndim:
        P = 1 / covariances
        pull, log_volume = P * offsets, np.log(covariances).sum(axis=-1)
    else:
        P, log_volume = _invert_covariances(covariances)
        pull = (P @ offsets[..., None])[..., 0]
    distance = np.einsum("...i,...i->...", offsets, pull)
    constant = offsets.shape[-1] * np.log(2 * np.pi)
    P *= -0.5
    np.negative(pull, out=pull)
    return Quadratic(P, pull, log_priors - 0.5 * (distance + log_volume + constant))


def _invert_covariances(covariances: Array) -> tuple[Array, Array]:
    """Inverses and logarithms of determinants, as `gaussian_discriminants` defines them."""
    try:
        L = np.linalg.cholesky(covariances)
    except np.linalg.LinAlgError:
        evals, V = np.linalg.eigh(covariances)
        least = covariances.shape[-1] * EPS * evals[..., -1:]
        evals = np.maximum(evals, np.where(least > 0, least, np.finfo(np.float64).tiny))
        return (V / evals[..., None, :]) @ V.swapaxes(-1, -2), np.log(evals).sum(axis=-1)
    diagonal = np.diagonal(L, axis1=-2, axis2=-1)
    return np.linalg.inv(covariances), 2 * np.log(diagonal).sum(axis=-1)
