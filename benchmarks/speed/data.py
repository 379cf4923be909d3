"""Data that every family is measured on."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from separatrix.linalg import Array

N_CLASSES = 10


def labelled(
    n: int, d: int, dtype: DTypeLike = np.float64, *, n_classes: int = N_CLASSES
) -> tuple[Array, Array]:
    """Gaussian rows around class means, all classes of about the same size."""
    rng = np.random.default_rng(0)
    y = rng.integers(n_classes, size=n)
    X = rng.standard_normal((n, d))
    X += rng.standard_normal((n_classes, d))[y]
    return X.astype(dtype, copy=False), y


def sparse_labelled(n: int, d: int, density: float, *, zipf: bool) -> tuple[Any, Array]:
    """Sparse rows whose columns are all as frequent, or the k-th 1/k as frequent as the first.

    Entries are drawn by position, those that coincide are added.
    """
    rng = np.random.default_rng(0)
    n_entries = int(n * d * density)
    reach = np.cumsum(1 / np.arange(1, d + 1) if zipf else np.ones(d))
    columns = np.searchsorted(reach, reach[-1] * rng.random(n_entries))
    rows = rng.integers(n, size=n_entries)
    X = sp.coo_array((rng.random(n_entries), (rows, columns)), shape=(n, d)).tocsr()
    return X, rng.integers(N_CLASSES, size=n)


def size(n: int, d: int) -> str:
    return f"{n}×{d}"
