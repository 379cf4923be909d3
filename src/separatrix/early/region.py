"""Whether a guess stands on a set of stated probability: sections 5.2 and 5.3 of the thesis.

Given the observed features, the row is ``m + F z`` with z of mean zero and covariance I. The class
c that wins at m stands on every z in a set of measure τ when no other class wins anywhere in the
set (5.2). All sets here grow with τ about z = 0, so that the decision stands up to the τ at which
the set first touches a boundary ``f_c - f_g = 0``: one distance answers for all τ.

Equation numbers are those of Parrish's thesis, see `conditional`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import chdtr, chdtri, ndtr, ndtri
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.svm import LinearSVC
from sklearn.utils import gen_batches

from separatrix.base.kernel import KernelEstimator
from separatrix.decision.classifiers import SubspaceClassifier
from separatrix.decision.local_qda import LocalQDA
from separatrix.decision.rules import Quadratic
from separatrix.early.conditional import (
    ConditionalModel,
    ConditionalMoments,
    PrefixModel,
    PrefixState,
    count_unknown_directions,
)
from separatrix.linalg import EPS, Array, boundary_distance

LINEAR_CLASSIFIERS = (
    LinearSVC,
    LogisticRegression,
    LinearDiscriminantAnalysis,
    RidgeClassifier,
    SGDClassifier,
    SubspaceClassifier,
)
"""Classifiers that take the largest of linear functions, given by ``coef_`` and ``intercept_``."""

SUPPORTED_CLASSIFIERS = (
    "LinearSVC, LogisticRegression, LinearDiscriminantAnalysis, RidgeClassifier, SGDClassifier, "
    "QuadraticDiscriminantAnalysis, LocalQDA, or a classifier of this package with coef_ "
    "(FisherDiscriminant and its relatives, IPCAC)"
)
"""The supported classifiers, as error messages name them."""

COORDINATE_REGIONS = ("box", "diagonal")
"""Sets that belong to single coordinates: the scores of a linear rule do not replace them."""

MAX_INCOMPLETE_RELIABILITY = 1 - EPS / 2
"""The largest number below 1: only complete rows have reliability 1."""

MIN_DEVIATION = 1e-100
"""Standard deviation of a difference of scores that is known, in place of zero."""

RADIUS_SLACK = 1e-9
"""Relative error of a squared distance that must not reject a decision that is just reliable."""

MAX_MATRIX_ENTRIES = 1 << 21
"""Entries of the matrices that are decomposed together (16 MB)."""

MAX_COEFFICIENTS = 1 << 22
"""Coefficients of discriminants that are held at once (32 MB)."""


# Discriminants -----------------------------------------------------------------------------------


def is_supported(estimator: Any) -> bool:
    """Whether a classifier takes the class of the largest linear or quadratic function (5.6)."""
    known = (*LINEAR_CLASSIFIERS, QuadraticDiscriminantAnalysis, LocalQDA)
    return isinstance(estimator, known) and not isinstance(estimator, KernelEstimator)


def extract_discriminants(estimator: Any) -> Quadratic:
    """The functions f_g of (5.6) of which a fitted classifier takes the largest.

    Parameters
    ----------
    estimator : classifier
        Fitted, with a linear or quadratic rule that is the same everywhere.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> f = extract_discriminants(LinearDiscriminantAnalysis().fit(X, y))
    >>> bool(f(np.array([[2.4]])).argmax() == 0), bool(f(np.array([[2.6]])).argmax() == 1)
    (True, True)
    """
    if isinstance(estimator, QuadraticDiscriminantAnalysis):
        return _gaussian_quadratics(estimator)
    coef = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
    intercept = np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64), len(coef))
    if len(coef) == 1:  # two classes have one score, that of the second class
        coef, intercept = np.vstack([0 * coef, coef]), np.append(0.0, intercept)
    return Quadratic(None, coef, intercept)


def _gaussian_quadratics(estimator: QuadraticDiscriminantAnalysis) -> Quadratic:
    Q, c, b = [], [], []
    parts = (estimator.means_, estimator.rotations_, estimator.scalings_, estimator.priors_)
    for mean, V, variances, prior in zip(*parts, strict=True):
        P = (V / variances) @ V.T
        Q.append(-P / 2)
        c.append(P @ mean)
        b.append(np.log(prior) - (np.log(variances).sum() + mean @ P @ mean) / 2)
    return Quadratic(np.array(Q), np.array(c), np.array(b))


def shift_discriminants(f: Quadratic, points: Array) -> Quadratic:
    """The functions f (n_classes,) as functions of the step from each point.

    Returns
    -------
    Quadratic
        Leading axes (n, n_classes). Parts that all points share have (1, n_classes): the quadratic
        part, and the slopes of linear functions.

    Examples
    --------
    >>> f = Quadratic(np.array([[[1.0]]]), np.array([[0.0]]), np.array([0.0]))
    >>> g = shift_discriminants(f, np.array([[3.0]]))
    >>> g.b, g.c
    (array([[9.]]), array([[[6.]]]))
    """
    if f.Q is None:
        return Quadratic(None, f.c[None], points @ f.c.T + f.b)
    diagonal = f.Q.ndim == f.c.ndim
    bend = points[:, None] * f.Q if diagonal else (points @ f.Q).swapaxes(0, 1)
    return Quadratic(f.Q[None], f.c + 2 * bend, np.einsum("ngr,nr->ng", f.c + bend, points) + f.b)


def take_points(f: Quadratic, rows: Array) -> Quadratic:
    """The functions of some of the points; parts that all points share stay shared."""
    Q = f.Q if f.Q is None or len(f.Q) == 1 else f.Q[rows]
    return Quadratic(Q, f.c if len(f.c) == 1 else f.c[rows], f.b[rows])


# Sets of measure τ -------------------------------------------------------------------------------


def largest_reliability(squared: Array, n_unknown: Array | int, region: str) -> Array:
    """The measure of the set that reaches to a squared distance from the mean.

    Ellipsoid (5.4): the mass of a normal vector, by the chi-squared distribution. Chebyshev (5.3):
    a lower bound of the mass for every distribution with these moments. Box (5.5): by Šidák's
    inequality at least the product of the masses of all slabs, however they are rotated: the sides
    of one box, or of several boxes that have to hold together. Ideal (5.1): the mass of a
    half-space of a normal vector, exactly.

    Parameters
    ----------
    squared : array
        Squared distances, in standard deviations.
    n_unknown : array of int or int
        Number of unknown directions, or of pairs of sides of the boxes: at least one.

    Examples
    --------
    >>> largest_reliability(np.array([1.0, 9.0]), 1, "ellipsoid").round(3)
    array([0.683, 0.997])
    >>> largest_reliability(np.array([1.0, 9.0]), 1, "chebyshev").round(3)
    array([0.   , 0.889])
    >>> largest_reliability(np.array([1.0, 9.0]), 1, "ideal").round(3)
    array([0.841, 0.999])
    """
    if region in ("ellipsoid", "diagonal"):  # (5.4)
        found = chdtr(n_unknown, squared)
    elif region == "box":  # (5.5)
        found = (2 * ndtr(np.sqrt(squared)) - 1) ** n_unknown
    elif region == "ideal":  # (5.1)
        found = ndtr(np.sqrt(squared))
    else:  # (5.3)
        with np.errstate(divide="ignore"):
            found = np.maximum(1 - n_unknown / squared, 0.0)
    return np.minimum(found, MAX_INCOMPLETE_RELIABILITY)


def squared_radius(reliability: Array | float, n_unknown: int, region: str) -> Array:
    """δ, the squared radius of the ellipsoid (5.4), Chebyshev's set (5.3) or the box (5.5).

    It is zero for τ = 0.

    Examples
    --------
    >>> squared_radius(np.array([0.0, 0.9]), 1, "chebyshev").round(6)
    array([ 0., 10.])
    """
    if region in ("ellipsoid", "diagonal"):
        return chdtri(n_unknown, 1 - reliability)
    if region == "box":
        return ndtri((1 + np.asarray(reliability) ** (1 / n_unknown)) / 2) ** 2
    with np.errstate(divide="ignore"):
        radius = np.divide(n_unknown, 1 - reliability)
    # Chebyshev's set has the radius √n for τ = 0, where nothing is asked
    return np.where(reliability > 0, radius, 0.0)


def ideal_probability(known: ConditionalMoments) -> tuple[Array, Array]:
    """The likelier of two classes by their linear scores, and its probability: rule (5.1)."""
    above = np.zeros(known.means.shape[1])
    parts = zip(known.means, known.probabilities.T, known.spreads, strict=True)
    for mean, probability, F in parts:
        gap = mean[:, 1] - mean[:, 0]
        # without spread the sign of the gap is certain, and no gap is a tie
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(gap == 0, 0.0, gap / np.linalg.norm(F[1] - F[0]))
        above += probability * ndtr(ratio)
    reliability = np.maximum(above, 1 - above)
    return (above > 0.5).astype(int), np.minimum(reliability, MAX_INCOMPLETE_RELIABILITY)


def box_distance(curvatures: Array, slopes: Array, gaps: Array) -> Array:
    """The smallest h with ``γ + Σ min_{|z| ≤ h} (λ_i z² + β_i z) ≤ 0``, where γ ≥ 0: (5.16).

    Coordinate i adds ``λ_i h² - |β_i| h``. If it is convex, it stays at its minimum from the
    vertex ``h = |β_i| / 2 λ_i`` on. Between the sorted vertices the sum is a parabola.

    Parameters
    ----------
    curvatures, slopes : array (..., k)
        λ and β.
    gaps : array (...)

    Examples
    --------
    >>> box_distance(np.array([[1.0, -1.0]]), np.array([[2.0, 0.0]]), np.array([4.0]))
    array([1.73205081])
    """
    steep = np.abs(slopes)
    convex = curvatures > 0
    vertex = np.divide(steep, 2 * curvatures, out=np.full(steep.shape, np.inf), where=convex)
    order = np.argsort(vertex, axis=-1)
    vertex = np.take_along_axis(vertex, order, axis=-1)
    lam = np.take_along_axis(np.broadcast_to(curvatures, steep.shape), order, axis=-1)
    steep = np.take_along_axis(steep, order, axis=-1)
    passed = np.isfinite(vertex)
    bottom = np.where(passed, steep * np.where(passed, vertex, 0.0) / 2, 0.0)
    zero = np.zeros((*steep.shape[:-1], 1))
    before = np.concatenate([zero, np.cumsum(bottom, axis=-1)], axis=-1)
    rest = gaps[..., None] - before
    A = np.concatenate([np.cumsum(lam[..., ::-1], axis=-1)[..., ::-1], zero], axis=-1)
    B = np.concatenate([np.cumsum(steep[..., ::-1], axis=-1)[..., ::-1], zero], axis=-1)
    h = np.where(passed, vertex, 0.0)
    above = passed & ((A[..., :-1] * h - B[..., :-1]) * h + rest[..., :-1] > 0)
    at = np.sum(np.logical_and.accumulate(above, axis=-1), axis=-1)[..., None]
    A, B, C = (np.take_along_axis(part, at, axis=-1)[..., 0] for part in (A, B, rest))
    # 2C / (B + √…) in place of (B - √…) / 2A: nothing cancels, and A may be zero
    below = np.sqrt(np.maximum(B**2 - 4 * A * C, 0.0)) + B
    with np.errstate(divide="ignore"):
        found = np.divide(2 * C, below, out=np.full(C.shape, np.inf), where=below > 0)
    return np.where(gaps > 0, np.maximum(found, 0.0), 0.0)


class ScoreTable(NamedTuple):
    """Linear scores under one normal model, with the deviations of their differences tabulated.

    Attributes
    ----------
    gains : array (d, n_classes)
        The change of the scores for each innovation.
    steepness : array (d + 1, n_classes, n_classes)
        The inverse of the standard deviation of the difference of two scores after t values; 1 for
        the difference of a score with itself.
    own : array (n_classes, n_classes)
        Infinite on the diagonal, zero elsewhere: a class is never a rival of itself.
    n_open : array (d + 1,) or None
        Coordinates that are unknown after t values, for a set that belongs to coordinates.
    """

    gains: Array
    steepness: Array
    own: Array
    n_open: Array | None = None

    @classmethod
    def tabulate(cls, model: PrefixModel) -> ScoreTable:
        """The table of a model whose functions are the scores; d n_classes² flops."""
        gains = np.ascontiguousarray(model.gains.T)
        open_gains = gains * model.varies[:, None]
        differences = (open_gains[:, :, None] - open_gains[:, None]) ** 2
        return cls._from_widths(gains, np.sqrt(sum_from_end(differences)))

    @classmethod
    def of_coordinates(cls, model: PrefixModel, slopes: Array, region: str) -> ScoreTable:
        """The table of scores with slopes (n_classes, q) in coordinates that stand alone.

        A box of one standard deviation has the width ``|β|ᵀ s`` (5.13), an ellipsoid without
        correlations ``‖s β‖``, for the difference β of two slopes: distances between slopes.
        """
        variances = sum_from_end((model.gains * model.varies).T ** 2)
        metric = "cityblock" if region == "box" else "euclidean"
        points = (np.sqrt(s) * slopes for s in variances)
        widths = np.array([cdist(at, at, metric) for at in points])
        n_open = np.maximum(np.count_nonzero(variances, axis=1), 1)
        return cls._from_widths(model.gains.T @ slopes.T, widths)._replace(n_open=n_open)

    @classmethod
    def _from_widths(cls, gains: Array, widths: Array) -> ScoreTable:
        n_classes = gains.shape[1]
        deviation = np.maximum(widths, MIN_DEVIATION)
        deviation[:, range(n_classes), range(n_classes)] = 1.0
        return cls(gains, 1 / deviation, np.where(np.eye(n_classes, dtype=bool), np.inf, 0.0))

    def distances(self, scores: Array, guess: Any, best: Any, t: int) -> Array:
        """To the nearest boundary, in standard deviations, of scores (..., n_classes).

        Proposition 2 solved for √δ: the gap of two scores over the deviation of their difference.
        """
        gaps = best - scores
        gaps += self.own[guess]
        gaps *= self.steepness[t, guess]
        return gaps.min(axis=-1)


def sum_from_end(parts: Array) -> Array:
    """Sums of the parts t, t + 1, … d - 1, for t = 0, … d: after t values those are open.

    Examples
    --------
    >>> sum_from_end(np.array([1.0, 2.0]))
    array([3., 2., 0.])
    """
    sums = np.zeros((len(parts) + 1, *parts.shape[1:]))
    sums[:-1] = np.cumsum(parts[::-1], axis=0)[::-1]
    return sums


# Distances to the boundaries ---------------------------------------------------------------------


def squared_distances_to_boundaries(
    f: Quadratic,
    known: ConditionalMoments,
    guess: Array,
    *,
    box: bool = False,
    enough: Array | float = 0.0,
    owners: Array | None = None,
) -> Array:
    """Squared distances (n,) from the mean of each row to the nearest point of another class.

    The largest set on which ``f_c - f_g ≥ 0`` for every rival g, rule (5.18).

    Parameters
    ----------
    f : Quadratic
        Functions of the step from the mean, leading axes (n, n_classes); as `shift_discriminants`
        gives them, or with a quadratic part for each row.
    known : ConditionalMoments
        Of the arguments of f, under one model.
    guess : array (n,)
        The class that wins at the mean.
    box : bool
        Distances in the maximum norm, coordinate by coordinate, in place of Euclidean ones.
    enough : float or array (n,)
        Squared distances below it need not be exact: an upper bound below it is returned.
    owners : array (n_functions,), optional
        The class of each linear function, where a class has several: functions of the same class
        are no rivals. `guess` is then a function.
    """
    if f.Q is None:
        return _linear_distances(f, known, guess, box, owners)
    enough = np.broadcast_to(enough, len(guess))
    if box or not enough.any():
        return _quadratic_distances(f, known, guess, box, enough)
    found = bound_squared_distances(f, known, guess, enough)
    left = np.flatnonzero(found >= enough)
    if len(left):
        part, alone = take_points(f, left), known.of_rows(left)
        found[left] = _quadratic_distances(part, alone, guess[left], box, enough[left])
    return found


def _gaps(f: Quadratic, guess: Array, owners: Array | None = None) -> Array:
    """``f_c - f_g`` at the mean for the guess c; infinite for functions of its own class."""
    owners = np.arange(f.b.shape[1]) if owners is None else owners
    gaps = np.take_along_axis(f.b, guess[:, None], axis=1) - f.b
    gaps[owners[guess][:, None] == owners] = np.inf
    return gaps


def _slopes(f: Quadratic, guess: Array) -> Array:
    return f.c[np.arange(len(guess)), guess][:, None] - f.c


def _linear_distances(
    f: Quadratic, known: ConditionalMoments, guess: Array, box: bool, owners: Array | None = None
) -> Array:
    """Proposition 2 and (5.13), solved for the size of the set at which the minimum is zero."""
    # ‖Fᵀβ‖ of proposition 2, or |β|ᵀ s of (5.13) for a box of one standard deviation, of the
    # differences β of slopes: distances between slopes
    if box:
        points, metric = f.c[0] * np.sqrt(known.variances[0]), "cityblock"
    else:
        points, metric = f.c[0] @ known.spread, "euclidean"
    winners, at = np.unique(guess, return_inverse=True)
    widths = cdist(points[winners], points, metric)[at]
    return np.min(_ratio(_gaps(f, guess, owners), widths), axis=1) ** 2


def _ratio(gaps: Array, widths: Array) -> Array:
    """Quotients; infinite where nothing varies, zero where there is no gap."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gaps > 0, gaps / widths, 0.0)


