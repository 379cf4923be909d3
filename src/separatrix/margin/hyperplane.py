"""The soft-margin hyperplane: the support vector machine as a convex problem, solved exactly.

``min ½‖w‖² + Σ c_i max(0, 1 - y_i (w·z_i + b))`` over w and b, for rows z_i with signs y_i.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import NamedTuple, TypeGuard

import numpy as np
import scipy.linalg
import scipy.optimize
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from separatrix._warnings import warn_caller
from separatrix.linalg import Array

EXACT_UP_TO = 1e10
"""Multiplications (rows × features²) up to which tall problems are solved to rounding."""

GRAM_UP_TO = 5000
"""Rows of a wide problem whose inner products are held all at once (200 MB)."""

SMALL = 600
"""Rows up to which decomposition is tried first whatever the shape: it takes a thousandth of a
second where steps of Newton's method take tens."""

FEW = 1_000_000
"""Values among which it is sought out whether the best normal is zero."""

WIDEST = 2.0
"""Half the width, in margins, of the zone in which the first smoothed loss is a parabola."""

NARROWING = 20.0
"""Factor by which the zone shrinks once its problem is solved."""

REPAIRS = 10
"""How often rows that are found on the wrong side of their margin are moved."""

MILD = 1e6
"""Condition up to which normal equations lose no digits that matter."""

NEAR = 0.5
"""Part of the zone below which a step ends the work on a zone that is not the last."""

SHORTEST = 1e-10
"""Part of the scores by which they must change for a search that should descend to go on."""


class Points(NamedTuple):
    """Rows that several problems share, and their inner products where those are worth having.

    Attributes
    ----------
    rows : array (n, r)
        Centred.
    gram : array (n, n) or None
    """

    rows: Array
    gram: Array | None

    @classmethod
    def of(cls, rows: Array) -> Points:
        """These rows, and what the solver for their size needs."""
        return cls(rows, rows @ rows.T if solver(*rows.shape) is decomposition else None)

    def over(self, scale: float) -> Points:
        """The rows divided by a number."""
        gram = None if self.gram is None else self.gram / scale**2
        return Points(self.rows / scale, gram)

    def less(self, Q: Array) -> Points:
        """The rows less their parts along the orthonormal columns of Q, in the same memory.

        The products lose what the rows lose, unless so much is taken off that digits go with it.
        """
        along = self.rows @ Q
        options = {"beta": 1.0, "c": self.rows.T, "trans_b": True, "overwrite_c": True}
        rows = scipy.linalg.blas.dgemm(-1.0, Q, along, **options).T
        if self.gram is None:
            return Points(rows, None)
        gram = self.gram - along @ along.T
        lengths = np.einsum("ij,ij->i", rows, rows)
        off = np.abs(np.diagonal(gram) - lengths).max()
        return Points(rows, gram if off <= 1e-13 * lengths.max() else rows @ rows.T)

    def products(self, at: Array) -> Array:
        """Inner products of some of the rows."""
        if self.gram is not None:
            return self.gram[np.ix_(at, at)]
        some = self.rows[at]
        return some @ some.T


class Hyperplane(NamedTuple):
    """The hyperplane ``w·z + b = 0`` between two classes, and how it comes from the rows.

    Attributes
    ----------
    normal : array (r,)
        w, so scaled that the margins are at ``w·z + b = ±1``; zero when no hyperplane is better
        than calling every row a member of the heavier class.
    intercept : float
        b.
    exact : bool
        Whether the conditions of optimality hold to rounding.
    n_iter : int
        Steps that were made.
    """

    normal: Array
    intercept: float
    exact: bool
    n_iter: int


