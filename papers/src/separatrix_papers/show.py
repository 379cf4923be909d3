"""Records of `scoring.build_record` as text, as a page and as pictures."""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from separatrix.files.text import format_columns
from separatrix.report.elements import (
    Html,
    make_scrollable,
    render_document,
    render_section,
    render_table,
    tag,
)
from separatrix_papers.scoring import CLAIM_VERDICTS, FAILS, HOLDS, UNDECIDED

Record = Mapping[str, Any]

SIDE_MARKS = {"ahead": "↑", "behind": "↓"}
KEY = (
    "ours/printed; ↑ ours is better by more than chance, ↓ worse, ≠ unequal, * not comparable, "
    "° shown and not counted"
)


def build_grid(record: Record) -> tuple[list[str], list[list[str]]]:
    """Heads and lines of a table, turned so that it is not wider than high."""
    cells = {(cell["row"], cell["column"]): format_cell(cell) for cell in record["cells"]}
    rows = list(dict.fromkeys(row for row, _ in cells))
    columns = list(dict.fromkeys(column for _, column in cells))
    if len(columns) > len(rows):
        lines = [[c, *(cells.get((r, c), "") for r in rows)] for c in columns]
        return rows, lines
    return columns, [[r, *(cells.get((r, c), "") for c in columns)] for r in rows]


def format_cell(cell: Record) -> str:
    """Our number, the printed one, and a mark if they differ."""
    printed = cell["published"]
    decimals = printed["decimals"] if printed else 2
    ours = "–" if cell["ours"] is None else f"{cell['ours']['mean']:.{decimals}f}"
    if printed is None:
        return ours
    mark = "*" if cell["verdict"] == "cannot be rerun" else _mark_difference(cell)
    return f"{ours}/{printed['value']:.{decimals}f}{mark}{'' if cell['counted'] else '°'}"


def _mark_difference(cell: Record) -> str:
    return SIDE_MARKS.get(cell["side"], "≠" if cell["verdict"] == "differs" else "")


def describe_counts(counts: Mapping[str, int], derived: bool = False) -> str:
    """How many cells hold, in words."""
    if not counts["printed"]:
        return "No number is counted." if counts["shown only"] else "No numbers are printed."
    same = f" ({counts['same digits']} to the last digit)" if counts["same digits"] else ""
    unequal = counts["differs"] - counts["ahead"] - counts["behind"]
    parts = {
        f"{counts['holds']} agree{same}": counts["holds"],
        f"{counts['ahead']} are better here": counts["ahead"],
        f"{counts['behind']} are worse here": counts["behind"],
        f"{unequal} are unequal": unequal,
        f"{counts['cannot be rerun']} cannot be rerun": counts["cannot be rerun"],
        f"{counts['not run']} were not run": counts["not run"],
    }
    of = "numbers that follow from what is printed" if derived else "printed numbers"
    return f"Of {counts['printed']} {of} {', '.join(p for p, n in parts.items() if n)}."


def describe_columns(record: Record) -> str:
    """Methods that are off as a whole, which single cells may hide; the table first."""
    off = [column for column in record["columns"] if column["verdict"] == "differs"]
    if not off:
        return "No method is off as a whole." if record["columns"] else ""
    off = sorted(off, key=lambda column: column["name"] != "")
    return f"Off as a whole: {'; '.join(map(describe_column, off))}."


def find_reason_behind(record: Record, column: Record) -> str:
    """Why a method is behind print, if it is and the reason was found."""
    behind = column["verdict"] == "differs" and column["side"] == "behind"
    return record["because"].get(column["name"], "") if behind else ""


def describe_column(column: Record) -> str:
    """By how much a method is off over all its cells, and in how many."""
    name, signs = column["name"] or "the table", (column["n_above"], column["n_below"])
    mean = f"{column['difference']:+.2g} ± {column['error']:.2g} on average"
    above = "{} above print, {} below".format(*signs)
    return f"{name} {column['side']} ({mean}; {above}, p = {column['p_value']:.2g})"


def total_counts(records: Iterable[Record]) -> Counter[str]:
    """Verdicts on all numbers that a source prints."""
    total: Counter[str] = Counter()
    for record in records:
        if not record["derived"]:
            total.update(record["counts"])
    return total


def list_claims(records: Iterable[Record]) -> list[Record]:
    """Claims of a source, without those about settings of today."""
    return [claim for record in records for claim in record["claims"] if not claim["ours"]]


