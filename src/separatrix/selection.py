"""Dealing rows into folds, drawing samples of rows, and choosing numbers by held-out rows.

This is the only module that deals or draws rows in memory. (`moments.sampling.subsample` draws
rows of a Dask collection, block by block, where no array of all labels exists.)

Choices are made on projections: each setting is fitted again to the rows of each fold, and the
rows held out are classified in the subspace. The leading coordinates of a projection are scored
for all dimensions in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import check_random_state, gen_batches, get_tags

from separatrix._warnings import warn_caller
from separatrix.linalg import Array, squared_distances

N_FOLDS = 5
"""Folds in which the number of directions is chosen."""

MIN_HELD_OUT = 300
"""Rows of each class whose scores, held out, show well enough where new rows of it will lie."""

GRID_FOLDS = 3
"""Folds in which other parameters are chosen; fewer, as every setting costs a fit in each."""

MAX_COMPONENTS = 40
"""Largest number of directions that is tried when it is chosen, as in Parrish's thesis."""

MAX_PAIRS = 1 << 17
"""Largest number of pairs whose distances are held at once (1 MB)."""

Scorer = Callable[[Array, Array, Array, Array, Array], Array]
"""``scorer(Z, y, Z_new, y_new, ends)`` gives a score for the leading ``e`` columns, e in ends."""

Projection = Callable[[Any], Array]


# Scores of all leading dimensions --------------------------------------------------------------


def neighbour_scores(
    Z: Array,
    y: Array,
    Z_new: Array,
    y_new: Array,
    ends: Array,
    *,
    n_neighbors: int | Sequence[int] = 3,
) -> Array:
    """Share of new rows that their nearest neighbours classify rightly, for each dimension.

    Squared differences are added to the distances one coordinate at a time, so that all
    dimensions cost one pass and rows at the same distance stay so; where several coordinates are
    added before the next score it is one product. Of rows at the same distance the one that comes
    first is nearer; a vote that is tied goes to the label that sorts first.

    Parameters
    ----------
    Z, y : array (n_samples, k), (n_samples,)
        Known rows in the subspace, and their labels.
    Z_new, y_new : array
        Rows to classify, and their labels.
    ends : array of int
        Ascending numbers of leading coordinates to score.
    n_neighbors : int or sequence of int
        How many vote; of several ascending numbers the average share, from one pass.

    Examples
    --------
    >>> Z, y = np.array([[0.0, 0], [1, 0], [0, 9], [1, 9]]), np.array([0, 0, 1, 1])
    >>> new = np.array([[0.4, 8.0]])
    >>> neighbour_scores(Z, y, new, np.array([1]), np.array([1, 2]), n_neighbors=1)
    array([0., 1.])
    """
    labels, codes = np.unique(y, return_inverse=True)
    voters = np.atleast_1d(n_neighbors)
    right = np.zeros(len(ends))
    for block in _blocks(len(Z_new), len(Z)):
        D = np.zeros((len(Z_new[block]), len(Z)))
        votes = _votes_by_dimension(D, Z_new[block], Z, ends, codes, len(labels), voters)
        right += [np.count_nonzero(labels[v.argmax(axis=2)] == y_new[block]) for v in votes]
    return right / (len(Z_new) * len(voters))


def neighbour_shares(
    Z: Array, codes: Array, Z_new: Array, ends: Array, n_classes: int, *, n_neighbors: int = 3
) -> Array:
    """Share of each class among the nearest neighbours of new rows, for each dimension.

    As `neighbour_scores` counts them, for scores other than the share that is right.

    Returns
    -------
    array (n_ends, n_new, n_classes)

    Examples
    --------
    >>> Z, codes = np.array([[0.0, 0], [1, 0], [0, 9], [1, 9]]), np.array([0, 0, 1, 1])
    >>> neighbour_shares(Z, codes, np.array([[0.4, 8.0]]), np.array([2]), 2, n_neighbors=2)
    array([[[0., 1.]]])
    """
    voters = np.array([n_neighbors])
    shares = np.zeros((len(ends), len(Z_new), n_classes))
    for block in _blocks(len(Z_new), len(Z)):
        D = np.zeros((len(Z_new[block]), len(Z)))
        votes = _votes_by_dimension(D, Z_new[block], Z, ends, codes, n_classes, voters)
        shares[:, block] = [v[0] for v in votes]
    return shares / np.maximum(shares.sum(axis=2, keepdims=True), 1)


