"""Formats that are no lines: what is known of rows beside their values, and bombs."""

from __future__ import annotations

import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from separatrix.files.formats import read_ts
from separatrix.files.tables import read_table


def test_arrays_of_one_axis_are_columns_that_are_no_features(tmp_path, rng):
    X = rng.standard_normal((4, 2, 3))
    np.savez(tmp_path / "e.npz", X=X, y=list("abab"), subject=[1, 1, 2, 2], times=[0, 0.1, 0.2])
    table = read_table(tmp_path / "e.npz", keep=["subject"])
    assert table.X.shape == (4, 6)
    assert table.kept["subject"].tolist() == [1, 1, 2, 2]
    assert read_table(tmp_path / "e.npz", target="subject", ignore=["y"]).y.tolist() == list(
        "1122"
    )


def test_series_of_several_dimensions_are_read():
    text = "@problemName t\n@data\n1,2,3:4,5,6:u\n7,?:9,10,11:v\n"
    values, labels = read_ts(text, "t.ts")
    assert labels == ["u", "v"]
    assert values.shape == (2, 2, 3)
    assert_array_equal(values[1], [[7, np.nan, np.nan], [9, 10, 11]])
    with pytest.raises(ValueError, match=r"t.ts: line 1 has values that are no numbers"):
        read_ts("(2004-01-01,1),(2004-01-02,2):u\n", "t.ts")
    with pytest.raises(ValueError, match="different numbers of dimensions"):
        read_ts("1:2:u\n1:u\n", "t.ts")


def test_columns_of_series_have_the_names_of_epochs(tmp_path):
    (tmp_path / "t.ts").write_text("@data\n1,2:4,5:u\n7,8:9,10:v\n")
    assert list(read_table(tmp_path / "t.ts").X) == ["c0@0", "c0@1", "c1@0", "c1@1"]


@pytest.mark.parametrize("suffix", ["npz", "xlsx"])
def test_an_archive_that_unpacks_to_a_thousand_times_its_size_is_refused(suffix, tmp_path):
    path = tmp_path / f"bomb.{suffix}"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", bytes(1 << 26))
    with pytest.raises(ValueError, match=r"unpack to \d+ times its size"):
        read_table(path)


def test_formulas_without_values_are_named(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["a", "b", "kind"], [1, "=A2*2", "x"], [2, "=A3*2", "y"]):
        book.active.append(row)
    book.save(tmp_path / "f.xlsx")
    with pytest.raises(ValueError, match="cell B2 has a formula without a value"):
        read_table(tmp_path / "f.xlsx")
    pd.DataFrame({"a": [1, None], "kind": ["x", "y"]}).to_excel(tmp_path / "g.xlsx", index=False)
    assert read_table(tmp_path / "g.xlsx").X["a"].isna().tolist() == [False, True]


def test_files_that_are_another_format_are_refused_by_their_first_bytes(tmp_path):
    for form in ("npz", "npy", "parquet", "xlsx"):
        (tmp_path / f"a.{form}").write_bytes(bytes(1000))
        with pytest.raises(ValueError, match="give its format"):
            read_table(tmp_path / f"a.{form}")
