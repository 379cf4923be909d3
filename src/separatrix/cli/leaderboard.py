"""The result of a comparison in the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from separatrix.io.text import format_columns


def summarize_comparison(comparison: Any, verdict: Mapping[str, Any]) -> dict[str, Any]:
    """The comparison in a few numbers for each method, best first, and in words.

    Methods that were not done on all splits come after those that were.
    """
    from separatrix.evaluate.records import to_plain

    methods = [
        {
            "name": method.name,
            "status": method.status,
            "reason": method.reason,
            "splits": method.n_done,
            **{score: to_plain(summary) for score, summary in method.summary.items()},
        }
        for method in comparison.methods
    ]
    # the mean of fewer splits may be that of easy ones: it does not compete
    means = {m["name"]: m.get("accuracy", {}).get("mean") for m in methods}
    methods.sort(key=lambda m: (m["status"] != "done", -(means[m["name"]] or 0.0)))
    return {
        "rows": comparison.n_samples,
        "features": len(comparison.feature_names),
        "classes": [str(label) for label in comparison.classes],
        "settings": comparison.settings,
        "verdict": verdict["sentences"],
        "fit": verdict.get("fit", ""),
        "methods": methods,
        "left_out": comparison.left_out,
        "seconds": comparison.seconds,
    }


def format_leaderboard(record: Mapping[str, Any]) -> str:
    """The summary as a table, and below it the verdict and the methods that failed."""
    rows = []
    for method in record["methods"]:
        if "accuracy" in method:
            a, b = method["accuracy"], method["balanced_accuracy"]
            interval = f"{a['low']:.3f} to {a['high']:.3f}"
            part = "" if method["status"] == "done" else f"only {method['splits']} splits"
            rows.append([method["name"], f"{a['mean']:.3f}", interval, f"{b['mean']:.3f}", part])
    lines = [format_columns(["method", "accuracy", "95 % interval", "balanced", ""], rows)]
    lines += ["", *record["verdict"]]
    lines += [f"To get it: {record['fit']}"] if record["fit"] else []
    lines += [
        f"{m['name']} {m['status']}: {m['reason']}" for m in record["methods"] if m["reason"]
    ]
    lines += [f"The report is {record['report']}"] if "report" in record else []
    return "\n".join(lines)
