"""Where the IPCAC family cuts between two classes, and how steep the log-odds are there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from separatrix._warnings import warn_caller
from separatrix.base.parameters import Allowed, array_like, one_of, real_number
from separatrix.base.rows import centred_product
from separatrix.base.solution import Solution
from separatrix.decision.linear import check_priors, threshold_rule
from separatrix.decision.thresholds import (
    accuracy_threshold,
    balanced_threshold,
    gaussian_slope,
    logistic_slope,
    mahalanobis_threshold,
)
from separatrix.ipcac.expected import ExpectedScores
from separatrix.linalg import Array
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows
from separatrix.selection import held_out_parts

MIN_BIAS_TO_CORRECT = 0.2
"""Share of the gap between the training means that new rows must miss for "auto" to correct it."""

MIN_BIAS_TO_WARN = 0.5
"""The same share, where it cannot be corrected, from which a warning is given."""

FROM_MOMENTS = ("auto", "mahalanobis")
"""Values of `threshold` that need no more than moments."""

BALANCE = Allowed(
    lambda v: real_number(0, 1).test(v) and float(v) < 1, "a number in [0, 1)", (0.0, 0.9)
)

THRESHOLD_PARAMETERS: dict[str, Sequence[Allowed]] = {
    "threshold": (one_of("auto", "mahalanobis", "accuracy", "balanced", "held-out"),),
    "balance": (one_of("auto"), BALANCE),
    "priors": (one_of(None), array_like()),
}
"""Allowed values of the parameters that the family shares."""


class Cut(NamedTuple):
    """A threshold and how it was found.

    Attributes
    ----------
    sign, threshold, slope : float
        As in `decision.linear.threshold_rule`.
    name : str
        The public `threshold_rule_`.
    bias : float
        Share of the gap between the training means that new rows will not have; NaN if unknown.
    """

    sign: float
    threshold: float
    slope: float
    name: str
    bias: float = np.nan


class ProjectedClasses(NamedTuple):
    """Two classes of training rows along one direction, the second above the first."""

    sign: float
    means: Array
    stds: Array
    counts: Array
    priors: Array | None

    def cut_at(self, means: Array, stds: Array) -> float:
        """The Mahalanobis point (4.3) of these statistics, moved by the priors."""
        return mahalanobis_threshold(means, stds, self.counts, priors=self.priors)


def project_classes(
    solution: Solution,
    moments: ClassMoments,
    priors: ArrayLike | None,
    expected: ExpectedScores | None = None,
) -> ProjectedClasses:
    """Statistics of the classes along the one direction of a solution.

    Their spread is known where scores are expected along it, in another scale.
    """
    means = ((moments.means - moments.mean) @ solution.W)[:, 0]
    sign = 1.0 if means[1] >= means[0] else -1.0
    given = check_priors(priors, moments.classes)
    known = None if expected is None else expected.training_stds
    if expected is not None and known is not None and np.diff(expected.training):
        stds = known * np.abs(np.diff(means) / np.diff(expected.training))
    else:
        scatters = moments.project(solution.W).class_scatters[:, 0, 0].clip(0.0)
        stds = np.sqrt(scatters / moments.counts)
    return ProjectedClasses(sign, sign * means, stds, moments.counts, given)


def cut_by_training(known: ProjectedClasses, bias: float = np.nan) -> Cut:
    """The literal (4.3): between the means of the training rows."""
    slope = gaussian_slope(known.means, known.stds, known.counts)
    gamma = known.cut_at(known.means, known.stds)
    return Cut(known.sign, gamma, slope, "mahalanobis", bias)


def cut_by_expected(known: ProjectedClasses, expected: ExpectedScores) -> Cut:
    """(4.3) between the means that new rows are to be expected to have, where it matters.

    The slope is that of the expected scores whether the threshold is corrected or not.
    """
    if not expected.usable:
        return cut_by_training(known, expected.bias)
    unit = (known.means[1] - known.means[0]) / (expected.training[1] - expected.training[0])
    means, stds = unit * expected.means, unit * expected.stds
    slope = gaussian_slope(means, stds, known.counts)
    if expected.bias < MIN_BIAS_TO_CORRECT:
        gamma = known.cut_at(known.means, known.stds)
        return Cut(known.sign, gamma, slope, "mahalanobis", expected.bias)
    gamma = known.cut_at(means, stds)
    return Cut(known.sign, gamma, slope, "corrected", expected.bias)


def cut_by_held_out(known: ProjectedClasses, scores: Array, rows: LabelledRows) -> Cut:
    """(4.3) on scores of rows that did not help to find the direction.

    Parameters
    ----------
    known : ProjectedClasses
    scores : array (n_samples,)
        Towards the second class, in the unit of the direction; NaN for rows without a score.
    rows : LabelledRows
    """
    weights = np.ones(len(scores)) if rows.weights is None else rows.weights
    weights = np.where(np.isnan(scores), 0.0, weights)
    scores, codes = np.nan_to_num(scores), rows.codes
    counts = np.bincount(codes, weights, 2)
    if counts.min() == 0:
        return cut_by_training(known)
    means = np.bincount(codes, weights * scores, 2) / counts
    stds = np.sqrt(np.bincount(codes, weights * (scores - means[codes]) ** 2, 2) / counts)
    bias = float(1 - (means[1] - means[0]) / (known.means[1] - known.means[0]))
    if bias >= 1:  # the classes come out in the wrong order
        return cut_by_training(known, bias)
    gamma, judged = known.cut_at(means, stds), weights > 0
    slope = gaussian_slope(means, stds, counts)
    if np.isfinite(gamma):
        middle = mahalanobis_threshold(means, stds, counts)
        slope = logistic_slope(scores[judged] - middle, codes[judged] == 1, weights[judged])
    return Cut(known.sign, gamma, slope, "held-out", bias)


def cut_by_rows(
    known: ProjectedClasses, scores: Array, rows: LabelledRows, threshold: str, balance: Any
) -> Cut:
    """(3.17) or (3.22): by the sorted scores of the training rows."""
    plain = cut_by_training(known)
    if not np.isfinite(plain.threshold):
        return plain._replace(name=threshold)
    weights, positive = class_weights(rows, known.priors), rows.codes == 1
    if threshold == "accuracy":
        near = plain.threshold
        gamma = accuracy_threshold(scores, positive, weights=weights, near=near)
    else:
        gamma, _ = balanced_threshold(scores, positive, weights=weights, balance=balance)
    return plain._replace(threshold=gamma, name=threshold)


def class_weights(rows: LabelledRows, priors: Array | None) -> Array:
    """Weight of each row: its own, scaled so that the classes weigh as their priors."""
    weights = np.ones(len(rows.codes)) if rows.weights is None else rows.weights
    if priors is None:
        return weights
    totals = np.bincount(rows.codes, weights, minlength=2)
    return weights * (priors / totals)[rows.codes]


# Scores of rows that were held out ------------------------------------------------------------


def held_out_scores(model: Any, rows: LabelledRows) -> Array:
    """Scores of rows, each by a clone of the model that was fitted to the other folds.

    Every clone has unit variance over the rows it was fitted to, as the model itself has: their
    scores have one unit. A row that could not be held out has NaN, and so have rows of further
    folds where the first ones have enough of each class.
    """
    scores = np.full(len(rows.codes), np.nan)
    counted = np.arange(len(rows.codes)) if rows.weights is None else np.flatnonzero(rows.weights)
    codes = rows.codes[counted]
    # rows that are forgotten are gone already, and those that fade have their weights
    changed = {n: None for n in ("window", "decay") if n in model.get_params()}
    counted_rows = rows.part(counted)
    for fitted, held in held_out_parts(codes, **counted_rows.splitting):
        part = clone(model).set_params(threshold="mahalanobis", priors=None, **changed)
        known, new = counted[fitted], counted[held]
        weights = {} if rows.weights is None else {"sample_weight": rows.weights[known]}
        splitting = rows.part(known).splitting
        part.fit(_pairs(model, rows.X, known, known), rows.codes[known], **weights, **splitting)
        if part.threshold_ is not None:
            X_new = _pairs(model, rows.X, new, known)
            towards_second = np.sign(part._rule.coef[1, 0])
            scores[new] = towards_second * part.transform(X_new)[:, 0]
    return scores


def _pairs(model: Any, X: Any, chosen: Array, known: Array) -> Any:
    """Some rows; of kernel values the columns of the known rows only."""
    part = X[chosen]
    return part[:, known] if getattr(model, "kernel", None) == "precomputed" else part


# Estimators -----------------------------------------------------------------------------------


def find_cut(
    model: Any,
    solution: Solution,
    moments: ClassMoments,
    rows: Any,
) -> Cut:
    """The cut that the parameters of a model ask for, along the one direction of a solution."""
    expected = solution.extras.get("_expected")
    known = project_classes(solution, moments, model.priors, expected)
    left_out = solution.extras.get("_left_out")
    if model.threshold == "held-out" and left_out is None:
        left_out = held_out_scores(model, rows)
    if left_out is not None:
        return cut_by_held_out(known, left_out, rows)
    if model.threshold == "auto" and expected is not None:
        return cut_by_expected(known, expected)
    if model.threshold in FROM_MOMENTS:
        return cut_by_training(known)
    assert isinstance(rows, LabelledRows), "check_threshold comes first"
    Z = centred_product(rows.X, moments.mean, solution.W)[:, 0]
    scores = known.sign * Z.astype(np.float64)
    return cut_by_rows(known, scores, rows, model.threshold, model.balance)


def add_threshold(
    model: Any,
    add_gaussian: Callable[..., Solution],
    solution: Solution,
    moments: ClassMoments,
    rows: Any,
) -> Solution:
    """The solution with the rule of this family: a threshold for two classes, else Gaussian."""
    two = len(moments.classes) == 2 and solution.W.shape[1] > 0
    cut = find_cut(model, solution, moments, rows) if two else None
    kept = {k: v for k, v in solution.extras.items() if k not in ("_expected", "_left_out")}
    solution = add_gaussian(solution._replace(extras=kept), moments, rows)
    if cut is None:
        return solution.with_extras(threshold_=None, threshold_rule_=None)
    warn_of_bias(model.threshold, cut)
    rule = threshold_rule(cut.sign, cut.threshold, cut.slope)
    return solution.with_extras(threshold_=cut.threshold, threshold_rule_=cut.name, _rule=rule)


def warn_of_bias(threshold: str, cut: Cut) -> None:
    """Warn where new rows will miss much of the gap, and the threshold could not be corrected."""
    asked = threshold in ("auto", "held-out")
    if asked and cut.name == "mahalanobis" and cut.bias > MIN_BIAS_TO_WARN:
        warn_caller(
            f"{100 * min(cut.bias, 1.0):.0f} % of the distance between the projected class means "
            "is expected to be missing for new rows, and the threshold could not be corrected: "
            "the means hardly differ, or rows are too few for these features. Use TruncatedIPCAC "
            "with a small n_whitened, or give more rows of the rarer class"
        )


def check_threshold_needs_rows(threshold: str, n_classes: int) -> None:
    """Raise when a threshold asks for all rows, and only their moments are at hand."""
    if n_classes == 2 and threshold not in FROM_MOMENTS:
        raise ValueError(
            f'threshold="{threshold}" needs all rows at once: use fit, or threshold="auto" or '
            '"mahalanobis" to update or merge models'
        )


def check_threshold_of_blocks(threshold: str) -> None:
    """Raise when a threshold asks for rows that are not in memory."""
    if threshold not in FROM_MOMENTS:
        raise ValueError(
            f'threshold="{threshold}" looks at the projections of all rows, and needs them '
            'in memory: use threshold="auto" or "mahalanobis" for a Dask collection'
        )
