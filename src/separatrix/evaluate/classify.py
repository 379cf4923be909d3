"""The rule that classifies rows in the subspace of a method, and how settings are judged by it."""

from __future__ import annotations

from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection._search import BaseSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from separatrix.evaluate.methods import Contender, find_rule, has_own_rule
from separatrix.evaluate.scores import Degrees, Judge, find_degrees
from separatrix.linalg import Array
from separatrix.moments.labelled import LabelledRows
from separatrix.selection import Scorer, neighbour_scores, neighbour_shares

# Rules on top of a subspace ----------------------------------------------------------------------


THREE_NEIGHBOURS = "KNeighborsClassifier(n_neighbors=3)"
"""The rule whose scores in all leading coordinates take one pass, as it is printed."""

DIMENSIONS_TRIED = (1, 2, 3, 5, 8, 13, 21, 34)
"""Numbers of directions that a classifier on top is fitted with when their number is chosen; the
largest there is comes with them."""


def rule_to_keep(rule: Any, n_rows: int) -> Any:
    """A fresh rule for a model that is kept."""
    rule = limit_neighbours(rule, n_rows)
    if isinstance(rule, KNeighborsClassifier):
        rule.set_params(algorithm="brute")  # a tree of rows is a type that model files do not hold
    return rule


def limit_neighbours(rule: Any, n_rows: int) -> Any:
    """A fresh rule that asks no more neighbours than there are rows."""
    fresh = clone(rule)
    if isinstance(fresh, KNeighborsClassifier):
        fresh.set_params(n_neighbors=min(fresh.n_neighbors, n_rows))
    return fresh


def rule_of(contender: Contender) -> Contender | None:
    """The classifier on top of a method; None where it decides itself."""
    if not hasattr(contender.estimator, "transform"):
        return None
    if contender.then is None and not has_own_rule(contender.estimator):
        return find_rule("3nn")
    return contender.then


def scorer_of(rule: Any, n_classes: int = 0, judge: Judge | None = None) -> Scorer:
    """How leading coordinates are scored: by the rule; by nearest neighbours where it is None."""
    judge = judge or Judge()
    if rule is None or (isinstance(rule, KNeighborsClassifier) and repr(rule) == THREE_NEIGHBOURS):
        if judge.score == "accuracy":
            return neighbour_scores
        return _judge_neighbours(judge, n_classes)
    return _judge_rule(rule, judge, n_classes)


def _judge_neighbours(judge: Judge, n_classes: int) -> Scorer:
    def scores(Z: Array, y: Array, Z_new: Array, y_new: Array, ends: Array) -> Array:
        shares = neighbour_shares(Z, y, Z_new, ends, n_classes)
        return np.array(
            [judge.value(y_new, s.argmax(axis=1), n_classes, Degrees(s)) for s in shares]
        )

    return scores


def _judge_rule(rule: Any, judge: Judge, n_classes: int) -> Scorer:
    """Fit a rule to the leading coordinates; dimensions that are not tried are never the best."""

    def scores(Z: Array, y: Array, Z_new: Array, y_new: Array, ends: Array) -> Array:
        scored = np.full(len(ends), -np.inf)
        for i, end in enumerate(ends):
            if i + 1 in DIMENSIONS_TRIED or i + 1 == len(ends):
                fitted = limit_neighbours(rule, len(y)).fit(Z[:, :end], y)
                scored[i] = judge_rows(judge, fitted, Z_new[:, :end], y_new, n_classes)
        return scored

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
    model: Any, X: Any, codes: Array, rule: Any, columns: Array | None = None
) -> FittedMethod:
    """A fitted method with its rule, which learns from rows in the subspace; None is its own."""
    if rule is None:
        return FittedMethod(model, model)
    fitted = FittedMethod(model, None, columns)
    Z = fitted.project(X)
    if Z.shape[1] == 0:
        raise ValueError("no direction was found that separates the classes")
    return fitted._replace(rule=limit_neighbours(rule, len(codes)).fit(Z, codes))
