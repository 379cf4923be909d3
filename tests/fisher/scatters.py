"""Scatters of test data."""

from __future__ import annotations

import pytest

from separatrix import (
    ClassMoments,
)
from tests.discovery import SHAPES

every_shape = pytest.mark.parametrize(("X", "y"), SHAPES.values(), ids=SHAPES)


def scatters(X, y):
    m = ClassMoments.from_data(X, y)
    return m.Sw, m.Sb
