"""The command for series that are to be decided on before they end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.models import (
    DATA_HELP,
    data_argument,
    estimator_of,
    labelled_table,
    method_option,
    output_option,
    set_option,
)
from separatrix.cli.options import reading, seed, talking, target
from separatrix.cli.output import check_outputs, frame_of, write_frame


@click.command(epilog=DATA_HELP)
@data_argument
@target
@click.option("--test", "test", type=click.Path(), help="Rows to decide on.  [default: held out]")
@click.option("--test-size", type=click.FloatRange(0, 1, min_open=True, max_open=True),
              default=0.3, show_default=True, help="Share held out without --test.")  # fmt: skip
@method_option
@set_option
@click.option("--reliability", type=click.FloatRange(0, 1), default=0.9, show_default=True)
@click.option("--region", type=click.Choice(["ellipsoid", "box", "chebyshev", "ideal"]),
              default="ellipsoid", show_default=True)  # fmt: skip
@click.option("--conditional", type=click.Choice(["gaussian", "mixture"]), default="gaussian",
              show_default=True)  # fmt: skip
@output_option("File for the decisions (csv, tsv, parquet, npz).")
@click.option("--model", "model_file", type=click.Path(dir_okay=False),
              help="Keep the model, learned from all rows of DATA.")  # fmt: skip
@reading
@seed
@talking
def early(
    data: str,
    test: str | None,
    test_size: float,
    method: str,
    settings: Sequence[str],
    reliability: float,
    region: str,
    conditional: str,
    output: str | None,
    model_file: str | None,
    seed: int,
    as_json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Decide on series before they end: how early, and how often rightly.

    Columns are the values of a series in the order of time. A decision is made as soon as it would
    be the same for the complete series with the reliability asked for.

    A model that is kept decides on new rows by `separatrix predict`, also on those of which values
    are missing or still to come.

    \b
    Examples:
      separatrix early gestures.csv -t kind
      separatrix early train.tsv --test test.tsv --reliability 0.95 -o decisions.csv
      separatrix early gestures.csv -t kind --model gestures.model
      separatrix predict gestures.model so-far.csv
    """
    from sklearn.model_selection import train_test_split

    from separatrix.early.classifier import EarlyClassifier
    from separatrix.io.tables import check_features

    talk = Console(as_json, quiet)
    check_outputs([output, model_file], inputs=[data, test], tables=True)
    rule = estimator_of(method, settings, seed)
    table = labelled_table(talk, data, how)
    check_features(table.X, remedies=remedies())
    if test is None:
        refuse_lonely_rows(table)
        X, X_new, y, y_new = train_test_split(
            table.X, table.y, test_size=test_size, random_state=seed, stratify=table.y
        )
    else:
        X, y = table.X, table.y
        X_new, y_new = tested_rows(talk, test, table, how)
    model = EarlyClassifier(rule, reliability=reliability, region=region, conditional=conditional)
    try:
        model.fit(X, y)
    except TypeError as error:  # a method that EarlyClassifier cannot use
        raise ValueError(str(error)) from None
    found = model.decide_early(X_new)
    record = summary_of(found, model.predict(X_new), y_new, X.shape[1])
    if output is not None:
        decisions = {
            "label": found.label,
            "decided": found.decided,
            "reliability": found.reliability,
            "time": found.time,
        }
        write_frame(frame_of(None, decisions), output)
    if model_file is not None:
        keep(model.fit(table.X, table.y), model_file, table, method)
        record["model"] = model_file
    talk.result(record, in_words(record))


def refuse_lonely_rows(table: Any) -> None:
    """Raise when a class has too few rows to hold one out."""
    counts = Counter(table.y.tolist())
    label, rows = counts.most_common()[-1]
    if rows < 2:
        raise ValueError(
            f"class {label!r} has 1 row, and none can be held out: leave it out, or give rows to "
            "decide on (--test)"
        )


def remedies() -> Any:
    """What to do about rows that cannot be decided on value by value."""
    from separatrix.io.tables import Remedies

    return Remedies(
        "Leave them out (--ignore)",
        "Leave out these rows: series are learned, and decided on, from their first value on. A "
        "model that is kept (--model) takes gaps in `separatrix predict`",
    )


def tested_rows(talk: Console, test: str, table: Any, how: Mapping[str, Any]) -> tuple[Any, Any]:
    """The columns that are known, by name, and the labels if there are any."""
    from separatrix.io.tables import check_features, read_table, same_features

    how = {name: how[name] for name in ("ignore", "form", "sep", "header")}
    new = read_table(test, target=table.target, labelled=None, **how)
    X = same_features(new.X, table.X.columns)
    check_features(X, remedies=remedies())
    if new.unlabelled:
        talk.note(f"Labels are not compared: {new.unlabelled}")
    return X, new.y


def summary_of(found: Any, complete: Any, truth: Any, n_values: int) -> dict[str, Any]:
    """How early decisions are, and how often right."""
    record = {
        "rows": len(complete),
        "decided": float(found.decided.mean()),
        "values_used": float((found.time / n_values).mean()),
        "agreement": float((complete == found.label).mean()),
    }
    if truth is not None:
        record["accuracy"] = float((found.label == truth).mean())
        record["accuracy_of_complete_rows"] = float((complete == truth).mean())
    return record


def in_words(record: Mapping[str, Any]) -> str:
    """The same for people."""
    used = f"from {100 * record['values_used']:.0f} % of their values on average"
    if "accuracy" in record:
        text = (
            f"{record['accuracy']:.3f} of {record['rows']} series are decided rightly {used}; "
            f"{record['accuracy_of_complete_rows']:.3f} are when complete"
        )
    else:
        text = (
            f"{record['agreement']:.3f} of {record['rows']} series are decided {used} as they are "
            "when complete"
        )
    kept = f"The model of all rows is {record['model']}" if "model" in record else ""
    return f"{text}\n{kept}".rstrip()


def keep(model: Any, path: str, table: Any, method: str) -> None:
    """Write a model that decides on incomplete rows."""
    from separatrix.io.models import save

    notes = {"target": table.target, "words": [], "method": method, "rows": len(table.y)}
    save(model, path, notes=notes)
