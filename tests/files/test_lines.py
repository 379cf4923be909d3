"""Lines of values: names in the first one, and faults of it said at once."""

from __future__ import annotations

import io

import pytest

from separatrix.files.lines import MAX_FIELD_BYTES, read_names, take_lines
from separatrix.files.reading import Reading
from separatrix.files.tables import read_table


def names(text, sep=",", **how):
    return read_names(io.BytesIO(text.encode()), sep, Reading(**how))[0]


def test_wavelengths_are_numbers_in_either_way_of_writing():
    assert names('"400,5","402,5",kind\n', decimal=",") == ["400.5", "402.5", "kind"]
    assert names('"400,5",kind\n') == ["400,5", "kind"]
    assert names('"a,b",kind\n', decimal=",") == ["a,b", "kind"]


@pytest.mark.parametrize("how", [{}, {"target": "kind"}, {"target": "x"}])
@pytest.mark.parametrize(
    ("text", "option"),
    [("a;b;kind\n", "--sep ';'"), ("a\tb\tkind\n", "--format tsv"), ("a|b|kind\n", r"--sep '\|'")],
)
def test_another_separator_is_seen_in_the_names(text, option, how):
    with pytest.raises(ValueError, match=f"Give {option}"):
        names(text, **how)


def test_another_separator_is_seen_beside_commas_in_names():
    with pytest.raises(ValueError, match="2 names by ',', and 3 by ';': give --sep ';'"):
        names("length;width, mm;kind\n", target="kind")
    with pytest.raises(ValueError, match="3 names by ',', and 3 by ';': give --sep ';'"):
        names("400,5;401,5;kind\n", target="kind")
    first = io.BytesIO(b"length;width, mm;kind\n")
    assert read_names(first, ",", Reading(sep=","))[0] == ["length;width", " mm;kind"]
    assert names('"a; b",c,d\n') == ["a; b", "c", "d"]


def test_a_line_without_end_is_an_error_before_it_fills_the_memory():
    class Endless(io.RawIOBase):
        def readline(self, size=-1):
            assert size == MAX_FIELD_BYTES
            return b"0" * size

    with pytest.raises(ValueError, match="a line has more than 256 MB"):
        take_lines(Endless(), 1)


def test_zero_bytes_are_no_text():
    with pytest.raises(ValueError, match="zero bytes, as binary files have"):
        read_table(io.BytesIO(b"a\x00b,kind\n1,2\n"))
