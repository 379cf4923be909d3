"""Streams: the factorisation that grows, the online model, windows, forgetting."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from separatrix import (
    ClassMoments,
    FisherDiscriminant,
    OnlineIPCAC,
    TruncatedIPCAC,
    datasets,
    merge,
)
from separatrix.linalg import ThinSVD, principal_angles
from separatrix.moments.labelled import LabelledRows
from separatrix.moments.spectra import (
    between_along_axes,
    max_total_rank,
    reduce_to_span,
    total_axes,
)
from separatrix.moments.window import MAX_UNSUMMED_ROWS, N_PARTS, SlidingWindow
from tests.base.test_batches import assert_same_model
from tests.discovery import labelled

# The factorisation that grows ------------------------------------------------------------------


def rows_of_rank(n, d, rank, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))


def assert_factors(svd, rows):
    """Orthonormal to rounding, descending, and the scatter of the rows."""
    assert_allclose(svd.U.T @ svd.U, np.eye(len(svd.s)), atol=1e-14)
    assert (np.diff(svd.s) <= 0).all()
    scatter = rows.T @ rows
    assert_allclose((svd.U * svd.s**2) @ svd.U.T, scatter, atol=1e-13 * np.trace(scatter))


@pytest.mark.parametrize("cuts", [[1, 2, 3, 4], [20], [7, 8, 30], []])
@pytest.mark.parametrize("rank", [3, 12])
def test_the_factorisation_of_pieces_is_that_of_the_whole(cuts, rank):
    rows = rows_of_rank(40, 12, rank)
    svd = ThinSVD.empty(12)
    for part in np.split(rows, cuts):
        svd = svd.appended(part)
    assert len(svd.s) == rank
    assert_factors(svd, rows)


def test_rows_inside_the_span_add_no_direction():
    """What is left of them outside is rounding, at any size, and must not become an axis."""
    rows = rows_of_rank(10, 30, 4)
    svd = ThinSVD.empty(30).appended(rows)
    for factor in (1e-9, 1.0, 1e9):
        assert len(svd.appended(factor * rows).s) == 4


def test_nearly_dependent_rows_stay_orthogonal():
    """Directions just above rounding magnify the error of the first projection."""
    rng = np.random.default_rng(0)
    base = rows_of_rank(6, 50, 6)
    near = base + 1e-11 * rng.standard_normal(base.shape)
    svd = ThinSVD.empty(50).appended(base).appended(near)
    assert_factors(svd, np.vstack([base, near]))


def test_a_hundred_thousand_updates_leave_the_axes_orthonormal():
    rng = np.random.default_rng(0)
    svd = ThinSVD.empty(8)
    for row in rng.standard_normal((100_000, 1, 8)) * np.linspace(1, 3, 8):
        svd = svd.appended(row, rank=3)
    assert_allclose(svd.U.T @ svd.U, np.eye(3), atol=1e-12)


def test_no_more_axes_than_features_arise():
    """With every direction taken, what is left of a row is rounding, whatever its size."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rows = [f * rng.standard_normal((1, 2)) for f in (1e3, 1e-9, 1e3)]
        svd = ThinSVD.empty(2)
        for row in rows:
            svd = svd.appended(row)
        assert_factors(svd, np.vstack(rows))


def test_two_factorisations_merge():
    rows = rows_of_rank(40, 12, 8)
    parts = [ThinSVD.empty(12).appended(part) for part in np.split(rows, [15])]
    assert_factors(parts[0].merged(parts[1]), rows)
    truncated = parts[0].merged(parts[1], rank=2)
    assert_allclose(truncated.s, np.linalg.svd(rows)[1][:2])


def test_the_mean_shift_row_recentres():
    """The rows of a batch less their mean, and the shift of the mean, give the centred whole."""
    X = rows_of_rank(50, 9, 9) + 5
    svd, mean, seen = ThinSVD.empty(9), np.zeros(9), 0
    for batch in np.split(X, [1, 20, 23]):
        n, centre = len(batch), batch.mean(axis=0)
        shift = np.sqrt(seen * n / (seen + n)) * (centre - mean)
        svd = svd.appended(np.vstack([batch - centre, shift]))
        mean, seen = mean + n / (seen + n) * (centre - mean), seen + n
    assert_factors(svd, X - X.mean(axis=0))


