"""How far a decision is from changing: sets of stated probability, and boundaries that meet them.

Given what is observed, the row is ``m + F z`` with z of mean zero and variance I. The class c that
wins at m stands on every z in a set of measure τ when no other class wins anywhere in the set.
All sets here grow with τ about z = 0, so that the decision stands up to the τ at which the set
first touches a boundary ``f_c - f_g = 0``: one distance answers for all τ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import chdtr, chdtri, ndtr
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.svm import LinearSVC
from sklearn.utils import gen_batches

from separatrix.decision.classifiers import GaussianClassifierMixin
from separatrix.decision.local_qda import LocalQDA
from separatrix.decision.rules import Quadratic
from separatrix.early.conditional import Knowledge, View
from separatrix.linalg import EPS, Array, boundary_distance

LINEAR = (
    LinearSVC,
    LogisticRegression,
    LinearDiscriminantAnalysis,
    RidgeClassifier,
    SGDClassifier,
    GaussianClassifierMixin,
)
SUPPORTED = (
    "LinearSVC, LogisticRegression, LinearDiscriminantAnalysis, RidgeClassifier, SGDClassifier, "
    "QuadraticDiscriminantAnalysis, LocalQDA, or a classifier of this package with coef_ "
    "(FisherDiscriminant and its relatives, IPCAC)"
)

NO_DEVIATION = 1e-100
"""Stands for the standard deviation of what is known, which has none."""

MATRICES_AT_ONCE = 1 << 21
"""Entries of the matrices that are decomposed together (16 MB)."""


# Discriminants ---------------------------------------------------------------------------------


def is_supported(estimator: Any) -> bool:
    """Whether a classifier takes the class of the largest linear or quadratic function."""
    return isinstance(estimator, (*LINEAR, QuadraticDiscriminantAnalysis, LocalQDA))


def discriminants_of(estimator: Any) -> Quadratic:
    """The functions of which a fitted classifier takes the largest, one for each class.

    Parameters
    ----------
    estimator : classifier
        Fitted, with a linear or quadratic rule that is the same everywhere.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> f = discriminants_of(LinearDiscriminantAnalysis().fit(X, y))
    >>> bool(f(np.array([[2.4]])).argmax() == 0), bool(f(np.array([[2.6]])).argmax() == 1)
    (True, True)
    """
    if isinstance(estimator, QuadraticDiscriminantAnalysis):
        return _gaussian_quadratics(estimator)
    coef = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
    intercept = np.broadcast_to(np.asarray(estimator.intercept_, dtype=np.float64), len(coef))
    if len(coef) == 1:  # the score of the second class alone
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


def about(f: Quadratic, points: Array) -> Quadratic:
    """The functions f (n_classes,) as functions of the step from each point.

    Returns
    -------
    Quadratic
        Leading axes (n, n_classes); what is common to all points has (1, n_classes): the quadratic
        part, and the slopes of linear functions.

    Examples
    --------
    >>> f = Quadratic(np.array([[[1.0]]]), np.array([[0.0]]), np.array([0.0]))
    >>> g = about(f, np.array([[3.0]]))
    >>> g.b, g.c
    (array([[9.]]), array([[[6.]]]))
    """
    if f.Q is None:
        return Quadratic(None, f.c[None], points @ f.c.T + f.b)
    bend = (points @ f.Q).swapaxes(0, 1)
    return Quadratic(f.Q[None], f.c + 2 * bend, np.einsum("ngr,nr->ng", f.c + bend, points) + f.b)


def some_of(f: Quadratic, rows: Array) -> Quadratic:
    """The functions about some of the points: what is common to all points stays common."""
    Q = f.Q if f.Q is None or len(f.Q) == 1 else f.Q[rows]
    return Quadratic(Q, f.c if len(f.c) == 1 else f.c[rows], f.b[rows])


# Sets of measure τ -----------------------------------------------------------------------------


def largest_reliability(squared: Array, n_unknown: Array | int, region: str) -> Array:
    """The measure of the set that reaches to a squared distance from the mean.

    Ellipsoid: the mass of a normal vector, by the chi-squared distribution. Chebyshev: a lower
    bound of the mass whatever the distribution. Box: by Šidák's inequality at least the product of
    the masses of all slabs, however they are turned: the sides of one box, or of several boxes
    that have to hold together. Ideal: the mass of a half-space of a normal vector, exactly.

    Parameters
    ----------
    squared : array
        Squared distances, in standard deviations.
    n_unknown : array of int or int
        Directions, or pairs of sides of the boxes, that are unknown: at least one.

    Examples
    --------
    >>> largest_reliability(np.array([1.0, 9.0]), 1, "ellipsoid").round(3)
    array([0.683, 0.997])
    >>> largest_reliability(np.array([1.0, 9.0]), 1, "chebyshev").round(3)
    array([0.   , 0.889])
    >>> largest_reliability(np.array([1.0, 9.0]), 1, "ideal").round(3)
    array([0.841, 0.999])
    """
    if region == "ellipsoid":
        found = chdtr(n_unknown, squared)
    elif region == "box":
        found = (2 * ndtr(np.sqrt(squared)) - 1) ** n_unknown
    elif region == "ideal":
        found = ndtr(np.sqrt(squared))
    else:
        with np.errstate(divide="ignore"):
            found = np.maximum(1 - n_unknown / squared, 0.0)
    return np.minimum(found, 1 - EPS / 2)  # certain is what is complete


def squared_reach(reliability: Array | float, n_unknown: int, region: str) -> Array:
    """The squared radii of sets of measure τ, ellipsoids or Chebyshev's; zero for τ = 0.

    Examples
    --------
    >>> squared_reach(np.array([0.0, 0.9]), 1, "chebyshev").round(6)
    array([ 0., 10.])
    """
    if region == "ellipsoid":
        return chdtri(n_unknown, 1 - reliability)
    with np.errstate(divide="ignore"):
        reach = np.divide(n_unknown, 1 - reliability)
    return np.where(reliability > 0, reach, 0.0)


def box_distance(curvatures: Array, slopes: Array, gaps: Array) -> Array:
    """The smallest h with ``γ + Σ min_{|z| ≤ h} (λ_i z² + β_i z) ≤ 0``, where γ ≥ 0.

    Coordinate i adds ``λ_i h² - |β_i| h`` until h passes its vertex ``|β_i| / 2 λ_i``, if it is
    convex, and stays there. Between the sorted vertices the sum is a parabola.

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
    below = np.sqrt(np.maximum(B**2 - 4 * A * C, 0.0)) + B
    with np.errstate(divide="ignore"):
        found = np.divide(2 * C, below, out=np.full(C.shape, np.inf), where=below > 0)
    return np.where(gaps > 0, np.maximum(found, 0.0), 0.0)


