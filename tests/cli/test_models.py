"""Tables as people have them, at the command line: what is taken, and what is told."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.neighbors import KNeighborsClassifier

from separatrix import FisherDiscriminant, datasets, evaluate, load
from separatrix.cli import console
from separatrix.cli.commands import left_behind, numbers_of
from separatrix.io.models import read
from separatrix.io.tables import preprocessing, read_table
from tests.cli.test_commands import (
    ENVIRONMENT,
    _in_a_folder,
    flowers,
    process,
    refused,
    run,
    stream_file,
)

__all__ = ["_in_a_folder"]  # a fixture


@pytest.fixture
def table():
    frame = flowers().drop(columns="plant")
    frame.to_csv("flowers.csv", index=False)
    return frame


def fitted(*options, data="flowers.csv"):
    run("fit", data, "-o", "a.model", "-q", *options)


def predicted(*arguments):
    found = run("predict", "a.model", *arguments)
    return pd.read_csv(io.StringIO(found.stdout)), found.stderr


# Outputs and inputs --------------------------------------------------------------------------


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
def test_what_would_be_lost_is_refused_before_any_work(arguments, message, table):
    for name in ("a.model", "b.model"):
        run("fit", "flowers.csv", "--no-scale", "-o", name, "-q")
    os.link("a.model", "linked.model")
    table.to_csv("new.csv", index=False)
    before = {name: Path(name).read_bytes() for name in os.listdir()}
    code = 2 if "directory" in message else 1
    assert message in refused(*arguments.split(" "), code=code)
    assert {name: Path(name).read_bytes() for name in os.listdir()} == before


def test_a_result_beside_columns_of_its_name_is_refused(table):
    fitted()
    table["prediction"] = 1
    table.to_csv("new.csv", index=False)
    options = ["predict", "a.model", "new.csv", "--keep", "prediction"]
    assert "'prediction' cannot be kept beside the result" in refused(*options)
    assert "'prediction' cannot be kept" in refused(*options, "-o", "b.npz")


def test_columns_are_kept_as_they_were(table):
    fitted()
    table["file"] = [f"{i:03d}" for i in range(60)]
    table["note"] = [None, "a b", *["c"] * 58]
    table["size"] = [float("nan"), *range(59)]
    table.to_csv("new.csv", index=False)
    keep = ["--keep", "file", "--keep", "note", "--keep", "size", "--keep", "file"]
    record = json.loads(
        run("predict", "a.model", "new.csv", *keep, "--json").stdout,
        parse_constant=lambda name: pytest.fail(f"{name} is no JSON"),
    )
    columns = record["columns"]
    assert list(columns) == ["file", "note", "size", "prediction"]
    assert columns["file"][:2] == ["000", "001"]
    assert columns["note"][:2] == [None, "a b"]
    assert columns["size"][:2] == [None, 0.0]
    run("predict", "a.model", "new.csv", *keep, "-o", "found.npz")
    with np.load("found.npz") as found:
        assert found["file"][:2].tolist() == ["000", "001"]
        assert found["note"][:2].tolist() == ["", "a b"]
        assert_array_equal(found["prediction"], columns["prediction"])
    run("predict", "a.model", "new.csv", *keep, "-o", "found.csv.gz")
    text = gzip.decompress(Path("found.csv.gz").read_bytes()).decode()
    assert text == run("predict", "a.model", "new.csv", *keep).stdout


# Labels and words ----------------------------------------------------------------------------


def test_the_target_is_the_last_column_that_is_not_ignored(table):
    table["remark"] = "none"
    table.to_csv("flowers.csv", index=False)
    fitted("--ignore", "remark")
    assert read("a.model").notes["target"] == "kind"
    stream = json.loads(run("stream", "flowers.csv", "--id", "remark", "--json").stdout)
    assert stream["classes"] == ["ash", "birch", "cedar"]


def test_words_that_look_like_numbers_stay_words(table):
    rng = np.random.default_rng(0)
    table["flag"] = rng.choice(["True", "False", "unknown"], 60)
    table["code"] = rng.choice(["01", "02", "a7"], 60)
    table.to_csv("flowers.csv", index=False)
    fitted("-t", "kind", "--categorical", "onehot")
    model = load("a.model")
    plain = table[(table["flag"] != "unknown") & (table["code"] != "a7")]
    plain.to_csv("new.csv", index=False)
    found, said = predicted("new.csv", "--proba")
    assert "unknown" not in said
    assert_allclose(found.iloc[:, 1:], model.predict_proba(plain.drop(columns="kind")))
    pytest.importorskip("pyarrow")
    plain.assign(flag=plain["flag"] == "True").to_parquet("new.parquet")
    assert_array_equal(predicted("new.parquet", "--proba")[0], found)


def test_unknown_words_are_counted(table):
    table["place"] = np.where(table["kind"] == "ash", "hill", "river")
    table.to_csv("flowers.csv", index=False)
    fitted("-t", "kind", "--categorical", "onehot")
    table.loc[:4, "place"] = "lake"
    table.to_csv("new.csv", index=False)
    said = "5 of 60 values of 'place' are unknown to the model, such as 'lake'"
    assert said in predicted("new.csv")[1]


def test_labels_are_read_as_they_are_written():
    rows = "a,b,kind\n" + "1,2,01\n3,1,02\n1.5,2,01\n3,1.5,02\n"
    Path("a.csv").write_text(rows)
    fitted(data="a.csv")
    assert load("a.model").classes_.tolist() == ["01", "02"]
    assert "100.00 % of 4 labels" in predicted("a.csv")[1]
    record = json.loads(run("stream", "a.csv", "--batch-size", "2", "--json").stdout)
    assert record["classes"] == ["01", "02"]
    Path("a.csv").write_text(rows.replace("01", "1").replace("02", "2.0"))
    fitted(data="a.csv")
    assert load("a.model").classes_.tolist() == ["1", "2"]


def test_labels_that_mean_a_gap_are_named():
    Path("a.csv").write_text("a,b,kind\n1,2,NA\n3,1,SA\n1.5,2,NA\n3,1.5,None\n2,2,SA\n")
    message = refused("fit", "a.csv", "-o", "a.model")
    assert "no label in 3 of 5 rows ('NA' 2 times, 'None' 1 times, which means a gap" in message
    assert "'NA' 2 times" in refused("stream", "a.csv")
    Path("b.csv").write_text("a,b,kind\n1,2,EU\n3,1,SA\n1.5,2,EU\n3,1.5,SA\n2,2,SA\n")
    fitted(data="b.csv")
    said = predicted("a.csv")[1]
    assert "Labels are not compared: column 'kind' has no label in 3 of 5 rows ('NA' 2" in said


# Faults of tables ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,kind\n1,2,9,x\n3,4,9,y\n", "lines have 4 values, but there are 3 names"),
        ("a,b,kind\n1,2,x,\n3,4,y,\n", "end no line with a separator"),
        ("a,a,kind\n1,2,x\n3,4,y\n", "two columns are called 'a'"),
        ("1.5,5,x\n2,5,y\n1,1,x\n3,4,y\n", "numbers in place of names"),
        ("9,1,4,x\n2,5,1,y\n1,1,2,y\n3,4,4,y\n", "numbers in place of names"),
        ("5,5,x\n2,5,y\n1,1,x\n3,4,y\n", "'5': give them names of their own. The first line has"),
        ("1,2,3\n2,5,1\n1,1,2\n", "if these are names, say which has the labels (--target)"),
    ],
)
def test_lines_that_do_not_fit_their_names_are_refused(text, message):
    Path("a.csv").write_text(text)
    assert message in refused("fit", "a.csv", "-o", "a.model")
    assert message in refused("stream", "a.csv", "-o", "a.model")


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


def test_columns_without_a_name_get_one(table):
    table.to_csv("flowers.csv")
    done = run("fit", "flowers.csv", "-o", "a.model")
    assert "--ignore 'Unnamed: 0'" in done.stderr
    run("fit", "flowers.csv", "-o", "a.model", "--ignore", "Unnamed: 0")


def test_what_was_learned_from_is_not_asked_of_new_rows(table):
    table["place"] = np.where(table["kind"] == "ash", "hill", "river")
    table.to_csv("flowers.csv", index=False)
    fitted("-t", "kind", "--categorical", "onehot", "--missing", "median")
    new = table[:3].assign(place=["hill", "river", "lake"], v1=None)
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


def test_packed_files_of_every_format(table):
    lines = ["@relation t", *(f"@attribute v{i} numeric" for i in range(3))]
    lines += ["@attribute kind {ash,birch,cedar}", "@data"]
    lines += [",".join(map(str, row)) for row in table.to_numpy()]
    Path("t.arff.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    assert_allclose(read_table("t.arff.gz").X, table[["v0", "v1", "v2"]])


def test_separators_of_any_kind(table):
    assert "is damaged, or not a csv file" in refused(
        "fit", "flowers.csv", "--sep", "((", "-o", "a.model"
    )
    Path("wide.txt").write_text(table.to_csv(index=False, sep=" ").replace(" ", "   "))
    fitted("--sep", r"\s+", "--format", "csv", data="wide.txt")
    assert len(load("a.model").feature_names_in_) == 3
    Path("wide.txt").write_text(table.to_csv(index=False).replace(",", "::"))
    assert run("fit", "wide.txt", "--sep", "::", "--format", "csv", "-o", "b.model").stderr == ""
    Path("comma.csv").write_text("a;b;kind\n1,5;2;x\n2,5;3;y\n1;4;x\n")
    assert "separated by ';'? Give --sep ';'" in refused("fit", "comma.csv", "-o", "a.model")
    message = refused("fit", "comma.csv", "--sep", ";", "-o", "a.model")
    assert "'a' (numbers with a decimal comma such as '1,5': write a point, as by `sed" in message


def test_a_table_may_come_through_a_pipe(table):
    fitted()
    os.mkfifo("pipe")
    np.savez("t.npz", X=table[["v0", "v1", "v2"]], y=table["kind"].to_numpy(dtype=str))
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


# Comparing -----------------------------------------------------------------------------------


def test_a_comparison_prepares_rows_as_a_fit_does(table):
    table["place"] = np.random.default_rng(0).choice(["hill", "river", "lake"], 60)
    table.loc[::9, "place"] = None
    table.loc[::7, "v1"] = None
    table.to_csv("flowers.csv", index=False)
    how = {"categorical": "onehot", "missing": "median", "scale": True}
    parts = read_table("flowers.csv", target="kind")
    X, y, steps = numbers_of(parts, how)
    methods = [("neighbours", KNeighborsClassifier(3)), "FisherDiscriminant"]
    found = evaluate.compare(methods, X, y, n_splits=4, scale=steps)
    for fold, test in zip(found["neighbours"].folds, found.tests, strict=True):
        train = np.setdiff1d(np.arange(60), test)
        prepare = preprocessing(parts.X, **how).fit(parts.X.iloc[train])
        model = KNeighborsClassifier(3).fit(prepare.transform(parts.X.iloc[train]), y[train])
        expected = model.predict(prepare.transform(parts.X.iloc[list(test)]))
        assert_array_equal([found.classes[i] for i in fold.predicted], expected)
    features = found["FisherDiscriminant"].folds[0].loadings.features
    assert features == tuple(prepare.get_feature_names_out())
    assert "place_river" in features


def test_a_comparison_in_which_nothing_works_is_no_success(table, monkeypatch):
    monkeypatch.setattr(FisherDiscriminant, "fit", None)
    options = ["compare", "flowers.csv", "--methods", "FisherDiscriminant", "--splits", "2"]
    done = run(*options, "--report", "r.html", code=1)
    assert "FisherDiscriminant failed" in done.stdout
    assert "every method failed" in done.stderr
    assert Path("r.html").exists()


def test_what_remains_of_a_comparison_is_told():
    assert left_behind(0, "folds.jsonl") == "No fold was done yet."
    assert "--results FILE keeps it" in left_behind(3, None)
    Path("folds.jsonl").write_text('{"separatrix": "comparison"}\n')
    assert left_behind(0, "folds.jsonl") == "No fold was done yet."
    Path("folds.jsonl").write_text('{"separatrix": "comparison"}\n{}\n')
    assert left_behind(0, "folds.jsonl").startswith("What is done is in folds.jsonl")


# Streams -------------------------------------------------------------------------------------


def test_a_stream_without_rows_is_refused():
    Path("a.csv").write_text("a,b,kind\n")
    assert "there are no rows to learn from" in refused("stream", "a.csv", "-o", "a.model")
    Path("a.csv").write_text("a,b,kind\n,1,x\n,2,y\n")
    options = ["a.csv", "-o", "a.model", "--missing", "skip"]
    assert "all 2 have gaps" in refused("stream", *options)
    assert not Path("a.model").exists()


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
    Path("a.csv").write_text("a,b,kind\n1,2,x\n4,1,y\n,2,x\n4,1,y\n")
    message = refused("early", "a.csv")
    assert "--missing" not in message
    assert "Leave out these rows" in message


def test_merged_models_are_those_of_no_stream():
    frame = stream_file(400)
    for i in range(2):
        frame[i::2].to_csv(f"site{i}.csv", index=False)
        run("stream", f"site{i}.csv", "-o", f"site{i}.model")
    run("merge", "site0.model", "site1.model", "-o", "all.model")
    assert not {"stream", "head"} & set(read("all.model").notes)
    assert read("all.model").notes["rows"] == 400
    assert "cannot be resumed" in refused("stream", "site0.csv", "-o", "all.model", "--resume")


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
    record = json.loads(run("stream", "wine", "--batch-size", "50", "--json").stdout)
    assert (record["rows"], len(record["classes"])) == (178, 3)


# Early decisions -----------------------------------------------------------------------------


@pytest.fixture
def series():
    bunch = datasets.make_series(120, 12, 2, random_state=0)
    frame = pd.DataFrame(bunch.data, columns=[f"t{i}" for i in range(12)])
    frame["kind"] = np.array(["up", "down"])[bunch.target]
    frame[:80].to_csv("train.csv", index=False)
    frame[80:].to_csv("test.csv", index=False)
    return frame


def test_columns_of_early_tests_are_found_by_name(series):
    options = ["early", "train.csv", "--json", "--test"]
    expected = json.loads(run(*options, "test.csv").stdout)
    series[80:].iloc[:, ::-1].to_csv("turned.csv", index=False)
    assert json.loads(run(*options, "turned.csv").stdout) == expected
    series[80:].drop(columns="t3").to_csv("less.csv", index=False)
    assert "1 are missing here: 't3'" in refused(*options, "less.csv")


def test_early_tests_may_have_one_class_or_no_labels(series):
    options = ["early", "train.csv", "--json", "--test"]
    rows = series[80:]
    rows[rows["kind"] == "up"].to_csv("one.csv", index=False)
    assert json.loads(run(*options, "one.csv").stdout)["accuracy"] > 0.5
    rows.drop(columns="kind").to_csv("none.csv", index=False)
    record = json.loads(run(*options, "none.csv").stdout)
    assert "accuracy" not in record
    assert record["agreement"] > 0.8
    assert "are decided from" in run("early", "train.csv", "--test", "none.csv").stdout


def test_a_class_of_one_row_cannot_be_held_out(series):
    series.loc[0, "kind"] = "odd"
    series.to_csv("train.csv", index=False)
    assert "class 'odd' has 1 row, and none can be held out" in refused("early", "train.csv")


def test_gaps_in_early_tests_have_a_remedy_that_exists(series):
    series.loc[85, "t3"] = None
    series[80:].to_csv("gaps.csv", index=False)
    message = refused("early", "train.csv", "--test", "gaps.csv")
    assert "'t3' 1. Leave out these rows" in message
    assert "use decide" not in message.lower()


def test_an_early_model_is_kept_and_used(series):
    run("early", "train.csv", "--model", "early.model", "-q")
    model = load("early.model")
    X = series[80:].drop(columns="kind")
    X.iloc[:10, 3] = np.nan
    X.iloc[:30, 8:] = np.nan
    X.to_csv("so-far.csv", index=False)
    found = run("predict", "early.model", "so-far.csv")
    frame = pd.read_csv(io.StringIO(found.stdout))
    expected = model.decide(X)
    assert frame.columns.tolist() == ["prediction", "decided", "reliability"]
    assert_array_equal(frame["prediction"], expected.label)
    assert_array_equal(frame["decided"], expected.decided)
    assert_allclose(frame["reliability"], expected.reliability)
    assert "of 40 rows are decided" in found.stderr
    X.iloc[:, :6].to_csv("so-far.csv", index=False)
    found = run("predict", "early.model", "so-far.csv")
    assert "6 columns of the model are not there yet, from 't6' on" in found.stderr
    expected = model.decide(X.assign(**dict.fromkeys(X.columns[6:], np.nan)))
    assert_array_equal(pd.read_csv(io.StringIO(found.stdout))["prediction"], expected.label)
    X.iloc[:, :6].set_axis(list("abcdef"), axis=1).to_csv("other.csv", index=False)
    assert "12 are missing here" in refused("predict", "early.model", "other.csv")


def test_an_early_model_is_learned_from_all_rows(series):
    run("early", "train.csv", "--model", "half.model", "-q")
    run("early", "train.csv", "--test", "test.csv", "--model", "whole.model", "-q")
    X = series[80:].drop(columns="kind")
    assert_array_equal(
        load("half.model").decide_early(X).reliability,
        load("whole.model").decide_early(X).reliability,
    )


def test_every_estimator_is_listed():
    methods = json.loads(run("methods", "--json").stdout)["methods"]
    kinds = {m["name"]: m["kind"] for m in methods}
    assert kinds["EarlyClassifier"] == "command `early`"
    assert kinds["TransferLDG"] == "from Python"


# The program as a process --------------------------------------------------------------------


def test_debug_shows_where_a_file_failed(tmp_path):
    result = subprocess.run(
        [sys.executable, "-m", "separatrix", "--debug", "predict", "none.model", "wine"],
        env=ENVIRONMENT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" in result.stderr
    assert "FileNotFoundError" in result.stderr


def test_output_that_nobody_can_read_is_no_success():
    command = f"{sys.executable} -m separatrix datasets"
    closed = subprocess.run(
        ["sh", "-c", f"{command} >&-"],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert closed.returncode == console.CLOSED, closed.stderr
    assert closed.stderr == ""
    if Path("/dev/full").exists():
        full = subprocess.run(
            ["sh", "-c", f"{command} > /dev/full"],
            env=ENVIRONMENT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert full.returncode == console.FAULT
        assert full.stderr == "Error: No space left on device\n"


def test_standard_input_that_is_closed_is_told():
    command = f"{sys.executable} -m separatrix compare - <&-"
    done = subprocess.run(
        ["sh", "-c", command], env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == console.FAULT
    assert "standard input is closed" in done.stderr


def test_a_comparison_that_is_ended_at_once_says_that_nothing_was_done():
    child = process("compare", "digits", "--methods", "NCA", "--results", "folds.jsonl")
    while not Path("folds.jsonl").exists() and child.poll() is None:
        pass
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=60)
    assert child.returncode == console.INTERRUPTED, err
    assert err == "No fold was done yet.\nError: interrupted\n"
    assert out == ""
