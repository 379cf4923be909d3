"""Whether methods differ by more than chance: tests over splits and over data sets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from separatrix.evaluate.records import LOSS_SCORES, SCORES, Comparison
from separatrix.files.text import align_cells
from separatrix.linalg import Array

FEWEST_SPLITS = 5
"""Common splits below which no two methods are distinguished: the variance is hardly known."""

MAX_EXACT_DIFFERENCES = 50
"""Differences up to which Wilcoxon's test sums over all signs; beyond, its normal limit."""


@dataclass(frozen=True)
class Pair:
    """Two methods and the test of their difference.

    Attributes
    ----------
    first, second : str
        The first is the one that stands before the second in the ranking.
    difference : float
        Mean score of the first less that of the second, where both have scores.
    statistic : float or None
        Wilcoxon's smaller sum of ranks, or Student's t; None where nothing could be tested.
    p_value : float
        Two-sided.
    p_holm : float
        The same after Holm's correction for testing all pairs.
    differ : bool
        Whether the difference is significant.
    """

    first: str
    second: str
    difference: float
    statistic: float | None
    p_value: float
    p_holm: float
    differ: bool


@dataclass(frozen=True)
class Ranking:
    """Methods from best to worst, and which of them differ.

    Attributes
    ----------
    methods : tuple of str
        Best first: by mean rank over data sets, or by mean score over the splits of one. Methods
        that lack splits come after those that have all.
    mean_scores, mean_ranks : tuple of float
        In this order. Rank 1 is best; methods that tie share their ranks. Those of a method that
        lacks splits are of the splits it has.
    groups : tuple of tuples of str
        Neighbours in the ranking among whom no two differ significantly, as many as possible
        together. Every method is in one group at least; groups may overlap.
    pairs : tuple of Pair
        Every two methods.
    test : str
        How pairs were tested.
    n : int
        Data sets, or splits of the one data set.
    alpha : float
        Level of significance.
    friedman_statistic, friedman_p_value : float or None
        The test over data sets whether methods differ at all; None for two methods, and on one
        data set.
    critical_difference : float or None
        Over data sets: how far mean ranks have to differ by Nemenyi's test, for comparison.
    nemenyi_groups : tuple of tuples of str
        The groups by that test.
    left_out : dict of str
        Methods that could not be ranked, and why.
    notes : tuple of str
        Sentences for the reader: too few data sets, ties, and the like.
    """

    methods: tuple[str, ...]
    mean_scores: tuple[float, ...]
    mean_ranks: tuple[float, ...]
    groups: tuple[tuple[str, ...], ...]
    pairs: tuple[Pair, ...]
    test: str
    n: int
    alpha: float
    friedman_statistic: float | None = None
    friedman_p_value: float | None = None
    critical_difference: float | None = None
    nemenyi_groups: tuple[tuple[str, ...], ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """A line for each method, best first: methods of one group could not be distinguished."""
        rows = [["method", "mean score", "mean rank", "groups"]]
        for name, score, rank in zip(self.methods, self.mean_scores, self.mean_ranks, strict=True):
            within = [str(i) for i, group in enumerate(self.groups, 1) if name in group]
            rows.append([name, f"{score:.3f}", f"{rank:.2f}", ", ".join(within)])
        head = f"{self.test}, level {self.alpha:g}"
        return "\n".join([head, *align_cells(rows), *self.notes])


# Tests -------------------------------------------------------------------------------------------


def corrected_error(values: ArrayLike, test_size: float) -> float:
    """Standard error of a mean over splits whose training parts overlap.

    ``sqrt((1/J + q/(1 - q)) s²)`` for J splits of test share q and the sample variance s².
    Training parts share rows, so that J splits say less than J samples would.

    Examples
    --------
    >>> round(corrected_error([0.8, 0.9], 0.5), 4)
    0.0866
    """
    scores = np.asarray(values, dtype=float)
    share = 1 / len(scores) + test_size / (1 - test_size)
    return float(np.sqrt(share * np.var(scores, ddof=1)))


def bounded_error(values: ArrayLike, test_size: float, n_test: int | None) -> float:
    """The corrected error of a mean of shares, whose variance is that of one test row at least."""
    error = corrected_error(values, test_size)
    if n_test is None:
        return error
    n_splits = np.size(np.asarray(values))
    return max(error, math.sqrt(1 / n_splits + test_size / (1 - test_size)) / n_test)


def mean_interval(
    values: ArrayLike,
    test_size: float,
    n_test: int | None = None,
    level: float = 0.95,
    *,
    highest: float = 1.0,
) -> tuple[float, float, float, float]:
    """Mean, standard deviation and interval of a score over repeated splits.

    The interval is that of Student's t with `corrected_error`, as far as it lies between 0 and
    `highest`, where scores are. One value, and values without spread, have no such interval.
    Those that are shares of `n_test` rows then have Clopper and Pearson's, of the rows of one
    split: splits share rows, and more of them do not make it narrower. Otherwise both ends are the
    mean, which does not say that it is known exactly.

    Examples
    --------
    >>> [round(v, 3) for v in mean_interval([0.8, 0.9, 0.85], 0.3)]
    [0.85, 0.05, 0.662, 1.0]
    >>> [round(v, 3) for v in mean_interval([1.0, 1.0, 1.0], 0.3, n_test=54)]
    [1.0, 0.0, 0.934, 1.0]
    """
    scores = np.asarray(values, dtype=float)
    mean = float(scores.mean())
    if len(scores) < 2 or not np.ptp(_round_scores(scores)):
        if n_test is None:
            return mean, 0.0, mean, mean
        interval = stats.binomtest(round(mean * n_test), n_test).proportion_ci(level)
        return mean, 0.0, float(interval.low), float(interval.high)
    half = corrected_error(scores, test_size) * float(
        stats.t.ppf((1 + level) / 2, len(scores) - 1)
    )
    return mean, float(scores.std(ddof=1)), max(mean - half, 0.0), min(mean + half, highest)


def corrected_t_test(
    differences: ArrayLike, test_size: float, n_test: int | None = None
) -> tuple[float | None, float]:
    """Whether the mean of paired differences over repeated splits of one data set is zero.

    The corrected resampled t-test: ``t = mean / corrected_error`` with J - 1 degrees of freedom.
    The variance counts as that of one test row at least, ``1 / n_test²``: no share of `n_test`
    rows is known better. Without `n_test`, differences that are all the same have p = 0, the limit
    of the formula, or p = 1 when they are zero. Fewer than two say nothing: p = 1.

    Returns
    -------
    statistic, p_value

    References
    ----------
    Nadeau and Bengio, Inference for the generalization error, Machine Learning 52 (2003).

    Examples
    --------
    >>> t, p = corrected_t_test([0.01, 0.03, 0.02, 0.02], 0.5)
    >>> round(t, 2), round(p, 3)
    (2.19, 0.116)
    """
    rounded = _round_scores(differences)
    if len(rounded) < 2:
        return None, 1.0
    mean, error = float(rounded.mean()), bounded_error(rounded, test_size, n_test)
    if error <= 1e-12 * abs(mean) or error == 0:
        return (0.0, 1.0) if mean == 0 else (math.copysign(math.inf, mean), 0.0)
    t = mean / error
    return t, float(2 * stats.t.sf(abs(t), len(rounded) - 1))


def wilcoxon_test(differences: ArrayLike) -> tuple[float | None, float]:
    """Whether paired differences over data sets are symmetric about zero.

    Wilcoxon's signed ranks; the ranks of zeros are shared between both signs. All zeros have
    p = 1. Up to `MAX_EXACT_DIFFERENCES` differences the p-value is the share of all signs, ties
    and zeros included: twice a rank is a whole number, and sums of n of them are counted one by
    one.

    Returns
    -------
    statistic, p_value

    Examples
    --------
    >>> wilcoxon_test([0.1, 0.2, 0.3, 0.4, 0.5])
    (0.0, 0.0625)
    """
    rounded = _round_scores(differences)
    if len(rounded) < 2 or not rounded.any():
        return None, 1.0
    if len(rounded) > MAX_EXACT_DIFFERENCES:
        result = stats.wilcoxon(rounded, zero_method="zsplit")
        return float(result.statistic), float(min(result.pvalue, 1.0))
    doubled = np.rint(2 * stats.rankdata(np.abs(rounded))).astype(int)
    signed = doubled[rounded != 0]
    above = int(doubled[rounded > 0].sum())
    smaller = min(above, int(signed.sum()) - above)
    chances = np.zeros(signed.sum() + 1)  # of each sum of the doubled ranks of one sign
    chances[0] = 1.0
    for rank in signed:
        chances[rank:] += chances[:-rank].copy()
        chances /= 2
    statistic = smaller / 2 + doubled[rounded == 0].sum() / 4
    return float(statistic), float(min(2 * chances[: smaller + 1].sum(), 1.0))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values that hold for all tests together, by Holm's step-down rule.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted.tolist()


def nemenyi_difference(n_methods: int, n_sets: int, alpha: float = 0.05) -> float:
    """How far mean ranks of two methods have to be apart by Nemenyi's test.

    Examples
    --------
    >>> round(nemenyi_difference(4, 14), 2)
    1.25
    """
    q = float(stats.studentized_range.ppf(1 - alpha, n_methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def _round_scores(values: ArrayLike) -> Array:
    """Scores without their last digits: differences that are equal but for these are ties."""
    return np.round(np.asarray(values, dtype=float), 12)


# The ranking -------------------------------------------------------------------------------------


def rank_methods(
    scores: Any,
    *,
    score: str | None = None,
    test_size: float | None = None,
    n_test: int | None = None,
    alpha: float = 0.05,
) -> Ranking:
    """Rank methods and say which of them differ by more than chance.

    Over data sets, Friedman's test asks whether the methods differ at all. If so, Wilcoxon's
    signed-rank test compares every two of them, with Holm's correction. On repeated splits of one
    data set every two methods are compared by the corrected resampled t-test, with Holm's
    correction: splits share rows, and a plain t-test finds differences that are not there.

    Parameters
    ----------
    scores : mapping, data frame, Comparison, or sequence of Comparison
        From the name of each method to its scores, larger being better, in one order of data sets
        (or, with `test_size`, of splits); None or NaN where there is none. In a data frame each
        method has a column. A `Comparison` stands
        for its splits, several for one data set each: the mean over splits of those that are
        complete.
    score : str, optional
        Which score of a comparison: one of `records.SCORES`; by default the one that it ranks by.
        Of losses less is better: they enter with a minus.
    test_size : float in (0, 1), optional
        Says that scores are those of repeated splits of one data set with this share of test
        rows.
    n_test : int, optional
        Test rows of a split, given together with `test_size`: no difference is known better than
        to one of them. That of a `Comparison` is known; without it methods whose scores differ by
        the same on all splits are distinguished however small that is, and a note says so.
    alpha : float in (0, 1)
        Level of significance.

    Returns
    -------
    Ranking

    Notes
    -----
    A method that lacks a score on a data set is left out, and listed with the reason. On one data
    set two methods are compared on the splits that both have, and are distinguished only where
    these are five or more. Methods that lack splits stand after all others, in the order of how
    far they are ahead of these on the splits they have: they may have missed the hard ones. A
    method needs two splits.

    The share of test rows of a `Comparison` is the one it really has, which is above its
    ``test_size`` where classes are small: one row of each is held out.

    Two methods have no Friedman test. With n data sets no p-value of Wilcoxon's test is below
    2/2ⁿ: a note says so where that is too large to find anything.

    References
    ----------
    Demšar, Statistical comparisons of classifiers over multiple data sets, Journal of Machine
    Learning Research 7 (2006).
    Nadeau and Bengio, Inference for the generalization error, Machine Learning 52 (2003).
    Benavoli, Corani and Mangili, Should we really use post-hoc tests based on mean-ranks?,
    Journal of Machine Learning Research 17 (2016), for Wilcoxon's test instead of Nemenyi's.

    Examples
    --------
    >>> from separatrix.evaluate import rank_methods
    >>> good = [0.9, 0.8, 0.7, 0.95, 0.85, 0.75, 0.65, 0.6]
    >>> ranking = rank_methods({"bad": [s - 0.1 - s / 9 for s in good], "good": good})
    >>> ranking.methods, ranking.pairs[0].p_holm, ranking.groups
    (('good', 'bad'), 0.0078125, (('good',), ('bad',)))
    """
    for name, share in (("alpha", alpha), ("test_size", test_size)):
        if share is not None and not (isinstance(share, Real) and 0 < share < 1):
            raise ValueError(f"{name}={share!r} is not valid: it must be a number between 0 and 1")
    if score is not None and score not in SCORES:
        raise ValueError(f"score={score!r} is not valid: it must be one of {', '.join(SCORES)}")
    if n_test is not None and not (isinstance(n_test, Integral) and n_test >= 1):
        raise ValueError(f"n_test={n_test!r} is not valid: it must be a number of rows, 1 or more")
    if isinstance(scores, Comparison):
        test_size = scores.test_share if test_size is None else test_size
        n_test = scores.n_test if n_test is None else n_test
        scores = with_sign(split_scores(scores, score), score or scores.score)
    elif hasattr(scores, "columns"):
        scores = {str(name): np.asarray(scores[name], dtype=float) for name in scores.columns}
    elif not isinstance(scores, Mapping):
        comparisons = _comparisons(scores)
        which = score or (comparisons[0].score if comparisons else "accuracy")
        scores = with_sign(data_set_scores(comparisons, which), which)
    names, table = _score_table(scores)
    if test_size is None:
        return _over_data_sets(names, table, alpha)
    return _over_splits(names, table, test_size, n_test, alpha)


def _comparisons(scores: Any) -> list[Comparison]:
    comparisons = list(scores) if isinstance(scores, Iterable) else [scores]
    other = next(
        (type(one).__name__ for one in comparisons if not isinstance(one, Comparison)), None
    )
    if other is not None:
        raise TypeError(
            f"scores is a {type(scores).__name__} with a {other}, which names no methods: give a "
            "mapping from the name of each method to its scores, a data frame with a column for "
            "each, a Comparison or a list of these"
        )
    return comparisons


def split_scores(
    comparison: Comparison, score: str | None = None
) -> dict[str, list[float | None]]:
    """The scores of each method on each split of a comparison; None where there is none.

    By default those that it ranks by.
    """
    score = score or comparison.score
    table: dict[str, list[float | None]] = {}
    for method in comparison.methods:
        by_split = {fold.split: fold.scores.get(score) for fold in method.folds}
        table[method.name] = [by_split.get(i) for i in range(len(comparison.tests))]
    return table


def score_table(comparison: Comparison) -> tuple[list[str], Array]:
    """Methods, and a row of the scores that rank them for each split; NaN where there is none.

    Larger is better: losses have a minus.
    """
    return _score_table(with_sign(split_scores(comparison), comparison.score))


def with_sign(scores: dict[str, list[float | None]], score: str) -> dict[str, list[float | None]]:
    """Scores, more is better: losses with a minus.

    Examples
    --------
    >>> with_sign({"a": [0.25, None]}, "brier")
    {'a': [-0.25, None]}
    """
    if score not in LOSS_SCORES:
        return scores
    return {name: [None if v is None else -v for v in vs] for name, vs in scores.items()}


def data_set_scores(
    comparisons: Sequence[Comparison], score: str = "accuracy"
) -> dict[str, list[float | None]]:
    """The mean scores of each method on each data set; None where it did not finish."""
    names = dict.fromkeys(m.name for comparison in comparisons for m in comparison.methods)
    table: dict[str, list[float | None]] = {name: [] for name in names}
    for comparison in comparisons:
        done = {
            m.name: m.summary[score].mean
            for m in comparison.methods
            if m.status == "done" and score in m.summary
        }
        for name in names:
            table[name].append(done.get(name))
    return table


def _score_table(scores: Mapping[str, Sequence[float | None]]) -> tuple[list[str], Array]:
    """Names, and an array with a row for each data set or split; NaN where there is no score."""
    names = list(scores)
    for name, values in scores.items():
        if isinstance(values, str) or np.asarray(values, dtype=object).ndim != 1:
            kind = type(values).__name__
            raise TypeError(f"the scores of {name!r} must be a list of numbers, not a {kind}")
    lengths = {len(values) for values in scores.values()}
    if len(lengths) > 1:
        raise ValueError(
            f"methods have different numbers of scores: {sorted(lengths)}; give None for those "
            "that are missing"
        )
    if not names or lengths == {0}:
        raise ValueError("there are no scores to rank")
    return names, np.array([scores[name] for name in names], dtype=float).T


def _over_data_sets(names: list[str], table: Array, alpha: float) -> Ranking:
    missing = np.isnan(table).sum(axis=0)
    n_sets = len(table)
    left_out = {
        name: f"no score on {m} of {n_sets} data sets"
        for name, m in zip(names, missing, strict=True)
        if m
    }
    names = [name for name in names if name not in left_out]
    table = table[:, missing == 0]
    if not names:
        raise ValueError(f"no method has a score on every data set: {left_out}")
    ranks = _ranks(table)
    names, table, ranks = _ordered(names, table, ranks, ranks.mean(axis=0))
    k = len(names)
    notes = []
    statistic, p_value = _friedman(table)
    tested = [
        (i, j, *wilcoxon_test(table[:, i] - table[:, j])) for i, j in combinations(range(k), 2)
    ]
    settled = p_value is None or p_value <= alpha
    if not settled:
        notes.append(
            f"Friedman's test finds no difference among the {k} methods (p = {p_value:.3g}): no "
            "two of them are distinguished."
        )
    needed = math.ceil(math.log2(2 * max(len(tested), 1) / alpha))
    if tested and n_sets < needed:
        notes.append(
            f"{n_sets} data sets are too few to distinguish two of {k} methods at the level "
            f"{alpha:g}: that takes at least {needed}."
        )
    pairs = _test_pairs(names, table, tested, alpha, [settled] * len(tested))
    reach = nemenyi_difference(k, n_sets, alpha) if k > 1 else None
    mean_ranks = ranks.mean(axis=0)
    return Ranking(
        methods=tuple(names),
        mean_scores=tuple(table.mean(axis=0).tolist()),
        mean_ranks=tuple(mean_ranks.tolist()),
        groups=_groups(names, [(p.first, p.second) for p in pairs if p.differ]),
        pairs=pairs,
        test="Wilcoxon's signed-rank test over data sets with Holm's correction",
        n=n_sets,
        alpha=alpha,
        friedman_statistic=statistic,
        friedman_p_value=p_value,
        critical_difference=reach,
        nemenyi_groups=_groups(
            names,
            [
                (names[i], names[j])
                for i, j in combinations(range(k), 2)
                if reach is not None and abs(mean_ranks[i] - mean_ranks[j]) > reach
            ],
        ),
        left_out=left_out,
        notes=tuple(notes),
    )


def _over_splits(
    names: list[str], table: Array, test_size: float, n_test: int | None, alpha: float
) -> Ranking:
    done = (~np.isnan(table)).sum(axis=0)
    n_splits = len(table)
    few = {name: int(d) for name, d in zip(names, done, strict=True) if d < min(2, n_splits)}
    left_out = {name: f"scores on {d} of {n_splits} splits" for name, d in few.items()}
    names = [name for name in names if name not in left_out]
    table = table[:, done >= min(2, n_splits)]
    names, table, ranks = _ordered(names, table, _ranks(table), *_behind(table))
    tested, enough = [], []
    for i, j in combinations(range(len(names)), 2):
        differences = table[:, i] - table[:, j]
        known = differences[~np.isnan(differences)]
        tested.append((i, j, *corrected_t_test(known, test_size, n_test)))
        enough.append(len(known) >= FEWEST_SPLITS)
    pairs = _test_pairs(names, table, tested, alpha, enough)
    notes = _notes_on_splits(names, _behind(table)[1], n_splits, enough.count(False))
    n_certain = sum(1 for *_, p in tested if p == 0)
    if n_certain:
        notes.append(
            f"{n_certain} {'pair differs' if n_certain == 1 else 'pairs differ'} by the same on "
            "all splits, which the test takes for certain: give n_test, the test rows of a split."
        )
    return Ranking(
        methods=tuple(names),
        mean_scores=tuple(np.nanmean(table, axis=0).tolist()),
        mean_ranks=tuple(np.nanmean(ranks, axis=0).tolist()),
        groups=_groups(names, [(p.first, p.second) for p in pairs if p.differ]),
        pairs=pairs,
        test="corrected resampled t-test over splits with Holm's correction",
        n=n_splits,
        alpha=alpha,
        left_out=left_out,
        notes=tuple(notes),
    )


def _behind(table: Array) -> tuple[Array, Array]:
    """How far methods are behind the mean of the complete ones on their splits; who lacks some.

    For complete methods that is the order of their means.
    """
    lacking = np.any(np.isnan(table), axis=0, keepdims=True)[0]
    whole = table if lacking.all() else table[:, ~lacking]
    known = np.maximum((~np.isnan(whole)).sum(axis=1), 1)
    centre = np.nansum(whole, axis=1) / known
    return -np.nanmean(table - centre[:, None], axis=0), lacking


def _notes_on_splits(names: list[str], lacking: Array, n_splits: int, n_short: int) -> list[str]:
    notes = []
    if n_splits < FEWEST_SPLITS:
        notes.append(
            f"{n_splits} {'split says' if n_splits == 1 else 'splits say'} little about how much "
            f"scores vary: use {FEWEST_SPLITS} or more."
        )
    elif n_short:
        are = "pair of methods has" if n_short == 1 else "pairs of methods have"
        notes.append(
            f"{n_short} {are} fewer than {FEWEST_SPLITS} splits in common: too few to "
            "distinguish two methods."
        )
    partial = [name for name, lacks in zip(names, lacking, strict=True) if lacks]
    if partial:
        notes.append(
            "Not done on all splits, and listed last whatever the mean of the others says: "
            f"{', '.join(partial)}."
        )
    return notes


def _ranks(table: Array) -> Array:
    """Ranks in each row, 1 for the largest score; shared by ties, NaN where there is none."""
    return stats.rankdata(-_round_scores(table), axis=1, nan_policy="omit")


def _ordered(
    names: list[str], table: Array, ranks: Array, worse: Array, last: ArrayLike = False
) -> tuple[list[str], Array, Array]:
    worse = np.round(worse, 12)
    order = np.lexsort([worse, np.broadcast_to(last, worse.shape)])  # the last key counts first
    return [names[i] for i in order], table[:, order], ranks[:, order]


def _friedman(table: Array) -> tuple[float | None, float | None]:
    n_sets, k = table.shape
    if k < 3 or n_sets < 2:
        return None, None
    rounded = _round_scores(table)
    if (rounded == rounded[:, :1]).all():
        return 0.0, 1.0
    result = stats.friedmanchisquare(*rounded.T)
    return float(result.statistic), float(result.pvalue)


def _test_pairs(
    names: list[str],
    table: Array,
    tested: list[tuple[int, int, float | None, float]],
    alpha: float,
    settled: Sequence[bool],
) -> tuple[Pair, ...]:
    adjusted = holm([p for *_, p in tested])
    pairs = []
    for (i, j, statistic, p), p_holm, may in zip(tested, adjusted, settled, strict=True):
        differences = table[:, i] - table[:, j]
        done = differences[~np.isnan(differences)]
        difference = float(done.mean()) if len(done) else math.nan
        differ = may and p_holm <= alpha
        pairs.append(Pair(names[i], names[j], difference, statistic, p, p_holm, differ))
    return tuple(pairs)


def _groups(names: list[str], different: Sequence[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """Longest runs of neighbours in which no two differ."""
    apart = {frozenset(pair) for pair in different}
    runs: list[tuple[int, int]] = []
    for start in range(len(names)):
        end = start + 1
        while end < len(names) and not any(
            frozenset((names[i], names[end])) in apart for i in range(start, end)
        ):
            end += 1
        if not runs or end > runs[-1][1]:
            runs.append((start, end))
    return tuple(tuple(names[a:b]) for a, b in runs)
