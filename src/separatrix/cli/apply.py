"""The commands that use a model: predict and transform."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.inputs import decides_early, read_model_and_rows
from separatrix.cli.options import (
    DATA_HELP,
    console_options,
    data_argument,
    data_options,
    model_argument,
    output_option,
)
from separatrix.cli.output import check_outputs, write_rows
from separatrix.files.reading import Reading

keep_option = click.option(
    "--keep", multiple=True, metavar="COL", help="Column to copy; may be repeated."
)

raw_option = click.option(
    "--raw", is_flag=True,
    help="Write text as it is, also what a spreadsheet would run (=, +, -, @).",
)  # fmt: skip


@click.command("predict", epilog=DATA_HELP)
@model_argument
@data_argument
@output_option("File for the predictions (csv, tsv, parquet, npz).  [default: print csv]")
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option("-v", "--verbose", is_flag=True,
              help="Add how probable the prediction is, and the features or words that "
              "decided.")  # fmt: skip
@keep_option
@raw_option
@data_options
@console_options
def predict_command(
    model: str,
    data: str,
    output: str | None,
    proba: bool,
    verbose: bool,
    keep: Sequence[str],
    raw: bool,
    as_json: bool,
    quiet: bool,
    reading: Reading,
) -> None:
    """Classify the rows of a table; columns are found by name, in any order.

    If the table has the labels, too, the share of correct predictions is printed.

    \b
    Examples:
      separatrix predict wine.model new.csv
      separatrix predict genes.model new.csv --keep sample --proba -o found.csv
      cut -d, -f1-14 all.csv | separatrix predict wine.model - > found.csv
      separatrix predict spam.model one.eml -v
    """
    console = Console(as_json, quiet)
    check_outputs([output], inputs=[model, data], tables=True)
    stored, table = read_model_and_rows(console, model, data, reading, keep)
    if not hasattr(stored.model, "predict"):
        raise ValueError(f"{model} projects and does not classify: use `separatrix transform`")
    if proba and not hasattr(stored.model, "predict_proba"):
        raise ValueError(f"{model} gives no probabilities: leave out --proba")
    predictions = _predict(stored.model, table.X)
    if proba:
        probabilities = stored.model.predict_proba(table.X)
        predictions |= {
            f"p({c})": probabilities[:, i] for i, c in enumerate(stored.model.classes_)
        }
        _note_overconfidence(console, stored)
    if verbose:
        predictions |= _give_reasons(console, stored.model, table.X)
    record = _summarize_predictions(console, stored.model, table, predictions)
    record |= _note_unlike_rows(console, stored, table.X)
    write_rows(console, table.kept, predictions, output, record, raw=raw)


def _give_reasons(console: Console, model: Any, X: Any) -> dict[str, Any]:
    """Columns with the probability of each prediction, and the features that decided."""
    from separatrix.evaluate.contents import list_reasons

    columns: dict[str, Any] = {}
    if hasattr(model, "predict_proba"):
        columns["probability"] = model.predict_proba(X).max(axis=1)
    reasons = None if decides_early(model) else list_reasons(model, X)
    if reasons is None:
        console.note("Which features decided is not known: the scores are not linear in them")
    else:
        columns["because"] = [_name_reasons(row) for row in reasons]
    return columns


def _name_reasons(reasons: Sequence[tuple[str, float]]) -> str:
    speak_for, against = (
        ", ".join(name for name, amount in reasons if sign * amount > 0) for sign in (1, -1)
    )
    return speak_for + (f"; against: {against}" if against else "")


def _predict(model: Any, X: Any) -> dict[str, Any]:
    """Columns of the result; models that decide early add whether and how reliably they do."""
    if not decides_early(model):
        return {"prediction": model.predict(X)}
    decisions = model.decide(X)
    return {
        "prediction": decisions.label,
        "decided": decisions.decided,
        "reliability": decisions.reliability,
    }


def _summarize_predictions(
    console: Console, model: Any, table: Any, predictions: dict[str, Any]
) -> dict[str, Any]:
    """Number of rows, share decided, and accuracy where labels are known; said in notes, too."""
    labels = predictions["prediction"]
    record: dict[str, Any] = {"rows": len(labels)}
    if "decided" in predictions:
        record["decided"] = float(predictions["decided"].mean())
        console.note(f"{100 * record['decided']:.2f} % of {len(labels)} rows are decided")
    if table.y is not None and hasattr(last := getattr(model, "steps", [[model]])[-1][-1], "sep"):
        record["accuracy"] = float((last.join_labels(table.y) == labels).mean())
        share = f"{100 * record['accuracy']:.2f} % of {len(labels)} rows"
        console.note(f"{share} have exactly the labels that are predicted")
    elif table.y is not None and not _knows_any(model, table.y):
        console.note(
            f"Labels are not compared: those of column {table.target!r}, such as "
            f"{str(table.y[0])!r}, are not among the model's classes, "
            f"{', '.join(map(str, model.classes_[:10]))}"
        )
    elif table.y is not None:
        record["accuracy"] = float((table.y == labels.astype(str)).mean())
        console.note(f"{100 * record['accuracy']:.2f} % of {len(labels)} labels are as predicted")
        _note_unseen_labels(console, model, table.y)
    return record


def _note_unseen_labels(console: Console, model: Any, labels: Any) -> None:
    """Name labels that the model never saw: their rows cannot be predicted correctly."""
    learned = {str(label) for label in getattr(model, "classes_", labels)}
    unseen = [str(label) for label in labels if str(label) not in learned]
    if unseen:
        names = ", ".join(repr(name) for name in sorted(set(unseen))[:5])
        console.note(
            f"{len(unseen)} of these have a label that the model never saw ({names}), and count "
            "as wrong"
        )


def _note_overconfidence(console: Console, stored: Any) -> None:
    """Say that probabilities are extreme where a model had fewer rows than features to learn."""
    n_rows = stored.notes.get("rows")
    n_features = getattr(stored.model, "n_features_in_", 0)
    if n_rows is not None and n_rows <= n_features and not decides_early(stored.model):
        console.note(
            f"The model learned {n_features} features from {n_rows} rows: its probabilities are "
            "likely too near to 0 and 1. `separatrix compare --report` shows by how much (How "
            "sure it is)"
        )


RARE_PVALUE = 0.001
"""Probability, for rows of the model's classes, below which a row may be called unlike them."""


