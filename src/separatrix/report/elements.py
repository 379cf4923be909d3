"""Elements of HTML, and pages that need no other file."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

DARK_MEDIA = "screen and (prefers-color-scheme: dark)"
"""Who sees the dark colours until the button is used."""


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


def make_breakable(name: str) -> list[Any]:
    """A name that may be cut before the words that it is made of.

    Examples
    --------
    >>> make_breakable("LocalQDA")
    ['Local', '<wbr>', 'QDA']
    """
    parts = re.split(r"(?<=[a-z])(?=[A-Z])", name)
    return [piece for part in parts for piece in (Html("<wbr>"), part)][1:]


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
    head = render_head(title, "default-src 'none'; style-src 'unsafe-inline'; img-src data:")
    return f"<!doctype html>\n{tag('html', head, tag('body', *content), lang='en')}\n"


def render_head(title: str, policy: str) -> Html:
    """The head of a page, with its style and the policy that limits what it may load."""
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", Html(read_asset("page.css"))),
        tag("style", Html(read_asset("page-dark.css")), id="dark", media=DARK_MEDIA),
    )


def read_asset(name: str) -> str:
    """The text of a file of this package."""
    return files("separatrix.report").joinpath(name).read_text(encoding="utf-8")
