"""Facts that the page draws."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from separatrix.report import facts, render
from tests.comparisons import around, made_up
from tests.report.comparing import plain, replaced


def test_confusion_counts_every_row_that_was_tested():
    comparison = made_up({"A": [0.9, 0.8], "raw": [0.7, 0.8]}, class_shares=(0.5, 0.3, 0.2))
    labels = np.array(comparison.labels)
    for table in facts(comparison)["confusion"]["tables"]:
        counts = np.array(table["counts"])
        assert counts.sum() == table["tested"] == sum(map(len, comparison.tests))
        right = sum(
            (labels[list(comparison.tests[fold.split])] == fold.predicted).sum()
            for fold in comparison[table["name"]].folds
        )
        assert np.trace(counts) == right == table["tested"] - table["wrong"]
        wrong = counts - np.diag(np.diag(counts))
        i, j = np.unravel_index(wrong.argmax(), wrong.shape)
        most = f"{comparison.classes[i]} taken for {comparison.classes[j]}: {wrong[i, j]} of"
        assert table["mistakes"][0].startswith(most)
        assert len(table["mistakes"]) == np.count_nonzero(wrong)
        tested = np.bincount(labels[np.concatenate(comparison.tests)])
        np.testing.assert_array_equal(counts.sum(axis=1), tested)


def test_only_rows_held_out_of_the_first_split_are_drawn(iris):
    drawn = facts(iris)["projections"]
    assert drawn["rows"] == list(iris.tests[0])
    assert drawn["labels"] == [iris.labels[i] for i in iris.tests[0]]
    for view in drawn["views"]:
        fold = iris[view["name"]].folds[0]
        assert view["predicted"] == list(fold.predicted)
        assert view["right"] == round(fold.scores["accuracy"] * len(fold.predicted))
        Z = np.array(fold.view.coordinates)
        # drawn to a thousandth of the range
        np.testing.assert_allclose(np.array(view["coordinates"]).T, Z, atol=1e-3 * np.ptp(Z))
    assert drawn["panels"][0] == facts(iris)["verdict"]["best"]


def test_loadings_name_the_features_that_weigh_most(iris):
    tables = {t["name"]: t for t in facts(iris)["loadings"]["tables"]}
    kept = iris["LDA"].folds[0].loadings
    for weights, shown in zip(kept.weights, tables["LDA"]["directions"], strict=True):
        largest = kept.features[int(np.argmax(np.abs(weights)))]
        assert shown["features"][0]["feature"] == largest
        assert largest in shown["words"]
        assert ("falls" in shown["words"]) == (min(weights) < -max(np.abs(weights)) / 3)
    assert facts(iris)["loadings"]["without"] == ["raw"]


def test_dimension_paths_end_where_the_shortest_split_ends():
    comparison = made_up({"A": [0.9, 0.8], "raw": [0.7, 0.7]})
    folds = list(comparison["A"].folds)
    folds[1] = dataclasses.replace(folds[1], path=(0.4, 0.6, 0.8))
    found = facts(replaced(comparison, "A", folds=tuple(folds)))["dimension"]
    assert found["lines"][0]["accuracy"] == pytest.approx([0.65, 0.75])
    assert found["lines"][0]["chosen"] == 2
    assert found["longest"] == 2


def test_time_marks_what_no_other_method_beats():
    scores = {"slow": around(0.9), "fast": around(0.8), "worse": around(0.7)}
    comparison = made_up(scores, seconds={"slow": 10.0, "fast": 0.1, "worse": 1.0})
    points = facts(comparison)["time"]["points"]
    assert [p["name"] for p in points if p["unbeaten"]] == ["slow", "fast"]


def test_a_single_direction_has_words_in_place_of_a_chart():
    found = facts(made_up({"A": around(0.9), "raw": around(0.8)}, n_components=1))
    assert "single direction" in found["dimension"]["words"]
    assert 'id="dimension-chart"' not in render(found)
    assert len(found["projections"]["views"][0]["coordinates"]) == 1


def test_forty_classes_look_different_and_many_have_mistakes_in_place_of_a_matrix():
    comparison = made_up({"A": around(0.9)}, n_rows=800, class_shares=[1 / 40] * 40)
    found = facts(comparison)
    looks = {(c["colour"], c["shape"]) for c in found["data"]["classes"]}
    assert len(looks) == 40
    table = found["confusion"]["tables"][0]
    assert table["counts"] is None
    assert table["mistakes"]
    assert re.fullmatch(
        r"class \d+ taken for class \d+: \d+ of \d+ \(.* %\)", plain(table["mistakes"][0])
    )


def test_columns_of_a_matrix_are_numbered_where_names_have_no_room():
    def numbered(n, names):
        shares = [1 / n] * n
        found = facts(made_up({"A": around(0.9)}, n_rows=400, class_shares=shares, classes=names))
        return found["confusion"]["numbered"], "Numbers and names" in render(found)

    assert numbered(2, ["barolo", "barbera"]) == (False, False)
    assert numbered(2, ["nebbiolo of the langhe", "barbera from asti"]) == (True, True)
    assert numbered(10, [str(i) for i in range(10)]) == (False, False)
    assert numbered(10, [f"class {i}" for i in range(10)]) == (True, True)


def test_more_rows_than_can_be_drawn_are_thinned_evenly():
    comparison = made_up({"A": [0.9, 0.9]}, n_rows=20_000, class_shares=(0.7, 0.3))
    drawn = facts(comparison)["projections"]
    assert (
        len(drawn["rows"]) == len(drawn["labels"]) == len(drawn["views"][0]["predicted"]) == 5000
    )
    assert drawn["held_out"] == 6000
    assert drawn["views"][0]["right"] == 5400
    assert np.mean(drawn["labels"]) == pytest.approx(0.3, abs=0.01)
    assert len(set(drawn["rows"])) == 5000
