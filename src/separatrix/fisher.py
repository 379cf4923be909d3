"""Fisher's criterion and its relatives: large scatter between classes, small scatter within.

Every class here maximises a ratio or difference of the scatter matrices Sb and Sw (or their
local versions) that `ClassMoments` provides, and differs in how it treats a singular Sw.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import gen_batches

from separatrix.base import (
    LabelledData,
    Rows,
    Solution,
    SubspaceEstimator,
    centred_product,
    shares,
)
from separatrix.base_moments import MomentEstimator
from separatrix.decision import GaussianClassifierMixin, check_priors
from separatrix.linalg import (
    EPS,
    Array,
    GeneralizedSVD,
    Lift,
    SingularMatrixError,
    cholesky_whitener,
    generalized_eigh,
    gsvd,
    numerical_rank,
    range_and_null,
    range_basis,
    squared_distances,
    top_eigh,
)
from separatrix.moments import ClassMoments
from separatrix.parameters import (
    N_COMPONENTS,
    YES_OR_NO,
    Allowed,
    array_like,
    one_of,
    real_number,
    whole_number,
)

AFFINITY_ENTRIES = 1 << 24
"""Entries of the affinity matrix of a class that are held at once (128 MB)."""

# The mathematics -----------------------------------------------------------------------------


def fisher_directions(Sw: Array, Hb: Array, *, n_samples: float = 0, eps: float = EPS) -> Solution:
    """Maximise ``wᵀ Sb w / wᵀ Sw w`` with ``Sb = Hbᵀ Hb``, direction after direction.

    When Sw has an inverse: a Cholesky factor of Sw and a thin SVD of the whitened class means,
    which gives ``Wᵀ Sw W = I`` and the criterion as squared singular values. When it has not, the
    answer is the limit of a vanishing ridge: first the directions without any scatter within
    classes (an infinite criterion, ordered by the scatter between classes), then the others.

    Parameters
    ----------
    Sw : array (d, d)
    Hb : array (k, d)
        A factor of Sb, such as `ClassMoments.between_rows` gives.
    n_samples : float
        Number of rows behind the class means, which bounds their rounding.
    eps : float
        Relative precision of the data.
    """
    order = rounding_order(n_samples, *Hb.shape)
    try:
        factor = cholesky_whitener(Sw, beside=np.sum(Hb**2, axis=0), eps=eps)
    except SingularMatrixError:
        return _singular_fisher_directions(Sw, Hb, order, eps)
    U, s, _ = np.linalg.svd(factor.whiten(Hb.T), full_matrices=False)
    k = separating_rank(s, order)
    return Solution(factor.unwhiten(U[:, :k]), s[:k] ** 2, rank=len(Sw), within=np.eye(k))


def rounding_order(*sizes: float) -> int:
    """The size that bounds the rounding of sums; weights may make it senselessly large."""
    return int(min(max(sizes), 1e7))


def separating_rank(s: Array, order: int) -> int:
    """How many singular values of the class means are more than their rounding.

    The means are measured by the scatter within classes, so that a value of 1 is the spread of
    the rows: that is what their rounding is relative to. Means are summed in float64.
    """
    return numerical_rank(s, order, largest=max(1.0, float(np.max(s, initial=0.0))))


def _singular_fisher_directions(Sw: Array, Hb: Array, order: int, eps: float) -> Solution:
    """`fisher_directions` as the ridge on a singular Sw goes to zero."""
    perfect, between, to_white = split_within(Sw, Hb, eps)
    whitened = Hb @ to_white
    # the other directions are Sb-orthogonal to the perfect ones: take those out of Hb,
    Q = Hb @ perfect / np.sqrt(between)
    _, s, Vt = np.linalg.svd(whitened - Q @ (Q.T @ whitened), full_matrices=False)
    largest = max(1.0, _squared_norm(whitened) ** 0.5)
    k = numerical_rank(s, order, largest=largest, eps=eps)
    W = to_white @ Vt[:k].T
    # and let each direction make up for its own part in them
    W -= perfect @ (Q.T @ (Hb @ W) / np.sqrt(between)[:, None])
    W = np.hstack([perfect, W])
    within = np.diag(np.repeat([0.0, 1.0], [len(between), k])) + nominal(between, perfect, W)
    criterion = np.concatenate([between, np.zeros(k) if len(between) else s[:k] ** 2])
    return Solution(W, criterion, rank=to_white.shape[1], within=within)


class WithinSplit(NamedTuple):
    """The directions that Sw tells apart.

    Attributes
    ----------
    perfect : array (d, p)
        Orthonormal directions without scatter within classes but between them, by descending
        scatter between.
    between : array (p,)
        That scatter.
    to_white : array (d, r)
        Directions orthogonal to all without scatter within, with unit scatter within; r is the
        rank of Sw.
    """

    perfect: Array
    between: Array
    to_white: Array


def split_within(Sw: Array, Hb: Array, eps: float = EPS) -> WithinSplit:
    """Split the space by Sw, judging rounding by each feature's own units."""
    scale = np.sqrt(np.diagonal(Sw).clip(0.0) + np.sum(Hb**2, axis=0))
    scale[scale == 0] = 1.0
    scaled = Hb / scale
    parts = range_and_null(Sw / scale / scale[:, None], beside=_squared_norm(scaled), eps=eps)
    _, s, Vt = np.linalg.svd(scaled @ parts.null)
    largest = _squared_norm(scaled) + float(np.max(parts.evals, initial=0.0))
    k = numerical_rank(s**2, len(Sw), largest=largest, eps=eps)
    null = parts.null @ Vt.T / scale[:, None]
    empty = np.linalg.qr(null[:, k:])[0]  # no scatter of any kind
    perfect = np.linalg.qr(_less(null[:, :k], empty))[0]
    to_white = parts.range / np.sqrt(parts.evals) / scale[:, None]
    to_white = _less(to_white, np.hstack([perfect, empty]))
    return WithinSplit(*ordered_by_scatter(perfect, Hb), to_white)


