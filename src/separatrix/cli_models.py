"""Commands that make models, use them and merge them, and what all commands share."""

from __future__ import annotations

import ast
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from separatrix import cli_dask, console
from separatrix.console import Console, preparing, reading, seed, talking, target

DATA_HELP = """DATA is a file (csv, tsv, parquet, npz, arff; csv and tsv also as .gz), the name of
a bundled data set (see `separatrix datasets`), or - for standard input."""


def method_names() -> list[str]:
    """Every method that can be named."""
    from separatrix.contenders import package_methods, reference_methods

    return [method.name for method in (*package_methods(), *reference_methods())]


def bundled_names() -> list[str]:
    """Every data set that comes along."""
    from separatrix.datasets import BUNDLED

    return sorted(BUNDLED)


def complete_data(ctx: Any, param: Any, incomplete: str) -> list[Any]:
    """Bundled names, and files."""
    from click.shell_completion import CompletionItem

    names = [name for name in bundled_names() if name.startswith(incomplete)]
    return [*names, CompletionItem(incomplete, type="file")]


data_argument = click.argument("data", shell_complete=complete_data)
model_argument = click.argument("model", type=click.Path())
method_option = click.option(
    "-m",
    "--method",
    default="FisherDiscriminant",
    show_default=True,
    metavar="NAME",
    shell_complete=console.names_completed(method_names),
    help="Class name of the method; `separatrix methods` lists them.",
)
set_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Parameter of the method, such as n_components=2; may be repeated.",
)


def output_option(what: str, *, required: bool = False) -> Any:
    """`-o`."""
    kind = click.Path(dir_okay=False)
    return click.option("-o", "--output", type=kind, required=required, help=what)


# Models --------------------------------------------------------------------------------------


