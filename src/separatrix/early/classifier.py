"""Decisions from incomplete rows, made when the complete row would probably decide the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_array, gen_batches
from sklearn.utils.validation import check_is_fitted

from separatrix.base.blockwise import lazy_on_dask
from separatrix.base.parameters import Allowed, check_parameters, one_of, real_number
from separatrix.base.rows import (
    centred_product,
    check_labelled_rows,
    check_new_rows,
    check_several_classes,
    unchanged_on_failure,
)
from separatrix.decision.local_qda import LocalQDA
from separatrix.decision.rules import Quadratic
from separatrix.early.conditional import (
    ConditionalModel,
    Expectation,
    FeatureSummary,
    fit_normal_models,
    select_shrinkage,
    summarize_features,
)
from separatrix.early.region import (
    SUPPORTED_CLASSIFIERS,
    IncompleteDecisionRule,
    build_rule,
    extract_discriminants,
    is_supported,
)
from separatrix.early.stream import Decisions, DecisionStream, decide_series
from separatrix.linalg import Array
from separatrix.moments.checks import check_finite, check_in_memory
from separatrix.moments.labelled import LabelledRows, row_blocks
from separatrix.selection import N_FOLDS, training_parts

MIN_SHRINKAGE = 1e-8
"""Below it the covariance of rows that are fewer than features is numerically singular."""

MIN_OPEN_VARIANCE = 1e-9
"""Variance of a score, relative to its variance before the first value, that is not yet zero."""

MAX_INNOVATIONS = 1 << 23
"""Innovations that are held at once (64 MB)."""


class EarlySolution(NamedTuple):
    """The fitted parts of an `EarlyClassifier`: its fitted attributes, and the rule."""

    classes: Array
    reducer: Any | None
    estimator: Any
    regularization: float
    widening: float
    rule: IncompleteDecisionRule


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

    Attributes
    ----------
    estimator_, reducer_ : the fitted classifier, and transformer or None
    regularization_ : float
        α.
    widening_ : float
        Factor of the standard deviations of the model; 1 unless the region is "ideal".
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
    }

    def __init__(
        self,
        estimator: Any,
        *,
        reliability: float = 0.9,
        region: str = "ellipsoid",
        conditional: str = "gaussian",
        regularization: str | float = "auto",
        reducer: Any | None = None,
    ) -> None:
        self.estimator = estimator
        self.reliability = reliability
        self.region = region
        self.conditional = conditional
        self.regularization = regularization
        self.reducer = reducer

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
            summary = self._summarize(data)
            shrinkage, widening = self._select(data, summary)
            self._store(self._solve(data, summary, shrinkage, widening))
        return self

    def _validate(self, X: ArrayLike, y: ArrayLike) -> LabelledRows:
        """Check the parameters and the rows; the rows are float64 and finite."""
        check_parameters(self, self._allowed_parameters)
        if not is_supported(self.estimator):
            raise TypeError(
                f"estimator={self.estimator!r} is not supported: EarlyClassifier needs the linear "
                "or quadratic functions of which it takes the largest. Use "
                f"{SUPPORTED_CLASSIFIERS}"
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
            found = solution.rule.conditional.prediction_errors(data.X[held])
            squared_errors, variances = squared_errors + found[0], variances + found[1]
        is_open = variances > MIN_OPEN_VARIANCE * variances[0]
        if not is_open.any():
            return 1.0
        return max(1.0, float(np.sqrt(np.mean(squared_errors[is_open] / variances[is_open]))))

    def _solve(
        self, data: LabelledRows, summary: FeatureSummary, shrinkage: float, widening: float
    ) -> EarlySolution:
        """Fit the classifier, and build the rule for its discriminants; sets no attribute."""
        labels = data.classes[data.codes]
        reducer = fit_reducer(self.reducer, data.X, labels)
        estimator = clone(self.estimator)
        if isinstance(estimator, LocalQDA) and estimator.covariance == "auto":
            estimator.set_params(covariance="diag")  # full ones cost r³ at every decision
        estimator.fit(reduce_rows(reducer, data.X), labels)
        discriminants = (
            estimator if isinstance(estimator, LocalQDA) else extract_discriminants(estimator)
        )
        linear = isinstance(discriminants, Quadratic) and discriminants.Q is None
        if self._is_ideal and not (linear and len(data.classes) == 2):
            raise ValueError(
                'region="ideal" is the probability of a half-space: it needs two classes and a '
                f"linear rule, but estimator={self.estimator!r} was fitted to "
                f'{len(data.classes)} classes. Use region="ellipsoid"'
            )
        directions, shift = reduced_coordinates(reducer, summary.units.mean)
        B = directions
        if linear and self.region != "box":
            B, shift, discriminants = scores_as_coordinates(discriminants, directions, shift)
        models = fit_normal_models(summary, shrinkage, widening)
        weights = summary.moments.counts / summary.moments.n_samples
        conditional = ConditionalModel(summary.units, models, weights, B, shift)
        rule = build_rule(conditional, discriminants, directions, self.region, len(data.classes))
        return EarlySolution(data.classes, reducer, estimator, shrinkage, widening, rule)

    def _store(self, solution: EarlySolution) -> None:
        self.classes_ = solution.classes
        self.reducer_ = solution.reducer
        self.estimator_ = solution.estimator
        self.regularization_ = solution.regularization
        self.widening_ = solution.widening
        self._decision_rule = solution.rule

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
        codes, reliabilities = np.zeros(len(rows), dtype=int), np.ones(len(rows))
        for at, pattern in _group_patterns(observed):
            if pattern.all():
                codes[at] = self._classify(rows[at])
            else:
                known = self._decision_rule.condition(rows[at], pattern)
                n_unknown = self._decision_rule.count_unknown(~pattern)
                codes[at], reliabilities[at] = self._decision_rule.guess(known, n_unknown)
        return self._decisions(codes, reliabilities, observed.sum(axis=1), tau, wanted)

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
        d, model = self.n_features_in_, self._decision_rule.conditional
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

    def _decisions(
        self, codes: Array, reliabilities: Array, n_observed: Array, tau: float, wanted: Array
    ) -> Decisions:
        decided = (reliabilities >= tau) & wanted[codes]
        return Decisions(self.classes_[codes], decided, reliabilities, n_observed)

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
        codes = np.zeros(len(rows), dtype=int)
        reliabilities, times = np.ones(len(rows)), lengths.copy()
        n_innovations = self.n_features_in_ * len(self._decision_rule.prefix_models)
        for part in gen_batches(len(rows), max(1, MAX_INNOVATIONS // n_innovations)):
            codes[part], reliabilities[part], times[part] = decide_series(
                self._decision_rule, self._classify, rows[part], lengths[part], tau, wanted
            )
        decisions = self._decisions(codes, reliabilities, times, tau, wanted)
        return decisions._replace(decided=decisions.decided & (times > 0))

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
        return DecisionStream(self._decision_rule, self._classify, self.classes_, tau, wanted)


# The coordinates of the classifier ---------------------------------------------------------------


def fit_reducer(reducer: Any | None, X: Array, labels: Array) -> Any | None:
    """A fitted clone that is the centred product with its components, or an error."""
    if reducer is None:
        return None
    fitted = clone(reducer).fit(X, labels)
    W = getattr(fitted, "components_", None)
    if W is not None:
        expected = np.asarray(fitted.transform(X))
        mean = np.broadcast_to(getattr(fitted, "mean_", 0.0), X.shape[1])
        found = centred_product(X, mean, W.T)
        scale = np.max(np.abs(expected), initial=1e-300)
        if expected.shape == found.shape and np.allclose(found, expected, atol=1e-6 * scale):
            return fitted
    raise TypeError(
        f"reducer={fitted!r} is not (X - mean_) @ components_.T: EarlyClassifier needs a linear "
        "transformer such as LDG(), FisherDiscriminant() or PCA() without whitening"
    )


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
