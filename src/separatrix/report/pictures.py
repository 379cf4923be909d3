"""Facts that the page draws: dimensions, projections, confusions, weights, times."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from separatrix.evaluate.curves import (
    FALSE_SHARES,
    mean_roc,
    measure_miscalibration,
    pool_calibration,
)
from separatrix.evaluate.records import Comparison, Fold, MethodRecord, Shuffled
from separatrix.linalg import Array
from separatrix.report import wording

MAX_VIEWS = 12
"""Methods whose pictures and weights the page holds, and those that are shown first."""

MAX_NUMBERS = 30_000
"""Coordinates and predictions that the page holds, 220 kB: a page is to stay below 600 kB."""

MAX_POINTS = 5000
"""Held-out rows that are drawn."""

MAX_MATRIX_CLASSES = 30
"""Classes of a confusion matrix; with more only the most frequent mistakes are listed."""

MAX_WIDE_COLUMNS = 6
"""Columns of a matrix that are wide; with more all of them are narrow."""

MAX_WIDE_LETTERS, MAX_NARROW_LETTERS = 14, 3
"""Letters of a name above a wide column and above a narrow one; longer names get numbers."""

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
    numbers = [v for v in map(finite_or_none, values) if v is not None]
    return float(np.median(numbers)) if numbers else None


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
    numbers = [n for n in dimensions if n is not None]
    return (min(numbers), max(numbers)) if numbers else None


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
        "words": wording.describe_dimension(
            lines, [comparison[line["name"]].decision for line in lines]
        ),
    }


def _round(value: float, digits: int = 5) -> float | None:
    finite = finite_or_none(value)
    return None if finite is None else round(finite, digits)


def draw_projections(
    methods: Sequence[MethodRecord],
    comparison: Comparison,
    advised: str | None = None,
    ids: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """Held-out rows of split 0 in the first directions of each method that has some."""
    tests = np.asarray(comparison.tests[0] if comparison.tests else (), dtype=int)
    labels = np.asarray(comparison.labels, dtype=int)
    drawn = [
        (method, fold)
        for method in methods
        for fold in [first_fold(method)]
        if fold is not None and fold.view is not None and len(tests)
    ]
    panels = choose_panels([method.name for method, _ in drawn], methods, advised)
    drawn = [pair for i, pair in enumerate(drawn) if i < MAX_VIEWS or pair[0].name in panels]
    n_shown = min(len(tests), MAX_POINTS, MAX_NUMBERS // (4 * max(len(drawn), 1)))
    shown = np.linspace(0, len(tests) - 1, n_shown).round().astype(int)
    views = []
    for method, fold in drawn:
        view = _draw_view(method, fold, comparison, labels[tests], shown)
        views.append(view)
        if method.name in panels and fold.shuffled is not None:
            views.append(_draw_shuffled(view, fold.shuffled, shown))
    twin = f"{SHUFFLED}{panels[0]}" if panels else ""
    if twin in [view["name"] for view in views]:
        panels = [panels[0], twin, *panels[1:]][:MAX_PANELS]
    return {
        "rows": tests[shown].tolist(),
        "ids": None if ids is None else [wording.shorten(ids[i]) for i in tests[shown]],
        "labels": labels[tests[shown]].tolist(),
        "held_out": len(tests),
        "views": views,
        "panels": panels,
        "words": wording.describe_projections(n_shown, len(tests), len(labels)),
    }


SHUFFLED = "shuffled labels: "
"""How the name of a method begins where its labels were shuffled: a narrow list cuts the end."""


def _draw_view(
    method: MethodRecord, fold: Fold, comparison: Comparison, truth: Array, shown: Array
) -> dict[str, Any]:
    """The rows of split 0 as a method sees them."""
    assert fold.view is not None
    Z = np.array(fold.view.coordinates, dtype=float).reshape(len(truth), -1)
    predicted = np.asarray(fold.predicted, dtype=int)
    right = int(np.count_nonzero(predicted == truth))
    return {
        "name": method.name,
        "axes": [_axis(fold.view.axes, j) for j in range(Z.shape[1])],
        "about": wording.describe_axes(
            fold.view.axes, fold.n_components, len(comparison.feature_names)
        ),
        "coordinates": [_round_coordinates(column) for column in Z[shown].T],
        "predicted": predicted[shown].tolist(),
        "labels": None,
        "right": right,
        "words": wording.describe_correct(right, len(truth)),
    }


def _draw_shuffled(view: Mapping[str, Any], shuffled: Shuffled, shown: Array) -> dict[str, Any]:
    """The same rows as the same method sees them when labels are shuffled, with these labels."""
    Z = np.array(shuffled.coordinates, dtype=float)
    labels, predicted = np.array(shuffled.labels, int), np.array(shuffled.predicted, int)
    right = int(np.count_nonzero(predicted == labels))
    return {
        "name": f"{SHUFFLED}{view['name']}",
        "axes": [_axis("directions", j) for j in range(Z.shape[1])],
        "about": "with labels that mean nothing: what chance looks like",
        "coordinates": [_round_coordinates(column) for column in Z[shown].T],
        "predicted": predicted[shown].tolist(),
        "labels": labels[shown].tolist(),
        "right": right,
        "words": wording.describe_correct(right, len(labels)),
    }


def _axis(kind: str, j: int) -> str:
    return f"principal axis {j + 1}" if kind == "principal axes" else f"direction {j + 1}"


def _round_coordinates(column: Array) -> list[float | None]:
    """Coordinates to a thousandth of their range: enough to draw."""
    finite = column[np.isfinite(column)]
    reach = float(np.abs(finite - finite.mean()).max()) if len(finite) else 0.0
    digits = math.ceil(-math.log10(4e-3 * reach)) if reach > 0 else 0
    return [_round(v, digits) for v in column.tolist()]


def choose_panels(
    available: Sequence[str], methods: Sequence[MethodRecord], advised: str | None = None
) -> list[str]:
    """The advised method or the best, then two references, then the next ones."""
    ranked = [method.name for method in methods]
    spoken_of = {method.role: method.name for method in methods}
    references = [spoken_of[role] for role in ("LDA", "raw") if role in spoken_of]
    first = ranked[:1] if advised is None else [advised]
    wanted = [*first, *references, *ranked]
    return [name for name in dict.fromkeys(wanted) if name in available][:MAX_PANELS]


def count_confusions(
    methods: Sequence[MethodRecord], comparison: Comparison, advised: str | None = None
) -> dict[str, Any]:
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
    numbered = max(map(len, briefs)) > longest
    counted = any(table["counts"] for table in tables)
    words = wording.describe_confusion(n_classes, counted=counted, numbered=numbered)
    return {
        "tables": tables,
        "shown": choose_panels([t["name"] for t in tables], methods, advised)[:2],
        "numbered": numbered,
        "words": words if tables else "No method has predictions.",
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


def draw_degrees(methods: Sequence[MethodRecord], advised: str | None = None) -> dict[str, Any]:
    """How methods order rows, and how true their probabilities are, over all splits."""
    lines: list[dict[str, Any]] = []
    for method in methods:
        roc, bins = mean_roc(method), pool_calibration(method)
        if roc is None and bins is None:
            continue
        lines.append(
            {
                "name": method.name,
                "roc": None if roc is None else [_round(v, 4) for v in roc],
                "area": None if roc is None else _find_area(method, roc),
                "calibration": None if bins is None else np.round(bins, 4).tolist(),
                "off": None if bins is None else measure_miscalibration(bins),
            }
        )
    return {
        "false_shares": FALSE_SHARES.round(4).tolist(),
        "lines": lines,
        "shown": choose_panels([line["name"] for line in lines], methods, advised),
    }


def _find_area(method: MethodRecord, roc: Array) -> float:
    """The area below the curve: as it was scored, else that of the curve as it is drawn."""
    scored = method.summary.get("auc")
    area = None if scored is None else finite_or_none(scored.mean)
    return float(np.trapezoid(roc, FALSE_SHARES)) if area is None else area


def list_readouts(
    methods: Sequence[MethodRecord], comparison: Comparison, wanted: Sequence[str]
) -> dict[str, Any]:
    """The linear maps of some methods: with them the page places a row and names its class."""
    readouts = []
    for method in methods:
        fold = first_fold(method)
        if method.name not in wanted or fold is None or fold.readout is None:
            continue
        maps = dataclasses.asdict(fold.readout)
        readouts.append(
            {"name": method.name} | {key: _round_numbers(value) for key, value in maps.items()}
        )
    names = [wording.shorten(name) for name in comparison.feature_names] if readouts else []
    return {"features": names, "methods": readouts}


def _round_numbers(value: Any) -> Any:
    """Numbers to nine digits, in lists: enough to decide, and half as long to write."""
    if isinstance(value, float):
        return float(f"{value:.9g}")
    return [_round_numbers(each) for each in value]


def draw_times(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Training time and accuracy, and the methods that none beats in both."""
    points = [
        {
            "name": row["name"],
            "role": row["role"],
            "seconds": row["fit_seconds"],
            "accuracy": row["accuracy"],
        }
        for row in rows
        if row["fit_seconds"] and row["accuracy"] is not None
    ]
    for point in points:
        point["unbeaten"] = not any(
            other["seconds"] <= point["seconds"]
            and other["accuracy"] >= point["accuracy"]
            and (other["seconds"], other["accuracy"]) != (point["seconds"], point["accuracy"])
            for other in points
        )
    return {"points": points, "words": wording.describe_times(points)}
