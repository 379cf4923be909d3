"""Commands for rows that come one after the other, and values that do."""

from __future__ import annotations

import gzip
import io
import signal
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from separatrix.cli_models import (
    DATA_HELP,
    data_argument,
    estimator_of,
    frame_of,
    labelled_table,
    method_option,
    output_option,
    refuse_unwritable,
    set_option,
    write_frame,
)
from separatrix.console import Console, reading, seed, talking, target

# Streams -------------------------------------------------------------------------------------


@click.command(epilog="DATA is a csv or tsv file with a line of names, or - for standard input.")
@data_argument
@target
@click.option("-m", "--method", default="OnlineIPCAC", show_default=True, metavar="NAME",
              help="Method that learns from batches.")  # fmt: skip
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
@click.option("--ignore", "--id", "ignore", multiple=True, metavar="COL", help="No feature.")
@talking
def stream(
    data: str,
    target: str | None,
    method: str,
    settings: Sequence[str],
    output: str | None,
    batch_size: int,
    every: int,
    resume: bool,
    restart: bool,
    new_rows: bool,
    missing: str,
    sep: str | None,
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
    from separatrix.persist import save
    from separatrix.stream import Progress, iter_batches, learn

    talk = Console(as_json, quiet)
    refuse_unwritable(output, data)
    model, progress, head = started(
        output, resume, restart, lambda: estimator_of(method, settings, None, learns=True)
    )
    if new_rows:
        progress, head = progress._replace(place=0), ""
    sep = sep or ("\t" if data.removesuffix(".gz").endswith((".tsv", ".tab")) else ",")
    before = progress.rows

    def keep(now: Progress, head: str) -> None:
        if output is not None:
            notes = {"target": stop.batch.target, "rows": now.rows, "method": type(model).__name__}
            save(model, output, notes={**notes, "stream": now._asdict(), "head": head})

    with opened(data) as file, stopping() as stop, talk.progress("stream") as shown:
        marked: Any = Marked(file)
        batches = iter_batches(
            marked,
            batch_size=batch_size,
            target=target,
            ignore=ignore,
            sep=sep,
            start=progress.place,
            head=head or None,
        )
        learned = learn(model, stop.waited(batches), progress, missing=missing)
        try:
            for count, now in enumerate(learned, 1):
                progress = now
                shown(now.rows, None, stream_text(now))
                if count % every == 0:
                    keep(now, marked.digest(now.place))
        except ValueError as error:
            raise ValueError(f"in the batch after {progress.rows} rows: {error}") from None
        finally:  # also what was learned before a batch that is refused
            if progress.rows > before:
                keep(progress, marked.digest(progress.place))
    if stop.asked:
        raise KeyboardInterrupt
    record = {**progress._asdict(), "error": progress.error, "resumed_after": before}
    where = "" if output is None else f": {output}"
    talk.result({**record, "model": output}, f"{stream_text(progress)}{where}")


def stream_text(progress: Any) -> str:
    """How far a stream is, in words."""
    error = "" if progress.error is None else f", error {progress.error:.4f}"
    gaps = f", {progress.left_out} with gaps left out" if progress.left_out else ""
    return f"{progress.rows} rows{error}{gaps}"


def started(output: str | None, resume: bool, restart: bool, new: Any) -> tuple[Any, Any, str]:
    """The model to go on with, how far it is, and by what its stream is known."""
    from separatrix.persist import read
    from separatrix.stream import Progress

    there = output is not None and Path(output).exists()
    if resume and output is None:
        raise click.UsageError("--resume goes on with the model in the output file: add -o")
    if there and not (resume or restart):
        raise ValueError(f"{output} is there: go on with it (--resume) or replace it (--restart)")
    if not (there and resume):
        return new(), Progress(), ""
    stored = read(str(output))
    if "stream" not in stored.notes:
        raise ValueError(f"{output} was not made by `separatrix stream`: it cannot be resumed")
    return stored.model, Progress(**stored.notes["stream"]), stored.notes["head"]


class Marked:
    """A file that remembers its first bytes, by which it is known again."""

    def __init__(self, file: Any) -> None:
        from separatrix.stream import HEAD

        self.file, self.first, self.most = file, b"", HEAD

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
        """`stream.fingerprint` of what was read up to a byte."""
        from separatrix.stream import fingerprint

        return fingerprint(io.BytesIO(self.first), place)


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


@contextmanager
def opened(data: str) -> Iterator[Any]:
    """Bytes of a file, packed or not, or of standard input."""
    if data == "-":
        yield sys.stdin.buffer
        return
    with gzip.open(data) if data.endswith(".gz") else open(data, "rb") as file:
        yield file


# Early decisions -----------------------------------------------------------------------------


@click.command(epilog=DATA_HELP)
@data_argument
@target
@click.option("--test", "test", type=click.Path(), help="Rows to decide on.  [default: held out]")
@click.option("--test-size", type=click.FloatRange(0, 1, min_open=True, max_open=True),
              default=0.3, show_default=True, help="Share held out without --test.")  # fmt: skip
@method_option
@set_option
@click.option("--reliability", type=click.FloatRange(0, 1), default=0.9, show_default=True)
@click.option("--region", type=click.Choice(["ellipsoid", "box", "chebyshev", "ideal"]),
              default="ellipsoid", show_default=True)  # fmt: skip
@click.option("--conditional", type=click.Choice(["gaussian", "mixture"]), default="gaussian",
              show_default=True)  # fmt: skip
@output_option("File for the decisions (csv, tsv, parquet, npz).")
@reading
@seed
@talking
def early(
    data: str,
    test: str | None,
    test_size: float,
    method: str,
    settings: Sequence[str],
    reliability: float,
    region: str,
    conditional: str,
    output: str | None,
    seed: int,
    as_json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Decide on series before they end: how early, and how often rightly.

    Columns are the values of a series in the order of time. A decision is made as soon as it would
    be the same for the complete series with the reliability asked for.

    \b
    Examples:
      separatrix early gestures.csv -t kind
      separatrix early train.tsv --test test.tsv --reliability 0.95 -o decisions.csv
    """
    from sklearn.model_selection import train_test_split

    from separatrix.early import EarlyClassifier
    from separatrix.tables import check_features

    talk = Console(as_json, quiet)
    refuse_unwritable(output, data)
    rule = estimator_of(method, settings, seed)
    table = labelled_table(talk, data, {**how, "categorical": "refuse", "missing": "refuse"})
    check_features(table.X)
    if test is None:
        X, X_new, y, y_new = train_test_split(
            table.X, table.y, test_size=test_size, random_state=seed, stratify=table.y
        )
    else:
        X, y = table.X, table.y
        new = labelled_table(talk, test, {**how, "target": table.target})
        X_new, y_new = new.X, new.y
    model = EarlyClassifier(rule, reliability=reliability, region=region, conditional=conditional)
    try:
        model.fit(X.to_numpy(), y)
    except TypeError as error:  # a method that EarlyClassifier cannot use
        raise ValueError(str(error)) from None
    found = model.decide_early(X_new.to_numpy())
    complete = model.predict(X_new.to_numpy())
    record = {
        "rows": len(y_new),
        "decided": float(found.decided.mean()),
        "values_used": float((found.time / X.shape[1]).mean()),
        "accuracy": float((found.label == y_new).mean()),
        "accuracy_of_complete_rows": float((complete == y_new).mean()),
        "agreement": float((complete == found.label).mean()),
    }
    if output is not None:
        decisions = {
            "label": found.label,
            "decided": found.decided,
            "reliability": found.reliability,
            "time": found.time,
        }
        write_frame(frame_of(None, decisions), output)
    talk.result(
        record,
        f"{record['accuracy']:.3f} of {record['rows']} series are decided rightly from "
        f"{100 * record['values_used']:.0f} % of their values on average; "
        f"{record['accuracy_of_complete_rows']:.3f} are when complete",
    )
