"""What the thesis on SVM+ICA prints, beside what the package computes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from separatrix import FisherDiscriminant, SupportVectorProjection
from separatrix_papers.splits import TrainTest
from separatrix_papers.svmica import literal, run


@pytest.fixture(scope="module")
def wine():
    found = load_wine()
    X, y = StandardScaler().fit_transform(found.data), found.target
    return TrainTest(X[::2], y[::2], X[1::2], y[1::2])


def test_discriminants_as_printed_begin_with_those_of_fisher_and_go_on(wine):
    Z = literal.PrintedDiscriminants().fit(wine.X, wine.y).transform(wine.X)
    fisher = FisherDiscriminant(shrinkage=None).fit(wine.X, wine.y).transform(wine.X)
    assert Z.shape[1] == wine.X.shape[1] > fisher.shape[1] == 2
    centred = Z - Z.mean(axis=0)
    left = fisher - centred[:, :2] @ np.linalg.lstsq(centred[:, :2], fisher, rcond=None)[0]
    assert np.allclose(left, 0, atol=1e-8)


def test_a_threshold_leaves_normals_that_are_farther_apart(wine):
    every = SupportVectorProjection().fit(wine.X, wine.y)
    distances = every.elimination_distances_
    for threshold, n in ((0.0, 3), (distances[0], 2), (distances[0] - 1e-9, 3), (1.0, 1)):
        kept = literal.ThresholdProjection(1.0, redundancy=threshold).fit(wine.X, wine.y)
        assert np.allclose(kept.transform(wine.X), every.transform(wine.X)[:, :n])


def test_the_best_setting_counts_its_neighbours_from_one(wine):
    best = run.best_setting([[wine]], run.fisher)
    assert 1 <= best.neighbours <= run.MOST_NEIGHBOURS
    assert np.mean(best.right[0]) > 0.95
    Z = FisherDiscriminant(shrinkage=None).fit(wine.X, wine.y)
    kept = (
        Z.transform(wine.X)[:, : best.directions],
        Z.transform(wine.X_test)[:, : best.directions],
    )
    right = run.right_by_neighbours(*kept, wine)[:, best.neighbours - 1]
    assert np.array_equal(right, best.right[0])


def test_no_more_directions_are_tried_than_principal_components_are_kept(wine):
    for reducer, dimensions in run.printed_pca_fisher(wine):
        Z = reducer.fit(wine.X, wine.y).transform(wine.X)
        assert all(n <= Z.shape[1] for n in dimensions)
