"""Epochs and recordings in files: channels × times under names, ``channel@seconds``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from separatrix.linalg import Array


class Recording(NamedTuple):
    """Channels over time, and what happened when.

    Attributes
    ----------
    signal : array (n_channels, n_samples)
    triggers : array (n_epochs,) of int
        Numbers of samples.
    labels : array (n_epochs,)
        Kinds of the events.
    rate : float
        Samples in a second.
    channels : list of str
    """

    signal: Array
    triggers: Array
    labels: Array
    rate: float
    channels: list[str]


def name_values(channels: Sequence[str], times: Sequence[float] | Array) -> list[str]:
    """Names of the values of an epoch, one channel after the other.

    Examples
    --------
    >>> name_values(["Cz", "Pz"], [0.0, 0.25])
    ['Cz@0', 'Cz@0.25', 'Pz@0', 'Pz@0.25']
    """
    return [f"{channel}@{time:.6g}" for channel in channels for time in times]


def split_value_names(names: Sequence[str]) -> tuple[list[str], list[float]] | None:
    """Channels and times of names as `name_values` gives them; None for any others.

    Examples
    --------
    >>> split_value_names(["Cz@0", "Cz@0.25", "Pz@0", "Pz@0.25"])
    (['Cz', 'Pz'], [0.0, 0.25])
    """
    parts = [str(name).rpartition("@") for name in names]
    try:
        seconds = [float(time) for _, _, time in parts]
    except ValueError:
        return None
    channels = list(dict.fromkeys(channel for channel, _, _ in parts))
    times = list(dict.fromkeys(seconds))
    expected = [(channel, time) for channel in channels for time in times]
    pairs = [(channel, time) for (channel, _, _), time in zip(parts, seconds, strict=True)]
    return (channels, times) if "" not in channels and pairs == expected else None


def flatten_epochs(name: str, arrays: dict[str, Array]) -> tuple[Array, list[str]]:
    """Rows and names of their columns from arrays of an npz file whose X has three axes.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    arrays : dict of arrays
        ``X`` (n_epochs, n_channels, n_times), and ``channels`` and ``times`` where there are any.
    """
    X = arrays["X"]
    channels = arrays.get("channels", np.array([f"c{i}" for i in range(X.shape[1])]))
    times = arrays.get("times", np.arange(X.shape[2]))
    for what, given, length in (("channels", channels, X.shape[1]), ("times", times, X.shape[2])):
        if given.shape != (length,):
            raise ValueError(
                f"{name} has {given.size} {what}, but X of shape {X.shape} has {length}"
            )
    return X.reshape(len(X), -1), name_values([str(c) for c in channels], times)


def check_connected(name: str, X: Array, channels: Sequence[str]) -> None:
    """Raise for a channel that is constant or has gaps, with its name."""
    from separatrix.features.signals import find_bad_channels

    bad = find_bad_channels(X)
    if bad:
        raise ValueError(
            f"{name}: channel {channels[bad[0]]!r} is constant in some epoch, or not finite, as "
            "one that is not connected: leave it out (--skip-bad)"
        )


# Recordings ----------------------------------------------------------------------------------


def read_recording(path: str, *, rate: float | None = None) -> Recording:
    """A recording from an npz file, or from a file that MNE reads.

    Parameters
    ----------
    path : str
        npz with ``signal`` (n_channels, n_samples), ``triggers`` (numbers of samples), ``y`` (one
        label for each), ``rate`` (or give it) and perhaps ``channels``; or .fif, .edf, .bdf, .vhdr
        and others with annotations, when the package mne is installed.
    rate : float, optional
        Samples in a second, where the file does not say.
    """
    if Path(path).suffix.lower() == ".npz":
        return _from_arrays(path, rate)
    return _from_mne(path)


def _from_arrays(path: str, rate: float | None) -> Recording:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, OSError, KeyError) as error:
        raise ValueError(f"{path} is not an npz file of plain arrays: {error}") from None
    label = next((name for name in ("y", "target", "labels") if name in arrays), "y")
    missing = [name for name in ("signal", "triggers", label) if name not in arrays]
    if missing:
        raise ValueError(
            f"{path} has no array {missing[0]!r}: a recording has signal (channels, samples), "
            "triggers (numbers of samples) and y (a label for each)"
        )
    given = float(arrays["rate"]) if rate is None and "rate" in arrays else rate
    if given is None:
        raise ValueError(f"{path} does not say how many samples are in a second: give --rate")
    signal, triggers, labels = arrays["signal"], arrays["triggers"], arrays[label]
    if signal.ndim != 2:
        raise ValueError(f"{path}: signal has the shape {signal.shape}, not (channels, samples)")
    if triggers.shape != labels.shape or triggers.ndim != 1:
        raise ValueError(
            f"{path} has {triggers.size} triggers and {labels.size} labels: one each is needed"
        )
    names = arrays.get("channels", [f"c{i}" for i in range(len(signal))])
    if len(names) != len(signal):
        raise ValueError(f"{path} has {len(names)} names for {len(signal)} channels")
    return Recording(signal, triggers.astype(int), labels, given, [str(name) for name in names])


def _from_mne(path: str) -> Recording:
    mne = import_mne()
    raw = mne.io.read_raw(path, preload=True, verbose="error")
    events, kinds = mne.events_from_annotations(raw, verbose="error")
    names = {number: kind for kind, number in kinds.items()}
    return Recording(
        raw.get_data(),
        events[:, 0] - raw.first_samp,
        np.array([names[number] for number in events[:, 2]]),
        float(raw.info["sfreq"]),
        list(raw.ch_names),
    )


def read_mne_epochs(path: str) -> tuple[dict[str, Array], Any]:
    """Epochs that MNE has saved (``-epo.fif``), as the arrays of an npz file of epochs.

    The second part is their metadata, a data frame or None.
    """
    epochs = import_mne().read_epochs(path, verbose="error")
    return arrays_of_epochs(epochs), getattr(epochs, "metadata", None)


def arrays_of_epochs(epochs: Any) -> dict[str, Array]:
    """The arrays of epochs of MNE, by the names that they have in an npz file."""
    names = {number: kind for kind, number in epochs.event_id.items()}
    return {
        "X": epochs.get_data(),
        "y": np.array([names[number] for number in epochs.events[:, 2]]),
        "channels": np.array(epochs.ch_names),
        "times": np.asarray(epochs.times),
    }


def import_mne() -> Any:
    """The package mne, or an error that says how to get it."""
    try:
        import mne
    except ImportError:
        raise ImportError("such recordings are read with mne: pip install mne") from None
    return mne
