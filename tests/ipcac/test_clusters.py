"""Clusters inside a class: how many, and which belong together."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.covariance import ledoit_wolf

from separatrix.ipcac.clusters import (
    bic_gain,
    bic_of_any_shape,
    em_clusters,
    mahalanobis_distances,
    merged_clusters,
    round_bic,
    x_means,
)
from tests.discovery import labelled
from tests.ipcac.boards import CENTRES, blobs, same_partition, state


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_x_means_finds_the_blobs(k):
    for seed in range(5):
        X, of = blobs(40, CENTRES[:k], seed=seed)
        assert same_partition(merged_clusters(X, x_means(X, 10, state(seed))), of)


def test_x_means_finds_a_blob_between_four():
    for seed in range(8):
        X, of = blobs(40, np.array([[0, 0], [16, 0], [0, 16], [16, 16], [8, 8.0]]), seed=seed)
        assert same_partition(merged_clusters(X, x_means(X, 10, state(seed))), of)


def test_x_means_stops_at_the_most_clusters():
    X, of = blobs(40)
    X = np.c_[30 * of, X]  # in a row
    for most in (1, 2, 3, 4, 5):
        assert len(np.unique(x_means(X, most, state()))) == most


def test_the_criterion_is_the_difference_of_two_bics():
    X, of = blobs(30, CENTRES[:2], scale=3)

    def bic(labels):
        """Pelleg and Moore: round Gaussians of one variance, estimated with n - k."""
        k, (n, d) = labels.max() + 1, X.shape
        means = np.stack([X[labels == c].mean(axis=0) for c in range(k)])
        variance = np.sum((X - means[labels]) ** 2) / (d * (n - k))
        counts = np.bincount(labels)
        likelihood = -0.5 * n * d * np.log(2 * np.pi * variance) - (n - k) / 2
        likelihood += np.sum(counts * np.log(counts / n))
        return likelihood - 0.5 * (k * d + k) * np.log(n)

    inertia = [
        sum(np.sum((X[g == c] - X[g == c].mean(axis=0)) ** 2) for c in np.unique(g))
        for g in (np.zeros(60), of)
    ]
    expected = bic(of) - bic(np.zeros(60, dtype=int))
    assert_allclose(bic_gain(2, *inertia, np.bincount(of)), expected)


def test_rows_that_coincide_are_one_cluster():
    X = np.repeat([[1.0, 2.0]], 9, axis=0)
    assert_array_equal(x_means(X, 10, state()), np.zeros(9))
    assert_array_equal(x_means(X[:1], 10, state()), [0])
    two = np.repeat([[1.0, 2.0], [3.0, 4.0]], 9, axis=0)
    assert len(np.unique(x_means(two, 10, state()))) == 2


def test_halves_of_a_gaussian_are_merged_and_distant_ones_are_not():
    rng = np.random.default_rng(0)
    one = rng.normal(size=(400, 3)) * [5, 1, 1]
    assert merged_clusters(one, (one[:, 0] > 0).astype(int)).max() == 0
    X, of = blobs(60)
    assert_array_equal(merged_clusters(X, of), of)


def test_merging_measures_by_the_covariance_of_the_wider_cluster():
    rng = np.random.default_rng(0)
    of = np.repeat([0, 1], 500)
    for distance, joined in ((5.0, True), (7.0, False)):
        X = rng.normal(size=(1000, 2)) * np.where(of[:, None], [0.1, 0.1], [2, 9])
        X += [[distance, 0]] * of[:, None]
        # two standard deviations of the first cluster are 4, of the second 0.2
        for labels in (of, 1 - of):
            assert (merged_clusters(X, labels).max() == 0) == joined


def test_an_arc_is_not_merged_across_its_bend():
    rng = np.random.default_rng(0)
    angle = np.pi * rng.random(400)
    X = np.c_[np.cos(angle), np.sin(angle)] + 0.05 * rng.normal(size=(400, 2))
    halves = (angle > np.pi / 2).astype(int)
    assert_array_equal(merged_clusters(X, halves), halves)


@pytest.mark.parametrize("shape", [(200, 6), (20, 50)], ids=["tall", "wide"])
def test_distances_are_by_the_shrunk_covariance(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) @ np.diag(np.linspace(1, 4, shape[1])) + 100
    covariance, _ = ledoit_wolf(X)
    differences = rng.normal(size=(3, shape[1]))
    expected = np.einsum("ij,ij->i", differences, np.linalg.solve(covariance, differences.T).T)
    for rows in (X, sp.csr_array(X)):
        found = mahalanobis_distances(rows, X.mean(axis=0), differences)
        assert_allclose(found, expected, rtol=1e-8)


def test_clusters_that_coincide_are_merged():
    X = np.tile([[1.0, 2.0]], (6, 1))
    assert_array_equal(merged_clusters(X, np.arange(6) % 3), np.zeros(6))


def test_expectation_maximisation_sees_that_clusters_are_long():
    rng = np.random.default_rng(0)
    of = np.repeat([0, 1], 300)
    X = rng.normal(size=(600, 2)) * [12, 0.5] + np.c_[np.zeros(600), 5 * of]
    labels = np.where(rng.random(600) < 0.15, 1 - of, of)  # clusters that mix the two
    found = em_clusters(X, labels, state())
    assert same_partition(found, of)
    assert not same_partition(labels, of)


def test_expectation_maximisation_works_with_fewer_rows_than_features():
    X, y = labelled(30, 80, n_classes=2)
    assert same_partition(em_clusters(X, y, state()), y)


def test_a_long_cluster_is_not_cut_across_where_rows_show_its_shape():
    X = np.random.default_rng(0).normal(size=(200, 2)) * [12.0, 1.0]
    assert x_means(X, 10, state()).max() > 0
    assert x_means(X, 10, state(), shaped=True).max() == 0


@pytest.mark.parametrize("n_features", [13, 20, 50, 200])
@pytest.mark.parametrize("seed", [0, 1])
def test_round_clusters_are_found_and_stay_apart_in_every_dimension(n_features, seed):
    """The region of 99.7 % holds the means of all of them from 20 features on."""
    rng = np.random.default_rng(seed)
    of = np.repeat(np.arange(4), 100)
    X = np.eye(4, n_features)[of] * 4 + rng.normal(size=(400, n_features))
    found = x_means(X, 10, state(seed), shaped=True)
    merged = merged_clusters(X, found, "auto")
    assert merged.max() == 3
    agree = max(np.bincount(of[merged == c]).max() for c in range(4))
    assert agree > 90


@pytest.mark.parametrize("shape", [(300, 3), (300, 12)])
def test_the_criterion_of_any_shape_is_the_better_of_two(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    of, one = np.arange(300) % 2, np.zeros(300, int)
    # the likelihood of round Gaussians of one variance, by densities
    means = np.stack([X[of == c].mean(axis=0) for c in (0, 1)])
    variance = np.mean((X - means[of]) ** 2)
    log_density = -0.5 * np.sum((X - means[of]) ** 2, axis=1) / variance
    log_density -= 0.5 * shape[1] * np.log(variance)
    price = 0.5 * np.log(300) * (2 * shape[1] + 2)  # means, a variance, a weight
    expected = log_density.sum() + 300 * np.log(0.5) - price
    inertia = 300 * shape[1] * variance
    assert_allclose(round_bic(shape[1], inertia, np.array([150, 150])), expected)
    assert bic_of_any_shape(X, of) >= expected - 1e-9
    assert bic_of_any_shape(X, one) > bic_of_any_shape(X, of)  # halves at random are no gain
    long = X * np.linspace(1, 9, shape[1])
    halves = (long[:, -1] > 0).astype(int)
    assert bic_of_any_shape(long, one) > bic_of_any_shape(long, halves)


def test_clusters_without_a_shape_are_no_gain():
    X = np.random.default_rng(0).normal(size=(60, 12))
    X[:12] += 9
    assert bic_of_any_shape(X, (np.arange(60) < 12).astype(int)) == -np.inf
