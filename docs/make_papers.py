"""Writes docs/papers.rst and docs/papers/: printed numbers and those measured here.

Run ``python docs/make_papers.py`` after ``separatrix reproduce … --store``. Every number and
verdict comes from the ``published.toml`` and ``results.json`` of a source through the one scorer;
pictures are drawn when the manual is built.
"""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from pathlib import Path
from textwrap import fill
from typing import Any, NamedTuple

from separatrix_papers import show
from separatrix_papers.originals import ORIGINALS
from separatrix_papers.results import read_dates, read_results, read_versions
from separatrix_papers.scoring import FAILS, HOLDS, UNDECIDED, build_record
from separatrix_papers.tables import (
    list_later_changes,
    list_sources,
    read_changes,
    read_contents,
    read_methods,
    read_short_title,
    read_tables,
    read_title,
)

DOCS = Path(__file__).parent

INTRODUCTION = """\
The methods of this package come from five sources, papers and theses. Their tables are run again
here and compared with what is printed.{totals}{highlights}Each bar
below is a source and all the numbers that it prints.

.. image:: papers/pictures/totals.png
   :alt: how many printed numbers agree, are better or worse here, or cannot be rerun, by source
"""

HIGHLIGHTS = (
    ("ipcac/table3.3", "a merged model is better than the models it is made of"),
    ("ipcac/table4.2", "full whitening fails when rows are about as many as features"),
    ("ldg/table3.1", "LDG is far ahead of PCA on Dexter"),
    ("ldg/figure4.5-mnist-to-usps", "transfer LDG is ahead of pooled FDA (MNIST to USPS)"),
    ("ldg/figure5.6-medical-images", "Reliability exceeds τ = 0.9: local QDA, quadratic"),
    ("ipcac/table3.3", "four merged models are better than each method alone"),
    ("ipcac/table5.4-time", "K-IPCAC takes less time than the support vector machine"),
    ("lecture/example2", "With few rows too many features do harm, relevant as they are"),
    ("svmica/table4.1-inside", "independent components contribute to the hyperplanes"),
    ("wsvda/figure2", "the classes are linearly separable in all pairs of WSVDA"),
)
"""Claims that a reader should know first, with their tables; the figures decide where they go."""

HOW = """\
How it is judged
----------------

A printed number *agrees* when ours is no further from it than two standard errors of their
difference; otherwise ours is *better* or *worse*. Counts and identities are equal to the last
printed digit, or *unequal*. The error of ours is that of the mean of its repeats, or the binomial
one of its decisions. The error of a
printed number is its standard deviation over its repeats where both are known, else ours over its
repeats, else the binomial one of its decisions; the error of its last digit is added, for a ratio
also that of the numbers it is formed from. Where the data or the protocol cannot be had, a number
*cannot be rerun*, and the reason is given. Claims are judged by our figures alone. A claim *holds*
or *does not hold* only beyond chance, which is two standard errors of the difference again, and is
*undecided* between them; one that says "as good as" holds unless it is worse by more than chance.
One about a number of data sets holds when that number is won with a probability of 97.7 % by the
errors of our figures. Protocols are read as the sources state
them, choices on the rows that judge included; what they leave open is said with each table.
Methods and settings that only we have stand in the same tables.

Cells that each hold may still be off together. So a method is judged over all its cells in a
table, too: by the mean difference and its error, and by a sign test. A table says first which
methods are off as a whole.

Every printed number is counted once. Cells marked ° are shown and not counted. Some generated
sets of the IPCAC thesis do not give the printed figures as they are described; rows called *means
x …* multiply their means by a factor that was chosen, after looking at the printed figures, to
come near them. That these agree says that there is such a factor, and nothing for the printed
protocol: the rows *as described* next to them are counted. The same is done with readings that
were added after a first run, with K-TIPCAC where the candidates for its number of axes (log₂(n)²,
10 and 30) were fixed with older figures in view, and with numbers that a source prints twice.
Where a protocol or a grid was changed after figures had been seen, its table says so. A reason
why a method is behind is shown as long as the scorer finds it behind.

The verdicts are computed from figures that are kept with the package; none is written by hand.
``separatrix reproduce`` lists the tables, the data they need and whether they are available, and

.. code-block:: console

   $ separatrix reproduce wsvda/table3 --data DIR

runs one. It runs every table whose data you have; which data the kept figures had is said with
each table.
"""

FOOTNOTE = """\
*Same digits* are numbers that agree to the last digit that is printed. *Derived* numbers are
printed nowhere and follow from a formula or a sentence of the source; they are judged with
their tables and not counted among the printed ones. *Methods off as a whole* are columns of a
table, or lines of a curve, with two numbers or more. Claims marked *ours* are about settings of
today and are not counted."""

