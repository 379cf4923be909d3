"""`separatrix fit`: labels, columns and settings are read as they were written."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from separatrix import (
    FisherDiscriminant,
    datasets,
    load,
)
from separatrix.evaluate.comparison import compare
from separatrix.evaluate.methods import with_steps
from separatrix.evaluate.records import to_plain
from separatrix.evaluate.splits import RandomShares
from separatrix.files.model import read
from separatrix.selection import random_splits
from tests.cli.running import fitted, flowers, predicted, refused, run


def test_a_model_is_fitted_kept_and_used(table):
    done = run("fit", "flowers.csv", "--id", "plant", "-o", "a.model", "--json")
    assert json.loads(done.stdout) == {
        "model": "a.model",
        "method": "FisherDiscriminant",
        "rows": 60,
        "features": 3,
        "merges": True,
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


def test_the_target_is_the_last_column_that_is_not_ignored(bare_table):
    bare_table["remark"] = "none"
    bare_table.to_csv("flowers.csv", index=False)
    fitted("--ignore", "remark")
    assert read("a.model").notes["target"] == "kind"
    stream = json.loads(run("stream", "flowers.csv", "--id", "remark", "--json").stdout)
    assert stream["classes"] == ["ash", "birch", "cedar"]


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,kind\n1,2,9,x\n3,4,9,y\n", "lines have 4 values, but there are 3 names"),
        ("a,b,kind\n1,2,x,\n3,4,y,\n", "end no line with a separator"),
        ("a,a,kind\n1,2,x\n3,4,y\n", "two columns, number 1 and number 2, are called 'a'"),
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


def test_columns_without_a_name_get_one(bare_table):
    bare_table.to_csv("flowers.csv")
    done = run("fit", "flowers.csv", "-o", "a.model")
    assert "--ignore 'Unnamed: 0'" in done.stderr
    run("fit", "flowers.csv", "-o", "a.model", "--ignore", "Unnamed: 0")


def test_separators_of_any_kind(bare_table):
    assert "is damaged, or not a csv file" in refused(
        "fit", "flowers.csv", "--sep", "((", "-o", "a.model"
    )
    Path("wide.txt").write_text(bare_table.to_csv(index=False, sep=" ").replace(" ", "   "))
    fitted("--sep", r"\s+", "--format", "csv", data="wide.txt")
    assert len(load("a.model").feature_names_in_) == 3
    Path("wide.txt").write_text(bare_table.to_csv(index=False).replace(",", "::"))
    assert run("fit", "wide.txt", "--sep", "::", "--format", "csv", "-o", "b.model").stderr == ""
    Path("comma.csv").write_text("a;b;kind\n1,5;2;x\n2,5;3;y\n1;4;x\n")
    assert "separated by ';'? Give --sep ';'" in refused("fit", "comma.csv", "-o", "a.model")
    message = refused("fit", "comma.csv", "--sep", ";", "-o", "a.model")
    assert "'a' (numbers such as '1,5': give --decimal ,)" in message


def test_the_command_gives_the_model_that_was_judged():
    frame = flowers(90).drop(columns="plant")
    frame[["v0", "v1", "v2"]] += 0.5 * np.random.default_rng(0).normal(size=(90, 3))
    frame.to_csv("all.csv", index=False)
    options = ["-t", "kind", "--seed", "4", "--decision", "3nn"]
    compared = ["compare", "all.csv", *options, "--methods", "LDG", "--splits", "1"]
    record = json.loads(run(*compared, "--json").stdout)
    expected = "separatrix fit all.csv -t kind --decision 3nn --seed 4 -m LDG --tune -o LDG.model"
    assert record["fit"] == expected
    assert expected in run(*compared, "--report", "a.html").stdout
    page = Path("a.html").read_text()
    assert page.count(f"<code>{expected}</code>") == 2  # in the verdict, and to do it again
    found = compare(
        with_steps(["LDG"], then="3nn"), frame[["v0", "v1", "v2"]], frame["kind"],
        cv=RandomShares(1),
        random_state=4,
    )  # fmt: skip
    train, test = random_splits(np.array(found.labels), 1, 0.3, 4)[0]
    frame.iloc[train].to_csv("train.csv", index=False)
    said = run("fit", "train.csv", *options, "-m", "LDG", "--tune", "-o", "LDG.model").stdout
    fold = found.methods[0].folds[0]
    assert f"n_components={fold.chosen['n_components']}" in said
    assert read("LDG.model").notes["chosen"] == to_plain(fold.chosen)
    predicted = load("LDG.model").predict(frame.iloc[test][["v0", "v1", "v2"]])
    assert_array_equal(predicted, np.array(found.classes)[list(fold.predicted)])
    run(*expected.split()[1:])


@pytest.mark.parametrize("more", [["--set", "n_components=2"], ["--engine", "dask"]])
def test_what_contradicts_choosing_is_refused(more):
    said = run("fit", "wine", "--tune", "-o", "a.model", *more, code=2).stderr
    assert more[0] in said


def test_methods_inside_of_methods_are_given_by_name(table):
    asked = ["-m", "DDAGClassifier", "--set", "estimator=KernelIPCAC", "--set"]
    more = ["--set", "reducer=TruncatedIPCAC", "--set", "priors=[0.5, 0.25, 0.25]"]
    asked = [*asked, "estimator__ridge=0.1", *more]
    run("fit", "flowers.csv", "--id", "plant", *asked, "-o", "a.model")
    model = load("a.model")[-1]
    assert [type(m).__name__ for m in (model.estimator, model.reducer)] == [
        "KernelIPCAC",
        "TruncatedIPCAC",
    ]
    assert model.estimators_[0].ridge == 0.1
    assert model.estimator.random_state == 0  # --seed
    assert len(predicted("flowers.csv")[0]) == 60
    run("fit", "wine", "-m", "MixtureIPCAC", "--set", "node=ipcac", "-o", "w.model")
    assert load("w.model")[-1].node == "ipcac"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("estimator=KernelIPAC", "did you mean 'KernelIPCAC'?"),
        ("estimator=LDG", "estimator=LDG decides nothing"),
        ("reducer=LocalQDA", "reducer=LocalQDA has no subspace"),
        ("reducer=PCAA", "did you mean 'PCA'?"),
        ("estimator__gamma=1", "no parameter of DDAGClassifier 'estimator__gamma'"),
    ],
)
def test_what_cannot_be_inside_is_told(table, setting, message):
    how = ["-m", "DDAGClassifier", "--set", setting, "-o", "a.model"]
    assert message in refused("fit", "flowers.csv", "--id", "plant", *how)


UNUSED = (
    *("dask", "email.policy", "mailbox", "matplotlib"),
    *("sklearn.datasets", "sklearn.ensemble", "sklearn.mixture"),
    *("separatrix.early.classifier", "separatrix.ldg.ldg", "separatrix.margin.ica"),
)
"""Modules that take long to import, and that a fit of Fisher's discriminant has no use for."""

FIT = f"""
import sys
from separatrix.cli import main
try:
    main(["fit", "flowers.csv", "--id", "plant", "-o", "a.model"])
finally:
    print(*sys.modules.keys() & {set(UNUSED)}, file=sys.stderr)
"""


@pytest.mark.usefixtures("table")
def test_a_fit_does_not_wait_for_modules_that_it_has_no_use_for():
    done = subprocess.run([sys.executable, "-c", FIT], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1].split() == []
