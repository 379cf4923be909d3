"""Names of types that the numerics share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
Lift = Callable[[Array], Array]
