"""Pictures by matplotlib (the `plot` extra): a fitted model or records in, Axes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import euclidean_distances

from separatrix.base.estimator import SubspaceEstimator
from separatrix.evaluate.ranking import Ranking
from separatrix.evaluate.records import Loadings
from separatrix.evaluate.stream import PrequentialRecord, ReliabilityRecord
from separatrix.linalg import Array
from separatrix.selection import DimensionPath, GridScores

MARKERS = "o^sDv<>"
"""Shapes of points; seven and ten colours have no common divisor: 70 classes look different."""

MAX_CLASSES_INSIDE, MAX_LEGEND_ROWS = 10, 15
"""Classes whose names fit inside a picture, and names that fit in one column of the legend."""


def plot_projection(
    estimator: SubspaceEstimator, X: ArrayLike, y: ArrayLike, *, ax: Any = None
) -> Any:
    """Draw labelled rows in the first two directions of a fitted subspace.

    Parameters
    ----------
    estimator : fitted subspace estimator
        With one direction only, the classes are drawn as histograms along it.
    X : array (n_samples, n_features)
        Rows; held-out ones show what the training rows cannot.
    y : array (n_samples,)
        Their labels.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from separatrix import FisherDiscriminant, datasets
    >>> from separatrix.plots import plot_projection
    >>> wine = datasets.load("wine")
    >>> model = FisherDiscriminant().fit(wine.data, wine.target)
    >>> plot_projection(model, wine.data, wine.target).get_xlabel()
    'direction 1 (69 %)'
    """
    Z, target = np.asarray(estimator.transform(X)), np.asarray(y)
    if Z.shape[1] == 0:
        raise ValueError("the subspace has no direction to draw")
    ax = _axes(ax)
    labels = np.unique(target)
    if Z.shape[1] == 1:
        ax.hist([Z[target == label, 0] for label in labels], bins=30, label=labels.tolist())
        ax.set_ylabel("samples")
    else:
        for label, marker in zip(labels, cycle(MARKERS), strict=False):
            rows = Z[target == label, :2]
            ax.scatter(*rows.T, s=14, alpha=0.8, marker=marker, label=str(label))
        ax.set_ylabel(_axis_title(estimator, 1))
    ax.set_xlabel(_axis_title(estimator, 0))
    _class_legend(ax, len(labels), beside=len(labels) > MAX_CLASSES_INSIDE)
    return ax


def _class_legend(ax: Any, n_classes: int, *, beside: bool) -> None:
    """Names of classes, inside the picture or beside it, in columns that are no longer than it."""
    place = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if beside else {}
    ax.legend(title="class", frameon=False, ncols=-(-n_classes // MAX_LEGEND_ROWS), **place)


def plot_regions(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    nodes: bool = False,
    resolution: int = 200,
    ax: Any = None,
) -> Any:
    """Draw what a classifier of two features decides everywhere around labelled rows.

    Parameters
    ----------
    estimator : fitted classifier
        Of two features. A `MixtureIPCAC` also shows its clusters: their means, with ellipses of
        two standard deviations of the rows given.
    X : array (n_samples, 2)
        Rows.
    y : array (n_samples,)
        Their labels.
    nodes : bool
        Draw the lines at which the nodes of a `MixtureIPCAC` cut, too.
    resolution : int
        Points along each side of the picture at which the classifier is asked.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from separatrix import MixtureIPCAC
    >>> from separatrix.plots import plot_regions
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = MixtureIPCAC(random_state=0).fit(X, y)
    >>> len(plot_regions(model, X, y).patches) == len(model.cluster_classes_)
    True
    """
    if sp.issparse(X):
        raise TypeError("regions are drawn from dense rows, but X is sparse: use X.toarray()")
    rows, target = np.asarray(X, dtype=float), np.asarray(y)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"regions are drawn in two features, but X has shape {rows.shape}")
    ax = _axes(ax)
    low, high = rows.min(axis=0), rows.max(axis=0)
    margin = 0.05 * np.where(high > low, high - low, 1.0)
    sides = np.linspace(low - margin, high + margin, resolution).T
    grid = np.stack(np.meshgrid(*sides), axis=-1)
    decided = np.asarray(estimator.predict(_with_names(grid.reshape(-1, 2), estimator)))
    codes = np.searchsorted(estimator.classes_, decided).reshape(grid.shape[:2])
    n_classes = len(estimator.classes_)
    levels = np.arange(n_classes + 1) - 0.5
    colors = [f"C{c}" for c in range(n_classes)]
    ax.contourf(*sides, codes, levels=levels, colors=colors, alpha=0.2)
    for color, label in zip(colors, estimator.classes_, strict=True):
        ax.scatter(*rows[target == label].T, s=8, color=color, label=str(label))
    if hasattr(estimator, "cluster_means_"):
        _draw_clusters(ax, estimator, rows, target)
        if nodes:
            _draw_nodes(ax, estimator)
    ax.set(xlim=sides[0][[0, -1]], ylim=sides[1][[0, -1]])
    _class_legend(ax, n_classes, beside=True)
    return ax


def _with_names(rows: Array, estimator: Any) -> Any:
    """Rows with the feature names that the estimator was fitted with, if there were any."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=names)


