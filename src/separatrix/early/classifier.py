"""Decisions from incomplete rows, made when the complete row would probably decide the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import ndtr
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import check_array, gen_batches
from sklearn.utils.validation import check_is_fitted

from separatrix.base.blockwise import BlockwiseClassifierMixin
from separatrix.base.estimator import centred_product, unchanged_on_failure
from separatrix.base.parameters import Allowed, check_parameters, one_of, real_number
from separatrix.base.rows import LabelledData, labelled_data, new_rows, refuse_one_class
from separatrix.decision.local_qda import LocalQDA
from separatrix.decision.rules import Quadratic
from separatrix.early.conditional import (
    Conditional,
    Knowledge,
    Progress,
    feature_units,
    fit_gaussians,
    n_unknown_directions,
)
from separatrix.early.records import Decisions, Expectation
from separatrix.early.region import (
    SUPPORTED,
    ScoreTable,
    about,
    discriminants_of,
    is_supported,
    largest_reliability,
    some_of,
    squared_distances_to_boundaries,
    squared_reach,
)
from separatrix.early.stream import DecisionStream
from separatrix.linalg import EPS, Array
from separatrix.moments.checks import refuse_lazy_frame, refuse_nonfinite_rows
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import row_blocks
from separatrix.selection import N_FOLDS, training_parts

LEAST_SHRINKAGE = 1e-8
"""Below it the covariance of rows that are fewer than features cannot be told from singular."""

INNOVATIONS_AT_ONCE = 1 << 23
"""Innovations that are held at once (64 MB)."""

FUNCTIONS_AT_ONCE = 1 << 22
"""Coefficients of discriminants that are held at once (32 MB)."""


class EarlyClassifier(BlockwiseClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier that decides on incomplete rows once more values would hardly change its mind.

    Let ĝ(x) be the class that `estimator` gives a complete row x, the largest of linear or
    quadratic functions ``f_g``. Of an incomplete row some features z are known, and a normal model
    of the training rows gives the others a mean and a covariance. The row is decided as class c
    when

    ``f_c(x) ≥ f_g(x)`` for all classes g and all x in A, with ``P(x in A | z) ≥ τ``,

    so that the decision agrees with ĝ of the complete row with probability at least τ. With each
    decision comes the largest τ at which it stands.

    Parameters
    ----------
    estimator : classifier
        Cloned and fitted to the complete training rows: `LocalQDA`, `FisherDiscriminant` and other
        classifiers of this package with ``coef_``; LinearSVC, LogisticRegression,
        LinearDiscriminantAnalysis, RidgeClassifier, SGDClassifier and
        QuadraticDiscriminantAnalysis of scikit-learn.
    reliability : float in [0, 1]
        τ. With 0 the first value is enough, with 1 nothing less than the complete row.
    region : "ellipsoid", "box", "chebyshev" or "ideal"
        The set A. "ellipsoid" has measure τ for normal rows. "box" has at least that, coordinate
        by coordinate. "chebyshev" has it for any distribution with these moments (of each class
        for "mixture"). "ideal" takes
        no set but the probability of the class itself, for a linear rule of two classes; it
        decides earliest. A set is larger than it need be, the probability is not: the spread of
        the model is therefore widened by what training rows that are held out exceed it by.
    conditional : "gaussian" or "mixture"
        One normal model of all rows, or one for each class, weighted by how likely they are given
        what is known. Each model then has a set of its own, see Notes.
    regularization : "auto" or float in [1e-8, 1]
        α in ``Σ = (1 - α) S + α diag(S)``, S the covariance of the training rows; of each class
        for "mixture", with the diagonal of their average. "auto" takes the α under which training
        rows that are held out are most likely. Linear equations that all rows satisfy, when there
        are more rows than features, are expected to hold whatever α is.
    reducer : transformer or None
        Linear, with ``components_`` (and ``mean_``): `LDG`, `FisherDiscriminant`, PCA. Cloned and
        fitted to the complete training rows; the classifier works on its few coordinates, and the
        set A lies among them.

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
    with these moments. Series that were normalised with their whole length leak what is still to
    come.

    Under "mixture" the model k has the probability ``s_k``, an expected row ``m_k`` and a set of
    measure ``a_k`` about it, the largest on which the guess c wins; 0 if it does not win at
    ``m_k``. The reliability is ``Σ s_k a_k``, at most the probability of ĝ(x) = c. The guess is
    the class that wins at the expected rows of the most probability. Models that are likely are
    often surer than they ought to be: with "ideal", which spares nothing, prefer "gaussian".

    **For `LocalQDA` nothing is promised.** Its quadratic functions are those of the neighbours of
    the expected row, but the complete row has neighbours of its own. In few dimensions with few
    neighbours these differ within the set: with 200 rows of 3 features and 4 neighbours, 81 % of
    the decisions at τ = 0.99 were confirmed (``python -m benchmarks.early_local``). Trust the
    agreement that `evaluate.reliability_curve` finds on rows that were held out.

    `region` and all other parameters but `reliability` take effect in `fit`.

    ``A = {m + F z}`` with ``F Fᵀ`` the conditional covariance R of the coordinates: the ellipsoid
    is ``|z|² ≤ δ`` with δ the quantile of the chi-squared distribution (n / (1 - τ) for
    Chebyshev), n the rank of R: the number of directions that are still unknown, so fewer
    coordinates decide earlier. The box has sides of equal mass ``τ^(1/n)`` for n unknown
    coordinates. Where quadratics mix coordinates there is a box along the eigenvectors of
    ``f_c - f_g`` for each rival g, and n counts the sides of all of them. The distance of m to
    the boundary ``f_c = f_g`` in this metric is in closed form for linear rules and boxes, and the
    root of one monotone function for quadratic rules, whatever their signature: no local minimum
    is met.

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
        "regularization": (one_of("auto"), real_number(LEAST_SHRINKAGE, 1)),
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

    # Learning ----------------------------------------------------------------------------------

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
        check_parameters(self, self._allowed_parameters)
        if not is_supported(self.estimator):
            raise TypeError(
                f"estimator={self.estimator!r} is not supported: EarlyClassifier needs the linear "
                f"or quadratic functions of which it takes the largest. Use {SUPPORTED}"
            )
        if self.reducer is not None and (
            isinstance(self.reducer, type) or not hasattr(self.reducer, "fit")
        ):
            raise TypeError(
                f"reducer={self.reducer!r} is not a transformer: give an instance such as "
                "FisherDiscriminant(), LDG() or PCA(), or None"
            )
        with unchanged_on_failure(self):
            data = labelled_data(self, X, y)
            refuse_nonfinite_rows(data.X, data.feature_names)
            refuse_one_class(self, data.classes)
            self.classes_ = data.classes
            self._learn(data._replace(X=data.X.astype(np.float64, copy=False)))
        return self

    def _learn(self, data: LabelledData, *, widen: bool = True) -> None:
        labels = data.classes[data.codes]
        self._region = self.region
        self.reducer_ = None
        if self.reducer is not None:
            self.reducer_ = clone(self.reducer).fit(data.X, labels)
            _refuse_other_than_linear(self.reducer_, data.X)
        self.estimator_ = clone(self.estimator).fit(self._reduced(data.X), labels)
        if isinstance(self.estimator_, LocalQDA):
            self._rule = None
        else:
            self._rule = discriminants_of(self.estimator_)
        linear = self._rule is not None and self._rule.Q is None
        if self.region == "ideal" and not (linear and len(self.classes_) == 2):
            raise ValueError(
                'region="ideal" is the probability of a half-space: it needs two classes and a '
                f"linear rule, but estimator={self.estimator!r} was fitted to "
                f'{len(self.classes_)} classes. Use region="ellipsoid"'
            )
        self._conditional = self._conditioned(data, data.moments(scatter=False))
        self._n_unknown = self._unknown_after()
        self.widening_ = self._seen_spread(data) if widen and self.region == "ideal" else 1.0
        self._conditional = self._conditional.widened(self.widening_)
        self._views = self._conditional.views()
        by_scores = linear and self.region != "box" and len(self._views) == 1
        self._table = ScoreTable.of(self._views[0]) if by_scores else None
        n_functions = len(self.classes_) * len(self._views)
        r = self._views[0].gains.shape[0]
        full = getattr(self.estimator_, "covariance", None) == "full"
        self._portion = max(1, FUNCTIONS_AT_ONCE // (n_functions * r * (r if full else 1)))

    def _conditioned(self, data: LabelledData, moments: ClassMoments) -> Conditional:
        """The model of the features, to see what the classifier sees."""
        self._directions, shift = self._coordinates(moments.mean)
        B, rule = self._directions, self._rule
        if rule is not None and rule.Q is None and self.region != "box":
            B = rule.c.T if B is None else B @ rule.c.T  # nothing matters but the scores
            shift = rule.c @ shift + rule.b
            self._rule = Quadratic(None, np.eye(len(rule.c)), np.zeros(len(rule.c)))
        mixture = self.conditional == "mixture"
        codes = data.codes if mixture else np.zeros(len(data.codes), dtype=int)
        units = feature_units(data.X, codes, moments)
        Z = units.apply(data.X)
        models, self.regularization_ = fit_gaussians(Z, codes, self.regularization)
        return Conditional(units, models, np.bincount(codes) / len(codes), B, shift)

    def _seen_spread(self, data: LabelledData) -> float:
        """How much more than expected the score of rows spreads that were held out.

        The root of the average over all prefixes, as far as the score is open after them.
        """
        errors, variances = np.zeros((2, self.n_features_in_))
        for fit, held in training_parts(data.codes, N_FOLDS):
            part = copy(self).set_params(regularization=self.regularization_)
            part._learn(data.rows(fit), widen=False)
            found = part._conditional.surprises(data.X[held])
            errors, variances = errors + found[0], variances + found[1]
        open_ = variances > 1e-9 * variances[0]
        ratios = errors[open_] / variances[open_]
        return max(1.0, float(np.sqrt(ratios.mean()))) if open_.any() else 1.0

    def _coordinates(self, at: Array) -> tuple[Array | None, Array]:
        """Weights of the features in what the classifier sees, and its value at a point."""
        if self.reducer_ is None:
            return None, at
        W = np.asarray(self.reducer_.components_, dtype=np.float64)
        return W.T, W @ (at - getattr(self.reducer_, "mean_", 0.0))

    def _reduced(self, X: Array) -> Array:
        return X if self.reducer_ is None else np.asarray(self.reducer_.transform(X))

    def _unknown_after(self) -> Array:
        """Unknown directions after each number of leading values."""
        d = self.n_features_in_
        most = self._unknown_of(np.ones(d, dtype=bool))
        found = np.full(d + 1, most)
        for t in range(d, -1, -1):
            found[t] = self._unknown_of(np.arange(d) >= t)
            if found[t] == most:  # those before it know no more
                break
        return found

    def _unknown_of(self, missing: Array) -> int:
        units, B = self._conditional.units, self._directions
        scaled = None if B is None else units.scale[:, None] * B
        return max(n_unknown_directions(scaled, missing & units.varies), 1)

    # Judging -----------------------------------------------------------------------------------

    def _judged(self, known: Knowledge, n_unknown: int, least: float = 0.0) -> tuple[Array, Array]:
        """The guess for each row, and how reliable it is: exactly, or a bound below `least`."""
        if self._region == "ideal":
            return _likelier_side(known)
        n_rows = len(known.shares)
        guess, found = np.empty(n_rows, dtype=int), np.empty(n_rows)
        for part in gen_batches(n_rows, self._portion):
            guess[part], found[part] = self._backed(known.rows(part), n_unknown, least)
        return guess, found

    def _backed(self, known: Knowledge, n_unknown: int, least: float) -> tuple[Array, Array]:
        """The class of the likeliest models, and the mass on which each of them keeps it."""
        votes = np.zeros((len(known.shares), len(self.classes_)))
        seen = []
        for i, share in enumerate(known.shares.T):
            at = np.flatnonzero(share > EPS)
            if len(at):
                f = self._functions_about(known.means[i, at])
                winner = f.b.argmax(axis=1)
                votes[at, winner] += share[at]
                seen.append((i, at, f, winner))
        guess, found = votes.argmax(axis=1), votes.max(axis=1)
        open_ = found >= least  # no mass is more than all of it
        found[open_] = 0.0
        for i, at, f, winner in seen:
            chosen = np.flatnonzero((winner == guess[at]) & open_[at])
            if len(chosen):
                rows = at[chosen]
                share = known.shares[rows, i]
                # of the mass that may be missing all may be missing here
                enough = 1 - np.minimum((1 - least) / share, 1.0)
                alone = known.model(i).rows(rows)
                mass = self._mass(some_of(f, chosen), alone, guess[rows], n_unknown, enough)
                found[rows] += share * mass
        return guess, np.minimum(found, 1 - EPS / 2)

    def _mass(
        self, f: Quadratic, known: Knowledge, guess: Array, n_unknown: int, least: Array
    ) -> Array:
        """Of the largest set about the mean of one model on which the guess wins."""
        box = self._region == "box"
        enough = np.zeros(len(guess))
        if box:  # its sides are coordinates, and those of each rival when they are turned
            turned = f.Q is not None and f.Q.ndim == 4
            n_boxes = len(self.classes_) - 1 if turned else 1
            n_unknown = max(int(np.count_nonzero(known.moves)), 1) * n_boxes
        else:  # rounding must not refute what is just reliable
            enough = (1 - 1e-9) * squared_reach(least, n_unknown, self._region)
        squared = squared_distances_to_boundaries(f, known, guess, box=box, enough=enough)
        return largest_reliability(squared, n_unknown, self._region)

    def _judged_after(self, t: int, progress: Progress, least: float = 0.0) -> tuple[Array, Array]:
        """The same after t values of series."""
        n_unknown = int(self._n_unknown[t])
        if self._table is None:
            return self._judged(progress.knowledge(self._views, t), n_unknown, least)
        scores = progress.means[0]
        guess = scores.argmax(axis=1)
        distances = self._table.distances(scores, guess, scores.max(axis=1)[:, None], t)
        return guess, largest_reliability(distances**2, n_unknown, self._region)

    def _functions_about(self, means: Array) -> Quadratic:
        if self._rule is None:
            return self.estimator_.discriminants(means, about=means)
        return about(self._rule, means)

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
        rows = new_rows(self, X)
        if np.isnan(rows).any():
            raise ValueError(
                "Input X contains NaN, and predict takes complete rows: use decide for rows with "
                "missing values"
            )
        _refuse_infinite(rows)
        return self.estimator_.predict(self._reduced(rows))

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
            Rows with NaN for what is missing.
        reliability : float, optional
            τ, in place of the estimator's.
        classes : array, optional
            Decide for these classes only: a row that would be decided as another is not decided.

        Returns
        -------
        Decisions
        """
        rows = new_rows(self, X).astype(np.float64, copy=False)
        tau, wanted = self._asked(reliability, classes)
        _refuse_infinite(rows)
        observed = ~np.isnan(rows)
        codes = np.zeros(len(rows), dtype=int)
        found = np.ones(len(rows))
        for at, pattern in _patterns(observed):
            if pattern.all():
                codes[at] = self._codes_of(rows[at])
            else:
                known = self._given(rows[at], pattern)
                codes[at], found[at] = self._judged(known, self._unknown_of(~pattern))
        return self._decisions(codes, found, observed.sum(axis=1), tau, wanted)

    def expect(self, X: ArrayLike) -> Expectation:
        """What the model of the features expects where values are missing.

        Parameters
        ----------
        X : array (n_samples, n_features)
            Rows with NaN for what is missing.

        Returns
        -------
        Expectation
        """
        rows = new_rows(self, X).astype(np.float64, copy=False)
        _refuse_infinite(rows)
        observed = ~np.isnan(rows)
        mean, std = rows.copy(), np.zeros_like(rows)
        d = self.n_features_in_
        for block in row_blocks(d, d):
            features = np.arange(d)[block]
            seen = self._conditional._replace(
                B=np.eye(d, len(features), -features[0]), shift=self._conditional.units.mean[block]
            )
            for at, pattern in _patterns(observed):
                known, open_ = seen.given(rows[at], pattern), ~pattern[block]
                there = np.ix_(at, features[open_])
                mean[there] = known.mean[:, open_]
                std[there] = np.sqrt(known.variances[:, open_])
        return Expectation(mean, std)

    def _given(self, rows: Array, observed: Array) -> Knowledge:
        t = int(observed.sum())
        if observed[:t].all():  # a prefix
            Z = self._conditional.units.apply(rows[:, :t])
            return self._conditional.at(self._views, Z)
        return self._conditional.given(rows, observed)

    def _codes_of(self, complete: Array) -> Array:
        labels = self.estimator_.predict(self._reduced(complete))
        return np.searchsorted(self.classes_, labels)

    def _asked(self, reliability: float | None, classes: ArrayLike | None) -> tuple[float, Array]:
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
        self, codes: Array, found: Array, n_observed: Array, tau: float, wanted: Array
    ) -> Decisions:
        decided = (found >= tau) & wanted[codes]
        return Decisions(self.classes_[codes], decided, found, n_observed)

    def decide_early(
        self,
        X: ArrayLike,
        *,
        reliability: float | None = None,
        classes: ArrayLike | None = None,
    ) -> Decisions:
        """Decide on series at the first time at which the decision is reliable.

        Column after column is taken in. A row is decided after the first value at the earliest,
        and as soon as `decide` would decide on the values so far; at its full length always.

        Parameters
        ----------
        X : array (n_samples, n_times)
            Series, at most as long as those that were learned. Shorter ones, or NaN in the last
            columns, are series that have not gone further yet: they may remain undecided.
        reliability, classes
            As in `decide`.

        Returns
        -------
        Decisions
            ``time`` is the number of leading values that were used; all there are for rows that
            remain undecided.
        """
        check_is_fitted(self)
        tau, wanted = self._asked(reliability, classes)
        rows = self._series(X)
        lengths = _lengths(rows)
        codes = np.zeros(len(rows), dtype=int)
        found, times = np.ones(len(rows)), lengths.copy()
        portion = max(1, INNOVATIONS_AT_ONCE // (self.n_features_in_ * len(self._views)))
        for part in gen_batches(len(rows), portion):
            result = self._first_decisions(rows[part], lengths[part], tau, wanted)
            codes[part], found[part], times[part] = result
        found_early = self._decisions(codes, found, times, tau, wanted)
        return found_early._replace(decided=found_early.decided & (times > 0))

    def _series(self, X: Any) -> Array:
        """Validated rows of full width; what is beyond their end is missing."""
        refuse_lazy_frame(X)
        d, shape = self.n_features_in_, np.shape(X)
        if not sp.issparse(X) and len(shape) == 2 and 0 < shape[1] < d:
            named = self._names_are_leading(X)
            short = check_array(X, dtype=np.float64, ensure_all_finite=False)
            rows = np.hstack([short, np.full((shape[0], d - shape[1]), np.nan)])
            if not named:
                rows = new_rows(self, rows)
        else:
            rows = new_rows(self, X).astype(np.float64, copy=False)
        _refuse_infinite(rows)
        return rows

    def _names_are_leading(self, X: Any) -> bool:
        """Whether a short frame has the names of the first features; others are refused."""
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

    def _first_decisions(
        self, rows: Array, lengths: Array, tau: float, wanted: Array
    ) -> tuple[Array, Array, Array]:
        """Codes, reliabilities and times of rows that are watched from their first value on."""
        codes = np.zeros(len(rows), dtype=int)
        found, times = np.ones(len(rows)), lengths.copy()
        Z = np.nan_to_num(self._conditional.units.apply(rows))
        E = np.array([view.factor.innovations(Z - view.mean) for view in self._views])
        progress = Progress.start(self._views, self._conditional.weights, len(rows))
        watched = np.arange(len(rows))
        for t in range(int(lengths.min(initial=1) > 0), self.n_features_in_):
            if t:
                progress.take(self._views, t - 1, E[:, watched, t - 1])
            if tau < 1:
                guess, reliable = self._judged_after(t, progress, tau)
            else:  # nothing short of the whole row
                guess, reliable = np.zeros(len(watched), dtype=int), np.zeros(len(watched))
            over = lengths[watched] == t
            if over.any():
                guess[over], reliable[over] = self._judged_after(t, progress.rows(over))
            ends = over | ((reliable >= tau) & wanted[guess] & (t > 0))
            at = watched[ends]
            codes[at], found[at], times[at] = guess[ends], reliable[ends], t
            if ends.any():
                watched, progress = watched[~ends], progress.rows(~ends)
            if not len(watched):
                break
        if len(watched):
            codes[watched] = self._codes_of(rows[watched])
        return codes, found, times

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
            Its `push` takes a value and tells what could be decided now.
        """
        check_is_fitted(self)
        return DecisionStream(self, *self._asked(reliability, classes))


def _likelier_side(known: Knowledge) -> tuple[Array, Array]:
    """The likelier of two classes by their linear scores, and its probability."""
    above = np.zeros(known.means.shape[1])
    for mean, share, F in zip(known.means, known.shares.T, known.spreads, strict=True):
        gap = mean[:, 1] - mean[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(gap == 0, 0.0, gap / np.linalg.norm(F[1] - F[0]))
        above += share * ndtr(ratio)
    reliable = np.maximum(above, 1 - above)
    return (above > 0.5).astype(int), np.minimum(reliable, 1 - EPS / 2)


def _patterns(observed: Array) -> Iterator[tuple[Array, Array]]:
    """Rows of which the same features are observed, and which."""
    found, members, counts = np.unique(observed, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(members.ravel(), kind="stable")
    yield from zip(np.split(order, np.cumsum(counts)[:-1]), found, strict=True)


def _lengths(rows: Array) -> Array:
    """Number of leading values of each row, after which nothing may follow."""
    observed = ~np.isnan(rows)
    gaps = np.any(observed[:, 1:] & ~observed[:, :-1], axis=1)
    if gaps.any():
        raise ValueError(
            f"row {int(np.argmax(gaps))} of X has values after a missing one: decide_early reads "
            "series from their start. Use decide for rows with gaps"
        )
    return observed.sum(axis=1)


def _refuse_infinite(rows: Array) -> None:
    if np.isinf(rows).any():
        row, column = np.argwhere(np.isinf(rows))[0].tolist()
        raise ValueError(
            f"Input X contains infinity in row {row}, column {column}: use NaN for missing values"
        )


def _refuse_other_than_linear(reducer: Any, X: Array) -> None:
    """Raise unless the transformer is the centred product with its components."""
    W = getattr(reducer, "components_", None)
    if W is not None:
        expected = np.asarray(reducer.transform(X))
        found = centred_product(
            X, np.broadcast_to(getattr(reducer, "mean_", 0.0), X.shape[1]), W.T
        )
        scale = np.max(np.abs(expected), initial=1e-300)
        if expected.shape == found.shape and np.allclose(found, expected, atol=1e-6 * scale):
            return
    raise TypeError(
        f"reducer={reducer!r} is not (X - mean_) @ components_.T: EarlyClassifier needs a linear "
        "transformer such as LDG(), FisherDiscriminant() or PCA() without whitening"
    )
