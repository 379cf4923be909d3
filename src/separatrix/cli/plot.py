"""The command that draws a model, with rows it has not learned, as a file for a talk or paper."""

from __future__ import annotations

from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.inputs import read_model_and_rows
from separatrix.cli.options import (
    DATA_HELP,
    complete_data,
    console_options,
    data_options,
    model_argument,
    output_option,
)
from separatrix.cli.output import check_outputs
from separatrix.files.reading import Reading

KINDS = ("projection", "loadings", "roc", "calibration", "early", "stream")

PICTURE_SUFFIXES = (".svg", ".png", ".pdf")

THEMES: dict[str, dict[str, Any]] = {
    "screen": {"figure.figsize": (7.0, 5.0), "figure.dpi": 120, "savefig.dpi": 200},
    "paper": {
        "figure.figsize": (3.4, 2.7),
        "savefig.dpi": 600,
        "font.size": 8,
        "axes.linewidth": 0.6,
        "lines.linewidth": 1.0,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.fonttype": "none",
        "pdf.fonttype": 42,
    },
}
"""Settings of matplotlib: for a screen, and for a column of a paper, where text stays text."""


@click.command("plot", epilog=DATA_HELP)
@model_argument
@click.argument("data", required=False, shell_complete=complete_data)
@click.option("--kind", type=click.Choice(KINDS), default="projection", show_default=True,
              help="Kind of picture; all but loadings need DATA.")  # fmt: skip
@output_option("File of the picture (svg, png, pdf).", required=True)
@click.option("--theme", type=click.Choice(list(THEMES)), default="screen", show_default=True,
              help="Sizes for a screen, or for a column of a paper.")  # fmt: skip
@data_options
@console_options
def plot_command(
    model: str,
    data: str | None,
    kind: str,
    output: str,
    theme: str,
    as_json: bool,
    quiet: bool,
    reading: Reading,
) -> None:
    """Draw a model: rows in its directions, its features, or how often and how early it is right.

    DATA are rows with labels, preferably rows that the model has not learned.

    \b
    Examples:
      separatrix plot wine.model new.csv -o wine.svg
      separatrix plot genes.model --kind loadings -o genes.pdf --theme paper
      separatrix plot spam.model new.csv --kind roc -o roc.png
      separatrix plot eeg.model new.csv --kind early -o early.svg
    """
    console = Console(as_json, quiet)
    check_outputs([output], inputs=[model, data])
    if not output.lower().endswith(PICTURE_SUFFIXES):
        raise ValueError(f"{output} must end in one of {', '.join(PICTURE_SUFFIXES)}")
    if data is None and kind != "loadings":
        raise click.UsageError(f"--kind {kind} needs DATA: rows with labels")
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    settings: Any = {**THEMES[theme], "figure.constrained_layout.use": True}
    with plt.rc_context(settings):
        axes = _draw(console, model, data, kind, reading)
        axes.figure.savefig(output, bbox_inches="tight")
        plt.close(axes.figure)
    console.done({"picture": output, "kind": kind}, f"The picture is {output}")


def _draw(console: Console, model: str, data: str | None, kind: str, reading: Reading) -> Any:
    from separatrix import plots
    from separatrix.cli.inputs import read_model

    if data is None:
        return plots.plot_loadings(read_model(model).model)
    stored, table = read_model_and_rows(console, model, data, reading, [])
    if kind == "loadings":
        return plots.plot_loadings(stored.model)
    if table.y is None:
        raise ValueError(f"{data} has no labels to draw with: name their column (-t COL)")
    classes = getattr(stored.model, "classes_", table.y)
    y = table.y.astype(classes.dtype) if hasattr(classes, "dtype") else table.y
    if kind == "projection":
        return plots.plot_projection(stored.model, table.X, y)
    if kind == "roc":
        return plots.plot_roc(stored.model, table.X, y)
    if kind == "calibration":
        return plots.plot_calibration(stored.model, table.X, y)
    if kind == "early":
        return _draw_early(stored.model, table.X, y)
    return _draw_stream(stored.model, table.X, y)


def _draw_early(model: Any, X: Any, y: Any) -> Any:
    """Accuracy and earliness over the reliability that is asked for."""
    from separatrix import plots
    from separatrix.evaluate import reliability_curve

    if not hasattr(model, "decide_early"):
        raise ValueError("this model does not decide early: fit one with `separatrix early`")
    return plots.plot_reliability_curve({"model": reliability_curve(model, X, y)})


def _draw_stream(model: Any, X: Any, y: Any) -> Any:
    """The error of the method when it learns the rows in their order, tested first."""
    from sklearn.base import clone

    from separatrix import plots
    from separatrix.evaluate import prequential
    from separatrix.evaluate.contents import find_method

    before, method = find_method(model)
    if not hasattr(method, "partial_fit"):
        raise ValueError(f"{type(method).__name__} does not learn in batches: choose another kind")
    rows = X
    for step in before:
        rows = step.transform(rows)
    records = prequential(clone(method), rows, y, max(1, len(y) // N_BATCHES))
    return plots.plot_prequential({type(method).__name__: records})


N_BATCHES = 50
"""Batches into which the rows of a stream are cut for its picture."""
