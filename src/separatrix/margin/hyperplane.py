"""The soft-margin hyperplane: the support vector machine as a convex problem, solved exactly.

``min ½‖w‖² + Σ c_i max(0, 1 - y_i (w·z_i + b))`` over w and b, for rows z_i with signs y_i; with
``loss="squared_hinge"`` the square of the maximum.

Three solvers, each for the problems where the others are slow (CPU times with one thread): small
and wide ones by decomposition of the dual, up to 10 times as fast there as Newton's method; tall
ones by Newton's method (`newton`), 45 to 380 times as fast there where classes overlap and costs
are high; those too large for either by coordinate descent.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from separatrix.linalg import Array
from separatrix.margin.active_set import (
    MAX_SET_CHANGES,
    MarginProblem,
    MarginSets,
    Points,
    solve_on_margin,
)
from separatrix.margin.newton import (
    SolverResult,
    capped_newton,
    exact_result,
    is_better_than_none,
    warn_unfinished,
)
from separatrix.margin.squared import newton_squared

LOSSES = ("hinge", "squared_hinge")
"""What a row short of its margin costs: its shortfall, or the square of it."""

MAX_NEWTON_PRODUCTS = 1e10
"""Multiplications (rows × features²) of a Newton step up to which tall problems are exact."""

MAX_WIDE_GRAM_ROWS = 5000
"""Rows of a wide problem whose inner products are held all at once (200 MB)."""

MAX_TALL_GRAM_ROWS = 600
"""Rows of a tall problem up to which decomposition is tried first: about a millisecond, where the
steps of Newton's method take ten."""


class Hyperplane(NamedTuple):
    """The hyperplane ``w·z + b = 0`` between two classes, and how it was found.

    Attributes
    ----------
    normal : array (r,)
        w, so scaled that the margins are at ``w·z + b = ±1``; zero when no hyperplane is better
        than calling every row a member of the heavier class.
    intercept : float
        b.
    exact : bool
        Whether the conditions of optimality hold to numerical precision.
    n_iter : int
        Steps that were made.
    """

    normal: Array
    intercept: float
    exact: bool
    n_iter: int


def prepare_points(rows: Array) -> Points:
    """Centred rows, with their inner products if the solver for their size needs them."""
    by_products = choose_solver(*rows.shape) is decompose_dual
    return Points(rows, rows @ rows.T if by_products else None)


def soft_margin_hyperplane(
    points: Points,
    signs: Array,
    cost: Array,
    *,
    tol: float = 1e-4,
    max_iter: int = 1000,
    loss: str = "hinge",
) -> Hyperplane:
    """Minimise ``½‖w‖² + Σ cost_i max(0, 1 - signs_i (w·z_i + b))``.

    Wide and small problems by decomposition of the dual (libsvm), tall ones by Newton's method on
    a smoothed loss: both to numerical precision as a rule, and else to `tol`. Large ones of either
    kind by coordinate descent in the dual (liblinear), which penalises the intercept too: with
    classes of unlike sizes the normal may be off by a few hundredths of a radian, whatever `tol`.

    Parameters
    ----------
    points : Points
        Rows z_i, centred.
    signs : array (n,)
        1 or -1.
    cost : array (n,)
        Cost of a row at one margin's width on the wrong side of its margin.
    tol : float
        How far from 1 the margin of a support vector may end.
    max_iter : int
        Steps at most.
    loss : "hinge" or "squared_hinge"
        Whether the maximum is squared; then Newton's method is exact for all but large problems.

    Examples
    --------
    >>> Z = np.array([[-3.0, 5.0], [-1.0, 0.0], [1.0, 0.0], [2.0, -5.0]])
    >>> signs, cost = np.array([-1, -1, 1, 1]), np.full(4, 1e3)
    >>> plane = soft_margin_hyperplane(prepare_points(Z), signs, cost)
    >>> plane.normal.round(9) + 0, round(plane.intercept, 9) + 0
    (array([1., 0.]), 0.0)
    """
    n, r = points.rows.shape
    scale = float(np.sqrt(np.vdot(points.rows, points.rows) / n))
    if scale == 0:
        return Hyperplane(np.zeros(r), 0.0, True, 0)
    # all tolerances below are for data of size 1
    solve = choose_solver(n, r, loss)
    found = solve(points.divide(scale), signs, cost * scale**2, tol, max_iter)
    w = np.zeros(r) if found.vanishes else found.normal / scale
    return Hyperplane(w, found.intercept, found.exact, found.n_iter)


