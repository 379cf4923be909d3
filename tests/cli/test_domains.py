"""`fit --domain`: many rows of a source and few of the domain where the model is used."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from separatrix import DomainScaler, FisherDiscriminant, TargetWeighted, load
from tests.cli.running import refused, run

Y, TARGET = np.arange(200) % 2, np.arange(200) >= 170


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """One feature is turned round in the target, which has another scale."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) + Y[:, None] * [2, 2, 0, 0, 0]
    X[TARGET, 0] -= 4 * Y[TARGET]
    X[TARGET] = 10 * X[TARGET] + 3
    frame = pd.DataFrame(X.round(3), columns=list("abcde"))
    frame["where"] = np.where(TARGET, "target", "elsewhere")
    frame["kind"] = np.array(["no", "yes"])[Y]
    frame.to_csv("rows.csv", index=False)
    return frame


@pytest.mark.parametrize("method", ["TargetWeighted", "TransferLDG"])
def test_rows_of_the_target_are_told_by_a_column(rows, method):
    run("fit", "rows.csv", "-t", "kind", "-m", method, "--domain", "where", "-o", "a.model")
    rows[TARGET].to_csv("new.csv", index=False)
    found = run("predict", "a.model", "new.csv").stdout.split()
    assert np.mean(np.array(found[-30:]) == rows["kind"][TARGET].to_numpy()) >= 0.8
    assert set(load("a.model")["pipeline"]["domainscaler"].domains_) == {-1, 1}


def test_it_is_the_estimator_on_domains_that_are_scaled_apart(rows):
    rows["where"] = np.where(TARGET, -2, 7)
    rows.to_csv("rows.csv", index=False)
    given = ["-t", "kind", "-m", "TargetWeighted", "--no-scale", "--domain", "where"]
    run("fit", "rows.csv", *given, "-o", "a.model")
    X, domain = rows[list("abcde")].to_numpy(), np.where(TARGET, -1, 1)
    Z = DomainScaler().fit_transform(X, sample_domain=domain)
    expected = TargetWeighted(FisherDiscriminant()).fit(Z, rows["kind"], sample_domain=domain)
    assert load("a.model")[-1].weight_ == pytest.approx(expected.weight_)


def test_what_the_column_cannot_do_is_said(rows):
    fit = ["fit", "rows.csv", "-t", "kind", "-o", "a.model"]
    assert "goes with --method TargetWeighted" in refused(*fit, "--domain", "where", code=2)
    assert "goes with --method TargetWeighted" in refused(*fit, "-m", "TransferLDG", code=2)
    rows["where"] = "elsewhere"
    rows.to_csv("rows.csv", index=False)
    assert "rows of both domains" in refused(*fit, "-m", "TransferLDG", "--domain", "where")
    assert "fit --domain COL" in refused("compare", "rows.csv", "--methods", "TransferLDG")
