"""The command that writes a linear model for other programs."""

from __future__ import annotations

import click

from separatrix.cli.console import Console
from separatrix.cli.inputs import read_model
from separatrix.cli.options import console_options, model_argument, output_option
from separatrix.cli.output import check_outputs


@click.command("export")
@model_argument
@output_option("File (.json, .csv, .onnx, .sql).", required=True)
@click.option("--dialect", type=click.Choice(["duckdb", "postgresql", "sqlite"]),
              default="duckdb", show_default=True,
              help="The database that a query is for.")  # fmt: skip
@click.option("--table", default="rows", show_default=True, help="The table that a query reads.")
@console_options
def export_command(
    model: str, output: str, dialect: str, table: str, as_json: bool, quiet: bool
) -> None:
    """Write a linear model, with its scaler, in a form that other programs read.

    \b
    Examples:
      separatrix export wine.model -o wine.json
      separatrix export visits.model -o visits.sql --dialect postgresql --table visits
    """
    from separatrix.base.export import export

    console = Console(as_json, quiet)
    check_outputs([output], inputs=[model])
    export(read_model(model).model, output, dialect=dialect, table=table)
    console.done({"model": model, "exported": output}, f"{model} is exported: {output}")
