"""Which features matter, and how surely: weights and patterns over all splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from separatrix.evaluate.records import Loadings, MethodRecord
from separatrix.linalg import Array
from separatrix.report import wording
from separatrix.report.pictures import MAX_VIEWS, list_done

MAX_LOADINGS = 12
"""Largest number of features drawn for a direction, and counted as the top ones of a split."""

MAX_LISTED = 100
"""Features of the method that is shown which its table lists for a direction."""

STABLE_SHARE = 0.8
"""Share of splits in which a feature must be among the top ones to be called stable."""


def draw_loadings(methods: Sequence[MethodRecord], advised: str | None = None) -> dict[str, Any]:
    """The features that move a row most along the first directions of each linear method."""
    by_method = {
        method.name: of_method
        for method in methods
        for of_method in [[f.loadings for f in list_done(method) if f.loadings is not None]]
        if of_method
    }
    with_weights = list(by_method)
    shown = advised if advised in by_method else next(iter(by_method), None)
    tables = [
        {
            "name": name,
            "n_features": loadings[0].n_features,
            "n_splits": len(loadings),
            "n_top": count_top(loadings[0].n_features),
            "directions": summarize_loadings(loadings, MAX_LISTED if name == shown else 0),
        }
        for name, loadings in by_method.items()
        if name == shown or with_weights.index(name) < MAX_VIEWS
    ]
    return {
        "tables": tables,
        "shown": shown,
        "without": [method.name for method in methods if method.name not in with_weights],
        "words": wording.describe_loadings(
            next((table for table in tables if table["name"] == shown), None)
        ),
    }


def count_top(n_features: int) -> int:
    """How many features are the top ones of a direction: a quarter of them, twelve at most.

    Examples
    --------
    >>> [count_top(n) for n in (2, 13, 2000)]
    [1, 4, 12]
    """
    return max(1, min(MAX_LOADINGS, -(-n_features // 4)))


def summarize_loadings(loadings: Sequence[Loadings], n_listed: int = 0) -> list[dict[str, Any]]:
    """For each direction its features over all splits, those with the largest mean weight first.

    As many as are drawn, every stable one among them, or `n_listed` where that is more.

    Directions of the splits are matched to those of the split with most directions, and turned to
    point the same way. A feature that is not among the largest hundred of a split counts as zero
    there.
    """
    names = list(dict.fromkeys(name for each in loadings for name in each.features))
    weights = [_spread_out(each.features, each.weights, names) for each in loadings]
    patterns = [_spread_out(each.features, each.patterns, names) for each in loadings]
    reference = max(weights, key=len)
    matched: list[list[tuple[Array, Array]]] = [[] for _ in reference]
    for W, A in zip(weights, patterns, strict=True):
        for i, j, sign in match_directions(reference, W):
            matched[i].append(
                (sign * W[j], sign * A[j] if len(A) else np.full(len(names), np.nan))
            )
    n_top = count_top(loadings[0].n_features)
    briefs = wording.abbreviate([wording.shorten(name) for name in names], 22)
    return [
        _describe_direction(
            names, briefs, *map(np.array, zip(*each, strict=True)), n_top=n_top, n_listed=n_listed
        )
        for each in matched
    ]


def _spread_out(
    features: Sequence[str], rows: Sequence[Sequence[float]], names: list[str]
) -> Array:
    """Rows with an entry for each name, zero where a split has none."""
    place = {name: j for j, name in enumerate(names)}
    spread = np.zeros((len(rows), len(names)))
    values = np.asarray(rows, dtype=float).reshape(len(rows), len(features))
    spread[:, [place[name] for name in features]] = np.nan_to_num(values)
    return spread


def match_directions(reference: Array, W: Array) -> list[tuple[int, int, float]]:
    """Which direction of the reference each one is: the pairs with the largest cosines, and signs.

    Examples
    --------
    >>> match_directions(np.eye(2), np.array([[0.1, -0.9], [1.0, 0.2]]))
    [(0, 1, 1.0), (1, 0, -1.0)]
    """
    products = reference @ W.T
    lengths = np.linalg.norm(reference, axis=1)[:, None] * np.linalg.norm(W, axis=1)
    cosines = products / np.maximum(lengths, np.finfo(float).tiny)
    pairs = zip(*linear_sum_assignment(-np.abs(cosines)), strict=True)
    return [(int(i), int(j), 1.0 if cosines[i, j] >= 0 else -1.0) for i, j in pairs]


def _describe_direction(
    names: Sequence[str], briefs: Sequence[str], W: Array, A: Array, *, n_top: int, n_listed: int
) -> dict[str, Any]:
    """A direction of several splits (a row of W and A for each): features, and the stable ones."""
    mean, pattern = W.mean(axis=0), A.mean(axis=0)
    order = np.argsort(-np.abs(W), axis=1, kind="stable")[:, :n_top]
    share = np.zeros(len(names))
    for row, top in zip(W, order, strict=True):
        share[top[row[top] != 0]] += 1 / len(W)
    largest = np.argsort(-np.abs(mean), kind="stable")
    largest = largest[mean[largest] != 0]
    stable = share[largest] >= STABLE_SHARE - 1e-9
    n_drawn = max([MAX_LOADINGS, *(np.flatnonzero(stable) + 1)])  # a bar for each stable one
    entries = [
        {
            "feature": wording.shorten(names[j]),
            "brief": briefs[j],
            "weight": float(f"{mean[j]:.4g}"),
            "low": float(f"{W[:, j].min():.4g}"),
            "high": float(f"{W[:, j].max():.4g}"),
            "share": float(f"{share[j]:.4g}"),
            "pattern": float(f"{pattern[j]:.4g}") if np.isfinite(pattern[j]) else None,
        }
        for j in largest[: max(n_drawn, n_listed)]
    ]
    return {
        "words": wording.describe_direction(entries),
        "splits": len(W),
        "features": entries,
        "drawn": min(int(n_drawn), len(entries)),
        "stable": [wording.shorten(names[j]) for j in largest[stable]],
    }