def _quadratic_distances(
    f: Quadratic, known: ConditionalMoments, guess: Array, box: bool, enough: Array
) -> Array:
    assert f.Q is not None, "linear functions have a shorter way"
    is_open, diagonal = known.is_open, f.Q.ndim == 3
    Q = f.Q[..., is_open] if diagonal else f.Q[..., is_open, :][..., is_open]
    F, slopes, gaps = known.spread[is_open], _slopes(f, guess)[:, :, is_open], _gaps(f, guess)
    distances = _box_distances if box else _ellipsoid_distances
    classes, found = np.arange(gaps.shape[1]), np.full(len(guess), np.inf)
    if len(Q) == 1:  # one decomposition for each pair of classes
        for c in np.unique(guess):
            at = np.ix_(guess == c, classes != c)
            bend, least = Q[0, c] - Q[0, classes != c], enough[guess == c]
            to_all = distances(bend, F, slopes[at].swapaxes(0, 1), gaps[at].T, diagonal, least)
            found[guess == c] = to_all.min(axis=0)
        return found
    order = np.argsort(gaps, axis=1, kind="stable")
    for part in gen_batches(len(guess), max(1, MAX_MATRIX_ENTRIES // max(*F.shape, 1) ** 2)):
        left = np.arange(len(guess))[part]
        for rival in order.T[:-1]:  # the nearest first: most rows need no other
            c, g, least = guess[left], rival[left], enough[left][:, None]
            bend = Q[left, c] - Q[left, g]
            slope, gap = slopes[left, g][:, None], gaps[left, g][:, None]
            to_g = distances(bend, F, slope, gap, diagonal, least)
            found[left] = np.minimum(found[left], to_g[:, 0])
            left = left[found[left] >= enough[left]]
    return found


def _ellipsoid_distances(
    bend: Array, F: Array, slopes: Array, gaps: Array, diagonal: bool, enough: Array
) -> Array:
    """Squared lengths of the shortest z at which quadratics of ``F z`` change their sign.

    The exact solution of the thesis' minimum of (5.14) over an ellipsoid: in the eigenvectors of
    ``Fᵀ Q F`` it is the root of one monotone function, also where the quadratic is indefinite.

    Parameters
    ----------
    bend : array (p, r) or (p, r, r)
        Quadratic parts, as diagonals or matrices.
    F : array (r, k)
    slopes, gaps : array (p, m, r), (p, m)
        Linear and constant parts of m functions with each quadratic part.
    enough : array, along with `gaps`
        Squared lengths below it need not be exact.
    """
    if not bend.any():  # classes of one neighbour each share the quadratic part: proposition 2
        return _ratio(gaps, np.linalg.norm(slopes @ F, axis=-1)) ** 2
    M = F.T @ (bend[..., None] * F) if diagonal else F.T @ bend @ F
    evals, V = np.linalg.eigh(M)
    return boundary_distance(evals[:, None], slopes @ (F @ V), gaps)


def _box_distances(
    bend: Array, F: Array, slopes: Array, gaps: Array, diagonal: bool, enough: Array
) -> Array:
    """The same in the maximum norm: (5.16), a box along the eigenvectors of the quadratic."""
    if not diagonal:  # eigenvectors in place of V^½ of the thesis, which an indefinite V lacks
        bend, V = np.linalg.eigh(bend)
        F, slopes = V.swapaxes(-1, -2) @ F, slopes @ V
    deviations = np.sqrt(np.sum(F**2, axis=-1))
    variances = np.broadcast_to(deviations**2, bend.shape)
    curvatures = np.broadcast_to((bend * variances)[:, None], slopes.shape)
    steep = np.abs(slopes * deviations[..., None, :])
    found = np.broadcast_to(enough, gaps.shape) * (1 - RADIUS_SLACK)  # a little below is enough
    far = box_minimum(curvatures, steep, gaps, np.sqrt(enough)) >= 0
    found[far] = box_distance(curvatures[far], steep[far], gaps[far]) ** 2
    return found


def box_minimum(curvatures: Array, steep: Array, gaps: Array, size: Array) -> Array:
    """The minimum of ``γ + Σ (λ_i z² - |β_i| z)`` over ``0 ≤ z_i ≤ h``, as in `box_distance`.

    Examples
    --------
    >>> curved, steep = np.array([[1.0, -1.0]]), np.array([[2.0, 0.0]])
    >>> box_minimum(curved, steep, np.array([4.0]), np.array(2.0))
    array([-1.])
    """
    h = np.asarray(size)[..., None]
    inside = steep < 2 * curvatures * h  # the vertex of a convex coordinate lies in the box
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(inside, -(steep**2) / (4 * curvatures), (curvatures * h - steep) * h)
    return gaps + parts.sum(axis=-1)


# Upper bounds of distances -----------------------------------------------------------------------


def bound_squared_distances(
    f: Quadratic, known: ConditionalMoments, guess: Array, enough: Array | float
) -> Array:
    """Upper bounds of the squared distances to the boundaries, along the steepest descent.

    Along the steepest descent of ``f_c - f_g`` in the metric of the covariance the boundary is
    seldom much farther than its nearest point, and one product with the covariance finds it. The
    classes g are tried in the order of their gaps until the bound is below `enough`.

    Parameters
    ----------
    f, known, guess, enough
        As in `squared_distances_to_boundaries`; f has a quadratic part.
    """
    gaps = _gaps(f, guess)
    enough = np.broadcast_to(enough, len(guess))
    order = np.argsort(gaps, axis=1, kind="stable")
    found = np.full(len(guess), np.inf)
    left = np.arange(len(guess))
    for rival in order.T[: gaps.shape[1] - 1]:
        c, g = guess[left], rival[left]
        slopes, gap = f.c[left, c] - f.c[left, g], gaps[left, g]
        P = known.of_rows(left).covariance_times(slopes)
        variance = np.einsum("nr,nr->n", slopes, P)
        bend = _difference_along(f.Q, left, c, g, P)
        with np.errstate(divide="ignore", invalid="ignore"):
            # the smaller root of the parabola along the descent; NaN where it never meets zero
            root = variance + np.sqrt(variance**2 - 4 * bend * gap)
            steps = np.where(root > 0, 4 * variance * (gap / root) ** 2, np.inf)
        found[left] = np.minimum(found[left], steps)
        left = left[found[left] >= enough[left]]
    return found


def _difference_along(Q: Array | None, rows: Array, c: Array, g: Array, P: Array) -> Array:
    """``pᵀ (Q_c - Q_g) p`` for each row p of P."""
    assert Q is not None, "linear functions need no bound"
    if Q.ndim == 3:
        at = rows if len(Q) > 1 else 0
        return np.einsum("nr,nr->n", (Q[at, c] - Q[at, g]) * P, P)
    if len(Q) > 1:
        bend = Q[rows, c] - Q[rows, g]
        return np.einsum("nr,nr->n", (bend @ P[..., None])[..., 0], P)
    found = np.empty(len(P))
    for a, b in np.unique(np.stack([c, g]), axis=1).T:
        same = (c == a) & (g == b)
        found[same] = np.einsum("nr,nr->n", P[same] @ (Q[0, a] - Q[0, b]), P[same])
    return found


# The rule ----------------------------------------------------------------------------------------


class _Vote(NamedTuple):
    """The functions that win at the means of one model, for rows it may belong to."""

    model: int
    rows: Array
    functions: Quadratic
    winners: Array


class IncompleteDecisionRule(NamedTuple):
    """Rule (5.2): guess the class of incomplete rows, and state how reliable the guess is.

    Attributes
    ----------
    conditional : ConditionalModel
        Of the arguments of the discriminants.
    discriminants : Quadratic or LocalQDA
        The functions f_g of (5.6), or the classifier that gives them around each row.
    directions : array (d, q) or None
        Weights of the features in the coordinates of the classifier; None for the features.
    region : "ellipsoid", "diagonal", "box", "chebyshev" or "ideal"
    n_classes : int
    prefix_models : list of PrefixModel
        The models with the features in the order of the columns.
    n_unknown : array of int (d + 1,)
        Unknown directions after each number of leading values.
    score_table : ScoreTable or None
        For linear scores of one model, unless the region belongs to coordinates.
    owners : array (n_functions,) or None
        The class that each function speaks for, where there are more functions than classes.
    score_tables : list of ScoreTable or None
        For linear functions of coordinates, or of several models: one for each model.
    """

    conditional: ConditionalModel
    discriminants: Quadratic | LocalQDA
    directions: Array | None
    region: str
    n_classes: int
    prefix_models: list[PrefixModel]
    n_unknown: Array
    score_table: ScoreTable | None
    owners: Array | None = None
    score_tables: list[ScoreTable] | None = None

    @property
    def n_features(self) -> int:
        """Number of features of a complete row."""
        return len(self.conditional.units.mean)

    def condition(self, rows: Array, observed: Array) -> ConditionalMoments:
        """Moments given the observed features (d,) of rows (n, d)."""
        t = int(observed.sum())
        if observed[:t].all():  # a prefix, whose factor is at hand
            Z = self.conditional.units.apply(rows[:, :t])
            return self.conditional.condition_on_prefix(self.prefix_models, Z)
        return self.conditional.condition(rows, observed)

    def count_unknown(self, missing: Array) -> int:
        """Unknown directions while some features (d,) are missing; a set has at least one."""
        return count_open_directions(self.conditional, self.directions, missing)

    def guess(
        self, known: ConditionalMoments, n_unknown: int, least: float = 0.0
    ) -> tuple[Array, Array]:
        """The guess for each row and its reliability, both (n,).

        Reliabilities of at least `least` are exact; of the others only this is certain, that they
        are smaller.
        """
        if self.region == "ideal":
            return ideal_probability(known)
        n_rows = len(known.probabilities)
        guess, reliability = np.empty(n_rows, dtype=int), np.empty(n_rows)
        for part in gen_batches(n_rows, self._max_rows()):
            guess[part], reliability[part] = self._guess(known.of_rows(part), n_unknown, least)
        return guess, reliability

    def guess_after(self, t: int, state: PrefixState, least: float = 0.0) -> tuple[Array, Array]:
        """`guess` after t values of series."""
        n_unknown = int(self.n_unknown[t])
        if self.score_tables is not None:
            return self._guess_by_tables(self.score_tables, state, t)
        if self.score_table is None:
            return self.guess(state.moments(self.prefix_models, t), n_unknown, least)
        scores = state.means[0]
        guess = scores.argmax(axis=1)
        distances = self.score_table.distances(scores, guess, scores.max(axis=1)[:, None], t)
        return guess, largest_reliability(distances**2, n_unknown, self.region)

    def _guess_by_tables(
        self, tables: list[ScoreTable], state: PrefixState, t: int
    ) -> tuple[Array, Array]:
        """`guess` of linear functions after t values, without a set for each row."""
        f = self.discriminants
        assert isinstance(f, Quadratic), "local functions have no table"
        scores, probabilities = state.means @ f.c.T + f.b, state.probabilities
        rows = np.arange(scores.shape[1])
        backing = np.zeros(scores.shape[1:])
        for winners, share in zip(scores.argmax(axis=2), probabilities.T, strict=True):
            backing[rows, winners] += share
        guess, reliability = backing.argmax(axis=1), np.zeros(len(rows))
        for table, at, share in zip(tables, scores, probabilities.T, strict=True):
            # negative where another class wins at the mean of this model, whose mass is 0 then
            distances = np.maximum(table.distances(at, guess, at[rows, guess][:, None], t), 0.0)
            n_unknown = int((self.n_unknown if table.n_open is None else table.n_open)[t])
            reliability += share * largest_reliability(distances**2, n_unknown, self.region)
        return guess, np.minimum(reliability, MAX_INCOMPLETE_RELIABILITY)

    def _max_rows(self) -> int:
        """Rows whose discriminants are small enough to be held at once."""
        r = len(self.prefix_models[0].gains)
        full = (
            isinstance(self.discriminants, LocalQDA) and self.discriminants.covariance_ == "full"
        )
        entries = self.n_classes * len(self.prefix_models) * r * (r if full else 1)
        return max(1, MAX_COEFFICIENTS // entries)

    def _guess(
        self, known: ConditionalMoments, n_unknown: int, least: float
    ) -> tuple[Array, Array]:
        """The class of the most probable models, and ``Σ s_k a_k`` over the models that agree."""
        votes = self._votes(known)
        backing = np.zeros((len(known.probabilities), self.n_classes))
        for vote in votes:
            share = known.probabilities[vote.rows, vote.model]
            backing[vote.rows, self._classes_of(vote.winners)] += share
        guess, reliability = backing.argmax(axis=1), np.zeros(len(backing))
        # the mass that is missing so far: no a_k is more than 1, and of the other models it is 0
        missing, spare = 1 - backing.max(axis=1), 1 - least + RADIUS_SLACK
        likeliest = known.probabilities.argmax(axis=1)
        for first in (True, False):  # the likeliest model settles most rows
            for vote in votes:
                alike = self._classes_of(vote.winners) == guess[vote.rows]
                turn = (likeliest[vote.rows] == vote.model) == first
                agrees = np.flatnonzero(alike & turn & (missing[vote.rows] <= spare))
                if len(agrees):
                    rows, alone = vote.rows[agrees], known.of_model(vote.model)
                    share = known.probabilities[rows, vote.model]
                    needed = 1 - np.minimum((spare - missing[rows]) / share, 1.0)
                    f, winners = take_points(vote.functions, agrees), vote.winners[agrees]
                    mass = self._mass(f, alone.of_rows(rows), winners, n_unknown, needed)
                    reliability[rows] += share * mass
                    missing[rows] += share * (1 - mass)
        return guess, np.minimum(reliability, MAX_INCOMPLETE_RELIABILITY)

    def _classes_of(self, functions: Array) -> Array:
        """The numbers of the classes that functions speak for."""
        return functions if self.owners is None else self.owners[functions]

    def _votes(self, known: ConditionalMoments) -> list[_Vote]:
        """Guesses c = argmax f_g(m) of section 5.3.4, for each model that is possible at all."""
        votes = []
        for i, probability in enumerate(known.probabilities.T):
            rows = np.flatnonzero(probability > EPS)
            if len(rows):
                f = self._discriminants_at(known.means[i, rows])
                votes.append(_Vote(i, rows, f, f.b.argmax(axis=1)))
        return votes

    def _discriminants_at(self, means: Array) -> Quadratic:
        if isinstance(self.discriminants, LocalQDA):
            # the neighbours of the mean, section 5.3: they need not be those of the complete row
            return self.discriminants.discriminants(means, about=means)
        return shift_discriminants(self.discriminants, means)

    def _mass(
        self,
        f: Quadratic,
        known: ConditionalMoments,
        winners: Array,
        n_unknown: int,
        needed: Array,
    ) -> Array:
        """a_k: the measure of the largest set about the mean of one model where the guess wins."""
        box = self.region == "box"
        if self.region == "diagonal":
            known = known.without_correlations()
        if self.region in COORDINATE_REGIONS:
            # one box for all rivals, or one along the eigenvectors of each
            rotated = box and f.Q is not None and f.Q.ndim == 4
            n_boxes = self.n_classes - 1 if rotated else 1
            n_unknown = max(int(np.count_nonzero(known.is_open)), 1) * n_boxes
        enough = (1 - RADIUS_SLACK) * squared_radius(needed, n_unknown, self.region)
        squared = squared_distances_to_boundaries(
            f, known, winners, box=box, enough=enough, owners=self.owners
        )
        return largest_reliability(squared, n_unknown, self.region)


def build_rule(
    conditional: ConditionalModel,
    discriminants: Quadratic | LocalQDA,
    directions: Array | None,
    region: str,
    n_classes: int,
    owners: Array | None = None,
) -> IncompleteDecisionRule:
    """The rule with its models in the order of the columns, and with its tables."""
    models = conditional.prefix_models()
    of_coordinates = region in COORDINATE_REGIONS
    table, tables = None, None
    if isinstance(discriminants, Quadratic) and discriminants.Q is None and owners is None:
        if of_coordinates:
            tables = [ScoreTable.of_coordinates(m, discriminants.c, region) for m in models]
        elif len(models) == 1:
            table = ScoreTable.tabulate(models[0])
        elif region != "ideal":
            tables = [ScoreTable.tabulate(model) for model in models]
    return IncompleteDecisionRule(
        conditional,
        discriminants,
        directions,
        region,
        n_classes,
        models,
        count_after_prefixes(conditional, directions),
        table,
        owners,
        tables,
    )


def count_open_directions(
    conditional: ConditionalModel, directions: Array | None, missing: Array
) -> int:
    """Unknown directions of the coordinates ``directionsᵀ x`` while features are missing."""
    units = conditional.units
    scaled = None if directions is None else units.scale[:, None] * directions
    return max(count_unknown_directions(scaled, missing & units.varies), 1)


def count_after_prefixes(conditional: ConditionalModel, directions: Array | None) -> Array:
    """Unknown directions after 0, 1, … d leading values."""
    d = len(conditional.units.mean)
    most = count_open_directions(conditional, directions, np.ones(d, dtype=bool))
    counts = np.full(d + 1, most)
    for t in range(d, -1, -1):
        counts[t] = count_open_directions(conditional, directions, np.arange(d) >= t)
        if counts[t] == most:  # shorter prefixes leave no more open
            break
    return counts