def soft_margin_hyperplane(
    points: Points, signs: Array, cost: Array, *, tol: float = 1e-4, max_iter: int = 1000
) -> Hyperplane:
    """Minimise ``½‖w‖² + Σ cost_i max(0, 1 - signs_i (w·z_i + b))``.

    Wide and small problems by decomposition of the dual (libsvm), tall ones by Newton's method on
    a smoothed loss: both to rounding as a rule, and else to `tol`. Large ones of either kind by
    coordinate descent in the dual (liblinear), which charges for the intercept too: with classes
    of unlike sizes the normal may be off by a few hundredths of a radian, whatever `tol`.

    Parameters
    ----------
    points : Points
        Rows z_i, centred.
    signs : array (n,)
        1 or -1.
    cost : array (n,)
        What a row on the wrong side of its margin costs.
    tol : float
        How far from 1 the margin of a support vector may end.
    max_iter : int
        Steps at most.

    Examples
    --------
    >>> Z = np.array([[-3.0, 5.0], [-1.0, 0.0], [1.0, 0.0], [2.0, -5.0]])
    >>> plane = soft_margin_hyperplane(Points.of(Z), np.array([-1, -1, 1, 1]), np.full(4, 1e3))
    >>> plane.normal.round(9) + 0, round(plane.intercept, 9) + 0
    (array([1., 0.]), 0.0)
    """
    n, r = points.rows.shape
    scale = float(np.sqrt(np.vdot(points.rows, points.rows) / n))
    if scale == 0:
        return Hyperplane(np.zeros(r), 0.0, True, 0)
    # in these units the size of the data is 1, whatever it was
    found = solver(n, r)(points.over(scale), signs, cost * scale**2, tol, max_iter)
    w = np.zeros(r) if found.vanishes else found.normal / scale
    return Hyperplane(w, found.intercept, found.exact, found.n_iter)


def solver(n_rows: int, n_features: int) -> Callable[..., Found]:
    """The function that is quickest for a problem of this size."""
    if _is_wide(n_rows, n_features):
        return decomposition if n_rows <= GRAM_UP_TO else dual_descent
    if n_rows <= SMALL:
        return decomposition
    return capped_newton if n_rows * n_features**2 <= EXACT_UP_TO else dual_descent


def _is_wide(n_rows: int, n_features: int) -> bool:
    return 2 * n_features >= n_rows


class Found(NamedTuple):
    """A hyperplane in units of the data.

    Attributes
    ----------
    normal, intercept, exact, n_iter
        As in `Hyperplane`.
    vanishes : bool
        Whether the normal is zero but for rounding or `tol`.
    heaviest : float
        The largest weight of a row in the normal.
    finished : bool
        Whether the solver ended of itself.
    """

    normal: Array
    intercept: float
    exact: bool
    n_iter: int
    vanishes: bool
    heaviest: float = np.inf
    finished: bool = True


# Newton's method -----------------------------------------------------------------------------


CAP = 100.0
"""Cost of a row, for data of size 1, that separable classes hardly ever make use of."""

SAMPLED_FROM = 4
"""Rows for each feature from which some of them say where to begin."""


def capped_newton(points: Points, signs: Array, cost: Array, tol: float, max_iter: int) -> Found:
    """`newton` with costs no higher than needed, which keeps its systems well conditioned.

    Where no row weighs as much as the cap, higher costs would change nothing.
    """
    cap, highest = CAP, float(cost.max())
    w, b, eps = _beginning(points, signs, np.minimum(cost, cap), max_iter)
    n_iter = 0
    while True:
        capped = np.minimum(cost, cap)
        found = newton(points, signs, capped, tol, max_iter - n_iter, w, b, eps)
        n_iter, w, b = n_iter + found.n_iter, found.normal, found.intercept
        enough = cap >= highest or (found.exact and found.heaviest < cap)
        if enough or n_iter >= max_iter:
            break
        cap, eps = cap * CAP, WIDEST
    if not (enough and found.finished):
        _warn_unfinished(n_iter, max_iter)
    return found._replace(
        n_iter=n_iter, exact=enough and found.exact, vanishes=enough and found.vanishes
    )


def _beginning(
    points: Points, signs: Array, cost: Array, max_iter: int
) -> tuple[Array, float, float]:
    """A normal, an intercept and a zone to begin with: of many rows by a part of them."""
    n, r = points.rows.shape
    every = n // (SAMPLED_FROM * r)
    if every < 2:
        return np.zeros(r), 0.0, WIDEST
    some = np.random.default_rng(0).permutation(n)[::every]
    part, eps = Points(points.rows[some], None), WIDEST / NARROWING
    start = newton(part, signs[some], every * cost[some], eps, max_iter, np.zeros(r), 0.0, WIDEST)
    return start.normal, start.intercept, eps


