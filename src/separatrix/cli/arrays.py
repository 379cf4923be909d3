"""Fitting to two files of NumPy in one pass: ``fit rows.npy --labels labels.npy``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from separatrix.cli.console import Console

labels_option = click.option(
    "--labels",
    type=click.Path(dir_okay=False),
    metavar="FILE.npy",
    help="Labels of the rows in DATA, a .npy file; both are read a part at a time.",
)


def fit_arrays(
    console: Console, data: str, labels: str, estimator: Any, decision: str, scale: bool
) -> tuple[Any, int]:
    """A model of rows that are never all in memory, read once, and their number."""
    import numpy as np

    from separatrix.base.prepared import put_behind_scaler
    from separatrix.files.arrays import open_labelled_arrays
    from separatrix.files.tables import check_label_column

    _check_needs_no_rows(estimator, decision)
    table = open_labelled_arrays(data, labels)
    check_label_column(table.labels, labels)
    classes, done = np.unique(table.labels), 0
    with console.progress("fit") as update:
        for rows, names in table.batches():
            estimator.partial_fit(rows, names, classes=classes)
            done += len(names)
            update(done, table.shape[0], f"{done} rows")
    return put_behind_scaler(estimator) if scale else estimator, done


def _check_needs_no_rows(estimator: Any, decision: str) -> None:
    if decision != "own" or not hasattr(estimator, "summarize_known"):
        raise ValueError(
            f"{type(estimator).__name__}{'' if decision == 'own' else f' with {decision}'} looks "
            "at all rows together: a .npy file is read a part at a time, for methods of class "
            "moments such as FisherDiscriminant. For others write numpy.savez('a.npz', X=X, y=y)"
        )


def check_arrays(data: str, labels: str | None, options: Mapping[str, Any]) -> None:
    """Raise for options that do not go with files of NumPy."""
    if labels is None and data.endswith(".npy"):
        raise ValueError(f"{data} has rows and no labels: give these, too (--labels labels.npy)")
    if labels is None:
        return
    if not (data.endswith(".npy") and labels.endswith(".npy")):
        raise ValueError("--labels belongs to rows in a .npy file, and is one itself")
    for name, default in {
        "target": None,
        "tune": False,
        "clip": None,
        "engine": "memory",
        "missing": "refuse",
        "categorical": "refuse",
    }.items():
        if options[name] != default:
            raise click.UsageError(f"--{name} does not go with --labels: leave it out")
