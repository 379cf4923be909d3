"""The result of a comparison in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from separatrix.files.text import format_columns


def summarize_comparison(comparison: Any, verdict: Mapping[str, Any]) -> dict[str, Any]:
    """The comparison in a few numbers for each method, best first, and in words.

    Methods that were not done on all splits come after those that were.
    """
    from separatrix.evaluate.records import to_plain
    from separatrix.evaluate.tables import order_methods

    methods = [
        {
            "name": method.name,
            "status": method.status,
            "reason": method.reason,
            "splits": method.n_done,
            **{score: to_plain(summary) for score, summary in method.summary.items()},
        }
        # the mean of fewer splits may be that of easy ones: it does not compete
        for method in order_methods(comparison)
    ]
    return {
        "rows": comparison.n_samples,
        "features": len(comparison.feature_names),
        "classes": [str(label) for label in comparison.classes],
        "settings": comparison.settings,
        "score": comparison.score,
        "best": comparison.best,
        "advised": comparison.advised,
        "winner": to_plain(comparison.winner),
        "by_rows": to_plain(comparison.by_rows),
        "permutation": to_plain(comparison.permutation),
        "verdict": verdict["brief"],
        "explanation": verdict["sentences"],
        "fit": verdict.get("fit", ""),
        "methods": methods,
        "left_out": comparison.left_out,
        "seconds": comparison.seconds,
    }


def format_leaderboard(record: Mapping[str, Any], *, explain: bool = False) -> str:
    """The summary as a table, and below it the verdict and the methods that failed."""
    first = record.get("score", "accuracy")
    second = "balanced_accuracy" if first == "accuracy" else "accuracy"
    rows = []
    for method in record["methods"]:
        if "accuracy" in method:
            a, b = method.get(first), method[second]
            shown = ["–", "–"]
            if a is not None:
                shown = [f"{a['mean']:.3f}", f"{a['low']:.3f} to {a['high']:.3f}"]
            part = "" if method["status"] == "done" else f"only {method['splits']} splits"
            rows.append([method["name"], *shown, f"{b['mean']:.3f}", part])
    heads = ["balanced" if s == "balanced_accuracy" else s for s in (first, second)]
    lines = [format_columns(["method", heads[0], "95 % interval", heads[1], ""], rows)]
    lines += ["", *record["explanation" if explain else "verdict"]]
    lines += [f"To get it: {record['fit']}"] if record["fit"] else []
    lines += [
        f"{m['name']} {m['status']}: {m['reason']}" for m in record["methods"] if m["reason"]
    ]
    lines += [f"The report is {record['report']}"] if "report" in record else []
    return "\n".join(lines)