def newton(
    points: Points,
    signs: Array,
    cost: Array,
    tol: float,
    max_iter: int,
    w: Array,
    b: float,
    eps: float,
) -> Found:
    """Newton's method on a smoothed hinge whose smooth zone shrinks until it does not matter.

    With ``t_i`` the shortfall of row i from its margin, the loss is 0 below -ε, ``t`` above ε and
    a parabola between. Given which rows are where, the minimum is a linear system in the rows of
    the zone; a search along the way to it makes every step descend. As soon as the rows in the
    zone, put exactly on their margin, satisfy the conditions of optimality of the hinge itself,
    the hyperplane is exact; otherwise ε ends at `tol`. The search starts at w, b and ε.
    """
    Z = points.rows
    scores = Z @ w + b
    n_iter = 0
    if w.any():  # rows on the margin often stay there as costs grow
        exact, _ = _exact_step(points, signs, cost, Split.of(1 - signs * scores, tol), 1)
        if exact is not None:
            return _finished(Z, exact, n_iter)
    while True:
        solved = settled = stuck = near = False
        while not (solved or settled or stuck or near) and n_iter < max_iter:
            n_iter += 1
            split = Split.of(1 - signs * scores, eps)
            step = _smoothed_minimum(points, signs, cost, split, eps, b)
            solved = bool(split.fits(1 - signs * step.scores, step.duals, cost, eps, 1e-9 * eps))
            x = 1.0 if solved else _line_minimum(signs, cost, eps, w, scores, step)
            change = step.scores - scores
            size, most = 1 + float(np.abs(scores).max()), float(np.abs(change).max())
            stuck = x * most <= SHORTEST * size and most > 1e-6 * size
            settled = not stuck and x * most <= 1e-14 * size
            near = eps > tol and most <= eps * NEAR
            w, b = w + x * (step.normal - w), b + x * (step.intercept - b)
            scores = scores + x * change
        few = len(split.zone) <= Z.shape[1] + 1  # as many as can be apart on their margin
        tries = max(1, min(REPAIRS, max_iter - n_iter)) if few else 1
        exact, n_tried = _exact_step(points, signs, cost, split, tries)
        n_iter += n_tried - 1
        if exact is not None:
            return _finished(Z, exact, n_iter)
        if eps <= tol or n_iter == max_iter:
            break
        eps = max(eps / NARROWING, tol)
    finished = eps <= tol and (solved or settled)
    vanishes = finished and _no_better_than_none(Z, signs, cost, w, b, eps)
    return Found(w, b, False, n_iter, vanishes, finished=finished)


def _no_better_than_none(
    Z: Array, signs: Array, cost: Array, w: Array, b: float, tol: float
) -> bool:
    """Whether an approximate normal may be zero: a zero costs no more, and is the best as well."""
    scores = Z @ w
    reached = 0.5 * float(w @ w) + float(cost @ np.maximum(0, 1 - signs * (scores + b)))
    by_none = 2 * min(float(cost[signs > 0].sum()), float(cost[signs < 0].sum()))
    if by_none > (1 + 1e-9) * reached:
        return False
    alike = float(np.abs(scores).max()) <= 4 * tol
    return alike or (Z.size <= FEW and _none_is_best(Z, signs, cost))


def _none_is_best(Z: Array, signs: Array, cost: Array) -> bool:
    """Whether the rows of the heavier class can be weighted to meet all of the lighter one.

    Without a normal every row of the heavier class is on its margin and every other row beyond:
    that is optimal if weights from 0 to the costs give both classes the same sum, and total.
    """
    heavier = signs == (1 if cost @ signs >= 0 else -1)
    rows = np.column_stack([Z, np.ones(len(Z))])
    aim = rows[~heavier].T @ cost[~heavier]
    met = scipy.optimize.lsq_linear(rows[heavier].T, aim, (0, cost[heavier]), tol=1e-12)
    return float(np.sqrt(2 * met.cost)) <= 1e-6 * float(cost[~heavier].sum())


