"""What is asked of the rows of a Dask collection is lazy, and has their blocks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier

from separatrix import FisherDiscriminant, map_blocks, score_blocks
from tests.discovery import all_estimators, name_of
from tests.moments.dask_data import TALL, array, counted, da, dd, frames

ROW_METHODS = ("transform", "predict", "predict_proba", "predict_log_proba", "decision_function")

pytestmark = [
    pytest.mark.usefixtures("one_dask_thread"),
    pytest.mark.filterwarnings(
        "ignore:the within-class scatter has no null space", "ignore:FastICA did not converge"
    ),
]


def test_scores_of_labels_of_another_type_are_errors():
    X, y = TALL
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    with pytest.raises(ValueError, match=r"y has labels \['0'.*knows \[0.*differ in type"):
        score_blocks(model, array(X, 20), y.astype(str))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_frames_that_cannot_be_lazy_are_errors():
    pytest.importorskip("polars")
    _, _, X, y = frames()
    model = FisherDiscriminant(shrinkage=None).set_output(transform="polars").fit(X, y)
    with pytest.raises(ValueError, match=r"lazy frame of polars.*set_output\(transform=\"pandas"):
        map_blocks(model.transform, X)


@pytest.mark.parametrize("estimator", all_estimators(), ids=name_of)
def test_what_is_asked_of_rows_is_lazy_and_has_their_blocks(estimator):
    X, y = TALL
    estimator = clone(estimator).fit(X, y)
    rows, _, calls = counted(X, y)
    for method in ROW_METHODS:
        if not hasattr(estimator, method):
            continue
        result = map_blocks(getattr(estimator, method), rows)
        assert not calls, "nothing is computed before it is asked for"
        expected = getattr(estimator, method)(X)
        assert result.chunks[0] == rows.chunks[0]
        assert result.shape == expected.shape
        assert result.dtype == expected.dtype
        found = result.compute()
        assert set(calls.values()) == {1}
        calls.clear()
        if method == "predict":
            assert_array_equal(found, expected)
        else:
            assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    if is_classifier(estimator):
        assert score_blocks(estimator, rows, y) == pytest.approx(estimator.score(X, y))
        assert set(calls.values()) == {1}


def test_lazy_results_are_those_of_the_model_as_it_was():
    X, y = TALL
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    lazy, expected = map_blocks(model.transform, array(X, 9)), model.transform(X)
    model.partial_fit(3 * X, y[::-1])
    assert np.abs(model.transform(X) - expected).max() > 0.1
    assert_allclose(lazy.compute(), expected)
    assert_allclose(map_blocks(model.transform, array(X, 9)).compute(), model.transform(X))
    assert model.moments_ is not None


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_set_output_gives_lazy_frames():
    frame, _, X, y = frames()
    model = FisherDiscriminant(shrinkage=None).set_output(transform="pandas").fit(X, y)
    for rows in (X, array(frame.to_numpy(), 50)):
        lazy = map_blocks(model.transform, rows)
        found = lazy.compute()
        assert isinstance(lazy, dd.DataFrame)
        assert list(found.columns) == ["fisherdiscriminant0", "fisherdiscriminant1"]
        assert_allclose(found.to_numpy(), model.transform(frame).to_numpy(), atol=1e-12)


def test_scores_count_the_weights():
    frame, names, X, y = frames()
    model = FisherDiscriminant(n_components=1).fit(X, y)
    assert 0.5 < model.score(frame, names) < 1
    assert score_blocks(model, X, y) == pytest.approx(model.score(frame, names))
    w = np.random.default_rng(0).uniform(size=len(names))
    weights = da.from_array(w, chunks=(tuple(X.map_partitions(len).compute()),))
    assert score_blocks(model, X, y, weights) == pytest.approx(model.score(frame, names, w))


def test_rows_in_blocks_are_told_how_to_ask():
    X, y = TALL
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    with pytest.raises(TypeError, match=r"map_blocks\(model\.predict, X\)"):
        model.predict(array(X, 9))