def _less(V: Array, Q: Array) -> Array:
    """Columns of V less their part in the span of the orthonormal columns of Q."""
    return V - Q @ (Q.T @ V)


def ordered_by_scatter(Q: Array, Hb: Array) -> tuple[Array, Array]:
    """Orthonormal directions turned among themselves, by descending scatter between classes."""
    _, s, Vt = np.linalg.svd(Hb @ Q, full_matrices=False)
    return Q @ Vt.T, s**2


def nominal(between: Array, perfect: Array, W: Array) -> Array:
    """The scatter along W of what decisions assume in perfect directions, where there is none.

    It is 1e-9 of the scatter between classes: enough for those directions to decide by nearest
    mean before any other, and to leave the others the digits to decide what they cannot.
    """
    along = perfect.T @ W
    return 1e-9 * float(np.max(between, initial=0.0)) * along.T @ along


def rank_of_means(s: Array, moments: ClassMoments) -> int:
    """How many singular values of Hb are more than the rounding of the class means."""
    order = rounding_order(moments.n_samples, moments.n_features)
    spread = max(moments.trace_within(), 0.0) ** 0.5
    return numerical_rank(s, order, largest=max(spread, float(np.max(s, initial=0.0))))


def _squared_norm(H: Array) -> float:
    """The largest eigenvalue of HᵀH."""
    return float(np.linalg.norm(H, 2)) ** 2 if H.size else 0.0


def _unit_free_gsvd(Hb: Array, Hw: Array) -> GeneralizedSVD:
    """`gsvd` that does not see the units of features, when there are rows for all of them."""
    if len(Hw) < Hw.shape[1]:
        return gsvd(Hb, Hw)
    scale = np.sqrt(np.sum(Hb**2, axis=0) + np.sum(Hw**2, axis=0))
    scale[scale == 0] = 1.0
    alpha, beta, G = gsvd(Hb / scale, Hw / scale)
    return GeneralizedSVD(alpha, beta, G / scale[:, None])


def shrunk(Sw: Array, shrinkage: float, n_features: int) -> Array:
    """``(1 - α) Sw + α tr(Sw)/d I``, also when Sw is given in a subspace of the d features."""
    if shrinkage == 0:
        return Sw
    target = shrinkage * np.trace(Sw) / max(n_features, 1)
    return (1 - shrinkage) * Sw + target * np.eye(len(Sw))


def ledoit_wolf(Sw: Array, fourth_moment: float, n_samples: float, n_features: int) -> float:
    """The shrinkage that minimises the expected squared error of the within-class covariance.

    Parameters
    ----------
    Sw : array
        Within-class scatter, in all features or in a subspace that holds all rows.
    fourth_moment : float
        ``Σ ‖x - m_c‖⁴`` over the rows.
    n_samples, n_features : number
        Size of the data.

    References
    ----------
    Ledoit and Wolf, A well-conditioned estimator for large-dimensional covariance matrices,
    Journal of Multivariate Analysis 88 (2004), Lemmas 3.2-3.4.
    """
    squared_norm = np.sum(Sw**2) / n_samples**2
    distance = squared_norm - (np.trace(Sw) / n_samples) ** 2 / n_features
    noise = fourth_moment / n_samples**2 - squared_norm / n_samples
    return float(np.clip(noise / distance, 0.0, 1.0)) if distance > 0 else 0.0


def _fourth_moment_along(
    small: ClassMoments, mean: Array, W: Array, X: Any, codes: Array, weights: Array | None
) -> float:
    """`ClassMoments.fourth_moment` of rows in the coordinates W."""
    return small.fourth_moment(centred_product(X, mean, W), codes, weights)


