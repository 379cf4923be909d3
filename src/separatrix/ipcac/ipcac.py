"""Isotropic principal component analysis classifiers (IPCAC): whitened class means decide.

Whiten all rows together, so that their covariance is the identity; then the class means span the
Fisher subspace. Two classes are told apart by one product with a vector and one threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from separatrix.base.batches import MomentEstimator
from separatrix.base.estimator import centred_product
from separatrix.base.parameters import (
    YES_OR_NO,
    Allowed,
    array_like,
    one_of,
    real_number,
    whole_number,
)
from separatrix.base.rows import LabelledData, Rows
from separatrix.base.solution import Solution
from separatrix.decision.classifiers import GaussianClassifierMixin, GaussianRuleMixin
from separatrix.decision.rules import LinearRule, check_priors
from separatrix.decision.thresholds import (
    accuracy_threshold,
    balanced_threshold,
    mahalanobis_threshold,
    pooled_variance,
)
from separatrix.fisher.directions import fisher_directions, principal_axes, rank_of_means
from separatrix.linalg import Array, Lift, numerical_rank, range_and_null
from separatrix.moments.class_moments import ClassMoments

# The mathematics -----------------------------------------------------------------------------


def whitened_mean_directions(moments: ClassMoments) -> Solution:
    """The span of the class means where all rows have been whitened (3.14 to 3.16).

    With Σ the covariance of all rows these are the directions ``Σ⁻¹ (m_c - m)``. They span what
    ``Sw⁻¹ (m_c - m)`` span, which is Fisher's problem; only their scale is another one.
    """
    Hb = moments.between_rows()
    found = fisher_directions(moments.Sw, Hb, n_samples=moments.n_samples, eps=moments.eps)
    return with_unit_covariance(found, moments)


def with_unit_covariance(found: Solution, moments: ClassMoments) -> Solution:
    """The same directions, scaled so that all rows have unit variance along each."""
    assert found.within is not None, "directions of classifiers come with their scatter"
    W, Hb = found.W, moments.between_rows()
    # a scatter of numerical zero may come out negative
    within = np.sum(W * moments.within_apply(W), axis=0).clip(0.0)
    total = within + np.sum((Hb @ W) ** 2, axis=0)
    scale = np.sqrt(moments.n_samples / np.where(total > 0, total, moments.n_samples))
    return found._replace(W=W * scale, within=found.within * np.outer(scale, scale))


def leading_axes(
    moments: ClassMoments, variance: float | None, tol: float | None
) -> tuple[ClassMoments, Lift]:
    """Moments in the principal axes that are kept: a share of the variance, or above `tol`."""
    if variance is not None:
        moments, lift = principal_axes(moments, float(variance))
    else:
        moments, lift = moments.in_span()
    if tol is None:
        return moments, lift
    evals, axes, _ = range_and_null(moments.St, eps=moments.eps)
    axes = axes[:, evals > tol * np.max(evals, initial=0.0)]
    return moments.project(axes), lambda W: lift(axes @ W)


def log2_rule(n_samples: float) -> int:
    """``log₂(n)²``, the number of directions that the source found to be worth whitening."""
    return max(1, round(float(np.log2(max(n_samples, 1.0))) ** 2))


def partially_whitened_directions(moments: ClassMoments, wanted: int) -> Solution:
    """The span of the class means where the leading axes have been whitened (4.6 to 4.8).

    `rank` is the number of axes that were: those wanted, or all there are.
    """
    Hb = moments.between_rows()
    if len(Hb) and wanted < moments.most_axes():
        evals, between = moments.between_along_axes(wanted)
        if numerical_rank(evals, moments.n_features, eps=moments.eps) == wanted:
            # P² Hbᵀ, with P the map that shrinks the spread q along the axes to its last value
            # (4.6): for the whitened means (4.7), and for directions in the original space (4.8)
            U, s, _ = np.linalg.svd(Hb.T + between(evals[-1] / evals - 1), full_matrices=False)
            # means of classes on a line leave axes where all that varies is rounding
            basis = U[:, : rank_of_means(s, moments)]
            found = whitened_mean_directions(moments.project(basis))
            return found._replace(W=basis @ found.W, rank=wanted)
    small, lift = moments.in_span()
    found = whitened_mean_directions(small)
    rank = len(range_and_null(small.St, eps=moments.eps).evals)
    return found._replace(W=lift(found.W), rank=rank)


# Estimators ----------------------------------------------------------------------------------


class ThresholdMixin(GaussianRuleMixin):
    """What the classifiers of this family share: two classes are told apart by a threshold."""

    threshold: str
    priors: ArrayLike | None

    def _needs_class_scatters(self, classes: Array) -> bool:
        return len(classes) <= 2  # the spread of each class sets the threshold

    def _learn(self, moments: ClassMoments, data: Rows | None) -> None:
        super()._learn(moments, data)
        self.threshold_: float | None = None
        self._weights: Array | None = None
        if len(self.classes_) == 2 and len(self.components_):
            self._set_threshold(moments, data)

    def _refuse_without_rows(self) -> None:
        super()._refuse_without_rows()
        if self.threshold != "mahalanobis":
            raise ValueError(
                f'threshold="{self.threshold}" sorts the projections of all rows, and needs them '
                'in memory: use threshold="mahalanobis" for a Dask collection'
            )

    def _set_threshold(self, moments: ClassMoments, data: Rows | None) -> None:
        """Orient the one direction from classes_[0] to classes_[1] and cut it."""
        along = moments.project(self.components_.T)
        means, scatters = along.means[:, 0], along.class_scatters[:, 0, 0].clip(0.0)
        sign = 1.0 if means[1] >= means[0] else -1.0
        means = sign * means
        priors = check_priors(self.priors, self.classes_)
        stds = np.sqrt(scatters / moments.counts)
        gamma = mahalanobis_threshold(means, stds, moments.counts, priors=priors)
        if self.threshold != "mahalanobis" and np.isfinite(gamma):
            assert isinstance(data, LabelledData), "moments alone are refused before"
            scores = sign * centred_product(data.X, self.mean_, self.components_.T)[:, 0]
            rule = accuracy_threshold if self.threshold == "accuracy" else balanced_threshold
            gamma = rule(
                scores.astype(np.float64),
                data.codes == 1,
                weights=class_weights(data, priors),
                near=gamma,
            )
        gap = means[1] - means[0]
        slope = gap / max(pooled_variance(stds, moments.counts), 1e-9 * gap**2)
        intercept = np.array([0.0, -slope * gamma])
        if not np.isfinite(gamma):  # a prior of zero excludes a class
            intercept = np.where([gamma < 0, gamma > 0], -np.inf, 0.0)
        self.threshold_ = float(gamma)
        self._weights = sign * self.components_
        self._rule = LinearRule(np.array([[0.0], [sign * slope]]), intercept)

    def decision_function(self, X: ArrayLike) -> Array:
        """Distance to the threshold for two classes, scores of the Gaussian rule for more.

        Parameters
        ----------
        X : array or sparse matrix (n_samples, n_features)
            Rows to judge.

        Returns
        -------
        array (n_samples,) or (n_samples, n_classes)
            For two classes ``w·(x - mean_) - threshold_``: positive for ``classes_[1]``.
        """
        scores = super().decision_function(X)
        return scores if self._weights is None else scores / abs(self._rule.coef[1, 0])


class _WhitenedMeansClassifier(ThresholdMixin, GaussianClassifierMixin, MomentEstimator):
    """The same as a linear function of the features, from moments that update and merge."""

    def _refuse_moments_alone(self, classes: Array) -> None:
        if len(classes) == 2 and self.threshold != "mahalanobis":
            raise ValueError(
                f'threshold="{self.threshold}" needs all rows at once: use fit, or '
                'threshold="mahalanobis" to update or merge models'
            )

    @property
    def coef_(self) -> Array:
        """Weights of the features; for two classes (1, n_features), towards the second."""
        check_is_fitted(self)
        return super().coef_ if self._weights is None else self._weights

    @property
    def intercept_(self) -> Array:
        """Constant of the decision: ``decision_function(X) = X @ coef_.T + intercept_``."""
        check_is_fitted(self)
        if self._weights is None or self.threshold_ is None:
            return super().intercept_
        return -self._weights @ self.mean_ - self.threshold_


def class_weights(data: LabelledData, priors: Array | None) -> Array:
    """Weight of each row: its own, scaled so that the classes weigh as their priors."""
    weights = np.ones(len(data.codes)) if data.weights is None else data.weights
    if priors is None:
        return weights
    totals = np.bincount(data.codes, weights, minlength=2)
    return weights * (priors / totals)[data.codes]


class IPCAC(_WhitenedMeansClassifier):
    """Classification by class means after whitening all rows: one product, one threshold.

    With Σ the covariance of all rows and δ the difference of the class means, two classes are
    separated along ``w ∝ Σ⁻¹ δ``; more classes in the span of the whitened class means, by the
    Gaussian rule. The direction is Fisher's (Σ may be the total or the within-class covariance:
    ``Σ⁻¹ δ`` is parallel); only the threshold is another one.

    Parameters
    ----------
    variance : float in (0, 1] or None
        Whiten only the leading principal axes that hold this share of the variance and drop the
        others (IPCAC retaining variance, which is PCA followed by Fisher).
    threshold : "mahalanobis", "accuracy" or "balanced"
        Where to cut between two classes: at the same number of standard deviations from both
        class means (4.3); where most training rows are right (3.17, at the middle of the widest
        such gap); or the source's rule for unbalanced classes (3.22). The last does not do what
        it is named for: the first is better on unbalanced classes and the only one that can be
        updated and merged.
    priors : array (n_classes,) or None
        Class probabilities. For more than two classes None takes the proportions in the training
        data. For two, None leaves the threshold rule as it is; given priors weigh the classes.
    tol : float or None
        Principal axes with an eigenvalue below this share of the largest are dropped; None drops
        what is only rounding.
    keep_moments : bool
        Keep the statistics of the training rows, which `partial_fit` and `merge` need.

    Attributes
    ----------
    components_ : array (n_classes - 1, n_features)
        Directions, by descending criterion.
    coef_, intercept_ : array
        The decision as a linear function of the features; for two classes ``coef_`` points from
        ``classes_[0]`` to ``classes_[1]``.
    threshold_ : float or None
        Two classes: where the centred projection on ``coef_`` is cut.
    explained_ratio_ : array (n_classes - 1,)
        Share of each direction in Fisher's criterion.
    mean_, means_, classes_, priors_
        As in `FisherDiscriminant`.
    rank_ : int
        Rank of the within-class scatter among the axes that were whitened.
    moments_ : ClassMoments or None
        Statistics of everything seen.

    Notes
    -----
    ``components_ @ Σ @ components_.T`` is the identity for the covariance Σ = St/n of all rows.

    With at most one row more than features the projections of the training rows collapse to one
    value a class: every threshold rule gives the middle of the two.

    `predict_proba` is calibrated from the Gaussians of the projected classes: for two classes a
    logistic function of the distance to the threshold, with the slope of two Gaussians of the
    pooled variance, so that it is 1/2 where the decision changes.

    References
    ----------
    Rozza, Classifiers based on a new approach to estimate the Fisher subspace and their
    applications, doctoral thesis, Università degli Studi di Milano (2010), chapter 3.

    Examples
    --------
    >>> from separatrix import IPCAC, datasets
    >>> cancer = datasets.load("breast_cancer")
    >>> model = IPCAC().fit(cancer.data, cancer.target)
    >>> model.coef_.shape
    (1, 30)
    >>> round(model.score(cancer.data, cancer.target), 2)
    0.98
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "variance": (one_of(None), real_number(0, 1, open_low=True)),
        "threshold": (one_of("mahalanobis", "accuracy", "balanced"),),
        "priors": (one_of(None), array_like()),
        "tol": (one_of(None), real_number(0, 1)),
        "keep_moments": (YES_OR_NO,),
    }

    def __init__(
        self,
        variance: float | None = None,
        *,
        threshold: str = "mahalanobis",
        priors: ArrayLike | None = None,
        tol: float | None = None,
        keep_moments: bool = True,
    ) -> None:
        self.variance = variance
        self.threshold = threshold
        self.priors = priors
        self.tol = tol
        self.keep_moments = keep_moments

    def _solve(self, moments: ClassMoments, data: Rows | None) -> Solution:
        small, lift = leading_axes(moments, self.variance, self.tol)
        found = whitened_mean_directions(small)
        return found._replace(W=lift(found.W))


