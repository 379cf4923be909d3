"""Fitted steps as one affine map."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

from separatrix.base.affine import AffineMap, identity_map, propose_affine, read_affine

X = np.random.default_rng(0).normal(size=(60, 4)) * [1, 10, 0.1, 1] + 5


def test_maps_after_each_other_are_one_map():
    rng = np.random.default_rng(0)
    scale = AffineMap(rng.normal(size=4), rng.normal(size=4), rng.normal(size=4))
    turn = AffineMap(rng.normal(size=4), rng.normal(size=(4, 3)), rng.normal(size=3))
    last = AffineMap(rng.normal(size=3), rng.normal(size=3), rng.normal(size=3))
    cut = AffineMap(rng.normal(size=3), rng.normal(size=(3, 2)), rng.normal(size=2))
    rows = rng.normal(size=(5, 4))
    assert_allclose(scale.then(scale)(rows), scale(scale(rows)))
    assert scale.then(scale).is_diagonal
    assert_allclose(scale.then(turn).then(last)(rows), last(turn(scale(rows))))
    assert_allclose(turn.then(cut)(rows), cut(turn(rows)))
    slopes = rng.normal(size=(2, 3))
    assert_allclose(turn.pull_back(slopes), turn.weights @ slopes.T)
    assert_allclose(scale.pull_back(np.eye(4)), np.diag(scale.weights))


def test_steps_that_are_no_map_stop_the_reading():
    assert read_affine(make_pipeline(StandardScaler(), Normalizer()).fit(X), X) is None
    assert read_affine(FunctionTransformer(np.square).fit(X), X) is None
    assert read_affine("passthrough", X).is_diagonal
    assert propose_affine(StandardScaler().fit(X), 3) is None  # it has other columns
    assert_allclose(identity_map(X.shape[1])(X), X)


def test_a_mean_that_is_large_takes_no_digits():
    rows = X + 1e9
    found = read_affine(make_pipeline(StandardScaler(), PCA(2)).fit(rows), rows)
    centred = rows - rows.mean(axis=0)
    expected = PCA(2).fit_transform(centred / centred.std(axis=0))
    assert_allclose(np.abs(found(rows)), np.abs(expected), atol=1e-5)
