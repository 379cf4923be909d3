"""Rows in blocks: the fit is the one in memory, whatever the chunks, the workers, their order."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier

import separatrix
from separatrix import (
    IPCAC,
    LDG,
    ClassMoments,
    DirectDiscriminant,
    FisherDiscriminant,
    GroupedDiscriminant,
    GSVDDiscriminant,
    KernelFisherDiscriminant,
    KernelIPCAC,
    LocalFisherDiscriminant,
    MaximumMarginCriterion,
    NullSpaceDiscriminant,
    OnlineIPCAC,
    TruncatedIPCAC,
    WithRejection,
    map_blocks,
    score_blocks,
)
from separatrix.moments import class_moments, subsample
from tests.discovery import all_estimators, labelled, name_of
from tests.moments.dask_data import (
    PAIR,
    TALL,
    array,
    counted,
    da,
    dask,
    dd,
    frames,
    on_every_shape,
)

pytestmark = [
    pytest.mark.usefixtures("one_dask_thread"),
    pytest.mark.filterwarnings(
        "ignore:the within-class scatter has no null space", "ignore:FastICA did not converge"
    ),
]

ESTIMATORS = [
    FisherDiscriminant(shrinkage=None),
    FisherDiscriminant(shrinkage="moments"),
    FisherDiscriminant(pca=4, shrinkage="moments", keep_moments=False),
    NullSpaceDiscriminant(),
    DirectDiscriminant(),
    DirectDiscriminant(regularization=0.5),
    GSVDDiscriminant(),
    MaximumMarginCriterion(),
    IPCAC(),
    IPCAC(variance=0.9),
    TruncatedIPCAC(n_whitened=5),
    OnlineIPCAC(),
    GroupedDiscriminant(groups=[[5, 0, 3], [1, 2, 4]]),
]
every = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def assert_same_model(model, whole, X, rtol=1e-9, *, same_rank=True):
    for name in ("components_", "mean_", "means_", "explained_ratio_", "classes_"):
        value = getattr(model, name)
        assert type(value) is np.ndarray
        if name == "classes_":
            assert_array_equal(value, whole.classes_)
            continue
        expected = getattr(whole, name)
        assert_allclose(value, expected, atol=rtol * np.abs(expected).max())
    assert model.n_features_in_ == whole.n_features_in_
    assert model.rank_ == whole.rank_ or not same_rank
    Z = whole.transform(X)
    assert_allclose(model.transform(X), Z, atol=rtol * max(1.0, np.abs(Z).max()))
    if is_classifier(whole):
        assert_array_equal(model.predict(X), whole.predict(X))
        assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=rtol)
        assert_allclose(model.decision_function(X), whole.decision_function(X), rtol, rtol)


# The same answer -----------------------------------------------------------------------------


@every
@on_every_shape
@pytest.mark.parametrize("size", [1, 9, 1000])
def test_the_fit_is_the_one_in_memory_whatever_the_chunks(estimator, X, y, size):
    whole = clone(estimator).fit(X, y)
    model = clone(estimator).fit(array(X, size), da.from_array(y, chunks=size))
    assert_same_model(model, whole, X)


@every
def test_the_order_of_blocks_does_not_matter(estimator):
    X, y = TALL
    parts = np.array_split(np.arange(len(X)), 11)
    order = np.concatenate([parts[i] for i in np.random.default_rng(0).permutation(11)])
    model = clone(estimator).fit(array(X[order], 9), da.from_array(y[order], chunks=9))
    assert_same_model(model, clone(estimator).fit(X, y), X)


@every
def test_an_offset_common_to_all_rows_costs_no_digits(estimator):
    X, y = TALL
    X = X + 1e6  # these rows are rounded to 1e-10, alike for both
    model = clone(estimator).fit(array(X, 9), da.from_array(y, chunks=9))
    assert_same_model(model, clone(estimator).fit(X, y), X, rtol=1e-8)


@every
def test_single_precision_is_as_good_as_in_memory(estimator):
    X, y = TALL[0].astype(np.float32), TALL[1]
    model = clone(estimator).fit(array(X, 50), da.from_array(y, chunks=50))
    # products of float32 are rounded to 1e-7, by each block in its own way
    assert_same_model(model, clone(estimator).fit(X, y), X, rtol=2e-5)
    assert map_blocks(model.transform, array(X, 50)).dtype == np.float32


@pytest.mark.parametrize("d", [6, 70])
@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if e._accepts_sparse], ids=repr)
def test_sparse_blocks_stay_sparse_and_give_the_dense_fit(estimator, d):
    X, y = labelled(60, d, seed=2)
    X[np.abs(X) < 1] = 0
    blocks = array(X, 9).map_blocks(sp.csr_array, meta=sp.csr_array((0, d)))
    model = clone(estimator).fit(blocks, y)
    whole = clone(estimator).fit(X, y)
    # with shrinkage the rank is that of the space where the problem was solved
    assert_same_model(model, whole, X, rtol=1e-8, same_rank=d == 6)
    assert_allclose(map_blocks(model.transform, blocks).compute(), whole.transform(X), atol=1e-8)


def test_sparse_blocks_are_errors_where_sparse_rows_are():
    blocks = array(TALL[0], 9).map_blocks(sp.csr_array, meta=sp.csr_array((0, 6)))
    with pytest.raises(TypeError, match=r"^block \d .*[Ss]parse"):
        GSVDDiscriminant().fit(blocks, TALL[1])


def test_threads_do_not_meet(monkeypatch):
    X, y = labelled(300, 4, n_classes=6, seed=6)
    order = np.argsort(y, kind="stable")  # threads summarize different classes
    summary = FisherDiscriminant._summarize

    def slow(self, *args):
        time.sleep(0.005)  # for another thread to come between
        return summary(self, *args)

    whole = FisherDiscriminant(shrinkage=None).fit(X, y)
    monkeypatch.setattr(FisherDiscriminant, "_summarize", slow)
    with dask.config.set(scheduler="threads", num_workers=8):
        model = FisherDiscriminant(shrinkage=None).fit(array(X[order], 10), y[order])
    assert_same_model(model, whole, X)


def test_weights_come_in_blocks_too():
    X, y = TALL
    w = np.random.default_rng(0).uniform(size=len(X))
    w[:20] = 0  # whole blocks that count for nothing
    model = FisherDiscriminant(shrinkage=None).fit(array(X, 9), y, da.from_array(w, chunks=7))
    assert_same_model(model, FisherDiscriminant(shrinkage=None).fit(X, y, w), X)
    with pytest.raises(ValueError, match="zero for all rows"):
        FisherDiscriminant(shrinkage=None).fit(array(X, 9), y, da.zeros(len(X), chunks=9))


@pytest.mark.parametrize("estimator", [FisherDiscriminant(shrinkage=None), IPCAC()], ids=name_of)
def test_classes_are_found_wherever_they_are(estimator):
    X, y = TALL
    # some blocks have all classes, most of the others one only
    order = np.concatenate([np.arange(20), 20 + np.argsort(y[20:], kind="stable")])
    X, y = X[order], np.array(["rare", "b", "longest name"])[y[order]]
    y[-1] = "once"
    model = clone(estimator).fit(array(X, 9), da.from_array(y, chunks=9))
    assert_same_model(model, clone(estimator).fit(X, y), X)
    assert model.classes_.tolist() == ["b", "longest name", "once", "rare"]


def test_moments_are_those_of_all_rows():
    X, y = TALL
    whole = ClassMoments.from_data(X, y, per_class=True, classes=range(5))
    found = ClassMoments.from_data(array(X, 9), y, per_class=True, classes=range(5))
    assert_array_equal(found.counts, whole.counts)
    assert_allclose(found.class_scatters, whole.class_scatters, atol=1e-10)
    with pytest.raises(ValueError, match=r"^block \d .*not among classes: \[2\]"):
        class_moments(array(X, 9), y, classes=[0, 1])


def test_online_models_are_close_where_they_leave_something_out():
    X, y = labelled(400, 120, seed=3)
    # a few axes of large spread, which the axes that are kept have to find
    X += 5 * np.random.default_rng(0).standard_normal((400, 8)) @ np.eye(8, 120)
    exact = OnlineIPCAC(n_whitened=8, rank=59).fit(array(X, 50), y)
    assert_same_model(exact, OnlineIPCAC(n_whitened=8, rank=60).fit(X, y), X, rtol=0.2)
    model = OnlineIPCAC(n_whitened=8, rank=16).fit(array(X, 50), y)
    assert model.moments_.most_rows() <= 32
    whole = TruncatedIPCAC(n_whitened=8).fit(X, y)
    assert np.mean(model.predict(X) == whole.predict(X)) > 0.95


def test_a_fit_to_blocks_can_be_merged_and_updated():
    X, y = TALL
    first = FisherDiscriminant(shrinkage=None).fit(array(X[:40], 9), y[:40])
    second = FisherDiscriminant(shrinkage=None).fit(X[40:], y[40:])
    whole = FisherDiscriminant(shrinkage=None).fit(X, y)
    assert_same_model(separatrix.merge([first, second]), whole, X)
    assert_same_model(first.partial_fit(X[40:], y[40:]), whole, X)
    with pytest.raises(TypeError, match=r"partial_fit.*merge"):
        first.partial_fit(array(X, 9), y)


@every
def test_data_frames_are_known_by_their_names(estimator):
    frame, names, X, y = frames()
    model = clone(estimator).fit(X, y)
    assert_same_model(model, clone(estimator).fit(frame, names), frame)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert_allclose(map_blocks(model.transform, X).compute(), model.transform(frame), atol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        map_blocks(model.transform, X.rename(columns={"f0": "other"}))


def test_labels_may_be_a_frame_of_one_column_or_an_array():
    frame, names, X, y = frames()
    whole = FisherDiscriminant(shrinkage=None).fit(frame, names)
    lengths = X.map_partitions(len).compute().tolist()
    for labels in (y.to_frame(), da.from_array(names, chunks=(tuple(lengths),))):
        assert_same_model(FisherDiscriminant(shrinkage=None).fit(X, labels), whole, frame)


def test_blocks_of_unknown_sizes_are_enough():
    frame, names, X, y = frames()
    rows, labels = X.to_dask_array(), y.map_partitions(np.asarray, meta=np.empty(0, object))
    assert np.isnan(rows.shape[0])
    model = FisherDiscriminant(shrinkage=None).fit(rows, labels)
    assert_same_model(
        model, FisherDiscriminant(shrinkage=None).fit(frame.to_numpy(), names), TALL[0]
    )
    assert_array_equal(map_blocks(model.predict, rows).compute(), model.predict(TALL[0]))
    with pytest.raises(ValueError, match=r"y is in memory.*compute_chunk_sizes"):
        FisherDiscriminant(shrinkage=None).fit(rows, names)
    with pytest.raises(ValueError, match="y has 2 blocks and X has 4"):
        FisherDiscriminant(shrinkage=None).fit(rows, da.from_array(names, chunks=35))


def test_blocks_may_be_made_by_any_function():
    X, y = TALL

    @dask.delayed(nout=2)
    def block(i):
        return X[i : i + 30], y[i : i + 30]

    starts = range(0, len(X), 30)
    whole = FisherDiscriminant(shrinkage=None).fit(X, y)
    assert_same_model(
        FisherDiscriminant(shrinkage=None).fit([block(i) for i in starts], None), whole, X
    )
    rows, labels = zip(*[block(i) for i in starts], strict=True)
    model = FisherDiscriminant(shrinkage=None).fit(list(rows), list(labels))
    assert_same_model(model, whole, X)
    predicted = dask.compute(map_blocks(model.predict, list(rows)))[0]
    assert_array_equal(np.concatenate(predicted), whole.predict(X))
    with pytest.raises(ValueError, match="y is missing"):
        FisherDiscriminant(shrinkage=None).fit(array(X, 9), None)
    cut = dask.delayed((X[:9, :5], y[:9]))
    with pytest.raises(ValueError, match=r"block 2 has 5 features, block 0 has 6"):
        FisherDiscriminant(shrinkage=None).fit([block(0), block(30), cut], None)


def test_delayed_frames_are_known_by_their_names():
    X, y = TALL
    frame = pd.DataFrame(X, columns=list("abcdef"))
    swapped = frame[40:][list("bacdef")]
    pairs = [dask.delayed((frame[:40], y[:40])), dask.delayed((frame[40:], y[40:]))]
    model = FisherDiscriminant(shrinkage=None).fit(pairs, None)
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert score_blocks(model, pairs, None) == model.score(frame, y)
    assert list(subsample(pairs, None, 30)[0].columns) == list("abcdef")
    wrong = [pairs[0], dask.delayed((swapped, y[40:]))]
    with pytest.raises(ValueError, match=r"block 1 has 'b' as name of column 0, block 0 has 'a'"):
        FisherDiscriminant(shrinkage=None).fit(wrong, None)
    with pytest.raises(ValueError, match=r"block 1: X has 'b' as name of column 0, expected 'a'"):
        score_blocks(model, wrong, None)
    bare = [pairs[0], dask.delayed((X[40:], y[40:]))]
    with pytest.raises(ValueError, match="block 1 has no names of columns, block 0 has"):
        FisherDiscriminant(shrinkage=None).fit(bare, None)


def test_a_frame_whose_parts_are_not_what_it_says_is_an_error():
    X, y = TALL
    frame = pd.DataFrame(X, columns=list("abcdef"))

    def part(i):
        return frame[35 * i :][:35][list("abcdef" if i == 0 else "bacdef")]

    rows = dd.from_map(part, [0, 1], meta=part(0).iloc[:0])
    labels = dd.from_pandas(pd.Series(y), npartitions=2)
    with pytest.raises(ValueError, match=r"^block 1: X has 'b' as name of column 0, expected 'a'"):
        FisherDiscriminant(shrinkage=None).fit(rows, labels)
    with pytest.raises(ValueError, match="expected 'a'"):
        score_blocks(FisherDiscriminant(shrinkage=None).fit(frame, y), rows, labels)


def test_labels_in_other_chunks_are_aligned():
    X, y = TALL
    model = FisherDiscriminant(shrinkage=None).fit(array(X, 50), da.from_array(y, chunks=33))
    assert_same_model(model, FisherDiscriminant(shrinkage=None).fit(X, y), X)
    with pytest.raises(ValueError, match="y has 69 entries, but X has 70 rows"):
        FisherDiscriminant(shrinkage=None).fit(array(X, 50), y[1:])


def test_blocks_of_features_are_joined_with_a_warning():
    X, y = TALL
    split = da.from_array(X, chunks=(50, 4))
    with pytest.warns(UserWarning, match="split into 2 blocks of features") as caught:
        model = FisherDiscriminant(shrinkage=None).fit(split, y)
    assert caught[0].filename == __file__
    assert_same_model(model, FisherDiscriminant(shrinkage=None).fit(X, y), X)
    with pytest.warns(UserWarning, match="2 blocks of features") as caught:
        Z = map_blocks(model.transform, split)
    assert caught[0].filename == __file__
    assert_allclose(Z.compute(), model.transform(X))


def test_collections_that_are_no_rows_are_errors():
    X, y = TALL
    bag = pytest.importorskip("dask.bag").from_sequence([1, 2])
    with pytest.raises(TypeError, match="X is a Bag: give a Dask array"):
        FisherDiscriminant(shrinkage=None).fit(bag, y)
    with pytest.raises(ValueError, match=r"X has shape \(70,\)"):
        FisherDiscriminant(shrinkage=None).fit(da.from_array(X[:, 0], chunks=50), y)


def test_pairs_may_be_delayed_each():
    X, y = TALL
    pairs = [(dask.delayed(X[i::2]), dask.delayed(y[i::2])) for i in range(2)]
    model = FisherDiscriminant(shrinkage=None).fit(pairs, None)
    assert_same_model(model, FisherDiscriminant(shrinkage=None).fit(X, y), X)
    assert score_blocks(model, pairs, None) == model.score(X, y)
    with pytest.raises(TypeError, match="list of pairs: give a list of delayed blocks of rows"):
        map_blocks(model.transform, pairs)


def test_remedies_are_those_of_the_collection():
    frame, names, X, _ = frames()
    with pytest.raises(ValueError, match=r"y is in memory.*give y as a column of the same frame"):
        FisherDiscriminant(shrinkage=None).fit(X, names)
    with pytest.raises(ValueError, match=r"y is in memory.*as a list of 1 delayed blocks"):
        FisherDiscriminant(shrinkage=None).fit([dask.delayed(frame)], names)
    with pytest.raises(ValueError, match="y has 2 columns: give one value for each row"):
        FisherDiscriminant(shrinkage=None).fit(array(TALL[0], 9), da.ones((70, 2), chunks=(9, 1)))
    with pytest.raises(ValueError, match="y has 2 columns"):
        FisherDiscriminant(shrinkage=None).fit(X, X[["f0", "f1"]])


def test_domains_of_lazy_rows_are_one():
    X, y = TALL
    scaler = separatrix.DomainScaler().fit(X, sample_domain=np.where(y, 1, -1))
    assert_allclose(map_blocks(scaler.transform, array(X, 9)).compute(), scaler.transform(X))
    with pytest.raises(TypeError, match=r"map_blocks\(model\.predict, X\)"):
        scaler.transform(array(X, 9))


@every
def test_one_pass_over_the_blocks_unless_the_docstring_says_two(estimator):
    X, y, calls = counted(*TALL)
    model = clone(estimator).fit(X, y)
    passes = 2 if "groups" in estimator.get_params() else 1
    assert len(calls) == 4
    assert set(calls.values()) == {passes}
    if passes == 2:
        assert "second pass" in type(model).__doc__


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_one_pass_over_a_data_frame():
    calls = Counter()

    def part(i):
        calls[i] += 1
        X, y = TALL
        frame = pd.DataFrame(X[i : i + 20], columns=list("abcdef"))
        return frame.assign(kind=y[i : i + 20])

    lazy = dd.from_map(part, range(0, 70, 20), meta=part(0).iloc[:0])
    calls.clear()
    X, y = lazy.drop(columns="kind"), lazy["kind"]
    whole = FisherDiscriminant(shrinkage=None).fit(*TALL, np.ones(70))
    ones = da.ones(70, chunks=20)
    # labels or weights that are arrays have blocks beside those of the frame
    for given in [(y,), (y, ones), (da.from_array(TALL[1], chunks=20), lazy["kind"] * 0 + 1)]:
        calls.clear()
        model = FisherDiscriminant(shrinkage=None).fit(X, *given)
        assert len(calls) == 4
        assert set(calls.values()) == {1}
        assert_same_model(model, whole, TALL[0])


# Errors name the block and the value ----------------------------------------------------------


def test_a_block_with_nan_is_named():
    X, y = TALL[0].copy(), TALL[1]
    X[40, 4] = np.nan
    with pytest.raises(ValueError, match=r"^block 1 \(rows 25 to 49\): .*NaN in column 4"):
        FisherDiscriminant(shrinkage=None).fit(array(X, 25), y)
    model = FisherDiscriminant(shrinkage=None).fit(*TALL)
    with pytest.raises(ValueError, match=r"^block 1: .*NaN in column 4"):
        map_blocks(model.predict, array(X, 25)).compute()


def test_a_block_with_nan_is_named_in_a_frame():
    _, _, X, y = frames()
    holed = X.map_partitions(
        lambda part: part.assign(f0=part["f0"].where(part.index != 40)), meta=X._meta
    )
    with pytest.raises(ValueError, match=r"^block 2: .*NaN in column 'f0'"):
        FisherDiscriminant(shrinkage=None).fit(holed, y)
    with pytest.raises(ValueError, match=r"^block 2: .*NaN in column 'f0'"):
        map_blocks(FisherDiscriminant(shrinkage=None).fit(X, y).transform, holed).compute()


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda X: X.astype(str).astype(object) + "?", r"^block 1 \(rows 20 to 39\): could not"),
        (lambda X: X.astype(complex), r"^block 1 \(rows 20 to 39\): Complex data"),
        (lambda X: X[:, :5], r"^block 1 \(rows 20 to 39\): X has 5 features, expected 6"),
        (lambda X: X[:-1], r"^block 1 \(rows 20 to 39\): y has shape \(20,\), expected \(19,\)"),
    ],
    ids=["text", "complex", "columns", "rows"],
)
def test_a_block_of_another_kind_is_named(spoil, message):
    X, y = TALL

    def block(part, block_id=None):
        return spoil(part) if block_id[0] == 1 else part

    bad = array(X, 20).map_blocks(block, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match=message):
        FisherDiscriminant(shrinkage=None).fit(bad, y)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0.5, 1.5], r"^block 1: .*continuous"),
        (["a", "b"], r"block 1 has labels \['a', 'b'\], block 0 has .*differ in type"),
        ([np.nan, 1.0], r"^block 1: .*NaN"),
        ([None, "a"], r"^block 1: y has labels that are None"),
    ],
)
def test_labels_of_another_kind_are_named_by_their_block(labels, message):
    X = np.random.default_rng(0).normal(size=(8, 2))
    blocks = [(X[:4], np.array([0, 1, 0, 1])), (X[4:], np.array(2 * labels))]
    with pytest.raises((TypeError, ValueError), match=message):
        FisherDiscriminant(shrinkage=None).fit([dask.delayed(b) for b in blocks], None)


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = TALL
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="only one class: 1"):
        model.fit(array(X[:, :4], 9), np.ones(len(X), int))
    assert vars(model) == before


def test_empty_blocks_are_passed_over():
    X, y = TALL
    rows, labels = array(X, 20), da.from_array(y, chunks=20)
    none = rows[rows[:, 0] > 1e9], labels[rows[:, 0] > 1e9]
    some = rows[rows[:, 0] < 1e9], labels[rows[:, 0] < 1e9]
    both = [da.concatenate(pair) for pair in zip(none, some, strict=True)]
    model = FisherDiscriminant(shrinkage=None).fit(*both)
    assert_same_model(model, FisherDiscriminant(shrinkage=None).fit(X, y), X)
    assert map_blocks(model.predict, both[0]).compute().shape == (70,)
    with pytest.raises(ValueError, match="every block is empty"):
        FisherDiscriminant(shrinkage=None).fit(*none)


@pytest.mark.parametrize(
    "estimator",
    [
        e
        for e in all_estimators()
        if not getattr(e, "_accepts_blocks", False)
        and not isinstance(e, WithRejection)  # it takes what its estimator takes
    ],
    ids=name_of,
)
def test_methods_that_need_rows_together_say_so(estimator):
    X, y = TALL
    with pytest.raises(TypeError, match=rf"{name_of(estimator)} .*moments\.subsample\(X, y"):
        estimator.fit(array(X, 9), y)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (FisherDiscriminant(n_components="auto"), r'n_components="auto".*subsample'),
        (MaximumMarginCriterion(n_components="auto"), r'n_components="auto".*subsample'),
        (FisherDiscriminant(window=9), "window=9 .*partial_fit"),
        (FisherDiscriminant(decay=0.9), r"decay=0\.9 .*partial_fit"),
        (IPCAC(threshold="accuracy"), 'threshold="accuracy" .*mahalanobis'),
        (TruncatedIPCAC(threshold="balanced"), 'threshold="balanced" .*mahalanobis'),
        (OnlineIPCAC(rank=3, n_whitened=4), "rank=3 is smaller"),
        (FisherDiscriminant(shrinkage=2.0), r"shrinkage=2\.0 is not valid"),
    ],
    ids=repr,
)
def test_what_cannot_be_learned_from_blocks_is_an_error_before_any_is_loaded(estimator, message):
    X, y, calls = counted(*TALL)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, y)
    assert not calls


KERNELS = [
    KernelFisherDiscriminant(n_landmarks=20, ridge=0.1, random_state=0),
    KernelFisherDiscriminant(
        n_landmarks=20, kernel="poly", n_components=1, ridge=0.1, random_state=0
    ),
    KernelIPCAC(n_landmarks=20, ridge=0.1, random_state=0),
    KernelIPCAC(n_landmarks=20, truncate=5, random_state=0),
    KernelIPCAC(n_landmarks=20, variance=0.9, random_state=0),
]


@pytest.mark.parametrize("estimator", KERNELS, ids=repr)
@pytest.mark.parametrize(("X", "y"), [TALL, PAIR], ids=["three", "two"])
def test_kernels_with_landmarks_learn_from_all_rows(estimator, X, y):
    # with so few rows all of them are in the sample, and the landmarks are those in memory
    model = clone(estimator).fit(array(X, 9), y)
    assert_same_kernel_model(model, clone(estimator).fit(X, y), X)
    # rows given 20 times are sampled, but their moments are those of all
    many, labels = np.tile(X, (20, 1)), np.tile(y, 20)
    rows, kinds, calls = counted(many, labels, 100)
    model = clone(estimator).fit(rows, kinds)
    assert set(calls.values()) == {2}
    assert model.ridge_ > 0 or model.ridge == 0 or not model._ridge_share
    Z = model.transform(many)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-9 * np.abs(Z).max())
    assert model.score(X, y) > 0.9


def assert_same_kernel_model(model, whole, X):
    assert_allclose(model.kernel_.gamma, whole.kernel_.gamma)
    assert_allclose(model.ridge_, whole.ridge_)
    assert_allclose(model.transform(X), whole.transform(X), atol=1e-8)
    assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize(
    "estimator",
    [KernelFisherDiscriminant(), KernelIPCAC(kernel="precomputed", n_landmarks=9)],
    ids=repr,
)
def test_kernels_without_landmarks_say_what_they_need(estimator):
    X, y, calls = counted(*TALL)
    with pytest.raises(ValueError, match=rf"^{name_of(estimator)} .*set n_landmarks.*subsample"):
        estimator.fit(X, y)
    assert not calls
    with pytest.raises(ValueError, match=r"n_landmarks=70 is not less .*compute"):
        KernelFisherDiscriminant(n_landmarks=70).fit(X, y)


# Real processes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator", [FisherDiscriminant(shrinkage=None), OnlineIPCAC()], ids=name_of
)
def test_processes_give_the_same_as_one_thread(client, estimator):
    X, y = TALL
    rows, labels = array(X, 9), da.from_array(y, chunks=9)
    with client.as_current():
        model = clone(estimator).fit(rows, labels)
        lazy = map_blocks(model.predict, rows)
        found = lazy.compute()
    assert_array_equal(found, model.predict(X))
    assert_same_model(model, clone(estimator).fit(X, y), X)


@pytest.mark.parametrize(
    "estimator", [LDG(2, gamma=0.5, n_neighbors=2), LocalFisherDiscriminant(2)], ids=name_of
)
def test_drawn_rows_meet_blocks_in_other_processes(client, estimator):
    X, y = TALL
    rows, labels = array(X, 9), da.from_array(y, chunks=9)
    here = clone(estimator).set_params(n_queries=40).fit(rows, labels)
    with client.as_current():
        there = clone(estimator).set_params(n_queries=40).fit(rows, labels)
    assert_array_equal(there.components_, here.components_)


def test_errors_in_processes_name_the_block(client):
    X, y = TALL[0].copy(), TALL[1]
    X[-1] = np.inf
    with client.as_current(), pytest.raises(ValueError, match=r"^block 2 .*infinity in column 0"):
        FisherDiscriminant(shrinkage=None).fit(array(X, 25), y)


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(client, tmp_path):
    X, y = labelled(160, 6, seed=5)
    killed = []

    def slow(part, block_id=None):
        (tmp_path / f"{os.getpid()}-{block_id[0]}").touch()
        time.sleep(0.05)
        return part

    def kill():
        while len(begun := list(tmp_path.iterdir())) < 8:
            time.sleep(0.01)
        killed.append(int(begun[0].name.partition("-")[0]))
        os.kill(killed[0], signal.SIGKILL)

    rows = array(X, 5).map_blocks(slow, dtype=float, meta=np.empty((0, 0)))
    killer = threading.Thread(target=kill)
    killer.start()
    with client.as_current():
        model = FisherDiscriminant(shrinkage=None).fit(rows, da.from_array(y, chunks=5))
    killer.join()
    begun = Counter(int(path.name.partition("-")[2]) for path in tmp_path.iterdir())
    assert len(begun) == 32
    assert max(begun.values()) > 1, "what the worker had is made again by another"
    calm = FisherDiscriminant(shrinkage=None).fit(array(X, 5), da.from_array(y, chunks=5))
    assert_array_equal(model.components_, calm.components_)
    assert_array_equal(model.moments_.Sw, calm.moments_.Sw)


# Without Dask --------------------------------------------------------------------------------


def test_nothing_imports_dask_before_it_is_needed():
    code = (
        "import sys, numpy as np, separatrix;"
        "X = np.random.default_rng(0).normal(size=(20, 3));"
        "separatrix.FisherDiscriminant().fit(X, np.arange(20) % 2).predict(X);"
        "import separatrix.moments, separatrix.files.dask_tables;"
        "assert not any(name.partition('.')[0] in ('dask', 'distributed') for name in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
