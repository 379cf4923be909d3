"""A first look: which column is what, what is odd, and a command that runs."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from separatrix import look
from tests.cli.running import flowers


def plants():
    frame = flowers()
    frame.insert(1, "patient", [f"p{i // 4}" for i in range(60)])
    frame["remark"] = [f"number {i} was seen in the {c}" for i, c in enumerate("abcd" * 15)]
    frame["day"] = "2024-03-01"
    frame["colour"] = ["red", "blue", "green"] * 20
    frame.loc[3, "v1"] = None
    frame.loc[[5, 9], "v2"] = -999
    return frame


def test_columns_get_their_roles():
    found = look(plants())
    assert (found.target, found.ids, found.groups) == ("kind", ("plant",), ("patient",))
    roles = {column.name: column.role for column in found.columns}
    assert roles == {
        "plant": "id", "patient": "group", "v0": "number", "v1": "number", "v2": "number",
        "kind": "label", "remark": "text", "day": "date", "colour": "category",
    }  # fmt: skip
    assert found.classes == plants()["kind"].value_counts().to_dict()
    assert found.gaps == {"v1": 1}
    assert found.outliers == ({"column": "v2", "row": 6, "value": -999.0, "times": 2},)
    assert found.options == {
        "--group": "patient", "--categorical": "onehot", "--missing": "median"
    }  # fmt: skip
    assert found.reading.ignore == ("day",)
    assert found.reading.text == ("remark",)
    assert len(found.first_rows) == 5
    assert len(found.first_rows[0]) == len(found.names) == 9


def test_the_result_is_plain_data():
    found = look(plants(), target="colour")
    record = json.loads(json.dumps(found.to_dict()))
    assert record["target"] == "colour"
    assert record["reading"]["ids"] == ["plant"]
    assert record["columns"][0]["role"] == "id"


@pytest.mark.parametrize(
    ("columns", "target"),
    [
        ({"class": [1, 2] * 10, "a": np.arange(20) % 3}, "class"),
        ({"a": np.linspace(0, 1, 20), "b": ["x", "y"] * 10}, "b"),
        ({"b": ["x", "y"] * 10, "a": np.linspace(0, 1, 20)}, "b"),
        ({"a": np.linspace(0, 1, 20), "b": np.linspace(1, 3, 20)}, None),
        ({"a": np.linspace(0, 1, 20), "b": [0, 1] * 10}, "b"),
        (
            {"sex": ["m", "f"] * 10, "diagnosis": ["ill"] * 7 + ["well"] * 13, "a": 1.5},
            "diagnosis",
        ),
        ({"a": np.linspace(0, 1, 20), "kind": ["x", "y"] * 10, "batch": [1, 2] * 10}, "kind"),
    ],
)
def test_the_likeliest_label_is_found(columns, target):
    found = look(pd.DataFrame(columns))
    assert found.target == target
    if target is None:
        assert "No column looks like labels" in found.notes[0]
        assert found.command == ""


def test_bundled_sets_and_epochs_are_looked_at(tmp_path, rng):
    assert look("wine").target == "target"
    X = rng.standard_normal((12, 2, 3))
    np.savez(tmp_path / "e.npz", X=X, y=list("abab") * 3, subject=np.arange(12) // 3)
    found = look(tmp_path / "e.npz")
    assert (found.layout, found.target, found.n_features) == ("epochs", "y", 6)


def test_a_table_without_rows_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,kind\n")
    with pytest.raises(ValueError, match="there are no rows in"):
        look(tmp_path / "a.csv")


def test_a_subject_of_epochs_is_a_group(tmp_path):
    rng = np.random.default_rng(0)
    y = np.array(["ash", "oak"])[np.arange(40) % 2]
    subjects = {"subject": np.arange(40) % 5, "times": np.arange(5) / 10}
    np.savez(tmp_path / "e.npz", X=rng.normal(size=(40, 3, 5)), y=y, **subjects)
    found = look(tmp_path / "e.npz")
    assert (found.layout, found.target, found.groups, found.ids) == (
        "epochs",
        "y",
        ("subject",),
        (),
    )
    assert found.command.endswith("--group subject")
