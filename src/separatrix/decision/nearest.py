"""The class whose mean is nearest: by distance, or by direction."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from separatrix.base.solution import Solution
from separatrix.decision.rules import LinearRule, linear_gaussian_rule
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments

RULES = ("linear", "quadratic", "nearest-mean", "cosine")
"""Rules that decide in the subspace of Fisher's discriminants."""


class CosineRule(NamedTuple):
    """Scores ``κ cos(z, μ_c)``, one column a class; the largest wins.

    Attributes
    ----------
    directions : array (n_classes, k)
        Class means of unit length; zero for a mean at the origin.
    concentration : float
        κ of von Mises and Fisher's distribution, by which cosines become probabilities.
    constants : array (n_classes,)
        Zero, or minus infinity for a class that is excluded.
    """

    directions: Array
    concentration: float
    constants: Array

    def scores(self, Z: Array) -> Array:
        """Log-posteriors of the classes up to a common term, (n_samples, n_classes)."""
        lengths = np.linalg.norm(Z, axis=1, keepdims=True)
        cosines = Z / np.where(lengths > 0, lengths, 1.0) @ self.directions.T
        return self.concentration * cosines + self.constants

    def decision(self, Z: Array) -> Array:
        """The scores, or for two classes the log-odds of the second."""
        scores = self.scores(Z)
        return scores[:, 1] - scores[:, 0] if len(self.directions) == 2 else scores

    @property
    def linear(self) -> LinearRule:
        """There is none."""
        raise AttributeError(
            'with rule="cosine" there is no coef_ and no intercept_: the decision is not linear '
            "in the features. Use decision_function"
        )


def cosine_rule(means: Array, variance: float, priors: Array) -> CosineRule:
    """The class whose mean has the direction nearest to that of a row.

    The distance is ``1 - z·μ_c / ‖z‖ ‖μ_c‖``. The concentration is that of the directions of rows
    about their means when these are normal with this variance along every axis: with
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
    return CosineRule(directions, max(concentration, 1e-12), np.where(priors > 0, 0.0, -np.inf))


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