class Split(NamedTuple):
    """Rows by their shortfall from the margin: masks beyond and within it, indices in the zone."""

    short: Array
    clear: Array
    zone: Array

    @classmethod
    def of(cls, shortfall: Array, eps: float) -> Split:
        """The split by a zone of half-width ε."""
        return cls.by(shortfall >= eps, shortfall <= -eps)

    @classmethod
    def by(cls, short: Array, clear: Array) -> Split:
        """The split that has these rows on either side of the zone."""
        return cls(short, clear, np.flatnonzero(~(short | clear)))

    def repaired(self, shortfall: Array, duals: Array, cost: Array) -> Split:
        """The split with rows on the wrong side in the zone, and those that left it outside."""
        zone = ~(self.short | self.clear)
        back = (self.short & (shortfall < 0)) | (self.clear & (shortfall > 0))
        short = (self.short | (zone & (duals > cost))) & ~back
        clear = (self.clear | (zone & (duals < 0))) & ~back
        return Split.by(short, clear)

    def fits(
        self, shortfall: Array, duals: Array, cost: Array, eps: float, slack: float
    ) -> np.bool_:
        """Whether every row is still where it was when the system was solved."""
        inside, most = duals[self.zone], cost[self.zone]
        return (
            np.all(shortfall[self.short] >= eps - slack)
            & np.all(shortfall[self.clear] <= slack - eps)
            & np.all((inside >= -1e-9 * most) & (inside <= (1 + 1e-9) * most))
        )


class Step(NamedTuple):
    """A hyperplane, its scores of all rows, and the weights of the rows in its normal."""

    normal: Array
    intercept: float
    scores: Array
    duals: Array


def _smoothed_minimum(
    points: Points, signs: Array, cost: Array, split: Split, eps: float, b: float
) -> Step:
    """The minimum of the smoothed problem if every row stayed on its side of the zone."""
    Z, outside = points.rows, np.where(split.short, signs * cost, 0.0)
    zone = Z[split.zone]
    if len(zone) == 0:  # nothing holds the intercept: move it towards the heavier side
        shift = outside.sum()
        b = b + float(np.sign(shift)) if abs(shift) > 1e-12 * cost.sum() else b
        return _step(Z, signs, outside, b)
    softness = 2 * eps / cost[split.zone]
    target = signs[split.zone] * (1 + eps)
    if len(zone) > Z.shape[1] or len(Z) > 2 * Z.shape[1]:
        w, b = _weighted_ridge(zone, 1 / softness, target, Z.T @ outside, float(outside.sum()))
        scores = Z @ w + b
        outside[split.zone] = (target - scores[split.zone]) / softness
        return Step(w, b, scores, signs * outside)
    K = points.products(split.zone)
    K.flat[:: len(K) + 1] += np.maximum(softness, 1e-13)
    target = target - zone @ (Z.T @ outside)
    free = _cholesky_solve(K, np.column_stack([target, np.ones(len(zone))]))
    b = float((free[:, 0].sum() + outside.sum()) / free[:, 1].sum())
    outside[split.zone] = free[:, 0] - b * free[:, 1]
    return _step(Z, signs, outside, b)


