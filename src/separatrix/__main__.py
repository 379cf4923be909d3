"""``python -m separatrix`` is the command line."""

from separatrix.cli.commands import main

main(prog_name="separatrix")
