"""How commands speak to the user: results, notes, progress, errors and exit codes."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import click

INPUT_ERROR, USAGE_ERROR, PROGRAM_ERROR, INTERRUPTED, OUTPUT_CLOSED = 1, 2, 70, 130, 141
EXIT_CODES = {
    0: "done",
    INPUT_ERROR: "the data, a file or a value is at fault; the message says what to do",
    USAGE_ERROR: "the command was called with options or arguments it does not have",
    PROGRAM_ERROR: "the program is at fault; --debug shows where",
    INTERRUPTED: "interrupted (Ctrl-C, SIGTERM)",
    OUTPUT_CLOSED: "whoever read the output stopped reading",
}
"""Exit codes of the commands."""

APP_PACKAGES = ("pandas", "rich")
"""Packages of the `app` extra that commands import when they need them."""

SECONDS_BETWEEN_LINES = 60.0
"""Seconds between two lines of progress where there is no terminal."""


OPTION_GROUPS = {
    "Data": "target ignore ids samples labels text form sep decimal thousands header transposed "
    "skip_bad keep",
    "Features": "scale categorical missing rows hashed latent clip",
    "Method": "method methods settings decision classifier tune rivals quick several engine score "
    "costs",
    "Splits": "splits test_size folds group split test time permutations",
    "Output": "output report results explain as_json quiet proba theme kind",
    "Running": "seed jobs budget",
}
"""Names of the parameters that help shows under each heading."""

LONGEST_SUMMARY = 160
"""Letters of the summary of a command that help shows; none of ours is longer."""


class GroupedCommand(click.Command):
    """A command whose help lists options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options under their headings; others come last."""
        known = {name: head for head, names in OPTION_GROUPS.items() for name in names.split()}
        options = [p for p in self.get_params(ctx) if isinstance(p, click.Option)]
        few = len(options) <= FEW_OPTIONS
        groups: dict[str, list[tuple[str, str]]] = {head: [] for head in (*OPTION_GROUPS, "")}
        for option in options:
            record = option.get_help_record(ctx)
            if record is not None:
                groups["" if few else known.get(option.name or "", "")].append(record)
        for head, records in groups.items():
            if records:
                title = f"{head} options" if head else "Options" if few else "Other options"
                with formatter.section(title):
                    formatter.write_dl(records)


FEW_OPTIONS = 8
"""Options up to which a command has no headings."""


MOVES_TERMINAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that tell a terminal to do something, in place of being shown."""