def _weighted_ridge(
    A: Array, weights: Array, target: Array, pull: Array, push: float
) -> tuple[Array, float]:
    """Minimise ``½‖w‖² - pull·w - push b + ½ Σ weights_i (w·a_i + b - target_i)²``.

    The intercept is eliminated by the weighted means, and w is a least-squares problem. Its normal
    equations square a condition that high costs and narrow zones make large: they serve where the
    weighted rows are no longer than `MILD`, and a triangle of the rows elsewhere.
    """
    r, total = A.shape[1], float(weights.sum())
    mean, level = weights @ A / total, float(weights @ target) / total
    root = np.sqrt(weights)[:, None]
    t, pull = root[:, 0] * (target - level), pull - push * mean
    size = float(weights @ np.einsum("ij,ij->i", A, A))
    if size <= MILD and len(A) > r:
        A *= root
        S = A.T @ A - total * np.outer(mean, mean) + np.eye(r)
        w = _cholesky_solve(S, pull + A.T @ t)
    elif size <= MILD:
        A = root * (A - mean)
        w = pull + A.T @ _cholesky_solve(A @ A.T + np.eye(len(A)), t - A @ pull)
    else:
        system = np.zeros((len(A) + r, r + 1))
        system[: len(A), :r], system[: len(A), r] = root * (A - mean), t
        system[len(A) :, :r], system[len(A) :, r] = np.eye(r), pull
        R = scipy.linalg.qr(system, mode="r", overwrite_a=True, check_finite=False)[0]
        w = scipy.linalg.solve_triangular(R[:r, :r], R[:r, r], check_finite=False)
    return w, level - float(mean @ w) + push / total


def _step(Z: Array, signs: Array, signed_duals: Array, b: float) -> Step:
    w = Z.T @ signed_duals
    return Step(w, b, Z @ w + b, signs * signed_duals)


def _cholesky_solve(S: Array, target: Array) -> Array:
    """Solve with a positive definite matrix, which is overwritten, or say that it is not."""
    _, solution, info = scipy.linalg.lapack.dposv(S, target, lower=True, overwrite_a=True)
    if info:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return solution


def _line_minimum(
    signs: Array, cost: Array, eps: float, w: Array, scores: Array, step: Step
) -> float:
    """How far to go towards `step` for the smoothed problem to be least: its slope is bisected."""
    direction, change = step.normal - w, step.scores - scores
    at_start, growth = w @ direction, direction @ direction

    def slope(x: float) -> float:
        shortfall = 1 - signs * (scores + x * change)
        duals = cost * np.clip((shortfall + eps) / (2 * eps), 0, 1)
        return float(at_start + x * growth - (duals * signs) @ change)

    low, high = 0.0, 1.0
    while slope(high) < 0 and high < 1e9:
        low, high = high, 2 * high
    while low == 0 and high > 1e-30 and slope(high / 16) >= 0:  # steps may be far too long
        high /= 16
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return (low + high) / 2


def _exact_step(
    points: Points, signs: Array, cost: Array, split: Split, tries: int
) -> tuple[Step | None, int]:
    """The best hyperplane, if it is one with about the rows of the zone on their margin.

    Rows that do not belong in the zone leave it, and those that do come in, as often as there are
    `tries`. Also how many were made.
    """
    changing = split
    for n_tried in range(1, tries + 1):
        step = _on_the_margin(points, signs, cost, changing)
        if step is None:
            break
        if _optimal(step, signs, cost, changing):
            return step, n_tried
        before, changing = changing, changing.repaired(1 - signs * step.scores, step.duals, cost)
        if all(map(np.array_equal, before, changing)):
            break
    corner = _at_a_corner(points.rows, signs, cost, split)
    return (corner if _optimal(corner, signs, cost, split) else None), n_tried


def _on_the_margin(points: Points, signs: Array, cost: Array, split: Split) -> Step | None:
    """The hyperplane with the rows of the zone exactly on their margin, if there may be one.

    Rows that are given twice leave the weights open, and not the normal: the least weights are
    taken.
    """
    Z, outside = points.rows, np.where(split.short, signs * cost, 0.0)
    zone, m = Z[split.zone], len(split.zone)
    if points.gram is None and m > _most_on_the_margin(Z.shape[1]):
        return None
    if m == 0:
        return _step(Z, signs, outside, _middle_intercept(signs, Z @ (Z.T @ outside), split))
    w = Z.T @ outside
    K, b, target = points.products(split.zone), 0.0, signs[split.zone] - zone @ w
    for _ in range(3):  # what is left after large sums have cancelled is solved for again
        balance = -float(outside.sum())
        free = _by_products(zone, K, target, balance) or _by_triangle(zone, target, balance)
        q, shift, change = free or _least_weights(zone, K, target, balance)
        outside[split.zone] += q
        w, b = w + change, b + shift
        target = signs[split.zone] - zone @ w - b
        if np.abs(target).max() <= 1e-12:
            break
    return Step(w, b, Z @ w + b, signs * outside)


