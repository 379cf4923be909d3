"""Pictures by matplotlib (the `plot` extra): a fitted model or records in, Axes out."""

from separatrix.plots.curves import plot_calibration, plot_roc
from separatrix.plots.early import (
    plot_class_reliabilities,
    plot_early_decision,
    plot_reliability_curve,
)
from separatrix.plots.intervals import plot_direction_intervals
from separatrix.plots.scores import (
    plot_critical_difference,
    plot_dimension_path,
    plot_grid_scores,
    plot_prequential,
)
from separatrix.plots.subspaces import (
    plot_loadings,
    plot_patterns,
    plot_projection,
    plot_regions,
)

__all__ = [
    "plot_calibration",
    "plot_class_reliabilities",
    "plot_critical_difference",
    "plot_dimension_path",
    "plot_direction_intervals",
    "plot_early_decision",
    "plot_grid_scores",
    "plot_loadings",
    "plot_patterns",
    "plot_prequential",
    "plot_projection",
    "plot_regions",
    "plot_reliability_curve",
    "plot_roc",
]
