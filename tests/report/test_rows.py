"""Values of features, degrees of two classes, and groups, for the page."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import evaluate
from separatrix.evaluate.splits import RandomShares
from separatrix.report import facts
from separatrix.report.rows import MAX_CELLS, describe_values
from tests.report.comparing import two_classes


@pytest.fixture(scope="module")
def visits():
    X, y = two_classes()
    groups = np.arange(len(y)) // 3
    found = evaluate.compare(["LDA", "3-NN"], X, y, groups=groups, cv=RandomShares(3))
    return found, X, y, groups


def test_values_are_those_of_the_rows_that_are_drawn(visits):
    found, X, _, _ = visits
    described = facts(found)
    values, rows = described["values"], described["projections"]["rows"]
    for name, column in zip(values["features"], values["columns"], strict=True):
        j = found.feature_names.index(name)
        np.testing.assert_allclose(column, X[rows, j], rtol=1e-3)
    wanted = [found.feature_names.index(name) for name in values["features"]]
    for name, expected in (("low", X.min(axis=0)), ("middle", np.median(X, axis=0))):
        np.testing.assert_allclose(values[name], expected[wanted], rtol=1e-3)
    weights = described["loadings"]["tables"][0]["directions"][0]["features"]
    assert values["features"][0] == weights[0]["feature"]


def test_many_rows_have_few_features(visits):
    found, X, _, _ = visits
    rows = list(range(len(X))) * 20
    values = describe_values(found, rows, [])
    assert 0 < sum(map(len, values["columns"])) <= MAX_CELLS


def test_degrees_give_the_predictions_at_the_first_threshold(visits):
    found, _, _, _ = visits
    described = facts(found)["threshold"]
    method = next(m for m in described["methods"] if m["name"] == "LDA")
    taken = np.array(method["degrees"]) > method["start"]
    truth = np.array(method["truth"])
    folds = found["LDA"].folds
    expected = np.concatenate([fold.predicted for fold in folds])
    assert np.mean(taken == expected) > 0.99  # degrees are rounded
    assert len(truth) == sum(len(test) for test in found.tests)


def test_groups_have_the_shares_of_their_rows(visits):
    found, _, y, groups = visits
    described = facts(found)["groups"]
    method = found[described["method"]]
    tested, right = {}, {}
    for fold, test in zip(method.folds, found.tests, strict=True):
        for row, code in zip(test, fold.predicted, strict=True):
            g = str(groups[row])
            tested[g] = tested.get(g, 0) + 1
            right[g] = right.get(g, 0) + (found.labels[row] == code)
    assert {e["name"]: (e["tested"], e["right"]) for e in described["groups"]} == {
        g: (tested[g], right[g]) for g in tested
    }
    shares = [e["right"] / e["tested"] for e in described["groups"]]
    assert shares == sorted(shares)
    assert len(y) == len(groups)


def test_three_classes_have_no_threshold(iris):
    assert facts(iris)["threshold"]["methods"] == []
    assert facts(iris)["groups"]["groups"] == []
