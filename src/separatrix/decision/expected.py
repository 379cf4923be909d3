"""Where the scores of new rows will lie, and the rule, the ridge and the error that follow.

The scores of the rows that a direction was learned from are not those of new rows. Where rows are
available each is left out, exactly, for every ridge from one decomposition.

Notation: C classes of n_c rows, n rows in all, ν = n - C, ``S = Sw / ν`` the covariance within
classes with eigenvalues λ, m_c the class means. Everything is in coordinates along the
eigenvectors of S, or of a centred Gram matrix where features outnumber rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import scipy.optimize
from scipy.special import log_softmax

from separatrix.linalg import Array

RIDGE_RATIOS = tuple(10.0 ** np.arange(-5, 3.5, 0.5))
"""Values of α / (1 - α) that are tried. Half a decade moved the log-loss by less than a standard
error on the sets of ``python -m benchmarks.decisions ordinary``."""

PRIOR_ROWS = 0.1
"""Weight of the prior in rows: normal for the offsets, and the logarithm of the slope. It matters
where classes are separable: the slope is then one, and the offsets stay small."""

LEAST_PRIOR = 1e-12
"""Weight of the prior at least: it alone says what offsets sum to, so that without its digits the
matrix of Newton's steps is singular."""

MIN_SLOPE = 1e-6
"""Smallest slope, for distances with a median of one: probabilities are then the priors."""


MAX_NEWTON_CLASSES = 100
"""Classes of which Newton's steps hold a matrix of all pairs; of more a descent by gradients."""

MAX_CALIBRATION_STEPS = 50
"""Steps to the slope and the offsets."""

MIN_NEWTON_STEP, MIN_NEWTON_GAIN = 1e-12, 1e-13
"""Smallest step of the parameters, and smallest relative gain of the log-loss, above rounding."""

MIN_EVIDENCE = 2.0
"""Standard errors by which blocks of rows are judged worse than single ones before they count."""

LOSS_DIGITS = 6
"""Decimals of a log-loss beyond which ridges are equally good."""


class ClassSpreads(NamedTuple):
    """The covariance of each class, in the axes of a spectrum.

    Attributes
    ----------
    diagonals : array (n_classes, r)
        Variances along the axes.
    products : callable
        Takes weights A (k, r) of the axes to the covariances ``A S_c A'`` (n_classes, k, k).
    tails : array (n_classes,)
        Variance in each direction outside of the axes, where it is known by its average.
    """

    diagonals: Array
    products: Callable[[Array], Array]
    tails: Array


class Spectrum(NamedTuple):
    """Class means and the covariance within classes, along its eigenvectors.

    Attributes
    ----------
    evals : array (r,)
        The positive eigenvalues λ of S.
    means : array (n_classes, r)
        Class means, from any origin.
    outside : array (n_classes, n_classes)
        Inner products of what the means have outside of the eigenvectors; zero where these span
        all features.
    counts : array (n_classes,)
        Rows of each class.
    unit : float
        t, the variance that a ridge adds: ``(1 - α) S + α t I``.
    tail, n_outside : float
        Variance in each direction outside of the axes, and the number of these directions, where
        the variance there is known by its average.
    spreads : ClassSpreads, optional
        Of the single classes.
    """

    evals: Array
    means: Array
    outside: Array
    counts: Array
    unit: float
    tail: float = 0.0
    n_outside: float = 0.0
    spreads: ClassSpreads | None = None

    @property
    def n_free(self) -> float:
        """ν, the rows less the number of classes that have any."""
        return float(self.counts.sum() - np.count_nonzero(self.counts))


class Metric(NamedTuple):
    """The matrix ``(a λ + b)`` in place of the covariance, axis by axis, and b outside.

    Attributes
    ----------
    slope, floor : array (r,)
        a and b.
    outside : float
        The variance in all directions outside of the axes.
    """

    slope: Array
    floor: Array
    outside: float

    def precisions(self, evals: Array) -> Array:
        """The eigenvalues of H, the inverse."""
        return 1 / (self.slope * evals + self.floor)

    def products(self, spectrum: Spectrum, precisions: Array) -> Array:
        """``m_gᵀ H m_h`` of all pairs of class means."""
        inner = (spectrum.means * precisions) @ spectrum.means.T
        return inner + spectrum.outside / self.outside


