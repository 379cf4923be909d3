"""A comparison as one page that a browser opens offline: its facts, and the page made of them.

``report(comparison, "wine.html")`` writes the page; ``report(comparison)`` shows it in a notebook.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from separatrix.report.facts import facts
from separatrix.report.notebook import Report, make_report, show
from separatrix.report.page import render

__all__ = ["Report", "facts", "make_report", "render", "show"]


class _CallableModule(ModuleType):
    """The module, which may be called: the report of a comparison in one word."""

    def __call__(self, comparison: Any, path: Any = None, **words: Any) -> Report:
        return make_report(comparison, path, **words)


sys.modules[__name__].__class__ = _CallableModule
