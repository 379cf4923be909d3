"""From labelled rows to a fitted classifier, a model of missing values, and a score."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

from separatrix.base.affine import AffineMap, read_affine
from separatrix.decision.local_qda import LocalQDA
from separatrix.decision.quadratic import Quadratic
from separatrix.early.arrival import checkpoint_times, stack_channels
from separatrix.early.conditional import (
    ConditionalModel,
    FeatureSummary,
    fit_normal_models,
    select_shrinkage,
    summarize_features,
)
from separatrix.early.discriminants import (
    READABLE_CLASSIFIERS,
    ExactRule,
    read_rule,
)
from separatrix.early.gaps import fill_gaps
from separatrix.early.judges import AnyJudge, ModelJudge, PrefixJudge, SampledJudge
from separatrix.early.modelled import ModelScore
from separatrix.early.prefixes import PrefixScore, fit_prefixes
from separatrix.early.regions import COORDINATE_REGIONS
from separatrix.early.sampled import SampledScore
from separatrix.linalg import Array
from separatrix.moments.labelled import LabelledRows
from separatrix.selection import N_FOLDS, training_parts

MIN_OPEN_VARIANCE = 1e-9
"""Variance of functions, relative to that before the first value, that is not yet zero."""


class CompleteClassifier(NamedTuple):
    """A fitted classifier of complete rows.

    Attributes
    ----------
    classes : array (n_classes,)
    features, reducer : transformer or None
    estimator : classifier
    n_channels : int
    """

    classes: Array
    features: Any | None
    reducer: Any | None
    estimator: Any
    n_channels: int

    def classify(self, rows: Array) -> Array:
        """Numbers of the classes of complete rows."""
        if self.features is not None:
            rows = self.features.transform(stack_channels(rows, self.n_channels))
        labels = self.estimator.predict(reduce_rows(self.reducer, rows))
        return np.searchsorted(self.classes, labels)


class EarlySolution(NamedTuple):
    """The fitted parts of an `EarlyClassifier`."""

    complete: CompleteClassifier
    regularization: float
    widening: float
    score: ModelScore | SampledScore | PrefixScore


class Recipe(NamedTuple):
    """How early decisions are learned.

    Attributes
    ----------
    estimator, reducer, features
        As in `EarlyClassifier`.
    judge : AnyJudge or None
        None for the one that the classifier allows.
    n_channels : int
    """

    estimator: Any
    reducer: Any | None
    features: Any | None
    judge: AnyJudge | None
    n_channels: int

    # Statistics ----------------------------------------------------------------------------------

    def summarize(self, data: LabelledRows) -> tuple[LabelledRows, FeatureSummary]:
        """The rows with their gaps filled, and their statistics."""
        codes, uncertain = self.model_codes(data), None
        if np.isnan(data.X).any():
            filled = fill_gaps(data.X, codes)
            data, uncertain = data._replace(X=filled.X), filled.uncertain
        return data, summarize_features(data.X, codes, uncertain)

    def model_codes(self, data: LabelledRows) -> Array:
        """The normal model of each row: one for all rows (5.19), or one for each class (5.20)."""
        is_mixture = self.judge is not None and self.judge.conditional == "mixture"
        return data.codes if is_mixture else np.zeros_like(data.codes)

    def select(self, data: LabelledRows, summary: FeatureSummary) -> float:
        """α of the normal model, by rows held out unless the judge states it."""
        chosen = "auto" if self.judge is None else self.judge.regularization
        if not isinstance(chosen, str):
            return float(chosen)
        Z = summary.directions.project(summary.units.apply(data.X))
        return select_shrinkage(Z, self.model_codes(data), **data.splitting)

    # Classifier and score ------------------------------------------------------------------------

    def solve(
        self, data: LabelledRows, summary: FeatureSummary, shrinkage: float
    ) -> EarlySolution:
        """Fit the classifier to complete rows, and build the score of incomplete ones."""
        labels, values, features = data.labels, data.X, None
        if self.features is not None:
            series = stack_channels(data.X, self.n_channels)
            features = clone(self.features).fit(series, labels)
            values = features.transform(series)
        reducer = None if self.reducer is None else clone(self.reducer).fit(values, labels)
        estimator = with_diagonal_covariances(clone(self.estimator))
        estimator.fit(reduce_rows(reducer, values), labels)
        complete = CompleteClassifier(data.classes, features, reducer, estimator, self.n_channels)
        models = fit_normal_models(summary, shrinkage)
        weights = summary.moments.counts / summary.moments.n_samples
        conditional = ConditionalModel(summary.units, models, weights, None, summary.units.mean)
        score = self.build_score(complete, conditional, data)
        return EarlySolution(complete, shrinkage, 1.0, score)

    def widen(self, solution: EarlySolution, data: LabelledRows) -> EarlySolution:
        """The solution with the standard deviations that rows held out have; sets stay literal.

        The factor is the root mean square of the standardised prediction errors, at least 1, over
        all prefixes after which the functions are still open.
        """
        if not isinstance(solution.score, ModelScore) or solution.score.region != "ideal":
            return solution
        squared_errors = variances = np.zeros((1, 1))
        for fit, held in training_parts(data.codes, N_FOLDS, **data.splitting):
            part = data.subset(fit)
            score = self.solve(part, self.summarize(part)[1], solution.regularization).score
            if not isinstance(score, ModelScore):  # it cannot be read with fewer rows
                return solution
            model = score.conditional
            if not score.tables:  # folds may have other coordinates, or functions for each row
                model = model._replace(B=None, shift=model.units.mean)
            errors = model.prediction_errors(data.X[held])
            squared_errors, variances = squared_errors + errors[0], variances + errors[1]
        is_open = variances > MIN_OPEN_VARIANCE * variances[:1]
        if not is_open.any():
            return solution
        mean_square = np.mean(squared_errors[is_open] / variances[is_open])
        widening = max(1.0, float(np.sqrt(mean_square)))
        return solution._replace(widening=widening, score=solution.score.widened(widening))

    def build_score(
        self, complete: CompleteClassifier, conditional: ConditionalModel, data: LabelledRows
    ) -> ModelScore | SampledScore | PrefixScore:
        """The score of the judge, or of the one that the classifier allows."""
        judge = self.judge
        if isinstance(judge, PrefixJudge) or (judge is None and complete.features is not None):
            return self.prefix_score(judge or PrefixJudge(), complete, conditional, data)
        if complete.features is not None:
            raise TypeError(
                f"judge={judge!r} does not go together with features, of which a prefix has its "
                "own: use judge='prefix'"
            )
        rule = read_complete(complete, data.X)
        if isinstance(judge, ModelJudge):
            readable = _check_readable(rule, complete, judge.region)
            return self.model_score(judge, readable, conditional, data)
        local = rule is not None and isinstance(rule.discriminants, LocalQDA)
        # the functions of a local rule hold around the expected row, and the complete row has
        # others
        if judge is None and rule is not None and not local and rule.owners is None:
            return self.model_score(ModelJudge(), rule, conditional, data)
        return self.sampled_score(judge or SampledJudge(), complete, rule, conditional, data)

    def model_score(
        self, judge: ModelJudge, rule: ExactRule, conditional: ConditionalModel, data: LabelledRows
    ) -> ModelScore:
        """The score by the probability of the guess, or by sets."""
        mean = conditional.units.mean
        directions, shift = coordinates_of(rule.coordinates, mean)
        B, f = directions, rule.discriminants
        if is_linear(f) and judge.region not in COORDINATE_REGIONS:
            B, shift, f = scores_as_coordinates(rule, mean)
        of_functions = conditional._replace(B=B, shift=shift)
        parts = (judge.region, len(data.classes), self.n_channels, rule.owners)
        if rule.coordinates.is_diagonal:
            directions = None  # features in other units leave as many directions open
        return ModelScore.build(of_functions, f, directions, *parts)

    def sampled_score(
        self,
        judge: SampledJudge,
        complete: CompleteClassifier,
        rule: ExactRule | None,
        conditional: ConditionalModel,
        data: LabelledRows,
    ) -> SampledScore:
        """The score by completions, drawn in as few coordinates as the classifier looks at."""
        mean = conditional.units.mean
        classifier, reducer = complete.estimator, complete.reducer
        directions, shift = None, mean
        if rule is not None and is_linear(rule.discriminants) and rule.owners is None:
            directions, shift, classifier = scores_as_coordinates(rule, mean)
            reducer = None
        elif rule is not None and isinstance(rule.discriminants, LocalQDA):
            directions, shift = coordinates_of(rule.coordinates, mean)
            classifier, reducer = rule.discriminants, None
        elif reducer is not None and (before := read_affine(reducer, data.X)) is not None:
            (directions, shift), reducer = coordinates_of(before, mean), None
        conditional = conditional._replace(B=directions, shift=shift)
        (model,) = conditional.prefix_models()
        draws = np.random.default_rng(0).standard_normal((judge.n_draws, len(mean)))
        times = checkpoint_times(len(mean), judge.n_checkpoints, self.n_channels)
        return SampledScore(conditional, model, classifier, reducer, data.classes, times, draws)

    def prefix_score(
        self,
        judge: PrefixJudge,
        complete: CompleteClassifier,
        conditional: ConditionalModel,
        data: LabelledRows,
    ) -> PrefixScore:
        """The score by classifiers of prefixes."""
        classifier = self.estimator
        if self.reducer is not None:
            classifier = make_pipeline(self.reducer, self.estimator)
        times = checkpoint_times(data.X.shape[1], judge.n_checkpoints, self.n_channels)
        score = PrefixScore(
            times, [], data.classes, conditional, complete.features, self.n_channels
        )
        values = score.values_at_times(data.X)
        times, fitted = fit_prefixes(classifier, values, data.labels, times)
        return score._replace(times=times, classifiers=fitted)


def read_complete(complete: CompleteClassifier, X: Array) -> ExactRule | None:
    """Reducer and classifier as functions of the features, or None where they have none."""
    before = read_affine(complete.reducer, X)
    rule = None if before is None else read_rule(complete.estimator, before(X))
    if before is None or rule is None:
        return None
    return rule._replace(coordinates=before.then(rule.coordinates))


def _check_readable(
    rule: ExactRule | None, complete: CompleteClassifier, region: str
) -> ExactRule:
    if rule is None:
        raise TypeError(
            f"estimator={complete.estimator!r} with reducer={complete.reducer!r} is not supported "
            "by ModelJudge, which needs the linear or quadratic functions of which a classifier "
            "takes the largest, after affine maps alone. Use judge='sampled', or "
            f"{READABLE_CLASSIFIERS}"
        )
    if rule.owners is not None and region == "ideal":
        raise TypeError(
            f"estimator={complete.estimator!r} has several functions for a class, whose "
            "probability ModelJudge does not have: use judge='sampled', or a set such as "
            "ModelJudge(region='ellipsoid')"
        )
    return rule


# The coordinates of the classifier ---------------------------------------------------------------


def with_diagonal_covariances(estimator: Any) -> Any:
    """A local rule that leaves the kind of its covariances open takes diagonal ones, in place.

    Full ones cost r³ at every decision, for r coordinates.
    """
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    if isinstance(last, LocalQDA) and last.covariance == "auto":
        last.set_params(covariance="diag")
    return estimator


def reduce_rows(reducer: Any | None, X: Array) -> Array:
    """Rows in the coordinates of the classifier."""
    return X if reducer is None else np.asarray(reducer.transform(X))


def is_linear(f: Quadratic | LocalQDA) -> bool:
    """Whether functions have no quadratic part."""
    return isinstance(f, Quadratic) and f.Q is None


def coordinates_of(coordinates: AffineMap, point: Array) -> tuple[Array | None, Array]:
    """Weights (d, q) of the features in coordinates, None for the features; values at a point."""
    shift, weights = coordinates(point[None])[0], coordinates.weights
    if coordinates.is_diagonal:
        return None if np.all(weights == 1) else np.diag(weights), shift
    return weights, shift


def scores_as_coordinates(rule: ExactRule, point: Array) -> tuple[Array, Array, Quadratic]:
    """Weights of the features in linear scores, their values at a point, and f of the scores.

    A linear rule depends on its few scores alone, and so do its sets but for the box.
    """
    f = rule.discriminants
    assert isinstance(f, Quadratic)
    n = len(f.c)
    shift = f.c @ rule.coordinates(point[None])[0] + f.b
    return rule.coordinates.pull_back(f.c), shift, Quadratic(None, np.eye(n), np.zeros(n))