def ridge_metric(spectrum: Spectrum, alpha: float) -> Metric:
    """``(1 - α) S + α t I``."""
    r, floor = len(spectrum.evals), alpha * spectrum.unit
    outside = (1 - alpha) * spectrum.tail + floor
    return Metric(np.full(r, 1 - alpha), np.full(r, floor), outside)


def truncated_metric(spectrum: Spectrum, n_axes: int) -> Metric:
    """S along its leading axes, and their smallest eigenvalue in all other directions.

    The eigenvalues must be in descending order.
    """
    leading = np.arange(len(spectrum.evals)) < n_axes
    last = float(spectrum.evals[leading][-1])
    return Metric(leading.astype(float), np.where(leading, 0.0, last), last)


def ridges_to_try() -> Array:
    """The α of `RIDGE_RATIOS`, from almost none to almost only the identity."""
    ratios = np.asarray(RIDGE_RATIOS)
    return ratios / (1 + ratios)


# Leaving rows out -----------------------------------------------------------------------------


class RowProducts(NamedTuple):
    """Inner products by G of rows r less their class means, as leaving each of them out needs.

    G is the inverse of ``a ν/(ν - 1) S + b``, and u = √a r.

    Attributes
    ----------
    own, own_sloped, leverage : array (n_rows,)
        ``rᵀ G r``, ``rᵀ G u`` and ``uᵀ G u``.
    to_means, to_means_sloped : array (n_rows, n_classes)
        ``rᵀ G m_g`` and ``uᵀ G m_g``.
    means : array (n_classes, n_classes)
        ``m_gᵀ G m_h``.
    """

    own: Array
    own_sloped: Array
    leverage: Array
    to_means: Array
    to_means_sloped: Array
    means: Array


class ApartProducts(NamedTuple):
    """Products by G of a direction q for each row, which is left out of the axes with the row.

    Attributes
    ----------
    own : array (n_rows,)
        ``qᵀ G q``.
    to_row, to_sloped : array (n_rows,)
        ``qᵀ G r`` and ``qᵀ G u``.
    to_means : array (n_rows, n_classes)
        ``qᵀ G m_g``.
    """

    own: Array
    to_row: Array
    to_sloped: Array
    to_means: Array


def apart_products(
    spectrum: Spectrum, rows: Array, directions: Array, metric: Metric
) -> ApartProducts:
    """The products of directions, one for each row, given along the axes as the rows are."""
    left = spectrum.n_free / (spectrum.n_free - 1)
    q = metric._replace(slope=left * metric.slope).precisions(spectrum.evals) * directions
    to_sloped = np.sum(q * rows * np.sqrt(metric.slope), axis=1)
    own, to_row = np.sum(q * directions, axis=1), np.sum(q * rows, axis=1)
    return ApartProducts(own, to_row, to_sloped, q @ spectrum.means.T)


def row_products(spectrum: Spectrum, rows: Array, metric: Metric) -> RowProducts:
    """The products of rows, less the means of their classes, given along the axes."""
    root, left = np.sqrt(metric.slope), spectrum.n_free / (spectrum.n_free - 1)
    precisions = metric._replace(slope=left * metric.slope).precisions(spectrum.evals)
    sloped = precisions * root  # G u is r times this
    # one product, which costs the most where rows are many
    own, own_sloped, leverage = (rows**2 @ np.column_stack([precisions, sloped, sloped * root])).T
    to_means = rows @ (precisions * spectrum.means).T
    to_means_sloped = rows @ (sloped * spectrum.means).T
    means = metric.products(spectrum, precisions)
    return RowProducts(own, own_sloped, leverage, to_means, to_means_sloped, means)


