"""The command that compares methods on a table."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.inputs import read_labelled_table
from separatrix.cli.kept import (
    choose_results_file,
    forget_if_empty,
    forget_results,
    tell_interruption,
)
from separatrix.cli.leaderboard import format_leaderboard, summarize_comparison
from separatrix.cli.methods import check_methods, list_methods
from separatrix.cli.options import (
    DATA_HELP,
    complete_from,
    console_options,
    data_argument,
    data_options,
    decision_option,
    jobs_option,
    preparation_options,
    rows_option,
    seed_option,
    split_names,
    test_size_option,
    words_options,
)
from separatrix.cli.output import check_outputs
from separatrix.cli.protocol import (
    TUNING,
    check_ways,
    describe_cost,
    named_columns,
    protocol_options,
    read_classifier,
    read_protocol,
)
from separatrix.files.reading import Reading


@click.command("compare", epilog=DATA_HELP)
@data_argument
@click.option(
    "--methods",
    multiple=True,
    metavar="A,B",
    shell_complete=complete_from(list_methods),
    help="Methods to compare; may be repeated.  [default: all, and references]",
)
@click.option("--report", type=click.Path(dir_okay=False), help="Write a report (html).")
@click.option("--results", type=click.Path(dir_okay=False),
              help="File of finished folds; an interrupted command goes on from it.  "
              "[default: next to the report or in the cache, until all is done]")  # fmt: skip
@click.option("--splits", type=click.IntRange(1), default=10, show_default=True,
              help="Number of random splits.")  # fmt: skip
@test_size_option
@protocol_options
@decision_option("Classifier in the subspace.")
@click.option("--budget", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
              help="Time for each method.")  # fmt: skip
@data_options
@click.option("--explain", is_flag=True, help="Print the statistics behind the verdict.")
@preparation_options
@words_options
@rows_option
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
    explain: bool,
    seed: int,
    jobs: int,
    reading: Reading,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """Compare methods: which subspace separates the classes best, by how much, and how surely.

    Rows are split again and again; scaling and every choice are made in the training part, and the
    rest is predicted once.

    \b
    Examples:
      separatrix compare wine
      separatrix compare genes.csv -t kind --methods LDG,FisherDiscriminant --jobs 2
      separatrix compare genes.csv --results folds.jsonl --report genes.html
      separatrix compare visits.csv -t outcome --group patient --score auc
      separatrix compare train.csv -t kind --test test.csv --rivals all
    """
    from separatrix.evaluate.comparison import NamedRows
    from separatrix.evaluate.methods import with_steps
    from separatrix.files.mails import FILE, is_mail_source
    from separatrix.files.notices import notice_copied_rows
    from separatrix.report import facts

    console = Console(as_json, quiet)
    check_outputs([report, results], inputs=[data, options["test"], options["costs"]])
    check_ways(options)
    asked = check_methods(",".join(methods).split(",")) if methods else None
    classifier = read_classifier(decision, options["classifier"])
    named = reading.ids or ((FILE,) if is_mail_source(data) else ())
    others = named_columns(options)
    reading = replace(reading, ignore=tuple(dict.fromkeys([*reading.ignore, *others])))
    table = read_labelled_table(console, data, reading, [*named, *others])
    if table.text and asked is None:
        asked = sparse_methods()
    options["test_size"] = test_size
    protocol, asked = read_protocol(console, table, reading, options, asked, splits, seed)
    table = protocol.table
    X, prepare, names = prepare_rows(table, options)
    rows, labels, arguments = protocol.split_rows(X)
    kept = results or choose_results_file(report, X, table.y)
    compared: Any = asked
    if not isinstance(prepare, str) or classifier is not None:
        compared = with_steps(asked, options["rivals"], prepare=prepare, then=classifier)
        options["rivals"] = None
    if names is not None:
        rows = NamedRows(rows, names)
    comparison = _run(
        console,
        compared,
        rows,
        labels,
        named=results is not None,
        permutations=options["permutations"],
        **arguments,
        rivals=options["rivals"],
        budget=budget,
        n_jobs=jobs,
        results=kept,
        random_state=seed,
    )
    for text in notice_copied_rows(X, comparison.tests):
        console.note(text)
    described = facts(
        comparison,
        title=data,
        command=shlex.join(["separatrix", *sys.argv[1:]]),
        fit_command=_fit_arguments(
            data, replace(reading, target=table.target), options, decision, seed
        ),
        ids=None if options["test"] else list_ids(table.kept, named),
    )
    record = summarize_comparison(comparison, described["verdict"])
    trouble = None
    if report is not None:
        trouble = _write_report(report, described, kept)
        record |= {"report": os.path.abspath(report)} if trouble is None else {}
    console.result(record, format_leaderboard(record, explain=explain))
    if trouble is not None:
        raise trouble
    if results is None:
        forget_results(kept)
    if not any("accuracy" in method for method in record["methods"]):
        raise ValueError("every method failed: what each says is listed above")


def _write_report(report: str, described: Mapping[str, Any], kept: str | None) -> Exception | None:
    """Write the page; an error is returned, so that the table is printed whatever happens."""
    from separatrix.files.whole import write_whole
    from separatrix.report import render

    try:
        write_whole(report, render(described).encode())
    except OSError as error:
        again = "" if kept is None else f"; the folds are in {kept}, and the same command is quick"
        return ValueError(f"{report} cannot be written: {error.strerror or error}{again}")
    except Exception as error:
        return error
    return None


def _run(
    console: Console,
    methods: Sequence[str] | None,
    X: Any,
    y: Any,
    *,
    named: bool,
    permutations: int,
    **protocol: Any,
) -> Any:
    """`evaluate.compare` with a progress bar, and the table of finished folds when interrupted."""
    from separatrix import evaluate
    from separatrix.evaluate.runner import describe_progress

    cost = ""

    def show(now: Any) -> None:
        nonlocal cost
        update(now.done, now.total, describe_progress(now))
        if not cost:
            cost = describe_cost(now)
            if cost:
                console.note(cost)

    try:
        with console.progress("compare") as update:
            comparison = evaluate.compare(methods, X, y, progress=show, **protocol)
            if permutations and comparison.best is not None:
                comparison = replace(
                    comparison, permutation=comparison.permutation_test(permutations)
                )
            return comparison
    except KeyboardInterrupt:
        tell_interruption(console, protocol["results"], named=named)
        raise
    except Exception:
        if not named:
            forget_if_empty(protocol["results"])
        raise


def list_ids(kept: Any, columns: Sequence[str]) -> list[str] | None:
    """What each row is called: its values in the columns that name it."""
    if not columns:
        return None
    values = kept[list(columns)].astype(str)
    return [" ".join(row) for row in values.itertuples(index=False, name=None)]


def prepare_rows(table: Any, options: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Rows as numbers, the preprocessing of each training part as `fit` has it, and names."""
    from separatrix.files.columns import find_text_columns
    from separatrix.files.preparation import count_texts, encode_text

    prepared = {name: options[name] for name in ("scale", "categorical", "missing")}
    prepared["rows"] = split_names(options.get("rows", ""))
    if table.text:
        words = {name: options[name] for name in ("hashed", "latent")}
        return count_texts(table.X, table.text, **prepared, **words)
    X, steps = encode_text(table.X, **prepared)
    plain = options["missing"] == "refuse" and not prepared["rows"]
    if not find_text_columns(table.X) and plain:
        return X, "standard" if options["scale"] else None, None
    return X, steps, None


def sparse_methods() -> list[str]:
    """Methods that take sparse rows, but for those that would need all distances in all words."""
    from sklearn.utils import get_tags

    from separatrix.evaluate.methods import contenders

    return [m.name for m in contenders(None) if get_tags(m.estimator).input_tags.sparse]


def _fit_arguments(
    data: str, reading: Reading, options: Mapping[str, Any], decision: str, seed: int
) -> list[str]:
    """The command that fits to the same table in the same way, without method and output."""
    given = {
        "--missing": options["missing"] if options["missing"] != "refuse" else None,
        "--categorical": options["categorical"] if options["categorical"] != "refuse" else None,
        "--decision": decision if decision != "own" else None,
        **{f"--{name}": options[name] for name in TUNING},
        "--seed": str(seed) if seed else None,
        "--rows": options["rows"] or None,
        "--latent": str(options["latent"]) if options["latent"] else None,
    }
    arguments = ["separatrix", "fit", data, *reading.list_arguments()]
    for option, value in given.items():
        arguments += [] if value is None else [option, value]
    arguments += ["--hashed"] if options["hashed"] else []
    return arguments + ([] if options["scale"] else ["--no-scale"])
