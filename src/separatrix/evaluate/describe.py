"""Facts about a fitted method beside its scores: accuracy by dimension, view, loadings, memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from separatrix.evaluate.classify import FittedMethod, project_rows, scorer_of
from separatrix.evaluate.methods import Contender, is_raw
from separatrix.evaluate.records import Loadings, View
from separatrix.linalg import Array
from separatrix.selection import draw_rows_by_class, order_columns_by_level

MAX_VIEW_DIRECTIONS = 3
"""Directions whose coordinates and loadings are kept."""

MAX_LOADING_FEATURES = 100
"""Features whose loadings are kept."""

MAX_PATH_ROWS = 2000
"""Training rows, and test rows, that the accuracy by dimension is computed with."""


def describe_directions(
    contender: Contender,
    decision: str,
    seed: int,
    fitted: FittedMethod,
    X: Any,
    codes: Array,
    X_new: Any,
    truth: Array,
) -> dict[str, Any]:
    """Number of directions, and accuracy by dimension on at most `MAX_PATH_ROWS` of each part."""
    found: dict[str, Any] = {"n_components": len(kept_columns(fitted, X))}
    if contender.choose_dimension:
        known, new = (draw_rows_by_class(part, MAX_PATH_ROWS, seed) for part in (codes, truth))
        Z, Z_new = project_rows(fitted.model, X[known]), project_rows(fitted.model, X_new[new])
        order, ends = order_columns_by_level(fitted.model, Z.shape[1])
        score = scorer_of(decision, len(known))
        path = score(Z[:, order], codes[known], Z_new[:, order], truth[new], ends)
        found["path"] = tuple(path.tolist())
    return found


def kept_columns(fitted: FittedMethod, X: Any) -> Array:
    """Columns of the projection that are kept."""
    if fitted.columns is not None:
        return fitted.columns
    return np.arange(project_rows(fitted.model, X[:1]).shape[1])


def view_and_loadings(
    contender: Contender, fitted: FittedMethod, X: Any, X_new: Any, feature_names: Sequence[str]
) -> dict[str, Any]:
    """View of the test rows, and loadings where a method has weights of features."""
    if is_raw(contender):
        n_axes = min(MAX_VIEW_DIRECTIONS, min(X.shape) - sp.issparse(X))  # not all of sparse rows
        if n_axes < 1:
            return {}
        axes = PCA(n_axes, random_state=0).fit(X)
        return {"view": View(to_tuples(axes.transform(X_new)), "principal axes")}
    columns = kept_columns(fitted, X)[:MAX_VIEW_DIRECTIONS]
    if not len(columns):
        return {}
    Z_new = project_rows(fitted.model, X_new)
    found: dict[str, Any] = {"view": View(to_tuples(Z_new[:, columns]))}
    W = None if sp.issparse(Z_new) else feature_weights(fitted.model, X_new, Z_new)
    if W is not None:
        found["loadings"] = make_loadings(W[columns], X, feature_names)
    return found


def to_tuples(Z: Any) -> tuple[tuple[float, ...], ...]:
    """An array as tuples of its rows."""
    rows = Z.toarray() if sp.issparse(Z) else np.asarray(Z, dtype=float)
    return tuple(tuple(row) for row in rows.tolist())


def feature_weights(model: Any, X: Any, Z: Array) -> Array | None:
    """The W with ``Z = X Wᵀ`` up to a constant, where the model holds one."""
    W = getattr(model, "components_", None)
    if W is None:
        W = getattr(model, "scalings_", np.zeros((0, 0))).T  # scikit-learn's LDA
    W = np.asarray(W, dtype=float)[: Z.shape[1]]
    if W.shape != (Z.shape[1], X.shape[1]):
        return None
    product = X @ W.T
    product -= product.mean(axis=0)
    same = np.allclose(product, Z - Z.mean(axis=0), rtol=1e-4, atol=1e-4 * np.abs(product).max())
    return W if same else None


def make_loadings(W: Array, X: Any, feature_names: Sequence[str]) -> Loadings:
    """The change along each direction by one standard deviation of each feature, of length one."""
    scaler = StandardScaler(with_mean=False).fit(X)
    weights = W * np.sqrt(scaler.var_)
    weights /= np.maximum(np.linalg.norm(weights, axis=1, keepdims=True), np.finfo(float).tiny)
    largest = np.argsort(-np.abs(weights).max(axis=0), kind="stable")[:MAX_LOADING_FEATURES]
    largest.sort()
    names = tuple(feature_names[j] for j in largest)
    return Loadings(names, to_tuples(weights[:, largest]), X.shape[1])


def measure_memory(estimator: Any, X: Any, codes: Array) -> dict[str, int]:
    """Most bytes that Python and NumPy held at a time during a fit, beyond those before it.

    A caller who traces memory already goes on doing so.
    """
    tracing = tracemalloc.is_tracing()
    if tracing:
        tracemalloc.reset_peak()
    else:
        tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    try:
        estimator.fit(X, codes)
        return {"peak_bytes": tracemalloc.get_traced_memory()[1] - before}
    finally:
        if not tracing:
            tracemalloc.stop()
