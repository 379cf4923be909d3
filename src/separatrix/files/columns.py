"""Contents of the columns of a table: numbers, words, gaps; and remedies for the rest."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from separatrix.files.lines import import_pandas

MAX_COLUMNS_NAMED = 12
"""Columns that a message names, at most."""

MAX_COLUMNS_DESCRIBED = 200
"""Columns of text that are looked at for a message."""

MAX_SLIPS = 0.1
"""Share of values that are no numbers in a column of numbers, at most."""

MAX_SHOWN_CHARACTERS = 40
"""Characters of a value that a message shows, at most."""


def find_text_columns(X: Any) -> list[str]:
    """Columns that hold no numbers."""
    return [name for name, kind in X.dtypes.items() if kind != np.float64]


class Remedies(NamedTuple):
    """Advice about columns of text, and about gaps."""

    words: str
    gaps: str


FIT = Remedies(
    "Make a column for each of their values (--categorical onehot), learn from their words "
    "(--text COL), or leave them out: --id COL if it names the rows, in `compare` --group COL if "
    "several rows belong together, such as those of a patient, --ignore COL otherwise",
    "Fill them in (--missing median), or leave out the columns (--ignore) or rows",
)
PREDICT = Remedies(
    "Fit the model to columns of numbers",
    "Leave out these rows, or fit the model with --missing median: it then fills in gaps of new "
    "rows, too",
)
"""Remedies where rows are learned from, and where a model is there already."""


def check_features(
    X: Any,
    *,
    categorical: str = "refuse",
    missing: str = "refuse",
    text: Sequence[str] = (),
    remedies: Remedies = FIT,
) -> None:
    """Raise for columns that a method cannot take, with their names and the remedies.

    Parameters
    ----------
    X : data frame
        Features, as in `Table`.
    categorical : "refuse" or "onehot"
        Whether columns of text raise an error, or get a column for each of their values.
    missing : "refuse", "mean", "median", "most_frequent" or "constant:VALUE"
        Whether gaps raise an error, or are filled in from the training rows, or with a number.
    text : sequence of str
        Columns whose words are learned from.
    remedies : Remedies
        Advice in the messages.
    """
    X = X.drop(columns=list(text))
    words = find_text_columns(X)
    if words and categorical == "refuse":
        faults = _list_faults(X, words)
        # a column for each date, or for each number with a slip, would learn nothing of new rows
        named = all(holds_dates(X[c]) or len(find_slip(X[c])) for c in words)
        raise ValueError(
            f"{len(words)} of {X.shape[1]} columns are not numbers: {', '.join(faults)}"
            + ("" if named else f". {remedies.words}")
        )
    gaps = X.isna().sum()
    gaps = gaps[gaps > 0]
    if len(gaps) and missing == "refuse":
        faults = [f"{name!r} {count}" for name, count in gaps.head(MAX_COLUMNS_NAMED).items()]
        more = (
            f" and {len(gaps) - MAX_COLUMNS_NAMED} more columns"
            if len(gaps) > MAX_COLUMNS_NAMED
            else ""
        )
        raise ValueError(
            f"values are missing in {int(X.isna().any(axis=1).sum())} of {len(X)} rows: "
            f"{', '.join(faults)}{more}. {remedies.gaps}"
        )
    _check_sizes(X.drop(columns=words) if words else X)


def _check_sizes(numbers: Any) -> None:
    """Raise for infinite values, and for those whose squares would be."""
    values = numbers.to_numpy()
    if not values.size:
        return
    largest = np.fmax(np.fmax.reduce(values), -np.fmin.reduce(values))
    at = int(np.argmax(np.nan_to_num(largest, posinf=np.inf)))
    name = str(numbers.columns[at])
    if np.isinf(largest[at]):
        raise ValueError(
            f"column {name!r} has {np.isinf(values[:, at]).sum()} infinite values: correct them "
            f"or leave it out (--ignore {shlex.quote(name)})"
        )
    if largest[at] > np.sqrt(np.finfo(float).max / len(values)):
        raise ValueError(
            f"column {name!r} has values such as {largest[at]:g}, whose squares are larger than "
            f"numbers can be: give it in another unit, or leave it out (--ignore "
            f"{shlex.quote(name)})"
        )


CONSTANT = "constant:"
"""How a value that fills gaps begins."""


def read_constant(missing: str) -> float | None:
    """The number that fills gaps; None where it follows from the training rows.

    Examples
    --------
    >>> read_constant("constant:-9"), read_constant("median")
    (-9.0, None)
    """
    if not missing.startswith(CONSTANT):
        return None
    given = missing.removeprefix(CONSTANT)
    try:
        value = float(given)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise ValueError(f"missing={missing!r}: {given!r} is not a finite number, as constant:0")
    return value


def _list_faults(X: Any, words: Sequence[str]) -> list[str]:
    """Columns of text with what is said of them, once for all those of which it is the same."""
    alike: dict[str, list[str]] = {}
    for name in words[:MAX_COLUMNS_DESCRIBED]:
        content = describe_content(X[name])
        # the example differs, the remedy does not
        key = content.rpartition(": give ")[2] if ": give " in content else content
        alike.setdefault(key, []).append(name)
    listed = []
    for names in alike.values():
        shown = ", ".join(map(repr, names[:MAX_COLUMNS_NAMED]))
        more = f" and {len(names) - MAX_COLUMNS_NAMED} more" * (len(names) > MAX_COLUMNS_NAMED)
        listed.append(f"{shown}{more} ({describe_content(X[names[0]])})")
    return listed[:MAX_COLUMNS_NAMED]


def check_informative(X: Any) -> None:
    """Raise for columns from which nothing can be learned, though a model could use them."""
    for name in find_text_columns(X):
        if X[name].nunique() == len(X) > 2:
            raise ValueError(
                f"column {name!r} has another value in each of {len(X)} rows: it looks like an "
                f"identifier. Leave it out (--ignore {shlex.quote(name)})"
            )
    empty = X.columns[X.isna().all()]
    if len(empty):
        raise ValueError(
            f"column {empty[0]!r} is empty: leave it out (--ignore {shlex.quote(empty[0])})"
        )


DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}( .*)?")
"""A day, and perhaps a time."""

NUMBER_STYLES = {
    r"-?\d+(,\d+)?": "--decimal ,",
    r"-?\d{1,3}(\.\d{3})*(,\d+)?": "--decimal , --thousands .",
    r"-?\d{1,3}(,\d{3})*(\.\d*)?": "--thousands ,",
    r"-?\d{1,3}('\d{3})*(\.\d*)?": '--thousands "\'"',
    r"-?\d{1,3}( \d{3})*(\.\d*)?": "--thousands ' '",
}
"""Ways to write numbers, and the options that read them."""


def describe_content(column: Any) -> str:
    """The content of a column of text, in a few words, and the option that reads it."""
    values = column.dropna()
    if not len(values):
        return "empty"
    texts = values.astype(str).str.strip()
    if holds_dates(column):
        return (
            f"dates such as {quote_short(texts.iloc[0])}: leave them out (--ignore "
            f"{shlex.quote(str(column.name))}), or replace them by numbers, such as days since "
            "the first of them or the month"
        )
    written = _describe_numbers(texts)
    if written:
        return written
    slips = find_slip(column)
    if len(slips):
        example = quote_short(slips.iloc[0])
        count = "one that is" if len(slips) == 1 else f"{len(slips)} such as"
        return f"numbers except {count} {example}: correct it, or leave the cell empty for a gap"
    if texts.str.count(r"\s+").median() >= 3 and texts.nunique() > len(texts) / 2:
        return (
            f"texts such as {quote_short(values.iloc[0])}: learn from their words (--text "
            f"{shlex.quote(str(column.name))})"
        )
    if texts.nunique() == len(column) > 2:
        return f"another value in each row, such as {quote_short(values.iloc[0])}"
    if texts.nunique() == 1:
        return f"the only value {quote_short(values.iloc[0])}"
    return f"{texts.nunique()} values such as {quote_short(values.iloc[0])}"


def find_slip(column: Any, share: float = MAX_SLIPS) -> Any:
    """Values that are no numbers, where nearly all others are: at most this share of them."""
    values = column.dropna()
    strange = values[import_pandas().to_numeric(values, errors="coerce").isna()]
    return strange if len(strange) <= share * len(values) else strange[:0]


def holds_dates(column: Any) -> bool:
    """Whether a column has dates, as such or as text."""
    if import_pandas().api.types.is_datetime64_any_dtype(column):
        return True
    texts = column.dropna().astype(str).str.strip()
    return len(texts) > 0 and bool(texts.str.fullmatch(DATE.pattern).all())


def _describe_numbers(texts: Any) -> str:
    """Numbers that are written otherwise than with a decimal point alone, or nothing."""
    marked = texts[texts.str.contains("[,' ]", regex=True)]
    if not len(marked):
        return ""
    fitting = [
        option for style, option in NUMBER_STYLES.items() if texts.str.fullmatch(style).all()
    ]
    example = quote_short(marked.iloc[0])
    if not fitting:
        return ""
    if "--decimal ," in fitting and "--thousands ," in fitting:
        return (
            f"numbers with a comma such as {example}: give --thousands , if it is between "
            "thousands, --decimal , if it comes before a fraction"
        )
    return f"numbers such as {example}: give {fitting[0]}"


def quote_short(value: Any) -> str:
    """A value in quotes, cut where it is long."""
    text = " ".join(str(value).split())
    short = len(text) <= MAX_SHOWN_CHARACTERS
    return repr(text if short else f"{text[: MAX_SHOWN_CHARACTERS - 1]}…")
