"""A comparison as a table: in a terminal, in a notebook, as a data frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.evaluate.advice import measure_complexity, measure_seconds
from separatrix.evaluate.records import Comparison, MethodRecord
from separatrix.files.text import align_cells

MAX_PRINTED = 40
"""Methods that a table of text has, at most."""


def make_frame(comparison: Comparison) -> Any:
    """A pandas data frame with a row for each method, best first.

    Columns are ``status``, ``splits`` (those that were done), the mean of each score, the ends of
    its 95 % interval as ``<score>_low`` and ``<score>_high``, ``directions`` (the median over
    splits) and ``seconds`` (median time to train and to predict the test rows).
    """
    import pandas as pd

    methods = order_methods(comparison)
    return pd.DataFrame(
        [_describe_numbers(method) for method in methods],
        index=pd.Index([method.name for method in methods], name="method"),
    )


def order_methods(comparison: Comparison) -> list[MethodRecord]:
    """Methods from the best mean score on, of equals the simplest first.

    Those that lack splits come after the others.
    """
    score = comparison.settings.get("score", "accuracy")
    sign = 1.0 if score in ("log_loss", "brier", "cost") else -1.0

    def rank(method: MethodRecord) -> tuple[Any, ...]:
        summary = method.summary.get(score)
        mean = np.inf if summary is None or not np.isfinite(summary.mean) else sign * summary.mean
        status = ("done", "partial", "failed").index(method.status)
        return status, round(mean, 12), measure_complexity(method)

    return sorted(comparison.methods, key=rank)


def _describe_numbers(method: MethodRecord) -> dict[str, Any]:
    numbers: dict[str, Any] = {"status": method.status, "splits": method.n_done}
    for score, summary in method.summary.items():
        numbers |= {
            score: summary.mean,
            f"{score}_low": summary.low,
            f"{score}_high": summary.high,
        }
    kept = [fold.n_components for fold in method.folds if fold.n_components is not None]
    numbers["directions"] = float(np.median(kept)) if kept else np.nan
    seconds = measure_seconds(method)
    return numbers | {"seconds": seconds if np.isfinite(seconds) else np.nan}


def write_text(comparison: Comparison) -> str:
    """The comparison in a line for each method, best first."""
    score = comparison.settings.get("score", "accuracy")
    methods = order_methods(comparison)
    rows = [["method", score.replace("_", " "), "95 % interval", "splits", "seconds", ""]]
    for method in methods[:MAX_PRINTED]:
        summary = method.summary.get(score)
        value = "–" if summary is None else f"{summary.mean:.3f}"
        ends = "–" if summary is None else f"{summary.low:.3f} to {summary.high:.3f}"
        seconds = measure_seconds(method)
        time = f"{seconds:.3g}" if np.isfinite(seconds) else "–"
        marks = {comparison.best: "best mean", comparison.advised: "advised"}
        if comparison.best == comparison.advised:
            marks[comparison.best] = "best mean, advised"
        rows.append(
            [method.name, value, ends, str(method.n_done), time, marks.get(method.name, "")]
        )
    more = len(methods) - MAX_PRINTED
    noun = "method" if len(methods) == 1 else "methods"
    return "\n".join(
        [
            f"{len(methods)} {noun} on {comparison.n_samples} rows, "
            f"{len(comparison.feature_names)} features, {len(comparison.classes)} classes, "
            f"{len(comparison.tests)} splits",
            *align_cells(rows),
            *([f"and {more} more: table() has all"] if more > 0 else []),
        ]
    )