def left_out_distances(
    spectrum: Spectrum, rows: Array, codes: Array, metric: Metric, weights: Array | None = None
) -> Array:
    """Squared distances of each row to the class means, by a metric and means without that row.

    A metric with its slope a on some axes only takes these axes as given.

    Parameters
    ----------
    spectrum : Spectrum
        Of all rows.
    rows : array (n_rows, r)
        Some of the rows, or all, less the means of their classes.
    codes : array (n_rows,)
        Their classes.
    metric : Metric
    weights : array (n_rows,), optional
        Weights of the rows in the spectrum.

    Returns
    -------
    array (n_rows, n_classes)
    """
    products = row_products(spectrum, rows, metric)
    return distances_without(products, codes, spectrum.counts, weights)


def distances_without(
    products: RowProducts,
    codes: Array,
    counts: Array,
    weights: Array | None = None,
    apart: ApartProducts | None = None,
) -> Array:
    """`left_out_distances`, from inner products.

    With the row r less its class mean, ``S' = (ν S - n_c/(n_c - 1) r rᵀ) / (ν - 1)`` and
    ``m_c' = m_c - r / (n_c - 1)``. With κ = n_c / ((n_c - 1)(ν - 1)) and v the row less the mean
    of class g, the distance is ``vᵀ G v + κ (vᵀ G u)² / (1 - κ uᵀ G u)``; to its own class v is
    ``n_c/(n_c - 1) r``.

    A row of weight w is the row w times: one of them is left out, or all of a row that weighs less
    than one. A row that is alone in its class leaves no mean behind. Its distance to its own class
    is that of a row to another one of its class, averaged over the rows of the other classes.

    Where a direction q goes with the row, ``G'`` without the row is that of all other directions:
    ``(vᵀ G' q)² / qᵀ G' q`` is taken off.
    """
    own, own_sloped, leverage, to_means, to_means_sloped, means = products
    free, n_own = float(counts.sum() - np.count_nonzero(counts)), counts[codes]
    at = np.arange(len(codes))
    between = np.diagonal(means)[codes][:, None] - 2 * means[codes] + np.diagonal(means)
    v_G_v = own[:, None] + 2 * (to_means[at, codes][:, None] - to_means) + between
    v_G_u = own_sloped[:, None] + to_means_sloped[at, codes][:, None] - to_means_sloped
    gone = np.ones(len(codes)) if weights is None else np.minimum(weights, 1.0)
    several = n_own > gone * (1 + 1e-9)  # sums of weights in another order differ in a last digit
    without = np.where(several, n_own / np.where(several, n_own - gone, 1.0), 0.0)
    kappa = gone * without / (free - 1)
    gain = kappa / (1 - kappa * leverage)
    distances = v_G_v + gain[:, None] * v_G_u**2
    distances[at, codes] = without**2 * (own + gain * own_sloped**2)
    if apart is not None:
        to_means = apart.to_means
        v_G_q = (apart.to_row + to_means[at, codes])[:, None] - to_means
        v_G_q += (gain * apart.to_sloped)[:, None] * v_G_u
        v_G_q[at, codes] = without * (apart.to_row + gain * own_sloped * apart.to_sloped)
        distances -= v_G_q**2 / (apart.own + gain * apart.to_sloped**2)[:, None]
    if not several.all():
        a_row = distances[at, codes][several] / without[several]
        distances[at[~several], codes[~several]] = 2 * a_row.mean()
    return distances.clip(0.0)  # rows of next to no weight have few digits


