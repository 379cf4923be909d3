"""The command that learns from rows as they come."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import click

from separatrix.cli.console import Console
from separatrix.cli.error import note_expected_error
from separatrix.cli.inputs import note_unknown_columns, read_model
from separatrix.cli.methods import build_estimator, list_methods, parse_setting
from separatrix.cli.options import (
    DATA_HELP,
    complete_from,
    console_options,
    data_argument,
    data_options,
    output_option,
    set_option,
)
from separatrix.cli.output import check_outputs
from separatrix.files.reading import Reading


@click.command("stream", epilog=DATA_HELP)
@data_argument
@click.option("-m", "--method", metavar="NAME", shell_complete=complete_from(list_methods),
              help="Method that learns from batches.  [default: OnlineIPCAC]")  # fmt: skip
@set_option
@output_option("File for the model; also the checkpoint.")
@click.option("--batch-size", type=click.IntRange(1), default=1000, show_default=True,
              help="Rows of a batch.")  # fmt: skip
@click.option("--checkpoint-every", "every", type=click.IntRange(1), default=20, show_default=True,
              metavar="BATCHES", help="Batches after which the model is written.")  # fmt: skip
@click.option(
    "--resume", is_flag=True, help="Go on with the model that is there, by its own method."
)
@click.option("--restart", is_flag=True, help="Replace a model that is there.")
@click.option(
    "--new-rows", is_flag=True, help="With --resume: DATA has only rows not yet learned."
)
@click.option("--missing", type=click.Choice(["refuse", "skip"]), default="refuse",
              show_default=True, help="Refuse rows with gaps, or pass over them.")  # fmt: skip
@click.option("--open-classes", is_flag=True,
              help="Take labels that come later as new classes, and name each.")  # fmt: skip
@click.option("--drift", is_flag=True, help="Say when class means move or errors rise.")
@data_options
@console_options
def stream_command(
    data: str,
    method: str | None,
    settings: Sequence[str],
    output: str | None,
    batch_size: int,
    every: int,
    resume: bool,
    restart: bool,
    new_rows: bool,
    missing: str,
    open_classes: bool,
    drift: bool,
    reading: Reading,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn batch after batch, each predicted before it is learned; kill it and go on later.

    The model in the output file always belongs to the rows up to some batch: started again with
    --resume, the stream goes on with the next one. Rows are learned once, and the result is the
    same as without the break. Labels are those of the first batch, unless classes are open.

    \b
    Examples:
      separatrix stream sensor.csv -t state -o sensor.model
      separatrix stream sensor.csv -t state -o sensor.model --resume
      tail -n +1 -f log.csv | separatrix stream - --batch-size 50 --set window=5000 -o log.model
      separatrix stream monday/ -o spam.model    # folders ham/ and spam/, words by hashing
      separatrix stream tuesday/ -o spam.model --resume --new-rows
      separatrix stream sensor.csv -t state --open-classes --drift
    """
    console = Console(as_json, quiet)
    _check_options(output, resume, restart, new_rows)
    check_outputs([output], inputs=[data])
    asked = build_estimator(method or "OnlineIPCAC", settings, None)
    _check_learns(asked)
    start = _find_start(output, resume, restart, asked)
    _check_opens(start.model, open_classes)
    from separatrix.evaluate.drift import DriftDetector
    from separatrix.files.tables import iter_batches

    watching = Watching("open" if open_classes else "refuse", DriftDetector() if drift else None)
    if not start.is_new:
        _check_same_model(start.model, asked if method else None, settings)
    if new_rows:
        start = start._replace(progress=start.progress._replace(place=0), head=None)
    reading = start.go_on_reading(reading, data)
    start = start.with_words(tuple(reading.text))
    batches = iter_batches(
        data,
        # columns that are named while a stream goes on need not be there
        reading if start.is_new else replace(reading, ignore=(), ids=()),
        batch_size=batch_size,
        start=start.progress.place,
        head=start.head,
    )
    noted = start.vectorize(_note_columns(console, batches, start, reading.not_features))
    progress = _learn(console, start, noted, output, reading, every, missing, data, watching)
    _check_learned(console, start.model, progress)
    record = {**progress._asdict(), "error": progress.error, "resumed_after": start.progress.rows}
    if watching.drift is not None:
        record["drift"] = [change._asdict() for change in watching.drift.found]
    classes = [str(label) for label in start.model.classes_]
    where = "" if output is None else f": {output}"
    expected = note_expected_error(start.model)
    record |= {"classes": classes, "model": output, "expected_error": expected}
    lines_said = [f"{_describe(progress)}{where}", *filter(None, [expected])]
    console.result(record, "\n".join(lines_said))


