"""The report as one HTML file that loads nothing: text and tables here, pictures by its script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from separatrix.report.rendering import read_asset, render_template

SCRIPT_PARTS = (
    "page.js",
    "page-points.js",
    "page-row.js",
    "page-charts.js",
    "page-tables.js",
    "page-map.js",
    "page-choices.js",
    "page-start.js",
)
"""Files of the script, in the order in which they are put together."""


def render(facts: Mapping[str, Any]) -> str:
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
    return render_template(
        "page.html",
        title=f"{facts['title']}: which method separates the classes",
        policy=policy,
        facts=facts,
        code={"numbers": _data_block(facts), "script": script},
    )


def write_page_script() -> str:
    """The script of the page: its files as one function, so that no name of theirs is global."""
    parts = "\n".join(read_asset(name) for name in SCRIPT_PARTS)
    return f'"use strict";\n(() => {{\n{parts}}})();\n'


def _checksum(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _data_block(facts: Mapping[str, Any]) -> str:
    """JSON in which the HTML parser finds no tag, comment or end of the block."""
    text = json.dumps(facts, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
