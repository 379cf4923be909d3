"""A comparison as one page that a browser opens offline: its facts, and the page made of them."""

from __future__ import annotations

from separatrix.report.facts import facts
from separatrix.report.page import render

__all__ = ["facts", "render"]