COMMAND = """\
The command
-----------

.. command-help:: reproduce

Data sets
---------

``--data`` names a folder. A set is looked for as ``NAME.npz`` with arrays ``X`` and ``y``, or
``X_train``, ``y_train``, ``X_test`` and ``y_test``; then in the files of its publisher, in that
folder or in one inside it; then as ``NAME.csv``, ``.tsv``, ``.arff`` or ``.parquet`` with the
labels last. Rows whose data are not there are left out. In Python
``separatrix_papers.originals.load_original`` reads them, and `datasets.fetch` gets from openml.org
what is there.
"""


class Quote(NamedTuple):
    """A table of other pages of the manual, made of kept figures and printed numbers."""

    page: str
    table: str
    rows: dict[str, str]
    methods: dict[str, str]
    deviations: bool = False


QUOTES = (
    Quote(
        "kernel_measured.rst",
        "ipcac/table5.4",
        {name: name for name in ("e = 1", "e = 2", "e = 3")},
        {
            "MixtureIPCAC": "P-IPCAC",
            "MixtureIPCAC, clusters merged as printed": "P-IPCAC literal",
            "MixtureIPCAC, ipcac nodes": "P-IPCAC, full nodes",
            "KernelIPCAC": "K-IPCAC",
            "KernelIPCAC, threshold as printed": "K-IPCAC, threshold (3.17)",
            "KernelIPCAC, truncated": "K-TIPCAC",
            "KernelIPCAC, 500 landmarks": "K-IPCAC, 500 landmarks",
            "SVC": "SVM",
            "IPCAC, variance 0.99": "IPCAC_var",
            "best possible": "best possible",
        },
    ),
    Quote(
        "kernel_measured.rst",
        "ipcac/table5.5",
        {
            "4 and 4 Gaussians": "set 1, means x 0.5",
            "4 and 3 Gaussians": "set 2, means x 0.5",
            "4 and 3, uneven sizes": "set 3, means x 0.5",
        },
        {
            "MixtureIPCAC": "P-IPCAC",
            "KernelIPCAC": "K-IPCAC",
            "SVC": "SVM",
            "IPCAC, variance 0.99": "IPCAC_var",
        },
    ),
    Quote(
        "kernel_measured.rst",
        "ipcac/table5.6",
        {
            "-9": "balanced accuracy, -9 filled in",
            "mean": "balanced accuracy, mean filled in",
        },
        {
            "KernelIPCAC": "K-IPCAC",
            "KernelIPCAC, truncated": "K-TIPCAC",
            "KernelIPCAC, truncated as printed": "K-TIPCAC literal",
            "MixtureIPCAC": "P-IPCAC",
            "MixtureIPCAC, clusters merged as printed": "P-IPCAC literal",
            "IPCAC": "IPCAC",
            "IPCAC, variance 0.999, not scaled": "IPCAC_var",
            "SVC": "SVM",
        },
    ),
    Quote(
        "ipcac_measured.rst",
        "ipcac/table4.2",
        {"Hungarian": "Hungarian", "SpamAssassin": "SpamAssassin"},
        {
            "IPCAC, mahalanobis": "IPCAC, mahalanobis",
            "IPCAC, accuracy": "IPCAC",
            "IPCAC, accuracy, at a training row": "IPCAC literal",
            "IPCAC, balanced": "IPCAC, balanced",
            "IPCAC, variance 0.99, accuracy": "IPCAC_var",
            "OnlineIPCAC": "O-IPCAC",
            "TruncatedIPCAC, all words": "TruncatedIPCAC, words",
            "FisherDiscriminant": "FLDA",
            "FisherDiscriminant, shrinkage auto": "Fisher, shrinkage auto",
            "linear support vector machine": "SVM",
            "nearest mean": "nearest mean",
        },
        deviations=True,
    ),
)


def quote_table(quote: Quote) -> str:
    """Measured figures, each with the printed one where there is one."""
    folder = list_sources()[quote.table.partition("/")[0]]
    found = {record["table"]: record for record in records_of(folder)}[quote.table]
    cells = {(cell["row"], cell["column"]): cell for cell in found["cells"]}

    def text(row: str, column: str) -> str:
        cell = cells.get((row, column))
        if cell is None or cell["ours"] is None:
            return ""
        spread = f" ± {cell['ours']['sd']:.1f}" if quote.deviations else ""
        printed = f" / {cell['published']['value']:.2f}" if cell["published"] else ""
        return f"{cell['ours']['mean']:.1f}{spread}{printed}"

    lines = [
        [label, *(text(row, column) for row in quote.rows.values())]
        for label, column in quote.methods.items()
    ]
    return csv_table(["measured / printed", *quote.rows], lines)


