"""`separatrix forget`: the model that never saw some rows."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import load
from separatrix.cli.forget import NAMESPACE, digest_rows, take_digests
from separatrix.files.model import read
from tests.cli.running import flowers, refused, run

BY_MOMENTS = ("--set", "shrinkage=moments")


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
    [BY_MOMENTS, ("--no-scale", *BY_MOMENTS), ("-m", "QuadraticDiscriminant"), ("-m", "IPCAC")],
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
    frame[12:20].to_csv("more.csv", index=False)
    run("forget", "new.model", "more.csv", "-o", "newer.model")
    frame[:12][::-1].to_csv("turned.csv", index=False)
    frame[3:5].to_csv("some.csv", index=False)
    frame[11:14].to_parquet("both.parquet", index=False)
    for name, n in (("gone.csv", 12), ("turned.csv", 12), ("some.csv", 2), ("both.parquet", 1)):
        said = refused("forget", "new.model", name, "-o", "m")
        assert f"new.model has forgotten {n} of the" in said
    assert "before" in refused("forget", "newer.model", "gone.csv", "-o", "m")
    assert "if they were among those it had learned" in Path("c.json").read_text()


def test_rows_that_were_never_learned_are_refused_where_they_are_remembered():
    frame = fitted("--remember")
    other = frame[:12].copy()
    other.loc[5, "v0"] += 0.01
    other.to_csv("other.csv", index=False)
    assert "never learned 1 of the 12 rows of other.csv, first row 6" in refused(
        "forget", "all.model", "other.csv", "-o", "m"
    )
    run("forget", "all.model", "gone.csv", "-o", "new.model")
    assert "has forgotten 12 of the 12" in refused("forget", "new.model", "gone.csv", "-o", "m")
    twice = pd.concat([frame[20:22], frame[20:22]])
    twice.to_csv("twice.csv", index=False)
    assert "never learned 2 of the 4 rows" in refused(
        "forget", "new.model", "twice.csv", "-o", "m"
    )
    run("merge", "new.model", "rest.model", "-o", "both.model", "-q")
    frame[12:14].to_csv("again.csv", index=False)
    run("forget", "both.model", "again.csv", "-o", "m")
    notes = json.loads(run("info", "both.model", "--json").stdout)["notes"]
    assert notes["learned"] == 156


def test_digests_know_rows_in_any_format():
    frame = pd.DataFrame({"a": [0.0, 1.5, np.nan], "b": ["x", "y", "x"]})
    labels = np.array(["u", "v", "u"])
    digests = digest_rows(frame, labels)
    assert len(set(digests.tolist())) == 3
    assert_array_equal(digest_rows(frame.assign(a=[-0.0, 1.5, np.nan]), labels), digests)
    assert (digest_rows(frame, labels[::-1]) == digests).tolist() == [True, True, True]
    assert (digest_rows(frame, ["v", "v", "v"]) == digests).tolist() == [False, True, False]
    left, absent = take_digests(digests, np.array([digests[0], digests[0], 7], np.uint64))
    assert absent.tolist() == [False, True, True]
    assert_array_equal(left, np.sort(digests[1:]))


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen")
def test_a_certificate_is_signed_by_a_key():
    fitted()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "key"], check=True)
    run("forget", "all.model", "gone.csv", "-o", "new.model", "--certificate", "c.json",
        "--key", "key")  # fmt: skip
    Path("signers").write_text(f"me {Path('key.pub').read_text()}")
    check = ["ssh-keygen", "-Y", "verify", "-f", "signers", "-I", "me", "-n", NAMESPACE,
             "-s", "c.json.sig"]  # fmt: skip
    content = Path("c.json").read_bytes()
    assert subprocess.run(check, input=content, capture_output=True, check=False).returncode == 0
    changed = content.replace(b'"count": 12', b'"count": 13')
    assert subprocess.run(check, input=changed, capture_output=True, check=False).returncode != 0
    Path("bad").write_text("no key")
    assert "c.json is not signed, as bad cannot be used" in refused(
        "forget", "all.model", "gone.csv", "-o", "m", "--certificate", "c.json", "--key", "bad"
    )
    run("forget", "all.model", "gone.csv", "-o", "m", "--certificate", "d.json")
    assert "it proves nothing to others" in Path("d.json").read_text()
