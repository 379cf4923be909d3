"""Early decisions: when they fall, how reliable they are, and the state of a stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.evaluate.early import ReliabilityRecord
from separatrix.plots.axes import get_axes


def plot_early_decision(
    early: Any, series: ArrayLike, *, reliability: float | None = None, ax: Any = None
) -> Any:
    """Draw a series, the time at which it is decided, and the values expected to follow then.

    Parameters
    ----------
    early : fitted EarlyClassifier
    series : array (n_times,)
        At most as long as those that were learned, or with NaN at its end.
    reliability : float, optional
        τ, in place of the estimator's.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With the expected rest as a line and a band of two standard deviations; what came in its
        place is dotted.

    Examples
    --------
    >>> from separatrix import EarlyClassifier, FisherDiscriminant, datasets
    >>> from separatrix.plots import plot_early_decision
    >>> series = datasets.make_series(200, 40, random_state=0)
    >>> model = EarlyClassifier(FisherDiscriminant()).fit(series.data[1:], series.target[1:])
    >>> plot_early_decision(model, series.data[0]).get_xlabel()
    'values seen'
    """
    given = np.ravel(np.asarray(series, dtype=float))
    if len(given) > early.n_features_in_:
        raise ValueError(
            f"series has {len(given)} values, but the model was fitted to series of "
            f"{early.n_features_in_}: give at most {early.n_features_in_} values"
        )
    values = np.full(early.n_features_in_, np.nan)
    values[: len(given)] = given
    decision = early.decide_early(values[None], reliability=reliability)
    t = int(decision.time[0])
    times = np.arange(1, len(values) + 1)
    rest = early.expect(np.where(times <= t, values, np.nan)[None])
    mean, std = rest.mean[0], rest.std[0]
    ax = get_axes(ax)
    ax.plot(times[:t], values[:t], color="C0", label="seen")
    ax.plot(times[t:], values[t:], ":", color="C0", label="what came")
    ax.plot(times[t:], mean[t:], color="C1", label="expected")
    ax.fill_between(times[t:], (mean - 2 * std)[t:], (mean + 2 * std)[t:], color="C1", alpha=0.2)
    ax.axvline(t, color="grey", linestyle="--")
    what = "decided" if decision.decided[0] else "not decided"
    ax.set_title(
        f"{what} after {t} values: {decision.label[0]}, reliability {decision.reliability[0]:.3f}"
    )
    ax.set_xlabel("values seen")
    ax.legend(frameon=False)
    return ax


def plot_reliability_curve(
    runs: Mapping[str, Sequence[ReliabilityRecord]], *, what: str = "reliability", ax: Any = None
) -> Any:
    """Draw how reliable decisions are against how many values they take.

    Parameters
    ----------
    runs : mapping from names to records
        What `evaluate.reliability_curve` returned, by the name of the model.
    what : "reliability", "early_reliability", "accuracy" or "harmonic_mean"
        The share that is drawn.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With a line for each model, τ next to its points, and a dashed one in the same colour for
        deciding on all series at the same time.

    Examples
    --------
    >>> from separatrix import EarlyClassifier, FisherDiscriminant, datasets
    >>> from separatrix.evaluate import reliability_curve
    >>> from separatrix.plots import plot_reliability_curve
    >>> series = datasets.make_series(200, 40, random_state=0)
    >>> model = EarlyClassifier(FisherDiscriminant()).fit(series.data[:100], series.target[:100])
    >>> records = reliability_curve(model, series.data[100:], series.target[100:], [0.1, 0.9])
    >>> len(plot_reliability_curve({"Fisher": records}).lines)
    2
    """
    known = ("reliability", "early_reliability", "accuracy", "harmonic_mean")
    if what not in known:
        raise ValueError(f"what={what!r} is not drawn: use one of {', '.join(known)}")
    ax = get_axes(ax)
    for i, (name, records) in enumerate(runs.items()):
        for rule, style in (("reliable", "o-"), ("fixed time", "x--")):
            chosen = [record for record in records if record["rule"] == rule]
            chosen.sort(key=lambda record: record["time"])
            if not chosen:
                continue
            label = name if rule == "reliable" else f"{name}, all at one time"
            times = [record["time"] for record in chosen]
            shares = [dict(record)[what] for record in chosen]
            ax.plot(times, shares, style, color=f"C{i}", markersize=4, label=label)
            for record, x, y in zip(chosen, times, shares, strict=True):
                if record["required"] is not None:
                    place = {"textcoords": "offset points", "xytext": (3, -10), "fontsize": 7}
                    ax.annotate(f"{record['required']:g}", (x, y), **place)
    ax.set_xlabel("average number of values seen")
    ax.set_ylabel(what.replace("_", " "))
    ax.legend(frameon=False)
    return ax


def plot_class_reliabilities(
    history: Sequence[Any], classes: ArrayLike, *, required: float | None = None, ax: Any = None
) -> Any:
    """Draw the state of a stream: a bar for each class, as long as deciding for it is reliable.

    Draw it again after each value, on the same Axes once they are cleared, to follow a stream.

    Parameters
    ----------
    history : sequence of Decisions
        What `push` has returned so far; the last is now.
    classes : array (n_classes,)
        All labels.
    required : float, optional
        τ, drawn as a line that the bar has to reach.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        The class that would be decided for now has a full bar, other classes a faint one as long
        as the most reliable decision for them that there was on the way.

    Examples
    --------
    >>> from separatrix import EarlyClassifier, FisherDiscriminant, datasets
    >>> from separatrix.plots import plot_class_reliabilities
    >>> series = datasets.make_series(200, 40, random_state=0)
    >>> model = EarlyClassifier(FisherDiscriminant()).fit(series.data[1:], series.target[1:])
    >>> stream = model.stream()
    >>> history = [stream.push(value) for value in series.data[0, :25]]
    >>> plot_class_reliabilities(history, model.classes_).get_title()
    'after 25 values'
    """
    if not history:
        raise ValueError("history is empty: push at least one value")
    labels = np.asarray(classes)
    now = history[-1]
    most = [
        max((d.reliability for d in history if d.label == label), default=0.0) for label in labels
    ]
    ax = get_axes(ax)
    places = np.arange(len(labels))
    ax.barh(places, most, color="0.85")
    current = np.where(labels == now.label, now.reliability, 0.0)
    ax.barh(places, current, color="C2" if now.decided else "C0")
    if required is not None:
        ax.axvline(required, color="grey", linestyle="--")
    ax.set(xlim=(0, 1), xlabel="reliability", yticks=places, yticklabels=labels.astype(str))
    ax.invert_yaxis()
    ax.set_title(f"after {now.n_observed} value{'s' if now.n_observed != 1 else ''}")
    return ax
