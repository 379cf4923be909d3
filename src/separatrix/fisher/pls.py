"""Partial least squares for classes, from moments alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from separatrix._warnings import warn_caller
from separatrix.base.batches import MomentEstimator
from separatrix.base.estimator import Rows
from separatrix.base.parameters import N_COMPONENTS, YES_OR_NO, Allowed, array_like, one_of
from separatrix.base.solution import Solution
from separatrix.decision.classifiers import SubspaceClassifier
from separatrix.decision.linear import linear_gaussian_rule
from separatrix.fisher.directions import summation_order
from separatrix.linalg import EPS, Array, numerical_rank
from separatrix.moments.class_moments import ClassMoments
from separatrix.selection import AtMost

MIN_COVARIANCE = 1e-10
"""Least covariance with the labels that a further direction must have, as a share of the first
one's; what is left below it is numerical zero."""


# The mathematics -----------------------------------------------------------------------------


class LatentDirections(NamedTuple):
    """Directions of partial least squares and the regression along them.

    Attributes
    ----------
    rotations : array (d, k)
        R; the scores of centred rows are ``T = X R`` and uncorrelated.
    weights : array (d, k)
        Unit vectors of largest covariance with the labels, each in the rows that are left when
        the earlier scores are regressed out.
    loadings : array (n_targets, k)
        Q; the targets are estimated by ``T Qᵀ``.
    scatter : array (k,)
        ``‖t‖²`` of each score.
    """

    rotations: Array
    weights: Array
    loadings: Array
    scatter: Array

    @property
    def explained(self) -> Array:
        """Sum of squares of the targets that each score explains."""
        return self.scatter * np.sum(self.loadings**2, axis=0)


def latent_directions(
    apply: Callable[[Array], Array], B: Array, most: int, least: float = 0.0
) -> LatentDirections:
    """Partial least squares of Y on X, from products of ``XᵀX`` and ``B = XᵀY`` alone.

    Direction a is the first left singular vector w of ``X_aᵀ Y``, with ``X_a`` the rows that are
    left when the earlier scores are regressed out of them. As scores are uncorrelated,
    ``X_aᵀ Y = B - Σ p (tᵀY)`` and the loadings are ``p = XᵀX r / ‖t‖²``: k products of ``XᵀX``
    with a vector, and never the rows or the matrix.

    Parameters
    ----------
    apply : function
        ``V -> XᵀX V``.
    B : array (d, n_targets)
        ``XᵀY``.
    most : int
        Number of directions; fewer are found where no covariance or no variance is left.
    least : float
        Covariance that is numerical zero.
    """
    d, n_targets = B.shape
    R, W, P = (np.zeros((d, most)) for _ in range(3))
    Q, scatter = np.zeros((n_targets, most)), np.zeros(most)
    left, first, variances = B, None, np.zeros(most)
    for a in range(most):
        U, s, _ = np.linalg.svd(left, full_matrices=False)
        first = s[0] if first is None and len(s) else first
        if not len(s) or s[0] <= max(MIN_COVARIANCE * (first or np.inf), least):
            return LatentDirections(R[:, :a], W[:, :a], Q[:, :a], scatter[:a])
        W[:, a] = U[:, 0]
        R[:, a] = U[:, 0] - R[:, :a] @ (P[:, :a].T @ U[:, 0])
        product = apply(R[:, a : a + 1])[:, 0]
        scatter[a] = R[:, a] @ product
        variances[a] = scatter[a] / (R[:, a] @ R[:, a])
        # means of classes of next to no weight have rounding for their last covariance
        if numerical_rank(variances[a : a + 1], d, largest=variances.max()) == 0:
            return LatentDirections(R[:, :a], W[:, :a], Q[:, :a], scatter[:a])
        P[:, a] = product / scatter[a]
        Q[:, a] = B.T @ R[:, a] / scatter[a]
        left = left - np.outer(P[:, a], scatter[a] * Q[:, a])
    return LatentDirections(R, W, Q, scatter)


