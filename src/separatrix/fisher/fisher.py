"""Fisher's discriminant and the maximum margin criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from separatrix.base.batches import MomentEstimator
from separatrix.base.estimator import Rows, SubspaceEstimator
from separatrix.base.parameters import (
    KEEP_MOMENTS,
    N_COMPONENTS,
    Allowed,
    array_like,
    one_of,
    real_number,
    whole_number,
)
from separatrix.base.solution import Solution
from separatrix.decision.by_moments import ByMoments
from separatrix.decision.classifiers import SubspaceClassifier
from separatrix.decision.expected import LeftOut
from separatrix.decision.linear import RULES, check_priors, decide_by_means
from separatrix.decision.quadratic import decide_quadratically
from separatrix.fisher.directions import (
    fisher_directions,
    rank_of_means,
    reduce_to_leading_axes,
    shrink,
)
from separatrix.fisher.left_out import SolvedSpace, expect_new_rows
from separatrix.fisher.shrinkage import shrink_nonlinearly
from separatrix.fisher.structure import (
    estimates_covariance,
    fit_covariance,
    impose_structure,
    imposes_structure,
)
from separatrix.linalg import Array, Lift, range_basis, top_eigh
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.spectra import (
    drop_constant_features,
    in_units_of_deviations,
    reduce_to_range,
    reduce_to_span,
    span_of_held_rows,
)

# Estimators ----------------------------------------------------------------------------------


class FisherDiscriminant(MomentEstimator, SubspaceClassifier):
    """Directions that separate class means best, measured by the scatter within classes.

    Finds the W that maximises, column after column, ``wᵀ Sb w / wᵀ Sw w`` (Fisher's linear
    discriminant, LDA, MDA) and classifies in that subspace with a Gaussian rule.
    Works on dense and sparse data, on more features than samples, and batch by batch.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions, at most ``n_classes - 1``; None keeps all of them, "auto" as many as
        cross-validation favours (`selection.dimension_path`). The decision is made in the space
        of the directions kept.
    shrinkage : "auto", "moments", "nonlinear", None or float in [0, 1]
        Replace Sw by ``(1 - α) Sw + α t I`` in units of the deviation of each feature within
        classes, t the mean variance: correlations shrink, and features may have any units.
        "auto" takes the α whose log-loss of rows left out is least; each row is left out exactly
        (`decision.expected`), and the decision takes its slope and its offsets from the same
        scores, or from those of blocks of neighbouring rows where these are judged worse: the
        order of rows may matter. "moments" takes α from moments alone, and so does "auto" where
        no row is left, as in batches, merged models and Dask collections: then merging is fitting
        the union.
        None is the plain discriminant, for rows that outnumber features well.
        "nonlinear" moves each eigenvalue of Sw by its own amount
        (`fisher.shrinkage.quadratic_inverse`). It needs no rows: such models merge and stream.
    covariance : object or None
        An object with ``fit`` and, once fitted, ``covariance_``, such as scikit-learn's
        ``GraphicalLasso()``: it is fitted to the rows less their class means, in place of
        `shrinkage`. It needs all rows at once, more of them than features (or `pca`).
        `Toeplitz` and `Decoupled` are for channels over time; they need moments only, and a number
        as `shrinkage` shrinks what they make.
    pca : None, int or float in (0, 1)
        Number of principal axes to project on first, or the share of the variance they must have.
    priors : array (n_classes,) or None
        Class probabilities; None takes the proportions in the training data. They weigh the
        classes in Sb and in the decision.
    keep_moments : bool or "by class"
        Keep the statistics of the training rows, which `partial_fit`, `forget` and `merge` need.
        They take the memory of a d×d matrix, or of the rows when those are fewer than features.
    window : int or None
        Remember this many of the last rows, in the order they come, and forget the others: the
        model is the one of these rows alone. The rows themselves are kept as well.
    decay : float in (0, 1] or None
        Multiply the weight of all earlier rows by this number with each row that comes.
    rule : "linear", "quadratic", "nearest-mean" or "cosine"
        Rule that decides in the subspace: Gaussians with a common covariance, or with one for
        each class; or the class whose mean is nearest, by distance or by the angle seen from the
        mean of all rows, whatever the priors. "quadratic" keeps the scatter of each class: the
        memory of as many matrices as there are classes. A class with too few rows for a
        covariance of its own borrows from the pooled one
        (`decision.quadratic.class_covariances`).

    Attributes
    ----------
    components_ : array (n_components, n_features)
        The directions, best first.
    explained_ratio_ : array (n_components,)
        Share of each in the sum of the criterion over all directions.
    mean_ : array (n_features,)
        Mean of the training rows, taken off by `transform`.
    means_ : array (n_classes, n_features)
        Class means.
    priors_ : array (n_classes,)
    coef_, intercept_ : array
        The decision as a linear function of the features; only with ``rule="linear"`` and
        "nearest-mean".
    classes_ : array (n_classes,)
    rank_ : int
        Rank of Sw in the space where the problem was solved.
    shrinkage_ : float or None
        The α that was used; None with ``shrinkage="nonlinear"``.
    left_out_, expected_ : LeftOut, ByMoments or None
        With "auto" and "moments" what is known of new rows: the α, the slope and the offsets of
        the decision, its log-loss and its error, classes weighted by their priors. `left_out_`
        is of rows that were left out, `expected_` of moments where no row was; the other is None.
    selection_ : dict
        The scores that decided "auto": under "n_components" a `selection.DimensionPath`.
    moments_ : ClassMoments or None
        Statistics of everything seen; `partial_fit` adds to them.

    Notes
    -----
    ``components_ @ Sw @ components_.T`` is the identity (with Sw the scatter sum, after
    shrinkage). Where Sw is singular and not shrunk, the answer is the limit of a vanishing ridge:
    directions along which the training classes have no scatter at all come first, have unit
    length instead, and share `explained_ratio_` by their scatter between classes. Such a fit
    separates the training rows perfectly, which says little about new ones.

    The covariance of the decision is the maximum-likelihood one, Sw/n, so that duplicating all
    rows changes nothing. scikit-learn's `LinearDiscriminantAnalysis` divides by n in its
    ``lsqr`` and ``eigen`` solvers and by n minus the number of classes in ``svd``.

    References
    ----------
    Fisher, The use of multiple measurements in taxonomic problems, Annals of Eugenics 7 (1936).
    Belhumeur, Hespanha and Kriegman, Eigenfaces vs. Fisherfaces, IEEE TPAMI 19 (1997), for
    `pca`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from separatrix import FisherDiscriminant
    >>> X, y = load_wine(return_X_y=True)
    >>> model = FisherDiscriminant().fit(X, y)
    >>> model.transform(X).shape
    (178, 2)
    >>> model.score(X, y)
    1.0
    >>> FisherDiscriminant(n_components=1).fit(X, y).score(X, y) < 1
    True
    """

    shrinkage_: Any
    left_out_: Any
    expected_: Any
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
        "shrinkage": (one_of(None, "auto", "moments", "nonlinear"), real_number(0, 1)),
        "covariance": (one_of(None), Allowed(estimates_covariance, "a covariance estimator")),
        "pca": (one_of(None), whole_number(1), real_number(0, 1, open_low=True)),
        "priors": (one_of(None), array_like()),
        "keep_moments": KEEP_MOMENTS,
        "window": (one_of(None), whole_number(2)),
        "decay": (one_of(None), real_number(0, 1, open_low=True)),
        "rule": (one_of(*RULES),),
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        shrinkage: float | str | None = "auto",
        covariance: Any = None,
        pca: float | None = None,
        priors: ArrayLike | None = None,
        keep_moments: bool | str = True,
        window: int | None = None,
        decay: float | None = None,
        rule: str = "linear",
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.covariance = covariance
        self.pca = pca
        self.priors = priors
        self.keep_moments = keep_moments
        self.window = window
        self.decay = decay
        self.rule = rule

    def _needs_class_scatters(self, classes: Array) -> bool:
        return self.rule == "quadratic"

    def _add_decision(self, solution: Solution, moments: ClassMoments, rows: Any) -> Solution:
        decided = super()._add_decision(solution, moments, rows)
        if self.rule == "linear":
            return _calibrate(decided, moments)
        if self.rule != "quadratic":
            return decide_by_means(decided, moments, self.rule)
        alpha = decided.extras["shrinkage_"] if self.covariance is None else None
        return decide_quadratically(decided, moments, alpha)

    @property
    def _needs_rows(self) -> bool:
        """Whether the covariance is estimated from rows rather than from their scatter."""
        return self.covariance is not None and not imposes_structure(self.covariance)

    def _check_moments_suffice(self, classes: Array) -> None:
        super()._check_moments_suffice(classes)
        if self._needs_rows:
            raise ValueError(
                f"covariance={self.covariance!r} needs all rows at once: use fit, or shrinkage to "
                "update or merge models"
            )

    def _check_blocks_suffice(self) -> None:
        super()._check_blocks_suffice()
        if self._needs_rows:
            raise ValueError(f"covariance={self.covariance!r} needs all rows in memory")

    def _check_combination(self) -> None:
        """Raise for two ways to estimate the covariance at once."""
        other = None
        if self._needs_rows and self.shrinkage not in (None, "auto", "moments"):
            other = f"shrinkage={self.shrinkage!r}"
        elif self.covariance is not None and not self._needs_rows and self.pca is not None:
            other = f"pca={self.pca!r}"
        if other is not None:
            raise ValueError(
                f"covariance={self.covariance!r} and {other} do not go together: choose one"
            )

    def _solve(
        self, moments: ClassMoments, rows: Rows | None, selected: Mapping[str, Any]
    ) -> Solution:
        self._check_combination()
        space = self._reduced(moments)
        given = check_priors(self.priors, moments.classes)
        judged = None
        if self._is_automatic:
            shares = moments.counts / moments.n_samples if given is None else given
            to_leave_out = rows if self.shrinkage == "auto" else None
            judged = expect_new_rows(space, moments, to_leave_out, shares)
        Sw, alpha = self._shrunk(moments, space, rows, judged)
        Hb = space.small.between_rows(given)
        directions = fisher_directions(Sw, Hb, n_samples=moments.n_samples, eps=moments.eps)
        directions = directions.with_extras(shrinkage_=alpha, **_state(judged))
        return self._keep_wanted(
            directions, space.lift, moments, selected, more_to_come=rows is None
        )

    @property
    def _is_automatic(self) -> bool:
        """Whether the data choose the shrinkage; a covariance that is given is not shrunk."""
        return self.shrinkage in ("auto", "moments") and self.covariance is None

    def _reduced(self, moments: ClassMoments) -> SolvedSpace:
        """The space where the problem is solved: few coordinates, in the units of shrinkage."""
        if self.covariance is not None and not self._needs_rows:
            moments = impose_structure(moments, self.covariance)
        # a feature that is the same in all rows has no part in any answer
        small, lift = drop_constant_features(moments)
        if self.pca is not None:
            small, lift = _after(lift, *reduce_to_leading_axes(small, self.pca))
        n_features = small.n_features
        if self._needs_rows:
            if n_features >= moments.n_samples:
                raise ValueError(
                    f"covariance={self.covariance!r} makes a matrix of {n_features} features from "
                    f"{moments.n_samples:g} rows: project on fewer axes first (pca=), or use "
                    "shrinkage"
                )
            return SolvedSpace(small, lift, n_features)
        if self.shrinkage == "nonlinear":
            small, lift = _after(lift, *reduce_to_range(small))
        elif self.shrinkage and (not isinstance(self.shrinkage, str) or self._is_automatic):
            small, lift = _after(lift, *in_units_of_deviations(small))
        spanned = span_of_held_rows(small)
        small, lift = _after(lift, *spanned[:2])
        return SolvedSpace(small, lift, n_features, spanned.rows)

    def _shrunk(
        self,
        moments: ClassMoments,
        space: SolvedSpace,
        rows: Rows | None,
        judged: LeftOut | ByMoments | None,
    ) -> tuple[Array, float | None]:
        """The scatter within classes to decide by, and the α that was used."""
        small, n_features = space.small, space.n_features
        if self._needs_rows:
            W = space.lift(np.eye(small.n_features))
            return fit_covariance(self.covariance, moments, rows, W), None
        n_free = moments.n_samples - np.count_nonzero(moments.counts)
        if self.shrinkage == "nonlinear":
            return shrink_nonlinearly(small.Sw, n_free, n_features, moments.eps), None
        alpha = 0.0 if isinstance(self.shrinkage, str) else self.shrinkage or 0.0
        if judged is not None:
            alpha = judged.alpha
        return shrink(small.Sw, alpha, n_features), float(alpha)


def _state(judged: LeftOut | ByMoments | None) -> dict[str, Any]:
    """The scores of new rows, by the way they were estimated."""
    by_rows = isinstance(judged, LeftOut)
    return {"left_out_": judged if by_rows else None, "expected_": None if by_rows else judged}


def _calibrate(solution: Solution, moments: ClassMoments) -> Solution:
    """The solution with the slope and the offsets that suit new rows, where they are known."""
    judged = solution.extras["left_out_"] or solution.extras["expected_"]
    if judged is None:
        return solution
    # distances of new rows are by Sw / ν, those of the rule by Sw / n
    n_free = moments.n_samples - np.count_nonzero(moments.counts)
    slope = judged.slope * n_free / moments.n_samples
    with np.errstate(divide="ignore"):
        log_priors = np.log(np.where(moments.counts > 0, solution.extras["priors_"], 0.0))
    rule = solution.extras["_rule"].calibrated(slope, judged.offsets, log_priors)
    return solution.with_extras(_rule=rule)


def _after(before: Lift, small: ClassMoments, lift: Lift) -> tuple[ClassMoments, Lift]:
    """Smaller moments, and their directions taken back by both maps."""
    return small, lambda W: before(lift(W))


class MaximumMarginCriterion(SubspaceEstimator):
    """Orthonormal directions with the largest difference of scatter between and within classes.

    Maximises ``tr Wᵀ (Sb - Sw) W`` subject to ``Wᵀ W = I``. Nothing is inverted, so a singular Sw
    does not matter; the scale of the features does.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions, up to the rank of the centred data; None takes the rank of Sb,
        usually ``n_classes - 1``: beyond it no direction has a positive criterion. "auto" takes
        as many as cross-validation favours.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Orthonormal directions by descending criterion.
    criterion_ : array (n_components,)
        ``wᵀ (Sb - Sw) w`` of each.
    explained_ratio_ : array (n_components,)
        Share of each in the sum of the positive ones.
    mean_, means_, classes_, rank_, selection_
        As in `FisherDiscriminant`; `rank_` is that of the centred data.

    Notes
    -----
    ``components_ @ components_.T`` is the identity.

    References
    ----------
    Li, Jiang and Zhang, Efficient and robust feature extraction by maximum margin criterion,
    IEEE Transactions on Neural Networks 17 (2006).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import MaximumMarginCriterion
    >>> X, y = load_iris(return_X_y=True)
    >>> MaximumMarginCriterion(n_components=3).fit_transform(X, y).shape
    (150, 3)
    """

    criterion_: Any

    _accepts_blocks = True

    def __init__(self, n_components: int | str | None = None) -> None:
        self.n_components = n_components

    def _solve(
        self, moments: ClassMoments, rows: Rows | None, selected: Mapping[str, Any]
    ) -> Solution:
        small, lift = reduce_to_span(moments)
        Sw, Hb = small.Sw, small.between_rows()
        Sb = Hb.T @ Hb
        V = range_basis(Sw + Sb, moments.eps)
        rank = V.shape[1]
        natural = min(rank_of_means(np.linalg.svd(Hb, compute_uv=False), moments), rank)
        wanted = self._n_wanted(rank, "the rank of the centred data", selected)
        k = natural if self.n_components is None else wanted
        evals, U = top_eigh(V.T @ (Sb - Sw) @ V, max(k, natural, 1))
        extras = {"criterion_": evals[:k]}
        return Solution(lift(V @ U[:, :k]), evals, rank, extras=extras)
