"""The decision that holds for new rows."""

from __future__ import annotations

import warnings

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.metrics.pairwise import rbf_kernel

from separatrix import IPCAC, KernelIPCAC, OnlineIPCAC, TruncatedIPCAC, datasets, merge
from separatrix.kernels import RBF

MODELS = [IPCAC, TruncatedIPCAC, OnlineIPCAC]
every_model = pytest.mark.parametrize("make", MODELS)


def unbalanced(seed, n_features=600, counts=(300, 20), apart=6.0):
    """Isotropic rows with rare classes, each about a mean of its own."""
    rng, means = np.random.default_rng(seed), np.random.default_rng(0)
    y = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    centres = means.standard_normal((len(counts), n_features))
    centres *= apart / np.linalg.norm(centres, axis=1)[:, None]
    return rng.standard_normal((len(y), n_features)) + centres[y], y


def calibration_error(P, y):
    """Expected calibration error of the predicted class in ten bins."""
    top, right = P.max(axis=1), P.argmax(axis=1) == y
    bins = np.minimum((10 * top).astype(int), 9)
    return sum(abs(top[bins == b].sum() - right[bins == b].sum()) for b in range(10)) / len(y)


@every_model
@pytest.mark.parametrize("counts", [(300, 20), (200, 40, 20)], ids=["two", "three"])
def test_rare_classes_in_many_dimensions_are_found(make, counts):
    n_classes = len(counts)
    X, y = unbalanced(1, counts=counts)
    X_new, y_new = unbalanced(2, counts=(300,) * n_classes)
    priors = np.full(n_classes, 1 / n_classes)
    literal = make(threshold="mahalanobis", priors=priors).fit(X, y)
    model = make(priors=priors).fit(X, y)
    assert balanced_accuracy_score(y_new, model.predict(X_new)) > 0.97
    P, Q = (m.predict_proba(X_new) for m in (model, literal))
    assert log_loss(y_new, P) < 0.7 * log_loss(y_new, Q)
    assert calibration_error(P, y_new) < 0.06


@every_model
def test_probabilities_follow_the_shares_of_the_classes(make):
    X, y = unbalanced(3, counts=(250, 50), apart=3.0)
    X_new, y_new = unbalanced(4, counts=(1000, 200), apart=3.0)
    P = make().fit(X, y).predict_proba(X_new)
    base = log_loss(y_new, np.tile([5 / 6, 1 / 6], (len(y_new), 1)))
    assert log_loss(y_new, P) < base
    assert calibration_error(P, y_new) < 0.05


@every_model
@pytest.mark.parametrize(("n_features", "apart"), [(30, 3.0), (90, 6.0)])
@pytest.mark.parametrize("counts", [(50, 15), (30, 20, 15)], ids=["two", "three"])
def test_batches_merged_models_and_blocks_decide_as_all_rows(make, n_features, apart, counts):
    X, y = unbalanced(2, n_features, counts, apart)
    whole, batches = make().fit(X, y), make()
    for part in np.array_split(np.arange(len(X)), 6):
        batches.partial_fit(X[part], y[part], classes=np.arange(len(counts)))
    merged = merge([make().fit(X[i::2], y[i::2]) for i in range(2)])
    blocks = make().fit(da.from_array(X, chunks=(20, -1)), da.from_array(y, chunks=20))
    for other in (batches, merged, blocks):
        assert_allclose(other.predict_proba(X), whole.predict_proba(X), atol=1e-9)


@every_model
def test_swapping_the_classes_mirrors_the_threshold(make):
    X, y = unbalanced(3, n_features=90, counts=(50, 15))
    plain, swapped = make().fit(X, y), make().fit(X, 1 - y)
    assert_allclose(swapped.threshold_, -plain.threshold_, atol=1e-6)
    assert_allclose(swapped.predict_proba(X)[:, ::-1], plain.predict_proba(X), atol=1e-6)


@every_model
def test_renaming_three_classes_renames_the_answers(make):
    X, y = unbalanced(4, n_features=90, counts=(40, 30, 20), apart=3.0)
    names = np.array([2, 0, 1])
    plain, renamed = make().fit(X, y), make().fit(X, names[y])
    assert_array_equal(renamed.predict(X), names[plain.predict(X)])


@every_model
def test_many_rows_need_next_to_no_correction(make):
    X, y = unbalanced(4, n_features=5, counts=(3000, 3000), apart=2.0)
    auto, literal = make().fit(X, y), make(threshold="mahalanobis").fit(X, y)
    assert_allclose(auto.threshold_, literal.threshold_, atol=0.02)


