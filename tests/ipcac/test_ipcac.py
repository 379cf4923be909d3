"""IPCAC: whitened class means, thresholds, truncation."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import NearestCentroid

from separatrix import IPCAC, ClassMoments, FisherDiscriminant, TruncatedIPCAC, datasets
from separatrix.decision.cuts import mahalanobis_threshold
from separatrix.ipcac.ipcac import log2_rule
from separatrix.linalg import principal_angles
from tests.discovery import SHAPES, TALL, labelled

every_shape = pytest.mark.parametrize(("X", "y"), SHAPES.values(), ids=SHAPES)
every_model = pytest.mark.parametrize("model", [IPCAC(), TruncatedIPCAC()], ids=["full", "log2"])
PAIR = labelled(120, 5, n_classes=2, seed=2)
WIDE_PAIR = labelled(24, 60, n_classes=2, seed=2)
pairs = pytest.mark.parametrize(("X", "y"), [PAIR, WIDE_PAIR], ids=["tall", "wide"])


def textbook_direction(X, y):
    """``pinv(Σ) (mean_1 - mean_0)``, with Σ the covariance of all rows divided by n."""
    delta = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    return np.linalg.pinv(np.cov(X.T, bias=True), rcond=1e-12, hermitian=True) @ delta


def along(model, X):
    """Coordinates on the line of two classes, which grow towards the second."""
    towards_second = np.sign(model.coef_[0] @ model.components_[0])
    return towards_second * model.transform(X)[:, 0]


@pairs
def test_the_direction_is_the_inverse_covariance_times_the_mean_difference(X, y):
    model = IPCAC().fit(X, y)
    assert principal_angles(model.coef_, [textbook_direction(X, y)])[0] < 1e-7
    assert (
        principal_angles(model.coef_, FisherDiscriminant(shrinkage=None).fit(X, y).components_)[0]
        < 1e-7
    )


@pairs
@every_model
def test_all_rows_have_unit_variance_along_the_direction(X, y, model):
    model = model.fit(X, y)
    assert_allclose(model.transform(X).var(axis=0), 1)
    w = model.components_
    assert_allclose(w @ np.cov(X.T, bias=True) @ w.T, 1)


@every_shape
@every_model
def test_the_total_covariance_is_the_identity_in_the_subspace(X, y, model):
    Z = model.fit(X, y).transform(X)
    assert Z.shape[1] == 2
    assert_allclose(np.cov(Z.T, bias=True), np.eye(2), atol=1e-9)


@pairs
@every_model
def test_the_weights_point_from_the_first_class_to_the_second(X, y, model):
    for labels in (y, 1 - y):
        model.fit(X, labels)
        score = model.decision_function(X)
        assert score[labels == 1].mean() > score[labels == 0].mean()
        assert_allclose(X @ model.coef_[0] + model.intercept_, score, atol=1e-9)
        above = along(model, X) - model.threshold_
        slope = np.sqrt(score @ score / (above @ above))
        assert_allclose(slope * above, score, rtol=1e-9, atol=1e-9 * np.abs(score).max())
        assert_array_equal(model.predict(X), (score > 0).astype(int))
        assert_array_equal(model.predict_proba(X)[:, 1] > 0.5, score > 0)


@pairs
@every_model
@pytest.mark.parametrize("threshold", ["mahalanobis", "accuracy"])
def test_swapping_the_classes_mirrors_the_model(X, y, model, threshold):
    # "balanced" puts thresholds on samples, as published, and does not mirror
    plain, swapped = (type(model)(threshold=threshold).fit(X, labels) for labels in (y, 1 - y))
    assert_allclose(swapped.coef_, -plain.coef_, rtol=1e-9, atol=1e-9)
    assert_allclose(swapped.threshold_, -plain.threshold_, atol=1e-9)


def test_the_threshold_has_the_same_mahalanobis_distance_from_both_means():
    X, y = PAIR
    model = IPCAC(threshold="mahalanobis").fit(X, y)
    z = along(model, X)
    low, high = z[y == 0], z[y == 1]
    distance = (model.threshold_ - low.mean()) / low.std()
    assert_allclose((high.mean() - model.threshold_) / high.std(), distance, rtol=1e-9)


@pytest.mark.parametrize("threshold", ["mahalanobis", "accuracy", "balanced"])
@pytest.mark.parametrize("n", [24, 60, 61])  # fewer rows than features, as many, and one more
def test_collapsed_projections_are_cut_in_the_middle(threshold, n):
    X, y = labelled(n, 60, n_classes=2, seed=2)
    model = IPCAC(threshold=threshold).fit(X, y)
    z = along(model, X)
    middle = (z[y == 0].mean() + z[y == 1].mean()) / 2
    assert np.ptp(z[y == 0]) < 1e-6
    assert_allclose(model.threshold_, middle, atol=1e-5)


@pytest.mark.parametrize("n", [200, 201])
def test_rounding_of_collapsed_projections_sets_no_threshold(n):
    for seed in range(3):
        pair = datasets.make_gaussian_pair(n, 200, mean_scale=0.5, random_state=seed)
        model = IPCAC(threshold="mahalanobis").fit(pair.data, pair.target)
        z = along(model, pair.data)
        low, high = z[pair.target == 0].mean(), z[pair.target == 1].mean()
        assert_allclose(model.threshold_, (low + high) / 2, atol=1e-3 * (high - low))


def test_accuracy_counts_more_training_rows_right_than_any_other_threshold():
    bunch = datasets.make_gaussian_pair(300, 4, mean_scale=0.5, random_state=1)
    X, y = bunch.data, bunch.target
    model = IPCAC(threshold="accuracy").fit(X, y)
    z = along(model, X)
    best = max(((z > t) == (y == 1)).mean() for t in np.r_[z, z.min() - 1])
    assert_allclose(model.score(X, y), best)
    assert model.score(X, y) >= IPCAC().fit(X, y).score(X, y)


def test_priors_move_the_threshold_of_two_classes():
    X, y = PAIR
    plain = IPCAC(priors=[0.5, 0.5]).fit(X, y).threshold_
    shares = np.bincount(y) / len(y)
    assert_allclose(IPCAC(priors=shares).fit(X, y).threshold_, IPCAC().fit(X, y).threshold_)
    assert IPCAC(priors=[0.9, 0.1]).fit(X, y).threshold_ > plain
    assert IPCAC(priors=[0.1, 0.9]).fit(X, y).threshold_ < plain
    assert set(IPCAC(priors=[1.0, 0.0]).fit(X, y).predict(X)) == {0}


def test_many_classes_decide_as_full_lda():
    X, y = labelled(300, 8, n_classes=4)
    X = X + np.random.default_rng(0).normal(scale=3, size=X.shape)
    lda = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    model = IPCAC(threshold="mahalanobis").fit(X, y)
    assert 0.3 < model.score(X, y) < 0.95
    assert model.threshold_ is None
    assert_array_equal(model.predict(X), lda.predict(X))


# Variance ------------------------------------------------------------------------------------


@every_shape
def test_variance_keeps_the_smallest_number_of_axes(X, y):
    evals = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    enough = int(np.searchsorted(np.cumsum(evals) / evals.sum(), 0.9) + 1)
    model = IPCAC(variance=0.9).fit(X, y)
    fisher = FisherDiscriminant(shrinkage=None, pca=enough).fit(X, y)
    assert principal_angles(model.components_, fisher.components_).max() < 1e-8


# Truncation ------------------------------------------------------------------------------------


@pairs
def test_truncation_runs_from_nearest_mean_to_ipcac(X, y):
    delta = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    one, everything = (TruncatedIPCAC(d).fit(X, y) for d in (1, 10_000))
    rank = min(len(X) - 1, X.shape[1])
    assert principal_angles(one.coef_, [delta])[0] < 1e-9
    assert everything.n_whitened_ == rank
    assert_allclose(everything.coef_, IPCAC().fit(X, y).coef_, atol=1e-10)


@pairs
@pytest.mark.parametrize("d", [2, 3, 4])
def test_truncation_is_the_formula(X, y, d):
    centred = X - X.mean(axis=0)
    _, q, Vt = np.linalg.svd(centred, full_matrices=False)
    U, q = Vt[:d].T, q[:d]
    delta = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    w = delta + U @ (((q[-1] / q) ** 2 - 1) * (U.T @ delta))
    model = TruncatedIPCAC(d).fit(X, y)
    assert model.n_whitened_ == d
    assert principal_angles(model.coef_, [w])[0] < 1e-8


@every_shape
@pytest.mark.parametrize("d", [2, 4])
def test_truncation_of_many_classes_spans_the_whitened_means(X, y, d):
    centred = X - X.mean(axis=0)
    _, q, Vt = np.linalg.svd(centred, full_matrices=False)
    P = np.eye(X.shape[1]) + Vt[:d].T @ np.diag(q[d - 1] / q[:d] - 1) @ Vt[:d]
    means = np.stack([X[y == c].mean(axis=0) for c in range(3)]) - X.mean(axis=0)
    expected = (means @ P @ P)[:2]
    model = TruncatedIPCAC(d).fit(X, y)
    assert principal_angles(model.components_, expected).max() < 1e-7


def test_the_log2_rule_is_capped_by_the_rank():
    assert log2_rule(1) == log2_rule(0.5) == 1
    assert log2_rule(1000) == 99
    for n in range(3, 18):  # without the cap the rule would erase the training span here
        X, y = labelled(n + 5, 200, n_classes=2, seed=n)
        model = TruncatedIPCAC().fit(X, y)
        assert model.n_whitened_ <= n + 4
        assert model.score(X, y) == 1


def test_truncation_takes_sparse_rows_without_filling_them():
    rng = np.random.default_rng(0)
    n, d, nnz = 1500, 30_000, 60_000
    X = sp.csr_array((rng.random(nnz), (rng.integers(0, n, nnz), rng.integers(0, d, nnz))), (n, d))
    tracemalloc.start()
    model = TruncatedIPCAC(20).fit(X, np.arange(n) % 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.n_whitened_ == 20
    assert peak < n * d * 8 / 4


def test_truncation_helps_where_rows_are_as_many_as_features():
    bunch = datasets.make_gaussian_pair(1200, 400, mean_scale=0.12, random_state=0)
    train, test = slice(0, 440), slice(440, None)
    scores = {
        type(model).__name__: model.fit(bunch.data[train], bunch.target[train]).score(
            bunch.data[test], bunch.target[test]
        )
        for model in (IPCAC(), TruncatedIPCAC(), NearestCentroid())
    }
    assert scores["TruncatedIPCAC"] > scores["IPCAC"] + 0.1
    assert abs(scores["TruncatedIPCAC"] - scores["NearestCentroid"]) < 0.05


# Awkward data ------------------------------------------------------------------------------------


@every_model
def test_identical_means_are_a_warning_and_the_majority(model):
    X = np.tile([[1.0, 2], [-1, 2], [1, -2], [-1, -2]], (5, 1))
    y = np.r_[np.zeros(12, int), np.ones(8, int)]
    with pytest.warns(UserWarning, match="means coincide"):
        model = model.fit(X, y)
    assert_array_equal(model.coef_, np.zeros((1, 2)))
    assert set(model.predict(X)) == {0}
    assert (model.decision_function(X) < 0).all()


@every_model
def test_a_class_of_one_sample_takes_the_spread_of_the_other(model):
    X, y = PAIR
    y = (np.arange(len(y)) == 7).astype(int)
    model = model.set_params(threshold="mahalanobis").fit(X, y)
    z = along(model, X)
    assert_allclose(model.threshold_, (z[y == 0].mean() + z[y == 1].mean()) / 2, rtol=0.02)


@every_model
def test_unknown_options_are_refused(model):
    with pytest.raises(ValueError, match="threshold='best' is not valid"):
        type(model)(threshold="best").fit(*PAIR)
    with pytest.raises(ValueError, match="keep_moments='yes' is not valid"):
        type(model)(keep_moments="yes").fit(*PAIR)


@every_model
def test_batches_are_the_whole(model):
    X, y = PAIR
    whole, batches = (type(model)() for _ in range(2))
    whole.fit(X, y)
    for part in np.array_split(np.arange(len(X)), 7):
        batches.partial_fit(X[part], y[part], classes=[0, 1])
    assert_allclose(batches.coef_, whole.coef_, atol=1e-10)
    assert_allclose(batches.threshold_, whole.threshold_, atol=1e-10)
    batches.partial_fit(
        X[:30] + 5, np.full(30, 2), classes=[2]
    )  # a third class drops the scatters
    assert not batches.moments_.per_class
    union = type(model)().fit(np.vstack([X, X[:30] + 5]), np.r_[y, np.full(30, 2)])
    assert_allclose(batches.components_, union.components_, atol=1e-9)


@every_model
@pytest.mark.parametrize("shape", [(60, 6), (30, 80)])
def test_models_grow_from_the_first_row_of_the_first_class(model, shape):
    X, y = labelled(*shape)
    order = np.argsort(y, kind="stable")
    grown = type(model)()
    for part in np.array_split(order, 9):
        grown.partial_fit(X[part], y[part], classes=[0, 1, 2])
    assert_allclose(grown.components_, type(model)().fit(X, y).components_, atol=1e-9)
    one = type(model)().partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    assert set(one.predict(X)) == {0}
    pair = type(model)().partial_fit(X[y == 0], y[y == 0])
    pair.partial_fit(X[y == 1], y[y == 1], classes=[0, 1])
    whole = type(model)().fit(X[y < 2], y[y < 2])
    assert_allclose(pair.threshold_, whole.threshold_, atol=1e-9)
    weighted = type(model)().fit(X[:5], [0, 1, 2, 3, 3], sample_weight=[1, 0, 0, 0, 0])
    assert set(weighted.predict(X)) == {0}


@pytest.mark.parametrize("threshold", ["mahalanobis", "accuracy", "balanced"])
def test_a_prior_of_zero_excludes_a_class(threshold):
    X, y = PAIR
    for priors, winner in (([0.0, 1.0], 1), ([1.0, 0.0], 0)):
        model = IPCAC(threshold=threshold, priors=priors).fit(X, y)
        assert set(model.predict(X)) == {winner}
        assert_array_equal(model.predict_proba(X)[:, winner], 1)


@pairs
@pytest.mark.parametrize("threshold", ["mahalanobis", "accuracy", "balanced"])
def test_weights_count_rows_several_times_in_every_threshold(X, y, threshold):
    weights = np.arange(len(X)) // 2 % 3
    weighted = IPCAC(threshold=threshold).fit(X, y, sample_weight=weights)
    repeated = IPCAC(threshold=threshold).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    assert_allclose(weighted.threshold_, repeated.threshold_, atol=1e-8)


@pytest.mark.parametrize("model", [IPCAC(1.0), TruncatedIPCAC(39), TruncatedIPCAC(40)], ids=str)
def test_sparse_rows_that_outnumber_features_keep_every_axis(model):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, 40)) < 0.05, rng.normal(size=(300, 40)), 0.0)
    y = rng.integers(0, 2, 300)
    dense, sparse = (
        type(model)(**model.get_params()).fit(f(X), y) for f in (np.asarray, sp.csr_array)
    )
    assert sparse.moments_.is_thin
    assert_allclose(sparse.coef_, dense.coef_, atol=1e-8)


def test_unfitted_models_say_so():
    for model in (IPCAC(), FisherDiscriminant(shrinkage=None)):
        for attribute in ("coef_", "intercept_"):
            with pytest.raises(NotFittedError):
                getattr(model, attribute)


def test_rules_that_need_rows_say_so():
    with pytest.raises(ValueError, match='threshold="accuracy" needs all rows'):
        IPCAC(threshold="accuracy").partial_fit(*PAIR)
    many = IPCAC(threshold="accuracy").partial_fit(
        *TALL
    )  # with three classes there is no threshold
    assert many.threshold_ is None
    with pytest.raises(ValueError, match="needs keep_moments=True"):
        IPCAC(keep_moments=False).partial_fit(*PAIR)
    assert IPCAC(keep_moments=False).fit(*PAIR).moments_ is None


def test_class_scatters_give_the_spread_of_each_class():
    X, y = PAIR
    model = IPCAC(threshold="mahalanobis").fit(X, y)
    z = along(model, X)
    stats = [np.array([f(z[y == c]) for c in (0, 1)]) for f in (np.mean, np.std, len)]
    assert_allclose(model.threshold_, mahalanobis_threshold(*stats), rtol=1e-10)
    assert isinstance(model.moments_, ClassMoments)
