"""Exported numbers decide as the model does."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    IPCAC,
    FisherDiscriminant,
    KernelFisherDiscriminant,
    PartialLeastSquaresDiscriminant,
    QuadraticDiscriminant,
    export,
)
from separatrix.base import export as module
from separatrix.base.export import read_linear
from tests.base.living import shuffled


def rows_and_labels(n_classes, text):
    X, y = shuffled(150, 5, n_classes)
    X = X * [1.0, 100.0, 0.01, 1.0, 1.0] + [1e4, 0.0, 0.0, -5.0, 3.0]
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d", "é"])
    return frame, np.array(["ash", "birch", "cedar"])[y] if text else y


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize(
    "model",
    [
        FisherDiscriminant(shrinkage=None),
        IPCAC(),
        PartialLeastSquaresDiscriminant(),
        LogisticRegression(),
    ],
    ids=lambda m: type(m).__name__,
)
def test_the_numbers_decide_as_the_model(model, scaled, text, n_classes, tmp_path):
    X, y = rows_and_labels(n_classes, text)
    model = (make_pipeline(StandardScaler(), model) if scaled else model).fit(X, y)
    export(model, tmp_path / "a.json")
    found = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert found["features"] == ["a", "b", "c", "d", "é"]
    centred = X.to_numpy() - found["centre"]
    scores = centred @ np.array(found["coef"]).T + found["intercept"]
    assert_array_equal(np.array(found["classes"])[scores.argmax(axis=1)], model.predict(X))
    decisions = model.decision_function(X)
    if n_classes == 2:
        scores = scores[:, 1]
    assert_allclose(scores, decisions, rtol=0, atol=1e-9 * np.abs(decisions).max())
    check = found["check"]
    again = (np.array(check["rows"]) - found["centre"]) @ np.array(found["coef"]).T
    assert_allclose(again + found["intercept"], check["scores"])


def test_a_table_for_spreadsheets(tmp_path):
    X, y = rows_and_labels(3, True)
    model = make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=None)).fit(X, y)
    export(model, tmp_path / "a.csv")
    with open(tmp_path / "a.csv", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    assert lines[0] == ["feature", "centre", "ash", "birch", "cedar"]
    numbers = np.array([line[1:] for line in lines[2:]], dtype=float)
    scores = (X.to_numpy() - numbers[:, 0]) @ numbers[:, 1:] + np.array(lines[1][2:], dtype=float)
    assert_allclose(scores, model.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("text", [False, True])
def test_onnx_decides_row_by_row(n_classes, text, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    X, y = rows_and_labels(n_classes, text)
    model = make_pipeline(StandardScaler(), FisherDiscriminant(shrinkage=None)).fit(X, y)
    export(model, tmp_path / "a.onnx")
    session = runtime.InferenceSession(str(tmp_path / "a.onnx"))
    label, scores = session.run(["label", "scores"], {"X": X.to_numpy(np.float32)})
    assert_array_equal(label, model.predict(X))
    expected = read_linear(model).scores(X.to_numpy())
    assert_allclose(scores, expected, atol=1e-3 * np.abs(expected).max())


def test_what_cannot_be_exported_is_said(tmp_path, monkeypatch):
    X, y = shuffled(60, 4, 3)
    for model in (QuadraticDiscriminant(), KernelFisherDiscriminant()):
        with pytest.raises(ValueError, match="is not linear in the features"):
            export(model.fit(X, y), tmp_path / "a.json")
    model = FisherDiscriminant(shrinkage=None).fit(X, y)
    with pytest.raises(ValueError, match=r"use one of .json, .csv, .onnx"):
        export(model, tmp_path / "a.pmml")
    wrong = read_linear(model)._replace(coef=-read_linear(model).coef)
    monkeypatch.setattr(module, "read_linear", lambda model: wrong)
    with pytest.raises(ValueError, match=r"would decide .* rows otherwise"):
        export(model, tmp_path / "a.json")
    assert not (tmp_path / "a.json").exists()
