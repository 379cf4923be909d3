"""Rules that decide on a class inside a subspace."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.base import Solution, SubspaceEstimator
from separatrix.linalg import Array
from separatrix.moments import ClassMoments


class LinearRule(NamedTuple):
    """Scores ``z @ coef.T + intercept``, one column a class; the largest wins."""

    coef: Array
    intercept: Array


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


class GaussianClassifierMixin(ClassifierMixin, SubspaceEstimator):
    """Classification in the subspace by the linear Gaussian rule.

    The class means and the pooled maximum-likelihood covariance are those of the projected
    training rows, so the number of components matters to the decision. With every discriminant
    direction kept the decisions are those of the same rule in the full space.
    """

    def _priors(self, moments: ClassMoments) -> Array:
        given = check_priors(getattr(self, "priors", None), moments.classes)
        return moments.counts / moments.n_samples if given is None else given

    def _set_solution(self, moments: ClassMoments, solution: Solution) -> None:
        super()._set_solution(moments, solution)
        self.priors_ = self._priors(moments)
        assert solution.within is not None, "classifiers state the scatter they decide by"
        covariance = solution.within / moments.n_samples
        seen = np.where(moments.counts > 0, self.priors_, 0.0)
        centred = np.where(seen[:, None] > 0, moments.means - moments.mean, 0.0)
        self._rule = linear_gaussian_rule(centred @ self.components_.T, covariance, seen)

    @property
    def coef_(self) -> Array:
        """Weights of the features in the decision: (1, n_features) for two classes."""
        check_is_fitted(self)
        coef = self._rule.coef @ self.components_
        return coef[1:] - coef[:1] if len(self.classes_) == 2 else coef

    @property
    def intercept_(self) -> Array:
        """Constant of the decision: ``decision_function(X) = X @ coef_.T + intercept_``."""
        intercept = self._rule.intercept
        if len(self.classes_) == 2:
            intercept = intercept[1:] - intercept[:1]
        return intercept - self.coef_ @ self.mean_

    def _scores(self, X: ArrayLike) -> Array:
        return self._project(X) @ self._rule.coef.T + self._rule.intercept

    def decision_function(self, X: ArrayLike) -> Array:
        """Log-posterior of each class up to a term common to all of them.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        array (n_samples, n_classes), or (n_samples,) for two classes
            For two classes the log-odds of ``classes_[1]``.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> Array:
        """The most probable class of each row; a tie goes to the class that sorts first."""
        winners = self._scores(X).argmax(axis=1)
        return self.classes_[winners]

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of `predict_proba`."""
        return log_softmax(self._scores(X), axis=1)

    def predict_proba(self, X: ArrayLike) -> Array:
        """Posterior probabilities of the classes under the Gaussian model in the subspace."""
        return np.exp(self.predict_log_proba(X))