def _learn(
    console: Console,
    start: Start,
    batches: Iterable[Any],
    output: str | None,
    reading: Reading,
    every: int,
    missing: str,
    data: str,
    watching: Watching,
) -> Any:
    """Learn the batches, write the model now and then, and return how far it came."""
    from separatrix.evaluate.stream import learn
    from separatrix.files.chunks import DAMAGE_ERRORS

    model, progress, n_noted = start.model, start.progress, 0
    with _listen_for_stop() as stop, console.progress("stream") as update:
        try:
            coming = stop.until_asked(batches)
            learned = learn(model, coming, progress, missing=missing, **watching._asdict())
            for count, now in enumerate(learned, 1):
                progress = now
                n_noted = watching.note_changes(console, n_noted)
                update(now.rows, None, _describe(now))
                if count % every == 0 and now.rows:
                    _save(start, output, now, stop.latest, reading)
        except DAMAGE_ERRORS as error:
            raise ValueError(_locate(data, progress, f"it is damaged: {error}")) from None
        except ValueError as error:
            raise ValueError(_locate(data, progress, str(error))) from None
        finally:  # keep what was learned before a batch that is at fault, too
            if progress.rows > start.progress.rows:
                _save(start, output, progress, stop.latest, reading)
    if stop.asked:
        raise KeyboardInterrupt
    return progress


def _save(
    start: Start, output: str | None, progress: Any, latest: Sequence[Any], reading: Reading
) -> None:
    """Write the model with all that resuming needs."""
    from sklearn.pipeline import make_pipeline

    from separatrix.files.model import save

    if output is not None:
        (batch,) = [batch for batch in latest if batch.end == progress.place]
        notes = {
            "target": batch.target,
            "ignore": list(reading.not_features),
            "text": list(reading.text),
            "rows": progress.rows,
            "method": type(start.model).__name__,
            "header": reading.header,
            "stream": progress._asdict(),
            "head": batch.head,
        }
        model = make_pipeline(*start.steps, start.model) if reading.text else start.model
        save(model, output, notes=notes)


class Watching(NamedTuple):
    """What to do about new classes, and who looks for changes."""

    new_classes: str
    drift: Any

    def note_changes(self, console: Console, n_noted: int) -> int:
        """Print the changes after the first few, which were printed before."""
        changes = [] if self.drift is None else self.drift.found
        for change in changes[n_noted:]:
            console.note(f"Drift: {change.words}")
        return len(changes)


# Checks --------------------------------------------------------------------------------------


def _check_options(output: str | None, resume: bool, restart: bool, new_rows: bool) -> None:
    """Raise for options that do not go together."""
    if resume and output is None:
        raise click.UsageError("--resume goes on with the model in the output file: add -o")
    if resume and restart:
        raise click.UsageError("--resume goes on with a model, --restart replaces it: choose one")
    if new_rows and not resume:
        raise click.UsageError("--new-rows says what is resumed: add --resume")


def _check_learns(estimator: Any) -> None:
    if not (hasattr(estimator, "partial_fit") and hasattr(estimator, "predict")):
        raise ValueError(
            f"{type(estimator).__name__} does not learn from batches: `separatrix methods` says "
            "which do, such as OnlineIPCAC and FisherDiscriminant"
        )


def _check_opens(model: Any, open_classes: bool) -> None:
    from separatrix.base.estimator import SubspaceEstimator

    if open_classes and not isinstance(model, SubspaceEstimator):
        raise ValueError(
            f"{type(model).__name__} cannot take new classes: leave out --open-classes, or use a "
            "method of class moments such as OnlineIPCAC or FisherDiscriminant"
        )


def _check_same_model(model: Any, asked: Any, settings: Sequence[str]) -> None:
    """Raise if a model that is resumed is to be another, or to have other parameters."""
    if asked is not None and type(asked) is not type(model):
        kinds = type(model).__name__, type(asked).__name__
        raise ValueError("the model is a {}, not a {}: leave out --method".format(*kinds))
    for name, value in map(parse_setting, settings):
        known = model.get_params().get(name)
        if known != value:
            raise ValueError(f"the model was begun with {name}={known!r}: leave out --set {name}")


def _check_learned(console: Console, model: Any, progress: Any) -> None:
    """Raise if there were no rows; say so if they are all of one class."""
    if not progress.rows:
        gaps = f": all {progress.left_out} have gaps" if progress.left_out else ""
        raise ValueError(f"there are no rows to learn from{gaps}")
    if len(model.classes_) == 1:
        console.note(
            f"All {progress.rows} rows have the label {str(model.classes_[0])!r}: nothing is "
            "separated until another one comes"
        )


def _locate(data: str, progress: Any, message: str) -> str:
    """A message, and where in which stream it is about."""
    from separatrix.files.chunks import find_source_name

    name = find_source_name(data)
    batch = f"in the batch after {progress.rows} rows" if progress.rows else ""
    where = ", ".join(part for part in (name if name not in message else "", batch) if part)
    return f"{where}: {message}" if where else message


