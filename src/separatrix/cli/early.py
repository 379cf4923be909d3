"""The command that decides on series before they end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

import click

from separatrix.cli.console import Console
from separatrix.cli.inputs import read_labelled_table
from separatrix.cli.methods import build_estimator
from separatrix.cli.options import (
    DATA_HELP,
    console_options,
    data_argument,
    data_options,
    method_option,
    output_option,
    seed_option,
    set_option,
    test_size_option,
)
from separatrix.cli.output import build_frame, check_outputs, write_frame
from separatrix.files.reading import Reading


@click.command("early", epilog=DATA_HELP)
@data_argument
@click.option("--test", "test", type=click.Path(), help="Rows to decide on.  [default: held out]")
@test_size_option
@method_option
@set_option
@click.option("--reliability", type=click.FloatRange(0, 1), default=0.9, show_default=True,
              help="Probability of the same decision on the complete series.")  # fmt: skip
@click.option("--reducer", help="Method that finds few directions before the rule decides.")
@click.option("--features", type=click.Choice(["convolutions"]),
              help="Use features of the values so far instead of the values.")  # fmt: skip
@click.option("--judge", type=click.Choice(["auto", "model", "sampled", "prefix"]),
              default="auto", show_default=True, help="How reliability is estimated.")  # fmt: skip
@click.option("--calibrate", type=click.FloatRange(0, 1, min_open=True, max_open=True),
              help="Share of the rows held out for a promise without assumptions.")  # fmt: skip
@click.option("--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True),
              default=0.95, show_default=True,
              help="Confidence of that promise.")  # fmt: skip
@click.option("--channels", type=click.IntRange(1), default=1, show_default=True,
              help="Number of neighbouring columns that arrive together.")  # fmt: skip
@click.option("--series", metavar="COL",
              help="Column that names the series, if each line is one time.")  # fmt: skip
@click.option("--at", metavar="COL", help="Column of the time of a line, with --series.")
@click.option("--group", metavar="COL",
              help="Column of subjects: rows of one are held out together.")  # fmt: skip
@click.option("--report", type=click.Path(dir_okay=False),
              help="Page of the decisions on test rows, and why they were made.")  # fmt: skip
@output_option("File for the decisions (csv, tsv, parquet, npz).")
@click.option("--model", "model_file", type=click.Path(dir_okay=False),
              help="Keep the model, learned from all rows of DATA.")  # fmt: skip
@data_options
@seed_option
@console_options
def early_command(
    data: str,
    test: str | None,
    test_size: float,
    method: str | None,
    settings: Sequence[str],
    reliability: float,
    reducer: str | None,
    features: str | None,
    judge: str,
    calibrate: float | None,
    confidence: float,
    channels: int,
    series: str | None,
    at: str | None,
    group: str | None,
    report: str | None,
    output: str | None,
    model_file: str | None,
    seed: int,
    as_json: bool,
    quiet: bool,
    reading: Reading,
) -> None:
    """Decide on series before they end: how early, and how often correctly.

    Columns are the values of a series in the order of time. A decision is made as soon as it would
    be the same for the complete series with the reliability asked for. With --calibrate that is
    promised for any data and any method, as long as new series are like those of DATA.

    With the file of --model, `separatrix predict` decides on new rows, also where values are
    missing or still to come.

    \b
    Examples:
      separatrix early gestures.csv -t kind
      separatrix early train.tsv --test test.tsv --reliability 0.95 -o decisions.csv
      separatrix early gestures.csv -t kind --calibrate 0.3 --channels 8 --report early.html
      separatrix early visits.csv -t outcome --series patient --at day --calibrate 0.3
      separatrix early gestures.csv -t kind --model gestures.model
      separatrix predict gestures.model so-far.csv
    """
    from separatrix.early import EarlyClassifier, Promise
    from separatrix.features import RandomConvolutions

    console = Console(as_json, quiet)
    check_outputs([output, model_file, report], inputs=[data, test], tables=True)
    method = "FisherDiscriminant" if method is None else method
    rule = build_estimator(method, settings, seed)
    before = None if reducer is None else build_estimator(reducer, (), seed)
    if (series is None) != (at is None):
        raise ValueError("--series and --at go together: the series of a line, and its time")
    layout = Layout(series, at, group)
    table, groups = _read_series(console, data, reading, layout)
    all_groups = groups
    if test is None:
        X, X_new, y, y_new, groups = _split_rows(table, groups, test_size, seed)
    else:
        X, y = table.X, table.y
        X_new, y_new = _read_test_rows(console, test, table, reading, layout)
    model = EarlyClassifier(
        rule,
        reliability=reliability,
        judge=judge,
        calibration=None if calibrate is None else Promise(calibrate, confidence=confidence),
        reducer=before,
        n_channels=channels,
        features=RandomConvolutions(random_state=seed) if features else None,
    )
    try:
        model.fit(X, y, groups=groups)
    except TypeError as error:  # a method that EarlyClassifier cannot use
        raise ValueError(str(error)) from None
    if model.channels_ is not None:
        console.note(f"Columns are channels by their names: {', '.join(model.channels_)}")
    decisions = model.decide_early(X_new)
    record = _summarize_decisions(decisions, model.predict(X_new), y_new, X.shape[1])
    if calibrate is not None:
        record |= _summarize_promise(model)
    if report is not None:
        _write_report(model, X_new, y_new, data, report)
        record["report"] = report
    if output is not None:
        names = ("label", "decided", "reliability", "score", "time")
        write_frame(build_frame(None, {name: getattr(decisions, name) for name in names}), output)
    if model_file is not None:
        _save(model.fit(table.X, table.y, groups=all_groups), model_file, table, method, data)
        record["model"] = model_file
    console.result(record, _describe(record))


class Layout(NamedTuple):
    """Columns that say how lines are series: of the series, its time, and its group."""

    series: str | None
    at: str | None
    group: str | None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are no values."""
        return tuple(name for name in self if name is not None)


