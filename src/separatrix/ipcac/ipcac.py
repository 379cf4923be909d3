"""Isotropic principal component analysis classifiers (IPCAC): whitened class means decide.

Whiten all rows together, so that their covariance is the identity; then the class means span the
Fisher subspace. Two classes are separated by one product with a vector and one threshold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from separatrix.base.batches import MomentEstimator
from separatrix.base.parameters import (
    KEEP_MOMENTS,
    Allowed,
    one_of,
    real_number,
    whole_number,
)
from separatrix.base.solution import Solution
from separatrix.decision.classifiers import SubspaceClassifier
from separatrix.decision.cuts import (
    THRESHOLD_PARAMETERS,
    check_cut_needs_no_rows,
    cut_literally,
)
from separatrix.decision.expected import Metric
from separatrix.decision.linear import LinearRule, check_priors
from separatrix.fisher.directions import fisher_directions, rank_of_means, reduce_to_leading_axes
from separatrix.ipcac.whitening import (
    WithinAxes,
    chosen_axes,
    cut_metric,
    decide_by_moments,
    full_metric,
    shares_of,
    within_axes,
)
from separatrix.linalg import Array, numerical_rank, range_and_null
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.spectra import between_along_axes, max_total_rank, reduce_to_span

# The mathematics -----------------------------------------------------------------------------


def whitened_mean_directions(moments: ClassMoments) -> Solution:
    """The span of the class means where all rows have been whitened (3.14 to 3.16).

    With Σ the covariance of all rows these are the directions ``Σ⁻¹ (m_c - m)``. They span what
    ``Sw⁻¹ (m_c - m)`` span, which is Fisher's problem; only their scale is another one.
    """
    Hb = moments.between_rows()
    directions = fisher_directions(moments.Sw, Hb, n_samples=moments.n_samples, eps=moments.eps)
    return with_unit_covariance(directions, moments)


def with_unit_covariance(solution: Solution, moments: ClassMoments) -> Solution:
    """The same directions, scaled so that all rows have unit variance along each."""
    assert solution.within is not None, "directions of classifiers come with their scatter"
    W, Hb = solution.W, moments.between_rows()
    # a scatter of numerical zero may come out negative
    within = np.sum(W * moments.within_apply(W), axis=0).clip(0.0)
    total = within + np.sum((Hb @ W) ** 2, axis=0)
    scale = np.sqrt(moments.n_samples / np.where(total > 0, total, moments.n_samples))
    return solution._replace(W=W * scale, within=solution.within * np.outer(scale, scale))


def log2_rule(n_samples: float) -> int:
    """``log₂(n)²``, the number of directions that the thesis found worth whitening."""
    return max(1, round(float(np.log2(max(n_samples, 1.0))) ** 2))


def n_to_whiten(n_whitened: int | str, n_samples: float) -> int:
    """The number of axes that the parameter asks for."""
    return log2_rule(n_samples) if n_whitened == "log2" else int(n_whitened)


def partially_whitened_directions(moments: ClassMoments, wanted: int) -> Solution:
    """The span of the class means where the leading axes have been whitened (4.6 to 4.8).

    `rank` is the number of axes that were: those wanted, or all there are.
    """
    Hb = moments.between_rows()
    if len(Hb) and wanted < max_total_rank(moments):
        axes = between_along_axes(moments, wanted)
        if numerical_rank(axes.evals, moments.n_features, eps=moments.eps) == wanted:
            # P² Hbᵀ, with P the map that shrinks the spread q along the axes to its last value
            # (4.6): for the whitened means (4.7), and for directions in the original space (4.8)
            whitened = axes.evals[-1] * axes.whitened + (Hb.T - axes.kept)
            U, s, _ = np.linalg.svd(whitened, full_matrices=False)
            # means of classes on a line leave axes whose variation is numerical zero
            traces = np.array([scatter.trace() for scatter in moments.scatters])
            basis = U[:, : rank_of_means(s, moments, traces.sum())]
            directions = whitened_mean_directions(moments.project(basis))
            return directions._replace(W=basis @ directions.W, rank=wanted)
    small, lift = reduce_to_span(moments)
    directions = whitened_mean_directions(small)
    rank = len(range_and_null(small.St, eps=moments.eps).evals)
    return directions._replace(W=lift(directions.W), rank=rank)


def whiten_fully(moments: ClassMoments, threshold: str) -> Solution:
    """`whitened_mean_directions`, with the extras of the decision by moments."""
    small, lift = reduce_to_span(moments)
    found = whitened_mean_directions(small)
    found = found._replace(W=lift(found.W))
    if threshold != "auto":
        return found
    # units of features change nothing where the covariance has an inverse
    invertible = moments.n_samples - len(moments.counts) > moments.n_varying
    axes = within_axes(moments, max_total_rank(moments), in_units=invertible)
    return with_metric(found, moments, axes, None if axes is None else full_metric(axes, moments))


def whiten_leading(
    moments: ClassMoments, n_whitened: int | str, threshold: str, priors: ArrayLike | None
) -> Solution:
    """Directions by the leading axes, as many as are asked for or the ridge that suits new rows.

    "auto" takes the covariance within classes along its leading axes, its mean variance in other
    directions, and the ridge and the units of features of least expected log-loss.
    """
    if n_whitened != "auto":
        wanted = n_to_whiten(n_whitened, moments.n_samples)
        found = partially_whitened_directions(moments, wanted)
        extras = {"n_whitened_": found.rank, "shrinkage_": None}
        if threshold == "auto":
            axes = within_axes(moments, found.rank)
            metric = None if axes is None else cut_metric(axes, moments)
            found = with_metric(found, moments, axes, metric)
        return found.with_extras(**extras)
    shares = shares_of(moments, check_priors(priors, moments.classes))
    chosen = chosen_axes(moments, shares) if np.count_nonzero(shares) >= 2 else None
    if chosen is None:
        found = partially_whitened_directions(moments, log2_rule(moments.n_samples))
        return found.with_extras(n_whitened_=found.rank, shrinkage_=None)
    axes, metric, judged = chosen
    basis = axes.whitened_means(metric, moments)
    found = whitened_mean_directions(moments.project(basis))
    found = with_metric(found._replace(W=basis @ found.W), moments, axes, metric)
    return found.with_extras(n_whitened_=axes.axes.shape[1], shrinkage_=judged.alpha)


def with_metric(
    found: Solution, moments: ClassMoments, axes: WithinAxes | None, metric: Metric | None
) -> Solution:
    """The solution whose decision is by a metric in place of the scatter within classes."""
    if axes is None or metric is None:
        return found
    within = axes.within(metric, found.W, moments.n_samples)
    return found._replace(within=within).with_extras(_by=(axes, metric))


def add_decision(model: Any, gaussian: Solution, moments: ClassMoments, rows: Any) -> Solution:
    """The rule of this family: by moments, or by a cut of the source between two classes."""
    by = gaussian.extras.get("_by", (None, None))
    kept = {name: value for name, value in gaussian.extras.items() if name != "_by"}
    solution = gaussian._replace(extras=kept)
    if model.threshold == "auto":
        solution = decide_by_moments(solution, moments, *by)
        return solution.with_extras(threshold_=cut_between(solution.extras["_rule"]))
    if len(moments.classes) != 2 or not solution.W.shape[1]:
        return solution.with_extras(threshold_=None)
    rule, gamma = cut_literally(solution, moments, rows, model)
    return solution.with_extras(threshold_=gamma, _rule=rule)


def cut_between(rule: LinearRule) -> float | None:
    """Where two classes are cut along their direction, which grows towards the second."""
    if len(rule.coef) != 2 or not rule.coef.any():
        return None
    linear = rule.linear
    return float(-linear.intercept[0] / np.abs(linear.coef[0, 0]))


# Estimators ----------------------------------------------------------------------------------


class IPCAC(MomentEstimator, SubspaceClassifier):
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
    threshold : "auto", "mahalanobis", "accuracy" or "balanced"
        "auto" decides by the scores that new rows are expected to have, for any number of
        classes, from moments. The others are the cuts of the thesis between two classes; more
        have the Gaussian rule then. "mahalanobis": at the same number of standard deviations
        from both class means of the training rows (4.3). "accuracy": where most of these rows are
        right (3.17, at the middle of the widest such gap). "balanced": the rule for unbalanced
        classes (3.22). The last two need all rows.
    balance : float in [0, 1) or "auto"
        k of "balanced": thresholds count as good that get more than k times as many rows right as
        the best. 0 is the middle of the class means; "auto" is the k of the best balanced
        accuracy on the training rows.
    priors : array (n_classes,) or None
        Class probabilities; None takes the proportions in the training data. A cut of the thesis
        between two classes is moved by given priors only.
    keep_moments : bool or "by class"
        Keep the statistics of the training rows, which `partial_fit`, `forget` and `merge` need.
        "by class" keeps the scatter of each class apart also where there are more than two, so
        that a model of three classes can forget one of them.

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
    value a class, and the cuts of the thesis are in the middle of the two. "auto" takes the limit
    of a vanishing ridge there. `predict_proba` follows the expected scores.

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

    threshold_: Any
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "variance": (one_of(None), real_number(0, 1, open_low=True)),
        **THRESHOLD_PARAMETERS,
        "keep_moments": KEEP_MOMENTS,
    }

    def __init__(
        self,
        variance: float | None = None,
        *,
        threshold: str = "auto",
        balance: float | str = "auto",
        priors: ArrayLike | None = None,
        keep_moments: bool | str = True,
    ) -> None:
        self.variance = variance
        self.threshold = threshold
        self.balance = balance
        self.priors = priors
        self.keep_moments = keep_moments

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        if self.variance is None:
            return whiten_fully(moments, self.threshold)
        small, lift = reduce_to_leading_axes(moments, float(self.variance))
        directions = whiten_fully(small, self.threshold)
        return directions._replace(W=lift(directions.W))

    def _needs_class_scatters(self, classes: Array) -> bool:
        return len(classes) <= 2  # the spread of each class sets the threshold

    def _add_decision(self, solution: Solution, moments: ClassMoments, rows: Any) -> Solution:
        gaussian = super()._add_decision(solution, moments, rows)
        return add_decision(self, gaussian, moments, rows)

    def _check_blocks_suffice(self) -> None:
        super()._check_blocks_suffice()
        check_cut_needs_no_rows(self.threshold)

    def _check_moments_suffice(self, classes: Array) -> None:
        super()._check_moments_suffice(classes)
        check_cut_needs_no_rows(self.threshold, len(classes))


class TruncatedIPCAC(MomentEstimator, SubspaceClassifier):
    """`IPCAC` that whitens the leading principal axes only and keeps the others as they are.

    When rows are not many more than features, small eigenvalues of the covariance are mostly
    error, and dividing by them is what fails. Here the spread along the d leading axes U is
    levelled to that of the last of them, q_d, and all else is left alone:
    ``w ∝ δ + U ((q_d / q)² - 1) Uᵀ δ``. Nothing is dropped, nothing of order d×d is formed.

    Parameters
    ----------
    n_whitened : "auto", "log2" or int
        Number of axes to whiten: ``log₂(n)²`` of the n rows (or of the sum of their weights), or
        a number; at most the rank of the data. 1 is the nearest-mean direction, the rank is
        `IPCAC`. "auto" adds to the covariance within classes the ridge of least log-loss that is
        expected of new rows; of more than 1000 dimensions it takes the 500 leading axes, and the
        mean variance in all other directions. Features are in units of their deviations within
        classes where new rows are expected to be judged better then.
    threshold : "auto", "mahalanobis", "accuracy" or "balanced"
        As in `IPCAC`.
    balance : float in [0, 1) or "auto"
        As in `IPCAC`.
    priors : array (n_classes,) or None
        As in `IPCAC`.
    keep_moments : bool or "by class"
        As in `IPCAC`. With more features than rows the statistics are the centred rows
        themselves.

    Attributes
    ----------
    n_whitened_ : int
        Number of axes that were whitened.
    shrinkage_ : float or None
        α of the ridge with "auto", as in `FisherDiscriminant`.
    components_, coef_, intercept_, threshold_, explained_ratio_
        As in `IPCAC`.
    mean_, means_, classes_, priors_, rank_, moments_
        As in `IPCAC`.

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
    >>> TruncatedIPCAC("log2").fit(pair.data[:150], pair.target[:150]).n_whitened_
    52
    >>> bool(model.score(pair.data[150:], pair.target[150:]) > 0.7)
    True
    """

    threshold_: Any
    n_whitened_: Any
    shrinkage_: Any
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_whitened": (one_of("auto", "log2"), whole_number(1)),
        **THRESHOLD_PARAMETERS,
        "keep_moments": KEEP_MOMENTS,
    }

    def __init__(
        self,
        n_whitened: int | str = "auto",
        *,
        threshold: str = "auto",
        balance: float | str = "auto",
        priors: ArrayLike | None = None,
        keep_moments: bool | str = True,
    ) -> None:
        self.n_whitened = n_whitened
        self.threshold = threshold
        self.balance = balance
        self.priors = priors
        self.keep_moments = keep_moments

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        return whiten_leading(moments, self.n_whitened, self.threshold, self.priors)

    def _needs_class_scatters(self, classes: Array) -> bool:
        return len(classes) <= 2  # the spread of each class sets the threshold

    def _add_decision(self, solution: Solution, moments: ClassMoments, rows: Any) -> Solution:
        gaussian = super()._add_decision(solution, moments, rows)
        return add_decision(self, gaussian, moments, rows)

    def _check_blocks_suffice(self) -> None:
        super()._check_blocks_suffice()
        check_cut_needs_no_rows(self.threshold)

    def _check_moments_suffice(self, classes: Array) -> None:
        super()._check_moments_suffice(classes)
        check_cut_needs_no_rows(self.threshold, len(classes))
