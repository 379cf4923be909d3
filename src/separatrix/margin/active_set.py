"""Hyperplanes with given rows exactly on their margin: the finish that makes a solution exact.

A solver of the soft-margin problem says which rows fall short of their margin, which clear it and
which are on it. Given these three sets the conditions of optimality (Karush, Kuhn and Tucker) are
linear; where their solution fits the sets it is the minimum, to numerical precision.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple, TypeGuard

import numpy as np
import scipy.linalg

from separatrix.linalg import Array

KKT_SLACK = 1e-9
"""Violation of an optimality condition, relative to the terms summed in it, that is numerical
zero: a few digits above the error of a solved system, far below any distance that matters."""

MIN_PIVOT_RATIO = 1e-12
"""Pivot, relative to the largest, below which a row on the margin repeats others."""

MAX_SET_CHANGES = 10
"""How often rows on the wrong side of their margin are moved to another set. With a single try,
6 of 207 measured problems were no longer solved exactly."""

MAX_CHANGED_SHARE = 0.25
"""Part of the rows up to which a sum over rows is told from those that change: rows that are read
one by one cost about twice what they cost in a row."""

MIN_KEPT_SHARE = 0.1
"""Part of the largest sum so far below which a sum is made anew: one digit is lost at most."""


class Points(NamedTuple):
    """Rows that several problems share, and their inner products where those are worth having.

    Attributes
    ----------
    rows : array (n, r)
        Centred.
    gram : array (n, n) or None
        Inner products of all pairs of rows.
    """

    rows: Array
    gram: Array | None

    def divide(self, scale: float) -> Points:
        """The rows divided by a number."""
        gram = None if self.gram is None else self.gram / scale**2
        return Points(self.rows / scale, gram)

    def remove(self, Q: Array) -> Points:
        """The rows less their parts along the orthonormal columns of Q, in the same memory.

        The inner products lose the same parts, unless so much cancels that digits are lost.
        """
        along = self.rows @ Q
        options = {"beta": 1.0, "trans_b": True, "overwrite_c": True}
        rows = scipy.linalg.blas.dgemm(-1.0, Q, along, c=self.rows.T, **options).T
        if self.gram is None:
            return Points(rows, None)
        gram = scipy.linalg.blas.dgemm(-1.0, along, along, c=self.gram.T, **options).T
        lengths = np.einsum("ij,ij->i", rows, rows)
        # the diagonal is known both ways: it shows how much the subtraction has cancelled
        error = np.abs(np.diagonal(gram) - lengths).max()
        return Points(rows, gram if error <= 1e-13 * lengths.max() else rows @ rows.T)

    def products(self, at: Array) -> Array:
        """Inner products of some of the rows."""
        if self.gram is not None:
            return self.gram[np.ix_(at, at)]
        some = self.rows[at]
        return some @ some.T


class MarginSets(NamedTuple):
    """Rows by their shortfall t from the margin, ``t_i = 1 - y_i (w·z_i + b)``.

    Attributes
    ----------
    short : array of bool (n,)
        Rows that fall short: their weight in the normal is their cost.
    clear : array of bool (n,)
        Rows beyond their margin: without weight.
    zone : array of int
        Positions of the rows on their margin, or in a zone around it.
    """

    short: Array
    clear: Array
    zone: Array

    @classmethod
    def by_zone(cls, shortfall: Array, eps: float) -> MarginSets:
        """The sets of a zone of half-width ε."""
        return cls.by_masks(shortfall >= eps, shortfall <= -eps)

    @classmethod
    def by_masks(cls, short: Array, clear: Array) -> MarginSets:
        """The sets that have these rows on either side of the zone."""
        return cls(short, clear, np.flatnonzero(~(short | clear)))

    def repair(self, shortfall: Array, duals: Array, cost: Array) -> MarginSets:
        """Move rows on the wrong side into the zone, rows with impossible weights out of it."""
        zone = ~(self.short | self.clear)
        back = (self.short & (shortfall < 0)) | (self.clear & (shortfall > 0))
        short = (self.short | (zone & (duals > cost))) & ~back
        clear = (self.clear | (zone & (duals < 0))) & ~back
        return MarginSets.by_masks(short, clear)

    def fit(self, shortfall: Array, duals: Array, cost: Array, eps: float, slack: float) -> bool:
        """Whether a solution has every row in the set in which the system put it."""
        inside, most = duals[self.zone], cost[self.zone]
        return bool(
            np.all(shortfall[self.short] >= eps - slack)
            and np.all(shortfall[self.clear] <= slack - eps)
            and np.all((inside >= -KKT_SLACK * most) & (inside <= (1 + KKT_SLACK) * most))
        )


class Candidate(NamedTuple):
    """A hyperplane, its scores of all rows, and the weights of the rows in its normal."""

    normal: Array
    intercept: float
    scores: Array
    duals: Array


class MarginProblem:
    """Rows to be parted, and the share in the normal of those short of their margin.

    Attributes
    ----------
    points : Points
    signs : array (n,)
        1 or -1.
    cost : array (n,)
        Of each row short of its margin.
    """

    def __init__(self, points: Points, signs: Array, cost: Array) -> None:
        self.points, self.signs, self.cost = points, signs, cost
        self._signed_cost = signs * cost
        self._short, self._pull = np.zeros(len(signs), dtype=bool), np.zeros(points.rows.shape[1])
        self._heaviest = 0.0  # the largest cost of all short rows since the pull was summed

    def shortfall(self, scores: Array) -> Array:
        """How far rows with these scores are from their margins."""
        return 1 - self.signs * scores

    def outside_duals(self, sets: MarginSets) -> Array:
        """Signed weights (n,) of the rows: the cost of those that fall short, else 0."""
        return np.where(sets.short, self._signed_cost, 0.0)

    def pull(self, short: Array) -> Array:
        """``Σ y_i c_i z_i`` over the rows that fall short (n,).

        From one step to the next few rows change: they alone are read. A sum that falls to a small
        part of what it was would keep the rounding of the large one, and is summed anew.
        """
        Z, changed = self.points.rows, np.flatnonzero(short != self._short)
        heavy = float(self.cost[short].sum())
        if heavy < MIN_KEPT_SHARE * self._heaviest or len(changed) > MAX_CHANGED_SHARE * len(Z):
            few = np.count_nonzero(short) <= MAX_CHANGED_SHARE * len(Z)
            at = np.flatnonzero(short) if few else slice(None)
            weights = self._signed_cost if few else np.where(short, self._signed_cost, 0.0)
            self._pull, self._heaviest = Z[at].T @ weights[at], heavy
        elif len(changed):
            steps = np.where(short[changed], 1.0, -1.0) * self._signed_cost[changed]
            self._pull, self._heaviest = (
                self._pull + Z[changed].T @ steps,
                max(self._heaviest, heavy),
            )
        self._short = short
        return self._pull

    def combine(self, sets: MarginSets, signed_duals: Array, b: float) -> Candidate:
        """The hyperplane whose normal is ``Zᵀ (y α)``, with the weights of the sets."""
        Z = self.points.rows
        w = self.pull(sets.short) + Z[sets.zone].T @ signed_duals[sets.zone]
        return Candidate(w, b, Z @ w + b, self.signs * signed_duals)


def solve_on_margin(
    problem: MarginProblem, sets: MarginSets, max_tries: int
) -> tuple[Candidate | None, int]:
    """The minimum, if it has about the rows of the zone on their margin; and the tries made.

    After each try rows that do not belong in the zone leave it, and those that do come in.
    """
    changing = sets
    for n_tried in range(1, max_tries + 1):
        candidate = _put_on_margin(problem, changing)
        if candidate is None:
            break
        if _is_optimal(candidate, problem, changing):
            return candidate, n_tried
        before = changing
        shortfall = problem.shortfall(candidate.scores)
        changing = changing.repair(shortfall, candidate.duals, problem.cost)
        if all(map(np.array_equal, before, changing)):
            break
    corner = _solve_corner(problem, sets)
    return (corner if _is_optimal(corner, problem, sets) else None), n_tried


def _put_on_margin(problem: MarginProblem, sets: MarginSets) -> Candidate | None:
    """The hyperplane with the rows of the zone exactly on their margin, if there may be one.

    Solves ``K q + b = y - Z_zone w_outside`` with ``Σ q`` such that all signed weights sum to 0.
    Rows given twice leave the weights open, but not the normal: the least weights are taken.
    """
    points, signs = problem.points, problem.signs
    Z, m = points.rows, len(sets.zone)
    if points.gram is None and m > _max_on_margin(Z.shape[1]):
        return None
    signed_duals, w, b = problem.outside_duals(sets), problem.pull(sets.short), 0.0
    if m == 0:
        b = _middle_intercept(signs, Z @ w, sets)
        return problem.combine(sets, signed_duals, b)
    zone = Z[sets.zone]
    K, target = points.products(sets.zone), signs[sets.zone] - zone @ w
    for _ in range(3):  # iterative refinement: large sums cancel, the residual is solved again
        balance = -float(signed_duals.sum())
        q, shift = _solve_weights(K, target, balance) or _least_weights(K, target, balance)
        signed_duals[sets.zone] += q
        w, b = w + zone.T @ q, b + shift
        target = signs[sets.zone] - zone @ w - b
        if np.abs(target).max() <= MIN_PIVOT_RATIO:
            break
    return Candidate(w, b, Z @ w + b, signs * signed_duals)


def _solve_corner(problem: MarginProblem, sets: MarginSets) -> Candidate | None:
    """The hyperplane that the margins of the zone's rows alone determine, if they do.

    High costs make the normal a small difference of large sums; here it is not summed.
    """
    Z, signs = problem.points.rows, problem.signs
    m, r = len(sets.zone), Z.shape[1]
    if not r < m <= _max_on_margin(r):
        return None
    corner = np.column_stack([Z[sets.zone], np.ones(m)])
    plane, rank = _least_squares(corner, signs[sets.zone])
    if rank <= r:
        return None
    w, b = plane[:r], float(plane[r])
    signed_duals = problem.outside_duals(sets)
    missing = np.append(w - problem.pull(sets.short), -signed_duals.sum())
    signed_duals[sets.zone] = _least_squares(corner.T, missing)[0]
    return Candidate(w, b, Z @ w + b, signs * signed_duals)


def _max_on_margin(r: int) -> int:
    """How many rows may be on their margin: r + 1 in general position, and some given often."""
    return max(r + 1, 200, min(4 * (r + 1), 400))


def _solve_weights(K: Array, target: Array, balance: float) -> tuple[Array, float] | None:
    """Q and b with ``K q + b = target`` and ``Σ q = balance``, unless K loses digits.

    A number added to all of K changes what is solved for by that number times the balance, which
    is known. With it K has a factor where all of the centred rows are on their margin, too: their
    sum is zero, and K has no inverse.
    """
    raised = float(np.trace(K)) / len(K) ** 2
    with suppress(np.linalg.LinAlgError):
        sides = np.column_stack([target + raised * balance, np.ones(len(K))])
        both = cholesky_solve(np.add(K, raised, order="F"), sides)
        b = (both[:, 0].sum() - balance) / both[:, 1].sum()
        q = both[:, 0] - b * both[:, 1]
        size = max(float(np.abs(target).max()), abs(balance))
        # a nearly singular K has a factor, but its solution misses the target
        if float(np.abs(K @ q + b - target).max()) <= 1e-11 * size:
            return q, float(b)
    return None


def _least_weights(K: Array, target: Array, balance: float) -> tuple[Array, float]:
    """The same with the least q, where rows given more than once leave it open."""
    m = len(K)
    system = np.ones((m + 1, m + 1))
    system[:m, :m], system[m, m] = K, 0.0
    free, _ = _least_squares(system, np.append(target, balance))
    return free[:m], float(free[m])


def _least_squares(A: Array, target: Array) -> tuple[Array, int]:
    """The shortest least-squares solution and the rank, by QR with column pivoting."""
    options = {"cond": MIN_PIVOT_RATIO, "lapack_driver": "gelsy", "check_finite": False}
    solution, _, rank, _ = scipy.linalg.lstsq(A, target, **options)
    return solution, int(rank)


def cholesky_solve(S: Array, target: Array) -> Array:
    """Solve with a positive definite matrix, which is overwritten; raise where it is not one."""
    _, solution, info = scipy.linalg.lapack.dposv(S, target, lower=True, overwrite_a=True)
    if info:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    return solution


def _is_optimal(
    candidate: Candidate | None, problem: MarginProblem, sets: MarginSets
) -> TypeGuard[Candidate]:
    """Whether all conditions of optimality hold, so that the candidate is the minimum."""
    if candidate is None:
        return False
    signs, cost = problem.signs, problem.cost
    shortfall = problem.shortfall(candidate.scores)
    slack = KKT_SLACK * (1 + float(np.max(np.abs(candidate.scores))))
    balanced = abs(float(candidate.duals @ signs)) <= KKT_SLACK * float(cost.sum())
    met = bool(np.all(np.abs(shortfall[sets.zone]) <= slack))
    return balanced and met and sets.fit(shortfall, candidate.duals, cost, 0.0, slack)


def _middle_intercept(signs: Array, scores: Array, sets: MarginSets) -> float:
    """When no row is on its margin the intercept may lie in an interval: its middle."""
    edges = signs - scores  # the intercept that puts a row on its margin
    below = (sets.short & (signs < 0)) | (sets.clear & (signs > 0))
    low = np.max(edges[below], initial=-np.inf)
    high = np.min(edges[~below], initial=np.inf)
    return float((low + high) / 2) if np.isfinite(low + high) else 0.0
