"""What tests of files share."""

from __future__ import annotations

import pytest

from separatrix.files import archive


@pytest.fixture
def unasked(monkeypatch):
    """Models are loaded without being asked about a row: stand-ins for parts have no methods."""
    monkeypatch.setattr(archive, "check_answers", lambda model: None)
