"""Data sets with a known answer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import datasets
from separatrix.linalg import principal_angles


def test_gaussian_classes_are_what_they_say():
    bunch = datasets.make_gaussian_classes(
        50_000, 5, 3, separation=2.0, weights=[0.2, 0.3, 0.5], random_state=0
    )
    X, y = bunch.data, bunch.target
    assert_allclose(np.bincount(y) / len(y), [0.2, 0.3, 0.5], atol=0.01)
    for c in range(3):
        assert_allclose(X[y == c].mean(axis=0), bunch.means[c], atol=0.1)
        assert_allclose(np.cov(X[y == c].T), bunch.covariance, atol=0.3)
    best = np.linalg.solve(bunch.covariance, (bunch.means - bunch.means.mean(axis=0)).T).T
    assert principal_angles(bunch.components, np.linalg.svd(best)[2][:2]).max() < 1e-7
    white = np.linalg.solve(np.linalg.cholesky(bunch.covariance), bunch.means.T)
    assert_allclose(np.sqrt((white**2).sum(axis=0).mean()), 2.0)


def test_gaussian_classes_repeat_with_the_same_seed():
    a, b = (datasets.make_gaussian_classes(random_state=3) for _ in range(2))
    assert_array_equal(a.data, b.data)
    assert set(a.target) == {0, 1, 2}


def test_bundled_sets_have_names_for_labels():
    for name in datasets.BUNDLED:
        bunch = datasets.load(name)
        assert bunch.data.shape[1] == len(bunch.feature_names)
        assert set(bunch.target) <= set(np.asarray(bunch.target_names))
    with pytest.raises(ValueError, match="no bundled data set 'mnist': there are breast_cancer"):
        datasets.load("mnist")
