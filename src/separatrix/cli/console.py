"""How the command line talks: results, notes, progress, mistakes, and options that repeat."""

from __future__ import annotations

import errno
import json
import math
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import click

FAULT, USAGE, PROGRAM, INTERRUPTED, CLOSED = 1, 2, 70, 130, 141
EXIT_CODES = {
    0: "done",
    FAULT: "the data, a file or a value is at fault; the message says what to do",
    USAGE: "the command was called with options or arguments it does not have",
    PROGRAM: "the program is at fault; --debug shows where",
    INTERRUPTED: "interrupted (Ctrl-C, SIGTERM)",
    CLOSED: "whoever read the output stopped reading",
}
"""What the commands return to the shell."""


class Commands(click.Group):
    """Commands that tell a mistake in a sentence; tracebacks are for faults of the program."""

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
            _leave(ctx, "interrupted", INTERRUPTED)
        except BrokenPipeError:
            _write_no_more()
            ctx.exit(CLOSED)
        except Exception as error:
            if ctx.params.get("debug"):
                raise
            _write_no_more_if_full(error)
            _leave(ctx, *_told(error))
        return None


def _told(error: Exception) -> tuple[str, int]:
    """What is said of an error, and the exit code."""
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return f"{name}{error.strerror or error}", FAULT
    if isinstance(error, ValueError | ImportError | MemoryError):
        return str(error) or type(error).__name__, FAULT
    fault = f"{type(error).__name__}: {error}"
    return f"{fault}\nThis is a fault of the program: --debug shows where", PROGRAM


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Let SIGTERM end a command as Ctrl-C does: files stay whole, and what was done is told."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are for the main thread
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _write_no_more() -> None:
    """Throw away what is left for standard output, which Python would try to write at its end."""
    if sys.stdout is not None:
        with open(os.devnull, "w") as nothing:
            os.dup2(nothing.fileno(), sys.stdout.fileno())


def _write_no_more_if_full(error: Exception) -> None:
    if isinstance(error, OSError) and error.errno == errno.ENOSPC and error.filename is None:
        _write_no_more()


def _leave(ctx: click.Context, message: str, code: int) -> None:
    click.echo(f"{click.style('Error:', fg='red')} {message}", err=True)
    ctx.exit(code)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    context = click.get_current_context(silent=True)
    if context is None or not context.params.get("quiet"):
        click.echo(f"{click.style('Warning:', fg='yellow')} {message}", err=True)


class Console(NamedTuple):
    """Where results and notes go: results to standard output, all else to standard error."""

    as_json: bool
    quiet: bool

    def result(self, record: Mapping[str, Any], text: str) -> None:
        """What the command was run for, as JSON or as text."""
        if self.as_json:
            text = json.dumps(finite(record), indent=2, ensure_ascii=False, allow_nan=False)
        self.text(f"{text}\n")

    def text(self, text: str) -> None:
        """To standard output."""
        if sys.stdout is None:
            raise BrokenPipeError
        click.echo(text, nl=False)

    def done(self, record: Mapping[str, Any], text: str) -> None:
        """What was done, where the result is a file."""
        if self.as_json or not self.quiet:
            self.result(record, text)

    def note(self, text: str) -> None:
        """What is good to know."""
        if not self.quiet:
            click.echo(text, err=True)

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int | None, str], None]]:
        """A bar on a terminal; called with what is done, what there is in all, and a remark."""
        if self.quiet or not sys.stderr.isatty():
            yield lambda done, total, remark: None
            return
        from rich.console import Console as Terminal
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = [TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[r]}")]
        with Progress(*columns, TimeElapsedColumn(), console=Terminal(stderr=True)) as bar:
            task = bar.add_task(what, total=None, r="")

            def update(done: int, total: int | None, remark: str) -> None:
                bar.update(task, completed=done, total=total, r=remark)

            yield update


def finite(record: Any) -> Any:
    """A record with None for numbers that are not finite, which JSON does not have."""
    if isinstance(record, Mapping):
        return {key: finite(value) for key, value in record.items()}
    if isinstance(record, list | tuple):
        return [finite(value) for value in record]
    return None if isinstance(record, float) and not math.isfinite(record) else record
