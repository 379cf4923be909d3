"""The share of equation 3.6 as it is printed."""

from __future__ import annotations

from separatrix.linalg import Array


def printed_shares(accuracy: Array) -> Array:
    """Rows on the wrong side of each hyperplane: half the mean of |y - sign(f)|."""
    return 1.0 - accuracy
