"""How a file of lines is written, judged by its first lines: separators, names, orientation."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any

from separatrix.files.chunks import DAMAGE_ERRORS, open_bytes
from separatrix.files.formats import SUFFIXES
from separatrix.files.lines import GAPS, NOT_UTF8, SEPARATORS, is_number
from separatrix.files.reading import Reading

N_LINES = 200
"""Lines that are looked at."""

MAX_LINE_BYTES = 1 << 22
"""Bytes of a line that are looked at: a table of genes has a few hundred thousand."""

CANDIDATES = (",", "\t", ";", "|", r"\s+")
"""Separators that are tried, the likelier first."""

COMMA_NUMBER = re.compile(r"-?\d+,\d+([eE][+-]?\d+)?")
GROUPED_NUMBER = re.compile(r"-?\d{1,3}(\.\d{3})+(,\d+)?")


def guess_reading(source: Any, reading: Reading) -> Reading:
    """The reading, completed from the first lines of a file where nothing is given.

    Parameters
    ----------
    source : path or open binary file
        Of lines; an open file is read from its beginning and set back.
    reading : Reading
        Given options stay.
    """
    try:
        lines = _first_lines(source)
    except DAMAGE_ERRORS:  # its reader says what is wrong with it
        return reading
    if not lines:
        return reading
    form = reading.form or _guess_form(source)
    usual = SEPARATORS.get(form or "csv", ",")
    sep = reading.sep or _guess_separator(lines, usual)
    rows = _split(lines, sep)
    guess = reading
    if reading.form is None and _guess_form(source) is None:
        form = "tsv" if sep == "\t" else "csv"
        guess = replace(guess, form=form)
    if sep != SEPARATORS.get(form or "csv"):
        guess = replace(guess, sep=sep)
    values = [value for row in rows[1:] for value in row if value not in GAPS]
    if reading.decimal == "." and sep != "," and _mostly(values, COMMA_NUMBER):
        guess = replace(guess, decimal=",")
        if reading.thousands is None and any(GROUPED_NUMBER.fullmatch(v) for v in values):
            guess = replace(guess, thousands=".")
    if reading.header and _looks_like_row(rows, guess):
        guess = replace(guess, header=False)
    if not reading.transposed and guess.header and _has_rows_in_columns(rows, guess):
        guess = replace(guess, transposed=True)
    return guess


def _guess_form(source: Any) -> str | None:
    """The format that the name of a file says; None where it says none."""
    name = str(getattr(source, "name", source)).removesuffix(".gz")
    return SUFFIXES.get("." + name.rpartition(".")[2].lower())


def _first_lines(source: Any) -> list[str]:
    with open_bytes(source) as file:
        begin = file.read(1 << 20) if not hasattr(source, "seek") else b""
        if hasattr(source, "seek"):
            place = file.tell()
            begin = file.read(1 << 20)
            file.seek(place)
    if begin.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ValueError(f"{source} {NOT_UTF8}")
    whole = len(begin) < 1 << 20
    text = begin.decode("utf-8-sig", "replace")
    lines = text.splitlines()
    lines = lines if whole or len(lines) < 2 else lines[:-1]
    return [line[:MAX_LINE_BYTES] for line in islice(filter(str.strip, lines), N_LINES)]


def _split(lines: Sequence[str], sep: str) -> list[list[str]]:
    if sep == r"\s+":
        return [line.split() for line in lines]
    rows = csv.reader(io.StringIO("\n".join(lines)), delimiter=sep)
    return [[value.strip() for value in row] for row in rows]


def _guess_separator(lines: Sequence[str], usual: str) -> str:
    """The separator by which most lines have the same number of values, and more than one.

    Commas in decimals divide values as evenly as a separator does, but not the line of names.
    """
    best, best_score = usual, (0.0, False, 0)
    for sep in dict.fromkeys([usual, *CANDIDATES]):
        try:
            lengths = [len(row) for row in _split(lines, sep)]
        except csv.Error:
            continue
        [(length, count)] = Counter(lengths).most_common(1)
        score = (round(count / len(lengths), 1), lengths[0] == length, length)
        # white space also divides values by other separators: it counts only by itself
        if sep == r"\s+" and best_score[2] > 1:
            continue
        if length > 1 and score > best_score:
            best, best_score = sep, score
    return best


def _mostly(values: Sequence[str], style: re.Pattern[str]) -> bool:
    """Whether values of a style are there, and numbers of another kind hardly."""
    fitting = sum(bool(style.fullmatch(v) or GROUPED_NUMBER.fullmatch(v)) for v in values)
    pointed = sum(is_number(v) and "." in v for v in values)
    return fitting > max(2, 9 * pointed)


def _numeric(value: str, reading: Reading) -> bool:
    if reading.thousands:
        value = value.replace(reading.thousands, "")
    return is_number(value.replace(",", ".") if reading.decimal == "," else value)


def _looks_like_row(rows: Sequence[Sequence[str]], reading: Reading) -> bool:
    """Whether the first line has values: numbers as below it, and the label of other lines."""
    if len(rows) < 2:
        return False
    first, others = rows[0], rows[1:]
    numeric = [_numeric(value, reading) for value in first]
    if not any(numeric):
        return False
    texts = [j for j, number in enumerate(numeric) if not number]
    below = [{row[j] for row in others if j < len(row)} for j in texts]
    if any(first[j] in values for j, values in zip(texts, below, strict=True)):
        return True
    numbers = [float(v.replace(",", ".")) for v, n in zip(first, numeric, strict=True) if n]
    ordered = all(a < b for a, b in pairwise(numbers))
    ordered |= all(a > b for a, b in pairwise(numbers))
    return not texts and not ordered


def _has_rows_in_columns(rows: Sequence[Sequence[str]], reading: Reading) -> bool:
    """Whether columns are samples: names in the first, and no column of labels.

    A line of labels, or the lack of any, distinguishes such tables from those of rows.
    """
    body = [row for row in rows[1:] if len(row) == len(rows[0])]
    if len(body) < 3 or len(rows[0]) < 4:
        return False
    names = [row[0] for row in body]
    if len(set(names)) < len(names) or any(_numeric(name, reading) for name in names):
        return False
    shares = [sum(_numeric(v, reading) or v in GAPS for v in row[1:]) / (len(row) - 1)
              for row in body]  # fmt: skip
    text_lines = [share < 0.2 for share in shares]
    if any(text_lines):
        return sum(text_lines) <= len(body) / 2 and all(
            share > 0.5 for share, text in zip(shares, text_lines, strict=True) if not text
        )
    columns = list(zip(*body, strict=True))[1:]
    labels = [column for column in columns if len(set(column)) <= len(column) / 2]
    return not labels and all(share > 0.5 for share in shares)
