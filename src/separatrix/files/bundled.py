"""Data sets that are on every machine with scikit-learn."""

from __future__ import annotations

from typing import Any

BUNDLED = ("breast_cancer", "digits", "iris", "wine")
"""Names of the data sets."""


def load_bundled(name: str) -> Any:
    """A bundled data set, with its labels by name."""
    if name not in BUNDLED:
        raise ValueError(f"no bundled data set {name!r}: there are {', '.join(sorted(BUNDLED))}")
    import numpy as np  # here: names are asked for by commands that need no data
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, f"load_{name}")()
    bunch.target = np.asarray(bunch.target_names)[bunch.target]
    return bunch
