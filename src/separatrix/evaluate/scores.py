"""Scores of predictions: mistakes, probabilities, areas and costs, and the one that ranks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import (
    balanced_accuracy_score,
    precision_recall_fscore_support,
    recall_score,
    roc_auc_score,
)

from separatrix.evaluate.records import LOSS_SCORES, SCORES
from separatrix.linalg import Array

MAX_SHARE_OF_OTHERS = 4.0
"""Rows of the largest class as a multiple of the mean of the others, beyond which classes are
very unequal: always naming it is right for more than 80 % of two classes."""


@dataclass(frozen=True)
class Degrees:
    """How much speaks for each class of each row.

    Attributes
    ----------
    probabilities : array (n_rows, n_classes) or None
        Of each class; 0 for a class that the rule never saw. None where the rule has none.
    degrees : array (n_rows, n_classes) or (n_rows, 1), or None
        Values of a decision function, which order rows and mean nothing else; one for two classes,
        growing with the evidence for the second.
    """

    probabilities: Array | None = None
    degrees: Array | None = None


NO_DEGREES = Degrees()
"""Those of a rule that only names classes."""


def find_degrees(rule: Any, rows: Any, n_classes: int) -> Degrees:
    """Probabilities and degrees of a fitted rule, as far as it has them and they are finite."""
    labels = np.asarray(getattr(rule, "classes_", np.arange(n_classes)))
    if labels.dtype.kind not in "iu" or (len(labels) and labels.max() >= n_classes):
        return NO_DEGREES
    probabilities = degrees = None
    if hasattr(rule, "predict_proba"):
        probabilities = _spread(np.asarray(rule.predict_proba(rows)), labels, n_classes)
    if hasattr(rule, "decision_function") and len(labels) == n_classes:
        values = np.asarray(rule.decision_function(rows), dtype=float)
        if n_classes == 2:
            values = values[:, None] if values.ndim == 1 else values[:, 1:] - values[:, :1]
        n_columns = 1 if n_classes == 2 else n_classes  # one against one has other columns
        degrees = values if values.ndim == 2 and values.shape[1] == n_columns else None
    return Degrees(_if_finite(probabilities), _if_finite(degrees))


def second_class(about: Degrees) -> tuple[float, ...]:
    """How much speaks for the second of two classes, row by row; empty where nothing says so."""
    if about.probabilities is not None:
        return tuple(about.probabilities[:, 1].tolist())
    return () if about.degrees is None else tuple(about.degrees[:, -1].tolist())


def _spread(values: Array, labels: Array, n_classes: int) -> Array | None:
    """Columns of the classes that a rule knows among those of all classes."""
    if values.ndim != 2 or values.shape[1] != len(labels):
        return None
    spread = np.zeros((len(values), n_classes))
    spread[:, labels] = values
    return spread


def _if_finite(values: Array | None) -> Array | None:
    return values if values is not None and np.isfinite(values).all() else None


def score_rows(
    truth: Array, predicted: Array, n_classes: int, *, about: Degrees = NO_DEGREES,
    costs: Array | None = None,
) -> dict[str, float]:  # fmt: skip
    """All the scores of a `Fold` that these rows have.

    Parameters
    ----------
    truth, predicted : arrays of int (n_rows,)
        Classes by number.
    n_classes : int
        How many there are.
    about : Degrees
        Probabilities and degrees of the rows.
    costs : array (n_classes, n_classes), optional
        Cost of predicting the class of the column where the row is right.

    Examples
    --------
    >>> scores = score_rows(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]), 2)
    >>> scores["accuracy"], scores["balanced_accuracy"], scores["precision"]
    (0.75, 0.8333333333333333, 0.75)
    """
    scores = score_predictions(truth, predicted)
    if n_classes == 2 and len(np.unique(truth)) == 2:
        for name, label in (("sensitivity", 1), ("specificity", 0)):
            scores[name] = float(recall_score(truth, predicted, pos_label=label))
    order = about.probabilities
    if order is None or (n_classes == 2 and about.degrees is not None):
        order = about.degrees  # it has more values than probabilities: many of these may be 1
    area = None if order is None else area_under_curves(truth, order)
    if area is not None:
        scores["auc"] = area
    if about.probabilities is not None:
        scores["log_loss"] = log_loss(truth, about.probabilities)
        scores["brier"] = brier(truth, about.probabilities)
    if costs is not None:
        scores["cost"] = float(costs[truth, predicted].mean())
    return scores


def score_predictions(truth: Array, predicted: Array) -> dict[str, float]:
    """The scores that need nothing but classes; those without a row of their own do not count.

    Examples
    --------
    >>> score_predictions(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))["accuracy"]
    0.75
    """
    present = np.unique(truth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class that was predicted need not be tested
        precision, recall, f, counts = precision_recall_fscore_support(
            truth, predicted, labels=present, zero_division=0.0
        )
        balanced = balanced_accuracy_score(truth, predicted)
    scores = {
        "accuracy": np.mean(truth == predicted),
        "balanced_accuracy": balanced,
        "macro_f": f.mean(),
        "weighted_f": np.average(f, weights=counts),
        "precision": precision.mean(),
        "recall": recall.mean(),
    }
    return {name: float(value) for name, value in scores.items()}


def area_under_curves(truth: Array, degrees: Array) -> float | None:
    """Mean over classes of the area under the curve of one class against the rest.

    A class counts where rows of it and of others are there; None where none does. One column is
    the degree of the second of two classes.

    Examples
    --------
    >>> area_under_curves(np.array([0, 1, 1]), np.array([[0.1], [0.7], [0.3]]))
    1.0
    """
    two = degrees.shape[1] <= 2
    columns = {1: degrees[:, -1]} if two else dict(enumerate(degrees.T))
    areas = [
        roc_auc_score(truth == c, column)
        for c, column in columns.items()
        if 0 < np.count_nonzero(truth == c) < len(truth)
    ]
    return float(np.mean(areas)) if areas else None


def log_loss(truth: Array, probabilities: Array) -> float:
    """Mean of -log of the probability of the right class; no probability counts as less than ε.

    Examples
    --------
    >>> round(log_loss(np.array([0, 1]), np.array([[0.5, 0.5], [0.0, 1.0]])), 3)
    0.347
    """
    right = probabilities[np.arange(len(truth)), truth]
    return float(-np.log(np.maximum(right, np.finfo(float).eps)).mean())


def brier(truth: Array, probabilities: Array) -> float:
    """Mean squared distance of the probabilities to the truth; half of it for two classes.

    Examples
    --------
    >>> brier(np.array([0, 1]), np.array([[0.5, 0.5], [0.0, 1.0]]))
    0.125
    """
    right = probabilities[np.arange(len(truth)), truth]
    squared = (probabilities**2).sum(axis=1) - 2 * right + 1
    return float(squared.mean() / (2 if probabilities.shape[1] == 2 else 1))


# The score that ranks and tunes ------------------------------------------------------------------


@dataclass(frozen=True)
class Judge:
    """The score that chooses settings and ranks methods.

    Attributes
    ----------
    score : str
        One of `SCORES`.
    costs : tuple of tuples of float
        Rows are right classes, columns predicted ones; empty where there are none.
    """

    score: str = "accuracy"
    costs: tuple[tuple[float, ...], ...] = ()

    @property
    def cost_matrix(self) -> Array | None:
        """The costs as an array, or None."""
        return np.array(self.costs) if self.costs else None

    def value(
        self, truth: Array, predicted: Array, n_classes: int, about: Degrees = NO_DEGREES
    ) -> float:
        """The score, larger being better; minus infinity where it does not exist.

        Examples
        --------
        >>> Judge("cost", ((0, 1), (5, 0))).value(np.array([0, 1]), np.array([0, 0]), 2)
        -2.5
        """
        if self.score == "accuracy":  # the usual one, without all the others
            return float(np.mean(truth == predicted))
        scores = score_rows(truth, predicted, n_classes, about=about, costs=self.cost_matrix)
        return larger_is_better(self.score, scores.get(self.score, math.nan))


def larger_is_better(score: str, value: float) -> float:
    """A score with the sign that makes more better; minus infinity where there is none.

    Examples
    --------
    >>> larger_is_better("brier", 0.2), larger_is_better("auc", 0.9)
    (-0.2, 0.9)
    """
    if not math.isfinite(value):
        return -math.inf
    return -value if score in LOSS_SCORES else value


def choose_score(score: str | None, codes: Array, costs: Any) -> str:
    """The score asked for; by default the one that suits the sizes of the classes.

    Examples
    --------
    >>> choose_score(None, np.repeat([0, 1], [90, 10]), None)
    'balanced_accuracy'
    """
    if score is not None:
        if score not in SCORES:
            raise ValueError(
                f"score={score!r} is not valid: it must be one of {', '.join(SCORES)}"
            )
        if score == "cost" and costs is None:
            raise ValueError(
                "score='cost' needs costs: a matrix with a row for each right class and a column "
                "for each predicted one"
            )
        n_classes = len(np.unique(codes))
        if score in ("sensitivity", "specificity") and n_classes != 2:
            raise ValueError(f"score={score!r} is for two classes, but y has {n_classes}")
        return score
    if costs is not None:
        return "cost"
    return "balanced_accuracy" if are_very_unequal(np.bincount(codes)) else "accuracy"


def are_very_unequal(counts: ArrayLike) -> bool:
    """Whether the largest class has more than four times the mean of the others.

    Examples
    --------
    >>> are_very_unequal([70, 30]), are_very_unequal([90, 10])
    (False, True)
    """
    sizes = np.sort(np.asarray(counts))
    return bool(len(sizes) > 1 and sizes[-1] > MAX_SHARE_OF_OTHERS * sizes[:-1].mean())


def check_costs(costs: Any, classes: Sequence[Any]) -> tuple[tuple[float, ...], ...]:
    """A matrix of costs as tuples; raise for another shape or values that are no costs.

    Parameters
    ----------
    costs : array, nested list or data frame (n_classes, n_classes), or None
        Rows are right classes, columns predicted ones, both in the order of the sorted labels; a
        data frame is sorted by its names.
    classes : sequence
        The labels, sorted.
    """
    if costs is None:
        return ()
    if hasattr(costs, "reindex"):
        labels = list(classes)
        for axis, names in (("row", costs.index), ("column", costs.columns)):
            missing = [label for label in labels if str(label) not in {str(n) for n in names}]
            if missing:
                raise ValueError(
                    f"costs has no {axis} for the class {missing[0]!r}: give a row for each right "
                    "class and a column for each predicted one"
                )
        known = {str(label): label for label in labels}
        named = costs.rename(index=lambda n: known.get(str(n), n))
        named = named.rename(columns=lambda n: known.get(str(n), n))
        costs = named.reindex(index=labels, columns=labels).to_numpy()
    try:
        matrix = np.asarray(costs, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"costs={costs!r} is no matrix of numbers") from None
    n = len(classes)
    if matrix.shape != (n, n):
        shape = " × ".join(map(str, matrix.shape)) or "no matrix"
        raise ValueError(
            f"costs is {shape}, but there are {n} classes: give {n} × {n} numbers, a row for each "
            "right class and a column for each predicted one, in the order of the sorted labels"
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any() or not matrix.any():
        raise ValueError(
            "costs must be numbers of at least 0, not all of them 0, with an entry for each pair "
            f"of the classes {', '.join(map(str, classes))}"
        )
    return tuple(tuple(row) for row in matrix.tolist())
