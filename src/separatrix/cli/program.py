"""The program: the group of all commands, in the order of their files."""

from __future__ import annotations

import click

from separatrix import __version__
from separatrix.cli.apply import predict_command, transform_command
from separatrix.cli.compare import compare_command
from separatrix.cli.console import CommandGroup
from separatrix.cli.early import early_command
from separatrix.cli.epochs import epochs_command
from separatrix.cli.fit import fit_command
from separatrix.cli.forget import forget_command
from separatrix.cli.info import info_command
from separatrix.cli.listings import datasets_command, methods_command
from separatrix.cli.merge import merge_command
from separatrix.cli.reproduce import reproduce_command
from separatrix.cli.stream import stream_command

# Numerics are imported inside the commands: help must not wait for them.


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def program(debug: bool) -> None:
    """Find the subspace that separates your classes, and keep a model that uses it.

    \b
    Examples:
      separatrix compare wine --report wine.html
      separatrix fit flowers.csv --target kind -o flowers.model
      separatrix predict flowers.model new.csv

    Exit codes: 0 done, 1 the data or a file is at fault, 2 wrong usage, 70 a fault of the program,
    130 interrupted by Ctrl-C or SIGTERM, 141 nobody reads the output.
    """


for command in (
    compare_command,
    fit_command,
    predict_command,
    transform_command,
    info_command,
    merge_command,
    forget_command,
    stream_command,
    early_command,
    epochs_command,
    methods_command,
    datasets_command,
    reproduce_command,
):
    program.add_command(command)