def _read_series(console: Console, data: str, reading: Any, layout: Layout) -> tuple[Any, Any]:
    """A table with a row for each series, and their groups or None."""
    reading = replace(reading, ignore=(*reading.ignore, *layout.columns))
    table = read_labelled_table(console, data, reading, layout.columns)
    groups = None if layout.group is None else table.kept[layout.group].to_numpy()
    if layout.series is None:
        _check_values(table.X)
        return table, groups
    X, y, groups = _gather_lines(table, table.y, layout)
    _check_values(X)
    return table._replace(X=X, y=y), groups


def _gather_lines(table: Any, y: Any, layout: Layout) -> Any:
    """One row for each series of a table with a line for each time."""
    from separatrix.early import from_long

    assert layout.series is not None
    assert layout.at is not None
    lines = table.X.assign(**{name: table.kept[name] for name in layout.columns})
    target = None
    if y is not None:
        target = table.target if table.target not in lines else f"{table.target} "
        lines[target] = y
    return from_long(lines, series=layout.series, at=layout.at, target=target, group=layout.group)


def _check_values(X: Any) -> None:
    """Raise for columns that are no numbers; gaps are learned from."""
    from separatrix.files.columns import Remedies, check_features

    remedies = Remedies("Leave them out (--ignore)", "")
    check_features(X, missing="mean", remedies=remedies)


def _split_rows(table: Any, groups: Any, test_size: float, seed: int) -> Any:
    """Training rows, held-out rows, their labels, and groups of training rows."""
    from sklearn.model_selection import StratifiedGroupKFold, train_test_split

    label, n_rows = Counter(table.y.tolist()).most_common()[-1]
    if n_rows < 2:
        raise ValueError(
            f"class {label!r} has 1 row, and none can be held out: leave it out, or give rows to "
            "decide on (--test)"
        )
    if groups is None:
        parts = train_test_split(
            table.X, table.y, test_size=test_size, random_state=seed, stratify=table.y
        )
        return (*parts, None)
    n_folds = max(2, round(1 / test_size))
    folds = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    fit, held = next(folds.split(table.X, table.y, groups))
    X, y = table.X, table.y
    return X.iloc[fit], X.iloc[held], y[fit], y[held], groups[fit]