def choose_solver(
    n_rows: int, n_features: int, loss: str = "hinge"
) -> Callable[..., SolverResult]:
    """The function that is quickest for a problem of this size."""
    if loss == "squared_hinge":
        large = n_rows * min(n_rows, n_features) ** 2 > MAX_NEWTON_PRODUCTS
        return partial(descend_dual, loss=loss) if large else newton_squared
    if _is_wide(n_rows, n_features):
        return decompose_dual if n_rows <= MAX_WIDE_GRAM_ROWS else descend_dual
    if n_rows <= MAX_TALL_GRAM_ROWS:
        return decompose_dual
    within_reach = n_rows * n_features**2 <= MAX_NEWTON_PRODUCTS
    return capped_newton if within_reach else descend_dual


def _is_wide(n_rows: int, n_features: int) -> bool:
    return 2 * n_features >= n_rows


def decompose_dual(
    points: Points, signs: Array, cost: Array, tol: float, max_iter: int
) -> SolverResult:
    """scikit-learn's `SVC` on inner products, and its support vectors put exactly on their margin.

    libsvm holds inner products in single precision: it says which rows are on their margin, and
    with these the hyperplane is a linear system. Where that does not lead to the minimum,
    `capped_newton` finds it; of tall problems soon, because it is the quicker one there.
    """
    assert points.gram is not None, "rows of this shape come with their inner products"
    wide = _is_wide(*points.rows.shape)
    # a step changes two weights: wide problems end long before, tall ones with high costs never
    max_pairs = 1000 + (50 if wide else 20) * len(signs)
    model = SVC(kernel="precomputed", tol=1e-3, max_iter=max_pairs)
    with warnings.catch_warnings(), _without_checks():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(points.gram, signs.astype(int), sample_weight=cost)
    if wide or model.fit_status_ == 0:
        sets = _margin_sets(model, cost)
        tries = min(MAX_SET_CHANGES, max_iter)
        exact, n_iter = solve_on_margin(MarginProblem(points, signs, cost), sets, tries)
        if exact is not None:
            return exact_result(points.rows, exact, n_iter)
    return capped_newton(points if wide else Points(points.rows, None), signs, cost, tol, max_iter)


def _margin_sets(model: SVC, cost: Array) -> MarginSets:
    """The rows short of their margin, beyond and on it, by the weights that libsvm gives them."""
    duals = np.zeros(len(cost))
    duals[model.support_] = np.abs(model.dual_coef_[0])
    return MarginSets.by_masks(duals >= (1 - 1e-9) * cost, duals <= 0)


def descend_dual(
    points: Points, signs: Array, cost: Array, tol: float, max_iter: int, loss: str = "hinge"
) -> SolverResult:
    """scikit-learn's `LinearSVC`.

    liblinear penalises the intercept as a weight. It is scaled to cost little beside all rows,
    and no more than that: a large scale makes the descent slow.
    """
    Z = points.rows
    bias_scale = max(1.0, 30 / float(np.sqrt(cost.sum())))
    model = LinearSVC(
        loss=loss, tol=tol, max_iter=max_iter, intercept_scaling=bias_scale, random_state=0
    )
    with warnings.catch_warnings(record=True) as caught, _without_checks():
        warnings.simplefilter("always")
        model.fit(Z, signs, sample_weight=cost)
    w, b, n_iter = model.coef_[0], float(model.intercept_[0]), int(np.max(model.n_iter_))
    finished = not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    if not finished:
        warn_unfinished(n_iter, max_iter)
    # the squared loss is smooth: it has a direction unless the class means coincide
    hinge = loss == "hinge"
    vanishes = hinge and finished and not is_better_than_none(Z, signs, cost, w, b)
    return SolverResult(w, b, False, n_iter, vanishes, finished=finished)


def _without_checks() -> AbstractContextManager[None]:
    """Skip scikit-learn's checks of arrays checked before: they outlast a small problem."""
    return config_context(assume_finite=True, skip_parameter_validation=True)