# Truncated moments ------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("per_class", [False, True])
def test_truncated_moments_keep_means_traces_and_leading_axes(make, per_class):
    X, y = labelled(40, 120, 2)
    X[:, :3] *= 30  # three axes that stand out
    whole = ClassMoments.from_data(make(X), y, per_class=per_class)
    small = whole.truncated(6)
    assert small.most_rows() == 6
    assert small.is_truncated
    assert_array_equal(small.means, whole.means)
    for a, b in zip(small._scatters, whole._scatters, strict=True):
        evals, V = np.linalg.eigh(a.matrix())
        exact = np.linalg.eigvalsh(b.matrix())
        assert_allclose(evals[-6:], exact[-6:])
        assert_allclose(evals[:-6], exact[:-6].mean())
        assert_allclose(b.matrix() @ V[:, -6:], V[:, -6:] * evals[-6:], atol=1e-8 * evals[-1])
        assert_allclose(a.diagonal(), a.matrix().diagonal())
        assert_allclose(a.diagonal().sum(), b.diagonal().sum())


def test_truncated_moments_answer_alike_in_every_form():
    """Axes, products and projections see the floor as the matrix does."""
    X, y = labelled(60, 80, 3)
    small = ClassMoments.from_data(X, y).truncated(10)
    V = np.random.default_rng(0).standard_normal((80, 4))
    assert_allclose(small.within_apply(V), small.Sw @ V)
    assert_allclose(small.project(V).Sw, V.T @ small.Sw @ V)
    evals, axes = total_axes(small, 5)
    assert_allclose(small.St @ axes, axes * evals, atol=1e-9 * evals[0])
    assert_allclose(between_along_axes(small, 5).evals, evals)
    inside, lift = reduce_to_span(small)
    basis = lift(np.eye(inside.n_features))
    assert_allclose(inside.Sw, basis.T @ small.Sw @ basis, atol=1e-9 * evals[0])
    assert max_total_rank(small) == 80


def test_truncated_moments_add_decay_and_multiply_out():
    X, y = labelled(60, 80, 3)
    small = ClassMoments.from_data(X, y).truncated(10)
    other = ClassMoments.from_data(X[:20] + 1, y[:20]).truncated(5)
    both = small + other
    means = small.means - other.means
    counts = small.counts * other.counts / (small.counts + other.counts)
    assert_allclose(both.Sw, small.Sw + other.Sw + (means.T * counts) @ means)
    assert_allclose(small.decay(0.25).Sw, 0.25 * small.Sw)
    assert_array_equal(small.decay(1e-250).counts, 0)
    again = (small.decay(0.25) + small).truncated(12)  # twice the same ten axes
    assert again.most_rows() == 10
    assert_allclose(again.Sw, 1.25 * small.Sw, atol=1e-9)
    many = sum([small] * 9)  # more rows than features: a matrix
    assert not many.is_thin
    assert_allclose(many.Sw, 9 * small.Sw)


# The online model -------------------------------------------------------------------------------

EXACT = {
    "two classes": (labelled(90, 6, 2), {}),
    "three classes": (labelled(90, 6, 3), {}),
    "wide pair": (labelled(40, 70, 2), {"n_whitened": 8, "rank": 70}),
    "wide": (labelled(40, 70, 3), {"n_whitened": 8, "rank": 70}),
    "wider than the rows": (labelled(30, 400, 2), {"rank": 40}),
    "one whitened": (labelled(90, 6, 2), {"n_whitened": 1, "rank": 3}),
}
exactly = pytest.mark.parametrize(("data", "options"), EXACT.values(), ids=EXACT)


def streamed(model, X, y, size, **more):
    for i in range(0, len(y), size):
        model.partial_fit(X[i : i + size], y[i : i + size], classes=np.unique(y), **more)
    return model


