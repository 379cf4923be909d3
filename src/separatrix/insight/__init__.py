"""What class moments say without a row: expected error, rows needed, features, confidence."""

from separatrix.insight.features import SelectedFeatures, select_features

__all__ = ["SelectedFeatures", "select_features"]
