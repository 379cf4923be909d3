"""The soft-margin hyperplane: the support vector machine as a convex problem.

``min ½‖w‖² + Σ c_i max(0, 1 - y_i (w·z_i + b))`` over w and b, for rows z_i with signs y_i.

Newton's method (`newton`) solves it to nine digits, from a start that libsvm gives for wide and
small problems: there it is up to 10 times as fast, and slow where classes overlap and costs are
high. Beyond the reach of Newton's method coordinate descent (liblinear) solves it, which penalises
the intercept.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

import numpy as np
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, LinearSVC

from separatrix.linalg import Array
from separatrix.margin.newton import (
    NewtonStart,
    SolverResult,
    capped_newton,
    is_better_than_none,
    warn_unfinished,
)
from separatrix.margin.points import Points

MAX_NEWTON_PRODUCTS = 2e10
"""Multiplications (rows × features²) of a Newton step up to which tall problems are exact. Half of
that, 26000 rows of 640 features, took liblinear three times as long, and was 0.4 radians off."""

MAX_WIDE_GRAM_ROWS = 5000
"""Rows of a wide problem whose inner products are held all at once (200 MB)."""

MAX_TALL_GRAM_ROWS = 600
"""Rows of a tall problem up to which decomposition is tried first: about a millisecond, where the
steps of Newton's method take ten."""

LIBSVM_HALF_WIDTH = 5e-3
"""ε of the first zone around the margins of libsvm, which ends at 1e-3 of the margin."""

MAX_DESCENT_STEPS = 1000
"""Passes of liblinear over the rows."""


class Hyperplane(NamedTuple):
    """The hyperplane ``w·z + b = 0`` between two classes, and how it was computed.

    Attributes
    ----------
    normal : array (r,)
        w, so scaled that the margins are at ``w·z + b = ±1``; zero when no hyperplane is better
        than calling every row a member of the heavier class.
    intercept : float
        b.
    exact : bool
        Whether the conditions of optimality hold to nine digits.
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


def soft_margin_hyperplane(points: Points, signs: Array, cost: Array) -> Hyperplane:
    """Minimise ``½‖w‖² + Σ cost_i max(0, 1 - signs_i (w·z_i + b))``.

    Parameters
    ----------
    points : Points
        Rows z_i, centred.
    signs : array (n,)
        1 or -1.
    cost : array (n,)
        Cost of a row at one margin's width on the wrong side of its margin.

    Examples
    --------
    >>> Z = np.array([[-3.0, 5.0], [-1.0, 0.0], [1.0, 0.0], [2.0, -5.0]])
    >>> signs, cost = np.array([-1, -1, 1, 1]), np.full(4, 1e3)
    >>> plane = soft_margin_hyperplane(prepare_points(Z), signs, cost)
    >>> plane.normal.round(6) + 0, round(plane.intercept, 6) + 0
    (array([1., 0.]), 0.0)
    """
    n, r = points.rows.shape
    scale = points.size()
    if scale == 0:
        return Hyperplane(np.zeros(r), 0.0, True, 0)
    # all tolerances are for data of size 1
    scale = 1.0 if abs(scale - 1) < 1e-9 else scale
    solve = choose_solver(n, r)
    result = solve(points if scale == 1 else points.divide(scale), signs, cost * scale**2)
    w = np.zeros(r) if result.vanishes else result.normal / scale
    return Hyperplane(w, result.intercept, result.exact, result.n_iter)


def choose_solver(n_rows: int, n_features: int) -> Callable[[Points, Array, Array], SolverResult]:
    """The function that is quickest for a problem of this size."""
    if _is_wide(n_rows, n_features):
        return decompose_dual if n_rows <= MAX_WIDE_GRAM_ROWS else descend_dual
    if n_rows <= MAX_TALL_GRAM_ROWS:
        return decompose_dual
    within_reach = n_rows * n_features**2 <= MAX_NEWTON_PRODUCTS
    return capped_newton if within_reach else descend_dual


def _is_wide(n_rows: int, n_features: int) -> bool:
    return 2 * n_features >= n_rows


def decompose_dual(points: Points, signs: Array, cost: Array) -> SolverResult:
    """scikit-learn's `SVC` on inner products, finished by Newton's method.

    libsvm holds inner products in single precision: it says about which rows are on their margin.
    """
    assert points.gram is not None, "rows of this shape come with their inner products"
    wide = _is_wide(*points.rows.shape)
    # a step changes two weights: wide problems end long before, tall ones with high costs never
    max_pairs = 1000 + (50 if wide else 20) * len(signs)
    model = SVC(kernel="precomputed", tol=1e-3, max_iter=max_pairs)
    with warnings.catch_warnings(), _without_checks():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(points.gram, signs.astype(int), sample_weight=cost)
    start = None
    if model.fit_status_ == 0:
        w = model.dual_coef_[0] @ points.rows[model.support_]
        start = NewtonStart(w, float(model.intercept_[0]), LIBSVM_HALF_WIDTH)
    return capped_newton(points if wide else Points(points.rows, None), signs, cost, start)


def descend_dual(points: Points, signs: Array, cost: Array) -> SolverResult:
    """scikit-learn's `LinearSVC`, for problems beyond Newton's method.

    liblinear penalises the intercept as a weight. It is scaled so that this costs little compared
    with all rows; a larger scale makes the descent slow.
    """
    Z, bias_scale = points.rows, max(1.0, 30 / float(np.sqrt(cost.sum())))
    model = LinearSVC(
        loss="hinge",
        tol=1e-4,
        max_iter=MAX_DESCENT_STEPS,
        intercept_scaling=bias_scale,
        random_state=0,
    )
    with warnings.catch_warnings(record=True) as caught, _without_checks():
        warnings.simplefilter("always")
        model.fit(Z, signs, sample_weight=cost)
    w, b, n_iter = model.coef_[0], float(model.intercept_[0]), int(np.max(model.n_iter_))
    finished = not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    if not finished:
        warn_unfinished(n_iter)
    vanishes = finished and not is_better_than_none(Z, signs, cost, w, b)
    return SolverResult(w, b, False, n_iter, vanishes)


def _without_checks() -> AbstractContextManager[None]:
    """Skip scikit-learn's checks of arrays checked before: they outlast a small problem."""
    return config_context(assume_finite=True, skip_parameter_validation=True)
