"""Streams from any kind of table."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import (
    load,
)
from tests.cli.running import refused, run, stream_file


@pytest.mark.parametrize("form", ["parquet", "npz", "arff"])
def test_a_stream_may_be_any_table(form):
    frame = stream_file(1000)
    features = ["v0", "v1", "v2", "v3"]

    def written(n):
        part = frame[:n]
        if form == "parquet":
            part.to_parquet("stream.parquet", row_group_size=130)
        elif form == "npz":
            np.savez("stream.npz", X=part[features], y=part["state"].to_numpy(dtype=str),
                     feature_names=features)  # fmt: skip
        else:
            lines = ["@relation t", *(f"@attribute {v} numeric" for v in features)]
            lines += ["@attribute state {low,high}", "@data"]
            lines += [
                ",".join(map(repr, row)).replace("'", "") for row in part.to_numpy().tolist()
            ]
            Path("stream.arff").write_text("\n".join(lines))

    if form == "parquet":
        pytest.importorskip("pyarrow")
    options = [f"stream.{form}", "--batch-size", "100"]
    written(1000)
    run("stream", *options, "-o", "whole.model")
    run("stream", "stream.csv", "--batch-size", "100", "-o", "text.model")
    whole, text = (
        load(name).predict_proba(frame[features]) for name in ("whole.model", "text.model")
    )
    assert_allclose(whole, text, rtol=1e-9)
    written(400)
    run("stream", *options, "-o", "a.model")
    written(1000)
    record = json.loads(run("stream", *options, "-o", "a.model", "--resume", "--json").stdout)
    assert (record["resumed_after"], record["rows"]) == (400, 1000)
    assert_array_equal(load("a.model").predict_proba(frame[features]), whole)
    written(300)
    assert "700 rows shorter" in refused("stream", *options, "-o", "a.model", "--resume")
    frame.loc[3, "v0"] = 7.0
    written(1000)
    assert "not the rows that were learned before" in refused(
        "stream", *options, "-o", "a.model", "--resume"
    )


def test_a_bundled_set_may_be_streamed():
    options = ("--batch-size", "50", "--open-classes", "--json")
    record = json.loads(run("stream", "wine", *options).stdout)
    assert (record["rows"], len(record["classes"])) == (178, 3)
