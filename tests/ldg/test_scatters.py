"""Scatters of rows with weights: a weight of two is the row twice."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from separatrix import LDG, KernelLDG, SparseLDG
from separatrix.kernels import RBF
from separatrix.ldg.ldg import LDGProblem
from separatrix.linalg import principal_angles
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.labelled import LabelledRows
from tests.discovery import SHAPES, labelled

every_shape = pytest.mark.parametrize(("X", "y"), SHAPES.values(), ids=SHAPES)
MODELS = {
    "local": LDG(3, gamma=0.7, n_neighbors=3),
    "many neighbours": LDG(3, gamma=0.7, n_neighbors=50),
    "global": LDG(3, gamma=0.7, local=False),
    "gradient": LDG(2, gamma=0.7, n_neighbors=3, solver="gradient"),
    "gradient, global": LDG(2, gamma=0.7, local=False, solver="gradient"),
    "sparse": SparseLDG(2, gamma=0.7, n_neighbors=3),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@pytest.mark.filterwarnings("ignore:the gradient solver")
@every_model
@every_shape
def test_a_weight_is_a_number_of_copies(X, y, model):
    X = X / 4  # the gradient depends on units
    weights = np.arange(len(X)) // 4 % 4
    repeated = model.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)).components_
    weighted = model.fit(X, y, sample_weight=weights)
    assert_allclose(principal_angles(weighted.components_.T, repeated.T), 0, atol=1e-6)
    assert_allclose(weighted.priors_, np.bincount(np.repeat(y, weights)) / weights.sum())


@pytest.mark.parametrize("width", ["scale", "median", 0.1])
def test_a_weight_is_a_number_of_copies_in_feature_space(width):
    X, y = labelled(40, 5)
    weights = np.arange(40) // 4 % 3
    model = KernelLDG(2, gamma=0.7, n_neighbors=3, kernel=RBF(width))
    repeated = model.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    width, expected = repeated.kernel_.gamma, repeated.transform(X)
    weighted = model.fit(X, y, sample_weight=weights)
    assert_allclose(weighted.kernel_.gamma, width)
    assert_allclose(np.abs(weighted.transform(X)), np.abs(expected), atol=1e-8)


@pytest.mark.parametrize("n_landmarks", [None, 10])
@pytest.mark.parametrize("width", [0.1, 1e-5], ids=["triangular", "eigenvectors"])
def test_kernel_values_with_rows_without_weight_may_be_given(n_landmarks, width):
    X, y = labelled(40, 5)
    weights = np.arange(40) // 4 % 3
    counted = weights > 0
    model = KernelLDG(2, kernel="precomputed", gamma=0.7, n_neighbors=3, n_landmarks=n_landmarks)
    K = rbf_kernel(X, gamma=width)
    some = model.fit(K[np.ix_(counted, counted)], y[counted], weights[counted])
    expected = some.transform(K[:, counted])
    model.fit(K, y, sample_weight=weights)
    assert model.n_features_in_ == 40
    assert_allclose(model.transform(K), expected, atol=1e-9 * np.abs(expected).max())
    with pytest.raises(ValueError, match="class"):
        model.fit(K, y, sample_weight=(y == 1).astype(float))
    with pytest.raises(ValueError, match="a square matrix"):
        model.fit(K[:, :30], y, sample_weight=weights)


@parametrize_with_checks(
    [model.set_params(gamma=0.6, n_neighbors=4) for model in (LDG(), SparseLDG(2))]
)
def test_scikit_learn_agrees(estimator, check):
    if "sample_weight" in str(check):
        check(estimator)


def test_weights_of_one_change_nothing_and_sparse_rows_give_what_dense_rows_give():
    X, y = labelled(60, 5)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    model = LDG(2, gamma=0.7, n_neighbors=3)
    plain = model.fit(X, y).components_
    assert_allclose(model.fit(X, y, sample_weight=np.ones(60)).components_, plain, atol=1e-9)
    weights = 0.5 + np.arange(60) % 3
    dense = model.fit(X, y, sample_weight=weights).components_
    sparse = model.fit(sp.csr_array(X), y, sample_weight=weights).components_
    assert_allclose(sparse, dense, atol=1e-8)
    assert not np.allclose(dense, plain, atol=1e-3)


def test_a_class_without_weight_is_not_there():
    X, y = labelled(60, 5)
    model = LDG(1, gamma=0.7, n_neighbors=3).fit(X, y, sample_weight=(y != 1).astype(float))
    assert_array_equal(model.classes_, [0, 2])
    with pytest.raises(ValueError, match="class"):
        LDG(1, gamma=0.7, n_neighbors=3).fit(X, y, sample_weight=(y == 1).astype(float))


def test_what_is_chosen_knows_the_weights():
    X, y = labelled(80, 6)
    weights = 1.0 + np.arange(80) % 2
    model = LDG("auto", random_state=0).fit(X, y, sample_weight=weights)
    assert model.selection_["gamma"].scores.any()
    rows = LabelledRows(X, y, np.unique(y), weights)
    problem = LDGProblem.of(rows, ClassMoments.from_rows(rows), None)
    scatters = problem.scatters(model.n_neighbors_)
    W = model.components_
    expected = np.diag(W @ scatters.criterion(model.gamma_, np.eye(6)) @ W.T)
    assert_allclose(model.criterion_, expected)
