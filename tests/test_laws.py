"""Transformations of the data that must not change, or must carry through to, the subspace."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.covariance import GraphicalLasso, LedoitWolf

from separatrix import FisherDiscriminant
from tests.discovery import (
    SHAPES,
    all_estimators,
    lawful_estimators,
    linear,
    name_of,
    same_up_to_sign,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore:the within-class scatter has no null space",
    "ignore:FastICA did not converge",
    "ignore:class .* has too few rows for a covariance",
)
every_shape = pytest.mark.parametrize(("X", "y"), SHAPES.values(), ids=SHAPES)

# Methods for which a law is not one, and why.
NOT_PERMUTED = {"GroupedDiscriminant"}  # groups are made of features
NOT_ROTATED = NOT_PERMUTED | {
    "SparseLDG",  # few features are not few after a rotation
    "FisherDiscriminant",  # features have units
    "HeteroscedasticDiscriminant",
    "TruncatedIPCAC",  # features have units where these suit new rows better
    "OnlineIPCAC",
}
NOT_RENAMED = {"MixtureIPCAC"}  # directions come in the order of the classes
IN_UNITS_OF_C = {  # what C costs depends on the size and the number of the rows
    "MarginMaximizingDiscriminant",
    "SupportVectorProjection",
    "SupportVectorICA",
}
NOT_DUPLICATED = {
    "LDG",  # a duplicated row is its own neighbour
    *IN_UNITS_OF_C,
    "FisherDiscriminant",  # shrinks less by twice the rows
    "HeteroscedasticDiscriminant",  # a class borrows less by twice the rows
    "MixtureIPCAC",  # its nodes are truncated
    "LocalFisherDiscriminant",  # the k-th neighbour of a duplicated row is nearer
    "SparseLDG",
    "TransferLDG",
    "WithinSupportVectorDiscriminant",  # shrinks less by twice the rows
    "TruncatedIPCAC",  # twice the rows whiten more axes
    "OnlineIPCAC",
}
UNDECIDED_BY_COPIES = {
    "FisherDiscriminant",  # shrinks less by twice the rows
    "HeteroscedasticDiscriminant",  # a class borrows less by twice the rows
    "KernelFisherDiscriminant",  # a ridge counts as so many rows: less beside twice as many
    "KernelIPCAC",
    "MixtureIPCAC",  # its nodes are truncated, and twice the rows whiten more axes
    "IPCAC",  # twice the rows gain less by having made their own means
    "TruncatedIPCAC",
    "OnlineIPCAC",
}


def every_one_but(exceptions, kind=list):
    kept = [e for e in kind(lawful_estimators()) if name_of(e) not in exceptions]
    return pytest.mark.parametrize("estimator", kept, ids=name_of)


def projections(estimator, X, y):
    return clone(estimator).fit(X, y).transform(X)


def assert_same_projections(actual, expected, atol=1e-9):
    scale = np.abs(expected).max()
    assert_allclose(same_up_to_sign(expected, actual), expected, atol=atol * scale)


@every_one_but(())
@every_shape
def test_the_order_of_rows_does_not_matter(estimator, X, y):
    order = np.random.default_rng(0).permutation(len(X))
    shuffled = clone(estimator).fit(X[order], y[order])
    assert_same_projections(shuffled.transform(X), projections(estimator, X, y))


@every_one_but(NOT_RENAMED)
@every_shape
def test_renaming_classes_changes_nothing(estimator, X, y):
    renamed = np.array([5, 9, 1])[y]
    assert_same_projections(projections(estimator, X, renamed), projections(estimator, X, y))


@every_one_but(NOT_ROTATED)
@every_shape
def test_rotating_the_data_rotates_the_subspace(estimator, X, y):
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((X.shape[1],) * 2))[0]
    assert_same_projections(projections(estimator, X @ rotation, y), projections(estimator, X, y))


@every_one_but(())
@every_shape
def test_shifting_the_data_changes_nothing(estimator, X, y):
    # shifted by 1e6 the data themselves are rounded to 1e-10
    assert_same_projections(projections(estimator, X + 1e6, y), projections(estimator, X, y), 1e-7)


@every_one_but(())
@every_shape
def test_an_offset_costs_single_precision_no_more_than_it_costs_the_data(estimator, X, y):
    single = (X + 1e4).astype(np.float32)
    model = clone(estimator).fit(single.astype(np.float64), y)
    double = model.transform(single.astype(np.float64))
    assert_same_projections(model.transform(single), double, 1e-5)


@every_one_but(NOT_DUPLICATED, linear)
@every_shape
def test_duplicating_every_row_keeps_the_directions(estimator, X, y):
    once = clone(estimator).fit(X, y)
    twice = clone(estimator).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    ratio = np.linalg.norm(once.components_, axis=1) / np.linalg.norm(twice.components_, axis=1)
    assert_allclose(twice.components_ * ratio[:, None], once.components_, atol=1e-9)


@every_one_but(UNDECIDED_BY_COPIES, lambda all: [e for e in all if hasattr(e, "predict_proba")])
@every_shape
def test_duplicating_every_row_keeps_the_decisions(estimator, X, y):
    once = clone(estimator).fit(X, y)
    twice = clone(estimator).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    assert_array_equal(twice.predict(X), once.predict(X))
    assert_allclose(twice.predict_proba(X), once.predict_proba(X), atol=1e-8)


@every_one_but(IN_UNITS_OF_C, linear)
@every_shape
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_rescaling_the_data_keeps_the_directions(estimator, X, y, factor):
    plain = clone(estimator).fit(X, y).components_
    scaled = clone(estimator).fit(factor * X, y).components_
    unit = [W / np.linalg.norm(W, axis=1, keepdims=True) for W in (plain, scaled)]
    assert_allclose(unit[1], unit[0], atol=1e-9)


@every_one_but(NOT_PERMUTED, linear)
@every_shape
def test_permuting_features_permutes_the_components(estimator, X, y):
    order = np.random.default_rng(0).permutation(X.shape[1])
    permuted = clone(estimator).fit(X[:, order], y).components_
    assert_allclose(permuted, clone(estimator).fit(X, y).components_[:, order], atol=1e-9)


# What says nothing ------------------------------------------------------------------------------

CHANGED_BY_A_CONSTANT = {
    "GroupedDiscriminant",  # groups are made of features, as many as there are
    "LocalQDA",  # its ridge is a share of the mean variance of the features
    "MixtureIPCAC",  # a cluster has as many parameters as features, whatever these say
    "EarlyClassifier",  # what is known of a row is counted in features
}
GIVE_FEATURES = {"ClassEraser", "DomainScaler"}
SHRINKING = ("shrinkage", "covariance", "pooling", "ridge", "regularization")


def shrinking_estimators():
    """Every estimator, and once more with each value of what shrinks its covariance."""
    plain = {type(e): e for e in (*all_estimators(), *lawful_estimators())}
    found = [FisherDiscriminant(covariance=c) for c in (LedoitWolf(), GraphicalLasso(0.3))]
    for estimator in plain.values():
        allowed = getattr(estimator, "_allowed_parameters", {})
        names = [name for name in SHRINKING if name in allowed]
        found.append(estimator)
        found += [
            clone(estimator).set_params(**{name: value})
            for name in names
            for option in allowed[name]
            for value in option.examples
        ]
    return [e for e in found if name_of(e) not in CHANGED_BY_A_CONSTANT]


@pytest.mark.parametrize("estimator", shrinking_estimators(), ids=str)
@every_shape
def test_a_column_that_is_the_same_in_all_rows_changes_nothing(estimator, X, y):
    needs_rows = getattr(estimator, "covariance", None) is not None
    if needs_rows and X.shape[1] > len(X):
        pytest.skip("a covariance needs more rows than features")
    ask = "decision_function" if hasattr(estimator, "decision_function") else "transform"
    expected = getattr(clone(estimator).fit(X, y), ask)(X)
    for value in (0.0, 3.0, -1e3):
        wide = np.insert(X, 2, value, axis=1)
        found = getattr(clone(estimator).fit(wide, y), ask)(wide)
        if name_of(estimator) in GIVE_FEATURES:
            found = np.delete(found, 2, axis=1)
        elif ask == "transform":
            found = same_up_to_sign(expected, found[:, : expected.shape[1]])
        # searches of a slope end where the loss is flat: six digits are right
        assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
