"""Makes the tables and the notebook of the tutorial in docs/tutorial.

Run ``python docs/make_tutorial.py``. A test compares the files with what it writes.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd

from separatrix import datasets

DOCS = Path(__file__).parent
BLOCK = re.compile(r"\.\. code-block:: (python|console)\n\n((?:   .*\n|\n)+)")


def make_tables() -> dict[str, pd.DataFrame]:
    """Bottles of three kinds of wine, to learn from and to predict, and short series."""
    wine = datasets.load("wine")
    bottles = pd.DataFrame(wine.data, columns=wine.feature_names)
    bottles.insert(0, "bottle", [f"b{i:03d}" for i in range(len(bottles))])
    bottles["kind"] = wine.target
    bottles = bottles.sample(frac=1, random_state=0)
    series = datasets.make_series(120, 30, n_classes=2, separation=3.5, random_state=0)
    gestures = pd.DataFrame(series.data).add_prefix("t").round(3)
    gestures["gesture"] = series.target
    return {"known.csv": bottles[:130], "new.csv": bottles[130:], "gestures.csv": gestures}


def make_notebook(page: str) -> str:
    """The page as a notebook: commands in cells that a shell runs, Python in cells of its own."""
    pieces = BLOCK.split(page)  # text, kind, body, text, kind, body, ..., text
    cells = []
    for i, text in enumerate(pieces[::3]):
        cells.append(_cell("markdown", _as_markdown(text)))
        if 3 * i + 2 < len(pieces):
            body = pieces[3 * i + 2]
            code = re.sub(r"^   (\$ )?", lambda m: "!" if m[1] else "", body, flags=re.MULTILINE)
            cells.append(_cell("code", code.strip()))
    cells = [cell | {"id": f"cell-{i}"} for i, cell in enumerate(cells)]
    return json.dumps(
        {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1
    )


def _cell(kind: str, text: str) -> dict[str, Any]:
    outcome = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": text.splitlines(True), **outcome}


def _as_markdown(text: str) -> str:
    text = re.sub(r"^(.+)\n=+$", r"# \1", text, flags=re.MULTILINE)
    text = re.sub(r"^(.+)\n-+$", r"## \1", text, flags=re.MULTILINE)
    return re.sub(r":doc:`(\w+)`", r"`docs/\1.rst`", text).replace("``", "`").strip()


def main(folder: Path) -> None:
    """Write the tables and the notebook."""
    folder.mkdir(exist_ok=True)
    for name, table in make_tables().items():
        table.to_csv(folder / name, index=False)
    page = (DOCS / "tutorial.rst").read_text("utf-8")
    (folder / "tutorial.ipynb").write_text(make_notebook(page) + "\n", "utf-8")


if __name__ == "__main__":
    main(DOCS / "tutorial")