def _at_a_corner(Z: Array, signs: Array, cost: Array, split: Split) -> Step | None:
    """The hyperplane that the margins of the zone's rows alone determine, if they do.

    High costs make the normal a small sum of large weights; here it is not summed.
    """
    outside = np.where(split.short, signs * cost, 0.0)
    m, r = len(split.zone), Z.shape[1]
    if not r < m <= _most_on_the_margin(r):
        return None
    corner = np.column_stack([Z[split.zone], np.ones(m)])
    options = {"cond": 1e-12, "lapack_driver": "gelsy", "check_finite": False}
    plane, _, rank, _ = scipy.linalg.lstsq(corner, signs[split.zone], **options)
    if rank <= r:
        return None
    w, b = plane[:r], float(plane[r])
    missing = np.append(w - Z.T @ outside, -outside.sum())
    outside[split.zone] = scipy.linalg.lstsq(corner.T, missing, **options)[0]
    return Step(w, b, Z @ w + b, signs * outside)


def _most_on_the_margin(r: int) -> int:
    """How many rows may be on their margin: r + 1 that are apart, and a few given often."""
    return max(r + 1, 200, min(4 * (r + 1), 400))


Weights = tuple[Array, float, Array]
"""q, b and ``zoneᵀ q`` with ``zone zoneᵀ q + b = target`` and ``Σ q = balance``."""


def _by_products(zone: Array, K: Array, target: Array, balance: float) -> Weights | None:
    """The quick way, by inner products, if it loses no digits that matter."""
    with suppress(np.linalg.LinAlgError):
        both = _cholesky_solve(K.copy(order="F"), np.column_stack([target, np.ones(len(K))]))
        b = (both[:, 0].sum() - balance) / both[:, 1].sum()
        q = both[:, 0] - b * both[:, 1]
        size = max(float(np.abs(target).max()), abs(balance))
        if float(np.abs(K @ q + b - target).max()) <= 1e-11 * size:
            return q, float(b), zone.T @ q
    return None


def _by_triangle(zone: Array, target: Array, balance: float) -> Weights | None:
    """By the triangle R of ``zoneᵀ = Q R``: its condition is the root of that of the products."""
    if len(zone) > zone.shape[1]:
        return None
    Q, R = np.linalg.qr(zone.T)
    size = np.abs(np.diagonal(R))
    if size.min() <= 1e-12 * size.max():
        return None
    both = np.column_stack([target, np.ones(len(R))])
    u, o = scipy.linalg.solve_triangular(R, both, trans="T", check_finite=False).T
    b = float((o @ u - balance) / (o @ o))
    v = u - b * o
    return scipy.linalg.solve_triangular(R, v, check_finite=False), b, Q @ v


def _least_weights(zone: Array, K: Array, target: Array, balance: float) -> Weights:
    """The least q where rows that are given more than once leave it open."""
    m = len(K)
    system = np.ones((m + 1, m + 1))
    system[:m, :m], system[m, m] = K, 0.0
    options = {"cond": 1e-12, "lapack_driver": "gelsy", "check_finite": False}
    free = scipy.linalg.lstsq(system, np.append(target, balance), **options)[0]
    return free[:m], float(free[m]), zone.T @ free[:m]


def _optimal(step: Step | None, signs: Array, cost: Array, split: Split) -> TypeGuard[Step]:
    """Whether a hyperplane with the rows of the zone on their margin is the best one."""
    if step is None:
        return False
    shortfall = 1 - signs * step.scores
    # rounding is relative to what is summed up
    slack = 1e-9 * (1 + float(np.max(np.abs(step.scores))))
    balanced = abs(float(step.duals @ signs)) <= 1e-9 * float(cost.sum())
    met = np.all(np.abs(shortfall[split.zone]) <= slack)
    return bool(balanced & met & split.fits(shortfall, step.duals, cost, 0.0, slack))


