"""Warnings that name the line that called the package."""

from __future__ import annotations

import inspect
import warnings

SKIPPED_PACKAGES = (
    "separatrix",
    "sklearn",
    "joblib",
    "multiprocessing",
    "concurrent",
    "threading",
    "functools",
    "contextlib",
)
"""Packages whose lines the reader of a warning cannot change: ours, and what may stand between
our lines and the caller's (pipelines and searches, workers, decorators, context managers)."""


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the file and line of the nearest caller outside `SKIPPED_PACKAGES`.

    Every warning of the package goes through here. In a worker process nobody outside called:
    the line is then one that started the worker.

    Parameters
    ----------
    message : str
    category : type of Warning
    """
    level, frame = 1, inspect.currentframe()
    while frame and _package_of(frame.f_globals) in SKIPPED_PACKAGES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _package_of(module: dict[str, object]) -> str:
    return str(module.get("__name__", "")).partition(".")[0]
