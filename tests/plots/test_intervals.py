"""Whiskers of loadings."""

from __future__ import annotations

import numpy as np
import pytest

from separatrix import FisherDiscriminant, datasets
from separatrix.insight import direction_intervals
from separatrix.plots import plot_direction_intervals


def test_whiskers_are_the_intervals_in_units_of_deviations():
    wine = datasets.load("wine")
    scaled = wine.data / wine.data.std(axis=0)
    model = FisherDiscriminant(shrinkage=None).fit(scaled, wine.target)
    ax = plot_direction_intervals(model, component=1, n_features=4)
    found = direction_intervals(model)
    units = np.sqrt(model.moments_.within_diagonal() / 178)
    centre = (found.low + found.high)[1] / 2 * units
    largest = np.argsort(-np.abs(centre))[:4]
    assert [t.get_text() for t in ax.get_yticklabels()] == [f"x{j}" for j in largest]
    (segments,) = ax.collections
    ends = np.array([segment[:, 0] for segment in segments.get_segments()])
    np.testing.assert_allclose(ends[:, 0], (found.low[1] * units)[largest])
    np.testing.assert_allclose(ends[:, 1], (found.high[1] * units)[largest])


def test_a_direction_that_is_not_there_is_refused():
    wine = datasets.load("wine")
    model = FisherDiscriminant(shrinkage=None).fit(wine.data, wine.target)
    with pytest.raises(ValueError, match="component=2 must be one of the 2 directions"):
        plot_direction_intervals(model, component=2)
