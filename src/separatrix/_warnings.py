"""Warnings that point at the line that called the package."""

from __future__ import annotations

import inspect
import warnings

INSIDE = ("separatrix", "sklearn")
"""Packages whose lines a reader of a warning cannot mend."""


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the place of the nearest caller outside the package and scikit-learn.

    Parameters
    ----------
    message : str
    category : type of Warning
    """
    level, frame = 1, inspect.currentframe()
    while frame and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
