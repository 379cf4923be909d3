"""Supervised subspaces for labelled, high-dimensional data.

The public names are those of `separatrix.public`. They are loaded when the first of them is asked
for, so that the command line answers without waiting for numerics it does not need.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from separatrix.public import *  # noqa: F403


def __getattr__(name: str) -> Any:
    if name == "__all__" or not name.startswith("__"):
        if find_spec(f"separatrix.{name}") is not None:
            return import_module(f"separatrix.{name}")
        public = import_module("separatrix.public")
        if name in ("__all__", *public.__all__):
            globals().update({known: getattr(public, known) for known in public.__all__})
            return getattr(public, name)
    raise AttributeError(f"module 'separatrix' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *import_module("separatrix.public").__all__})
