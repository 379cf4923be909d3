"""`separatrix merge`: the model of all rows."""

from __future__ import annotations

import json
from pathlib import Path

from numpy.testing import assert_allclose

from separatrix import (
    FisherDiscriminant,
    load,
)
from separatrix.io.models import read
from tests.cli.running import flowers, refused, run, stream_file


def test_sites_are_merged():
    frame = flowers(90).drop(columns="plant")
    for i in range(3):
        frame[i::3].to_csv(f"site{i}.csv", index=False)
        run("fit", f"site{i}.csv", "--no-scale", "-o", f"site{i}.model", "-q")
    done = run("merge", *(f"site{i}.model" for i in range(3)), "-o", "all.model", "--json")
    assert json.loads(done.stdout)["rows"] == 90
    X, y = frame[["v0", "v1", "v2"]], frame["kind"]
    whole = FisherDiscriminant().fit(X, y)
    assert_allclose(load("all.model").components_, whole.components_, atol=1e-12)


def test_only_what_can_be_merged_is():
    flowers().drop(columns="plant").to_csv("a.csv", index=False)
    run("fit", "a.csv", "-o", "scaled.model")
    run("fit", "a.csv", "--no-scale", "-o", "a.model")
    run("fit", "a.csv", "--no-scale", "-m", "IPCAC", "-o", "b.model")
    run("fit", "a.csv", "--no-scale", "-m", "GSVDDiscriminant", "-o", "c.model")
    assert "fit models to be merged with --no-scale" in refused("merge", "scaled.model", "-o", "m")
    assert "only models of one kind" in refused("merge", "a.model", "b.model", "-o", "m")
    assert "model 1 is b.model" in refused("merge", "a.model", "b.model", "-o", "m")
    assert "c.model is a GSVDDiscriminant, which cannot" in refused("merge", "c.model", "-o", "m")
    said = run("merge", "a.model", "-o", "m", code=2).stderr
    assert "a.model is one model: give two or more" in said
    assert not Path("m").exists()


def test_merged_models_are_those_of_no_stream():
    frame = stream_file(400)
    for i in range(2):
        frame[i::2].to_csv(f"site{i}.csv", index=False)
        run("stream", f"site{i}.csv", "-o", f"site{i}.model")
    run("merge", "site0.model", "site1.model", "-o", "all.model")
    assert not {"stream", "head"} & set(read("all.model").notes)
    assert read("all.model").notes["rows"] == 400
    assert "cannot be resumed" in refused("stream", "site0.csv", "-o", "all.model", "--resume")
