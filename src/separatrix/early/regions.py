"""The sets of measure τ of Parrish's thesis, sections 5.2 and 5.3, and their contents.

Given the observed features, the row is ``m + F z`` with z of mean zero and covariance I. The class
c that wins at m stands on every z in a set of measure τ when no other class wins anywhere in the
set (5.2). All sets here grow with τ about z = 0, so that the decision stands up to the τ at which
the set first touches a boundary ``f_c - f_g = 0``: one distance answers for all τ.

This is the literal computation, without shortcuts. Equation numbers are those of the thesis, see
`conditional`.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import chdtr, ndtr

from separatrix.decision.quadratic import Quadratic
from separatrix.early.conditional import ConditionalMoments
from separatrix.linalg import EPS, Array, boundary_distance

COORDINATE_REGIONS = ("box", "diagonal")
"""Sets that belong to single coordinates: the scores of a linear rule do not replace them."""

MAX_INCOMPLETE_RELIABILITY = 1 - EPS / 2
"""The largest number below 1: only complete rows have reliability 1."""


def measure_of_set(
    f: Quadratic,
    known: ConditionalMoments,
    guess: Array,
    n_unknown: int,
    region: str,
    owners: Array | None = None,
) -> Array:
    """The measure (n,) of the largest set about the mean of each row on which its guess wins.

    Parameters
    ----------
    f : Quadratic
        Functions of the step from the mean, leading axes (n, n_classes); as `shift_discriminants`
        gives them, or with a quadratic part for each row.
    known : ConditionalMoments
        Of the arguments of f, under one model.
    guess : array (n,)
        The function that wins at the mean.
    n_unknown : int
        Number of unknown directions, for a set that does not belong to coordinates.
    region : "ellipsoid", "box", "chebyshev" or "diagonal"
    owners : array (n_functions,), optional
        The class of each linear function, where a class has several: functions of the same class
        are no rivals.
    """
    box = region == "box"
    if region == "diagonal":
        known = known.without_correlations()
    if region in COORDINATE_REGIONS:
        # one box for all rivals, or one along the eigenvectors of each
        n_boxes = f.b.shape[1] - 1 if box and f.Q is not None and f.Q.ndim == 4 else 1
        n_unknown = max(int(np.count_nonzero(known.is_open)), 1) * n_boxes
    squared = squared_distances_to_boundaries(f, known, guess, box=box, owners=owners)
    return largest_reliability(squared, n_unknown, region)


def largest_reliability(squared: Array, n_unknown: Array | int, region: str) -> Array:
    """The measure of the set that reaches to a squared distance from the mean.

    Ellipsoid (5.4): the mass of a normal vector, by the chi-squared distribution. Chebyshev (5.3):
    a lower bound of the mass for every distribution with these moments. Box (5.5): by Šidák's
    inequality at least the product of the masses of all slabs, however they are rotated: the sides
    of one box, or of several boxes that have to hold together.

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
    """
    if region in ("ellipsoid", "diagonal"):  # (5.4)
        measure = chdtr(n_unknown, squared)
    elif region == "box":  # (5.5)
        measure = (2 * ndtr(np.sqrt(squared)) - 1) ** n_unknown
    else:  # (5.3)
        with np.errstate(divide="ignore"):
            measure = np.maximum(1 - n_unknown / squared, 0.0)
    return np.minimum(measure, MAX_INCOMPLETE_RELIABILITY)


def squared_distances_to_boundaries(
    f: Quadratic,
    known: ConditionalMoments,
    guess: Array,
    *,
    box: bool = False,
    owners: Array | None = None,
) -> Array:
    """Squared distances (n,) from the mean of each row to the nearest point of another class.

    The largest set on which ``f_c - f_g ≥ 0`` for every rival g, rule (5.18): in the maximum norm
    for a `box`, else in the Euclidean one. Parameters are those of `measure_of_set`.
    """
    if f.Q is None:
        return _linear_distances(f, known, guess, box, owners)
    is_open, diagonal = known.is_open, f.Q.ndim == 3
    Q = f.Q[..., is_open] if diagonal else f.Q[..., is_open, :][..., is_open]
    F, slopes = known.spread[is_open], slopes_to_rivals(f, guess)[:, :, is_open]
    gaps, nearest = gaps_to_rivals(f, guess), np.full(len(guess), np.inf)
    distances = _box_distances if box else _ellipsoid_distances
    for c in np.unique(guess):
        rows = np.flatnonzero(guess == c)
        for g in range(gaps.shape[1]):
            if g == c:
                continue
            if len(Q) == 1:  # all rows share the quadratic part
                to_g = distances(Q[0, c] - Q[0, g], F, slopes[rows, g], gaps[rows, g], diagonal)
            else:
                bend = Q[rows, c] - Q[rows, g]
                slope, gap = slopes[rows, g][:, None], gaps[rows, g][:, None]
                to_g = distances(bend, F, slope, gap, diagonal)[:, 0]
            nearest[rows] = np.minimum(nearest[rows], to_g)
    return nearest


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


def _ellipsoid_distances(
    bend: Array, F: Array, slopes: Array, gaps: Array, diagonal: bool
) -> Array:
    """Squared lengths of the shortest z at which quadratics of ``F z`` change their sign.

    The exact solution of the thesis' minimum of (5.14) over an ellipsoid: in the eigenvectors of
    ``Fᵀ Q F`` it is the root of one monotone function, also where the quadratic is indefinite.

    Parameters
    ----------
    bend : array (..., r) or (..., r, r)
        Quadratic parts, as diagonals or matrices.
    F : array (r, k)
    slopes, gaps : array (..., m, r), (..., m)
        Linear and constant parts of m functions with each quadratic part.
    """
    if not bend.any():  # classes of one neighbour each share the quadratic part: proposition 2
        return _ratio(gaps, np.linalg.norm(slopes @ F, axis=-1)) ** 2
    M = F.T @ (bend[..., None] * F) if diagonal else F.T @ bend @ F
    evals, V = np.linalg.eigh(M)
    return boundary_distance(evals[..., None, :], slopes @ F @ V, gaps)


def _box_distances(bend: Array, F: Array, slopes: Array, gaps: Array, diagonal: bool) -> Array:
    """The same in the maximum norm: (5.16), a box along the eigenvectors of the quadratic."""
    if not diagonal:  # eigenvectors in place of V^½ of the thesis, which an indefinite V lacks
        bend, V = np.linalg.eigh(bend)
        F, slopes = V.swapaxes(-1, -2) @ F, slopes @ V
    deviations = np.sqrt(np.sum(F**2, axis=-1))
    curvatures = np.broadcast_to((bend * deviations**2)[..., None, :], slopes.shape)
    return box_distance(curvatures, slopes * deviations[..., None, :], gaps) ** 2


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
        size = np.divide(2 * C, below, out=np.full(C.shape, np.inf), where=below > 0)
    return np.where(gaps > 0, np.maximum(size, 0.0), 0.0)


def _ratio(gaps: Array, widths: Array) -> Array:
    """Quotients; infinite where nothing varies, zero where there is no gap."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gaps > 0, gaps / widths, 0.0)


def gaps_to_rivals(f: Quadratic, guess: Array, owners: Array | None = None) -> Array:
    """``f_c - f_g`` at the mean for the guess c; infinite for functions of its own class."""
    owners = np.arange(f.b.shape[1]) if owners is None else owners
    gaps = np.take_along_axis(f.b, guess[:, None], axis=1) - f.b
    gaps[owners[guess][:, None] == owners] = np.inf
    return gaps


def slopes_to_rivals(f: Quadratic, guess: Array) -> Array:
    """The slopes of ``f_c - f_g`` at the mean for the guess c."""
    return f.c[np.arange(len(guess)), guess][:, None] - f.c


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
