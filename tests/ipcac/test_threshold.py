"""The cut between two classes that holds for new rows."""

from __future__ import annotations

import warnings

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import balanced_accuracy_score
from sklearn.metrics.pairwise import rbf_kernel

from separatrix import IPCAC, KernelIPCAC, OnlineIPCAC, TruncatedIPCAC, datasets, merge
from separatrix.ipcac.threshold import held_out_scores
from separatrix.kernels import RBF
from separatrix.moments.labelled import LabelledRows

MODELS = [IPCAC, TruncatedIPCAC, OnlineIPCAC]
every_model = pytest.mark.parametrize("make", MODELS)


def unbalanced(seed, n_features=600, counts=(300, 20), apart=6.0):
    """Isotropic rows with a rare class."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], counts))
    return rng.standard_normal((len(y), n_features)) + y[:, None] * apart / n_features**0.5, y


def calibration_error(p, y):
    """Expected calibration error of the second class in ten bins."""
    bins = np.minimum((10 * p).astype(int), 9)
    return sum(abs(p[bins == b].sum() - y[bins == b].sum()) for b in range(10)) / len(y)


@every_model
def test_a_rare_class_in_many_dimensions_is_found(make):
    X, y = unbalanced(0)
    X_new, y_new = unbalanced(1, counts=(500, 500))
    literal, model = make(threshold="mahalanobis").fit(X, y), make().fit(X, y)
    score = balanced_accuracy_score(y_new, model.predict(X_new))
    # the best cuts of these directions are right for 97 to 99 percent
    assert score > 0.92
    assert balanced_accuracy_score(y_new, literal.predict(X_new)) < score - 0.05
    assert model.threshold_rule_ == "corrected"
    assert calibration_error(model.predict_proba(X_new)[:, 1], y_new) < 0.05
    assert calibration_error(literal.predict_proba(X_new)[:, 1], y_new) > 0.05


@every_model
@pytest.mark.parametrize(("n_features", "apart"), [(30, 1.5), (90, 4.0)])
def test_batches_and_merged_models_have_the_corrected_threshold(make, n_features, apart):
    X, y = unbalanced(2, n_features, counts=(50, 15), apart=apart)
    whole = make().fit(X, y)
    batches = make()
    for part in np.array_split(np.arange(len(X)), 6):
        batches.partial_fit(X[part], y[part], classes=[0, 1])
    merged = merge([make().fit(X[i::2], y[i::2]) for i in range(2)])
    blocks = make().fit(da.from_array(X, chunks=(20, -1)), da.from_array(y, chunks=20))
    for other in (batches, merged, blocks):
        assert_allclose(other.threshold_, whole.threshold_, atol=1e-9)
        assert_allclose(other.predict_proba(X), whole.predict_proba(X), atol=1e-9)
        assert other.threshold_rule_ == whole.threshold_rule_
    assert whole.threshold_rule_ == "corrected"


@every_model
def test_swapping_the_classes_mirrors_the_corrected_threshold(make):
    X, y = unbalanced(3, n_features=90, counts=(50, 15))
    plain, swapped = make().fit(X, y), make().fit(X, 1 - y)
    assert_allclose(swapped.threshold_, -plain.threshold_, atol=1e-9)
    assert_allclose(swapped.predict_proba(X)[:, ::-1], plain.predict_proba(X), atol=1e-9)


@every_model
def test_many_rows_keep_the_literal_threshold(make):
    X, y = unbalanced(4, n_features=5, counts=(300, 200))
    auto, literal = make().fit(X, y), make(threshold="mahalanobis").fit(X, y)
    assert auto.threshold_rule_ == "mahalanobis"
    assert_allclose(auto.threshold_, literal.threshold_)


@every_model
@pytest.mark.parametrize("threshold", ["accuracy", "balanced", "held-out"])
def test_rules_that_look_at_rows_say_their_name_and_need_the_rows(make, threshold):
    X, y = unbalanced(5, n_features=5, counts=(60, 30))
    model = make(threshold=threshold).fit(X, y)
    assert model.threshold_rule_ == threshold
    with pytest.raises(ValueError, match=f'threshold="{threshold}" needs all rows'):
        make(threshold=threshold).partial_fit(X, y)


def test_more_classes_have_no_rule():
    model = IPCAC().fit(np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 3)
    assert model.threshold_rule_ is None


def test_the_warning_of_a_bias_that_cannot_be_corrected_names_this_line():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 30)), np.arange(40) % 2  # nothing separates these
    with pytest.warns(UserWarning, match="could not be corrected") as caught:
        model = IPCAC().fit(X, y)
    assert caught[0].filename == __file__
    assert model.threshold_rule_ == "mahalanobis"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        IPCAC(threshold="mahalanobis").fit(X, y)


def test_the_balance_is_a_parameter():
    X, y = unbalanced(6, n_features=3, counts=(200, 20), apart=2.0)
    model = IPCAC(threshold="balanced", balance=0.0).fit(X, y)
    z = np.sign(model.coef_[0] @ model.components_[0]) * model.transform(X)[:, 0]
    assert_allclose(model.threshold_, (z[y == 0].mean() + z[y == 1].mean()) / 2)
    with pytest.raises(ValueError, match=r"balance=-1 is not valid"):
        IPCAC(balance=-1).fit(X, y)
    with pytest.raises(ValueError, match=r"balance=1.0 is not valid"):
        IPCAC(balance=1.0).fit(X, y)


def test_held_out_scores_are_those_of_models_without_the_row():
    X, y = unbalanced(7, n_features=4, counts=(20, 2))
    scores = held_out_scores(IPCAC(), LabelledRows(X, y, np.arange(2)))
    changed = X.copy()
    changed[0] += 100.0  # the row itself: its own score moves along the same direction
    others = held_out_scores(IPCAC(), LabelledRows(changed, y, np.arange(2)))
    assert np.isfinite(scores).all()
    assert scores[0] != others[0]
    alone = held_out_scores(
        IPCAC(), LabelledRows(X[:-1], np.r_[np.zeros(20, int), 1], np.arange(2))
    )
    assert np.isnan(alone).all()


def test_rows_of_no_weight_are_not_held_out():
    X, y = unbalanced(8, n_features=4, counts=(30, 30))
    weights = (np.arange(60) % 3 > 0).astype(float)
    counted = weights > 0
    some = IPCAC(threshold="held-out").fit(X[counted], y[counted])
    weighted = IPCAC(threshold="held-out").fit(X, y, sample_weight=weights)
    assert_allclose(weighted.threshold_, some.threshold_, atol=1e-9)


# Kernels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"ridge": 0.1}])
def test_narrow_kernels_decide_as_well_as_their_direction_allows(options):
    train = datasets.make_gaussian_mixtures(30, 60, e=1.0, random_state=0)
    new = datasets.make_gaussian_mixtures(100, 60, e=1.0, random_state=1)
    gamma = 4 / (60 * train.data.var())
    literal = KernelIPCAC(kernel=RBF(gamma), threshold="mahalanobis", **options)
    model = KernelIPCAC(kernel=RBF(gamma), **options).fit(train.data, train.target)
    s = model.decision_function(new.data)
    best = max(np.mean((s > cut) == new.target) for cut in np.sort(s))
    assert model.score(new.data, new.target) > best - 0.03
    assert calibration_error(model.predict_proba(new.data)[:, 1], new.target) < 0.1
    literal.fit(train.data, train.target)
    assert model.score(new.data, new.target) > literal.score(new.data, new.target) - 0.01


@pytest.mark.parametrize("options", [{}, {"truncate": True}], ids=["ridge", "truncated"])
def test_precomputed_kernels_hold_out_pairs(options):
    train = datasets.make_gaussian_mixtures(10, 6, e=0.5, random_state=0)
    K = rbf_kernel(train.data, gamma=0.3)
    given = KernelIPCAC("precomputed", **options).fit(K, train.target)
    computed = KernelIPCAC(kernel=RBF(0.3), **options).fit(train.data, train.target)
    assert_allclose(given.threshold_, computed.threshold_, atol=1e-9)
