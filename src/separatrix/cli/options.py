"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

# Options that several commands have ----------------------------------------------------------


def talking(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--json` and `--quiet`."""
    for option in (
        click.option("-q", "--quiet", is_flag=True, help="Show results and mistakes only."),
        click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    ):
        command = option(command)
    return command


form = click.option("--format", "form",
                    type=click.Choice(["csv", "tsv", "parquet", "npz", "arff"]),
                    help="Format, where the name of the file does not tell.")  # fmt: skip


def reading(command: Callable[..., Any]) -> Callable[..., Any]:
    """How a table is read."""
    for option in (
        click.option("--no-header", "header", is_flag=True, flag_value=False, default=True,
                     help="The first line has values, no names."),
        click.option("--sep", help="What stands between values, such as ';'."),
        form,
        click.option("--ignore", "--id", "ignore", multiple=True, metavar="COL",
                     help="Column that is no feature; may be repeated."),
    ):  # fmt: skip
        command = option(command)
    return command


def preparing(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is done to columns before a method sees them."""
    for option in (
        click.option("--missing", default="refuse", show_default=True,
                     type=click.Choice(["refuse", "mean", "median", "most_frequent"]),
                     help="Refuse gaps, or fill them by what training rows have."),
        click.option("--categorical", default="refuse", show_default=True,
                     type=click.Choice(["refuse", "onehot"]),
                     help="Refuse columns of text, or make a column of each value."),
        click.option("--scale/--no-scale", default=True, show_default=True,
                     help="Bring columns to mean 0 and variance 1 first."),
    ):  # fmt: skip
        command = option(command)
    return command


target = click.option(
    "-t", "--target", metavar="COL", help="Column of labels.  [default: the last]"
)
seed = click.option("--seed", type=click.IntRange(0), default=0, show_default=True,
                    help="Source of all randomness.")  # fmt: skip


def _some_jobs(ctx: click.Context, param: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("0 is none: give a number of processes, or -1 for one a core")
    return value


jobs = click.option("--jobs", type=int, default=1, show_default=True, callback=_some_jobs,
                    help="How many processes work at a time; -1 is one a core.")  # fmt: skip


def names_completed(list_names: Callable[[], Sequence[str]]) -> Callable[..., list[str]]:
    """Completion in the shell from names that are looked up when asked for."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{n}" for n in list_names() if n.lower().startswith(last.lower())]

    return complete
