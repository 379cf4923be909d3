"""A model with settings chosen as in a comparison: what was judged is what one gets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.preprocessing import MinMaxScaler

from separatrix import FisherDiscriminant, load
from separatrix.evaluate.comparison import compare, tuned
from separatrix.evaluate.fold import split_rows
from separatrix.evaluate.methods import contenders
from separatrix.evaluate.records import to_plain
from separatrix.io.models import read
from separatrix.io.tables import encode_text, preprocessing
from tests.cli.test_commands import _in_a_folder, flowers, run
from tests.discovery import labelled

__all__ = ["_in_a_folder"]  # a fixture

NAMES = [contender.name for contender in contenders(None)]


def noisy(n=72, d=7):
    """Rows that are not all classified correctly, so that other settings give other answers."""
    X, y = labelled(n, d, 3, seed=5)
    return X + 2 * np.random.default_rng(6).normal(size=X.shape), np.array(["a", "b", "c"])[y]


def assert_same_as_the_fold(method, X, y, **how):
    found = compare([method], X, y, n_splits=1, memory=False, **how)
    (fold,) = found.methods[0].folds
    assert fold.status == "done", fold.reason
    codes = np.array(found.labels)
    train, test = split_rows(codes, 0.3, (how.get("random_state", 0), 0))
    model, chosen = tuned(method, X[train], y[train], **how)
    expected = np.array(found.classes)[list(fold.predicted)]
    assert_array_equal(model.predict(X[test]), expected)
    assert to_plain(chosen) == to_plain(fold.chosen)
    return model, fold, expected != y[test]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_the_model_predicts_what_the_fold_did(name):
    _, _, wrong = assert_same_as_the_fold(name, *noisy(), random_state=3)
    assert wrong.any()  # else any model would do


@pytest.mark.parametrize("decision", ["3nn", "centroid", "gaussian"])
def test_the_rule_on_top_is_that_of_the_fold(decision):
    how = {"decision": decision, "scale": MinMaxScaler()}
    model, fold, _ = assert_same_as_the_fold("MaximumMarginCriterion", *noisy(), **how)
    assert len(model) == 3
    assert model[1].n_components == fold.chosen["n_components"]


def test_only_the_rule_learns_from_all_rows_where_the_method_takes_few():
    few = replace(contenders(["LDG"])[0], most_rows=20)
    model, fold, _ = assert_same_as_the_fold(few, *noisy())
    assert fold.n_rows < 30
    assert model[-1].n_samples_fit_ > 40


def test_estimators_are_fitted_as_they_are_given():
    X, y = noisy()
    model, chosen = tuned(FisherDiscriminant(shrinkage=0.3), X, y, scale=None)
    assert chosen == {}
    assert_array_equal(model.coef_, FisherDiscriminant(shrinkage=0.3).fit(X, y).coef_)


@pytest.mark.parametrize("scale", ["standard", None])
def test_names_of_columns_are_known(scale):
    X, y = noisy()
    frame = pd.DataFrame(X, columns=[f"v{i}" for i in range(X.shape[1])])
    model, _ = tuned("IPCAC", frame, y, scale=scale)
    assert_array_equal(model.feature_names_in_, frame.columns)
    with pytest.raises(ValueError, match="v1"):
        tuned("IPCAC", frame.assign(v1=np.nan), y, scale=scale)


def test_text_and_gaps_are_prepared_as_in_a_comparison():
    X, y = noisy()
    frame = pd.DataFrame(X, columns=[f"v{i}" for i in range(X.shape[1])])
    frame.loc[::9, "v2"] = np.nan
    frame["place"] = np.where(np.arange(len(y)) % 3 == 0, "hill", "river")
    how = {"categorical": "onehot", "missing": "median"}
    numbers, steps = encode_text(frame, **how)
    found = compare(["LDG"], numbers, y, scale=steps, n_splits=1, memory=False)
    train, test = split_rows(np.array(found.labels), 0.3, (0, 0))
    prepare = preprocessing(frame, **how)
    model, _ = tuned("LDG", frame.iloc[train], y[train], scale=prepare)
    fold = found.methods[0].folds[0]
    predicted = np.array(found.classes)[list(fold.predicted)]
    assert_array_equal(model.predict(frame.iloc[test]), predicted)


def test_the_command_gives_the_model_that_was_judged():
    frame = flowers(90).drop(columns="plant")
    frame[["v0", "v1", "v2"]] += np.random.default_rng(0).normal(size=(90, 3))
    frame.to_csv("all.csv", index=False)
    options = ["-t", "kind", "--seed", "4", "--decision", "3nn"]
    compared = ["compare", "all.csv", *options, "--methods", "LDG", "--splits", "1"]
    record = json.loads(run(*compared, "--json").stdout)
    expected = "separatrix fit all.csv -t kind --decision 3nn --seed 4 -m LDG --tune -o LDG.model"
    assert record["fit"] == expected
    assert expected in run(*compared, "--report", "a.html").stdout
    page = Path("a.html").read_text()
    assert page.count(f"<code>{expected}</code>") == 2  # in the verdict, and to do it again
    found = compare(
        ["LDG"], frame[["v0", "v1", "v2"]], frame["kind"], n_splits=1, decision="3nn",
        random_state=4,
    )  # fmt: skip
    train, test = split_rows(np.array(found.labels), 0.3, (4, 0))
    frame.iloc[train].to_csv("train.csv", index=False)
    said = run("fit", "train.csv", *options, "-m", "LDG", "--tune", "-o", "LDG.model").stdout
    fold = found.methods[0].folds[0]
    assert f"n_components={fold.chosen['n_components']}" in said
    assert read("LDG.model").notes["chosen"] == to_plain(fold.chosen)
    predicted = load("LDG.model").predict(frame.iloc[test][["v0", "v1", "v2"]])
    assert_array_equal(predicted, np.array(found.classes)[list(fold.predicted)])
    run(*expected.split()[1:])


@pytest.mark.parametrize("more", [["--set", "n_components=2"], ["--engine", "dask"]])
def test_what_contradicts_choosing_is_refused(more):
    said = run("fit", "wine", "--tune", "-o", "a.model", *more, code=2).stderr
    assert more[0] in said
