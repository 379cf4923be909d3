"""Curves of degrees and probabilities: of a comparison, or of a classifier on new rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.evaluate.curves import (
    FALSE_SHARES,
    class_degrees,
    count_in_bins,
    mean_roc,
    measure_miscalibration,
    pool_calibration,
    trace_roc,
)
from separatrix.evaluate.records import Comparison, MethodRecord
from separatrix.linalg import Array
from separatrix.plots.axes import get_axes


def plot_roc(
    source: Any, X: ArrayLike | None = None, y: ArrayLike | None = None, *, ax: Any = None
) -> Any:
    """Draw the share of a class that is found against the share of other rows taken for it.

    Parameters
    ----------
    source : Comparison, MethodRecord or fitted classifier
        Methods of `evaluate.compare`: a line for each that gives degrees, the mean over splits. Or
        a classifier with ``decision_function`` or ``predict_proba``, which is judged by `X` and
        `y`.
    X, y : arrays (n_samples, n_features), (n_samples,)
        Rows that the classifier has not learned, and their labels.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With the mean over classes, each against the rest, and the area below in the legend.

    Examples
    --------
    >>> from separatrix import FisherDiscriminant, datasets
    >>> from separatrix.plots import plot_roc
    >>> wine = datasets.load("wine")
    >>> model = FisherDiscriminant().fit(wine.data[::2], wine.target[::2])
    >>> plot_roc(model, wine.data[1::2], wine.target[1::2]).get_ylabel()
    'rows of a class that are found'
    """
    lines = dict(_roc_lines(source, X, y))
    if not lines:
        raise ValueError("nothing to draw: no method gives degrees or probabilities of classes")
    ax = get_axes(ax)
    ax.plot([0, 1], [0, 1], "--", color="grey", linewidth=0.8)
    for name, shares in lines.items():
        area = np.trapezoid(shares, FALSE_SHARES)
        ax.plot([0, *FALSE_SHARES], [0, *shares], label=f"{name} (area {area:.3f})")
    ax.set(xlabel="other rows taken for it", ylabel="rows of a class that are found")
    ax.legend(frameon=False)
    return ax


def _roc_lines(source: Any, X: Any, y: Any) -> Iterator[tuple[str, Array]]:
    for method in _list_methods(source):
        shares = mean_roc(method)
        if shares is not None:
            yield method.name, shares
    if not isinstance(source, Comparison | MethodRecord):
        rows, labels = _check_rows(source, X, y)
        degrees = class_degrees(source, rows)
        traced = () if degrees is None else trace_roc(labels, degrees, source.classes_)
        if traced:
            yield type(source).__name__, np.array(traced)


def plot_calibration(
    source: Any, X: ArrayLike | None = None, y: ArrayLike | None = None, *, ax: Any = None
) -> Any:
    """Draw the share of rows that is right against the probability of the class that is named.

    Parameters
    ----------
    source : Comparison, MethodRecord or fitted classifier
        Methods of `evaluate.compare`: a line for each that gives probabilities, over all splits.
        Or a classifier with ``predict_proba``, which is judged by `X` and `y`.
    X, y : arrays (n_samples, n_features), (n_samples,)
        Rows that the classifier has not learned, and their labels.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With a point for each tenth of the probability, the larger the more rows are there. The
        legend has the expected calibration error: the mean distance from the diagonal over rows.

    Examples
    --------
    >>> from separatrix import FisherDiscriminant, datasets
    >>> from separatrix.plots import plot_calibration
    >>> wine = datasets.load("wine")
    >>> model = FisherDiscriminant().fit(wine.data[::2], wine.target[::2])
    >>> plot_calibration(model, wine.data[1::2], wine.target[1::2]).get_ylabel()
    'share that is right'
    """
    lines = dict(_calibration_lines(source, X, y))
    if not lines:
        raise ValueError("nothing to draw: no method gives probabilities of classes")
    ax = get_axes(ax)
    ax.plot([0, 1], [0, 1], "--", color="grey", linewidth=0.8)
    for i, (name, bins) in enumerate(lines.items()):
        n, sure, right = bins.T
        label = f"{name} (off by {measure_miscalibration(bins):.3f})"
        ax.plot(sure, right, color=f"C{i}", label=label)
        ax.scatter(sure, right, s=10 + 90 * n / n.max(), color=f"C{i}")
    ax.set(xlabel="probability of the class that is named", ylabel="share that is right")
    ax.legend(frameon=False)
    return ax


def _calibration_lines(source: Any, X: Any, y: Any) -> Iterator[tuple[str, Array]]:
    for method in _list_methods(source):
        bins = pool_calibration(method)
        if bins is not None:
            yield method.name, bins
    if not isinstance(source, Comparison | MethodRecord) and hasattr(source, "predict_proba"):
        rows, labels = _check_rows(source, X, y)
        probabilities = np.asarray(source.predict_proba(rows), dtype=float)
        named = np.asarray(source.classes_)[probabilities.argmax(axis=1)]
        bins = np.array(count_in_bins(probabilities.max(axis=1), named == labels))
        yield type(source).__name__, bins[bins[:, 0] > 0]


def _list_methods(source: Any) -> list[MethodRecord]:
    """The methods of a comparison, or the one that was given."""
    if isinstance(source, Comparison):
        return list(source.methods)
    return [source] if isinstance(source, MethodRecord) else []


def _check_rows(classifier: Any, X: Any, y: Any) -> tuple[Any, Array]:
    if X is None or y is None:
        raise ValueError(
            f"{type(classifier).__name__} is judged by rows that it has not learned: give X and y"
        )
    return X, np.asarray(y)
