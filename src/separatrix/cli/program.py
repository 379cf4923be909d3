"""The program: the group of all commands, in the order of their files."""

from __future__ import annotations

import os
from typing import Any

import click

from separatrix import __version__
from separatrix.cli.apply import predict_command, transform_command
from separatrix.cli.compare import compare_command
from separatrix.cli.console import CommandGroup
from separatrix.cli.early import early_command
from separatrix.cli.epochs import epochs_command
from separatrix.cli.error import error_command
from separatrix.cli.export import export_command
from separatrix.cli.features import features_command
from separatrix.cli.fit import fit_command
from separatrix.cli.forget import forget_command
from separatrix.cli.info import info_command
from separatrix.cli.listings import datasets_command, methods_command
from separatrix.cli.look import look_command
from separatrix.cli.merge import merge_command
from separatrix.cli.plot import plot_command
from separatrix.cli.stream import stream_command

# Numerics are imported inside the commands: help must not wait for them.


PLUGINS = "separatrix.commands"
"""The entry points by which other distributions bring commands."""

ELSEWHERE = {"reproduce": "separatrix-papers"}
"""Commands of distributions of this repository, to say which one is not installed."""


class Program(CommandGroup):
    """The commands of this package, and those that other distributions bring."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Own commands first."""
        return [*super().list_commands(ctx), *sorted(self._find_plugins())]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name; entry points are read only for one that is not ours."""
        own = super().get_command(ctx, cmd_name)
        if own is not None or cmd_name not in (plugins := self._find_plugins()):
            return own
        command: click.Command = plugins[cmd_name].load()
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command to run; an error that names the distribution of one that is missing."""
        name = args[0]
        if name in ELSEWHERE and self.get_command(ctx, name) is None:
            ctx.fail(f"the command {name} comes with {ELSEWHERE[name]}: install it "
                     "(pip install ./papers in a clone of the repository)")  # fmt: skip
        return super().resolve_command(ctx, args)

    def _find_plugins(self) -> dict[str, Any]:
        from importlib.metadata import entry_points  # takes longer than all of this module

        plugins = {point.name: point for point in entry_points(group=PLUGINS)}
        return {name: point for name, point in plugins.items() if name not in self.commands}


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option("-v", "--verbose", is_flag=True, help="Show what the library logs.")
@click.option(
    "--log-json",
    is_flag=True,
    help="Write notes, warnings, progress and errors as JSON, one event a line.",
)
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Colours; auto is on a terminal, unless NO_COLOR is set.  [default: auto]",
)
@click.pass_context
def program(
    ctx: click.Context, debug: bool, verbose: bool, log_json: bool, color: str
) -> None:  # fmt: skip
    """Find the subspace that separates your classes, and keep a model that uses it.

    \b
    Examples:
      separatrix look flowers.csv
      separatrix compare wine --report wine.html
      separatrix fit flowers.csv --target kind -o flowers.model
      separatrix predict flowers.model new.csv

    Exit codes: 0 done, 1 the data or a file is at fault, 2 wrong usage, 70 a fault of the program,
    130 interrupted by Ctrl-C or SIGTERM, 141 nobody reads the output.
    """
    never = color == "never" or (color == "auto" and bool(os.environ.get("NO_COLOR")))
    ctx.color = True if color == "always" else False if never else None
    if verbose:
        import logging

        logging.basicConfig(format="%(name)s: %(message)s")
        logging.getLogger("separatrix").setLevel(logging.DEBUG)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the script that completes commands in a shell.

    \b
    Examples:
      separatrix completion bash >> ~/.bashrc
      separatrix completion fish > ~/.config/fish/completions/separatrix.fish
    """
    from click.shell_completion import get_completion_class

    cls = get_completion_class(shell)
    assert cls is not None, "the choices are shells that click knows"
    click.echo(cls(program, {}, "separatrix", "_SEPARATRIX_COMPLETE").source())


for command in (
    look_command,
    compare_command,
    fit_command,
    predict_command,
    transform_command,
    info_command,
    error_command,
    features_command,
    plot_command,
    export_command,
    merge_command,
    forget_command,
    stream_command,
    early_command,
    epochs_command,
    methods_command,
    datasets_command,
    completion_command,
):
    program.add_command(command)
