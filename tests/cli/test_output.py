"""Results are written as their name says, and nothing is overwritten that is still needed."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from tests.cli.running import fitted, refused, run


@pytest.mark.parametrize("form", ["csv", "tsv", "npz", "parquet"])
def test_results_are_written_in_the_format_of_the_name(table, form):
    if form == "parquet":
        pytest.importorskip("pyarrow")
    run("fit", "flowers.csv", "--id", "plant", "-o", "a.model", "--quiet")
    name = f"found.{form}"
    run("predict", "a.model", "flowers.csv", "-o", name, "--keep", "plant")
    printed = pd.read_csv(io.StringIO(run("predict", "a.model", "flowers.csv").stdout))
    match form:
        case "npz":
            found = np.load(name)["prediction"]
        case "parquet":
            found = pd.read_parquet(name)["prediction"]
        case _:
            found = pd.read_csv(name, sep="\t" if form == "tsv" else ",")["prediction"]
    assert_array_equal(found, printed["prediction"])


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_an_output_that_may_not_be_written_is_told_at_once(table, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    assert "not permitted" in refused("fit", "wine", "-o", "closed/a.model")


def test_a_full_disk_is_noticed_before_any_work(table, monkeypatch):
    class Full(io.BytesIO):
        def write(self, content):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: Full())
    message = refused("compare", "flowers.csv", "--report", "r.html")
    assert message == "Error: r.html cannot be written: No space left on device"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("early flowers.csv --test new.csv -o new.csv", "new.csv is read by this command"),
        ("early flowers.csv -o b.csv --model ./b.csv", "b.csv is to be written twice"),
        ("compare flowers.csv --results x --report ./x", "x is to be written twice"),
        ("compare flowers.csv --results flowers.csv", "flowers.csv is read by this command"),
        ("compare flowers.csv --report -", "- is no file"),
        ("merge a.model b.model -o a.model", "a.model is read by this command"),
        ("merge a.model ./a.model -o all.model", "a.model is named twice"),
        ("merge a.model linked.model -o all.model", "linked.model is named twice"),
        ("fit flowers.csv -o .", "is a directory"),
        ("transform a.model flowers.csv -o z.parquet.gz", "does not name a format"),
        ("fit flowers.csv -m  -o b", "there is no method ''"),
        ("compare flowers.csv --methods raw,", "there is no method ''"),
        ("fit flowers.csv -m EarlyClassifier -o b", "use `separatrix early`"),
        ("fit flowers.csv -t kind --ignore kind -o b", "'kind' is the target, and it is ignored"),
    ],
)
def test_what_would_be_lost_is_refused_before_any_work(arguments, message, bare_table):
    for name in ("a.model", "b.model"):
        run("fit", "flowers.csv", "--no-scale", "-o", name, "-q")
    os.link("a.model", "linked.model")
    bare_table.to_csv("new.csv", index=False)
    before = {name: Path(name).read_bytes() for name in os.listdir()}
    code = 2 if "directory" in message else 1
    assert message in refused(*arguments.split(" "), code=code)
    assert {name: Path(name).read_bytes() for name in os.listdir()} == before


def test_a_result_beside_columns_of_its_name_is_refused(bare_table):
    fitted()
    bare_table["prediction"] = 1
    bare_table.to_csv("new.csv", index=False)
    options = ["predict", "a.model", "new.csv", "--keep", "prediction"]
    assert "'prediction' cannot be kept with the result" in refused(*options)
    assert "'prediction' cannot be kept" in refused(*options, "-o", "b.npz")