def distances_without_blocks(
    spectrum: Spectrum, rows: Array, codes: Array, metric: Metric, blocks: Array
) -> Array:
    """Squared distances of each row to the class means, without all rows of its block.

    With U the rows r of the block less their class means, and for each class their sum divided by
    √(n_c - b_c), where b_c of its rows are in the block, ``ν' S' = ν S - Uᵀ U``: the inverse is
    that of a matrix as large as the block.

    Parameters
    ----------
    spectrum, metric
        As for `left_out_distances`.
    rows : array (n_rows, r)
        All rows, less the means of their classes.
    codes : array (n_rows,)
    blocks : array (n_rows,)
        The block of each row. No block may have all rows of a class.

    Returns
    -------
    array (n_rows, n_classes)
    """
    distances, n_classes = np.empty((len(rows), len(spectrum.counts))), len(spectrum.counts)
    own, outside = np.diagonal(spectrum.outside), spectrum.outside
    for block in np.unique(blocks):
        at = np.flatnonzero(blocks == block)
        R, c = rows[at], codes[at]
        sums = np.zeros((n_classes, rows.shape[1]))
        np.add.at(sums, c, R)
        left = spectrum.counts - np.bincount(c, minlength=n_classes)
        left = np.where(left > 0, left, 1.0)
        free = spectrum.n_free - len(at)
        grown = metric._replace(slope=metric.slope * spectrum.n_free / free)
        g = grown.precisions(spectrum.evals)
        U = np.vstack([R, sums / np.sqrt(left)[:, None]]) * np.sqrt(metric.slope)
        points = np.vstack([spectrum.means[c] + R, spectrum.means - sums / left[:, None]])
        along = (U * g) @ points.T
        core = free * np.eye(len(U)) - (U * g) @ U.T
        inner = (points * g) @ points.T + along.T @ np.linalg.solve(core, along)
        squares, n = np.diagonal(inner), len(at)
        distances[at] = squares[:n, None] - 2 * inner[:n, n:] + squares[n:]
        distances[at] += (own[c][:, None] - 2 * outside[c] + own) / metric.outside
    return distances.clip(0.0)


class Calibration(NamedTuple):
    """Log-odds ``β_g + log π_g - s d_g / 2`` from squared distances d_g, and what they are worth.

    Attributes
    ----------
    slope : float
        s in (0, 1].
    offsets : array (n_classes,)
        β, which sum to zero.
    log_loss, error : float
        On the rows that were left out, classes weighted by their priors.
    """

    slope: float
    offsets: Array
    log_loss: float
    error: float


def calibrate(
    distances: Array,
    codes: Array,
    priors: Array,
    weights: Array | None = None,
    start: Calibration | None = None,
    n_rows: float | None = None,
) -> Calibration:
    """The slope and the offsets of least log-loss; a convex problem.

    The slope undoes overconfidence, the offsets are the cut. Without its cap the slope runs away
    on separable rows.

    Parameters
    ----------
    distances : array (n_rows, n_classes)
        Of rows that were left out, such as from `left_out_distances`.
    codes : array (n_rows,)
    priors : array (n_classes,)
        π, zero for a class that is excluded, whose rows then do not count.
    weights : array (n_rows,), optional
        Weights of rows within their class; classes count as their priors.
    start : Calibration, optional
        Of similar distances.
    n_rows : float, optional
        How many rows stand behind the distances; the number of distances by default.
    """
    shares = _row_shares(codes, priors, weights)
    used, classes = np.flatnonzero(shares), np.flatnonzero(priors)
    distances, shares = distances[np.ix_(used, classes)], shares[used]
    own = np.searchsorted(classes, codes[used])
    log_priors = np.log(priors[classes])
    unit = float(np.median(distances)) or 1.0
    halves = -0.5 / unit * distances
    if n_rows is None:
        n_rows = len(used) if weights is None else float(weights[used].sum())
    at, prior = np.arange(len(used)), max(PRIOR_ROWS / n_rows, LEAST_PRIOR)

    def loss(parameters: Array) -> tuple[float, Array, Array]:
        offsets = parameters[1:]
        logs = log_softmax(parameters[0] * halves + offsets + log_priors, axis=1)
        miss = np.exp(logs)
        expected = shares[:, None] * miss
        miss[at, own] -= 1.0
        miss *= shares[:, None]
        value = -shares @ logs[at, own] + prior * (0.5 * offsets @ offsets - np.log(parameters[0]))
        gradient = np.append(np.vdot(miss, halves), miss.sum(axis=0) + prior * offsets)
        gradient[0] -= prior / parameters[0]
        return value, gradient, expected

    first = np.zeros(1 + len(classes))
    first[0] = min(1.0, 0.5 * unit)
    if start is not None:
        first[1:] = start.offsets[classes]
    slopes = (min(MIN_SLOPE, unit), unit)
    if start is not None:
        first[0] = np.clip(start.slope * unit, *slopes)
    if len(classes) <= MAX_NEWTON_CLASSES:
        solution = _descend(loss, first, halves, shares, prior, slopes)
        # the way to the cap is flat where classes are separable, and a descent stops on it
        capped = np.append(slopes[1], solution[1:])
        if loss(capped)[0] < loss(solution)[0]:
            solution = _descend(loss, capped, halves, shares, prior, slopes)
    else:
        solution = scipy.optimize.minimize(
            lambda parameters: loss(parameters)[:2],
            first,
            jac=True,
            method="L-BFGS-B",
            bounds=[slopes, *[(None, None)] * len(classes)],
        ).x
    offsets = np.zeros(len(priors))
    offsets[classes] = solution[1:] - solution[1:].mean()
    scores = solution[0] * halves + solution[1:] + log_priors
    log_loss = -float(shares @ log_softmax(scores, axis=1)[at, own])
    error = float(shares @ (scores.argmax(axis=1) != own))
    return Calibration(float(solution[0] / unit), offsets, log_loss, error)


