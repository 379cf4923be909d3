"""Every number and sentence of the report, taken from a comparison."""

from __future__ import annotations

import dataclasses
import math
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from separatrix.evaluate.ranking import Ranking, rank_methods
from separatrix.evaluate.records import Comparison, Fold, MethodRecord, to_plain
from separatrix.linalg import Array
from separatrix.report import wording
from separatrix.report.script import write_script
from separatrix.report.verdict import reach_verdict

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

N_COLOURS, N_SHAPES = 8, 5
"""Colours and shapes of points; without a common divisor, so that 40 classes look different."""

SCORE_NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "macro_f": "macro F",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "auc": "AUC",
}


def facts(
    comparison: Comparison,
    *,
    title: str = "",
    command: str = "",
    fit_command: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything that the report of a comparison says, as plain data.

    Parameters
    ----------
    comparison : Comparison
        The result of `evaluate.compare`.
    title : str
        Name of the data.
    command : str
        The command that gives this report again, if there is one.
    fit_command : sequence of str
        The words of a command that fits to the same table, but for method and output, if there is
        one.

    Returns
    -------
    dict
        Of dictionaries with names as keys, lists, strings, finite numbers and None: what
        `json.dumps` takes and `json.loads` gives back unchanged. The parts are ``title``,
        ``data``, ``protocol``, ``verdict``, ``leaderboard``, ``dimension``, ``projections``,
        ``confusion``, ``loadings``, ``time``, ``failures`` and ``reproduce``, in the order of the
        page.

    Notes
    -----
    Every score is one of held-out rows. Whether methods differ is decided by `rank_methods` alone,
    so that the sentences and the leaderboard agree.

    Names of more than 60 letters are shortened in the middle. More than 5000 held-out rows are
    thinned out evenly for the pictures, not for the numbers.

    Examples
    --------
    >>> from separatrix import datasets
    >>> from separatrix.evaluate import compare
    >>> from separatrix.report import facts
    >>> iris = datasets.load("iris")
    >>> found = facts(compare(["LDA", "raw"], iris.data, iris.target, n_splits=5), title="iris")
    >>> found["verdict"]["best"], found["data"]["rows"]
    ('LDA', 150)
    """
    comparison = _shorten_names(comparison)
    board = _leaderboard(comparison, _rank(comparison))
    methods = [comparison[row["name"]] for row in board["rows"]]
    about = _describe_data(comparison, title)
    said = reach_verdict(board["rows"], about, comparison)
    said["fit"] = _write_fit_command(fit_command, said["advised"])
    described = {
        "title": wording.shorten(title) or "Comparison of methods",
        "data": about,
        "protocol": wording.describe_protocol(comparison.settings, len(comparison.tests)),
        "verdict": said,
        "leaderboard": board,
        "dimension": _dimension(methods, comparison),
        "projections": _projections(methods, comparison),
        "confusion": _confusion(methods, comparison),
        "loadings": _loadings(methods),
        "time": _time(board["rows"]),
        "failures": _failures(comparison),
        "reproduce": _reproduce(comparison, command, said),
    }
    return to_plain(described)


def _write_fit_command(command: Sequence[str], advised: str | None) -> str:
    """The command that gives the advised method as a model."""
    if not command or advised is None:
        return ""
    arguments = [*command, "-m", advised, "--tune", "-o", f"{advised}.model"]
    return wording.make_printable(shlex.join(arguments))


def _shorten_names(comparison: Comparison) -> Comparison:
    """The same with short names, every one of them different."""
    names = wording.make_distinct(method.name for method in comparison.methods)
    return dataclasses.replace(
        comparison,
        classes=tuple(wording.make_distinct(comparison.classes)),
        methods=tuple(
            dataclasses.replace(method, name=name)
            for method, name in zip(comparison.methods, names, strict=True)
        ),
    )


# Data ----------------------------------------------------------------------------------


def _describe_data(comparison: Comparison, title: str) -> dict[str, Any]:
    counts = comparison.class_counts
    briefs = wording.abbreviate(comparison.classes)
    return {
        "name": wording.shorten(title),
        "rows": comparison.n_samples,
        "features": len(comparison.feature_names),
        "classes": [
            {
                "name": label,
                "brief": brief,
                "rows": count,
                "colour": i % N_COLOURS,
                "shape": i % N_SHAPES,
            }
            for i, (label, brief, count) in enumerate(
                zip(comparison.classes, briefs, counts, strict=True)
            )
        ],
        "guess": max(counts) / sum(counts),
        "line": (
            f"{wording.format_count(comparison.n_samples, 'row')}, "
            f"{wording.format_count(len(comparison.feature_names), 'feature')}, "
            f"{wording.format_count(len(counts), 'class', 'classes')}"
        ),
    }


def _finite_or_none(value: Any) -> float | None:
    """The number, or None where there is none."""
    return None if value is None or not math.isfinite(value) else float(value)


def _median(values: Iterable[float | None]) -> float | None:
    known = [v for v in map(_finite_or_none, values) if v is not None]
    return float(np.median(known)) if known else None


def _list_done(method: MethodRecord) -> list[Fold]:
    return [fold for fold in method.folds if fold.status == "done"]


def _first_fold(method: MethodRecord) -> Fold | None:
    """Split 0, which alone has pictures, if it was done."""
    return next((fold for fold in _list_done(method) if fold.split == 0), None)


def _most_frequent(dimensions: Iterable[int | None]) -> int | None:
    """The number that comes most often; of equals the smaller."""
    counts = Counter(n for n in dimensions if n is not None)
    return min(counts, key=lambda n: (-counts[n], n)) if counts else None


def _range(dimensions: Iterable[int | None]) -> tuple[int, int] | None:
    """The smallest and the largest number."""
    known = [n for n in dimensions if n is not None]
    return (min(known), max(known)) if known else None


# Leaderboard -------------------------------------------------------------------------------------


def _rank(comparison: Comparison) -> Ranking | None:
    """Methods from best to worst, those that were done on all splits if there are any.

    The mean of other splits is the mean of other data. Of equals the simplest comes first. None
    when no method has a score.
    """
    scored = [m for m in comparison.methods if _has_score(m)]
    scored.sort(key=_simplicity)
    complete = [m for m in scored if m.status == "done"]
    if not scored:
        return None
    ranking = rank_methods(dataclasses.replace(comparison, methods=tuple(complete or scored)))
    return ranking if ranking.methods else None


def _simplicity(method: MethodRecord) -> tuple[float, bool, str]:
    """Directions where there are most, linear before kernel, the name: the smallest comes first.

    Not the time, by which a second run would advise another method.
    """
    span = _range(fold.n_components for fold in _list_done(method))
    return math.inf if span is None else span[1], "kernel_gamma" in method.grid, method.name


def _has_score(method: MethodRecord) -> bool:
    return any(
        _finite_or_none(fold.scores.get("accuracy")) is not None for fold in _list_done(method)
    )


def _leaderboard(comparison: Comparison, ranking: Ranking | None) -> dict[str, Any]:
    """A row for each method with a score: the ranked ones in order, then the rest."""
    ranked = [] if ranking is None else list(ranking.methods)
    rest = [
        m.name
        for m in comparison.methods
        if m.name not in ranked and "accuracy" in m.summary
        if _finite_or_none(m.summary["accuracy"].mean) is not None
    ]
    rest.sort(key=lambda name: -comparison[name].summary["accuracy"].mean)
    rows = [
        _describe_method(comparison[name]) | _describe_standing(name, ranking)
        for name in [*ranked, *rest]
    ]
    for row in rows:
        row["found"] = _recall_of_small_classes(comparison, comparison[row["name"]])
    _assign_places(rows)
    scores = [
        {"key": key, "name": name}
        for key, name in SCORE_NAMES.items()
        if any(key in row["scores"] for row in rows)
    ]
    return {
        "rows": rows,
        "scores": scores,
        "groups": 0 if ranking is None else len(ranking.groups),
        "test": "" if ranking is None else ranking.test,
        "alpha": None if ranking is None else ranking.alpha,
        "notes": _list_notes(comparison, ranking, rows),
    }


def _list_notes(
    comparison: Comparison, ranking: Ranking | None, rows: Sequence[dict[str, Any]]
) -> list[str]:
    """What to know about places, letters and intervals."""
    n_ranked = 0 if ranking is None else len(ranking.methods)
    notes = [] if ranking is None else [*ranking.notes]
    first = [row for row in rows if row["place"] == 1]
    if n_ranked >= 5 and len(first) == 1:
        notes.append(
            f"The first of {n_ranked} methods is in part the luckiest: expect slightly less "
            "of it on new data."
        )
    if ranking is not None and n_ranked > 2:
        notes.append(
            f"Letters come from testing every two methods, {len(ranking.pairs)} tests in all; "
            f"the comparisons at the top need {n_ranked - 1} each, and are less strict for it."
        )
    if any(not row["std"] and row["low"] != row["high"] for row in rows):
        n_test = len(comparison.tests[0])
        notes.append(
            f"Intervals of scores that do not vary are Clopper and Pearson's, for the {n_test} "
            "rows of one split."
        )
    rest = [row["name"] for row in rows if not row["ranked"]]
    if rest:
        notes.append(
            "Methods without a place were not done on all splits, and are not compared: "
            f"{wording.join_names(rest)}."
        )
    return notes


def _describe_method(method: MethodRecord) -> dict[str, Any]:
    """A method by itself."""
    scores = {
        key: {
            "mean": _finite_or_none(summary.mean),
            "std": _finite_or_none(summary.std),
            "low": _finite_or_none(summary.low),
            "high": _finite_or_none(summary.high),
        }
        for key, summary in method.summary.items()
    }
    folds = _list_done(method)
    return {
        "name": method.name,
        "kind": method.kind,
        "role": method.role,
        "description": wording.shorten(method.description, 300),
        "decision": wording.DECISION_NAMES.get(method.decision, wording.shorten(method.decision)),
        "place": None,
        **scores["accuracy"],
        "scores": scores,
        "splits": method.n_done,
        "settings": wording.describe_settings([fold.chosen for fold in folds]),
        "complete": method.status == "done",
        "dimension": _most_frequent(fold.n_components for fold in folds),
        "dimensions": _range(fold.n_components for fold in folds),
        "found": None,
        "fit_seconds": _median(fold.fit_seconds for fold in folds),
        "predict_seconds": _median(fold.predict_seconds for fold in folds),
        "peak_bytes": next((f.peak_bytes for f in folds if f.peak_bytes is not None), None),
    }


def _recall_of_small_classes(comparison: Comparison, method: MethodRecord) -> float | None:
    """Share of the rows of all classes but the largest that are right, over all splits."""
    labels = np.asarray(comparison.labels, dtype=int)
    largest = int(np.argmax(comparison.class_counts))
    right = [
        np.asarray(fold.predicted, dtype=int)[truth != largest] == truth[truth != largest]
        for fold in _list_done(method)
        for truth in [labels[list(comparison.tests[fold.split])]]
        if len(fold.predicted) == len(truth)
    ]
    pooled = np.concatenate(right) if right else np.zeros(0)
    return float(pooled.mean()) if len(pooled) else None


def _describe_standing(name: str, ranking: Ranking | None) -> dict[str, Any]:
    """A method among the others: its groups, and the test of the best against it."""
    if ranking is None or name not in ranking.methods:
        return {"ranked": False, "groups": [], "behind": None, "p": None, "differs": None}
    behind = [p for p in ranking.pairs if (p.first, p.second) == (ranking.methods[0], name)]
    pair = behind[0] if behind else None
    return {
        "ranked": True,
        "mean": ranking.mean_scores[ranking.methods.index(name)],
        "groups": [i for i, group in enumerate(ranking.groups) if name in group],
        "behind": None if pair is None else _finite_or_none(pair.difference),
        "p": None if pair is None else _finite_or_none(pair.p_holm),
        "differs": None if pair is None else pair.differ,
    }


def _assign_places(rows: list[dict[str, Any]]) -> None:
    """1, 2, 2, 4, …: equal scores share a place."""
    for i, row in enumerate(rows):
        if row["ranked"]:
            same = i > 0 and wording.are_equal(rows[i - 1]["mean"], row["mean"])
            row["place"] = rows[i - 1]["place"] if same else i + 1


# Pictures ----------------------------------------------------------------------------------------


def _dimension(methods: Sequence[MethodRecord], comparison: Comparison) -> dict[str, Any]:
    """Mean accuracy with the first 1, 2, … directions, as far as all splits have them."""
    lines: list[dict[str, Any]] = []
    for method in methods:
        paths = [fold.path for fold in _list_done(method) if fold.path]
        length = min(map(len, paths), default=0)
        if length:
            means = np.mean([path[:length] for path in paths], axis=0)
            lines.append(
                {
                    "name": method.name,
                    "accuracy": [_round(v) for v in means],
                    "chosen": _most_frequent(
                        fold.chosen.get("n_components") for fold in _list_done(method)
                    ),
                }
            )
    return {
        "lines": lines,
        "longest": max((len(line["accuracy"]) for line in lines), default=0),
        "words": wording.describe_dimension(lines, comparison.settings.get("decision", "own")),
    }


def _round(value: float, digits: int = 5) -> float | None:
    finite = _finite_or_none(value)
    return None if finite is None else round(finite, digits)


def _projections(methods: Sequence[MethodRecord], comparison: Comparison) -> dict[str, Any]:
    """Held-out rows of split 0 in the first directions of each method that has some."""
    tests = np.asarray(comparison.tests[0] if comparison.tests else (), dtype=int)
    n_shown = min(len(tests), MAX_POINTS)
    shown = np.linspace(0, len(tests) - 1, n_shown).round().astype(int)
    labels = np.asarray(comparison.labels, dtype=int)
    views = []
    for method in methods:
        fold = _first_fold(method)
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


def _confusion(methods: Sequence[MethodRecord], comparison: Comparison) -> dict[str, Any]:
    """How often each class was taken for each other, over all splits."""
    n_classes = len(comparison.classes)
    labels = np.asarray(comparison.labels, dtype=int)
    tables: list[dict[str, Any]] = []
    for method in methods:
        counts = np.zeros((n_classes, n_classes), dtype=int)
        for fold in _list_done(method):
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


def _loadings(methods: Sequence[MethodRecord]) -> dict[str, Any]:
    """The features that move a row most along the first directions of each linear method."""
    tables = []
    for method in methods:
        fold = _first_fold(method)
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


def _time(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
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


# The rest ----------------------------------------------------------------------------------------


def _failures(comparison: Comparison) -> dict[str, Any]:
    methods = [
        {
            "name": m.name,
            "done": m.n_done,
            "splits": len(comparison.tests),
            "reason": wording.shorten(m.reason, 400) or "no reason was given",
        }
        for m in comparison.methods
        if m.status != "done"
    ]
    warned = []
    for method in comparison.methods:
        counts = Counter(text for fold in method.folds for text in fold.warnings)
        warned += [
            {"name": method.name, "splits": n, "text": wording.shorten(text, 300)}
            for text, n in counts.most_common(3)
        ]
    return {
        "methods": methods,
        "left_out": [
            {"name": wording.shorten(name), "reason": wording.shorten(why, 300)}
            for name, why in comparison.left_out.items()
        ],
        "warnings": warned,
        "words": wording.describe_failures(len(methods), len(comparison.methods)),
    }


def _reproduce(comparison: Comparison, command: str, said: dict[str, Any]) -> dict[str, Any]:
    settings = comparison.settings
    return {
        "command": wording.make_printable(command),
        "fit": said["fit"],
        "code": write_script(comparison, said["advised"]),
        "settings": [
            {"name": "seed", "value": str(settings.get("random_state"))},
            *(
                {
                    "name": wording.SETTING_NAMES.get(name, wording.shorten(name)),
                    "value": wording.shorten("none" if value is None else value),
                }
                for name, value in settings.items()
                if name != "random_state"
            ),
            {"name": "fingerprint of the data", "value": wording.shorten(comparison.data)},
            {"name": "computing time", "value": wording.format_seconds(comparison.seconds)},
        ],
        "versions": [
            {"name": wording.shorten(name), "value": wording.shorten(value)}
            for name, value in comparison.versions.items()
        ],
    }