class ScoreTable(NamedTuple):
    """Linear scores of one normal model: what each value adds, how far apart they stay open.

    Attributes
    ----------
    gains : array (d, n_classes)
        What each innovation adds to the scores.
    steepness : array (d + 1, n_classes, n_classes)
        The inverse of the standard deviation of the difference of two scores after so many values;
        1 for the difference of a score with itself.
    own : array (n_classes, n_classes)
        Infinite on the diagonal, zero elsewhere: a class is never a rival of itself.
    """

    gains: Array
    steepness: Array
    own: Array

    @classmethod
    def of(cls, view: View) -> ScoreTable:
        """From a view whose functions are the scores; d n_classes² flops."""
        gains = np.ascontiguousarray(view.gains.T)
        open_ = gains * view.varies[:, None]
        apart = (open_[:, :, None] - open_[:, None]) ** 2
        n_classes = gains.shape[1]
        variance = np.zeros((len(gains) + 1, n_classes, n_classes))
        variance[:-1] = np.cumsum(apart[::-1], axis=0)[::-1]
        deviation = np.maximum(np.sqrt(variance), NO_DEVIATION)
        deviation[:, range(n_classes), range(n_classes)] = 1.0
        return cls(gains, 1 / deviation, np.where(np.eye(n_classes, dtype=bool), np.inf, 0.0))

    def distances(self, scores: Array, guess: Any, best: Any, t: int) -> Array:
        """To the nearest boundary, in standard deviations, of scores (..., n_classes)."""
        gaps = best - scores
        gaps += self.own[guess]
        gaps *= self.steepness[t, guess]
        return gaps.min(axis=-1)


# Distances to the boundaries -------------------------------------------------------------------


def squared_distances_to_boundaries(
    f: Quadratic, known: Knowledge, guess: Array, *, box: bool = False, enough: Array | float = 0.0
) -> Array:
    """From the mean of each row to where another class wins first (n,).

    Parameters
    ----------
    f : Quadratic
        Functions of the step from the mean, leading axes (n, n_classes); as `about` gives them,
        or with quadratic parts of their own.
    known : Knowledge
        Of the arguments of f, by one model.
    guess : array (n,)
        The class that wins at the mean.
    box : bool
        Distances in the maximum norm, coordinate by coordinate, in place of Euclidean ones.
    enough : float or array (n,)
        What is smaller need not be exact: an upper bound that is smaller, too, will do.
    """
    if f.Q is None:
        return _linear_distances(f, known, guess, box)
    if box or not np.any(enough):
        return _quadratic_distances(f, known, guess, box)
    found = squared_steps_down(f, known, guess, enough)
    left = np.flatnonzero(found >= enough)
    if len(left):
        part = some_of(f, left)
        found[left] = _quadratic_distances(part, known.rows(left), guess[left], box)
    return found


