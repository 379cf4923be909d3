"""`separatrix fit --engine dask`: files read block by block give the model of all their rows."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine

from separatrix import load
from separatrix.cli.program import program as main
from separatrix.files import dask_tables
from separatrix.files.dask_tables import open_table

pytest.importorskip("dask.dataframe")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same table as one file, as directories of files, and as a zarr group."""
    place = tmp_path_factory.mktemp("tables")
    wine = load_wine(as_frame=True)
    frame = wine.data.assign(kind=np.array(["a", "b", "c"])[wine.target])
    frame["magnesium"] = frame["magnesium"].astype(int)
    frame = frame.sample(frac=1, random_state=0)
    frame.to_csv(place / "all.csv", index=False)
    for kind in ("parquet", "csv"):
        (place / kind).mkdir()
    for i in range(3):
        part = frame.iloc[i::3]
        part.to_parquet(place / "parquet" / f"{i}.parquet", index=False)
        part.to_csv(place / "csv" / f"{i}.csv", index=False)
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(place / "wine.zarr", mode="w")
    rows = frame.drop(columns="kind").to_numpy(float)
    group.create_array("X", data=rows, chunks=(50, 5))
    group.create_array("y", data=wine.target[frame.index].to_numpy(), chunks=(60,))
    return place


def run(*args):
    return CliRunner().invoke(main, [str(arg) for arg in args])


def projected(model, rows):
    return model.transform(rows.set_axis(model.feature_names_in_, axis=1))


@pytest.mark.parametrize("source", ["parquet", "csv", "csv/*.csv", "all.csv", "wine.zarr"])
@pytest.mark.parametrize("scale", ["--scale", "--no-scale"])
def test_the_model_is_the_one_of_the_whole_table(folder, tmp_path, source, scale):
    how = ["-m", "TruncatedIPCAC", "--set", "n_whitened=4", scale]
    whole = run("fit", folder / "all.csv", *how, "-o", tmp_path / "whole")
    done = run("fit", folder / source, *how, "--engine", "dask", "-o", tmp_path / "blocks")
    assert (whole.exit_code, done.exit_code) == (0, 0), done.output
    assert "178 rows, 13 features, 3 classes" in done.output
    models = [load(tmp_path / name) for name in ("whole", "blocks")]
    rows = pd.read_csv(folder / "all.csv").drop(columns="kind")
    expected, found = (projected(model, rows) for model in models)
    assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())
    assert models[1].n_features_in_ == 13
    if source != "wine.zarr":
        predicted = run("predict", tmp_path / "blocks", folder / "all.csv")
        assert predicted.exit_code == 0, predicted.output
        assert_array_equal(models[1].predict(rows), models[0].predict(rows))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["parquet", "-m", "SparseLDG"],
            "SparseLDG looks at all rows together: --engine dask fits",
        ),
        (["parquet", "--missing", "mean"], "--missing mean needs rows in memory"),
        (["parquet", "--decision", "3nn"], "--decision 3nn needs rows in memory"),
        (["parquet", "-t", "kinds"], "kinds"),
        (["nothing*.csv"], "there is no file"),
        (["."], "directory of one kind"),
        (["parquet", "-t", "hue"], "1 of 13 columns are not numbers: 'kind'"),
        (["parquet", "-m", "KernelFisherDiscriminant"], "set n_landmarks"),
    ],
)
def test_what_cannot_be_done_block_by_block_is_said(folder, tmp_path, args, message):
    source, *rest = args
    output = tmp_path / "model"
    done = run("fit", folder / source, *rest, "--engine", "dask", "-o", output)
    assert done.exit_code == (2 if "rows in memory" in message else 1), done.output
    assert message in done.output
    assert not output.exists()


