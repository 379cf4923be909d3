"""Arrays of other libraries give the results of NumPy, in their own library and dtype.

scipy must be told before it is imported: the tests run in a process of their own.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import (
    IPCAC,
    LDG,
    ClassMoments,
    FisherDiscriminant,
    KernelFisherDiscriminant,
    MaximumMarginCriterion,
    OnlineIPCAC,
    PartialLeastSquaresDiscriminant,
    QuadraticDiscriminant,
    TruncatedIPCAC,
    map_blocks,
)
from separatrix.moments.arrays import is_foreign
from tests.discovery import labelled
from tests.moments.expected import assert_equal_moments

TOLD = os.environ.get("SCIPY_ARRAY_API") == "1"
in_own_process = pytest.mark.skipif(not TOLD, reason="run by the test at the end")
X, y = labelled(200, 6)
BINARY = (y > 0).astype(int)


@pytest.fixture(params=["array_api_strict", "torch"])
def xp(request):
    library = pytest.importorskip(request.param)
    with sklearn.config_context(array_api_dispatch=True):
        yield library


@pytest.fixture(params=["float64", "float32"])
def dtype(request):
    return request.param


def here(A):
    return np.asarray(A.numpy() if hasattr(A, "numpy") else A)


def tolerance(dtype):
    return {"rtol": 1e-9, "atol": 1e-9} if dtype == "float64" else {"rtol": 2e-3, "atol": 2e-3}


@in_own_process
def test_moments_are_those_of_numpy(xp):
    there = xp.asarray(X)
    assert is_foreign(there)
    assert_equal_moments(ClassMoments.from_data(there, y), ClassMoments.from_data(X, y))


@in_own_process
@pytest.mark.parametrize(
    "make",
    [
        FisherDiscriminant,
        PartialLeastSquaresDiscriminant,
        QuadraticDiscriminant,
        IPCAC,
        TruncatedIPCAC,
        OnlineIPCAC,
        MaximumMarginCriterion,
        KernelFisherDiscriminant,
        lambda: LDG(2, gamma=0.6, n_neighbors=4),
    ],
)
def test_models_are_those_of_numpy(xp, dtype, make):
    labels = BINARY if "IPCAC" in type(make()).__name__ else y
    known, new = X[:150].astype(dtype), X[150:].astype(dtype)
    expected = make().fit(known, labels[:150])
    model = make().fit(xp.asarray(known), xp.asarray(labels[:150]))
    rows = xp.asarray(new)
    for method in ("transform", "predict", "predict_proba", "decision_function"):
        if not hasattr(expected, method):
            continue
        assert isinstance(getattr(model, method)(rows), np.ndarray)
        found = map_blocks(getattr(model, method), rows)
        assert isinstance(found, type(rows))
        assert method == "predict" or found.dtype == rows.dtype
        assert_allclose(here(found), getattr(expected, method)(new), **tolerance(dtype))


@in_own_process
def test_more_features_than_rows_and_text_for_labels(xp):
    wide, codes = labelled(30, 80)
    names = np.array(["a", "b", "c"])[codes]
    model = FisherDiscriminant(shrinkage=None).fit(xp.asarray(wide), names)
    assert_array_equal(model.predict(xp.asarray(wide)), names)


@in_own_process
def test_batches_are_taken_too(xp):
    model = FisherDiscriminant(shrinkage=None)
    for part in (slice(0, 90), slice(90, 200)):
        model.partial_fit(xp.asarray(X[part]), xp.asarray(y[part]), classes=[0, 1, 2])
    assert_allclose(
        model.components_, FisherDiscriminant(shrinkage=None).fit(X, y).components_, rtol=1e-8
    )


@in_own_process
def test_numbers_that_are_missing_are_named(xp):
    broken = X.copy()
    broken[3, 2] = np.nan
    with pytest.raises(ValueError, match="NaN in column 2"):
        FisherDiscriminant(shrinkage=None).fit(xp.asarray(broken), y)
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    with pytest.raises(ValueError, match="NaN in column 2"):
        model.transform(xp.asarray(broken))


def test_without_being_told_arrays_are_what_numpy_makes_of_them():
    assert not is_foreign(X)
    strict = pytest.importorskip("array_api_strict")
    assert not is_foreign(strict.asarray(X))


@in_own_process
def test_dask_arrays_and_sparse_matrices_are_no_foreign_arrays():
    array = pytest.importorskip("dask.array")
    with sklearn.config_context(array_api_dispatch=True):
        assert not is_foreign(array.zeros((4, 2)))
        assert not is_foreign(sp.csr_array(X))
        rows = array.from_array(X, chunks=(50, 6))
        assert map_blocks(FisherDiscriminant(shrinkage=None).fit(X, y).transform, rows).shape == (
            200,
            2,
        )


@pytest.mark.skipif(TOLD, reason="this is that process")
def test_arrays_of_other_libraries_in_a_process_of_their_own():
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", __file__],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert done.stdout.count(".") > 20  # they were not all skipped
