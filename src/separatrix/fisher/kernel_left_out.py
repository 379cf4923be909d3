"""Kernel methods choose width and ridge by rows left out, from one matrix of all pairs of rows.

The rows less their class means have the Gram matrix ``K̃ = (I - M) K (I - M)ᵀ`` in feature space, M
averaging within classes. Its eigenvectors are the axes of the scatter within classes, so that
`decision.expected` leaves rows out of a kernel method as it does of a linear one. With weights the
matrix is ``√w_i K̃_ij √w_j``, and everything holds for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from separatrix.base.feature_space import (
    KERNEL_TOLERANCE,
    CentredGram,
    KernelMap,
    compute_centred_gram,
    kernel_blocks,
)
from separatrix.base.kernel import Mapped
from separatrix.base.solution import Solution
from separatrix.decision.expected import (
    LOSS_DIGITS,
    LeftOut,
    RowProducts,
    Spectrum,
    best_ridge,
    calibrate,
    distances_without,
)
from separatrix.fisher.directions import fisher_directions
from separatrix.fisher.left_out import warn_of_light_rows
from separatrix.kernels import SettledKernel
from separatrix.linalg import (
    EPS,
    Array,
    SingularMatrixError,
    cholesky_whitener,
    numerical_rank,
    squared_norms,
    top_eigh,
    whiten,
)
from separatrix.moments.class_moments import ClassMoments, contrasts
from separatrix.moments.labelled import LabelledRows, class_indicator
from separatrix.selection import draw_rows_by_class

MAX_DECOMPOSED = 1000
"""Rows whose matrix is decomposed, to choose width and ridge. It takes 0.13 s, half of the time of
a Cholesky factor of 3600 rows (``python -m benchmarks.decisions_kernel cost``)."""

MAX_KERNEL_LEFT_OUT = 1000
"""Rows of larger sets that are left out to see where new ones lie: each needs a column of the
inverse of a factor."""


class Smoothing(NamedTuple):
    """The regularised inverse of the scatter within classes: by a ridge, or a cut spectrum.

    Attributes
    ----------
    share : float or None
        The ridge as a share of the mean squared distance of the rows from their mean.
    ratio : float or None
        The ridge as a share of that from their class means, per degree of freedom. Without both
        rows left out choose it.
    n_axes : function or None
        In place of a ridge, of the number of rows: how many leading axes keep their variance,
        where the others get that of the last of them.
    """

    share: float | None = None
    ratio: float | None = None
    n_axes: Callable[[float], int] | None = None

    @property
    def is_open(self) -> bool:
        """Whether rows left out choose the ridge."""
        return self.share is None and self.ratio is None and self.n_axes is None

    def ridge_of(self, centred: ClassCentred) -> float:
        """ρ."""
        if self.share is not None:
            return self.share * centred.mean_square
        return (self.ratio or 0.0) * centred.within


class ClassCentred(NamedTuple):
    """Inner products of rows less their class means, and of class means, in feature space.

    Attributes
    ----------
    matrix : array (n, n)
        ``√w_i r_i·r_j √w_j``.
    to_means : array (n, n_classes)
        ``√w_i r_i·m_g``, with class means from the mean of all rows.
    means : array (n_classes, n_classes)
        ``m_g·m_h``.
    averages : array (n_classes, n)
        Shares of the rows in the class means.
    counts : array (n_classes,)
    weights : array (n,)
    mean_square : float
        Mean squared distance of the rows from the mean of all.
    largest : float
        The largest kernel value, to which numerical zero is relative.
    """

    matrix: Array
    to_means: Array
    means: Array
    averages: Array
    counts: Array
    weights: Array
    mean_square: float
    largest: float

    @property
    def n_free(self) -> float:
        """ν, the rows less the number of classes that have any."""
        return float(self.counts.sum() - np.count_nonzero(self.counts))

    @property
    def within(self) -> float:
        """Mean squared distance of rows from their class means, per degree of freedom."""
        return max(float(np.trace(self.matrix)), 0.0) / self.n_free

    @property
    def is_judged(self) -> bool:
        """Whether classes differ, have a scatter, and have a row that can be spared."""
        dust = len(self.matrix) * EPS * max(self.largest, self.mean_square)
        between = float(self.counts @ np.diagonal(self.means)) / self.counts.sum()
        return bool(self.n_free > 1 and self.within > dust and between > dust)


def centre_classes(gram: CentredGram, rows: LabelledRows) -> ClassCentred:
    """The products of the rows of a Gram matrix, which is overwritten."""
    K, codes, n_classes = gram.matrix, rows.codes, len(rows.classes)
    weights = np.ones(len(codes)) if rows.weights is None else rows.weights
    mean_square = float(np.average(np.diagonal(K), weights=weights))
    sums = class_indicator(codes, weights, n_classes, np.float64)
    counts = np.bincount(codes, weights, n_classes)
    averages = sums.toarray() / np.where(counts > 0, counts, 1.0)[:, None]
    products, root = K @ averages.T, np.sqrt(weights)
    means = averages @ products
    for block in kernel_blocks(len(K), 4 * len(K)):
        own = codes[block]
        K[block] -= products[block][:, codes]
        K[block] -= (products.T - means[:, codes])[own]
        if rows.weights is not None:
            K[block] *= root[block, None] * root
    to_means = root[:, None] * (products - means[codes])
    return ClassCentred(K, to_means, means, averages, counts, weights, mean_square, gram.largest)


# The directions ---------------------------------------------------------------------------------


class WhitenedMeans(NamedTuple):
    """Class means times G, which a smoothing puts in the place of the inverse of Sw.

    Attributes
    ----------
    duals : array (n, n_classes)
        Dual coefficients of ``G m_g``.
    rows : array (n, n_classes)
        ``√w_i r_i · G m_g``.
    means : array (n_classes, n_classes)
        ``m_g · G m_h``.
    """

    duals: Array
    rows: Array
    means: Array

    def span(self, gram: CentredGram, centred: ClassCentred, codes: Array) -> WhitenedSpan:
        """Orthonormal coordinates of the differences of these, and the inverse of G there."""
        T = contrasts(centred.counts) * np.sqrt(centred.counts)[:, None]  # they sum to zero
        A = self.duals @ T
        KA = (_divide(self.rows, centred.weights) + self.means[codes]) @ T
        to_orthonormal = whiten(A.T @ KA)
        if to_orthonormal.shape[1] == 0:
            to_orthonormal = np.zeros((A.shape[1], 1))
        T = T @ to_orthonormal
        return WhitenedSpan(
            gram.map(A @ to_orthonormal), KA @ to_orthonormal, T.T @ self.means @ T
        )


class WhitenedSpan(NamedTuple):
    """A map to a few orthonormal coordinates, the rows there, and what stands for Sw there."""

    map: KernelMap
    rows: Array
    within: Array


def _divide(rows: Array, weights: Array) -> Array:
    """Rows over the roots of their weights; zero for those without weight."""
    return rows / np.sqrt(np.where(weights > 0, weights, np.inf))[:, None]


def _add_inner(centred: ClassCentred, codes: Array, floor: float, inner: Array) -> Array:
    """Dual coefficients of ``m_g / floor`` plus combinations of rows less their class means."""
    inner = np.sqrt(centred.weights)[:, None] * inner
    sums = class_indicator(codes, None, len(centred.counts), np.float64) @ inner
    return centred.averages.T / floor + inner - centred.averages.T @ sums


def whiten_by_ridge(
    centred: ClassCentred, codes: Array, ridge: float, n_left_out: int
) -> tuple[WhitenedMeans, RowProducts]:
    """``G = (Sw + ρ I)⁻¹`` by one Cholesky factor, which takes the place of the matrix.

    With ``R = (K̃ + ρ I)⁻¹`` the products ``r·G m`` are those of R with ``r·m``, and
    ``r_i·G r_i = 1 - ρ R_ii``. The diagonal of R is that of the inverse of the factor, whose last
    corner is enough for the last rows: these can be left out.

    Returns
    -------
    WhitenedMeans
    RowProducts
        Of the last rows, by ``(ν - 1) G``.
    """
    K, weights = centred.matrix, centred.weights
    K.flat[:: len(K) + 1] += ridge
    factor = cholesky_whitener(K, least=ridge, overwrite=True)
    rows = factor.unwhiten(factor.whiten(centred.to_means))
    means = (centred.means - centred.to_means.T @ rows) / ridge
    whitened = WhitenedMeans(_add_inner(centred, codes, ridge, -rows / ridge), rows, means)
    last = slice(len(K) - n_left_out, None)
    # the upper triangle of L is zero, and stays so; nobody needs L any more
    inverse, _ = lapack.dtrtri(factor.L[last, last], lower=1, overwrite_c=1)
    diagonal = squared_norms(inverse.T) / factor.scale[last] ** 2
    scale = centred.n_free - 1
    own = scale * (1 - ridge * diagonal).clip(0.0) / weights[last]
    to_means = scale * _divide(rows[last], weights[last])
    return whitened, RowProducts(own, own, own, to_means, to_means, scale * means)


def whiten_by_axes(
    centred: ClassCentred, codes: Array, n_axes: int, left_out: slice
) -> tuple[WhitenedMeans, RowProducts, int]:
    """The inverse of Sw along its leading axes, and of its last eigenvalue everywhere else.

    Returns
    -------
    WhitenedMeans
    RowProducts
        Of some rows, by ν - 1 times this G: the axes are taken as given.
    int
        The number of axes, at most that available.
    """
    evals, U = top_eigh(centred.matrix, n_axes, tol=KERNEL_TOLERANCE)
    n_axes = numerical_rank(evals, len(U), largest=max(float(evals[0]), centred.largest))
    evals, U = evals[:n_axes], U[:, :n_axes]
    last, along = float(evals[-1]), U.T @ centred.to_means
    more = (1 / evals - 1 / last)[:, None]
    inner = U @ (more / evals[:, None] * along)
    rows = centred.to_means / last + U @ (more * along)
    means = centred.means / last + centred.to_means.T @ inner
    whitened = WhitenedMeans(_add_inner(centred, codes, last, inner), rows, means)

    free, weights, some = centred.n_free, centred.weights[left_out], U[left_out]
    # whitened axes have unit variance in all rows: those of the others have a little less
    top = np.sum(some**2, axis=1) * (free - 1) / weights
    rest = np.diagonal(centred.matrix)[left_out] - some**2 @ evals
    own = top + (free - 1) * rest.clip(0.0) / last / weights
    on_top = (free - 1) * _divide(some @ (along / evals[:, None]), weights)
    to_means = (free - 1) * _divide(rows[left_out], weights)
    products = RowProducts(own, top, top, to_means, on_top, (free - 1) * means)
    return whitened, products, n_axes


# The choice -------------------------------------------------------------------------------------


def map_by_left_out(
    rows: LabelledRows,
    kernels: Sequence[SettledKernel],
    smoothing: Smoothing,
    priors: Array | None,
) -> Mapped | None:
    """Coordinates of the directions, by the kernel and ridge of least log-loss on rows left out.

    Of more rows than `MAX_DECOMPOSED` a part chooses kernel and ridge. All rows then give the
    directions, and as many as `MAX_KERNEL_LEFT_OUT` of them, left out in turn, slope and offsets.

    Parameters
    ----------
    rows : LabelledRows
    kernels : sequence of SettledKernel
        Those of equal log-loss in the order of preference.
    smoothing : Smoothing
    priors : array (n_classes,), optional
        Those that the decision takes; the shares of the rows by default.

    Returns
    -------
    Mapped or None
        None where no row can be left out: its `found` holds ``kernel_``, ``ridge_`` and
        ``n_whitened_``, also the decision ``left_out_`` and the matrix ``_within`` in place of Sw.
    """
    counted = np.arange(len(rows.codes)) if rows.weights is None else np.flatnonzero(rows.weights)
    counts = np.bincount(rows.codes, rows.weights, len(rows.classes))
    shares = np.where(counts > 0, counts if priors is None else priors, 0.0)
    if np.count_nonzero(shares) < 2:
        return None
    shares = shares / shares.sum()
    kernel = kernels[0]
    if smoothing.is_open or len(kernels) > 1:
        some = counted[draw_rows_by_class(rows.codes[counted], MAX_DECOMPOSED, 0, least=20)]
        sample = rows if len(some) == len(rows.codes) else _select(rows, some, kernel)
        choice = _choose(sample, kernels, smoothing, shares)
        if choice is None:
            warn_of_light_rows(rows)
            return None
        kernel, smoothing = choice
    judged = counted[_draw_left_out(rows.codes[counted], len(rows.classes))]
    order = np.concatenate([np.setdiff1d(np.arange(len(rows.codes)), judged), judged])
    in_order = bool((np.diff(order) > 0).all())
    if not in_order:
        rows = _select(rows, order, kernel)
    try:
        mapped = _map_all(rows, kernel, smoothing, shares, len(judged))
    except SingularMatrixError:
        return None
    return mapped if in_order or mapped is None else _reorder(mapped, np.argsort(order))


def _select(rows: LabelledRows, chosen: Array, kernel: SettledKernel) -> LabelledRows:
    """Some rows; of kernel values the columns of these rows only."""
    some = rows.part(chosen)
    return some._replace(X=some.X[:, chosen]) if kernel.precomputed else some


def _draw_left_out(codes: Array, n_classes: int) -> Array:
    return draw_rows_by_class(
        codes, MAX_KERNEL_LEFT_OUT, 0, least=max(MAX_KERNEL_LEFT_OUT // (2 * n_classes), 2)
    )


def _choose(
    rows: LabelledRows, kernels: Sequence[SettledKernel], smoothing: Smoothing, shares: Array
) -> tuple[SettledKernel, Smoothing] | None:
    """The kernel, and the ridge, whose log-loss is least on rows left out."""
    candidates = []
    for kernel in kernels:
        gram = compute_centred_gram(rows.X, kernel, rows.weights)
        centred = centre_classes(gram, rows)
        if not centred.is_judged:
            return None
        if smoothing.is_open:
            best = _best_ridge(centred, rows, shares)
            settled = Smoothing(ratio=best.alpha / (1 - best.alpha))
            candidates.append((best.log_loss, kernel, settled))
        else:
            ratio = smoothing.ridge_of(centred) / centred.within
            _, products, _ = _whiten(centred, rows.codes, smoothing, len(rows.codes))
            distances = distances_of(products, centred, rows)
            judged = _calibrate(rows, distances, shares, ratio)
            candidates.append((judged.log_loss, kernel, smoothing))
    return min(candidates, key=lambda f: round(f[0], LOSS_DIGITS))[1:]


def _best_ridge(centred: ClassCentred, rows: LabelledRows, shares: Array) -> LeftOut:
    """The ridge of least log-loss, by a decomposition that serves all of them.

    The unit of the ridge makes ``(1 - α) S' + α t I`` a multiple of ``Sw' + ρ I`` for every row
    that is left out, where ρ is ``α / (1 - α)`` times the variance within classes.
    """
    evals, U = np.linalg.eigh(centred.matrix)
    evals, U = evals[::-1], U[:, ::-1]
    largest = max(float(evals[0]), centred.largest)
    rank = numerical_rank(evals, len(evals), largest=largest)
    roots, U = np.sqrt(evals[:rank]), U[:, :rank]
    means = (U.T @ centred.to_means / roots[:, None]).T
    nu = centred.n_free
    spectrum = Spectrum(
        evals[:rank] / nu,
        means,
        centred.means - means @ means.T,
        centred.counts,
        centred.within / (nu - 1),
    )
    judged = np.flatnonzero(centred.weights)
    weights = None if rows.weights is None else centred.weights[judged]
    along = _divide(U * roots, centred.weights)[judged]
    return best_ridge(spectrum, along, rows.codes[judged], shares, weights)


def _whiten(
    centred: ClassCentred, codes: Array, smoothing: Smoothing, n_left_out: int
) -> tuple[WhitenedMeans, RowProducts, dict[str, Any]]:
    """The class means whitened as is asked for, the products of the last rows, and attributes."""
    if smoothing.n_axes is None:
        ridge = smoothing.ridge_of(centred)
        whitened, products = whiten_by_ridge(centred, codes, ridge, n_left_out)
        return whitened, products, {"ridge_": ridge}
    # where as many axes as rows are whitened, a row that is left out takes one of them along
    most = max(int(centred.n_free) - 1, 1)
    wanted = min(smoothing.n_axes(float(centred.counts.sum())), most)
    last = slice(len(codes) - n_left_out, None)
    whitened, products, n_axes = whiten_by_axes(centred, codes, wanted, last)
    return whitened, products, {"ridge_": 0.0, "n_whitened_": n_axes}


def distances_of(products: RowProducts, centred: ClassCentred, rows: LabelledRows) -> Array:
    """Squared distances of the last rows to the class means, each without itself."""
    last = slice(len(rows.codes) - len(products.own), None)
    weights = None if rows.weights is None else rows.weights[last]
    return distances_without(products, rows.codes[last], centred.counts, weights)


def _calibrate(rows: LabelledRows, distances: Array, shares: Array, ratio: float) -> LeftOut:
    """Slope and offsets by the last rows, those that distances are of.

    The cap of the slope is that of distances by ``((1 - α) Sw + α ρ I / ν)``, as in `best_ridge`.
    """
    last = slice(len(rows.codes) - len(distances), None)
    weights = None if rows.weights is None else rows.weights[last]
    calibration = calibrate((1 + ratio) * distances, rows.codes[last], shares, weights)
    return LeftOut(
        ratio / (1 + ratio), *calibration._replace(slope=(1 + ratio) * calibration.slope)
    )


def _map_all(
    rows: LabelledRows,
    kernel: SettledKernel,
    smoothing: Smoothing,
    shares: Array,
    n_left_out: int,
) -> Mapped | None:
    """The map to the span of the whitened means, with the decision by the last rows."""
    gram = compute_centred_gram(rows.X, kernel, rows.weights)
    centred = centre_classes(gram, rows)
    if not centred.is_judged:
        return None
    ratio = smoothing.ridge_of(centred) / centred.within
    whitened, products, attributes = _whiten(centred, rows.codes, smoothing, n_left_out)
    decision = _calibrate(rows, distances_of(products, centred, rows), shares, ratio)
    span = whitened.span(gram, centred, rows.codes)
    attributes |= {"kernel_": kernel.function, "left_out_": decision, "_within": span.within}
    return Mapped(span.map, rows._replace(X=span.rows, feature_names=None), attributes)


def _reorder(mapped: Mapped, order: Array) -> Mapped:
    """The same with rows, and reference rows, in another order."""
    old = mapped.map
    points = old.points if old.kernel.precomputed else old.points[order]
    return mapped._replace(
        map=old._replace(points=points, centre=old.centre[order], basis=old.basis[order]),
        rows=mapped.rows.part(order),
    )


# The decision -----------------------------------------------------------------------------------


def whitened_directions(
    moments: ClassMoments, attributes: Mapping[str, Any], priors: Array | None = None
) -> Solution:
    """Fisher's directions in the coordinates of `map_by_left_out`."""
    Hb = moments.between_rows(priors)
    solution = fisher_directions(attributes["_within"], Hb, n_samples=moments.n_samples)
    return solution.with_extras(left_out_=attributes["left_out_"])


def decide_by_left_out(solution: Solution, moments: ClassMoments) -> Solution:
    """The solution with the slope and the offsets of rows left out, if any were."""
    extras = {name: value for name, value in solution.extras.items() if name != "_within"}
    decision = extras["left_out_"]
    if decision is not None:
        # distances of rows left out are by Sw / ν, those of the rule by Sw / n
        free = moments.n_samples - np.count_nonzero(moments.counts)
        with np.errstate(divide="ignore"):
            log_priors = np.log(np.where(moments.counts > 0, extras["priors_"], 0.0))
        slope = decision.slope * free / moments.n_samples
        extras["_rule"] = extras["_rule"].calibrated(slope, decision.offsets, log_priors)
    return solution._replace(extras=extras)
