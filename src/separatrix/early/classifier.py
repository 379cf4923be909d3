"""Decisions from incomplete rows, made when the complete row would probably decide the same."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags, check_array, column_or_1d, gen_batches
from sklearn.utils.validation import check_is_fitted

from separatrix._warnings import warn_caller
from separatrix.base.parameters import Allowed, check_parameters, real_number, whole_number
from separatrix.base.rows import (
    check_labelled_rows,
    check_new_rows,
    check_several_classes,
    number_groups,
    unchanged_on_failure,
)
from separatrix.early.arrival import (
    check_channels,
    count_leading,
    group_arrivals,
    group_patterns,
    is_normalized,
    mask_beyond,
    tabulate_series,
)
from separatrix.early.calibration import (
    UNCALIBRATED_PREFIXES,
    ClassPromise,
    Cost,
    Promise,
    PromiseTable,
    Ruling,
    ScorePaths,
    make_ruling,
    settle_calibration,
)
from separatrix.early.conditional import ConditionalModel, Expectation, expect_missing
from separatrix.early.judges import AnyJudge, ModelJudge, PrefixJudge, SampledJudge, settle_judge
from separatrix.early.layout import find_channels
from separatrix.early.modelled import ModelScore
from separatrix.early.prefixes import PrefixScore
from separatrix.early.sampled import SampledScore
from separatrix.early.solution import CompleteClassifier, EarlySolution, Recipe
from separatrix.early.stream import Decisions, DecisionStream, decide_series, follow_paths
from separatrix.linalg import Array
from separatrix.moments.labelled import (
    LabelledRows,
    check_finite,
    check_magnitude,
    check_not_in_blocks,
)
from separatrix.selection import N_FOLDS, random_splits, training_parts

MAX_INNOVATIONS = 1 << 23
"""Innovations that are held at once (64 MB)."""


class EarlyClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that decides on incomplete rows when more values would hardly change the label.

    How reliable is deciding now? Any classifier may be asked. A judge says how sure the label is
    that the values so far give; rows that were held out (``calibration=0.3``) say which promise
    that keeps. Without them the answer is as good as a normal model of the values to come.

    Parameters
    ----------
    estimator : classifier
        Any; cloned and fitted to the complete training rows.
    reliability : float in [0, 1]
        τ: the decision is to agree with that on the complete row with this probability. With 0 the
        first value is enough, with 1 nothing less than the complete row.
    judge : "auto", "model", "sampled", "prefix", or an object
        `early.ModelJudge` for classifiers that take the largest of linear or quadratic functions;
        `early.SampledJudge` for any; `early.PrefixJudge` for any, with a classifier for each of
        some lengths. "auto" takes the first that the classifier allows; with `features` the last.
    calibration : None, float in (0, 1), "cv", or an object
        The share of the training rows that `fit` does not learn but makes a promise with; the same
        as `early.Promise(share)`. `early.Cost` weighs waiting against mistakes.
    reducer : transformer or None
        Cloned and fitted to the complete training rows; the classifier then uses its coordinates.
    n_channels : int
        Number of values that arrive together, in neighbouring columns of X. That of an array
        (n_samples, n_channels, n_times) is taken from its shape, that of a table from names such
        as ``acc_0, …, acc_49, gyro_0, …``, whose columns are then put in the order of time.
    features : transformer or None
        Of series, with features of all prefixes in one pass: `features.RandomConvolutions`. The
        reducer and the classifier then use these features.

    Attributes
    ----------
    estimator_, reducer_, features_ : the fitted classifier, and transformers or None
    judge_ : ModelJudge, SampledJudge or PrefixJudge
    channels_ : list of str or None
        Channels that the names of columns state.
    regularization_ : float
        α of the normal model of the values.
    widening_ : float
        Factor of the standard deviations of the model, by rows held out while fitting; 1 with
        calibration, and for sets.
    calibrated_ : bool
    n_calibration_rows_ : int
    guarantee_ : "probability", "average" or None
        Kind of the promise.
    promise_table_ : PromiseTable or None
        Cutoffs of the score and the reliability that each keeps; None without calibration.
    no_promise_ : str or None
        Why nothing is decided before the end, where that is so.
    class_promises_ : list of ClassPromise
        For each class what decisions at τ keep on the calibration rows.
    cutoff_ : float or array (n_times,)
        The score needed for τ; at each time for ``condition="time"`` and a `Cost`.
    classes_ : array (n_classes,)

    Notes
    -----
    Complete rows get the label of `estimator_` and reliability 1. Decisions at a smaller τ include
    those at a larger one, at any given time.

    **Calibrated**, the promise rests on one assumption: rows that are decided on are exchangeable
    with the calibration rows. Drift breaks it, and so do several rows of one subject: name
    subjects as `groups`. It is about series whose values come in order; for rows with gaps it is
    approximate. So is ``calibration="cv"``.

    **Without calibration** it is as good as the model: values that are jointly normal with the
    moments of the training rows. Series that were normalised over their whole length reveal values
    that are still to come; `fit` warns about them.

    Prefixes of all lengths share one Cholesky factor: d³ / 3 flops once, d² for each row and its
    length, O(d) for each new value of a stream under a linear rule. Another pattern of missing
    values costs a factorisation of its own, for all rows that share it.

    References
    ----------
    Parrish, Supervised dimensionality reduction for different learning architectures, doctoral
    thesis, University of Washington (2012), chapter 5.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from separatrix import EarlyClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 100)
    >>> X = rng.normal(size=(200, 20)).cumsum(axis=1) + np.outer(2 * y - 1, np.arange(20) / 4)
    >>> model = EarlyClassifier(LogisticRegression(), calibration=0.4).fit(X[::2], y[::2])
    >>> early = model.decide_early(X[1::2])
    >>> bool(early.time.mean() < 20)
    True
    >>> bool(np.mean(early.label == model.predict(X[1::2])) >= 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}  # scikit-learn's: `fit` checks
    _allowed_parameters: ClassVar[dict[str, Sequence[Allowed]]] = {
        "reliability": (real_number(0, 1),),
        "n_channels": (whole_number(1),),
    }
    _n_channels: int = 1
    _order: Any
    _score: Any
    calibrated_: bool
    channels_: list[str] | None
    class_promises_: list[ClassPromise]
    classes_: Array
    cost_cutoffs_: Any
    cutoff_: Any
    estimator_: Any
    features_: Any
    guarantee_: str | None
    judge_: Any
    n_calibration_rows_: int
    no_promise_: str | None
    promise_table_: PromiseTable | None
    reducer_: Any
    regularization_: Any
    widening_: Any

    def __init__(
        self,
        estimator: Any,
        *,
        reliability: float = 0.9,
        judge: Any = "auto",
        calibration: Any = None,
        reducer: Any | None = None,
        n_channels: int = 1,
        features: Any | None = None,
    ) -> None:
        self.estimator = estimator
        self.reliability = reliability
        self.judge = judge
        self.calibration = calibration
        self.reducer = reducer
        self.n_channels = n_channels
        self.features = features

    def __sklearn_tags__(self) -> Tags:
        """Rows may have gaps, and series several channels."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # Learning ------------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Fit the reducer, the classifier and the model of the features.

        Parameters
        ----------
        X : array (n_samples, n_features) or (n_samples, n_channels, n_times), or list of series
            Training rows. Values may be missing (NaN), also at the ends of shorter series: the
            model of the features is then the most likely one (EM), and the classifier learns rows
            that are filled by expected values.
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
            calibration = self._check_calibration(data.classes)
            learned, held = self._hold_out(data, calibration)
            recipe = self._recipe()
            learned, summary = recipe.summarize(learned)
            solution = recipe.solve(learned, summary, recipe.select(learned, summary))
            if calibration is None:  # which corrects the probability itself
                solution = recipe.widen(solution, learned)
            self._store(solution)
            self._set_ruling(
                calibration, self._score_held_out(recipe, solution, learned, held, calibration)
            )
        return self

    def _validate(
        self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None
    ) -> LabelledRows:
        """Check the parameters and the rows; the rows are float64."""
        check_parameters(self, self._allowed_parameters)
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "predict"):
            raise TypeError(
                f"estimator={self.estimator!r} is not a classifier: give an instance with fit and "
                "predict"
            )
        for name, example in (("reducer", "FisherDiscriminant(), LDG() or PCA()"),
                              ("features", "features.RandomConvolutions()")):  # fmt: skip
            part = getattr(self, name)
            if part is not None and (isinstance(part, type) or not hasattr(part, "fit")):
                raise TypeError(
                    f"{name}={part!r} is not a transformer: give an instance such as {example}, "
                    "or None"
                )
        if self.features is not None and not hasattr(self.features, "transform_prefixes"):
            raise TypeError(
                f"features={self.features!r} has no transform_prefixes, as RandomConvolutions "
                "has: put it in a pipeline with the estimator, and use judge='prefix'"
            )
        series = tabulate_series(X)
        data = check_labelled_rows(self, series.rows, y, groups=groups)
        check_several_classes(self, data.classes)
        rows = data.X.astype(np.float64, copy=False)
        _check_infinite(rows)
        check_magnitude(float(np.nanmax(np.abs(rows), initial=0.0)))
        names = getattr(self, "feature_names_in_", None)
        blocks = None if names is None else find_channels(names.tolist())
        self.channels_ = None if blocks is None else blocks.channels
        self._order = None if blocks is None else blocks.order
        rows = self._in_time(rows)
        n_stated = series.n_channels if blocks is None else len(blocks.channels)
        self._n_channels = check_channels(rows.shape[1], n_stated, self.n_channels)
        judge = settle_judge(self.judge)
        if isinstance(judge, ModelJudge) and judge.region == "diagonal":
            warn_caller(
                'region="diagonal" takes the missing values as independent, as the thesis does: '
                "where they are correlated the set has less than its nominal measure. Calibrate, "
                'or use region="ellipsoid"'
            )
        if is_normalized(rows, self._n_channels):
            warn_caller(
                "every series has mean 0 and standard deviation 1, as if it had been normalised "
                "over its whole length: its first values then depend on the last ones, which are "
                "not known in time. Give series as they were recorded, or "
                "early.normalize_running(X) where level and scale do not matter"
            )
        return data._replace(X=rows)

    def _check_calibration(self, classes: Array) -> Promise | Cost | None:
        """The calibration that the parameter names or is."""
        chosen, judge = (
            settle_calibration(self.calibration, len(classes)),
            settle_judge(self.judge),
        )
        by_prefix = isinstance(judge, PrefixJudge) or (judge is None and self.features is not None)
        if chosen is None and by_prefix:
            raise ValueError(
                "judge='prefix' states a confidence that is no reliability before it is "
                "calibrated: give calibration=0.3, or early.Promise(share=None) and calibrate(X) "
                "with rows of your own"
            )
        return chosen

    def _recipe(self) -> Recipe:
        judge = settle_judge(self.judge)
        return Recipe(self.estimator, self.reducer, self.features, judge, self._n_channels)

    def _hold_out(
        self, data: LabelledRows, calibration: Promise | Cost | None
    ) -> tuple[LabelledRows, LabelledRows | None]:
        """Rows to learn, and rows to calibrate with: a share of each class, or of the groups."""
        share = None if calibration is None else calibration.share
        if not isinstance(share, Real):
            return data, None
        share, whole = float(share), ~np.isnan(data.X).any(axis=1)
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
        if not (held & whole).any():
            raise ValueError(
                f"calibration={self.calibration!r} leaves none of {len(held)} rows to calibrate "
                "with: give more rows of each class, or calibrate(X, y) with others"
            )
        return data.subset(np.flatnonzero(~held)), data.subset(np.flatnonzero(held & whole))

    def _score_held_out(
        self,
        recipe: Recipe,
        solution: EarlySolution,
        learned: LabelledRows,
        held: LabelledRows | None,
        calibration: Promise | Cost | None,
    ) -> ScorePaths | None:
        """The scores of rows that were not learned, if calibration is asked for."""
        if held is not None:
            return follow_labelled(solution, held)._replace(groups=held.groups)
        if calibration is None or calibration.share is None:
            return None
        paths = []
        for fit, rest in training_parts(learned.codes, N_FOLDS, **learned.splitting):
            part, summary = recipe.summarize(learned.subset(fit))
            without = recipe.solve(part, summary, solution.regularization)
            paths.append(follow_labelled(without, learned.subset(rest)))
        return reduce(ScorePaths.append, paths)

    def _store(self, solution: EarlySolution) -> None:
        complete = solution.complete
        self.classes_, self.estimator_ = complete.classes, complete.estimator
        self.features_, self.reducer_ = complete.features, complete.reducer
        self.regularization_, self.widening_ = solution.regularization, solution.widening
        self._score = solution.score
        judge, by_model = settle_judge(self.judge), isinstance(solution.score, ModelScore)
        by_draws = isinstance(solution.score, SampledScore)
        kind = ModelJudge if by_model else SampledJudge if by_draws else PrefixJudge
        self.judge_: AnyJudge = kind() if judge is None else judge

    # Promises ------------------------------------------------------------------------------------

    def calibrate(
        self, X: ArrayLike, y: ArrayLike | None = None, groups: ArrayLike | None = None
    ) -> Self:
        """Make a promise with complete rows that were not learned.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Complete rows, exchangeable with those that will be decided on. They take the place of
            earlier calibration rows.
        y : array (n_samples,), optional
            Their labels; needed for every loss but "disagreement".
        groups : array (n_samples,), optional
            The subject, site or recording of each row. The promise is then about the average row
            of a new group, and groups are counted in place of rows.

        Returns
        -------
        self
            The calibrated classifier.
        """
        check_is_fitted(self)
        calibration = self._check_calibration(self.classes_)
        calibration = Promise(share=None) if calibration is None else calibration
        rows = self._check_rows(X)
        check_finite(rows, getattr(self, "feature_names_in_", None))
        complete = self._classify(rows)
        if y is None and calibration.needs_labels:
            raise ValueError("y is missing: only the loss 'disagreement' needs no labels")
        labels = complete if y is None else self._check_labels(y, len(rows))
        numbers = None if groups is None else number_groups(groups, len(rows))
        paths = ScorePaths(*follow_paths(self._score, rows), complete, labels, numbers)
        self._set_ruling(calibration, paths)
        return self

    def _check_labels(self, y: ArrayLike, n_rows: int) -> Array:
        """Numbers of the true classes."""
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

    def _set_ruling(self, calibration: Promise | Cost | None, paths: ScorePaths | None) -> None:
        """Keep what calibration found, and nothing of the rows that it was made from."""
        ruling, score = Ruling(), self._score
        if paths is not None and calibration is not None:
            parts = (self.reliability, self.classes_, score.times, self.n_features_in_)
            ruling = make_ruling(paths, calibration, *parts)
        elif isinstance(score, PrefixScore):
            ruling = UNCALIBRATED_PREFIXES
        for name, value in ruling._asdict().items():
            setattr(self, f"{name}_", value)
        cutoffs = np.minimum(ruling.cutoffs(self.reliability, len(score.times)), 1.0)
        same = cutoffs.max(initial=0.0) == cutoffs.min(initial=1.0)
        self.cutoff_ = float(cutoffs[0]) if same else cutoffs

    def _cutoffs(self, tau: float) -> Array:
        """The score needed at each of its times."""
        return self._ruling.cutoffs(tau, len(self._score.times))

    @property
    def _ruling(self) -> Ruling:
        return Ruling(*(getattr(self, f"{name}_") for name in Ruling._fields))

    # Complete rows -------------------------------------------------------------------------------

    def predict(self, X: ArrayLike) -> Array:
        """The class of complete rows, as `estimator_` gives it, and guesses for others.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows; for those with missing values `decide` also gives the reliability of the guess.

        Returns
        -------
        array (n_samples,)
        """
        rows = self._check_rows(X)
        codes, _ = self._judge(rows, ~np.isnan(rows))
        return self.classes_[codes]

    def _classify(self, complete: Array) -> Array:
        """Numbers of the classes of complete rows."""
        parts = (self.classes_, self.features_, self.reducer_, self.estimator_, self._n_channels)
        return CompleteClassifier(*parts).classify(complete)

    def _check_rows(self, X: ArrayLike) -> Array:
        """Rows of the features that were learned; they may have NaN."""
        rows = check_new_rows(self, tabulate_series(X).rows).astype(np.float64, copy=False)
        _check_infinite(rows)
        return self._in_time(rows)

    def _in_time(self, rows: Array) -> Array:
        """The columns time after time."""
        return rows if self._order is None else rows[:, self._order]

    # Rows with gaps ------------------------------------------------------------------------------

    def decide(
        self,
        X: ArrayLike,
        *,
        reliability: float | None = None,
    ) -> Decisions:
        """Decide on rows of which any values may be missing.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows with NaN for missing values; the last columns may be left out.
        reliability : float, optional
            τ, in place of the estimator's.

        Returns
        -------
        Decisions
        """
        rows = self._validate_series(X)
        tau = self._check_reliability(reliability)
        observed = ~np.isnan(rows)
        codes, scores = self._judge(rows, observed)
        decided = (scores >= self._cutoffs(tau).max(initial=0.0)) | (scores == 1)
        times = -(-count_leading(rows) // self._n_channels)
        return Decisions(
            self.classes_[codes], decided, self._ruling.reliability(scores), scores,
            observed.sum(axis=1), times,
        )  # fmt: skip

    def _judge(self, rows: Array, observed: Array) -> tuple[Array, Array]:
        """Guesses and scores of rows with gaps, pattern by pattern."""
        codes, scores = np.zeros(len(rows), dtype=int), np.ones(len(rows))
        for at, pattern in group_patterns(observed):
            if pattern.all():
                codes[at] = self._classify(rows[at])
            else:
                codes[at], scores[at] = self._score.judge_pattern(rows[at], pattern)
        return codes, scores

    def expect(self, X: ArrayLike) -> Expectation:
        """Expected values of the missing features, and their standard deviations.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows with NaN for missing values; the last columns may be left out.

        Returns
        -------
        Expectation
        """
        rows = self._validate_series(X)
        mean, std = rows.copy(), np.zeros_like(rows)
        for at, pattern in group_patterns(~np.isnan(rows)):
            mean[at], std[at] = expect_missing(self._conditional, rows[at], pattern)
        if self._order is not None:  # in the order of the caller's columns
            place = np.argsort(self._order)
            mean, std = mean[:, place], std[:, place]
        return Expectation(mean, std)

    @property
    def _conditional(self) -> ConditionalModel:
        return self._score.conditional

    def _check_reliability(self, reliability: float | None) -> float:
        """τ of one call."""
        tau, allowed = self.reliability if reliability is None else reliability, real_number(0, 1)
        if not allowed.test(tau):
            raise ValueError(f"reliability={tau!r} is not valid: it must be {allowed.words}")
        return float(tau)

    # Series --------------------------------------------------------------------------------------

    def decide_early(
        self,
        X: ArrayLike,
        lengths: ArrayLike | None = None,
        *,
        reliability: float | None = None,
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
            How many times of each series have come; later values in X are not looked at.
        reliability
            As in `decide`.

        Returns
        -------
        Decisions
            ``time`` is the number of times that were used; all there are for rows that remain
            undecided.
        """
        check_is_fitted(self)
        tau = self._check_reliability(reliability)
        rows = self._validate_series(X)
        if lengths is not None:
            rows = mask_beyond(rows, lengths, self._n_channels)
            n_due = np.asarray(lengths) * self._n_channels
        else:
            n_due = count_leading(rows)
        cutoffs, n = self._cutoffs(tau), len(rows)
        codes, times, n_observed, at = np.zeros((4, n), dtype=int)
        scores, decided = np.ones(n), np.zeros(n, dtype=bool)
        size = max(1, MAX_INNOVATIONS // (rows.shape[1] * len(self._conditional.models)))
        for group, arrival in group_arrivals(rows, n_due):
            for part in (group[batch] for batch in gen_batches(len(group), size)):
                codes[part], scores[part], times[part], decided[part], at[part] = decide_series(
                    self._score, self._classify, rows[part], n_due[part], cutoffs, arrival
                )
            n_observed[group] = times[group] if arrival is None else arrival.counts[times[group]]
        reliability_kept = self._ruling.reliability(scores, at)
        steps = -(-times // self._n_channels)
        return Decisions(
            self.classes_[codes], decided, reliability_kept, scores, n_observed, steps
        )

    def reliability_path(self, X: ArrayLike) -> Array:
        """How reliable deciding would be after each number of leading values.

        Parameters
        ----------
        X : array (n_samples, n_times)
            Complete series.

        Returns
        -------
        array (n_samples, n_features)
            Column t - 1 is the reliability after t values, that of the time before between the
            times at which series are judged, and 0 before the first of them. The last column is 1.
        """
        rows = self._check_rows(X)
        check_finite(rows, getattr(self, "feature_names_in_", None))
        scores = follow_paths(self._score, rows)[1]
        at = np.broadcast_to(np.arange(scores.shape[1]), scores.shape)
        kept = self._ruling.reliability(scores.ravel(), at.ravel()).reshape(scores.shape)
        path = np.column_stack([np.zeros(len(rows)), kept, np.ones(len(rows))])
        times = np.append(self._score.times, self.n_features_in_)
        return path[:, np.searchsorted(times, np.arange(1, self.n_features_in_ + 1), "right")]

    def _validate_series(self, X: Any) -> Array:
        """Rows of full width, with NaN beyond the end of the series."""
        check_not_in_blocks(X)
        X = tabulate_series(X).rows
        d, shape = self.n_features_in_, np.shape(X)
        in_order = self._order is None or not np.any(np.diff(self._order) < 0)
        if in_order and not sp.issparse(X) and len(shape) == 2 and 0 < shape[1] < d:
            named = self._check_leading_names(X)
            short = check_array(X, dtype=np.float64, ensure_all_finite=False)
            rows = np.hstack([short, np.full((shape[0], d - shape[1]), np.nan)])
            if not named:
                rows = check_new_rows(self, rows)
        else:
            rows = check_new_rows(self, X).astype(np.float64, copy=False)
        _check_infinite(rows)
        return self._in_time(rows)

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

    def stream(self, *, reliability: float | None = None) -> DecisionStream:
        """Follow one series whose values come one by one.

        Parameters
        ----------
        reliability
            As in `decide`.

        Returns
        -------
        DecisionStream
            Its `push` takes a value and returns the decision that is possible now.
        """
        check_is_fitted(self)
        tau = self._check_reliability(reliability)
        return DecisionStream(
            self._score, self._classify, self.classes_, self._cutoffs(tau),
            self.n_features_in_, self._n_channels, self._ruling.reliability,
        )  # fmt: skip


def follow_labelled(solution: EarlySolution, rows: LabelledRows) -> ScorePaths:
    """The scores of labelled rows at all times."""
    codes, scores = follow_paths(solution.score, rows.X)
    return ScorePaths(codes, scores, solution.complete.classify(rows.X), rows.codes)


def hold_out_groups(groups: Array, share: float) -> Array:
    """Which rows are held out: all of a share of the groups, at least one of them.

    Examples
    --------
    >>> held = hold_out_groups(np.array([0, 0, 1, 1, 2, 2]), 0.3)
    >>> int(held.sum())
    2
    """
    names = np.unique(groups)
    if len(names) < 2:
        raise ValueError(f"groups has {len(names)} group: at least two are needed to hold one out")
    n_held = min(max(1, round(share * len(names))), len(names) - 1)
    return np.isin(groups, np.random.default_rng(0).permutation(names)[:n_held])


def _check_infinite(rows: Array) -> None:
    if np.isinf(rows).any():
        row, column = np.argwhere(np.isinf(rows))[0].tolist()
        raise ValueError(
            f"Input X contains infinity in row {row}, column {column}: use NaN for missing values"
        )
