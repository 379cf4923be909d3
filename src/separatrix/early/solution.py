"""From labelled rows to a fitted classifier, a model of missing values, and a score."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

from separatrix.base.affine import AffineMap, read_affine
from separatrix.decision.local_qda import LocalQDA
from separatrix.decision.quadratic import Quadratic
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
from separatrix.early.prefix import PrefixScore, fit_prefixes
from separatrix.early.rule import build_rule
from separatrix.early.scores import ModelScore, SampledScore, checkpoint_times
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
    reducer : transformer or None
    estimator : classifier
    """

    classes: Array
    reducer: Any | None
    estimator: Any

    def classify(self, rows: Array) -> Array:
        """Numbers of the classes of complete rows."""
        labels = self.estimator.predict(reduce_rows(self.reducer, rows))
        return np.searchsorted(self.classes, labels)


class EarlySolution(NamedTuple):
    """The fitted parts of an `EarlyClassifier`."""

    complete: CompleteClassifier
    regularization: float
    widening: float
    score: ModelScore | SampledScore | PrefixScore

    @property
    def conditional(self) -> ConditionalModel:
        """The model of the missing values."""
        score = self.score
        return score.rule.conditional if isinstance(score, ModelScore) else score.conditional


class Recipe(NamedTuple):
    """How early decisions are learned: the parameters of `EarlyClassifier` that `fit` uses."""

    estimator: Any
    reducer: Any | None
    conditional: str
    regularization: str | float
    region: str
    score: str
    n_checkpoints: int
    n_channels: int
    n_draws: int

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
        return data.codes if self.conditional == "mixture" else np.zeros_like(data.codes)

    def select(self, data: LabelledRows, summary: FeatureSummary) -> tuple[float, float]:
        """α and the widening of standard deviations, each by rows held out where it is chosen."""
        if isinstance(self.regularization, str):
            Z = summary.directions.project(summary.units.apply(data.X))
            shrinkage = select_shrinkage(Z, self.model_codes(data), **data.splitting)
        else:
            shrinkage = float(self.regularization)
        is_ideal = self.region == "ideal" and self.score in ("auto", "model")
        return shrinkage, self.measure_widening(data, shrinkage) if is_ideal else 1.0

    def measure_widening(self, data: LabelledRows, shrinkage: float) -> float:
        """Root mean square of the standardised prediction errors of rows held out, at least 1.

        The mean is over all prefixes after which the functions are still open.
        """
        squared_errors = variances = np.zeros((1, 1))
        for fit, held in training_parts(data.codes, N_FOLDS, **data.splitting):
            part = data.subset(fit)
            solution = self.solve(part, self.summarize(part)[1], shrinkage, 1.0)
            if not isinstance(solution.score, ModelScore):
                return 1.0
            model = solution.conditional
            if solution.score.rule.owners is not None:  # every training row has a function
                model = model._replace(B=None, shift=model.units.mean)
            found = model.prediction_errors(data.X[held])
            squared_errors, variances = squared_errors + found[0], variances + found[1]
        is_open = variances > MIN_OPEN_VARIANCE * variances[:1]
        if not is_open.any():
            return 1.0
        return max(1.0, float(np.sqrt(np.mean(squared_errors[is_open] / variances[is_open]))))

    # Classifier and score ------------------------------------------------------------------------

    def solve(
        self, data: LabelledRows, summary: FeatureSummary, shrinkage: float, widening: float
    ) -> EarlySolution:
        """Fit the classifier to complete rows, and build the score of incomplete ones."""
        labels = data.labels
        reducer = None if self.reducer is None else clone(self.reducer).fit(data.X, labels)
        estimator = with_diagonal_covariances(clone(self.estimator))
        estimator.fit(reduce_rows(reducer, data.X), labels)
        complete = CompleteClassifier(data.classes, reducer, estimator)
        models = fit_normal_models(summary, shrinkage, widening)
        weights = summary.moments.counts / summary.moments.n_samples
        conditional = ConditionalModel(summary.units, models, weights, None, summary.units.mean)
        score: ModelScore | SampledScore | PrefixScore
        if self.score == "prefix":
            score = self.prefix_score(data, conditional)
        else:
            rule = self.read(complete, data.X)
            score = (
                self.sampled_score(complete, rule, conditional, data)
                if rule is None or self.samples(rule)
                else self.model_score(rule, conditional, len(data.classes))
            )
        return EarlySolution(complete, shrinkage, widening, score)

    def samples(self, rule: ExactRule) -> bool:
        """Whether completions are drawn although the functions of the classifier are known.

        Those of a local rule hold around the expected row, and the complete row has others.
        """
        if self.score == "auto":
            return isinstance(rule.discriminants, LocalQDA) and self.region == "ellipsoid"
        return self.score == "sampled"

    def read(self, complete: CompleteClassifier, X: Array) -> ExactRule | None:
        """Reducer and classifier as functions of the features, or an error where these must be."""
        before = read_affine(complete.reducer, X)
        if before is None and self.score == "model":
            raise TypeError(
                f"reducer={complete.reducer!r} is not an affine map of the features, such as "
                'LDG(), FisherDiscriminant(), PCA() or a scaler: use score="sampled"'
            )
        found = None if before is None else read_rule(complete.estimator, before(X))
        if found is None and self.score == "model":
            raise TypeError(
                f'estimator={self.estimator!r} is not supported by score="model", which needs '
                "the linear or quadratic functions of which a classifier takes the largest. Use "
                f'score="sampled", or {READABLE_CLASSIFIERS}'
            )
        if before is None or found is None:
            return None
        return found._replace(coordinates=before.then(found.coordinates))

    def model_score(
        self, rule: ExactRule, conditional: ConditionalModel, n_classes: int
    ) -> ModelScore:
        """The score by sets, or by the probability of the guess."""
        directions, shift = coordinates_of(rule.coordinates, conditional.units.mean)
        B, f = directions, rule.discriminants
        if is_linear(f) and self.region not in ("box", "diagonal"):
            B, shift, f = scores_as_coordinates(rule, conditional.units.mean)
        of_functions = conditional._replace(B=B, shift=shift)
        made = build_rule(of_functions, f, directions, self.region, n_classes, rule.owners)
        return ModelScore(made, self.n_channels)

    def sampled_score(
        self,
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
        rng = np.random.default_rng(0)
        draws = rng.standard_normal((self.n_draws, len(mean)))
        levels = rng.permutation((np.arange(self.n_draws) + 0.5) / self.n_draws)
        times = checkpoint_times(len(mean), self.n_checkpoints, self.n_channels)
        return SampledScore(
            conditional, conditional.prefix_models(), classifier, reducer, data.classes, times,
            draws, levels,
        )  # fmt: skip

    def prefix_score(self, data: LabelledRows, conditional: ConditionalModel) -> PrefixScore:
        """The score by classifiers of prefixes."""
        classifier = self.estimator
        if self.reducer is not None:
            classifier = make_pipeline(self.reducer, self.estimator)
        times = checkpoint_times(data.X.shape[1], self.n_checkpoints, self.n_channels)
        times, classifiers = fit_prefixes(classifier, data.X, data.labels, times)
        return PrefixScore(times, classifiers, data.classes, conditional)


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
    shift = coordinates(point[None])[0]
    if not coordinates.is_diagonal:
        return coordinates.weights, shift
    if np.all(coordinates.weights == 1):
        return None, shift
    return np.diag(coordinates.weights), shift


def scores_as_coordinates(rule: ExactRule, point: Array) -> tuple[Array, Array, Quadratic]:
    """Weights of the features in linear scores, their values at a point, and f of the scores.

    A linear rule depends on its few scores alone, and so do its sets but for the box.
    """
    f = rule.discriminants
    assert isinstance(f, Quadratic)
    n = len(f.c)
    shift = f.c @ rule.coordinates(point[None])[0] + f.b
    return rule.coordinates.pull_back(f.c), shift, Quadratic(None, np.eye(n), np.zeros(n))
