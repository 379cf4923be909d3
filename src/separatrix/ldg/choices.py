"""Rules by which LDG chooses γ, the number of neighbours and the dimension."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from separatrix.decision.local_qda import LocalQDA
from separatrix.linalg import Array
from separatrix.selection import (
    Scorer,
    best_rule,
    draw_rows_by_class,
    neighbour_scores,
    training_parts,
)

GAMMAS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
"""Values of γ that ``gamma="auto"`` tries; of equals the first, the largest, wins."""

THESIS_GAMMAS = (1.0, 0.8, 0.6, 0.4, 0.2)
"""Values of γ in section 3.4 of Parrish's thesis."""

THESIS_LOCAL_QDA: dict[str, Any] = {"reg": 1e-4, "covariance": "diag", "standardize": False}
"""Parameters of `LocalQDA` as in the thesis."""

NEIGHBOURS_TRIED = (4, 1, 16)
"""Values of k that ``n_neighbors="auto"`` tries."""

MAX_HELD_ROWS = 700
"""Rows of a fold that judge, drawn by class from more: the cost grows with the rows to fit to, and
not with their square."""

TARGET_JUDGEMENTS = 2000
"""Rows to judge by in all folds together, from which the number of folds follows."""

vote_scores: Scorer = partial(neighbour_scores, n_neighbors=(1, 3, 5))
"""Average of the shares that 1, 3 and 5 nearest neighbours classify rightly: far less noisy than
the share of three."""


class SelectionRule(NamedTuple):
    """How LDG chooses what is "auto".

    Attributes
    ----------
    gammas : tuple of float
        Values of γ to try, the preferred first.
    scorer : callable
        Score of a projection.
    dimension_rule : str
        Rule of `selection.dimension_path`.
    refits : bool
        Whether each fold is fitted again; otherwise the directions of all rows are scored, each
        row left out of its own neighbours.
    n_folds : int or None
        Folds; None is `count_folds`.
    """

    gammas: tuple[float, ...]
    scorer: Scorer
    dimension_rule: str
    refits: bool = True
    n_folds: int | None = None


SELECTION_RULES = {
    "refit": SelectionRule(GAMMAS, vote_scores, "best"),
    "thesis": SelectionRule(THESIS_GAMMAS, neighbour_scores, "greedy", refits=False, n_folds=5),
    "thesis-small": SelectionRule(
        (0.9, 0.7, 0.5, 0.3, 0.1, 0.01), neighbour_scores, "candidates", n_folds=5
    ),
    "author": SelectionRule((0.9,), neighbour_scores, "patient", refits=False, n_folds=5),
}
"""The rule of this package, those of sections 3.4 and 3.5 of the thesis, and that of the program
its author published."""


def count_folds(n_samples: int) -> int:
    """Ten folds for few rows and three for many.

    Examples
    --------
    >>> count_folds(100), count_folds(400), count_folds(5000)
    (10, 5, 3)
    """
    return int(np.clip(round(TARGET_JUDGEMENTS / n_samples), 3, 10))


def judging_parts(
    codes: Array, n_folds: int | None, random_state: object, **splitting: Any
) -> list[tuple[Array, Array]]:
    """Rows to fit to and rows that judge, of each fold; of many rows held out some judge."""
    parts = training_parts(codes, n_folds or count_folds(len(codes)), random_state, **splitting)
    return [
        (train, held[draw_rows_by_class(codes[held], MAX_HELD_ROWS, 0)]) for train, held in parts
    ]


def judging_dimension(n_classes: int, rank: int) -> int:
    """Five dimensions more than classes, as in the thesis, or half of all.

    In all dimensions every γ would score alike.
    """
    return min(n_classes + 5, max(n_classes - 1, rank // 2, 1))


def tried_neighbours(counts: Array) -> tuple[int, ...]:
    """Numbers of neighbours worth trying: not more than the largest class has beside a row."""
    return tuple(k for k in NEIGHBOURS_TRIED if k < max(2, counts.max()))


def trust_source(settings: Sequence[dict[str, Any]], scores: Array) -> dict[str, Any]:
    """The setting to take of several α, γ and k: α first, towards the source, then γ and k.

    An α is judged by the average of all its settings, in which the noise of few rows cancels.
    The largest α counts whose average is within one standard error, over the folds, of the best.
    Of its settings the first of the best is taken.

    Parameters
    ----------
    settings : sequence of dict
        Each names alpha.
    scores : array (n_folds, n_settings)

    Examples
    --------
    >>> settings = [{"alpha": 0.0, "gamma": 0.9}, {"alpha": 1.0, "gamma": 0.9}]
    >>> trust_source(settings, np.array([[1.0, 0.5], [0.0, 0.4]]))["alpha"]
    1.0
    >>> trust_source(settings, np.array([[1.0, 0.5], [0.9, 0.4]]))["alpha"]
    0.0
    """
    alphas = np.array([setting["alpha"] for setting in settings])
    tried = np.unique(alphas)[::-1]
    profiles = np.stack([scores[:, alphas == alpha].mean(axis=1) for alpha in tried], axis=1)
    average = profiles.mean(axis=0)
    best = profiles[:, best_rule(average)]
    error = best.std(ddof=1) / np.sqrt(len(best)) if len(best) > 1 else 0.0
    alpha = tried[best_rule((average >= average.max() - error - 1e-12).astype(float))]
    of_alpha = np.flatnonzero(alphas == alpha)
    return settings[of_alpha[best_rule(scores[:, of_alpha].mean(axis=0))]]


def thesis_neighbours(X: Array, codes: Array, random_state: object) -> int:
    """The k of the thesis: the first of 1, 2, 4, … 128 that is best in five folds of local QDA."""
    tried = [k for k in 2 ** np.arange(8) if k < max(2, np.bincount(codes).max())]
    right = np.zeros(len(tried))
    for train, held in training_parts(codes, 5, random_state):
        for i, k in enumerate(tried):
            model = LocalQDA(int(k), **THESIS_LOCAL_QDA)
            found = model.fit(X[train], codes[train]).predict(X[held])
            right[i] += np.count_nonzero(found == codes[held])
    return int(tried[best_rule(right)])


def author_neighbours(X: Array, codes: Array) -> int:
    """The k of the author's program: the largest of the best of 4, 8, … 128, leaving one out."""
    model = LocalQDA(**THESIS_LOCAL_QDA).fit(X, codes)
    if not model.selection_:
        return int(model.n_neighbors_)
    record = model.selection_["n_neighbors"]
    tried = np.array([setting["n_neighbors"] for setting in record.settings])
    some = (tried >= min(4, tried[-1])) & (tried <= 128)
    return int(tried[some][::-1][best_rule(record.scores[0][some][::-1])])