def _descend(
    loss: Callable[[Array], tuple[float, Array, Array]],
    at: Array,
    halves: Array,
    shares: Array,
    prior: float,
    slopes: tuple[float, float],
) -> Array:
    """Newton's steps to the minimum of the log-loss, each halved until it descends."""
    here = loss(at)

    def moved(step: Array) -> Array:
        found = at + step
        found[0] = np.clip(found[0], *slopes)  # a small slope is lost in a sum of large ones
        return found

    for _ in range(MAX_CALIBRATION_STEPS):
        step = _newton_step(at, here[1], halves, shares, here[2], prior, slopes) - at
        there = loss(moved(step))
        while there[0] > here[0] and np.abs(step).max() > MIN_NEWTON_STEP:
            step *= 0.5
            there = loss(moved(step))
        if there[0] > here[0]:
            break
        at, gained, here = moved(step), here[0] - there[0], there
        if gained <= MIN_NEWTON_GAIN * abs(here[0]):
            break
    return at


def _newton_step(
    at: Array,
    gradient: Array,
    halves: Array,
    shares: Array,
    expected: Array,
    prior: float,
    bounds: tuple[float, float],
) -> Array:
    """Where one of Newton's steps leads; a slope at its bound stays there."""
    tilted = expected * halves
    means = tilted.sum(axis=1) / shares
    H = np.empty((len(at), len(at)))
    H[1:, 1:] = np.diag(expected.sum(axis=0) + prior) - expected.T @ (expected / shares[:, None])
    H[0, 1:] = H[1:, 0] = tilted.sum(axis=0) - means @ expected
    H[0, 0] = np.vdot(tilted, halves) - shares @ means**2 + prior / at[0] ** 2
    low, high = bounds
    bound = (at[0] >= high and gradient[0] < 0) or (at[0] <= low and gradient[0] > 0)
    step = np.zeros(len(at))
    free = slice(1, None) if bound else slice(None)
    step[free] = np.linalg.solve(H[free, free], gradient[free])
    point = at - step
    point[0] = np.clip(point[0], low, high)
    return point


def _row_shares(codes: Array, priors: Array, weights: Array | None) -> Array:
    """What each row counts: classes count as their priors, all rows sum to one."""
    shares = np.ones(len(codes)) if weights is None else weights
    totals = np.bincount(codes, shares, minlength=len(priors))
    shares = shares * (priors / np.where(totals > 0, totals, 1.0))[codes]
    return shares / shares.sum()


