"""Subspaces: rows in them, decisions there, and the features that they are made of."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler

from separatrix.evaluate.contents import find_method, name_features
from separatrix.evaluate.describe import find_patterns
from separatrix.evaluate.records import Comparison, Loadings
from separatrix.linalg import Array
from separatrix.plots.axes import get_axes

MARKERS = "o^sDv<>"
"""Shapes of points; seven and ten colours have no common divisor: 70 classes look different."""

MAX_CLASSES_INSIDE, MAX_LEGEND_ROWS = 10, 15
"""Classes whose names fit inside a picture, and names that fit in one column of the legend."""


def plot_projection(
    model: Any,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    method: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw labelled rows in the first two directions of a fitted subspace.

    Parameters
    ----------
    model : fitted subspace estimator or pipeline, or Comparison
        With one direction only, the classes are drawn as histograms along it. A pipeline, such as
        a loaded model, is drawn in the subspace of its method. A comparison has its own rows.
    X : array (n_samples, n_features)
        Rows, better held-out ones: training rows look too well separated. None for a comparison.
    y : array (n_samples,)
        Their labels. None for a comparison.
    method : str, optional
        The method of a comparison, by default the advised one.
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
    'direction 1 (68 %)'
    """
    if isinstance(model, Comparison):
        Z, target, titles = _held_out_rows(model, method)
    else:
        Z, target, titles = _project_labelled(model, X, y)
    if Z.shape[1] == 0:
        raise ValueError("the subspace has no direction to draw")
    ax = get_axes(ax)
    labels = np.unique(target)
    if Z.shape[1] == 1:
        ax.hist([Z[target == label, 0] for label in labels], bins=30, label=labels.tolist())
        ax.set_ylabel("samples")
    else:
        for label, marker in zip(labels, cycle(MARKERS), strict=False):
            rows = Z[target == label, :2]
            ax.scatter(*rows.T, s=14, alpha=0.8, marker=marker, label=str(label))
        ax.set_ylabel(titles[1])
    ax.set_xlabel(titles[0])
    _class_legend(ax, len(labels), outside=len(labels) > MAX_CLASSES_INSIDE)
    return ax


def _project_labelled(model: Any, X: Any, y: Any) -> tuple[Array, Array, list[str]]:
    """Rows in the subspace of a model, their labels, and titles of two axes."""
    if X is None or y is None:
        raise ValueError(f"{type(model).__name__} is drawn with rows: give X and their labels y")
    before, method = find_method(model)
    if not hasattr(method, "transform"):
        raise ValueError(f"{type(method).__name__} has no subspace to draw")
    rows = X
    for step in before:
        rows = step.transform(rows)
    Z = np.asarray(method.transform(rows))
    return Z, np.asarray(y), [_axis_title(method, i) for i in range(2)]


def _held_out_rows(comparison: Comparison, name: str | None) -> tuple[Array, Array, list[str]]:
    """The held-out rows of the first split in the directions of a method."""
    name = name or comparison.advised or comparison.methods[0].name
    view = next((fold.view for fold in comparison[name].folds if fold.view is not None), None)
    if view is None:
        raise ValueError(f"{name} has no directions to draw: name another method")
    target = np.array(comparison.classes)[np.array(comparison.labels)[list(comparison.tests[0])]]
    axes = "direction" if view.axes == "directions" else "principal axis"
    return np.array(view.coordinates), target, [f"{name}, {axes} {i + 1}" for i in range(2)]


def _class_legend(ax: Any, n_classes: int, *, outside: bool) -> None:
    """Names of classes, inside the picture or right of it, in columns no longer than it."""
    place = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if outside else {}
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
    """Draw the decisions of a classifier of two features everywhere around labelled rows.

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
    ax = get_axes(ax)
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
    _class_legend(ax, n_classes, outside=True)
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


def _axis_title(method: Any, i: int) -> str:
    shares = getattr(method, "explained_ratio_", ())
    share = f" ({shares[i]:.0%})".replace("%", " %") if len(shares) > i else ""
    return f"direction {i + 1}{share}"


def plot_loadings(loadings: Any, *, n_features: int = 15, ax: Any = None) -> Any:
    """Draw how much each feature matters to the first directions.

    Parameters
    ----------
    loadings : Loadings, fitted estimator or pipeline
        Of a fold of `evaluate.compare`: the change by a standard deviation of each feature. Of an
        estimator the weights of its first three components, scaled to length one; these compare
        features only when all have the same spread. A pipeline, such as a loaded model, is drawn
        by the features that its method sees: behind a scaler all have the same spread.
    n_features : int
        Features with the largest weights that are drawn as bars. Features whose names are numbers,
        such as wavelengths, are all drawn, as curves over these numbers.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With a bar for each feature and direction, the feature of largest weight on top, or with
        a curve for each direction.

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
    ax = get_axes(ax)
    _draw_features(ax, names, weights, n_features, "weight")
    return ax


