"""From e-mails and columns of text to models, by the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from separatrix import OnlineIPCAC, TruncatedIPCAC, load
from separatrix.features.words import make_vectorizer
from separatrix.files.model import read
from separatrix.files.tables import read_table
from tests.cli.running import refused, run
from tests.texts import make_texts, write_mails


def write_table(path, n=60, seed=0):
    texts, kinds = make_texts(n, seed)
    frame = pd.DataFrame({"id": range(n), "body": texts, "kind": kinds})
    frame.to_csv(path, index=False)
    return frame


def test_a_spam_filter_in_three_commands():
    write_mails("monday")
    write_mails("tuesday", seed=1)
    write_mails("other", seed=2)
    assert "TruncatedIPCAC learned 40 rows" in run("fit", "monday", "-o", "a.model").stdout
    run("stream", "monday", "-o", "spam.model", "--batch-size", "10")
    run("stream", "tuesday", "-o", "spam.model", "--resume", "--new-rows", "--batch-size", "10")
    found = run("predict", "spam.model", "other", "--keep", "file", "--json")
    record = json.loads(found.stdout)
    assert record["accuracy"] > 0.9
    assert record["columns"]["file"][0] == "other/ham/000.eml"
    one = run("predict", "a.model", "other/ham/000.eml")
    assert one.stdout == "prediction\nham\n"


def test_the_model_is_that_of_python():
    frame = write_table("mails.csv")
    run("fit", "mails.csv", "-t", "kind", "--id", "id", "--text", "body", "-o", "a.model")
    texts, kinds = frame["body"], frame["kind"].to_numpy(dtype=str)
    model = make_pipeline(make_vectorizer(), TruncatedIPCAC()).fit(texts, kinds)
    new = pd.DataFrame({"body": make_texts(30, seed=3)[0]})
    expected = model.decision_function(new["body"])
    assert np.array_equal(load("a.model").decision_function(new), expected)


def test_a_stream_goes_on_as_without_a_break():
    frame = write_table("all.csv", 80)
    frame[:40].to_csv("first.csv", index=False)
    words = ["-t", "kind", "--id", "id", "--text", "body", "--batch-size", "20"]
    run("stream", "all.csv", *words, "-o", "whole.model")
    run("stream", "first.csv", *words, "-o", "part.model")
    Path("first.csv").write_bytes(Path("all.csv").read_bytes())
    run("stream", "first.csv", "-o", "part.model", "--resume", "--batch-size", "20")
    whole, part = read("whole.model"), read("part.model")
    assert whole.notes["stream"] == part.notes["stream"]
    new = pd.DataFrame({"body": make_texts(30, seed=3)[0]})
    scores = [model.model.decision_function(new) for model in (whole, part)]
    assert np.array_equal(*scores)


def test_words_are_compared():
    write_table("mails.csv", 60)
    methods = ["--methods", "TruncatedIPCAC,FisherDiscriminant"]
    words = ["-t", "kind", "--id", "id", "--text", "body"]
    found = run("compare", "mails.csv", *words, *methods, "--splits", "2", "--json")
    record = json.loads(found.stdout)
    assert record["methods"][0]["accuracy"]["mean"] > 0.9
    assert "--text body" in record["fit"]


def test_without_names_only_methods_for_sparse_rows_are_compared():
    from separatrix.cli.compare import sparse_methods

    assert "TruncatedIPCAC" in sparse_methods()
    assert "LDA" not in sparse_methods()


def test_latent_dimensions_and_gaps():
    frame = write_table("mails.csv")
    frame.loc[3, "body"] = None
    frame.to_csv("mails.csv", index=False)
    words = ["-t", "kind", "--id", "id", "--text", "body"]
    done = run("fit", "mails.csv", *words, "--latent", "5", "-o", "a.model")
    assert "60 rows, 5 features" in done.stdout
    frame[:4].to_csv("new.csv", index=False)
    assert len(run("predict", "a.model", "new.csv").stdout.splitlines()) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("fit mails.csv -t kind --id id -o a", "learn from their words (--text body)"),
        ("fit mails.csv -t kind --text bdy -o a", "no column 'bdy': did you mean 'body'?"),
        ("fit few.csv -t kind --text body -o a", "no word is in 2 of the texts"),
    ],
)
def test_mistakes_with_words_have_remedies(arguments, message):
    write_table("mails.csv")
    Path("few.csv").write_text("body,kind\none,a\ntwo,b\nthree,a\n")
    said = refused(*arguments.split())
    assert message in said
    assert len(said) < 500


@pytest.mark.parametrize("make", ["fit --hashed", "stream"])
def test_sites_that_hash_words_merge(make):
    write_mails("here")
    write_mails("there", seed=1)
    write_mails("new", seed=2)
    for site in ("here", "there"):
        run(*make.split(), site, "-o", f"{site}.model")
    run("merge", "here.model", "there.model", "-o", "all.model")
    both = [read_table(site) for site in ("here", "there")]
    X = make_vectorizer(hashed=True).transform([t for site in both for t in site.X["text"]])
    kind = TruncatedIPCAC if "fit" in make else OnlineIPCAC
    model = kind().fit(X, np.concatenate([site.y for site in both]))
    new = read_table("new").X
    expected = model.decision_function(make_vectorizer(hashed=True).transform(new["text"]))
    np.testing.assert_allclose(load("all.model").decision_function(new), expected, rtol=1e-6)
