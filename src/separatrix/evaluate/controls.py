"""Controls of a comparison: the chosen method, splits by rows, shuffled labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral

import numpy as np

from separatrix.evaluate.advice import measure_complexity
from separatrix.evaluate.fold import RowSplit
from separatrix.evaluate.ranking import mean_interval
from separatrix.evaluate.records import (
    LOSS_SCORES,
    Comparison,
    Fold,
    Permutation,
    Summary,
    Winner,
)
from separatrix.evaluate.scores import larger_is_better
from separatrix.linalg import Array
from separatrix.selection import random_splits

MAX_PERMUTED_SPLITS = 3
"""Splits on which a method is fitted to shuffled labels."""


def summarize_scores(
    scores: Sequence[Mapping[str, float]], test_share: float, n_test: int
) -> dict[str, Summary]:
    """The mean and interval of each score over splits."""
    names = dict.fromkeys(name for split_scores in scores for name in split_scores)
    return {
        name: Summary(
            *mean_interval(
                [split_scores[name] for split_scores in scores if name in split_scores],
                test_share,
                n_test if name == "accuracy" else None,
                highest=np.inf if name in LOSS_SCORES else 1.0,
            )
        )
        for name in names
    }


# The choice of the method ------------------------------------------------------------------------


def take_winner(comparison: Comparison) -> Winner | None:
    """The scores of always taking the method that is best within the training part.

    In each split the method with the best ``Fold.inner`` is taken, of equals the simplest. None
    where fewer than two methods have such scores.
    """
    methods = sorted(comparison.methods, key=measure_complexity)
    by_split: dict[int, list[Fold]] = {}
    for method in methods:
        for fold in method.folds:
            if fold.status == "done" and fold.inner is not None:
                by_split.setdefault(fold.split, []).append(fold)
    if not by_split or max(len(folds) for folds in by_split.values()) < 2:
        return None
    taken = [
        max(by_split[split], key=lambda f: round(f.inner or 0.0, 12)) for split in sorted(by_split)
    ]
    scores = tuple(fold.scores for fold in taken)
    return Winner(
        methods=tuple(fold.method for fold in taken),
        splits=tuple(fold.split for fold in taken),
        scores=scores,
        summary=summarize_scores(scores, comparison.test_share, comparison.n_test),
    )


# Rows on both sides ------------------------------------------------------------------------------


def split_ignoring_groups(codes: Array, comparison: Comparison) -> list[RowSplit]:
    """As many random splits by rows, with the same share of test rows."""
    share = float(np.mean([len(test) for test in comparison.tests])) / len(codes)
    seed = comparison.settings["random_state"]
    return [RowSplit(*part) for part in random_splits(codes, len(comparison.tests), share, seed)]


def methods_to_control(comparison: Comparison) -> list[str]:
    """The method with the best score, the advised one and nearest neighbours, each once."""
    raw = [method.name for method in comparison.methods if method.role == "raw"]
    names = [comparison.best, comparison.advised, *raw]
    return list(dict.fromkeys(name for name in names if name is not None))


def summarize_by_method(
    comparison: Comparison, folds: Sequence[Fold]
) -> dict[str, dict[str, Summary]]:
    """Summaries of the folds of each method; rows of one split are as many as its test rows."""
    n_test = min(len(test) for test in comparison.tests)
    share = n_test / comparison.n_samples
    by_method: dict[str, list[Mapping[str, float]]] = {}
    for fold in folds:
        if fold.status == "done":
            by_method.setdefault(fold.method, []).append(fold.scores)
    return {name: summarize_scores(scores, share, n_test) for name, scores in by_method.items()}


# Shuffled labels ---------------------------------------------------------------------------------


def shuffle_labels(codes: Array, groups: Array | None, seed: tuple[int, int]) -> Array:
    """Labels in random order, as they could have been if rows had nothing to do with them.

    Groups keep their common label: those of one label exchange it with each other, and
    those of several exchange all their labels with groups of the same size, in random order.

    Examples
    --------
    >>> shuffle_labels(np.array([0, 0, 1, 1]), np.array([7, 7, 8, 8]), (0, 5)).tolist()
    [1, 1, 0, 0]
    """
    rng = np.random.default_rng(seed)
    if groups is None:
        return rng.permutation(codes)
    _, first, numbers, sizes = np.unique(
        groups, return_index=True, return_inverse=True, return_counts=True
    )
    same = codes == codes[first][numbers]
    pure = np.bincount(numbers, same) == sizes
    label = codes[first]
    label[pure] = rng.permutation(label[pure])
    shuffled = label[numbers]
    for size in np.unique(sizes[~pure]):
        alike = np.flatnonzero(~pure & (sizes == size))
        rows = np.stack([np.flatnonzero(numbers == g) for g in alike])
        shuffled[rows] = rng.permuted(codes[rows[rng.permutation(len(alike))]], axis=1)
    return shuffled


def permuted_splits(
    parts: Sequence[RowSplit], codes: Array, groups: Array | None, n: int, seed: int
) -> list[RowSplit]:
    """The first splits with labels that were shuffled n times, one time after the other."""
    few = parts[:MAX_PERMUTED_SPLITS]
    times = [shuffle_labels(codes, groups, (seed, 1 + i)) for i in range(n)]
    return [part._replace(codes=mixed) for mixed in times for part in few]


def permutation_test(comparison: Comparison, n: int) -> Permutation:
    """The best method, fitted again to labels that were shuffled n times."""
    whole = isinstance(n, Integral) and not isinstance(n, bool)
    if not whole or n < 1:
        raise ValueError(f"n={n!r} must be a whole number of at least 1")
    protocol = comparison.protocol
    if protocol is None:
        raise ValueError("these records hold no rows: call compare again for a permutation test")
    if comparison.best is None:
        raise ValueError("no method has a score: there is nothing to test")
    codes, plan = protocol.data.codes, protocol.plan
    parts = permuted_splits(plan.parts, codes, plan.groups, n, protocol.random_state)
    folds, _ = protocol.run([comparison.best], parts)
    return judge_by_permutation(comparison, folds, n)


def judge_by_permutation(comparison: Comparison, folds: Sequence[Fold], n: int) -> Permutation:
    """The share of shuffled labels that a method scores as well with as with the real ones."""
    score, name = comparison.score, folds[0].method
    splits = tuple(range(min(MAX_PERMUTED_SPLITS, len(comparison.tests))))
    real = {fold.split: fold.scores.get(score) for fold in comparison[name].folds}
    value = float(np.mean([real[split] for split in splits]))
    shuffled = np.array([fold.scores.get(score, np.nan) for fold in folds]).reshape(n, len(splits))
    means = shuffled.mean(axis=1)
    as_good = [
        larger_is_better(score, float(mean)) >= larger_is_better(score, value) - 1e-12
        for mean in means[np.isfinite(means)]
    ]
    return Permutation(
        method=name,
        score=score,
        splits=splits,
        value=value,
        permuted=tuple(means[np.isfinite(means)].tolist()),
        p_value=(1 + sum(as_good)) / (1 + len(as_good)),
    )
