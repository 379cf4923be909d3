"""Tables larger than memory: blocks of files lose nothing, and give the scale of all rows."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

from separatrix.files.dask_tables import LazyTable, from_npy, open_table, scale_table

pytest.importorskip("dask.dataframe")


def small(n=40):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    rows = rng.normal(size=(n, 3)) + 3 * y[:, None] * [1, 0, -1]
    return pd.DataFrame(rows, columns=list("abc")).assign(kind=np.array(["u", "v"])[y])


def test_columns_that_go_on_with_other_numbers_are_read(tmp_path):
    lines = ["a,b,kind"] + [f"{i},{i % 7},{i % 2}" for i in range(5000)] + ["0.5,1e3,1"]
    (tmp_path / "long.csv").write_text("\n".join(lines))
    table = open_table(str(tmp_path / "long.csv"))
    rows = table.X.compute()
    assert rows.iloc[-1].tolist() == [0.5, 1000.0]
    assert set(table.y.compute()) == {"0", "1"}


def test_files_without_names_are_read(tmp_path):
    (tmp_path / "plain.tsv").write_text("1\t2\tu\n3\t4\tv\n")
    table = open_table(str(tmp_path / "plain.tsv"), header=False)
    assert list(table.X.columns) == ["x0", "x1"]
    assert table.target == "x2"


def test_npy_files_are_read_where_blocks_are_needed(tmp_path):
    X = np.random.default_rng(0).normal(size=(103, 4)).astype(np.float32)
    np.save(tmp_path / "rows.npy", X)
    lazy = from_npy(tmp_path / "rows.npy", block_bytes=160)
    assert lazy.chunks[0] == (10,) * 10 + (3,)
    assert lazy.dtype == np.float32
    assert_array_equal(lazy.compute(), X)
    np.save(tmp_path / "labels.npy", np.arange(5))
    assert_array_equal(from_npy(tmp_path / "labels.npy").compute(), np.arange(5))
    np.save(tmp_path / "columns.npy", np.asfortranarray(X))
    with pytest.raises(ValueError, match="C order"):
        from_npy(tmp_path / "columns.npy")


def test_files_in_small_blocks_lose_no_line(tmp_path):
    frame = small()
    frame.to_csv(tmp_path / "all.csv", index=False)
    table = open_table(str(tmp_path / "all.csv"), block_bytes=300)
    assert table.X.npartitions > 5
    assert_array_equal(table.X.compute().to_numpy(), frame[["a", "b", "c"]].to_numpy())
    assert table.y.compute().tolist() == frame["kind"].tolist()


@pytest.mark.parametrize("offset", [0.0, 1e8, 1e10])
def test_the_scale_keeps_its_digits_far_from_zero(offset):
    from dask import array as da

    rows = np.random.default_rng(0).normal(size=(500, 3)) + offset
    rows[:, 2] = offset + 0.1
    labels = da.from_array(np.arange(500).astype(str), chunks=100)
    scaler, table = scale_table(LazyTable(da.from_array(rows, chunks=(100, 3)), labels, "y"))
    centred = rows - rows[0]
    expected = centred.std(axis=0)
    assert_allclose(scaler.scale_[:2], expected[:2], rtol=1e-13)
    assert scaler.scale_[2] == 1
    assert scaler.n_samples_seen_ == 500
    assert table.X.compute().shape == (500, 3)


def test_a_packed_file_and_names_with_brackets_are_read(tmp_path):
    frame = small()
    (tmp_path / "day[1].csv").write_text(frame.to_csv(index=False))
    (tmp_path / "day[1].csv.gz").write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    for name in ("day[1].csv", "day[1].csv.gz"):
        table = open_table(str(tmp_path / name))
        assert table.X.npartitions == 1
        assert_array_equal(table.X.compute().to_numpy(), frame[["a", "b", "c"]].to_numpy())


def test_the_scaler_is_that_of_rows_in_memory(tmp_path):
    frame = small()
    frame.to_csv(tmp_path / "all.csv", index=False)
    scaler, table = scale_table(open_table(str(tmp_path / "all.csv"), block_bytes=300))
    expected = StandardScaler().fit(frame[["a", "b", "c"]])
    for name in ("mean_", "var_", "scale_"):
        assert_allclose(getattr(scaler, name), getattr(expected, name), rtol=1e-12)
    assert scaler.n_samples_seen_ == expected.n_samples_seen_
    assert_array_equal(scaler.feature_names_in_, expected.feature_names_in_)
    assert_allclose(table.X.compute(), expected.transform(frame[["a", "b", "c"]]), rtol=1e-10)
