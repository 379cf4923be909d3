"""Elements of HTML, and pages that need no other file."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from separatrix.report.rendering import render_template


class Html(str):
    """Text that is HTML already."""


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element. Children that are not `Html` are escaped; False and None are left out.

    Examples
    --------
    >>> tag("p", "a < b", tag("b", "!"), class_="note", hidden=True)
    '<p class="note" hidden>a &lt; b<b>!</b></p>'
    """
    given = ""
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        given += f" {key.rstrip('_').replace('_', '-')}"
        if value is not True:
            given += f'="{html.escape(str(value))}"'
    if name in ("img", "input", "meta"):
        return Html(f"<{name}{given}>")
    inside = "".join(
        child if isinstance(child, Html) else html.escape(str(child))
        for child in children
        if child is not None and child is not False
    )
    return Html(f"<{name}{given}>{inside}</{name}>")


def render_section(key: str, title: str, lead: str, *children: Any) -> Html:
    """A part of the page with a heading and a sentence or two."""
    return tag(
        "section",
        tag("h2", title, id=f"{key}-title"),
        tag("p", lead, class_="lead") if lead else None,
        *children,
        id=key,
        aria_labelledby=f"{key}-title",
    )


def render_table(head: Sequence[str], rows: Iterable[Sequence[Any]], **attributes: Any) -> Html:
    """A table whose first column names its rows."""
    return tag(
        "table",
        tag("thead", tag("tr", *(tag("th", cell, scope="col") for cell in head))),
        tag(
            "tbody",
            *(
                tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:]))
                for row in rows
            ),
        ),
        **attributes,
    )


def make_scrollable(inside: Html, label: str) -> Html:
    """Wide content that scrolls by itself, also by keyboard."""
    return tag("div", inside, class_="scroll", tabindex=0, role="region", aria_label=label)


def render_document(title: str, *content: Any) -> str:
    """A page in the style of the report, without a script."""
    return render_template(
        "document.html",
        title=title,
        policy="default-src 'none'; style-src 'unsafe-inline'; img-src data:",
        code={"content": "".join(content)},
    )