def leave_one_out_scores(
    Z: ArrayLike, y: ArrayLike, ends: ArrayLike | None = None, *, n_neighbors: int = 3
) -> Array:
    """Share of rows that their nearest neighbours among the others classify rightly.

    One pass for all numbers of leading coordinates, as in `neighbour_scores`. On a subspace that
    was fitted to the same rows this is flattering, and worse than that when there are more
    features than rows: `dimension_path` fits again without the rows it judges by.

    Parameters
    ----------
    Z, y : array (n_samples, k), (n_samples,)
        Rows in the subspace, and their labels.
    ends : array of int, optional
        Ascending numbers of leading coordinates; all of them by default.
    n_neighbors : int
        How many vote.

    Examples
    --------
    >>> leave_one_out_scores([[0.0], [1], [8], [9]], [0, 0, 1, 1], n_neighbors=1)
    array([1.])
    """
    rows = np.asarray(Z, dtype=float)
    labels, codes = np.unique(np.asarray(y), return_inverse=True)
    counted = np.arange(1, rows.shape[1] + 1) if ends is None else np.asarray(ends)
    right = np.zeros(len(counted))
    for block in _blocks(len(rows), len(rows)):
        D = np.zeros((len(rows[block]), len(rows)))
        D[np.arange(len(D)), np.arange(len(rows))[block]] = np.inf  # not its own neighbour
        voters = np.array([n_neighbors])
        votes = _votes_by_dimension(D, rows[block], rows, counted, codes, len(labels), voters)
        right += [np.count_nonzero(v[0].argmax(axis=1) == codes[block]) for v in votes]
    return right / len(rows)


