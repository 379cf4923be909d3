"""`separatrix predict`: labels are compared, columns kept."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from tests.cli.running import fitted, predicted, run


def test_labels_that_the_model_does_not_know_are_not_compared(table):
    run("fit", "flowers.csv", "--id", "plant", "-o", "a.model", "-q")
    table.assign(kind=np.where(table["kind"] == "ash", "oak", "fir")).to_csv("new.csv")
    said = run("predict", "a.model", "new.csv", "-o", "found.csv").stderr
    assert "those of column 'kind', such as 'oak', are not among the model's classes, ash," in said
    assert "as predicted" not in said
    table.assign(kind=np.where(table["kind"] == "ash", "ash", "fir")).to_csv("new.csv")
    assert "as predicted" in run("predict", "a.model", "new.csv", "-o", "found.csv").stderr


def test_columns_are_kept_as_they_were(bare_table):
    fitted()
    bare_table["file"] = [f"{i:03d}" for i in range(60)]
    bare_table["note"] = [None, "a b", *["c"] * 58]
    bare_table["size"] = [float("nan"), *range(59)]
    bare_table.to_csv("new.csv", index=False)
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


def test_labels_that_the_model_never_saw_are_told(bare_table):
    fitted()
    bare_table.loc[:4, "kind"] = "yew"
    bare_table.to_csv("more.csv", index=False)
    _, told = predicted("more.csv")
    assert "5 of these have a label that the model never saw ('yew'), and count as wrong" in told
    _, told = predicted("flowers.csv")
    assert "never saw" not in told


def test_probabilities_of_few_rows_come_with_a_warning(rng):
    X = np.hstack([rng.normal(size=(20, 40)), np.arange(20)[:, None] % 2])
    columns = [*(f"v{i}" for i in range(40)), "kind"]
    pd.DataFrame(X, columns=columns).astype({"kind": int}).to_csv("wide.csv", index=False)
    run("fit", "wide.csv", "-o", "wide.model")
    said = run("predict", "wide.model", "wide.csv", "--proba").stderr
    assert "learned 40 features from 20 rows: its probabilities are likely too near" in said
    assert "near to 0" not in run("predict", "wide.model", "wide.csv").stderr
    run("fit", "wine", "-o", "wine.model")
    assert "near to 0" not in run("predict", "wine.model", "wine", "--proba").stderr


def test_a_prediction_says_which_words_decided():
    for kind, words in (("ham", "lunch meeting friday"), ("spam", "offer money lottery")):
        Path(kind).mkdir()
        for i in range(8):
            Path(kind, f"{i}.eml").write_text(f"Subject: {words}\n\n{words} note {i % 3}\n")
    run("fit", ".", "-o", "../spam.model", "-q")
    Path("../one.eml").write_text("Subject: lottery\n\nmoney, no meeting\n")
    rows = pd.read_csv(io.StringIO(run("predict", "../spam.model", "../one.eml", "-v").stdout))
    assert rows["prediction"].tolist() == ["spam"]
    assert 0.5 < rows["probability"][0] <= 1
    decided, against = rows["because"][0].split("; against: ")
    assert set(decided.split(", ")) >= {"lottery", "money"}
    assert against == "meeting"
    run("fit", "wine", "-m", "KernelIPCAC", "-o", "../k.model", "-q")
    assert "the scores are not linear" in run("predict", "../k.model", "wine", "-v").stderr
