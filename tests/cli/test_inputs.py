"""Tables and models as people have them: what is read, and what is said about mistakes."""

from __future__ import annotations

import gzip
import io
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import (
    FisherDiscriminant,
    load,
    save,
)
from separatrix.cli import console
from separatrix.files.tables import read_table
from tests.cli.running import (
    ENVIRONMENT,
    fitted,
    flowers,
    predicted,
    refused,
    run,
)
from tests.discovery import labelled


def test_models_made_in_python_without_names_are_used_by_position():
    X, y = labelled(40, 3)
    save(FisherDiscriminant().fit(X, y), "a.model")
    pd.DataFrame(X, columns=list("abc")).to_csv("new.csv", index=False)
    found = pd.read_csv(io.StringIO(run("predict", "a.model", "new.csv").stdout))
    assert_array_equal(found["prediction"], load("a.model").predict(X))
    pd.DataFrame(X[:, :2], columns=list("ab")).to_csv("new.csv", index=False)
    assert "knows 3 features without names, but the table has 2" in refused(
        "predict", "a.model", "new.csv"
    )


def test_gaps_and_columns_of_new_rows_are_checked(table):
    run("fit", "flowers.csv", "--id", "plant", "-o", "a.model")
    table.loc[3, "v1"] = None
    table.to_csv("gaps.csv", index=False)
    assert "missing in 1 of 60 rows: 'v1' 1" in refused("predict", "a.model", "gaps.csv")
    table["v1"] = "tall"
    table.to_csv("text.csv", index=False)
    message = refused("predict", "a.model", "text.csv")
    assert "'v1' holds numbers in the model; here: the only value 'tall'" in message
    named = run("predict", "a.model", "flowers.csv").stderr
    assert "Not in the model, so left out: plant" in named
    assert "left out" not in run("predict", "a.model", "flowers.csv", "-q").stderr