def importance_in_projection(directions: LatentDirections) -> Array:
    """Share of each feature in the explained labels (VIP): squares have the mean one."""
    explained = directions.explained
    if not explained.sum() > 0:
        return np.zeros(len(directions.weights))
    return np.sqrt(len(directions.weights) * (directions.weights**2 @ explained) / explained.sum())


def gaussian_scores(Z: Array, y: Array, Z_new: Array, y_new: Array, ends: Array) -> Array:
    """Accuracies of Gaussian classes of one covariance in the leading coordinates.

    A scorer of `selection.dimension_path`: the rule that decides also judges, and has an answer
    for classes of one row.
    """
    if not len(ends):
        return np.empty(0)
    moments = ClassMoments.from_data(Z, y)
    means, shares = moments.means - moments.mean, moments.counts / moments.n_samples
    Z_new, covariance, scores = Z_new - moments.mean, moments.Sw / moments.n_samples, []
    for end in ends:
        rule = linear_gaussian_rule(means[:, :end], covariance[:end, :end], shares)
        codes = np.argmax(Z_new[:, :end] @ rule.coef.T + rule.intercept, axis=1)
        scores.append(np.mean(moments.classes[codes] == y_new))
    return np.array(scores)


# The estimator -------------------------------------------------------------------------------


