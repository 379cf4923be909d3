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
from separatrix.fisher.directions import fisher_directions, rank_of_means, reduce_to_leading_axes
from separatrix.ipcac.expected import (
    expected_partially_whitened,
    expected_whitened,
    leverage_matters,
)
from separatrix.ipcac.threshold import (
    THRESHOLD_PARAMETERS,
    add_threshold,
    check_threshold_needs_rows,
    check_threshold_of_blocks,
)
from separatrix.ipcac.whitened import choose_axes
from separatrix.linalg import Array, Lift, numerical_rank, range_and_null
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows
from separatrix.moments.spectra import between_along_axes, max_total_rank, reduce_to_span

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


def whitened_axes(
    moments: ClassMoments, variance: float | None, tol: float | None
) -> tuple[ClassMoments, Lift]:
    """Moments in the principal axes that are kept: a share of the variance, or above `tol`."""
    if variance is not None:
        moments, lift = reduce_to_leading_axes(moments, float(variance))
    else:
        moments, lift = reduce_to_span(moments)
    if tol is None:
        return moments, lift
    evals, axes, _ = range_and_null(moments.St, eps=moments.eps)
    axes = axes[:, evals > tol * np.max(evals, initial=0.0)]
    return moments.project(axes), lambda W: lift(axes @ W)


def log2_rule(n_samples: float) -> int:
    """``log₂(n)²``, the number of directions that the thesis found worth whitening."""
    return max(1, round(float(np.log2(max(n_samples, 1.0))) ** 2))


def n_to_whiten(n_whitened: int | str, n_samples: float) -> int:
    """The number of axes that the parameter asks for."""
    return log2_rule(n_samples) if n_whitened == "log2" else int(n_whitened)


def partially_whitened_directions(
    moments: ClassMoments, wanted: int, *, correct: bool = False
) -> Solution:
    """The span of the class means where the leading axes have been whitened (4.6 to 4.8).

    `rank` is the number of axes that were: those wanted, or all there are. With `correct` the
    solution for two classes comes with the scores that new rows are expected to have.
    """
    Hb = moments.between_rows()
    if len(Hb) and wanted < max_total_rank(moments):
        axes = between_along_axes(moments, wanted)
        if numerical_rank(axes.evals, moments.n_features, eps=moments.eps) == wanted:
            # P² Hbᵀ, with P the map that shrinks the spread q along the axes to its last value
            # (4.6): for the whitened means (4.7), and for directions in the original space (4.8)
            last, rest = axes.evals[-1], Hb.T - axes.kept
            U, s, Vt = np.linalg.svd(last * axes.whitened + rest, full_matrices=False)
            # means of classes on a line leave axes whose variation is numerical zero
            traces = np.array([scatter.trace() for scatter in moments.scatters])
            k = rank_of_means(s, moments, traces.sum())
            basis = U[:, :k]
            if not (correct and k and leverage_matters(wanted, moments.counts)):
                found = whitened_mean_directions(moments.project(basis))
                return found._replace(W=basis @ found.W, rank=wanted)
            # the rows are projected once, on both parts of the one direction
            parts = moments.project(np.hstack([axes.whitened, rest]))
            turn = np.vstack([last * Vt.T, Vt.T]) / s
            found = whitened_mean_directions(parts.project(turn))
            found = found._replace(W=basis @ found.W, rank=wanted)
            return found.with_extras(
                _expected=expected_partially_whitened(moments, axes, parts, traces)
            )
    small, lift = reduce_to_span(moments)
    found = fully_whitened_directions(small, correct=correct)
    rank = len(range_and_null(small.St, eps=moments.eps).evals)
    return found._replace(W=lift(found.W), rank=rank)