def quoting_pages() -> dict[str, str]:
    """Other pages of the manual with their tables made anew, between marks."""
    written: dict[str, str] = {}
    for quote in QUOTES:
        text = written.get(quote.page) or (DOCS / quote.page).read_text("utf-8")
        start, end = f".. figures of {quote.table}\n", ".. end of figures\n"
        before, found, rest = text.partition(start)
        if not found:
            raise ValueError(f"{quote.page} has no place for {quote.table}: {start.strip()}")
        after = rest.partition(end)[2]
        written[quote.page] = f"{before}{start}\n{quote_table(quote)}\n{end}{after}"
    return written


def pages() -> dict[str, str]:
    """Text of each page by its path in docs."""
    folders = list_sources()
    records = {name: records_of(folder) for name, folder in folders.items()}
    titles = {name: read_title(folder) for name, folder in folders.items()}
    older = {name: find_older(name, read_dates(folder)) for name, folder in folders.items()}
    written = {
        "papers.rst": summary(records, titles, older),
        "papers/claims.rst": claims_page(records, titles),
    }
    for name, folder in folders.items():
        versions, contents = read_versions(folder), read_contents(folder)
        older[name] |= {
            "fewer repeats than a full run has today": find_cut_short(name, read_results(folder))
        }
        page = source_page(name, titles[name], records[name], versions, contents, older[name])
        written[f"papers/{name}.rst"] = page
    return written | quoting_pages()


def records_of(folder: Path) -> list[dict[str, Any]]:
    """The tables of a source as they are judged."""
    kept = read_results(folder)
    return [build_record(table, kept.get(table.id, {})) for table in read_tables(folder)]


def find_older(source: str, dates: dict[str, str]) -> dict[str, list[str]]:
    """Changes, and the tables whose figures are older than these and concerned by them."""
    changes = read_changes()
    older: dict[str, list[str]] = {}
    for table, date in dates.items():
        later = list_later_changes(f"{source}/{table}", date, changes)
        if later:
            older.setdefault("; ".join(later), []).append(table)
    return older


def find_cut_short(source: str, kept: dict[str, Any]) -> list[str]:
    """Tables with rows that have fewer repeats than a full run has today."""
    run = import_module(f"separatrix_papers.{source}.run")
    found = []
    for table, cells in kept.items():
        plan = Counter(piece.row for piece in run.list_pieces(table, False))
        if any(
            row in plan and max(cell.n for cell in columns.values()) < plan[row]
            for row, columns in cells.items()
        ):
            found.append(table)
    return found


def summary(
    records: dict[str, list[dict[str, Any]]],
    titles: dict[str, str],
    older: dict[str, dict[str, list[str]]] | None = None,
) -> str:
    """What holds of each source in a minute, then how it is judged, then in numbers."""
    parts = [
        "What the papers claim and what holds",
        "====================================",
        "",
        INTRODUCTION.format(
            totals=describe_totals(records), highlights=describe_highlights(records)
        ),
        ".. toctree::",
        "   :hidden:",
        "",
        *(f"   papers/{name}" for name in records),
        "   papers/claims",
        "   field",
        "   notation",
        "",
    ]
    for name, found in records.items():
        methods = describe_methods(name)
        parts += [
            f":doc:`{escaped(short_title(name))} <papers/{name}>`",
            f"   {escaped(titles[name])}. In the package: {methods}.",
            "",
        ]
        points = show.describe_source(found)
        old = sum(map(len, (older or {}).get(name, {}).values()))
        if old:
            said = (
                f"the figures of {old} table{'s' if old > 1 else ''} are older than changes of "
                "the package that concern them."
            )
            points.append(show.Point("Not up to date", said))
        parts += format_points(points, "   ")
    parts += [HOW, "In numbers", "----------", "", totals_table(records), FOOTNOTE, ""]
    return "\n".join([*parts, COMMAND, files_table()])


def format_points(points: list[show.Point], before: str = "") -> list[str]:
    """A list, with examples inside."""
    lines = []
    for point in points:
        lines += [f"{before}- **{point.about}**: {escaped(point.says)}".rstrip()]
        if point.examples:
            lines += ["", *(f"{before}  - {escaped(text)}" for text in point.examples), ""]
    return [*lines, ""]


