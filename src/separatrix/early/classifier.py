"""Decisions from incomplete rows, made when the complete row would probably decide the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import check_array, column_or_1d, gen_batches
from sklearn.utils.validation import check_is_fitted

from separatrix.base.blockwise import blockwise_score, lazy_on_dask
from separatrix.base.parameters import (
    Allowed,
    array_like,
    check_parameters,
    one_of,
    real_number,
    whole_number,
)
from separatrix.base.rows import (
    centred_product,
    check_labelled_rows,
    check_new_rows,
    check_several_classes,
    unchanged_on_failure,
)
from separatrix.decision.local_qda import LocalQDA
from separatrix.decision.rules import Quadratic
from separatrix.early.calibration import (
    Cutoffs,
    Promise,
    ScorePaths,
    find_cutoffs,
    warn_waiting,
)
from separatrix.early.conditional import (
    ConditionalModel,
    Expectation,
    FeatureSummary,
    fit_normal_models,
    select_shrinkage,
    summarize_features,
)
from separatrix.early.prefix import PrefixScore, fit_prefixes
from separatrix.early.region import (
    SUPPORTED_CLASSIFIERS,
    build_rule,
    extract_discriminants,
    is_supported,
)
from separatrix.early.scores import ModelScore, SampledScore, Score, checkpoint_times
from separatrix.early.stream import Decisions, DecisionStream, decide_series, follow_paths
from separatrix.linalg import Array
from separatrix.moments.checks import check_finite, check_in_memory
from separatrix.moments.labelled import LabelledRows, row_blocks
from separatrix.selection import N_FOLDS, split_rows, training_parts

MIN_SHRINKAGE = 1e-8
"""Below it the covariance of rows that are fewer than features is numerically singular."""

MIN_OPEN_VARIANCE = 1e-9
"""Variance of a score, relative to its variance before the first value, that is not yet zero."""

MAX_SHARE = 1 - 1e-9
"""Largest share or confidence: 1 leaves no row to learn from, or no cutoff."""

MAX_INNOVATIONS = 1 << 23
"""Innovations that are held at once (64 MB)."""


class EarlySolution(NamedTuple):
    """The fitted parts of an `EarlyClassifier`: its fitted attributes, and the rule."""

    classes: Array
    reducer: Any | None
    estimator: Any
    regularization: float
    widening: float
    score: ModelScore | SampledScore | PrefixScore

    @property
    def conditional(self) -> ConditionalModel:
        """The model of the missing values."""
        score = self.score
        return score.rule.conditional if isinstance(score, ModelScore) else score.conditional

    def classify(self, complete: Array) -> Array:
        """Numbers of the classes of complete rows."""
        labels = self.estimator.predict(reduce_rows(self.reducer, complete))
        return np.searchsorted(self.classes, labels)


class NamedScore(str):
    """The name of a score that may be called as the method `score` of any classifier.

    The parameter has the name of scikit-learn's method, which searches and validation call.
    """

    _accuracy: Callable[..., float]

    def __new__(cls, name: str, accuracy: Callable[..., float]) -> Self:
        """A string with a function."""
        made = super().__new__(cls, name)
        made._accuracy = accuracy
        return made

    def __call__(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """The share of rows that `predict` gives their label."""
        return self._accuracy(X, y, sample_weight)


@lazy_on_dask
class EarlyClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that decides on incomplete rows when more values would hardly change the label.

    Let ĝ(x) be the class that `estimator` gives a complete row x: the class g of the largest
    linear or quadratic function ``f_g(x)``. Of an incomplete row some features z are known, and a
    normal model of the training rows gives the others a mean and a covariance. The row is decided
    as class c when

    ``f_c(x) ≥ f_g(x)`` for all classes g and all x in A, with ``P(x in A | z) ≥ τ``,

    so that the decision agrees with ĝ of the complete row with probability at least τ. With each
    decision comes the largest τ at which it stands.

    Parameters
    ----------
    estimator : classifier
        Cloned and fitted to the complete training rows: `LocalQDA`, `FisherDiscriminant` and other
        classifiers of this package with ``coef_``; LinearSVC, LogisticRegression,
        LinearDiscriminantAnalysis, RidgeClassifier, SGDClassifier and
        QuadraticDiscriminantAnalysis of scikit-learn. `LocalQDA` has diagonal covariances here
        unless it is told "full", which costs far more.
    reliability : float in [0, 1]
        τ. With 0 the first value is enough, with 1 nothing less than the complete row.
    region : "ellipsoid", "box", "chebyshev" or "ideal"
        The set A. "ellipsoid" has measure τ for normal rows. "box" has at least this measure,
        coordinate by coordinate. "chebyshev" has it for any distribution with these moments (of
        each class for "mixture"). "ideal" takes no set but the probability of the class itself,
        for a linear rule of two classes; it decides earliest. A set leaves room for errors of the
        model, the probability does not: the standard deviations of the model are therefore
        multiplied by a factor that is measured on training rows held out.
    conditional : "gaussian" or "mixture"
        One normal model of all rows, or one for each class, weighted by its probability given the
        observed features. Each model then has a set of its own, see Notes.
    regularization : "auto" or float in [1e-8, 1]
        α in ``Σ = (1 - α) S + α diag(S)``, S the covariance of the training rows; of each class
        for "mixture", with the diagonal of their average. "auto" takes the α under which training
        rows that are held out are most likely. When there are more rows than features, linear
        equations that all rows satisfy are expected to hold for every α.
    reducer : transformer or None
        Linear, with ``components_`` (and ``mean_``): `LDG`, `FisherDiscriminant`, PCA. Cloned and
        fitted to the complete training rows. The classifier and the set A then use its few
        coordinates.
    score : "auto", "model", "sampled" or "prefix"
        How reliable a guess is: by the set or the probability that `region` names ("model"); by
        the share of the completions of a row, drawn from the model of the missing values, that get
        the same label ("sampled"); by the confidence of classifiers of the values so far
        ("prefix"). "auto" is "model" for linear and quadratic rules, else "sampled".
    n_checkpoints : int
        Number of equidistant times at which "sampled" and "prefix" judge series.
    n_channels : int
        Number of values that arrive together.
    n_draws : int
        Completions of a row for "sampled".
    calibration : None, float in (0, 1) or "cv"
        The share of the training rows that `fit` does not learn but calibrates with. "cv"
        calibrates with all rows, each scored by a model that did not learn it: the model that
        decides is another one, so that its promise is approximate.
    guarantee : "probability" or "average"
        What calibration promises: an agreement of at least τ with the probability `confidence`
        over calibration rows, or an agreement of at least τ on average over them.
    confidence : float in (0, 1)
    condition : None, "time" or "class"
        The promise holds over all rows; among the rows decided up to each time; among the rows of
        each class.
    loss : "disagreement", "gap", "error" or array (n_classes, n_classes)
        What calibration promises to be at most 1 - τ: decisions other than the complete one;
        wrong ones where the complete one is right; wrong ones; or costs, as a share of the
        largest, with true classes in rows and decided ones in columns.

    Attributes
    ----------
    estimator_, reducer_ : the fitted classifier, and transformer or None
    regularization_ : float
        α.
    widening_ : float
        Factor of the standard deviations of the model; 1 unless the region is "ideal".
    calibrated_ : bool
        Whether decisions follow a cutoff found on calibration rows.
    cutoff_ : float or array (n_times,)
        What the score must reach, at each time for ``condition="time"``; τ if not calibrated.
    calibration_records_ : list of CalibrationRecord
        Every cutoff that was tested, with the number of rows and their loss.
    classes_ : array (n_classes,)

    Notes
    -----
    Complete rows get the label of `estimator_` and reliability 1. The reliability of any other row
    is below 1. Decisions at a smaller τ include those at a larger one, at any given time.

    The promise is as good as the model: features that are jointly normal, or normal in each class,
    with these moments. Series that were normalised over their whole length reveal values that are
    still to come.

    Under "mixture" the model k has the probability ``s_k``, an expected row ``m_k`` and a set of
    measure ``a_k`` about it, the largest on which the guess c wins; 0 if c does not win at
    ``m_k``. The reliability is ``Σ s_k a_k``, at most the probability of ĝ(x) = c. The guess is
    the class that wins at the expected rows of the most probability. The probabilities ``s_k`` are
    often too close to 0 and 1: with "ideal", which leaves no room for errors, prefer "gaussian".

    **For `LocalQDA` nothing is promised.** Its quadratic functions are those of the neighbours of
    the expected row, but the complete row has neighbours of its own. In few dimensions with few
    neighbours these differ within the set: with 200 rows of 3 features and 4 neighbours, 81 % of
    the decisions at τ = 0.99 were confirmed (``python -m benchmarks.early_local``). Trust the
    agreement that `evaluate.reliability_curve` finds on rows that were held out.

    `region` and all other parameters but `reliability` take effect in `fit`.

    The sets are ``A = {m + F z}`` with ``F Fᵀ`` the conditional covariance R of the coordinates.
    The ellipsoid is ``|z|² ≤ δ`` with δ the quantile of the chi-squared distribution of n degrees
    of freedom (n / (1 - τ) for Chebyshev). n is the rank of R, the number of directions that are
    still unknown: fewer coordinates decide earlier. The box has sides of equal mass ``τ^(1/n)``
    for n unknown coordinates. Where quadratics mix coordinates there is a box along the
    eigenvectors of ``f_c - f_g`` for each rival g, and n counts the sides of all of them. The
    distance of m to the boundary ``f_c = f_g`` in this metric has a closed form for linear rules
    and boxes. For quadratic rules, definite or not, it is the root of one monotone function, so
    that no local minimum can be mistaken for it.

    Prefixes of all lengths share one Cholesky factor: d³ / 3 flops once, d² for each row and its
    length. With more features than rows no d × d matrix is formed, but for a box or a quadratic
    rule without reducer, where the set itself has d dimensions. Another pattern of missing values
    costs a factorisation of its own, for all rows that share it: with gaps at random, one for
    nearly every row.

    References
    ----------
    Parrish, Supervised dimensionality reduction for different learning architectures, doctoral
    thesis, University of Washington (2012), chapter 5: (5.2) is the rule, (5.3)-(5.5) the sets,
    proposition 2 the linear distance, (5.18) the classes, (5.19) and (5.20) the models.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from separatrix import EarlyClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> X = rng.normal(size=(200, 20)).cumsum(axis=1) + np.outer(2 * y - 1, np.arange(20) / 4)
    >>> model = EarlyClassifier(LogisticRegression(), reliability=0.95).fit(X[::2], y[::2])
    >>> early = model.decide_early(X[1::2])
    >>> bool(early.time.mean() < 20)
    True
    >>> bool(np.mean(early.label == model.predict(X[1::2])) >= 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}  # scikit-learn's: `fit` checks
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "reliability": (real_number(0, 1),),
        "region": (one_of("ellipsoid", "box", "chebyshev", "ideal"),),
        "conditional": (one_of("gaussian", "mixture"),),
        "regularization": (one_of("auto"), real_number(MIN_SHRINKAGE, 1)),
        "score": (one_of("auto", "model", "sampled", "prefix"),),
        "n_checkpoints": (whole_number(1),),
        "n_channels": (whole_number(1),),
        "n_draws": (whole_number(2),),
        "calibration": (one_of(None, "cv"), real_number(0, MAX_SHARE, open_low=True)),
        "guarantee": (one_of("probability", "average"),),
        "confidence": (real_number(0, MAX_SHARE, open_low=True),),
        "condition": (one_of(None, "time", "class"),),
        "loss": (one_of("disagreement", "gap", "error"), array_like()),
    }
    _accuracy = staticmethod(blockwise_score(ClassifierMixin.score))
    _calibration: ScorePaths | None = None
    _grows: bool = False
    _other_score: SampledScore | PrefixScore | None = None

    def __init__(
        self,
        estimator: Any,
        *,
        reliability: float = 0.9,
        region: str = "ellipsoid",
        conditional: str = "gaussian",
        regularization: str | float = "auto",
        reducer: Any | None = None,
        score: str = "auto",
        n_checkpoints: int = 20,
        n_channels: int = 1,
        n_draws: int = 200,
        calibration: float | str | None = None,
        guarantee: str = "probability",
        confidence: float = 0.95,
        condition: str | None = None,
        loss: str | ArrayLike = "disagreement",
    ) -> None:
        self.estimator = estimator
        self.reliability = reliability
        self.region = region
        self.conditional = conditional
        self.regularization = regularization
        self.reducer = reducer
        self.score = score
        self.n_checkpoints = n_checkpoints
        self.n_channels = n_channels
        self.n_draws = n_draws
        self.calibration = calibration
        self.guarantee = guarantee
        self.confidence = confidence
        self.condition = condition
        self.loss = loss

    @property
    def score(self) -> NamedScore:
        """The parameter `score`; called with rows and labels, the accuracy of `predict`."""
        return NamedScore(vars(self)["score"], partial(self._accuracy, self))

    @score.setter
    def score(self, name: str) -> None:
        self.__dict__["score"] = name

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, as scikit-learn defines it.

        Parameters
        ----------
        deep : bool
            Also those of the estimator and the reducer.

        Returns
        -------
        dict
        """
        return super().get_params(deep) | {"score": vars(self)["score"]}

    # Learning ------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the reducer, the classifier and the model of the features to complete rows.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Training rows, without missing values.
        y : array (n_samples,)
            Their class labels.

        Returns
        -------
        self
            The fitted classifier.
        """
        with unchanged_on_failure(self):
            data = self._validate(X, y)
            learned, held = self._hold_out(data)
            summary = self._summarize(learned)
            shrinkage, widening = self._select(learned, summary)
            solution = self._solve(learned, summary, shrinkage, widening)
            self._store(solution, self._score_held_out(solution, learned, held))
        return self

    def _hold_out(self, data: LabelledRows) -> tuple[LabelledRows, LabelledRows]:
        """Rows to learn, and rows to calibrate with: a share of each class."""
        if not isinstance(self.calibration, Real):
            return data, data.subset(np.arange(0))
        learned, held = split_rows(data.codes, float(self.calibration), 0)
        return data.subset(learned), data.subset(held)

    def _score_held_out(
        self, solution: EarlySolution, learned: LabelledRows, held: LabelledRows
    ) -> ScorePaths | None:
        """The scores of rows that were not learned, if calibration is asked for."""
        if self.calibration is None:
            return None
        if self.calibration != "cv":
            return self._follow(solution, held)
        paths = []
        for fit, rest in training_parts(learned.codes, N_FOLDS):
            part = learned.subset(fit)
            parameters = (solution.regularization, solution.widening)
            without = self._solve(part, self._summarize(part), *parameters)
            paths.append(self._follow(without, learned.subset(rest)))
        return reduce(ScorePaths.append, paths)

    def _follow(self, solution: EarlySolution, rows: LabelledRows) -> ScorePaths:
        """The scores of labelled rows at all times."""
        codes, reliabilities = follow_paths(solution.score, rows.X)
        return ScorePaths(codes, reliabilities, solution.classify(rows.X), rows.codes)

    def _validate(self, X: ArrayLike, y: ArrayLike) -> LabelledRows:
        """Check the parameters and the rows; the rows are float64 and finite."""
        check_parameters(self, self._allowed_parameters)
        if self.score == "model" and not is_supported(self.estimator):
            raise TypeError(
                f"estimator={self.estimator!r} is not supported: EarlyClassifier needs the linear "
                'or quadratic functions of which it takes the largest. Use score="sampled", or '
                f"{SUPPORTED_CLASSIFIERS}"
            )
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "predict"):
            raise TypeError(
                f"estimator={self.estimator!r} is not a classifier: give an instance with fit and "
                "predict"
            )
        if self.reducer is not None and (
            isinstance(self.reducer, type) or not hasattr(self.reducer, "fit")
        ):
            raise TypeError(
                f"reducer={self.reducer!r} is not a transformer: give an instance such as "
                "FisherDiscriminant(), LDG() or PCA(), or None"
            )
        data = check_labelled_rows(self, X, y)
        check_finite(data.X, data.feature_names)
        check_several_classes(self, data.classes)
        return data._replace(X=data.X.astype(np.float64, copy=False))

    def _summarize(self, data: LabelledRows) -> FeatureSummary:
        return summarize_features(data.X, self._model_codes(data))

    def _model_codes(self, data: LabelledRows) -> Array:
        """The normal model of each row: one for all rows (5.19), or one for each class (5.20)."""
        return data.codes if self.conditional == "mixture" else np.zeros_like(data.codes)

    def _select(self, data: LabelledRows, summary: FeatureSummary) -> tuple[float, float]:
        """α and the widening of standard deviations, each by rows held out where it is chosen."""
        if isinstance(self.regularization, str):
            Z = summary.directions.project(summary.units.apply(data.X))
            shrinkage = select_shrinkage(Z, self._model_codes(data))
        else:
            shrinkage = float(self.regularization)
        return shrinkage, self._measure_widening(data, shrinkage) if self._is_ideal else 1.0

    @property
    def _is_ideal(self) -> bool:
        return self.region == "ideal"

    def _measure_widening(self, data: LabelledRows, shrinkage: float) -> float:
        """Root mean square of the standardised prediction errors of rows held out, at least 1.

        The mean is over all prefixes after which the score is still open.
        """
        squared_errors, variances = np.zeros((2, data.X.shape[1]))
        for fit, held in training_parts(data.codes, N_FOLDS):
            part = data.subset(fit)
            solution = self._solve(part, self._summarize(part), shrinkage, 1.0)
            found = solution.conditional.prediction_errors(data.X[held])
            squared_errors, variances = squared_errors + found[0], variances + found[1]
        is_open = variances > MIN_OPEN_VARIANCE * variances[0]
        if not is_open.any():
            return 1.0
        return max(1.0, float(np.sqrt(np.mean(squared_errors[is_open] / variances[is_open]))))

    def _solve(
        self, data: LabelledRows, summary: FeatureSummary, shrinkage: float, widening: float
    ) -> EarlySolution:
        """Fit the classifier, and build the score of incomplete rows; sets no attribute."""
        kind = self._kind_of_score()
        labels = data.classes[data.codes]
        reducer = fit_reducer(self.reducer, data.X, labels, linear=kind == "model")
        estimator = clone(self.estimator)
        if isinstance(estimator, LocalQDA) and estimator.covariance == "auto":
            estimator.set_params(covariance="diag")  # full ones cost r³ at every decision
        estimator.fit(reduce_rows(reducer, data.X), labels)
        models = fit_normal_models(summary, shrinkage, widening)
        weights = summary.moments.counts / summary.moments.n_samples
        conditional = ConditionalModel(summary.units, models, weights, None, summary.units.mean)
        score: ModelScore | SampledScore | PrefixScore
        if kind == "model":
            score = self._model_score(estimator, reducer, conditional, len(data.classes))
        elif kind == "sampled":
            score = self._sampled_score(estimator, reducer, conditional, data)
        else:
            score = self._prefix_score(data, labels, conditional)
        return EarlySolution(data.classes, reducer, estimator, shrinkage, widening, score)

    def _kind_of_score(self) -> str:
        if self.score != "auto":
            return str(self.score)
        return "model" if is_supported(self.estimator) else "sampled"

    def _model_score(
        self, estimator: Any, reducer: Any, conditional: ConditionalModel, n_classes: int
    ) -> ModelScore:
        discriminants = (
            estimator if isinstance(estimator, LocalQDA) else extract_discriminants(estimator)
        )
        linear = isinstance(discriminants, Quadratic) and discriminants.Q is None
        if self._is_ideal and not (linear and n_classes == 2):
            raise ValueError(
                'region="ideal" is the probability of a half-space: it needs two classes and a '
                f"linear rule, but estimator={self.estimator!r} was fitted to "
                f'{n_classes} classes. Use region="ellipsoid"'
            )
        directions, shift = reduced_coordinates(reducer, conditional.units.mean)
        B = directions
        if linear and self.region != "box":
            B, shift, discriminants = scores_as_coordinates(discriminants, directions, shift)
        of_coordinates = conditional._replace(B=B, shift=shift)
        rule = build_rule(of_coordinates, discriminants, directions, self.region, n_classes)
        return ModelScore(rule)

    def _sampled_score(
        self, estimator: Any, reducer: Any, conditional: ConditionalModel, data: LabelledRows
    ) -> SampledScore:
        classifier, shift = estimator, conditional.shift
        directions = None
        if reducer is not None and is_linear_reducer(reducer, data.X[:5]):
            directions, shift = reduced_coordinates(reducer, conditional.units.mean)
            reducer = None
        if reducer is None and is_supported(estimator) and not isinstance(estimator, LocalQDA):
            f = extract_discriminants(estimator)
            if f.Q is None:  # the few scores are all that the label depends on
                directions, shift, classifier = scores_as_coordinates(f, directions, shift)
        conditional = conditional._replace(B=directions, shift=shift)
        d = len(conditional.units.mean)
        rng = np.random.default_rng(0)
        draws = rng.standard_normal((self.n_draws, d))
        levels = rng.permutation((np.arange(self.n_draws) + 0.5) / self.n_draws)
        times = checkpoint_times(d, self.n_checkpoints)
        return SampledScore(
            conditional, conditional.prefix_models(), classifier, reducer, data.classes, times,
            draws, levels,
        )  # fmt: skip

    def _prefix_score(
        self, data: LabelledRows, labels: Array, conditional: ConditionalModel
    ) -> PrefixScore:
        classifier = self.estimator
        if self.reducer is not None:
            classifier = make_pipeline(self.reducer, self.estimator)
        times = checkpoint_times(data.X.shape[1], self.n_checkpoints)
        times, classifiers = fit_prefixes(classifier, data.X, labels, times)
        return PrefixScore(times, classifiers, data.classes, conditional)

    def _store(self, solution: EarlySolution, paths: ScorePaths | None) -> None:
        self.classes_ = solution.classes
        self.reducer_ = solution.reducer
        self.estimator_ = solution.estimator
        self.regularization_ = solution.regularization
        self.widening_ = solution.widening
        score = solution.score
        self._decision_rule: Any = score.rule if isinstance(score, ModelScore) else None
        self._other_score = None if isinstance(score, ModelScore) else score
        self._grows = False
        self._set_calibration(paths)

    @property
    def _score(self) -> Score:
        return ModelScore(self._decision_rule) if self._other_score is None else self._other_score

    @property
    def _conditional(self) -> ConditionalModel:
        other = self._other_score
        return self._decision_rule.conditional if other is None else other.conditional

    # Calibration ---------------------------------------------------------------------------------

    def calibrate(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Find the cutoff that keeps the promise, on complete rows that were not learned.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Complete rows, exchangeable with those that will be decided on. They take the place of
            earlier calibration rows.
        y : array (n_samples,), optional
            Their labels; needed for every loss but "disagreement".

        Returns
        -------
        self
            The calibrated classifier.
        """
        check_is_fitted(self)
        check_parameters(self, self._allowed_parameters)
        paths = self._score_rows(X, y)
        self._grows = False
        self._set_calibration(paths)
        return self

    def partial_calibrate(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Add rows that became complete to the calibration rows, as often as they come.

        Which rows are added must not depend on how they were decided. The promise then holds for
        all numbers of rows together ("probability" with losses by name), at the price of more
        rows: 43 in place of 29 for τ = 0.9.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Complete rows.
        y : array (n_samples,), optional
            Their labels, as in `calibrate`.

        Returns
        -------
        self
            The calibrated classifier.
        """
        check_is_fitted(self)
        check_parameters(self, self._allowed_parameters)
        paths, known = self._score_rows(X, y), self._calibration
        self._grows = True
        self._set_calibration(paths if known is None else known.append(paths))
        return self

    def _score_rows(self, X: ArrayLike, y: ArrayLike | None) -> ScorePaths:
        """The scores of the caller's rows at all times."""
        rows = check_new_rows(self, X).astype(np.float64, copy=False)
        check_finite(rows, getattr(self, "feature_names_in_", None))
        complete = self._classify(rows)
        labels = complete if y is None else self._check_calibration_labels(y, len(rows))
        codes, reliabilities = follow_paths(self._score, rows)
        return ScorePaths(codes, reliabilities, complete, labels)

    def _check_calibration_labels(self, y: ArrayLike, n_rows: int) -> Array:
        labels = column_or_1d(np.asarray(y))
        if len(labels) != n_rows:
            raise ValueError(f"X has {n_rows} rows, but y has {len(labels)} labels")
        unknown = labels[~np.isin(labels, self.classes_)]
        if len(unknown):
            raise ValueError(
                f"y has the label {unknown.tolist()[0]!r}, which was not learned: the classes are "
                f"{self.classes_.tolist()[:10]}"
            )
        return np.searchsorted(self.classes_, labels)

    def _set_calibration(self, paths: ScorePaths | None) -> None:
        self._calibration = paths
        self.calibrated_, self.calibration_records_ = paths is not None, []
        cutoffs = self._find_cutoffs(self.reliability)
        self.calibration_records_ = cutoffs.records
        by_time = self.calibrated_ and self.condition == "time"
        self.cutoff_ = cutoffs.values if by_time else float(cutoffs.values.max(initial=0.0))

    def _promise(self, tau: float) -> Promise:
        parts = (tau, self.guarantee, self.confidence, self.condition, self.loss)
        return Promise(*parts, anytime=self._grows)

    def _find_cutoffs(self, tau: float) -> Cutoffs:
        """What the score must reach at each of its times."""
        times = self._score.times
        if self._calibration is None:
            return Cutoffs(np.full(len(times), tau), [], True)
        promise = self._promise(tau)
        found = find_cutoffs(self._calibration, times, self.n_features_in_, promise)
        if not found.passed and tau < 1:
            warn_waiting(self._calibration, promise, self.classes_.tolist().__getitem__)
        return found

    def _read_format_1(self) -> None:
        """Files of format 1 hold the parts of the rule apart."""
        if "_views" not in vars(self):
            return  # not fitted
        parts = ("_conditional", "_rule", "_directions", "_region")
        conditional, functions, directions, region = (vars(self)[name] for name in parts)
        discriminants = self.estimator_ if functions is None else functions
        n_classes = len(self.classes_)
        rule = build_rule(conditional, discriminants, directions, region, n_classes)
        for name in (*parts, "_views", "_table", "_n_unknown", "_portion"):
            self.__dict__.pop(name, None)
        self._decision_rule = rule

    # Complete rows -------------------------------------------------------------------------------

    def predict(self, X: ArrayLike) -> Array:
        """The class of complete rows, as `estimator_` gives it.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows without missing values; `decide` takes others.

        Returns
        -------
        array (n_samples,)
        """
        rows = check_new_rows(self, X)
        if np.isnan(rows).any():
            raise ValueError(
                "Input X contains NaN, and predict takes complete rows: use decide for rows with "
                "missing values"
            )
        _check_infinite(rows)
        return self.estimator_.predict(reduce_rows(self.reducer_, rows))

    def _classify(self, complete: Array) -> Array:
        """Numbers of the classes of complete rows."""
        labels = self.estimator_.predict(reduce_rows(self.reducer_, complete))
        return np.searchsorted(self.classes_, labels)

    # Rows with gaps ------------------------------------------------------------------------------

    def decide(
        self,
        X: ArrayLike,
        *,
        reliability: float | None = None,
        classes: ArrayLike | None = None,
    ) -> Decisions:
        """Decide on rows of which any values may be missing.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows with NaN for missing values.
        reliability : float, optional
            τ, in place of the estimator's.
        classes : array, optional
            Decide for these classes only: a row that would be decided as another is not decided.

        Returns
        -------
        Decisions
        """
        rows = check_new_rows(self, X).astype(np.float64, copy=False)
        tau, wanted = self._check_request(reliability, classes)
        _check_infinite(rows)
        observed = ~np.isnan(rows)
        codes, reliabilities = self._judge(rows, observed)
        cutoff = float(self._find_cutoffs(tau).values.max(initial=0.0))
        decided = (reliabilities >= cutoff) & wanted[codes]
        return Decisions(self.classes_[codes], decided, reliabilities, observed.sum(axis=1))

    def _judge(self, rows: Array, observed: Array) -> tuple[Array, Array]:
        """Guesses and reliabilities of rows with gaps, pattern by pattern."""
        codes, reliabilities = np.zeros(len(rows), dtype=int), np.ones(len(rows))
        for at, pattern in _group_patterns(observed):
            if pattern.all():
                codes[at] = self._classify(rows[at])
            else:
                codes[at], reliabilities[at] = self._score.judge_pattern(rows[at], pattern)
        return codes, reliabilities

    def expect(self, X: ArrayLike) -> Expectation:
        """Expected values of the missing features, and their standard deviations.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows with NaN for missing values.

        Returns
        -------
        Expectation
        """
        rows = check_new_rows(self, X).astype(np.float64, copy=False)
        _check_infinite(rows)
        observed = ~np.isnan(rows)
        mean, std = rows.copy(), np.zeros_like(rows)
        d, model = self.n_features_in_, self._conditional
        for block in row_blocks(d, d):  # some features at a time: no d × d matrix
            features = np.arange(d)[block]
            part = model._replace(
                B=np.eye(d, len(features), -features[0]), shift=model.units.mean[block]
            )
            for at, pattern in _group_patterns(observed):
                known, missing = part.condition(rows[at], pattern), ~pattern[block]
                entries = np.ix_(at, features[missing])
                mean[entries] = known.mean[:, missing]
                std[entries] = np.sqrt(known.variances[:, missing])
        return Expectation(mean, std)

    def _check_request(
        self, reliability: float | None, classes: ArrayLike | None
    ) -> tuple[float, Array]:
        """τ, and which classes may be decided for."""
        tau = self.reliability if reliability is None else reliability
        allowed = real_number(0, 1)
        if not allowed.test(tau):
            raise ValueError(f"reliability={tau!r} is not valid: it must be {allowed.words}")
        if classes is None:
            return float(tau), np.ones(len(self.classes_), dtype=bool)
        given = np.atleast_1d(np.asarray(classes))
        unknown = given[~np.isin(given, self.classes_)]
        if len(unknown) or not len(given):
            raise ValueError(
                f"classes={given.tolist()} must be some of the classes that were learned: "
                f"{self.classes_.tolist()[:10]}"
            )
        return float(tau), np.isin(self.classes_, given)

    # Series --------------------------------------------------------------------------------------

    def decide_early(
        self,
        X: ArrayLike,
        *,
        reliability: float | None = None,
        classes: ArrayLike | None = None,
    ) -> Decisions:
        """Decide on series at the first time at which the decision is reliable.

        The columns are read one after the other. A row is decided after the first value at the
        earliest, and as soon as `decide` would decide on the values so far; at its full length
        always.

        Parameters
        ----------
        X : array (n_samples, n_times)
            Series, at most as long as those that were learned. Shorter ones, or NaN in the last
            columns, are series whose next values have not arrived: they may remain undecided.
        reliability, classes
            As in `decide`.

        Returns
        -------
        Decisions
            ``time`` is the number of leading values that were used; all there are for rows that
            remain undecided.
        """
        check_is_fitted(self)
        tau, wanted = self._check_request(reliability, classes)
        rows = self._validate_series(X)
        lengths = _count_leading(rows)
        cutoffs = self._find_cutoffs(tau).values
        codes, times = np.zeros((2, len(rows)), dtype=int)
        reliabilities, decided = np.ones(len(rows)), np.zeros(len(rows), dtype=bool)
        n_innovations = self.n_features_in_ * len(self._conditional.models)
        for part in gen_batches(len(rows), max(1, MAX_INNOVATIONS // n_innovations)):
            codes[part], reliabilities[part], times[part], decided[part] = decide_series(
                self._score, self._classify, rows[part], lengths[part], cutoffs, wanted
            )
        return Decisions(self.classes_[codes], decided, reliabilities, times)

    def reliability_path(self, X: ArrayLike) -> Array:
        """How reliable deciding would be after each number of leading values.

        Parameters
        ----------
        X : array (n_samples, n_times)
            Complete series.

        Returns
        -------
        array (n_samples, n_features)
            Column t - 1 is the score after t values, that of the time before between the times at
            which the score judges, and 0 before the first of them. The last column is 1.
        """
        rows = check_new_rows(self, X).astype(np.float64, copy=False)
        check_finite(rows, getattr(self, "feature_names_in_", None))
        reliabilities = follow_paths(self._score, rows)[1]
        path = np.column_stack([np.zeros(len(rows)), reliabilities, np.ones(len(rows))])
        times = np.append(self._score.times, self.n_features_in_)
        return path[:, np.searchsorted(times, np.arange(1, self.n_features_in_ + 1), "right")]

    def _validate_series(self, X: Any) -> Array:
        """Rows of full width, with NaN beyond the end of the series."""
        check_in_memory(X)
        d, shape = self.n_features_in_, np.shape(X)
        if not sp.issparse(X) and len(shape) == 2 and 0 < shape[1] < d:
            named = self._check_leading_names(X)
            short = check_array(X, dtype=np.float64, ensure_all_finite=False)
            rows = np.hstack([short, np.full((shape[0], d - shape[1]), np.nan)])
            if not named:
                rows = check_new_rows(self, rows)
        else:
            rows = check_new_rows(self, X).astype(np.float64, copy=False)
        _check_infinite(rows)
        return rows

    def _check_leading_names(self, X: Any) -> bool:
        """Whether a short frame has the names of the first features; other names raise."""
        names, known = list(getattr(X, "columns", ())), getattr(self, "feature_names_in_", None)
        if known is None or not names or not all(isinstance(name, str) for name in names):
            return False
        expected = known[: len(names)].tolist()
        if names != expected:
            raise ValueError(
                f"X has the feature names {names[:10]}, but the first {len(names)} of the series "
                f"that were learned are {expected[:10]}: give columns in this order"
            )
        return True

    def stream(
        self, *, reliability: float | None = None, classes: ArrayLike | None = None
    ) -> DecisionStream:
        """Follow one series whose values come one by one.

        Parameters
        ----------
        reliability, classes
            As in `decide`.

        Returns
        -------
        DecisionStream
            Its `push` takes a value and returns the decision that is possible now.
        """
        check_is_fitted(self)
        tau, wanted = self._check_request(reliability, classes)
        cutoffs = self._find_cutoffs(tau).values
        return DecisionStream(
            self._score, self._classify, self.classes_, cutoffs, wanted, self.n_features_in_
        )


# The coordinates of the classifier ---------------------------------------------------------------


def fit_reducer(reducer: Any | None, X: Array, labels: Array, *, linear: bool) -> Any | None:
    """A fitted clone; an error if it must be linear and is not."""
    if reducer is None:
        return None
    fitted = clone(reducer).fit(X, labels)
    if linear and not is_linear_reducer(fitted, X):
        raise TypeError(
            f"reducer={fitted!r} is not (X - mean_) @ components_.T: EarlyClassifier needs a "
            "linear transformer such as LDG(), FisherDiscriminant() or PCA() without whitening, "
            'or score="sampled"'
        )
    return fitted


def is_linear_reducer(fitted: Any, X: Array) -> bool:
    """Whether a fitted transformer is the centred product with its components."""
    W = getattr(fitted, "components_", None)
    if W is None or np.ndim(W) != 2 or W.shape[1] != X.shape[1]:
        return False
    expected = np.asarray(fitted.transform(X))
    mean = np.broadcast_to(getattr(fitted, "mean_", 0.0), X.shape[1])
    found = centred_product(X, mean, W.T)
    scale = np.max(np.abs(expected), initial=1e-300)
    return expected.shape == found.shape and np.allclose(found, expected, atol=1e-6 * scale)


def reduce_rows(reducer: Any | None, X: Array) -> Array:
    """Rows in the coordinates of the classifier."""
    return X if reducer is None else np.asarray(reducer.transform(X))


def reduced_coordinates(reducer: Any | None, point: Array) -> tuple[Array | None, Array]:
    """Weights of the features in the coordinates, None for the features; values at a point."""
    if reducer is None:
        return None, point
    W = np.asarray(reducer.components_, dtype=np.float64)
    return W.T, W @ (point - getattr(reducer, "mean_", 0.0))


def scores_as_coordinates(
    f: Quadratic, directions: Array | None, shift: Array
) -> tuple[Array, Array, Quadratic]:
    """Weights of the features in linear scores, their values at a point, and f of the scores.

    A linear rule depends on its few scores alone, and so do its sets but for the box.
    """
    B = f.c.T if directions is None else directions @ f.c.T
    n_classes = len(f.c)
    return B, f.c @ shift + f.b, Quadratic(None, np.eye(n_classes), np.zeros(n_classes))


# Rows --------------------------------------------------------------------------------------------


def _group_patterns(observed: Array) -> Iterator[tuple[Array, Array]]:
    """Numbers of the rows of which the same features are observed, and these features."""
    patterns, members, counts = np.unique(
        observed, axis=0, return_inverse=True, return_counts=True
    )
    order = np.argsort(members.ravel(), kind="stable")
    yield from zip(np.split(order, np.cumsum(counts)[:-1]), patterns, strict=True)


def _count_leading(rows: Array) -> Array:
    """Number of leading values of each row; a value after a missing one raises."""
    observed = ~np.isnan(rows)
    gaps = np.any(observed[:, 1:] & ~observed[:, :-1], axis=1)
    if gaps.any():
        raise ValueError(
            f"row {int(np.argmax(gaps))} of X has values after a missing one: decide_early reads "
            "series from their start. Use decide for rows with gaps"
        )
    return observed.sum(axis=1)


def _check_infinite(rows: Array) -> None:
    if np.isinf(rows).any():
        row, column = np.argwhere(np.isinf(rows))[0].tolist()
        raise ValueError(
            f"Input X contains infinity in row {row}, column {column}: use NaN for missing values"
        )
