"""`separatrix forget`: the model that never saw some rows."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from separatrix import load
from separatrix.files.model import read
from tests.cli.running import flowers, refused, run


def fitted(*options):
    frame = flowers(90).drop(columns="plant")
    frame["v1"] = 1000 * frame["v1"] + 5000
    frame.to_csv("all.csv", index=False)
    frame[:12].to_csv("gone.csv", index=False)
    frame[12:].to_csv("rest.csv", index=False)
    for name in ("all", "rest"):
        run("fit", f"{name}.csv", "-o", f"{name}.model", "-q", *options)
    return frame


@pytest.mark.parametrize(
    "options",
    [(), ("--no-scale",), ("-m", "QuadraticDiscriminant"), ("-m", "IPCAC")],
    ids=" ".join,
)
def test_the_model_is_the_one_that_never_saw_the_rows(options):
    X = fitted(*options)[["v0", "v1", "v2"]]
    done = run("forget", "all.model", "gone.csv", "-o", "new.model", "--json")
    record = json.loads(done.stdout)
    assert (record["forgotten"], record["rows"]) == (12, 78)
    found, expected = (load(m).decision_function(X) for m in ("new.model", "rest.model"))
    assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    assert read("new.model").notes["rows"] == 78


def test_the_certificate_has_hashes_counts_and_the_residual():
    frame = fitted()
    before = Path("all.model").read_bytes()
    run("forget", "all.model", "gone.csv", "-o", "new.model", "--certificate", "c.json")
    said = json.loads(Path("c.json").read_text())
    assert Path("all.model").read_bytes() == before
    for key, name in (("model_before", "all.model"), ("model_after", "new.model")):
        digest = hashlib.sha256(Path(name).read_bytes()).hexdigest()
        assert said[key] == {"file": name, "sha256": digest}
    assert said["rows"]["count"] == 12
    assert said["counts_before"] == frame["kind"].value_counts().to_dict()
    assert said["counts_after"] == frame[12:]["kind"].value_counts().to_dict()
    assert 0 < said["residual"] < 1e-12
    run("forget", "all.model", "rest.csv", "-o", "b.model", "--certificate", "d.json")
    other = json.loads(Path("d.json").read_text())
    assert other["rows"]["sha256"] != said["rows"]["sha256"]


def test_a_class_may_leave_as_a_whole():
    frame = fitted()
    frame[frame["kind"] == "ash"].to_csv("ash.csv", index=False)
    said = run("forget", "all.model", "ash.csv", "-o", "new.model").stdout
    assert "nothing is left of class ash" in said
    assert load("new.model").classes_.tolist() == ["birch", "cedar"]


def test_rows_that_were_not_part_of_the_model_are_refused():
    frame = fitted()
    frame.assign(v0=frame["v0"] * 100)[:12].to_csv("other.csv", index=False)
    frame.assign(kind="oak")[:12].to_csv("oak.csv", index=False)
    frame.drop(columns="kind")[:12].to_csv("bare.csv", index=False)
    assert "not part of what was added" in refused("forget", "all.model", "other.csv", "-o", "m")
    assert "oak.csv has labels that all.model never learned: 'oak'" in refused(
        "forget", "all.model", "oak.csv", "-o", "m"
    )
    assert "has no labels" in refused("forget", "all.model", "bare.csv", "-o", "m")
    assert "nothing would be left" in refused("forget", "all.model", "all.csv", "-o", "m")
    assert "is read by this command" in refused(
        "forget", "all.model", "gone.csv", "-o", "all.model"
    )
    run("fit", "all.csv", "-m", "LDG", "--set", "gamma=0.5", "-o", "ldg.model", "-q")
    assert "cannot be taken out of ldg.model" in refused(
        "forget", "ldg.model", "gone.csv", "-o", "m"
    )
    assert not Path("m").exists()


def test_rows_are_forgotten_once():
    """Statistics cannot tell rows that are gone from rows that are there: the file remembers."""
    frame = fitted()
    run("forget", "all.model", "gone.csv", "-o", "new.model", "--certificate", "c.json")
    assert "new.model has forgotten the rows of gone.csv before" in refused(
        "forget", "new.model", "gone.csv", "-o", "m"
    )
    frame[12:20].to_csv("more.csv", index=False)
    run("forget", "new.model", "more.csv", "-o", "newer.model")
    assert "before" in refused("forget", "newer.model", "gone.csv", "-o", "m")
    assert "if they were among those it had learned" in Path("c.json").read_text()