def test_a_damaged_model_is_refused(table):
    run("fit", "flowers.csv", "--id", "plant", "-o", "a.model")
    content = bytearray(Path("a.model").read_bytes())
    content[len(content) // 2] ^= 1
    Path("a.model").write_bytes(bytes(content))
    assert "was altered after it was written" in refused("predict", "a.model", "flowers.csv")


def test_words_that_look_like_numbers_stay_words(bare_table):
    rng = np.random.default_rng(0)
    bare_table["flag"] = rng.choice(["True", "False", "unknown"], 60)
    bare_table["code"] = rng.choice(["01", "02", "a7"], 60)
    bare_table.to_csv("flowers.csv", index=False)
    fitted("-t", "kind", "--categorical", "onehot")
    model = load("a.model")
    plain = bare_table[(bare_table["flag"] != "unknown") & (bare_table["code"] != "a7")]
    plain.to_csv("new.csv", index=False)
    found, said = predicted("new.csv", "--proba")
    assert "unknown" not in said
    assert_allclose(found.iloc[:, 1:], model.predict_proba(plain.drop(columns="kind")))
    pytest.importorskip("pyarrow")
    plain.assign(flag=plain["flag"] == "True").to_parquet("new.parquet")
    assert_array_equal(predicted("new.parquet", "--proba")[0], found)


def test_unknown_words_are_counted(bare_table):
    bare_table["place"] = np.where(bare_table["kind"] == "ash", "hill", "river")
    bare_table.to_csv("flowers.csv", index=False)
    fitted("-t", "kind", "--categorical", "onehot")
    bare_table.loc[:4, "place"] = "lake"
    bare_table.to_csv("new.csv", index=False)
    said = "5 of 60 values of 'place' are unknown to the model, such as 'lake'"
    assert said in predicted("new.csv")[1]


def test_numbers_in_order_are_names():
    """Spectra have wavelengths, and tables made in Python count their columns."""
    X = np.random.default_rng(0).normal(size=(20, 3))
    for names in (["400", "402.5", "405"], ["0", "1", "2"], ["9", "5", "1"]):
        frame = pd.DataFrame(X, columns=names).assign(kind=["x", "y"] * 10)
        frame.to_csv("a.csv", index=False)
        fitted(data="a.csv")
        assert len(predicted("a.csv")[0]) == 20
        frame.drop(columns="kind").to_csv("new.csv", index=False)
        assert len(predicted("new.csv")[0]) == 20
    frame.set_axis(["3", "1", "2", "0"], axis=1).to_csv("a.csv", index=False)
    fitted("-t", "0", data="a.csv")


def test_what_was_learned_from_is_not_asked_of_new_rows(bare_table):
    bare_table["place"] = np.where(bare_table["kind"] == "ash", "hill", "river")
    bare_table.to_csv("flowers.csv", index=False)
    fitted("-t", "kind", "--categorical", "onehot", "--missing", "median")
    new = bare_table[:3].assign(place=["hill", "river", "lake"], v1=None)
    new.to_csv("new.csv", index=False)
    assert len(predicted("new.csv")[0]) == 3
    run("transform", "a.model", "new.csv")
    new.assign(place=None).to_csv("new.csv", index=False)
    assert len(predicted("new.csv")[0]) == 3
    fitted("-t", "kind", "--ignore", "place")
    message = refused("predict", "a.model", "new.csv")
    assert "Leave out these rows, or fit the model with --missing median" in message
    new.assign(kind=0.5, v1=1.0).to_csv("new.csv", index=False)
    assert "Labels are not compared: column 'kind' holds numbers" in predicted("new.csv")[1]


def damaged():
    frame = flowers()
    text = frame.to_csv(index=False).encode()
    packed = gzip.compress(text)
    X = frame[["v0", "v1"]].to_numpy()
    array, arrays = io.BytesIO(), io.BytesIO()
    np.save(array, X)
    np.savez(arrays, X=X, y=frame["kind"].to_numpy(dtype=str))
    return {
        "cut.csv.gz": packed[: len(packed) // 2],
        "bad.csv.gz": packed[:40] + bytes(40) + packed[80:],
        "plain.csv.gz": text,
        "array.npz": array.getvalue(),
        "text.npz": text,
        "cut.npz": arrays.getvalue()[:-200],
        "text.arff": text,
        "text.parquet": text,
        "utf16.csv": text.decode().encode("utf-16"),
        "latin.csv": text.replace(b"ash", "Tür".encode("latin-1")),
        "later.csv": text + "1,2,3,4,Tür\n".encode("latin-1"),
        "binary.csv": bytes(range(256)) * 20,
        "empty.csv": b"",
        "empty.npz": b"",
        "empty.parquet": b"",
        "empty.arff": b"",
        "blank.csv": b"\n\n  \n",
        "head.csv": b"a,b,kind\n",
    }


@pytest.mark.parametrize("name", damaged())
def test_damaged_files_are_the_files_fault(name):
    Path(name).write_bytes(damaged()[name])
    for command in ("fit", "stream"):
        message = refused(command, name, "-o", "a.model")
        assert len(message) < 400
        assert not Path("a.model").exists()
    if name in ("utf16.csv", "latin.csv", "later.csv"):
        assert "save it in that encoding" in refused("compare", name)
    if name == "array.npz":
        assert "numpy.savez" in refused("compare", name)


def test_packed_files_of_every_format(bare_table):
    lines = ["@relation t", *(f"@attribute v{i} numeric" for i in range(3))]
    lines += ["@attribute kind {ash,birch,cedar}", "@data"]
    lines += [",".join(map(str, row)) for row in bare_table.to_numpy()]
    Path("t.arff.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    assert_allclose(read_table("t.arff.gz").X, bare_table[["v0", "v1", "v2"]])


def test_a_table_may_come_through_a_pipe(bare_table):
    fitted()
    os.mkfifo("pipe")
    np.savez("t.npz", X=bare_table[["v0", "v1", "v2"]], y=bare_table["kind"].to_numpy(dtype=str))
    for form, content in [("csv", "flowers.csv"), ("npz", "t.npz")]:
        writer = subprocess.Popen(["sh", "-c", f"cat {content} > pipe"])
        run("fit", "pipe", "--format", form, "-o", "b.model", "--no-scale")
        assert writer.wait() == 0
    writer = subprocess.Popen(["sh", "-c", "cat a.model > pipe"])
    try:
        assert "pipe is a pipe: models are read from files" in refused(
            "predict", "pipe", "flowers.csv"
        )
    finally:
        writer.kill()
        writer.wait()


def test_standard_input_that_is_closed_is_told():
    command = f"{shlex.quote(sys.executable)} -m separatrix compare - <&-"
    done = subprocess.run(
        ["sh", "-c", command], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == console.INPUT_ERROR
    assert "standard input is closed" in done.stderr


def test_a_column_that_is_the_label_is_said_before_any_work(table):
    table["code"] = (table["kind"] == "ash").astype(float)
    table["site"] = 1.0
    table.to_csv("flowers.csv", index=False)
    found = run("fit", "flowers.csv", "-t", "kind", "--id", "plant", "-o", "m.model")
    assert ("'code' is the label in other words" in found.stderr) == (table["kind"].nunique() == 2)
    assert "Column 'site' is the same in every row" in found.stderr
