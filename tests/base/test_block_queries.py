"""Local methods of Dask collections: drawn rows meet all blocks as they meet rows in memory."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import LDG, LocalFisherDiscriminant
from separatrix.base.block_queries import BlockQueries, gather_rows
from separatrix.base.queries import order_by_content
from separatrix.ldg.scatters import block_scatters, global_scatters, local_scatters
from separatrix.linalg import principal_angles
from separatrix.moments.class_moments import ClassMoments
from separatrix.moments.dask import labelled_blocks
from separatrix.moments.labelled import LabelledRows
from separatrix.moments.neighbours import averaging_matrix, class_neighbours
from separatrix.moments.sampling import MAX_ROWS_PER_BLOCK
from tests.moments.dask_data import TALL, WIDE, array, counted, da, dask, frames

pytestmark = pytest.mark.usefixtures("one_dask_thread")

LOCAL = [
    LDG(3, gamma=0.5, n_neighbors=4),
    LDG(gamma=0.8, n_neighbors=1, priors=[0.2, 0.3, 0.5]),
    LDG(2, gamma=0.5, local=False),
    LocalFisherDiscriminant(3, shrinkage=None),
    LocalFisherDiscriminant(2, n_neighbors=2, shrinkage=0.1),
]
every = pytest.mark.parametrize("estimator", LOCAL, ids=repr)
SIZES = {"one block": 70, "tiny": 3, "single rows": 1}


def clusters(n=400, d=6, seed=0):
    """Three classes of two clusters each."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    centres = 3 * rng.standard_normal((3, 2, d))
    return rng.standard_normal((n, d)) + centres[y, rng.integers(2, size=n)], y


def assert_same_subspace(model, whole):
    assert_allclose(model.components_, whole.components_, atol=1e-9)
    assert_allclose(model.explained_ratio_, whole.explained_ratio_, atol=1e-9)
    assert_allclose(model.means_, whole.means_, atol=1e-12)
    assert_array_equal(model.classes_, whole.classes_)
    assert model.rank_ == whole.rank_


# All rows ------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_a_fit_that_takes_all_rows_is_the_one_in_memory(estimator, size):
    X, y = TALL
    model = estimator.fit(array(X, size), da.from_array(y, chunks=size))
    assert_same_subspace(model, estimator.__class__(**estimator.get_params()).fit(X, y))
    assert model.angle_error_ == 0


@pytest.mark.parametrize("order", ["sorted", "shuffled"])
@every
def test_blocks_may_lack_classes_and_labels_may_be_text(estimator, order):
    X, y = TALL
    names = np.array(["a", "long name", "b"], dtype=object)[y]
    rows = np.argsort(y, kind="stable") if order == "sorted" else np.arange(len(y))
    frame_of = [dask.delayed((X[part], names[part])) for part in np.array_split(rows, 9)]
    model = type(estimator)(**estimator.get_params()).fit(frame_of, None)
    whole = type(estimator)(**estimator.get_params()).fit(X[rows], names[rows])
    assert_same_subspace(model, whole)


def test_features_may_be_more_than_rows():
    X, y = WIDE
    for model in (LDG(4, gamma=0.5, n_neighbors=2, n_queries=32), LocalFisherDiscriminant(4)):
        whole = type(model)(**model.get_params())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(array(X, 7), y)
            whole.fit(X, y)
        assert_same_subspace(model, whole)


def test_data_frames_and_sparse_blocks():
    frame, names, X, y = frames()
    model = LDG(3, gamma=0.5, n_neighbors=4).fit(X, y)
    assert_same_subspace(model, LDG(3, gamma=0.5, n_neighbors=4).fit(frame, names))
    assert model.feature_names_in_.tolist() == list(frame.columns)
    rows, y = clusters()
    rows = rows * (np.abs(rows) > 1)
    sparse = array(rows, 50).map_blocks(sp.csr_array, meta=sp.csr_array((0, 6)))
    for n_queries in (None, 150):
        settings = {"gamma": 0.5, "n_neighbors": 4, "n_queries": n_queries}
        dense = LDG(3, **settings).fit(array(rows, 50), y)
        model = LDG(3, **settings).fit(sparse, y)
        assert_allclose(model.components_, dense.components_, atol=1e-9)
    with pytest.raises(TypeError, match=r"^block \d.*dense data is required"):
        LocalFisherDiscriminant().fit(sparse, y)


# Rows that stand for all ---------------------------------------------------------------------


