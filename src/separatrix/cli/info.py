"""The command that says what a model file holds."""

from __future__ import annotations

from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.error import note_expected_error
from separatrix.cli.inputs import read_model
from separatrix.cli.options import console_options, model_argument

MAX_CLASSES_SHOWN = 20

N_FEATURES, N_OF_EACH = 10, 3
"""Features that are listed of one direction, and of each of several."""


@click.command("info")
@model_argument
@click.option("--features", type=click.IntRange(0), metavar="N",
              help="Features to list of each direction, those of largest weight.  [default: "
              f"{N_OF_EACH}, {N_FEATURES} of a single direction]")  # fmt: skip
@click.option("--directions", type=click.IntRange(0), default=5, show_default=True, metavar="N",
              help="Directions whose features are listed.")  # fmt: skip
@console_options
def info_command(
    model: str, features: int | None, directions: int, as_json: bool, quiet: bool
) -> None:
    """Describe a model: its method, rows, classes, features, and how it was made.

    A weight is the change of the score by one standard deviation of a feature, in units of the
    largest; a correlation is that of the feature with the score. Weights also cancel
    disturbances; correlations do not. The importance of PartialLeastSquaresDiscriminant (VIP) is
    that in all directions together; it is 1 on average.

    \b
    Examples:
      separatrix info wine.model
      separatrix info spam.model --features 30 --json
    """
    from separatrix.evaluate.contents import describe_contents

    console = Console(as_json, quiet)
    stored = read_model(model)
    if not hasattr(stored.model, "fit"):
        raise ValueError(f"{model} holds statistics of rows, not a model")
    contents = describe_contents(stored.model)
    table = _list_features(contents, features, directions)
    record = {
        "model": model,
        **{k: v for k, v in contents._asdict().items() if k != "features"},
        "features": table,
        "notes": {
            k: len(v) if k in ("learned", "forgotten") else v
            for k, v in stored.notes.items()
            if k != "head"
        },
        "versions": stored.versions,
        "stores_rows": stored.stores_rows,
    }
    console.result(record, _describe(model, contents, table, stored))


def _list_features(
    contents: Any, n_features: int | None, n_directions: int
) -> list[dict[str, Any]]:
    """The features of largest weight in each direction, with weight, correlation, importance."""
    import numpy as np

    if contents.features is None:
        return []
    names, weights, correlations, importance = contents.features
    if n_features is None:
        n_features = N_FEATURES if len(weights) == 1 else N_OF_EACH
    listed = []
    for i, row in enumerate(weights[:n_directions]):
        for j in np.argsort(-np.abs(row), kind="stable")[:n_features]:
            feature = {"direction": i + 1, "name": names[j], "weight": float(row[j])}
            if correlations is not None:
                feature["correlation"] = float(correlations[i, j])
            if importance is not None:
                feature["importance"] = float(importance[j])
            listed.append(feature)
    return listed


def _describe(model: str, contents: Any, table: list[dict[str, Any]], stored: Any) -> str:
    from separatrix.files.text import format_columns

    notes = stored.notes
    lines = [f"{model}: {contents.method}"]
    if contents.steps != [f"{contents.method}()"]:
        lines += [f"  {step}" for step in contents.steps]
    rows = notes.get("rows")
    learned = "" if rows is None else f"{rows} rows, "
    target = f" of column {notes['target']!r}" if notes.get("target") else ""
    lines.append(
        f"Learned from {learned}{contents.n_features} features, "
        f"{len(contents.classes)} classes{target}"
    )
    if "data" in notes:
        lines.append(f"Data: {notes['data']}, {notes.get('fitted', '')}")
    counts = contents.counts or [None] * len(contents.classes)
    shown = [
        name if n is None else f"{name} ({n:g})"
        for name, n in zip(contents.classes, counts, strict=False)
    ]
    more = f" and {len(shown) - MAX_CLASSES_SHOWN} more" if len(shown) > MAX_CLASSES_SHOWN else ""
    lines.append(f"Classes: {', '.join(shown[:MAX_CLASSES_SHOWN])}{more}")
    chosen = {**contents.chosen, **(notes.get("chosen") or {})}
    if chosen:
        lines.append("Chosen: " + ", ".join(f"{k}={_short(v)}" for k, v in chosen.items()))
    if (expected := note_expected_error(stored.model)) is not None:
        lines.append(expected)
    lines.append(f"Training rows are in the file: {'yes' if stored.stores_rows else 'no'}")
    versions = ", ".join(f"{k} {v}" for k, v in stored.versions.items())
    lines.append(f"Written with {versions}")
    if contents.features is None:
        lines.append("Its directions are no weights of features")
    elif table:
        several = len(contents.features.weights) > 1
        heads = [head for head in table[0] if several or head != "direction"]
        lines += ["", format_columns(heads, _shown_rows(table, heads))]
        more = len(contents.features.weights) - table[-1]["direction"]
        lines += [f"and {more} more directions (--directions)"] if more else []
    return "\n".join(lines)


def _shown_rows(table: list[dict[str, Any]], heads: list[str]) -> list[list[str]]:
    """Cells as text; a direction is named in its first line alone."""
    rows, before = [], None
    for feature in table:
        shown = {k: v if isinstance(v, str) else f"{v:.3f}" for k, v in feature.items()}
        shown["direction"] = "" if feature["direction"] == before else str(feature["direction"])
        before = feature["direction"]
        rows.append([shown[head] for head in heads])
    return rows


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