def list_columns_off(records: Iterable[Record]) -> list[tuple[str, Record]]:
    """Methods that are off as a whole, with the names of their tables.

    Those judged in percent come first, and of these the furthest.
    """
    off = [
        (not record["unit"].startswith("%"), -_count_errors(column), record["table"], column)
        for record in records
        if not record["derived"]
        for column in record["columns"]
        if column["name"] and column["verdict"] == "differs"
    ]
    return [(table, column) for *_, table, column in sorted(off, key=lambda found: found[:2])]


def _count_errors(column: Record) -> float:
    return abs(column["difference"]) / max(column["error"], 1e-12)


MAX_SHOWN_METHODS = 3
"""Methods, and claims, of a source that its summary names."""


class Point(NamedTuple):
    """One point of the summary of a source: what it is about, a sentence, and examples."""

    about: str
    says: str
    examples: list[str] = []  # noqa: RUF012 - never changed


def describe_source(records: Sequence[Record]) -> list[Point]:
    """What holds of a source, what does not and why, and where today's settings go beyond it."""
    counts = total_counts(records)
    verdicts = {v: [c for c in list_claims(records) if c["verdict"] == v] for v in CLAIM_VERDICTS}
    held, failed, undecided = (verdicts[v] for v in (HOLDS, FAILS, UNDECIDED))
    points = [Point("Numbers", describe_counts(counts)), *_describe_behind(records)]
    if held:
        points.append(Point(_count_claims(held, "hold", "holds"), "", _quote_claims(held)))
    if failed:
        title = _count_claims(failed, "do not hold", "does not hold")
        points.append(Point(title, "", _quote_claims(failed)))
    if undecided:
        are = "are within chance, either way" if undecided[1:] else "is within chance, either way"
        points.append(Point("Undecided", f"{len(undecided)} {are}."))
    beyond = [ahead for record in records for ahead in record["beyond"].values()]
    if beyond:
        said = (
            f"settings of today pass the best printed number in {sum(beyond)} of "
            f"{len(beyond)} rows."
        )
        points.append(Point("Beyond print", said))
    return points + _describe_impossible(records)


def _count_claims(claims: Sequence[Record], several: str, one: str) -> str:
    return f"{len(claims)} claims {several}" if claims[1:] else f"1 claim {one}"


def _describe_behind(records: Sequence[Record]) -> list[Point]:
    n = total_counts(records)["behind"]
    if not n:
        return []
    by_name = {record["table"]: record for record in records}
    off = [found for found in list_columns_off(records) if found[1]["side"] == "behind"]
    groups: dict[tuple[str, str], list[str]] = {}  # methods of a table with the same reason
    for i, (table, column) in enumerate(off):
        why = find_reason_behind(by_name[table], column)
        groups.setdefault((table, why or f"{i}"), []).append(column["name"])
    shown = list(groups.items())[:MAX_SHOWN_METHODS]
    named = [
        f"{_join(names)} ({table})" + ("" if why.isdigit() else f": {why}")
        for (table, why), names in shown
    ]
    whole = " Off as a whole, the furthest first:" if off else ""
    said = f"{n} number{'s are' if n > 1 else ' is'} worse than printed.{whole}"
    left = len(off) - sum(len(names) for _, names in shown)
    return [Point("Worse here", said, _list_some(named, left))]


def _quote_claims(claims: Iterable[Record]) -> list[str]:
    """Some claims with the figures that decide them, those beyond chance first."""
    ordered = sorted(claims, key=lambda c: "within chance" in c["why"])
    named = [quote_claim(claim) for claim in ordered[:MAX_SHOWN_METHODS]]
    return _list_some(named, len(ordered) - len(named))


def quote_claim(claim: Record) -> str:
    """A claim with the figures that decide it."""
    return f"“{claim['says']}”: {claim['why']}"


def _describe_impossible(records: Iterable[Record]) -> list[Point]:
    """How many numbers could not be rerun, and the commonest reason."""
    why = Counter(
        cell["why"]
        for record in records
        if not record["derived"]
        for cell in record["cells"]
        if cell["verdict"] == "cannot be rerun" and cell["counted"]
    )
    if not why:
        return []
    (reason, n), total = why.most_common(1)[0], sum(why.values())
    numbers = f"{total} number{'s' if total > 1 else ''}"
    of = "because" if n == total else f"{n} of them because"
    return [Point("Not rerun", f"{numbers}, {of} {reason.partition(';')[0]}.")]


