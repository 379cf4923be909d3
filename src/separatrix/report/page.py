"""The report as one HTML file that loads nothing: text and tables here, pictures by its script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from separatrix.report import wording
from separatrix.report.elements import (
    Html,
    make_breakable,
    make_scrollable,
    read_asset,
    render_head,
    render_section,
    render_table,
    tag,
)

Facts = Mapping[str, Any]


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


# Parts of the page -------------------------------------------------------------------------------


TITLES = {
    "leaderboard": "All methods",
    "dimension": "How many directions",
    "projections": "See the classes",
    "confusion": "What is mistaken for what",
    "curves": "How sure it is",
    "loadings": "Which features matter",
    "time": "Time and accuracy",
    "failures": "What failed",
    "reproduce": "Do it again",
}
"""Headings of the parts after the verdict, in their order."""


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
        _verdict(facts),
        _leaderboard(facts),
        _dimension(facts),
        _projections(facts),
        _confusion(facts),
        _curves(facts),
        _loadings(facts),
        _time(facts),
        _failures(facts),
        _reproduce(facts),
    ]


def _verdict(facts: Facts) -> Html:
    said = facts["verdict"]
    return tag(
        "section",
        tag("h1", said["headline"], id="verdict-title"),
        tag("p", said["few"], class_="caution") if said["few"] else None,
        *(tag("p", said[key], class_="measure") for key in ("subspace", "measure") if said[key]),
        tag(
            "div",
            tag("h2", "What to use"),
            tag("p", said["use"]),
            tag("p", "To get it: ", tag("code", said["fit"]), class_="fine")
            if said["fit"]
            else None,
            *(tag("p", said[key], class_="quick") for key in ("why", "top") if said[key]),
            class_="use",
        ),
        tag("div", *_cards(said), class_="cards") if said["bars"] else None,
        *(tag("p", text, class_="caution") for text in said["cautions"]),
        _notices(facts["data"]["notices"]),
        tag("p", said["winner"], class_="fine") if said["winner"] else None,
        tag("p", f"{facts['protocol']} {said['alike']}", class_="fine"),
        tag("noscript", tag("p", "The pictures need JavaScript; the tables do not.")),
        id="verdict",
        aria_labelledby="verdict-title",
    )


def _notices(texts: Sequence[str]) -> Html | None:
    """What is probably not meant as it is in the data."""
    if not texts:
        return None
    items = tag("ul", *(tag("li", text) for text in texts))
    return tag("div", tag("b", "Look at the data again:"), items, class_="caution notices")


def _cards(said: Facts) -> list[Html]:
    most = max(bar["mistakes"] for bar in said["bars"]) or 1.0
    bars = [
        tag(
            "div",
            tag(
                "span",
                *make_breakable(bar["name"]),
                " (top of the table)" if bar["top"] and not bar["best"] else None,
                class_="what",
            ),
            tag("span", tag("i", style=f"width:{100 * bar['mistakes'] / most:.2f}%")),
            tag("b", f"{bar['mistakes']:.1f}"),
            class_="barline best" if bar["best"] else "barline",
        )
        for bar in said["bars"]
    ]
    guess = tag("p", said["guessing"], class_="fine")
    cards = [tag("div", tag("h2", "Mistakes in 100 new rows"), *bars, guess, class_="card")]
    for entry in said["against"]:
        state = {True: "real", False: "unproven", None: "untested"}[entry["real"]]
        cards.append(
            tag(
                "div",
                tag("h2", entry["title"]),
                tag("p", entry["value"], class_="big"),
                tag("p", entry["words"], class_=f"chip {state}"),
                tag("p", entry["quote"], class_="fine") if entry["quote"] else None,
                class_="card",
            )
        )
    return cards


def _leaderboard(facts: Facts) -> Html:
    board = facts["leaderboard"]
    if not board["rows"]:
        return render_section("leaderboard", TITLES["leaderboard"], "No method has a score.")
    low, high = _axis(board)
    columns = [s for s in board["scores"] if s["key"] != "accuracy"]
    scale = tag("div", *(tag("span", f"{100 * v:.0f} %") for v in (low, high)), class_="scale")
    head = ["place", "method", "correct", scale, "group", "directions", "training"]
    names = [tag("th", cell, scope="col") for cell in head]
    rows = [_board_row(row, low, high) for row in board["rows"]]
    lead = (
        "Share of held-out rows that are classified correctly, the mean of all splits; the line "
        "is the 95 % interval of the mean."
    )
    if board["groups"] and len(board["rows"]) > 1:
        lead += (
            " The test cannot distinguish methods that share a letter: their order may be chance."
        )
    more = render_table(
        [
            *("method", "decides by", *(s["name"] for s in columns)),
            *("predicting", "memory", "splits", "settings chosen"),
        ],
        [
            [
                row["name"],
                row["decision"],
                *(_share(row["scores"].get(s["key"], {}).get("mean")) for s in columns),
                wording.format_seconds(row["predict_seconds"]),
                wording.format_bytes(row["peak_bytes"]),
                row["splits"],
                row["settings"] or "–",
            ]
            for row in board["rows"]
        ],
    )
    return render_section(
        "leaderboard",
        TITLES["leaderboard"],
        lead,
        tag("table", tag("thead", tag("tr", *names)), tag("tbody", *rows), class_="board"),
        tag(
            "details",
            tag("summary", "More scores, memory, settings"),
            make_scrollable(more, "More scores"),
        ),
        tag("ul", *(tag("li", note) for note in board["notes"]), class_="fine"),
        tag("p", f"Test: {board['test']}, level {board['alpha']:g}.", class_="fine")
        if board["test"]
        else None,
    )


def _axis(board: Facts) -> tuple[float, float]:
    """Ends of the bars of the leaderboard, wide enough for all methods with a place."""
    rows = [row for row in board["rows"] if row["ranked"]] or board["rows"]
    ends = [v for row in rows for v in (row["low"], row["mean"]) if v is not None]
    low = max(0.0, min(ends, default=0.0) - 0.02)
    return min(int(20 * low) / 20, 0.9), 1.0


def _share(value: float | None) -> str:
    return "–" if value is None else wording.format_percent(value)


def _board_row(row: Facts, low: float, high: float) -> Html:
    def at(value: float) -> float:
        return 100 * (min(max(value, low), high) - low) / (high - low)

    mark = None
    if row["mean"] is not None:
        a, b = (row["mean"] if row[end] is None else row[end] for end in ("low", "high"))
        mark = tag(
            "div",
            tag("i", style=f"left:{at(a):.2f}%;width:{at(b) - at(a):.2f}%"),
            tag("b", style=f"left:{at(row['mean']):.2f}%"),
            class_="interval",
            title=f"95 % interval: {_share(row['low'])} to {_share(row['high'])}",
        )
    letters = "".join(_letter(i) for i in row["groups"])
    best = row["place"] == 1
    return tag(
        "tr",
        tag("td", row["place"] if row["place"] else "–", class_="place"),
        tag(
            "th",
            tag("span", *make_breakable(row["label"]), class_="name"),
            tag("span", "reference", class_="ref") if row["kind"] == "reference" else None,
            scope="row",
            title=row["description"],
        ),
        tag("td", _share(row["mean"]), class_="num"),
        tag("td", mark, class_="plot"),
        tag("td", letters, class_="group", data_label="group"),
        tag("td", _directions(row), class_="num small", data_label="directions"),
        tag(
            "td",
            wording.format_seconds(row["fit_seconds"]),
            class_="num small",
            data_label="training",
        ),
        class_="first" if best else None,
    )


def _directions(row: Facts) -> str:
    if not row["dimensions"]:
        return "–"
    low, high = row["dimensions"]
    return str(low) if low == high else f"{low}–{high}"


def _letter(i: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[i % 26] + ("" if i < 26 else "′" * (i // 26))


def _dimension(facts: Facts) -> Html:
    found = facts["dimension"]
    lines = found["lines"]
    title, lead = TITLES["dimension"], found["words"]
    if not lines:
        return render_section("dimension", title, lead)
    numbers = range(1, found["longest"] + 1)
    as_table = render_table(
        ["method", *numbers],
        [
            [line["name"], *(_share(v) for v in line["accuracy"])]
            + [""] * (found["longest"] - len(line["accuracy"]))
            for line in lines
        ],
    )
    return render_section(
        "dimension",
        title,
        lead,
        tag("div", class_="chart", id="dimension-chart") if found["longest"] > 1 else None,
        tag(
            "div",
            class_="chips",
            id="dimension-chips",
            role="group",
            aria_label="Methods to highlight",
        )
        if found["longest"] > 1
        else None,
        tag("details", tag("summary", "As a table"), make_scrollable(as_table, "Accuracy")),
    )


def _projections(facts: Facts) -> Html:
    found = facts["projections"]
    title = TITLES["projections"]
    if not found["views"]:
        return render_section("projections", title, "No method has directions to draw along.")
    keys = (
        ("drag", "move the points; in 3-D, turn them"),
        ("Shift and drag", "mark rows: they stay bright in every picture"),
        ("wheel (after a click), pinch, + and −", "zoom"),
        ("arrow keys", "move or turn"),
        (". and ,", "go from point to point"),
        ("0", "back to the start"),
        ("Esc", "let go of rows"),
    )
    return render_section(
        "projections",
        title,
        found["words"],
        tag("div", class_="legend", id="legend", role="group", aria_label="Classes to show"),
        tag(
            "div",
            tag("button", "3-D", id="three", type="button", aria_pressed="false"),
            tag("button", "Only mistakes", id="wrong", type="button", aria_pressed="false"),
            tag("button", "Reset view", id="reset", type="button"),
            tag("button", "Save points", id="points", type="button", title="As a CSV file"),
            class_="tools",
            role="group",
            aria_label="How points are drawn",
        ),
        tag("div", class_="panels", id="panels"),
        tag(
            "p",
            "Outlined points are mistakes. Point at a row to find it in every picture, with what "
            "each method takes it for; click to keep it. Rows are counted from 0.",
            class_="fine",
        ),
        _row_form(facts["readouts"]),
        tag(
            "details",
            tag("summary", "Mouse and keys"),
            tag("dl", *(tag("div", tag("dt", k), tag("dd", v)) for k, v in keys), class_="keys"),
        ),
    )


def _row_form(found: Facts) -> Html | None:
    """Where a row is pasted, and what is said of it."""
    if not found["methods"]:
        return None
    names = found["features"]
    shown = ", ".join(names[:4]) + (f", … ({len(names)} in all)" if len(names) > 4 else "")
    return tag(
        "form",
        tag("h3", tag("label", "Try a row of your own", for_="row-text")),
        tag(
            "p",
            "Paste its values, as they are in the table and in the order of the columns, or below "
            f"a line with their names: {shown}. It falls where the star is. Nothing leaves this "
            "page.",
            class_="fine",
        ),
        tag("textarea", id="row-text", rows=3, spellcheck="false", autocomplete="off"),
        tag(
            "div",
            tag("button", "Place and predict", type="submit", id="row-try"),
            tag("button", "Clear", type="button", id="row-clear"),
            class_="tools",
        ),
        tag("div", id="row-said", aria_live="polite"),
        id="row-form",
    )


CURVE_WORDS = (
    (
        "roc-chart",
        "Are rows in the right order?",
        "ROC: of the rows of a class, the share that is found when some of the other rows may be "
        "taken for it; the mean over classes. The area below is 1 at best, and ½ by guessing.",
    ),
    (
        "calibration-chart",
        "Do probabilities mean what they say?",
        "Calibration: of the rows that are named with some probability, the share that is right. "
        "On the dashed line both are the same. Large points stand for many rows; lines join those "
        "of ten rows and more.",
    ),
)
"""The charts of degrees and probabilities: name, heading, and how to read them."""


def _curve(name: str, title: str, words: str) -> Html:
    parts = tag("h3", title), tag("p", words, class_="fine"), tag("div", class_="chart", id=name)
    return tag("div", *parts)


def _curves(facts: Facts) -> Html:
    title = TITLES["curves"]
    if not facts["curves"]["lines"]:
        lead = "No method that finished gives probabilities or other degrees."
        return render_section("curves", title, lead)
    head = tag("tr", *(tag("th", t, scope="col") for t in ("method", "area", "off by")))
    table = tag("table", tag("thead", head), tag("tbody", id="curve-table"))
    return render_section(
        "curves",
        title,
        "Of held-out rows in all splits.",
        tag("div", *(_curve(*words) for words in CURVE_WORDS), class_="pair"),
        tag("div", class_="chips", id="curve-chips", role="group", aria_label="Methods to draw"),
        tag(
            "details",
            tag("summary", "As a table"),
            make_scrollable(table, "Areas and probabilities"),
            tag("p", "Off by: mean distance of probability and share right.", class_="fine"),
        ),
    )


def _confusion(facts: Facts) -> Html:
    lead = (
        "Rows are the true classes, columns what the method said, summed over all splits. The "
        "diagonal is right; everything else is a mistake."
    )
    classes = facts["data"]["classes"]
    if not facts["confusion"]["tables"]:
        return render_section("confusion", TITLES["confusion"], "No method has predictions.")
    if not any(t["counts"] for t in facts["confusion"]["tables"]):
        lead = (
            f"The most frequent of the mistakes between {len(classes)} classes, over all splits."
        )
    elif facts["confusion"]["numbered"]:
        lead += " Columns have the numbers of the rows; point at a cell for names and counts."
    names = render_table(
        ["number", "class", "rows"], [[i, c["name"], c["rows"]] for i, c in enumerate(classes, 1)]
    )
    return render_section(
        "confusion",
        TITLES["confusion"],
        lead,
        tag("div", class_="pair", id="matrices"),
        tag("details", tag("summary", "Numbers and names"), make_scrollable(names, "Classes"))
        if facts["confusion"]["numbered"]
        else None,
    )


def _loadings(facts: Facts) -> Html:
    found = facts["loadings"]
    if not found["tables"]:
        return render_section("loadings", TITLES["loadings"], found["words"])
    without = None
    if found["without"]:
        without = tag(
            "p",
            f"Without weights, since they are curved or have no directions: "
            f"{wording.join_names(found['without'], 30)}.",
            class_="fine",
        )
    return render_section(
        "loadings",
        TITLES["loadings"],
        found["words"],
        tag("div", id="weights"),
        without,
    )


def _time(facts: Facts) -> Html:
    return render_section(
        "time",
        TITLES["time"],
        facts["time"]["words"],
        tag("div", class_="chart", id="time-chart") if facts["time"]["points"] else None,
    )


def _failures(facts: Facts) -> Html:
    found = facts["failures"]
    parts: list[Any] = []
    if found["methods"]:
        rows = [
            [m["name"], f"{m['done']} of {m['splits']}", m["reason"]] for m in found["methods"]
        ]
        parts.append(render_table(["method", "splits done", "why"], rows, class_="prose"))
    if found["left_out"]:
        rows = [[m["name"], m["reason"]] for m in found["left_out"]]
        parts.append(tag("h3", "Not tried"))
        parts.append(render_table(["method", "why"], rows, class_="prose"))
    if found["warnings"]:
        rows = [[w["name"], w["splits"], w["text"]] for w in found["warnings"]]
        warned = render_table(["method", "splits", "warning"], rows, class_="prose")
        n = wording.format_count(len(rows), "warning")
        parts.append(tag("details", tag("summary", f"{n} of methods that finished"), warned))
    return render_section("failures", TITLES["failures"], found["words"], *parts)


def _reproduce(facts: Facts) -> Html:
    found = facts["reproduce"]
    entries = [*found["settings"], *found["versions"]]
    blocks = [("Command", found["command"])] if found["command"] else []
    if found["fit"]:
        blocks.append(("The model that is advised", found["fit"]))
    blocks.append(("The same in Python", found["code"]))
    return render_section(
        "reproduce",
        TITLES["reproduce"],
        "The same data, seed and versions give the same numbers, but for the times.",
        *(
            tag(
                "figure",
                tag("figcaption", title, tag("button", "Copy", type="button", class_="copy")),
                tag("pre", tag("code", text), tabindex=0),
            )
            for title, text in blocks
        ),
        tag(
            "dl",
            *(tag("div", tag("dt", e["name"]), tag("dd", e["value"])) for e in entries),
            class_="keys",
        ),
    )
