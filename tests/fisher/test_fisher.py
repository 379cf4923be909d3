"""Invariants of the Fisher family, and the answers it owes to awkward data."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.covariance import OAS, EmpiricalCovariance, GraphicalLasso
from sklearn.datasets import load_digits, load_iris

from separatrix import (
    IPCAC,
    DirectDiscriminant,
    FisherDiscriminant,
    GSVDDiscriminant,
    MaximumMarginCriterion,
    Toeplitz,
    TruncatedIPCAC,
    datasets,
)
from separatrix.linalg import principal_angles
from tests.discovery import TALL, WIDE, labelled
from tests.fisher.scatters import every_shape, scatters

# FisherDiscriminant --------------------------------------------------------------------------


@pytest.mark.parametrize("shrinkage", [None, 0.2])
def test_fisher_whitens_sw_and_sorts_the_criterion(shrinkage):
    X, y = TALL
    Sw, Sb = scatters(X, y)
    a = shrinkage or 0.0
    Sw = (1 - a) * Sw + a * np.diag(np.diag(Sw))
    W = FisherDiscriminant(shrinkage=shrinkage).fit(X, y).components_.T
    assert_allclose(W.T @ Sw @ W, np.eye(2), atol=1e-12)
    criterion = W.T @ Sb @ W
    assert_allclose(criterion, np.diag(scipy.linalg.eigh(Sb, Sw)[0][::-1][:2]), atol=1e-9)


def test_fisher_finds_the_subspace_the_data_were_made_from():
    bunch = datasets.make_gaussian_classes(20_000, 10, 4, random_state=0)
    model = FisherDiscriminant(shrinkage=None).fit(bunch.data, bunch.target)
    assert np.degrees(principal_angles(model.components_, bunch.components)).max() < 2


@pytest.mark.parametrize("method", [FisherDiscriminant, GSVDDiscriminant])
def test_units_of_features_do_not_matter(method):
    X, y = TALL
    units = 10.0 ** np.array([-9, -6, -3, 0, 3, 9])
    plain, scaled = method().fit(X, y), method().fit(X * units, y)
    assert_allclose(np.abs(scaled.transform(X * units)), np.abs(plain.transform(X)), atol=1e-9)


@pytest.mark.parametrize(
    "method",
    [FisherDiscriminant, DirectDiscriminant, GSVDDiscriminant, MaximumMarginCriterion],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_that_hardly_differ_have_no_more_directions(method, n_classes):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = np.r_[np.arange(n_classes), rng.integers(0, n_classes, 150 - n_classes)]
        model = method().fit(rng.normal(size=(150, 5)), y)
        assert len(model.components_) == n_classes - 1


@pytest.mark.parametrize(
    "method",
    [FisherDiscriminant, DirectDiscriminant, GSVDDiscriminant, MaximumMarginCriterion],
)
def test_means_that_differ_by_rounding_coincide(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) * [1e-9, 1, 1, 1e9]
    X, y = np.vstack([X, X[::-1]]) + 5, np.repeat([0, 1], 60)
    with pytest.warns(UserWarning, match="means coincide"):
        assert len(method().fit(X, y).components_) == 0


def mixed_units(extra):
    """A telling feature in small units, a large one that is noise, and columns to spoil Sw."""
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    rate, income = (rng.normal(size=2000) + 2 * y) * 1e-3, rng.normal(size=2000) * 1e5
    spoilers = {
        "full rank": np.zeros((2000, 0)),
        "one-hot": np.eye(3)[rng.integers(0, 3, 2000)],
        "constant": np.ones((2000, 1)),
        "duplicate": rate[:, None],
    }
    return np.column_stack([rate, income, spoilers[extra]]), y


@pytest.mark.parametrize("extra", ["full rank", "one-hot", "constant", "duplicate"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("method", [FisherDiscriminant, GSVDDiscriminant, IPCAC, TruncatedIPCAC])
def test_units_do_not_hide_a_feature_from_a_singular_scatter(method, extra, dtype):
    X, y = mixed_units(extra)
    assert method().fit(X.astype(dtype), y).score(X.astype(dtype), y) > 0.83


def test_single_precision_finds_directions_of_small_variance():
    rng = np.random.default_rng(0)
    y = np.arange(2000) % 2
    X = rng.normal(size=(2000, 100))
    X[:, 0] = 1e-3 * (X[:, 0] + 3 * y)
    X = X @ np.linalg.qr(rng.normal(size=(100, 100)))[0]
    double, single = (
        FisherDiscriminant(shrinkage=None).fit(X.astype(t), y) for t in (np.float64, np.float32)
    )
    assert double.score(X, y) > 0.9
    assert single.score(X, y) > 0.9
    huge = (1e18 * TALL[0]).astype(np.float32)  # squares beyond float32
    assert FisherDiscriminant(shrinkage=None).fit(huge, TALL[1]).score(huge, TALL[1]) > 0.9


@pytest.mark.parametrize("factor", [1e14, 1e-3])
def test_the_scale_of_weights_does_not_matter(factor):
    X, y = TALL
    plain, scaled = (
        FisherDiscriminant(shrinkage=None).fit(X, y, sample_weight=np.full(len(X), w))
        for w in (1.0, factor)
    )
    assert_allclose(scaled.predict_proba(X), plain.predict_proba(X), atol=1e-9)
    sparse = sp.csr_array(np.where(np.abs(X) > 1, X, 0))
    for model in (FisherDiscriminant(pca=3), IPCAC(0.9), TruncatedIPCAC(2)):
        model.fit(sparse, y, sample_weight=np.full(len(X), factor))
        assert len(model.components_) == 2


@pytest.mark.filterwarnings("ignore:.*found no direction")
@pytest.mark.parametrize("model", [FisherDiscriminant(pca=2), IPCAC(0.9), TruncatedIPCAC(2)])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_data_without_any_scatter_leave_the_majority(model, make):
    for d in (1, 3, 50):
        model.fit(make(np.zeros((6, d))), [0, 1, 1, 1, 0, 1])
        assert set(model.predict(make(np.zeros((2, d))))) == {1}


def test_values_whose_squares_overflow_are_errors():
    X, y = TALL
    with pytest.raises(ValueError, match="squares overflow"):
        FisherDiscriminant(shrinkage=None).fit(X * 1e200, y)


def test_lazy_frames_are_errors_with_the_remedy():
    class LazyFrame:
        def collect(self): ...

    with pytest.raises(TypeError, match=r"LazyFrame, which holds no rows yet: call X\.collect"):
        FisherDiscriminant(shrinkage=None).fit(LazyFrame(), [0, 1])


def test_sparse_shrinkage_is_chosen_without_filling_the_rows():
    import tracemalloc

    rng = np.random.default_rng(0)
    n, d, nnz = 600, 50_000, 30_000
    X = sp.csr_array((rng.random(nnz), (rng.integers(0, n, nnz), rng.integers(0, d, nnz))), (n, d))
    tracemalloc.start()
    FisherDiscriminant(shrinkage="auto").fit(X, np.arange(n) % 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * d * 8 / 4


def test_the_number_of_components_changes_the_decision():
    X, y = load_iris(return_X_y=True)
    digits = load_digits(return_X_y=True)
    assert (
        FisherDiscriminant(n_components=2).fit(*digits).score(*digits)
        < FisherDiscriminant(shrinkage=None).fit(*digits).score(*digits) - 0.2
    )
    one = FisherDiscriminant(n_components=1).fit(X, y)
    assert one.coef_.shape == (3, 4)
    assert np.linalg.matrix_rank(one.coef_) == 1


def test_the_data_that_crash_scikit_learn_work_here():
    X = [[0], [1], [1]]
    for y in ([0, 1, 1], [0, 0, 1], [0, 1, 0]):
        model = FisherDiscriminant(shrinkage=None).fit(X, y)
        assert model.transform(X).shape[1] <= 1
        assert np.isfinite(model.predict_proba(X)).all()
    assert_array_equal(
        FisherDiscriminant(shrinkage=None).fit(X, [0, 1, 1]).predict([[0], [0.4], [0.6]]),
        [0, 0, 1],
    )


@pytest.mark.filterwarnings("ignore:.*found no direction")  # one class alone has a prior
def test_priors_move_the_decision_and_the_mean_of_sb():
    X, y = labelled(200, 3, n_classes=2, seed=3)
    X = X + np.random.default_rng(0).normal(scale=4, size=X.shape)
    shares = [
        (FisherDiscriminant(priors=[1 - p, p]).fit(X, y).predict(X) == 1).mean()
        for p in (0.1, 0.5, 0.9)
    ]
    assert shares[0] < shares[1] < shares[2]
    certain = FisherDiscriminant(priors=[1.0, 0.0]).fit(X, y)
    assert_array_equal(certain.predict(X), 0)


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        ([0.5, 0.5], "one value for each of the 3"),
        ([0.5, 0.6, 0.2], "sum to 1"),
        ([-1, 1, 1], "sum"),
    ],
)
def test_bad_priors_are_errors(priors, message):
    with pytest.raises(ValueError, match=message):
        FisherDiscriminant(priors=priors).fit(*TALL)


@pytest.mark.parametrize(
    "parameters",
    [{"shrinkage": 1.5}, {"shrinkage": "much"}, {"pca": 0}, {"pca": -0.5}, {"pca": 1.5}],
)
def test_bad_parameters_are_errors_by_name(parameters):
    name, value = next(iter(parameters.items()))
    with pytest.raises(ValueError, match=f"{name}={value!r} is not valid for FisherDiscriminant"):
        FisherDiscriminant(**parameters).fit(*TALL)


def test_pca_keeps_the_share_of_variance_asked_for():
    X, y = WIDE
    evals = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    enough = np.searchsorted(np.cumsum(evals) / evals.sum(), 0.7) + 1
    model = FisherDiscriminant(pca=0.7).fit(X, y)
    assert model.rank_ == enough
    with pytest.raises(ValueError, match="at most 1"):
        FisherDiscriminant(pca=1, n_components=2).fit(X, y)


def test_partial_fit_grows_class_by_class():
    X, y = TALL
    model = FisherDiscriminant(n_components=2, shrinkage=None)
    model.partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    assert model.transform(X).shape == (90, 0)
    assert set(model.predict(X)) == {0}
    model.partial_fit(X[1:2], y[1:2])
    assert model.transform(X).shape == (90, 1)
    model.partial_fit(X[2:], y[2:])
    assert_allclose(
        model.components_, FisherDiscriminant(shrinkage=None).fit(X, y).components_, atol=1e-10
    )


def test_partial_fit_takes_new_classes_only_when_announced():
    X, y = TALL
    model = FisherDiscriminant(shrinkage=None).partial_fit(X[y < 2], y[y < 2])
    with pytest.raises(ValueError, match=r"not among classes: \[2\]"):
        model.partial_fit(X[y == 2], y[y == 2])
    model.partial_fit(X[y == 2], y[y == 2], classes=[2])
    assert_allclose(
        model.components_, FisherDiscriminant(shrinkage=None).fit(X, y).components_, atol=1e-10
    )


def test_partial_fit_says_what_it_cannot_do():
    X, y = TALL
    with pytest.raises(ValueError, match="n_components=3 is too large"):
        FisherDiscriminant(n_components=3).partial_fit(X, y)


def test_fit_forgets_what_partial_fit_learned():
    X, y = TALL
    model = FisherDiscriminant(shrinkage=None).partial_fit(X[:50], y[:50]).fit(X[50:], y[50:])
    assert model.moments_.n_samples == 40
    forgetful = FisherDiscriminant(keep_moments=False).fit(X, y).set_params(keep_moments=True)
    with pytest.raises(ValueError, match="nothing to add to"):
        forgetful.partial_fit(X, y)


def test_wide_sparse_pca_needs_little_memory():
    import tracemalloc

    rng = np.random.default_rng(0)
    n, d, nnz = 600, 50_000, 30_000
    X = sp.csr_array((rng.random(nnz), (rng.integers(0, n, nnz), rng.integers(0, d, nnz))), (n, d))
    tracemalloc.start()
    FisherDiscriminant(pca=5).fit(X, np.arange(n) % 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < n * d * 8 / 4


@every_shape
def test_maximum_margin_directions_are_orthonormal(X, y):
    for k in (None, 1, 5):
        model = MaximumMarginCriterion(n_components=k).fit(X, y)
        W = model.components_
        assert W.shape[0] == (k or 2)
        assert_allclose(W @ W.T, np.eye(len(W)), atol=1e-12)
        assert (np.diff(model.criterion_) <= 0).all()


def test_maximum_margin_goes_on_to_the_rank_of_the_data():
    X, y = WIDE
    model = MaximumMarginCriterion(n_components=23).fit(X, y)
    assert_allclose(model.components_ @ model.components_.T, np.eye(23), atol=1e-12)
    constant = np.column_stack([TALL[0], np.ones(90)])
    with pytest.raises(ValueError, match=r"at most 6 \(the rank"):
        MaximumMarginCriterion(n_components=7).fit(constant, TALL[1])


# Other covariances -----------------------------------------------------------------------------


def test_shrinkage_keeps_variances_and_shrinks_correlations():
    X, y = labelled(60, 5)
    model = FisherDiscriminant(shrinkage=0.3).fit(X, y)
    Sw = model.moments_.Sw
    shrunk = 0.7 * Sw + 0.3 * np.diag(np.diag(Sw))
    W = model.components_
    assert_allclose(W @ shrunk @ W.T, np.eye(2), atol=1e-10)
    units = np.array([1e-3, 1.0, 1e4, 7.0, 1.0])
    scaled = FisherDiscriminant(shrinkage=0.3).fit(X * units, y)
    assert_allclose(scaled.decision_function(X * units), model.decision_function(X), rtol=1e-9)


def test_a_covariance_estimator_takes_the_place_of_shrinkage():
    X, y = labelled(90, 6)
    Z = X - np.stack([X[y == c].mean(axis=0) for c in range(3)])[y]
    for estimator in (OAS(), GraphicalLasso(0.1)):
        model = FisherDiscriminant(covariance=estimator).fit(X, y)
        W = model.components_
        Sw = 90 * clone(estimator).fit(Z).covariance_
        assert_allclose(W @ Sw @ W.T, np.eye(2), atol=1e-9)
        assert not hasattr(estimator, "covariance_")
    plain = FisherDiscriminant(covariance=EmpiricalCovariance(assume_centered=True)).fit(X, y)
    assert_allclose(plain.coef_, FisherDiscriminant(shrinkage=None).fit(X, y).coef_, rtol=1e-9)
    wide = FisherDiscriminant(pca=4, covariance=OAS()).fit(*labelled(24, 60))
    assert wide.components_.shape == (2, 60)


def test_ways_to_estimate_the_covariance_do_not_mix():
    X, y = labelled(60, 6)
    for how, words in (
        ({"covariance": OAS(), "shrinkage": 0.1}, "covariance=.* and shrinkage=0.1 do not go"),
        ({"covariance": Toeplitz(2), "pca": 3}, "do not go together"),
        ({"covariance": "oas"}, "covariance='oas'"),
    ):
        with pytest.raises(ValueError, match=words):
            FisherDiscriminant(**how).fit(X, y)
    with pytest.raises(ValueError, match="makes a matrix of 60 features from 24 rows"):
        FisherDiscriminant(covariance=OAS()).fit(*labelled(24, 60))
    with pytest.raises(ValueError, match="takes no sample_weight"):
        FisherDiscriminant(covariance=OAS()).fit(X, y, np.ones(60))
    with pytest.raises(ValueError, match="needs all rows at once"):
        FisherDiscriminant(covariance=OAS()).fit(X, y).partial_fit(X, y)
