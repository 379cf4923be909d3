"""Newton's method for the soft-margin hyperplane.

The hinge ``max(0, t)`` of a shortfall ``t = 1 - y (w·z + b)`` has a corner at 0. Within ε of it a
parabola takes its place, ``(t + ε)² / 4ε``, and the problem becomes smooth. Newton's method
solves it in a few steps, because given the rows of the zone ``|t| < ε`` it is a linear system. ε
shrinks from the width of the margin to a billionth of it: there the normal is that of the hinge to
nine digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from separatrix._warnings import warn_caller
from separatrix.linalg import Array
from separatrix.margin.points import Points

FIRST_HALF_WIDTH = 2.0
"""ε of the first smoothed loss, in margins: wide enough to hold most rows of data of size 1."""

HALF_WIDTHS = (FIRST_HALF_WIDTH, 0.1, 5e-3, 2.5e-4, 1e-9)
"""ε of one smoothed loss after the other. At 2.5e-4 the rows of the zone hardly change any more,
so that the jump to the last one costs two or three steps."""

MAX_UNSETTLED_CHANGE = 0.5
"""Largest change of a score, in units of ε, at which a zone that is not the last is left: its
rows hardly change any more, and the next zone decides."""

MAX_NORMAL_EQUATION_SIZE = 1e6
"""Sum of the squared weighted rows, compared with a ridge of 1, up to which normal equations keep
ten digits. Beyond it, Cholesky factorisation failed in 8 of 200 hard problems."""

FIRST_COST_CAP = 100.0
"""Cost of a row, for data of size 1, that separable classes hardly ever reach; also the factor by
which the cap is raised."""

SMALLEST_PART = 4
"""Rows for each feature in the smallest part of the rows that gives a start."""

PART_FACTOR = 4
"""Factor between the sizes of parts, each of which gives the next a start: 32000 rows of 100
features then take 10 steps with all rows in the first zone, where 400 rows for a start left 40."""

MIN_WATCHED = 2000
"""Fewest rows for which a zone is solved among the rows near it: choosing them has a cost."""

WATCHED_WIDTH = 10.0
"""Distance from their margin, in units of the last ε, up to which rows are watched. Others do not
change their side; where one does, four times as many are watched."""

MAX_HYPERPLANE_STEPS = 1000
"""Newton steps of one hyperplane; hard problems of features of unlike scales took 200."""

MAX_LINE_STEPS = 30
"""Points of a line search; about eight are usual."""

LINE_SLACK = 1e-6
"""Slope, relative to that at the start, at which a line search ends."""


class Problem(NamedTuple):
    """Rows of size 1 on two sides, and what each costs short of its margin.

    `pull` and `push` are what rows that are not here add to the normal and the intercept: each is
    farther short of its margin than the zone is wide.
    """

    points: Points
    signs: Array
    cost: Array
    pull: Array | float = 0.0
    push: float = 0.0

    def among(self, watched: Array, short: Array) -> Problem:
        """The problem of some rows, if the others stay on their sides."""
        away = np.where(short & ~watched, self.signs * self.cost, 0.0)
        pull, push = self.points.rows.T @ away, float(away.sum())
        rows = Points(self.points.rows[watched], None)
        return Problem(rows, self.signs[watched], self.cost[watched], pull, push)


class NewtonStart(NamedTuple):
    """A normal and an intercept near the solution, and the half-width ε of the first zone."""

    normal: Array
    intercept: float
    eps: float


class SolverResult(NamedTuple):
    """A hyperplane of data of size 1.

    Attributes
    ----------
    normal, intercept, exact, n_iter
        As in `Hyperplane`.
    vanishes : bool
        Whether the normal is a numerical zero, or no better than none.
    heaviest : float
        The largest weight of a row in the normal.
    """

    normal: Array
    intercept: float
    exact: bool
    n_iter: int
    vanishes: bool
    heaviest: float = np.inf


def capped_newton(
    points: Points, signs: Array, cost: Array, start: NewtonStart | None = None
) -> SolverResult:
    """`smoothed_newton` with costs as low as the solution allows: its systems keep their digits.

    Where no row weighs as much as the cap, higher costs would change nothing.
    """
    cap, highest, n_iter = FIRST_COST_CAP, float(cost.max()), 0
    start = start or _start_from_part(points, signs, np.minimum(cost, cap))
    while True:
        problem = Problem(points, signs, np.minimum(cost, cap))
        result = smoothed_newton(problem, start, MAX_HYPERPLANE_STEPS - n_iter)
        n_iter += result.n_iter
        enough = cap >= highest or (result.exact and result.heaviest < cap)
        if enough or n_iter >= MAX_HYPERPLANE_STEPS:
            break
        cap *= FIRST_COST_CAP
        start = NewtonStart(result.normal, result.intercept, FIRST_HALF_WIDTH)
    exact = enough and result.exact
    if not exact:
        warn_unfinished(n_iter)
    return result._replace(n_iter=n_iter, exact=exact, vanishes=enough and result.vanishes)


def _start_from_part(points: Points, signs: Array, cost: Array) -> NewtonStart:
    """Zero, or with many rows for each feature the solution of a part of the rows."""
    n, r = points.rows.shape
    if n < PART_FACTOR * SMALLEST_PART * r:
        return NewtonStart(np.zeros(r), 0.0, FIRST_HALF_WIDTH)
    some = np.random.default_rng(0).permutation(n)[::PART_FACTOR]
    part = Problem(Points(points.rows[some], None), signs[some], PART_FACTOR * cost[some])
    start = _start_from_part(*part[:3])
    w, b = smoothed_newton(part, start, MAX_HYPERPLANE_STEPS, last=HALF_WIDTHS[1])[:2]
    return NewtonStart(w, b, HALF_WIDTHS[1])


class _State(NamedTuple):
    """Where the search is: a normal, an intercept, and whether a zone is settled."""

    w: Array
    b: float
    settled: bool
    n_steps: int


def smoothed_newton(
    problem: Problem, start: NewtonStart, max_steps: int, last: float = HALF_WIDTHS[-1]
) -> SolverResult:
    """Minimise the smoothed problem for one ε after the other, down to the `last`."""
    points, signs, cost = problem[:3]
    widths = [e for e in HALF_WIDTHS if last <= e <= start.eps]
    state = _State(start.normal, start.intercept, False, 0)
    for before, eps in zip([np.inf, *widths[:-1]], widths, strict=True):
        state = _settle(problem, state, eps, WATCHED_WIDTH * before, max_steps, eps == last)
    w, b, settled, n_iter = state
    scores = points.rows @ w + b
    duals = cost * np.clip((1 - signs * scores + eps) / (2 * eps), 0, 1)
    if settled and not np.any((duals > 0) & (duals < cost)):
        b = _middle_intercept(signs, scores - b, duals)
    # the normal is a sum over rows: one that cancels to less than this is numerical zero
    zero = 1e-10 * float(duals @ np.sqrt(np.einsum("ij,ij->i", points.rows, points.rows)))
    vanishes = float(np.linalg.norm(w)) <= zero
    vanishes = settled and (vanishes or not is_better_than_none(points.rows, signs, cost, w, b))
    return SolverResult(w, b, settled, n_iter, vanishes, float(duals.max()))


def _settle(
    problem: Problem, state: _State, eps: float, width: float, max_steps: int, is_last: bool
) -> _State:
    """The minimum for one ε; of many rows those within `width` of their margin are watched."""
    points, signs = problem.points, problem.signs
    while points.gram is None and len(signs) >= MIN_WATCHED:
        shortfall = 1 - signs * (points.rows @ state.w + state.b)
        watched = np.abs(shortfall) <= width
        if 2 * np.count_nonzero(watched) > len(signs):
            break
        short = shortfall > 0
        state = _take_steps(problem.among(watched, short), state, eps, max_steps, is_last)
        shortfall = 1 - signs * (points.rows @ state.w + state.b)
        stays = np.where(short, shortfall >= eps, shortfall <= -eps)
        if stays[~watched].all() or state.n_steps >= max_steps:
            return state
        width *= 4
    return _take_steps(problem, state, eps, max_steps, is_last)


def _take_steps(
    problem: Problem, state: _State, eps: float, max_steps: int, is_last: bool
) -> _State:
    """Newton steps until no row changes its side of the zone."""
    points, signs, _ = problem[:3]
    w, b, _, n_iter = state
    scores, settled = points.rows @ w + b, False
    while not settled and n_iter < max_steps:
        n_iter += 1
        shortfall = 1 - signs * scores
        goal, b_goal = _newton_step(problem, shortfall, eps, b)
        reached = points.rows @ goal + b_goal
        change, largest = reached - scores, float(np.abs(scores).max(initial=0.0))
        solved = _same_sets(shortfall, 1 - signs * reached, eps)
        x = 1.0
        if not solved:
            x = _line_minimum(problem, eps, (w, b), scores, (goal, b_goal), reached)
        w, b, scores = w + x * (goal - w), b + x * (b_goal - b), scores + x * change
        step = float(np.abs(change).max(initial=0.0))
        # below the last digit of the scores rows on the edge of the zone go to and fro
        settled = solved or x * step <= 1e-14 * (1 + largest)
        settled = settled or (not is_last and step <= MAX_UNSETTLED_CHANGE * eps)
    return _State(w, b, settled, n_iter)


def _middle_intercept(signs: Array, along: Array, duals: Array) -> float:
    """When no row is on its margin the intercept may lie in an interval: its middle."""
    edges = signs - along  # the intercept that puts a row on its margin
    below = (duals > 0) == (signs < 0)
    low = np.max(edges[below], initial=-np.inf)
    high = np.min(edges[~below], initial=np.inf)
    return float((low + high) / 2) if np.isfinite(low + high) else 0.0


def _same_sets(before: Array, after: Array, eps: float) -> bool:
    """Whether all rows are on the side of the zone on which the step assumed them."""
    slack = 1e-9 * eps + 1e-14 * (1 + float(np.abs(after).max()))
    short, clear = before >= eps, before <= -eps
    ends = np.where(short, after - eps, np.where(clear, -eps - after, eps - np.abs(after)))
    return bool(ends.min() >= -slack)


def _newton_step(problem: Problem, shortfall: Array, eps: float, b: float) -> tuple[Array, float]:
    """The minimum of the smoothed problem if every row stayed on its side of the zone."""
    points, signs, cost = problem[:3]
    Z = points.rows
    short = shortfall >= eps
    at = np.flatnonzero(~short & (shortfall > -eps))
    outside = np.where(short, signs * cost, 0.0)
    pull, push = problem.pull + Z.T @ outside, problem.push + float(outside.sum())
    if len(at) == 0:  # nothing holds the intercept: move it towards the heavier side
        return pull, b + (float(np.sign(push)) if abs(push) > 1e-12 * cost.sum() else 0.0)
    zone, target = Z[at], signs[at] * (1 + eps)
    softness = 2 * eps / cost[at]
    if points.gram is None or len(at) > Z.shape[1]:
        return weighted_ridge(zone, 1 / softness, target, pull, push)
    # all of the centred rows add up to zero: K is raised by a number so that it has an inverse
    K = points.gram[np.ix_(at, at)]
    raised = float(np.trace(K)) / len(K) ** 2
    K += raised
    K.flat[:: len(K) + 1] += np.maximum(softness, 1e-12)  # rows given twice make K singular
    free = cholesky_solve(K, np.column_stack([target - zone @ pull, np.ones(len(at))]))
    level = float((free[:, 0].sum() + push) / free[:, 1].sum())
    return pull + zone.T @ (free[:, 0] - level * free[:, 1]), level - raised * push


def weighted_ridge(
    A: Array, weights: Array, target: Array, pull: Array, push: float
) -> tuple[Array, float]:
    """Minimise ``½‖w‖² - pull·w - push b + ½ Σ weights_i (w·a_i + b - target_i)²``.

    The intercept is eliminated by the weighted means, and w is a least-squares problem. Its normal
    equations square a condition that high costs and narrow zones make large: then the triangle of
    a QR factorisation is solved in their place. A is overwritten.
    """
    r, total = A.shape[1], float(weights.sum())
    mean, level = weights @ A / total, float(weights @ target) / total
    root = np.sqrt(weights)[:, None]
    t, pull = root[:, 0] * (target - level), pull - push * mean
    size = float(weights @ np.einsum("ij,ij->i", A, A))
    if size > MAX_NORMAL_EQUATION_SIZE:
        w = _ridge_by_triangle(root * (A - mean), t, pull)
    elif len(A) > r:
        A *= root
        S = A.T @ A - total * np.outer(mean, mean) + np.eye(r)
        w = cholesky_solve(S, pull + A.T @ t)
    else:
        A = root * (A - mean)
        w = pull + A.T @ cholesky_solve(A @ A.T + np.eye(len(A)), t - A @ pull)
    return w, level - float(mean @ w) + push / total


def _ridge_by_triangle(A: Array, t: Array, pull: Array) -> Array:
    """Minimise ``½‖w‖² - pull·w + ½‖A w - t‖²`` by the triangle of ``[A t; I pull]``."""
    m, r = A.shape
    system = np.zeros((m + r, r + 1))
    system[:m, :r], system[:m, r] = A, t
    system[m:, :r], system[m:, r] = np.eye(r), pull
    R = scipy.linalg.qr(system, mode="r", overwrite_a=True, check_finite=False)[0]
    return scipy.linalg.solve_triangular(R[:r, :r], R[:r, r], check_finite=False)


def cholesky_solve(S: Array, target: Array) -> Array:
    """Solve with a positive definite matrix, which is overwritten; raise where it is not one."""
    _, solution, info = scipy.linalg.lapack.dposv(S, target, lower=True, overwrite_a=True)
    if info:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return solution


def _line_minimum(
    problem: Problem,
    eps: float,
    start: tuple[Array, float],
    scores: Array,
    goal: tuple[Array, float],
    reached: Array,
) -> float:
    """The part of the way to `goal` where the smoothed problem is least.

    The zero of its slope, which grows with x, by false position; of an end that stays twice half
    the slope is taken (Illinois), so that both ends come near.
    """
    (w, b), direction, change = start, goal[0] - start[0], reached - scores
    at_start, growth = w @ direction, direction @ direction
    # rows that are not here pull evenly all the way
    at_start -= np.sum(problem.pull * direction) + problem.push * (goal[1] - b)
    # called some thousand times for a fit: few passes, and no np.clip, which checks types
    begin, pull = 1 - problem.signs * scores + eps, problem.signs * change
    slack, forces = 2 * eps, problem.cost * pull

    def slope(x: float) -> float:
        shares = np.minimum(np.maximum((begin - x * pull) / slack, 0), 1)
        return float(at_start + x * growth - shares @ forces)

    low, high = 0.0, 1.0
    at_low, at_high = slope(low), slope(high)
    if at_low >= 0:  # rounding: the step leads nowhere
        return 0.0
    small = LINE_SLACK * -at_low
    while at_high < 0 and high < 1e9:
        low, at_low, high = high, at_high, 2 * high
        at_high = slope(high)
    while low == 0 and high > 1e-30:  # steps may be far too long
        nearer = slope(high / 16)
        if nearer < 0:
            low, at_low = high / 16, nearer
        else:
            high, at_high = high / 16, nearer
    last = 0.0
    for _ in range(MAX_LINE_STEPS):
        # the slope is a broken line: where two ends lie on the same piece, its zero is met
        x = (low * at_high - high * at_low) / (at_high - at_low)
        at_x = slope(x)
        if abs(at_x) <= small:
            return x
        if at_x < 0:
            low, at_low, at_high = x, at_x, at_high / 2 if last < 0 else at_high
        else:
            high, at_high, at_low = x, at_x, at_low / 2 if last > 0 else at_low
        last = at_x
    return (low + high) / 2


def is_better_than_none(Z: Array, signs: Array, cost: Array, w: Array, b: float) -> bool:
    """Whether an approximate normal saves half of the least that the best one can save.

    Without a normal the best is to call every row a member of the heavier class, which costs
    ``2 min(c₊, c₋)``. What is minimised is strongly convex in w, so that its minimum saves at
    least ``½‖w‖²``. A normal that saves less than half of that is numerical zero, and of unit
    length it would be a direction made of noise. No tolerance depends on units.
    """
    size = float(w @ w)
    shortfall = np.maximum(0, 1 - signs * (Z @ w + b))
    reached = 0.5 * size + float(cost @ shortfall)
    by_none = 2 * min(float(cost[signs > 0].sum()), float(cost[signs < 0].sum()))
    return size > 0 and by_none - reached >= 0.25 * size


def warn_unfinished(n_steps: int) -> None:
    """Warn that a hyperplane is approximate, and say how to finish it."""
    warn_caller(
        f"a hyperplane was not finished after {n_steps} steps: the direction is approximate. "
        "Lower C, or standardise the features.",
        ConvergenceWarning,
    )
