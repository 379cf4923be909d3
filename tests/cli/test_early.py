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
    assert "% decided correctly, after" in run("early", "train.csv", "--test", "test.csv").stdout


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
    assert "% decided as when complete" in run("early", "train.csv", "--test", "none.csv").stdout


def test_a_class_of_one_row_cannot_be_held_out(series):
    series.loc[0, "kind"] = "odd"
    series.to_csv("train.csv", index=False)
    assert "class 'odd' has 1 row, and none can be held out" in refused("early", "train.csv")


def test_gaps_are_learned_from_and_decided_on(series):
    series.loc[[3, 85], "t3"] = None
    series.loc[90, ["t9", "t10", "t11"]] = None  # a series that is shorter
    series[:80].to_csv("train.csv", index=False)
    series[80:].to_csv("gaps.csv", index=False)
    record = json.loads(
        run("early", "train.csv", "--test", "gaps.csv", "--report", "a.html", "--json").stdout
    )
    assert record["rows"] == 40
    assert record["agreement"] > 0.7


def test_a_line_for_each_time(series):
    lines = series.assign(who=[f"p{i}" for i in range(120)]).melt(["who", "kind"], var_name="t")
    lines["day"] = lines["t"].str[1:].astype(int)
    lines = lines.drop(columns="t").sample(frac=1, random_state=0)
    first = lines["who"].isin([f"p{i}" for i in range(80)])
    columns = ["who", "day", "value", "kind"]
    lines.loc[first, columns].to_csv("long.csv", index=False)
    lines.loc[~first, columns].to_csv("new.csv", index=False)
    options = ["-t", "kind", "--json", "--test"]
    long = run("early", "long.csv", "--series", "who", "--at", "day", *options, "new.csv")
    wide = run("early", "train.csv", *options, "test.csv")
    expected = json.loads(wide.stdout)
    found = json.loads(long.stdout)
    assert found["rows"] == 40
    # the same series in the order of their names: folds differ
    assert abs(found["values_used"] - expected["values_used"]) < 0.05
    assert "--series and --at go together" in refused("early", "long.csv", "--series", "who")


def test_subjects_are_held_out_together(series):
    series.insert(0, "who", np.arange(120) // 4)
    series.to_csv("grouped.csv", index=False)
    done = run("early", "grouped.csv", "-t", "kind", "--group", "who", "--calibrate", "0.4",
               "--reliability", "0.6", "--json")  # fmt: skip
    record = json.loads(done.stdout)
    assert record["calibration_rows"] % 4 == 0
    assert record["rows"] % 4 == 0


def test_channels_are_recognised_by_their_names(series):
    names = [f"acc_{i}" for i in range(6)] + [f"gyro_{i}" for i in range(6)]
    series.set_axis([*names, "kind"], axis=1).to_csv("two.csv", index=False)
    done = run("early", "two.csv", "-t", "kind")
    assert "Columns are channels by their names: acc, gyro" in done.stderr
    series.set_axis([*names[:-1], "gyro_9", "kind"], axis=1).to_csv("odd.csv", index=False)
    assert "'acc' has 6 times and 'gyro' others" in refused("early", "odd.csv", "-t", "kind")


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


def test_what_is_promised_is_said_with_its_confidence_or_the_reason_why_not(series):
    options = ["early", "train.csv", "--test", "test.csv", "--calibrate"]
    assert "keep the promise with confidence 0.95" in run(*options, "0.5").stdout
    assert (
        "12 rows that were not learned keep the promise on average" in run(*options, "0.15").stdout
    )
    assert "Nothing is promised before the end: 4 rows calibrate" in run(*options, "0.05").stdout
    record = json.loads(run(*options, "0.05", "--json").stdout)
    assert "at least 9 are needed" in record["no_promise"]
    record = json.loads(run(*options, "0.5", "--json").stdout)
    assert record["guarantee"] == "probability"
    assert record["no_promise"] is None
    assert set(record["kept_in_class"]) == {"up", "down"}
    assert all(0 <= kept <= 1 for kept in record["kept_in_class"].values())
