"""The report as one HTML file that loads nothing: text and tables here, pictures by its script."""

from __future__ import annotations

import base64
import hashlib
import json

from separatrix.report.elements import Html, read_asset, render_head, tag
from separatrix.report.opening import render_leaderboard, render_verdict
from separatrix.report.sections import (
    TITLES,
    Facts,
    render_confusion,
    render_curves,
    render_dimension,
    render_failures,
    render_loadings,
    render_projections,
    render_reproduce,
    render_time,
)


def render(facts: Facts) -> str:
    """The page of a report.

    Parameters
    ----------
    facts : dict
        The result of `facts`, also after a round trip through JSON.

    Returns
    -------
    str
        An HTML document to be written as UTF-8. It needs nothing else: style, script and numbers
        are inside, and its policy forbids the browser to load or send anything.

    Notes
    -----
    No name or label can become part of the page's code: text is escaped, the numbers stand in a
    block of data in which no tag can end, and only the script with the right checksum may run.
    """
    script = write_page_script()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; "
        f"script-src '{_checksum(script)}'; base-uri 'none'; form-action 'none'"
    )
    head = render_head(f"{facts['title']}: which method separates the classes", policy)
    body = tag(
        "body",
        tag("a", "Skip to the result", class_="skip", href="#verdict"),
        _header(facts),
        tag("main", *_sections(facts)),
        tag("p", "Made by separatrix. This file needs no network.", class_="foot"),
        tag("div", id="tip", class_="tip", role="tooltip", hidden=True),
        tag("div", id="live", class_="visually-hidden", aria_live="polite"),
        tag("script", Html(_data_block(facts)), type="application/json", id="facts"),
        tag("script", Html(script)),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


SCRIPT_PARTS = (
    "page.js",
    "page-points.js",
    "page-row.js",
    "page-charts.js",
    "page-tables.js",
    "page-choices.js",
    "page-start.js",
)
"""Files of the script, in the order in which they are put together."""


def write_page_script() -> str:
    """The script of the page: its files as one function, so that no name of theirs is global."""
    parts = "\n".join(read_asset(name) for name in SCRIPT_PARTS)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def _checksum(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _data_block(facts: Facts) -> str:
    """JSON in which the HTML parser finds no tag, comment or end of the block."""
    text = json.dumps(facts, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _header(facts: Facts) -> Html:
    links = [tag("a", title, href=f"#{key}") for key, title in TITLES.items()]
    return tag(
        "header",
        tag(
            "div",
            tag("p", tag("b", facts["title"]), f" {facts['data']['line']}", class_="eyebrow"),
            tag(
                "div",
                tag("button", "Save numbers", id="save", type="button", title="As a JSON file"),
                tag("button", "Dark", id="theme", type="button"),
                class_="tools",
            ),
            class_="bar",
        ),
        tag("nav", *links, aria_label="Parts of the report"),
    )


def _sections(facts: Facts) -> list[Html]:
    return [
        render_verdict(facts),
        render_projections(facts),
        render_leaderboard(facts),
        render_confusion(facts),
        render_loadings(facts),
        render_curves(facts),
        render_dimension(facts),
        render_time(facts),
        render_failures(facts),
        render_reproduce(facts),
    ]
