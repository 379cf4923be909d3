"""Every command reads every kind of source, by the same options."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.running import flowers, refused, run

FEATURES = ["v0", "v1", "v2"]


def table():
    return flowers(48).drop(columns="plant")


def write_arff(frame):
    lines = ["@relation t", *(f"@attribute {v} numeric" for v in FEATURES)]
    lines += ["@attribute kind {ash,birch,cedar}", "@data"]
    Path("t.arff").write_text("\n".join([*lines, *frame.to_csv(header=False).splitlines()]))
    rows = [",".join(map(str, row)) for row in frame.to_numpy().tolist()]
    Path("t.arff").write_text("\n".join([*lines, *rows]))


def write_series(frame):
    rows = [f"{','.join(map(str, row[:3]))}:{row[3]}" for row in frame.to_numpy().tolist()]
    Path("t.ts").write_text("@problemName t\n@data\n" + "\n".join(rows) + "\n")


def write_database(frame):
    with closing(sqlite3.connect("t.db")) as connection:
        frame.to_sql("t", connection, index=False)


def write_arrays(frame):
    X, y = frame[FEATURES].to_numpy(), frame["kind"].to_numpy(dtype=str)
    np.savez("t.npz", X=X, y=y, site=np.arange(len(y)) % 4, feature_names=FEATURES)
    np.save("t.npy", X)
    np.save("labels.npy", y)
    Path("labels.csv").write_text("\n".join(["kind", *y]))
    np.savez("epochs.npz", X=X[:, None, :], y=y, channels=["Cz"], subject=np.arange(len(y)) % 4)


def write_folder(frame):
    Path("days").mkdir()
    for i in range(3):
        frame[16 * i :][:16].to_csv(f"days/{i}.csv", index=False)


def write_turned(frame):
    named = frame[FEATURES].set_axis([f"s{i}" for i in range(len(frame))])
    turned = named.T.rename_axis("gene").reset_index()
    turned.insert(1, "description", ["long", "wide", "high"])
    turned.to_csv("genes.tsv", index=False, sep="\t")
    sheet = pd.DataFrame({"sample": named.index, "batch": 1, "kind": frame["kind"].to_numpy()})
    sheet.sample(frac=1, random_state=0).to_csv("samples.csv", index=False)


def write_lines(frame):
    frame.to_csv("t.csv", index=False)
    Path("t.csv.gz").write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    Path("old.csv").write_bytes(frame.to_csv(index=False, lineterminator="\r").encode())
    frame.to_csv("t.txt", index=False, sep=";", decimal=",")
    frame.to_csv("bare.csv", index=False, header=False)


SOURCES = {
    "csv": (write_lines, ["t.csv"]),
    "packed": (write_lines, ["t.csv.gz"]),
    "single CR": (write_lines, ["old.csv"]),
    "semicolons": (write_lines, ["t.txt", "--format", "csv", "--sep", ";", "--decimal", ","]),
    "no names": (write_lines, ["bare.csv", "--no-header"]),
    "parquet": (lambda f: f.to_parquet("t.parquet", index=False), ["t.parquet"]),
    "excel": (lambda f: f.to_excel("t.xlsx", index=False), ["t.xlsx"]),
    "arff": (write_arff, ["t.arff"]),
    "series": (write_series, ["t.ts"]),
    "npz": (write_arrays, ["t.npz"]),
    "epochs": (write_arrays, ["epochs.npz"]),
    "npy": (write_arrays, ["t.npy", "--labels", "labels.npy"]),
    "npy and lines": (write_arrays, ["t.npy", "--labels", "labels.csv"]),
    "folder": (write_folder, ["days"]),
    "pattern": (write_folder, ["days/*.csv"]),
    "database": (write_database, ["sqlite:///t.db?table=t"]),
    "bundled": (lambda f: None, ["iris"]),
    "turned": (
        write_turned,
        ["genes.tsv", "--transposed", "--ignore", "description", "--samples", "samples.csv"],
    ),
}
COMMANDS = {
    "fit": ["fit", "-o", "b.model"],
    "predict": ["predict", "a.model", "-o", "found.csv"],
    "transform": ["transform", "a.model", "-o", "found.csv"],
    "compare": ["compare", "--methods", "FisherDiscriminant", "--splits", "2"],
    "early": ["early", "--judge", "prefix", "--calibrate", "0.3"],
    "stream": ["stream", "-o", "s.model", "--batch-size", "20", "--open-classes"],
    "forget": ["forget", "a.model", "-o", "less.model"],
}
NEEDS = {"parquet": "pyarrow", "excel": "openpyxl"}


@pytest.mark.parametrize("source", SOURCES)
def test_every_command_reads_every_source(source):
    pytest.importorskip(NEEDS.get(source, "pandas"))
    write, data = SOURCES[source]
    write(table())
    run("fit", *data, "-o", "a.model")
    expected = 150 if source == "bundled" else 48
    for name, (command, *options) in COMMANDS.items():
        if name == "forget":
            message = refused(command, *options[:1], *data, *options[1:])
            assert "these are all the rows there are" in message
            continue
        place = 1 if name in ("predict", "transform") else 0
        record = json.loads(
            run(command, *options[:place], *data, *options[place:], "--json").stdout
        )
        if name != "early":
            assert record["rows"] == expected, name
        if name == "predict":
            assert record["accuracy"] > 0.6
