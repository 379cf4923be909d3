"""The command that compares methods on a table."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.inputs import read_labelled_table
from separatrix.cli.methods import check_methods, list_methods
from separatrix.cli.options import (
    DATA_HELP,
    complete_from,
    console_options,
    data_argument,
    decision_option,
    jobs_option,
    preparation_options,
    seed_option,
    table_options,
    target_option,
    test_size_option,
)
from separatrix.cli.output import check_outputs
from separatrix.io.text import format_columns


@click.command("compare", epilog=DATA_HELP)
@data_argument
@target_option
@click.option(
    "--methods",
    multiple=True,
    metavar="A,B",
    shell_complete=complete_from(list_methods),
    help="Methods to compare; may be repeated.  [default: all, and references]",
)
@click.option("--report", type=click.Path(dir_okay=False), help="Write a report (html).")
@click.option("--results", type=click.Path(dir_okay=False),
              help="File of finished folds; an interrupted command goes on from it.")  # fmt: skip
@click.option("--splits", type=click.IntRange(1), default=10, show_default=True,
              help="Number of random splits.")  # fmt: skip
@test_size_option
@decision_option("Classifier in the subspace.")
@click.option("--budget", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
              help="Time for each method.")  # fmt: skip
@table_options
@preparation_options
@seed_option
@jobs_option
@console_options
def compare_command(
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
    **options: Any,
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
    from separatrix.io.models import write_whole
    from separatrix.report import facts, render

    console = Console(as_json, quiet)
    check_outputs([report, results], inputs=[data])
    asked = check_methods(",".join(methods).split(",")) if methods else None
    table = read_labelled_table(console, data, options)
    X, scale = prepare_rows(table, options)
    comparison = _run(
        console,
        asked,
        X,
        table.y,
        n_splits=splits,
        test_size=test_size,
        scale=scale,
        decision=decision,
        time_budget=budget,
        n_jobs=jobs,
        results=results,
        random_state=seed,
    )
    described = facts(
        comparison,
        title=data,
        command=shlex.join(["separatrix", *sys.argv[1:]]),
        fit_command=_fit_arguments(data, {**options, "target": table.target}, decision, seed),
    )
    record = summarize_comparison(comparison, described["verdict"])
    if report is not None:
        write_whole(report, render(described).encode())
        record["report"] = os.path.abspath(report)
    console.result(record, _format_leaderboard(record))
    if not any("accuracy" in method for method in record["methods"]):
        raise ValueError("every method failed: what each says is listed above")


def _run(console: Console, methods: Sequence[str] | None, X: Any, y: Any, **protocol: Any) -> Any:
    """`evaluate.compare` with a progress bar, and a note if it is interrupted."""
    from separatrix.evaluate import compare

    n_done = 0

    def show(now: Any) -> None:
        nonlocal n_done
        n_done = now.done
        update(now.done, now.total, _describe_progress(now))

    try:
        with console.progress("compare") as update:
            return compare(methods, X, y, progress=show, **protocol)
    except KeyboardInterrupt:
        console.note(describe_interruption(n_done, protocol["results"]))
        raise


def _describe_progress(now: Any) -> str:
    left = "" if now.remaining is None else f", {now.remaining:.0f} s left"
    return f"{now.done} of {now.total} folds{left} {' '.join(now.running[:2])}"


def describe_interruption(n_done: int, results: str | None) -> str:
    """What remains of a comparison that was interrupted."""
    if results is not None and os.path.exists(results):
        with open(results, "rb") as file:
            n_folds = sum(1 for _ in file) - 1  # the first line says what they are of
        if n_folds > 0:
            return f"What is done is in {results}: the same command goes on with it."
    return "What was done is lost: --results FILE keeps it." if n_done else "No fold was done yet."


def prepare_rows(table: Any, options: Mapping[str, Any]) -> tuple[Any, Any]:
    """Rows as numbers, and the preprocessing fitted in each training part, as `fit` has it."""
    from separatrix.io.tables import encode_text, find_text_columns

    prepared = {name: options[name] for name in ("scale", "categorical", "missing")}
    X, steps = encode_text(table.X, **prepared)
    if not find_text_columns(table.X) and options["missing"] == "refuse":
        return X, "standard" if options["scale"] else None
    return X, steps


def _fit_arguments(data: str, options: Mapping[str, Any], decision: str, seed: int) -> list[str]:
    """The command that fits to the same table in the same way, without method and output."""
    arguments = ["separatrix", "fit", data, "-t", options["target"]]
    for name in options["ignore"]:
        arguments += ["--ignore", name]
    given = {
        "--format": options["form"],
        "--sep": options["sep"],
        "--missing": options["missing"] if options["missing"] != "refuse" else None,
        "--categorical": options["categorical"] if options["categorical"] != "refuse" else None,
        "--decision": decision if decision != "own" else None,
        "--seed": str(seed) if seed else None,
    }
    for option, value in given.items():
        arguments += [] if value is None else [option, value]
    arguments += [] if options["header"] else ["--no-header"]
    return arguments + ([] if options["scale"] else ["--no-scale"])


# The result in the terminal ------------------------------------------------------------------


def summarize_comparison(comparison: Any, verdict: Mapping[str, Any]) -> dict[str, Any]:
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
        for method in comparison.methods
    ]
    # the mean of fewer splits may be that of easy ones: it does not compete
    means = {m["name"]: m.get("accuracy", {}).get("mean") for m in methods}
    methods.sort(key=lambda m: (m["status"] != "done", -(means[m["name"]] or 0.0)))
    return {
        "rows": comparison.n_samples,
        "features": len(comparison.feature_names),
        "classes": [str(label) for label in comparison.classes],
        "settings": comparison.settings,
        "verdict": verdict["sentences"],
        "fit": verdict.get("fit", ""),
        "methods": methods,
        "left_out": comparison.left_out,
        "seconds": comparison.seconds,
    }


def _format_leaderboard(record: Mapping[str, Any]) -> str:
    """The summary as a table, and below it the verdict and the methods that failed."""
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
