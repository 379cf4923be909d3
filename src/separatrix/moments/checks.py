"""Checks of rows, labels and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from separatrix.linalg import Array

MAX_MAGNITUDE = 1e75
"""Fourth powers of larger numbers, and of numbers smaller than its inverse, leave float64."""


def is_dask(X: Any) -> bool:
    """Whether rows are a Dask collection, or a list of delayed blocks; Dask is not imported."""
    first = X
    for _ in range(2):  # a block may be a pair
        first = first[0] if isinstance(first, list | tuple) and len(first) else first
    if isinstance(first, type) or not hasattr(first, "__dask_graph__"):
        return False
    return type(first).__module__.startswith("dask") or first.__dask_graph__() is not None


def check_in_memory(X: Any, who: str = "this") -> None:
    """Raise for rows that are not in memory yet, with the remedy."""
    if is_dask(X):
        raise TypeError(
            f"{who} looks at all rows together, and those of a Dask collection are never all in "
            "memory. Take some of them, X, y = separatrix.moments.subsample(X, y, 10000), or "
            "all with X.compute() where they fit"
        )
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise TypeError(
            f"X is a {type(X).__name__}, which holds no rows yet: call X.collect() first"
        )


def check_not_in_blocks(X: Any) -> None:
    """Raise for new rows that are a Dask collection, with the remedy."""
    if is_dask(X):
        raise TypeError(
            "X is a Dask collection: ask for its rows block by block, "
            "separatrix.map_blocks(model.predict, X) for model.predict(X), and "
            "separatrix.score_blocks(model, X, y) for model.score(X, y)"
        )


def check_finite(X: Any, names: ArrayLike | None = None) -> None:
    """Raise for NaN or infinity; columns are searched only where the sum of all is not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        suspicious = not np.isfinite(X.sum(dtype=np.float64))
    if suspicious:
        check_finite_columns(X, names)


def check_finite_columns(X: Any, names: ArrayLike | None = None) -> None:
    """Raise for NaN or infinity, with the name of the first column that has one."""
    entries = X.tocsc() if sp.issparse(X) else X
    for column in range(X.shape[1]):
        values = entries[:, [column]].data if sp.issparse(X) else entries[:, column]
        if np.isfinite(values).all():
            continue
        kind = "NaN" if np.isnan(values).any() else "infinity"
        name = column if names is None else np.asarray(names).tolist()[column]
        raise ValueError(
            f"Input X contains {kind} in column {name!r}. Remove or impute such rows first, for "
            "example with sklearn.impute.SimpleImputer."
        )


def check_magnitude(largest: float) -> None:
    """Raise when the fourth power of the largest entry or deviation leaves float64."""
    if largest > MAX_MAGNITUDE:
        raise ValueError("Input X has values so large that their squares overflow: rescale it")
    if 0 < largest < 1 / MAX_MAGNITUDE:
        raise ValueError("Input X has values so small that their squares vanish: rescale it")


def check_entries(X: Any) -> None:
    """`check_magnitude` of the largest entry of some rows."""
    entries = X.data if sp.issparse(X) else X
    check_magnitude(float(max(np.max(entries, initial=0.0), -np.min(entries, initial=0.0))))


def check_weights(sample_weight: ArrayLike, n_samples: int, *, may_be_zero: bool = False) -> Array:
    """Weights as a float64 vector; raise where their shape or values cannot be weights."""
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise ValueError(f"sample_weight has shape {weights.shape}, expected ({n_samples},)")
    nothing = not (may_be_zero or weights.any())
    if not np.isfinite(weights).all() or (weights < 0).any() or nothing:
        raise ValueError("sample_weight must be finite and non-negative, and not all zero")
    return weights


def encode_labels(
    y: ArrayLike, n_samples: int, classes: ArrayLike | None = None
) -> tuple[Array, Array]:
    """Sorted labels, and the position of each sample's label among them."""
    check_labels_of_one_kind(y)
    y = np.asarray(y)
    if y.shape != (n_samples,):
        raise ValueError(f"y has shape {y.shape}, expected ({n_samples},)")
    seen, codes = np.unique(y, return_inverse=True)
    if classes is None:
        return seen, codes
    check_labels_of_one_kind(classes, "classes")
    labels = np.asarray(classes)
    if not (labels[1:] > labels[:-1]).all():
        labels = np.unique(labels)
    check_same_kind(seen, labels)
    at = np.searchsorted(labels, seen)
    unknown = seen[labels[np.minimum(at, len(labels) - 1)] != seen]
    if len(unknown):
        raise ValueError(
            f"y contains labels that are not among classes: {unknown.tolist()[:5]}; announce "
            f"every label in classes (given: {labels.tolist()[:10]})"
        )
    return labels, at[codes]


def check_labels_of_one_kind(y: Any, name: str = "y") -> None:
    """Raise for text among numbers, and for missing labels, which do not sort."""
    is_list = isinstance(y, list | tuple)
    if is_dask(y) or not (is_list or getattr(getattr(y, "dtype", None), "kind", "") == "O"):
        return
    kinds = {type(label) for label in (y if is_list else np.asarray(y).ravel())}
    if type(None) in kinds:
        raise ValueError(f"{name} has labels that are None: give each row a label, or drop it")
    texts = {kind for kind in kinds if issubclass(kind, str)}
    if texts and kinds - texts:
        other = min(kind.__name__ for kind in kinds - texts)
        raise ValueError(
            f"{name} mixes labels that are text with labels of type {other}: make all of them "
            "text, for example with [str(label) for label in y]"
        )


def check_same_kind(labels: Array, known: Array) -> None:
    """Raise for text where numbers are known, or numbers where text is."""
    if is_text(labels) != is_text(known):
        raise ValueError(
            f"y has labels {labels.tolist()[:3]}, but the model knows {known.tolist()[:3]}: they "
            "differ in type"
        )


def is_text(labels: Array) -> bool:
    """Whether labels are strings, which do not mix with numbers."""
    if labels.dtype.kind != "O":
        return labels.dtype.kind in "US"
    return any(isinstance(label, str) for label in labels)
