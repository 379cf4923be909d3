"""A table as text for a terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any


def format_columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table as text, as wide as the terminal or as it needs to be."""
    from rich import box
    from rich.console import Console as Terminal
    from rich.table import Table

    table = Table(*names, box=box.SIMPLE, pad_edge=False)
    for row in rows:
        table.add_row(*map(str, row))
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    terminal = Terminal(width=None if on_terminal else 160, markup=False, emoji=False)
    with terminal.capture() as captured:
        terminal.print(table)
    return "\n".join(line.rstrip() for line in captured.get().splitlines() if line.strip())


def align_cells(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines, each column as wide as its widest cell.

    Examples
    --------
    >>> align_cells([["method", "mean"], ["LDA", "0.9"]])
    ['method  mean', 'LDA     0.9']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
