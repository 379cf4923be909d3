"""Classification inside a subspace."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax, softmax
from sklearn.utils.validation import check_is_fitted

from separatrix.base.blockwise import BlockwiseClassifierMixin
from separatrix.base.estimator import SubspaceEstimator
from separatrix.base.solution import Solution
from separatrix.decision.rules import check_priors, linear_gaussian_rule
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments


class ClassScoresMixin(BlockwiseClassifierMixin):
    """Decisions from `_scores`: log-posteriors of the classes up to a common term."""

    classes_: Array

    @abstractmethod
    def _scores(self, X: ArrayLike) -> Array:
        """One column for each class."""

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

    def predict_proba(self, X: ArrayLike) -> Array:
        """Posterior probabilities of the classes under the Gaussian model."""
        return softmax(self._scores(X), axis=1)

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of `predict_proba`."""
        return log_softmax(self._scores(X), axis=1)


class GaussianRuleMixin(ClassScoresMixin, SubspaceEstimator):
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

    def _scores(self, X: ArrayLike) -> Array:
        return self._project(X) @ self._rule.coef.T + self._rule.intercept


class GaussianClassifierMixin(GaussianRuleMixin):
    """The same rule as a linear function of the features."""

    @property
    def coef_(self) -> Array:
        """Weights of the features in the decision: (1, n_features) for two classes."""
        check_is_fitted(self)
        coef = self._rule.coef @ self.components_
        return coef[1:] - coef[:1] if len(self.classes_) == 2 else coef

    @property
    def intercept_(self) -> Array:
        """Constant of the decision: ``decision_function(X) = X @ coef_.T + intercept_``."""
        check_is_fitted(self)
        intercept = self._rule.intercept
        if len(self.classes_) == 2:
            intercept = intercept[1:] - intercept[:1]
        return intercept - self.coef_ @ self.mean_