def short_title(name: str) -> str:
    """A source as its heading names it."""
    folder = list_sources().get(name)
    return name if folder is None else read_short_title(folder)


def describe_methods(name: str) -> str:
    """Which classes of the package come from a source."""
    folder = list_sources().get(name)
    return name if folder is None else ", ".join(read_methods(folder))


def describe_totals(records: dict[str, list[dict[str, Any]]]) -> str:
    """All sources in one sentence."""
    counts = show.total_counts(record for found in records.values() for record in found)
    claims = Counter(c["verdict"] for found in records.values() for c in show.list_claims(found))
    others = counts["printed"] - counts["holds"] - counts["differs"]
    said = (
        f"Of {counts['printed']} printed numbers {counts['holds']} agree, {counts['ahead']} are "
        f"better here and {counts['behind']} are worse. {others} were not run, because their data "
        f"or programs are not published. Of the claims {claims['holds']} hold, "
        f"{claims[FAILS]} do not, and {claims[UNDECIDED]} are within chance."
    )
    return f"\n\n**{fill(said, 96)}**\n\n" if others < counts["printed"] else ""


def describe_highlights(records: dict[str, list[dict[str, Any]]]) -> str:
    """The claims to know first, by verdict, each with its figures."""
    claims = {
        (record["table"], claim["says"]): claim
        for found in records.values()
        for record in found
        for claim in record["claims"]
    }
    chosen = [claims[place] for place in HIGHLIGHTS if place in claims]
    titles = {HOLDS: "Holds", FAILS: "Does not hold", UNDECIDED: "Chance may decide"}
    lines: list[str] = []
    for verdict, title in titles.items():
        quoted = [show.quote_claim(claim) for claim in chosen if claim["verdict"] == verdict]
        if quoted:
            lines += [f"{title}:", "", *(f"- {escaped(text)}" for text in quoted), ""]
    return "\n".join([*lines, ""])


def claims_page(records: dict[str, list[dict[str, Any]]], titles: dict[str, str]) -> str:
    """Each claim of each source, with the figures that decide it."""
    heading = "The claims of the papers"
    parts = [heading, "=" * len(heading), ""]
    parts += ["Each is judged by our figures alone. *Ours* are about settings of today.", ""]
    for name, found in records.items():
        rows = [
            [
                escaped(claim["says"]) + (" (ours)" if claim["ours"] else ""),
                claim["verdict"],
                escaped(claim["why"]),
                record["table"],
            ]
            for record in found
            for claim in record["claims"]
        ]
        if rows:
            parts += [
                f"{escaped(titles[name])}:",
                "",
                csv_table(["claim", "", "here", "table"], rows, widths=[44, 12, 28, 16]),
            ]
    return "\n".join(parts)


def totals_table(records: dict[str, list[dict[str, Any]]]) -> str:
    """How many printed numbers hold, source by source."""
    columns = ("printed", "holds", "same digits", "differs", "ahead", "behind", "cannot be rerun",
               "not run", "shown only")  # fmt: skip
    heads = ["", *columns, "derived", "methods off as a whole", "claims that hold",
             "claims that do not", "undecided"]  # fmt: skip
    lines = []
    for name, found in records.items():
        counts = show.total_counts(found)
        numbers = [counts[c] for c in columns]
        numbers.append(sum(r["counts"]["printed"] for r in found if r["derived"]))
        numbers.append(len(show.list_columns_off(found)))
        verdicts = [claim["verdict"] for claim in show.list_claims(found)]
        claims = [verdicts.count(verdict) for verdict in (HOLDS, FAILS, UNDECIDED)]
        lines.append([f":doc:`papers/{name}`", *map(str, numbers + claims)])
    totals = [str(sum(int(line[i]) for line in lines)) for i in range(1, len(heads))]
    return csv_table(heads, [*lines, ["all", *totals]], widths=[16, *[8] * (len(heads) - 1)])


def files_table() -> str:
    """Which files a set is published in."""
    lines = [
        [f"``{name}``", ", ".join(f"``{names[0]}``" for names in original.files)]
        for name, original in ORIGINALS.items()
    ]
    series = [
        "``ucr_NAME``",
        "``NAME_TRAIN`` and ``NAME_TEST``, ``.tsv``, ``.ts``, ``.txt``, ``.arff``",
    ]
    return csv_table(["data set", "files"], [*lines, series], widths=[30, 70])