def batch_model(options):
    return TruncatedIPCAC(options.get("n_whitened", "log2"))


@exactly
@pytest.mark.parametrize("size", [1, 7, 200])
@pytest.mark.parametrize("seed", [0, 1])
def test_untruncated_the_stream_gives_the_model_of_all_rows(data, options, size, seed):
    X, y = data
    order = np.random.default_rng(seed).permutation(len(y))
    online = streamed(OnlineIPCAC(**options), X[order], y[order], size)
    assert_same_model(online, batch_model(options).fit(X, y))


def test_an_offset_costs_no_digits():
    X, y = labelled(90, 6, 2)
    there = streamed(OnlineIPCAC(), X + 1e6, y, 10)
    here = OnlineIPCAC().fit(X, y)
    # the rows themselves are rounded to 1e-10 by the offset
    assert_allclose(there.coef_, here.coef_, atol=1e-8)
    assert_allclose(there.threshold_, here.threshold_, atol=1e-8)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("size", [1, 30, 400])
def test_truncated_the_stream_stays_near_the_model_of_all_rows(make, size):
    """With twice the axes kept that are whitened, a few degrees; statistics of classes exact."""
    pair = datasets.make_gaussian_pair(400, 150, mean_scale=0.4, random_state=0)
    order = np.random.default_rng(0).permutation(400)
    X, y = pair.data[order], pair.target[order]
    online = streamed(OnlineIPCAC(12, rank=24), make(X), y, size)
    batch = TruncatedIPCAC(12).fit(X, y)
    assert online.moments_.is_truncated
    assert online.moments_.most_rows() <= 48
    assert online.n_whitened_ == 12
    assert_allclose(online.mean_, batch.mean_, atol=1e-12)
    assert_allclose(online.means_, batch.means_, atol=1e-12)
    assert_allclose(online.moments_.trace_within(), batch.moments_.trace_within())
    assert np.degrees(principal_angles(online.coef_, batch.coef_)[0]) < 10
    agree = np.mean(online.predict(X) == batch.predict(X))
    assert agree > 0.97


def test_axes_beyond_those_whitened_keep_it_near():
    """As the source has it, with as many axes kept as whitened, the direction turns away more."""
    pair = datasets.make_gaussian_pair(1500, 300, mean_scale=0.2, random_state=0)
    order = np.random.default_rng(0).permutation(1500)
    X, y = pair.data[order], pair.target[order]
    batch = TruncatedIPCAC(30).fit(X, y).coef_
    kept = {
        rank: principal_angles(streamed(OnlineIPCAC(30, rank=rank), X, y, 50).coef_, batch)[0]
        for rank in (30, 60)
    }
    assert kept[60] < 0.7 * kept[30]


def test_the_number_whitened_stops_at_half_a_given_rank():
    X, y = labelled(300, 200, 2)
    assert OnlineIPCAC(rank=30).fit(X, y).n_whitened_ == 15
    assert OnlineIPCAC(20, rank=30).fit(X, y).n_whitened_ == 20
    few = slice(0, 40)  # nothing left out yet: the rule as it is
    assert OnlineIPCAC(rank=30).fit(X[few], y[few]).n_whitened_ == 28


def test_memory_is_bounded_by_the_rank():
    rng = np.random.default_rng(0)
    model = OnlineIPCAC(5, rank=10)
    for _ in range(40):
        X = rng.standard_normal((25, 600))
        model.partial_fit(X, X[:, 0] > 0, classes=[False, True])
        assert model.moments_.most_rows() <= 20
    one_by_one = OnlineIPCAC(5, rank=10)
    for i, row in enumerate(rng.standard_normal((15, 1, 600))):
        one_by_one.partial_fit(row, [i % 2], classes=[0, 1])
    assert one_by_one.moments_.most_rows() <= 8  # a row that is its own mean adds none


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_blocks_stay_few_when_rows_come_one_by_one(make):
    X, y = labelled(120, 150, 2)
    y[3:] = 0  # a class that hardly comes
    model = OnlineIPCAC(5, rank=10)
    for i in range(120):
        model.partial_fit(make(X[[i]]), y[[i]], classes=[0, 1])
        assert all(len(scatter.rows) <= 17 for scatter in model.moments_._scatters)
    assert_allclose(
        model.moments_.trace_within(), ClassMoments.from_data(X, y).trace_within(), rtol=1e-10
    )


