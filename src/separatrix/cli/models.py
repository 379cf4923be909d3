"""Commands that make models, use them and merge them, and what all commands share."""

from __future__ import annotations

import ast
import shlex
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from separatrix.cli import dask as cli_dask
from separatrix.cli.console import Console
from separatrix.cli.options import names_completed, preparing, reading, seed, talking, target
from separatrix.cli.output import check_outputs, write_rows

DATA_HELP = """DATA is a file (csv, tsv, parquet, npz, arff; also packed, as .csv.gz), the name of
a bundled data set (see `separatrix datasets`), or - for standard input."""


def method_names() -> list[str]:
    """Every method that can be named."""
    from separatrix.evaluate.methods import method_classes

    return list(method_classes())


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
    shell_complete=names_completed(method_names),
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
@click.option(
    "--tune",
    is_flag=True,
    help="Choose settings as `compare` does in each split; without it they are defaults.",
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
    tune: bool,
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
      separatrix fit wine -m KernelIPCAC --tune -o wine.model    # as `compare` judged it
      separatrix fit genes.csv -t kind --id sample -m LDG --set n_components=2 -o genes.model
      separatrix fit site1.csv --no-scale -o site1.model    # can be merged
      separatrix fit days/ --engine dask -t kind -o days.model    # larger than memory
    """
    from separatrix.evaluate.comparison import tuned
    from separatrix.evaluate.records import to_plain
    from separatrix.io.models import save
    from separatrix.io.tables import find_text_columns, preprocessing

    talk = Console(as_json, quiet)
    if tune and settings:
        raise click.UsageError("--tune chooses the settings: leave out --set, or --tune")
    if tune and engine == "dask":
        raise click.UsageError("--tune needs rows in memory: leave out --engine, or --tune")
    check_outputs([output], inputs=[data])
    estimator = estimator_of(method, settings, seed)
    chosen: dict[str, Any] = {}
    if engine == "dask":
        model, target, rows = cli_dask.fitted(talk, data, estimator, decision, how)
        features, words = model.n_features_in_, []
        classes = estimator.classes_.tolist()
    else:
        table = labelled_table(talk, data, how)
        prepare = preprocessing(
            table.X, scale=how["scale"], categorical=how["categorical"], missing=how["missing"]
        )
        if tune:
            same = {"scale": prepare, "decision": decision, "random_state": seed}
            model, chosen = tuned(method, table.X, table.y, **same)
        else:
            model = assembled(prepare, estimator, decision, len(table.y)).fit(table.X, table.y)
        (rows, features), target = table.X.shape, table.target
        words, classes = find_text_columns(table.X), sorted(set(table.y.tolist()))
    notes = {
        "target": target,
        "words": words,
        "missing": how["missing"],
        "method": method,
        "rows": rows,
    }
    if tune:
        notes["chosen"] = to_plain(chosen)
    save(model, output, notes=notes)
    record = {"model": output, "method": method, "rows": rows, "features": features}
    said = f"{method} learned {rows} rows, {features} features, {len(classes)} classes: {output}"
    if tune:
        record["chosen"] = notes["chosen"]
        listed = ", ".join(f"{name}={value}" for name, value in notes["chosen"].items())
        said += f"\nChosen: {listed or 'nothing, there is no choice'}"
    talk.done({**record, "classes": classes}, said)


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
    check_outputs([output], inputs=[model, data], tables=True)
    stored, table = model_and_rows(talk, model, data, keep, how)
    if not hasattr(stored.model, "predict"):
        raise ValueError(f"{model} projects and does not classify: use `separatrix transform`")
    if proba and not hasattr(stored.model, "predict_proba"):
        raise ValueError(f"{model} gives no probabilities: leave out --proba")
    found = decisions_of(stored.model, table.X)
    labels = found["prediction"]
    if proba:
        shares = stored.model.predict_proba(table.X)
        found |= {f"p({c})": shares[:, i] for i, c in enumerate(stored.model.classes_)}
    record: dict[str, Any] = {"rows": len(labels)}
    if "decided" in found:
        record["decided"] = float(found["decided"].mean())
        talk.note(f"{100 * record['decided']:.2f} % of {len(labels)} rows are decided")
    if table.y is not None and not knows_some(stored.model, table.y):
        talk.note(
            f"Labels are not compared: those of column {table.target!r}, such as "
            f"{str(table.y[0])!r}, are not among the model's classes, "
            f"{', '.join(map(str, stored.model.classes_[:10]))}"
        )
    elif table.y is not None:
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
    check_outputs([output], inputs=[model, data], tables=True)
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
    from separatrix.base.batches import MomentEstimator
    from separatrix.base.batches import merge as merged
    from separatrix.io.models import save

    talk = Console(as_json, quiet)
    check_outputs([output], inputs=models)
    refuse_twice(models)
    stored = [read_model(path) for path in models]
    for path, site in zip(models, stored, strict=True):
        if hasattr(site.model, "steps"):
            raise ValueError(
                f"{path} scales its columns by its own rows, so its numbers are not those of "
                "other models: fit models to be merged with --no-scale, and without text columns"
            )
        if not isinstance(site.model, MomentEstimator):
            kind = type(site.model).__name__
            raise ValueError(f"{path} is a {kind}, which cannot be merged: see --help")
    if len(models) < 2:
        raise click.UsageError(f"{models[0]} is one model: give two or more to be merged")
    try:
        model = merged([site.model for site in stored])
    except ValueError as error:
        listed = ", ".join(f"model {i} is {path}" for i, path in enumerate(models))
        raise ValueError(f"{error} ({listed})") from None
    rows = sum(site.notes.get("rows", 0) for site in stored)
    # it belongs to no one stream, which could be resumed
    notes = {k: v for k, v in stored[0].notes.items() if k not in ("stream", "head")}
    save(model, output, notes={**notes, "rows": rows})
    talk.done(
        {"model": output, "merged": list(models), "rows": rows},
        f"{len(models)} models of {rows} rows are merged: {output}",
    )


# What commands share -------------------------------------------------------------------------


def labelled_table(talk: Console, data: str, how: Mapping[str, Any]) -> Any:
    """A table with labels of at least two classes."""
    from separatrix.io.tables import check_label_column, find_row_numbers, read_table

    names = ("target", "ignore", "form", "sep", "header")
    table = read_table(data, **{name: how[name] for name in names})
    check_label_column(table.y, table.target)
    for name in find_row_numbers(table.X):
        talk.note(
            f"Column {name!r} counts the rows: --ignore {shlex.quote(name)}, unless it is measured"
        )
    return table


def read_model(path: str) -> Any:
    """A model with its notes."""
    from separatrix.io.models import read

    if Path(path).exists() and stat.S_ISFIFO(Path(path).stat().st_mode):
        raise ValueError(f"{path} is a pipe: models are read from files, which can be checked")
    return read(path)


def refuse_twice(models: Sequence[str]) -> None:
    """Raise when rows would count twice."""
    for i, path in enumerate(models):
        for other in models[:i]:
            if Path(path).exists() and Path(other).exists() and Path(path).samefile(other):
                raise ValueError(f"{path} is named twice: its rows would count twice")


def model_and_rows(
    talk: Console, path: str, data: str, keep: Sequence[str], how: Mapping[str, Any]
) -> tuple[Any, Any]:
    """A model, and a table with the columns that it knows."""
    from separatrix.io.tables import (
        PREDICT,
        check_features,
        check_header,
        read_table,
        same_features,
    )

    stored = read_model(path)
    known = getattr(stored.model, "feature_names_in_", None)
    words = stored.notes.get("words", [])
    beside = [] if known is None else [name for name in keep if name not in known]
    table = read_table(
        data,
        target=stored.notes.get("target"),
        labelled=None,
        keep=keep,
        words=[*words, *beside],
        **{name: how[name] for name in ("ignore", "form", "sep", "header")},
    )
    if known is None:  # fitted to an array
        n_features = getattr(stored.model, "n_features_in_", table.X.shape[1])
        if table.X.shape[1] != n_features:
            raise ValueError(
                f"{path} knows {n_features} features without names, but there are "
                f"{table.X.shape[1]}: leave out what is none (--ignore)"
            )
        known = table.X.columns
        check_header(known, None)
    takes_gaps = is_early(stored.model)
    X = same_features(table.X if not takes_gaps else so_far(talk, table.X, known), known, words)
    check_features(
        X,
        categorical="onehot" if words else "refuse",
        missing="keep" if takes_gaps else stored.notes.get("missing", "refuse"),
        remedies=PREDICT,
    )
    others = [name for name in table.X.columns if name not in X.columns and name not in keep]
    if others:
        more = f" and {len(others) - 10} more" if len(others) > 10 else ""
        talk.note(f"Not in the model, so left out: {', '.join(others[:10])}{more}")
    tell_strange(talk, stored.model, X, table)
    return stored, table._replace(X=X if stored_names(stored.model) else X.to_numpy())


def knows_some(model: Any, labels: Iterable[str]) -> bool:
    """Whether any of the labels is a class of the model, where it says which it has."""
    classes = getattr(model, "classes_", None)
    return classes is None or not {str(label) for label in classes}.isdisjoint(labels)


def tell_strange(talk: Console, model: Any, X: Any, table: Any) -> None:
    """Say which values the model does not know, and why labels are not compared."""
    from separatrix.io.tables import unseen_values

    for name, values in unseen_values(model, X).items():
        talk.note(
            f"{len(values)} of {len(X)} values of {name!r} are unknown to the model, such as "
            f"{values.iloc[0]!r}: they count as none of those it knows"
        )
    if table.unlabelled:
        talk.note(f"Labels are not compared: {table.unlabelled}")


def is_early(model: Any) -> bool:
    """Whether a model decides on rows that are not complete."""
    return hasattr(model, "decide_early")


def so_far(talk: Console, X: Any, known: Iterable[str]) -> Any:
    """Rows with gaps for the columns that are not there yet."""
    absent = [name for name in known if name not in X.columns]
    if absent and len(absent) < len(list(known)):
        talk.note(f"{len(absent)} columns of the model are not there yet, from {absent[0]!r} on")
        return X.reindex(columns=[*X.columns, *absent])
    return X


def decisions_of(model: Any, X: Any) -> dict[str, Any]:
    """What is predicted; of models that decide early also whether they decide, and how surely."""
    if not is_early(model):
        return {"prediction": model.predict(X)}
    found = model.decide(X)
    return {
        "prediction": found.label,
        "decided": found.decided,
        "reliability": found.reliability,
    }


def stored_names(model: Any) -> bool:
    """Whether a model knows its features by name."""
    return hasattr(model, "feature_names_in_")


COMMANDS = {"EarlyClassifier": "early"}
"""Methods that have a command of their own."""


def known_methods(names: Iterable[str]) -> list[str]:
    """Names of methods, or an error with the nearest one."""
    from separatrix.evaluate.methods import LEFT_OUT
    from separatrix.io.tables import check_known_name

    known = method_names()
    asked = [name.strip() for name in names]
    for name in asked:
        if name in LEFT_OUT:
            use = f"`separatrix {COMMANDS[name]}`" if name in COMMANDS else "it from Python"
            raise ValueError(f"{name} has no place here, as {LEFT_OUT[name]}: use {use}")
        check_known_name(name, known, "method")
    return list(dict.fromkeys(asked))


def estimator_of(
    method: str, settings: Sequence[str], seed: int | None, *, learns: bool = False
) -> Any:
    """A method by its name, with parameters given as text."""
    from sklearn.base import clone

    from separatrix.evaluate.methods import contenders
    from separatrix.io.tables import check_known_name

    (name,) = known_methods([method])
    estimator = clone(contenders([name])[0].estimator)
    params = estimator.get_params()
    if learns and not (hasattr(estimator, "partial_fit") and hasattr(estimator, "predict")):
        raise ValueError(
            f"{name} does not learn from batches: `separatrix methods` says which do, such as "
            "OnlineIPCAC and FisherDiscriminant"
        )
    for parameter, value in map(setting_of, settings):
        check_known_name(parameter, params, f"parameter of {name}")
        estimator.set_params(**{parameter: value})
    if seed is not None and params.get("random_state", 0) is None:
        estimator.set_params(random_state=seed)
    return estimator


def setting_of(text: str) -> tuple[str, Any]:
    """A parameter and its value, given as NAME=VALUE."""
    parameter, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"--set {text} is not NAME=VALUE")
    return parameter, value_of(value)


def value_of(text: str) -> Any:
    """A number, list, None, True or False; anything else is text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def assembled(prepare: Any, estimator: Any, decision: str, rows: int) -> Any:
    """What makes numbers, the method, and the rule that classifies, as one model."""
    from sklearn.base import is_classifier
    from sklearn.pipeline import make_pipeline

    from separatrix.evaluate.classify import rule_to_keep

    if decision == "own" and not is_classifier(estimator):
        decision = "3nn"
    if decision != "own" and not hasattr(estimator, "transform"):
        raise ValueError(f"{type(estimator).__name__} has no subspace: leave out --decision")
    steps = [prepare, estimator, rule_to_keep(decision, rows)]
    present = [step for step in steps if step is not None]
    return make_pipeline(*present) if len(present) > 1 else present[0]
