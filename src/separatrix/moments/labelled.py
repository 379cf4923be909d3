"""Labelled rows on their way to statistics, and the checks of rows, labels and weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import gen_batches

from separatrix.linalg import Array, Lift, span
from separatrix.moments.scatter import SparseRows, find_joint_span

MAX_BLOCK_ENTRIES = 1 << 20
"""Largest number of entries of a block that is centred and multiplied at once (8 MB)."""

MAX_MAGNITUDE = 1e75
"""Fourth powers of larger numbers, and of numbers smaller than its inverse, leave float64."""


def row_blocks(n_rows: int, n_features: int) -> Iterator[slice]:
    """Slices over rows such that a dense block of them is small."""
    yield from gen_batches(n_rows, rows_per_block(n_features))


def rows_per_block(n_features: int) -> int:
    """Number of rows in a block of `row_blocks`."""
    return int(np.clip(MAX_BLOCK_ENTRIES // max(n_features, 1), 1, 65536))


class LabelledRows(NamedTuple):
    """Checked rows with their labels: the one form in which rows travel inside the package.

    Attributes
    ----------
    X : array or sparse matrix (n_samples, n_features)
        Of float64 or float32; not checked for NaN, which `ClassMoments.from_rows` does on its way.
    codes : array of int (n_samples,)
        The class of each row, as a position in `classes`.
    classes : array (n_classes,)
        Sorted labels; some may have no rows.
    weights : array (n_samples,), optional
        Non-negative weights.
    feature_names : array (n_features,), optional
        Names for error messages.
    groups : array (n_samples,), optional
        Rows of a group stay together wherever rows are held out.
    cv : splitter, optional
        How choices hold rows out, in place of stratified folds.
    """

    X: Any
    codes: Array
    classes: Array
    weights: Array | None = None
    feature_names: Array | None = None
    groups: Array | None = None
    cv: Any = None

    @property
    def splitting(self) -> dict[str, Any]:
        """How rows are held out, as keywords of `selection.training_parts` and of `fit`."""
        both = {"groups": self.groups, "cv": self.cv}
        return {name: value for name, value in both.items() if value is not None}

    @property
    def labels(self) -> Array:
        """The label of each row."""
        return self.classes[self.codes]

    @property
    def column_names(self) -> list[str]:
        """Names of the features; x0, x1, … where they have none."""
        if self.feature_names is None:
            return [f"x{j}" for j in range(self.X.shape[1])]
        return [str(name) for name in self.feature_names]

    @property
    def counts(self) -> Array:
        """Samples of each class, or sums of their weights."""
        return np.bincount(self.codes, self.weights, len(self.classes)).astype(np.float64)

    def class_sums(self, Z: Any) -> Any:
        """Weighted class sums of the rows of Z."""
        return class_indicator(self.codes, self.weights, len(self.classes), Z.dtype) @ Z

    def total(self, function: Callable[[LabelledRows], Any], classes: Array) -> Any:
        """The value of a function of rows; `Blocks.total` sums it over blocks."""
        return function(self)

    def part(self, rows: Any) -> LabelledRows:
        """A slice of the rows, or those with some numbers, with all the classes."""
        weights, groups = (None if v is None else v[rows] for v in (self.weights, self.groups))
        return self._replace(
            X=self.X[rows], codes=self.codes[rows], weights=weights, groups=groups
        )

    def present(self) -> LabelledRows:
        """The same rows with the classes alone that have some."""
        there, codes = np.unique(self.codes, return_inverse=True)
        return self._replace(codes=codes, classes=self.classes[there])

    def subset(self, numbers: Array) -> LabelledRows:
        """The rows with these numbers, and only the classes that are among them."""
        present, codes = np.unique(self.codes[numbers], return_inverse=True)
        return self.part(numbers)._replace(codes=codes, classes=self.classes[present])

    def select_columns(self, columns: Array) -> LabelledRows:
        """The same rows with some of their features."""
        names = columns if self.feature_names is None else self.feature_names[columns]
        return self._replace(X=self.X[:, columns], feature_names=names)

    def with_classes(self, classes: Array) -> LabelledRows:
        """The same rows, coded by more classes."""
        return self._replace(
            codes=np.searchsorted(classes, self.classes)[self.codes], classes=classes
        )

    def in_span(self, centre: Array) -> tuple[LabelledRows, Lift]:
        """The rows in coordinates of the span of the centred rows, and the map back to features.

        With no more features than rows the coordinates are the features: dense rows are centred
        then, sparse ones stay as they are but for an offset of their full columns.

        Parameters
        ----------
        centre : array (n_features,)
            The mean of the rows.
        """
        n_samples, n_features = self.X.shape
        if sp.issparse(self.X):
            rows, _ = shift_full_columns(sp.csr_array(self.X, dtype=np.float64, copy=True))
            if n_samples < n_features:
                average = sp.csr_array(np.full((1, n_samples), n_samples**-0.5))
                spanned, _ = find_joint_span([SparseRows(rows, average)])
                return self._replace(X=spanned.coordinates, feature_names=None), spanned.lift
        else:
            # the error of a rounded mean shifts all rows alike: their differences stay exact
            rows = np.subtract(self.X, centre, dtype=np.float64, order="C")
            if n_samples < n_features:
                coordinates, lift = span(rows, bound=n_samples - 1)
                return self._replace(X=coordinates, feature_names=None), lift
        return self._replace(X=rows), lambda W: W


def join_rows(parts: Sequence[LabelledRows]) -> LabelledRows:
    """Stretches of rows one below the other; sparse when one of them is."""
    classes = reduce(np.union1d, [part.classes for part in parts])
    X = [part.X for part in parts]
    if any(sp.issparse(rows) for rows in X):
        stacked: Any = sp.vstack([sp.csr_array(rows) for rows in X], format="csr")
    else:
        stacked = np.concatenate(X)
    codes = np.concatenate([part.with_classes(classes).codes for part in parts])
    weights = None
    if any(part.weights is not None for part in parts):
        weights = np.concatenate(
            [np.ones(len(p.codes)) if p.weights is None else p.weights for p in parts]
        )
    return LabelledRows(stacked, codes, classes, weights, parts[0].feature_names)


def class_indicator(codes: Array, weights: Array | None, n_classes: int, dtype: Any) -> Any:
    """Matrix (n_classes, n_rows) that sums rows by class."""
    data = np.ones(len(codes), dtype) if weights is None else weights.astype(dtype)
    return sp.csc_array((data, codes, np.arange(len(codes) + 1)), (n_classes, len(codes)))


def shift_full_columns(X: Any) -> tuple[Any, Array]:
    """Subtract its first entry from each column of a sparse matrix that has no zeros.

    That keeps the digits of columns with an offset, and makes no entry non-zero. X is overwritten;
    the offsets are returned.
    """
    X.sum_duplicates()
    full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
    origin = np.zeros(X.shape[1])
    if full.any():
        first = X[[0]].toarray().ravel()
        origin[full] = first[full]
        X.data -= origin[X.indices]
    return X, origin


def varying_features(X: Any) -> Array:
    """Which columns are not constant, but for rounding."""
    high, low = X.max(axis=0), X.min(axis=0)
    if sp.issparse(X):
        high, low = high.toarray().ravel(), low.toarray().ravel()
    size = np.maximum(np.abs(high), np.abs(low))
    return high - low > 4 * np.finfo(X.dtype).eps * size


# Checks ----------------------------------------------------------------------------------------


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