def test_classes_may_come_later():
    X, y = labelled(200, 90, 3)
    order = np.argsort(y, kind="stable")  # one class after the other
    X, y = X[order], y[order]
    model = OnlineIPCAC(6, rank=90)
    model.partial_fit(X[y == 0], y[y == 0])
    assert_array_equal(model.predict(X), np.zeros(200))
    model.partial_fit(X[y == 1], y[y == 1], classes=[1])
    assert model.coef_.shape == (1, 90)
    model.partial_fit(X[y == 2], y[y == 2], classes=[2])
    assert_same_model(model, TruncatedIPCAC(6).fit(X, y))


def test_merged_streams_are_one_stream():
    X, y = labelled(120, 12, 2)
    parts = [streamed(OnlineIPCAC(), X[i::3], y[i::3], 10) for i in range(3)]
    assert_same_model(merge(parts), TruncatedIPCAC().fit(X, y))


def test_merged_truncated_streams_stay_small_and_go_on():
    pair = datasets.make_gaussian_pair(600, 150, mean_scale=0.4, random_state=0)
    X, y = pair.data, pair.target
    parts = [streamed(OnlineIPCAC(10, rank=20), X[i::3], y[i::3], 40) for i in range(3)]
    merged = merge(parts)
    assert merged.moments_.most_rows() <= 40
    assert_allclose(merged.moments_.trace_within(), ClassMoments.from_data(X, y).trace_within())
    batch = TruncatedIPCAC(10).fit(X, y)
    assert np.degrees(principal_angles(merged.coef_, batch.coef_)[0]) < 10
    merged.partial_fit(X[:50], y[:50])
    assert merged.moments_.n_samples == 650


def test_streams_with_a_window_do_not_merge():
    X, y = labelled(60, 5, 2)
    parts = [OnlineIPCAC(window=20).fit(X, y) for _ in range(2)]
    with pytest.raises(ValueError, match="no common order"):
        merge(parts)


