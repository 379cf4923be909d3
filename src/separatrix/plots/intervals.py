"""How well loadings are known, as whiskers."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.insight import direction_intervals
from separatrix.insight.read import read_moments
from separatrix.moments.spectra import within_units
from separatrix.plots.axes import get_axes


def plot_direction_intervals(
    source: Any,
    *,
    component: int = 0,
    n_features: int = 15,
    confidence: float = 0.95,
    ax: Any = None,
) -> Any:
    """Draw the loadings of a direction with their intervals, from moments alone.

    Parameters
    ----------
    source : ClassMoments, fitted model of moments, or a pipeline that ends in one
    component : int
        Number of the direction.
    n_features : int
        Features with the largest loadings that are drawn.
    confidence : float in (0, 1)
        Of each interval.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        With a point and a whisker for each feature, in units of the deviation within classes, the
        largest on top. A whisker that meets zero may be no difference at all.

    Examples
    --------
    >>> from separatrix import FisherDiscriminant, datasets
    >>> from separatrix.plots import plot_direction_intervals
    >>> wine = datasets.load("wine")
    >>> model = FisherDiscriminant().fit(wine.data, wine.target)
    >>> len(plot_direction_intervals(model, n_features=5).get_yticks())
    5
    """
    moments, names, _ = read_moments(source)
    intervals = direction_intervals(source, confidence=confidence)
    if not 0 <= component < len(intervals.angle):
        raise ValueError(
            f"component={component} must be one of the {len(intervals.angle)} directions, "
            "from 0 on"
        )
    units = within_units(moments)
    low, high = intervals.low[component] * units, intervals.high[component] * units
    centre = (low + high) / 2
    drawn = np.argsort(-np.abs(centre), kind="stable")[:n_features]
    ax = get_axes(ax)
    places = np.arange(len(drawn))
    ax.errorbar(centre[drawn], places, xerr=(high - centre)[drawn], fmt="o", capsize=3)
    ax.axvline(0.0, color="grey", linewidth=0.8)
    ax.set_yticks(places, [names[j] for j in drawn])
    ax.invert_yaxis()
    ax.set_xlabel(f"loading, with {100 * confidence:g} % intervals")
    ax.set_title(f"direction {component + 1}, {intervals.angle[component]:.0f}° off")
    return ax