def test_without_dask_the_command_says_what_to_install(folder, tmp_path, monkeypatch):
    for name in [n for n in sys.modules if n.partition(".")[0] in ("dask", "distributed")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dask", None)
    done = run("fit", folder / "parquet", "--engine", "dask", "-o", tmp_path / "model")
    assert done.exit_code == 1
    assert "pip install 'separatrix[dask" in done.output


def test_text_is_read_as_it_is_in_memory(tmp_path):
    rows = [f"{i * 0.5},{(i * i) % 7},{'01' if i % 2 else '02'}" for i in range(12)]
    (tmp_path / "t.csv").write_text("a,b,kind\n" + "\n".join(rows) + "\n")
    assert run("fit", tmp_path / "t.csv", "--engine", "dask", "-o", tmp_path / "m").exit_code == 0
    assert load(tmp_path / "m").classes_.tolist() == ["01", "02"]
    table = open_table(str(tmp_path / "t.csv"), ignore=("kind",))
    assert table.target == "b"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "a,b,kind\n" + "1,2,3,x\n" * 9 + "2,1,3,y\n",
            "lines have 4 values, but there are 3 names",
        ),
        ("a,a,kind\n1,2,x\n2,1,y\n", "'a'"),
        ("1,2,x\n3,4,y\n5,6,x\n", "--no-header"),
    ],
)
def test_lines_unlike_their_names_are_refused(tmp_path, text, words):
    (tmp_path / "t.csv").write_text(text)
    done = run("fit", tmp_path / "t.csv", "--engine", "dask", "-o", tmp_path / "m")
    assert done.exit_code == 1
    assert words in " ".join(done.output.split())


def files(place, *parts, **how):
    """A directory of csv files."""
    place.mkdir()
    for i, part in enumerate(parts):
        part.to_csv(place / f"{i}.csv", **{"index": False, **how})
    return place


def small(n=40):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    rows = rng.normal(size=(n, 3)) + 3 * y[:, None] * [1, 0, -1]
    return pd.DataFrame(rows, columns=list("abc")).assign(kind=np.array(["u", "v"])[y])


def lazily(source, tmp_path, *how):
    done = run("fit", source, "--engine", "dask", "-o", tmp_path / "model", *how)
    return done.exit_code, " ".join(done.output.split())


def test_columns_of_every_file_are_known_by_their_names(tmp_path):
    frame = small()
    swapped = frame[20:][["b", "kind", "a", "c"]]
    lazily(files(tmp_path / "swapped", frame[:20], swapped), tmp_path, "--no-scale")
    run("fit", tmp_path / "swapped" / "0.csv", "-o", tmp_path / "half", "--no-scale")
    whole = load(tmp_path / "half").fit(frame[["a", "b", "c"]], frame["kind"])
    assert_allclose(load(tmp_path / "model").components_, whole.components_, rtol=1e-9)


def test_files_of_other_columns_are_refused_by_name(tmp_path):
    frame = small()
    fewer = files(tmp_path / "fewer", frame[:20], frame[20:].drop(columns="b"))
    code, said = lazily(fewer, tmp_path)
    assert code == 1
    assert "1.csv has other columns than" in said
    assert "0.csv has 'b'" in said
    nameless = files(tmp_path / "nameless", frame[:20])
    frame[20:].to_csv(nameless / "1.csv", index=False, header=False)
    code, said = lazily(nameless, tmp_path)
    assert code == 1
    assert "1.csv has other columns than" in said


@pytest.mark.parametrize("scale", ["--scale", "--no-scale"])
@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("b", np.nan, "block 1: Input X contains NaN in column 'b'"),
        ("b", "oops", "1.csv): column 'b' has 'oops' among numbers"),
        ("kind", None, "1.csv): column 'kind' has no label in 1 of 20 rows"),
    ],
    ids=["nan", "text", "label"],
)
def test_what_is_wrong_is_said_with_block_and_column(tmp_path, scale, column, value, words):
    frame = small().astype(object)
    frame.loc[25, column] = value
    code, said = lazily(files(tmp_path / "d", frame[:20], frame[20:]), tmp_path, scale)
    assert code == 1
    assert words in said
    assert "Warning" not in said


