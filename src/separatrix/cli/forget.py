"""The command that takes rows out of a model, and certifies it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.inputs import read_model_and_rows
from separatrix.cli.options import (
    DATA_HELP,
    console_options,
    data_argument,
    data_options,
    model_argument,
    output_option,
)
from separatrix.cli.output import check_outputs
from separatrix.files.reading import Reading


@click.command("forget", epilog=DATA_HELP)
@model_argument
@data_argument
@output_option("File for the model without the rows.", required=True)
@click.option("--certificate", type=click.Path(dir_okay=False), metavar="FILE",
              help="JSON file with hashes, counts and the bound on the error.")  # fmt: skip
@data_options
@console_options
def forget_command(
    model: str,
    data: str,
    output: str,
    certificate: str | None,
    as_json: bool,
    quiet: bool,
    reading: Reading,
) -> None:
    """Take rows out of a model: the result is the model that never saw them.

    DATA has the rows as they were learned, with their labels. A model keeps statistics and no
    rows: rows that it cannot have learned are an error, and so is a table that it has forgotten
    before; other rows that it never learned are not noticed. The old file is not changed: remove
    it and its copies.

    \b
    Examples:
      separatrix forget wine.model patient17.csv -o wine2.model --certificate patient17.json
    """
    from separatrix.base.prepared import forget
    from separatrix.files.model import save, write_whole

    console = Console(as_json, quiet)
    check_outputs([output, certificate], inputs=[model, data])
    stored, table = read_model_and_rows(console, model, data, reading)
    if table.y is None:
        raise ValueError(
            f"{data} has no labels in a column {stored.notes.get('target')!r}: rows are forgotten "
            f"with their labels. {table.unlabelled}".strip()
        )
    digest = hash_rows(table)
    _check_learned(stored, table, digest, model, data)
    try:
        found = forget(stored.model, table.X, table.y)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{data} cannot be taken out of {model}: {error}") from None
    rows = round(sum(found.after.values()))
    notes = {k: v for k, v in stored.notes.items() if k not in ("stream", "head")}
    notes["forgotten"] = [*notes.get("forgotten", []), digest]
    save(found.model, output, notes={**notes, "rows": rows})
    record = {"model": output, "forgotten": len(table.y), "rows": rows, "residual": found.residual}
    if certificate is not None:
        content = certify(model, data, output, table, found)
        write_whole(certificate, json.dumps(content, indent=2, ensure_ascii=False).encode())
        record["certificate"] = certificate
    gone = [str(label) for label in found.before if label not in found.after]
    classes = f"; nothing is left of class {', '.join(gone)}" if gone else ""
    console.done(
        record,
        f"{len(table.y)} rows are forgotten, {rows} are left{classes}: {output}\n"
        "If they were learned before, it is the model that never saw them: the relative error of "
        f"its scatter is {found.residual:.1e}",
    )


def _check_learned(stored: Any, table: Any, digest: str, model: str, data: str) -> None:
    """Raise for rows that the model has forgotten before, and for labels that it never learned."""
    if digest in stored.notes.get("forgotten", []):
        raise ValueError(f"{model} has forgotten the rows of {data} before: they are not in it")
    known = {str(label) for label in getattr(stored.model, "classes_", table.y)}
    strange = sorted(set(map(str, table.y)) - known)
    if strange:
        raise ValueError(
            f"{data} has labels that {model} never learned: {', '.join(map(repr, strange[:5]))}. "
            "Only rows that were learned can be forgotten"
        )


def certify(model: str, data: str, output: str, table: Any, found: Any) -> dict[str, Any]:
    """What was done, so that others can check it with the files at hand."""
    from separatrix import __version__

    return {
        "statement": "the rows were subtracted from the statistics of the model; if they were "
        "among those it had learned, the new model is the one that never saw them, up to the "
        "residual",
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "separatrix": __version__,
        "model_before": {"file": Path(model).name, "sha256": hash_file(model)},
        "model_after": {"file": Path(output).name, "sha256": hash_file(output)},
        "rows": {
            "file": Path(data).name if Path(data).exists() else data,
            "sha256": hash_rows(table),
            "count": len(table.y),
        },
        "counts_before": _by_text(found.before),
        "counts_after": _by_text(found.after),
        "residual": found.residual,
    }


def _by_text(counts: Mapping[Any, float]) -> dict[str, float]:
    return {str(label): count for label, count in counts.items()}


def hash_file(path: str) -> str:
    """The SHA-256 checksum of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_rows(table: Any) -> str:
    """The SHA-256 checksum of features and labels as csv, whatever the format of their file."""
    import pandas as pd

    frame = pd.DataFrame(table.X).assign(**{"": table.y})
    return hashlib.sha256(frame.to_csv(index=False, lineterminator="\n").encode()).hexdigest()
