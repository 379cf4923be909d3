"""Directions along which classes differ in their means or in their spread, from moments alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from separatrix.base.batches import MomentEstimator
from separatrix.base.estimator import Rows
from separatrix.base.parameters import (
    KEEP_MOMENTS,
    N_COMPONENTS,
    Allowed,
    array_like,
    one_of,
    real_number,
)
from separatrix.base.solution import Solution
from separatrix.decision.classifiers import SubspaceClassifier
from separatrix.decision.linear import check_priors
from separatrix.decision.quadratic import quadratic_gaussian_rule
from separatrix.fisher.directions import shrink
from separatrix.linalg import Array, column_signs, numerical_rank
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.novelty import oas_shrinkage
from separatrix.moments.spectra import drop_constant_features, reduce_to_range

LEAST_SPREAD = 1e-6
"""Variance that every class has along any direction, in units of the deviations of the features:
without scatter within classes the means decide first, and nothing is divided by zero."""

# The mathematics -----------------------------------------------------------------------------


class WhitenedClasses(NamedTuple):
    """Gaussian classes in coordinates where their pooled covariance is the identity.

    Attributes
    ----------
    means : array (n_classes, r)
        Differences δ_c of the class means from the mean of all rows.
    covariances : array (n_classes, r, r)
        Σ̃_c, maximum likelihood.
    counts : array (n_classes,)
    whitener : array (r, r)
        Takes columns of coordinates back to directions.
    """

    means: Array
    covariances: Array
    counts: Array
    whitener: Array

    def directions(self, shares: Array) -> tuple[Array, Array]:
        """Orthonormal directions of most difference, with the amount of each, both descending.

        They are the eigenvectors of ``Σ_c p_c (½ (log Σ̃_c)² + δ_c δ_cᵀ)``.
        """
        r = self.means.shape[1]
        total = np.zeros((r, r))
        for share, mean, covariance, n in zip(shares, *self[:3], strict=True):
            if share > 0:
                evals, U = np.linalg.eigh(borrow_from_pooled(covariance, n))
                logs = np.log(evals)
                total += share * (0.5 * (U * logs**2) @ U.T + np.outer(mean, mean))
        evals, V = np.linalg.eigh(total)
        return V[:, ::-1], evals[::-1]


def borrow_from_pooled(covariance: Array, n_rows: float) -> Array:
    """The covariance of a class, where that of all classes is the identity of r dimensions.

    As if r + 1 more rows had been seen that are spread as those of all classes are: the mean of
    an inverse Wishart posterior.
    """
    extra = len(covariance) + 1
    return (n_rows * covariance + extra * np.eye(len(covariance))) / (n_rows + extra)


def whiten_classes(small: ClassMoments, pooled: Array) -> WhitenedClasses:
    """The classes in coordinates where the pooled covariance given is the identity.

    Coordinates are in units of deviations; all classes have the `LEAST_SPREAD` in them.
    """
    A = np.linalg.inv(np.linalg.cholesky(pooled))
    counts = np.where(small.counts > 0, small.counts, 1.0)
    covariances = small.class_scatters / counts[:, None, None]
    covariances += LEAST_SPREAD * np.eye(len(A))
    means = np.where(small.counts[:, None] > 0, small.means - small.mean, 0.0)
    return WhitenedClasses(means @ A.T, A @ covariances @ A.T, small.counts, A.T)


# The estimator -------------------------------------------------------------------------------


class HeteroscedasticDiscriminant(MomentEstimator, SubspaceClassifier):
    """Directions along which classes differ in their means, their spread, or both.

    Fisher's directions are blind to classes with a common mean. These are the leading
    eigenvectors of ``Σ_c p_c (½ (log Σ̃_c)² + δ_c δ_cᵀ)`` in coordinates where the pooled
    covariance is the identity, with the covariance Σ̃_c and the mean δ_c of each class there.
    The decision is that of Gaussian classes in the subspace, each with its own covariance.
    Everything follows from moments: models learn in batches, merge and forget.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions, at most one for each feature. None takes as many as there are
        classes, "auto" as many as cross-validation favours.
    shrinkage : "auto" or float in [0, 1]
        α: the pooled covariance is ``(1 - α) Sw + α tr(Sw)/d I``, for features in units of their
        deviations. "auto" is the oracle approximating shrinkage of Chen and others, which needs
        moments only.
    priors : array (n_classes,) or None
        Class probabilities; None takes the proportions in the training data.
    keep_moments : bool or "by class"
        Keep the statistics of the training rows, which `partial_fit` and `merge` need: as many
        matrices as there are classes.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        The directions, those of most difference first. The pooled variance along each is one.
    shrinkage_ : float
        The α that was used.
    explained_ratio_ : array (n_components,)
        Share of each in the sum of the criterion.
    mean_, means_, classes_, priors_, rank_, selection_, moments_
        As in `FisherDiscriminant`.

    Notes
    -----
    With two classes of one mean the directions are the common spatial patterns of
    electroencephalography, those of largest and of smallest ratio of variances first.

    A class covariance is noise in many dimensions. In the criterion, and again in the subspace,
    it counts r + 1 more rows that are spread as those of all classes are, with r the number of
    dimensions: `borrow_from_pooled`.

    Where classes have one covariance a direction more than `FisherDiscriminant` has is noise, and
    so is its decision by class covariances: take that instead.

    References
    ----------
    Chen, Wiesel, Eldar and Hero, Shrinkage algorithms for MMSE covariance estimation, IEEE
    Transactions on Signal Processing 58 (2010), for "auto".
    Loog and Duin, Linear dimensionality reduction via a heteroscedastic extension of LDA: the
    Chernoff criterion, IEEE TPAMI 26 (2004), for the logarithms.

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import FisherDiscriminant, HeteroscedasticDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(400) % 2
    >>> X = rng.standard_normal((400, 10))
    >>> X[:, :2] *= np.where(y == 0, 3.0, 0.6)[:, None]  # of ten features two differ in spread
    >>> FisherDiscriminant().fit(X, y).score(X, y) < 0.6
    True
    >>> HeteroscedasticDiscriminant().fit(X, y).score(X, y) > 0.9
    True
    """

    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
        "shrinkage": (one_of("auto"), real_number(0, 1)),
        "priors": (one_of(None), array_like()),
        "keep_moments": KEEP_MOMENTS,
    }
    shrinkage_: Any

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        shrinkage: float | str = "auto",
        priors: ArrayLike | None = None,
        keep_moments: bool | str = True,
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.priors = priors
        self.keep_moments = keep_moments

    def _needs_class_scatters(self, classes: Array) -> bool:
        return True

    def _solve(
        self, moments: ClassMoments, rows: Rows | None, selected: Mapping[str, Any]
    ) -> Solution:
        varying, put_back = drop_constant_features(moments)
        units = np.sqrt(varying.total_diagonal() / moments.n_samples)
        small, lift = reduce_to_range(varying.rescaled(np.zeros_like(units), 1 / units))
        Sw = small.Sw + moments.n_samples * LEAST_SPREAD * np.eye(small.n_features)
        alpha = self.shrinkage
        if isinstance(alpha, str):
            n_free = moments.n_samples - np.count_nonzero(moments.counts)
            alpha = oas_shrinkage(np.linalg.eigvalsh(Sw), max(len(units), 1), max(n_free, 0))
        classes = whiten_classes(small, shrink(Sw, alpha, len(units)) / moments.n_samples)
        U, evals = classes.directions(self._shares(moments))
        # where classes differ in nothing any direction is as good as another
        rank = numerical_rank(evals, max(len(evals), 1))
        k = self._count(rank, rows is None, moments, selected)
        W = put_back(lift(classes.whitener @ U[:, :k]) / units[:, None])
        signs = column_signs(W)  # those that they will have: the decision is made along them
        W, U = W * signs, U[:, :k] * signs
        extras = {"shrinkage_": float(alpha), "_classes": (classes, U)}
        within = moments.n_samples * np.eye(k)
        return Solution(W, evals[:rank], len(evals), within=within, extras=extras)

    def _shares(self, moments: ClassMoments) -> Array:
        """The weights of the classes with rows."""
        given = check_priors(self.priors, moments.classes)
        shares = moments.counts / moments.n_samples if given is None else given
        return np.where(moments.counts > 0, shares, 0.0)

    def _count(
        self, rank: int, more_to_come: bool, moments: ClassMoments, selected: Mapping[str, Any]
    ) -> int:
        if self.n_components is None:
            return min(rank, len(moments.classes))
        available = moments.n_features if more_to_come else rank
        why = "directions in which the classes differ"
        return min(rank, self._n_wanted(available, why, selected))

    def _add_decision(self, solution: Solution, moments: ClassMoments, rows: Any) -> Solution:
        decided = super()._add_decision(solution, moments, rows)
        extras = dict(decided.extras)
        classes, U = extras.pop("_classes")
        pairs = zip(U.T @ classes.covariances @ U, classes.counts, strict=True)
        covariances = np.stack([borrow_from_pooled(C, n) for C, n in pairs])
        shares = self._shares(moments)
        means = np.where(shares[:, None] > 0, classes.means, 0.0) @ U
        extras["_rule"] = quadratic_gaussian_rule(means, covariances, shares)
        return decided._replace(extras=extras)