def _read_test_rows(
    console: Console, test: str, table: Any, reading: Any, layout: Layout
) -> tuple[Any, Any]:
    """The columns of the training table, by name, and the labels if there are any."""
    from separatrix.files.tables import read_table, same_features

    ignored = (*reading.ignore, *layout.columns)
    reading = replace(reading, target=table.target, ignore=ignored, labelled=None, labels=None)
    keep = tuple(name for name in (layout.series, layout.at) if name is not None)
    new = read_table(test, reading, keep=keep)
    X, y = new.X, new.y
    if layout.series is not None:
        X, y, _ = _gather_lines(new, y, layout._replace(group=None))
        X = X.reindex(columns=table.X.columns)  # shorter series, which may not have all times
    X = same_features(X, table.X.columns)
    _check_values(X)
    if new.unlabelled:
        console.note(f"Labels are not compared: {new.unlabelled}")
    return X, y


def _summarize_decisions(
    decisions: Any, complete: Any, truth: Any, n_values: int
) -> dict[str, Any]:
    """How early decisions are, and how often right; `complete` are those on complete rows."""
    record = {
        "rows": len(complete),
        "decided": float(decisions.decided.mean()),
        "values_used": float((decisions.n_observed / n_values).mean()),
        "agreement": float((complete == decisions.label).mean()),
    }
    if truth is not None:
        record["accuracy"] = float((decisions.label == truth).mean())
        record["accuracy_of_complete_rows"] = float((complete == truth).mean())
    return record


def _summarize_promise(model: Any) -> dict[str, Any]:
    """What is promised of new series, and what each class keeps on the calibration rows."""
    pairs = zip(model.classes_.tolist(), model.class_promises_, strict=False)
    return {
        "calibration_rows": model.n_calibration_rows_,
        "guarantee": model.guarantee_,
        "confidence": model.calibration.confidence,
        "no_promise": model.no_promise_,
        "kept_in_class": {str(label): c.kept if c.n_complete else None for label, c in pairs},
    }


def _describe(record: Mapping[str, Any]) -> str:
    used = f"after {100 * record['values_used']:.0f} % of their values on average"
    if "accuracy" in record:
        text = (
            f"{record['rows']} series: {100 * record['accuracy']:.0f} % decided correctly, "
            f"{used}; {100 * record['accuracy_of_complete_rows']:.0f} % when complete"
        )
    else:
        text = (
            f"{record['rows']} series: {100 * record['agreement']:.0f} % decided as when "
            f"complete, {used}"
        )
    if record.get("no_promise"):
        text += f"\nNothing is promised before the end: {record['no_promise']}"
    elif "guarantee" in record:
        sure = f"with confidence {record['confidence']:g}"
        how = sure if record["guarantee"] == "probability" else "on average"
        text += f"\n{record['calibration_rows']} rows that were not learned keep the promise {how}"
    if "report" in record:
        text += f"\nThe page is {record['report']}"
    kept = f"The model of all rows is {record['model']}" if "model" in record else ""
    return f"{text}\n{kept}".rstrip()


def _write_report(model: Any, X: Any, y: Any, data: str, path: str) -> None:
    from pathlib import Path

    from separatrix.report.early import early_facts, render_early

    whole = ~X.isna().any(axis=1).to_numpy()  # nobody knows how others are decided at their end
    rows, labels = X[whole], None if y is None else y[whole]
    page = render_early(early_facts(model, rows, labels, Path(data).name))
    Path(path).write_text(page, encoding="utf-8")


def _save(model: Any, path: str, table: Any, method: str, data: str) -> None:
    from separatrix.files.model import save

    notes = {"target": table.target, "words": [], "method": method, "rows": len(table.y)}
    notes |= {"data": data, "fitted": datetime.now(UTC).isoformat(timespec="seconds")}
    save(model, path, notes=notes)
