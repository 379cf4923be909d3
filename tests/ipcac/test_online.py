"""Streams: the online model, windows, forgetting."""

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
from separatrix.linalg import principal_angles
from tests.base.living import assert_same_model
from tests.discovery import labelled

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
    return TruncatedIPCAC(options.get("n_whitened", "auto"))


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
    assert OnlineIPCAC("log2", rank=30).fit(X, y).n_whitened_ == 15
    assert OnlineIPCAC(20, rank=30).fit(X, y).n_whitened_ == 20
    few = slice(0, 40)  # nothing left out yet: the rule as it is
    assert OnlineIPCAC("log2", rank=30).fit(X[few], y[few]).n_whitened_ == 28


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
    lambda **how: FisherDiscriminant(shrinkage=None, **how),
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
    model = FisherDiscriminant(shrinkage=None, decay=0.97)
    for i in range(0, 120, 25):
        part = slice(i, i + 25)
        model.partial_fit(X[part], y[part], classes=[0, 1], sample_weight=w[part])
    expected = FisherDiscriminant(shrinkage=None).fit(
        X, y, sample_weight=w * 0.97 ** np.arange(120)[::-1]
    )
    assert_same_model(model, expected)


def test_a_batch_so_long_that_nothing_is_left_of_the_past():
    X, y = labelled(400, 6, 2)
    model = (
        FisherDiscriminant(shrinkage=None, decay=0.01)
        .fit(X[:100], y[:100])
        .partial_fit(X[100:], y[100:])
    )
    assert_same_model(model, FisherDiscriminant(shrinkage=None, decay=0.01).fit(X[100:], y[100:]))


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
    model = FisherDiscriminant(shrinkage=None, window=60)
    for i in range(0, 120, 20):  # with and without weights by turns
        part = slice(i, i + 20)
        if i // 20 % 2:
            model.partial_fit(X[part], y[part], sample_weight=w[part])
        else:
            w[part] = 1
            model.partial_fit(X[part], y[part], classes=[0, 1])
    assert_same_model(
        model, FisherDiscriminant(shrinkage=None).fit(X[60:], y[60:], sample_weight=w[60:])
    )


def test_a_window_takes_sparse_and_dense_batches():
    X, y = labelled(90, 40, 2)
    X = np.where(np.abs(X) > 1, X, 0)
    model = FisherDiscriminant(shrinkage=None, window=50)
    for i, make in enumerate([np.asarray, sp.csr_array] * 3):
        part = slice(15 * i, 15 * i + 15)
        model.partial_fit(make(X[part]), y[part], classes=[0, 1])
    assert_same_model(model, FisherDiscriminant(shrinkage=None).fit(X[40:], y[40:]), atol=1e-6)


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
    model = FisherDiscriminant(shrinkage=None, decay=0.01)
    model.partial_fit(X[y == 0], y[y == 0], classes=[0, 1])
    model.partial_fit(X[y == 1], y[y == 1])
    for _ in range(5):
        model.partial_fit(X[y == 1], y[y == 1])
    assert model.moments_.counts[0] == 0
    assert_array_equal(model.predict(X), np.ones(100))


def test_the_rows_of_a_window_are_not_those_of_the_caller():
    X, y = labelled(60, 4, 2)
    model = FisherDiscriminant(shrinkage=None, window=40)
    for i in range(0, 60, 10):
        batch, weights = X[i : i + 10].copy(), np.ones(10)
        model.partial_fit(batch, y[i : i + 10], classes=[0, 1], sample_weight=weights)
        batch[:], weights[:] = np.nan, 9
    assert_same_model(model, FisherDiscriminant(shrinkage=None).fit(X[20:], y[20:]))


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
    model = FisherDiscriminant(shrinkage=None)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(wrong, y)
    assert_array_equal(
        model.partial_fit(X, y).predict(X), FisherDiscriminant(shrinkage=None).fit(X, y).predict(X)
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
    model = FisherDiscriminant(shrinkage=None, window=old).fit(X, y).set_params(window=new)
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
    model = FisherDiscriminant(shrinkage=None).partial_fit(X[:30], y[:30])
    solved, solve = [], FisherDiscriminant._solve
    monkeypatch.setattr(
        FisherDiscriminant, "_solve", lambda *given: solved.append(1) or solve(*given)
    )
    for i in range(30, 60, 10):
        model.partial_fit(X[i : i + 10], y[i : i + 10])
    assert not solved
    model.predict(X)
    assert len(solved) == 1
    assert_allclose(model.components_, FisherDiscriminant(shrinkage=None).fit(X, y).components_)


def test_threads_may_ask_at_once():
    X, y = labelled(400, 60, 2)
    for _ in range(5):
        model = (
            FisherDiscriminant(shrinkage=None)
            .partial_fit(X[:200], y[:200])
            .partial_fit(X[200:], y[200:])
        )
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _, m=model: m.predict(X), range(4)))
        for answer in answers:
            assert_array_equal(answer, FisherDiscriminant(shrinkage=None).fit(X, y).predict(X))


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


def test_a_stream_of_features_in_any_units_learns_what_is_told_in_small_ones(rng):
    """A ridge in the units of the noise would hide the other features."""
    y = np.arange(600) % 3
    X = rng.standard_normal((600, 4)) + 2.0 * rng.standard_normal((3, 4))[y]
    X[:, 3] = rng.standard_normal(600)
    expected = OnlineIPCAC().fit(X, y).score(X, y)
    X *= [1e-4, 1e-3, 1e-2, 1e5]
    model = OnlineIPCAC()
    for batch in (slice(0, 300), slice(300, 600)):
        model.partial_fit(X[batch], y[batch], classes=range(3))
    assert expected > 0.8
    assert abs(model.score(X, y) - expected) < 0.02


def test_a_stream_of_truncated_scatter_has_a_decision(rng):
    """Its directions that are known by their average keep the units of their features."""
    y = np.arange(600) % 2
    X = rng.standard_normal((600, 80)) + 0.4 * y[:, None]
    model = OnlineIPCAC(rank=10)
    for i in range(0, 600, 100):
        model.partial_fit(X[i : i + 100], y[i : i + 100], classes=range(2))
    assert model.score(X, y) > 0.9
