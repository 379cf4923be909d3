"""Scatters by a graph of neighbours are those by sums over rows."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import KernelLDG
from separatrix.base.feature_space import compute_centred_gram
from separatrix.kernels import settle_kernel
from separatrix.ldg.graph import GraphScatters, neighbours_by_products
from separatrix.ldg.scatters import local_scatters
from separatrix.moments.neighbours import class_neighbours
from tests.discovery import SHAPES, TALL, same_up_to_sign

every_shape = pytest.mark.parametrize(("X", "y"), SHAPES.values(), ids=SHAPES)


def triangle_of(X):
    return compute_centred_gram(X, settle_kernel(X, "rbf")).triangular_map()


@every_shape
@pytest.mark.parametrize("k", [1, 3, 50])
def test_neighbours_by_products_are_those_of_the_rows(X, y, k):
    Z = X - X.mean(axis=0)
    for found, expected in zip(
        neighbours_by_products(Z @ Z.T, y, k), class_neighbours(Z, y, k), strict=True
    ):
        assert_array_equal(found, expected)


@every_shape
@pytest.mark.parametrize("k", [1, 3, 50])
def test_the_graph_has_the_scatters_of_sums_over_rows(X, y, k):
    to_features, priors = triangle_of(X), np.array([0.2, 0.3, 0.5])
    rows = to_features.rows
    graph = GraphScatters.of(to_features, y, priors, k)
    sums = local_scatters(rows, y, class_neighbours(rows, y, k), priors, k)
    basis = np.eye(rows.shape[1])
    expected = sums.criterion(0.4, basis)
    scale = np.abs(expected).max()
    assert_allclose(np.tril(graph.criterion(0.4, basis)), np.tril(expected), atol=1e-12 * scale)
    evals = np.linalg.eigvalsh(-expected)
    assert graph.n_negative(0.4, evals) == sums.n_negative(0.4, evals) > 0
    # one that is zero but for rounding is none, whichever way the scale is found
    tiny = np.append(evals, -1e-15 * scale)
    assert graph.n_negative(0.4, tiny) == sums.n_negative(0.4, tiny) == np.sum(evals < -1e-9)


def test_a_class_of_one_row_is_its_own_mean():
    X, y = TALL
    y = np.where(np.arange(len(y)) == 0, 3, y)
    to_features, priors = triangle_of(X), np.full(4, 0.25)
    rows = to_features.rows
    graph = GraphScatters.of(to_features, y, priors, 2)
    sums = local_scatters(rows, y, class_neighbours(rows, y, 2), priors, 2)
    basis = np.eye(rows.shape[1])
    found, expected = graph.criterion(0.5, basis), sums.criterion(0.5, basis)
    assert_allclose(np.tril(found), np.tril(expected), atol=1e-11)


@every_shape
@pytest.mark.parametrize("n_components", [3, None])
def test_a_fit_by_the_graph_is_one_by_sums_over_rows(X, y, n_components, monkeypatch):
    params = {"gamma": 0.6, "n_neighbors": 3}
    quick = KernelLDG(n_components, **params).fit(X, y)
    monkeypatch.setattr(KernelLDG, "_has_graph", lambda *args: False)
    slow = KernelLDG(n_components, **params).fit(X, y)
    assert quick.rank_ == slow.rank_
    assert_allclose(quick.criterion_, slow.criterion_, atol=1e-10)
    assert_allclose(quick.explained_ratio_, slow.explained_ratio_, atol=1e-10)
    Z = slow.transform(X)
    assert_allclose(same_up_to_sign(Z, quick.transform(X)), Z, atol=1e-8)
