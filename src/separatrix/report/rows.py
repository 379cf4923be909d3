"""Facts about rows: values of features, degrees of two classes, and the rows of each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.evaluate.records import Comparison, MethodRecord
from separatrix.linalg import Array
from separatrix.report import wording
from separatrix.report.pictures import list_done

MAX_CELLS = 10_000
"""Values of features that the page holds, 65 kB: a page is to stay below 600 kB."""

MAX_VALUE_FEATURES = 40
"""Features whose values the page holds: those with the largest weights."""

MAX_DEGREES = 1500
"""Rows of all splits whose degrees the page holds for a method."""

MAX_GROUPS = 200
"""Groups that are listed; those with the lowest share right come first."""


def describe_values(
    comparison: Comparison, rows: Sequence[int], wanted: Sequence[str]
) -> dict[str, Any]:
    """Values of the features that matter most, of the rows that are drawn; ranges and medians.

    Parameters
    ----------
    comparison : Comparison
        As `compare` returns it; records from a file hold no rows, and then nothing is described.
    rows : sequence of int
        Numbers of the rows that are drawn.
    wanted : sequence of str
        Features in the order in which they matter.
    """
    names = ("features", "columns", "low", "middle", "high")
    nothing: dict[str, Any] = {name: [] for name in names}
    if comparison.protocol is None or not len(rows):
        return nothing
    X, features = comparison.protocol.data.X, list(comparison.feature_names)
    place = {name: j for j, name in enumerate(features)}
    most = min(MAX_VALUE_FEATURES, MAX_CELLS // len(rows))
    chosen = [place[name] for name in wanted if name in place]
    chosen = list(dict.fromkeys([*chosen, *range(min(len(features), most))]))[:most]
    known = X[:, chosen].toarray() if sp.issparse(X) else np.asarray(X[:, chosen], dtype=float)
    shown = known[np.asarray(rows, dtype=int)]
    return {
        "features": [wording.shorten(features[j]) for j in chosen],
        "columns": [_round_values(column) for column in shown.T],
        "low": _round_values(np.nanmin(known, axis=0)),
        "middle": _round_values(np.nanmedian(known, axis=0)),
        "high": _round_values(np.nanmax(known, axis=0)),
    }


def _round_values(values: Array) -> list[float | None]:
    """Values with four digits; None where there is none."""
    return [float(f"{v:.4g}") if np.isfinite(v) else None for v in values.tolist()]


def describe_degrees_of_two(
    methods: Sequence[MethodRecord], comparison: Comparison, wanted: Sequence[str]
) -> dict[str, Any]:
    """Of two classes: how much speaks for the second, for held-out rows of all splits."""
    labels = np.asarray(comparison.labels, dtype=int)
    entries = []
    for method in methods if len(comparison.classes) == 2 else ():
        folds = [fold for fold in list_done(method) if fold.degrees]
        if method.name not in wanted or not folds:
            continue
        degrees = np.concatenate([fold.degrees for fold in folds])
        truth = np.concatenate([labels[list(comparison.tests[fold.split])] for fold in folds])
        kept = np.linspace(0, len(truth) - 1, min(len(truth), MAX_DEGREES)).round().astype(int)
        probable = bool((degrees >= 0).all() and (degrees <= 1).all())
        entries.append(
            {
                "name": method.name,
                "degrees": _round_values(degrees[kept]),
                "truth": truth[kept].tolist(),
                "start": 0.5 if probable else 0.0,
                "probability": probable,
            }
        )
    return {"methods": entries, "costs": comparison.settings.get("costs")}


def describe_groups(comparison: Comparison, method: MethodRecord | None) -> dict[str, Any]:
    """The share of the held-out rows of each group that a method classifies correctly."""
    if method is None or not comparison.groups:
        return {"method": "", "groups": [], "more": 0}
    labels, groups = np.asarray(comparison.labels), np.asarray(comparison.groups)
    tested, right = np.zeros(len(comparison.group_names)), np.zeros(len(comparison.group_names))
    for fold in list_done(method):
        rows = list(comparison.tests[fold.split])
        np.add.at(tested, groups[rows], 1)
        np.add.at(right, groups[rows], labels[rows] == np.asarray(fold.predicted))
    seen = np.flatnonzero(tested)
    order = seen[np.argsort(right[seen] / tested[seen], kind="stable")]
    listed = [
        {
            "name": wording.shorten(comparison.group_names[g]),
            "tested": int(tested[g]),
            "right": int(right[g]),
        }
        for g in order[:MAX_GROUPS]
    ]
    return {"method": method.name, "groups": listed, "more": max(0, len(order) - MAX_GROUPS)}
