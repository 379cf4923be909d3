"""Decisions from incomplete rows, made when the complete row would probably decide the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags, check_array, gen_batches
from sklearn.utils.validation import check_is_fitted

from separatrix._warnings import warn_caller
from separatrix.base.parameters import Allowed, array_like, one_of, real_number, whole_number
from separatrix.base.rows import (
    check_labelled_rows,
    check_new_rows,
    check_several_classes,
    unchanged_on_failure,
)
from separatrix.early.arrival import (
    check_channels,
    check_order,
    count_leading,
    group_arrivals,
    group_patterns,
    is_normalized,
    mask_beyond,
    normalize_running,
    tabulate_series,
)
from separatrix.early.calibrated import CalibratedDecisions, hold_out_groups
from separatrix.early.calibration import ScorePaths
from separatrix.early.conditional import ConditionalModel, Expectation, expect_missing
from separatrix.early.prefix import PrefixScore
from separatrix.early.scores import ModelScore, SampledScore, Score
from separatrix.early.solution import CompleteClassifier, EarlySolution, Recipe
from separatrix.early.stream import (
    Decisions,
    DecisionStream,
    SeriesDecisions,
    decide_series,
    follow_paths,
)
from separatrix.linalg import Array
from separatrix.moments.checks import check_finite, check_magnitude, check_not_in_blocks
from separatrix.moments.labelled import LabelledRows
from separatrix.selection import N_FOLDS, random_splits, training_parts

MIN_SHRINKAGE = 1e-8
"""Below it the covariance of rows that are fewer than features is numerically singular."""

MAX_SHARE = 1 - 1e-9
"""Largest share or confidence: 1 leaves no row to learn from, or no cutoff."""

MAX_INNOVATIONS = 1 << 23
"""Innovations that are held at once (64 MB)."""


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


class EarlyClassifier(CalibratedDecisions, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that decides on incomplete rows when more values would hardly change the label.

    How reliable is deciding now? Any classifier may be asked. Rows that were held out
    (``calibration=0.3``) make a promise of the answer that holds for any data, as long as new rows
    are like them. Without them the answer rests on a normal model:

    let ĝ(x) be the class that `estimator` gives a complete row x: the class g of the largest
    linear or quadratic function ``f_g(x)``. Of an incomplete row some features z are known, and a
    normal model of the training rows gives the others a mean and a covariance. The row is decided
    as class c when

    ``f_c(x) ≥ f_g(x)`` for all classes g and all x in A, with ``P(x in A | z) ≥ τ``,

    so that the decision agrees with ĝ of the complete row with probability at least τ. With each
    decision comes the largest τ at which it stands.

    Parameters
    ----------
    estimator : classifier
        Any; cloned and fitted to the complete training rows. Those that take the largest of linear
        or quadratic functions are read exactly: `FisherDiscriminant` and other classifiers of this
        package with ``coef_``; LinearSVC, LogisticRegression, LinearDiscriminantAnalysis,
        RidgeClassifier, SGDClassifier, GaussianNB, QuadraticDiscriminantAnalysis, one nearest
        neighbour, SVC with a linear kernel for two classes; also in a grid search, or in a
        pipeline after scalers and linear projections. `LocalQDA` has diagonal covariances here
        unless it is told "full", which costs far more.
    reliability : float in [0, 1]
        τ. With 0 the first value is enough, with 1 nothing less than the complete row.
    region : "ellipsoid", "box", "chebyshev", "ideal" or "diagonal"
        The set A. "ellipsoid" has measure τ for normal rows. "box" has at least this measure,
        coordinate by coordinate. "chebyshev" has it for any distribution with these moments (of
        each class for "mixture"). "ideal" takes no set but the probability of the class itself:
        exact for a linear rule of two classes, a bound by the sum over all rivals for more, and
        by the mean and variance of differences for quadratic rules. It decides earliest. A set
        leaves room for errors of the model, the probability does not: the standard deviations of
        the model are therefore multiplied by a factor that is measured on training rows held out.
        "diagonal" is the ellipsoid of the thesis, which takes missing values as independent and
        has less than its nominal measure where they are not: it warns.
    conditional : "gaussian" or "mixture"
        One normal model of all rows, or one for each class, weighted by its probability given the
        observed features. Each model then has a set of its own, see Notes.
    regularization : "auto" or float in [1e-8, 1]
        α in ``Σ = (1 - α) S + α diag(S)``, S the covariance of the training rows; of each class
        for "mixture", with the diagonal of their average. "auto" takes the α under which training
        rows that are held out are most likely. When there are more rows than features, linear
        equations that all rows satisfy are expected to hold for every α.
    reducer : transformer or None
        `LDG`, `FisherDiscriminant`, PCA, scalers, or a pipeline of such; others, kernel methods
        among them, are sampled. Cloned and fitted to the complete training rows. The classifier
        and the set A then use its few coordinates.
    score : "auto", "model", "sampled" or "prefix"
        How reliable a guess is: by the set or the probability that `region` names ("model"); by
        the share of the completions of a row, drawn from the model of the missing values, that get
        the same label ("sampled"); by the confidence of classifiers of the values so far
        ("prefix"). "auto" is "model" for linear and quadratic rules, and for `LocalQDA` with
        another region than "ellipsoid", else "sampled".
    n_checkpoints : int
        Number of equidistant times at which "sampled" and "prefix" judge series.
    n_channels : int
        Number of values that arrive together, beside each other in X; that of an array
        (n_samples, n_channels, n_times) is known. The classifier gets rows of all values, time
        after time.
    n_draws : int
        Completions of a row for "sampled"; 0.2 of them where these agree in less than 0.7.
    normalize : None or "running"
        "running" replaces each value by its distance from the mean of the values so far, in
        standard deviations so far, so that level and scale of a series do not matter and nothing
        that is still to come is used.
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
    cost : (waiting, mistakes) or None
        What a whole series of waiting costs, and what a decision costs that `loss` calls lost, or
        a matrix of costs. A row is then decided when waiting is expected to cost more than it
        saves, by calibration rows; `reliability` and `guarantee` have no effect.

    Attributes
    ----------
    estimator_, reducer_ : the fitted classifier, and transformer or None
    regularization_ : float
        α.
    widening_ : float
        Factor of the standard deviations of the model; 1 unless the region is "ideal".
    score_ : "model", "sampled" or "prefix"
        The score that is used.
    calibrated_ : bool
        Whether decisions follow a cutoff found on calibration rows.
    n_calibration_rows_ : int
        Rows that the cutoff was found on.
    cutoff_ : float or array (n_times,)
        What the score must reach, at each time for ``condition="time"`` and with a `cost`; τ if
        not calibrated.
    gap_cutoff_ : float
        The same for rows with gaps, after `calibrate` with ``observed``.
    calibration_records_ : list of CalibrationRecord
        Every cutoff that was tested, with the number of rows and their loss.
    classes_ : array (n_classes,)

    Notes
    -----
    Complete rows get the label of `estimator_` and reliability 1. The reliability of any other row
    is below 1. Decisions at a smaller τ include those at a larger one, at any given time.

    Without calibration the promise is as good as the model: features that are jointly normal, or
    normal in each class, with these moments. Series that were normalised over their whole
    length reveal values that are still to come; `fit` warns about them.

    Under "mixture" the model k has the probability ``s_k``, an expected row ``m_k`` and a set of
    measure ``a_k`` about it, the largest on which the guess c wins; 0 if c does not win at
    ``m_k``. The reliability is ``Σ s_k a_k``, at most the probability of ĝ(x) = c. The guess is
    the class that wins at the expected rows of the most probability. The probabilities ``s_k`` are
    often too close to 0 and 1: with "ideal", which leaves no room for errors, prefer "gaussian".

    **What calibration promises** rests on one assumption: rows that are decided on are
    exchangeable with the calibration rows. Drift breaks it, and so do several rows of one subject:
    name subjects as `groups`. ``calibration="cv"`` is approximate.

    **With ``score="model"`` nothing is promised for `LocalQDA`.** Its quadratic functions are
    those of the neighbours of the expected row, but the complete row has neighbours of its own.
    In few dimensions with few neighbours these differ within the set: with 200 rows of 3 features
    and 4 neighbours, 81 % of the decisions at τ = 0.99 were confirmed, and 99.6 % when completions
    are sampled, the default (``python -m benchmarks.early_local``).

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
        "region": (one_of("ellipsoid", "box", "chebyshev", "ideal", "diagonal"),),
        "conditional": (one_of("gaussian", "mixture"),),
        "regularization": (one_of("auto"), real_number(MIN_SHRINKAGE, 1)),
        "score": (one_of("auto", "model", "sampled", "prefix"),),
        "n_checkpoints": (whole_number(1),),
        "n_channels": (whole_number(1),),
        "n_draws": (whole_number(2),),
        "normalize": (one_of(None, "running"),),
        "calibration": (one_of(None, "cv"), real_number(0, MAX_SHARE, open_low=True)),
        "guarantee": (one_of("probability", "average"),),
        "confidence": (real_number(0, MAX_SHARE, open_low=True),),
        "condition": (one_of(None, "time", "class"),),
        "loss": (one_of("disagreement", "gap", "error"), array_like()),
    }
    _n_channels: int = 1
    _other_score: SampledScore | PrefixScore | None = None
    _decision_rule: Any
    calibrated_: bool
    calibration_records_: Any
    cutoff_: Any
    estimator_: Any
    n_calibration_rows_: int
    reducer_: Any
    regularization_: Any
    score_: Any
    widening_: Any
    gap_cutoff_: Any

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
        normalize: str | None = None,
        calibration: float | str | None = None,
        guarantee: str = "probability",
        confidence: float = 0.95,
        condition: str | None = None,
        loss: str | ArrayLike = "disagreement",
        cost: tuple[float, Any] | None = None,
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
        self.normalize = normalize
        self.calibration = calibration
        self.guarantee = guarantee
        self.confidence = confidence
        self.condition = condition
        self.loss = loss
        self.cost = cost

    @property
    def score(self) -> NamedScore:
        """The parameter `score`; called with rows and labels, the accuracy of `predict`."""
        return NamedScore(vars(self)["score"], partial(ClassifierMixin.score, self))

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

    def __sklearn_tags__(self) -> Tags:
        """Rows may have gaps, and series several channels."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # Learning ------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike, *, groups: ArrayLike | None = None) -> Self:
        """Fit the reducer, the classifier and the model of the features.

        Parameters
        ----------
        X : array (n_samples, n_features) or (n_samples, n_channels, n_times), or list of series
            Training rows. Values may be missing (NaN), also at the ends of shorter series: the
            model of the features is then the most likely one (EM), and the classifier learns rows
            that are filled by what is expected.
        y : array (n_samples,)
            Their class labels.
        groups : array (n_samples,), optional
            The subject, site or recording of each row: a share of the groups is held out for
            calibration in place of a share of the rows, and rows of a group stay together in all
            choices.

        Returns
        -------
        self
            The fitted classifier.
        """
        with unchanged_on_failure(self):
            data = self._validate(X, y, groups)
            learned, held = self._hold_out(data)
            recipe = self._recipe()
            learned, summary = recipe.summarize(learned)
            shrinkage, widening = recipe.select(learned, summary)
            solution = recipe.solve(learned, summary, shrinkage, widening)
            self._store(solution, self._score_held_out(recipe, solution, learned, held))
        return self

    def _validate(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> LabelledRows:
        """Check the parameters and the rows; the rows are float64, in running units if asked."""
        self._check_promise()
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
        series = tabulate_series(X)
        data = check_labelled_rows(self, series.rows, y, groups=groups)
        check_several_classes(self, data.classes)
        rows = data.X.astype(np.float64, copy=False)
        _check_infinite(rows)
        check_magnitude(float(np.nanmax(np.abs(rows), initial=0.0)))
        self._n_channels = check_channels(rows.shape[1], series.n_channels, self.n_channels)
        self._warn(rows)
        return data._replace(X=self._in_units(rows))

    def _warn(self, rows: Array) -> None:
        """Warn about what makes early decisions look better than they will be."""
        if self.region == "diagonal":
            warn_caller(
                'region="diagonal" takes the missing values as independent, as the thesis does: '
                "where they are correlated the set has less than its nominal measure. Calibrate, "
                'or use region="ellipsoid"'
            )
        if self.normalize is None and is_normalized(rows, self._n_channels):
            warn_caller(
                "every series has mean 0 and standard deviation 1, as if it had been normalised "
                "over its whole length: its first values then depend on the last ones, which are "
                "not known in time. Give series as they were recorded, with "
                'normalize="running" where level and scale do not matter'
            )

    def _recipe(self) -> Recipe:
        return Recipe(
            self.estimator, self.reducer, self.conditional, self.regularization, self.region,
            str(self.score), self.n_checkpoints, self._n_channels, self.n_draws,
        )  # fmt: skip

    def _hold_out(self, data: LabelledRows) -> tuple[LabelledRows, Held]:
        """Rows to learn, and rows to calibrate with: a share of each class, or of the groups."""
        if not isinstance(self.calibration, Real):
            return data, Held(data.subset(np.arange(0)), None)
        share, whole = float(self.calibration), ~np.isnan(data.X).any(axis=1)
        held = np.zeros(len(data.codes), dtype=bool)
        if data.groups is None:  # nobody knows how a row with gaps is decided at its end
            among = np.flatnonzero(whole)
            for _, some in random_splits(data.codes[among], 1, share):
                held[among[some]] = True
        else:
            held = hold_out_groups(data.groups, share)
        lost = np.setdiff1d(data.codes, data.codes[~held])
        if len(lost):
            raise ValueError(
                f"class {data.classes[lost[0]]!r} is in groups that are held out only, and cannot "
                "be learned: calibrate with groups of your own"
            )
        chosen = np.flatnonzero(held & whole)
        if not len(chosen):
            raise ValueError(
                f"calibration={self.calibration!r} leaves none of {len(held)} rows to calibrate "
                "with: give more rows of each class, or calibrate(X, y) with others"
            )
        kept = data.subset(chosen)
        kept = Held(kept, kept.groups)
        return data.subset(np.flatnonzero(~held)), kept

    def _score_held_out(
        self, recipe: Recipe, solution: EarlySolution, learned: LabelledRows, held: Held
    ) -> ScorePaths | None:
        """The scores of rows that were not learned, if calibration is asked for."""
        if self.calibration is None:
            return None
        if self.calibration != "cv":
            return follow_labelled(solution, held.rows)._replace(groups=held.groups)
        paths = []
        for fit, rest in training_parts(learned.codes, N_FOLDS, **learned.splitting):
            part, summary = recipe.summarize(learned.subset(fit))
            without = recipe.solve(part, summary, solution.regularization, solution.widening)
            paths.append(follow_labelled(without, learned.subset(rest)))
        return reduce(ScorePaths.append, paths)

    def _store(self, solution: EarlySolution, paths: ScorePaths | None) -> None:
        self.classes_, self.reducer_, self.estimator_ = solution.complete
        self.regularization_ = solution.regularization
        self.widening_ = solution.widening
        score = solution.score
        by_model = isinstance(score, ModelScore)
        self.score_ = (
            "model" if by_model else "sampled" if isinstance(score, SampledScore) else "prefix"
        )
        self._decision_rule: Any = score.rule if isinstance(score, ModelScore) else None
        self._other_score = None if isinstance(score, ModelScore) else score
        self._grows, self._gap_calibration = False, None
        self._set_calibration(paths)

    @property
    def _score(self) -> Score:
        other = self._other_score
        return ModelScore(self._decision_rule, self._n_channels) if other is None else other

    @property
    def _conditional(self) -> ConditionalModel:
        other = self._other_score
        return self._decision_rule.conditional if other is None else other.conditional

    # Complete rows -------------------------------------------------------------------------------

    def predict(self, X: ArrayLike) -> Array:
        """The class of complete rows, as `estimator_` gives it, and guesses for others.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows; of those with missing values `decide` also tells how reliable the guess is.

        Returns
        -------
        array (n_samples,)
        """
        rows = self._check_rows(X)
        codes, _ = self._judge(rows, ~np.isnan(rows))
        return self.classes_[codes]

    def _classify(self, complete: Array) -> Array:
        """Numbers of the classes of complete rows."""
        classifier = CompleteClassifier(self.classes_, self.reducer_, self.estimator_)
        return classifier.classify(complete)

    def _check_rows(self, X: ArrayLike) -> Array:
        """Rows of the features that were learned, in the units of the model; they may have NaN."""
        rows = check_new_rows(self, tabulate_series(X).rows).astype(np.float64, copy=False)
        _check_infinite(rows)
        return self._in_units(rows)

    def _in_units(self, rows: Array) -> Array:
        return rows if self.normalize is None else normalize_running(rows, self._n_channels)

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
            Rows with NaN for missing values; the last columns may be left out.
        reliability : float, optional
            τ, in place of the estimator's.
        classes : array, optional
            Decide for these classes only: a row that would be decided as another is not decided.

        Returns
        -------
        Decisions
        """
        rows = self._in_units(self._validate_series(X))
        tau, wanted = self._check_request(reliability, classes)
        observed = ~np.isnan(rows)
        codes, reliabilities = self._judge(rows, observed)
        decided = (reliabilities >= self._find_gap_cutoff(tau)) & wanted[codes]
        return Decisions(self.classes_[codes], decided, reliabilities, observed.sum(axis=1))

    def expect(self, X: ArrayLike) -> Expectation:
        """Expected values of the missing features, and their standard deviations.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows with NaN for missing values; the last columns may be left out.

        Returns
        -------
        Expectation
            In running units with ``normalize="running"``.
        """
        rows = self._in_units(self._validate_series(X))
        mean, std = rows.copy(), np.zeros_like(rows)
        for at, pattern in group_patterns(~np.isnan(rows)):
            mean[at], std[at] = expect_missing(self._conditional, rows[at], pattern)
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
        lengths: ArrayLike | None = None,
        order: ArrayLike | None = None,
        reliability: float | None = None,
        classes: ArrayLike | None = None,
    ) -> Decisions:
        """Decide on series at the first time at which the decision is reliable.

        The values are read one time after the other. A row is decided after the first value at
        the earliest, and as soon as `decide` would decide on the values so far; at its full length
        always, unless values are missing.

        Parameters
        ----------
        X : array (n_samples, n_times) or (n_samples, n_channels, n_times), or list of series
            Series, at most as long as those that were learned. Shorter ones, or NaN in the last
            columns, are series whose next values have not arrived: they may remain undecided. NaN
            before other values are gaps.
        lengths : array of int (n_samples,), optional
            How many times of each series have come; what follows in X is not looked at.
        order : array of int (n_features,), optional
            The features in the order in which they arrive, where it is not that of the columns.
        reliability, classes
            As in `decide`.

        Returns
        -------
        Decisions
            ``time`` is the number of times that were used; all there are for rows that remain
            undecided.
        """
        check_is_fitted(self)
        tau, wanted = self._check_request(reliability, classes)
        rows = self._validate_series(X)
        if lengths is not None:
            rows = mask_beyond(rows, lengths, self._n_channels)
        rows = self._in_units(rows)
        features = None if order is None else check_order(order, rows.shape[1])
        arriving = rows if features is None else rows[:, features]
        n_due = count_leading(arriving)
        if lengths is not None and features is None:
            n_due = np.asarray(lengths) * self._n_channels
        cutoffs = self._find_cutoffs(tau).values
        codes, times = np.zeros((2, len(rows)), dtype=int)
        reliabilities, decided = np.ones(len(rows)), np.zeros(len(rows), dtype=bool)
        n_observed, together = np.zeros(len(rows), dtype=int), self._n_channels == 1
        size = max(1, MAX_INNOVATIONS // (rows.shape[1] * len(self._conditional.models)))
        for group, arrival in group_arrivals(arriving, n_due, features):
            for part in (group[batch] for batch in gen_batches(len(group), size)):
                codes[part], reliabilities[part], times[part], decided[part] = decide_series(
                    self._score, self._classify, rows[part], n_due[part], cutoffs, wanted, arrival
                )
            n_observed[group] = times[group] if arrival is None else arrival.counts[times[group]]
            together &= arrival is None
        found = Decisions(self.classes_[codes], decided, reliabilities, n_observed)
        steps = -(-times // self._n_channels)
        return found if together else SeriesDecisions.at_times(found, steps)

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
        rows = self._check_rows(X)
        check_finite(rows, getattr(self, "feature_names_in_", None))
        reliabilities = follow_paths(self._score, rows)[1]
        path = np.column_stack([np.zeros(len(rows)), reliabilities, np.ones(len(rows))])
        times = np.append(self._score.times, self.n_features_in_)
        return path[:, np.searchsorted(times, np.arange(1, self.n_features_in_ + 1), "right")]

    def _validate_series(self, X: Any) -> Array:
        """Rows of full width, with NaN beyond the end of the series."""
        check_not_in_blocks(X)
        X = tabulate_series(X).rows
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
        self,
        *,
        reliability: float | None = None,
        classes: ArrayLike | None = None,
        grow: bool = False,
    ) -> DecisionStream:
        """Follow one series whose values come one by one.

        Parameters
        ----------
        reliability, classes
            As in `decide`.
        grow : bool
            Add the series to the calibration rows when it is complete, as `partial_calibrate`
            does; later streams follow the new cutoff. Let every series run to its end, also those
            that are decided: a choice among them would break the promise.

        Returns
        -------
        DecisionStream
            Its `push` takes a value and returns the decision that is possible now.
        """
        check_is_fitted(self)
        tau, wanted = self._check_request(reliability, classes)
        if grow and not (isinstance(self.loss, str) and self.loss == "disagreement"):
            raise ValueError(
                "grow=True needs no labels with loss='disagreement' only, but "
                f"loss={self.loss!r}: use partial_calibrate with complete rows and their labels"
            )
        cutoffs = self._find_cutoffs(tau).values
        return DecisionStream(
            self._score, self._classify, self.classes_, cutoffs, wanted, self.n_features_in_,
            self._add_series if grow else None,
            0 if self.normalize is None else self._n_channels,
        )  # fmt: skip

    def _add_series(self, path: Sequence[tuple[int, float]], code: int) -> None:
        """Add the path of one series that is complete to the calibration."""
        codes = np.array([[guess for guess, _ in path]], dtype=np.int32)
        reliabilities, complete = np.array([[r for _, r in path]]), np.array([code])
        self._add_paths(ScorePaths(codes, reliabilities, complete, complete))


class Held(NamedTuple):
    """Rows that were held out, and the numbers of their groups or None."""

    rows: LabelledRows
    groups: Array | None


def follow_labelled(solution: EarlySolution, rows: LabelledRows) -> ScorePaths:
    """The scores of labelled rows at all times."""
    codes, reliabilities = follow_paths(solution.score, rows.X)
    return ScorePaths(codes, reliabilities, solution.complete.classify(rows.X), rows.codes)


def _check_infinite(rows: Array) -> None:
    if np.isinf(rows).any():
        row, column = np.argwhere(np.isinf(rows))[0].tolist()
        raise ValueError(
            f"Input X contains infinity in row {row}, column {column}: use NaN for missing values"
        )
