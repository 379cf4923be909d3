"""The command for rows that come one after the other."""

from __future__ import annotations

import io
import shlex
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click

from separatrix.cli.console import Console
from separatrix.cli.models import (
    DATA_HELP,
    data_argument,
    estimator_of,
    method_names,
    output_option,
    read_model,
    set_option,
    setting_of,
)
from separatrix.cli.options import form, names_completed, talking, target
from separatrix.cli.output import check_outputs


@click.command(epilog=DATA_HELP)
@data_argument
@target
@click.option("-m", "--method", metavar="NAME", shell_complete=names_completed(method_names),
              help="Method that learns from batches.  [default: OnlineIPCAC]")  # fmt: skip
@set_option
@output_option("File for the model; also the checkpoint.")
@click.option("--batch-size", type=click.IntRange(1), default=1000, show_default=True)
@click.option("--checkpoint-every", "every", type=click.IntRange(1), default=20, show_default=True,
              metavar="BATCHES", help="How often the model is kept.")  # fmt: skip
@click.option(
    "--resume", is_flag=True, help="Go on with the model that is there, by its own method."
)
@click.option("--restart", is_flag=True, help="Replace a model that is there.")
@click.option(
    "--new-rows", is_flag=True, help="With --resume: DATA has only rows not yet learned."
)
@click.option("--missing", type=click.Choice(["refuse", "skip"]), default="refuse",
              show_default=True, help="Refuse rows with gaps, or pass over them.")  # fmt: skip
