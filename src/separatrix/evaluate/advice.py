"""Which method to take: the most useful of the fast ones that are as good as the best."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from separatrix.evaluate.ranking import (
    FEWEST_SPLITS,
    bounded_error,
    corrected_t_test,
    holm,
    score_table,
)
from separatrix.evaluate.records import Comparison, MethodRecord
from separatrix.linalg import Array

ROPE = 0.005
"""Region of practical equivalence: scores that differ by half a point are equal in practice."""

MAX_SLOWDOWN = 5.0
"""Time of the advised method as a multiple of the fastest one that is as good."""

NEGLIGIBLE_SECONDS = 0.25
"""A method that takes no more processor time than this is fast, however quick another one is:
with other work on two cores `FisherDiscriminant` took 0.06 s and 0.12 s for the same fold of wine,
so that a limit of 0.1 s advised another method on a busy machine."""

ALPHA = 0.05
"""Level at which a method is shown to be worse than the best, in one test."""


KNOWN = ("FisherDiscriminant(", "SpannedLDA(", "LinearDiscriminantAnalysis(")
"""Linear discriminant analysis, as its estimators are printed."""

LINEAR = ("LogisticRegression(", "LinearSVC(", "NearestCentroid(")
"""Classifiers without a subspace whose boundaries are planes, as they are printed."""


@dataclass(frozen=True)
class Standing:
    """A method compared with the best of a comparison.

    Attributes
    ----------
    name : str
        The method.
    behind : float
        Mean score of the best less that of the method.
    slack : float
        One standard error of this difference, or half a point where that is more: methods that
        are no further behind differ in simplicity and time rather than in score.
    p_value : float
        Of the corrected resampled t-test of this difference alone.
    p_holm : float
        The same after Holm's correction for testing every other method against the best.
    worse, equal, better : float
        Probabilities that the method is worse than the best by more than half a point, within
        half a point of it, and better by more than that.
    seconds : float
        Median processor time of training, with every choice, and of predicting the test rows.
    converged : bool
        Whether no fit warned that it did not converge.
    as_good : bool
        Whether the method is not shown to be worse than the best.
    """

    name: str
    behind: float
    slack: float
    p_value: float
    p_holm: float
    worse: float
    equal: float
    better: float
    seconds: float
    converged: bool
    as_good: bool


@dataclass(frozen=True)
class Advice:
    """The method to take, and the standings that it was chosen by.

    Attributes
    ----------
    method : str
        The advised method.
    best : str
        The method with the best mean score: the top line of the table.
    standings : tuple of Standing
        Of all methods that were done on all splits, best first.
    """

    method: str
    best: str
    standings: tuple[Standing, ...]

    def __getitem__(self, name: str) -> Standing:
        """The standing of a method by its name."""
        return next(standing for standing in self.standings if standing.name == name)


def advise(comparison: Comparison, *, rope: float = ROPE) -> Advice | None:
    """The most useful of the fast methods among those that are as good as the best.

    Parameters
    ----------
    comparison : Comparison
        The result of `compare`.
    rope : float
        Region of practical equivalence: a difference of scores that does not matter.

    Returns
    -------
    Advice or None
        None where no method has a score.

    Notes
    -----
    In three steps, over the methods that were done on all splits and whose fits converged:

    1. *As good as the best* are methods that the corrected t-test does not show to be worse at
       the level 0.05, and those that differ by at most `rope`. The level is that of one
       test: a correction for many tests would call more methods as good, and the claim that is
       made here is that they are. With fewer than five splits the test says nothing: then a
       method may be behind by one standard error of the share of a test part.
    2. *Fast* are those that take at most five times as long as the fastest of them, training,
       choices and predictions together, or at most 0.25 s. Processor time counts, which other
       programs of the machine change little.
    3. Of those that are behind by at most `rope` or one standard error of the difference,
       *the most useful*: one with directions, which can be drawn; with weights of features, which
       explain; whose models merge. Then LDA, then linear before curved methods, then the one with
       fewer settings to choose, then fewer directions, then the alphabet. Times do not decide
       here, or a second run would advise another method.

    Examples
    --------
    >>> from separatrix import datasets
    >>> from separatrix.evaluate import advise, compare
    >>> iris = datasets.load("iris")
    >>> methods = ["FisherDiscriminant", "LDA"]
    >>> comparison = compare(methods, iris.data, iris.target, cv=5, progress=False)
    >>> advise(comparison).method
    'FisherDiscriminant'
    """
    names, table = complete_scores(comparison)
    if not names:
        return None
    standings = _compare_with_best(comparison, names, table, rope)
    sound = [s for s in standings if s.converged] or list(standings)
    first = min(s.behind for s in sound)
    alike = [s for s in sound if s.as_good] or [s for s in sound if s.behind == first]
    limit = max(MAX_SLOWDOWN * min(s.seconds for s in alike), NEGLIGIBLE_SECONDS)
    fast = [s for s in alike if s.seconds <= limit]
    close = [comparison[s.name] for s in fast if s.behind <= max(s.slack, first) + 1e-12]
    near = close or [comparison[min(fast, key=lambda s: s.behind).name]]
    return Advice(min(near, key=measure_complexity).name, standings[0].name, tuple(standings))


def with_advice(comparison: Comparison) -> Comparison:
    """The comparison with the names of the best and of the advised method."""
    advice = advise(comparison)
    if advice is None:
        return comparison
    return dataclasses.replace(comparison, best=advice.best, advised=advice.method)


def complete_scores(comparison: Comparison) -> tuple[list[str], Array]:
    """Methods that were done on all splits, or on most, and a row of their scores on each split.

    The score is the one that ranks, larger being better.
    """
    names, table = score_table(comparison)
    done = np.isfinite(table).sum(axis=0)
    most = int(done.max(initial=0))
    kept = np.flatnonzero(done == most)
    rows = np.isfinite(table[:, kept]).all(axis=1)
    if not most or not rows.any():  # they have no split in common
        return [], table[:0]
    return [names[j] for j in kept], table[np.ix_(rows, kept)]


def _compare_with_best(
    comparison: Comparison, names: Sequence[str], table: Array, rope: float
) -> list[Standing]:
    """Standings, best first; of equals the simplest first."""
    means = np.round(table.mean(axis=0), 12)
    order = sorted(
        range(len(names)), key=lambda j: (-means[j], measure_complexity(comparison[names[j]]))
    )
    share, n_test = comparison.test_share, comparison.n_test
    # in shares: costs are measured by the largest of them
    unit = largest_cost(comparison)
    gaps = [(table[:, order[0]] - table[:, j]) / unit for j in order]
    p_values = [corrected_t_test(gap, share, n_test)[1] for gap in gaps]
    adjusted = [1.0, *holm(p_values[1:])]
    known = len(table) >= FEWEST_SPLITS
    by_rows = standard_error(_mean_accuracy(comparison[names[order[0]]]), n_test)
    found = []
    for j, gap, p, p_holm in zip(order, gaps, p_values, adjusted, strict=True):
        worse, equal, better = compare_in_practice(gap, share, n_test=n_test, rope=rope)
        behind = float(gap.mean())
        slack = max(rope, bounded_error(gap, share, n_test) if known else by_rows)
        found.append(
            Standing(
                name=names[j],
                behind=unit * behind,
                slack=unit * slack,
                p_value=p,
                p_holm=p_holm,
                worse=worse,
                equal=equal,
                better=better,
                seconds=measure_seconds(comparison[names[j]]),
                converged=has_converged(comparison[names[j]]),
                as_good=p > ALPHA or behind <= rope if known else behind <= slack,
            )
        )
    return found


def largest_cost(comparison: Comparison) -> float:
    """The unit in which differences of scores are measured: 1, or the largest cost."""
    costs = comparison.settings.get("costs")
    return float(np.max(costs)) if comparison.score == "cost" and costs else 1.0


def _mean_accuracy(method: MethodRecord) -> float:
    accuracy = method.summary.get("accuracy")
    return 1.0 if accuracy is None else accuracy.mean


def compare_in_practice(
    differences: ArrayLike,
    test_size: float,
    *,
    n_test: int | None = None,
    rope: float = ROPE,
) -> tuple[float, float, float]:
    """Probabilities that a mean difference over splits is above, within and below a region.

    The Bayesian correlated t-test: with a flat prior the mean has Student's t distribution about
    the mean of the differences, with `bounded_error` as its scale and J - 1 degrees of freedom.
    As in `corrected_t_test`, no share of `n_test` rows is known better than to one row.

    Parameters
    ----------
    differences : array
        Paired differences of two methods on J splits.
    test_size : float in (0, 1)
        Share of the rows that are held out: the correlation of two splits.
    n_test : int, optional
        Test rows of a split.
    rope : float
        Half the width of the region of practical equivalence.

    Returns
    -------
    above, within, below : float
        They add up to one. A single split leaves the spread open: all is within the region where
        its difference is, and 0.5 on its side otherwise.

    References
    ----------
    Corani and Benavoli, A Bayesian approach for comparing cross-validated algorithms on multiple
    data sets, Machine Learning 100 (2015).

    Examples
    --------
    >>> [round(p, 2) for p in compare_in_practice([0.02, 0.03, 0.01, 0.02, 0.02], 0.3)]
    [0.97, 0.02, 0.01]
    """
    leads = np.round(np.asarray(differences, dtype=float), 12)
    mean = float(leads.mean())
    if len(leads) < 2:
        within = 1.0 if abs(mean) <= rope else 0.5
        return (1 - within if mean > 0 else 0.0), within, (1 - within if mean < 0 else 0.0)
    error = bounded_error(leads, test_size, n_test)
    if error <= 1e-12 * max(abs(mean), 1.0):  # all of them are the same
        return float(mean > rope), float(abs(mean) <= rope), float(mean < -rope)
    spread = stats.t(len(leads) - 1, loc=mean, scale=error)
    above, below = float(spread.sf(rope)), float(spread.cdf(-rope))
    return above, max(1.0 - above - below, 0.0), below


def standard_error(share: float, n_rows: int) -> float:
    """Standard error of a share of `n_rows` rows, one more right and one more wrong than seen.

    Examples
    --------
    >>> round(standard_error(0.9, 98), 3)
    0.031
    """
    p = (min(max(share, 0.0), 1.0) * n_rows + 1) / (n_rows + 2)
    return math.sqrt(p * (1 - p) / n_rows)


def measure_complexity(
    method: MethodRecord,
) -> tuple[bool, bool, bool, bool, bool, int, float, str]:
    """How much a method asks of the one who uses it: the smallest comes first.

    A method with directions, which can be drawn; with weights of features, which explain; whose
    models merge. Then LDA, which everyone knows; linear before curved methods; the number of
    settings that are tried; the most directions that a split has kept; the name.
    """
    folds = [fold for fold in method.folds if fold.status == "done"]
    linear = method.estimator.startswith(LINEAR) or any(fold.loadings for fold in folds)
    curved = not linear or "kernel__gamma" in method.grid
    tried = sum(len(values) for values in method.grid.values() if len(values) > 1)
    kept = [math.inf if fold.n_components is None else fold.n_components for fold in folds]
    most = max(kept, default=math.inf)
    drawn = math.isfinite(most) and method.role != "raw"
    explained = any(fold.loadings for fold in folds)
    known = method.estimator.startswith(KNOWN)
    return (
        not drawn,
        not explained,
        not method.merges,
        not known,
        curved,
        tried,
        most,
        method.name,
    )


def measure_seconds(method: MethodRecord) -> float:
    """Median over splits of the processor time to train a method and to predict the test rows.

    Folds of older result files have no processor time: their wall time takes its place.
    """
    spent = [
        fold.fit_seconds + (fold.predict_seconds or 0.0)
        if fold.cpu_seconds is None
        else fold.cpu_seconds
        for fold in method.folds
        if fold.status == "done" and fold.fit_seconds is not None
    ]
    known = [seconds for seconds in spent if math.isfinite(seconds)]
    return float(np.median(known)) if known else math.inf


def has_converged(method: MethodRecord) -> bool:
    """Whether no fit of a method warned that it stopped before it converged."""
    return not any(
        text.startswith("ConvergenceWarning") for fold in method.folds for text in fold.warnings
    )