def fully_whitened_directions(moments: ClassMoments, *, correct: bool) -> Solution:
    """`whitened_mean_directions`, with the expected scores of new rows where they matter."""
    found = whitened_mean_directions(moments)
    if not (correct and found.W.shape[1] and leverage_matters(moments.n_features, moments.counts)):
        return found
    return found.with_extras(_expected=expected_whitened(moments))


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
    threshold : "auto", "mahalanobis", "accuracy", "balanced" or "held-out"
        Where to cut between two classes. "mahalanobis": at the same number of standard deviations
        from both class means (4.3). "auto": the same, between the class means that new rows are
        expected to have wherever those of the training rows are misleading (few rows for the
        axes that are whitened). Both need moments only, so that they can be updated and merged.
        The others need all rows. "held-out": (4.3) on the scores of rows by models fitted without
        them, in five folds, or as many as hold 300 rows of each class. "accuracy": where
        most training rows are right (3.17, at the middle of the widest such gap). "balanced": the
        rule of the thesis for unbalanced classes (3.22).
    balance : float in [0, 1) or "auto"
        k of "balanced": thresholds count as good that get more than k times as many rows right as
        the best. 0 is the middle of the class means; "auto" is the k of the best balanced
        accuracy on the training rows.
    priors : array (n_classes,) or None
        Class probabilities. For more than two classes None takes the proportions in the training
        data. For two, None leaves the threshold rule as it is; given priors weigh the classes.
    tol : float or None
        Principal axes with an eigenvalue below this share of the largest are dropped; None drops
        those of numerical zero.
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
    threshold_rule_ : str or None
        The rule that gave it: "mahalanobis", "corrected" (the same between the means that new rows
        are expected to have), "held-out", "accuracy" or "balanced".
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
    value a class: "mahalanobis", "accuracy" and "balanced" give the middle of the two. "auto"
    finds the scores of new rows from the leverages, which are known there, too.

    `predict_proba` is 1/2 where the decision changes: for two classes a logistic function of the
    distance to the threshold, with the slope of two Gaussians of the pooled variance. With "auto"
    their means and variance are those expected of new rows; with "held-out" the slope is the most
    likely one for the scores of rows held out.

    The correction takes the sums of weights for numbers of rows: weights below one make it
    stronger, and where they sum to less than there are axes nothing is corrected. Rows given twice
    look like each other's evidence: the correction is too small then.

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
    threshold_rule_: Any
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "variance": (one_of(None), real_number(0, 1, open_low=True)),
        **THRESHOLD_PARAMETERS,
        "tol": (one_of(None), real_number(0, 1)),
        "keep_moments": KEEP_MOMENTS,
    }

    def __init__(
        self,
        variance: float | None = None,
        *,
        threshold: str = "auto",
        balance: float | str = "auto",
        priors: ArrayLike | None = None,
        tol: float | None = None,
        keep_moments: bool | str = True,
    ) -> None:
        self.variance = variance
        self.threshold = threshold
        self.balance = balance
        self.priors = priors
        self.tol = tol
        self.keep_moments = keep_moments

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        small, lift = whitened_axes(moments, self.variance, self.tol)
        found = fully_whitened_directions(small, correct=self.threshold == "auto")
        return found._replace(W=lift(found.W))

    def _needs_class_scatters(self, classes: Array) -> bool:
        return len(classes) <= 2  # the spread of each class sets the threshold

    def _add_decision(self, solution: Solution, moments: ClassMoments, rows: Any) -> Solution:
        return add_threshold(self, super()._add_decision, solution, moments, rows)

    def _check_blocks_suffice(self) -> None:
        super()._check_blocks_suffice()
        check_threshold_of_blocks(self.threshold)

    def _check_moments_suffice(self, classes: Array) -> None:
        super()._check_moments_suffice(classes)
        check_threshold_needs_rows(self.threshold, len(classes))


class TruncatedIPCAC(MomentEstimator, SubspaceClassifier):
    """`IPCAC` that whitens the leading principal axes only and keeps the others as they are.

    When rows are not many more than features, small eigenvalues of the covariance are mostly
    error, and dividing by them is what fails. Here the spread along the d leading axes U is
    levelled to that of the last of them, q_d, and all else is left alone:
    ``w ∝ δ + U ((q_d / q)² - 1) Uᵀ δ``. Nothing is dropped, nothing of order d×d is formed.

    Parameters
    ----------
    n_whitened : "log2", "auto" or int
        Number of axes to whiten: ``log₂(n)²`` of the n rows (or of the sum of their weights), or
        a number; no more than the rank of the data. 1 is the nearest-mean direction, the rank is
        `IPCAC`. "auto" is the number whose scores of held-out rows separate two classes best, in
        five folds; it needs all rows at once, and dense ones. Their weights do not enter the
        choice. More than two classes take "log2".
    threshold : "auto", "mahalanobis", "accuracy", "balanced" or "held-out"
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
    components_, coef_, intercept_, threshold_, threshold_rule_, explained_ratio_
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

    threshold_: Any
    threshold_rule_: Any
    n_whitened_: Any
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_whitened": (one_of("log2", "auto"), whole_number(1)),
        **THRESHOLD_PARAMETERS,
        "keep_moments": KEEP_MOMENTS,
    }

    def __init__(
        self,
        n_whitened: int | str = "log2",
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

    def _select(self, rows: LabelledRows) -> dict[str, Any]:
        two = len(rows.classes) == 2 and rows.counts.min() > 0
        if self.n_whitened != "auto" or not two:
            return {}
        return {"n_whitened": choose_axes(rows, log2_rule(float(rows.counts.sum())))}

    def _solve(self, moments: ClassMoments, rows: Any, selected: Mapping[str, Any]) -> Solution:
        chosen = selected.get("n_whitened")
        asked = "log2" if self.n_whitened == "auto" else self.n_whitened
        wanted = chosen["n_whitened"] if chosen else n_to_whiten(asked, moments.n_samples)
        found = partially_whitened_directions(moments, wanted, correct=self.threshold == "auto")
        return found.with_extras(n_whitened_=found.rank)

    def _needs_class_scatters(self, classes: Array) -> bool:
        return len(classes) <= 2  # the spread of each class sets the threshold

    def _add_decision(self, solution: Solution, moments: ClassMoments, rows: Any) -> Solution:
        return add_threshold(self, super()._add_decision, solution, moments, rows)

    def _check_blocks_suffice(self) -> None:
        super()._check_blocks_suffice()
        check_threshold_of_blocks(self.threshold)
        self._check_axes_need_no_rows()

    def _check_moments_suffice(self, classes: Array) -> None:
        super()._check_moments_suffice(classes)
        check_threshold_needs_rows(self.threshold, len(classes))
        self._check_axes_need_no_rows()

    def _check_axes_need_no_rows(self) -> None:
        if self.n_whitened == "auto":
            raise ValueError(
                'n_whitened="auto" holds out rows, and needs all of them at once, in memory: use '
                'fit, or n_whitened="log2" or a number'
            )
