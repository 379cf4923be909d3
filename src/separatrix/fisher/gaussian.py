"""Gaussian classes in all features: quadratic discriminants, pooled and shrunk, or diagonal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from separatrix._warnings import warn_caller
from separatrix.base.batches import MomentEstimator
from separatrix.base.estimator import Rows
from separatrix.base.parameters import YES_OR_NO, Allowed, array_like, one_of, real_number
from separatrix.base.rows import check_new_rows
from separatrix.base.solution import Solution
from separatrix.decision.classifiers import SubspaceClassifier
from separatrix.decision.expected import LeftOut
from separatrix.decision.linear import LinearRule, check_priors, linear_gaussian_rule
from separatrix.decision.quadratic import (
    QuadraticRule,
    class_covariances,
    quadratic_gaussian_rule,
    total_covariance,
)
from separatrix.fisher.directions import fisher_directions, separating_rank, shrink
from separatrix.fisher.quadratic_left_out import choose_sphere
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import check_finite_columns, row_blocks
from separatrix.moments.spectra import reduce_to_range, reduce_to_span

MIN_VARIANCE = 1e-9
"""Least variance of a feature within a class, as a share of its variance among all rows."""


# The mathematics -----------------------------------------------------------------------------


def pool_scatters(scatters: Array, counts: Array, pooling: float) -> tuple[Array, Array]:
    """``(1 - λ) S_i + λ S`` and ``(1 - λ) N_i + λ N``, whose ratio is Friedman's covariance.

    Scatters may be matrices or diagonals, one for each class.
    """
    pooled = (1 - pooling) * scatters + pooling * scatters.sum(axis=0)
    return pooled, (1 - pooling) * counts + pooling * counts.sum()


def shrink_variances(
    scatter: Array, moments: ClassMoments, gamma: float, count: Array | None = None
) -> Array:
    """Shrunk variances of features from sums of squares, never numerical zero."""
    total = moments.total_diagonal() / moments.n_samples
    variances = scatter / (moments.n_samples if count is None else count)
    mean = variances.sum(axis=-1, keepdims=True) / max(moments.n_varying, 1)
    shrunk = (1 - gamma) * variances + gamma * mean
    return np.where(total > 0, np.maximum(shrunk, MIN_VARIANCE * total), 0.0)


# The estimator -------------------------------------------------------------------------------


class QuadraticDiscriminant(MomentEstimator, SubspaceClassifier):
    """Gaussian classes with covariances of their own, from quadratic to linear to nearest mean.

    Friedman's regularised discriminant: ``pooling`` leads from one covariance for each class
    (QDA) to one for all (LDA), ``shrinkage`` from there to a sphere. It decides in all features;
    `transform` shows the rows along the directions in which the class means are farthest apart.
    Everything follows from moments: models learn in batches, merge and forget.

    Parameters
    ----------
    pooling : float in [0, 1]
        λ: share of the covariance of all classes in that of each.
    shrinkage : float in [0, 1], "auto" or "moments"
        γ: share of a sphere of the same trace in each covariance. "auto" takes the γ whose
        log-loss of rows left out is least, with a slope and offsets of the decision, as
        `FisherDiscriminant` does; "moments", and "auto" where no row is left or rows have weights,
        leaves out rows that are drawn with exactly the moments of each class. A sphere is round in
        the units of the features: put a scaler before.
    diagonal : bool
        Take the features of a class as independent: only their variances are used (Gaussian naive
        Bayes, and with ``pooling=1`` diagonal LDA).
    priors : array (n_classes,) or None
        Class probabilities; None takes the proportions in the training data.
    keep_moments : bool
        Keep the statistics of the training rows, which `partial_fit` and `merge` need: as many
        matrices as there are classes.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Fisher's directions for the pooled and shrunk covariance, to look at.
    shrinkage_ : float
        The γ that was used.
    left_out_ : LeftOut or None
        With "auto" and "moments" what is known of new rows, as in `FisherDiscriminant`.
    mean_, means_, classes_, priors_, explained_ratio_, rank_, moments_
        As in `FisherDiscriminant`.

    Notes
    -----
    The covariance of class i is ``(1 - γ) C_i + γ tr(C_i)/d I`` with
    ``C_i = ((1 - λ) S_i + λ S) / ((1 - λ) N_i + λ N)``, and the decision is Bayes' rule.
    ``pooling=0, shrinkage=0`` is QDA with maximum-likelihood covariances, ``pooling=1`` is LDA.
    With more features than rows it is exact in the span of the rows and one number outside.

    A class with too few rows for a covariance of its own gets help from the pooled one, as in
    ``FisherDiscriminant(rule="quadratic")``, and a warning says so: set `pooling` or `shrinkage`.

    References
    ----------
    Friedman, Regularized discriminant analysis, Journal of the American Statistical Association
    84 (1989).

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import FisherDiscriminant, QuadraticDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 200)
    >>> X = rng.standard_normal((400, 2)) * np.where(y == 0, 0.3, 3.0)[:, None]  # one inside
    >>> FisherDiscriminant().fit(X, y).score(X, y) < 0.7
    True
    >>> QuadraticDiscriminant().fit(X, y).score(X, y) > 0.95
    True
    """

    n_components = None
    shrinkage_: float
    left_out_: Any
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "pooling": (real_number(0, 1),),
        "shrinkage": (real_number(0, 1), one_of("auto", "moments")),
        "diagonal": (YES_OR_NO,),
        "priors": (one_of(None), array_like()),
        "keep_moments": (YES_OR_NO,),
    }

    def __init__(
        self,
        pooling: float = 0.0,
        *,
        shrinkage: float | str = 0.0,
        diagonal: bool = False,
        priors: ArrayLike | None = None,
        keep_moments: bool = True,
    ) -> None:
        self.pooling = pooling
        self.shrinkage = shrinkage
        self.diagonal = diagonal
        self.priors = priors
        self.keep_moments = keep_moments

    def _needs_class_scatters(self, classes: Array) -> bool:
        return self.pooling < 1

    def _solve(
        self, moments: ClassMoments, rows: Rows | None, selected: Mapping[str, Any]
    ) -> Solution:
        judged = self._choose_shrinkage(moments, rows)
        gamma = self.shrinkage if judged is None else judged.alpha
        gamma = 0.0 if isinstance(gamma, str) else float(gamma)
        extras = {"shrinkage_": gamma, "left_out_": judged}
        if self.diagonal:
            return self._diagonal_directions(moments, gamma).with_extras(**extras)
        small, lift = reduce_to_span(moments)
        Sw = shrink(small.Sw, gamma, moments.n_varying)
        Hb = small.between_rows()
        directions = fisher_directions(Sw, Hb, n_samples=moments.n_samples, eps=moments.eps)
        directions = directions.with_extras(**extras)
        return self._keep_wanted(directions, lift, moments, selected, more_to_come=rows is None)

    def _choose_shrinkage(self, moments: ClassMoments, rows: Rows | None) -> LeftOut | None:
        """What rows left out say of γ; None where it is given, or classes have no scatter."""
        if not isinstance(self.shrinkage, str):
            return None
        given = check_priors(self.priors, moments.classes)
        shares = moments.counts / moments.n_samples if given is None else given
        seen = np.where(moments.counts > 0, shares, 0.0)
        to_leave_out = rows if self.shrinkage == "auto" else None
        if self.diagonal:
            W = moments.total_diagonal() > 0
            small = moments.select_columns(W)
        else:
            small, lift = reduce_to_range(moments)
            W = lift(np.eye(small.n_features))
        pooled = self._pool(small)
        return choose_sphere(moments, small, W, pooled, self.pooling, seen, to_leave_out)

    def _pool(self, small: ClassMoments) -> tuple[Array, Array]:
        """Friedman's pooled scatters and counts of the classes."""
        n_classes = len(small.counts)
        if not small.per_class:  # one for all
            whole = small.scatters[0].diagonal() if self.diagonal else small.Sw
            counts = np.full(n_classes, small.n_samples)
            return np.broadcast_to(whole, (n_classes, *whole.shape)), counts
        if self.diagonal:
            scatters = np.stack([scatter.diagonal() for scatter in small.scatters])
        else:
            scatters = small.class_scatters
        return pool_scatters(scatters, small.counts, self.pooling)

    def _diagonal_directions(self, moments: ClassMoments, gamma: float) -> Solution:
        """Fisher's directions for independent features: no matrix is made."""
        variances = shrink_variances(moments.within_diagonal(), moments, gamma)
        scatter = moments.n_samples * variances
        units = np.sqrt(np.where(scatter > 0, scatter, np.inf))
        _, s, Vt = np.linalg.svd(moments.between_rows() / units, full_matrices=False)
        k = separating_rank(s, max(moments.n_features, 1))
        within = np.eye(k)
        return Solution((Vt[:k] / units).T, s[:k] ** 2, int(np.count_nonzero(scatter)), within)

    def _add_decision(self, solution: Solution, moments: ClassMoments, rows: Any) -> Solution:
        decided = super()._add_decision(solution, moments, rows)
        priors = np.where(moments.counts > 0, decided.extras["priors_"], 0.0)
        if self.diagonal:
            make: Any = self._diagonal_rule
        else:
            make = self._span_rule if moments.per_class else self._pooled_rule
        rule = make(moments, priors, decided.extras["shrinkage_"])
        if (judged := decided.extras["left_out_"]) is not None:
            with np.errstate(divide="ignore"):
                rule = rule.calibrated(judged.slope, judged.offsets, np.log(priors))
        return decided.with_extras(_rule=rule)

    def _diagonal_rule(self, moments: ClassMoments, priors: Array, gamma: float) -> QuadraticRule:
        pooled, counts = self._pool(moments)
        counts = np.where(counts > 0, counts, 1.0)[:, None]
        variances = shrink_variances(pooled, moments, gamma, counts)
        used = variances > 0
        whiteners = np.where(used, 1 / np.sqrt(np.where(used, variances, 1.0)), 0.0)
        volumes = 0.5 * np.sum(np.log(np.where(used, variances, 1.0)), axis=1)
        means = np.where(priors[:, None] > 0, moments.means - moments.mean, 0.0)
        with np.errstate(divide="ignore"):
            return QuadraticRule(means, whiteners, np.log(priors) - volumes)

    def _pooled_rule(self, moments: ClassMoments, priors: Array, gamma: float) -> LinearRule:
        """One covariance for all classes: squares of rows, also outside of the span, cancel."""
        small, lift = reduce_to_range(moments)
        r, d = small.n_features, moments.n_varying
        covariance = shrink(small.Sw / moments.n_samples, gamma, d)
        means = np.where(priors[:, None] > 0, small.means - small.mean, 0.0)
        # in a span the answer of a singular covariance is that along the principal axes
        total = total_covariance(means, covariance, priors)
        axes = np.eye(r) if r == d else np.linalg.eigh(total)[1]
        rule = linear_gaussian_rule(means @ axes, axes.T @ covariance @ axes, priors)
        return rule._replace(coef=lift(axes @ rule.coef.T).T)

    def _span_rule(self, moments: ClassMoments, priors: Array, gamma: float) -> QuadraticRule:
        small, lift = reduce_to_range(moments)
        r, d = small.n_features, moments.n_varying
        covariances = self._covariances(small, r, gamma)
        traces = np.trace(covariances, axis1=1, axis2=2)
        spheres = gamma * traces / max(d, 1)
        covariances = (1 - gamma) * covariances + spheres[:, None, None] * np.eye(r)
        means = np.where(priors[:, None] > 0, small.means - small.mean, 0.0)
        if r == moments.n_features:
            return quadratic_gaussian_rule(means, covariances, priors)
        # a singular covariance is judged in units of each coordinate, and those of the span are
        # arbitrary: along the principal axes the answer is the same for all of them
        axes = np.linalg.eigh(total_covariance(means, covariances, priors))[1]
        rule = quadratic_gaussian_rule(means @ axes, axes.T @ covariances @ axes, priors)
        # outside of the span each class is a sphere: the length there is one more coordinate
        known = spheres > 0
        variances = np.where(known, spheres, 1.0)
        whiteners = np.zeros((len(priors), r + 1, r + 1))
        whiteners[:, :r, :r] = rule.whiteners
        whiteners[:, r, r] = np.where(known, 1 / np.sqrt(variances), 0.0)
        means = np.pad(rule.means, ((0, 0), (0, 1)))
        constants = rule.constants - 0.5 * (d - r) * np.log(variances)
        return QuadraticRule(means, whiteners, constants, lift(axes))

    def _covariances(self, small: ClassMoments, r: int, gamma: float) -> Array:
        """Friedman's pooled covariances; a class with too few rows gets help from all."""
        n = small.n_samples
        scatters, counts = self._pool(small)
        if gamma == 0:
            alone = (counts > 0) & (counts <= r)
            if alone.any() and small.n_samples > 1:
                warn_caller(
                    f"class {small.classes[alone].tolist()[0]!r} has too few rows for a "
                    f"covariance of {r} dimensions, and gets help from the pooled one: set "
                    "pooling or shrinkage"
                )
            return class_covariances(scatters, counts, small.Sw / n)
        return scatters / np.where(counts > 0, counts, 1.0)[:, None, None]

    # new rows ---------------------------------------------------------------------------------

    @property
    def coef_(self) -> Array:
        """Weights of the features, of one covariance for all classes (``pooling=1``)."""
        check_is_fitted(self)
        return self._rule.linear.coef  # the rule decides in all features

    def _scores(self, X: ArrayLike) -> Array:
        rows = check_new_rows(self, X, accept_sparse=True)
        scores = np.empty((rows.shape[0], len(self.classes_)))
        with np.errstate(invalid="ignore", over="ignore"):
            for block in row_blocks(*rows.shape):
                part = rows[block].toarray() if sp.issparse(rows) else rows[block]
                scores[block] = self._rule.scores(part - self.mean_)
        if not np.isfinite(scores).all():
            check_finite_columns(rows, getattr(self, "feature_names_in_", None))
        return scores
