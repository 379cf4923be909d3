"""The command that says how often a model will be wrong on new rows, from its moments."""

from __future__ import annotations

import math
from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.inputs import read_model
from separatrix.cli.options import console_options, model_argument


@click.command("error")
@model_argument
@click.option("--rows", type=click.FloatRange(1), metavar="N",
              help="Also estimate the error with N rows in all.")  # fmt: skip
@click.option("--goal", type=click.FloatRange(0, 1, min_open=True, max_open=True), metavar="E",
              help="Say how many rows it takes to reach this error, such as 0.05.")  # fmt: skip
@click.option("--confidence", type=click.FloatRange(0, 1, min_open=True, max_open=True),
              default=0.95, show_default=True, help="Confidence of the interval.")  # fmt: skip
@console_options
def error_command(
    model: str,
    rows: float | None,
    goal: float | None,
    confidence: float,
    as_json: bool,
    quiet: bool,
) -> None:
    """Estimate the error of a model of class moments on new rows, from the model alone.

    The estimate is for the linear rule with its best ridge. Where moments are not enough, the
    command says why.

    \b
    Examples:
      separatrix error all.model
      separatrix error all.model --rows 5000
      separatrix error all.model --goal 0.05
    """
    from separatrix.insight import expected_error, rows_needed

    source = read_model(model).model
    expected = expected_error(source, n=rows, confidence=confidence)
    record: dict[str, Any] = {"model": model, "rows": rows, **expected._asdict()}
    at = "" if rows is None else f" with {rows:g} rows"
    lines = [f"{model}: {say_expected_error(expected, confidence)}{at}"]
    if goal is not None:
        needed = rows_needed(source, goal)
        record |= {"goal": goal, "rows_needed": needed}
        lines.append(
            f"{100 * goal:g} % are expected with {needed:g} rows"
            if math.isfinite(needed)
            else f"{100 * goal:g} % are not expected with any number of rows"
        )
    Console(as_json, quiet).result(record, "\n".join(lines))


def say_expected_error(expected: Any, confidence: float = 0.95) -> str:
    """An expected error in words."""
    low, error, high = (100 * share for share in (expected.low, expected.error, expected.high))
    if not expected.known:
        return f"Expected error: not known from moments (about {error:.1f} %): {expected.why}"
    return f"Expected error: {error:.1f} % ({low:.1f} to {high:.1f} %, confidence {confidence:g})"


def note_expected_error(model: Any) -> str | None:
    """The expected error of a model in words; None where it has no linear rule of moments."""
    from separatrix.evaluate.contents import find_method
    from separatrix.insight import expected_error

    if getattr(find_method(model)[1], "coef_", None) is None:
        return None
    try:
        return say_expected_error(expected_error(model))
    except ValueError:
        return None
