"""Pictures by matplotlib (the `plot` extra): each function takes what was fitted, returns Axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from separatrix.base import SubspaceEstimator
from separatrix.evaluate import PrequentialRecord


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
    import matplotlib.pyplot as plt

    Z, target = np.asarray(estimator.transform(X)), np.asarray(y)
    if Z.shape[1] == 0:
        raise ValueError("the subspace has no direction to draw")
    if ax is None:
        ax = plt.figure().add_subplot()
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
    import matplotlib.pyplot as plt

    if ax is None:
        ax = plt.figure().add_subplot()
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