class PartialLeastSquaresDiscriminant(MomentEstimator, SubspaceClassifier):
    """Uncorrelated directions of largest covariance with the class labels (PLS-DA).

    Nothing is inverted, so that many more features than samples, correlated as those of spectra
    are, do no harm; and there may be more directions than ``n_classes - 1``. The decision is
    that of Gaussian classes in the subspace. Everything follows from moments: models learn in
    batches, merge and forget.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions, at most one for each feature; fewer, with a warning, where no
        covariance with the labels is left. "auto" takes as many as cross-validation favours, and
        where no row is left, as in models that learn in batches or are merged, twice as many as
        there are classes. None takes ``n_classes - 1``.
    scale : bool
        Divide each feature, and the indicator of each class, by its standard deviation.
        Spectra, whose features have one unit, are often better left unscaled.
    priors : array (n_classes,) or None
        Class probabilities of the decision; None takes the proportions in the training data.
    keep_moments : bool
        Keep the statistics of the training rows, which `partial_fit` and `merge` need.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        The directions; scores are ``(X - mean_) @ components_.T``.
    vip_ : array (n_features,)
        Importance of each feature in the projection. Squares have the mean one: features above
        one matter more than the average.
    regression_coef_ : array (n_classes, n_features)
        Coefficients of the regression of the class indicators, in units of the features.
    explained_ratio_ : array (n_components,)
        Share of the sum of squares of the indicators that each direction explains.
    mean_, means_, classes_, priors_, coef_, intercept_, rank_, selection_, moments_
        As in `FisherDiscriminant`; `rank_` is the number of directions found.

    Notes
    -----
    ``components_ @ St @ components_.T`` is diagonal: the scores are uncorrelated. Scores and
    coefficients are those of scikit-learn's ``PLSRegression`` on the indicators of the classes.
    The algorithm known as SIMPLS agrees with them for two classes only: for more it finds other
    directions after the first.

    Regressing indicators and taking the largest, as PLS-DA is often run, favours large classes;
    a Gaussian rule in the subspace does not.

    References
    ----------
    Barker and Rayens, Partial least squares for discrimination, Journal of Chemometrics 17
    (2003). Wold, Sjöström and Eriksson, PLS-regression: a basic tool of chemometrics, Chemometrics
    and Intelligent Laboratory Systems 58 (2001), for `vip_`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from separatrix import PartialLeastSquaresDiscriminant
    >>> X, y = load_wine(return_X_y=True)
    >>> model = PartialLeastSquaresDiscriminant(n_components=3).fit(X, y)
    >>> model.transform(X).shape
    (178, 3)
    >>> int(model.vip_.argmax())  # alcohol
    0
    """

    vip_: Any
    regression_coef_: Any
    # variance without a part in the labels leads the directions: no matter for Gaussian classes
    _dimension_judge = staticmethod(gaussian_scores)
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
        "scale": (YES_OR_NO,),
        "priors": (one_of(None), array_like()),
        "keep_moments": (YES_OR_NO,),
    }

    def __init__(
        self,
        n_components: int | str | None = "auto",
        *,
        scale: bool = True,
        priors: ArrayLike | None = None,
        keep_moments: bool = True,
    ) -> None:
        self.n_components = n_components
        self.scale = scale
        self.priors = priors
        self.keep_moments = keep_moments

    def _solve(
        self, moments: ClassMoments, rows: Rows | None, selected: Mapping[str, Any]
    ) -> Solution:
        units, target_units = self._units(moments)
        Hb, within = moments.between_rows(), moments.within

        def apply(V: Array) -> Array:
            V = V / units[:, None]
            return (within.apply(V) + Hb.T @ (Hb @ V)) / units[:, None]

        deviations = np.where(moments.counts[:, None] > 0, moments.means - moments.mean, 0.0)
        B = moments.counts[:, None] * deviations / units / target_units[:, None]
        asked = self._n_asked(moments, selected)
        spreads = np.sqrt(moments.total_diagonal().clip(0.0) / moments.n_samples) / units
        largest = float(np.max(moments.counts / target_units) * spreads.max(initial=0.0))
        order = summation_order(moments.n_samples, moments.n_features)
        directions = latent_directions(apply, B.T, asked, order * EPS * largest)
        W = directions.rotations / units[:, None]
        coef = directions.loadings @ directions.rotations.T * target_units[:, None] / units
        exactly = isinstance(self.n_components, Integral) and not isinstance(
            self.n_components, AtMost
        )
        if rows is not None and exactly and 0 < W.shape[1] < asked:
            warn_caller(
                f"PartialLeastSquaresDiscriminant found {W.shape[1]} of {asked} directions: no "
                "covariance with the labels is left for more"
            )
        total = np.sum(moments.counts * (1 - moments.counts / moments.n_samples) / target_units**2)
        extras = {
            "vip_": importance_in_projection(directions),
            "regression_coef_": coef,
            "explained_ratio_": directions.explained / total
            if total > 0
            else directions.explained,
        }
        Sw = W.T @ moments.within_apply(W)
        return Solution(W, directions.explained, W.shape[1], within=Sw, extras=extras)

    def _check_moments_suffice(self, classes: Array) -> None:
        """They do, whatever the parameters."""

    def _check_blocks_suffice(self) -> None:
        """They do, whatever the parameters."""

    def _units(self, moments: ClassMoments) -> tuple[Array, Array]:
        """Standard deviations of the features and of the class indicators, or ones."""
        n = moments.n_samples
        if not self.scale:
            return np.ones(moments.n_features), np.ones(len(moments.classes))
        share = moments.counts / n
        variances = moments.total_diagonal(), n * share * (1 - share)
        freedom = n - 1 if n > 1 else n  # weights that fade may sum to less than one
        return tuple(np.sqrt(np.where(v > 0, v, freedom) / freedom) for v in variances)  # type: ignore[return-value]

    def _n_asked(self, moments: ClassMoments, selected: Mapping[str, Any]) -> int:
        """Directions to look for: at most the rank that the size of the data allows."""
        if self.n_components is None:
            return max(len(moments.classes) - 1, 1)
        d = moments.n_features
        if self.n_components == "auto" and "n_components" not in selected:
            return min(2 * len(moments.classes), d)
        return self._n_wanted(d, f"the rank of the data, with n_features = {d}", selected)
