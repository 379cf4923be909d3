"""`separatrix compare`: what it prints, writes and keeps."""

from __future__ import annotations

import errno
import json
import re
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.neighbors import KNeighborsClassifier

from separatrix import (
    FisherDiscriminant,
    GroupedDiscriminant,
    evaluate,
)
from separatrix.cli import console
from separatrix.cli.compare import prepare_rows
from separatrix.evaluate.splits import RandomShares
from separatrix.files import whole as files
from separatrix.files.preparation import preprocessing
from separatrix.files.tables import read_table
from tests.cli.running import process, refused, run


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
    timed = ("Why: ", "Is a subspace")  # times differ from run to run
    shown = [text for text in record["explanation"] if not text.startswith(timed)]
    assert all(text in page for text in shown)


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
    assert err.endswith(
        "What is done is in folds.jsonl: the same command goes on with it.\nError: interrupted\n"
    )
    assert re.search(r"LDA +(0\.\d{3}|1\.000) +\d+", out)
    assert "Interrupted: " in out
    assert "Traceback" not in err


def interrupted(*options, cache=Path("cache/separatrix")):
    """A comparison that is ended after some folds, which nobody asked to keep."""
    child = process("compare", "wine", "--splits", "900", "--methods", "raw,LDA", *options)
    found: list = []
    while child.poll() is None and not any(p.read_bytes().count(b"\n") > 5 for p in found):
        time.sleep(0.01)
        found = list(cache.glob("*.folds.jsonl"))
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert child.returncode == console.INTERRUPTED, err
    (kept,) = cache.glob("*.folds.jsonl")
    return out, err, kept


def test_what_was_done_is_kept_though_nobody_asked_for_it():
    out, err, kept = interrupted()
    assert f"What is done is in {kept.absolute()}: the same command goes on with it." in err
    assert "splits done" in out
    n_folds = kept.read_bytes().count(b"\n") - 1
    seconds = sum(json.loads(line)["fold"]["seconds"] for line in kept.open() if "fold" in line)
    options = ["compare", "wine", "--splits", "2", "--methods", "raw,LDA", "--json"]
    found = json.loads(run(*options).stdout)  # of the same table: goes on with it
    assert n_folds >= 4
    assert 0 < found["seconds"] <= seconds
    assert list(Path("cache/separatrix").iterdir()) == []  # all is done: nothing is left behind


def test_folds_are_kept_beside_the_report():
    out, _, kept = interrupted("--report", "page.html", "--json", cache=Path())
    assert kept.name.startswith("page.")
    record = json.loads(out)
    assert record["interrupted"] is True
    assert record["results"] == str(kept.absolute())
    assert {m["name"] for m in record["methods"]} == {"LDA", "raw"}
    assert not Path("page.html").exists()


def test_a_report_that_cannot_be_written_costs_nothing_but_itself(bare_table, monkeypatch):
    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device", "/tmp/.r.html.xyz")

    whole = files.write_whole
    monkeypatch.setattr(files, "write_whole", full)
    options = ["compare", "flowers.csv", "--methods", "LDA,raw", "--splits", "2"]
    for form in ([], ["--json"]):
        done = run(*options, *form, "--report", "r.html", code=1)
        assert "accuracy" in done.stdout
        assert "The report is" not in done.stdout
        assert "r.html cannot be written: No space left on device; the folds" in done.stderr
        (kept,) = Path().glob("r.*.folds.jsonl")
        assert str(kept) in done.stderr
    monkeypatch.setattr(files, "write_whole", whole)
    run(*options, "--report", "r.html")
    assert Path("r.html").exists()
    assert not kept.exists()


def test_a_program_error_in_the_page_leaves_the_table(bare_table, monkeypatch):
    monkeypatch.setattr("separatrix.report.render", lambda _: 1 / 0)
    options = ["--methods", "LDA,raw", "--splits", "1", "--report", "r.html"]
    done = run("compare", "flowers.csv", *options, code=console.PROGRAM_ERROR)
    assert "LDA" in done.stdout
    assert "ZeroDivisionError" in done.stderr


def test_rows_have_names_in_the_report(table):
    table["site"] = "hill"
    table.to_csv("flowers.csv", index=False)
    options = ["-t", "kind", "--id", "plant", "--id", "site", "--methods", "LDA", "--splits", "1"]
    found = json.loads(run("compare", "flowers.csv", *options, "--json").stdout)
    assert found["features"] == 3
    run("compare", "flowers.csv", *options, "--report", "r.html")
    assert '"p1 hill"' in Path("r.html").read_text() or '"p2 hill"' in Path("r.html").read_text()
    run("compare", "flowers.csv", "-t", "kind", "--ignore", "plant", "--ignore", "site",
        "--methods", "LDA", "--splits", "1", "--report", "r.html")  # fmt: skip
    assert "hill" not in Path("r.html").read_text()  # what is ignored is not shown


def test_a_comparison_prepares_rows_as_a_fit_does(bare_table):
    bare_table["place"] = np.random.default_rng(0).choice(["hill", "river", "lake"], 60)
    bare_table.loc[::9, "place"] = None
    bare_table.loc[::7, "v1"] = None
    bare_table.to_csv("flowers.csv", index=False)
    how = {"categorical": "onehot", "missing": "median", "scale": True}
    parts = read_table("flowers.csv", target="kind")
    X, steps, _ = prepare_rows(parts, how)
    y = parts.y
    methods = [("neighbours", KNeighborsClassifier(3)), "FisherDiscriminant"]
    found = evaluate.compare(evaluate.with_steps(methods, prepare=steps), X, y, cv=RandomShares(4))
    for fold, test in zip(found["neighbours"].folds, found.tests, strict=True):
        train = np.setdiff1d(np.arange(60), test)
        prepare = preprocessing(parts.X, **how).fit(parts.X.iloc[train])
        model = KNeighborsClassifier(3).fit(prepare.transform(parts.X.iloc[train]), y[train])
        expected = model.predict(prepare.transform(parts.X.iloc[list(test)]))
        assert_array_equal([found.classes[i] for i in fold.predicted], expected)
    features = found["FisherDiscriminant"].folds[0].loadings.features
    assert features == tuple(prepare.get_feature_names_out())
    assert "place_river" in features


def test_a_comparison_in_which_nothing_works_is_no_success(bare_table, monkeypatch):
    monkeypatch.setattr(FisherDiscriminant, "fit", None)
    options = ["compare", "flowers.csv", "--methods", "FisherDiscriminant", "--splits", "2"]
    done = run(*options, "--report", "r.html", code=1)
    assert "FisherDiscriminant failed" in done.stdout
    assert "every method failed" in done.stderr
    assert Path("r.html").exists()


def test_a_comparison_that_is_ended_at_once_says_that_nothing_was_done():
    child = process("compare", "digits", "--methods", "NCA", "--results", "folds.jsonl")
    while not Path("folds.jsonl").exists() and child.poll() is None:
        pass
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=60)
    assert child.returncode == console.INTERRUPTED, err
    notice, *end = err.splitlines()
    assert notice.startswith("Columns 'pixel_0_0'")
    assert end == ["No fold was done yet.", "Error: interrupted"]
    assert out == ""


def test_copies_on_both_sides_of_a_split_are_told(bare_table):
    pd.concat([bare_table, bare_table.head(20)]).to_csv("twice.csv", index=False)
    options = ["--methods", "LDA", "--splits", "2", "--report", "r.html"]
    text = "20 of 80 rows are copies of another"
    assert text in run("compare", "twice.csv", *options).stderr
    assert "are copies" not in run("compare", "flowers.csv", *options).stderr
