"""Arrays of other libraries (PyTorch, CuPy), where scikit-learn is set to take them as they are.

That is the case inside ``sklearn.config_context(array_api_dispatch=True)``. Rows are copied to
memory, once; results go back to the library, device and dtype of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.utils._array_api import (
    _convert_to_numpy,
    array_api_compat,
    get_namespace_and_device,
)

from separatrix.moments.labelled import is_dask


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


def like_rows(result: Any, X: Any) -> Any:
    """A result of NumPy as an array of the library and device of X; text stays as it is.

    Numbers with a fraction get the dtype of X.
    """
    if not isinstance(result, np.ndarray) or result.dtype.kind not in "biuf":
        return result
    xp, _, device = get_namespace_and_device(X)
    dtype = X.dtype if result.dtype.kind == "f" else None
    return xp.asarray(result, dtype=dtype, device=device)