def principal_axes(moments: ClassMoments, pca: float) -> tuple[ClassMoments, Lift]:
    """Moments in the leading principal axes: so many, or so great a share of the variance."""
    if moments.is_thin and moments.holds_sparse_rows:
        V = _sparse_principal_axes(moments, pca)
        return moments.project(V), V.__matmul__
    small, lift = moments.in_span()
    evals, V = top_eigh(small.St, small.n_features)
    rank = numerical_rank(evals, len(evals), eps=moments.eps)
    V = V[:, : min(axes_wanted(evals[:rank], evals[:rank].sum(), pca), rank)]
    return small.project(V), lambda W: lift(V @ W)


def _sparse_principal_axes(moments: ClassMoments, pca: float) -> Array:
    """Lanczos on the total scatter, with more axes until the share is reached."""
    most = moments.most_axes()
    total = moments.trace_within() + float(np.sum(moments.between_rows() ** 2))
    if total == 0:
        return np.zeros((moments.n_features, 0))
    k = min(int(pca) if isinstance(pca, Integral) else 32, most)
    while True:
        evals, V = moments.principal_axes(k)
        rank = numerical_rank(evals, moments.n_features, eps=moments.eps)
        wanted = axes_wanted(evals[:rank], total, pca)
        if wanted <= rank or rank < k or k == most:
            return V[:, : min(wanted, rank)]
        k = min(2 * k, most)


def axes_wanted(evals: Array, total: float, pca: float) -> int:
    """How many axes are asked for: `pca` itself, or enough for that share of the total."""
    if isinstance(pca, Integral):
        return int(pca)
    # a share of 1 must be reached in spite of rounding
    return int(np.searchsorted(np.cumsum(evals), (pca - len(evals) * EPS) * total)) + 1


class LocalScatters(NamedTuple):
    """Local scatter within classes, and local total scatter (within plus between)."""

    within: Array
    total: Array


def local_scatters(data: LabelledData, moments: ClassMoments, n_neighbors: int) -> LocalScatters:
    """Sugiyama's S̃w and S̃w + S̃b, of rows and their moments.

    With ``P_c = X_cᵀ (diag(A 1) - A) X_c`` for the affinity A of class c, and S_c its scatter,
    ``S̃w = Σ P_c / n_c`` and ``S̃w + S̃b = Sb + Σ (1 - n_c/n) S_c + Σ P_c / n``: pairs of different
    classes, which all weigh the same, are never visited.
    """
    order = np.argsort(data.codes, kind="stable")
    codes = data.codes[order]
    Z = moments.centred(data.X[order], codes)
    members = np.split(Z, np.cumsum(moments.counts[:-1]).astype(int))
    laplacian = np.vstack([_affinity_laplacian(Zc, n_neighbors) for Zc in members])
    within = Z.T @ (laplacian / moments.counts[codes, None])
    others = np.sqrt(1 - moments.counts / moments.n_samples)[codes, None] * Z
    total = moments.Sb + others.T @ others + Z.T @ laplacian / moments.n_samples
    return LocalScatters((within + within.T) / 2, (total + total.T) / 2)


