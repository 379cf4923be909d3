"""Features that have a place, as a map or a spectrum."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from separatrix import evaluate
from separatrix.evaluate.splits import RandomShares
from separatrix.report import facts
from separatrix.report.maps import find_places


def compared(names, signal, scale=1.0):
    """Two classes of 40 rows that differ by a signal, and noise."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, len(names))) + np.outer(y, signal)
    frame = pd.DataFrame(scale * X, columns=names)
    methods = ["FisherDiscriminant", "raw"]
    return evaluate.compare(methods, frame, y, cv=RandomShares(2), progress=False)


def test_epochs_are_a_map_of_channels_and_times_that_peaks_where_the_classes_differ():
    names = [f"{channel}@{t / 4:g}" for channel in ("Fz", "Cz", "Pz") for t in range(8)]
    signal = np.zeros(24)
    signal[8 + 5] = 3.0  # Cz at 1.25
    found = facts(compared(names, signal))["map"]
    assert (found["kind"], found["rows"]) == ("map", ["Fz", "Cz", "Pz"])
    assert found["columns"][5] == "1.25"
    (pattern,) = found["directions"]
    assert int(np.argmax(np.abs(pattern))) == 8 + 5
    assert 0.6 < abs(pattern[8 + 5]) <= 1


def test_wavelengths_are_a_spectrum_with_the_means_of_the_classes():
    names = [f"{1100 + 2 * j} nm" for j in range(1000)]
    signal = np.zeros(1000)
    signal[300:360] = 2.0
    comparison = compared(names, signal, scale=1e-6)
    found = facts(comparison)["map"]
    assert (found["kind"], len(found["means"])) == ("spectrum", 2)
    assert len(found["columns"]) == len(found["directions"][0]) == 334  # three in one
    assert 100 <= int(np.argmax(np.abs(found["directions"][0]))) < 120
    gap = np.subtract(*found["means"][::-1])
    assert gap[100:120].mean() == pytest.approx(2e-6, rel=0.2)
    assert np.abs(gap[200:]).mean() < 0.5e-6
    without_rows = facts(dataclasses.replace(comparison, protocol=None))["map"]
    assert without_rows["kind"] == ""


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ([f"pixel_{i}_{j}" for i in range(3) for j in range(4)], "map"),
        ([f"pixel_{i}_{j}" for j in range(4) for i in range(3)], "map"),
        ([f"pixel_{i}_{j}" for i in range(3) for j in range(4)][:-1], None),
        ([str(j) for j in range(30)], "spectrum"),
        ([str(j) for j in range(30)][::-1], "spectrum"),
        ([f"x{j}" for j in range(30)], None),  # names of columns that have none
        (["1", "3", "2", *map(str, range(4, 30))], None),
        (["alcohol", "ash"], None),
    ],
)
def test_places_are_read_from_names_only_where_all_of_them_tell(names, kind):
    found = find_places(names)
    assert (found and found.kind) == kind
    if kind == "map":
        assert [names[j] for j in found.order[:4]] == [f"pixel_0_{j}" for j in range(4)]
