"""`fit` for files larger than memory, by Dask."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import click

from separatrix.cli.console import Console

engine = click.option(
    "--engine",
    type=click.Choice(["memory", "dask"]),
    default="memory",
    show_default=True,
    help="Read the table whole, or block by block with Dask: also directories, patterns, zarr.",
)


def fitted(
    talk: Console, data: str, estimator: Any, decision: str, how: Mapping[str, Any]
) -> tuple[Any, str, int]:
    """A model of rows that are never all in memory, the column of labels, and how many rows.

    The passes over the rows that the method needs, and one before them for their scale.
    """
    from sklearn.pipeline import make_pipeline

    from separatrix.io.dask_tables import import_dask, open_table, scale_table
    from separatrix.io.tables import check_no_fractions

    import_dask()
    _refuse_what_needs_rows(estimator, decision, how)
    names = ("target", "ignore", "form", "sep", "header")
    table = open_table(data, **{name: how[name] for name in names})
    target = table.target
    with _bar(talk):
        scaler = None
        if how["scale"]:
            scaler, table = scale_table(table)
        rows = int(estimator._fit_blocks(table.X, table.y, None))
    check_no_fractions(estimator.classes_, target)
    return estimator if scaler is None else make_pipeline(scaler, estimator), target, rows


def _bar(talk: Console) -> Any:
    """Dask's own bar, on a terminal."""
    from dask.diagnostics import ProgressBar

    shown = not talk.quiet and sys.stderr.isatty()
    return ProgressBar(out=sys.stderr) if shown else nullcontext()


def _refuse_what_needs_rows(estimator: Any, decision: str, how: Mapping[str, Any]) -> None:
    """Raise for what cannot be done block by block."""
    name = type(estimator).__name__
    if not getattr(estimator, "_accepts_blocks", False):
        raise ValueError(
            f"{name} looks at all rows together: --engine dask fits methods that need class "
            f"moments only, {', '.join(_block_methods())}"
        )
    if decision != "own":
        raise ValueError(f"--decision {decision} needs rows in memory: leave it out, or --engine")
    for option in ("missing", "categorical"):
        if how[option] != "refuse":
            raise ValueError(
                f"--{option} {how[option]} needs rows in memory: mend the files first, or leave "
                "out --engine"
            )


def _block_methods() -> list[str]:
    from separatrix import public

    found = {name: getattr(public, name) for name in public.__all__}
    return [name for name, kind in found.items() if getattr(kind, "_accepts_blocks", False)]
