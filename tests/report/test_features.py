"""Which features matter, over all splits."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from separatrix.evaluate.records import Loadings
from separatrix.report import facts, render
from separatrix.report.features import match_directions, summarize_loadings
from tests.comparisons import around, made_up

NAMES = tuple("abcdefgh")
"""Eight features: the two largest of a direction are its top ones."""


def loadings(*rows, patterns=None, names=NAMES):
    return Loadings(names, rows, len(NAMES), rows if patterns is None else patterns)


def row(**weights):
    return tuple(weights.get(name, 0.01) for name in NAMES)


def test_a_feature_is_told_with_the_share_of_splits_in_which_it_is_at_the_top():
    splits = [loadings(row(a=0.9, b=0.3)) for _ in range(8)]
    splits += [loadings(row(a=0.8, c=-0.4)), loadings(row(a=0.7, c=-0.5))]
    (found,) = summarize_loadings(splits)
    entries = {entry["feature"]: entry for entry in found["features"]}
    assert found["splits"] == 10
    assert entries["a"]["share"] == pytest.approx(1)
    assert entries["b"]["share"] == pytest.approx(0.8)
    assert entries["c"]["share"] == pytest.approx(0.2)
    assert entries["a"]["weight"] == pytest.approx(0.87)
    assert (entries["a"]["low"], entries["a"]["high"]) == (0.7, 0.9)
    assert found["stable"] == ["a", "b"]
    assert [entry["feature"] for entry in found["features"]][:2] == ["a", "b"]


def test_directions_that_are_turned_round_or_exchanged_are_the_same():
    first, second = row(a=0.9, b=0.3), row(c=0.8, d=-0.5)
    turned = tuple(-v for v in first)
    splits = [loadings(first, second), loadings(second, turned), loadings(turned)]
    one, two = summarize_loadings(splits)
    assert (one["splits"], two["splits"]) == (3, 2)
    assert one["features"][0]["weight"] == pytest.approx(0.9)
    assert one["features"][0]["pattern"] == pytest.approx(0.9)
    assert two["features"][0]["weight"] == pytest.approx(0.8)
    assert one["stable"] == ["a", "b"]


def test_pairs_of_directions_have_the_largest_cosines():
    rng = np.random.default_rng(0)
    W = rng.normal(size=(3, 40))
    order, signs = [2, 0, 1], np.array([-1.0, 1.0, -1.0])
    mixed = signs[:, None] * (W + 0.1 * rng.normal(size=W.shape))[order]
    pairs = match_directions(W, mixed)
    assert [(i, j) for i, j, _ in pairs] == [(0, 1), (1, 2), (2, 0)]
    assert [sign for *_, sign in pairs] == [1.0, -1.0, -1.0]


def test_a_feature_that_a_split_does_not_list_counts_as_nothing_there():
    short = Loadings(("a", "b"), ((0.9, 0.4),), 8, ((0.9, 0.4),))
    (found,) = summarize_loadings([loadings(row(a=0.9, c=0.4)), short])
    entries = {entry["feature"]: entry for entry in found["features"]}
    assert entries["c"]["weight"] == pytest.approx(0.2)
    assert entries["c"]["low"] == 0
    assert entries["c"]["share"] == 0.5
    assert found["stable"] == ["a"]


def test_the_advised_method_is_shown_first_with_all_its_splits(iris):
    found = facts(iris)["loadings"]
    assert found["shown"] == facts(iris)["verdict"]["advised"]
    assert found["without"] == ["raw"]
    table = next(t for t in found["tables"] if t["name"] == found["shown"])
    assert table["n_splits"] == 3
    assert table["n_top"] == 1
    kept = [fold.loadings for fold in iris[found["shown"]].folds]
    means = np.mean([np.abs(each.weights[0]) for each in kept], axis=0)
    first = table["directions"][0]["features"][0]
    assert first["feature"] == iris.feature_names[int(np.argmax(means))]
    assert abs(first["weight"]) == pytest.approx(means.max(), rel=1e-3)
    assert first["feature"] in table["directions"][0]["words"]
    assert "the mean of 3 splits" in found["words"]


def test_records_without_patterns_or_with_one_split_are_shown():
    comparison = made_up({"A": around(0.9)})
    found = facts(comparison)["loadings"]  # made-up folds have loadings of the first split
    assert found["tables"][0]["n_splits"] == 1
    assert "of one split only" in found["words"]
    assert {e["pattern"] for e in found["tables"][0]["directions"][0]["features"]} == {None}
    folds = tuple(dataclasses.replace(f, loadings=None) for f in comparison["A"].folds)
    method = dataclasses.replace(comparison["A"], folds=folds)
    none = facts(dataclasses.replace(comparison, methods=(method,)))
    assert none["loadings"]["shown"] is None
    assert "None of the methods" in render(none)


def test_every_stable_feature_has_a_bar_and_the_shown_method_lists_a_hundred():
    """Eleven features are large in one split of five, and one is small but stable."""
    names = tuple(f"g{j}" for j in range(48))
    splits = []
    for i in range(5):
        weights = np.full(48, 1e-3)
        weights[:11] = 5.0 if i == 0 else 0.4
        weights[12:23] = 0.0 if i == 0 else 1.0  # these are the largest of the other splits
        weights[47] = 5.0 if i == 0 else 1.1
        splits.append(Loadings(names, (tuple(weights),), 48))
    (found,) = summarize_loadings(splits)
    drawn = [entry["feature"] for entry in found["features"][: found["drawn"]]]
    assert set(found["stable"]) <= set(drawn)
    assert len(found["stable"]) == 12
    assert len(drawn) == len(found["features"]) > 12
    (listed,) = summarize_loadings(splits, 40)
    assert len(listed["features"]) == 40
    assert listed["drawn"] == found["drawn"]
