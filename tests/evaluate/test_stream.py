"""Protocols."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from separatrix import FisherDiscriminant, OnlineIPCAC, datasets
from separatrix.evaluate.stream import StreamProgress, learn, prequential
from separatrix.files.tables import iter_batches, read_table
from tests.discovery import labelled
from tests.files.streamed import table_bytes

X, Y = labelled(230, 6, 3)


def by_hand(model, X, y, size):
    """Batch by batch, with nothing but fit on everything before."""
    wrong = [
        np.count_nonzero(model.fit(X[:i], y[:i]).predict(X[i : i + size]) != y[i : i + size])
        for i in range(size, len(y), size)
    ]
    return [int(w) for w in wrong]


def test_every_batch_is_predicted_by_what_came_before_it():
    records = prequential(FisherDiscriminant(shrinkage=None), X, Y, 50)
    assert [r["wrong"] for r in records] == by_hand(FisherDiscriminant(shrinkage=None), X, Y, 50)
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
    given = prequential(FisherDiscriminant(shrinkage=None), batches)
    assert [r["wrong"] for r in given] == by_hand(FisherDiscriminant(shrinkage=None), X, Y, 50)


@pytest.mark.parametrize("peer", [GaussianNB(), SGDClassifier(random_state=0)], ids=str)
def test_other_classifiers_run_alike(peer):
    records = prequential(peer, X, np.array(["a", "b", "c"])[Y], 50)
    assert records[-1]["error"] < 0.2


def test_a_fitted_model_is_tested_from_the_first_batch_and_goes_on():
    model = FisherDiscriminant(shrinkage=None).fit(X[:50], Y[:50])
    records = prequential(model, X[50:], Y[50:], 50)
    assert len(records) == 4
    assert records[0]["seen"] == 0
    assert model.moments_.n_samples == 230


def test_labels_may_come_as_a_column():
    records = prequential(FisherDiscriminant(shrinkage=None), X, pd.DataFrame({"label": Y}), 50)
    assert [r["wrong"] for r in records] == by_hand(FisherDiscriminant(shrinkage=None), X, Y, 50)


def test_a_fitted_model_may_be_told_of_more_classes():
    model = FisherDiscriminant(shrinkage=None).fit(X[Y < 2], Y[Y < 2])
    prequential(model, X, Y, 50, classes=[0, 1, 2])
    assert model.classes_.tolist() == [0, 1, 2]


def test_what_cannot_be_measured_is_said():
    with pytest.raises(TypeError, match="KNeighborsClassifier cannot learn from a stream"):
        prequential(KNeighborsClassifier(), X, Y)
    with pytest.raises(ValueError, match="batch_size=0 must be at least 1"):
        prequential(OnlineIPCAC(), X, Y, 0)
    with pytest.raises(ValueError, match="only one batch"):
        prequential(OnlineIPCAC(), X, Y, 500)
    with pytest.raises(ValueError, match="differ in length"):
        prequential(OnlineIPCAC(), X, Y[:-1], 50)


def test_progress_is_shown_when_asked_for(capsys):
    prequential(FisherDiscriminant(shrinkage=None), X, Y, 50)
    assert capsys.readouterr().out == ""
    prequential(FisherDiscriminant(shrinkage=None), X, Y, 50, verbose=True)
    assert "100%" in capsys.readouterr().out


def test_a_window_follows_a_drift_that_the_whole_stream_does_not():
    stream = datasets.make_drifting_pair(3000, 6, turns=1.5, random_state=0)
    error = {
        name: prequential(model, stream.data, stream.target, 50)[-1]["error"]
        for name, model in {
            "all": FisherDiscriminant(shrinkage=None),
            "window": FisherDiscriminant(window=200),
            "decay": FisherDiscriminant(decay=0.99),
        }.items()
    }
    assert error["all"] > 0.3
    assert max(error["window"], error["decay"]) < stream.bayes_error + 0.05


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"1,2\n3,4\n", "numbers in place of names"),
        (b"a,a,b\n1,2,x\n", "two columns, number 1 and number 2, are called 'a'"),
        (b"a,b\n1,x,3\n", "lines have 3 values, but there are 2 names"),
        (b"a,b\n,x\n", r"'a' 1. Pass over such rows \(--missing skip\)"),
        (b"a,b\nx,x\n", "are not numbers: 'a'"),
    ],
)
def test_faults_of_a_stream_are_told(content, message):
    with pytest.raises(ValueError, match=message):
        list(learn(OnlineIPCAC(), iter_batches(io.BytesIO(content))))


def test_every_row_is_predicted_before_it_is_learned():
    content = table_bytes()
    model = FisherDiscriminant(shrinkage=None)
    steps = list(learn(model, iter_batches(io.BytesIO(content), batch_size=10)))
    whole = read_table(io.BytesIO(content))
    assert steps[-1].rows == 95
    assert steps[-1].tested == 85
    wrong = 0
    for i in range(10, 95, 10):
        known = FisherDiscriminant(shrinkage=None).fit(whole.X[:i], whole.y[:i])
        wrong += (known.predict(whole.X[i : i + 10]) != whole.y[i : i + 10]).sum()
    assert steps[-1].wrong == wrong
    assert steps[-1].error == wrong / 85
    assert StreamProgress().error is None
    fitted = FisherDiscriminant(shrinkage=None).fit(whole.X, whole.y)
    assert_allclose(model.components_, fitted.components_, rtol=1e-9)


def test_rows_with_gaps_are_passed_over_on_request():
    content = b"a,b,kind\n1,2,x\n2,3,y\n,5,x\n3,1,y\n,,x\n"
    steps = list(learn(OnlineIPCAC(), iter_batches(io.BytesIO(content), batch_size=2),
                       missing="skip"))  # fmt: skip
    assert steps[-1]._replace(wrong=0) == StreamProgress(3, 1, 0, 2, len(content))


def test_labels_may_appear_later_in_a_stream():
    content = b"a,kind\n" + b"".join(
        b"%d,%s\n" % (i, b"xyz"[i // 9 : i // 9 + 1]) for i in range(27)
    )
    model = FisherDiscriminant(shrinkage=None)
    with pytest.raises(
        ValueError, match=r"new class 'z', 9 rows\. Classes are those of the first"
    ):
        list(
            learn(
                FisherDiscriminant(shrinkage=None), iter_batches(io.BytesIO(content), batch_size=9)
            )
        )
    batches = iter_batches(io.BytesIO(content), batch_size=9)
    with pytest.warns(UserWarning, match="new class 'z', 9 rows"):
        *_, last = learn(model, batches, new_classes="open")
    assert model.classes_.tolist() == ["x", "y", "z"]
    assert last.wrong == 18


def test_rows_one_by_one_are_not_solved_for_each(monkeypatch):
    X, y = labelled(300, 6, 2)
    solved = []
    solve = OnlineIPCAC._solve_now
    monkeypatch.setattr(OnlineIPCAC, "_solve_now", lambda m: (solved.append(1), solve(m)))
    model = OnlineIPCAC()
    records = prequential(model, X, y, batch_size=1)
    assert len(records) == 299
    # a tenth of the rows waits, 20 at most: 10 + 10 log(20) + 100 / 20
    assert len(solved) < 50
    waited = [r["seen"] for r in records]
    assert max(i + 1 - seen for i, seen in enumerate(waited)) == 19
    assert all(i + 1 - seen <= max(0.1 * seen, 0) for i, seen in enumerate(waited))
    whole = OnlineIPCAC().fit(X, y)
    assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-8)


def test_refresh_1_solves_for_each_row_and_few_are_remembered_by_a_window():
    X, y = labelled(120, 6, 2)
    exact = [r["seen"] for r in prequential(OnlineIPCAC(), X, y, batch_size=1, refresh=1)]
    assert exact == list(range(1, 120))
    for forgetting in ({"window": 30}, {"decay": 0.96}):
        seen = [r["seen"] for r in prequential(OnlineIPCAC(**forgetting), X, y, batch_size=1)]
        assert (
            max(i + 1 - n for i, n in enumerate(seen)) == 2
        )  # a tenth of 30 or of 25 rows, and one
    by_seven = [r["seen"] for r in prequential(OnlineIPCAC(), X, y, batch_size=1, refresh=7)]
    assert sorted(set(by_seven)) == list(range(7, 120, 7))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, pd.DataFrame])
def test_rows_that_wait_are_predicted_as_by_the_model_of_those_learned(form):
    X, y = labelled(90, 6, 2)
    X = form(X)
    records = prequential(OnlineIPCAC(), X, y, batch_size=1, refresh=30)
    rows = X.iloc if hasattr(X, "iloc") else X
    model = OnlineIPCAC().partial_fit(rows[:30], y[:30])
    assert sum(r["wrong"] for r in records[:30]) == np.sum(model.predict(rows[30:60]) != y[30:60])
    assert records[-1]["error"] == sum(r["wrong"] for r in records) / 60


def test_models_that_learn_each_row_do_so():
    X, y = labelled(60, 6, 2)
    records = prequential(SGDClassifier(random_state=0), X, y, batch_size=1)
    assert [r["seen"] for r in records] == list(range(1, 60))
    with pytest.raises(ValueError, match="refresh=0 must be"):
        prequential(OnlineIPCAC(), X, y, refresh=0)
