"""The command that looks at a table and says how to go on."""

from __future__ import annotations

import html
from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.options import (
    DATA_HELP,
    PROJECT_FILE,
    console_options,
    data_argument,
    data_options,
)
from separatrix.cli.output import check_outputs
from separatrix.files.reading import READING_NAMES, Reading

MAX_SHOWN_COLUMNS = 12
"""Columns that are listed in the terminal."""

LAYOUTS = {
    "rows": "a line is a sample",
    "columns": "a column is a sample (--transposed)",
    "epochs": "a line is an epoch of channels and times",
    "texts": "a line is a text",
}


@click.command("look", epilog=DATA_HELP)
@data_argument
@data_options
@click.option("--html", "page", type=click.Path(dir_okay=False), metavar="FILE",
              help="Write the findings as a page.")  # fmt: skip
@click.option(
    "--save",
    is_flag=True,
    help=f"Keep the options that were found in {PROJECT_FILE}, for all commands here.",
)
@console_options
def look_command(
    data: str, reading: Reading, page: str | None, save: bool, as_json: bool, quiet: bool
) -> None:
    """Look at a table: how it is laid out, what its columns hold, and the command to run next.

    Nothing is learned. What options say is taken as it is; separators, decimals, the orientation,
    and columns of labels, names and groups are guessed.

    \b
    Examples:
      separatrix look flowers.csv
      separatrix look measurements.txt --save    # then: separatrix compare measurements.txt
      separatrix look genes.tsv --samples sheet.csv --html genes.html
    """
    from separatrix.files.look import look
    from separatrix.files.whole import write_whole

    console = Console(as_json, quiet)
    check_outputs([page, PROJECT_FILE if save else None], inputs=[data])
    seen = look(data, reading)
    record = seen.to_dict()
    if page is not None:
        write_whole(page, _render(seen).encode())
        record["page"] = page
    if save:
        write_whole(PROJECT_FILE, write_project(seen.reading).encode())
        record["saved"] = PROJECT_FILE
    console.result(record, "\n".join(_describe(seen, save)))


def write_project(reading: Reading) -> str:
    """The options of a reading that are not usual, as a file of a project."""
    import json

    spelled = {"ids": "id", "form": "format"}
    usual, lines = Reading(), []
    for name in READING_NAMES:
        value = getattr(reading, name)
        if name in ("labelled", "words") or value == getattr(usual, name):
            continue
        value = list(value) if isinstance(value, tuple) else value
        # text of JSON is text of TOML
        lines.append(f"{spelled.get(name, name)} = {json.dumps(value)}")
    return "\n".join(lines) + "\n"


def _facts(seen: Any) -> list[tuple[str, str]]:
    """Names and values of what is said of the whole table."""
    classes = ", ".join(f"{name} ({n})" for name, n in list(seen.classes.items())[:20])
    more = f" and {len(seen.classes) - 20} more" if len(seen.classes) > 20 else ""
    n_gaps = sum(seen.gaps.values())
    outliers = [
        f"{o['value']} in {o['column']!r}, row {o['row']}"
        + (f" and {o['times'] - 1} more times" if o["times"] > 1 else "")
        for o in seen.outliers
    ]
    reading = " ".join(seen.reading.list_arguments())
    facts = [
        ("Layout", LAYOUTS[seen.layout]),
        ("Rows", f"{seen.n_rows}, with {seen.n_features} features"),
        ("Labels", "none" if seen.target is None else f"column {seen.target!r}"),
        ("Classes", classes + more),
        ("Names of rows", ", ".join(map(repr, seen.ids))),
        ("Groups", ", ".join(map(repr, seen.groups))),
        ("Gaps", f"{n_gaps} in {len(seen.gaps)} columns" if n_gaps else "none"),
        ("Far from all others", "; ".join(outliers)),
        ("Read by", reading),
    ]
    return [(name, value) for name, value in facts if value]


def _column_rows(seen: Any) -> list[list[str]]:
    def shown(value: float | None) -> str:
        return "" if value is None else f"{value:.4g}"

    return [
        [c.name, c.role, str(c.n_values), str(c.n_missing or ""), c.example,
         " to ".join(filter(None, [shown(c.low), shown(c.high)]))]
        for c in seen.columns
    ]  # fmt: skip


HEADS = ("column", "holds", "values", "gaps", "first", "range")


def _describe(seen: Any, saved: bool) -> list[str]:
    from separatrix.files.text import align_cells, format_columns

    rows = _column_rows(seen)
    lines = [seen.source, *align_cells([list(fact) for fact in _facts(seen)]), ""]
    lines.append(format_columns(HEADS, rows[:MAX_SHOWN_COLUMNS]))
    if len(rows) > MAX_SHOWN_COLUMNS:
        lines.append(f"and {len(rows) - MAX_SHOWN_COLUMNS} more columns")
    lines += ["", *seen.notes] if seen.notes else []
    lines += [f"The options are kept in {PROJECT_FILE}"] if saved else []
    lines += ["", f"Next: {seen.command}"] if seen.command else []
    return lines


def _render(seen: Any) -> str:
    """One page without a network; all text from the table is shown as text."""

    def table(heads: Any, rows: Any) -> str:
        cells = ["".join(f"<td>{html.escape('' if v is None else str(v))}</td>" for v in row)
                 for row in rows]  # fmt: skip
        head = "".join(f"<th>{html.escape(str(name))}</th>" for name in heads)
        return (f"<div><table><tr>{head}</tr>"
                + "".join(f"<tr>{row}</tr>" for row in cells) + "</table></div>")  # fmt: skip

    title = html.escape(seen.source)
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in seen.notes)
    command = f"<h2>Next</h2><pre>{html.escape(seen.command)}</pre>" if seen.command else ""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>'
        "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
        "color-scheme:light dark}div{overflow-x:auto}table{border-collapse:collapse}"
        "td,th{text-align:left;padding:.2rem .8rem .2rem 0;border-bottom:1px solid #8884}"
        f"pre{{overflow-x:auto}}</style><h1>{title}</h1>"
        + table(("", ""), _facts(seen))
        + (f"<h2>To be looked at</h2><ul>{notes}</ul>" if notes else "")
        + "<h2>Columns</h2>" + table(HEADS, _column_rows(seen))
        + "<h2>First rows</h2>" + table(seen.names, seen.first_rows)
        + f"{command}</html>"
    )  # fmt: skip
