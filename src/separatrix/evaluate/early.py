"""Decisions before the end, measured: how early, how reliable, how right; and what to choose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import column_or_1d
from sklearn.utils.validation import check_is_fitted

from separatrix.selection import training_parts


class ReliabilityRecord(TypedDict):
    """Decisions on test series by one rule."""

    rule: str
    """"reliable" for decisions as soon as they are reliable, "fixed time" for all at one time,
    "gaps" for rows with random gaps that are reliable, the others being left out."""
    required: float | None
    """τ that was asked for; None at a fixed time."""
    time: float
    """Average number of leading values that were used."""
    reliability: float
    """Share of decisions that are those of the complete series."""
    early_reliability: float
    """The same among series decided before their end; NaN where there are none."""
    early: float
    """Share of series decided before their end."""
    accuracy: float
    """Share of decisions that are right."""
    harmonic_mean: float
    """Of the accuracy and the share of the values that were not needed: 2 a e / (a + e)."""
    missing: float
    """Share of the values that were hidden at random; 0 for series."""


def reliability_curve(
    early: Any,
    X: ArrayLike,
    y: ArrayLike,
    reliabilities: Sequence[float] = (0.001, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99),
    *,
    times: Sequence[int] | None = None,
    missing: float | Sequence[float] | None = None,
    random_state: Any = 0,
) -> list[ReliabilityRecord]:
    """How early decisions are, and how many of them the complete series would confirm.

    Every τ is compared with deciding on all series at the same time: with the class of the row
    that is expected from the values so far. With `missing`, rows with random gaps are decided on
    in place of series.

    Parameters
    ----------
    early : fitted EarlyClassifier
    X : array (n_samples, n_times)
        Complete test series.
    y : array (n_samples,)
        Their labels.
    reliabilities : sequence of float
        Values of τ; the defaults are those of Parrish's thesis.
    times : sequence of int, optional
        Numbers of leading values after which all series are decided. By default the average times
        at which τ led to decisions, rounded up: the same patience for every series.
    missing : float or sequence of float, optional
        Shares of the values that are hidden at random.
    random_state : int or generator
        Of the gaps.

    Returns
    -------
    list of dict
        One for each τ, then one for each fixed time, with `rule` ("reliable" or "fixed time"),
        `required` (τ, or None), `time`, `reliability` (share of all decisions that are those of
        the complete series), `early_reliability` (the same among decisions before the end),
        `early` (how many these are), `accuracy` and `harmonic_mean`. With `missing` one for each
        share and τ: `time` is the average number of values that are known, and all shares but
        `early`, the rows that are decided, are among these rows.

    Examples
    --------
    >>> from separatrix import EarlyClassifier, FisherDiscriminant, datasets
    >>> from separatrix.evaluate import reliability_curve
    >>> series = datasets.make_series(400, 40, random_state=0)
    >>> X, X_test = np.split(series.data, 2)
    >>> y, y_test = np.split(series.target, 2)
    >>> model = EarlyClassifier(FisherDiscriminant()).fit(X, y)
    >>> decided, at_once = reliability_curve(model, X_test, y_test, [0.9])
    >>> decided["reliability"] >= 0.9, decided["time"] < 40
    (True, True)
    >>> at_once["rule"], at_once["reliability"] < decided["reliability"]
    ('fixed time', True)
    """
    labels = column_or_1d(y)
    n_times = _check_series(early, X, labels, times)
    complete = early.predict(X)
    if missing is not None:
        shares = np.atleast_1d(np.asarray(missing, dtype=np.float64)).tolist()
        return _decide_with_gaps(early, X, labels, complete, reliabilities, shares, random_state)
    records = []
    for tau in reliabilities:
        decisions = early.decide_early(X, reliability=tau)
        before = decisions.time < n_times
        records.append(
            _score_decisions(
                float(tau), decisions.label, decisions.time, before, complete, labels, n_times
            )
        )
    if times is None:
        times = sorted({math.ceil(record["time"]) for record in records})
    for t in times:
        guess = early.decide_early(_first_values(X, t), reliability=1.0).label
        when = np.full(len(labels), t)
        records.append(
            _score_decisions(None, guess, when, when < n_times, complete, labels, n_times)
        )
    return records


def _check_series(early: Any, X: Any, labels: np.ndarray, times: Sequence[int] | None) -> int:
    """The number of values of the series; raise for series that cannot be compared."""
    check_is_fitted(early)
    rows = np.asarray(X, dtype=np.float64)
    if len(rows) != len(labels):
        raise ValueError(f"X has {len(rows)} series, but y has {len(labels)} labels")
    if np.isnan(rows).any():
        raise ValueError(
            "X has missing values: decisions are compared with those of complete series"
        )
    unknown = sorted(set(labels.tolist()) - set(early.classes_.tolist()), key=str)
    if unknown:
        raise ValueError(
            f"y has labels that were not learned: {unknown[:10]}, but classes_ are "
            f"{early.classes_.tolist()[:10]}"
        )
    n_times = early.n_features_in_
    given = [] if times is None else list(times)
    if not all(isinstance(t, Integral) and 0 <= t <= n_times for t in given):
        raise ValueError(f"times={given} must be whole numbers between 0 and {n_times}")
    return int(n_times)


def _first_values(X: Any, t: int) -> Any:
    """The first t values of series, with their names; none at all as a missing one."""
    columns = X.iloc if hasattr(X, "iloc") else X if hasattr(X, "shape") else np.asarray(X)
    return columns[:, :t] if t else columns[:, :1] * math.nan


def _score_decisions(
    required: float | None,
    decided: np.ndarray,
    times: np.ndarray,
    before: np.ndarray,
    complete: np.ndarray,
    y: np.ndarray,
    n_times: int,
) -> ReliabilityRecord:
    same, accuracy = decided == complete, float(np.mean(decided == y))
    return ReliabilityRecord(
        rule="fixed time" if required is None else "reliable",
        required=required,
        time=float(times.mean()),
        reliability=float(same.mean()),
        early_reliability=float(same[before].mean()) if before.any() else math.nan,
        early=float(before.mean()),
        accuracy=accuracy,
        harmonic_mean=harmonic_mean(accuracy, 1 - float(times.mean()) / n_times),
        missing=0.0,
    )


def harmonic_mean(accuracy: float, spared: float) -> float:
    """``2 a e / (a + e)`` of an accuracy a and the share e of the values that were not needed.

    Examples
    --------
    >>> round(harmonic_mean(0.9, 0.6), 3), harmonic_mean(0.9, 0.0)
    (0.72, 0.0)
    """
    return 2 * accuracy * spared / (accuracy + spared) if accuracy + spared > 0 else 0.0


def _decide_with_gaps(
    early: Any,
    X: Any,
    labels: np.ndarray,
    complete: np.ndarray,
    reliabilities: Sequence[float],
    shares: Sequence[float],
    random_state: Any,
) -> list[ReliabilityRecord]:
    """Records of rows with random gaps."""
    if not all(0 < share < 1 for share in shares):
        raise ValueError(f"missing={shares} must be between 0 and 1")
    rng, records = np.random.default_rng(random_state), []
    for share in shares:
        hidden = rng.random(np.shape(X)) < share
        gaps = X.mask(hidden) if hasattr(X, "iloc") else np.where(hidden, np.nan, X)
        for tau in reliabilities:
            found = early.decide(gaps, reliability=tau)
            at = found.decided
            same, right = (found.label == complete)[at], (found.label == labels)[at]
            known = float(found.n_observed.mean())
            accuracy = float(right.mean()) if at.any() else math.nan
            agreement = float(same.mean()) if at.any() else math.nan
            records.append(
                ReliabilityRecord(
                    rule="gaps",
                    required=float(tau),
                    time=known,
                    reliability=agreement,
                    early_reliability=agreement,
                    early=float(at.mean()),
                    accuracy=accuracy,
                    harmonic_mean=harmonic_mean(accuracy, 1 - known / hidden.shape[1]),
                    missing=share,
                )
            )
    return records


# Choices -----------------------------------------------------------------------------------------


class Horizon(NamedTuple):
    """How many leading values make a row complete.

    Attributes
    ----------
    n_values : int
        The smallest number whose accuracy is within one standard error of the best.
    candidates : list of int
    accuracies : list of float
        Shares of held-out rows that are right, for each candidate.
    """

    n_values: int
    candidates: list[int]
    accuracies: list[float]


def choose_horizon(
    estimator: Any, X: ArrayLike, y: ArrayLike, *, n_candidates: int = 20, n_folds: int = 5
) -> Horizon:
    """How much of a series is worth waiting for: later values add nothing.

    Some series say nothing new from some time on (section 5.6.4 of Parrish's thesis: a classifier
    is as accurate after 200 of 1024 values). Decisions are then early and right when the first
    part is taken for the complete series.

    Parameters
    ----------
    estimator : classifier
    X : array (n_samples, n_times)
        Complete training series.
    y : array (n_samples,)
    n_candidates : int
        Equidistant lengths that are tried.
    n_folds : int
        Number of folds, the same for all lengths. Held-out rows judge each length.

    Returns
    -------
    Horizon

    Examples
    --------
    >>> from separatrix import FisherDiscriminant, datasets
    >>> series = datasets.make_series(300, 20, onset=0.0, random_state=0)
    >>> late = np.random.default_rng(0).standard_normal((300, 20))  # that say nothing
    >>> X = np.hstack([series.data, late])
    >>> horizon = choose_horizon(FisherDiscriminant(), X, series.target)
    >>> horizon.n_values <= 24
    True
    """
    rows, labels = np.asarray(X, dtype=np.float64), column_or_1d(y)
    if rows.ndim != 2 or len(rows) != len(labels):
        raise ValueError(f"X has the shape {rows.shape}, but y has {len(labels)} labels")
    if n_candidates < 1 or n_folds < 2:
        raise ValueError(f"n_candidates={n_candidates} and n_folds={n_folds} must be 1, 2 or more")
    codes = np.unique(labels, return_inverse=True)[1]
    shares = np.arange(1, n_candidates + 1) / n_candidates
    lengths = np.unique(np.maximum(np.rint(shares * rows.shape[1]).astype(int), 1)).tolist()
    right = np.zeros((len(lengths), len(labels)))
    judged = np.zeros(len(labels), dtype=bool)
    for fit, held in training_parts(codes, n_folds):
        judged[held] = True
        for i, t in enumerate(lengths):
            model = clone(estimator).fit(rows[fit, :t], labels[fit])
            right[i, held] = model.predict(rows[held, :t]) == labels[held]
    means = right[:, judged].mean(axis=1)
    best = int(means.argmax())
    # the error of the difference to the best, as both are judged by the same rows
    gaps = right[best, judged] - right[:, judged]
    errors = gaps.std(axis=1) / math.sqrt(max(judged.sum(), 1))
    good = gaps.mean(axis=1) <= errors
    return Horizon(lengths[int(np.argmax(good))], lengths, means.tolist())