def _note_unlike_rows(console: Console, stored: Any, X: Any) -> dict[str, Any]:
    """Count rows that are farther from all classes than any training row, and improbably far."""
    from separatrix.evaluate.contents import judge_novelty

    farthest = stored.notes.get("farthest", 0.0)
    early = decides_early(stored.model)
    novelty = None if early else judge_novelty(stored.model, X, beyond=farthest)
    if novelty is None:
        return {}
    unlike = [
        i + 1
        for i, (distance, p) in enumerate(zip(*novelty, strict=True))
        if distance > farthest and p < RARE_PVALUE
    ]
    if unlike:
        rows = ", ".join(map(str, unlike[:10])) + (" …" if len(unlike) > 10 else "")
        console.note(
            f"{len(unlike)} of {len(novelty.pvalues)} rows are unlike all rows that the model has "
            f"learned, and their predictions mean little: {'row' if len(unlike) == 1 else 'rows'} "
            f"{rows}"
        )
    return {"unlike": unlike}


def _knows_any(model: Any, labels: Iterable[str]) -> bool:
    """Whether any of the labels is a class of the model; True if it does not list its classes."""
    classes = getattr(model, "classes_", None)
    return classes is None or not {str(label) for label in classes}.isdisjoint(labels)


@click.command("transform", epilog=DATA_HELP)
@model_argument
@data_argument
@output_option("File for the coordinates (csv, tsv, parquet, npz).  [default: print csv]")
@keep_option
@raw_option
@data_options
@console_options
def transform_command(
    model: str,
    data: str,
    output: str | None,
    keep: Sequence[str],
    raw: bool,
    as_json: bool,
    quiet: bool,
    reading: Reading,
) -> None:
    """Project the rows of a table on the subspace of a model.

    \b
    Examples:
      separatrix transform wine.model wine --keep target -o plane.csv
      separatrix transform genes.model new.csv | head
    """
    console = Console(as_json, quiet)
    check_outputs([output], inputs=[model, data], tables=True)
    stored, table = read_model_and_rows(console, model, data, reading, keep)
    steps = stored.model
    if hasattr(steps, "steps") and not hasattr(steps[-1], "transform"):
        steps = steps[:-1]
    if not hasattr(steps, "transform"):
        raise ValueError(f"{model} classifies without a subspace: use `separatrix predict`")
    Z = steps.transform(table.X)
    named = steps[-1:] if hasattr(steps, "steps") else steps
    columns = dict(zip(named.get_feature_names_out(), Z.T, strict=True))
    record = {"rows": len(Z), "components": Z.shape[1]}
    write_rows(console, table.kept, columns, output, record, raw=raw)