@pytest.mark.parametrize("keep", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
@pytest.mark.parametrize("options", [{}, {"window": 40}, {"decay": 0.95}, {"rank": 4}], ids=str)
def test_a_kept_model_goes_on_as_if_never_stopped(keep, options):
    X, y = labelled(150, 30, 2)
    model = streamed(OnlineIPCAC(2, **options), X[:90], y[:90], 7)
    again = keep(model)
    for each in (model, again):
        streamed(each, X[90:], y[90:], 7)
    assert_array_equal(again.coef_, model.coef_)
    assert again.threshold_ == model.threshold_


# Forgetting -------------------------------------------------------------------------------------

FORGETFUL = [
    lambda **how: FisherDiscriminant(**how),
    lambda **how: FisherDiscriminant(shrinkage=0.1, pca=4, **how),
    lambda **how: OnlineIPCAC(rank=100, **how),
]
every_forgetful = pytest.mark.parametrize("make", FORGETFUL)


@every_forgetful
@pytest.mark.parametrize("size", [1, 13, 64])
@pytest.mark.parametrize(("n", "d", "n_classes"), [(300, 6, 2), (300, 6, 3), (300, 150, 2)])
def test_a_window_is_the_batch_of_its_last_rows_at_any_time(make, size, n, d, n_classes):
    X, y = labelled(n, d, n_classes)
    order = np.random.default_rng(0).permutation(n)
    X, y = X[order], y[order]
    model = make(window=100)
    for i in range(0, n, size):
        stop = min(i + size, n)
        model.partial_fit(X[i:stop], y[i:stop], classes=range(n_classes))
        if stop > 100 and (i // size) % 11 == 0:
            last = slice(stop - 100, stop)
            assert_same_model(model, make().fit(X[last], y[last]))
    assert model.moments_.n_samples == 100


@every_forgetful
@pytest.mark.parametrize("size", [1, 30, 200])
def test_decay_weighs_rows_by_their_age_whatever_the_batches(make, size):
    X, y = labelled(200, 6, 3)
    model = make(decay=0.97)
    streamed(model, X, y, size)
    ages = np.arange(200)[::-1]
    expected = make().fit(X, y, sample_weight=0.97**ages)
    assert_same_model(model, expected)
    assert_same_model(make(decay=0.97).fit(X, y), expected)


def test_decay_multiplies_weights_that_are_given():
    X, y = labelled(120, 6, 2)
    w = np.random.default_rng(0).uniform(0.5, 2, 120)
    model = FisherDiscriminant(decay=0.97)
    for i in range(0, 120, 25):
        part = slice(i, i + 25)
        model.partial_fit(X[part], y[part], classes=[0, 1], sample_weight=w[part])
    expected = FisherDiscriminant().fit(X, y, sample_weight=w * 0.97 ** np.arange(120)[::-1])
    assert_same_model(model, expected)


def test_a_batch_so_long_that_nothing_is_left_of_the_past():
    X, y = labelled(400, 6, 2)
    model = FisherDiscriminant(decay=0.01).fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    assert_same_model(model, FisherDiscriminant(decay=0.01).fit(X[100:], y[100:]))


@every_forgetful
def test_fit_with_a_window_takes_the_last_rows_and_goes_on(make):
    X, y = labelled(200, 6, 3)
    model = make(window=50).fit(X, y)
    assert_same_model(model, make().fit(X[150:], y[150:]))
    model.partial_fit(X[:10], y[:10])
    rows = np.r_[160:200, 0:10]
    assert_same_model(model, make().fit(X[rows], y[rows]))


def test_weights_count_in_a_window():
    X, y = labelled(120, 6, 2)
    w = np.random.default_rng(0).uniform(0.5, 2, 120)
    model = FisherDiscriminant(window=60)
    for i in range(0, 120, 20):  # with and without weights by turns
        part = slice(i, i + 20)
        if i // 20 % 2:
            model.partial_fit(X[part], y[part], sample_weight=w[part])
        else:
            w[part] = 1
            model.partial_fit(X[part], y[part], classes=[0, 1])
    assert_same_model(model, FisherDiscriminant().fit(X[60:], y[60:], sample_weight=w[60:]))


def test_a_window_takes_sparse_and_dense_batches():
    X, y = labelled(90, 40, 2)
    X = np.where(np.abs(X) > 1, X, 0)
    model = FisherDiscriminant(window=50)
    for i, make in enumerate([np.asarray, sp.csr_array] * 3):
        part = slice(15 * i, 15 * i + 15)
        model.partial_fit(make(X[part]), y[part], classes=[0, 1])
    assert_same_model(model, FisherDiscriminant().fit(X[40:], y[40:]), atol=1e-6)


def test_a_class_may_leave_the_window_and_come_back():
    X, y = labelled(300, 6, 2)
    a, b = X[y == 0], X[y == 1]
    model = OnlineIPCAC(window=30)
    model.partial_fit(a[:20], np.zeros(20), classes=[0.0, 1.0])
    model.partial_fit(b[:30], np.ones(30))
    assert_array_equal(model.predict(X), np.ones(300))
    model.partial_fit(a[:15], np.zeros(15))
    both = np.vstack([b[15:30], a[:15]])
    assert_same_model(model, TruncatedIPCAC().fit(both, np.repeat([1.0, 0.0], 15)))


@pytest.mark.parametrize("make", [FisherDiscriminant, OnlineIPCAC])
def test_a_constant_column_weighs_nothing_whatever_the_weights(make):
    """Averages of one number with weights must not differ in their last digits."""
    X, y = labelled(60, 20, 2)
    X[:, 7] = 0.3
    model = make(decay=0.97)
    for i in range(0, 60, 7):
        model.partial_fit(X[i : i + 7], y[i : i + 7], classes=[0, 1])
    assert model.moments_.Sw[7, 7] == 0
    largest = np.abs(model.coef_).max()
    assert largest < 1e3
    assert_allclose(model.coef_[0, 7], 0, atol=1e-12 * largest)


def test_a_class_that_has_faded_counts_as_never_seen():
    X, y = labelled(100, 4, 2)
    model = FisherDiscriminant(decay=0.01)
    model.partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    model.partial_fit(X[y == 1], y[y == 1])
    for _ in range(5):
        model.partial_fit(X[y == 1], y[y == 1])
    assert model.moments_.counts[0] == 0
    assert_array_equal(model.predict(X), np.ones(100))


def test_the_window_keeps_few_sums_and_summarises_each_row_a_few_times():
    """The cost that its docstring states."""
    X, y = labelled(6000, 3, 2)
    summarised, most = [], 0

    def summarise(rows):
        summarised.append(len(rows.codes))
        return ClassMoments.from_rows(rows)

    window = SlidingWindow(2048)
    for i in range(6000):
        window.push(LabelledRows(X[[i]], y[[i]], np.arange(2)), summarise, lambda moments: moments)
        most = max(most, len(window._front) + len(window._back))
    assert most <= 2 * N_PARTS
    # once to be checked, once in a stretch, less than once when its stretch is cut
    assert sum(summarised) / 6000 < 3
    assert window._stop - window._summed < MAX_UNSUMMED_ROWS
    covered = window._front[-1][0] if window._front else window._turn
    assert covered - window.start <= MAX_UNSUMMED_ROWS
    assert sum(len(held.rows.codes) for held in window._rows) == 2048


def test_the_rows_of_a_window_are_not_those_of_the_caller():
    X, y = labelled(60, 4, 2)
    model = FisherDiscriminant(window=40)
    for i in range(0, 60, 10):
        batch, weights = X[i : i + 10].copy(), np.ones(10)
        model.partial_fit(batch, y[i : i + 10], classes=[0, 1], sample_weight=weights)
        batch[:], weights[:] = np.nan, 9
    assert_same_model(model, FisherDiscriminant().fit(X[20:], y[20:]))


# Faults -----------------------------------------------------------------------------------------


def state(model):
    """Everything there is in a model, as bytes."""
    return pickle.dumps(vars(model))


def wrong_batches(X):
    with_nan = X[:4].copy()
    with_nan[3, 1] = np.nan
    zeros = np.zeros(4)
    return {
        "contains NaN in column 1": (with_nan, zeros, {}),
        "features": (X[:4, :3], zeros, {}),
        "not among classes": (X[:4], zeros + 7, {}),
        "inconsistent numbers": (X[:4], zeros[:3], {}),
        "non-negative": (X[:4], zeros, {"sample_weight": [-1, 1, 1, 1]}),
    }


@pytest.mark.parametrize("options", [{}, {"window": 30}, {"decay": 0.9}], ids=str)
@pytest.mark.parametrize("make", [FisherDiscriminant, OnlineIPCAC])
@pytest.mark.parametrize("message", list(wrong_batches(np.ones((4, 5)))))
def test_a_batch_that_is_refused_leaves_the_model_as_it_was(make, options, message):
    X, y = labelled(60, 5, 2)
    batch, labels, more = wrong_batches(X)[message]
    if message != "features":  # the first batch sets the width
        model = make(**options)
        with pytest.raises(ValueError, match=message):
            model.partial_fit(batch, labels, classes=[0, 1], **more)
        assert vars(model) == vars(make(**options))
    model = streamed(make(**options), X, y, 9)
    before = state(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(batch, labels, **more)
    assert state(model) == before
    assert model.coef_.shape == (1, 5)  # solved: nothing waits any more
    before = state(model)
    with pytest.raises(ValueError, match=message):
        model.partial_fit(batch, labels, **more)
    assert state(model) == before


@pytest.mark.parametrize("options", [{}, {"window": 100}, {"decay": 0.9}], ids=str)
def test_a_fault_in_the_last_block_of_a_batch_undoes_the_others(options):
    """A truncated model takes a batch in several blocks."""
    X, y = labelled(200, 300, 2)
    model = OnlineIPCAC(5, rank=10, **options).partial_fit(X[:80], y[:80], classes=[0, 1])
    model.partial_fit(X[80:90], y[80:90])
    before = state(model)
    wrong = X[100:180].copy()
    wrong[75, 3] = np.nan
    with pytest.raises(ValueError, match="NaN in column 3"):
        model.partial_fit(wrong, y[100:180])
    assert state(model) == before


def test_a_fit_that_is_refused_leaves_the_model_as_it_was():
    X, y = labelled(60, 5, 2)
    wrong = X.copy()
    wrong[3, 3] = np.inf
    model = FisherDiscriminant()
    with pytest.raises(ValueError, match="infinity"):
        model.fit(wrong, y)
    assert_array_equal(
        model.partial_fit(X, y).predict(X), FisherDiscriminant().fit(X, y).predict(X)
    )
    with pytest.raises(ValueError, match="infinity"):
        model.fit(wrong, y + 5)
    assert_array_equal(np.unique(model.predict(X)), [0, 1])


def test_classes_that_the_parameters_do_not_fit_are_refused_at_once():
    X, y = labelled(60, 5, 3)
    model = FisherDiscriminant(priors=[0.5, 0.5]).partial_fit(X[y < 2], y[y < 2])
    before = state(model)
    with pytest.raises(ValueError, match="priors has shape"):
        model.partial_fit(X, y, classes=[2])
    assert state(model) == before


@pytest.mark.parametrize(("old", "new"), [(None, 50), (100, 50), (50, 100), (50, None)])
def test_the_window_of_a_model_does_not_change_under_way(old, new):
    X, y = labelled(200, 5, 2)
    model = FisherDiscriminant(window=old).fit(X, y).set_params(window=new)
    with pytest.raises(ValueError, match=f"window={new}, but this model was fitted with .*{old}:"):
        model.partial_fit(X, y)
    assert model.fit(X, y).moments_.n_samples == (new or 200)


def test_ways_to_forget_exclude_each_other():
    X, y = labelled(60, 5, 2)
    with pytest.raises(ValueError, match="choose one"):
        OnlineIPCAC(window=10, decay=0.5).fit(X, y)
    with pytest.raises(ValueError, match="rank=3 is smaller than n_whitened=4"):
        OnlineIPCAC(4, rank=3).partial_fit(X, y)
    for wrong in ({"window": 1}, {"decay": 0.0}, {"decay": 1.5}, {"rank": "3d"}):
        with pytest.raises(ValueError, match="is not valid"):
            OnlineIPCAC(**wrong).fit(X, y)


# Solved when asked for --------------------------------------------------------------------------


def test_results_wait_until_they_are_asked_for(monkeypatch):
    X, y = labelled(60, 5, 2)
    model = FisherDiscriminant().partial_fit(X[:30], y[:30])
    solved, solve = [], FisherDiscriminant._solve
    monkeypatch.setattr(
        FisherDiscriminant, "_solve", lambda *given: solved.append(1) or solve(*given)
    )
    for i in range(30, 60, 10):
        model.partial_fit(X[i : i + 10], y[i : i + 10])
    assert not solved
    model.predict(X)
    assert len(solved) == 1
    assert_allclose(model.components_, FisherDiscriminant().fit(X, y).components_)


def test_threads_may_ask_at_once():
    X, y = labelled(400, 60, 2)
    for _ in range(5):
        model = FisherDiscriminant().partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _, m=model: m.predict(X), range(4)))
        for answer in answers:
            assert_array_equal(answer, FisherDiscriminant().fit(X, y).predict(X))


def test_unfitted_models_still_say_so():
    with pytest.raises(AttributeError, match="not fitted"):
        _ = OnlineIPCAC().coef_
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = OnlineIPCAC().nothing
    assert not hasattr(OnlineIPCAC(), "components_")


def test_a_clone_of_a_waiting_model_is_unfitted():
    X, y = labelled(60, 5, 2)
    model = streamed(OnlineIPCAC(window=20), X, y, 10)
    assert vars(clone(model)) == vars(OnlineIPCAC(window=20))