def _gaps(f: Quadratic, guess: Array) -> Array:
    """``f_c - f_g`` at the mean for the guess c; infinite for c itself."""
    rows = np.arange(len(guess))
    gaps = f.b[rows, guess][:, None] - f.b
    gaps[rows, guess] = np.inf
    return gaps


def _slopes(f: Quadratic, guess: Array) -> Array:
    return f.c[np.arange(len(guess)), guess][:, None] - f.c


def _linear_distances(f: Quadratic, known: Knowledge, guess: Array, box: bool) -> Array:
    """From the deviations of the differences of any two functions, or the widths of the box."""
    apart = f.c[0][:, None] - f.c[0]
    if box:
        widths = np.abs(apart) @ np.sqrt(known.variances[0])
    else:
        widths = np.linalg.norm(apart @ known.spread, axis=-1)
    return np.min(_ratio(_gaps(f, guess), widths[guess]), axis=1) ** 2


def _ratio(gaps: Array, widths: Array) -> Array:
    """Infinite where nothing varies, zero where there is no gap."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gaps > 0, gaps / widths, 0.0)


def _quadratic_distances(f: Quadratic, known: Knowledge, guess: Array, box: bool) -> Array:
    assert f.Q is not None, "linear functions have a shorter way"
    moves, diagonal = known.moves, f.Q.ndim == 3
    Q = f.Q[..., moves] if diagonal else f.Q[..., moves, :][..., moves]
    F, slopes, gaps = known.spread[moves], _slopes(f, guess)[:, :, moves], _gaps(f, guess)
    distances = _box_distances if box else _ellipsoid_distances
    classes, found = np.arange(gaps.shape[1]), np.full(len(guess), np.inf)
    if len(Q) == 1:  # one decomposition for each pair of classes
        for c in np.unique(guess):
            at = np.ix_(guess == c, classes != c)
            bend = Q[0, c] - Q[0, classes != c]
            to_all = distances(bend, F, slopes[at].swapaxes(0, 1), gaps[at].T, diagonal)
            found[guess == c] = to_all.min(axis=0)
        return found
    for part in gen_batches(len(guess), max(1, MATRICES_AT_ONCE // max(*F.shape, 1) ** 2)):
        rows, c = np.arange(len(guess))[part], guess[part]
        for apart in classes[1:]:
            g = (c + apart) % len(classes)
            bend = Q[rows, c] - Q[rows, g]
            to_g = distances(bend, F, slopes[rows, g][:, None], gaps[rows, g][:, None], diagonal)
            found[part] = np.minimum(found[part], to_g[:, 0])
    return found


def _ellipsoid_distances(
    bend: Array, F: Array, slopes: Array, gaps: Array, diagonal: bool
) -> Array:
    """Squared lengths of the shortest z that change the signs of quadratics at ``F z``.

    Parameters
    ----------
    bend : array (p, r) or (p, r, r)
        Quadratic parts, as diagonals or matrices.
    F : array (r, k)
    slopes, gaps : array (p, m, r), (p, m)
        Linear and constant parts of m functions with each quadratic part.
    """
    if not bend.any():  # classes of one neighbour each have the same quadratic part
        return _ratio(gaps, np.linalg.norm(slopes @ F, axis=-1)) ** 2
    M = F.T @ (bend[..., None] * F) if diagonal else F.T @ bend @ F
    evals, V = np.linalg.eigh(M)
    return boundary_distance(evals[:, None], slopes @ (F @ V), gaps)


def _box_distances(bend: Array, F: Array, slopes: Array, gaps: Array, diagonal: bool) -> Array:
    """The same in the maximum norm, of coordinates in which the quadratic is a sum of squares."""
    if not diagonal:
        bend, V = np.linalg.eigh(bend)
        F, slopes = V.swapaxes(-1, -2) @ F, slopes @ V
    deviations = np.sqrt(np.sum(F**2, axis=-1))
    variances = np.broadcast_to(deviations**2, bend.shape)
    return box_distance((bend * variances)[:, None], slopes * deviations[..., None, :], gaps) ** 2


# Bounds ----------------------------------------------------------------------------------------


def squared_steps_down(
    f: Quadratic, known: Knowledge, guess: Array, enough: Array | float
) -> Array:
    """Upper bounds of the squared distances to the first boundary: a step straight down to each.

    Straight down ``f_c - f_g`` in the metric of the covariance a boundary is seldom much farther
    than where it is nearest, and a step takes one product with the covariance. The classes g come
    in the order of their gaps, and no more are tried than it takes to come below `enough`.

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
        P = known.rows(left).covariance_times(slopes)
        variance = np.einsum("nr,nr->n", slopes, P)
        bend = _difference_along(f.Q, left, c, g, P)
        with np.errstate(divide="ignore", invalid="ignore"):
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
