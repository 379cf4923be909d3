"""The command line: each command reads, calls the library, and prints."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from separatrix import __version__
from separatrix.cli.console import Commands, Console
from separatrix.cli.early import early
from separatrix.cli.models import (
    COMMANDS,
    DATA_HELP,
    bundled_names,
    data_argument,
    fit,
    known_methods,
    labelled_table,
    merge,
    method_names,
    predict,
    transform,
)
from separatrix.cli.options import jobs, names_completed, preparing, reading, seed, talking, target
from separatrix.cli.output import check_outputs
from separatrix.cli.reproduce import reproduce
from separatrix.cli.stream import stream
from separatrix.io.text import format_columns

# numerics are imported inside the commands: help must not wait for them


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version")
@click.option("--debug", is_flag=True, help="Show where in the program a mistake was found.")
def main(debug: bool) -> None:
    """Find the subspace that separates your classes, and keep a model that uses it.

    \b
    Examples:
      separatrix compare wine --report wine.html
      separatrix fit flowers.csv --target kind -o flowers.model
      separatrix predict flowers.model new.csv

    Exit codes: 0 done, 1 the data or a file is at fault, 2 wrong usage, 70 a fault of the program,
    130 interrupted by Ctrl-C or SIGTERM, 141 nobody reads the output.
    """


for command in (fit, predict, transform, merge, stream, early, reproduce):
    main.add_command(command)


# Comparing -----------------------------------------------------------------------------------


@main.command(epilog=DATA_HELP)
@data_argument
@target
@click.option(
    "--methods",
    multiple=True,
    metavar="A,B",
    shell_complete=names_completed(method_names),
    help="Methods to compare; may be repeated.  [default: all, and references]",
)
@click.option("--report", type=click.Path(dir_okay=False), help="Write a report (html).")
@click.option("--results", type=click.Path(dir_okay=False), help="Keep finished folds; go on.")
@click.option("--splits", type=click.IntRange(1), default=10, show_default=True)
@click.option("--test-size", type=click.FloatRange(0, 1, min_open=True, max_open=True),
              default=0.3, show_default=True, help="Share of each class held out.")  # fmt: skip
@click.option(
    "--decision",
    type=click.Choice(["own", "3nn", "centroid", "gaussian"]),
    default="own",
    show_default=True,
    help="What classifies in the subspace.",
)
@click.option("--budget", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
              help="Time for each method.")  # fmt: skip
@reading
@preparing
@seed
@jobs
@talking
def compare(
    data: str,
    methods: Sequence[str],
    report: str | None,
    results: str | None,
    splits: int,
    test_size: float,
    decision: str,
    budget: float | None,
    seed: int,
    jobs: int,
    as_json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Which subspace separates the classes best, by how much, and whether that is real.

    Rows are split again and again; scaling and every choice are made in the training part, and the
    rest is predicted once.

    \b
    Examples:
      separatrix compare wine
      separatrix compare genes.csv -t kind --methods LDG,FisherDiscriminant --jobs 2
      separatrix compare genes.csv --results folds.jsonl --report genes.html
    """
    from separatrix import evaluate
    from separatrix.io.models import write_whole
    from separatrix.report import facts as facts_of
    from separatrix.report import render

    talk = Console(as_json, quiet)
    check_outputs([report, results], inputs=[data])
    asked = known_methods(",".join(methods).split(",")) if methods else None
    table = labelled_table(talk, data, how)
    X, y, scale = numbers_of(table, how)
    so_far = [0]

    def tell(now: Any) -> None:
        so_far[:] = [now.done]
        shown(now.done, now.total, time_left(now))

    try:
        with talk.progress("compare") as shown:
            found = evaluate.compare(
                asked,
                X,
                y,
                n_splits=splits,
                test_size=test_size,
                scale=scale,
                decision=decision,
                time_budget=budget,
                n_jobs=jobs,
                results=results,
                random_state=seed,
                progress=tell,
            )
    except KeyboardInterrupt:
        talk.note(left_behind(so_far[0], results))
        raise
    facts = facts_of(
        found,
        title=data,
        command=shlex.join(["separatrix", *sys.argv[1:]]),
        fit_command=fit_words(data, {**how, "target": table.target}, decision, seed),
    )
    record = summary_of(found, facts["verdict"])
    if report is not None:
        write_whole(report, render(facts).encode())
        record["report"] = os.path.abspath(report)
    talk.result(record, leaderboard(record))
    if not any("accuracy" in method for method in record["methods"]):
        raise ValueError("every method failed: what each says is listed above")


