"""Data sets in the files in which they are published."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch


class MissingData(FileNotFoundError):  # noqa: N818 - nothing is wrong with the program
    """A data set that is in none of the files of a folder."""


def find(name: str, folder: Path | None) -> Path | None:
    """The file of a data set, if it is there."""
    if folder is None:
        return None
    path = Path(folder) / f"{name}.npz"
    return path if path.is_file() else None


def load(name: str, folder: Path | None) -> Bunch:
    """A data set by name from a folder of files."""
    path = find(name, folder)
    if path is None:
        where = "no folder of data was named (--data)" if folder is None else f"not in {folder}"
        raise MissingData(f"the data set {name!r} is needed: {where}")
    return _from_npz(path)


def _from_npz(path: Path) -> Bunch:
    with np.load(path, allow_pickle=False) as arrays:
        bunch = Bunch(**{key: arrays[key] for key in arrays.files})
    if "indptr" in bunch:
        parts = (bunch.data.astype(float), bunch.indices, bunch.indptr)
        bunch.X = sp.csr_array(parts, shape=tuple(bunch.shape))
    if "offsets" in bunch:
        bunch.messages = [bunch.data[a:b].tobytes() for a, b in pairwise(bunch.offsets)]
    for key in ("X", "X_train", "X_test"):
        if key in bunch and not sp.issparse(bunch[key]):
            bunch[key] = np.asarray(bunch[key], dtype=float)
    return bunch