def _draw_clusters(ax: Any, estimator: Any, rows: Array, target: Array) -> None:
    """Means and ellipses of the clusters; each row belongs to the nearest mean of its class."""
    from matplotlib.patches import Ellipse

    codes = np.searchsorted(estimator.classes_, target)
    distances = euclidean_distances(rows, estimator.cluster_means_, squared=True)
    distances[codes[:, None] != estimator.cluster_classes_] = np.inf
    nearest = distances.argmin(axis=1)
    for k, (mean, c) in enumerate(
        zip(estimator.cluster_means_, estimator.cluster_classes_, strict=True)
    ):
        members = rows[nearest == k]
        covariance = np.cov(members.T, bias=True) if len(members) > 1 else np.zeros((2, 2))
        evals, axes = np.linalg.eigh(covariance)
        angle = np.degrees(np.arctan2(axes[1, 1], axes[0, 1]))
        short, long = 4 * np.sqrt(evals.clip(0))
        ax.add_patch(Ellipse(mean, long, short, angle=angle, fill=False, color=f"C{c}"))
    ax.plot(*estimator.cluster_means_.T, "k+", markersize=9)


def _draw_nodes(ax: Any, estimator: Any) -> None:
    """The line of each node: where its centred projection is its threshold."""
    for w, threshold in zip(estimator.components_, estimator.thresholds_, strict=True):
        if w.any():
            on_line = estimator.mean_ + threshold * w / (w @ w)
            along = np.array([-w[1], w[0]])
            ax.axline(on_line, on_line + along, color="k", linewidth=0.5, alpha=0.5)


def _axis_title(estimator: SubspaceEstimator, i: int) -> str:
    return f"direction {i + 1} ({estimator.explained_ratio_[i]:.0%})".replace("%", " %")


def plot_prequential(
    runs: Mapping[str, Sequence[PrequentialRecord]], *, last: int | None = None, ax: Any = None
) -> Any:
    """Draw the error of models on a stream against the rows they have seen.

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
    ax = _axes(ax)
    for name, records in runs.items():
        wrong = np.cumsum([0, *(record["wrong"] for record in records)])
        tested = np.cumsum([0, *(record["rows"] for record in records)])
        ends = np.arange(1, len(records) + 1)
        starts = np.zeros_like(ends) if last is None else np.maximum(ends - last, 0)
        error = (wrong[ends] - wrong[starts]) / (tested[ends] - tested[starts])
        ax.plot([record["seen"] + record["rows"] for record in records], error, label=name)
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
    found = _record(path, "n_components", DimensionPath)
    ax = _axes(ax)
    _draw_scores(ax, found.dimensions, found.scores)
    ax.axvline(found.n_components, color="grey", linestyle=":")
    ax.set_xlabel(f"directions ({found.n_components} chosen)")
    return ax


def plot_grid_scores(scores: GridScores | SubspaceEstimator, *, ax: Any = None) -> Any:
    """Draw the held-out score by γ, a line for each setting of the other parameters.

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
    3
    """
    found = _record(scores, "gamma", GridScores)
    ax = _axes(ax)
    others = [{n: v for n, v in s.items() if n != "gamma"} for s in found.settings]
    for other in [o for i, o in enumerate(others) if o not in others[:i]]:
        at = [i for i, o in enumerate(others) if o == other]
        at.sort(key=lambda i: found.settings[i]["gamma"])
        gammas = [found.settings[i]["gamma"] for i in at]
        name = ", ".join(f"{n}={v}" for n, v in other.items())
        _draw_scores(ax, gammas, found.scores[:, at], name)
    ax.set_xlabel("gamma")
    ax.legend(frameon=False)
    return ax


def plot_critical_difference(ranking: Ranking, *, ax: Any = None) -> Any:
    """Draw methods from best to worst, with bars beside those that the test cannot distinguish.

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
        A row for each method. A bar at the right joins methods of which no two differ
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
    ax = _axes(ax)
    ax.plot(values, rows, "o")
    ax.grid(axis="y", color="0.9")
    ax.set_axisbelow(True)
    ax.set_yticks(rows, ranking.methods)
    ax.set_ylim(len(values) - 0.5, -0.5)
    ax.set_xlabel(f"mean score over {ranking.n} splits")
    for i, group in enumerate(g for g in ranking.groups if len(g) > 1):
        first, last = (ranking.methods.index(name) for name in (group[0], group[-1]))
        x, right = 1.02 + 0.025 * i, ax.get_yaxis_transform()  # beside the axes
        ax.plot([x, x], [first - 0.2, last + 0.2], "k", lw=3, transform=right, clip_on=False)
    if reach is not None:
        ax.set_ylim(len(values) - 0.5, -1.5)
        ax.plot([values[0], values[0] + reach], [-1, -1], "k|-")
        ax.annotate("  critical difference", (values[0] + reach, -1), va="center")
        ax.set_xlabel(f"mean rank over {ranking.n} data sets")
    return ax


