"""The command that says what a model file holds."""

from __future__ import annotations

from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.error import note_expected_error
from separatrix.cli.inputs import read_model
from separatrix.cli.options import console_options, model_argument

MAX_CLASSES_SHOWN = 20


@click.command("info")
@model_argument
@click.option("--features", type=click.IntRange(0), default=10, show_default=True, metavar="N",
              help="Features to list, those of largest weight.")  # fmt: skip
@console_options
def info_command(model: str, features: int, as_json: bool, quiet: bool) -> None:
    """Say what a model is: its method, rows, classes, features, and how it was made.

    A weight is what one standard deviation of a feature adds to the score, in units of the
    largest; a correlation is that of the feature with the score. Weights also cancel what
    disturbs; correlations show what goes along.

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
    found = describe_contents(stored.model)
    table = _list_features(found, features)
    record = {
        "model": model,
        **{k: v for k, v in found._asdict().items() if k != "features"},
        "features": table,
        "notes": {
            k: len(v) if k in ("learned", "forgotten") else v
            for k, v in stored.notes.items()
            if k != "head"
        },
        "versions": stored.versions,
        "stores_rows": stored.stores_rows,
    }
    console.result(record, _describe(model, found, table, stored))


def _list_features(found: Any, n_features: int) -> list[dict[str, Any]]:
    """The features of largest weight in any direction, with weights and correlations."""
    import numpy as np

    if found.features is None:
        return []
    names, weights, correlations = found.features
    order = np.argsort(-np.abs(weights).max(axis=0), kind="stable")[:n_features]
    return [
        {
            "name": names[j],
            "weights": weights[:, j].tolist(),
            "correlations": None if correlations is None else correlations[:, j].tolist(),
        }
        for j in order
    ]


def _describe(model: str, found: Any, table: list[dict[str, Any]], stored: Any) -> str:
    from separatrix.files.text import format_columns

    notes = stored.notes
    lines = [f"{model}: {found.method}"]
    if found.steps != [f"{found.method}()"]:
        lines += [f"  {step}" for step in found.steps]
    rows = notes.get("rows")
    learned = "" if rows is None else f"{rows} rows, "
    target = f" of column {notes['target']!r}" if notes.get("target") else ""
    lines.append(
        f"Learned from {learned}{found.n_features} features, {len(found.classes)} classes{target}"
    )
    if "data" in notes:
        lines.append(f"Data: {notes['data']}, {notes.get('fitted', '')}")
    counts = found.counts or [None] * len(found.classes)
    shown = [
        name if n is None else f"{name} ({n:g})"
        for name, n in zip(found.classes, counts, strict=False)
    ]
    more = f" and {len(shown) - MAX_CLASSES_SHOWN} more" if len(shown) > MAX_CLASSES_SHOWN else ""
    lines.append(f"Classes: {', '.join(shown[:MAX_CLASSES_SHOWN])}{more}")
    chosen = {**found.chosen, **(notes.get("chosen") or {})}
    if chosen:
        lines.append("Chosen: " + ", ".join(f"{k}={_short(v)}" for k, v in chosen.items()))
    if (expected := note_expected_error(stored.model)) is not None:
        lines.append(expected)
    lines.append(f"Training rows are in the file: {'yes' if stored.stores_rows else 'no'}")
    versions = ", ".join(f"{k} {v}" for k, v in stored.versions.items())
    lines.append(f"Written with {versions}")
    if table:
        n = len(table[0]["weights"])
        heads = [f"weight {i + 1}" for i in range(n)] if n > 1 else ["weight"]
        if table[0]["correlations"] is not None:
            heads += [h.replace("weight", "correlation") for h in heads]
        cells = [
            [f["name"], *(f"{v:.3f}" for v in (*f["weights"], *(f["correlations"] or ())))]
            for f in table
        ]
        lines += ["", format_columns(["feature", *heads], cells)]
    else:
        lines.append("Its directions are no weights of features")
    return "\n".join(lines)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
