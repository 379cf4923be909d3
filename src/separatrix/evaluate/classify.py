"""The rule that classifies rows in the subspace of a method, and the scores of its predictions."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    recall_score,
    roc_auc_score,
)
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid

from separatrix.evaluate.methods import Contender, has_own_rule
from separatrix.fisher.fisher import FisherDiscriminant
from separatrix.linalg import Array
from separatrix.selection import Scorer, classifier_scores, neighbour_scores

# Rules on top of a subspace ----------------------------------------------------------------------


DECISION_RULES = {
    "3nn": lambda n_rows: KNeighborsClassifier(min(3, n_rows)),
    "centroid": lambda n_rows: NearestCentroid(),
    "gaussian": lambda n_rows: FisherDiscriminant(),
}
"""Three nearest neighbours, the nearest class mean, Gaussians of one covariance."""


def rule_to_keep(decision: str, n_rows: int) -> Any:
    """A fresh rule for a model that is kept; None where the method decides itself."""
    if decision == "own":
        return None
    if decision == "3nn":  # all distances: a tree of rows is a type that model files do not hold
        return KNeighborsClassifier(min(3, n_rows), algorithm="brute")
    return DECISION_RULES[decision](n_rows)


def decision_of(contender: Contender, decision: str) -> str:
    """The rule that classifies for a method: its own only where it has one."""
    if not hasattr(contender.estimator, "transform"):
        return "own"
    if decision == "own" and not has_own_rule(contender.estimator):
        return "3nn"
    return decision


def scorer_of(decision: str, n_rows: int) -> Scorer:
    """How leading coordinates are scored: by the rule, or nearest neighbours for "own"."""
    if decision in ("own", "3nn"):
        return neighbour_scores
    return classifier_scores(DECISION_RULES[decision](n_rows))


def project_rows(model: Any, X: Any) -> Any:
    """Rows as a fitted transformer gives them: an array, or sparse where nothing was projected."""
    Z = model.transform(X)
    return Z if sp.issparse(Z) else np.asarray(Z)


class FittedMethod(NamedTuple):
    """A fitted method and the rule that classifies; the rule may be the method itself.

    `columns` are those of the projection that the rule sees; None is all of them.
    """

    model: Any
    rule: Any
    columns: Array | None = None

    def project(self, X: Any) -> Any:
        """Rows in the directions that are kept."""
        Z = project_rows(self.model, X)
        return Z if self.columns is None else Z[:, self.columns]

    def rows_for_rule(self, X: Any) -> Any:
        """Rows as the rule takes them."""
        return X if self.rule is self.model else self.project(X)


def add_rule(
    model: Any, X: Any, codes: Array, decision: str, columns: Array | None = None
) -> FittedMethod:
    """A fitted method with its rule, which learns from rows in the subspace."""
    if decision == "own":
        return FittedMethod(model, model)
    fitted = FittedMethod(model, None, columns)
    Z = fitted.project(X)
    if Z.shape[1] == 0:
        raise ValueError("no direction was found that separates the classes")
    return fitted._replace(rule=DECISION_RULES[decision](len(codes)).fit(Z, codes))


# Scores ------------------------------------------------------------------------------------------


def second_class_degrees(rule: Any, rows: Any) -> Array | None:
    """A number that grows with the evidence for the second of two classes; None without one."""
    if hasattr(rule, "decision_function"):
        found = np.asarray(rule.decision_function(rows))
        return found if found.ndim == 1 else found[:, 1] - found[:, 0]
    if hasattr(rule, "predict_proba"):
        return np.asarray(rule.predict_proba(rows))[:, 1]
    return None


def score_predictions(truth: Array, predicted: Array) -> dict[str, float]:
    """The scores of a `Fold` that any number of classes has.

    Examples
    --------
    >>> score_predictions(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]))["accuracy"]
    0.75
    """
    present = np.unique(truth)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class that was predicted need not be tested
        scores = {
            "accuracy": accuracy_score(truth, predicted),
            "balanced_accuracy": balanced_accuracy_score(truth, predicted),
            "macro_f": f1_score(
                truth, predicted, labels=present, average="macro", zero_division=0.0
            ),
        }
    return {name: float(value) for name, value in scores.items()}


def score_two_classes(truth: Array, predicted: Array, degree: Array | None) -> dict[str, float]:
    """The scores that need two classes, 0 and 1, both among the rows tested."""
    if len(np.unique(truth)) < 2:
        return {}
    scores = {
        "sensitivity": recall_score(truth, predicted, pos_label=1),
        "specificity": recall_score(truth, predicted, pos_label=0),
    }
    if degree is not None and np.isfinite(degree).all():
        scores["auc"] = roc_auc_score(truth, degree)
    return {name: float(value) for name, value in scores.items()}