def plot_loadings(
    loadings: Loadings | SubspaceEstimator, *, n_features: int = 15, ax: Any = None
) -> Any:
    """Draw how much each feature matters to the first directions.

    Parameters
    ----------
    loadings : Loadings or fitted estimator
        Of a fold of `evaluate.compare`: what a standard deviation of each feature adds. Of an
        estimator the weights of its first three components, scaled to length one; these compare
        features only when all have the same spread.
    n_features : int
        Features with the largest weights that are drawn.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With a bar for each feature and direction, the feature of largest weight on top.

    Examples
    --------
    >>> from separatrix import FisherDiscriminant, datasets
    >>> from separatrix.plots import plot_loadings
    >>> wine = datasets.load("wine")
    >>> X = (wine.data - wine.data.mean(axis=0)) / wine.data.std(axis=0)
    >>> len(plot_loadings(FisherDiscriminant().fit(X, wine.target), n_features=5).patches)
    10
    """
    names, weights = _weights(loadings)
    largest = np.argsort(-np.abs(weights).max(axis=0), kind="stable")[:n_features]
    ax = _axes(ax)
    height = 0.8 / len(weights)
    for i, row in enumerate(weights):
        places = np.arange(len(largest)) + (i - (len(weights) - 1) / 2) * height
        ax.barh(places, row[largest], height, label=f"direction {i + 1}")
    ax.axvline(0, color="k", linewidth=0.8)
    ax.set_yticks(range(len(largest)), [names[j] for j in largest])
    ax.invert_yaxis()
    ax.set_xlabel("weight")
    above = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
    ax.legend(frameon=False, ncols=len(weights), **above)
    return ax


def _weights(given: Any) -> tuple[Sequence[str], Array]:
    """Names of features and the weights of up to three directions."""
    if isinstance(given, Loadings):
        return given.features, np.array(given.weights)
    if getattr(given, "dual_coef_", None) is not None or not hasattr(given, "components_"):
        raise ValueError(
            f"{type(given).__name__} has no weights of features to draw: its directions are not "
            "combinations of features"
        )
    W = given.components_[:3]
    if len(W) == 0:
        raise ValueError("the subspace has no direction to draw")
    names = getattr(given, "feature_names_in_", [f"x{j}" for j in range(W.shape[1])])
    return names, W / np.linalg.norm(W, axis=1, keepdims=True)


def plot_early_decision(
    early: Any, series: ArrayLike, *, reliability: float | None = None, ax: Any = None
) -> Any:
    """Draw a series, the time at which it is decided, and what was expected to follow then.

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
            f"{early.n_features_in_}: give no more than these"
        )
    values = np.full(early.n_features_in_, np.nan)
    values[: len(given)] = given
    decision = early.decide_early(values[None], reliability=reliability)
    t = int(decision.time[0])
    times = np.arange(1, len(values) + 1)
    rest = early.expect(np.where(times <= t, values, np.nan)[None])
    mean, std = rest.mean[0], rest.std[0]
    ax = _axes(ax)
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
    what : "reliability", "early_reliability" or "accuracy"
        The share that is drawn.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With a line for each model, τ beside its points, and a dashed one in the same colour for
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
    known = ("reliability", "early_reliability", "accuracy")
    if what not in known:
        raise ValueError(f"what={what!r} is not drawn: use one of {', '.join(known)}")
    ax = _axes(ax)
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
    ax = _axes(ax)
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


def _record(given: Any, name: str, kind: type) -> Any:
    """The record itself, or that of a fitted estimator."""
    if isinstance(given, kind):
        return given
    found = getattr(given, "selection_", {}).get(name)
    if found is None:
        raise ValueError(f'nothing to draw: this model was not fitted with {name}="auto"')
    return found


def _axes(ax: Any) -> Any:
    import matplotlib.pyplot as plt

    return plt.figure().add_subplot() if ax is None else ax


def _draw_scores(ax: Any, values: Any, scores: Any, label: str | None = None) -> None:
    """Average over folds, with a band of their standard deviation."""
    mean, std = scores.mean(axis=0), scores.std(axis=0)
    (line,) = ax.plot(values, mean, marker="o", markersize=3, label=label)
    low, high = np.clip([mean - std, mean + std], 0, 1)  # where shares are
    ax.fill_between(values, low, high, alpha=0.15, color=line.get_color())
    ax.set_ylabel("held-out accuracy")
