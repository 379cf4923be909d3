"""The opening of the page: the verdict with its cards, and the leaderboard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from separatrix.evaluate.records import LOSS_SCORES
from separatrix.report import wording
from separatrix.report.elements import (
    Html,
    make_breakable,
    make_scrollable,
    render_section,
    render_table,
    tag,
)
from separatrix.report.sections import TITLES, Facts

REASONS = ("why", "subspace", "permutation", "pretended", "winner", "manual")
"""Sentences of the verdict that say why, and how far it may be chance, a leak, or luck."""


def render_verdict(facts: Facts) -> Html:
    """Which method to use, why, and how surely."""
    said = facts["verdict"]
    return tag(
        "section",
        tag("h1", said["headline"], id="verdict-title"),
        tag("p", said["few"], class_="caution") if said["few"] else None,
        tag("p", said["measure"], class_="measure") if said["measure"] else None,
        tag(
            "div",
            tag("h2", "What to use"),
            tag("p", said["use"]),
            tag("p", "To get it: ", tag("code", said["fit"]), class_="fine")
            if said["fit"]
            else None,
            tag("p", said["top"], class_="quick") if said["top"] else None,
            class_="use",
        ),
        tag("div", *_cards(said), class_="cards") if said["bars"] else None,
        *(tag("p", text, class_="caution") for text in said["cautions"]),
        _notices(facts["data"]["notices"]),
        tag(
            "details",
            tag("summary", "Why this one, and how it was measured"),
            *(tag("p", said[key], class_="fine") for key in REASONS if said[key]),
            tag("p", f"{facts['protocol']} {said['alike']}", class_="fine"),
        ),
        _render_data(facts["data"]),
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


def _render_data(data: Facts) -> Html:
    """What the data are: rows of each class, and shares of them."""
    rows = [
        [c["name"], c["rows"], wording.format_percent(c["rows"] / data["rows"])]
        for c in data["classes"]
    ]
    table = render_table(["class", "rows", "share"], rows)
    return tag(
        "details",
        tag("summary", f"The data: {data['line']}"),
        make_scrollable(table, "Classes"),
        id="data",
    )


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


def render_leaderboard(facts: Facts) -> Html:
    """All methods, best first."""
    board = facts["leaderboard"]
    if not board["rows"]:
        return render_section("leaderboard", TITLES["leaderboard"], "No method has a score.")
    low, high = _axis(board)
    score, by_share = board["score"], board["score"] not in LOSS_SCORES
    ends = (f"{100 * v:.0f} %" if by_share else f"{v:.2g}" for v in (low, high))
    scale = tag("div", *(tag("span", end) for end in ends), class_="scale")
    title = "correct" if score == "accuracy" else board["score_name"]
    head = ["place", "method", title, scale, "group", "directions", "training"]
    names = [tag("th", cell, scope="col") for cell in head]
    rows = [_board_row(row, low, high, score) for row in board["rows"]]
    what = (
        "Share of held-out rows that are classified correctly"
        if score == "accuracy"
        else f"The {board['score_name']} on held-out rows{'' if by_share else ', less is better'}"
    )
    lead = f"{what}, the mean of all splits; the line is the 95 % interval of the mean."
    if board["groups"] and len(board["rows"]) > 1:
        lead += (
            " The test cannot distinguish methods that share a letter: their order may be chance."
        )
    return render_section(
        "leaderboard",
        TITLES["leaderboard"],
        lead,
        tag("table", tag("thead", tag("tr", *names)), tag("tbody", *rows), class_="board"),
        tag(
            "details",
            tag("summary", "More scores, settings"),
            make_scrollable(_render_other_scores(board), "More scores"),
        ),
        tag("ul", *(tag("li", note) for note in board["notes"]), class_="fine"),
        tag("p", f"Test: {board['test']}, level {board['alpha']:g}.", class_="fine")
        if board["test"]
        else None,
    )


def _render_other_scores(board: Facts) -> Html:
    """The table of all scores but that by which methods are ranked, and of what they cost."""
    columns = [s for s in board["scores"] if s["key"] != board["score"]]

    def cells(row: Facts) -> list[Any]:
        means = ((s["key"], row["scores"].get(s["key"], {}).get("mean")) for s in columns)
        return [
            row["name"],
            row["decision"],
            *(wording.format_score(mean, key) for key, mean in means),
            wording.format_seconds(row["predict_seconds"]),
            row["splits"],
            row["settings"] or "–",
        ]

    scores = (s["name"] for s in columns)
    head = ["method", "decides by", *scores, "predicting", "splits", "settings chosen"]
    return render_table(head, [cells(row) for row in board["rows"]])


def _axis(board: Facts) -> tuple[float, float]:
    """Ends of the bars of the leaderboard, wide enough for all methods with a place."""
    rows = [row for row in board["rows"] if row["ranked"]] or board["rows"]
    ends = [v for row in rows for v in (row["low"], row["mean"], row["high"]) if v is not None]
    if board["score"] in LOSS_SCORES:
        return 0.0, max(ends, default=0.0) or 1.0
    low = max(0.0, min(ends, default=0.0) - 0.02)
    return min(int(20 * low) / 20, 0.9), 1.0


def _board_row(row: Facts, low: float, high: float, score: str) -> Html:
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
            title="95 % interval: "
            + " to ".join(wording.format_score(row[end], score) for end in ("low", "high")),
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
        tag("td", wording.format_score(row["mean"], score), class_="num"),
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
