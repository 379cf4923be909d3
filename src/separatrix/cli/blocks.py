"""Fitting to rows that are never all in memory: files of NumPy, and blocks of files with Dask."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.files.reading import Reading

ROWS_AT_ONCE = 16384
"""Rows of a file of NumPy that are read and summarized together."""

engine_option = click.option(
    "--engine",
    type=click.Choice(["memory", "dask"]),
    default="memory",
    show_default=True,
    help="Read the table whole, or block by block with Dask: also directories, patterns, zarr.",
)


NEEDS_ROWS = {
    "tune": False,
    "clip": None,
    "remember": False,
    "rows": "",
    "categorical": "refuse",
    "missing": "refuse",
}
"""Options of `fit` that look at rows in memory unless they have these values."""


def one_pass_suffices(
    data: str, reading: Reading, estimator: Any, decision: str, options: Mapping[str, Any]
) -> bool:
    """Whether rows are in a file of NumPy, and a method needs their moments only."""
    if not data.endswith(".npy") or reading.labels is None or reading.samples or reading.text:
        return False
    plain = all(options[name] == usual for name, usual in NEEDS_ROWS.items())
    return plain and decision == "own" and hasattr(estimator, "summarize_known")


def fit_arrays(
    console: Console, data: str, reading: Reading, estimator: Any, scale: bool
) -> tuple[Any, str, int]:
    """A model of rows of a file of NumPy, read once, the labels' name, and the number of rows.

    The model knows its features by their places.
    """
    import numpy as np

    from separatrix.base.prepared import put_behind_scaler
    from separatrix.files.formats import frame_from_rows, open_array
    from separatrix.files.samples import LABELS, read_labels
    from separatrix.files.tables import check_label_column

    rows = open_array(data)
    frame_from_rows(rows[:1] if rows.ndim else rows, data)
    labels = read_labels(str(reading.labels), len(rows), data)
    check_label_column(labels, reading.labels)
    classes, n_rows = np.unique(labels), len(rows)
    with console.progress("fit") as update:
        for start in range(0, n_rows, ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            # mapped anew for each part: pages of the parts before count as memory otherwise
            X = frame_from_rows(np.array(open_array(data)[part]), data).to_numpy()
            X = X if X.dtype == np.float32 else X.astype(np.float64)
            estimator.partial_fit(X, labels[part], classes=classes)
            done = min(start + ROWS_AT_ONCE, n_rows)
            update(done, n_rows, f"{done} rows")
    return put_behind_scaler(estimator) if scale else estimator, LABELS, n_rows


def fit_blocks(
    console: Console,
    data: str,
    reading: Reading,
    estimator: Any,
    decision: str,
    options: Mapping[str, Any],
) -> tuple[Any, str, int]:
    """A model of blocks of rows, the column of labels, and the number of rows.

    Rows are read once for their scale, then as often as the method needs.
    """
    from sklearn.pipeline import make_pipeline

    from separatrix.cli.inputs import note_columns
    from separatrix.files.columns import read_constant
    from separatrix.files.dask_tables import import_dask, open_table, scale_table
    from separatrix.files.preparation import fill_numbers
    from separatrix.files.tables import check_no_fractions

    import_dask()
    _check_needs_no_rows(estimator, decision, reading, options)
    fill = read_constant(options["missing"]) if options["missing"] != "refuse" else None
    table = open_table(data, reading, fill=fill)
    first, target = table.first, table.target
    note_columns(console, first, ["a"] * len(first))
    steps = []
    if fill is not None:
        steps.append(fill_numbers(options["missing"]).fit(first))
    with _progress_bar(console):
        if options["scale"]:
            scaler, table = scale_table(table)
            steps.append(scaler)
        n_rows = int(estimator.fit(table.X, table.y).n_samples_seen_)
    check_no_fractions(estimator.classes_, target)
    return make_pipeline(*steps, estimator) if steps else estimator, target, n_rows


def _progress_bar(console: Console) -> Any:
    """Dask's own bar, on a terminal."""
    from dask.diagnostics import ProgressBar

    shown = not console.quiet and sys.stderr.isatty()
    return ProgressBar(out=sys.stderr) if shown else nullcontext()


def _check_needs_no_rows(
    estimator: Any, decision: str, reading: Reading, options: Mapping[str, Any]
) -> None:
    """Raise for requests that need all rows in memory."""
    if not getattr(estimator, "_accepts_blocks", False):
        raise ValueError(
            f"{type(estimator).__name__} looks at all rows together: --engine dask fits methods "
            f"that need class moments only, {', '.join(_list_block_methods())}"
        )
    asked = {f"--{name} {options[name]}".removesuffix(" True"): options[name] != NEEDS_ROWS[name]
             for name in NEEDS_ROWS}  # fmt: skip
    asked |= {f"--decision {decision}": decision != "own", "--text": bool(reading.text)}
    if options["missing"].startswith("constant:"):
        asked.pop(f"--missing {options['missing']}")
    for option, is_asked in asked.items():
        if is_asked:
            raise click.UsageError(f"{option} needs rows in memory: leave it out, or --engine")


def _list_block_methods() -> list[str]:
    import separatrix

    classes = {name: getattr(separatrix, name) for name in separatrix.__all__}
    return [name for name, kind in classes.items() if getattr(kind, "_accepts_blocks", False)]