def test_numbers_of_parquet_files_are_named_by_their_block(tmp_path):
    frame = small()
    frame["b"] = pd.array(range(40), dtype="Int64")
    frame.loc[25, "b"] = pd.NA
    (tmp_path / "d").mkdir()
    for i in range(2):
        frame[20 * i :][:20].to_parquet(tmp_path / "d" / f"{i}.parquet", index=False)
    code, said = lazily(tmp_path / "d", tmp_path)
    assert code == 1
    assert "block 1: " in said


def test_fractions_may_be_names_in_some_blocks(tmp_path):
    frame = small()
    frame["kind"] = ["1.5"] * 10 + ["2.5"] * 10 + ["beta"] * 20
    code, said = lazily(files(tmp_path / "d", frame[:20], frame[20:]), tmp_path)
    assert code == 0, said
    assert load(tmp_path / "model").classes_.tolist() == ["1.5", "2.5", "beta"]
    for scale in ("--scale", "--no-scale"):
        code, said = lazily(tmp_path / "d" / "0.csv", tmp_path, scale)
        assert code == 1
        assert "holds numbers such as 1.5, not classes" in said


@pytest.mark.parametrize(
    ("how", "passes"),
    [
        (["--no-scale"], 1),
        ([], 2),
        (["-m", "FisherDiscriminant", "--set", "shrinkage=auto"], 2),
        (["-m", "KernelFisherDiscriminant", "--set", "n_landmarks=5"], 3),
    ],
    ids=["plain", "scale", "shrinkage", "kernel"],
)
def test_files_are_read_once_for_each_pass(tmp_path, monkeypatch, how, passes):
    read, calls = dask_tables.read_part, []

    def counted(part, reading, n_rows=None):
        if n_rows is None:
            calls.append(part.name[-5])
        return read(part, reading, n_rows)

    monkeypatch.setattr(dask_tables, "read_part", counted)
    frame = small()
    code, said = lazily(files(tmp_path / "d", frame[:15], frame[15:]), tmp_path, *how)
    assert code == 0, said
    assert "40 rows" in said
    assert sorted(calls) == sorted(["0", "1"] * passes)


def test_zarr_groups_have_one_column_of_labels(folder, tmp_path):
    code, said = lazily(folder / "wine.zarr", tmp_path, "-t", "hue")
    assert code == 1
    assert "there is no column 'hue'" in said
    code, said = lazily(folder / "wine.zarr", tmp_path, "-t", "y")
    assert code == 0, said
    import zarr

    group = zarr.open_group(tmp_path / "one.zarr", mode="w")
    group.create_array("X", data=np.arange(9.0), chunks=(5,))
    group.create_array("y", data=np.arange(9) % 2, chunks=(5,))
    code, said = lazily(tmp_path / "one.zarr", tmp_path)
    assert code == 1
    assert "one.zarr holds float64 of shape (9,): rows are a table of numbers" in said


def test_hidden_files_are_passed_over(tmp_path):
    frame = small()
    place = files(tmp_path / "d", frame)
    for hidden in (".ipynb_checkpoints", "_old"):
        files(place / hidden, frame)
    code, said = lazily(place, tmp_path)
    assert code == 0
    assert "40 rows" in said


@pytest.mark.parametrize("shuffled", [False, True])
def test_the_index_of_a_parquet_file_is_no_feature(tmp_path, shuffled):
    frame = small().sample(frac=1, random_state=0) if shuffled else small()
    frame.index.name = "id"
    frame.to_parquet(tmp_path / "t.parquet")
    code, said = lazily(tmp_path / "t.parquet", tmp_path)
    assert code == 0, said
    assert "40 rows, 3 features" in said


def test_files_without_rows_are_passed_over(tmp_path):
    frame = small()
    code, said = lazily(files(tmp_path / "d", frame[:0], frame), tmp_path)
    assert code == 0, said
    assert "40 rows, 3 features" in said
    code, said = lazily(tmp_path / "d" / "0.csv", tmp_path)
    assert code == 1
    assert "there are no rows in" in said