def _affinity_laplacian(Z: Array, n_neighbors: int) -> Array:
    """``(diag(A 1) - A) Z`` for the rows of one class, a block of rows of A at a time."""
    k = min(n_neighbors, len(Z) - 1)
    blocks = list(gen_batches(len(Z), max(1, AFFINITY_ENTRIES // len(Z))))
    whole = squared_distances(Z, Z) if len(blocks) == 1 else None

    def distances(block: slice) -> Array:
        return squared_distances(Z[block], Z) if whole is None else whole

    sigma = np.concatenate([_kth_distance(distances(block), k) for block in blocks])
    result = np.empty_like(Z)
    for block in blocks:
        A = _affinity(distances(block), sigma[block], sigma)
        result[block] = A.sum(axis=1)[:, None] * Z[block] - A @ Z
    return result


def _kth_distance(D: Array, k: int) -> Array:
    """Distance of each row to its k-th neighbour, itself not counted."""
    return np.sqrt(np.partition(D, k, axis=1)[:, k])


def _affinity(D: Array, sigma_rows: Array, sigma: Array) -> Array:
    """``exp(-D / (σ_i σ_j))``; where σ is zero only coinciding rows are near each other."""
    with np.errstate(divide="ignore", invalid="ignore"):
        A = D / -sigma_rows[:, None]
        A /= sigma
    np.exp(A, out=A)
    A[D == 0] = 1.0
    return A


def local_fisher_directions(Sw: Array, total: Array, *, eps: float = EPS) -> Solution:
    """Maximise ``wᵀ (total - Sw) w / wᵀ Sw w``, direction after direction, with ``Wᵀ Sw W = I``.

    `fisher_directions` for a scatter of any rank: as many directions as `total` has dimensions.
    A singular Sw is treated alike, by the limit of a vanishing ridge.
    """
    try:
        cholesky_whitener(Sw, beside=np.diagonal(total), eps=eps)
    except SingularMatrixError:
        return _singular_local_fisher_directions(Sw, total, eps)
    solution = generalized_eigh(total, Sw, eps=eps)
    return Solution(solution.V, solution.evals - 1, rank=len(Sw))


def _singular_local_fisher_directions(Sw: Array, total: Array, eps: float) -> Solution:
    """`local_fisher_directions` as the ridge on a singular Sw goes to zero."""
    spread, total_range, _ = range_and_null(total, eps=eps)
    Sw, total = (total_range.T @ S @ total_range for S in (Sw, total))
    parts = range_and_null(Sw, beside=float(np.max(spread, initial=0.0)), eps=eps)
    evals, V = np.linalg.eigh(parts.null.T @ total @ parts.null)
    perfect, between = (parts.null @ V)[:, ::-1], evals[::-1]
    # the others are orthogonal to the perfect ones in the total scatter
    correction = (perfect / between) @ (perfect.T @ total)
    rest = total - total @ correction
    solution = generalized_eigh(parts.range.T @ rest @ parts.range, np.diag(parts.evals), eps=eps)
    W = parts.range @ solution.V
    return Solution(
        total_range @ np.hstack([perfect, W - correction @ W]),
        np.concatenate([between, (0 if len(between) else 1) * (solution.evals - 1)]),
        rank=len(Sw),
    )


# Estimators ----------------------------------------------------------------------------------


class FisherDiscriminant(GaussianClassifierMixin, MomentEstimator):
    """Directions that separate class means best, measured by the scatter within classes.

    Finds the W that maximises, column after column, ``wᵀ Sb w / wᵀ Sw w`` (Fisher's linear
    discriminant, LDA, MDA) and classifies in that subspace with the linear Gaussian rule.
    Works on dense and sparse data, on more features than samples, and batch by batch.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions, at most ``n_classes - 1``; None keeps all of them, "auto" as many as
        cross-validation favours (`selection.dimension_path`). The decision is made in the space
        of the directions kept.
    shrinkage : None, "auto" or float in [0, 1]
        Replace Sw by ``(1 - α) Sw + α tr(Sw)/d I``; "auto" takes Ledoit and Wolf's α for the
        pooled within-class rows, which is a second pass over the blocks of a Dask collection.
    pca : None, int or float in (0, 1)
        Project on principal axes first: so many, or enough for that share of the variance.
    priors : array (n_classes,) or None
        Class probabilities; None takes the proportions in the training data. They weigh the
        classes in Sb and in the decision.
    keep_moments : bool
        Keep the statistics of the training rows, which `partial_fit` and `merge` need. They take
        the memory of a d×d matrix, or of the rows when those are fewer than features.
    window : int or None
        Remember this many of the last rows, in the order they come, and forget the others: the
        model is the one of these rows alone. The rows themselves are kept as well.
    decay : float in (0, 1] or None
        Multiply the weight of all earlier rows by this number with each row that comes.

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
        The decision as a linear function of the features.
    classes_ : array (n_classes,)
    rank_ : int
        Rank of Sw in the space where the problem was solved.
    shrinkage_ : float
        The α that was used.
    selection_ : dict
        What "auto" was decided by: under "n_components" a `selection.DimensionPath`.
    moments_ : ClassMoments or None
        Statistics of everything seen; `partial_fit` adds to them.

    Notes
    -----
    ``components_ @ Sw @ components_.T`` is the identity (with Sw the scatter sum, after
    shrinkage). Where Sw is singular, as it always is with more features than samples, the
    answer is the limit of a vanishing ridge: directions along which the training classes have
    no scatter at all come first, have unit length instead, and share `explained_ratio_` by
    their scatter between classes. Such a fit separates the training rows perfectly, which says
    little about new ones: prefer ``shrinkage="auto"`` there.

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

    _parameter_constraints: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
        "shrinkage": (one_of(None, "auto"), real_number(0, 1)),
        "pca": (one_of(None), whole_number(1), real_number(0, 1, open_low=True)),
        "priors": (one_of(None), array_like()),
        "keep_moments": (YES_OR_NO,),
        "window": (one_of(None), whole_number(2)),
        "decay": (one_of(None), real_number(0, 1, open_low=True)),
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        shrinkage: float | str | None = None,
        pca: float | None = None,
        priors: ArrayLike | None = None,
        keep_moments: bool = True,
        window: int | None = None,
        decay: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.shrinkage = shrinkage
        self.pca = pca
        self.priors = priors
        self.keep_moments = keep_moments
        self.window = window
        self.decay = decay

    def _refuse_moments_alone(self, classes: Array) -> None:
        if self.shrinkage == "auto":
            raise ValueError(
                'shrinkage="auto" needs all rows at once: use fit, or give a number to update or '
                "merge models"
            )

    def _solve(self, moments: ClassMoments, data: Rows | None) -> Solution:
        small, lift, n_features = self._reduced(moments)
        self.shrinkage_ = self._shrinkage(moments, small, lift, data)
        Sw = shrunk(small.Sw, self.shrinkage_, n_features)
        Hb = small.between_rows(check_priors(self.priors, moments.classes))
        found = fisher_directions(Sw, Hb, n_samples=moments.n_samples, eps=moments.eps)
        return self._lifted(found, lift, moments, more_to_come=data is None)

    def _reduced(self, moments: ClassMoments) -> tuple[ClassMoments, Lift, int]:
        """The moments where the problem is solved, the way back, and the features there."""
        if self.pca is None:
            return *moments.in_span(), moments.n_features
        small, lift = principal_axes(moments, self.pca)
        return small, lift, small.n_features

    def _shrinkage(
        self, moments: ClassMoments, small: ClassMoments, lift: Lift, data: Rows | None
    ) -> float:
        if self.shrinkage != "auto":
            return float(self.shrinkage or 0.0)
        assert data is not None, "moments alone are refused before"
        if self.pca is None:
            fourth = data.total(moments.fourth_moment, moments.classes)
            return ledoit_wolf(small.Sw, fourth, moments.n_samples, moments.n_features)
        W = lift(np.eye(small.n_features))
        projected = partial(_fourth_moment_along, small, moments.mean, W)
        fourth = data.total(projected, moments.classes)
        return ledoit_wolf(small.Sw, fourth, moments.n_samples, small.n_features)


class NullSpaceDiscriminant(GaussianClassifierMixin):
    """Directions along which each training class shrinks to a point, and the points lie far apart.

    Maximises ``tr Wᵀ Sb W`` subject to ``Sw W = 0`` and ``Wᵀ W = I`` (null-space LDA). It is made
    for more features than samples; the decision is the nearest class mean.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions; None keeps all, usually ``n_classes - 1``, "auto" as many as
        cross-validation favours.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Orthonormal directions, by descending scatter between classes.
    explained_ratio_ : array (n_components,)
        Share of each in the scatter between classes within the null space.
    uses_null_space_ : bool
        False when Sw has no null space in the span of the data: the directions are then Fisher's,
        as in the published method, and a warning says so.
    mean_, means_, priors_, coef_, intercept_, classes_, rank_
        As in `FisherDiscriminant`.

    Notes
    -----
    The projected training rows of a class coincide: ``components_ @ Sw @ components_.T = 0``.

    References
    ----------
    Chen, Liao, Ko, Lin and Yu, A new LDA-based face recognition system which can solve the small
    sample size problem, Pattern Recognition 33 (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from separatrix import NullSpaceDiscriminant
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(12, 100)), np.repeat(["a", "b", "c"], 4)
    >>> Z = NullSpaceDiscriminant().fit_transform(X, y)
    >>> Z.shape, bool(np.ptp(Z[:4], axis=0).max() < 1e-9)
    ((12, 2), True)
    """

    _accepts_blocks = True

    def __init__(self, n_components: int | str | None = None) -> None:
        self.n_components = n_components

    def _solve(self, moments: ClassMoments, data: Rows | None) -> Solution:
        small, lift = moments.in_span()
        Sw, Hb = small.Sw, small.between_rows()
        W, between, to_white = split_within(Sw, Hb, moments.eps)
        self.uses_null_space_ = len(between) > 0
        if self.uses_null_space_:
            found = Solution(W, between, to_white.shape[1], within=nominal(between, W, W))
        else:
            warnings.warn(
                "the within-class scatter has no null space in these data (there are more samples "
                "than features): NullSpaceDiscriminant uses Fisher's directions instead",
                stacklevel=4,
            )
            found = fisher_directions(Sw, Hb, n_samples=moments.n_samples, eps=moments.eps)
        return self._lifted(found, lift, moments)


class DirectDiscriminant(GaussianClassifierMixin):
    """Directions in the span of the class means, with the least scatter within classes.

    Direct LDA: whitens Sb in its range, then diagonalises Sw there, so that no matrix larger than
    the number of classes is decomposed. With ``regularization`` ν > 0 the criterion is
    ``wᵀ Sb w / wᵀ (ν Sb + Sw) w`` (regularised direct LDA).

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions; None keeps all, usually ``n_classes - 1``, "auto" as many as
        cross-validation favours.
    regularization : float
        ν. It changes how directions are scaled against each other, which matters to what
        follows `transform`. It changes neither the space they span nor the decision of
        `predict`, which looks at the scatter of the projected rows; with two classes it only
        changes the length of the one direction.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Directions by descending criterion.
    explained_ratio_ : array (n_components,)
        Share of each in the sum of the criterion.
    mean_, means_, priors_, coef_, intercept_, classes_, rank_
        As in `FisherDiscriminant`; `rank_` is that of Sb.

    Notes
    -----
    ``components_ @ (ν Sb + Sw) @ components_.T`` is the identity, and the components span class
    mean differences: they lie in the range of Sb. Directions without scatter within classes keep
    ``wᵀ Sb w = 1``.

    References
    ----------
    Yu and Yang, A direct LDA algorithm for high-dimensional data, Pattern Recognition 34 (2001).
    Lu, Plataniotis and Venetsanopoulos, Regularization studies of linear discriminant analysis in
    small sample size scenarios, Pattern Recognition Letters 26 (2005).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from separatrix import DirectDiscriminant
    >>> X, y = load_digits(return_X_y=True)
    >>> DirectDiscriminant().fit(X, y).components_.shape
    (9, 64)
    """

    _accepts_blocks = True
    _parameter_constraints: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
        "regularization": (real_number(0),),
    }

    def __init__(
        self, n_components: int | str | None = None, *, regularization: float = 0.0
    ) -> None:
        self.n_components = n_components
        self.regularization = regularization

    def _solve(self, moments: ClassMoments, data: Rows | None) -> Solution:
        _, s, Vt = np.linalg.svd(moments.between_rows(), full_matrices=False)
        rank = rank_of_means(s, moments)
        Y = Vt[:rank].T / s[:rank]
        within, U = np.linalg.eigh(moments.project(Y).Sw) if rank else (s[:0], Vt[:0, :0])
        within = within.clip(0.0)
        denominator = self.regularization + within
        present = denominator > rank * moments.eps * max(1.0, denominator.max(initial=0.0))
        with np.errstate(divide="ignore"):
            criterion = np.where(present, 1 / denominator, np.inf)
        W = Y @ U / np.sqrt(np.where(present, denominator, 1.0))
        # a direction without scatter has wᵀ Sb w = 1, and decisions assume a trace of that
        scatter = np.where(present, within / np.where(present, denominator, 1.0), 1e-9)
        found = Solution(W, criterion, rank, within=np.diag(scatter))
        return self._lifted(found, lambda W: W, moments)


class GSVDDiscriminant(GaussianClassifierMixin):
    """Fisher's directions by the generalized singular value decomposition of the scatter factors.

    Diagonalises ``Sb = HbᵀHb`` and ``Sw = HwᵀHw`` together from the factors Hb and Hw, without
    forming either product and whatever their ranks (LDA/GSVD). It finds the directions of
    `FisherDiscriminant`, keeps the digits that squaring the data costs, and is slower.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions; None keeps all, usually ``n_classes - 1``, "auto" as many as
        cross-validation favours.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Directions by descending ``alpha_ / beta_``.
    alpha_, beta_ : array (n_components,)
        ``wᵀ Sb w = alpha_²`` and ``wᵀ Sw w = beta_²``, with ``alpha_² + beta_² = 1``.
    explained_ratio_ : array (n_components,)
        As in `FisherDiscriminant`.
    mean_, means_, priors_, coef_, intercept_, classes_, rank_
        As in `FisherDiscriminant`; `rank_` is that of Sb seen from the joint range.

    Notes
    -----
    ``components_ @ St @ components_.T`` is the identity, and the components diagonalise Sb and Sw.

    References
    ----------
    Howland and Park, Generalizing discriminant analysis using the generalized singular value
    decomposition, IEEE TPAMI 26 (2004).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import GSVDDiscriminant
    >>> model = GSVDDiscriminant().fit(*load_iris(return_X_y=True))
    >>> model.alpha_**2 + model.beta_**2
    array([1., 1.])
    """

    _accepts_blocks = True
    _accepts_sparse = False

    def __init__(self, n_components: int | str | None = None) -> None:
        self.n_components = n_components

    def _summarised(self, data: LabelledData) -> ClassMoments:
        return data.moments(factored=True)

    def _solve(self, moments: ClassMoments, data: Rows | None) -> Solution:
        Hb, Hw = moments.between_rows(), moments.within_factor()
        alpha, beta, G = _unit_free_gsvd(Hb, Hw)
        order = rounding_order(moments.n_samples, *Hb.shape)
        most = numerical_rank(alpha, order, largest=1.0)
        alpha, beta, G = alpha[:most], beta[:most], G[:, :most]
        n_perfect = len(beta) - numerical_rank(beta, max(Hb.shape), largest=1.0, eps=moments.eps)
        # along perfect directions alpha is 1 for all of them: order those as Fisher does
        perfect, between = ordered_by_scatter(np.linalg.qr(G[:, :n_perfect])[0], Hb)
        G = np.hstack([perfect / np.sqrt(between), G[:, n_perfect:]])
        beta[:n_perfect] = 0.0
        rest = (alpha / np.where(beta > 0, beta, 1.0))[n_perfect:] ** 2
        criterion = np.concatenate([between, np.zeros_like(rest) if n_perfect else rest])
        within = np.diag(beta**2) + nominal(between, perfect, G)
        found = Solution(G, criterion, len(alpha), within=within)
        found = self._lifted(found, lambda W: W, moments)
        self.alpha_, self.beta_ = alpha[: found.W.shape[1]], beta[: found.W.shape[1]]
        return found


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

    _accepts_blocks = True

    def __init__(self, n_components: int | str | None = None) -> None:
        self.n_components = n_components

    def _solve(self, moments: ClassMoments, data: Rows | None) -> Solution:
        small, lift = moments.in_span()
        Sw, Hb = small.Sw, small.between_rows()
        Sb = Hb.T @ Hb
        V = range_basis(Sw + Sb, moments.eps)
        rank = V.shape[1]
        natural = min(rank_of_means(np.linalg.svd(Hb, compute_uv=False), moments), rank)
        wanted = self._n_wanted(rank, "the rank of the centred data")
        k = natural if self.n_components is None else wanted
        evals, U = top_eigh(V.T @ (Sb - Sw) @ V, max(k, natural, 1))
        self.criterion_ = evals[:k]
        return Solution(lift(V @ U[:, :k]), evals, rank)


class LocalFisherDiscriminant(SubspaceEstimator):
    """Directions that separate classes while keeping near neighbours of a class together.

    Local Fisher discriminant analysis: maximises ``tr (Wᵀ S̃w W)⁻¹ Wᵀ S̃b W``, where pairs of rows
    of a class count by their affinity ``A_ij = exp(-‖x_i - x_j‖² / (σ_i σ_j))`` and σ_i is the
    distance of x_i to its k-th nearest neighbour in its class. Classes may have several clusters,
    and there can be more directions than classes.

    Parameters
    ----------
    n_components : int, "auto" or None
        Number of directions, up to the rank of the centred data; None keeps all, "auto" as many
        as cross-validation favours.
    n_neighbors : int
        k. A class with no more samples than k uses its farthest neighbour.
    shrinkage : None or float in [0, 1]
        Replace S̃w by ``(1 - α) S̃w + α tr(S̃w)/d I``.

    Attributes
    ----------
    components_ : array (n_components, n_features)
        Directions by descending criterion.
    explained_ratio_ : array (n_components,)
        Share of each in the sum of the positive criteria.
    mean_, means_, classes_, rank_, selection_
        As in `FisherDiscriminant`; `rank_` is that of the local total scatter.

    Notes
    -----
    ``components_ @ S̃w @ components_.T`` is the identity (after shrinkage), except that directions
    without local scatter within classes come first and have unit length.

    The definition is followed to the letter: neighbours are sought in the row's own class, so a
    small class does not disturb the others, and renaming classes changes nothing.

    References
    ----------
    Sugiyama, Dimensionality reduction of multimodal labeled data by local Fisher discriminant
    analysis, Journal of Machine Learning Research 8 (2007), equations 11-14.
    Zelnik-Manor and Perona, Self-tuning spectral clustering, NIPS 17 (2005), for σ.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LocalFisherDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> LocalFisherDiscriminant(n_components=2).fit_transform(X, y).shape
    (150, 2)
    """

    _parameter_constraints: ClassVar[dict[str, Sequence[Allowed]]] = {
        "n_components": N_COMPONENTS,
        "n_neighbors": (whole_number(1),),
        "shrinkage": (one_of(None), real_number(0, 1)),
    }

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        n_neighbors: int = 7,
        shrinkage: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.shrinkage = shrinkage

    _accepts_sparse = False

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # type: ignore[override]
        """Find the subspace.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Training rows.
        y : array (n_samples,)
            Their class labels.

        Returns
        -------
        self
            The fitted estimator.
        """
        return super().fit(X, y)

    def _solve(self, moments: ClassMoments, data: Rows | None) -> Solution:
        assert isinstance(data, LabelledData), "neighbours are sought among rows"
        lift: Lift = lambda W: W  # noqa: E731
        if moments.is_thin:
            data, lift = data.in_span(moments)
            if data.X.shape[1] == 0:  # all rows coincide
                return Solution(np.zeros((moments.n_features, 0)), np.zeros(0), rank=0)
            local = local_scatters(data, data.moments(), self.n_neighbors)
        else:
            local = local_scatters(data, moments, self.n_neighbors)
        alpha = self.shrinkage or 0.0
        Sw = shrunk(local.within, alpha, moments.n_features)
        found = local_fisher_directions(Sw, local.total - local.within + Sw, eps=moments.eps)
        k = self._n_wanted(found.W.shape[1], "the rank of the centred data")
        return found._replace(W=lift(found.W[:, :k]))


class GroupedDiscriminant(SubspaceEstimator):
    """Fisher's directions of groups of features, side by side.

    Each group of features gets its own Fisher discriminant of up to ``n_classes - 1`` directions,
    so that the whole has more than ``n_classes - 1`` (MDA on groups of features). It suits ordered
    features, such as bands of a spectrum.

    Parameters
    ----------
    groups : int or list of index lists
        A number of equal contiguous groups, or the columns of each group.
    n_components : int, "auto" or None
        Directions per group, all of a group that has fewer; None keeps all, "auto" as many as
        cross-validation favours.

    Attributes
    ----------
    components_ : array (n_directions, n_features)
        Directions of the first group, then of the second, and so on; each is zero outside its
        group.
    groups_ : list of arrays
        Columns of each group.
    group_of_component_ : array (n_directions,)
        Which group each direction belongs to.
    explained_ratio_ : array (n_directions,)
        Share of each in the sum of the criterion over all groups.
    mean_, means_, classes_
        As in `FisherDiscriminant`; zero for features in no group.
    rank_ : int
        Sum of the ranks of the groups' within-class scatter.

    Notes
    -----
    Within a group ``components_ @ Sw @ components_.T`` is the identity. Directions of different
    groups are correlated in general.

    References
    ----------
    Duda, Hart and Stork, Pattern Classification, second edition (2001), section 3.8.3, for
    multiple discriminant analysis.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from separatrix import GroupedDiscriminant
    >>> X, y = load_iris(return_X_y=True)
    >>> GroupedDiscriminant(groups=2).fit_transform(X, y).shape
    (150, 4)
    """

    _accepts_blocks = True
    _parameter_constraints: ClassVar[dict[str, Sequence[Allowed]]] = {
        "groups": (whole_number(1), array_like()),
        "n_components": N_COMPONENTS,
    }

    def __init__(
        self, groups: int | Sequence[Sequence[int]] = 2, *, n_components: int | str | None = None
    ) -> None:
        self.groups = groups
        self.n_components = n_components

    def _summarised(self, data: LabelledData) -> Any:
        groups = feature_groups(self.groups, data.X.shape[1])
        return [data.columns(columns).moments() for columns in groups]

    def _added(self, parts: Sequence[Any]) -> Any:
        return [
            super(GroupedDiscriminant, self)._added(group) for group in zip(*parts, strict=True)
        ]

    def _learn(self, moments: Any, data: Rows | None) -> None:
        """Publish the directions of each group; `moments` are those of the groups."""
        n_features = self.n_features_in_
        self.groups_ = feature_groups(self.groups, n_features)
        self.classes_ = moments[0].classes
        self.mean_, self.means_ = np.zeros(n_features), np.zeros((len(self.classes_), n_features))
        components, criteria, kept, self.rank_ = [], [], [], 0
        for columns, group in zip(self.groups_, moments, strict=True):
            found = self._solve(group, None).oriented()
            W = found.W
            rows = np.zeros((W.shape[1], n_features))
            rows[:, columns] = W.T
            components.append(rows)
            criteria.append(found.criterion)
            kept.append(np.arange(len(found.criterion)) < len(rows))
            self.mean_[columns], self.means_[:, columns] = group.mean, group.means
            self.rank_ += found.rank
        super()._n_wanted(max(map(len, components)), "no group has more")
        self.components_ = np.vstack(components)
        self._warn_without_directions(len(self.components_))
        self.group_of_component_ = np.repeat(
            np.arange(len(components)), [len(c) for c in components]
        )
        self.explained_ratio_ = shares(np.concatenate(criteria))[np.concatenate(kept)]

    def _solve(self, moments: ClassMoments, data: Rows | None) -> Solution:
        """Fisher's directions of one group."""
        small, lift = moments.in_span()
        found = fisher_directions(
            small.Sw, small.between_rows(), n_samples=moments.n_samples, eps=moments.eps
        )
        return self._lifted(found, lift, moments)

    def _n_wanted(self, available: int, why: str) -> int:
        if isinstance(self.n_components, Integral):
            return min(available, int(self.n_components))
        return super()._n_wanted(available, why)

    @property
    def _component_levels(self) -> Array:
        """Which direction of its group each one is: with so many per group it is there."""
        groups = self.group_of_component_
        return np.arange(1, len(groups) + 1) - np.searchsorted(groups, groups)


def feature_groups(groups: int | Sequence[Sequence[int]], n_features: int) -> list[Array]:
    """Columns of each group, from a number of groups or from lists of columns."""
    if isinstance(groups, int | np.integer):
        if groups > n_features:
            raise ValueError(
                f"groups={groups} is more than there are features: n_features={n_features}"
            )
        return np.array_split(np.arange(n_features), int(groups))
    columns = [np.asarray(group) for group in groups]
    for i, group in enumerate(columns):
        if group.ndim != 1 or group.size == 0 or group.dtype.kind not in "iu":
            raise ValueError(f"groups[{i}]={groups[i]!r} must be a list of column numbers")
        if group.min() < 0 or group.max() >= n_features or len(np.unique(group)) < len(group):
            raise ValueError(
                f"groups[{i}]={groups[i]!r} must hold different column numbers from 0 to "
                f"{n_features - 1}"
            )
    if not columns:
        raise ValueError("groups=[] must hold at least one group")
    return columns