@click.command(epilog=DATA_HELP)
@data_argument
@target
@method_option
@set_option
@click.option(
    "--decision",
    type=click.Choice(["own", "3nn", "centroid", "gaussian"]),
    default="own",
    show_default=True,
    help="What classifies in the subspace; 3nn for methods that do not.",
)
@output_option("File for the model.", required=True)
@cli_dask.engine
@reading
@preparing
@seed
@talking
def fit(
    data: str,
    method: str,
    settings: Sequence[str],
    decision: str,
    output: str,
    engine: str,
    seed: int,
    as_json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Learn a subspace from a labelled table and keep it in a file, with all that comes before it.

    \b
    Examples:
      separatrix fit wine -o wine.model
      separatrix fit genes.csv -t kind --id sample -m LDG --set n_components=2 -o genes.model
      separatrix fit site1.csv --no-scale -o site1.model    # can be merged
      separatrix fit days/ --engine dask -t kind -o days.model    # larger than memory
    """
    from separatrix.persist import save
    from separatrix.tables import preprocessing, text_columns

    talk = Console(as_json, quiet)
    refuse_unwritable(output, data)
    estimator = estimator_of(method, settings, seed)
    if engine == "dask":
        model, target, rows = cli_dask.fitted(talk, data, estimator, decision, how)
        features, words = model.n_features_in_, []
        classes = estimator.classes_.tolist()
    else:
        table = labelled_table(talk, data, how)
        prepare = preprocessing(
            table.X, scale=how["scale"], categorical=how["categorical"], missing=how["missing"]
        )
        model = assembled(prepare, estimator, decision, len(table.y)).fit(table.X, table.y)
        (rows, features), target = table.X.shape, table.target
        words, classes = text_columns(table.X), sorted(set(table.y.tolist()))
    notes = {
        "target": target,
        "words": words,
        "missing": how["missing"],
        "method": method,
        "rows": rows,
    }
    save(model, output, notes=notes)
    record = {"model": output, "method": method, "rows": rows, "features": features}
    talk.done(
        {**record, "classes": classes},
        f"{method} learned {rows} rows, {features} features, {len(classes)} classes: {output}",
    )


@click.command(epilog=DATA_HELP)
@model_argument
@data_argument
@output_option("File for the predictions (csv, tsv, parquet, npz).  [default: print csv]")
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option("--keep", multiple=True, metavar="COL", help="Column to copy; may be repeated.")
@reading
@talking
def predict(
    model: str,
    data: str,
    output: str | None,
    proba: bool,
    keep: Sequence[str],
    as_json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Classify the rows of a table; columns are found by name, in any order.

    Where the table has the labels, too, the share that is right is told.

    \b
    Examples:
      separatrix predict wine.model new.csv
      separatrix predict genes.model new.csv --keep sample --proba -o found.csv
      cut -d, -f1-14 all.csv | separatrix predict wine.model - > found.csv
    """
    talk = Console(as_json, quiet)
    refuse_unwritable(output, data, model)
    stored, table = model_and_rows(talk, model, data, keep, how)
    if not hasattr(stored.model, "predict"):
        raise ValueError(f"{model} projects and does not classify: use `separatrix transform`")
    labels = stored.model.predict(table.X)
    found = {"prediction": labels}
    if proba:
        if not hasattr(stored.model, "predict_proba"):
            raise ValueError(f"{model} gives no probabilities: leave out --proba")
        shares = stored.model.predict_proba(table.X)
        found |= {f"p({c})": shares[:, i] for i, c in enumerate(stored.model.classes_)}
    record: dict[str, Any] = {"rows": len(labels)}
    if table.y is not None:
        record["accuracy"] = float((table.y == labels.astype(str)).mean())
        talk.note(f"{100 * record['accuracy']:.2f} % of {len(labels)} labels are as predicted")
    write_rows(talk, table.kept, found, output, record)


@click.command(epilog=DATA_HELP)
@model_argument
@data_argument
@output_option("File for the coordinates (csv, tsv, parquet, npz).  [default: print csv]")
@click.option("--keep", multiple=True, metavar="COL", help="Column to copy; may be repeated.")
@reading
@talking
def transform(
    model: str,
    data: str,
    output: str | None,
    keep: Sequence[str],
    as_json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Project the rows of a table on the subspace of a model.

    \b
    Examples:
      separatrix transform wine.model wine --keep target -o plane.csv
      separatrix transform genes.model new.csv | head
    """
    talk = Console(as_json, quiet)
    refuse_unwritable(output, data, model)
    stored, table = model_and_rows(talk, model, data, keep, how)
    steps = stored.model
    if hasattr(steps, "steps") and not hasattr(steps[-1], "transform"):
        steps = steps[:-1]
    if not hasattr(steps, "transform"):
        raise ValueError(f"{model} classifies without a subspace: use `separatrix predict`")
    Z = steps.transform(table.X)
    names = steps[-1:] if hasattr(steps, "steps") else steps
    found = dict(zip(names.get_feature_names_out(), Z.T, strict=True))
    write_rows(talk, table.kept, found, output, {"rows": len(Z), "components": Z.shape[1]})


@click.command()
@click.argument("models", nargs=-1, required=True, type=click.Path())
@output_option("File for the merged model.", required=True)
@talking
def merge(models: Sequence[str], output: str, as_json: bool, quiet: bool) -> None:
    """Make one model of several that were trained apart: the model of all their rows.

    For FisherDiscriminant, IPCAC, TruncatedIPCAC and OnlineIPCAC that were fitted with --no-scale
    to the same columns, or by `stream`.

    \b
    Examples:
      separatrix merge site1.model site2.model -o all.model
    """
    from separatrix.base import MomentEstimator
    from separatrix.base import merge as merged
    from separatrix.persist import read, save

    talk = Console(as_json, quiet)
    refuse_unwritable(output)
    stored = [read(path) for path in models]
    for path, site in zip(models, stored, strict=True):
        if hasattr(site.model, "steps"):
            raise ValueError(
                f"{path} scales its columns by its own rows, so its numbers are not those of "
                "other models: fit models to be merged with --no-scale, and without text columns"
            )
        if not isinstance(site.model, MomentEstimator):
            kind = type(site.model).__name__
            raise ValueError(f"{path} is a {kind}, which cannot be merged: see --help")
    try:
        model = merged([site.model for site in stored])
    except ValueError as error:
        listed = ", ".join(f"model {i} is {path}" for i, path in enumerate(models))
        raise ValueError(f"{error} ({listed})") from None
    rows = sum(site.notes.get("rows", 0) for site in stored)
    save(model, output, notes={**stored[0].notes, "rows": rows})
    talk.done(
        {"model": output, "merged": list(models), "rows": rows},
        f"{len(models)} models of {rows} rows are merged: {output}",
    )


# What commands share -------------------------------------------------------------------------


def labelled_table(talk: Console, data: str, how: Mapping[str, Any]) -> Any:
    """A table with labels of at least two classes."""
    from separatrix.tables import read_table, refuse_one_class, row_number_columns

    names = ("target", "ignore", "form", "sep", "header")
    table = read_table(data, **{name: how[name] for name in names})
    refuse_one_class(table.y, table.target)
    for name in row_number_columns(table.X):
        talk.note(f"Column {name!r} counts the rows: --ignore {name}, unless it is a measurement")
    return table


def model_and_rows(
    talk: Console, path: str, data: str, keep: Sequence[str], how: Mapping[str, Any]
) -> tuple[Any, Any]:
    """A model, and a table with the columns that it knows."""
    from separatrix.persist import read
    from separatrix.tables import check_features, read_table, same_features

    stored = read(path)
    names = ("ignore", "form", "sep", "header")
    table = read_table(
        data,
        target=stored.notes.get("target"),
        labelled=None,
        keep=keep,
        **{name: how[name] for name in names},
    )
    known = getattr(stored.model, "feature_names_in_", None)
    if known is None:  # fitted to an array
        n_features = getattr(stored.model, "n_features_in_", table.X.shape[1])
        if table.X.shape[1] != n_features:
            raise ValueError(
                f"{path} knows {n_features} features without names, but there are "
                f"{table.X.shape[1]}: leave out what is none (--ignore)"
            )
        known = table.X.columns
    words = stored.notes.get("words", [])
    X = same_features(table.X, known, words)
    missing = stored.notes.get("missing", "refuse")
    check_features(X, categorical="onehot" if words else "refuse", missing=missing)
    others = [name for name in table.X.columns if name not in X.columns and name not in keep]
    if others:
        talk.note(f"Not in the model, so left out: {', '.join(others[:10])}")
    return stored, table._replace(X=X if stored_names(stored.model) else X.to_numpy())


def stored_names(model: Any) -> bool:
    """Whether a model knows its features by name."""
    return hasattr(model, "feature_names_in_")


def known_methods(names: Iterable[str]) -> list[str]:
    """Names of methods, or an error with the nearest one."""
    from separatrix.tables import refuse_unknown

    known = method_names()
    asked = [name.strip() for name in names if name.strip()]
    for name in asked:
        refuse_unknown(name, known, "method")
    return asked


def estimator_of(
    method: str, settings: Sequence[str], seed: int | None, *, learns: bool = False
) -> Any:
    """A method by its name, with parameters given as text."""
    from sklearn.base import clone

    from separatrix.contenders import contenders
    from separatrix.tables import refuse_unknown

    (name,) = known_methods([method])
    estimator = clone(contenders([name])[0].estimator)
    params = estimator.get_params()
    if learns and not (hasattr(estimator, "partial_fit") and hasattr(estimator, "predict")):
        raise ValueError(
            f"{name} does not learn from batches: `separatrix methods` says which do, such as "
            "OnlineIPCAC and FisherDiscriminant"
        )
    for setting in settings:
        parameter, equals, text = setting.partition("=")
        if not equals:
            raise click.UsageError(f"--set {setting} is not NAME=VALUE")
        refuse_unknown(parameter, params, f"parameter of {name}")
        estimator.set_params(**{parameter: value_of(text)})
    if seed is not None and params.get("random_state", 0) is None:
        estimator.set_params(random_state=seed)
    return estimator


def value_of(text: str) -> Any:
    """A number, list, None, True or False; anything else is text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def assembled(prepare: Any, estimator: Any, decision: str, rows: int) -> Any:
    """What makes numbers, the method, and the rule that classifies, as one model."""
    from sklearn.base import is_classifier
    from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
    from sklearn.pipeline import make_pipeline

    from separatrix.fisher import FisherDiscriminant

    if decision == "own" and not is_classifier(estimator):
        decision = "3nn"
    rules: dict[str, Any] = {
        # all distances: a tree of rows is a type that model files do not hold
        "3nn": KNeighborsClassifier(min(3, rows), algorithm="brute"),
        "centroid": NearestCentroid(),
        "gaussian": FisherDiscriminant(),
    }
    if decision != "own" and not hasattr(estimator, "transform"):
        raise ValueError(f"{type(estimator).__name__} has no subspace: leave out --decision")
    steps = [prepare, estimator, rules.get(decision)]
    present = [step for step in steps if step is not None]
    return make_pipeline(*present) if len(present) > 1 else present[0]


def frame_of(kept: Any, found: Mapping[str, Any]) -> Any:
    """Columns that were kept, and those that were found."""
    import pandas as pd

    frame = pd.DataFrame(dict(found))
    return frame if kept is None else pd.concat([kept.reset_index(drop=True), frame], axis=1)


def write_rows(
    talk: Console, kept: Any, found: Mapping[str, Any], output: str | None, record: dict[str, Any]
) -> None:
    """Rows to a file, or to standard output."""
    frame = frame_of(kept, found)
    if output is not None:
        write_frame(frame, output)
        talk.done({**record, "output": output}, f"{len(frame)} rows: {output}")
    elif talk.as_json:
        talk.result({**record, "columns": {k: v.tolist() for k, v in frame.items()}}, "")
    else:
        click.echo(frame.to_csv(index=False, lineterminator="\n"), nl=False)


def write_frame(frame: Any, output: str) -> None:
    """A table in the format that the name of the file says."""
    import numpy as np

    from separatrix.persist import write_whole
    from separatrix.tables import form_of

    form = form_of(output)
    buffer = io.BytesIO()
    if form == "parquet":
        frame.to_parquet(buffer, index=False)
    elif form == "npz":
        arrays: dict[str, Any] = {str(k): np.asarray(v.tolist()) for k, v in frame.items()}
        np.savez(buffer, **arrays)
    elif form in ("csv", "tsv"):
        sep = "," if form == "csv" else "\t"
        buffer.write(frame.to_csv(index=False, sep=sep, lineterminator="\n").encode())
    else:
        raise ValueError(f"{output}: {form} is not written; choose csv, tsv, parquet or npz")
    write_whole(output, buffer.getvalue())


def refuse_unwritable(output: str | None, *inputs: str) -> None:
    """Raise before any work when the output cannot be written, or is an input."""
    if output is None:
        return
    path = Path(output)
    folder = path.resolve().parent
    if not folder.is_dir():
        raise ValueError(f"{output} cannot be written: there is no folder {folder}")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise ValueError(f"{output} cannot be written: it is not permitted")
    if any(Path(given).exists() and path.exists() and path.samefile(given) for given in inputs):
        raise ValueError(f"{output} is read by this command: choose another name for the output")
