"""Fitting to files larger than memory, block by block with Dask: ``fit --engine dask``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import click

from separatrix.cli.console import Console

BLOCK_READING = ("ignore", "form", "sep", "header")
"""Options that say how blocks are read."""

engine_option = click.option(
    "--engine",
    type=click.Choice(["memory", "dask"]),
    default="memory",
    show_default=True,
    help="Read the table whole, or block by block with Dask: also directories, patterns, zarr.",
)


def fit_blocks(
    console: Console, data: str, estimator: Any, decision: str, options: Mapping[str, Any]
) -> tuple[Any, str, int]:
    """A model of rows that are never all in memory, the column of labels, and the number of rows.

    Rows are read once for their scale, then as often as the method needs.
    """
    from sklearn.pipeline import make_pipeline

    from separatrix.files.dask_tables import import_dask, open_table, scale_table
    from separatrix.files.tables import check_no_fractions

    import_dask()
    _check_needs_no_rows(estimator, decision, options)
    table = open_table(data, **{name: options[name] for name in ("target", *BLOCK_READING)})
    target = table.target
    with _progress_bar(console):
        scaler = None
        if options["scale"]:
            scaler, table = scale_table(table)
        n_rows = int(estimator.fit(table.X, table.y).n_samples_seen_)
    check_no_fractions(estimator.classes_, target)
    return estimator if scaler is None else make_pipeline(scaler, estimator), target, n_rows


def _progress_bar(console: Console) -> Any:
    """Dask's own bar, on a terminal."""
    from dask.diagnostics import ProgressBar

    shown = not console.quiet and sys.stderr.isatty()
    return ProgressBar(out=sys.stderr) if shown else nullcontext()


def _check_needs_no_rows(estimator: Any, decision: str, options: Mapping[str, Any]) -> None:
    """Raise for requests that need all rows in memory."""
    if not getattr(estimator, "_accepts_blocks", False):
        raise ValueError(
            f"{type(estimator).__name__} looks at all rows together: --engine dask fits methods "
            f"that need class moments only, {', '.join(_list_block_methods())}"
        )
    if decision != "own":
        raise ValueError(f"--decision {decision} needs rows in memory: leave it out, or --engine")
    others = {"text": (), "decimal": ".", "thousands": None, "transposed": False}
    for option, usual in others.items():
        if options[option] != usual:
            raise ValueError(f"--{option} needs rows in memory: leave it out, or --engine")
    for option in ("missing", "categorical"):
        if options[option] != "refuse":
            raise ValueError(
                f"--{option} {options[option]} needs rows in memory: mend the files first, or "
                "leave out --engine"
            )


def _list_block_methods() -> list[str]:
    import separatrix

    found = {name: getattr(separatrix, name) for name in separatrix.__all__}
    return [name for name, kind in found.items() if getattr(kind, "_accepts_blocks", False)]