def plot_patterns(
    estimator: Any,
    X: ArrayLike | None = None,
    *,
    n_features: int = 15,
    ax: Any = None,
) -> Any:
    """Draw how features change along the first directions: Haufe's activation patterns.

    A weight may only serve to cancel what other features share. The pattern of a feature is how
    many of its standard deviations it changes when a row moves by one of its own along a
    direction, and stays where it is along the others: it says what the direction measures.

    Parameters
    ----------
    estimator : Loadings, fitted estimator or pipeline
        Of a fold of `evaluate.compare`, or an estimator whose directions are weights of features.
    X : array or sparse matrix (n_samples, n_features)
        Rows as the estimator takes them, such as those that were learned; not needed with
        loadings, which have patterns.
    n_features : int
        Features with the largest patterns that are drawn as bars. Features whose names are
        numbers, such as wavelengths, are all drawn, as curves over these numbers.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With a bar for each feature and direction, the feature of largest pattern on top, or with
        a curve for each direction.

    References
    ----------
    Haufe et al., On the interpretation of weight vectors of linear models in multivariate
    neuroimaging, NeuroImage 87 (2014).

    Examples
    --------
    >>> from separatrix import FisherDiscriminant, datasets
    >>> from separatrix.plots import plot_patterns
    >>> wine = datasets.load("wine")
    >>> model = FisherDiscriminant().fit(wine.data, wine.target)
    >>> len(plot_patterns(model, wine.data, n_features=5).patches)
    10
    """
    names, patterns = _patterns(estimator, X)
    ax = get_axes(ax)
    _draw_features(ax, names, patterns, n_features, "pattern (standard deviations of the feature)")
    return ax


def _draw_features(
    ax: Any, names: Sequence[str], values: Array, n_features: int, title: str
) -> None:
    """Values of features, a row for each direction: curves over numbers, bars over other names."""
    numbers = _read_numbers(names)
    if numbers is None:
        _draw_bars(ax, names, values, n_features)
        ax.set_xlabel(title)
    else:
        order = np.argsort(numbers)
        for i, row in enumerate(values):
            ax.plot(numbers[order], row[order], label=f"direction {i + 1}")
        ax.axhline(0, color="k", linewidth=0.8)
        ax.set(xlabel="feature", ylabel=title)
    above = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2}
    ax.legend(frameon=False, ncols=len(values), **above)


def _read_numbers(names: Sequence[str]) -> Array | None:
    """Names of several features as finite numbers that differ, or None where they are not."""
    try:
        numbers = np.array([float(name) for name in names])
    except ValueError:
        return None
    distinct = np.isfinite(numbers).all() and len(np.unique(numbers)) == len(numbers)
    return numbers if distinct and len(numbers) > 1 else None


def _draw_bars(ax: Any, names: Sequence[str], values: Array, n_features: int) -> None:
    """A bar for each direction (a row of values) and feature, the largest on top."""
    largest = np.argsort(-np.abs(values).max(axis=0), kind="stable")[:n_features]
    height = 0.8 / len(values)
    for i, row in enumerate(values):
        places = np.arange(len(largest)) + (i - (len(values) - 1) / 2) * height
        ax.barh(places, row[largest], height, label=f"direction {i + 1}")
    ax.axvline(0, color="k", linewidth=0.8)
    ax.set_yticks(range(len(largest)), [names[j] for j in largest])
    ax.invert_yaxis()


def _patterns(given: Any, X: Any) -> tuple[Sequence[str], Array]:
    """Names of features and the patterns of up to three directions."""
    if isinstance(given, Loadings):
        if not given.patterns:
            raise ValueError("these loadings have no patterns: an older version computed them")
        return given.features, np.array(given.patterns)
    names, _ = _weights(given)
    if X is None:
        raise ValueError("patterns of a model are those of rows: give them as X")
    before, method = find_method(given)
    rows: Any = X
    for step in before:
        rows = step.transform(rows)
    rows = rows if sp.issparse(rows) else np.asarray(rows, dtype=float)
    spread = np.sqrt(StandardScaler(with_mean=False).fit(rows).var_)
    return names, find_patterns(np.asarray(method.components_), rows, spread)[:3]


def _weights(given: Any) -> tuple[Sequence[str], Array]:
    """Names of features and the weights of up to three directions."""
    if isinstance(given, Loadings):
        return given.features, np.array(given.weights)
    before, method = find_method(given)
    if getattr(method, "dual_coef_", None) is not None or not hasattr(method, "components_"):
        raise ValueError(
            f"{type(method).__name__} has no weights of features to draw: its directions are not "
            "combinations of features"
        )
    W = np.asarray(method.components_[:3])
    if len(W) == 0:
        raise ValueError("the subspace has no direction to draw")
    return name_features(before, method), W / np.linalg.norm(W, axis=1, keepdims=True)
