"""The lowest versions that are declared, as constraints of pip: ``make test-minima``."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("app", "dask", "parquet", "plot", "zarr")
"""Extras that users have; tools of development are always the newest."""


def list_minima(pyproject: Path = ROOT / "pyproject.toml") -> list[str]:
    """``name==version`` for every declared lower bound."""
    project = tomllib.loads(pyproject.read_text("utf-8"))["project"]
    declared = [*project["dependencies"]]
    for extra in EXTRAS:
        declared += project["optional-dependencies"][extra]
    bounds = [re.match(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?>=([0-9.]+)", text) for text in declared]
    return sorted({f"{bound[1]}=={bound[2]}" for bound in bounds if bound})


if __name__ == "__main__":
    print("\n".join(list_minima()))