def _list_some(named: Sequence[str], left: int) -> list[str]:
    return [*named, *([f"and {left} more"] if left else [])]


def _join(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def describe_claim(claim: Record) -> str:
    """A claim with its verdict and the figures behind it."""
    return f"{claim['verdict']}: {claim['says']}" + (f" ({claim['why']})" if claim["why"] else "")


def describe_rows_ahead(beyond: Mapping[str, bool]) -> str:
    """How often columns of ours pass all that is printed in a row."""
    if not beyond:
        return ""
    passed = [row for row, ahead in beyond.items() if ahead]
    names = f": {', '.join(passed)}" if 0 < len(passed) < len(beyond) else ""
    return (
        "Settings and methods that only we have pass the best printed number in "
        f"{len(passed)} of {len(beyond)} rows{names}."
    )


def describe_place(record: Record) -> str:
    """Where it is printed."""
    page = str(record["page"])
    return f"Page {page}" if page[0].isdigit() else page[0].upper() + page[1:]


def list_remarks(record: Record) -> list[str]:
    """Why methods are behind, rows that were left out, and why cells cannot be rerun."""
    found = [(column["name"], find_reason_behind(record, column)) for column in record["columns"]]
    reasons_behind: dict[str, list[str]] = {}
    for name, reason in found:
        if reason:
            reasons_behind.setdefault(reason, []).append(name or "the table")
    behind = [
        f"why {_join(names)} {'is' if len(names) == 1 else 'are'} behind: {reason}"
        for reason, names in reasons_behind.items()
    ]
    why = dict.fromkeys(c["why"] for c in record["cells"] if c["verdict"] == "cannot be rerun")
    left_out = [f"{row} was left out: {reason}" for row, reason in record["left_out"].items()]
    reasons: dict[str, list[str]] = {}
    for place, reason in record["shown_only"].items():
        reasons.setdefault(reason, []).append(place)
    shown = [f"° {'; '.join(places)}: {reason}" for reason, places in reasons.items()]
    return behind + left_out + shown + [f"* cannot be rerun: {reason}" for reason in why]


def describe_repeats(record: Record) -> str:
    """How many repeats are behind our figures."""
    numbers = sorted({cell["ours"]["n"] for cell in record["cells"] if cell["ours"]})
    if numbers in ([], [1]):
        return ""
    span = str(numbers[0]) if numbers[1:] == [] else f"{numbers[0]} to {numbers[-1]}"
    return f"Ours are means of {span} repeats."


def describe_result(record: Record) -> str:
    """A table as a whole in words."""
    said = (
        describe_columns(record),
        describe_counts(record["counts"], record["derived"]),
        describe_repeats(record),
        describe_rows_ahead(record["beyond"]),
    )
    return " ".join(sentence for sentence in said if sentence)


def format_text(record: Record) -> str:
    """For the terminal."""
    heads, lines = build_grid(record)
    return "\n".join(
        [
            f"{record['table']}: {record['title']}. {describe_place(record)}.",
            format_columns([f"{record['unit']}, {KEY.partition(';')[0]}", *heads], lines),
            describe_result(record),
            *map(describe_claim, record["claims"]),
            *list_remarks(record),
        ]
    )


# Page ------------------------------------------------------------------------------------------


def render_page(title: str, records: Sequence[Record]) -> str:
    """An HTML document with a section for each table; it needs no network."""
    heading = tag("header", tag("h1", title), tag("p", KEY, class_="lead"))
    return render_document(title, heading, tag("main", *map(render_verdicts, records)))


def render_verdicts(record: Record) -> Html:
    """A table with its verdicts as part of a page."""
    heads, lines = build_grid(record)
    key = record["table"].replace("/", "-").replace(".", "-")
    shown = make_scrollable(render_table([record["unit"], *heads], lines), record["title"])
    picture = _embed_curves(record) if record["curve"] else None
    claims = [tag("li", describe_claim(claim)) for claim in record["claims"]]
    return render_section(
        key,
        f"{record['table']}: {record['title']}",
        f"{describe_place(record)}. {describe_result(record)}",
        tag("p", record["protocol"]),
        picture,
        shown,
        tag("ul", *claims) if claims else None,
        *(tag("p", remark) for remark in list_remarks(record)),
    )


def _embed_curves(record: Record) -> Html | None:
    try:
        drawn = io.BytesIO()
        draw_curves(record, drawn, "svg")
    except ImportError:  # pictures are an extra
        return None
    content = base64.b64encode(drawn.getvalue()).decode("ascii")
    source = f"data:image/svg+xml;base64,{content}"
    return tag("p", tag("img", src=source, alt=f"{record['unit']} by {record['x']}"))


# Pictures --------------------------------------------------------------------------------------


def draw_curves(record: Record, to: Any, form: str = "png") -> None:
    """Our lines, and over them what is printed as dots."""
    figure, ax = _make_axes(6.4, 4.0)
    for i, (name, cells) in enumerate(_group_by_row(record["cells"]).items()):
        colour, style = f"C{i % 10}", ("-", "--", ":")[i // 10 % 3]
        ours = [(float(c["column"]), c["ours"]["mean"]) for c in cells if c["ours"]]
        printed = [(float(c["column"]), c["published"]["value"]) for c in cells if c["published"]]
        if ours:
            ax.plot(*zip(*sorted(ours), strict=True), style, color=colour, label=name, lw=1.4)
        if printed:
            dots = zip(*printed, strict=True)
            ax.plot(*dots, "o", color=colour, ms=4, label=None if ours else name)
    ax.set(xlabel=record["x"], ylabel=record["unit"])
    ax.legend(frameon=False, fontsize=7, ncols=2)
    _save(figure, to, form)


def pair_numbers(records: Iterable[Record]) -> dict[str, list[tuple[float, float]]]:
    """Numbers in percent that are printed, each with ours, by verdict."""
    points: dict[str, list[tuple[float, float]]] = {}
    for record in records:
        for cell in [] if record["derived"] else record["cells"]:
            judged = cell["verdict"] in ("holds", "differs") and cell["counted"]
            if judged and record["unit"].startswith("%"):
                pair = (cell["published"]["value"], cell["ours"]["mean"])
                points.setdefault(cell["verdict"], []).append(pair)
    return points


def draw_agreement(records: Iterable[Record], to: Any, form: str = "png") -> bool:
    """All printed numbers in percent against ours; whether there are any."""
    colours = {"holds": "C0", "differs": "C1"}
    points = pair_numbers(records)
    if not points:
        return False
    figure, ax = _make_axes(4.2, 4.2)
    for verdict, found in points.items():
        label = f"{verdict} ({len(found)})"
        ax.scatter(*zip(*found, strict=True), s=9, color=colours[verdict], label=label, alpha=0.7)
    ends = [min(min(p) for f in points.values() for p in f), 100.0]
    ax.plot(ends, ends, color="0.6", lw=0.8, zorder=0)
    ax.set(xlabel="printed, %", ylabel="here, %", aspect="equal")
    ax.legend(frameon=False, fontsize=8)
    _save(figure, to, form)
    return True


def draw_totals(sources: Mapping[str, Sequence[Record]], to: Any, form: str = "png") -> None:
    """A bar for each source: printed numbers that hold, differ, or cannot be rerun."""
    kinds = {
        "holds": ("agree", "C0"),
        "ahead": ("better here", "C2"),
        "behind": ("worse here", "C1"),
        "cannot be rerun": ("cannot be rerun", "0.85"),
        "not run": ("not run", "0.6"),
    }
    figure, ax = _make_axes(6.4, 0.5 * len(sources) + 1.0)
    counts = {name: total_counts(records) for name, records in sources.items()}
    left = dict.fromkeys(sources, 0)
    for kind, (label, colour) in kinds.items():
        widths = [counts[name][kind] for name in sources]
        ax.barh([*sources], widths, left=[*left.values()], color=colour, label=label)
        left = {name: left[name] + counts[name][kind] for name in sources}
    ax.invert_yaxis()
    ax.set(xlabel="printed numbers")
    figure.legend(frameon=False, fontsize=7, ncols=len(kinds), loc="outside upper center")
    _save(figure, to, form)


def _group_by_row(cells: Iterable[Record]) -> dict[str, list[Record]]:
    rows: dict[str, list[Record]] = {}
    for cell in cells:
        rows.setdefault(cell["row"], []).append(cell)
    return rows


def _make_axes(width: float, height: float) -> tuple[Any, Any]:
    from matplotlib.figure import Figure as Picture

    figure = Picture(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def _save(figure: Any, to: Any, form: str) -> None:
    figure.savefig(to, format=form, dpi=90)
