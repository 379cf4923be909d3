"""A comparison as a table."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from separatrix.evaluate.tables import MAX_PRINTED, order_methods
from tests.comparisons import around, made_up


def test_a_comparison_is_printed_as_a_short_table():
    found = made_up({"A": around(0.9), "bad": [None] * 10, "LDA": around(0.95)})
    found = dataclasses.replace(found, best="LDA", advised="LDA")
    lines = repr(found).splitlines()
    assert lines[0] == "3 methods on 200 rows, 3 features, 2 classes, 10 splits"
    assert [line.split()[0] for line in lines[1:]] == ["method", "LDA", "A", "bad"]
    assert lines[2].split()[1] == "0.950"
    assert lines[2].endswith("best mean, advised")
    assert lines[4].split() == ["bad", "–", "–", "0", "–"]
    assert repr(made_up({"A": around(0.9)})).startswith("1 method on 200 rows")
    many = made_up({f"M{i}": [0.9, 0.8] for i in range(MAX_PRINTED + 2)})
    assert len(repr(many)) < 4000
    assert repr(many).endswith("and 2 more: table() has all")


def test_methods_and_folds_are_printed_in_few_words():
    found = made_up({"A": around(0.9)}, n_rows=2000)
    assert len(repr(found["A"])) < 2000
    assert len(repr(found["A"].folds[0])) < 1000


def test_a_frame_has_a_row_for_each_method_and_its_scores():
    found = made_up({"A": around(0.9), "bad": [None] * 10, "LDA": around(0.95)})
    frame = found.table()
    assert frame.index.tolist() == ["LDA", "A", "bad"]
    assert frame.index.name == "method"
    assert frame.loc["A", "accuracy"] == pytest.approx(found["A"].summary["accuracy"].mean)
    assert frame.loc["A", "accuracy_low"] <= frame.loc["A", "accuracy"]
    assert frame.loc["A", "seconds"] == pytest.approx(0.11)
    assert frame.loc["A", "directions"] == 2
    assert frame.loc["bad", "status"] == "failed"
    assert np.isnan(frame.loc["bad", "accuracy"])


def test_losses_are_best_when_they_are_small():
    found = made_up({"A": around(0.9), "B": around(0.8)})
    assert [m.name for m in order_methods(found)] == ["A", "B"]
    methods = tuple(
        dataclasses.replace(m, summary={"log_loss": m.summary["accuracy"]}) for m in found.methods
    )
    settings = {**found.settings, "score": "log_loss"}
    found = dataclasses.replace(found, methods=methods, settings=settings)
    assert [m.name for m in order_methods(found)] == ["B", "A"]
