"""Rows that several hyperplanes share."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix.margin.hyperplane import prepare_points


@pytest.mark.parametrize("size", [1.0, 1e6])
def test_inner_products_follow_what_is_taken_off_the_rows(size):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((40, 3)))[0]
    Z = rng.standard_normal((30, 40)) + size * rng.standard_normal((30, 3)) @ Q.T
    whole = prepare_points(Z.copy())
    assert_allclose(whole.gram, Z @ Z.T)
    left = whole.remove(Q)
    assert_allclose(left.rows @ Q, 0, atol=1e-14 * size)
    assert_allclose(left.gram, left.rows @ left.rows.T, atol=1e-11)  # a size² of 1e12 is gone
    assert prepare_points(Z.T).gram is not None
    assert prepare_points(np.ones((601, 2))).gram is None
