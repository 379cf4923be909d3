"""Random convolutions: features of series in which linear rules are as good as any.

The method is that of Dempster, Schmidt, Webb: MiniRocket, a very fast (almost) deterministic
transform for time series classification, KDD 2021. Here every kernel looks backwards only, so that
one pass over a series gives the features of all its prefixes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from separatrix.linalg import Array

LENGTH, N_TALL = 9, 3
"""Points of a kernel, and how many of them weigh 2; the others weigh -1."""

PLACES = np.array(list(combinations(range(LENGTH), N_TALL)))
"""The tall points of all 84 kernels."""

MAX_DILATIONS = 32
"""Dilations of a kernel at most, as in the source."""

MAX_CHANNELS = 9
"""Channels that one kernel adds up at most, as in the source."""

MAX_VALUES = 1 << 21
"""Values of outputs that are held at once (8 MB)."""


class RandomConvolutions(TransformerMixin, BaseEstimator):
    """Shares of the outputs of many small convolutions that are above a bias.

    Kernels have nine points, three of weight 2 and six of weight -1, so that they sum to zero and
    the level of a series does not matter. Their points are 1, 2, 4, … times apart (dilations).
    With a bias b, a quantile of the output of a training series, a feature is the share of the
    times so far at which the output is above b.

    Each output looks at the present and the past alone; before the first value stands the first
    value. The features of a prefix are therefore those of the series up to there, and those of all
    prefixes cost one pass. After scaling, a ridge or `FisherDiscriminant` decides on them.

    Parameters
    ----------
    n_kernels : int
        Number of features, rounded down to a multiple of 84, the number of kernels without
        dilations and biases; at least 84.
    random_state : int, RandomState instance or None
        Of the training series that biases are taken from, and of the channels.

    Attributes
    ----------
    dilations_ : array of int (n_features_out,)
    kernels_ : array of int (n_features_out,)
        Rows of the table of tall points.
    biases_ : array (n_features_out,)
    channels_ : array of bool (n_combinations, n_channels)
        Channels that are added up, for each pair of a kernel and a dilation in their order.
    n_channels_, n_times_ : int

    Examples
    --------
    >>> from separatrix import datasets
    >>> from separatrix.features import RandomConvolutions
    >>> series = datasets.make_series(60, 50, random_state=0)
    >>> convolutions = RandomConvolutions(500).fit(series.data)
    >>> Z = convolutions.transform(series.data)
    >>> Z.shape, bool((Z >= 0).all() and (Z <= 1).all())
    ((60, 420), True)
    >>> early, late = convolutions.transform_prefixes(series.data, [20, 50])
    >>> bool((late == Z).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_kernels": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }
    biases_: Array
    channels_: Array
    dilations_: Array
    kernels_: Array
    n_channels_: int
    n_times_: int

    def __init__(self, n_kernels: int = 2000, *, random_state: Any = 0) -> None:
        self.n_kernels = n_kernels
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Choose dilations for the length of the series, and biases from their outputs.

        Parameters
        ----------
        X : array (n_samples, n_times) or (n_samples, n_channels, n_times)
        y : ignored

        Returns
        -------
        self
            The fitted transformer.
        """
        self._validate_params()
        series, rng = check_series(X), check_random_state(self.random_state)
        n, self.n_channels_, self.n_times_ = series.shape
        self.n_features_in_ = self.n_channels_ * self.n_times_
        dilations, counts = spread_dilations(self.n_times_, max(self.n_kernels // len(PLACES), 1))
        n_pairs = len(dilations) * len(PLACES)
        self.channels_ = _draw_channels(n_pairs, self.n_channels_, rng)
        self.dilations_ = np.repeat(dilations, counts * len(PLACES))
        self.kernels_ = np.concatenate([np.repeat(np.arange(len(PLACES)), k) for k in counts])
        golden = (np.sqrt(5) + 1) / 2  # quantiles that fill the interval evenly
        levels = (np.arange(1, len(self.kernels_) + 1) * golden) % 1
        biases, at = [], 0
        for pair in range(n_pairs):
            dilation, kernel = dilations[pair // len(PLACES)], pair % len(PLACES)
            k = counts[pair // len(PLACES)]
            one = series[[rng.randint(n)]]
            output = convolve(one[:, self.channels_[pair]].sum(axis=1), dilation)(kernel)
            biases.append(np.quantile(output, levels[at : at + k]))
            at += k
        self.biases_ = np.concatenate(biases).astype(np.float32)
        return self

    def transform(self, X: ArrayLike) -> Array:
        """The features of series, which may be shorter than those that were learned.

        Parameters
        ----------
        X : array (n_samples, n_times) or (n_samples, n_channels, n_times)

        Returns
        -------
        array (n_samples, n_features_out)
            In single precision.
        """
        check_is_fitted(self)
        series = self._check_new(check_series(X))
        (features,) = self.transform_prefixes(series, [series.shape[2]])
        return features

    def transform_prefixes(self, X: ArrayLike, times: Any) -> Iterator[Array]:
        """The features of the prefixes of series, from one pass over them.

        Parameters
        ----------
        X : array (n_samples, n_times) or (n_samples, n_channels, n_times)
            NaN for values that have not come.
        times : sequence of int
            Numbers of leading times, ascending.

        Yields
        ------
        array (n_samples, n_features_out)
            One for each of the times.
        """
        check_is_fitted(self)
        series, ends = self._check_new(_as_series(X)), [int(t) for t in times]
        shares = np.empty((len(ends), len(series), len(self.biases_)), dtype=np.float32)
        step = max(1, MAX_VALUES // series.shape[2])
        for start in range(0, len(series), step):
            rows = slice(start, start + step)
            self._fill(series[rows], ends, shares[:, rows])
        return iter(shares)

    def _check_new(self, series: Array) -> Array:
        if series.shape[1] != self.n_channels_ or series.shape[2] > self.n_times_:
            raise ValueError(
                f"X has {series.shape[1]} channels of {series.shape[2]} times, but "
                f"{self.n_channels_} channels of {self.n_times_} times at most were learned"
            )
        return series

    def _fill(self, series: Array, ends: list[int], shares: Array) -> None:
        """Shares (n_ends, n, n_features) of outputs above the biases."""
        starts, last = np.array([0, *ends[:-1]]), max(ends)
        changes = np.diff(self.kernels_, prepend=-1) != 0  # features of one kernel and dilation
        first, dilation = np.append(np.flatnonzero(changes), len(self.biases_)), 0
        for pair, (low, high) in enumerate(pairwise(first.tolist())):
            if self.n_channels_ > 1 or self.dilations_[low] != dilation:
                dilation = self.dilations_[low]
                chosen = series[:, self.channels_[pair], :last].sum(axis=1)
                outputs = convolve(chosen, dilation)
            output = outputs(self.kernels_[low])
            for at in range(low, high):
                above = output > self.biases_[at]
                if len(ends) == 1:
                    shares[0, :, at] = np.count_nonzero(above, axis=1)
                else:
                    counts = np.add.reduceat(above, starts, axis=1, dtype=np.int32)
                    shares[:, :, at] = np.cumsum(counts, axis=1).T
        shares /= np.array(ends, dtype=np.float32)[:, None, None]

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the features."""
        check_is_fitted(self)
        return np.array([f"convolution{i}" for i in range(len(self.biases_))], dtype=object)


def spread_dilations(n_times: int, n_features: int) -> tuple[Array, Array]:
    """Dilations, and how many biases each kernel has with each of them.

    They grow by powers of 2 so that a kernel spans at most the series.

    Examples
    --------
    >>> spread_dilations(65, 4)
    (array([1, 2, 4, 8]), array([1, 1, 1, 1]))
    """
    n_dilations = min(n_features, MAX_DILATIONS)
    longest = max(np.log2(max(n_times - 1, 1) / (LENGTH - 1)), 0.0)
    exponents = np.linspace(0, longest, n_dilations)
    dilations, counts = np.unique((2**exponents).astype(int), return_counts=True)
    counts = counts * (n_features // n_dilations)
    counts[: n_features - counts.sum()] += 1
    return dilations, counts


def convolve(series: Array, dilation: int) -> Any:
    """A function from the number of a kernel to its outputs (n, n_times) over series.

    Nine shifted copies of the series are made once; a kernel adds three of them to their common
    part: ``-Σ x + 3 Σ x`` over its tall points.

    Examples
    --------
    >>> output = convolve(np.array([[0.0, 0.0, 1.0, 0.0]]), 1)(0)
    >>> output  # the oldest three points of this kernel are tall, and have not seen the 1 yet
    array([[ 0.,  0., -1., -1.]])
    """
    n_times = series.shape[1]
    reach = (LENGTH - 1) * int(dilation)
    padded = np.concatenate([np.repeat(series[:, :1], reach, axis=1), series], axis=1)
    shifted = [padded[:, i * dilation : i * dilation + n_times] for i in range(LENGTH)]
    common = -sum(shifted)

    def output(kernel: int) -> Array:
        a, b, c = PLACES[kernel]
        return common + 3 * (shifted[a] + shifted[b] + shifted[c])

    return output


def _draw_channels(n_pairs: int, n_channels: int, rng: Any) -> Array:
    """For each pair of a kernel and a dilation the channels whose outputs are added."""
    if n_channels == 1:
        return np.ones((n_pairs, 1), dtype=bool)
    chosen = np.zeros((n_pairs, n_channels), dtype=bool)
    most = min(n_channels, MAX_CHANNELS)
    for row in chosen:
        size = int(2 ** rng.uniform(0, np.log2(most + 1)))
        row[rng.choice(n_channels, size=size, replace=False)] = True
    return chosen


def check_series(X: ArrayLike) -> Array:
    """Series (n, n_channels, n_times) in single precision, all of them known."""
    series = _as_series(X)
    if not np.isfinite(series).all():
        raise ValueError("X has missing or infinite values: series must be known up to their end")
    return series


def _as_series(X: ArrayLike) -> Array:
    values = np.asarray(X)
    if values.ndim not in (2, 3) or 0 in values.shape:
        raise ValueError(
            f"X has the shape {values.shape}: give series (n_samples, n_times) or "
            "(n_samples, n_channels, n_times)"
        )
    values = values.astype(np.float32, copy=False)
    return values[:, None] if values.ndim == 2 else values
