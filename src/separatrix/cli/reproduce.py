"""The command that runs the tables of the sources again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.options import names_completed, talking
from separatrix.cli.output import check_outputs
from separatrix.io.text import format_columns


def table_names() -> list[str]:
    """All that the command takes."""
    from separatrix import papers

    folders = papers.sources()
    tables = [table.name for folder in folders.values() for table in papers.tables_of(folder)]
    return [*folders, *tables]


@click.command()
@click.argument("name", required=False, shell_complete=names_completed(table_names))
@click.option("--data", type=click.Path(exists=True, file_okay=False, path_type=Path),
              metavar="DIR", help="Folder of the data sets.")  # fmt: skip
@click.option("--quick", is_flag=True, help="Fewer repeats.")
@click.option("--results", type=click.Path(dir_okay=False), help="Keep finished pieces; go on.")
@click.option("--html", type=click.Path(dir_okay=False), help="Write the tables as a page.")
@click.option("--store", is_flag=True, hidden=True, help="Keep the figures with the source.")
@talking
def reproduce(
    name: str | None,
    data: Path | None,
    quick: bool,
    results: str | None,
    html: str | None,
    store: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run what the sources of the methods printed again, and see what holds.

    Without a NAME the tables are listed, with the data they need and whether --data has them. NAME
    is a table, such as wsvda/table3, or a source with all of its tables.

    \b
    Examples:
      separatrix reproduce
      separatrix reproduce wsvda/table3 --data ~/data
      separatrix reproduce ldg --data ~/data --results ldg.jsonl --html ldg.html
    """
    talk = Console(as_json, quiet)
    from separatrix import papers as found

    reads: Any = found.Data(data)
    if name is None:
        listed(talk, found, reads)
        return
    tables = found.chosen(name, found.sources())
    refuse_missing(name, tables, reads)
    check_outputs([html, results])
    try:
        with talk.progress("reproduce") as shown:
            cells, left_out = found.rerun(
                tables,
                reads,
                quick=quick,
                results=results,
                progress=lambda now: shown(now.done, now.total, f"{now.table} {now.row}"),
            )
    except KeyboardInterrupt:
        if results is not None:
            talk.note(f"What is done is in {results}: the same command goes on with it.")
        raise
    if store:
        folder = found.sources()[tables[0].source]
        found.store(folder, {table.id: cells[table.name] for table in tables})
    told(talk, tables, cells, left_out, html)


def refuse_missing(name: str, tables: Iterable[Any], reads: Any) -> None:
    """Tables that need data of which there are none."""
    needed = dict.fromkeys(need for table in tables for need in table.needs)
    free = [table for table in tables if not table.needs]
    if needed and not free and not any(map(reads.has, needed)):
        where = "name their folder (--data)" if reads.folder is None else f"not in {reads.folder}"
        raise ValueError(f"{name} needs the data sets {', '.join(needed)}: {where}")


def listed(talk: Console, found: Any, reads: Any) -> None:
    """All tables, what they need and how long they take."""
    records, rows = [], []
    for folder in found.sources().values():
        for table in found.tables_of(folder):
            has = {need: reads.has(need) for need in table.needs}
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
            data = ", ".join(
                f"{need}{'' if there else ' (not found)'}" for need, there in has.items()
            )
            time = f"{table.minutes:g} ({table.minutes_quick:g})"
            rows.append([table.name, table.title, data or "generated", time])
    heads = ["table", "what", "data", "minutes (--quick)"]
    talk.result({"tables": records}, format_columns(heads, rows))


def told(
    talk: Console,
    tables: Sequence[Any],
    cells: Mapping[str, Any],
    left_out: Mapping[str, Mapping[str, str]],
    html: str | None,
) -> None:
    """The verdicts in the terminal, as JSON, and as a page."""
    from separatrix.papers import compare, show

    records = [compare.record(t, cells[t.name], left_out[t.name]) for t in tables]
    record: dict[str, Any] = {"tables": records}
    text = "\n\n".join(map(show.as_text, records))
    if html is not None:
        from separatrix.io.models import write_whole

        write_whole(html, show.page("What was printed, run again", records).encode())
        record["html"] = str(Path(html).absolute())
        text += f"\n\nThe page is {record['html']}"
    talk.result(record, text)
