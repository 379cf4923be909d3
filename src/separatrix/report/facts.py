"""Every number and sentence of the report, taken from a comparison."""

from __future__ import annotations

import dataclasses
import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from separatrix.evaluate.advice import advise, measure_complexity, measure_seconds
from separatrix.evaluate.ranking import Ranking, rank_methods
from separatrix.evaluate.records import LOSS_SCORES, Comparison, MethodRecord, to_plain
from separatrix.evaluate.scores import are_very_unequal
from separatrix.report import wording
from separatrix.report.features import draw_loadings
from separatrix.report.maps import draw_map
from separatrix.report.pictures import (
    count_confusions,
    draw_degrees,
    draw_dimension,
    draw_projections,
    draw_times,
    find_median,
    find_range,
    finite_or_none,
    list_done,
    list_readouts,
    most_frequent,
)
from separatrix.report.rows import (
    describe_degrees_of_two,
    describe_groups,
    describe_values,
)
from separatrix.report.script import write_script
from separatrix.report.verdict import reach_verdict

N_COLOURS, N_SHAPES = 8, 5
"""Colours and shapes of points; without a common divisor, so that 40 classes look different."""


def facts(
    comparison: Comparison,
    *,
    title: str = "",
    command: str = "",
    fit_command: Sequence[str] = (),
    ids: Sequence[Any] | None = None,
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
    ids : sequence, optional
        What each row is called where it is pointed at; its number by default.

    Returns
    -------
    dict
        Of dictionaries with names as keys, lists, strings, finite numbers and None: what
        `json.dumps` takes and `json.loads` gives back unchanged. The parts are ``title``,
        ``data``, ``protocol``, ``verdict``, ``projections``, ``values``, ``readouts``,
        ``leaderboard``, ``confusion``, ``groups``, ``loadings``, ``map``, ``threshold``,
        ``curves``, ``dimension``, ``time``, ``failures`` and ``reproduce``.

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
    >>> compared = compare(["LDA", "raw"], iris.data, iris.target, cv=5, progress=False)
    >>> found = facts(compared, title="iris")
    >>> found["verdict"]["best"], found["data"]["rows"]
    ('LDA', 150)
    """
    if ids is not None and len(ids) != comparison.n_samples:
        raise ValueError(
            f"ids has {len(ids)} names, but {comparison.n_samples} rows were compared"
        )
    comparison = _shorten_names(comparison)
    board = _leaderboard(comparison, _rank(comparison))
    methods = [comparison[row["name"]] for row in board["rows"]]
    about = _describe_data(comparison, title)
    verdict = reach_verdict(board["rows"], about, comparison, advise(comparison))
    verdict["fit"] = _write_fit_command(fit_command, verdict["advised"])
    advised = verdict["advised"]
    drawn = draw_projections(methods, comparison, advised, ids)
    loadings = draw_loadings(methods, advised)
    described = {
        "title": wording.shorten(title) or "Comparison of methods",
        "data": about,
        "protocol": wording.describe_protocol(
            comparison.settings,
            len(comparison.tests),
            len(comparison.group_names),
            are_very_unequal(comparison.class_counts),
        ),
        "verdict": verdict,
        "projections": drawn | {"caption": wording.caption_picture(about, drawn)},
        "values": describe_values(comparison, drawn["rows"], _by_weight(loadings)),
        "readouts": list_readouts(methods, comparison, drawn["panels"]),
        "leaderboard": board,
        "confusion": count_confusions(methods, comparison, advised),
        "groups": describe_groups(comparison, comparison[advised] if advised else None),
        "loadings": loadings,
        "map": draw_map(methods, comparison, [loadings["shown"], *drawn["panels"]]),
        "threshold": describe_degrees_of_two(methods, comparison, drawn["panels"]),
        "curves": draw_degrees(methods, advised),
        "dimension": draw_dimension(methods, comparison),
        "time": draw_times(board["rows"]),
        "failures": _failures(comparison),
        "reproduce": _reproduce(comparison, command, verdict),
    }
    return to_plain(described)


def _by_weight(loadings: dict[str, Any]) -> list[str]:
    """Features of the method whose weights are shown, those of the largest weights first."""
    table = next((t for t in loadings["tables"] if t["name"] == loadings["shown"]), None)
    features = [f for d in table["directions"] for f in d["features"]] if table else []
    return [f["feature"] for f in sorted(features, key=lambda f: -abs(f["weight"]))]


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
        "notices": [wording.shorten(text, 300) for text in comparison.notices],
        "line": (
            f"{wording.format_count(comparison.n_samples, 'row')}, "
            f"{wording.format_count(len(comparison.feature_names), 'feature')}, "
            f"{wording.format_count(len(counts), 'class', 'classes')}"
        ),
    }


# Leaderboard -------------------------------------------------------------------------------------


def _rank(comparison: Comparison) -> Ranking | None:
    """Methods from best to worst, those that were done on all splits if there are any.

    The mean of other splits is the mean of other data. Of equals the simplest comes first. None
    when no method has a score.
    """
    scored = [m for m in comparison.methods if _has_score(m, comparison.score)]
    scored.sort(key=measure_complexity)
    complete = [m for m in scored if m.status == "done"]
    if not scored:
        return None
    ranking = rank_methods(dataclasses.replace(comparison, methods=tuple(complete or scored)))
    return ranking if ranking.methods else None


def _has_score(method: MethodRecord, score: str) -> bool:
    return any(finite_or_none(fold.scores.get(score)) is not None for fold in list_done(method))


def _leaderboard(comparison: Comparison, ranking: Ranking | None) -> dict[str, Any]:
    """A row for each method with a score: the ranked ones in order, then the rest."""
    score = comparison.score
    ranked = [] if ranking is None else list(ranking.methods)
    rest = [
        m.name
        for m in comparison.methods
        if m.name not in ranked and "accuracy" in m.summary and score in m.summary
        if finite_or_none(m.summary[score].mean) is not None
    ]
    sign = -1 if score in LOSS_SCORES else 1
    rest.sort(key=lambda name: -sign * comparison[name].summary[score].mean)
    rows = [
        _describe_method(comparison[name], score) | _describe_standing(name, ranking, sign)
        for name in [*ranked, *rest]
    ]
    for row in rows:
        row["found"] = _recall_of_small_classes(comparison, comparison[row["name"]])
        row["letters"] = "".join(wording.find_letter(i) for i in row["groups"])
    _assign_places(rows)
    scores = [
        {"key": key, "name": name}
        for key, name in wording.SCORE_NAMES.items()
        if any(key in row["scores"] for row in rows)
    ]
    axis = _find_axis(rows, score)
    n_groups = 0 if ranking is None else len(ranking.groups)
    return {
        "rows": rows,
        "scores": scores,
        "score": score,
        "words": wording.describe_leaderboard(score, len(rows) > 1 and n_groups > 0),
        "axis": axis,
        "ends": [
            f"{v:.2g}" if score in LOSS_SCORES else f"{100 * v:.0f}{wording.NO_BREAK}%"
            for v in axis
        ],
        "score_name": wording.SCORE_NAMES.get(score, score),
        "groups": n_groups,
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


def _describe_method(method: MethodRecord, score: str) -> dict[str, Any]:
    """A method by itself."""
    scores = {
        key: {
            "mean": finite_or_none(summary.mean),
            "std": finite_or_none(summary.std),
            "low": finite_or_none(summary.low),
            "high": finite_or_none(summary.high),
        }
        for key, summary in method.summary.items()
    }
    folds = list_done(method)
    return {
        "name": method.name,
        "label": wording.name_method(method.name, method.role, method.decision),
        "kind": method.kind,
        "role": method.role,
        "description": wording.shorten(method.description, 300),
        "decision": wording.DECISION_NAMES.get(method.decision, wording.shorten(method.decision)),
        "place": None,
        **scores[score],
        "accuracy": scores["accuracy"]["mean"],
        "scores": scores,
        "splits": method.n_done,
        "settings": wording.describe_settings([fold.chosen for fold in folds]),
        "complete": method.status == "done",
        "dimension": most_frequent(fold.n_components for fold in folds),
        "dimensions": find_range(fold.n_components for fold in folds),
        "found": None,
        "seconds": finite_or_none(measure_seconds(method)),
        "fit_seconds": find_median(fold.fit_seconds for fold in folds),
        "predict_seconds": find_median(fold.predict_seconds for fold in folds),
    }


def _recall_of_small_classes(comparison: Comparison, method: MethodRecord) -> float | None:
    """Share of the rows of all classes but the largest that are right, over all splits."""
    labels = np.asarray(comparison.labels, dtype=int)
    largest = int(np.argmax(comparison.class_counts))
    right = [
        np.asarray(fold.predicted, dtype=int)[truth != largest] == truth[truth != largest]
        for fold in list_done(method)
        for truth in [labels[list(comparison.tests[fold.split])]]
        if len(fold.predicted) == len(truth)
    ]
    pooled = np.concatenate(right) if right else np.zeros(0)
    return float(pooled.mean()) if len(pooled) else None


def _describe_standing(name: str, ranking: Ranking | None, sign: int) -> dict[str, Any]:
    """A method among the others: its groups, and the test of the best against it."""
    if ranking is None or name not in ranking.methods:
        return {"ranked": False, "groups": [], "behind": None, "p": None, "differs": None}
    behind = [p for p in ranking.pairs if (p.first, p.second) == (ranking.methods[0], name)]
    pair = behind[0] if behind else None
    return {
        "ranked": True,
        "mean": sign * ranking.mean_scores[ranking.methods.index(name)],
        "groups": [i for i, group in enumerate(ranking.groups) if name in group],
        "behind": None if pair is None else finite_or_none(pair.difference),
        "p": None if pair is None else finite_or_none(pair.p_holm),
        "differs": None if pair is None else pair.differ,
    }


def _assign_places(rows: list[dict[str, Any]]) -> None:
    """1, 2, 2, 4, …: equal scores share a place."""
    for i, row in enumerate(rows):
        if row["ranked"]:
            same = i > 0 and wording.are_equal(rows[i - 1]["mean"], row["mean"])
            row["place"] = rows[i - 1]["place"] if same else i + 1


def _find_axis(rows: Sequence[dict[str, Any]], score: str) -> tuple[float, float]:
    """Ends of the bars of the leaderboard, wide enough for all methods with a place."""
    shown = [row for row in rows if row["ranked"]] or rows
    ends = [v for row in shown for v in (row["low"], row["mean"], row["high"]) if v is not None]
    if score in LOSS_SCORES:
        return 0.0, max(ends, default=0.0) or 1.0
    low = max(0.0, min(ends, default=0.0) - 0.02)
    return min(int(20 * low) / 20, 0.9), 1.0


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
