"""The command that cuts a recording into epochs."""

from __future__ import annotations

from typing import Any

import click

from separatrix.cli.console import Console
from separatrix.cli.options import console_options, output_option
from separatrix.cli.output import check_outputs


@click.command("epochs")
@click.argument("recording", type=click.Path())
@click.option("--start", type=float, default=0.0, show_default=True, metavar="SECONDS",
              help="First value, after the trigger; negative is before it.")  # fmt: skip
@click.option("--stop", type=float, default=0.8, show_default=True, metavar="SECONDS",
              help="End of an epoch.")  # fmt: skip
@click.option("--rate", type=click.FloatRange(0, min_open=True), metavar="HERTZ",
              help="Samples in a second, if the file does not say.")  # fmt: skip
@click.option("--low", type=float, metavar="HERTZ", help="Take out slower oscillations.")
@click.option("--high", type=float, metavar="HERTZ", help="Take out faster oscillations.")
@click.option("--filter", "kind", type=click.Choice(["butterworth", "gaussian"]),
              default="butterworth", show_default=True, help="Kind of filter.")  # fmt: skip
@click.option("--baseline", is_flag=True,
              help="Subtract the mean of the values before the trigger.")  # fmt: skip
@click.option("--decimate", type=click.IntRange(1), default=1, show_default=True, metavar="N",
              help="Keep every N-th value.")  # fmt: skip
@click.option("--skip-bad", is_flag=True,
              help="Leave out what cannot be read, and say which.")  # fmt: skip
@output_option("File for the epochs (npz).", required=True)
@console_options
def epochs_command(
    recording: str,
    start: float,
    stop: float,
    rate: float | None,
    low: float | None,
    high: float | None,
    kind: str,
    baseline: bool,
    decimate: int,
    skip_bad: bool,
    output: str,
    as_json: bool,
    quiet: bool,
) -> None:
    """Filter a recording of several channels and cut it around its triggers.

    RECORDING is an npz file with arrays signal (channels, samples), triggers (numbers of samples),
    y (a label for each), rate and perhaps channels; or a file with annotations that MNE reads, if
    it is installed. The result is read by all other commands; its columns are channel@seconds.

    \b
    Examples:
      separatrix epochs eeg.npz --low 0.5 --high 20 --decimate 2 -o epochs.npz
      separatrix compare epochs.npz --methods TruncatedIPCAC,FisherDiscriminant
      separatrix epochs eeg.npz --filter gaussian --low 2.2 --start 0.25 --stop 0.63 -o e.npz
    """
    import numpy as np

    from separatrix.features.signals import (
        cut_epochs,
        epoch_times,
        filter_signal,
        reduce_rate,
        subtract_baseline,
    )
    from separatrix.files.epochs import check_connected, read_recording

    console = Console(as_json, quiet)
    if not output.endswith(".npz"):
        raise click.UsageError(f"{output} must end with .npz: epochs are arrays")
    check_outputs([output], inputs=[recording])
    recorded = read_recording(recording, rate=rate)
    recorded, skipped = _leave_out(recorded, start, stop) if skip_bad else (recorded, [])
    signal = filter_signal(recorded.signal, recorded.rate, low=low, high=high, kind=kind)
    X = cut_epochs(signal, recorded.triggers, recorded.rate, start=start, stop=stop)
    times = epoch_times(recorded.rate, start=start, stop=stop)
    if baseline:
        X = subtract_baseline(X, times)
    X, times = reduce_rate(X, decimate), times[::decimate]
    check_connected(recording, X, recorded.channels)
    for place in skipped:
        console.note(f"Left out: {place}")
    _write(output, X, recorded, times)
    n_epochs, n_channels, n_times = X.shape
    kinds, counts = np.unique(recorded.labels.astype(str), return_counts=True)
    record = {
        "epochs": n_epochs,
        "channels": n_channels,
        "times": n_times,
        "classes": dict(zip(kinds.tolist(), counts.tolist(), strict=True)),
        "skipped": skipped,
        "output": output,
    }
    named = ", ".join(f"{n} {k}" for k, n in record["classes"].items())
    text = f"{n_epochs} epochs ({named}) of {n_channels} channels and {n_times} values: {output}"
    console.done(record, text)


def _leave_out(recording: Any, start: float, stop: float) -> tuple[Any, list[str]]:
    """The recording without channels that are constant and triggers too near its ends."""
    import numpy as np

    from separatrix.features.signals import find_bad_channels

    bad = find_bad_channels(recording.signal[None])
    kept = [i for i in range(len(recording.signal)) if i not in bad]
    ends = round(start * recording.rate), round(stop * recording.rate) - 1
    n_samples = recording.signal.shape[1]
    inside = (recording.triggers + ends[0] >= 0) & (recording.triggers + ends[1] < n_samples)
    outside = np.flatnonzero(~inside)
    skipped = [f"channel {recording.channels[i]!r}" for i in bad]
    skipped += [f"trigger {i} at sample {recording.triggers[i]}" for i in outside]
    return recording._replace(
        signal=recording.signal[kept],
        channels=[recording.channels[i] for i in kept],
        triggers=recording.triggers[inside],
        labels=recording.labels[inside],
    ), skipped


def _write(output: str, X: Any, recording: Any, times: Any) -> None:
    import io

    import numpy as np

    from separatrix.files.whole import write_whole

    buffer = io.BytesIO()
    labels = recording.labels.astype(str)
    np.savez(buffer, X=X, y=labels, channels=np.array(recording.channels), times=times)
    write_whole(output, buffer.getvalue())
