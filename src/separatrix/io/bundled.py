"""Data sets that are on every machine with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sklearn.datasets
from sklearn.utils import Bunch

BUNDLED: dict[str, Callable[..., Any]] = {
    "breast_cancer": sklearn.datasets.load_breast_cancer,
    "digits": sklearn.datasets.load_digits,
    "iris": sklearn.datasets.load_iris,
    "wine": sklearn.datasets.load_wine,
}
"""Data sets by name."""


def load_bundled(name: str) -> Bunch:
    """A bundled data set, with its labels by name."""
    if name not in BUNDLED:
        raise ValueError(f"no bundled data set {name!r}: there are {', '.join(sorted(BUNDLED))}")
    bunch = BUNDLED[name]()
    bunch.target = np.asarray(bunch.target_names)[bunch.target]
    return bunch
