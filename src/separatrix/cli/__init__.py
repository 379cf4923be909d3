"""The command line: `main` is the command ``separatrix``."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command, by default the one that the process was started with."""
    try:
        from separatrix.cli.program import program
    except ModuleNotFoundError as error:
        if error.name != "click":
            raise
        sys.exit(
            "Error: the command line needs the package click, which is not installed: "
            "pip install 'separatrix[app]'"
        )
    except KeyboardInterrupt:  # Ctrl-C while modules are still being imported
        print("Error: interrupted", file=sys.stderr)
        sys.exit(130)
    program(arguments, prog_name="separatrix")
