"""The command line: what it prints, what it writes, and how it takes mistakes."""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import FisherDiscriminant, GroupedDiscriminant, OnlineIPCAC, datasets, load, save
from separatrix.cli import console
from separatrix.cli.commands import main, summary_of
from separatrix.io.models import read
from tests.comparisons import made_up
from tests.discovery import labelled

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(Path(inspect.getfile(console)).parent.parent.parent),
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONUNBUFFERED": "",  # without buffers Python does not notice a closed pipe
}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*arguments, code=0, **options):
    """Run a command; a mistake must be told in words."""
    result = CliRunner().invoke(main, [str(a) for a in arguments], **options)
    assert result.exit_code == code, result.output + repr(result.exception)
    assert "Traceback" not in result.output
    return result


def refused(*arguments, code=1, **options):
    result = run(*arguments, code=code, **options)
    assert result.stdout == ""
    return " ".join(result.stderr.split())


CHILDREN = []


def process(*arguments, **options):
    command = [sys.executable, "-m", "separatrix", *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    child = subprocess.Popen(
        command, env=ENVIRONMENT, preexec_fn=heed_interrupts, **pipes | options
    )
    CHILDREN.append(child)
    return child


def heed_interrupts():
    """A shell's background jobs, and so their children, are born deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def no_child_stays():
    yield
    while CHILDREN:
        child = CHILDREN.pop()
        child.kill()
        child.wait(timeout=60)
        for pipe in filter(None, (child.stdout, child.stderr, child.stdin)):
            pipe.close()


def flowers(n=60, d=3, n_classes=3, seed=0):
    X, y = labelled(n, d, n_classes, seed)
    frame = pd.DataFrame(X, columns=[f"v{i}" for i in range(d)])
    frame.insert(0, "plant", [f"p{i}" for i in range(n)])
    frame["kind"] = np.array(["ash", "birch", "cedar"])[y]
    return frame


@pytest.fixture
def table():
    frame = flowers()
    frame.to_csv("flowers.csv", index=False)
    return frame


# Models --------------------------------------------------------------------------------------


def test_a_model_is_fitted_kept_and_used(table):
    done = run("fit", "flowers.csv", "--id", "plant", "-o", "a.model", "--json")
    assert json.loads(done.stdout) == {
        "model": "a.model",
        "method": "FisherDiscriminant",
        "rows": 60,
        "features": 3,
        "classes": ["ash", "birch", "cedar"],
    }
    X, y = table[["v0", "v1", "v2"]], table["kind"].to_numpy(dtype=str)
    model = make_pipeline(StandardScaler(), FisherDiscriminant()).fit(X, y)
    table[["kind", "v2", "plant", "v0", "v1"]].to_csv("new.tsv", index=False, sep="\t")
    found = run("predict", "a.model", "new.tsv", "--keep", "plant", "--proba")
    frame = pd.read_csv(io.StringIO(found.stdout))
    assert frame.columns.tolist() == ["plant", "prediction", "p(ash)", "p(birch)", "p(cedar)"]
    assert_array_equal(frame["plant"], table["plant"])
    assert_array_equal(frame["prediction"], model.predict(X))
    assert_array_equal(frame.iloc[:, 2:], model.predict_proba(X))
    assert f"{100 * model.score(X, y):.2f} % of 60 labels are as predicted" in found.stderr
    run("transform", "a.model", "flowers.csv", "--keep", "kind", "-o", "z.csv")
    z = pd.read_csv("z.csv")
    assert z.columns.tolist() == ["kind", "fisherdiscriminant0", "fisherdiscriminant1"]
    assert_array_equal(z.iloc[:, 1:], model.transform(X))


@pytest.mark.parametrize("decision", ["own", "3nn", "centroid", "gaussian"])
def test_a_subspace_gets_a_rule_that_classifies(table, decision):
    run("fit", "flowers.csv", "--ignore", "plant", "-m", "MaximumMarginCriterion",
        "--set", "n_components=2", "--decision", decision, "-o", "a.model")  # fmt: skip
    found = json.loads(run("predict", "a.model", "flowers.csv", "--json").stdout)
    assert found["accuracy"] > 0.8
    assert found["columns"]["prediction"][0] in ("ash", "birch", "cedar")
    z = json.loads(run("transform", "a.model", "flowers.csv", "--json").stdout)
    assert z["components"] == 2


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


def test_text_and_gaps_are_kept_with_the_model(table):
    table["place"] = np.where(table["kind"] == "ash", "hill", "river")
    table.loc[3, "v1"] = None
    table.loc[5, "place"] = None
    table.to_csv("flowers.csv", index=False)
    run("fit", "flowers.csv", "-t", "kind", "--id", "plant", "--categorical", "onehot",
        "--missing", "median", "-o", "a.model")  # fmt: skip
    table.loc[0, "place"] = "a place never seen"
    table.drop(columns=["kind", "plant"]).to_csv("new.csv", index=False)
    found = run("predict", "a.model", "new.csv")
    assert len(found.stdout.splitlines()) == 61
    assert found.stderr.startswith("1 of 60 values of 'place' are unknown to the model, such as")


def test_bundled_sets_standard_input_and_parameters():
    wine = pd.DataFrame(datasets.load("wine").data, columns=datasets.load("wine").feature_names)
    run("fit", "wine", "--set", "shrinkage=auto", "--set", "n_components=1", "-o", "w.model")
    assert load("w.model")[-1].get_params()["shrinkage"] == "auto"
    text = wine.to_csv(index=False)
    found = run("transform", "w.model", "-", input=text)
    assert found.stdout.splitlines()[0] == "fisherdiscriminant0"
    assert len(found.stdout.splitlines()) == 179


def test_models_made_in_python_without_names_are_used_by_position():
    X, y = labelled(40, 3)
    save(FisherDiscriminant().fit(X, y), "a.model")
    pd.DataFrame(X, columns=list("abc")).to_csv("new.csv", index=False)
    found = pd.read_csv(io.StringIO(run("predict", "a.model", "new.csv").stdout))
    assert_array_equal(found["prediction"], load("a.model").predict(X))
    pd.DataFrame(X[:, :2], columns=list("ab")).to_csv("new.csv", index=False)
    assert "knows 3 features without names, but there are 2" in refused(
        "predict", "a.model", "new.csv"
    )


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


def test_labels_that_the_model_does_not_know_are_not_compared(table):
    run("fit", "flowers.csv", "--id", "plant", "-o", "a.model", "-q")
    table.assign(kind=np.where(table["kind"] == "ash", "oak", "fir")).to_csv("new.csv")
    said = run("predict", "a.model", "new.csv", "-o", "found.csv").stderr
    assert "those of column 'kind', such as 'oak', are not among the model's classes, ash," in said
    assert "as predicted" not in said
    table.assign(kind=np.where(table["kind"] == "ash", "ash", "fir")).to_csv("new.csv")
    assert "as predicted" in run("predict", "a.model", "new.csv", "-o", "found.csv").stderr


# Mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("fit none.csv -o a", "there is no file none.csv"),
        ("fit flowers.csv -t knd -o a", "no column 'knd': did you mean 'kind'?"),
        ("fit flowers.csv --id plnt -o a", "no column 'plnt': did you mean 'plant'?"),
        (
            "fit flowers.csv -o a",
            "1 of 4 columns are not numbers: 'plant' (60 values such as 'p0'",
        ),
        ("fit flowers.csv --categorical onehot -o a", "it looks like an identifier. Leave it out"),
        ("fit flowers.csv -t plant --ignore kind -o a", "another label in each of 60 rows"),
        ("fit flowers.csv -t v0 --ignore plant -o a", "holds numbers such as"),
        ("fit flowers.csv --sep ; -o a", "no features beside"),
        ("fit flowers.csv --id plant -m FisherDiscriminat -o a", "mean 'FisherDiscriminant'?"),
        ("fit flowers.csv --id plant --set shrink=1 -o a", "mean 'shrinkage'?"),
        ("fit flowers.csv --id plant --set shrinkage=7 -o a", "shrinkage=7 is not valid"),
        ("fit flowers.csv --id plant -m DDAGClassifier --decision 3nn -o a", "has no subspace"),
        ("fit flowers.csv --id plant -o none/a", "there is no folder"),
        ("fit flowers.csv --id plant -o flowers.csv", "is read by this command"),
        ("predict flowers.csv flowers.csv", "is not a model file of separatrix"),
        ("predict none.model flowers.csv", "none.model: No such file"),
        ("predict . flowers.csv", "Is a directory"),
        ("transform wine.model flowers.csv", "the model needs 13 columns, and 13 are missing"),
        (
            "predict wine.model wine -o a.xls",
            "a.xls does not name a format that is written: end it",
        ),
        ("predict wine.model wine -o a.arff", "end it with one of .csv, .tsv"),
        ("predict graph.model wine --proba", "gives no probabilities"),
        (
            "compare flowers.csv --id plant --methods raw,LGD",
            "no method 'LGD': did you mean 'LDG'?",
        ),
        ("stream none.csv -o a", "there is no file none.csv, nor a bundled"),
        ("stream flowers.csv", "are not numbers: 'plant'"),
        ("stream flowers.csv --id plant -m LDG", "LDG does not learn from batches"),
        ("stream flowers.csv --id plant -o wine.model", "wine.model is there: go on with it"),
        ("stream flowers.csv --id plant -o wine.model --resume", "was not made by `separatrix"),
        ("early flowers.csv --id plant -m LDG", "is not supported"),
        ("early one.csv", "has only the label 'x'"),
        ("fit gaps.csv -o a", "missing in 2 of 4 rows: 'a' 1, 'b' 2. Fill them in"),
        ("fit semi.csv -o a", "separated by ';'? Give --sep ';'"),
        ("stream semi.csv -o a", "separated by ';'? Give --sep ';'"),
        ("fit semi.csv --sep ; -o a", "a decimal comma such as '1,5': write a point, as by `sed"),
        ("fit tabs.csv -o a", "Give --format tsv"),
        ("fit short.csv -o a", "short.csv: line 4 has 2 values, but there are 3 names"),
        ("fit short.csv -t a -o a", "line 4 has 2 values, but there are 3 names"),
        ("fit nolabel.csv -o a", "'kind' has no label in 1 of 4 rows, first in row 3"),
    ],
)
def test_a_mistake_is_told_with_a_remedy(arguments, message, table):
    if ".model" in arguments:
        run("fit", "wine", "-o", "wine.model", "-q")
    if "graph.model" in arguments:
        run("fit", "wine", "-m", "DDAGClassifier", "-o", "graph.model", "-q")
    Path("one.csv").write_text("a,b,kind\n1,2,x\n2,3,x\n")
    Path("gaps.csv").write_text("a,b,kind\n1,,x\n2,3,y\n,,x\n1,2,y\n")
    Path("nolabel.csv").write_text("a,b,kind\n1,2,x\n2,3,y\n1,1,\n1,2,y\n")
    Path("semi.csv").write_text("a;b;kind\n1,5;2;x\n3,1;4;y\n5;6;x\n7;8;y\n")
    Path("tabs.csv").write_text("a\tb\tkind\n1\t2\tx\n3\t4\ty\n")
    Path("short.csv").write_text("a,b,kind\n1,2,x\n3,4,y\n5,x\n6,7,y\n")
    before = sorted(os.listdir())
    assert message in refused(*arguments.split())
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    "arguments",
    [
        "fit",
        "fit wine",
        "frobnicate",
        "fit wine -o a --frob",
        "fit wine -o a --set novalue",
        "fit wine -o a --missing guess",
        "fit wine -o a --seed -1",
        "stream - --resume",
        "stream - --batch-size 0",
        "early digits --reliability 2",
        "compare wine --jobs 0",
    ],
)
def test_wrong_usage_has_a_code_of_its_own(arguments):
    assert "Usage:" in run(*arguments.split(), code=2).stderr


def test_a_fault_of_the_program_is_not_taken_for_the_users(monkeypatch):
    def broken(name):
        raise KeyError("inside")

    monkeypatch.setattr(datasets, "load", broken)
    assert "This is a fault of the program" in refused("datasets", code=70)
    result = CliRunner().invoke(main, ["--debug", "datasets"])
    assert isinstance(result.exception, KeyError)


def test_gaps_and_columns_of_new_rows_are_checked(table):
    run("fit", "flowers.csv", "--id", "plant", "-o", "a.model")
    table.loc[3, "v1"] = None
    table.to_csv("gaps.csv", index=False)
    assert "missing in 1 of 60 rows: 'v1' 1" in refused("predict", "a.model", "gaps.csv")
    table["v1"] = "tall"
    table.to_csv("text.csv", index=False)
    message = refused("predict", "a.model", "text.csv")
    assert "'v1' holds numbers in the model, but here 1 values such as 'tall'" in message
    named = run("predict", "a.model", "flowers.csv").stderr
    assert "Not in the model, so left out: plant" in named
    assert "left out" not in run("predict", "a.model", "flowers.csv", "-q").stderr


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
def test_an_output_that_may_not_be_written_is_told_at_once(table, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    assert "not permitted" in refused("fit", "wine", "-o", "closed/a.model")


def test_a_damaged_model_is_refused(table):
    run("fit", "flowers.csv", "--id", "plant", "-o", "a.model")
    content = bytearray(Path("a.model").read_bytes())
    content[len(content) // 2] ^= 1
    Path("a.model").write_bytes(bytes(content))
    assert "was altered after it was written" in refused("predict", "a.model", "flowers.csv")


# Comparing and lists -------------------------------------------------------------------------


def test_methods_are_compared(table):
    arguments = ["compare", "flowers.csv", "--id", "plant", "--splits", "2",
                 "--methods", "FisherDiscriminant,raw", "--seed", "3"]  # fmt: skip
    record = json.loads(run(*arguments, "--json").stdout)
    assert record["settings"]["random_state"] == 3
    assert record["settings"]["n_splits"] == 2
    assert {m["name"] for m in record["methods"]} == {"FisherDiscriminant", "raw"}
    means = [m["accuracy"]["mean"] for m in record["methods"]]
    assert means == sorted(means, reverse=True)
    text = run(*arguments).stdout
    assert re.search(rf"{record['methods'][0]['name']} +{means[0]:.3f}", text)
    assert record["verdict"][0] in text
    assert "The report" not in text
    assert (
        f"The report is {Path('r.html').absolute()}"
        in run(*arguments, "--report", "r.html").stdout
    )
    page = Path("r.html").read_text()
    assert "flowers.csv" in page
    assert all(sentence in page for sentence in record["verdict"])


def test_methods_may_be_given_one_by_one(table):
    found = run("compare", "flowers.csv", "--id", "plant", "--splits", "1", "--json",
                "--methods", "raw", "--methods", "LDA,IPCAC")  # fmt: skip
    assert {m["name"] for m in json.loads(found.stdout)["methods"]} == {"raw", "LDA", "IPCAC"}


def test_what_fails_in_a_comparison_is_told(table, monkeypatch):
    monkeypatch.setattr(GroupedDiscriminant, "fit", None)
    table.drop(columns="plant").to_csv("flowers.csv", index=False)
    options = ["--methods", "raw,GroupedDiscriminant", "--splits", "1"]
    found = run("compare", "flowers.csv", *options)
    assert "GroupedDiscriminant failed: " in found.stdout


def test_text_becomes_columns_in_a_comparison(table):
    table["place"] = np.where(table["kind"] == "ash", "hill", "river")
    table.to_csv("flowers.csv", index=False)
    found = run("compare", "flowers.csv", "-t", "kind", "--id", "plant", "--categorical", "onehot",
                "--methods", "raw,LDA", "--splits", "1", "--json")  # fmt: skip
    assert json.loads(found.stdout)["features"] == 4


def test_gaps_are_filled_in_each_training_part(table):
    table.loc[::7, "v1"] = None
    table.to_csv("flowers.csv", index=False)
    options = ["--id", "plant", "--methods", "raw,LDA", "--splits", "2"]
    assert "missing in 9 of 60 rows" in refused("compare", "flowers.csv", *options)
    found = run("compare", "flowers.csv", *options, "--missing", "median", "--json")
    assert {m["status"] for m in json.loads(found.stdout)["methods"]} == {"done"}


def test_lists_name_everything():
    methods = json.loads(run("methods", "--json").stdout)["methods"]
    by_name = {m["name"]: m for m in methods}
    assert by_name["OnlineIPCAC"]["streams"]
    assert not by_name["LDG"]["streams"]
    assert all(len(m["description"]) > 20 for m in methods)
    text = run("methods").stdout
    assert all(name in text for name in by_name)
    sets = json.loads(run("datasets", "--json").stdout)["datasets"]
    assert {"name": "iris", "rows": 150, "features": 4, "classes": 3} in sets
    assert "breast_cancer" in run("datasets").stdout


def test_early_decisions(table):
    done = run("early", "digits", "-o", "decisions.csv", "--reliability", "0.8", "--json")
    record = json.loads(done.stdout)
    decisions = pd.read_csv("decisions.csv")
    assert len(decisions) == record["rows"]
    assert record["agreement"] > 0.8
    assert 0.1 < record["values_used"] < 1
    assert_allclose((decisions["time"] / 64).mean(), record["values_used"])
    assert decisions["decided"].all()


def test_early_decisions_on_a_file_of_their_own(table):
    table.drop(columns="plant").to_csv("train.csv", index=False)
    table[:20].drop(columns="plant").to_csv("test.csv", index=False)
    done = run("early", "train.csv", "--test", "test.csv", "--json")
    assert json.loads(done.stdout)["rows"] == 20
    assert "decided rightly from" in run("early", "train.csv", "--test", "test.csv").stdout


@pytest.mark.parametrize("command", ["", *main.commands])
def test_help_has_examples(command):
    text = run(*command.split(), "--help").stdout
    assert "Examples:" in text
    for line in re.findall(r"^ +separatrix (\w+)", text, re.MULTILINE):
        assert line in main.commands


@pytest.mark.parametrize("command", main.commands)
def test_examples_in_help_are_understood(command):
    """Options named in examples exist."""
    text = run(command, "--help").stdout
    for name, rest in re.findall(r"separatrix (\w+) (.*)", text.split("Options:")[0]):
        known = {o for p in main.commands[name].params for o in (*p.opts, *p.secondary_opts)}
        assert set(re.findall(r"(?<!\S)--?[a-z][\w-]*", rest.split("|")[0].split("#")[0])) <= known


def test_exit_codes_are_documented():
    text = " ".join(run("--help").stdout.split())
    for code in console.EXIT_CODES:
        assert re.search(rf"\b{code} \w", text)


def test_completion_knows_methods_and_data():
    def completed(words):
        env = {"_SEPARATRIX_COMPLETE": "bash_complete", "COMP_WORDS": words}
        env["COMP_CWORD"] = str(words.count(" "))
        result = CliRunner(env=env).invoke(main, prog_name="separatrix")
        return result.stdout

    assert "plain,FisherDiscriminant" in completed("separatrix fit wine --method fish")
    assert "plain,PCA,LDA" in completed("separatrix compare wine --methods PCA,LD")
    assert "plain,wine" in completed("separatrix compare wi")


# Streams -------------------------------------------------------------------------------------


def stream_file(n=4000, d=4):
    bunch = datasets.make_drifting_pair(n, d, turns=0.3, random_state=0)
    frame = pd.DataFrame(bunch.data).add_prefix("v")
    frame["state"] = np.array(["low", "high"])[bunch.target]
    frame.to_csv("stream.csv", index=False)
    return frame


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
    assert "in the batch after 500 rows: values are missing" in refused("stream", *options)
    assert load("a.model").moments_.n_samples == 500
    resumed = run("stream", *options, "--resume", "--missing", "skip", "--json")
    record = json.loads(resumed.stdout)
    assert (record["resumed_after"], record["rows"], record["left_out"]) == (500, 999, 1)


def test_a_killed_stream_goes_on_without_learning_rows_twice():
    frame = stream_file(8000)
    whole = whole_stream()
    arguments = ["stream", "stream.csv", "-o", "a.model", "--batch-size", "100"]
    killed = process(*arguments, "--checkpoint-every", "1")
    while not Path("a.model").exists() and killed.poll() is None:
        time.sleep(0.002)
    killed.send_signal(signal.SIGKILL)
    assert killed.wait() == -signal.SIGKILL, killed.stderr.read()
    killed.stdout.close()
    killed.stderr.close()
    assert load("a.model").moments_.n_samples < 8000
    record = json.loads(run(*arguments, "--resume", "--json").stdout)
    assert 0 < record["resumed_after"] < 8000
    assert record["rows"] == 8000
    assert_same_state(load("a.model"), whole, frame.iloc[:, :4])
    kept = json.loads(Path("whole.model").read_bytes().split(b"\n", 2)[1])["notes"]["stream"]
    assert {key: record[key] for key in kept} == kept


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_stream_keeps_what_it_learned(number):
    frame = stream_file(1000)
    header, *lines = Path("stream.csv").read_text().splitlines(keepends=True)
    child = process("stream", "-", "-o", "a.model", "--batch-size", "100", stdin=subprocess.PIPE)
    child.stdin.write(header + "".join(lines[:350]))
    child.stdin.flush()
    time.sleep(0.1)
    wait_until_read(child)
    child.send_signal(number)
    code = child.wait(timeout=60)
    assert code == console.INTERRUPTED, child.stderr.read()
    assert child.stderr.read() == "Error: interrupted\n"
    for pipe in (child.stdout, child.stderr, child.stdin):
        pipe.close()
    model = load("a.model")
    assert model.moments_.n_samples == 300
    expected = OnlineIPCAC()
    for i in range(0, 300, 100):
        part = frame[i : i + 100]
        expected.partial_fit(part.iloc[:, :4], part["state"], classes=["high", "low"])
    assert_same_state(model, expected, frame.iloc[:, :4])


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


def wait_until_read(child):
    """Until a process sleeps on its standard input, or has ended."""
    for _ in range(2000):
        time.sleep(0.01)
        try:
            state = Path(f"/proc/{child.pid}/wchan").read_text()
            status = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            time.sleep(5)
            return
        if "pipe" in state and status == "S":
            return


# The program as a process --------------------------------------------------------------------


def test_a_closed_pipe_ends_quietly():
    stream_file(20_000)
    run("fit", "stream.csv", "-o", "a.model")
    child = process("predict", "a.model", "stream.csv", "-q", "--proba")
    child.stdout.readline()
    child.stdout.close()
    assert child.wait(timeout=60) == console.CLOSED
    assert child.stderr.read() == ""
    child.stderr.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_comparison_says_how_to_go_on(number):
    child = process("compare", "wine", "--splits", "900", "--methods", "raw,LDA",
                    "--results", "folds.jsonl")  # fmt: skip
    folds = Path("folds.jsonl")
    while child.poll() is None and (not folds.exists() or folds.read_bytes().count(b"\n") < 3):
        time.sleep(0.01)
    child.send_signal(number)
    out, err = child.communicate(timeout=60)
    assert child.returncode == console.INTERRUPTED, err
    assert err == (
        "What is done is in folds.jsonl: the same command goes on with it.\nError: interrupted\n"
    )
    assert out == ""
    assert "Traceback" not in err


def test_help_loads_no_numerics():
    code = (
        "import sys; from separatrix.cli import main; main(['--help'], standalone_mode=False); "
        "print([m for m in ('numpy', 'sklearn', 'pandas', 'rich') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_progress_is_shown_on_terminals_only(monkeypatch):
    stream_file(300)
    assert run("stream", "stream.csv", "--batch-size", "100").stderr == ""
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    child = process("stream", "stream.csv", "--batch-size", "100", stderr=follower)
    out = child.stdout.read()
    child.stdout.close()
    child.wait(timeout=60)
    os.close(follower)
    shown = os.read(leader, 100_000).decode()
    os.close(leader)
    assert "stream" in shown
    assert out.startswith("300 rows, error 0.")


def test_methods_that_lack_splits_are_listed_after_the_others():
    found = made_up({"none": [None] * 4, "easy": [0.99, 0.99, None, None], "whole": [0.9] * 4})
    listed = summary_of(found, {"cautions": []})["methods"]
    assert [method["name"] for method in listed] == ["whole", "easy", "none"]
