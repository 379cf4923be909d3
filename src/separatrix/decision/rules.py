"""Rules that decide on a class from Gaussian densities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from separatrix.linalg import Array


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

    Parameters
    ----------
    means : array (n_classes, k)
    covariance : array (k, k)
    priors : array (n_classes,)
        A prior of zero excludes the class.

    Examples
    --------
    >>> rule = linear_gaussian_rule(np.array([[0.0], [2.0]]), np.eye(1), np.array([0.5, 0.5]))
    >>> scores = np.array([[0.9], [1.1]]) @ rule.coef.T + rule.intercept
    >>> scores.argmax(axis=1)
    array([0, 1])
    """
    with np.errstate(divide="ignore"):
        log_priors = np.log(priors)
    coef = np.linalg.solve(covariance, means.T).T
    return LinearRule(coef, log_priors - 0.5 * np.einsum("ij,ij->i", coef, means))


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

    Parameters
    ----------
    Z : array (n_samples, k)
    means : array (n_classes, k)
    covariances : array (n_classes, k, k)
        Maximum-likelihood covariances, each with an inverse.
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
    scores = np.empty((len(Z), len(means)))
    for c, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
        L = np.linalg.cholesky(covariance)
        white = scipy.linalg.solve_triangular(L, (Z - mean).T, lower=True)
        log_volume = np.log(np.diagonal(L)).sum() + 0.5 * len(mean) * np.log(2 * np.pi)
        scores[:, c] = log_priors[c] - 0.5 * np.sum(white**2, axis=0) - log_volume
    return scores


def check_priors(priors: ArrayLike | None, classes: Array) -> Array | None:
    """Priors as a vector that sums to one, or an error that says what is wrong with them."""
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
        Variances of independent features, or matrices, each with an inverse.
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
        P = np.linalg.inv(covariances)
        pull, log_volume = (P @ offsets[..., None])[..., 0], np.linalg.slogdet(covariances)[1]
    distance = np.einsum("...i,...i->...", offsets, pull)
    constant = offsets.shape[-1] * np.log(2 * np.pi)
    P *= -0.5
    return Quadratic(P, -pull, log_priors - 0.5 * (distance + log_volume + constant))