class TruncatedIPCAC(_WhitenedMeansClassifier):
    """`IPCAC` that whitens the leading principal axes only and keeps the others as they are.

    When rows are not many more than features, small eigenvalues of the covariance are mostly
    error, and dividing by them is what fails. Here the spread along the d leading axes U is
    levelled to that of the last of them, q_d, and all else is left alone:
    ``w ∝ δ + U ((q_d / q)² - 1) Uᵀ δ``. Nothing is dropped, nothing of order d×d is formed.

    Parameters
    ----------
    n_whitened : "log2" or int
        Number of axes to whiten: ``log₂(n)²`` of the n rows (or of the sum of their weights), or
        a number; no more than the rank of the data. 1 is the nearest-mean direction, the rank is
        `IPCAC`.
    threshold : "mahalanobis", "accuracy" or "balanced"
        As in `IPCAC`.
    priors : array (n_classes,) or None
        As in `IPCAC`.
    keep_moments : bool
        Keep the statistics of the training rows, which `partial_fit` and `merge` need. With more
        features than rows these are the centred rows themselves.

    Attributes
    ----------
    n_whitened_ : int
        Number of axes that were whitened.
    components_, coef_, intercept_, threshold_, explained_ratio_
        As in `IPCAC`.
    mean_, means_, classes_, priors_, rank_, moments_
        As in `IPCAC`; `rank_` is `n_whitened_`.

    Notes
    -----
    ``components_ @ Σ @ components_.T`` is the identity for the covariance Σ = St/n of all rows.
    Multiplying all rows by a number changes no decision.

    References
    ----------
    Rozza, Classifiers based on a new approach to estimate the Fisher subspace and their
    applications, doctoral thesis, Università degli Studi di Milano (2010), sections 4.3 and
    6.2.2.

    Examples
    --------
    >>> from separatrix import TruncatedIPCAC, datasets
    >>> pair = datasets.make_gaussian_pair(200, 500, mean_scale=0.3, random_state=0)
    >>> model = TruncatedIPCAC().fit(pair.data[:150], pair.target[:150])
    >>> model.n_whitened_
    52
    >>> bool(model.score(pair.data[150:], pair.target[150:]) > 0.7)
    True
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_whitened": (one_of("log2"), whole_number(1)),
        "threshold": (one_of("mahalanobis", "accuracy", "balanced"),),
        "priors": (one_of(None), array_like()),
        "keep_moments": (YES_OR_NO,),
    }

    def __init__(
        self,
        n_whitened: int | str = "log2",
        *,
        threshold: str = "mahalanobis",
        priors: ArrayLike | None = None,
        keep_moments: bool = True,
    ) -> None:
        self.n_whitened = n_whitened
        self.threshold = threshold
        self.priors = priors
        self.keep_moments = keep_moments

    def _n_to_whiten(self, moments: ClassMoments) -> int:
        by_rule = self.n_whitened == "log2"
        return log2_rule(moments.n_samples) if by_rule else int(self.n_whitened)

    def _solve(self, moments: ClassMoments, data: Rows | None) -> Solution:
        found = partially_whitened_directions(moments, self._n_to_whiten(moments))
        self.n_whitened_ = found.rank
        return found
