"""The quadratic Gaussian rule in a subspace."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from separatrix import FisherDiscriminant, GroupedDiscriminant, load, merge, save
from separatrix.decision.quadratic import class_covariances

MODELS = {
    "fisher": FisherDiscriminant(shrinkage=None, rule="quadratic"),
    "shrunk": FisherDiscriminant(shrinkage=0.1, rule="quadratic"),
    "groups": GroupedDiscriminant(2, rule="quadratic"),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def spread_classes(n=300, d=6, seed=0):
    """Classes whose covariances differ, the same for every seed."""
    shapes = np.random.default_rng(7).standard_normal((3, d, d)) / np.sqrt(d)
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = np.einsum("ni,nij->nj", rng.standard_normal((n, d)), shapes[y])
    return X + y[:, None] * np.linspace(0, 1, d), y


def scikit_learn_scores(Z, y, new):
    """Log-posteriors of scikit-learn, with its variances scaled to the divisor n."""
    rule = QuadraticDiscriminantAnalysis().fit(Z, y)
    totals = [Z[y == c].var(axis=0).sum() for c in range(3)]
    rule.scalings_ = [s * t / s.sum() for s, t in zip(rule.scalings_, totals, strict=True)]
    return rule.decision_function(new)


@pytest.mark.parametrize("name", ["fisher", "groups"])
def test_in_the_subspace_it_is_quadratic_discriminant_analysis(name):
    X, y = spread_classes()
    new = spread_classes(seed=1)[0]
    model = MODELS[name].fit(X, y)
    expected = scikit_learn_scores(model.transform(X), y, model.transform(new))
    found = model.decision_function(new)
    assert_allclose(found - found[:, :1], expected - expected[:, :1], rtol=1e-7, atol=1e-9)
    assert_array_equal(model.predict(new), model.classes_[expected.argmax(axis=1)])
    linear = type(model)().fit(X, y)
    assert model.score(new, y) > linear.score(new, y)


def test_two_classes_have_the_log_odds_of_the_second():
    X, y = spread_classes()
    two = y < 2
    model = FisherDiscriminant(shrinkage=None, rule="quadratic").fit(X[two], y[two])
    odds = model.decision_function(X[two])
    assert_allclose(odds, np.diff(model.predict_log_proba(X[two]))[:, 0])
    assert_array_equal(model.predict(X[two]), (odds > 0).astype(int))


@pytest.mark.parametrize("name", ["fisher", "shrunk"])
@pytest.mark.parametrize("shape", [(300, 6), (60, 90)], ids=["tall", "wide"])
def test_batches_and_sites_give_what_all_rows_give(name, shape):
    X, y = spread_classes(*shape)
    new = spread_classes(*shape, seed=1)[0]
    model = MODELS[name]
    whole = model.fit(X, y).decision_function(new)
    parts = [slice(0, 20), slice(20, 45), slice(45, None)]
    stream = FisherDiscriminant(**model.get_params())
    for part in parts:
        stream.partial_fit(X[part], y[part], classes=[0, 1, 2])
    # where rows are fewer than features the decision rests on a direction without scatter, whose
    # assumed variance is 1e-9: half of the digits are left
    tolerance = {"rtol": 1e-7} if shape[0] > shape[1] or name == "shrunk" else {"rtol": 1e-3}
    assert_allclose(stream.decision_function(new), whole, **tolerance)
    sites = [FisherDiscriminant(**model.get_params()).fit(X[part], y[part]) for part in parts]
    assert_allclose(merge(sites).decision_function(new), whole, **tolerance)


def test_a_row_of_weight_two_is_the_row_twice():
    X, y = spread_classes()
    weights = 1 + np.arange(len(y)) % 2
    for model in MODELS.values():
        weighted = model.fit(X, y, sample_weight=weights).decision_function(X)
        again = model.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
        assert_allclose(again.decision_function(X), weighted, rtol=1e-8)


def test_shrunk_covariances_average_to_that_of_the_linear_rule():
    X, y = spread_classes()
    model = FisherDiscriminant(shrinkage=0.3, rule="quadratic").fit(X, y)
    A = model._rule.whiteners
    average = np.average(np.linalg.inv(A.swapaxes(1, 2) @ A), axis=0, weights=np.bincount(y))
    # the components are scaled so that the shrunk scatter is the identity
    assert_allclose(average, np.eye(2) / len(y), atol=1e-12)


def test_a_class_of_few_rows_borrows_from_all():
    rng = np.random.default_rng(0)
    scatters = np.stack([S @ S.T for S in rng.standard_normal((4, 3, 3))])
    scatters[1] = np.outer([1, 2, 3], [1, 2, 3])  # all rows on a line
    counts, pooled = np.array([50.0, 20, 3, 1]), np.diag([1.0, 2, 3])
    found = class_covariances(scatters, counts, pooled)
    assert_allclose(found[0], scatters[0] / 50)
    assert_allclose(found[1], (scatters[1] + 4 * pooled) / 24)
    assert_allclose(found[2], (scatters[2] + 4 * pooled) / 7)
    assert_allclose(found[3], pooled)


@every_model
def test_rare_and_missing_classes_have_an_answer(model):
    X, y = spread_classes()
    y = np.where(np.arange(len(y)) == 5, 7, np.where(np.isin(np.arange(len(y)), [8, 11]), 8, y))
    model.fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert model.score(X, y) > 0.5
    if hasattr(model, "partial_fit"):
        stream = FisherDiscriminant(shrinkage=None, rule="quadratic").partial_fit(
            X, y, classes=[0, 1, 2, 7, 8, 9]
        )
        assert_allclose(stream.predict_proba(X)[:, 5], 0)


@every_model
def test_without_directions_the_majority_is_left(model):
    X = np.zeros((30, 4))
    y = np.where(np.arange(30) < 20, 1, 0)
    with pytest.warns(UserWarning, match="found no direction"):
        model.fit(X, y)
    assert_array_equal(model.predict(X[:3]), [1, 1, 1])


def test_it_has_no_coefficients_and_says_so():
    X, y = spread_classes()
    model = FisherDiscriminant(shrinkage=None, rule="quadratic").fit(X, y)
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match=r"there is no coef_ .* a covariance for each"):
        _ = model.intercept_
    with pytest.raises(ValueError, match="rule='cubic' is not valid for FisherDiscriminant"):
        FisherDiscriminant(shrinkage=None, rule="cubic").fit(X, y)


@every_model
def test_a_saved_model_decides_as_before(model, tmp_path):
    X, y = spread_classes()
    save(model.fit(X, y), tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").decision_function(X), model.decision_function(X))
