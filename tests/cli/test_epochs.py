"""From a recording to decisions, in three commands."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from separatrix import FisherDiscriminant, datasets, load
from separatrix.features.signals import cut_epochs
from tests.cli.running import refused, run


@pytest.fixture
def eeg():
    found = datasets.make_epochs(200, 4, rate=32.0, random_state=0)
    arrays = ("signal", "triggers", "rate", "channels")
    np.savez("eeg.npz", y=found.target, **{name: found[name] for name in arrays})
    return found


def test_a_recording_becomes_a_model_and_its_predictions(eeg):
    done = run("epochs", "eeg.npz", "-o", "epochs.npz", "--json")
    record = json.loads(done.stdout)
    assert (record["epochs"], record["channels"], record["times"]) == (200, 4, 26)
    assert record["classes"] == {"frequent": 160, "rare": 40}
    run("fit", "epochs.npz", "--no-scale", "-o", "a.model")
    X = cut_epochs(eeg.signal, eeg.triggers, eeg.rate, start=0.0, stop=0.8)
    model = FisherDiscriminant().fit(X, eeg.target)
    found = json.loads(run("predict", "a.model", "epochs.npz", "--proba", "--json").stdout)
    np.testing.assert_allclose(
        found["columns"]["p(rare)"], model.predict_proba(X)[:, 1], rtol=1e-9
    )
    assert load("a.model").feature_names_in_[:2].tolist() == ["C1@0", "C1@0.03125"]


def test_groups_of_channels_by_the_names_of_columns(eeg):
    run("epochs", "eeg.npz", "--stop", "0.5", "--decimate", "2", "-o", "epochs.npz")
    run("fit", "epochs.npz", "-m", "GroupedDiscriminant", "--set", "groups=channels",
        "-o", "a.model")  # fmt: skip
    z = run("transform", "a.model", "epochs.npz").stdout.splitlines()
    assert len(z[0].split(",")) == 4


def test_the_filters_of_the_thesis_and_a_baseline(eeg):
    run("epochs", "eeg.npz", "--filter", "gaussian", "--low", "2.2", "--start", "0.25", "--stop",
        "0.63", "-o", "e.npz")  # fmt: skip
    run("epochs", "eeg.npz", "--start", "-0.2", "--baseline", "--high", "10", "-o", "b.npz")
    with np.load("b.npz") as found:
        assert abs(found["X"][..., found["times"] < 0].mean(axis=-1)).max() < 1e-12


def test_what_cannot_be_used_is_named_or_left_out(eeg):
    signal = eeg.signal.copy()
    signal[2] = 5.0
    triggers = np.append(eeg.triggers, signal.shape[1] - 3)
    y = np.append(eeg.target, "rare")
    np.savez("bad.npz", signal=signal, triggers=triggers, y=y, rate=32.0, channels=eeg.channels)
    assert "trigger 200, at sample 6461, is not all" in refused("epochs", "bad.npz", "-o", "e.npz")
    done = run("epochs", "bad.npz", "--skip-bad", "-o", "e.npz")
    assert "200 epochs" in done.stdout
    assert done.stderr == "Left out: channel 'C3'\nLeft out: trigger 200 at sample 6461\n"
    np.savez("bad.npz", signal=signal, triggers=eeg.triggers, y=eeg.target, rate=32.0)
    assert "channel 'c2' is constant" in refused("epochs", "bad.npz", "-o", "e.npz")


def test_wide_tables_follow_the_naming_rule(eeg):
    X = cut_epochs(eeg.signal, eeg.triggers, eeg.rate, start=0.0, stop=0.25)
    names = [f"{c}@{t}" for c in "abcd" for t in range(8)]
    frame = pd.DataFrame(X.reshape(len(X), -1), columns=names).assign(kind=eeg.target)
    frame.to_csv("wide.csv", index=False)
    run("fit", "wide.csv", "-m", "GroupedDiscriminant", "--set", "groups=times", "-o", "a.model")
    assert len(load("a.model")[-1].groups_) == 8
