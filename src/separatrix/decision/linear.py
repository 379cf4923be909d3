"""Linear rules: Gaussian classes of one covariance, nearest means, a threshold on a line."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from separatrix.base.solution import Solution
from separatrix.linalg import (
    Array,
    SingularMatrixError,
    cholesky_whitener,
    range_and_null,
)
from separatrix.moments.class_moments import ClassMoments

RULES = ("linear", "quadratic", "nearest-mean", "cosine")
"""Rules that decide in the subspace of Fisher's discriminants."""

ASSUMED_VARIANCE = 1e-9
"""Variance that a rule assumes along a direction without any, as a share of the variance that
the class means have along such directions. About half of the digits: the direction decides
before all others, and where it does not decide the others have digits left to do so."""

COVARIANCE_EPS = 1e-13
"""Relative precision of a covariance in a subspace: its entries are sums over all rows and
features, which its own order does not tell."""


class LinearRule(NamedTuple):
    """Scores ``z @ coef.T + intercept``, one column a class; the largest wins.

    Attributes
    ----------
    coef : array (n_classes, k)
    intercept : array (n_classes,)
        Minus infinity excludes a class.
    unit_length : bool
        Whether rows are first divided by their lengths, so that only directions count.
    """

    coef: Array
    intercept: Array
    unit_length: bool = False

    def scores(self, Z: Array) -> Array:
        """Log-posteriors of the classes up to a common term, (n_samples, n_classes)."""
        if self.unit_length:
            lengths = np.linalg.norm(Z, axis=1, keepdims=True)
            Z = Z / np.where(lengths > 0, lengths, 1.0)
        return Z @ self.coef.T + self.intercept

    def calibrated(self, slope: float, offsets: Array, log_priors: Array) -> LinearRule:
        """The rule with all but the priors times a slope, and offsets added."""
        allowed = np.isfinite(log_priors)
        likelihoods = np.where(allowed, self.intercept, 0.0) - np.where(allowed, log_priors, 0.0)
        return self._replace(
            coef=slope * self.coef, intercept=slope * likelihoods + log_priors + offsets
        )

    @property
    def linear(self) -> LinearRule:
        """The decision as a linear function: one row for two classes."""
        if self.unit_length:
            raise AttributeError(
                'with rule="cosine" there is no coef_ and no intercept_: the decision is not '
                "linear in the features. Use decision_function"
            )
        if len(self.coef) != 2:
            return self
        return LinearRule(self.coef[1:] - self.coef[:1], self.intercept[1:] - self.intercept[:1])


def threshold_rule(sign: float, threshold: float, slope: float) -> LinearRule:
    """Two classes on either side of a threshold on a line.

    Parameters
    ----------
    sign : float
        1 where the second class lies above the threshold, -1 where it lies below.
    threshold : float
        As a coordinate that grows towards the second class; infinite where a class is excluded.
    slope : float
        Log-odds per unit of the coordinate.

    Examples
    --------
    >>> threshold_rule(-1.0, 2.0, 3.0).scores(np.array([[-2.5]]))
    array([[0. , 1.5]])
    """
    coef = np.array([[0.0], [slope * sign]])
    if np.isfinite(threshold):
        return LinearRule(coef, np.array([0.0, -slope * threshold]))
    return LinearRule(coef, np.where([threshold < 0, threshold > 0], -np.inf, 0.0))


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
        cholesky_whitener(covariance, relative_to=between, eps=COVARIANCE_EPS)
    except SingularMatrixError:
        scale = np.sqrt(np.diagonal(covariance).clip(0.0) + between)
        scale[scale == 0] = 1.0
        within = covariance / scale / scale[:, None]
        return _solve_singular(within, means / scale, deviations / scale) / scale
    return np.linalg.solve(covariance, means.T).T


def _solve_singular(within: Array, means: Array, deviations: Array) -> Array:
    """`_solve_covariance` where coordinates have unit variance, and `within` has no inverse."""
    largest = _largest_eigenvalue(deviations)
    parts = range_and_null(within, relative_to=largest, eps=COVARIANCE_EPS)
    spread = _largest_eigenvalue(deviations @ parts.null)
    # dividing by the assumed variance would magnify a numerical zero into a difference
    null = parts.null if spread > len(within) * COVARIANCE_EPS else parts.null[:, :0]
    V = np.hstack([parts.range, null])
    evals = np.append(parts.evals, np.full(null.shape[1], ASSUMED_VARIANCE * spread))
    return (means @ V / evals) @ V.T


def _largest_eigenvalue(H: Array) -> float:
    """The largest eigenvalue of HᵀH."""
    return float(np.linalg.norm(H, 2)) ** 2 if H.size else 0.0


def cosine_rule(means: Array, variance: float, priors: Array) -> LinearRule:
    """The class whose mean has the direction nearest to that of a row: scores ``κ cos(z, μ_c)``.

    κ is the concentration of the directions of rows about their means, of von Mises and Fisher's
    distribution, when these are normal with this variance along every axis: with
    ``R = ‖μ‖ / √(‖μ‖² + k σ²)`` it is ``R (k - R²) / (1 - R²)`` (Banerjee et al. 2005).

    Parameters
    ----------
    means : array (n_classes, k)
        Relative to the origin from which directions are seen.
    variance : float
        Within classes, of one coordinate.
    priors : array (n_classes,)
        They weigh the classes in the concentration; a prior of zero excludes the class.

    Examples
    --------
    >>> rule = cosine_rule(np.array([[1.0, 0.0], [0.0, 3.0]]), 0.1, np.full(2, 0.5))
    >>> rule.scores(np.array([[9.0, 1.0], [0.1, 0.2]])).argmax(axis=1)
    array([0, 1])
    """
    k = means.shape[1]
    lengths = np.linalg.norm(means, axis=1)
    size = float(priors @ lengths**2) / priors.sum()
    resultant = np.sqrt(size / (size + k * variance)) if size > 0 else 0.0
    # rows without variance would have an infinite κ, with which nothing can be computed
    concentration = resultant * (k - resultant**2) / max(1 - resultant**2, 1e-12)
    directions = means / np.where(lengths > 0, lengths, 1.0)[:, None]
    excluded = np.where(priors > 0, 0.0, -np.inf)
    return LinearRule(max(concentration, 1e-12) * directions, excluded, unit_length=True)


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


def decide_by_means(solution: Solution, moments: ClassMoments, rule: str) -> Solution:
    """The solution with a rule of nearest means in place of the linear one.

    "nearest-mean" takes the Euclidean distance in the subspace, the Gaussian rule of spheres of
    one size and equal priors; "cosine" the angle seen from the mean of all rows.
    """
    assert solution.within is not None, "classifiers state the scatter they decide by"
    seen = np.where(moments.counts > 0, solution.extras["priors_"], 0.0)
    k = solution.W.shape[1]
    variance = float(np.trace(solution.within)) / max(moments.n_samples * k, 1)
    means = np.where(seen[:, None] > 0, moments.means - moments.mean, 0.0) @ solution.W
    if rule == "cosine":
        return solution.with_extras(_rule=cosine_rule(means, variance, seen))
    equal = (seen > 0) / np.count_nonzero(seen)
    return solution.with_extras(_rule=linear_gaussian_rule(means, variance * np.eye(k), equal))
