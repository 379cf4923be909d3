"""The command that runs the tables of the papers again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.options import complete_from, console_options
from separatrix.cli.output import check_outputs
from separatrix.files.text import format_columns


def list_table_names() -> list[str]:
    """Sources and tables: every NAME that the command takes."""
    from separatrix_papers.tables import list_sources, read_tables

    folders = list_sources()
    tables = [table.name for folder in folders.values() for table in read_tables(folder)]
    return [*folders, *tables]


@click.command("reproduce")
@click.argument("name", required=False, shell_complete=complete_from(list_table_names))
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path),
              metavar="DIR", help="Folder of the data sets.")  # fmt: skip
@click.option("--quick", is_flag=True, help="Fewer repeats.")
@click.option("--results", type=click.Path(dir_okay=False),
              help="File of finished pieces; an interrupted command goes on from it.")  # fmt: skip
@click.option("--html", type=click.Path(dir_okay=False), help="Write the tables as a page.")
@click.option("--store", is_flag=True, hidden=True, help="Keep the figures with the source.")
@console_options
def reproduce_command(
    name: str | None,
    data: Path | None,
    quick: bool,
    results: str | None,
    html: str | None,
    store: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run the tables of the papers behind the methods again, and see what holds.

    Without a NAME the tables are listed, with the data they need and whether --data has them. NAME
    is a table, such as wsvda/table3, or a source (a paper or thesis) with all of its tables.

    \b
    Examples:
      separatrix reproduce
      separatrix reproduce wsvda/table3 --data ~/data
      separatrix reproduce ldg --data ~/data --results ldg.jsonl --html ldg.html
    """
    from separatrix_papers.figures import DataFolder
    from separatrix_papers.rerun import find_oldest_date
    from separatrix_papers.results import store_results
    from separatrix_papers.tables import list_sources, select_tables

    console = Console(as_json, quiet)
    folder = DataFolder(data)
    if name is None:
        _print_tables(console, folder)
        return
    if store and quick:
        raise click.UsageError("--store keeps figures of full runs: leave out --quick")
    tables = select_tables(name, list_sources())
    check_outputs([html, results])
    cells, left_out = _rerun(console, tables, folder, quick, results)
    if not any(cells.values()):
        _refuse_without_data(name, tables, folder)
    if store:
        source = list_sources()[tables[0].source]
        date = find_oldest_date(results, [table.name for table in tables])
        store_results(source, {table.id: cells[table.name] for table in tables}, date)
        console.note(f"Kept with the source: {', '.join(table.name for table in tables)}")
    _print_verdicts(console, tables, cells, left_out, html)


def _rerun(
    console: Console, tables: Sequence[Any], data: Any, quick: bool, results: str | None
) -> tuple[Mapping[str, Any], Mapping[str, Mapping[str, str]]]:
    """`rerun` with a progress bar, and a note if it is interrupted."""
    from separatrix_papers.rerun import rerun

    try:
        with console.progress("reproduce") as update:
            return rerun(
                tables,
                data,
                quick=quick,
                results=results,
                progress=lambda now: update(now.done, now.total, f"{now.table} {now.row}"),
            )
    except KeyboardInterrupt:
        if results is not None:
            console.note(f"What is done is in {results}: the same command goes on with it.")
        raise


def _refuse_without_data(name: str, tables: Iterable[Any], data: Any) -> None:
    """Say which data sets are needed: without them nothing could be run."""
    needed = dict.fromkeys(need for table in tables for need in table.needs)
    where = "name their folder (--data)" if data.folder is None else f"not in {data.folder}"
    raise ValueError(f"{name} needs the data sets {', '.join(needed)}: {where}")


def _print_tables(console: Console, data: Any) -> None:
    """All tables, the data they need and the time they take."""
    from separatrix_papers.tables import list_sources, read_tables

    records, rows = [], []
    for folder in list_sources().values():
        for table in read_tables(folder):
            has = {need: data.has(need) for need in table.needs}
            records.append(
                {
                    "table": table.name,
                    "title": table.title,
                    "page": table.page,
                    "needs": has,
                    "minutes": table.minutes,
                    "minutes_quick": table.minutes_quick,
                }
            )
            needs = ", ".join(
                f"{need}{'' if there else ' (not found)'}" for need, there in has.items()
            )
            time = f"{table.minutes:g} ({table.minutes_quick:g})"
            rows.append([table.name, table.title, needs or "generated", time])
    heads = ["table", "title", "data", "minutes (--quick)"]
    console.result({"tables": records}, format_columns(heads, rows))


def _print_verdicts(
    console: Console,
    tables: Sequence[Any],
    cells: Mapping[str, Any],
    left_out: Mapping[str, Mapping[str, str]],
    html: str | None,
) -> None:
    """The verdicts in the terminal, as JSON, and as a page."""
    from separatrix_papers.scoring import build_record
    from separatrix_papers.show import format_text, render_page

    records = [build_record(t, cells[t.name], left_out[t.name]) for t in tables]
    record: dict[str, Any] = {"tables": records}
    text = "\n\n".join(map(format_text, records))
    if html is not None:
        from separatrix.files.whole import write_whole

        write_whole(html, render_page("What was printed, run again", records).encode())
        record["html"] = str(Path(html).absolute())
        text += f"\n\nThe page is {record['html']}"
    console.result(record, text)
