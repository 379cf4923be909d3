"""Arrays in files, a part at a time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from separatrix.files.arrays import open_labelled_arrays


def written(tmp_path, X, y):
    paths = [str(tmp_path / name) for name in ("X.npy", "y.npy")]
    for path, array in zip(paths, (X, y), strict=True):
        np.save(path, array)
    return paths


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    ("kind", "read"),
    [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), ("i4", "f8"), ("u1", "f8")],
)
def test_all_rows_come_once_in_their_order(tmp_path, rng, kind, read, order):
    X = np.asarray(10 * rng.random((25, 3)), dtype=kind, order=order)
    y = np.arange(25) % 4
    table = open_labelled_arrays(*written(tmp_path, X, y))
    parts = list(table.batches(10))
    assert [len(labels) for _, labels in parts] == [10, 10, 5]
    assert {str(rows.dtype) for rows, _ in parts} == {np.dtype(read).name}
    assert_array_equal(np.concatenate([rows for rows, _ in parts]), X)
    assert_array_equal(np.concatenate([labels for _, labels in parts]), y.astype(str))


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    X, y = np.zeros((5, 2)), np.arange(5)
    for rows, labels, words in (
        (X, y[:4], "has 5 rows, but .* has 4 labels"),
        (X[0], y, "rows are a table of numbers"),
        (X.astype(str), y, "rows are a table of numbers"),
        (X, X, "labels are one whole number or word"),
        (X, y / 2, "labels are one whole number or word"),
        (X, y.astype(object), "in the format of NumPy"),
    ):
        with pytest.raises(ValueError, match=words):
            open_labelled_arrays(*written(tmp_path, rows, labels))
    (tmp_path / "X.npy").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="in the format of NumPy"):
        open_labelled_arrays(str(tmp_path / "X.npy"), str(tmp_path / "y.npy"))