def _describe(progress: Any) -> str:
    error = "" if progress.error is None else f", error {progress.error:.4f}"
    gaps = f", {progress.left_out} with gaps left out" if progress.left_out else ""
    return f"{progress.rows} rows{error}{gaps}"


# Where a stream starts -----------------------------------------------------------------------


class Start(NamedTuple):
    """A model to go on with, how far it is, and the digest by which its stream is recognised."""

    model: Any
    progress: Any
    head: str | None = None
    notes: Any = None
    text: tuple[str, ...] = ()
    steps: list[Any] = []  # noqa: RUF012 - replaced, never shared
    """The step that makes numbers of words, once the columns are known."""

    @property
    def is_new(self) -> bool:
        """Whether nothing has been learned yet."""
        return self.notes is None

    def go_on_reading(self, reading: Reading, data: str) -> Reading:
        """How the stream is read: as asked for, or as before."""
        from separatrix.files.mails import TEXT, is_mail_source

        if self.notes is None:
            columns = (*reading.text, *([TEXT] if is_mail_source(data) else []))
            return replace(reading, text=tuple(dict.fromkeys(columns)))
        target, text = self.notes.get("target"), tuple(self.notes.get("text", ()))
        if reading.target not in (None, target):
            raise ValueError(f"the labels were those of {target!r} before, not of "
                             f"{reading.target!r}")  # fmt: skip
        if not set(reading.text) <= set(text):
            raise ValueError(f"the model learns from words of {list(text)}: leave out --text")
        return replace(
            reading,
            target=target,
            text=text,
            ignore=tuple(dict.fromkeys((*self.notes.get("ignore", ()), *reading.ignore))),
            header=reading.header and bool(self.notes.get("header", True)),
        )

    def with_words(self, text: tuple[str, ...]) -> Start:
        """The same with a step for the words of these columns, apart from the model."""
        if self.notes is not None and text:
            return self._replace(text=text, steps=[self.model[0]], model=self.model[-1])
        return self._replace(text=text, steps=[])

    def vectorize(self, batches: Iterable[Any]) -> Iterator[Any]:
        """The batches, with words as sparse columns where there are any."""
        from separatrix.files.columns import check_features
        from separatrix.files.preparation import hash_words
        from separatrix.files.tables import same_features

        for batch in batches:
            if not self.text:
                yield batch
                continue
            X = batch.X.assign(**{name: batch.X[name].fillna("") for name in self.text})
            if not self.steps:
                self.steps.append(hash_words(X, self.text))
            X = same_features(X, self.steps[0].feature_names_in_, self.text)
            check_features(X, text=self.text)
            yield batch._replace(X=self.steps[0].transform(X))


def _find_start(output: str | None, resume: bool, restart: bool, new: Any) -> Start:
    """Start with a new model, or with the one in the output file."""
    from separatrix.evaluate.stream import StreamProgress

    there = output is not None and Path(output).exists()
    if there and not (resume or restart):
        raise ValueError(f"{output} is there: go on with it (--resume) or replace it (--restart)")
    if not (there and resume):
        return Start(new, StreamProgress())
    stored = read_model(str(output))
    if "stream" not in stored.notes:
        raise ValueError(f"{output} was not made by `separatrix stream`: it cannot be resumed")
    progress = StreamProgress(**stored.notes["stream"])
    return Start(stored.model, progress, stored.notes["head"], stored.notes)


def _note_columns(
    console: Console, batches: Iterable[Any], start: Start, ignore: Sequence[str]
) -> Iterator[Any]:
    """The batches, with a note on columns of the first one that the model does not know."""
    known = getattr((*start.steps, start.model)[0], "feature_names_in_", None)
    for i, batch in enumerate(batches):
        if i == 0 and known is not None:
            note_unknown_columns(console, batch.X.columns, [*known, *ignore])
        yield batch


# Being asked to stop -------------------------------------------------------------------------


class StopRequest:
    """Ctrl-C or SIGTERM: stops after the batch, or at once while waiting for one."""

    asked = False
    waiting = False
    latest: Sequence[Any] = ()
    """The last two batches: the last one may be at fault, and not be learned."""

    def __call__(self, *_: Any) -> None:
        """Handle a signal."""
        self.asked = True
        if self.waiting:
            raise KeyboardInterrupt

    def until_asked(self, batches: Iterable[Any]) -> Iterator[Any]:
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
            self.latest = [*self.latest[-1:], batch]
            yield batch


@contextmanager
def _listen_for_stop() -> Iterator[StopRequest]:
    """A `StopRequest` that handles signals."""
    stop = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop  # only the main thread may handle signals
        return
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
