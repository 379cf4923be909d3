"""Quadratic rules: Gaussian classes, each with a covariance of its own.

In a subspace the rule needs the moments of each class alone, so that it adds up over batches,
sites and blocks as they do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.base.solution import Solution
from separatrix.decision.linear import ASSUMED_VARIANCE, COVARIANCE_EPS, LinearRule
from separatrix.linalg import (
    EPS,
    Array,
    SingularMatrixError,
    cholesky_whitener,
    numerical_rank,
    range_and_null,
)
from separatrix.moments.class_moments import ClassMoments

LOG_TWO_PI = float(np.log(2 * np.pi))

MIN_OWN_VARIANCE = 1e-10
"""Least variance of a class along a direction, in units of the pooled ones, with which it has a
covariance of its own."""


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


class QuadraticRule(NamedTuple):
    """Scores ``b_i - ‖A_i (z - μ_i)‖² / 2``, one column a class; the largest wins.

    Attributes
    ----------
    means : array (n_classes, k)
        μ_i.
    whiteners : array (n_classes, k, k) or (n_classes, k)
        A_i with ``A_iᵀ A_i`` the inverse of the covariance of the class, or its diagonal where
        coordinates are independent.
    constants : array (n_classes,)
        b_i, the logarithm of the prior less that of the volume; minus infinity excludes a class.
    basis : array (d, k - 1), optional
        Orthonormal columns of the span in which covariances are known. Coordinates of a row are
        those in the span and, last, the length of what lies outside.
    """

    means: Array
    whiteners: Array
    constants: Array
    basis: Array | None = None

    def scores(self, Z: Array) -> Array:
        """Log-posteriors of the classes up to a common term, (n_samples, n_classes)."""
        if self.basis is not None:
            inside = Z @ self.basis
            outside = np.sum(Z**2, axis=1) - np.sum(inside**2, axis=1)
            Z = np.column_stack([inside, np.sqrt(outside.clip(0.0))])
        scores = np.empty((len(Z), len(self.means)))
        for i, (mean, A) in enumerate(zip(self.means, self.whiteners, strict=True)):
            # differences first: expanded squares would cancel where classes are narrow
            white = (Z - mean) * A if A.ndim == 1 else (Z - mean) @ A.T
            scores[:, i] = self.constants[i] - 0.5 * np.einsum("ij,ij->i", white, white)
        return scores

    def calibrated(self, slope: float, offsets: Array, log_priors: Array) -> QuadraticRule:
        """The rule with all but the priors times a slope, and offsets added."""
        allowed = np.isfinite(log_priors)
        volumes = np.where(allowed, self.constants, 0.0) - np.where(allowed, log_priors, 0.0)
        constants = slope * volumes + log_priors + offsets
        return self._replace(whiteners=np.sqrt(slope) * self.whiteners, constants=constants)

    @property
    def linear(self) -> LinearRule:
        """There is none."""
        raise AttributeError(
            "there is no coef_ and no intercept_: with a covariance for each class the decision "
            "is not linear in the features. Use decision_function"
        )

    def expanded(self) -> Quadratic:
        """The scores as functions ``xᵀ Q x + c·x + b`` of the coordinates."""
        if self.whiteners.ndim == 2:
            P = self.whiteners**2
            pull = P * self.means
        else:
            P = self.whiteners.swapaxes(1, 2) @ self.whiteners
            pull = np.einsum("gij,gj->gi", P, self.means)
        constants = self.constants - np.einsum("gi,gi->g", pull, self.means) / 2
        return Quadratic(-P / 2, pull, constants)


def class_covariances(scatters: Array, counts: Array, pooled: Array) -> Array:
    """Maximum-likelihood covariances ``S_i / N_i``, where a class has enough rows for its own.

    A class of no more rows than the rank r of the pooled covariance C, or with a scatter of lower
    rank, gets ``(S_i + ν C) / (N_i + ν)`` with ν = r + 1: as if r + 1 more rows had been seen that
    are spread as those of all classes are (the mean of an inverse Wishart posterior). A class of
    one row has C itself. The rank, and not the number of coordinates, makes the answer that of
    any coordinates whose span holds the rows.

    Parameters
    ----------
    scatters : array (n_classes, k, k)
        S_i.
    counts : array (n_classes,)
        N_i, which may be sums of weights.
    pooled : array (k, k)
        C.

    Examples
    --------
    >>> scatters, counts = np.array([[[8.0]], [[3.0]], [[0.0]]]), np.array([4, 3, 1])
    >>> class_covariances(scatters, counts, np.array([[5.0]])).ravel()
    array([2., 1., 5.])
    """
    rank = _count_variances(pooled, pooled)
    covariances = np.broadcast_to(pooled, scatters.shape).copy()
    for i, (S, n) in enumerate(zip(scatters, counts, strict=True)):
        if n > 1:
            extra = 0 if n > rank and _count_variances(S, n * pooled) >= rank else rank + 1
            covariances[i] = (S + extra * pooled) / (n + extra)
    return covariances


def _count_variances(S: Array, expected: Array) -> int:
    """How many variances along axes are not numerical zero, in units of the expected ones."""
    unit = np.sqrt(np.diagonal(expected).clip(0.0))
    unit = np.where(unit > 0, unit, 1.0)
    evals = np.linalg.eigvalsh(S / unit / unit[:, None])
    return int(np.count_nonzero(evals > MIN_OWN_VARIANCE))


def quadratic_gaussian_rule(means: Array, covariances: Array, priors: Array) -> QuadraticRule:
    """Bayes' rule for Gaussian classes, each with its own covariance.

    The score of class i is its log-density plus log-prior. A singular covariance has the answer of
    a small ridge. In units of the total standard deviation of each coordinate (within all classes
    and of their means), the variance of a class along a direction where it is numerical zero is
    taken to be ``ASSUMED_VARIANCE``.

    Parameters
    ----------
    means : array (n_classes, k)
    covariances : array (n_classes, k, k)
        Maximum-likelihood covariances, positive semidefinite.
    priors : array (n_classes,)
        A prior of zero excludes the class.

    Examples
    --------
    >>> wide_and_narrow = np.array([[[9.0]], [[1.0]]])
    >>> rule = quadratic_gaussian_rule(np.zeros((2, 1)), wide_and_narrow, np.full(2, 0.5))
    >>> rule.scores(np.array([[0.0], [4.0]])).argmax(axis=1)
    array([1, 0])
    """
    scale = np.sqrt(total_variance(means, covariances, priors))
    scale[scale == 0] = 1.0
    factors = [_cholesky_factor(C / scale / scale[:, None]) for C in covariances]
    log_volumes = np.array([np.log(np.abs(np.diagonal(L))).sum() for L in factors])
    log_volumes += np.log(scale).sum() + 0.5 * len(scale) * LOG_TWO_PI
    whiteners = np.stack([np.linalg.inv(L) / scale for L in factors])
    with np.errstate(divide="ignore"):
        return QuadraticRule(means, whiteners, np.log(priors) - log_volumes)


def total_variance(means: Array, covariances: Array, priors: Array) -> Array:
    """Variance of each coordinate within classes and of their means."""
    within = priors @ np.diagonal(covariances, axis1=1, axis2=2).clip(0.0)
    return within + priors @ (means - priors @ means / priors.sum()) ** 2


def total_covariance(means: Array, covariances: Array, priors: Array) -> Array:
    """Covariance within classes and of their means, whose diagonal is `total_variance`.

    `covariances` may be one matrix for all classes.

    Examples
    --------
    >>> total_covariance(np.array([[0.0], [2.0]]), np.ones((2, 1, 1)), np.full(2, 0.5))
    array([[2.]])
    """
    H = np.sqrt(priors)[:, None] * (means - priors @ means / priors.sum())
    pooled = covariances.ndim == 2
    within = priors.sum() * covariances if pooled else np.tensordot(priors, covariances, axes=1)
    return within + H.T @ H


def _cholesky_factor(covariance: Array) -> Array:
    """L with ``L Lᵀ = Σ``, for a singular Σ as `quadratic_gaussian_rule` defines it.

    Entries on the diagonal may be negative.
    """
    try:
        factor = cholesky_whitener(covariance, relative_to=1.0, eps=COVARIANCE_EPS)
    except SingularMatrixError:
        parts = range_and_null(covariance, relative_to=1.0, eps=COVARIANCE_EPS)
        evals = np.append(parts.evals, np.full(parts.null.shape[1], ASSUMED_VARIANCE))
        V = np.hstack([parts.range, parts.null])
        return np.linalg.qr((V * np.sqrt(evals)).T)[1].T
    return factor.scale[:, None] * factor.L


def gaussian_discriminants(offsets: Array, covariances: Array, log_priors: Array) -> Quadratic:
    """Log-prior plus log-density of Gaussians, as functions of the step from a point of reference.

    Parameters
    ----------
    offsets : array (..., r)
        The point of reference less the mean.
    covariances : array (..., r) or (..., r, r)
        Variances of independent features, all positive, or matrices. Eigenvalues of a matrix that
        are numerical zero relative to its largest are raised to the smallest that are not.
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
    constant = offsets.shape[-1] * LOG_TWO_PI
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


