"""Whether a guess stands on a set of stated probability: sections 5.2 and 5.3 of the thesis.

Given the observed features, the row is ``m + F z`` with z of mean zero and covariance I. The class
c that wins at m stands on every z in a set of measure τ when no other class wins anywhere in the
set (5.2). All sets here grow with τ about z = 0, so that the decision stands up to the τ at which
the set first touches a boundary ``f_c - f_g = 0``: one distance answers for all τ.

Equation numbers are those of Parrish's thesis, see `conditional`.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import chdtr, chdtri, ndtr, ndtri
from sklearn.utils import gen_batches

from separatrix.decision.quadratic import Quadratic
from separatrix.early.conditional import ConditionalMoments
from separatrix.linalg import EPS, Array, boundary_distance

COORDINATE_REGIONS = ("box", "diagonal")
"""Sets that belong to single coordinates: the scores of a linear rule do not replace them."""

MAX_INCOMPLETE_RELIABILITY = 1 - EPS / 2
"""The largest number below 1: only complete rows have reliability 1."""

RADIUS_SLACK = 1e-9
"""Relative error of a squared distance that must not reject a decision that is just reliable."""

MAX_MATRIX_ENTRIES = 1 << 21
"""Entries of the matrices that are decomposed together (16 MB)."""


# Discriminants -----------------------------------------------------------------------------------


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
    # in one piece of memory, function after function: passes over it cost more than the products
    slopes = points * f.Q[:, None] if f.Q.ndim == f.c.ndim else points @ f.Q
    slopes *= 2
    slopes += f.c[:, None]
    values = (np.einsum("gnr,nr->ng", slopes, points) + points @ f.c.T) / 2 + f.b
    return Quadratic(f.Q[None], slopes.swapaxes(0, 1), values)


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
    # a box along coordinates costs less than the bound
    if not enough.any() or (box and f.Q.ndim == 3):
        return _quadratic_distances(f, known, guess, box, enough)
    # an ellipsoid lies in the box that it touches, so that its bound is one of the box, too
    found = bound_squared_distances(f, known, guess, enough)
    left = np.flatnonzero(found >= enough)
    if len(left):
        part, alone = take_points(f, left), known.of_rows(left)
        found[left] = _quadratic_distances(part, alone, guess[left], box, enough[left])
    return found


def gaps_to_rivals(f: Quadratic, guess: Array, owners: Array | None = None) -> Array:
    """``f_c - f_g`` at the mean for the guess c; infinite for functions of its own class."""
    owners = np.arange(f.b.shape[1]) if owners is None else owners
    gaps = np.take_along_axis(f.b, guess[:, None], axis=1) - f.b
    gaps[owners[guess][:, None] == owners] = np.inf
    return gaps


def slopes_to_rivals(f: Quadratic, guess: Array) -> Array:
    """The slopes of ``f_c - f_g`` at the mean for the guess c."""
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
    return np.min(_ratio(gaps_to_rivals(f, guess, owners), widths), axis=1) ** 2


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
    F, slopes, gaps = (
        known.spread[is_open],
        slopes_to_rivals(f, guess)[:, :, is_open],
        gaps_to_rivals(f, guess),
    )
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
    return distances_in_sphere(M, slopes @ F, gaps)


def distances_in_sphere(M: Array, slopes: Array, gaps: Array) -> Array:
    """Squared lengths (p, m) of the shortest z at which ``γ + β·z + zᵀ M z`` changes its sign.

    Parameters
    ----------
    M : array (p, k, k)
        Symmetric.
    slopes, gaps : array (p, m, k), (p, m)
        β and γ of m functions with each quadratic part.
    """
    evals, V = np.linalg.eigh(M)
    return boundary_distance(evals[:, None], slopes @ V, gaps)


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
    gaps = gaps_to_rivals(f, guess)
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
