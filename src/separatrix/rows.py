"""Labelled rows on their way to statistics: blocks, class sums, neighbours, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import gen_batches

from separatrix.linalg import Array, smallest_columns, squared_norms

BLOCK_ENTRIES = 1 << 20
"""Entries of a block of rows that is centred and multiplied at once (8 MB of float64)."""

DISTANCES_AT_ONCE = 1 << 20
"""Distances that the search holds at once (8 MB)."""


def row_blocks(n_rows: int, n_features: int) -> Iterator[slice]:
    """Slices over rows such that a dense block of them is small."""
    yield from gen_batches(n_rows, block_rows(n_features))


def block_rows(n_features: int) -> int:
    """How many rows such a block has."""
    return int(np.clip(BLOCK_ENTRIES // max(n_features, 1), 1, 65536))


class LabelledRows(NamedTuple):
    """A block of rows with their class codes and weights."""

    X: Array
    codes: Array
    weights: Array | None
    n_classes: int

    @property
    def counts(self) -> Array:
        """Samples of each class, or sums of their weights."""
        return np.bincount(self.codes, self.weights, self.n_classes).astype(np.float64)

    def sums(self, Z: Any) -> Any:
        """Weighted class sums of the rows of Z."""
        return indicator(self.codes, self.weights, self.n_classes, Z.dtype) @ Z

    def add_products(self, matrices: Array, Z: Array, product: Array) -> None:
        """Add ``ZᵀZ``, of all rows together or class by class; Z is spent."""
        if self.weights is not None:
            Z *= np.sqrt(self.weights).astype(Z.dtype)[:, None]
        if len(matrices) == 1:
            matrices[0] += np.matmul(Z.T, Z, out=product)
            return
        order = np.argsort(self.codes, kind="stable")
        ends = np.cumsum(np.bincount(self.codes, minlength=self.n_classes))[:-1]
        for matrix, Zc in zip(matrices, np.split(Z[order], ends), strict=True):
            matrix += np.matmul(Zc.T, Zc, out=product)


def indicator(codes: Array, weights: Array | None, n_classes: int, dtype: Any) -> Any:
    """Matrix (n_classes, n_rows) that sums rows by class."""
    data = np.ones(len(codes), dtype) if weights is None else weights.astype(dtype)
    by_row = sp.csr_array((data, codes, np.arange(len(codes) + 1)), (len(codes), n_classes))
    return by_row.T


def mean_of_rows(X: Array, rows: Array, weights: Array, Z: Array, origin: Array) -> Array:
    """The mean of some rows as a difference from the origin; Z gets the rows less the mean."""
    share = weights / weights.sum() if weights.any() else weights
    # from the origin, so that a column that does not vary stays exactly zero
    for part in gen_batches(len(rows), max(1, BLOCK_ENTRIES // X.shape[1])):
        np.subtract(X[rows[part]], origin, out=Z[part])
    first = share @ Z
    Z -= first
    left = share @ Z
    Z -= left
    return first + left


def full_columns_shifted(X: Any) -> tuple[Any, Array]:
    """Columns without a zero start at their first entry; that is free, and keeps their digits."""
    X.sum_duplicates()
    full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    origin = np.zeros(X.shape[1])
    if full.any():
        first = X[[0]].toarray().ravel()
        origin[full] = first[full]
        X.data -= origin[X.indices]
    return X, origin


def precision(X: Any) -> float:
    """Relative precision of the numbers in X."""
    return float(np.finfo(X.dtype).eps)


# Neighbours by class --------------------------------------------------------------------------


def class_neighbours(X: Any, codes: Array, n_neighbors: int, among: Any = None) -> list[Array]:
    """For each class, the rows of it that are nearest to each row, the nearest first.

    Distances come from products of blocks of rows. A row is not its own neighbour; where its class
    has no other rows left, it stands at the end of its own list to fill it.

    Parameters
    ----------
    X : array or sparse matrix (n_samples, n_features)
        Centred rows, or rows near the origin.
    codes : array (n_known,)
        Class of each row among which neighbours are sought.
    n_neighbors : int
        k; a class of fewer rows gives all it has.
    among : array or sparse matrix (n_known, n_features), optional
        Where neighbours are sought; among X itself by default.

    Returns
    -------
    list of arrays (n_samples, min(k, n_c))
        Row numbers.

    Examples
    --------
    >>> found = class_neighbours(np.array([[0.0], [1], [5], [7]]), np.array([0, 0, 1, 1]), 1)
    >>> found[1].ravel().tolist()
    [2, 2, 3, 2]
    """
    known = X if among is None else among
    order = np.argsort(codes, kind="stable")
    place = np.argsort(order)
    ends = np.cumsum(np.bincount(codes))
    starts = ends - np.bincount(codes)
    by_class = known[order]
    norms = squared_norms(by_class)
    n_samples = X.shape[0]
    found = [np.empty((n_samples, min(n_neighbors, n)), np.int32) for n in ends - starts]
    for block in gen_batches(n_samples, max(1, DISTANCES_AT_ONCE // len(codes))):
        D = (-2 * X[block]) @ by_class.T
        D = D.toarray() if sp.issparse(D) else D
        D += norms  # squared distances, less a number that is the same for a row of D
        if among is None:
            D[np.arange(len(D)), place[block]] = np.finfo(float).max  # farther than any other
        for neighbours, start, end in zip(found, starts, ends, strict=True):
            nearest = smallest_columns(D[:, start:end], neighbours.shape[1])
            neighbours[block] = order[start + nearest]
    return found


def averaging(neighbours: Array, rows: Array, n_known: int) -> Any:
    """Sparse matrix (n_rows, n_known) that averages the neighbours of each of the `rows`.

    A row that is among its own neighbours only fills the list, unless it is alone: then it is its
    own mean.
    """
    counts = (neighbours != rows[:, None]).sum(axis=1)
    weights = np.where(neighbours == rows[:, None], 0.0, 1.0 / np.maximum(counts, 1)[:, None])
    weights[counts == 0, 0] = 1.0
    starts = np.arange(0, neighbours.size + 1, neighbours.shape[1])
    return sp.csr_array((weights.ravel(), neighbours.ravel(), starts), (len(rows), n_known))


# Checks --------------------------------------------------------------------------------------


def is_dask(X: Any) -> bool:
    """Whether rows are a Dask collection, or a list of delayed blocks; Dask is not imported."""
    first = X
    for _ in range(2):  # a block may be a pair
        first = first[0] if isinstance(first, list | tuple) and len(first) else first
    if isinstance(first, type) or not hasattr(first, "__dask_graph__"):
        return False
    return type(first).__module__.startswith("dask") or first.__dask_graph__() is not None


def refuse_lazy_frame(X: Any, who: str = "this") -> None:
    """Raise for rows that have not been computed yet, with the remedy."""
    if is_dask(X):
        raise TypeError(
            f"{who} looks at all rows together, and those of a Dask collection are never all in "
            "memory. Take some of them, X, y = separatrix.distributed.subsample(X, y, 10000), or "
            "all with X.compute() where they fit"
        )
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise TypeError(
            f"X is a {type(X).__name__}, which holds no rows yet: call X.collect() first"
        )


def refuse_nonfinite_rows(X: Any, names: ArrayLike | None = None) -> None:
    """`refuse_nonfinite` where one look at the sum of all entries may be enough."""
    with np.errstate(invalid="ignore", over="ignore"):
        suspicious = not np.isfinite(X.sum(dtype=np.float64))
    if suspicious:
        refuse_nonfinite(X, names)


def refuse_nonfinite(X: Any, names: ArrayLike | None = None) -> None:
    """Raise for NaN or infinity, naming the first column that has one."""
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


def check_weights(sample_weight: ArrayLike, n_samples: int, *, may_be_zero: bool = False) -> Array:
    """Weights as a float64 vector, or an error that says what is wrong with them."""
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
    y = np.asarray(y)
    if y.shape != (n_samples,):
        raise ValueError(f"y has shape {y.shape}, expected ({n_samples},)")
    seen, codes = np.unique(y, return_inverse=True)
    if classes is None:
        return seen, codes
    labels = np.unique(np.asarray(classes))
    unknown = np.setdiff1d(seen, labels)
    if len(unknown):
        raise ValueError(
            f"y contains labels that are not among classes: {unknown.tolist()[:5]}; announce "
            f"every label in classes (given: {labels.tolist()[:10]})"
        )
    return labels, np.searchsorted(labels, seen)[codes]


def is_text(labels: Array) -> bool:
    """Whether labels are strings, which do not mix with numbers."""
    return labels.dtype.kind in "US" or any(isinstance(label, str) for label in labels)
