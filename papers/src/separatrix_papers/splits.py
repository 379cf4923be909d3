"""Rows to learn from and rows to be tested on."""

from __future__ import annotations

from typing import Any, NamedTuple

from separatrix.linalg import Array


class TrainTest(NamedTuple):
    """Training rows, test rows and their labels."""

    X: Any
    y: Array
    X_test: Any
    y_test: Array
