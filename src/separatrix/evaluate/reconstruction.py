"""The error of rows that are reconstructed from a subspace."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def reconstruction_error(model: Any, X: ArrayLike) -> float:
    """Mean squared distance between rows and what their coordinates give back.

    Parameters
    ----------
    model : fitted estimator
        With `transform` and `inverse_transform`, such as every linear method here, or
        scikit-learn's `PCA`.
    X : array (n_samples, n_features)
        Rows.

    Returns
    -------
    float
        ``mean ‖x - inverse_transform(transform(x))‖²``. For principal components and the rows they
        were computed from, it is the sum of the variances of the axes left out: the smallest
        error of any linear subspace of this dimension. A supervised subspace has a larger error,
        the price of separating the classes.

    Examples
    --------
    >>> from sklearn.decomposition import PCA
    >>> X = np.array([[0.0, 0.0], [4.0, 2.0], [4.0, 0.0], [0.0, 2.0]])
    >>> round(reconstruction_error(PCA(1).fit(X), X), 12)
    1.0
    """
    if not hasattr(model, "inverse_transform"):
        raise TypeError(
            f"{type(model).__name__} has no inverse_transform: its coordinates do not say which "
            "rows they are of"
        )
    rows = np.asarray(X, dtype=np.float64)
    back = model.inverse_transform(model.transform(rows))
    return float(np.mean(np.sum((rows - back) ** 2, axis=1)))