@click.option("--sep", help="What stands between values, such as ';'.")
@form
@click.option("--ignore", "--id", "ignore", multiple=True, metavar="COL", help="No feature.")
@talking
def stream(
    data: str,
    target: str | None,
    method: str | None,
    settings: Sequence[str],
    output: str | None,
    batch_size: int,
    every: int,
    resume: bool,
    restart: bool,
    new_rows: bool,
    missing: str,
    sep: str | None,
    form: str | None,
    ignore: Sequence[str],
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn batch after batch, each predicted before it is learned; kill it and go on later.

    The model in the output file always belongs to the rows up to some batch: started again with
    --resume, the stream goes on with the next one. Rows are learned once, and the result is the
    same as without the break.

    \b
    Examples:
      separatrix stream sensor.csv -t state -o sensor.model
      separatrix stream sensor.csv -t state -o sensor.model --resume
      tail -n +1 -f log.csv | separatrix stream - --batch-size 50 --set window=5000 -o log.model
    """
    from separatrix.evaluate.stream import StreamProgress, learn
    from separatrix.io.models import save
    from separatrix.io.readers import DAMAGE_ERRORS

    talk = Console(as_json, quiet)
    refuse_contradictions(output, resume, restart, new_rows)
    check_outputs([output], inputs=[data])
    asked = estimator_of(method or "OnlineIPCAC", settings, None, learns=True)
    begun = started(output, resume, restart, asked)
    if not begun.fresh:
        refuse_other_settings(begun.model, asked if method else None, settings)
    if new_rows:
        begun = begun._replace(progress=begun.progress._replace(place=0), head=None)
    model, progress = begun.model, begun.progress
    label, left_out = begun.columns(target, ignore)
    before = progress.rows

    with stopping() as stop, talk.progress("stream") as shown:

        def keep(now: StreamProgress) -> None:
            if output is not None:
                notes = {
                    "target": stop.batch.target,
                    "ignore": list(left_out),
                    "rows": now.rows,
                    "method": type(model).__name__,
                    "stream": now._asdict(),
                    "head": source.digest(stop.batch, now.place),
                }
                save(model, output, notes=notes)

        how = {"batch_size": batch_size, "target": label, "start": progress.place}
        with source_of(data, form, sep, {**how, "head": begun.head}) as source:
            batches = source.batches(ignore if begun.fresh else ())
            told = tell_left_out(talk, batches, model, left_out)
            try:
                for count, now in enumerate(
                    learn(model, stop.waited(told), progress, missing=missing), 1
                ):
                    progress = now
                    shown(now.rows, None, stream_text(now))
                    if count % every == 0 and now.rows:
                        keep(now)
            except DAMAGE_ERRORS as error:
                raise ValueError(f"{after(progress)}{data} is damaged: {error}") from None
            except ValueError as error:
                raise ValueError(f"{after(progress)}{error}") from None
            finally:  # also what was learned before a batch that is refused
                if progress.rows > before:
                    keep(progress)
    if stop.asked:
        raise KeyboardInterrupt
    if not progress.rows:
        gaps = f": all {progress.left_out} have gaps" if progress.left_out else ""
        raise ValueError(f"there are no rows to learn from{gaps}")
    classes = [str(label) for label in model.classes_]
    if len(classes) == 1:
        talk.note(
            f"All {progress.rows} rows have the label {classes[0]!r}: nothing is separated until "
            "another one comes"
        )
    record = {**progress._asdict(), "error": progress.error, "resumed_after": before}
    where = "" if output is None else f": {output}"
    talk.result({**record, "classes": classes, "model": output}, f"{stream_text(progress)}{where}")


def refuse_contradictions(output: str | None, resume: bool, restart: bool, new_rows: bool) -> None:
    """Raise for options that do not go together."""
    if resume and output is None:
        raise click.UsageError("--resume goes on with the model in the output file: add -o")
    if resume and restart:
        raise click.UsageError("--resume goes on with a model, --restart replaces it: choose one")
    if new_rows and not resume:
        raise click.UsageError("--new-rows says what is resumed: add --resume")


def after(progress: Any) -> str:
    """Where in a stream something happened."""
    return f"in the batch after {progress.rows} rows: " if progress.rows else ""


def stream_text(progress: Any) -> str:
    """How far a stream is, in words."""
    error = "" if progress.error is None else f", error {progress.error:.4f}"
    gaps = f", {progress.left_out} with gaps left out" if progress.left_out else ""
    return f"{progress.rows} rows{error}{gaps}"


class Begun(NamedTuple):
    """A model to go on with, how far it is, and by what its stream is known."""

    model: Any
    progress: Any
    head: str | None = None
    notes: Any = None

    @property
    def fresh(self) -> bool:
        """Whether nothing has been learned yet."""
        return self.notes is None

    def columns(
        self, target: str | None, ignore: Sequence[str]
    ) -> tuple[str | None, Sequence[str]]:
        """The column of labels and those left out: of now, or of before."""
        if self.notes is None:
            return target, ignore
        known = self.notes.get("target")
        if target not in (None, known):
            raise ValueError(f"the labels were those of {known!r} before, not of {target!r}")
        return known, [*dict.fromkeys((*self.notes.get("ignore", ()), *ignore))]


def refuse_other_settings(model: Any, asked: Any, settings: Sequence[str]) -> None:
    """Raise when a model that goes on is to be another, or to have other parameters."""
    if asked is not None and type(asked) is not type(model):
        kinds = type(model).__name__, type(asked).__name__
        raise ValueError("the model is a {}, not a {}: leave out --method".format(*kinds))
    for name, value in map(setting_of, settings):
        known = model.get_params().get(name)
        if known != value:
            raise ValueError(f"the model was begun with {name}={known!r}: leave out --set {name}")


def started(output: str | None, resume: bool, restart: bool, new: Any) -> Begun:
    """Where a stream begins: with a new model, or with that in the output file."""
    from separatrix.evaluate.stream import StreamProgress

    there = output is not None and Path(output).exists()
    if there and not (resume or restart):
        raise ValueError(f"{output} is there: go on with it (--resume) or replace it (--restart)")
    if not (there and resume):
        return Begun(new, StreamProgress())
    stored = read_model(str(output))
    if "stream" not in stored.notes:
        raise ValueError(f"{output} was not made by `separatrix stream`: it cannot be resumed")
    progress = StreamProgress(**stored.notes["stream"])
    return Begun(stored.model, progress, stored.notes["head"], stored.notes)


def tell_left_out(
    talk: Console, batches: Iterable[Any], model: Any, ignore: Sequence[str]
) -> Iterator[Any]:
    """The batches; of the first one it is said which columns the model does not know."""
    known = getattr(model, "feature_names_in_", None)
    for i, batch in enumerate(batches):
        if i == 0 and known is not None:
            strange = [name for name in batch.X.columns if name not in (*known, *ignore)]
            if strange:
                talk.note(f"Not in the model, so left out: {shlex.join(strange[:10])}")
        yield batch


# Where batches come from ---------------------------------------------------------------------


class Lines(NamedTuple):
    """Batches of text, as far as it is there."""

    file: Any
    how: dict[str, Any]

    def batches(self, ignore: Sequence[str]) -> Iterator[Any]:
        """One after the other."""
        from separatrix.io.batches import iter_batches

        return iter_batches(self.file, ignore=ignore, **self.how)

    def digest(self, batch: Any, place: int) -> str:
        """By what the text is known again."""
        return str(self.file.digest(place))


class Rows(NamedTuple):
    """Batches of a table that is there."""

    data: str
    how: dict[str, Any]

    def batches(self, ignore: Sequence[str]) -> Iterator[Any]:
        """One after the other."""
        from separatrix.io.batches import table_batches

        return table_batches(self.data, ignore=ignore, **self.how)

    def digest(self, batch: Any, place: int) -> str:
        """By what the table is known again."""
        return str(batch.head)


@contextmanager
def source_of(
    data: str, form: str | None, sep: str | None, how: dict[str, Any]
) -> Iterator[Lines | Rows]:
    """Text that is read line by line, or another table."""
    from separatrix.io.readers import SEPARATORS, find_format, open_bytes

    bundled = data != "-" and not Path(data).exists()
    form = form or (None if bundled else "csv" if data == "-" else find_format(data))
    if form not in SEPARATORS:
        yield Rows(data, {**how, "form": form})
        return
    with open_bytes(data) as file:
        yield Lines(Marked(file), {**how, "sep": sep or SEPARATORS[form]})


class Marked:
    """A file that remembers its first bytes, by which it is known again."""

    def __init__(self, file: Any) -> None:
        from separatrix.io.batches import HASHED_BYTES

        self.file, self.first, self.most = file, b"", HASHED_BYTES

    def _seen(self, content: bytes) -> bytes:
        if len(self.first) < self.most:
            self.first += content[: self.most - len(self.first)]
        return content

    def read(self, size: int) -> bytes:
        """Bytes."""
        return self._seen(self.file.read(size))

    def readline(self) -> bytes:
        """A line."""
        return self._seen(self.file.readline())

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.readline, b"")

    def digest(self, place: int) -> str:
        """`stream.hash_first_bytes` of what was read up to a byte."""
        from separatrix.io.batches import hash_first_bytes

        return hash_first_bytes(io.BytesIO(self.first), place)


class Stop:
    """Asked to stop, by Ctrl-C or SIGTERM: after the batch, or at once while waiting for one."""

    asked = False
    waiting = False
    batch: Any = None
    """The one that came last."""

    def __call__(self, *_: Any) -> None:
        """Hear a signal."""
        self.asked = True
        if self.waiting:
            raise KeyboardInterrupt

    def waited(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The batches, until asked to stop."""
        iterator = iter(batches)
        while not self.asked:
            self.waiting = True
            try:
                batch = next(iterator, None)
            except KeyboardInterrupt:
                return
            finally:
                self.waiting = False
            if batch is None:
                return
            self.batch = batch
            yield batch


@contextmanager
def stopping() -> Iterator[Stop]:
    """A `Stop` that hears signals."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # signals are for the main thread
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
