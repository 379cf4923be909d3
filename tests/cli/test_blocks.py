"""`separatrix fit rows.npy --labels labels.npy`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import IPCAC, FisherDiscriminant, load
from separatrix.cli import blocks
from tests.cli.running import refused, run
from tests.discovery import labelled


def written(kind="f8", n=300, d=6):
    X, y = labelled(n, d, 3)
    X = (X * np.linspace(1, 20, d) + 10).astype(kind)
    names = np.array(["ash", "birch", "cedar"])[y]
    np.save("X.npy", X)
    np.save("y.npy", names)
    return X, names


@pytest.mark.parametrize("kind", ["f8", "f4", "f2"])
@pytest.mark.parametrize("model", [FisherDiscriminant(shrinkage="moments"), IPCAC()])
def test_one_pass_is_a_fit_to_all_rows(monkeypatch, kind, model):
    monkeypatch.setattr(blocks, "ROWS_AT_ONCE", 70)
    X, y = written(kind)
    options = [
        "--labels",
        "y.npy",
        "-m",
        type(model).__name__,
    ]  # where no row stays moments decide
    run("fit", "X.npy", *options, "-o", "a.model")
    run("fit", "X.npy", *options, "--no-scale", "-o", "b.model")
    rows = X.astype(np.float64)
    scaled = make_pipeline(StandardScaler(), clone(model)).fit(rows, y)
    # products of rows in float32 have its precision
    share = 1e-9 if kind == "f8" else 1e-4
    for file, whole in (("a.model", scaled), ("b.model", clone(model).fit(rows, y))):
        expected = whole.decision_function(rows)
        found = load(file).decision_function(rows)
        assert_allclose(found, expected, rtol=0, atol=share * np.abs(expected).max())


def test_rows_of_numpy_are_predicted_merged_and_forgotten():
    X, y = written()
    run("fit", "X.npy", "--labels", "y.npy", "-o", "a.model")
    run("predict", "a.model", "X.npy", "-o", "found.csv")
    found = pd.read_csv("found.csv")["prediction"]
    assert (found == load("a.model").predict(X)).all()
    run("merge", "a.model", "--without", fit_part(X, y), "-o", "rest.model")
    np.savez("gone.npz", X=X[:50], y=y[:50])
    run("forget", "a.model", "gone.npz", "-o", "less.model")
    models = load("rest.model"), load("less.model")
    assert_allclose(*(m.decision_function(X) for m in models), atol=1e-8)


def fit_part(X, y):
    np.save("part.npy", X[:50])
    np.save("part_y.npy", y[:50])
    run("fit", "part.npy", "--labels", "part_y.npy", "-o", "part.model")
    return "part.model"


def test_mistakes_are_told_in_words():
    written()
    assert "has rows and no labels" in refused("fit", "X.npy", "-o", "m")
    run("fit", "X.npy", "--labels", "y.npy", "-m", "LDG", "-o", "m")  # read whole
    assert "labels are one whole number" in refused("fit", "X.npy", "--labels", "X.npy", "-o", "m")
    assert "no file Z.npy" in refused("fit", "Z.npy", "--labels", "y.npy", "-o", "m")
