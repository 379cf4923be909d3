"""What class moments say without a row: expected error, rows needed, features, confidence."""

from separatrix.insight.directions import DirectionIntervals, direction_intervals
from separatrix.insight.error import ExpectedError, expected_error, rows_needed
from separatrix.insight.features import SelectedFeatures, select_features

__all__ = [
    "DirectionIntervals",
    "ExpectedError",
    "SelectedFeatures",
    "direction_intervals",
    "expected_error",
    "rows_needed",
    "select_features",
]
