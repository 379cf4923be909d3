"""Scores: of dimensions and settings, on a stream, and of methods side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from separatrix.base.estimator import SubspaceEstimator
from separatrix.evaluate.ranking import Ranking
from separatrix.evaluate.stream import PrequentialRecord
from separatrix.plots.axes import draw_scores, find_record, get_axes
from separatrix.selection import DimensionPath, GridScores


def plot_prequential(
    runs: Mapping[str, Sequence[PrequentialRecord]], *, last: int | None = None, ax: Any = None
) -> Any:
    """Draw the error of models on a stream against the rows they have seen.

    Dotted lines are changes that an `evaluate.DriftDetector` has found.

    Parameters
    ----------
    runs : mapping from names to records
        What `evaluate.prequential` returned, by the name of the model.
    last : int, optional
        Average over this many last batches; over everything so far by default, which is the
        average online error. A model that fails to follow a drift shows it sooner with `last`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from separatrix import FisherDiscriminant, datasets
    >>> from separatrix.evaluate import prequential
    >>> from separatrix.plots import plot_prequential
    >>> wine = datasets.load("wine")
    >>> order = np.random.default_rng(0).permutation(178)
    >>> records = prequential(FisherDiscriminant(), wine.data[order], wine.target[order], 20)
    >>> plot_prequential({"Fisher": records}).get_xlabel()
    'rows seen'
    """
    ax = get_axes(ax)
    for name, records in runs.items():
        wrong = np.cumsum([0, *(record["wrong"] for record in records)])
        tested = np.cumsum([0, *(record["rows"] for record in records)])
        ends = np.arange(1, len(records) + 1)
        starts = np.zeros_like(ends) if last is None else np.maximum(ends - last, 0)
        error = (wrong[ends] - wrong[starts]) / (tested[ends] - tested[starts])
        (line,) = ax.plot([r["seen"] + r["rows"] for r in records], error, label=name)
        for record in records:
            if record.get("drift"):  # a change that a detector has found
                ax.axvline(record["seen"], color=line.get_color(), linestyle=":", linewidth=1)
    ax.set_xlabel("rows seen")
    over = "average online error" if last is None else f"error over the last {last} batches"
    ax.set_ylabel(over)
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    return ax


def plot_dimension_path(path: DimensionPath | SubspaceEstimator, *, ax: Any = None) -> Any:
    """Draw the held-out score of each number of directions, and the one that was chosen.

    Parameters
    ----------
    path : DimensionPath or fitted estimator
        What `selection.dimension_path` returns, or an estimator with ``n_components="auto"``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With the average over folds as a line and a band of one standard deviation of them.

    Examples
    --------
    >>> from separatrix import FisherDiscriminant, datasets
    >>> from separatrix.plots import plot_dimension_path
    >>> wine = datasets.load("wine")
    >>> model = FisherDiscriminant("auto").fit(wine.data, wine.target)
    >>> plot_dimension_path(model).get_xlabel()
    'directions (2 chosen)'
    """
    record = find_record(path, "n_components", DimensionPath)
    ax = get_axes(ax)
    draw_scores(ax, record.dimensions, record.scores)
    ax.axvline(record.n_components, color="grey", linestyle=":")
    ax.set_xlabel(f"directions ({record.n_components} chosen)")
    return ax


def plot_grid_scores(scores: GridScores | SubspaceEstimator, *, ax: Any = None) -> Any:
    """Draw the held-out score by γ.

    Parameters
    ----------
    scores : GridScores or fitted estimator
        What refitting said, or an estimator of the LDG family with ``gamma="auto"``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from separatrix import LDG, datasets
    >>> from separatrix.plots import plot_grid_scores
    >>> wine = datasets.load("wine")
    >>> len(plot_grid_scores(LDG().fit(wine.data, wine.target)).lines)
    1
    """
    record = find_record(scores, "gamma", GridScores)
    ax = get_axes(ax)
    gammas = [setting["gamma"] for setting in record.settings]
    order = np.argsort(gammas)  # in even steps: the last may be infinite
    draw_scores(ax, range(len(order)), record.scores[:, order])
    ax.set_xticks(range(len(order)), [f"{gammas[i]:g}" for i in order])
    ax.set_xlabel("gamma")
    return ax


def plot_critical_difference(ranking: Ranking, *, ax: Any = None) -> Any:
    """Draw methods from best to worst, with bars next to those that the test cannot distinguish.

    Parameters
    ----------
    ranking : Ranking
        What `evaluate.rank_methods` returned. Over data sets a point is the mean rank of a
        method, on one data set its mean score.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        A row for each method. A bar at the right joins methods that do not differ
        significantly; over data sets the line above the rows is as long as Nemenyi's critical
        difference.

    Examples
    --------
    >>> from separatrix.evaluate import rank_methods
    >>> from separatrix.plots import plot_critical_difference
    >>> ranking = rank_methods({"a": [0.9, 0.8, 0.7], "b": [0.8, 0.7, 0.6], "c": [0.9, 0.6, 0.6]})
    >>> plot_critical_difference(ranking).get_xlabel()
    'mean rank over 3 data sets'
    """
    reach = ranking.critical_difference
    values = ranking.mean_scores if reach is None else ranking.mean_ranks
    rows = range(len(values))
    ax = get_axes(ax)
    ax.plot(values, rows, "o")
    ax.grid(axis="y", color="0.9")
    ax.set_axisbelow(True)
    ax.set_yticks(rows, ranking.methods)
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.set_xlabel(f"mean score over {ranking.n} splits")
    for i, group in enumerate(g for g in ranking.groups if len(g) > 1):
        first, last = (ranking.methods.index(name) for name in (group[0], group[-1]))
        x, right = 1.02 + 0.025 * i, ax.get_yaxis_transform()  # right of the axes
        ax.plot([x, x], [first - 0.2, last + 0.2], "k", lw=3, transform=right, clip_on=False)
    if reach is not None:
        ax.set_ylim(len(values) - 0.5, -1.5)
        ax.plot([values[0], values[0] + reach], [-1, -1], "k|-")
        ax.annotate("  critical difference", (values[0] + reach, -1), va="center")
        ax.set_xlabel(f"mean rank over {ranking.n} data sets")
    return ax
