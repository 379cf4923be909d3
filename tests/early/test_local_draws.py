"""Labels of draws in single precision, beside `LocalQDA.predict`."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import LocalQDA
from separatrix.early.local_draws import MAX_DRAWS_AT_ONCE, classify_draws
from tests.early.data import series


@pytest.mark.parametrize("k", [1, 4, 20, 200])
@pytest.mark.parametrize("standardize", [False, True])
def test_draws_have_the_labels_that_rows_have(k, standardize):
    rows, labels = series(120, 9)
    rows = 100 + rows * np.linspace(0.1, 10, 9)
    model = LocalQDA(k, covariance="diag", reg=0.1, standardize=standardize).fit(rows, labels)
    rng = np.random.default_rng(1)
    points = rows[rng.integers(120, size=MAX_DRAWS_AT_ONCE + 500)]
    points = points + rng.standard_normal(points.shape) * rows.std(axis=0)
    expected = model.predict(points)
    found = model.classes_[classify_draws(model, points)]
    assert len(set(expected)) == 3
    # labels differ where two classes differ by single precision
    assert np.mean(found != expected) < 2e-3
