"""Pictures by matplotlib (the `plot` extra): each function takes what was fitted, returns Axes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.base import SubspaceEstimator
from separatrix.selection import DimensionPath, GridScores


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
        for label in labels:
            ax.scatter(*Z[target == label, :2].T, s=14, alpha=0.8, label=str(label))
        ax.set_ylabel(_axis_title(estimator, 1))
    ax.set_xlabel(_axis_title(estimator, 0))
    ax.legend(title="class", frameon=False)
    return ax


def _axis_title(estimator: SubspaceEstimator, i: int) -> str:
    return f"direction {i + 1} ({estimator.explained_ratio_[i]:.0%})".replace("%", " %")


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
    ax.fill_between(values, mean - std, mean + std, alpha=0.15, color=line.get_color())
    ax.set_ylabel("held-out accuracy")
