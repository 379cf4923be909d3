"""Sheets of samples and files of labels: each row finds its line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from separatrix.files.samples import read_labels
from separatrix.files.tables import iter_batches, read_table


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(ids=("s1", "s2", "s3", "s4"), sheet="s3 ;x;1\ns1;y;1\ns4;x;2\ns2;y;2\ns9;x;2\n"):
    rows = "".join(f"{name},{i},{i * i}\n" for i, name in enumerate(ids))
    Path("t.csv").write_text("sample,a,b\n" + rows)
    Path("sheet.csv").write_text("name;kind;batch\n" + sheet)


def test_rows_get_labels_and_groups_by_their_names():
    written()
    table = read_table("t.csv", samples="sheet.csv", ids=["sample"], target="kind", keep=["batch"])
    assert table.y.tolist() == ["y", "y", "x", "x"]
    assert table.kept["batch"].tolist() == [1, 2, 1, 2]
    assert list(table.X) == ["a", "b"]
    # the last column of the sheet has the labels unless another is named
    assert read_table("t.csv", samples="sheet.csv", ids=["sample"]).y.tolist() == list("1212")


def test_batches_are_joined_as_the_table_is():
    written()
    how = {"samples": "sheet.csv", "ids": ["sample"], "target": "kind"}
    whole = read_table("t.csv", **how)
    parts = list(iter_batches("t.csv", batch_size=3, **how))
    assert_array_equal(np.concatenate([p.y for p in parts]), whole.y)
    assert_array_equal(np.vstack([p.X for p in parts]), whole.X)


@pytest.mark.parametrize(
    ("ids", "sheet", "how", "message"),
    [
        (("s1", "s7"), None, {}, "has no line for 1 of 2 rows: 's7'. Add them"),
        (("s1", "s2"), "s1;x;1\ns1;y;1\ns2;x;1\n", {}, "has two lines for 's1'"),
        (("p1", "p2"), None, {}, "has no column with the names in 'sample', such as 'p1'"),
        (("s1", "s2"), None, {"ids": []}, r"say which column has them \(--id COL\)"),
    ],
)
def test_rows_without_their_line_are_named(ids, sheet, how, message):
    written(ids, **({} if sheet is None else {"sheet": sheet}))
    with pytest.raises(ValueError, match=message):
        read_table("t.csv", **{"samples": "sheet.csv", "ids": ["sample"], "target": "kind", **how})


def test_rows_without_a_line_are_left_out_on_request():
    written(("s1", "s7", "s3"))
    table = read_table("t.csv", samples="sheet.csv", ids=["sample"], target="kind", skip_bad=True)
    assert table.y.tolist() == ["y", "x"]
    assert table.skipped == ("s7",)


@pytest.mark.parametrize("text", ["x\ny\nx\n", "kind\nx\ny\nx\n", 'id,kind\n1,"x"\n2,y\n3,x\n'])
def test_labels_are_the_last_values_of_lines(text):
    Path("labels.csv").write_text(text)
    assert read_labels("labels.csv", 3, "t").tolist() == ["x", "y", "x"]
    with pytest.raises(ValueError, match=r"t has 9 rows, but labels.csv has"):
        read_labels("labels.csv", 9, "t")


@pytest.mark.parametrize("bad", [np.zeros((5, 2)), np.arange(5) / 2, np.array([{}] * 5, object)])
def test_arrays_that_are_no_labels_are_refused(bad):
    np.save("y.npy", bad)
    with pytest.raises(ValueError, match=r"labels are one whole number|format of NumPy"):
        read_labels("y.npy", 5, "t")


def test_a_table_of_genes_finds_its_samples():
    pd.DataFrame(
        {"gene": ["BRCA1", "TP53"], "note": ["a", "b"], "s1": [1, 4.5], "s2": [2, 5]}
    ).to_csv("genes.csv", index=False)
    Path("sheet.csv").write_text("id,kind\ns2,x\ns1,y\n")
    table = read_table("genes.csv", transposed=True, ignore=["note"], samples="sheet.csv")
    assert table.X.to_dict("list") == {"BRCA1": [1, 2], "TP53": [4.5, 5]}
    assert table.y.tolist() == ["y", "x"]
