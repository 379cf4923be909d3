"""`separatrix merge`: the model of all rows."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from separatrix import load
from separatrix.files.model import read
from tests.cli.running import flowers, refused, run, stream_file

BY_MOMENTS = ("--set", "shrinkage=moments")
"""With the default a fit leaves rows out, which a merged model has not."""


def sites(*options, n=90, names=("v0", "v1", "v2")):
    """Three files with columns in different orders and units."""
    frame = flowers(n).drop(columns="plant")
    frame["v1"] = 1000 * frame["v1"] + 5000
    for i in range(3):
        columns = [*np.roll(names, i), "kind"]
        frame[i::3][columns].to_csv(f"site{i}.csv", index=False)
        run("fit", f"site{i}.csv", "-o", f"site{i}.model", "-q", *options)
    frame.to_csv("all.csv", index=False)
    run("fit", "all.csv", "-o", "whole.model", "-q", *options)
    return frame


MODELS = tuple(f"site{i}.model" for i in range(3))


@pytest.mark.parametrize(
    "options",
    [
        BY_MOMENTS,
        ("--no-scale", *BY_MOMENTS),
        ("-m", "IPCAC"),
        ("-m", "QuadraticDiscriminant"),
        ("-m", "PartialLeastSquaresDiscriminant", "--set", "n_components=2"),
        ("-m", "TruncatedIPCAC"),
        ("--set", "shrinkage=nonlinear"),
    ],
    ids=" ".join,
)
def test_files_merge_to_the_fit_of_the_concatenated_file(options):
    frame = sites(*options)
    done = run("merge", *MODELS, "-o", "all.model", "--json")
    assert json.loads(done.stdout)["rows"] == 90
    merged, whole = load("all.model"), load("whole.model")
    X = frame[["v0", "v1", "v2"]]
    found, expected = (m.decision_function(X[m.feature_names_in_]) for m in (merged, whole))
    assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_columns_of_text_merge():
    options = ("--categorical", "onehot", *BY_MOMENTS)
    frame = flowers(90).drop(columns="plant")
    frame["soil"] = np.array(["sand", "clay", "peat"])[(np.arange(90) // 3) % 3]
    frame = frame[["soil", "v0", "v1", "v2", "kind"]]
    for i in range(3):
        frame[i::3].to_csv(f"site{i}.csv", index=False)
        run("fit", f"site{i}.csv", *options, "-o", f"site{i}.model", "-q")
    run("merge", *MODELS, "-o", "all.model")
    frame.to_csv("all.csv", index=False)
    run("fit", "all.csv", *options, "-o", "whole.model", "-q")
    probabilities = [
        pd.read_csv(io.StringIO(run("predict", model, "all.csv", "--proba").stdout))
        for model in ("all.model", "whole.model")
    ]
    assert_allclose(*(p.filter(like="p(").to_numpy() for p in probabilities), atol=1e-9)
    frame[frame["soil"] != "clay"].to_csv("few.csv", index=False)
    run("fit", "few.csv", "--categorical", "onehot", "-o", "few.model", "-q")
    assert "values of 'soil' must agree" in refused("merge", *MODELS, "few.model", "-o", "m")


def test_a_site_leaves():
    frame = sites()
    run("merge", *MODELS, "-o", "all.model")
    said = run("merge", "all.model", "--without", "site1.model", "-o", "rest.model").stdout
    assert "all.model of 60 rows is kept, without 1: rest.model" in said
    run("merge", "site0.model", "site2.model", "-o", "two.model")
    X = frame[["v0", "v1", "v2"]]
    rest, two = load("rest.model"), load("two.model")
    assert_allclose(rest.decision_function(X), two.decision_function(X), atol=1e-8)


def test_influence_is_printed_and_strange_sites_are_named():
    frame = sites()
    record = json.loads(run("merge", *MODELS, "-o", "all.model", "--json").stdout)
    assert record["influence"]["site0.model"]["rows"] == 30
    assert record["influence"]["site0.model"]["angle"] > 0
    (frame.select_dtypes("number") * 1000).assign(kind=frame["kind"]).to_csv("odd.csv")
    run("fit", "odd.csv", "--ignore", "Unnamed: 0", "-o", "odd.model")
    done = run("merge", *MODELS, "odd.model", "-o", "all.model")
    assert "odd.model is unlike the others" in done.stderr
    assert "site0.model: 30 rows" in done.stdout


def test_noise_needs_clipped_rows_and_is_stated():
    sites()
    noise = ("--epsilon", "5", "--delta", "1e-5", "--max-norm", "9000")
    assert "site0.model was fitted without --max-norm" in refused(
        "merge", *MODELS, *noise, "-o", "m"
    )
    sites("--max-norm", "9000")
    said = run("merge", *MODELS, *noise, "-o", "private.model").stdout
    assert "with noise of epsilon 5" in said
    assert read("private.model").notes["noise"]["epsilon"] == 5
    assert load("private.model")[-1].noise_["delta"] == 1e-5
    assert "belong together" in refused("merge", *MODELS, "--epsilon", "1", "-o", "m")


def test_only_what_can_be_merged_is():
    flowers().drop(columns="plant").to_csv("a.csv", index=False)
    run("fit", "a.csv", "-o", "scaled.model")
    run("fit", "a.csv", "--no-scale", "-o", "a.model")
    run("fit", "a.csv", "--no-scale", "-m", "IPCAC", "-o", "b.model")
    said = run("fit", "a.csv", "--no-scale", "-m", "GSVDDiscriminant", "-o", "c.model").stderr
    assert "`separatrix merge` will not take this model: GSVDDiscriminant cannot" in said
    said = run("fit", "a.csv", "--rows", "snv", "-o", "c2.model").stderr
    assert "will not take this model: StandardNormalVariate comes before the model" in said
    assert "unlike model 0" in refused("merge", "scaled.model", "a.model", "-o", "m")
    assert "only models of one kind" in refused("merge", "a.model", "b.model", "-o", "m")
    assert "model 1 is b.model" in refused("merge", "a.model", "b.model", "-o", "m")
    assert "model 1: GSVDDiscriminant" in refused("merge", "a.model", "c.model", "-o", "m")
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


@pytest.mark.parametrize("soil", [True, False], ids=["text", "numbers"])
@pytest.mark.parametrize(
    "options", [BY_MOMENTS, ("-m", "TruncatedIPCAC"), ("--no-scale", *BY_MOMENTS)], ids=" ".join
)
def test_files_whose_gaps_are_filled_with_a_constant_merge(options, soil):
    """As if the constant stood in one file; columns of text have a value for their gaps."""
    frame = flowers(90).drop(columns="plant")
    if soil:
        frame.insert(0, "soil", np.array(["sand", "clay", None])[(np.arange(90) // 3) % 3])
    frame.loc[np.arange(0, 90, 7), "v1"] = np.nan
    filled = ["--categorical", "onehot", "--missing", "constant:-1.5", "-q", *options]
    for i in range(3):
        frame[i::3].to_csv(f"site{i}.csv", index=False)
        run("fit", f"site{i}.csv", *filled, "-o", f"site{i}.model")
    run("merge", *MODELS, "-o", "all.model")
    frame.to_csv("all.csv", index=False)
    run("fit", "all.csv", *filled, "-o", "whole.model")
    frame.fillna({"v1": -1.5, "soil": "-1.5"}).to_csv("without.csv", index=False)
    run("fit", "without.csv", "--categorical", "onehot", "-q", *options, "-o", "without.model")
    X = pd.read_csv("all.csv").drop(columns="kind")
    merged, whole = (load(f"{name}.model").decision_function(X) for name in ("all", "whole"))
    full = load("without.model").decision_function(X.fillna({"v1": -1.5, "soil": "-1.5"}))
    for found in (merged, full):
        assert_allclose(found, whole, rtol=0, atol=1e-9 * np.abs(whole).max())
    run("fit", "site0.csv", *filled[:2], "--missing", "constant:0", *options, "-o", "odd.model")
    said = refused("merge", "site1.model", "odd.model", "-o", "m")
    assert "the constant that fills gaps of 'v0' must agree: it is 0.0 in model 1" in said


def test_rows_are_forgotten_where_gaps_are_filled_with_a_constant():
    frame = flowers(90).drop(columns="plant")
    frame.loc[np.arange(0, 90, 7), "v1"] = np.nan
    for name, rows in (("all", frame), ("gone", frame[:9]), ("rest", frame[9:])):
        rows.to_csv(f"{name}.csv", index=False)
        run(
            "fit",
            f"{name}.csv",
            "--missing",
            "constant:0",
            *BY_MOMENTS,
            "-o",
            f"{name}.model",
            "-q",
        )
    run("forget", "all.model", "gone.csv", "-o", "left.model", "-q")
    X = frame.drop(columns="kind")
    found, expected = (load(f"{n}.model").decision_function(X) for n in ("left", "rest"))
    assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_rows_that_one_site_has_forgotten_and_another_has_can_be_forgotten():
    """A table is known to be gone from the sum where it is gone from each of its parts."""
    frame = sites()
    frame[:9].to_csv("gone.csv", index=False)
    for part, rows in {"a": frame[:50], "b": frame[50:].iloc[::-1]}.items():
        pd.concat([frame[:9], rows]).drop_duplicates().to_csv(f"{part}.csv", index=False)
        run("fit", f"{part}.csv", "-o", f"{part}.model", "-q")
        run("forget", f"{part}.model", "gone.csv", "-o", f"{part}-less.model", "-q")
    run("merge", "a-less.model", "b.model", "-o", "one.model", "-q")
    run("forget", "one.model", "gone.csv", "-o", "none.model", "-q")
    run("merge", "a-less.model", "b-less.model", "-o", "both.model", "-q")
    X = frame[["v0", "v1", "v2"]]
    found, expected = (load(f"{n}.model").decision_function(X) for n in ("none", "both"))
    assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    run("merge", "both.model", "--without", "b-less.model", "-o", "left.model", "-q")
    for model in ("none", "both", "left"):
        assert "before" in refused("forget", f"{model}.model", "gone.csv", "-o", "m")