def source_page(
    name: str,
    title: str,
    records: list[dict[str, Any]],
    versions: dict[str, dict[str, str]],
    contents: dict[str, str],
    older: dict[str, list[str]],
) -> str:
    """All tables of a source, and why others are not there."""
    heading = escaped(short_title(name))
    parts = [heading, "=" * len(heading), "", escaped(title) + ".", ""]
    parts += [
        f"From this source: {', '.join(f'`{m}`' for m in read_methods(list_sources()[name]))}.",
        "",
    ]
    parts += format_points(show.describe_source(records))
    if show.pair_numbers(records):
        parts += [f".. image:: pictures/{name}.png", "   :alt: printed numbers against ours", ""]
    parts += [escaped(show.KEY[0].upper() + show.KEY[1:]) + ".", ""]
    for record in records:
        parts += table_section(record)
    used = {key: {v[key] for v in versions.values()} for v in versions.values() for key in v}
    left_out = {place: why for place, why in contents.items() if why}
    if left_out:
        parts += ["Not among the tables", "--------------------", ""]
        parts += [
            f"- {place[0].upper()}{place[1:]}: {escaped(w)}." for place, w in left_out.items()
        ]
        parts += [""]
    if any(older.values()):
        parts += ["Older figures", "-------------", ""]
        parts += ["These were computed before changes of the package, or were cut short:", ""]
        parts += [
            f"- {', '.join(tables)}: {escaped(what)}." for what, tables in older.items() if tables
        ]
        parts += [""]
    if used:
        words = ", ".join(f"{key} {' and '.join(sorted(found))}" for key, found in used.items())
        parts += ["Versions", "--------", "", f"The figures were computed with {words}.", ""]
    return "\n".join(parts)


def table_section(record: dict[str, Any]) -> list[str]:
    """A table with its protocol, figures and claims."""
    heading = escaped(f"{record['table'].partition('/')[2]}: {record['title']}")
    parts = [heading, "-" * len(heading), ""]
    parts += [f"{escaped(show.describe_place(record))}. {escaped(record['protocol'])}", ""]
    measured = any(cell["ours"] for cell in record["cells"])
    if record["curve"] and measured:
        alt = f"   :alt: {record['unit']} by {record['x']}"
        parts += [f".. image:: {picture_name(record)}", alt, ""]
    if record["counts"]["printed"] or (measured and not record["curve"]):
        heads, lines = show.build_grid(record)
        cells = [[escaped(cell) for cell in line] for line in lines]
        parts.append(csv_table([record["unit"], *map(escaped, heads)], cells))
    parts += [escaped(show.describe_result(record)), ""]
    parts += [f"- {escaped(show.describe_claim(claim))}" for claim in record["claims"]]
    parts += [""] if record["claims"] else []
    for remark in show.list_remarks(record):
        parts += [escaped(remark[0].upper() + remark[1:]) + ".", ""]
    rows = {cell[key] for cell in record["cells"] for key in ("row", "column")}
    own = {key: text for key, text in record["ours"].items() if key in rows}
    parts += [f"- *{escaped(key)}*: {escaped(text)}" for key, text in own.items()]
    return [*parts, ""] if own else parts


def csv_table(heads: list[str], lines: list[list[str]], widths: list[int] | None = None) -> str:
    """A table of the markup."""
    rows = [", ".join('"' + cell.replace('"', '""') + '"' for cell in line) for line in lines]
    head = ", ".join('"' + cell.replace('"', '""') + '"' for cell in heads)
    given = "auto" if widths is None else " ".join(map(str, widths))
    options = [f"   :header: {head}", f"   :widths: {given}", ""]
    return "\n".join([".. csv-table::", *options, *(f"   {row}" for row in rows), ""])


def escaped(text: str) -> str:
    """Text that the markup leaves as it is."""
    for mark in "\\*`|_":
        text = text.replace(mark, f"\\{mark}")
    return text


def picture_name(record: dict[str, Any]) -> str:
    """Where a picture is, seen from the page of its source."""
    return f"pictures/{record['table'].replace('/', '-').replace('.', '-')}.png"


def pictures(docs: Path = DOCS) -> None:
    """Draw all curves, all printed numbers against ours, and how many hold."""
    (docs / "papers" / "pictures").mkdir(parents=True, exist_ok=True)
    every = {name: records_of(folder) for name, folder in list_sources().items()}
    show.draw_totals(every, docs / "papers" / "pictures" / "totals.png")
    for name, records in every.items():
        show.draw_agreement(records, docs / "papers" / "pictures" / f"{name}.png")
        for record in records:
            if record["curve"] and any(cell["ours"] for cell in record["cells"]):
                show.draw_curves(record, docs / "papers" / picture_name(record))


def main() -> None:
    for name, text in pages().items():
        path = DOCS / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