def decide_quadratically(
    solution: Solution, moments: ClassMoments, shrinkage: float | None = 0.0
) -> Solution:
    """The solution with the quadratic rule of its subspace in place of the linear one.

    Where the scatter within classes was shrunk, ``(1 - α) Sw + α tr(Sw)/d I``, each class takes
    its share N_i/n of the addition, so that the covariances average to that of the linear rule.
    Shrunk in another way (None), all classes go through the one map that takes their sum there.
    """
    assert solution.within is not None, "classifiers state the scatter they decide by"
    counts, n_samples = moments.counts, moments.n_samples
    S = moments.project(solution.W).class_scatters
    if shrinkage is None:
        S = _move_sum(S, solution.within)
    else:
        S = (1 - shrinkage) * S
        S = S + (counts / n_samples)[:, None, None] * (solution.within - S.sum(axis=0))
    covariances = class_covariances(S, counts, solution.within / n_samples)
    priors = np.where(counts > 0, solution.extras["priors_"], 0.0)
    means = np.where(priors[:, None] > 0, moments.means - moments.mean, 0.0) @ solution.W
    return solution.with_extras(_rule=quadratic_gaussian_rule(means, covariances, priors))


def _move_sum(S: Array, wanted: Array) -> Array:
    """Scatters ``M S_i Mᵀ`` whose sum is the one wanted."""
    evals, U = np.linalg.eigh(S.sum(axis=0))
    rank = numerical_rank(evals, len(evals))
    inverse_root = U[:, len(U) - rank :] / np.sqrt(evals[len(U) - rank :])
    goals, V = np.linalg.eigh(wanted)
    root = (V * np.sqrt(goals.clip(0.0))) @ V.T
    M = root @ inverse_root @ U[:, len(U) - rank :].T
    return M @ S @ M.T
