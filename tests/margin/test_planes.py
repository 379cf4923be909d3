"""Hyperplanes of several classes, and decisions by them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

from separatrix import (
    KernelSupportVectorICA,
    MarginMaximizingDiscriminant,
    SupportVectorICA,
    SupportVectorProjection,
    WithinSupportVectorDiscriminant,
    load,
    save,
)
from separatrix.kernels import RBF
from tests.discovery import TALL
from tests.margin.margin_data import AS_LIBSVM, PAIR, quiet, svc

LINEAR = [
    SupportVectorProjection(),
    SupportVectorICA(random_state=0),
    KernelSupportVectorICA(kernel="linear", random_state=0),
    MarginMaximizingDiscriminant(),
    MarginMaximizingDiscriminant(n_components=3),
]
ALL_FIVE = [*LINEAR[:4], WithinSupportVectorDiscriminant()]
every_linear = pytest.mark.parametrize("model", LINEAR, ids=lambda m: type(m).__name__)
all_five = pytest.mark.parametrize("model", ALL_FIVE, ids=lambda m: type(m).__name__)


@quiet
@every_linear
def test_decisions_of_two_classes_are_those_of_the_support_vector_machine(model):
    X, y = PAIR
    theirs = SVC(kernel="linear", tol=1e-8).fit(X, y)
    model = model.fit(X, y)
    assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=10 * AS_LIBSVM)
    assert_array_equal(model.predict(X), theirs.predict(X))
    assert_array_equal(model.support_[0], np.sort(theirs.support_))


@quiet
@every_linear
def test_decisions_of_more_classes_are_those_of_one_against_the_rest(model):
    X, y = TALL
    labels = np.array(["x", "b", "c"])[y]
    theirs = OneVsRestClassifier(SVC(kernel="linear", tol=1e-8)).fit(X, labels)
    model = model.fit(X, labels)
    assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=10 * AS_LIBSVM)
    assert_array_equal(model.predict(X), theirs.predict(X))


def test_the_decision_in_a_feature_space_is_the_kernel_machines():
    X, y = PAIR
    theirs = SVC(gamma=0.1, tol=1e-8).fit(X, y)
    model = SupportVectorProjection(kernel=RBF(0.1)).fit(X, y)
    assert_allclose(model.decision_function(X), theirs.decision_function(X), atol=10 * AS_LIBSVM)
    values = (model.transform(X)[:, 0] + model.intercepts_[0]) / model.margins_[0]
    assert_allclose(values, model.decision_function(X), atol=1e-10)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_first_hyperplane_within_is_the_minimum_class_variance_machine(C):
    X, y = PAIR
    model = WithinSupportVectorDiscriminant(C=C).fit(X, y)
    within = sum(np.cov(X[y == c].T, bias=True) * np.sum(y == c) for c in (0, 1))
    s, d = model.shrinkage_, X.shape[1]
    L = np.linalg.cholesky((1 - s) * within + s * np.trace(within) / d * np.eye(d))
    white = np.linalg.solve(L, (X - X.mean(axis=0)).T).T
    theirs = svc(white, y, C)
    expected = theirs.decision_function(white)
    assert_allclose(model.decision_function(X), expected, atol=10 * AS_LIBSVM)
    distance = X @ model.normals_[0] + model.intercepts_[0]
    assert_allclose(distance / model.margins_[0], model.decision_function(X), atol=1e-9)


def shift(X, y):
    """Rows far from the origin, with labels whose order is not that of their size."""
    return X + 100.0, np.array(["n", "m", "k"])[y]


@quiet
@pytest.mark.parametrize("model", ALL_FIVE[:2], ids=lambda m: type(m).__name__)
def test_normals_point_to_their_class_and_have_their_intercepts(model):
    X, labels = shift(*TALL)
    model = model.fit(X, labels)
    n = len(model.class_of_component_)
    assert n == 3
    values = X @ model.components_[:n].T + model.intercepts_
    for f, c, margin, support in zip(
        values.T, model.class_of_component_, model.margins_, model.support_, strict=True
    ):
        side = np.where(labels == c, 1, -1)
        assert f[side > 0].mean() > f[side < 0].mean()
        column = model.classes_.tolist().index(c)
        assert_allclose(f / margin, model.decision_function(X)[:, column], atol=1e-8)
        assert_array_equal(support, np.flatnonzero(side * f / margin <= 1 + 1e-4))
    few = model.set_params(redundancy=1.0).fit(X, labels)
    assert len(few.intercepts_) == len(few.margins_) == len(few.support_) == 1


@pytest.mark.parametrize("n_components", [None, 4])
@pytest.mark.parametrize(
    "model",
    [MarginMaximizingDiscriminant(), WithinSupportVectorDiscriminant()],
    ids=["mmda", "wsvda"],
)
def test_hyperplanes_of_every_round_have_their_intercepts(model, n_components):
    X, y = PAIR
    labels = np.array(["b", "a"])[y]
    model = model.set_params(n_components=n_components).fit(X + 10, labels)
    # of two classes components are the normals, and point to the second
    assert_allclose(model.normals_, model.components_, atol=1e-10)
    assert set(model.class_of_normal_) == {"b"}
    values = ((X + 10) @ model.normals_.T + model.intercepts_) / model.margins_
    side = np.where(y == 0, 1, -1)
    for f, support in zip(values.T, model.support_, strict=True):
        assert f[side > 0].mean() > f[side < 0].mean()
        assert_array_equal(support, np.flatnonzero(side * f <= 1 + 1e-4))


@quiet
@all_five
def test_redundancy_and_dimensions_leave_decisions_as_they_are(model):
    X, y = TALL
    changed = {"redundancy": 1.0} if "redundancy" in model.get_params() else {"n_components": 1}
    every, one = model.fit(X, y).decision_function(X), model.set_params(**changed).fit(X, y)
    assert len(one.components_) < 6
    assert_allclose(one.decision_function(X), every, atol=1e-10)


@quiet
@all_five
def test_models_in_files_decide_the_same(model, tmp_path):
    X, y = TALL
    save(model.fit(X, y), tmp_path / "m.model")
    read = load(tmp_path / "m.model")
    assert_array_equal(read.decision_function(X), model.decision_function(X))
    assert_array_equal(read.predict(X), model.predict(X))


def test_without_a_normal_the_heavier_side_decides():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [1.5]])
    y = np.array(["b", "b", "b", "b", "a"])
    with pytest.warns(UserWarning, match="all rows on one side"):
        model = SupportVectorProjection(C=1e-3).fit(X, y)
    assert_array_equal(model.decision_function(X), 1.0)
    assert set(model.predict(X)) == {"b"}
    with pytest.warns(UserWarning, match="all rows on one side"):
        turned = SupportVectorProjection(C=1e-3).fit(X, np.where(y == "a", "c", y))
    assert set(turned.predict(X)) == {"b"}


def test_a_class_between_the_others_has_what_they_leave():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = 0.1 * rng.standard_normal((90, 2))
    X[:, 0] += 3.0 * (y - 1)
    model = SupportVectorProjection().fit(X, y)
    assert_allclose(model.decision_function(X)[:, 1], -1.0)
    assert model.score(X, y) > 0.95
