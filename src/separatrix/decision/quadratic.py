"""The quadratic Gaussian rule in a subspace: every class has a covariance of its own.

The rule needs the moments of each class alone, so that it adds up over batches, sites and blocks
as they do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.base.solution import Solution
from separatrix.decision.rules import LinearRule, cholesky_factor, total_variance
from separatrix.linalg import Array, numerical_rank
from separatrix.moments.class_moments import ClassMoments

MIN_OWN_VARIANCE = 1e-10
"""Least variance of a class along a direction, in units of the pooled ones, with which it has a
covariance of its own."""


class QuadraticRule(NamedTuple):
    """Scores ``b_i - ‖A_i (z - μ_i)‖² / 2``, one column a class; the largest wins.

    Attributes
    ----------
    means : array (n_classes, k)
        μ_i.
    whiteners : array (n_classes, k, k)
        A_i with ``A_iᵀ A_i`` the inverse of the covariance of the class.
    constants : array (n_classes,)
        b_i, the logarithm of the prior less that of the volume; minus infinity excludes a class.
    """

    means: Array
    whiteners: Array
    constants: Array

    def scores(self, Z: Array) -> Array:
        """Log-posteriors of the classes up to a common term, (n_samples, n_classes)."""
        pairs = zip(self.means, self.whiteners, strict=True)
        distances = [np.sum(((Z - mean) @ A.T) ** 2, axis=1) for mean, A in pairs]
        return self.constants - 0.5 * np.stack(distances, axis=1)

    def decision(self, Z: Array) -> Array:
        """The scores, or for two classes the log-odds of the second."""
        scores = self.scores(Z)
        return scores[:, 1] - scores[:, 0] if len(self.means) == 2 else scores

    @property
    def linear(self) -> LinearRule:
        """There is none."""
        raise AttributeError(
            "there is no coef_ and no intercept_: with a covariance for each class the decision "
            "is not linear in the features. Use decision_function"
        )


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
    found = np.broadcast_to(pooled, scatters.shape).copy()
    for i, (S, n) in enumerate(zip(scatters, counts, strict=True)):
        if n > 1:
            extra = 0 if n > rank and _count_variances(S, n * pooled) >= rank else rank + 1
            found[i] = (S + extra * pooled) / (n + extra)
    return found


def _count_variances(S: Array, expected: Array) -> int:
    """How many variances along axes are not numerical zero, in units of the expected ones."""
    unit = np.sqrt(np.diagonal(expected).clip(0.0))
    unit = np.where(unit > 0, unit, 1.0)
    evals = np.linalg.eigvalsh(S / unit / unit[:, None])
    return int(np.count_nonzero(evals > MIN_OWN_VARIANCE))


def quadratic_gaussian_rule(means: Array, covariances: Array, priors: Array) -> QuadraticRule:
    """Bayes' rule for Gaussian classes, each with its own covariance.

    The score of class i is ``log π_i - (log|C_i| + (z - μ_i)ᵀ C_i⁻¹ (z - μ_i)) / 2``. A singular
    covariance has the answer of a small ridge, as in `quadratic_gaussian_scores`.

    Examples
    --------
    >>> wide_and_narrow = np.array([[[9.0]], [[1.0]]])
    >>> rule = quadratic_gaussian_rule(np.zeros((2, 1)), wide_and_narrow, np.full(2, 0.5))
    >>> rule.scores(np.array([[0.0], [4.0]])).argmax(axis=1)
    array([1, 0])
    """
    scale = np.sqrt(total_variance(means, covariances, priors))
    scale[scale == 0] = 1.0
    factors = [cholesky_factor(C / scale / scale[:, None]) for C in covariances]
    volumes = np.array([np.log(np.abs(np.diagonal(L))).sum() for L in factors])
    whiteners = np.stack([np.linalg.inv(L) / scale for L in factors])
    with np.errstate(divide="ignore"):
        return QuadraticRule(means, whiteners, np.log(priors) - volumes - np.log(scale).sum())


def decide_quadratically(
    solution: Solution, moments: ClassMoments, shrinkage: float | None = 0.0
) -> Solution:
    """The solution with the quadratic rule of its subspace in place of the linear one.

    Where the scatter within classes was shrunk, ``(1 - α) Sw + α tr(Sw)/d I``, each class takes
    its share N_i/n of what was added, so that the covariances average to that of the linear rule.
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
