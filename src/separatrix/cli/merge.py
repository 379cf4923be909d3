"""The command that merges models that were trained apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.inputs import read_model
from separatrix.cli.options import console_options, output_option
from separatrix.cli.output import check_outputs


@click.command("merge")
@click.argument("models", nargs=-1, required=True, type=click.Path())
@output_option("File for the merged model.", required=True)
@console_options
def merge_command(models: Sequence[str], output: str, as_json: bool, quiet: bool) -> None:
    """Make one model of several that were trained apart: the model of all their rows.

    For FisherDiscriminant, IPCAC, TruncatedIPCAC and OnlineIPCAC that were fitted with --no-scale
    to the same columns, or by `stream`.

    \b
    Examples:
      separatrix merge site1.model site2.model -o all.model
    """
    from separatrix.base.merging import merge
    from separatrix.io.models import save

    console = Console(as_json, quiet)
    check_outputs([output], inputs=models)
    _check_repetition(models)
    stored = [read_model(path) for path in models]
    for path, site in zip(models, stored, strict=True):
        _check_mergeable(path, site.model)
    if len(models) < 2:
        raise click.UsageError(f"{models[0]} is one model: give two or more to be merged")
    try:
        model = merge([site.model for site in stored])
    except ValueError as error:
        numbered = ", ".join(f"model {i} is {path}" for i, path in enumerate(models))
        raise ValueError(f"{error} ({numbered})") from None
    rows = sum(site.notes.get("rows", 0) for site in stored)
    # a merged model belongs to no single stream: nothing could be resumed
    notes = {k: v for k, v in stored[0].notes.items() if k not in ("stream", "head")}
    save(model, output, notes={**notes, "rows": rows})
    console.done(
        {"model": output, "merged": list(models), "rows": rows},
        f"{len(models)} models of {rows} rows are merged: {output}",
    )


def _check_repetition(models: Sequence[str]) -> None:
    for i, path in enumerate(models):
        for other in models[:i]:
            if Path(path).exists() and Path(other).exists() and Path(path).samefile(other):
                raise ValueError(f"{path} is named twice: its rows would count twice")


def _check_mergeable(path: str, model: Any) -> None:
    if hasattr(model, "steps"):
        raise ValueError(
            f"{path} scales its columns by its own rows, so its numbers are not those of "
            "other models: fit models to be merged with --no-scale, and without text columns"
        )
    if not getattr(model, "_merges", False):
        raise ValueError(f"{path} is a {type(model).__name__}, which cannot be merged: see --help")
