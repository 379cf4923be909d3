"""Facts that the page draws."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

from separatrix import datasets
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
        if view["labels"] is not None:
            continue
        fold = iris[view["name"]].folds[0]
        assert view["predicted"] == list(fold.predicted)
        assert view["right"] == round(fold.scores["accuracy"] * len(fold.predicted))
        Z = np.array(fold.view.coordinates)
        # drawn to a thousandth of the range
        np.testing.assert_allclose(np.array(view["coordinates"]).T, Z, atol=1e-3 * np.ptp(Z))
    assert drawn["panels"][0] == facts(iris)["verdict"]["advised"]


def test_shuffled_labels_are_beside_the_real_ones(iris):
    drawn = facts(iris)["projections"]
    first, twin = drawn["panels"][:2]
    assert twin == f"shuffled labels: {first}"
    view = next(v for v in drawn["views"] if v["name"] == twin)
    shuffled = iris[first].folds[0].shuffled
    assert view["labels"] == list(shuffled.labels)
    assert view["predicted"] == list(shuffled.predicted)
    right = sum(a == b for a, b in zip(shuffled.labels, shuffled.predicted, strict=True))
    assert view["right"] == right
    assert all(v["labels"] is None for v in drawn["views"] if "shuffled" not in v["name"])


def test_rows_have_names_where_they_are_given(iris):
    names = [f"flower {i}" for i in range(150)]
    assert facts(iris)["projections"]["ids"] is None
    drawn = facts(iris, ids=names)["projections"]
    assert drawn["ids"] == [names[i] for i in iris.tests[0]]
    with pytest.raises(ValueError, match="ids has 3 names, but 150 rows were compared"):
        facts(iris, ids="abc")


def test_maps_of_the_methods_that_are_shown_give_their_picture(iris):
    found = facts(iris)
    assert found["readouts"]["features"] == list(iris.feature_names)
    rows = datasets.load("iris").data[list(iris.tests[0])]
    names = [each["name"] for each in found["readouts"]["methods"]]
    assert found["verdict"]["advised"] in names
    for each in found["readouts"]["methods"]:
        fold = iris[each["name"]].folds[0]
        Z = rows @ np.array(each["weights"]).T + each["offsets"]
        np.testing.assert_allclose(Z, fold.view.coordinates, atol=1e-6)
        scores = rows @ np.array(each["class_weights"]).T + each["class_offsets"]
        assert tuple(scores.argmax(axis=1)) == fold.predicted


def test_curves_of_all_methods_and_their_areas(iris):
    found = facts(iris)["curves"]
    assert found["shown"][0] == iris.advised
    assert len(found["false_shares"]) == 41
    for line in found["lines"]:
        assert 0.9 < line["area"] <= 1
        bins = np.array(line["calibration"])
        assert bins[:, 0].sum() == sum(map(len, iris.tests))
        assert line["off"] == pytest.approx(
            np.average(np.abs(bins[:, 1] - bins[:, 2]), weights=bins[:, 0]), abs=1e-3
        )
    assert facts(made_up({"A": around(0.9)}))["curves"]["lines"] == []


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
