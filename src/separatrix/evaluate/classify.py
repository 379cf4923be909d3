"""The rule that classifies rows in the subspace of a method, and how settings are judged by it."""

from __future__ import annotations

from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection._search import BaseSearchCV
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import Pipeline

from separatrix.evaluate.methods import Contender, has_own_rule
from separatrix.evaluate.scores import Degrees, Judge, find_degrees
from separatrix.fisher.fisher import FisherDiscriminant
from separatrix.linalg import Array
from separatrix.moments.labelled import LabelledRows
from separatrix.selection import Scorer, neighbour_scores, neighbour_shares

# Rules on top of a subspace ----------------------------------------------------------------------


DECISION_RULES = {
    "3nn": lambda n_rows: KNeighborsClassifier(min(3, n_rows)),
    "centroid": lambda n_rows: NearestCentroid(),
    "gaussian": lambda n_rows: FisherDiscriminant(),
}
"""Three nearest neighbours, the nearest class mean, Gaussians of one covariance."""


THEN = "then"
"""The decision of a comparison in which one classifier stands on top of every subspace."""

DIMENSIONS_TRIED = (1, 2, 3, 5, 8, 13, 21, 34)
"""Numbers of directions that a classifier on top is fitted with when their number is chosen; the
largest there is comes with them."""


def rule_to_keep(decision: str, n_rows: int, then: Any = None) -> Any:
    """A fresh rule for a model that is kept; None where the method decides itself."""
    if decision == "own":
        return None
    if decision == "3nn":  # all distances: a tree of rows is a type that model files do not hold
        return KNeighborsClassifier(min(3, n_rows), algorithm="brute")
    return make_rule(decision, n_rows, then)


def make_rule(decision: str, n_rows: int, then: Any = None) -> Any:
    """A fresh rule on top of a subspace; `then` is the classifier of the decision "then"."""
    return clone(then) if decision == THEN else DECISION_RULES[decision](n_rows)


def decision_of(contender: Contender, decision: str) -> str:
    """The rule that classifies for a method: its own only where it has one."""
    if not hasattr(contender.estimator, "transform"):
        return "own"
    if decision == "own" and not has_own_rule(contender.estimator):
        return "3nn"
    return decision


def scorer_of(
    decision: str, n_rows: int, n_classes: int = 0, judge: Judge | None = None, then: Any = None
) -> Scorer:
    """How leading coordinates are scored: by the rule, or nearest neighbours for "own".

    Without a judge by the share that is right, and by nearest neighbours for "then", too.
    """
    if decision in ("own", "3nn") or (decision == THEN and judge is None):
        if judge is None or judge.score == "accuracy":
            return neighbour_scores
        return _judge_neighbours(judge, n_classes)
    rule = make_rule(decision, n_rows, then)
    tried = DIMENSIONS_TRIED if decision == THEN else None
    return _judge_rule(rule, judge or Judge(), n_classes, tried)


def _judge_neighbours(judge: Judge, n_classes: int) -> Scorer:
    def scores(Z: Array, y: Array, Z_new: Array, y_new: Array, ends: Array) -> Array:
        shares = neighbour_shares(Z, y, Z_new, ends, n_classes)
        return np.array(
            [judge.value(y_new, s.argmax(axis=1), n_classes, Degrees(s)) for s in shares]
        )

    return scores


def _judge_rule(rule: Any, judge: Judge, n_classes: int, tried: tuple[int, ...] | None) -> Scorer:
    """Fit a rule to the leading coordinates; dimensions that are not tried are never the best."""

    def scores(Z: Array, y: Array, Z_new: Array, y_new: Array, ends: Array) -> Array:
        found = np.full(len(ends), -np.inf)
        for i, end in enumerate(ends):
            if tried is None or i + 1 in tried or i + 1 == len(ends):
                fitted = clone(rule).fit(Z[:, :end], y)
                found[i] = judge_rows(judge, fitted, Z_new[:, :end], y_new, n_classes)
        return found

    return scores


def fit_to(estimator: Any, rows: LabelledRows) -> Any:
    """Fit to labelled rows; an estimator that makes choices gets their groups, or splitter."""
    return estimator.fit(rows.X, rows.codes, **splitting_for(estimator, rows))


def splitting_for(estimator: Any, rows: LabelledRows) -> dict[str, Any]:
    """How rows are held out, as far as the `fit` of an estimator takes it."""
    last, prefix = estimator, ""
    while isinstance(last, Pipeline):
        prefix += f"{last.steps[-1][0]}__"
        last = last.steps[-1][1]
    taken = set(signature(last.fit).parameters)
    if isinstance(last, BaseSearchCV) and hasattr(last.cv, "split"):
        taken.add("groups")
    return {f"{prefix}{name}": v for name, v in rows.splitting.items() if name in taken}


def judge_rows(judge: Judge, rule: Any, rows: Any, truth: Array, n_classes: int) -> float:
    """The score that ranks, of a fitted rule on rows that it takes."""
    predicted = np.asarray(rule.predict(rows))
    if judge.score == "accuracy":
        return judge.value(truth, predicted, n_classes)
    return judge.value(truth, predicted, n_classes, find_degrees(rule, rows, n_classes))


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
    model: Any,
    X: Any,
    codes: Array,
    decision: str,
    columns: Array | None = None,
    then: Any = None,
) -> FittedMethod:
    """A fitted method with its rule, which learns from rows in the subspace."""
    if decision == "own":
        return FittedMethod(model, model)
    fitted = FittedMethod(model, None, columns)
    Z = fitted.project(X)
    if Z.shape[1] == 0:
        raise ValueError("no direction was found that separates the classes")
    return fitted._replace(rule=make_rule(decision, len(codes), then).fit(Z, codes))
