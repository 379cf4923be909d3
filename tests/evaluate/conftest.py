"""Comparisons in tests fit each method once in a split, unless a test asks for more."""

from __future__ import annotations

import pytest

from separatrix.evaluate import fold


@pytest.fixture(autouse=True)
def quick_limit(monkeypatch):
    """No fit to shuffled labels, but in tests that ask for `shuffles`."""
    monkeypatch.setattr(fold, "MAX_SHUFFLED_SECONDS", 0.0)


@pytest.fixture
def shuffles(quick_limit, monkeypatch):
    """Methods are fitted to shuffled labels, too."""
    monkeypatch.setattr(fold, "MAX_SHUFFLED_SECONDS", 60.0)
