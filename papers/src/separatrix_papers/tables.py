"""What the papers print: their tables, numbers and claims, read from ``published.toml``."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent


class Printed(NamedTuple):
    """A printed number: standard deviation where it is given, digits after the point.

    `of_ratio` is the error that the last digits leave in a ratio of two printed numbers.
    """

    value: float
    sd: float | None
    decimals: int
    of_ratio: float = 0.0


class Claim(NamedTuple):
    """A sentence of a paper that figures can decide; see `scoring.judge_claims`.

    With `ours` it is not the paper's but about a setting of today, and not counted.
    """

    says: str
    left: str
    right: str | float | list[str]
    rows: list[str] | None = None
    wins: int | None = None
    not_so: bool = False
    at_least: bool = False
    ours: bool = False


class PublishedTable(NamedTuple):
    """A table or figure of a paper, from its ``published.toml``.

    Attributes
    ----------
    source, id, title : str
    page : int or str
        As printed.
    protocol : str
        Our reading of it, with what the paper leaves open.
    needs : list of str
        Data sets by name; none for generated data.
    minutes, minutes_quick : float
        Rough time on one core.
    unit : str
        One for all cells. ``%`` in front says that values are shares in percent.
    lower : bool
        Whether less is better.
    exact : bool
        Counts and identities: they are equal to the last printed digit, or they differ.
    published : dict of dict of Printed
        By row (data set or setting), then column (method).
    derived : bool
        Nobody printed these values: they follow from a formula or a sentence of the paper. They
        are judged, and kept out of the totals.
    ours : dict of str
        Columns, or rows of a curve, that only we have, each with a line of explanation.
    ahead : list of str
        Those of the columns of `ours` that are settings of today and measure what is printed: no
        formulas as printed, no rules that know the truth. Only they are counted as passing it.
    missing : dict of str
        Why a row, a column, ``"row / column"`` or all (``"*"``) could not be rerun as printed.
        What is measured all the same, by someone who has the data, is judged.
    shown_only : dict of str
        Why a row, a column or ``"row / column"`` is shown and not counted: its factors or its
        reading were chosen after figures had been seen, or the same number is counted elsewhere.
    because : dict of str
        Why a method, or the whole table (``""``), is behind print, as far as it was measured. It
        is shown only while the scorer finds it behind.
    repeats, decisions : float, dict or None
        How many repeats a printed value is the mean of, and how many decisions it counts; one
        number or one for each row.
    curve : bool
        Rows are lines, columns are places on an axis called `x`.
    claims : list of Claim
    """

    source: str
    id: str
    title: str
    page: int | str
    protocol: str
    needs: list[str] = []  # noqa: RUF012 - never changed
    minutes: float = 1
    minutes_quick: float = 1
    unit: str = "% accuracy"
    lower: bool = False
    exact: bool = False
    published: dict[str, dict[str, Printed]] = {}  # noqa: RUF012
    derived: bool = False
    ours: dict[str, str] = {}  # noqa: RUF012
    ahead: list[str] = []  # noqa: RUF012
    missing: dict[str, str] = {}  # noqa: RUF012
    shown_only: dict[str, str] = {}  # noqa: RUF012
    because: dict[str, str] = {}  # noqa: RUF012
    repeats: float | dict[str, float] | None = None
    decisions: float | dict[str, float] | None = None
    curve: bool = False
    x: str = ""
    claims: list[Claim] = []  # noqa: RUF012

    @property
    def name(self) -> str:
        """As the command takes it."""
        return f"{self.source}/{self.id}"


def list_sources() -> dict[str, Path]:
    """The folders of the sources, by name."""
    return {path.parent.name: path.parent for path in sorted(FOLDER.glob("*/published.toml"))}


def read_title(folder: Path) -> str:
    """Author, title and year of a source."""
    return str(_read_toml(folder)["title"])


def read_short_title(folder: Path) -> str:
    """First author, year and subject of a source, as a heading."""
    return str(_read_toml(folder)["short"])


def read_methods(folder: Path) -> list[str]:
    """The classes of the package that come from a source."""
    return list(_read_toml(folder)["methods"])


def read_tables(folder: Path) -> list[PublishedTable]:
    """The tables of a source, in the order of its ``published.toml``."""
    return [_parse_table(folder.name, entry) for entry in _read_toml(folder)["table"]]


def read_contents(folder: Path) -> dict[str, str]:
    """Every table and figure of a source: "" where it is rerun, else the reason why not."""
    return dict(_read_toml(folder)["contents"])


def find_tables(place: str, tables: Iterable[PublishedTable]) -> list[PublishedTable]:
    """The tables that rerun a place of the source, such as "figure 4.5", or parts of it."""
    wanted = place.replace(" ", "")
    return [t for t in tables if t.id == wanted or t.id.startswith(f"{wanted}-")]


class Change(NamedTuple):
    """A change of the package, and the beginnings of the names of tables it concerns."""

    date: str
    says: str
    tables: list[str]


def read_changes() -> list[Change]:
    """Changes after which figures that are kept may be other ones."""
    read = tomllib.loads((FOLDER / "changes.toml").read_text("utf-8"))
    return [Change(**entry) for entry in read["change"]]


def list_later_changes(name: str, date: str, changes: Iterable[Change]) -> list[str]:
    """What changed after figures of a table were computed; "" is before all changes."""
    return [c.says for c in changes if c.date > date and name.startswith(tuple(c.tables))]


def _read_toml(folder: Path) -> dict[str, Any]:
    # numbers as they are printed: 51.10 has two decimals
    return tomllib.loads((folder / "published.toml").read_text("utf-8"), parse_float=Decimal)


def _parse_table(source: str, entry: dict[str, Any]) -> PublishedTable:
    # of ratios, by row or "row / column": what was divided by, as printed
    divisors = {place: _parse_number(value) for place, value in entry.pop("divisors", {}).items()}
    published = {
        row: {
            column: _with_ratio_error(
                _parse_number(value), divisors.get(f"{row} / {column}", divisors.get(row))
            )
            for column, value in cells.items()
        }
        for row, cells in entry.pop("published", {}).items()
    }
    claims = [Claim(**claim) for claim in entry.pop("claim", [])]
    return PublishedTable(source=source, published=published, claims=claims, **_to_floats(entry))


def _parse_number(value: Any) -> Printed:
    value, sd = value if isinstance(value, list) else (value, None)
    decimals = max(0, -int(Decimal(value).as_tuple().exponent))
    return Printed(float(value), None if sd is None else float(sd), decimals)


def _with_ratio_error(printed: Printed, divisor: Printed | None) -> Printed:
    """The number with the rounding error of the two numbers that it is the ratio of."""
    if divisor is None:
        return printed
    rounding = 10.0**-divisor.decimals / math.sqrt(12)
    return printed._replace(of_ratio=rounding / divisor.value * math.hypot(1.0, printed.value))


def _to_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _to_floats(part) for key, part in value.items()}
    return float(value) if isinstance(value, Decimal) else value


def select_tables(name: str, folders: Mapping[str, Path]) -> list[PublishedTable]:
    """The tables of a source, or the one of ``source/table``; where there is none, its parts.

    ``ipcac/table5.6`` is that table and not ``table5.6-time``; ``ldg/figure4.5`` stands
    for ``figure4.5-mnist-to-usps`` and all the others.
    """
    source, slash, wanted = name.partition("/")
    if slash and not wanted:
        raise ValueError(f"{name!r} names no table: leave out the / for all of {source}")
    if source not in folders:
        raise ValueError(f"there is no source {source!r}: there are {', '.join(folders)}")
    tables = read_tables(folders[source])
    found = [table for table in tables if wanted in ("", table.id)] or [
        table for table in tables if table.id.startswith(f"{wanted}-")
    ]
    if not found:
        names = ", ".join(table.name for table in tables)
        raise ValueError(f"there is no table {name!r}: there are {names}")
    return found
