"""The page of early decisions: its numbers, its words, and that it loads nothing."""

from __future__ import annotations

import json
import re
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from separatrix import EarlyClassifier, FisherDiscriminant, datasets
from separatrix.early import Cost, Promise
from separatrix.report.early import (
    MAX_PICTURES,
    early_facts,
    headline,
    render_early,
    scale_label,
    time_labels,
)

SERIES = datasets.make_series(400, 12, 2, random_state=0)
NAMES = np.array(["<up>", "down & out"])[SERIES.target]


def fitted(**settings):
    return EarlyClassifier(FisherDiscriminant(), **settings).fit(SERIES.data[:300], NAMES[:300])


@pytest.fixture(scope="module")
def facts():
    return early_facts(fitted(calibration=0.4), SERIES.data[300:], NAMES[300:], "walks")


def test_the_numbers_are_those_of_the_decisions(facts):
    model = fitted(calibration=0.4)
    found, complete = model.decide_early(SERIES.data[300:]), model.predict(SERIES.data[300:])
    assert facts["agreement"] == np.mean(found.label == complete)
    assert facts["used"] == pytest.approx(np.mean(found.time) / 12)
    assert facts["accuracy"] == np.mean(found.label == NAMES[300:])
    assert facts["curve"]["decided"][-1] == 1
    assert [s["time"] for s in facts["series"]] == found.time.tolist()
    assert facts["n_calibration"] == model.n_calibration_rows_


def test_the_page_says_what_was_promised_and_found(facts):
    page = render_early(json.loads(json.dumps(facts, allow_nan=False)))
    assert headline(facts) in page
    assert "Promised with confidence 0.95: at most 10% of new series" in page
    assert "exchangeable" in page
    assert page.count("<figure ") == len(facts["pictures"]) <= MAX_PICTURES
    assert "&lt;up&gt;" in page
    assert "<up>" not in page
    assert not re.search(r"https?://|<script|src=", page)
    HTMLParser().feed(page)


def test_captions_name_the_reliability_that_was_required(facts):
    page = render_early(facts)
    shown = {given["number"] for given in facts["pictures"]}
    told = next(s for s in facts["series"] if s["number"] in shown and not s["at_end"])
    assert told["reliability"] >= 0.9
    assert f"its reliability {told['reliability']:.3g} reached 0.9" in page


def test_the_reliability_that_is_drawn_is_that_of_the_decisions(facts):
    model, X = fitted(calibration=0.4), SERIES.data[300:]
    found = model.decide_early(X)
    for given in facts["pictures"]:
        i, t = given["number"], given["n_known"]
        assert t == found.time[i]
        assert given["path"][-1] == found.reliability[i]
        assert max(given["path"][:-1], default=0) < 0.9


def test_each_class_has_what_is_promised_and_what_is_kept(facts):
    model, X = fitted(calibration=0.4), SERIES.data[300:]
    found, complete = model.decide_early(X).label, model.predict(X)
    for given, promise in zip(facts["classes"], model.class_promises_, strict=True):
        same = found[complete == given["label"]] == given["label"]
        assert given["n"] == len(same)
        assert given["kept"] == same.mean()
        assert given["calibration"] == promise.kept
        right = found[NAMES[300:] == given["label"]] == given["label"]
        assert given["found"] == right.mean()
    assert "over all classes only" in render_early(facts)
    by_class = {**facts, "condition": "class"}
    assert "over all classes only" not in render_early(by_class)


def test_a_series_is_replayed_until_its_end(facts):
    model, frames = fitted(calibration=0.4), facts["replay"]
    assert [frame["n_known"] for frame in frames] == list(range(1, 13))
    number = frames[0]["number"]
    row = SERIES.data[300 + number]
    stream = model.stream()
    answers = [stream.push(value) for value in row]
    assert [frame["label"] for frame in frames] == [str(a.label) for a in answers]
    assert [frame["decided"] for frame in frames] == [bool(a.decided) for a in answers]
    assert [frame["reliability"] for frame in frames] == [a.reliability for a in answers]
    page = render_early(facts)
    assert page.count('<input type="radio"') == 12
    assert page.count(" checked>") == 1
    assert "#replay11:checked~div>:nth-child(12)" in page


def test_nothing_promised_is_said_with_the_reason():
    with pytest.warns(UserWarning, match="nothing will be decided before the end"):
        model = fitted(calibration=Promise(0.05, "probability"))
    found = early_facts(model, SERIES.data[300:], NAMES[300:], "walks")
    page = render_early(json.loads(json.dumps(found, allow_nan=False)))
    assert "Nothing is promised before the end: 15 rows calibrate" in page


def test_pictures_have_numbers_on_their_scales():
    assert [re.findall(">([0-9]+)<", label)[0] for label in time_labels(12)] == ["1", "6", "12"]
    assert [re.findall(">([0-9]+)<", label)[0] for label in time_labels(60, 58)] == ["1", "60"]
    assert len(time_labels(1)) == 1
    assert ">0.5<" in scale_label(0.5, 0, 1)


def test_a_table_keeps_the_names_of_its_columns():
    names = [f"t{i}" for i in range(12)]
    table = pd.DataFrame(SERIES.data, columns=names)
    model = EarlyClassifier(FisherDiscriminant(), calibration=0.4).fit(table[:300], NAMES[:300])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = early_facts(model, table[300:], NAMES[300:], "walks")
    picture = found["pictures"][0]
    values = SERIES.data[300 + picture["number"]]
    np.testing.assert_allclose(picture["values"], values)
    np.testing.assert_allclose(picture["mean"][: picture["n_known"]], values[: picture["n_known"]])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "if the values are normal"),
        ({"calibration": Promise(0.4, "average")}, "Promised on average"),
        ({"calibration": Promise(0.4, condition="class"), "reliability": 0.7}, ", of each class"),
        ({"calibration": Cost(1, 5, 0.4)}, "have the least cost"),
    ],
)
def test_each_promise_has_its_words(settings, words):
    found = early_facts(fitted(**settings), SERIES.data[300:], None, "walks")
    assert words in render_early(found)
    assert found["accuracy"] is None


def test_channels_are_counted_by_times():
    model = fitted(n_channels=3)
    found = early_facts(model, SERIES.data[300:], NAMES[300:], "walks")
    assert found["n_times"] == 4
    assert len(found["curve"]["middle"]) == len(found["pictures"][0]["values"]) == 4
    assert "Of several channels the first." in render_early(found)
