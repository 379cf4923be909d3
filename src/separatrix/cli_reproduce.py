"""The command that runs the tables of the sources again."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from separatrix import console
from separatrix.cli_models import refuse_unwritable
from separatrix.console import Console, talking

PACKAGE = "separatrix.papers"


def papers() -> Any:
    """The package of the reruns: inside an installed package, beside ``src`` in a clone."""
    if PACKAGE in sys.modules:
        return sys.modules[PACKAGE]
    here = Path(__file__).parent
    for folder in (here / "papers", here.parent.parent / "benchmarks" / "papers"):
        if (folder / "__init__.py").is_file():
            spec = importlib.util.spec_from_file_location(
                PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
            )
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[PACKAGE] = module
            spec.loader.exec_module(module)
            return module
    raise ImportError("the tables of the sources are not part of this installation")


def part(name: str) -> Any:
    """A module of the package of the reruns."""
    papers()
    return importlib.import_module(f"{PACKAGE}.{name}")


def table_names() -> list[str]:
    """All that the command takes."""
    folders = papers().sources()
    tables = [table.name for folder in folders.values() for table in papers().tables_of(folder)]
    return [*folders, *tables]


@click.command()
@click.argument("name", required=False, shell_complete=console.names_completed(table_names))
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
    found = papers()
    reads = found.Data(data)
    if name is None:
        listed(talk, found, reads)
        return
    tables = found.chosen(name, found.sources())
    refuse_missing(name, tables, reads)
    refuse_unwritable(html, "")
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
    talk.result({"tables": records}, console.columns(heads, rows))


def told(
    talk: Console,
    tables: Sequence[Any],
    cells: Mapping[str, Any],
    left_out: Mapping[str, Mapping[str, str]],
    html: str | None,
) -> None:
    """The verdicts in the terminal, as JSON, and as a page."""
    show = part("show")
    records = [part("compare").record(t, cells[t.name], left_out[t.name]) for t in tables]
    record: dict[str, Any] = {"tables": records}
    text = "\n\n".join(map(show.as_text, records))
    if html is not None:
        from separatrix.persist import write_whole

        write_whole(html, show.page("What was printed, run again", records).encode())
        record["html"] = str(Path(html).absolute())
        text += f"\n\nThe page is {record['html']}"
    talk.result(record, text)
