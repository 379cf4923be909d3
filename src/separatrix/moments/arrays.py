"""Arrays of other libraries (PyTorch, CuPy), where scikit-learn is told to take them as they are.

That is the case inside ``sklearn.config_context(array_api_dispatch=True)``. Rows are summarized on
their own device, in their own precision; matrices of features are solved by NumPy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.utils import gen_batches
from sklearn.utils._array_api import (
    _convert_to_numpy,
    array_api_compat,
    get_namespace_and_device,
)

from separatrix.linalg import Array
from separatrix.moments.checks import is_dask
from separatrix.moments.labelled import LabelledRows
from separatrix.moments.scatter import Scatter

MAX_DEVICE_ENTRIES = 1 << 24
"""Entries of a block that is centred and multiplied at once on its device."""


def is_foreign(X: Any) -> bool:
    """Whether rows are an array of another library than NumPy that is to be taken as it is.

    Examples
    --------
    >>> is_foreign(np.zeros(2))
    False
    """
    if isinstance(X, np.ndarray) or not get_config()["array_api_dispatch"]:
        return False
    return array_api_compat.is_array_api_obj(X) and not (sp.issparse(X) or is_dask(X))


def to_numpy(X: Any) -> Any:
    """The same numbers in memory, as an array of NumPy; anything else as it is."""
    if not is_foreign(X):
        return X
    xp, _, _ = get_namespace_and_device(X)
    return _convert_to_numpy(X, xp)


def rows_to_numpy(rows: LabelledRows) -> LabelledRows:
    """The same rows in memory."""
    return rows._replace(X=to_numpy(rows.X)) if is_foreign(rows.X) else rows


def like_rows(result: Any, X: Any) -> Any:
    """A result of NumPy as an array of the library and device of X; text stays as it is.

    Numbers with a fraction get the dtype of X.
    """
    if not isinstance(result, np.ndarray) or result.dtype.kind not in "biuf":
        return result
    xp, _, device = get_namespace_and_device(X)
    dtype = X.dtype if result.dtype.kind == "f" else None
    return xp.asarray(result, dtype=dtype, device=device)


def _block_rows(n_features: int) -> int:
    return max(1, MAX_DEVICE_ENTRIES // max(n_features, 1))


def summarize_on_device(
    rows: LabelledRows, per_class: bool
) -> tuple[Array, Array, Array, list[Scatter], float]:
    """The parts of `summarize.Statistics`, of tall rows on their own device.

    Class sums by a product with the indicators of the classes, then the centred rows with
    themselves, block by block; sums over blocks are in float64. What is left of the means after
    centring is subtracted from the scatter.
    """
    X, (n, d), C = rows.X, rows.X.shape, len(rows.classes)
    xp, _, device = get_namespace_and_device(X)
    weights = np.ones(n) if rows.weights is None else rows.weights
    counts = rows.counts
    totals = np.where(counts > 0, counts, 1.0)[:, None]
    blocks = list(gen_batches(n, _block_rows(d)))

    def there(A: Array) -> Any:
        return xp.asarray(A, dtype=X.dtype, device=device)

    def class_sums(block: slice, Z: Any) -> Array:
        indicator = (rows.codes[block] == np.arange(C)[:, None]) * weights[block]
        return to_numpy(there(indicator) @ Z).astype(np.float64)

    origin = to_numpy(X[0, :]).astype(np.float64)
    start = there(origin)
    offsets = sum(class_sums(block, X[block, :] - start) for block in blocks) / totals
    centres = there(offsets)
    offsets = to_numpy(centres).astype(np.float64)  # exactly the numbers that are subtracted
    scatters, left = np.zeros((C if per_class else 1, d, d)), np.zeros((C, d))
    for block in blocks:
        codes = xp.asarray(rows.codes[block], device=device)
        Z = (X[block, :] - start) - xp.take(centres, codes, axis=0)
        left += class_sums(block, Z)
        Z = Z * there(np.sqrt(weights[block])[:, None])
        for c, scatter in enumerate(scatters):
            part = Z
            if per_class:
                at = xp.asarray(np.flatnonzero(rows.codes[block] == c), device=device)
                part = xp.take(Z, at, axis=0)
            scatter += to_numpy(part.T @ part).astype(np.float64)
    left /= totals
    for c in range(C):
        scatters[c if per_class else 0] -= counts[c] * np.outer(left[c], left[c])
    eps = float(xp.finfo(X.dtype).eps)
    return counts, offsets + left, origin, [Scatter(d, matrix) for matrix in scatters], eps
