"""`separatrix early`: how early and how often right, and models that are kept."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from separatrix import (
    datasets,
    load,
)
from tests.cli.running import refused, run


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
    assert "1 is missing here: 't3'" in refused(*options, "less.csv")


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


def test_a_calibrated_page_of_channels(series):
    done = run(
        "early", "train.csv", "--test", "test.csv", "--calibrate", "0.4", "--confidence", "0.9",
        "--reliability", "0.8", "--channels", "2", "--report", "early.html", "--json",
    )  # fmt: skip
    record = json.loads(done.stdout)
    assert record["calibration_rows"] == 32
    with open("early.html", encoding="utf-8") as file:
        page = file.read()
    assert "Promised with confidence 0.9: at most 20% of new series" in page
    assert f"{record['agreement']:.1%} of 40 series" in page
    assert refused("early", "train.csv", "--channels", "5").count("does not divide the 12 columns")


def test_a_reducer_and_any_method_may_be_named(series):
    options = ["early", "train.csv", "--test", "test.csv", "--json"]
    reduced = json.loads(run(*options, "--reducer", "LDG", "-m", "LocalQDA").stdout)
    assert reduced["rows"] == 40
    kernel = run(*options, "-m", "KernelIPCAC", "--judge", "sampled")
    assert json.loads(kernel.stdout)["rows"] == 40
