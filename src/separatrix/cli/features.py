"""The command that selects features with the false discovery rate controlled."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.inputs import read_labelled_table, read_model
from separatrix.cli.options import (
    DATA_HELP,
    console_options,
    data_argument,
    data_options,
    output_option,
    preparation_options,
    seed_option,
)
from separatrix.cli.output import check_outputs, write_frame
from separatrix.files.reading import Reading


@click.command("features", epilog=DATA_HELP)
@data_argument
@click.option("--fdr", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.1,
              show_default=True,
              help="Largest expected share of false discoveries in the list.")  # fmt: skip
@output_option("File for the list (csv, tsv, parquet).")
@data_options
@preparation_options
@seed_option
@console_options
def features_command(
    data: str,
    fdr: float,
    output: str | None,
    seed: int,
    reading: Reading,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> None:
    """List features that differ between classes given all others, with few false discoveries.

    DATA may be the file of a model, such as one that `merge` made of several sites: no row is
    needed, as knock-offs of the features follow from class moments.

    \b
    Examples:
      separatrix features genes.csv -t kind --id sample --fdr 0.2
      separatrix features all.model -o selected.csv
      separatrix features "duckdb:trips/*.parquet" -t kind
    """
    from separatrix.insight import select_features

    console = Console(as_json, quiet)
    check_outputs([output] if output else [], inputs=[data])
    source = _read_source(console, data, reading, options)
    selected = select_features(source, fdr=fdr, random_state=seed)
    evidence = selected.statistic[selected.indices]
    if output is not None:
        import pandas as pd

        write_frame(pd.DataFrame({"feature": selected.names, "evidence": evidence}), output)
    record = {
        "features": selected.names,
        "evidence": evidence.tolist(),
        "fdr": fdr,
        "note": selected.note,
        "output": output,
    }
    n_features = len(selected.statistic)
    summary = f"{len(selected.names)} of {n_features} features: {selected.note}"
    lines = [] if output is not None else selected.names
    console.result(record, "\n".join([*lines, summary]))


def _read_source(console: Console, data: str, reading: Reading, options: Mapping[str, Any]) -> Any:
    """What has the moments: the model of a file, or one fitted to a table or a database."""
    from separatrix import FisherDiscriminant
    from separatrix.files.model import HEADER
    from separatrix.moments.sql import is_address

    if zipfile.is_zipfile(data):
        with zipfile.ZipFile(data) as archive:
            if HEADER in archive.namelist():
                return read_model(data).model
    if is_address(data):
        from separatrix.cli.databases import fit_database

        return fit_database(
            console, data, reading, FisherDiscriminant(shrinkage=None), options["scale"]
        )[0]
    from sklearn.pipeline import make_pipeline

    from separatrix.files.preparation import preprocessing

    table = read_labelled_table(console, data, reading)
    how = {name: options[name] for name in ("scale", "categorical", "missing")}
    steps = preprocessing(table.X, **how)
    return make_pipeline(steps, FisherDiscriminant(shrinkage=None)).fit(table.X, table.y)
