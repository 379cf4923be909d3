"""Rows and labels in two files of NumPy, read a part at a time: embeddings, larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from separatrix.linalg import Array

ROWS_AT_ONCE = 16384
"""Rows that are read and summarized together."""


class LabelledArrays(NamedTuple):
    """A file of rows and the labels in another.

    Attributes
    ----------
    path : str
        The file of rows, an array (n_samples, n_features) of numbers.
    labels : array (n_samples,)
        Text, whole numbers or truth values; in memory.
    shape : tuple of int
    """

    path: str
    labels: Array
    shape: tuple[int, int]

    def batches(self, n_rows: int = ROWS_AT_ONCE) -> Iterator[tuple[Array, Array]]:
        """Rows and labels, a part at a time; half precision becomes single."""
        for start in range(0, self.shape[0], n_rows):
            part = slice(start, start + n_rows)
            # mapped anew for each part: pages of the parts before count as memory otherwise
            rows = np.array(open_array(self.path)[part])
            if rows.dtype not in (np.float32, np.float64):
                narrow = rows.dtype == np.float16
                rows = rows.astype(np.float32 if narrow else np.float64)
            yield rows, self.labels[part]


def open_labelled_arrays(rows: str, labels: str) -> LabelledArrays:
    """Rows and labels that belong together, or an error that says what is wrong with them.

    Parameters
    ----------
    rows, labels : str
        Files of NumPy (``.npy``).
    """
    X, y = open_array(rows), np.array(open_array(labels))
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise ValueError(
            f"{rows} holds {X.dtype} of shape {X.shape}: rows are a table of numbers, with one "
            "row for each sample"
        )
    if y.ndim != 1 or y.dtype.kind not in "iubUS":
        raise ValueError(
            f"{labels} holds {y.dtype} of shape {y.shape}: labels are one whole number or word "
            "for each row"
        )
    if len(y) != len(X):
        raise ValueError(f"{rows} has {len(X)} rows, but {labels} has {len(y)} labels")
    return LabelledArrays(rows, y.astype(str), (X.shape[0], X.shape[1]))


def open_array(path: str) -> Any:
    """An array in a file, mapped and not read."""
    if not Path(path).exists():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(
            f"{path} is no array of numbers or text in the format of NumPy: {error}"
        ) from None
