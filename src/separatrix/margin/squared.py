"""The soft-margin hyperplane of the squared hinge: ``min ½‖w‖² + Σ c_i max(0, 1 - y_i f_i)²``.

The loss is a parabola for the rows short of their margin and zero for the others. Given these rows
the minimum is a linear system; Newton's method changes them until they are the ones that its own
solution has short, which is the minimum to numerical precision.
"""

from __future__ import annotations

import numpy as np

from separatrix.linalg import Array
from separatrix.margin.active_set import Points
from separatrix.margin.newton import SolverResult, warn_unfinished, weighted_ridge


def newton_squared(
    points: Points, signs: Array, cost: Array, tol: float, max_iter: int
) -> SolverResult:
    """Finite Newton steps with an exact line search, until the rows short of their margin stay.

    Parameters
    ----------
    points : Points
        Centred rows of size 1.
    signs, cost : array (n,)
    tol : float
        Not used: the answer is exact.
    max_iter : int
        Steps at most.

    References
    ----------
    Keerthi and DeCoste, A modified finite Newton method for fast solution of large scale linear
    SVMs, Journal of Machine Learning Research 6 (2005).
    """
    Z = points.rows
    w, b, scores = np.zeros(Z.shape[1]), 0.0, np.zeros(len(Z))
    solved, n_iter = False, 0
    while not solved and n_iter < max_iter:
        n_iter += 1
        margins = signs * scores
        short = margins < 1
        if not short.any():  # rows that hold the margin fall short by less than rounding
            short = margins <= max(1.0, float(margins.min())) + 1e-12
        nothing = np.zeros(Z.shape[1])
        goal, b_goal = weighted_ridge(Z[short], 2 * cost[short], signs[short], nothing, 0.0)
        reached = Z @ goal + b_goal
        # rows exactly on their margin cost nothing on either side
        edge = 1e-12 * (1 + float(np.abs(reached).max()))
        solved = bool(np.all((signs * reached < 1 + edge)[short])) and bool(
            np.all((signs * reached > 1 - edge)[~short])
        )
        x = 1.0 if solved else _line_minimum(signs, cost, w, scores, goal, reached)
        w, b = w + x * (goal - w), b + x * (b_goal - b)
        scores = scores + x * (reached - scores)
    if not solved:
        warn_unfinished(n_iter, max_iter)
    pull = 2 * cost * np.maximum(0, 1 - signs * scores)
    size = float(pull @ np.sqrt(np.einsum("ij,ij->i", Z, Z)))
    vanishes = bool(np.linalg.norm(w) <= 1e-10 * size)
    return SolverResult(w, b, solved, n_iter, vanishes, finished=solved)


def _line_minimum(
    signs: Array, cost: Array, w: Array, scores: Array, goal: Array, reached: Array
) -> float:
    """The part of the way to `goal` where the problem is least: its slope is bisected.

    The slope grows with the way, is negative at its start and has its zero at or before the end of
    a step that a row leaves or joins.
    """
    direction, change = goal - w, reached - scores
    at_start, growth = float(w @ direction), float(direction @ direction)

    def slope(x: float) -> float:
        shortfall = np.maximum(0, 1 - signs * (scores + x * change))
        return at_start + x * growth - float((2 * cost * shortfall * signs) @ change)

    low, high = 0.0, 1.0
    while slope(high) < 0 and high < 1e9:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return (low + high) / 2