def check_on_blocks(
    judged: LeftOut, spectrum: Spectrum, rows: Array, codes: Array, priors: Array, n_blocks: int
) -> LeftOut:
    """The decision for rows of which neighbours depend on each other, where they do.

    The rows of each class are cut into blocks in their order, and each block is left out. Where
    the rows are then judged worse by more than chance makes, such as epochs that overlap, slope
    and offsets are those of blocks. What two recordings differ in no block shows.

    Parameters
    ----------
    found : LeftOut
        What single rows that are left out say.
    spectrum, rows, codes, priors
        Of all rows, as for `distances_without_blocks`.
    n_blocks : int
    """
    counts = spectrum.counts[codes]
    kept = (counts > 1) & (priors[codes] > 0)
    order = np.argsort(codes, kind="stable")
    ranks = np.empty(len(codes))
    starts = np.concatenate([[0.0], np.cumsum(spectrum.counts)[:-1]])
    ranks[order] = np.arange(len(codes)) - starts[codes[order]]
    blocks = (ranks * np.minimum(n_blocks, counts) / counts).astype(int)
    sizes = np.bincount(blocks[kept], minlength=1)
    if sizes.max() > spectrum.n_free / 2:  # of few rows a block leaves too few to say anything
        return judged
    metric = ridge_metric(spectrum, judged.alpha)
    single = left_out_distances(spectrum, rows[kept], codes[kept], metric)
    apart = distances_without_blocks(spectrum, rows[kept], codes[kept], metric, blocks[kept])
    shares, at = _row_shares(codes[kept], priors, None), np.arange(len(apart))
    with np.errstate(divide="ignore"):
        base = np.log(priors) + judged.offsets
    losses = [
        -log_softmax(-0.5 * judged.slope * d + base, axis=1)[at, codes[kept]]
        for d in (apart, single)
    ]
    worse = losses[0] - losses[1]
    mean = float(shares @ worse)
    if mean <= MIN_EVIDENCE * float(np.sqrt(shares**2 @ (worse - mean) ** 2)):
        return judged
    return LeftOut(judged.alpha, *calibrate(apart, codes[kept], priors))


class LeftOut(NamedTuple):
    """The ridge of least left-out log-loss, and the slope and offsets of its decision.

    Attributes
    ----------
    alpha : float
    slope : float
    offsets : array (n_classes,)
    log_loss, error : float
        Of rows that were left out, classes weighted by their priors.
    """

    alpha: float
    slope: float
    offsets: Array
    log_loss: float
    error: float


def search_ridge(
    judge: Callable[[float], Calibration], unresolved: float = 10.0**-LOSS_DIGITS
) -> tuple[float, Calibration]:
    """The α of least log-loss among those of `ridges_to_try`, and what was found there.

    Every third one is tried first, then the neighbours of the best. Of those that are no worse
    than the least by more than `unresolved` the largest is taken: rows that any ridge separates
    must not leave it to chance.
    """
    alphas = ridges_to_try()
    tried: dict[int, Calibration] = {}

    def best_of(places: Iterable[int]) -> int:
        for i in places:
            if i not in tried:
                tried[i] = judge(float(alphas[i]))
        least = min(result.log_loss for result in tried.values())
        return max(i for i, result in tried.items() if result.log_loss <= least + unresolved)

    best = best_of(range(0, len(alphas), 3))
    for step in (2, 1):
        best = best_of(i for i in (best - step, best + step) if 0 <= i < len(alphas))
    return float(alphas[best]), tried[best]


def best_ridge(
    spectrum: Spectrum, rows: Array, codes: Array, priors: Array, weights: Array | None = None
) -> LeftOut:
    """The α whose left-out log-loss is least, and the decision there.

    Parameters
    ----------
    spectrum, rows, codes, priors, weights
        As for `left_out_distances` and `calibrate`.
    """
    last: Calibration | None = None

    def judge(alpha: float) -> Calibration:
        nonlocal last
        metric = ridge_metric(spectrum, alpha)
        distances = left_out_distances(spectrum, rows, codes, metric, weights)
        last = calibrate(distances, codes, priors, weights, last)
        return last

    # a log-loss is known to what the prior of the calibration counts of the rarest class
    shares = _row_shares(codes, priors, weights)
    if weights is not None:  # a row of weight 2 is two rows
        shares = shares / np.where(weights > 0, weights, np.inf)
    smallest = float(np.max(shares))
    alpha, best = search_ridge(judge, PRIOR_ROWS * smallest)
    return LeftOut(alpha, *best)