def fit_words(data: str, how: Mapping[str, Any], decision: str, seed: int) -> list[str]:
    """The command that fits to the same table in the same way, but for the method."""
    words = ["separatrix", "fit", data, "-t", how["target"]]
    for name in how["ignore"]:
        words += ["--ignore", name]
    given = {
        "--format": how["form"],
        "--sep": how["sep"],
        "--missing": how["missing"] if how["missing"] != "refuse" else None,
        "--categorical": how["categorical"] if how["categorical"] != "refuse" else None,
        "--decision": decision if decision != "own" else None,
        "--seed": str(seed) if seed else None,
    }
    for option, value in given.items():
        words += [] if value is None else [option, value]
    words += [] if how["header"] else ["--no-header"]
    return words + ([] if how["scale"] else ["--no-scale"])


def left_behind(done: int, results: str | None) -> str:
    """What remains of a comparison that was interrupted."""
    if results is not None and os.path.exists(results):
        with open(results, "rb") as file:
            folds = sum(1 for _ in file) - 1  # the first line says what they are of
        if folds > 0:
            return f"What is done is in {results}: the same command goes on with it."
    return "What was done is lost: --results FILE keeps it." if done else "No fold was done yet."


def time_left(now: Any) -> str:
    """A remark for the progress bar of a comparison."""
    left = "" if now.remaining is None else f", {now.remaining:.0f} s left"
    return f"{now.done} of {now.total} folds{left} {' '.join(now.running[:2])}"


def numbers_of(table: Any, how: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Rows as numbers, labels, and what is fitted in each training part: the steps of `fit`."""
    from separatrix.io.tables import encode_text, find_text_columns

    prepared = {name: how[name] for name in ("scale", "categorical", "missing")}
    X, steps = encode_text(table.X, **prepared)
    if not find_text_columns(table.X) and how["missing"] == "refuse":
        return X, table.y, "standard" if how["scale"] else None
    return X, table.y, steps


def summary_of(found: Any, verdict: Mapping[str, Any]) -> dict[str, Any]:
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
        for method in found.methods
    ]
    # the mean of fewer splits may be that of easy ones: it does not compete
    means = {m["name"]: m.get("accuracy", {}).get("mean") for m in methods}
    methods.sort(key=lambda m: (m["status"] != "done", -(means[m["name"]] or 0.0)))
    words = ("headline", "measure", "alike", "use")
    return {
        "rows": found.n_samples,
        "features": len(found.feature_names),
        "classes": [str(label) for label in found.classes],
        "settings": found.settings,
        "verdict": [verdict[name] for name in words if verdict.get(name)] + verdict["cautions"],
        "fit": verdict.get("fit", ""),
        "methods": methods,
        "left_out": found.left_out,
        "seconds": found.seconds,
    }


def leaderboard(record: Mapping[str, Any]) -> str:
    """The summary as a table, and below it the verdict and what failed."""
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


# Lists ---------------------------------------------------------------------------------------


@main.command()
@talking
def methods(as_json: bool, quiet: bool) -> None:
    """What methods there are, and what each is for.

    \b
    Examples:
      separatrix methods
      separatrix methods --json
    """
    from separatrix import public
    from separatrix.evaluate.methods import (
        LEFT_OUT,
        contenders,
        first_sentence,
    )

    records = [
        {
            "name": method.name,
            "kind": method.kind,
            "streams": hasattr(method.estimator, "partial_fit"),
            "description": method.description,
        }
        for method in contenders(None)
    ]
    for name in sorted(LEFT_OUT):
        kind = f"command `{COMMANDS[name]}`" if name in COMMANDS else "from Python"
        text = first_sentence(getattr(public, name))
        records.append({"name": name, "kind": kind, "streams": False, "description": text})
    rows = [
        [r["name"], f"{r['kind']}{', streams' if r['streams'] else ''}", r["description"]]
        for r in records
    ]
    Console(as_json, quiet).result(
        {"methods": records}, format_columns(["method", "kind", "what it does"], rows)
    )


@main.command()
@talking
def datasets(as_json: bool, quiet: bool) -> None:
    """What data sets come along, to try things on.

    \b
    Examples:
      separatrix datasets
      separatrix compare iris
    """
    from separatrix.datasets import load

    records = []
    for name in bundled_names():
        bunch = load(name)
        rows, features = bunch.data.shape
        classes = len(set(bunch.target.tolist()))
        records.append({"name": name, "rows": rows, "features": features, "classes": classes})
    table = [list(record.values()) for record in records]
    Console(as_json, quiet).result(
        {"datasets": records}, format_columns(["name", "rows", "features", "classes"], table)
    )
