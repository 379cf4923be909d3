"""Axes to draw on, and what several pictures draw."""

from __future__ import annotations

from typing import Any

import numpy as np


def get_axes(ax: Any) -> Any:
    """The axes given, or new ones in a figure of their own."""
    import matplotlib.pyplot as plt

    return plt.figure().add_subplot() if ax is None else ax


def draw_scores(ax: Any, values: Any, scores: Any) -> None:
    """Average over folds, with a band of their standard deviation."""
    mean, std = scores.mean(axis=0), scores.std(axis=0)
    (line,) = ax.plot(values, mean, marker="o", markersize=3)
    low, high = np.clip([mean - std, mean + std], 0, 1)  # where shares are
    ax.fill_between(values, low, high, alpha=0.15, color=line.get_color())
    ax.set_ylabel("held-out accuracy")


def find_record(given: Any, name: str, kind: type) -> Any:
    """The record itself, or that of a fitted estimator."""
    if isinstance(given, kind):
        return given
    record = getattr(given, "selection_", {}).get(name)
    if record is None:
        raise ValueError(f'nothing to draw: this model was not fitted with {name}="auto"')
    return record
