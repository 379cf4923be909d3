"""`separatrix stream`: interrupted streams go on exactly."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import (
    OnlineIPCAC,
    load,
)
from separatrix.cli import console
from separatrix.files import model as models
from separatrix.files.model import read
from tests.cli.running import process, refused, run, stream_file


def whole_stream(*options):
    run("stream", "stream.csv", "-o", "whole.model", "--batch-size", "100", *options)
    return load("whole.model")


def assert_same_state(a, b, X):
    assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    assert_array_equal(a.moments_.Sw, b.moments_.Sw)


def test_a_stream_is_learned_batch_by_batch():
    frame = stream_file()
    done = run("stream", "stream.csv", "-o", "a.model", "--batch-size", "100", "--json")
    record = json.loads(done.stdout)
    assert record["rows"] == 4000
    assert record["tested"] == 3900
    assert record["error"] == record["wrong"] / 3900
    model = OnlineIPCAC()
    for i in range(0, 4000, 100):
        part = frame[i : i + 100]
        model.partial_fit(part.iloc[:, :4], part["state"], classes=["high", "low"])
    assert_same_state(load("a.model"), model, frame.iloc[:, :4])
    predicted = run("predict", "a.model", "stream.csv")
    assert "labels are as predicted" in predicted.stderr


@pytest.mark.parametrize("window", ["None", "300"])
def test_a_stream_that_was_cut_goes_on_exactly(window):
    frame = stream_file()
    options = ["--set", f"window={window}"]
    whole = whole_stream(*options)
    lines = Path("stream.csv").read_bytes().splitlines(keepends=True)
    Path("part.csv").write_bytes(b"".join(lines[:1501]))
    arguments = ["part.csv", "-o", "a.model", "--batch-size", "100", *options]
    run("stream", *arguments)
    Path("part.csv").write_bytes(b"".join(lines))
    record = json.loads(run("stream", *arguments, "--resume", "--json").stdout)
    assert record["resumed_after"] == 1500
    assert record["rows"] == 4000
    assert_same_state(load("a.model"), whole, frame.iloc[:, :4])
    again = json.loads(run("stream", *arguments, "--resume", "--json").stdout)
    assert again["rows"] == 4000
    assert again["resumed_after"] == 4000


def test_a_stream_from_standard_input_skips_what_it_knows():
    frame = stream_file()
    whole = whole_stream()
    text = Path("stream.csv").read_text()
    lines = text.splitlines(keepends=True)
    options = ["-", "-o", "a.model", "--batch-size", "100"]
    run("stream", *options, input="".join(lines[:2001]))
    run("stream", *options, "--resume", input=text)
    assert_same_state(load("a.model"), whole, frame.iloc[:, :4])
    assert "not the rows that were learned" in refused(
        "stream", *options, "--resume", input="".join([lines[0], *lines[5:]])
    )
    news = "".join([lines[0], *lines[-50:]])
    record = run("stream", *options, "--resume", "--new-rows", "--json", input=news)
    assert json.loads(record.stdout)["rows"] == 4050


def test_what_was_learned_before_a_bad_batch_is_kept():
    frame = stream_file(1000)
    frame.loc[550, "v1"] = None
    frame.to_csv("stream.csv", index=False)
    options = ["stream.csv", "-o", "a.model", "--batch-size", "100"]
    said = refused("stream", *options)
    assert "stream.csv, in the batch after 500 rows: values are missing" in said
    assert load("a.model").moments_.n_samples == 500
    resumed = run("stream", *options, "--resume", "--missing", "skip", "--json")
    record = json.loads(resumed.stdout)
    assert (record["resumed_after"], record["rows"], record["left_out"]) == (500, 999, 1)


def test_a_killed_stream_goes_on_without_learning_rows_twice():
    frame = stream_file(8000)
    whole = whole_stream()
    lines = Path("stream.csv").read_text().splitlines(keepends=True)
    arguments = ["-o", "a.model", "--batch-size", "100"]
    killed = begun_stream("".join(lines[:-1]), *arguments, "--checkpoint-every", "1")
    wait_for_model(killed)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL, killed.stderr.read()
    close_pipes(killed)
    assert 0 < load("a.model").moments_.n_samples < 8000
    record = json.loads(
        run("stream", "-", *arguments, "--resume", "--json", input="".join(lines)).stdout
    )
    assert 0 < record["resumed_after"] < 8000
    assert record["rows"] == 8000
    assert_same_state(load("a.model"), whole, frame.iloc[:, :4])
    kept = read("whole.model").notes["stream"]
    assert {key: record[key] for key in kept} == kept


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_stream_keeps_what_it_learned(number):
    frame = stream_file(1000)
    header, *lines = Path("stream.csv").read_text().splitlines(keepends=True)
    options = ["-o", "a.model", "--batch-size", "100", "--checkpoint-every", "3"]
    child = begun_stream(header + "".join(lines[:350]), *options)
    wait_for_model(child)  # three batches are learned, and the fourth never becomes whole
    Path("a.model").unlink()  # so what is there later was written because of the signal
    child.send_signal(number)
    code = child.wait(timeout=300)
    assert code == console.INTERRUPTED, child.stderr.read()
    assert child.stderr.read() == "Error: interrupted\n"
    close_pipes(child)
    model = load("a.model")
    assert model.moments_.n_samples == 300
    expected = OnlineIPCAC()
    for i in range(0, 300, 100):
        part = frame[i : i + 100]
        expected.partial_fit(part.iloc[:, :4], part["state"], classes=["high", "low"])
    assert_same_state(model, expected, frame.iloc[:, :4])


def begun_stream(text, *options):
    """A stream that has been given some text and waits for more, however slow the machine is."""
    child = process("stream", "-", *options, stdin=subprocess.PIPE)
    child.stdin.write(text)
    child.stdin.flush()
    return child


def wait_for_model(child):
    """Until the first checkpoint is there, or the process has ended."""
    while not Path("a.model").exists() and child.poll() is None:
        time.sleep(0.002)


def close_pipes(child):
    for pipe in (child.stdout, child.stderr, child.stdin):
        pipe.close()


def test_a_signal_during_learning_waits_for_the_batch(monkeypatch):
    """The model and the place in the stream must be those of the same rows."""
    stream_file(1000)
    learn, batches = OnlineIPCAC.partial_fit, []

    def interrupted(self, X, y, classes=None):
        learn(self, X, y, classes)
        batches.append(len(y))
        if len(batches) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(OnlineIPCAC, "partial_fit", interrupted)
    options = ["stream.csv", "-o", "a.model", "--batch-size", "100"]
    assert refused("stream", *options, code=console.INTERRUPTED) == "Error: interrupted"
    assert load("a.model").moments_.n_samples == 300
    assert read("a.model").notes["stream"]["rows"] == 300


def test_a_full_disk_keeps_the_last_checkpoint_and_the_stream_goes_on(monkeypatch):
    frame = stream_file(1000)
    whole = whole_stream()
    options = ["stream.csv", "-o", "a.model", "--batch-size", "100", "--checkpoint-every", "1"]
    synced = []

    def sync_until_full(handle):
        synced.append(handle)
        if len(synced) > 3:  # one for each checkpoint
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(models.os, "fsync", sync_until_full)
        assert "a.model: No space left on device" in refused("stream", *options)
    assert read("a.model").notes["stream"]["rows"] == 300
    assert [path.name for path in Path().glob(".a.model*")] == []
    record = json.loads(run("stream", *options, "--resume", "--json").stdout)
    assert (record["resumed_after"], record["rows"]) == (300, 1000)
    assert_same_state(load("a.model"), whole, frame.iloc[:, :4])


def test_a_rotated_file_is_noticed_and_goes_on_where_it_is_named_new():
    frame = stream_file(1000)
    whole = whole_stream()
    frame[:600].to_csv("log.csv", index=False)
    options = ["log.csv", "-o", "a.model", "--batch-size", "100"]
    run("stream", *options)
    before = Path("a.model").read_bytes()
    Path("log.csv").rename("log.csv.1")
    frame[600:].to_csv("log.csv", index=False)
    assert "not the rows that were learned" in refused("stream", *options, "--resume")
    assert Path("a.model").read_bytes() == before
    run("stream", *options, "--resume", "--new-rows")
    assert_same_state(load("a.model"), whole, frame.iloc[:, :4])
    # started once more it knows its place in the new file, and learns nothing twice
    record = json.loads(run("stream", *options, "--resume", "--json").stdout)
    assert (record["resumed_after"], record["rows"]) == (1000, 1000)
    old = ["log.csv.1", "--format", "csv", *options[1:], "--resume"]
    assert "not the rows that were learned" in refused("stream", *old)


def test_a_stream_without_rows_is_refused():
    Path("a.csv").write_text("a,b,kind\n")
    assert "there are no rows to learn from" in refused("stream", "a.csv", "-o", "a.model")
    Path("a.csv").write_text("a,b,kind\n,1,x\n,2,y\n")
    options = ["a.csv", "-o", "a.model", "--missing", "skip"]
    assert "all 2 have gaps" in refused("stream", *options)
    assert not Path("a.model").exists()


def test_an_empty_stream_is_named():
    Path("a.csv").write_text("")
    said = refused("stream", "a.csv", "-o", "a.model")
    assert said == "Error: a.csv: it is empty: a line with the names of the columns is needed"


def test_a_stream_without_names_is_the_one_with_names():
    frame = stream_file(300)
    names = [f"x{i}" for i in range(frame.shape[1])]
    frame.set_axis(names, axis=1).to_csv("named.csv", index=False)
    run("stream", "named.csv", "-o", "named.model", "--batch-size", "50")
    frame[:120].to_csv("bare.csv", index=False, header=False)
    options = ["bare.csv", "-o", "bare.model", "--batch-size", "50"]
    assert "(--no-header)" in refused("stream", *options)
    run("stream", *options, "--no-header")
    frame.to_csv("bare.csv", index=False, header=False)
    done = run("stream", *options, "--resume", "--json")  # that there are no names is known
    assert json.loads(done.stdout)["rows"] == 300
    found, expected = (load(name).moments_ for name in ("bare.model", "named.model"))
    assert_allclose(found.counts, expected.counts)
    assert_allclose(found.means, expected.means)
    assert_array_equal(load("bare.model").feature_names_in_, names[:-1])


def test_a_stream_of_one_class_says_so():
    Path("a.csv").write_text("a,b,kind\n1,2,x\n2,1,x\n3,1,x\n")
    done = run("stream", "a.csv", "-o", "a.model")
    assert "All 3 rows have the label 'x': nothing is separated" in done.stderr
    with open("a.csv", "a") as file:
        file.write("5,6,y\n6,4,y\n")
    assert run("stream", "a.csv", "-o", "a.model", "--resume").stderr == ""


def test_a_stream_that_goes_on_knows_its_columns():
    frame = stream_file(1000)
    frame.insert(0, "plant", [f"p{i}" for i in range(1000)])
    frame["remark"] = "none"
    frame.to_csv("stream.csv", index=False)
    names = ["-t", "state", "--id", "plant", "--id", "remark"]
    options = ["-o", "a.model", "--batch-size", "100"]
    run("stream", "stream.csv", *options[2:], *names, "-o", "whole.model")
    frame[:500].to_csv("part.csv", index=False)
    run("stream", "part.csv", *options, *names)
    frame.to_csv("part.csv", index=False)
    done = run("stream", "part.csv", *options, "--resume")
    assert done.stderr == ""
    features = ["v0", "v1", "v2", "v3"]
    whole, model = load("whole.model"), load("a.model")
    assert_array_equal(model.predict_proba(frame[features]), whole.predict_proba(frame[features]))
    assert "the labels were those of 'state' before, not of 'remark'" in refused(
        "stream", "part.csv", *options, "--resume", "-t", "remark"
    )
    news = frame[["v3", "state", "v1", "v0", "v2"]].assign(more=1.0)[-100:]
    news.to_csv("news.csv", index=False)
    done = run("stream", "news.csv", *options, "--resume", "--new-rows")
    assert done.stderr == "Not in the model, so left out: more\n"
    whole.partial_fit(frame[features][-100:], frame["state"][-100:])
    assert_array_equal(
        load("a.model").predict_proba(frame[features]), whole.predict_proba(frame[features])
    )


@pytest.mark.parametrize(
    "options", ["--new-rows -o a.model", "--resume --restart -o a.model", "--resume"]
)
def test_options_that_contradict_each_other(options):
    stream_file(100)
    assert "Usage:" in run("stream", "stream.csv", *options.split(), code=2).stderr


def test_a_stream_goes_on_with_the_settings_it_was_begun_with():
    stream_file(300)
    options = ["stream.csv", "-o", "a.model", "--batch-size", "100", "--set", "window=150"]
    run("stream", *options)
    assert "begun with window=150: leave out --set window" in refused(
        "stream", *options[:-1], "window=20", "--resume"
    )
    assert "the model is a OnlineIPCAC, not a FisherDiscriminant" in refused(
        "stream", *options[:-2], "--resume", "-m", "FisherDiscriminant"
    )
    run("stream", *options, "--resume", "-m", "OnlineIPCAC")
    run("stream", *options[:-2], "--resume")


def test_a_stream_advises_options_that_it_has():
    Path("a.csv").write_text("a,b,kind\nred,2,x\nblue,1,y\n")
    message = refused("stream", "a.csv")
    assert "Leave them out (--ignore)" in message
    assert "--categorical" not in message
    Path("a.csv").write_text("a,b,kind\n,2,x\n4,1,y\n")
    assert "(--missing skip)" in refused("stream", "a.csv")


def test_a_new_label_is_refused_or_named():
    frame = stream_file(400)
    frame.loc[300:302, "state"] = "Low"
    frame.to_csv("stream.csv", index=False)
    size = ["--batch-size", "100"]
    said = refused("stream", "stream.csv", *size)
    assert (
        "in the batch after 300 rows: new class 'Low', 3 rows; it differs from 'low' only" in said
    )
    done = run("stream", "stream.csv", *size, "--open-classes", "-o", "a.model")
    assert "new class 'Low', 3 rows; it differs from 'low' only in case" in done.stderr
    X, y = frame.drop(columns="state"), frame["state"]
    whole = OnlineIPCAC().fit(X, y)
    found, expected = (m.decision_function(X) for m in (load("a.model"), whole))
    assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    refusal = refused("stream", "stream.csv", "--open-classes", "-m", "NoSuchMethod")
    assert "there is no method" in refusal


def test_drift_is_said():
    frame = stream_file(600)
    frame.loc[400:, "v2"] += 30.0
    frame.to_csv("stream.csv", index=False)
    done = run("stream", "stream.csv", "--batch-size", "100", "--drift", "--json")
    assert "Drift: after 400 rows the mean of class" in done.stderr
    changes = json.loads(done.stdout)["drift"]
    moved = [c["features"][0] for c in changes if c["seen"] == 400 and c["kind"] == "means"]
    assert moved == ["v2"]


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
