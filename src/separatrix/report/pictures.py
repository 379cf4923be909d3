"""Facts that the page draws: dimensions, projections, confusions, weights, times."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from separatrix.evaluate.records import Comparison, Fold, MethodRecord
from separatrix.linalg import Array
from separatrix.report import wording

MAX_POINTS = 5000
"""Held-out rows that are drawn."""

MAX_MATRIX_CLASSES = 30
"""Classes of a confusion matrix; with more only the most frequent mistakes are listed."""

MAX_WIDE_COLUMNS = 6
"""Columns of a matrix that are wide; with more all of them are narrow."""

MAX_WIDE_LETTERS, MAX_NARROW_LETTERS = 14, 3
"""Letters of a name above a wide column and above a narrow one; longer names get numbers."""

MAX_LOADINGS = 12
"""Features that are named for a direction."""

MAX_MISTAKES = 6
"""Kinds of mistakes that are listed for each method."""

MAX_PANELS = 3
"""Projections that are shown side by side at first."""


# Numbers of folds --------------------------------------------------------------------------------


def finite_or_none(value: Any) -> float | None:
    """The number, or None where there is none."""
    return None if value is None or not math.isfinite(value) else float(value)


def find_median(values: Iterable[float | None]) -> float | None:
    """The median of the numbers that are known."""
    known = [v for v in map(finite_or_none, values) if v is not None]
    return float(np.median(known)) if known else None


def list_done(method: MethodRecord) -> list[Fold]:
    """The folds with scores."""
    return [fold for fold in method.folds if fold.status == "done"]


def first_fold(method: MethodRecord) -> Fold | None:
    """Split 0, which alone has pictures, if it was done."""
    return next((fold for fold in list_done(method) if fold.split == 0), None)


def most_frequent(dimensions: Iterable[int | None]) -> int | None:
    """The number that comes most often; of equals the smaller."""
    counts = Counter(n for n in dimensions if n is not None)
    return min(counts, key=lambda n: (-counts[n], n)) if counts else None


def find_range(dimensions: Iterable[int | None]) -> tuple[int, int] | None:
    """The smallest and the largest number."""
    known = [n for n in dimensions if n is not None]
    return (min(known), max(known)) if known else None


# Pictures ----------------------------------------------------------------------------------------


def draw_dimension(methods: Sequence[MethodRecord], comparison: Comparison) -> dict[str, Any]:
    """Mean accuracy with the first 1, 2, … directions, as far as all splits have them."""
    lines: list[dict[str, Any]] = []
    for method in methods:
        paths = [fold.path for fold in list_done(method) if fold.path]
        length = min(map(len, paths), default=0)
        if length:
            means = np.mean([path[:length] for path in paths], axis=0)
            lines.append(
                {
                    "name": method.name,
                    "accuracy": [_round(v) for v in means],
                    "chosen": most_frequent(
                        fold.chosen.get("n_components") for fold in list_done(method)
                    ),
                }
            )
    return {
        "lines": lines,
        "longest": max((len(line["accuracy"]) for line in lines), default=0),
        "words": wording.describe_dimension(lines, comparison.settings.get("decision", "own")),
    }


def _round(value: float, digits: int = 5) -> float | None:
    finite = finite_or_none(value)
    return None if finite is None else round(finite, digits)


def draw_projections(
    methods: Sequence[MethodRecord], comparison: Comparison, ids: Sequence[Any] | None = None
) -> dict[str, Any]:
    """Held-out rows of split 0 in the first directions of each method that has some."""
    tests = np.asarray(comparison.tests[0] if comparison.tests else (), dtype=int)
    n_shown = min(len(tests), MAX_POINTS)
    shown = np.linspace(0, len(tests) - 1, n_shown).round().astype(int)
    labels = np.asarray(comparison.labels, dtype=int)
    views = []
    for method in methods:
        fold = first_fold(method)
        if fold is None or fold.view is None or not len(tests):
            continue
        Z = np.array(fold.view.coordinates, dtype=float).reshape(len(tests), -1)
        predicted = np.asarray(fold.predicted, dtype=int)
        right = int(np.count_nonzero(predicted == labels[tests]))
        views.append(
            {
                "name": method.name,
                "axes": [_axis(fold.view.axes, j) for j in range(Z.shape[1])],
                "about": wording.describe_axes(
                    fold.view.axes, fold.n_components, len(comparison.feature_names)
                ),
                "coordinates": [_round_coordinates(column) for column in Z[shown].T],
                "predicted": predicted[shown].tolist(),
                "right": right,
                "words": wording.describe_correct(right, len(tests)),
            }
        )
    return {
        "rows": tests[shown].tolist(),
        "ids": None if ids is None else [wording.shorten(ids[i]) for i in tests[shown]],
        "labels": labels[tests[shown]].tolist(),
        "held_out": len(tests),
        "views": views,
        "panels": _choose_panels([view["name"] for view in views], methods),
        "words": wording.describe_projections(n_shown, len(tests), len(labels)),
    }


def _axis(kind: str, j: int) -> str:
    return f"principal axis {j + 1}" if kind == "principal axes" else f"direction {j + 1}"


def _round_coordinates(column: Array) -> list[float | None]:
    """Coordinates to a thousandth of their range or better: enough to draw."""
    finite = column[np.isfinite(column)]
    reach = float(np.abs(finite - finite.mean()).max()) if len(finite) else 0.0
    digits = 3 - math.floor(math.log10(reach)) if reach > 0 else 3
    return [_round(v, digits) for v in column.tolist()]


def _choose_panels(available: Sequence[str], methods: Sequence[MethodRecord]) -> list[str]:
    """The best, then two references, then the next ones."""
    ranked = [method.name for method in methods]
    spoken_of = {method.role: method.name for method in methods}
    references = [spoken_of[role] for role in ("LDA", "raw") if role in spoken_of]
    wanted = [*ranked[:1], *references, *ranked[1:]]
    return [name for name in dict.fromkeys(wanted) if name in available][:MAX_PANELS]


def count_confusions(methods: Sequence[MethodRecord], comparison: Comparison) -> dict[str, Any]:
    """How often each class was taken for each other, over all splits."""
    n_classes = len(comparison.classes)
    labels = np.asarray(comparison.labels, dtype=int)
    tables: list[dict[str, Any]] = []
    for method in methods:
        counts = np.zeros((n_classes, n_classes), dtype=int)
        for fold in list_done(method):
            truth = labels[list(comparison.tests[fold.split])]
            np.add.at(counts, (truth, np.asarray(fold.predicted, dtype=int)), 1)
        if not counts.any():
            continue
        tables.append(
            {
                "name": method.name,
                "counts": counts.tolist() if n_classes <= MAX_MATRIX_CLASSES else None,
                "tested": int(counts.sum()),
                "wrong": int(counts.sum() - np.trace(counts)),
                "mistakes": _mistakes(counts, comparison.classes),
            }
        )
    briefs = wording.abbreviate(comparison.classes)
    longest = MAX_WIDE_LETTERS if n_classes <= MAX_WIDE_COLUMNS else MAX_NARROW_LETTERS
    return {
        "tables": tables,
        "shown": _choose_panels([t["name"] for t in tables], methods)[:2],
        "numbered": max(map(len, briefs)) > longest,
    }


def _mistakes(counts: Array, classes: Sequence[str]) -> list[str]:
    """The most frequent mistakes, in words."""
    tested = counts.sum(axis=1)
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:MAX_MISTAKES]
    return [
        wording.describe_mistake(classes[i], classes[j], int(wrong[i, j]), int(tested[i]))
        for i, j in zip(*np.unravel_index(order, wrong.shape), strict=True)
        if wrong[i, j]
    ]


def draw_loadings(methods: Sequence[MethodRecord]) -> dict[str, Any]:
    """The features that move a row most along the first directions of each linear method."""
    tables = []
    for method in methods:
        fold = first_fold(method)
        if fold is None or fold.loadings is None:
            continue
        briefs = wording.abbreviate([wording.shorten(name) for name in fold.loadings.features], 22)
        directions = []
        for weights in np.asarray(fold.loadings.weights, dtype=float):
            largest = np.argsort(-np.abs(np.nan_to_num(weights)), kind="stable")[:MAX_LOADINGS]
            entries = [
                {
                    "feature": wording.shorten(fold.loadings.features[j]),
                    "brief": briefs[j],
                    "weight": float(weights[j]),
                }
                for j in largest
                if np.isfinite(weights[j]) and weights[j] != 0
            ]
            directions.append({"words": wording.describe_direction(entries), "features": entries})
        tables.append(
            {
                "name": method.name,
                "n_features": fold.loadings.n_features,
                "directions": directions,
            }
        )
    with_weights = [table["name"] for table in tables]
    return {
        "tables": tables,
        "without": [method.name for method in methods if method.name not in with_weights],
    }


def draw_times(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Training time and accuracy, and the methods that none beats in both."""
    points = [
        {
            "name": row["name"],
            "role": row["role"],
            "seconds": row["fit_seconds"],
            "accuracy": row["mean"],
        }
        for row in rows
        if row["fit_seconds"] and row["mean"] is not None
    ]
    for point in points:
        point["unbeaten"] = not any(
            other["seconds"] <= point["seconds"]
            and other["accuracy"] >= point["accuracy"]
            and (other["seconds"], other["accuracy"]) != (point["seconds"], point["accuracy"])
            for other in points
        )
    return {"points": points, "words": wording.describe_times(points)}
