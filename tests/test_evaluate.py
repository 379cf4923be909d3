"""Protocols."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from separatrix import FisherDiscriminant, OnlineIPCAC, datasets
from separatrix.evaluate import prequential
from tests.discovery import labelled

X, Y = labelled(230, 6, 3)


def by_hand(model, X, y, size):
    """Batch by batch, with nothing but fit on everything before."""
    wrong = [
        np.count_nonzero(model.fit(X[:i], y[:i]).predict(X[i : i + size]) != y[i : i + size])
        for i in range(size, len(y), size)
    ]
    return [int(w) for w in wrong]


def test_every_batch_is_predicted_by_what_came_before_it():
    records = prequential(FisherDiscriminant(), X, Y, 50)
    assert [r["wrong"] for r in records] == by_hand(FisherDiscriminant(), X, Y, 50)
    assert [r["seen"] for r in records] == [50, 100, 150, 200]
    assert [r["rows"] for r in records] == [50, 50, 50, 30]
    wrong, rows = np.cumsum([(r["wrong"], r["rows"]) for r in records], axis=0).T
    assert [r["error"] for r in records] == (wrong / rows).tolist()
    assert all(r["learn_seconds"] > 0 and r["predict_seconds"] > 0 for r in records)


@pytest.mark.parametrize(
    "make", [np.asarray, np.ndarray.tolist, pd.DataFrame, sp.csr_array, np.float32]
)
def test_rows_may_come_in_any_form(make):
    records = prequential(OnlineIPCAC(), make(X), Y, 50)
    assert [r["wrong"] for r in records] == [
        r["wrong"] for r in prequential(OnlineIPCAC(), X, Y, 50)
    ]


def test_batches_may_come_one_by_one():
    batches = ((X[i : i + 50], Y[i : i + 50]) for i in range(0, 230, 50))
    given = prequential(FisherDiscriminant(), batches)
    assert [r["wrong"] for r in given] == by_hand(FisherDiscriminant(), X, Y, 50)


@pytest.mark.parametrize("peer", [GaussianNB(), SGDClassifier(random_state=0)], ids=str)
def test_other_classifiers_run_alike(peer):
    records = prequential(peer, X, np.array(["a", "b", "c"])[Y], 50)
    assert records[-1]["error"] < 0.2


def test_a_fitted_model_is_tested_from_the_first_batch_and_goes_on():
    model = FisherDiscriminant().fit(X[:50], Y[:50])
    records = prequential(model, X[50:], Y[50:], 50)
    assert len(records) == 4
    assert records[0]["seen"] == 0
    assert model.moments_.n_samples == 230


def test_labels_may_come_as_a_column():
    records = prequential(FisherDiscriminant(), X, pd.DataFrame({"label": Y}), 50)
    assert [r["wrong"] for r in records] == by_hand(FisherDiscriminant(), X, Y, 50)


def test_a_fitted_model_may_be_told_of_more_classes():
    model = FisherDiscriminant().fit(X[Y < 2], Y[Y < 2])
    prequential(model, X, Y, 50, classes=[0, 1, 2])
    assert model.classes_.tolist() == [0, 1, 2]


def test_what_cannot_be_measured_is_said():
    with pytest.raises(TypeError, match="KNeighborsClassifier cannot learn from a stream"):
        prequential(KNeighborsClassifier(), X, Y)
    with pytest.raises(ValueError, match="batch_size=0 must be at least 1"):
        prequential(OnlineIPCAC(), X, Y, 0)
    with pytest.raises(ValueError, match="no more than one batch"):
        prequential(OnlineIPCAC(), X, Y, 500)
    with pytest.raises(ValueError, match="differ in length"):
        prequential(OnlineIPCAC(), X, Y[:-1], 50)


def test_progress_is_shown_when_asked_for(capsys):
    prequential(FisherDiscriminant(), X, Y, 50)
    assert capsys.readouterr().out == ""
    prequential(FisherDiscriminant(), X, Y, 50, verbose=True)
    assert "100%" in capsys.readouterr().out


def test_a_window_follows_a_drift_that_the_whole_stream_does_not():
    stream = datasets.make_drifting_pair(3000, 6, turns=1.5, random_state=0)
    error = {
        name: prequential(model, stream.data, stream.target, 50)[-1]["error"]
        for name, model in {
            "all": FisherDiscriminant(),
            "window": FisherDiscriminant(window=200),
            "decay": FisherDiscriminant(decay=0.99),
        }.items()
    }
    assert error["all"] > 0.3
    assert max(error["window"], error["decay"]) < stream.bayes_error + 0.05
