"""The command that opens the studio: the same program in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from separatrix.cli.console import Console


@click.command("studio")
@click.argument("data", required=False)
@click.option("--folder", type=click.Path(file_okay=False), default="separatrix-studio",
              show_default=True, help="Where projects are kept.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=0,
              help="Port on this machine.  [default: a free one]")  # fmt: skip
@click.option("--max-upload", type=click.IntRange(1), default=500, show_default=True,
              metavar="MB", help="Largest file that the page takes.")  # fmt: skip
@click.option("--open/--no-open", "opens", default=True, help="Open the browser.  [default: open]")
def studio_command(data: str | None, folder: str, port: int, max_upload: int, opens: bool) -> None:
    """Open a page in the browser: look at a table, compare, explore, use a model.

    This machine serves the page to itself; nothing leaves it. The address has a token, and only
    requests with the token are answered. Ctrl-C ends the studio. Projects are folders that can be
    opened again.

    \b
    Examples:
      separatrix studio
      separatrix studio genes.csv
      separatrix studio --no-open --port 8800
    """
    try:
        from separatrix.studio import projects, server
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn", "anyio"):
            raise
        raise ValueError(
            f"the studio needs {error.name}: pip install 'separatrix[app,studio]'"
        ) from None
    console = Console(as_json=False, quiet=False)
    kept = projects.Projects(folder)
    if data is not None:
        source = str(Path(data).absolute()) if Path(data).exists() else data
        name = kept.create(projects.name_after(source)).name
        projects.write_settings(kept.find(name), {"source": source})

    def show_address(address: str) -> None:
        console.text(f"{address}\n")
        console.note(f"Projects are kept in {kept.folder}. Ctrl-C ends the studio.")
        if opens:
            import webbrowser

            webbrowser.open(address)

    server.serve(folder, port=port, max_upload=max_upload, started=show_address)
