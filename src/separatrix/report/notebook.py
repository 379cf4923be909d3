"""The report in one call: as a file, and inside a notebook."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from separatrix.evaluate.records import Comparison
from separatrix.files.whole import write_whole
from separatrix.report.facts import facts
from separatrix.report.page import render

FRAME_HEIGHT = 720
"""Pixels of the part of a notebook in which the page is scrolled."""


class Report(NamedTuple):
    """The report of a comparison.

    Attributes
    ----------
    facts : dict
        Every number and sentence, as `report.facts` gives them.
    page : str
        The page, as `report.render` makes it.
    path : path or None
        The file that it was written to.
    """

    facts: dict[str, Any]
    page: str
    path: Path | None = None

    def __repr__(self) -> str:
        """The verdict in plain sentences, and where the page is."""
        place = [] if self.path is None else [f"The report is {self.path}"]
        return "\n".join([*self.facts["verdict"]["sentences"], *place])

    def _repr_html_(self) -> str:
        """The page in a frame of its own: neither its style nor its script meets the notebook."""
        return (
            f'<iframe srcdoc="{escape(self.page)}" sandbox="allow-scripts allow-downloads" '
            f'title="{escape(self.facts["title"])}" '
            f'style="width:100%;height:{FRAME_HEIGHT}px;border:0"></iframe>'
        )


def make_report(comparison: Comparison, path: Any = None, **words: Any) -> Report:
    """The report of a comparison in one call: written where a path is given, shown in a notebook.

    Parameters
    ----------
    comparison : Comparison
        The result of `evaluate.compare`.
    path : path, optional
        File to write the page to.
    **words
        ``title``, ``command`` and the others that `report.facts` takes.

    Returns
    -------
    Report

    Examples
    --------
    >>> from separatrix import datasets, evaluate, report
    >>> iris = datasets.load("iris")
    >>> comparison = evaluate.compare(["LDA", "raw"], iris.data, iris.target, cv=5, progress=False)
    >>> print(report(comparison, title="iris"))  # doctest: +ELLIPSIS
    LDA ...
    """
    described = facts(comparison, **words)
    page = render(described)
    if path is not None:
        write_whole(path, page.encode())
    return Report(described, page, None if path is None else Path(path).absolute())


def show(comparison: Comparison) -> str:
    """The report of a comparison as a notebook shows it."""
    return make_report(comparison)._repr_html_()
