"""The parts of the page below the leaderboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from separatrix.report import wording
from separatrix.report.elements import (
    Html,
    make_scrollable,
    render_section,
    render_table,
    tag,
)

Facts = Mapping[str, Any]
"""What `facts` returns, or a part of it."""

TITLES = {
    "projections": "See the classes",
    "leaderboard": "All methods",
    "confusion": "What is mistaken for what",
    "loadings": "Which features matter",
    "curves": "How sure it is",
    "dimension": "How many directions",
    "time": "Time and accuracy",
    "failures": "What failed",
    "reproduce": "Do it again",
}
"""Headings of the parts after the verdict, in their order."""


def format_share(value: float | None) -> str:
    """A share of rows, where it is known."""
    return "–" if value is None else wording.format_percent(value)


def render_dimension(facts: Facts) -> Html:
    """Accuracy with the first directions only."""
    found = facts["dimension"]
    lines = found["lines"]
    title, lead = TITLES["dimension"], found["words"]
    if not lines:
        return render_section("dimension", title, lead)
    numbers = range(1, found["longest"] + 1)
    as_table = render_table(
        ["method", *numbers],
        [
            [line["name"], *(format_share(v) for v in line["accuracy"])]
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


def render_projections(facts: Facts) -> Html:
    """Held-out rows in the directions of several methods."""
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
            tag("button", "Save PNG", id="save-png", type="button", title="The first picture"),
            tag("button", "Save SVG", id="save-svg", type="button", title="The first picture"),
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
        tag(
            "figure",
            tag(
                "figcaption",
                "Caption for a paper",
                tag("button", "Copy", type="button", class_="copy"),
            ),
            tag("pre", tag("code", caption_picture(facts), id="caption"), tabindex=0),
        ),
        tag("div", id="selected", class_="chosen", aria_live="polite"),
        tag(
            "details",
            tag("summary", "Rows on which two methods disagree"),
            tag("div", id="disagree"),
        )
        if len(found["views"]) > 1
        else None,
        _row_form(facts["readouts"]),
        tag(
            "details",
            tag("summary", "Mouse and keys"),
            tag("dl", *(tag("div", tag("dt", k), tag("dd", v)) for k, v in keys), class_="keys"),
        ),
    )


def caption_picture(facts: Facts) -> str:
    """What the first picture shows, as a sentence for a paper."""
    found, data = facts["projections"], facts["data"]
    first = found["panels"][0] if found["panels"] else found["views"][0]["name"]
    view = next(v for v in found["views"] if v["name"] == first)
    name = f"{data['name']}: " if data["name"] else ""
    axes = " and ".join(view["axes"][:2])
    return (
        f"{name}{found['held_out']} held-out rows of {data['rows']} in {axes} of {first}, learned "
        f"from the other rows ({view['words']}). Colours and shapes are classes; outlined points "
        "are mistakes."
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
        tag("div", id="what-if"),
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


def render_curves(facts: Facts) -> Html:
    """How rows are ordered, and how true probabilities are."""
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
        tag("div", id="threshold", class_="chosen") if facts["threshold"]["methods"] else None,
        tag("div", *(_curve(*words) for words in CURVE_WORDS), class_="pair"),
        tag("div", class_="chips", id="curve-chips", role="group", aria_label="Methods to draw"),
        tag(
            "details",
            tag("summary", "As a table"),
            make_scrollable(table, "Areas and probabilities"),
            tag("p", "Off by: mean distance of probability and share right.", class_="fine"),
        ),
    )


def render_confusion(facts: Facts) -> Html:
    """Which class is taken for which."""
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
        _render_groups(facts["groups"]),
    )


def _render_groups(found: Facts) -> Html | None:
    """The accuracy of each group, the hardest first."""
    if not found["groups"]:
        return None
    rows = [
        [g["name"], g["tested"], wording.format_percent(g["right"] / g["tested"])]
        for g in found["groups"]
    ]
    table = render_table(["group", "held-out rows", "correct"], rows)
    more = tag("p", f"{found['more']} more groups.", class_="fine") if found["more"] else None
    summary = tag("summary", f"Accuracy of {found['method']} in each group")
    return tag("details", summary, make_scrollable(table, "Groups"), more, id="groups")


def render_loadings(facts: Facts) -> Html:
    """Features that the directions are made of."""
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
        tag(
            "details",
            tag("summary", "All of these features as a table"),
            tag("div", id="feature-table"),
        ),
        without,
    )


def render_time(facts: Facts) -> Html:
    """Training time and accuracy."""
    return render_section(
        "time",
        TITLES["time"],
        facts["time"]["words"],
        tag("div", class_="chart", id="time-chart") if facts["time"]["points"] else None,
    )


def render_failures(facts: Facts) -> Html:
    """Methods that failed, were left out, or warned."""
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


def render_reproduce(facts: Facts) -> Html:
    """Commands, code, settings and versions."""
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
