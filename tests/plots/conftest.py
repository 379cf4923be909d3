"""Pictures are drawn without a screen, and closed after each test."""

from __future__ import annotations

import matplotlib as mpl
import pytest

mpl.use("Agg")

import matplotlib.pyplot as plt


@pytest.fixture(autouse=True)
def _no_figures_left_open():
    yield
    plt.close("all")