def _finished(Z: Array, step: Step, n_iter: int) -> Found:
    # a sum that cancels to less than this is rounding
    least = 1e-10 * float(step.duals @ np.sqrt(np.einsum("ij,ij->i", Z, Z)))
    vanishes = bool(np.linalg.norm(step.normal) <= least)
    return Found(step.normal, step.intercept, True, n_iter, vanishes, float(step.duals.max()))


def _middle_intercept(signs: Array, scores: Array, split: Split) -> float:
    """When no row is on its margin the intercept may lie in an interval: its middle."""
    edges = signs - scores  # the intercept that puts a row on its margin
    below = (split.short & (signs < 0)) | (split.clear & (signs > 0))
    low = np.max(edges[below], initial=-np.inf)
    high = np.min(edges[~below], initial=np.inf)
    return float((low + high) / 2) if np.isfinite(low + high) else 0.0


# Decomposition of the dual -------------------------------------------------------------------


def decomposition(points: Points, signs: Array, cost: Array, tol: float, max_iter: int) -> Found:
    """scikit-learn's `SVC` on inner products, and its support vectors put exactly on their margin.

    libsvm computes in single precision and says which rows are on their margin; with these the
    hyperplane is a linear system. Where its answer cannot be repaired, `capped_newton`'s is taken:
    of tall problems with high costs soon, for there it is the quicker one.
    """
    assert points.gram is not None, "rows of this shape come with their inner products"
    wide = _is_wide(*points.rows.shape)
    model = SVC(kernel="precomputed", tol=1e-3, max_iter=1000 + (50 if wide else 20) * len(signs))
    with warnings.catch_warnings(), _unchecked():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(points.gram, signs, sample_weight=cost)
    if wide or model.fit_status_ == 0:
        duals = np.zeros(len(signs))
        duals[model.support_] = np.abs(model.dual_coef_[0])
        split = Split.by(duals >= (1 - 1e-9) * cost, duals <= 0)
        step, n_iter = _exact_step(points, signs, cost, split, min(REPAIRS, max_iter))
        if step is not None:
            return _finished(points.rows, step, n_iter)
    return capped_newton(points if wide else Points(points.rows, None), signs, cost, tol, max_iter)


# Coordinate descent in the dual --------------------------------------------------------------


def dual_descent(points: Points, signs: Array, cost: Array, tol: float, max_iter: int) -> Found:
    """scikit-learn's `LinearSVC` with the hinge loss.

    liblinear charges for the intercept as for a weight. It is scaled to cost little beside all
    rows, and no more than that: a large scale makes the descent slow.
    """
    Z = points.rows
    bias_scale = max(1.0, 30 / float(np.sqrt(cost.sum())))
    model = LinearSVC(
        loss="hinge", tol=tol, max_iter=max_iter, intercept_scaling=bias_scale, random_state=0
    )
    with warnings.catch_warnings(record=True) as caught, _unchecked():
        warnings.simplefilter("always")
        model.fit(Z, signs, sample_weight=cost)
    w, b, n_iter = model.coef_[0], float(model.intercept_[0]), int(np.max(model.n_iter_))
    finished = not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    if not finished:
        _warn_unfinished(n_iter, max_iter)
    vanishes = finished and _no_better_than_none(Z, signs, cost, w, b, tol)
    return Found(w, b, False, n_iter, vanishes, finished=finished)


def _unchecked() -> AbstractContextManager[None]:
    """What scikit-learn would check has been checked: that takes longer than a small problem."""
    return config_context(assume_finite=True, skip_parameter_validation=True)


def _warn_unfinished(n_iter: int, max_iter: int) -> None:
    end = f"after max_iter={max_iter} steps"
    if n_iter < max_iter:
        end = f"when no step was left to make after {n_iter}"
    remedy = "Raise max_iter or tol" if n_iter >= max_iter else "Raise tol"
    warn_caller(
        f"a hyperplane was not finished {end}: the direction is approximate. {remedy}, lower C, "
        "or standardise the features.",
        ConvergenceWarning,
    )
