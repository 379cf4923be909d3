"""No training row is in the file of a model, unless the model says that it stores rows."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from separatrix import FisherDiscriminant, OnlineIPCAC, merge, save
from separatrix.files.checks import walk_parts
from tests.discovery import TALL, WIDE, all_estimators, labelled, name_of


def rows_in_file(model, X, folder):
    """Numbers of the rows of X that some array in the file has as a row or column, or as bytes."""
    save(model, folder / "m")
    content = (folder / "m").read_bytes()
    packed = content[content.index(b"PK\x03\x04") :]
    wanted = {row.astype(t).tobytes(): i for i, row in enumerate(X) for t in (float, np.float32)}
    found = {i for row, i in wanted.items() if row in packed}
    with zipfile.ZipFile(io.BytesIO(packed)) as entries:
        for name in entries.namelist():
            if name.endswith(".npy"):
                array = np.load(io.BytesIO(entries.read(name)))
                for rows in (array, array.T) if array.ndim == 2 else ():
                    found |= {wanted.get(np.ascontiguousarray(row).tobytes()) for row in rows}
    return found - {None}


def declares_rows(model):
    return any(getattr(part, "stores_rows", False) for part in walk_parts(model))


@pytest.mark.parametrize("estimator", all_estimators(), ids=name_of)
def test_no_training_row_is_in_the_file(estimator, tmp_path):
    for X, y in (TALL, WIDE):
        model = clone(estimator).fit(X, y)
        if not declares_rows(model):
            assert not rows_in_file(model, X, tmp_path)


def test_a_row_that_is_in_a_file_is_seen(tmp_path):
    X, y = TALL
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    model.means_[1] = X[7]
    assert rows_in_file(model, X, tmp_path) == {7}
    model = FisherDiscriminant(window=20).fit(X, y)
    assert rows_in_file(model, X, tmp_path) == set(range(70, 90))


def test_only_models_that_need_rows_declare_them():
    X, y = TALL
    declared = {name_of(e) for e in all_estimators() if declares_rows(clone(e).fit(X, y))}
    kernels = {"KernelFisherDiscriminant", "KernelIPCAC", "KernelLDG", "KernelSupportVectorICA"}
    assert declared == {*kernels, "LocalQDA"}
    assert FisherDiscriminant(window=20).fit(X, y).stores_rows
    assert FisherDiscriminant(shrinkage=None).fit(*WIDE).stores_rows
    assert not FisherDiscriminant(keep_moments=False).fit(*WIDE).stores_rows


def learned(way, model, X, y):
    if way == "batches":
        for i in range(0, len(y), 30):
            model.partial_fit(X[i : i + 30], y[i : i + 30], classes=np.unique(y))
    if way == "rows one by one":
        for i in range(len(y)):
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=np.unique(y))
    if way == "first row without weight":
        model.fit(X, y, sample_weight=np.r_[0.0, np.ones(len(y) - 1)])
    if way == "merged":
        model = merge([clone(model).fit(X[i::2], y[i::2]) for i in range(2)])
    if way == "float32":
        model.fit(X.astype(np.float32), y)
    if way == "sparse":
        model.fit(sp.csr_array(X), y)
    if way == "dask":
        da = pytest.importorskip("dask.array")
        model.fit(da.from_array(X, chunks=(20, -1)), y)
    return model


WAYS = ["batches", "rows one by one", "first row without weight", "merged", "float32", "sparse"]


@pytest.mark.parametrize("way", [*WAYS, "dask"])
@pytest.mark.parametrize("model", [FisherDiscriminant(shrinkage=None), OnlineIPCAC()], ids=name_of)
def test_no_way_of_learning_leaves_a_row(way, model, tmp_path):
    X, y = labelled(120, 6, 2)
    X = X.astype(np.float32).astype(float)
    assert not rows_in_file(learned(way, clone(model), X, y), X, tmp_path)
