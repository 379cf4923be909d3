"""Epochs in files and the names of their values."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from separatrix.files.epochs import check_connected, name_values, read_recording, split_value_names
from separatrix.files.tables import read_table


def test_names_say_channel_and_time():
    names = name_values(["Cz", "a@b"], [-0.1, 0.0, 0.25])
    assert split_value_names(names) == (["Cz", "a@b"], [-0.1, 0.0, 0.25])
    for others in (["Cz@0", "Pz@1"], ["a", "b"], ["@1", "@2"], ["Cz@now"]):
        assert split_value_names(others) is None


def test_epochs_are_rows_of_their_channels(tmp_path, rng):
    X = rng.standard_normal((6, 2, 3))
    path = tmp_path / "e.npz"
    np.savez(path, X=X, y=["a", "b"] * 3, channels=["Cz", "Pz"], times=[0.0, 0.1, 0.2])
    table = read_table(path)
    assert list(table.X)[:4] == ["Cz@0", "Cz@0.1", "Cz@0.2", "Pz@0"]
    assert_array_equal(table.X.to_numpy().reshape(6, 2, 3), X)
    np.savez(path, X=X, y=["a", "b"] * 3)
    assert list(read_table(path).X)[3] == "c1@0"
    np.savez(path, X=X, y=["a", "b"] * 3, channels=["Cz"])
    with pytest.raises(ValueError, match=r"has 1 channels, but X of shape \(6, 2, 3\) has 2"):
        read_table(path)


def test_recordings_say_what_they_lack(tmp_path, rng):
    path = tmp_path / "r.npz"
    parts = {"signal": rng.standard_normal((2, 50)), "triggers": [3, 9], "y": ["a", "b"]}
    np.savez(path, **parts, rate=10.0, channels=["Cz", "Pz"])
    found = read_recording(str(path))
    assert (found.rate, found.channels, found.labels.tolist()) == (10.0, ["Cz", "Pz"], ["a", "b"])
    with pytest.raises(ValueError, match="is a recording: cut it first, by `separatrix epochs"):
        read_table(path)
    for changed, said in (
        ({}, "give --rate"),
        ({"rate": 1.0, "y": ["a"]}, "2 triggers and 1 labels"),
        ({"rate": 1.0, "signal": np.zeros(9)}, "not .channels, samples."),
        ({"rate": 1.0, "channels": ["a"]}, "1 names for 2 channels"),
    ):
        np.savez(path, **{**parts, **changed})
        with pytest.raises(ValueError, match=said):
            read_recording(str(path))
    np.savez(path, signal=parts["signal"])
    with pytest.raises(ValueError, match="has no array 'triggers'"):
        read_recording(str(path))


def test_a_channel_that_is_not_connected_is_named(rng):
    X = rng.standard_normal((4, 2, 5))
    check_connected("e", X, ["Cz", "Pz"])
    X[:, 1] = 3.0
    with pytest.raises(ValueError, match="channel 'Pz' is constant"):
        check_connected("e", X, ["Cz", "Pz"])
