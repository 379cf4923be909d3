"""Rules that decide on a class inside a subspace."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
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


# Thresholds on a line: class 1 lies above -----------------------------------------------------


def pooled_variance(stds: Array, counts: Array) -> float:
    """The variance of all rows about the mean of their own class."""
    return float(counts @ stds**2 / counts.sum())


def mahalanobis_threshold(
    means: Array, stds: Array, counts: Array, *, priors: Array | None = None
) -> float:
    """The point between two means that is as many standard deviations from one as from the other.

    A class without spread (one sample, or all alike) takes the spread of both together; when
    neither has any, the point is the middle. A spread below 1e-4 of the gap between the means
    counts as none: its square may be rounding.

    Parameters
    ----------
    means, stds, counts : array (2,)
        Of the projected classes, the class above second.
    priors : array (2,), optional
        Move the point as they would for two Gaussians of the pooled variance.

    Examples
    --------
    >>> mahalanobis_threshold(np.array([0.0, 3.0]), np.array([2.0, 1.0]), np.array([9.0, 9.0]))
    2.0
    """
    gap = means[1] - means[0]
    variance = pooled_variance(stds, counts)
    spread = np.where(stds > 1e-4 * abs(gap), stds, np.sqrt(variance))
    total = spread.sum()
    share = spread[0] / total if total > 1e-4 * abs(gap) else 0.5
    gamma = float(means[0] + share * gap)
    if priors is None or gap == 0:
        return gamma
    with np.errstate(divide="ignore"):
        odds = np.log(priors[0]) - np.log(priors[1])
    if not np.isfinite(odds):
        return float(np.sign(gap) * odds)
    return gamma + float(odds) * max(variance, 1e-9 * gap**2) / gap


def accuracy_threshold(
    scores: Array, positive: Array, *, weights: Array | None = None, near: float = 0.0
) -> float:
    """The middle of the widest gap that puts as many samples as possible on their side.

    Candidates lie between neighbouring distinct scores and beyond both ends, so that no sample
    lies on the threshold and swapping the classes mirrors the answer. Of several best runs of
    candidates the widest wins, then the one whose middle is closest to `near`. One sort.

    Parameters
    ----------
    scores : array (n_samples,)
    positive : array of bool (n_samples,)
        Which samples belong above the threshold.
    weights : array (n_samples,), optional
        What each sample counts.
    near : float
        Decides between gaps of one width.

    Examples
    --------
    >>> accuracy_threshold(np.array([0.0, 1, 2, 6, 7]), np.array([False, False, True, True, True]))
    1.5
    """
    values, right = _right_below_and_above(scores, positive, weights)
    step = (values[-1] - values[0]) / max(len(values) - 1, 1)
    edges = np.concatenate([[values[0] - step], values, [values[-1] + step]])
    best = right >= right.max() - 1e-9 * max(right.max(), 1e-300)
    starts = np.flatnonzero(best & ~np.r_[False, best[:-1]])
    stops = np.flatnonzero(best & ~np.r_[best[1:], False])
    low, high = edges[starts], edges[stops + 1]
    width, middle = high - low, (low + high) / 2
    widest = width >= width.max() * (1 - 1e-9)
    return float(middle[widest][np.argmin(np.abs(middle[widest] - near))])


def balanced_threshold(
    scores: Array,
    positive: Array,
    *,
    weights: Array | None = None,
    near: float = 0.0,
    share: float = 0.9,
) -> float:
    """The average of the good thresholds among the scores of each class, halfway between both.

    Equation 3.22 of the source, for its reproduction: of the scores of a class, taken as
    thresholds, average those that get at least `share` of the best of them right; then take
    the middle of the two classes' averages. `near` is not used.

    Examples
    --------
    >>> scores = np.array([0.0, 1, 2, 6, 7])
    >>> balanced_threshold(scores, np.array([False, False, True, True, True]))
    1.5
    """
    weights = np.ones(len(scores)) if weights is None else weights
    values, right = _right_below_and_above(scores, positive, weights)
    at_score = right[1 + np.searchsorted(values, scores)]
    averages = []
    for members in (~positive & (weights > 0), positive & (weights > 0)):
        good = at_score[members] >= share * at_score[members].max()
        averages.append(np.average(scores[members][good], weights=weights[members][good]))
    return float(np.mean(averages))


def _right_below_and_above(
    scores: Array, positive: Array, weights: Array | None
) -> tuple[Array, Array]:
    """Distinct scores, and the weight of samples on their side for a cut after each of them.

    Entry j counts a cut above the j lowest distinct scores, so there is one more than scores.
    """
    weights = np.ones(len(scores)) if weights is None else weights
    values, codes = np.unique(scores, return_inverse=True)
    above = np.bincount(codes, weights * positive, minlength=len(values))
    below = np.bincount(codes, weights * ~positive, minlength=len(values))
    right = np.concatenate([[0.0], np.cumsum(below - above)]) + above.sum()
    return values, right


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


class GaussianRuleMixin(ClassifierMixin, SubspaceEstimator):
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