@pytest.mark.parametrize("size", [400, 60, 7])
def test_neighbours_in_blocks_are_those_in_memory(size):
    X, y = clusters()
    X[200:203] = X[5]  # rows that coincide are neighbours, a row itself is not
    y[200:203] = y[5]
    y[-1] = 3  # alone in its class
    blocks = labelled_blocks(array(X, size), y)
    drawn = BlockQueries.draw(blocks, ClassMoments.from_data(X, y), 120, 0)
    numbers = drawn.queries.numbers
    own = numbers // MAX_ROWS_PER_BLOCK * size + numbers % MAX_ROWS_PER_BLOCK
    assert_array_equal(np.diff(own) > 0, True)
    assert_allclose(drawn.rows.X, X[own] - X.mean(axis=0), atol=1e-12)
    assert_array_equal(drawn.rows.labels, y[own])
    assert drawn.queries.n_samples == 400
    Z = X - X.mean(axis=0)
    expected = class_neighbours(Z[own], y, 4, among=Z, own=own)
    found = drawn.nearest(4)
    means = drawn.means(found)
    for j, (near, known) in enumerate(zip(found, expected, strict=True)):
        exact = np.linalg.norm(Z[own][:, None] - Z[known], axis=2) ** 2
        exact[known == own[:, None]] = np.inf
        assert_allclose(near.distances, exact, atol=1e-9)
        average = averaging_matrix(known, own, len(Z)) @ Z
        assert_allclose(means[j], average, atol=1e-9)
    for c, near in enumerate(drawn.nearest(4, own_class=True)):
        assert_allclose(near.distances, found[c].distances[drawn.rows.codes == c])


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_scatters_of_all_rows_drawn_are_those_in_memory(kind):
    X, y = clusters(60)
    priors = np.array([0.2, 0.3, 0.5])
    moments = ClassMoments.from_data(X, y)
    blocks = labelled_blocks(array(X, 9).map_blocks(kind), y)
    drawn = BlockQueries.draw(blocks, moments, 60, 0)
    assert sp.issparse(drawn.rows.X) == (kind is sp.csr_array)
    found = block_scatters(drawn, 4, moments, global_scatters(moments, priors), priors)
    exact = local_scatters(X, y, class_neighbours(X, y, 4), priors, 4)
    assert_allclose(found.V, exact.V, atol=1e-9 * np.abs(exact.V).max())
    assert_allclose(found.A, exact.A, atol=1e-9 * np.abs(exact.A).max())


@pytest.mark.parametrize("estimator", [LOCAL[0], LOCAL[3]], ids=repr)
def test_drawn_rows_give_the_model_that_the_same_rows_give_in_memory(estimator, monkeypatch):
    X, y = clusters()
    order = order_by_content(LabelledRows(X, y, np.unique(y)))  # that of LDG in memory
    X, y = X[order], y[order]
    size = 30
    model = type(estimator)(**estimator.get_params()).set_params(n_queries=150)
    model.fit(array(X, size), da.from_array(y, chunks=size))
    drawn = BlockQueries.draw(
        labelled_blocks(array(X, size), y), ClassMoments.from_data(X, y), 150, 0
    )
    numbers = drawn.queries.numbers
    own = numbers // MAX_ROWS_PER_BLOCK * size + numbers % MAX_ROWS_PER_BLOCK
    same = drawn.queries._replace(numbers=own)
    for home in ("separatrix.ldg.ldg", "separatrix.fisher.local"):
        monkeypatch.setattr(f"{home}.draw_queries", lambda *_: same)
    whole = type(estimator)(**model.get_params()).fit(X, y)
    assert_same_subspace(model, whole)
    assert model.angle_error_ == pytest.approx(whole.angle_error_, rel=1e-6)
    assert 0 < model.angle_error_ < 90


@pytest.mark.parametrize("estimator", [LOCAL[0], LOCAL[3]], ids=repr)
def test_the_stated_error_is_that_of_the_directions(estimator):
    X, y = clusters(3000)
    exact = type(estimator)(**estimator.get_params()).fit(X, y).components_
    true, stated = [], []
    for seed in range(8):
        model = type(estimator)(**estimator.get_params())
        model.set_params(n_queries=400, random_state=seed).fit(array(X, 700), y)
        true.append(np.degrees(principal_angles(model.components_, exact)[0]))
        stated.append(model.angle_error_)
    ratio = np.sqrt(np.mean(np.square(stated)) / np.mean(np.square(true)))
    assert 0.4 < ratio < 2.5  # as in memory, with fewer samples


def test_passes_are_those_of_the_manual():
    X, y = TALL
    for settings, passes in [({"local": False}, 1), ({"n_neighbors": 4}, 2)]:
        rows, labels, calls = counted(X, y)
        LDG(2, gamma=0.5, **settings).fit(rows, labels)
        assert set(calls.values()) == {passes}
    for model, passes in [
        (LDG(2, gamma=0.5, n_neighbors=2, n_queries=40), 4),
        (LocalFisherDiscriminant(2, n_queries=40), 3),
    ]:
        rows, labels, calls = counted(X, y)
        model.fit(rows, labels)
        assert set(calls.values()) == {passes}


# Errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, r'gamma="auto" is chosen by fits to some of the rows.*subsample'),
        ({"gamma": 0.5}, r'n_neighbors="auto" is chosen'),
        ({"gamma": 0.5, "n_neighbors": 1, "solver": "gradient"}, r'solver="gradient" goes over'),
        ({"n_components": "auto", "gamma": 0.5, "n_neighbors": 1}, 'n_components="auto"'),
    ],
)
def test_choices_need_rows_in_memory_and_say_so_before_any_is_loaded(settings, message):
    X, y, calls = counted(*TALL)
    with pytest.raises(ValueError, match=message):
        LDG(**settings).fit(X, y)
    assert not calls


def test_weights_are_errors_that_name_the_block():
    X, y = TALL
    with pytest.raises(ValueError, match=r"^block \d.*LDG takes sample_weight for rows in memory"):
        LDG(2, gamma=0.5, n_neighbors=4).fit(array(X, 20), y, np.ones(70))
    triples = [dask.delayed((X, y, np.ones(70)))]
    with pytest.raises(ValueError, match="LocalFisherDiscriminant takes sample_weight"):
        LocalFisherDiscriminant().fit(triples, None)


def test_gathered_rows_are_in_the_order_of_the_blocks():
    X, y = TALL
    rows = gather_rows(labelled_blocks(array(X, 9), y), np.arange(4))
    assert_array_equal(rows.X, X)
    assert_array_equal(rows.labels, y)
    assert_array_equal(rows.classes, np.arange(4))
    _, names, X, y = frames()
    rows = gather_rows(labelled_blocks(X, y), np.unique(names))
    assert_array_equal(rows.labels, names)
