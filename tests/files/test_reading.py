"""How rows are read: one set of options, checked when it is made."""

from __future__ import annotations

import pytest

from separatrix.files.reading import Reading


def test_labels_are_in_the_last_column_that_is_left():
    assert Reading().find_target(["a", "b", "id"]) == "id"
    assert Reading(ids=["id"], ignore=["b"]).find_target(["a", "b", "id"]) == "a"
    assert Reading(target="a").find_target(["a", "b"]) == "a"
    assert Reading(labelled=None).find_target(["a", "b"]) is None
    assert Reading(samples="sheet.csv").find_target(["a", "b"]) is None
    with pytest.raises(ValueError, match="all columns are ignored"):
        Reading(ignore=["a"]).find_target(["a"])


def test_options_that_contradict_each_other_are_refused():
    with pytest.raises(ValueError, match="--decimal and --thousands are both ','"):
        Reading(decimal=",", thousands=",")
    for how in ("ids", "ignore"):
        with pytest.raises(ValueError, match="'kind' is the target, and it is ignored"):
            Reading(target="kind", **{how: ["kind"]})


def test_arguments_say_how_a_table_is_read():
    reading = Reading(target="kind", ids=["id"], ignore=["a", "b"], sep=";", header=False)
    assert reading.list_arguments() == [
        *("-t", "kind", "--ignore", "a", "--ignore", "b", "--id", "id"),
        *("--sep", ";", "--no-header"),
    ]