@every_model
@pytest.mark.parametrize("threshold", ["accuracy", "balanced"])
def test_cuts_that_look_at_rows_need_the_rows(make, threshold):
    X, y = unbalanced(5, n_features=5, counts=(60, 30))
    make(threshold=threshold).fit(X, y)
    with pytest.raises(ValueError, match=f'threshold="{threshold}" needs all rows'):
        make(threshold=threshold).partial_fit(X, y)


@every_model
def test_means_no_farther_apart_than_chance_are_a_warning_at_the_line_of_the_caller(make):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 30)), np.arange(40) % 2  # nothing separates these
    with pytest.warns(UserWarning, match="than chance puts them") as caught:
        model = make().fit(X, y)
    assert caught[0].filename == __file__
    assert model.predict_proba(rng.standard_normal((200, 30))).max(axis=1).mean() < 0.8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(threshold="mahalanobis").fit(X, y)


def test_the_balance_is_a_parameter():
    X, y = unbalanced(6, n_features=3, counts=(200, 20), apart=2.0)
    model = IPCAC(threshold="balanced", balance=0.0).fit(X, y)
    z = np.sign(model.coef_[0] @ model.components_[0]) * model.transform(X)[:, 0]
    assert_allclose(model.threshold_, (z[y == 0].mean() + z[y == 1].mean()) / 2)
    with pytest.raises(ValueError, match=r"balance=-1 is not valid"):
        IPCAC(balance=-1).fit(X, y)
    with pytest.raises(ValueError, match=r"balance=1.0 is not valid"):
        IPCAC(balance=1.0).fit(X, y)


# The number of axes ----------------------------------------------------------------------------


def pancakes(seed, n):
    """Ten flat features that separate, and ten wide ones that do not."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, 20)) * np.repeat([10.0, 0.1], 10)
    X[:, 10:] += 0.1 * y[:, None]
    return X, y


@pytest.mark.parametrize("make", [TruncatedIPCAC, OnlineIPCAC])
def test_little_variance_may_hold_all_that_separates(make):
    X, y = pancakes(0, 400)
    X_new, y_new = pancakes(1, 1000)
    assert make().fit(X, y).score(X_new, y_new) > 0.9
    assert make(5).fit(X, y).score(X_new, y_new) < 0.6


@pytest.mark.parametrize("make", [TruncatedIPCAC, OnlineIPCAC])
def test_rows_of_many_dimensions_have_leading_axes_and_a_tail(make):
    X, y = unbalanced(5, 1500, (700, 500), apart=4.0)
    X_new, y_new = unbalanced(6, 1500, (300, 300), apart=4.0)
    model = make().fit(X, y)
    assert model.n_whitened_ == 500
    assert 0 < model.shrinkage_ < 1
    assert model.score(X_new, y_new) > 0.94


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
    assert calibration_error(model.predict_proba(new.data), new.target) < 0.1
    literal.fit(train.data, train.target)
    assert model.score(new.data, new.target) > literal.score(new.data, new.target) - 0.01


@pytest.mark.parametrize("options", [{}, {"truncate": True}], ids=["ridge", "truncated"])
def test_precomputed_kernels_are_those_that_were_computed(options):
    train = datasets.make_gaussian_mixtures(10, 6, e=0.5, random_state=0)
    K = rbf_kernel(train.data, gamma=0.3)
    given = KernelIPCAC("precomputed", **options).fit(K, train.target)
    computed = KernelIPCAC(kernel=RBF(0.3), **options).fit(train.data, train.target)
    assert_allclose(given.threshold_, computed.threshold_, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_merged_landmark_models_choose_their_ridge_by_moments(n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 4)), np.arange(300) // 2 % n_classes
    X += y[:, None]
    shared = {"kernel": RBF(0.1), "n_landmarks": X[:20]}
    parts = [KernelIPCAC(**shared).fit(X[i::2], y[i::2]) for i in range(2)]
    merged, stream = merge(parts), KernelIPCAC(**shared)
    for i in range(2):
        stream.partial_fit(X[i::2], y[i::2])
    assert merged.ridge_ > 0
    assert_allclose(stream.predict_proba(X), merged.predict_proba(X), atol=1e-8)
    whole = KernelIPCAC(**shared).fit(X, y)
    new = rng.standard_normal((600, 4)) + (np.arange(600) % n_classes)[:, None]
    reached = [model.score(new, np.arange(600) % n_classes) for model in (merged, whole)]
    assert_allclose(*reached, atol=0.04)
