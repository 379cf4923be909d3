"""From a recording of several channels to epochs: filter, cut, baseline, fewer values.

A recording is an array (n_channels, n_samples), epochs are arrays (n_epochs, n_channels, n_times).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter1d
from scipy.signal import butter, decimate, sosfiltfilt

from separatrix.linalg import Array

BUTTERWORTH_ORDER = 4
"""Order of the Butterworth filter in each direction of time."""


def filter_signal(
    signal: ArrayLike,
    rate: float,
    *,
    low: float | None = None,
    high: float | None = None,
    kind: str = "butterworth",
) -> Array:
    """Keep the frequencies between two cuts, without a shift in time.

    Parameters
    ----------
    signal : array (..., n_samples)
        Channels over time.
    rate : float
        Samples in a second.
    low, high : float, optional
        Frequencies in hertz: slower ones than `low` and faster ones than `high` are taken out. At
        the frequency itself half is left, of the amplitude by the Butterworth filter, of the power
        by the Gaussian one. None leaves that end as it is.
    kind : "butterworth" or "gaussian"
        A Butterworth filter of order 4 forward and backward, or a Gaussian window: the signal
        smoothed by it for `high`, less the smoothed one for `low`, as in Rozza's thesis (2.2 Hz).

    Returns
    -------
    array (..., n_samples)

    Examples
    --------
    >>> import numpy as np
    >>> time = np.arange(2000) / 200
    >>> slow, fast = np.sin(2 * np.pi * 0.5 * time), np.sin(2 * np.pi * 20 * time)
    >>> kept = filter_signal(slow + fast, 200, low=4)
    >>> bool(abs(kept - fast)[200:-200].max() < 0.01)
    True
    """
    values = np.asarray(signal, dtype=np.float64)
    for name, cut in (("low", low), ("high", high)):
        if cut is not None and not 0 < cut < rate / 2:
            raise ValueError(
                f"{name}={cut} must be between 0 and {rate / 2:g} hertz, half the rate"
            )
    if low is not None and high is not None and low >= high:
        raise ValueError(f"low={low} must be below high={high}")
    if kind == "gaussian":
        smooth = values if high is None else _smooth(values, rate, high)
        return smooth - (0.0 if low is None else _smooth(values, rate, low))
    if kind != "butterworth":
        raise ValueError(f'kind={kind!r} must be "butterworth" or "gaussian"')
    if low is None and high is None:
        return values
    band = {(False, False): "bandpass", (False, True): "highpass", (True, False): "lowpass"}
    kept: Any = band[low is None, high is None]
    cuts = [cut for cut in (low, high) if cut is not None]
    design = butter(BUTTERWORTH_ORDER, np.squeeze(cuts), kept, fs=rate, output="sos")
    return np.asarray(sosfiltfilt(design, values, axis=-1))


def _smooth(values: Array, rate: float, cut: float) -> Array:
    """Gaussian smoothing that leaves half of the power at a frequency.

    Its transfer function is ``exp(-(2 π f σ)² / 2)``; its square is 1/2 at the cut.
    """
    sigma = np.sqrt(np.log(2)) / (2 * np.pi * cut)
    return np.asarray(gaussian_filter1d(values, sigma * rate, axis=-1, mode="reflect"))


def cut_epochs(
    signal: ArrayLike, triggers: ArrayLike, rate: float, *, start: float, stop: float
) -> Array:
    """Pieces of a recording around its triggers, all of one length.

    Parameters
    ----------
    signal : array (n_channels, n_samples)
    triggers : array (n_epochs,) of int
        Numbers of the samples at which something was shown.
    rate : float
        Samples in a second.
    start, stop : float
        Seconds after each trigger, from the first to behind the last value; negative is before it.

    Returns
    -------
    array (n_epochs, n_channels, n_times)

    Examples
    --------
    >>> import numpy as np
    >>> cut_epochs(np.arange(10)[None], [2, 5], rate=1, start=1, stop=4).tolist()
    [[[3, 4, 5]], [[6, 7, 8]]]
    """
    values, places = np.asarray(signal), np.asarray(triggers)
    if values.ndim != 2:
        raise ValueError(f"signal has {values.ndim} axes: give an array (n_channels, n_samples)")
    if places.ndim != 1 or places.dtype.kind not in "iu":
        raise ValueError("triggers must be numbers of samples, one for each epoch")
    offsets = np.arange(round(start * rate), round(stop * rate))
    if len(offsets) == 0:
        raise ValueError(f"start={start} and stop={stop} leave no value: stop must be later")
    outside = np.flatnonzero((places + offsets[0] < 0) | (places + offsets[-1] >= values.shape[1]))
    if len(outside):
        i = int(outside[0])
        raise ValueError(
            f"the epoch of trigger {i}, at sample {places[i]}, is not all in the recording of "
            f"{values.shape[1]} samples: leave it out, or cut shorter"
        )
    return np.ascontiguousarray(values[:, places[:, None] + offsets].swapaxes(0, 1))


def epoch_times(rate: float, *, start: float, stop: float) -> Array:
    """Seconds after the trigger of each value of an epoch of `cut_epochs`."""
    return np.arange(round(start * rate), round(stop * rate)) / rate


def subtract_baseline(epochs: ArrayLike, times: ArrayLike, *, until: float = 0.0) -> Array:
    """Each channel of each epoch less its mean over the values before a time.

    Parameters
    ----------
    epochs : array (n_epochs, n_channels, n_times)
    times : array (n_times,)
        Seconds after the trigger.
    until : float
        Values before this time are the baseline.
    """
    values, seconds = np.asarray(epochs, dtype=np.float64), np.asarray(times)
    before = seconds < until
    if not before.any():
        raise ValueError(
            f"no value is before {until:g} s: epochs start at {seconds[0]:g} s. Let them start "
            "earlier, or leave out the baseline"
        )
    return values - values[..., before].mean(axis=-1, keepdims=True)


def reduce_rate(epochs: ArrayLike, factor: int) -> Array:
    """Every `factor`-th value, after faster oscillations than these can show are filtered out."""
    values = np.asarray(epochs, dtype=np.float64)
    if factor == 1:
        return values
    if not 1 < factor <= values.shape[-1] // 4:
        raise ValueError(
            f"factor={factor} must be at least 1 and leave 4 of {values.shape[-1]} values"
        )
    return np.ascontiguousarray(decimate(values, factor, ftype="fir", axis=-1))


def find_bad_channels(epochs: ArrayLike) -> list[int]:
    """Channels that are constant or not finite in some epoch, as those that were not connected.

    Examples
    --------
    >>> import numpy as np
    >>> epochs = np.random.default_rng(0).standard_normal((4, 3, 10))
    >>> epochs[:, 1] = 7.0
    >>> find_bad_channels(epochs)
    [1]
    """
    values = np.asarray(epochs, dtype=np.float64)
    constant = (values.max(axis=-1) == values.min(axis=-1)).any(axis=0)
    return np.flatnonzero(constant | ~np.isfinite(values).all(axis=(0, 2))).tolist()