def _blocks(n_new: int, n_known: int) -> Iterable[slice]:
    return gen_batches(n_new, max(1, MAX_PAIRS // n_known))


def _votes_by_dimension(
    D: Array,
    new: Array,
    known: Array,
    ends: Array,
    codes: Array,
    n_classes: int,
    voters: Array,
) -> Iterable[Array]:
    """`_votes` after each number of coordinates in `ends`; overwrites D."""
    difference = np.empty_like(D)
    done = 0
    for end in ends:
        if end - done > 1:
            D += squared_distances(new[:, done:end], known[:, done:end])
        elif end > done:
            np.subtract.outer(new[:, done], known[:, done], out=difference)
            difference *= difference
            D += difference
        done = end
        yield _votes(D, codes, n_classes, voters)


def _votes(D: Array, codes: Array, n_classes: int, voters: Array) -> Array:
    """Labels of the nearest columns, counted (n_voters, n_new, n_classes); D is restored.

    `voters` ascend: the votes of few neighbours are the first of those of more.
    """
    rows = np.arange(len(D))
    votes = np.zeros((len(voters), len(D), n_classes), dtype=int)
    taken = []
    for i in range(min(voters[-1], D.shape[1])):
        nearest = D.argmin(axis=1)  # the first of several
        distance = D[rows, nearest]
        votes[voters > i, rows[:, None], codes[nearest][:, None]] += np.isfinite(distance)[:, None]
        taken.append((nearest, distance))
        D[rows, nearest] = np.inf
    for nearest, distance in reversed(taken):
        D[rows, nearest] = distance
    return votes


def classifier_scores(classifier: Any) -> Scorer:
    """A scorer that fits a classifier to the leading coordinates, once for each dimension.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> scorer = classifier_scores(KNeighborsClassifier(1))
    >>> Z, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    >>> scorer(Z, y, np.array([[0.2], [0.9]]), np.array([0, 1]), np.array([1]))
    array([1.])
    """

    def scores(Z: Array, y: Array, Z_new: Array, y_new: Array, ends: Array) -> Array:
        fitted = (clone(classifier).fit(Z[:, :end], y) for end in ends)
        return np.array([m.score(Z_new[:, :e], y_new) for m, e in zip(fitted, ends, strict=True)])

    return scores


# Rules that pick from scores -------------------------------------------------------------------


def greedy_rule(scores: Array) -> int:
    """Index at which adding another dimension makes the score drop for the first time.

    Of dimensions of the same score up to there the smallest is taken.

    Examples
    --------
    >>> greedy_rule(np.array([0.5, 0.8, 0.8, 0.7, 0.9]))
    1
    """
    drops = np.flatnonzero(np.diff(scores) < 0)
    return best_rule(scores[: drops[0] + 1] if len(drops) else scores)


def patient_rule(scores: Array, patience: int = 25) -> int:
    """Index of the best score before `patience` more dimensions bring nothing.

    Examples
    --------
    >>> patient_rule(np.array([0.5, 0.8, 0.7, 0.7, 0.9]), patience=2)
    1
    """
    best = 0
    for i, score in enumerate(scores):
        if score > scores[best] + 1e-12:
            best = i
        elif i - best >= patience:
            break
    return best


def best_rule(scores: Array) -> int:
    """Index of the largest score, the first of several.

    Examples
    --------
    >>> best_rule(np.array([0.5, 0.8, 0.8, 0.7]))
    1
    """
    # averages of the same scores may differ in the last digits: they count as equal
    return int(np.argmax(scores >= scores.max() - 1e-12))


def candidate_dimensions(n_classes: int) -> Array:
    """The dimensions that Parrish's thesis tries when samples are few: C - 1, C, C + 1, … C + 32.

    Examples
    --------
    >>> candidate_dimensions(3)
    array([ 2,  3,  4,  5,  7, 11, 19, 35])
    """
    return n_classes + np.array([-1, 0, 1, 2, 4, 8, 16, 32])


DIMENSION_RULES: dict[str, Callable[[Array], int]] = {
    "best": best_rule,
    "greedy": greedy_rule,
    "candidates": best_rule,
    "patient": patient_rule,
}


# Dealing and drawing rows ----------------------------------------------------------------------


def deal_folds(codes: Array, n_folds: int, random_state: Any = 0) -> Array:
    """The fold of each row: shuffled rows dealt out class by class, as cards are.

    Folds differ in size by one row at most, and so do the members of a class in each.

    Examples
    --------
    >>> deal_folds(np.array([0, 0, 0, 0, 1, 1]), 2, random_state=0)
    array([1, 1, 0, 0, 1, 0])
    """
    order = _shuffle_by_class(codes, check_random_state(random_state))
    folds = np.empty(len(codes), dtype=int)
    folds[order] = np.arange(len(codes)) % n_folds
    return folds


def fold_parts(folds: Array) -> list[tuple[Array, Array]]:
    """Rows to fit to and rows held out, of each fold; a row of fold -1 is always fitted to.

    Examples
    --------
    >>> [(fit.tolist(), held.tolist()) for fit, held in fold_parts(np.array([0, 1, -1]))]
    [([1, 2], [0]), ([0, 2], [1])]
    """
    parts = [(folds != i, folds == i) for i in np.unique(folds[folds >= 0])]
    return [(np.flatnonzero(fit), np.flatnonzero(held)) for fit, held in parts]


def training_parts(codes: Array, n_folds: int, random_state: Any = 0) -> list[tuple[Array, Array]]:
    """Rows to fit to and rows held out, of each fold of `deal_folds`.

    A row alone in its class is always fitted to, so that all classes are among the rows to fit to.
    Within `dealing` rows of a group stay together, and no row is judged by later ones.

    Examples
    --------
    >>> parts = training_parts(np.array([0, 0, 0, 0, 1]), 2)
    >>> [int(4 in fit) for fit, held in parts]
    [1, 1]
    """
    units = _current_units(len(codes))
    if units is not None:
        return units.deal(codes, min(n_folds, len(codes)), random_state)
    folds = deal_folds(codes, min(n_folds, len(codes)), random_state)
    folds[np.bincount(codes)[codes] < 2] = -1
    return fold_parts(folds)


def held_out_parts(codes: Array) -> list[tuple[Array, Array]]:
    """`training_parts` of five folds, as many as hold out enough rows of each class.

    All of them where rows are few; fewer where a class has fewer rows than folds, none where it
    has no two. A fold that has all rows of a class, as groups may, is not held out.

    Examples
    --------
    >>> [len(held_out_parts(np.repeat([0, 1], n))) for n in (1, 3, 1000, 2000)]
    [0, 3, 2, 1]
    """
    counts = np.bincount(codes, minlength=2)
    if counts.min() < 2:
        return []
    chosen: list[tuple[Array, Array]] = []
    held = np.zeros(len(counts), dtype=int)
    # in the order of time the last part fits to most rows
    for part in reversed(training_parts(codes, min(N_FOLDS, int(counts.min())))):
        if (held >= MIN_HELD_OUT).all():
            break
        if np.bincount(codes[part[0]], minlength=len(counts)).min() == 0:
            continue
        chosen.append(part)
        held += np.bincount(codes[part[1]], minlength=len(counts))
    return chosen


def split_rows(codes: Array, test_size: float, seed: Any) -> tuple[Array, Array]:
    """Numbers of the rows to train and to test with: a share of each class, at least one row.

    A row alone in its class always trains. `seed` is anything that `numpy.random.default_rng`
    takes.

    Examples
    --------
    >>> train, test = split_rows(np.array([0, 0, 0, 0, 1, 1, 2]), 0.3, 0)
    >>> len(train), len(test), 6 in train
    (5, 2, True)
    """
    counts = np.bincount(codes)
    n_test = np.minimum(np.maximum(np.rint(test_size * counts), 1), counts - 1)
    tested = _rank_in_class(codes, seed) < n_test[codes]
    return np.flatnonzero(~tested), np.flatnonzero(tested)


def draw_rows(n_rows: int, max_rows: int, random_state: Any = None) -> Array:
    """Numbers of `max_rows` rows, ascending; all of them when there are no more.

    Examples
    --------
    >>> draw_rows(5, 9), len(draw_rows(5, 2))
    (array([0, 1, 2, 3, 4]), 2)
    """
    if max_rows >= n_rows:
        return np.arange(n_rows)
    return np.sort(check_random_state(random_state).permutation(n_rows)[:max_rows])


def draw_rows_by_class(codes: Array, max_rows: int | None, seed: Any, least: int = 2) -> Array:
    """Numbers of about `max_rows` rows, ascending; None draws all of them.

    Each class has its share of them, but the `least` number of rows where it has as many. `seed`
    is anything that `numpy.random.default_rng` takes.

    Examples
    --------
    >>> len(draw_rows_by_class(np.repeat([0, 1], 100), 50, 0))
    50
    """
    if max_rows is None or len(codes) <= max_rows:
        return np.arange(len(codes))
    n_drawn = share_by_class(np.bincount(codes), max_rows, least)
    return np.flatnonzero(_rank_in_class(codes, seed) < n_drawn[codes])


def share_by_class(counts: Array, max_rows: int, least: int) -> Array:
    """How many rows of each class are drawn, where about `max_rows` of all are."""
    n_drawn = np.maximum(np.rint(max_rows / counts.sum() * counts), least)
    return np.minimum(n_drawn, counts).astype(int)


def _shuffle_by_class(codes: Array, rng: Any) -> Array:
    """Numbers of the rows, class after class, in random order within each."""
    order = rng.permutation(len(codes))
    return order[np.argsort(codes[order], kind="stable")]


def _rank_in_class(codes: Array, seed: Any) -> Array:
    """The place of each row in a random order of the rows of its class, from 0."""
    order = _shuffle_by_class(codes, np.random.default_rng(seed))
    counts = np.bincount(codes)
    starts = np.cumsum(counts) - counts
    ranks = np.empty(len(codes), dtype=int)
    ranks[order] = np.arange(len(codes)) - starts[codes[order]]
    return ranks


# Rows that belong together, or follow each other ------------------------------------------------


def deal_groups(codes: Array, groups: Array, n_folds: int, random_state: Any = 0) -> Array:
    """The fold of each row, the same for all rows of a group; -1 for rows that always train.

    Groups are dealt in random order, the large ones first, each to the fold that has the fewest
    rows of its most frequent class, and of those to the one with the fewest rows. A group that
    alone has rows of a class always trains.

    Examples
    --------
    >>> deal_groups(np.array([0, 0, 1, 1, 0, 1]), np.array([7, 7, 8, 8, 9, 9]), 2).tolist()
    [1, 1, 1, 1, 0, 0]
    """
    counts = _count_in_groups(codes, groups)
    rng = check_random_state(random_state)
    order = rng.permutation(len(counts))
    order = order[np.argsort(-counts[order].sum(axis=1), kind="stable")]
    n_groups = np.count_nonzero(counts, axis=0)
    alone = np.any(counts[:, n_groups == 1], axis=1)
    main = counts.argmax(axis=1)
    filled = np.zeros((n_folds, counts.shape[1]))
    fold_of = np.full(len(counts), -1)
    for g in order[~alone[order]]:
        fold = np.lexsort([filled.sum(axis=1), filled[:, main[g]]])[0]
        filled[fold] += counts[g]
        fold_of[g] = fold
    return fold_of[np.unique(groups, return_inverse=True)[1]]


def split_groups(codes: Array, groups: Array, test_size: float, seed: Any) -> tuple[Array, Array]:
    """Numbers of the rows to train and to test with, all rows of a group on one side.

    Of each class, the rarest by groups first, groups are held out in random order until their
    rows are as near to the share as whole groups can be; at least one, and never the last one
    that trains. `seed` is anything that `numpy.random.default_rng` takes.

    Examples
    --------
    >>> groups = np.repeat([1, 2, 3, 4, 5, 6], 2)
    >>> train, test = split_groups(np.repeat([0, 1], 6), groups, 0.3, 0)
    >>> len(test), len(np.intersect1d(groups[train], groups[test]))
    (4, 0)
    """
    counts = _count_in_groups(codes, groups)
    order = np.random.default_rng(seed).permutation(len(counts))
    wanted = test_size * counts.sum(axis=0)
    held = np.zeros(len(counts), dtype=bool)
    trains, tests = counts.sum(axis=0), np.zeros(counts.shape[1])
    for c in np.argsort(np.count_nonzero(counts, axis=0), kind="stable"):
        for g in order[counts[order, c] > 0]:
            nearer = abs(tests[c] + counts[g, c] - wanted[c]) < abs(tests[c] - wanted[c])
            last = ((trains - counts[g] == 0) & (counts[g] > 0)).any()
            if held[g] or last or not (nearer or tests[c] == 0):
                continue
            held[g] = True
            trains, tests = trains - counts[g], tests + counts[g]
    tested = held[np.unique(groups, return_inverse=True)[1]]
    return np.flatnonzero(~tested), np.flatnonzero(tested)


def split_times(times: Array, n_splits: int, first: float = 0.5) -> list[tuple[Array, Array]]:
    """Rows to train and to test with in the order of time: the past, and the next part.

    The rows from the share `first` on are cut into `n_splits` parts of about the same size; rows
    of one time are never cut apart. Parts without a row, or without a past, are left out.

    Examples
    --------
    >>> parts = split_times(np.array([3, 1, 2, 4]), 2)
    >>> [(train.tolist(), test.tolist()) for train, test in parts]
    [([1, 2], [0]), ([0, 1, 2], [3])]
    """
    values = np.sort(times)
    ends = np.rint(np.linspace(first * len(values), len(values), n_splits + 1)).astype(int)
    starts = [values[end] for end in ends[:-1] if end < len(values)]
    cuts = [*dict.fromkeys(starts), None]
    found = []
    for begin, end in pairwise(cuts):
        test = times >= begin if end is None else (times >= begin) & (times < end)
        found.append((np.flatnonzero(times < begin), np.flatnonzero(test)))
    return [(train, test) for train, test in found if len(train) and len(test)]


def _count_in_groups(codes: Array, groups: Array) -> Array:
    """Rows of each class in each group (n_groups, n_classes)."""
    _, numbers = np.unique(groups, return_inverse=True)
    counts = np.zeros((numbers.max(initial=-1) + 1, int(codes.max(initial=-1)) + 1))
    np.add.at(counts, (numbers, codes), 1)
    return counts


@dataclass(frozen=True)
class Units:
    """How rows must be dealt into folds.

    Attributes
    ----------
    groups : array (n_samples,), optional
        The group of each row: its rows stay together.
    times : array (n_samples,), optional
        The time of each row: no row is judged by one that comes later.
    """

    groups: Array | None = None
    times: Array | None = None

    def __len__(self) -> int:
        return len(self.groups if self.groups is not None else self.times)  # type: ignore[arg-type]

    def part(self, rows: Array) -> Units:
        """Those of some of the rows."""
        both = self.groups, self.times
        return Units(*(None if values is None else values[rows] for values in both))

    def deal(self, codes: Array, n_folds: int, random_state: Any) -> list[tuple[Array, Array]]:
        """Rows to fit to and rows held out, of each fold.

        In the order of time parts whose past lacks a class are left out.
        """
        if self.times is None:
            assert self.groups is not None
            return fold_parts(deal_groups(codes, self.groups, n_folds, random_state))
        parts = without_shared_groups(split_times(self.times, n_folds), self.groups)
        n_classes = len(np.unique(codes))
        return [part for part in parts if len(np.unique(codes[part[0]])) == n_classes]


def without_shared_groups(
    parts: Iterable[tuple[Array, Array]], groups: Array | None
) -> list[tuple[Array, Array]]:
    """Parts whose rows to fit to have no group in common with the rows held out."""
    if groups is None:
        return list(parts)
    return [(fit[~np.isin(groups[fit], groups[held])], held) for fit, held in parts]


_units: ContextVar[Units | None] = ContextVar("units", default=None)


@contextmanager
def dealing(units: Units | None) -> Iterator[None]:
    """Within, `training_parts` of as many rows deals these units, whoever calls it.

    Choices that an estimator makes in its `fit` so keep groups together without knowing of them.

    Parameters
    ----------
    units : Units or None
        Those of the rows that are fitted to within; None for rows that are on their own.
    """
    token = _units.set(units)
    try:
        yield
    finally:
        _units.reset(token)


@contextmanager
def dealing_part(rows: Array) -> Iterator[None]:
    """Within, only these of the rows are fitted to."""
    units = _units.get()
    with dealing(None if units is None else units.part(rows)):
        yield


def current_groups() -> Array | None:
    """The groups of the rows that are fitted to within `dealing`; None where there are none."""
    units = _units.get()
    return None if units is None else units.groups


def _current_units(n_rows: int) -> Units | None:
    units = _units.get()
    if units is not None and len(units) != n_rows:
        warn_caller(
            f"a choice by {n_rows} of {len(units)} rows does not know which of them belong "
            "together: it deals them one by one",
            RuntimeWarning,
        )
        return None
    return units


# Fitting again in each fold --------------------------------------------------------------------


class GridScores(NamedTuple):
    """Held-out scores of each setting of some parameters.

    Attributes
    ----------
    settings : tuple of dict
        The settings tried, the preferred ones first.
    scores : array (n_folds, n_settings)
        Held-out accuracy.
    chosen : dict
        The first of the settings with the best average.
    """

    settings: tuple[dict[str, float], ...]
    scores: Array
    chosen: dict[str, float]


def refit_grid(
    settings: Sequence[dict[str, float]],
    fit: Callable[[Array], Iterable[Projection]],
    rows: Callable[[Array], Any],
    codes: Array,
    parts: Sequence[tuple[Array, Array]],
    *,
    scorer: Scorer = neighbour_scores,
    n_components: int = MAX_COMPONENTS,
    progress: Callable[[str], None] | None = None,
) -> GridScores:
    """Fit every setting again without the rows that judge it.

    Parameters
    ----------
    settings : sequence of dict
        Settings to try; of equal scores the first wins.
    fit : callable
        Takes the rows to fit to, by number, and yields a projection for each setting in turn;
        settings can so share the work that does not depend on them.
    rows : callable
        Takes numbers of rows and returns these rows, as a projection takes them.
    codes : array (n_samples,)
        Labels.
    parts : sequence of pairs
        Rows to fit to and rows held out, such as `training_parts` gives.
    scorer : callable
        How good a projection is.
    n_components : int
        Leading coordinates that are scored, or as many as there are. A projection without
        coordinates scores zero: whatever projects on something is preferred.
    progress : callable, optional
        Called with a line of text after each fold.

    Returns
    -------
    GridScores
    """
    scores = np.zeros((len(parts), len(settings)))
    for i, (train, held) in enumerate(parts):
        known, new = rows(train), rows(held)
        with dealing_part(train):
            for j, project in enumerate(fit(train)):
                Z = project(known)
                if Z.shape[1] == 0:
                    continue
                end = np.array([min(n_components, Z.shape[1])])
                scores[i, j] = scorer(Z, codes[train], project(new), codes[held], end)[0]
        if progress is not None:
            progress(f"fold {i + 1} of {len(parts)}: best score {scores[i].max():.3f}")
    average = scores.mean(axis=0) if len(scores) else np.zeros(len(settings))
    return GridScores(tuple(settings), scores, settings[best_rule(average)])


class DimensionPath(NamedTuple):
    """Held-out scores of each number of directions.

    Attributes
    ----------
    dimensions : array (n_dimensions,)
        Values of `n_components`.
    scores : array (n_folds, n_dimensions)
        Held-out scores; one row when nothing was fitted again.
    n_components : int
        The one that was chosen.
    rule : str
        How.
    """

    dimensions: Array
    scores: Array
    n_components: int
    rule: str


NOTHING_TO_CHOOSE = DimensionPath(np.array([1]), np.zeros((0, 1)), 1, "best")
"""The path of rows that are all alike or all of different classes: no score, one dimension."""


def dimension_path(
    estimator: Any,
    X: Any,
    y: ArrayLike,
    scorer: Scorer | Any = None,
    *,
    rule: str = "best",
    n_folds: int | None = N_FOLDS,
    fit_params: Mapping[str, Any] | None = None,
    random_state: Any = 0,
    progress: Callable[[str], None] | None = None,
) -> DimensionPath:
    """Score every number of directions of a subspace on rows that it was not fitted to.

    Parameters
    ----------
    estimator : transformer
        Anything with `fit` and `transform` whose leading columns do not depend on how many are
        kept. It is cloned. Estimators of this package keep all the directions they have, up to 40;
        others as many as they are set to.
    X, y : array (n_samples, n_features), (n_samples,)
        Labelled rows.
    scorer : classifier, callable or None
        A classifier is fitted in the subspace, once for each dimension. None is three nearest
        neighbours, all dimensions in one pass. A callable is one like `neighbour_scores`.
    rule : "best", "greedy", "candidates" or "patient"
        The best average score; grow until it drops; the best of a few candidates, C - 1 and more
        (`candidate_dimensions`); or grow until 25 more bring nothing. Of equal scores the fewest
        directions win.
    n_folds : int or None
        Folds. None fits once, to all rows, and classifies each by its neighbours among the others,
        as Parrish's thesis does: cheaper, and misleading with more features than rows.
    fit_params : mapping, optional
        More arguments of `fit`, with one entry for each row. Scores do not know them: rows held
        out count alike, whatever their weights.
    random_state : int, RandomState or None
        Source of the folds.
    progress : callable, optional
        Such as `print`: called with a line of text after each fold.

    Returns
    -------
    DimensionPath

    Examples
    --------
    >>> from separatrix import LocalFisherDiscriminant, datasets
    >>> from separatrix.selection import dimension_path
    >>> wine = datasets.load("wine")
    >>> path = dimension_path(LocalFisherDiscriminant(), wine.data, wine.target)
    >>> path.scores.shape, 1 < path.n_components < 13
    ((5, 13), True)
    """
    if rule not in DIMENSION_RULES:
        known = ", ".join(DIMENSION_RULES)
        raise ValueError(f"rule={rule!r} is not valid: it must be one of {known}")
    labels, codes = np.unique(np.asarray(y), return_inverse=True)
    rows = X if hasattr(X, "shape") and hasattr(X, "dtype") else np.asarray(X)
    params = dict(fit_params or {})
    if n_folds is None:
        if scorer is not None:
            raise ValueError(
                "n_folds=None classifies by nearest neighbours alone: give n_folds to use a scorer"
            )
        dimensions, scores = _score_resubstituted(estimator, rows, labels[codes], params)
    else:
        judge = _as_scorer(scorer)
        parts = training_parts(codes, n_folds, random_state)
        dimensions, scores = _score_refitted(
            estimator, rows, labels[codes], params, judge, parts, progress
        )
    return pick_dimension(dimensions, scores, rule, len(labels))


def pick_dimension(dimensions: Array, scores: Array, rule: str, n_classes: int) -> DimensionPath:
    """The dimension that a rule picks by average scores; the largest when there are none."""
    if not len(scores):
        return DimensionPath(dimensions, scores, int(dimensions[-1]), rule)
    tried = np.arange(len(dimensions))
    if rule == "candidates":
        wanted = np.clip(candidate_dimensions(n_classes), 1, dimensions[-1])
        tried = np.flatnonzero(np.isin(dimensions, wanted))
    at = tried[DIMENSION_RULES[rule](scores.mean(axis=0)[tried])]
    return DimensionPath(dimensions, scores, int(dimensions[at]), rule)


def _as_scorer(scorer: Any) -> Scorer:
    if scorer is None:
        return neighbour_scores
    return classifier_scores(scorer) if hasattr(scorer, "fit") else scorer


class AtMost(int):
    """As many directions as a method finds, up to this number; a value of `n_components`."""


def keep_every_direction(estimator: Any) -> Any:
    """A clone that keeps all the directions it finds, if it is one of this package."""
    model = clone(estimator)
    if hasattr(model, "_solve") and "n_components" in model.get_params():
        model.set_params(n_components=AtMost(MAX_COMPONENTS))
    return model


def order_columns_by_level(model: Any, n_columns: int) -> tuple[Array, Array]:
    """Columns in the order in which growing `n_components` adds them, and their number at each."""
    levels = getattr(model, "_component_levels", np.arange(1, n_columns + 1))
    order = np.argsort(levels, kind="stable")
    return order, np.searchsorted(levels[order], np.unique(levels), side="right")


def _score_refitted(
    estimator: Any,
    X: Any,
    y: Array,
    params: dict[str, Any],
    scorer: Scorer,
    parts: Sequence[tuple[Array, Array]],
    progress: Callable[[str], None] | None,
) -> tuple[Array, Array]:
    """Dimensions that all folds have, and the scores of each fold."""
    found = []
    pairwise = get_tags(estimator).input_tags.pairwise  # columns are training rows too
    for i, (train, held) in enumerate(parts):
        fold = {name: np.asarray(value)[train] for name, value in params.items()}
        seen = X[:, train] if pairwise else X
        with dealing_part(train):
            model = keep_every_direction(estimator).fit(seen[train], y[train], **fold)
        Z, Z_new = (np.asarray(model.transform(seen[part])) for part in (train, held))
        order, ends = order_columns_by_level(model, Z.shape[1])
        found.append(scorer(Z[:, order], y[train], Z_new[:, order], y[held], ends))
        if progress is not None and len(ends):
            line = f"best score {found[-1].max():.3f} with {found[-1].argmax() + 1} directions"
            progress(f"fold {i + 1} of {len(parts)}: {line}")
    common = min((len(scores) for scores in found), default=0)
    if common == 0:
        return NOTHING_TO_CHOOSE.dimensions, NOTHING_TO_CHOOSE.scores
    return np.arange(1, common + 1), np.stack([scores[:common] for scores in found])


def _score_resubstituted(
    estimator: Any, X: Any, y: Array, params: dict[str, Any]
) -> tuple[Array, Array]:
    """The same by leaving one row out of the neighbours only, not of the fit."""
    model = keep_every_direction(estimator).fit(X, y, **params)
    Z = np.asarray(model.transform(X))
    order, ends = order_columns_by_level(model, Z.shape[1])
    return np.arange(1, len(ends) + 1), leave_one_out_scores(Z[:, order], y, ends)[None]
