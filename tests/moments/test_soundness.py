"""Moments that no rows can have."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from separatrix import ClassMoments
from separatrix.moments.scatter import Scatter
from separatrix.moments.soundness import find_fault
from tests.discovery import SHAPES, TALL


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, np.float32])
def test_moments_of_rows_have_no_fault(shape, per_class, make):
    X, y = SHAPES[shape]
    moments = ClassMoments.from_data(make(X), y, per_class=per_class)
    assert find_fault(moments) is None
    part = ClassMoments.from_data(make(X[:9]), y[:9], per_class=per_class)
    assert find_fault(moments - part) is None
    assert find_fault(moments.rescaled(np.ones(X.shape[1]), np.full(X.shape[1], 3.0))) is None


def damaged(**changes):
    return ClassMoments.from_data(*TALL)._replace(**changes)


def test_faults_are_named():
    Sw = ClassMoments.from_data(*TALL).Sw
    skew = Sw.copy()
    skew[0, 1] += np.sqrt(Sw[0, 0] * Sw[1, 1])
    inside_out = Sw.copy()
    inside_out[0, 1] = inside_out[1, 0] = 2 * np.sqrt(Sw[0, 0] * Sw[1, 1])
    cases = {
        "class 1 has nan rows": damaged(counts=np.array([1.0, np.nan, 3.0])),
        "class 0 has -1 rows": damaged(counts=np.array([-1.0, 1.0, 3.0])),
        "mean is not finite": damaged(origin=np.full(6, np.nan)),
        "scatter is not finite": damaged(scatters=[Scatter(6, np.full((6, 6), np.inf))]),
        "feature has a negative": damaged(scatters=[Scatter(6, -Sw)]),
        "not symmetric": damaged(scatters=[Scatter(6, skew)]),
        "negative in some direction": damaged(scatters=[Scatter(6, inside_out)]),
        "average scatter is negative": damaged(scatters=[Scatter(6, None, (), -1.0)]),
    }
    for words, moments in cases.items():
        assert words in str(find_fault(moments))


def test_rows_that_are_subtracted_must_have_been_added():
    rows = np.eye(3, 20)
    fine = damaged_wide([(1.0, rows), (-0.5, rows)])
    assert find_fault(fine) is None
    assert "negative" in str(find_fault(damaged_wide([(1.0, rows), (-1.0, 2 * rows)])))


def damaged_wide(rows):
    X, y = np.random.default_rng(0).standard_normal((6, 20)), [0, 0, 0, 1, 1, 1]
    return ClassMoments.from_data(X, y)._replace(scatters=[Scatter(20, None, rows)])


def test_a_class_without_rows_has_no_scatter():
    moments = ClassMoments.from_data(*TALL, per_class=True)
    moments.counts[2] = 0
    assert "class 2 has scatter and no rows" in str(find_fault(moments))
