"""The commands that list methods and data sets."""

from __future__ import annotations

from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.methods import OWN_COMMANDS
from separatrix.cli.options import console_options, list_bundled
from separatrix.files.text import format_columns


@click.command("methods")
@console_options
def methods_command(as_json: bool, quiet: bool) -> None:
    """List the methods, and what each is for.

    \b
    Examples:
      separatrix methods
      separatrix methods --json
    """
    records = [*_describe_methods(), *_describe_left_out()]
    rows = [
        [r["name"], f"{r['kind']}{', streams' if r['streams'] else ''}", r["description"]]
        for r in records
    ]
    Console(as_json, quiet).result(
        {"methods": records}, format_columns(["method", "kind", "what it does"], rows)
    )


def _describe_methods() -> list[dict[str, Any]]:
    from separatrix.evaluate.methods import contenders

    return [
        {
            "name": method.name,
            "kind": method.kind,
            "streams": hasattr(method.estimator, "partial_fit"),
            "description": method.description,
        }
        for method in contenders(None)
    ]


def _describe_left_out() -> list[dict[str, Any]]:
    """Estimators that are not compared: used by a command of their own, or from Python."""
    import separatrix
    from separatrix.evaluate.methods import LEFT_OUT, first_sentence

    return [
        {
            "name": name,
            "kind": f"command `{OWN_COMMANDS[name]}`" if name in OWN_COMMANDS else "from Python",
            "streams": False,
            "description": first_sentence(getattr(separatrix, name)),
        }
        for name in sorted(LEFT_OUT)
    ]


@click.command("datasets")
@console_options
def datasets_command(as_json: bool, quiet: bool) -> None:
    """List the bundled data sets, to try things on.

    \b
    Examples:
      separatrix datasets
      separatrix compare iris
    """
    from separatrix.files.bundled import load_bundled

    records = []
    for name in list_bundled():
        bunch = load_bundled(name)
        rows, features = bunch.data.shape
        classes = len(set(bunch.target.tolist()))
        records.append({"name": name, "rows": rows, "features": features, "classes": classes})
    rows_of_table = [list(record.values()) for record in records]
    Console(as_json, quiet).result(
        {"datasets": records},
        format_columns(["name", "rows", "features", "classes"], rows_of_table),
    )