def show_controls(text: str, form: str = "\\x{:02x}") -> str:
    r"""Text with control characters spelled out: names come from data, and could move the cursor.

    Examples
    --------
    >>> show_controls("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return MOVES_TERMINAL.sub(lambda found: form.format(ord(found[0])), text)


class CommandGroup(click.Group):
    """Commands that report an error in a sentence; a traceback is shown with --debug only."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command, whose help then has headings."""
        if type(cmd) is click.Command:
            cmd.__class__ = GroupedCommand
        super().add_command(cmd, name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with whole summaries."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, command.get_short_help_str(LONGEST_SUMMARY))
            for name, command in commands
            if command is not None and not command.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; whatever goes wrong becomes a message and an exit code."""
        try:
            with warnings.catch_warnings(), _termination_as_interrupt():
                warnings.showwarning = _show_warning
                result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
            return result
        except (click.exceptions.Exit, click.ClickException):
            raise
        except (KeyboardInterrupt, click.Abort):
            _exit_with_error(ctx, "interrupted", INTERRUPTED)
        except BrokenPipeError:
            _discard_output()
            ctx.exit(OUTPUT_CLOSED)
        except Exception as error:
            if ctx.params.get("debug"):
                raise
            _discard_output_if_full(error)
            _exit_with_error(ctx, *_describe_error(error))
        return None


def _describe_error(error: Exception) -> tuple[str, int]:
    """The message of an error, and the exit code."""
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}{error.strerror or error}", INPUT_ERROR
    if isinstance(error, ModuleNotFoundError) and error.name in APP_PACKAGES:
        return f"{error.name} is not installed: pip install 'separatrix[app]'", INPUT_ERROR
    if isinstance(error, ValueError | ImportError | MemoryError):
        return str(error) or type(error).__name__, INPUT_ERROR
    fault = f"{type(error).__name__}: {error}"
    return f"{fault}\nThis is a fault of the program: --debug shows where", PROGRAM_ERROR


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does: no file is cut, and notes say what is kept."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are for the main thread
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _discard_output() -> None:
    """Discard what is left for standard output, which Python would try to write when it ends."""
    if sys.stdout is not None:
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), sys.stdout.fileno())


def _discard_output_if_full(error: Exception) -> None:
    """The same where the disk that standard output goes to is full."""
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
        _discard_output()


def _exit_with_error(ctx: click.Context, message: str, code: int) -> None:
    say("error", message, prefix=f"{click.style('Error:', fg='red')} ")
    ctx.exit(code)


def wants_events() -> bool:
    """Whether --log-json asks for events that a program reads."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.find_root().params.get("log_json"))


def say(event: str, message: str, *, prefix: str = "", **more: Any) -> None:
    """Write a line to standard error: as text, or as an event."""
    if wants_events():
        message = json.dumps({"event": event, "message": message, **more}, ensure_ascii=False)
        click.echo(show_controls(message, "\\u{:04x}"), err=True)
    else:
        click.echo(f"{prefix}{show_controls(message)}", err=True)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    context = click.get_current_context(silent=True)
    if context is None or not context.params.get("quiet"):
        say("warning", str(message), prefix=f"{click.style('Warning:', fg='yellow')} ")


class Console(NamedTuple):
    """Where results and notes go: results to standard output, all else to standard error."""

    as_json: bool
    quiet: bool

    def result(self, record: Mapping[str, Any], text: str) -> None:
        """Print what the command was run for, as JSON or as text.

        JSON has no numbers that are not finite: `to_plain` makes them None.
        """
        if self.as_json:
            from separatrix.evaluate.records import to_plain

            text = json.dumps(to_plain(record), indent=2, ensure_ascii=False, allow_nan=False)
        self.text(show_controls(text, "\\u{:04x}" if self.as_json else "\\x{:02x}") + "\n")

    def text(self, text: str) -> None:
        """Print to standard output; to a terminal without what would move it."""
        if sys.stdout is None:
            raise BrokenPipeError
        click.echo(show_controls(text) if sys.stdout.isatty() else text, nl=False)

    def done(self, record: Mapping[str, Any], text: str) -> None:
        """Print what was done, where the result is a file."""
        if self.as_json or not self.quiet:
            self.result(record, text)

    def note(self, text: str) -> None:
        """Print what is good to know to standard error."""
        if not self.quiet:
            say("note", text)

    def _line_a_minute(self, title: str) -> Callable[[int, int | None, str], None]:
        """Progress for a file or a pipe: nothing that is over within a minute is spoken of."""
        last = time.monotonic()

        def update(done: int, total: int | None, remark: str) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= SECONDS_BETWEEN_LINES:
                last = now
                self.note(f"{title}: {remark or done}")

        return update

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[int, int | None, str], None]]:
        """A bar on a terminal, and a line a minute elsewhere.

        The function given is called with done, total and a remark.
        """
        if self.quiet:
            yield lambda done, total, remark: None
            return
        if wants_events():
            yield lambda done, total, remark: say(
                "progress", remark, command=title, done=done, total=total
            )
            return
        if not sys.stderr.isatty():
            yield self._line_a_minute(title)
            return
        from rich.console import Console as Terminal
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[r]}")]
        with Progress(*columns, TimeElapsedColumn(), console=Terminal(stderr=True)) as bar:
            task = bar.add_task(title, total=None, r="")

            def update(done: int, total: int | None, remark: str) -> None:
                bar.update(task, completed=done, total=total, r=show_controls(remark))

            yield update
