"""Files as data frames: the same rows from every format, and labels as they are written."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from separatrix.files.columns import check_features
from separatrix.files.lines import parse_lines
from separatrix.files.reading import Reading
from separatrix.files.tables import read_table
from tests.files.tree_tables import FRAME, written


@pytest.mark.parametrize("form", ["csv", "tsv", "csv.gz", "parquet", "npz", "arff"])
def test_every_format_holds_the_same_table(form, tmp_path):
    table = read_table(written(tmp_path, form))
    assert table.X.columns.tolist() == ["size", "count"]
    assert (table.X.dtypes == np.float64).all()
    assert_array_equal(table.X, FRAME[["size", "count"]])
    assert_array_equal(table.y, FRAME["kind"])
    assert table.target == ("y" if form == "npz" else "kind")


def test_bundled_names_and_standard_input(monkeypatch):
    iris = read_table("iris")
    assert iris.X.shape == (150, 4)
    assert set(iris.y) == {"setosa", "versicolor", "virginica"}
    text = io.TextIOWrapper(io.BytesIO(FRAME.to_csv(index=False).encode()))
    monkeypatch.setattr(sys, "stdin", text)
    assert read_table("-").y.tolist() == FRAME["kind"].tolist()


@pytest.mark.parametrize("form", ["npz", "parquet", "arff"])
def test_formats_that_are_no_text_come_by_standard_input_too(form, tmp_path, monkeypatch):
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

        def seek(self, *_):
            raise OSError("a pipe")

    class Stdin:
        buffer = Pipe(written(tmp_path, form).read_bytes())

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert read_table("-", form=form).y.tolist() == FRAME["kind"].tolist()


def test_a_file_wins_over_a_bundled_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("wine", index=False)
    assert len(read_table("wine", form="csv").y) == 4


def test_columns_without_names_get_some():
    table = read_table(io.BytesIO(b"1;2;a\n3;4;b\n"), sep=";", header=False)
    assert table.X.columns.tolist() == ["x0", "x1"]
    assert table.target == "x2"


def test_files_that_are_something_else(tmp_path):
    path = tmp_path / "a.doc"
    path.write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"a.doc could be anything: name it by its format"):
        read_table(path)
    for form in ("npz", "parquet", "arff", "csv"):
        bad = tmp_path / f"b.{form}"
        bad.write_bytes(b"\xff\xfe\x00nonsense")
        with pytest.raises(ValueError, match=f"b.{form}"):
            read_table(bad)
    with pytest.raises(FileNotFoundError, match=r"no file none.csv, nor a bundled .*: these are"):
        read_table("none.csv")
    with pytest.raises(FileNotFoundError, match="did you mean wine"):
        read_table("wime")


def test_arrays_with_a_damaged_header_are_an_error_in_words(tmp_path):
    np.save(tmp_path / "a.npy", np.ones((4, 3)))
    content = (tmp_path / "a.npy").read_bytes()
    for damaged in (content.replace(b", }", b", }["), content.replace(b"(4, 3)", b"(4, 9**99)")):
        (tmp_path / "a.npy").write_bytes(damaged)
        with pytest.raises(ValueError, match=r"a.npy is no array of numbers or text"):
            read_table(tmp_path / "a.npy")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"Z": np.ones((2, 2))}, "needs an array X or data of two axes, or of three"),
        ({"X": np.ones((2, 2)), "y": np.ones((2, 1))}, "y must have one label for each of 2"),
        ({"X": np.ones((2, 2)), "feature_names": ["a"]}, "1 feature_names for 2 features"),
        ({"X": np.array([[{}]], object)}, "not an npz file of plain arrays"),
    ],
)
def test_arrays_that_are_no_table(arrays, message, tmp_path):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "a.npz")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1")

    def none(*_, **__):
        raise ImportError("Unable to find a usable engine")

    monkeypatch.setattr(pd, "read_parquet", none)
    with pytest.raises(ImportError, match=r"pip install 'separatrix\[parquet\]'"):
        read_table(path)


def test_labels_are_left_as_they_are_written_and_gaps_among_them_counted():
    lines = b"1, 01 ,NA\n2,NA,NaN\n,  ,x\n4,True,y\n5,1.50,\n"
    frame = parse_lines(io.BytesIO(lines), ["a", "kind", "b"], "kind", Reading())
    assert frame["kind"].dropna().tolist() == ["01", "True", "1.50"]
    assert frame.attrs["gaps"] == {"NA": 1, "": 1}
    assert frame["a"].isna().tolist() == [False, False, True, False, False]
    assert frame["b"].isna().tolist() == [True, True, False, False, True]


@pytest.mark.parametrize("sep", [",", "::", r"\s+"])
def test_columns_of_text_are_left_as_they_are_written(sep):
    between = " " if sep == r"\s+" else sep
    lines = "\n".join(
        between.join(row) for row in (("01", "2", "a"), ("NA", "3", "null"))
    ).encode()
    frame = parse_lines(
        io.BytesIO(lines), ["code", "size", "kind"], "kind", Reading(words=["code"]), sep
    )
    assert frame["code"].iloc[0] == "01"
    assert frame["code"].isna().tolist() == [False, True]
    assert frame["size"].tolist() == [2, 3]
    assert frame.attrs["gaps"] == {"null": 1}


def test_numbers_are_read_as_people_write_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b;kind\n1.065,5;1;x \n-3,25;2; y\n")
    table = read_table(path, sep=";", decimal=",", thousands=".")
    assert table.X["a"].tolist() == [1065.5, -3.25]
    assert table.y.tolist() == ["x", "y"]
    path.write_text("a\tb\n1,065\tx\n12\ty\n")
    assert read_table(path, form="tsv", thousands=",").X["a"].tolist() == [1065.0, 12.0]
    path.write_text('a,b,kind\n"1,065","2,5",x\n12,3,y\n')  # commas in quotes are in values
    assert read_table(path, thousands=",", ignore=["b"]).X["a"].tolist() == [1065.0, 12.0]
    assert read_table(path, decimal=",", ignore=["a"]).X["b"].tolist() == [2.5, 3.0]
    with pytest.raises(ValueError, match="are both"):
        read_table(path, thousands=".")


def test_excel_tables_are_read_like_others(tmp_path):
    pytest.importorskip("openpyxl")
    path = tmp_path / "a.xlsx"
    frame = pd.DataFrame({"a": [1.5, 2.0, None], "day": pd.to_datetime(["2024-03-01"] * 3)})
    frame["kind"] = [" x", "y ", "x"]
    frame.to_excel(path, index=False)
    table = read_table(path, ignore=["day"])
    assert table.y.tolist() == ["x", "y", "x"]
    assert table.X["a"].isna().tolist() == [False, False, True]
    with pytest.raises(ValueError, match=r"are not numbers: 'day' \(dates such as '2024-03-01'"):
        check_features(read_table(path).X[["day"]])


def test_samples_in_columns_are_turned(tmp_path):
    path = tmp_path / "genes.csv"
    path.write_text("gene,s1,s2,s3\nBRCA1,1,2,3\nTP53,4.5,5,6\nkind,x,y,x\n")
    table = read_table(path, transposed=True, target="kind", ignore=["gene"])
    assert list(table.X) == ["BRCA1", "TP53"]
    assert table.X.to_numpy().tolist() == [[1, 4.5], [2, 5], [3, 6]]
    assert table.y.tolist() == ["x", "y", "x"]


class StoredCells:
    """As much of anndata's table as is read."""

    def __init__(self, X):
        self.X = X
        self.var_names = pd.Index(["BRCA1", "TP53"])
        self.obs = pd.DataFrame({"batch": [1, 2, 1], "type": ["T", "B", "T"]}, index=list("xyz"))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_cells_are_read_where_anndata_is_installed(tmp_path, monkeypatch, form):
    path = tmp_path / "cells.h5ad"
    path.write_bytes(b"")
    monkeypatch.setitem(sys.modules, "anndata", None)
    with pytest.raises(ImportError, match="pip install anndata"):
        read_table(path)
    stored = StoredCells(form([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))
    module = SimpleNamespace(read_h5ad=lambda name: stored)
    monkeypatch.setitem(sys.modules, "anndata", module)
    table = read_table(path, target="type")
    assert list(table.X) == ["BRCA1", "TP53"]
    assert table.y.tolist() == ["T", "B", "T"]


def test_epochs_of_mne_are_read_where_it_is_installed(tmp_path, monkeypatch, rng):
    path = tmp_path / "a-epo.fif"
    path.write_bytes(b"")
    monkeypatch.setitem(sys.modules, "mne", None)
    with pytest.raises(ImportError, match="pip install mne"):
        read_table(path)
    X = rng.standard_normal((4, 2, 3))
    epochs = SimpleNamespace(
        event_id={"rare": 7, "often": 9},
        events=np.array([[0, 0, 7], [5, 0, 9], [9, 0, 9], [12, 0, 7]]),
        ch_names=["Cz", "Pz"],
        times=np.array([0.0, 0.1, 0.2]),
        get_data=lambda: X,
    )
    module = SimpleNamespace(read_epochs=lambda name, verbose: epochs)
    monkeypatch.setitem(sys.modules, "mne", module)
    table = read_table(path)
    assert table.y.tolist() == ["rare", "often", "often", "rare"]
    assert list(table.X)[:2] == ["Cz@0", "Cz@0.1"]
