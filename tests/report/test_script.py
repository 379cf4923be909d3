"""The script of a report repeats its comparison."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.impute import SimpleImputer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from separatrix import LDG, datasets, evaluate
from separatrix.evaluate.records import spelled_out
from separatrix.evaluate.splits import RandomShares
from separatrix.report import facts
from separatrix.report.script import find_imports
from tests.comparisons import around, made_up


def log_of(X):
    return np.log1p(np.abs(X))


@pytest.mark.parametrize(
    "scale",
    [
        make_pipeline(SimpleImputer(strategy="median"), StandardScaler()),
        ColumnTransformer([("a column with a long name", StandardScaler(), [0, 1])] * 1),
        FunctionTransformer(log_of),
        None,
    ],
    ids=["pipeline", "columns", "function", "none"],
)
def test_the_code_gives_the_comparison_again(scale):
    data = datasets.load("iris")
    X, y = data.data, data.target
    given = make_pipeline(PCA(2), LinearDiscriminantAnalysis(priors=[0.2, 0.3, 0.5]))
    methods = evaluate.with_steps(["LDA", ("mine", given)], prepare=scale)
    before = evaluate.compare(methods, X, y, cv=RandomShares(2))
    code = facts(before)["reproduce"]["code"]
    assert ("# prepare: FunctionTransformer(func=<function" in code) == (
        isinstance(scale, FunctionTransformer)
    )
    names = {"X": X, "y": y, "prepare": scale}
    exec(code, names)
    for name in ("LDA", "mine"):
        assert names["comparison"][name].summary == before[name].summary
    assert names["page"].startswith("<!doctype html>")


def test_the_code_has_pipelines_and_classifiers_on_top():
    data = datasets.load("iris")
    pipeline = make_pipeline(StandardScaler(), LDG(2), KNeighborsClassifier())
    methods = [pipeline, *evaluate.with_steps(["PCA"], then="LogisticRegression"), "LDA"]
    before = evaluate.compare(methods, data.data, data.target, cv=3)
    names = {"X": data.data, "y": data.target}
    exec(facts(before)["reproduce"]["code"], names)
    for name in ("LDG", "PCA", "LDA"):
        assert names["comparison"][name].summary == before[name].summary
    assert names["model"].predict(data.data[:2]).tolist() == ["setosa", "setosa"]


def test_long_estimators_are_spelled_out_or_left_to_the_reader():
    """Printed estimators are cut where they are long, which is no code."""
    wide = ColumnTransformer([("some", StandardScaler(), [f"column {i}" for i in range(25)])])
    text = spelled_out(wide)
    assert "column 24" in text
    assert find_imports(text) is not None
    assert find_imports("StandardScaler(a=[1, ..., 3])") is None
    comparison = made_up({"A": around(0.9)})
    (method,) = comparison.methods
    odd = dataclasses.replace(
        comparison, methods=(dataclasses.replace(method, prepare="Mine(a=1)", wrapped=True),)
    )
    code = facts(odd)["reproduce"]["code"]
    assert "# prepare: Mine(a=1)" in code
    assert "prepare=prepare)" in code
