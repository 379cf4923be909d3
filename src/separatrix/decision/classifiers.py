"""Classification inside a subspace: the rule sees the coordinates, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from separatrix.base.estimator import SubspaceEstimator
from separatrix.base.solution import Solution
from separatrix.decision.linear import check_priors, linear_gaussian_rule
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments


class SubspaceClassifier(ClassifierMixin, SubspaceEstimator):
    """Base of the subspace methods that classify, by the linear Gaussian rule unless they say so.

    The class means and the pooled maximum-likelihood covariance are those of the projected
    training rows, so the number of components matters to the decision. With every discriminant
    direction kept the decisions are those of the same rule in the full space.

    A subclass with another rule overrides `_add_decision`. A rule has ``scores(Z)``, the
    log-posteriors of the classes up to a common term, and ``linear``.
    """

    classes_: Array
    _rule: Any
    threshold_: Any

    def _add_decision(self, solution: Solution, moments: ClassMoments, rows: Any) -> Solution:
        assert solution.within is not None, "classifiers state the scatter they decide by"
        given = check_priors(getattr(self, "priors", None), moments.classes)
        priors = moments.counts / moments.n_samples if given is None else given
        seen = np.where(moments.counts > 0, priors, 0.0)
        if not seen.any():
            raise ValueError(
                f"priors={priors.tolist()} exclude every class that has rows: give one of them a "
                "positive prior"
            )
        centred = np.where(seen[:, None] > 0, moments.means - moments.mean, 0.0)
        rule = linear_gaussian_rule(
            centred @ solution.W, solution.within / moments.n_samples, seen
        )
        return solution.with_extras(priors_=priors, _rule=rule)

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
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

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

    def _scores(self, X: ArrayLike) -> Array:
        Z = self._project(X)
        return self._rule.scores(Z)

    @property
    def coef_(self) -> Array:
        """Weights of the features in the decision: (1, n_features) for two classes."""
        check_is_fitted(self)
        return self._rule.linear.coef @ self._linear_components()

    @property
    def intercept_(self) -> Array:
        """Constant of the decision: ``decision_function(X) = X @ coef_.T + intercept_``."""
        check_is_fitted(self)
        return self._rule.linear.intercept - self.coef_ @ self.mean_

    def _linear_components(self) -> Array:
        """The components, or an error where the subspace is not linear in the features."""
        if getattr(self, "_map", None) is not None:
            raise AttributeError(
                f"{type(self).__name__} has no coef_: its decision is not linear in the features"
            )
        return self.components_
