"""Choosing settings by rows held out, splitting rows, and drawing samples of them.

Every choice is one `search`: each setting is fitted again without the rows that judge it. The
leading coordinates of a projection are scored for all dimensions in one pass. Rows are split by
scikit-learn's splitters, through one wrapper that keeps every class among the rows to fit to.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import (
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.utils import check_random_state, gen_batches, get_tags

from separatrix.linalg import Array, squared_distances

N_FOLDS = 5
"""Folds in which the number of directions is chosen."""


GRID_FOLDS = 3
"""Folds in which other parameters are chosen; fewer, as every setting costs a fit in each."""

MAX_COMPONENTS = 40
"""Largest number of directions that is tried when it is chosen, as in Parrish's thesis."""

MAX_JUDGES = 700
"""Rows that judge the number of directions, in all folds together: with the share s right, the
standard error is sqrt(s (1 - s) / 700), 1.1 points at 0.9, and less for the difference of two
numbers. All rows of 32,000 took 12 s where the fit itself took 0.05 s."""

MAX_VOTERS = 3000
"""Rows among which the neighbours of a judging row are looked for, drawn by class: the time goes
with their number."""

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
    """Share of new rows that their nearest neighbours classify correctly, for each dimension.

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


vote_scores: Scorer = partial(neighbour_scores, n_neighbors=(1, 3, 5))
"""Average of the shares that 1, 3 and 5 nearest neighbours classify correctly: the choice by it
reaches 0.9 points more than the choice by one neighbour (same sets)."""


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
    """Share of rows that their nearest neighbours among the others classify correctly.

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
    return gen_batches(n_new, max(1, MAX_PAIRS // max(n_known, 1)))


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


# Splitting rows --------------------------------------------------------------------------------


def split_keeping_classes(
    cv: Any, codes: Array, groups: Array | None = None, X: Any = None
) -> list[tuple[Array, Array]]:
    """Rows to fit to and rows held out, of each split of a splitter of scikit-learn.

    The one wrapper that all splits go through. A class that would have no row to fit to gets a
    row, or a group, back from those held out: a class of one row so is always fitted to. Rows
    to fit to that share a group with rows held out are left out. A `TimeSeriesSplit` gets
    nothing back, since these rows come later.

    Parameters
    ----------
    cv : splitter
        With a method `split`.
    codes : array of int (n_samples,)
        The class of each row.
    groups : array of int (n_samples,), optional
        Rows of a group stay together.
    X : array, optional
        The rows, for splitters that look at them.

    Examples
    --------
    >>> parts = split_keeping_classes(StratifiedKFold(2), np.array([0, 0, 0, 0, 1]))
    >>> [(fit.tolist(), held.tolist()) for fit, held in parts]
    [([3, 4], [0, 1, 2]), ([0, 1, 2, 4], [3])]
    """
    units = np.arange(len(codes)) if groups is None else np.unique(groups, return_inverse=True)[1]
    strata = _merge_lone_classes(codes, units)
    rows = np.zeros((len(codes), 1)) if X is None else X
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class")
        parts = [(np.asarray(a), np.asarray(b)) for a, b in cv.split(rows, strata, groups)]
    if isinstance(cv, TimeSeriesSplit):
        return _leave_out_shared(parts, groups)
    return keep_classes(parts, codes, groups)


def keep_classes(
    parts: Iterable[tuple[Array, Array]], codes: Array, groups: Array | None = None
) -> list[tuple[Array, Array]]:
    """Splits in which every class has a row to fit to, and groups are never on both sides.

    A class that would have none gets a row, or a group, back from the rows held out.

    Examples
    --------
    >>> parts, codes = [(np.array([0, 1]), np.array([2, 3]))], np.array([0, 0, 1, 1])
    >>> [(fit.tolist(), held.tolist()) for fit, held in keep_classes(parts, codes)]
    [([0, 1, 2], [3])]
    """
    units = np.arange(len(codes)) if groups is None else np.unique(groups, return_inverse=True)[1]
    kept = []
    for fit, held in parts:
        held, back = _give_back(fit, held, codes, units)
        kept.append((np.sort(np.concatenate([fit, back])), np.sort(held)))
    return _leave_out_shared(kept, groups)


def _leave_out_shared(
    parts: Iterable[tuple[Array, Array]], groups: Array | None
) -> list[tuple[Array, Array]]:
    """Splits without rows to fit to that share a group with rows held out."""
    if groups is not None:
        parts = [(fit[~np.isin(groups[fit], groups[held])], held) for fit, held in parts]
    return [part for part in parts if len(part[1])]


def _merge_lone_classes(codes: Array, units: Array) -> Array:
    """Classes to stratify by: one that a single unit has counts as the largest class."""
    pairs = np.unique(np.column_stack([codes, units]), axis=0)
    lone = np.bincount(pairs[:, 0], minlength=1) == 1
    return np.where(lone[codes], np.bincount(codes, minlength=1).argmax(), codes)


def _give_back(fit: Array, held: Array, codes: Array, units: Array) -> tuple[Array, Array]:
    """Rows that stay held out, and those of the first unit of each class that `fit` lacks."""
    lacking = np.setdiff1d(codes[held], codes[fit])
    owners = [units[held[codes[held] == c]].min() for c in lacking]
    back = np.isin(units[held], owners)
    return held[~back], held[back]


def training_parts(
    codes: Array,
    n_folds: int,
    random_state: Any = 0,
    *,
    groups: Array | None = None,
    cv: Any = None,
) -> list[tuple[Array, Array]]:
    """Rows to fit to and rows held out, of each of at most `n_folds` stratified folds.

    Parameters
    ----------
    codes : array of int (n_samples,)
        The class of each row.
    n_folds : int
        Folds; fewer where no class, or no group, is so often there.
    random_state : int, RandomState or None
        Order in which rows are dealt.
    groups : array of int (n_samples,), optional
        Rows of a group stay together.
    cv : splitter, optional
        In place of stratified folds. After a `TimeSeriesSplit` parts whose past lacks a class
        are left out.

    Examples
    --------
    >>> parts = training_parts(np.array([0, 0, 0, 0, 0, 0, 1]), 2)
    >>> [int(6 in fit) for fit, held in parts]
    [1, 1]
    """
    if cv is None:
        n_units = len(codes) if groups is None else len(np.unique(groups))
        n_splits = min(n_folds, int(np.bincount(codes, minlength=1).max()), n_units)
        if n_splits < 2:
            return []
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        cv = kind(n_splits, shuffle=True, random_state=random_state)
    n_classes = len(np.unique(codes))
    # as many rows as classes have no scatter within them
    parts = [p for p in split_keeping_classes(cv, codes, groups) if len(p[0]) > n_classes]
    if not isinstance(cv, TimeSeriesSplit):
        return parts
    return [part for part in parts if len(np.unique(codes[part[0]])) == n_classes]


def random_splits(
    codes: Array, n_splits: int, test_size: float, random_state: Any = 0
) -> list[tuple[Array, Array]]:
    """Random splits that hold out a share of the rows of each class.

    Examples
    --------
    >>> ((fit, held),) = random_splits(np.array([0, 0, 0, 0, 1, 1, 2]), 1, 0.3)
    >>> len(fit), len(held), 6 in fit
    (6, 1, True)
    """
    counts = np.bincount(codes)
    n_strata = max(int(np.count_nonzero(counts > 1)), 1)
    n_held = min(max(round(test_size * len(codes)), n_strata), len(codes) - n_strata)
    cv = StratifiedShuffleSplit(n_splits, test_size=n_held, random_state=random_state)
    return split_keeping_classes(cv, codes)


# Drawing rows ----------------------------------------------------------------------------------


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


# The search of settings --------------------------------------------------------------------------


class GridScores(NamedTuple):
    """Held-out scores of each setting of some parameters.

    Attributes
    ----------
    settings : tuple of dict
        The settings tried, the preferred ones first.
    scores : array (n_folds, n_settings)
        Held-out scores, larger being better.
    chosen : dict
        The first of the settings with the best average.
    """

    settings: tuple[dict[str, Any], ...]
    scores: Array
    chosen: dict[str, Any]


def search(
    settings: Sequence[dict[str, Any]],
    score_part: Callable[[Array, Array], ArrayLike],
    parts: Sequence[tuple[Array, Array]],
) -> GridScores:
    """Score every setting on rows that it was not fitted to, and take the best on average.

    Parameters
    ----------
    settings : sequence of dict
        Settings to try; of equal scores the first wins.
    score_part : callable
        Takes the rows to fit to and the rows held out, by number, and gives the score of each
        setting. Settings can so share the work that does not depend on them. Where a part has
        scores of the first settings only, these alone are tried.
    parts : sequence of pairs
        Rows to fit to and rows held out, such as `training_parts` gives.

    Returns
    -------
    GridScores

    Examples
    --------
    >>> settings = [{"k": 1}, {"k": 2}]
    >>> search(settings, lambda train, held: [0.5, 0.75], [(None, None)]).chosen
    {'k': 2}
    """
    found = [np.asarray(score_part(*part), dtype=np.float64) for part in parts]
    n_tried = min((len(scores) for scores in found), default=len(settings))
    scores = np.stack([s[:n_tried] for s in found]) if found else np.zeros((0, n_tried))
    average = scores.mean(axis=0) if scores.size else np.zeros(1)
    return GridScores(tuple(settings[:n_tried]), scores, settings[best_rule(average)])


def score_projections(
    projections: Iterable[Projection],
    known: Any,
    y: Array,
    new: Any,
    y_new: Array,
    *,
    scorer: Scorer = neighbour_scores,
    n_components: int = MAX_COMPONENTS,
) -> list[float]:
    """The score of each projection in its leading coordinates; without coordinates it is zero."""
    scores = []
    for project in projections:
        Z = project(known)
        end = np.array([min(n_components, Z.shape[1])])
        scores.append(float(scorer(Z, y, project(new), y_new, end)[0]) if end[0] else 0.0)
    return scores


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
    groups: Array | None = None,
    cv: Any = None,
    random_state: Any = 0,
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
    groups, cv
        As in `training_parts`. Estimators of this package split their own choices by them, too.
    random_state : int, RandomState or None
        Source of the folds.

    Returns
    -------
    DimensionPath

    Notes
    -----
    At most 700 rows judge, in as many of the folds as hold them out, and look for neighbours
    among at most 3000: for many rows the cost is that of one more fit.

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
        splitting = {n: v for n, v in (("groups", groups), ("cv", cv)) if v is not None}
        parts = limit_judges(training_parts(codes, n_folds, random_state, **splitting), codes)
        score = _dimension_scorer(
            estimator, rows, labels[codes], params, _as_scorer(scorer), splitting
        )
        tried = [{"n_components": k} for k in range(1, max(rows.shape) + 1)]
        scores = search(tried, score, parts).scores
        if not scores.size:
            return NOTHING_TO_CHOOSE
        dimensions = np.arange(1, scores.shape[1] + 1)
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


def limit_judges(
    parts: Sequence[tuple[Array, Array]], codes: Array, max_rows: int = MAX_JUDGES
) -> list[tuple[Array, Array]]:
    """The last of some parts, as many as hold out enough rows; of more some judge, by class.

    Examples
    --------
    >>> parts = training_parts(np.repeat([0, 1], 4000), 5)
    >>> [(len(fit), len(held)) for fit, held in limit_judges(parts, np.repeat([0, 1], 4000))]
    [(6400, 700)]
    """
    chosen: list[tuple[Array, Array]] = []
    n_held = 0
    for fit, held in reversed(parts):  # in the order of time the last part fits to most rows
        if n_held >= max_rows:
            break
        judges = draw_rows_by_class(codes[held], max_rows - n_held, 0, least=1)
        chosen.insert(0, (fit, held[judges]))
        n_held += len(held)
    return chosen


def _dimension_scorer(
    estimator: Any,
    X: Any,
    y: Array,
    params: Mapping[str, Any],
    scorer: Scorer,
    splitting: Mapping[str, Any],
) -> Callable[[Array, Array], Array]:
    """What fits to the rows of a part, and scores all numbers of leading directions."""
    pairwise = get_tags(estimator).input_tags.pairwise  # columns are training rows too
    own = hasattr(estimator, "_solve")
    codes = np.unique(y, return_inverse=True)[1]

    def score(train: Array, held: Array) -> Array:
        fold = {name: np.asarray(value)[train] for name, value in params.items()}
        if own:
            fold |= {n: v[train] if n == "groups" else v for n, v in splitting.items()}
        seen = X[:, train] if pairwise else X
        model = keep_every_direction(estimator).fit(seen[train], y[train], **fold)
        voters = train[draw_rows_by_class(codes[train], MAX_VOTERS, 0, least=3)]
        Z, Z_new = (np.asarray(model.transform(seen[part])) for part in (voters, held))
        order, ends = order_columns_by_level(model, Z.shape[1])
        return scorer(Z[:, order], y[voters], Z_new[:, order], y[held], ends)

    return score


def _score_resubstituted(
    estimator: Any, X: Any, y: Array, params: dict[str, Any]
) -> tuple[Array, Array]:
    """The same by leaving one row out of the neighbours only, not of the fit."""
    model = keep_every_direction(estimator).fit(X, y, **params)
    Z = np.asarray(model.transform(X))
    order, ends = order_columns_by_level(model, Z.shape[1])
    return np.arange(1, len(ends) + 1), leave_one_out_scores(Z[:, order], y, ends)[None]
